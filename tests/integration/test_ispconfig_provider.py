"""The ISPConfig provider writes: permissions, records, the serial."""

import threading

import pytest

from ispconfig import double
from ispconfig_panel import (  # noqa: F401
    WWW, apply, needs_double, own_panel, panel, publish, running,
    withdraw,
)

pytestmark = needs_double


# ---- permissions --------------------------------------------------------------

LACKING = {
    "DNS zone functions": ["dns_zone_update"],
    "DNS a functions": ["dns_a_update"],
}


@pytest.mark.parametrize("box", LACKING)
def test_permissions_are_tried_before_the_first_write(panel, box):
    panel.isp.set_functions(
        [f for f in double.MINIMUM if f not in LACKING[box]])
    got = panel(*apply(publish("192.0.2.2", "60"), withdraw("192.0.2.1")))
    assert got.err == "auth"
    assert f"the remote user lacks '{box}'" in got.text
    assert got.states() == ["skipped", "skipped"]
    assert panel.changed() == {} and panel.isp.datalog() == []
    assert not panel.serial_moved()


def test_zone_permission_missing_altogether(panel):
    panel.isp.set_functions(double.group("a") + double.group("txt"))
    for command in (["zones"], ["records", "example.org", WWW],
                    apply(withdraw("192.0.2.1"))):
        got = panel(*command)
        assert got.err == "auth"
        assert "the remote user lacks 'DNS zone functions'" in got.text
    assert panel.changed() == {} and panel.isp.datalog() == []


def test_the_trial_changes_nothing(panel):
    panel(*apply(publish("192.0.2.1"), publish("192.0.2.2")))
    assert panel.changed() == {} and panel.isp.datalog() == []
    assert not panel.serial_moved()
    tried = [c for c in panel.isp.calls("dns_*_update")]
    assert [c["args"][1:] for c in tried] == [
        ["0", "0", {"id": "0"}],  # dns_zone_update
        ["0", "0", {"id": "0"}, None]]


# ---- writing -------------------------------------------------------------------


def test_out_and_back(panel):
    got = panel(*apply(withdraw("192.0.2.1")))
    assert got.states() == ["done"]
    assert panel.changed() == {panel.one: {"active": "N"}}
    first = panel.isp.serial(panel.zone)
    assert first > panel.soa_start["serial"] and got["serial"] == first
    log = panel.isp.datalog()
    assert [x["dbtable"] for x in log] == ["dns_rr", "dns_soa"]
    soa = dict(panel.isp.soa(panel.zone), serial=None)
    assert soa == dict(panel.soa_start, serial=None)  # the owner stays
    # the record went back whole, as strings
    sent = panel.writes()[-1]["args"]
    assert sent[1:3] == ["0", str(panel.one)] and sent[4] is True
    assert sent[3]["active"] == "N"
    assert set(sent[3]) == set(panel.start[panel.one])
    assert all(isinstance(v, str) for v in sent[3].values())

    got = panel(*apply(publish("192.0.2.1", "-")))
    assert got.states() == ["done"] and panel.changed() == {}
    assert panel.isp.serial(panel.zone) == first + 1 == got["serial"]


def test_one_serial_for_many_changes(panel):
    panel.isp.add_rr(panel.zone, "www", "AAAA", "2001:db8::1", active="N")
    got = panel(*apply(
        publish("2001:db8::1", "60", kind="AAAA"), withdraw("192.0.2.1"),
        withdraw("192.0.2.1", "mail.example.org")))
    assert got.states() == ["done"] * 3
    assert [x["dbtable"] for x in panel.isp.datalog()] == [
        "dns_rr", "dns_rr", "dns_rr", "dns_soa"]
    assert panel.serial_asked() == [None, None, True]


def test_a_published_value_takes_the_ttl_of_the_spec(panel):
    panel.isp.set_rr(panel.two, active="N")
    panel.isp.set_rr(panel.one, ttl=60)
    panel.start = {r["id"]: r for r in panel.isp.rrs()}
    got = panel(*apply(publish("192.0.2.2", "60"), withdraw("192.0.2.1")))
    assert got.states() == ["done", "done"]
    assert panel.changed() == {panel.two: {"active": "Y", "ttl": 60},
                               panel.one: {"active": "N"}}


