"""The operator's commands beside a service, through its control socket."""

import socket
import stat

from service import (  # noqa: F401
    FAST, Service, fast, first_look, over, short_ttls,
)
from world import WWW, build, checked, records, spec, target  # noqa: F401


def dc_world(build, target):
    """www of two data centres."""
    one, two = target("127.0.0.2"), target("127.0.0.3")
    defaults = FAST
    w = build(records=records("www", one, two), specs={
        "@": '{"debounce":"0s"}',
        "www": spec({"data": one.addr, "dc": "dc1", "return": "manual"},
                    {"data": two.addr, "dc": "dc2"},
                    dcs={f"dc{i}": {"wanAccess": [f"{t.addr}:{t.port}"]}
                         for i, t in ((1, one), (2, two))},
                    defaults=defaults)})
    short_ttls(w)
    return w, one, two


def test_status_is_how_things_are_now(fast):
    """The service saves seconds after a change; who asks does not wait."""
    w, one, two = fast()
    with Service(w) as s:
        first_look(s)
        one.close()
        s.wait(f"{WWW} ({one.addr}) becomes unavailable")
        status = w.run("status")
        assert status.stderr == ""
        assert f"tcp:{one.port} refused" in status.stdout
        assert "becomes" in s.text()
        assert "unavailable" in w.run("history").stdout
        assert s.stop() == 0


def test_maintenance_reaches_the_service(build, target):
    w, one, two = dc_world(build, target)
    with Service(w) as s:
        first_look(s)
        mode = stat.S_IMODE((w.state.parent / "control").stat().st_mode)
        assert mode == 0o600
        got = w.run("maintenance", "dc1", "on")
        assert got.returncode == 0, got.stderr
        s.shows("www", two)
        s.wait("dc1 of example.org. is in maintenance, by ")
        status = w.run("status")
        assert "maintenance" in status.stdout
        assert "maintenance" in w.run("history").stdout
        got = w.run("maintenance", "dc1", "off")
        assert got.returncode == 0, got.stderr
        s.shows("www", one, two)
        got = w.run("maintenance", "dc1", "on", "--for", "2s")
        assert got.returncode == 0, got.stderr
        s.shows("www", two)
        s.shows("www", one, two)
        s.wait("no longer: the time that")
        assert s.stop() == 0
    assert not (w.state.parent / "control").exists()


def test_freeze_and_thaw_reach_the_service(build, target):
    w, one, two = dc_world(build, target)
    with Service(w) as s:
        first_look(s)
        assert w.run("freeze", WWW).returncode == 0
        one.close()
        s.wait("becomes unavailable")
        s.until("a while", over(1))
        assert sorted(w.values("www")) == [one.addr, two.addr]
        assert s.stop() == 0
    with Service(w) as s:  # it survives
        s.until("a while", over(2))
        assert sorted(w.values("www")) == [one.addr, two.addr]
        assert w.run("thaw", "all").returncode == 0
        s.shows("www", two)
        assert s.stop() == 0


def test_readmit_reaches_the_service(build, target):
    w, one, two = dc_world(build, target)
    with Service(w) as s:
        first_look(s)
        one.close()
        s.shows("www", two)
        one.open()
        s.wait("becomes available")
        s.until("a while", over(1))
        assert w.values("www") == [two.addr]
        got = w.run("readmit", WWW, one.addr)
        assert got.returncode == 0, got.stderr
        s.shows("www", one, two)
        one.close()
        s.shows("www", two)
        one.open()
        s.wait("becomes available", after=len(s.out))
        assert w.run("readmit", "dc1").returncode == 0
        s.shows("www", one, two)
        assert s.stop() == 0


def test_a_bad_request_harms_nobody(fast):
    w, one, two = fast()
    with Service(w) as s:
        first_look(s)
        for request in (b"x\n", b"[]\n", b"{\n", b"{}\n", b"\0\n",
                        b'{"overrides":[{}],"readmit":[1],"events":[[]]}\n'):
            assert control(w, request)[:2] in (b"ok", b"er")
        control(w, b"x" * (3 << 20))
        assert s.stop() == 0


def control(w, request):
    with socket.socket(socket.AF_UNIX) as c:
        c.settimeout(10)
        c.connect(str(w.state.parent / "control"))
        try:
            c.sendall(request)
            return c.recv(2000)
        except (BrokenPipeError, ConnectionResetError):
            return b"cut"
