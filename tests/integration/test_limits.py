"""The agent's own limits, with `once` and with `run`: what DNS asks for beyond
them is refused, told, and never "down"."""

import collections
import json
import socket
import time

import pytest

import net
from probe_help import Server, read_request
from service import FAST, Service, over
from world import build, records, rows, spec, spec_lines, target, zone_text

# pytest finds fixtures by their names here.
assert build and target

ZONE = "example.org"
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
OPEN = ["127.0.1.0/24", "127.0.2.0/24"]  # where the tests' targets live
WIDE = json.dumps({"debounce": "0s", "maxChange": "100%"})


def resolve_at(w, server):
    w.config.write_text(w.config.read_text() +
                        f'resolver {{ servers = {{"{server}"}} }}\n')


# -- redirects -----

# {port}: of a listener on 127.0.0.1 and ::1, which must never be reached.
FORBIDDEN = {
    "http://10.0.0.1/": "10.0.0.1",
    "https://10.0.0.1/": "10.0.0.1",
    "HTTP://10.0.0.1": "10.0.0.1",
    "//192.168.7.7/x": "192.168.7.7",
    "http://127.0.0.1:{port}/": "127.0.0.1",
    "http://127.0.0.1.:{port}/": "127.0.0.1",
    "http://127.1:{port}/": "127.0.0.1",
    "http://2130706433:{port}/": "127.0.0.1",
    "http://0x7f000001:{port}/": "127.0.0.1",
    "http://0x7F.0.0.1:{port}/": "127.0.0.1",
    "http://0177.0.0.1:{port}/": "127.0.0.1",
    "http://017700000001:{port}/": "127.0.0.1",
    "http://%31%32%37.0.0.1:{port}/": "127.0.0.1",
    "http://0:{port}/": "0.0.0.0",
    "http://169.254.169.254/latest": "169.254.169.254",
    "http://0xa9fea9fe/": "169.254.169.254",
    "http://224.0.0.1/": "224.0.0.1",
    "http://[::1]:{port}/": "::1",
    "http://[0:0:0:0:0:0:0:1]:{port}/": "::1",
    "http://[::]:{port}/": "::",
    "http://[::ffff:127.0.0.1]:{port}/": "::ffff:127.0.0.1",
    "http://[::ffff:7f00:1]:{port}/": "::ffff:127.0.0.1",
    "http://[::ffff:a00:1]/": "::ffff:10.0.0.1",
    "http://[::7f00:1]:{port}/": "::127.0.0.1",
    "http://[64:ff9b::a00:1]/": "64:ff9b::a00:1",
    "http://[2002:a00:1::]/": "2002:a00:1::",
    "http://[fd00:ec2::254]/": "fd00:ec2::254",
    "http://[fd00::1]/": "fd00::1",
    "http://[fe80::1]/": "fe80::1",
    "http://inside.example.org/": "10.0.0.1",
    "http://INSIDE.example.org./": "10.0.0.1",
    "http://mapped.example.org/": "::ffff:10.0.0.1",
    "http://six.example.org/": "fd00::1",
    "http://home.example.org:{port}/": "127.0.0.1",
    "http://alias.example.org/": "10.0.0.1",
}
NAMES = """inside IN A 10.0.0.1
mapped IN AAAA ::ffff:10.0.0.1
six IN AAAA fd00::1
home IN A 127.0.0.1
alias IN CNAME inside
"""


