"""The resolver against BIND, Knot and NSD, through tests/tools/lookup; what
real servers do not do comes from a scripted one."""

import json
import os
import socket
import struct
import subprocess
import threading

import dns.flags
import dns.message
import dns.name
import dns.opcode
import dns.rcode
import dns.rdatatype
import dns.rrset
import pytest

import net
import servers

HEAD = """$ORIGIN example.test.
$TTL 30
@ IN SOA ns1 ops 7 60 60 60 30
@ IN NS ns1
ns1 IN A 127.0.0.1
"""

ZONE = HEAD + r"""
two IN TXT "a" "" "b\000\255" "c"
_failover.two IN TXT "a" "" "b\000\255" "c"
_failover.several 60 IN TXT "one"
_failover.several 60 IN TXT "two" "three"
_failover.alias IN CNAME _failover.several
_failover.Upper IN TXT "case"
*.wild IN TXT "from the wildcard"
child IN NS ns.child
ns.child IN A 127.0.0.1
addr IN A 192.0.2.1
addr IN A 192.0.2.2
addr IN AAAA 2001:db8::1
"""

ALL = [servers.Bind, servers.Nsd, servers.Knot]


def long_txt(owner, size):
    """A TXT record of size bytes of content, in strings of 255."""
    text = "".join(chr(97 + i % 26) for i in range(size))
    parts = " ".join(
        f'"{text[i:i + 255]}"' for i in range(0, size, 255)
    )
    return f"{owner} IN TXT ( {parts} )\n", text.encode()


@pytest.fixture
def lookup(tools):
    """Runs the tool; returns its one line of JSON."""
    def run(*args, env=None, timeout_ms=500):
        done = subprocess.run(
            [str(tools / "lookup"), "-t", str(timeout_ms),
             *[str(a) for a in args]],
            capture_output=True, text=True, timeout=90,
            env=dict(os.environ, **(env or {})),
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)
    return run


def texts(answer):
    """Every TXT record as its joined bytes."""
    return sorted(
        b"".join(bytes.fromhex(s) for s in record)
        for record in answer["txts"]
    )


def need(kind):
    if servers.find(kind.program) is None:
        pytest.skip(f"{kind.program} is not installed")


@pytest.fixture(scope="module", params=ALL, ids=lambda k: k.__name__)
def ns(request, tmp_path_factory):
    """One server of each kind with ZONE and the long records."""
    import shutil
    import tempfile
    need(request.param)
    directory = tempfile.mkdtemp(prefix="df-")
    zone = ZONE + long_txt("_failover.k1", 1000)[0]
    zone += long_txt("_failover.k2", 2000)[0]
    zone += long_txt("_failover.k60", 60000)[0]
    try:
        with request.param(directory, {"example.test": zone}) as server:
            yield server
    finally:
        shutil.rmtree(directory, ignore_errors=True)


# --- found, gone ------------------------------------------------------------


def test_strings_are_kept_as_they_are(ns, lookup):
    a = lookup("ask", ns.server, "two.example.test", "TXT")
    assert a["outcome"] == "found"
    assert a["txts"] == [["61", "", "6200ff", "63"]]
    assert a["server"] == ns.server


def test_several_records_and_ttl(ns, lookup):
    a = lookup("txt", ns.server, "several.example.test")
    assert a["outcome"] == "found"
    assert texts(a) == [b"one", b"twothree"]
    assert a["ttl_s"] == 60
    assert a["owner"] == "several.example.test."


def test_case_does_not_matter(ns, lookup):
    a = lookup("txt", ns.server, "uPPer.Example.TEST.")
    assert a["outcome"] == "found"
    assert a["owner"] == "upper.example.test."
    assert texts(a) == [b"case"]


@pytest.mark.parametrize("owner,size", [
    ("k1", 1000), ("k2", 2000), ("k60", 60000),
])
def test_long_txt(ns, lookup, owner, size):
    a = lookup("txt", ns.server, f"{owner}.example.test")
    assert a["outcome"] == "found", a
    assert texts(a) == [long_txt(owner, size)[1]]


