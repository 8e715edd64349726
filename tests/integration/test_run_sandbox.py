"""`run` gives its rights up: the user, capabilities, system calls; and the
helper that does for it what the configuration names. As root, with real name
servers."""

import json
import os
import pathlib
import re
import signal
import subprocess

import pytest

import net
import servers
from ispconfig.scene import Scene, machine  # noqa: F401
from service import (  # noqa: F401
    FAST, Service, fast, first_look, known, reload_of,
)
from world import (  # noqa: F401
    WWW, build, checked, records, spec, target, until,
)

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0, reason="only root has rights to give up")

NOBODY = ("65534",) * 4


def status(pid):
    """Fields of /proc/PID/status."""
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    return dict(line.split(":\t", 1) for line in text.splitlines()
                if ":\t" in line)


def children(pid):
    return pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


def helper_of(s):
    found = [c for c in children(s.process.pid)
             if status(c)["Name"] == "dnsf-helper"]
    assert len(found) == 1
    return int(found[0])


def sanitized(s):
    """A build for the address sanitizer has no filter of system calls."""
    return "libasan" in s.proc("maps").read_text()


def whose(path):
    st = os.stat(path)
    return st.st_uid, st.st_mode & 0o7777


# -- what the two processes may do -----


def test_the_service_has_no_rights_and_its_helper_keeps_them(fast):
    w, one, two = fast()
    os.chmod(w.dir / "ns", 0o755)
    with Service(w) as s:
        first_look(s)
        now = status(s.process.pid)
        assert tuple(now["Uid"].split()) == NOBODY
        assert tuple(now["Gid"].split()) == NOBODY
        for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
            assert int(now[name], 16) == 0, name
        assert now["NoNewPrivs"] == "1"
        if not sanitized(s):
            assert now["Seccomp"] == "2"
        helper = status(helper_of(s))
        assert helper["Uid"].split() == ["0"] * 4
        assert int(helper["CapEff"], 16) == int(status("self")["CapEff"], 16)
        # the state is the service's, the zone file root's
        assert whose(w.state.parent) == (65534, 0o700)
        assert whose(w.state)[0] == 65534
        assert whose(w.file)[0] == 0
        one.close()
        s.shows("www", two)
        assert whose(w.file)[0] == 0
        got = w.run("status")
        assert "service: user nobody, no capabilities, no new privileges" in (
            got.stdout), got.stdout
        _, whole = w.status()
        assert whole["service"]["pid"] == s.process.pid
        assert whole["service"]["sandbox"].startswith("user nobody")
        assert s.stop() == 0
    assert s.err == []
    # a round of root's in between, and the service again
    one.open()
    assert w.once().returncode == 0
    with Service(w) as s:
        s.shows("www", one, two)
        assert s.stop() == 0
    assert s.err == []


@pytest.mark.parametrize("kind", [servers.Nsd, servers.Knot])
def test_other_servers_are_switched_too(fast, kind):
    w, one, two = fast(kind=kind)
    with Service(w) as s:
        first_look(s)
        one.close()
        s.shows("www", two)
        assert tuple(status(s.process.pid)["Uid"].split()) == NOBODY
        assert s.stop() == 0


def test_without_a_user_it_says_that_it_is_root(fast):
    w, one, two = fast()
    w.configure(user="")
    with Service(w) as s:
        s.wait("runs on as root")
        first_look(s)
        now = status(s.process.pid)
        assert now["Uid"].split()[0] == "0"
        assert int(now["CapEff"], 16) == 0
        assert now["NoNewPrivs"] == "1"
        one.close()
        s.shows("www", two)
        assert s.stop() == 0
    assert len(s.err) == 1


def test_the_user_dnsfailover_is_the_default(fast):
    """Where there is one: here in the service's own view of /etc/passwd."""
    w, one, two = fast()
    w.configure(user="")
    users = w.dir / "passwd"
    users.write_text(pathlib.Path("/etc/passwd").read_text()
                     + "dnsfailover:x:64999:64999::/:/usr/sbin/nologin\n")
    users.chmod(0o644)
    view = ["unshare", "--mount", "sh", "-c",
            f'mount --bind {users} /etc/passwd && exec "$@"', "sh"]
    if subprocess.run([*view, "true"], capture_output=True).returncode:
        pytest.skip("no mount namespaces here")
    with Service(w, wrap=view) as s:
        first_look(s)
        assert status(s.process.pid)["Uid"].split() == ["64999"] * 4
        assert whose(w.state)[0] == 64999
        assert s.stop() == 0
    assert s.err == []


