"""What one run leaves for the next: counters, locks, damage, sudden ends."""

import os
import pathlib
import random
import shutil
import signal
import sqlite3
import subprocess
import time

import pytest

from test_once import WWW, back, refused, told
from world import (  # noqa: F401
    build, checked, elapsed, pair, records, spec, target, until,
)

S3 = ["s3-cut.state", "s3-empty.state", "s3-html.state", "s3-nuls.state"]


def now(w, *last):
    assert w.values("www") == [f"127.0.0.{i}" for i in last]


# -- counters -----


def s1_world(build, target, up=True):
    """Fall 3, rise 2, and time for one result in each run."""
    one, two = target("127.0.0.2"), target("127.0.0.3")
    if not up:
        one.close()
    w = build(records=records("www", one, two), specs={"www": spec(
        *checked(one, two), defaults={
            "requiredFailure": 3, "requiredSuccess": 2,
            "retryPeriod": "3s", "accessPeriod": "3s"})})
    return w, one, two


def short(w):
    return w.once("--deadline", "1s")


def nothing(w):
    before = w.files()
    got = short(w)
    assert (got.returncode, got.stdout, got.stderr) == (0, "", "")
    assert w.files() == before


def test_s1_restart_does_not_bring_the_dead_back(build, target):
    w, one, _ = s1_world(build, target)
    nothing(w)
    nothing(w)
    one.close()
    nothing(w)
    nothing(w)
    got = short(w)
    assert refused(one) in got.stdout
    now(w, 3)
    nothing(w)  # the next cron run, still dead
    one.open()
    nothing(w)  # one good probe
    told(short(w), back(one), f"{WWW} A 127.0.0.2 published: healthy records")
    now(w, 2, 3)


def test_s1_first_start_leaves_the_set_as_found(build, target):
    """Unknown counts as up for what is published."""
    w, one, _ = s1_world(build, target, up=False)
    nothing(w)
    nothing(w)
    now(w, 2, 3)
    got = short(w)
    assert refused(one) in got.stdout
    now(w, 3)


def test_wavering_results_keep_the_state(build, target):
    w, one, _ = s1_world(build, target)
    nothing(w)
    nothing(w)
    for _ in range(2):
        one.close()
        nothing(w)
        nothing(w)
        one.open()
        nothing(w)  # a result that agrees clears the count
    now(w, 2, 3)


# -- damage -----


def damage(w, text):
    for tail in ("", "-wal", "-shm"):
        pathlib.Path(f"{w.state}{tail}").unlink(missing_ok=True)
    w.state.write_bytes(text)


@pytest.mark.parametrize("text", [
    b"", b"\0" * 512, b"<html>no state</html>\n",
    b"SQLite format 3\0" + b"\x10\0\1\1" + b"\0" * 20,
    b"SQLite format 3\0" + bytes(range(256)) * 40,
], ids=["empty", "nuls", "html", "cut", "noise"])
def test_damaged_state(pair, text):
    """Set aside once, told loudly, nothing withdrawn in that run."""
    w, one, _ = pair()
    w.settle()
    damage(w, text)
    one.close()
    got = w.once()
    assert "damaged" in got.stderr, got.stderr
    assert str(w.state) in got.stderr
    aside = w.state.with_name("state.db.damaged")
    assert aside.read_bytes() == text
    now(w, 2, 3)
    got = w.once()
    assert "damaged" not in got.stderr
    now(w, 3)
    w.quiet()
    damage(w, b"once more")
    w.once()
    copies = [p.name for p in w.state.parent.iterdir() if "damaged" in p.name]
    assert copies == ["state.db.damaged"]


@pytest.mark.parametrize("name", S3)
def test_s3_files(pair, shared, name):
    path = shared / "cases" / "files" / "state" / name
    if not path.is_file():
        pytest.skip(f"no {path}")
    w, one, _ = pair()
    w.settle()
    damage(w, path.read_bytes())
    one.close()
    got = w.once()
    assert "damaged" in got.stderr
    now(w, 2, 3)
    w.once()
    now(w, 3)


def can_mount():
    return os.geteuid() == 0 and shutil.which("unshare") is not None and \
        subprocess.run(["unshare", "-m", "true"],
                       stderr=subprocess.DEVNULL).returncode == 0


