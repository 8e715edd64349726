"""ISPConfig's "server part": from rows to a BIND zone file.

On a real server a cron job does this once a minute. Here the test decides
when: ServerPart.run() is one minute's run.
"""

import pathlib
import shutil
import subprocess

TXT_STRING_BYTES = 255
ENTRIES_PER_RUN = 1000
CHECK_TIMEOUT_S = 30
WITH_PRIORITY = ("MX", "SRV")


def txt_field(data):
    """TXT data as ISPConfig writes it: in quotes, nothing escaped, and cut
    every 255 bytes by the three characters '" "'."""
    raw = data.encode("utf-8", "surrogateescape")
    parts = [raw[i:i + TXT_STRING_BYTES]
             for i in range(0, len(raw), TXT_STRING_BYTES)]
    return b'"' + b'" "'.join(parts) + b'"'


def render_zone(db, zone_id):
    """The zone file's text, or None when there is nothing to write: no such
    zone, or no active record (then the old file stays).

    db: an IspConfig. Bytes that are no UTF-8 are kept as surrogates; write
    the text with errors="surrogateescape".
    """
    soa = db.soa(zone_id)
    rows = [r for r in db.rrs(zone_id) if r["active"] == "Y"]
    if soa is None or not rows:
        return None
    lines = [
        f"$TTL {soa['ttl']}".encode(),
        f"@ IN SOA {soa['ns']} {soa['mbox']} ( {soa['serial']} "
        f"{soa['refresh']} {soa['retry']} {soa['expire']} "
        f"{soa['minimum']} )".encode(),
    ]
    for row in rows:
        head = f"{row['name'] or '@'} {row['ttl']} {row['type']} "
        data = row["data"].encode("utf-8", "surrogateescape")
        if row["type"] == "TXT":
            data = txt_field(row["data"])
        elif row["type"] in WITH_PRIORITY:
            data = f"{row['aux']} ".encode() + data
        lines.append(head.encode("utf-8", "surrogateescape") + data)
    return (b"\n".join(lines) + b"\n").decode("utf-8", "surrogateescape")


class ServerPart:
    """Renders the zones whose datalog entries are not yet processed.

    directory: where the zone files pri.ORIGIN go. reload: called once at the
    end of a run that wrote a file, with the list of origins (no final dot).
    check: named-checkzone, or None to check nothing.
    """

    def __init__(self, db, directory, reload=None, check="named-checkzone"):
        self.db = db
        self.directory = pathlib.Path(directory)
        self.reload = reload
        self.check = shutil.which(check) if check else None
        if self.check is None and check and pathlib.Path(
                "/usr/sbin/named-checkzone").exists():
            self.check = "/usr/sbin/named-checkzone"

    def path(self, zone_id):
        """The zone file of a zone."""
        return self.directory / f"pri.{self.origin(zone_id)}"

    def origin(self, zone_id):
        # ISPConfig cuts the last character, which should be the dot.
        return self.db.soa(zone_id)["origin"][:-1]

    def write_all(self):
        """Writes every zone anew, as if each had just been saved."""
        for row in self.db.sql("SELECT id FROM dns_soa ORDER BY id"):
            self._write(row["id"])
        self._processed(self.db.datalog())

    def run(self):
        """One run; returns the origins of the zones it wrote."""
        updated = self.db.sql("SELECT min(updated) AS n FROM server")[0]["n"]
        entries = self.db.datalog(after=updated)[:ENTRIES_PER_RUN]
        written = []
        for entry in entries:
            row = entry["new"] or entry["old"]
            key = "id" if entry["dbtable"] == "dns_soa" else "zone"
            zone_id = int(row[key])
            if self.db.soa(zone_id) is None:
                continue
            error = self._write(zone_id)
            if error is not None:
                self.db.sql("UPDATE sys_datalog SET error = ? "
                            "WHERE datalog_id = ?", error,
                            entry["datalog_id"])
            elif self.origin(zone_id) not in written:
                written.append(self.origin(zone_id))
        self._processed(entries)
        if written and self.reload is not None:
            self.reload(written)
        return written

    def _processed(self, entries):
        if entries:
            self.db.sql("UPDATE server SET updated = ?",
                        entries[-1]["datalog_id"])

    def _write(self, zone_id):
        """Writes one zone file; returns the checker's text when it is bad.
        Then the old file is back and the new one beside it as .err."""
        text = render_zone(self.db, zone_id)
        if text is None:
            return None
        path = self.path(zone_id)
        old = path.read_bytes() if path.exists() else None
        path.write_text(text, errors="surrogateescape")
        if self.check is None:
            return None
        done = subprocess.run(
            [self.check, self.origin(zone_id), str(path)],
            capture_output=True, text=True, errors="replace",
            timeout=CHECK_TIMEOUT_S,
        )
        if done.returncode == 0:
            return None
        path.rename(path.with_name(path.name + ".err"))
        if old is not None:
            path.write_bytes(old)
        return done.stdout + done.stderr
