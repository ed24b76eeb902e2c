"""Dominators, post-dominators and loops of the functions of a control-flow graph."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from isakit.analysis.control_flow import ControlFlow, FlowFunction
from isakit.flow.dominators import Dominators, Exit, loop_parents, natural_loops
from isakit.flow.dominators import post_dominators as found_post_dominators


def _tree(flow: ControlFlow, function: FlowFunction) -> Dominators[int]:
    after = flow.successors_within(function)
    return Dominators(flow.block_at(function.entry).number, lambda n: after.get(n, ()))


def dominators(flow: ControlFlow, function: FlowFunction) -> dict[int, int]:
    """Return for each block its immediate dominator: the last other block on every path to it from the entry.

    The entry's is the entry itself.
    """
    return _tree(flow, function).idom


def post_dominators(flow: ControlFlow, function: FlowFunction) -> dict[int, int | None]:
    """Return for each block its immediate post-dominator: the first other block on every path from it to the end.

    None stands for the end itself. Blocks from which no path leads to an end are missing.
    """
    after = flow.successors_within(function)
    found = found_post_dominators(list(after), after.__getitem__).idom
    return {n: None if isinstance(d, Exit) else d for n, d in found.items() if not isinstance(n, Exit)}


@dataclass
class Loop:
    """A natural loop of a control-flow graph.

    Attributes:
        head: the block that every path into the loop passes.
        blocks: the blocks of the loop, its head included, in address order.
        parent: the head of the innermost loop around it, None for an outermost one.
        exits: blocks outside the loop that are successors of its blocks.
    """

    head: int
    blocks: list[int]
    parent: int | None = None
    exits: list[int] = field(default_factory=list[int])


def loops(flow: ControlFlow, function: FlowFunction) -> list[Loop]:
    """Return the natural loops of a function by the address of their heads; those with the same head are one.

    A cycle with several entries (an irreducible one) is not included.
    """
    tree = _tree(flow, function)
    graph, bodies = tree.graph, natural_loops(tree)
    parents = loop_parents(bodies)
    return [
        Loop(
            head,
            sorted(body),
            parents[head],
            sorted({graph.nodes[t] for n in body for t in graph.succs[graph.number[n]]} - body),
        )
        for head, body in sorted(bodies.items())
    ]


def loop_depths(flow: ControlFlow) -> dict[int, int]:
    """Return block -> in how many loops it is, for blocks in loops."""
    inside = (n for f in flow.functions for loop in loops(flow, f) for n in loop.blocks)
    return dict(Counter(inside))
