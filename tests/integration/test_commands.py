"""The command line: configuration and its errors, exit codes, status, history,
the notify command."""

import json
import os
import subprocess

import pytest

from test_once import WWW, refused
from world import build, pair, records, target  # noqa: F401

EXAMPLE_LINES = 6


def refuses(got, *parts):
    """Usage or configuration: exit 2, the place, what is accepted, and no
    word on standard output."""
    assert got.returncode == 2, got.stdout + got.stderr
    assert got.stdout == ""
    assert got.stderr.startswith("dnsfailover"), got.stderr
    for part in parts:
        assert part in got.stderr, got.stderr


# -- the command line -----


def test_version_and_help(agent):
    got = agent("--version")
    assert got.returncode == 0
    assert got.stdout.startswith("dnsfailover ")
    got = agent("--help")
    assert got.returncode == 0
    for word in ("once", "plan", "lint", "status", "history", "75"):
        assert word in got.stdout
    for command in ("once", "plan", "lint", "status", "history"):
        got = agent(command, "--help")
        assert got.returncode == 0
        assert command in got.stdout
        assert got.stderr == ""


@pytest.mark.parametrize("arguments, part", [
    ([], ""),
    (["frob"], '"frob"'),
    (["once", "--frob"], "frob"),
    (["once", "-x"], "x"),
    (["once", "--exit-code"], "once"),
    (["once", "argument"], "argument"),
    (["once", "--deadline"], "deadline"),
    (["once", "--deadline", "soon"], '"soon"'),
    (["once", "--deadline", "10ms"], "1s"),
    (["status", "a", "b"], ""),
    (["history", "-n", "0"], '"0"'),
    (["history", "-n", "many"], '"many"'),
    (["status", "a..b"], "a..b"),
    (["lint"], "FILE"),
    (["lint", "--name", "a.example.net", "--zone", "example.org", "x"],
     "--zone"),
])
def test_usage(agent, tmp_path, arguments, part):
    got = agent(*arguments, cwd=tmp_path)
    assert got.returncode == 2, got.stdout + got.stderr
    assert part in got.stderr


def test_no_configuration(agent):
    """Exit 2 and a six-line example for ISPConfig to paste."""
    if os.path.exists("/etc/dnsfailover.conf"):
        pytest.skip("/etc/dnsfailover.conf is there")
    for command in ("once", "plan", "status", "history"):
        got = agent(command)
        refuses(got, "/etc/dnsfailover.conf")
        example = [line for line in got.stderr.splitlines()
                   if line.startswith("  ")]
        assert len(example) == EXAMPLE_LINES
        assert "type = ispconfig" in got.stderr
        assert "password-file" in got.stderr


def test_the_example_can_be_pasted(agent, tmp_path):
    if os.path.exists("/etc/dnsfailover.conf"):
        pytest.skip("/etc/dnsfailover.conf is there")
    example = [line for line in agent("once").stderr.splitlines()
               if line.startswith("  ")]
    password = tmp_path / "password"
    password.write_text("x\n")
    password.chmod(0o600)
    config = tmp_path / "dnsfailover.conf"
    config.write_text(
        f'agent {{ state = "{tmp_path}/state.db" }}\n'
        + "\n".join(example).replace("/etc/dnsfailover/panel.password",
                                     str(password)))
    got = agent("status", config=config)
    assert "there is no state" in got.stderr


def test_named_configuration_that_is_not_there(agent, tmp_path):
    got = agent("once", config=tmp_path / "none.conf")
    refuses(got, str(tmp_path / "none.conf"), "No such file")


# -- the configuration -----


GOOD = """agent {{ state = "{dir}/state.db" }}
provider files {{
    type = zonefile
    file = "{dir}/{{zone}}.zone"
}}
zone "example.org" {{
    provider = files
    servers = {{"127.0.0.1:9"}}
}}
"""


