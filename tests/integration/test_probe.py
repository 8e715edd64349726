"""The probe engine in network namespaces of its own: what the network, the
target and this machine itself answer must not be mixed up."""

import json
import os
import shutil
import subprocess

import pytest

PORT = 8000

# Listens everywhere without ever calling accept(), runs the command, prints
# its output and then how many connections accept() would have had.
INSIDE = f"""
import socket, subprocess, sys
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(("0.0.0.0", {PORT}))
s.listen(4096)
s.setblocking(False)
print(subprocess.run(sys.argv[1:], check=True, stdout=subprocess.PIPE,
                     text=True).stdout.strip())
n = 0
try:
    while True:
        s.accept()[0].close()
        n += 1
except BlockingIOError:
    print(n)
"""

RULES = """
table ip t {
 chain in {
  type filter hook input priority 0;
  ip daddr 127.128.0.0/16 drop
  ip daddr 127.129.0.0/16 reject with icmp host-unreachable
  ip daddr 127.130.0.0/16 reject with icmp net-unreachable
  ip daddr 127.131.0.0/16 reject with icmp admin-prohibited
  ip daddr 127.132.0.0/16 reject with tcp reset
 }
}
"""


@pytest.fixture
def probe(tools):
    """probe(options…, setup=shell lines): runs the engine in a namespace of
    its own. returns its figures, with "accepted" added."""
    env = dict(os.environ)
    env["PATH"] = env.get("PATH", "") + ":/usr/sbin:/sbin"
    if os.geteuid() != 0:
        pytest.skip("network namespaces need root")
    for tool in ("unshare", "ip", "nft"):
        if shutil.which(tool, path=env["PATH"]) is None:
            pytest.skip(f"{tool} is not installed")
    if subprocess.run(["unshare", "-n", "true"], env=env,
                      stderr=subprocess.DEVNULL).returncode != 0:
        pytest.skip("no network namespaces here")

    def run(*options, up=True, setup=""):
        script = "set -e\n"
        if up:
            script += f"ip link set lo up\nnft -f - <<'END'\n{RULES}END\n"
        script += setup + '\nexec /usr/bin/python3 -c "$@"\n'
        got = subprocess.run(
            ["unshare", "-n", "sh", "-c", script, "sh", INSIDE,
             str(tools / "probe"), "-p", str(PORT), *map(str, options)],
            capture_output=True, text=True, timeout=60, env=env,
        )
        assert got.returncode == 0, got.stderr
        figures, accepted = got.stdout.strip().splitlines()
        return {**json.loads(figures), "accepted": int(accepted)}
    return run


def counts(figures):
    keys = ("ok", "refused", "timeout", "other", "local")
    return {k: figures[k] for k in keys if figures[k]}


def test_alive_and_quiet(probe):
    got = probe("-n", 3000, "-k", 500, "-t", 5000)
    assert counts(got) == {"ok": 3000}
    assert got["accepted"] == 0


def test_black_hole(probe):
    got = probe("-n", 2000, "-k", 2000, "-t", 300, "-a", "127.128.1.1")
    assert counts(got) == {"timeout": 2000}
    assert 0.3 <= got["wall_s"] < 5
    assert got["peak"] == 2000


@pytest.mark.parametrize("net", [129, 130, 131])
def test_unreachable_says_the_network(probe, net):
    got = probe("-n", 50, "-t", 5000, "-a", f"127.{net}.1.1")
    assert counts(got) == {"other": 50}
    assert got["wall_s"] < 5


def test_reset(probe):
    got = probe("-n", 50, "-t", 5000, "-a", "127.132.1.1")
    assert counts(got) == {"refused": 50}


def test_living_beside_dead(probe):
    got = probe("-n", 4000, "-k", 4000, "-t", 400, "-d", 50)
    assert counts(got) == {"ok": 2000, "timeout": 2000}
    assert got["false_dead"] == 0


@pytest.mark.parametrize("how", [
    "",  # no route of any kind
    "ip route add unreachable 192.0.2.0/24",
    "ip route add prohibit 192.0.2.0/24",
    "ip route add blackhole 192.0.2.0/24",
])
def test_no_way_out_is_our_own(probe, how):
    got = probe("-n", 50, "-t", 5000, "-a", "192.0.2.1", "-A", 50, setup=how)
    assert counts(got) == {"local": 50}
    assert got["wall_s"] < 5


def test_interface_down_is_our_own(probe):
    got = probe("-n", 50, "-t", 5000, up=False)
    assert counts(got) == {"local": 50}


def test_ports_used_up_is_our_own(probe):
    """Eleven source ports, a hundred probes of one hanging address."""
    got = probe(
        "-n", 100, "-k", 100, "-t", 300, "-a", "127.128.1.1", "-A", 1,
        setup="echo 60000 60010 >/proc/sys/net/ipv4/ip_local_port_range",
    )
    # Now and then the kernel overlooks the last free one.
    assert got["timeout"] in (10, 11)
    assert counts(got) == {"timeout": got["timeout"],
                           "local": 100 - got["timeout"]}
