"""Dominators, post-dominators and loops of the functions of a control-flow graph.

Source of the algorithm: Cooper, Harvey, Kennedy, "A Simple, Fast Dominance Algorithm", 2001.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from isakit.analysis.control_flow import ControlFlow, Function

Graph = Mapping[int, Sequence[int]]
"""Block -> blocks behind it."""


def _reverse_postorder(graph: Graph, root: int) -> list[int]:
    seen, out = {root}, list[int]()
    stack = [(root, iter(graph.get(root, ())))]
    while stack:
        node, rest = stack[-1]
        for n in rest:
            if n not in seen:
                seen.add(n)
                stack.append((n, iter(graph.get(n, ()))))
                break
        else:
            out.append(node)
            stack.pop()
    return out[::-1]


def immediate_dominators(graph: Graph, root: int) -> dict[int, int]:
    """Node -> its immediate dominator, for every node reached from the root; the root is its own."""
    order = _reverse_postorder(graph, root)
    rank = {n: k for k, n in enumerate(order)}
    before: dict[int, list[int]] = {n: [] for n in order}
    for n in order:
        for m in graph.get(n, ()):
            before[m].append(n)
    found = {root: root}

    def common(a: int, b: int) -> int:
        while a != b:
            while rank[a] > rank[b]:
                a = found[a]
            while rank[b] > rank[a]:
                b = found[b]
        return a

    changed = True
    while changed:
        changed = False
        for n in order[1:]:
            known = [p for p in before[n] if p in found]
            new = known[0]
            for p in known[1:]:
                new = common(p, new)
            if found.get(n) != new:
                found[n] = new
                changed = True
    return found


def _graph_of(flow: ControlFlow, function: Function) -> dict[int, list[int]]:
    graph: dict[int, list[int]] = {n: [] for n in function.blocks}
    for e in flow.within(function):
        graph[e.source].append(e.target)
    return graph


def dominators(flow: ControlFlow, function: Function) -> dict[int, int]:
    """Block -> its immediate dominator: the last block that every way from the function's entry to it goes through."""
    return immediate_dominators(_graph_of(flow, function), flow.block_at(function.entry).number)


def post_dominators(flow: ControlFlow, function: Function) -> dict[int, int | None]:
    """Block -> its immediate post-dominator: the first block that every way from it to the function's end goes through.

    None: the end itself. Blocks from which no way leads to an end are missing.
    """
    end = -1
    backwards: dict[int, list[int]] = {end: []}
    for source, targets in _graph_of(flow, function).items():
        for t in targets:
            backwards.setdefault(t, []).append(source)
        if not targets:
            backwards[end].append(source)
    found = immediate_dominators(backwards, end)
    return {n: None if d == end else d for n, d in found.items() if n != end}


@dataclass
class Loop:
    """Blocks that are executed again and again.

    Attributes:
        head: the block every way into the loop goes through.
        blocks: all of them, the head included, in address order.
        parent: the loop around it by its head, None for an outermost one.
        exits: blocks outside that are reached from inside.
    """

    head: int
    blocks: list[int]
    parent: int | None = None
    exits: list[int] = field(default_factory=list[int])


def loops(flow: ControlFlow, function: Function) -> list[Loop]:
    """The natural loops of a function by the address of their heads; those with the same head are one.

    A cycle with several ways in is not among them.
    """
    graph, above = _graph_of(flow, function), dominators(flow, function)
    before: dict[int, list[int]] = {}
    for n, targets in graph.items():
        for t in targets:
            before.setdefault(t, []).append(n)
    bodies: dict[int, set[int]] = {}
    for n in above:
        for head in graph[n]:
            if _dominates(above, head, n):
                body = bodies.setdefault(head, {head})
                waiting = [n]
                while waiting:
                    m = waiting.pop()
                    if m not in body:
                        body.add(m)
                        waiting += [p for p in before.get(m, ()) if p in above]
    found = [Loop(head, sorted(bodies[head])) for head in sorted(bodies)]
    for loop in found:
        body = bodies[loop.head]
        around = [h for h, b in bodies.items() if h != loop.head and loop.head in b and body <= b]
        loop.parent = min(around, key=lambda h: len(bodies[h]), default=None)
        loop.exits = sorted({t for n in body for t in graph[n]} - body)
    return found


def _dominates(above: Mapping[int, int], a: int, b: int) -> bool:
    while b != a:
        if above[b] == b:
            return False
        b = above[b]
    return True


def depth_of(found: Iterable[Loop]) -> dict[int, int]:
    """Block -> in how many loops it is, for blocks in loops."""
    out: dict[int, int] = {}
    for loop in found:
        for n in loop.blocks:
            out[n] = out.get(n, 0) + 1
    return out
