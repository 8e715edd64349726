"""The contract of every provider: lost answers, refusals, limits."""

import time

import pytest

from contract.backend import publish, record, withdraw
from contract.fixtures import backend, started  # noqa: F401

A, B = "192.0.2.1", "192.0.2.2"
CHANGE = (publish("www", B, ttl=300), withdraw("www", A))


@pytest.fixture
def zone(backend):  # noqa: F811
    """The backend with www's A and a neighbour; .before: its truth."""
    backend.seed([record("www", "A", A), record("mail", "A", A)])
    backend.before = backend.truth()
    return backend


def consistent(b, got):
    """What the results say is what the zone holds."""
    now = b.published("www")
    states = got.states()
    assert {"done": B in now, "failed": B not in now, "skipped": B not in now,
            "unknown": True}[states[0]], (got.answers, now)
    assert {"done": A not in now, "failed": A in now, "skipped": A in now,
            "unknown": True}[states[1]], (got.answers, now)
    assert now, "through empty"
    assert b.published("mail") == [A]
    return states


def works_again(b):
    """Without the fault the same change is made, once."""
    b.heal()
    got = b.apply(*CHANGE)
    assert got.code == 0 and got.states() == ["done", "done"], got.answers
    assert b.published("www") == [B] and b.published("mail") == [A]
    count = b.writes()
    assert b.apply(*CHANGE).states() == ["done", "done"]
    assert b.writes() == count


def untouched(b, got, *codes):
    """Nothing was done, and the answer says so with one of the codes."""
    assert got.code == 1 and "done" not in got.states(), got.answers
    assert set(got.errs()) & set(codes), got.answers
    assert b.truth() == b.before
    works_again(b)


def test_lost_answer(zone):
    """Carried out, and nobody said so: it is read back."""
    zone.fault_lost()
    got = zone.apply(*CHANGE)
    states = consistent(zone, got)
    assert set(states) <= {"done", "unknown"}, got.answers
    if "unknown" in states:
        assert "unknown" in got.errs()
    works_again(zone)


def test_cut_before_it_was_read(zone):
    """The connection ended first; whoever says "done" must be right."""
    zone.fault_cut()
    got = zone.apply(*CHANGE)
    consistent(zone, got)
    works_again(zone)


def test_unauthorized(zone):
    zone.fault_unauthorized()
    untouched(zone, zone.apply(*CHANGE), "auth")


def test_unauthorized_list(zone):
    """A list that could not be made is an error, never an empty list."""
    zone.fault_unauthorized()
    got = zone.run("records", zone.zone, f"www.{zone.zone}")
    assert got.code == 1 and got.err == "auth", got.answers
    assert got.answers[0]["sets"] == []


def test_forbidden(zone):
    zone.fault_forbidden()
    untouched(zone, zone.apply(*CHANGE), "auth")


def test_refused(zone):
    """Refused for what is in it: no other attempt would help."""
    zone.fault_refused()
    got = zone.apply(*CHANGE)
    assert got.code == 1 and got.texts(), got.answers
    assert "done" not in got.states()
    assert zone.truth() == zone.before
    works_again(zone)


def test_server_error(zone):
    zone.fault_broken()
    started_s = time.monotonic()
    got = zone.apply(*CHANGE)
    assert time.monotonic() - started_s < 60
    assert got.code == 1 and "done" not in got.states(), got.answers
    assert zone.truth() == zone.before
    works_again(zone)


def test_server_error_list(zone):
    zone.fault_broken()
    got = zone.run("records", zone.zone, f"www.{zone.zone}")
    assert got.code == 1 and got.err, got.answers


def test_retry_after(zone):
    """429 with Retry-After: 1: no request before that time is over."""
    zone.fault_busy()
    got = zone.apply(*CHANGE)
    consistent(zone, got)
    times = zone.request_times()
    assert times, "the fault was not met"
    refused = times[0]
    assert all(t - refused >= 1.0 for t in times[1:]), times
    works_again(zone)


def test_retry_after_an_hour(zone):
    """That long nobody waits: the whole is given up, and soon."""
    zone.fault_busy_long()
    started_s = time.monotonic()
    got = zone.apply(*CHANGE)
    assert time.monotonic() - started_s < 20
    untouched(zone, got, "limit", "retry")


def test_budget_spent(zone):
    """A server that says "no calls left" gets none."""
    zone.fault_budget_spent()
    got = zone.apply(*CHANGE)
    untouched(zone, got, "limit", "retry")
