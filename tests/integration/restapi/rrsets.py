"""What the doubles of APIs with record sets share: a zone is
{(relative name, type): Set}, "" its apex."""

import copy
import dataclasses

from . import rules
from .server import Server


@dataclasses.dataclass
class Set:
    ttl: int
    values: list
    more: dict = dataclasses.field(default_factory=dict)  # {value: members}


class Sets(Server):
    apex = "@"     # as the API writes it
    min_ttl = 60
    token = "made-up-token-for-the-tests-0123456789"

    def __init__(self):
        super().__init__()
        self.zones = {}

    def seed(self, zone, records):
        """records: (name relative, type, ttl, value)"""
        with self.lock:
            self.zones = {zone: {("", "NS"): Set(3600, ["ns1.example.net."])}}
            for name, rdtype, ttl, value in records:
                self.zones[zone].setdefault(
                    (name, rdtype), Set(ttl, [])).values.append(value)
            self.requests.clear()
            self.writes = 0

    def truth(self):
        return copy.deepcopy(self.zones)

    def outward(self, name):
        return name or self.apex

    def inward(self, name):
        return "" if name == self.apex else name.lower()

    def set_fault(self, zone, name, rdtype, ttl, values):
        """Why a set is not taken, or None."""
        if ttl is not None and ttl < self.min_ttl:
            return f"ttl: {ttl} is less than minimum value {self.min_ttl}"
        for value in values:
            bad = rules.content_fault(rdtype, value)
            if bad:
                return f"{value} {bad}"
        if len(set(values)) != len(values):
            return "the same value twice"
        if rdtype == "CNAME" and len(values) > 1:
            return "more than one CNAME"
        at_name = [{"type": t} for n, t in self.zones[zone]
                   if n == name and t != rdtype]
        if rules.conflict(at_name, rdtype):
            return "a CNAME beside other records"
        return None

    def page(self, items, request, size, most):
        """(items of the page, number of pages, page)"""
        per = min(int(request.query.get("per_page", size)), most)
        page = int(request.query.get("page", 1))
        return (items[(page - 1) * per:page * per],
                max(1, -(-len(items) // per)), page)
