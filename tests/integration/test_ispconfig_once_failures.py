"""`dnsfailover once` with ISPConfig when things go wrong: what it says, what
it leaves alone, and how the next round goes on."""

import time

import pytest

from ispconfig import double
from ispconfig.scene import (AGENT, MINUTE_MS, ORG, WWW, back, down, machine,
                             out, outage, resolved, scene, up, works_again)

# pytest finds fixtures by their names here.
assert machine and scene and outage

LIST = f"{AGENT}{ORG}. list of _failover records at provider panel: "
RECORDS = f"{AGENT}{ORG}. records at provider panel: "
LACKS = ("the remote user lacks '{}'; tick it in the panel at System > Remote "
         "Users ({}: You do not have the permissions to access this function.)")

SURE = (f"{WWW} A 127.0.0.2 withdrawn: made sure of, after a write whose "
        "outcome was not known")

# ---- permissions, logins ----------------------------------------------------

LACKING = {
    "zone": ("DNS zone functions", "dns_zone_update", ["dns_zone_update"]),
    "a": ("DNS a functions", "dns_a_update",
          ["dns_a_get", "dns_a_update", "dns_a_add"]),
}


@pytest.mark.parametrize("which", LACKING)
def test_permission_missing(outage, which):
    box, method, functions = LACKING[which]
    outage.isp.set_functions([
        f for f in double.MINIMUM if f not in functions])
    start = outage.dump()
    text = LACKS.format(box, method)
    problems = [
        f"{AGENT}{ORG}. provider panel: {text}",
        f"{AGENT}{WWW} ({outage.a.addr}) could not be withdrawn at provider "
        f"panel: {text}"]
    assert outage.lines(code=1) == [down(outage.a), *problems]
    outage.session_is_clean()
    assert outage.changed(start) == {} and outage.writes() == []
    assert outage.lines(code=1) == []  # told once
    plan = outage.run("plan")
    assert plan.stdout.splitlines() == [
        f"{WWW} A {outage.a.addr} would be withdrawn: its checks fail"]
    outage.isp.set_functions(double.MINIMUM)
    works_again(outage, *problems)


@pytest.mark.parametrize("family, box", [
    ("zone", "DNS zone functions"), ("txt", "DNS txt functions")])
def test_permission_to_read_missing(scene, family, box):
    scene.pair()
    scene.serve()
    scene.isp.set_functions([
        f for f in double.MINIMUM if not f.startswith(f"dns_{family}_")])
    assert scene.lines(code=1) == [
        LIST + LACKS.format(box, f"dns_{family}_get")]
    scene.session_is_clean()


def test_wrong_password(outage):
    outage.configure(password="made-up-wrong")
    text = ("login: login_failed: The login failed. Username or password "
            "wrong.")
    assert outage.lines(code=1) == [down(outage.a), LIST + text,
                                    RECORDS + text]
    assert outage.isp.methods() == ["login"]
    assert outage.lines(code=1) == []
    assert outage.isp.methods() == []
    outage.configure(password=outage.isp.password)  # is tried at once
    works_again(outage, LIST + text, RECORDS + text)


def test_a_wrong_password_never_locks_out(outage):
    """Cron starts a run each minute; ten failures would lock the address
    out, and the panel's own users behind it."""
    outage.configure(password="made-up-wrong")
    logins = []
    for _ in range(12):
        outage.once(code=1)
        logins.append(len(outage.isp.methods()))
        outage.isp.advance(60)
        outage.later(MINUTE_MS)
    assert logins == [1, 0, 0, 0, 0] * 2 + [1, 0]
    attempts, = outage.isp.sql("SELECT times FROM attempts_login")
    assert attempts["times"] == 1
    outage.configure(password=outage.isp.password)
    assert out(outage.a) in outage.lines()


def test_locked_out(outage):
    outage.isp.sql("INSERT INTO attempts_login VALUES ('127.0.0.1', 10, ?)",
                   int(time.time()))
    text = ("login: login_failure_limit: The login failure limit has been "
            "reached.")
    assert outage.lines(code=1)[1:] == [LIST + text, RECORDS + text]
    assert outage.isp.methods() == ["login"]
    outage.isp.advance(301)
    works_again(outage, LIST + text, RECORDS + text)


