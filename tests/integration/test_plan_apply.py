"""What `plan` says is what `once` does: the same lines, the same zone.

DNSFAILOVER_SEED repeats a run.
"""

import os
import random
import re
import time

from world import WWW, build, checked, records, spec, target  # noqa: F401

SEED = int(os.environ.get("DNSFAILOVER_SEED", str(time.time_ns() // 1000)))
CHANGE = re.compile(
    r"(\S+ (?:A|AAAA|CNAME) \S+) (?:would be )?(published|withdrawn): (.*)")


def changes(got):
    return sorted(m.groups() for m in map(CHANGE.match,
                                          got.stdout.splitlines()) if m)


def three_dcs(targets):
    """A chain with a passive data centre, DR and a fallback."""
    a, b, c, d = targets
    text = spec({"data": a.addr, "check": a.port, "dc": "one"},
                {"data": b.addr, "check": b.port, "dc": "two"},
                {"data": c.addr, "check": c.port, "drIfNoRecords": True},
                dcs={"one": {"wanAccess": [f"tcp:{a.port}@{a.addr}"]},
                     "two": {"wanAccess": [f"tcp:{b.port}@{b.addr}"],
                             "noResponse": True}},
                fallbackRecords=[{"data": d.addr}], damping=False,
                allDown="all")
    return text


def test_plan_is_what_once_does(build, target):
    rng = random.Random(SEED)
    targets = [target(f"127.0.0.{i}") for i in (2, 3, 4, 5)]
    lamp = target("127.0.0.9")
    w = build(records=records("www", targets[0]) + "\n"
              + records("lamp", lamp),
              specs={"www": three_dcs(targets),
                     "lamp": spec(*checked(lamp)),
                     "@": '{"maxChange":"100%"}'})
    w.settle()
    shown = 0
    for step in range(10):
        if step == 0:
            targets[0].close()
        else:
            for t in rng.sample(targets[:3], rng.randint(0, 2)):
                (t.close if rng.random() < 0.5 else t.open)()
        if rng.random() < 0.4:
            got = w.run("maintenance", "two", rng.choice(["on", "off"]))
            assert got.returncode == 0, got.stderr
        before = w.values("www")
        planned = w.run("plan")
        assert w.values("www") == before, f"DNSFAILOVER_SEED={SEED}: {step}"
        done = w.once()
        assert changes(planned) == changes(done), (
            f"DNSFAILOVER_SEED={SEED}: step {step}:\n{planned.stdout}"
            f"{planned.stderr}--\n{done.stdout}{done.stderr}")
        for name, what, _ in changes(done):
            address = name.split()[2]
            assert name.split()[0] == WWW
            assert (address in w.values("www")) == (what == "published")
        shown += len(changes(done))
        assert w.values("www")
        assert not changes(w.run("plan"))
    assert shown > 0
