"""`lint`: what it advises beyond errors, from files and the agent's file; of
DNS: test_lint_dns.py. And files that nobody said a zone of.
"""

import json

import pytest

from lint_help import NAMES, ONE, TWO, config, lint, padded, spec  # noqa: F401
from world import WWW, ZONE, rows


# -- nothing to say -----


@pytest.mark.parametrize("text", [
    spec(),
    spec({"ttl": 300}),
    rows((WWW, ONE, 443, 300), (WWW, TWO, 443, 300)),
    spec({"check": "https://www.example.org/healthz"}),
    spec(allDown="none"),
])
def test_a_good_spec_is_left_alone(lint, config, text):
    assert lint(text).ids == []
    assert lint(text, *NAMES, config=config()).ids == []


# -- the text -----


def test_size_of_a_file(lint):
    assert lint(padded(1000)).ids == []
    said = lint(padded(1300))
    assert said.ids == ["txt-size"]
    assert " bytes; above 1232 it is cut and asked for again by TCP" in \
        said.text("txt-size")


@pytest.mark.parametrize("comment, said", [
    ("a;b", "a semicolon in the text"),
    ("(a", "unbalanced parentheses"),
    (")a(", "unbalanced parentheses"),
    ('a\\"b', "an odd number of quotes"),
    ("(a) [b]", None),
])
def test_characters_that_panels_break(lint, comment, said):
    text = json.dumps(spec(comment="HERE")).replace("HERE", comment)
    got = lint(text)
    assert got.ids == (["panel-characters"] if said else [])
    if said:
        assert got.text("panel-characters").startswith(
            f"_failover.www.example.org: {said}")


def test_spelling_is_a_note(lint):
    text = f"[{{name:{WWW},data:{ONE},check:443}},{{name:{WWW},data:{TWO}," \
           "check:443}]"
    said = lint(text)
    assert said.ids == []
    assert "the spelling is bare" in said.text("spelling")
    said = lint(rows((WWW, ONE, 443), (WWW, TWO, 443)).replace('"', '\\"'))
    assert "escaped or doubled quotes" in said.text("spelling")
    assert lint(spec()).texts("spelling") == []


# -- what the provider takes -----


def test_ttl_below_the_providers(lint, config):
    said = lint(spec({"ttl": 59}), *NAMES, config=config(provider="ispconfig"))
    assert said.ids == ["provider-ttl"]
    assert said.text("provider-ttl") == (
        "www.example.org. A: ttl 59; provider p takes 60 at least")
    for provider, ttl in (("ispconfig", 60), ("zonefile", 1)):
        said = lint(spec({"ttl": ttl}), *NAMES,
                    config=config(provider=provider))
        assert said.ids == [], (provider, ttl)


def test_provider_of_every_zone(lint, config):
    """A section for all zones of a provider counts, a foreign zone's not."""
    for zone, ids in (("*", ["provider-ttl"]), ("example.net", [])):
        path = config(provider="ispconfig", zone=zone)
        assert lint(spec({"ttl": 59}), *NAMES, config=path).ids == ids


# -- TTL -----


def test_ttl(lint):
    assert lint(spec({"ttl": 300})).ids == []
    said = lint(spec({"ttl": 301}))
    assert said.ids == ["ttl-long"]
    assert said.text("ttl-long") == (
        "_failover.www.example.org /records/0: www.example.org. A has a TTL "
        "of 301 s: resolvers hand out a withdrawn value for so long; at most "
        "300 s is advised")
    # The set's is the smallest that is given.
    assert lint(spec({"ttl": 3600}, {"ttl": 60})).ids == []
    assert lint(spec(defaults={"ttl": 3600})).ids == ["ttl-long"]


