"""The operator's commands: maintenance, freeze, thaw, readmit, the freeze
file; what they leave in status and history."""

import fcntl
import json
import os
import sqlite3
import subprocess

import pytest

from test_once import WWW, back, refused, told
from test_once_sets import switch_off
from world import (  # noqa: F401
    ZONE, build, checked, end, pair, records, spec, target, until, zone_text,
)


def ran(got, *parts):
    """Exit 0, silent on standard error, and says these."""
    assert got.returncode == 0, got.stdout + got.stderr
    assert got.stderr == ""
    for part in parts:
        assert part in got.stdout, got.stdout
    return got


def refuses(got, *parts):
    assert got.returncode == 2, got.stdout + got.stderr
    assert got.stdout == ""
    for part in parts:
        assert part in got.stderr, got.stderr


def dc(t, **members):
    return {"wanAccess": [f"tcp:{t.port}@{t.addr}"], **members}


def dc_spec(one, two, dcs=None, **members):
    return spec(
        {"data": one.addr, "dc": "dc1", **members.pop("first", {})},
        {"data": two.addr, "dc": "dc2"},
        dcs={"dc1": dc(one), "dc2": dc(two), **(dcs or {})}, **members)


@pytest.fixture
def centres(build, target):
    """centres(dcs=…, **members) → a world whose www has a record in dc1 and
    one in dc2, and the two targets."""

    def make(**members):
        one, two = target("127.0.0.2"), target("127.0.0.3")
        w = build(records=records("www", one, two),
                  specs={"www": dc_spec(one, two, **members)})
        w.settle()
        return w, one, two

    return make


def shift(w, seconds, *columns):
    """Moves what the state remembers into the past: time passes."""
    ms = int(seconds * 1000)
    with sqlite3.connect(w.state) as db:
        for table, column in columns:
            db.execute(f"UPDATE {table} SET {column} = {column} - ? "
                       f"WHERE {column} > 0", (ms,))
    db.close()


def history(w, *names):
    got = w.run("history", "--json", *names)
    assert got.returncode == 0
    return [json.loads(x) for x in got.stdout.splitlines()]


def user():
    return subprocess.run(["id", "-un"], capture_output=True, text=True,
                          check=True).stdout.strip()


def values(w, *last):
    assert w.values("www") == [f"127.0.0.{i}" for i in last]


# -- maintenance -----


def test_maintenance_on_and_off(centres):
    w, _, _ = centres()
    ran(w.run("maintenance", "dc1", "on"),
        f"dc1 of {ZONE}. is in maintenance", "the next look")
    values(w, 2, 3)
    got = ran(w.once(), f"{WWW} A 127.0.0.2 withdrawn")
    assert "its data centre is in maintenance" in got.stdout
    values(w, 3)
    w.quiet()
    text = ran(w.run("status")).stdout
    assert f"data centre dc1 ({WWW}): ok, in maintenance" in text
    assert f"operator: dc1 of {ZONE}. is in maintenance, by {user()}" in text
    ran(w.run("maintenance", "dc1", "off"), "back from maintenance")
    ran(w.once(), f"{WWW} A 127.0.0.2 published")
    values(w, 2, 3)
    w.quiet()
    assert "operator:" not in ran(w.run("status")).stdout


def test_maintenance_is_in_status_json_and_history(centres):
    w, _, _ = centres()
    ran(w.run("maintenance", "dc1", "on", "--for", "2h"), " until 20")
    _, whole = w.status()
    assert [d["name"] for d in whole["dcs"]] == ["dc1", "dc2"]
    assert [d["maintenance"] for d in whole["dcs"]] == [True, False]
    override, = whole["overrides"]
    assert override["kind"] == "maintenance"
    assert override["zone"] == f"{ZONE}."
    assert override["dc"] == "dc1"
    assert override["user"] == user()
    assert override["until"] > override["since"]
    event = history(w)[0]
    assert event["event"] == "maintenance"
    assert event["data"] == "dc1"
    assert f"until {override['until'][:16]}" in event["reason"]
    assert event["reason"].endswith(f", by {user()}")


def test_the_name_behind_sudo(centres):
    if os.geteuid() != 0:
        pytest.skip("SUDO_USER counts for root only")
    w, _, _ = centres()
    ran(w.run("maintenance", "dc1", "on", env={"SUDO_USER": "alice"}))
    assert history(w)[0]["reason"].endswith(", by alice")
    ran(w.run("maintenance", "dc1", "off", env={"SUDO_USER": "a\nb"}))
    assert history(w)[0]["reason"].endswith(f", by {user()}")