def test_s3_full_disk(pair):
    """The old file stays whole, checks go on, an error is told."""
    if not can_mount():
        pytest.skip("no mount namespace of its own (needs root)")
    w, one, _ = pair()
    w.settle()
    one.close()
    folder = w.state.parent
    script = (
        f"set -e; mkdir {w.dir}/keep; cp -a {folder}/. {w.dir}/keep; "
        f"mount -t tmpfs -o size=256k none {folder}; "
        f"cp {w.dir}/keep/state.db {folder}/; "
        f"cat /dev/zero >{folder}/fill 2>/dev/null || true; "
        f"rc=0; {w.agent.path} -c {w.config} once || rc=$?; "
        f"cp {folder}/state.db {w.dir}/after.db; exit $rc")
    got = subprocess.run(["unshare", "-m", "sh", "-c", script],
                         stdin=subprocess.DEVNULL, capture_output=True,
                         text=True, timeout=60)
    assert got.returncode == 1, got.stdout + got.stderr
    assert f"state {w.state} cannot be written" in got.stderr
    assert refused(one) in got.stdout
    now(w, 2, 3)
    assert whole(w.dir / "after.db")


def whole(path):
    with sqlite3.connect(path) as db:
        return db.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_s3_killed_again_and_again(pair):
    """After each kill the file is the old or the new one."""
    w, one, _ = pair()
    w.settle()
    seed = int.from_bytes(os.urandom(4), "big")
    rnd = random.Random(seed)
    print("seed", seed)
    for i in range(40):
        (one.close if i % 2 else one.open)()
        process = w.start(start_new_session=True)
        end = time.monotonic() + rnd.uniform(0, 0.15)
        until("the moment", lambda: time.monotonic() > end
              or process.poll() is not None)
        process.kill()
        process.communicate()
        copy = w.dir / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(w.state.parent, copy)
        assert whole(copy / "state.db")
    one.open()
    got = w.once()
    assert "damaged" not in got.stderr
    assert "somebody else" not in got.stderr, got.stderr


# -- two runs at once -----


class Reload:
    """A reload command that a test can watch and hold."""

    def __init__(self, w):
        self.w = w
        self.calls_file = w.dir / "calls"
        self.hold_file = w.dir / "hold"
        script = w.dir / "reload.sh"
        command = w.ns.reload_command.replace("{zone}", '"$1"')
        script.write_text(
            f"echo $$ >>{self.calls_file}\n"
            f"while [ -e {self.hold_file} ]; do sleep 0.05; done\n"
            f"exec {command}\n")
        w.configure(reload=f"/bin/sh {script} {{zone}}")

    @property
    def calls(self):
        if not self.calls_file.exists():
            return 0
        return len(self.calls_file.read_text().split())

    def hold(self):
        self.hold_file.touch()

    def release(self):
        self.hold_file.unlink(missing_ok=True)

    def wait(self, calls):
        until("the reload command", lambda: self.calls >= calls)


def test_s5_two_runs_at_once(pair):
    w, one, _ = pair()
    reload_ = Reload(w)
    w.settle()
    one.close()
    reload_.hold()
    first = w.start()
    try:
        reload_.wait(1)
        text = w.file.read_bytes()
        seconds, got = elapsed(w.once)
        assert got.returncode == 75
        assert got.stdout == ""
        assert "another run holds" in got.stderr
        assert seconds < 2
        assert reload_.calls == 1
        assert w.file.read_bytes() == text
    finally:
        reload_.release()
    out, err = first.communicate(timeout=30)
    assert first.returncode == 0, err
    assert refused(one) in out
    now(w, 3)
    w.quiet()


def kill_in_reload(w, reload_):
    """kill -9 of a run whose reload command hangs; the file is new then, the
    server's answer old."""
    calls = reload_.calls
    reload_.hold()
    process = w.start()
    reload_.wait(calls + 1)
    process.kill()
    process.communicate()
    for pid in reload_.calls_file.read_text().split():
        try:
            os.kill(int(pid), signal.SIGKILL)
        except ProcessLookupError:
            pass
    reload_.release()


