"""Technitium: a double with the rules of its document."""

from restapi import technitium

from .backend import Record
from .rest_double import RestDouble


class Technitium(RestDouble):
    name = "technitium"
    secret_variable = "TECHNITIUM_TOKEN"
    one_cname = True
    not_applicable = {
        "paging": "its answers have no pages, a zone comes as a whole",
        "budget_spent": "it is one's own server and counts no calls",
    }

    def make(self):
        return technitium.Technitium()

    def seed(self, records):
        self.api.seed(self.zone, [
            (r.name, r.type, r.ttl,
             r.data.rstrip(".") if r.type == "CNAME" else r.data,
             not r.enabled) for r in records])

    def records_of(self, state):
        return sorted(Record(
            r["name"], r["type"], r["ttl"],
            "".join(r["rData"].values()) + "." * (r["type"] == "CNAME"),
            not r["disabled"])
            for r in state[self.zone] if r["type"] != "NS")