def test_truncated_over_udp_is_asked_over_tcp(ns, lookup):
    """The server does truncate the answer that we get whole."""
    q = ns.query("_failover.k2.example.test", "TXT", use_edns=0, payload=1232)
    assert q.flags & dns.flags.TC
    a = lookup("txt", ns.server, "k2.example.test")
    assert texts(a) == [long_txt("k2", 2000)[1]]


def test_nxdomain_and_nodata_are_gone(ns, lookup):
    a = lookup("txt", ns.server, "nothing.example.test")
    assert a["outcome"] == "gone"
    assert "NXDOMAIN" in a["error"] and ns.server in a["error"]
    a = lookup("ask", ns.server, "addr.example.test", "TXT")
    assert a["outcome"] == "gone"
    assert a["error"] == f"no TXT at addr.example.test., says {ns.server}"
    assert a["code"] == "notFound"


def test_cname_is_not_followed(ns, lookup):
    a = lookup("txt", ns.server, "alias.example.test")
    assert a["outcome"] == "gone"
    assert "CNAME" in a["error"]
    assert a["txts"] == []


def test_wildcard_counts_as_it_is(ns, lookup):
    a = lookup("ask", ns.server, "x.wild.example.test", "TXT")
    assert a["outcome"] == "found"
    assert texts(a) == [b"from the wildcard"]


def test_addresses_and_serial(ns, lookup):
    a = lookup("ask", ns.server, "addr.example.test", "A")
    assert sorted(a["addrs"]) == ["192.0.2.1:0", "192.0.2.2:0"]
    assert a["addrs_ttl_s"] == 30
    a = lookup("ask", ns.server, "addr.example.test", "AAAA")
    assert a["addrs"] == ["[2001:db8::1]:0"]
    a = lookup("ask", ns.server, "example.test", "SOA")
    assert a["serial"] == 7


# --- failed -------------------------------------------------------------------


def test_referral_fails(ns, lookup):
    a = lookup("txt", ns.server, "www.child.example.test")
    assert a["outcome"] == "failed"
    assert "not authoritative" in a["error"]
    assert "other name servers" in a["error"]


def test_refused_is_named(ns, lookup):
    a = lookup("txt", ns.server, "www.elsewhere.test")
    assert a["outcome"] == "failed"
    assert a["error"] == (
        f"{ns.server} says REFUSED for _failover.www.elsewhere.test."
    )


@pytest.mark.parametrize("kind", [servers.Bind, servers.Nsd],
                         ids=lambda k: k.__name__)
def test_servfail_is_named(kind, lookup, short_dir):
    need(kind)
    with kind(short_dir, {"example.test": ZONE, "broken.test": "nonsense\n"},
              broken={"broken.test"}) as server:
        a = lookup("txt", server.server, "www.broken.test")
    assert a["outcome"] == "failed"
    assert a["error"] == (
        f"{server.server} says SERVFAIL for _failover.www.broken.test."
    )


def test_server_gone(lookup):
    server = f"127.0.0.1:{net.free_port()}"
    a = lookup("txt", server, "www.example.test")
    assert a["outcome"] == "failed"
    assert a["error"] == f"{server} refused the connection"
    assert a["code"] == "retry"


def test_next_server_is_asked(ns, lookup):
    dead = f"127.0.0.1:{net.free_port()}"
    a = lookup("txt", dead, ns.server, "several.example.test")
    assert a["outcome"] == "found"
    assert a["server"] == ns.server
    a = lookup("txt", dead, ns.server, "several.elsewhere.test")
    assert a["outcome"] == "failed"
    assert f"{dead} refused the connection; {ns.server} says REFUSED" in a["error"]


def test_first_answer_decides(ns, lookup):
    dead = f"127.0.0.1:{net.free_port()}"
    a = lookup("txt", ns.server, dead, "nothing.example.test")
    assert a["outcome"] == "gone"


