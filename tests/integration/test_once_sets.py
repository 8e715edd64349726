"""What a set publishes, and when the agent holds back: tiers, order, the
brake, damping, blindness, others' hands (spec-language 4 and 7)."""

import json
import os
import time

import pytest

from test_once import WWW, back, refused, told
from world import (  # noqa: F401
    ZONE, build, checked, elapsed, pair, records, rows, spec, target, until,
    www_rows,
)

# Keeps a world without anchors from being "alone": something is up.
ALIVE = "alive"

# Enough that is published to keep the brake out of a test on something else.
MANY = [f"192.0.2.{i}" for i in range(100, 120)]
ROOMY = {"@": json.dumps({"maxChange": "100%"}),
         "many": spec(*({"data": d} for d in MANY))}


def three(build, target, **members):
    """www with three records, all published; a lamp elsewhere stays up."""
    ts = [target(f"127.0.0.{i}") for i in (2, 3, 4)]
    lamp = target("127.0.0.9")
    text = members.pop("text", None) or spec(*checked(*ts), **members)
    w = build(records="\n".join([records("www", *ts), records(ALIVE, lamp),
                                 records("many", *MANY)]),
              specs={"www": text, **ROOMY,
                     ALIVE: rows((f"{ALIVE}.{ZONE}.", lamp.addr, lamp.port))})
    return w, ts


def now(w, *last):
    assert w.values("www") == [f"127.0.0.{i}" for i in last]


# -- order -----


def test_priority(build, target):
    w, (a, b, c) = three(build, target, order="priority")
    got = w.once()
    assert got.returncode == 0, got.stderr
    now(w, 2)
    w.quiet()
    a.close()
    got = w.once()
    assert refused(a) in got.stdout
    assert f"{WWW} A 127.0.0.3 published: healthy records" in got.stdout
    now(w, 3)
    b.close()
    w.once()
    now(w, 4)
    a.open()
    w.once()
    now(w, 2)
    b.open()
    told(w.once(), back(b))
    now(w, 2)


def test_prio_stands_above_the_position(build, target):
    ts = [target(f"127.0.0.{i}") for i in (2, 3, 4)]
    text = spec(*({"data": t.addr, "check": t.port, "prio": p}
                  for t, p in zip(ts, (30, 20, 10))), order="priority")
    w = build(records=records("www", *ts), specs={"www": text})
    w.settle()
    now(w, 4)
    ts[2].close()
    w.once()
    now(w, 3)


@pytest.mark.parametrize("order", ["all", "priority"])
def test_take(build, target, order):
    w, (a, b, _) = three(build, target, order=order, take=2)
    w.settle()
    now(w, 2, 3)
    a.close()
    w.once()
    now(w, 3, 4)
    b.close()
    w.once()
    now(w, 4)
    a.open()
    w.once()
    now(w, 2, 4)


def test_swap_never_passes_through_empty(build, target):
    """Add before remove: one write, one serial."""
    w, (a, _, _) = three(build, target, order="priority")
    w.settle()
    serial = w.serial()
    a.close()
    w.settle()
    assert w.serial() == serial + 1
    assert w.values("www") == ["127.0.0.3"]


# -- lower tiers -----


FALLBACK = {"fallbackRecords": [{"data": "192.0.2.200"}]}


def test_fallback_used_and_left(build, target):
    w, ts = three(build, target, **FALLBACK)
    w.settle()
    now(w, 2, 3, 4)
    for t in ts:
        t.close()
    got = w.once()
    assert got.returncode == 0, got.stderr
    assert (f"{WWW} A 192.0.2.200 published: all records are down: "
            "fallbackRecords") in got.stdout
    assert w.values("www") == ["192.0.2.200"]
    w.quiet()
    ts[1].open()
    got = w.once()
    assert f"{WWW} A 192.0.2.200 withdrawn" in got.stdout
    now(w, 3)


