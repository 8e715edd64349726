#!/usr/bin/env python3
"""The performance targets; called by run.sh inside a network namespace.

targets.py [--skip WHY] [NAME...]
"""

import contextlib
import functools
import json
import os
import pathlib
import re
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(HERE), str(ROOT / "tests" / "integration")]

import gen_once
import targets_kinds
import targets_memory
import targets_providers
import targets_refresh
from bench_help import (BARE, BUILD, DECIDE, ENGINE, PORT, PROGRAM, SINK, Skip, environment,
                        measure, need, note, path)

HOLE = "127.128.0.0/16"
PAIRS = 5
BURST_N, BURST_K = 100_000, 1024
DEAD_N = 10_000
NAMES = 500
CRON_ROWS = 20


# -- the namespace ------------------------------------------------------------

def black_hole():
    """Loopback up, and a block whose packets are dropped."""
    for tool in ("ip", "nft"):
        if shutil.which(tool, path=path()) is None:
            raise Skip(f"{tool} is not installed")
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True,
                   env=environment())
    rules = (
        "table ip bench {\n chain in {\n"
        "  type filter hook input priority 0;\n"
        f"  ip daddr {HOLE} drop\n }}\n}}\n"
    )
    subprocess.run(["nft", "-f", "-"], input=rules, text=True, check=True,
                   env=environment())


@contextlib.contextmanager
def listener():
    """sink on 0.0.0.0:PORT."""
    sink = subprocess.Popen([SINK, str(PORT)])
    try:
        import net

        def answers():
            with contextlib.suppress(OSError):
                net.socket.create_connection(("127.0.0.1", PORT), 1).close()
                return True
            return sink.poll() is not None
        net.wait_until("the listener", answers)
        if sink.poll() is not None:
            raise RuntimeError("the listener ended")
        yield
    finally:
        sink.terminate()
        sink.wait()


# -- targets ------------------------------------------------------------------

def tcp_burst_cpu():
    """CPU of a probe as a multiple of the bare loop's, in turns."""
    need(ENGINE, BARE)
    what = ["-n", BURST_N, "-k", BURST_K, "-p", PORT, "-t", 5000]
    ours, bare = [], []
    for i in range(PAIRS):
        pair = [(ours, [ENGINE]), (bare, [BARE, "-q"])]
        for figures, command in pair if i % 2 else reversed(pair):
            figures.append(measure(*command, *what))
    wrong = [r for r in ours if r["ok"] != BURST_N]
    if wrong:
        raise RuntimeError(f"not all answered: {wrong[0]}")
    ratio = statistics.median(
        o["cpu_us"] / b["cpu_us"] for o, b in zip(ours, bare)
    )

    def median(rows, key):
        return statistics.median(r[key] for r in rows)
    note(f"tcp-burst-cpu: {median(ours, 'cpu_us'):.1f} us a probe (of it user "
         f"{median(ours, 'user_us'):.2f}), {median(ours, 'per_s'):.0f}/s, "
         f"{max(r['peak'] for r in ours)} in flight at most; "
         f"bare loop {median(bare, 'cpu_us'):.1f} us, "
         f"{median(bare, 'per_s'):.0f}/s; median of {PAIRS} pairs")
    return ratio


def dead_run(program, *more):
    need(program)
    return measure(program, "-n", DEAD_N, "-k", DEAD_N, "-a", "127.128.1.1",
                   "-p", PORT, "-t", 1000, *more)


def tcp_dead_10k_wall():
    """Seconds for 10,000 black-holed targets with 1 s timeout."""
    ours, bare = dead_run(ENGINE), dead_run(BARE, "-q")
    if ours["timeout"] != DEAD_N:
        raise RuntimeError(f"not all timed out: {ours}")
    note(f"tcp-dead-10k-wall: {ours['wall_s']:.3f} s, {ours['peak']} in "
         f"flight, {ours['cpu_us']:.1f} us "
         f"CPU each; bare loop {bare['wall_s']:.3f} s, "
         f"{bare['cpu_us']:.1f} us")
    return ours["wall_s"]


def tcp_dead_10k_cpu():
    """Microseconds of CPU for each of them."""
    return statistics.median(dead_run(ENGINE)["cpu_us"] for _ in range(3))


