"""Fixtures all integration tests share."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOCKET_PATH_MAX = 60  # leaves room below sun_path's 108 bytes
SANITIZER = re.compile(r"(Address|Leak)Sanitizer|: runtime error: ")


def pytest_configure(config):
    config.addinivalue_line(
        "markers", "captures: replays recorded ISPConfig requests"
    )


@pytest.fixture(scope="session")
def root():
    """The root of the repository."""
    return ROOT


class Agent:
    """Runs the program under test; never without a time limit."""

    def __init__(self, path):
        self.path = str(path)
        self._copy = None

    def _for_others(self):
        """A copy that any user can run, wherever the checkout is."""
        if self._copy is None:
            self._copy = tempfile.TemporaryDirectory(prefix="df-")
            os.chmod(self._copy.name, 0o755)
            shutil.copy(self.path, self._copy.name)
        return os.path.join(self._copy.name, os.path.basename(self.path))

    def __call__(self, *arguments, config=None, timeout_s=60, env=None,
                 **how):
        """dnsfailover [-c config] arguments…
        returns subprocess.CompletedProcess with text output; a crash or a
        sanitizer's report fails the test at once."""
        command = [self._for_others() if "user" in how else self.path]
        if config is not None:
            command += ["-c", str(config)]
        command += [str(a) for a in arguments]
        environment = dict(os.environ, NO_COLOR="1", **(env or {}))
        how.setdefault("stdin", subprocess.DEVNULL)
        if "input" in how:
            del how["stdin"]
        got = subprocess.run(
            command, capture_output=True, text=True, errors="replace",
            timeout=timeout_s, env=environment, **how,
        )
        if SANITIZER.search(got.stderr) or got.returncode < 0:
            pytest.fail(
                f"{' '.join(command)} ended with {got.returncode}:\n"
                f"{got.stderr[-8000:]}"
            )
        return got


@pytest.fixture(scope="session")
def agent():
    """The program: $DNSFAILOVER_BIN, else build/dnsfailover."""
    path = pathlib.Path(
        os.environ.get("DNSFAILOVER_BIN", ROOT / "build" / "dnsfailover")
    ).resolve()
    if not os.access(path, os.X_OK):
        pytest.fail(f"{path} is not there; run make first")
    return Agent(path)


@pytest.fixture(scope="session")
def tools():
    """The folder of the test programs of tests/tools."""
    return pathlib.Path(
        os.environ.get("DNSFAILOVER_TOOLS", ROOT / "build" / "tools")
    ).resolve()


@pytest.fixture(scope="session")
def shared():
    """The folder of recorded material beside the repository, or a skip."""
    path = pathlib.Path(
        os.environ.get("DNSFAILOVER_SHARED", ROOT.parent / "shared")
    )
    if not path.is_dir():
        pytest.skip(f"no folder {path} (set DNSFAILOVER_SHARED)")
    return path


@pytest.fixture
def short_dir():
    """A fresh folder whose path is short enough for a socket in it."""
    base = tempfile.gettempdir()
    if len(base) > SOCKET_PATH_MAX:
        base = "/tmp"
    path = pathlib.Path(tempfile.mkdtemp(prefix="df-", dir=base))
    path.chmod(0o711)  # a service that is no longer root passes through it
    yield path
    shutil.rmtree(path, ignore_errors=True)
