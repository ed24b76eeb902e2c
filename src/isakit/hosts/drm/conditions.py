"""Conditional rendering: whether a method acts, from a query result in memory. Source: rnndb COND_MODE, G80_QUERY."""

from __future__ import annotations

from isakit.hosts.drm.memory import VideoMemory

NEVER, ALWAYS, NON_ZERO, EQUAL, NOT_EQUAL = range(5)


def holds(memory: VideoMemory, mode: int, address: int) -> bool:
    """Return true if a condition holds. A query has 16 bytes: sequence, result, time. Raises GpuFault."""
    if mode == NEVER:
        return False
    if mode == NON_ZERO:
        return bool(memory.read_words(address, 2, "condition")[1])
    if mode in (EQUAL, NOT_EQUAL):
        words = memory.read_words(address, 8, "condition").tolist()
        return (words[0:2] == words[4:6]) == (mode == EQUAL)
    return True
