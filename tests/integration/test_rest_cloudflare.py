"""Cloudflare beyond the contract: attributes, codes, batches, rights."""

import json

import pytest

from rest_help import ZONE, cf, states, tool, values  # noqa: F401
from restapi import cloudflare

WWW = f"www.{ZONE}"
A, B, C = "192.0.2.1", "192.0.2.2", "192.0.2.3"


def publish(data, ttl="-", kind="A", name=WWW):
    return ["publish", name, kind, data, ttl]


def withdraw(data, kind="A", name=WWW):
    return ["withdraw", name, kind, data, "-"]


def record(api, data):
    return [r for r in api.records(ZONE) if r["content"] == data]


# ---- attributes (case A11) --------------------------------------------------


def a11(shared):
    path = shared / "cases" / "files" / "api" / "a11-cf-record.json"
    return json.loads(path.read_text())["result"]


def two(**more):
    return [(WWW, "A", 1, A, {"proxied": True, "comment": "rack 7, leave it",
                              "tags": ["team:web"], **more}),
            (WWW, "A", 1, B, {"proxied": True, "comment": "rack 9"})]


def test_attributes_survive_out_and_in(tool, cf):  # noqa: F811
    cf.seed(ZONE, two())
    before = record(cf, A)[0]
    other = dict(record(cf, B)[0])
    tool("cloudflare", cf.options, "apply", ZONE, *withdraw(A), "+",
         "apply", ZONE, *publish(A, "60"))
    after = record(cf, A)[0]
    assert after["id"] != before["id"]
    assert {k: after[k] for k in after if k != "id"} == {
        k: before[k] for k in before if k != "id"}
    assert record(cf, B) == [other]
    assert not [r for r in cf.requests if other["id"] in r.path + r.text]


def test_case_a11(tool, cf, shared):  # noqa: F811
    given = a11(shared)
    cf.seed("example.test", [
        (r["name"], r["type"], r["ttl"], r["content"],
         {k: r[k] for k in ("proxied", "comment", "tags")}) for r in given])
    name, (down, up) = given[0]["name"], [r["content"] for r in given]
    tool("cloudflare", cf.options,
         "apply", "example.test", *withdraw(down, name=name), "+",
         "records", "example.test", name, "+",
         "apply", "example.test", *publish(down, name=name))
    new = {r["content"]: r for r in cf.records("example.test")}
    for data, old in ((down, given[0]), (up, given[1])):
        assert {k: new[data][k] for k in ("proxied", "ttl", "comment", "tags")
                } == {k: old[k] for k in ("proxied", "ttl", "comment", "tags")}


def test_a_new_value_is_proxied_as_the_others_are(tool, cf):  # noqa: F811
    cf.seed(ZONE, two())
    tool("cloudflare", cf.options, "apply", ZONE, *publish(C, "60"))
    new = record(cf, C)[0]
    assert new["proxied"] and new["ttl"] == 1 and not new["comment"]


def test_no_write_for_a_ttl_that_is_the_providers(tool, cf):  # noqa: F811
    """A proxied record always reads as TTL 1."""
    cf.seed(ZONE, two())
    for _ in range(2):
        tool("cloudflare", cf.options, "apply", ZONE, *publish(A, "120"),
             *publish(B, "120"))
    assert cf.writes == 0


def test_automatic_ttl_is_300(tool, cf):  # noqa: F811
    cf.seed(ZONE, [(WWW, "A", 1, A), (WWW, "A", 1, B)])
    got = tool("cloudflare", cf.options, "records", ZONE, WWW, "+", "apply",
               ZONE, *withdraw(A), "+", "apply", ZONE, *publish(A))
    assert got[0]["sets"][0]["ttl"] == 300
    assert record(cf, A)[0]["ttl"] == 1


# ---- codes ------------------------------------------------------------------


class Raced(cloudflare.Cloudflare):
    """Somebody else makes, or removes, the record between read and write."""

    race = None

    def handle(self, request):
        if request.method in ("POST", "DELETE") and self.race:
            race, self.race = self.race, None
            race()
        return super().handle(request)


