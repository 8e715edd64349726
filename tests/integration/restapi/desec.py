"""deSEC's API, as its documents describe it: domains with a minimum_ttl,
RRsets, bulk PATCH (all or nothing), cursors, throttling."""

import copy
import json
import re

from .rrsets import Set, Sets
from .server import Answer


class Desec(Sets):
    apex = ""

    def __init__(self):
        super().__init__()
        self.page_max = 500
        self.throttled_s = 0  # writes: 429, come again in so many seconds

    def forbidden(self):
        return Answer(403, {"detail": "You do not have permission to perform "
                                      "this action."})

    def refused(self):
        return Answer(400, [{"non_field_errors": ["Cannot parse records."]}])

    def busy(self):
        return Answer(429, {"detail": "Request was throttled. Expected "
                                      "available in 1 second."})

    # -- requests ----------------------------------------------------------------

    def handle(self, request):
        if request.headers.get("Authorization") != f"Token {self.token}":
            return Answer(401, {"detail": "Invalid token."})
        path = request.path.removeprefix("/api/v1")
        if path == "/domains/":
            owns = request.query.get("owns_qname")
            return self._listed(request, [
                {"name": z, "minimum_ttl": self.min_ttl,
                 "created": "2025-10-15T23:22:14.754330Z"}
                for z in sorted(self.zones)
                if owns is None or f".{owns}".endswith(f".{z}")])
        m = re.fullmatch(r"/domains/([^/]+)/rrsets/", path)
        if not m or m[1] not in self.zones:
            return Answer(404, {"detail": "No Domain matches the given query."})
        if request.method == "GET":
            return self._sets(request, m[1])
        if request.method != "PATCH":
            return Answer(405, {"detail": "Method not allowed."})
        if self.throttled_s:
            answer = self.busy()
            answer.headers["Retry-After"] = str(self.throttled_s)
            return answer
        return self._patch(m[1], json.loads(request.text))

    def _listed(self, request, items):
        """Beyond page_max only with a cursor, and then in pages."""
        cursor = request.query.get("cursor")
        here = f"{self.url}{request.path}?cursor="
        if len(items) <= self.page_max:
            return Answer(200, items)
        if cursor is None:
            return Answer(400, {"detail": "Pagination required."},
                          {"Link": f'<{here}>; rel="first"'})
        at = int(cursor or 0)
        links = [f'<{here}>; rel="first"']
        if at + self.page_max < len(items):
            kept = "".join(f"&{k}={v}" for k, v in request.query.items()
                           if k != "cursor")
            links.append(f'<{here}{at + self.page_max}{kept}>; rel="next"')
        return Answer(200, items[at:at + self.page_max],
                      {"Link": ", ".join(links)})

    def _sets(self, request, zone):
        q = request.query
        return self._listed(request, [
            {"created": "2025-10-15T23:23:25.774392Z", "domain": zone,
             "subname": n, "name": f"{n}.{zone}.".lstrip("."),
             "records": s.values, "ttl": s.ttl, "type": t,
             "touched": "2025-10-15T23:23:25.783179Z"}
            for (n, t), s in sorted(self.zones[zone].items())
            if q.get("subname") in (None, n) and q.get("type") in (None, t)])

    def _patch(self, zone, sets):
        before, faults = copy.deepcopy(self.zones), []
        for s in sets:
            bad = self._one(zone, s)
            faults.append({"non_field_errors": [bad]} if bad else {})
        if any(faults):
            self.zones = before
            return Answer(400, faults)
        return Answer(200, sets)

    def _one(self, zone, s):
        key = (self.inward(s["subname"]), s["type"])
        found = self.zones[zone].get(key)
        if "records" in s and not s["records"]:
            self.zones[zone].pop(key, None)
            return None
        if found is None and not {"ttl", "records"} <= set(s):
            return "This field is required."
        ttl = s.get("ttl", found and found.ttl)
        values = s.get("records", found and found.values)
        bad = self.set_fault(zone, *key, ttl, values)
        if not bad:
            self.zones[zone][key] = Set(ttl, values)
        return bad
