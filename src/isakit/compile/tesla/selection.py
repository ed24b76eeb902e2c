"""Common parts of the rules for Tesla chips: operands as the plan wants them, conditions, masks.

Source: [tesla] 5 to 9; the sequences for products and shifts are those of NVIDIA's compiler in [corpus].
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from isakit.compile.ir import AnyOp, Block, Const, Function, Ins, IrOp, IrValue
from isakit.compile.lower.form import (
    SINK,
    ZERO,
    FixedNumber,
    MemoryReference,
    Operand,
    OperandReg,
    PooledLiteral,
    VReg,
    Zero,
)
from isakit.compile.lower.rules import Rules
from isakit.compile.lower.select import Selection
from isakit.compile.lower.target import Target
from isakit.compile.ops import LD, LDC, MASK, PARAM, SAR, SHR, WORD
from isakit.compile.tesla import instructions as hw
from isakit.compile.tesla.chip import Chip
from isakit.compile.tesla.plan import FoldingPlan, Folds, OperandFacts
from isakit.compile.tesla.registers import ADDRESS, GENERAL

Source = OperandReg | PooledLiteral | MemoryReference | Zero
"""An operand that is read: a register, a constant, a word of shared or constant memory, the register that reads 0."""


class TeslaSelection(Selection):
    """Selection for one function.

    Attributes: `plan` (which operations are folded), `masks` (condition to the mask that its comparison also produces),
    `words` (the words of a wide value that are read), `into` (the destination of the next result, instead of its own
    register).
    """

    def __init__(self, f: Function, target: Target, chip: Chip, divergent: set[Block]) -> None:
        super().__init__(f, target, divergent)
        self.chip = chip
        self.plan = FoldingPlan(f, RULES.facts)
        self.constants: dict[int, VReg] = {}
        self.into: VReg | None = None
        self.masks: dict[IrValue, Ins] = {}
        self.words: dict[IrValue, set[int]] = {}
        for i in f.instructions():
            if i.op is MASK and i.args[0].ins is not None and i.args[0].ins.block is i.block:
                self.masks[i.args[0]] = i
            elif i.op is WORD:
                self.words.setdefault(i.args[0], set()).add(WORD.of(i).i)

    def begin(self) -> None:
        """Start a block: drop the registers of constants, which paths to it need not have loaded."""
        self.constants = {}

    def taken_over(self, i: Ins) -> bool:
        """Return whether the plan has folded an operation into other ones."""
        return i in self.plan.skipped

    def copy(self, dst: VReg, src: VReg) -> None:
        """Copy a whole register."""
        if dst.cls is ADDRESS:
            self.emit(hw.ADD_A, adst=OperandReg(dst), src=OperandReg(src), offset=FixedNumber(0)).moves = True
            return
        for k in range(dst.size):
            self.emit(hw.MOV, ty="b32", dst=OperandReg(dst, k), src1=OperandReg(src, k)).moves = True

    def load(self, dst: OperandReg, value: Const) -> None:
        """Put a constant into a register."""
        self.move(dst, literal(value))

    # --- operands ---------------------------------------------------------------------------------------------------
    def reg(self, v: IrValue) -> OperandReg | Zero:
        """Return the register of a value; for 0, the register that reads 0."""
        return ZERO if isinstance(v, Const) and v.value == 0 else self.register(v)

    def register(self, v: IrValue) -> OperandReg:
        """Return the general register of a value; constants are loaded first."""
        if isinstance(v, Const):
            got = self.constants.get(v.value)
            if got is None:
                got = self.m.vreg(GENERAL)
                with self.under(None):
                    self.emit(hw.MOV_IMMEDIATE, ty="b32", dst=OperandReg(got), src1=PooledLiteral(v.value))
                self.constants[v.value] = got
            return OperandReg(got)
        r = self.vreg(v)
        return OperandReg(r, 0, r.size)

    def half(self, v: IrValue, high: bool = False) -> OperandReg:
        """Return the low half of a value, or the half it was shifted from."""
        if isinstance(v, Const):
            r = self.register(v).v
        else:
            i = v.ins
            shifted = i is not None and i.op in (SHR, SAR) and isinstance(i.args[1], Const) and i.args[1].value == 16
            if i is not None and shifted and not high:
                inner = i.args[0]
                if not isinstance(inner, Const) and inner.ins not in self.plan.skipped:  # a skipped one has no register
                    return half_of(self.vreg(inner), "h")
            r = self.vreg(v)
        return half_of(r, "h" if high and not isinstance(v, Const) else "l")

    def source(self, i: Ins, k: int) -> Source:
        """Return an argument: an operand in memory, a constant, or a register."""
        v = i.args[k]
        if (i, k) in self.plan.folded:
            return literal(v) if isinstance(v, Const) else self.memory(v)
        return self.reg(v)

    def pair(self, i: Ins) -> tuple[Source, Source, bool]:
        """Return the two operands in the order of the plan, and whether they were exchanged."""
        if i in self.plan.swapped:
            return self.source(i, 1), self.source(i, 0), True
        return self.source(i, 0), self.source(i, 1), False

    def plain(self, a: Source) -> Source:
        """Return a first source, which cannot be a constant."""
        return self.reg(Const(a.value)) if isinstance(a, PooledLiteral) else a

    def memory(self, v: IrValue) -> MemoryReference:
        """Return the operand for a folded load."""
        i = v.ins
        assert i is not None
        if i.op is PARAM:
            return MemoryReference("s", None, PARAM.of(i).offset, PARAM.of(i).mode)
        base = self.address(i.args[0])
        if i.op is LDC:
            return MemoryReference("c0", base, LDC.of(i).offset)
        return MemoryReference("s", base, LD.of(i).offset, LD.of(i).ty)

    def address(self, v: IrValue) -> OperandReg | None:
        """Return the address register of an access; None if it has only an offset."""
        return None if isinstance(v, Const) else OperandReg(self.vreg(v))

    def result(self, i: Ins, k: int = 0) -> OperandReg:
        """Return the destination operand of a result."""
        if self.into is not None and k == 0:
            r, self.into = self.into, None
            return OperandReg(r)
        r = self.vreg(i.outs[k])
        return OperandReg(r, 0, r.size)

    def temporary(self, size: int = 1) -> OperandReg:
        """Return a register for an intermediate result."""
        return OperandReg(self.m.vreg(GENERAL, size), 0, size)

    def given(self, v: IrValue) -> Source:
        """Return the operand of a move: a constant or a register."""
        return literal(v) if isinstance(v, Const) else self.reg(v)

    def gather(self, r: VReg, values: Sequence[IrValue]) -> None:
        """Copy words into consecutive registers."""
        for k, v in enumerate(values):
            self.move(OperandReg(r, k), self.given(v))

    def move(self, dst: OperandReg, src: Source) -> None:
        """Copy a register, a constant or a word of shared memory."""
        if isinstance(src, PooledLiteral):
            self.emit(hw.MOV_IMMEDIATE, ty="b32", dst=dst, src1=src)
            return
        self.emit(hw.MOV, ty="b32", dst=dst, src1=src).moves = type(src) is OperandReg

    # --- conditions -------------------------------------------------------------------------------------------------
    def tested(self, i: Ins) -> dict[str, OperandReg | str]:
        """Return the operands for results of an instruction that may also, or only, test whether its result is 0."""
        t = self.plan.tested.get(i)
        if t is None:
            return {"dst": self.result(i)}
        c = self.vreg(t.out)
        if t.attrs[0] == "e":
            c.true, c.false = "e", "lg"
        return {"dst": SINK if self.plan.uses[i.out] == 1 else self.result(i), "cdst": OperandReg(c)}

    def set(self, i: Ins, op: hw.TeslaOp, **ops: Operand) -> None:
        """Compare into a condition register, a mask, or both."""
        m = self.masks.get(i.out)
        dst: OperandReg | str = SINK
        cdst: OperandReg | None = OperandReg(self.vreg(i.out))
        if m is not None and m not in self.plan.skipped:
            dst = OperandReg(self.vreg(m.out))
            if self.plan.uses[i.out] == 1:
                cdst = None
        self.emit(op, dst=dst, cdst=cdst, **ops)

    def move_under(self, c: VReg, test: str, dst: OperandReg, src: Source) -> None:
        """Emit a copy under a condition; a constant comes from the pool."""
        if isinstance(src, PooledLiteral):
            self.emit(hw.LD_C, dst=dst, ty="b32", src=MemoryReference("c1", None, src.value, "literal")).guard = c, test
            return
        m = self.emit(hw.MOV, ty="b32", dst=dst, src1=src)
        m.moves = type(src) is OperandReg
        m.guard = c, test


def literal(v: Const) -> PooledLiteral | Zero:
    """Return the operand of a constant."""
    return ZERO if v.value == 0 else PooledLiteral(v.value)


def half_of(v: VReg, half: str = "l") -> OperandReg:
    """Return a half of a register, which then has to be one of the lower ones."""
    v.low = True
    return OperandReg(v, half=half)


# --- rules -----------------------------------------------------------------------------------------------------------
A = TypeVar("A", bound=tuple[object, ...])
Emit = Callable[[TeslaSelection, Ins, A], None]


class TeslaRules(Rules[TeslaSelection]):
    """The selection rules for Tesla chips, and the operands that their instructions can fold."""

    def __init__(self) -> None:
        super().__init__()
        self.facts: dict[AnyOp, OperandFacts] = {}


RULES = TeslaRules()


def rule(
    *ops: IrOp[..., A],
    when: Callable[[TeslaSelection, Ins], bool] | None = None,
    priority: int = 0,
    folds: Folds = Folds.NOTHING,
    guardable: bool = False,
) -> Callable[[Emit[A]], Emit[A]]:
    """Return the decorator that makes a function the rule for some operations.

    `folds`: the operands that may be in memory; `guardable`: one instruction does it, so that a select can execute it
    under its condition.
    """
    for op in ops if folds is not Folds.NOTHING or guardable else ():
        RULES.facts[op] = OperandFacts(folds, guardable)
    return RULES.rule(*ops, when=when, priority=priority)
