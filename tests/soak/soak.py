#!/usr/bin/env python3
"""`dnsfailover run` under the sanitizers in a world that never rests; called
by run.sh in a network namespace of its own.

SOAK_S     seconds of unrest (1800)
SOAK_SEED  of what happens (a random one, printed)
SOAK_BIN   the program

Ends with one line for each thing that must hold, `NAME FIGURE LIMIT ok|short`,
and exit status 1 when one does not.
"""

import collections
import contextlib
import multiprocessing
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(HERE), str(ROOT / "tests" / "integration")]

import scene
import servers
import service
import world
from arrivals import Arrivals, gaps, share
from conftest import SANITIZER, Agent

SOAK_S = float(os.environ.get("SOAK_S", 1800))
BIN = pathlib.Path(os.environ.get("SOAK_BIN",
                                  ROOT / "build" / "asan" / "dnsfailover"))
# What is freed is kept for a while, to catch its use: only little of it, or
# memory would grow for half an hour.
ASAN = "detect_leaks=1:quarantine_size_mb=8:exitcode=99"
SETTLE_S, STOP_S = 180, 90
STARTS_TICK_S = 0.01  # the service gathers the starts of so long
JITTER = 0.1          # of a period: so much earlier a probe may come


def say(text):
    print(f"# {text}", flush=True)


# -- the machine itself --------------------------------------------------------

Stalls = collections.namedtuple("Stalls", "sleep_99 sleep disk_99 disk")
DISK_EVERY = 30  # sleeps


def watch_stalls(over, pipe, path):
    """How much longer than asked a sleep takes, and how long it takes until a
    few bytes are on the disk: what no program can mend."""
    late, disk = [], [0.0]
    with open(path, "wb", buffering=0) as f:
        while not over.is_set():
            t0 = time.monotonic()
            time.sleep(0.01)
            t1 = time.monotonic()
            late.append(t1 - t0 - 0.01)
            if len(late) % DISK_EVERY == 0:
                f.write(b"x" * 4096)
                os.fdatasync(f.fileno())
                disk.append(time.monotonic() - t1)
    late.sort()
    disk.sort()
    pipe.send(Stalls(share(late, 0.99), late[-1], share(disk, 0.99), disk[-1]))


@contextlib.contextmanager
def stalls(directory):
    """Yields a function that ends the watch and returns Stalls, in seconds."""
    over, (ours, theirs) = multiprocessing.Event(), multiprocessing.Pipe()
    p = multiprocessing.Process(target=watch_stalls, args=(
        over, theirs, pathlib.Path(directory) / "stalls"))
    p.start()

    def end():
        over.set()
        return ours.recv()
    try:
        yield end
    finally:
        over.set()
        p.join(10)


# -- unrest --------------------------------------------------------------------

class Unrest:
    """What happens to the service: each kind at its own pace."""

    def __init__(self, s, w, played):
        self.s, self.w, self.scene = s, w, played
        self.chance = played.chance
        self.all_zones = dict(w.zones)
        self.edits = {z: {} for z in self.all_zones}
        self.reloads, self.log = 0, []
        self.done = dict.fromkeys(("flip", "edit", "hangup", "operate"), 0)
        self.due = dict.fromkeys(self.done, 0.0)
        self.pace = {"flip": 1.0, "edit": 12.0, "hangup": 30.0,
                     "operate": 20.0}

    def turn(self):
        for kind, every in self.pace.items():
            if time.monotonic() < self.due[kind]:
                continue
            self.due[kind] = (time.monotonic()
                              + every * self.chance.uniform(0.5, 1.5))
            self.log.append((time.time(), kind))
            getattr(self, kind)()
            self.done[kind] += 1

    def flip(self):
        self.scene.flip()

    def edit(self):
        """A spec is edited; the records stay as the agent left them."""
        zone = self.chance.choice(list(self.all_zones))
        name = self.chance.choice(list(self.scene.sets(zone)))
        choices = [{}, {"comment": f"edit {self.done['edit']}"},
                   {"order": "priority"}, {"returnAfter": "1s"}]
        if scene.ZONES[zone] == ["edited"]:
            choices += [None, None]
        self.edits[zone][name] = self.chance.choice(choices)
        self.publish(zone)

    def publish(self, zone):
        want = {line.split(" ")[0]: line for line in self.scene.zone(
            zone, self.edits[zone]).splitlines()
            if line.startswith("_failover")}
        path = self.w.ns.zone_file(zone)
        text = path.read_text()
        lines = [want.get(line.split(" ")[0], line)
                 for line in text.splitlines()]
        serial = int(world.SERIAL.search(text).group(1)) + 1
        text = world.SERIAL.sub(rf"{serial}\2", "\n".join(lines) + "\n", 1)
        new = path.with_name(path.name + ".new")
        new.write_text(text)
        new.replace(path)
        self.w.ns.reload(zone)

    def hangup(self):
        """The configuration is read again; a zone comes and goes."""
        self.reloads += 1
        self.w.zones = dict(self.all_zones)
        if self.reloads % 3 == 0:
            del self.w.zones["example.net"]
        self.w.configure(notify="/bin/true" if self.reloads % 2 else "")
        self.s.hangup(60)

    def operate(self):
        """An operator looks, freezes, thaws; not at names that come and go,
        for some of them are not managed at the moment."""
        zone = self.chance.choice([z for z in self.w.zones
                                   if scene.ZONES[z] != ["edited"]])
        name = f"{self.chance.choice(list(self.scene.sets(zone)))}.{zone}"
        for words in (["status", "--json"], ["explain", name],
                      ["freeze", name, "--for", "1h"], ["thaw", name]):
            got = self.w.run(*words, env={"ASAN_OPTIONS": ASAN})
            if got.returncode not in (0, 1):
                raise AssertionError(
                    f"{' '.join(words)}: {got.returncode}: {got.stderr}")

    def calm(self):
        """Everything as it was at first."""
        self.scene.revive()
        self.w.zones = dict(self.all_zones)
        self.w.configure(notify="")
        self.s.hangup(60)
        for zone in self.all_zones:
            self.edits[zone] = {}
            self.publish(zone)


