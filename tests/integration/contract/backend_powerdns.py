"""PowerDNS with SQLite, the real server; faults by a relay before its API."""

import ipaddress

from restapi import powerdns, rules

from . import dnsdata
from .backend import Backend, Record
from .rest_double import RestDouble


class PowerDns(RestDouble):
    name = "powerdns"
    secret_variable = "PDNS_API_KEY"
    one_cname = True
    inner_star = False
    writes_for_1000 = 2
    not_applicable = {
        "paging": "its answers have no pages, a zone comes as a whole",
        "budget_spent": "it is one's own server and counts no calls",
        "two_writers_at_once": "its API writes whole sets and has no "
                               "condition for a write",
    }

    @classmethod
    def missing(cls):
        return powerdns.missing()

    def start(self):
        self._server = powerdns.PowerDNS(self.dir / "pdns")
        self._server.start()
        self.api = powerdns.Relay(self._server)
        self.api.token = powerdns.KEY
        self.heal()

    def stop(self):
        if hasattr(self, "api"):
            self.api.close()
        self._server.stop()

    def seed(self, records):
        sets = {}
        for r in records:
            data = dnsdata.strings(r.data) if r.type == "TXT" else r.data
            sets.setdefault((r.name + ".", r.type, r.ttl), []).append(
                (data, not r.enabled))
        self._server.make_zone(self.zone, [(*k, v) for k, v in sets.items()])
        self.api.requests.clear()
        self.api.writes = 0

    @staticmethod
    def _data(rdtype, content):
        if rdtype == "TXT":
            return rules.txt_bytes(content)
        if rdtype in ("A", "AAAA"):
            return str(ipaddress.ip_address(content))
        return content + "."

    def truth(self):
        return sorted(Record(name, rdtype, ttl, self._data(rdtype, content),
                             not off)
                      for name, rdtype, content, ttl, off
                      in self._server.rows(self.zone)
                      if rdtype not in ("SOA", "NS"))

    watching = Backend.watching  # by looking again and again