def test_maintenance(outage):
    outage.isp.set_config("maintenance", 1)
    text = ("login: maintenance_mode: This ISPConfig installation is currently "
            "under maintenance. We should be back shortly. Thank you for your "
            "patience.")
    assert outage.lines(code=1) == [down(outage.a), LIST + text,
                                    RECORDS + text]
    assert outage.isp.methods() == ["login"]
    assert outage.lines(code=1) == []
    outage.isp.set_config("maintenance", 0)
    works_again(outage, LIST + text, RECORDS + text)


# ---- pages in place of answers ----------------------------------------------

PAGES = {
    # variant: argument, what is said of every call
    "disabled": ("", 'the panel says "Remote API is disabled in security '
                 'settings.": set remote_api_allowed = yes in its '
                 "security_settings.ini"),
    "login_page": ("", "HTTP 200 with a page (text/html; charset=utf-8) in "
                   'place of SOAP: "ISPConfig"'),
    "empty500": ("", "HTTP 500 with an empty answer; url ends in "
                 "/remote/index.php"),
    "redirect": ("https://192.0.2.7/", 'HTTP 302 to "https://192.0.2.7/": '
                 "redirects are not followed (the password would travel with "
                 "them); write the final address as url"),
    "raw": ("<html>hi</html>", "HTTP 200 with a page (text/xml; "
            'charset=utf-8) in place of SOAP: "hi"'),
}


@pytest.mark.parametrize("page", PAGES)
def test_a_page_at_the_login(outage, page):
    arg, text = PAGES[page]
    outage.isp.set_variant(page, arg)
    problems = [LIST + "login: " + text, RECORDS + "login: " + text]
    assert outage.lines(code=1) == [down(outage.a), *problems]
    assert outage.isp.methods() == ["login"]
    assert outage.changed(outage.start) == {}
    assert outage.lines(code=1) == []
    outage.isp.clear_variants()
    works_again(outage, *problems)


@pytest.mark.parametrize("page", ["login_page", "empty500"])
def test_a_page_at_the_write(outage, page):
    arg, text = PAGES[page]
    outage.isp.set_variant(page, arg, method="dns_a_update", skip=1)
    problem = (f"{AGENT}{WWW} ({outage.a.addr}) could not be withdrawn at "
               f"provider panel: {WWW} A {outage.a.addr}: dns_a_update: {text}")
    assert outage.lines(code=1) == [down(outage.a), problem]
    outage.session_is_clean()
    assert outage.changed(outage.start) == {}
    outage.isp.clear_variants()
    works_again(outage, problem)


def test_a_page_of_a_list_of_specs(outage):
    """The list is not needed for an owner that is known."""
    outage.isp.set_variant("raw", '{"code":"ok"}', method="dns_txt_get")
    got = outage.lines(code=1)
    assert got[:2] == [down(outage.a), out(outage.a)]
    assert got[2].startswith(LIST + "dns_txt_get: HTTP 200 with a page")
    assert outage.active() == "NY"


def test_a_database_error_is_told_without_its_markup(outage):
    outage.isp.set_variant("fault", "database_error|Bad<br />\r\nSELECT 1",
                           method="dns_a_get")
    problem = RECORDS + "dns_a_get: database_error: Bad SELECT 1"
    assert outage.lines(code=1) == [down(outage.a), problem]
    outage.session_is_clean()
    outage.isp.clear_variants()
    works_again(outage, problem)


# ---- answers that are lost --------------------------------------------------


@pytest.mark.parametrize("how", ["0", "50%", "95%"])
def test_a_lost_answer_is_read_back(outage, how):
    outage.isp.set_variant("cut", how, method="dns_a_update", skip=1)
    assert outage.lines() == [down(outage.a), out(outage.a)]
    outage.session_is_clean()
    assert len(outage.writes()) == 1
    outage.isp.clear_variants()
    for _ in range(2):
        outage.quiet()


def lose_the_answer(scene):
    """The write is done, its answer lost, and reading back fails."""
    scene.isp.set_variant("cut", "0", method="dns_a_update", skip=1)
    scene.isp.set_variant("empty500", method="dns_a_get", skip=5)


