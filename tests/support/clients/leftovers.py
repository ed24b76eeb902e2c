"""What processes leave behind: descriptors, files in the temporary folder, other processes."""

from __future__ import annotations

import gc
import os
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path


def descriptors(pid: int | str = "self") -> list[str]:
    """What the open descriptors of a process are, sorted; without the one that looks."""
    found: list[str] = []
    for name in os.listdir(f"/proc/{pid}/fd"):
        with suppress(OSError):
            found.append(os.readlink(f"/proc/{pid}/fd/{name}"))
    return sorted(found)


def settled() -> Counter[str]:
    """The descriptors of this process once they stay the same; those of earlier tests are gone."""
    gc.collect()
    seen = [descriptors()]
    while len(seen) < 10 or any(d != seen[-1] for d in seen[-10:]):
        time.sleep(0.02)
        seen.append(descriptors())
    return Counter(seen[-1])


def no_more_than(before: Counter[str]) -> bool:
    """Whether this process has no descriptors but those of before."""
    return not Counter(descriptors()) - before


def ended(pid: int) -> bool:
    """Whether a process is gone; one that nobody has waited for yet is."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


def processes(variable: str, value: str) -> list[int]:
    """The living processes that have a variable of the environment with this value."""
    wanted = f"{variable}={value}".encode()
    found: list[int] = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError):  # a process may end while it is looked at
            if wanted in Path("/proc", name, "environ").read_bytes().split(b"\0"):
                found.append(int(name))
    return found
