"""Acceptance cases P2, P3, P5, T8, R10, R18 and R22 of public bug reports, on
the program itself."""

import contextlib
import json
import os
import resource
import subprocess
import sys
import time

import dns.flags
import dns.message
import dns.query
import dns.rdatatype
import pytest

import net
from netns import drop_128, own_net
from probe_help import (Authority, Server, hang, openssl, read_request, sends)
from resolver_help import Fake
from service import FAST, Service, over
from test_probe_icmp import LIAR
from world import build, records, spec, target, zone_text

# pytest finds fixtures by their names here.
assert own_net and build and target

ZONE = "example.test"
WWW = f"www.{ZONE}."
ONE, TWO = "127.0.0.2", "127.0.0.3"
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
TIMES = {"timeout": "1s", "retryPeriod": "100ms", "accessPeriod": "1s"}


@pytest.fixture
def case(build):
    """case(records, specs) → a world whose zone is example.test; its server
    is the agent's resolver, too."""

    def make(text, specs, extra="", **how):
        w = build(zones={ZONE: zone_text(ZONE, text + "\n" + extra, specs)},
                  **how)
        resolve_at(w, w.ns.server)
        return w

    return make


def resolve_at(w, server):
    w.config.write_text(w.config.read_text() +
                        f'resolver {{ servers = {{"{server}"}} }}\n')


def cname(data, check, **more):
    """A spec with one value, a name."""
    return json.dumps({"defaults": {"requiredSuccess": 1, "requiredFailure": 1,
                                    **TIMES},
                       "records": [{"data": data, "check": check}], **more})


def checks(got, text):
    """The lines of -v about checks that hold text."""
    return [x for x in got.stdout.splitlines()
            if x.startswith("  check ") and text in x]


# -- P2 -----


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("ca"))


class Sni:
    """A TLS context with a certificate for one name and another one for all
    the rest; remembers the names it was asked for."""

    def __init__(self, authority, name):
        self.seen = []
        right = authority.context([name])
        self.tls = authority.context([f"not-{name}"])

        def choose(sock, asked, _):
            self.seen.append(asked)
            if asked == name:
                sock.context = right
        self.tls.sni_callback = choose


def moved(to):
    return (f"HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n"
            .encode())


def test_p2_redirect_to_another_host_over_tls(case, authority):
    a, b = Sni(authority, f"a.{ZONE}"), Sni(authority, f"b.{ZONE}")
    asked = []

    def second(c, _):
        asked.append(read_request(c))
        c.sendall(OK)

    env = {"SSL_CERT_FILE": str(authority.ca)}
    with Server(second, tls=b.tls, addr=TWO) as sb, \
            Server(sends(moved(f"https://b.{ZONE}:{sb.port}/ok"), read=True),
                   tls=a.tls, addr=ONE) as sa:

        def probed(**how):
            check = {"type": "https", "port": sa.port, "host": f"a.{ZONE}",
                     **how}
            w = case(records("www", ONE), {"www": spec(
                (ONE, check), defaults=TIMES)}, f"b IN A {TWO}")
            got = w.once("-v", env=env)
            assert got.returncode == 0, got.stdout + got.stderr
            return checks(got, "https")

        on, = probed(followRedirects=1)
        assert on.endswith(": up"), on
        assert set(b.seen) == {f"b.{ZONE}"}
        assert all(r.startswith("GET /ok HTTP/1.1\r\n") and
                   f"\r\nHost: b.{ZONE}:{sb.port}\r\n" in r for r in asked)
        asked.clear()
        off, = probed()  # 302 is among 200 to 399
        assert off.endswith(": up"), off
        strict, = probed(status="200-299")
        assert "status 302" in strict and strict.endswith(": down"), strict
        assert asked == []
        assert set(a.seen) == {f"a.{ZONE}"}


def test_p2_ten_redirects_in_a_ring(case):
    with Server(lambda c, n: (read_request(c),
                              c.sendall(moved(f"/{n % 10}"))), addr=ONE) as s:
        w = case(records("www", ONE), {"www": spec(
            (ONE, {"type": "http", "port": s.port, "followRedirects": 4}),
            defaults=TIMES)})
        got = w.once("-v")
        line, = checks(got, "http")
        assert "more than 4 redirects" in line and line.endswith(": down")
        assert s.count == 5


