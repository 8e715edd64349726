"""`dnsfailover once` with REST providers, end to end: PowerDNS, whose DNS is
asked too, and Cloudflare's double beside a name server that has the spec."""

import json
import sqlite3
import stat

import dns.message
import dns.query
import pytest

import net
import servers
from rest_help import cf  # noqa: F401
from restapi import powerdns
from restapi.server import Answer
from world import USER, rows, zone_text

ZONE = "example.org"
WWW = f"www.{ZONE}"


@pytest.fixture
def pair():
    with net.Listener("127.0.0.2") as a, net.Listener("127.0.0.3") as b:
        yield a, b


def spec(a, b, ttl="60"):
    return rows(*((WWW + ".", t.addr, t.port, ttl) for t in (a, b)))


def configure(directory, provider, server):
    """Writes the configuration; returns its path."""
    path = directory / "dnsfailover.conf"
    options = "\n".join(f'    {k} = "{v}"' for k, v in provider.items())
    path.write_text(f"""
agent {{
    state = "{directory}/state/state.db"
    allow-targets = {{"127.0.0.0/8"}}
    min-period = "10ms"
    {f'user = "{USER}"' if USER else ""}
}}
provider p {{
{options}
}}
zone "{ZONE}" {{
    provider = p
    servers = {{"{server}"}}
}}
""")
    path.chmod(0o600)
    return path


def said(got):
    assert got.stderr == "", got.stderr
    assert got.returncode == 0, got.stdout
    return [x for x in got.stdout.splitlines()
            if "withdrawn" in x or "published" in x]


# ---- PowerDNS ---------------------------------------------------------------

needs_pdns = pytest.mark.skipif(powerdns.missing() is not None,
                                reason=str(powerdns.missing()))


@pytest.fixture
def pdns(tmp_path):
    with powerdns.PowerDNS(tmp_path / "pdns") as p:
        yield p


def key_file(directory, secret):
    path = directory / "secret"
    path.write_text(secret + "\n")
    path.chmod(0o600)
    return path


def served(pdns):
    query = dns.message.make_query(WWW, "A")
    answer = dns.query.udp(query, "127.0.0.1", port=pdns.port, timeout=5)
    return sorted(str(r) for rr in answer.answer for r in rr)


@needs_pdns
def test_powerdns_out_and_back(agent, tmp_path, pair, pdns):
    a, b = pair
    text = spec(a, b).replace('"', '\\"')
    pdns.make_zone(ZONE, [
        (WWW + ".", "A", 60, [(a.addr, False), (b.addr, False)]),
        (f"_failover.{WWW}.", "TXT", 60, [(f'"{text}"', False)])])
    config = configure(tmp_path, {
        "type": "powerdns", "url": pdns.url,
        "api-key-file": key_file(tmp_path, powerdns.KEY)},
        f"127.0.0.1:{pdns.port}")
    assert said(agent("once", config=config)) == []
    serial = pdns.serial(ZONE)
    a.close()
    assert said(agent("once", config=config)) == [
        f"{WWW}. A {a.addr} withdrawn: its checks fail"]
    assert served(pdns) == [b.addr]
    assert pdns.serial(ZONE) == serial + 1
    for _ in range(2):
        got = agent("once", config=config)
        assert (got.returncode, got.stdout, got.stderr) == (0, "", "")
    assert pdns.serial(ZONE) == serial + 1
    a.open()
    assert said(agent("once", config=config)) == [
        f"{WWW}. A {a.addr} published: healthy records"]
    assert served(pdns) == [a.addr, b.addr]
    got = agent("doctor", "-v", config=config)
    assert "a change raises the serial" in got.stdout, got.stdout + got.stderr


@needs_pdns
def test_powerdns_write_that_nobody_could_read_back(agent, tmp_path, pair,
                                                    pdns):
    """The next round looks, finds it done, and has nothing to complain of."""
    a, b = pair
    text = spec(a, b).replace('"', '\\"')
    pdns.make_zone(ZONE, [
        (WWW + ".", "A", 60, [(a.addr, False), (b.addr, False)]),
        (f"_failover.{WWW}.", "TXT", 60, [(f'"{text}"', False)])])
    with Lossy(pdns) as relay:
        config = configure(tmp_path, {
            "type": "powerdns", "url": relay.url,
            "api-key-file": key_file(tmp_path, powerdns.KEY)},
            f"127.0.0.1:{pdns.port}")
        agent("once", config=config)
        a.close()
        relay.misbehave("lost")
        got = agent("once", config=config)
        assert got.returncode == 1
        assert "whether it happened is read back" in got.stderr, got.stderr
        serial = pdns.serial(ZONE)
        relay.lost = False
        got = agent("once", config=config)
        assert got.returncode == 0, got.stderr
        assert served(pdns) == [b.addr] and pdns.serial(ZONE) == serial
        got = agent("once", config=config)
        assert (got.returncode, got.stdout, got.stderr) == (0, "", "")


class Lossy(powerdns.Relay):
    """After the write whose answer is lost everything fails."""

    lost = False

    def handle(self, request):
        if self.lost:
            return Answer(500, "gone")
        if self.is_write(request):
            self.lost = True
        return super().handle(request)


