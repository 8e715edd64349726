"""The resolver against BIND, Knot and NSD, through tests/tools/lookup."""

import json
import shutil
import tempfile

import dns.flags
import pytest

import net
import servers
from resolver_help import (
    ALL, HEAD, Fake, UdpOnly, long_txt, lookup, need, texts,
)  # noqa: F401

ZONE = HEAD + r"""
two IN TXT "a" "" "b\000\255" "c"
_failover.two IN TXT "a" "" "b\000\255" "c"
_failover.several 60 IN TXT "one"
_failover.several 60 IN TXT "two" "three"
_failover.alias IN CNAME _failover.several
_failover.Upper IN TXT "case"
*.wild IN TXT "from the wildcard"
child IN NS ns.child
ns.child IN A 127.0.0.1
addr IN A 192.0.2.1
addr IN A 192.0.2.2
addr IN AAAA 2001:db8::1
"""


@pytest.fixture(scope="module", params=ALL, ids=lambda k: k.__name__)
def ns(request, tmp_path_factory):
    """One server of each kind with ZONE and the long records."""
    need(request.param)
    directory = tempfile.mkdtemp(prefix="df-")
    zone = ZONE + long_txt("_failover.k1", 1000)[0]
    zone += long_txt("_failover.k2", 2000)[0]
    zone += long_txt("_failover.k60", 60000)[0]
    try:
        with request.param(directory, {"example.test": zone}) as server:
            yield server
    finally:
        shutil.rmtree(directory, ignore_errors=True)


# --- found, gone ------------------------------------------------------------


def test_strings_are_kept_as_they_are(ns, lookup):
    a = lookup("ask", ns.server, "two.example.test", "TXT")
    assert a["outcome"] == "found"
    assert a["txts"] == [["61", "", "6200ff", "63"]]
    assert a["server"] == ns.server


def test_several_records_and_ttl(ns, lookup):
    a = lookup("txt", ns.server, "several.example.test")
    assert a["outcome"] == "found"
    assert texts(a) == [b"one", b"twothree"]
    assert a["ttl_s"] == 60
    assert a["owner"] == "several.example.test."


def test_case_does_not_matter(ns, lookup):
    a = lookup("txt", ns.server, "uPPer.Example.TEST.")
    assert a["outcome"] == "found"
    assert a["owner"] == "upper.example.test."
    assert texts(a) == [b"case"]


@pytest.mark.parametrize("owner,size", [
    ("k1", 1000), ("k2", 2000), ("k60", 60000),
])
def test_long_txt(ns, lookup, owner, size):
    a = lookup("txt", ns.server, f"{owner}.example.test")
    assert a["outcome"] == "found", a
    assert texts(a) == [long_txt(owner, size)[1]]


def test_truncated_over_udp_is_asked_over_tcp(ns, lookup):
    """The server does truncate the answer that we get whole."""
    q = ns.query("_failover.k2.example.test", "TXT", use_edns=0, payload=1232)
    assert q.flags & dns.flags.TC
    a = lookup("txt", ns.server, "k2.example.test")
    assert texts(a) == [long_txt("k2", 2000)[1]]


def test_nxdomain_and_nodata_are_gone(ns, lookup):
    a = lookup("txt", ns.server, "nothing.example.test")
    assert a["outcome"] == "gone"
    assert "NXDOMAIN" in a["error"] and ns.server in a["error"]
    a = lookup("ask", ns.server, "addr.example.test", "TXT")
    assert a["outcome"] == "gone"
    assert a["error"] == f"no TXT at addr.example.test., says {ns.server}"
    assert a["code"] == "notFound"


def test_cname_is_not_followed(ns, lookup):
    a = lookup("txt", ns.server, "alias.example.test")
    assert a["outcome"] == "gone"
    assert "CNAME" in a["error"]
    assert a["txts"] == []


