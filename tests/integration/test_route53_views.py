"""Sets of Route 53 with a SetIdentifier: one of them is a view."""

import json
import re

import pytest

from route53 import store
from route53_help import (  # noqa: F401
    A, B, C, CHANGE, ORG, WWW, apply, publish, r53, withdraw)
from test_route53_once import Scene
from world import USER, build, spec, target  # noqa: F401

EU = "<ContinentCode>EU</ContinentCode>"
US = "<CountryCode>US</CountryCode><SubdivisionCode>WA</SubdivisionCode>"
ALL = "<CountryCode>*</CountryCode>"
HEALTH = "00000000-0000-0000-0000-000000000000"
VIEW = {"set-identifier": "eu"}


@pytest.fixture
def geo(r53):  # noqa: F811
    r53.put("www", "A", A, C, ttl=30, set_id="eu", GeoLocation=EU,
            HealthCheckId=HEALTH)
    r53.put("www", "A", B, set_id="us", GeoLocation=US)
    r53.put("www", "A", A, set_id="eu-2 <&> ü", GeoLocation=ALL)
    r53.put("ftp", "A", A)
    return r53


def others(zone, set_id="eu"):
    return {k: s for k, s in zone.sets.items() if k[2] != set_id}


def test_only_its_own_sets_are_listed(geo):
    got = geo("records", ORG, WWW, f"ftp.{ORG}", options=VIEW)
    assert got.sets() == {(WWW + ".", "A"): (30, [A, C])}
    got = geo("records", ORG, WWW, options={"set-identifier": "e"})
    assert got.code == 0 and got["sets"] == []
    # without the option all is shown, as before
    assert geo("records", ORG, WWW)["sets"][0]["name"] == WWW + "."


def test_the_routing_stays(geo):
    """What somebody else put there, the routing to the byte; other sets are
    not in the request at all."""
    before = others(geo.zone)
    got = geo(*apply(publish(B), withdraw(A)), options=VIEW)
    assert got.states() == ["done", "done"], got.all
    assert geo.values("www", set_id="eu") == [B, C]
    s = geo.zone.sets[WWW + ".", "A", "eu"]
    assert (s.ttl, s.more) == (30, {"GeoLocation": EU,
                                    "HealthCheckId": HEALTH})
    assert others(geo.zone) == before
    body = geo.double.bodies[0]
    assert re.findall(r"<Action>(\w+)", body) == ["DELETE", "CREATE"]
    members = (f"<SetIdentifier>eu</SetIdentifier><GeoLocation>{EU}"
               "</GeoLocation><TTL>30</TTL>")
    assert body.count(members) == 2
    assert body.count("</ResourceRecords><HealthCheckId>" + HEALTH) == 2
    got = geo(*apply(publish(B), withdraw(A)), options=VIEW)
    assert got.states() == ["done", "done"] and geo.double.accepted == 1


def test_an_identifier_of_any_characters(geo):
    other = "eu-2 <&> ü"
    got = geo(*apply(publish(B), withdraw(A)),
              options={"set-identifier": other})
    assert got.states() == ["done", "done"], got.all
    assert geo.values("www", set_id=other) == [B]
    assert geo.values("www", set_id="eu") == [A, C]


@pytest.mark.parametrize("routing", [
    {"Weight": "0"}, {"Region": "eu-west-1"}, {"Failover": "PRIMARY"},
    {"MultiValueAnswer": "true"},
    {"CidrRoutingConfig": "<CollectionId>1</CollectionId><LocationName>x"
     "</LocationName>"},
    {"GeoProximityLocation": "<Coordinates><Latitude>49.22</Latitude>"
     "<Longitude>-74.01</Longitude></Coordinates><Bias>-9</Bias>"}])
def test_other_routing_stays_as_well(r53, routing):  # noqa: F811
    r53.put("www", "A", A, set_id="eu", **routing)
    got = r53(*apply(publish(B), withdraw(A)), options=VIEW)
    assert got.states() == ["done", "done"], got.all
    assert r53.values("www", set_id="eu") == [B]
    assert r53.zone.sets[WWW + ".", "A", "eu"].more == routing


def test_the_last_value_stays(geo):
    before = dict(geo.zone.sets)
    got = geo(*apply(withdraw(A), withdraw(C)), options=VIEW)
    assert got.states() == ["failed", "failed"]
    assert 'the last value of the set with the identifier "eu"' in got.why()
    assert '"allDown": "none" is not possible' in got.why()
    assert geo.zone.sets == before and geo.count(CHANGE) == 0


