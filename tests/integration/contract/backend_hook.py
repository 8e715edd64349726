"""The hook contrib/hooks/hook_nsupdate.py with BIND; faults by a relay before it."""

import base64
import pathlib
import sys

import dns.query
import dns.rcode
import dns.tsigkeyring
import dns.update
import dns.zone

import servers

from . import dnsdata
from .backend import Backend

HERE = pathlib.Path(__file__).parent
HOOKS = HERE.parents[2] / "contrib" / "hooks"
RECORDS_PER_UPDATE = 500
NO_LIMIT = "a command knows itself how long its server asks it to wait"


def key_file(path, name, secret):
    path.write_text(f'key "{name}" {{ algorithm hmac-sha256; '
                    f'secret "{secret}"; }};\n')
    return path


class Hook(Backend):
    name = "hook"
    stores_case = True
    writes_for_1000 = 10
    not_applicable = {
        "retry_after": NO_LIMIT,
        "disable_in_place": "dynamic updates know no records that are off",
        "paging": "a zone transfer has no pages",
    }

    @classmethod
    def missing(cls):
        for program in ("named", "nsupdate", "dig"):
            if servers.find(program) is None:
                return f"no {program} (packages bind9, bind9-dnsutils)"
        return None

    def start(self):
        keys = {name: ("hmac-sha256", base64.b64encode(name.encode() * 4)
                       .decode()) for name in ("writer", "reader")}
        text = ("$TTL 3600\n@ SOA ns1 hostmaster 1 3600 600 604800 60\n"
                "@ NS ns1\nns1 A 127.0.0.1\n")
        self._ns = servers.Bind(self.dir / "ns", {self.zone: text}, axfr=True,
                                keys=keys, update="writer")
        self._ns.start()
        self._ring = dns.tsigkeyring.from_text({"writer": keys["writer"][1]})
        self._keys = {name: key_file(self.dir / f"{name}.key", name, secret)
                      for name, (_, secret) in keys.items()}
        self._keys["wrong"] = key_file(self.dir / "wrong.key", "writer",
                                       keys["reader"][1])
        self._fault = self.dir / "fault"
        self.heal()

    def stop(self):
        self._ns.stop()

    def _transfer(self):
        return dns.zone.from_xfr(
            dns.query.xfr(self._ns.addr, self.zone, port=self._ns.port,
                          relativize=False, lifetime=20), relativize=False)

    def _serial(self):
        return self._ns.serial(self.zone)

    def _update(self, steps):
        for at in range(0, len(steps), RECORDS_PER_UPDATE):
            u = dns.update.Update(self.zone, keyring=self._ring,
                                  keyalgorithm="hmac-sha256")
            for method, *args in steps[at:at + RECORDS_PER_UPDATE]:
                getattr(u, method)(*args)
            got = dns.query.tcp(u, self._ns.addr, port=self._ns.port,
                                timeout=20)
            assert got.rcode() == dns.rcode.NOERROR, got

    def seed(self, records):
        here = dnsdata.records_of(self._transfer())
        steps = [("delete", r.name + ".", r.type)
                 for r in {(x.name, x.type): x for x in here}.values()]
        for r in records:
            data = dnsdata.strings(r.data) if r.type == "TXT" else r.data
            steps.append(("add", r.name + ".", r.ttl, r.type, data))
        if steps:
            self._update(steps)
        self._seeded = self._serial()

    def truth(self):
        return dnsdata.records_of(self._transfer())

    def relay(self):
        """The command line: the relay before the hook."""
        return " ".join(map(str, [
            sys.executable, HERE / "hook_relay.py", self.dir,
            HOOKS / "hook_nsupdate.py", "--server", self._ns.addr, "--port",
            self._ns.port, "--key", self._keys[self._key], self.zone]))

    def options(self):
        return {"command": self.relay(),
                "requests": "list-zones list-specs list-records apply "
                            "write-spec"}

    def writes(self):
        return self._serial() - self._seeded

    def heal(self):
        self._key = "writer"
        self._fault.unlink(missing_ok=True)

    def fault(self, name):
        self._fault.write_text(name)

    def fault_lost(self):
        self.fault("lost")

    def fault_cut(self):
        self.fault("cut")

    def fault_unauthorized(self):
        self._key = "wrong"

    def fault_forbidden(self):
        self._key = "reader"

    def fault_refused(self):
        self.fault("refused")

    def fault_broken(self):
        self.fault("broken")

    def fault_garbled(self):
        self.fault("not-json")

    def fault_busy_long(self):
        self.fault("busy-long")

    def fault_budget_spent(self):
        self.fault("budget")
