"""The program against a second implementation, decision by decision.

DNSFAILOVER_SEED and DNSFAILOVER_CASES repeat a run or make it longer.
"""

import json
import os
import random
import subprocess
import sys
import time

import pytest

CASES = int(os.environ.get("DNSFAILOVER_CASES", "4000"))
SEED = int(os.environ.get("DNSFAILOVER_SEED", str(time.time_ns() // 1000)))
BATCH = 500


@pytest.fixture(scope="module")
def reference(root):
    sys.path.insert(0, str(root / "tests/reference"))
    import dnsfailover_reference
    yield dnsfailover_reference
    sys.path.remove(str(root / "tests/reference"))


@pytest.fixture
def decide(tools):
    path = tools / "decide"
    if not path.exists():
        pytest.fail(f"{path} is not there; run make test-programs")

    def run(cases):
        lines = "".join(json.dumps(c) + "\n" for c in cases)
        got = subprocess.run([path], input=lines, capture_output=True,
                             text=True, timeout=300)
        assert got.returncode == 0, got.stderr[-4000:]
        out = [json.loads(line) for line in got.stdout.splitlines()]
        assert len(out) == len(cases)
        return out

    return run


def expected(reference, case, spec):
    """What the reference makes of a case; one result a step."""
    judge = reference.Judge(spec, case["agent_dc"])
    published = case["published"]
    for step in case["steps"]:
        for dc in step.get("readmit", []):
            judge.readmit(dc)
        result = judge.step(step, published)
        published = {k: v["publish"] for k, v in result["sets"].items()}
        yield result


def difference(want, got):
    for key, letter in want["records"].items():
        if got["records"].get(key) != letter:
            return f"{key} is {got['records'].get(key)}, reference {letter}"
    if want["sets"].keys() != got["sets"].keys():
        return f"sets {sorted(got['sets'])}, reference {sorted(want['sets'])}"
    for key, decision in want["sets"].items():
        have = dict(got["sets"][key])
        have["publish"] = sorted(have["publish"])
        if have != decision:
            return f"{key}: {have}, reference {decision}"
    return None


def explain(seed, case, step, what):
    return (f"DNSFAILOVER_SEED={seed} DNSFAILOVER_CASES=1: step {step}: "
            f"{what}\napex {case['apex']}\nspec {case['texts']}\n"
            f"agent in {case['agent_dc']}, published {case['published']}\n"
            + "\n".join(json.dumps(s) for s in case["steps"][:step + 1]))


def test_every_decision_is_the_reference_s(reference, decide):
    import random_cases
    for first in range(0, CASES, BATCH):
        seeds = range(SEED + first, SEED + min(first + BATCH, CASES))
        made = [random_cases.random_case(random.Random(s), reference)
                for s in seeds]
        results = decide([case for case, _ in made])
        for seed, (case, spec), got in zip(seeds, made, results):
            assert "error" not in got, explain(seed, case, -1, got["error"])
            wanted = expected(reference, case, spec)
            for i, (want, have) in enumerate(zip(wanted, got["steps"])):
                what = difference(want, have)
                assert what is None, explain(seed, case, i, what)
