"""Make the project's virtual environment: the one thing `./check` and `./quickstart` need before they can start.

Uses only the standard library. The environment lives in `.venv`; the package is installed editable with the extras
asked for, through pip and whatever index pip is configured to use. A stamp inside the environment remembers what was
installed for which dependency list, so the second call costs a few milliseconds. Continuous integration installs the
versions and bytes that `tools/requirements` names for its Python (`locked`); tools/lock.py renews them.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
STAMP = VENV / "isakit-installed.json"
OLDEST = (3, 11)


def script(name: str) -> Path:
    """Return the path of a program inside the environment."""
    return VENV / ("Scripts" if os.name == "nt" else "bin") / (name + (".exe" if os.name == "nt" else ""))


def ensure(*extras: str, locked: bool = False) -> Path:
    """Make sure the package and these extras are installed; returns the environment's Python.

    With `locked`, packages have the versions and bytes of `requirements()`. Raises SystemExit where pip fails.
    """
    need_python()
    python = script("python")
    with _one_at_a_time():
        if not python.exists():
            _create()
        done = _installed()
        if locked and not set(extras) <= done and (named := requirements()) is not None:
            print(f"== installing {named.relative_to(ROOT)} into {VENV.name}", flush=True)
            pip = [*_pip(), "install", "--quiet", "--disable-pip-version-check"]
            # The file is complete. With dependencies pip would look for `name[extra]` again, and take a newer one.
            _run([*pip, "--no-deps", "--require-hashes", "--only-binary", ":all:", "--requirement", str(named)])
            _run([*pip, "--no-deps", "--no-build-isolation", "--editable", "."])
            done = {"", *LOCKED}
            _stamp(done)
        if not set(extras) <= done or "" not in done:
            wanted = sorted((set(extras) | done) - {""})
            target = f".[{','.join(wanted)}]" if wanted else "."
            print(f"== installing {target} into {VENV.name}", flush=True)
            _run([*_pip(), "install", "--quiet", "--disable-pip-version-check", "--editable", target])
            _stamp({"", *wanted})
    return python


LOCKED = ("dev", "docs", "c")
"""The extras whose packages are in the files of `tools/requirements`."""


def requirements() -> Path | None:
    """Return the file with what is installed for this Python, None where there is none (and say so)."""
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    named = ROOT / "tools/requirements" / f"py{version}.txt"
    if named.exists() and (sys.platform, platform.machine()) == ("linux", "x86_64"):
        return named
    print(f"== no versions are fixed for Python {version} on this system: the newest are installed", flush=True)
    return None


def need_python() -> None:
    """Go on with a Python that is new enough: this one, else one found on the path, which then runs the script."""
    if sys.version_info >= OLDEST:
        return
    for minor in range(15, OLDEST[1] - 1, -1):
        if other := shutil.which(f"python3.{minor}"):
            raise SystemExit(subprocess.run([other, *sys.argv], check=False).returncode)
    raise SystemExit(f"isakit needs Python {OLDEST[0]}.{OLDEST[1]} or newer; this one is {sys.version.split()[0]}")


def _create() -> None:
    print(f"== creating {VENV.name}", flush=True)
    # Some systems package the part of venv that installs pip separately: then pip from outside does the work.
    whole = subprocess.run([sys.executable, "-m", "venv", str(VENV)], capture_output=True, check=False)
    if whole.returncode:
        _run([sys.executable, "-m", "venv", "--clear", "--without-pip", str(VENV)])


def _pip() -> list[str]:
    inside = [str(script("python")), "-m", "pip"]
    if subprocess.run([*inside, "--version"], capture_output=True, check=False).returncode == 0:
        return inside
    return [sys.executable, "-m", "pip", "--python", str(script("python"))]


def _key() -> str:
    """Digest of everything that makes a new installation necessary."""
    import tomllib

    with open(ROOT / "pyproject.toml", "rb") as f:
        toml = tomllib.load(f)
    lock = (ROOT / "src/isakit/web/npm/package-lock.json").read_text("utf-8")
    facts = [str(ROOT), toml["project"], toml["build-system"], lock]
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


def _stamp(extras: set[str]) -> None:
    """Remember what is installed."""
    STAMP.write_text(json.dumps({"key": _key(), "extras": sorted(extras)}), encoding="utf-8")


def _installed() -> set[str]:
    """Return the extras of the last installation ("" for the package itself), empty if it is out of date."""
    try:
        stamp = json.loads(STAMP.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return set()
    return set(stamp["extras"]) if stamp["key"] == _key() else set()


@contextlib.contextmanager
def _one_at_a_time() -> Iterator[None]:
    """Let a second caller wait until the first has finished installing (where the system offers file locks)."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    lock = os.open(ROOT, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _run(command: list[str]) -> None:
    result = subprocess.run(command, cwd=ROOT, check=False)
    if result.returncode:
        raise SystemExit(f"failed with exit code {result.returncode}: {' '.join(command)}")
