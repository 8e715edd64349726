"""Amazon Route 53: its test double (tests/integration/route53)."""

import contextlib
import ipaddress

from route53 import double
from route53.store import escape, txt_bytes, unescape

from .backend import Backend, Meeting, Record

def quoted(text):
    data = text.encode()
    return " ".join('"' + "".join(
        f"\\{chr(c)}" if c in b'"\\' else
        chr(c) if 32 <= c < 127 else f"\\{c:03o}"
        for c in data[i:i + 255]) + '"' for i in range(0, len(data) or 1, 255))


class Route53(Backend):
    name = "route53"
    paged = 700
    writes_for_1000 = 1
    not_applicable = {
        "disable_in_place": "Route 53 holds no record that it does not serve",
        "budget_spent": "Route 53 does not say what is left of a budget",
    }

    def start(self):
        self._double = double.Route53()
        self.heal()

    def stop(self):
        self._double.close()

    def seed(self, records):
        d = self._double
        d.zones.clear()
        d.add_zone("example.com")
        self._zone = d.add_zone(self.zone)
        d.add_zone("example.tld")
        sets = {}
        for r in records:
            name = escape(unescape(r.name))
            sets.setdefault((name, r.type, r.ttl), []).append(
                quoted(r.data) if r.type == "TXT" else r.data)
        for (name, rdtype, ttl), values in sets.items():
            self._zone.put(name, rdtype, ttl, values)
        d.accepted, d.states = 0, []

    def truth(self):
        return self._state(self._zone.sets)

    def _state(self, sets):
        found = []
        for s in sets.values():
            if s.type == "SOA" or (s.type == "NS" and
                                   s.name == self._zone.name):
                continue
            name = ".".join(unescape(s.name))
            for value in s.values:
                if s.type == "TXT":
                    value = txt_bytes(value).decode()
                elif s.type in ("A", "AAAA"):
                    value = str(ipaddress.ip_address(value))
                found.append(Record(name, s.type, s.ttl, value))
        return sorted(found)

    def options(self):
        return {"url": self._double.url, "access-key-id": self._double.id}

    def environment(self):
        return {"AWS_SECRET_ACCESS_KEY": self._secret}

    def writes(self):
        return self._double.accepted

    @contextlib.contextmanager
    def watching(self):
        seen = [self.truth()]
        yield seen
        seen += map(self._state, self._double.states)

    @contextlib.contextmanager
    def writers_meet(self):
        meeting = Meeting()
        self._double.before_change = meeting.come
        yield meeting
        self._double.before_change = None

    def heal(self):
        self._double.heal()
        self._secret = self._double.secret
        self._since = 0

    def _fault(self, *what, **how):
        self._since = len(self._double.log)
        self._action = what[1] if len(what) > 1 else None
        self._double.fault(*what, **how)

    def fault_lost(self):
        self._fault("lost", "ChangeResourceRecordSets")

    def fault_cut(self):
        self._fault("cut", "ChangeResourceRecordSets")

    def fault_unauthorized(self):
        self._secret = "made-up-and-wrong"

    def fault_forbidden(self):
        self._fault("answer", "ChangeResourceRecordSets", times=99, status=403,
                    code="AccessDenied", text="not authorized to perform: "
                    "route53:ChangeResourceRecordSets")

    def fault_refused(self):
        self._fault("answer", "ChangeResourceRecordSets", times=99,
                    code="InvalidInput", text="refused to order")

    def fault_broken(self):
        self._fault("answer", times=99, status=500, code="InternalFailure")

    def fault_garbled(self):
        self._fault("garbled", times=99)

    def fault_busy(self):
        self._fault("answer", "ChangeResourceRecordSets", status=429,
                    code="Throttling", headers={"Retry-After": "1"})

    def fault_busy_long(self):
        self._fault("answer", "ChangeResourceRecordSets", times=99, status=429,
                    code="Throttling", headers={"Retry-After": "3600"})

    def answering(self):
        return self._double, "_answer"

    def request_times(self):
        return [x["time"] for x in self._double.log[self._since:]
                if x["action"] == self._action]
