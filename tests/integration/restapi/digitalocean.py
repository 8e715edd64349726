"""DigitalOcean's API v2, as its documents and recordings show it: domains,
records by id, pages by links, the budget's headers."""

import copy
import json
import re
import time

from . import rules
from .server import Answer, Server


def fail(status, code, message):
    return Answer(status, {"id": code, "message": message})


class DigitalOcean(Server):
    token = "dop_v1_made_up_for_the_tests_0123456789"

    def __init__(self):
        super().__init__()
        self.left = 5000
        self.zones = {}
        self.next_id = 78210035

    def seed(self, zone, records):
        """records: (name relative, type, ttl, data)"""
        with self.lock:
            self.zones = {zone: []}
            self.add(zone, "", "NS", 1800, "ns1.digitalocean.com")
            for one in records:
                self.add(zone, *one)
            self.requests.clear()
            self.writes = 0

    def add(self, zone, name, rdtype, ttl, data):
        record = {"id": self.next_id, "type": rdtype, "name": name or "@",
                  "data": data, "priority": None, "port": None, "ttl": ttl,
                  "weight": None, "flags": None, "tag": None}
        self.next_id += 1
        self.zones[zone].append(record)
        return record

    def truth(self):
        return copy.deepcopy(self.zones)

    def budget(self, spent):
        self.left -= 1
        return {"ratelimit-limit": "5000",
                "ratelimit-remaining": "0" if spent else str(self.left),
                "ratelimit-reset": str(int(time.time()) + 3000)}

    def forbidden(self):
        return fail(403, "forbidden", "You are not authorized to perform this "
                                      "operation")

    def refused(self):
        return fail(422, "unprocessable_entity", "Data needs to be valid")

    def busy(self):
        return fail(429, "too_many_requests", "API Rate limit exceeded.")

    # -- requests ----------------------------------------------------------------

    def handle(self, request):
        if request.headers.get("Authorization") != f"Bearer {self.token}":
            return fail(401, "Unauthorized", "Unable to authenticate you")
        path = request.path.removeprefix("/v2")
        if path == "/domains":
            return self._listed(request, "domains", [
                {"name": z, "ttl": 1800} for z in sorted(self.zones)])
        m = re.fullmatch(r"/domains/([^/]+)/records(?:/(\d+))?", path)
        if not m or m[1] not in self.zones:
            return fail(404, "not_found", "The resource you were accessing "
                                          "could not be found.")
        records = self.zones[m[1]]
        if m[2] is None and request.method == "GET":
            return self._list(request, m[1])
        found = [r for r in records if r["id"] == int(m[2] or 0)]
        if m[2] is not None and not found:
            return fail(404, "not_found", "The resource you were accessing "
                                          "could not be found.")
        if request.method == "DELETE":
            records.remove(found[0])
            return Answer(204)
        body = json.loads(request.text)
        return (self._create(m[1], body) if m[2] is None else
                self._update(m[1], found[0], body))

    def _listed(self, request, what, items):
        per = min(int(request.query.get("per_page", 20)), 200)
        page = int(request.query.get("page", 1))
        links = {}
        if page * per < len(items):
            kept = "&".join(f"{k}={v}" for k, v in request.query.items()
                            if k != "page")
            links = {"pages": {"next": f"{self.url}{request.path}?{kept}"
                                       f"&page={page + 1}"}}
        return Answer(200, {what: items[(page - 1) * per:page * per],
                            "links": links, "meta": {"total": len(items)}})

    def _list(self, request, zone):
        name = request.query.get("name")  # with the zone
        return self._listed(request, "domain_records", [
            r for r in self.zones[zone]
            if request.query.get("type") in (None, r["type"])
            and name in (None, f"{r['name']}.{zone}".lower(),
                         zone if r["name"] == "@" else None)])

    def _fault(self, zone, r, me=None):
        if r["ttl"] < 30:
            return "TTL must be at least 30"
        if r["type"] == "CNAME" and r["data"] != "@" and (
                not r["data"].endswith(".")):
            return "Data needs to end with a dot (.)"
        bad = rules.content_fault(r["type"], r["data"])
        if bad and r["data"] != "@":
            return f"Data {bad}"
        at_name = [x for x in self.zones[zone]
                   if x["name"].lower() == r["name"].lower()]
        if rules.conflict(at_name, r["type"], me):
            return "CNAME records cannot share a name with other records"
        return None

    @staticmethod
    def _stored(r):
        if r["type"] == "CNAME":  # given out without the dot
            r["data"] = r["data"].rstrip(".")
        return r

    def _create(self, zone, body):
        body = {"ttl": 1800, **body}
        bad = self._fault(zone, body)
        if bad:
            return fail(422, "unprocessable_entity", bad)
        return Answer(201, {"domain_record": self._stored(self.add(
            zone, body["name"].replace("@", ""), body["type"], body["ttl"],
            body["data"]))})

    def _update(self, zone, record, body):
        new = {**record, **body}
        if record["type"] == "CNAME" and "data" not in body:
            new["data"] += "."
        bad = self._fault(zone, new, record)
        if bad:
            return fail(422, "unprocessable_entity", bad)
        record.update(self._stored(new))
        return Answer(200, {"domain_record": record})
