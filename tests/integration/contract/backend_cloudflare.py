"""Cloudflare: a double with the rules of its documents."""

from restapi import cloudflare, rules

from .backend import Record
from .rest_double import RestDouble


class Cloudflare(RestDouble):
    name = "cloudflare"
    secret_variable = "CLOUDFLARE_API_TOKEN"
    not_applicable = {"disable_in_place": "its API has no such flag"}

    def make(self):
        return cloudflare.Cloudflare()

    def seed(self, records):
        self.api.seed(self.zone, [(r.name, r.type, r.ttl, self.content(r))
                                  for r in records])

    def records_of(self, state):
        return sorted(Record(
            r["name"], r["type"], r["ttl"],
            rules.txt_bytes(r["content"]) if r["type"] == "TXT"
            else self.target(r)) for r in state[self.api.ids[self.zone]])
