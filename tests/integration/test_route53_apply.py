"""The Route 53 provider writes: batches, refusals, races, limits, waiting."""

import re
import time

import pytest

from route53_help import (  # noqa: F401
    A, B, C, CHANGE, D, LIST, ORG, WWW, apply, publish, r53, withdraw)

SWAP = apply(publish(B), withdraw(A))


def actions(body):
    return re.findall(r"<Action>(\w+)</Action>", body)


# ---- batches ---------------------------------------------------------------------


def test_one_batch_says_what_and_why(r53):  # noqa: F811
    r53.put("www", "A", A, C)
    r53.put("www", "AAAA", "2001:DB8:0::1")
    r53.put("ftp", "A", A)
    got = r53(*apply(
        publish(B, ttl=30), publish("2001:db8::2", kind="AAAA"),
        publish(B, "ftp.example.org"), withdraw(A),
        withdraw(A, "ftp.example.org")))
    assert got.states() == ["done"] * 5 and r53.double.accepted == 1
    body = r53.double.bodies[0]
    assert actions(body) == ["DELETE"] * 3 + ["CREATE"] * 3
    assert re.search("<Comment>test: ftp.example.org. A \\+192.0.2.2 "
                     "-192.0.2.1; www.example.org. A \\+192.0.2.2 ", body)
    assert r53.values("www") == [B, C] and r53.values("ftp") == [B]
    # what stays is written back letter for letter
    assert r53.values("www", "AAAA") == ["2001:DB8:0::1", "2001:db8::2"]
    assert r53.zone.sets["www.example.org.", "A", None].ttl == 30
    assert r53.zone.sets["www.example.org.", "AAAA", None].ttl == 60


def test_kinds_of_a_name_change_together(r53):  # noqa: F811
    """A CNAME in place of addresses and back: both in one request."""
    r53.put("www", "A", A)
    alias = publish("x.example.net.", kind="CNAME")
    got = r53(*apply(alias, withdraw(A)))
    assert got.states() == ["done", "done"]
    assert r53.values("www") is None
    assert r53.values("www", "CNAME") == ["x.example.net."]
    got = r53(*apply(publish(A), withdraw("x.example.net.", kind="CNAME")))
    assert got.states() == ["done", "done"] and r53.values("www") == [A]


def test_a_set_that_went_comes_back_with_its_ttl(r53):  # noqa: F811
    r53.put("www", "A", A, ttl=77)
    got = r53(*apply(withdraw(A)), "+", *apply(publish(B)))
    assert got.code == 0 and r53.values("www") == [B]
    assert r53.zone.sets["www.example.org.", "A", None].ttl == 77


def test_a_second_cname_is_refused_here(r53):  # noqa: F811
    r53.put("www", "CNAME", "Old.example.net")
    got = r53(*apply(publish("new.example.net.", kind="CNAME")))
    assert got.states() == ["failed"] and "has only one" in got.why()
    assert r53.count(CHANGE) == 0
    # a final dot or large letters make no other name
    got = r53(*apply(publish("old.example.net.", kind="CNAME")))
    assert got.states() == ["done"] and r53.count(CHANGE) == 0


def test_limits_of_a_request(r53):  # noqa: F811
    """1,000 records, old and new ones, in one batch; then another."""
    names = [f"n{i:03}.{ORG}" for i in range(501)]
    for name in names:
        r53.put(name.split(".")[0], "A", A)
    got = r53(*apply(*[publish(B, n) for n in names],
                     *[withdraw(A, n) for n in names]))
    assert got.states() == ["done"] * 1002
    assert [len(actions(b)) for b in r53.double.bodies] == [1000, 2]


def test_one_bad_name_does_not_stop_the_others(r53):  # noqa: F811
    """A batch is refused as a whole: each name goes alone then."""
    r53.put("a", "A", A)
    r53.put("b", "CNAME", "made.example.net")
    r53.put("c", "A", A)
    names = [f"{n}.{ORG}" for n in "abc"]
    got = r53(*apply(*[publish(B, n) for n in names],
                     *[withdraw(A, n) for n in names]))
    assert got.states() == ["done", "failed", "done"] * 2
    assert "b.example.org. A: ChangeResourceRecordSets: InvalidChangeBatch" in (
        got.why())
    assert [r53.values(n) for n in "abc"] == [[B], None, [B]]


