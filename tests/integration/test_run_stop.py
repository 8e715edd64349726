"""`run` is ended at moments that nobody chose, and lives through trouble of
its own: no lost state, no half write, exit 0, and nothing is "down" because
the agent itself was hindered."""

import contextlib
import random
import re
import resource
import signal
import sqlite3
import time

from probe_help import Server, read_request
from service import FAST, Service, fast, first_look, over, reload_of, short_ttls
from test_run import opens
from world import build, checked, records, spec, target, until

# pytest finds fixtures by their names here.
assert build and fast and target

SEED = 20261130
MOMENTS = 20
LONGEST_S = 0.9  # of a run; its reading, probing and writing begin within
STOP_S = 6       # what is under way takes a second at most; a busy machine


def slow(path, *lines):
    path.write_text("\n".join(["#!/bin/sh", *lines]) + "\n")
    path.chmod(0o755)
    return str(path)


def busy_world(build, target):
    """Transfers, slow probes, a slow reload, a slow hook: something is always
    under way."""
    one, two = target("127.0.0.2"), target("127.0.0.3")

    def lazy(c, _):
        read_request(c)
        time.sleep(0.2)
        c.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

    web = Server(lazy, addr="127.0.0.4")
    # Values that stay, so that the brake is no part of this.
    many = [f"192.0.2.{i}" for i in range(1, 61)]
    w = build(axfr=True, records="\n".join([
        records("www", one, two), records("web", "127.0.0.4"),
        records("many", *many)]), specs={
            "@": '{"debounce":"0s","maxChange":"100%"}',
            "many": spec(*[{"data": m} for m in many]),
            "www": spec(*checked(one, two), defaults=FAST, damping=False),
            "web": spec(("127.0.0.4", f"http:{web.port}/"),
                        defaults={**FAST, "timeout": "2s"})})
    short_ttls(w)
    w.configure(discover="axfr", reload=slow(
        w.dir / "reload", "sleep 0.2", f"exec {reload_of(w)}"),
        notify=slow(w.dir / "hook", "cat >/dev/null", "sleep 0.2"))
    return w, one, two, web


def is_whole(w):
    """The zone's file is one that the server serves, nothing lies beside it,
    the state can be read."""
    names = {p.name for p in w.file.parent.iterdir()}
    assert not [n for n in names if n.startswith(w.file.name) and
                n != w.file.name and not n.endswith(".jnl")], names
    serial = int(re.search(r"(\d+) ; serial", w.file.read_text()).group(1))
    until("the file is served", lambda: w.serial() == serial)
    if w.state.exists():
        with contextlib.closing(sqlite3.connect(w.state)) as db:
            assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_ends_at_random_moments(build, target):
    dice = random.Random(SEED)
    w, one, two, web = busy_world(build, target)
    with web:
        w.settle()
        for _ in range(MOMENTS):
            change = dice.random() * 0.4
            end = dice.random() * LONGEST_S
            number = dice.choice([signal.SIGTERM, signal.SIGINT])
            with Service(w, ready_s=0) as s:
                s.until("signals are taken",
                        lambda: "SigCgt" in s.proc("status").read_text() and
                        catches(s, number))
                s.until("a change", over(change))
                if one._socket is not None:
                    one.close()
                elif dice.random() < 0.7:
                    opens(one)
                s.until("the moment", over(end))
                start = time.monotonic()
                assert s.stop(number) == 0
                assert time.monotonic() - start < STOP_S
            assert s.err == [], s.text()
            assert "somebody else" not in s.text()
            is_whole(w)
        # What was published is known to the state: no surprise afterwards.
        until("its port is free", lambda: opens(one))
        for _ in range(3):
            got = w.once()
            assert got.returncode == 0, got.stderr
            assert "somebody else" not in got.stdout
        assert sorted(w.values("www")) == [one.addr, two.addr]
        w.quiet()


def catches(s, number):
    for line in s.proc("status").read_text().splitlines():
        if line.startswith("SigCgt:"):
            return int(line.split()[1], 16) >> (number - 1) & 1
    return False


# -- trouble of its own -----


def test_stopped_and_continued(fast):
    """Time limits that pass while the program itself stands still mean
    nothing."""
    lazy = []

    def answer(c, _):
        lazy.append(1)
        read_request(c)
        time.sleep(0.15)
        c.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

    with Server(answer, addr="127.0.0.4") as web:
        w, one, two = fast(specs={"web": spec(
            ("127.0.0.4", f"http:{web.port}/"),
            defaults={**FAST, "requiredFailure": 1})})
        w.edit(lambda t: t + "web 60 IN A 127.0.0.4\n")
        with Service(w, "-v") as s:
            first_look(s, 3)
            for _ in range(4):
                n = len(lazy)
                s.until("a probe is in flight", lambda: len(lazy) > n)
                s.send(signal.SIGSTOP)
                time.sleep(0.5)  # longer than its time limit of 300 ms
                s.send(signal.SIGCONT)
                s.until("it goes on", lambda: len(lazy) > n + 1)
            assert not any("unavailable" in x for x in s.out), s.text()
            assert s.err == []
            assert w.values("web") == ["127.0.0.4"]
            one.close()  # and it still sees what is down
            s.shows("www", two)
            assert s.stop() == 0


def test_descriptors_that_ran_out(build, target):
    """With as few as the process needs for itself and many probes that hang,
    what cannot be probed is local, never down."""
    one, two = target("127.0.0.2"), target("127.0.0.3")
    hanging = [target(f"127.0.1.{i + 1}", hang=True) for i in range(40)]
    w = build(records=records("www", one, two), specs={
        "@": '{"debounce":"0s"}',
        "www": spec(*checked(one, two), defaults=FAST),
        **{f"h{i}": spec((h.addr, h.port), defaults={
            **FAST, "timeout": "5s"}) for i, h in enumerate(hanging)}})
    with Service(w, wrap=("prlimit", "--nofile=48:48")) as s:
        s.until("a while", over(2))
        assert not any(one.addr in x or two.addr in x for x in s.out
                       if "unavailable" in x), s.text()
        assert sorted(w.values("www")) == [one.addr, two.addr]
        assert s.stop() == 0


def test_a_limit_that_is_lowered_while_it_runs(fast):
    """No descriptor is left: probes are local, told as such; nothing goes.
    When there are some again, that is told, too."""
    w, one, two = fast()
    w.configure(user="")  # another user's limits are not this one's to change
    with Service(w) as s:
        first_look(s)
        limit(s, s.descriptors() - 1)
        s.wait("could not be probed by this agent", 30)
        one.close()
        s.until("a while", over(1))
        assert not any("unavailable" in x for x in s.out), s.out
        assert sorted(w.values("www")) == [one.addr, two.addr]
        limit(s, 1024)
        s.wait("resolved:")
        s.shows("www", two)
        assert s.stop() == 0


def limit(s, n):
    hard = resource.prlimit(s.process.pid, resource.RLIMIT_NOFILE)[1]
    resource.prlimit(s.process.pid, resource.RLIMIT_NOFILE, (n, hard))


