"""`once` against real name servers and targets: the main job."""

import json
import shutil
import subprocess

import pytest

import servers
from world import (  # noqa: F401
    WWW, build, checked, elapsed, lines, pair, records, rows, spec, target,
    until, www_rows,
)

KINDS = pytest.mark.parametrize("kind", [servers.Bind, servers.Nsd],
                                ids=["bind", "nsd"])


def refused(t, name=WWW, data=None):
    return (f"{name} ({data or t.addr}) becomes unavailable: "
            f"tcp:{t.port} refused")


def back(t, name=WWW, data=None):
    return f"{name} ({data or t.addr}) becomes available: tcp:{t.port} ok"


def told(got, *wanted):
    """Exactly these lines, beside those that say where it is visible."""
    assert got.returncode == 0, got.stdout + got.stderr
    assert got.stderr == ""
    assert [x for x in got.stdout.splitlines()
            if "authoritative servers after" not in x] == list(wanted)


@KINDS
def test_all_up_is_silent(pair, kind):
    w, _, _ = pair(kind=kind)
    for _ in range(3):
        w.quiet()
    assert w.values("www") == ["127.0.0.2", "127.0.0.3"]


@KINDS
def test_dies_and_returns(pair, kind):
    w, one, two = pair(kind=kind)
    w.settle()
    text = w.file.read_text()
    one.close()
    got = w.once()
    told(got, refused(one),
         f"{WWW} A 127.0.0.2 withdrawn: its checks fail")
    assert f"{WWW} A shown by 1 of 1 authoritative servers" in got.stdout
    assert w.values("www") == ["127.0.0.3"]
    assert w.serial() == 2
    w.quiet()
    w.quiet()
    one.open()
    told(w.once(), back(one), f"{WWW} A 127.0.0.2 published: healthy records")
    assert w.values("www") == ["127.0.0.2", "127.0.0.3"]
    assert w.serial() == 3
    assert w.file.read_text() == text.replace("1 ; serial", "3 ; serial")
    w.quiet()
    two.close()
    told(w.once(), refused(two),
         f"{WWW} A 127.0.0.3 withdrawn: its checks fail")


def test_several_changes_raise_the_serial_once(build, target):
    names = ["a", "b", "c"]
    dead, alive = target("127.0.0.2"), target("127.0.0.3")
    w = build(records="\n".join(records(n, dead, alive) for n in names),
              specs={n: rows(*((f"{n}.example.org.", t.addr, t.port)
                               for t in (dead, alive))) for n in names})
    w.settle()
    dead.close()
    got = w.once()
    assert got.returncode == 0
    for n in names:
        assert refused(dead, f"{n}.example.org.") in got.stdout
        assert w.values(n) == ["127.0.0.3"]
    assert w.serial() == 2


@KINDS
def test_ipv4_and_ipv6(build, target, kind):
    four, six, far = target("127.0.0.2"), target("::1"), target("127.0.0.4")
    w = build(
        kind=kind,
        records=records("www", "127.0.0.2", "127.0.0.3", "::1",
                        "2001:db8::1"),
        specs={"www": rows(
            (WWW, "127.0.0.2", four.port),
            (WWW, "127.0.0.3", f"tcp:{far.port}@127.0.0.4"),
            (WWW, "::1", six.port),
            (WWW, "2001:DB8:0::1", f"tcp:{far.port}@127.0.0.4"))})
    w.settle()
    six.close()
    told(w.once(), refused(six), f"{WWW} AAAA ::1 withdrawn: its checks fail")
    assert w.values("www", "AAAA") == ["2001:db8::1"]
    assert w.values("www") == ["127.0.0.2", "127.0.0.3"]
    six.open()
    w.settle()
    far.close()
    got = w.once()
    assert refused(far, data="127.0.0.3") in got.stdout
    assert refused(far, data="2001:db8::1") in got.stdout
    assert w.values("www") == ["127.0.0.2"]
    assert w.values("www", "AAAA") == ["::1"]


