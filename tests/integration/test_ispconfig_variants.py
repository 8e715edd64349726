"""The double's planted misbehaviour, and its server part."""

import http.client
import json
import pathlib
import shutil
import time
import xml.etree.ElementTree as ET

import pytest

from ispconfig import double
from ispconfig.client import Html, call, envelope, fault_of, ids, log_in, post
from ispconfig.fixtures import (  # noqa: F401
    OFF, isp, needs_php, running, sid,
)
from ispconfig.zonefile import ServerPart, render_zone, txt_field

PATH = "/remote/index.php"
CUT = (OSError, http.client.HTTPException)


def get_row(sid, row=1):
    return envelope(f"<dns_a_get><a>{sid}</a><b>{row}</b></dns_a_get>")


@pytest.mark.parametrize("plain", [True, False])
@pytest.mark.parametrize("how", ["0", "100", "50%", "99%"])
def test_cut_after_the_work(isp, sid, how, plain):
    isp.set_variant("cut", how, method="dns_*_update", times=1)
    with pytest.raises(CUT):
        call(isp, "dns_a_update", sid, 0, 1, OFF, True, plain=plain)
    assert isp.rr(1)["active"] == "N"
    assert isp.serial(1) > 2024010101
    assert isp.calls()[-1]["outcome"] == "ok"
    assert call(isp, "dns_a_update", sid, 0, 1, OFF, plain=plain) == 0


def test_slow(isp, sid):
    isp.set_variant("slow", 0.4, method="dns_a_get", times=1)
    start = time.monotonic()
    assert call(isp, "dns_a_get", sid, 1)
    assert time.monotonic() - start >= 0.4
    assert call(isp, "dns_a_get", sid, 1)


@pytest.mark.parametrize("variant, status, text", [
    ("disabled", 200, b"Remote API is disabled in security settings."),
    ("login_page", 200, b"<form"),
    ("empty500", 500, b""),
    ("redirect", 302, b""),
])
def test_pages(isp, sid, variant, status, text):
    isp.set_variant(variant, "https://127.0.0.1:1/elsewhere")
    for path, body in ((PATH, get_row(sid)),
                       ("/remote/json.php?dns_a_get", b"{}")):
        got, headers, answer = post(isp, path, body)
        assert got == status and text in answer
        assert len(answer) == 0 or text
        assert headers["Content-Type"].startswith("text/html")
        assert headers["X-Double"] is None
        if variant == "redirect":
            assert headers["Location"] == "https://127.0.0.1:1/elsewhere"
        last = isp.calls()[-1]
        assert (last["outcome"], last["args"]) == (variant, None)
        assert last["method"] == "dns_a_get"
    isp.clear_variants()
    assert call(isp, "dns_a_get", sid, 1)


def test_raw(isp, sid):
    isp.set_variant("raw", "<a><b/>", times=1)
    status, headers, answer = post(isp, PATH, get_row(sid))
    assert (status, answer) == (200, b"<a><b/>")
    assert headers["Content-Type"] == "text/xml; charset=utf-8"


def test_fault_and_lost_session(isp, sid):
    isp.set_variant("fault", "permission_denied|Not you.",
                    method="dns_*_update", times=1)
    assert fault_of(isp, "dns_a_update", sid, 0, 1, OFF) \
        == "permission_denied"
    isp.set_variant("session_lost", method="dns_*_update", times=1)
    assert call(isp, "dns_a_get", sid, 1)
    assert fault_of(isp, "dns_a_update", sid, 0, 1, OFF) \
        == "session_does_not_exist"
    assert isp.rr(1)["active"] == "Y"
    sid = log_in(isp)
    assert call(isp, "dns_a_update", sid, 0, 1, OFF) == 1


def test_variant_skips_and_ends(isp, sid):
    isp.set_variant("false", method="dns_a_get", skip=1, times=2)
    answers = [call(isp, "dns_a_get", sid, 1) for _ in range(4)]
    assert [a is False for a in answers] == [False, True, True, False]


def test_bent_lists(isp, sid):
    isp.set_variant("empty_list", times=1, method="dns_rr_get_all_by_zone")
    assert call(isp, "dns_rr_get_all_by_zone", sid, 1) == []
    assert len(call(isp, "dns_rr_get_all_by_zone", sid, 1)) == 5
    isp.set_variant("control_char")
    with pytest.raises(ET.ParseError):
        call(isp, "dns_rr_get_all_by_zone", sid, 1)
    answer = post(isp, "/remote/json.php?dns_rr_get_all_by_zone", json.dumps(
        {"session_id": sid, "zone_id": 1}))[2]
    assert "\x01" in json.loads(answer)["response"][-1]["data"]
    isp.clear_variants()
    # The same from a row that holds such a byte.
    isp.set_rr(1, data="a\x01")
    with pytest.raises(ET.ParseError):
        call(isp, "dns_a_get", sid, 1)


