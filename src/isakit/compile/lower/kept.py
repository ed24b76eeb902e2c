"""Registers of variables that are kept alive after their last use, in debug builds only.

A variable keeps its register until it gets another value or its lanes end. Locations are found as in other builds;
keeping registers only makes more of them valid.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from isakit.compile.ir import Mark
from isakit.compile.lower.form import MBlock, MFunction, Note, VReg
from isakit.flow.dataflow import solve
from isakit.flow.graph import FlowGraph


class _Current(dict[str, Mark]):
    """The mark that gave each variable its value; at a merge, only those with the same one on all paths."""

    def __or__(self, other: dict[str, Mark]) -> _Current:  # type: ignore[override]
        return _Current((name, mark) for name, mark in self.items() if other.get(name) is mark)


def keep_variables(m: MFunction, registers: Callable[[MFunction, Mark], Iterable[VReg]]) -> None:
    """Fill in `m.kept`; `registers` returns the registers of a mark's values."""
    written = {r.v for b in m.blocks for i in b.ins for r in i.defs()}
    found = {mark: {v for v in registers(m, mark) if v in written} for mark in m.marks}

    def noted(now: _Current, notes: Iterable[Note]) -> set[VReg]:
        """Apply notes in order; return the registers of the values that end."""
        ended: set[VReg] = set()
        for mark in (n.mark for n in notes if n.mark is not None):
            if (old := now.get(mark.name)) is not None:
                ended |= found[old]
            now[mark.name] = mark
        return ended

    def through(b: MBlock, before: _Current, keep: bool) -> _Current:
        now = _Current(before)
        ended = noted(now, b.notes)
        for i in b.ins:
            ended |= noted(now, i.before) | noted(now, i.after)
            if keep:
                current = now.values() if i is b.ins[-1] else ()
                m.kept[i] = ended.union(*(found[mark] for mark in current))
            ended = set[VReg]()
        return now

    graph = FlowGraph(m.blocks[:1], lambda b: b.succs)
    start = [_Current(), *[None] * (len(graph) - 1)]
    entering = solve(graph, lambda n, before: through(graph.nodes[n], before, False), start)
    for b, now in zip(graph.nodes, entering, strict=True):
        through(b, now, True)
    m.kept = {i: kept for i, kept in m.kept.items() if kept}


__all__ = ["keep_variables"]
