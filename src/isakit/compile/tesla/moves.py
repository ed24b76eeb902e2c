"""Rules for integer comparisons, selects, copies, special registers and effects."""

from __future__ import annotations

from isakit.compile.ir import Const, Ins, IrValue, NoAttributes
from isakit.compile.lower.form import SINK, ZERO, FixedNumber, MemoryReference, OperandReg, PooledLiteral
from isakit.compile.ops import (
    ADDRESS,
    BAR,
    BRKPT,
    CLOCK,
    CMP,
    CMPD,
    CMPF,
    COPY,
    FENCE,
    GENERIC,
    MASK,
    PACK,
    PACK4,
    PARAM,
    PHYSID,
    PMEVENT,
    SEL,
    TEX,
    TID,
    TRAP,
    VOTE,
    WORD,
    Compare,
    Numbered,
    Parameter,
    Space,
    Symbol,
    Vote,
    Word,
)
from isakit.compile.simplify import SWAPPED
from isakit.compile.tesla import instructions as hw
from isakit.compile.tesla.memory import load_shared
from isakit.compile.tesla.plan import SHORT_REACH, Folds
from isakit.compile.tesla.registers import CONDITION
from isakit.compile.tesla.selection import Source, TeslaSelection, literal, rule


# --- conditions ------------------------------------------------------------------------------------------------------
def of_halves(s: TeslaSelection, i: Ins) -> bool:
    """Return whether a comparison is of 16-bit values."""
    return i in s.plan.narrow


@rule(CMP, when=of_halves, priority=1)
def compare_halves(s: TeslaSelection, i: Ins, attrs: Compare) -> None:
    """Compare the sources of two extensions, or of an extension and a constant."""

    def half(v: IrValue) -> OperandReg | PooledLiteral:
        if isinstance(v, Const):
            return PooledLiteral(v.value, half=True)
        assert v.ins is not None
        return s.half(v.ins.args[0])

    a, b = map(half, i.args)
    s.set(i, hw.SET, cond=attrs.cond, ty=attrs.ty[0] + "16", src1=a, src2=b)


@rule(CMP, folds=Folds.PAIR)
def compare(s: TeslaSelection, i: Ins, attrs: Compare) -> None:
    """Compare words."""
    a, b, swapped = s.pair(i)
    cond = SWAPPED.get(attrs.cond, attrs.cond) if swapped else attrs.cond
    s.set(i, hw.SET, cond=cond, ty=attrs.ty, src1=s.plain(a), src2=b)


def made_by_comparison(s: TeslaSelection, i: Ins) -> bool:
    """Return whether a comparison has produced the mask of its condition."""
    p = i.args[0]
    return p.ins is not None and p.ins.op in (CMP, CMPF, CMPD) and p.ins not in s.plan.skipped and s.masks.get(p) is i


@rule(MASK, when=made_by_comparison, priority=1)
def mask_of_comparison(s: TeslaSelection, i: Ins, _: NoAttributes) -> None:
    """Emit nothing: the comparison has produced the mask."""


@rule(MASK)
def mask(s: TeslaSelection, i: Ins, _: NoAttributes) -> None:
    """Load 0, and all ones under the condition."""
    p, dst = i.args[0], s.result(i)
    if isinstance(p, Const):
        s.move(dst, PooledLiteral(-(p.value & 1)))
        return
    c = s.vreg(p)
    s.move(dst, ZERO)
    s.move_under(c, c.true, dst, PooledLiteral(0xFFFF_FFFF))


# --- choices ---------------------------------------------------------------------------------------------------------
def _choice(s: TeslaSelection, i: Ins, k: int) -> Source:
    v = i.args[k]
    return literal(v) if isinstance(v, Const) else s.source(i, k)


def of_an_operation(s: TeslaSelection, i: Ins) -> bool:
    """Return whether one of the values can be computed under the condition."""
    return i in s.plan.delayed


@rule(SEL, when=of_an_operation, priority=1)
def choose_operation(s: TeslaSelection, i: Ins, _: NoAttributes) -> None:
    """Move the other value, and execute the operation under the condition."""
    c, dst = s.vreg(i.args[0]), s.result(i)
    k, inner = s.plan.delayed[i]
    s.move(dst, _choice(s, i, 3 - k))
    at, s.at, s.into = s.at, inner, dst.v
    with s.under((c, c.true if k == 1 else c.false)):
        s.rules.select(s, inner)
    s.at, s.into = at, None


