"""`once` when something fails: nothing is changed because of it, it is told
once with its place, and nothing else is held up (design: failure rules)."""

import json
import socket

import pytest

import servers
from test_once import KINDS, WWW, back, refused, told
from world import (  # noqa: F401
    ZONE, build, elapsed, pair, records, rows, spec, target, www_rows,
    zone_text,
)


def failed(got, *parts):
    """Exit 1, nothing but problems, and these texts among them."""
    assert got.returncode == 1, got.stdout + got.stderr
    for part in parts:
        assert part in got.stderr, got.stderr
    for line in got.stderr.splitlines():
        assert line.startswith("dnsfailover: "), line


def silent_failure(got):
    """What is known is not told again; the exit code still says it."""
    assert (got.returncode, got.stdout, got.stderr) == (1, "", "")


def warned(got, *parts):
    """Worth a look, told once; nothing failed."""
    assert got.returncode == 0, got.stdout + got.stderr
    for part in parts:
        assert part in got.stderr, got.stderr


def withdrawn(data="127.0.0.2", name=WWW):
    return f"{name} A {data} withdrawn: its checks fail"


# -- lookups -----


@KINDS
def test_server_gone(pair, kind):
    w, _, _ = pair(kind=kind)
    w.settle()
    before = w.files()
    w.ns.stop()
    got = w.once("--deadline", "10s")
    failed(got, "_failover.www.example.org", "lookup failed")
    assert got.stdout == ""
    silent_failure(w.once("--deadline", "10s"))
    assert w.files() == before
    w.ns.start()
    w.configure()
    got = w.once()
    assert got.returncode == 0
    assert got.stderr == ""
    assert "resolved: _failover.www.example.org" in got.stdout
    w.quiet()


def test_server_gone_and_a_target_dies(pair):
    """The last good spec stays in force, but what cannot be served is taken
    back: no file is left that nobody has loaded."""
    w, one, _ = pair()
    w.settle()
    text = w.file.read_bytes()
    w.ns.stop()
    one.close()
    got = w.once("--deadline", "10s")
    failed(got, "lookup failed", "could not be withdrawn",
           "the old file was put back")
    assert w.file.read_bytes() == text
    w.ns.start()
    w.configure()
    got = w.once()
    assert withdrawn() in got.stdout
    assert w.values("www") == ["127.0.0.3"]


def test_servfail(build, target):
    """NSD answers SERVFAIL for a zone whose file it could not read."""
    one, two = target("127.0.0.2"), target("127.0.0.3")
    w = build(records=records("www", one, two),
              specs={"www": www_rows(one, two)})
    w.settle()
    before = w.files()
    with servers.Nsd(w.dir / "n", {ZONE: "@ IN SOA broken\n"},
                     broken=[ZONE]) as bad:
        w.configure(servers=[bad.server])
        failed(w.once("--deadline", "10s"), "lookup failed", "SERVFAIL")
        assert w.files() == before
        # One server that answers is enough.
        w.configure(servers=[bad.server, w.ns.server])
        got = w.once("--deadline", "10s")
        assert got.returncode == 0, got.stderr
        assert "resolved:" in got.stdout


def test_server_that_never_answers(pair):
    """The deadline holds, and one server that answers is enough."""
    w, one, _ = pair()
    w.settle()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as hole:
        hole.bind(("127.0.0.1", 0))
        server = f"127.0.0.1:{hole.getsockname()[1]}"
        w.configure(servers=[server])
        seconds, got = elapsed(lambda: w.once("--deadline", "2s"))
        failed(got, "_failover.www.example.org lookup failed")
        assert seconds < 4
        w.configure(servers=[server, w.ns.server])
        one.close()
        got = w.run("plan", "--deadline", "20s")
        assert refused(one) in got.stdout
        assert f"{WWW} A 127.0.0.2 would be withdrawn" in got.stdout


def test_targets_that_hang_longer_than_the_deadline(build, target):
    """What is not known by then keeps its counters; the run ends in time."""
    one, slow = target("127.0.0.2"), target("127.0.0.3", hang=True)
    w = build(records=records("www", one, slow), specs={"www": www_rows(
        one, slow, defaults={"timeout": "30s"})})
    before = w.files()
    seconds, got = elapsed(lambda: w.once("--deadline", "1s"))
    assert got.returncode in (0, 1)
    assert seconds < 3
    assert w.files() == before


