"""What the doubles with record sets share as backends of the contract."""

from restapi import rules

from . import dnsdata
from .backend import Record
from .rest_double import RestDouble


class RrsetDouble(RestDouble):
    not_applicable = {
        "disable_in_place": "its API has no such flag",
        "two_writers_at_once": "its API writes whole sets and has no "
                               "condition for a write",
    }

    @staticmethod
    def content(r):
        return dnsdata.strings(r.data) if r.type == "TXT" else r.data

    def seed(self, records):
        self.api.seed(self.zone, [
            (self.relative(r.name), r.type, r.ttl, self.content(r))
            for r in records])

    def relative(self, name):
        return name.lower().removesuffix(self.zone).rstrip(".")

    def records_of(self, state):
        return sorted(
            Record(f"{name}.{self.zone}".lstrip("."), rdtype, s.ttl,
                   rules.txt_bytes(v) if rdtype == "TXT" else v)
            for (name, rdtype), s in state[self.zone].items()
            for v in s.values if rdtype != "NS")
