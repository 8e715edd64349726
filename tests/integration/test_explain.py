"""`explain`: what it says of a name in each situation, from the state alone."""

import json
import sqlite3

import pytest

from test_once import WWW
from test_once_sets import switch_off
from test_operator import away_too_long, dc, dc_spec, ran, refuses, shift
from world import (  # noqa: F401
    ZONE, build, checked, pair, records, rows, spec, target, www_rows,
)

SLOW = {"requiredFailure": 3, "requiredSuccess": 2, "retryPeriod": "3s",
        "accessPeriod": "10s"}


def explain(w, *arguments, name="www.example.org"):
    """The text, and the same as JSON."""
    text = ran(w.run("explain", name, *arguments)).stdout
    whole = json.loads(ran(w.run("explain", name, "--json",
                                 *arguments)).stdout)
    return text, whole


def record(whole, data):
    found, = [r for r in whole["sets"][0]["records"] if r["data"] == data]
    return found


def block(text, data):
    """The lines about one record."""
    lines = text.splitlines()
    start = next(i for i, x in enumerate(lines)
                 if x.startswith(f"  {data}: "))
    end = next((i for i in range(start + 1, len(lines))
                if not lines[i].startswith("    ")), len(lines))
    return "\n".join(lines[start:end])


@pytest.fixture
def slow(build, target):
    """slow(up=…) → a world with thresholds 3 and 2, and its two targets."""

    def make(**members):
        one, two = target("127.0.0.2"), target("127.0.0.3")
        w = build(records=records("www", one, two), specs={"www": spec(
            *checked(one, two), defaults={**SLOW, "ttl": 30}, **members)})
        return w, one, two

    return make


def short(w):
    """One result for each check, and its counters are kept."""
    return w.once("--deadline", "1s")


# -- states -----


def test_healthy(slow):
    w, one, _ = slow()
    short(w)
    short(w)
    text, whole = explain(w)
    assert "tier 1: healthy records" in text
    assert "published: 127.0.0.2 127.0.0.3" in text
    assert "next look" not in text
    # 10 + 2 × 3 + 0.3 + 3 (debounce) + 30 (TTL)
    assert "worst-case failover: 49s" in text
    said = block(text, "127.0.0.2")
    assert f"check tcp:{one.port} 127.0.0.2: up for" in said
    assert f"tcp:{one.port} ok, " in said
    assert "0 of 3 failures in a row that make it down" in said
    assert "asked every 10s; every 3s while results differ" in said
    assert "next: down in 1" in said
    assert f"missing: 3 results of tcp:{one.port} 127.0.0.2" in said
    got = record(whole, "127.0.0.2")
    assert got["health"] == "up" and got["published"] and got["wanted"]
    check, = got["checks"]
    assert check["good"] == 2 and check["failed"] == 0
    assert 14 < got["next"]["earliest"] <= 16  # 10 + 2 × 3, less what passed
    assert got["next"]["missing"] == 3


def test_in_transition(slow):
    w, one, _ = slow()
    short(w)
    short(w)
    one.close()
    short(w)
    text, whole = explain(w)
    said = block(text, "127.0.0.2")
    assert "up for" in said and "in transition" in said
    assert "1 of 3 failures in a row that make it down" in said
    assert f"missing: 2 results of tcp:{one.port} 127.0.0.2" in said
    got = record(whole, "127.0.0.2")
    assert got["checks"][0]["inTransition"]
    assert 4 < got["next"]["earliest"] <= 6  # the next, and one more
    assert got["published"] and got["wanted"]


def test_unknown(slow):
    """The first result of the first round: no verdict yet."""
    w, _, _ = slow()
    short(w)
    text, whole = explain(w)
    assert "held: a record has no verdict yet" in text
    said = block(text, "127.0.0.2")
    assert "published, unknown" in said
    assert "1 of 2 good results in a row that make it up" in said
    assert "next: a verdict in" in said
    assert record(whole, "127.0.0.2")["next"]["missing"] == 1


