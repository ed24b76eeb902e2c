"""The solver of data-flow problems: a problem is its transfer function. Liveness is one of them.

A problem gives for each node the value after it as a function of the value before it; the solver finds all values. Sets
are bits of ints and join by union. A property of *all* paths is solved as its opposite: the bits of those that may not
hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, Protocol, Self, TypeVar

from isakit.flow.graph import FlowGraph


class Joins(Protocol):
    """A value of a lattice."""

    def __or__(self, other: Self, /) -> Self: ...


N = TypeVar("N")
T = TypeVar("T", bound=Joins)

Transfer = Callable[[int, T], T]
"""(number of a node, value at its entry) -> value at its exit; backward the reverse."""


def solve(graph: FlowGraph[N], transfer: Transfer[T], start: Sequence[T | None], *, backward: bool = False) -> list[T]:
    """Return the values at the entry of each node (backward: at its exit), by number: the least solution.

    Values join by `|`. `start` is the value there besides those that arrive along edges; None for none, not allowed at
    a root. Nodes are visited in reverse postorder (backward in postorder), again only when the value that arrives has
    changed. Every chain of joins must become stationary after finitely many steps.
    """
    state: list[Any] = list(start)
    after = graph.preds if backward else graph.succs
    waiting = bytearray(b"\1" * len(graph))
    while 1 in waiting:
        n = waiting.rfind(1) if backward else waiting.find(1)
        while n >= 0:
            waiting[n] = 0
            new = transfer(n, state[n])
            for s in after[n]:
                old = state[s]
                joined = new if old is None else old | new
                if joined != old:
                    state[s] = joined
                    waiting[s] = 1
            n = waiting.rfind(1, 0, n + 1) if backward else waiting.find(1, n)
    return state


def gen_kill(gen: Sequence[int], kill: Sequence[int]) -> Transfer[int]:
    """Return the transfer function that removes the bits `kill` of a node and then adds the bits `gen`."""
    return lambda n, x: x & ~kill[n] | gen[n]


# --- liveness: what may still be read ---------------------------------------------------------------------------------
class LiveSets(NamedTuple):
    """The sets of variables that may still be read on entry to and on exit from each node, by number."""

    entering: list[int]
    leaving: list[int]


def live_sets(graph: FlowGraph[N], uses: Sequence[int], kills: Sequence[int], ends: Sequence[int] = ()) -> LiveSets:
    """Return the variables that are live around each node.

    Args:
        graph: the nodes and their numbers.
        uses: what each node reads before it overwrites it.
        kills: what each node overwrites as a whole, wherever control comes to it.
        ends: what is read after each node besides what the nodes behind it read.
    """
    transfer = gen_kill(uses, kills)
    leaving = solve(graph, transfer, ends or [0] * len(graph), backward=True)
    return LiveSets([transfer(n, live) for n, live in enumerate(leaving)], leaving)


def uses_and_kills(steps: Iterable[tuple[int, int]]) -> tuple[int, int]:
    """Return the variables a block reads before writing, and those it overwrites; `steps`: last one first."""
    used = killed = 0
    for uses, kills in steps:
        used = used & ~kills | uses
        killed |= kills
    return used, killed
