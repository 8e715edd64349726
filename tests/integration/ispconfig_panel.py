"""The ISPConfig provider's test tool, run against the double."""

import json
import os
import subprocess

import pytest

from ispconfig import double
from ispconfig.double import IspConfig
from ispconfig.fixtures import TABLES

WWW = "www.example.org"
needs_double = pytest.mark.skipif(
    double.missing() is not None, reason=str(double.missing())
)


class Run:
    """One run of the tool: exit code and answers."""

    def __init__(self, done):
        self.code = done.returncode
        self.stderr = done.stderr
        self.answers = [json.loads(x) for x in done.stdout.splitlines()]

    def __getitem__(self, key):
        return self.answers[0][key]

    @property
    def text(self):
        return self.answers[0].get("text", "")

    @property
    def err(self):
        return self.answers[0].get("err")

    def states(self, answer=0):
        return [r["state"] for r in self.answers[answer]["results"]]

    def texts(self, answer=0):
        return [r.get("text", "") for r in self.answers[answer]["results"]]


def run_tool(tools, url, user, password, *arguments, **options):
    command = [str(tools / "provider"), "ispconfig", f"url={url}",
               f"user={user}"]
    command += [f"{k.replace('_', '-')}={v}" for k, v in options.items()]
    done = subprocess.run(
        [*command, "--", *map(str, arguments)], capture_output=True,
        text=True, timeout=100,
        env=dict(os.environ, ISPCONFIG_PASSWORD=password),
    )
    assert done.returncode in (0, 1), done.stderr
    assert "Sanitizer" not in done.stderr, done.stderr
    assert password not in done.stdout + done.stderr
    return Run(done)


class Panel:
    """The double with one zone, two rows of www, and foreign rows."""

    def __init__(self, isp, tools):
        self.isp = isp
        self.tools = tools
        self.zone = isp.add_zone("example.org.")
        self.ns = isp.add_rr(self.zone, "", "NS", "ns1.example.org.")
        self.one = isp.add_rr(self.zone, "www", "A", "192.0.2.1")
        self.two = isp.add_rr(self.zone, "www.example.org.", "A",
                              "192.0.2.2")
        self.mail = isp.add_rr(self.zone, "mail", "A", "192.0.2.1")
        self.other = isp.add_zone("example.net.")
        isp.add_rr(self.other, "www", "A", "192.0.2.1")
        self.start = {r["id"]: r for r in isp.rrs()}
        self.soa_start = isp.soa(self.zone)

    def __call__(self, *arguments, url=None, **options):
        isp = self.isp
        if url is None and not options.keys() & {"ca_file", "pin_sha256"}:
            options["pin_sha256"] = isp.pin
        return run_tool(self.tools, url or isp.url, isp.user, isp.password,
                        *arguments, **options)

    def changed(self):
        """{id: {column: new}} against the start; rows that are new or gone
        as None."""
        now = {r["id"]: r for r in self.isp.rrs()}
        out = {}
        for key in self.start.keys() | now.keys():
            old, new = self.start.get(key), now.get(key)
            if old is None or new is None:
                out[key] = None
            elif old != new:
                out[key] = {c: new[c] for c in new if new[c] != old[c]}
        return out

    def serial_moved(self):
        return self.isp.serial(self.zone) != self.soa_start["serial"]

    def writes(self):
        return [c for c in self.isp.calls("dns_*")
                if c["method"].endswith(("_update", "_add", "_delete"))
                and (c["args"] is None or c["args"][2] != "0")]

    def serial_asked(self):
        return [c["args"][4] for c in self.writes()]


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    with IspConfig(tmp_path_factory.mktemp("provider")) as isp:
        yield isp


@pytest.fixture
def panel(running, tools):
    """The one double of this file, emptied for each test."""
    for table in TABLES:
        running.sql(f"DELETE FROM {table}")
    running.set_functions(double.MINIMUM)
    return Panel(running, tools)


@pytest.fixture
def own_panel(tmp_path, tools):
    """A double of the test's own, for what cannot be put back."""
    with IspConfig(tmp_path) as isp:
        yield Panel(isp, tools)


def withdraw(data, name=WWW, kind="A"):
    return ["withdraw", name, kind, data, "-"]


def publish(data, ttl="-", name=WWW, kind="A"):
    return ["publish", name, kind, data, ttl]


def apply(*changes, command="apply", zone="example.org"):
    return [command, zone, *sum(changes, [])]