def test_maintenance_ends_by_itself(centres):
    w, _, _ = centres()
    ran(w.run("maintenance", "dc1", "on", "--for", "2h"))
    w.settle()
    values(w, 3)
    shift(w, 7000, ("overrides", "until_ms"))
    w.quiet()
    values(w, 3)
    shift(w, 300, ("overrides", "until_ms"))
    ran(w.once(), f"dc1 of {ZONE}. is in maintenance no longer: the time that "
        f"{user()} gave it is over", f"{WWW} A 127.0.0.2 published")
    values(w, 2, 3)
    w.quiet()
    _, whole = w.status()
    assert whole["overrides"] == []


def test_maintenance_of_every_data_centre(centres):
    """Tier 6 applies, and the report says so."""
    w, _, _ = centres()
    for name in ("dc1", "dc2"):
        ran(w.run("maintenance", name, "on"))
    got = w.once()
    assert "withdrawn" not in got.stdout
    values(w, 2, 3)
    assert "every data centre is in maintenance: kept" in \
        ran(w.run("status")).stdout


def test_maintenance_keeps_all_else(centres):
    """The command changes one row of the state and no other."""
    w, one, _ = centres()
    one.close()
    w.settle()
    dump = {}
    for step in ("before", "after"):
        db = sqlite3.connect(w.state)
        dump[step] = {table: db.execute(
            f"SELECT * FROM {table} ORDER BY 1").fetchall()
            for table in ("checks", "vals", "sets", "specs", "zones",
                          "judges", "problems")}
        db.close()
        if step == "before":
            ran(w.run("maintenance", "dc2", "on"))
    assert dump["before"] == dump["after"]
    assert dump["before"]["vals"] and dump["before"]["judges"]


def test_maintenance_errors(centres):
    w, _, _ = centres()
    refuses(w.run("maintenance", "dc9", "on"), '"dc9"',
            f"known: dc1 ({ZONE}.), dc2 ({ZONE}.)")
    refuses(w.run("maintenance", "dc9", "off"), '"dc9"', "known: dc1")
    refuses(w.run("maintenance", "dc1", "on", "--zone", "example.net"),
            '"example.net."', f"known: {ZONE}.")
    refuses(w.run("maintenance", "dc1"), "on or off")
    refuses(w.run("maintenance", "dc1", "perhaps"), '"perhaps"')
    refuses(w.run("maintenance", "dc1", "off", "--for", "1h"), "--for")
    refuses(w.run("maintenance", "dc1", "on", "--for", "soon"), '"soon"')
    ran(w.run("maintenance", "dc1", "off"), "was not in maintenance")
    assert history(w) == []


def test_maintenance_before_the_first_round(pair):
    w, _, _ = pair()
    refuses(w.run("maintenance", "dc1", "on"), "none yet")


def test_a_name_in_two_zones(build, target):
    one, two = target("127.0.0.2"), target("127.0.0.3")
    zones = {zone: zone_text(zone, records("www", one, two), {
        "www": dc_spec(one, two)}) for zone in (ZONE, "example.net")}
    w = build(zones=zones)
    w.settle()
    refuses(w.run("maintenance", "dc1", "on"), "--zone", "example.net.",
            f"{ZONE}.")
    ran(w.run("maintenance", "dc1", "on", "--zone", "example.net"))
    w.settle()
    values(w, 2, 3)
    assert w.ns.values("www.example.net.", "A") == ["127.0.0.3"]
    ran(w.run("maintenance", "dc1", "off"), "dc1 of example.net.")
    ran(w.run("maintenance", "dc1", "on", "--zone", "*"), "every zone")
    w.settle()
    values(w, 3)
    assert w.ns.values("www.example.net.", "A") == ["127.0.0.3"]
    ran(w.run("maintenance", "dc1", "off"), "every zone")
    w.settle()
    values(w, 2, 3)


def test_maintenance_of_the_spec_stays(centres):
    w, _, _ = centres()
    w.spec("www", spec(
        {"data": "127.0.0.2", "dc": "dc1"}, {"data": "127.0.0.3"},
        dcs={"dc1": {"maintenanceMode": True}}))
    w.settle()
    values(w, 3)
    ran(w.run("maintenance", "dc1", "off"), "its spec says maintenanceMode")
    w.quiet()


# -- freeze -----


