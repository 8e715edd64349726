"""Technitium's HTTP API, as its document describes it: forms, records named by
their data, a TTL that an update must name, HTTP 200 whatever happens."""

import copy
import urllib.parse

from . import rules
from .server import Answer, Server

DATA = {"A": ("ipAddress", "newIpAddress"),
        "AAAA": ("ipAddress", "newIpAddress"),
        "CNAME": ("cname", None), "TXT": ("text", "newText"),
        "NS": ("nameServer", None)}


def fail(message):
    return Answer(200, {"status": "error", "errorMessage": message,
                        "stackTrace": "at DnsServerCore.WebServiceZonesApi"})


class Technitium(Server):
    token = "made-up-token-for-the-tests-0123456789"

    def __init__(self):
        super().__init__()
        self.kind = "Primary"
        self.off = False
        self.zones = {}

    def seed(self, zone, records):
        """records: (name, type, ttl, data, disabled)"""
        with self.lock:
            self.zones = {zone: []}
            self.add(zone, zone, "NS", 3600, "ns1.example.net")
            for one in records:
                self.add(zone, *one)
            self.requests.clear()
            self.writes = 0

    def add(self, zone, name, rdtype, ttl, data, disabled=False, comments=""):
        self.zones[zone].append({
            "disabled": disabled, "name": name.lower(), "type": rdtype,
            "ttl": ttl, "rData": {DATA[rdtype][0]: data},
            "dnssecStatus": "Disabled", "comments": comments,
            "expiryTtl": 0, "lastUsedOn": "0001-01-01T00:00:00"})

    def truth(self):
        return copy.deepcopy(self.zones)

    def is_write(self, request):
        return request.path.endswith(("/add", "/update", "/delete"))

    def forbidden(self):
        return fail("Access was denied.")

    def refused(self):
        return fail("Parameter 'ipAddress' is invalid.")

    def busy(self):
        return Answer(429, {"status": "error", "errorMessage": "too many"})

    # -- requests ----------------------------------------------------------------

    def handle(self, request):
        if request.headers.get("Authorization") != f"Bearer {self.token}":
            return Answer(200, {"status": "invalid-token",
                                "errorMessage": "Invalid token or session "
                                                "expired."})
        path = request.path.removeprefix("/api/zones/")
        if path == "list":
            return Answer(200, {"status": "ok", "response": {"zones": [
                {"name": z, "type": self.kind, "disabled": self.off}
                for z in sorted(self.zones)]}})
        args = {**request.query, **dict(urllib.parse.parse_qsl(
            request.text, keep_blank_values=True))}
        if args.get("zone") not in self.zones:
            return fail(f"No such zone was found: {args.get('zone')}")
        if path == "records/get":
            return self._get(args)
        if request.headers.get("Content-Type") != (
                "application/x-www-form-urlencoded"):
            return fail("Parameter 'domain' missing.")
        return getattr(self, "_" + path.removeprefix("records/"))(
            args, self.zones[args["zone"]])

    def _get(self, args):
        return Answer(200, {"status": "ok", "response": {
            "zone": {"name": args["zone"], "type": self.kind,
                     "disabled": self.off},
            "records": [r for r in self.zones[args["zone"]]
                        if args.get("listZone") == "true"
                        or r["name"] == args["domain"].lower()]}})

    @staticmethod
    def _find(args, records):
        name, rdtype = args["domain"].lower(), args["type"]
        key, new = DATA[rdtype]
        return [r for r in records if (r["name"], r["type"]) == (name, rdtype)
                and (rdtype == "CNAME" or r["rData"][key] == args[key])]

    def _fault(self, rdtype, data, at_name, me=None):
        bad = rules.content_fault(rdtype, data)
        if bad:
            return fail(f"{data} {bad}")
        if any(r is not me and r["type"] == rdtype
               and list(r["rData"].values()) == [data] for r in at_name):
            return fail("Cannot add record: record already exists.")
        if rules.conflict(at_name, rdtype, me):
            return fail("Cannot add record: a CNAME beside other records.")
        return None

    def _add(self, args, records):
        rdtype = args["type"]
        data = args[DATA[rdtype][0]]
        at_name = [r for r in records if r["name"] == args["domain"].lower()]
        bad = self._fault(rdtype, data, at_name)
        if not bad:
            self.add(args["zone"], args["domain"], rdtype,
                     int(args.get("ttl", 3600)), data, False,
                     args.get("comments", ""))
        return bad or Answer(200, {"status": "ok", "response": {}})

    def _update(self, args, records):
        found = self._find(args, records)
        if not found:
            return fail("Cannot update record: the record does not exist.")
        rdtype = args["type"]
        key, new = DATA[rdtype]
        data = args.get(new, args[key])
        at_name = [r for r in records if r["name"] == args["domain"].lower()]
        bad = self._fault(rdtype, data, at_name, found[0])
        if not bad:
            found[0].update(
                ttl=int(args.get("ttl", 3600)), rData={key: data},
                disabled=args.get("disable") == "true",
                comments=args.get("comments", ""))
        return bad or Answer(200, {"status": "ok", "response": {}})

    def _delete(self, args, records):
        for r in self._find(args, records):
            records.remove(r)
        return Answer(200, {"status": "ok"})
