"""The Route 53 provider against its double: zones, lists, credentials."""

import pytest

from route53_help import (  # noqa: F401
    A, B, C, FIND, LIST, ORG, WWW, apply, modules, publish, r53, signed,
    withdraw)

SPEC = '[{"name":"www.example.org.","data":"192.0.2.1"}]'


# ---- signatures ----------------------------------------------------------------


@pytest.mark.parametrize("token", [None, "FwoGZXIvYXdzEXAMPLE//+token=="])
def test_another_signer_agrees(signed, token):  # noqa: F811
    d = signed.double
    d.token, d.cap, d.insync_after = token, 2, 0
    signed.put("www", "A", A)
    signed.put("*", "A", A)
    signed.put("_failover.www", "TXT", '"[]"')
    got = signed("zones", "+", "records", ORG, WWW, "*.example.org", "+",
                 "specs", ORG, "+", "write", ORG, WWW, SPEC, "300")
    assert got.code == 0, got.all
    got = signed(*apply(publish(B), withdraw(A)),
                 options={"wait-insync": "yes"} if token else {})
    assert got.code == 0, got.all
    assert signed.values("www") == [B]
    assert set(d.actions()) - {"GetChange"} == {
        "ListHostedZones", FIND, LIST, "ChangeResourceRecordSets"}
    assert ("GetChange" in d.actions()) == bool(token)
    assert d.aws4.checked == len(d.log) >= 10


# ---- zones ---------------------------------------------------------------------


def test_zones(r53):  # noqa: F811
    r53.double.add_zone("example.net")
    r53.double.add_zone("example.net", private=True)
    r53.double.add_zone("private.example", private=True)
    r53.double.add_zone("2\\057.example.com")  # no name of ours
    r53.double.cap = 2
    assert sorted(r53("zones")["zones"]) == ["example.net.", "example.org."]
    assert r53.double.actions() == ["ListHostedZones"] * 3
    got = r53("zones", options={"zone-id": r53.zone.id})
    assert got["zones"] == ["example.org."]


def test_a_list_by_name_starts_there(r53):  # noqa: F811
    """The name asked for is where the list starts, not what it holds."""
    for name in ("example.com", "a.example.org", "example.pub", "org",
                 "longexample.org", "ample.org"):
        r53.double.add_zone(name)
    r53.put("www", "A", A)
    assert r53("records", ORG, WWW).sets() == {(WWW + ".", "A"): (60, [A])}
    assert r53.count(FIND) == 1
    got = r53("records", "sub.example.org", "x.sub.example.org")
    assert got["err"] == "notFound"
    assert "has no hosted zone sub.example.org" in got["text"]


def test_zone_on_a_later_page(r53):  # noqa: F811
    """A6: private namesakes before it fill the first pages."""
    d = r53.double
    d.zones.clear()
    for _ in range(4):
        d.add_zone(ORG, private=True)
    r53.zone = d.add_zone(ORG)
    d.add_zone("zzz.org")
    d.cap = 2
    r53.put("www", "A", A)
    assert r53("records", ORG, WWW).sets() == {(WWW + ".", "A"): (60, [A])}
    assert r53.count(FIND) == 3


def test_private_zone(r53):  # noqa: F811
    r53.zone.private = True
    got = r53("records", ORG, WWW)
    assert got["err"] == "notFound"
    assert "is private" in got["text"] and "zone-id" in got["text"]
    r53.put("www", "A", A)
    got = r53("records", ORG, WWW, options={"zone-id": r53.zone.id})
    assert got.sets() == {(WWW + ".", "A"): (60, [A])}


def test_duplicate_zones(r53):  # noqa: F811
    other = r53.double.add_zone(ORG)
    r53.put("www", "A", A)
    got = r53(*apply(withdraw(A)))
    assert got["err"] == "input" and got.states() == ["skipped"]
    assert "2 public hosted zones are named example.org" in got["text"]
    assert f'zone-id = "{r53.zone.id}"' in got["text"]
    assert other.id in got["text"]
    assert r53.double.accepted == 0
    got = r53(*apply(publish(B), withdraw(A)),
              options={"zone-id": "/hostedzone/" + r53.zone.id})
    assert got.states() == ["done", "done"] and r53.values("www") == [B]
    assert r53.count(FIND) == 1  # with an id it needs no such permission


