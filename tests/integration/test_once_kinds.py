"""Checks of every kind through the whole program: what a spec says is what is
probed, and its failure names the layer."""

import json
import os
import pathlib
import socket
import socketserver
import ssl
import subprocess
import tempfile
import threading

import pytest

import servers
from net import Listener
from world import build, records, spec  # noqa: F401

TARGETS = ("127.0.0.2", "127.0.0.3")


class Answers(socketserver.ThreadingTCPServer):
    """A TCP server that says one thing to each caller, or what `say` makes
    of the first bytes it gets."""

    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, addr, port, say, context=None):
        self.say, self.context = say, context
        super().__init__((addr, port), Answer)
        threading.Thread(target=self.serve_forever, args=(0.05,),
                         daemon=True).start()

    def end(self):
        self.shutdown()
        self.server_close()


class Answer(socketserver.BaseRequestHandler):
    def handle(self):
        s = self.request
        try:
            if self.server.context:
                s = self.server.context.wrap_socket(s, server_side=True)
            say = self.server.say
            if callable(say):
                say = say(s.recv(65536))
            s.sendall(say)
            s.settimeout(1)
            s.recv(65536)
        except OSError:
            pass


def http_answer(status=200, body=b'{"state":"ok"}', seen=None):
    def say(request):
        if seen is not None:
            seen.append(request.decode())
        return (b"HTTP/1.1 %d X\r\nContent-Type: application/json\r\n"
                b"Content-Length: %d\r\nConnection: close\r\n\r\n%s"
                % (status, len(body), body))
    return say


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A certificate for www.example.org, and a context that serves it."""
    d = tmp_path_factory.mktemp("tls")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
         "ec_paramgen_curve:prime256v1", "-nodes", "-days", "30", "-subj",
         "/CN=www.example.org", "-addext",
         "subjectAltName=DNS:www.example.org", "-keyout", d / "key.pem",
         "-out", d / "cert.pem"], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(d / "cert.pem", d / "key.pem")
    return d / "cert.pem", context


@pytest.fixture
def answers():
    """answers(say, …): one server on each target, on one port."""
    running = []

    def make(good, bad, context=None):
        first = Answers(TARGETS[0], 0, good, context)
        port = first.server_address[1]
        running.append(first)
        running.append(Answers(TARGETS[1], port, bad, context))
        return port

    yield make
    for s in running:
        s.end()


TIMES = {"timeout": "2s", "retryPeriod": "100ms", "accessPeriod": "1s"}


def run(build, check, configure=None, env=None):
    """One round over www, both targets published; the world and the run."""
    w = build(records=records("www", *TARGETS),
              specs={"www": spec((TARGETS[0], check), (TARGETS[1], check),
                                 defaults=TIMES)})
    w.configure(**(configure or {}))
    return w, w.once(env=env)


def expect(w, got, why):
    """The second target is dead for that reason, and out of DNS."""
    assert f"www.example.org. ({TARGETS[1]}) becomes unavailable: {why}" \
        in got.stdout, got.stdout + got.stderr
    assert f"({TARGETS[0]})" not in got.stdout, got.stdout
    assert w.values("www") == [TARGETS[0]]


@pytest.mark.parametrize("check, good, bad, why", [
    ({"type": "http", "path": "/x"}, http_answer(), http_answer(503),
     "status 503"),
    ({"type": "http", "status": "200-299"}, http_answer(204, b""),
     http_answer(302), "status 302"),
    ({"type": "http", "body": "\"ok\""}, http_answer(),
     http_answer(200, b"all is lost"), ""),
    ({"type": "http", "bodyMatch": "state.*o[k]"}, http_answer(),
     http_answer(200, b"state: no"), ""),
    ({"type": "http", "json": {"/state": "ok"}}, http_answer(),
     http_answer(200, b'{"state":"ill"}'), ""),
    ({"type": "http"}, http_answer(), b"SSH-2.0-OpenSSH\r\n", ""),
    ({"type": "smtp"}, b"220-mail.example.org\r\n220 ready\r\n",
     b"554 no\r\n", ""),
    ({"type": "imap"}, b"* OK ready\r\n", b"* BYE\r\n", ""),
    ({"type": "pop3"}, b"+OK ready\r\n", b"-ERR\r\n", ""),
    ({"type": "ftp"}, b"220-hello\r\n220 ready\r\n", b"421 too many\r\n", ""),
], ids=lambda v: v["type"] if isinstance(v, dict) else "")
def test_kind(build, answers, check, good, bad, why):
    port = answers(good, bad)
    w, got = run(build, {**check, "port": port})
    expect(w, got, f"{check['type']}:{port}")
    assert why in got.stdout


def test_host_is_the_name(build, answers):
    seen = []
    port = answers(http_answer(seen=seen), http_answer(500, seen=seen))
    w, got = run(build, f"http:{port}/health?x=1")
    expect(w, got, f"http:{port}")
    assert seen and all(
        r.startswith("GET /health?x=1 HTTP/1.1\r\n") and
        f"\r\nHost: www.example.org:{port}\r\n" in r for r in seen), seen


def test_https_verifies_the_name(build, answers, certificate, tmp_path):
    """A certificate of the right name from an authority that is trusted; the
    other target shows one that nobody knows."""
    ca, context = certificate
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
         "ec_paramgen_curve:prime256v1", "-nodes", "-days", "30", "-subj",
         "/CN=www.example.org", "-keyout", tmp_path / "key.pem", "-out",
         tmp_path / "cert.pem"], check=True, capture_output=True)
    other = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    other.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")
    first = Answers(TARGETS[0], 0, http_answer(), context)
    port = first.server_address[1]
    second = Answers(TARGETS[1], port, http_answer(), other)
    try:
        w, got = run(build, f"https://www.example.org:{port}/",
                     env={"SSL_CERT_FILE": str(ca)})
        expect(w, got, f"https:{port}")
        assert "certificate" in got.stdout
    finally:
        first.end()
        second.end()


def test_tls(build, answers, certificate):
    ca, context = certificate
    first = Answers(TARGETS[0], 0, b"", context)
    port = first.server_address[1]
    second = Answers(TARGETS[1], port, b"not tls at all")
    try:
        w, got = run(build, f"tls:{port}", env={"SSL_CERT_FILE": str(ca)})
        expect(w, got, f"tls:{port}")
    finally:
        first.end()
        second.end()


def test_dns(build):
    """The zone's own server as a target: one name it has, one it has not."""
    with tempfile.TemporaryDirectory(prefix="df-") as d, servers.Bind(
            pathlib.Path(d), {"t.example": "$TTL 60\n@ SOA n h 1 60 60 60 60\n@ NS n\n"
                          "n A 127.0.0.1\nhere A 127.0.0.1\n"}) as ns:
        w = build(records=records("www", *TARGETS), specs={"www": spec(
            (TARGETS[0], f"dns:{ns.port}/here.t.example/A@127.0.0.1"),
            (TARGETS[1], f"dns:{ns.port}/gone.t.example/A@127.0.0.1"),
            defaults=TIMES)})
        expect(w, w.once(), f"dns:{ns.port}")


