"""Known faults of other programs, through the whole program: zone files,
commands that fail, addresses in other letters (the cases Z3 Z5 Z7 A13, R2 R4
R6 R12 R16 R20)."""

import grp
import os
import re
import resource
import socket
import subprocess
import threading

import pytest

import servers
from test_once import KINDS, WWW, back, refused, told
from world import (  # noqa: F401
    ZONE, World, build, elapsed, pair, records, rows, target, txt, www_rows,
    zone_text,
)

TEST = "example.test"


# -- zone files -----


def compiled(path, zone):
    """The zone's records, one a line, as the cases' .want files hold them."""
    got = subprocess.run(
        [servers.find("named-compilezone"), "-q", "-i", "none", "-o", "-",
         zone, str(path)], capture_output=True, text=True, timeout=20)
    assert got.returncode == 0, got.stdout + got.stderr
    lines = []
    for line in got.stdout.splitlines():
        line = re.sub(r"[\t ]+", " ", line)
        soa = re.sub(r"( SOA \S+ \S+) \d+ ", r"\1 SERIAL ", line)
        if not line.startswith(f"_failover.{zone}. "):
            lines.append(soa)
    return lines


def without_serial(text, serial):
    """For a comparison byte by byte, but for the serial's digits."""
    return re.sub(rb"\b%d\b" % serial, b"SERIAL", text, count=1)


def case_world(agent, short_dir, target, shared, name):
    """The case's file as it is, with a spec of the apex beside."""
    path = shared / "cases" / "files" / "zone" / f"{name}.zone"
    if not path.is_file():
        pytest.skip(f"no {path}")
    up, down = target("127.0.0.2"), target("127.0.0.3")
    line = txt("_failover", rows(
        ("www", "192.0.2.10", f"tcp:{up.port}@127.0.0.2"),
        ("www", "192.0.2.20", f"tcp:{down.port}@127.0.0.3")))
    text = path.read_bytes()
    at = text.index(b"\nns1") + 1
    text = text[:at] + line.encode() + b"\n" + text[at:]
    return World(agent, short_dir / "w", zones={TEST: text}), down, path


def serials(w, run):
    before = w.serial()
    run()
    after = w.serial()
    assert 0 < (after - before) % 2**32 < 2**31
    assert 0 <= after <= 4294967295
    return before, after


@pytest.mark.parametrize("name", ["z3-quoted", "z5-order", "z7-day99",
                                  "z7b-wrap"])
def test_zone_cases(agent, short_dir, target, shared, name):
    made, down, path = case_world(agent, short_dir, target, shared, name)
    want = path.with_suffix(".want").read_text().splitlines()
    with made as w:
        w.once()
        old = w.file.read_bytes()
        down.close()
        before, after = serials(w, w.once)
        if name == "z7b-wrap":
            assert 0 < after < 1000
        assert compiled(w.file, TEST) == want
        had = without_serial(old, before).splitlines()
        has = without_serial(w.file.read_bytes(), after).splitlines()
        changed = [(a, b) for a, b in zip(had, has) if a != b]
        assert len(had) == len(has)
        assert len(changed) == 1
        assert re.match(rb"(?i)www.*\sA\s+192\.0\.2\.20", changed[0][0])
        down.open()
        _, last = serials(w, w.once)
        assert (without_serial(w.file.read_bytes(), last)
                == without_serial(old, before))


def test_z7_five_times(agent, short_dir, target, shared):
    """The hundredth change of the day, and those after it."""
    made, down, _ = case_world(agent, short_dir, target, shared, "z7-day99")
    with made as w:
        w.once()
        for _ in range(5):
            down.close()
            serials(w, w.once)
            assert w.values("www") == ["192.0.2.10"]
            # A new state: damping and the brake are not what this is about.
            w.state.unlink()
            down.open()
            _, after = serials(w, w.once)
            assert w.values("www") == ["192.0.2.10", "192.0.2.20"]
            assert len(str(after)) <= 10


# -- files -----


def some_group():
    """A group other than our own, as a server's is."""
    for name in ("bind", "nsd", "nogroup", "daemon"):
        try:
            return grp.getgrnam(name).gr_gid
        except KeyError:
            continue
    return None