def test_wildcard_counts_as_it_is(ns, lookup):
    a = lookup("ask", ns.server, "x.wild.example.test", "TXT")
    assert a["outcome"] == "found"
    assert texts(a) == [b"from the wildcard"]


def test_addresses_and_serial(ns, lookup):
    a = lookup("ask", ns.server, "addr.example.test", "A")
    assert sorted(a["addrs"]) == ["192.0.2.1:0", "192.0.2.2:0"]
    assert a["addrs_ttl_s"] == 30
    a = lookup("ask", ns.server, "addr.example.test", "AAAA")
    assert a["addrs"] == ["[2001:db8::1]:0"]
    a = lookup("ask", ns.server, "example.test", "SOA")
    assert a["serial"] == 7


# --- failed -------------------------------------------------------------------


def test_referral_fails(ns, lookup):
    a = lookup("txt", ns.server, "www.child.example.test")
    assert a["outcome"] == "failed"
    assert "not authoritative" in a["error"]
    assert "other name servers" in a["error"]


def test_refused_is_named(ns, lookup):
    a = lookup("txt", ns.server, "www.elsewhere.test")
    assert a["outcome"] == "failed"
    assert a["error"] == (
        f"{ns.server} says REFUSED for _failover.www.elsewhere.test."
    )


@pytest.mark.parametrize("kind", [servers.Bind, servers.Nsd],
                         ids=lambda k: k.__name__)
def test_servfail_is_named(kind, lookup, short_dir):
    need(kind)
    with kind(short_dir, {"example.test": ZONE, "broken.test": "nonsense\n"},
              broken={"broken.test"}) as server:
        a = lookup("txt", server.server, "www.broken.test")
    assert a["outcome"] == "failed"
    assert a["error"] == (
        f"{server.server} says SERVFAIL for _failover.www.broken.test."
    )


def test_server_gone(lookup):
    server = f"127.0.0.1:{net.free_port()}"
    a = lookup("txt", server, "www.example.test")
    assert a["outcome"] == "failed"
    assert a["error"] == f"{server} refused the connection"
    assert a["code"] == "retry"


def test_next_server_is_asked(ns, lookup):
    dead = f"127.0.0.1:{net.free_port()}"
    a = lookup("txt", dead, ns.server, "several.example.test")
    assert a["outcome"] == "found"
    assert a["server"] == ns.server
    a = lookup("txt", dead, ns.server, "several.elsewhere.test")
    assert a["outcome"] == "failed"
    assert f"{dead} refused the connection; {ns.server} says REFUSED" in a["error"]


def test_first_answer_decides(ns, lookup):
    dead = f"127.0.0.1:{net.free_port()}"
    a = lookup("txt", ns.server, dead, "nothing.example.test")
    assert a["outcome"] == "gone"


def test_bad_names_fail_later(ns, lookup):
    for name in ("a..b", "a\\.b", "x" * 64 + ".test"):
        a = lookup("ask", ns.server, name, "TXT")
        assert (a["outcome"], a["code"]) == ("failed", "input")
    long = ".".join(["x" * 61] * 4)
    a = lookup("txt", ns.server, long)
    assert (a["outcome"], a["code"]) == ("failed", "input")


def test_environment_has_no_say(ns, lookup):
    """T8: neither a search list nor options from outside."""
    env = {"LOCALDOMAIN": "wild.example.test corp.test",
           "RES_OPTIONS": "ndots:5 retrans:1 retry:1 rotate",
           "HOSTALIASES": "/dev/null"}
    a = lookup("txt", ns.server, "x", env=env)
    assert a["outcome"] == "failed" and "REFUSED for _failover.x." in a["error"]
    a = lookup("txt", ns.server, "several.example.test", env=env)
    assert a["outcome"] == "found"


