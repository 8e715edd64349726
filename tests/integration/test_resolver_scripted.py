"""The resolver against a scripted server: what real ones do not do."""

import subprocess

import dns.flags
import dns.rcode
import pytest

from resolver_help import TXT, Fake, lookup, reply, texts  # noqa: F401


def ask_fake(lookup, answer, **fake):
    with Fake(answer, **fake) as f:
        a = lookup("txt", f.server, "www.example.test", timeout_ms=150)
    return a, f


def test_our_queries(lookup):
    """RD off and EDNS 1232 towards authoritative servers, RD and AD on
    towards recursive ones; the ids differ."""
    with Fake(lambda q, tcp: reply(q, TXT)) as f:
        for _ in range(8):
            lookup("txt", f.server, "www.example.test")
        lookup("lookup", f.server, "_failover.www.example.test", "TXT")
    for q, tcp in f.seen[:8]:
        assert not tcp
        assert not q.flags & (dns.flags.RD | dns.flags.AD)
        assert (q.edns, q.payload) == (0, 1232)
    assert len({q.id for q, _ in f.seen}) > 6
    q = f.seen[8][0]
    assert q.flags & dns.flags.RD and q.flags & dns.flags.AD


def test_lame_fails(lookup):
    a, f = ask_fake(lookup, lambda q, tcp: reply(q, TXT, aa=False))
    assert a["outcome"] == "failed"
    assert a["error"] == (
        f"{f.server} is not authoritative for _failover.www.example.test."
    )
    a, _ = ask_fake(lookup, lambda q, tcp: reply(
        q, aa=False, rcode=dns.rcode.NXDOMAIN, soa=True))
    assert a["outcome"] == "failed"


def test_empty_answer_without_soa_fails(lookup):
    a, f = ask_fake(lookup, lambda q, tcp: reply(q))
    assert a["outcome"] == "failed"
    assert "empty answer without SOA" in a["error"]


def test_nodata_with_soa_is_gone(lookup):
    a, _ = ask_fake(lookup, lambda q, tcp: reply(q, soa=True))
    assert a["outcome"] == "gone"


def test_other_question_is_no_answer(lookup):
    a, f = ask_fake(lookup, lambda q, tcp: reply(
        q, TXT, question="_failover.else.example.test."))
    assert a["outcome"] == "failed"
    assert a["error"] == f"{f.server} timed out"


def test_records_of_other_names_do_not_count(lookup):
    a, _ = ask_fake(lookup, lambda q, tcp: reply(
        q, ("other.example.test.", "TXT", '"x"'), soa=True))
    assert a["outcome"] == "gone"


def test_silence_times_out(lookup):
    a, f = ask_fake(lookup, lambda q, tcp: None)
    assert a["outcome"] == "failed"
    assert a["error"] == f"{f.server} timed out"
    assert len(f.seen) == 2


def test_second_try_counts(lookup):
    state = []

    def answer(q, tcp):
        state.append(1)
        return reply(q, TXT) if len(state) > 1 else None
    a, _ = ask_fake(lookup, answer)
    assert a["outcome"] == "found"


@pytest.mark.parametrize("rcode", [dns.rcode.FORMERR, dns.rcode.NOTIMP],
                         ids=dns.rcode.to_text)
def test_server_without_edns(lookup, rcode):
    def answer(q, tcp):
        if q.edns >= 0:
            return reply(q, rcode=rcode, edns=False)
        return reply(q, (q.question[0].name.to_text(), "TXT", '"spec"'),
                     edns=False)
    a, f = ask_fake(lookup, answer)
    assert a["outcome"] == "found", a
    assert texts(a) == [b"spec"]
    with Fake(answer) as f:
        a = lookup("many", f.server, 300, "n%u.example.test", "TXT")
    assert a["found"] == 300, a
    # Learnt from the first answers: those behind them go without EDNS.
    assert len([q for q, _ in f.seen if q.edns >= 0]) <= 100


def test_server_without_edns_and_large_answer(lookup):
    """Between 512 and 1,232 bytes: whole over TCP, never cut."""
    big = ("_failover.www.example.test.", "TXT",
           " ".join(f'"{"x" * 250}"' for _ in range(4)))

    def answer(q, tcp):
        if q.edns >= 0:
            return reply(q, rcode=dns.rcode.FORMERR, edns=False)
        r = reply(q, big)
        if not tcp:
            r = reply(q)
            r.flags |= dns.flags.TC
        return r
    a, _ = ask_fake(lookup, answer)
    assert texts(a) == [b"x" * 1000]

    def ignores_edns(q, tcp):
        return reply(q, big, edns=False)
    a, _ = ask_fake(lookup, ignores_edns)
    assert texts(a) == [b"x" * 1000]


def test_formerr_that_stays_fails(lookup):
    a, f = ask_fake(lookup, lambda q, tcp: reply(
        q, rcode=dns.rcode.FORMERR, edns=False))
    assert a["outcome"] == "failed"
    assert "says FORMERR" in a["error"]