@KINDS
def test_r12_symlink_mode_and_group(pair, kind):
    w, one, _ = pair(kind=kind)
    real = w.dir / "elsewhere" / "real.zone"
    real.parent.mkdir()
    w.file.rename(real)
    w.file.symlink_to(os.path.relpath(real, w.file.parent))
    os.chmod(real, 0o640)
    group = some_group() if os.geteuid() == 0 else None
    if group is not None:
        os.chown(real, 0, group)
    w.settle()
    one.close()
    w.settle()
    assert w.values("www") == ["127.0.0.3"]
    assert w.file.is_symlink()
    assert os.readlink(w.file) == os.path.relpath(real, w.file.parent)
    st = real.stat()
    assert st.st_mode & 0o7777 == 0o640
    if group is not None:
        assert (st.st_uid, st.st_gid) == (0, group)
    assert sorted(p.name for p in real.parent.iterdir()) == ["real.zone"]


def test_journal_beside_the_file(pair):
    """A zone with dynamic updates is refused: its journal would be lost."""
    w, one, _ = pair()
    w.settle()
    w.file.with_name(w.file.name + ".jnl").write_bytes(b"x" * 100)
    one.close()
    before = w.files()
    got = w.once()
    assert got.returncode == 1
    assert ".jnl" in got.stderr
    assert w.files() == before


def test_crlf_and_comments_stay(build, target):
    one, two = target("127.0.0.2"), target("127.0.0.3")
    text = zone_text(ZONE, "; the web\nwww 60 IN A 127.0.0.2 ; one (\n"
                     "    60 IN A 127.0.0.3 ; \"two\n"
                     "mail IN A 192.0.2.1", {"www": www_rows(one, two)})
    w = build(zones={ZONE: text.replace("\n", "\r\n").encode()})
    w.settle()
    old = w.file.read_bytes()
    two.close()
    told(w.once(), refused(two), f"{WWW} A 127.0.0.3 withdrawn: "
         "its checks fail")
    new = w.file.read_bytes()
    assert new.count(b"\r\n") == new.count(b"\n") == old.count(b"\n")
    assert b"; the web\r\nwww 60 IN A 127.0.0.2 ; one (\r\n" in new
    two.open()
    w.settle()
    assert w.file.read_bytes() == old.replace(b"1 ; serial", b"3 ; serial")


def quota():
    resource.setrlimit(resource.RLIMIT_AS, (2**30, 2**30))


def test_r16_generate(build, target):
    """A huge $GENERATE costs no memory and stays; an edit inside of one is
    refused."""
    one, two = target("127.0.0.2"), target("127.0.0.3")
    spec_www = www_rows(one, two)
    gen = rows((f"n2.{ZONE}.", "192.0.2.2", f"tcp:{one.port}@127.0.0.2"),
               allDown="none")
    w = build(records=records("www", one, two) + "\nn2 IN A 192.0.2.2",
              specs={"www": spec_www, "n2": gen})
    huge = "$GENERATE 0-2147483647 host$ A 192.0.2.1\n"
    small = "$GENERATE 1-9 n$ A 192.0.2.$\n"
    path = w.dir / "huge.zone"
    path.write_text(zone_text(ZONE, records("www", one, two), {
        "www": spec_www, "n2": gen}) + huge + small)
    w.configure(file=path, check="", reload="",
                provider='  serial-timeout = "0"')
    sanitized = "asan" in str(w.agent.path)
    how = {} if sanitized else {"preexec_fn": quota}
    got = w.once(**how)
    assert got.returncode == 0, got.stderr
    one.close()
    got = w.once("--deadline", "3s", **how)
    assert got.returncode == 1
    assert "$GENERATE" in got.stderr
    text = path.read_text()
    assert huge in text and small in text


# -- commands -----


def script(w, name, text):
    path = w.dir / name
    path.write_text(text)
    return f"/bin/sh {path} {{zone}} {{file}}"


def untouched(w, text):
    assert w.file.read_bytes() == text
    left = [p.name for p in w.file.parent.iterdir()
            if p.name.startswith((".", "tmp")) or p.name.endswith("~")
            or ".dnsfailover" in p.name]
    assert left == []


