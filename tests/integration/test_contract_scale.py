"""The contract of every provider: many records, many changes, two writers."""

from contract.backend import ZONE, publish, record, withdraw
from contract.fixtures import backend, started  # noqa: F401

A, B, C, D = "192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4"
MANY = 1000


def test_paging(backend):  # noqa: F811
    """What stands on a later page is found, listed and changed."""
    n = backend.paged
    assert n > 0, "name it in not_applicable"
    backend.seed([record(f"n{i:04}", "A", A) for i in range(n)]
                 + [record(f"_failover.n{i:04}", "TXT", "[]")
                    for i in range(0, n, max(1, n // 20))])
    names = [f"n{i:04}" for i in (0, n // 2, n - 1)]
    assert backend.records(*names) == {
        (f"{x}.{ZONE}", "A"): (300, {A: True}) for x in names}
    if backend.caps["lists_specs"]:
        got = backend.run("specs", ZONE)
        assert got.code == 0, got.answers
        assert len({s["owner"] for s in got["specs"]}) == len(
            range(0, n, max(1, n // 20)))
    got = backend.apply(*[publish(x, B) for x in names],
                        *[withdraw(x, A) for x in names])
    assert got.states() == ["done"] * 6, got.answers
    for x in names:
        assert backend.published(x) == [B]
    assert len([r for r in backend.truth() if r.enabled]) == n + len(
        range(0, n, max(1, n // 20)))


def test_a_thousand_changes(backend):  # noqa: F811
    """In one call: all done, nothing else touched, no write too much."""
    names = [f"n{i:03}" for i in range(MANY // 2)]
    backend.seed([record(x, "A", A) for x in names]
                 + [record("mail", "A", A)])
    got = backend.apply(*[publish(x, B, ttl=300) for x in names],
                        *[withdraw(x, A) for x in names])
    assert got.code == 0, (got.err, got.text, got.texts()[:2000])
    assert got.states() == ["done"] * MANY
    now = sorted((r.name, r.data, r.ttl) for r in backend.truth() if r.enabled)
    assert now == sorted([(f"{x}.{ZONE}", B, 300) for x in names]
                         + [(f"mail.{ZONE}", A, 300)])
    most = backend.writes_for_1000
    assert backend.writes() <= (MANY if most is None else most)


def test_two_writers_at_once(backend):  # noqa: F811
    """Two agents, one set: a result "done" is true at the end, and neither
    writes back what it read before the other's change."""
    assert backend.caps["conditional"] or not backend.caps["per_set"], (
        "name it in not_applicable")
    for _ in range(3):
        backend.seed([record("www", "A", A), record("www", "A", B),
                      record("mail", "A", A)])
        with backend.writers_meet() as meeting:
            both = [
                backend.begin("create", ZONE, *publish("www", C, ttl=300),
                              *withdraw("www", A)),
                backend.begin("create", ZONE, *publish("www", D, ttl=300),
                              *withdraw("www", B)),
            ]
            first, second = map(backend.finish, both)
        now = backend.published("www")
        for got, new, old in ((first, C, A), (second, D, B)):
            states = got.states()
            if states[0] == "done":
                assert new in now, (first.answers, second.answers, now)
            elif states[0] in ("failed", "skipped"):
                assert new not in now, (first.answers, second.answers, now)
            if states[1] == "done":
                assert old not in now, (first.answers, second.answers, now)
            elif states[1] in ("failed", "skipped"):
                assert old in now, (first.answers, second.answers, now)
        assert now and backend.published("mail") == [A]
        assert "done" in first.states() + second.states()
        if meeting is not None:
            # The later one sees that its set has changed, and reads again: a
            # write that undid the other's would be told by that one, at best.
            assert meeting.met
            assert first.states() + second.states() == ["done"] * 4, (
                first.answers, second.answers)
            assert now == [C, D]
