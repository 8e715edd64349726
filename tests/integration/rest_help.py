"""What the tests of the REST providers share: the tool, and fixtures."""

import json
import os
import subprocess

import pytest

from restapi import cloudflare, dnsimple

ZONE = "example.org"


class Tool:
    """tool("cloudflare", {"url": …, "token": …}, "zones") → answers"""

    def __init__(self, tools):
        self.path = str(tools / "provider")

    def __call__(self, kind, options, *command, code=0, env=None):
        got = subprocess.run(
            [self.path, kind, *(f"{k}={v}" for k, v in options.items()), "--",
             *map(str, command)], capture_output=True, text=True, timeout=60,
            env={**os.environ, **(env or {})}, stdin=subprocess.DEVNULL)
        assert got.returncode == code, got.stdout + got.stderr
        self.stderr = got.stderr
        return [json.loads(x) for x in got.stdout.splitlines()]


def states(answer):
    return [r["state"] for r in answer["results"]]


def values(answer):
    """{"www.example.org. A": {data: enabled}}"""
    return {f"{s['name']} {s['type']}":
            {v["data"]: v["enabled"] for v in s["values"]}
            for s in answer["sets"]}


@pytest.fixture
def tool(tools):
    return Tool(tools)


@pytest.fixture
def cf():
    with cloudflare.Cloudflare() as api:
        api.options = {"url": api.url, "token": api.token}
        yield api


@pytest.fixture
def simple():
    with dnsimple.DNSimple() as api:
        api.options = {"url": api.url, "token": api.token}
        yield api
