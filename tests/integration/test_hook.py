"""Providers of type hook beyond the contract (backend_hook.py has that): wrong
answers, time limits, what the command gets; and the examples of contrib/hooks.
"""

import importlib
import json
import os
import pathlib
import shutil
import subprocess
import types

import pytest

import net
from contract.backend import publish, record, withdraw
from contract.backend_hook import HOOKS, Hook
from restapi import powerdns
from service import Service
from world import USER, checked, rows, spec

HERE = pathlib.Path(__file__).parent
A, B = "192.0.2.1", "192.0.2.2"
CHANGE = (publish("www", B), withdraw("www", A))


@pytest.fixture(scope="module")
def server(tmp_path_factory, tools):
    if Hook.missing() is not None:
        pytest.skip(Hook.missing())
    b = Hook(tmp_path_factory.mktemp("hook"), tools)
    try:
        b.start()
        yield b
    finally:
        b.stop()


@pytest.fixture
def hook(server):
    server.heal()
    server.seed([record("www", "A", A)])
    server.more = {}
    yield server
    server.heal()


def records(hook):
    return hook.run("records", hook.zone, f"www.{hook.zone}")


def requests(hook):
    return [json.loads(x) for x in
            (hook.dir / "requests").read_text().splitlines()]


# ---- answers -----------------------------------------------------------------


@pytest.mark.parametrize("fault, text", [
    ("empty", "its answer is empty"),
    ("not-json", "its answer: not JSON at byte 0"),
    ("array", "its answer: not a JSON object"),
    ("no-version", "its answer: version: accepted: 1"),
    ("next-version", "its answer: version: accepted: 1"),
    ("no-list", "its answer: records: is missing; accepted: a list"),
    ("two", "its answer: not JSON at byte"),
    ("bad-ttl", "records[0]: ttl: accepted: seconds"),
    ("bad-data", 'records[0]: data: "192.0.2.300" is not an IPv4 address'),
    ("other-zone", 'records[0]: name: "www.example.net." is not in'),
    ("huge", "longer than 4194304 bytes"),
    ("broken", "exit code 3: the server is down"),
])
def test_a_wrong_answer_names_its_place(hook, fault, text):
    hook.fault(fault)
    got = records(hook)
    assert got.code == 1 and got.answers[0]["sets"] == []
    assert text in got.text, got.text
    assert got.text.startswith("zone example.org.: ")
    # and nothing is decided by it
    got = hook.apply(*CHANGE)
    assert got.code == 1 and set(got.states()) == {"skipped"}
    hook.heal()
    assert hook.published("www") == [A]


def test_half_an_answer_is_read_back(hook):
    hook.fault("half")
    got = hook.apply(*CHANGE)
    assert got.states() == ["done", "done"], got.answers
    assert hook.published("www") == [B]


# ---- the run -----------------------------------------------------------------


def gone(pid):
    try:
        text = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return True
    return text.rpartition(")")[2].split()[0] == "Z"


def with_options(hook, **more):
    """The hook with further options."""
    options = dict(hook.options(), **{k.replace("_", "-"): v
                                      for k, v in more.items()})
    clone = Hook(hook.dir, hook.tools)
    clone.__dict__.update(hook.__dict__)
    clone.options = lambda: options
    return clone


def test_the_time_limit_ends_all_that_it_started(hook):
    (hook.dir / "child").unlink(missing_ok=True)
    slow = with_options(hook, timeout="4s")
    hook.fault("hang")
    got = slow.apply(*CHANGE)
    # it had been carried out, which reading back shows
    assert got.states() == ["done", "done"], got.answers
    pid = int((hook.dir / "child").read_text())
    net.wait_until("the end of its child", lambda: gone(pid), 5)


def test_its_environment_is_what_the_section_says(hook):
    os.environ["HOOK_TEST_WANTED"] = "yes"
    os.environ["HOOK_TEST_OTHER"] = "secret"
    try:
        assert with_options(hook, environment="HOOK_TEST_WANTED ABSENT"
                            ).run("records", hook.zone, "www.example.org"
                                  ).code == 0
    finally:
        del os.environ["HOOK_TEST_WANTED"], os.environ["HOOK_TEST_OTHER"]
    got = json.loads((hook.dir / "environment").read_text())
    assert got["HOOK_TEST_WANTED"] == "yes"
    assert {x for x in got if not x.startswith("LC_")} <= {
        "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ",
        "TMPDIR", "HOOK_TEST_WANTED"}


