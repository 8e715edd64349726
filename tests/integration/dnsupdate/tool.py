"""The rfc2136 provider at a dynamic server, through a relay."""

import os
import shutil
import subprocess

from contract.backend import ZONE, Run, absolute

from . import relay
from .servers import DynamicPowerDns

TOOL_S = 100
AHEAD_C = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>
int clock_gettime(clockid_t id, struct timespec *t)
{
    int (*real)(clockid_t, struct timespec *) =
        (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT,
                                                     "clock_gettime");
    int rc = real(id, t);
    if (id == CLOCK_REALTIME)
        t->tv_sec += AHEAD_S;
    return rc;
}
"""


def clock_ahead(directory, seconds):
    """Environment variables under which a program's clock is ahead; None
    where there is no compiler."""
    cc = shutil.which("cc")
    if cc is None:
        return None
    library = directory / f"ahead{seconds}.so"
    if not library.exists():
        subprocess.run([cc, "-shared", "-fPIC", f"-DAHEAD_S=({seconds})", "-x",
                        "c", "-", "-o", str(library), "-ldl"],
                       input=AHEAD_C, text=True, check=True, timeout=60)
    return {"LD_PRELOAD": str(library),
            "ASAN_OPTIONS": "verify_asan_link_order=0"}


class Rfc2136:
    def __init__(self, server, tools):
        self.server = server
        self.tools = tools
        self.relay = relay.Relay(server)

    def __enter__(self):
        self.relay.__enter__()
        return self

    def __exit__(self, *_):
        self.relay.__exit__()

    @property
    def is_powerdns(self):
        return isinstance(self.server, DynamicPowerDns)

    def begin(self, records):
        """The zone holds exactly these; the relay is well and forgot all."""
        self.relay.heal()
        self.server.seed(records)
        self.relay.messages.clear()
        return self

    def begin_run(self, *arguments, env=None, **options):
        options = {"server": self.relay.server,
                   "key_file": self.server.key_file(), "timeout": "2s",
                   **options}
        command = [str(self.tools / "provider"), "rfc2136",
                   *[f"{k.replace('_', '-')}={v}" for k, v in options.items()],
                   "--", *map(str, arguments)]
        return subprocess.Popen(command, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                text=True, env=dict(os.environ, **(env or {})))

    def finish(self, process, before=""):
        """before: what was read of its output already."""
        out, err = process.communicate(timeout=TOOL_S)
        assert process.returncode in (0, 1), out + err
        assert "Sanitizer" not in err, err
        for _, secret in self.server.keys.values():
            assert secret not in out + err
        return Run(subprocess.CompletedProcess(
            process.args, process.returncode, before + out, err))

    def run(self, *arguments, **how):
        return self.finish(self.begin_run(*arguments, **how))

    def apply(self, *changes, **how):
        return self.run("create", ZONE, *sum(changes, []), **how)

    def records(self, *names):
        got = self.run("records", ZONE, *map(absolute, names))
        assert got.code == 0, got.answers
        return {(s["name"].rstrip("."), s["type"]):
                (s["ttl"], {v["data"]: v["enabled"] for v in s["values"]})
                for s in got["sets"]}

    def values(self, name, rdtype="A"):
        return sorted(r.data for r in self.server.records()
                      if (r.name, r.type) == (absolute(name).rstrip("."),
                                              rdtype))
