"""What the contract tests need of a provider, and of the server behind it.

The points are the tests of tests/integration/test_contract_*.py. They drive
the provider through build/tools/provider and judge by `truth`, which must
not pass through the program under test.

To add a provider, put one file backend_NAME.py into this folder with a
subclass of Backend in it; it is found by its name, no list is to be edited:

    class PowerDns(Backend):
        name = "powerdns"              # the provider's type
        def missing(cls): …            # why it cannot run here, or None
        def start(self): …             # the real server, or a test double
        def stop(self): …
        def seed(self, records): …     # the zone holds exactly these
        def truth(self): …             # what it holds, asked independently
        def options(self): …           # the provider's options
        def writes(self): …            # accepted writes since seed()
        def fault_lost(self): …        # one method for each fault, see below
        def heal(self): …
        not_applicable = {"disable_in_place": "the protocol has no such flag"}

A point that does not apply is named in `not_applicable`, with the reason in
words: it is shown as skipped with that reason. A name that is no point, or a
reason of less than four words, fails test_contract_itself.py; so does a
fault whose method is missing while its point is not excused.

One instance serves all tests of a file, started once; before each test comes
heal() and seed(). Several types in one file are fine (one for each kind of
server: `name` is the provider's type, `title` tells them apart).
"""

import collections
import contextlib
import importlib
import json
import os
import pathlib
import pkgutil
import subprocess
import threading

TOOL_S = 115
ZONE = "example.org"

# name: absolute, no final dot; type: "A", "AAAA", "CNAME", "TXT" …; data: as
# the type's canonical text; enabled: False where it is held, switched off
Record = collections.namedtuple("Record", "name type ttl data enabled",
                                defaults=(True,))


def record(name, rdtype, data, ttl=300, enabled=True):
    """name relative to ZONE ("@": its apex), or absolute with a dot."""
    if name == "@":
        name = ZONE
    elif not name.endswith("."):
        name = f"{name}.{ZONE}"
    return Record(name.rstrip("."), rdtype, ttl, data, enabled)


class Meeting:
    """The first two that come wait for each other; nobody after them does."""

    WAIT_S = 5

    def __init__(self):
        self.met = False
        self._two = threading.Barrier(2, self._meet, self.WAIT_S)

    def _meet(self):
        self.met = True

    def come(self):
        if not self.met:
            with contextlib.suppress(threading.BrokenBarrierError):
                self._two.wait()


class Run:
    """One run of the tool: exit code and answers."""

    def __init__(self, done):
        self.code = done.returncode
        self.stderr = done.stderr
        self.answers = [json.loads(x) for x in done.stdout.splitlines()]

    def __getitem__(self, key):
        return self.answers[0][key]

    @property
    def err(self):
        """The first answer's error code, or None."""
        return self.answers[0].get("err")

    @property
    def text(self):
        return self.answers[0].get("text", "")

    def states(self, answer=0):
        return [r["state"] for r in self.answers[answer]["results"]]

    def errs(self, answer=0):
        """Every error code of an answer and its results."""
        a = self.answers[answer]
        found = [a.get("err")] + [r.get("err") for r in a.get("results", [])]
        return [x for x in found if x]

    def texts(self, answer=0):
        a = self.answers[answer]
        found = [a.get("text")] + [r.get("text") for r in a.get("results", [])]
        return " | ".join(x for x in found if x)