def test_ttl_far_above_the_detection(lint):
    """One round every 5 s and one timeout of 1 s: known after 6 s."""
    fast = spec({"ttl": 61}, defaults={"timeout": "1s", "requiredFailure": 1})
    assert lint(fast).ids == []
    said = lint(fast, *NAMES, "--cron", "5s")
    assert said.ids == ["ttl-detection"]
    assert said.text("ttl-detection").endswith(
        "has a TTL of 61 s, while a failure is known after 6s")
    fast["records"][0]["ttl"] = 60
    assert lint(fast, *NAMES, "--cron", "5s").ids == []


# -- checks -----


def test_a_check_that_asks_for_its_own_name(lint):
    said = lint(spec({"check": "dns:53/www.example.org/A@192.0.2.53"}))
    assert said.ids == ["own-name"]
    assert "asks for www.example.org., the very name that it steers" in \
        said.text("own-name")
    said = lint(spec({"check": {"type": "https", "followRedirects": 2}}))
    assert said.ids == ["own-name"]
    assert "follows redirects" in said.text("own-name")
    # By name, by scenario, by data centre: the same.
    said = lint(spec({"if": "s", "check": 443}, checks={
        "d": "dns:53/WWW.example.org/A@192.0.2.53"}, scenarios={"s": "d"}))
    assert said.ids == ["own-name"]
    # Another name; a URL's host is never resolved, the record's address is
    # connected to.
    for check in ("dns:53/ns.example.org/A@192.0.2.53",
                  "https://www.example.org/", "http://www.example.org/x",
                  {"type": "https", "host": "www.example.org"}):
        assert lint(spec({"check": check})).ids == [], check


def test_verification_switched_off(lint):
    for kind in ("https", "tls", "smtps", "imaps"):
        said = lint(spec({"check": {"type": kind, "port": 443,
                                    "verify": False}}))
        assert said.ids == ["verify-off"], kind
        assert said.text("verify-off").startswith(
            f"_failover.www.example.org /records/0/check: {kind}:443 does not "
            "verify the certificate")
    said = lint(spec(checks={"w": {"type": "https", "verify": False}}))
    assert said.text("verify-off").startswith(
        "_failover.www.example.org /checks/w: ")


REFUSED = [
    (spec({"data": "10.1.2.3"}), "/records/0", "10.1.2.3 is private",
     "10.1.2.3/32"),
    (spec({"data": "127.0.0.2"}), "/records/0", "127.0.0.2 is loopback",
     "127.0.0.2/32"),
    (spec({"check": "tcp:443@10.1.2.3"}), "/records/0/check",
     "10.1.2.3 is private", "10.1.2.3/32"),
    (spec({"check": {"type": "tcp", "port": 1, "target": "169.254.1.1"}}),
     "/records/0/check", "169.254.1.1 is link-local", "169.254.1.1/32"),
    (spec({"check": {"type": "tcp", "port": 1, "need": 1, "targets": [
        "192.0.2.1", "192.168.1.1"]}}), "/records/0/check",
     "192.168.1.1 is private", "192.168.1.1/32"),
    (spec(checks={"x": "icmp@::1"}), "/checks/x", "::1 is loopback",
     "::1/128"),
    (spec(dcs={"d": {"lanAccess": ["10.1.2.3:22"]}}), "/dcs/d/lanAccess/0",
     "10.1.2.3 is private", "10.1.2.3/32"),
    (spec(fallbackRecords=[{"data": "10.1.2.3", "check": 443}]),
     "/fallbackRecords/0", "10.1.2.3 is private", "10.1.2.3/32"),
    ({"records": [{"data": f"fd00::{i}", "check": 443} for i in (1, 2)]},
     "/records/0", "fd00::1 is unique-local", "fd00::/64"),
]


@pytest.mark.parametrize("text, pointer, said, block", REFUSED)
def test_targets_that_the_limits_refuse(lint, config, text, pointer, said,
                                        block):
    """Without the agent's file its limits are not known."""
    anchors = '  anchors = {"192.0.2.8:53", "192.0.2.9:53"}\n'
    assert "target-refused" not in lint(text).ids
    got = lint(text, *NAMES, config=config(anchors))
    assert "target-refused" in got.ids
    first = got.texts("target-refused")[0]
    assert first.startswith(f"_failover.www.example.org {pointer}: {said}; "
                            "to allow it add ")
    got = lint(text, *NAMES, config=config(
        anchors + f'  allow-targets = {{"{block}"}}'))
    assert "target-refused" not in got.ids


