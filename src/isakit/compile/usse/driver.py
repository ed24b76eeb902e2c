"""Compiles the IR of a shader to a shader file: the order of all stages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from isakit.compile.check import verify
from isakit.compile.ir import NOWHERE, AnyOp, Const, Function, IrValue, Loc
from isakit.compile.lower.allocate import Allocation, OutOfRegistersError, allocate
from isakit.compile.lower.form import MFunction, VReg
from isakit.compile.lower.kept import keep_variables
from isakit.compile.lower.liveness import BlockLiveness
from isakit.compile.lower.tidy import lay_out_blocks, remove_empty_blocks
from isakit.compile.passes.edges import jump_past_empty_blocks, merge_straight_blocks, split_critical_edges
from isakit.compile.passes.meetings import meet_marks
from isakit.compile.passes.schedule import RegisterNeeds, recompute, schedule_for_registers
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
from isakit.compile.usse import integers, rules
from isakit.compile.usse.emit import CodeText, Emitter
from isakit.compile.usse.guards import convert_ifs_to_guards
from isakit.compile.usse.locations import UsseLocations
from isakit.compile.usse.loops import shape_loops
from isakit.compile.usse.program import LiteralPool, ProgramPlan
from isakit.compile.usse.registers import INTERNAL, Registers, words
from isakit.compile.usse.selection import LAZY, RULES, UsseSelection
from isakit.compile.usse.target import UsseTarget
from isakit.compile.vector_ops import (
    INPUT,
    JOIN,
    SAMPLE,
    UNIFORM,
    UNIFORM_AT,
    VADD,
    VCMP,
    VCVT,
    VMAD,
    VMAX,
    VMIN,
    VMUL,
    VSUBFLOOR,
)
from isakit.errors import DefinitionError

Pass = Callable[[Function], None]


def meet_marks_for_debuggers(f: Function) -> None:
    """Give variables of a debug build values at merges as well."""
    if f.debugged:
        meet_marks(f)


EARLY: tuple[Pass, ...] = (
    jump_past_empty_blocks,
    construct_ssa,
    meet_marks_for_debuggers,
    predicate_discards,
    eliminate_common_subexpressions,
    merge_straight_blocks,
    lower_vectors,
    eliminate_common_subexpressions,
    eliminate_dead_code,
    narrow_vectors,
    eliminate_common_subexpressions,
    eliminate_dead_code,
)
"""The first passes, in this order."""
JOINED: tuple[Pass, ...] = (sink_joins, eliminate_common_subexpressions, eliminate_dead_code)
"""The passes after precision has been settled, in this order."""
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
"""The passes after the code that depends on uniforms alone has been split off, in this order."""


def _given(v: IrValue) -> tuple[str, int] | None:
    """Return the name of an input and how many registers it has; uniforms occupy none of the program's own."""
    if v.ins is None or v.ins.op not in (INPUT, UNIFORM):
        return None
    return (INPUT.of(v.ins).name, words(v.kind)) if v.ins.op is INPUT else ("", 0)


def _size(v: IrValue) -> int:
    constant = v.ins is not None and v.ins.op is JOIN and all(isinstance(a, Const) for a in v.ins.args)
    return 0 if constant else words(v.kind)


def lower_pressure(f: Function) -> None:
    """Order operations so that few registers are live at a time."""
    schedule_for_registers(f, RegisterNeeds(_size, LAZY, _given))


def compute_again(*ops: AnyOp, near: int) -> Pass:
    """Return the pass that rematerializes results that are read late, and reorders everything."""

    def run(f: Function) -> None:
        recompute(f, (*ops, *CHEAP), LAZY, near)
        narrow_vectors(f)
        lower_pressure(f)

    return run