def test_a_bad_name_among_many_costs_few_calls(r53):  # noqa: F811
    names = [f"n{i:03}" for i in range(128)]
    for name in names:
        r53.put(name, *(("CNAME", "x.example.net") if name == "n077" else
                        ("A", A)))
    got = r53(*apply(*[publish(B, f"{n}.{ORG}") for n in names]))
    assert got.states() == ["failed" if n == "n077" else "done" for n in names]
    assert r53.count(CHANGE) <= 16
    assert all(r53.values(n) == [A, B] for n in names if n != "n077")


def test_characters_of_a_request(r53):  # noqa: F811
    """32,000 characters of values, whatever the number of records."""
    names = [f"n{i:03}.{ORG}" for i in range(300)]
    target = "x" * 46 + ".example.net."
    for name in names:
        r53.put(name.split(".")[0], "CNAME", "y" * 46 + ".example.net.")
    got = r53(*apply(
        *[publish(target, n, "CNAME") for n in names],
        *[withdraw("y" * 46 + ".example.net.", n, "CNAME") for n in names]))
    assert got.states() == ["done"] * 600
    assert [len(actions(b)) for b in r53.double.bodies] == [542, 58]


def test_a_set_that_no_request_can_hold(r53):  # noqa: F811
    r53.put("www", "A", *[f"198.51.{i // 250}.{i % 250}" for i in range(501)])
    r53.put("ftp", "A", A)
    got = r53(*apply(publish(B), publish(B, f"ftp.{ORG}")))
    assert got.states() == ["failed", "done"]
    assert "takes 1003 records" in got.why()


# ---- managed routing -------------------------------------------------------------


MANAGED = {
    "weighted routing": {"set_id": "eu", "Weight": "10"},
    "latency routing": {"set_id": "eu", "Region": "eu-west-1"},
    "a health check": {"HealthCheckId": "00000000-0000-0000-0000-000000000000"},
    "a traffic policy": {"TrafficPolicyInstanceId": "1"},
    "multivalue routing": {"set_id": "x", "MultiValueAnswer": "true"},
}


@pytest.mark.parametrize("what", MANAGED)
def test_managed_routing_is_not_touched(r53, what):  # noqa: F811
    r53.put("www", "A", A, **MANAGED[what])
    r53.put("ftp", "A", A)
    before = dict(r53.zone.sets)
    # shown by what it holds; as wanted is fine
    assert r53("records", ORG, WWW).sets() == {(WWW + ".", "A"): (60, [A])}
    assert r53(*apply(publish(A), withdraw(B))).states() == ["done", "done"]
    got = r53(*apply(publish(B), withdraw(A), publish(B, "ftp.example.org")))
    assert got.states() == ["failed", "failed", "done"]
    assert f"www.example.org. A has {what} in Route 53: managed routing, not " \
        "touched" in got.why()
    del before["ftp.example.org.", "A", None]
    assert before.items() <= r53.zone.sets.items()


def test_an_alias_is_not_touched(r53):  # noqa: F811
    r53.zone.put(WWW, "A", None, None, AliasTarget=(
        "<HostedZoneId>Z2</HostedZoneId><DNSName>x.elb.example.</DNSName>"
        "<EvaluateTargetHealth>false</EvaluateTargetHealth>"))
    assert r53("records", ORG, WWW)["sets"] == []
    got = r53(*apply(publish(A)))
    assert got.states() == ["failed"] and "has an alias" in got.why()
    assert r53.count(CHANGE) == 0


# ---- somebody else -----------------------------------------------------------------


def test_a_change_in_between_is_seen(r53):  # noqa: F811
    """The batch names what was read: it is refused, read again, planned
    anew. The other's value stays."""
    r53.put("www", "A", A)
    r53.double.fault("first", CHANGE,
                     run=lambda: r53.put("www", "A", A, D, ttl=99))
    got = r53(*SWAP)
    assert got.states() == ["done", "done"]
    assert r53.values("www") == [B, D]
    assert r53.zone.sets["www.example.org.", "A", None].ttl == 99
    assert r53.count(CHANGE) == 2


