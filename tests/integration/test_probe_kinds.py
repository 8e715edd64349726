"""udp, dns, greetings, gRPC and commands against real servers of Debian and
against servers that refuse, hang, are cut off, or lie."""

import contextlib
import os
import pathlib
import shutil
import socket
import struct
import sys
import threading
import time

import pytest

import net
import probe_servers
from probe_help import (Authority, Probe, Server, hang, listens, program,
                        running, says, sends)

FINE = ("ok", "fine")


@pytest.fixture
def probe(tools):
    return Probe(tools)


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("ca"))


@contextlib.contextmanager
def udp(answer):
    """A UDP server; answer(data) is a list of datagrams. yields address:port
    """
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind(("127.0.0.1", 0))
    s.settimeout(0.05)
    over = threading.Event()

    def serve():
        while not over.is_set():
            try:
                data, peer = s.recvfrom(65536)
            except (TimeoutError, OSError):
                continue
            for d in answer(data):
                s.sendto(d, peer)
    t = threading.Thread(target=serve, daemon=True)
    t.start()
    try:
        yield f"127.0.0.1:{s.getsockname()[1]}"
    finally:
        over.set()
        t.join(5)
        s.close()


# -- udp -----------------------------------------------------------------------

def test_udp(probe):
    with udp(lambda d: [b"re: " + d]) as at:
        assert says(probe("udp", at, send="hello")) == FINE
        assert says(probe("udp", at, send="hello", expect="re: hell")) == FINE
        assert says(probe("udp", at)) == FINE
        assert says(probe("udp", at, expect="other")) == ("fail", "content")
    with udp(lambda d: []) as at:
        assert says(probe("udp", at, timeout_ms=150)) == ("fail", "timeout")
    assert says(probe("udp", f"127.0.0.1:{net.free_port()}", send="x")) == (
        "fail", "connect")


# -- dns -----------------------------------------------------------------------

WORDS = dict(dns_name="www.example.org.", dns_type="A")


def flags(d, set_=0, clear=0, rcode=0, counts=None):
    head = bytearray(d)
    head[2] = (head[2] | 0x80 | set_) & ~clear
    head[3] = (head[3] & 0xf0) | rcode
    return bytes(head)


def answered(d, name=b"\xc0\x0c", rtype=1, data=b"\x7f\0\0\1"):
    """d with one answer in the place of its OPT."""
    q_end = d.index(b"\0", 12) + 5
    rr = name + struct.pack("!HHIH", rtype, 1, 60, len(data)) + data
    return (d[:2] + b"\x81\x00" + struct.pack("!HHHH", 1, 1, 0, 0)
            + d[12:q_end] + rr)


@pytest.mark.parametrize("how, result", [
    (lambda d: [answered(d)], FINE),
    (lambda d: [b"xx" + answered(d)[2:], answered(d)], FINE),
    (lambda d: [b"xx" + answered(d)[2:]], ("fail", "timeout")),
    (lambda d: [answered(d).replace(b"\3www", b"\3wxw")],
     ("fail", "timeout")),
    (lambda d: [d], ("fail", "timeout")),  # the question itself
    (lambda d: [answered(d, rtype=16, data=b"\1x")], ("fail", "content")),
    (lambda d: [flags(d)], ("fail", "content")),
    (lambda d: [flags(d, rcode=3)], ("fail", "status")),
    (lambda d: [flags(d, rcode=2)], ("fail", "status")),
    (lambda d: [d[:2] + b"\x81\x01" + bytes(8)], ("fail", "status")),
    (lambda d: [answered(d)[:-3]], ("fail", "protocol")),
    (lambda d: [d[:2] + b"garbage"], ("fail", "protocol")),
    (lambda d: [answered(d, name=b"\xc0\xff")], ("fail", "protocol")),
    (lambda d: [], ("fail", "timeout")),
], ids=range(14))
def test_dns_answers(probe, how, result):
    with udp(how) as at:
        got = probe("dns", at, timeout_ms=300, **WORDS)
    assert says(got) == result, got


