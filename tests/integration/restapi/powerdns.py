"""A real PowerDNS with a SQLite file, and a relay in front of its API that
can misbehave."""

import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import urllib.error
import urllib.request

import net

from .server import Answer, Server

SERVER = "/usr/sbin/pdns_server"
UTIL = "/usr/bin/pdnsutil"
SCHEMA = "/usr/share/pdns-backend-sqlite3/schema/schema.sqlite3.sql"
MODULE = "libgsqlite3backend.so"
KEY = "made-up-key-of-the-tests"
CONF = """\
launch=gsqlite3
gsqlite3-database={dir}/pdns.db
gsqlite3-dnssec=yes
gsqlite3-pragma-synchronous=0
local-address=127.0.0.1
local-port={dns}
api=yes
api-key={key}
webserver=yes
webserver-address=127.0.0.1
webserver-port={web}
socket-dir={dir}
loglevel=4
cache-ttl=0
query-cache-ttl=0
negquery-cache-ttl=0
xfr-cycle-interval=1
{more}
"""


def missing():
    """Why it cannot run here, or None."""
    if not os.access(SERVER, os.X_OK):
        return "no pdns_server (package pdns-server)"
    if not os.path.exists(SCHEMA):
        return "no SQLite for PowerDNS (package pdns-backend-sqlite3)"
    return None


class PowerDNS:
    """with PowerDNS(directory) as p: p.api("GET", "/zones"), p.url, p.port"""

    def __init__(self, directory, more=""):
        self.dir = pathlib.Path(directory)
        self.more = more
        self._process = None

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.web}"

    def start(self):
        self.dir.mkdir(parents=True, exist_ok=True)
        with sqlite3.connect(self.dir / "pdns.db") as db:
            db.executescript(pathlib.Path(SCHEMA).read_text())
        for _ in range(5):  # a port may be taken before the server does it
            self.port, self.web = net.free_port(), net.free_port()
            (self.dir / "pdns.conf").write_text(CONF.format(
                dir=self.dir, dns=self.port, web=self.web, key=KEY,
                more=self.more))
            self._process = subprocess.Popen(
                [SERVER, f"--config-dir={self.dir}", "--daemon=no",
                 "--guardian=no"], stdin=subprocess.DEVNULL,
                stdout=open(self.dir / "log", "w"), stderr=subprocess.STDOUT)
            try:
                net.wait_until("PowerDNS", self._is_up)
                return
            except EOFError:
                continue
        raise RuntimeError((self.dir / "log").read_text())

    def _is_up(self):
        if self._process.poll() is not None:
            raise EOFError
        try:
            return self.api("GET", "")[0] == 200
        except OSError:
            return False

    def stop(self):
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None

    def api(self, method, path, body=None, key=KEY):
        """(status, JSON or text); path behind /servers/localhost"""
        request = urllib.request.Request(
            f"{self.url}/api/v1/servers/localhost{path}", method=method,
            data=json.dumps(body).encode() if body is not None else None,
            headers={"X-API-Key": key})
        try:
            with urllib.request.urlopen(request, timeout=20) as got:
                status, text = got.status, got.read().decode()
        except urllib.error.HTTPError as e:
            status, text = e.code, e.read().decode()
        try:
            return status, json.loads(text)
        except ValueError:
            return status, text

    def must(self, method, path, body=None):
        status, got = self.api(method, path, body)
        assert status < 300, (method, path, status, got)
        return got

    def make_zone(self, zone, sets=(), **members):
        """sets: [(name, type, ttl, [(content, disabled)…])…]"""
        self.api("DELETE", f"/zones/{zone}.")
        self.must("POST", "/zones", {
            "name": f"{zone}.", "kind": "Native",
            "nameservers": [f"ns1.{zone}."], "rrsets": [
                {"name": name, "type": rdtype, "ttl": ttl, "records": [
                    {"content": c, "disabled": off} for c, off in records]}
                for name, rdtype, ttl, records in sets], **members})

    def sql(self, text, *values):
        with sqlite3.connect(self.dir / "pdns.db", timeout=10) as db:
            return db.execute(text, values).fetchall()

    def rows(self, zone):
        """[(name, type, content, ttl, disabled)…] of its database."""
        return self.sql(
            "SELECT r.name, r.type, r.content, r.ttl, r.disabled FROM "
            "records r JOIN domains d ON d.id = r.domain_id "
            "WHERE d.name = ? AND r.type IS NOT NULL", zone)

    def serial(self, zone):
        return [int(r[2].split()[2]) for r in self.rows(zone)
                if r[1] == "SOA"][0]

    def util(self, *arguments):
        assert shutil.which(UTIL)
        return subprocess.run(
            [UTIL, f"--config-dir={self.dir}", *arguments], check=True,
            capture_output=True, text=True, timeout=30).stdout


class Relay(Server):
    """Hands everything on to a PowerDNS."""

    def __init__(self, to):
        self.to = to
        super().__init__()

    def is_write(self, request):
        return request.method == "PATCH"

    def forbidden(self):
        return Answer(403, "Forbidden")

    def refused(self):
        return Answer(422, {"error": "Record www.example.org./A 'x': Parsing "
                                     "record content"})

    def busy(self):
        return Answer(429, "Too Many Requests")

    def handle(self, request):
        query = urllib.parse.urlencode(request.query)
        out = urllib.request.Request(
            self.to.url + urllib.parse.quote(request.path)
            + (f"?{query}" if query else ""), method=request.method,
            data=request.text.encode() if request.text else None)
        for name in ("X-API-Key", "Content-Type"):
            if request.headers.get(name):
                out.add_header(name, request.headers[name])
        try:
            with urllib.request.urlopen(out, timeout=20) as got:
                status, kind, text = (got.status,
                                      got.headers.get("Content-Type"),
                                      got.read().decode())
        except urllib.error.HTTPError as e:
            status, kind, text = (e.code, e.headers.get("Content-Type"),
                                  e.read().decode())
        return Answer(status, text, kind=kind)