class Backend:
    name = ""            # the provider's type
    zone = ZONE
    not_applicable = {}  # point: reason in words
    # TTLs that the server takes, all different; the first is what seed() and
    # the tests use where it does not matter.
    ttls = (300, 60, 120)
    # How many records make at least three pages of a list; 0: it has none.
    paged = 0
    # What 1,000 changes may cost: accepted writes, None: one each at most.
    writes_for_1000 = None
    one_cname = False    # a CNAME set holds one, switched off or not
    inner_star = True    # takes a "*" that is not a name's first label
    stores_case = False  # it keeps a name's letters as they were given
    txt_long = 2000      # bytes of a long spec; as much as the server takes

    def __init__(self, directory, tools):
        self.dir = pathlib.Path(directory)
        self.tools = pathlib.Path(tools)

    @property
    def title(self):
        return self.name

    # -- to be written for each --------------------------------------------------

    @classmethod
    def missing(cls):
        """Why it cannot run here ("no named (package bind9)"), or None."""
        return None

    def start(self):
        raise NotImplementedError

    def stop(self):
        raise NotImplementedError

    def seed(self, records):
        """The zone holds exactly these, beside its own SOA and NS; writes()
        starts at 0. Record.name and .data are stored as they are given, but
        for TXT data: what DNS is to serve."""
        raise NotImplementedError

    def truth(self):
        """The zone's records but SOA, apex NS and what the server itself adds
        (DNSSEC, ns1's address), as a sorted list of Record, by a way of its
        own: the server's database, another client, the DNS. TXT data: one
        string, the character-strings joined."""
        raise NotImplementedError

    def options(self):
        """The provider's options: {"url": …}."""
        raise NotImplementedError

    def environment(self):
        """Its environment variables (secrets go here)."""
        return {}

    def writes(self):
        """How many writes the server accepted since seed(). A write is what
        costs: a call, an UPDATE message, a file put in place."""
        raise NotImplementedError

    def heal(self):
        """Ends all faults."""
        raise NotImplementedError

    # -- faults: each lasts until heal() unless it says "next" -------------------

    def fault_lost(self):
        """The next write is carried out, and its answer never comes."""
        raise NotImplementedError

    def fault_cut(self):
        """The next write's connection ends before the server has read it."""
        raise NotImplementedError

    def fault_unauthorized(self):
        """The credentials are wrong (HTTP 401, BADSIG)."""
        raise NotImplementedError

    def fault_forbidden(self):
        """The credentials are right and do not permit writes (HTTP 403)."""
        raise NotImplementedError

    def fault_refused(self):
        """Writes are refused for what is in them (HTTP 422, a check)."""
        raise NotImplementedError

    def fault_broken(self):
        """Every request fails on the server's side (HTTP 500, SERVFAIL)."""
        raise NotImplementedError

    def fault_garbled(self):
        """No answer can be read: no JSON, no XML, cut DNS messages."""
        raise NotImplementedError

    def fault_busy(self):
        """The next write is refused with 429 and Retry-After: 1."""
        raise NotImplementedError

    def fault_busy_long(self):
        """Every write is refused with 429 and Retry-After: 3600."""
        raise NotImplementedError

    def fault_budget_spent(self):
        """The server says that no calls are left in this hour's budget."""
        raise NotImplementedError

    def request_times(self):
        """time.monotonic() of each request since the last fault_…()."""
        raise NotImplementedError

    def answering(self):
        """Of a double of an API: (object, name of its method) that makes each
        answer, once what was asked has been done."""
        raise NotImplementedError

    # -- may be written anew -----------------------------------------------------

    def stored_txt(self, text):
        """text as write_spec must get it (see txt_unescaped)."""
        return text

    @contextlib.contextmanager
    def watching(self):
        """Yields a list that holds, after the block, the states of the zone
        (sorted lists of Record) that could be seen during it. A double that
        knows each state gives exactly those."""
        seen, over = [], threading.Event()

        def look():
            while not over.is_set():
                seen.append(self.truth())

        watcher = threading.Thread(target=look)
        watcher.start()
        try:
            yield seen
        finally:
            over.set()
            watcher.join()
            seen.append(self.truth())

    @contextlib.contextmanager
    def writers_meet(self):
        """In the block the first write of two programs goes on only when the
        other one's is there, too: both have read by then. Yields the Meeting;
        None: they meet by chance, or not."""
        yield None

    # -- the provider --------------------------------------------------------------

    def command(self, *arguments):
        options = [f"{k}={v}" for k, v in self.options().items()]
        return [str(self.tools / "provider"), self.name, *options, "--",
                *map(str, arguments)]

    def run(self, *arguments):
        """One run of the tool with these commands."""
        return self.finish(self.begin(*arguments))

    def begin(self, *arguments):
        """The same, not waited for: finish() does."""
        return subprocess.Popen(
            self.command(*arguments), stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=dict(os.environ, **self.environment()))

    def finish(self, process):
        try:
            out, err = process.communicate(timeout=TOOL_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise
        done = subprocess.CompletedProcess(process.args, process.returncode,
                                           out, err)
        assert done.returncode in (0, 1), done.stdout + done.stderr
        assert "Sanitizer" not in done.stderr, done.stderr
        for secret in self.environment().values():
            assert secret not in done.stdout + done.stderr
        return Run(done)

    def apply(self, *changes, command="create"):
        """changes: publish(…) and withdraw(…)."""
        return self.run(command, self.zone, *sum(changes, []))

    def records(self, *names):
        """{(name, type): (ttl, {data: enabled})} as the provider lists it."""
        got = self.run("records", self.zone, *map(absolute, names))
        assert got.code == 0, got.answers
        return {
            (s["name"].rstrip("."), s["type"]):
            (s["ttl"], {v["data"]: v["enabled"] for v in s["values"]})
            for s in got["sets"]
        }

    def write(self, owner, text, ttl=300):
        """Writes a spec's TXT record."""
        return self.run("write", self.zone, absolute(owner),
                        self.stored_txt(text), ttl)

    @property
    def caps(self):
        """What the provider says of itself, see struct provider_caps."""
        if not hasattr(self, "_caps"):
            self._caps = self.run("caps", self.zone).answers[0]
        return self._caps

    # -- the zone ------------------------------------------------------------------

    def published(self, name, rdtype="A"):
        """The data of the set that are switched on, sorted."""
        name = absolute(name).rstrip(".")
        return sorted(r.data for r in self.truth() if r.enabled
                      and (r.name.lower(), r.type) == (name, rdtype))


def absolute(name):
    if name == "@":
        return ZONE + "."
    return name if name.endswith(".") else f"{name}.{ZONE}."


def publish(name, data, rdtype="A", ttl="-"):
    return ["publish", absolute(name), rdtype, data, str(ttl)]


def withdraw(name, data, rdtype="A"):
    return ["withdraw", absolute(name), rdtype, data, "-"]


def backends():
    """Every Backend of this folder's backend_*.py, by title."""
    package = pathlib.Path(__file__).parent
    found = {}
    for module in pkgutil.iter_modules([str(package)]):
        if not module.name.startswith("backend_"):
            continue
        names = vars(importlib.import_module(f"contract.{module.name}"))
        for value in names.values():
            if (isinstance(value, type) and issubclass(value, Backend)
                    and value.name and value.__module__.endswith(module.name)):
                found[value.__name__.lower()] = value
    return [found[k] for k in sorted(found)]
