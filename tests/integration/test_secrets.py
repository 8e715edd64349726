"""Secrets never get into arguments, output, history, state or commands, not
even where the server sends them back; a file that others can read is refused.

A zone file has no secret. What dumps hold is the subject of test_core.c.
"""

import base64
import json
import os
import pathlib
import stat
import subprocess
from xml.sax.saxutils import escape

import pytest

from contract.backend import record
from dnsupdate.servers import DynamicBind
from ispconfig import double as panel_double
from ispconfig.scene import machine, scene
from restapi import cloudflare, dnsimple, powerdns
from restapi.server import Answer, Server
from route53 import double as route53_double
import servers
from world import USER, ZONE, rows, zone_text

assert machine and scene

SECRET = "sEcReT-7f3a9c1e-kEpT-5b2d-0123456789"
TOKEN = "tOkEn-c4e8-6a1f9d73-kEpT-9876543210"
WINDOW = 8  # so many bytes in a row give it away
WWW = f"www.{ZONE}"
A, B = "127.0.0.2", "127.0.0.3"
SPEC = rows((WWW + ".", A, 9, "60"), (WWW + ".", B, 9, "60"))
OTHER = rows((WWW + ".", A, 9, "60"))
# option: (variable, secret) for each, and what else a section holds.
TYPES = {
    "ispconfig": ({"password": ("ISPCONFIG_PASSWORD", SECRET)},
                  {"user": "agent"}),
    "powerdns": ({"api-key": ("PDNS_API_KEY", SECRET)}, {}),
    "dnsimple": ({"token": ("DNSIMPLE_TOKEN", SECRET)}, {}),
    "cloudflare": ({"token": ("CLOUDFLARE_API_TOKEN", SECRET)}, {}),
    "route53": ({"secret-access-key": ("AWS_SECRET_ACCESS_KEY", SECRET),
                 "session-token": ("AWS_SESSION_TOKEN", TOKEN)},
                {"access-key-id": "AKIDEXAMPLE"}),
}
WAYS = ("file", "option", "environment")


def fragments(secrets):
    for secret in secrets:
        for text in (secret, base64.b64encode(secret.encode()).decode()):
            for i in range(len(text) - WINDOW + 1):
                yield text[i:i + WINDOW].encode()


class Echo(Server):
    """Refuses everything, and sends back all that it got."""

    def __init__(self, kind, mode):
        super().__init__()
        self.kind, self.mode = kind, mode
        self.path = "/remote/index.php" if kind == "ispconfig" else ""
        self.own = [secret for _, secret in TYPES[kind][0].values()]

    def handle(self, request):
        # The cut of a long text meets each place of the secret once.
        pad = "x" * (len(self.requests) * 5 % 400)
        said = " ".join([pad, "you sent", *self.own, request.text,
                         *request.headers.values(), *self.own])
        if self.mode == "redirect":
            return Answer(302, "", {
                "Location": f"https://x/{''.join(self.own)}"})
        if self.mode == "page":
            return Answer(403, f"<html><b>{escape(said)}</b></html>",
                          kind="text/html")
        status = int(self.mode)
        if self.kind == "ispconfig":
            return Answer(500, (
                '<SOAP-ENV:Envelope xmlns:SOAP-ENV="http://schemas.xmlsoap.'
                'org/soap/envelope/"><SOAP-ENV:Body><SOAP-ENV:Fault>'
                "<faultcode>login_failed</faultcode><faultstring>"
                f"{escape(said)}</faultstring></SOAP-ENV:Fault>"
                "</SOAP-ENV:Body></SOAP-ENV:Envelope>"), kind="text/xml")
        if self.kind == "route53":
            return Answer(status, (
                '<ErrorResponse xmlns="https://route53.amazonaws.com/doc/'
                '2013-04-01/"><Error><Type>Sender</Type><Code>'
                f"SignatureDoesNotMatch</Code><Message>{escape(said)}"
                "</Message></Error></ErrorResponse>"), kind="text/xml")
        return Answer(status, {
            "success": False, "result": None, "messages": [], "message": said,
            "error": said, "errors": [{"code": 1000, "message": said}]})