CHEAP = (VADD, VMUL, VMAD, VMIN, VMAX, VCVT, VSUBFLOOR, VCMP, UNIFORM_AT)
"""Operations that cost one instruction."""
REMEDIES: tuple[Pass, ...] = (
    lower_pressure,
    compute_again(near=12),
    compute_again(SAMPLE, near=12),
    compute_again(SAMPLE, near=3),
)
"""Remedies for a program that needs more registers than there are, tried one after the other."""
HOPELESS = 3
"""Ratio of live to existing registers above which rematerialization is not tried: it could not help enough."""
ROUNDS = 40
PATIENCE = (1 << 30, 16, 4, 0)
"""Distances, in operations, over which a copy of an operand is kept for its next reader: tried until all registers
fit."""
__all__ = ["EARLY", "JOINED", "LATE", "ProgramCode", "compile_program", "integers", "optimized", "rules"]


class RegisterPressureError(Exception):
    """A program needs more registers than there are, in any order that was tried.

    Attributes: `loc` (where most registers are live), `needed` (how many), `there` (how many exist).
    """

    def __init__(self, needed: int, there: int, loc: Loc) -> None:
        self.needed, self.there, self.loc = needed, there, loc
        more = f"{needed} of the {there} registers are live here, and not all values find a place in the others"
        many = f"{needed} registers are live here; there are {there}"
        super().__init__("the shader needs too many registers: " + (many if needed > there else more))


def _pressure(m: MFunction, registers: Registers) -> RegisterPressureError:
    """Return the error for the point where most registers are live."""
    live = BlockLiveness(m)
    most: tuple[int, Loc] = 0, NOWHERE
    for b in m.blocks:
        now = live.leaving(b)
        for i in reversed(b.ins):
            n = sum(live.owner[u][0].cls.file == registers.scalar.file for u in now)
            most = max(most, (n, i.loc), key=lambda found: found[0])
            live.step(i, now)
    return RegisterPressureError(most[0], registers.scalar.count, most[1])


@dataclass
class ProgramCode:
    """Machine code of a program before its secondary-attribute registers (sa) are assigned."""

    m: MFunction
    registers: Registers
    literals: LiteralPool
    selection: UsseSelection

    def text(self, literals: int, once: int = 0) -> CodeText:
        """Return the assembly, given the first registers sa of literals and of values computed once per draw."""
        return Emitter(self.m, self.registers, literals, once).run()

    def locations(self, code: CodeText, addresses: Mapping[int, int], once: int = 0) -> UsseLocations:
        """Return the locations of variables; `addresses` are those of the instructions of the text, by number."""
        s = self.selection
        at = {i: addresses[n] for i, n in code.numbers.items()}
        homes = {of: home for mark in self.m.marks for v in mark.values for of, home in s.homes(v)}
        inputs = {name: v for (what, name), v in s.fixed.items() if what == "input"}
        return UsseLocations(self.m, at, code.endings, homes, inputs, s.plan, self.registers, once)


def optimized(f: Function, passes: tuple[Pass, ...] = EARLY + LATE) -> Function:
    """Bring a function into the form that selection takes, and return it."""
    for step in passes:
        step(f)
    return f


def compile_program(
    f: Function, plan: ProgramPlan, registers: Registers, literals: LiteralPool, evicted: set[IrValue] | None = None
) -> ProgramCode:
    """Return the code of a function in SSA form.

    If it needs too many registers, operations are reordered and results rematerialized; no register is spilled, because
    no known file describes memory for that. Raises RegisterPressureError.
    """
    evicted = set[IrValue]() if evicted is None else evicted
    verify(f, "all passes")
    for remedy in (*REMEDIES, None):
        try:
            return _attempt(f, plan, registers, literals, evicted)
        except RegisterPressureError as e:
            hopeless = remedy is not REMEDIES[0] and e.needed > HOPELESS * e.there
            if remedy is None or hopeless:
                raise
            evicted.clear()
            remedy(f)
    raise AssertionError


