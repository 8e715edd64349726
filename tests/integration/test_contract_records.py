"""The contract of every provider: reading and changing records."""

import pytest

from contract.backend import Record, ZONE, publish, record, withdraw
from contract.fixtures import backend, started  # noqa: F401

A, B, C, D = "192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4"
SIX, SIX_B = "2001:db8::1", "2001:db8::2"


def others(ttl=300):
    """Records that no test means to touch."""
    return [
        record("mail", "A", A, ttl), record("mail", "AAAA", SIX, ttl),
        record("alias", "CNAME", f"mail.{ZONE}.", ttl),
        record("www", "TXT", "not ours", ttl),
        record("*.apps", "A", B, ttl),
    ]


def seeded(b, *records):
    """Seeds the records and the foreign ones; returns the truth."""
    b.seed([*records, *others(b.ttls[0])])
    before = b.truth()
    assert len(before) == len(records) + len(others())
    return before


def difference(before, after):
    """(what is gone, what is new), an exact account of the whole zone."""
    gone, new = list(before), []
    for r in after:
        if r in gone:
            gone.remove(r)
        else:
            new.append(r)
    return sorted(gone), sorted(new)


def done(got, n):
    assert got.code == 0 and got.states() == ["done"] * n, got.answers


def ttls(b):
    """The TTLs of what www's A set publishes."""
    return {r.ttl for r in b.truth()
            if r.enabled and (r.name, r.type) == (f"www.{ZONE}", "A")}


def off(b, r):
    """What a withdrawal leaves of a record."""
    if not b.caps["in_place_disable"] or (b.one_cname and r.type == "CNAME"):
        return []
    return [r._replace(enabled=False)]


# ---- reading ----------------------------------------------------------------


def test_list(backend):  # noqa: F811
    seeded(backend, record("www", "A", A), record("www", "A", B),
           record("www", "AAAA", SIX))
    assert backend.records("www", "mail", "alias") == {
        (f"www.{ZONE}", "A"): (300, {A: True, B: True}),
        (f"www.{ZONE}", "AAAA"): (300, {SIX: True}),
        (f"mail.{ZONE}", "A"): (300, {A: True}),
        (f"mail.{ZONE}", "AAAA"): (300, {SIX: True}),
        (f"alias.{ZONE}", "CNAME"): (300, {f"mail.{ZONE}.": True}),
    }
    assert backend.writes() == 0


def test_list_of_a_name_that_is_not_there(backend):  # noqa: F811
    seeded(backend)
    got = backend.run("records", ZONE, f"nobody.{ZONE}", f"x.apps.{ZONE}")
    assert got.code == 0 and got["sets"] == []


def test_list_specs(backend):  # noqa: F811
    text = '[{"name":"www.example.org.","data":"192.0.2.1"}]'
    star = ["_failover.*"] if backend.inner_star else []
    backend.seed([record(n, "TXT", text) for n in
                  ("_failover.www", "_failover", *star)]
                 + [record("x_failover.www", "TXT", "no"),
                    record("_failover.mail", "CNAME", f"mail.{ZONE}.")])
    got = backend.run("specs", ZONE)
    assert got.code == 0, got.answers
    owners = sorted({s["owner"] for s in got["specs"]})
    assert owners == [f"*.{ZONE}."] * len(star) + [f"{ZONE}.", f"www.{ZONE}."]


def test_a_zone_that_is_not_there(backend):  # noqa: F811
    before = seeded(backend, record("www", "A", A))
    got = backend.run("records", "example.net", "www.example.net")
    assert got.code == 1 and got.err, got.answers
    assert "example.net" in got.text
    got = backend.run("create", "example.net", "withdraw", "www.example.net",
                      "A", A, "-")
    assert got.code == 1 and got.states() != ["done"], got.answers
    assert backend.truth() == before and backend.writes() == 0


# ---- one change -------------------------------------------------------------


@pytest.mark.parametrize("rdtype, data", [
    ("A", C), ("AAAA", SIX_B), ("CNAME", f"mail.{ZONE}.")])
def test_add(backend, rdtype, data):  # noqa: F811
    before = seeded(backend)
    ttl = backend.ttls[1]
    done(backend.apply(publish("new", data, rdtype, ttl)), 1)
    assert difference(before, backend.truth()) == (
        [], [record("new", rdtype, data, ttl)])


@pytest.mark.parametrize("rdtype, one, two", [
    ("A", A, B), ("AAAA", SIX, SIX_B)])