def tcp_false_dead():
    """Living targets called dead, beside as many black-holed ones."""
    need(ENGINE)
    total = 0
    for k in (64, 256, 1024, 2048, 4096, 8192, 2 * DEAD_N):
        # A small window passes the dead ones in many rounds: fewer of them.
        n = min(2 * DEAD_N, 40 * k)
        r = measure(ENGINE, "-n", n, "-k", k, "-p", PORT, "-t", 250, "-d", 50)
        note(f"tcp-false-dead: {n} targets, {k} in flight: {r['ok']} alive, "
             f"{r['timeout']} dead, {r['local']} not judged, "
             f"{r['false_dead']} wrong")
        total += r["false_dead"] + r["local"]
    return total


def cron_rows():
    """Seconds that the cron script takes for 1,000 rows, from a few."""
    php = shutil.which("php", path=path())
    if php is None:
        note("cron-500x2: php is not installed, no comparison")
        return None
    r = measure(php, HERE / "cron.php", CRON_ROWS, 50, PORT)
    whole = r["wall_s"] / CRON_ROWS * 2 * NAMES
    note(f"cron-500x2: cron.php, {CRON_ROWS} rows, {r['down']} dead: "
         f"{r['wall_s']:.2f} s; scaled by row to {2 * NAMES} rows: "
         f"{whole:.0f} s")
    return whole


def once(directory, server):
    """Runs the agent; seconds. Afterwards exactly the dead rows are gone."""
    import servers

    (directory / "agent.conf").write_text(gen_once.config_text(
        directory, server.server, server.reload_command))
    os.chmod(directory / "agent.conf", 0o600)

    def served():
        zone = servers.axfr(server, gen_once.ZONE)
        return {
            (str(name), rdata.to_text())
            for name, _, rdata in zone.iterate_rdatas("A")
        }
    if served() != gen_once.addresses(NAMES, True):
        raise RuntimeError("the server does not serve the scenario")
    t0 = time.monotonic()
    done = subprocess.run(
        [PROGRAM, "-c", directory / "agent.conf", "once"], text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, env=environment(), timeout=120,
    )
    seconds = time.monotonic() - t0
    if done.returncode != 0:
        raise RuntimeError(f"once ended with {done.returncode}:\n"
                           + done.stdout[-2000:])
    got, want = served(), gen_once.addresses(NAMES, False)
    if got != want:
        raise RuntimeError(
            f"once left {len(got - want)} dead rows and took "
            f"{len(want - got)} living ones away:\n{done.stdout[-2000:]}"
        )
    return seconds


def cron_500x2():
    """Seconds of one `once`, 500 names with two rows, half of them dead."""
    need(PROGRAM)
    try:
        import servers
    except ImportError as e:
        raise Skip(f"{e.name} is not installed") from None
    kinds = [k for k in (servers.Bind, servers.Nsd) if servers.find(k.program)]
    if not kinds or not servers.find("named-checkzone"):
        raise Skip("no BIND here")
    whole = cron_rows()
    runs = []
    for _ in range(3):
        with tempfile.TemporaryDirectory() as d:
            directory = pathlib.Path(d)
            zone = gen_once.write_zone(directory, NAMES, PORT)
            with kinds[0](directory / "ns", {gen_once.ZONE: zone},
                          axfr=True) as server:
                runs.append(once(directory, server))
    seconds = statistics.median(runs)
    note(f"cron-500x2: one once over {NAMES} names, {2 * NAMES} rows: "
         + ", ".join(f"{r:.2f}" for r in runs) + " s"
         + (f"; cron.php takes {whole / seconds:.0f} times as long"
            if whole else ""))
    return seconds


IDLE_N = 10_000
IDLE_S, IDLE_TURNS = 10, 5


