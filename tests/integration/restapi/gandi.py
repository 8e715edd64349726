"""Gandi's LiveDNS v5, as its documents and recordings show it: domains,
record sets with a path each, Total-Count."""

import json
import re

from .rrsets import Set, Sets
from .server import Answer


def fail(status, cause, message):
    return Answer(status, {"code": status, "cause": cause, "message": message,
                           "object": "dns-record"})


class Gandi(Sets):
    min_ttl = 300

    def forbidden(self):
        return fail(403, "Forbidden", "Access was denied to this resource.")

    def refused(self):
        return Answer(400, {"status": "error", "errors": [
            {"location": "body", "name": "rrset_values.0",
             "description": "is not taken"}]})

    def busy(self):
        return fail(429, "Too Many Requests", "limit exceeded")

    # -- requests ----------------------------------------------------------------

    def handle(self, request):
        if request.headers.get("Authorization") != f"Bearer {self.token}":
            return fail(401, "Unauthorized", "Invalid authentication token")
        path = request.path.removeprefix("/v5/livedns")
        if path == "/domains":
            return self._listed(request, [{"fqdn": z}
                                          for z in sorted(self.zones)])
        m = re.fullmatch(r"/domains/([^/]+)/records(?:/([^/]+)/([A-Z]+))?",
                         path)
        if not m or m[1] not in self.zones:
            return fail(404, "Not Found", "The resource could not be found.")
        if m[2] is None and request.method == "GET":
            return self._listed(request, [
                {"rrset_type": t, "rrset_ttl": s.ttl,
                 "rrset_name": self.outward(n), "rrset_values": s.values,
                 "rrset_href": f"{self.url}{request.path}"}
                for (n, t), s in sorted(self.zones[m[1]].items())])
        if m[2] is None:
            return fail(405, "Method Not Allowed", "not by this double")
        key = (self.inward(m[2]), m[3])
        if request.method == "DELETE":
            if self.zones[m[1]].pop(key, None) is None:
                return fail(404, "Not Found", "Can't find the DNS record")
            return Answer(204)
        if request.method == "PUT":
            return self._put(m[1], key, json.loads(request.text))
        return fail(405, "Method Not Allowed", "not by this double")

    def _listed(self, request, items):
        found, _, _ = self.page(items, request, 100, 100)
        return Answer(200, found, {"Total-Count": str(len(items))})

    def _put(self, zone, key, body):
        values, ttl = body["rrset_values"], body.get("rrset_ttl", 10800)
        if key[1] == "TXT":  # what comes bare goes out in quotes
            values = [v if v.startswith('"') else f'"{v}"' for v in values]
        bad = self.set_fault(zone, *key, ttl, values)
        if bad or not values:
            name, _, text = (bad or "rrset_values: empty").partition(": ")
            return Answer(400, {"status": "error", "errors": [
                {"location": "body", "name": f"rrset_{name}",
                 "description": text}]})
        self.zones[zone][key] = Set(ttl, values)
        return Answer(201, {"message": "DNS Record Created"})