def test_somebody_else_starts_it(fast, agent):
    """Who is not root has little to give up; the rest holds all the same."""
    w, one, two = fast()
    w.configure(user="")
    for path in (w.dir, *w.dir.rglob("*")):
        os.chown(path, 65534, 65534)
    agent_of_all = agent._for_others()
    before, agent.path = agent.path, agent_of_all
    try:
        with Service(w, wrap=["setpriv", "--reuid=65534", "--regid=65534",
                              "--clear-groups"]) as s:
            first_look(s)
            now = status(s.process.pid)
            assert now["NoNewPrivs"] == "1"
            if not sanitized(s):
                assert now["Seccomp"] == "2"
            assert status(helper_of(s))["Uid"].split()[0] == "65534"
            one.close()
            s.shows("www", two)
            assert s.stop() == 0
    finally:
        agent.path = before
    assert s.err == []


@pytest.mark.parametrize("user, said", [
    ("no-such-user", "there is no such user"), ("root", "is root"),
])
def test_a_user_that_cannot_be(fast, user, said):
    w, one, two = fast()
    w.configure(user=user)
    got = w.run("run")
    assert got.returncode == 2
    assert said in got.stderr


# -- the state's directory -----


def test_a_directory_with_other_files_is_not_given_away(fast):
    w, one, two = fast()
    w.state.parent.mkdir()
    (w.state.parent / "diary").write_text("mine")
    got = w.run("run")
    assert got.returncode == 2
    assert "holds other files too: diary" in got.stderr
    assert f"chown nobody {w.state.parent}" in got.stderr
    assert whose(w.state.parent)[0] == 0


def test_a_second_name_of_somebody_elses_file_is_not_given_away(fast):
    w, one, two = fast()
    w.state.parent.mkdir()
    secret = w.dir / "secret"
    secret.write_text("x")
    os.link(secret, w.state)
    os.chown(w.state.parent, 65534, 65534)
    got = w.run("run")
    assert got.returncode == 2
    assert "is no file of its own" in got.stderr
    assert whose(secret)[0] == 0


def test_a_directory_out_of_reach_is_named(fast):
    w, one, two = fast()
    (w.dir / "closed").mkdir(mode=0o700)
    w.state = w.dir / "closed" / "state" / "state.db"
    w.configure()
    got = w.run("run")
    assert got.returncode == 2
    assert f"user nobody cannot enter {w.dir / 'closed'};" in got.stderr


# -- what the helper does -----


def script(path, text):
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o700)
    return path


def test_commands_and_the_hook_are_the_helpers(fast):
    """Check, reload and notify run with its rights."""
    w, one, two = fast()
    log = w.dir / "log"
    check = script(w.dir / "check", f'echo check $(id -u) "$@" >>{log}\n')
    reload = script(w.dir / "reload", f"echo reload $(id -u) $PWD >>{log}\n"
                    f"exec {reload_of(w)}\n")
    hook = script(w.dir / "hook", f"echo hook $(id -u) >>{log}\n"
                  f"cat >>{log}; echo >>{log}; env >{w.dir / 'env'}\n")
    w.configure(check=f"{check} {{zone}} {{file}}", reload=str(reload),
                notify=str(hook))
    with Service(w) as s:
        first_look(s)
        one.close()
        s.shows("www", two)
        s.until("the hook", lambda: log.exists() and
                '"event":"withdrawn"' in log.read_text().replace('": "', '":"'))
        assert s.stop() == 0
    text = log.read_text()
    ns = re.escape(str(w.file.parent))
    assert re.search(rf"^check 0 example\.org {ns}/\.\S+\.dnsfailover\.\w+$",
                     text, re.M), text
    assert re.search(rf"^reload 0 {ns}$", text, re.M), text
    assert re.search(r"^hook 0$", text, re.M), text
    assert "NOTIFY_SOCKET" not in (w.dir / "env").read_text()
    assert not list(w.file.parent.glob(".*dnsfailover*"))


def test_a_check_that_fails_leaves_nothing(fast):
    w, one, two = fast()
    w.configure(check="false {zone} {file}")
    with Service(w) as s:
        first_look(s)
        before = w.files()
        one.close()
        s.wait("the check of the edited file failed")
        assert w.files() == before
        assert not list(w.file.parent.glob(".*dnsfailover*"))
        assert s.stop() == 0


def test_a_reload_that_fails_puts_the_old_file_back(fast):
    w, one, two = fast()
    w.configure(reload="false")
    with Service(w) as s:
        first_look(s)
        text = w.file.read_bytes()
        one.close()
        s.wait("the old file was put back")
        assert w.file.read_bytes() == text
        assert s.stop() == 0


def test_a_zone_with_includes(fast):
    w, one, two = fast()
    private = w.dir / "ns" / "more"
    private.write_text("other IN A 192.0.2.9\n")
    w.edit(lambda t: t + f"$INCLUDE {private}\n")
    private.chmod(0o600)
    with Service(w) as s:
        first_look(s)
        one.close()
        s.shows("www", two)
        assert f"$INCLUDE {private}" in w.file.read_text()
        assert s.stop() == 0
    assert s.err == []


