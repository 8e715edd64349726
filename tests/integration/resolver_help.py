"""What the tests of the resolver share: the lookup tool, zones, and a name
server that answers as it is told."""

import json
import os
import socket
import struct
import subprocess
import threading

import dns.flags
import dns.message
import dns.name
import dns.rcode
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

TXT = ("_failover.www.example.test.", "TXT", '"spec"')

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
