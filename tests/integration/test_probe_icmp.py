"""The icmp probe in namespaces of its own: replies that are not meant for it,
unreachable hosts, and machines that do not let us."""

import json
import os
import shutil
import subprocess
import sys

import pytest

# Raw sockets in a namespace: answers echo requests in the place of hosts that
# do not exist. argv: what to do, then the probe's command line. Two dummy
# interfaces are not needed: what goes to 127.128.0.0/16 is dropped by nft
# before anybody answers, and seen here all the same (AF_PACKET).
LIAR = r"""
import socket, subprocess, sys, threading, struct

how = sys.argv[1]
see = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
see.bind(("lo", 0))
say = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
late = []

def total(data):
    s = sum(struct.unpack("!%dH" % (len(data) // 2), data))
    while s >> 16:
        s = (s >> 16) + (s & 0xffff)
    return ~s & 0xffff

def packet(src, dst, icmp):
    icmp = icmp[:2] + b"\0\0" + icmp[4:]
    icmp = icmp[:2] + struct.pack("!H", total(icmp)) + icmp[4:]
    head = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(icmp), 0, 0, 64, 1,
                       0, src, dst)
    say.sendto(head + icmp, (socket.inet_ntoa(dst), 0))

def answer(ip):
    src, dst, icmp = ip[12:16], ip[16:20], ip[20:]
    echo = b"\0\0" + icmp[2:]
    other = socket.inet_aton("127.0.0.1")
    if how == "good":
        packet(dst, src, echo)
        packet(dst, src, echo)
    elif how == "other-source":
        packet(other, src, echo)
    elif how == "token":
        packet(dst, src, echo[:16] + b"\1\2\3\4\5\6\7\x08" + echo[24:])
    elif how == "id":
        packet(dst, src, echo[:4] + bytes([echo[4] ^ 1]) + echo[5:])
    elif how == "seq":
        packet(dst, src, echo[:6] + bytes([echo[6] ^ 1]) + echo[7:])
    elif how == "short":
        packet(dst, src, echo[:16])
    elif how == "late":
        if late:
            packet(dst, src, late[-1])
        late.append(echo)
    elif how == "unreachable":
        packet(other, src, b"\3\1\0\0\0\0\0\0" + ip)
    elif how == "unreachable-other":
        packet(other, src, b"\3\1\0\0\0\0\0\0" + ip[:16] + other + ip[20:])

def watch():
    while True:
        frame = see.recv(65536)
        ip = frame[14:]
        if frame[12:14] == b"\x08\0" and ip[9] == 1 and ip[20] == 8 and \
                ip[16:18] == b"\x7f\x80":
            key = ip[24:44]
            if key not in seen:
                seen.add(key)
                answer(ip)

seen = set()
threading.Thread(target=watch, daemon=True).start()
sys.exit(subprocess.run(sys.argv[2:]).returncode)
"""

RULES = """
table ip t {
 chain in {
  type filter hook input priority 0;
  ip daddr 127.128.0.0/16 drop
 }
}
"""


@pytest.fixture
def icmp(tools):
    """icmp(target, words…, how=…, setup=…): in a namespace; results as dicts.
    """
    env = dict(os.environ)
    env["PATH"] = env.get("PATH", "") + ":/usr/sbin:/sbin"
    if os.geteuid() != 0:
        pytest.skip("network namespaces need root")
    for tool in ("unshare", "ip", "nft", "setpriv"):
        if shutil.which(tool, path=env["PATH"]) is None:
            pytest.skip(f"{tool} is not installed")
    if subprocess.run(["unshare", "-n", "true"], env=env,
                      stderr=subprocess.DEVNULL).returncode != 0:
        pytest.skip("no network namespaces here")

    def run(target, *words, how=None, setup="", prefix=()):
        liar = [sys.executable, "-c", LIAR, how] if how else []
        script = ("set -e\nip link set lo up\n"
                  f"nft -f - <<'END'\n{RULES}END\n{setup}\nexec \"$@\"\n")
        got = subprocess.run(
            ["unshare", "-n", "sh", "-c", script, "sh", *prefix, *liar,
             str(tools / "probe_one"), "icmp", target, *words],
            capture_output=True, text=True, timeout=60, env=env)
        assert got.returncode == 0, got.stderr
        return [json.loads(line) for line in got.stdout.splitlines()]
    return run


def verdicts(rows):
    return [(r["verdict"], r["reason"]) for r in rows]


FINE, TIMEOUT = ("ok", "fine"), ("fail", "timeout")


@pytest.mark.parametrize("target", ["127.0.0.1", "127.9.8.7", "[::1]"])
def test_alive(icmp, target):
    rows = icmp(target, "repeat=20")
    assert verdicts(rows) == [FINE] * 20
    assert rows[0]["text"] == "icmp ok"


def test_dead(icmp):
    rows = icmp("127.128.1.1", "timeout_ms=200")
    assert verdicts(rows) == [TIMEOUT]
    assert rows[0]["text"].startswith("icmp timeout after")


def test_a_faithful_liar_is_believed(icmp):
    """The fixture itself works: the right reply, twice, counts once each."""
    rows = icmp("127.128.1.1", "timeout_ms=2000", "repeat=3", how="good")
    assert verdicts(rows) == [FINE] * 3


@pytest.mark.parametrize("how", ["other-source", "token", "id", "seq", "short",
                                 "late", "unreachable-other"])
def test_replies_that_are_not_ours(icmp, how):
    rows = icmp("127.128.1.1", "timeout_ms=150", "repeat=3", how=how)
    assert verdicts(rows) == [TIMEOUT] * 3


def test_unreachable_says_the_network(icmp):
    rows = icmp("127.128.1.1", "timeout_ms=2000", how="unreachable")
    assert verdicts(rows) == [("fail", "route")]


def test_no_route_is_our_own(icmp):
    assert verdicts(icmp("192.0.2.1", "timeout_ms=200")) == [
        ("local", "no-net")]


def test_datagram_socket_without_privileges(icmp):
    allow = "echo 0 2147483647 >/proc/sys/net/ipv4/ping_group_range"
    user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups",
            "--bounding-set=-all", "--inh-caps=-all", "--"]
    rows = icmp("127.0.0.1", "repeat=3", setup=allow, prefix=user)
    assert verdicts(rows) == [FINE] * 3
    rows = icmp("[::1]", "repeat=3", setup=allow, prefix=user)
    assert verdicts(rows) == [FINE] * 3


def test_neither_socket_is_our_own_and_says_what_is_needed(icmp):
    user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups",
            "--bounding-set=-all", "--inh-caps=-all", "--"]
    rows = icmp("127.0.0.1", prefix=user)
    assert verdicts(rows) == [("local", "no-net")]
    assert "CAP_NET_RAW" in rows[0]["text"]
    assert "ping_group_range" in rows[0]["text"]
