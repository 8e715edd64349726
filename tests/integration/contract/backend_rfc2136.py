"""RFC 2136 at real primaries: BIND, Knot and PowerDNS.

Faults of the wire are made by a relay that knows DNS messages.
"""

import contextlib

from dnsupdate import relay
from dnsupdate.servers import DynamicBind, DynamicKnot, DynamicPowerDns
import servers

from .backend import Backend, Meeting

NO_HTTP = "there is no HTTP, and no status 429 in DNS"
NO_FLAG = "a zone has no records that are switched off"


class Rfc2136(Backend):
    """What the three have in common."""

    name = ""
    kind = None  # the server's class
    writes_for_1000 = 3  # messages of 250 names
    one_update_counts = 1  # how far the serial goes for one update
    not_applicable = {
        "disable_in_place": NO_FLAG,
        "unauthorized_list": "its queries are not signed, so no key is wrong",
        "retry_after": NO_HTTP,
        "retry_after_an_hour": NO_HTTP,
        "budget_spent": NO_HTTP,
        "paging": "a question is answered as a whole, there are no pages",
    }

    @property
    def title(self):
        return type(self).__name__.lower()

    @classmethod
    def missing(cls):
        if servers.find(cls.kind.program) is None:
            return f"no {cls.kind.program}"
        return None

    def start(self):
        self.server = self.kind(self.dir / "ns", self.zone)
        self.server.start()
        self.relay = relay.Relay(self.server).__enter__()
        self.heal()

    def stop(self):
        if hasattr(self, "relay"):
            self.relay.__exit__()
        self.server.stop()

    def seed(self, records):
        self.server.seed(records)
        self._serial = self.server.zone_serial()

    def truth(self):
        return self.server.records()

    def options(self):
        return {"server": self.relay.server, "key-file": self._key,
                "timeout": "2s"}

    def writes(self):
        return ((self.server.zone_serial() - self._serial)
                // self.one_update_counts)

    @contextlib.contextmanager
    def writers_meet(self):
        meeting = Meeting()

        def pass_on(wire):
            if relay.opcode(wire) == relay.UPDATE:
                meeting.come()
            return wire

        self.relay.on_query = pass_on
        yield meeting
        self.relay.heal()

    # -- faults

    def heal(self):
        self._key = self.server.key_file()
        self.relay.heal()

    def _once_at_update(self, how):
        """how(wire) for the next UPDATE; then all is well again."""
        def step(wire):
            if relay.opcode(wire) != relay.UPDATE or self._met:
                return wire
            self._met = True
            return how(wire)

        self._met = False
        return step

    def fault_lost(self):
        step = self._once_at_update(lambda _: relay.LOSE)
        self.relay.on_answer = lambda query, answer: step(answer)

    def fault_cut(self):
        self.relay.on_query = self._once_at_update(lambda _: relay.LOSE)

    def fault_unauthorized(self):
        self._key = self.server.bad_key_file()

    def fault_forbidden(self):
        self._key = self.server.key_file("reader")

    def fault_refused(self):
        self._key = self.server.key_file("limited")

    def fault_broken(self):
        self.relay.on_query = lambda query: relay.Reply(relay.servfail(query))

    def fault_garbled(self):
        self.relay.on_answer = lambda query, answer: answer[:13]


class Rfc2136Bind(Rfc2136):
    name = "rfc2136"
    kind = DynamicBind


class Rfc2136Knot(Rfc2136):
    name = "rfc2136"
    kind = DynamicKnot


class Rfc2136PowerDns(Rfc2136):
    name = "rfc2136"
    kind = DynamicPowerDns

    @classmethod
    def missing(cls):
        return DynamicPowerDns.missing()
