"""The whole program against the double: a panel, its "server part", a real
name server that serves what it renders, and targets.

    with Machine(directory) as machine:          # once for a file of tests
        with Scene(machine, agent, directory) as s:  # anew for each test
            a, b = s.pair("www")
            s.serve()                       # as if just saved in the panel
            a.close()
            got = s.once()
            s.cron()                        # the panel's cron, a minute later

Names are stored in the panel as they are given.
"""

import contextlib
import json
import pathlib
import sqlite3

import pytest

import net
import servers
from world import USER

from . import double
from .fixtures import TABLES
from .zonefile import ServerPart

ORG = "example.org"
NET = "example.net"
WWW = f"www.{ORG}."
AGENT = "dnsfailover: "  # begins what goes to standard error
EMPTY = ("$TTL 60\n@ SOA ns1 hostmaster ( 1 3600 600 604800 60 )\n@ NS ns1\n"
         "ns1 A 127.0.0.1\n")
DATA_TABLES = ("dns_rr", "dns_soa", "client", "sys_user", "remote_user")
SERIAL = 2024010101
SERIAL_LOOKS = 4
MINUTE_MS = 60000
SHOWN = "shown by 1 of 1 authoritative servers after "


# Columns of the agent's state; single times and lists of times.
TIMES = {
    "vals": ("healthy_since_ms", "withdrawals_ms", "reclaims_ms",
             "pending_since_ms"),
    "sets": ("brake_since_ms",),
    "zones": ("withdrawn_ms",),
    "specs": ("gone_ms",),
    "stops": ("until_ms",),
}


def earlier(value, ms):
    """0 and nothing stay: they mean "never"."""
    if isinstance(value, str):
        return ",".join(str(int(x) - ms) for x in value.split(",") if x)
    return value - ms if value else value


def rows(*rows_):
    """The rows form as JSON: (name, target[, ttl]) each."""
    made = []
    for name, target, *ttl in rows_:
        row = {"name": name, "data": getattr(target, "data", target.addr),
               "check": str(target.port)}
        if ttl:
            row["ttl"] = str(ttl[0])
        made.append(row)
    return json.dumps(made, separators=(",", ":"))


def escaped(text):
    """As somebody stores it who knows what the zone writer does."""
    return text.replace("\\", "\\\\").replace('"', '\\"')


def bare(text):
    return text.replace('"', "")


def down(target, name=WWW, why="refused"):
    return f"{name} ({target.addr}) becomes unavailable: tcp:{target.port} {why}"


def up(target, name=WWW):
    return f"{name} ({target.addr}) becomes available: tcp:{target.port} ok"


def out(target, name=WWW, rdtype="A"):
    return f"{name} {rdtype} {target.addr} withdrawn: its checks fail"


def back(target, name=WWW, rdtype="A"):
    return f"{name} {rdtype} {target.addr} published: healthy records"


def resolved(*lines):
    return ["resolved: " + x.removeprefix(AGENT) for x in lines]


def works_again(scene, *problems):
    """The first round without the trouble makes up for it."""
    got = scene.lines()
    assert got[0] == out(scene.a)
    assert sorted(got[1:]) == sorted(resolved(*problems))
    scene.session_is_clean()
    assert scene.active() == "NY"
    scene.cron()
    assert scene.values() == [scene.b.addr]
    got, = scene.lines()
    assert got.startswith(f"{WWW} A {SHOWN}")


class Machine:
    """The double and a name server for the zones; a context manager."""

    def __init__(self, directory, kind=servers.Bind, origins=(ORG, NET)):
        self.dir = pathlib.Path(directory)
        self.origins = origins
        self.kind = kind
        self.serial = SERIAL
        self._stack = contextlib.ExitStack()

    def __enter__(self):
        self.zones = self.dir / "zones"
        self.zones.mkdir()
        paths = {}
        for zone in self.origins:
            paths[zone] = self.zones / f"pri.{zone}"
            paths[zone].write_text(EMPTY)
        with contextlib.ExitStack() as stack:
            self.isp = stack.enter_context(double.IspConfig(self.dir))
            self.ns = stack.enter_context(self.kind(self.dir / "ns", paths))
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_):
        self._stack.close()


