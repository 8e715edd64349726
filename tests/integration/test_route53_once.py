"""The whole program with Route 53: DNS from a real server that is given what
the double holds, as Route 53's own servers would have it."""

import json
import os
import shutil
import subprocess
import urllib.request

import pytest

import net
from route53.store import txt_bytes, unescape
from route53_help import A, B, ORG, WWW, publish, r53, withdraw  # noqa: F401
from service import Service
from world import build, checked, rows, spec, target, txt  # noqa: F401


class Scene:
    """World w whose zone is served from the double's."""

    def __init__(self, w, r53, *targets):  # noqa: F811
        self.w, self.r53, self.targets = w, r53, targets
        self.secret = w.dir / "aws.secret"
        self.secret.write_text(r53.double.secret + "\n")
        self.secret.chmod(0o600)
        for i, t in enumerate(targets):
            r53.put("www", "A", *[x.addr for x in targets[:i + 1]])
        self.spec = rows(*((WWW + ".", t.addr, t.port, 60) for t in targets))
        self.serve({"www": self.spec})
        self.configure()

    def serve(self, specs):
        """What the double holds goes to the name server."""
        for owner, text in specs.items():
            self.r53.put(f"_failover.{owner}", "TXT", '"' + text.replace(
                "\\", "\\\\").replace('"', '\\"')[:4000] + '"')
        lines = []
        for s in self.r53.zone.sets.values():
            if s.type == "A":
                lines += [f"{'.'.join(unescape(s.name))}. {s.ttl} IN A {v}"
                          for v in s.values]
            elif s.type == "TXT":
                lines += [txt('.'.join(unescape(s.name)) + ".",
                              txt_bytes(v).decode()) for v in s.values]

        def edit(text):
            head = text.split("ns IN A 127.0.0.1\n")[0]
            return head + "ns IN A 127.0.0.1\n" + "\n".join(lines) + "\n"
        self.w.edit(edit)

    def configure(self, **options):
        given = {"url": self.r53.double.url,
                 "access-key-id": self.r53.double.id,
                 "secret-access-key-file": self.secret, **options}
        lines = [f'  {k} = "{v}"' for k, v in given.items()]
        self.w.config.write_text("\n".join([
            "agent {", f'  state = "{self.w.state}"',
            '  allow-targets = {"127.0.0.0/8"}', '  min-period = "10ms"', "}",
            "provider aws {", "  type = route53", *lines, "}",
            f'zone "{ORG}" {{', "  provider = aws",
            f'  servers = {{"{self.w.ns.server}"}}', "}"]) + "\n")


@pytest.fixture
def scene(build, target, r53):  # noqa: F811
    a, b = target("127.0.0.2"), target("127.0.0.3")
    return Scene(build(), r53, a, b)


def test_once(scene):
    """Out and back; quiet rounds write nothing."""
    w, d = scene.w, scene.r53.double
    a, b = scene.targets
    got = w.once()
    assert (got.returncode, got.stdout + got.stderr) == (0, "")
    a.close()
    got = w.once()
    assert got.returncode == 0, got.stderr
    assert f"www.{ORG}. A {a.addr} withdrawn: its checks fail" in (
        got.stdout + got.stderr)
    assert scene.r53.values("www") == [b.addr] and d.accepted == 1
    assert ("<Comment>dnsfailover: health checks: www.example.org. A "
            f"-{a.addr}</Comment>") in d.bodies[0]
    # not yet in DNS: neither written again nor alarmed
    got = w.once()
    assert got.returncode == 0 and d.accepted == 1
    scene.serve({"www": scene.spec})
    w.once()
    assert d.accepted == 1
    a.open()
    got = w.once()
    assert scene.r53.values("www") == [a.addr, b.addr] and d.accepted == 2
    scene.serve({"www": scene.spec})
    w.once()
    d.log.clear()
    got = w.once()
    assert (got.returncode, got.stdout + got.stderr) == (0, "")
    assert "ChangeResourceRecordSets" not in d.actions()