@KINDS
def test_r20_reload_fails(pair, kind):
    """The old file comes back, it is told, the next round tries again."""
    w, one, _ = pair(kind=kind)
    w.settle()
    good = w.ns.reload_command
    w.configure(reload=script(w, "bad", "echo zone $1 is not loaded; exit 3"))
    text = w.file.read_bytes()
    one.close()
    got = w.once()
    assert got.returncode == 1
    assert refused(one) in got.stdout
    assert "withdrawn: its checks fail" not in got.stdout
    assert "reload failed" in got.stderr
    assert f"zone {ZONE} is not loaded" in got.stderr
    assert "the old file was put back" in got.stderr
    untouched(w, text)
    got = w.once()
    assert (got.returncode, got.stdout, got.stderr) == (1, "", "")
    untouched(w, text)
    w.configure(reload=good)
    got = w.once()
    assert got.returncode == 0, got.stderr
    assert w.values("www") == ["127.0.0.3"]
    assert "resolved: " in got.stdout


def test_r20_reload_hangs(pair):
    """A bounded wait, and no process is left behind."""
    w, one, _ = pair()
    w.settle()
    w.configure(reload=script(w, "slow", f"echo $$ >>{w.dir}/pids\n"
                              "sleep 60 & wait"),
                provider='  timeout = "500ms"')
    text = w.file.read_bytes()
    one.close()
    seconds, got = elapsed(w.once)
    assert got.returncode == 1
    assert "reload failed" in got.stderr
    assert "500ms" in got.stderr
    assert 1.0 <= seconds < 8  # once, and once more for the old file
    untouched(w, text)
    for pid in (w.dir / "pids").read_text().split():
        assert not os.path.exists(f"/proc/{pid}") or "Z" in status(pid)


def status(pid):
    with open(f"/proc/{pid}/stat") as f:
        return f.read().rsplit(")", 1)[1].split()[0]


def test_check_fails(pair):
    """The check looks at the new text; nothing has been changed then."""
    w, one, _ = pair()
    w.settle()
    w.configure(
        check=script(w, "check", f"cp $2 {w.dir}/seen; echo no good; exit 1"),
        reload=script(w, "reload", f"echo >>{w.dir}/reloaded"))
    before = w.files()
    one.close()
    got = w.once()
    assert got.returncode == 1
    assert "no good" in got.stderr
    assert "nothing was changed" in got.stderr
    assert w.files() == before
    assert not (w.dir / "reloaded").exists()
    assert b";dnsfailover" in (w.dir / "seen").read_bytes()
    untouched(w, before[ZONE][0])


def test_check_hangs(pair):
    w, one, _ = pair()
    w.settle()
    w.configure(check=script(w, "check", "sleep 60"),
                provider='  timeout = "300ms"')
    before = w.files()
    one.close()
    seconds, got = elapsed(w.once)
    assert got.returncode == 1
    assert "300ms" in got.stderr
    assert seconds < 6
    assert w.files() == before


def test_serial_that_is_not_served(pair):
    """A reload that says ok and does nothing: the old file comes back."""
    w, one, _ = pair()
    w.settle()
    w.configure(reload="/bin/true", provider='  serial-timeout = "500ms"')
    text = w.file.read_bytes()
    one.close()
    got = w.once()
    assert got.returncode == 1
    assert "still serves serial 1, not 2" in got.stderr
    assert "the old file was put back" in got.stderr
    untouched(w, text)


def test_command_that_is_not_there(pair):
    w, one, _ = pair()
    w.settle()
    w.configure(check="/nonexistent/checkzone {zone} {file}")
    before = w.files()
    one.close()
    got = w.once()
    assert got.returncode == 1
    assert "/nonexistent/checkzone" in got.stderr
    assert w.files() == before


def test_server_serves_another_file(pair):
    """A served serial newer than the file's: not this file."""
    w, one, _ = pair()
    w.edit(lambda text: text)
    w.settle()
    w.file.write_text(w.file.read_text().replace("2 ; serial", "1 ; serial"))
    before = w.files()
    one.close()
    got = w.once()
    assert got.returncode == 1
    assert "serial 1" in got.stderr and "newer 2" in got.stderr
    assert w.files() == before


# -- the rest -----