@pytest.mark.parametrize("what", ["www.example.org", "example.org", "all"])
def test_freeze_and_thaw(pair, what):
    w, one, _ = pair()
    w.settle()
    ran(w.run("freeze", what), "nothing is written")
    one.close()
    got = w.once()
    assert got.returncode == 0
    assert got.stdout == refused(one) + "\n"
    values(w, 2, 3)
    w.quiet()
    text = ran(w.run("status")).stdout
    assert "held: frozen by the operator" in text
    assert f"frozen, by {user()}" in text
    ran(w.run("thaw", what), "thawed")
    ran(w.once(), f"{WWW} A 127.0.0.2 withdrawn: its checks fail")
    values(w, 3)
    events = [e for e in history(w) if e["event"] in ("freeze", "thaw")]
    assert [e["event"] for e in events] == ["thaw", "freeze"]
    assert all(e["reason"].endswith(f", by {user()}") for e in events)


def test_freeze_ends_by_itself(pair):
    w, one, _ = pair()
    w.settle()
    ran(w.run("freeze", "www.example.org", "--for", "10m"), " until 20")
    one.close()
    w.once()
    values(w, 2, 3)
    shift(w, 601, ("overrides", "until_ms"))
    ran(w.once(), f"{WWW} is frozen no longer", "withdrawn")
    values(w, 3)


def test_freeze_leaves_other_names_alone(build, target):
    one, two = target("127.0.0.2"), target("127.0.0.3")
    w = build(records=records("www", one, two) + "\n"
              + records("mail", one, two),
              specs={"www": spec(*checked(one, two)),
                     "mail": spec(*checked(one, two))})
    w.settle()
    ran(w.run("freeze", "mail.example.org"))
    one.close()
    w.once()
    values(w, 3)
    assert w.values("mail") == ["127.0.0.2", "127.0.0.3"]
    got = ran(w.run("thaw", "www.example.org"), "was not frozen")
    assert "still" not in got.stdout
    ran(w.run("freeze", "all"))
    ran(w.run("thaw", "mail.example.org"), "still: every zone is frozen")
    ran(w.run("freeze", "mail.example.org"))
    ran(w.run("thaw", "all"))
    _, whole = w.status()
    assert whole["overrides"] == []


def test_freeze_errors(pair):
    w, _, _ = pair()
    refuses(w.run("freeze", "www.example.org"), "names: none yet",
            f"zones: {ZONE}.")
    w.settle()
    refuses(w.run("freeze", "mail.example.org"), '"mail.example.org."',
            f"names: {WWW}", f"zones: {ZONE}.")
    refuses(w.run("thaw", "mail.example.org"), f"names: {WWW}")
    refuses(w.run("freeze"), "takes one name")
    refuses(w.run("freeze", "a", "b"), "takes one name")
    refuses(w.run("freeze", "a..b"), "a..b")


def test_the_freeze_file(pair):
    """touch stops writes, checks go on; told once, no failed run."""
    w, one, _ = pair()
    w.settle()
    file = w.state.parent / "freeze"
    file.touch()
    one.close()
    got = w.once()
    assert got.returncode == 0
    assert got.stdout == refused(one) + "\n"
    assert got.stderr == (f"dnsfailover: frozen by the file {file}: checks go "
                          "on, nothing is written until it is removed\n")
    values(w, 2, 3)
    w.quiet()
    text = ran(w.run("status")).stdout
    assert f"operator: frozen by the file {file}" in text
    assert "held: frozen by the operator" in text
    assert w.status()[1]["freezeFile"] == str(file)
    got = w.run("plan")
    assert "would" not in got.stdout
    file.unlink()
    ran(w.once(), "resolved: frozen by the file", "withdrawn")
    values(w, 3)


# -- readmit -----


def test_readmit_after_others_hands(pair):
    w, _, _ = pair()
    w.settle()
    switch_off(w, "127.0.0.2")
    got = w.once()
    assert "switched off by somebody else" in got.stderr
    w.quiet()
    values(w, 3)
    ran(w.run("readmit", "www.example.org", "127.0.0.2"),
        f"{WWW} (127.0.0.2) may return")
    ran(w.once(), f"{WWW} A 127.0.0.2 published")
    values(w, 2, 3)
    event = [e for e in history(w) if e["event"] == "readmit"][0]
    assert event["name"] == WWW and event["data"] == "127.0.0.2"
    assert event["reason"] == f"127.0.0.2 may return, by {user()}"


