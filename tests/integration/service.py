"""`dnsfailover run` under test: started beside a World, its lines read as they
come, its notify socket held by the test.

    with Service(world) as s:       # READY=1 has come
        s.wait("becomes unavailable")
        s.hangup()                  # SIGHUP, and READY=1 again
        s.stop()                    # SIGTERM, returns the exit code
"""

import json
import os
import pathlib
import re
import signal
import socket
import sqlite3
import subprocess
import threading
import time

import pytest

import net
from conftest import SANITIZER
from world import checked, records, spec


class Service:
    """env: more of the environment; watchdog_s: what the manager would wait
    for WATCHDOG=1; wrap: words before the program's name."""

    def __init__(self, world, *arguments, watchdog_s=None, env=None, wrap=(),
                 ready_s=20.0):
        self.world = world
        self.ready_s = ready_s
        self.out, self.err, self.said = [], [], []
        self._arguments = arguments
        self._watchdog_s = watchdog_s
        self._env = env or {}
        self._wrap = wrap
        self._threads = []

    def __enter__(self):
        path = self.world.dir / f"notify{time.monotonic_ns()}"
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(str(path))
        path.chmod(0o777)  # as the manager's, for whoever the service becomes
        env = dict(os.environ, NO_COLOR="1", NOTIFY_SOCKET=str(path),
                   **self._env)
        env.pop("JOURNAL_STREAM", None)
        if self._watchdog_s:
            env["WATCHDOG_USEC"] = str(int(self._watchdog_s * 1e6))
        self.process = subprocess.Popen(
            [*self._wrap, self.world.agent.path, "-c",
             str(self.world.config), "run", *self._arguments],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, errors="replace", env=env)
        self._read(self._take_datagrams)
        self._read(self._take, self.process.stdout, self.out)
        self._read(self._take, self.process.stderr, self.err)
        if self.ready_s:
            self.ready()
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(20)
        # A thread that still reads would read whatever has the number next.
        self._socket.shutdown(socket.SHUT_RD)
        self._threads[0].join(5)
        self._socket.close()
        for thread in self._threads[1:]:
            thread.join(5)
        text = "\n".join(self.err)
        if SANITIZER.search(text):
            pytest.fail(f"run:\n{text[-8000:]}")

    # -- reading

    def _read(self, function, *args):
        thread = threading.Thread(target=function, args=args, daemon=True)
        thread.start()
        self._threads.append(thread)

    @staticmethod
    def _take(stream, lines):
        for line in stream:
            lines.append(line.rstrip("\n"))

    def _take_datagrams(self):
        while True:
            try:
                data = self._socket.recv(4096)
            except OSError:
                return
            if not data:
                return
            self.said.append((time.monotonic(), data.decode()))

    def text(self):
        return "\n".join(self.out + self.err)

    def notified(self, what):
        """How many datagrams have a line that begins with what."""
        return sum(any(line.startswith(what) for line in text.splitlines())
                   for _, text in list(self.said))

    # -- waiting

    def until(self, what, condition, timeout_s=20.0):
        def done():
            if condition():
                return True
            if self.process.poll() is not None:
                pytest.fail(f"run ended with {self.process.returncode} "
                            f"before: {what}\n{self.text()}")
            return False

        try:
            return net.wait_until(what, done, timeout_s)
        except AssertionError as late:
            raise AssertionError(f"{late}\n{self.text()}") from late

    def ready(self, times=1, timeout_s=None):
        self.until("READY=1", lambda: self.notified("READY=1") >= times,
                   timeout_s or self.ready_s)

    def wait(self, text, timeout_s=20.0, after=0):
        """Until a line holds text; returns how many lines there were."""
        self.until(text, lambda: any(
            text in line for line in (self.out + self.err)[after:]), timeout_s)
        return len(self.out + self.err)

    def shows(self, name, *data, timeout_s=20.0):
        """Until the name server answers with exactly these."""
        want = sorted(getattr(d, "addr", d) for d in data)
        self.until(f"{name} {want}",
                   lambda: sorted(self.world.values(name)) == want, timeout_s)

    # -- signals

    def send(self, number):
        self.process.send_signal(number)

    def hangup(self, timeout_s=20.0):
        before = self.notified("READY=1")
        self.send(signal.SIGHUP)
        self.ready(before + 1, timeout_s)

    def stop(self, number=signal.SIGTERM, timeout_s=30.0):
        if number:
            self.send(number)
        code = self.process.wait(timeout_s)
        for thread in self._threads[1:]:
            thread.join(5)
        return code

    # -- what it costs

    def proc(self, name):
        return pathlib.Path(f"/proc/{self.process.pid}/{name}")

    def memory_kb(self):
        for line in self.proc("status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1])
        return 0

    def descriptors(self):
        return len(os.listdir(self.proc("fd")))

    def cpu_s(self):
        fields = self.proc("stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


# -- worlds for it; `fast` is imported by name -----

FAST = {"requiredFailure": 2, "requiredSuccess": 2, "retryPeriod": "100ms",
        "accessPeriod": "500ms", "timeout": "300ms"}


@pytest.fixture
def fast(build, target):
    """A world whose www fails over within a second, and its two targets."""

    def make(apex=None, records_ttl=60, **how):
        one, two = target("127.0.0.2"), target("127.0.0.3")
        w = build(records=records("www", one, two, ttl=records_ttl), specs={
            "@": json.dumps({"debounce": "0s", **(apex or {})}),
            "www": spec(*checked(one, two), defaults=FAST), **how.pop(
                "specs", {})}, **how)
        short_ttls(w)
        return w, one, two

    return make


def short_ttls(w):
    """Specs are looked for every second."""
    w.edit(lambda text: re.sub(r"(_failover\S*) IN TXT", r"\1 1 IN TXT", text))


def reload_of(w, zone="example.org"):
    return w.ns.reload_command.replace("{zone}", zone)


def known(w):
    """Checks that the state calls up."""
    if not w.state.exists():
        return []
    with sqlite3.connect(f"file:{w.state}?mode=ro", uri=True) as db:
        return db.execute("SELECT key FROM checks WHERE state = 1").fetchall()


def over(seconds):
    end = time.monotonic() + seconds
    return lambda: time.monotonic() >= end


def first_look(s, n=2):
    """Every check is up, and that is saved."""
    s.until("first look", lambda: len(known(s.world)) == n)