def test_a13_the_same_address_in_other_letters(build, target):
    one, two = target("127.0.0.2"), target("127.0.0.3")
    old = ("www 60 IN AAAA 2001:db8:0:0:0:0:0:1\n"
           "www 60 IN AAAA 2001:0db8:0000:0000:0001:0000:0000:0001")
    check = [f"tcp:{one.port}@127.0.0.2", f"tcp:{two.port}@127.0.0.3"]
    w = build(records=old, specs={"www": rows(
        (WWW, "2001:DB8::1", check[0]),
        (WWW, "2001:db8:0:0:1::1", check[1]),
        (WWW, "2001:db8:0::0:1", check[0]))})
    for _ in range(3):
        w.quiet()
    one.close()
    told(w.once(), refused(one, data="2001:db8::1"),
         f"{WWW} AAAA 2001:db8::1 withdrawn: its checks fail")
    assert w.values("www", "AAAA") == ["2001:db8::1:0:0:1"]
    assert ("\nwww 60 IN AAAA 2001:0db8:0000:0000:0001:0000:0000:0001\n"
            in w.file.read_text())


@pytest.mark.parametrize("in_spec, in_file", [
    ("WWW.Example.ORG.", "www"), (WWW, "WWW.EXAMPLE.Org."), ("wWw", "Www")])
def test_r6_letters_of_names(build, target, in_spec, in_file):
    one, two = target("127.0.0.2"), target("127.0.0.3")
    w = build(records=records(in_file, one, two), specs={"www": rows(
        *((in_spec, t.addr, t.port) for t in (one, two)))})
    w.quiet()
    one.close()
    told(w.once(), refused(one),
         f"{WWW} A 127.0.0.2 withdrawn: its checks fail")
    one.open()
    w.settle()
    assert w.values("www") == ["127.0.0.2", "127.0.0.3"]


def test_r2_proxies_in_the_environment(pair):
    w, one, _ = pair()
    nowhere = "http://127.0.0.1:9"
    env = {name: nowhere for name in (
        "http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY",
        "HTTPS_PROXY", "ALL_PROXY")}
    env.update(LOCALDOMAIN="corp.test", RES_OPTIONS="ndots:5")
    got = w.once(env=env)
    assert (got.returncode, got.stdout, got.stderr) == (0, "", "")
    one.close()
    told(w.once(env=env), refused(one),
         f"{WWW} A 127.0.0.2 withdrawn: its checks fail")


class Hangup:
    """Accepts TCP connections and resets each at once."""

    def __init__(self, port):
        self.socket = socket.create_server(("127.0.0.1", port))
        self.socket.settimeout(0.05)
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self.serve, daemon=True)

    def serve(self):
        while not self.stop.is_set():
            try:
                c, _ = self.socket.accept()
            except TimeoutError:
                continue
            c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                         b"\1\0\0\0\0\0\0\0")
            c.close()

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        self.thread.join(10)
        self.socket.close()


def test_r4_name_server_hangs_up(pair):
    w, _, _ = pair()
    w.settle()
    port = servers.net.free_port()
    with Hangup(port):
        w.configure(servers=[f"127.0.0.1:{port}"], discover="axfr")
        got = w.once("--deadline", "3s")
    assert got.returncode == 1
    assert "transfer" in got.stderr


def test_r4_nobody_reads(pair):
    """Neither the notify command nor the reader of our output ends the
    program by going away."""
    w, one, _ = pair()
    w.settle()
    w.configure(notify="/bin/true")
    one.close()
    process = w.start()
    process.stdout.close()
    process.stderr.close()
    process.stdout = process.stderr = None
    assert process.wait(30) >= 0
    assert w.values("www") == ["127.0.0.3"]
    one.open()
    got = w.once()
    assert back(one) in got.stdout


def test_r4_target_hangs_up(build, target):
    two = target("127.0.0.3")
    port = servers.net.free_port()
    w = build(records=records("www", "127.0.0.1", two), specs={"www": rows(
        (WWW, "127.0.0.1", port), (WWW, two.addr, two.port))})
    with Hangup(port):
        w.quiet()
    got = w.once()
    assert f"{WWW} (127.0.0.1) becomes unavailable" in got.stdout


def test_cron_has_next_to_nothing(pair):
    """No HOME, no PATH beyond cron's, closed standard input."""
    w, one, _ = pair()
    w.settle()
    one.close()
    got = subprocess.run(
        ["env", "-i", "PATH=/usr/bin:/bin", w.agent.path, "-c",
         str(w.config), "once"], stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=60, cwd="/")
    told(got, refused(one), f"{WWW} A 127.0.0.2 withdrawn: its checks fail")
