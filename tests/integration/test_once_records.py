"""once --provider … --zone …, from the environment and the command line: the
way of working of the small tools, with a real name server."""

import contextlib
import http.server
import json
import os
import socket
import threading

import pytest

from world import ZONE, build, rows  # noqa: F401

WWW = f"www.{ZONE}."


class Web:
    """HTTP servers at several addresses and one port; each answers what
    `status` says, None: nobody listens."""

    def __init__(self, *addrs):
        self.addrs = addrs
        self.status = {a: 200 for a in addrs}
        self.seen = []  # (address, path, Host)
        self._stack = contextlib.ExitStack()
        self._servers = {}

    def __enter__(self):
        for _ in range(50):
            with contextlib.suppress(OSError):
                self._open_all()
                return self
            self._close_all()
        raise OSError("no port that is free at every address")

    def __exit__(self, *_):
        self._close_all()

    def _open_all(self):
        self.port = 0
        for addr in self.addrs:
            self.open(addr)

    def _close_all(self):
        for addr in list(self._servers):
            self.close(addr)

    def open(self, addr, status=200):
        web = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                web.seen.append((addr, self.path, self.headers["Host"]))
                self.send_response(web.status[addr])
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            address_family = (socket.AF_INET6 if ":" in addr
                              else socket.AF_INET)

        server = Server((addr, self.port), Handler)
        self.port = server.server_address[1]
        self.status[addr] = status
        thread = threading.Thread(target=server.serve_forever,
                                  kwargs={"poll_interval": 0.01})
        thread.start()
        self._servers[addr] = (server, thread)

    def close(self, addr):
        server, thread = self._servers.pop(addr)
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def web():
    with contextlib.ExitStack() as stack:
        yield lambda *a: stack.enter_context(Web(*a))


class Small:
    """The program with no configuration file, for the zone of a World."""

    def __init__(self, w, web, directory):
        self.w = w
        self.web = web
        self.env = {
            "STATE_DIRECTORY": str(directory / "small"),
            "ZONEFILE_FILE": str(w.dir / "ns" / "{zone}.zone"),
            "ZONEFILE_RELOAD": w.ns.reload_command,
        }

    def __call__(self, *arguments, command="once", **env):
        return self.w.agent(command, "--provider", "zonefile", "--servers",
                            self.w.ns.server, *arguments,
                            env={**self.env, **env})

    def www(self, *arguments, **how):
        """The record of the tests, kept by the command line."""
        return self("--zone", ZONE, "--record", "www", "--targets",
                    ",".join(self.web.addrs), "--check",
                    f"http:{self.web.port}/", "--timeout", "2s", *arguments,
                    **how)


@pytest.fixture
def small(build, web, short_dir):
    w = build(records="other 60 IN A 192.0.2.77")
    return Small(w, web("127.0.0.2", "127.0.0.3"), short_dir)


def values(w, *name):
    found = w.values(*name)
    assert len(found) == len(set(found))
    return set(found)


def done(got, *parts):
    assert got.returncode == 0, got.stdout + got.stderr
    for part in parts:
        assert part in got.stdout, got.stdout + got.stderr


# -- what those tools do -----


def test_life(small):
    """Created when missing, removed when dead, put back when alive."""
    done(small.www(), f"{WWW} A 127.0.0.2 published",
         f"{WWW} A 127.0.0.3 published",
         f"check 127.0.0.2 http:{small.web.port} ok: up",
         "shown by 1 of 1 authoritative servers")
    assert values(small.w, "www") == {"127.0.0.2", "127.0.0.3"}
    answer = small.w.ns.query(WWW, "A").answer[0]
    assert answer.ttl == 600
    # As -v, when nothing changes, too; and nothing is written then.
    before = small.w.files()
    done(small.www(), f"{WWW} A found: 127.0.0.2 127.0.0.3; wanted: "
                      "127.0.0.2 127.0.0.3")
    assert small.w.files() == before
    # 200 alone is alive.
    small.web.status["127.0.0.3"] = 204
    done(small.www(), f"{WWW} (127.0.0.3) becomes unavailable",
         f"{WWW} A 127.0.0.3 withdrawn")
    assert values(small.w, "www") == {"127.0.0.2"}
    small.web.status["127.0.0.3"] = 200
    done(small.www(), f"{WWW} A 127.0.0.3 published")
    assert values(small.w, "www") == {"127.0.0.2", "127.0.0.3"}
    assert values(small.w, "other") == {"192.0.2.77"}
    assert {h for _, _, h in small.web.seen} == {
        f"www.{ZONE}:{small.web.port}"}


