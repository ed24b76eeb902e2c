"""Decides which values become operands of the instructions that read them instead of instructions of their own.

Source 1 of most instructions may be a word of shared memory, where parameters live too; source 2 or 3 a constant.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import NamedTuple

from isakit.compile.ir import AnyOp, Block, Const, Effect, Function, Ins, IrValue
from isakit.compile.ops import (
    ADD,
    CMP,
    CVT,
    LD,
    LDC,
    MASK,
    MUL16,
    MUL24,
    PARAM,
    SEL,
    SEXT16,
    SUB,
    ZEXT16,
    FloatMad,
    FloatProduct,
    FloatSum,
    signed,
)
from isakit.compile.passes.values import count_uses
from isakit.compile.simplify import memory_type, tells_zero

SHORT_REACH = {"b32": 0x7C, "u16": 0x3E, "s16": 0x3E, "u8": 0x1F}
"""The largest offset a source in shared memory can have. Source: [tesla] 2.4."""
CONSTANT_REACH = 0x1FC
FEW = 2
"""Readers up to which a word of constant memory is folded into each instead of loaded once."""


class Folds(Enum):
    """The operands of an operation that its instruction can have in memory."""

    NOTHING = "none"
    FIRST = "the one of an operation of one operand, in shared memory"
    FIRST_WORD = "the same, if it is a whole word"
    FIRST_HALF = "the same, if it is less than a word"
    CONVERTED = "the same, as far as a conversion reads it"
    PAIR = "one in shared memory, the other a constant: operands may change places, if need be by another spelling"
    HALVES = "the same for factors of 16 bits"
    ORDERED = "the first in shared memory, the second a constant"
    CARRIED = "the second, a constant"
    MAD = "a factor in shared memory, and one other operand a constant"
    CHOICE = "values that are parameters"


class OperandFacts(NamedTuple):
    """Properties of the instructions for an operation; `guardable`: it is one instruction, which can be predicated."""

    folds: Folds
    guardable: bool


NO_FACTS = OperandFacts(Folds.NOTHING, False)


class FoldingPlan:
    """Operations folded into the instructions of others.

    Attributes:
        folded: (instruction, argument) whose value is an operand in memory.
        skipped: instructions that others cover, so that they need none of their own.
        swapped: instructions whose two operands are exchanged.
        fused: sums to (argument, product): the product fused into them.
        delayed: selects to (argument, operation): the operation executed under their condition.
        tested: operations that test their own result to the comparison with zero.
        narrow: comparisons of 16 bits, whose operands need not be extended.
    """

    def __init__(self, f: Function, facts: dict[AnyOp, OperandFacts]) -> None:
        self.f, self.facts = f, facts
        self.uses = count_uses(f)
        for v in (v for b in f.blocks for mark in b.marks for v in mark.values) if f.debugged else ():
            self.uses[v] = self.uses.get(v, 0) + 1  # it is computed for its own sake
        self.folded: set[tuple[Ins, int]] = set()
        self.skipped: set[Ins] = set()
        self.swapped: set[Ins] = set()
        self.fused: dict[Ins, tuple[int, Ins]] = {}
        self.delayed: dict[Ins, tuple[int, Ins]] = {}
        self.tested: dict[Ins, Ins] = {}
        self.narrow: set[Ins] = set()
        self.masked = {i.args[0] for i in f.instructions() if i.op is MASK}
        self.place: dict[Ins, int] = {}
        self.barriers: dict[Block, list[int]] = {}
        self.taken: dict[IrValue, int] = {}
        for b in f.blocks:
            self.barriers[b] = [k for k, i in enumerate(b.ins) if i.op.effect is Effect.WRITES]
            for k, i in enumerate(b.ins):
                self.place[i] = k
        for b in f.blocks:
            for i in b.ins:
                self._fuse_product(i)
                self._fuse_test(i)
            for i in b.ins:
                self._fuse_choice(i)
        for b in f.blocks:
            for i in b.ins:
                if i not in self.skipped:
                    self._operands(i, i)
        for v, n in self.taken.items():
            if v.ins is not None and n >= self.uses[v]:
                self.skipped.add(v.ins)

    # --- several operations in one instruction ----------------------------------------------------------------------
    def _single(self, v: IrValue, b: Block | None) -> Ins | None:
        """Return the operation that computes a value, if its only reader is in the same block."""
        i = v.ins
        if i is None or i.block is not b or self.uses[v] != 1 or i in self.skipped or len(i.outs) != 1:
            return None
        return i

    def _fuse_product(self, i: Ins) -> None:
        """Fuse a product of 16 bits with equal signs, or of 24 bits, into the sum that reads it."""
        if i.op is not ADD and i.op is not SUB:
            return
        for k in (1, 0):
            p = self._single(i.args[k], i.block)
            if p is None or isinstance(i.args[1 - k], Const):
                continue
            if p.op is MUL24 or (p.op is MUL16 and MUL16.of(p).s1 == MUL16.of(p).s2):
                self.fused[i] = k, p
                self.skipped.add(p)
                return

    def _fuse_test(self, i: Ins) -> None:
        """Fuse a comparison with 0 into the operation whose result is compared."""
        if i.op is not CMP or not isinstance(i.args[1], Const) or i.args[1].value or CMP.of(i).cond not in ("e", "lg"):
            return
        p = i.args[0].ins
        if p is None or p.block is not i.block or not tells_zero(p):
            return
        if p not in self.fused and p not in self.skipped and p not in self.tested:
            self.tested[p] = i
            self.skipped.add(i)

    def _fuse_choice(self, i: Ins) -> None:
        """Fuse an operation into the select that reads it, to be executed under the condition."""
        if i.op is not SEL or i in self.skipped:
            return
        for k in (1, 2):
            p = self._single(i.args[k], i.block)
            if p is None or not self.facts.get(p.op, NO_FACTS).guardable or p in self.fused or p in self.tested:
                continue
            saturates = isinstance(p.attrs, FloatSum | FloatProduct | FloatMad) and p.attrs.sat
            if not saturates and not self._reads_memory(p) and i.args[3 - k] is not i.args[k]:
                self.delayed[i] = k, p
                self.skipped.add(p)
                return

    def _reads_memory(self, p: Ins) -> bool:
        return any(a.ins is not None and a.ins.op is LD for a in p.args)

    # --- operands in memory -----------------------------------------------------------------------------------------
    def shared(self, v: IrValue, at: Ins) -> bool:
        """Return whether the instruction that reads a value can read it from shared memory."""
        i = v.ins
        if i is None:
            return False
        if i.op is PARAM:
            return PARAM.of(i).offset <= SHORT_REACH[PARAM.of(i).mode]
        if i.op is not LD:
            return False
        space, offset, ty, volatile = LD.of(i)
        if space != "shared" or ty not in SHORT_REACH or volatile:
            return False
        if self.uses[v] != 1 or i.block is not at.block or offset > SHORT_REACH[ty]:
            return False
        if offset % {"b32": 4, "u8": 1}.get(ty, 2):
            return False
        assert i.block is not None
        first, last = self.place[i], self.place[at]
        return not any(first < k < last for k in self.barriers[i.block])

    def constant(self, v: IrValue, at: Ins) -> bool:
        """Return whether a value can be read from a constant bank."""
        if isinstance(v, Const):
            return True
        i = v.ins
        if i is None or i.op is not LDC:
            return False
        _, offset, ty, _ = LDC.of(i)
        if ty != "b32" or offset > CONSTANT_REACH or offset % 4:
            return False
        return isinstance(i.args[0], Const) or (self.uses[v] <= FEW and i.block is at.block)

    def _indexed(self, v: IrValue) -> bool:
        return v.ins is not None and v.ins.op in (LD, LDC) and not isinstance(v.ins.args[0], Const)

    def _take(self, i: Ins, k: int) -> None:
        self.folded.add((i, k))
        v = i.args[k]
        if not isinstance(v, Const):
            self.taken[v] = self.taken.get(v, 0) + 1

    def _operands(self, i: Ins, at: Ins) -> None:
        """Choose the operands of an instruction that is executed at the position of `at`."""
        if i in self.fused:
            self._fused_operands(i, at)
        elif i.op is CMP and self._compares_halves(i):
            self.narrow.add(i)
            self._take(i, 0)
            self._take(i, 1)
        else:
            self._folded_operands(i, at, self.facts.get(i.op, NO_FACTS).folds)

    def _folded_operands(self, i: Ins, at: Ins, folds: Folds) -> None:
        if folds in (Folds.PAIR, Folds.HALVES, Folds.ORDERED, Folds.CARRIED):
            self._pair(i, at, folds)
        elif folds in _WIDTHS:
            if self.shared(i.args[0], at) and _WIDTHS[folds](i, _mode(i.args[0])):
                self._take(i, 0)
        elif folds is Folds.MAD:
            self._fmad(i, at)
        elif folds is Folds.CHOICE:
            for k in (1, 2):
                p = i.args[k].ins
                if i in self.delayed and self.delayed[i][0] == k:
                    self._operands(self.delayed[i][1], i)
                elif p is not None and p.op is PARAM and self.shared(i.args[k], at):
                    self._take(i, k)

    def _compares_halves(self, i: Ins) -> bool:
        """Return whether a comparison is one of two values that were extended from 16 bits for it alone.

        Such a comparison produces no mask of 32 bits.
        """
        if i.out in self.masked:
            return False
        extension, low, high = (ZEXT16, 0, 0xFFFF) if CMP.of(i).ty == "u32" else (SEXT16, -0x8000, 0x7FFF)
        a, b = i.args
        if a.ins is None or a.ins.op is not extension or self.uses[a] != 1 or a.ins in self.skipped:
            return False
        if isinstance(b, Const):
            return low <= (signed(b.value) if low else b.value) <= high
        return b.ins is not None and b.ins.op is extension and self.uses[b] == 1 and b.ins not in self.skipped

    def _pair(self, i: Ins, at: Ins, folds: Folds) -> None:
        """Fold as many operands as possible; a register goes first if only one operand is constant."""
        best: tuple[int, bool, bool, bool] | None = None
        half = folds is Folds.HALVES
        for swap in (False, True) if folds in (Folds.PAIR, Folds.HALVES) else (False,):
            a, b = (i.args[1], i.args[0]) if swap else (i.args[0], i.args[1])
            s = folds is not Folds.CARRIED and self.shared(a, at) and not (half and _mode(a) == "b32")
            c = self.constant(b, at) and (not half or isinstance(b, Const))
            if s and c and self._indexed(b):  # the one address register goes to shared memory
                c = False
            score = (2 if s else 0) + (2 if c else 0) - (1 if isinstance(a, Const) else 0)
            if best is None or score > best[0]:
                best = score, swap, s, c
        assert best is not None
        _, swap, s, c = best
        if swap:
            self.swapped.add(i)
        first, second = (1, 0) if swap else (0, 1)
        if s:
            self._take(i, first)
        if c:
            self._take(i, second)

    def _fused_operands(self, i: Ins, at: Ins) -> None:
        """Fold operands into a sum with a product: source 1 from shared memory, and one constant."""
        k, p = self.fused[i]
        half = p.op is MUL16
        swap = False
        for turn in (False, True):
            a = p.args[1] if turn else p.args[0]
            if self.shared(a, at) and (not half or _mode(a) != "b32"):
                swap = turn
                self._take(p, 1 if turn else 0)
                break
        else:
            swap = isinstance(p.args[0], Const)
        if swap:
            self.swapped.add(p)
        b = 0 if swap else 1
        s = (p, 1 - b) in self.folded
        if (
            self.constant(p.args[b], at)
            and (not half or isinstance(p.args[b], Const))
            and not (s and self._indexed(p.args[b]))
        ):
            self._take(p, b)
        elif self.constant(i.args[1 - k], at) and not (s and self._indexed(i.args[1 - k])):
            self._take(i, 1 - k)

    def _fmad(self, i: Ins, at: Ins) -> None:
        s = False
        for k in (0, 1):
            if self.shared(i.args[k], at):
                self._take(i, k)
                if k:
                    self.swapped.add(i)
                s = True
                break
        other = 0 if i in self.swapped else 1
        if not s and isinstance(i.args[0], Const) and not isinstance(i.args[1], Const):
            self.swapped.add(i)
            other = 0
        for k in (other, 2):
            if self.constant(i.args[k], at) and not (s and self._indexed(i.args[k])):
                self._take(i, k)
                break


def _mode(v: IrValue) -> str:
    """Return the mode in which a word of shared memory is read."""
    assert v.ins is not None
    return memory_type(v.ins)


_WIDTHS: dict[Folds, Callable[[Ins, str], bool]] = {
    Folds.FIRST: lambda i, mode: True,
    Folds.FIRST_WORD: lambda i, mode: mode == "b32",
    Folds.FIRST_HALF: lambda i, mode: mode != "b32",
    Folds.CONVERTED: lambda i, mode: mode == "b32" and CVT.of(i).source in ("f32", "u32", "s32"),
}
"""Folds of a single operand, to a test whether it can be read from shared memory in its mode."""