def test_zone_id_of_another_zone(r53):  # noqa: F811
    other = r53.double.add_zone("example.net")
    got = r53("records", ORG, WWW, options={"zone-id": other.id})
    assert got["err"] == "input"
    assert f"zone-id {other.id}: it is the zone example.net." in got["text"]
    got = r53("records", ORG, WWW, options={"zone-id": "ZNOTHERE"})
    assert got["err"] == "notFound" and "NoSuchHostedZone" in got["text"]


# ---- lists -----------------------------------------------------------------------


def test_pages(r53):  # noqa: F811
    """A6: what stands on a later page is there; and nothing of the next
    name is."""
    r53.double.cap = 1
    for kind, data in (("A", A), ("AAAA", "2001:db8::1"), ("TXT", '"x"')):
        r53.put("www", kind, data)
    for region in ("eu", "us"):
        r53.put("multi", "A", A if region == "eu" else B, set_id=region,
                Weight="1")
    r53.put("www-2", "A", C)
    got = r53("records", ORG, WWW, "multi.example.org", "none.example.org")
    assert got.sets() == {
        (WWW + ".", "A"): (60, [A]), (WWW + ".", "AAAA"): (60, ["2001:db8::1"]),
        ("multi.example.org.", "A"): (60, [A, B])}


def test_foreign_texts_are_written_back_to_the_byte(r53):  # noqa: F811
    """Their character-strings and escapes as they are; the TTL stays."""
    theirs = ['"one" "two"', '"onetwo"', '"v=x; " "" "p=1"',
              r'"\000\303\251" "\042"']
    r53.put("_failover.www", "TXT", *theirs, '"[{}]"', ttl=77)
    for text, changed in (('[{"name":"www"}]', True), ("[]", True),
                          ("[]", False)):
        got = r53("write", ORG, WWW, text, 300)
        assert got.code == 0 and got["changed"] == changed, got.all
    assert r53.values("_failover.www", "TXT") == sorted([*theirs, '"[]"'])
    assert r53.zone.sets[f"_failover.{WWW}.", "TXT", None].ttl == 77
    assert r53.double.accepted == 2


def test_values_keep_their_spelling(r53):  # noqa: F811
    r53.put("www", "AAAA", "2001:DB8::1", "2001:db8:0:0:0:0:0:2")
    got = r53(*apply(publish("2001:db8::3", kind="AAAA"),
                     withdraw("2001:db8::1", kind="AAAA")))
    assert got.states() == ["done", "done"], got.all
    assert r53.values("www", "AAAA") == ["2001:db8:0:0:0:0:0:2",
                                         "2001:db8::3"]


def test_many_names_take_the_whole_zone(r53):  # noqa: F811
    names = [f"n{i}.example.org" for i in range(400)]
    for name in names:
        r53.put(name.split(".")[0], "A", A)
    got = r53("records", ORG, *names)
    assert len(got["sets"]) == 400
    assert r53.count(LIST) == 2


@pytest.mark.parametrize("length", [1, 2, 3])
def test_a_list_that_never_ends(r53, length):  # noqa: F811
    """It says that it goes on, and comes back to where it was."""
    page = (
        '<ListResourceRecordSetsResponse xmlns="https://route53.amazonaws.com'
        '/doc/2013-04-01/"><ResourceRecordSets><ResourceRecordSet><Name>a{0}.'
        "example.org.</Name><Type>TXT</Type><TTL>60</TTL><ResourceRecords>"
        "<ResourceRecord><Value>&quot;x&quot;</Value></ResourceRecord>"
        "</ResourceRecords></ResourceRecordSet></ResourceRecordSets>"
        "<IsTruncated>true</IsTruncated><NextRecordName>a{1}.example.org."
        "</NextRecordName><NextRecordType>TXT</NextRecordType>"
        "</ListResourceRecordSetsResponse>")
    for i in range(3 * length):
        r53.double.fault("answer", LIST, status=200,
                         body=page.format(i % length, (i + 1) % length))
    got = r53("specs", ORG)
    assert got["err"] == "retry" and "comes back to where it was" in got["text"]
    assert got["specs"] == []