def idle_zone():
    """5,000 names with two rows each, all of them alive, probed every 10 s."""
    lines = ["$TTL 300", "@ IN SOA ns hostmaster 1 3600 600 86400 60",
             "@ IN NS ns", "ns IN A 127.0.0.1"]
    for i in range(IDLE_N // 2):
        two = [gen_once.living(k) for k in (2 * i, 2 * i + 1)]
        name = gen_once.owner(i)
        text = ",".join(f'{{"name":"{name}.{gen_once.ZONE}.","data":"{a}",'
                        f'"check":"{PORT}"}}' for a in two)
        lines += [f"{name} IN A {a}" for a in two]
        lines.append(f"_failover.{name} IN TXT "
                     + gen_once.character_strings(f"[{text}]"))
    return "\n".join(lines) + "\n"


def cpu_s(pid):
    """Seconds of CPU that the process has used."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1]
    return sum(map(int, fields.split()[11:13])) / os.sysconf("SC_CLK_TCK")


def memory_kb(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmHWM:\s*([0-9]+)", status)[1])


def up(state):
    """How many checks the saved state calls up."""
    with contextlib.suppress(sqlite3.Error), contextlib.closing(
            sqlite3.connect(f"file:{state}?mode=ro", uri=True)) as db:
        return db.execute(
            "SELECT count(*) FROM checks WHERE state = 1").fetchone()[0]
    return 0


@contextlib.contextmanager
def service(directory, server):
    """`run` over the zone, once every target is known to be up."""
    import net

    (directory / "agent.conf").write_text(gen_once.config_text(
        directory, server.server, server.reload_command))
    os.chmod(directory / "agent.conf", 0o600)
    state = re.search(r'state *= *"([^"]+)"',
                      (directory / "agent.conf").read_text())[1]
    with open(directory / "run.log", "w") as log:
        process = subprocess.Popen(
            [PROGRAM, "-c", directory / "agent.conf", "run"],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            env=environment())
        try:
            net.wait_until("all targets are up",
                           lambda: up(state) == IDLE_N, 60, 0.5)
            yield process
        finally:
            process.terminate()
            process.wait(30)


def percent_of_core(pid):
    """Of the process, over IDLE_S seconds."""
    begin, t0 = cpu_s(pid), time.monotonic()
    time.sleep(IDLE_S)
    return 100 * (cpu_s(pid) - begin) / (time.monotonic() - t0)


def bare_percent_of_core():
    """The same of the bare loop, at the pace and with the ticks of `run`."""
    rate = IDLE_N // 10
    row = measure(BARE, "-q", "-n", rate * IDLE_S, "-R", rate, "-G", 10, "-A",
                  IDLE_N, "-p", PORT)
    if row["ok"] != row["n"]:
        raise RuntimeError(f"not all answered: {row}")
    return 100 * row["cpu_us"] * rate / 1e6


@functools.cache
def idle_turns():
    """Percent of a core of `run` with 10,000 living targets every 10 s, and of
    the bare loop at the same pace, in turns. The service goes on meanwhile:
    its saves fall into some of its turns."""
    need(PROGRAM, BARE)
    try:
        import servers
    except ImportError as e:
        raise Skip(f"{e.name} is not installed") from None
    kinds = [k for k in (servers.Bind, servers.Nsd) if servers.find(k.program)]
    if not kinds:
        raise Skip("no name server here")
    turns = []
    with tempfile.TemporaryDirectory() as d:
        directory = pathlib.Path(d)
        zone = directory / f"db.{gen_once.ZONE}"
        zone.write_text(idle_zone())
        with kinds[0](directory / "ns", {gen_once.ZONE: zone},
                      axfr=True) as server, service(
                          directory, server) as process:
            for _ in range(IDLE_TURNS):
                turns.append((percent_of_core(process.pid),
                              bare_percent_of_core()))
            log = (directory / "run.log").read_text()
            if log:
                note(f"idle-10k: run said: {log[-500:].rstrip()}")
            peak_mb = memory_kb(process.pid) / 1024
    ratio = statistics.median(ours / bare for ours, bare in turns)
    ours, bare = (statistics.mean(column) for column in zip(*turns))
    note(f"idle-10k: bare loop {bare:.2f} %, ours {ours:.2f} %, ratio "
         f"{ratio:.2f} (median of "
         + ", ".join(f"{o / b:.2f}" for o, b in turns)
         + f"); {ours * 10:.1f} us a probe; at most {peak_mb:.0f} MB")
    return ours, ratio


def idle_10k_cpu():
    """Percent of a core, 10,000 living targets every 10 s, nothing else."""
    return idle_turns()[0]


def idle_10k_ratio():
    """The same as a multiple of the bare loop's."""
    return idle_turns()[1]


DECIDE_N = (1_000, 10_000, 100_000)
DECIDE_KB = 2_000_000


def parse_900():
    """Microseconds of CPU to read and merge a spec of 900 bytes."""
    need(DECIDE)
    runs = [measure(DECIDE, "parse", 10_000) for _ in range(5)]
    us = statistics.median(r["parse_us"] for r in runs)
    note(f"parse-900: 10,000 specs of {runs[0]['bytes']} bytes: "
         + ", ".join(f"{r['parse_us']:.1f}" for r in runs)
         + f" us each; {runs[0]['peak_kb'] / 1e4:.1f} kB each")
    return us


@functools.cache
def decide_rows():
    need(DECIDE)
    available = re.search(r"MemAvailable: *([0-9]+)",
                          pathlib.Path("/proc/meminfo").read_text())
    if available and int(available[1]) < DECIDE_KB:
        raise Skip("less than 2 GB of memory is free")
    rows = {n: min((measure(DECIDE, "decide", n) for _ in range(3)),
                   key=lambda r: r["all_us"] + r["single_us"])
            for n in DECIDE_N}
    for n, r in rows.items():
        note(f"decide: {n} specs, {r['checks']} checks: all again "
             f"{r['all_us']:.2f} us a spec, one check changed "
             f"{r['single_us']:.2f} us ({r['cold_us']:.2f} us with cold "
             f"caches); {r['peak_kb'] / n:.1f} kB a spec")
    return rows


def decide_ratio(key):
    rows = decide_rows()
    return rows[DECIDE_N[-1]][key] / rows[DECIDE_N[0]][key]


def decide_linear():
    """Cost a spec when all is decided again: 100,000 against 1,000."""
    return decide_ratio("all_us")


def decide_single():
    """Cost when one check changed: among 100,000 specs against 1,000."""
    return decide_ratio("single_us")


# name: (function, limit, digits)
TARGETS = {
    "cron-500x2": (cron_500x2, 2.5, 2),
    "parse-900": (parse_900, 12, 1),
    "decide-linear": (decide_linear, 2.5, 2),
    "decide-single": (decide_single, 2, 2),
    "tcp-burst-cpu": (tcp_burst_cpu, 1.25, 2),
    "tcp-dead-10k-wall": (tcp_dead_10k_wall, 1.25, 3),
    "tcp-dead-10k-cpu": (tcp_dead_10k_cpu, 20, 1),
    "tcp-false-dead": (tcp_false_dead, 0, 0),
    "idle-10k-cpu": (idle_10k_cpu, 3.5, 2),
    "idle-10k-ratio": (idle_10k_ratio, 1.7, 2),
    **targets_kinds.TARGETS,
    **targets_refresh.TARGETS,
    **targets_memory.TARGETS,
    **targets_providers.TARGETS,
}


# Those that need no network at all.
PLAIN = {"parse-900", "decide-linear", "decide-single"}


def run(name, skip):
    function, limit, digits = TARGETS[name]
    try:
        if skip and name not in PLAIN:
            raise Skip(skip)
        figure = function()
    except Skip as e:
        return f"{name} - {limit} skipped: {e}"
    except Exception as e:  # whatever it is, the other lines must come
        for line in f"{type(e).__name__}: {e}".splitlines():
            note(f"{name}: {line}")
        return f"{name} failed {limit} short"
    word = "ok" if figure <= limit else "short"
    return f"{name} {figure:.{digits}f} {limit} {word}"


def main(args):
    skip = None
    if args[:1] == ["--skip"]:
        skip, args = args[1], args[2:]
    unknown = [a for a in args if a not in TARGETS]
    if unknown:
        sys.exit(f"targets.py: no target {unknown[0]}; "
                 f"there are {', '.join(TARGETS)}")
    names = args or list(TARGETS)
    with contextlib.ExitStack() as stack:
        if not skip:
            try:
                black_hole()
                stack.enter_context(listener())
            except Skip as e:
                skip = str(e)
        lines = [run(name, skip) for name in names]
    print("\n".join(lines))
    return any(line.endswith(" short") for line in lines)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
