"""Each kind of probe that talks TCP against a real server of its protocol from
Debian: good, refusing, hanging, cut off, lying. A relay in front of the server
hangs, cuts and lies; the failure names the layer, as a word for programs and
in the text for people.

Kinds without a connection: udp and dns below, icmp in test_probe_icmp.py,
command in test_probe_kinds.py.
"""

import contextlib
import socket
import threading

import dns.message
import pytest

import net
import probe_servers
import servers
from probe_help import Authority, Probe, says

FINE = ("ok", "fine")
LIE = b"SSH-2.0-OpenSSH_9.2p1 Debian-2+deb12u3\r\n"
TIMEOUT_MS = 250


@pytest.fixture
def probe(tools):
    return Probe(tools)


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("ca"))


class Relay:
    """Passes on to a server; of what the server says at most `most` bytes,
    then it ends ("cut") or goes silent ("hang"). With "lie" it answers for
    the server."""

    def __init__(self, port, how, most=0):
        self.behind, self.how, self.most = port, how, most
        self.over = threading.Event()
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.socket.settimeout(0.05)
        self.port = self.socket.getsockname()[1]
        self.threads = []

    def __enter__(self):
        self._start(self._accept)
        return self

    def __exit__(self, *_):
        self.over.set()
        for t in self.threads:
            t.join(5)
        self.socket.close()

    def _start(self, function, *args):
        t = threading.Thread(target=function, args=args, daemon=True)
        self.threads.append(t)
        t.start()

    def _accept(self):
        while not self.over.is_set():
            with contextlib.suppress(TimeoutError):
                c, _ = self.socket.accept()
                self._start(self._serve, c)

    def _serve(self, c):
        with contextlib.suppress(OSError), c, socket.create_connection(
                ("127.0.0.1", self.behind), 5) as s:
            c.settimeout(5)
            s.settimeout(5)
            if self.how == "lie":
                c.sendall(LIE)
                while c.recv(4096):
                    pass
                return
            self._start(self._pass, c, s)
            left = self.most
            while left > 0:
                data = s.recv(min(left, 65536))
                if not data:
                    return
                left -= len(data)
                c.sendall(data)
            if self.how == "hang":
                self.over.wait(5)
            else:
                c.shutdown(socket.SHUT_RDWR)

    @staticmethod
    def _pass(a, b):
        with contextlib.suppress(OSError):
            while data := a.recv(65536):
                b.sendall(data)
        with contextlib.suppress(OSError):
            b.shutdown(socket.SHUT_RDWR)


# Server → its kinds, and how many bytes of the answer say nothing yet.
SERVERS = {
    "nginx": {"http": 20, "https": 100, "tls": 100},
    "aiosmtpd": {"smtp": 3, "smtps": 100},
    "dovecot": {"imap": 3, "imaps": 100, "pop3": 2, "pop3s": 100},
    "vsftpd": {"ftp": 2, "ftps": 100},
    "slapd": {"ldap": 5, "ldaps": 100},
    "grpc": {"grpc": 12, "grpcs": 100},
}


def over_tls(kind):
    return kind in ("tls", "https", "smtps", "imaps", "pop3s", "ftps", "ldaps",
                    "grpcs")


def named(kind):
    """The probe's kind and its words."""
    words = {"timeout_ms": 3000}
    if kind in ("http", "https"):
        words["path"] = "/ok"
    if kind == "grpcs":
        words["tls"] = "yes"
    return ("grpc" if kind == "grpcs" else kind), words


@pytest.mark.parametrize("server", SERVERS)
def test_matrix(probe, authority, short_dir, server):
    start = getattr(probe_servers, server)
    with start(authority, short_dir) as ports:
        ports = {"tls": ports.get("https"), **ports}
        for kind, few in SERVERS[server].items():
            every_way(probe, authority, kind, ports[kind], few)