def test_all_dead(small):
    """The record is removed; the outcome says so and is no failure."""
    done(small.www())
    for addr in small.web.addrs:
        small.web.close(addr)
    got = small.www()
    done(got, f"all dead: {WWW} A: all records are down: none published")
    assert values(small.w, "www") == set()
    done(small.www(), "all dead: ")
    small.web.open("127.0.0.2")
    done(small.www(), f"{WWW} A 127.0.0.2 published")
    assert values(small.w, "www") == {"127.0.0.2"}


def test_backup(small):
    """Published when all are dead, from the first run on; and taken back."""
    small.web.status = dict.fromkeys(small.web.addrs, 503)
    done(small.www("--backup", "192.0.2.3"), "all dead: ",
         f"{WWW} A 192.0.2.3 published")
    assert values(small.w, "www") == {"192.0.2.3"}
    small.web.status["127.0.0.2"] = 200
    done(small.www("--backup", "192.0.2.3"), f"{WWW} A 192.0.2.3 withdrawn")
    assert values(small.w, "www") == {"127.0.0.2"}


def test_all_dead_at_first_sight(build, web, short_dir):
    """What stood there before and is dead goes at the first run, too: such a
    run may have no memory."""
    w = build(records="www 60 IN A 127.0.0.2\nwww 60 IN A 127.0.0.3\n"
                      "www 60 IN A 192.0.2.88")
    s = Small(w, web("127.0.0.2", "127.0.0.3"), short_dir)
    s.web.status = dict.fromkeys(s.web.addrs, 500)
    done(s.www(), "all dead: ")
    assert values(w, "www") == {"192.0.2.88"}  # nobody's but its owner's


def test_all_down_keep(small):
    done(small.www("--all-down", "keep"))
    for addr in small.web.addrs:
        small.web.close(addr)
    done(small.www("--all-down", "keep"), "all dead: ")
    assert values(small.w, "www") == set(small.web.addrs)


def test_many_die_at_once(build, web, short_dir):
    """maxChange does not hold what the command line says."""
    addrs = [f"127.0.0.{n}" for n in range(2, 9)]
    w = build(records="\n".join(f"www 60 IN A {a}" for a in addrs))
    s = Small(w, web(*addrs), short_dir)
    done(s.www())
    for addr in addrs[1:]:
        s.web.close(addr)
    done(s.www())
    assert values(w, "www") == {addrs[0]}


def test_environment_alone(build, web, short_dir):
    """Not one option but the provider: the names that those tools read. Port
    80 is theirs; here it is put into the host's check."""
    w = build(records="www 60 IN A 127.0.0.4")
    s = Small(w, web("127.0.0.2", "::1"), short_dir)
    env = {"DNS_TARGET_DOMAIN": ZONE, "DNS_TARGET_RR": "www",
           "DNS_TARGET_HOSTS": "127.0.0.2, ::1",
           "DNS_BACKUP_HOSTS": "192.0.2.3"}
    check = ("--check", f"http:{s.web.port}/", "--timeout", "2s")
    done(s(*check, **env))
    assert values(w, "www") == {"127.0.0.2", "127.0.0.4"}
    assert values(w, "www", "AAAA") == {"::1"}
    # Nobody listens at port 80 of these.
    got = s("--timeout", "1s", **env)
    done(got, "all dead: www.example.org. A: all records are down: "
              "fallbackRecords", "127.0.0.2 http:80 refused: down")
    assert values(w, "www") == {"192.0.2.3", "127.0.0.4"}
    assert values(w, "www", "AAAA") == set()