def test_what_stays_gets_the_ttl_too(panel):
    panel.isp.add_rr(panel.zone, "www", "A", "192.0.2.3", active="N")
    panel.start = {r["id"]: r for r in panel.isp.rrs()}
    got = panel(*apply(publish("192.0.2.3", "60"), withdraw("192.0.2.1")))
    assert got.states() == ["done", "done"]
    assert panel.changed() == {
        max(panel.start): {"active": "Y", "ttl": 60},
        panel.two: {"ttl": 60}, panel.one: {"active": "N"}}
    assert panel.serial_asked() == [None, None, True]


def test_a_value_that_is_so_still_sets_the_ttl_of_the_others(panel):
    panel.isp.set_rr(panel.one, ttl=60)
    panel.start = {r["id"]: r for r in panel.isp.rrs()}
    assert panel(*apply(publish("192.0.2.1", "60"))).states() == ["done"]
    assert panel.changed() == {panel.two: {"ttl": 60}}
    assert panel.serial_asked() == [True]


def test_equal_rows_are_switched_together(panel):
    again = panel.isp.add_rr(panel.zone, WWW + ".", "A", "192.0.2.1")
    assert panel(*apply(withdraw("192.0.2.1"))).states() == ["done"]
    assert panel.isp.rr(again)["active"] == "N"
    assert panel.isp.rr(panel.one)["active"] == "N"
    assert panel.serial_asked() == [None, True]


def test_what_is_so_already_is_not_written(panel):
    got = panel(*apply(publish("192.0.2.1", "300"),
                       withdraw("192.0.2.99")))
    assert got.states() == ["done", "done"] and panel.writes() == []
    assert got["serial"] == 2024010101


def test_a13_the_same_address_in_other_letters(panel):
    add = panel.isp.add_rr
    first = add(panel.zone, "www", "AAAA", "2001:db8:0:0:0:0:0:1")
    add(panel.zone, "www", "AAAA", "2001:0db8:0000:0000:0001:0000:0000:0001")
    panel.start = {r["id"]: r for r in panel.isp.rrs()}
    both = [publish(x, "300", kind="AAAA")
            for x in ("2001:DB8::1", "2001:db8:0:0:1::1")]
    for _ in range(3):
        assert panel(*apply(*both)).states() == ["done", "done"]
    assert panel.writes() == []
    got = panel(*apply(withdraw("2001:DB8::1", kind="AAAA")))
    assert got.states() == ["done"]
    assert panel.changed() == {first: {"active": "N"}}
    assert panel.writes()[-1]["args"][3]["data"] == "2001:db8:0:0:0:0:0:1"


def test_somebody_elses_edit_is_kept(panel):
    """A column that is changed after the list was made is written back as
    it is then."""
    panel.isp.set_variant("slow", "1.5", method="dns_aaaa_get", times=1)

    def edit():
        while not over.is_set():
            # by now the A records are listed, and not yet read one by one
            if panel.isp.calls("dns_aaaa_get"):
                panel.isp.set_rr(panel.one, ttl=77)
                return

    over = threading.Event()
    other = threading.Thread(target=edit)
    other.start()
    try:
        assert panel(*apply(withdraw("192.0.2.1"))).states() == ["done"]
    finally:
        over.set()
        other.join()
    assert panel.changed() == {panel.one: {"active": "N", "ttl": 77}}


def test_a_missing_record(panel):
    got = panel(*apply(publish("192.0.2.9", "60"), withdraw("192.0.2.1")))
    assert got.states() == ["failed", "skipped"]
    assert got.texts()[0] == (
        "192.0.2.9 is not in the panel at www.example.org. A; add it there "
        '(inactive is fine), or set create = yes in zone "example.org"')
    assert panel.changed() == {} and not panel.serial_moved()