def every_way(probe, authority, kind, port, few):
    name, words = named(kind)
    if over_tls(kind):
        words.update(host=probe_servers.HOST, ca=authority.ca)
    else:
        words.update(host=probe_servers.HOST)

    def ask(at, **more):
        got = probe(name, f"127.0.0.1:{at}", **{**words, **more})
        assert got["text"].startswith(f"{name}:{at} "), (kind, got)
        return got

    def through(how, most=0, **more):
        with Relay(port, how, most) as r:
            return ask(r.port, **more)

    assert says(ask(port)) == FINE, kind
    assert says(through("cut", 10**9)) == FINE, kind  # the relay itself

    got = ask(net.free_port())
    assert says(got) == ("fail", "connect"), (kind, got)
    assert "refused" in got["text"]

    for most in (0, few):
        got = through("hang", most, timeout_ms=TIMEOUT_MS)
        assert says(got) == ("fail", "timeout"), (kind, most, got)
        assert "timeout after" in got["text"], got
        assert TIMEOUT_MS * 1000 <= got["elapsed_us"] < 3000000

    layer = "tls" if over_tls(kind) else "protocol"
    for most in (0, few):
        got = through("cut", most)
        assert says(got) in (("fail", layer), ("fail", "connect")
                             if most == 0 else None), (kind, most, got)

    got = through("lie")
    assert says(got) == ("fail", layer), (kind, got)
    if over_tls(kind):
        got = ask(port, host="other.example.test")
        assert says(got) == ("fail", "tls"), (kind, got)
        assert "ostname mismatch" in got["text"]


# -- datagrams: BIND, itself and behind a relay -----


class Udp:
    """Passes datagrams on, or answers with what change(reply) makes."""

    def __init__(self, behind, change):
        self.behind, self.change = behind, change
        self.over = threading.Event()
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.socket.settimeout(0.05)
        self.port = self.socket.getsockname()[1]
        self.thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join(5)
        self.socket.close()

    def _serve(self):
        while not self.over.is_set():
            with contextlib.suppress(TimeoutError):
                data, peer = self.socket.recvfrom(65536)
                with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
                    s.settimeout(5)
                    s.sendto(data, ("127.0.0.1", self.behind))
                    reply = self.change(s.recv(65536))
                if reply is not None:
                    self.socket.sendto(reply, peer)


ZONE = ("$TTL 60\n@ SOA ns.example.org. x.example.org. 1 60 60 60 60\n"
        "@ NS ns\nns A 127.0.0.1\nwww A 192.0.2.1\n")


def test_dns_and_udp(probe, tmp_path):
    if not servers.find("named"):
        pytest.skip("named is not installed")
    dns_words = {"dns_name": "www.example.org.", "dns_type": "A"}
    with servers.Bind(tmp_path / "ns", {"example.org": ZONE}) as ns:

        def both(port, timeout_ms=3000):
            at = f"127.0.0.1:{port}"
            # A question whose bytes are all printable does not exist: any
            # bytes will do, BIND answers FORMERR to nonsense of 12 bytes up.
            return (probe("dns", at, timeout_ms=timeout_ms, **dns_words),
                    probe("udp", at, timeout_ms=timeout_ms,
                          send="ab\1\1abcdefgh"))

        def through(change, **how):
            with Udp(ns.port, change) as r:
                return [says(g) for g in both(r.port, **how)]

        assert [says(g) for g in both(ns.port)] == [FINE, FINE]
        assert through(lambda d: d) == [FINE, FINE]
        got = both(net.free_port())
        assert [says(g) for g in got] == [("fail", "connect")] * 2
        assert through(lambda d: None, timeout_ms=TIMEOUT_MS) == [
            ("fail", "timeout")] * 2
        assert through(lambda d: d[:len(d) - 9])[0] == ("fail", "protocol")
        assert through(lambda d: d[:2] + LIE)[0] == ("fail", "protocol")
        # Somebody else's answer is none.
        assert through(lambda d: bytes([d[0] ^ 1]) + d[1:],
                       timeout_ms=TIMEOUT_MS)[0] == ("fail", "timeout")

        def other(data):
            m = dns.message.from_wire(data)
            m.answer = []
            return m.to_wire()
        assert through(other)[0] == ("fail", "content")
        with Udp(ns.port, lambda d: d) as r:
            got = probe("udp", f"127.0.0.1:{r.port}", send="ab\1\1abcdefgh",
                        expect="hello")
            assert says(got) == ("fail", "content")
