"""`run`: the service, with real name servers and listeners."""

import contextlib
import os
import signal
import sqlite3

import pytest

import servers
from service import (  # noqa: F401
    FAST, Service, fast, first_look, over, reload_of, short_ttls,
)
from world import (  # noqa: F401
    USER, WWW, build, checked, elapsed, records, spec, target, until, zone_text,
)

# -- failing over -----


def test_a_dead_target_goes_and_comes_back(fast):
    w, one, two = fast()
    with Service(w) as s:
        first_look(s)
        one.close()
        took, _ = elapsed(lambda: s.shows("www", two))
        # accessPeriod + retryPeriod + reload; generous for a loaded machine
        assert took < 5
        s.wait(f"{WWW} ({one.addr}) becomes unavailable: tcp:{one.port} "
               "refused")
        s.wait(f"{WWW} A {one.addr} withdrawn")
        s.wait("shown by 1 of 1 authoritative servers")
        one.open()
        s.shows("www", one, two)
        s.wait(f"{WWW} ({one.addr}) becomes available")
        assert s.stop() == 0
    assert s.err == []


def test_a_quiet_world_is_quiet(fast):
    w, one, two = fast()
    with Service(w) as s:
        first_look(s)
        before = w.files()
        s.until("five seconds", over(3))
        assert w.files() == before
        assert (s.out, s.err) == ([], [])
        assert s.stop() == 0
    assert (s.out, s.err) == ([], [])


def test_first_contact_after_the_results_is_no_news(fast):
    """What the checks say may be there before the provider could be read."""
    w, one, two = fast()
    w.configure(discover="names", names=["www"])
    path = w.dir / "ns" / "example.org.zone"
    hidden = path.with_suffix(".hidden")
    path.rename(hidden)
    with Service(w) as s:
        first_look(s)
        s.wait("records at provider files")
        hidden.rename(path)
        s.until("the provider was read", lambda: seen(w) == 2, 30)
        one.close()
        s.wait(f"{WWW} ({one.addr}) becomes unavailable")
        assert not any("becomes available" in x for x in s.out)
        assert s.stop() == 0


def seen(w):
    """Values that the state knows from the provider."""
    with contextlib.closing(sqlite3.connect(f"file:{w.state}?mode=ro",
                                            uri=True)) as db:
        return db.execute("SELECT count(*) FROM vals WHERE seen").fetchone()[0]


def test_debounce_groups_changes(fast):
    w, one, two = fast(apex={"debounce": "2s", "maxChange": "100%"})
    w.edit(lambda t: t.replace("www 60 IN A 127.0.0.3", "www 60 IN A 127.0.0.3"
                               "\nwww 60 IN A 127.0.0.4"))
    with Service(w) as s:
        serial = w.serial()
        one.close()
        took, _ = elapsed(lambda: s.wait("withdrawn"))
        assert took >= 2
        assert w.serial() == serial + 1
        assert s.stop() == 0


def test_a_slow_zone_holds_up_no_other(build, target):
    one, two, three = (target(f"127.0.0.{i}") for i in (2, 3, 4))
    text = {}
    for zone, t in (("a.example", one), ("b.example", two)):
        text[zone] = zone_text(zone, records("www", t, three), {
            "@": '{"debounce":"0s"}',
            "www": spec(*checked(t, three), defaults=FAST)})
    w = build(zones=text)
    hang = w.dir / "hang"
    reload = w.dir / "reload"
    reload.write_text(
        "#!/bin/sh\n"
        f"[ $1 = a.example ] && [ -e {hang} ] && exec sleep 20\n"
        f"exec {reload_of(w, '$1')}\n")
    reload.chmod(0o755)
    w.configure(reload=f"{reload} {{zone}}", 
                provider='  timeout = "8s"\n  serial-timeout = "1s"')
    with Service(w) as s:
        first_look(s, 3)
        hang.touch()
        one.close()
        s.until("the hanging reload", lambda: any(
            "becomes unavailable" in x for x in s.out))
        two.close()
        s.until("the other zone", lambda: w.values("www.b.example.") ==
                [three.addr], 6)
        assert s.stop(timeout_s=60) == 0


