"""Selection of accesses to memory."""

from __future__ import annotations

from typing import Any

from isakit.compile.ir import Const, Function, Ins, IrValue
from isakit.compile.lower.form import FixedNumber, MemoryPlace, MFunction, MIns, OperandReg, PooledLiteral, VReg
from isakit.compile.lower.plan import SHORT_REACH, FoldingPlan
from isakit.compile.target import CompileTarget

_STEP = {"u8": 1, "s8": 1, "b8": 1, "u16": 2, "s16": 2, "b16": 2, "b32": 4, "b64": 8, "b128": 16}


class MemorySelection:
    """Memory."""

    f: Function
    m: MFunction
    plan: FoldingPlan
    target: CompileTarget
    words: dict[IrValue, set[int]]
    vreg: Any
    reg: Any
    source: Any
    half: Any
    result: Any
    temporary: Any
    move: Any

    def emit(self, op: str, /, results: tuple[str, ...] = ("dst",), **ops: Any) -> MIns:
        raise NotImplementedError

    # --- addresses --------------------------------------------------------------------------------------------------
    def on_addr(self, i: Ins) -> None:
        dst = OperandReg(self.vreg(i.out))
        value = i.args[0]
        if isinstance(value, Const):
            offset = (value.value << i.attrs.shift) + i.attrs.step & 0xFFFF
            self.emit("add_a", ("adst",), adst=dst, offset=FixedNumber(offset))
            return
        src = self.source(i, 0)
        self.emit("shl_a", ("adst",), adst=dst, src1=src, count=FixedNumber(i.attrs.shift))
        if i.attrs.step:
            t = OperandReg(self.m.vreg("a"))
            self.m_last().ops["adst"] = t
            self.emit("add_a", ("adst",), adst=dst, src=t, offset=FixedNumber(i.attrs.step))

    def on_step(self, i: Ins) -> None:
        src = OperandReg(self.vreg(i.args[0]))
        self.emit("add_a", ("adst",), adst=OperandReg(self.vreg(i.out)), src=src, offset=FixedNumber(i.attrs.step))

    def m_last(self) -> MIns:
        """The instruction emitted last."""
        return self.out.ins[-1]  # type: ignore[attr-defined]

    def _base(self, v: IrValue) -> OperandReg | None:
        return None if isinstance(v, Const) else OperandReg(self.vreg(v))

    def _near(self, base: OperandReg | None, offset: int, reach: int) -> tuple[OperandReg | None, int]:
        """A base and an offset within reach."""
        if offset <= reach:
            return base, offset
        a = OperandReg(self.m.vreg("a"))
        self.emit("add_a", ("adst",), adst=a, src=base, offset=FixedNumber(offset))
        return a, 0

    def _global(self, v: IrValue, offset: int) -> OperandReg:
        """The address register of an access to global memory, which has no offset."""
        base = self.reg(v, zero=False)
        if offset == 0:
            return base
        t = self.temporary()
        self.emit("add", name="add", ty="b32", dst=t, src1=base, src2=PooledLiteral(offset)).literal = True
        return t

    # --- loads ------------------------------------------------------------------------------------------------------
    def on_ld(self, i: Ins) -> None:
        space, ty, offset = i.attrs.space, i.attrs.ty, i.attrs.offset
        if space == "global":
            self.emit("ld_g", ty=ty, dst=self.result(i), src=MemoryPlace("g14", self._global(i.args[0], offset)))
        elif space == "shared":
            self.load_shared(self.result(i), ty, self._base(i.args[0]), offset)
        elif space == "local":
            base, offset = self._near(self._base(i.args[0]), offset, 0xFFFF)
            self.emit("ld_l", ty=ty, dst=self.result(i), src=MemoryPlace("l", base, offset))
        elif space == "lock":
            c: VReg = self.vreg(i.outs[1])
            c.true, c.false = "l", "geu"
            base, offset = self._near(self._base(i.args[0]), offset, 0xFFFC)
            self.emit("ld_lock", ("dst", "cdst"), dst=self.result(i), cdst=OperandReg(c), ty="b32",
                      src=MemoryPlace("s", base, offset))  # fmt: skip
        else:
            raise AssertionError(space)

    def load_shared(self, dst: OperandReg, ty: str, base: OperandReg | None, offset: int) -> None:
        """Load from shared memory: as a source where the offset is short, else by an instruction G80 does not have."""
        mode = "u8" if ty == "s8" else ty
        if offset > SHORT_REACH[mode] or offset % _STEP[mode]:
            if self.target.load_shared and offset % _STEP[mode] == 0 and ty != "s8":
                self.emit("ld_s", dst=dst, ty=mode, src=MemoryPlace("s", base, offset))
                return
            base, offset = self._near(base, offset, -1)
        if ty == "s8":
            self.emit("cvt", to="s32", dst=dst, source="s8", src=MemoryPlace("s", base, offset, "u8"))
        else:
            self.emit("mov", ty="b32", dst=dst, src1=MemoryPlace("s", base, offset, mode))

    def on_ldc(self, i: Ins) -> None:
        ty, offset = i.attrs.ty, i.attrs.offset
        base = self._base(i.args[0])
        if offset % _STEP[ty]:
            base, offset = self._near(base, offset, -1)
        if ty == "s8":
            t = self.temporary()
            t.v.low = True
            self.emit("ld_c", dst=t, ty="u8", src=MemoryPlace("c0", base, offset))
            self.emit("cvt", to="s32", dst=self.result(i), source="s8", src=OperandReg(t.v, half="l"))
            return
        self.emit("ld_c", dst=self.result(i), ty=ty, src=MemoryPlace("c0", base, offset))

    # --- stores -----------------------------------------------------------------------------------------------------
    def on_st(self, i: Ins) -> None:
        space, ty, offset = i.attrs.space, i.attrs.ty, i.attrs.offset
        value = self.reg(i.args[1], zero=False)
        if space == "global":
            narrow = {"b8": "u8", "b16": "u16"}.get(ty, ty)
            self.emit("st_g", (), ty=narrow, dst=MemoryPlace("g14", self._global(i.args[0], offset)), src=value)
        elif space == "shared":
            base, offset = self._near(self._base(i.args[0]), offset, 0x3FFF * _STEP[ty] if ty != "b8" else 0x3FFF)
            self.emit("st_s", (), ty=ty, dst=MemoryPlace("s", base, offset), src=value)
        elif space == "local":
            narrow = {"b8": "u8", "b16": "u16"}.get(ty, ty)
            self.emit("st_l", (), ty=narrow, dst=MemoryPlace("l", self._base(i.args[0]), offset), src=value)
        elif space == "unlock":
            self.emit("st_unlock", (), ty="b32", dst=MemoryPlace("s", self._base(i.args[0]), offset), src=value)
        else:
            raise AssertionError(space)

    def on_atom(self, i: Ins) -> None:
        op, ty = i.attrs.op, i.attrs.ty
        place = MemoryPlace("g14", self._global(i.args[0], i.attrs.offset))
        values = [self.reg(v, zero=False) for v in i.args[1:]]
        shown = "b" + ty[1:] if op in ("exch", "cas", "and", "or", "xor") else ty
        if not self.plan.uses[i.out] and op not in ("exch", "cas"):
            self.emit("red", (), op=op, shown=shown, dst=place, src=values[0])
            return
        self.emit("atom", op=op, shown=shown, dst=self.result(i), place=place, src=values[0],
                  new=values[1] if len(values) > 1 else None)  # fmt: skip

    def on_tex(self, i: Ins) -> None:
        used = sorted(self.words.get(i.out, set())) or [0]
        n = max(len(i.args), len(used))
        if i.attrs.texture not in self.f.textures:
            self.f.textures.append(i.attrs.texture)
        r: VReg = self.vreg(i.out)
        r.size = 1 if n == 1 else 2 if n == 2 else 4
        for k, v in enumerate(i.args):
            self.move(OperandReg(r, k), PooledLiteral(v.value) if isinstance(v, Const) and v.value else self.reg(v))
        m = self.emit(i.attrs.how, dst=OperandReg(r, 0, r.size), name=i.attrs.texture, mask=tuple(used),
                      sources=len(i.args), cube=i.attrs.cube)  # fmt: skip
        m.tied = True