def test_a_lost_answer_is_read_back_next_round(outage):
    lose_the_answer(outage)
    got = outage.lines(code=1)
    assert got[0] == down(outage.a)
    assert any(
        f"{WWW} ({outage.a.addr}) could not be withdrawn" in x
        and x.endswith("; whether it happened is read back at the next look")
        for x in got)
    assert outage.active() == "NY"
    assert len(outage.writes()) == 1
    serial = outage.isp.serial(outage.zone)
    outage.isp.clear_variants()
    before = outage.dump()
    got = outage.lines()
    assert got[0] == SURE
    assert not any("somebody else" in x for x in got)
    assert sum(x.startswith("resolved: ") for x in got) == 2
    # Whether the serial had risen is not known either.
    assert outage.changed(before) == {
        ("dns_soa", outage.zone): {"serial": serial + 1}}
    outage.quiet()
    outage.cron()
    assert outage.values() == [outage.b.addr]


def test_a_lost_answer_of_a_return(outage):
    outage.lines()
    outage.a.open()
    lose_the_answer(outage)
    got = outage.lines(code=1)
    assert any(f"{WWW} ({outage.a.addr}) could not be published" in x
               for x in got)
    assert outage.active() == "YY"
    outage.isp.clear_variants()
    got = outage.lines()
    assert got[0] == (f"{WWW} A {outage.a.addr} published: made sure of, after "
                      "a write whose outcome was not known")
    assert not any("somebody else" in x for x in got)
    outage.quiet()


def test_what_could_not_be_looked_at_is_not_resolved(outage):
    lose_the_answer(outage)
    first = outage.lines(code=1)[1:]
    outage.isp.clear_variants()
    outage.isp.set_variant("empty500", method="dns_zone_get")
    got = outage.lines(code=1)
    assert not any(x.startswith("resolved: ") for x in got)
    outage.isp.clear_variants()
    got = outage.lines()
    assert set(resolved(*first)) <= set(got)


def test_a_lost_write_that_did_not_happen(outage):
    outage.isp.set_variant("session_lost", method="dns_a_update", skip=1,
                           times=1)
    assert outage.lines() == [down(outage.a), out(outage.a)]
    methods = outage.isp.methods()
    assert methods.count("login") == 2 and methods[-1] == "logout"
    assert methods.count("dns_a_update") == 3  # trial, refused, repeated
    outage.quiet()


def test_a_session_lost_for_ever(outage):
    outage.isp.set_variant("session_lost", method="dns_a_update", skip=1)
    got = outage.lines(code=1)
    assert got[0] == down(outage.a)
    text = ("dns_a_update: session_does_not_exist: The Session is expired or "
            "does not exist.")
    assert got[1] == f"{AGENT}{ORG}. provider panel: {text}"
    methods = outage.isp.methods()
    assert methods.count("login") == 2 and methods[-1] == "logout"
    assert outage.changed(outage.start) == {}


def test_a_session_under_another_address(outage):
    outage.isp.set_variant("address", "127.0.0.9", skip=1)
    text = "dns_zone_get: session_ip_mismatch: Session IP mismatch."
    assert outage.lines(code=1) == [down(outage.a), LIST + text,
                                    RECORDS + text]
    assert outage.isp.methods() == ["login", "dns_zone_get", "logout"]
    outage.isp.clear_variants()
    works_again(outage, LIST + text, RECORDS + text)


# ---- lists that prove nothing -----------------------------------------------

EMPTY = {
    "all": ("dns_*get", RECORDS + f"the zone {ORG}. is not in the panel: the "
            "list came back empty"),
    "records": ("dns_[ar]*_get*", RECORDS + f"zone {ORG}.: the list of its "
                'records came back empty; that is not taken for "no records"'),
}


@pytest.mark.parametrize("what", EMPTY)
def test_an_empty_list_switches_nothing_off(outage, what):
    method, problem = EMPTY[what]
    outage.isp.set_variant("empty_list", method=method)
    got = outage.lines(code=1)
    assert got[0] == down(outage.a) and problem in got
    assert outage.changed(outage.start) == {} and outage.writes() == []
    outage.session_is_clean()
    assert outage.lines(code=1) == []
    outage.isp.clear_variants()
    works_again(outage, *got[1:])


