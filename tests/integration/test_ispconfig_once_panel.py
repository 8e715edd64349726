"""`dnsfailover once` with ISPConfig: records that the panel lacks or refuses,
what it publishes later or never, and other people at the same panel."""

from ispconfig.scene import (AGENT, MINUTE_MS, ORG, SHOWN, WWW, back, down,
                             machine, out, outage, resolved, scene, up)

# pytest finds fixtures by their names here.
assert machine and scene and outage


# ---- records that are missing -----------------------------------------------


def test_a_missing_record(scene):
    a, b = scene.pair()
    scene.isp.sql("DELETE FROM dns_rr WHERE id = ?", scene.rows[0])
    scene.serve()
    start = scene.dump()
    problem = (
        f"{AGENT}{WWW} ({a.addr}) could not be published at provider panel: "
        f"{a.addr} is not in the panel at {WWW} A; add it there (inactive is "
        f'fine), or set create = yes in zone "{ORG}"')
    assert scene.lines(code=1) == [problem]
    assert scene.changed(start) == {} and scene.writes() == []
    assert scene.lines(code=1) == []

    scene.configure(section="  create = yes")
    assert scene.lines() == [back(a), *resolved(problem)]
    scene.session_is_clean()
    new = [k for k, v in scene.changed(start).items() if v is None]
    assert len(new) == 1
    row = scene.isp.rr(new[0][1])
    assert (row["name"], row["type"], row["data"], row["active"],
            row["ttl"], row["server_id"], row["zone"]) == (
        WWW, "A", a.addr, "Y", 300, 1, scene.zone)
    scene.cron()
    assert scene.values() == [a.addr, b.addr]
    assert len(scene.lines()) == 1
    scene.quiet()

    before = scene.dump()
    a.close()  # and it is switched off in place
    assert scene.lines() == [down(a), out(a)]
    assert scene.changed(before)[new[0]] == {"active": "N"}
    a.open()
    assert scene.lines()[:2] == [up(a), back(a)]
    assert set(scene.changed(before)) == {("dns_soa", scene.zone)}


def test_a_row_that_the_panel_refuses(scene):
    a, _ = scene.pair()
    mine = scene.rows
    scene.isp.set_rr(mine[0], ttl=30)  # imported; the form wants 60
    c, _ = scene.pair("w2")
    scene.settle()
    a.close()
    c.close()
    got = scene.lines(code=1)
    problem = (f"{AGENT}{WWW} ({a.addr}) could not be withdrawn at provider "
               f"panel: {WWW} A {a.addr}: dns_a_update: data_processing_error: "
               "ttl_range_error")
    name = f"w2.{ORG}."
    assert sorted(got) == sorted([down(a), down(c, name), problem,
                                  out(c, name)])
    assert scene.active(*mine, *scene.rows) == "YYNY"
    assert scene.lines(code=1) == []  # told once
    assert scene.status()["problems"][0]["text"] == problem.removeprefix(AGENT)
    scene.isp.set_rr(mine[0], ttl=60)
    assert scene.lines() == [out(a), *resolved(problem)]


# ---- published later --------------------------------------------------------


def test_the_panel_publishes_once_a_minute(outage):
    outage.lines()
    for _ in range(2):
        outage.quiet()  # not sent again, no alarm
    outage.later(MINUTE_MS)
    outage.quiet()
    outage.later(3 * MINUTE_MS)
    problem = (
        f"{AGENT}{WWW} A was written more than 3 minutes ago and "
        f"{outage.ns.server} still does not show it: the zone may be frozen "
        "there (does it load?)")
    assert outage.lines(code=1) == [problem]
    assert outage.lines(code=1) == []
    assert outage.writes() == []
    outage.cron()
    got = outage.lines()
    assert got[0].startswith(f"{WWW} A {SHOWN}24")  # 240 s and a bit
    assert got[1:] == resolved(problem)
    outage.quiet()


def test_a_frozen_zone(outage):
    bad = outage.add("bad", "A", "no address")
    outage.lines()
    assert outage.cron() == []
    assert "not loaded due to errors" in outage.isp.datalog()[-1]["error"]
    assert outage.values() == [outage.a.addr, outage.b.addr]
    outage.quiet()
    outage.later(4 * MINUTE_MS + 1000)
    got, = outage.lines(code=1)
    assert "the zone may be frozen there" in got
    outage.isp.sql("DELETE FROM dns_rr WHERE id = ?", bad)
    outage.serve()
    assert outage.values() == [outage.b.addr]
    assert outage.lines()[1:] == resolved(got)


# ---- others' hands ----------------------------------------------------------


def test_a_healthy_value_that_somebody_switched_off(scene):
    a, b = scene.pair()
    scene.settle()
    scene.isp.set_rr(scene.rows[0], active="N")
    scene.serve()
    problem = (f"{AGENT}{WWW} ({a.addr}) is healthy, but was switched off by "
               "somebody else: it stays off until it goes down and up again")
    assert scene.lines() == [problem]
    scene.quiet()
    assert scene.status()["records"][0]["offByOthers"] is True
    a.close()
    assert scene.lines() == [down(a), *resolved(problem)]
    a.open()
    assert scene.lines()[:2] == [up(a), back(a)]
    assert scene.active() == "YY"
    assert b.port


def test_a_dead_value_that_somebody_switched_on(outage):
    outage.lines()
    for _ in range(3):
        outage.later(MINUTE_MS + 1000)
        outage.isp.set_rr(outage.rows[0], active="Y")
        assert outage.lines()[0] == out(outage.a)
    outage.later(MINUTE_MS + 1000)
    outage.isp.set_rr(outage.rows[0], active="Y")
    problem = (f"{AGENT}{WWW} ({outage.a.addr}) is switched on by somebody "
               "else again and again: left on now")
    assert problem in outage.lines()
    assert outage.active() == "YY"
    outage.later(61 * MINUTE_MS)
    assert out(outage.a) in outage.lines()
    assert outage.active() == "NY"


def test_an_edit_in_the_panel_is_kept(outage):
    """Columns that somebody changed after the list was read stay theirs."""
    outage.isp.set_rr(outage.rows[0], aux=7, stamp="2026-01-01 00:00:00",
                      sys_userid=3, sys_groupid=3)
    start = outage.dump()
    outage.lines()
    assert outage.changed(start)["dns_rr", outage.rows[0]] == {"active": "N"}
    assert outage.isp.soa(outage.zone)["sys_userid"] == 2
