"""The end of a command: what it has started and what it keeps in the temporary folder ends with it.

`Reaper` is a small process that waits for the command's end and, where that was not an orderly one, ends all processes
that descend from it and removes its folders. `TemporaryFolder` removes folders whose process is gone and that nobody
was left to remove, as after a loss of power. A single child ends with its parent by `sandbox.end_with_parent`.
"""

from __future__ import annotations

import os
import secrets
import shutil
import stat
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from isakit.reap import DISMISSED, device_and_inode

PREFIX = "isakit-tmp-"
"""The start of the names of temporary folders."""
FRESH_SECONDS = 60.0
"""A folder younger than this may not have been locked yet."""
MARK = "ISAKIT_OWNER"
"""The variable by which processes that descend from a command are found."""
_REAP = Path(__file__).with_name("reap.py")


class Reaper:
    """Ends the processes of a command, and removes its temporary folders, when the command is killed.

    Processes are found by a variable of their environment, so that those are found, too, whose parents have ended.
    Inside a `with` that an exception leaves, they are ended at once.

    Attributes: `environment`: what the variables of every process that the command starts must have.
    """

    def __init__(self) -> None:
        value = secrets.token_hex(12)
        self.environment = {MARK: value}
        self._process: subprocess.Popen[bytes] | None = None
        if not sys.platform.startswith("linux") or not sys.executable:
            return
        others = {k: v for k, v in os.environ.items() if k != MARK}
        with suppress(OSError):  # without it, only what is killed leaves something behind
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", str(_REAP), f"{MARK}={value}"],
                stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=others,
                start_new_session=True,  # what a terminal sends to end the command must not end it
            )  # fmt: skip

    def removes(self, path: Path) -> None:
        """Have it remove a folder, which need not be there yet."""
        self._tell(os.fsencode(path))

    def removes_socket(self, path: Path) -> None:
        """Have it remove a socket, unless something else has taken its place by then."""
        self._tell(os.fsencode(f"{device_and_inode(str(path))}{path}"))

    def _tell(self, text: bytes) -> None:
        process = self._process
        if process is not None and process.stdin is not None:
            with suppress(OSError):  # somebody has ended it
                process.stdin.write(text + b"\0")
                process.stdin.flush()

    def close(self, orderly: bool = True) -> None:
        """Stop the process; in an `orderly` end it has nothing left to do. Returns when it has ended."""
        if orderly:
            self._tell(DISMISSED)
        process, self._process = self._process, None
        if process is not None and process.stdin is not None:
            with suppress(OSError):
                process.stdin.close()
            process.wait()

    def __enter__(self) -> Reaper:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.close(orderly=kind is None)


def temporary_root() -> str:
    """Return the folder for temporary files, which `tempfile` takes, too, from here on.

    `tempfile` by itself tries folders out with a file in each, which stays there when the process is killed meanwhile.
    """
    if tempfile.tempdir is None:
        named = [os.environ[name] for name in ("TMPDIR", "TEMP", "TMP") if os.environ.get(name)]
        usual = [] if os.name == "nt" else ["/tmp", "/var/tmp", "/usr/tmp"]
        fit = (path for path in (*named, *usual) if os.path.isdir(path) and os.access(path, os.W_OK | os.X_OK))
        tempfile.tempdir = next((os.path.abspath(path) for path in fit), None)
    return tempfile.gettempdir()


class TemporaryFolder:
    """A private folder in the system's temporary folder; `close` removes it.

    It is locked as long as its process lives: the system gives the lock back whatever happens. Making one removes those
    of the same user whose lock is free. A `reaper` removes it at once when the process is killed.
    """

    def __init__(self, reaper: Reaper | None = None) -> None:
        remove_stale()
        self.path = _free_name()
        if reaper is not None:
            reaper.removes(self.path)  # before it is there, so that there is no moment in which nobody would remove it
        self.path.mkdir(mode=0o700)
        self._lock = _locked(self.path)

    def close(self) -> None:
        """Remove it with all it holds."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, *_: object) -> None:
        self.close()


def _free_name() -> Path:
    """Return a name for a temporary folder, short enough for the path of a socket in it."""
    place = Path(temporary_root())
    return next(p for p in iter(lambda: place / (PREFIX + secrets.token_hex(4)), None) if not p.exists())


def _locked(folder: Path | str, at: int | None = None) -> int | None:
    """Lock a folder and return the descriptor; None without locks. Raises OSError if another process has the lock."""
    try:
        import fcntl
    except ImportError:
        return None
    found = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=at)
    try:
        fcntl.flock(found, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BaseException:
        os.close(found)
        raise
    return found


def remove_stale() -> None:
    """Remove the temporary folders of this user's processes that are gone. Follows no links and raises nothing."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    with suppress(OSError):
        place = os.open(temporary_root(), os.O_RDONLY | os.O_DIRECTORY)
        try:
            for name in os.listdir(place):
                if name.startswith(PREFIX):
                    with suppress(OSError):
                        _remove_if_stale(place, name)
        finally:
            os.close(place)


def _remove_if_stale(place: int, name: str) -> None:
    found = os.stat(name, dir_fd=place, follow_symlinks=False)
    ours = stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()
    if not ours or time.time() - found.st_mtime < FRESH_SECONDS:
        return
    lock = _locked(name, place)
    if lock is not None:
        try:
            shutil.rmtree(name, ignore_errors=True, dir_fd=place)
        finally:
            os.close(lock)


__all__ = ["MARK", "Reaper", "TemporaryFolder", "remove_stale", "temporary_root"]
