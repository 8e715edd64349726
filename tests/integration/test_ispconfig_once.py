"""`dnsfailover once` with ISPConfig, end to end: the double behind TLS, its
rows, its zone files on a real name server."""

import json

import pytest

import servers
from ispconfig.scene import (NET, ORG, SHOWN, WWW, Machine, Scene, back, bare,
                             down, escaped, machine, out, rows, scene, up)

# pytest finds fixtures by their names here.
assert machine and scene

FULL = f"{ORG}."


# ---- out and back -----------------------------------------------------------


def test_out_and_back(scene):
    a, b = scene.pair()
    foreign = scene.add("www", "A", "192.0.2.9")
    scene.settle()
    scene.session_is_clean()
    start = scene.dump()
    serial = scene.isp.serial(scene.zone)
    log = len(scene.isp.datalog())

    a.close()
    assert scene.lines() == [down(a), out(a)]
    scene.session_is_clean()
    raised = scene.isp.serial(scene.zone)
    assert raised > serial
    assert scene.changed(start) == {
        ("dns_rr", scene.rows[0]): {"active": "N"},
        ("dns_soa", scene.zone): {"serial": raised}}
    assert [e["dbtable"] for e in scene.isp.datalog()[log:]] == [
        "dns_rr", "dns_soa"]
    assert scene.values() == [a.addr, b.addr, "192.0.2.9"]
    scene.cron()
    assert scene.values() == [b.addr, "192.0.2.9"]
    got, = scene.lines()
    assert got.startswith(f"{WWW} A {SHOWN}")
    for _ in range(3):
        scene.quiet()
        scene.session_is_clean()

    a.open()
    assert scene.lines() == [up(a), back(a)]
    scene.session_is_clean()
    again = scene.isp.serial(scene.zone)
    assert again > raised
    assert scene.changed(start) == {("dns_soa", scene.zone): {"serial": again}}
    assert scene.active(*scene.rows, foreign) == "YYY"
    scene.cron()
    assert scene.values() == [a.addr, b.addr, "192.0.2.9"]
    got, = scene.lines()
    assert got.startswith(f"{WWW} A {SHOWN}")
    scene.quiet()


def test_the_ttl_of_the_spec_comes_with_a_return(scene):
    a, _ = scene.pair(ttl=120)
    scene.settle()  # a TTL alone is no reason to write
    start = scene.dump()
    a.close()
    scene.lines()
    assert scene.changed(start)["dns_rr", scene.rows[0]] == {"active": "N"}
    log = len(scene.isp.datalog())
    a.open()
    scene.lines()
    found = scene.changed(start)
    assert found.pop(("dns_soa", scene.zone)).keys() == {"serial"}
    assert found == {("dns_rr", row): {"ttl": 120} for row in scene.rows}
    tables = [e["dbtable"] for e in scene.isp.datalog()[log:]]
    assert tables == ["dns_rr", "dns_rr", "dns_soa"]


def test_five_changes_raise_the_serial_once(scene):
    pairs = [scene.pair(f"n{i}") for i in range(5)]
    scene.settle()
    start = scene.dump()
    log = len(scene.isp.datalog())
    for a, _ in pairs:
        a.close()
    got = scene.lines()
    assert [x for x in got if "withdrawn" in x] == [
        out(a, f"n{i}.{FULL}") for i, (a, _) in enumerate(pairs)]
    scene.session_is_clean()
    tables = [e["dbtable"] for e in scene.isp.datalog()[log:]]
    assert tables == ["dns_rr"] * 5 + ["dns_soa"]
    assert scene.isp.serial(scene.zone) % 100 == 1  # the first of today
    changed = scene.changed(start)
    assert len(changed) == 6
    assert sum(v == {"active": "N"} for v in changed.values()) == 5