def test_damaged_answers(lookup):
    """Over UDP they are asked again over TCP; there they fail."""
    def cut(q, tcp):
        return reply(q, TXT).to_wire()[:-12]
    a, f = ask_fake(lookup, cut)
    assert a["outcome"] == "failed"
    assert "cannot be decoded" in a["error"]
    assert [tcp for _, tcp in f.seen] == [False, True]
    a, _ = ask_fake(lookup, lambda q, tcp: reply(q, TXT) if tcp else cut(q, 0))
    assert a["outcome"] == "found"


def test_truncated_over_tcp_fails(lookup):
    def answer(q, tcp):
        r = reply(q)
        r.flags |= dns.flags.TC
        return r
    a, _ = ask_fake(lookup, answer)
    assert a["outcome"] == "failed"
    assert "truncated answer over TCP" in a["error"]


def test_truncated_addresses_over_tcp_are_of_use(lookup):
    """Case R22: what came is used; nothing that came is no answer."""
    def answer(q, tcp):
        name = q.question[0].name.to_text()
        r = reply(q, (name, "A", "192.0.2.1", "192.0.2.2")) if tcp \
            else reply(q)
        r.flags |= dns.flags.TC
        return r
    with Fake(answer) as f:
        a = lookup("ask", f.server, "www.example.test", "A")
        b = lookup("ask", f.server, "www.example.test", "AAAA")
    assert a["outcome"] == "found", a
    assert sorted(a["addrs"]) == ["192.0.2.1:0", "192.0.2.2:0"]
    assert b["outcome"] == "failed"


def test_connections_closed_after_each_answer(lookup):
    def answer(q, tcp):
        name = q.question[0].name.to_text()
        r = reply(q, (name, "TXT", '"x"')) if tcp else reply(q)
        if not tcp:
            r.flags |= dns.flags.TC
        return r
    with Fake(answer, close_each=True) as f:
        a = lookup("many", f.server, 100, "n%u.example.test", "TXT",
                   timeout_ms=5000)
    assert a["found"] == 100, a


def test_tcp_trouble_of_one_name_leaves_others_alone(lookup):
    def answer(q, tcp):
        name = q.question[0].name.to_text()
        if name.startswith("n7"):
            r = reply(q)
            r.flags |= dns.flags.TC
            return r
        return reply(q, (name, "TXT", '"x"'))
    with Fake(answer, tcp=False) as f:
        a = lookup("many", f.server, 100, "n%u.example.test", "TXT")
    assert (a["found"], a["failed"]) == (89, 11), a


def test_dropped_lookups_are_silent(tools):
    with Fake(lambda q, tcp: None) as f:
        done = subprocess.run(
            [str(tools / "lookup"), "drop", f.server, "www.example.test"],
            capture_output=True, text=True, timeout=20,
        )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_dead_server_ends_the_queue(lookup):
    """1,000 lookups do not wait 100 by 100 for a server that is silent."""
    with Fake(lambda q, tcp: None) as f:
        a = lookup("many", f.server, 1000, "n%u.example.test", "TXT",
                   timeout_ms=300)
    assert a["failed"] == 1000
    assert a["ms"] < 2500


# --- recursive servers -----------------------------------------------------------


def test_validated_answers(lookup):
    def answer(ad):
        def a(q, tcp):
            r = reply(q, ("www.example.test.", "CNAME", "x.example.test."),
                      ("x.example.test.", "A", "192.0.2.7"), aa=False)
            r.flags |= dns.flags.RA | (dns.flags.AD if ad else 0)
            return r
        return a
    for ad, outcome in ((False, "failed"), (True, "found")):
        with Fake(answer(ad)) as f:
            a = lookup("-a", "lookup", f.server, "www.example.test", "A")
            b = lookup("lookup", f.server, "www.example.test", "A")
        assert a["outcome"] == outcome
        assert ("no AD bit" in a["error"]) == (not ad)
        assert b["outcome"] == "found"
        assert b["addrs"] == ["192.0.2.7:0"]


def test_next_recursive_server(lookup):
    def servfail(q, tcp):
        return reply(q, rcode=dns.rcode.SERVFAIL, aa=False)

    def good(q, tcp):
        return reply(q, ("www.example.test.", "A", "192.0.2.7"), aa=False)
    with Fake(servfail) as f, Fake(good) as g:
        a = lookup("lookup", f.server, g.server, "www.example.test", "A")
        b = lookup("lookup", f.server, f.server, "www.example.test", "A")
    assert a["outcome"] == "found" and a["server"] == g.server
    assert b["outcome"] == "failed"
    assert b["error"].count("says SERVFAIL") == 2


# --- the queue


def test_at_most_100_in_flight(lookup):
    """A server that answers nothing until it has seen 100 questions, and
    checks that the 101st does not come before."""
    held = []
    state = {"most": 0}

    def answer(q, tcp):
        held.append(q)
        state["most"] = max(state["most"], len(held))
        if len(held) < 100:
            return None
        out = []
        for h in held:
            out.append(reply(h, (h.question[0].name.to_text(), "TXT", '"x"')))
        held.clear()
        return out
    with Fake(answer) as f:
        a = lookup("-n", 1, "many", f.server, 400, "n%u.example.test", "TXT",
                   timeout_ms=5000)
    assert a["found"] == 400, a
    assert len(f.seen) == 400
