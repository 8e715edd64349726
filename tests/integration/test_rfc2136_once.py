"""The whole program with a dynamic zone: discovered by a signed transfer,
changed by signed updates."""

import json

import pytest

from contract.backend import ZONE, record
from dnsupdate import relay
from dnsupdate.servers import DynamicBind, DynamicKnot, DynamicPowerDns
import net
import servers

WWW = f"www.{ZONE}."


class World:
    def __init__(self, agent, server, directory):
        self.agent = agent
        self.server = server
        self.dir = directory
        self.config = directory / "dnsfailover.conf"
        self.configure()

    def configure(self, discover="provider", address=None, key=None,
                  section=""):
        address = address or self.server.server
        self.config.write_text(f"""\
agent {{
  state = "{self.dir / 'state' / 'state.db'}"
  allow-targets = {{"127.0.0.0/8"}}
  min-period = "10ms"
}}
provider primary {{
  type = rfc2136
  server = "{address}"
  key-file = "{key or self.server.key_file()}"
}}
zone "{ZONE}" {{
  provider = primary
  discover = {discover}
  servers = {{"{address}"}}
  {section}
}}
""")

    def run(self, command, *arguments, **how):
        return self.agent(command, *arguments, config=self.config, **how)

    def once(self, code=0):
        got = self.run("once")
        assert got.returncode == code, got.stdout + got.stderr
        return got.stdout.splitlines()

    def values(self, name="www", rdtype="A"):
        return self.server.values(f"{name}.{ZONE}", rdtype)


@pytest.fixture(params=[DynamicBind, DynamicKnot, DynamicPowerDns],
                ids=lambda k: k.__name__.lower())
def world(request, agent, short_dir):
    kind = request.param
    if servers.find(kind.program) is None or (
            kind is DynamicPowerDns and kind.missing()):
        pytest.skip(f"no {kind.program}")
    with kind(short_dir / "ns", ZONE) as server:
        yield World(agent, server, short_dir)


@pytest.fixture
def pair(world):
    with net.Listener("127.0.0.2") as one, net.Listener("127.0.0.3") as two:
        spec = json.dumps([{"name": WWW, "data": t.addr, "check": str(t.port)}
                           for t in (one, two)], separators=(",", ":"))
        world.server.seed([record("www", "A", one.addr, 60),
                           record("www", "A", two.addr, 60),
                           record("www", "TXT", "theirs", 60),
                           record("_failover.www", "TXT", spec, 60)])
        yield world, one, two


@pytest.mark.parametrize("discover", ["provider", "axfr"])
def test_out_and_back(pair, discover):
    w, one, two = pair
    w.configure(discover=discover)
    assert w.once() == [] and w.once() == []
    serial = w.server.zone_serial()
    one.close()
    got = w.once()
    assert f"{WWW} A 127.0.0.2 withdrawn: its checks fail" in got
    assert f"{WWW} A shown by 1 of 1 authoritative servers" in str(got)
    assert w.values() == ["127.0.0.3"] and w.values(rdtype="TXT") == [
        '"theirs"']
    assert w.server.zone_serial() == serial + 1
    assert w.once() == []
    one.open()
    assert f"{WWW} A 127.0.0.2 published: healthy records" in w.once()
    assert w.values() == ["127.0.0.2", "127.0.0.3"]
    assert w.once() == [] and w.server.zone_serial() == serial + 2
    assert {r.ttl for r in w.server.records() if r.type == "A"} == {60}


def test_a_forged_transfer_is_an_error(pair):
    """Nothing is switched off because a list was taken from a stranger."""
    w, one, _ = pair
    with relay.Relay(w.server) as r:
        for discover in ("axfr", "provider"):
            w.configure(discover=discover, address=r.server)
            r.heal()
            w.once()
            r.on_answer = lambda query, wire: (
                relay.flip(wire, len(wire) // 2) if query[-9:] and
                b"\x00\x00\xfc\x00\x01" in query else wire)
            got = w.run("once")
            assert got.returncode == 1
            assert "TSIG" in got.stderr or "sent" in got.stderr, got.stderr
            assert w.values() == ["127.0.0.2", "127.0.0.3"]


def test_a_wrong_key_is_said_and_harms_nothing(pair):
    w, one, _ = pair
    assert w.once() == []
    one.close()
    w.configure(discover="names", key=w.server.bad_key_file(),
                section='names = {"www"}')
    got = w.run("once")
    assert got.returncode == 1
    assert "BADSIG" in got.stderr or "REFUSED" in got.stderr, got.stderr
    assert w.values() == ["127.0.0.2", "127.0.0.3"]
    w.configure()
    assert f"{WWW} A 127.0.0.2 withdrawn: its checks fail" in w.once()


def test_publish_write(pair):
    w, one, two = pair
    spec = json.dumps({"records": [
        {"data": "192.0.2.7", "check": "443"},
        {"data": "192.0.2.8", "check": "443"}]})
    got = w.run("publish", f"www.{ZONE}", "-", "--write", input=spec)
    assert got.returncode == 0, got.stdout + got.stderr
    assert "written: provider primary, zone example.org." in got.stdout
    assert f"{w.server.server} shows it after" in got.stdout
    texts = w.values("_failover.www", "TXT")
    assert len(texts) == 1 and "192.0.2.8" in texts[0]
    got = w.run("publish", f"www.{ZONE}", "-", "--write", input=spec)
    assert "as it is: provider primary" in got.stdout
