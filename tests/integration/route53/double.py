"""A test double of Route 53's REST API: signatures, lists by start position,
pages, atomic batches, and faults to order."""

import datetime
import email.utils
import http.server
import itertools
import threading
import time
import urllib.parse
import xml.etree.ElementTree as ET
from xml.sax.saxutils import escape as xml_escape

from . import sigv4
from .store import Refused, Set, Zone, normal, order

NS = "https://route53.amazonaws.com/doc/2013-04-01/"
API = "/2013-04-01/"
SKEW_S = 300
# The model's order of a ResourceRecordSet's members.
MEMBERS = ["Name", "Type", "SetIdentifier", "Weight", "Region", "GeoLocation",
           "Failover", "MultiValueAnswer", "TTL", "ResourceRecords",
           "AliasTarget", "HealthCheckId", "TrafficPolicyInstanceId",
           "CidrRoutingConfig", "GeoProximityLocation"]


def element(name, content):
    return f"<{name}>{content}</{name}>"


def text(name, value):
    return element(name, xml_escape(str(value)))


class Fault:
    """What happens to the next requests of an action instead of the right
    thing. kind: "answer" (status, code, message, headers, body), "lost"
    (carried out, no answer), "cut" (not carried out, no answer), "first"
    (run a function, then go on as always), "garbled" (carried out, the answer
    is no XML)."""

    def __init__(self, kind, action=None, times=1, **how):
        self.kind, self.action, self.left, self.how = kind, action, times, how


