"""The targets of single kinds of probe: HTTP, HTTPS, ICMP, and the pace of
real use beside haproxy and gdnsd. The engine alone (tests/tools/probe.c)
against the bare loop and other programs, in turns."""

import contextlib
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

from bench_help import (BARE, BUILD, ENGINE, HERE, Skip, environment, measure,
                        need, note, tool)

HTTP, HTTPS = 8080, 8443
CURL = BUILD / "bench" / "probe_curl"
PAIRS = 5
PACED_S, SETTLE_S = 4, 2


# -- servers ------------------------------------------------------------------

def configure(d, key, crt):
    temp = "".join(f"{k}_temp_path {d}/{k};\n" for k in
                   ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    (d / "nginx.conf").write_text(f"""
worker_processes 1; daemon off; pid {d}/pid; error_log {d}/log;
events {{ worker_connections 8192; multi_accept on; }}
http {{
  access_log off; {temp}
  server {{ listen {HTTP} backlog=8192; return 200 "ok"; }}
  server {{ listen {HTTPS} ssl backlog=8192; return 200 "ok";
    ssl_certificate {crt}; ssl_certificate_key {key};
    ssl_session_cache shared:s:10m; }}
}}""")


@contextlib.contextmanager
def nginx():
    """nginx on HTTP and HTTPS; yields its certificate's file."""
    import net

    program, openssl = tool("nginx"), tool("openssl")
    with tempfile.TemporaryDirectory() as name:
        d = pathlib.Path(name)
        key, crt = d / "key.pem", d / "crt.pem"
        subprocess.run(
            [openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt",
             "ec_paramgen_curve:P-256", "-nodes", "-days", "9", "-keyout", key,
             "-out", crt, "-subj", "/CN=probe", "-addext",
             "subjectAltName=DNS:probe"], check=True, capture_output=True)
        configure(d, key, crt)
        p = subprocess.Popen([program, "-p", d, "-c", d / "nginx.conf"],
                             stderr=subprocess.DEVNULL, env=environment())

        def answers():
            with contextlib.suppress(OSError):
                net.socket.create_connection(("127.0.0.1", HTTPS), 1).close()
                return True
            return p.poll() is not None
        try:
            net.wait_until("nginx", answers)
            if p.poll() is not None:
                raise RuntimeError("nginx ended")
            yield crt
        finally:
            p.terminate()
            p.wait()


def turns(pairs, ours, other):
    """CPU of ours and other, in turns. returns the two lists of rows"""
    rows = [], []
    for i in range(pairs):
        order = (0, 1) if i % 2 else (1, 0)
        for k in order:
            rows[k].append(measure(*(ours, other)[k]))
    for r in rows[0]:
        if r["ok"] != r["n"]:
            raise RuntimeError(f"not all answered: {r}")
    return rows


def ratio(name, ours, other, key="cpu_us"):
    """The median of the ratios of pairs."""
    value = statistics.median(a[key] / b[key] for a, b in zip(ours, other))
    note(f"{name}: {statistics.median(r[key] for r in ours):.1f}, "
         f"{other[0]['bench']} {statistics.median(r[key] for r in other):.1f}"
         f" ({key}); median of {len(ours)} pairs")
    return value


# -- HTTP and HTTPS ------------------------------------------------------------

def http_burst_cpu():
    """CPU of an HTTP GET as a multiple of the bare loop's."""
    need(ENGINE, BARE)
    what = ["-m", "http", "-n", 20000, "-k", 256, "-p", HTTP, "-t", 5000]
    with nginx():
        return ratio("http-burst-cpu",
                     *turns(PAIRS, [ENGINE, *what], [BARE, *what]))


def http_curl_cpu():
    """The same as a multiple of libcurl multi's, 256 in flight."""
    need(ENGINE)
    if not CURL.exists():
        raise Skip("probe_curl is not built (needs libcurl's headers)")
    what = ["-n", 20000, "-k", 256, "-p", HTTP, "-t", 5000]
    curl = [CURL, "-u", "http", "-m", "get", "-d", "socket", "-x", *what]
    with nginx():
        return ratio("http-curl-cpu",
                     *turns(3, [ENGINE, "-m", "http", *what], curl))


FULL = ["-m", "https", "-n", 2000, "-k", 64, "-p", HTTPS, "-t", 5000]
RESUMED = ["-m", "https", "-n", 4000, "-k", 64, "-p", HTTPS, "-t", 5000]
MANY = ["-f", 1000000, "-A", 50]  # resumes all but the first of a target


def https_full_cpu():
    """CPU of a probe with a full, verified handshake as a multiple of bare
    OpenSSL's."""
    need(ENGINE, BARE)
    with nginx() as ca:
        return ratio("https-full-cpu",
                     *turns(PAIRS, [ENGINE, *FULL, "-f", 1, "-v", ca],
                            [BARE, *FULL, "-v", ca]))


def https_resumed_cpu():
    """CPU of a resumed probe as a share of a full one."""
    need(ENGINE)
    with nginx() as ca:
        return ratio("https-resumed-cpu",
                     *turns(3, [ENGINE, *RESUMED, *MANY, "-v", ca],
                            [ENGINE, *FULL, "-f", 1, "-v", ca]))


def https_resumed_wall():
    """Time of resumed probes as a multiple of bare OpenSSL's: no stall."""
    need(ENGINE, BARE)
    with nginx():
        ours, bare = turns(3, [ENGINE, *RESUMED, *MANY], [BARE, *RESUMED, "-r"])
        return ratio("https-resumed-wall", ours, bare, "wall_s")


def https_resumed_stall():
    """Milliseconds of a resumed probe, one after the other: Nagle's algorithm
    and a delayed ACK would hold each up for 40."""
    need(ENGINE)
    one = ["-m", "https", "-n", 200, "-k", 1, "-A", 2, "-p", HTTPS, "-t", 5000,
           "-f", 1000000]
    with nginx():
        rows = [measure(ENGINE, *one) for _ in range(3)]
    if any(r["ok"] != r["n"] for r in rows):
        raise RuntimeError(f"not all answered: {rows}")
    return statistics.median(r["wall_s"] * 1e3 / r["n"] for r in rows)


# -- ICMP ----------------------------------------------------------------------

def icmp_cpu():
    """Microseconds of CPU of an echo."""
    need(ENGINE)
    what = ["-m", "icmp", "-n", 100000, "-k", 1024]
    rows = [measure(ENGINE, *what) for _ in range(3)]
    raw = BUILD / "bench" / "icmp_raw"
    bare = measure(raw, 100000, 1024) if raw.exists() else {"cpu_us": 0}
    if any(r["ok"] != r["n"] for r in rows):
        raise RuntimeError(f"not all answered: {rows}")
    note(f"icmp-cpu: bare loop {bare['cpu_us']:.1f} us")
    return statistics.median(r["cpu_us"] for r in rows)


def fping(program, n):
    """CPU of an echo of fping's."""
    with tempfile.NamedTemporaryFile("w") as f:
        f.write("".join(f"127.0.{1 + i // 250}.{1 + i % 250}\n"
                        for i in range(n)))
        f.flush()
        with open(os.devnull, "w") as null:
            p = subprocess.Popen([program, "-q", "-i", "0", "-r", "0", "-t",
                                  "1000", "-f", f.name], stdout=null,
                                 stderr=null)
            _, status, use = os.wait4(p.pid, 0)
            p.returncode = status
    if status != 0:
        raise RuntimeError(f"fping ended with {status}")
    return (use.ru_utime + use.ru_stime) * 1e6 / n


def icmp_fping_cpu():
    """The same as a multiple of fping's."""
    need(ENGINE)
    program, n = tool("fping"), 10000
    values = []
    for _ in range(PAIRS):
        theirs = fping(program, n)
        ours = measure(ENGINE, "-m", "icmp", "-n", n, "-k", n)
        values.append((ours["cpu_us"] / theirs, ours["cpu_us"], theirs))
    middle = sorted(values)[PAIRS // 2]
    note(f"icmp-fping-cpu: {middle[1]:.1f} us, fping {middle[2]:.1f} us")
    return middle[0]


def icmp_10k_wall():
    """Seconds until 10,000 living targets have answered."""
    need(ENGINE)
    rows = [measure(ENGINE, "-m", "icmp", "-n", 10000) for _ in range(PAIRS)]
    if any(r["ok"] != r["n"] for r in rows):
        raise RuntimeError(f"not all answered: {rows}")
    return statistics.median(r["wall_s"] for r in rows)


def icmp_dead_10k_wall():
    """Seconds for 10,000 black-holed targets with 1 s timeout."""
    need(ENGINE)
    r = measure(ENGINE, "-m", "icmp", "-n", 10000, "-a", "127.128.1.1", "-t",
                1000)
    if r["timeout"] != r["n"]:
        raise RuntimeError(f"not all timed out: {r}")
    note(f"icmp-dead-10k-wall: {r['cpu_us']:.1f} us CPU each")
    return r["wall_s"]


def icmp_false_dead():
    """Living targets called dead or not judged, 10,000 beside as many
    black-holed ones."""
    need(ENGINE)
    rows = [measure(ENGINE, "-m", "icmp", "-n", 20000, "-t", 250, "-d", 50)
            for _ in range(PAIRS)]
    note("icmp-false-dead: " + ", ".join(
        f"{r['ok']} alive and {r['timeout']} dead" for r in rows))
    return sum(r["false_dead"] + r["local"] for r in rows)


# -- at the pace of real use ---------------------------------------------------

@contextlib.contextmanager
def peer(name, kind, targets, interval_s):
    """A health checker with that many targets; yields its pid."""
    program = tool(name)
    with tempfile.TemporaryDirectory() as d:
        subprocess.run([sys.executable, HERE / "gen_peer.py", name, kind,
                        str(targets), str(interval_s), d], check=True)
        how = {"haproxy": [program, "-db", "-q", "-f", f"{d}/haproxy.cfg"],
               "gdnsd": [program, "-c", d, "start"]}[name]
        with open(os.devnull, "w") as null:
            p = subprocess.Popen(how, stdout=null, stderr=null,
                                 env=environment())
        try:
            time.sleep(SETTLE_S + interval_s)
            if p.poll() is not None:
                raise RuntimeError(f"{name} ended with {p.returncode}")
            yield p.pid
        finally:
            p.terminate()
            p.wait()


def paced(label, name, kind, rate, interval_s=1):
    """CPU at that many probes a second as a multiple of a peer's."""
    need(ENGINE, BARE)
    tool(name)
    port = {"tcp": 8000, "http": HTTP}[kind]
    values = []
    with nginx() if kind == "http" else contextlib.nullcontext():
        for _ in range(PAIRS):
            with peer(name, kind, rate * interval_s, interval_s) as pid:
                theirs = measure(sys.executable, HERE / "cpuproc.py", PACED_S,
                                 pid)
            ours = measure(ENGINE, "-m", kind, "-n", rate * PACED_S, "-R", rate,
                           "-p", port, "-t", 1000)
            if ours["ok"] != ours["n"]:
                raise RuntimeError(f"not all answered: {ours}")
            if not theirs["cpu_us"] or theirs["per_s"] < 0.8 * rate:
                raise RuntimeError(f"{name} does not keep the pace: {theirs}")
            values.append((ours["cpu_us"] / theirs["cpu_us"], ours["cpu_us"],
                           theirs["cpu_us"]))
        bare = measure(BARE, *(["-q"] if kind == "tcp" else []), "-m", kind,
                       "-n", rate * PACED_S, "-R", rate, "-G", 10, "-p", port)
    middle = sorted(values)[len(values) // 2]
    note(f"{label}: {middle[1]:.1f} us, {name} {middle[2]:.1f} us; bare loop "
         f"{bare['cpu_us']:.1f} us; ratios "
         + ", ".join(f"{v[0]:.2f}" for v in values))
    return middle[0]


def pace(*what):
    label = f"{what[1]}-{what[0]}-{what[2]}"
    return label, lambda: paced(label, *what)


TARGETS = {
    "http-burst-cpu": (http_burst_cpu, 1.4, 2),
    "http-curl-cpu": (http_curl_cpu, 0.25, 2),
    "https-full-cpu": (https_full_cpu, 1.1, 2),
    "https-resumed-cpu": (https_resumed_cpu, 0.33, 2),
    "https-resumed-wall": (https_resumed_wall, 1.1, 2),
    "https-resumed-stall": (https_resumed_stall, 10, 1),
    "icmp-cpu": (icmp_cpu, 5, 1),
    "icmp-fping-cpu": (icmp_fping_cpu, 0.6, 2),
    "icmp-10k-wall": (icmp_10k_wall, 0.1, 3),
    "icmp-dead-10k-wall": (icmp_dead_10k_wall, 1.25, 3),
    "icmp-false-dead": (icmp_false_dead, 0, 0),
}
for _what, _limit in (
        (("haproxy", "tcp", 1000), 0.9), (("haproxy", "tcp", 5000), 0.9),
        (("haproxy", "http", 1000), 0.95), (("haproxy", "http", 5000), 0.95),
        (("gdnsd", "tcp", 500, 2), 0.5), (("gdnsd", "tcp", 2500, 2), 0.5)):
    _label, _run = pace(*_what)
    TARGETS[_label] = (_run, _limit, 2)
