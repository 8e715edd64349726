"""The ISPConfig double itself: recorded requests replayed, and own tests."""

import gzip
import http.client
import json
import os
import socket
import ssl
import threading
import time

import pytest

from ispconfig import double
from ispconfig.client import (
    SOAP_HEAD, Fault, Html, call, envelope, fault_of, ids, log_in, post,
)
from ispconfig.double import IspConfig
from ispconfig.fixtures import (  # noqa: F401
    OFF, isp, needs_php, running, sid,
)
from ispconfig.replay import (
    CAPTURES, Replay, canonical, capture_names, recorded_heads,
)

# Answers that differ from the recording: name of the capture -> why.
DEVIATIONS = {}


@pytest.fixture(scope="module")
def replay(tmp_path_factory):
    with IspConfig(tmp_path_factory.mktemp("captures"),
                   functions=double.EVERYTHING) as isp:
        run = Replay(isp)
        run.run()
        yield run


@pytest.mark.captures
@pytest.mark.parametrize("name", capture_names() or [None])
def test_captures(name, request):
    if name is None:
        pytest.skip(f"no captures in {CAPTURES}")
    status, kind, answer = request.getfixturevalue("replay").answers[name]
    recorded = CAPTURES / f"{name}.response.xml"
    if not recorded.exists():
        recorded = CAPTURES / f"{name}.response.json"
    want_status, want_kind = recorded_heads()[name]
    same = (
        canonical(answer) == canonical(recorded.read_bytes())
        and status == want_status
        and (want_kind is None or kind.split(";")[0] == want_kind)
    )
    if name in DEVIATIONS:
        assert not same, f"no longer deviates: {DEVIATIONS[name]}"
        return
    assert status == want_status
    assert want_kind is None or kind.split(";")[0] == want_kind
    assert canonical(answer) == canonical(recorded.read_bytes())


@pytest.mark.captures
def test_captures_database_down(tmp_path):
    recorded = CAPTURES / "96-db-down.response.txt"
    if not recorded.exists():
        pytest.skip(f"no captures in {CAPTURES}")
    with IspConfig(tmp_path) as isp:
        isp.set_variant("db_down", "0")
        body = (CAPTURES / "01-login.request.xml").read_bytes()
        status, headers, answer = post(isp, "/remote/index.php", body)
        assert status == 500
        assert headers["Content-Type"] == "text/xml; charset=utf-8"
        assert canonical(answer) == canonical(recorded.read_bytes())
        status, headers, answer = post(
            isp, "/remote/json.php?login", b'{"username":"a","password":"b"}')
        assert (status, answer) == (500, b"")
        assert headers["Content-Type"] == "text/html; charset=utf-8"


# -- own tests --------------------------------------------------------------

@pytest.mark.parametrize("where, want", [
    ({"name": "WWW.Domain.example."}, [1, 3]),
    ({"name": "www.domain.example.  "}, [1, 3]),
    ({"name": "www.domain.example.", "type": "A"}, [1]),
    ({"name": "_ww%"}, [1, 2, 3]),
    ({"name": "ww_.domain%"}, [1, 3]),
    ({"name": "ww_"}, []),
    ({"name": "%failover%"}, [4]),
    ({"name": "\\_failover.%"}, [4]),
    ({"name": "\\_ww%"}, []),
    ({"zone": "1", "type": "a"}, [1, 2]),
    ({"zone": "1x"}, [1, 2, 3, 4, 5]),
    ({"nosuch": "1"}, []),
    ({}, []),
    ({"zone": "1", "#LIMIT#": "2", "#OFFSET#": "1"}, [2, 3]),
    ({"zone": "1", "#OFFSET#": "1"}, [1, 2, 3, 4, 5]),
    ({"#LIMIT#": "2", "zone": "1"}, []),
    (-1, [1, 2, 3, 4, 5]),
    ("www", []),
    (None, []),
])
def test_get_finds(isp, sid, where, want):
    assert ids(call(isp, "dns_a_get", sid, where)) == want


def test_get_with_an_empty_array(isp, sid):
    # An empty Map arrives as null and finds nothing; PHP's own client sends
    # an empty array as an Array, and that finds all.
    body = f"<dns_a_get><a>{sid}</a><b i:type=\"e:Array\" xmlns:e=" \
        "\"http://schemas.xmlsoap.org/soap/encoding/\"/></dns_a_get>"
    answer = post(isp, "/remote/index.php", envelope(body))[2]
    assert b"Map[5]" in answer


