"""Anchors by ping and by TCP, in a network of the test's own, with `once` and
with `run`."""

import contextlib
import socket
import threading
import time

import pytest

from netns import drop_128, own_net
from service import FAST, Service, over
from world import build, checked, records, spec, target

# pytest finds fixtures by their names here.
assert own_net and build and target

OUTGOING = 4  # linux/if_packet.h
PING, TCP = "127.128.5.1", "127.128.5.2:53"
NO_ANCHOR = "no anchor answers"


@pytest.fixture
def watched(own_net, build, target):
    """(world, its two targets, the network); both anchors answer, one by an
    echo and one by a refusal."""
    one, two = target("127.0.0.2"), target("127.0.0.3")
    w = build(records=records("www", one, two), specs={
        "@": '{"debounce":"0s"}',
        "www": spec(*checked(one, two), defaults=FAST)})
    w.configure(anchors=[PING, TCP])
    w.settle()
    return w, one, two, own_net


def answer_again(net):
    net("nft flush ruleset")


def test_once(watched):
    w, one, two, net = watched
    w.quiet()
    drop_128(net)
    one.close()
    got = w.once()
    assert got.returncode == 1 and got.stdout == ""
    assert got.stderr == (f"dnsfailover: {NO_ANCHOR}: the agent may be cut "
                          "off and changes nothing\n")
    assert sorted(w.values("www")) == [one.addr, two.addr]
    answer_again(net)
    got = w.once()
    assert got.returncode == 0
    assert f"resolved: {NO_ANCHOR}" in got.stdout
    assert w.values("www") == [two.addr]


def test_run(watched):
    w, one, two, net = watched
    with Service(w) as s:
        drop_128(net)
        one.close()
        s.wait(NO_ANCHOR, 30)
        s.until("a while", over(2.5))  # they are asked again meanwhile
        assert len(s.err) == 1, s.err
        assert not any("withdrawn" in x for x in s.out), s.out
        assert sorted(w.values("www")) == [one.addr, two.addr]
        answer_again(net)
        s.wait(f"resolved: {NO_ANCHOR}", 30)
        s.shows("www", two)
        assert len(s.err) == 1, s.err
        assert s.stop() == 0


@pytest.mark.parametrize("dead", [TCP])
def test_one_that_answers_is_enough(watched, dead):
    w, one, two, net = watched
    at = dead.split(":")[0]
    net(f"""nft -f - <<'END'
table ip t {{
 chain in {{
  type filter hook input priority 0;
  ip daddr {at} drop
 }}
}}
END""")
    one.close()
    with Service(w) as s:
        s.shows("www", two)
        assert s.err == []
        assert s.stop() == 0


def test_echoes_that_the_agent_may_not_send(watched):
    """It holds, and says what it lacks."""
    w, one, two, _ = watched
    w.configure(anchors=[PING], user="")  # who may do nothing becomes nobody
    one.close()
    bare = ("setpriv", "--bounding-set=-all", "--inh-caps=-all", "--")
    with Service(w, wrap=bare) as s:
        s.wait(f"{NO_ANCHOR} (to ask one needs CAP_NET_RAW or "
               "ping_group_range)", 30)
        assert sorted(w.values("www")) == [one.addr, two.addr]
        assert s.stop() == 0


@contextlib.contextmanager
def syns(address):
    """{port: when the first connection was begun to it}, as it grows."""
    seen, over_ = {}, threading.Event()
    raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    raw.bind(("lo", 0))
    raw.settimeout(0.05)

    def look():
        while not over_.is_set():
            try:
                frame, where = raw.recvfrom(2048)
            except TimeoutError:
                continue
            ip = frame[14:]
            tcp = ip[(ip[0] & 15) * 4:]
            if (where[2] == OUTGOING and ip[0] >> 4 == 4 and ip[9] == 6
                    and ip[16:20] == socket.inet_aton(address)
                    and tcp[13] & 0x12 == 0x02):
                seen.setdefault(int.from_bytes(tcp[2:4]), time.monotonic())

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield seen
    finally:
        over_.set()
        thread.join()
        raw.close()


def test_pace_of_an_address(watched):
    """One probe in 100 ms, whatever asks: eight anchors take 0.7 s."""
    w, one, two, _ = watched
    ports = range(7001, 7009)  # nobody listens: a refusal is an answer
    w.configure(anchors=[f"127.0.0.8:{p}" for p in ports])
    with syns("127.0.0.8") as seen:
        with Service(w) as s:
            s.until("all are asked", lambda: set(seen) == set(ports))
            asked = sorted(seen.values())
            assert asked[-1] - asked[0] > 0.5, asked
            one.close()
            s.shows("www", two)
            assert s.stop() == 0
        with Service(w) as s:
            assert s.stop() == 0  # while some wait for their turn