# -- measuring -----------------------------------------------------------------

def at_rest(s, played):
    """Descriptors that stay open: the fewest in a while."""
    with played.no_waiting():
        time.sleep(2)
        least = s.descriptors()
        for _ in range(300):
            time.sleep(0.01)
            least = min(least, s.descriptors())
    return least


def settled(s, w, played):
    """Until exactly what lives is published."""
    def wrong():
        for zone in scene.ZONES:
            for name, want in played.published(zone).items():
                got = w.ns.values(f"{name}.{zone}.", "A")
                if got != want:
                    return f"{name}.{zone}: {got} instead of {want}"
        return ""

    t0, last = time.monotonic(), [""]

    def right():
        last[0] = wrong()
        return not last[0]
    try:
        s.until("a settled world", right, SETTLE_S)
    except AssertionError as e:
        raise AssertionError(f"{last[0]}\n{str(e)[-3000:]}") from e
    return time.monotonic() - t0


class Verdict:
    def __init__(self):
        self.lines, self.bad = [], False

    def at_most(self, name, figure, limit, form="{:.3f}"):
        ok = figure <= limit
        self.bad = self.bad or not ok
        self.lines.append(f"{name} {form.format(figure)} "
                          f"{form.format(limit)} {'ok' if ok else 'short'}")


def drift_of(times, p, begin, middle, end, late_s):
    """By what part of a period the pauses of the second half are longer; and
    how many standard deviations of pure jitter that is. late_s: what a start
    may be late, and with it the whole stream: not counted."""
    first, second = gaps(times, begin, middle), gaps(times, middle, end)
    if not first or not second:
        return 1.0, float("inf")
    d = (statistics.median(second) - statistics.median(first)) / p
    # of the median of n values that are spread evenly over JITTER
    sigma = JITTER / 2 * (1 / len(first) + 1 / len(second)) ** 0.5
    return d, max(0.0, abs(d) - late_s / p) / sigma


def tell_worst(seen, begin, worst, log):
    """The probes around those pauses and what was done then, for whoever
    looks for the reason."""
    for off, a, i in worst:
        if off < 0.1:
            continue
        inside = [t - begin for t in seen.times[a] if t >= begin]
        say(f"{a}, every {scene.period(a)} s: {off * 1e3:.0f} ms off among "
            + " ".join(f"{t:.3f}" for t in inside[max(0, i - 2):i + 5])
            + "; " + ", ".join(f"{kind} {t - begin:.3f}" for t, kind in log
                               if -3 < t - begin - inside[i] < 3))


