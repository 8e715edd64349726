"""Recorded sessions of the real APIs, replayed."""

import contextlib
import ipaddress

import pytest

from rest_help import states, tool, values  # noqa: F401
from restapi.replay import Replay

OURS = ("A", "AAAA", "CNAME")
OPTIONS = {
    "powerdns": {"api-key": "TOKEN"},
    "dnsimple": {"token": "TOKEN", "account": "731"},
    "cloudflare": {"token": "TOKEN"},
}


@pytest.fixture
def session(shared):
    """session("dnsimple", "list-all") → (server, options)"""
    with contextlib.ExitStack() as stack:
        def start(kind, name):
            path = shared / "providers" / "recordings" / kind / f"{name}.json"
            if not path.exists():
                pytest.skip(f"no recorded {kind}/{name}")
            server = stack.enter_context(Replay(path))
            return server, {**OPTIONS[kind], "url": server.url}
        yield start


def expected(items, zone, relative=False):
    """The sets that these items (name, type, content) make."""
    found = {}
    for name, rdtype, content in items:
        if rdtype not in OURS:
            continue
        name = name.rstrip(".")
        if relative:
            name = f"{name}.{zone}".lstrip(".")
        if rdtype == "CNAME":
            content = content.rstrip(".") + "."
        else:
            content = str(ipaddress.ip_address(content))
        found.setdefault(f"{name}. {rdtype}", {})[content] = True
    return found


def items_of(kind, bodies):
    if kind == "powerdns":
        return [(s["name"], s["type"], r["content"]) for b in bodies
                for s in b["rrsets"] for r in s["records"]]
    part = "data" if kind == "dnsimple" else "result"
    return [(r["name"], r["type"], r["content"]) for b in bodies
            for r in b[part] if r["type"] in OURS]


@pytest.mark.parametrize("kind, name, part, zone", [
    ("powerdns", "list-all", "/example.net.", "example.net"),
    ("dnsimple", "list-all", "/records", "example.net"),
    ("cloudflare", "list-all", "/dns_records", "example.net"),
    ("powerdns", "octodns-full-zone", "/unit.tests.", "unit.tests"),
    ("dnsimple", "octodns-pages", "/1010/zones/unit.tests/records",
     "unit.tests"),
    ("cloudflare", "octodns-records-pages", "/dns_records", "unit.tests"),
])
def test_list(tool, session, kind, name, part, zone):  # noqa: F811
    server, options = session(kind, name)
    bodies = server.bodies(part)
    if name == "octodns-pages":
        options["account"], bodies = "1010", bodies[:2]
    if name == "octodns-records-pages":
        options["zone-id"] = "ff12ab34cd5611334422ab3322997650"
    want = expected(items_of(kind, bodies), zone, kind == "dnsimple")
    names = {k.split()[0] for k in want} | {f"x{i}.{zone}" for i in range(5)}
    got = tool(kind, options, "records", zone, *sorted(names))
    assert want and values(got[0]) == want


@pytest.mark.parametrize("kind", OPTIONS)
def test_zone_not_found(tool, session, kind):  # noqa: F811
    _, options = session(kind, "zone-not-found")
    got = tool(kind, options, "records", "missing.example", "www."
               "missing.example", code=1)
    assert got[0]["err"] in ("notFound", "input")
    assert "missing.example" in got[0]["text"]


def test_zones_on_three_pages(tool, session):  # noqa: F811
    server, options = session("cloudflare", "octodns-zones-pages")
    names = [z["name"] for b in server.bodies("/zones") for z in b["result"]]
    got = tool("cloudflare", options, "zones")
    assert got[0]["zones"] == [f"{n}." for n in names if n.isascii()]
    assert len(server.requests) == 3


def test_powerdns_creates(tool, session):  # noqa: F811
    server, options = session("powerdns", "list-by-name")
    got = tool("powerdns", options, "create", "example.net", "publish",
               "new.example.net", "A", "127.0.0.1", "3600")
    assert states(got[0]) == ["done"]
    assert [r.text for r in server.requests if r.method == "PATCH"] == [
        '{"rrsets":[{"name":"new.example.net.","type":"A","ttl":3600,'
        '"changetype":"REPLACE","records":[{"content":"127.0.0.1",'
        '"disabled":false}]}]}']


def test_powerdns_switched_off_by_search(tool, session):  # noqa: F811
    """Answers of 4.7.3 itself."""
    _, options = session("powerdns", "live473-txt")
    got = tool("powerdns", options, "specs", "example.net")
    assert got[0]["specs"] == [{"owner": "www.example.net.",
                                "text": "v=failover1; owner=a"}]
    _, options = session("powerdns", "live473-disable-record")
    got = tool("powerdns", options, "records", "example.net",
               "www.example.net")
    assert values(got[0])["www.example.net. A"] == {
        "192.0.2.1": False, "192.0.2.2": True}
