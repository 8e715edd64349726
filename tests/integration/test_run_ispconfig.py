"""`run` with ISPConfig: the double behind TLS, its rows, and a real name
server that serves what the panel writes once a minute."""

import contextlib
import json

import pytest

from ispconfig.scene import (AGENT, WWW, back, down, machine, out, scene,
                             up)
from service import FAST, Service, over
from world import elapsed, until

# pytest finds fixtures by their names here.
assert machine and scene

TTL_S = 1  # the specs' own: their serial is asked for every second


@pytest.fixture
def fast(scene):
    """Both targets, probed often; what is due is written at once."""
    a, b = scene.pair()
    scene.a, scene.b = a, b
    scene.apex = scene.spec("", json.dumps(
        {"debounce": "0s", "defaults": FAST}))
    for row in (scene.spec_row, scene.apex):
        scene.isp.set_rr(row, ttl=TTL_S)
    scene.settle()
    scene.isp.clear_calls()
    return scene


@contextlib.contextmanager
def service(scene):
    """`run`; it must end well and never tell the password."""
    with Service(scene) as s:
        yield s
        if s.process.poll() is None:
            assert s.stop() == 0
    assert scene.isp.password not in s.text()


def logged_out(scene):
    """Each session was ended; the panel may note that a little later."""
    def same():
        methods = scene.isp.methods()
        return methods.count("login") == methods.count("logout") > 0

    until("as many logouts as logins", same)


def read(s, scene):
    """The panel has been read, so that there is a session."""
    s.until("read", lambda: "dns_a_get" in scene.isp.methods())
    s.until("its end", over(0.7))


def is_off(scene):
    return lambda: scene.active() == "NY"


# -- failing over -----


def test_out_and_back(fast):
    serial = fast.isp.serial(fast.zone)
    with service(fast) as s:
        fast.a.close()
        s.wait(out(fast.a))
        assert s.out[0] == down(fast.a)
        s.until("row off", is_off(fast))
        raised = fast.isp.serial(fast.zone)
        assert raised > serial
        # Written, not yet seen: neither written again nor a reason to alarm.
        writes = len(fast.writes())
        assert fast.values() == [fast.a.addr, fast.b.addr]
        s.until("a while", over(2))
        assert len(fast.writes()) == writes
        assert s.err == []
        fast.cron()
        s.wait("shown by 1 of 1 authoritative servers", 30)
        assert fast.values() == [fast.b.addr]
        fast.a.open()
        s.wait(back(fast.a))
        assert up(fast.a) in s.out
        fast.cron()
        s.until("shown again", lambda: sum(
            "shown by 1 of 1" in x for x in s.out) == 2, 30)
        assert fast.values() == [fast.a.addr, fast.b.addr]
        assert s.err == []
    logged_out(fast)


def test_a_quiet_panel_is_left_alone(fast):
    """With nothing changed there is no write, and after the first reading no
    call at all."""
    with service(fast) as s:
        s.until("read", lambda: "dns_a_get" in fast.isp.methods())
        s.until("its end", over(1))
        before, calls = fast.dump(), len(fast.isp.methods())
        s.until("a while", over(2))
        assert len(fast.isp.methods()) == calls
        assert fast.changed(before) == {}
        assert (s.out, s.err) == ([], [])


def test_an_edit_in_the_panel_is_picked_up(fast):
    """A third row and its spec, saved in the panel and written by its cron."""
    with service(fast) as s:
        c = fast.target("127.0.0.4")
        fast.rows.append(fast.add("www", "A", c.addr, active="N"))
        text = fast.isp.rr(fast.spec_row)["data"]
        fast.isp.set_rr(fast.spec_row, data=json.dumps(
            json.loads(text) + [{"name": WWW, "data": c.addr,
                                 "check": str(c.port)}]))
        fast.serve()
        s.until("the new row on", lambda: fast.active() == "YYY", 40)
        assert s.err == []


# -- answers that are lost -----


@pytest.mark.parametrize("how", ["95%"])
def test_a_lost_answer_is_read_back(fast, how):
    with service(fast) as s:
        fast.isp.set_variant("cut", how, method="dns_a_update", skip=1)
        writes = len(fast.writes())
        fast.a.close()
        s.wait(out(fast.a))
        fast.isp.clear_variants()
        s.until("a while", over(2))
        assert fast.active() == "NY"
        assert len(fast.writes()) == writes + 1
        assert s.err == []


def test_a_lost_answer_that_cannot_be_read_back(fast):
    """What is not known is made sure of as soon as the panel answers."""
    with service(fast) as s:
        read(s, fast)
        fast.isp.set_variant("cut", "0", method="dns_a_update", skip=1)
        fast.isp.set_variant("empty500", method="dns_a_get", skip=5)
        fast.a.close()
        s.wait("could not be withdrawn")
        assert any(x.startswith(
            f"{AGENT}{WWW} ({fast.a.addr}) could not be withdrawn")
            for x in s.err)
        assert fast.active() == "NY"
        fast.isp.clear_variants()
        s.wait("made sure of", 40)
        s.until("resolved", lambda: sum(
            x.startswith("resolved: ") for x in s.out) == len(s.err), 40)
        assert not any("somebody else" in x for x in s.out + s.err)
        assert fast.active() == "NY"


