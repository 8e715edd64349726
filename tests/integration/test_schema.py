"""The JSON Schema against an independent validator (npm ajv)."""

import subprocess

import pytest

import npm


def modules(root):
    return npm.modules(root, "schema", "ajv", 16, "DNSFAILOVER_AJV")


@pytest.fixture(scope="module")
def verdicts(root):
    """What ajv says of every JSON fixture and example: {path: text}."""
    files = sorted(
        str(f.relative_to(root))
        for folder in ("tests/fixtures/specs", "specs/examples")
        for f in (root / folder).rglob("*.json"))
    got = subprocess.run(
        ["node", "tests/schema/validate.cjs", str(modules(root)),
         "specs/dnsfailover.schema.json", *files],
        cwd=root, capture_output=True, text=True, errors="replace",
        timeout=120, check=False)
    assert got.returncode == 0, got.stderr
    said = dict(line.split("\t", 1) for line in got.stdout.splitlines())
    assert sorted(said) == files
    return said


def accepted(root):
    text = (root / "tests" / "schema" / "accepted.txt").read_text()
    return {line for line in text.splitlines()
            if line and not line.startswith("#")}


def test_good_specs_are_valid(verdicts):
    wrong = {f: said for f, said in verdicts.items()
             if "/bad/" not in f and said != "valid"}
    assert not wrong


def test_bad_specs_are_refused(verdicts, root):
    """All but those whose mistake a schema cannot see, and each of these."""
    bad = {f.rsplit("/", 1)[1] for f, said in verdicts.items()
           if "/bad/" in f and said == "valid"}
    assert bad == accepted(root)
    assert len([f for f in verdicts if "/bad/" in f]) - len(bad) >= 60


def test_schema_knows_misspelt_members(root, tmp_path):
    """What an editor should underline."""
    places = {
        '{"recods":[]}': "recods",
        '{"records":[{"data":"192.0.2.1","tll":5}]}': "tll",
        '{"checks":{"w":{"type":"tcp","path":"/"}}}': "path",
        '{"dcs":{"d":{"wanaccess":[]}}}': "wanaccess",
    }
    for i, text in enumerate(places):
        (tmp_path / f"{i}.json").write_text(text)
    files = [str(tmp_path / f"{i}.json") for i in range(len(places))]
    got = subprocess.run(
        ["node", "tests/schema/validate.cjs", str(modules(root)),
         "specs/dnsfailover.schema.json", *files],
        cwd=root, capture_output=True, text=True, timeout=60, check=True)
    for line in got.stdout.splitlines():
        assert not line.endswith("valid"), line
