"""Dynamic updates of signed zones: they stay valid, and are seen."""

import subprocess

import dns.message
import dns.query
import dns.rdatatype
import pytest

from contract.backend import publish, record, withdraw
from dnsupdate import tool
from dnsupdate.servers import DynamicBind, DynamicKnot
import net
import servers

ZONE = "example.org"
A, B = "192.0.2.1", "192.0.2.2"
SIGN_S = 30

pytestmark = pytest.mark.skipif(
    servers.find("dnssec-verify") is None,
    reason="no dnssec-verify (package bind9-utils)")


def bind_inline(directory):
    return DynamicBind(directory, ZONE, zone_options="dnssec-policy default; "
                       f'inline-signing yes; key-directory "{directory}"; ')


def bind_policy(directory):
    return DynamicBind(directory, ZONE, zone_options="dnssec-policy default; "
                       f'inline-signing no; key-directory "{directory}"; ')


def knot(directory):
    return DynamicKnot(directory, ZONE,
                       zone_options="    dnssec-signing: on\n")


@pytest.fixture(params=[bind_inline, bind_policy, knot],
                ids=lambda f: f.__name__)
def signed(request, short_dir, tools):
    (short_dir / "ns").mkdir()
    with request.param(short_dir / "ns") as server, \
            tool.Rfc2136(server, tools) as t:
        net.wait_until("a signed zone", lambda: signatures(server, ZONE,
                                                           "SOA"), SIGN_S)
        yield t


def signatures(server, name, rdtype):
    """Of the set as it is answered now."""
    q = dns.message.make_query(name, rdtype, want_dnssec=True)
    answer = dns.query.tcp(q, server.addr, port=server.port, timeout=5)
    return [r for s in answer.answer if s.rdtype == dns.rdatatype.RRSIG
            for r in s]


def verify(t):
    """The whole zone as it is served is signed right."""
    path = t.server.dir / "served"
    t.server.transfer().to_file(str(path), relativize=False)
    done = subprocess.run(
        [servers.find("dnssec-verify"), "-z", "-o", ZONE, str(path)],
        capture_output=True, text=True, timeout=30)
    assert done.returncode == 0, done.stdout + done.stderr


def seed(t, records):
    """Until the signed zone shows it."""
    t.server.seed(records)
    net.wait_until("the seeded zone",
                   lambda: t.server.records() == sorted(records), SIGN_S)


def test_a_signed_zone_stays_valid(signed):
    t = signed
    seed(t, [record("www", "A", A), record("mail", "A", A),
             record("*.apps", "A", A)])
    got = t.apply(publish("www", B, ttl=60), withdraw("www", A))
    assert got.states() == ["done", "done"], got.answers
    assert t.values("www") == [B] and signatures(t.server, f"www.{ZONE}", "A")
    verify(t)
    # a name that goes as a whole, one that comes, a wildcard
    got = t.apply(withdraw("mail", A), publish("new", A, ttl=60),
                  publish("*.apps", B), withdraw("*.apps", A))
    assert got.states() == ["done"] * 4, got.answers
    assert t.values("mail") == [] and t.values("new") == [A]
    verify(t)
    # and at rest nothing is written
    serial = t.server.zone_serial()
    got = t.apply(publish("www", B), withdraw("mail", A))
    assert got.states() == ["done"] * 2 and got["serial"] == serial
    assert t.server.zone_serial() == serial


def test_many_names_of_a_signed_zone(signed):
    t = signed
    names = [f"n{i}" for i in range(100)]
    seed(t, [record(n, "A", A) for n in names])
    got = t.apply(*[publish(n, B) for n in names],
                  *[withdraw(n, A) for n in names])
    assert got.states() == ["done"] * 200, got.texts()[:1000]
    verify(t)