# -- a panel that is away -----


@pytest.mark.parametrize("how", ["hang", "empty500"])
def test_a_panel_that_is_away_for_a_while(fast, how):
    """Checks go on and are told; the write comes when the panel is back."""
    pin = f'  pin-sha256 = "{fast.isp.pin}"'
    fast.configure(trust=f'{pin}\n  timeout = 1')
    with service(fast) as s:
        read(s, fast)
        if how == "empty500":
            fast.isp.set_variant(how)
        else:
            fast.isp.relay.mode = how
        fast.isp.clear_calls()
        fast.a.close()
        s.wait(down(fast.a))
        s.until("told", lambda: s.err, 30)
        told = len(s.err)
        s.until("a while", over(1))
        assert len(s.err) == told  # once
        assert fast.active() == "YY"
        fast.isp.relay.mode = "normal"
        fast.isp.clear_variants()
        s.wait(out(fast.a), 90)
        s.until("resolved", lambda: sum(
            x.startswith("resolved: ") for x in s.out) == len(s.err), 40)
        assert fast.active() == "NY"


def test_a_wrong_password_never_locks_out(fast):
    """Ten failures would lock the address out. SIGHUP tries the new one."""
    fast.configure(password="made-up-wrong")
    fast.isp.clear_calls()
    with Service(fast) as s:
        s.wait("login_failed")
        fast.a.close()
        s.until("it is tried again after 5 s", over(6))
        for _ in range(3):
            s.hangup()
        assert fast.isp.methods() == ["login"]
        attempts, = fast.isp.sql("SELECT times FROM attempts_login")
        assert attempts["times"] == 1
        told = list(s.err)
        assert len(told) == len(set(told)), told
        fast.configure(password=fast.isp.password)
        s.hangup()
        s.wait(out(fast.a), 60)
        assert fast.active() == "NY"
        s.until("resolved", lambda: {
            "resolved: " + x.removeprefix(AGENT) for x in told}
            <= set(s.out), 40)
        assert s.stop() == 0
    assert "made-up-wrong" not in s.text()


# -- restarts -----


def test_a_restart_while_written_is_not_yet_seen(fast):
    with service(fast) as s:
        fast.a.close()
        s.wait(out(fast.a))
    writes = len(fast.writes())
    with service(fast) as s:
        s.until("a while", over(1))
        assert (s.out, s.err) == ([], [])
        assert len(fast.writes()) == writes
        fast.cron()
        s.wait("shown by 1 of 1 authoritative servers", 30)
        assert fast.values() == [fast.b.addr]


def test_an_end_in_the_middle_of_a_write(fast):
    """The answer is on its way for a second: it is waited for."""
    with service(fast) as s:
        fast.isp.set_variant("slow", "1.5", method="dns_a_update", skip=1)
        fast.isp.clear_calls()
        fast.a.close()
        s.until("the write", fast.writes)
        assert s.stop() == 0
        assert out(fast.a) in s.out
    assert fast.active() == "NY"
    assert fast.isp.methods()[-1] == "logout"
    with service(fast) as s:
        s.until("a while", over(1))
        assert (s.out, s.err) == ([], [])


def test_an_end_in_the_middle_of_reading(fast):
    """What is asked is given up, the session is ended."""
    fast.isp.set_variant("slow", "4", method="dns_a_get")
    with service(fast) as s:
        s.until("the reading", lambda: "dns_a_get" in fast.isp.methods())
        took, code = elapsed(s.stop)
        assert code == 0
        assert took < 3
    logged_out(fast)


def test_an_end_just_before_an_answer(fast):
    """The answer is here before what is asked is given up: the logout that
    follows it is not given up either."""
    fast.isp.set_variant("slow", "0.5", method="dns_txt_get")
    with service(fast) as s:
        s.until("the reading", lambda: "dns_txt_get" in fast.isp.methods())
        took, code = elapsed(s.stop)
        assert code == 0
        assert took < 3
    logged_out(fast)


def test_an_end_while_a_reload_logs_out(fast):
    """The session of the configuration before is ended as well as the new
    one's."""
    with service(fast) as s:
        read(s, fast)
        fast.isp.set_variant("slow", "0.3", method="login")
        fast.configure(
            trust=f'  pin-sha256 = "{fast.isp.pin}"\n  timeout = 7')
        s.hangup()
        s.until("a login", lambda: fast.isp.methods().count("login") > 1)
        took, code = elapsed(s.stop)
        assert code == 0
        assert took < 5
    logged_out(fast)


def test_a_sudden_end_in_the_middle_of_a_write(fast):
    """Killed between the write and its answer: our own change is not taken
    for somebody else's, and nothing is written twice."""
    with service(fast) as s:
        fast.isp.set_variant("slow", "3", method="dns_a_update", skip=1)
        fast.isp.clear_calls()
        fast.a.close()
        s.until("the write", fast.writes)
        s.process.kill()
        s.process.wait(10)
    fast.isp.clear_variants()
    with service(fast) as s:
        s.until("row off", is_off(fast))
        s.until("a while", over(4))
        assert not any("somebody else" in x for x in s.out + s.err)
        fast.a.open()
        s.until("row on", lambda: fast.active() == "YY", 40)
        assert not any("somebody else" in x for x in s.out + s.err)
