"""The targets of providers: from a decision to the answer that shows it, at
real primaries and in a big zone file."""

import contextlib
import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

from bench_help import BUILD, ROOT, Skip, note, tool

sys.path.insert(0, str(ROOT / "tests" / "integration"))

ZONE = "example.org"
RAW = BUILD / "bench" / "upd_raw"
PROVIDER = BUILD / "tools" / "provider"
ALLOWED_RATIO, ALLOWED_MS = 1.2, 2  # of the bare message, and beside it
ONE_ROUNDS, PAIRS = 16, 3  # even: each pair begins where it ended
MANY, MANY_ROUNDS = 1000, 6
REST_MS = 60    # between two changes
ZONE_RECORDS = 100000
OLD, NEW = "192.0.2.1", "192.0.2.2"
TOOL_S = 120
BIND_QUIET = """\
logging {
  channel errors { stderr; severity error; };
  category default { errors; };
};
"""
KNOT_BARE = """\
  - id: bare
    address: 127.0.0.0/8
    action: update
"""


def host(i):
    return f"h{i:05}"


class Watcher:
    """Asks for one name without end and notes when each new address was
    first seen."""

    CODE = """
import socket, sys, time
port, query, first, n = int(sys.argv[1]), bytes.fromhex(sys.argv[2]), *sys.argv[3:5]
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.connect(("127.0.0.1", port))
s.settimeout(1)
last = bytes(map(int, first.split(".")))
print("ready", flush=True)
seen, end = 0, time.monotonic() + 100
while seen < int(n) and time.monotonic() < end:
    try:
        s.send(query)
        data = s.recv(4096)[len(query) + 12:][:4]
    except OSError:
        continue
    if data != last:
        print(time.monotonic(), flush=True)
        last, seen = data, seen + 1
    time.sleep(0.0001)
"""

    def __init__(self, port, name, first, n):
        query = b"\x12\x34\0\0\0\1\0\0\0\0\0\0" + b"".join(
            bytes([len(x)]) + x.encode() for x in name.split(".")
        ) + b"\0\0\1\0\1"
        self._process = subprocess.Popen(
            [sys.executable, "-c", self.CODE, str(port), query.hex(), first,
             str(n)], stdout=subprocess.PIPE, text=True)
        self._process.stdout.readline()

    def times(self):
        out, _ = self._process.communicate(timeout=TOOL_S)
        return [float(x) for x in out.split()]


def quiet(kind):
    """BIND as a service runs: -g would write two lines for each name."""
    class Quiet(kind):
        def _prepare(self):
            return ["-f" if x == "-g" else x for x in super()._prepare()]

    return Quiet


@contextlib.contextmanager
def primary(kind, names):
    """A dynamic server that takes updates with the key, and from loopback
    without (the bare messages), with these names."""
    from contract.backend import record
    from dnsupdate import servers as dynamic

    program = {"bind": "named", "knot": "knotd"}[kind]
    tool(program)
    with tempfile.TemporaryDirectory(prefix="df-") as d:
        d = pathlib.Path(d)
        if kind == "bind":
            server = quiet(dynamic.DynamicBind)(d, ZONE, config=BIND_QUIET)
            server.zone_options = "allow-update { 127.0.0.0/8; key main; };"
        else:
            server = dynamic.DynamicKnot(d, ZONE, acl=KNOT_BARE)
        with server:
            server.seed([record(n, "A", OLD, 60) for n in names])
            yield server


def change(names, old, new):
    words = ["create", ZONE]
    for n in names:
        words += ["publish", f"{n}.{ZONE}", "A", new, "-"]
    for n in names:
        words += ["withdraw", f"{n}.{ZONE}", "A", old, "-"]
    return words


