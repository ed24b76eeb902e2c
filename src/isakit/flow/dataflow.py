"""The solver of data-flow problems: a problem is its transfer function.

A problem says for each node what holds behind it, given what holds before it; the solver finds what holds everywhere.
Sets are bits of ints and join by union. What must hold on *all* ways is solved as its opposite: the bits of what may
not hold.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from operator import or_  # pyright: ignore[reportUnknownVariableType]
from typing import Any, TypeVar, cast

from isakit.flow.graph import FlowGraph

N = TypeVar("N")
T = TypeVar("T")

Transfer = Callable[[int, T], T]
"""(number of a node, what holds where control enters it) -> what holds where it leaves it; backward the reverse."""

_union = cast("Callable[[Any, Any], Any]", or_)


def solve(
    graph: FlowGraph[N],
    transfer: Transfer[T],
    start: Sequence[T],
    *,
    backward: bool = False,
    join: Callable[[T, T], T] = _union,
) -> list[T]:
    """Return what holds where control enters each node (backward: where it leaves), by number: the least solution.

    `start` is what is known to hold there besides what comes along edges; the neutral element of `join` where nothing
    is. Nodes are visited in reverse postorder (backward in postorder), again only when what comes to them has changed.
    Every value must be joined with others only finitely often until it stays.
    """
    state = list(start)
    after, sign = (graph.preds, -1) if backward else (graph.succs, 1)
    queue = sorted(sign * n for n in range(len(graph)))
    queued = [True] * len(graph)
    while queue:
        n = sign * heappop(queue)
        queued[n] = False
        new = transfer(n, state[n])
        for s in after[n]:
            old = state[s]
            joined = join(old, new)
            if joined != old:
                state[s] = joined
                if not queued[s]:
                    queued[s] = True
                    heappush(queue, sign * s)
    return state


def gen_kill(gen: Sequence[int], kill: Sequence[int]) -> Transfer[int]:
    """Return the transfer function that removes the bits `kill` of a node and then adds the bits `gen`."""
    return lambda n, x: x & ~kill[n] | gen[n]
