"""DNSimple: a double with the rules of its documents, with and without the
plan that has batches."""

from restapi import dnsimple, rules

from .backend import Record
from .rest_double import RestDouble


class DNSimple(RestDouble):
    name = "dnsimple"
    secret_variable = "DNSIMPLE_TOKEN"
    not_applicable = {"disable_in_place": "its API has no such flag"}
    batch = True

    def make(self):
        api = dnsimple.DNSimple()
        api.has_batch = self.batch
        return api

    def seed(self, records):
        self.api.seed(self.zone, [
            (self.relative(r.name), r.type, r.ttl, self.content(r))
            for r in records])

    def records_of(self, state):
        return sorted(Record(
            f"{r['name']}.{self.zone}".lstrip("."), r["type"], r["ttl"],
            rules.txt_bytes(r["content"]) if r["type"] == "TXT"
            else self.target(r)) for r in state[self.zone]
            if not r["system_record"])

    def relative(self, name):
        return name.lower().removesuffix(self.zone).rstrip(".")


class DNSimpleSingly(DNSimple):
    title = "dnsimple without batches"
    batch = False
