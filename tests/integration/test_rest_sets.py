"""Hetzner, deSEC, Gandi, DigitalOcean and Technitium beyond the contract."""

import json
import urllib.parse

import pytest

import net
from rest_help import ZONE, states, tool  # noqa: F401
from restapi import desec, digitalocean, gandi, hetzner, technitium

WWW = f"www.{ZONE}"
A, B = "192.0.2.1", "192.0.2.2"


def double(cls):
    @pytest.fixture
    def start():
        with cls() as api:
            api.options = {"url": api.url, "token": api.token}
            yield api
    return start


hz = double(hetzner.Hetzner)
de = double(desec.Desec)
ga = double(gandi.Gandi)
do = double(digitalocean.DigitalOcean)
te = double(technitium.Technitium)


def publish(data, ttl="-", name=WWW, rdtype="A"):
    return ["publish", name, rdtype, data, str(ttl)]


def withdraw(data, name=WWW, rdtype="A"):
    return ["withdraw", name, rdtype, data, "-"]


def bodies(api):
    return [json.loads(r.text) if r.text else None for r in api.requests
            if r.method != "GET"]


# ---- Hetzner: sets of calls, actions ----------------------------------------


def test_hetzner_ttl_before_values(tool, hz):  # noqa: F811
    hz.seed(ZONE, [("www", "A", 300, A)])
    hz.zones[ZONE]["www", "A"].more = {A: "the rack downstairs"}
    got = tool("hetzner", hz.options, "apply", ZONE, *publish(B, 60))
    assert states(got[0]) == ["done"]
    at = f"/v1/zones/{ZONE}/rrsets/www/A"
    assert hz.calls("POST") == [f"POST {at}/actions/change_ttl",
                                f"POST {at}/actions/set_records"]
    assert bodies(hz)[0] == {"ttl": 60}
    assert bodies(hz)[1] == {"records": [
        {"comment": "the rack downstairs", "value": A}, {"value": B}]}
    tool("hetzner", hz.options, "apply", ZONE, *withdraw(A), *withdraw(B))
    assert hz.calls("DELETE") == [f"DELETE {at}"] and bodies(hz)[-1] is None


def test_hetzner_action_is_awaited(tool, hz):  # noqa: F811
    hz.seed(ZONE, [("www", "A", 60, A)])
    hz.running = 2
    got = tool("hetzner", hz.options, "apply", ZONE, *publish(B))
    assert states(got[0]) == ["done"]
    polls = [c for c in hz.calls("GET") if "/zones/actions/" in c]
    assert len(polls) == 2 and len(set(polls)) == 1


def test_hetzner_action_that_fails(tool, hz):  # noqa: F811
    hz.seed(ZONE, [("www", "A", 60, A)])
    hz.running, hz.action_fails = 1, True
    got = tool("hetzner", hz.options, "apply", ZONE, *publish(B),
               *withdraw(A), code=1)
    assert states(got[0]) == ["failed", "skipped"] or (
        states(got[0]) == ["failed", "failed"]), got
    assert "Action failed" in got[0]["results"][0]["text"]
    assert hz.zones[ZONE]["www", "A"].values == [A]


def test_hetzner_conflict_is_tried_again(tool, hz):  # noqa: F811
    hz.seed(ZONE, [("www", "A", 60, A)])
    hz.conflicts = 1
    got = tool("hetzner", hz.options, "apply", ZONE, *publish(B))
    assert states(got[0]) == ["done"] and len(hz.calls("POST")) == 2


def test_hetzner_secondary(tool, hz):  # noqa: F811
    hz.seed(ZONE, [("www", "A", 60, A)])
    hz.mode = "secondary"
    got = tool("hetzner", hz.options, "apply", ZONE, *publish(B), code=1)
    assert states(got[0]) == ["failed"]
    assert "not a primary zone" in got[0]["results"][0]["text"]


def test_hetzner_set_without_a_ttl(tool, hz):  # noqa: F811
    """null: the zone's own TTL, which is a day; the spec's is written."""
    hz.seed(ZONE, [("www", "A", None, A)])
    got = tool("hetzner", hz.options, "apply", ZONE, *publish(A, 3600))
    assert states(got[0]) == ["done"] and bodies(hz) == [{"ttl": 3600}]


def test_hetzner_floor_of_the_ttl(tool, hz):  # noqa: F811
    hz.seed(ZONE, [])
    tool("hetzner", hz.options, "create", ZONE, *publish(A, 5))
    assert hz.zones[ZONE]["www", "A"].ttl == 60


# ---- deSEC: one PATCH, the domain's TTL, throttling -------------------------


def test_desec_one_call_for_all(tool, de):  # noqa: F811
    de.seed(ZONE, [("www", "A", 3600, A), ("ftp", "A", 3600, A)])
    tool("desec", de.options, "apply", ZONE, *publish(B), *withdraw(A),
         *withdraw(A, f"ftp.{ZONE}"))
    assert bodies(de) == [[
        {"subname": "www", "type": "A", "ttl": 3600, "records": [B]},
        {"subname": "ftp", "type": "A", "ttl": 3600, "records": []}]]
    assert ("ftp", "A") not in de.zones[ZONE]