class Watched:
    """Runs the program, and looks for the secrets in all it leaves."""

    def __init__(self, agent, directory, secrets=(SECRET, TOKEN)):
        self.agent, self.dir = agent, pathlib.Path(directory)
        self.bad = sorted(set(fragments(secrets)))
        self.config = self.dir / "dnsfailover.conf"
        self.heard = self.dir / "heard"
        self.notify = self.dir / "notify.sh"
        self.notify.write_text(f'#!/bin/sh\n{{ echo "$0 $@"; env; cat; }} '
                               f'>> {self.heard}\n')
        self.notify.chmod(0o755)

    def configure(self, kind, options, server, mode=0o600):
        lines = "\n".join(f'  {k} = "{v}"' for k, v in options.items())
        self.config.write_text(f"""\
agent {{
  state = "{self.dir}/state/state.db"
  allow-targets = {{"127.0.0.0/8"}}
  min-period = "10ms"
  notify = "{self.notify}"
  {f'user = "{USER}"' if USER else ''}
}}
provider p {{
  type = {kind}
{lines}
}}
zone "{ZONE}" {{
  provider = p
  discover = names
  names = {{"www"}}
  servers = {{"{server}"}}
}}
""")
        self.config.chmod(mode)

    def look(self, what, data):
        for part in self.bad:
            assert part not in data, (what, part, data[-3000:])

    def run(self, *arguments, env=None, text=None):
        process = subprocess.Popen(
            [self.agent.path, "-c", str(self.config), *arguments],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, env={**os.environ, **(env or {})})
        # It waits for its standard input, or runs: its arguments are there.
        self.look("arguments", pathlib.Path(
            f"/proc/{process.pid}/cmdline").read_bytes())
        out, err = process.communicate((text or "").encode(), timeout=60)
        assert process.returncode in (0, 1, 2), (arguments, out, err)
        self.look(arguments, out)
        self.look(arguments, err)
        return process.returncode, (out + err).decode()

    def all(self, env=None, commands=None):
        """Every command that talks to a provider; returns what they said."""
        said = []
        for arguments, text in commands or (
                (("once", "-v", "--deadline", "5s"), None),
                (("plan", "-v"), None),
                (("doctor", "-v", "--json"), None),
                (("publish", WWW, "-", "--write", "--deadline", "1s"), OTHER),
                (("history",), None), (("status", "--json"), None)):
            said.append(self.run(*arguments, env=env, text=text))
        self.look_around()
        return said

    def look_around(self):
        for path in [self.heard, *(self.dir / "state").glob("**/*")]:
            if path.is_file():
                self.look(path, path.read_bytes())

    def give(self, kind, way, more, mode=0o600):
        """The secrets by that way. returns (options, environment)"""
        secrets, fixed = TYPES[kind]
        options, env = {**fixed, **more}, {}
        for option, (variable, secret) in secrets.items():
            if way == "file":
                path = self.dir / f"{option}.secret"
                path.write_text(secret + "\n")
                path.chmod(mode)
                options[f"{option}-file"] = path
            elif way == "option":
                options[option] = secret
            else:
                env[variable] = secret
        return options, env


@pytest.fixture(scope="module")
def ns(tmp_path_factory):
    with servers.Bind(tmp_path_factory.mktemp("ns"), {ZONE: zone_text(
            ZONE, f"www 60 IN A {A}\nwww 60 IN A {B}", {"www": SPEC})}) as s:
        yield s


@pytest.fixture
def watched(agent, short_dir):
    return Watched(agent, short_dir)


# -- servers that send them back ------------------------------------------------


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", TYPES)
def test_refused_and_sent_back(kind, way, watched, ns):
    with Echo(kind, "403") as echo:
        options, env = watched.give(kind, way, {"url": echo.url + echo.path})
        watched.configure(kind, options, ns.server)
        said = watched.all(env)
        # It got there, and said so; notify was told.
        assert echo.requests and said[0][0] == 1 and said[3][0] == 1, said
        assert "you sent" in str(said), said
        assert watched.heard.exists()
        if kind == "route53":
            assert TOKEN in str([r.headers.values() for r in echo.requests])


@pytest.mark.parametrize("mode", ["400", "401", "500", "page", "redirect"])
@pytest.mark.parametrize("kind", TYPES)
def test_other_answers_that_send_them_back(kind, mode, watched, ns):
    """Many requests: the place where a long text is cut moves."""
    with Echo(kind, mode) as echo:
        options, _ = watched.give(kind, "file", {"url": echo.url + echo.path})
        watched.configure(kind, options, ns.server)
        commands = [(("doctor", "-v", "--json"), None)]
        if mode != "500":  # which once tries again
            commands.append((("once", "-v", "--deadline", "2s"), None))
        watched.all(commands=commands)
        assert echo.requests


@pytest.mark.parametrize("kind", [k for k in TYPES if k != "ispconfig"])
def test_where_a_long_answer_is_cut(kind, watched, ns):
    with Echo(kind, "403") as echo:
        options, _ = watched.give(kind, "file", {"url": echo.url})
        watched.configure(kind, options, ns.server)
        for pad in range(40, 80, 2):
            echo.requests.extend([None] * (pad - len(echo.requests)))
            watched.run("doctor", "--json")


# -- servers where all is well ----------------------------------------------------


def healthy(watched, kind, url, ns_server, given, **more):
    options = {**TYPES[kind][1], "url": url, **more}
    for option, secret in given.items():
        path = watched.dir / f"{option}.secret"
        path.write_text(secret + "\n")
        path.chmod(0o600)
        options[f"{option}-file"] = path
    watched.configure(kind, options, ns_server)
    return watched.all()


def seeded(api):
    api.seed(ZONE, [(WWW, "A", 60, A), (WWW, "A", 60, B),
                    (f"_failover.{WWW}", "TXT", 60, SPEC)])
    return api


