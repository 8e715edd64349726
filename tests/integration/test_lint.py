"""`lint`: files, standard input and names; the exact place and reason."""

import json

import pytest

import servers
from world import (  # noqa: F401
    WWW, ZONE, build, pair, records, rows, target,
)

GOOD = rows((WWW, "192.0.2.1", 443), (WWW, "192.0.2.2", 443))
WARNS = json.dumps([{"name": WWW, "data": "192.0.2.1", "check": "443",
                     "weight": 3},
                    {"name": WWW, "data": "192.0.2.2", "check": "443"}])
BAD = json.dumps([{"name": WWW, "data": "192.0.2.1", "check": "443"},
                  {"name": WWW, "data": "192.0.2.2", "check": "443",
                   "ttl": "x"}])


@pytest.fixture
def texts(tmp_path):
    """texts(name=text…) → paths."""
    def make(**named):
        made = []
        for name, text in named.items():
            path = tmp_path / name
            if isinstance(text, str):
                text = text.encode()
            path.write_bytes(text)
            made.append(path)
        return made
    return make


# -- files -----


def test_good_file(agent, texts):
    path, = texts(good=GOOD + "\n")
    got = agent("lint", path)
    assert (got.returncode, got.stderr) == (0, "")
    assert got.stdout == (f"{path}: ok: rows, spelled as JSON; 1 set, "
                          "2 records\n")


def test_bad_file(agent, texts):
    path, = texts(bad=BAD)
    got = agent("lint", path)
    assert got.returncode == 1
    assert got.stdout.startswith(f'{path}: error: /1/ttl: found "x"; '
                                 "accepted: ")
    got = agent("lint", "--name", WWW, "--zone", ZONE, path)
    assert got.stdout.startswith(
        f'{path}: error: _failover.www.example.org /1/ttl: found "x"; '
        "accepted: ")


def test_several_files(agent, texts):
    """All are looked at; one bad one is enough for exit 1."""
    good, bad, more = texts(good=GOOD, bad=BAD, more=json.dumps(
        {"records": [{"data": "192.0.2.1", "check": 443},
                     {"data": "192.0.2.2", "check": 443}]}))
    got = agent("lint", good, bad, more)
    assert got.returncode == 1
    lines = got.stdout.splitlines()
    assert [line.split(": ")[:2] for line in lines] == [
        [str(good), "ok"], [str(bad), "error"], [str(more), "ok"]]
    assert "object form" in lines[2]


def test_file_that_is_not_there(agent, tmp_path):
    got = agent("lint", tmp_path / "none")
    assert got.returncode == 1
    assert f"{tmp_path}/none: error: " in got.stdout
    assert "No such file" in got.stdout
    got = agent("lint", tmp_path)
    assert got.returncode == 1
    assert "directory" in got.stdout


def test_standard_input(agent):
    got = agent("lint", "-", input=GOOD)
    assert got.returncode == 0
    assert got.stdout.startswith("-: ok: rows")
    got = agent("lint", "-", input=BAD)
    assert got.returncode == 1
    assert "/1/ttl" in got.stdout
    got = agent("lint", "-", input="")
    assert got.returncode == 1
    assert "found nothing" in got.stdout


def test_warnings_and_strict(agent, texts):
    path, = texts(warns=WARNS)
    got = agent("lint", path)
    assert got.returncode == 0
    lines = got.stdout.splitlines()
    assert lines[0].startswith(f"{path}: warning: /0/weight: unknown member")
    assert ": ok: " in lines[1]
    assert agent("lint", "--strict", path).returncode == 1
    good, = texts(good=GOOD)
    assert agent("lint", "--strict", good).returncode == 0


def test_json(agent, texts):
    paths = texts(good=GOOD, bad=BAD, warns=WARNS)
    got = agent("lint", "--json", *paths)
    assert got.returncode == 1
    good, bad, warns = (json.loads(x) for x in got.stdout.splitlines())
    assert good == {"source": str(paths[0]), "ok": True, "errors": [],
                    "warnings": [], "spelling": "JSON", "notes": [
                        {"id": "failover-time", "text":
                         f"/0: {WWW} A: a failover takes at most 62s, and the "
                         "TTL that stands in the zone"}]}
    assert bad["ok"] is False
    assert bad["errors"][0]["code"] == "input"
    assert bad["errors"][0]["text"].startswith('/1/ttl: found "x"')
    assert warns["ok"] is True
    assert [w["id"] for w in warns["warnings"]] == ["warning"]
    assert warns["warnings"][0]["text"].startswith("/0/weight: unknown member")


def test_name_and_zone_of_a_file(agent, texts):
    """They say what the text is for: authority is judged then."""
    path, = texts(good=GOOD)
    assert agent("lint", "--name", "www.example.org", "--zone", "example.org",
                 path).returncode == 0
    got = agent("lint", "--name", "mail.example.org", "--zone", "example.org",
                path)
    assert got.returncode == 1
    assert "/0/name: www.example.org. is outside" in got.stdout
    got = agent("lint", "--zone", "example.net", path)
    assert got.returncode == 1
    assert "/0/name" in got.stdout