def test_bad_names_fail_later(ns, lookup):
    for name in ("a..b", "a\\.b", "x" * 64 + ".test"):
        a = lookup("ask", ns.server, name, "TXT")
        assert (a["outcome"], a["code"]) == ("failed", "input")
    long = ".".join(["x" * 61] * 4)
    a = lookup("txt", ns.server, long)
    assert (a["outcome"], a["code"]) == ("failed", "input")


def test_environment_has_no_say(ns, lookup):
    """T8: neither a search list nor options from outside."""
    env = {"LOCALDOMAIN": "wild.example.test corp.test",
           "RES_OPTIONS": "ndots:5 retrans:1 retry:1 rotate",
           "HOSTALIASES": "/dev/null"}
    a = lookup("txt", ns.server, "x", env=env)
    assert a["outcome"] == "failed" and "REFUSED for _failover.x." in a["error"]
    a = lookup("txt", ns.server, "several.example.test", env=env)
    assert a["outcome"] == "found"


# --- cases T1, T3 and T8 ------------------------------------------------------


def case_zone(shared, name):
    return (shared / "cases" / "files" / "dns" / name).read_text()


def test_t1_split(lookup, shared, short_dir):
    need(servers.Bind)
    zone = case_zone(shared, "t1-split.zone")
    with servers.Bind(short_dir, {"example.test": zone}) as server:
        a = lookup("txt", server.server, "www.example.test")
    assert [len(s) // 2 for s in a["txts"][0]].count(0) == 1
    spec = json.loads(texts(a)[0])
    assert spec["checks"][0]["type"] == "tcp"
    assert spec["checks"][0]["port"] == 8080


def test_t3_many(lookup, shared, short_dir):
    need(servers.Bind)
    zone = case_zone(shared, "t3-many.zone")
    with servers.Bind(short_dir, {"example.test": zone}) as server:
        a = lookup("txt", server.server, "www.example.test")
        with UdpOnly(server) as relay:
            b = lookup("txt", relay.server, "www.example.test")
    assert a["outcome"] == "found"
    assert len(texts(a)) == 9
    specs = [json.loads(t) for t in texts(a) if t.startswith(b"{")]
    assert len(specs) == 7
    assert len({json.dumps(s, sort_keys=True) for s in specs}) == 6
    assert b["outcome"] == "failed"
    assert b["error"] == f"{relay.server} refused the connection over TCP"


def test_t8_search_list(lookup, shared, short_dir):
    need(servers.Bind)
    zones = {"corp.test": case_zone(shared, "t8-corp.zone"),
             "example.test": HEAD}
    env = {"LOCALDOMAIN": "corp.test", "RES_OPTIONS": "ndots:5"}
    with servers.Bind(short_dir, zones) as server:
        a = lookup("txt", server.server, "www.example.test", env=env)
        b = lookup("lookup", server.server, "gone.example.test", "A", env=env)
        with Fake(lambda q, tcp: None) as fake:
            lookup("lookup", fake.server, "gone.example.test", "A", env=env,
                   timeout_ms=50)
    assert a["outcome"] == "gone" and "NXDOMAIN" in a["error"]
    assert b["outcome"] == "gone" and "NXDOMAIN" in b["error"]
    asked = {q.question[0].name.to_text() for q, _ in fake.seen}
    assert asked == {"gone.example.test."}


# --- a scripted server ----------------------------------------------------------


class Fake:
    """answer(query, tcp) → message, bytes, a list of both, or None (silence).
    seen: (query, tcp) of every question. tcp=False: its TCP port is closed.
    close_each: closes a TCP connection after one answer."""

    def __init__(self, answer, tcp=True, close_each=False):
        self.answer = answer
        self.seen = []
        self.with_tcp = tcp
        self.close_each = close_each
        self._stop = threading.Event()

    def __enter__(self):
        self.port = net.free_port()
        self._udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._udp.bind(("127.0.0.1", self.port))
        self._udp.settimeout(0.05)
        self._threads = [threading.Thread(target=self._serve_udp)]
        if self.with_tcp:
            self._tcp = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
            self._tcp.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self._tcp.bind(("127.0.0.1", self.port))
            self._tcp.listen(64)
            self._tcp.settimeout(0.05)
            self._threads.append(threading.Thread(target=self._serve_tcp))
        for t in self._threads:
            t.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        for t in self._threads:
            t.join(10)
        self._udp.close()
        if self.with_tcp:
            self._tcp.close()

    @property
    def server(self):
        return f"127.0.0.1:{self.port}"

    def _answers(self, wire, tcp):
        query = dns.message.from_wire(wire)
        self.seen.append((query, tcp))
        out = self.answer(query, tcp)
        if out is None:
            return []
        out = out if isinstance(out, list) else [out]
        return [o if isinstance(o, bytes) else o.to_wire(max_size=65535)
                for o in out]

    def _serve_udp(self):
        while not self._stop.is_set():
            try:
                wire, peer = self._udp.recvfrom(65535)
            except (TimeoutError, socket.timeout):
                continue
            for out in self._answers(wire, False):
                self._udp.sendto(out, peer)

    def _serve_tcp(self):
        while not self._stop.is_set():
            try:
                c, _ = self._tcp.accept()
            except (TimeoutError, socket.timeout):
                continue
            with c:
                c.settimeout(2)
                try:
                    self._one_connection(c)
                except OSError:
                    pass

    def _one_connection(self, c):
        while not self._stop.is_set():
            head = self._read(c, 2)
            if head is None:
                return
            wire = self._read(c, struct.unpack("!H", head)[0])
            if wire is None:
                return
            for out in self._answers(wire, True):
                c.sendall(struct.pack("!H", len(out)) + out)
            if self.close_each:
                return

    def _read(self, c, n):
        data = b""
        while len(data) < n:
            try:
                more = c.recv(n - len(data))
            except (TimeoutError, socket.timeout):
                return None
            if not more:
                return None
            data += more
        return data


class UdpOnly(Fake):
    """Passes UDP on to a real server; its TCP port is closed."""

    def __init__(self, server):
        super().__init__(self._pass_on, tcp=False)
        self.behind = server

    def _pass_on(self, query, _tcp):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.settimeout(5)
            s.sendto(query.to_wire(), (self.behind.addr, self.behind.port))
            return s.recv(65535)


def reply(query, *records, aa=True, rcode=dns.rcode.NOERROR, soa=False,
          edns=True, question=None):
    r = dns.message.make_response(query)
    if aa:
        r.flags |= dns.flags.AA
    r.set_rcode(rcode)
    for owner, rdtype, *data in records:
        r.answer.append(dns.rrset.from_text(owner, 30, "IN", rdtype, *data))
    if soa:
        r.authority.append(dns.rrset.from_text(
            "example.test.", 30, "IN", "SOA", "ns1.example.test. "
            "ops.example.test. 1 60 60 60 30"))
    if not edns:
        r.use_edns(False)
    if question:
        r.question = [dns.rrset.RRset(dns.name.from_text(question), 1, 16)]
    return r


TXT = ("_failover.www.example.test.", "TXT", '"spec"')


def ask_fake(lookup, answer, how=None, **fake):
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
        return reply(q, TXT)
    a, f = ask_fake(lookup, answer)
    assert a["outcome"] == "found", a
    assert texts(a) == [b"spec"]
    with Fake(answer) as f:
        a = lookup("many", f.server, 300, "_failover.www.example.test%u",
                   "TXT")
    assert (a["found"], a["failed"]) == (0, 300) or a["found"] == 300, a


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


def test_find_servers(lookup, short_dir):
    need(servers.Bind)
    zone = """$ORIGIN example.test.
$TTL 30
@ IN SOA ns1 ops 7 60 60 60 30
@ IN NS ns2
@ IN NS NS1
@ IN NS gone.other.test.
@ IN NS ns3
ns1 IN A 127.0.0.9
ns1 IN A 127.0.0.3
ns1 IN AAAA 2001:db8::53
ns2 IN A 127.0.0.2
ns3 IN A 127.0.0.3
www IN A 192.0.2.1
"""
    with servers.Bind(short_dir, {"example.test": zone}) as server:
        for _ in range(3):
            a = lookup("servers", server.server, "Example.Test")
            assert a["error"] == ""
            assert a["apex"] == "example.test."
            assert a["ns"] == [f"{n}.test." for n in (
                "ns1.example", "ns2.example", "ns3.example", "gone.other")]
            assert a["servers"] == [
                "127.0.0.3:53", "127.0.0.9:53", "[2001:db8::53]:53",
                "127.0.0.2:53",
            ]
        b = lookup("servers", server.server, "www.example.test")
        c = lookup("servers", server.server, "nope.example.test")
        d = lookup("servers", server.server, "elsewhere.test")
    assert b["code"] == "notFound" and b["servers"] == []
    assert c["code"] == "notFound" and "NXDOMAIN" in c["error"]
    assert d["code"] == "retry" and "REFUSED" in d["error"]


def test_find_servers_without_any_address(lookup, short_dir):
    need(servers.Nsd)
    zone = "$ORIGIN e.test.\n$TTL 30\n@ SOA ns ops 1 1 1 1 1\n@ NS ns.o.test.\n"
    with servers.Nsd(short_dir, {"e.test": zone}) as server:
        a = lookup("servers", server.server, "e.test")
    assert a["code"] == "retry"
    assert "none of the 1 name servers of e.test. has an address" in a["error"]
    assert "REFUSED" in a["error"]


# --- zone transfers ----------------------------------------------------------------

AXFR_ZONE = HEAD + """
_failover IN TXT "apex"
_failover.www IN TXT "a"
_failover.www IN TXT "b"
_failover.WWW2 IN TXT "x"
_failover.addr IN CNAME www
failover.no IN TXT "x"
child IN NS ns.child
ns.child IN A 127.0.0.1
x_failover.no IN TXT "x"
_failover.a.b IN TXT "x"
_failover.b IN TXT "x"
"""


@pytest.mark.parametrize("kind", ALL, ids=lambda k: k.__name__)
def test_axfr(kind, lookup, short_dir):
    need(kind)
    with kind(short_dir, {"example.test": AXFR_ZONE}, axfr=True) as server:
        a = lookup("axfr", server.server, "Example.test")
    assert a["error"] == ""
    assert a["serial"] == 7
    assert a["owners"] == [
        "example.test.", "b.example.test.", "a.b.example.test.",
        "www.example.test.", "www2.example.test.",
    ]


@pytest.mark.parametrize("kind", ALL, ids=lambda k: k.__name__)
def test_axfr_refused(kind, lookup, short_dir):
    need(kind)
    with kind(short_dir / "a", {"example.test": AXFR_ZONE}) as server:
        a = lookup("axfr", server.server, "example.test")
        assert a["code"] == "auth", a
        assert "does not grant the zone transfer of example.test." in a["error"]
        assert a["owners"] == []
        with kind(short_dir / "b", {"example.test": AXFR_ZONE},
                  axfr=True) as second:
            b = lookup("axfr", server.server, second.server, "example.test")
    assert b["error"] == "" and len(b["owners"]) == 5


@pytest.mark.parametrize("kind", ALL, ids=lambda k: k.__name__)
def test_axfr_of_20000_names(kind, lookup, short_dir):
    need(kind)
    zone = HEAD + "".join(
        f'n{i} IN A 192.0.2.1\n_failover.n{i} IN TXT "{"y" * 200}"\n'
        for i in range(20000)
    )
    with kind(short_dir, {"example.test": zone}, axfr=True) as server:
        a = lookup("axfr", server.server, "example.test", timeout_ms=2000)
    assert a["error"] == ""
    assert set(a["owners"]) == {f"n{i}.example.test." for i in range(20000)}
    assert len(a["owners"]) == 20000


def soa(serial):
    return ("example.test.", "SOA",
            f"ns1.example.test. ops.example.test. {serial} 60 60 60 30")


def transfer(*messages):
    """Each message: a list of (owner, type, data); sent over TCP."""
    def answer(q, tcp):
        assert tcp
        out = []
        for records in messages:
            r = dns.message.make_response(q)
            r.flags |= dns.flags.AA
            r.answer = [dns.rrset.from_text(o, 30, "IN", t, d)
                        for o, t, d in records]
            out.append(r)
        return out
    return answer


def axfr_fake(lookup, answer, **how):
    with Fake(answer, **how) as f:
        return lookup("axfr", f.server, "example.test", timeout_ms=200), f


def test_axfr_in_pieces(lookup):
    a, _ = axfr_fake(lookup, transfer(
        [soa(5)], [TXT], [("child.example.test.", "NS", "ns.child.test.")],
        [("_failover.x.child.example.test.", "TXT", '"glue"')],
        [("_failover.child.example.test.", "TXT", '"beside the cut"')],
        [("_failover.other.test.", "TXT", '"out of zone"')],
        [soa(5)]))
    assert a["error"] == ""
    # _failover.child is beside the cut at child, not below it.
    assert a["owners"] == ["child.example.test.", "www.example.test."] or \
        a["owners"] == ["www.example.test."]


def test_axfr_serials_differ(lookup):
    a, _ = axfr_fake(lookup, transfer([soa(5), TXT], [soa(6)]))
    assert a["code"] == "retry" and a["owners"] == []
    assert "serial 5, then 6" in a["error"]


def test_axfr_cut_off(lookup):
    a, f = axfr_fake(lookup, transfer([soa(5), TXT]), close_each=True)
    assert a["code"] == "retry"
    assert "closed the connection before the end" in a["error"]
    a, f = axfr_fake(lookup, transfer([soa(5), TXT]))
    assert a["code"] == "retry"
    assert a["error"] == f"{f.server} timed out over TCP"


def test_axfr_strange_messages(lookup):
    a, _ = axfr_fake(lookup, transfer([TXT], [soa(5)]))
    assert "does not begin with its SOA" in a["error"]
    a, _ = axfr_fake(lookup, transfer([]))
    assert "empty transfer" in a["error"]
    a, _ = axfr_fake(lookup, lambda q, tcp: reply(q, TXT).to_wire()[:-5])
    assert "cannot be decoded" in a["error"]
    a, _ = axfr_fake(lookup, lambda q, tcp: b"\0\0" + reply(q).to_wire()[2:])
    assert "another query" in a["error"] or "empty" in a["error"]
    a, _ = axfr_fake(lookup, lambda q, tcp: reply(
        q, rcode=dns.rcode.SERVFAIL))
    assert a["code"] == "retry" and "says SERVFAIL" in a["error"]


def test_axfr_nobody_there(lookup):
    server = f"127.0.0.1:{net.free_port()}"
    a = lookup("axfr", server, "example.test")
    assert a["code"] == "retry"
    assert a["error"] == f"{server} refused the connection over TCP"


# --- many at once ----------------------------------------------------------------


@pytest.mark.parametrize("kind", ALL, ids=lambda k: k.__name__)
def test_2000_lookups_without_loss(kind, lookup, short_dir):
    """Answers of about 1,100 bytes: at more than 100 in flight a receive
    buffer overflows. One try: a lost answer would show."""
    need(kind)
    zone = HEAD + "".join(
        long_txt(f"n{i}", 1000)[0] for i in range(2000)
    )
    with kind(short_dir, {"example.test": zone}) as server:
        a = lookup("-n", 1, "many", server.server, 2000, "n%u.example.test",
                   "TXT", timeout_ms=5000)
    assert (a["found"], a["failed"]) == (2000, 0), a


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