def test_remove(backend, rdtype, one, two):  # noqa: F811
    first, second = record("www", rdtype, one), record("www", rdtype, two)
    before = seeded(backend, first, second)
    done(backend.apply(withdraw("www", one, rdtype)), 1)
    assert difference(before, backend.truth()) == ([first],
                                                   off(backend, first))


def test_remove_the_last(backend):  # noqa: F811
    """What `allDown: none` asks for; the name keeps its other types."""
    first = record("www", "A", A)
    before = seeded(backend, first)
    done(backend.apply(withdraw("www", A)), 1)
    assert difference(before, backend.truth()) == ([first],
                                                   off(backend, first))


@pytest.mark.parametrize("rdtype, one, two", [
    ("A", A, B), ("AAAA", SIX, SIX_B),
    ("CNAME", f"one.{ZONE}.", f"two.{ZONE}.")])
def test_replace(backend, rdtype, one, two):  # noqa: F811
    name = "web"
    first = record(name, rdtype, one)
    before = seeded(backend, first)
    done(backend.apply(publish(name, two, rdtype), withdraw(name, one, rdtype)),
         2)
    gone, new = difference(before, backend.truth())
    assert gone == [first]
    assert sorted(new) == sorted(off(backend, first)
                                 + [record(name, rdtype, two)])
    assert backend.published(name, rdtype) == [two]


def test_there_and_back(backend):  # noqa: F811
    first, second = record("www", "A", A), record("www", "A", B)
    before = seeded(backend, first, second)
    done(backend.apply(withdraw("www", A)), 1)
    done(backend.apply(publish("www", A)), 1)
    assert difference(before, backend.truth()) == ([], [])


def test_disable_in_place(backend):  # noqa: F811
    assert backend.caps["in_place_disable"], "name it in not_applicable"
    first, second = record("www", "A", A), record("www", "A", B)
    seeded(backend, first, second)
    done(backend.apply(withdraw("www", A)), 1)
    assert backend.records("www")[f"www.{ZONE}", "A"][1] == {A: False, B: True}
    assert first._replace(enabled=False) in backend.truth()
    # and it is found there again after all have gone
    done(backend.apply(withdraw("www", B)), 1)
    assert backend.records("www")[f"www.{ZONE}", "A"][1] == {A: False,
                                                             B: False}
    done(backend.apply(publish("www", B)), 1)
    assert backend.published("www") == [B]


def test_ttl(backend):  # noqa: F811
    """A set has one TTL (RFC 2181 5.2): what stays gets it too."""
    ttl, other, third = backend.ttls
    first, second = record("www", "A", A, ttl), record("www", "A", B, ttl)
    before = seeded(backend, first, second)
    done(backend.apply(publish("www", C, ttl=other)), 1)
    assert difference(before, backend.truth()) == (
        [first, second], [r._replace(ttl=other) for r in
                          (first, second, record("www", "A", C, other))])
    # beside a value that is there already
    done(backend.apply(publish("www", D, ttl=third)), 1)
    assert ttls(backend) == {third}
    # and a change that names none leaves it
    done(backend.apply(withdraw("www", A)), 1)
    assert ttls(backend) == {third}


def test_wildcard(backend):  # noqa: F811
    first = record("*", "A", A)
    before = seeded(backend, first)
    assert backend.records("*") == {(f"*.{ZONE}", "A"): (300, {A: True})}
    done(backend.apply(publish("*", B), withdraw("*", A)), 2)
    gone, new = difference(before, backend.truth())
    assert gone == [first]
    assert sorted(new) == sorted(off(backend, first)
                                 + [record("*", "A", B)])


def test_a_name_under_a_wildcard(backend):  # noqa: F811
    """The wildcard's answer is not the name's own set."""
    wild = record("*", "A", A)
    before = seeded(backend, wild)
    assert backend.records("new") == {}
    done(backend.apply(withdraw("new", A)), 1)
    assert backend.truth() == before
    done(backend.apply(publish("new", B, ttl=300)), 1)
    assert difference(before, backend.truth()) == ([], [record("new", "A", B)])


def test_apex(backend):  # noqa: F811
    first = record("@", "A", A)
    before = seeded(backend, first, record("@", "TXT", "v=spf1 -all"))
    done(backend.apply(publish("@", B), withdraw("@", A)), 2)
    gone, new = difference(before, backend.truth())
    assert gone == [first]
    assert sorted(new) == sorted(off(backend, first) + [record("@", "A", B)])


def test_case(backend):  # noqa: F811
    """Names are the same in any letters; nothing is added beside them."""
    backend.seed([Record(f"WwW.{ZONE.upper()}", "A", 300, A)])
    assert backend.records("www")[f"www.{ZONE}", "A"] == (300, {A: True})
    done(backend.apply(publish("www", A)), 1)
    assert backend.writes() == 0 and len(backend.truth()) == 1
    done(backend.apply(publish("www", B), withdraw("www", A)), 2)
    assert backend.published("www") == [B]


