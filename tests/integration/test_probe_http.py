"""The http and https probes: good, refusing, hanging, cut off and lying
servers, redirects, and nginx."""

import json
import ssl

import pytest

import net
import probe_servers
from probe_help import (Authority, Probe, Server, hang, listens, program,
                        read_request, running, says, sends)

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


@pytest.fixture
def probe(tools):
    return Probe(tools)


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("ca"))


@pytest.mark.parametrize("reply", [
    OK,
    b"HTTP/1.0 200 OK\r\n\r\nuntil the end",
    b"HTTP/1.1 204 No Content\r\n\r\n",
    b"HTTP/1.1 304 Not Modified\r\nContent-Length: 500\r\n\r\n",
    b"HTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\n\r\n"
    b"2;x=y\r\nok\r\n0\r\nTrailer: x\r\n\r\n",
    b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: x\r\n\r\n" + OK,
    b"HTTP/1.1 200\nContent-Length: 0\n\n",
    b"HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: 2000000\r\n\r\n" + b"x" * 300000,
], ids=lambda reply: reply[:24].decode())
def test_good_replies(probe, reply):
    with Server(sends(reply, read=True)) as s:
        assert says(probe("http", s.target)) == ("ok", "fine")


@pytest.mark.parametrize("reply, reason, text", [
    (b"HTTP/1.1 503 Unavailable\r\nContent-Length: 9\r\n\r\n", "status",
     "status 503"),
    (b"HTTP/1.1 404 No\r\n\r\n", "status", "status 404"),
    (b"SSH-2.0-demo_1\r\n", "protocol", "not HTTP"),
    (b"<html>bad request</html>\n", "protocol", "not HTTP"),
    (b"moom\n", "protocol", "not HTTP"),
    (b"HTTP/1.1 20", "protocol", "closed early"),
    (b"", "protocol", "closed early"),
    (b"HTTP/2.0 200 OK\r\n\r\n", "protocol", "not HTTP"),
    (b"HTTP/1.1 2000 OK\r\n\r\n", "protocol", "not HTTP"),
    (b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nok", "protocol",
     "closed early"),
    (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok",
     "protocol", "two different"),
    (b"HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\nok", "protocol", "bad"),
    (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nok", "protocol",
     "unknown"),
    (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
     "protocol", "chunk size"),
    (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n",
     "protocol", "closed early"),
    (b"HTTP/1.1 200 OK\r\nX: " + b"x" * 20000 + b"\r\n\r\n", "protocol",
     "16 KiB"),
    (b"HTTP/1.1 100 Continue\r\n\r\n" * 20 + OK, "protocol", "1xx"),
], ids=lambda v: repr(v[:24]))
def test_bad_replies(probe, reply, reason, text):
    with Server(sends(reply, read=True)) as s:
        got = probe("http", s.target)
    assert says(got) == ("fail", reason)
    assert text in got["text"]
    assert got["elapsed_us"] < 2000000 and got["cpu_us"] < 50000


def test_not_http_and_stays_open(probe):
    with Server(sends(b"SSH-2.0-demo_1\r\n", then="hang")) as s:
        got = probe("http", s.target, timeout_ms=5000)
    assert says(got) == ("fail", "protocol")
    assert got["elapsed_us"] < 2000000 and got["cpu_us"] < 50000


def test_files_of_the_cases(probe, shared):
    files = sorted((shared / "cases" / "files" / "probe").glob("p3-*.raw"))
    assert files
    for f in files:
        for read in (False, True):
            with Server(sends(f.read_bytes(), read=read)) as s:
                got = probe("http", s.target)
            assert (got["verdict"] == "ok") == (f.name == "p3-good.raw")
            assert got["cpu_us"] < 50000


def test_hanging_says_where(probe):
    with Server(lambda c, _: hang(c)) as s:
        got = probe("http", s.target, timeout_ms=200)
    assert says(got) == ("fail", "timeout")
    assert "no reply" in got["text"]


