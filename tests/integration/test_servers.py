"""The name servers and listeners of the tests do what the tests believe."""

import os
import pathlib
import re
import socket

import dns.rcode
import pytest

import net
import servers

ZONE = """\
$TTL 300
@    IN SOA ns hostmaster 1 3600 600 86400 60
     IN NS  ns
ns   IN A   127.0.0.1
www  IN A   192.0.2.1
_failover.www IN TXT "hello"
"""

ALL = [servers.Bind, servers.Nsd, servers.Knot]


@pytest.mark.parametrize("kind", ALL)
def test_serves_and_reloads(kind, short_dir):
    with kind(short_dir / "s", {"example.org": ZONE}) as ns:
        assert ns.values("www.example.org", "A") == ["192.0.2.1"]
        assert ns.query("nope.example.org", "A").rcode() == dns.rcode.NXDOMAIN
        path = ns.zone_file("example.org")
        path.write_text(
            ZONE.replace("192.0.2.1", "192.0.2.2").replace(" 1 3600", " 2 3600")
        )
        ns.reload("example.org")
        ns.wait_serial("example.org", 2)
        assert ns.values("www.example.org", "A") == ["192.0.2.2"]
        # The same by what the agent is told to run, without a shell.
        assert not re.search(r"[\"';&|<>$`]", ns.reload_command)


@pytest.mark.parametrize("kind", ALL)
def test_stop_ends_it_and_start_takes_the_same_port(kind, short_dir):
    with kind(short_dir / "s", {"example.org": ZONE}) as ns:
        pid, port = ns.pid, ns.port
        ns.stop()
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
        with pytest.raises(OSError):
            socket.create_connection((ns.addr, ns.port), timeout=2)
        ns.start()
        assert ns.port == port
        assert ns.values("www.example.org", "A") == ["192.0.2.1"]


@pytest.mark.parametrize("kind", ALL)
def test_axfr_only_when_allowed(kind, short_dir):
    zones = {"example.org": ZONE}
    with kind(short_dir / "yes", zones, axfr=True) as ns:
        names = {str(n) for n in servers.axfr(ns, "example.org").nodes}
        assert "_failover.www" in names
    with kind(short_dir / "no", zones) as ns:
        with pytest.raises(Exception):
            servers.axfr(ns, "example.org")


@pytest.mark.parametrize("kind", ALL)
def test_secondary(kind, short_dir):
    with servers.Bind(short_dir / "p", {"example.org": ZONE}, axfr=True) as p:
        source = servers.Primary(p.addr, p.port)
        with kind(short_dir / "s", {"example.org": source}) as ns:
            # NSD's old process may still answer after the transfer.
            net.wait_until("the transferred zone", lambda: ns.values(
                "_failover.www.example.org", "TXT") == ['"hello"'])


@pytest.mark.parametrize("kind", [servers.Bind, servers.Nsd])
def test_broken_zone_is_servfail(kind, short_dir):
    zones = {"example.org": ZONE, "broken.example": "@ IN SOA nonsense\n"}
    with kind(short_dir / "s", zones, broken=["broken.example"]) as ns:
        answer = ns.query("www.broken.example", "A")
        assert answer.rcode() == dns.rcode.SERVFAIL
        assert ns.values("www.example.org", "A") == ["192.0.2.1"]


def test_a_lost_port_is_chosen_again(short_dir, monkeypatch):
    with servers.Bind(short_dir / "a", {"example.org": ZONE}) as first:
        real, taken = net.free_port, [first.port]
        monkeypatch.setattr(
            net, "free_port",
            lambda addr="127.0.0.1": taken.pop() if taken else real(addr),
        )
        for kind in ALL:
            taken[:] = [first.port]
            if kind is servers.Bind:
                # Its control channel asks for a port as well, after it.
                taken[:] = [real(), first.port]
            with kind(short_dir / kind.program, {"example.org": ZONE}) as ns:
                assert ns.port != first.port


def test_zone_served_where_it_lies(short_dir):
    path = short_dir / "db.example.org"
    path.write_text(ZONE)
    zones = {"example.org": pathlib.Path(path)}
    with servers.Nsd(short_dir / "s", zones) as ns:
        assert ns.zone_file("example.org.") == path
        assert ns.serial("example.org") == 1


def test_listener_counts_closes_and_opens():
    with net.Listener("127.0.0.7") as target:
        port = target.port
        socket.create_connection(("127.0.0.7", port), timeout=5).close()
        net.wait_until("an accept", lambda: target.accepts == 1)
        target.close()
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.7", port), timeout=5)
        with socket.socket() as other, pytest.raises(OSError):
            other.bind(("127.0.0.7", port))  # it stays ours meanwhile
        target.open()
        assert target.port == port
        socket.create_connection(("127.0.0.7", port), timeout=5).close()
        net.wait_until("another accept", lambda: target.accepts == 2)


def test_listener_that_hangs():
    with net.Listener("127.0.0.8", hang=True) as target:
        with pytest.raises((TimeoutError, socket.timeout)):
            socket.create_connection(("127.0.0.8", target.port), timeout=0.3)
        target.close()
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.8", target.port), timeout=5)