def test_get_by_id(isp, sid):
    assert call(isp, "dns_a_get", sid, "4")["type"] == "TXT"
    assert call(isp, "dns_a_get", sid, "99") is None
    assert fault_of(isp, "dns_a_get", sid, "0") == "invalid_id"
    assert fault_of(isp, "dns_a_get", sid, "-2") == "invalid_id"
    assert call(isp, "dns_zone_get", sid, 1)["rendered_zone"] is None


@pytest.mark.parametrize("sent, kept", [
    ("N", "N"), ("n", "N"), ("y", "Y"), (True, "N"), (False, "N"),
    ("1", "N"), ("2", "Y"), ("", "N"), (None, "N"), ("X", ""), ("0", ""),
])
def test_active_is_full_of_traps(isp, sid, sent, kept):
    for before in ("Y", "N"):
        isp.set_rr(1, active=before)
        done = call(isp, "dns_a_update", sid, 0, 1, {"active": sent})
        assert isp.rr(1)["active"] == kept
        assert done == (before != kept)


@pytest.mark.parametrize("row, columns, text", [
    (1, {"data": "192.0.2.1 "}, "ip_error_wrong<br />\r\n"),
    (1, {"data": "192.0.2.01"}, "ip_error_wrong<br />\r\n"),
    (1, {"name": "a_b"}, "name_error_regex<br />\r\n"),
    (1, {"name": "a" * 65}, "name_error_regex<br />\r\n"),
    (1, {"ttl": 59}, "ttl_range_error<br />\r\n"),
    (3, {"data": "2001:db8::g"}, "ip_error_wrong<br />\r\n"),
    (4, {"data": ""}, "data_error_empty<br />\r\n"),
    (4, {"name": "a b", "ttl": 1},
     "name_error_regex<br />\r\nttl_range_error<br />\r\n"),
])
def test_a_row_the_form_refuses_cannot_be_written(isp, sid, row, columns,
                                                  text):
    isp.set_rr(row, **columns)
    before = isp.rr(row)
    function = {1: "dns_a_update", 3: "dns_aaaa_update",
                4: "dns_txt_update"}[row]
    with pytest.raises(Fault) as caught:
        call(isp, function, sid, 0, row, {"active": "N"})
    assert caught.value.code == "data_processing_error"
    # An XML reader turns CR LF into LF, unless the CR is a reference.
    assert caught.value.text.replace("\r", "") == text.replace("\r", "")
    assert isp.rr(row) == before and isp.datalog() == []


def test_update_writes_the_forms_fields_only(isp, sid):
    sent = dict(call(isp, "dns_a_get", sid, 1), name="WWW.Domain.example.",
                aux="7", sys_userid="9", nosuch="x", ttl="99999999999",
                stamp="2025-05-05 05:05:05", serial="5")
    assert call(isp, "dns_a_update", sid, 0, 1, sent) == 1
    row = isp.rr(1)
    assert row["name"] == "www.domain.example."
    assert (row["aux"], row["sys_userid"]) == (0, 2)
    assert (row["ttl"], row["serial"]) == (4294967295, 5)
    assert row["stamp"] == "2025-05-05 05:05:05"
    assert call(isp, "dns_a_update", sid, 0, 1, {"ttl": "abc"}) == 1
    assert isp.rr(1)["ttl"] == 0
    assert call(isp, "dns_a_update", sid, 0, 2, "no map") == 0


def test_txt_data_is_kept_byte_for_byte(isp, sid):
    data = ' [{"a":"b\\"}] \u00e9;<&> '
    call(isp, "dns_txt_update", sid, 0, 4, {"data": data})
    assert isp.rr(4)["data"] == data
    assert call(isp, "dns_txt_get", sid, 4)["data"] == data
    call(isp, "dns_txt_update", sid, 0, 4, {"data": "x\U0001f600"})
    assert isp.rr(4)["data"] == "x????"
    call(isp, "dns_txt_update", sid, 0, 4, {"data": "y" * 70000})
    assert len(isp.rr(4)["data"]) == 65535


