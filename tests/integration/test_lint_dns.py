"""`lint` of names: what real name servers let it advise."""

import json

import dns.flags
import dns.message
import dns.query
import pytest

import servers
from lint_help import ONE, TWO, Said, padded, spec
from world import ZONE, build, records, rows, zone_text  # noqa: F401

KINDS = pytest.mark.parametrize("kind", [servers.Bind, servers.Nsd,
                                         servers.Knot])


# -- size and TTL -----


@pytest.mark.parametrize("kind", [servers.Nsd, servers.Knot])
def test_size_on_the_wire(build, kind):
    """The advice begins where the server's answer is cut, to the byte."""
    sizes = range(1150, 1170)
    w = build(kind=kind, records=records("www", ONE),
              specs={f"c{n}": padded(n) for n in sizes})
    w.configure(section="  cross-names = yes")
    cut = []
    for n in sizes:
        query = dns.message.make_query(
            f"_failover.c{n}.{ZONE}", "TXT", use_edns=0, payload=1232)
        answer = dns.query.udp(query, w.ns.addr, port=w.ns.port, timeout=5)
        cut.append(bool(answer.flags & dns.flags.TC))
    assert True in cut and False in cut
    got = w.run("lint", "--json", *(f"c{n}.{ZONE}" for n in sizes))
    warned = [[x["id"] for x in json.loads(line)["warnings"]]
              for line in got.stdout.splitlines()]
    assert [("txt-size" in ids) for ids in warned] == cut
    assert got.returncode == 0


def test_size_of_several_documents(build):
    """They come in one answer: none is long, all together are."""
    long = [json.dumps({"comment": "c" * 700, "records": [
        {"data": data, "check": 443}]}) for data in (ONE, TWO)]
    w = build(records=records("www", ONE), specs={"www": tuple(long),
                                                 "one": long[0]})
    got = w.run("lint", "--json", "www.example.org")
    assert Said(got).ids == ["txt-size"]
    assert Said(w.run("lint", "--json", "one.example.org")).ids == [
        "single-record"]


@KINDS
def test_ttl_that_stands_in_the_zone(build, kind):
    """The spec gives none, so the zone's stays."""
    two = "\n".join(records(n, ONE, TWO, ttl=t)
                    for n, t in (("www", 3600), ("ok", 300)))
    text = json.dumps(spec())
    w = build(kind=kind, records=two, specs={
        "www": text, "ok": text, "six": json.dumps({"records": [
            {"data": "2001:db8::1", "check": 443},
            {"data": "2001:db8::2", "check": 443}]}),
        "given": json.dumps(spec({"ttl": 60}))})
    w.edit(lambda z: z + "\n".join([
        records("six", "2001:db8::1", ttl=301),
        records("given", ONE, ttl=3600)]) + "\n")
    said = Said(w.run("lint", "--json", "www.example.org"))
    assert said.ids == ["ttl-long"]
    assert "stands in the zone with a TTL of 3600 s" in said.text("ttl-long")
    assert said.text("ttl-long").startswith(
        "_failover.www.example.org /records/0: www.example.org. A ")
    said = Said(w.run("lint", "--json", "six.example.org"))
    assert "six.example.org. AAAA stands" in said.text("ttl-long")
    for name in ("ok", "given"):
        assert Said(w.run("lint", "--json", f"{name}.{ZONE}")).ids == []


# -- what DNS says -----


def wildcard(build, kind, star="*", rest="", data="IN A 192.0.2.9",
             owner="www"):
    name = f"{owner}.{ZONE}."
    w = build(kind=kind, zones={ZONE: zone_text(
        ZONE, f"{star} 60 {data}\n{rest}", {owner: rows(
            (name, ONE, 443), (name, TWO, 443))})})
    return w, Said(w.run("lint", "--json", name))


