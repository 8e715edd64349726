"""What the tests of lint share: specs with something to advise, the program
in all its ways of telling, and configurations."""

import json

import pytest

from world import WWW, ZONE, rows

NAMES = ("--name", "www.example.org", "--zone", ZONE)
ONE, TWO = "192.0.2.1", "192.0.2.2"


def spec(*changed, **members):
    """Two records with a check each; `changed` alters or adds records."""
    made = [{"data": ONE, "check": 443}, {"data": TWO, "check": 443}]
    for i, change in enumerate(changed):
        made[i:i + 1] = [{**(made[i] if i < 2 else {}), **change}]
    return {"records": made, **members}


def padded(n):
    """Two rows of www in n bytes."""
    text = rows((WWW, ONE, 443), (WWW, TWO, 443))
    return text[:-1] + " " * (n - len(text)) + "]"


class Said:
    """What `lint --json` says of one text."""

    def __init__(self, got):
        assert got.stderr == "", got.stderr
        self.code = got.returncode
        self.whole, = [json.loads(line) for line in got.stdout.splitlines()]
        self.errors = [e["text"] for e in self.whole["errors"]]
        assert self.whole["ok"] == (not self.errors)
        assert all(e["code"] for e in self.whole["errors"])
        for item in self.whole["warnings"] + self.whole["notes"]:
            assert set(item) == {"id", "text"}, item
            assert item["id"] and item["text"]

    @property
    def ids(self):
        return sorted(x["id"] for x in self.whole["warnings"])

    def texts(self, wanted):
        return [x["text"]
                for x in self.whole["warnings"] + self.whole["notes"]
                if x["id"] == wanted]

    def text(self, wanted):
        text, = self.texts(wanted)
        return text


@pytest.fixture
def lint(agent, tmp_path):
    """lint(text or object, options…, config=…) → Said. The same warnings come
    as lines, and with --strict they are a failure."""
    def run(text, *options, config=None):
        if not isinstance(text, str):
            text = json.dumps(text)
        path = tmp_path / "spec"
        path.write_text(text)
        options = options or NAMES
        said = Said(agent("lint", "--json", *options, path, config=config))
        plain = agent("lint", "-v", *options, path, config=config)
        assert plain.returncode == said.code == (1 if said.errors else 0)
        lines = plain.stdout.splitlines()
        for kind, key in (("error", "errors"), ("warning", "warnings"),
                          ("note", "notes")):
            assert [x for x in lines if x.startswith(f"{path}: {kind}: ")] == [
                f"{path}: {kind}: {x['text']}" for x in said.whole[key]]
        quiet = agent("lint", *options, path, config=config).stdout
        assert quiet.splitlines() == [
            x for x in lines if not x.startswith(f"{path}: note: ")]
        strict = agent("lint", "--strict", *options, path, config=config)
        assert strict.returncode == int(bool(said.errors or said.ids))
        return said

    return run


@pytest.fixture
def config(tmp_path):
    """config(agent lines, provider=type, section=lines) → path of a file."""

    def make(agent="", *, provider="zonefile", section="", zone=ZONE):
        options = {
            "zonefile": f'  file = "{tmp_path}/{{zone}}"',
            "ispconfig": '  url = "https://192.0.2.10:8080/remote/index.php"\n'
                         f'  user = "u"\n  password-file = "{tmp_path}/pw"',
        }[provider]
        path = tmp_path / "agent.conf"
        path.write_text(
            f'agent {{\n  state = "{tmp_path}/s.db"\n{agent}\n}}\n'
            f"provider p {{\n  type = {provider}\n{options}\n}}\n"
            f'zone "{zone}" {{\n  provider = p\n{section}\n}}\n')
        return path

    return make
