"""The Route 53 provider's tests: the tool against the double."""

import json
import os
import subprocess

import pytest

import npm
from route53 import double, sigv4

ORG = "example.org"
WWW = "www.example.org"
A, B, C, D = "192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4"
LIST, CHANGE = "ListResourceRecordSets", "ChangeResourceRecordSets"
FIND = "ListHostedZonesByName"


def publish(data, name=WWW, kind="A", ttl="-"):
    return ["publish", name, kind, data, str(ttl)]


def withdraw(data, name=WWW, kind="A"):
    return ["withdraw", name, kind, data, "-"]


def apply(*changes, zone=ORG):
    return ["apply", zone, *sum(changes, [])]


class Answer(dict):
    """The first answer of the tool; .code, .all."""

    def __init__(self, done):
        self.all = [json.loads(x) for x in done.stdout.splitlines()]
        self.code, self.stderr = done.returncode, done.stderr
        super().__init__(self.all[0] if self.all else {})

    def states(self):
        return [r["state"] for r in self["results"]]

    def why(self):
        """Every text of an error."""
        found = [self.get("text")] + [
            r.get("text") for r in self.get("results", [])]
        return " | ".join(x for x in found if x)

    def sets(self):
        return {(s["name"], s["type"]): (s["ttl"], sorted(
            v["data"] for v in s["values"])) for s in self["sets"]}


class World:
    """r53(command…, options={…}, env={…}) runs the tool; r53.double."""

    def __init__(self, tools, d):
        self.tool, self.double = tools / "provider", d
        self.zone = d.add_zone(ORG)

    def __call__(self, *command, options=(), env=None, timeout_s=60):
        given = {"url": self.double.url, "access-key-id": self.double.id,
                 **dict(options)}
        how = {k: v for k, v in os.environ.items()
               if not k.startswith("AWS_")}
        how["AWS_SECRET_ACCESS_KEY"] = self.double.secret
        if self.double.token:
            how["AWS_SESSION_TOKEN"] = self.double.token
        how.update(env or {})
        done = subprocess.run(
            [self.tool, "route53",
             *[f"{k}={v}" for k, v in given.items() if v is not None], "--",
             *map(str, command)],
            capture_output=True, text=True, timeout=timeout_s, check=False,
            env={k: v for k, v in how.items() if v is not None},
            stdin=subprocess.DEVNULL)
        assert done.returncode in (0, 1), done.stdout + done.stderr
        assert "Sanitizer" not in done.stderr, done.stderr
        for secret in (self.double.secret, self.double.token):
            assert not secret or secret not in done.stdout + done.stderr
        return Answer(done)

    def put(self, name, rdtype, *values, ttl=60, **more):
        self.zone.put(f"{name}.{ORG}", rdtype, ttl, values, **more)

    def values(self, name, rdtype="A", set_id=None):
        """What the set of the double holds now; None: no set."""
        s = self.zone.sets.get((f"{name}.{ORG}.", rdtype, set_id))
        return None if s is None else sorted(s.values)

    def count(self, action):
        return self.double.actions().count(action)


@pytest.fixture
def r53(tools):
    with double.Route53() as d:
        yield World(tools, d)


@pytest.fixture(scope="session")
def modules(root):
    """node_modules with aws4 and Amazon's client, or a skip."""
    return npm.modules(root, "route53", "aws4", 20)


@pytest.fixture
def signed(r53, modules, root):
    """r53 whose double checks each signature with npm aws4 as well."""
    aws4 = sigv4.Aws4(root / "tests" / "route53" / "sign.cjs", modules)
    r53.double.aws4 = aws4
    yield r53
    aws4.close()
