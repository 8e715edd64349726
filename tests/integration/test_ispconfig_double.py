"""The ISPConfig double itself: recorded requests replayed, and own tests."""

import gzip
import http.client
import io
import json
import os
import pathlib
import re
import ssl
import time
import urllib.parse
import xml.etree.ElementTree as ET

import pytest

from ispconfig import double
from ispconfig.double import IspConfig
from ispconfig.zonefile import ServerPart, render_zone

ROOT = pathlib.Path(__file__).resolve().parents[2]
CAPTURES = pathlib.Path(
    os.environ.get("DNSFAILOVER_SHARED", ROOT.parent / "shared")
) / "ispconfig" / "captures"

XSI = "{http://www.w3.org/2001/XMLSchema-instance}"
ENC = "{http://schemas.xmlsoap.org/soap/encoding/}"
SOAP_HEAD = '<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/"' \
    ' xmlns:i="http://www.w3.org/2001/XMLSchema-instance"' \
    ' xmlns:x="http://www.w3.org/2001/XMLSchema"' \
    ' xmlns:m="http://xml.apache.org/xml-soap"><s:Body>'
SOAP_TAIL = "</s:Body></s:Envelope>"


@pytest.fixture(autouse=True, scope="module")
def needs_php():
    reason = double.missing()
    if reason is not None:
        pytest.skip(reason)


# -- the wire ---------------------------------------------------------------