def test_what_an_apply_request_holds(hook):
    hook.seed([record("www", "A", A), record("www", "A", "192.0.2.9")])
    (hook.dir / "requests").unlink(missing_ok=True)
    hook.apply(publish("www", B, ttl=60), withdraw("www", A))
    kinds = [r["request"] for r in requests(hook)]
    assert kinds == ["list-records", "apply"]
    r = requests(hook)[1]
    assert (r["version"], r["zone"], r["create"]) == (1, "example.org.", True)
    name = "www.example.org."
    assert [(c["op"], c["name"], c["type"], c["data"], c.get("ttl"))
            for c in r["changes"]] == [("publish", name, "A", B, 60),
                                       ("withdraw", name, "A", A, None)]
    (s,) = r["sets"]
    assert (s["name"], s["type"], s["ttl"]) == (name, "A", 60)
    assert sorted(s["from"]) == [A, "192.0.2.9"]
    assert s["to"] == ["192.0.2.9", B]


@pytest.mark.parametrize("options, text", [
    ({"command": '"x'}, "command: "),
    ({"command": "x {zone}"}, "command: "),
    ({"directory": "here"}, "accepted: an absolute path"),
    ({"timeout": "2h"}, "accepted: 100ms to 1h"),
    ({"environment": "A=b"}, "names of variables"),
    ({"requests": "list-records"}, "list-records and apply must be"),
    ({"requests": "apply list-records drop"}, "accepted: list-records, apply,"),
    ({"publish-time": "2h"}, "accepted: 0 to 1h"),
])
def test_options(hook, tools, options, text):
    words = [f"{k}={v}" for k, v in dict(hook.options(), **options).items()]
    got = subprocess.run([tools / "provider", "hook", *words, "--", "records",
                          "example.org", "www.example.org"], text=True,
                         capture_output=True, timeout=20)
    assert got.returncode != 0
    assert text in got.stdout + got.stderr, got.stdout + got.stderr


# ---- the program -------------------------------------------------------------


def configure(directory, hook, requests_="", user="", **more):
    path = directory / "dnsfailover.conf"
    options = dict(hook.options(), **more)
    if requests_:
        options["requests"] = requests_
    lines = "\n".join(f'    {k} = "{v}"' for k, v in options.items())
    path.write_text(f"""
agent {{
    state = "{directory}/state/state.db"
    allow-targets = {{"127.0.0.0/8"}}
    min-period = "10ms"
{f'    user = "{user}"' if user else ''}
}}
provider own {{
    type = hook
{lines}
}}
zone "example.org" {{
    provider = own
    servers = {{"{hook._ns.addr}:{hook._ns.port}"}}
}}
""")
    path.chmod(0o644)
    return path


def fail_over(hook, a, b, text=None):
    text = text or rows(*(("www.example.org.", t.addr, t.port, "60") for t in (a, b)))
    hook.seed([record("www", "A", a.addr, 60), record("www", "A", b.addr, 60),
               record("_failover.www", "TXT", text, 60)])


def test_once_and_doctor(hook, agent, tmp_path):
    with net.Listener("127.0.0.2") as a, net.Listener("127.0.0.3") as b:
        fail_over(hook, a, b)
        config = configure(tmp_path, hook)
        got = agent("doctor", "-v", config=config)
        assert "can be run" in got.stdout, got.stdout + got.stderr
        assert "the command answers" in got.stdout
        assert "the command lists its records" in got.stdout
        a.close()
        got = agent("once", config=config)
        assert "withdrawn: its checks fail" in got.stdout, (
            got.stdout + got.stderr)
        assert hook.published("www") == [b.addr]


def test_doctor_on_a_command_that_others_can_write(hook, agent, tmp_path):
    script = tmp_path / "own-hook"
    script.write_text(f"#!/bin/sh\nexec {hook.options()['command']}\n")
    script.chmod(0o777)
    got = agent("doctor", config=configure(tmp_path, hook, command=script))
    assert "own-hook can be written by others" in got.stdout, (
        got.stdout + got.stderr)


def test_doctor_says_what_does_not_fit(hook, agent, tmp_path):
    config = configure(tmp_path, hook, command="/nowhere/hook")
    got = agent("doctor", config=config)
    assert got.returncode != 0
    assert "/nowhere/hook" in got.stdout + got.stderr
    config = configure(tmp_path, hook, disables="yes",
                       requests_="list-records apply list-specs")
    got = agent("doctor", "-v", config=config)
    text = got.stdout + got.stderr
    assert "the command says disables: no, the section yes" in text, text
    assert "the command answers write-spec too" in text, text


def test_run_has_its_helper_run_it(hook, agent, short_dir):
    with net.Listener("127.0.0.2") as a, net.Listener("127.0.0.3") as b:
        fail_over(hook, a, b, spec(*checked(a, b)))
        world = types.SimpleNamespace(
            dir=short_dir, agent=agent,
            config=configure(short_dir, hook, user=USER))
        (hook.dir / "requests").unlink(missing_ok=True)
        with Service(world) as s:
            s.until("the first reading",
                    lambda: (hook.dir / "requests").exists())
            a.close()
            s.until("the withdrawal",
                    lambda: hook.published("www") == [b.addr], 40)
            a.open()
            s.until("the way back", lambda: hook.published("www") ==
                    sorted([a.addr, b.addr]), 40)
            assert s.stop() == 0
    assert not any("refuses" in line for line in s.err), s.err


