"""The ISPConfig provider's sessions, lost and strange answers, TLS."""

import time

import pytest

from ispconfig_panel import (  # noqa: F401
    WWW, apply, needs_double, own_panel, panel, publish, run_tool,
    running, withdraw,
)

pytestmark = needs_double
LOST = "session_does_not_exist|The Session is expired or does not exist."


# ---- sessions ----------------------------------------------------------------


def test_one_login_for_a_run(panel):
    panel("zones", "+", "records", "example.org", WWW, "+",
          *apply(withdraw("192.0.2.1")))
    methods = panel.isp.methods()
    assert methods.count("login") == 1 and methods[-1] == "logout"
    sids = {c["args"][0] for c in panel.isp.calls("dns_*")}
    assert len(sids) == 1


def test_a3b_session_lost_at_the_first_update(panel):
    # skip the call that only tries the permission
    panel.isp.set_variant("session_lost", method="dns_a_update", times=1,
                          skip=1)
    got = panel(*apply(withdraw("192.0.2.1")))
    assert got.states() == ["done"] and got.code == 0
    assert panel.changed() == {panel.one: {"active": "N"}}
    methods = panel.isp.methods()
    assert methods.count("login") == 2 and methods[-1] == "logout"


def test_a3c_session_lost_for_ever(panel):
    panel.isp.set_variant("fault", LOST, method="dns_a_update")
    got = panel(*apply(withdraw("192.0.2.1")), "+", "zones")
    assert got.code == 1 and "session" in got.text
    methods = panel.isp.methods()
    assert methods.count("login") == 2 and methods[-1] == "logout"
    # nothing more was sent: each such call counts as a failed login
    assert methods.count("dns_a_update") == 2
    assert got.answers[1]["err"] == "retry"
    assert panel.changed() == {}


def test_a3d_permission_fault(panel):
    panel.isp.set_variant("fault", "permission_denied|no", skip=1,
                          method="dns_a_update")
    got = panel(*apply(withdraw("192.0.2.1")))
    assert got.code == 1 and got.states() == ["failed"]
    assert "lacks 'DNS a functions'" in got.texts()[0]
    methods = panel.isp.methods()
    assert methods.count("login") == 1 and methods[-1] == "logout"
    assert panel.changed() == {}


def test_a3a_false_in_place_of_a_record(panel):
    panel.isp.set_variant("false", method="dns_a_get")
    got = panel(*apply(withdraw("192.0.2.1")))
    assert got.states() == ["failed"] and "gone" in got.texts()[0]
    methods = panel.isp.methods()
    assert methods.count("dns_rr_get_all_by_zone") == 2  # listed again, once
    asked = [c["args"][1] for c in panel.isp.calls("dns_a_get")
             if not isinstance(c["args"][1], dict)]
    assert set(asked) == {str(panel.one)}
    assert panel.writes() == [] and methods[-1] == "logout"


def test_a_record_that_goes_and_comes_back_under_another_id(panel):
    # between the list and the read of the record
    panel.isp.set_variant("false", method="dns_a_get", times=1, skip=2)
    got = panel(*apply(withdraw("192.0.2.1")))
    assert got.states() == ["done"] and got.code == 0
    assert panel.changed() == {panel.one: {"active": "N"}}


def test_an_expired_session(panel):
    panel.isp.set_variant("session_lost", method="dns_zone_get", times=1)
    assert panel("zones").code == 0
    assert panel.isp.methods() == ["login", "dns_zone_get", "login",
                                   "dns_zone_get", "logout"]


LOGIN_FAULTS = {
    "login_failed|The login failed. Username or password wrong.": "auth",
    "login_failure_limit|The login failure limit has been reached.": "auth",
    "maintenance_mode|This installation is under maintenance.": "retry",
}


@pytest.mark.parametrize("fault", LOGIN_FAULTS)
def test_login_refused_is_not_repeated(panel, fault):
    panel.isp.set_variant("fault", fault, method="login")
    got = panel("zones", "+", "zones", "+", *apply(withdraw("192.0.2.1")))
    code, _, text = fault.partition("|")
    for answer in got.answers:
        assert answer["err"] == LOGIN_FAULTS[fault]
        assert code in answer["text"] and text in answer["text"]
    assert panel.isp.methods() == ["login"]


def test_a_wrong_password(panel):
    got = run_tool(panel.tools, panel.isp.url, panel.isp.user, "wrong-one",
                   "zones", "+", "zones", pin_sha256=panel.isp.pin)
    assert [a["err"] for a in got.answers] == ["auth", "auth"]
    assert panel.isp.methods() == ["login"]


def test_locked_out_within_a_session(panel):
    panel.isp.set_variant(
        "fault", "session_failure_limit|The Session failure limit has been "
        "reached.", method="dns_a_get")
    got = panel("records", "example.org", WWW, "+", "zones", "+",
                *apply(withdraw("192.0.2.1")))
    assert [a["err"] for a in got.answers] == ["auth"] * 3
    assert panel.isp.methods() == ["login", "dns_zone_get", "dns_a_get",
                                   "logout"]


def test_seen_under_another_address(panel):
    panel.isp.set_variant("address", "127.0.0.9", method="dns_*")
    got = panel("zones", "+", "zones")
    assert got.err == "auth" and "session_ip_mismatch" in got.text
    assert panel.isp.methods() == ["login", "dns_zone_get", "logout"]


# ---- answers lost, late, strange ----------------------------------------------


@pytest.mark.parametrize("how", ["0", "40%", "90%"])
def test_a_lost_answer_is_read_back(panel, how):
    panel.isp.set_variant("cut", how, method="dns_a_update", times=1, skip=1)
    got = panel(*apply(withdraw("192.0.2.1")))
    assert got.states() == ["done"] and got.code == 0
    assert len(panel.writes()) == 1  # and not sent again
    assert panel.changed() == {panel.one: {"active": "N"}}
    assert panel.serial_moved()


