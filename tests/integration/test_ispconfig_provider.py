"""The ISPConfig provider against the double, through tests/tools/provider."""

import http.server
import json
import os
import subprocess
import threading
import time

import pytest

from ispconfig import double
from ispconfig.double import IspConfig
from ispconfig.fixtures import TABLES

pytestmark = pytest.mark.skipif(
    double.missing() is not None, reason=str(double.missing())
)
WWW = "www.example.org"
LOST = "session_does_not_exist|The Session is expired or does not exist."


class Run:
    """One run of the tool: exit code and answers."""

    def __init__(self, done):
        self.code = done.returncode
        self.stderr = done.stderr
        self.answers = [json.loads(x) for x in done.stdout.splitlines()]

    def __getitem__(self, key):
        return self.answers[0][key]

    @property
    def text(self):
        return self.answers[0].get("text", "")

    @property
    def err(self):
        return self.answers[0].get("err")

    def states(self, answer=0):
        return [r["state"] for r in self.answers[answer]["results"]]

    def texts(self, answer=0):
        return [r.get("text", "") for r in self.answers[answer]["results"]]


def run_tool(tools, url, user, password, *arguments, **options):
    command = [str(tools / "provider"), "ispconfig", f"url={url}",
               f"user={user}"]
    command += [f"{k.replace('_', '-')}={v}" for k, v in options.items()]
    done = subprocess.run(
        [*command, "--", *map(str, arguments)], capture_output=True,
        text=True, timeout=100,
        env=dict(os.environ, ISPCONFIG_PASSWORD=password),
    )
    assert done.returncode in (0, 1), done.stderr
    assert "Sanitizer" not in done.stderr, done.stderr
    assert password not in done.stdout + done.stderr
    return Run(done)


class Panel:
    """The double with one zone, two rows of www, and foreign rows."""

    def __init__(self, isp, tools):
        self.isp = isp
        self.tools = tools
        self.zone = isp.add_zone("example.org.")
        self.ns = isp.add_rr(self.zone, "", "NS", "ns1.example.org.")
        self.one = isp.add_rr(self.zone, "www", "A", "192.0.2.1")
        self.two = isp.add_rr(self.zone, "www.example.org.", "A",
                              "192.0.2.2")
        self.mail = isp.add_rr(self.zone, "mail", "A", "192.0.2.1")
        self.other = isp.add_zone("example.net.")
        isp.add_rr(self.other, "www", "A", "192.0.2.1")
        self.start = {r["id"]: r for r in isp.rrs()}
        self.soa_start = isp.soa(self.zone)

    def __call__(self, *arguments, url=None, **options):
        isp = self.isp
        if url is None and not options.keys() & {"ca_file", "pin_sha256"}:
            options["pin_sha256"] = isp.pin
        return run_tool(self.tools, url or isp.url, isp.user, isp.password,
                        *arguments, **options)

    def changed(self):
        """{id: {column: new}} against the start; rows that are new or gone
        as None."""
        now = {r["id"]: r for r in self.isp.rrs()}
        out = {}
        for key in self.start.keys() | now.keys():
            old, new = self.start.get(key), now.get(key)
            if old is None or new is None:
                out[key] = None
            elif old != new:
                out[key] = {c: new[c] for c in new if new[c] != old[c]}
        return out

    def serial_moved(self):
        return self.isp.serial(self.zone) != self.soa_start["serial"]

    def writes(self):
        return [c for c in self.isp.calls("dns_*")
                if c["method"].endswith(("_update", "_add", "_delete"))
                and (c["args"] is None or c["args"][2] != "0")]

    def serial_asked(self):
        return [c["args"][4] for c in self.writes()]


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    with IspConfig(tmp_path_factory.mktemp("provider")) as isp:
        yield isp


@pytest.fixture
def panel(running, tools):
    """The one double of this file, emptied for each test."""
    for table in TABLES:
        running.sql(f"DELETE FROM {table}")
    running.set_functions(double.MINIMUM)
    return Panel(running, tools)


@pytest.fixture
def own_panel(tmp_path, tools):
    """A double of the test's own, for what cannot be put back."""
    with IspConfig(tmp_path) as isp:
        yield Panel(isp, tools)


def withdraw(data, name=WWW, kind="A"):
    return ["withdraw", name, kind, data, "-"]


def publish(data, ttl="-", name=WWW, kind="A"):
    return ["publish", name, kind, data, ttl]


def apply(*changes, command="apply", zone="example.org"):
    return [command, zone, *sum(changes, [])]


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
    panel.isp.set_variant("control_char", method="dns_rr_get_all_by_zone")
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
        end = time.monotonic() + 10
        while time.monotonic() < end:
            # by now the A records are listed, and not yet read one by one
            if panel.isp.calls("dns_aaaa_get"):
                panel.isp.set_rr(panel.one, ttl=77)
                return

    other = threading.Thread(target=edit)
    other.start()
    assert panel(*apply(withdraw("192.0.2.1"))).states() == ["done"]
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


