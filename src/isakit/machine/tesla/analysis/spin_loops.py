"""Spin loops: loops that end only when another warp writes memory, which may be a warp of another block.

Such a loop carries no values from one iteration to the next: it writes each register before it reads it. So every
iteration is like the one before until memory (or `$clock`) has changed.
"""

from __future__ import annotations

from isakit.machine.tesla.analysis.control_flow import Flow
from isakit.machine.tesla.analysis.kernel_steps import RegisterKey, Step

LONGEST = 64
"""Instructions of the longest loop that is analysed."""
_READS = ("load", "atomic")


def spin_loops(flow: Flow, spaces: str = "g") -> list[tuple[int, int]]:
    """Return (first, last) address of each spin loop; `spaces`: memory that other warps may write."""
    places = {pc: k for k, pc in enumerate(flow.order)}
    out: list[tuple[int, int]] = []
    for pc in flow.order:
        for target in flow.steps[pc].successors:
            if target > pc or target not in places or places[pc] - places[target] >= LONGEST:
                continue
            inside = [flow.steps[at] for at in flow.order[places[target] : places[pc] + 1]]
            if _spins(inside, spaces):
                out.append((target, pc))
    return out


def _spins(steps: list[Step], spaces: str) -> bool:
    """Return true if these instructions poll memory that others write, and carry no values to the next iteration."""
    reads = False
    before: set[RegisterKey] = set()  # registers read before they are written
    written: set[RegisterKey] = set()
    for s in steps:
        if s.trace is None or s.control in ("bar", "call", "bra_indirect"):
            return False
        if s.trace.of_kind("store"):
            return False
        reads = reads or any(e.name[0] in spaces for e in s.trace.of_kind(*_READS))
        before |= s.reads - written
        written |= s.writes
    return reads and not before & written
