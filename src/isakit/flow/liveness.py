"""Liveness: what may still be read, as sets of bits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeVar

from isakit.flow.dataflow import gen_kill, solve
from isakit.flow.graph import FlowGraph

N = TypeVar("N")


class LiveSets(NamedTuple):
    """The sets of values that may still be read on entry to and on exit from each node, by number."""

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
