"""doctor: what would fail, with the line to change; it changes nothing."""

import json
import os
import subprocess

import pytest

from ispconfig import double
from ispconfig.scene import machine, scene
from world import WWW, build, records, rows, target  # noqa: F401

assert machine and scene


def findings(got):
    """[{level, check, subject, text, change}] of doctor --json."""
    assert got.stderr == "", got.stderr
    found = [json.loads(x) for x in got.stdout.splitlines()]
    bad = any(f["level"] == "error" for f in found)
    assert got.returncode == (1 if bad else 0), got.stdout
    return found


def having(found, level, *parts):
    """The findings of that level with all parts in subject, text, change."""
    return [f for f in found if f["level"] == level and all(
        p in " | ".join((f["subject"], f["text"], f.get("change", "")))
        for p in parts)]


def errors(found):
    return [f for f in found if f["level"] == "error"]


def doctor(w, *arguments, **how):
    return findings(w.run("doctor", "--json", *arguments, **how))


def line_of(w, text):
    lines = w.config.read_text().splitlines()
    return next(i for i, x in enumerate(lines, 1) if text in x)


# -- a zone file -----


@pytest.fixture
def healthy(build, target):
    a, b = target("127.0.0.2"), target("127.0.0.3")
    w = build(records=records("www", a, b), specs={"www": rows(
        (WWW, a.addr, a.port), (WWW, b.addr, b.port))})
    w.configure(anchors=[f"{a.addr}:{a.port}", f"{b.addr}:{b.port}"])
    return w


def test_nothing_wrong(healthy):
    before = healthy.files()
    found = doctor(healthy)
    assert not errors(found), errors(found)
    for parts in (("the server serves serial 1 of the file",),
                  ("passes the check command",),
                  ("can be read and replaced",), ("reload command", "can be"),
                  ("1 of 1 servers serve serial 1",),
                  ("1 names with specs",), (f"spec of {WWW}", "valid"),
                  ("127.0.0.2", "answers"), ("the first round makes it",)):
        assert having(found, "ok", *parts), parts
    assert healthy.files() == before
    assert not healthy.state.parent.exists()
    healthy.settle()
    assert having(doctor(healthy), "ok", "the state can be written")
    # For people: silent about what is in order, but for the sum.
    got = healthy.run("doctor")
    assert got.returncode == 0 and got.stdout.startswith("warning: "), got
    assert got.stdout.splitlines()[-1].startswith("0 errors, ")
    assert "\nok: " in healthy.run("doctor", "-v").stdout
    assert healthy.run("doctor", "example.org").returncode == 0


def test_lines_to_change(healthy):
    w = healthy
    w.configure(check="no-such-checker {zone}", file=str(w.dir / "{zone}"),
                notify="/no/such/program")
    found = doctor(w)
    place = f"{w.config}:{line_of(w, 'no-such-checker')} provider files: check"
    assert having(found, "error", place, "no such program in PATH")
    place = f"{w.config}:{line_of(w, '  file = ')} provider files: file"
    assert having(found, "error", place, "cannot open")
    assert having(found, "error", "notify", "/no/such/program")
    # Each is told once.
    assert len(errors(found)) == 3


def test_dynamic_zone(healthy):
    journal = healthy.file.with_name(healthy.file.name + ".jnl")
    journal.write_bytes(b"")
    assert having(doctor(healthy), "error", "journal", "type = rfc2136")


def test_serials(healthy):
    """The file and the server are not of one mind."""
    text = healthy.file.read_text()
    healthy.file.write_text(text.replace("( 1 ;", "( 5 ;"))
    assert having(doctor(healthy), "warning", "has serial 5",
                  "still serves 1", "reload the zone")
    healthy.file.write_text(text.replace("( 1 ;", "( 4294967295 ;"))
    assert having(doctor(healthy), "error", "serves the newer 1")


def test_file_that_fails_its_check(healthy):
    healthy.file.write_text(healthy.file.read_text() + "x IN A 192.0.2.300\n")
    assert errors(doctor(healthy))


def test_servers(healthy):
    healthy.configure(servers=[healthy.ns.server, "127.0.0.1:1"])
    found = doctor(healthy)
    assert having(found, "warning", "server 127.0.0.1:1: ")
    healthy.configure(servers=["127.0.0.1:1"])
    found = doctor(healthy)
    assert having(found, "error", "no authoritative server answers",
                  "servers = ")
    assert having(found, "error", "would be taken back")


def test_specs(healthy):
    """Bad ones, and TTLs that the provider does not take."""
    healthy.spec("www", "[{")
    found = doctor(healthy)
    assert having(found, "error", f"spec of {WWW}", "_failover.www")
    healthy.spec("www", None)
    assert having(doctor(healthy), "warning", "no name in it has a spec")


def test_axfr(build):
    w = build(records="www 60 IN A 127.0.0.2")
    w.configure(discover="axfr")
    assert having(doctor(w), "error", "allow-transfer")


def test_anchors(healthy):
    healthy.configure(anchors=["127.0.0.1:1"])
    found = doctor(healthy)  # a refusal came over the network, too
    assert having(found, "warning", "anchors", "only one")
    healthy.configure(anchors=[])
    assert having(doctor(healthy), "warning", "anchors", "none: an outage")


def test_permissions(healthy):
    os.chmod(healthy.config, 0o666)
    assert having(doctor(healthy), "error", str(healthy.config), "chmod o-w")
    os.chmod(healthy.config, 0o644)
    healthy.settle()
    (healthy.state.parent / "freeze").touch()
    assert having(doctor(healthy), "warning", "rm ", "freeze")
    os.chmod(healthy.state.parent, 0o777)
    assert having(doctor(healthy), "warning", "chmod 700")


