"""Compiles the form of a shader to a shader file: what happens in which order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from isakit.compile.check import verify
from isakit.compile.ir import Function, IrValue
from isakit.compile.lower.allocate import Allocation, OutOfRegistersError, allocate
from isakit.compile.lower.form import MFunction, VReg
from isakit.compile.lower.liveness import BlockLiveness
from isakit.compile.lower.tidy import lay_out_blocks, remove_empty_blocks
from isakit.compile.passes.edges import merge_straight_blocks, split_critical_edges
from isakit.compile.passes.ssa import construct_ssa
from isakit.compile.passes.values import eliminate_common_subexpressions, eliminate_dead_code
from isakit.compile.passes.vectors import (
    extend_dot_products,
    fuse_products,
    lower_vectors,
    narrow_vectors,
    predicate_discards,
    sink_joins,
)
from isakit.compile.usse import rules
from isakit.compile.usse.emit import CodeText, Emitter
from isakit.compile.usse.program import LiteralPool, ProgramPlan
from isakit.compile.usse.registers import INTERNAL, Registers
from isakit.compile.usse.selection import RULES, UsseSelection
from isakit.compile.usse.target import UsseTarget
from isakit.errors import DefinitionError

Pass = Callable[[Function], None]
EARLY: tuple[Pass, ...] = (
    construct_ssa,
    predicate_discards,
    eliminate_common_subexpressions,
    merge_straight_blocks,
    lower_vectors,
    eliminate_common_subexpressions,
    eliminate_dead_code,
    narrow_vectors,
    eliminate_common_subexpressions,
    eliminate_dead_code,
    sink_joins,
    eliminate_common_subexpressions,
    eliminate_dead_code,
)
"""What is done to a function first, in this order."""
LATE: tuple[Pass, ...] = (
    extend_dot_products,
    fuse_products,
    eliminate_common_subexpressions,
    eliminate_dead_code,
    narrow_vectors,
    eliminate_common_subexpressions,
    eliminate_dead_code,
    split_critical_edges,
)
"""What is done after what depends on uniforms alone has left, in this order."""

ROUNDS = 40
PATIENCE = (1 << 30, 16, 4, 0)
"""For how many operations a copy of an operand may wait for its next reader, until everything finds a register."""
__all__ = ["EARLY", "LATE", "ProgramCode", "compile_program", "optimized", "rules"]


@dataclass
class ProgramCode:
    """Machine code of a program before its registers sa are placed."""

    m: MFunction
    registers: Registers
    literals: LiteralPool

    def text(self, literals: int, once: int = 0) -> CodeText:
        """Return the assembly, for literals from a register sa on, and what is computed once from another one on."""
        return Emitter(self.m, self.registers, literals, once).run()


def optimized(f: Function, passes: tuple[Pass, ...] = EARLY + LATE) -> Function:
    """Bring a function into the form that selection takes, and check it once."""
    for step in passes:
        step(f)
    verify(f, f"the passes up to {passes[-1].__name__}")
    return f


def compile_program(
    f: Function, plan: ProgramPlan, registers: Registers, literals: LiteralPool, evicted: set[IrValue] | None = None
) -> ProgramCode:
    """Return the code of a function whose values are defined once.

    Wide values that find no internal register live in pairs of others: then everything is selected again, since other
    instructions read and write them; `evicted` remembers which, for another time. Raises OutOfRegistersError.
    """
    target = UsseTarget(registers, RULES)
    evicted = set[IrValue]() if evicted is None else evicted
    pool = LiteralPool(room=literals.room)
    patience = PATIENCE[0]
    for _ in range(ROUNDS):
        pool.words = list(literals.words)
        s = UsseSelection(f, target, plan, pool, evicted, patience)
        m = s.run()
        crowded = _crowded(m, target, s)
        if crowded is None:  # copies of operands are in the way: they are made for fewer readers
            if patience == PATIENCE[-1]:
                raise OutOfRegistersError
            patience = PATIENCE[PATIENCE.index(patience) + 1]
        elif crowded:
            evicted |= crowded
        else:
            break
    else:
        raise OutOfRegistersError
    literals.words = pool.words
    _check_defined(m)
    allocate(m, target)
    remove_empty_blocks(m)
    lay_out_blocks(m)
    ends = [b for b in m.blocks if not b.succs]
    if len(ends) > 1:
        raise DefinitionError(f"{m.name}: {len(ends)} blocks end the program, which has one end")
    m.blocks = [*(b for b in m.blocks if b.succs), *ends]  # what ends a program is that nothing follows
    return ProgramCode(m, registers, literals)


def _check_defined(m: MFunction) -> None:
    """Refuse code that reads a register nothing has written: a fault of a rule, which would be a wrong value.

    Raises DefinitionError.
    """
    live = BlockLiveness(m)
    lost = {v for v, _ in (live.owner[u] for u in live.entering(m.blocks[0])) if not v.fixed}
    if lost:
        raise DefinitionError(f"{m.name}: {min(map(str, lost))} is read and never written\n{m.dump()}")


def _crowded(m: MFunction, target: UsseTarget, s: UsseSelection) -> set[IrValue] | None:
    """Return wide values that have to leave the internal registers so that the others fit; none if all do.

    Of those that are in the way of one that finds no register it is the one that is read least for the room it takes.
    Returns None where no value is in the way, but only copies.
    """
    attempt = Allocation(m, target, target.general.count, INTERNAL.file)
    attempt.merge()
    owners = {r: v for v, r in s.vregs.items() if r.cls is INTERNAL}
    near, first, owner = attempt.graph.near, attempt.first, attempt.graph.live.owner
    reads: dict[VReg, int] = {}
    failed = attempt.color()
    for b in m.blocks if failed else ():
        for i in b.ins:
            for r in (*i.uses(), *i.defs()):
                reads[r.v] = reads.get(r.v, 0) + 1

    def price(w: VReg) -> float:
        return reads.get(w, 0) / (1 + sum(len(near[first[w] + k]) for k in range(w.size)))

    while failed:
        chosen: set[VReg] = set()
        for v in failed:
            rivals = {w for w in (v, *(owner[u][0] for k in range(v.size) for u in near[first[v] + k])) if w in owners}
            if not rivals:
                return {owners[w] for w in attempt.left_out} or None
            if chosen.isdisjoint(rivals):
                chosen.add(min(rivals, key=price))
        attempt.leave_out(chosen)
        failed = attempt.color()
    return {owners[w] for w in attempt.left_out}
