"""Quotients and roots that are rounded correctly, which the chips have no instruction for.

f64 (gt200) refines an approximation of the reciprocal with fused products until one more step rounds correctly, and
knows from the exact remainder which way other roundings go. f32 goes through f64 where there is one; elsewhere digits
come from a division in integers, and the remainder says whether any are left.
Source: Markstein, "IA-64 and Elementary Functions", 8 and 9, for the last step; PTX ISA manual for the special cases.
"""

from __future__ import annotations

from collections.abc import Callable

from isakit.compile.ir import Const, IrValue
from isakit.compile.translate.base import Base, Pair

ROUNDINGS = ("rn", "rz", "rm", "rp")
SIGN = 0x8000_0000
SCALE64 = 54
"""Denormal f64 are multiplied by 2 to this power first."""


class Exact(Base):
    """Division, reciprocals and square roots."""

    shift_left: Callable[[Pair, IrValue], Pair]
    shift_right: Callable[[Pair, IrValue, bool], Pair]

    # --- parts of floats --------------------------------------------------------------------------------------------
    def widened(self, x: IrValue) -> IrValue:
        """An f32 as f64."""
        return self.b.op("cvt", x, kinds="d", to="f64", **{"from": "f32"})

    def narrowed(self, x: IrValue, rnd: str) -> IrValue:
        """An f64 as f32, without denormals."""
        v = self.b.op("cvt", x, kinds="r", to="f32", **{"from": "f64"}, rnd=rnd)
        return self.b.op("cvt", v, kinds="r", to="f32", **{"from": "f32"}, again=True)

    def flushed(self, x: IrValue) -> IrValue:
        """An f32 without denormals."""
        return self.b.op("cvt", x, kinds="r", to="f32", **{"from": "f32"})

    def _mantissa(self, x: IrValue) -> IrValue:
        """The sign and mantissa of an f32 with the exponent of 1."""
        return self.b.op("or", self.b.op("and", x, Const(0x807F_FFFF)), Const(0x3F80_0000))

    def _normal(self, x: IrValue) -> IrValue:
        """Whether a positive f32 is neither 0 nor infinite nor a NaN."""
        op = self.b.op
        return op("cmp", op("sub", x, Const(0x0080_0000)), Const(0x7F00_0000), cond="l", ty="u32")

    def _bit(self, p: IrValue) -> IrValue:
        return self.b.op("and", self.b.op("mask", p), Const(1))

    def _one(self, high: int = 0x3FF0_0000) -> IrValue:
        return self.b.op("pack", Const(0), Const(high))

    # --- f32 --------------------------------------------------------------------------------------------------------
    def exact_quotient(self, x: IrValue, y: IrValue, rnd: str) -> IrValue:
        """A correctly rounded quotient of f32."""
        op = self.b.op
        x, y = self.flushed(x), self.flushed(y)
        exact = self._quotient_by_double(x, y, rnd) if self.target.fp64 else self._quotient_in_integers(x, y, rnd)
        # where x or y is 0, infinite or a NaN, y counts as 1 with its sign unless it is the one that is special
        ax, ay = op("and", x, Const(0x7FFF_FFFF)), op("and", y, Const(0x7FFF_FFFF))
        unit = op("or", op("and", y, Const(SIGN)), Const(0x3F80_0000))
        plain = self._normal(ay)
        special = op("fmul", x, op("sel", plain, unit, op("rcp", y)))
        return op("sel", op("pand", self._normal(ax), plain), exact, special)

    def _quotient_by_double(self, x: IrValue, y: IrValue, rnd: str) -> IrValue:
        """Rounded twice, which is once: a quotient of f32 that lies between two of them does not look like one in f64.

        The exponents go around the arithmetic, which never leaves its range.
        """
        op = self.b.op
        unit = self._mantissa(y)
        m, one = self.widened(unit), self._one()
        r = self.widened(op("rcp", unit))
        for _ in range(2):
            r = op("dfma", r, op("dfma", m, r, one, rnd="rn", negp=True), r, rnd="rn")
        mx = self.widened(self._mantissa(x))
        q = op("dmul", mx, r, rnd="rn")
        q = op("dfma", op("dfma", m, q, mx, rnd="rn", negp=True), r, q, rnd="rn")
        shift = op("sub", op("and", x, Const(0x7F80_0000)), op("and", y, Const(0x7F80_0000)))  # in units of 2^23
        high = op("add", op("word", q, i=1), op("sar", shift, Const(3)))
        return self.narrowed(op("pack", op("word", q, i=0), high), rnd)

    def _quotient_in_integers(self, x: IrValue, y: IrValue, rnd: str) -> IrValue:
        """26 digits of the quotient of the mantissas in four steps, the remainder for those after."""
        op = self.b.op
        mx = op("or", op("and", x, Const(0x7F_FFFF)), Const(0x80_0000))
        my = op("or", op("and", y, Const(0x7F_FFFF)), Const(0x80_0000))
        # a reciprocal that is never too large, so that a step is right or one too small
        unit = op("or", op("and", y, Const(0x7F_FFFF)), Const(0x3F80_0000))
        r = op("sub", op("rcp", unit), Const((23 << 23) + 2))
        q: IrValue = Const(0)
        rest = mx
        for digits in (8, 8, 8, 2):
            rest = op("shl", rest, Const(digits))
            f = op("cvt", rest, kinds="r", to="f32", **{"from": "u32"}, rnd="rz")
            step = op("cvt", op("fmul", f, r, rz=True, sat=False), kinds="r", to="u32", **{"from": "f32"}, rnd="rzi")
            rest = op("sub", rest, op("mul24", step, my, sign=False, high=False))
            more = op("mask", op("cmp", rest, my, cond="ge", ty="u32"))
            rest = op("sub", rest, op("and", my, more))
            q = op("add", op("shl", q, Const(digits)), op("sub", step, more))
        q = op("or", op("shl", q, Const(1)), self._bit(op("cmp", rest, Const(0), cond="lg", ty="u32")))
        e = op("sub", *(op("and", op("shr", v, Const(23)), Const(0xFF)) for v in (x, y)))
        large = op("cmp", q, Const(1 << 27), cond="ge", ty="u32")
        e = op("add", e, op("sel", large, Const(127), Const(126)))
        return self._rounded(q, op("sel", large, Const(4), Const(3)), e, op("xor", x, y), rnd)

    def _rounded(self, q: IrValue, drop: IrValue, e: IrValue, sign: IrValue, rnd: str) -> IrValue:
        """The f32 of a number of 24 + `drop` digits, the last of which says whether more follow; `e` is its exponent.

        One exponent below the normal ones a digit more is dropped: what rounds up to the smallest normal f32 does.
        """
        op = self.b.op
        drop = op("add", drop, self._bit(op("cmp", e, Const(0), cond="e", ty="s32")))
        m = op("shr", q, drop)
        low = op("sub", q, op("shl", m, drop))
        up: IrValue = Const(0)
        if rnd == "rn":
            half = op("shl", Const(1), op("sub", drop, Const(1)))
            up = self._bit(op("cmp", op("add", low, op("and", m, Const(1))), half, cond="g", ty="u32"))
        elif rnd in ("rm", "rp"):
            positive = op("not", op("sar", sign, Const(31))) if rnd == "rp" else op("sar", sign, Const(31))
            up = op("and", self._bit(op("cmp", low, Const(0), cond="lg", ty="u32")), positive)
        m = op("add", m, up)
        field = op("maxs", op("mins", e, Const(256)), Const(1))
        v = op("add", op("shl", op("sub", field, Const(1)), Const(23)), m)
        most: IrValue = Const(0x7F80_0000)
        if rnd == "rz":
            most = Const(0x7F7F_FFFF)
        elif rnd in ("rm", "rp"):  # away from the side it rounds to, the largest number is as far as it goes
            s = op("shr", sign, Const(31))
            most = op("sub", most, s if rnd == "rp" else op("xor", s, Const(1)))
        v = op("minu", v, most)
        gone = op("por", op("cmp", e, Const(0), cond="l", ty="s32"), op("cmp", v, Const(0x80_0000), cond="l", ty="u32"))
        return op("or", op("sel", gone, Const(0), v), op("and", sign, Const(SIGN)))

    def exact_root(self, x: IrValue, rnd: str) -> IrValue:
        """A correctly rounded square root of f32."""
        op = self.b.op
        x = self.flushed(x)
        exact = self._root_by_double(x, rnd) if self.target.fp64 else self._root_in_integers(x, rnd)
        return op("sel", self._normal(x), exact, op("rcp", op("rsqrt", x)))

    def _root_by_double(self, x: IrValue, rnd: str) -> IrValue:
        op = self.b.op
        d, half = self.widened(x), self._one(0x3FE0_0000)
        r = self._refined_root(d, self.widened(op("rsqrt", x)), 2)
        s = op("dmul", d, r, rnd="rn")
        s = op("dfma", op("dfma", s, s, d, rnd="rn", negp=True), op("dmul", r, half, rnd="rn"), s, rnd="rn")
        return op("cvt", s, kinds="r", to="f32", **{"from": "f64"}, rnd=rnd)

    def _refined_root(self, d: IrValue, r: IrValue, times: int) -> IrValue:
        """1/sqrt(d) from an approximation."""
        op, one_half = self.b.op, self._one(0x3FF8_0000)
        h = op("dmul", d, self._one(0x3FE0_0000), rnd="rn")
        for _ in range(times):
            r = op("dmul", r, op("dfma", op("dmul", h, r, rnd="rn"), r, one_half, rnd="rn", negp=True), rnd="rn")
        return r

    def _root_in_integers(self, x: IrValue, rnd: str) -> IrValue:
        """26 digits of the root: an estimate, and what its square lacks divided by twice the root."""
        op = self.b.op
        e = op("shr", x, Const(23))
        odd = op("and", e, Const(1))
        m = op("shl", op("or", op("and", x, Const(0x7F_FFFF)), Const(0x80_0000)), op("sub", Const(2), odd))
        f = op("cvt", m, kinds="r", to="f32", **{"from": "u32"}, rnd="rn")
        r = op("rsqrt", f)
        scaled = op("add", op("fmul", f, r, rz=False, sat=False), Const(13 << 23))
        s = op("cvt", scaled, kinds="r", to="u32", **{"from": "f32"}, rnd="rni")
        square = op("mul", s, s), op("mulhu", s, s)
        lack = self.b.sub64((op("shl", m, Const(26)), op("shr", m, Const(6))), square)
        part = op("or", op("shr", lack[0], Const(6)), op("shl", lack[1], Const(26)))
        error = op("cvt", part, kinds="r", to="f32", **{"from": "s32"}, rnd="rn")
        error = op("fmul", op("fmul", error, r, rz=False, sat=False), Const(0x3B80_0000), rz=False, sat=False)
        s = op("add", s, op("cvt", error, kinds="r", to="s32", **{"from": "f32"}, rnd="rni"))
        rest = op("sub", op("shl", m, Const(26)), op("mul", s, s))
        less = op("sar", rest, Const(31))  # one too large
        s = op("add", s, less)
        rest = op("add", rest, op("and", op("add", op("shl", s, Const(1)), Const(1)), less))
        q = op("or", op("shl", s, Const(1)), self._bit(op("cmp", rest, Const(0), cond="lg", ty="u32")))
        e = op("shr", op("add", op("add", e, odd), Const(126)), Const(1))
        return self._rounded(q, Const(3), e, Const(0), rnd)

    def round_once(self, p: IrValue, z: IrValue, rnd: str) -> IrValue:
        """p + z as f32, for an exact product: rounding twice in one direction is rounding once, to nearest it is not.

        There the f64 sum rounded to odd keeps enough to be rounded again.
        """
        op = self.b.op
        if rnd != "rn":
            return self.narrowed(op("dadd", p, z, rnd=rnd), rnd)
        s = op("dadd", p, z, rnd="rz")
        # what truncation lost: whether the sum rounded up differs from the one rounded down
        up, down = op("dadd", p, z, rnd="rp"), op("dadd", p, z, rnd="rm")
        inexact = op("cmpd", up, down, cond="lg")
        low = op("or", op("word", s, i=0), self._bit(inexact))
        return self.narrowed(op("pack", low, op("word", s, i=1)), rnd)

    # --- f64 --------------------------------------------------------------------------------------------------------
    def _parts(self, v: IrValue) -> tuple[IrValue, IrValue]:
        """The mantissa of an f64 as a number from 1 to 2 without sign, and its exponent; denormals count on below."""
        op = self.b.op
        tiny = op("cmp", op("and", op("word", v, i=1), Const(0x7FF0_0000)), Const(0), cond="e", ty="u32")
        scaled = op("dmul", v, self._one(0x3FF0_0000 + (SCALE64 << 20)), rnd="rn")
        low, high = (op("sel", tiny, op("word", scaled, i=k), op("word", v, i=k)) for k in (0, 1))
        e = op("and", op("shr", high, Const(20)), Const(0x7FF))
        e = op("sub", e, op("sel", tiny, Const(SCALE64), Const(0)))
        return op("pack", low, op("or", op("and", high, Const(0xF_FFFF)), Const(0x3FF0_0000))), e

    def _magnitude(self, v: IrValue) -> tuple[IrValue, IrValue]:
        """(whether an f64 is 0, whether it is infinite or a NaN)."""
        op = self.b.op
        low, high = op("word", v, i=0), op("and", op("word", v, i=1), Const(0x7FFF_FFFF))
        zero = op("cmp", op("or", low, high), Const(0), cond="e", ty="u32")
        return zero, op("cmp", high, Const(0x7FF0_0000), cond="ge", ty="u32")

    def _directed(self, q: Pair, rest: IrValue, sign: IrValue, rnd: str) -> tuple[Pair, Pair, IrValue]:
        """A correctly rounded magnitude rounded another way: (as asked for, downwards, 1 if inexact).

        `rest` is the exact remainder: negative where `q` is too large.
        """
        op = self.b.op
        below = op("sar", op("word", rest, i=1), Const(31))
        lacks = op("cmp", op("or", op("word", rest, i=0), op("word", rest, i=1)), Const(0), cond="lg", ty="u32")
        inexact = self._bit(lacks)
        floor = self.b.add64(q, (below, below))
        if rnd == "rn":
            return q, floor, inexact
        if rnd == "rz":
            return floor, floor, inexact
        ceiling = self.b.add64(floor, (inexact, Const(0)))
        p = op("cmp", sign, Const(0), cond="ge" if rnd == "rp" else "l", ty="s32")
        return (op("sel", p, ceiling[0], floor[0]), op("sel", p, ceiling[1], floor[1])), floor, inexact

    def divide_double(self, x: IrValue, y: IrValue, rnd: str) -> IrValue:
        """A correctly rounded quotient of f64, denormals and all."""
        op = self.b.op
        one = self._one()
        sign = op("xor", op("word", x, i=1), op("word", y, i=1))
        (mx, ex), (my, ey) = self._parts(x), self._parts(y)
        r = self.widened(op("rcp", op("cvt", my, kinds="r", to="f32", **{"from": "f64"}, rnd="rn")))
        for _ in range(3):
            r = op("dfma", r, op("dfma", my, r, one, rnd="rn", negp=True), r, rnd="rn")
        q = op("dmul", mx, r, rnd="rn")
        q = op("dfma", op("dfma", my, q, mx, rnd="rn", negp=True), r, q, rnd="rn")
        # one divisor, all ones, leaves a quotient that may lack more than half a unit
        rest = op("dfma", my, q, mx, rnd="rn", negp=True)
        scale = op("shl", op("sub", op("shr", op("word", q, i=1), Const(20)), Const(1023 + 53)), Const(20))
        half = op("pack", op("word", my, i=0), op("add", op("word", my, i=1), scale))
        more = self._bit(op("cmpd", rest, half, cond="g"))
        q = op("pack", *self.b.add64((op("word", q, i=0), op("word", q, i=1)), (more, Const(0))))
        rest = op("dfma", my, q, mx, rnd="rn", negp=True)
        asked, floor, inexact = self._directed((op("word", q, i=0), op("word", q, i=1)), rest, sign, rnd)
        shift = op("sub", ex, ey)
        e = op("add", op("shr", asked[1], Const(20)), shift)
        low, high = asked[0], op("add", asked[1], op("shl", shift, Const(20)))
        over = op("cmp", e, Const(2046), cond="g", ty="s32")
        most = self._largest(sign, rnd)
        low, high = op("sel", over, most[0], low), op("sel", over, most[1], high)
        high = op("or", high, op("and", sign, Const(SIGN)))
        # 0, infinite, NaN: the product with a reciprocal that is one of these, or 1
        (zx, bx), (zy, by) = self._magnitude(x), self._magnitude(y)
        hy = op("word", y, i=1)
        infinite = op("cmp", op("or", op("word", y, i=0), op("and", hy, Const(0xF_FFFF))), Const(0), cond="e", ty="u32")
        inverse = op("sel", zy, Const(0x7FF0_0000), op("sel", op("pand", by, infinite), Const(0), Const(0x3FF0_0000)))
        inverse = op("or", inverse, op("and", hy, Const(SIGN)))
        nan = op("pand", by, op("pnot", infinite))
        factor = op("pack", op("sel", nan, op("word", y, i=0), Const(0)), op("sel", nan, hy, inverse))
        special = op("dmul", x, factor, rnd="rn")
        regular = op("pnot", op("por", op("por", zx, bx), op("por", zy, by)))
        low = op("sel", regular, low, op("word", special, i=0))
        high = op("sel", regular, high, op("word", special, i=1))
        small = op("pand", regular, op("cmp", op("add", op("shr", floor[1], Const(20)), shift), Const(1), cond="l",
                                       ty="s32"))  # fmt: skip
        return self._denormal((low, high), small, floor, inexact, shift, sign, rnd)

    def _largest(self, sign: IrValue, rnd: str) -> Pair:
        """What a magnitude that is too large is rounded to."""
        op = self.b.op
        infinite: Pair = Const(0), Const(0x7FF0_0000)
        finite: Pair = Const(0xFFFF_FFFF), Const(0x7FEF_FFFF)
        if rnd in ("rn", "rz"):
            return infinite if rnd == "rn" else finite
        p = op("cmp", sign, Const(0), cond="ge" if rnd == "rp" else "l", ty="s32")
        return op("sel", p, infinite[0], finite[0]), op("sel", p, infinite[1], finite[1])

    def _denormal(
        self, result: Pair, small: IrValue, floor: Pair, inexact: IrValue, shift: IrValue, sign: IrValue, rnd: str
    ) -> IrValue:
        """The result, or where it is `small` its digits shifted down and rounded in a block of its own."""
        b, op = self.b, self.b.op
        slots = [self.fresh() for _ in range(7)]
        for slot, v in zip(slots, (*result, *floor, inexact, shift, sign), strict=True):
            self.put(slot, v)
        inner, after = self.new_block(), self.new_block()
        b.block.term = ("branch", small, False, inner, after)
        self.go(inner)
        q: Pair = self.get(slots[2]), self.get(slots[3])
        sign = self.get(slots[6])
        e = op("add", op("shr", q[1], Const(20)), self.get(slots[5]))
        n = op("mins", op("sub", Const(1), e), Const(SCALE64))
        digits = self.shift_left((q[0], op("or", op("and", q[1], Const(0xF_FFFF)), Const(0x10_0000))), Const(1))
        digits = op("or", digits[0], self.get(slots[4])), digits[1]
        dropped = op("add", n, Const(1))
        kept = self.shift_right(digits, dropped, False)
        low = b.sub64(digits, self.shift_left(kept, dropped))
        up: IrValue = Const(0)
        if rnd == "rn":
            half = self.shift_left((Const(1), Const(0)), n)
            tie = b.add64(low, (op("and", kept[0], Const(1)), Const(0)))
            up = self._bit(b.less64(half, tie, False, False))
        elif rnd in ("rm", "rp"):
            toward = op("sar", sign, Const(31))
            lost = op("cmp", op("or", low[0], low[1]), Const(0), cond="lg", ty="u32")
            up = op("and", self._bit(lost), toward if rnd == "rm" else op("not", toward))
        total = b.add64(kept, (up, Const(0)))
        self.put(slots[0], total[0])
        self.put(slots[1], op("or", total[1], op("and", sign, Const(SIGN))))
        b.block.term = ("jump", after)
        self.go(after)
        return op("pack", self.get(slots[0]), self.get(slots[1]))

    def root_double(self, x: IrValue, rnd: str) -> IrValue:
        """A correctly rounded square root of f64."""
        op = self.b.op
        m, half = self._even(x)
        r = self._refined_root(m, self._approximate_root(m), 3)
        s = op("dmul", m, r, rnd="rn")
        rest = op("dfma", s, s, m, rnd="rn", negp=True)
        s = op("dfma", rest, op("dmul", r, self._one(0x3FE0_0000), rnd="rn"), s, rnd="rn")
        rest = op("dfma", s, s, m, rnd="rn", negp=True)
        (low, high), _, _ = self._directed((op("word", s, i=0), op("word", s, i=1)), rest, Const(0), rnd)
        return self._root_result(x, low, op("add", high, op("shl", half, Const(20))), lambda hx: op(
            "sel", op("cmp", op("and", hx, Const(0x7FFF_FFFF)), Const(0), cond="e", ty="u32"), hx,
            Const(0x7FF0_0000)))  # fmt: skip

    def inverse_root_double(self, x: IrValue) -> IrValue:
        """1/sqrt(x) of f64, to about one unit in the last place."""
        op = self.b.op
        m, half = self._even(x)
        r = self._refined_root(m, self._approximate_root(m), 3)
        high = op("sub", op("word", r, i=1), op("shl", half, Const(20)))
        zero = Const(0x7FF0_0000)
        return self._root_result(x, op("word", r, i=0), high, lambda hx: op(
            "sel", op("cmp", op("and", hx, Const(0x7FFF_FFFF)), Const(0), cond="e", ty="u32"),
            op("or", op("and", hx, Const(SIGN)), zero), Const(0)))  # fmt: skip

    def _even(self, x: IrValue) -> Pair:
        """(the mantissa times 2 where the exponent is odd, half of the rest of the exponent)."""
        op = self.b.op
        m, e = self._parts(x)
        e = op("sub", e, Const(1023))
        odd = op("and", e, Const(1))
        m = op("pack", op("word", m, i=0), op("add", op("word", m, i=1), op("shl", odd, Const(20))))
        return m, op("sar", e, Const(1))

    def _approximate_root(self, m: IrValue) -> IrValue:
        return self.widened(self.b.op("rsqrt", self.b.op("cvt", m, kinds="r", to="f32", **{"from": "f64"}, rnd="rn")))

    def _root_result(self, x: IrValue, low: IrValue, high: IrValue, limit: Callable[[IrValue], IrValue]) -> IrValue:
        """The root where x is positive and finite; `limit` gives the upper word for zeros and infinity."""
        op = self.b.op
        hx = op("word", x, i=1)
        zero, big = self._magnitude(x)
        fraction = op("or", op("word", x, i=0), op("and", hx, Const(0xF_FFFF)))
        is_nan = op("pand", big, op("cmp", fraction, Const(0), cond="lg", ty="u32"))
        negative = op("pand", op("cmp", hx, Const(0), cond="l", ty="s32"), op("pnot", zero))
        edge = op("por", zero, big)
        low, high = op("sel", edge, Const(0), low), op("sel", edge, limit(hx), high)
        low, high = op("sel", negative, Const(0), low), op("sel", negative, Const(0xFFF8_0000), high)
        low = op("sel", is_nan, op("word", x, i=0), low)
        return op("pack", low, op("sel", is_nan, op("or", hx, Const(0x8_0000)), high))