def test_other_user(healthy):
    """What only its owner may change is seen from the other side."""
    if os.geteuid() != 0:
        pytest.skip("only root can run it as somebody else")
    os.chmod(healthy.dir, 0o755)
    os.chmod(healthy.dir.parent, 0o755)
    os.chmod(healthy.dir / "ns", 0o755)
    found = doctor(healthy, user="nobody")
    assert having(found, "error", "cannot be replaced", "ReadWritePaths=")
    assert having(found, "error", "cannot be made", "install -d -m 700")


def test_sandbox(healthy):
    """A trial on this kernel: what the service will be, and why it cannot."""
    one, = having(doctor(healthy), "ok", "sandbox", "no new privileges")
    if os.geteuid() != 0:
        pytest.skip("only root gives rights up")
    assert "user nobody, no capabilities" in one["text"]
    got = subprocess.run(
        ["setpriv", "--bounding-set=-all", "--inh-caps=-all", "--",
         healthy.agent.path, "-c", healthy.config, "doctor", "--json"],
        capture_output=True, text=True, timeout=60, check=False)
    assert having(findings(got), "error", "sandbox",
                  "cannot give its rights up, and would not start")


def test_unused_provider(healthy):
    healthy.config.write_text(healthy.config.read_text() + (
        'provider spare { type = zonefile file = "/x" }\n'))
    assert having(doctor(healthy), "warning", "provider spare",
                  "no zone uses it")


def test_resolver(healthy):
    """trust = ad with a resolver that does not validate."""
    healthy.config.write_text(
        f'resolver {{ servers = {{"{healthy.ns.server}"}} trust = ad }}\n'
        + healthy.config.read_text())
    found = doctor(healthy)
    assert having(found, "error", "resolver", "none answers")
    assert having(found, "warning", f"resolver {healthy.ns.server}",
                  "trust = any")


def test_usage(agent, healthy):
    got = healthy.run("doctor", "example.net")
    assert got.returncode == 2
    assert "example.net. is no zone of" in got.stderr
    bad = healthy.dir / "bad.conf"
    bad.write_text("agent { stat = x }\n")
    got = agent("doctor", config=bad)
    assert got.returncode == 2 and f"{bad}:1: " in got.stderr


def test_environment(healthy):
    """Without a configuration, as `once`."""
    env = {"ZONEFILE_FILE": str(healthy.dir / "ns" / "{zone}.zone"),
           "ZONEFILE_RELOAD": "no-such-program",
           "STATE_DIRECTORY": str(healthy.dir / "other")}
    got = healthy.agent("doctor", "--json", "--provider", "zonefile",
                        "--zone", "example.org", "--servers",
                        healthy.ns.server, env=env)
    found = findings(got)
    assert having(found, "error", "ZONEFILE_RELOAD of the environment")
    assert having(found, "ok", "the server serves serial 1")


# -- a panel -----

needs_double = pytest.mark.skipif(
    double.missing() is not None, reason=str(double.missing()))


def panel(s, *arguments):
    return findings(s.agent("doctor", "--json", *arguments, config=s.config))


@needs_double
def test_panel(scene):
    scene.pair()
    scene.serve()
    start = scene.dump()
    found = panel(scene)
    assert not errors(found), errors(found)
    for box in ("zone", "a", "aaaa", "cname", "txt"):
        assert box == "zone" or having(found, "ok", f"'DNS {box} functions'")
    assert having(found, "ok", "DNS serves serial", "of the panel")
    assert having(found, "ok", "its records can be read")
    assert scene.changed(start) == {} and scene.writes() == []
    # One login, and an end of it.
    assert len(scene.isp.calls("login")) == 1
    assert len(scene.isp.calls("logout")) == 1


@needs_double
def test_panel_permissions(scene):
    scene.pair()
    scene.serve()
    scene.isp.set_functions([f for f in double.MINIMUM
                             if not f.startswith(("dns_txt_", "dns_aaaa_"))])
    found = panel(scene)
    place = f"{scene.config}:"
    for box in ("aaaa", "txt"):
        f, = having(found, "error", f"tick 'DNS {box} functions'")
        assert f["subject"].startswith(place)
        assert "provider" in f["subject"] and ": user" in f["subject"]
    assert len(errors(found)) == 2


@needs_double
def test_panel_login(scene):
    """A wrong password is tried once."""
    scene.pair()
    scene.serve()
    scene.configure(password="wrong")
    found = panel(scene)
    assert len(errors(found)) == 1
    assert having(found, "error", ": user", "login_failed")
    assert len(scene.isp.calls("login")) == 1
    # It is not asked again by doctor after a round was refused.
    scene.agent("once", config=scene.config)
    logins = len(scene.isp.calls("login"))
    assert having(panel(scene), "error", "not tried again")
    assert len(scene.isp.calls("login")) == logins


@needs_double
def test_panel_zone(scene):
    scene.pair()
    scene.serve()
    scene.isp.set_soa(scene.zone, serial=scene.isp.serial(scene.zone) + 1)
    assert having(panel(scene), "warning", "DNS still serves",
                  "wait two minutes")
    scene.isp.set_soa(scene.zone, serial=1)
    assert having(panel(scene), "error", "serves the newer")
    scene.isp.set_soa(scene.zone, active="N")
    assert having(panel(scene), "error", "switched off in the panel",
                  "set the zone active")


@needs_double
def test_panel_ttl(scene):
    """The panel takes 60 seconds at least."""
    scene.pair(ttl=30)
    scene.serve()
    assert having(panel(scene), "warning", "ttl 30", "takes 60 at least")