def test_ipv6_server(lookup, short_dir):
    need(servers.Nsd)
    try:
        net.free_port("::1")
    except OSError:
        pytest.skip("no ::1 on this machine")
    zone = ZONE + long_txt("_failover.k2", 2000)[0]
    with servers.Nsd(short_dir, {"example.test": zone}, addr="::1",
                     axfr=True) as server:
        a = lookup("txt", server.server, "k2.example.test")
        b = lookup("axfr", server.server, "example.test")
    assert a["outcome"] == "found", a
    assert a["server"] == f"[::1]:{server.port}"
    assert "k2.example.test." in b["owners"]


# --- cases T1, T3 and T8 ------------------------------------------------------


def case_zone(shared, name):
    return (shared / "cases" / "files" / "dns" / name).read_text()


def test_t1_split(lookup, shared, short_dir):
    need(servers.Bind)
    zone = case_zone(shared, "t1-split.zone")
    with servers.Bind(short_dir, {"example.test": zone}) as server:
        a = lookup("txt", server.server, "www.example.test")
    assert [len(s) // 2 for s in a["txts"][0]].count(0) == 1
    spec = json.loads(texts(a)[0])
    assert spec["checks"][0]["type"] == "tcp"
    assert spec["checks"][0]["port"] == 8080


def test_t3_many(lookup, shared, short_dir):
    need(servers.Bind)
    zone = case_zone(shared, "t3-many.zone")
    with servers.Bind(short_dir, {"example.test": zone}) as server:
        a = lookup("txt", server.server, "www.example.test")
        with UdpOnly(server) as relay:
            b = lookup("txt", relay.server, "www.example.test")
    assert a["outcome"] == "found"
    assert len(texts(a)) == 9
    specs = [json.loads(t) for t in texts(a) if t.startswith(b"{")]
    assert len(specs) == 7
    assert len({json.dumps(s, sort_keys=True) for s in specs}) == 6
    assert b["outcome"] == "failed"
    assert b["error"] == f"{relay.server} refused the connection over TCP"


def test_t8_search_list(lookup, shared, short_dir):
    need(servers.Bind)
    zones = {"corp.test": case_zone(shared, "t8-corp.zone"),
             "example.test": HEAD}
    env = {"LOCALDOMAIN": "corp.test", "RES_OPTIONS": "ndots:5"}
    with servers.Bind(short_dir, zones) as server:
        a = lookup("txt", server.server, "www.example.test", env=env)
        b = lookup("lookup", server.server, "gone.example.test", "A", env=env)
        with Fake(lambda q, tcp: None) as fake:
            lookup("lookup", fake.server, "gone.example.test", "A", env=env,
                   timeout_ms=50)
    assert a["outcome"] == "gone" and "NXDOMAIN" in a["error"]
    assert b["outcome"] == "gone" and "NXDOMAIN" in b["error"]
    asked = {q.question[0].name.to_text() for q, _ in fake.seen}
    assert asked == {"gone.example.test."}


# --- many at once ----------------------------------------------------------------


@pytest.mark.parametrize("kind", ALL, ids=lambda k: k.__name__)
def test_2000_lookups_without_loss(kind, lookup, short_dir):
    """Answers of about 1,100 bytes: at more than 100 in flight a receive
    buffer overflows. One try: a lost answer would show."""
    need(kind)
    zone = HEAD + "".join(
        long_txt(f"n{i}", 1000)[0] for i in range(2000)
    )
    with kind(short_dir, {"example.test": zone}) as server:
        a = lookup("-n", 1, "many", server.server, 2000, "n%u.example.test",
                   "TXT", timeout_ms=5000)
    assert (a["found"], a["failed"]) == (2000, 0), a


@pytest.mark.parametrize("kind", ALL, ids=lambda k: k.__name__)
def test_500_lookups_over_tcp(kind, lookup, short_dir):
    need(kind)
    zone = HEAD + "".join(long_txt(f"n{i}", 3000)[0] for i in range(500))
    with kind(short_dir, {"example.test": zone}) as server:
        a = lookup("-n", 1, "many", server.server, 500, "n%u.example.test",
                   "TXT", timeout_ms=5000)
    assert (a["found"], a["failed"]) == (500, 0), a