@needs_pdns
def test_doctor_names_the_empty_soa_edit_api(agent, tmp_path, pdns):
    pdns.make_zone(ZONE, [(WWW + ".", "A", 60, [("192.0.2.1", False)])],
                   soa_edit_api="")
    config = configure(tmp_path, {
        "type": "powerdns", "url": pdns.url,
        "api-key-file": key_file(tmp_path, powerdns.KEY)},
        f"127.0.0.1:{pdns.port}")
    got = agent("doctor", config=config)
    assert f"pdnsutil set-meta {ZONE}. SOA-EDIT-API DEFAULT" in (
        got.stdout + got.stderr)


# ---- Cloudflare -------------------------------------------------------------


@pytest.fixture
def proxied(agent, tmp_path, pair, cf):  # noqa: F811
    """Two proxied records at Cloudflare; the spec at a name server, which
    never shows what they hold."""
    a, b = pair
    cf.seed(ZONE, [
        (WWW, "A", 1, a.addr, {"proxied": True, "comment": "rack 7",
                               "tags": ["team:web"]}),
        (WWW, "A", 1, b.addr, {"proxied": True}),
        (f"_failover.{WWW}", "TXT", 60, spec(a, b))])
    with servers.Bind(tmp_path / "ns", {ZONE: zone_text(
            ZONE, "www 60 IN A 198.51.100.1", {"www": spec(a, b)})}) as ns:
        cf.config = configure(tmp_path, {
            "type": "cloudflare", "url": cf.url,
            "token-file": key_file(tmp_path, cf.token)}, ns.server)
        cf.server = ns.server
        yield cf


def test_attributes_survive_a_restart(agent, pair, proxied):
    a, _ = pair
    first = {k: v for k, v in proxied.records(ZONE)[0].items() if k != "id"}
    assert said(agent("once", config=proxied.config)) == []
    a.close()
    assert len(said(agent("once", config=proxied.config))) == 1
    assert len(proxied.records(ZONE)) == 2
    got = agent("once", config=proxied.config)
    assert (got.returncode, got.stdout, got.stderr) == (0, "", "")
    a.open()
    assert len(said(agent("once", config=proxied.config))) == 1
    new = proxied.records(ZONE)[-1]
    assert {k: v for k, v in new.items() if k != "id"} == first
    status = json.loads(agent("status", "--json",
                              config=proxied.config).stdout)
    assert status["problems"] == []


def test_what_is_kept_is_saved_before_it_is_needed(agent, tmp_path, pair,
                                                   proxied):
    """A run that is killed after the write still leaves it."""
    agent("once", config=proxied.config)
    with sqlite3.connect(tmp_path / "state" / "state.db") as db:
        kept = dict(db.execute("SELECT key, text FROM kepts").fetchall())
    text = kept[f"p|{WWW}.|A|{pair[0].addr}"]
    assert "rack 7" in text and '"proxied":true' in text


def test_a_refused_token_is_not_tried_again(agent, tmp_path, proxied):
    """By later runs neither, until it is another one."""
    good = proxied.token
    proxied.token = "another-one-that-the-file-does-not-hold"
    for _ in range(2):
        got = agent("once", config=proxied.config)
        assert good not in got.stdout + got.stderr
    assert len(proxied.requests) == 1
    key_file(tmp_path, proxied.token)
    assert said(agent("once", config=proxied.config)) == []
    assert len(proxied.requests) > 1


def test_secret_that_others_can_read_is_refused(agent, tmp_path, proxied):
    secret = tmp_path / "secret"
    secret.chmod(0o644)
    assert secret.stat().st_mode & stat.S_IROTH
    got = agent("once", config=proxied.config)
    assert "chmod 600" in got.stderr and proxied.requests == []


def test_secret_is_nowhere(agent, tmp_path, pair, proxied):
    """Not in what is said, not in the state, not in history."""
    pair[0].close()
    said_ = ""
    for command in (["once", "-v"], ["status"], ["history"], ["doctor"],
                    ["plan", "-v"]):
        got = agent(*command, config=proxied.config)
        said_ += got.stdout + got.stderr
    assert proxied.token not in said_
    for path in (tmp_path / "state").iterdir():
        assert proxied.token.encode() not in path.read_bytes()


def test_environment_alone(agent, tmp_path, pair, proxied):
    """`once --provider cloudflare` without any file."""
    got = agent("plan", "--provider", "cloudflare", "--zone", ZONE,
                "--servers", proxied.server,
                env={"CLOUDFLARE_URL": proxied.url,
                     "CLOUDFLARE_API_TOKEN": proxied.token,
                     "HOME": str(tmp_path)})
    assert proxied.requests, got.stderr
    assert proxied.token not in got.stdout + got.stderr


def test_doctor(agent, proxied):
    got = agent("doctor", "-v", config=proxied.config)
    assert "Cloudflare takes the token" in got.stdout, got.stdout
    assert "requests are left" in got.stdout
    assert f"{ZONE}.: its records can be read" in got.stdout
    proxied.token = "another-one"
    proxied.requests.clear()
    got = agent("doctor", config=proxied.config)
    assert "HTTP 403" in got.stdout + got.stderr and got.returncode == 1
    assert not [r for r in proxied.requests if r.method != "GET"]