def test_create(panel):
    got = panel(*apply(publish("192.0.2.9", "60"), withdraw("192.0.2.1"),
                       command="create"))
    assert got.states() == ["done", "done"]
    new = panel.isp.rr(max(r["id"] for r in panel.isp.rrs()))
    assert new["name"] == "www.example.org." and new["data"] == "192.0.2.9"
    assert new["active"] == "Y" and new["ttl"] == 60
    assert new["server_id"] == 1 and new["zone"] == panel.zone
    assert new["stamp"] >= "2024-01-01 00:00:00"
    assert set(panel.writes()[0]["args"][2]) == {
        "server_id", "zone", "name", "type", "data", "aux", "ttl", "active",
        "stamp", "serial"}
    assert [x["dbtable"] for x in panel.isp.datalog()].count("dns_soa") == 1


def test_create_whose_answer_is_lost(panel):
    panel.isp.set_variant("cut", "0", method="dns_a_add", times=1)
    got = panel(*apply(publish("192.0.2.9", "60"), command="create"))
    assert got.states() == ["done"] and panel.serial_moved()
    assert len([r for r in panel.isp.rrs() if r["data"] == "192.0.2.9"]) == 1


def test_a_row_that_the_form_refuses(panel):
    panel.isp.set_rr(panel.one, ttl=30)
    panel.start = {r["id"]: r for r in panel.isp.rrs()}
    got = panel(*apply(withdraw("192.0.2.1"),
                       withdraw("192.0.2.1", "mail.example.org")))
    assert got.states() == ["failed", "done"]
    assert "ttl_range_error" in got.texts()[0]
    assert "<br" not in got.texts()[0]
    assert panel.changed() == {panel.mail: {"active": "N"}}
    # the same where the refused update is the one with the serial
    got = panel(*apply(withdraw("192.0.2.2"), withdraw("192.0.2.1")))
    assert got.states() == ["done", "failed"]
    assert panel.isp.serial(panel.zone) > got["serial"] - 1
    assert got["serial"] == panel.isp.serial(panel.zone)


def test_the_serial_rises_even_when_the_last_update_fails(panel):
    panel.isp.set_rr(panel.one, ttl=30)
    got = panel(*apply(withdraw("192.0.2.2"), withdraw("192.0.2.1")))
    assert got.states() == ["done", "failed"]
    assert panel.serial_moved()
    assert got["serial"] == panel.isp.serial(panel.zone)


def test_a_failed_publish_keeps_its_set(panel):
    panel.isp.set_rr(panel.two, active="N", name="www_x")
    panel.isp.set_rr(panel.two, name="www", ttl=30)
    panel.start = {r["id"]: r for r in panel.isp.rrs()}
    got = panel(*apply(publish("192.0.2.2"), withdraw("192.0.2.1"),
                       withdraw("192.0.2.1", "mail.example.org")))
    assert got.states() == ["failed", "skipped", "done"]
    assert panel.changed() == {panel.mail: {"active": "N"}}


# ---- the serial -----------------------------------------------------------------


def test_a1_an_old_server_ignores_update_serial(panel):
    panel.isp.set_variant("old_server")
    for change in (withdraw("192.0.2.1"), publish("192.0.2.1")):
        before = panel.isp.serial(panel.zone)
        got = panel(*apply(change))
        assert got.states() == ["done"] and got.code == 0
        assert panel.isp.serial(panel.zone) > before
        assert got["serial"] == panel.isp.serial(panel.zone)


def test_a_serial_that_stays_is_reported(panel):
    panel.isp.set_variant("old_server")
    panel.isp.set_variant("fault", "database_error|read only UPDATE `x`",
                          method="dns_zone_update", skip=1)
    got = panel(*apply(withdraw("192.0.2.1")))
    assert got.states() == ["done"] and got.err == "retry"
    assert "serial stays 2024010101" in got.text


def test_a_soa_row_that_its_form_refuses(panel):
    panel.isp.set_soa(panel.zone, mbox="nodot")
    got = panel(*apply(withdraw("192.0.2.1")))
    # the row was changed before the fault
    assert got.states() == ["done"] and got.err == "retry"
    assert "mbox_error_regex" in got.text and "serial stays" in got.text
    assert panel.changed() == {panel.one: {"active": "N"}}
