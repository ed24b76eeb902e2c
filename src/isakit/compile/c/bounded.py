"""A command within bounds: in a folder, without input, ended with all of its processes."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

from isakit.processes import MARK, temporary_root
from isakit.sandbox import launcher, variables

_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
_LOOKS = 0.05
"""Seconds between two checks of the memory of a group of processes."""
_DYING = 10.0
"""Seconds that killed processes may take to disappear, on a busy machine."""


@dataclass(frozen=True)
class Bounds:
    """Limits of a command: bytes of memory, seconds, and bytes that it writes to one file.

    On Linux the system enforces them for each process; time, and the memory of all processes together, are polled.
    """

    memory: int
    seconds: float
    output: int = 64 << 20


OWN = Bounds(memory=4 << 30, seconds=120)
"""Bounds of a compiler that works on the user's own files."""
ANYBODYS = Bounds(memory=1 << 30, seconds=20)
"""Bounds of a compiler that works on a text from anybody."""


@dataclass(frozen=True)
class Finished:
    """The end of a bounded command: its exit status, its output, and the bound that ended it (empty: none)."""

    status: int
    output: str
    errors: str
    bound: str = ""


def run(command: Sequence[str], folder: Path, bounds: Bounds, readable: Sequence[str] | None = None) -> Finished:
    """Run a command in a folder, without input, within bounds, until it has ended with all of its processes.

    Of the environment it sees the search path only. `readable`: confine it to these files, those of the system, and the
    folder; otherwise it may read whatever this user may. Raises OSError where it cannot be started.
    """
    opened = () if readable is None else (readable, [folder])
    line = launcher(command, asdict(bounds), opened)
    own = {k: str(folder) for k in ("HOME", "TMPDIR", "TEMP", "TMP", "ZIG_GLOBAL_CACHE_DIR", "ZIG_LOCAL_CACHE_DIR")}
    environment = {**variables(MARK), **own, "LC_ALL": "C"}
    place = temporary_root()
    with tempfile.TemporaryFile(dir=place) as out, tempfile.TemporaryFile(dir=place) as errors:
        with subprocess.Popen(line, cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=errors,
                              env=environment, start_new_session=True) as process:  # fmt: skip
            try:
                bound = _watched(process, bounds)
            finally:
                _end_group(process)
        texts = [_read(f, bounds.output) for f in (out, errors)]
    return Finished(process.returncode, texts[0], texts[1], bound or _bound_kept(process.returncode, texts[1], bounds))


def _read(file: IO[bytes], most: int) -> str:
    file.seek(0)
    return file.read(most).decode("utf-8", "replace")


_OUT_OF_MEMORY = re.compile(r"out of memory|bad_alloc|cannot allocate", re.IGNORECASE)


def _bound_kept(status: int, errors: str, bounds: Bounds) -> str:
    """Return which bound ended a command, in words, as far as its exit status and errors show it; "" if none did."""
    if status == -getattr(signal, "SIGXFSZ", 0):
        return f"wrote more than {bounds.output >> 20} MB"
    if status == -getattr(signal, "SIGXCPU", 0):
        return f"took more than {bounds.seconds:.0f} s"
    if status and _OUT_OF_MEMORY.search(errors):
        return _memory_words(bounds)
    return ""


def _memory_words(bounds: Bounds) -> str:
    return f"took more than {bounds.memory >> 20} MB of memory"


def _watched(process: subprocess.Popen[bytes], bounds: Bounds) -> str:
    """Wait for the end of a command, or until its group passes a bound; returns which, in words."""
    end, pause = time.monotonic() + bounds.seconds, 0.001
    while not _has_ended(process):
        if time.monotonic() > end:
            return f"took more than {bounds.seconds:.0f} s"
        if _group_memory(process.pid) > bounds.memory:
            return _memory_words(bounds)
        time.sleep(pause)
        pause = min(2 * pause, _LOOKS)
    return ""


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    """Return whether a process has ended; its number is kept, so that its group can still be named."""
    if hasattr(os, "waitid"):
        return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    return process.poll() is not None


def _group_memory(group: int) -> int:
    """Return how many bytes of memory the processes of a group use; 0 where the system does not say."""
    used = 0
    with contextlib.suppress(OSError):
        for name in os.listdir("/proc"):
            with contextlib.suppress(OSError, ValueError, IndexError):
                if name.isdigit() and os.getpgid(int(name)) == group:
                    used += int(Path(f"/proc/{name}/statm").read_text().split()[1]) * _PAGE
    return used


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """End a process and all of its group, and wait for them."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    process.wait()
    # Only its own children can be waited for. The others are dying, and what has no memory any more is dead.
    end = time.monotonic() + _DYING
    while _group_memory(process.pid) and time.monotonic() < end:
        time.sleep(0.001)
