"""The house keeps its own rules: lint, the test script, setup, install."""

import os
import re
import shutil
import subprocess
import textwrap

import pytest

ROOMS = ["agent", "resolver", "providers", "specs"]


def run(*command, cwd, env=None, timeout_s=120):
    environment = {
        k: v for k, v in os.environ.items()
        if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "BUILD", "MODE")
    }
    environment.update(env or {})
    return subprocess.run(
        [str(c) for c in command], cwd=cwd, env=environment, text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, timeout=timeout_s,
    )


@pytest.fixture
def copy(root, tmp_path):
    """A copy of the rooms and of the scripts, to plant mistakes in."""
    for room in ROOMS + ["contrib"]:
        shutil.copytree(root / room, tmp_path / room)
    shutil.copy(root / "Makefile", tmp_path)
    return tmp_path


def plant(path, *lines):
    """Appends lines; returns the number of the first."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = path.read_text() if path.exists() else ""
    path.write_text(text + "\n".join(lines) + "\n")
    return text.count("\n") + 1


def lint(copy, which):
    """Through make, as a person calls it."""
    return run("make", f"lint-{which}", cwd=copy)


# -- the include arrows ----------------------------------------------------


def test_arrows_hold(root):
    got = run("sh", "contrib/lint/arrows.sh", cwd=root)
    assert (got.returncode, got.stdout) == (0, "")


@pytest.mark.parametrize(
    "file, line",
    [
        ("specs/planted.c", '#include "resolver/resolver.h"'),
        ("specs/planted.h", '#  include "providers/provider.h"'),
        ("specs/planted.c", '#include "agent/engine/decide/plan.h"'),
        ("resolver/planted.c", '#include "specs/spec.h"'),
        ("resolver/planted.c", '#include "providers/rrset.h"'),
        ("providers/planted.c", '#include "resolver/resolver.h"'),
        ("providers/planted.c", '#include "specs/spec.h"'),
        ("providers/planted.c", '#include "agent/probes/probe.h"'),
        ("providers/planted.c", '#include "providers/route53/route53.h"'),
        # The rooms in it: as it, and none reaches another's.
        ("providers/rest/planted.c", '#include "resolver/resolver.h"'),
        ("providers/rest/planted.h", '#include "agent/engine/decide/plan.h"'),
        ("providers/rest/planted.c", '#include "providers/hook/hook.h"'),
        ("providers/hook/planted.c", '#include "providers/rest/rest.h"'),
        ("providers/shared/planted.c", '#include "providers/rest/rest.h"'),
        ("providers/shared/planted.c", '#include "resolver/message.h"'),
        ("providers/rfc2136/planted.c",
         '#include "providers/zonefile/masterfile.h"'),
        ("providers/new/planted.c", '#include "specs/spec.h"'),
        ("providers/new/planted.c", '#include "providers/rest/rest.h"'),
        ("providers/new/deep/planted.c", '#include "../new.h"'),
        ("agent/base/planted.c", '#include "specs/spec.h"'),
        ("agent/base/planted.c", '#include "agent/probes/probe.h"'),
        ("agent/probes/planted.c", '#include "resolver/message.h"'),
        # The engine's rooms: deciding is pure, the service is at the top.
        ("agent/engine/decide/planted.c", '#include "agent/base/clock.h"'),
        ("agent/engine/decide/planted.c", '#include "agent/base/loop.h"'),
        ("agent/engine/decide/planted.c",
         '#include "agent/engine/state/state.h"'),
        ("agent/engine/state/planted.c",
         '#include "agent/engine/world/world.h"'),
        ("agent/engine/state/planted.c", '#include "resolver/resolver.h"'),
        ("agent/engine/checks/planted.c",
         '#include "agent/engine/world/world.h"'),
        ("agent/engine/world/planted.c",
         '#include "agent/engine/round/round.h"'),
        ("agent/engine/round/planted.c",
         '#include "agent/engine/service/service.h"'),
        ("agent/engine/sim/planted.c",
         '#include "agent/engine/service/service.h"'),
        ("agent/engine/helper/planted.c",
         '#include "agent/engine/round/round.h"'),
        ("agent/engine/planted.c", '#include "agent/base/err.h"'),
        ("agent/engine/round/planted.c", '#include "agent/cli/cli.h"'),
        ("agent/engine/round/planted.c", '#include "agent/report/report.h"'),
        ("agent/report/planted.c",
         '#include "agent/engine/round/round_internal.h"'),
        ("agent/report/planted.c", '#include "providers/provider.h"'),
        ("agent/report/planted.c", '#include "agent/cli/cli.h"'),
        # Round the back: a relative path, angle brackets, a macro.
        ("specs/planted.c", '#include "../resolver/resolver.h"'),
        ("specs/planted.c", "#include <resolver/resolver.h>"),
        ("specs/planted.c", "#include RESOLVER_HEADER"),
    ],
)
def test_a_planted_include_is_found(copy, file, line):
    at = plant(copy / file, "/* planted */", line) + 1
    got = lint(copy, "arrows")
    assert got.returncode != 0
    assert f"{file}:{at}: " in got.stdout


def test_allowed_includes_pass(copy):
    plant(copy / "providers/planted.c", '#include "resolver/message.h"',
          '#include "agent/base/err.h"', "#include <curl/curl.h>",
          '#include "providers/rest/rest.h"')
    plant(copy / "providers/hook/planted.c",
          '#include "providers/rest/rest_json.h"')
    # A new provider's folder needs no line in the table.
    plant(copy / "providers/new/planted.c", '#include "providers/new/new.h"',
          '#include "providers/provider.h"', '#include "resolver/tsig.h"',
          '#include "providers/shared/serial.h"')
    plant(copy / "agent/cli/planted.c", '#include "agent/report/x.h"',
          '#include "specs/spec.h"')
    assert lint(copy, "arrows").returncode == 0


# -- banned functions, sizes, globals, headers -------------------------------


@pytest.mark.parametrize(
    "file, line, name",
    [
        ("agent/engine/round/planted.c", "    strcpy(a, b);", "strcpy"),
        ("agent/base/planted.c", "    x = atoi (text);", "atoi"),
        ("agent/base/planted.c", "    signal(SIGTERM, f);", "signal"),
        ("agent/cli/planted.c", "    return system(text);", "system"),
        ("specs/planted.c", "#include <ctype.h>", "<ctype.h>"),
        ("resolver/planted.c", "    if (isdigit(*p))", "isdigit"),
        ("providers/planted.c", "    ttl = strtod(p, &end);", "strtod"),
    ],
)
def test_a_banned_function_is_found(copy, file, line, name):
    at = plant(copy / file, "", line) + 1
    got = lint(copy, "banned")
    assert got.returncode != 0
    assert f"{file}:{at}: {name} " in got.stdout


def test_words_that_only_look_banned_pass(copy):
    plant(
        copy / "specs/planted.c",
        "/* never strcpy(a, b) here,",
        "   nor gets(p) */",
        'const char *text = "strtok(\\"x\\", y)"; // atoi(z)',
        "    ops->select(loop); my_rand(3); o.signal(4);",
    )
    got = lint(copy, "banned")
    assert (got.returncode, "planted" in got.stdout) == (0, False)


def test_sizes(copy):
    body = ["    x++;"] * 71
    plant(copy / "specs/planted.c", "static int long_one(int x)", "{", *body,
          "}", "static int fits(int x)", "{", *body[:70], "}")
    plant(copy / "specs/long.c", *["/* line */"] * 601)
    got = lint(copy, "size")
    assert got.returncode != 0
    assert "specs/planted.c:2: long_one has 71 lines; at most 70" in got.stdout
    assert "specs/long.c:601: 601 lines; at most 600" in got.stdout
    assert "fits" not in got.stdout


def test_mutable_globals(root, tmp_path):
    source = tmp_path / "obj" / "planted.c"
    plant(
        source,
        "int counter;",
        "static const char *const table[] = {\"a\", \"b\"};",
        "static const char *moving[] = {\"c\", \"d\"};",
        "int next(void);",
        "int next(void)",
        "{",
        "    static int calls;",
        "    moving[calls++ & 1] = table[counter & 1];",
        "    return moving[0] == table[1];",
        "}",
    )
    for name in ("planted", "fine"):
        if name == "fine":
            source.write_text(
                "const int n = 3;\nextern const char *const t[];\n"
                'const char *const t[] = {"a", "b"};\n'
            )
        made = run("gcc", "-fPIE", "-c", source, "-o", source.with_suffix(".o"),
                   cwd=tmp_path)
        assert made.returncode == 0, made.stdout
        got = run("sh", root / "contrib/lint/globals.sh",
                  source.with_suffix(".o"), cwd=tmp_path)
        if name == "fine":
            assert (got.returncode, got.stdout) == (0, "")
            continue
        assert got.returncode == 1
        for variable in ("counter", "moving", "calls"):
            assert f"planted.c: {variable}" in got.stdout
        assert "table is" not in got.stdout


def test_headers_alone(copy):
    plant(copy / "specs/planted.h", "size_t planted(void);")
    got = lint(copy, "headers")
    assert got.returncode != 0
    assert "specs/planted.h:1: does not compile alone" in got.stdout


# -- the test script ---------------------------------------------------------

PROGRAM = """\
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