class Route53:
    """with Route53() as r53: r53.url …"""

    id, secret = "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLE"

    def __init__(self, aws4=None):
        self.zones, self.log, self.faults = {}, [], []
        self.changes, self.accepted, self.bodies = {}, 0, []
        self.token, self.region, self.aws4 = None, "us-east-1", aws4
        self.clock_s = 0           # how far its clock is ahead of ours
        self.insync_after = 0      # GetChange says PENDING so many times
        self.cap = 300             # items of one page, whatever is asked
        self.before_change = None  # called before a batch is looked at
        self.states = []           # {zone: sets} after each batch
        self.old_errors = False    # <InvalidChangeBatch> instead
        # Members must stand in the model's order. The service may not insist:
        # Amazon's own client has its own order.
        self.ordered = True
        self._ids = itertools.count(1)
        self._lock = threading.RLock()
        double = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def date_time_string(self, timestamp=None):
                return email.utils.formatdate(
                    (timestamp or time.time()) + double.clock_s, usegmt=True)

            def log_message(self, *_):
                pass

            def do_GET(self):
                double._serve(self)

            do_POST = do_GET

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_):
                pass  # a client that went away

        self._server = Server(("127.0.0.1", 0), Handler)
        self.port = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._thread = threading.Thread(target=self._server.serve_forever,
                                        kwargs={"poll_interval": 0.02})
        self._thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    # -- for the tests -------------------------------------------------------------

    def add_zone(self, name, private=False):
        zone = Zone(f"Z{next(self._ids):07}TEST", name, private)
        self.zones[zone.id] = zone
        return zone

    def fault(self, kind, action=None, times=1, **how):
        self.faults.append(Fault(kind, action, times, **how))

    def actions(self):
        return [x["action"] for x in self.log]

    def heal(self):
        self.faults.clear()

    # -- HTTP ----------------------------------------------------------------------

    def _serve(self, h):
        body = h.rfile.read(int(h.headers.get("Content-Length") or 0))
        path, _, query = h.path.partition("?")
        entry = {"time": time.monotonic(), "method": h.command, "path": path,
                 "query": dict(urllib.parse.parse_qsl(query)),
                 "body": body.decode(), "action": self._action(h.command, path)}
        if (self.before_change is not None
                and entry["action"] == "ChangeResourceRecordSets"):
            self.before_change()
        with self._lock:
            self.log.append(entry)
            fault = self._fault(entry["action"])
            if fault is not None and fault.kind == "cut":
                h.close_connection = True
                return
            status, headers, answer = self._answer(h, path, query, body, entry,
                                                   fault)
            entry["status"] = status
        if fault is not None and fault.kind == "lost":
            h.close_connection = True
            return
        if fault is not None and fault.kind == "garbled":
            answer = "<html><body>gateway</body>"
        data = answer.encode()
        h.send_response(status)
        for k, v in {"Content-Type": "text/xml", **headers}.items():
            h.send_header(k, v)
        h.send_header("Content-Length", str(len(data)))
        h.end_headers()
        h.wfile.write(data)

    def _fault(self, action):
        for f in self.faults:
            if f.left > 0 and f.action in (None, action):
                f.left -= 1
                return f
        return None

    def _answer(self, h, path, query, body, entry, fault):
        try:
            if fault is not None and fault.kind == "answer":
                how = fault.how
                if "body" in how:
                    return how["status"], how.get("headers", {}), how["body"]
                raise Refused(how["code"], how.get("text", "ordered"),
                              how.get("status", 400))
            self._check_signature(h, path, query, body)
            if fault is not None and fault.kind == "first":
                fault.how["run"]()
            return 200, {}, '<?xml version="1.0"?>\n' + self._act(
                entry["action"], path, entry["query"], body)
        except Refused as e:
            headers = {}
            if fault is not None:
                headers = fault.how.get("headers", {})
            return e.status, headers, self._error(e)

    def _error(self, e):
        if self.old_errors and e.code == "InvalidChangeBatch":
            return (f'<?xml version="1.0"?>\n<InvalidChangeBatch xmlns="{NS}">'
                    + element("Messages", text("Message", e.text))
                    + "</InvalidChangeBatch>")
        return (f'<?xml version="1.0"?>\n<ErrorResponse xmlns="{NS}">'
                + element("Error", text("Type", "Sender")
                          + text("Code", e.code) + text("Message", e.text))
                + text("RequestId", "made-up") + "</ErrorResponse>")

    # -- signatures ----------------------------------------------------------------

    def _check_signature(self, h, path, query, body):
        given = h.headers.get("Authorization", "")
        time_ = h.headers.get("X-Amz-Date", "")
        signed = given.partition("SignedHeaders=")[2].partition(",")[0]
        names = signed.split(";") if signed else []
        if not given.startswith("AWS4-HMAC-SHA256 ") or not time_:
            raise Refused("MissingAuthenticationToken",
                          "Missing Authentication Token", 403)
        if f"Credential={self.id}/" not in given or (
                h.headers.get("X-Amz-Security-Token") != self.token):
            raise Refused("InvalidClientTokenId", "The security token included "
                          "in the request is invalid.", 403)
        wanted = {"host", "x-amz-date"} | (
            {"x-amz-security-token"} if self.token else set())
        if not wanted <= set(names):
            raise Refused("SignatureDoesNotMatch",
                          "a header that must be signed is not", 403)
        sent = datetime.datetime.strptime(time_, "%Y%m%dT%H%M%SZ").replace(
            tzinfo=datetime.timezone.utc).timestamp()
        now = time.time() + self.clock_s
        if abs(sent - now) > SKEW_S:
            raise Refused(
                "SignatureDoesNotMatch",
                "Signature expired: the request is too old" if sent < now else
                "Signature not yet current: the request is of the future", 403)
        headers = {n: h.headers.get(n, "") for n in names}
        said = sigv4.canonical(h.command, path, query, headers, body)
        wanted = sigv4.signature(self.secret, time_, self.region, said)
        if not given.endswith(f"Signature={wanted}"):
            raise Refused(
                "SignatureDoesNotMatch", "The request signature we calculated "
                "does not match the signature you provided. The Canonical "
                f"String for this request should have been '{said}'", 403)
        if self.aws4 is not None:
            third = self.aws4.authorization(
                h.command, h.path, headers, body,
                (self.id, self.secret, self.token), self.region)
            if third != given:
                raise Refused("SignatureDoesNotMatch", f"aws4: {third}", 403)

    # -- actions -------------------------------------------------------------------

    @staticmethod
    def _action(method, path):
        parts = path.removeprefix(API).strip("/").split("/")
        return {
            ("GET", 1, "hostedzonesbyname"): "ListHostedZonesByName",
            ("GET", 1, "hostedzone"): "ListHostedZones",
            ("GET", 3, "hostedzone"): "ListResourceRecordSets",
            ("POST", 3, "hostedzone"): "ChangeResourceRecordSets",
            ("GET", 2, "change"): "GetChange",
        }.get((method, len(parts), parts[0]), "?")

    def _act(self, action, path, query, body):
        parts = path.removeprefix(API).strip("/").split("/")
        if action == "ListHostedZonesByName":
            return self._zones_by_name(query)
        if action == "ListHostedZones":
            return self._zones(query)
        if action == "GetChange":
            return self._change(parts[1])
        if action == "?" or parts[2] != "rrset":
            raise Refused("InvalidInput", f"no such path {path}", 404)
        zone = self.zones.get(parts[1])
        if zone is None:
            raise Refused("NoSuchHostedZone",
                          f"No hosted zone found with ID: {parts[1]}", 404)
        if action == "ListResourceRecordSets":
            return self._sets(zone, query)
        return self._batch(zone, body)

    def _items(self, query, most):
        wanted = int(query.get("maxitems", most))
        if wanted < 1:
            raise Refused("InvalidInput", "maxitems")
        return min(wanted, most, self.cap)

    def _zone_xml(self, z):
        return element("HostedZone", text("Id", f"/hostedzone/{z.id}")
                       + text("Name", z.name) + text("CallerReference", z.id)
                       + element("Config", text(
                           "PrivateZone", str(z.private).lower()))
                       + text("ResourceRecordSetCount", len(z.sets)))

    def _page(self, name, zones, n, more):
        """more(zone): what says where the list goes on."""
        cut = len(zones) > n
        return (f'<{name}Response xmlns="{NS}">'
                + element("HostedZones",
                          "".join(map(self._zone_xml, zones[:n])))
                + text("IsTruncated", str(cut).lower())
                + (more(zones[n]) if cut else "") + text("MaxItems", n)
                + f"</{name}Response>")

    def _zones_by_name(self, query):
        place = ([], "")
        if "dnsname" in query:
            place = (order(normal(query["dnsname"])),
                     query.get("hostedzoneid", ""))
        found = sorted((z for z in self.zones.values()
                        if (order(z.name), z.id) >= place),
                       key=lambda z: (order(z.name), z.id))
        return self._page(
            "ListHostedZonesByName", found, self._items(query, 100),
            lambda z: text("NextDNSName", z.name)
            + text("NextHostedZoneId", z.id))

    def _zones(self, query):
        found = sorted((z for z in self.zones.values()
                        if z.id >= query.get("marker", "")),
                       key=lambda z: z.id)
        return self._page("ListHostedZones", found, self._items(query, 100),
                          lambda z: text("NextMarker", z.id))

    def _set_xml(self, s):
        out = {"Name": text("Name", s.name), "Type": text("Type", s.type)}
        if s.set_id is not None:
            out["SetIdentifier"] = text("SetIdentifier", s.set_id)
        if s.ttl is not None:
            out["TTL"] = text("TTL", s.ttl)
        if s.values is not None:
            out["ResourceRecords"] = element("ResourceRecords", "".join(
                element("ResourceRecord", text("Value", v)) for v in s.values))
        for k, v in s.more.items():
            out[k] = element(k, v) if v.startswith("<") else text(k, v)
        return element("ResourceRecordSet",
                       "".join(out[m] for m in MEMBERS if m in out))

    def _sets(self, zone, query):
        n = self._items(query, 300)
        found = zone.listed(query.get("name"), query.get("type"),
                            query.get("identifier"))
        more = ""
        if len(found) > n:
            more = (text("NextRecordName", found[n].name)
                    + text("NextRecordType", found[n].type))
            if found[n].set_id is not None:
                more += text("NextRecordIdentifier", found[n].set_id)
        return (f'<ListResourceRecordSetsResponse xmlns="{NS}">'
                + element("ResourceRecordSets",
                          "".join(map(self._set_xml, found[:n])))
                + text("IsTruncated", str(len(found) > n).lower()) + more
                + text("MaxItems", n) + "</ListResourceRecordSetsResponse>")

    def _batch(self, zone, body):
        comment, changes = _Reader(self.ordered).batch(body)
        zone.change(changes)
        self.accepted += 1
        self.bodies.append(body.decode())
        self.states.append(dict(zone.sets))
        change = f"C{next(self._ids):013}"
        self.changes[change] = self.insync_after
        return self._change_xml("ChangeResourceRecordSets", change, comment)

    def _change_xml(self, name, change, comment=""):
        status = "PENDING" if self.changes[change] > 0 or (
            name != "GetChange") else "INSYNC"
        return (f'<{name}Response xmlns="{NS}">' + element(
            "ChangeInfo", text("Id", f"/change/{change}")
            + text("Status", status)
            + text("SubmittedAt", "2026-01-02T03:04:05.678Z")
            + (text("Comment", comment) if comment else ""))
            + f"</{name}Response>")

    def _change(self, change):
        if change not in self.changes:
            raise Refused("NoSuchChange", f"no change {change}", 404)
        said = self._change_xml("GetChange", change)
        self.changes[change] -= 1
        return said