def _attempt(
    f: Function, plan: ProgramPlan, registers: Registers, literals: LiteralPool, evicted: set[IrValue]
) -> ProgramCode:
    """Return the code of a function in the present order of its operations.

    Wide values that get no internal register live in pairs of others: then everything is selected again, since other
    instructions read and write them; `evicted` collects them for later attempts. Raises RegisterPressureError.
    """
    if f.debugged:  # the internal registers are too few to keep variables in
        evicted |= {v for b in f.blocks for mark in b.marks for v in mark.values}
    target = UsseTarget(registers, RULES)
    pool = LiteralPool(room=literals.room)
    patience = PATIENCE[0]
    s, m = UsseSelection(f, target, plan, pool, evicted, patience), MFunction(f.name)
    for _ in range(ROUNDS):
        pool.words = list(literals.words)
        s = UsseSelection(f, target, plan, pool, evicted, patience)
        m = s.run()
        crowded = _crowded(m, target, s)
        if crowded is None:  # copies of operands are in the way: they are made for fewer readers
            if patience == PATIENCE[-1]:
                raise _pressure(m, registers)
            patience = PATIENCE[PATIENCE.index(patience) + 1]
        elif crowded:
            evicted |= crowded
        else:
            break
    else:
        raise _pressure(m, registers)
    literals.words = pool.words
    _check_defined(m)
    if f.debugged:
        keep_variables(m, lambda _, mark: s.registers_of(mark))
    try:
        allocate(m, target, room=target.general.count)
    except OutOfRegistersError:
        raise _pressure(m, registers) from None
    remove_empty_blocks(m)
    convert_ifs_to_guards(m)
    remove_empty_blocks(m)
    looped = bool(m.back_edges())
    if not looped:
        lay_out_blocks(m)
    _end_once(m)
    if looped:
        shape_loops(m)
    return ProgramCode(m, registers, literals, s)


def _end_once(m: MFunction) -> None:
    """Move the block that ends the program to the end: nothing follows it, and all exits lead there."""
    ends = [b for b in m.blocks if not b.succs]
    if len(ends) > 1:
        end = m.made()
        for b in ends:
            b.succs = [end]
        ends = [end]
    m.blocks = [*(b for b in m.blocks if b.succs), *ends]
    m.connect()


def _check_defined(m: MFunction) -> None:
    """Raise DefinitionError for code that reads an unwritten register: a bug in a rule that would give wrong values."""
    live = BlockLiveness(m)
    lost = {v for v, _ in (live.owner[u] for u in live.entering(m.blocks[0])) if not v.fixed}
    if lost:
        raise DefinitionError(f"{m.name}: {min(map(str, lost))} is read and never written\n{m.dump()}")


def _crowded(m: MFunction, target: UsseTarget, s: UsseSelection) -> set[IrValue] | None:
    """Return wide values to evict from the internal registers so that the others fit; none if all do.

    Among the values that interfere with one without a register, it is the one with the fewest reads per value it
    interferes with. Returns None if only copies interfere.
    """
    attempt = Allocation(m, target, target.general.count, INTERNAL.file)
    attempt.merge()
    owners = {r: v for v, r in s.vregs.items() if r.cls is INTERNAL}
    near, first = attempt.graph.near, attempt.first
    of = [v for v, _ in attempt.graph.live.owner]
    reads: dict[VReg, int] = {}
    prices: dict[VReg, tuple[float, int]] = {}
    failed = attempt.color()
    for b in m.blocks if failed else ():
        for i in b.ins:
            for r in (*i.uses(), *i.defs()):
                reads[r.v] = reads.get(r.v, 0) + 1

    def price(w: VReg) -> tuple[float, int]:
        if w not in prices:
            prices[w] = reads.get(w, 0) / (1 + sum(len(near[first[w] + k]) for k in range(w.size))), w.number
        return prices[w]

    while failed:
        chosen: set[VReg] = set()
        prices.clear()
        for v in failed:
            rivals = owners.keys() & {v, *[of[u] for k in range(v.size) for u in near[first[v] + k]]}
            if not rivals:
                return {owners[w] for w in attempt.left_out} or None
            if chosen.isdisjoint(rivals):
                chosen.add(min(rivals, key=price))
        attempt.leave_out(chosen)
        failed = attempt.color()
    return {owners[w] for w in attempt.left_out}