def test_update_serial(isp, sid):
    others = isp.rrs()[1:]
    day = int(time.strftime("%Y%m%d", time.gmtime()))
    assert call(isp, "dns_a_update", sid, 0, 1, OFF, True) == 1
    assert isp.serial(1) in (day * 100 + 1, (day + 1) * 100 + 1)
    tables = [e["dbtable"] for e in isp.datalog()]
    assert tables == ["dns_rr", "dns_soa"]
    assert isp.rrs()[1:] == others
    isp.set_soa(1, serial=2099113099)
    assert call(isp, "dns_a_update", sid, 0, 1, OFF, True) == 0
    assert isp.serial(1) == 2099113100
    assert [e["dbtable"] for e in isp.datalog(after=2)] == ["dns_soa"]
    # An untyped "false" is a string, and true.
    call(isp, "dns_a_update", sid, 0, 1, OFF, "false")
    assert isp.serial(1) == 2099113101
    for no in (False, "", "0", None):
        call(isp, "dns_a_update", sid, 0, 1, OFF, no)
    assert isp.serial(1) == 2099113101
    assert call(isp, "dns_zone_update", sid, 0, 1, {"serial": "7"}) == 1
    assert isp.serial(1) == 7


@pytest.mark.parametrize("zone", [None, "99", "x", "-1"])
def test_update_serial_without_zone_dies_after_the_write(isp, sid, zone):
    params = {"active": "N"}
    if zone is not None:
        isp.set_rr(1, zone=int(zone) if zone == "99" else 1)
        params["zone"] = zone
    with pytest.raises(Html) as caught:
        call(isp, "dns_a_update", sid, 0, 1, params, True)
    assert caught.value.args[0] == 200
    assert b"Primary ID fehlt!" in caught.value.args[1]
    assert isp.rr(1)["active"] == "N"
    assert isp.serial(1) == 2024010101
    assert isp.calls()[-1]["outcome"] == "html"


@pytest.mark.parametrize("lacking", ["dns_zone_get", "dns_zone_update"])
def test_update_serial_needs_two_more_permissions(isp, lacking):
    isp.set_functions([f for f in double.MINIMUM if f != lacking])
    sid = log_in(isp)
    code = fault_of(isp, "dns_a_update", sid, 0, 1, OFF, True)
    assert code == "permission_denied"
    assert isp.rr(1)["active"] == "N"  # the row is written all the same
    assert isp.serial(1) == 2024010101


def test_client_id_takes_the_row_over(isp, sid):
    call(isp, "dns_a_update", sid, 0, 1, OFF, True)
    assert isp.rr(1)["sys_userid"] == isp.soa(1)["sys_userid"] == 2
    call(isp, "dns_a_update", sid, 2, 1, OFF, True)
    assert isp.rr(1)["sys_userid"] == isp.soa(1)["sys_userid"] == 3
    for bad in (99, -1):
        code = fault_of(isp, "dns_a_update", sid, bad, 1, OFF)
        assert code == "invalid_client_id"


def test_add_and_delete(isp, sid):
    new = {"server_id": 1, "zone": 1, "name": "New", "type": "A",
           "data": "192.0.2.9", "ttl": 300, "active": "Y"}
    number = call(isp, "dns_a_add", sid, 0, new, True)
    assert isinstance(number, str)
    row = isp.rr(int(number))
    assert (row["name"], row["sys_userid"]) == ("new", 1)
    assert row["stamp"] == "0000-00-00 00:00:00"
    serial = isp.serial(1)
    assert serial > 2024010101
    assert call(isp, "dns_a_delete", sid, number, True) == 1
    assert isp.serial(1) == serial + 1
    assert [(e["dbtable"], e["action"], e["dbidx"]) for e in isp.datalog()] \
        == [("dns_rr", "i", "id:"), ("dns_soa", "u", "id:1"),
            ("dns_rr", "d", f"id:{number}"), ("dns_soa", "u", "id:1")]
    assert call(isp, "dns_a_delete", sid, number) == 0
    with pytest.raises(Html):
        call(isp, "dns_a_delete", sid, number, True)
    isp.set_config("strict", 1)
    with pytest.raises(Fault) as caught:
        call(isp, "dns_a_add", sid, 0, new)
    assert caught.value.code == "database_error"
    assert "INSERT INTO `dns_rr`" in caught.value.text


