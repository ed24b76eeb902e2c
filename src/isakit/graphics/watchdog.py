"""Watchdog that ends programs of stages that would run for ever, and scenes that would take too long."""

from __future__ import annotations

import threading
from dataclasses import dataclass

from isakit.errors import BudgetExceeded, LaunchError

MOST_WARPS = 1 << 9
"""More warps than this may not execute more, nor may all runs of a draw: they would not end within minutes."""
LEAST_WARPS = 1 << 6
"""Fewer warps may execute as much as so many on compiled code."""


@dataclass(frozen=True)
class Watchdog:
    """Instructions that each warp of a run may execute, on average, on compiled code and on the reference machine.

    `work` is what the reference machine may do in one run (`Machine.work`), where warps that are apart or begin one
    after another take more of its time than their instructions say. All are about a minute's work for the largest runs.
    """

    compiled: int = 1 << 24
    reference: int = 1 << 20
    work: int = 1 << 21

    def allowed(self, warps: int, reference: bool) -> int:
        """Return instructions that the warps of a run may execute together."""
        if reference:
            return self.reference * min(warps, MOST_WARPS)
        return self.compiled * min(max(warps, LEAST_WARPS), MOST_WARPS)

    def allowed_to_draw(self, reference: bool) -> int:
        """Return instructions that all runs of a draw may execute together: what its largest run may."""
        return self.allowed(MOST_WARPS, reference)

    def charge(self, instructions: int, pc: int) -> None:
        """Do nothing: every run and every draw is bounded for itself."""


class Budget:
    """Instructions that all draws of a pipeline may execute together, counted once per warp.

    A run that needs more than what is left is stopped, one without loops after it has ended. `watchdog` bounds every
    run besides. Raises LaunchError for a negative number.
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
        """Return what `Watchdog.allowed_to_draw` does; None without a watchdog."""
        return None if self.watchdog is None else self.watchdog.allowed_to_draw(reference)

    def charge(self, instructions: int, pc: int) -> None:
        """Count instructions that the program has executed at `pc`. Raises BudgetExceeded where they were not left."""
        with self._lock:
            self.left = max(self.left - instructions, -1)
        if self.left < 0:
            self.left = 0
            raise BudgetExceeded("TIMEOUT", pc, detail="the draws have used up their instructions")


__all__ = ["Budget", "Watchdog"]