@rule(SEL, folds=Folds.CHOICE)
def choose(s: TeslaSelection, i: Ins, _: NoAttributes) -> None:
    """Move one value, and the other one under the condition.

    If one is a constant, the other one is moved first, because its copy may be coalesced.
    """
    c, dst = s.vreg(i.args[0]), s.result(i)
    first, second, test = 2, 1, c.true
    if isinstance(i.args[2], Const) and not isinstance(i.args[1], Const):
        first, second, test = 1, 2, c.false
    s.move(dst, _choice(s, i, first))
    s.move_under(c, test, dst, _choice(s, i, second))


# --- pairs and copies ------------------------------------------------------------------------------------------------
@rule(COPY, folds=Folds.FIRST)
def copy(s: TeslaSelection, i: Ins, _: NoAttributes) -> None:
    """Copy a word."""
    s.move(s.result(i), s.source(i, 0))


@rule(GENERIC)
def generic(s: TeslaSelection, i: Ins, _: Space) -> None:
    """Copy an address."""
    s.move(s.result(i), s.reg(i.args[0]))


@rule(PACK, PACK4)
def pack(s: TeslaSelection, i: Ins, _: NoAttributes) -> None:
    """Copy words into consecutive registers."""
    s.gather(s.vreg(i.out), i.args)


@rule(WORD)
def word(s: TeslaSelection, i: Ins, attrs: Word) -> None:
    """Copy a word of a wider value; a texel has only the words that are read."""
    v, unit = i.args[0], attrs.i
    if v.ins is not None and v.ins.op is TEX:
        unit = sorted(s.words[v]).index(unit)
    s.move(s.result(i), OperandReg(s.vreg(v), unit))


# --- special registers -----------------------------------------------------------------------------------------------
@rule(TID)
def tid(s: TeslaSelection, i: Ins, _: NoAttributes) -> None:
    """Read $r0, where the kernel finds it."""
    r = s.vreg(i.out)
    r.fixed, r.color = True, 0


@rule(PARAM)
def parameter(s: TeslaSelection, i: Ins, attrs: Parameter) -> None:
    """Read shared memory."""
    offset, mode, _ = attrs
    if offset <= SHORT_REACH[mode]:
        s.emit(hw.MOV, ty="b32", dst=s.result(i), src1=MemoryReference("s", None, offset, mode))
    else:
        load_shared(s, s.result(i), mode, None, offset)


@rule(ADDRESS)
def address(s: TeslaSelection, i: Ins, attrs: Symbol) -> None:
    """Read the table of addresses of variables."""
    slot = s.f.globals.index(attrs.name)
    s.emit(hw.LD_C, dst=s.result(i), ty="b32", src=MemoryReference("c14", None, slot, "global"))


@rule(CLOCK, PHYSID)
def special(s: TeslaSelection, i: Ins, _: NoAttributes) -> None:
    """Emit a read of a special register."""
    s.emit(hw.MOV_SPECIAL, dst=s.result(i), special=f"${i.op}")


# --- effects ---------------------------------------------------------------------------------------------------------
@rule(BAR)
def barrier(s: TeslaSelection, i: Ins, attrs: Numbered) -> None:
    """Emit a barrier for all threads of the block."""
    s.emit(hw.BAR, barrier=FixedNumber(attrs.id), inc=True, wait=True, count=0xFFF)


@rule(FENCE)
def fence(s: TeslaSelection, i: Ins, _: NoAttributes) -> None:
    """Emit nothing: memory is accessed in program order."""


@rule(TRAP)
def trap(s: TeslaSelection, i: Ins, _: NoAttributes) -> None:
    """Emit a trap, which ends the launch."""
    s.emit(hw.TRAP)


@rule(BRKPT)
def breakpoint_(s: TeslaSelection, i: Ins, _: NoAttributes) -> None:
    """Emit a breakpoint for a debugger."""
    s.emit(hw.BRKPT)


@rule(PMEVENT)
def event(s: TeslaSelection, i: Ins, attrs: Numbered) -> None:
    """Emit `pmevent`, which counts an event."""
    s.emit(hw.PMEVENT, event=FixedNumber(attrs.id))


@rule(VOTE)
def vote(s: TeslaSelection, i: Ins, attrs: Vote) -> None:
    """Emit a vote of all lanes on a condition."""
    p = i.args[0]
    if isinstance(p, Const):
        c = s.m.vreg(CONDITION)
        s.emit(hw.SET, dst=SINK, cdst=OperandReg(c), cond="e" if p.value & 1 else "lg", ty="u32", src1=ZERO, src2=ZERO)
    else:
        c = s.vreg(p)
    s.emit(hw.VOTE, kind=attrs.kind, cdst=OperandReg(s.vreg(i.out))).guard = c, c.true