@pytest.fixture
def raced():
    with Raced() as api:
        api.options = {"url": api.url, "token": api.token}
        yield api


def test_an_identical_record_is_success(tool, raced):  # noqa: F811
    raced.seed(ZONE, [(WWW, "A", 60, A)])
    zid = raced.ids[ZONE]
    raced.race = lambda: raced.add(zid, {"name": WWW, "type": "A", "ttl": 60,
                                         "content": B})
    got = tool("cloudflare", raced.options, "apply", ZONE, *publish(B, "60"),
               *withdraw(A))
    assert states(got[0]) == ["done", "done"]
    assert [r["content"] for r in raced.records(ZONE)] == [B]


def test_a_record_that_is_gone_is_success(tool, raced):  # noqa: F811
    raced.seed(ZONE, [(WWW, "A", 60, A), (WWW, "A", 60, B)])
    raced.race = lambda: raced.records(ZONE).remove(record(raced, A)[0])
    got = tool("cloudflare", raced.options, "apply", ZONE, *withdraw(A))
    assert states(got[0]) == ["done"]


def test_success_false_with_a_good_status(tool, cf):  # noqa: F811
    cf.seed(ZONE, [(WWW, "A", 60, A)])
    cf.handle = lambda request: cloudflare.Answer(200, {
        "success": False, "result": None, "messages": [],
        "errors": [{"code": 7003, "message": "Could not route"}]})
    got = tool("cloudflare", cf.options, "records", ZONE, WWW, code=1)
    assert "no success: Could not route: 7003" in got[0]["text"]


# ---- batches ----------------------------------------------------------------


def test_one_batch_then_the_removals(tool, cf):  # noqa: F811
    names = [f"n{i}.{ZONE}" for i in range(3)]
    cf.seed(ZONE, [(n, "A", 60, A) for n in names])
    cf.states = []
    got = tool("cloudflare", cf.options, "apply", ZONE,
               *sum((publish(B, "60", name=n) for n in names), []),
               *sum((withdraw(A, name=n) for n in names), []))
    assert states(got[0]) == ["done"] * 6
    assert cf.calls("POST") == [f"POST /client/v4/zones/{cf.ids[ZONE]}"
                                "/dns_records/batch"] * 2
    assert [set(json.loads(r.text)) for r in cf.requests
            if r.method == "POST"] == [{"posts"}, {"deletes"}]
    assert len(cf.states[0][cf.ids[ZONE]]) == 6


def test_a_batch_that_is_refused_is_done_singly(tool, cf):  # noqa: F811
    """One bad set does not stop the others."""
    names = [f"n{i}.{ZONE}" for i in range(3)]
    cf.seed(ZONE, [(n, "A", 60, A) for n in names]
            + [(f"c.{ZONE}", "CNAME", 60, "x.example.net")])
    got = tool("cloudflare", cf.options, "apply", ZONE,
               *publish(B, "60", name=names[0]),
               *publish(B, "60", name=f"c.{ZONE}"),
               *publish(B, "60", name=names[1]),
               *withdraw(A, name=names[0]), *withdraw(A, name=names[1]),
               code=1)
    assert states(got[0]) == ["done", "failed", "done", "done", "done"]
    assert "81053" in got[0]["results"][1]["text"]


def test_cname_is_changed_in_place(tool, cf):  # noqa: F811
    cf.seed(ZONE, [(WWW, "CNAME", 60, "a.example.net",
                    {"comment": "kept", "proxied": True})])
    rid = cf.records(ZONE)[0]["id"]
    got = tool("cloudflare", cf.options, "apply", ZONE,
               *publish("b.example.net.", kind="CNAME"),
               *withdraw("a.example.net.", kind="CNAME"))
    assert states(got[0]) == ["done", "done"]
    (now,) = cf.records(ZONE)
    assert (now["id"], now["content"], now["comment"], now["proxied"]) == (
        rid, "b.example.net", "kept", True)


# ---- zones, rights ----------------------------------------------------------