def test_refused_by_the_server(build, target):
    one = target("127.0.0.2")
    w = build(records=records("www", one), specs={"www": www_rows(one)})
    with servers.Bind(w.dir / "o", {"example.net": zone_text(
            "example.net")}) as other:
        w.configure(servers=[other.server])
        failed(w.once("--deadline", "10s"), "lookup failed", "REFUSED")


# -- specs -----


@KINDS
def test_invalid_spec_leaves_the_last_good_one(pair, kind):
    w, one, two = pair(kind=kind)
    w.settle()
    good = www_rows(one, two)
    bad = json.loads(good)
    bad[1]["ttl"] = "x"
    w.spec("www", json.dumps(bad))
    before = w.files()
    got = w.once()
    failed(got, '_failover.www.example.org /1/ttl: found "x"; accepted: ',
           "the last good spec stays in force")
    assert got.stdout == ""
    assert w.files() == before
    silent_failure(w.once())
    # It is in force, across runs: a target that dies is withdrawn.
    one.close()
    got = w.once()
    assert got.returncode == 1
    assert refused(one) in got.stdout
    assert w.values("www") == ["127.0.0.3"]
    _, whole = w.status()
    assert "/1/ttl" in whole["specs"][0]["stale"]
    w.spec("www", good)
    one.open()
    got = w.once()
    assert got.returncode == 0
    assert "resolved: _failover.www.example.org /1/ttl" in got.stdout
    assert w.values("www") == ["127.0.0.2", "127.0.0.3"]


BAD_SPECS = [
    ('{"record":[]}', "/record: unknown member; accepted"),
    ('[{"name":"www","data":"192.0.2.010","check":"443"}]',
     '/0/data: found "192.0.2.010"; accepted'),
    ('[{"name":"www","data":"192.0.2","check":"443"}]', "/0/data"),
    ('[{"name":"www","data":"-f x","check":"443"}]',
     '/0/data: found "-f x"; accepted'),
    ('{"records":[{"data":"-f","type":"A"}]}',
     '/records/0/data: found "-f"; accepted'),
    ('[{"name":"www","data":"192.0.2.1;id","check":"443"}]',
     '/0/data: found "192.0.2.1;id"'),
    ('[{"name":"www","data":"$(id)","check":"443"}]',
     '/0/data: found "$(id)"'),
    ('[{"name":"www","data":"192.0.2.1","check":"0"}]', "/0/check"),
    ('[{"name":"www","data":"192.0.2.1","check":"80;id"}]', "/0/check"),
    ('[{"name":"www","data":"192.0.2.1"}]', '/0: "check" is missing'),
    ('[{"name":"www.example.org","data":"192.0.2.1","check":"1"}]',
     "/0/name"),
    ('[{"name":"www.example.net.","data":"192.0.2.1","check":"1"}]',
     "/0/name"),
    ('[{"name":"mail.example.org.","data":"192.0.2.1","check":"1"}]',
     "/0/name"),
    ('{"records":[{"data":"192.0.2.1"},{"data":"192.0.2.1","prio":2}]}',
     "/records/1"),
    ('{"dcs":{"dc1":{"wanAcess":["192.0.2.1:443"]}}}',
     "/dcs/dc1/wanAcess: unknown member; accepted"),
    ('{"dcs":{"dc1":{"wanAccess":["192.0.2.1"]}}}', "/dcs/dc1/wanAccess/0"),
    ('{"records":[{"type":"CNAME","data":"a.example.net."},'
     '{"data":"192.0.2.1"}]}', "/records/"),
    ('{"records":[{"type":"CNAME","data":"192.0.2.1"}]}', "/records/0/data"),
    ('{"records":[{"type":"MX","data":"192.0.2.1"}]}', "/records/0/type"),
    ('{"records":[{"data":"192.0.2.1","dc":"dc9"}]}', "/records/0/dc"),
    ('{"records":[{"data":"192.0.2.1","if":"night"}]}', "/records/0/if"),
    ('{"scenarios":{"a":"b","b":[["!a"]]},"records":[{"data":"192.0.2.1",'
     '"if":"a"}]}', "/scenarios/"),
    ('{"checks":{"tcp":443},"records":[{"data":"192.0.2.1"}]}',
     "/checks/tcp"),
    ('{"records":[{"data":"192.0.2.1"}],"fallbackRecords":[{"data":"x y"}]}',
     "/fallbackRecords/0/data"),
    ('{"names":["a"]}', "/names"),
    ('[{"name":"www","data":"192.0.2.1","check":"1"},]', "/1"),
    ('[{"name":"www","name":"www","data":"192.0.2.1","check":"1"}]',
     "/0/name"),
    ("[{name:www,data:192.0.2.1,check:443},]", "/1"),
    ("[]", "empty list"),
]