@pytest.fixture
def redirects(build):
    """One target for each place, and a world that checks them all. yields
    (world, {address: place}, accepts of what must not be reached)"""
    forbidden = net.Listener("127.0.0.1")
    six = net.Listener("::1", port=forbidden.port)
    places = {f"127.0.1.{i + 1}": place.format(port=forbidden.port)
              for i, place in enumerate(FORBIDDEN)}

    def answer(c, _):
        read_request(c)
        place = places[c.getsockname()[0]]
        c.sendall(f"HTTP/1.1 302 Found\r\nLocation: {place}\r\n"
                  "Content-Length: 0\r\n\r\n".encode())

    with forbidden, six, Server(answer, addr="0.0.0.0") as s:
        w = build(records=records("www", *places) + "\n" + NAMES, specs={
            "@": WIDE,
            "www": spec(*[(a, {"type": "http", "port": s.port,
                               "followRedirects": 3}) for a in places],
                        defaults={**FAST, "timeout": "2s"})})
        w.configure(allow=OPEN)
        resolve_at(w, w.ns.server)
        yield w, places, lambda: forbidden.accepts + six.accepts


def refusals(w, lines, places):
    """Each place has its refusal, nothing is down, all is published."""
    for (addr, place), at in zip(places.items(), FORBIDDEN.values()):
        line, = [x for x in lines
                 if f" {addr} could not be probed by this agent" in x]
        assert f"redirect to {at};" in line, (place, line)
    assert sorted(w.values("www")) == sorted(places)


def test_redirect_to_where_it_may_not(redirects):
    w, places, reached = redirects
    got = w.once()
    assert got.returncode == 1
    assert got.stdout == ""
    refusals(w, got.stderr.splitlines(), places)
    assert reached() == 0


def test_redirect_to_where_it_may_not_as_a_service(redirects):
    w, places, reached = redirects
    with Service(w) as s:
        s.until("all told", lambda: len(s.err) >= len(places), 30)
        s.until("a while", over(1))
        refusals(w, s.err, places)
        assert len(s.err) == len(places)  # once each
        assert s.out == []
        assert s.stop() == 0
    assert reached() == 0


def test_an_end_while_a_redirects_host_is_looked_up(build):
    """The look-up is let go; the target is not called down for it."""
    def answer(c, _):
        read_request(c)
        c.sendall(b"HTTP/1.1 302 Found\r\nLocation: http://far.example.net/"
                  b"\r\nContent-Length: 0\r\n\r\n")

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent, \
            Server(answer, addr="127.0.1.1") as web:
        silent.bind(("127.0.0.1", 0))
        silent.settimeout(20)
        w = build(records=records("www", "127.0.1.1"), specs={
            "@": WIDE, "www": spec(
                ("127.0.1.1", {"type": "http", "port": web.port,
                               "followRedirects": 1}),
                defaults={**FAST, "timeout": "8s"})})
        w.configure(allow=OPEN)
        resolve_at(w, "127.0.0.1:%d" % silent.getsockname()[1])
        with Service(w) as s:
            while b"\x03far\x07example\x03net" not in silent.recv(4096):
                pass  # the zone's servers are known by the agent's file
            assert s.stop() == 0
            assert (s.out, s.err) == ([], [])


# -- names -----


@pytest.mark.parametrize("name, why", [
    ("inside", "10.0.0.1 is private"), ("mapped", "::ffff:10.0.0.1 is private"),
    ("mixed", "10.0.0.1 is private")])
def test_name_that_leads_to_where_it_may_not(build, name, why):
    """What a CNAME's target resolves to is held to the limits at each
    probe; one address that may be probed and is dead does not make it
    down."""
    w = build(records=f"www 60 IN CNAME {name}\n{NAMES}"
              "mixed IN A 127.0.1.1\nmixed IN A 10.0.0.1", specs={
                  "@": WIDE, "www": spec(
                      {"data": f"{name}.{ZONE}.", "check": 9},
                      defaults=FAST, fallbackRecords=[
                          {"data": f"ns.{ZONE}."}])})
    w.configure(allow=OPEN)
    resolve_at(w, w.ns.server)
    got = w.once()
    assert got.returncode == 1 and got.stdout == ""
    assert "could not be probed by this agent" in got.stderr
    assert why in got.stderr
    assert "to allow-targets in agent" in got.stderr
    with Service(w) as s:
        s.until("a while", over(1))
        assert (s.out, s.err) == ([], [])  # told already
        assert s.stop() == 0
    assert w.ns.values(f"www.{ZONE}.", "CNAME") == [f"{name}.{ZONE}."]