def test_fallback_with_a_check(build, target):
    """Only healthy ones, where they carry a check; else allDown."""
    spare = target("127.0.0.8")
    w, ts = three(build, target, allDown="none", fallbackRecords=[
        {"data": "127.0.0.8", "check": str(spare.port)}])
    w.settle()
    now(w, 2, 3, 4)
    for t in ts:
        t.close()
    w.once()
    now(w, 8)
    spare.close()
    w.once()
    assert w.values("www") == []
    spare.open()
    w.once()
    now(w, 8)


@pytest.mark.parametrize("all_down, left", [
    ("keep", [4]), ("all", [2, 3, 4]), ("none", [])])
def test_all_down(build, target, all_down, left):
    w, ts = three(build, target, allDown=all_down)
    w.settle()
    for t in ts[:2]:
        t.close()
    w.settle()
    now(w, 4)
    ts[2].close()
    got = w.once()
    assert got.returncode == 0, got.stderr
    assert refused(ts[2]) in got.stdout
    now(w, *left)
    w.quiet()
    ts[0].open()
    w.once()
    now(w, 2)


def test_rows_with_all_down_none(build, target):
    """{"rows": […], "allDown": "none"} is the exact old behaviour."""
    ts = [target(f"127.0.0.{i}") for i in (2, 3)]
    w = build(records=records("www", *ts),
              specs={"www": www_rows(*ts, allDown="none")})
    w.settle()
    for t in ts:
        t.close()
    got = w.once()
    assert got.returncode == 0, got.stderr
    assert w.values("www") == []
    ts[0].open()
    w.settle()
    now(w, 2)


# -- a blind agent does not act -----


def test_blind(pair, target):
    """While no anchor answers, every set is held."""
    w, one, _ = pair()
    w.settle()
    anchor = target("127.0.0.50", hang=True)
    w.configure(anchors=[f"127.0.0.50:{anchor.port}"])
    one.close()
    before = w.files()
    got = w.once()
    assert got.returncode == 1
    assert "no anchor answers" in got.stderr
    assert got.stdout == ""
    assert w.files() == before
    # An anchor that refuses answers, too: the way outside is there.
    anchor.close()
    got = w.once()
    assert got.returncode == 0, got.stderr
    assert "resolved: no anchor answers" in got.stdout
    assert refused(one) in got.stdout
    now(w, 3)


def test_alone_must_fail_again(build, target):
    """Without anchors, when nothing is up any more, a set moves to its
    fallback only after as many failures again."""
    ts = [target(f"127.0.0.{i}") for i in (2, 3)]
    w = build(records=records("www", *ts), specs={"www": spec(
        *checked(*ts), **FALLBACK, defaults={
            "requiredFailure": 2, "retryPeriod": "400ms"})})
    w.settle()
    for t in ts:
        t.close()
    seconds, got = elapsed(w.once)
    assert got.returncode == 0, got.stderr
    assert w.values("www") == ["192.0.2.200"]
    assert seconds >= 1.2  # four failures, 400 ms from start to start


def test_alone_but_back_in_time(build, target):
    """It was the agent's own line: up again at the second look."""
    ts = [target(f"127.0.0.{i}") for i in (2, 3)]
    w = build(records=records("www", *ts), specs={"www": spec(
        *checked(*ts), **FALLBACK, defaults={
            "requiredFailure": 2, "retryPeriod": "700ms"})})
    w.settle()
    before = w.files()
    for t in ts:
        t.close()
    process = w.start()
    until("the first two failures", lambda: process.poll() is not None
          or looked(process, 0.75))
    for t in ts:
        t.open()
    out, err = process.communicate(timeout=30)
    assert process.returncode == 0, err
    assert "192.0.2.200" not in out
    assert w.files() == before


def looked(process, seconds):
    """The process has run for that long."""
    with open(f"/proc/{process.pid}/stat") as f:
        ticks = int(f.read().rsplit(")", 1)[1].split()[19])
    started = ticks / os.sysconf("SC_CLK_TCK")
    return time.clock_gettime(time.CLOCK_BOOTTIME) - started > seconds


# -- brake -----