def test_hanging_target_in_rows(build, target):
    """One lost SYN is no outage: a timeout is repeated once, a refusal counts
    directly."""
    one, two = target("127.0.0.2"), target("127.0.0.3")
    w = build(records=records("www", one, two), specs={
        "www": www_rows(one, two, defaults={"timeout": "400ms"})})
    w.settle()
    one.close()
    hanging = target("127.0.0.2", port=one.port, hang=True)
    seconds, got = elapsed(w.once)
    told(got, f"{WWW} (127.0.0.2) becomes unavailable: tcp:{one.port} "
         "timeout after 400ms",
         f"{WWW} A 127.0.0.2 withdrawn: its checks fail")
    assert 0.8 <= seconds < 4
    seconds, _ = elapsed(w.quiet)
    assert 0.4 <= seconds < 3
    hanging.close()
    one.open()
    told(w.once(), back(one), f"{WWW} A 127.0.0.2 published: healthy records")


def test_hanging_target_by_default(build, target):
    """Rows take one second, as the scripts that published them."""
    one, two = target("127.0.0.2"), target("127.0.0.3")
    w = build(records=records("www", one, two),
              specs={"www": www_rows(one, two)})
    w.settle()
    one.close()
    target("127.0.0.2", port=one.port, hang=True)
    seconds, got = elapsed(w.once)
    assert f"tcp:{one.port} timeout after 1s" in got.stdout
    assert 2.0 <= seconds < 6


def test_thresholds_are_met_within_a_round(build, target):
    """Object form: three failures in a row at retryPeriod, one round."""
    one, two = target("127.0.0.2"), target("127.0.0.3")
    w = build(records=records("www", one, two), specs={"www": spec(
        *checked(one, two), defaults={
            "requiredFailure": 3, "requiredSuccess": 3,
            "retryPeriod": "200ms"})})
    w.settle()
    accepted = two.accepts
    one.close()
    seconds, got = elapsed(w.once)
    told(got, refused(one), f"{WWW} A 127.0.0.2 withdrawn: its checks fail")
    assert seconds >= 0.4
    # What agrees with its state is probed once.
    assert two.accepts - accepted <= 1
    one.open()
    seconds, got = elapsed(w.once)
    told(got, back(one), f"{WWW} A 127.0.0.2 published: healthy records")
    assert seconds >= 0.4


def test_several_checks_must_all_pass(build, target):
    web, ssh, two = (target("127.0.0.2"), target("127.0.0.2"),
                     target("127.0.0.3"))
    w = build(records=records("www", web, two), specs={"www": spec(
        {"data": web.addr, "check": [web.port, ssh.port]},
        (two.addr, two.port))})
    w.settle()
    ssh.close()
    told(w.once(), refused(ssh),
         f"{WWW} A 127.0.0.2 withdrawn: its checks fail")


def test_record_without_check_is_healthy(build, target):
    one = target("127.0.0.2")
    w = build(records=records("www", one, "192.0.2.7"), specs={"www": spec(
        (one.addr, one.port), {"data": "192.0.2.7"})})
    w.settle()
    one.close()
    told(w.once(), refused(one),
         f"{WWW} A 127.0.0.2 withdrawn: its checks fail")
    assert w.values("www") == ["192.0.2.7"]


def test_missing_record_is_created(build, target):
    """The zone file holds whatever the spec names; its TTL is the spec's."""
    one, two = target("127.0.0.2"), target("127.0.0.3")
    w = build(records=records("www", one),
              specs={"www": rows((WWW, one.addr, one.port, 77),
                                 (WWW, two.addr, two.port, 77))})
    told(w.once(), f"{WWW} A 127.0.0.3 published: healthy records")
    assert w.values("www") == ["127.0.0.2", "127.0.0.3"]
    answer = w.ns.query(WWW, "A").answer[0]
    assert answer.ttl == 77
    w.quiet()


def test_foreign_values_stay(build, target):
    """Only values of the spec are added and removed."""
    one, two = target("127.0.0.2"), target("127.0.0.3")
    w = build(records=records("www", one, two, "192.0.2.77")
              + "\n" + records("mail", one),
              specs={"www": www_rows(one, two)})
    w.settle()
    one.close()
    w.settle()
    assert w.values("www") == ["127.0.0.3", "192.0.2.77"]
    assert w.values("mail") == ["127.0.0.2"]