class Scene:
    """One test's world: the zones empty but for their name server.

    zones: {origin: id}; zone and other: the ids of the first two
    """

    def __init__(self, machine, agent, directory):
        self.agent = agent
        self.isp = machine.isp
        self.ns = machine.ns
        self.machine = machine
        self.dir = pathlib.Path(directory)
        self.state = self.dir / "state" / "state.db"
        self.config = self.dir / "dnsfailover.conf"
        self.part = ServerPart(self.isp, machine.zones, self._reload)
        self._stack = contextlib.ExitStack()
        self._options = {}

    def __enter__(self):
        for table in TABLES:
            self.isp.sql(f"DELETE FROM {table}")
        self.isp.sql("UPDATE server SET updated = 0")
        self.isp.set_functions(double.MINIMUM)
        self.isp.relay.mode = "normal"
        self.zones = {o: self._add_zone(o) for o in self.machine.origins}
        self.zone, self.other = list(self.zones.values())[:2]
        self.configure()
        return self

    def __exit__(self, *_):
        self._stack.close()

    # -- the panel

    def _add_zone(self, origin):
        # The name server waits for a serial: each is used once.
        self.machine.serial += 1
        zone = self.isp.add_zone(f"{origin}.", serial=self.machine.serial)
        self.isp.add_rr(zone, f"{origin}.", "NS", f"ns1.{origin}.")
        self.isp.add_rr(zone, "ns1", "A", "127.0.0.1")
        return zone

    def add(self, name, rdtype, data, zone=None, **more):
        """A row; returns its id."""
        return self.isp.add_rr(zone or self.zone, name, rdtype, data, **more)

    def spec(self, owner, text, zone=None):
        """A spec's row; owner as stored behind "_failover."."""
        return self.add(f"_failover.{owner}" if owner else "_failover", "TXT",
                        text, zone)

    def target(self, addr="127.0.0.2"):
        """A listener that ends with the scene."""
        return self._stack.enter_context(net.Listener(addr))

    def pair(self, name="www", ttl=None, zone=None, text=lambda t: t):
        """Two targets, their rows (self.rows: their ids) and the spec."""
        origin = self.part.origin(zone or self.zone)
        targets = self.target("127.0.0.2"), self.target("127.0.0.3")
        self.rows = [self.add(name, "A", t.addr, zone) for t in targets]
        more = () if ttl is None else (ttl,)
        self.spec_row = self.spec(name, text(rows(*[
            (f"{name}.{origin}.", t, *more) for t in targets])), zone)
        return targets

    def dump(self):
        """{(table, id): row} of all that the API could change."""
        found = {}
        for table in DATA_TABLES:
            for row in self.isp.sql(f"SELECT * FROM {table}"):
                found[table, next(iter(row.values()))] = row
        return found

    def changed(self, before):
        """{(table, id): {column: new}}; None for what came or went."""
        now, out = self.dump(), {}
        for key in before.keys() | now.keys():
            old, new = before.get(key), now.get(key)
            if old is None or new is None:
                out[key] = None
            elif old != new:
                out[key] = {c: new[c] for c in new if new[c] != old[c]}
        return out

    def active(self, *ids):
        return "".join(self.isp.rr(i)["active"] for i in ids or self.rows)

    def writes(self):
        """The calls that could change something; not the trials at id 0."""
        return [c for c in self.isp.calls("dns_*")
                if c["method"].endswith(("_update", "_add", "_delete"))
                and (c["args"] is None or c["args"][2] != "0")]

    # -- DNS

    def _reload(self, origins):
        for origin in origins:
            zone = self.isp.sql("SELECT serial FROM dns_soa WHERE origin = ?",
                                f"{origin}.")[0]
            self.ns.reload(origin)
            # NSD's old process may still take a question after the first
            # answer of the new one.
            net.wait_until(f"{origin} with serial {zone['serial']}", lambda: {
                self.ns.serial(origin) for _ in range(SERIAL_LOOKS)
            } == {zone["serial"]})

    def serve(self, *zones):
        """The zones as they stand are published, under a new serial."""
        for zone in zones or (self.zone,):
            self.machine.serial += 1
            serial = max(self.isp.serial(zone) + 1, self.machine.serial)
            self.isp.set_soa(zone, serial=serial)
        self.part.write_all()
        self._reload([self.part.origin(z) for z in zones or (self.zone,)])

    def cron(self):
        """The panel's own cron job; returns the zones it wrote."""
        return self.part.run()

    def values(self, name="www", rdtype="A", zone=ORG):
        return self.ns.values(f"{name}.{zone}." if name else zone, rdtype)

    # -- the program

    def configure(self, **options):
        """Writes the configuration; what is given stays for the next call.

        url, user, password; trust: the line with pin or ca-file; agent,
        section: further lines; zones: the names of the sections; server: the
        name server to read from
        """
        self._options.update(options)
        o = self._options
        secret = self.dir / "password"
        secret.write_text(o.get("password", self.isp.password) + "\n")
        secret.chmod(0o600)
        pin = f'  pin-sha256 = "{self.isp.pin}"'
        lines = [
            "agent {", f'  state = "{self.state}"',
            '  allow-targets = {"127.0.0.0/8", "::1"}',
            '  min-period = "10ms"', f'  user = "{USER}"' if USER else "",
            o.get("agent", ""), "}",
            "provider panel {", "  type = ispconfig",
            f'  url = "{o.get("url", self.isp.url)}"',
            f'  user = "{o.get("user", self.isp.user)}"',
            f'  password-file = "{secret}"', o.get("trust", pin), "}",
        ]
        for zone in o.get("zones", [ORG]):
            lines += [
                f'zone "{zone}" {{', "  provider = panel",
                "  discover = provider",
                f'  servers = {{"{o.get("server", self.ns.server)}"}}',
                o.get("section", ""), "}",
            ]
        self.config.write_text("\n".join(x for x in lines if x) + "\n")

    def run(self, command, *arguments, **how):
        """The program; the calls at the panel are those of this run."""
        self.isp.clear_calls()
        got = self.agent(command, *arguments, config=self.config, **how)
        assert self.isp.password not in got.stdout + got.stderr
        return got

    def once(self, *arguments, code=0, **how):
        got = self.run("once", *arguments, **how)
        assert got.returncode == code, got.stdout + got.stderr
        return got

    def lines(self, *arguments, code=0):
        """What one round prints, line by line; standard error as well."""
        got = self.once(*arguments, code=code)
        return (got.stdout + got.stderr).splitlines()

    def quiet(self, *arguments):
        """A round that says nothing and changes nothing."""
        before = self.dump()
        assert self.lines(*arguments) == []
        assert self.changed(before) == {}
        assert self.writes() == []

    def session_is_clean(self):
        """One login, one logout, at the ends."""
        methods = self.isp.methods()
        assert methods[0] == "login" and methods[-1] == "logout"
        assert methods.count("login") == methods.count("logout") == 1

    def settle(self):
        """The first round, in which nothing happens, and the panel is read
        as it is served."""
        self.serve()
        self.quiet()
        return self

    def status(self):
        got = self.run("status", "--json")
        assert got.returncode == 0, got.stderr
        assert self.isp.methods() == []
        return json.loads(got.stdout)

    def later(self, ms):
        """As if everything remembered had happened that much earlier."""
        with contextlib.closing(sqlite3.connect(self.state)) as db:
            for table, columns in TIMES.items():
                for key, *old in db.execute(
                        f"SELECT key, {', '.join(columns)} FROM {table}"):
                    sets = ", ".join(f"{c} = ?" for c in columns)
                    db.execute(f"UPDATE {table} SET {sets} WHERE key = ?",
                               (*[earlier(x, ms) for x in old], key))
            db.commit()


# -- fixtures; a test file imports them by name --------------------------------


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    if double.missing() is not None:
        pytest.skip(double.missing())
    with Machine(tmp_path_factory.mktemp("machine")) as m:
        yield m


@pytest.fixture
def scene(machine, agent, short_dir):
    with Scene(machine, agent, short_dir) as s:
        yield s


@pytest.fixture
def outage(scene):
    """A world that knew both targets, and the first one has just gone."""
    scene.a, scene.b = scene.pair()
    scene.settle()
    scene.a.close()
    scene.start = scene.dump()
    return scene
