"""`simulate`: the library of traces in tests/simulate, and the command."""

import json
import pathlib

import pytest

LIBRARY = pathlib.Path(__file__).resolve().parents[1] / "simulate"
CASES = sorted(p.name for p in LIBRARY.iterdir() if p.is_dir())
ZONE = "example.org"


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def specs(case):
    """NAME=FILE of each spec: NAME.json, NAME.2.json, NAME.bare; apex.json."""
    files = sorted(p for p in case.iterdir()
                   if p.suffix in (".json", ".bare"))
    for f in files:
        name = f.name.split(".")[0]
        yield f"{'@' if name == 'apex' else name}={f}"


def run(agent, case, *more):
    args = case / "args"
    extra = args.read_text().split() if args.exists() else []
    got = agent("simulate", "--zone", ZONE, *extra, *more, *specs(case),
                case / "trace.jsonl")
    assert got.returncode == 0, got.stderr
    assert got.stderr == ""
    return got.stdout


def by_set(events):
    """What is told of each set, in its order."""
    sets = {}
    for e in events:
        sets.setdefault((e["set"], e["view"]), []).append(e)
    return sets


def check(got, want):
    where = f"got {json.dumps(got)}, wanted {json.dumps(want)}"
    t = want["t"]
    first, last = t if isinstance(t, list) else (t, t)
    assert first <= got["t"] <= last, where
    for key in ("publish", "tier", "reason", "held"):
        if key in want:
            assert got.get(key) == want[key], where


# -- the library --------------------------------------------------------------

@pytest.mark.parametrize("name", CASES)
def test_case(agent, name):
    case = LIBRARY / name
    want = lines(case / "want.jsonl")
    holds = any("held" in w for w in want)
    told = [json.loads(x) for x in
            run(agent, case, "--json", "-v").splitlines()]
    got = [e for e in told
           if "publish" in e or (holds and "held" in e)]
    wanted = by_set([{"view": None, **w} for w in want])
    text = "\n".join(json.dumps(e) for e in told)
    assert {k: len(v) for k, v in by_set(got).items()} == \
        {k: len(v) for k, v in wanted.items()}, text
    for key, events in by_set(got).items():
        for g, w in zip(events, wanted[key]):
            check(g, w)
    times = [e["t"] for e in told]
    assert times == sorted(times)
    # What is wanted together is one transaction.
    together = {e["t"] for e, w in zip(got, want) if w.get("together")}
    assert len(together) <= 1, text


@pytest.mark.parametrize("name", CASES)
def test_is_documented(name):
    text = (LIBRARY / name / "README.md").read_text()
    assert text.startswith("# ") and len(text.split("\n\n", 1)[1]) > 40


@pytest.mark.parametrize("name", ["restart", "brake", "views"])
def test_is_the_same_each_time(agent, name):
    case = LIBRARY / name
    assert run(agent, case, "-v") == run(agent, case, "-v")


def test_order_of_arguments_does_not_matter(agent):
    case = LIBRARY / "inheritance"
    files = list(specs(case))
    one, two = (
        agent("simulate", "--zone", ZONE, "--json", *order,
              case / "trace.jsonl").stdout
        for order in (files, files[::-1]))
    assert one == two != ""


@pytest.mark.parametrize("at", [31, 63, 66, 67, 68, 70, 121, 124, 130, 290])
def test_restart_at_any_moment(agent, tmp_path, at):
    """The same sequence of sets, times within one accessPeriod."""
    case = LIBRARY / "return-after"
    trace = tmp_path / "trace.jsonl"
    trace.write_text((case / "trace.jsonl").read_text()
                     + json.dumps({"t": at, "restart": True}) + "\n")
    first, second = (
        [json.loads(x) for x in
         agent("simulate", "--zone", ZONE, "--json", *specs(case),
               t).stdout.splitlines()]
        for t in (case / "trace.jsonl", trace))
    assert [(e["set"], e["publish"], e["tier"]) for e in first] == \
        [(e["set"], e["publish"], e["tier"]) for e in second]
    for a, b in zip(first, second):
        assert abs(a["t"] - b["t"]) <= 10


# -- the command --------------------------------------------------------------

SPEC = json.dumps({"records": [{"data": "192.0.2.1", "check": "tcp:443"},
                               {"data": "192.0.2.2", "check": "tcp:443"}],
                   "dcs": {"dc1": {"maintenanceMode": False}}})
UP = '{"t":0,"target":"192.0.2.1","ok":true}\n'


@pytest.fixture
def simulate(agent, tmp_path):
    """simulate(trace, *options) → the run, of one spec at www."""
    spec = tmp_path / "www.json"
    spec.write_text(SPEC)

    def go(trace, *more):
        return agent("simulate", "--zone", ZONE, *more, f"www={spec}", "-",
                     input=trace)
    return go


def test_text_output(simulate):
    got = simulate(UP + '{"t":1,"published":"www A","data":["192.0.2.2"]}\n')
    assert got.returncode == 0
    line, = got.stdout.splitlines()
    assert line.split(maxsplit=1)[1] == (
        "www.example.org. A: 192.0.2.1 192.0.2.2 (tier 1: healthy records)")


