"""DNSimple's API v2, as its documents describe it: accounts, zones, records,
paging, batch (with the plan for it), the budget's headers."""

import copy
import json
import re
import time

from . import rules
from .server import Answer, Server

TOKEN = "dnsimple_a_made-up_token"
ACCOUNT = 1010


class DNSimple(Server):
    def __init__(self):
        super().__init__()
        self.token = TOKEN
        self.accounts = [ACCOUNT]
        self.is_user_token = False
        self.has_batch = True
        self.per_page_max = 100
        self.repeats_page = False
        self.left = 2400
        self.zones = {}
        self.next_id = 1

    def seed(self, zone, records):
        """records: (name relative, type, ttl, content[, more])"""
        with self.lock:
            self.zones = {zone: []}
            for name, rdtype, ttl, content, *more in records:
                self.add(zone, name, rdtype, ttl, content, **(more or [{}])[0])
            self.add(zone, "", "NS", 3600, "ns1.dnsimple.com",
                     system_record=True)
            self.requests.clear()
            self.writes = 0

    def add(self, zone, name, rdtype, ttl, content, **more):
        record = {"id": self.next_id, "zone_id": zone, "parent_id": None,
                  "name": name.lower(), "content": content, "ttl": ttl,
                  "priority": None, "type": rdtype, "regions": ["global"],
                  "system_record": False,
                  "created_at": "2026-11-30T12:00:00Z",
                  "updated_at": "2026-11-30T12:00:00Z", **more}
        self.next_id += 1
        self.zones[zone].append(record)
        return record

    def truth(self):
        return copy.deepcopy(self.zones)

    def budget(self, spent):
        self.left -= 1
        return {"X-RateLimit-Limit": "2400",
                "X-RateLimit-Remaining": "0" if spent else str(self.left),
                "X-RateLimit-Reset": str(int(time.time()) + 3000)}

    def forbidden(self):
        return Answer(403, {"message": "Permission Denied. Required Scope: "
                                       "dns:records:write"})

    def refused(self):
        return Answer(400, {"message": "Validation failed",
                            "errors": {"content": ["is not taken"]}})

    def busy(self):
        return Answer(429, {"message": "quota exceeded"})

    # -- requests ----------------------------------------------------------------

    def handle(self, request):
        if request.headers.get("Authorization") != f"Bearer {self.token}":
            return Answer(401, {"message": "Authentication failed"})
        if request.path == "/v2/whoami":
            account = None if self.is_user_token else {
                "id": self.accounts[0], "email": "user@example.com"}
            return Answer(200, {"data": {"user": None, "account": account}})
        if request.path == "/v2/accounts":
            return Answer(200, {"data": [{"id": a} for a in self.accounts]})
        m = re.fullmatch(r"/v2/(\d+)/zones(?:/([^/]+)(?:/(records|batch)"
                         r"(?:/(\d+))?)?)?", request.path)
        if not m or int(m[1]) not in self.accounts:
            return Answer(404, {"message": "Account not found"})
        if m[2] is None:
            return self._page(request, [{"id": i, "name": z} for i, z in
                                        enumerate(self.zones, 1)])
        if m[2] not in self.zones:
            return Answer(404, {"message": f"Zone `{m[2]}` not found"})
        if m[3] == "batch":
            return self._batch(m[2], json.loads(request.text))
        if m[3] is None:
            return Answer(200, {"data": {"name": m[2]}})
        return self._records(request, m[2], m[4] and int(m[4]))

    def _page(self, request, items):
        per = min(int(request.query.get("per_page", 30)), self.per_page_max)
        page = 1 if self.repeats_page else int(request.query.get("page", 1))
        pages = max(1, -(-len(items) // per))
        return Answer(200, {
            "data": items[(page - 1) * per:page * per],
            "pagination": {"current_page": page, "per_page": per,
                           "total_entries": len(items),
                           "total_pages": pages}})

    def _records(self, request, zone, rid):
        found = [r for r in self.zones[zone] if r["id"] == rid]
        if rid is not None and not found:
            return Answer(404, {"message": f"Record `{rid}` not found"})
        if request.method == "GET":
            q = request.query
            return self._page(request, [
                r for r in self.zones[zone]
                if q.get("type") in (None, r["type"])
                and (not q.get("name") or q["name"] == r["name"])
                and q.get("name_like", "") in r["name"]])
        if request.headers.get("Content-Type") != "application/json" and (
                request.method != "DELETE"):
            return Answer(406, {"message": "Content-Type"})
        if request.method == "DELETE":
            self.zones[zone].remove(found[0])
            return Answer(204)
        body = json.loads(request.text)
        fault = (self._create if rid is None else self._update)(
            zone, body, *found)
        if isinstance(fault, dict) and "id" in fault:
            return Answer(201 if rid is None else 200, {"data": fault})
        return Answer(400, {"message": "Validation failed", "errors": fault})

    # -- one record: the record, or {field: [fault]} -------------------------------

    def _create(self, zone, body):
        at_name = [r for r in self.zones[zone]
                   if r["name"] == body.get("name", "").lower()]
        fault = self._fault(body, at_name)
        if any(r["type"] == body.get("type")
               and r["content"] == body.get("content") for r in at_name):
            fault = {"base": ["record already exists"]}
        if fault:
            return fault
        return self.add(zone, body["name"], body["type"],
                        body.get("ttl", 3600), body["content"],
                        **{k: body[k] for k in ("regions",) if k in body})

    def _update(self, zone, body, record):
        if body.get("type", record["type"]) != record["type"]:
            return {"type": ["cannot be changed"]}
        fault = self._fault({**record, **body}, [
            r for r in self.zones[zone] if r["name"] == record["name"]],
            record)
        if fault:
            return fault
        record.update({k: body[k] for k in ("name", "content", "ttl",
                                            "regions") if k in body})
        return record

    @staticmethod
    def _fault(body, at_name, me=None):
        if not isinstance(body.get("ttl", 1), int) or body.get("ttl", 1) < 1:
            return {"ttl": ["must be greater than 0"]}
        if not isinstance(body.get("name"), str):
            return {"name": ["can't be blank"]}
        bad = rules.content_fault(body.get("type"), body.get("content", ""))
        if bad:
            return {"content": [bad]}
        if rules.conflict(at_name, body["type"], me):
            return {"name": ["has records of another type"]}
        return None

    # -- batch ------------------------------------------------------------------------

    def _batch(self, zone, body):
        if not self.has_batch:
            return Answer(412, {"message": "Your plan does not include batch "
                                           "changes of records"})
        before = copy.deepcopy(self.zones)
        errors, data = {}, {}
        for part, do in (("deletes", self._one_delete),
                         ("updates", self._one_update),
                         ("creates", self._create)):
            for i, one in enumerate(body.get(part, [])):
                got = do(zone, one)
                if got and "id" not in got:
                    errors.setdefault(part, []).append(
                        {"index": i, "message": "Validation failed",
                         "errors": got})
                else:
                    data.setdefault(part, []).append(copy.copy(got))
        if errors:
            self.zones = before
            return Answer(400, {"message": "Validation failed",
                                "errors": errors})
        return Answer(200, {"data": data})

    def _find(self, zone, one):
        assert isinstance(one.get("id"), int), "an id is a number"
        return [r for r in self.zones[zone] if r["id"] == one["id"]]

    def _one_delete(self, zone, one):
        found = self._find(zone, one)
        if not found:
            return {"base": ["Record not found"]}
        self.zones[zone].remove(found[0])
        return {"id": one["id"]}

    def _one_update(self, zone, one):
        found = self._find(zone, one)
        if not found:
            return {"base": ["Record not found"]}
        return self._update(zone, one, found[0])