# -- a service, and limits that change -----


@pytest.fixture
def small(build, target):
    """A world with one good value, whose spec is looked for every second."""
    one = target("127.0.1.1")
    w = build(zones={ZONE: zone_text(ZONE, records("www", one), {
        "@": WIDE, "www": spec((one.addr, one.port), defaults=FAST)}).replace(
            "_failover.www IN", "_failover.www 1 IN").replace(
            "_failover IN", "_failover 1 IN")})
    w.configure(allow=OPEN)
    return w, one


BAD = {
    "private": (spec(("10.0.1.1", 443)), "10.0.1.1 is private; to allow it"),
    "mapped": (spec(("::ffff:10.0.1.1", 443)),
               "::ffff:10.0.1.1 is private; to allow it"),
    "target": (spec({"data": "192.0.2.1", "check": "tcp:1@169.254.169.254"}),
               "169.254.169.254 is a metadata address"),
    "period": (spec(("127.0.1.1", 443), defaults={"accessPeriod": "9ms"}),
               "accepted: 10ms or more (min-period"),
    "many": (rows(*((f"many.{ZONE}.", f"127.0.1.{i}", 443)
                    for i in range(1, 6))), "max-targets"),
    "active": (spec(("127.0.1.1", {"type": "http", "port": 80,
                                   "method": "POST"})), "allow-active"),
    "payload": (spec(("127.0.1.1", {"type": "udp", "port": 53,
                                    "send": "x"})), "allow-active"),
    "header": (spec(("127.0.1.1", {"type": "http", "port": 80, "headers": {
        "Authorization": "Basic eA=="}})), "allow-active"),
    "command": (spec(("127.0.1.1", "command:plugin")), "plugin"),
}


def known(lines):
    """Without what a look between an edit and the server's reload says."""
    return [x for x in lines if "nothing is published there yet" not in x]


def test_specs_beyond_the_limits(small):
    """Each is told once, the others work on; `once` says the same."""
    w, one = small
    w.configure(agent="  max-targets = 4")
    w.config.write_text(w.config.read_text() + 'command plugin { exec = '
                        '"/bin/false"\n  zones = {"example.net"} }\n')
    w.settle()
    with Service(w) as s:
        w.edit(lambda t: t + "".join(
            spec_lines(owner, text) + "\n" for owner, (text, _)
            in BAD.items()))
        s.until("all told", lambda: len(known(s.err)) >= len(BAD))
        s.until("a while", over(0.5))
        assert len(known(s.err)) == len(BAD), s.err
        for owner, (_, why) in BAD.items():
            line, = [x for x in known(s.err) if f"_failover.{owner}.{ZONE}" in x]
            assert why in line
        assert known(s.out) == []
        one.close()
        s.wait("becomes unavailable")
        assert s.stop() == 0
        said = sorted(known(s.err))
    w.state.unlink()
    got = w.once()
    assert got.returncode == 1
    assert sorted(x for x in got.stderr.splitlines()
                  if "never been up" not in x) == said
    assert w.values("www") == [one.addr]


def test_limits_that_change_while_it_runs(small, target):
    """SIGHUP takes a target's permission away and gives it back: neither is
    a reason to change DNS."""
    w, one = small
    w.settle()
    with Service(w) as s:
        w.configure(allow=["127.0.2.0/24"])
        s.hangup()
        s.wait("127.0.1.1 is loopback; to allow it")
        one.close()
        s.until("a while", over(1.5))
        assert not any("unavailable" in x for x in s.out), s.out
        assert w.values("www") == [one.addr]
        one.open()
        w.configure(allow=OPEN)
        s.hangup()
        s.wait("resolved: ")
        s.until("a while", over(0.5))
        assert w.values("www") == [one.addr]
        assert s.stop() == 0