def test_names_below_the_owner(build, target):
    one, two = target("127.0.0.2"), target("127.0.0.3")
    w = build(records=records("a.www", one, two), specs={"www": spec(
        *({"name": "a.www", "data": t.addr, "check": t.port}
          for t in (one, two)))})
    w.settle()
    one.close()
    told(w.once(), refused(one, "a.www.example.org."),
         "a.www.example.org. A 127.0.0.2 withdrawn: its checks fail")


def test_the_apex_speaks_for_the_zone(build, target):
    one, two = target("127.0.0.2"), target("127.0.0.3")
    w = build(records=records("@", one, two) + "\n"
              + records("www", one, two), specs={"@": spec(
                  *checked(one, two),
                  *({"name": "www", "data": t.addr, "check": t.port}
                    for t in (one, two)))})
    w.settle()
    one.close()
    got = w.once()
    assert refused(one, "example.org.") in got.stdout
    assert refused(one) in got.stdout
    assert w.values("@") == w.values("www") == ["127.0.0.3"]


def test_two_servers(build, target):
    """A change counts as visible when every authoritative server shows it."""
    one, two = target("127.0.0.2"), target("127.0.0.3")
    w = build(records=records("www", one, two),
              specs={"www": www_rows(one, two)}, axfr=True)
    with servers.Knot(w.dir / "k", {w.zone: servers.Primary(
            w.ns.addr, w.ns.port)}) as knot:
        w.configure(servers=[w.ns.server, knot.server])
        w.settle()
        one.close()
        process = w.start()
        until("the primary's change", lambda: w.serial() == 2)
        # BIND sends no notify here: the secondary asks when it is told to.
        subprocess.run([servers.find("knotc"), "-s", str(knot.dir / "k.sock"),
                        "zone-refresh", w.zone], check=True, timeout=20,
                       stdout=subprocess.DEVNULL)
        out, err = process.communicate(timeout=30)
        assert process.returncode == 0, err
        assert f"{WWW} A shown by 2 of 2 authoritative servers" in out
        assert knot.values(WWW, "A") == ["127.0.0.3"]


def test_secondary_that_does_not_follow(build, target):
    """It is not told as visible; the next round looks again."""
    one, two = target("127.0.0.2"), target("127.0.0.3")
    w = build(records=records("www", one, two),
              specs={"www": www_rows(one, two)}, axfr=True)
    with servers.Nsd(w.dir / "n", {w.zone: w.file.read_text()}) as old:
        w.configure(servers=[w.ns.server, old.server])
        w.settle()
        one.close()
        got = w.once("--deadline", "3s", "-v")
        assert refused(one) in got.stdout
        assert "authoritative servers after" not in got.stdout
        assert f"{WWW} A is not shown by {old.server} yet" in got.stdout
        shutil.copy(w.file, old.zone_file(w.zone))
        old.reload()
        old.wait_serial(w.zone, 2)
        got = w.once()
        assert f"{WWW} A shown by 2 of 2 authoritative servers" in got.stdout
    w.configure(servers=[w.ns.server])
    w.quiet()


def test_json_lines(pair):
    w, one, _ = pair()
    w.settle()
    one.close()
    got = w.once("--json")
    events = [json.loads(line) for line in got.stdout.splitlines()]
    assert [e["event"] for e in events] == ["unavailable", "withdrawn",
                                            "visible"]
    first = events[0]
    assert first["zone"] == "example.org."
    assert first["name"] == WWW
    assert (first["type"], first["data"]) == ("A", "127.0.0.2")
    assert first["text"] == f"tcp:{one.port} refused"
    got = w.once("--json")
    assert got.stdout == ""


def test_verbose_says_what_it_saw(pair):
    w, one, two = pair()
    got = w.once("-v")
    assert lines(got.stdout) == sorted([
        f"  check 127.0.0.2 tcp:{one.port} ok: up",
        f"  check 127.0.0.3 tcp:{two.port} ok: up",
        f"  {WWW} A found: 127.0.0.2 127.0.0.3; "
        "wanted: 127.0.0.2 127.0.0.3; healthy records"])
    one.close()
    got = w.once("-v")
    assert "provider files: serial is now 2" in got.stdout