def test_an_empty_list_of_specs(outage):
    outage.isp.set_variant("empty_list", method="dns_txt_get")
    assert outage.lines() == [down(outage.a), out(outage.a)]
    outage.quiet()


def test_an_empty_list_of_zones(scene):
    a, _ = scene.pair()
    scene.configure(zones=["*"])
    scene.settle()
    a.close()
    scene.isp.set_variant("empty_list", method="dns_zone_get")
    problem = (f"{AGENT}provider panel: list of zones: the list of zones came "
               "back empty")
    assert scene.lines(code=1) == [problem]
    assert scene.status()["records"]  # what is remembered stays
    scene.isp.clear_variants()
    assert scene.lines() == [down(a), out(a), *resolved(problem)]


def test_a3a_false_in_place_of_a_record(outage):
    outage.isp.set_variant("false", method="dns_a_get")
    assert outage.lines(code=1) == [
        down(outage.a),
        f"{AGENT}{WWW} ({outage.a.addr}) could not be withdrawn at provider "
        f"panel: {WWW} A {outage.a.addr}: the record is gone"]
    outage.session_is_clean()
    ids = {c["args"][1] for c in outage.isp.calls("dns_a_get")
           if isinstance(c["args"][1], str)}
    assert ids == {str(outage.rows[0])}
    assert outage.writes() == []


def test_a_control_character_somewhere_else(scene):
    """One unreadable value must not stop the others' failover."""
    a, _ = scene.pair()
    mine = scene.rows
    scene.pair("w2")
    scene.settle()
    scene.add("x", "TXT", "a\x01b")
    a.close()
    assert scene.lines() == [down(a), out(a)]
    assert scene.active(*mine, *scene.rows) == "NYYY"
    scene.session_is_clean()


def test_a_control_character_in_the_way(outage):
    outage.isp.set_variant("control_char", method="dns_a_get")
    problem = (RECORDS + "dns_a_get: the XML holds the control character 0x01 "
               "in line 2, which nobody can read; a stored value has it")
    assert outage.lines(code=1) == [down(outage.a), problem]
    assert outage.changed(outage.start) == {}
    outage.isp.clear_variants()
    works_again(outage, problem)


def test_a_zone_too_large_for_the_panel(scene):
    a, _ = scene.pair()
    scene.pair("w2")
    scene.settle()
    a.close()
    scene.isp.set_variant("empty500", method="dns_rr_get_all_by_zone")
    assert scene.lines() == [down(a), out(a)]
    scene.isp.set_variant("empty_list", method="dns_a*_get")
    assert scene.lines(code=1) == [
        RECORDS + "dns_rr_get_all_by_zone: HTTP 500 with an empty answer; url "
        "ends in /remote/index.php"]


# ---- the serial -------------------------------------------------------------


def test_a1_an_old_server(outage):
    outage.isp.set_variant("old_server")
    log = len(outage.isp.datalog())
    before = outage.isp.serial(outage.zone)
    assert outage.lines() == [down(outage.a), out(outage.a)]
    once = outage.isp.serial(outage.zone)
    assert once > before
    tables = [e["dbtable"] for e in outage.isp.datalog()[log:]]
    assert tables == ["dns_rr", "dns_soa"]
    outage.quiet()
    outage.a.open()
    outage.lines()
    assert outage.isp.serial(outage.zone) > once


def test_a_serial_that_cannot_be_raised(outage):
    outage.isp.set_soa(outage.zone, mbox="nodot")
    serial = outage.isp.serial(outage.zone)
    problem = (
        f"{AGENT}{ORG}. provider panel: zone {ORG}. was changed, but its "
        f"serial stays {serial}: secondaries will not fetch the change: "
        "dns_zone_update: data_processing_error: mbox_error_regex")
    assert outage.lines(code=1) == [down(outage.a), out(outage.a), problem]
    assert outage.active() == "NY"
    for _ in range(2):
        assert outage.lines(code=1) == []
    outage.isp.set_soa(outage.zone, mbox="hostmaster.example.org.")
    assert outage.lines() == [SURE, *resolved(problem)]
    assert outage.isp.serial(outage.zone) > serial
    outage.quiet()


