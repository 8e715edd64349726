"""The ISPConfig provider reads: zones, specs and records in every spelling."""

import pytest

from ispconfig import double
from ispconfig_panel import (  # noqa: F401
    WWW, apply, needs_double, panel, running, withdraw,
)

pytestmark = needs_double


# ---- reading ----------------------------------------------------------------


def test_zones_without_the_switched_off(panel):
    panel.isp.add_zone("off.example.", active="N")
    got = panel("zones")
    assert got["zones"] == ["example.org.", "example.net."]
    assert panel.isp.methods() == ["login", "dns_zone_get", "logout"]


def test_zones_of_case_a8(panel):
    for origin in ("test.", "Example.Test.", "ample.test.",
                   "eu.example.test.", "longexample.test."):
        panel.isp.add_zone(origin)
    assert panel("zones")["zones"][2:] == [
        "test.", "example.test.", "ample.test.", "eu.example.test.",
        "longexample.test."]


def test_specs_in_every_spelling(panel):
    add = panel.isp.add_rr
    z = panel.zone
    add(z, "_failover", "TXT", "apex")
    add(z, "_failover.rel", "TXT", ' "quoted" \\"x\\" ')
    add(z, "_failover.fqdn.example.org.", "TXT", "fqdn")
    add(z, "_FailOver.Upper", "TXT", "upper")
    add(z, "_failover.dotless.example.org", "TXT", "dotless")
    add(z, "_failover.*", "TXT", "wildcard")
    add(z, "_failover.off", "TXT", "off", active="N")
    add(z, "xfailover.like", "TXT", "like")
    add(z, "_failoverx.like", "TXT", "like")
    add(z, "_failover.a", "CNAME", "a.example.org.")
    add(z, "_failover.elsewhere.example.com.", "TXT", "outside")
    add(panel.other, "_failover.foreign", "TXT", "other zone")
    got = panel("specs", "example.org")
    assert {(s["owner"], s["text"]) for s in got["specs"]} == {
        ("example.org.", "apex"),
        ("rel.example.org.", ' "quoted" \\"x\\" '),
        ("fqdn.example.org.", "fqdn"),
        ("upper.example.org.", "upper"),
        ("dotless.example.org.example.org.", "dotless"),
        ("*.example.org.", "wildcard"),
    }
    search = panel.isp.calls("dns_txt_get")[0]["args"][1]
    assert search == {"zone": str(panel.zone), "name": "\\_failover%",
                      "type": "TXT", "active": "Y"}


def test_no_specs_is_believed_only_with_records(panel):
    assert panel("specs", "example.org")["specs"] == []
    for row in panel.isp.rrs(panel.zone):
        panel.isp.sql("DELETE FROM dns_rr WHERE id = ?", row["id"])
    got = panel("specs", "example.org")
    assert got.err == "retry" and "came back empty" in got.text


NAMES = {
    "relative": ("www", WWW),
    "fqdn": ("www.example.org.", WWW),
    "upper": ("WWW.Example.ORG.", WWW),
    "apex-origin": ("example.org.", "example.org"),
    "apex-empty": ("", "example.org"),
    "apex-at": ("@", "example.org"),
    "wildcard": ("*", "*.example.org"),
    "wildcard-fqdn": ("*.example.org.", "*.example.org"),
    "dotless": ("www.example.org", "www.example.org.example.org"),
}


@pytest.mark.parametrize("how", NAMES)
def test_names_as_stored(panel, how):
    stored, name = NAMES[how]
    row = panel.isp.add_rr(panel.zone, stored, "AAAA", "2001:DB8::1")
    for names in ([name], [name, "mail.example.org", "no.example.org"]):
        got = panel("records", "example.org", *names)
        sets = [s for s in got["sets"] if s["type"] == "AAAA"]
        assert sets == [{
            "name": name + ".", "type": "AAAA", "ttl": 300,
            "values": [{"data": "2001:db8::1", "enabled": True, "rows": 1}],
        }]
        assert got["serial"] == 2024010101
    if stored == "@":
        return  # the panel's own form refuses to save such a row
    assert panel(*apply(withdraw("2001:db8::1", name, "AAAA"))).code == 0
    assert panel.isp.rr(row)["active"] == "N"
    assert panel.isp.rr(row)["name"].lower() == stored.lower()


