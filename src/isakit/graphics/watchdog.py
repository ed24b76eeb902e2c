"""A watchdog that ends programs of stages that would run forever, and scenes that would take too long."""

from __future__ import annotations

import threading
from dataclasses import dataclass

from isakit.errors import BudgetExceeded, LaunchError

MOST_WARPS = 1 << 9
"""Number of warps beyond which a run, and all runs of a draw together, may execute no more: they would take minutes."""
LEAST_WARPS = 1 << 6
"""Fewer warps may execute as much as this number of warps, on compiled code."""


@dataclass(frozen=True)
class Watchdog:
    """Instructions that each warp of a run may execute, on average, on compiled code and on the reference machine.

    `work` limits the reference machine in one run (`Machine.work`), where warps that diverge or begin one after another
    take more time than their instructions suggest. All are about a minute's work for the largest runs.
    """

    compiled: int = 1 << 24
    reference: int = 1 << 20
    work: int = 1 << 21

    def allowed(self, warps: int, reference: bool) -> int:
        """Return how many instructions the warps of a run may execute together."""
        if reference:
            return self.reference * min(warps, MOST_WARPS)
        return self.compiled * min(max(warps, LEAST_WARPS), MOST_WARPS)

    def allowed_to_draw(self, reference: bool) -> int:
        """Return how many instructions all runs of a draw may execute together: as many as its largest run."""
        return self.allowed(MOST_WARPS, reference)

    def charge(self, instructions: int, pc: int) -> None:
        """Do nothing: every run and every draw has its own limit."""


class Budget:
    """Instructions that all draws of a pipeline may execute together, counted once per warp.

    A run that exceeds the rest is stopped, one without loops after it has ended. `watchdog` also limits every run.
    Raises LaunchError for a negative number.
    """

    def __init__(self, most: int, watchdog: Watchdog | None = None) -> None:
        if most < 0:
            raise LaunchError(f"max_instructions is {most}")
        self.left, self.watchdog = most, watchdog
        self.work = None if watchdog is None else watchdog.work
        self._lock = threading.Lock()

    def allowed(self, warps: int, reference: bool) -> int:
        """Return how many instructions the warps of a run may execute together."""
        return self.left if self.watchdog is None else min(self.left, self.watchdog.allowed(warps, reference))

    def allowed_to_draw(self, reference: bool) -> int | None:
        """Return `Watchdog.allowed_to_draw`; None without a watchdog."""
        return None if self.watchdog is None else self.watchdog.allowed_to_draw(reference)

    def charge(self, instructions: int, pc: int) -> None:
        """Count instructions that the program has executed at `pc`. Raises BudgetExceeded if they exceed the rest."""
        with self._lock:
            self.left = max(self.left - instructions, -1)
        if self.left < 0:
            self.left = 0
            raise BudgetExceeded("TIMEOUT", pc, detail="the draws have used up their instructions")


__all__ = ["Budget", "Watchdog"]
