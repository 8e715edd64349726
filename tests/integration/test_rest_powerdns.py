"""PowerDNS beyond the contract, the real server: switched-off records, the
serial, signed zones, comments."""

import shutil

import pytest

from rest_help import ZONE, states, tool, values  # noqa: F401
from restapi import powerdns

pytestmark = pytest.mark.skipif(powerdns.missing() is not None,
                                reason=str(powerdns.missing()))
WWW = f"www.{ZONE}"
A, B = "192.0.2.1", "192.0.2.2"
OUT = ["apply", ZONE, "withdraw", WWW, "A", A, "-"]
BACK = ["apply", ZONE, "publish", WWW, "A", A, "-"]


@pytest.fixture(scope="module")
def pdns(tmp_path_factory):
    with powerdns.PowerDNS(tmp_path_factory.mktemp("pdns"),
                           more="primary=yes\nonly-notify=") as p:
        p.options = {"url": p.url, "api-key": powerdns.KEY}
        yield p


def seed(pdns, sets=(), **members):
    pdns.make_zone(ZONE, [(WWW + ".", "A", 60, [(A, False), (B, False)]),
                          *sets], **members)


def rows(pdns, name=WWW):
    return sorted((r[2], bool(r[4])) for r in pdns.rows(ZONE) if r[0] == name)


def test_switched_off_records_are_not_lost(tool, pdns):  # noqa: F811
    """A filtered read before 5.0 hides them."""
    seed(pdns, [(f"x.{ZONE}.", "A", 60, [(A, True), (B, False)])])
    tool("powerdns", pdns.options, *OUT, "+", "create", ZONE, "publish",
         f"x.{ZONE}", "A", "192.0.2.3", "60")
    assert rows(pdns) == [(A, True), (B, False)]
    assert rows(pdns, f"x.{ZONE}") == [(A, True), (B, False),
                                       ("192.0.2.3", False)]


def test_a_value_that_is_not_there_is_an_error(tool, pdns):  # noqa: F811
    seed(pdns)
    got = tool("powerdns", pdns.options, "apply", ZONE, "publish", WWW, "A",
               "192.0.2.3", "60", "withdraw", WWW, "A", A, "-", code=1)
    assert states(got[0]) == ["failed", "skipped"]
    assert f'create = yes in zone "{ZONE}"' in got[0]["results"][0]["text"]
    assert rows(pdns) == [(A, False), (B, False)]


def test_serial_rises_with_a_change_and_not_at_rest(tool, pdns):  # noqa: F811
    seed(pdns)
    before = pdns.serial(ZONE)
    got = tool("powerdns", pdns.options, *OUT, "+", *OUT, "+", "records", ZONE,
               WWW)
    assert pdns.serial(ZONE) == before + 1
    assert [g["serial"] for g in got] == [before + 1] * 3
    assert values(got[2]) == {f"{WWW}. A": {A: False, B: True}}


def test_empty_soa_edit_api_is_told(tool, pdns):  # noqa: F811
    seed(pdns, soa_edit_api="")
    before = pdns.serial(ZONE)
    got = tool("powerdns", pdns.options, *OUT)
    assert states(got[0]) == ["done"] and pdns.serial(ZONE) == before
    assert "SOA-EDIT-API is empty" in tool.stderr
    assert "pdnsutil set-meta" in tool.stderr
    tool("powerdns", pdns.options, *OUT)
    assert tool.stderr == ""


def test_comments_stay(tool, pdns):  # noqa: F811
    seed(pdns)
    comment = [{"content": "rack 7", "account": "me", "modified_at": 1}]
    pdns.must("PATCH", f"/zones/{ZONE}.", {"rrsets": [{
        "name": WWW + ".", "type": "A", "ttl": 60, "changetype": "REPLACE",
        "comments": comment,
        "records": [{"content": A, "disabled": False}]}]})
    tool("powerdns", pdns.options, *OUT, "+", *BACK)
    (www,) = [s for s in pdns.must("GET", f"/zones/{ZONE}.")["rrsets"]
              if s["name"] == WWW + "."]
    assert www["comments"] == comment
    assert www["records"] == [{"content": A, "disabled": False}]