@pytest.mark.parametrize("least, want", [(3600, 3600), (60, 120)])
def test_desec_ttl_of_the_domain(tool, de, least, want):  # noqa: F811
    de.seed(ZONE, [])
    de.min_ttl = least
    got = tool("desec", de.options, "create", ZONE, *publish(A, 120))
    assert states(got[0]) == ["done"]
    assert de.zones[ZONE]["www", "A"].ttl == want


def test_desec_ttl_of_a_spec(tool, de):  # noqa: F811
    de.seed(ZONE, [("www", "A", 3600, A)])
    de.min_ttl = 3600
    got = tool("desec", de.options, "write", ZONE, WWW, "[]", "60")
    assert got[0]["changed"]
    assert de.zones[ZONE]["_failover.www", "TXT"].ttl == 3600


def test_desec_hours_are_not_waited_for(tool, de):  # noqa: F811
    de.seed(ZONE, [("www", "A", 3600, A)])
    de.throttled_s = 4 * 3600
    got = tool("desec", de.options, "apply", ZONE, *publish(B), *withdraw(A),
               "+", "records", ZONE, WWW, code=1)
    assert states(got[0])[0] in ("failed", "skipped")
    assert "throttled" in json.dumps(got[0])
    assert got[1]["err"] == "retry" and len(de.calls("PATCH")) == 1
    assert de.zones[ZONE]["www", "A"].values == [A]


def test_desec_refused_for_one_set(tool, de):  # noqa: F811
    """The batch is refused as a whole; the others go alone."""
    de.seed(ZONE, [("alias", "CNAME", 3600, "x.example.")])
    got = tool("desec", de.options, "create", ZONE, *publish(A),
               *publish(A, name=f"alias.{ZONE}"), code=1)
    assert states(got[0]) == ["done", "failed"]
    assert "CNAME" in got[0]["results"][1]["text"]


# ---- Gandi ------------------------------------------------------------------


def test_gandi_names_the_ttl(tool, ga):  # noqa: F811
    ga.seed(ZONE, [("@", "A", 600, A), ("www", "A", 600, A)])
    tool("gandi", ga.options, "apply", ZONE, *publish(B))
    assert bodies(ga) == [{"rrset_ttl": 600, "rrset_values": [A, B]}]
    assert ga.calls("PUT") == [
        f"PUT /v5/livedns/domains/{ZONE}/records/www/A"]


def test_gandi_floor_of_the_ttl(tool, ga):  # noqa: F811
    ga.seed(ZONE, [])
    got = tool("gandi", ga.options, "create", ZONE, *publish(A, 60, ZONE))
    assert states(got[0]) == ["done"]
    assert ga.zones[ZONE]["", "A"].ttl == 300
    assert ga.calls("PUT") == [f"PUT /v5/livedns/domains/{ZONE}/records/@/A"]


def test_gandi_list_that_ends_early(tool, ga):  # noqa: F811
    """Total-Count says 301, and the second page is empty."""
    ga.seed(ZONE, [(f"n{i}", "A", 300, A) for i in range(300)])
    real = ga.page
    ga.page = lambda items, *a: real(items[:100], *a)
    got = tool("gandi", ga.options, "records", ZONE, f"n1.{ZONE}", code=1)
    assert got[0]["err"] == "retry" and "empty" in got[0]["text"]


# ---- DigitalOcean -----------------------------------------------------------


def test_digitalocean_targets_end_with_a_dot(tool, do):  # noqa: F811
    do.seed(ZONE, [("www", "CNAME", 60, "one.example.com")])
    got = tool("digitalocean", do.options, "apply", ZONE,
               *publish("two.example.com.", rdtype="CNAME"),
               *withdraw("one.example.com.", rdtype="CNAME"))
    assert states(got[0]) == ["done", "done"]
    assert bodies(do) == [{"data": "two.example.com."}]
    assert len(do.calls("PATCH")) == 1


def test_digitalocean_asks_with_the_zone(tool, do):  # noqa: F811
    do.seed(ZONE, [("www", "A", 60, A), ("", "A", 60, B)])
    tool("digitalocean", do.options, "records", ZONE, WWW, ZONE)
    assert [r.query["name"] for r in do.requests] == [ZONE, WWW]


def test_digitalocean_txt_is_bare(tool, do):  # noqa: F811
    do.seed(ZONE, [("www", "A", 60, A)])
    text = '{"records":[{"data":"192.0.2.1"}]}'
    tool("digitalocean", do.options, "write", ZONE, WWW, text, "60")
    assert bodies(do)[0]["data"] == text


# ---- Technitium -------------------------------------------------------------


def sent(api):
    return [(r.path.rpartition("/")[2],
             dict(urllib.parse.parse_qsl(r.text, keep_blank_values=True)))
            for r in api.requests if api.is_write(r)]


