"""BIND, Knot and PowerDNS as primaries of a zone that takes updates.

    with DynamicBind(directory, "example.org") as d:
        d.addr, d.port, d.server
        d.key_file()                    # of the key that may do everything
        d.key_file("limited")           # may change mail's A only
        d.key_file("reader")            # may transfer, may not update
        d.seed([Record…])               # by another client: dnspython
        d.transfer()                    # dns.zone.Zone, signed

Keys: main, limited, reader; any of them with another secret: bad_key_file.
"""

import pathlib
import shutil
import sqlite3
import subprocess

import dns.name
import dns.query
import dns.rcode
import dns.rdatatype
import dns.tsig
import dns.tsigkeyring
import dns.update
import dns.zone

import servers
from contract import dnsdata
from net import free_port, wait_until

BYTES_AT_ONCE = 30000
ZONE_TEXT = """\
$TTL 3600
@ SOA ns1 hostmaster 1000 3600 600 604800 60
@ NS ns1
ns1 A 127.0.0.1
"""
SQLITE_SCHEMA = pathlib.Path(
    "/usr/share/pdns-backend-sqlite3/schema/schema.sqlite3.sql")


class Dynamic:
    """What the three have in common; to be put before a server's class."""

    algorithm = "hmac-sha256"

    def make_keys(self, algorithm=None):
        algorithm = algorithm or self.algorithm
        return {name: servers.new_key(algorithm)
                for name in ("main", "limited", "reader")}

    def key_file(self, name="main", secret=None):
        algorithm, own = self.keys[name]
        path = self.dir / f"{name}{'' if secret is None else '-bad'}.key"
        path.touch(mode=0o600)
        path.write_text(f'key "{name}" {{\n  algorithm {algorithm};\n'
                        f'  secret "{secret or own}";\n}};\n')
        return path

    def bad_key_file(self, name="main"):
        return self.key_file(name, servers.new_key()[1])

    def keyring(self, name="main"):
        algorithm, secret = self.keys[name]
        key = dns.tsig.Key(name, secret, algorithm)
        return {key.name: key}

    def transfer(self, zone=None):
        """The whole zone with absolute names, by a signed transfer."""
        return dns.zone.from_xfr(
            dns.query.xfr(self.addr, zone or self.zone, port=self.port,
                          relativize=False, lifetime=30,
                          keyring=self.keyring(), keyname="main",
                          keyalgorithm=self.algorithm), relativize=False)

    def records(self):
        return dnsdata.records_of(self.transfer())

    def send(self, update):
        answer = dns.query.tcp(update, self.addr, port=self.port, timeout=20)
        assert answer.rcode() == dns.rcode.NOERROR, answer
        return answer

    def new_update(self):
        return dns.update.Update(self.zone, keyring=self.keyring(),
                                 keyname="main",
                                 keyalgorithm=self.algorithm)

    def seed(self, records):
        """The zone holds exactly these beside SOA, NS and ns1."""
        old = {(r.name, r.type) for r in self.records()}
        steps = [("delete", name + ".", rdtype) for name, rdtype in
                 sorted(old)]
        for r in records:
            data = dnsdata.strings(r.data) if r.type == "TXT" else r.data
            steps.append(("add", r.name + ".", r.ttl, r.type, data))
        while steps:
            u, size = self.new_update(), 0
            while steps and size < BYTES_AT_ONCE:
                how, *what = steps.pop(0)
                getattr(u, how)(*what)
                size += 40 + sum(len(str(w)) for w in what)
            self.send(u)

    def zone_serial(self):
        return self.transfer().get_rdataset(
            dns.name.from_text(self.zone), "SOA")[0].serial


class DynamicBind(Dynamic, servers.Bind):
    def __init__(self, directory, zone, policy="", zone_options="", **how):
        self.zone = zone
        keys = self.make_keys(how.pop("algorithm", None))
        how.setdefault("options", "")
        how["options"] += (" allow-transfer { key main; key reader; "
                           "key limited; };")
        self.zone_options = zone_options + (
            "update-policy { grant main zonesub ANY; grant limited name "
            f"mail.{zone} A; {policy} }};")
        super().__init__(directory, {zone: ZONE_TEXT}, keys=keys, **how)
        self.algorithm = keys["main"][0]

    def _prepare(self):
        command = super()._prepare()
        path = self.dir / "named.conf"
        text = path.read_text().replace("allow-transfer { none; };", "")
        path.write_text(text.replace("type primary; ",
                                     f"type primary; {self.zone_options} "))
        return command


