"""Hetzner DNS in the Cloud API, as its documents and recordings show it:
zones, RRSets, actions that end later, the budget's headers."""

import json
import re
import time

from .rrsets import Set, Sets
from .server import Answer

ZONE = {"ttl": 86400, "labels": {}, "primary_nameservers": [],
        "created": "2025-10-28T13:34:24Z", "protection": {"delete": False},
        "status": "ok", "record_count": 23, "registrar": "hetzner",
        "authoritative_nameservers": {
            "assigned": ["hydrogen.ns.hetzner.com."],
            "delegated": ["hydrogen.ns.hetzner.com."],
            "delegation_last_check": "2026-01-08T04:48:17Z",
            "delegation_status": "valid"}}


def fail(status, code, message):
    return Answer(status, {"error": {"code": code, "message": message,
                                     "details": None}})


class Hetzner(Sets):
    def __init__(self):
        super().__init__()
        self.left = 3600
        self.mode = "primary"
        self.running = 0       # so many answers about an action say "running"
        self.action_fails = False
        self.conflicts = 0     # so many writes meet another action
        self.actions = {}

    def budget(self, spent):
        self.left -= 1
        return {"RateLimit-Limit": "3600",
                "RateLimit-Remaining": "0" if spent else str(self.left),
                "RateLimit-Reset": str(int(time.time()) + 3000)}

    def forbidden(self):
        return fail(403, "forbidden", "insufficient permissions for this "
                                      "request")

    def refused(self):
        return fail(422, "invalid_input", "invalid input in field 'records'")

    def busy(self):
        return fail(429, "rate_limit_exceeded", "limit of 3600 requests per "
                                                "hour reached")

    # -- requests ----------------------------------------------------------------

    def handle(self, request):
        if request.headers.get("Authorization") != f"Bearer {self.token}":
            return fail(401, "unauthorized", "unable to authenticate")
        path = request.path.removeprefix("/v1")
        if path == "/zones":
            found, pages, page = self.page(sorted(self.zones), request, 25, 50)
            return self._listed("zones", [
                {**ZONE, "id": i, "name": z, "mode": self.mode}
                for i, z in enumerate(found, 1)], pages, page)
        m = re.fullmatch(r"/zones/actions/(\d+)", path)
        if m:
            return self._action(int(m[1]), 200)
        m = re.fullmatch(r"/zones/([^/]+)/rrsets(?:/([^/]+)/([A-Z]+)"
                         r"(?:/actions/(set_records|change_ttl))?)?", path)
        if not m or m[1] not in self.zones:
            return fail(404, "not_found", "Zone not found")
        if request.method == "GET" and m[2] is None:
            return self._list(request, m[1])
        if self.conflicts:
            self.conflicts -= 1
            return fail(409, "conflict", "the zone is changed by another "
                                         "action")
        if self.mode != "primary":
            return fail(422, "incorrect_zone_mode", "not a primary zone")
        body = json.loads(request.text) if request.text else {}
        if request.method == "POST" and m[2] is None:
            return self._create(m[1], body)
        key = (self.inward(m[2]), m[3])
        if key not in self.zones[m[1]]:
            return fail(404, "not_found", "RRSet not found")
        return self._change(m[1], key, request.method, m[4], body)

    @staticmethod
    def _listed(what, items, pages, page):
        return Answer(200, {what: items, "meta": {"pagination": {
            "page": page, "last_page": pages, "per_page": 25,
            "next_page": page + 1 if page < pages else None,
            "previous_page": page - 1 or None, "total_entries": 0}}})

    def _rrset(self, n, t, s):
        return {"id": f"{self.outward(n)}/{t}", "name": self.outward(n),
                "type": t, "ttl": s.ttl, "labels": {},
                "protection": {"change": False}, "zone": 1,
                "records": [{"value": v, "comment": s.more.get(v, "")}
                            for v in s.values]}

    def _list(self, request, zone):
        q = request.query
        items = [self._rrset(n, t, s) for (n, t), s in sorted(self.zones[zone].items())
                 if q.get("name") in (None, self.outward(n.lower()))
                 and q.get("type") in (None, t)]
        return self._listed("rrsets", *self.page(items, request, 25, 100))

    # -- actions -------------------------------------------------------------------

    def _action(self, number, status, **more):
        if number not in self.actions:
            return fail(404, "not_found", "Action not found")
        left = self.actions[number]
        self.actions[number] = left - 1
        state = ("running" if left > 0 else
                 "error" if self.action_fails else "success")
        return Answer(status, {**more, "action": {
            "id": number, "status": state, "command": "set_rrset_records",
            "progress": 50 if left > 0 else 100,
            "started": "2026-01-13T14:16:43Z", "finished": None,
            "error": {"code": "action_failed", "message": "Action failed"}
            if state == "error" else None, "resources": []}})

    def _begun(self, **more):
        number = 604989101982297 + len(self.actions)
        self.actions[number] = self.running
        return self._action(number, 201, **more)

    def _create(self, zone, body):
        key = (self.inward(body["name"]), body["type"])
        if key in self.zones[zone]:
            return fail(409, "uniqueness_error", "RRSet exists already")
        values = [r["value"] for r in body["records"]]
        bad = self.set_fault(zone, *key, body.get("ttl"), values)
        if bad or not values:
            return fail(422, "invalid_input", bad or "no records")
        if not self.action_fails:
            self.zones[zone][key] = Set(body.get("ttl"), values, {
                r["value"]: r["comment"] for r in body["records"]
                if r.get("comment")})
        return self._begun(rrset=self._rrset(*key, self.zones[zone].get(key)
                                             or Set(60, [])))

    def _change(self, zone, key, method, action, body):
        found = self.zones[zone][key]
        if self.action_fails:
            return self._begun()
        if method == "DELETE":
            del self.zones[zone][key]
        elif action == "change_ttl":
            bad = self.set_fault(zone, *key, body["ttl"], found.values)
            if bad:
                return fail(422, "invalid_input", bad)
            found.ttl = body["ttl"]
        elif action == "set_records":
            values = [r["value"] for r in body["records"]]
            bad = self.set_fault(zone, *key, None, values)
            if bad or not values:
                return fail(422, "invalid_input", bad or "no records")
            found.values = values
            found.more = {r["value"]: r["comment"] for r in body["records"]
                          if r.get("comment")}
        else:
            return fail(405, "method_not_allowed", "method not allowed")
        return self._begun()