def test_slow_drip_ends_at_the_timeout(probe):
    def drip(c, _):
        read_request(c)
        c.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
        c.settimeout(0.02)
        while True:
            c.sendall(b"x")
            try:
                if c.recv(1) == b"":
                    return
            except (TimeoutError, OSError) as e:
                if not isinstance(e, (TimeoutError,)):
                    return
    with Server(drip) as s:
        got = probe("http", s.target, timeout_ms=400)
    assert says(got) == ("fail", "timeout")
    assert 400000 <= got["elapsed_us"] < 3000000
    assert "body" in got["text"]


def test_refused(probe):
    port = net.free_port()
    assert says(probe("http", f"127.0.0.1:{port}")) == ("fail", "connect")


def test_what_is_asked(probe):
    seen = []

    def handler(c, _):
        seen.append(read_request(c))
        c.sendall(OK)
    with Server(handler) as s:
        probe("http", s.target, "host=www.example.org.", "path=/a?b=c",
              "header=X-Test: v", "method=HEAD")
        probe("http", s.target)
        probe("http", s.target, "host=h", "method=POST", "send=data")
        bad = [probe("http", s.target, "host=h", "path=/a b"),
               probe("http", s.target, "host=h", "path=/a\r\nX: y"),
               probe("http", s.target, "host=h", "header=X:a\nb")]
    assert [says(b) for b in bad] == [("local", "unable")] * 3
    assert len(seen) == 3
    assert seen[0].startswith("HEAD /a?b=c HTTP/1.1\r\n")
    assert f"\r\nHost: www.example.org:{s.port}\r\n" in seen[0]
    assert "\r\nX-Test:  v\r\n" in seen[0]
    assert f"\r\nHost: 127.0.0.1:{s.port}\r\n" in seen[1]
    assert "\r\nContent-Length: 4\r\n" in seen[2]


def test_ipv6(probe):
    with Server(sends(OK, read=True), addr="::1") as s:
        assert says(probe("http", s.target)) == ("ok", "fine")


BODY = json.dumps({"status": "ok", "n": 5, "a": [1, {"b/c": True}]}).encode()
GOOD = (b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(BODY)) + BODY


@pytest.mark.parametrize("word, verdict", [
    ('body="status"', "ok"),
    ("body=nothing", "fail"),
    (r'body_match="n": \d,', "ok"),
    ("body_match=^x", "fail"),
    ("body_match=(", "local"),
    ('json=/status:"ok"', "ok"),
    ('json=/status:"up"', "fail"),
    ("json=/n:5", "ok"),
    ("json=/a/1/b~1c:true", "ok"),
    ("json=/a/01:1", "fail"),
    ("json=/none:1", "fail"),
    ("status=200", "ok"),
    ("status=500-599", "fail"),
])
def test_content(probe, word, verdict):
    with Server(sends(GOOD, read=True)) as s:
        got = probe("http", s.target, word)
    assert got["verdict"] == verdict, got


def test_an_expression_that_explodes_is_nobodys_fault(probe):
    body = b"a" * 5000
    reply = b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n" + body
    with Server(sends(reply, read=True)) as s:
        got = probe("http", s.target, "body_match=^(a+)+$x", timeout_ms=5000)
    assert says(got) == ("local", "unable")
    assert got["cpu_us"] < 500000


# -- redirects -------------------------------------------------------------------

def redirect(to, status=302):
    return (f"HTTP/1.1 {status} Found\r\nLocation: {to}\r\n"
            "Content-Length: 0\r\n\r\n").encode()


class Names:
    """A TLS server that has a certificate for each name and remembers what
    it was asked for."""

    def __init__(self, authority, names):
        self.seen = []
        contexts = {n: authority.context([n]) for n in names}
        self.tls = contexts[names[0]]

        def choose(sock, name, _):
            self.seen.append(name)
            if name in contexts:
                sock.context = contexts[name]
        for c in contexts.values():
            c.sni_callback = choose