def test_the_other_did_the_same(r53):  # noqa: F811
    r53.put("www", "A", A)
    r53.double.fault("first", CHANGE, run=lambda: r53.put("www", "A", B))
    r53.double.old_errors = True
    got = r53(*SWAP)
    assert got.states() == ["done", "done"] and r53.values("www") == [B]
    assert r53.count(CHANGE) == 1


def test_a_race_without_end_ends(r53):  # noqa: F811
    r53.put("www", "A", A)
    ttls = iter(range(100, 200))
    r53.double.fault("first", CHANGE, times=99,
                     run=lambda: r53.put("www", "A", A, ttl=next(ttls)))
    got = r53(*SWAP)
    assert got.states() == ["failed", "failed"]
    assert "do not match the current values" in got.why()
    assert r53.count(CHANGE) == 3 and r53.values("www") == [A]


def test_a_refusal_that_is_no_race(r53):  # noqa: F811
    """Read again, and nothing has changed: no other attempt."""
    r53.put("www", "A", A)
    r53.double.fault("answer", CHANGE, times=9, code="InvalidChangeBatch",
                     text="[made up]")
    got = r53(*SWAP)
    assert got.states() == ["failed", "failed"] and "[made up]" in got.why()
    assert r53.count(CHANGE) == 1


def test_a_zone_that_was_made_anew(r53):  # noqa: F811
    """The id that the instance knew is gone; the name is not."""
    r53.put("www", "A", A)
    old = r53.zone

    def replace():
        del r53.double.zones[old.id]
        r53.zone = r53.double.add_zone(ORG)
        r53.put("www", "A", A)
    r53.double.fault("first", CHANGE, run=replace)
    got = r53(*SWAP)
    assert got.states() == ["done", "done"] and r53.values("www") == [B]
    assert old.sets["www.example.org.", "A", None].values == [A]


# ---- lost answers --------------------------------------------------------------------


@pytest.mark.parametrize("how", ["lost", "cut", "garbled"])
def test_a_lost_answer_is_read_back(r53, how):  # noqa: F811
    r53.put("www", "A", A)
    r53.double.fault(how, CHANGE)
    got = r53(*SWAP)
    assert got.states() == ["done", "done"] and r53.values("www") == [B]
    assert r53.double.accepted == 1
    assert r53.count(CHANGE) == (2 if how == "cut" else 1)


def test_lost_twice_is_unknown(r53):  # noqa: F811
    r53.put("www", "A", A)
    r53.double.fault("cut", CHANGE, times=9)
    got = r53(*SWAP)
    assert got.states() == ["unknown", "unknown"]
    assert r53.count(CHANGE) == 2 and r53.values("www") == [A]


def test_lost_and_not_to_be_read(r53):  # noqa: F811
    r53.put("www", "A", A)
    r53.put("ftp", "A", A)
    r53.double.fault("first", LIST, run=lambda: None)  # that one is good
    r53.double.fault("lost", CHANGE)
    r53.double.fault("answer", LIST, times=9, status=500,
                     code="ServiceUnavailable")
    got = r53(*SWAP)
    assert got.states() == ["unknown", "unknown"] and got["err"] == "retry"


# ---- throttling ------------------------------------------------------------------


def test_throttled(r53):  # noqa: F811
    r53.put("www", "A", A)
    for code in ("Throttling", "ThrottlingException",
                 "PriorRequestNotComplete"):
        r53.double.fault("answer", CHANGE, code=code, text="Rate exceeded")
    got = r53(*SWAP)
    assert got.states() == ["done", "done"] and r53.values("www") == [B]
    times = [x["time"] for x in r53.double.log if x["action"] == CHANGE]
    pauses = [b - a for a, b in zip(times, times[1:])]
    assert len(pauses) == 3
    for pause, least in zip(pauses, (0.25, 0.5, 1.0)):
        assert pause >= least - 0.01, pauses
    assert len({x["body"] for x in r53.double.log
                if x["action"] == CHANGE}) == 1  # the same batch


