"""Dominators, post-dominators and loops of the functions of a control-flow graph.

Source of the algorithm: Lengauer, Tarjan, "A Fast Algorithm for Finding Dominators in a Flowgraph", 1979, the simple
version.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from isakit.analysis.control_flow import ControlFlow, FlowFunction

Graph = Mapping[int, Sequence[int]]
"""Block -> blocks after it."""


def _preorder(graph: Graph, root: int) -> tuple[list[int], list[int]]:
    """Nodes reached from the root by depth first search, and for each the place in that order of the one before it."""
    order, above = [root], [0]
    place = {root: 0}
    stack = [(0, iter(graph.get(root, ())))]
    while stack:
        at, rest = stack[-1]
        for n in rest:
            if n not in place:
                place[n] = len(order)
                stack.append((len(order), iter(graph.get(n, ()))))
                order.append(n)
                above.append(at)
                break
        else:
            stack.pop()
    return order, above


def immediate_dominators(graph: Graph, root: int) -> dict[int, int]:
    """Node -> its immediate dominator, for every node reached from the root; the root is its own.

    Takes O(edges * log(nodes)) time. Nodes are numbered in the order of a depth first search; `semi` and `label` are
    those of the source.
    """
    order, above = _preorder(graph, root)
    place = {n: k for k, n in enumerate(order)}
    before: list[list[int]] = [[] for _ in order]
    for k, n in enumerate(order):
        for m in graph.get(n, ()):
            before[place[m]].append(k)
    size = len(order)
    semi, label = list(range(size)), list(range(size))
    ancestor = [-1] * size
    waiting: list[list[int]] = [[] for _ in order]
    found = [0] * size

    def lowest(v: int) -> int:
        """The node with the lowest semi-dominator on the way from `v` up to the root of its tree in the forest."""
        if ancestor[v] < 0:
            return v
        path = [v]
        while ancestor[ancestor[path[-1]]] >= 0:
            path.append(ancestor[path[-1]])
        for u in reversed(path[:-1]):
            a = ancestor[u]
            if semi[label[a]] < semi[label[u]]:
                label[u] = label[a]
            ancestor[u] = ancestor[a]
        return label[v]

    for w in range(size - 1, 0, -1):
        parent = above[w]
        semi[w] = min((semi[lowest(v)] for v in before[w]), default=parent)
        waiting[semi[w]].append(w)
        ancestor[w] = parent
        for v in waiting[parent]:
            u = lowest(v)
            found[v] = u if semi[u] < semi[v] else parent
        waiting[parent] = []
    for w in range(1, size):
        if found[w] != semi[w]:
            found[w] = found[found[w]]
    return {n: order[found[k]] for k, n in enumerate(order)}


def _graph_of(flow: ControlFlow, function: FlowFunction) -> dict[int, list[int]]:
    graph: dict[int, list[int]] = {n: [] for n in function.blocks}
    for e in flow.within(function):
        graph[e.source].append(e.target)
    return graph


def dominators(flow: ControlFlow, function: FlowFunction) -> dict[int, int]:
    """Block -> its immediate dominator: the last block that every way from the function's entry to it goes through."""
    return immediate_dominators(_graph_of(flow, function), flow.block_at(function.entry).number)


def post_dominators(flow: ControlFlow, function: FlowFunction) -> dict[int, int | None]:
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


def loops(flow: ControlFlow, function: FlowFunction) -> list[Loop]:
    """The natural loops of a function by the address of their heads; those with the same head are one.

    A cycle with several ways in is not among them.
    """
    graph, above = _graph_of(flow, function), dominators(flow, function)
    before: dict[int, list[int]] = {}
    for n, targets in graph.items():
        for t in targets:
            before.setdefault(t, []).append(n)
    bodies: dict[int, set[int]] = {}
    spans = _spans(above)
    for n in above:
        for head in graph[n]:
            if spans[head][0] <= spans[n][0] < spans[head][1]:
                body = bodies.setdefault(head, {head})
                waiting = [n]
                while waiting:
                    m = waiting.pop()
                    if m not in body:
                        body.add(m)
                        waiting += [p for p in before.get(m, ()) if p in above]
    found = {head: Loop(head, sorted(bodies[head])) for head in sorted(bodies)}
    innermost: dict[int, int] = {}
    for head in sorted(bodies, key=lambda h: -len(bodies[h])):  # loops lie within each other or apart
        body = bodies[head]
        found[head].parent = innermost.get(head)
        innermost.update(dict.fromkeys(body, head))
        found[head].exits = sorted({t for n in body for t in graph[n]} - body)
    return list(found.values())


def _spans(above: Mapping[int, int]) -> dict[int, tuple[int, int]]:
    """Node of a tree -> (its number, the number after the last node below it); numbers count from above."""
    below: dict[int, list[int]] = {}
    roots: list[int] = []
    for n, parent in above.items():
        (roots if n == parent else below.setdefault(parent, [])).append(n)
    entered: dict[int, int] = {}
    out: dict[int, tuple[int, int]] = {}
    stack = [(n, False) for n in roots]
    while stack:
        n, done = stack.pop()
        if done:
            out[n] = entered[n], len(entered)
        else:
            entered[n] = len(entered)
            stack.append((n, True))
            stack += [(m, False) for m in below.get(n, ())]
    return out


def depth_of(found: Iterable[Loop]) -> dict[int, int]:
    """Block -> in how many loops it is, for blocks in loops."""
    out: dict[int, int] = {}
    for loop in found:
        for n in loop.blocks:
            out[n] = out.get(n, 0) + 1
    return out