@pytest.mark.parametrize("there", [False, True])
def test_a_set_that_is_not_there(r53, there):  # noqa: F811
    """It is not made, a simple one is not touched, and gone is gone."""
    if there:
        r53.put("www", "A", A)
    got = r53(*apply(publish(A)), options=VIEW)
    assert got.states() == ["failed"]
    assert 'no set with the identifier "eu" here' in got.why()
    assert "make it there by hand" in got.why()
    assert r53(*apply(withdraw(A)), options=VIEW).states() == ["done"]
    assert r53.values("www") == ([A] if there else None)
    assert r53.count(CHANGE) == 0


@pytest.mark.parametrize("values, more, what", [
    (None, {"AliasTarget": "<HostedZoneId>Z2</HostedZoneId><DNSName>x.example."
            "</DNSName><EvaluateTargetHealth>false</EvaluateTargetHealth>"},
     "an alias"),
    ([A], {"TrafficPolicyInstanceId": "1"}, "a traffic policy")])
def test_what_is_never_touched(r53, values, more, what):  # noqa: F811
    r53.zone.put(WWW, "A", 60 if values else None, values, set_id="eu",
                 GeoLocation=EU, **more)
    got = r53(*apply(publish(B)), options=VIEW)
    assert got.states() == ["failed"] and r53.count(CHANGE) == 0
    assert f"has {what} in Route 53: managed routing, not touched" in got.why()


def test_a_routing_that_changes_meanwhile(geo):
    """It is read again and kept as it now is."""
    geo.double.fault("first", CHANGE, run=lambda: geo.put(
        "www", "A", A, C, ttl=30, set_id="eu",
        GeoLocation="<CountryCode>DE</CountryCode>"))
    got = geo(*apply(publish(B), withdraw(A)), options=VIEW)
    assert got.states() == ["done", "done"] and geo.count(CHANGE) == 2
    s = geo.zone.sets[WWW + ".", "A", "eu"]
    assert s.more == {"GeoLocation": "<CountryCode>DE</CountryCode>"}
    assert geo.values("www", set_id="eu") == [B, C]


def test_specs_are_no_sets_of_a_view(geo):
    geo.put("_failover.www", "TXT", '"[]"')
    got = geo("write", ORG, WWW, "[1]", "300", options=VIEW)
    assert got["err"] == "unsupported" and "set-identifier" in got["text"]
    assert geo.count(CHANGE) == 0
    assert geo("specs", ORG, options=VIEW)["specs"] == [
        {"owner": WWW + ".", "text": "[]"}]


@pytest.mark.parametrize("given", ["", "x" * 129, "a\x01"])
def test_identifiers_that_are_refused(r53, given):  # noqa: F811
    got = r53("zones", options={"set-identifier": given})
    assert got.code == 1 and "1 to 128 printable characters" in got["text"]
    assert r53.double.log == []


# -- the double --------------------------------------------------------------------


def geo_set(set_id, location, *values, **more):
    return store.Set(WWW, "A", set_id, 60, list(values),
                     {"GeoLocation": location, **more})


@pytest.mark.parametrize("action, changed, part", [
    ("DELETE", geo_set("us", EU, B), "do not match the current values"),
    ("DELETE", geo_set("us", US, B, HealthCheckId="1"), "do not match"),
    ("DELETE", geo_set("none", US, B), "it was not found"),
    ("CREATE", geo_set("us-2", US, B), "same location exists"),
    ("CREATE", store.Set(WWW, "A", None, 60, [B], {}),
     "other RRSets exist with the same name and type"),
    ("CREATE", store.Set(WWW, "A", "x", 60, [B], {"Weight": "1"}),
     "non-matching routing policy"),
    ("CREATE", store.Set(WWW, "A", "x", 60, [B], {}), "found none"),
    ("CREATE", store.Set("ftp." + ORG, "A", "x", 60, [B], {"Weight": "1"}),
     "other RRSets exist with the same name and type")])
def test_the_rules_of_sets_with_identifiers(geo, action, changed, part):
    before = dict(geo.zone.sets)
    with pytest.raises(store.Refused, match=part):
        geo.zone.change([(action, changed)])
    assert geo.zone.sets == before
    geo.zone.change([("DELETE", geo_set("us", US, B)),
                     ("CREATE", geo_set("us-2", US, C))])


# -- the whole program -----------------------------------------------------------