def post(isp, path, body, address=None, plain=False, headers=None,
         method="POST"):
    """One request; returns (status, headers, body as bytes)."""
    source = (address, 0) if address else None
    if plain:
        port = urllib.parse.urlsplit(isp.http_url).port
        connection = http.client.HTTPConnection(
            "127.0.0.1", port, timeout=20, source_address=source)
    else:
        connection = http.client.HTTPSConnection(
            "127.0.0.1", isp.port, timeout=20, source_address=source,
            context=ssl.create_default_context(cafile=isp.ca_file))
    try:
        if headers is None:
            headers = {"Content-Type": "text/xml; charset=utf-8"}
        connection.request(method, path, body=body, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()
    finally:
        connection.close()


def encode(value):
    """A Python value as the XML inside a parameter, and its attributes."""
    if isinstance(value, dict):
        items = "".join(
            f"<item><key>{key}</key><value>{encode(v)[1]}</value></item>"
            for key, v in value.items())
        return ' i:type="m:Map"', items
    if isinstance(value, bool):
        return ' i:type="x:boolean"', "true" if value else "false"
    if value is None:
        return ' i:nil="true"', ""
    text = str(value).replace("&", "&amp;").replace("<", "&lt;")
    return "", text


def decode(element):
    """The value of a <return>, <value> or <item> element."""
    kind = element.get(XSI + "type", "")
    if element.get(XSI + "nil") == "true":
        return None
    if kind.endswith(":Map"):
        return {i.find("key").text: decode(i.find("value"))
                for i in element.findall("item")}
    if kind.endswith(":Array"):
        return [decode(i) for i in element.findall("item")]
    text = element.text or ""
    if kind.endswith(":int"):
        return int(text)
    if kind.endswith(":boolean"):
        return text == "true"
    return text


class Fault(Exception):
    def __init__(self, code, text):
        super().__init__(code, text)
        self.code = code
        self.text = text


class Html(Exception):
    pass


def call(isp, method, *args, address=None, plain=True):
    """One SOAP call; raises Fault, or Html when the answer is a page."""
    parts = []
    for n, value in enumerate(args):
        attributes, inner = encode(value)
        parts.append(f"<p{n}{attributes}>{inner}</p{n}>")
    body = f"{SOAP_HEAD}<{method}>{''.join(parts)}</{method}>{SOAP_TAIL}"
    status, headers, answer = post(
        isp, "/remote/index.php", body.encode(), address, plain)
    if not headers["Content-Type"].startswith("text/xml"):
        raise Html(status, answer)
    root = ET.fromstring(answer)
    fault = root.find(".//{*}Fault")
    if fault is not None:
        assert status == 500
        raise Fault(fault.findtext("faultcode"), fault.findtext("faultstring"))
    assert status == 200
    return decode(root.find(".//return"))


def fault_of(isp, method, *args, **how):
    with pytest.raises(Fault) as caught:
        call(isp, method, *args, **how)
    return caught.value.code


def log_in(isp, user=None, password=None, **how):
    return call(isp, "login", user or isp.user, password or isp.password,
                **how)


# -- captures ---------------------------------------------------------------

# Answers that differ from the recording: name of the capture -> why.
DEVIATIONS = {}

SESSION = re.compile(r"\b[a-z][0-9a-f]{40}\b")
JSON_SPEC = ('[{"name":"cache.domain.example.","data":"192.0.2.1",'
             '"check":"443","ttl":"300"}]')
OTHER_ADDRESS = "127.0.0.2"
RECORDED_JOBS = 376


def capture_names():
    names = [p.name.split(".request.")[0]
             for p in CAPTURES.glob("*.request.*")]
    return sorted(names)


class Replay:
    """Replays the recorded requests in the order of their numbers.

    The recordings come from one database whose state changed in between;
    the methods before_NN bring the double's database into the state that the
    recorded answer shows.
    """

    def __init__(self, isp):
        self.isp = isp
        self.sessions = {}
        self.answers = {}
        self.address = None

    def run(self):
        for name in capture_names():
            self.address = None
            getattr(self, "before_" + name[:2], lambda: None)()
            self.answers[name] = self._send(name)
            getattr(self, "after_" + name[:2], lambda: None)()

    def _send(self, name):
        path = "/remote/index.php"
        recorded = CAPTURES / f"{name}.request.xml"
        if recorded.exists():
            body = recorded.read_bytes().decode()
        else:
            recorded = CAPTURES / f"{name}.request.json.txt"
            line, _, body = recorded.read_text().partition("\n\n")
            path = line.split()[1]
        for placeholder, real in self.sessions.items():
            body = body.replace(placeholder, real)
        status, headers, answer = post(
            self.isp, path, body.encode(), self.address)
        found = SESSION.search(answer.decode(errors="replace"))
        if found and "login" in name:
            number = 2 if name.startswith("47") else 1
            self._session(number, found[0])
        return status, headers["Content-Type"], answer

    def _session(self, number, real):
        self.sessions["k" + f"{number:040d}"] = real

    def _log_in(self, number, user="failover"):
        self._session(number, log_in(self.isp, user, "made-up-pass-1"))

    def _row(self, number, name, type, data, **more):
        self.isp.add_rr(1, name, type, data, id=number, **more)

    def before_03(self):
        self._row(1, "domain.example.", "NS", "ns1.domain.example.")
        self._row(2, "domain.example.", "NS", "ns2.domain.example.")
        self._row(3, "ns1", "A", "192.0.2.53")
        self._row(4, "ns2", "A", "192.0.2.54")

    def before_04(self):
        self._row(6, "cache.domain.example.", "A", "192.0.2.2")
        self._row(7, "cache.domain.example.", "AAAA", "2001:db8::1")
        self._row(8, "www.domain.example.", "CNAME", "cache.domain.example.")

    def before_05(self):
        self._row(10, "domain.example.", "TXT",
                  'hello "quoted" back\\slash; semi')
        self._row(11, "domain.example.", "MX", "mail.domain.example.",
                  ttl=3600, aux=10)
        names = ["www2", "", "domain.example", "mixed.domain.example.", "*",
                 "*.domain.example.", "other.example."]
        for number, (name, host) in enumerate(
                zip(names, [1, 2, 4, 5, 6, 7, 10])):
            self._row(12 + number, name, "A", f"198.51.100.{host}")

    def before_23(self):
        self._log_in(1)  # 21 logged out

    def before_29(self):
        self._restore()

    def before_33(self):
        self._restore()

    def before_44(self):
        self._restore()
        self.isp.set_soa(1, mbox="hostmaster")

    def after_44(self):
        self.isp.set_soa(1, mbox="hostmaster.domain.example.")

    def before_45(self):
        self._row(22, "gone", "A", "198.51.100.22")

    def before_47(self):
        self.isp.sql("UPDATE client SET can_use_api = 'y'")

    def before_58(self):
        self.isp.sql(
            "UPDATE remote_session SET tstamp = tstamp - 1801 "
            "WHERE remote_session = ?", self.sessions["k" + f"{2:040d}"])

    def before_59(self):
        self.address = OTHER_ADDRESS

    def before_60(self):
        self.isp.add_remote_user("txtonly", "made-up-pass-1",
                                 double.group("txt"))
        self._log_in(3, "txtonly")

    def before_63(self):
        self.isp.add_remote_user("nozone", "made-up-pass-1",
                                 double.group("a"))
        self._log_in(4, "nozone")

    def before_64(self):
        self.isp.add_remote_user("localonly", "made-up-pass-1",
                                 double.MINIMUM, access="n")
        self.address = OTHER_ADDRESS

    def before_65(self):
        self.isp.add_remote_user("ipbound", "made-up-pass-1", double.MINIMUM,
                                 ips="192.0.2.9, 192.0.2.10")
        self.address = OTHER_ADDRESS

    def before_66(self):
        for _ in range(10):
            assert fault_of(self.isp, "login", "failover",
                            "made-up-wrong") == "login_failed"

    def after_67(self):
        self.isp.sql("DELETE FROM attempts_login")

    def before_68(self):
        self.isp.set_config("maintenance", 1)

    def after_68(self):
        self.isp.set_config("maintenance", 0)

    def before_69(self):
        self.isp.set_variant("disabled", times=1)

    def before_70(self):
        self._restore()

    def before_95(self):
        self._log_in(1)  # 94 logged out
        self._restore()
        self.isp.set_config("strict", 1)

    def after_95(self):
        self.isp.set_config("strict", 0)

    def before_98(self):
        self.isp.add_remote_user("watcher", "made-up-pass-1",
                                 ["monitor_jobqueue_count"])
        self._log_in(2, "watcher")
        self.isp.sql("DELETE FROM sys_datalog")
        for _ in range(RECORDED_JOBS):
            self.isp.sql(
                "INSERT INTO sys_datalog (server_id, dbtable, dbidx, action,"
                " tstamp, user, data) VALUES (1, 'dns_rr', 'id:5', 'u', 0,"
                " '', '{\"old\":{},\"new\":{}}')")

    def _restore(self):
        self.isp.set_rr(5, active="Y", sys_userid=2, sys_groupid=2)
        self.isp.set_soa(1, sys_userid=2, sys_groupid=2)


@pytest.fixture(scope="module")
def replay(tmp_path_factory):
    with IspConfig(tmp_path_factory.mktemp("captures"),
                   functions=double.EVERYTHING) as isp:
        run = Replay(isp)
        run.run()
        yield run


def canonical(data):
    """A comparable form of an XML answer: prefixes resolved, attributes
    sorted, session ids alike; and the bytes themselves if it is no XML."""
    text = SESSION.sub("SESSION", data.decode())
    prefixes = {}
    root = None
    try:
        for event, value in ET.iterparse(
                io.BytesIO(text.encode()), ("start-ns", "end")):
            if event == "start-ns":
                prefixes[value[0]] = value[1]
            else:
                root = value
    except ET.ParseError:
        return text

    def resolve(name, value):
        if name in (XSI + "type", ENC + "arrayType"):
            prefix, _, local = value.partition(":")
            return f"{{{prefixes[prefix]}}}{local}"
        return value

    def walk(element):
        attributes = sorted(
            (k, resolve(k, v)) for k, v in element.attrib.items())
        return (element.tag, attributes, element.text or "",
                element.tail or "", [walk(e) for e in element])

    return walk(root)


def recorded_heads():
    """name -> HTTP status and media type, from INDEX.tsv."""
    heads = {}
    for line in (CAPTURES / "INDEX.tsv").read_text().splitlines():
        cells = line.split("\t")
        found = re.match(r"HTTP(?:/1\.1)? (\d+)(?:.*?(\w+/[\w+]+))?",
                         cells[1]) if len(cells) > 1 else None
        if found:
            heads[cells[0]] = int(found[1]), found[2]
    return heads


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
