"""Dynamic updates beyond the contract: keys, words for failures, many names
in a message, what servers ignore, and somebody on the way."""

import re
import time

import pytest

from contract.backend import publish, record, withdraw
from dnsupdate import relay, tool
from dnsupdate.servers import DynamicBind, DynamicKnot, DynamicPowerDns
import servers

ZONE = "example.org"
WWW = f"www.{ZONE}"
A, B, C = "192.0.2.1", "192.0.2.2", "192.0.2.3"
CHANGE = (publish("www", B, ttl=300), withdraw("www", A))
KINDS = [DynamicBind, DynamicKnot, DynamicPowerDns]


def start(kind, directory, **how):
    missing = (kind.missing() if hasattr(kind, "missing") else
               None if servers.find(kind.program) else f"no {kind.program}")
    if missing:
        pytest.skip(missing)
    return kind(directory, ZONE, **how)


@pytest.fixture(scope="module", params=KINDS,
                ids=lambda k: k.__name__.lower())
def each(request, tmp_path_factory, tools):
    with start(request.param, tmp_path_factory.mktemp("ns")) as server, \
            tool.Rfc2136(server, tools) as t:
        yield t


@pytest.fixture(scope="module")
def bind_once(tmp_path_factory, tools):
    with start(DynamicBind, tmp_path_factory.mktemp("ns")) as server, \
            tool.Rfc2136(server, tools) as t:
        yield t


@pytest.fixture
def bind(bind_once):
    return bind_once.begin([record("www", "A", A), record("mail", "A", A)])


@pytest.fixture
def any_server(each):
    return each.begin([record("www", "A", A), record("mail", "A", A)])


# ---- keys --------------------------------------------------------------------


@pytest.mark.parametrize("kind, algorithm", [
    *[(DynamicBind, f"hmac-{a}") for a in
      ("sha1", "sha224", "sha256", "sha384", "sha512")],
    (DynamicKnot, "hmac-sha224"), (DynamicKnot, "hmac-sha512")])
def test_algorithms(kind, algorithm, tmp_path, short_dir, tools):
    with start(kind, short_dir, algorithm=algorithm) as server, \
            tool.Rfc2136(server, tools) as t:
        t.begin([record("www", "A", A)])
        assert t.apply(*CHANGE).states() == ["done", "done"]
        assert t.values("www") == [B]
        assert t.run("specs", ZONE).code == 0


def test_key_file_that_others_can_read(bind):
    key = bind.server.key_file()
    key.chmod(0o644)
    got = bind.run("records", ZONE, WWW)
    key.chmod(0o600)
    assert got.code == 1 and got.err == "auth"
    assert "others can read it" in got.text and str(key) in got.text


def test_key_file_of_two_keys(bind):
    both = bind.server.dir / "both.key"
    both.touch(mode=0o600)
    both.write_text("".join(bind.server.key_file(n).read_text()
                            for n in ("reader", "main")))
    got = bind.run("records", ZONE, WWW, key_file=both)
    assert got.code == 1 and "say by key-name which" in got.text
    got = bind.apply(*CHANGE, key_file=both, key_name="main")
    assert got.states() == ["done", "done"]


def test_bad_options(bind):
    for options, text in (
            ({"server": "ns1.example.org"}, "ns1.example.org"),
            ({"key_file": "/nonexistent/key"}, "/nonexistent/key"),
            ({"key_name": "a b"}, "key-name"),
            ({"timeout": "1ms"}, "accepted: 100ms to 5m")):
        got = bind.run("records", ZONE, WWW, **options)
        assert got.code == 1 and text in got.text, got.answers


# ---- failures in words -----------------------------------------------------------


def test_wrong_secret(any_server):
    got = any_server.apply(*CHANGE, key_file=any_server.server.bad_key_file())
    assert got.code == 1 and set(got.errs()) == {"auth"}
    assert any_server.values("www") == [A]
    if any_server.is_powerdns:
        assert "says REFUSED to the update of example.org." in got.texts()
    else:
        assert "says NOTAUTH, TSIG BADSIG to the update of example.org.: the " \
            "secret of the key is not the one that the server has" \
            in got.texts()


def test_unknown_key(any_server):
    key = any_server.server.dir / "ghost.key"
    key.touch(mode=0o600)
    key.write_text(any_server.server.key_file().read_text().replace(
        "main", "ghost"))
    got = any_server.apply(*CHANGE, key_file=key)
    assert got.code == 1 and set(got.errs()) == {"auth"}
    assert any_server.values("www") == [A]
    if not any_server.is_powerdns:
        assert "says NOTAUTH, TSIG BADKEY to the update" in got.texts()


