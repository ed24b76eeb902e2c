"""Liveness, as sets of single registers of virtual registers.

Inside a block the set is small; at block boundaries a bit set has bits only for registers that are live across blocks,
so that the time for a long block is proportional to its length.
"""

from __future__ import annotations

from isakit.compile.lower.form import MBlock, MFunction, MIns, OperandReg, VReg
from isakit.errors import DefinitionError
from isakit.flow.bits import bits, indices
from isakit.flow.dataflow import live_sets
from isakit.flow.graph import FlowGraph


class BlockLiveness:
    """Registers live at the beginning and at the end of every block.

    `first` is the number of a virtual register's first unit. A predicated write does not kill the old value, unless it
    is the only write of the register. `file`: restrict it to the registers of this file. `operands` returns those of
    them that an instruction writes and reads.

    Raises DefinitionError for a register that is read and never written.
    """

    def __init__(self, m: MFunction, file: str = "") -> None:
        self.m, self.file = m, file
        self.first: dict[VReg, int] = {}
        n = 0
        for v in m.vregs:
            v.defs = 0
            self.first[v] = n
            n += v.size
        self.owner: list[tuple[VReg, int]] = [(v, k) for v in m.vregs for k in range(v.size)]
        self.writes = [0] * n
        self.operands: dict[MIns, tuple[list[OperandReg], list[OperandReg]]] = {}
        for b in m.blocks:
            for i in b.ins:
                defs, uses = i.defs(), i.uses()
                for r in defs:
                    r.v.defs += 1
                if file:
                    defs = [r for r in defs if r.v.cls.file == file]
                    uses = [r for r in uses if r.v.cls.file == file]
                for r in defs:
                    for u in self.units(r):
                        self.writes[u] += 1
                self.operands[i] = defs, uses
        for i, (_, uses) in self.operands.items():
            if any(not r.v.defs and not r.v.fixed for r in uses):
                raise DefinitionError(
                    f"`{i}` reads a register that nothing writes: a rule emits nothing into its result, or the row of "
                    "the machine instruction does not have the operand among its results"
                )
        self._solve()

    def units(self, r: OperandReg) -> range:
        """Return the units of an operand."""
        start = self.first[r.v] + r.unit
        return range(start, start + r.count)

    def keeps(self, i: MIns, r: OperandReg) -> bool:
        """Return whether a write preserves the old value in lanes that need it."""
        return i.guard is not None and any(self.writes[u] > 1 for u in self.units(r))

    def kept(self, i: MIns) -> list[int]:
        """Return the units kept alive until an instruction for the sake of a variable."""
        if not self.m.kept:
            return []
        return [
            self.first[v] + n
            for v in self.m.kept.get(i, ()) for n in range(v.size) if not self.file or v.cls.file == self.file
        ]  # fmt: skip

    def step(self, i: MIns, live: set[int]) -> None:
        """Turn the registers live after an instruction into those live before it."""
        defs, uses = self.operands[i]
        for r in defs:
            if not r.half and not self.keeps(i, r):
                live.difference_update(self.units(r))
        for r in uses:
            live.update(self.units(r))
        live.update(self.kept(i))

    def entering(self, b: MBlock) -> set[int]:
        """Return the registers that are live at the start of a block."""
        return {self._across[k] for k in indices(self.inside[b])}

    def leaving(self, b: MBlock) -> set[int]:
        """Return the registers that are live at the end of a block, its own condition included."""
        live = {self._across[k] for k in indices(self.outside[b])}
        if b.cond is not None and self._looks_at(b.cond[0]):
            live.add(self.first[b.cond[0]])
        return live

    def _looks_at(self, v: VReg) -> bool:
        return not self.file or v.cls.file == self.file

    def _solve(self) -> None:
        use: dict[MBlock, set[int]] = {}
        kill: dict[MBlock, set[int]] = {}
        first, kept = self.first, bool(self.m.kept)
        for b in self.m.blocks:
            u: set[int] = set()
            k: set[int] = set()
            if b.cond is not None and self._looks_at(b.cond[0]):
                u.add(self.first[b.cond[0]])
            for i in reversed(b.ins):
                defs, uses = self.operands[i]
                for r in defs:
                    if not r.half and (i.guard is None or not self.keeps(i, r)):
                        start = first[r.v] + r.unit
                        if r.count == 1:
                            u.discard(start)
                            k.add(start)
                        else:
                            u.difference_update(range(start, start + r.count))
                            k.update(range(start, start + r.count))
                for r in uses:
                    start = first[r.v] + r.unit
                    if r.count == 1:
                        u.add(start)
                    else:
                        u.update(range(start, start + r.count))
                if kept:
                    u.update(self.kept(i))
            use[b], kill[b] = u, k
        self._across = sorted(set[int]().union(*use.values()))
        """The units that some block needs from others; bit sets know no others."""
        bit = {u: n for n, u in enumerate(self._across)}
        graph = FlowGraph(self.m.blocks, lambda b: b.succs)
        gives = [bits(bit[u] for u in use[b]) for b in graph.nodes]
        takes = [bits(bit[u] for u in kill[b] if u in bit) for b in graph.nodes]
        live = live_sets(graph, gives, takes)
        self.inside = dict(zip(graph.nodes, live.entering, strict=True))
        self.outside = dict(zip(graph.nodes, live.leaving, strict=True))