@pytest.mark.parametrize("old, new, line, part", [
    ("agent {{", "agnet {{", 1, '"agnet" is not a section; accepted: agent'),
    ("state =", "stat =", 1, '"stat" is not an option of agent; accepted'),
    ("type = zonefile", "type = bind", 3, 'type: "bind"; accepted: '),
    ("type = zonefile", "", 2, "type is missing; accepted: "),
    ("    file =", "    fiel =", 4, '"fiel" is not an option of'),
    ('    file = "{dir}/{{zone}}.zone"', "", 2, "file is missing"),
    ("provider = files", "provider = fils", 7, 'provider: "fils"; accepted'),
    ("provider = files", "", 6, "provider is missing; accepted"),
    ("127.0.0.1:9", "localhost", 8, '"localhost" is not an address; accepted'),
    ("127.0.0.1:9", "127.0.0.1:99999", 8, "is not an address; accepted"),
    ("provider = files", "provider = files mode = dry", 7,
     'mode: "dry"; accepted: enforce, observe'),
    ("provider = files", "provider = files discover = guess", 7,
     'discover: "guess"; accepted: provider, axfr, names'),
    ("provider = files", "provider = files create = perhaps", 7,
     'create: "perhaps"; accepted: yes, no'),
    ('"example.org"', '"exa mple.org"', 6, "is not a domain name"),
    ("state = ", 'min-period = "1ms" state = ', 1, "accepted: from 10ms"),
    ("state = ", 'allow-targets = {{"all"}} state = ', 1,
     '"all" is not an address block; accepted'),
    ("state = ", 'anchors = {{"outside"}} state = ', 1,
     '"outside" is not an address; accepted'),
    ("state = ", 'listen = "127.0.0.1:1" state = ', 1, "not yet supported"),
    ('zone "example.org" {{', 'zone "example.org" {{{{', 6, ""),
    ("}}\nzone", "\nzone", 2, ""),
])
def test_bad_configuration(agent, tmp_path, old, new, line, part):
    assert old in GOOD
    config = tmp_path / "dnsfailover.conf"
    config.write_text(GOOD.replace(old, new, 1).format(dir=tmp_path))
    for command in ("once", "plan"):
        got = agent(command, config=config)
        refuses(got, part)
        place = got.stderr.split(": ")[1]
        assert place.startswith(str(config))
        if part:
            assert place.split(":")[1] in (str(line), str(line + 1),
                                           str(line - 1)), got.stderr
    assert sorted(p.name for p in tmp_path.iterdir()) == ["dnsfailover.conf"]


@pytest.mark.parametrize("old, new, part", [
    ('{dir}/{{zone}}.zone', "{{zone}}.zone", "an absolute path"),
    ("    type", '    timeout = "soon"\n    type', "timeout"),
    ("    type", '    check = "named-checkzone {{name}}"\n    type',
     "{{name}}"),
])
def test_bad_provider_options(agent, tmp_path, old, new, part):
    config = tmp_path / "dnsfailover.conf"
    config.write_text(GOOD.replace(old, new, 1).format(dir=tmp_path))
    got = agent("once", config=config)
    assert got.returncode in (1, 2)
    assert part.format() in got.stderr
    assert "files" in got.stderr


def test_secret_that_others_can_read(agent, tmp_path):
    panel = ('provider panel {{ type = ispconfig\n'
             'url = "https://127.0.0.1:9/remote/index.php"\nuser = failover\n'
             '{secret}\n}}\nzone "example.org" {{ provider = panel\n'
             'servers = {{"127.0.0.1:9"}} }}\n'
             f'agent {{{{ state = "{tmp_path}/state.db" }}}}\n')
    password = tmp_path / "password"
    config = tmp_path / "dnsfailover.conf"
    config.write_text(panel.format(secret=f'password-file = "{password}"'))
    config.chmod(0o600)
    got = agent("once", "--deadline", "2s", config=config)
    assert got.returncode in (1, 2)
    assert str(password) in got.stderr
    password.write_text("very-secret\n")
    password.chmod(0o644)
    got = agent("once", "--deadline", "2s", config=config)
    assert got.returncode in (1, 2)
    assert str(password) in got.stderr
    assert "others" in got.stderr
    assert "very-secret" not in got.stdout + got.stderr
    config.write_text(panel.format(secret='password = "very-secret"'))
    config.chmod(0o644)
    got = agent("once", "--deadline", "2s", config=config)
    assert got.returncode == 2
    assert str(config) in got.stderr
    assert "very-secret" not in got.stdout + got.stderr


def test_unreadable_configuration(agent, tmp_path):
    if os.geteuid() != 0:
        pytest.skip("needs root to become another user")
    config = tmp_path / "dnsfailover.conf"
    config.write_text(GOOD.format(dir=tmp_path))
    config.chmod(0o600)
    for path in list(tmp_path.parents)[:2] + [tmp_path]:
        path.chmod(0o755)
    got = agent("once", config=config, user=65534, group=65534,
                extra_groups=[])
    refuses(got, str(config), "ermission")


# -- status and history -----


def test_status_before_the_first_run(pair):
    w, _, _ = pair()
    for command in ("status", "history"):
        got = w.run(command)
        assert got.returncode in (1, 2)
        assert str(w.state) in got.stderr
        assert "once" in got.stderr


def test_status(pair):
    w, one, two = pair()
    w.settle()
    one.close()
    w.settle()
    table = w.run("status").stdout.splitlines()
    assert table[0].split() == ["NAME", "TYPE", "VALUE", "HEALTH",
                                "PUBLISHED", "LAST", "RESULT"]
    assert table[1].split() == [WWW, "A", "127.0.0.2", "down", "no",
                                f"tcp:{one.port}", "refused"]
    assert table[2].split() == [WWW, "A", "127.0.0.3", "up", "yes",
                                f"tcp:{two.port}", "ok"]
    found, whole = w.status()
    record = found[(WWW, "A", "127.0.0.2")]
    assert record["health"] == "down"
    assert record["published"] is False
    assert record["offByOthers"] is False
    assert record["last"] == f"tcp:{one.port} refused"
    assert record["zone"] == "example.org."
    assert whole["problems"] == []
    assert [s["owner"] for s in whole["specs"]] == [WWW]
    assert w.run("status", "www.example.org").stdout.count(WWW) >= 2
    assert "127.0.0.2" not in w.run("status", "mail.example.org").stdout
    assert "127.0.0.2" in w.run("status", "example.org").stdout