def test_a_key_that_may_not(any_server):
    if any_server.is_powerdns:
        pytest.skip("PowerDNS permits a key a whole zone or nothing")
    got = any_server.apply(*CHANGE,
                           key_file=any_server.server.key_file("limited"))
    assert got.states() == ["failed", "skipped"] and "auth" in got.errs()
    assert any_server.values("www") == [A]
    got = any_server.apply(publish("mail", B), withdraw("mail", A),
                           key_file=any_server.server.key_file("limited"))
    assert got.states() == ["done", "done"]


@pytest.mark.parametrize("ahead_s", [-1000, 1000])
def test_clock(any_server, ahead_s, tmp_path):
    """The server's clock is told where the server tells it."""
    env = tool.clock_ahead(tmp_path, ahead_s)
    if env is None:
        pytest.skip("no cc to make a clock that is wrong")
    got = any_server.apply(*CHANGE, env=env)
    assert got.code == 1 and "done" not in got.states()
    assert any_server.values("www") == [A]
    if any_server.is_powerdns:
        return
    assert "TSIG BADTIME" in got.texts()
    sign = r"\+" if ahead_s > 0 else "-"
    assert re.search(rf"the server's clock says \d+-\S+Z, this machine's "
                     rf"\d+-\S+Z \({sign}(999|100\d) s\); 300 s are allowed",
                     got.texts()), got.texts()


def test_not_a_zone_there(any_server):
    got = any_server.run("create", "example.net", "publish", "www.example.net",
                         "A", A, "60")
    assert got.code == 1 and got.states() == ["skipped"]
    assert "example.net" in got.text


def test_nobody_there(bind):
    started = time.monotonic()
    got = bind.apply(*CHANGE, server="127.0.0.1:1")
    assert got.code == 1 and got.err == "retry"
    assert "refused the connection" in got.text
    assert time.monotonic() - started < 5


def test_an_answer_that_never_comes(bind):
    bind.relay.on_answer = lambda query, answer: relay.STALL
    got = bind.run("records", ZONE, WWW, timeout="300ms")
    assert got.err == "retry" and "timed out" in got.text


def test_a_delegated_name(bind):
    """Below a zone cut nothing is ours; the other names are not held up."""
    u = bind.server.new_update()
    u.add(f"sub.{ZONE}.", 300, "NS", "ns.example.net.")
    bind.server.send(u)
    got = bind.apply(publish("x.sub", A, ttl=60), publish("www", B),
                     withdraw("www", A))
    assert got.states() == ["failed", "done", "done"], got.answers
    assert "is no server of its zone" in got.texts()
    assert f"x.sub.{ZONE}" not in str(bind.records("x.sub", "www"))


# ---- many names ------------------------------------------------------------------


def test_one_bad_name_among_many(any_server):
    """A CNAME beside an address is ignored by the servers: that one fails,
    the others of its message do not."""
    names = [f"n{i}" for i in range(40)]
    any_server.begin([record(n, "A", A) for n in names]
                     + [record("alias", "CNAME", f"mail.{ZONE}.")])
    got = any_server.apply(*[publish(n, B, ttl=300) for n in names],
                           publish("alias", B, ttl=300))
    assert got.states() == ["done"] * 40 + ["failed"], got.answers
    assert "is a CNAME" in got.texts() or "update" in got.texts()
    for n in names[:3]:
        assert any_server.values(n) == [A, B]


def test_one_forbidden_name_among_many(tmp_path, short_dir, tools):
    """A message that is refused for one name is halved until it stands
    alone."""
    for kind, directory in ((DynamicBind, tmp_path), (DynamicKnot, short_dir)):
        with start(kind, directory / "ns") as server, \
                tool.Rfc2136(server, tools) as t:
            t.begin([record(f"n{i}", "A", A) for i in range(3)]
                    + [record("mail", "A", A)])
            key = server.key_file("limited")  # mail's A only
            got = t.apply(*[publish(f"n{i}", B) for i in range(3)],
                          publish("mail", B), key_file=key)
            assert got.states() == ["failed"] * 3 + ["done"], got.answers
            assert set(got.errs()) == {"auth"}
            assert t.values("mail") == [A, B] and t.values("n1") == [A]


