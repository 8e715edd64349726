"""Anchors by ping and by TCP, in a network of the test's own, with `once` and
with `run`."""

import pytest

from netns import drop_128, own_net
from service import FAST, Service, over
from world import build, checked, records, spec, target

# pytest finds fixtures by their names here.
assert own_net and build and target

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