def test_the_environment_alone(scene, short_dir):
    """No configuration file: the command line and AWS's own variables."""
    a, b = scene.targets
    d = scene.r53.double
    d.token = "made//up+token="
    env = {"AWS_ACCESS_KEY_ID": d.id, "AWS_SECRET_ACCESS_KEY": d.secret,
           "AWS_SESSION_TOKEN": d.token, "AWS_ENDPOINT_URL_ROUTE_53": d.url,
           "STATE_DIRECTORY": str(short_dir / "alone")}
    b.close()
    got = scene.w.agent(
        "once", "--provider", "route53", "--zone", ORG, "--record", "www",
        "--targets", f"{a.addr},{b.addr}", "--check", f"tcp:{a.port}",
        "--timeout", "300ms", "--servers", scene.w.ns.server, env=env)
    assert got.returncode == 0, got.stdout + got.stderr
    assert f"{b.addr} withdrawn" in got.stdout + got.stderr
    assert scene.r53.values("www") == [a.addr]
    for secret in (d.secret, d.token):
        assert secret not in got.stdout + got.stderr


def test_run(scene):
    """The service, with its rights given up."""
    a, b = scene.targets
    scene.serve({"www": spec(*checked(a, b))})
    with Service(scene.w) as s:
        s.until("the first look", lambda: "ListResourceRecordSets" in
                scene.r53.double.actions())
        a.close()
        s.wait(f"{WWW}. A {a.addr} withdrawn")
        assert scene.r53.values("www") == [b.addr]
        assert s.stop() == 0
    assert scene.r53.double.accepted == 1


def test_plan_writes_nothing(scene):
    scene.w.settle()
    scene.targets[0].close()
    got = scene.w.run("plan", "--exit-code")
    assert got.returncode == 3 and scene.targets[0].addr in got.stdout
    assert scene.r53.double.accepted == 0


def test_a_zone_that_cannot_be_read_changes_nothing(scene):
    scene.w.settle()
    scene.targets[0].close()
    scene.r53.double.fault("answer", times=99, status=403, code="AccessDenied",
                           text="not authorized to perform: it")
    got = scene.w.once()
    assert got.returncode == 1 and "AccessDenied" in got.stdout + got.stderr
    assert scene.r53.double.accepted == 0


