"""What ends programs of stages that would run for ever."""

from __future__ import annotations

from dataclasses import dataclass

MOST_WARPS = 1 << 9
"""More warps than this may not execute more: they would not end within minutes."""
LEAST_WARPS = 1 << 6
"""Fewer warps may execute as much as so many on compiled code."""


@dataclass(frozen=True)
class Watchdog:
    """Instructions that each warp of a run may execute, on average, on compiled code and on the reference machine.

    Either is about a minute's work for the largest runs.
    """

    compiled: int = 1 << 24
    reference: int = 1 << 20

    def allowed(self, warps: int, reference: bool) -> int:
        """Instructions that the warps of a run may execute together."""
        if reference:
            return self.reference * min(warps, MOST_WARPS)
        return self.compiled * min(max(warps, LEAST_WARPS), MOST_WARPS)


__all__ = ["Watchdog"]
