"""The targets of reading specs: 10,000 of them learnt anew, by look-ups and by
zone transfer, from a real name server. The engine's own stages
(tests/tools/refresh_bench.c) beside bare UDP, c-ares and ldns."""

import contextlib
import pathlib
import statistics
import tempfile

import gen_once
from bench_help import BUILD, PORT, Skip, measure, measures, need, note

REFRESH = BUILD / "tools" / "refresh_bench"
BENCH = BUILD / "bench"
N, LOOKS = 10_000, 6
IN_FLIGHT = 100


def zone_text():
    """N names with a spec of two rows; the addresses need not answer."""
    lines = ["$TTL 60", "@ IN SOA ns hostmaster 1 3600 600 86400 60",
             "@ IN NS ns", "ns IN A 127.0.0.1"]
    for i in range(N):
        text = gen_once.character_strings(gen_once.spec(i, PORT))
        lines += [f"{gen_once.owner(i)} IN A {gen_once.living(i)}",
                  f"_failover.{gen_once.owner(i)} IN TXT {text}"]
    return "\n".join(lines) + "\n"


def config_text(directory, server, discover):
    """The agent's file. discover: its option and what belongs to it."""
    return f"""\
agent {{
  state         = "{directory}/state.db"
  allow-targets = {{"127.0.0.0/8"}}
}}
provider files {{
  type   = zonefile
  file   = "{directory}/db.{{zone}}"
  reload = "true"
}}
zone "{gen_once.ZONE}" {{
  provider = files
  {discover}
  servers  = {{"{server}"}}
}}
"""


@contextlib.contextmanager
def served(kind):
    """The zone on a server of that kind; yields directory and server."""
    try:
        import servers
    except ImportError as e:
        raise Skip(f"{e.name} is not installed") from None
    server = getattr(servers, kind)
    if not servers.find(server.program):
        raise Skip(f"{server.program} is not installed")
    with tempfile.TemporaryDirectory() as d:
        directory = pathlib.Path(d)
        zone = directory / f"db.{gen_once.ZONE}"
        zone.write_text(zone_text())
        with server(directory / "ns", {gen_once.ZONE: zone},
                    axfr=True) as running:
            yield directory, running


def udp_counts():
    """What this namespace has received by UDP, and what it dropped."""
    lines = [line.split() for line in
             pathlib.Path("/proc/net/snmp").read_text().splitlines()
             if line.startswith("Udp:")]
    row = dict(zip(lines[0][1:], map(int, lines[1][1:])))
    return row["InDatagrams"], row["RcvbufErrors"] + row["InErrors"]


def looks(directory, server, discover):
    """The rows of LOOKS refreshes after a first one, all checked."""
    (directory / "agent.conf").write_text(
        config_text(directory, server.server, discover))
    (directory / "agent.conf").chmod(0o600)
    rows = measures(REFRESH, directory / "agent.conf", LOOKS + 1)
    for r in rows:
        if r["n"] != N or r["ok"] != N or r["failed"]:
            raise RuntimeError(f"not every spec was read: {r}")
    return rows[0], rows[1:]


def by(program, *what):
    """A baseline's row, or None where it is not built."""
    if not (BENCH / program).exists():
        note(f"{program} is not built, no comparison")
        return None
    return measure(BENCH / program, *what)


def report(name, first, rows, baselines):
    wall = statistics.median(r["wall_s"] for r in rows)
    cpu = statistics.median(r["cpu_us"] for r in rows)
    note(f"{name}: {wall:.3f} s ({min(r['wall_s'] for r in rows):.3f} to "
         f"{max(r['wall_s'] for r in rows):.3f}), {cpu:.1f} us CPU a spec, "
         f"the first time {first['wall_s']:.3f} s; median of {len(rows)}")
    for b in filter(None, baselines):
        note(f"{name}: {b['bench']}: {b['wall_s']:.3f} s, {b['cpu_us']:.1f} us "
             f"CPU; ours is {wall / max(b['wall_s'], 1e-3):.1f} times its time, "
             f"{cpu / b['cpu_us']:.1f} times its CPU")
    return wall


def lookups_10k():
    """Seconds to look up and read 10,000 specs, none lost on the way."""
    need(REFRESH)
    with served("Knot") as (directory, server):
        port, zone = server.port, gen_once.ZONE
        # They warm up the server, too.
        baselines = [by("dns_raw", N, IN_FLIGHT, port, zone),
                     by("dns_ares", N, IN_FLIGHT, port, zone, 1)]
        names = ", ".join(f'"{gen_once.owner(i)}"' for i in range(N))
        in0, lost0 = udp_counts()
        first, rows = looks(directory, server,
                            f"discover = names\n  names = {{{names}}}")
        received, lost = (a - b for a, b in zip(udp_counts(), (in0, lost0)))
        # Each look: a query and an answer for each name, the apex and its NS.
        extra = received - 2 * (N + 2) * (LOOKS + 1)
        note(f"lookups-10k: {lost} datagrams lost, {extra} more than needed")
        if lost > 0 or extra > 0:
            raise RuntimeError(f"{lost} datagrams lost, {extra} sent again")
        return report("lookups-10k", first, rows, baselines)


def axfr_10k():
    """Seconds to learn 10,000 specs by zone transfer."""
    need(REFRESH)
    with served("Nsd") as (directory, server):
        baselines = [by("axfr_ldns", gen_once.ZONE, server.port)]
        in0, _ = udp_counts()
        first, rows = looks(directory, server, "discover = axfr")
        received = udp_counts()[0] - in0
        if received > 20 * (LOOKS + 1):
            raise RuntimeError(f"{received} datagrams: texts were looked up")
        return report("axfr-10k", first, rows, baselines)


TARGETS = {
    "lookups-10k": (lookups_10k, 0.25, 3),
    "axfr-10k": (axfr_10k, 0.1, 3),
}