def test_readmit_what_returns_manually(build, target):
    one, two = target("127.0.0.2"), target("127.0.0.3")
    w = build(records=records("www", one, two), specs={"www": spec(
        {"data": one.addr, "check": one.port, "return": "manual"},
        (two.addr, two.port))})
    w.settle()
    one.close()
    w.once()
    one.open()
    told(w.once(), back(one))
    values(w, 3)
    w.quiet()
    ran(w.run("readmit", "www.example.org"), "may return")
    ran(w.once(), f"{WWW} A 127.0.0.2 published")
    values(w, 2, 3)


def pass_time(w, seconds):
    """Of the data centres' absence."""
    ms = int(seconds * 1000)
    db = sqlite3.connect(w.state)
    for key, dcs in db.execute("SELECT key, dcs FROM judges").fetchall():
        made = ""
        for entry in filter(None, dcs.split(";")):
            name, out, *rest = entry.split(" ")
            out = int(out) - ms if int(out) > 0 else int(out)
            made += " ".join([name, str(out), *rest]) + ";"
        db.execute("UPDATE judges SET dcs = ? WHERE key = ?", (made, key))
    db.commit()
    db.close()


def away_too_long(w, one):
    one.close()
    w.once()
    values(w, 3)
    pass_time(w, 700)
    w.quiet()
    one.open()
    w.once()
    values(w, 3)
    w.quiet()


def test_readmit_a_data_centre(centres):
    """onlyNew: away for longer than 10 minutes while another one served."""
    w, one, two = centres()
    w.spec("www", dc_spec(one, two, dcs={"dc1": dc(one, onlyNew=True)}))
    w.settle()
    away_too_long(w, one)
    text = ran(w.run("status")).stdout
    assert f"data centre dc1 ({WWW}): ok, kept out until readmit" in text
    refuses(w.run("readmit", "dc9"), '"dc9."', "data centres: dc1")
    ran(w.run("readmit", "www.example.org"), "may return",
        "its data centre dc1 is kept out (onlyNew): readmit dc1")
    w.quiet()
    ran(w.run("readmit", "dc1"), f"dc1 of {ZONE}. may return with its 1 "
        "record")
    ran(w.once(), f"{WWW} A 127.0.0.2 published")
    values(w, 2, 3)
    w.quiet()


def test_readmit_errors(pair):
    w, _, _ = pair()
    w.settle()
    refuses(w.run("readmit"), "data centre")
    refuses(w.run("readmit", "mail.example.org"), f"names: {WWW}")
    refuses(w.run("readmit", "www.example.org", "127.0.0.9"),
            "known: 127.0.0.2 127.0.0.3")
    refuses(w.run("readmit", "a", "b", "c"), "data centre")


# -- the state's lock, and what it may look like -----


def test_waits_for_a_running_round(centres):
    w, _, _ = centres()
    with open(f"{w.state}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        got = w.run("maintenance", "dc1", "on", "--wait", "200ms")
        assert got.returncode == 75
        assert "another run holds" in got.stderr
        process = subprocess.Popen(
            [w.agent.path, "-c", str(w.config), "maintenance", "dc1", "on"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True)
        try:
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(0.3)
            fcntl.flock(lock, fcntl.LOCK_UN)
            out, err = process.communicate(timeout=20)
        finally:
            end(process)
    assert process.returncode == 0, err
    assert "is in maintenance" in out
    w.settle()
    values(w, 3)


def test_a_damaged_state_is_left_for_the_round(centres):
    """Else the round would not know that it must only learn."""
    w, one, _ = centres()
    for tail in ("-wal", "-shm"):
        w.state.with_name(f"state.db{tail}").unlink(missing_ok=True)
    w.state.write_bytes(b"no state")
    got = w.run("freeze", "all")
    assert got.returncode == 2
    assert str(w.state) in got.stderr
    assert w.state.read_bytes() == b"no state"
    one.close()
    assert "damaged" in w.once().stderr
    values(w, 2, 3)


def test_survives_many_rounds_and_commands(centres):
    w, _, _ = centres()
    ran(w.run("maintenance", "dc1", "on"))
    ran(w.run("freeze", "www.example.org"))
    assert "in maintenance" in ran(w.once()).stdout
    values(w, 2, 3)
    for _ in range(2):
        w.quiet()
    ran(w.run("thaw", "www.example.org"))
    w.settle()
    values(w, 3)
    _, whole = w.status()
    assert [o["kind"] for o in whole["overrides"]] == ["maintenance"]