def test_every_bad_spec_names_its_place(build, target):
    """All of them at once: none stops another, none writes."""
    one, two = target("127.0.0.2"), target("127.0.0.3")
    specs = {f"b{i}": text.replace('"www"', f'"b{i}"')
             for i, (text, _) in enumerate(BAD_SPECS)}
    w = build(records=records("www", one, two),
              specs={**specs, "www": www_rows(one, two)})
    before = w.files()
    got = w.once()
    failed(got)
    for i, (_, place) in enumerate(BAD_SPECS):
        mine = [line for line in got.stderr.splitlines()
                if f" _failover.b{i}.example.org" in line]
        assert len(mine) == 1, (i, got.stderr)
        assert place in mine[0], mine[0]
    assert w.files() == before
    one.close()
    got = w.once()
    assert got.returncode == 1
    assert withdrawn() in got.stdout
    assert got.stderr == ""
    assert w.values("www") == ["127.0.0.3"]


def test_cname_at_the_apex_is_refused(build, target):
    """R8: before any write."""
    w = build(records=records("@", "192.0.2.1"), specs={"@": json.dumps(
        {"records": [{"type": "CNAME", "data": "a.example.net."}]})})
    before = w.files()
    failed(w.once(), "_failover.example.org /records/0", "CNAME")
    assert w.files() == before


@KINDS
def test_spec_gone(pair, kind):
    """The first run keeps it, the second opts out and names what stays
    switched off."""
    w, one, _ = pair(kind=kind)
    w.settle()
    one.close()
    w.settle()
    w.spec("www", None)
    before = w.files()
    got = w.once()
    warned(got, "_failover.www.example.org is gone",
           "the last good spec stays in force")
    got = w.once()
    assert got.returncode == 0
    assert "_failover.www.example.org" in got.stdout
    assert "is gone: no longer managed" in got.stdout
    assert (f"{WWW} (127.0.0.2) is no longer managed; it was switched off by "
            "dnsfailover and stays so") in got.stdout
    assert "127.0.0.3" not in got.stdout
    one.open()
    w.quiet()
    w.quiet()
    assert w.files() == before


def test_spec_gone_stays_in_force_for_one_run(pair):
    w, one, two = pair()
    w.settle()
    w.spec("www", None)
    one.close()
    got = w.once()
    assert refused(one) in got.stdout
    assert w.values("www") == ["127.0.0.3"]
    # Back before the second look: as if nothing had been.
    w.spec("www", www_rows(one, two))
    one.open()
    got = w.once()
    assert got.returncode == 0
    assert w.values("www") == ["127.0.0.2", "127.0.0.3"]


def test_listed_name_without_spec(build, target):
    """A name of the configuration where nothing is published is told, once;
    the apex is not."""
    one, two = target("127.0.0.2"), target("127.0.0.3")
    w = build(records=records("www", one, two),
              specs={"www": www_rows(one, two)})
    w.configure(discover="names", names=["www", "missing"])
    got = w.once()
    warned(got, "_failover.missing.example.org")
    assert len(got.stderr.splitlines()) == 1
    w.quiet()


def test_value_dropped(build, target):
    """It stays as it stands; one that was switched off is named."""
    a, b, c = (target(f"127.0.0.{i}") for i in (2, 3, 4))
    w = build(records=records("www", a, b, c),
              specs={"www": www_rows(a, b, c)})
    w.settle()
    a.close()
    w.settle()
    w.spec("www", www_rows(c))
    got = w.once()
    assert got.returncode == 0
    assert f"{WWW} (127.0.0.2) is no longer managed" in got.stdout
    assert "127.0.0.3" not in got.stdout
    assert w.values("www") == ["127.0.0.3", "127.0.0.4"]
    a.open()
    b.close()
    w.quiet()


