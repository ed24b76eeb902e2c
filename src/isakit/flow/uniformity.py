"""Divergence and reconvergence: the effect on a graph of branches that lanes take differently.

Source of `meetings`: Karrenberg, Hack, "Improving Performance of OpenCL on CPUs", 2012, as LLVM's analysis of
divergence has it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Generic, TypeVar

from isakit.flow.dominators import Dominators, Exit, natural_loops, post_dominators
from isakit.flow.graph import reachable

N = TypeVar("N")


class Divergence(Generic[N]):
    """The consequences of branches at which lanes diverge; all of them begin at `nodes[0]`.

    Attributes:
        odd: whether there is a cycle with several entries, where lanes reconverge later than at the post-dominator.
    """

    def __init__(self, nodes: Sequence[N], succs: Callable[[N], Iterable[N]]) -> None:
        self._succs = succs
        self._dom = Dominators(nodes[0], succs)
        self._post = post_dominators(nodes, succs, endless=True)
        self._bodies = list(natural_loops(self._dom).values())
        nodes, graph = self._dom.order, self._dom.graph
        self.odd = any(
            t <= n and not self._dom.dominates(nodes[t], nodes[n])
            for n, targets in enumerate(graph.succs)
            for t in targets
        )

    def meeting(self, branch: N) -> N | Exit:
        """Return the node where all paths from a branch reconverge."""
        return self._post.idom[branch]

    def apart(self, branch: N) -> set[N]:
        """Return the nodes that lanes may execute separately after they have diverged at a branch."""
        return reachable(self._succs(branch), self._succs, without=[self.meeting(branch)])

    def loops_left(self, branch: N) -> list[set[N]]:
        """Return the loops that some lanes may leave at a branch while others stay."""
        return [body for body in self._bodies if branch in body and not body.issuperset(self._succs(branch))]

    def meetings(self, branch: N) -> set[N]:
        """Return the nodes that lanes which diverge at a branch may reach on paths without a common node.

        Every node is labelled with the last node that all paths to it from the branch pass; where two labels meet, so
        do paths from both sides.
        """
        graph = self._dom.graph
        stop = self.meeting(branch)
        end = -1 if isinstance(stop, Exit) else graph.number[stop]
        todo = set(graph.succs[graph.number[branch]])
        label = {s: s for s in todo}
        out: set[int] = set()
        while todo:
            n = min(todo)
            todo.discard(n)
            if n == end:
                continue
            for s in graph.succs[n]:
                old, new = label.get(s), label[n]
                if old == new or (old == s and s in out):
                    continue
                if old is not None:
                    out.add(s)
                    if old == s:
                        continue
                    new = s
                label[s] = new
                todo.add(s)
        return {graph.nodes[n] for n in out}