def test_never_up(pair, target):
    w, one, two = pair()
    w.settle()
    three = target("127.0.0.4")
    three.close()
    w.spec("www", www_rows(one, two, three))
    w.once()
    text, whole = explain(w)
    said = block(text, "127.0.0.4")
    assert "not published, down" in said
    assert "its checks have never been up: it is taken out only while" in said
    assert "never been up (a typo? a firewall?)" in said
    assert f"tcp:{three.port} refused" in said
    assert record(whole, "127.0.0.4")["neverUp"]
    assert not record(whole, "127.0.0.4")["checks"][0]["everUp"]


def test_down(slow):
    w, one, _ = slow()
    short(w)
    short(w)
    one.close()
    for _ in range(3):
        short(w)
    text, whole = explain(w)
    said = block(text, "127.0.0.2")
    assert "not published, down" in said
    assert "0 of 2 good results in a row that make it up" in said
    assert "next: up in 1" in said
    assert f"missing: 2 results of tcp:{one.port} 127.0.0.2" in said
    assert 11 < record(whole, "127.0.0.2")["next"]["earliest"] <= 13


def test_cron_stands_for_access_period(slow):
    w, _, _ = slow()
    short(w)
    short(w)
    text, whole = explain(w, "--cron", "1m")
    # 60 + 2 × 3 + 0.3 + 30, no debounce
    assert "worst-case failover: 1m 36s" in text
    assert "with a round every 1m" in text
    assert 64 < record(whole, "127.0.0.2")["next"]["earliest"] <= 66


def test_cron_as_the_rounds_were(slow):
    """Rounds about a minute apart are cron's."""
    w, _, _ = slow()
    for _ in range(3):
        short(w)
    text, _ = explain(w)
    assert "with a round every" not in text
    db = sqlite3.connect(w.state)
    (runs,), = db.execute("SELECT value FROM meta WHERE key = 'runs_ms'")
    newest = int(runs.split(",")[0])
    db.execute("UPDATE meta SET value = ? WHERE key = 'runs_ms'",
               (",".join(str(newest - 60100 * i) for i in range(5)),))
    db.commit()
    db.close()
    text, _ = explain(w)
    assert "with a round every 1m" in text


# -- kept out -----


def out_and_back(w, one, two):
    """www's first record was down and is healthy again."""
    one.close()
    w.once()
    assert w.values("www") == [two.addr]
    one.open()
    w.once()


def test_waits_by_return_after(build, target):
    one, two = target("127.0.0.2"), target("127.0.0.3")
    w = build(records=records("www", one, two), specs={"www": spec(
        {"data": one.addr, "check": one.port, "returnAfter": "5m"},
        (two.addr, two.port))})
    w.settle()
    one.close()
    w.once()
    text, whole = explain(w)
    assert "then it waits 5m before it returns" in block(text, "127.0.0.2")
    one.open()
    w.once()
    text, whole = explain(w)
    said = block(text, "127.0.0.2")
    assert "not published, up" in said
    assert "returnAfter: waits 5m" in said
    assert "next: back in " in said
    assert 290 < record(whole, "127.0.0.2")["next"]["earliest"] <= 300
    shift(w, 290, ("vals", "healthy_since_ms"))
    _, whole = explain(w)
    assert 0 < record(whole, "127.0.0.2")["next"]["earliest"] <= 10
    shift(w, 10, ("vals", "healthy_since_ms"))
    text, whole = explain(w)
    assert "the next look publishes it" in block(text, "127.0.0.2")
    assert record(whole, "127.0.0.2")["wanted"]
    assert "next look: 127.0.0.2 127.0.0.3" in text


def test_waits_by_damping(pair):
    w, one, two = pair()
    w.settle()
    for _ in range(3):
        out_and_back(w, one, two)
    assert w.values("www") == [two.addr]
    text, whole = explain(w)
    said = block(text, "127.0.0.2")
    assert "damping, after so many withdrawals: waits 30s" in said
    assert "ends in " in said
    assert 0 < record(whole, "127.0.0.2")["keptOut"][0]["endsIn"] <= 30


