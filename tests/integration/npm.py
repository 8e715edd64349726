"""Independent programs from npm: installed by npm ci into build/, or a skip
with the reason."""

import fcntl
import os
import shutil
import subprocess

import pytest


def modules(root, folder, package, node_min, given=None):
    """The node_modules folder with `package`: of the environment variable
    `given`, else of build/FOLDER, made from tests/FOLDER/package-lock.json."""
    if given and os.environ.get(given):
        return os.environ[given]
    if not shutil.which("node") or not shutil.which("npm"):
        pytest.skip(f"node or npm is not installed: {package} cannot run")
    version = subprocess.run(["node", "--version"], capture_output=True,
                             text=True, timeout=30, check=False).stdout
    if int(version.strip().lstrip("v").split(".")[0] or 0) < node_min:
        pytest.skip(f"node {version.strip()} is too old for {package}")
    place = root / "build" / folder
    place.mkdir(parents=True, exist_ok=True)
    with open(place / "lock", "w") as lock:  # tests run beside each other
        fcntl.flock(lock, fcntl.LOCK_EX)
        return installed(root, folder, place, package)


def installed(root, folder, place, package):
    """The node_modules of place, made now where they are not there."""
    if (place / "node_modules" / package / "package.json").exists():
        return place / "node_modules"
    for name in ("package.json", "package-lock.json"):
        shutil.copy(root / "tests" / folder / name, place / name)
    try:
        got = subprocess.run(
            ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"],
            cwd=place, capture_output=True, text=True, timeout=120,
            check=False, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        pytest.skip("npm ci did not end within 120 s: no registry here")
    if got.returncode != 0:
        lines = got.stderr.strip().splitlines() or ["no reason given"]
        pytest.skip(f"npm cannot install {package}: {lines[0]}")
    return place / "node_modules"