def test_status_names_problems_and_hands(pair):
    w, _, two = pair()
    w.settle()
    w.edit(lambda text: text.replace("www 60 IN A 127.0.0.2\n", ""))
    two.close()
    w.once()
    w.ns.stop()
    w.once("--deadline", "5s")
    text = w.run("status").stdout
    assert "problem since 20" in text
    assert "lookup failed" in text
    found, whole = w.status()
    assert found[(WWW, "A", "127.0.0.2")]["offByOthers"] is True
    assert any("lookup failed" in p["text"] for p in whole["problems"])


def test_history(pair):
    w, one, _ = pair()
    w.settle()
    one.close()
    w.settle()
    one.open()
    w.settle()
    got = w.run("history", "--json")
    events = [json.loads(line) for line in got.stdout.splitlines()]
    assert [e["event"] for e in events] == [
        "visible", "published", "available", "visible", "withdrawn",
        "unavailable"]
    assert events[-1]["name"] == WWW
    assert events[-1]["data"] == "127.0.0.2"
    assert events[-1]["reason"] == f"tcp:{one.port} refused"
    got = w.run("history", "-n", "2", "--json")
    assert len(got.stdout.splitlines()) == 2
    assert w.run("history", "--json", "mail.example.org").stdout == ""
    table = w.run("history", "www.example.org").stdout
    assert "unavailable" in table and f"tcp:{one.port} refused" in table


def test_read_commands_change_nothing(pair):
    w, _, _ = pair()
    w.settle()
    before = {p: p.read_bytes() for p in w.state.parent.iterdir()
              if not p.name.endswith("-shm")}
    for command in ("status", "history"):
        for json_ in ([], ["--json"]):
            got = w.run(command, *json_)
            assert got.returncode == 0
            assert got.stderr == ""
    assert {p: p.read_bytes() for p in before} == before


# -- notify -----


def notify_script(w):
    """Several run at once: each line is one write."""
    path = w.dir / "notify.sh"
    path.write_text(f"text=$(cat)\nprintf '%s\\n' \"$text\" >>{w.dir}/told\n")
    return f"/bin/sh {path}"


def notified(w):
    path = w.dir / "told"
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text().splitlines()
            if line]


def test_notify(pair):
    """Each event as JSON on standard input; none in a quiet round."""
    w, one, _ = pair()
    w.configure(notify=notify_script(w))
    w.quiet()
    assert notified(w) == []
    one.close()
    w.settle()
    events = sorted(notified(w), key=lambda e: e["event"])
    assert [e["event"] for e in events] == ["unavailable", "visible",
                                            "withdrawn"]
    assert events[0]["name"] == WWW
    assert events[0]["data"] == "127.0.0.2"
    assert events[0]["zone"] == "example.org."
    assert events[0]["text"] == f"tcp:{one.port} refused"
    w.quiet()
    assert len(notified(w)) == 3
    w.ns.stop()
    w.once("--deadline", "5s")
    problems = [e for e in notified(w) if e["event"] == "problem"]
    assert problems and "lookup failed" in problems[0]["text"]
    w.once("--deadline", "5s")
    assert [e for e in notified(w) if e["event"] == "problem"] == problems


def test_plan_notifies_nobody(pair):
    w, one, _ = pair()
    w.settle()
    w.configure(notify=notify_script(w))
    one.close()
    w.run("plan")
    assert notified(w) == []


def test_notify_that_fails(pair):
    """It is told; the round itself was done."""
    w, one, _ = pair()
    w.settle()
    w.configure(notify="/bin/false")
    one.close()
    got = w.once()
    assert got.returncode == 1
    assert "notify" in got.stderr
    assert refused(one) in got.stdout
    assert w.values("www") == ["127.0.0.3"]
    w.quiet()


def test_notify_gets_hostile_texts_as_data(build, target):
    """What came from DNS is JSON on standard input, nowhere else."""
    one = target("127.0.0.2")
    w = build(records=records("www", one), specs={
        "www": '{"$(touch x)\\n\\u001b[31m":1}'})
    w.configure(notify=notify_script(w))
    got = w.once()
    assert got.returncode == 1
    assert "\x1b" not in got.stdout + got.stderr
    assert len(got.stderr.splitlines()) == 1
    (event,) = notified(w)
    assert event["event"] == "problem"
    assert not list(w.dir.glob("x")) and not os.path.exists("x")


def test_output_that_cannot_be_written(pair):
    """A full disk behind a redirection is an error, after the work."""
    w, one, _ = pair()
    w.settle()
    one.close()
    with open("/dev/full", "w") as full:
        got = subprocess.run(
            [w.agent.path, "-c", str(w.config), "once"], stdout=full,
            stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, timeout=60)
    assert got.returncode == 1
    assert w.values("www") == ["127.0.0.3"]
