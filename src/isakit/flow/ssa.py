"""Static single assignment form: where values merge, and the value of each variable at each node.

Source: Cytron, Ferrante, Rosen, Wegman, Zadeck, "Efficiently Computing Static Single Assignment Form and the Control
Dependence Graph", 1991, with merges only where a variable is live.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Generic, TypeVar

from isakit.flow.dominators import Dominators

N = TypeVar("N")
K = TypeVar("K")
V = TypeVar("V")


def dominance_frontiers(dom: Dominators[N]) -> list[list[int]]:
    """Return the dominance frontier of each node, by number.

    These are the nodes that it does not strictly dominate, although it dominates one of their predecessors.
    """
    graph, number = dom.graph, dom.graph.number
    above = [-1, *(number[dom.idom[n]] for n in dom.order[1:])]
    out: list[list[int]] = [[] for _ in dom.order]
    for n, sources in enumerate(graph.preds):
        if len(sources) > (1 if n else 0):  # control comes to the root from outside, too
            for source in sources:
                at = source
                while at != above[n] and (not out[at] or out[at][-1] != n):
                    out[at].append(n)
                    at = above[at]
    return out


def merges(dom: Dominators[N], written: Sequence[int], live: Sequence[int]) -> list[int]:
    """Return for each node, by number, the variables of which several values merge at its entry.

    Args:
        dom: the dominators of the graph.
        written: the variables that each node writes, as bits.
        live: the variables that are live at the entry of each node.
    """
    frontiers = dominance_frontiers(dom)
    out = [0] * len(dom.order)
    news = list(written)
    todo = [n for n, mask in enumerate(news) if mask]
    while todo:
        n = todo.pop()
        for m in frontiers[n]:
            new = news[n] & live[m] & ~out[m]
            if new:
                out[m] |= new
                if new & ~news[m]:
                    news[m] |= new
                    todo.append(m)
    return out


class Renaming(Generic[N, K, V]):
    """The values of variables at the entry and exit of nodes.

    Attributes: `merged[n]` are the merged values of variables at the entry of a node, `written[n]` the values after the
    node of those that it writes. `initial(variable)` gives the value at the root; it is called on demand.
    """

    def __init__(
        self,
        dom: Dominators[N],
        merged: Mapping[N, Mapping[K, V]],
        written: Mapping[N, Mapping[K, V]],
        initial: Callable[[K], V],
    ) -> None:
        self.dom, self.merged, self.written, self.initial = dom, merged, written, initial
        self._known: dict[N, dict[K, V]] = {n: {} for n in dom.order}

    def entering(self, node: N, variable: K) -> V:
        """Return the value of a variable at the entry of a node; the nodes that dominate it must be complete."""
        path: list[N] = []
        at = node
        while True:
            own = self._known[at]
            if variable in own:
                value = own[variable]
                break
            path.append(at)
            if variable in self.merged.get(at, ()):
                value = self.merged[at][variable]
                break
            if at == self.dom.root:
                value = self.initial(variable)
                break
            at = self.dom.idom[at]
            if variable in self.written.get(at, ()):
                value = self.written[at][variable]
                break
        for n in path:
            self._known[n][variable] = value
        return value

    def leaving(self, node: N, variable: K) -> V:
        """Return the value of a variable at the exit of a node."""
        written = self.written.get(node, ())
        return self.written[node][variable] if variable in written else self.entering(node, variable)