def test_two_zones_in_one_run(scene):
    a, _ = scene.pair()
    mine = scene.rows
    c, _ = scene.pair(zone=scene.other)
    scene.configure(zones=[ORG, NET])
    scene.serve(scene.zone, scene.other)
    scene.quiet()
    start = scene.dump()
    a.close()
    c.close()
    got = scene.lines()
    assert sorted(got) == sorted([
        down(a), down(c, f"www.{NET}."), out(a), out(c, f"www.{NET}.")])
    scene.session_is_clean()
    changed = scene.changed(start)
    assert changed.pop(("dns_soa", scene.zone)).keys() == {"serial"}
    assert changed.pop(("dns_soa", scene.other)).keys() == {"serial"}
    assert changed == {("dns_rr", mine[0]): {"active": "N"},
                       ("dns_rr", scene.rows[0]): {"active": "N"}}
    assert sorted(scene.cron()) == [NET, ORG]
    assert [x.split(" after ")[0] for x in sorted(scene.lines())] == [
        f"www.{NET}. A {SHOWN[:-7]}", f"{WWW} A {SHOWN[:-7]}"]
    scene.quiet()


def test_every_zone_of_the_panel(scene):
    a, _ = scene.pair()
    mine = scene.rows
    c, _ = scene.pair(zone=scene.other)
    scene.configure(zones=["*"])
    scene.serve(scene.zone, scene.other)
    scene.quiet()
    scene.isp.set_soa(scene.other, active="N")
    a.close()
    c.close()
    assert scene.lines() == [down(a), out(a)]
    scene.session_is_clean()
    assert scene.active(mine[0], scene.rows[0]) == "NY"


def test_a_section_of_its_own_goes_before_the_asterisk(scene):
    a, _ = scene.pair()
    mine = scene.rows
    c, _ = scene.pair(zone=scene.other)
    scene.configure(zones=["*"])
    scene.config.write_text(
        scene.config.read_text() + f'zone "{NET}" {{\n  provider = panel\n'
        f'  servers = {{"{scene.ns.server}"}}\n  discover = provider\n'
        "  mode = observe\n}\n")
    scene.serve(scene.zone, scene.other)
    a.close()
    c.close()
    got = scene.lines()
    assert out(a) in got
    assert f"www.{NET}. A {c.addr} would be withdrawn: its checks fail" in got
    assert scene.active(mine[0], scene.rows[0]) == "NY"


def test_plan_status_and_verbose(scene):
    a, b = scene.pair()
    scene.settle()
    a.close()
    start = scene.dump()
    got = scene.run("plan", "--exit-code")
    assert (got.returncode, got.stderr) == (3, "")
    assert got.stdout.splitlines() == [
        down(a), f"{WWW} A {a.addr} would be withdrawn: its checks fail"]
    scene.session_is_clean()
    assert scene.changed(start) == {}
    assert scene.writes() == []

    got = scene.once("-v")
    serial = scene.isp.serial(scene.zone)
    for line in (
            f"  {WWW} A found: {a.addr} {b.addr}; wanted: {b.addr}; "
            "healthy records",
            f"  {FULL} provider panel: serial is now {serial}",
            f"  {WWW} A is not shown by {scene.ns.server} yet"):
        assert line in got.stdout.splitlines()
    one, two = scene.status()["records"]
    assert (one["data"], one["health"], one["published"], one["pending"]) == (
        a.addr, "down", False, True)
    assert (two["data"], two["health"], two["published"], two["pending"]) == (
        b.addr, "up", True, False)
    assert scene.run("plan", "--exit-code").returncode == 0


# ---- specs ------------------------------------------------------------------


@pytest.fixture(scope="module")
def nsd_machine(tmp_path_factory):
    if servers.find("nsd") is None:
        pytest.skip("nsd is not installed")
    with Machine(tmp_path_factory.mktemp("nsd"), servers.Nsd) as m:
        yield m


SPELLINGS = {"JSON": lambda t: t, "escaped": escaped, "bare": bare}


@pytest.mark.parametrize("kind", ["Bind", "Nsd"])
@pytest.mark.parametrize("how", SPELLINGS)
def test_spellings(request, agent, tmp_path, kind, how):
    which = {"Bind": "machine", "Nsd": "nsd_machine"}[kind]
    with Scene(request.getfixturevalue(which), agent, tmp_path) as scene:
        a, b = scene.pair(text=SPELLINGS[how])
        scene.settle()
        a.close()
        assert scene.lines() == [down(a), out(a)]
        scene.cron()
        assert scene.values() == [b.addr]
        served, = scene.values("_failover.www", "TXT")
        stored = scene.isp.rr(scene.spec_row)["data"]
        # What the panel holds as JSON is served as bare pieces.
        assert served.count('" "') == (0 if how != "JSON" else 24)
        assert served.replace('"', "").replace(" ", "").replace(
            "\\", "") == bare(stored).replace("\\", "")


