"""How long tests wait for what comes within a second on a machine that has nothing else to do."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE = 120.0
"""Seconds after which a test gives up. What takes longer hangs, however busy the machine is."""


def until(done: Callable[[], bool], seconds: float = PATIENCE) -> bool:
    """Whether something comes true within some time."""
    end = time.monotonic() + seconds
    while not done():
        if time.monotonic() > end:
            return False
        time.sleep(0.005)
    return True