def test_ipv6_spellings(backend):  # noqa: F811
    """Addresses are compared by value, however they are stored."""
    backend.seed([record("www", "AAAA", "2001:DB8:0:0:0:0:0:1"),
                  record("www", "AAAA", "2001:0db8:0000:0001:0::1")])
    assert backend.records("www")[f"www.{ZONE}", "AAAA"][1] == {
        SIX: True, "2001:db8:0:1::1": True}
    done(backend.apply(publish("www", "2001:DB8::0:1", "AAAA")), 1)
    assert backend.writes() == 0
    done(backend.apply(withdraw("www", "2001:db8:0::1", "AAAA")), 1)
    assert backend.records("www")[f"www.{ZONE}", "AAAA"][1].get(SIX) in (
        None, False)


def test_foreign_values_kept(backend):  # noqa: F811
    """Values that no change names stay, exactly as they were."""
    first, second = record("www", "A", A), record("www", "A", B)
    before = seeded(backend, first, second)
    done(backend.apply(publish("www", C, ttl=300), withdraw("www", A)), 2)
    gone, new = difference(before, backend.truth())
    assert gone == [first]
    assert sorted(new) == sorted(off(backend, first)
                                 + [record("www", "A", C)])


def test_several_sets(backend):  # noqa: F811
    before = seeded(backend, record("www", "A", A), record("www", "AAAA", SIX),
                    record("ftp", "A", A))
    done(backend.apply(
        publish("www", B), publish("www", SIX_B, "AAAA"), publish("ftp", B),
        withdraw("www", A), withdraw("www", SIX, "AAAA"), withdraw("ftp", A)),
        6)
    assert backend.published("www") == [B] and backend.published("ftp") == [B]
    assert backend.published("www", "AAAA") == [SIX_B]
    assert backend.published("mail") == [A]
    gone, _ = difference(before, backend.truth())
    assert len(gone) == 3


# ---- nothing too much -------------------------------------------------------


def test_nothing_written_at_rest(backend):  # noqa: F811
    before = seeded(backend, record("www", "A", A), record("www", "A", B))
    for _ in range(2):
        done(backend.apply(publish("www", A), publish("www", B, ttl=300),
                           withdraw("www", C), withdraw("nobody", A)), 4)
    assert backend.writes() == 0 and backend.truth() == before


def test_never_through_empty(backend):  # noqa: F811
    seeded(backend, record("www", "A", A))
    with backend.watching() as states:
        done(backend.apply(publish("www", B), withdraw("www", A)), 2)
        done(backend.apply(publish("www", C), withdraw("www", B)), 2)
    assert states and backend.published("www") == [C]
    for state in states:
        assert [r for r in state if r.enabled
                and (r.name, r.type) == (f"www.{ZONE}", "A")], states


def test_add_before_remove(backend):  # noqa: F811
    """When the new value is not taken, the old one stays."""
    before = seeded(backend, record("www", "A", A))
    backend.fault_refused()
    got = backend.apply(publish("www", B, ttl=300), withdraw("www", A))
    assert got.code == 1 and got.states()[0] == "failed", got.answers
    assert got.states()[1] in ("failed", "skipped")
    assert backend.truth() == before


# ---- specs ------------------------------------------------------------------


def test_publish_txt(backend):  # noqa: F811
    before = seeded(backend)
    small = '[{"name":"www.example.org.","data":"192.0.2.1"}]'
    for text in (small, small.replace("2.1", "2.99"),
                 '[{"name":"' + "x" * (backend.txt_long - 30) + '"}]'):
        got = backend.write("www", text)
        assert got.code == 0 and got["changed"], got.answers
        gone, new = difference(before, backend.truth())
        assert gone == [] and [(r.name, r.type, r.data) for r in new] == [
            (f"_failover.www.{ZONE}", "TXT", text)]
        count = backend.writes()
        got = backend.write("www", text)
        assert got.code == 0 and not got["changed"]
        assert backend.writes() == count


def test_publish_txt_keeps_foreign_ones(backend):  # noqa: F811
    before = seeded(backend, record("_failover.www", "TXT", "v=other; p=1"))
    text = '[{"name":"www.example.org."}]'
    for new in (text, text.replace("www", "ftp")):
        assert backend.write("www", new).code == 0
        now = [r for r in backend.truth() if r not in before]
        assert [r.data for r in now] == [new]