# -- specs -----


def test_an_edited_spec_is_picked_up(fast, target):
    w, one, two = fast()
    with Service(w) as s:
        first_look(s)
        three = target("127.0.0.4")
        w.spec("www", spec(*checked(one, two, three), defaults=FAST))
        s.shows("www", one, two, three)
        w.spec("mail", spec(*checked(two), defaults=FAST))
        s.shows("mail", two)
        assert s.stop() == 0


def test_a_broken_spec_is_told_and_the_last_good_stays(fast):
    w, one, two = fast()
    with Service(w) as s:
        first_look(s)
        w.spec("www", '[{"name":"x"')
        s.wait("the last good spec stays in force")
        one.close()
        s.shows("www", two)
        w.spec("www", spec(*checked(one, two), defaults=FAST))
        s.wait("resolved:")
        assert s.stop() == 0
    assert len(s.err) == 1, s.err


def test_a_spec_that_is_gone_counts_after_two_looks(fast):
    w, one, two = fast()
    with Service(w) as s:
        first_look(s)
        w.spec("www", None)
        s.wait("is gone")
        one.close()
        s.shows("www", two)  # still in force
        assert not any("no longer managed" in x for x in s.out)
        assert s.stop() == 0


# -- the configuration -----


def test_hangup_takes_a_new_zone_and_drops_one(fast, target):
    w, one, two = fast()
    three = target("127.0.0.4")
    with Service(w) as s:
        first_look(s)
        serial = w.serial()
        w.zones["example.net"] = ""
        new = zone_text("example.net", records("www", two, three), {
            "@": '{"debounce":"0s"}',
            "www": spec(*checked(two, three), defaults=FAST)})
        add_zone(w, "example.net", new)
        w.configure()
        s.hangup()
        assert s.notified("RELOADING=1") == 1
        first_look(s, 3)  # one of them is shared
        three.close()
        s.until("the new zone", lambda: w.values("www.example.net.") ==
                [two.addr])
        one.close()
        s.shows("www", two)
        assert w.serial() == serial + 1
        w.zones.pop("example.org")
        w.configure()
        s.hangup()
        s.wait("example.org. is no longer in the configuration")
        one.open()
        three.open()
        s.until("back", lambda: len(w.values("www.example.net.")) == 2)
        s.shows("www", two)
        assert s.stop() == 0
    assert s.err == []


def add_zone(w, zone, text):
    """A zone more for the running server: restarted with it."""
    port = w.ns.port
    w.ns.stop()
    w.ns._add_zone(zone, text)
    w.ns._prepare()
    w.ns.start()
    assert w.ns.port == port


def test_hangup_with_a_bad_file_keeps_the_old(fast):
    w, one, two = fast()
    good = w.config.read_text()
    with Service(w) as s:
        first_look(s)
        w.config.write_text(good + "nonsense\n")
        s.hangup()
        s.wait("dnsfailover.conf")
        one.close()
        s.shows("www", two)
        w.config.write_text(good)
        s.hangup()
        one.open()
        s.shows("www", one, two)
        assert s.stop() == 0


# -- the lock, and ends -----


def test_once_beside_it_exits_75(fast):
    w, one, two = fast()
    with Service(w) as s:
        first_look(s)
        got = w.once()
        assert got.returncode == 75, got.stderr
        assert s.stop() == 0
    assert w.once().returncode == 0


def slow_reload(w, seconds):
    """A reload that takes its time; returns the file that says it began."""
    began, script = w.dir / "began", w.dir / "slow"
    script.write_text(f"#!/bin/sh\ntouch {began}\nsleep {seconds}\n"
                      f"exec {reload_of(w)}\n")
    script.chmod(0o755)
    return began, str(script)


