"""Natural loops: blocks that are executed again and again, entered through one head."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from isakit.flow.dominators import Dominators
from isakit.flow.graph import reachable

N = TypeVar("N")


def natural_loops(dom: Dominators[N]) -> dict[N, set[N]]:
    """Return the head of each loop and the nodes of all loops that share it, in the order of their back edges.

    A cycle with several ways in is not a natural loop.
    """
    graph = dom.graph
    ends: dict[int, list[int]] = {}
    for n, targets in enumerate(graph.succs):
        for head in targets:
            if head <= n and dom.dominates(graph.nodes[head], graph.nodes[n]):
                ends.setdefault(head, []).append(n)
    out: dict[N, set[N]] = {}
    for head, last in ends.items():
        body = reachable(last, lambda n, head=head: graph.preds[n] if n != head else ())
        out[graph.nodes[head]] = {graph.nodes[n] for n in body} | {graph.nodes[head]}
    return out


def loop_parents(bodies: Mapping[N, set[N]]) -> dict[N, N | None]:
    """Return the head of the loop around each loop, None for an outermost one."""
    innermost: dict[N, N] = {}
    out: dict[N, N | None] = {}
    for head in sorted(bodies, key=lambda h: -len(bodies[h])):  # loops lie within each other or apart
        out[head] = innermost.get(head)
        innermost.update(dict.fromkeys(bodies[head], head))
    return out
