"""Memory of the service: at its start, and for each target it probes."""

import contextlib
import functools
import os
import pathlib
import re
import subprocess
import tempfile
import time

import gen_once
from bench_help import PORT, PROGRAM, Skip, environment, need, note

TARGETS_N = 100_000
# Targets of a spec: the most that one may name, and the usual pair.
SHAPES = {"memory-100k": 200, "memory-100k-pairs": 2}
START_S, BUILD_S = 3, 300


def zone_text(names, per_name, kinds):
    """names with per_name rows each; the checks take turns among kinds."""
    lines = ["$TTL 300", "@ IN SOA ns hostmaster 1 3600 600 86400 60",
             "@ IN NS ns", "ns IN A 127.0.0.1"]
    for h in range(names):
        name, rows = gen_once.owner(h), []
        for k in range(per_name):
            i = h * per_name + k
            at = f"127.{i // 62500}.{1 + i // 250 % 250}.{1 + i % 250}"
            rows.append(f'{{"name":"{name}.{gen_once.ZONE}.","data":"{at}",'
                        f'"check":"{kinds[i % len(kinds)]}",'
                        '"accessPeriod":"60"}')
            lines.append(f"{name} IN A {at}")
        lines.append(f"_failover.{name} IN TXT "
                     + gen_once.character_strings(f"[{','.join(rows)}]"))
    return "\n".join(lines) + "\n"


def memory_mb(pid):
    """(resident now, at most so far), MB of 1,000,000 bytes."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return [int(re.search(rf"{key}:\s*([0-9]+)", status)[1]) * 1.024e-3
            for key in ("VmRSS", "VmHWM")]


@contextlib.contextmanager
def service(text):
    """`run` over that zone, served by NSD; yields process and state file."""
    try:
        import servers
    except ImportError as e:
        raise Skip(f"{e.name} is not installed") from None
    need(PROGRAM)
    # BIND takes at most 100 records of a set.
    if not servers.find(servers.Nsd.program):
        raise Skip("no NSD here")
    with tempfile.TemporaryDirectory() as name:
        d = pathlib.Path(name)
        zone = d / f"db.{gen_once.ZONE}"
        zone.write_text(text)
        with servers.Nsd(d / "ns", {gen_once.ZONE: zone},
                         axfr=True) as server:
            conf = d / "agent.conf"
            conf.write_text(gen_once.config_text(d, server.server,
                                                 server.reload_command))
            os.chmod(conf, 0o600)
            with open(d / "run.log", "w") as log:
                p = subprocess.Popen([PROGRAM, "-c", conf, "run"],
                                     stdin=subprocess.DEVNULL, stdout=log,
                                     stderr=log, env=environment())
                try:
                    yield p, d / "state.db"
                finally:
                    p.terminate()
                    p.wait(60)


def memory_start():
    """MB after the start with a zone of one pair, checked by HTTPS."""
    with service(zone_text(1, 2, ["https:8443/"])) as (p, _):
        time.sleep(START_S)
        now, most = memory_mb(p.pid)
        files = int(re.search(
            r"RssFile:\s*([0-9]+)",
            pathlib.Path(f"/proc/{p.pid}/status").read_text())[1]) * 1.024e-3
    note(f"memory-start: {now:.1f} MB, of it {files:.1f} MB pages of files, "
         f"shared with other processes; at most {most:.1f} MB")
    return now


def all_known(state, n):
    """Whether the saved state has a verdict of that many checks."""
    import sqlite3

    with contextlib.suppress(sqlite3.Error), contextlib.closing(
            sqlite3.connect(f"file:{state}?mode=ro", uri=True)) as db:
        return db.execute("SELECT count(*) FROM checks "
                          "WHERE state != 0").fetchone()[0] == n
    return False


def memory_100k(line, per_name):
    """MB with 100,000 living targets, per_name of each spec."""
    import net

    with service(zone_text(1, 2, [PORT])) as (p, _):
        time.sleep(START_S)
        start, _ = memory_mb(p.pid)
    with service(zone_text(TARGETS_N // per_name, per_name,
                           [PORT])) as (p, state):
        net.wait_until("all targets have a verdict",
                       lambda: all_known(state, TARGETS_N), BUILD_S, 1)
        now, most = memory_mb(p.pid)
    note(f"{line}: {TARGETS_N // per_name} specs of {per_name} targets: "
         f"{now:.1f} MB, at most {most:.1f} MB; "
         f"{(now - start) * 1e6 / TARGETS_N:.0f} bytes a target beyond the "
         f"{start:.1f} MB of the start")
    return now


TARGETS = {
    "memory-start": (memory_start, 12, 1),
    **{line: (functools.partial(memory_100k, line, per_name), 72, 1)
       for line, per_name in SHAPES.items()},
}