def test_dns_cut_answer_is_asked_over_tcp(probe):
    def over_tcp(answer):
        def handler(c, _):
            size = struct.unpack("!H", c.recv(2))[0]
            d = c.recv(size)
            a = answer(d)
            c.sendall(a[:1])
            c.sendall(a[1:])
        return handler

    def framed(d):
        a = answered(d)
        return struct.pack("!H", len(a)) + a
    cases = [(framed, FINE),
             (lambda d: framed(d)[:9], ("fail", "protocol")),
             (lambda d: struct.pack("!H", len(d)) + flags(d, rcode=5),
              ("fail", "status"))]
    for answer, result in cases:
        with Server(over_tcp(answer)) as s:
            u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            u.bind(("127.0.0.1", s.port))
            u.settimeout(10)

            def cut():
                d, peer = u.recvfrom(4096)
                u.sendto(flags(d, set_=2), peer)
            t = threading.Thread(target=cut, daemon=True)
            t.start()
            got = probe("dns", s.target, **WORDS)
            t.join(10)
            u.close()
        assert says(got) == result, got


def test_dns_question_that_cannot_be_asked(probe):
    at = "127.0.0.1:53"
    assert says(probe("dns", at, dns_name="x.test", dns_type="NOSUCH")) == (
        "local", "unable")
    assert says(probe("dns", at, dns_name="a..b", dns_type="A")) == (
        "local", "unable")


def test_bind(probe, tmp_path):
    servers = pytest.importorskip("servers")
    if not servers.find("named"):
        pytest.skip("named is not installed")
    zone = tmp_path / "zone"
    zone.write_text(
        "$TTL 60\n@ SOA ns.example.org. x.example.org. 1 60 60 60 60\n"
        "@ NS ns\nns A 127.0.0.1\nwww A 192.0.2.1\nalias CNAME www\n"
        + "".join(f'big TXT "{i:03d}{"x" * 200}"\n' for i in range(40)))
    with servers.Bind(tmp_path / "ns", {"example.org": zone}) as s:
        at = f"127.0.0.1:{s.port}"

        def ask(name, rtype):
            return says(probe("dns", at, dns_name=name, dns_type=rtype))
        assert ask("www.example.org", "A") == FINE
        assert ask("alias.example.org", "A") == FINE
        assert ask("example.org", "SOA") == FINE
        assert ask("big.example.org", "TXT") == FINE  # TC, then TCP
        assert ask("www.example.org", "AAAA") == ("fail", "content")
        assert ask("none.example.org", "A") == ("fail", "status")
        assert ask("www.example.com", "A") == ("fail", "status")


# -- greetings -----------------------------------------------------------------

GREETINGS = {
    "smtp": (b"220-mx.example.org ESMTP\r\n220 ready\r\n",
             b"554-no\r\n554 No SMTP here\r\n", b"220-half"),
    "ftp": (b"220-Welcome\r\n 230 not the end\r\n220 ok\r\n",
            b"421 Too many\r\n", b"220-Welc"),
    "imap": (b"* OK [CAPABILITY IMAP4rev1] hi\r\n", b"* BYE busy\r\n",
             b"* OK"),
    "pop3": (b"+OK <x@y>\r\n", b"-ERR busy\r\n", b"+O"),
}


@pytest.mark.parametrize("kind", GREETINGS)
def test_greetings(probe, kind):
    good, refusal, half = GREETINGS[kind]

    def ask(handler, **words):
        with Server(handler) as s:
            return probe(kind, s.target, **words)
    assert says(ask(sends(good, then="hang"))) == FINE
    for i in range(1, len(good)):  # in two pieces, cut anywhere
        if i % 7 == 0:
            def pieces(c, _):
                c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                c.sendall(good[:i])
                time.sleep(0.01)
                c.sendall(good[i:])
                hang(c)
            assert says(ask(pieces)) == FINE
    got = ask(sends(refusal, then="hang"))
    assert says(got) == ("fail", "status")
    assert refusal.decode().split("\r\n")[0] in got["text"]
    assert says(ask(sends(half))) == ("fail", "protocol")
    assert says(ask(sends(b""))) == ("fail", "protocol")
    got = ask(sends(b"SSH-2.0-demo\r\n", then="hang"), timeout_ms=5000)
    assert says(got) == ("fail", "protocol") and got["elapsed_us"] < 2000000
    got = ask(lambda c, _: hang(c), timeout_ms=150)
    assert says(got) == ("fail", "timeout") and "greeting" in got["text"]
    got = ask(sends(half, then="hang"), timeout_ms=150)
    assert says(got) == ("fail", "timeout") and "rest" in got["text"]
    assert says(ask(sends(good, then="hang"), expect="nothing")) == (
        "fail", "content")
    assert says(probe(kind, f"127.0.0.1:{net.free_port()}")) == (
        "fail", "connect")