# ---- the other examples ------------------------------------------------------


class Tool(Hook):
    """The provider tool with a hook that needs no BIND."""

    def __init__(self, directory, tools, command, **more):
        super().__init__(directory, tools)
        self._options = {"command": command, **more}
        self._env = {}

    def options(self):
        return self._options

    def environment(self):
        return self._env


needs_lexicon = pytest.mark.skipif(
    shutil.which("lexicon") is None or powerdns.missing() is not None,
    reason="no lexicon (package lexicon), or no PowerDNS")


@needs_lexicon
def test_lexicon_changes_a_real_server(tmp_path, tools):
    with powerdns.PowerDNS(tmp_path / "pdns") as p:
        p.make_zone("example.org", [
            ("www.example.org.", "A", 300, [(A, False), ("192.0.2.9", False)]),
            ("mail.example.org.", "A", 300, [(A, False)])])
        t = Tool(tmp_path, tools, f"{HOOKS}/hook_lexicon.py powerdns "
                 f"--pdns-server {p.url}",
                 environment="LEXICON_POWERDNS_AUTH_TOKEN")
        t._env = {"LEXICON_POWERDNS_AUTH_TOKEN": powerdns.KEY}
        got = t.apply(*CHANGE)
        assert got.states() == ["done", "done"], got.answers
        held = {(r[0], r[2]) for r in p.rows("example.org") if r[1] == "A"}
        assert held == {("www.example.org", B), ("www.example.org", "192.0.2.9"),
                        ("mail.example.org", A)}
        t._env["LEXICON_POWERDNS_AUTH_TOKEN"] = "another-key-of-the-tests"
        got = t.run("records", "example.org", "www.example.org")
        assert got.code == 1 and got.err == "auth", got.answers


def test_lexicons_answer_is_its_last_line(monkeypatch):
    """tldextract, which lexicon uses, complains on standard output."""
    monkeypatch.syspath_prepend(str(HOOKS))
    lexicon = importlib.import_module("hook_lexicon")
    noise = 'Exception reading Public Suffix List\n["Traceback"]\n'
    assert lexicon.answer_of("list", noise + '[{"id": "1"}]\n') == [
        {"id": "1"}]
    for action, code in (("list", "retry"), ("create", "unknown")):
        for text in ("", noise + "Traceback: it broke\n"):
            with pytest.raises(lexicon.Refused) as refused:
                lexicon.answer_of(action, text)
            assert refused.value.code == code
            assert f"lexicon {action}: the answer is no JSON: " in str(
                refused.value)


@pytest.fixture
def octo(tmp_path, tools):
    pytest.importorskip("yaml")
    for name in ("main", "failover", "target"):
        (tmp_path / name).mkdir()
    (tmp_path / "main" / "example.org.yaml").write_text(
        "mail:\n  type: A\n  ttl: 300\n  value: 192.0.2.7\n")
    (tmp_path / "failover" / "example.org.yaml").write_text(
        "www:\n  type: A\n  ttl: 300\n  values: [192.0.2.1, 192.0.2.9]\n")
    providers = {name: {"class": "octodns.provider.yaml.YamlProvider",
                        "directory": str(tmp_path / name)}
                 for name in ("main", "failover", "target")}
    (tmp_path / "config.yaml").write_text(json.dumps({
        "providers": providers,
        "zones": {"example.org.": {"sources": ["main", "failover"],
                                   "targets": ["target"]}}}))
    t = Tool(tmp_path, tools, f"{HOOKS}/hook_octodns.py --config "
             f"{tmp_path}/config.yaml --source-dir {tmp_path}/failover "
             "--target target")
    t._env = {"PATH": f"{HERE / 'octodns_double'}:{os.environ['PATH']}"}
    subprocess.run([HERE / "octodns_double" / "octodns-sync", "--doit",
                    "--config-file", tmp_path / "config.yaml"], check=True,
                   timeout=20)
    return t


def test_octodns_changes_its_own_source(octo, tmp_path):
    """By the stand-in octodns_double: octoDNS itself is not in Debian."""
    import yaml
    got = octo.apply(publish("www", B, ttl=60), withdraw("www", A))
    assert got.states() == ["done", "done"], got.answers
    target = yaml.safe_load((tmp_path / "target" / "example.org.yaml"
                             ).read_text())
    assert target["www"] == {"type": "A", "ttl": 60,
                             "values": ["192.0.2.9", B]}
    assert target["mail"]["value"] == "192.0.2.7"
    assert octo.apply(publish("www", B, ttl=60), withdraw("www", A)
                      ).states() == ["done", "done"]
    # a sync that fails leaves the source as it was
    source = tmp_path / "failover" / "example.org.yaml"
    before = source.read_text()
    got = octo.apply(publish("mail", B))  # in the other source already
    assert got.code == 1 and got.states() == ["failed"], got.answers
    assert "DuplicateRecordException" in got.texts()
    assert source.read_text() == before
