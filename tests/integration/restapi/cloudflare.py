"""Cloudflare's API v4, as its documents describe it: zones, DNS records,
paging, batch, the envelope with its codes, the budget's header."""

import copy
import json
import re

from . import rules
from .server import Answer, Server

TOKEN = "cf-made-up-token-for-the-tests-0123456789"
FIELDS = ("name", "type", "content", "ttl", "proxied", "comment", "tags",
          "settings")


def wrap(result, status=200, **more):
    return Answer(status, {"success": True, "errors": [], "messages": [],
                           "result": result, **more})


def fail(status, code, message):
    return Answer(status, {"success": False, "messages": [], "result": None,
                           "errors": [{"code": code, "message": message}]})


class Cloudflare(Server):
    def __init__(self):
        super().__init__()
        self.token = TOKEN
        self.can_list_zones = True
        self.ignores_name = False  # of zones: as a proxy that loses the query
        self.zones_per_page = 50
        self.batch_max = 200
        self.batch_is_broken = False
        self.left = 1200
        self.ids = {}    # zone: id
        self.zones = {}  # id: [record]
        self.next_id = 1

    def new_id(self):
        self.next_id += 1
        return f"{self.next_id:032x}"

    def seed(self, zone, records, others=0):
        """records: (name absolute, type, ttl, content[, more]); others: so
        many zones stand before it"""
        with self.lock:
            self.ids = {f"other{i}.example": self.new_id()
                        for i in range(others)}
            self.ids[zone] = self.new_id()
            self.zones = {i: [] for i in self.ids.values()}
            for name, rdtype, ttl, content, *more in records:
                self.add(self.ids[zone], {
                    "name": name, "type": rdtype, "ttl": ttl,
                    "content": content, **(more or [{}])[0]})
            self.requests.clear()
            self.writes = 0

    def records(self, zone):
        return self.zones[self.ids[zone]]

    def add(self, zid, body):
        record = {"id": self.new_id(), "proxied": False, "proxiable": True,
                  "comment": None, "tags": [], "settings": {}, "meta": {},
                  **copy.deepcopy(body)}
        record["name"] = record["name"].lower()
        if record["proxied"]:
            record["ttl"] = 1
        self.zones[zid].append(record)
        return record

    def truth(self):
        return copy.deepcopy(self.zones)

    def budget(self, spent):
        self.left -= 1
        left = 0 if spent else self.left
        return {"Ratelimit": f'"default";r={left};t=240',
                "Ratelimit-Policy": '"default";q=1200;w=300'}

    def forbidden(self):
        return fail(403, 10000, "Authentication error")

    def refused(self):
        return fail(400, 9005, "Content for A record must be a valid IPv4 "
                               "address.")

    def busy(self):
        return fail(429, 971, "Please wait and consider throttling your "
                              "request speed")

    # -- requests ----------------------------------------------------------------

    def handle(self, request):
        if request.headers.get("Authorization") != f"Bearer {self.token}":
            return fail(403, 9109, "Invalid access token")
        path = request.path.removeprefix("/client/v4")
        if path == "/zones":
            return self._zones(request)
        m = re.fullmatch(r"/zones/([^/]+)/dns_records(?:/([^/]+))?", path)
        if not m or m[1] not in self.zones:
            return fail(404, 7003, "Could not route to the zone")
        if request.method == "GET" and m[2] is None:
            return self._list(request, self.zones[m[1]])
        if m[2] == "batch" and request.method == "POST":
            return self._batch(m[1], json.loads(request.text))
        return self._one(m[1], request.method, m[2],
                         json.loads(request.text or "{}"))

    def _zones(self, request):
        if not self.can_list_zones:
            return fail(403, 10000, "Authentication error")
        name = request.query.get("name")
        found = [{"id": i, "name": z, "status": "active"}
                 for z, i in self.ids.items()
                 if self.ignores_name or name in (None, z)]
        return self._page(request, found, self.zones_per_page)

    @staticmethod
    def _page(request, items, most):
        per = min(int(request.query.get("per_page", 20)), most)
        page = int(request.query.get("page", 1))
        return wrap(items[(page - 1) * per:page * per], result_info={
            "page": page, "per_page": per, "total_count": len(items),
            "count": len(items[(page - 1) * per:page * per]),
            "total_pages": -(-len(items) // per)})

    def _list(self, request, records):
        q = request.query
        return self._page(request, [
            r for r in records
            if q.get("type") in (None, r["type"])
            and q.get("name.exact", r["name"]).lower() == r["name"]
            and r["name"].startswith(q.get("name.startswith", ""))], 100)

    def _one(self, zid, method, rid, body):
        found = [r for r in self.zones[zid] if r["id"] == rid]
        if rid is not None and not found:
            return fail(404, 81044, "Record does not exist.")
        if method == "POST":
            return self._create(zid, body)
        if method == "PATCH":
            return self._patch(zid, found[0], body)
        if method == "DELETE":
            self.zones[zid].remove(found[0])
            return wrap({"id": rid})
        return fail(405, 10405, "Method not allowed")

    def _fault(self, zid, record, me=None):
        if set(record) - set(FIELDS) - {"id", "proxiable", "meta"}:
            return fail(400, 9207, "unknown member in the body")
        at_name = [r for r in self.zones[zid]
                   if r["name"] == record["name"].lower()]
        ttl = record.get("ttl", 1)
        if ttl != 1 and not 60 <= ttl <= 86400:
            return fail(400, 9021, "Invalid TTL. Must be between 60 and "
                                   "86400 seconds, or 1 for Automatic.")
        bad = rules.content_fault(record["type"], record["content"])
        if bad:
            return fail(400, 9005, f"Content for {record['type']} {bad}")
        if record.get("proxied") and record["type"] not in ("A", "AAAA",
                                                            "CNAME"):
            return fail(400, 9004, "This record type cannot be proxied.")
        if any(r is not me and r["type"] == record["type"]
               and r["content"] == record["content"] for r in at_name):
            return fail(400, 81058, "An identical record already exists.")
        if rules.conflict(at_name, record["type"], me):
            return fail(400, 81053, "An A, AAAA, or CNAME record with that "
                                    "host already exists.")
        return None

    def _create(self, zid, body):
        fault = self._fault(zid, body)
        return fault or wrap(self.add(zid, body))

    def _patch(self, zid, record, body):
        fault = self._fault(zid, {**record, **body}, record)
        if fault:
            return fault
        record.update(body)
        if record["proxied"]:
            record["ttl"] = 1
        return wrap(record)

    def _batch(self, zid, body):
        if sum(map(len, body.values())) > self.batch_max:
            return fail(400, 81064, "too many operations")
        if self.batch_is_broken:
            return fail(400, 81065, "this batch is not taken")
        before, result = copy.deepcopy(self.zones), {}
        for part, method in (("deletes", "DELETE"), ("patches", "PATCH"),
                             ("posts", "POST")):
            for one in body.get(part, []):
                rid = one.get("id")
                got = self._one(zid, method, rid, {
                    k: v for k, v in one.items() if k != "id"})
                if got.status != 200:
                    self.zones = before
                    return got
                result.setdefault(part, []).append(
                    json.loads(got.body)["result"])
        return wrap(result)
