"""DNSimple beyond the contract: accounts, pages, batches, budget."""

import json

import pytest

from rest_help import ZONE, simple, states, tool, values  # noqa: F401

WWW = f"www.{ZONE}"
A, B = "192.0.2.1", "192.0.2.2"


def contents(api):
    return sorted((r["name"], r["content"]) for r in api.zones[ZONE]
                  if not r["system_record"])


def swap():
    return ["apply", ZONE, "publish", WWW, "A", B, "60", "withdraw", WWW, "A",
            A, "-"]


# ---- the account ------------------------------------------------------------


def test_account_of_the_token(tool, simple):  # noqa: F811
    simple.seed(ZONE, [("www", "A", 60, A)])
    tool("dnsimple", simple.options, "records", ZONE, WWW, "+", "specs", ZONE)
    assert simple.calls()[:2] == [
        "GET /v2/whoami", f"GET /v2/1010/zones/{ZONE}/records"]
    assert simple.calls().count("GET /v2/whoami") == 1


def test_account_of_the_user(tool, simple):  # noqa: F811
    simple.seed(ZONE, [("www", "A", 60, A)])
    simple.is_user_token = True
    got = tool("dnsimple", simple.options, "records", ZONE, WWW)
    assert values(got[0]) == {f"{WWW}. A": {A: True}}
    simple.accounts = [1010, 2020]
    got = tool("dnsimple", simple.options, "records", ZONE, WWW, code=1)
    assert got[0]["err"] == "input" and "2 accounts" in got[0]["text"]
    tool("dnsimple", {**simple.options, "account": 2020}, "zones")


@pytest.mark.parametrize("tail", ["", "/", "/v2", "/v2/"])
def test_base_url_with_and_without_version(tool, simple, tail):  # noqa: F811
    simple.seed(ZONE, [])
    got = tool("dnsimple", {**simple.options, "url": simple.url + tail},
               "zones")
    assert got[0]["zones"] == [ZONE + "."]


# ---- pages (case A6) --------------------------------------------------------


def test_case_a6(tool, simple, shared):  # noqa: F811
    folder = shared / "cases" / "files" / "api"
    simple.zones = {"example.test": sum((
        [{"system_record": False, **r} for r in json.loads(
            (folder / f"a6-dnsimple-p{i}.json").read_text())["data"]]
        for i in (1, 2)), [])}
    simple.per_page_max = 2
    got = tool("dnsimple", simple.options, "records", "example.test",
               *(f"x{i}.example.test" for i in range(9)), "www.example.test",
               "+", "apply", "example.test", "publish", "www.example.test",
               "A", "192.0.2.20", "60")
    assert values(got[0]) == {"www.example.test. A": {
        "192.0.2.10": True, "192.0.2.20": True}}
    assert states(got[1]) == ["done"] and simple.writes == 0


def test_a_page_that_repeats_ends_in_an_error(tool, simple):  # noqa: F811
    simple.seed(ZONE, [(f"n{i}", "A", 60, A) for i in range(5)])
    simple.per_page_max, simple.repeats_page = 2, True
    got = tool("dnsimple", simple.options, "records", ZONE,
               *(f"n{i}.{ZONE}" for i in range(5)), code=1)
    assert got[0]["err"] == "retry" and got[0]["sets"] == []
    assert len(simple.requests) == 3


def test_filter_that_finds_nothing_is_not_believed(tool, simple):  # noqa: F811
    """A server that knows the filter by another name answers nothing."""
    simple.seed(ZONE, [("www", "A", 60, A)])
    page = simple._page
    simple._page = lambda request, items: page(
        request, [] if request.query.get("name") else items)
    got = tool("dnsimple", simple.options, "records", ZONE, WWW)
    assert values(got[0]) == {f"{WWW}. A": {A: True}}


def test_an_empty_zone_is_an_error(tool, simple):  # noqa: F811
    simple.seed(ZONE, [])
    simple.zones[ZONE] = []
    got = tool("dnsimple", simple.options, *swap(), code=1)
    assert got[0]["err"] == "retry" and "came back empty" in got[0]["text"]
    assert states(got[0]) == ["skipped", "skipped"] and simple.writes == 0


# ---- batches ----------------------------------------------------------------


def test_batch_is_one_write(tool, simple):  # noqa: F811
    simple.seed(ZONE, [("www", "A", 60, A)])
    got = tool("dnsimple", simple.options, *swap())
    assert states(got[0]) == ["done", "done"]
    assert simple.writes == 1 and contents(simple) == [("www", B)]


def test_plan_without_batch_is_remembered(tool, simple):  # noqa: F811
    simple.seed(ZONE, [("www", "A", 60, A)])
    simple.has_batch = False
    simple.states = []
    back = ["apply", ZONE, "publish", WWW, "A", A, "-", "withdraw", WWW, "A",
            B, "-"]
    got = tool("dnsimple", simple.options, *swap(), "+", *back)
    assert [states(g) for g in got] == [["done", "done"]] * 2
    assert contents(simple) == [("www", A)]
    assert [c.split()[0] + " " + c.split("/")[5]
            for c in simple.calls() if not c.startswith("GET")] == [
        "POST batch", "POST records", "DELETE records", "POST records",
        "DELETE records"]
    for state in simple.states:
        assert any(r["name"] == "www" for r in state[ZONE])


def test_error_of_a_batch_names_the_field(tool, simple):  # noqa: F811
    simple.seed(ZONE, [("www", "A", 60, A), ("c", "CNAME", 60, "a.example")])
    got = tool("dnsimple", simple.options, "apply", ZONE,
               "publish", f"c.{ZONE}", "A", B, "60",
               "publish", WWW, "A", B, "60", "withdraw", WWW, "A", A, "-",
               code=1)
    assert states(got[0]) == ["failed", "done", "done"]
    assert "name: has records of another type" in got[0]["results"][0]["text"]


# ---- records ----------------------------------------------------------------


def test_system_records_and_other_types_are_left_alone(tool,  # noqa: F811
                                                       simple):  # noqa: F811
    simple.seed(ZONE, [("", "A", 60, A), ("", "ALIAS", 60, "x.example"),
                       ("", "TXT", 60, "ALIAS for x.example"),
                       ("sys", "A", 60, A, {"system_record": True})])
    got = tool("dnsimple", simple.options, "records", ZONE, ZONE, f"sys.{ZONE}",
               "+", "specs", ZONE)
    assert values(got[0]) == {f"{ZONE}. A": {A: True}}
    assert got[1]["specs"] == []


@pytest.mark.parametrize("stored", ['[{"name":"www"}]',
                                    '"[{\\"name\\":" "\\"www\\"}]"'])
def test_txt_bare_or_in_quotes_is_the_same(tool, simple, stored):  # noqa: F811
    simple.seed(ZONE, [("_failover.www", "TXT", 60, stored)])
    got = tool("dnsimple", simple.options, "specs", ZONE, "+", "write", ZONE,
               WWW, '[{"name":"www"}]', 60)
    assert got[0]["specs"] == [{"owner": WWW + ".",
                                "text": '[{"name":"www"}]'}]
    assert not got[1]["changed"] and simple.writes == 0


def test_scope_that_is_missing_is_named(tool, simple):  # noqa: F811
    simple.seed(ZONE, [("www", "A", 60, A)])
    simple.misbehave("forbidden")
    got = tool("dnsimple", simple.options, *swap(), code=1)
    assert "Required Scope: dns:records:write" in got[0]["text"]
    assert got[0]["err"] == "auth"