def test_addresses_that_are_not_asked(lint, config):
    """A record's own address counts where a check goes there."""
    text = {"records": [{"data": "10.0.0.1", "check": "tcp:443@192.0.2.1"},
                        {"data": "10.0.0.2"}],
            "fallbackRecords": [{"data": "10.0.0.3"}]}
    path = config('  anchors = {"192.0.2.8:53", "192.0.2.9:53"}')
    assert lint(text, *NAMES, config=path).ids == []


# -- sets -----


def test_single_record(lint):
    one = {"records": [{"data": ONE, "check": 443}]}
    said = lint(one)
    assert said.ids == ["single-record"]
    assert said.text("single-record").startswith(
        "_failover.www.example.org /records/0: www.example.org. A has a "
        "single record and no fallback")
    assert lint({**one, "fallbackRecords": [{"data": TWO}]}).ids == []
    # A and AAAA are separate sets.
    said = lint({"records": [{"data": ONE, "check": 443},
                             {"data": "2001:db8::1", "check": 443}]})
    assert said.ids == ["single-record"] * 2


def test_fallback_without_anchors(lint, config):
    text = spec(fallbackRecords=[{"data": "192.0.2.9"}])
    path = config()
    assert lint(text).ids == []
    said = lint(text, *NAMES, config=path)
    assert said.ids == ["no-anchors"]
    assert str(path) in said.text("no-anchors")
    path = config('  anchors = {"192.0.2.8:53", "192.0.2.9:53"}')
    assert lint(text, *NAMES, config=path).ids == []


def test_internet_of_a_dc_where_the_agent_does_not_stand(lint, config):
    text = spec({"dc": "dc1"}, dcs={"dc1": {"internet": ["192.0.2.53:53"]}})
    for path in (None, config(), config("  dc = dc2")):
        said = lint(text, *NAMES, config=path)
        assert said.ids == ["internet"]
        assert said.text("internet").startswith(
            "_failover.www.example.org /dcs/dc1: internet of dc1 counts only "
            "as seen by an agent that stands there")
    assert lint(text, *NAMES, config=config("  dc = dc1")).ids == []


# -- how long a failover takes -----


TIMES = {"accessPeriod": "10s", "timeout": "4s", "retryPeriod": "1s",
         "requiredFailure": 3, "ttl": 30}


@pytest.mark.parametrize("changed, more, provider, seconds", [
    # cron 60 + (3 - 1) × the longer of 4 and 1 + 4 + TTL 30
    ({}, (), "zonefile", 60 + 2 * 4 + 4 + 30),
    ({"retryPeriod": "7s"}, (), "zonefile", 60 + 2 * 7 + 4 + 30),
    ({"requiredFailure": 1}, (), "zonefile", 60 + 4 + 30),
    ({}, ("--cron", "5m"), "zonefile", 300 + 2 * 4 + 4 + 30),
    # the panel writes its zones once a minute
    ({}, (), "ispconfig", 60 + 2 * 4 + 4 + 60 + 30),
    ({"accessPeriod": "90s"}, (), "zonefile", 60 + 2 * 4 + 4 + 30),
])
def test_worst_case(lint, config, changed, more, provider, seconds):
    text = spec(defaults={**TIMES, **changed})
    said = lint(text, *NAMES, *more, config=config(provider=provider))
    assert set(said.ids) <= {"provider-ttl"}
    assert said.text("failover-time") == (
        "_failover.www.example.org /records/0: www.example.org. A: a failover "
        f"takes at most {seconds}s")


