"""ISPConfig's remote API: its test double (PHP's own SOAP over SQLite)."""

import contextlib

from ispconfig import double
from ispconfig.fixtures import TABLES

from .backend import Backend, Record

NO_LIMIT = "ISPConfig's remote API has no rate limit"
# The call that tries the permission comes first and changes nothing.
TRIAL = 1


class IspConfig(Backend):
    name = "ispconfig"
    stores_case = True
    txt_long = 1200
    not_applicable = {
        "retry_after": NO_LIMIT,
        "retry_after_an_hour": NO_LIMIT,
        "budget_spent": NO_LIMIT,
        "paging": "its lists have no pages, a zone comes as a whole",
    }

    @classmethod
    def missing(cls):
        return double.missing()

    def start(self):
        self._isp = double.IspConfig(self.dir)
        self._isp.__enter__()
        self.heal()

    def stop(self):
        self._isp.close()

    def seed(self, records):
        isp = self._isp
        for table in TABLES:
            isp.sql(f"DELETE FROM {table}")
        isp.sql("UPDATE server SET updated = 0")
        self._id = isp.add_zone(f"{self.zone}.")
        isp.add_rr(self._id, f"{self.zone}.", "NS", f"ns1.{self.zone}.")
        for r in records:
            data = self.stored_txt(r.data) if r.type == "TXT" else r.data
            isp.add_rr(self._id, r.name + ".", r.type, data, ttl=r.ttl,
                       active="Y" if r.enabled else "N")
        self._plant()

    def truth(self):
        return sorted(self._record(row) for row in self._isp.rrs(self._id)
                      if row["type"] != "NS")

    def _record(self, row):
        name = row["name"]
        if not name.endswith("."):
            name = f"{name}.{self.zone}." if name else f"{self.zone}."
        data = row["data"]
        if row["type"] == "TXT":
            data = data.replace('\\"', '"').replace("\\\\", "\\")
        return Record(name.rstrip(".").lower(), row["type"], int(row["ttl"]),
                      data, row["active"] == "Y")

    def stored_txt(self, text):
        return text.replace("\\", "\\\\").replace('"', '\\"')

    def options(self):
        return {"url": self._isp.url, "user": self._isp.user,
                "pin-sha256": self._isp.pin}

    def environment(self):
        return {"ISPCONFIG_PASSWORD": self._password}

    def writes(self):
        return len([x for x in self._isp.datalog()
                    if x["dbtable"] == "dns_rr"])

    @contextlib.contextmanager
    def watching(self):
        """The change log knows every state."""
        rows = {r["id"]: r for r in self._isp.rrs(self._id)}
        mark = max([x["datalog_id"] for x in self._isp.datalog()], default=0)
        seen = [sorted(map(self._record, self._but_ns(rows)))]
        yield seen
        for entry in self._isp.datalog(after=mark):
            if entry["dbtable"] != "dns_rr":
                continue
            row = entry["new"] or entry["old"]
            if entry["new"]:
                rows[int(row["id"])] = row
            else:
                rows.pop(int(row["id"]), None)
            seen.append(sorted(map(self._record, self._but_ns(rows))))

    @staticmethod
    def _but_ns(rows):
        return [r for r in rows.values() if r["type"] != "NS"]

    # -- faults; seed() clears the double's, so they are kept and planted anew

    def heal(self):
        self._faults = []
        self._password = self._isp.password
        self._isp.set_functions(double.MINIMUM)
        self._isp.clear_variants()

    def _plant(self):
        for name, arg, how in self._faults:
            self._isp.set_variant(name, arg, **how)

    def _fault(self, name, arg="", **how):
        self._faults.append((name, arg, how))
        self._isp.set_variant(name, arg, **how)

    def fault_lost(self):
        self._fault("cut", "0", method="dns_a_add", times=1)

    def fault_cut(self):
        # an answer that is no answer, and no function was run
        self._fault("empty500", method="dns_a_add", times=1)

    def fault_unauthorized(self):
        self._password = "made-up-and-wrong"

    def fault_forbidden(self):
        self._isp.set_functions(
            [f for f in double.MINIMUM if not f.endswith("_update")])

    def fault_refused(self):
        self._fault("fault", "validation_error|data_error_regex<br />",
                    method="dns_*_add")
        self._fault("fault", "validation_error|data_error_regex<br />",
                    method="dns_a_update", skip=TRIAL)

    def fault_broken(self):
        self._fault("empty500")

    def fault_garbled(self):
        self._fault("raw", "<SOAP-ENV:Envelope><cut")
