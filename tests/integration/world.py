"""A small world for the whole program: a zone on a real name server, targets
that can be switched off, and the agent's configuration for them.

    with World(agent, directory, records="www 60 IN A 127.0.0.2",
               specs={"www": rows(...)}) as w:
        got = w.once()            # subprocess.CompletedProcess
        w.values("www")           # what the server now answers
        w.edit(lambda text: …)    # as a person with an editor: serial, reload
        w.spec("www", text)       # publishes another spec
        w.configure(anchors=[…])  # the configuration anew

Names are relative to the zone (first of `zones`), or absolute with a dot at
the end.
"""

import contextlib
import json
import os
import pathlib
import re
import subprocess
import time

import pytest

import net
import servers

ZONE = "example.org"
USER = "nobody" if os.geteuid() == 0 else ""  # the service gives root up
CHECK = "{named_checkzone} -q {{zone}} {{file}}"
SERIAL = re.compile(r"(\d+)( ; serial)")
STRING_MAX = 255


# -- texts -----


def escaped(data):
    """One character-string of a master file."""
    if isinstance(data, str):
        data = data.encode()
    out = []
    for byte in data:
        if byte in b'"\\':
            out.append("\\" + chr(byte))
        elif 32 <= byte < 127:
            out.append(chr(byte))
        else:
            out.append(f"\\{byte:03d}")
    return '"' + "".join(out) + '"'


def txt(owner, text, cut=STRING_MAX):
    """The TXT record of a spec: a text (cut into strings), or a list of
    character-strings."""
    if isinstance(text, (str, bytes)):
        data = text.encode() if isinstance(text, str) else text
        text = [data[i:i + cut] for i in range(0, len(data), cut)] or [b""]
    return f"{owner} IN TXT ( {' '.join(escaped(s) for s in text)} )"


def rows(*rows_, **members):
    """Rows form: (name, data, check) or (name, data, check, ttl) each; with
    members: its object {"rows": […], …}."""
    made = []
    for name, data, check, *rest in rows_:
        row = {"name": name, "data": data, "check": str(check)}
        if rest:
            row["ttl"] = str(rest[0])
        made.append(row)
    return json.dumps({"rows": made, **members} if members else made,
                      separators=(",", ":"))


def spec(*records, **members):
    """Object form: (data, check) or a dict each. Thresholds of 1 and short
    periods, so that one probe decides."""
    defaults = {"requiredSuccess": 1, "requiredFailure": 1,
                "timeout": "300ms", "retryPeriod": "100ms",
                "accessPeriod": "1s", **members.pop("defaults", {})}
    made = []
    for record in records:
        if not isinstance(record, dict):
            data, check = record
            record = {"data": data, "check": check}
        made.append({k: str(v) if k == "check" and isinstance(v, int) else v
                     for k, v in record.items()})
    return json.dumps({"defaults": defaults, "records": made, **members},
                      separators=(",", ":"))


def zone_text(zone, records="", specs=None, serial=1):
    lines = [
        "$TTL 300",
        f"@ IN SOA ns.{zone}. hostmaster.{zone}. ( {serial} ; serial",
        "    3600 600 604800 60 )",
        "@ IN NS ns",
        "ns IN A 127.0.0.1",
        records,
    ]
    lines += [spec_lines(owner, text)
              for owner, text in (specs or {}).items()]
    return "\n".join(lines) + "\n"


def spec_owner(owner):
    return "_failover" if owner == "@" else f"_failover.{owner}"


def spec_lines(owner, text):
    """text: one document, or a tuple of documents."""
    texts = text if isinstance(text, tuple) else (text,)
    return "\n".join(txt(spec_owner(owner), t) for t in texts)


# -- the world -----


