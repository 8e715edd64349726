"""A network namespace of a test's own: only loopback is in it, what the test
starts (servers, listeners, the program) is in it too.

    def test_x(own_net, build):      # own_net first
        own_net("ip address add 192.0.2.66/32 dev lo")
"""

import ctypes
import os
import subprocess

import pytest

CLONE_NEWNET = 0x40000000
PATH = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"


def sh(script):
    got = subprocess.run(["sh", "-ec", script], capture_output=True, text=True,
                         env=dict(os.environ, PATH=PATH), timeout=20)
    assert got.returncode == 0, got.stderr


@pytest.fixture
def own_net():
    """Moves this thread, and what it starts from now on; back at the end."""
    if os.geteuid() != 0:
        pytest.skip("network namespaces need root")
    libc = ctypes.CDLL(None, use_errno=True)
    old = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        if libc.unshare(CLONE_NEWNET) != 0:
            pytest.skip("no network namespaces here")
        try:
            sh("ip link set lo up")
            yield sh
        finally:
            assert libc.setns(old, CLONE_NEWNET) == 0
    finally:
        os.close(old)


# Packets to these networks are lost, or answered by the network.
RULES = """
table ip t {
 chain in {
  type filter hook input priority 0;
  ip daddr 127.128.0.0/16 drop
 }
}
"""


def drop_128(net):
    """127.128.0.0/16 answers nothing from now on."""
    net(f"nft -f - <<'END'\n{RULES}END")
