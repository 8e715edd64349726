"""`run` with each name server, and with names that a zone transfer shows."""

import pytest

import servers
from service import FAST, Service, fast, over
from world import build, checked, spec, target

# pytest finds fixtures by their names here.
assert fast and build and target

# Zone files of BIND and NSD are in test_run.py.
WAYS = [(servers.Knot, "provider"), (servers.Knot, "axfr"),
        (servers.Bind, "axfr")]


@pytest.fixture(params=WAYS, ids=lambda w: f"{w[0].__name__}-{w[1]}")
def world(request, fast):
    kind, how = request.param
    w, one, two = fast(kind=kind, axfr=how == "axfr")
    w.configure(discover=how)
    return w, one, two


def test_out_and_back_and_a_restart(world, target):
    w, one, two = world
    w.settle()
    with Service(w) as s:
        one.close()
        s.shows("www", two)
        s.wait("shown by 1 of 1 authoritative servers")
        assert s.stop() == 0
        assert s.err == []
    with Service(w) as s:
        s.until("a while", over(0.7))
        assert (s.out, s.err) == ([], [])
        one.open()
        s.shows("www", one, two)
        # An owner that only the list shows.
        w.spec("mail", spec(*checked(two), defaults=FAST))
        s.shows("mail", two)
        assert s.stop() == 0
        assert s.err == []


def test_a_list_that_cannot_be_had(fast):
    """The server is away, then back but refuses the transfer: what is known
    stays in force, nothing is switched off, and it is told once."""
    w, one, two = fast(kind=servers.Knot, axfr=True)
    w.configure(discover="axfr")
    w.settle()
    with Service(w) as s:
        w.ns.stop()
        s.wait("the last good spec stays in force", 40)
        w.ns.axfr = False
        w.ns._prepare()
        w.ns.start()
        one.close()
        s.shows("www", two, timeout_s=60)
        assert len(s.err) == len(set(s.err)), s.err
        assert s.stop() == 0


def test_knot_rejects_what_was_written(fast):
    """A reload that fails: the old file is put back, and it is tried again."""
    w, one, two = fast(kind=servers.Knot)
    broken = w.dir / "broken"
    script = w.dir / "reload"
    reload_command = w.ns.reload_command.replace("{zone}", "example.org")
    script.write_text(f"#!/bin/sh\n[ -e {broken} ] && exit 1\n"
                      f"exec {reload_command}\n")
    script.chmod(0o755)
    w.configure(reload=str(script))
    w.settle()
    with Service(w) as s:
        before = w.file.read_bytes()
        broken.touch()
        one.close()
        s.wait("the old file was put back")
        assert w.file.read_bytes() == before
        broken.unlink()
        s.shows("www", two, timeout_s=40)
        s.wait("resolved:")
        assert s.stop() == 0