class DynamicKnot(Dynamic, servers.Knot):
    def __init__(self, directory, zone, zone_options="", acl="", **how):
        """acl: one more rule, with the id "bare"."""
        self.zone = zone
        self.zone_options = zone_options
        self.more = acl
        super().__init__(directory, {zone: ZONE_TEXT},
                         keys=self.make_keys(how.pop("algorithm", None)),
                         **how)
        self.algorithm = self.keys["main"][0]

    def _prepare(self):
        command = super()._prepare()
        path = self.dir / "knot.conf"
        rules = f"""\
acl:
  - id: main
    key: main
    action: [update, transfer, query]
  - id: limited
    key: limited
    action: update
    update-owner: name
    update-owner-match: equal
    update-owner-name: mail.{self.zone}.
    update-type: A
  - id: readers
    key: [limited, reader]
    action: transfer
{self.more}
zone:
"""
        text = path.read_text().replace("zone:\n", rules, 1)
        text = text.replace("journal-content: none", "journal-content: changes"
                            "\n    zonefile-sync: -1\n    acl: [main, limited,"
                            f" readers{', bare' if self.more else ''}]\n"
                            f"{self.zone_options}")
        path.write_text(text)
        return command


class DynamicPowerDns(Dynamic, servers.Server):
    """With the SQLite backend."""

    program = "pdns_server"

    def __init__(self, directory, zone, **how):
        self.zone = zone
        super().__init__(directory, {zone: ZONE_TEXT}, keys=self.make_keys(),
                         **how)

    @staticmethod
    def missing():
        if servers.find("pdns_server") is None:
            return "no pdns_server (package pdns-server)"
        if not SQLITE_SCHEMA.exists():
            return "no SQLite for PowerDNS (package pdns-backend-sqlite3)"
        return None

    def _prepare(self):
        db = self.dir / "pdns.db"
        if not db.exists():
            self._make_database(db)
        (self.dir / "pdns.conf").write_text(f"""\
launch=gsqlite3
gsqlite3-database={db}
gsqlite3-dnssec=yes
gsqlite3-pragma-synchronous=0
local-address={self.addr}
local-port={self.port}
socket-dir={self.dir}
version-string=anonymous
server-id={self.identity}
dnsupdate=yes
allow-dnsupdate-from=127.0.0.0/8
cache-ttl=0
query-cache-ttl=0
negquery-cache-ttl=0
zone-cache-refresh-interval=0
loglevel=5
{self.options}
""")
        return [self._binary("pdns_server"), f"--config-dir={self.dir}",
                "--daemon=no", "--guardian=no", "--disable-syslog"]

    def _is_me(self):
        # It has no id.server in version 4.7; the port's owner is asked.
        self._known = True
        return True

    def _port_lost(self, log):
        return super()._port_lost(log) or "unable to bind" in log.lower()

    def util(self, *arguments):
        done = subprocess.run(
            [servers.find("pdnsutil"), f"--config-dir={self.dir}", *arguments],
            capture_output=True, text=True, timeout=30)
        assert done.returncode == 0, (arguments, done.stdout, done.stderr)
        return done.stdout

    def _make_database(self, path):
        with sqlite3.connect(path) as db:
            db.executescript(SQLITE_SCHEMA.read_text())
            db.execute("INSERT INTO domains (id, name, type) VALUES "
                       "(1, ?, 'NATIVE')", (self.zone,))
            for name, rdtype, data in (
                    (self.zone, "SOA", f"ns1.{self.zone} hostmaster."
                     f"{self.zone} 1000 3600 600 604800 60"),
                    (self.zone, "NS", f"ns1.{self.zone}"),
                    (f"ns1.{self.zone}", "A", "127.0.0.1")):
                db.execute("INSERT INTO records (domain_id, name, type, "
                           "content, ttl, prio, auth) VALUES (1, ?, ?, ?, "
                           "3600, 0, 1)", (name, rdtype, data))
            for name, (algorithm, secret) in self.keys.items():
                db.execute("INSERT INTO tsigkeys (name, algorithm, secret) "
                           "VALUES (?, ?, ?)", (name, algorithm, secret))
            for kind, content in (
                    ("TSIG-ALLOW-DNSUPDATE", "main"),
                    ("TSIG-ALLOW-AXFR", "main"),
                    ("TSIG-ALLOW-AXFR", "reader"),
                    ("SOA-EDIT-DNSUPDATE", "INCREASE")):
                db.execute("INSERT INTO domainmetadata (domain_id, kind, "
                           "content) VALUES (1, ?, ?)", (kind, content))