def test_publish(scene):
    w, r = scene.w, scene.r53
    before = r.values("_failover.www", "TXT")
    other = rows(*((WWW + ".", t.addr, t.port, 77) for t in scene.targets))

    def show():
        return r.values("_failover.www", "TXT") != before
    process = subprocess.Popen(
        [w.agent.path, "-c", str(w.config), "publish", WWW, "-", "--write"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True)
    process.stdin.write(other)
    process.stdin.close()
    net.wait_until("the spec is in the double", show)
    held = txt_bytes(r.values("_failover.www", "TXT")[0]).decode()
    w.edit(lambda text: "\n".join(
        line for line in text.splitlines() if "_failover" not in line)
        + "\n" + txt(f"_failover.{WWW}.", held) + "\n")
    assert process.wait(60) == 0, process.stderr.read()
    said = process.stdout.read()
    process.stdout.close()
    process.stderr.close()
    assert "written: provider aws, zone example.org." in said
    assert "shows it after" in said
    assert json.loads(held)


# -- doctor ---------------------------------------------------------------------


def doctor(scene):
    got = scene.w.run("doctor", "--json")
    assert got.stderr == "", got.stderr
    return [json.loads(x) for x in got.stdout.splitlines()]


def said(found, level):
    return " | ".join(f["text"] + " " + f.get("change", "") for f in found
                      if f["level"] == level)


def test_doctor(scene):
    scene.configure(**{"wait-insync": "yes"})
    before = dict(scene.r53.zone.sets)
    found = doctor(scene)
    assert said(found, "error") == ""
    good = said(found, "ok")
    for part in ("Route 53 takes the access key", "its records can be read",
                 "its records may be changed", "a change can be asked after"):
        assert part in good, good
    assert scene.r53.zone.sets == before and scene.r53.double.accepted == 0


def test_doctor_names_what_is_missing(scene):
    d = scene.r53.double
    scene.configure(**{"wait-insync": "yes"})
    for action in ("ChangeResourceRecordSets", "GetChange"):
        d.fault("answer", action, status=403, code="AccessDenied",
                text=f"not authorized to perform: route53:{action}")
    d.clock_s = 200
    warnings = said(doctor(scene), "warning")
    assert "route53:ChangeResourceRecordSets" in warnings
    assert "wait-insync = no, or allow route53:GetChange" in warnings
    assert "this machine's clock is" in warnings
    d.heal()
    d.clock_s = 0
    scene.secret.write_text("made-up-and-wrong\n")
    assert "SignatureDoesNotMatch" in said(doctor(scene), "error")
    scene.secret.write_text(d.secret + "\n")
    scene.r53.zone.private = True
    assert "is private" in said(doctor(scene), "error")


# -- another server ----------------------------------------------------------------


@pytest.fixture
def moto(tmp_path):
    """moto_server, where it happens to be installed."""
    if not shutil.which("moto_server"):
        pytest.skip("moto_server is not installed")
    try:
        works = subprocess.run(["moto_server", "--help"], timeout=60,
                               capture_output=True, check=False).returncode
    except subprocess.TimeoutExpired:
        works = 1
    if works != 0:
        pytest.skip("moto_server does not start here")
    for _ in range(3):
        port = net.free_port()
        with open(tmp_path / "log", "w", encoding="utf-8") as log:
            process = subprocess.Popen(
                ["moto_server", "-H", "127.0.0.1", "-p", str(port)],
                stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        url = f"http://127.0.0.1:{port}"

        def answers():
            try:
                with urllib.request.urlopen(url + "/moto-api/", timeout=2):
                    return True
            except OSError:
                return process.poll() is not None
        try:
            net.wait_until("moto_server answers", answers, 60)
            if process.poll() is None:
                yield url
                return
        finally:
            process.terminate()
            process.wait(20)
    pytest.skip("moto_server does not start here")


ZONE = (f'<CreateHostedZoneRequest xmlns="https://route53.amazonaws.com/doc/'
        f'2013-04-01/"><Name>{ORG}.</Name><CallerReference>1'
        "</CallerReference></CreateHostedZoneRequest>")


def test_moto(moto, tools):
    """It checks neither signatures nor conflicts, and knows no octal names;
    what the provider sends is understood by somebody else all the same."""
    request = urllib.request.Request(
        f"{moto}/2013-04-01/hostedzone", data=ZONE.encode(), method="POST",
        headers={"Content-Type": "text/xml", "Authorization": (
            "AWS4-HMAC-SHA256 Credential=AKIATEST/20260101/us-east-1/route53/"
            "aws4_request, SignedHeaders=host, Signature=0")})
    with urllib.request.urlopen(request, timeout=20) as got:
        assert got.status == 201
    text = json.dumps([{"name": WWW + ".", "data": A}])
    done = subprocess.run(
        [tools / "provider", "route53", f"url={moto}",
         "access-key-id=AKIATEST", "wait-insync=yes", "--",
         "zones", "+", "create", ORG, *publish(A), *publish(B), "+",
         "create", ORG, *withdraw(A), *publish("2001:db8::1", kind="AAAA"),
         "+", "records", ORG, WWW, "+", "write", ORG, WWW, text, "300", "+",
         "specs", ORG],
        capture_output=True, text=True, timeout=60, check=False,
        env={**os.environ, "AWS_SECRET_ACCESS_KEY": "x"})
    answers = [json.loads(x) for x in done.stdout.splitlines()]
    assert done.returncode == 0, done.stdout
    assert answers[0]["zones"] == [ORG + "."]
    assert {(s["type"], *(v["data"] for v in s["values"]))
            for s in answers[3]["sets"]} == {("A", B), ("AAAA", "2001:db8::1")}
    assert answers[5]["specs"] == [{"owner": WWW + ".", "text": text}]
