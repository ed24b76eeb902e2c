"""Variables of the source at merges: one with different values on the incoming paths gets the value of a phi."""

from __future__ import annotations

from typing import NamedTuple

from isakit.compile.ir import Block, Function, Ins, IrValue, Mark
from isakit.compile.ops import PHI
from isakit.flow.dataflow import solve
from isakit.flow.graph import FlowGraph


class _Values(NamedTuple):
    """The statement of a mark: its values, and the element of a vector."""

    values: tuple[IrValue, ...]
    channel: int


_Known = dict[str, _Values]
"""Variables with a known value, by name."""
_Ways = dict[int, _Known]
"""Known variables by the number of the predecessor."""


def meet_marks(f: Function) -> None:
    """Mark the variables whose values a phi merges; in a debug build, insert phis for the others as well."""
    types = {mark.name: mark.type for b in f.blocks for mark in b.marks}
    if types:
        _Meetings(f, types).run()


class _Meetings:
    """The values of variables at block entries.

    They only change towards phis, and phis towards unknown, so this terminates.
    """

    def __init__(self, f: Function, types: dict[str, str]) -> None:
        self.f, self.types = f, types
        self.graph = FlowGraph(f.blocks[:1], lambda b: b.succs)
        self.made: dict[tuple[Block, str], list[Ins]] = {}

    def run(self) -> None:
        nodes, number = self.graph.nodes, self.graph.number
        for b, known_by in zip(nodes, solve(self.graph, self.leaving, [_Ways()] * len(nodes)), strict=True):
            ways = [known_by[number[p]] for p in b.preds]
            met = {n: v for n, v in self.entering(b, known_by).items() if any(way[n] != v for way in ways)}
            for name, known in met.items():
                for k, phi in enumerate(self.made.get((b, name), ())):
                    phi.args, phi.block = [way[name].values[k] for way in ways], b
                    b.phis.append(phi)
                b.marks.insert(0, Mark(0, name, self.types[name], list(known.values), known.channel))

    def leaving(self, n: int, known_by: _Ways) -> _Ways:
        """Return the variables known after a block, by its number: the transfer function."""
        b = self.graph.nodes[n]
        now = self.entering(b, known_by)
        now |= {mark.name: _Values(tuple(mark.values), mark.channel) for mark in b.marks}
        return {n: {name: known for name, known in now.items() if known.values}}

    def entering(self, b: Block, known_by: _Ways) -> _Known:
        """Return the variables known at the start of a block; unvisited predecessors are left out."""
        number = self.graph.number
        ways = [(k, known_by[number[p]]) for k, p in enumerate(b.preds) if number[p] in known_by]
        out: _Known = {}
        for name in ways[0][1] if ways else ():
            found = [(k, way[name]) for k, way in ways if name in way]
            shapes = {(tuple(v.kind for v in known.values), known.channel) for _, known in found}
            if len(found) == len(ways) and len(shapes) == 1:
                first = found[0][1]
                values = first.values if len({known for _, known in found}) == 1 else self.met(b, name, found)
                out |= {name: _Values(values, first.channel)} if values else {}
        return out

    def met(self, b: Block, name: str, found: list[tuple[int, _Values]]) -> tuple[IrValue, ...]:
        """Return the phis that merge a variable's values where predecessors differ; () where there are none."""
        made = self.made.get((b, name))
        if made is None:
            columns = [[(k, known.values[n]) for k, known in found] for n in range(len(found[0][1].values))]
            own = [next((i.out for i in b.phis if all(i.args[k] is v for k, v in column)), None) for column in columns]
            if all(own):
                return tuple(v for v in own if v is not None)
            if not self.f.debugged:
                return ()
            made = self.made[b, name] = [Ins(PHI, [], (v.kind,), b.loc) for v in found[0][1].values]
        return tuple(i.out for i in made)


__all__ = ["meet_marks"]