def test_a_check_command_runs_with_the_helpers_rights(fast, target):
    w, one, two = fast()
    log = w.dir / "plugin"
    plugin = script(w.dir / "check_it", f'echo "$(id -u)" "$@" >>{log}\n')
    w.configure(section='}\ncommand probe {\n'
                f'  exec = "{plugin} -H {{target}}"\n'
                '  zones = {"example.org"}')
    w.spec("www", spec(*({"data": a, "check": "command:probe"}
                         for a in (one.addr, two.addr)), defaults=FAST))
    with Service(w) as s:
        s.until("the plugin", lambda: log.exists() and
                "0 -H 127.0.0.2" in log.read_text())
        plugin.write_text("#!/bin/sh\n[ $2 != 127.0.0.2 ] || exit 2\n")
        s.shows("www", two)
        assert s.stop() == 0


def test_an_echo_works_without_rights(fast):
    w, one, two = fast()
    w.spec("www", spec({"data": one.addr, "check": "icmp"},
                       {"data": two.addr, "check": f"tcp:{two.port}"},
                       defaults=FAST))
    with Service(w) as s:
        first_look(s)
        assert int(status(s.process.pid)["CapEff"], 16) == 0
        _, whole = w.status()
        assert [r["health"] for r in whole["records"]] == ["up", "up"]
        assert s.stop() == 0
    assert s.err == []


# -- the configuration that only root reads -----


def test_hangup_reads_what_only_root_can(fast, target):
    w, one, two = fast()
    w.config.chmod(0o600)
    with Service(w) as s:
        first_look(s)
        w.configure(mode="observe")
        w.config.chmod(0o600)
        s.hangup()
        one.close()
        s.wait("becomes unavailable")
        w.configure(mode="enforce", user="daemon")
        w.config.chmod(0o600)
        s.hangup()
        s.shows("www", two)
        s.wait("user stays as it is until")
        assert s.err == []
        w.config.unlink()
        s.hangup()
        s.wait(f"{w.config}: No such file")
        w.configure()
        s.hangup()
        one.open()
        s.shows("www", one, two)
        assert s.stop() == 0


def test_many_hangups(fast):
    """Old readings go; the newest one serves."""
    w, one, two = fast()
    with Service(w) as s:
        first_look(s)
        for _ in range(20):
            s.hangup()
        one.close()
        s.shows("www", two)
        assert s.stop() == 0
    assert s.err == []


# -- ends -----


def test_a_helper_that_ends_ends_the_service(fast):
    w, one, two = fast()
    with Service(w) as s:
        first_look(s)
        os.kill(helper_of(s), signal.SIGKILL)
        assert s.stop(0) == 1
    assert any("helper process was ended by signal 9" in x for x in s.err)
    assert s.notified("STOPPING=1") == 1


def gone(pid):
    """Ended; whoever adopts it may leave it as a zombie."""
    try:
        return status(pid)["State"].startswith("Z")
    except (FileNotFoundError, ProcessLookupError):
        return True


def test_a_service_that_is_killed_leaves_nobody(fast):
    """Neither the helper nor the command it runs, nor a staged file."""
    w, one, two = fast()
    began = w.dir / "began"
    check = script(w.dir / "check", f"echo $$ >{began}\nsleep 600\n")
    w.configure(check=f"{check} {{zone}} {{file}}")
    with Service(w) as s:
        first_look(s)
        helper = helper_of(s)
        one.close()
        s.until("the check", lambda: began.exists() and began.read_text())
        command = int(began.read_text())
        assert len(list(w.file.parent.glob(".*dnsfailover*"))) == 1
        s.process.kill()
        s.process.wait(10)
        net.wait_until("the helper's end", lambda: gone(helper))
        net.wait_until("the command's end", lambda: gone(command))
        assert not list(w.file.parent.glob(".*dnsfailover*"))


def test_an_interrupt_of_the_whole_group_is_a_clean_end(fast):
    w, one, two = fast()
    with Service(w, wrap=["setsid"]) as s:
        first_look(s)
        os.killpg(s.process.pid, signal.SIGINT)
        assert s.stop(0) == 0
    assert s.err == []


# -- a provider that is reached over the network -----


def test_secrets_and_certificates_come_from_the_helper(machine, agent,  # noqa
                                                       short_dir):
    """The password and the issuer's certificate lie where only root looks;
    the panel's name is looked up in a thread."""
    private = short_dir / "private"
    private.mkdir(mode=0o700)
    ca = private / "ca.pem"
    ca.write_text(pathlib.Path(machine.isp.ca_file).read_text())
    with Scene(machine, agent, short_dir) as w:
        a, b = w.pair(text=lambda t: json.dumps(
            {"rows": json.loads(t), "defaults": FAST}))
        w.serve()
        w.configure(trust=f'  ca-file = "{ca}"',
                    url=w.isp.url.replace("127.0.0.1", "localhost"))
        with Service(w) as s:
            s.until("first look", lambda: len(known(w)) == 2)
            a.close()
            s.until("the panel", lambda: w.active() == "NY")
            assert tuple(status(s.process.pid)["Uid"].split()) == NOBODY
            assert s.err == []
            assert s.stop() == 0
