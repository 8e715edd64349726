"""publish prints the text that a place is given: put into real zones and read
back, it is what was meant, byte for byte."""

import json
import random
import re
import shutil
import subprocess

import pytest

import net
import servers
from ispconfig.scene import EMPTY
from ispconfig.zonefile import render_zone
from publish_help import (  # noqa: F401
    A, B, HARD, ORG, OWNER, SMALL, canonical, print_as, random_spec, served)
from world import WWW, build, rows  # noqa: F401

KINDS = [servers.Bind, servers.Nsd, servers.Knot]
PDNS = "/usr/sbin/pdns_server"


def zone_with(*records):
    return EMPTY + "".join(records)


# -- printed --------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_bind_format_survives_the_server(kind, print_as, short_dir):
    rng = random.Random(7)
    wanted, lines = {}, []
    for i in range(24):
        text = HARD if i == 0 else random_spec(
            rng, 20000 if i % 8 == 1 else rng.randrange(10, 4000))
        name = f"n{i}.example.org"
        record, _ = print_as("bind", text, name=name)
        wanted[f"_failover.{name}."] = print_as("raw", text, name=name)[0]
        lines.append(record)
    with kind(short_dir / "ns", {ORG: zone_with(*lines)}) as ns:
        for name, text in wanted.items():
            texts, lengths = served(ns, name)
            assert texts == [text.removesuffix("\n").encode()]
            assert all(n == 255 for n in lengths[:-1])


def test_bind_format_passes_every_checker(print_as, tmp_path):
    rng = random.Random(8)
    lines = [print_as("bind", random_spec(rng, 20000 if i == 0 else 900),
                      name=f"n{i}.example.org")[0] for i in range(40)]
    path = tmp_path / "zone"
    path.write_text(zone_with(*lines))
    for command in (["named-checkzone", "-q", ORG, path],
                    ["nsd-checkzone", ORG, path]):
        program = servers.find(command[0])
        assert program is not None, command[0]
        subprocess.run([program, *command[1:]], check=True, timeout=60)
    out = tmp_path / "compiled"
    subprocess.run([servers.find("named-compilezone"), "-q", "-F", "text",
                    "-o", out, ORG, path], check=True, timeout=60)
    assert out.read_text().count("TXT") == 40


def test_bind_format_survives_powerdns(print_as, tmp_path):
    if not shutil.which(PDNS):
        pytest.skip("PowerDNS is not installed")
    record, _ = print_as("bind", HARD)
    zone = tmp_path / "example.org.zone"
    zone.write_text(zone_with(record))
    (tmp_path / "named.conf").write_text(
        f'zone "{ORG}" {{ type master; file "{zone}"; }};\n')
    port = net.free_port()
    process = subprocess.Popen(
        [PDNS, f"--config-dir={tmp_path}", "--daemon=no", "--guardian=no",
         "--launch=bind", f"--bind-config={tmp_path}/named.conf",
         "--local-address=127.0.0.1", f"--local-port={port}",
         f"--socket-dir={tmp_path}"],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL)
    try:
        ns = servers.Server(tmp_path, {})
        ns.port = port

        def texts():
            try:
                return served(ns)[0]
            except OSError:
                return None

        assert net.wait_until("PowerDNS answers", texts) == [
            canonical(print_as, HARD)]
    finally:
        process.kill()
        process.wait(10)


@pytest.mark.parametrize("kind", [servers.Bind, servers.Nsd])
@pytest.mark.parametrize("text", [SMALL, "large"])
def test_ispconfig_format_survives_its_zone_writer(kind, text, print_as,
                                                   short_dir, agent):
    if text == "large":
        text = rows(*[(WWW, f"192.0.2.{i}", 443) for i in range(1, 60)])
    out, notes = print_as("ispconfig", text)
    stored = out.removesuffix("\n")
    large = len(stored) > 255

    class Panel:
        def soa(self, _):
            return {"ttl": 60, "ns": f"ns1.{ORG}.", "mbox": f"host.{ORG}.",
                    "serial": 1, "refresh": 7200, "retry": 540,
                    "expire": 604800, "minimum": 60}

        def rrs(self, _):
            rows_ = ((f"{ORG}.", "NS", f"ns1.{ORG}."),
                     ("ns1", "A", "127.0.0.1"), (OWNER, "TXT", stored))
            return [{"name": n, "type": t, "data": d, "ttl": 60,
                     "active": "Y"} for n, t, d in rows_]

    with kind(short_dir / "ns", {ORG: render_zone(Panel(), 1)}) as ns:
        (got,), _ = served(ns)
    if large:
        assert "bare spelling" in notes and '"' not in stored
        assert got == stored.encode()
    else:
        assert "escaped quotes" in notes and "clients and resellers" in notes
        assert got == canonical(print_as, text)
    again = short_dir / "again"
    again.write_bytes(got)
    back = agent("publish", "www.example.org", again, "--format", "raw",
                 "--zone", ORG)
    assert back.stdout.removesuffix("\n").encode() == canonical(print_as, text)


