"""doctor at a dynamic zone: what the key may, without changing anything."""

import pytest

from contract.backend import ZONE, record
from dnsupdate import tool
from dnsupdate.servers import DynamicBind, DynamicKnot, DynamicPowerDns
from test_doctor import errors, findings, having
from test_rfc2136_once import World
import servers

TRIAL = "_dnsfailover-trial"


@pytest.fixture(scope="module", params=[DynamicBind, DynamicKnot,
                                        DynamicPowerDns],
                ids=lambda k: k.__name__.lower())
def server(request, tmp_path_factory):
    kind = request.param
    if servers.find(kind.program) is None or (
            kind is DynamicPowerDns and kind.missing()):
        pytest.skip(f"no {kind.program}")
    with kind(tmp_path_factory.mktemp("ns"), ZONE) as s:
        s.seed([record("www", "A", "127.0.0.2", 60),
                record("mail", "A", "127.0.0.3", 60)])
        yield s


@pytest.fixture
def world(server, agent, short_dir):
    """After the test nothing must have changed."""
    before = sorted(map(str, server.records())), server.zone_serial()
    w = World(agent, server, short_dir)
    w.powerdns = isinstance(server, DynamicPowerDns)
    yield w
    assert (sorted(map(str, server.records())),
            server.zone_serial()) == before
    assert not (short_dir / "state").exists()


def doctor(w, **how):
    found = findings(w.run("doctor", "--json", **how))
    for f in found:
        for _, secret in w.server.keys.values():
            assert secret not in str(f)
    return found


def place(w, option):
    lines = w.config.read_text().splitlines()
    line = next(i for i, x in enumerate(lines, 1)
                if x.strip().startswith(f"{option} ="))
    return f"{w.config}:{line} provider primary: {option}"


def test_all_in_order(world):
    found = doctor(world)
    assert not errors(found), errors(found)
    assert having(found, "ok", place(world, "key-file"),
                  "the key main. may change A, AAAA, CNAME, TXT")
    assert having(found, "ok", "the key main. may transfer it")
    assert having(found, "ok", "the key main. can be read (hmac-sha256)")
    assert having(found, "ok", place(world, "server"), "holds it, with serial")
    assert having(found, "ok", "DNS serves serial", "of the primary")


def test_a_key_of_few_names(world):
    """It may change mail's A: no error, but a doubt."""
    if world.powerdns:
        pytest.skip("PowerDNS permits a key a whole zone or nothing")
    world.configure(key=world.server.key_file("limited"))
    found = doctor(world)
    assert not errors(found), errors(found)
    assert having(found, "warning", place(world, "key-file"), TRIAL,
                  "may not change A, AAAA, CNAME, TXT", "update-policy")
    assert not having(found, "ok", "may change")


def test_a_key_of_one_type(agent, short_dir):
    if servers.find(DynamicBind.program) is None:
        pytest.skip("no named")
    with DynamicBind(short_dir / "ns", ZONE,
                     policy="grant limited zonesub A;") as s:
        w = World(agent, s, short_dir)
        w.configure(key=s.key_file("limited"))
        found = doctor(w)
        assert not errors(found), errors(found)
        assert having(found, "ok", "the key limited. may change A")
        assert having(found, "warning", "may not change AAAA, CNAME, TXT")
        assert s.zone_serial() == 1000


def test_a_key_that_only_reads(world):
    world.configure(key=world.server.key_file("reader"))
    found = doctor(world)
    assert having(found, "ok", "the key reader. may transfer it")
    assert having(found, "warning", place(world, "key-file"),
                  "may not change A, AAAA, CNAME, TXT")


def test_no_transfer(world):
    """PowerDNS names the keys that may, others have a rule for each."""
    if not world.powerdns:
        pytest.skip("each key of the others may transfer")
    world.configure(key=world.server.key_file("limited"))
    found = doctor(world)
    assert having(found, "warning", place(world, "key-file"),
                  "its specs cannot be found by a transfer",
                  "discover = names")


def test_wrong_secret(world):
    world.configure(discover="names", key=world.server.bad_key_file(),
                    section='names = {"www"}')
    found = doctor(world)
    if world.powerdns:  # its answer is the same for each of the reasons
        assert having(found, "warning", place(world, "key-file"), "REFUSED")
    else:
        assert having(found, "error", place(world, "key-file"), "BADSIG",
                      "key-file = the key")


def test_unknown_key(world):
    key = world.dir / "ghost.key"
    key.touch(mode=0o600)
    key.write_text(world.server.key_file().read_text().replace("main",
                                                               "ghost"))
    world.configure(discover="names", key=key, section='names = {"www"}')
    found = doctor(world)
    level = "warning" if world.powerdns else "error"
    assert having(found, level, place(world, "key-file"),
                  "REFUSED" if world.powerdns else "BADKEY")


@pytest.mark.parametrize("ahead_s, level", [(200, "warning"),
                                            (-1000, "error")])
def test_clock(world, ahead_s, level, short_dir):
    env = tool.clock_ahead(short_dir, ahead_s)
    if env is None:
        pytest.skip("no cc to make a clock that is wrong")
    found = doctor(world, env=env)
    if world.powerdns:  # repeats our time, and gives no reason
        assert level == "warning" or having(found, "warning",
                                            "may not change")
        return
    assert having(found, level, "clock", "set the clock (NTP)"), found


def test_wrong_address(world):
    world.configure(address="127.0.0.1:1")
    found = doctor(world)
    assert having(found, "error", place(world, "server"), "127.0.0.1:1",
                  "server = the zone's primary")


def test_wrong_zone(world):
    text = world.config.read_text()
    world.config.write_text(text.replace(f'zone "{ZONE}"',
                                         'zone "example.net"'))
    found = doctor(world)
    assert having(found, "error", "provider primary", "example.net.")
