"""What processes leave behind: descriptors, files in the temporary folder, other processes."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path


def descriptors(pid: int | str = "self") -> list[str]:
    """What the open descriptors of a process are, sorted; without the one that looks."""
    found: list[str] = []
    for name in os.listdir(f"/proc/{pid}/fd"):
        with suppress(OSError):
            found.append(os.readlink(f"/proc/{pid}/fd/{name}"))
    return sorted(found)


def until(done: Callable[[], bool], seconds: float = 10.0) -> bool:
    """Whether something comes true within some time."""
    end = time.monotonic() + seconds
    while not done():
        if time.monotonic() > end:
            return False
        time.sleep(0.005)
    return True


def processes(variable: str, value: str) -> list[int]:
    """The living processes that have a variable of the environment with this value."""
    wanted = f"{variable}={value}".encode()
    found: list[int] = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if wanted in path.read_bytes().split(b"\0"):
                found.append(int(path.parent.name))
    return found
