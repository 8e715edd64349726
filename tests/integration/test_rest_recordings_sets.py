"""Recorded sessions of Hetzner, deSEC, Gandi and DigitalOcean, replayed.

They were recorded with another client: what differs in its paths (zones by
id, a doubled slash) is moved to where this one asks."""

import contextlib
import json

import pytest

from rest_help import states, tool, values  # noqa: F401
from restapi.replay import Replay
from test_rest_recordings import expected

ZONE = "example.net"
# kind: where its records stand, recorded and asked for
KINDS = {
    "hetzner": ("/v1/zones/53091/rrsets", "/v1/zones/example.net/rrsets"),
    "desec": ("/api/v1/domains/example.net/rrsets/",) * 2,
    "gandi": ("/v5/livedns/domains/example.net/records",) * 2,
    "digitalocean": ("/v2/domains/example.net/records",) * 2,
}


@pytest.fixture
def session(shared):
    with contextlib.ExitStack() as stack:
        def start(kind, name):
            path = shared / "providers" / "recordings" / kind / f"{name}.json"
            if not path.exists():
                pytest.skip(f"no recorded {kind}/{name}")
            server = stack.enter_context(Replay(path))
            old, new = KINDS[kind]
            if old != new:
                server.move(old, new)
            # not part of the sessions, written by hand
            server.answers[("GET", "/api/v1/domains/")] = [
                {"status": 200, "headers": {}, "body": json.dumps(
                    [{"name": ZONE, "minimum_ttl": 3600}])}]
            return server, {"token": "TOKEN", "url": server.url}
        yield start


def items_of(kind, bodies):
    """(name relative, type, value) of each recorded value."""
    if kind == "hetzner":
        sets = [s for b in bodies for s in b["rrsets"]]
        return [(s["name"], s["type"], r["value"]) for s in sets
                for r in s["records"]]
    if kind == "digitalocean":
        return [(r["name"], r["type"], r["data"]) for b in bodies
                for r in b["domain_records"]]
    name, rdtype, records = {
        "desec": ("subname", "type", "records"),
        "gandi": ("rrset_name", "rrset_type", "rrset_values")}[kind]
    return [(s[name], s[rdtype], v) for b in bodies for s in b
            for v in s[records]]


@pytest.mark.parametrize("kind", KINDS)
def test_list(tool, session, kind):  # noqa: F811
    server, options = session(kind, "list-all")
    # each page once, however often it was asked for
    bodies = list({json.dumps(b): b for b in server.bodies(
        KINDS[kind][1].rstrip("/"))
        + server.bodies(KINDS[kind][1])}.values())
    items = [("" if n == "@" else n, t, v)
             for n, t, v in items_of(kind, bodies)]
    if kind == "gandi":  # as in a master file: without a dot it is relative
        items = [(n, t, f"{v}.{ZONE}" if t == "CNAME" and v[-1] != "." else v)
                 for n, t, v in items]
    want = expected(items, ZONE, relative=True)
    names = {k.split()[0] for k in want} | {f"x{i}.{ZONE}" for i in range(5)}
    got = tool(kind, options, "records", ZONE, *sorted(names))
    assert want and values(got[0]) == want


@pytest.mark.parametrize("kind", KINDS)
def test_zone_not_found(tool, session, kind):  # noqa: F811
    server, options = session(kind, "zone-not-found")
    (_, path), (answer, *_) = next(
        ((k, v) for k, v in server.answers.items() if "missing" in k[1]))
    for tail in ("records", "rrsets", "rrsets/"):
        server.answers[("GET", f"{path.rstrip('/')}/{tail}")] = [answer]
    got = tool(kind, options, "records", "missing.example",
               "www.missing.example", code=1)
    assert got[0]["err"] == "notFound" and "missing.example" in got[0]["text"]


def test_hetzner_waits_for_the_action(tool, session):  # noqa: F811
    """The recorded action, once running and then at its end."""
    server, options = session("hetzner", "create-a")
    rrsets = KINDS["hetzner"][1]
    begun = server.answers[("POST", f"{rrsets}/localhost/A/actions/"
                            "add_records")]
    server.answers[("POST", rrsets)] = begun
    poll = next(k for k in server.answers if "/zones/actions/" in k[1])
    server.answers[poll] = [server.answers[poll][0], server.answers[poll][-1]]
    assert '"running"' in server.answers[poll][0]["body"]
    # a list that is empty is not believed: the zone's other records
    server.answers[("GET", rrsets)] = [
        {"status": 200, "headers": {}, "body": json.dumps({"rrsets": [
            {"name": "@", "type": "A", "ttl": 3600,
             "records": [{"value": "192.0.2.1", "comment": ""}]}]})}]
    got = tool("hetzner", options, "create", ZONE, "publish",
               f"localhost.{ZONE}", "A", "127.0.0.1", "3600")
    assert states(got[0]) == ["done"]
    assert server.calls().count(f"GET {poll[1]}") == 2
    assert [json.loads(r.text) for r in server.requests
            if r.method == "POST"] == [
        {"name": "localhost", "type": "A", "ttl": 3600,
         "records": [{"value": "127.0.0.1"}]}]
