"""Decides which values become operands of the instructions that read them instead of instructions of their own.

Source 1 of most instructions may be a word of shared memory, where parameters live too; source 2 or 3 a constant.
"""

from __future__ import annotations

from isakit.compile.ir import Block, Const, Effect, Function, Ins, IrValue
from isakit.compile.ops import (
    ABS,
    ADC,
    ADD,
    ADDR,
    CMP,
    COS,
    CVT,
    EX2,
    FMAD,
    LD,
    LDC,
    MASK,
    MUL16,
    MUL24,
    PARAM,
    SEL,
    SEXT8,
    SEXT16,
    SIN,
    SUB,
    ZEXT8,
    ZEXT16,
    signed,
)
from isakit.compile.passes.values import count_uses
from isakit.compile.simplify import memory_type, tells_zero
from isakit.compile.target import CompileTarget

SHORT_REACH = {"b32": 0x7C, "u16": 0x3E, "s16": 0x3E, "u8": 0x1F}
"""The largest offset a source in shared memory can have. Source: [tesla] 2.4."""
CONSTANT_REACH = 0x1FC
FEW = 2
"""A word of constant memory that is read so often is read by the instructions that need it."""

TWO = frozenset({"add", "addsat", "and", "or", "xor", "minu", "mins", "maxu", "maxs", "mul16", "mul24", "fadd", "fmul",
                 "fmin", "fmax", "cmp", "cmpf", "sub", "addx", "adc", "subsat", "subx"})  # fmt: skip
"""Operations of two operands whose first may lie in shared memory and whose second may be a constant."""
COMMUTING = TWO - {"subsat", "subx"}
"""Of those, the ones whose operands may be exchanged, if need be by another spelling."""
FIRST = frozenset({"shl", "shr", "sar", "cvt", "zext8", "sext8", "zext16", "sext16", "not", "abs", "addr", "copy",
                   "ex2", "sin", "cos"})  # fmt: skip
"""Operations of one operand, which may lie in shared memory."""
GUARDABLE = frozenset({"add", "sub", "and", "or", "xor", "shl", "shr", "sar", "fadd", "fmul", "fmad", "zext16",
                       "sext16", "zext8", "sext8", "mul16", "mul24", "minu", "mins", "maxu", "maxs", "fmin", "fmax",
                       "abs", "rcp", "rsqrt", "lg2", "not"})  # fmt: skip
"""Operations that one instruction can do, so that a selection can do them under its condition."""