def test_redirect_to_another_host_over_tls(probe, authority):
    a = Names(authority, ["a.example.test"])
    b = Names(authority, ["x.example.test", "b.example.test"])
    asked = []

    def second(c, _):
        asked.append(read_request(c))
        c.sendall(OK)
    with Server(second, tls=b.tls) as sb:
        to = f"https://b.example.test:{sb.port}/ok"
        with Server(sends(redirect(to), read=True), tls=a.tls) as sa:
            words = ["host=a.example.test", f"ca={authority.ca}",
                     "resolve=b.example.test:127.0.0.1",
                     "header=Authorization:secret", "header=X-Other:yes"]
            off = probe("https", sa.target, *words)
            off_strict = probe("https", sa.target, *words, "status=200-299")
            on = probe("https", sa.target, *words, "follow_redirects=1",
                       "allow=any")
            forbidden = probe("https", sa.target, *words[:2],
                              "follow_redirects=1",
                              "resolve=b.example.test:10.0.0.1")
            unknown = probe("https", sa.target, *words[:2],
                            "follow_redirects=1")
    assert says(off) == ("ok", "fine")
    assert says(off_strict) == ("fail", "status")
    assert says(on) == ("ok", "fine")
    assert says(forbidden) == ("local", "refused")
    assert says(unknown) == ("fail", "name")
    assert "no such name" in unknown["text"]
    assert set(a.seen) == {"a.example.test"}
    assert set(b.seen) == {"b.example.test"}
    assert f"\r\nHost: b.example.test:{sb.port}\r\n" in asked[0]
    assert "secret" not in asked[0] and "X-Other: yes" in asked[0]


def test_ring_of_redirects(probe):
    with Server(sends(redirect("/again"), read=True)) as s:
        got = probe("http", s.target, "host=h", follow_redirects=4)
        assert s.count == 5
    assert says(got) == ("fail", "protocol")


@pytest.mark.parametrize("to, verdict", [
    ("ftp://127.0.0.1/x", "fail"),
    ("file:///etc/passwd", "fail"),
    ("gopher://127.0.0.1/", "fail"),
    ("http://user:pw@127.0.0.1/", "fail"),
    ("http://10.0.0.1/", "local"),
    ("http://169.254.169.254/latest", "local"),
    ("http://[::ffff:10.0.0.1]/", "local"),
    ("http://0xa.1/", "local"),
    ("//10.0.0.1/x", "local"),
])
def test_redirects_that_are_not_followed(probe, to, verdict):
    with Server(sends(redirect(to), read=True)) as s:
        got = probe("http", s.target, "host=h", "follow_redirects=3")
        assert s.count == 1
    assert got["verdict"] == verdict, got


def test_redirect_to_the_same_host_stays_at_the_target(probe, authority):
    """http://www → https://www: the record's own address."""
    seen = []

    def second(c, _):
        seen.append(read_request(c))
        c.sendall(OK)
    tls = authority.context(["www.example.test"])
    with Server(second, tls=tls, addr="127.0.0.9") as s2:
        to = f"https://www.example.test:{s2.port}/new?x=1"
        with Server(sends(redirect(to), read=True), addr="127.0.0.9") as s1:
            got = probe("http", s1.target, "host=www.example.test",
                        "follow_redirects=1", f"ca={authority.ca}")
    assert says(got) == ("ok", "fine"), got
    assert seen[0].startswith("GET /new?x=1 HTTP/1.1")


def test_redirect_tries_the_addresses_of_a_name(probe):
    """A dead address first, the good one behind 39 others."""
    with Server(sends(OK, read=True)) as s2:
        with Server(sends(redirect(f"http://many.test:{s2.port}/"),
                          read=True)) as s1:
            addrs = ["::1"] + [f"127.0.1.{i}" for i in range(1, 39)]
            got = probe("http", s1.target, "host=h", "follow_redirects=1",
                        "allow=any",
                        "resolve=many.test:" + ",".join(addrs + ["127.0.0.1"]))
    assert says(got) == ("ok", "fine"), got


# -- TLS -------------------------------------------------------------------------

