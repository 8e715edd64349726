"""A zone's servers, and its _failover names by zone transfer."""

import dns.flags
import dns.message
import dns.rcode
import dns.rrset
import pytest

import net
import servers
from resolver_help import ALL, HEAD, TXT, Fake, lookup, need, reply  # noqa: F401


def test_find_servers(lookup, short_dir):
    need(servers.Bind)
    zone = """$ORIGIN example.test.
$TTL 30
@ IN SOA ns1 ops 7 60 60 60 30
@ IN NS ns2
@ IN NS NS1
@ IN NS gone.other.test.
@ IN NS ns3
ns1 IN A 127.0.0.9
ns1 IN A 127.0.0.3
ns1 IN AAAA 2001:db8::53
ns2 IN A 127.0.0.2
ns3 IN A 127.0.0.3
www IN A 192.0.2.1
"""
    with servers.Bind(short_dir, {"example.test": zone}) as server:
        for _ in range(3):
            a = lookup("servers", server.server, "Example.Test")
            assert a["error"] == ""
            assert a["apex"] == "example.test."
            assert a["ns"] == [f"{n}.test." for n in (
                "ns1.example", "ns2.example", "ns3.example", "gone.other")]
            assert a["servers"] == [
                "127.0.0.3:53", "127.0.0.9:53", "[2001:db8::53]:53",
                "127.0.0.2:53",
            ]
        b = lookup("servers", server.server, "www.example.test")
        c = lookup("servers", server.server, "nope.example.test")
        d = lookup("servers", server.server, "elsewhere.test")
    assert b["code"] == "notFound" and b["servers"] == []
    assert c["code"] == "notFound" and "NXDOMAIN" in c["error"]
    assert d["code"] == "retry" and "REFUSED" in d["error"]


def test_find_servers_without_any_address(lookup, short_dir):
    need(servers.Nsd)
    zone = "$ORIGIN e.test.\n$TTL 30\n@ SOA ns ops 1 1 1 1 1\n@ NS ns.o.test.\n"
    with servers.Nsd(short_dir, {"e.test": zone}) as server:
        a = lookup("servers", server.server, "e.test")
    assert a["code"] == "retry"
    assert "none of the 1 name servers of e.test. has an address" in a["error"]
    assert "REFUSED" in a["error"]


# --- zone transfers ----------------------------------------------------------------

AXFR_ZONE = HEAD + """
_failover IN TXT "apex"
_failover.www IN TXT "a"
_failover.www IN TXT "b"
_failover.WWW2 IN TXT "x"
_failover.addr IN CNAME www
failover.no IN TXT "x"
child IN NS ns.child
ns.child IN A 127.0.0.1
x_failover.no IN TXT "x"
_failover.a.b IN TXT "x"
_failover.b IN TXT "x"
"""


@pytest.mark.parametrize("kind", ALL, ids=lambda k: k.__name__)
def test_axfr(kind, lookup, short_dir):
    need(kind)
    with kind(short_dir, {"example.test": AXFR_ZONE}, axfr=True) as server:
        a = lookup("axfr", server.server, "Example.test")
    assert a["error"] == ""
    assert a["serial"] == 7
    assert a["owners"] == [
        "example.test.", "b.example.test.", "a.b.example.test.",
        "www.example.test.", "www2.example.test.",
    ]
    texts = [sorted(bytes.fromhex(s).decode() for record in t for s in record)
             for t in a["texts"]]
    assert texts == [["apex"], ["x"], ["x"], ["a", "b"], ["x"]]


@pytest.mark.parametrize("kind", ALL, ids=lambda k: k.__name__)
def test_axfr_refused(kind, lookup, short_dir):
    need(kind)
    with kind(short_dir / "a", {"example.test": AXFR_ZONE}) as server:
        a = lookup("axfr", server.server, "example.test")
        assert a["code"] == "auth", a
        assert "does not grant the zone transfer of example.test." in a["error"]
        assert a["owners"] == []
        with kind(short_dir / "b", {"example.test": AXFR_ZONE},
                  axfr=True) as second:
            b = lookup("axfr", server.server, second.server, "example.test")
    assert b["error"] == "" and len(b["owners"]) == 5