def test_zone_functions(isp, sid):
    assert call(isp, "dns_zone_set_status", sid, 1, "inactive") == 1
    assert isp.soa(1)["active"] == "N" and isp.datalog() == []
    assert call(isp, "dns_zone_get_id", sid, "domain.exampl") == 1
    for bad in ("domain.example.", "nosuch.example"):
        assert fault_of(isp, "dns_zone_get_id", sid, bad) == "no_domain_found"
    assert ids(call(isp, "dns_rr_get_all_by_zone", sid, "1")) == [
        1, 2, 3, 4, 5]
    assert call(isp, "dns_rr_get_all_by_zone", sid, "9") == []
    assert call(isp, "dns_zone_get", sid, {"origin": "DOMAIN.example."})


def test_sessions(isp, sid):
    assert len(sid) == 41
    assert fault_of(isp, "dns_a_get", sid, 1,
                    address="127.0.0.3") == "session_ip_mismatch"
    isp.set_functions([])
    assert call(isp, "dns_a_get", sid, 1)  # copied at login
    assert fault_of(isp, "dns_a_get", log_in(isp), 1) == "permission_denied"
    isp.advance(1799)
    assert call(isp, "dns_a_get", sid, 1)
    isp.advance(2)
    assert fault_of(isp, "dns_a_get", sid, 1) == "session_does_not_exist"
    assert call(isp, "logout", sid) is True


def test_lock_out(isp, sid):
    for _ in range(9):
        assert fault_of(isp, "login", "nobody", "x") == "login_failed"
    assert fault_of(isp, "login", "", "x") == "login_username_empty"
    assert fault_of(isp, "dns_a_get", "", 1) == "session_id_empty"
    sid = log_in(isp)  # sets the count to nought
    for _ in range(10):
        assert fault_of(isp, "dns_a_get", "gone", 1) \
            == "session_does_not_exist"
    assert fault_of(isp, "dns_a_get", sid, 1) == "session_failure_limit"
    isp.advance(200)
    assert fault_of(isp, "login", isp.user, isp.password) \
        == "login_failure_limit"
    assert log_in(isp, address="127.0.0.9")
    isp.advance(101)
    assert log_in(isp) and call(isp, "dns_a_get", sid, 1)


def test_an_old_md5_password_is_hashed_anew(isp):
    import hashlib
    isp.sql("INSERT OR REPLACE INTO remote_user (remote_username, "
            "remote_password) VALUES ('old', ?)",
            hashlib.md5(b"made-up").hexdigest())
    assert fault_of(isp, "login", "old", "wrong") == "login_failed"
    for _ in range(2):
        assert log_in(isp, "old", "made-up")
        kept = isp.sql("SELECT remote_password AS p FROM remote_user "
                       "WHERE remote_username = 'old'")[0]["p"]
        assert kept.startswith("$6$rounds=5000$")


def test_a_customers_session(isp):
    isp.sql("UPDATE client SET can_use_api = 'y'")
    sid = call(isp, "login", "clienttwo", "made-up-client-2", True)
    isp.set_rr(2, sys_userid=3, sys_groupid=3)
    assert call(isp, "dns_a_get", sid, 1) is None
    assert ids(call(isp, "dns_a_get", sid, {"zone": "1"})) == [2]
    assert len(call(isp, "dns_a_get", sid, -1)) == 5
    assert call(isp, "dns_a_update", sid, 0, 1, OFF) == 0
    assert call(isp, "dns_a_update", sid, 0, 2, OFF) == 1
    assert isp.rr(1)["active"] == "Y"


def test_other_functions(isp):
    isp.set_functions(double.EVERYTHING)
    sid = log_in(isp)
    assert call(isp, "client_get_id", sid, 3) == 2
    assert call(isp, "server_get_app_version", sid) \
        == {"ispc_app_version": "3.2.11p2"}
    assert "dns_txt_update" in call(isp, "get_function_list", sid)
    for name in ("DNS_A_GET", "dns_mx_update", "permit"):
        assert fault_of(isp, name, sid, 1, 1, {}) == "invalid_method"


# -- transport --------------------------------------------------------------