def test_worst_case_of_the_slowest_check(lint):
    """Of all that a record depends on; of each set."""
    text = spec({"check": ["a", "b"], "dc": "d"}, {"check": "a"},
                {"name": "x", "data": ONE, "check": "a"},
                {"name": "y", "data": ONE},
                defaults=TIMES,
                checks={"a": 443, "b": {"type": "tcp", "port": 1,
                                        "timeout": "10s"}},
                dcs={"d": {"wanAccess": ["192.0.2.7:1"],
                           "requiredFailure": 9}})
    for record in text["records"]:
        record["name"] = f"{record['name']}.{WWW}" if "name" in record else WWW
    said = lint(text)
    times = {t.split(": ")[1].split(" ")[0]: t.rsplit(" ", 1)[1]
             for t in said.texts("failover-time")}
    # www: the dimension: 60 + 8 × 4 + 4 + 30; x: 60 + 2 × 4 + 4 + 30
    assert times == {WWW: "126s", f"x.{WWW}": "102s"}


def test_worst_case_without_a_ttl(lint):
    assert lint(spec()).text("failover-time").endswith(
        "takes at most 66s, and the TTL that stands in the zone")


# -- a file of nobody's -----


NOBODYS = [
    rows((WWW, ONE, 443), (WWW, TWO, 443)),
    rows(("a.example.net.", ONE, 443), ("a.example.net.", TWO, 443),
         ("b.example.com.", ONE, 443), ("b.example.com.", TWO, 443)),
    rows(("www", ONE, 443), ("www", TWO, 443), allDown="none"),
    spec(),
    spec({"name": WWW}, {"name": WWW}),
    spec({"check": {"type": "http", "method": "POST"}}),
    {"names": ["www", "mail.example.org.", "@"]},
    {"debounce": "1s"},
    {"maxChange": "30%"},
    spec(names=["www"], debounce="5s", maxChange="100%"),
    {"defaults": {"ttl": 60}, "checks": {"web": 443}},
]


@pytest.mark.parametrize("text", NOBODYS)
def test_file_of_no_zone(lint, text):
    """Valid for some owner: nothing to say of whose it is."""
    assert lint(text, "--cron", "1m").ids == []


@pytest.mark.parametrize("text, place", [
    ({"names": ["a"], "debounce": "x"}, '/debounce: found "x"; accepted: '),
    ({"names": ["a"], "maxChange": "200%"}, '/maxChange: found "200%"'),
    ({"names": "a"}, '/names: found "a"'),
    ({"names": ["a;b"]}, "/names/0: "),
    (spec({"ttl": "x"}, names=["a"]), '/records/0/ttl: found "x"'),
    (spec({"check": "web"}, debounce="1s"), "/records/0/check: no check"),
    ({"names": ["a"], "record": []}, "/record: unknown member; accepted"),
    (spec({"ttl": "x"}), '/records/0/ttl: found "x"'),
    ([{"name": WWW, "data": ONE}], '/0: "check" is missing'),
])
def test_error_in_a_file_of_no_zone(lint, text, place):
    said = lint(text, "--cron", "1m")
    error, = said.errors
    assert error.startswith(place), error


def test_name_without_a_zone(lint, config):
    """The zone is that of the agent's file; else the name may be the apex."""
    apex = {"names": ["a"], "debounce": "1s"}
    assert lint(apex, "--name", ZONE).ids == []
    relative = rows(("www", ONE, 443), ("www", TWO, 443))
    name = ("--name", "www.example.org")
    assert lint(relative, *name, config=config()).ids == []
    assert "/0/name: www. is outside" in lint(relative, *name).errors[0]
    assert "belongs into the apex spec" in lint(
        apex, *name, config=config()).errors[0]


def test_what_the_section_allows(lint, config):
    """cross-names and allow-active of the name's section."""
    other = rows((f"mail.{ZONE}.", ONE, 443), (f"mail.{ZONE}.", TWO, 443))
    active = spec({"check": {"type": "http", "method": "POST"}})
    for text, option in ((other, "cross-names"), (active, "allow-active")):
        assert option in lint(text, *NAMES, config=config()).errors[0]
        assert lint(text, *NAMES, config=config(
            section=f"  {option} = yes")).errors == []