def test_ispconfig_says_what_it_cannot_hold(print_as):
    _, said = print_as("ispconfig", HARD, code=1)
    assert "ISPConfig damages JSON of more than 255 bytes" in said
    assert "/checks/web/" in said


def route53_bytes(value):
    """As Route 53 reads a value: strings, \\ooo octal."""
    strings = re.findall(r'"((?:[^"\\]|\\.)*)"', value)
    assert " ".join(f'"{s}"' for s in strings) == value
    out = [re.sub(rb"\\([0-7]{3})|\\(.)",
                  lambda m: bytes([int(m[1], 8)]) if m[1] else m[2],
                  s.encode("ascii")) for s in strings]
    assert all(len(s) <= 255 for s in out)
    return b"".join(out)


def test_route53_format_is_its_value_syntax(print_as):
    rng = random.Random(9)
    for text in (SMALL, HARD, random_spec(rng, 1500)):
        out, notes = print_as("route53", text)
        assert route53_bytes(out.removesuffix("\n")) == canonical(
            print_as, text)
        assert "of 4000 characters" in notes and "32000" in notes
    _, said = print_as("route53", random_spec(rng, 5000), code=1)
    assert "accepted: at most 4000" in said


def test_bare_is_the_shortest_and_refuses_by_name(print_as):
    out, _ = print_as("bare", SMALL)
    assert out == ("{rows:[{name:www.example.org.,data:192.0.2.1,check:443},"
                   "{name:www.example.org.,data:192.0.2.2,check:443}]}\n")
    assert canonical(print_as, out) == canonical(print_as, SMALL)
    _, said = print_as("bare", HARD, code=1)
    assert "spec.json: error: /checks/web/" in said


def test_size_on_the_wire_is_a_note(print_as):
    assert print_as("raw", SMALL)[1] == ""
    _, notes = print_as("raw", random_spec(random.Random(1), 1300))
    assert re.search(r"note: an answer with this text has \d+ bytes; above "
                     "1232 it takes TCP", notes)
    # Canonical text says more than the file: names.
    large = json.dumps({"records": [
        {"data": f"198.51.{i >> 8}.{i & 255}"} for i in range(1500)]})
    assert len(large) < 65000
    _, said = print_as("raw", large, code=1)
    assert re.search(r"found \d+ bytes of canonical text; accepted: at most "
                     "65000", said)


def test_an_invalid_spec_is_refused_as_lint_does(agent, tmp_path):
    path = tmp_path / "bad.json"
    path.write_text('{"records":[{"data":"192.0.2.1","chek":"443"}]}')
    lint = agent("lint", path, "--name", f"www.{ORG}", "--zone", ORG)
    got = agent("publish", f"www.{ORG}", path, "--zone", ORG)
    assert (got.returncode, got.stdout) == (1, "")
    assert got.stderr == lint.stdout
    assert "/records/0/chek" in got.stderr


def test_standard_input_and_usage(agent, tmp_path):
    got = agent("publish", f"www.{ORG}", "-", "--zone", ORG, input=SMALL)
    assert got.returncode == 0 and got.stdout.startswith(OWNER)
    for arguments, said in (
            ((), "needs a NAME and a FILE"),
            (("www.example.org",), "needs a NAME and a FILE"),
            (("www.example.org", "-", "more"), "needs a NAME and a FILE"),
            (("www.example.org", "-", "--format", "json"),
             "--format: found \"json\"; accepted: bind, ispconfig, route53"),
            (("www.example.org", "-", "--dry-run"), "belongs to --write"),
            (("www.example.org", "-", "--zone", "example.net"),
             "not within --zone"),
            (("www..example.org", "-"), "empty label")):
        got = agent("publish", *arguments, input=SMALL)
        assert got.returncode == 2 and said in got.stderr, got.stderr
    got = agent("publish", f"www.{ORG}", tmp_path / "none", "--zone", ORG)
    assert got.returncode == 1 and "none: error: No such file" in got.stderr


def test_the_configuration_tells_the_zone(build, tmp_path):  # noqa: F811
    """A relative name needs the zone; a name of the apex spec a look at it."""
    w = build(records=f"www 60 IN A {A}", specs={
        "@": '{"checks":{"web":443}}'})
    path = tmp_path / "spec.json"
    path.write_text(json.dumps(
        {"records": [{"name": "www", "data": A, "check": "web"},
                     {"name": "www", "data": B, "check": "web"}]}))
    got = w.run("publish", "www.example.org", path, "--format", "raw")
    assert got.returncode == 0, got.stderr
    assert json.loads(got.stdout)["records"][0]["name"] == WWW
    assert "checks" not in json.loads(got.stdout)
    got = w.agent("publish", "www.example.org", path)
    assert got.returncode == 1 and "--zone tells it" in got.stderr