def test_it_waits_for_a_round_that_runs(fast):
    w, one, two = fast()
    w.settle()
    began, reload = slow_reload(w, 3)
    w.configure(reload=reload)
    one.close()
    round_ = w.start()
    until("the round writes", began.exists)
    with Service(w) as s:
        # Its lock is free a moment before it ends.
        assert round_.wait(1) == 0
        assert w.values("www") == [two.addr]
        assert s.stop() == 0


def test_an_end_in_the_middle_of_a_reload(fast):
    """The write that is on its way is brought to its end."""
    w, one, two = fast()
    began, reload = slow_reload(w, 2)
    w.configure(reload=reload)
    with Service(w) as s:
        one.close()
        s.until("the reload", began.exists)
        took, code = elapsed(lambda: s.stop())
        assert code == 0
        assert took >= 1
        assert s.notified("STOPPING=1") == 1
        assert w.values("www") == [two.addr]
    w.settle()
    w.quiet()


def test_an_end_in_the_middle_of_a_reload_that_hangs(fast):
    w, one, two = fast()
    began, reload = slow_reload(w, 600)
    w.configure(reload=reload, provider='  timeout = "2s"')
    before = w.files()["example.org"][0]
    with Service(w) as s:
        one.close()
        s.until("the reload", began.exists)
        assert s.stop() == 0
    assert w.files()["example.org"][0] == before  # put back, nothing half


def test_a_sudden_end_keeps_the_state(fast):
    w, one, two = fast()
    with Service(w) as s:
        one.close()
        s.shows("www", two)
        s.wait("shown by")
        # Within two seconds of what is told it is saved.
        until("saved", lambda: "shown by" in w.run("history").stdout)
        s.send(signal.SIGKILL)
        s.process.wait(10)
    with Service(w) as s:
        s.until("a while", over(2))
        assert w.values("www") == [two.addr]
        assert s.out == [], s.out
        one.open()
        s.shows("www", one, two)
        assert s.stop() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_an_end_at_once(fast, number):
    w, one, two = fast()
    with Service(w, ready_s=0) as s:
        s.until("signals are taken", lambda: w.state.exists())
        took, code = elapsed(lambda: s.stop(number))
        assert code == 0
        assert took < 5


# -- the manager -----


def test_the_manager_is_told(fast):
    w, one, two = fast()
    with Service(w, watchdog_s=1.0) as s:
        s.until("watchdog", lambda: s.notified("WATCHDOG=1") >= 6, 10)
        times = [t for t, text in s.said if "WATCHDOG=1" in text]
        gaps = [b - a for a, b in zip(times, times[1:])]
        assert max(gaps) < 1.0, gaps
        assert s.stop() == 0
        assert s.said[0][1].startswith("READY=1")
        assert s.said[-1][1] == "STOPPING=1"


# -- others' hands, overrides -----


def test_what_others_switch_on_is_withdrawn_again(fast):
    w, one, two = fast()
    with Service(w) as s:
        one.close()
        s.shows("www", two)
        w.edit(lambda t: t + f"www 60 IN A {one.addr}\n")
        s.wait("withdrawn", after=len(s.out))
        s.shows("www", two)
        assert s.stop() == 0


def test_the_freeze_file_holds_writes(fast):
    w, one, two = fast()
    with Service(w) as s:
        first_look(s)
        (w.state.parent / "freeze").touch()
        s.wait("frozen by the file")
        one.close()
        s.wait("becomes unavailable")
        s.until("a while", over(1.5))
        assert sorted(w.values("www")) == [one.addr, two.addr]
        (w.state.parent / "freeze").unlink()
        s.shows("www", two)
        s.wait("resolved: frozen")
        assert s.stop() == 0