def test_a_lost_answer_of_a_write_that_did_not_happen(panel):
    panel.isp.set_variant("empty500", method="dns_a_update", times=1, skip=1)
    got = panel(*apply(withdraw("192.0.2.1")))
    assert got.states() == ["failed"] and panel.changed() == {}


def test_a_lost_answer_that_cannot_be_read_back(panel):
    panel.isp.set_variant("cut", "0", method="dns_a_update", times=1, skip=1)
    panel.isp.set_variant("cut", "0", method="dns_a_get", skip=3)
    got = panel(*apply(publish("192.0.2.2", "60"), withdraw("192.0.2.1")))
    assert got.states() == ["unknown", "skipped"]
    assert got.err == "unknown"


def test_a_slow_panel(panel):
    panel.isp.set_variant("slow", "3", method="dns_zone_get")
    start = time.monotonic()
    got = panel("zones", timeout="1")
    assert got.err == "retry" and time.monotonic() - start < 10


def test_a_write_that_times_out(panel):
    panel.isp.set_variant("slow", "2", method="dns_a_update", times=1, skip=1)
    got = panel(*apply(withdraw("192.0.2.1")), timeout="1")
    # it is read back before the server got round to it: not yet changed
    assert got.states() in (["failed"], ["done"], ["unknown"])
    assert len(panel.writes()) <= 1


@pytest.mark.parametrize("mode", ["refuse", "no-http"])
def test_a_panel_that_hangs_up(own_panel, mode):
    panel = own_panel
    panel.isp.relay.mode = mode
    got = panel("zones", "+", *apply(withdraw("192.0.2.1")))
    assert got.err in ("retry", "unknown")
    assert panel.isp.methods() == []


def test_a_panel_that_is_down(own_panel):
    panel = own_panel
    url = panel.isp.url
    panel.isp.relay.close()
    got = panel("zones", url=url)
    assert got.err == "retry"


PAGES = {
    "disabled": ("auth", "Remote API is disabled in security settings"),
    "login_page": ("retry", "in place of SOAP"),
    "empty500": ("retry", "HTTP 500 with an empty answer"),
}


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("method", ["login", "dns_zone_get"])
def test_pages_in_place_of_soap(panel, page, method):
    panel.isp.set_variant(page, method=method)
    got = panel("zones")
    assert (got.err, PAGES[page][1] in got.text) == (PAGES[page][0], True)
    assert "<" not in got.text


def test_a_redirect_is_not_followed(panel):
    where = panel.isp.http_url + "?moved"
    panel.isp.set_variant("redirect", where)
    before = panel.isp.plain_relay.connections
    got = panel("zones")
    assert got.err == "input" and where in got.text
    assert "not followed" in got.text
    assert panel.isp.plain_relay.connections == before


def test_fault_texts_are_stripped(panel):
    panel.isp.set_variant(
        "fault", "database_error|Field 'x'\r\n<b>UPDATE</b> dns_rr SET "
        + "y" * 3000, method="dns_zone_get")
    got = panel("zones")
    assert "\n" not in got.text and "<b>" not in got.text
    assert len(got.text) < 500 and got.text.endswith("…")


def test_a_database_that_is_down(panel):
    panel.isp.set_variant("db_down", "0", method="dns_*")
    got = panel("zones")
    assert got.err == "retry" and "queryOneRecord" in got.text


# ---- TLS and the URL -----------------------------------------------------------


def test_an_unknown_certificate_prints_the_pin(panel):
    got = run_tool(panel.tools, panel.isp.url, panel.isp.user,
                   panel.isp.password, "zones")
    assert got.err == "input"
    assert f'pin-sha256 = "{panel.isp.pin}"' in got.text
    assert panel.isp.methods() == []


def test_the_right_pin_and_the_wrong_one(own_panel):
    panel = own_panel
    old = panel.isp.pin
    assert panel("zones", pin_sha256=old).code == 0
    panel.isp.new_certificate("DNS:somewhere.else")
    panel.isp.clear_calls()
    got = panel("zones", pin_sha256=old)
    assert got.err == "input" and panel.isp.methods() == []
    assert f'pin-sha256 = "{panel.isp.pin}"' in got.text
    # the key is trusted, whatever name the certificate has
    assert panel("zones", pin_sha256=panel.isp.pin).code == 0


def test_ca_file(own_panel, tmp_path):
    panel = own_panel
    assert panel("zones", ca_file=panel.isp.ca_file).code == 0
    panel.isp.new_certificate("DNS:somewhere.else")
    got = panel("zones", ca_file=panel.isp.ca_file)
    assert got.err == "input" and "pin-sha256" in got.text
    got = panel("zones", ca_file=str(tmp_path / "none.pem"))
    assert got.err == "input" and "none.pem" in got.text


def test_plain_http_only_to_loopback(panel):
    assert panel("zones", url=panel.isp.http_url).code == 0
    for host in ("192.0.2.1", "panel.example.org", "[2001:db8::1]"):
        url = f"http://{host}:8080/remote/index.php"
        got = panel("zones", url=url)
        assert got.answers[0]["answer"] == "open" and got.err == "input"
        assert f'url = "{url}"' in got.text and "https://" in got.text


BAD_OPTIONS = {
    "timeout": "soon",
    "pin_sha256": "sha256//abc",
}


@pytest.mark.parametrize("option", BAD_OPTIONS)
def test_bad_options(panel, option):
    got = panel("zones", **{option: BAD_OPTIONS[option]})
    assert got.err == "input" and BAD_OPTIONS[option] in got.text