# -- P3 -----


def test_p3_something_that_is_not_http(case, shared):
    files = sorted((shared / "cases" / "files" / "probe").glob("p3-*.raw"))
    handlers = {f.name: sends(f.read_bytes()) for f in files}
    handlers["closes at once"] = lambda c, _: None
    handlers["stays open"] = sends(
        (files[0].parent / "p3-ssh.raw").read_bytes(), then="hang")
    running = {n: Server(h, addr=f"127.0.1.{i + 1}")
               for i, (n, h) in enumerate(handlers.items())}
    addr = {n: f"127.0.1.{i + 1}" for i, n in enumerate(handlers)}
    for s in running.values():
        s.__enter__()
    try:
        w = case(records("www", *addr.values()), {"www": spec(*[
            (addr[n], {"type": "http", "port": s.port})
            for n, s in running.items()],
            defaults={**TIMES, "timeout": "5s"})},
            '_failover IN TXT "{\\"maxChange\\":\\"100%\\"}"')
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        start = time.monotonic()
        got = w.once("-v")
        took = time.monotonic() - start
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    finally:
        for s in running.values():
            s.__exit__()
    assert got.returncode in (0, 1), got.stderr
    for name, a in addr.items():
        line, = [x for x in checks(got, "http") if f"check {a} " in x]
        if name == "p3-good.raw":
            assert line.endswith(": up"), line
            continue
        assert line.endswith(": down"), line
        assert "not HTTP" in line or "closed early" in line, (name, line)
        assert "status 20" not in line, line
    assert w.values("www") == [addr["p3-good.raw"]]
    assert took < 5  # nobody waited for a time limit
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    assert cpu_s < 0.050 * len(handlers)


# -- P5 -----