def test_brake(build, target):
    """At most a share of the zone's values in a minute; the rest waits until
    its checks have failed for another period, whole sets."""
    names = [f"n{i}" for i in range(10)]
    dead = {n: target(f"127.0.1.{i}") for i, n in enumerate(names, 1)}
    alive = target("127.0.0.3")
    defaults = {"requiredFailure": 2, "requiredSuccess": 1,
                "retryPeriod": "100ms", "accessPeriod": "1s"}
    w = build(
        records="\n".join(records(n, dead[n], alive) for n in names),
        specs={"@": json.dumps({"maxChange": "20%", "defaults": defaults}),
               **{n: json.dumps({"records": [
                   {"data": dead[n].addr, "check": dead[n].port},
                   {"data": "127.0.0.3", "check": alive.port}]})
                   for n in names}})
    w.settle()
    for t in dead.values():
        t.close()
    got = w.once()
    assert got.returncode in (0, 1)
    gone = [n for n in names if w.values(n) == ["127.0.0.3"]]
    assert len(gone) == 4  # a fifth of 20
    assert got.stderr.count("maxChange") == 6
    for n in names:
        assert len(w.values(n)) == (1 if n in gone else 2)

    def all_gone():
        w.once()
        return all(w.values(n) == ["127.0.0.3"] for n in names)

    took, _ = elapsed(lambda: until("the held sets", all_gone, 20))
    assert took >= 0.6
    assert w.once().returncode == 0


def test_brake_by_default(build, target):
    """Half of the values may go at once, and always three."""
    names = [f"n{i}" for i in range(3)]
    dead, alive = target("127.0.0.2"), target("127.0.0.3")
    w = build(
        records="\n".join(records(n, dead, alive) for n in names),
        specs={n: rows(*((f"{n}.{ZONE}.", t.addr, t.port)
                         for t in (dead, alive))) for n in names})
    w.settle()
    dead.close()
    got = w.once()
    assert got.returncode == 0, got.stderr
    for n in names:
        assert w.values(n) == ["127.0.0.3"]


# -- damping -----


def roomy(build, target):
    one, two = target("127.0.0.2"), target("127.0.0.3")
    w = build(records=records("www", one, two) + "\n"
              + records("many", *MANY),
              specs={"www": www_rows(one, two), **ROOMY})
    w.settle()
    return w, one, two


def flap(w, t, times):
    for _ in range(times):
        t.close()
        w.settle()
        t.open()
        w.settle()


def test_damping(build, target):
    """After three withdrawals in ten minutes a value waits for its return."""
    w, one, two = roomy(build, target)
    flap(w, one, 2)
    now(w, 2, 3)
    one.close()
    w.settle()
    now(w, 3)
    one.open()
    told(w.once(), back(one))
    now(w, 3)
    w.quiet()
    # What only waits is still better than nothing.
    two.close()
    got = w.once()
    assert (f"{WWW} A 127.0.0.2 published: only records that wait for their "
            "return are left") in got.stdout
    now(w, 2)


# -- others' hands -----


def switch_off(w, data):
    """A person comments a record's line out; returns the way back."""
    line = f"www 60 IN A {data}"

    def off(text):
        assert line in text
        return text.replace(line, f"; {line}")

    w.edit(off)
    return lambda: w.edit(lambda text: text.replace(f"; {line}", line))


def test_healthy_but_switched_off_by_others(pair):
    """It stays off, told once, until it goes down and up again."""
    w, one, two = pair()
    w.settle()
    switch_off(w, "127.0.0.2")
    before = w.files()
    got = w.once()
    assert got.returncode == 0
    assert f"{WWW} (127.0.0.2) is healthy, but was switched off" in got.stderr
    assert w.files() == before
    w.quiet()
    # Nothing else left that is healthy: held all the same.
    two.close()
    got = w.once()
    now(w, 3)
    two.open()
    w.once()
    one.close()
    w.once()
    one.open()
    got = w.once()
    assert back(one) in got.stdout
    assert "resolved: " in got.stdout or f"{WWW} A 127.0.0.2" in got.stdout
    now(w, 2, 3)