@pytest.mark.parametrize("how", ["JSON", "bare"])
@pytest.mark.parametrize("n", [4, 7, 40])
def test_long_specs(scene, n, how):
    all_ = [scene.target(f"127.0.1.{1 + i}") for i in range(n)]
    scene.rows = [scene.add("www", "A", t.addr) for t in all_]
    text = SPELLINGS[how](rows(*[(WWW, t) for t in all_]))
    assert (len(text) > 255) == (n > 4)
    scene.spec("www", text)
    scene.settle()
    assert len(scene.status()["records"]) == n
    all_[-1].close()
    assert scene.lines() == [down(all_[-1]), out(all_[-1])]
    assert scene.active() == "Y" * (n - 1) + "N"


def with_comment(text):
    return lambda spec: spec.replace(
        '"check"', f'"comment":"{text}","check"', 1)


LOST = ("; the provider holds a good text, so what DNS serves lost something "
        "on the way (quotes, or a cut)")
BARE = LOST + ": publish it in the bare spelling, without double quotes"
BACKSLASH = (LOST + ", and the bare spelling cannot say it: put a backslash "
             "before each double quote")
PLAIN = (LOST + ", and the bare spelling cannot say it: take everything but "
         "letters, digits and . _ : / @ | ! ? = & % * + ~ - out of its values "
         "and publish it without double quotes, or spread it over several TXT "
         "records of at most 255 bytes, with a backslash before each double "
         "quote")