@contextlib.contextmanager
def lying(how):
    """Somebody who answers echo requests to 127.128/16, once he is there."""
    liar = subprocess.Popen([sys.executable, "-c", LIAR, how, "cat"],
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        liar.stdin.write(b"there?\n")
        liar.stdin.flush()
        assert liar.stdout.readline() == b"there?\n"
        yield
    finally:
        liar.stdin.close()
        assert liar.wait(10) == 0
        liar.stdout.close()


@pytest.mark.parametrize("how", ["other-source", "token", "id", "seq", "late",
                                 "unreachable-other"])
def test_p5_ping_reply_meant_for_another(own_net, case, how):
    drop_128(own_net)
    dead = "127.128.1.1"
    with lying(how):
        w = case(records("www", "127.0.0.1", dead), {"www": spec(
            ("127.0.0.1", "icmp"), (dead, "icmp"),
            defaults={**TIMES, "timeout": "200ms", "requiredFailure": 3})})
        got = w.once("-v")
    alive, = checks(got, " 127.0.0.1 ")
    assert alive.endswith(": up"), got.stdout
    line, = checks(got, f" {dead} ")
    assert "icmp timeout" in line and line.endswith(": down"), line
    assert w.values("www") == ["127.0.0.1"]


def test_p5_the_same_reply_twice(own_net, case):
    """Three replies in a row are asked for: as many probes are sent."""
    drop_128(own_net)
    with lying("good"):
        w = case(records("www", "127.0.0.1", "127.128.1.1"), {"www": spec(
            ("127.0.0.1", "icmp"), ("127.128.1.1", "icmp"),
            defaults={**TIMES, "requiredSuccess": 3})})
        start = time.monotonic()
        got = w.once("-v")
        took = time.monotonic() - start
    assert len(checks(got, "icmp ok: up")) == 2, got.stdout
    assert took >= 0.2  # three probes, 100 ms apart


# -- T8 -----


def test_t8_search_list(own_net, case, agent, shared, short_dir):
    files = shared / "cases" / "files" / "dns"
    own_net("ip address add 192.0.2.66/32 dev lo")
    corp = (files / "t8-corp.zone").read_text()
    # The system's own resolv.conf, for this program only.
    wrapper = short_dir / "agent"
    wrapper.write_text(
        "#!/bin/sh\nexec unshare -m sh -ec 'mount --bind "
        f'{files}/t8-resolv.conf /etc/resolv.conf; exec "$@"\' sh '
        f'{agent.path} "$@"\n')
    wrapper.chmod(0o755)
    with net.Listener("192.0.2.66") as wrong:
        w = case("www 60 IN CNAME gone.example.test.", {
            "@": json.dumps({"names": ["www", "other"]}),
            "other": cname("gone.example.test.", f"tcp:{wrong.port}")},
            "other 60 IN CNAME gone.example.test.")
        w.configure(allow=["127.0.0.0/8", "192.0.2.66"], discover="names")
        w.ns.stop()
        w.ns._add_zone("corp.test", corp)
        w.ns._prepare()
        w.ns.start()

        def pass_on(q, tcp):
            ask = dns.query.tcp if tcp else dns.query.udp
            return ask(q, w.ns.addr, port=w.ns.port, timeout=5)

        with Fake(pass_on) as resolver:
            resolve_at(w, resolver.server)
            w.agent = type(agent)(wrapper)
            got = w.once("-v", env={"LOCALDOMAIN": "corp.test",
                                    "RES_OPTIONS": "ndots:5"})
        asked = {q.question[0].name.to_text().lower()
                 for q, _ in resolver.seen}
        assert wrong.accepts == 0
    assert "gone.example.test." in asked
    assert not any("corp.test" in name for name in asked), asked
    line, = checks(got, "gone.example.test")
    assert "no such name" in line and line.endswith(": down"), line
    assert not any("_failover.www" in x for x in got.stdout.splitlines()
                   if "spec" in x), got.stdout


# -- R10 -----


class Counting:
    """An HTTP server that counts the paths it is asked for."""

    def __init__(self, addr):
        self.paths = []
        self.server = Server(self.answer, addr=addr)

    def answer(self, c, _):
        self.paths.append(read_request(c).split(" ")[1])
        c.sendall(OK)


def test_r10_changed_spec(case):
    """The service stops asking the old URL; status has forgotten it."""
    site = Counting(ONE)
    with site.server as s:
        def text(path):
            return spec((ONE, f"http:{s.port}{path}"), defaults=FAST)
        w = case(records("www", ONE), {"www": text("/old")})
        w.edit(lambda t: t.replace("_failover.www IN", "_failover.www 1 IN"))
        with Service(w) as run:
            run.until("the old URL", lambda: len(site.paths) > 3)
            w.spec("www", text("/new"))
            run.until("the new URL", lambda: "/new" in site.paths)
            at = len(site.paths)
            run.until("a while", over(1.5))
            assert set(site.paths[at + 1:]) == {"/new"}
            assert run.stop() == 0
        _, whole = w.status()
        assert "/old" not in json.dumps(whole)


def test_r10_spec_that_is_gone(case):
    """Nobody asks any more after two rounds that saw it gone; status, too,
    has forgotten it."""
    site = Counting(ONE)
    with site.server as s:
        w = case(records("www", ONE), {"www": spec(
            (ONE, f"http:{s.port}/old"), defaults=TIMES)})
        w.settle()
        assert "/old" in site.paths
        w.spec("www", None)
        w.once()
        w.once()
        site.paths.clear()
        w.once()
        assert site.paths == []
    records_, whole = w.status()
    assert records_ == {} and "/old" not in json.dumps(whole)


# -- R18 -----


@pytest.mark.parametrize("dead", ["refuses", "hangs"])
def test_r18_dead_aaaa_and_good_a(case, target, dead):
    """The check is up if any address answers, whatever the other does."""
    good = target("127.0.0.2")
    six = net.Listener("::1", port=good.port, hang=dead == "hangs")
    with six:
        if dead == "refuses":
            six.close()
        w = case("www 60 IN CNAME host", {
            "www": cname(f"host.{ZONE}.", good.port)},
            f"host IN A {ONE}\nhost IN AAAA ::1")
        start = time.monotonic()
        got = w.once("-v")
        took = time.monotonic() - start
        line, = checks(got, "host")
        assert line.endswith(": up"), got.stdout
        assert took < 3  # the time limit of the probe, and the round's own
        good.close()
        got = w.once("-v")
        line, = checks(got, "host")
        assert line.endswith(": down"), got.stdout


def half(w):
    """A resolver's answers, but for the IPv4 address of host: it fails."""
    def answer(q, tcp):
        if (q.question[0].rdtype == dns.rdatatype.A and
                q.question[0].name.to_text() == f"host.{ZONE}."):
            r = dns.message.make_response(q)
            r.set_rcode(dns.rcode.SERVFAIL)
            return r
        return dns.query.udp(q, w.ns.addr, port=w.ns.port, timeout=5)

    return answer


def test_r18_address_that_could_not_be_looked_up(case, target):
    """One family's look-up fails and the other's address is dead: nobody
    knows, so nothing is down."""
    good = target("127.0.0.2")
    w = case("www 60 IN CNAME host", {"www": cname(f"host.{ZONE}.",
                                                   good.port)},
             f"host IN A {ONE}\nhost IN AAAA ::1")

    with Fake(half(w)) as resolver:
        w.configure()
        resolve_at(w, resolver.server)
        got = w.once("-v")
    assert got.returncode == 1
    line, = [x for x in got.stderr.splitlines() if "could not be probed" in x]
    assert "some of its addresses could not be looked up" in line
    assert line.endswith("its state stays unknown"), line
    assert w.ns.values(WWW, "CNAME") == [f"host.{ZONE}."]


def test_r18_redirect_to_what_could_not_be_looked_up(case, target):
    """The same of a redirect's host; its own target is well."""
    def answer(c, _):
        read_request(c)
        c.sendall(b"HTTP/1.1 302 On\r\nContent-Length: 0\r\n"
                  b"Location: http://host." + ZONE.encode() + b":%d/\r\n\r\n"
                  % dead.port)

    dead = target("127.0.0.3")
    dead.close()
    with Server(answer, addr="127.0.0.2") as s:
        w = case("www 60 IN A 127.0.0.2", {"www": spec(("127.0.0.2", {
            "type": "http", "port": s.port, "followRedirects": 1}))},
            f"host IN A {ONE}\nhost IN AAAA ::1")

        with Fake(half(w)) as resolver:
            w.configure()
            resolve_at(w, resolver.server)
            got = w.once("-v")
    line, = [x for x in got.stderr.splitlines() if "could not be probed" in x]
    assert "not all addresses could be looked up" in line
    assert w.ns.values(WWW, "A") == ["127.0.0.2"]


# -- R22 -----


def test_r22_forty_addresses(case, target):
    """Only the last of them lives."""
    good = target("127.0.1.40")
    many = "\n".join(f"host IN A 127.0.1.{i}" for i in range(1, 41))
    w = case("www 60 IN CNAME host", {"www": cname(f"host.{ZONE}.",
                                                   good.port)}, many)
    got = w.once("-v")
    line, = checks(got, "host")
    assert line.endswith(": up"), got.stdout
    good.close()
    got = w.once("-v")
    line, = checks(got, "host")
    assert line.endswith(": down"), got.stdout


def test_r22_truncated_over_tcp(case, target):
    """What came is used."""
    good = target("127.0.1.40")
    w = case("www 60 IN CNAME host", {"www": cname(f"host.{ZONE}.",
                                                   good.port)},
             "host IN A 127.0.1.40")

    def cut(q, tcp):
        r = dns.query.udp(q, w.ns.addr, port=w.ns.port, timeout=5)
        r.flags |= dns.flags.TC
        if not tcp:
            r.answer = []
        return r

    with Fake(cut) as resolver:
        w.configure()
        resolve_at(w, resolver.server)
        got = w.once("-v")
    line, = checks(got, "host")
    assert line.endswith(": up"), got.stdout + got.stderr