def test_plan(small):
    got = small.www(command="plan")
    done(got, f"{WWW} A 127.0.0.2 would be published")
    assert small.www("--exit-code", command="plan").returncode == 3
    assert values(small.w, "www") == set()
    assert not os.path.exists(small.env["STATE_DIRECTORY"])


def test_several_records(small):
    """Options before the first --record hold for all; each its own targets;
    "@" is the zone."""
    port = small.web.port
    got = small("--zone", ZONE, "--ttl", "60", "--check", f"tcp:{port}",
                "--record", "www", "--targets", "127.0.0.2",
                "--record", "@", "--targets", "127.0.0.3", "--ttl", "30",
                "--record", f"api.{ZONE}", "--targets", "127.0.0.2 127.0.0.3",
                "--check", json.dumps({"type": "http", "port": port,
                                       "path": "/api", "status": "404"}))
    done(got)
    assert values(small.w, "www") == {"127.0.0.2"}
    assert values(small.w, "@") == {"127.0.0.3"}
    assert small.w.ns.query(f"{ZONE}.", "A").answer[0].ttl == 30
    assert values(small.w, "api") == set()  # 200 is not 404
    assert {p for _, p, _ in small.web.seen} == {"/api"}


def test_json(small):
    lines = [json.loads(x) for x in small.www("--json").stdout.splitlines()]
    assert {"published", "detail", "visible"} <= {x["event"] for x in lines}


def test_lines_of_a_crontab(small):
    """Each line has its own state: none forgets the other's."""
    port = small.web.port
    lines = [("--zone", ZONE, "--record", name, "--targets", "127.0.0.2",
              "--check", f"tcp:{port}") for name in ("a", "b")]
    for line in lines + lines:
        got = small(*line)
        done(got)
        assert "no longer" not in got.stdout
    assert values(small.w, "a") == values(small.w, "b") == {"127.0.0.2"}
    assert len(list(os.scandir(small.env["STATE_DIRECTORY"]))) >= 2


# -- specs in DNS, with the provider from the environment -----


def test_specs_of_the_zone(build, web, short_dir):
    w = build(records="www 60 IN A 127.0.0.2\nwww 60 IN A 127.0.0.3")
    s = Small(w, web("127.0.0.2"), short_dir)
    port = s.web.port
    w.spec("www", rows((WWW, "127.0.0.2", port), (WWW, "127.0.0.3", port)))
    got = s("--zone", ZONE, "-v")
    # The text is DNS's: the limits for such texts hold.
    assert "127.0.0.2 is loopback" in got.stderr, got.stdout + got.stderr
    assert values(w, "www") == {"127.0.0.2", "127.0.0.3"}


# -- beside a file -----


def test_with_a_file(small):
    """A section of the file gives the provider, or the zone's does."""
    w = small.w
    w.configure()
    row = ("--record", "www", "--targets", "127.0.0.2", "--check",
           f"tcp:{small.web.port}", "--zone", ZONE)
    got = w.run("once", *row)
    done(got, f"{WWW} A 127.0.0.2 published")
    assert not w.state.exists()
    done(w.run("plan", "--provider", "files", "--servers", w.ns.server, *row))
    assert values(w, "www") == {"127.0.0.2"}


def test_without_state(small):
    """An ordinary user keeps it below HOME."""
    if os.geteuid() != 0:
        pytest.skip("only root can run it as somebody else")
    home = small.w.dir / "home"
    home.mkdir()
    os.chmod(home, 0o777)
    for path in (small.w.dir, small.w.dir.parent):
        os.chmod(path, 0o755)
    del small.env["STATE_DIRECTORY"]
    got = small.w.agent(
        "once", "--provider", "zonefile", "--servers", small.w.ns.server,
        "--zone", ZONE, "--record", "www", "--targets", "127.0.0.2",
        "--check", f"tcp:{small.web.port}",
        env={**small.env, "HOME": str(home), "XDG_STATE_HOME": "",
             "STATE_DIRECTORY": ""},
        user="nobody")
    assert (home / ".local/state/dnsfailover").is_dir(), got.stderr