def test_an_empty_list_is_no_proof(r53):  # noqa: F811
    r53.zone.sets.clear()
    for command in (["specs", ORG], ["records", ORG, WWW],
                    apply(withdraw(A)), apply(publish(A))):
        got = r53(*command)
        assert got["err"] == "retry" and "came back empty" in got["text"]
    assert r53.double.accepted == 0


def test_octal_names(r53):  # noqa: F811
    r53.put("*", "A", A, B)
    r53.put("4", "A", C)
    r53.put("_failover.*", "TXT", '"[]"')
    r53.put("a\\100b", "TXT", '"x"')
    got = r53("records", ORG, "*.example.org", "4.example.org")
    assert got.sets() == {("*.example.org.", "A"): (60, [A, B]),
                          ("4.example.org.", "A"): (60, [C])}
    assert [s["owner"] for s in r53("specs", ORG)["specs"]] == [
        "*.example.org."]


def test_a4_wildcard(r53, shared):  # noqa: F811
    path = shared / "cases" / "files" / "route53" / "a4-wildcard.xml"
    if not path.exists():
        pytest.skip(f"no {path}")
    zone = r53.double.add_zone("example.test")
    zone.put("*.example.test", "A", 60, ["192.0.2.10", "192.0.2.20"])
    zone.put("4.example.test", "A", 60, ["192.0.2.44"])
    wild = "*.example.test"
    r53.double.fault("answer", LIST, status=200, body=path.read_text())
    got = r53("records", "example.test", wild, "4.example.test")
    assert got.sets() == {
        (wild + ".", "A"): (60, ["192.0.2.10", "192.0.2.20"]),
        ("4.example.test.", "A"): (60, ["192.0.2.44"])}
    r53.double.fault("answer", LIST, status=200, body=path.read_text())
    got = r53(*apply(withdraw("192.0.2.20", wild), zone="example.test"))
    assert got.states() == ["done"]
    for _ in range(3):
        got = r53(*apply(publish("192.0.2.10", wild),
                         withdraw("192.0.2.20", wild), zone="example.test"))
        assert got.states() == ["done", "done"]
    assert r53.double.accepted == 1
    assert zone.sets["\\052.example.test.", "A", None].values == ["192.0.2.10"]
    assert zone.sets["4.example.test.", "A", None].values == ["192.0.2.44"]


def test_specs(r53):  # noqa: F811
    r53.put("_failover.www", "TXT", '"[{\\"name\\":" "1}]"', '"v=other"')
    r53.put("_failover", "TXT", '"{\\303\\244}"')
    r53.put("_failover.alias", "TXT", set_id="x", Weight="1")
    r53.put("_failover.mail", "A", A)
    r53.put("x_failover.www", "TXT", '"[]"')
    specs = {s["owner"]: s.get("text") for s in r53("specs", ORG)["specs"]}
    assert specs == {"www.example.org.": '[{"name":1}]',
                     "example.org.": "{ä}", "alias.example.org.": None}


# ---- credentials -----------------------------------------------------------------


def test_credentials_of_the_environment(r53):  # noqa: F811
    d = r53.double
    r53.put("www", "A", A)
    plain = {"access-key-id": None}
    none = {"AWS_SECRET_ACCESS_KEY": None}
    got = r53("records", ORG, WWW, options=plain,
              env={**none, "AWS_ACCESS_KEY": d.id, "AWS_SECRET_KEY": d.secret})
    assert got.code == 0 and got.sets()
    d.token = "made//up+token="
    got = r53("records", ORG, WWW, options=plain,
              env={"AWS_ACCESS_KEY_ID": d.id, "AWS_ACCESS_KEY": "old"})
    assert got.code == 0 and got.sets()
    got = r53("records", ORG, WWW, env=none)
    assert got["err"] == "notFound" and "AWS_SECRET_ACCESS_KEY" in got["text"]
    got = r53("records", ORG, WWW, options=plain)
    assert got["err"] == "notFound" and "AWS_ACCESS_KEY_ID" in got["text"]


