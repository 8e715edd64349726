"""The ISPConfig test double: PHP with ext-soap over SQLite, behind TLS.

    with IspConfig(tmp_path) as isp:
        zone = isp.add_zone("domain.example.")
        row = isp.add_rr(zone, "www", "A", "192.0.2.1")
        ... # isp.url, isp.ca_file, isp.pin, isp.user, isp.password
        assert isp.rr(row)["active"] == "N"
        assert [c["method"] for c in isp.calls()][-1] == "logout"
"""

import base64
import hashlib
import json
import os
import pathlib
import re
import shutil
import signal
import sqlite3
import subprocess
import threading
import time

from .relay import Relay

HERE = pathlib.Path(__file__).resolve().parent
START_TIMEOUT_S = 20
STOP_TIMEOUT_S = 5

FAMILIES = (
    "a aaaa alias caa cname dname ds hinfo loc mx naptr ns ptr rp srv sshfp "
    "tlsa txt"
).split()
ZONE_FUNCTIONS = ["dns_zone_" + x for x in
                  ("get", "get_id", "add", "update", "delete", "set_status")]


def group(family):
    """The functions of one checkbox "DNS … functions" of the panel."""
    return [f"dns_{family}_{x}" for x in ("get", "add", "update", "delete")]


# "DNS txt", "DNS a", "DNS aaaa", "DNS cname" and "DNS zone functions".
MINIMUM = sum(map(group, ("txt", "a", "aaaa", "cname")), []) + ZONE_FUNCTIONS
EVERYTHING = sum(map(group, FAMILIES), []) + ZONE_FUNCTIONS + [
    "monitor_jobqueue_count", "client_get_id", "server_get",
    "get_function_list",
]


def missing():
    """Why the double cannot run here, or None."""
    if shutil.which("php") is None:
        return "no php (package php-cli)"
    modules = subprocess.run(
        ["php", "-m"], capture_output=True, text=True, check=True
    ).stdout.split()
    for module, package in (("soap", "php-soap"), ("sqlite3", "php-sqlite3")):
        if module not in modules:
            return f"php has no {module} extension (package {package})"
    if shutil.which("openssl") is None:
        return "no openssl"
    return None