def decided_to_visible_ms(server, names, rounds):
    """Milliseconds from the call of each change to the first answer with the
    last of the names changed."""
    command = [PROVIDER, "rfc2136", f"server={server.server}",
               f"key-file={server.key_file()}", "--", "records", ZONE,
               *[f"{n}.{ZONE}" for n in names]]
    old, new = OLD, NEW
    for _ in range(rounds):
        command += ["+", "wait", str(REST_MS), "+", *change(names, old, new)]
        old, new = new, old
    watcher = Watcher(server.port, f"{names[-1]}.{ZONE}", OLD, rounds)
    done = subprocess.run([str(c) for c in command], capture_output=True,
                          text=True, timeout=TOOL_S)
    answers = [json.loads(x) for x in done.stdout.splitlines()]
    changes = [a for a in answers if a["answer"] == "apply"]
    seen = watcher.times()
    if (done.returncode or len(changes) != rounds or len(seen) != rounds
            or {r["state"] for a in changes for r in a["results"]}
            != {"done"}):
        raise RuntimeError(f"not all changes were made: {done.stdout[-500:]}")
    return [1000 * (t - a["at"]) for a, t in zip(changes, seen)]


def bare_ms(server):
    out = subprocess.run(
        [str(RAW), "-T", "-l", "-n", str(ONE_ROUNDS), "-b", "1", "-p",
         str(server.port), "-z", ZONE], check=True, capture_output=True,
        text=True, timeout=TOOL_S).stdout
    if "bad" in out and re.search(r'"?bad"?[=: ]+[1-9]', out):
        raise RuntimeError(f"the bare messages were refused: {out}")
    return float(re.search(r"visible-ms p50=([\d.]+)", out).group(1))


def one_change(kind):
    if not RAW.exists():
        raise Skip("upd_raw is not built")
    names = [host(i) for i in range(ONE_ROUNDS)]
    ratios = []
    with primary(kind, ["www", *names]) as server:
        for i in range(PAIRS):
            ours = statistics.median(decided_to_visible_ms(
                server, ["www"], ONE_ROUNDS))
            bare = bare_ms(server)
            ratios.append(ours / (ALLOWED_RATIO * bare + ALLOWED_MS))
            note(f"upd-one-{kind}: {ours:.2f} ms, bare {bare:.2f} ms")
    return statistics.median(ratios)


def many_changes(kind):
    names = [host(i) for i in range(MANY)]
    with primary(kind, names) as server:
        ms = decided_to_visible_ms(server, names, MANY_ROUNDS)
    note(f"upd-1000-{kind}: " + ", ".join(f"{x:.0f}" for x in ms) + " ms")
    return statistics.median(ms) / 1000


# -- a zone file --------------------------------------------------------------


def zonefile_100k():
    """One value of a zone file of 100,000 records: the edit alone, without
    check and reload."""
    with tempfile.TemporaryDirectory(prefix="df-") as d:
        path = pathlib.Path(d) / f"db.{ZONE}"
        lines = ["$TTL 300", "@ SOA ns1 hostmaster 1 3600 600 604800 60",
                 "@ NS ns1", "ns1 A 127.0.0.1"]
        lines += [f"{host(i % 100000)} 60 IN A 10.0.{i // 256 % 256}.{i % 256}"
                  for i in range(ZONE_RECORDS)]
        path.write_text("\n".join(lines) + "\n")
        names = [host(50000)]
        old = "10.0.195.80"
        command = [PROVIDER, "zonefile", f"file={d}/db.{{zone}}",
                   "serial-timeout=0", "--"]
        for i in range(6):
            how = ["withdraw", "publish"][i % 2]
            command += ["+"] * (i > 0) + [
                "apply", ZONE, how, f"{names[0]}.{ZONE}", "A", old, "-"]
        done = subprocess.run([str(c) for c in command], capture_output=True,
                              text=True, timeout=TOOL_S)
        answers = [json.loads(x) for x in done.stdout.splitlines()]
        if done.returncode or len(answers) != 6:
            raise RuntimeError(done.stdout[-500:] + done.stderr)
        if re.search(r"hostmaster (\d+)", path.read_text()).group(1) == "1":
            raise RuntimeError("the zone file was not edited")
    ms = [a["ms"] for a in answers]
    note("zonefile-100k: " + ", ".join(f"{x:.0f}" for x in ms) + " ms")
    return statistics.median(ms) / 1000


TARGETS = {
    "upd-one-bind": (lambda: one_change("bind"), 1, 2),
    "upd-one-knot": (lambda: one_change("knot"), 1, 2),
    "upd-1000-bind": (lambda: many_changes("bind"), 0.05, 3),
    "upd-1000-knot": (lambda: many_changes("knot"), 0.2, 3),
    "zonefile-100k": (zonefile_100k, 0.2, 3),
}