def test_credentials_of_files(r53, tmp_path):  # noqa: F811
    d = r53.double
    d.token = "made//up+token="
    for name, text in (("secret", d.secret), ("token", d.token)):
        (tmp_path / name).write_text(text + "\nsecond line\n")
        (tmp_path / name).chmod(0o600)
    options = {"secret-access-key-file": tmp_path / "secret",
               "session-token-file": tmp_path / "token"}
    none = {"AWS_SECRET_ACCESS_KEY": None, "AWS_SESSION_TOKEN": None}
    assert r53("zones", options=options, env=none).code == 0
    (tmp_path / "secret").chmod(0o644)
    got = r53("zones", options=options, env=none)
    assert got["err"] == "auth" and "chmod 600" in got["text"]


@pytest.mark.parametrize("options, part", [
    ({"url": "http://192.0.2.1"}, "in the clear"),
    ({"url": "https://route53.amazonaws.com/x"}, "goes on behind the host"),
    ({"url": "ftp://x"}, "url"),
    ({"zone-id": "Z 1"}, "the id of a hosted zone"),
    ({"zone-id": "Z" * 33}, "the id of a hosted zone"),
    ({"region": "us east"}, "us-east-1"),
    ({"timeout": "0"}, "seconds from 1 to 600"),
    ({"access-key-id": "a\nb: c"}, "no such key has"),
])
def test_options_that_are_refused(r53, options, part):  # noqa: F811
    got = r53("zones", options=options)
    assert got.code == 1 and part in got["text"], got
    assert r53.double.log == []


def test_refused_keys_stop_the_account(r53):  # noqa: F811
    r53.put("www", "A", A)
    got = r53("records", ORG, WWW, "+", "zones", "+",
              *apply(publish(B), withdraw(A)), options={
                  "access-key-id": "AKIAMADEUPANDWRONG00"})
    assert [x["err"] for x in got.all] == ["auth"] * 3
    assert "InvalidClientTokenId" in got["text"]
    assert len(r53.double.log) == 1
    # what was signed comes back in the error: no secret gets out with it
    r53.double.token = "made//up+token="
    got = r53("zones", env={"AWS_SECRET_ACCESS_KEY": "wrong"})
    assert got["err"] == "auth" and "SignatureDoesNotMatch" in got["text"]
    assert "x-amz-security-token:" in got["text"]
    assert got["text"].endswith("x-amz-security-token:")


def test_a_missing_permission_is_named(r53):  # noqa: F811
    r53.put("www", "A", A)
    said = ("User: arn:aws:iam::1:user/x is not authorized to perform: "
            "route53:ChangeResourceRecordSets")
    r53.double.fault("answer", "ChangeResourceRecordSets", status=403,
                     code="AccessDenied", text=said)
    got = r53(*apply(publish(B), withdraw(A)), "+", "zones")
    assert got["err"] == "auth" and said in got.why()
    assert got.all[1]["zones"]  # what else is allowed still works
    r53.double.fault("answer", LIST, status=403, body="")
    got = r53("records", ORG, WWW)
    assert got["err"] == "auth"
    assert "must allow route53:ListResourceRecordSets" in got["text"]


@pytest.mark.parametrize("ahead_s, side", [(400, "behind"), (-400, "ahead of")])
def test_a_wrong_clock_is_named(r53, ahead_s, side):  # noqa: F811
    r53.double.clock_s = ahead_s
    got = r53("records", ORG, WWW)
    assert got["err"] == "auth"
    assert "the clock of this machine is" in got["text"]
    assert f"s {side} Amazon's" in got["text"]
    r53.double.clock_s = ahead_s // 2
    assert r53("records", ORG, WWW).code == 0


def test_ended_session(r53):  # noqa: F811
    r53.double.fault("answer", status=403, code="ExpiredToken",
                     text="The security token included is expired")
    got = r53("zones")
    assert got["err"] == "auth"
    assert "the temporary credentials have ended" in got["text"]