def test_names_of_files(small):
    """Names that are no names of files have a state, too."""
    row = ("--targets", "127.0.0.2", "--check", f"tcp:{small.web.port}",
           "--zone", ZONE)
    for name in (".".join(["x" * 60] * 3), "*"):
        done(small("--record", name, *row), "published")
        assert "becomes" not in small("--record", name, *row).stdout
    found = [x.name for x in os.scandir(small.env["STATE_DIRECTORY"])
             if x.name.endswith(".db")]
    assert len(found) == 2 and "once-zonefile-record-_.example.org.db" in (
        found), found


# -- what is refused -----


@pytest.mark.parametrize("arguments, env, part", [
    (["--record", "www", "--targets", "192.0.2.1"], {}, "which zone?"),
    (["--zone", ZONE, "--record", "www"], {},
     "--record www has no --targets (DNS_TARGET_HOSTS in the environment)"),
    (["--zone", ZONE, "--targets", "192.0.2.1"], {}, "which record?"),
    (["--zone", ZONE, "--record", "www", "--targets", "192.0.2.1.1"], {},
     "command line: --targets: "),
    (["--zone", ZONE, "--record", "www", "--targets", "192.0.2.1",
      "--check", "htp:80/"], {}, "command line: --check: "),
    (["--zone", ZONE, "--record", "www", "--targets", "192.0.2.1",
      "--check", "{"], {}, "--check: is not JSON"),
    (["--zone", ZONE, "--record", "www", "--targets", "192.0.2.1",
      "--ttl", "soon"], {}, "command line: --ttl: "),
    (["--zone", ZONE, "--record", "www", "--targets", "192.0.2.1",
      "--timeout", "soon"], {}, "command line: --timeout: "),
    (["--zone", ZONE, "--record", "www", "--targets", "192.0.2.1",
      "--all-down", "some"], {}, "command line: --all-down: "),
    (["--zone", ZONE, "--record", "www", "--targets", "192.0.2.1",
      "--backup", "x..y"], {}, "command line: --backup: "),
    (["--zone", ZONE, "--record", "www.example.net.", "--targets",
      "192.0.2.1"], {}, "--record www.example.net. is not in zone"),
    (["--zone", ZONE, "--targets", "192.0.2.1", "--record", "www",
      "--record", f"www.{ZONE}."], {}, "is given twice"),
    (["--zone", ZONE], {"DNS_TARGET_RR": "www", "DNS_TARGET_HOSTS": "x..y"},
     "environment: --targets: "),
    (["--zone", ZONE, "--servers", "x"], {}, "--servers: "),
    (["--zone", ZONE], {"ZONEFILE_TIMEOUT": "x"}, "timeout"),
    (["--zone", ZONE], {"ZONEFILE_FILE": ""},
     "environment: provider zonefile: file is missing"),
])
def test_refused(small, arguments, env, part):
    got = small(*arguments, **env)
    assert got.returncode in (1, 2) and part in got.stderr, got.stderr
    if "TIMEOUT" not in str(env):
        assert got.returncode == 2 and got.stdout == ""


def test_no_provider(agent):
    got = agent("once", "--provider", "nobody", "--zone", ZONE)
    assert got.returncode == 2
    assert "--provider nobody; accepted: " in got.stderr
    got = agent("once", "--zone", ZONE)
    assert got.returncode == 2
    assert "go with --provider or --record" in got.stderr


def test_missing_zone(small):
    """Exit 1, each time."""
    for _ in range(2):
        got = small("--zone", "example.net", "--record", "www", "--targets",
                    "127.0.0.2", "--check", f"tcp:{small.web.port}")
        assert got.returncode == 1, got.stdout + got.stderr
