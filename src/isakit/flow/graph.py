"""Directed graphs as control flow makes them: what can be reached, and in which order nodes come."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from typing import Generic, TypeVar

N = TypeVar("N")


def reachable(roots: Iterable[N], succs: Callable[[N], Iterable[N]], *, without: Container[N] = ()) -> set[N]:
    """Return the roots and all that can be reached from them without the nodes `without`.

    `succs` is called once for each node that is returned.
    """
    todo = [n for n in dict.fromkeys(roots) if n not in without]
    seen = set(todo)
    while todo:
        for s in succs(todo.pop()):
            if s not in seen and s not in without:
                seen.add(s)
                todo.append(s)
    return seen


def further_roots(nodes: Iterable[N], roots: Iterable[N], succs: Callable[[N], Iterable[N]]) -> list[N]:
    """Return some of the nodes, in their order, from which all those can be reached that `roots` do not lead to."""
    seen = reachable(roots, succs)
    out: list[N] = []
    for n in nodes:
        if n not in seen:
            out.append(n)
            seen |= reachable([n], succs, without=seen)
    return out


class FlowGraph(Generic[N]):
    """The nodes that can be reached from `roots`, numbered in reverse postorder.

    In that order a node comes after all that lead to it, except by edges that close a cycle. With several roots those
    that others lead to should come last.

    Attributes:
        nodes: in reverse postorder.
        number: place of each node in `nodes`.
        succs, preds: numbers of the nodes after and before each node, by number; edges that are given twice stay twice.
        preorder: numbers in the order in which a depth-first search finds them.
        parents: for each node of `preorder` the place in it of the one it was found from, -1 for a root.
    """

    def __init__(self, roots: Iterable[N], succs: Callable[[N], Iterable[N]]) -> None:
        found: dict[N, int] = {}
        parents: list[int] = []
        edges: list[list[int]] = []
        left: list[int] = []
        for root in roots:
            if root in found:
                continue
            found[root] = at = len(parents)
            parents.append(-1)
            edges.append([])
            stack = [(at, iter(succs(root)))]
            while stack:
                at, rest = stack[-1]
                after = edges[at]
                for n in rest:
                    k = found.get(n)
                    if k is None:
                        found[n] = k = len(parents)
                        after.append(k)
                        parents.append(at)
                        edges.append([])
                        stack.append((k, iter(succs(n))))
                        break
                    after.append(k)
                else:
                    stack.pop()
                    left.append(at)
        left.reverse()
        rank = [0] * len(left)
        for k, at in enumerate(left):
            rank[at] = k
        nodes = list(found)
        self.nodes: list[N] = [nodes[at] for at in left]
        self.number: dict[N, int] = dict(zip(nodes, rank, strict=True))
        self.succs: list[list[int]] = [[rank[k] for k in edges[at]] for at in left]
        self.preds: list[list[int]] = [[] for _ in left]
        for k, targets in enumerate(self.succs):
            for s in targets:
                self.preds[s].append(k)
        self.preorder, self.parents = rank, parents

    def __len__(self) -> int:
        return len(self.nodes)

    def __contains__(self, node: N) -> bool:
        return node in self.number