def test_returns_manually(build, target):
    one, two = target("127.0.0.2"), target("127.0.0.3")
    w = build(records=records("www", one, two), specs={"www": spec(
        {"data": one.addr, "check": one.port, "return": "manual"},
        (two.addr, two.port))})
    w.settle()
    out_and_back(w, one, two)
    text, _ = explain(w)
    assert f"return: manual; until readmit {WWW} 127.0.0.2" in text


def test_switched_off_by_others(pair):
    w, _, _ = pair()
    w.settle()
    switch_off(w, "127.0.0.2")
    w.once()
    text, _ = explain(w)
    said = block(text, "127.0.0.2")
    assert "not published, up" in said
    assert "somebody else switched it off" in said


def centres(build, target, **members):
    one, two = target("127.0.0.2"), target("127.0.0.3")
    w = build(records=records("www", one, two),
              specs={"www": dc_spec(one, two, **members)})
    w.settle()
    return w, one, two


def test_maintenance(build, target):
    w, _, _ = centres(build, target)
    ran(w.run("maintenance", "dc1", "on", "--for", "2h"))
    text, whole = explain(w)
    said = block(text, "127.0.0.2")
    assert "published, down" in said
    assert "the next look withdraws it" in said
    assert f"dc1 of {ZONE}. is in maintenance, by " in said
    assert "ends in 2h" in said or "ends in 1h 59m" in said
    assert "next: up in 1h" in said or "next: up in 2h" in said
    assert "data centre dc1: ok, out of service, in maintenance" in text
    assert "operator: dc1 of" in text
    assert whole["overrides"]
    w.once()
    text, _ = explain(w)
    assert "next look" not in text
    assert "not published, down" in block(text, "127.0.0.2")


def test_only_new(build, target):
    one, two = target("127.0.0.2"), target("127.0.0.3")
    w = build(records=records("www", one, two), specs={"www": dc_spec(
        one, two, dcs={"dc1": dc(one, onlyNew=True)})})
    w.settle()
    away_too_long(w, one)
    text, whole = explain(w)
    said = block(text, "127.0.0.2")
    assert "not published, up" in said
    assert ("data centre dc1 was away for longer than onlyNew (10m) while "
            "another one served: until readmit dc1") in said
    assert "onlyNew 10m: kept out until readmit" in text
    assert whole["dcs"][0]["keptOut"]


# -- holds -----


def test_frozen(pair):
    w, one, _ = pair()
    w.settle()
    ran(w.run("freeze", "www.example.org", "--for", "1h"))
    one.close()
    w.once()
    text, whole = explain(w)
    assert "held: frozen by the operator" in text
    assert f"operator: {WWW} is frozen, by " in text
    assert 3500 < whole["sets"][0]["hold"]["endsIn"] <= 3600
    ran(w.run("thaw", "www.example.org"))
    text, whole = explain(w)
    assert "the next look withdraws it" in block(text, "127.0.0.2")
    assert "hold" not in whole["sets"][0]
    file = w.state.parent / "freeze"
    file.touch()
    text, whole = explain(w)
    assert "held: frozen by the operator" in text
    assert f"frozen by the file {file}" in text
    assert whole["freezeFile"] == str(file)


def test_held_by_the_brake(build, target):
    """Four of eight published values may go at once; a fifth is held."""
    names = [f"n{i}" for i in range(6)]
    down = [target(f"127.0.1.{i}") for i in range(1, 7)]
    up = target("127.0.0.9")
    w = build(
        records="\n".join(records(n, t, up) for n, t in zip(names, down)),
        specs={n: rows((f"{n}.{ZONE}.", t.addr, t.port),
                       (f"{n}.{ZONE}.", up.addr, up.port))
               for n, t in zip(names, down)} | {
                   "@": json.dumps({"maxChange": "10%"})})
    w.settle()
    for t in down:
        t.close()
    got = w.once()
    assert "than maxChange allows" in got.stderr
    held = [n for n in names if len(w.values(n)) == 2]
    assert len(held) == 3
    text, whole = explain(w, name=f"{held[0]}.{ZONE}")
    assert "held: more would be withdrawn" in text
    assert "at the earliest, if its checks fail on" in text
    assert 0 < whole["sets"][0]["hold"]["endsIn"] <= 20