def test_greeting_without_an_end(probe):
    with Server(sends(b"220-x\r\n" * 5000, then="hang")) as s:
        assert says(probe("smtp", s.target)) == ("fail", "protocol")


def test_ftp_120_is_not_yet_the_greeting(probe):
    with Server(sends(b"120 soon\r\n220 now\r\n", then="hang")) as s:
        assert says(probe("ftp", s.target)) == FINE


def test_farewell(probe):
    """The server sees an ordinary end."""
    said = []

    def handler(c, _):
        c.sendall(b"220 hi\r\n")
        said.append(c.recv(100))
        said.append(c.recv(100))
    with Server(handler) as s:
        assert says(probe("smtp", s.target)) == FINE
        net.wait_until("the farewell", lambda: len(said) == 2)
    assert said == [b"QUIT\r\n", b""]


def ldap(code, tag=0x61):
    return bytes([0x30, 12, 2, 1, 1, tag, 7, 10, 1, code, 4, 0, 4, 0])


@pytest.mark.parametrize("reply, result", [
    (ldap(0), FINE),
    (ldap(48), FINE),
    (ldap(52), ("fail", "status")),
    (ldap(0, 0x78), ("fail", "status")),
    (ldap(0, 0x65), ("fail", "protocol")),
    (ldap(0)[:9], ("fail", "protocol")),
    (b"220 hello\r\n", ("fail", "protocol")),
    (b"\x30\x80\0\0", ("fail", "protocol")),
    (b"\x30\x84\xff\xff\xff\xff", ("fail", "protocol")),
], ids=range(9))
def test_ldap_answers(probe, reply, result):
    with Server(lambda c, _: (c.recv(14), c.sendall(reply))) as s:
        assert says(probe("ldap", s.target)) == result


# -- real servers --------------------------------------------------------------

def both(probe, authority, kind, plain, secure):
    words = dict(host="mail.example.test", ca=authority.ca)
    assert says(probe(kind, f"127.0.0.1:{plain}")) == FINE
    if secure is None:
        return
    at = f"127.0.0.1:{secure}"
    assert says(probe(kind + "s", at, **words)) == FINE
    got = probe(kind + "s", at, host="other.test", ca=authority.ca)
    assert says(got) == ("fail", "tls")
    rows = probe(kind + "s", at, repeat=4, **words)
    assert [says(r) for r in rows] == [FINE] * 4
    assert says(probe(kind, at, timeout_ms=300))[0] == "fail"
    assert says(probe(kind + "s", f"127.0.0.1:{plain}", timeout_ms=2000,
                      **words))[0] == "fail"


def test_dovecot(probe, authority, short_dir):
    with probe_servers.dovecot(authority, short_dir) as at:
        both(probe, authority, "imap", at["imap"], at["imaps"])
        both(probe, authority, "pop3", at["pop3"], at["pop3s"])


def test_vsftpd(probe, authority, short_dir):
    with probe_servers.vsftpd(authority, short_dir) as at:
        both(probe, authority, "ftp", at["ftp"], at["ftps"])


def test_slapd(probe, authority, short_dir):
    with probe_servers.slapd(authority, short_dir) as at:
        both(probe, authority, "ldap", at["ldap"], at["ldaps"])


def test_smtp_server(probe, authority, tmp_path):
    with probe_servers.aiosmtpd(authority, tmp_path) as at:
        both(probe, authority, "smtp", at["smtp"], at["smtps"])


# -- gRPC ----------------------------------------------------------------------

