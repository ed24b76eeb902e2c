"""Chooses machine instructions for operations: one function per operation, found by its name.

Source: [tesla] 5 to 9; the sequences for products and shifts are those of NVIDIA's compiler in [corpus].
"""

from __future__ import annotations

from typing import Any

from isakit.compile.ir import Block, Const, Function, Ins, IrValue
from isakit.compile.lower.form import (
    SINK,
    ZERO,
    FixedNumber,
    MBlock,
    MemoryPlace,
    MFunction,
    MIns,
    OperandReg,
    PooledLiteral,
    VReg,
)
from isakit.compile.lower.plan import SHORT_REACH, FoldingPlan
from isakit.compile.lower.select_float import FloatSelection
from isakit.compile.lower.select_integer import IntegerSelection
from isakit.compile.lower.select_memory import MemorySelection
from isakit.compile.ops import CMP, CMPD, CMPF, LDC, MASK, PARAM, SAR, SHR, TEX, WORD
from isakit.compile.simplify import SWAPPED
from isakit.compile.target import CompileTarget
from isakit.flow.graph import FlowGraph

SIZES = {"r": 1, "d": 2, "q": 4}


class Selector(IntegerSelection, FloatSelection, MemorySelection):
    """Selection for one function."""

    def __init__(self, f: Function, target: CompileTarget, divergent: set[Block]) -> None:
        self.f, self.target, self.divergent = f, target, divergent
        self.m = MFunction(f.name)
        self.plan = FoldingPlan(f, target)
        self.vregs: dict[IrValue, VReg] = {}
        self.constants: dict[int, VReg] = {}
        self.out: MBlock
        self.at: Ins | None = None
        self.guard: tuple[VReg, str] | None = None
        self.tid: VReg | None = None
        self.into: VReg | None = None
        self.masks: dict[IrValue, Ins] = {}
        self.words: dict[IrValue, set[int]] = {}
        for i in f.instructions():
            if i.op is MASK and i.args[0].ins is not None and i.args[0].ins.block is i.block:
                self.masks[i.args[0]] = i
            elif i.op is WORD:
                self.words.setdefault(i.args[0], set()).add(i.attrs.i)

    # --- registers --------------------------------------------------------------------------------------------------
    def vreg(self, v: IrValue) -> VReg:
        """The virtual register of a value."""
        got = self.vregs.get(v)
        if got is None:
            file = {"p": "c", "f": "c", "a": "a"}.get(v.kind, "r")
            got = self.vregs[v] = self.m.vreg(file, SIZES.get(v.kind, 1))
        return got

    def reg(self, v: IrValue, zero: bool = True) -> Any:
        """A value in a register; 0 is the register that reads 0 where that is allowed."""
        if isinstance(v, Const):
            if v.value == 0 and zero:
                return ZERO
            got = self.constants.get(v.value)
            if got is None:
                got = self.m.vreg()
                guard, self.guard = self.guard, None
                self.emit("mov_i", ty="b32", dst=OperandReg(got), src1=PooledLiteral(v.value))
                self.guard = guard
                self.constants[v.value] = got
            return OperandReg(got)
        r = self.vreg(v)
        return OperandReg(r, 0, r.size)

    def half(self, v: IrValue, high: bool = False) -> Any:
        """The low half of a value, or the half it was shifted from."""
        if isinstance(v, Const):
            r = self.reg(v, zero=False)
            r.v.low = True
            return OperandReg(r.v, half="l")
        i = v.ins
        if i is not None and i.op in (SHR, SAR) and isinstance(i.args[1], Const) and i.args[1].value == 16 and not high:
            inner = i.args[0]
            if not isinstance(inner, Const) and inner.ins not in self.plan.skipped:  # which has no register then
                r = self.vreg(inner)
                r.low = True
                return OperandReg(r, half="h")
        r = self.vreg(v)
        r.low = True
        return OperandReg(r, half="h" if high else "l")

    def source(self, i: Ins, k: int) -> Any:
        """An argument: an operand in memory, a constant, or a register."""
        v = i.args[k]
        if (i, k) in self.plan.folded:
            if isinstance(v, Const):
                return ZERO if v.value == 0 else PooledLiteral(v.value)
            return self.memory(v)
        return self.reg(v)

    def memory(self, v: IrValue) -> MemoryPlace:
        """The operand a folded load is."""
        i = v.ins
        assert i is not None
        if i.op is PARAM:
            return MemoryPlace("s", None, i.attrs.offset, i.attrs.mode)
        base = None if isinstance(i.args[0], Const) else OperandReg(self.vreg(i.args[0]))
        if i.op is LDC:
            return MemoryPlace("c0", base, i.attrs.offset)
        return MemoryPlace("s", base, i.attrs.offset, i.attrs.ty)

    def result(self, i: Ins, k: int = 0) -> OperandReg:
        """Where a result goes."""
        if self.into is not None and k == 0:
            r, self.into = self.into, None
            return OperandReg(r)
        r = self.vreg(i.outs[k])
        return OperandReg(r, 0, r.size)

    def temporary(self, size: int = 1) -> OperandReg:
        """A register for an intermediate result."""
        return OperandReg(self.m.vreg("r", size), 0, size)

    def emit(self, op: str, /, results: tuple[str, ...] = ("dst",), **ops: Any) -> MIns:
        """Append an instruction; operands that are None are left out."""
        m = MIns(op, {k: v for k, v in ops.items() if v is not None and v is not False and v != ""}, results)
        if self.at is not None:
            m.loc = self.at.loc
        m.guard = self.guard
        self.out.ins.append(m)
        return m

    def move(self, dst: OperandReg, src: Any) -> None:
        """Copy a register, a constant or a word of shared memory."""
        if isinstance(src, PooledLiteral):
            self.emit("mov_i", ty="b32", dst=dst, src1=src)
            return
        m = self.emit("mov", ty="b32", dst=dst, src1=src)
        m.moves = type(src) is OperandReg

    # --- whole functions --------------------------------------------------------------------------------------------
    def run(self) -> MFunction:
        """Select everything."""
        blocks = {b: self.m.block() for b in self.f.blocks}
        temporaries: dict[Ins, VReg] = {}
        for b in self.f.blocks:
            for phi in b.phis:
                temporaries[phi] = self.m.vreg("a" if phi.out.kind == "a" else "r", SIZES.get(phi.out.kind, 1))
        # Not in the order of the code: what a comparison leaves in its condition is known after it only, and it may
        # stand further down than the block it leads to.
        for b in FlowGraph(self.f.blocks[:1], lambda b: b.succs).nodes:
            self.out = blocks[b]
            self.out.loc = b.loc
            self.constants = {}
            for phi in b.phis:
                self.at = phi
                self._copy_all(self.vreg(phi.out), temporaries[phi])
            for i in b.ins:
                self.at = i
                if i not in self.plan.skipped:
                    getattr(self, "on_" + i.op.name)(i)
            self._finish(b, blocks, temporaries)
        self.m.connect()
        return self.m

    def _copy_all(self, dst: VReg, src: VReg) -> None:
        if dst.file == "a":
            self.emit("add_a", ("adst",), adst=OperandReg(dst), src=OperandReg(src), offset=FixedNumber(0)).moves = True
            return
        for k in range(dst.size):
            m = self.emit("mov", ty="b32", dst=OperandReg(dst, k), src1=OperandReg(src, k))
            m.moves = True

    def _finish(self, b: Block, blocks: dict[Block, MBlock], temporaries: dict[Ins, VReg]) -> None:
        self.at = None
        for s in b.succs:
            if s.phis:
                k = s.preds.index(b)
                for phi in s.phis:
                    v = phi.args[k]
                    t = temporaries[phi]
                    if isinstance(v, Const):
                        src = ZERO if v.value == 0 else PooledLiteral(v.value)
                        self.move(OperandReg(t), src)
                    else:
                        self._copy_all(t, self.vreg(v))
        self.out.succs = [blocks[s] for s in b.succs]
        if b.term[0] == "branch":
            c = self.vreg(b.term[1])
            self.out.cond = c, c.false if b.term[2] else c.true, b in self.divergent

    # --- conditions -------------------------------------------------------------------------------------------------
    def _set(self, i: Ins, **ops: Any) -> None:
        """A comparison into a condition register, a mask, or both."""
        ops = {k: v for k, v in ops.items() if v is not None}
        m = self.masks.get(i.out)
        dst: Any = SINK
        cdst: OperandReg | None = OperandReg(self.vreg(i.out))
        if m is not None and m not in self.plan.skipped:
            dst = OperandReg(self.vreg(m.out))
            if self.plan.uses[i.out] == 1:
                cdst = None
        self.emit(ops.pop("op"), ("dst", "cdst"), dst=dst, cdst=cdst, **ops)

    def on_cmp(self, i: Ins) -> None:
        if i in self.plan.narrow:
            halves = [
                PooledLiteral(a.value, half=True) if isinstance(a, Const) else self._extended_half(a) for a in i.args
            ]
            self._set(i, op="set", cond=i.attrs.cond, ty=i.attrs.ty[0] + "16", src1=halves[0], src2=halves[1])
            return
        a, b, swapped = self._pair(i)
        cond = SWAPPED.get(i.attrs.cond, i.attrs.cond) if swapped else i.attrs.cond
        if isinstance(a, PooledLiteral):
            a = self.reg(Const(a.value))
        self._set(i, op="set", cond=cond, ty=i.attrs.ty, src1=a, src2=b)

    def _extended_half(self, v: IrValue) -> Any:
        assert v.ins is not None
        return self.half(v.ins.args[0])

    def on_mask(self, i: Ins) -> None:
        p = i.args[0]
        compares = p.ins is not None and p.ins.op in (CMP, CMPF, CMPD) and p.ins not in self.plan.skipped
        if compares and self.masks.get(p) is i:
            return  # the comparison has written it
        dst = self.result(i)
        if isinstance(p, Const):
            self.move(dst, PooledLiteral(-(p.value & 1)))
            return
        c = self.vreg(p)
        self.move(dst, ZERO)
        self._guarded_move(c, c.true, dst, PooledLiteral(0xFFFF_FFFF))

    def _guarded_move(self, c: VReg, test: str, dst: OperandReg, src: Any) -> None:
        if isinstance(src, PooledLiteral):
            if src.value == 0:
                src = ZERO
            else:
                src = MemoryPlace("c1", None, src.value, "literal")
                m = self.emit("ld_c", dst=dst, ty="b32", src=src)
                m.guard = c, test
                return
        m = self.emit("mov", ty="b32", dst=dst, src1=src)
        m.moves = type(src) is OperandReg
        m.guard = c, test

    def on_sel(self, i: Ins) -> None:
        p = i.args[0]
        assert not isinstance(p, Const)
        c = self.vreg(p)
        dst = self.result(i)
        late = self.plan.delayed.get(i)
        if late is not None:
            k, inner = late
            self.move(dst, self._choice(i, 3 - k))
            at, self.at = self.at, inner
            self.guard = c, c.true if k == 1 else c.false
            self.into = dst.v
            getattr(self, "on_" + inner.op.name)(inner)
            self.guard, self.at, self.into = None, at, None
            return
        # the value that is a register of its own dying here is the better start: the copy of it disappears
        first, second, test = 2, 1, c.true
        if isinstance(i.args[2], Const) and not isinstance(i.args[1], Const):
            first, second, test = 1, 2, c.false
        self.move(dst, self._choice(i, first))
        self._guarded_move(c, test, dst, self._choice(i, second))

    def _choice(self, i: Ins, k: int) -> Any:
        v = i.args[k]
        if isinstance(v, Const):
            return ZERO if v.value == 0 else PooledLiteral(v.value)
        return self.source(i, k)

    # --- pairs and copies -------------------------------------------------------------------------------------------
    def on_copy(self, i: Ins) -> None:
        self.move(self.result(i), self.source(i, 0))

    def on_generic(self, i: Ins) -> None:
        self.move(self.result(i), self.reg(i.args[0]))

    def on_pack(self, i: Ins) -> None:
        r = self.vreg(i.out)
        for k, v in enumerate(i.args):
            self.move(OperandReg(r, k), PooledLiteral(v.value) if isinstance(v, Const) and v.value else self.reg(v))

    on_pack4 = on_pack

    def on_word(self, i: Ins) -> None:
        v = i.args[0]
        r = self.vreg(v)
        unit = i.attrs.i
        if v.ins is not None and v.ins.op is TEX:
            unit = sorted(self.words[v]).index(unit)
        self.move(self.result(i), OperandReg(r, unit))

    # --- special registers ------------------------------------------------------------------------------------------
    def on_tid(self, i: Ins) -> None:
        r = self.vreg(i.out)
        r.fixed, r.color = True, 0
        self.tid = r

    def on_param(self, i: Ins) -> None:
        offset, mode = i.attrs.offset, i.attrs.mode
        if offset <= SHORT_REACH[mode]:
            self.emit("mov", ty="b32", dst=self.result(i), src1=MemoryPlace("s", None, offset, mode))
        else:
            self.load_shared(self.result(i), mode, None, offset)

    def on_address(self, i: Ins) -> None:
        slot = self.f.globals.index(i.attrs.name)
        self.emit("ld_c", dst=self.result(i), ty="b32", src=MemoryPlace("c14", None, slot, "global"))

    def on_clock(self, i: Ins) -> None:
        self.emit("mov_sr", dst=self.result(i), special="clock")

    def on_physid(self, i: Ins) -> None:
        self.emit("mov_sr", dst=self.result(i), special="physid")

    # --- effects ----------------------------------------------------------------------------------------------------
    def on_bar(self, i: Ins) -> None:
        self.emit("bar", (), barrier=FixedNumber(i.attrs.id))

    def on_fence(self, i: Ins) -> None:
        """Memory is accessed in the order of the program."""

    def on_trap(self, i: Ins) -> None:
        self.emit("trap", ())

    def on_brkpt(self, i: Ins) -> None:
        self.emit("brkpt", ())

    def on_pmevent(self, i: Ins) -> None:
        self.emit("pmevent", (), event=FixedNumber(i.attrs.id))

    def on_vote(self, i: Ins) -> None:
        p = i.args[0]
        if isinstance(p, Const):
            c = self.m.vreg("c")
            self.emit("set", ("dst", "cdst"), dst=SINK, cdst=OperandReg(c), cond="e" if p.value & 1 else "lg", ty="u32",
                      src1=ZERO, src2=ZERO)  # fmt: skip
        else:
            c = self.vreg(p)
        m = self.emit("vote", ("cdst",), kind=i.attrs.kind, cdst=OperandReg(self.vreg(i.out)))
        m.guard = c, c.true