@pytest.mark.parametrize("kind, double", [
    ("cloudflare", cloudflare.Cloudflare), ("dnsimple", dnsimple.DNSimple)])
def test_accepted_by_an_api(kind, double, agent, short_dir, ns):
    with double() as api:
        w = Watched(agent, short_dir, [api.token])
        seeded(api)
        said = healthy(w, kind, api.url, ns.server, {"token": api.token})
        assert "takes the token" in said[2][1] and api.writes > 0


def test_accepted_by_route53(agent, short_dir, ns):
    with route53_double.Route53() as d:
        d.token = TOKEN
        zone = d.add_zone(ZONE)
        zone.put(WWW, "A", 60, [A, B])
        w = Watched(agent, short_dir, [d.secret, TOKEN])
        said = healthy(w, "route53", d.url, ns.server, {
            "secret-access-key": d.secret, "session-token": TOKEN},
            **{"access-key-id": d.id})
        assert "takes the access key" in said[2][1] and d.accepted > 0


@pytest.mark.skipif(powerdns.missing() is not None,
                    reason=str(powerdns.missing()))
def test_accepted_by_powerdns(agent, short_dir, ns):
    with powerdns.PowerDNS(short_dir / "pdns") as p:
        p.make_zone(ZONE, [(WWW + ".", "A", 60, [(A, False), (B, False)])])
        w = Watched(agent, short_dir, [powerdns.KEY])
        said = healthy(w, "powerdns", p.url, ns.server,
                       {"api-key": powerdns.KEY})
        assert "takes the api-key" in said[2][1]


@pytest.mark.skipif(servers.find("named") is None, reason="no named")
@pytest.mark.parametrize("good", [True, False])
def test_a_tsig_key(agent, short_dir, good):
    with DynamicBind(short_dir / "ns", ZONE) as d:
        d.seed([record("www", "A", A, 60), record("www", "A", B, 60),
                record("_failover.www", "TXT", SPEC, 60)])
        key = d.key_file() if good else d.bad_key_file()
        own = key.read_text().split('secret "')[1].split('"')[0]
        w = Watched(agent, short_dir, [own, d.keys["main"][1]])
        w.configure("rfc2136", {"server": d.server, "key-file": key}, d.server)
        said = w.all()
        assert ("may change A" in said[2][1]) == good, said
        # What is wrong in the file is told without what stands there.
        for text in (f'key "main" {{ algorithm hmac-sha256; secret "{own}$"; }};',
                     f'key "main" {{ secret "{own}"; }};',
                     f'key main {own}', own,
                     f'key "main" {{ algorithm "{own}"; secret "x"; }};'):
            key.write_text(text)
            code, out = w.run("plan")
            assert code != 0 and str(key) in out, out


@pytest.mark.skipif(panel_double.missing() is not None,
                    reason=str(panel_double.missing()))
def test_accepted_by_a_panel(scene, agent, short_dir):
    """The password, and the session's id that it was given."""
    scene.pair()
    scene.serve()
    w = Watched(agent, scene.dir, [scene.isp.password])
    scene.configure(agent=f'  notify = "{w.notify}"')
    for how in (("once", "-v"), ("plan", "-v"), ("doctor", "-v", "--json")):
        w.run(*how)
    w.look_around()


# -- files that others can read ------------------------------------------------------


@pytest.mark.parametrize("kind", TYPES)
def test_a_file_that_others_can_read(kind, watched, ns):
    """Named, with the command that helps; nobody is asked."""
    with Echo(kind, "403") as echo:
        options, _ = watched.give(kind, "file", {"url": echo.url + echo.path},
                                  mode=0o644)
        watched.configure(kind, options, ns.server)
        for code, said in watched.all():
            if code == 0:
                continue  # history, status
            assert ": others can read it; to keep it secret: chmod 600 " \
                f"{watched.dir}/" in said, said
        assert not echo.requests
        watched.look_around()


@pytest.mark.parametrize("kind", TYPES)
def test_a_configuration_that_others_can_read(kind, watched, ns):
    with Echo(kind, "403") as echo:
        options, _ = watched.give(kind, "option", {"url": echo.url + echo.path})
        watched.configure(kind, options, ns.server, mode=0o644)
        for command in (("once", "-v"), ("plan",), ("doctor", "--json")):
            code, said = watched.run(*command)
            assert code == 2 and str(watched.config) in said, said
            assert "chmod" in said, said
        assert not echo.requests
        assert stat.S_IMODE(watched.config.stat().st_mode) == 0o644


def test_no_option_of_the_command_line_takes_one(agent):
    for command in ("once", "run", "plan", "doctor", "publish"):
        text = agent(command, "--help").stdout
        for word in ("--token", "--password", "--key", "--secret"):
            assert word not in text
    # Nor does any provider have a secret without a file for it.
    for line in agent("providers", "--json").stdout.splitlines():
        options = {o["name"] for o in json.loads(line)["options"]}
        for name in options & {"password", "token", "api-key", "session-token",
                               "secret-access-key"}:
            assert f"{name}-file" in options
