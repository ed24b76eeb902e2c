"""What a command starts and what it keeps in the temporary folder ends with it, however it ends.

Three things, each for what the others cannot do. `Reaper` is a small process that waits for the command's end and,
where that was not an orderly one, ends all processes that descend from it and removes its folder. `end_with_parent`
makes the system end one process with its parent. `TemporaryFolder` removes folders whose process is gone and nobody was
left to remove them, as after a loss of power.
"""

from __future__ import annotations

import ctypes
import os
import secrets
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

PREFIX = "isakit-tmp-"
"""What names of temporary folders begin with."""
FRESH_SECONDS = 60.0
"""A folder younger than this may not have been locked yet."""
MARK = "ISAKIT_OWNER"
"""The variable by which processes that descend from a command are found."""
_REAP = Path(__file__).with_name("reap.py")
_PR_SET_PDEATHSIG = 1


def end_with_parent(parent: int) -> None:
    """Have the system kill this process when its parent, which must be `parent`, ends. Does nothing outside of Linux.

    Strictly, when the thread of the parent that has started it ends: only for children of a main thread.
    """
    if not sys.platform.startswith("linux"):
        return
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it has ended before
        os.kill(os.getpid(), signal.SIGKILL)


class Reaper:
    """Ends the processes of a command, and removes a folder of it, when the command is killed.

    Processes are found by a variable of their environment, so that those are found, too, whose parents have ended.
    Inside a `with` that an exception leaves, they are ended at once.

    Attributes: `environment`: what the variables of every process that the command starts must have.
    """

    def __init__(self, folder: Path | None = None) -> None:
        value = secrets.token_hex(12)
        self.environment = {MARK: value}
        self._process: subprocess.Popen[bytes] | None = None
        if not sys.platform.startswith("linux") or not sys.executable:
            return
        others = {k: v for k, v in os.environ.items() if k != MARK}
        with suppress(OSError):  # without it, only what is killed leaves something behind
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", str(_REAP), f"{MARK}={value}", str(folder or "")],
                stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=others,
                start_new_session=True,  # what a terminal sends to end the command must not end it
            )  # fmt: skip

    def close(self, orderly: bool = True) -> None:
        """Send it away; in an `orderly` end there is nothing for it to do. Returns when it is gone."""
        process, self._process = self._process, None
        if process is None or process.stdin is None:
            return
        with suppress(OSError):
            if orderly:
                process.stdin.write(b".")
            process.stdin.close()
        process.wait()

    def __enter__(self) -> Reaper:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.close(orderly=kind is None)


class TemporaryFolder:
    """A private folder in the system's temporary folder; `close` removes it.

    It is locked as long as its process lives: the system gives the lock back whatever happens. Making one removes those
    of the same user whose lock is free.
    """

    def __init__(self) -> None:
        remove_stale()
        self.path = Path(tempfile.mkdtemp(prefix=PREFIX))
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


def _locked(folder: Path | str, at: int | None = None) -> int | None:
    """A descriptor that locks a folder; None where there are no locks. Raises OSError for one that another has."""
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
        place = os.open(tempfile.gettempdir(), os.O_RDONLY | os.O_DIRECTORY)
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


__all__ = ["MARK", "Reaper", "TemporaryFolder", "end_with_parent", "remove_stale"]