def test_grpc(probe, authority, tmp_path):
    with probe_servers.grpc(authority, tmp_path) as ports:
        at, tls_at = (f"127.0.0.1:{ports[k]}" for k in ("grpc", "grpcs"))
        assert says(probe("grpc", at)) == FINE
        assert says(probe("grpc", at, service="up")) == FINE
        got = probe("grpc", at, service="down")
        assert says(got) == ("fail", "status")
        assert "NOT_SERVING" in got["text"]
        assert says(probe("grpc", at, service="odd")) == ("fail", "status")
        got = probe("grpc", at, service="none")
        assert says(got) == ("fail", "status") and "not known" in got["text"]
        got = probe("grpc", at, service="denied")
        assert says(got) == ("fail", "status") and "not you" in got["text"]
        got = probe("grpc", at, service="slow", timeout_ms=300)
        assert says(got) == ("fail", "timeout")
        words = dict(tls="yes", host="mail.example.test", ca=authority.ca)
        assert says(probe("grpc", tls_at, **words)) == FINE
        rows = probe("grpc", tls_at, repeat=3, service="up", **words)
        assert [says(r) for r in rows] == [FINE] * 3
        assert says(probe("grpc", tls_at, tls="yes", host="other.test",
                          ca=authority.ca)) == ("fail", "tls")
        assert says(probe("grpc", tls_at, timeout_ms=2000))[0] == "fail"


def test_grpc_of_something_else(probe):
    for data in (b"HTTP/1.1 400 Bad\r\n\r\n", b"SSH-2.0-x\r\n", b""):
        with Server(sends(data, read=False)) as s:
            got = probe("grpc", s.target, timeout_ms=3000)
            assert got["verdict"] == "fail" and got["reason"] != "timeout"
    with Server(lambda c, _: hang(c)) as s:
        assert says(probe("grpc", s.target, timeout_ms=150)) == (
            "fail", "timeout")


def test_http2_without_grpc(probe, tmp_path):
    nghttpd = program("nghttpd")
    port = net.free_port()
    with running([nghttpd, "--no-tls", "-a", "127.0.0.1", "-d", tmp_path,
                  port], lambda: listens(port), tmp_path / "out"):
        got = probe("grpc", f"127.0.0.1:{port}")
    assert says(got) == ("fail", "status")
    assert "404" in got["text"]


# -- commands ------------------------------------------------------------------

@pytest.mark.parametrize("script, result, text", [
    ("exit 0", FINE, "command:check ok"),
    ("echo WARN; exit 1", FINE, "command:check ok"),
    ("echo 'DB is gone|x=1'; exit 2", ("fail", "command"), "DB is gone"),
    ("exit 7", ("fail", "command"), "exit 7"),
    ("echo no idea; exit 3", ("local", "unable"), "no idea"),
    ("kill -9 $$", ("local", "unable"), "signal 9"),
])
def test_command(probe, script, result, text):
    got = probe("command", "127.0.0.1", "command=check",
                command=["/bin/sh", "-c", script])
    assert says(got) == result
    assert text in got["text"]


def test_command_that_is_not_there(probe):
    got = probe("command", "127.0.0.1", "command=check",
                command=["/nonexistent/plugin"])
    assert says(got) == ("local", "unable")
    assert says(probe("command", "127.0.0.1", "command=check")) == (
        "local", "unable")


def test_command_without_a_shell(probe, tmp_path):
    out = tmp_path / "out"
    words = ["a b", "$(id)", "; true", "*", ""]
    got = probe("command", "127.0.0.1", "command=check", command=[
        sys.executable, "-c", "import sys; open(sys.argv[1], 'w').write("
        "repr(sys.argv[2:]))", out, *words])
    assert says(got) == FINE
    assert out.read_text() == repr(words)


def test_command_that_hangs_is_ended_with_its_children(probe, tmp_path):
    pid = tmp_path / "pid"
    got = probe("command", "127.0.0.1", "command=check", "timeout_ms=300",
                command=["/bin/sh", "-c",
                         f"sleep 600 & echo $! >{pid}; wait"])
    assert says(got) == ("fail", "timeout")
    assert got["elapsed_us"] < 2000000
    child = int(pid.read_text())

    def gone():
        try:
            state = pathlib.Path(f"/proc/{child}/stat").read_text()
        except OSError:
            return True
        return state.rsplit(")", 1)[1].split()[0] == "Z"
    net.wait_until("the child's end", gone)
