"""Dominators: the nodes on every path to a node, and the nodes on every path from it to the end; natural loops.

Source: Lengauer, Tarjan, "A Fast Algorithm for Finding Dominators in a Flowgraph", 1979, the simple version.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Generic, TypeVar

from isakit.flow.graph import FlowGraph, further_roots, reachable
from isakit.lean import cached_property

N = TypeVar("N")


class Exit:
    """The node after all exits, `EXIT`, where paths that leave a function merge at the latest."""

    def __repr__(self) -> str:
        return "EXIT"


EXIT = Exit()


class Dominators(Generic[N]):
    """The tree of immediate dominators of what can be reached from `root`.

    Takes O(edges * log(nodes)) time.

    Attributes: `graph`; `order` (its nodes in reverse postorder); `idom` (immediate dominator of each node, the root's
    is itself).
    """

    def __init__(self, root: N, succs: Callable[[N], Iterable[N]]) -> None:
        self.root = root
        self.graph = FlowGraph([root], succs)
        self.order = self.graph.nodes
        self._above = _immediate(self.graph)
        self.idom: dict[N, N] = {n: self.order[a] for n, a in zip(self.order, self._above, strict=True)}

    @property
    def children(self) -> dict[N, list[N]]:
        """The nodes that each node dominates immediately, in reverse postorder."""
        out: dict[N, list[N]] = {n: [] for n in self.order}
        for n in self.order[1:]:
            out[self.idom[n]].append(n)
        return out

    def __contains__(self, node: N) -> bool:
        return node in self.idom

    def meet(self, a: N, b: N) -> N:
        """Return the nearest node that dominates both."""
        above, number = self._above, self.graph.number
        i, j = number[a], number[b]
        while i != j:
            if i > j:
                i = above[i]
            else:
                j = above[j]
        return self.order[i]

    def dominates(self, a: N, b: N) -> bool:
        """Return whether every path from the root to b passes a; a node dominates itself, if it is reachable."""
        i, j = self.graph.number.get(a), self.graph.number.get(b)
        enter, leave = self._spans
        return i is not None and j is not None and enter[i] <= enter[j] < leave[i]

    @cached_property
    def _spans(self) -> tuple[list[int], list[int]]:
        """Return for each node its number in a preorder of the tree, and the number after the last one below it."""
        size = len(self.order)
        below = [1] * size
        for n in range(size - 1, 0, -1):  # a dominator comes before what it dominates
            below[self._above[n]] += below[n]
        enter, free = [0] * size, [1] * size
        for n in range(1, size):
            above = self._above[n]
            enter[n] = free[above]
            free[above] += below[n]
            free[n] = enter[n] + 1
        return enter, [e + b for e, b in zip(enter, below, strict=True)]


def _immediate(graph: FlowGraph[N]) -> list[int]:
    """Return the immediate dominator of each node of a graph with one root, by number.

    Works on places in the preorder of the graph; `semi` and `label` are those of the source.
    """
    size, above, order = len(graph), graph.parents, graph.preorder
    place = [0] * size
    for k, n in enumerate(order):
        place[n] = k
    semi, label = list(range(size)), list(range(size))
    ancestor = [-1] * size
    waiting: dict[int, list[int]] = {}
    found = [0] * size

    def lowest(v: int) -> int:
        """Return the node with the lowest semidominator on the path from `v` up to the root of its tree."""
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
        before = graph.preds[order[w]]
        semi[w] = min([semi[lowest(place[p])] for p in before]) if len(before) > 1 else parent
        if semi[w] == parent:
            found[w] = parent  # there is no node between them that could matter
        else:
            waiting.setdefault(semi[w], []).append(w)
        ancestor[w] = parent
        for v in waiting.pop(parent, ()):
            u = lowest(v)
            found[v] = u if semi[u] < semi[v] else parent
    out = [0] * size
    for w in range(1, size):
        if found[w] != semi[w]:
            found[w] = found[found[w]]
        out[order[w]] = order[found[w]]
    return out


def post_dominators(
    nodes: Sequence[N], succs: Callable[[N], Iterable[N]], *, endless: bool = False
) -> Dominators[N | Exit]:
    """Return the dominators of the reversed graph, whose root is `EXIT`: the successor of all nodes without one.

    Nodes from which no path leads to an end are missing. With `endless` one of each cycle without an end, the last in
    `nodes`, counts as leading to `EXIT` as well, so that no node is missing.
    """
    before: dict[N | Exit, list[N | Exit]] = {n: [] for n in nodes}
    ends: list[N | Exit] = []
    for n in nodes:
        leads = False
        for s in succs(n):
            before[s].append(n)
            leads = True
        if not leads:
            ends.append(n)
    before[EXIT] = ends
    if endless:
        ends += further_roots(reversed(nodes), ends, before.__getitem__)
    return Dominators(EXIT, before.__getitem__)


# --- natural loops: blocks that are executed again and again, entered through one head --------------------------------
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