def test_json_output(simulate):
    got = simulate(UP, "--json")
    line, = got.stdout.splitlines()
    event = json.loads(line)
    assert list(event) == ["t", "set", "view", "publish", "tier", "reason"]
    assert line == (
        '{"t":%s,"set":"www.example.org. A","view":null,'
        '"publish":["192.0.2.1"],"tier":1,"reason":"healthy records"}'
        % json.dumps(event["t"]))


def test_verbose_tells_checks(simulate):
    got = simulate(UP, "-v", "--json")
    first = json.loads(got.stdout.splitlines()[0])
    assert first == {"t": first["t"], "check": "tcp:443",
                     "target": "192.0.2.1", "state": "up"}


@pytest.mark.parametrize("line, why", [
    ('{"t":0,"target":"192.0.2.9","ok":true}',
     "no check of the specs probes 192.0.2.9; there are: tcp:443 at "
     "192.0.2.1, tcp:443 at 192.0.2.2"),
    ('{"t":0,"target":"192.0.2.1","check":"tcp:80","ok":true}',
     "no check of the specs is tcp:80 at 192.0.2.1"),
    ('{"t":0,"target":"192.0.2.1","check":"wep","ok":true}',
     'check: found "wep"; accepted: the name of a check'),
    ('{"t":0,"target":"192.0.2.1","okay":true}', "no fact; one of ok, "),
    ('{"t":0,"taget":"192.0.2.1","ok":true}',
     'unknown member "taget"; accepted beside ok: t, ok, target, check, '),
    ('{"t":0,"ok":true}', '"target" is missing'),
    ('{"target":"192.0.2.1","ok":true}', '"t" is missing'),
    ('{"t":"12x","target":"192.0.2.1","ok":true}',
     't: found "12x"; accepted: a number of seconds'),
    ('{"t":0,"target":"192.0.2.1","ok":"yes"}',
     'ok: found "yes"; accepted: true, false'),
    ('{"t":0,"target":"192.0.2.1","ok":true,"ok":true}',
     "found this member twice"),
    ('{"t":0,"target":"192.0.2.1","error":"remote"}',
     'error: found "remote"; accepted: "local"'),
    ('{"t":0,"target":"not a name","ok":true}', "target: found"),
    ('{"t":0,"maintenance":"dc9","on":true}',
     'no spec has a data centre called "dc9"'),
    ('{"t":0,"maintenance":"dc1"}', '"on" is missing'),
    ('{"t":0,"maintenance":"dc1","on":true,"for":0}',
     "a time longer than 0"),
    ('{"t":0,"published":"www MX","data":[]}', 'published: found "www MX"'),
    ('{"t":0,"published":"ftp A","data":[]}',
     "no spec has a set at ftp.example.org."),
    ('{"t":0,"published":"www AAAA","data":[]}',
     "no spec has the set www.example.org. AAAA"),
    ('{"t":0,"published":"www A","data":["2001:db8::1"]}',
     '"2001:db8::1" is no value of A'),
    ('{"t":0,"published":"www A"}', '"data" is missing'),
    ('{"t":0,"readmit":"www","data":"192.0.2.7"}', "has no value 192.0.2.7"),
    ('{"t":0,"freeze":"ftp"}', "no spec has a set at ftp.example.org."),
    ('{"t":0,"restart":1}', "restart: found 1; accepted: true"),
    ('{"t":0 "x":1}', "found"),
    ("[]", "a fact is an object"),
])
def test_mistakes_in_the_trace(simulate, line, why):
    got = simulate('{"comment":"the mistake is in the next line"}\n' + line)
    assert got.returncode == 2
    assert got.stdout == ""
    assert "-: line 2" in got.stderr
    assert why in got.stderr


@pytest.mark.parametrize("arguments, why", [
    ([], "--zone is needed"),
    (["--zone", ZONE], "no spec; simulate takes NAME=FILE"),
    (["--zone", ZONE, "www=SPEC"], "no trace"),
    (["--zone", ZONE, "www=SPEC", "a", "b"], "there is one trace"),
    (["--zone", ZONE, "www.example.com.=SPEC", "-"], "is not within"),
    (["--zone", ZONE, "www=/nowhere", "-"], "No such file"),
    (["--zone", ZONE, "www=SPEC", "/nowhere"], "No such file"),
    (["--zone", ZONE, "www=BAD", "-"], "_failover.www.example.org"),
])
def test_usage(agent, tmp_path, arguments, why):
    spec, bad = tmp_path / "spec", tmp_path / "bad"
    spec.write_text(SPEC)
    bad.write_text('{"records":[{"dato":"192.0.2.1"}]}')
    got = agent("simulate", *[
        a.replace("SPEC", str(spec)).replace("BAD", str(bad))
        for a in arguments], input="")
    assert got.returncode == 2
    assert why in got.stderr


def test_leaves_nothing_behind(agent, tmp_path):
    case = LIBRARY / "restart"
    got = agent("simulate", "--zone", ZONE, *specs(case),
                case / "trace.jsonl", env={"TMPDIR": str(tmp_path)})
    assert got.returncode == 0
    assert list(tmp_path.iterdir()) == []
