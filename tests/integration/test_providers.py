"""dnsfailover providers: the tables, for people and programs."""

import json
import re


def test_text(agent):
    got = agent("providers")
    assert got.returncode == 0 and got.stderr == ""
    for word in ("zonefile\n", "ispconfig\n", "ISPCONFIG_PASSWORD",
                 "(required)", "(default 30)"):
        assert word in got.stdout, word
    assert max(map(len, got.stdout.splitlines())) <= 80
    one = agent("providers", "zonefile")
    assert one.stdout in got.stdout
    assert "ISPCONFIG" not in one.stdout


def test_json(agent, root):
    lines = agent("providers", "--json").stdout.splitlines()
    types = {p["type"]: p for p in map(json.loads, lines)}
    assert len(types) == len(lines)
    panel = types["ispconfig"]
    assert panel["capabilities"]["in-place"] is True
    assert panel["capabilities"]["min-ttl"] == 60
    options = {o["name"]: o for o in panel["options"]}
    assert options["url"]["required"] is True
    assert options["url"]["env"] == ["ISPCONFIG_URL"]
    assert options["timeout"]["default"] == "30"
    # Each type has its part in the manual, with every option and variable.
    page = (root / "contrib/man/dnsfailover.conf.5").read_text()
    for name, p in types.items():
        part = re.search(rf"begin: provider-{name}\n(.*?)end: ", page,
                         re.S).group(1)
        for o in p["options"]:
            assert f".It Cm {o['name']}\n" in part
            for variable in o["env"]:
                assert f".Ev {variable} " in part


def test_unknown_type(agent):
    got = agent("providers", "nobody")
    assert got.returncode == 2
    assert 'no provider type "nobody"' in got.stderr