class Views(Scene):
    """eu and us, each with its own data centre first, and the default
    location, which the name server shows: it is the agent's."""

    def __init__(self, w, r53, one, two):  # noqa: F811
        super().__init__(w, r53, one, two)
        self.one, self.two = one, two
        del r53.zone.sets[WWW + ".", "A", None]
        for view, where, first in (("eu", EU, one), ("us", US, two),
                                   ("default", ALL, one)):
            r53.put("www", "A", first.addr, set_id=view, GeoLocation=where)
        self.show()

    def show(self):
        """The default set goes to the name server, and the spec."""
        def record(t, prio, **more):
            return {"data": t.addr, "check": t.port, "prio": prio, **more}
        zone, a, b = self.r53.zone, self.one, self.two
        whole = dict(zone.sets)
        zone.sets = {k: s for k, s in whole.items()
                     if k[2] in (None, "default")}
        text = spec(
            record(a, 1, view="eu"), record(b, 2, view="eu"),
            record(b, 1, view="us"), record(a, 2, view="us"),
            record(a, 1), record(b, 2), order="priority").replace('"', '\\"')
        self.r53.put("_failover.www", "TXT", " ".join(
            f'"{part}"' for part in re.findall(r'(?:\\.|.){1,120}', text)))
        zone.put(f"_failover.{ORG}", "TXT", 60,
                 ['"{\\"debounce\\":\\"0s\\"}"'])
        self.serve({})
        zone.sets = {**whole, **zone.sets}

    def configure(self, **options):
        text = [f'agent {{ state = "{self.w.state}"',
                '  allow-targets = {"127.0.0.0/8"}\n  min-period = "10ms"',
                f'  user = "{USER}"' if USER else "", "}"]
        for view in ("default", "eu", "us"):
            text.append(f"""provider aws-{view} {{
  type = route53
  url = "{self.r53.double.url}"
  access-key-id = "{self.r53.double.id}"
  secret-access-key-file = "{self.secret}"
  zone-id = "{self.r53.zone.id}"
  set-identifier = "{view}"
}}""")
        text.append(f"""zone "{ORG}" {{
  provider = aws-default
  servers = {{"{self.w.ns.server}"}}
  view "eu" {{ provider = aws-eu }}
  view "us" {{ provider = aws-us }}
}}""")
        self.w.config.write_text("\n".join(text) + "\n")

    def seen(self):
        return [self.r53.values("www", set_id=v)
                for v in ("eu", "us", "default")]


@pytest.fixture
def views(build, target, r53):  # noqa: F811
    return Views(build(), r53, target("127.0.0.2"), target("127.0.0.3"))


def test_the_nearest_data_centre_first(views):
    w, one, two = views.w, views.one.addr, views.two.addr
    got = w.once()
    assert (got.returncode, got.stdout + got.stderr) == (0, "")
    assert views.seen() == [[one], [two], [one]]
    routing = {k: s.more for k, s in views.r53.zone.sets.items()}
    views.one.close()
    got = w.run("plan")
    assert f"{WWW}. A view eu {one} would be withdrawn" in got.stdout
    assert views.r53.double.accepted == 0
    got = w.once()
    assert got.returncode == 0, got.stderr
    for view in ("", " view eu"):
        assert f"{WWW}. A{view} {two} published" in got.stdout
        assert f"{WWW}. A{view} {one} withdrawn" in got.stdout
    assert views.seen() == [[two], [two], [two]]
    assert views.r53.double.accepted == 2  # us had it
    views.show()
    w.once()
    shown = json.loads(w.run("status", "--json").stdout)
    assert {(v.get("view"), v["data"]) for v in shown["records"]
            if v["published"]} == {("eu", two), ("us", two), (None, two)}
    got = w.run("explain", WWW).stdout
    assert "A view eu" in got and "A view us" in got
    views.one.open()
    w.once()
    assert views.seen() == [[one], [two], [one]]
    assert {k: s.more for k, s in views.r53.zone.sets.items()} == routing


def test_doctor(views):
    found = [json.loads(x) for x in
             views.w.run("doctor", "--json").stdout.splitlines()]
    assert [f for f in found if f["level"] == "error"] == []
    assert "provider aws-eu shows its records" in " ".join(
        f["text"] for f in found), found
    assert views.r53.double.accepted == 0


def test_a_view_without_its_set(views):
    """It is told; the other views go on."""
    one, two = views.one.addr, views.two.addr
    del views.r53.zone.sets[WWW + ".", "A", "eu"]
    views.one.close()
    got = views.w.once()
    assert got.returncode == 1
    assert 'no set with the identifier "eu" here' in got.stdout + got.stderr
    assert views.seen() == [None, [two], [two]]
    assert one not in str(views.seen())