def test_technitium_names_all_that_an_update_sets(tool, te):  # noqa: F811
    te.seed(ZONE, [(WWW, "A", 60, A), (WWW, "A", 60, B, True)])
    te.zones[ZONE][1]["comments"] = "rack 1 & 2"
    got = tool("technitium", te.options, "apply", ZONE, *publish(B),
               *withdraw(A))
    assert states(got[0]) == ["done", "done"]
    common = {"zone": ZONE, "domain": WWW, "type": "A", "ttl": "60"}
    assert sent(te) == [
        ("update", {**common, "disable": "false", "ipAddress": B,
                    "expiryTtl": "0"}),
        ("update", {**common, "disable": "true", "ipAddress": A,
                    "comments": "rack 1 & 2", "expiryTtl": "0"})]
    assert [r["comments"] for r in te.zones[ZONE][1:]] == ["rack 1 & 2", ""]


def test_technitium_txt_in_quotes(tool, te):  # noqa: F811
    """Quotes are a part of what it stores."""
    te.seed(ZONE, [(f"_failover.{WWW}", "TXT", 60, '"[]"')])
    text = '{"records":[{"data":"192.0.2.1"}]}'
    tool("technitium", te.options, "write", ZONE, WWW, text, "60")
    assert sent(te)[0][1]["text"] == '"[]"'
    assert sent(te)[0][1]["newText"] == text
    got = tool("technitium", te.options, "specs", ZONE)
    assert [s["text"] for s in got[0]["specs"]] == [text]


def test_technitium_errors_come_with_200(tool, te):  # noqa: F811
    te.seed(ZONE, [(WWW, "A", 60, A)])
    got = tool("technitium", te.options, "records", "example.net",
               "www.example.net", code=1)
    assert got[0]["err"] == "notFound" and "HTTP 200" in got[0]["text"]
    got = tool("technitium", {**te.options, "token": "wrong"}, "zones", "+",
               "zones", code=1)
    assert [a["err"] for a in got] == ["auth", "auth"]
    te.misbehave("forbidden")
    got = tool("technitium", te.options, "apply", ZONE, *withdraw(A), "+",
               "zones", code=1)
    assert got[0]["results"][0]["err"] == "auth" and got[1]["err"] == "auth"


def test_technitium_doctor(agent, tmp_path, te):  # noqa: F811
    te.seed(ZONE, [(WWW, "A", 60, A)])
    conf = tmp_path / "conf"
    conf.write_text(
        f'agent {{\n state = "{tmp_path}/state/db"\n}}\n'
        f'provider p {{\n type = technitium\n url = "{te.url}"\n}}\n'
        f'zone "{ZONE}" {{\n provider = p\n mode = observe\n'
        f' servers = 127.0.0.1:{net.free_port()}\n}}\n')
    env = {"TECHNITIUM_TOKEN": te.token}
    got = agent("doctor", "-v", config=conf, env=env)
    assert "Technitium takes the token" in got.stdout, got.stdout
    te.kind, te.off = "Secondary", True
    got = agent("doctor", config=conf, env=env)
    assert "a secondary here" in got.stdout and got.returncode == 1
    assert "disabled as a whole" in got.stdout and not sent(te)


# ---- doctor and lint --------------------------------------------------------


@pytest.mark.parametrize("kind, cls, variable", [
    ("hetzner", hetzner.Hetzner, "HETZNER_API_TOKEN"),
    ("desec", desec.Desec, "DESEC_TOKEN"),
    ("gandi", gandi.Gandi, "GANDI_PAT"),
    ("digitalocean", digitalocean.DigitalOcean, "DO_AUTH_TOKEN"),
])
def test_doctor_and_lint(agent, tmp_path, kind, cls, variable):
    """The token from the environment; the TTL that the provider raises."""
    with cls() as api:
        api.seed(ZONE, [("www", "A", 3600, A)])
        api.min_ttl = 3600
        conf = tmp_path / "conf"
        conf.write_text(
            f'agent {{\n state = "{tmp_path}/state/db"\n}}\n'
            f'provider p {{\n type = {kind}\n url = "{api.url}"\n}}\n'
            f'zone "{ZONE}" {{\n provider = p\n mode = observe\n'
            f' servers = 127.0.0.1:{net.free_port()}\n}}\n')
        env = {variable: api.token}
        got = agent("doctor", "-v", config=conf, env=env)
        assert "takes the token" in got.stdout, got.stdout + got.stderr
        assert f"{ZONE}.: its records can be read" in got.stdout
        assert ("the lowest TTL is 3600 s" in got.stdout) == (
            kind == "desec"), got.stdout
        assert not bodies(api)
        got = agent("doctor", config=conf, env={variable: "wrong"})
        assert "HTTP 401" in got.stdout and got.returncode == 1, got.stdout
        spec = tmp_path / "spec"
        spec.write_text(json.dumps(
            [{"name": WWW + ".", "data": A, "check": 443, "ttl": 20}]))
        got = agent("lint", "-v", "--name", WWW, "--zone", ZONE, spec,
                    config=conf, env=env)
        floor = {"hetzner": 60, "desec": 3600, "gandi": 300,
                 "digitalocean": 30}[kind]
        assert f"provider p takes {floor} at least" in got.stdout, (
            got.stdout + got.stderr)