# ---- the cases' own answers ------------------------------------------------------


class Fake(http.server.BaseHTTPRequestHandler):
    """Answers with recorded files: server.plan maps a method to a list of
    (status, body), the last one for ever."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        method = body.split("<s:Body><", 1)[1].split(">", 1)[0]
        trial = method.endswith("_update") and body.count("<key ") == 1
        self.server.seen.append((method, body))
        plan = self.server.plan[method + ("?" if trial else "")]
        status, answer = plan.pop(0) if len(plan) > 1 else plan[0]
        self.send_response(status)
        self.send_header("Content-Type", "text/xml; charset=utf-8")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


REFUSED_ID = (
    b'<?xml version="1.0"?><SOAP-ENV:Envelope xmlns:SOAP-ENV='
    b'"http://schemas.xmlsoap.org/soap/envelope/"><SOAP-ENV:Body>'
    b"<SOAP-ENV:Fault><faultcode>invalid_id</faultcode><faultstring>The ID "
    b"has to be &gt; 0 or -1.</faultstring></SOAP-ENV:Fault></SOAP-ENV:Body>"
    b"</SOAP-ENV:Envelope>")


@pytest.fixture
def fake(shared):
    folder = shared / "cases" / "files" / "ispconfig"
    if not folder.is_dir():
        pytest.skip(f"no folder {folder}")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Fake)

    def read(name):
        return (folder / f"{name}.xml").read_bytes()

    rows = read("rr_all-7")
    row = rows[rows.index(b"<item xsi:type"):]
    row = row[:row.index(b"</item></item>") + len(b"</item></item>")]
    one = read("a_get-false").replace(
        b'<return xsi:type="xsd:boolean">false</return>',
        b'<return SOAP-ENC:arrayType="ns2:Map[1]" xsi:type="SOAP-ENC:Array" '
        b'xmlns:ns2="http://xml.apache.org/xml-soap">' + row + b"</return>")
    empty = one.replace(row, b"")
    zone = read("zone_get-7")
    server.seen = []
    server.plan = {
        "login": [(200, read("login"))],
        "logout": [(200, read("a_get-false"))],
        "dns_zone_get": [(200, zone), (200, zone.replace(
            b"2026113003", b"2026113004"))],
        "dns_zone_update?": [(500, REFUSED_ID)],
        "dns_a_update?": [(500, REFUSED_ID)],
        "dns_rr_get_all_by_zone": [(200, rows)],
        "dns_a_get": [(200, one)],
        "dns_aaaa_get": [(200, empty)],
        "dns_cname_get": [(200, empty)],
        "dns_a_update": [(200, read("a_update-ok"))],
    }
    server.read = read
    server.url = f"http://127.0.0.1:{server.server_port}/remote/index.php"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()


def fake_run(fake, tools, *arguments):
    return run_tool(tools, fake.url, "u", "made-up", *arguments)


TAKE_OUT = apply(withdraw("192.0.2.10", "www.example.test"),
                 zone="example.test")


def fake_methods(fake):
    return [m for m, _ in fake.seen]


def test_a1_files(fake, tools):
    got = fake_run(fake, tools, *TAKE_OUT)
    assert got.states() == ["done"] and got["serial"] == 2026113004
    body = dict(fake.seen)["dns_a_update"]
    assert body.endswith('<p xsi:type="xsd:boolean">true</p></dns_a_update>'
                         "</s:Body></s:Envelope>\n")
    assert ('<key xsi:type="xsd:string">zone</key>'
            '<value xsi:type="xsd:string">7</value>') in body


def test_a3a_files(fake, tools):
    fake.plan["dns_a_get"] = [(200, fake.read("a_get-false"))]
    got = fake_run(fake, tools, *TAKE_OUT)
    assert got.states() == ["failed"] and "gone" in got.texts()[0]
    assert fake_methods(fake)[-1] == "logout"
    assert all("false}" not in body for _, body in fake.seen)


def test_a3b_files(fake, tools):
    fake.plan["dns_a_update"].insert(0, (500, fake.read("fault-session")))
    got = fake_run(fake, tools, *TAKE_OUT)
    assert got.states() == ["done"]
    assert fake_methods(fake).count("login") == 2
    assert fake_methods(fake)[-1] == "logout"


def test_a3c_files(fake, tools):
    fake.plan["dns_a_update"] = [(500, fake.read("fault-session"))]
    got = fake_run(fake, tools, *TAKE_OUT)
    assert got.states() == ["failed"] and got.code == 1
    assert fake_methods(fake).count("login") == 2
    assert fake_methods(fake)[-1] == "logout"


def test_a3d_files(fake, tools):
    fake.plan["dns_a_update?"] = [(500, fake.read("fault-permission"))]
    got = fake_run(fake, tools, *TAKE_OUT)
    assert got.err == "auth" and "dns_a_update" in got.text
    assert fake_methods(fake).count("login") == 1
    assert fake_methods(fake)[-1] == "logout"