def test_udp(build):
    """What is sent needs allow-active; any answer is one."""
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind((TARGETS[0], 0))
    s.settimeout(20)

    def echo():
        try:
            while True:
                data, peer = s.recvfrom(2048)
                s.sendto(b"pong" if data == b"ping" else b"?", peer)
        except OSError:
            pass

    threading.Thread(target=echo, daemon=True).start()
    check = {"type": "udp", "port": s.getsockname()[1], "send": "ping",
             "expect": "pong"}
    w, got = run(build, check)
    assert "allow-active" in got.stderr and got.returncode == 1
    assert len(w.values("www")) == 2
    w.configure(section="  allow-active = yes")
    expect(w, w.once(), "udp:")
    s.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="raw sockets need root")
def test_icmp(build):
    """Echo, and an anchor that is one."""
    w, got = run(build, "icmp", {"anchors": ["127.0.0.1", "127.0.0.9:9"]})
    assert got.returncode == 0 and got.stdout == "", got.stderr
    assert "icmp ok: up" in w.once("-v").stdout


def test_command(build, tmp_path):
    """Only a command of the agent's file, with the address in its place."""
    plugin = tmp_path / "plugin"
    plugin.write_text("#!/bin/sh\n"
                      f'[ "$1" = {TARGETS[0]} ] && exit 0\n'
                      "echo broken by hand\nexit 2\n")
    plugin.chmod(0o755)
    w, got = run(build, "command:by_hand")
    assert "by_hand" in got.stderr and got.returncode == 1
    assert len(w.values("www")) == 2
    with open(w.config, "a") as f:
        f.write(f'command by_hand {{ exec = "{plugin} {{target}}"\n'
                '  zones = {"example.org"} }\n')
    expect(w, w.once(), "command")


def test_cname(build):
    """A CNAME's targets are looked up at each probe and held to the limits."""
    with Listener("127.0.0.2") as alive, \
            Listener("127.0.0.3", port=0) as unused:
        unused.close()
        zone = ("one IN A 127.0.0.2\ntwo IN A 127.0.0.3\n"
                "www 60 IN CNAME two.example.org.\n")
        w = build(records=zone, specs={"www": json.dumps({
            "order": "priority",
            "defaults": {"requiredSuccess": 1, "requiredFailure": 1, **TIMES},
            "records": [
                {"data": "one.example.org.", "check": alive.port},
                {"data": "two.example.org.", "check": alive.port}]})})
        # The server under test answers only for its zone: it serves as the
        # resolver, too.
        text = w.config.read_text()
        w.config.write_text(
            text + f'resolver {{ servers = {{"{w.ns.server}"}} }}\n')
        got = w.once()
        assert w.ns.values("www.example.org", "CNAME") == [
            "one.example.org."], got.stdout + got.stderr