def test_foreign_values_are_written_back_to_the_byte(tool,  # noqa: F811
                                                     pdns):
    owner = f"_failover.{WWW}"
    foreign = '"one" "two" "thr\\195\\169e"'
    seed(pdns, [(owner + ".", "TXT", 60, [(foreign, False),
                                          ('"[]"', False)])])
    got = tool("powerdns", pdns.options, "write", ZONE, WWW, "[{}]", 60)
    assert got[0]["changed"] and "err" not in got[0]
    assert rows(pdns, owner) == sorted([(foreign, False), ('"[{}]"', False)])


def test_what_cannot_be_read_stays(tool, pdns):  # noqa: F811
    """Somebody wrote into the database what is no address to everybody; the
    server takes it for one and mends it when it is written back."""
    seed(pdns)
    pdns.sql("UPDATE records SET content = '192.0.2.010' WHERE content = ?", B)
    got = tool("powerdns", pdns.options, *OUT)
    assert states(got[0]) == ["done"]
    assert rows(pdns) == [(A, True), ("192.0.2.10", False)]


def test_one_bad_set_does_not_stop_the_others(tool, pdns):  # noqa: F811
    seed(pdns, [(f"c.{ZONE}.", "CNAME", 60, [("a.example.", False)])])
    got = tool("powerdns", pdns.options, "create", ZONE, "publish",
               f"c.{ZONE}", "A", B, "60", "withdraw", WWW, "A", A, "-", code=1)
    assert states(got[0]) == ["failed", "done"]
    assert "Conflicts with pre-existing RRset" in got[0]["results"][0]["text"]
    assert rows(pdns) == [(A, True), (B, False)]


@pytest.mark.skipif(shutil.which("pdnsutil") is None, reason="no pdnsutil")
def test_signed_zone_is_rectified(tool, pdns):  # noqa: F811
    """A name that comes back has its place in the order of names."""
    seed(pdns, [(f"one.{ZONE}.", "A", 60, [(A, True)])], dnssec=True,
         api_rectify=False)
    pdns.must("PUT", f"/zones/{ZONE}.", {"api_rectify": False})
    tool("powerdns", pdns.options, "apply", ZONE, "publish", f"one.{ZONE}",
         "A", A, "-", "withdraw", WWW, "A", A, "-")
    assert pdns.util("check-zone", ZONE).splitlines()[-1].startswith(
        "Checked") and rows(pdns, f"one.{ZONE}") == [(A, False)]
    order = {r[0] for r in pdns.sql(
        "SELECT name FROM records WHERE ordername IS NOT NULL")}
    assert f"one.{ZONE}" in order


@pytest.mark.parametrize("members, puts", [
    ({"kind": "Native"}, []),
    ({"kind": "Master"}, ["notify"]),
    ({"kind": "Master", "dnssec": True, "api_rectify": False},
     ["rectify", "notify"]),
    ({"kind": "Native", "dnssec": True, "api_rectify": True}, []),
])
def test_what_follows_a_write(tool, pdns, members, puts):  # noqa: F811
    seed(pdns, **members)
    pdns.must("PUT", f"/zones/{ZONE}.",
              {"api_rectify": members.get("api_rectify", False)})
    with powerdns.Relay(pdns) as relay:
        options = {**pdns.options, "url": relay.url}
        got = tool("powerdns", options, *OUT, "+", *OUT)
        assert [states(g) for g in got] == [["done"], ["done"]]
        assert [c.rpartition("/")[2] for c in relay.calls("PUT")] == puts
        assert len(relay.calls("PATCH")) == 1


def test_specs_of_other_zones_are_not_shown(tool, pdns):  # noqa: F811
    seed(pdns, [(f"_failover.www.{ZONE}.", "TXT", 60, [('"[]"', False)]),
                (f"_failover.off.{ZONE}.", "TXT", 60, [('"[]"', True)])])
    pdns.make_zone(f"eu.{ZONE}", [
        (f"_failover.www.eu.{ZONE}.", "TXT", 60, [('"[]"', False)])])
    got = tool("powerdns", pdns.options, "specs", ZONE, "+", "specs",
               f"eu.{ZONE}")
    assert [s["owner"] for s in got[0]["specs"]] == [WWW + "."]
    assert [s["owner"] for s in got[1]["specs"]] == [f"www.eu.{ZONE}."]
    pdns.api("DELETE", f"/zones/eu.{ZONE}.")


def test_key_in_the_clear_is_refused(tool, pdns):  # noqa: F811
    got = tool("powerdns", {"url": "http://192.0.2.1:8081", "api-key": "x"},
               "zones", code=1)
    assert got[0]["err"] == "input" and "in the clear" in got[0]["text"]