class World:
    """Options beside `records` and `specs` of the zone:

    kind     the server's class
    zones    {"example.net": text, …}: instead of one zone made of the above
    **how    for the server (axfr, broken, options …)
    """

    def __init__(self, agent, directory, *, records="", specs=None,
                 kind=servers.Bind, zones=None, **how):
        self.agent = agent
        self.dir = pathlib.Path(directory)
        self.zones = zones or {ZONE: zone_text(ZONE, records, specs)}
        self.zone = next(iter(self.zones))
        self.ns = kind(self.dir / "ns", self.zones, **how)
        self.state = self.dir / "state" / "state.db"
        self.config = self.dir / "dnsfailover.conf"
        self._stack = contextlib.ExitStack()
        self._options = {}

    def __enter__(self):
        self._stack.enter_context(self.ns)
        self.configure()
        return self

    def __exit__(self, *_):
        self._stack.close()

    # -- configuration

    def configure(self, **options):
        """Writes the configuration; what is given stays for the next call.

        user: whom a service becomes that root starts, "" for no such line;
        agent, provider, section: further lines; anchors, names, allow,
        servers: lists; discover, mode, file, notify: the option; check,
        reload: the option, "" for none
        """
        self._options.update(options)
        o = self._options
        check = CHECK.format(
            named_checkzone=servers.find("named-checkzone"))
        lines = [
            "agent {",
            f'  state = "{self.state}"',
            f"  allow-targets = {strings(o.get('allow', LOOPBACK))}",
            '  min-period = "10ms"',
        ]
        if o.get("user", USER):
            lines.append(f'  user = "{o.get("user", USER)}"')
        if o.get("anchors"):
            lines.append(f"  anchors = {strings(o['anchors'])}")
        if o.get("notify"):
            lines.append(f'  notify = "{o["notify"]}"')
        lines += [
            o.get("agent", ""), "}",
            "provider files {", "  type = zonefile",
            f'  file = "{o.get("file", self.dir / "ns" / "{zone}.zone")}"',
        ]
        for option, default in (("check", check),
                                ("reload", self.ns.reload_command)):
            if o.get(option, default):
                lines.append(f'  {option} = "{o.get(option, default)}"')
        lines += [o.get("provider", ""), "}"]
        for zone in self.zones:
            lines += self._section(zone)
        self.config.write_text("\n".join(x for x in lines if x) + "\n")

    def _section(self, zone):
        o = self._options
        lines = [
            f'zone "{zone}" {{', "  provider = files",
            f"  servers = {strings(o.get('servers', [self.ns.server]))}",
            f"  discover = {o.get('discover', 'provider')}",
            f"  mode = {o.get('mode', 'enforce')}",
        ]
        if o.get("names"):
            lines.append(f"  names = {strings(o['names'])}")
        return lines + [o.get("section", ""), "}"]

    # -- the program

    def run(self, command, *arguments, **how):
        return self.agent(command, *arguments, config=self.config, **how)

    def once(self, *arguments, **how):
        return self.run("once", *arguments, **how)

    def quiet(self, *arguments):
        """One round in which nothing happens: silent, exit 0, no file of the
        zone touched."""
        before = self.files()
        got = self.once(*arguments)
        said = (got.returncode, got.stdout, got.stderr)
        assert said == (0, "", ""), said
        assert self.files() == before, "a file of the zone was touched"

    def settle(self):
        """The first round; the state afterwards knows the world."""
        got = self.once()
        assert got.returncode == 0, got.stdout + got.stderr
        return got

    def start(self, *arguments, **how):
        """`once` in the background; ended with the world."""
        process = subprocess.Popen(
            [self.agent.path, "-c", str(self.config), "once", *arguments],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, **how)
        self._stack.callback(end, process)
        return process

    def status(self):
        """{(name, type, data): record} and the whole of status --json."""
        got = self.run("status", "--json")
        assert got.returncode == 0, got.stderr
        whole = json.loads(got.stdout)
        return {(r["name"], r["type"], r["data"]): r
                for r in whole["records"]}, whole

    # -- the zone

    @property
    def file(self):
        return self.ns.zone_file(self.zone)

    def files(self):
        """Bytes, inode and time of every zone's file."""
        found = {}
        for zone in self.zones:
            path = self.ns.zone_file(zone)
            st = path.stat()
            found[zone] = (path.read_bytes(), st.st_ino, st.st_mtime_ns)
        return found

    def full(self, name):
        if name == "@":
            return f"{self.zone}."
        return name if name.endswith(".") else f"{name}.{self.zone}."

    def values(self, name, rdtype="A"):
        return self.ns.values(self.full(name), rdtype)

    def serial(self, zone=None):
        return self.ns.serial(zone or self.zone)

    def edit(self, change, zone=None):
        """Somebody else edits the file: change(text) → text; the serial is
        raised and the server serves the result."""
        zone = zone or self.zone
        path = self.ns.zone_file(zone)
        text = change(path.read_text())
        serial = int(SERIAL.search(text).group(1)) + 1
        path.write_text(SERIAL.sub(rf"{serial}\2", text, count=1))
        self.ns.reload(zone)
        self.ns.wait_serial(zone, serial)

    def spec(self, owner, text, zone=None):
        """Publishes another spec at owner; None: none any more."""
        name = spec_owner(owner)

        def change(zone_file):
            kept = [line for line in zone_file.splitlines()
                    if line.split(" ")[0] != name]
            if text is not None:
                kept.append(spec_lines(owner, text))
            return "\n".join(kept) + "\n"

        self.edit(change, zone)


# -- fixtures; a test file imports them by name -----


@pytest.fixture
def build(agent, short_dir):
    """build(records=…, specs=…, …) → a running World, ended with the test."""
    with contextlib.ExitStack() as stack:
        made = []

        def make(**how):
            directory = short_dir / f"w{len(made)}"
            made.append(directory)
            return stack.enter_context(World(agent, directory, **how))

        yield make


@pytest.fixture
def target():
    """target("127.0.0.2", hang=…) → a Listener, closed with the test."""
    with contextlib.ExitStack() as stack:

        def make(addr="127.0.0.2", **how):
            return stack.enter_context(net.Listener(addr, **how))

        yield make


WWW = f"www.{ZONE}."


def records(name, *data, ttl=60):
    """Address records of a name: targets or addresses."""
    made = []
    for d in data:
        addr = getattr(d, "addr", d)
        made.append(f"{name} {ttl} IN {'AAAA' if ':' in addr else 'A'} {addr}")
    return "\n".join(made)


def checked(*targets):
    """(address, port) of targets, as spec() takes them."""
    return [(t.addr, t.port) for t in targets]


def www_rows(*targets, **members):
    return rows(*((WWW, t.addr, t.port) for t in targets), **members)


@pytest.fixture
def pair(build, target):
    """pair(**how) → a world whose www has two rows, and its two targets."""

    def make(members=None, **how):
        one, two = target("127.0.0.2"), target("127.0.0.3")
        w = build(records=records("www", one, two),
                  specs={"www": www_rows(one, two, **(members or {}))}, **how)
        return w, one, two

    return make


LOOPBACK = ("127.0.0.0/8", "::1/128")


def strings(values):
    """A list of the configuration."""
    return "{" + ", ".join(f'"{v}"' for v in values) + "}"


def end(process):
    """Ends a program that the test started, if it still runs."""
    if process.poll() is None:
        process.kill()
    process.communicate()


def lines(text):
    """The lines of an output, sorted: zones and sets have no order."""
    return sorted(text.splitlines())


def until(what, condition, timeout_s=10.0):
    return net.wait_until(what, condition, timeout_s)


def elapsed(function):
    """Seconds that function() took, and what it returned."""
    start = time.monotonic()
    value = function()
    return time.monotonic() - start, value
