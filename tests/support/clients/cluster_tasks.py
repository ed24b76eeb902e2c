"""Pieces of work that are run in other processes, and that end these."""

from __future__ import annotations

import os
import signal
from pathlib import Path


def square(n: int) -> int:
    return n * n


def dies_once(task: tuple[int, str]) -> int:
    """The number; where a path is given and not there yet, make it and end the process."""
    n, path = task
    if path and not Path(path).exists():
        Path(path).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return n


def dies_on_five(n: int) -> int:
    if n == 5:
        os.kill(os.getpid(), signal.SIGKILL)
    return n