@KINDS
@pytest.mark.parametrize("how", [
    {}, {"data": "IN AAAA 2001:db8::9"}, {"data": "IN CNAME ns"},
    {"owner": "a.b.c"}, {"owner": "a.b.c", "star": "*.c"},
])
def test_hidden_wildcard(build, kind, how):
    """The server itself shows it: what another name gets, this one does
    not."""
    w, said = wildcard(build, kind, **how)
    rdtype = how.get("data", "IN A").split()[1]
    owner = how.get("owner", "www")
    star = how.get("star", "*")
    assert w.values(f"other{star[1:]}", rdtype) != []
    assert w.values(owner, rdtype) == []
    assert said.ids == ["hides-wildcard"]
    assert said.text("hides-wildcard").startswith(
        f"_failover.{owner}.{ZONE} makes {owner}.{ZONE}. exist, and so "
        f"{star}.{ZONE}. no longer answers for it")


@KINDS
@pytest.mark.parametrize("how", [
    {"rest": "www 60 IN A 192.0.2.1"},
    {"rest": "www 60 IN AAAA 2001:db8::1"},
    {"rest": "www 60 IN CNAME ns"},
    {"rest": "www 60 IN TXT hello"},
    # The name above is there: the wildcard never answered below it.
    {"owner": "a.b.c", "rest": "b.c 60 IN A 192.0.2.1"},
    {"star": "*.other"},
])
def test_no_hidden_wildcard(build, kind, how):
    assert wildcard(build, kind, **how)[1].ids == []


@KINDS
def test_soa_minimum(build, kind):
    """By default 60 s; the answer that none is there is kept so long."""
    down = json.dumps(spec(allDown="none"))
    w = build(kind=kind, records=records("www", ONE) + "\n" + records(
        "keep", ONE), specs={"www": down, "keep": json.dumps(spec())})
    assert Said(w.run("lint", "--json", "www.example.org")).ids == []
    w.edit(lambda z: z.replace("604800 60 )", "604800 240 )"))
    said = Said(w.run("lint", "--json", "www.example.org"))
    assert said.ids == ["soa-minimum"]
    assert said.text("soa-minimum").startswith(
        "allDown: none, and the SOA minimum of example.org. is 240 s")
    assert Said(w.run("lint", "--json", "keep.example.org")).ids == []
    assert w.run("lint", "--strict", "www.example.org").returncode == 1


def test_apex_that_is_of_no_use(build):
    """It is told beside what comes of it."""
    uses = json.dumps({"records": [{"data": ONE, "check": "web"},
                                   {"data": TWO, "check": "web"}]})
    w = build(records=records("www", ONE), specs={
        "@": json.dumps({"checks": {"web": 443}}), "www": uses,
        "own": json.dumps(spec())})
    assert Said(w.run("lint", "--json", "www.example.org")).ids == []
    w.spec("@", '{"checks":{"web":0}}')
    said = Said(w.run("lint", "--json", "www.example.org"))
    assert said.text("apex").startswith(
        "judged without the apex spec: _failover.example.org /checks/web: ")
    assert said.errors[0].startswith(
        '_failover.www.example.org /records/0/check: no check')
    got = w.run("lint", "www.example.org")
    assert got.returncode == 1
    assert [x.split(": ")[1] for x in got.stdout.splitlines()] == [
        "warning", "error"]
    assert Said(w.run("lint", "--json", "own.example.org")).ids == ["apex"]
    # None, or another tool's text, is no reason to speak.
    for text in (None, "v=spf1 -all"):
        w.spec("@", text)
        assert Said(w.run("lint", "--json", "own.example.org")).ids == []


def test_advice_of_the_agents_file_for_a_name(build):
    """What a name's spec gets is judged with all that is known."""
    w = build(records=records("www", "10.0.0.1"), specs={"www": json.dumps({
        "records": [{"data": f"10.0.0.{i}", "check": 443} for i in (1, 2)],
        "fallbackRecords": [{"data": ONE}]})})
    said = Said(w.run("lint", "--json", "www.example.org"))
    assert said.ids == ["no-anchors", "target-refused", "target-refused"]
    w.configure(allow=["10.0.0.0/24"], anchors=[f"{ONE}:53", f"{TWO}:53"])
    assert Said(w.run("lint", "--json", "www.example.org")).ids == []
