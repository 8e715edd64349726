"""dnsfailover-spec(5): its examples run, its lists are the program's."""

import json
import re
import shutil
import subprocess

import pytest

PAGE = "contrib/man/dnsfailover-spec.5"
DISPLAY = re.compile(r"^\.Bd -literal.*?\n(.*?)^\.Ed$", re.M | re.S)
SIMULATED = re.compile(
    r'^\.\\" simulate: (.*)\n((?:\.Bd -literal.*\n(?:(?!\.Ed$).*\n)*\.Ed\n)+)',
    re.M)
SLACK_S = 12.0  # the schedule is spread and jittered over an accessPeriod


@pytest.fixture(scope="module")
def page(root):
    return (root / PAGE).read_text(encoding="utf-8")


def shown(text):
    """A display as its reader sees it."""
    return text.replace(r"\&", "").replace(r"\(dq", '"').replace(r"\e", "\\")


def worlds(text):
    """[(names, specs, trace, timeline)] of the simulated examples."""
    found = []
    for names, displays in SIMULATED.findall(text):
        blocks = [shown(b) for b in DISPLAY.findall(displays)]
        names = names.split()
        assert len(blocks) == len(names) + 2, displays
        found.append((names, blocks[:-2], blocks[-2], blocks[-1]))
    return found


def texts(text):
    """Every other display that is a spec."""
    rest = SIMULATED.sub("", text)
    return [b for b in map(shown, DISPLAY.findall(rest)) if b[0] in "[{"]


def lines(timeline):
    """[(seconds, text)]; a line that is indented far goes on."""
    found = []
    for line in re.sub(r"\n {9,}(?=\()", " ", timeline).splitlines():
        t, _, rest = line.strip().partition(" ")
        found.append((float(t), " ".join(rest.split())))
    return found


def test_lint(page, agent):
    """Each example is valid, and the only advice is what it is about: few
    records. Specs below an apex spec are read together, by simulate."""
    every = texts(page)
    for names, specs, _, _ in worlds(page):
        if "@" not in names:
            every += specs
    assert len(every) >= 20
    for spec in every:
        got = agent("lint", "--json", "--name", "www.example.org", "--zone",
                    "example.org", "-", input=spec)
        assert got.returncode == 0, (spec, got.stdout)
        advice = {x["id"] for x in json.loads(got.stdout)["warnings"]}
        assert advice <= {"single-record"}, (spec, got.stdout)


@pytest.mark.parametrize("number", range(13))
def test_simulate(page, agent, tmp_path, number):
    """The timelines shown are those that simulate prints."""
    names, specs, trace, timeline = worlds(page)[number]
    arguments = []
    for name, spec in zip(names, specs):
        path = tmp_path / f"{name.replace('@', 'apex')}.json"
        path.write_text(spec)
        arguments.append(f"{name}={path}")
    (tmp_path / "trace.jsonl").write_text(trace)
    got = agent("simulate", "--zone", "example.org", *arguments,
                tmp_path / "trace.jsonl")
    assert got.returncode == 0, got.stderr
    want, have = lines(timeline), lines(got.stdout)
    assert [x for _, x in have] == [x for _, x in want], got.stdout
    for (t, text), (shown_t, _) in zip(have, want):
        assert abs(t - shown_t) <= SLACK_S, (text, t)


def test_every_world_is_tried(page):
    assert len(worlds(page)) == 13


def test_lists(root, tools):
    """Members, advice and the schema are those of the program's tables."""
    got = subprocess.run(
        ["sh", "contrib/lint/generated.sh", str(tools / "manual")], cwd=root,
        capture_output=True, text=True, timeout=60, check=False)
    assert (got.returncode, got.stdout) == (0, ""), got.stdout + got.stderr


def test_advice(root, page):
    """Every id that lint gives is in the manual."""
    code = "".join((root / f).read_text() for f in (
        "agent/cli/lint.c", "agent/cli/lint_advise.c", "agent/cli/lint_dns.c"))
    ids = set(re.findall(r'lint_note_add\(\w+, "([a-z-]+)"', code))
    assert len(ids) > 5
    part = page[page.index(".Sh ADVICE"):page.index(".Sh MEMBERS")]
    for name in ids:
        assert f"\n.It Cm {name}\n" in part, name


def test_page(root):
    if shutil.which("mandoc") is None:
        pytest.skip("mandoc is not installed")
    got = subprocess.run(["mandoc", "-Tlint", "-Wwarning", str(root / PAGE)],
                         capture_output=True, text=True, timeout=30,
                         check=False)
    assert got.returncode == 0, got.stdout + got.stderr


def test_kinds_that_are_not_probed(root, page, agent):
    """CAVEATS is true as long as the program says the same."""
    told = "is not probed by this version" in (
        root / "agent/engine/checks/check_run.c").read_text()
    assert told == ("Checks of other kinds than TCP are not probed" in page)


def test_examples(root, agent):
    """specs/examples: every file is valid at the name that its README says,
    and the README names every file."""
    readme = (root / "specs/examples/README.md").read_text()
    rows = dict(re.findall(r"^\| `([\w.-]+)` \| `_failover\.([\w.]+)` ",
                           readme, re.M))
    files = [f.name for f in (root / "specs/examples").iterdir()
             if f.suffix != ".md"]
    assert sorted(rows) == sorted(files)
    for name, owner in rows.items():
        got = agent("lint", "--name", owner, "--zone", "example.org",
                    f"specs/examples/{name}", cwd=root)
        assert got.returncode == 0, got.stdout