@pytest.mark.parametrize("kind", ALL, ids=lambda k: k.__name__)
def test_axfr_of_20000_names(kind, lookup, short_dir):
    need(kind)
    zone = HEAD + "".join(
        f'n{i} IN A 192.0.2.1\n_failover.n{i} IN TXT "{"y" * 200}"\n'
        for i in range(20000)
    )
    with kind(short_dir, {"example.test": zone}, axfr=True) as server:
        a = lookup("axfr", server.server, "example.test", timeout_ms=2000)
    assert a["error"] == ""
    assert set(a["owners"]) == {f"n{i}.example.test." for i in range(20000)}
    assert len(a["owners"]) == 20000


def soa(serial):
    return ("example.test.", "SOA",
            f"ns1.example.test. ops.example.test. {serial} 60 60 60 30")


def transfer(*messages):
    """Each message: a list of (owner, type, data); sent over TCP."""
    def answer(q, tcp):
        assert tcp
        out = []
        for records in messages:
            r = dns.message.make_response(q)
            r.flags |= dns.flags.AA
            r.answer = [dns.rrset.from_text(o, 30, "IN", t, d)
                        for o, t, d in records]
            out.append(r)
        return out
    return answer


def axfr_fake(lookup, answer, **how):
    with Fake(answer, **how) as f:
        return lookup("axfr", f.server, "example.test", timeout_ms=200), f


def test_axfr_in_pieces(lookup):
    a, _ = axfr_fake(lookup, transfer(
        [soa(5)], [TXT], [("child.example.test.", "NS", "ns.child.test.")],
        [("_failover.x.child.example.test.", "TXT", '"glue"')],
        [("_failover.child.example.test.", "TXT", '"the child zone\'s"')],
        [("_failover.other.test.", "TXT", '"out of zone"')],
        [soa(5)]))
    assert a["error"] == ""
    assert a["owners"] == ["www.example.test."]


def test_axfr_serials_differ(lookup):
    a, _ = axfr_fake(lookup, transfer([soa(5), TXT], [soa(6)]))
    assert a["code"] == "retry" and a["owners"] == []
    assert "serial 5, then 6" in a["error"]


def test_axfr_cut_off(lookup):
    a, f = axfr_fake(lookup, transfer([soa(5), TXT]), close_each=True)
    assert a["code"] == "retry"
    assert "closed the connection before the end" in a["error"]
    a, f = axfr_fake(lookup, transfer([soa(5), TXT]))
    assert a["code"] == "retry"
    assert a["error"] == f"{f.server} timed out over TCP"


def test_axfr_strange_messages(lookup):
    a, _ = axfr_fake(lookup, transfer([TXT], [soa(5)]))
    assert "does not begin with its SOA" in a["error"]
    a, _ = axfr_fake(lookup, transfer([]))
    assert "empty transfer" in a["error"]
    a, _ = axfr_fake(lookup, lambda q, tcp: reply(q, TXT).to_wire()[:-5])
    assert "cannot be decoded" in a["error"]
    a, _ = axfr_fake(lookup, lambda q, tcp: b"\0\0" + reply(q).to_wire()[2:])
    assert "another query" in a["error"] or "empty" in a["error"]
    a, _ = axfr_fake(lookup, lambda q, tcp: reply(
        q, rcode=dns.rcode.SERVFAIL))
    assert a["code"] == "retry" and "says SERVFAIL" in a["error"]


def test_axfr_nobody_there(lookup):
    server = f"127.0.0.1:{net.free_port()}"
    a = lookup("axfr", server, "example.test")
    assert a["code"] == "retry"
    assert a["error"] == f"{server} refused the connection over TCP"