class FoldingPlan:
    """What is folded where.

    Attributes:
        folded: (instruction, argument) whose value is an operand in memory.
        skipped: instructions that all their readers have taken over.
        swapped: instructions whose two operands change places.
        fused: sums that take over the product given.
        delayed: selections that do the operation given under their condition.
        tested: comparisons with zero that the operation given does on the way.
        narrow: comparisons of 16 bits, whose operands need not be extended.
    """

    def __init__(self, f: Function, target: CompileTarget) -> None:
        self.f, self.target = f, target
        self.uses = count_uses(f)
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
            self._fuse(b)
        for b in f.blocks:
            for i in b.ins:
                if i not in self.skipped:
                    self._operands(i, i)
        for v, n in self.taken.items():
            if v.ins is not None and n >= self.uses[v]:
                self.skipped.add(v.ins)

    # --- several operations in one instruction ----------------------------------------------------------------------
    def _single(self, v: IrValue, b: Block) -> Ins | None:
        i = v.ins
        return (
            i
            if i is not None and i.block is b and self.uses[v] == 1 and i not in self.skipped and len(i.outs) == 1
            else None
        )

    def _fuse(self, b: Block) -> None:
        for i in b.ins:
            if i.op in (ADD, SUB):
                for k in (1, 0):
                    p = self._single(i.args[k], b)
                    if p is not None and self._product(p) and not isinstance(i.args[1 - k], Const):
                        self.fused[i] = k, p
                        self.skipped.add(p)
                        break
            elif i.op is CMP and isinstance(i.args[1], Const) and i.args[1].value == 0 and i.attrs.cond in ("e", "lg"):
                p = i.args[0].ins
                known = p is not None and p.block is b and p not in self.fused and tells_zero(p)
                if p is not None and known and p not in self.skipped and p not in self.tested:
                    self.tested[p] = i
                    self.skipped.add(i)
        for i in b.ins:
            if i.op is SEL and i not in self.skipped:
                for k in (1, 2):
                    p = self._single(i.args[k], b)
                    if p is None or p.op.name not in GUARDABLE or p in self.fused or p in self.tested:
                        continue
                    if (
                        not getattr(p.attrs, "sat", False)
                        and not self._reads_memory(p)
                        and i.args[3 - k] is not i.args[k]
                    ):
                        self.delayed[i] = k, p
                        self.skipped.add(p)
                        break

    def _reads_memory(self, p: Ins) -> bool:
        return any(a.ins is not None and a.ins.op is LD for a in p.args)

    @staticmethod
    def _product(p: Ins) -> bool:
        if p.op is MUL24:
            return True
        return p.op is MUL16 and bool(p.attrs.s1) == bool(p.attrs.s2)

    # --- operands in memory -----------------------------------------------------------------------------------------
    def shared(self, v: IrValue, at: Ins) -> bool:
        """Whether a value can be read from shared memory by the instruction that needs it."""
        i = v.ins
        if i is None:
            return False
        if i.op is PARAM:
            return i.attrs.offset <= SHORT_REACH[i.attrs.mode]
        if i.op is not LD or i.attrs.space != "shared" or i.attrs.ty not in SHORT_REACH or i.attrs.volatile:
            return False
        if self.uses[v] != 1 or i.block is not at.block or i.attrs.offset > SHORT_REACH[i.attrs.ty]:
            return False
        if i.attrs.offset % {"b32": 4, "u8": 1}.get(i.attrs.ty, 2):
            return False
        assert i.block is not None
        first, last = self.place[i], self.place[at]
        return not any(first < k < last for k in self.barriers[i.block])

    def constant(self, v: IrValue, at: Ins) -> bool:
        """Whether a value can be read from a constant bank."""
        if isinstance(v, Const):
            return True
        i = v.ins
        if i is None or i.op is not LDC or i.attrs.ty != "b32" or i.attrs.offset > CONSTANT_REACH:
            return False
        if i.attrs.offset % 4:
            return False
        return isinstance(i.args[0], Const) or (self.uses[v] <= FEW and i.block is at.block)

    @staticmethod
    def _is_param(v: IrValue) -> bool:
        return v.ins is not None and v.ins.op is PARAM

    def _indexed(self, v: IrValue) -> bool:
        return v.ins is not None and v.ins.op in (LD, LDC) and not isinstance(v.ins.args[0], Const)

    def _take(self, i: Ins, k: int) -> None:
        self.folded.add((i, k))
        v = i.args[k]
        if not isinstance(v, Const):
            self.taken[v] = self.taken.get(v, 0) + 1

    def _operands(self, i: Ins, at: Ins) -> None:
        """Choose the operands of an instruction that is executed where `at` stands."""
        if i in self.fused:
            self._fused_operands(i, at)
        elif i.op is CMP and self._compares_halves(i):
            self.narrow.add(i)
            self._take(i, 0)
            self._take(i, 1)
        elif i.op.name in TWO:
            self._two(i, at)
        elif i.op.name in FIRST or i.op is MASK:
            if i.args and self.shared(i.args[0], at) and self._reads_width(i, i.args[0]):
                self._take(i, 0)
        elif i.op is FMAD:
            self._fmad(i, at)
        elif i.op is SEL:
            for k in (1, 2):
                if i in self.delayed and self.delayed[i][0] == k:
                    self._operands(self.delayed[i][1], i)
                elif self.shared(i.args[k], at) and self._is_param(i.args[k]):
                    self._take(i, k)

    def _reads_width(self, i: Ins, v: IrValue) -> bool:
        """16-bit and 8-bit readers read what they need themselves."""
        assert v.ins is not None
        mode = memory_type(v.ins)
        if i.op in (ZEXT16, SEXT16, ZEXT8, SEXT8):
            return False if mode == "b32" else i.op.name[1:] != "ext8"
        if i.op is CVT:
            return i.attrs.source in ("f32", "u32", "s32") and mode == "b32"
        if i.op in (ABS, ADDR, EX2, SIN, COS):
            return mode == "b32"
        return True

    def _compares_halves(self, i: Ins) -> bool:
        """Whether a comparison is one of two values that were extended from 16 bits for it alone.

        It makes no mask of 32 bits.
        """
        if i.out in self.masked:
            return False
        extension, low, high = (ZEXT16, 0, 0xFFFF) if i.attrs.ty == "u32" else (SEXT16, -0x8000, 0x7FFF)
        a, b = i.args
        if a.ins is None or a.ins.op is not extension or self.uses[a] != 1 or a.ins in self.skipped:
            return False
        if isinstance(b, Const):
            return low <= (signed(b.value) if low else b.value) <= high
        return b.ins is not None and b.ins.op is extension and self.uses[b] == 1 and b.ins not in self.skipped

    def _two(self, i: Ins, at: Ins) -> None:
        best: tuple[int, bool, bool, bool] | None = None
        half = i.op is MUL16
        for swap in (False, True) if i.op.name in COMMUTING and i.op is not ADC else (False,):
            a, b = (i.args[1], i.args[0]) if swap else (i.args[0], i.args[1])
            s = self.shared(a, at) and (not half or self._mode(a) != "b32") and i.op not in (ADC,)
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

    def _mode(self, v: IrValue) -> str:
        assert v.ins is not None
        return memory_type(v.ins)

    def _fused_operands(self, i: Ins, at: Ins) -> None:
        """A sum with a product: source 1 of the product from shared memory, and one constant."""
        k, p = self.fused[i]
        half = p.op is MUL16
        swap = False
        for turn in (False, True):
            a = p.args[1] if turn else p.args[0]
            if self.shared(a, at) and (not half or self._mode(a) != "b32"):
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