def test_old_server_ignores_update_serial(isp, sid):
    isp.set_variant("old_server")
    assert call(isp, "dns_a_update", sid, 0, 1, OFF, True) == 1
    assert isp.serial(1) == 2024010101
    assert call(isp, "dns_a_update", sid, 0, 1, {"active": "Y"}, True) == 1


def test_other_states(isp, sid):
    isp.set_config("maintenance", 1)
    assert fault_of(isp, "login", isp.user, isp.password) \
        == "maintenance_mode"
    assert call(isp, "dns_a_get", sid, 1)
    isp.set_config("maintenance", 0)
    isp.set_variant("address", "192.0.2.77", times=1)
    assert fault_of(isp, "dns_a_get", sid, 1) == "session_ip_mismatch"
    isp.set_config("strict", 1)
    assert fault_of(isp, "dns_a_update", sid, 0, 1, {"active": "X"}) \
        == "database_error"
    isp.set_variant("db_down", 0, times=1)
    assert fault_of(isp, "dns_a_get", sid, 1) == "SOAP-ENV:Server"


def test_log_of_calls(isp, sid):
    call(isp, "dns_a_update", sid, 0, 1, OFF, True)
    call(isp, "logout", sid)
    calls = isp.calls()
    assert isp.methods() == ["login", "dns_a_update", "logout"]
    assert calls[1]["args"] == [sid, "0", "1", OFF, True]
    assert calls[1]["address"] == "127.0.0.1"
    assert b"dns_a_update" in calls[1]["body"]
    assert [c["outcome"] for c in isp.calls("dns_*")] == ["ok"]
    isp.clear_calls()
    assert isp.calls() == []


# -- server part ------------------------------------------------------------


def test_rendered_zone(isp):
    isp.set_rr(2, active="N")
    isp.set_rr(3, active="")
    isp.add_rr(1, "", "A", "192.0.2.3", ttl=60)
    assert render_zone(isp, 1) == (
        "$TTL 3600\n"
        "@ IN SOA ns1.domain.example. hostmaster.domain.example. "
        "( 2024010101 7200 540 604800 3600 )\n"
        "www.domain.example. 300 A 192.0.2.1\n"
        '_failover.www.domain.example. 300 TXT '
        '"[{"name":"www.domain.example."}]"\n'
        "domain.example. 300 MX 10 mail.domain.example.\n"
        "@ 60 A 192.0.2.3\n"
    )
    isp.sql("UPDATE dns_rr SET active = 'N'")
    assert render_zone(isp, 1) is None
    assert render_zone(isp, 9) is None


@pytest.mark.parametrize("length, parts", [
    (0, []), (1, [1]), (255, [255]), (256, [255, 1]), (600, [255, 255, 90]),
])
def test_txt_is_cut_every_255_bytes(length, parts):
    field = txt_field("a" * length).decode()
    assert field == '"' + '" "'.join("a" * n for n in parts) + '"'


def test_publishing(isp, tmp_path):
    if shutil.which("named-checkzone") is None \
            and not pathlib.Path("/usr/sbin/named-checkzone").exists():
        pytest.skip("no named-checkzone (package bind9-utils)")
    isp.add_rr(1, "", "NS", "ns1.other.example.")
    isp.set_functions(double.EVERYTHING)
    sid = log_in(isp)
    reloads = []
    server = ServerPart(isp, tmp_path, reloads.append)
    server.write_all()
    good = server.path(1).read_text()
    assert "192.0.2.1\n" in good and server.run() == []

    call(isp, "dns_a_update", sid, 0, 1, OFF, True)
    assert call(isp, "monitor_jobqueue_count", sid, 0) == "2"
    assert server.path(1).read_text() == good  # not before the next minute
    assert server.run() == ["domain.example"]
    assert reloads == [["domain.example"]]
    good = server.path(1).read_text()
    assert "192.0.2.1\n" not in good and str(isp.serial(1)) in good
    assert call(isp, "monitor_jobqueue_count", sid, 1) == "0"

    # One bad record freezes the zone, and the API says nothing about it.
    assert call(isp, "dns_txt_update", sid, 0, 4,
                {"data": 'odd " quote', "zone": "1"}, True) == 1
    assert server.run() == []
    assert server.path(1).read_text() == good
    assert (tmp_path / "pri.domain.example.err").exists()
    assert isp.datalog()[-1]["error"]
    assert call(isp, "monitor_jobqueue_count", sid, 1) == "0"

    # set_status writes no entry, so nothing happens.
    call(isp, "dns_zone_set_status", sid, 1, "inactive")
    assert server.run() == []
