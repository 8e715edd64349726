"""Whoever reports what a provider said names the provider, and nobody below
does: its title stands exactly once in each line."""

import collections
import concurrent.futures
import contextlib

import pytest

import net
import servers
from contract import backend as contract
from world import rows, zone_text

ZONE = contract.ZONE
WWW = f"www.{ZONE}"
TITLE = "acme7"  # nothing else is called so
ALIVE, DEAD = "127.0.0.2", "127.0.0.3"
READING = ("unauthorized", "broken", "garbled", "closed")
WRITING = ("forbidden", "refused")
AT_ONCE = 16  # they mostly wait: for the pauses between tries


# What the backends share: the program, a name server that has the spec, the
# file of that, an address where nobody listens.
World = collections.namedtuple("World", "agent server spec nobody")


class Said:
    """What the program says of one backend's faults: {(fault, command): its
    lines}."""

    def __init__(self, cls, directory, tools, world):
        self.world, self.dir = world, directory
        self.dir.mkdir()
        self.lines = {}
        backend = cls(directory / "api", tools)
        with contextlib.ExitStack() as stack:
            stack.callback(backend.stop)
            backend.start()
            for fault in READING + WRITING:
                backend.heal()
                backend.seed([contract.record("www", "A", x, backend.ttls[0])
                              for x in (ALIVE, DEAD)])
                with contextlib.suppress(NotImplementedError):
                    self._look(backend, fault)

    def _look(self, backend, fault):
        if fault != "closed":
            getattr(backend, f"fault_{fault}")()
        self._run(backend, fault, "once")
        if fault in READING:
            self._run(backend, fault, "doctor")
        if fault in ("garbled", "closed"):
            self._run(backend, fault, "publish", WWW, self.world.spec,
                      "--write")

    def _run(self, backend, fault, command, *arguments):
        options = dict(backend.options())
        if fault == "closed":
            options |= closed(options, self.world.nobody)
        path = self.dir / f"{fault}-{command}.conf"
        path.write_text("\n".join([
            "agent {", f'  state = "{self.dir}/{fault}-{command}/state.db"',
            '  allow-targets = {"127.0.0.0/8"}', '  min-period = "10ms"', "}",
            f"provider {TITLE} {{", f"  type = {backend.name}",
            *(f'  {k} = "{v}"' for k, v in options.items()), "}",
            f'zone "{ZONE}" {{', f"  provider = {TITLE}",
            f'  servers = {{"{self.world.server}"}}',
            '  names = {"www"}', "}"]) + "\n")
        got = self.world.agent(command, *arguments, config=path,
                               env=backend.environment())
        self.lines[fault, command] = (got.stdout + got.stderr).splitlines()


def closed(options, nobody):
    """The options that lead to where nobody is."""
    if "url" in options:
        return {"url": f"http://{nobody}/"}
    if "server" in options:
        return {"server": nobody}
    if "command" in options:
        return {"command": "/nonexistent/hook"}
    return {"file": "/nonexistent/{zone}.zone"}


@pytest.fixture(scope="module")
def said(agent, tools, tmp_path_factory):
    """{backend: a future of Said}"""
    directory = tmp_path_factory.mktemp("said")
    with contextlib.ExitStack() as stack:
        alive = stack.enter_context(net.Listener(ALIVE))
        text = rows(*((WWW + ".", x, alive.port) for x in (ALIVE, DEAD)))
        ns = stack.enter_context(servers.Knot(directory / "ns", {
            ZONE: zone_text(ZONE, f"www A {ALIVE}\nwww A {DEAD}",
                            {"www": text})}))
        world = World(agent, ns.server, directory / "spec.json",
                      f"127.0.0.1:{net.free_port()}")
        world.spec.write_text(text)
        pool = stack.enter_context(
            concurrent.futures.ThreadPoolExecutor(AT_ONCE))
        yield {cls: pool.submit(Said, cls, directory / cls.__name__, tools,
                                world)
               for cls in contract.backends() if cls.missing() is None}


@pytest.mark.parametrize("cls", contract.backends(),
                         ids=lambda cls: cls.__name__.lower())
def test_title_once(said, cls):
    if cls.missing() is not None:
        pytest.skip(cls.missing())
    for (fault, command), lines in said[cls].result().lines.items():
        place = f"{fault}, {command}: {lines}"
        told = [x.count(TITLE) for x in lines]
        assert 1 in told and max(told) == 1, place
        assert [x for x in lines if x.startswith("dnsfailover: ")
                and TITLE not in x and "has never been up" not in x] == [], place


@pytest.mark.parametrize("kind, options", {
    "zonefile": {"file": "/f/{zone}", "key-file": "/nonexistent"},
    "rfc2136": {"server": "127.0.0.1", "key-file": "/nonexistent"},
    "ispconfig": {"url": "http://127.0.0.1/", "user": "u",
                  "password-file": "/nonexistent"},
    "hetzner": {"token-file": "/nonexistent"},
    "powerdns": {"url": "http://127.0.0.1/", "api-key": "k",
                 "ca-file": "/nonexistent"},
    "route53": {"access-key-id": "A",
                "secret-access-key-file": "/nonexistent"},
    "hook": {"command": "'"},
}.items())
def test_title_once_before_any_call(agent, tmp_path, kind, options):
    """An option that cannot be used is named once, too."""
    path = tmp_path / "conf"
    path.write_text("\n".join([
        f'agent {{ state = "{tmp_path}/state.db" }}', f"provider {TITLE} {{",
        f"  type = {kind}", *(f'  {k} = "{v}"' for k, v in options.items()),
        "}", f'zone "{ZONE}" {{', f"  provider = {TITLE}", "}"]) + "\n")
    path.chmod(0o600)
    option = list(options)[-1]
    for command in ("once", "doctor", "publish"):
        more = (WWW, path, "--write") if command == "publish" else ()
        got = agent(command, *more, config=path)
        said = [x for x in (got.stdout + got.stderr).splitlines()
                if option in x and "change:" not in x]
        assert len(said) == 1, got.stdout + got.stderr
        assert said[0].count(TITLE) == said[0].count(option + ":") == 1, said