def test_a_read_is_tried_again(r53):  # noqa: F811
    r53.put("www", "A", A)
    r53.double.fault("answer", LIST, status=503, code="ServiceUnavailable",
                     headers={"Retry-After": "1"})
    r53.double.fault("cut", LIST)
    assert r53("records", ORG, WWW).sets() == {(WWW + ".", "A"): (60, [A])}
    times = [x["time"] for x in r53.double.log if x["action"] == LIST]
    assert len(times) == 3 and times[1] - times[0] >= 1.0


def test_the_budget(r53):  # noqa: F811
    """Ten calls at once, then five a second: the account is shared."""
    r53.put("z", "A", A)
    got = r53("records", ORG, *[f"n{i}.{ORG}" for i in range(16)],
              options={"zone-id": r53.zone.id})
    assert got["sets"] == []
    times = [x["time"] for x in r53.double.log]
    assert len(times) == 17
    assert times[16] - times[0] >= 7 * 0.2 - 0.05


# ---- until it is everywhere --------------------------------------------------------


def test_waits_until_insync(r53):  # noqa: F811
    r53.put("www", "A", A)
    got = r53(*SWAP, options={"wait-insync": "yes"})
    assert got.states() == ["done", "done"]
    log = r53.double.log
    assert [x["action"] for x in log[-2:]] == [CHANGE, "GetChange"]
    assert log[-1]["time"] - log[-2]["time"] >= 2.0


def test_waiting_is_no_duty(r53):  # noqa: F811
    """A forgotten permission for GetChange is told, and no error."""
    r53.put("www", "A", A)
    r53.double.fault("answer", "GetChange", status=403, code="AccessDenied",
                     text="not authorized to perform: route53:GetChange")
    got = r53(*SWAP, "+", *apply(publish(A), withdraw(B)),
              options={"wait-insync": "yes"})
    assert got.code == 0 and got.states() == ["done", "done"]
    assert got.stderr.count("route53:GetChange") == 1
    assert r53.count("GetChange") == 1 and r53.double.accepted == 2


# ---- specs -----------------------------------------------------------------------


def test_a_spec_beside_other_texts(r53):  # noqa: F811
    r53.put("_failover.www", "TXT", '"v=other"', '"[{\\"old\\":1}]"',
            '"[{\\"older\\":1}]"', ttl=120)
    text = '[{"ä":"' + "x" * 300 + '\\"}]'
    got = r53("write", ORG, WWW, text, "300")
    assert got.code == 0 and got["changed"]
    held = r53.values("_failover.www", "TXT")
    assert len(held) == 2 and held[1] == '"v=other"'
    assert held[0].startswith('"[{\\"\\303\\244\\":\\"xxx')
    assert held[0].count('" "') == 1
    assert r53.zone.sets["_failover.www.example.org.", "TXT", None].ttl == 120
    specs = r53("specs", ORG)["specs"]
    assert [s["text"] for s in specs] == [text]
    got = r53("write", ORG, WWW, text, "300")
    assert not got["changed"] and r53.double.accepted == 1


def test_a_spec_that_is_too_long(r53):  # noqa: F811
    got = r53("write", ORG, WWW, "[" + '"' * 2100 + "]", "300")
    assert got["err"] == "limit" and "at most 4000" in got["text"]
    assert r53.count(CHANGE) == 0


@pytest.mark.parametrize("how", ["lost", "cut"])
def test_a_lost_answer_to_a_spec(r53, how):  # noqa: F811
    r53.double.fault(how, CHANGE)
    got = r53("write", ORG, WWW, "[]", "300")
    assert got.code == 0 and got["changed"], got
    assert r53.values("_failover.www", "TXT") == ['"[]"']


def test_a_spec_and_somebody_else(r53):  # noqa: F811
    r53.put("_failover.www", "TXT", '"[1]"')
    r53.double.fault("first", CHANGE, run=lambda: r53.put(
        "_failover.www", "TXT", '"[2]"', '"v=other"'))
    got = r53("write", ORG, WWW, "[3]", "300")
    assert got.code == 0 and got["changed"]
    assert r53.values("_failover.www", "TXT") == ['"[3]"', '"v=other"']
    r53.put("_failover.www", "TXT", '"[1]"', set_id="x", Weight="1")
    del r53.zone.sets["_failover.www.example.org.", "TXT", None]
    got = r53("write", ORG, WWW, "[4]", "300")
    assert got["err"] == "unsupported" and "not touched" in got["text"]