def test_permissions_that_are_given_while_it_runs(small, tmp_path):
    """allow-active and a command's zones, by SIGHUP."""
    w, _ = small
    ran = tmp_path / "ran"
    plugin = tmp_path / "plugin"
    plugin.write_text(f"#!/bin/sh\ntouch {ran}\n")
    plugin.chmod(0o755)
    seen = []

    def answer(c, _):
        seen.append(read_request(c).split(" ")[0])
        c.sendall(OK)

    def configure(zone, active):
        w.configure(section=f"  allow-active = {active}")
        w.config.write_text(
            w.config.read_text() + f'command plugin {{ exec = "{plugin}"\n'
            f'  zones = {{"{zone}"}} }}\n')

    with Server(answer, addr="127.0.1.2") as web:
        w.spec("www", spec(("127.0.1.1", {"type": "http", "port": web.port,
                                          "target": "127.0.1.2",
                                          "method": "POST"})))
        w.spec("other", spec({"data": "127.0.1.1",
                              "check": "command:plugin"}))
        configure("example.net", "no")
        with Service(w) as s:
            s.wait("allow-active")
            s.wait("plugin")
            s.until("a while", over(0.5))
            assert seen == [] and not ran.exists()
            configure(ZONE, "yes")
            s.hangup()
            s.until("both run", lambda: "POST" in seen and ran.exists())
            assert s.stop() == 0


# -- the pace -----


@pytest.mark.parametrize("command", ["once", "run"])
def test_one_probe_for_each_address_and_tenth_of_a_second(build, command):
    """Ten checks of one address, all due at once and all failing; a second
    address is not held up by them."""
    came = collections.defaultdict(list)

    def answer(c, _):
        came[c.getsockname()[0]].append(time.monotonic())
        read_request(c)
        c.sendall(b"HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n")

    with Server(answer, addr="0.0.0.0") as s:
        w = build(records=records("www", "127.0.1.1", "127.0.1.2"), specs={
            "@": WIDE, "www": spec(
                ("127.0.1.1", [f"http:{s.port}/{i}" for i in range(10)]),
                ("127.0.1.2", f"http:{s.port}/x"),
                defaults={**FAST, "timeout": "2s", "requiredFailure": 3})})
        w.configure(allow=OPEN)
        start = time.monotonic()
        if command == "once":
            w.once()
        else:
            with Service(w) as service:
                service.until("a while", over(2.5))
                assert service.stop() == 0
        took = time.monotonic() - start
    many, one = came["127.0.1.1"], came["127.0.1.2"]
    assert 15 <= len(many) <= took * 10 + 1
    # Each arrival may be seen late on a busy machine: over a second it shows.
    for i in range(len(many) - 10):
        assert many[i + 10] - many[i] > 0.75
    assert one[1] - one[0] < 1


def test_redirects_keep_the_pace_of_the_address_they_lead_to(build):
    """Eight checks of as many addresses, each sent on to the same ninth."""
    came = []

    def end(c, _):
        came.append(time.monotonic())
        read_request(c)
        c.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

    with Server(end, addr="127.0.1.99") as last:
        def answer(c, _):
            read_request(c)
            c.sendall(b"HTTP/1.1 302 On\r\nContent-Length: 0\r\n"
                      + f"Location: http://127.0.1.99:{last.port}/\r\n\r\n".encode())

        with Server(answer, addr="0.0.0.0") as s:
            addresses = [f"127.0.1.{i}" for i in range(1, 9)]
            check = {"type": "http", "port": s.port, "followRedirects": 1}
            w = build(records=records("www", *addresses), specs={
                "@": WIDE, "www": spec(
                    *((a, check) for a in addresses),
                    defaults={**FAST, "timeout": "5s", "requiredFailure": 1})})
            w.configure(allow=OPEN)
            w.once()
    assert len(came) >= 8
    # Each arrival may be seen late on a busy machine: over all it shows.
    assert came[-1] - came[0] > 0.08 * (len(came) - 1)
