"""The double of Route 53 is held against others: Amazon's own client, and
recorded sessions with the real service."""

import json
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
import xml.etree.ElementTree as ET

import pytest

from route53 import double, sigv4
from route53_help import modules, r53  # noqa: F401

NS = {"r": double.NS}


def test_amazons_client(r53, modules, root):  # noqa: F811
    r53.double.add_zone("example.net")
    r53.double.token = "FwoGZXIvYXdzEXAMPLE//token=="
    r53.double.insync_after = 1
    r53.double.ordered = False
    r53.put("w", "A", "192.0.2.7", set_id="eu", Weight="1")
    got = subprocess.run(
        ["node", str(root / "tests" / "route53" / "client.cjs"), str(modules),
         r53.double.url, r53.double.id, r53.double.secret, r53.double.token],
        capture_output=True, text=True, timeout=60, check=False)
    assert got.returncode == 0, got.stderr
    said = json.loads(got.stdout)
    assert said["found"] == ["example.org.", False]
    assert said["status"] == "PENDING" and said["insync"]
    assert said["zone"].startswith("NoSuchHostedZone: ")
    for what, part in {
            "again": "already exists", "inexact": "do not match",
            "twins": "Duplicate Resource Record",
            "cname": "conflicting RRSet of type  CNAME"}.items():
        assert said[what].startswith("InvalidChangeBatch"), said[what]
        assert part in said[what]
    assert [s for s in said["sets"] if s[1] not in ("NS", "SOA")] == [
        ["\\052.example.org.", "A", 60, ["192.0.2.2", "192.0.2.3"], None],
        ["_failover.example.org.", "TXT", 60, ['"a\\"\\303\\244"'], None],
        ["w.example.org.", "A", 60, ["192.0.2.7"], "eu"]]
    assert "<Comment>made by Amazon" in r53.double.bodies[0]


# -- recorded sessions ---------------------------------------------------------------


def recordings(shared):
    folder = shared / "providers" / "recordings" / "route53"
    if not folder.is_dir():
        pytest.skip(f"no folder {folder}")
    return {f.stem: json.loads(f.read_text())["exchanges"]
            for f in sorted(folder.glob("*.json"))}


def ask(d, method, path, body):
    """A signed request; returns (status, body)."""
    url = urllib.parse.urlsplit(path)
    data = (body or "").encode() if method == "POST" else b""
    when = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    headers = {"host": f"127.0.0.1:{d.port}", "x-amz-date": when}
    signature = sigv4.signature(
        d.secret, when, d.region,
        sigv4.canonical(method, url.path, url.query, headers, data))
    request = urllib.request.Request(
        d.url + path, data=data if method == "POST" else None, method=method,
        headers={**headers, "Authorization": (
            f"AWS4-HMAC-SHA256 Credential={d.id}/{when[:8]}/{d.region}/"
            f"route53/aws4_request, SignedHeaders=host;x-amz-date, "
            f"Signature={signature}")})
    try:
        with urllib.request.urlopen(request, timeout=20) as got:
            return got.status, got.read().decode()
    except urllib.error.HTTPError as e:
        return e.code, e.read().decode()


def sets_of(text):
    return [(s.findtext("r:Name", None, NS), s.findtext("r:Type", None, NS),
             s.findtext("r:TTL", None, NS),
             sorted(v.text for v in s.findall(".//r:Value", NS)))
            for s in ET.fromstring(text).iterfind(".//r:ResourceRecordSet", NS)]


def play(d, session):
    """The session's requests go to the double; returns how many answers were
    compared."""
    zone = d.zones[next(iter(d.zones))]
    fresh, compared = True, 0
    for x in session:
        method, path = x["request"]["method"], x["request"]["url"]
        path = path.partition("amazonaws.com")[2].replace(
            "Z040120927RX9CM38HPQQ", zone.id)
        status, body = x["response"]["status"], x["response"]["body"]
        if fresh and "ListResourceRecordSetsResponse" in body:
            zone.sets.clear()  # as the session found it
            for name, rdtype, ttl, values in sets_of(body):
                zone.put(name, rdtype, int(ttl), values)
            fresh = False
        got_status, got = ask(d, method, path, x["request"]["body"])
        assert got_status == status, (path, got)
        if status != 200:
            assert ET.fromstring(got).findtext(".//r:Code", None, NS) == (
                ET.fromstring(body).findtext(".//r:Code", None, NS))
            assert ET.fromstring(got).findtext(".//r:Message", None, NS) == (
                ET.fromstring(body).findtext(".//r:Message", None, NS))
        elif "ListResourceRecordSetsResponse" in body:
            assert sets_of(got) == sets_of(body)
        compared += 1
    return compared


def test_recorded_sessions(shared):
    compared = 0
    for name, session in recordings(shared).items():
        with double.Route53() as d:
            d.add_zone("example.net")
            try:
                compared += play(d, session)
            except AssertionError as e:
                raise AssertionError(name) from e
    assert compared >= 50


def test_the_provider_reads_recorded_answers(shared, r53):  # noqa: F811
    """Each recorded list is answered to the provider as it is."""
    seen = set()
    for session in recordings(shared).values():
        zones = None
        for x in session:
            body = x["response"]["body"]
            if "ListHostedZonesByNameResponse" in body:
                zones = body
            if "ListResourceRecordSetsResponse" not in body or body in seen:
                continue
            seen.add(body)
            r53.double.fault("answer", status=200, body=zones)
            r53.double.fault("answer", status=200, body=body)
            want = {(name, rdtype): (int(ttl), [
                v if v.endswith(".") or rdtype != "CNAME" else v + "."
                for v in values]) for name, rdtype, ttl, values in sets_of(body)
                if rdtype in ("A", "AAAA", "CNAME")}
            names = {name for name, _ in want} | {"a.example.net",
                                                  "b.example.net"}
            got = r53("records", "example.net", *sorted(names))
            assert got.code == 0, got
            assert got.sets() == want
    assert len(seen) >= 10
