"""When `run` reads specs again: the zone's serial, their TTL, SIGHUP."""

import json

import pytest

from service import FAST, Service, fast, over, short_ttls
from world import (build, checked, elapsed, records, spec, spec_lines, target,
                   zone_text)

# pytest finds fixtures by their names here.
assert build and fast and target


def with_third(w, one, two, three, serial):
    """www's spec with one target more; serial: it is raised."""
    text = spec(*checked(one, two, three), defaults=FAST)
    if serial:
        w.spec("www", text)
        short_ttls(w)
        return
    path = w.file
    path.write_text("\n".join(
        [x for x in path.read_text().splitlines()
         if not x.startswith("_failover.www ")]
        + [spec_lines("www", text).replace(" IN TXT", " 1 IN TXT")]) + "\n")
    w.ns.reload(w.zone)


@pytest.mark.parametrize("serial", [True, False], ids=["serial", "ttl"])
def test_edited(fast, target, serial):
    """A raised serial is seen within a second or two; an edit without one
    when the TTL is over, which counts as 5 s at least."""
    w, one, two = fast()
    three = target("127.0.0.4")
    w.settle()
    with Service(w) as s:
        s.until("it has begun", over(0.5))
        with_third(w, one, two, three, serial)
        took, _ = elapsed(lambda: s.shows("www", one, two, three))
        assert took < (4 if serial else 9), took
        assert s.err == []
        assert s.stop() == 0


def test_hangup_does_not_wait(build, target):
    """With an hour of TTL the serial is asked for every 30 s; SIGHUP reads
    at once."""
    one, two = target("127.0.0.2"), target("127.0.0.3")
    w = build(zones={"example.org": zone_text("example.org", records(
        "www", one, two), {
            "@": json.dumps({"debounce": "0s"}),
            "www": spec(*checked(one, two), defaults=FAST)}).replace(
                "$TTL 300", "$TTL 3600")})
    three = target("127.0.0.4")
    w.settle()
    with Service(w) as s:
        s.until("it has begun", over(0.5))
        w.spec("www", spec(*checked(one, two, three), defaults=FAST))
        s.until("not yet", over(2.5))
        assert sorted(w.values("www")) == [one.addr, two.addr]
        s.hangup()
        took, _ = elapsed(lambda: s.shows("www", one, two, three))
        assert took < 4
        assert s.stop() == 0