@pytest.mark.skipif(not USER, reason="needs root")
def test_a_directory_that_was_taken_away_holds_writes(fast):
    """Whoever gave the state's directory to somebody else (systemd does, for
    the unit of the timer) may have made the file that stops writes."""
    w, one, two = fast()
    with Service(w) as s:
        first_look(s)
        owner = w.state.parent.stat()
        mode = owner.st_mode & 0o7777
        os.chown(w.state.parent, 0, 0)
        w.state.parent.chmod(0o700)
        s.wait("freeze (if it is there cannot be seen: Permission denied)")
        one.close()
        s.wait("becomes unavailable")
        s.until("a while", over(1.5))
        assert sorted(w.values("www")) == [one.addr, two.addr]
        os.chown(w.state.parent, owner.st_uid, owner.st_gid)
        w.state.parent.chmod(mode)
        s.shows("www", two)
        s.wait("resolved: frozen")
        assert s.stop() == 0


# -- anchors -----


def test_a_blind_agent_holds(fast, target):
    anchor, other = target("127.0.0.8"), target("127.0.0.9")
    w, one, two = fast()
    w.configure(anchors=[f"{a.addr}:{a.port}" for a in (anchor, other)])
    with Service(w) as s:
        first_look(s)
        anchor.hang = other.hang = True
        for t in (anchor, other):
            t.close()
            t.open()
        one.close()
        s.wait("no anchor answers", timeout_s=30)
        assert sorted(w.values("www")) == [one.addr, two.addr]
        for t in (anchor, other):
            t.close()  # refuses: that, too, came over the network
        s.shows("www", two, timeout_s=30)
        s.wait("resolved: no anchor answers")
        assert s.stop() == 0


# -- hooks -----


def test_events_are_told_as_they_come(fast):
    w, one, two = fast()
    hook = w.dir / "hook"
    told = w.dir / "told"
    hook.write_text(f"#!/bin/sh\ncat >> {told}\necho >> {told}\n")
    hook.chmod(0o755)
    w.configure(notify=str(hook))
    with Service(w) as s:
        one.close()
        s.shows("www", two)
        s.until("the hook", lambda: told.exists() and '"withdrawn"' in
                told.read_text())
        assert s.stop() == 0


# -- over time -----


def test_memory_and_descriptors_stay(build, target):
    one, two = target("127.0.0.2"), target("127.0.0.3")
    w = build(records=records("www", one, two), specs={
        "@": '{"debounce":"0s"}',
        "www": spec(*checked(one, two), defaults=FAST, damping=False)})
    short_ttls(w)
    # What the sanitizer keeps aside of what was freed is no leak.
    calm = {"ASAN_OPTIONS": "quarantine_size_mb=1"}
    with Service(w, env=calm) as s:
        first_look(s)
        for _ in range(3):  # what grows at first
            flap(s, one, two)
        memory, fds = s.memory_kb(), s.descriptors()
        for _ in range(12):
            flap(s, one, two)
        assert s.descriptors() <= fds + 2
        assert s.memory_kb() <= memory + 4096
        assert s.stop() == 0


def test_many_reloads_leave_nothing(fast):
    w, one, two = fast()
    with Service(w, env={"ASAN_OPTIONS": "quarantine_size_mb=1"}) as s:
        first_look(s)
        for _ in range(5):
            s.hangup()
        settled(s)
        memory, fds = s.memory_kb(), s.descriptors()
        for _ in range(40):
            s.hangup()
        settled(s)
        assert s.descriptors() <= fds + 2
        assert s.memory_kb() <= memory + 4096
        one.close()
        s.shows("www", two)
        assert s.stop() == 0


def settled(s):
    """What was under way when SIGHUP came is over."""
    last = []

    def same():
        last.append(s.descriptors())
        return len(last) > 50 and len(set(last[-50:])) <= 3

    s.until("nothing is under way", same, 30)


def flap(s, one, two):
    one.close()
    s.shows("www", two)
    until("its port is free", lambda: opens(one))
    s.shows("www", one, two)


def opens(listener):
    """A probe's own end may have that port for a moment."""
    try:
        listener.open()
    except OSError:
        return False
    return True


# -- another server -----


def test_with_nsd(fast):
    w, one, two = fast(kind=servers.Nsd)
    with Service(w) as s:
        one.close()
        s.shows("www", two)
        assert s.stop() == 0
