"""Conditional rendering: whether a method acts, by a query result in memory. Source: rnndb COND_MODE, G80_QUERY."""

from __future__ import annotations

from isakit.hosts.drm.engine import Engine

NEVER, ALWAYS, NON_ZERO, EQUAL, NOT_EQUAL = range(5)


def holds(engine: Engine) -> bool:
    """Return whether the condition of an engine holds.

    A query has 16 bytes: sequence, result, time. Raises GpuFault.
    """
    mode, address, memory = engine.get("COND_MODE"), engine.address("COND_ADDRESS"), engine.memory
    if mode == NEVER:
        return False
    if mode == NON_ZERO:
        return bool(memory.read_words(address, 2, "condition")[1])
    if mode in (EQUAL, NOT_EQUAL):
        words = memory.read_words(address, 8, "condition").tolist()
        return (words[0:2] == words[4:6]) == (mode == EQUAL)
    return True