def test_a_bad_key_is_not_tried_for_ever(bind):
    names = [f"n{i}" for i in range(200)]
    bind.begin([record(n, "A", A) for n in names])
    got = bind.apply(*[publish(n, B) for n in names],
                     key_file=bind.server.key_file("reader"))
    assert got.err == "auth" and "done" not in got.states()
    assert len(bind.relay.updates()) < 100


def test_from_cname_to_address_and_back(any_server):
    """One message takes the one out and the other in."""
    alias = f"mail.{ZONE}."
    any_server.begin([record("web", "A", A), record("mail", "A", A)])
    got = any_server.apply(publish("web", alias, "CNAME", 60),
                           withdraw("web", A))
    assert got.states() == ["done", "done"], got.answers
    assert any_server.values("web", "CNAME") == [alias]
    got = any_server.apply(publish("web", B, ttl=60),
                           withdraw("web", alias, "CNAME"))
    assert got.states() == ["done", "done"], got.answers
    assert any_server.values("web") == [B]


def test_long_texts_in_many_messages(bind):
    """What does not fit into one message goes into several."""
    names = [f"{'n' * 50}{i:04}.{'m' * 60}" for i in range(700)]
    bind.begin([])
    got = bind.apply(*[publish(n, A, ttl=60) for n in names],
                     *[publish(n, "2001:db8::1", "AAAA", 60) for n in names])
    assert got.states() == ["done"] * 1400, got.texts()[:500]
    assert all(len(q) <= 65535 for q, _ in bind.relay.updates())
    assert len(bind.server.records()) == 1400


def test_remembered_then_changed_elsewhere(bind):
    """A change goes out on what was read last; when that no longer holds,
    the server says so and it is read again."""
    p = bind.begin_run("records", ZONE, WWW, "+", "wait", "700", "+",
                       "create", ZONE, *CHANGE[0], *CHANGE[1])
    listed = p.stdout.readline()
    u = bind.server.new_update()
    u.add(f"{WWW}.", 300, "A", C)
    bind.server.send(u)
    got = bind.finish(p, listed)
    assert got.states(1) == ["done", "done"], got.answers
    assert bind.values("www") == [B, C]
    assert [relay.rcode(a) for _, a in bind.relay.updates()] == [8, 0]


def test_remembered_needs_no_question(bind):
    got = bind.run("records", ZONE, WWW, "+", "create", ZONE, *CHANGE[0],
                   *CHANGE[1])
    assert got.states(1) == ["done", "done"]
    kinds = [relay.opcode(q) for q, _ in bind.relay.messages]
    at = kinds.index(relay.UPDATE)
    assert kinds.count(relay.UPDATE) == 1
    # the questions before it were those of the list
    assert at == len([k for k in kinds[:at] if k == 0]) == 5


# ---- wildcards -------------------------------------------------------------------


def test_what_a_wildcard_makes(any_server):
    """A name with just the wildcard's values has them of its own, or not."""
    any_server.begin([record("*", "A", A), record("own", "A", A),
                      record("*.deep", "CNAME", f"mail.{ZONE}."),
                      record("mail", "A", B)])
    got = any_server.records("own", "other", "x.deep", "*", "*.deep")
    assert got == {
        (f"own.{ZONE}", "A"): (300, {A: True}),
        (f"*.{ZONE}", "A"): (300, {A: True}),
        (f"*.deep.{ZONE}", "CNAME"): (300, {f"mail.{ZONE}.": True}),
    }
    before = any_server.server.zone_serial()
    assert any_server.apply(withdraw("other", A)).states() == ["done"]
    assert any_server.server.zone_serial() == before
    got = any_server.apply(publish("other", A, ttl=300))
    assert got.states() == ["done"]
    assert any_server.records("other") == {
        (f"other.{ZONE}", "A"): (300, {A: True})}


# ---- somebody on the way ---------------------------------------------------------


@pytest.mark.parametrize("at", [3, 14, -1, -30])
def test_a_changed_answer_is_noticed(any_server, at):
    """NOERROR is not believed when a bit of it was turned over."""
    any_server.relay.on_answer = lambda query, answer: (
        relay.flip(answer, at) if relay.opcode(query) == relay.UPDATE
        else answer)
    got = any_server.apply(*CHANGE)
    assert got.code == 1 and got.states()[0] in ("unknown", "failed"), (
        got.answers)
    assert "not believed" in got.texts() or "sent" in got.texts(), got.texts()