def judge_schedule(v, seen, begin, end, stalled, log):
    """No probe comes later than its period after the last one, and none is
    left out or added: their number in the run, and no drift between halves."""
    late, early, wrong, drift = [], [], 0, []
    middle = (begin + end) / 2
    for group in scene.GROUPS:
        if group == "edited":
            continue
        for a in scene.addresses(group):
            p, found = scene.period(a), gaps(seen.times[a], begin, end)
            late += [(g - p, a, i) for i, g in enumerate(found)] or [
                (end - begin, a, 0)]
            if group not in scene.FIXED:
                continue
            early += [(p * (1 - JITTER) - g, a, i)
                      for i, g in enumerate(found)]
            span = end - begin
            if not span / p - 2 <= len(found) + 1 <= span / p / (1 - JITTER) + 2:
                wrong += 1
                say(f"{a}: {len(found) + 1} probes in {span:.0f} s at {p} s")
            drift.append(drift_of(seen.times[a], p, begin, middle, end,
                                  STARTS_TICK_S + stalled.sleep_99))
    late.sort()
    early.sort()
    tell_worst(seen, begin, late[-3:] + early[-3:], log)
    late, early = ([x[0] for x in some] for some in (late, early))
    say(f"{len(late)} pauses between probes; 99 % of them at most "
        f"{share(late, 0.99) * 1e3:.1f} ms longer than the period, the worst "
        f"{late[-1] * 1e3:.0f} ms; the machine: {stalled.sleep_99 * 1e3:.1f} "
        f"and {stalled.sleep * 1e3:.0f} ms for a sleep, "
        f"{stalled.disk_99 * 1e3:.1f} and {stalled.disk * 1e3:.0f} ms for its "
        f"disk; pauses of a "
        f"steady target change from half to half by "
        f"{statistics.mean(d for d, _ in drift) * 100:+.2f} % on average")
    worst = 2 * (stalled.sleep + stalled.disk)
    v.at_most("late-99-s", share(late, 0.99),
              STARTS_TICK_S + 2 * (stalled.sleep_99 + stalled.disk_99))
    v.at_most("late-worst-s", late[-1], 0.25 + worst)
    v.at_most("early-worst-s", early[-1], STARTS_TICK_S + worst)
    v.at_most("targets-with-wrong-count", wrong, 0, "{}")
    v.at_most("drift-sigma", max(sigmas for _, sigmas in drift), 5, "{:.1f}")
    v.at_most("packets-not-seen", seen.dropped(), 0, "{}")


def judge_memory(v, samples):
    """kB over the run, without its first fifth."""
    late = samples[len(samples) // 5:]
    half = len(late) // 2
    first, second = max(late[:half]), max(late[half:])
    say(f"memory: {samples[0] / 1024:.1f} MB at first, at most "
        f"{first / 1024:.1f} and then {second / 1024:.1f} MB")
    v.at_most("memory-growth", second / first, 1.05)


def judge_words(v, s):
    text = s.text()
    false = sum("becomes unavailable" in line and any(
        f"({scene.GROUPS[g][0]}." in line for g in scene.ALIVE)
        for line in s.out)
    v.at_most("living-called-dead", false, 0, "{}")
    reports = len(SANITIZER.findall("\n".join(s.err)))
    v.at_most("sanitizer-reports", reports, 0, "{}")
    if reports:
        print("\n".join(s.err)[-8000:])
    say(f"{len(s.out)} lines of news, {len(s.err)} on stderr; "
        f"{len(re.findall('becomes unavailable', text))} times something "
        "became unavailable")
    for line in s.err[:5]:
        say(f"stderr: {line}")


# -- the run -------------------------------------------------------------------

def play(s, w, played, seen, v):
    say(f"settled after {settled(s, w, played):.1f} s")
    time.sleep(3 * max(scene.PERIODS))
    fds, samples = at_rest(s, played), []
    begin = time.time()
    unrest, end = Unrest(s, w, played), time.monotonic() + SOAK_S
    with stalls(w.dir) as stalled:
        while time.monotonic() < end:
            unrest.turn()
            samples.append(s.memory_kb())
            if s.process.poll() is not None:
                raise AssertionError(f"it ended with {s.process.returncode}\n"
                                     + "\n".join(s.err)[-8000:])
            time.sleep(0.25)
        over = time.time()
        late = stalled()
    unrest.calm()
    say(f"after {SOAK_S:.0f} s and "
        + ", ".join(f"{n} {k}s" for k, n in unrest.done.items())
        + f": settled after {settled(s, w, played):.1f} s; "
        f"{s.cpu_s():.0f} s of CPU")
    time.sleep(3 * max(scene.PERIODS))
    v.at_most("descriptors", at_rest(s, played), fds, "{}")
    judge_memory(v, samples)
    judge_schedule(v, seen, begin, over, late, unrest.log)


def main():
    if not os.access(BIN, os.X_OK):
        sys.exit(f"soak.py: {BIN} is not there; make soak builds it")
    seed = os.environ.get("SOAK_SEED") or str(time.time_ns() % 10**6)
    say(f"seed {seed}, {SOAK_S:.0f} s")
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    v = Verdict()
    with tempfile.TemporaryDirectory(prefix="soak-") as d:
        os.chmod(d, 0o711)  # the service gives root up and passes through it
        played = scene.Scene(d, seed)
        zones = {z: played.zone(z) for z in scene.ZONES}
        every = {a for g in scene.GROUPS for a in scene.addresses(g)}
        with world.World(Agent(BIN), pathlib.Path(d) / "w",
                         kind=servers.Bind, zones=zones) as w, \
                Arrivals(every) as seen:
            w.configure(section="  allow-active = yes")
            with service.Service(w, env={"ASAN_OPTIONS": ASAN},
                                 ready_s=60) as s:
                play(s, w, played, seen, v)
                code = s.stop(timeout_s=STOP_S)
                v.at_most("exit-code", code, 0, "{}")
                judge_words(v, s)
    print("\n".join(v.lines))
    return v.bad


if __name__ == "__main__":
    sys.exit(main())