def test_certificates(probe, authority, tmp_path):
    other = Authority(tmp_path)
    good = dict(host="www.example.test", ca=authority.ca)

    def ask(context, **words):
        with Server(sends(OK, read=True), tls=context) as s:
            return probe("https", s.target, **{**good, **words})
    fine = authority.context(["www.example.test", "127.0.0.1"])
    assert says(ask(fine)) == ("ok", "fine")
    assert says(ask(fine, host="127.0.0.1")) == ("ok", "fine")
    assert says(ask(fine, host="h", server_name="www.example.test")) == (
        "ok", "fine")
    wrong_name = ask(fine, host="other.example.test")
    assert says(wrong_name) == ("fail", "tls")
    assert "ostname mismatch" in wrong_name["text"]
    assert says(ask(fine, host="127.0.0.2")) == ("fail", "tls")
    stranger = ask(other.context(["www.example.test"]))
    assert says(stranger) == ("fail", "tls")
    assert says(ask(other.context(["www.example.test"]), verify="no")) == (
        "ok", "fine")
    assert says(ask(fine, min_cert_days=5)) == ("ok", "fine")
    soon = ask(fine, min_cert_days=25)
    assert says(soon) == ("fail", "tls") and "days" in soon["text"]
    expired = authority.context(["www.example.test"],
                                start="20200101000000Z", end="20210101000000Z")
    got = ask(expired)
    assert says(got) == ("fail", "tls") and "expired" in got["text"]
    assert says(ask(expired, clock="wrong")) == ("local", "clock")
    assert says(ask(other.context(["www.example.test"]), clock="wrong")) == (
        "fail", "tls")


def test_no_tls_there(probe):
    with Server(sends(b"HTTP/1.1 400 Bad\r\n\r\n", then="hang")) as s:
        got = probe("https", s.target, "host=h", "verify=no")
    assert says(got) == ("fail", "tls")
    with Server(lambda c, _: hang(c)) as s:
        got = probe("https", s.target, "host=h", timeout_ms=200)
    assert says(got) == ("fail", "timeout")
    assert "handshake" in got["text"]
    with Server(lambda c, _: c.recv(10)) as s:
        assert says(probe("https", s.target, "host=h")) == ("fail", "tls")


def test_sessions_are_resumed_and_now_and_then_not(probe, authority):
    resumed = []

    def handler(c, _):
        read_request(c)
        resumed.append(c.session_reused)
        c.sendall(OK)
    context = authority.context(["www.example.test"])
    with Server(handler, tls=context) as s:
        rows = probe("https", s.target, host="www.example.test",
                     ca=authority.ca, repeat=9, full_every=4)
    assert [says(r) for r in rows] == [("ok", "fine")] * 9
    assert resumed == [False, True, True, True] * 2 + [False]


def test_a_new_instance_of_the_server(probe, authority):
    """Sessions of yesterday's process are no failure."""
    contexts = [authority.context(["www.example.test"]) for _ in range(2)]
    for c in contexts:
        c.maximum_version = ssl.TLSVersion.TLSv1_2

    class Changing:
        n = 0

        def wrap_socket(self, c, **how):
            self.n += 1
            return contexts[self.n // 3 % 2].wrap_socket(c, **how)
    with Server(sends(OK, read=True), tls=Changing()) as s:
        rows = probe("https", s.target, host="www.example.test",
                     ca=authority.ca, repeat=8)
    assert [says(r) for r in rows] == [("ok", "fine")] * 8


# -- nginx -----------------------------------------------------------------------

def test_nginx(probe, authority, tmp_path):
    with probe_servers.nginx(authority, tmp_path) as ports:
        at, tls_at = (f"127.0.0.1:{ports[k]}" for k in ("http", "https"))
        words = dict(host=probe_servers.HOST, ca=authority.ca)
        assert says(probe("http", at, path="/ok", body="fine")) == (
            "ok", "fine")
        assert says(probe("http", at, path="/big")) == ("ok", "fine")
        assert says(probe("http", at, path="/big", method="HEAD")) == (
            "ok", "fine")
        assert says(probe("http", at, path="/gone")) == ("fail", "status")
        assert says(probe("http", at, path="/moved", follow_redirects=1,
                          **words)) == ("ok", "fine")
        assert says(probe("https", tls_at, path="/ok", **words)) == (
            "ok", "fine")
        rows = probe("https", tls_at, path="/ok", repeat=5, **words)
        assert [says(r) for r in rows] == [("ok", "fine")] * 5
        assert says(probe("tls", tls_at, **words)) == ("ok", "fine")
        assert says(probe("https", at, path="/ok", **words)) == ("fail", "tls")
        assert says(probe("http", tls_at, path="/ok")) == ("fail", "status")
