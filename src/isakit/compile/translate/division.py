"""Division of integers. These chips have none; NVIDIA's code multiplies by a reciprocal that is a little too small.

The quotient of two rounds is exact or one too small; a comparison corrects it. Division by zero gives all ones.
Source: [corpus], the sequence is the one NVIDIA's compiler calls.
"""

from __future__ import annotations

from isakit.compile.builder import words64
from isakit.compile.ir import Const, IrValue
from isakit.compile.ptx.syntax import Operand
from isakit.compile.translate.base import Base, Pair

Mods = dict[str, str]
Args = tuple[Operand, ...]


class Division(Base):
    """`div` and `rem` of integers."""

    def do_div_int(self, m: Mods, a: Args) -> None:
        self._divide(m["int"], a, False)

    def do_rem_int(self, m: Mods, a: Args) -> None:
        self._divide(m["int"], a, True)

    def _divide(self, ty: str, a: Args, remainder: bool) -> None:
        sign = ty[0] == "s"
        if self.is_wide(ty):
            self.write_pair(a[0], self.divide64(self.pair(a[1]), self.pair(a[2]), sign, remainder))
            return
        x, y = self.extend(self.word(a[1], ty), ty), self.extend(self.word(a[2], ty), ty)
        self.write(a[0], self.divide32(x, y, sign, remainder), ty)

    def divide32(self, x: IrValue, y: IrValue, sign: bool, remainder: bool) -> IrValue:
        """Quotient or remainder of 32-bit numbers."""
        op = self.b.op
        v = y.value if isinstance(y, Const) else 0
        if sign and v >> 31 == 0 and v & v - 1 == 0 and v:
            return self._signed_power(x, v, remainder)
        if not sign and v and v & v - 1 == 0:
            return op("and", x, Const(v - 1)) if remainder else op("shr", x, Const(v.bit_length() - 1))
        if not sign:
            return self._unsigned(x, y, y, remainder)
        q = self._unsigned(op("abs", x), op("abs", y), None, remainder)
        s = op("sar", x if remainder else op("xor", x, y), Const(31))
        signed = op("sub", op("xor", q, s), s)
        return self._or_all_ones(signed, y, x if remainder else None)

    def _signed_power(self, x: IrValue, v: int, remainder: bool) -> IrValue:
        """By a power of two: towards zero."""
        op, n = self.b.op, v.bit_length() - 1
        if n == 0:
            return Const(0) if remainder else x
        bias = op("shr", op("sar", x, Const(31)), Const(32 - n))
        rounded = op("add", x, bias)
        if remainder:
            return op("sub", x, op("and", rounded, Const(-v)))
        return op("sar", rounded, Const(n))

    def _or_all_ones(self, q: IrValue, y: IrValue, x: IrValue | None) -> IrValue:
        if isinstance(y, Const) and y.value:
            return q
        zero = self.b.op("cmp", y, Const(0), cond="e", ty="u32")
        return self.b.op("sel", zero, Const(0xFFFF_FFFF), q)

    def _unsigned(self, x: IrValue, y: IrValue, divisor: IrValue | None, remainder: bool) -> IrValue:
        op = self.b.op
        to_float = {"to": "f32", "from": "u32", "rnd": "rz"}
        guess = op("rcp", op("cvt", y, kinds="r", to="f32", **{"from": "u32", "rnd": "rn"}))
        guess = op("add", guess, Const(0xFFFF_FFFE))

        def quotient(n: IrValue) -> IrValue:
            f = op("fmul", op("cvt", n, kinds="r", **to_float), guess, rz=True)
            return op("cvt", f, kinds="r", to="u32", **{"from": "f32", "rnd": "rzi"})

        q = quotient(x)
        q = op("add", q, quotient(op("sub", x, op("mul", q, y))))
        rest = op("sub", x, op("mul", q, y))
        more = op("mask", op("cmp", rest, y, cond="ge", ty="u32"))
        out = op("sub", rest, op("and", y, more)) if remainder else op("sub", q, more)
        return out if divisor is None else self._or_all_ones(out, divisor, None)

    # --- 64 bits: one bit at a time ---------------------------------------------------------------------------------
    def divide64(self, x: Pair, y: Pair, sign: bool, remainder: bool) -> Pair:
        """Quotient or remainder of 64-bit numbers, a loop of 64 rounds."""
        b, op = self.b, self.b.op
        if not sign and isinstance(y[0], Const) and isinstance(y[1], Const):
            v = y[0].value | y[1].value << 32
            if v and v & v - 1 == 0:
                if remainder:
                    low, high = words64(v - 1)
                    return op("and", x[0], low), op("and", x[1], high)
                return self.shift_right(x, Const(v.bit_length() - 1), False)  # type: ignore[attr-defined]
        s: IrValue = Const(0)
        if sign:
            sx, sy = op("sar", x[1], Const(31)), op("sar", y[1], Const(31))
            s = sx if remainder else op("xor", sx, sy)
            x = b.sub64((op("xor", x[0], sx), op("xor", x[1], sx)), (sx, sx))
            y = b.sub64((op("xor", y[0], sy), op("xor", y[1], sy)), (sy, sy))
        q, r = (self.fresh(), self.fresh()), (self.fresh(), self.fresh())
        count, divisor, signs = self.fresh(), (self.fresh(), self.fresh()), self.fresh()
        for k in (0, 1):
            self.put(q[k], x[k])
            self.put(r[k], Const(0))
            self.put(divisor[k], y[k])
        self.put(count, Const(64))
        self.put(signs, s)
        loop, done = self.new_block(), self.new_block()
        b.block.term = ("jump", loop)
        self.go(loop)
        q0, q1, r0, r1 = self.get(q[0]), self.get(q[1]), self.get(r[0]), self.get(r[1])
        y0, y1 = self.get(divisor[0]), self.get(divisor[1])
        # the bit that leaves the remainder counts too: it is then certainly not less than the divisor
        out_bit = op("sar", r1, Const(31))
        r1 = op("or", op("shl", r1, Const(1)), op("shr", r0, Const(31)))
        r0 = op("or", op("shl", r0, Const(1)), op("shr", q1, Const(31)))
        q1 = op("or", op("shl", q1, Const(1)), op("shr", q0, Const(31)))
        q0 = op("shl", q0, Const(1))
        less = op("mask", b.less64((r0, r1), (y0, y1), False, False))
        take = op("or", op("not", less), out_bit)
        r0, r1 = b.sub64((r0, r1), (op("and", y0, take), op("and", y1, take)))
        self.put(q[0], op("sub", q0, take))
        self.put(q[1], q1)
        self.put(r[0], r0)
        self.put(r[1], r1)
        left = op("sub", self.get(count), Const(1))
        self.put(count, left)
        self.get(signs)
        again = op("cmp", left, Const(0), cond="lg", ty="u32")
        b.block.term = ("branch", again, False, loop, done)
        b.block.uniform = True
        self.go(done)
        out = (self.get(r[0]), self.get(r[1])) if remainder else (self.get(q[0]), self.get(q[1]))
        if sign:
            m = self.get(signs)
            out = b.sub64((op("xor", out[0], m), op("xor", out[1], m)), (m, m))
        return out
