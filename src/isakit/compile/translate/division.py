"""Division of integers. These chips have none; NVIDIA's code multiplies by a reciprocal that is a little too small.

The quotient of two rounds is exact or one too small; a comparison corrects it. Division by zero gives all ones.
Source: [corpus], the sequence is the one NVIDIA's compiler calls.
"""

from __future__ import annotations

from functools import partialmethod

from isakit.compile.builder import words64
from isakit.compile.ir import Const, IrValue
from isakit.compile.ops import ABS, ADD, AND, CMP, CVT, FMUL, MASK, MUL, NOT, OR, RCP, SAR, SEL, SHL, SHR, SUB, XOR
from isakit.compile.translate.base import Args, Base, Mods, Pair


class Division(Base):
    """`div` and `rem` of integers."""

    def _divide(self, m: Mods, a: Args, remainder: bool) -> None:
        ty = m["int"]
        sign = ty[0] == "s"
        if self.is_wide(ty):
            self.write_pair(a[0], self.divide64(self.pair(a[1]), self.pair(a[2]), sign, remainder))
            return
        x, y = self.extend(self.word(a[1], ty), ty), self.extend(self.word(a[2], ty), ty)
        self.write(a[0], self.divide32(x, y, sign, remainder), ty)

    do_div_int = partialmethod(_divide, remainder=False)
    do_rem_int = partialmethod(_divide, remainder=True)

    def divide32(self, x: IrValue, y: IrValue, sign: bool, remainder: bool) -> IrValue:
        """Compute quotient or remainder of 32-bit numbers."""
        op = self.b.op
        v = y.value if isinstance(y, Const) else 0
        if sign and v >> 31 == 0 and v & v - 1 == 0 and v:
            return self._signed_power(x, v, remainder)
        if not sign and v and v & v - 1 == 0:
            return op(AND, x, Const(v - 1)) if remainder else op(SHR, x, Const(v.bit_length() - 1))
        if not sign:
            return self._unsigned(x, y, y, remainder)
        q = self._unsigned(op(ABS, x), op(ABS, y), None, remainder)
        s = op(SAR, x if remainder else op(XOR, x, y), Const(31))
        signed = op(SUB, op(XOR, q, s), s)
        return self._or_all_ones(signed, y)

    def _signed_power(self, x: IrValue, v: int, remainder: bool) -> IrValue:
        """Divide by a power of two: towards zero."""
        op, n = self.b.op, v.bit_length() - 1
        if n == 0:
            return Const(0) if remainder else x
        bias = op(SHR, op(SAR, x, Const(31)), Const(32 - n))
        rounded = op(ADD, x, bias)
        if remainder:
            return op(SUB, x, op(AND, rounded, Const(-v)))
        return op(SAR, rounded, Const(n))

    def _or_all_ones(self, q: IrValue, y: IrValue) -> IrValue:
        if isinstance(y, Const) and y.value:
            return q
        zero = self.b.op(CMP(cond="e", ty="u32"), y, Const(0))
        return self.b.op(SEL, zero, Const(0xFFFF_FFFF), q)

    def _unsigned(self, x: IrValue, y: IrValue, divisor: IrValue | None, remainder: bool) -> IrValue:
        op = self.b.op
        guess = op(RCP, op(CVT(to="f32", source="u32", rnd="rn"), y, kinds="r"))
        guess = op(ADD, guess, Const(0xFFFF_FFFE))

        def quotient(n: IrValue) -> IrValue:
            f = op(FMUL(rz=True), op(CVT(to="f32", source="u32", rnd="rz"), n, kinds="r"), guess)
            return op(CVT(to="u32", source="f32", rnd="rzi"), f, kinds="r")

        q = quotient(x)
        q = op(ADD, q, quotient(op(SUB, x, op(MUL, q, y))))
        rest = op(SUB, x, op(MUL, q, y))
        more = op(MASK, op(CMP(cond="ge", ty="u32"), rest, y))
        out = op(SUB, rest, op(AND, y, more)) if remainder else op(SUB, q, more)
        return out if divisor is None else self._or_all_ones(out, divisor)

    # --- 64 bits: one bit at a time ---------------------------------------------------------------------------------
    def divide64(self, x: Pair, y: Pair, sign: bool, remainder: bool) -> Pair:
        """Return the quotient or remainder of 64-bit numbers, computed in a loop of 64 iterations."""
        b, op = self.b, self.b.op
        if not sign and isinstance(y[0], Const) and isinstance(y[1], Const):
            v = y[0].value | y[1].value << 32
            if v and v & v - 1 == 0:
                if remainder:
                    low, high = words64(v - 1)
                    return op(AND, x[0], low), op(AND, x[1], high)
                return self.shift_right(x, Const(v.bit_length() - 1), False)  # type: ignore[attr-defined]
        s: IrValue = Const(0)
        if sign:
            sx, sy = op(SAR, x[1], Const(31)), op(SAR, y[1], Const(31))
            s = sx if remainder else op(XOR, sx, sy)
            x = b.sub64((op(XOR, x[0], sx), op(XOR, x[1], sx)), (sx, sx))
            y = b.sub64((op(XOR, y[0], sy), op(XOR, y[1], sy)), (sy, sy))
        q, r = (self.fresh(), self.fresh()), (self.fresh(), self.fresh())
        count, divisor, signs = self.fresh(), (self.fresh(), self.fresh()), self.fresh()
        for k in (0, 1):
            self.put(q[k], x[k])
            self.put(r[k], Const(0))
            self.put(divisor[k], y[k])
        self.put(count, Const(64))
        self.put(signs, s)
        loop, done = self.new_block(), self.new_block()
        self.jump(loop)
        q0, q1, r0, r1 = self.get(q[0]), self.get(q[1]), self.get(r[0]), self.get(r[1])
        y0, y1 = self.get(divisor[0]), self.get(divisor[1])
        # the bit that leaves the remainder counts too: it is then certainly not less than the divisor
        out_bit = op(SAR, r1, Const(31))
        r1 = op(OR, op(SHL, r1, Const(1)), op(SHR, r0, Const(31)))
        r0 = op(OR, op(SHL, r0, Const(1)), op(SHR, q1, Const(31)))
        q1 = op(OR, op(SHL, q1, Const(1)), op(SHR, q0, Const(31)))
        q0 = op(SHL, q0, Const(1))
        less = op(MASK, b.less64((r0, r1), (y0, y1), False, False))
        take = op(OR, op(NOT, less), out_bit)
        r0, r1 = b.sub64((r0, r1), (op(AND, y0, take), op(AND, y1, take)))
        self.put(q[0], op(SUB, q0, take))
        self.put(q[1], q1)
        self.put(r[0], r0)
        self.put(r[1], r1)
        left = op(SUB, self.get(count), Const(1))
        self.put(count, left)
        self.get(signs)
        again = op(CMP(cond="lg", ty="u32"), left, Const(0))
        b.block.uniform = True
        self.branch(again, loop, done, done)
        out = (self.get(r[0]), self.get(r[1])) if remainder else (self.get(q[0]), self.get(q[1]))
        if sign:
            m = self.get(signs)
            out = b.sub64((op(XOR, out[0], m), op(XOR, out[1], m)), (m, m))
        return out