class IspConfig:
    """A running double; a context manager.

    tmp_path: a folder for the database, the certificate and PHP's log.
    user, password: a remote user that is made at the start.
    functions: its remote_functions, a list; by default MINIMUM.
    names: what the certificate is for, in openssl's subjectAltName syntax.
    """

    def __init__(self, tmp_path, user="failover", password="made-up-pass-1",
                 functions=None, names="IP:127.0.0.1,DNS:localhost"):
        self.dir = pathlib.Path(tmp_path) / "ispconfig"
        self.dir.mkdir(parents=True, exist_ok=True)
        self.user = user
        self.password = password
        self.db_path = self.dir / "ispconfig.db"
        self.log_path = self.dir / "php.log"
        self.ca_file = str(self.dir / "cert.pem")
        self._lock = threading.Lock()
        self._php = None
        self.relay = None
        self.plain_relay = None
        self._make_database()
        self.new_certificate(names)
        self.add_remote_user(user, password,
                             MINIMUM if functions is None else functions)

    # -- life ---------------------------------------------------------------

    def __enter__(self):
        try:
            self.php_port = self._start_php()
            upstream = ("127.0.0.1", self.php_port)
            self.relay = Relay(upstream, str(self.dir / "both.pem"))
            self.plain_relay = Relay(upstream)
        except BaseException:
            self.close()
            raise
        self.port = self.relay.port
        self.url = f"https://127.0.0.1:{self.port}/remote/index.php"
        self.json_url = f"https://127.0.0.1:{self.port}/remote/json.php"
        base = f"http://127.0.0.1:{self.plain_relay.port}/remote"
        self.http_url = f"{base}/index.php"
        self.http_json_url = f"{base}/json.php"
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        for relay in (self.relay, self.plain_relay):
            if relay is not None:
                relay.close()
        if self._php is not None:
            self._stop_php()
        self._db.close()

    def _start_php(self):
        log = open(self.log_path, "wb")
        self._php = subprocess.Popen(
            ["php", "-d", "display_errors=0", "-d", "log_errors=1",
             "-d", "html_errors=0", "-d", "memory_limit=512M",
             "-S", "127.0.0.1:0", "-t", str(HERE / "www")],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            start_new_session=True,
            env=dict(os.environ, PHP_CLI_SERVER_WORKERS="2",
                     ISPCONFIG_DOUBLE_DB=str(self.db_path)),
        )
        log.close()
        end = time.monotonic() + START_TIMEOUT_S
        while time.monotonic() < end and self._php.poll() is None:
            text = self.log_path.read_text(errors="replace")
            found = re.search(r"http://127\.0\.0\.1:(\d+)\) started", text)
            if found:
                return int(found[1])
            time.sleep(0.02)
        raise RuntimeError(
            "php -S did not start: "
            + self.log_path.read_text(errors="replace")
        )

    def _stop_php(self):
        # PHP and its workers are a process group of their own.
        for sign in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(self._php.pid, sign)
                self._php.wait(timeout=STOP_TIMEOUT_S)
            except (ProcessLookupError, subprocess.TimeoutExpired):
                continue

    def new_certificate(self, names="IP:127.0.0.1,DNS:localhost"):
        """A new key and self-signed certificate, used from now on.

        Sets pin: base64 of the SHA-256 of the SubjectPublicKeyInfo.
        """
        key, cert = self.dir / "key.pem", pathlib.Path(self.ca_file)
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
             "ec_paramgen_curve:prime256v1", "-nodes", "-days", "30",
             "-subj", "/CN=ispconfig double", "-addext",
             f"subjectAltName={names}", "-keyout", str(key), "-out",
             str(cert)],
            check=True, capture_output=True,
        )
        spki = subprocess.run(
            ["openssl", "pkey", "-in", str(key), "-pubout", "-outform",
             "DER"], check=True, capture_output=True,
        ).stdout
        self.pin = base64.b64encode(hashlib.sha256(spki).digest()).decode()
        both = self.dir / "both.new"
        both.write_bytes(key.read_bytes() + cert.read_bytes())
        both.rename(self.dir / "both.pem")

    # -- database -----------------------------------------------------------

    def _make_database(self):
        self._db = sqlite3.connect(
            self.db_path, timeout=10, isolation_level=None,
            check_same_thread=False,
        )
        self._db.row_factory = sqlite3.Row
        self._db.text_factory = lambda b: b.decode("utf-8", "surrogateescape")
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.executescript((HERE / "schema.sql").read_text())
        self.sql("INSERT INTO server (server_name) VALUES ('ns1')")
        self.sql("INSERT INTO sys_user (username, passwort, default_group) "
                 "VALUES ('admin', '*', 1)")
        self.add_client("clientone", "made-up-client-1")
        self.add_client("clienttwo", "made-up-client-2")

    def sql(self, statement, *args):
        """Runs one statement; returns its rows as a list of dicts."""
        with self._lock:
            cursor = self._db.execute(statement, args)
            self.last_id = cursor.lastrowid
            return [dict(row) for row in cursor.fetchall()]

    def _insert(self, table, values):
        names = ", ".join(values)
        marks = ", ".join("?" * len(values))
        self.sql(f"INSERT INTO {table} ({names}) VALUES ({marks})",
                 *values.values())
        return self.last_id

    def add_client(self, username, password, can_use_api=False):
        """A customer; client 1 gets sys_userid 2, as on a real panel."""
        client = self._insert(
            "client", {"can_use_api": "y" if can_use_api else "n"})
        group_id = self.sql("SELECT max(default_group) AS n FROM sys_user")
        self._insert("sys_user", {
            "username": username, "passwort": password_hash(password),
            "default_group": group_id[0]["n"] + 1, "client_id": client})
        return client

    def add_remote_user(self, user, password, functions, access="y", ips=""):
        """A remote user; functions: a list of names."""
        return self._insert("remote_user", {
            "remote_username": user,
            "remote_password": password_hash(password),
            "remote_access": access, "remote_ips": ips,
            "remote_functions": ";".join(functions)})

    def set_functions(self, functions, user=None):
        """Changes the permissions; sessions that run keep theirs."""
        self.sql("UPDATE remote_user SET remote_functions = ? "
                 "WHERE remote_username = ?", ";".join(functions),
                 user or self.user)

    def add_zone(self, origin, ns=None, mbox=None, **more):
        """A zone; returns its id. more: columns of dns_soa."""
        bare = origin.rstrip(".")
        return self._insert("dns_soa", {
            "sys_userid": 2, "sys_groupid": 2, "origin": origin,
            "ns": ns or f"ns1.{bare}.", "mbox": mbox or f"hostmaster.{bare}.",
            "serial": 2024010101, "refresh": 7200, "retry": 540,
            "active": "Y", **more})

    def add_rr(self, zone, name, type, data, ttl=300, active="Y", **more):
        """A record; returns its id. more: columns of dns_rr."""
        return self._insert("dns_rr", {
            "sys_userid": 2, "sys_groupid": 2, "zone": zone, "name": name,
            "type": type, "data": data, "ttl": ttl, "active": active,
            "stamp": "2024-01-01 00:00:00", "serial": 1, **more})

    def rr(self, row_id):
        """The record with this id as a dict, or None."""
        rows = self.sql("SELECT * FROM dns_rr WHERE id = ?", row_id)
        return rows[0] if rows else None

    def rrs(self, zone=None):
        """All records, or those of one zone, by id."""
        if zone is None:
            return self.sql("SELECT * FROM dns_rr ORDER BY id")
        return self.sql("SELECT * FROM dns_rr WHERE zone = ? ORDER BY id",
                        zone)

    def soa(self, zone):
        """The dns_soa row of a zone, or None."""
        rows = self.sql("SELECT * FROM dns_soa WHERE id = ?", zone)
        return rows[0] if rows else None

    def serial(self, zone):
        return self.soa(zone)["serial"]

    def set_rr(self, row_id, **columns):
        """Changes a record behind the API's back."""
        for name, value in columns.items():
            self.sql(f"UPDATE dns_rr SET {name} = ? WHERE id = ?", value,
                     row_id)

    def set_soa(self, zone, **columns):
        for name, value in columns.items():
            self.sql(f"UPDATE dns_soa SET {name} = ? WHERE id = ?", value,
                     zone)

    def datalog(self, after=0):
        """The change log: dicts; "old" and "new" are the row's dicts."""
        rows = self.sql("SELECT * FROM sys_datalog WHERE datalog_id > ? "
                        "ORDER BY datalog_id", after)
        for row in rows:
            row.update(json.loads(row.pop("data")))
        return rows

    # -- control ------------------------------------------------------------

    def set_config(self, name, value):
        """maintenance, strict: "1" or "0"; clock_offset_s: seconds."""
        self.sql("INSERT OR REPLACE INTO config VALUES (?, ?)", name,
                 str(value))

    def advance(self, seconds):
        """Moves the server's clock forward (sessions, lock-out, serial)."""
        rows = self.sql("SELECT value FROM config "
                        "WHERE name = 'clock_offset_s'")
        now = int(rows[0]["value"]) if rows else 0
        self.set_config("clock_offset_s", now + seconds)

    def set_variant(self, name, arg="", method="*", times=-1, skip=0):
        """Plants a misbehaviour; README.md in this folder lists them."""
        return self._insert("variant", {
            "name": name, "arg": str(arg), "method": method, "times": times,
            "skip": skip})

    def clear_variants(self):
        self.sql("DELETE FROM variant")

    def calls(self, method="*"):
        """The requests so far, oldest first: dicts with endpoint, address,
        method, args (a list; None when no function was reached), outcome
        ("ok", a fault code or a variant) and body (bytes)."""
        rows = self.sql("SELECT * FROM call_log WHERE method GLOB ? "
                        "ORDER BY id", method)
        for row in rows:
            if row["args"] is not None:
                row["args"] = json.loads(row["args"])
            if isinstance(row["body"], str):
                row["body"] = row["body"].encode("utf-8", "surrogateescape")
        return rows

    def methods(self):
        return [call["method"] for call in self.calls()]

    def clear_calls(self):
        self.sql("DELETE FROM call_log")


def password_hash(password):
    """A sha512-crypt hash, as ISPConfig stores it."""
    done = subprocess.run(
        ["openssl", "passwd", "-6", "-stdin"], input=password + "\n",
        check=True, capture_output=True, text=True,
    )
    return done.stdout.strip()