# -- reading a request ---------------------------------------------------------------


def inner(node):
    """What is inside: text, or elements as XML, however they were prefixed."""
    if not len(node):
        return node.text or ""
    return "".join(element(c.tag.removeprefix(f"{{{NS}}}"),
                           inner(c) if len(c) else xml_escape(c.text or ""))
                   for c in node)


class _Reader:
    def __init__(self, ordered):
        self.ordered = ordered

    def children(self, node, *names):
        """The children: each once, all among names, in that order."""
        found = [c.tag.removeprefix(f"{{{NS}}}") for c in node]
        places = [names.index(n) if n in names else -1 for n in found]
        if not self.ordered:
            places.sort()
        if -1 in places or places != sorted(set(places)):
            raise Refused("InvalidInput", f"unexpected members {found} of "
                          f"{node.tag}; in order: {names}")
        return dict(zip(found, node))

    def set(self, node):
        members = self.children(node, *MEMBERS)
        values = ttl = None
        if "ResourceRecords" in members:
            values = [self.children(r, "Value")["Value"].text or ""
                      for r in members["ResourceRecords"]]
        if "TTL" in members:
            ttl = int(members["TTL"].text)
        more = {k: inner(v) for k, v in members.items() if k not in (
                    "Name", "Type", "SetIdentifier", "TTL",
                    "ResourceRecords")}
        set_id = members.get("SetIdentifier")
        return Set(members["Name"].text, members["Type"].text,
                   None if set_id is None else set_id.text, ttl, values, more)

    def batch(self, body):
        """(comment, [(action, Set)])"""
        try:
            root = ET.fromstring(body)
        except ET.ParseError as e:
            raise Refused("InvalidInput", f"malformed XML: {e}") from None
        if root.tag != f"{{{NS}}}ChangeResourceRecordSetsRequest":
            raise Refused("InvalidInput", f"unexpected {root.tag}")
        batch = self.children(
            self.children(root, "ChangeBatch")["ChangeBatch"], "Comment",
            "Changes")
        comment = batch["Comment"].text or "" if "Comment" in batch else ""
        if len(comment) > 256:
            raise Refused("InvalidInput", "Comment is longer than 256")
        changes = []
        for node in batch["Changes"]:
            c = self.children(node, "Action", "ResourceRecordSet")
            if c["Action"].text not in ("CREATE", "DELETE", "UPSERT"):
                raise Refused("InvalidInput", f"Action {c['Action'].text}")
            changes.append((c["Action"].text,
                            self.set(c["ResourceRecordSet"])))
        return comment, changes
