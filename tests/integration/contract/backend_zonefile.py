"""A master file, edited in place, that BIND serves."""

import contextlib
import re
import socketserver
import sys
import threading

import dns.query
import dns.zone

import net
import servers

from . import dnsdata
from .backend import Backend, Meeting

MARK = ";dnsfailover"
# Waits until the other side closes.
ASK = ("import socket, sys; s = socket.socket(socket.AF_UNIX); "
       "s.connect(sys.argv[1]); s.recv(1)")
NO_LOGIN = "a file asks for no credentials"
NO_ANSWER = "a file is written by the agent itself: no answer can be lost"
NO_LIMIT = "a file has no calls to be counted"


class ZoneFile(Backend):
    name = "zonefile"
    stores_case = True
    writes_for_1000 = 1
    not_applicable = {
        "lost_answer": NO_ANSWER,
        "cut_before_it_was_read": NO_ANSWER,
        "unauthorized": NO_LOGIN,
        "unauthorized_list": NO_LOGIN,
        "forbidden": "file permissions do not bind root, as whom these tests "
                     "may run",
        "server_error_list": "it is read from disk, no server is asked",
        "retry_after": NO_LIMIT,
        "retry_after_an_hour": NO_LIMIT,
        "budget_spent": NO_LIMIT,
        "paging": "a file is read as a whole, it has no pages",
    }

    @classmethod
    def missing(cls):
        if servers.find("named") is None:
            return "no named (package bind9)"
        return None

    def start(self):
        self._serial = 1000
        self._ns = servers.Bind(self.dir / "ns", {self.zone: self._text([])},
                                axfr=True)
        self._ns.start()
        self._file = self._ns.zone_file(self.zone)
        self._log = self.dir / "reloads"
        self._reload = self.dir / "reload"
        self.heal()

    def stop(self):
        self._ns.stop()

    def _text(self, records):
        lines = ["$TTL 3600",
                 f"@ SOA ns1 hostmaster {self._serial} 3600 600 604800 60",
                 "@ NS ns1", "ns1 A 127.0.0.1"]
        return "\n".join(lines + [dnsdata.line(r) for r in records]) + "\n"

    def seed(self, records):
        self._serial += 100000
        self._file.write_text(self._text(records))
        self._ns.reload(self.zone)
        self._ns.wait_serial(self.zone, self._serial)
        self._log.write_text("")

    def truth(self):
        """What BIND serves, and the lines that are switched off."""
        text = self._file.read_text()
        serial = int(re.search(r"hostmaster (\d+)", text).group(1))
        self._ns.wait_serial(self.zone, serial)
        served = dns.zone.from_xfr(
            dns.query.xfr(self._ns.addr, self.zone, port=self._ns.port,
                          relativize=False, lifetime=20), relativize=False)
        found = dnsdata.records_of(served)
        off = [x.partition("; ")[2] for x in text.splitlines()
               if x.startswith(MARK)]
        head = self._text([]) + "\n"
        for x in off:
            # each by itself: a set of one value with two TTLs stays two
            found += [r._replace(enabled=False) for r in dnsdata.records_of(
                dnsdata.from_text(head + x + "\n", self.zone))]
        return sorted(found)

    def options(self):
        return {
            "file": self._file.parent / "{zone}.zone",
            "check": self._check,
            "reload": f"/bin/sh {self._reload}",
            "serial-timeout": "0",
        }

    def writes(self):
        return len(self._log.read_text().splitlines())

    @contextlib.contextmanager
    def writers_meet(self):
        """By the check, which comes between reading and writing."""
        meeting = Meeting()
        path = self.dir / "meet"

        class Check(socketserver.ThreadingMixIn,
                    socketserver.UnixStreamServer):
            daemon_threads = True

        class Asked(socketserver.BaseRequestHandler):
            def handle(self):
                meeting.come()

        with Check(str(path), Asked) as server:
            thread = threading.Thread(target=server.serve_forever,
                                      args=(0.02,))
            thread.start()
            self._check = f"{sys.executable} -c '{ASK}' {path}"
            yield meeting
            self.heal()
            server.shutdown()
            thread.join()
        path.unlink()

    def heal(self):
        self._check = (f"{servers.find('named-checkzone')} -q {{zone}} "
                       "{file}")
        self._reload.write_text(
            f"echo reload >> {self._log}\n"
            f"exec {self._ns.reload_command.replace('{zone}', self.zone)} "
            ">/dev/null\n")

    def fault_refused(self):
        self._check = "/bin/false"

    def fault_broken(self):
        self._reload.write_text("exit 1\n")

    def fault_garbled(self):
        self._file.write_text("$TTL 3600\n@ SOA ns1 (\n")