# -- conditions and data centres -----


def test_truth_table(build, target):
    one, two, web = (target(f"127.0.0.{i}") for i in (2, 3, 4))
    w = build(records=records("www", one, two), specs={"www": dc_spec(
        one, two, first={"if": "serves"},
        checks={"web": f"tcp:{web.port}@{web.addr}"},
        scenarios={"serves": [["dc1", "web"],
                              ["auto|dc1|wanAccess", "!dc2"]]})})
    w.settle()
    text, whole = explain(w)
    assert record(whole, "127.0.0.2")["if"]["truth"] == "true"
    for said in ("if serves: true", "true    [dc1,web]", "true    web",
                 "false   !dc2", "true    auto|dc1|wanAccess",
                 f"check web: tcp:{web.port} 127.0.0.4: up"):
        assert said in block(text, "127.0.0.2"), text
    assert "data centre dc2: ok, in service" in text
    web.close()
    two.close()
    w.once()
    text, _ = explain(w)
    said = block(text, "127.0.0.2")
    for part in ("if serves: true", "false   [dc1,web]", "false   web",
                 "true    !dc2"):
        assert part in said
    assert "data centre dc2: noWan, out of service" in text
    assert "wanAccess: false (1 of 1 needed)" in text
    assert "next: back in service in" in text


def test_unknown_condition(build, target):
    one, two = target("127.0.0.2"), target("127.0.0.3")
    w = build(records=records("www", one, two), specs={"www": spec(
        {"data": one.addr, "if": "web"}, {"data": two.addr},
        checks={"web": f"tcp:{one.port}"}, defaults=SLOW)})
    short(w)
    text, whole = explain(w)
    assert "if web: unknown" in text
    assert record(whole, "127.0.0.2")["if"]["truth"] == "unknown"


def test_fallback_and_disaster_recovery(build, target):
    one, two = target("127.0.0.2"), target("127.0.0.3")
    w = build(records=records("www", one), specs={"www": spec(
        (one.addr, one.port),
        {"data": two.addr, "check": two.port, "drIfNoRecords": True},
        fallbackRecords=[{"data": "127.0.0.9"}])})
    w.settle()
    text, whole = explain(w)
    assert "127.0.0.3: not published, up, disaster recovery" in text
    assert "127.0.0.9: not published, up, fallback" in text
    assert record(whole, "127.0.0.3")["class"] == "disaster recovery"


# -- the command -----


def test_errors(pair):
    w, _, _ = pair()
    got = w.run("explain", "www.example.org")
    assert got.returncode == 1
    assert "there is no state" in got.stderr
    w.settle()
    refuses(w.run("explain", "mail.example.org"), '"mail.example.org."',
            f"managed names: {WWW}")
    refuses(w.run("explain"), "one name")
    refuses(w.run("explain", "a", "b"), "one name")
    refuses(w.run("explain", "a..b"), "a..b")
    refuses(w.run("explain", "www.example.org", "--cron", "often"),
            '"often"')


def test_asks_nobody_and_changes_nothing(pair):
    """Works without name server and target, and leaves the state alone."""
    w, one, two = pair()
    w.settle()
    before = w.state.read_bytes()
    one.close()
    two.close()
    w.ns.stop()
    text, _ = explain(w)
    assert "127.0.0.2: published, up" in text
    assert w.state.read_bytes() == before


def test_a_stale_spec_is_said(pair):
    w, _, _ = pair()
    w.settle()
    w.spec("www", '{"records":[')
    w.once()
    text, whole = explain(w)
    assert "the last good spec is in force: " in text
    assert whole["stale"]


def test_lines_are_short(build, target):
    w, _, _ = centres(build, target)
    text, _ = explain(w)
    assert max(len(x) for x in text.splitlines()) < 80
    assert "\033" not in text