def test_odd_requests(isp, sid):
    path = "/remote/index.php"
    get = f"<dns_a_get><a>{sid}</a><b>1</b><c>extra</c></dns_a_get>"
    status, headers, body = post(isp, path, None, method="GET")
    assert (status, body) == (200, b"")
    status, headers, body = post(isp, path, envelope(get), headers={})
    assert (status, body) == (200, b"")
    assert headers["Content-Type"].startswith("text/html")
    form = {"Content-Type": "application/x-www-form-urlencoded",
            "SOAPAction": '"nonsense"'}
    status, headers, body = post(isp, path, envelope(get), headers=form)
    assert status == 200 and b"192.0.2.1" in body
    status, headers, body = post(isp, "/remote/", envelope(get))
    assert status == 200 and b':ns1="/remote/"' in body
    for bad, text in (
        (envelope(get, SOAP_HEAD.replace(
            "<s:Body>", "<s:Header><x/></s:Header><s:Body>")),
         b"Method x does not exist"),
        (envelope(f"<dns_a_get><a>{sid}</a><b><item><key>name</key><value>w"
                  "</value></item></b></dns_a_get>"),
         b"must be of type string, stdClass given"),
        (envelope(f'<dns_a_get><a i:type="x:int">1</a><b>1</b></dns_a_get>'),
         b"session_id_nostring"),
    ):
        status, headers, body = post(isp, path, bad)
        assert status == 500 and text in body, bad
    # Whether a DOCTYPE gets that far depends on PHP's libxml2.
    status, headers, body = post(isp, path, b"<!DOCTYPE x>" + envelope(get))
    assert status == 200 or b"DTD are not supported by SOAP" in body
    latin = '<?xml version="1.0" encoding="ISO-8859-1"?>'
    body = post(isp, path, latin.encode() + envelope(get))[2]
    assert b"192.0.2.1" in body
    status, headers, body = post(isp, path + "?wsdl", None, method="GET")
    assert status == 500 and b"WSDL generation is not supported" in body


def test_json(isp, sid):
    def ask(method, headers=None, **args):
        status, heads, body = post(isp, f"/remote/json.php?{method}",
                                   json.dumps(args), headers=headers or {})
        assert status == 200
        if heads["Content-Encoding"] == "gzip":
            body = gzip.decompress(body)
        return json.loads(body)

    row = ask("dns_a_get", session_id=sid, primary_id=1)["response"]
    assert row["data"] == "192.0.2.1"
    gzipped = ask("dns_a_get", {"Accept-Encoding": "gzip"}, session_id=sid,
                  primary_id=1)
    assert gzipped["response"] == row
    assert ask("dns_a_get", session_id=sid, id=1)["response"] == []
    assert ask("")["code"] == "invalid_method"
    isp.set_rr(4, data="a\x01b/\u00e9")
    body = post(isp, "/remote/json.php?dns_txt_get", json.dumps(
        {"session_id": sid, "primary_id": 4}))[2]
    assert b'a\\u0001b\\/\\u00e9' in body
    assert isp.calls()[-1]["endpoint"] == "json"


def test_tls(isp, sid):
    assert call(isp, "dns_a_get", sid, 1, plain=False)
    der = ssl.PEM_cert_to_DER_cert(
        ssl.get_server_certificate(("127.0.0.1", isp.port)))
    assert der == ssl.PEM_cert_to_DER_cert(open(isp.ca_file).read())
    old = isp.pin
    isp.new_certificate("DNS:elsewhere.example")
    assert isp.pin != old
    with pytest.raises(ssl.SSLCertVerificationError):
        call(isp, "dns_a_get", sid, 1, plain=False)
    isp.new_certificate()
    for mode in ("refuse", "no-http"):
        isp.relay.mode = mode
        with pytest.raises((OSError, http.client.HTTPException)):
            call(isp, "dns_a_get", sid, 1, plain=False)
    isp.relay.mode = "normal"
    assert call(isp, "dns_a_get", sid, 1, plain=False)


def test_parallel_calls_in_one_session(isp, sid):
    answers = []

    def one():
        answers.append(call(isp, "dns_a_update", sid, 0, 1, OFF, True))

    threads = [threading.Thread(target=one) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # Two at once may both see the row as it was before, or the same serial.
    assert len(answers) == 8 and sum(answers) in (1, 2)
    assert 1 <= isp.serial(1) % 100 <= 8


def test_processes_end(tmp_path):
    with IspConfig(tmp_path) as isp:
        group = isp._php.pid
        isp.set_variant("slow", 30)
        with socket.create_connection(("127.0.0.1", isp.plain_relay.port)) \
                as client:
            client.sendall(b"POST /remote/ HTTP/1.1\r\nHost: x\r\n"
                           b"Content-Type: text/xml\r\n\r\n")
    end = time.monotonic() + 10
    while time.monotonic() < end:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return
        time.sleep(0.02)
    pytest.fail("PHP still runs")
