"""Replays the recorded requests on the double, and compares the answers."""

import io
import os
import pathlib
import re
import xml.etree.ElementTree as ET

from . import double
from .client import XSI, fault_of, log_in, post

ROOT = pathlib.Path(__file__).resolve().parents[3]
CAPTURES = pathlib.Path(
    os.environ.get("DNSFAILOVER_SHARED", ROOT.parent / "shared")
) / "ispconfig" / "captures"

SESSION = re.compile(r"\b[a-z][0-9a-f]{40}\b")
OTHER_ADDRESS = "127.0.0.2"
RECORDED_JOBS = 376

ENC = "{http://schemas.xmlsoap.org/soap/encoding/}"


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