@pytest.mark.parametrize("text, place", [
    (b"\xff\xfe[\0", "(byte 0)"),
    (b'{"comment":"\xe9"}', "/comment (byte 12): found byte 0xE9; accepted"),
    (b"[" * 70000, ""),
    (b"[" * 40, "more than 32 levels"),
    (b'{"comment":"' + b"x" * 66000 + b'"}', "65000"),
    (b'{"a":\x01}', "byte 0x01"),
    (b"v=spf1 -all", "accepted: a text that begins with [ { or"),
])
def test_hostile_files(agent, texts, text, place):
    path, = texts(hostile=text)
    got = agent("lint", path)
    assert got.returncode == 1
    assert place in got.stdout
    assert len(got.stdout) < 600
    assert got.stdout.isascii() and "\x01" not in got.stdout


def test_j1(agent, shared):
    """The syntax set of the cases, as it is: what is no JSON is refused as
    such, what is JSON at least gets as far as its members."""
    folder = shared / "cases" / "files" / "json"
    if not folder.is_dir():
        pytest.skip(f"no {folder}")
    syntax = 0
    for line in (folder / "j1.tsv").read_text().splitlines():
        name, want = line.split("\t")[:2]
        got = agent("lint", folder / name)
        assert len(got.stdout.splitlines()) == 1, name
        assert len(got.stdout) < 200 + 400, name
        text = got.stdout.split(": ", 1)[1]
        if want == "accept":
            assert "unknown member" in text, (name, text)
        elif want.startswith("reject"):
            assert got.returncode == 1, (name, text)
            syntax += "(byte " in text or "levels" in text
    assert syntax >= 12


# -- names -----


@pytest.mark.parametrize("kind", [servers.Bind, servers.Nsd, servers.Knot])
def test_names(build, target, kind):
    w = build(kind=kind, records=records("www", "192.0.2.1", "192.0.2.2"),
              specs={"www": GOOD, "bad": BAD.replace("www", "bad"),
                     "warns": WARNS.replace("www", "warns"),
                     "foreign": "v=spf1 -all"})
    got = w.run("lint", "www.example.org", "_failover.WWW.example.org.",
                "bad.example.org", "warns.example.org", "none.example.org",
                "foreign.example.org")
    assert got.returncode == 1
    lines = got.stdout.splitlines()
    assert lines[0] == ("www.example.org: ok: rows, spelled as JSON; 1 set, "
                        "2 records")
    assert lines[1].startswith("_failover.WWW.example.org.: ok: rows")
    assert lines[2].startswith("bad.example.org: error: "
                               "_failover.bad.example.org /1/ttl: found")
    assert lines[3].startswith("warns.example.org: warning: "
                               "_failover.warns.example.org /0/weight")
    assert lines[4].startswith("warns.example.org: ok")
    assert lines[5].startswith("none.example.org: error: "
                               "_failover.none.example.org: ")
    assert lines[6].startswith("foreign.example.org: error: "
                               "_failover.foreign.example.org")
    assert len(lines) == 7
    got = w.run("lint", "--json", "www.example.org", "bad.example.org")
    good, bad = (json.loads(x) for x in got.stdout.splitlines())
    assert (good["ok"], bad["ok"]) == (True, False)
    assert w.run("lint", "warns.example.org").returncode == 0
    assert w.run("lint", "--strict", "warns.example.org").returncode == 1


def test_name_with_the_apex_defaults(build):
    """The apex spec's part is judged with it: here its period is too short
    for the agent's own limit."""
    w = build(records=records("www", "192.0.2.1"), specs={
        "@": json.dumps({"names": ["www"]}), "www": GOOD})
    got = w.run("lint", "www.example.org", "example.org")
    assert got.returncode == 0, got.stdout
    assert "example.org: ok: object form" in got.stdout


def test_name_of_a_dead_server(pair):
    w, _, _ = pair()
    w.ns.stop()
    got = w.run("lint", "www.example.org")
    assert got.returncode == 1
    assert "www.example.org: error: _failover.www.example.org" in got.stdout


def test_name_through_a_resolver(build):
    """Without a section of the zone its servers are looked for; the name
    server here is its own resolver and no port 53: an error that says what
    helps."""
    w = build(records=records("www", "192.0.2.1"), specs={"www": GOOD})
    w.config.write_text(
        w.config.read_text().replace('zone "example.org"',
                                     'zone "example.net"')
        + f'resolver {{ servers = {{"{w.ns.server}"}} }}\n')
    got = w.run("lint", "www.example.com")
    assert got.returncode == 1
    assert "www.example.com: error: " in got.stdout
    assert "(-c)" in got.stdout or "REFUSED" in got.stdout


def test_neither_file_nor_name(agent, tmp_path):
    got = agent("lint", "no such name", cwd=tmp_path)
    assert got.returncode in (1, 2)
    assert "no such name" in got.stdout + got.stderr


def test_lint_writes_nothing(pair):
    w, _, _ = pair()
    before = w.files()
    w.run("lint", "www.example.org")
    assert w.files() == before
    assert not w.state.parent.exists()
