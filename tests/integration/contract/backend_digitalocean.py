"""DigitalOcean: a double with the rules of its documents."""

from restapi import digitalocean

from .backend import Record
from .rest_double import RestDouble


class DigitalOcean(RestDouble):
    name = "digitalocean"
    secret_variable = "DIGITALOCEAN_TOKEN"
    paged = 450
    not_applicable = {"disable_in_place": "its API has no such flag"}

    def make(self):
        return digitalocean.DigitalOcean()

    def seed(self, records):
        self.api.seed(self.zone, [
            (r.name.lower().removesuffix(self.zone).rstrip("."), r.type,
             r.ttl, r.data.rstrip(".") if r.type == "CNAME" else r.data)
            for r in records])

    def records_of(self, state):
        return sorted(Record(
            self.zone if r["name"] == "@" else f"{r['name']}.{self.zone}",
            r["type"], r["ttl"],
            r["data"] + "." if r["type"] == "CNAME" else r["data"])
            for r in state[self.zone] if r["type"] != "NS")