# What is stored; what the error says; how it is to be mended.
DAMAGES = {
    "semicolon": (with_comment("a;b"), "found the end of the text", BACKSLASH),
    "comma": (with_comment("a,b"), "accepted: letters, digits", BACKSLASH),
    "odd quote": (with_comment('a\\"b'), "odd number of quotes", BARE),
    "quotes needed": (lambda t: t.replace('"check"', '"body":"x","check"', 1),
                      "quotes lost: what was meant cannot be known",
                      BACKSLASH),
    "long": (with_comment("a;b" + "x" * 150), "found the end of the text",
             PLAIN),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_on_the_way(scene, damage):
    change, found, hint = DAMAGES[damage]
    a, b = scene.pair()
    scene.settle()
    good = scene.isp.rr(scene.spec_row)["data"]
    scene.isp.set_rr(scene.spec_row, data=change(good))
    scene.serve()
    got, = scene.lines(code=1)
    assert got.startswith(f"dnsfailover: _failover.www.{ORG} /0")
    assert found in got
    assert got.endswith(hint + "; the last good spec stays in force")
    assert "stale" in scene.status()["specs"][0]

    a.close()  # the last good spec works on
    assert scene.lines(code=1) == [down(a), out(a)]
    mended = {BARE: bare(change(good)).replace("\\", ""),
              BACKSLASH: escaped(change(good))}.get(hint, bare(good))
    scene.isp.set_rr(scene.spec_row, data=mended)
    scene.serve()
    assert [x for x in scene.lines() if SHOWN not in x] == [
        "resolved: " + got.removeprefix("dnsfailover: ")]
    assert scene.values() == [b.addr]


def test_the_cut_in_an_escaped_quote(scene):
    a, _ = scene.pair()
    scene.settle()
    good = scene.isp.rr(scene.spec_row)["data"]
    text = escaped(with_comment("x" * 400)(good))
    before = text.index('\\"check')
    text = escaped(with_comment("x" * (400 + 2 * 255 - 1 - before))(good))
    assert text[509:511] == '\\"'
    scene.isp.set_rr(scene.spec_row, data=text)
    start = scene.isp.serial(scene.zone)
    scene.isp.set_soa(scene.zone, serial=start + 1)
    scene.part.write_all()
    # Either the zone does not load any more and the old one is served, or
    # the text that is served is damaged and the error says so.
    path = scene.part.path(scene.zone)
    if path.with_name(path.name + ".err").exists():
        path.with_name(path.name + ".err").unlink()
        a.close()
        assert scene.lines() == [down(a), out(a)]
    else:
        scene.serve()
        got, = scene.lines(code=1)
        assert got.endswith(BARE + "; the last good spec stays in force")


def test_a_failed_lookup_is_no_damage(scene):
    scene.pair()
    scene.settle()
    scene.ns.stop()
    try:
        got = scene.lines(code=1)
    finally:
        scene.ns.start()
    assert f"dnsfailover: _failover.www.{ORG} lookup failed:" in got[0]
    assert got[0].endswith("; the last good spec stays in force")
    assert "lost something" not in "".join(got)


def test_a_spec_that_is_taken_back(scene):
    a, _ = scene.pair()
    scene.settle()
    scene.isp.set_rr(scene.spec_row, active="N")
    scene.serve()
    a.close()
    got = scene.lines()
    assert got[0] == down(a) and got[1] == out(a)
    assert got[2].startswith(f"dnsfailover: _failover.www.{ORG} is gone (")
    a.open()
    got = scene.lines()
    assert got[0] == (f"_failover.www.{ORG} is gone: no longer managed; its "
                      "records stay as they stand")
    assert scene.active() == "NY"
    scene.quiet()


# ---- names ------------------------------------------------------------------

NAMES = {
    # stored name: name in the spec, a name to ask for
    "www": (WWW, "www"),
    f"www.{FULL}": (WWW, "www"),
    "WwW.Example.ORG.": (WWW, "www"),
    "": (FULL, ""),
    FULL: (FULL, ""),
    "*": (f"*.{FULL}", "anything"),
    f"*.{FULL}": (f"*.{FULL}", "anything"),
}


@pytest.mark.parametrize("stored", NAMES)
def test_names_as_stored(scene, stored):
    name, asked = NAMES[stored]
    a, b = scene.target("127.0.0.2"), scene.target("127.0.0.3")
    scene.rows = [scene.add(stored, "A", t.addr) for t in (a, b)]
    scene.spec(stored, rows((name, a), (name, b)))
    scene.settle()
    start = scene.dump()
    a.close()
    assert scene.lines() == [down(a, name), out(a, name)]
    # The panel's form lower-cases a name whenever a row is saved.
    changed = scene.changed(start)["dns_rr", scene.rows[0]]
    changed.pop("name", None)
    assert changed == {"active": "N"}
    scene.cron()
    assert scene.values(asked) == [b.addr]
    assert len(scene.lines()) == 1
    scene.quiet()


def test_a_row_named_at(scene):
    """The panel's own form refuses to save such a row."""
    a, b = scene.target("127.0.0.2"), scene.target("127.0.0.3")
    scene.rows = [scene.add("@", "A", t.addr) for t in (a, b)]
    scene.spec("", rows(("@", a), ("@", b)))
    scene.settle()
    a.close()
    got = scene.lines(code=1)
    assert got == [
        down(a, FULL),
        f"dnsfailover: {FULL} ({a.addr}) could not be withdrawn at provider "
        f"panel: {FULL} A {a.addr}: dns_a_update: data_processing_error: "
        "name_error_regex"]
    assert scene.active() == "YY"


def test_equal_rows_are_switched_together(scene):
    a, b = scene.pair()
    more = [scene.add("WWW.example.org.", "A", a.addr),
            scene.add(WWW, "A", a.addr, active="N")]
    scene.settle()
    a.close()
    scene.lines()
    assert scene.active(*scene.rows, *more) == "NYNN"
    scene.cron()
    assert scene.values() == [b.addr]
    a.open()
    scene.lines()
    assert scene.active(*scene.rows, *more) == "YYYY"


def test_a13_the_same_address_in_other_letters(scene):
    six = scene.target("::1")
    first = scene.add("www", "AAAA", "0:0:0:0:0:0:0:1")
    second = scene.add("www", "AAAA",
                       "2001:0db8:0000:0000:0001:0000:0000:0001")
    scene.spec("www", json.dumps({
        "defaults": {"requiredFailure": 1, "requiredSuccess": 1},
        "records": [{"data": "::0001", "check": str(six.port)},
                    {"data": "0::1", "check": str(six.port)},
                    {"data": "2001:DB8:0:0:1::1"}]}))
    scene.settle()
    for _ in range(3):
        scene.quiet()
    assert len(scene.status()["records"]) == 2
    start = scene.dump()
    six.close()
    assert scene.lines() == [down(six), out(six, rdtype="AAAA")]
    assert scene.changed(start)["dns_rr", first] == {"active": "N"}
    assert scene.active(second) == "Y"


@pytest.mark.parametrize("data", ["2001:db8::1::", "192.0.2.010", "192.0.2"])
def test_a13_refused(scene, data):
    scene.spec("www", f'[{{"name":"{WWW}","data":"{data}","check":"1"}}]')
    scene.serve()
    assert scene.lines(code=1) == [
        f'dnsfailover: _failover.www.{ORG} /0/data: found "{data}"; accepted: '
        "an IPv4 address (192.0.2.1), an IPv6 address (2001:db8::1), or the "
        "target's name for CNAME"]


def test_a_record_without_its_final_dot(scene):
    """Stored as www.example.org, it stands at www.example.org.example.org."""
    a, _ = scene.pair()
    scene.isp.set_rr(scene.rows[0], name=f"www.{ORG}")
    scene.serve()
    start = scene.dump()
    assert scene.lines(code=1) == [
        f"dnsfailover: {WWW} ({a.addr}) could not be published at provider "
        f"panel: {a.addr} is not in the panel at {WWW} A; add it there "
        f'(inactive is fine), or set create = yes in zone "{ORG}"']
    assert scene.changed(start) == {}


MISPLACED = {
    "spec": (lambda s: s.isp.set_rr(s.spec_row, name=f"_failover.www.{ORG}"),
             f"_failover.www.{ORG}.{ORG} /0/name: {WWW} is outside what this "
             f"spec speaks for; accepted: www.{ORG}.{FULL} and names below it"),
    "name": (lambda s: s.isp.set_rr(s.spec_row, data=s.isp.rr(s.spec_row)[
        "data"].replace(FULL, ORG)),
        f'_failover.www.{ORG} /0/name: found "www.{ORG}", a relative name that '
        "ends in the zone's name; accepted: with a final dot, or without "
        f'"{FULL}"'),
    "zone": (lambda s: s.isp.set_rr(s.spec_row, data=s.isp.rr(s.spec_row)[
        "data"].replace(ORG, NET)),
        f"_failover.www.{ORG} /0/name: www.{NET}. is not in the zone {FULL}; "
        "accepted: names of this zone (another zone takes its own _failover "
        "record)"),
}


@pytest.mark.parametrize("how", MISPLACED)
def test_misplaced(scene, how):
    change, text = MISPLACED[how]
    a, _ = scene.pair()
    change(scene)
    scene.serve()
    a.close()
    start = scene.dump()
    got, = scene.lines(code=1)
    assert got.startswith(f"dnsfailover: {text}")
    assert scene.changed(start) == {} and scene.writes() == []


def test_rows_outside_the_zone_are_not_ours(scene):
    a, _ = scene.pair()
    outside = scene.add(f"www.{NET}.", "A", a.addr)
    scene.add(f"_failover.www.{NET}.", "TXT", "[]")
    scene.settle()
    a.close()
    assert scene.lines() == [down(a), out(a)]
    assert scene.active(outside) == "Y"


# ---- which zone -------------------------------------------------------------


def test_a8_which_zone_a_name_belongs_to(agent, tmp_path):
    zones = ("example.test", "ample.test", "eu.example.test",
             "longexample.test")
    with Machine(tmp_path, origins=zones) as m, \
            Scene(m, agent, tmp_path) as scene:
        scene.configure(zones=["*"])
        names = {"www": "eu.example.test", "www-eu": "example.test",
                 "x": "longexample.test", "a.b": "example.test"}
        pairs = {}
        for name, zone in names.items():
            pairs[name] = scene.pair(name, zone=scene.zones[zone])
            pairs[name] = (*pairs[name], scene.rows)
        # The parent's rows below the cut are nobody's.
        below = scene.add("www.eu", "A", "127.0.0.2", scene.zones[zones[0]])
        scene.serve(*scene.zones.values())
        scene.quiet()
        start = scene.dump()
        for a, _, _ in pairs.values():
            a.close()
        scene.lines()
        changed = scene.changed(start)
        assert {k[1] for k in changed if k[0] == "dns_rr"} == {
            r[0] for _, _, r in pairs.values()}
        assert {k[1] for k in changed if k[0] == "dns_soa"} == {
            scene.zones[z] for z in set(names.values())}
        assert scene.active(below) == "Y"