def test_s5_killed_holder(pair):
    """The kernel lets go of the lock; what was half done is brought to its
    end, and is not taken for others' hands."""
    w, one, _ = pair()
    reload_ = Reload(w)
    w.settle()
    one.close()
    kill_in_reload(w, reload_)
    now(w, 2, 3)
    got = w.once()
    assert got.returncode == 0, got.stderr
    assert "somebody else" not in got.stderr
    now(w, 3)
    w.quiet()
    one.open()
    got = w.once()
    assert back(one) in got.stdout
    now(w, 2, 3)
    w.quiet()


def test_killed_and_back_before_the_next_run(pair):
    """Its own withdrawal is not somebody else's, when the target is up again
    at once."""
    w, one, _ = pair()
    reload_ = Reload(w)
    w.settle()
    one.close()
    kill_in_reload(w, reload_)
    one.open()
    got = w.once()
    assert got.returncode == 0, got.stderr
    assert "somebody else" not in got.stderr
    now(w, 2, 3)
    assert b"dnsfailover" not in w.file.read_bytes()
    w.quiet()


def test_s5_stale_files_do_not_block(pair):
    """A pid file that names a living, unrelated process."""
    w, one, _ = pair()
    w.settle()
    bystander = subprocess.Popen(["sleep", "60"], stdin=subprocess.DEVNULL)
    try:
        for name in ("state.db.pid", "dnsfailover.pid", "state.db.lock"):
            (w.state.parent / name).write_text(f"{bystander.pid}\n")
        one.close()
        w.settle()
        now(w, 3)
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()


def test_hanging_reload_does_not_keep_the_lock(pair):
    """A command that outlives its run must not hold up the next one."""
    w, one, _ = pair()
    reload_ = Reload(w)
    w.settle()
    one.close()
    reload_.hold()
    process = w.start()
    try:
        reload_.wait(1)
        process.kill()
        process.communicate()
        got = w.run("plan")
        assert got.returncode in (0, 1)
        (w.dir / "direct").write_text("exit 0\n")
        w.configure(reload=w.ns.reload_command)
        assert w.once().returncode != 75
    finally:
        reload_.release()


# -- where it lies -----


def test_state_directory_is_made(pair):
    w, _, _ = pair()
    assert not w.state.parent.exists()
    w.settle()
    assert w.state.parent.stat().st_mode & 0o777 == 0o700
    assert w.state.stat().st_mode & 0o777 == 0o600
    assert not [p for p in w.dir.iterdir() if p.name.startswith("state.db")]


def test_state_directory_that_cannot_be_made(pair):
    w, _, _ = pair()
    w.state = pathlib.Path("/proc/none/deeper/state.db")
    w.configure()
    before = w.files()
    got = w.once()
    assert got.returncode == 2
    assert "/proc/none/deeper/state.db" in got.stderr
    assert w.files() == before


def test_state_of_another_user(pair):
    """Not permitted: says which user owns it."""
    if os.geteuid() != 0:
        pytest.skip("needs root to become another user")
    w, _, _ = pair()
    w.settle()
    os.chmod(w.dir.parent, 0o755)
    os.chmod(w.config, 0o644)
    got = w.once(user=65534, group=65534, extra_groups=[])
    assert got.returncode == 2
    assert "belongs to root" in got.stderr
    for command in ("status", "history"):
        got = w.run(command, user=65534, group=65534, extra_groups=[])
        assert got.returncode == 2
        assert "belongs to root" in got.stderr


def test_status_as_another_user(pair):
    """Reading needs no more than read permission."""
    if os.geteuid() != 0:
        pytest.skip("needs root to become another user")
    w, one, _ = pair()
    w.settle()
    one.close()
    w.settle()
    os.chmod(w.dir.parent, 0o755)
    os.chmod(w.config, 0o644)
    os.chmod(w.state.parent, 0o755)
    for path in w.state.parent.iterdir():
        os.chmod(path, 0o644)
    for command in ("status", "history"):
        got = w.run(command, user=65534, group=65534, extra_groups=[])
        assert got.returncode == 0, got.stderr
        assert "127.0.0.2" in got.stdout
