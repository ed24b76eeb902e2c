"""Selection of integer operations; the sequences for products are those of NVIDIA's compiler in [corpus]."""

from __future__ import annotations

from typing import Any

from isakit.compile.ir import Const, Ins, IrValue
from isakit.compile.lower.form import SINK, ZERO, FixedNumber, MemoryPlace, MIns, OperandReg, PooledLiteral
from isakit.compile.lower.plan import FoldingPlan
from isakit.compile.ops import MUL24
from isakit.compile.simplify import upper_bits


class IntegerSelection:
    """Integers."""

    plan: FoldingPlan
    vreg: Any
    reg: Any
    source: Any
    result: Any
    half: Any
    memory: Any
    move: Any
    temporary: Any

    def emit(self, op: str, /, results: tuple[str, ...] = ("dst",), **ops: Any) -> MIns:
        raise NotImplementedError

    # --- additions --------------------------------------------------------------------------------------------------
    def _pair(self, i: Ins) -> tuple[Any, Any, bool]:
        """The two operands in the order the plan wants, and whether they changed places."""
        if i in self.plan.swapped:
            return self.source(i, 1), self.source(i, 0), True
        return self.source(i, 0), self.source(i, 1), False

    def _test(self, i: Ins) -> OperandReg | None:
        """The condition register of a comparison with 0 that this instruction does on the way."""
        t = self.plan.tested.get(i)
        if t is None:
            return None
        c = self.vreg(t.out)
        if t.attrs.cond == "e":
            c.true, c.false = "e", "lg"
        return OperandReg(c)

    def _tested(self, i: Ins) -> dict[str, Any]:
        """Operands of an instruction that may be tested, and read only for that."""
        c = self._test(i)
        if c is None:
            return {"dst": self.result(i)}
        return {"dst": SINK if self.plan.uses[i.out] == 1 else self.result(i), "cdst": c}

    def on_add(self, i: Ins, name: str = "add") -> None:
        if i in self.plan.fused:
            self._mad(i, name)
            return
        a, b, swapped = self._pair(i)
        if name == "sub" and swapped:
            name = "subr"
        if name == "sub" and a is ZERO:
            name, a, b = "subr", b, ZERO
        if a is ZERO and name == "add":
            a, b = b, a
        if isinstance(a, PooledLiteral):
            a = self.reg(Const(a.value))
        ops = self._tested(i)
        m = self.emit("add", ("dst", "cdst"), name=name, ty="b32", src1=a, src2=b, **ops)
        m.literal = "cdst" not in ops

    def on_sub(self, i: Ins) -> None:
        self.on_add(i, "sub")

    def on_addsat(self, i: Ins) -> None:
        a, b, _ = self._pair(i)
        self.emit("add", name="add", ty="b32", sat="sat", dst=self.result(i), src1=a, src2=b)

    def on_subsat(self, i: Ins) -> None:
        a, b, _ = self._pair(i)
        self.emit("add", name="sub", ty="b32", sat="sat", dst=self.result(i), src1=a, src2=b)

    def _carry(self, i: Ins, k: int = 1) -> OperandReg | None:
        return OperandReg(self.vreg(i.outs[k])) if len(i.outs) > k and self.plan.uses.get(i.outs[k], 0) else None

    def on_addx(self, i: Ins) -> None:
        a, b, _ = self._pair(i)
        self.emit(
            "add", ("dst", "cdst"), name="add", ty="b32", dst=self._or_sink(i), src1=a, src2=b, cdst=self._carry(i)
        )

    def _or_sink(self, i: Ins) -> Any:
        return self.result(i) if self.plan.uses[i.outs[0]] else SINK

    def on_subx(self, i: Ins) -> None:
        a, b, _ = self._pair(i)
        self.emit(
            "add", ("dst", "cdst"), name="sub", ty="b32", dst=self._or_sink(i), src1=a, src2=b, cdst=self._carry(i)
        )

    def on_adc(self, i: Ins) -> None:
        a, b, _ = self._pair(i)
        self.emit("add", ("dst", "cdst"), name="addc", ty="b32", dst=self._or_sink(i), src1=a, src2=b,
                  carry=OperandReg(self.vreg(i.args[2])), cdst=self._carry(i))  # fmt: skip

    # --- products ---------------------------------------------------------------------------------------------------
    def _factors(self, p: Ins) -> tuple[str, Any, Any]:
        """Kind and factors of a product of 16 or 24 bits; signs go with their operand."""
        swap = p in self.plan.swapped
        order = (1, 0) if swap else (0, 1)
        if p.op is MUL24:
            kind = ("high " if p.attrs.high else "") + ("s24" if p.attrs.sign else "u24")
            a, b = (self.source(p, k) for k in order)
            if isinstance(a, PooledLiteral):
                a = self.reg(Const(a.value))
            return kind, a, b
        values: list[Any] = []
        for n, k in enumerate(order):
            v = p.args[k]
            if (p, k) in self.plan.folded:
                if isinstance(v, Const):
                    values.append(PooledLiteral(v.value, half=True) if n else self.half(v))
                else:
                    place = self.memory(v)
                    sign = p.attrs[1 if k else 0]
                    if place.mode in ("u16", "s16"):
                        place.mode = "s16" if sign else "u16"
                    values.append(place)
            else:
                values.append(self.half(v))
        return "s16" if p.attrs.s1 else "u16", values[0], values[1]

    def _mad(self, i: Ins, name: str) -> None:
        k, p = self.plan.fused[i]
        kind, a, b = self._factors(p)
        c = self.source(i, 1 - k)
        # the record subtracts in either direction: sub takes the sum from the product, subr the product from the sum
        if name == "sub":
            name = "sub" if k == 0 else "subr"
        self.emit("mad", name=name, kind=kind, dst=self.result(i), src1=a, src2=b, src3=c)

    def on_mul16(self, i: Ins) -> None:
        swap = i in self.plan.swapped
        _, a, b = self._factors(i)
        s1, s2 = bool(i.attrs.s1), bool(i.attrs.s2)
        if swap:
            s1, s2 = s2, s1
        self.emit("mul", dst=self.result(i), sign1="s16" if s1 else "u16", src1=a, sign2="s16" if s2 else "u16",
                  src2=b).literal = True  # fmt: skip

    def on_mul24(self, i: Ins) -> None:
        kind, a, b = self._factors(i)
        self.emit("mul", dst=self.result(i), wide=kind, src1=a, src2=b).literal = not i.attrs.high or True

    def _mul16(self, dst: OperandReg, a: Any, b: Any) -> None:
        self.emit("mul", dst=dst, sign1="u16", src1=a, sign2="u16", src2=b)

    def _mad16(self, dst: OperandReg, a: Any, b: Any, c: Any) -> None:
        self.emit("mad", name="add", kind="u16", dst=dst, src1=a, src2=b, src3=c)

    def on_mul(self, i: Ins) -> None:
        """A product of 32 bits, from those of 16."""
        a, b = i.args
        za, zb = upper_bits(a), upper_bits(b)
        if zb >> 16 == 0xFFFF and za >> 16 != 0xFFFF:
            a, b, za, zb = b, a, zb, za
        if isinstance(b, Const):
            self._mul_constant(i, a, b.value, za)
            return
        if za >> 16 == 0xFFFF and zb >> 16 == 0xFFFF:
            self._mul16(self.result(i), self._half_source(a), self.half(b))
            return
        if za >> 24 == 0xFF and zb >> 24 == 0xFF:
            self.emit("mul", dst=self.result(i), wide="u24", src1=self.reg(a), src2=self.reg(b))
            return
        t, u = self.temporary(), self.temporary()
        if za >> 16 == 0xFFFF:
            self._mul16(t, self.half(a), self.half(b, True))
        else:
            s = self.temporary()
            self._mul16(s, self.half(a), self.half(b, True))
            self._mad16(t, self.half(a, True), self.half(b), s)
        self.emit("shl", ty="b32", dst=u, src1=t, count=FixedNumber(16))
        self._mad16(self.result(i), self.half(a), self.half(b), u)

    def _half_source(self, v: IrValue) -> Any:
        return self.half(v)

    def _mul_constant(self, i: Ins, a: IrValue, v: int, za: int) -> None:
        if za >> 24 == 0xFF and v < 1 << 24:
            self.emit("mul", dst=self.result(i), wide="u24", src1=self.reg(a), src2=PooledLiteral(v)).literal = True
            return
        bits = v.bit_count()
        low = v & -v
        n = low.bit_length() - 1
        if bits == 2:  # x * (2^m + 2^n)
            m = v.bit_length() - 1
            t = self.temporary()
            self.emit("shl", ty="b32", dst=t, src1=self.reg(a), count=FixedNumber(m))
            other: Any = self.reg(a)
            if n:
                other = self.temporary()
                self.emit("shl", ty="b32", dst=other, src1=self.reg(a), count=FixedNumber(n))
            self.emit("add", name="add", ty="b32", dst=self.result(i), src1=t, src2=other)
            return
        if n == 0 and v + 1 & v == 0:  # x * (2^m - 1)
            t = self.temporary()
            self.emit("shl", ty="b32", dst=t, src1=self.reg(a), count=FixedNumber(v.bit_length()))
            self.emit("add", name="sub", ty="b32", dst=self.result(i), src1=t, src2=self.reg(a))
            return
        if v == 0xFFFF_FFFF:
            self.emit("add", name="subr", ty="b32", dst=self.result(i), src1=self.reg(a), src2=ZERO)
            return
        t, u = self.temporary(), self.temporary()
        lo, hi = PooledLiteral(v, half=True), PooledLiteral(v >> 16, half=True)
        if v < 1 << 16:
            self.emit("mul", dst=t, sign1="u16", src1=self.half(a, True), sign2="u16", src2=lo).literal = True
        else:
            s = self.temporary()
            self.emit("mul", dst=s, sign1="u16", src1=self.half(a), sign2="u16", src2=hi).literal = True
            if za >> 16 == 0xFFFF or lo.value == 0:
                t = s
            else:
                self._mad16(t, self.half(a, True), lo, s)
        self.emit("shl", ty="b32", dst=u, src1=t, count=FixedNumber(16))
        self._mad16(self.result(i), self.half(a), lo, u)

    def _high(self, i: Ins) -> OperandReg:
        """The high 32 bits of an unsigned product."""
        hx, hy = (self._halves(v) for v in i.args)
        lo, ls, m1, ml, m2, h, h1, h2 = (self.temporary() for _ in range(8))
        self._mul16(lo, hx[0], hy[0])
        self.emit("shr", ty="u32", dst=ls, src1=lo, count=FixedNumber(16))
        self._mad16(m1, hx[1], hy[0], ls)
        ml.v.low = m1.v.low = m2.v.low = True
        self.emit("cvt", to="u32", dst=ml, source="u16", src=OperandReg(m1.v, half="l"))
        self._mad16(m2, hx[0], hy[1], ml)
        self.emit("shr", ty="u32", dst=h1, src1=m1, count=FixedNumber(16))
        self.emit("shr", ty="u32", dst=h2, src1=m2, count=FixedNumber(16))
        self._mad16(h, hx[1], hy[1], h1)
        out = self.temporary()
        self.emit("add", name="add", ty="b32", dst=out, src1=h, src2=h2)
        return out

    def _halves(self, v: IrValue) -> tuple[Any, Any]:
        r = self.reg(v, zero=False)
        r.v.low = True
        return OperandReg(r.v, half="l"), OperandReg(r.v, half="h")

    def on_mulhu(self, i: Ins) -> None:
        dst = self.result(i)
        self.move(dst, self._high(i))

    def on_mulhs(self, i: Ins) -> None:
        dst = self.result(i)
        value = self._high(i)
        for a, b in ((i.args[0], i.args[1]), (i.args[1], i.args[0])):
            s, t, new = self.temporary(), self.temporary(), self.temporary()
            self.emit("shr", ty="s32", dst=s, src1=self.reg(a), count=FixedNumber(31))
            self.emit("and", ty="b32", dst=t, src1=s, src2=self.reg(b))
            self.emit("add", name="sub", ty="b32", dst=new, src1=value, src2=t)
            value = new
        self.move(dst, value)

    # --- logic, shifts, extensions ----------------------------------------------------------------------------------
    def _logic(self, i: Ins, op: str) -> None:
        a, b, _ = self._pair(i)
        if a is ZERO:
            a, b = b, a
        if isinstance(a, PooledLiteral):
            a = self.reg(Const(a.value))
        ops = self._tested(i)
        m = self.emit(op, ("dst", "cdst"), ty="b32", src1=a, src2=b, **ops)
        m.literal = "cdst" not in ops

    def on_and(self, i: Ins) -> None:
        self._logic(i, "and")

    def on_or(self, i: Ins) -> None:
        self._logic(i, "or")

    def on_xor(self, i: Ins) -> None:
        self._logic(i, "xor")

    def on_not(self, i: Ins) -> None:
        a = self.source(i, 0)
        ops = self._tested(i)
        if isinstance(a, MemoryPlace) or "cdst" in ops:
            m = self.emit("xor", ("dst", "cdst"), ty="b32", src1=a, src2=PooledLiteral(0xFFFF_FFFF), **ops)
            m.literal = "cdst" not in ops
        else:
            self.emit("mov2", ty="b32", dst=ops["dst"], src1=a, not2="not", src2=a)

    def _shift(self, i: Ins, op: str, ty: str) -> None:
        n = i.args[1]
        a = self.source(i, 0)
        if a is ZERO:
            a = self.reg(Const(0), zero=False)
        count: Any = FixedNumber(min(n.value, 127)) if isinstance(n, Const) else self.reg(n)
        self.emit(op, ("dst", "cdst"), ty=ty, src1=a, count=count, **self._tested(i))

    def on_shl(self, i: Ins) -> None:
        self._shift(i, "shl", "b32")

    def on_shr(self, i: Ins) -> None:
        self._shift(i, "shr", "u32")

    def on_sar(self, i: Ins) -> None:
        self._shift(i, "shr", "s32")

    def _extension(self, i: Ins, to: str, source: str) -> None:
        v = i.args[0]
        if (i, 0) in self.plan.folded:
            src: Any = self.memory(v)
            if src.mode in ("u16", "s16"):  # the load may have been meant otherwise
                src.mode = source
        else:
            src = self.half(v)
        if type(src) is OperandReg and src.half == "h" and source in ("u8", "s8"):
            r = self.vreg(v)
            r.low = True
            src = OperandReg(r, half="l")
        self.emit("cvt", to=to, dst=self.result(i), source=source, src=src)

    def on_zext16(self, i: Ins) -> None:
        self._extension(i, "u32", "u16")

    def on_sext16(self, i: Ins) -> None:
        self._extension(i, "s32", "s16")

    def on_zext8(self, i: Ins) -> None:
        self._extension(i, "u32", "u8")

    def on_sext8(self, i: Ins) -> None:
        self._extension(i, "s32", "s8")

    def on_abs(self, i: Ins) -> None:
        self.emit("cvt", abs="abs", to="u32", dst=self.result(i), source="s32", src=self.source(i, 0))

    def _extreme(self, i: Ins, op: str, ty: str) -> None:
        a, b, _ = self._pair(i)
        if isinstance(a, PooledLiteral):
            a, b = b, a
        self.emit(op, ty=ty, dst=self.result(i), src1=a, src2=b)

    def on_minu(self, i: Ins) -> None:
        self._extreme(i, "min", "u32")

    def on_maxu(self, i: Ins) -> None:
        self._extreme(i, "max", "u32")

    def on_mins(self, i: Ins) -> None:
        self._extreme(i, "min", "s32")

    def on_maxs(self, i: Ins) -> None:
        self._extreme(i, "max", "s32")

    def on_sad(self, i: Ins) -> None:
        ty = "s32" if i.attrs.s else "u32"
        a, b, c = (self.reg(v) for v in i.args)
        self.emit("sad", ty=ty, dst=self.result(i), src1=a, src2=b, src3=c)