def test_dropped_value_that_the_agent_created(build, target):
    """It goes once another healthy one is published."""
    a, b = target("127.0.0.2"), target("127.0.0.3")
    w = build(records=records("www", a), specs={"www": www_rows(a, b)})
    w.settle()
    assert w.values("www") == ["127.0.0.2", "127.0.0.3"]
    w.spec("www", www_rows(a))
    got = w.once()
    assert f"{WWW} A 127.0.0.3 withdrawn: no longer in the spec" in got.stdout
    assert w.values("www") == ["127.0.0.2"]
    w.quiet()


# -- zones -----


def test_one_bad_zone_does_not_stop_the_others(build, target):
    one, two = target("127.0.0.2"), target("127.0.0.3")
    zones = {z: zone_text(z, records("www", one, two), {
        "www": rows(*((f"www.{z}.", t.addr, t.port) for t in (one, two)))})
        for z in ("example.org", "example.net", "example.com")}
    w = build(zones=zones)
    w.settle()
    broken = w.ns.zone_file("example.net")
    text = broken.read_text()
    broken.write_text(text + 'x IN A ( 192.0.2.1\n')
    w.ns.zone_file("example.com").unlink()
    one.close()
    got = w.once()
    failed(got, "example.net.", "example.com.")
    assert f"example.net.zone:{text.count(chr(10)) + 1}" in got.stderr
    assert "No such file" in got.stderr or "not there" in got.stderr
    assert withdrawn() in got.stdout
    assert w.values("www") == ["127.0.0.3"]
    assert broken.read_text().startswith(text)


def test_every_zone_of_a_provider_that_lists_none(build, target):
    one = target("127.0.0.2")
    w = build(records=records("www", one), specs={"www": www_rows(one)})
    w.config.write_text(w.config.read_text()
                        + 'zone "*" { provider = files }\n')
    got = w.once()
    failed(got, "provider files: cannot list zones; name them")


def test_zone_file_that_cannot_be_read(pair):
    """Nothing is switched off because a list could not be had."""
    w, one, _ = pair()
    w.settle()
    w.configure(file=w.dir / "elsewhere" / "{zone}.zone")
    one.close()
    before = w.files()
    got = w.once()
    failed(got, f"{w.dir}/elsewhere/example.org.zone")
    assert w.files() == before


def test_empty_zone_file_proves_nothing(pair):
    w, one, _ = pair()
    w.settle()
    path = w.dir / "other.zone"
    path.write_text(zone_text(ZONE, serial=9))
    w.configure(file=path)
    one.close()
    text = path.read_bytes()
    got = w.once()
    failed(got, "came back empty", "all sets are held")
    assert path.read_bytes() == text


def test_zone_that_nobody_serves(build, target):
    one, two = target("127.0.0.2"), target("127.0.0.3")
    zones = {z: zone_text(z, records("www", one, two), {
        "www": rows(*((f"www.{z}.", t.addr, t.port) for t in (one, two)))})
        for z in ("example.org", "example.net")}
    w = build(zones=zones)
    dead = servers.net.free_port()
    text = w.config.read_text()
    head, tail = text.split('zone "example.net"')
    w.config.write_text(head + 'zone "example.net"' + tail.replace(
        w.ns.server, f"127.0.0.1:{dead}"))
    one.close()
    two.close()
    one.open()
    got = w.once("--deadline", "10s")
    failed(got, "example.net")
    assert "example.org" not in got.stderr.replace(
        "_failover.www.example.org", "")
    assert w.values("www") == ["127.0.0.2"]


# -- limits -----


@pytest.mark.parametrize("data, kind, block", [
    ("10.0.1.1", "private", "10.0.1.1/32"),
    ("192.168.3.4", "private", "192.168.3.4/32"),
    ("127.0.0.1", "loopback", "127.0.0.1/32"),
    ("169.254.169.254", "a metadata address", "169.254.169.254/32"),
    ("224.0.0.5", "multicast", "224.0.0.5/32"),
    ("0.0.0.0", "unspecified", "0.0.0.0/32"),
    ("fd00::1", "unique-local", "fd00::1/128"),
    ("fe80::1", "link-local", "fe80::1/128"),
    ("::1", "loopback", "::1/128"),
    ("::ffff:10.0.1.1", "private", "10.0.1.1/32"),
])
def test_refused_target(build, target, data, kind, block):
    """A refused target is never down, whatever it is."""
    two = target("127.0.0.9")
    w = build(records=records("www", data, "192.0.2.9"), specs={"www": spec(
        {"data": data, "check": 443},
        {"data": "192.0.2.9", "check": f"tcp:{two.port}@127.0.0.9"})})
    w.configure(allow=["127.0.0.9/32"])
    before = w.files()
    got = w.once()
    failed(got, f"_failover.www.example.org /records/0/data: {data} is {kind};"
           f' to allow it add "{block}" to allow-targets in agent')
    assert got.stdout == ""
    silent_failure(w.once())
    assert w.files() == before