# ---- TLS --------------------------------------------------------------------


def test_the_pin_to_paste(scene):
    a, _ = scene.pair()
    scene.serve()
    address = f"127.0.0.1:{scene.isp.port}"
    mine = f'pin-sha256 = "{scene.isp.pin}"'
    scene.configure(trust="")
    assert scene.lines(code=1) == [
        f"{LIST}login: {address}: the server's certificate is refused (SSL "
        f"certificate problem: self-signed certificate); to trust its key, "
        f"write {mine}; to trust its issuer, give ca-file"]
    assert scene.isp.methods() == []  # the password was not sent
    scene.configure(trust=f"  {mine}")
    assert len(scene.lines()) == 1
    wrong = "A" * 43 + "="
    scene.configure(trust=f'  pin-sha256 = "{wrong}"')
    changed = ("login: {}: the server's key is not the pinned one; if the "
               "server has a new key and you trust it, write {}")
    assert scene.lines(code=1) == [LIST + changed.format(address, mine),
                                   RECORDS + changed.format(address, mine)]
    assert scene.isp.methods() == []
    scene.configure(trust=f'  ca-file = "{scene.isp.ca_file}"')
    scene.lines()
    scene.quiet()

    scene.configure(trust=f"  {mine}")
    scene.quiet()
    scene.isp.new_certificate()
    a.close()
    mine = f'pin-sha256 = "{scene.isp.pin}"'
    assert scene.lines(code=1) == [
        down(a), LIST + changed.format(address, mine),
        RECORDS + changed.format(address, mine)]
    assert scene.isp.methods() == []
    scene.configure(trust=f"  {mine}")
    assert scene.lines()[0] == out(a)


def test_plain_http_only_to_loopback(scene):
    a, _ = scene.pair()
    scene.serve()
    url = "http://192.0.2.7:8080/remote/index.php"
    scene.configure(url=url)
    got, = scene.lines(code=1)
    assert f'url = "{url}" would send the password in the clear' in got
    assert scene.isp.methods() == []
    scene.configure(url=scene.isp.http_url, trust="")
    scene.lines()
    a.close()
    assert scene.lines() == [down(a), out(a)]


def test_nobody_at_home(outage):
    outage.isp.relay.mode = "refuse"
    text = (f"login: 127.0.0.1:{outage.isp.port}: the connection was closed "
            "during the TLS handshake")
    problems = [LIST + text, RECORDS + text]
    assert outage.lines(code=1) == [down(outage.a), *problems]
    assert outage.lines(code=1) == []
    assert outage.changed(outage.start) == {}
    outage.isp.relay.mode = "normal"
    works_again(outage, *problems)


# ---- slow panels ------------------------------------------------------------


def test_a_panel_that_is_slower_than_the_deadline(outage):
    outage.isp.set_variant("slow", 5, method="dns_zone_get")
    before = time.monotonic()
    problem = (f"{AGENT}some provider did not answer in time; its sets are "
               "held")
    got = outage.lines("--deadline", "2s", code=1)
    assert time.monotonic() - before < 4.9
    assert got[:2] == [down(outage.a), problem]
    text = (f"dns_zone_get: 127.0.0.1:{outage.isp.port}: the answer was lost: "
            "no answer in time")
    assert sorted(got[2:]) == [LIST + text, RECORDS + text]
    methods = outage.isp.methods()
    assert methods[0] == "login" and methods[-1] == "logout"
    assert outage.changed(outage.start) == {}
    outage.isp.clear_variants()
    works_again(outage, *got[1:])


def test_a_write_is_brought_to_its_end(outage):
    """The deadline may pass meanwhile: half a change is worse."""
    outage.isp.set_variant("slow", 1.5, method="dns_*_update", times=2)
    assert outage.lines("--deadline", "2s") == [down(outage.a), out(outage.a)]
    outage.session_is_clean()
    outage.isp.clear_variants()
    outage.quiet()
