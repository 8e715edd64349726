"""`dnsfailover once` with every provider that has an API: a real Knot serves
what the provider's double holds, as its own name servers would, and what
holds is judged by what Knot answers."""

import contextlib
import json
import threading

import pytest

import servers
from contract import backend as contract
from contract import dnsdata
from world import rows, target, zone_text

# pytest finds fixtures by their names here.
assert target

ZONE = contract.ZONE
WWW = f"www.{ZONE}"
# Their servers serve what they are given: tests of their own.
OWN_DNS = ("hook", "ispconfig", "rfc2136", "zonefile")
APIS = [b for b in contract.backends() if b.name not in OWN_DNS]


class Served:
    """with Served(directory, backend) as s: s.ns serves what the backend
    holds; a change is served before its writer has the answer."""

    def __init__(self, directory, backend):
        self._backend = backend
        self._state = backend.truth()
        self._serial = 1
        self._lock = threading.Lock()
        self.ns = servers.Knot(directory, {ZONE: self._text()}, axfr=True)

    def _text(self):
        held = "\n".join(dnsdata.line(r) for r in self._state if r.enabled)
        return zone_text(ZONE, held, serial=self._serial)

    def _look(self):
        with self._lock:
            state = self._backend.truth()
            if state == self._state:
                return
            self._state = state
            self._serial += 1
            self.ns.zone_file(ZONE).write_text(self._text())
            self.ns.reload(ZONE)
            self.ns.wait_serial(ZONE, self._serial)

    def _watch(self, double, answer):
        made = getattr(double, answer)

        def answer_and_serve(*arguments):
            got = made(*arguments)
            self._look()
            return got

        setattr(double, answer, answer_and_serve)

    def __enter__(self):
        self.ns.start()
        self._watch(*self._backend.answering())
        return self

    def __exit__(self, *_):
        self.ns.stop()


@pytest.fixture(params=APIS, ids=lambda cls: cls.__name__.lower())
def place(request, tmp_path, tools):
    """A started backend."""
    cls = request.param
    if cls.missing() is not None:
        pytest.skip(cls.missing())
    b = cls(tmp_path / "api", tools)
    with contextlib.ExitStack() as stack:
        stack.callback(b.stop)
        b.start()
        yield b


def configure(directory, backend, ns):
    """Writes the configuration; secrets come from the environment."""
    path = directory / "dnsfailover.conf"
    options = "\n".join(f'    {k} = "{v}"'
                        for k, v in backend.options().items())
    path.write_text(f"""
agent {{
    state = "{directory}/state/state.db"
    allow-targets = {{"127.0.0.0/8"}}
    min-period = "10ms"
}}
provider api {{
    type = {backend.name}
{options}
}}
zone "{ZONE}" {{
    provider = api
    servers = {{"{ns.server}"}}
    discover = axfr
}}
""")
    return path


def test_out_and_back(agent, tmp_path, target, place):  # noqa: F811
    """A spec found in DNS, a value out and back, DNS shows each."""
    ttl = place.ttls[0]
    pair = [target("127.0.0.2"), target("127.0.0.3")]
    a, b = pair
    text = rows(*((WWW + ".", t.addr, t.port, ttl) for t in pair))
    place.seed([
        *(contract.record("www", "A", t.addr, ttl) for t in pair),
        contract.record("other", "A", "192.0.2.77", ttl),
        contract.record("_failover.www", "TXT", text, ttl)])
    first = place.truth()
    with Served(tmp_path / "ns", place) as s:
        config = configure(tmp_path, place, s.ns)

        def once():
            got = agent("once", config=config, env=place.environment())
            for secret in place.environment().values():
                assert secret not in got.stdout + got.stderr
            assert (got.returncode, got.stderr) == (0, ""), got
            return got.stdout

        def served(*values):
            assert s.ns.values(WWW, "A") == sorted(values)
            assert s.ns.values(f"other.{ZONE}", "A") == ["192.0.2.77"]
            assert s.ns.values(f"_failover.{WWW}", "TXT") != []

        assert once() == "" and place.writes() == 0
        a.close()
        said = once()
        assert f"{WWW}. A {a.addr} withdrawn: its checks fail" in said
        assert f"{WWW}. A shown by 1 of 1 " in said, said
        served(b.addr)
        written = place.writes()
        assert written > 0
        assert once() == "" and place.writes() == written
        a.open()
        said = once()
        assert f"{WWW}. A {a.addr} published: healthy records" in said
        assert f"{WWW}. A shown by 1 of 1 " in said, said
        served(a.addr, b.addr)
        assert place.truth() == first
        written = place.writes()
        assert once() == "" and place.writes() == written
        got = agent("status", "--json", config=config,
                    env=place.environment())
        assert json.loads(got.stdout)["problems"] == [], got.stdout
