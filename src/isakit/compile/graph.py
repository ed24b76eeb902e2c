"""Control flow as a graph: orders, dominators, loops. All of it takes time about linear in the number of blocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

N = TypeVar("N")


def postorder(root: N, succs: Callable[[N], Sequence[N]]) -> list[N]:
    """All nodes that can be reached, each after those it leads to (as far as there are no loops)."""
    out: list[N] = []
    seen = {root}
    stack = [(root, iter(succs(root)))]
    while stack:
        node, rest = stack[-1]
        for s in rest:
            if s not in seen:
                seen.add(s)
                stack.append((s, iter(succs(s))))
                break
        else:
            stack.pop()
            out.append(node)
    return out


class Dominators(Generic[N]):
    """The tree of immediate dominators of what can be reached from `root`.

    Source: Cooper, Harvey, Kennedy, "A Simple, Fast Dominance Algorithm".

    Attributes: `order` (reverse postorder), `idom` (the root's is itself), `children`.
    """

    def __init__(self, root: N, succs: Callable[[N], Sequence[N]]) -> None:
        self.root = root
        self.order = postorder(root, succs)[::-1]
        number = self._number = {n: k for k, n in enumerate(self.order)}
        preds: dict[N, list[N]] = {n: [] for n in self.order}
        for n in self.order:
            for s in succs(n):
                preds[s].append(n)
        self.idom: dict[N, N] = {root: root}
        changed = True
        while changed:
            changed = False
            for n in self.order[1:]:
                new: N | None = None
                for p in preds[n]:
                    if p in self.idom:
                        new = p if new is None else self._meet(p, new, number)
                if new is not None and self.idom.get(n) != new:
                    self.idom[n] = new
                    changed = True
        self.children: dict[N, list[N]] = {n: [] for n in self.order}
        for n in self.order[1:]:
            self.children[self.idom[n]].append(n)
        self._number_tree()

    def _meet(self, a: N, b: N, number: dict[N, int]) -> N:
        while a != b:
            while number[a] > number[b]:
                a = self.idom[a]
            while number[b] > number[a]:
                b = self.idom[b]
        return a

    def meet(self, a: N, b: N) -> N:
        """The nearest node that dominates both."""
        return self._meet(a, b, self._number)

    def _number_tree(self) -> None:
        self.enter: dict[N, int] = {}
        self.leave: dict[N, int] = {}
        count = 0
        stack: list[tuple[N, bool]] = [(self.root, False)]
        while stack:
            n, done = stack.pop()
            if done:
                self.leave[n] = count
                continue
            self.enter[n] = count
            count += 1
            stack.append((n, True))
            stack.extend((c, False) for c in reversed(self.children[n]))

    def dominates(self, a: N, b: N) -> bool:
        """Whether every way to b passes a (a node dominates itself)."""
        return a in self.enter and b in self.enter and self.enter[a] <= self.enter[b] and self.leave[b] <= self.leave[a]


def loops(dom: Dominators[N], succs: Callable[[N], Sequence[N]], preds: Callable[[N], Sequence[N]]) -> dict[N, set[N]]:
    """Natural loops: header to all blocks of the loops that share it."""
    out: dict[N, set[N]] = {}
    for n in dom.order:
        for head in succs(n):
            if dom.dominates(head, n):
                body = out.setdefault(head, {head})
                work = [n]
                while work:
                    x = work.pop()
                    if x not in body:
                        body.add(x)
                        work.extend(p for p in preds(x) if p in dom.enter)
    return out
