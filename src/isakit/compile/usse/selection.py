"""Common parts of the rules for the USSE: locations of values, operands that instructions can have, copies.

Negation, absolute value, swizzles and constants are not instructions: their readers read the argument accordingly. A
value that is part of a vector is computed in the vector's registers, an output in its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar

from isakit.compile.ir import Const, Function, Ins, IrOp, IrValue, Mark
from isakit.compile.lower.form import MIns, Operand, OperandReg, VReg
from isakit.compile.lower.rules import Rules
from isakit.compile.lower.select import Selection
from isakit.compile.ops import CMP, COPY, PAND, PHI, PNOT, POR
from isakit.compile.passes.values import count_uses
from isakit.compile.simplify_vectors import constants
from isakit.compile.usse import instructions as hw
from isakit.compile.usse.locations import Home
from isakit.compile.usse.operands import (
    Fixed,
    FixedView,
    Source,
    View,
    hardware_view,
    near,
    readable,
    reading,
)
from isakit.compile.usse.program import LiteralPool, ProgramPlan
from isakit.compile.usse.registers import INTERNAL, Registers
from isakit.compile.usse.target import UsseTarget
from isakit.compile.vector_ops import (
    BITS,
    CHANNELS,
    CONSTANTS,
    DIGITS,
    DISCARD,
    INPUT,
    JOIN,
    ONE,
    OUTPUT,
    SWIZZLE,
    UNIFORM,
    VABS,
    VADD,
    VCMP,
    VCSEL,
    VNEG,
    count,
    element,
)

A = TypeVar("A", bound=tuple[object, ...])
CONDITIONS = (VCMP, CMP, PAND, POR, PNOT)
Lanes = tuple[int, ...]
"""Channels of an instruction."""
_HALVES = ((0, 1, 0, 1), (1, 0, 1, 0))
LAZY = (VNEG, VABS, SWIZZLE, INPUT, UNIFORM, BITS, COPY)
"""Operations that are folded into their readers."""


@dataclass(slots=True, eq=False)
class Dest:
    """Destination of a result: elements of a register from `first` on; `last`: there are no elements after them."""

    v: VReg
    first: int
    count: int
    ty: str
    last: bool = True

    def slice(self, start: int, stop: int) -> Dest:
        """Return some of the elements."""
        if start == 0 and stop == self.count:
            return self
        return Dest(self.v, self.first + start, stop - start, self.ty, self.last and stop == self.count)

    @property
    def internal(self) -> bool:
        """True if all four channels can be written at once."""
        return self.v.cls.file == "i"

    @property
    def start(self) -> int:
        """The register of the first element, counted from an even one: outputs may begin at an odd one."""
        return self.first + (self.v.color or 0 if self.v.fixed else 0)

    @property
    def covers(self) -> bool:
        """True if no other elements share its registers, so that channels can be written two at a time."""
        if self.internal or self.ty != "f16":
            return True
        return self.first % 2 == 0 and ((self.first + self.count) % 2 == 0 or self.last)


class UsseSelection(Selection):
    """Selection for one function.

    Attributes:
        plan: the locations of inputs, uniforms and outputs.
        literals: constants in registers sa.
        evicted: wide values that may not be in internal registers, of which there are few.
        patience: for how many operations a copy of an operand is kept for another reader.
    """

    def __init__(
        self, f: Function, target: UsseTarget, plan: ProgramPlan, literals: LiteralPool, evicted: set[IrValue],
        patience: int = 1 << 30,
    ) -> None:  # fmt: skip
        super().__init__(f, target, set())
        self.registers: Registers = target.registers
        self.plan, self.literals, self.evicted, self.patience = plan, literals, evicted, patience
        self.uses = count_uses(f)
        self.fixed: dict[tuple[str, str], VReg] = {}
        self.copies: dict[Hashable, tuple[VReg, int]] = {}
        """Copies of operands: the register, and the number of the operation that read it last."""
        self.passed = 0
        """Number of the operation that is selected."""
        self.reads = self._count_reads()
        self.begun: set[tuple[VReg, int]] = set()
        self.parts: dict[IrValue, tuple[IrValue, int]] = {}
        """Values that are computed in their place in a vector: (the vector, first element)."""
        self.fused: set[IrValue] = set()
        """Conditions that the one operation which reads them computes."""
        self.outputs: dict[IrValue, str] = {}
        """Values that are computed in the registers of an output."""
        self._find_parts()

    def _find_parts(self) -> None:
        for i in self.f.instructions():
            if i.op is OUTPUT and self.plan.stage != "fragment" and self._own(i.args[0]):
                self.outputs[i.args[0]] = OUTPUT.of(i).name
            if i.op in (PAND, POR, PNOT, DISCARD):
                self.fused |= {a for a in i.args if self._condition(a, i)}
            if _difference(i) is not None and self._own(i.args[0]) and i.args[0].ins.block is i.block:  # type: ignore[union-attr]
                self.fused.add(i.args[0])
            if i.op is not JOIN:
                continue
            at = 0
            for a in i.args:
                n = count(a.kind)
                whole = n == 1 or at == 0
                if self._own(a) and a.ins is not None and a.ins.block is i.block and whole:
                    self.parts[a] = (i.out, at)
                at += n

    def _count_reads(self) -> dict[IrValue, int]:
        """Return how many operations read each value, directly or through operations without cost."""
        reads: dict[IrValue, int] = {}
        for i in self.f.instructions():
            if i.op in LAZY:
                continue
            roots: set[IrValue] = set()
            for v in i.args:
                while v.ins is not None and v.ins.op in (VNEG, VABS, SWIZZLE):
                    v = v.ins.args[0]
                roots.add(v)
            for v in roots:
                reads[v] = reads.get(v, 0) + 1
        return reads

    def _own(self, v: IrValue) -> bool:
        """Return whether `v` is computed by an instruction and read by one operation only."""
        i = v.ins
        return i is not None and self.uses[v] == 1 and i.op not in (*LAZY, PHI) and not self.constant(v)

    def _condition(self, v: IrValue, reader: Ins) -> bool:
        i = v.ins
        return i is not None and self.uses[v] == 1 and i.op in CONDITIONS and i.block is reader.block

    def compared(self, i: Ins) -> Sequence[IrValue]:
        """Return the values that a test compares: for a difference compared with zero, its two operands."""
        return (_difference(i) if i.args[0] in self.fused else None) or i.args

    def constant(self, v: IrValue) -> bool:
        """Return whether a value is a constant, or a vector of constants."""
        return constants(v) is not None

    # --- what the walk through a function asks ----------------------------------------------------------------------
    def begin(self) -> None:
        """Forget copies: later blocks may be reached on paths without them."""
        self.copies = {}

    def line_of(self, i: Ins) -> int:
        """Return the number of the statement: lines of a shader come several times, and in any order."""
        return i.loc[2]

    def as_computed(self, mark: Mark) -> Mark:
        """Return a mark, without its value if it comes before the operations that compute it."""
        if any(not self._computed(v) for v in mark.values):
            mark = Mark(mark.line, mark.name, mark.type, [])
        return super().as_computed(mark)

    def _computed(self, v: IrValue) -> bool:
        """Return whether a value has been computed before this operation, or needs no computation."""
        i = v.ins
        if i is None or i.op is PHI or i in self.done:
            return True
        return i.op in (*LAZY, JOIN) and all(self._computed(a) for a in i.args)

    def taken_over(self, i: Ins) -> bool:
        """Return whether readers read an operation's arguments instead of its result, or compute it themselves."""
        self.passed += 1
        return i.op in LAZY or (bool(i.outs) and (i.out in self.fused or self.constant(i.out)))

    def bring(self, dst: VReg, v: IrValue) -> None:
        """Put a value into a register."""
        if v.kind == "p":
            self.copy_predicate(OperandReg(dst), v)
        elif v.kind == "r":
            self.word_into(OperandReg(dst), v)
        else:
            self.assign(Dest(dst, 0, count(v.kind), element(v.kind)), self.source(v))

    def copy(self, dst: VReg, src: VReg) -> None:
        """Copy a whole register."""
        if dst.cls.file == "p":
            self.copy_predicate(OperandReg(dst), src)
            return
        source = Source(src, tuple(range(dst.size)), "f32", extent=(0, dst.size))
        self.assign(Dest(dst, 0, dst.size, "f32"), source)

    def load(self, dst: OperandReg, value: Const) -> None:
        """Put a constant into a register."""
        self.bring(dst.v, value)

    # --- where values are --------------------------------------------------------------------------------------------
    def vreg(self, v: IrValue) -> VReg:
        """Return the register of a value that is not part of a vector."""
        got = self.vregs.get(v)
        if got is None:
            cls, size = self.kinds[v.kind]
            wide = element(v.kind) == "f32" and count(v.kind) > 2
            if wide and v not in self.evicted and v.ins is not None and v.ins.op is not PHI:
                cls = self.registers.internal
            if v.ins is not None and v.ins.op is VCSEL and cls is self.registers.scalar:
                cls = self.registers.pair  # a scalar in a channel x
            got = self.vregs[v] = self.m.vreg(cls, size)
            if cls.file == "p":
                got.true, got.false = "", "!"
        return got

    def place(self, v: IrValue) -> Dest:
        """Return the destination in which a value is computed."""
        n, ty, at = count(v.kind), element(v.kind), 0
        while v in self.parts:
            v, offset = self.parts[v]
            at += offset
        name = self.outputs.get(v)
        reg = self.fixed_register("output", name) if name is not None else self.vreg(v)
        return Dest(reg, at, n, ty, at + n == count(v.kind))

    def homes(self, v: IrValue) -> Iterator[tuple[IrValue, Home]]:
        """Yield (value, its home) for the computed values that `v` is read from, itself included."""
        at, root = 0, v
        while root in self.parts:
            root, offset = self.parts[root]
            at += offset
        name = self.outputs.get(root)
        got = self.fixed.get(("output", name)) if name is not None else self.vregs.get(root)
        if got is not None:
            yield v, Home(got, at)
        elif v.ins is not None and v.ins.op in (*LAZY, JOIN):
            for a in v.ins.args:
                yield from self.homes(a)

    def registers_of(self, mark: Mark) -> list[VReg]:
        """Return the registers of a mark's values, without internal ones: there are too few of those to keep any."""
        homes = [home.v for v in mark.values for _, home in self.homes(v)]
        return [v for v in homes if v.cls is not INTERNAL and not v.fixed]

    def result(self, i: Ins) -> Dest:
        """Return the destination of an operation's result."""
        return self.place(i.out)

    def fixed_register(self, what: str, name: str) -> VReg:
        """Return the register that an input or output has."""
        got = self.fixed.get((what, name))
        if got is None:
            at = self.plan.register(what, name)
            apart = what == "output" and (self.plan.stage != "fragment" or name == self.plan.native)
            own = self.registers.scalar if at % 2 else self.registers.pair
            got = self.fixed[what, name] = self.m.vreg(
                self.registers.output if apart else own, self.plan.size(what, name)
            )
            got.fixed, got.color = True, at
        return got

    def source(self, v: IrValue) -> Source:
        """Return the source operand that reads `v`: its registers, components and modifiers."""
        n, ty = count(v.kind), element(v.kind)
        i = v.ins
        if isinstance(v, Const):
            return Source(None, (v.value,), ty)
        assert i is not None
        if i.op is JOIN and self.constant(v):
            return Source(None, tuple(a.value for a in i.args if isinstance(a, Const)), ty)
        if i.op is VNEG:
            return self.source(i.args[0]).negated()
        if i.op is VABS:
            return self.source(i.args[0]).absolute()
        if i.op is SWIZZLE:
            return self._swizzled(self.source(i.args[0]), SWIZZLE.of(i).pattern)
        if i.op is BITS:
            inner = self.place(i.args[0]) if self._read_from_register(i.args[0]) else None
            if inner is not None:
                return Source(inner.v, (inner.first,), "f32", extent=(inner.first, 1))
            return self.source(i.args[0])._replace(ty="f32")
        if i.op is INPUT:
            reg = self.fixed_register("input", INPUT.of(i).name)
            return Source(reg, tuple(range(n)), ty, extent=(0, n), reads=self.reads.get(v, 1))
        if i.op is UNIFORM:
            once = self.plan.once.get(UNIFORM.of(i).name)
            at = Fixed("sa", self.plan.uniform(UNIFORM.of(i))) if once is None else Fixed("once", once)
            return Source(at, tuple(range(n)), ty, extent=(0, n), reads=self.reads.get(v, 1))
        return self.read(self.place(v), self.reads.get(v, 1))

    def _read_from_register(self, v: IrValue) -> bool:
        return v.ins is not None and v.ins.op not in LAZY and not self.constant(v)

    def _swizzled(self, s: Source, pattern: str) -> Source:
        letters = [c for c in pattern if c in CONSTANTS]
        if s.base is None:
            one = DIGITS[s.ty]
            return s.swizzled(tuple(one[c] if c in CONSTANTS else s.channels[CHANNELS.index(c)] for c in pattern))
        if letters and (s.neg or s.abs):  # the modifiers would change the constants, too
            s = self.copied(s._replace(extent=(0, 0)), len(s.channels) > 2 and s.ty == "f32")
        return s.swizzled(tuple(c if c in CONSTANTS else s.channels[CHANNELS.index(c)] for c in pattern))

    # --- operands ---------------------------------------------------------------------------------------------------
    def lanes(self, d: Dest) -> Lanes:
        """Return the channels of an instruction that write a destination.

        A scalar may be assigned to either half of a pair; its swizzles follow.
        """
        if d.internal or d.ty == "f16":
            return tuple(range(d.first, d.first + d.count))
        return _HALVES[d.start % 2][: d.count]

    def operand(self, reach: hw.Reach, s: Source, lanes: Lanes) -> OperandReg | FixedView | None:
        """Return a source as the operand of an instruction, None where it cannot be one."""
        base, channels, ty, neg, abs_, _, _ = s
        if base is None:
            return None if (neg and not reach.neg) or (abs_ and not reach.abs) else self._constant(reach, s, lanes)
        if isinstance(base, Fixed):
            bank, at, either = base.bank, base.number, False
        else:
            cls = base.cls
            bank, at, either = cls.file, base.color or 0, cls is self.registers.scalar and not base.fixed
        if reach.own and not self._is_own(bank):
            return None
        got = reading(reach, bank, near(bank, at), either, channels, ty, neg, abs_, lanes)
        if got is None:
            return None
        return (
            FixedView(base, got.view)
            if isinstance(base, Fixed)
            else OperandReg(base, got.unit, got.registers, "", got.view)
        )

    def _is_own(self, bank: str) -> bool:
        """Return whether a bank has registers of the program: in a secondary program, uniforms are, too."""
        return bank in ("g", "i") or (bank in ("sa", "literal") and self.registers.secondary)

    def _constant(self, reach: hw.Reach, s: Source, lanes: Lanes) -> FixedView | None:
        if reach.internal:
            return None
        found = hardware_view(reach, s.channels, s.ty, lanes)
        if found is not None:
            return found
        if reach.own and not self._is_own("literal"):
            return None
        place = self.literals.place(tuple(int(c) for c in s.channels), s.ty)
        if place is None:
            return None
        base, channels = place
        view = View(channels, s.ty)
        if readable(reach, "literal", near("literal", base), channels, s.ty, lanes):
            return FixedView(Fixed("literal", base), view)
        return None

    def fits(self, op: hw.UsseOp, sources: Sequence[Source], lanes: Lanes) -> float:
        """Return the cost of copying the sources that an instruction cannot encode as they are.

        A copy that other operations can use as well costs its share.
        """
        cost = 0.0
        for (_, reach), s in zip(op.sources, sources, strict=True):
            if self.operand(reach, s, lanes) is None:
                shared = reach.internal or (len(s.channels) > 2 and s.ty == "f32")
                have = shared and self._copy((s.base, *s.extent)) is not None
                cost += 0.01 if have else 1 / s.reads if shared and s.extent[1] else 1
        return cost

    def copied(self, s: Source, internal: bool) -> Source:
        """Return a copy of a source in a new register, an internal one if asked for.

        An internal copy has all elements of the value (if `extent` is known), so that other readers can share it, and
        leaves modifiers to them; other copies have the modifiers applied.
        """
        whole = internal and s.base is not None and s.ty == "f32"
        first, n = s.extent
        used = [c for c in s.channels if isinstance(c, int)]
        if whole and used and n <= 4 and all(first <= c < first + n for c in used):
            key = s.base, first, n
            got = self._copy(key)
            if got is None:
                got = self.m.vreg(self.registers.internal, n)
                own = Source(s.base, tuple(range(first, first + n)), s.ty, extent=s.extent)
                with self.under(None):
                    self.assign(Dest(got, 0, n, s.ty), own)
            self.copies[key] = got, self.passed  # now: what makes the copy must not read it
            channels = tuple(c - first if isinstance(c, int) else c for c in s.channels)
            return Source(got, channels, s.ty, s.neg, s.abs, extent=(0, n))
        n = len(s.channels)
        cls, size = self.kinds[s.ty if n == 1 else f"{s.ty}x{n}"]
        if internal:
            cls, size = self.registers.internal, n
        number = (s.ty, *s.channels) if internal and s.base is None else None  # the same constant serves others, too
        t = self._copy(number) if number is not None else None
        if t is None:
            t = self.m.vreg(cls, size)
            with self.under(None):
                self.assign(Dest(t, 0, n, s.ty), s)
        if number is not None:
            self.copies[number] = t, self.passed
        return Source(t, tuple(range(n)), s.ty, extent=(0, n))

    def _copy(self, key: Hashable) -> VReg | None:
        """Return a recent copy, None if there is none."""
        got = self.copies.get(key)
        return got[0] if got is not None and self.passed - got[1] <= self.patience else None

    def legal(self, reach: hw.Reach, s: Source, lanes: Lanes) -> OperandReg | FixedView:
        """Return a source as an operand, from a copy if it cannot be encoded itself."""
        got = self.operand(reach, s, lanes)
        if got is not None:
            return got
        wide = reach.internal or (len(s.channels) > 2 and s.ty == "f32")
        attempt = self.copied(s, wide)
        got = self.operand(reach, attempt, lanes)
        if got is None:  # not in this order of channels
            t = self.copied(attempt._replace(extent=(0, 0)), wide)
            got = self.operand(reach, t, lanes)
        assert got is not None, f"{reach} {s} {lanes}"
        return got

    # --- instructions -----------------------------------------------------------------------------------------------
    def destination(self, d: Dest) -> OperandReg:
        """Return the operand for a result.

        Writing the second half of a register leaves the first one unchanged.
        """
        per = 2 if d.ty == "f16" and not d.internal else 1
        low, high = d.first // per, (d.first + d.count - 1) // per
        beside = False
        if not d.covers:
            units = {(d.v, k) for k in range(low, high + 1)}
            beside = not units.isdisjoint(self.begun)
            self.begun |= units
        view = View(tuple(range(d.first, d.first + d.count)), d.ty)
        return OperandReg(d.v, low, high - low + 1, "part" if beside else "", view)

    def chunks(self, d: Dest) -> list[tuple[int, int]]:
        """Return the parts of a destination that one instruction writes: all, or two f32 at a time.

        For halves, registers that already hold others are written separately.
        """
        if d.internal or d.ty == "f16":
            begun = [not d.covers and (d.v, (d.first + k) // 2) in self.begun for k in range(d.count)]
            return list(pairwise([0, *(k for k in range(1, d.count) if begun[k] != begun[k - 1]), d.count]))
        cuts = [0, *(k for k in range(1, d.count) if (d.start + k) % 2 == 0), d.count]
        return list(pairwise(cuts))

    def emit_to(self, op: hw.UsseOp, d: Dest, *sources: Source) -> MIns:
        """Emit one instruction for a destination that it can write at once."""
        if op.halves and not d.covers:
            t = self.temporary(d.count, d.ty)
            self.emit_to(op, t, *sources)
            op, sources = hw.MUL[d.ty], (self.read(t), Source(None, (ONE[d.ty],) * d.count, d.ty))
        lanes = self.lanes(d)
        ops: dict[str, Operand] = {"dst": self.destination(d)}
        for (name, reach), s in zip(op.sources, sources, strict=True):
            ops[name] = self.legal(reach, s, lanes)
        return self.emit(op, **ops)

    def read(self, d: Dest, reads: int = 1) -> Source:
        """Return a source that reads a destination back; `reads` operations will read it."""
        return Source(d.v, tuple(range(d.first, d.first + d.count)), d.ty, extent=(d.first, d.count), reads=reads)

    def vector(self, d: Dest, candidates: Callable[[Dest], list[tuple[hw.UsseOp, tuple[int, ...]]]],
               *sources: Source) -> None:  # fmt: skip
        """Emit an operation on every element by the best candidate (an instruction with an order of sources).

        The best is the first one that needs the fewest copies.
        """
        for start, stop in self.chunks(d):
            part = d.slice(start, stop)
            mine = [s.slice(start, stop) for s in sources]
            lanes = self.lanes(part)
            fewest, op, order = math.inf, None, ()
            for other, others in candidates(part):
                operands: dict[str, Operand] = {}
                for k, (name, reach) in zip(others, other.sources, strict=True):
                    if (got := self.operand(reach, mine[k], lanes)) is not None:
                        operands[name] = got
                if len(operands) == len(others) and (part.covers or not other.halves):
                    self.emit(other, dst=self.destination(part), **operands)
                    break  # to ask on would give constants a place that nothing reads
                copies = self.fits(other, [mine[k] for k in others], lanes)
                if copies < fewest:
                    fewest, op, order = copies, other, others
                    if not copies:
                        self.emit_to(op, part, *(mine[k] for k in order))
                        break
            else:
                assert op is not None
                self.emit_to(op, part, *(mine[k] for k in order))

    def assign(self, d: Dest, s: Source) -> None:
        """Copy a source to a destination."""
        if s.ty == "f16" and d.ty == "f16" and not d.internal and isinstance(s.base, VReg) and s.plain:
            d, s = raw_words(d, s)
        for start, stop in self.chunks(d):
            part, mine = d.slice(start, stop), s.slice(start, stop)
            self._move(part, mine)

    def _move(self, d: Dest, s: Source) -> None:
        lanes = self.lanes(d)
        mov = hw.MOV[d.ty]
        halved = mov.halves and not d.covers
        wide = d.count > 2 and d.ty == "f32" and not (isinstance(s.base, VReg) and s.base.cls.file == "i")
        if not halved and not wide and self.operand(mov.reach("src1"), s, lanes) is not None:
            m = self.emit_to(mov, d, s)
            m.moves = self._is_copy(d, s)
            return
        if wide and s.plain and s.base is not None:
            pack = hw.PACK_F32["f32"]
            source = self.operand(pack.reach("src1"), s, lanes)
            if source is not None:
                self.emit(pack, dst=self.destination(d), src1=source)
                return
        if d.internal and s.base is not None and self.operand(hw.MUL[d.ty].sources[0][1], s, lanes) is None:
            # A vector that begins at an odd register, for instance: two channels at a time can be read.
            pairs = self.temporary(d.count, d.ty)
            self.assign(pairs, s)
            s = self.read(pairs)
        if s.base is None and self.operand(hw.MUL[d.ty].sources[0][1], s, lanes) is None:
            s = self.read(self.immediates(s))
        self.emit_to(hw.MUL[d.ty], d, s, Source(None, (ONE[d.ty],) * d.count, d.ty))

    def immediates(self, s: Source) -> Dest:
        """Load constants for which no register sa is left into registers by instructions; return these."""
        d = self.temporary(len(s.channels), s.ty)
        bits = [int(c) for c in s.channels]
        if s.ty == "f16":
            bits = [low | high << 16 for low, high in zip(bits[::2], [*bits[1::2], 0], strict=False)]
        for k, word in enumerate(bits):
            self.emit(hw.IMMEDIATE, dst=OperandReg(d.v, k, 1, view=View((0,))), src1=immediate(word))
        return d

    def _is_copy(self, d: Dest, s: Source) -> bool:
        """Return whether source and destination of a copy could be the same registers."""
        return (
            isinstance(s.base, VReg)
            and s.plain
            and self.guard is None
            and s.base.cls.file == d.v.cls.file
            and s.ty == d.ty == "f32"
            and all(c == s.channels[0] + k for k, c in enumerate(s.channels) if isinstance(s.channels[0], int))
        )

    # --- words and predicates ----------------------------------------------------------------------------------------
    def word(self, v: IrValue, immediates: int = 0x7F) -> OperandReg | FixedView:
        """Return an integer in a register, or as an immediate number up to `immediates`."""
        if isinstance(v, Const):
            if v.value <= immediates:
                return FixedView(Fixed("#", v.value), View((0,)))
            place = self.literals.place((v.value,), "f32")
            if place is None:
                return OperandReg(self.immediates(Source(None, (v.value,), "f32")).v, view=View((0,)))
            return FixedView(Fixed("literal", place[0] + place[1][0]), View((0,)))
        i = v.ins
        if i is not None and i.op is BITS:
            s = self.source(i.args[0])
            if s.neg or s.abs or not isinstance(s.channels[0], int) or s.ty != "f32":
                s = self.copied(s, False)
            if s.base is None:
                return self.word(Const(int(s.channels[0])), immediates)
            if isinstance(s.base, VReg) and s.base.cls.file == "i":
                s = self.copied(s._replace(extent=(0, 0)), False)
            at = int(s.channels[0])
            if isinstance(s.base, Fixed):
                return FixedView(Fixed(s.base.bank, s.base.number + at), View((0,)))
            assert s.base is not None
            return OperandReg(s.base, at, 1, view=View((0,)))
        if i is not None and i.op is UNIFORM:
            return FixedView(Fixed("sa", self.plan.uniform(UNIFORM.of(i))), View((0,)))
        if i is not None and i.op is INPUT:
            return OperandReg(self.fixed_register("input", INPUT.of(i).name), 0, 1, view=View((0,)))
        if i is not None and i.op is COPY:
            return self.word(i.args[0], immediates)
        return OperandReg(self.vreg(v), 0, 1, view=View((0,)))

    def register_word(self, v: IrValue) -> OperandReg | FixedView:
        """Return an integer in a register, never as an immediate."""
        return self.word(v, -1)

    def own_word(self, v: IrValue) -> OperandReg | FixedView:
        """Return an integer in a register of the program: some operands reach no uniforms and no constants."""
        got = self.register_word(v)
        if isinstance(got, OperandReg) or self._is_own(got.base.bank):
            return got
        t = self.temporary_word()
        with self.under(None):
            self.word_into(t, v)
        return t

    def word_of(self, i: Ins) -> OperandReg:
        """Return the register of an integer that an operation returns."""
        return OperandReg(self.vreg(i.out), view=View((0,)))

    def temporary_word(self) -> OperandReg:
        """Return a register for an integer."""
        return OperandReg(self.m.vreg(self.registers.scalar), view=View((0,)))

    def multiply(
        self, dst: OperandReg, x: OperandReg | FixedView, y: OperandReg | FixedView,
        z: OperandReg | FixedView | None = None, neg2: bool = False,
    ) -> None:  # fmt: skip
        """Emit x * y + z, or x * y - z, as the pair of instructions that does it."""
        t = self.temporary_word()
        for to, addend, step in ((t, z or immediate(0), ""), (dst, t, "step1")):
            self.emit(hw.IMAD, dst=to, src0=x, src1=y, src2=addend, neg2=neg2, step=step)

    def deliver(self, i: Ins, loaded: Dest) -> None:
        """Make registers that were loaded the result of an operation, or copy them to where it belongs."""
        if i.out in self.parts or i.out in self.outputs:
            d = self.result(i)
            self.assign(d, self.read(loaded.slice(0, d.count)))
        else:
            self.vregs[i.out] = loaded.v

    def word_into(self, dst: OperandReg, v: IrValue) -> None:
        """Put an integer into a register."""
        dst = OperandReg(dst.v, dst.unit, 1, view=View((0,)))
        source = self.word(v)
        m = self.emit(hw.BITWISE["or"], dst=dst, src1=source, src2=immediate(0))
        m.moves = isinstance(source, OperandReg) and source.v.cls is dst.v.cls and self.guard is None

    def temporary(self, n: int = 1, ty: str = "f32") -> Dest:
        """Return registers for an intermediate result."""
        kind = ty if n == 1 else f"{ty}x{n}"
        return Dest(self.m.vreg(*self.kinds[kind]), 0, n, ty)

    def temporary_like(self, d: Dest) -> Dest:
        """Return registers for a value that goes to a destination that cannot be read, or that shares its registers."""
        if d.internal:
            return Dest(self.m.vreg(self.registers.internal, d.count), 0, d.count, d.ty)
        return self.temporary(d.count, d.ty)

    def digits(self, s: Source) -> Source:
        """Return a source to whose channels swizzle constants can be added: one without modifiers, or a constant."""
        if s.base is None or not (s.neg or s.abs):
            return s if s.base is not None else self.copied(s, False)
        return self.copied(s, False)

    def converted(self, d: Dest, s: Source) -> None:
        """Convert elements to the type of the destination."""
        op = hw.PACK_F32[d.ty] if s.ty == "f32" else hw.PACK[d.ty, s.ty]
        for start, stop in self.chunks(d):
            part = d.slice(start, stop)
            self.emit(op, dst=self.destination(part), src1=self.legal(op.reach("src1"), s.slice(start, stop),
                                                                      self.lanes(part)))  # fmt: skip

    def is_aligned(self, d: Dest) -> bool:
        """Return whether one instruction can write a destination, starting at channel x."""
        wide = d.count > 2 and d.ty == "f32"
        return d.first == 0 and d.covers and (d.internal or (not wide and d.v.cls is self.registers.pair))

    def aligned_temporary(self, n: int, ty: str) -> Dest:
        """Return registers for an intermediate result whose first element is a channel x."""
        wide = n > 2 and ty == "f32"
        size = n if ty == "f32" else -(-n // 2)
        return Dest(self.m.vreg(self.registers.internal if wide else self.registers.pair, size), 0, n, ty)

    def aligned(self, s: Source, own: bool) -> Source:
        """Return a source whose elements are the channels x, y ... of a register, one of the program if `own`."""
        n = len(s.channels)
        base = s.base
        even = (isinstance(base, Fixed) and base.number % 2 == 0 and not own) or (
            isinstance(base, VReg) and base.cls in (self.registers.pair, self.registers.internal)
        )
        if even and s.plain and s.channels == tuple(range(n)):
            return s
        t = self.aligned_temporary(n, s.ty)
        with self.under(None):
            self.assign(t, s)
        return self.read(t)

    def beyond_test(self, s: Source, channel: int) -> bool:
        """Return whether a test cannot compare a channel with every other scalar: it is neither of the first two.

        Of f16 halves it is the second one of a register.
        """
        internal = isinstance(s.base, VReg) and s.base.cls.file == "i"
        return channel > 1 if internal else s.ty == "f16" and channel % 2 == 1

    def in_registers(self, s: Source, n: int) -> OperandReg:
        """Return the first elements of a value in consecutive registers, from an even one on."""
        per = 2 if s.ty == "f16" else 1
        v = s.base
        elements = [int(c) for c in s.channels if isinstance(c, int)]
        direct = isinstance(v, VReg) and s.plain and v.cls is self.registers.pair and elements[0] % (2 * per) == 0
        if not (direct and elements == list(range(elements[0], elements[0] + n))):
            d = Dest(self.m.vreg(self.registers.pair, -(-n // per)), 0, n, s.ty)
            self.assign(d, s.slice(0, n))
            v, elements = d.v, list(range(n))
        assert isinstance(v, VReg)
        low, high = elements[0] // per, elements[n - 1] // per
        return OperandReg(v, low, high - low + 1, view=View(tuple(elements[:n]), s.ty))

    def predicate(self, v: IrValue) -> VReg:
        """Return the predicate register of a condition."""
        if isinstance(v, Const):
            p = self.m.vreg(self.registers.predicate)
            p.true, p.false = "", "!"
            self.set_predicate(OperandReg(p), bool(v.value & 1))
            return p
        return self.vreg(v)

    def set_predicate(self, p: OperandReg, value: bool) -> None:
        """Make a predicate constant."""
        self.emit(hw.TEST_INTEGER["u32"], cond="eq" if value else "ne", dst=p, src1=immediate(0), src2=immediate(0))

    def copy_predicate(self, p: OperandReg, v: IrValue | VReg) -> None:
        """Copy a predicate: set it to false, then to true under the other one, as there is no instruction for that."""
        if isinstance(v, Const):
            self.set_predicate(p, bool(v.value & 1))
            return
        other = v if isinstance(v, VReg) else self.vreg(v)
        self.set_predicate(p, False)
        with self.under((other, "")):
            self.set_predicate(p, True)


def _difference(i: Ins) -> tuple[IrValue, IrValue] | None:
    """Return (a, b) of an operation that compares a - b with zero; None of others."""
    if i.op is not VCMP or i.args[0].kind != "f32" or not isinstance(i.args[1], Const) or i.args[1].value:
        return None
    total = i.args[0].ins
    for a, b in (total.args, total.args[::-1]) if total is not None and total.op is VADD else ():
        if b.ins is not None and b.ins.op is VNEG and (a.ins is None or a.ins.op is not VNEG):
            return a, b.ins.args[0]
    return None


def immediate(n: int) -> FixedView:
    """Return a number as an operand."""
    return FixedView(Fixed("#", n), View((0,)))


def raw_words(d: Dest, s: Source) -> tuple[Dest, Source]:
    """Return a copy of f16 elements as one of whole registers, if it is one."""
    e = [int(c) for c in s.channels]
    if not (d.covers and e[0] % 2 == 0 and all(c == e[0] + k for k, c in enumerate(e))):
        return d, s
    n = -(-d.count // 2)
    return (
        Dest(d.v, d.first // 2, n, "f32"),
        Source(s.base, tuple(range(e[0] // 2, e[0] // 2 + n)), "f32", extent=(e[0] // 2, n)),
    )


# --- rules -----------------------------------------------------------------------------------------------------------
RULES: Rules[UsseSelection] = Rules()
"""The rules for the USSE."""

Emit = Callable[[UsseSelection, Ins, A], None]


def rule(
    *ops: IrOp[..., A], when: Callable[[UsseSelection, Ins], bool] | None = None, priority: int = 0
) -> Callable[[Emit[A]], Emit[A]]:
    """Return the decorator that makes a function the rule for some operations."""
    return RULES.rule(*ops, when=when, priority=priority)
