"""What the doubles of REST APIs share as backends of the contract."""

import contextlib

from . import dnsdata
from .backend import Backend, Meeting


class RestDouble(Backend):
    secret_variable = ""
    paged = 250

    def make(self):
        """The double, see restapi/server.py."""
        raise NotImplementedError

    def records_of(self, state):
        """A state of the double as truth() gives it."""
        raise NotImplementedError

    def start(self):
        self.api = self.make()
        self._token = self.api.token

    def stop(self):
        self.api.close()

    @staticmethod
    def content(r):
        if r.type == "TXT":
            return dnsdata.strings(r.data)
        return r.data.rstrip(".") if r.type == "CNAME" else r.data

    @staticmethod
    def target(r):
        return r["content"] + "." if r["type"] == "CNAME" else r["content"]

    def truth(self):
        with self.api.lock:
            return self.records_of(self.api.truth())

    @contextlib.contextmanager
    def watching(self):
        self.api.states = []
        seen = [self.truth()]
        yield seen
        seen += map(self.records_of, self.api.states)
        self.api.states = None

    @contextlib.contextmanager
    def writers_meet(self):
        meeting = Meeting()
        self.api.before_write = meeting.come
        yield meeting
        self.api.before_write = None

    def options(self):
        return {"url": self.api.url, "timeout": "5"}

    def environment(self):
        return {self.secret_variable: self._token}

    def writes(self):
        return self.api.writes

    def heal(self):
        self._token = self.api.token
        self.api.misbehave(None)

    def answering(self):
        return self.api, "answer"

    def request_times(self):
        return self.api.times_since_met()

    def fault_unauthorized(self):
        self._token = "wrong-and-made-up-by-the-test"

    def fault_lost(self):
        self.api.misbehave("lost")

    def fault_cut(self):
        self.api.misbehave("cut")

    def fault_forbidden(self):
        self.api.misbehave("forbidden")

    def fault_refused(self):
        self.api.misbehave("refused")

    def fault_broken(self):
        self.api.misbehave("broken")

    def fault_garbled(self):
        self.api.misbehave("garbled")

    def fault_busy(self):
        self.api.misbehave("busy")

    def fault_busy_long(self):
        self.api.misbehave("busy_long")

    def fault_budget_spent(self):
        self.api.misbehave("budget")