@pytest.mark.parametrize("ignores_name", [False, True])
def test_zone_21_of_21(tool, cf, ignores_name):  # noqa: F811
    """By the name filter, or on the second page (case A6)."""
    cf.seed(ZONE, [(WWW, "A", 60, A)], others=20)
    cf.ignores_name, cf.zones_per_page = ignores_name, 20
    got = tool("cloudflare", cf.options, "records", ZONE, WWW)
    assert values(got[0]) == {f"{WWW}. A": {A: True}}
    assert len(tool("cloudflare", cf.options, "zones")[0]["zones"]) == 21


def test_case_a6_record_on_a_later_page(tool, cf):  # noqa: F811
    """What stands there is there: nothing is created."""
    cf.seed(ZONE, [(f"n{i}.{ZONE}", "A", 60, A) for i in range(230)]
            + [(WWW, "A", 60, B)])
    names = [f"n{i}.{ZONE}" for i in range(230)]
    got = tool("cloudflare", cf.options, "records", ZONE, WWW, *names, "+",
               "apply", ZONE, *publish(B, "60"))
    assert values(got[0])[f"{WWW}. A"] == {B: True} and cf.writes == 0
    assert any(r.query.get("page") == "3" for r in cf.requests)


@pytest.mark.parametrize("what", ["records", "zones"])
def test_case_a6_a_page_that_repeats(tool, cf, what):  # noqa: F811
    """It ends in an error, and not in a loop."""
    cf.seed(ZONE, [(f"n{i}.{ZONE}", "A", 60, A) for i in range(230)],
            others=25)
    cf.ignores_name, cf.zones_per_page, page = True, 20, cf._page

    def repeat(request, items, most):
        if ("dns_records" in request.path) == (what == "records"):
            request.query.pop("page", None)
        return page(request, items, most)
    cf._page = repeat
    got = tool("cloudflare", cf.options, "records", ZONE,
               *(f"n{i}.{ZONE}" for i in range(230)), code=1)
    assert got[0]["err"] == "retry" and got[0]["sets"] == [], got
    assert len(cf.requests) < 8


def test_zone_id_needs_no_right_to_list(tool, cf):  # noqa: F811
    cf.seed(ZONE, [(WWW, "A", 60, A)])
    cf.can_list_zones = False
    options = {**cf.options, "zone-id": cf.ids[ZONE]}
    got = tool("cloudflare", options, "records", ZONE, WWW)
    assert values(got[0]) == {f"{WWW}. A": {A: True}}
    got = tool("cloudflare", cf.options, "records", ZONE, WWW, code=1)
    assert got[0]["err"] == "auth"


def test_global_key_is_refused(tool, cf):  # noqa: F811
    got = tool("cloudflare", {**cf.options, "token": "0123456789abcdef" * 2
                              + "01234"}, "zones", code=1)
    assert got[0]["err"] == "auth" and "Global API Key" in got[0]["text"]
    assert cf.requests == []


def test_after_403_nothing_more_is_sent(tool, cf):  # noqa: F811
    cf.seed(ZONE, [(WWW, "A", 60, A)])
    cf.can_list_zones = False
    tool("cloudflare", cf.options, "records", ZONE, WWW, "+", "specs", ZONE,
         "+", "zones", code=1)
    assert len(cf.requests) == 1


def test_secret_in_an_answer_is_blanked_out(tool, cf):  # noqa: F811
    cf.seed(ZONE, [])
    cf.handle = lambda request: cloudflare.Answer(
        400, f"bad header: {request.headers['Authorization']}")
    got = tool("cloudflare", cf.options, "zones", code=1)
    assert cf.token not in got[0]["text"] and "****" in got[0]["text"]


def test_page_of_a_gateway(tool, cf):  # noqa: F811
    cf.seed(ZONE, [])
    cf.handle = lambda request: cloudflare.Answer(
        502, "<html><title>x</title><h1>Bad Gateway</h1></html>",
        kind="text/html")
    got = tool("cloudflare", cf.options, "zones", code=1)
    assert "Bad Gateway" in got[0]["text"] and "<h1>" not in got[0]["text"]
    assert got[0]["err"] == "retry" and len(cf.requests) == 3