def test_an_unsigned_yes_is_not_believed(any_server):
    """The attacker keeps the update and answers by itself."""
    def answer(query):
        if relay.opcode(query) != relay.UPDATE:
            return query
        wire = bytearray(relay.servfail(query))
        wire[3] = 0
        return relay.Reply(bytes(wire))

    any_server.relay.on_query = answer
    got = any_server.apply(*CHANGE)
    assert got.states() == ["unknown", "unknown"]
    assert "it is not signed" in got.texts()
    assert any_server.values("www") == [A]


def test_an_answer_to_another_update(bind):
    """A good answer of this key, kept from an earlier update."""
    kept = []

    def answer(query, wire):
        if relay.opcode(query) != relay.UPDATE:
            return wire
        kept.append(wire)
        return query[:2] + kept[0][2:]

    bind.relay.on_answer = answer
    assert bind.apply(*CHANGE).states() == ["done", "done"]
    got = bind.apply(publish("www", A))
    assert got.states() == ["unknown"]
    assert "signature is wrong" in got.texts()


def test_signed_queries(any_server):
    """With sign-queries a forged list is noticed, and a wrong key."""
    t = any_server
    got = t.run("records", ZONE, WWW, sign_queries="yes")
    assert got.code == 0 and got["sets"]
    got = t.apply(*CHANGE, sign_queries="yes")
    assert got.states() == ["done", "done"]
    got = t.run("records", ZONE, WWW, sign_queries="yes",
                key_file=t.server.bad_key_file())
    assert got.err == "auth" and got["sets"] == []
    t.relay.on_answer = lambda query, answer: answer.replace(
        bytes([192, 0, 2, 2]), bytes([192, 0, 2, 9]))
    got = t.run("records", ZONE, WWW, sign_queries="yes")
    assert got.err == "auth" and "not believed" in got.text
    got = t.run("records", ZONE, WWW)
    assert "192.0.2.9" in str(got["sets"])  # unsigned: nobody can tell


# ---- transfers -------------------------------------------------------------------


@pytest.fixture
def long_zone(any_server):
    """Long enough for several messages of a transfer; PowerDNS 4.7 puts a
    hundred records into one, whatever their length."""
    n, size = (250, 60) if any_server.is_powerdns else (100, 900)
    any_server.begin([record(f"_failover.n{i}", "TXT", f"[{i}]" + "x" * size)
                      for i in range(n)])
    any_server.nspecs = n
    return any_server


def test_a_transfer_of_several_messages(long_zone):
    """Each of them is covered, the first, the last and those between."""
    got = long_zone.run("specs", ZONE)
    assert got.code == 0 and len(got["specs"]) == long_zone.nspecs
    n = len(long_zone.relay.messages)
    assert n > 1
    for k in {0, n // 2, n - 1}:
        seen = []

        def answer(query, wire):
            seen.append(wire)
            at = min(500, len(wire) - 60)
            return relay.flip(wire, at) if len(seen) == k + 1 else wire

        long_zone.relay.on_answer = answer
        got = long_zone.run("specs", ZONE)
        assert got.code == 1 and got["specs"] == [], (k, n)
        assert "TSIG" in got.text or "sent" in got.text, got.text
        long_zone.relay.heal()


def strip(wire):
    """The message without its signature."""
    at = wire.rindex(b"\x04main\x00\x00\xfa\x00\xff")
    count = int.from_bytes(wire[10:12], "big") - 1
    return wire[:10] + count.to_bytes(2, "big") + wire[12:at]


@pytest.mark.parametrize("which", ["first", "last", "all"])
def test_a_transfer_without_signatures(long_zone, which):
    assert long_zone.run("specs", ZONE).code == 0
    n = len(long_zone.relay.messages)
    seen = []

    def answer(query, wire):
        seen.append(wire)
        k = len(seen) - 1
        if which == "all" or k == (0 if which == "first" else n - 1):
            return strip(wire)
        return wire

    long_zone.relay.on_answer = answer
    got = long_zone.run("specs", ZONE)
    assert got.code == 1 and got["specs"] == []
    assert "TSIG: it is not signed" in got.text, got.text


def test_a_transfer_that_is_not_granted(tmp_path, tools):
    with start(DynamicBind, tmp_path,
               zone_options="allow-transfer { none; }; ") as server, \
            tool.Rfc2136(server, tools) as t:
        got = t.run("specs", ZONE)
        assert got.err == "auth"
        assert "REFUSED" in got.text and "discover = names" in got.text