def test_refused_target_of_a_check(build, target):
    """Where the address stands in the check, its place is told."""
    w = build(records=records("www", "192.0.2.1"), specs={"www": spec(
        {"data": "192.0.2.1", "check": "tcp:22@10.9.8.7"})})
    failed(w.once(), "_failover.www.example.org /records/0/check: 10.9.8.7 is "
           'private; to allow it add "10.9.8.7/32" to allow-targets in agent')


def test_allowed_target(pair):
    w, one, _ = pair()
    w.configure(allow=["127.0.0.2/32"])
    failed(w.once(), "/1/data: 127.0.0.3 is loopback")
    w.configure(allow=["127.0.0.2/32", "127.0.0.3"])
    got = w.once()
    assert got.returncode == 0
    assert "resolved: " in got.stdout


def test_too_many_targets(build, target):
    w = build(records=records("www", "192.0.2.1"), specs={"www": rows(
        *((WWW, f"192.0.2.{i}", 443) for i in range(1, 6)))})
    w.configure(agent="  max-targets = 4")
    failed(w.once(), "_failover.www.example.org", "4", "max-targets")


def test_too_many_targets_by_default(build, target):
    w = build(records=records("www", "192.0.2.1"), specs={"www": rows(
        *((WWW, f"192.0.{i}.{k}", 443) for i in range(3)
          for k in range(1, 70)))})
    failed(w.once(), "_failover.www.example.org", "200", "max-targets")


def test_period_below_the_limit(build, target):
    w = build(records=records("www", "127.0.0.2"), specs={"www": spec(
        ("127.0.0.2", 443), defaults={"accessPeriod": "9ms"})})
    failed(w.once(), "_failover.www.example.org /defaults/accessPeriod: found "
           '"9ms"; accepted: 10ms or more (min-period in the agent\'s file)')


# -- never up -----


def test_never_up_beside_one_that_is_up(build, target):
    """A typo takes its record out only beside another that is up."""
    one, typo = target("127.0.0.2"), target("127.0.0.3")
    w = build(records=records("www", one, typo),
              specs={"www": www_rows(one, typo)})
    typo.close()
    got = w.once()
    warned(got, f"127.0.0.3 has never been up: tcp:{typo.port} refused "
           "(a typo? a firewall?)")
    assert w.values("www") == ["127.0.0.2"]
    w.quiet()
    typo.open()
    got = w.once()
    assert got.returncode == 0
    assert back(typo) in got.stdout
    assert "resolved: " in got.stdout
    assert w.values("www") == ["127.0.0.2", "127.0.0.3"]


@pytest.mark.parametrize("all_down", ["keep", "all", "none"])
def test_never_up_alone(build, target, all_down):
    """Nothing has ever been up: no lower tier, whatever the spec says."""
    one, two = target("127.0.0.2"), target("127.0.0.3")
    w = build(records=records("www", one), specs={"www": www_rows(
        one, two, allDown=all_down,
        fallbackRecords=[{"data": "192.0.2.200"}])})
    one.close()
    two.close()
    before = w.files()
    got = w.once()
    warned(got, "127.0.0.2 has never been up", "127.0.0.3 has never been up")
    w.quiet()
    assert w.files() == before


def test_told_line_names_the_first_contact(build, target):
    """First contact: what is healthy is published, what is dead goes."""
    one, two = target("127.0.0.2"), target("127.0.0.3")
    w = build(records=records("www", two), specs={"www": www_rows(one, two)})
    told(w.once(), f"{WWW} A 127.0.0.2 published: healthy records")
    assert w.values("www") == ["127.0.0.2", "127.0.0.3"]
