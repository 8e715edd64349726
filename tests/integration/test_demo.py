"""contrib/demo.sh: what it shows is true, and it leaves nothing behind."""

import os
import pathlib
import re
import signal
import subprocess
import time

import pytest

import net
import servers

LIMIT_S = 60


@pytest.fixture(params=["nsd", "bind"])
def server(request):
    program = {"nsd": "nsd", "bind": "named"}[request.param]
    if servers.find(program) is None:
        pytest.skip(f"{program} is not installed")
    return request.param


def environment(program, directory, server):
    return dict(os.environ, DNSFAILOVER_BIN=str(program), NO_COLOR="1",
                DEMO_SERVER=server, TMPDIR=str(directory))


def run(root, program, directory, server):
    return subprocess.run(
        ["sh", str(root / "contrib" / "demo.sh")], text=True, timeout=LIMIT_S,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, env=environment(program, directory, server),
    )


def session(sid):
    """The processes of a session, but for those that have ended."""
    found = []
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == sid and fields[0] != "Z":
            found.append(int(stat.parent.name))
    return found


def test_demo(root, agent, short_dir, server):
    began = time.monotonic()
    got = run(root, agent.path, short_dir, server)
    assert got.returncode == 0, got.stdout
    assert got.stdout.splitlines()[-1] == "demo ok"
    assert time.monotonic() - began < LIMIT_S
    for line in (
        r"\$ dnsfailover -c dnsfailover.conf once\n",
        r"www\.example\.org\. \(127\.0\.0\.3\) becomes unavailable: "
        r"tcp:\d+ refused",
        r"www\.example\.org\. A 127\.0\.0\.3 withdrawn: ",
        r"\$ dig [^\n]* A\n +127\.0\.0\.2\n\n",
        r"www\.example\.org\. \(127\.0\.0\.3\) becomes available: tcp:\d+ ok",
        # in whichever order the server likes
        r"\$ dig [^\n]* A\n +127\.0\.0\.[23]\n +127\.0\.0\.[23]\n",
    ):
        assert re.search(line, got.stdout), line
    assert list(short_dir.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted(root, agent, short_dir, number):
    server = "nsd" if servers.find("nsd") else "bind"
    demo = subprocess.Popen(
        ["sh", str(root / "contrib" / "demo.sh")], text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, start_new_session=True,
        env=environment(agent.path, short_dir, server),
    )
    try:
        for line in demo.stdout:
            if line.startswith("== 3"):
                break
        assert len(session(demo.pid)) > 2, "server and services run"
        demo.send_signal(number)
        rest = demo.stdout.read()
        assert demo.wait(LIMIT_S) == 128 + number
        assert "demo ok" not in rest
        net.wait_until("all processes ended", lambda: not session(demo.pid))
        assert list(short_dir.iterdir()) == []
    finally:
        demo.stdout.close()
        if demo.poll() is None:
            os.killpg(demo.pid, signal.SIGKILL)
            demo.wait()


def broken(agent, directory, name, body):
    path = directory / name
    path.write_text(f'#!/bin/sh\nreal="{agent.path}"\n{body}\n')
    path.chmod(0o755)
    return path


@pytest.mark.parametrize("body, why", [
    # A program that never acts.
    ('case " $* " in *" once "*) exit 0 ;; esac; exec "$real" "$@"',
     "no line with"),
    # One that claims to, and does not.
    ('case " $* " in *" once "*) "$real" -c dnsfailover.conf plan ;;'
     ' *) exec "$real" "$@" ;; esac', "."),
    # One that talks when there is nothing to say.
    ('case " $* " in *" once "*) echo hello ;; esac; exec "$real" "$@"',
     "must be silent"),
    ("exit 1", "exit status 1 where 0 was expected"),
])
def test_a_fault_is_seen(root, agent, short_dir, tmp_path, body, why):
    server = "nsd" if servers.find("nsd") else "bind"
    got = run(root, broken(agent, tmp_path, "program", body), short_dir,
              server)
    last = got.stdout.splitlines()[-1]
    assert got.returncode == 1
    assert last.startswith("demo failed: ")
    assert re.search(why, last)
    assert "demo ok" not in got.stdout
    assert list(short_dir.iterdir()) == []


def test_program_missing(root, tmp_path):
    got = run(root, tmp_path / "nothing", tmp_path, "nsd")
    assert got.returncode == 1
    assert got.stdout.splitlines()[-1].startswith("demo failed: ")