def test_switched_on_again_by_its_owner(pair):
    w, _, _ = pair()
    w.settle()
    on = switch_off(w, "127.0.0.2")
    assert w.once().stderr != ""
    on()
    got = w.once()
    assert got.returncode == 0
    assert "resolved: " in got.stdout
    w.quiet()


def test_dead_but_switched_on_by_others(build, target):
    """It is withdrawn again, three times an hour, then left to them."""
    w, one, _ = roomy(build, target)
    one.close()
    w.settle()
    now(w, 3)

    def put_in():
        w.edit(lambda text: text + "www 60 IN A 127.0.0.2\n")
        now(w, 2, 3)

    for _ in range(3):
        put_in()
        got = w.once()
        assert f"{WWW} A 127.0.0.2 withdrawn" in got.stdout, got.stderr
        now(w, 3)
        w.quiet()
    put_in()
    got = w.once()
    assert "127.0.0.2" in got.stderr and "somebody else" in got.stderr
    now(w, 2, 3)
    w.quiet()


def test_first_contact_publishes_what_is_healthy(build, target):
    one, two = target("127.0.0.2"), target("127.0.0.3")
    w = build(records="; www 60 IN A 127.0.0.2\n" + records("www", two),
              specs={"www": www_rows(one, two)})
    told(w.once(), f"{WWW} A 127.0.0.2 published: healthy records")
    now(w, 2, 3)


def test_foreign_edits_do_not_matter(pair):
    w, one, _ = pair()
    w.settle()
    w.edit(lambda text: text + "www 60 IN A 192.0.2.77\nnew IN A 192.0.2.78\n")
    w.quiet()
    one.close()
    w.settle()
    assert w.values("www") == ["127.0.0.3", "192.0.2.77"]
    assert w.values("new") == ["192.0.2.78"]


# -- only told -----


def test_observe(pair):
    """Says once what it would do, and does nothing."""
    w, one, _ = pair()
    w.configure(mode="observe")
    w.quiet()
    one.close()
    before = w.files()
    told(w.once(), refused(one),
         f"{WWW} A 127.0.0.2 would be withdrawn: its checks fail")
    w.quiet()
    one.open()
    told(w.once(), back(one))
    w.quiet()
    one.close()
    w.once()
    assert w.files() == before
    w.configure(mode="enforce")
    got = w.once()
    assert f"{WWW} A 127.0.0.2 withdrawn: its checks fail" in got.stdout
    now(w, 3)


def test_plan(pair):
    """The same round, nothing written: neither zone nor state."""
    w, one, _ = pair()
    got = w.run("plan", "--exit-code")
    assert (got.returncode, got.stdout) == (0, "")
    assert not w.state.parent.exists()
    w.settle()
    one.close()
    before, state = w.files(), w.state.read_bytes()
    for _ in range(2):
        got = w.run("plan", "--exit-code")
        assert got.returncode == 3
        assert got.stdout.splitlines() == [
            refused(one),
            f"{WWW} A 127.0.0.2 would be withdrawn: its checks fail"]
    got = w.run("plan")
    assert got.returncode == 0
    got = w.run("plan", "--json", "--exit-code")
    assert got.returncode == 3
    events = [json.loads(line) for line in got.stdout.splitlines()]
    assert events[-1]["event"] == "would"
    assert events[-1]["publish"] is False
    assert events[-1]["data"] == "127.0.0.2"
    assert w.files() == before
    assert w.state.read_bytes() == state
    w.settle()
    assert w.run("plan", "--exit-code").returncode == 0


def test_plan_during_a_run(pair):
    """plan takes no lock."""
    w, one, _ = pair()
    w.settle()
    one.close()
    (w.dir / "slow").write_text("sleep 60\n")
    w.configure(reload=f"/bin/sh {w.dir}/slow")
    w.start()
    until("the write", lambda: b"dnsfailover" in w.file.read_bytes())
    got = w.run("plan")
    assert got.returncode in (0, 1), got.stderr