def test_records_with_equal_rows_and_foreign_ones(panel):
    panel.isp.add_rr(panel.zone, "WWW", "A", "192.0.2.1", active="N", ttl=60)
    panel.isp.add_rr(panel.zone, "www", "TXT", "a text")
    panel.isp.add_rr(panel.zone, "alias", "CNAME", "www")
    got = panel("records", "example.org", WWW, "alias.example.org")
    assert got["sets"] == [
        {"name": "www.example.org.", "type": "A", "ttl": 300, "values": [
            {"data": "192.0.2.1", "enabled": True, "rows": 2},
            {"data": "192.0.2.2", "enabled": True, "rows": 1}]},
        {"name": "alias.example.org.", "type": "CNAME", "ttl": 300,
         "values": [{"data": "www.example.org.", "enabled": True,
                     "rows": 1}]},
    ]


def test_no_records_at_a_name_that_has_none(panel):
    assert panel("records", "example.org", "no.example.org")["sets"] == []
    assert "dns_rr_get_all_by_zone" in panel.isp.methods()


def test_a_user_without_cname_rights_reads_all_the_same(panel):
    panel.isp.set_functions(double.group("a") + double.ZONE_FUNCTIONS)
    assert panel("records", "example.org", WWW).code == 0
    assert panel(*apply(withdraw("192.0.2.1"))).code == 0


@pytest.mark.parametrize("method", ["dns_zone_get", "dns_rr_get_all_by_zone"])
def test_an_empty_list_is_never_no_records(panel, method):
    panel.isp.set_variant("empty_list", method=method)
    for command in (["records", "example.org", WWW, "mail.example.org"],
                    apply(withdraw("192.0.2.1"),
                          withdraw("192.0.2.1", "mail.example.org"))):
        got = panel(*command)
        assert got.err == "retry" and "came back empty" in got.text
    assert panel.changed() == {} and panel.writes() == []


def test_all_searches_empty(panel):
    panel.isp.set_variant("empty_list", method="dns_*")
    for command in (["zones"], ["specs", "example.org"],
                    ["records", "example.org", WWW],
                    apply(withdraw("192.0.2.1"))):
        got = panel(*command)
        assert got.err == "retry" and "came back empty" in got.text


def test_a_zone_that_is_not_there(panel):
    got = panel("records", "example.com", "www.example.com")
    assert got.err == "retry" and "example.com." in got.text
    panel.isp.set_soa(panel.zone, active="N")
    got = panel("records", "example.org", WWW)
    assert got.err == "input" and "switched off" in got.text


def test_a_control_character(panel):
    """In some other record it does not matter: the names are searched for."""
    panel.isp.set_variant("control_char", method="dns_rr_get_all_by_zone")
    got = panel("records", "example.org", WWW, "mail.example.org")
    assert got.code == 0 and len(got["sets"]) == 2
    panel.isp.set_variant("control_char", method="dns_a_get")
    got = panel("records", "example.org", WWW, "mail.example.org")
    assert got.err == "retry" and "control character 0x01" in got.text


def test_an_answer_that_is_too_large(panel):
    panel.isp.set_variant("raw", "<x>" + "a" * (17 * 1024 * 1024),
                          method="dns_rr_get_all_by_zone")
    got = panel("records", "example.org", WWW, "mail.example.org")
    # read name by name instead
    assert got.code == 0 and len(got["sets"]) == 2
    panel.isp.set_variant("raw", "<x>" + "a" * (17 * 1024 * 1024),
                          method="dns_zone_get")
    got = panel("zones")
    assert got.err == "limit" and "16777216" in got.text


def test_a_doctype(panel):
    panel.isp.set_variant(
        "raw", '<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]>'
        "<Envelope><Body><r><return>&e;</return></r></Body></Envelope>",
        method="dns_zone_get")
    got = panel("zones")
    assert "DOCTYPE" in got.text and "root:" not in got.text
