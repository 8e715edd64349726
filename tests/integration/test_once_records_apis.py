"""once --provider route53|dnsimple from the environment alone, as the small
tools for these two work: against the doubles, whose zones nobody serves."""

import pytest

from rest_help import simple  # noqa: F401
from route53 import double
from test_once_records import done, web  # noqa: F401

ZONE = "example.org"
WWW = f"www.{ZONE}."
NOBODY = "127.0.0.1:1"  # refuses at once


@pytest.fixture
def hosts(web):  # noqa: F811
    return web("127.0.0.2", "127.0.0.3")


@pytest.fixture
def tool(agent, hosts, tmp_path):
    """tool("dnsimple", {…env}, option…): the names that those tools read; the
    port is the tests' own, and resolvers that cannot be asked."""
    config = tmp_path / "resolver.conf"
    config.write_text(f'agent {{ state = "{tmp_path}/state/state.db" }}\n'
                      f'resolver {{ servers = {{"{NOBODY}"}} }}\n')

    def run(kind, env, *arguments, command="once", **names):
        return agent(command, "--provider", kind, "--check",
                     f"http:{hosts.port}/", "--timeout", "2s", *arguments,
                     config=config, env={
                         "DNS_TARGET_DOMAIN": ZONE, "DNS_TARGET_RR": "www",
                         "DNS_TARGET_HOSTS": ",".join(hosts.addrs),
                         **env, **names})

    return run


# -- the two, alike -----


class Simple:
    kind = "dnsimple"

    def __init__(self, api):
        self.api = api
        self.env = {"DNSIMPLE_URL": api.url, "DNSIMPLE_TOKEN": api.token}
        api.seed(ZONE, [("other", "A", 60, "192.0.2.77")])

    def put(self, *values):
        self.api.seed(ZONE, [("www", "A", 60, v) for v in values])

    def values(self):
        return {(r["content"], r["ttl"]) for r in self.api.zones[ZONE]
                if r["name"] == "www" and r["type"] == "A"}

    def secrets(self):
        return [self.api.token]


class Route53:
    kind = "route53"

    def __init__(self, d):
        self.double = d
        self.zone = d.add_zone(ZONE)
        self.zone.put(f"other.{ZONE}", "A", 60, ["192.0.2.77"])
        self.env = {"ROUTE53_URL": d.url, "AWS_ACCESS_KEY": d.id,
                    "AWS_SECRET_ACCESS_KEY": d.secret}

    def put(self, *values):
        self.zone.put(f"www.{ZONE}", "A", 60, values)

    def values(self):
        s = self.zone.sets.get((WWW, "A", None))
        return set() if s is None else {(v, s.ttl) for v in s.values}

    def secrets(self):
        return [self.double.secret]


@pytest.fixture(params=["dnsimple", "route53"])
def place(request):
    if request.param == "dnsimple":
        yield Simple(request.getfixturevalue("simple"))
        return
    with double.Route53() as d:
        yield Route53(d)


def test_life(tool, hosts, place):
    """Made, removed when dead, made again; nothing is written at rest."""
    def once(*arguments, **how):
        got = tool(place.kind, place.env, *arguments, **how)
        for secret in place.secrets():
            assert secret not in got.stdout + got.stderr
        return got

    done(once(command="plan"), f"{WWW} A 127.0.0.2 would be published")
    assert place.values() == set()
    done(once(), f"{WWW} A 127.0.0.2 published")
    both = {("127.0.0.2", 600), ("127.0.0.3", 600)}
    assert place.values() == both
    done(once(), f"{WWW} A found: 127.0.0.2 127.0.0.3")
    hosts.status["127.0.0.3"] = 500
    done(once(), f"{WWW} A 127.0.0.3 withdrawn")
    assert place.values() == {("127.0.0.2", 600)}
    hosts.status["127.0.0.2"] = 301
    done(once(), "all dead: ", f"{WWW} A 127.0.0.2 withdrawn")
    assert place.values() == set()
    hosts.status = dict.fromkeys(hosts.addrs, 200)
    done(once(), f"{WWW} A 127.0.0.2 published")
    assert place.values() == both


def test_backup_and_foreign(tool, hosts, place):
    """The backup of the environment; a value that nobody named stays."""
    place.put("127.0.0.2", "192.0.2.88")
    hosts.status = dict.fromkeys(hosts.addrs, 503)
    done(tool(place.kind, place.env, DNS_BACKUP_HOSTS="192.0.2.3"),
         "all dead: ", f"{WWW} A 192.0.2.3 published")
    assert {v for v, _ in place.values()} == {"192.0.2.3", "192.0.2.88"}


def test_missing_zone(tool, place):
    for _ in range(2):
        got = tool(place.kind, place.env, DNS_TARGET_DOMAIN="example.net")
        assert got.returncode == 1, got.stdout + got.stderr
    assert place.values() == set()


def test_wrong_secret(tool, place):
    """Exit 1 and no change; the message names no secret."""
    env = {k: v + "x" if "TOKEN" in k or "SECRET" in k else v
           for k, v in place.env.items()}
    got = tool(place.kind, env)
    assert got.returncode == 1, got.stdout + got.stderr
    assert place.values() == set()


def test_without_secret(tool, place):
    env = {k: "" if "TOKEN" in k or "SECRET" in k else v
           for k, v in place.env.items()}
    got = tool(place.kind, env)
    assert got.returncode == 1
    assert "AWS_SECRET_ACCESS_KEY" in got.stderr or (
        "DNSIMPLE_TOKEN" in got.stderr), got.stderr


def test_no_file_at_all(agent, hosts, place, short_dir):
    """Without -c; the servers that are named refuse, and that is told when
    it lasts."""
    got = agent("once", "--provider", place.kind, "--zone", ZONE,
                "--servers", NOBODY, "--record", "www", "--targets",
                "127.0.0.2", "--check", f"tcp:{hosts.port}", "--ttl", "60",
                env={**place.env, "STATE_DIRECTORY": str(short_dir / "s")})
    done(got, f"{WWW} A 127.0.0.2 published", f"is not shown by {NOBODY} yet")
    assert place.values() == {("127.0.0.2", 60)}