static void passes(void **state) {{ (void)state; }}
static void skips(void **state) {{ (void)state; skip(); }}
static void special(void **state) {{ (void)state; {special} }}

int main(void)
{{
    const struct CMUnitTest tests[] = {{
        cmocka_unit_test(passes),
        cmocka_unit_test(skips),
        cmocka_unit_test(special),
    }};
    (void)passes, (void)skips, (void)special, (void)tests;
    {main}
}}
"""

RUN = "return cmocka_run_group_tests(tests, NULL, NULL);"


@pytest.fixture
def small(root, tmp_path):
    """A house with nothing in it but the test script and its tests."""
    for d in ("agent/cli", "tests/unit", "tests/fuzz", "tests/integration"):
        (tmp_path / d).mkdir(parents=True)
    shutil.copytree(root / "contrib", tmp_path / "contrib")
    shutil.copy(root / "Makefile", tmp_path)
    plant(tmp_path / "agent/cli/main.c", "int main(void)", "{",
          "    return 0;", "}")
    plant(tmp_path / "agent/cli/room.c", "extern const int room;",
          "const int room = 1;")

    class Small:
        path = tmp_path

        def unit(self, name, special="", main=RUN):
            text = PROGRAM.format(special=special, main=main)
            plant(tmp_path / f"tests/unit/test_{name}.c", text)

        def run(self, *arguments, **env):
            return run("sh", "contrib/test.sh", *arguments, cwd=tmp_path,
                       env=dict(env, BUILD="build", UNIT_TIME_S="3"))

    return Small()


def last_line(got):
    return got.stdout.rstrip("\n").rsplit("\n", 1)[-1]


def test_counts_of_unit_tests(small):
    small.unit("good")
    got = small.run("unit")
    assert last_line(got) == "2 passed, 0 failed, 1 skipped", got.stdout
    assert got.returncode == 0


@pytest.mark.parametrize(
    "special, main, counts, why",
    [
        ("assert_int_equal(1, 2);", RUN, (1, 1, 1), "1 failed"),
        ("", "abort();", (0, 1, 0), "crashed (signal 6)"),
        ("_exit(0);", RUN, (1, 1, 1), "1 did not run"),
        ("for (;;) (void)pause();", RUN, (1, 1, 1),
         "1 did not run; did not end within 3 s"),
        ("", "return 0;", (0, 1, 0), "no test in it"),
        # What a sanitizer does after all tests passed.
        ("", "(void)cmocka_run_group_tests(tests, NULL, NULL); return 99;",
         (2, 1, 1), "ended with 99"),
        ("this is not C", RUN, (0, 2, 0), "not built"),
    ],
)
def test_a_bad_end_counts_as_failed(small, special, main, counts, why):
    small.unit("bad", special, main)
    small.unit("good")
    got = small.run("unit")
    passed, failed, skipped = counts
    assert last_line(got) == (
        f"{passed + 2} passed, {failed} failed, {skipped + 1} skipped"
    ), got.stdout
    assert got.returncode == 1
    assert "FAILED unit test_bad:" in got.stdout
    assert why in got.stdout


def test_nothing_passed_is_a_failure(small):
    got = small.run("unit")
    assert last_line(got) == "0 passed, 0 failed, 0 skipped"
    assert got.returncode == 1


def test_fuzz_corpora(small):
    plant(small.path / "tests/fuzz/fuzz_one.c", "int main(int n, char **a)",
          "{", "    return n != 3 || a[2][0] == 0;", "}")
    got = small.run("fuzz")
    assert "no files in tests/fuzz/corpus/one" in got.stdout
    for name in "ab":
        plant(small.path / f"tests/fuzz/corpus/one/{name}", name)
    got = small.run("fuzz")
    assert last_line(got) == "1 passed, 0 failed, 0 skipped", got.stdout


def test_counts_of_integration_tests_are_merged(small):
    small.unit("good")
    plant(
        small.path / "tests/integration/test_some.py",
        textwrap.dedent(
            """\
            import os, pytest
            def test_passes(): assert os.access(os.environ["DNSFAILOVER_BIN"], 1)
            def test_fails(): assert False
            def test_skips(): pytest.skip("for a reason")
            @pytest.fixture
            def broken(): raise RuntimeError("in the fixture")
            def test_error(broken): pass
            """
        ),
    )
    got = small.run()
    assert last_line(got) == "3 passed, 2 failed, 2 skipped", got.stdout
    assert got.returncode == 1
    got = small.run("integration", "-k", "passes")
    assert last_line(got) == "1 passed, 0 failed, 0 skipped", got.stdout
    assert got.returncode == 0
    plant(small.path / "tests/integration/test_dies.py",
          "import os", "os._exit(7)")
    got = small.run("integration")
    assert last_line(got) == "0 passed, 1 failed, 0 skipped", got.stdout
    assert "FAILED integration: pytest ended with 5" in got.stdout


# -- setup -------------------------------------------------------------------

STUBS = {
    "dpkg-query": """\
        for last; do :; done
        grep -qx "$last" "$STUB/installed" && printf installed
        exit 0""",
    "apt-get": """\
        echo "$@" >>"$STUB/calls"
        case " $* " in
        *" update "*) exit 0 ;;
        *" -s install "*) echo "Inst cmocka-thing (1)"; cat "$STUB/extra"
            exit 0 ;;
        esac
        cat /usr/sbin/policy-rc.d >"$STUB/policy" 2>&1
        [ ! -e "$STUB/slow" ] || { touch "$STUB/busy"; sleep 2; }
        for p; do echo "$p"; done >>"$STUB/installed"
        exit "$(cat "$STUB/status")" """,
    "apt-cache": """\
        for p; do
            echo "Package: $p"
            [ "$p" != exim-like ] || echo "Provides: mail-transport-agent"
        done""",
    "systemctl": 'echo "$@" >>"$STUB/systemctl"',
}


class Setup:
    """Runs contrib/setup.sh with stand-ins for the package tools, in a mount
    namespace in which /usr/sbin is ours."""

    def __init__(self, root, path):
        self.root = root
        self.path = path
        self.bin = path / "bin"
        self.sbin = path / "sbin"
        self.bin.mkdir()
        self.sbin.mkdir()
        for name, body in STUBS.items():
            stub = self.bin / name
            stub.write_text("#!/bin/sh\n" + textwrap.dedent(body) + "\n")
            stub.chmod(0o755)
        self.write("installed", "")
        self.write("extra", "")
        self.write("status", "0\n")

    def write(self, name, text):
        (self.path / name).write_text(text)

    def read(self, name):
        path = self.path / name
        return path.read_text() if path.exists() else ""

    def run(self, what):
        script = (
            f'mount --bind "{self.sbin}" /usr/sbin && '
            f'mount -t tmpfs none /run || exit 1; sh contrib/setup.sh {what}'
        )
        return run(
            shutil.which("unshare"), "-m", "sh", "-c", script, cwd=self.root,
            env={"STUB": str(self.path),
                 "PATH": f"{self.bin}:/usr/bin:/bin"},
        )


@pytest.fixture
def setup(root, tmp_path):
    probe = ["unshare", "-m", "sh", "-c", "mount -t tmpfs none /run"]
    if subprocess.run(probe, capture_output=True).returncode != 0:
        pytest.skip("needs root and a mount namespace")
    return Setup(root, tmp_path)


def test_setup_denies_starts_for_one_call(setup):
    got = setup.run("test")
    assert got.returncode == 0, got.stdout
    assert "exit 101" in setup.read("policy")
    assert list(setup.sbin.iterdir()) == []
    assert "setup: installing: gcc make " in got.stdout
    calls = setup.read("calls")
    assert "--no-install-recommends" in calls
    assert "--no-remove" in calls
    assert "DPkg::Lock::Timeout=300" in calls
    for unit in ("named", "nsd", "knot"):
        assert f"disable {unit}.service" in setup.read("systemctl")


def test_setup_with_all_there_is_silent(setup):
    assert setup.run("test").returncode == 0
    (setup.path / "calls").unlink()
    got = setup.run("test")
    assert (got.returncode, got.stdout, setup.read("calls")) == (0, "", "")


def test_setup_leaves_servers_that_were_there_alone(setup):
    setup.write("installed", "bind9\nnsd\n")
    got = setup.run("test")
    assert got.returncode == 0, got.stdout
    disabled = setup.read("systemctl").splitlines()
    assert "disable knot.service" in disabled
    assert not {"disable named.service", "disable nsd.service"} & set(disabled)
    assert " bind9 " not in got.stdout


def test_setup_keeps_a_policy_of_the_system(setup):
    policy = setup.sbin / "policy-rc.d"
    policy.write_text("#!/bin/sh\nexit 101 # the system's own\n")
    policy.chmod(0o755)
    got = setup.run("test")
    assert got.returncode == 0, got.stdout
    assert "the system's own" in setup.read("policy")
    assert "the system's own" in policy.read_text()
    setup.write("installed", "")
    policy.write_text("#!/bin/sh\nexit 0 # starts everything\n")
    (setup.path / "policy").unlink()
    got = setup.run("test")
    assert got.returncode == 1
    assert "would let named start" in got.stdout
    assert setup.read("policy") == ""
    assert "starts everything" in policy.read_text()


def test_setup_removes_the_policy_when_apt_fails(setup):
    setup.write("status", "100\n")
    got = setup.run("build")
    assert got.returncode == 1
    assert "apt-get install failed" in got.stdout
    assert list(setup.sbin.iterdir()) == []


def test_setup_that_is_ended_cleans_up(setup):
    setup.write("slow", "")
    got = setup.run(
        'test & p=$!; until [ -e "$STUB/busy" ]; do sleep 0.05; done; '
        "kill -TERM $p; wait $p"
    )
    assert got.returncode == 143, got.stdout
    assert list(setup.sbin.iterdir()) == []
    assert "disable named.service" in setup.read("systemctl")


def test_setup_brings_no_mail_server(setup):
    setup.write("extra", "Inst exim-like (4)\n")
    got = setup.run("build")
    assert got.returncode == 1
    assert "would bring a mail server (exim-like)" in got.stdout
    assert setup.read("policy") == ""


def test_setup_names_its_words(root):
    got = run("sh", "contrib/setup.sh", "nonsense", cwd=root)
    assert got.returncode == 1
    assert "'nonsense' is not known" in got.stdout


# -- the example configuration ------------------------------------------------

OPTION = re.compile(
    r'^( *)# (( *)[a-z0-9-]+ = .*|provider [a-z]+ \{|zone "[^"]+" \{|'
    r' *view "[^"]+" \{| *\})$', re.M
)


@pytest.mark.parametrize("commented", [True, False])
def test_the_example_is_accepted(root, agent, tmp_path, commented):
    """As it is, and with every option in it switched on. Zones are read last:
    when only the planted one is refused, all before it was accepted."""
    text = (root / "contrib/dnsfailover.conf.example").read_text()
    if not commented:
        text, n = OPTION.subn(r"\1\2", text)
        assert n > 15
    line = text.count("\n") + 2
    text += 'zone "planted.example" { provider = files\ndiscover = planted }\n'
    path = tmp_path / "dnsfailover.conf"
    path.write_text(text)
    path.chmod(0o600)
    got = agent("plan", config=path)
    assert got.returncode == 2, got.stderr
    assert f"dnsfailover.conf:{line}: " in got.stderr
    assert "planted" in got.stderr


# -- install -----------------------------------------------------------------


def test_install_honours_destdir_and_prefix(root, agent, tmp_path):
    build = tmp_path / "build"
    build.mkdir()
    shutil.copy(agent.path, build / "dnsfailover")
    got = run(
        "make", f"BUILD={build}", "-o", build / "dnsfailover", "install",
        f"DESTDIR={tmp_path / 'dest'}", "PREFIX=/opt/df", cwd=root,
    )
    assert got.returncode == 0, got.stdout
    base = tmp_path / "dest/opt/df"
    files = {
        str(p.relative_to(base)): p for p in base.rglob("*") if p.is_file()
    }
    for name, mode in {
        "sbin/dnsfailover": 0o755,
        "lib/systemd/system/dnsfailover.service": 0o644,
        "lib/systemd/system/dnsfailover.timer": 0o644,
        "share/doc/dnsfailover/cron.d/dnsfailover": 0o644,
        "share/doc/dnsfailover/dnsfailover.conf.example": 0o644,
        "share/doc/dnsfailover/hooks/hook_nsupdate.py": 0o755,
        "share/doc/dnsfailover/hooks/hookframe.py": 0o644,
        "share/man/man8/dnsfailover.8": 0o644,
        "share/man/man5/dnsfailover.conf.5": 0o644,
    }.items():
        assert name in files, sorted(files)
        assert files[name].stat().st_mode & 0o777 == mode
    unit = files["lib/systemd/system/dnsfailover.service"].read_text()
    assert "ExecStart=/opt/df/sbin/dnsfailover once" in unit
    assert {p.name for p in (tmp_path / "dest").iterdir()} == {"opt"}
    assert run(files["sbin/dnsfailover"], "--version",
               cwd=tmp_path).returncode == 0
