"""What the targets share: where the programs are, how they are run."""

import json
import os
import pathlib
import shutil
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent

BUILD = pathlib.Path(os.environ.get("BUILD", ROOT / "build"))
PROGRAM = BUILD / "dnsfailover"
ENGINE = BUILD / "tools" / "probe"
BARE = BUILD / "bench" / "probe"
SINK = BUILD / "bench" / "sink"
DECIDE = BUILD / "tools" / "decide_bench"

PORT = 8000  # of the namespace's own: nobody else is here


class Skip(Exception):
    """The target cannot be measured here; the text says why."""


def note(text):
    print(f"# {text}", flush=True)


def path():
    return os.environ.get("PATH", "") + ":/usr/local/sbin:/usr/sbin:/sbin"


def environment():
    return {**os.environ, "PATH": path()}


def tool(name):
    """A program's path, or a skip."""
    found = shutil.which(name, path=path())
    if found is None:
        raise Skip(f"{name} is not installed")
    return found


def measures(*command):
    """The JSON lines that a bench program prints."""
    out = subprocess.run([str(c) for c in command], check=True, text=True,
                         stdout=subprocess.PIPE).stdout
    return [json.loads(line) for line in out.strip().splitlines()]


def measure(*command):
    """The last of them."""
    return measures(*command)[-1]


def need(*programs):
    for p in programs:
        if not p.exists():
            raise Skip(f"{p.name} is not built")
