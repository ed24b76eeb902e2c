"""Quotients and roots that are rounded correctly, which the chips have no instruction for.

f64 (gt200) refines an approximation of the reciprocal with fused products until one more step rounds correctly, and
decides the other rounding modes by the exact remainder. f32 goes through f64 where there is one; elsewhere digits come
from an integer division, and the remainder is the sticky bit. Source: Markstein, "IA-64 and Elementary Functions", 8
and 9, for the last step; PTX ISA manual for the special cases.
"""

from __future__ import annotations

from collections.abc import Callable

from isakit.compile.ir import Const, IrValue
from isakit.compile.ops import (
    ADD,
    AND,
    CMP,
    CMPD,
    CVT,
    DADD,
    DFMA,
    DMUL,
    FMUL,
    MASK,
    MAXS,
    MINS,
    MINU,
    MUL,
    MUL24,
    MULHU,
    NOT,
    OR,
    PACK,
    PAND,
    PNOT,
    POR,
    RCP,
    RSQRT,
    SAR,
    SEL,
    SHL,
    SHR,
    SUB,
    WORD,
    XOR,
)
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
        """Convert an f32 to f64."""
        return self.b.op(CVT(to="f64", source="f32"), x, kinds="d")

    def narrowed(self, x: IrValue, rnd: str) -> IrValue:
        """Convert an f64 to f32, flushing denormals."""
        v = self.b.op(CVT(to="f32", source="f64", rnd=rnd), x, kinds="r")
        return self.b.op(CVT(to="f32", source="f32", again=True), v, kinds="r")

    def flushed(self, x: IrValue) -> IrValue:
        """Flush denormals of an f32."""
        return self.b.op(CVT(to="f32", source="f32"), x, kinds="r")

    def _mantissa(self, x: IrValue) -> IrValue:
        """Return the sign and mantissa of an f32 with the exponent of 1."""
        return self.b.op(OR, self.b.op(AND, x, Const(0x807F_FFFF)), Const(0x3F80_0000))

    def _normal(self, x: IrValue) -> IrValue:
        """Return whether a positive f32 is neither 0 nor infinite nor a NaN."""
        op = self.b.op
        return op(CMP(cond="l", ty="u32"), op(SUB, x, Const(0x0080_0000)), Const(0x7F00_0000))

    def _bit(self, p: IrValue) -> IrValue:
        return self.b.op(AND, self.b.op(MASK, p), Const(1))

    def _one(self, high: int = 0x3FF0_0000) -> IrValue:
        return self.b.op(PACK, Const(0), Const(high))

    # --- f32 --------------------------------------------------------------------------------------------------------
    def exact_quotient(self, x: IrValue, y: IrValue, rnd: str) -> IrValue:
        """Compute a correctly rounded quotient of f32."""
        op = self.b.op
        x, y = self.flushed(x), self.flushed(y)
        exact = self._quotient_by_double(x, y, rnd) if self.chip.fp64 else self._quotient_in_integers(x, y, rnd)
        # where x or y is 0, infinite or a NaN, y counts as 1 with its sign unless it is the one that is special
        ax, ay = op(AND, x, Const(0x7FFF_FFFF)), op(AND, y, Const(0x7FFF_FFFF))
        unit = op(OR, op(AND, y, Const(SIGN)), Const(0x3F80_0000))
        plain = self._normal(ay)
        special = op(FMUL(), x, op(SEL, plain, unit, op(RCP, y)))
        return op(SEL, op(PAND, self._normal(ax), plain), exact, special)

    def _quotient_by_double(self, x: IrValue, y: IrValue, rnd: str) -> IrValue:
        """Divide in f64 and round to f32.

        Double rounding is harmless: a quotient between two f32 is neither of them, nor their midpoint, in f64.
        Exponents are handled apart from the arithmetic, which never leaves its range.
        """
        op = self.b.op
        unit = self._mantissa(y)
        m, one = self.widened(unit), self._one()
        r = self.widened(op(RCP, unit))
        for _ in range(2):
            r = op(DFMA(rnd="rn"), r, op(DFMA(rnd="rn", negp=True), m, r, one), r)
        mx = self.widened(self._mantissa(x))
        q = op(DMUL(rnd="rn"), mx, r)
        q = op(DFMA(rnd="rn"), op(DFMA(rnd="rn", negp=True), m, q, mx), r, q)
        shift = op(SUB, op(AND, x, Const(0x7F80_0000)), op(AND, y, Const(0x7F80_0000)))  # in units of 2^23
        high = op(ADD, op(WORD(i=1), q), op(SAR, shift, Const(3)))
        return self.narrowed(op(PACK, op(WORD(i=0), q), high), rnd)

    def _quotient_in_integers(self, x: IrValue, y: IrValue, rnd: str) -> IrValue:
        """Compute 26 bits of the quotient of the mantissas in four steps; the remainder gives the sticky bit."""
        op = self.b.op
        mx = op(OR, op(AND, x, Const(0x7F_FFFF)), Const(0x80_0000))
        my = op(OR, op(AND, y, Const(0x7F_FFFF)), Const(0x80_0000))
        # a reciprocal that is never too large, so that a step is right or one too small
        unit = op(OR, op(AND, y, Const(0x7F_FFFF)), Const(0x3F80_0000))
        r = op(SUB, op(RCP, unit), Const((23 << 23) + 2))
        q: IrValue = Const(0)
        rest = mx
        for digits in (8, 8, 8, 2):
            rest = op(SHL, rest, Const(digits))
            f = op(CVT(to="f32", source="u32", rnd="rz"), rest, kinds="r")
            step = op(CVT(to="u32", source="f32", rnd="rzi"), op(FMUL(rz=True, sat=False), f, r), kinds="r")
            rest = op(SUB, rest, op(MUL24(sign=False, high=False), step, my))
            more = op(MASK, op(CMP(cond="ge", ty="u32"), rest, my))
            rest = op(SUB, rest, op(AND, my, more))
            q = op(ADD, op(SHL, q, Const(digits)), op(SUB, step, more))
        q = op(OR, op(SHL, q, Const(1)), self._bit(op(CMP(cond="lg", ty="u32"), rest, Const(0))))
        e = op(SUB, *(op(AND, op(SHR, v, Const(23)), Const(0xFF)) for v in (x, y)))
        large = op(CMP(cond="ge", ty="u32"), q, Const(1 << 27))
        e = op(ADD, e, op(SEL, large, Const(127), Const(126)))
        return self._rounded(q, op(SEL, large, Const(4), Const(3)), e, op(XOR, x, y), rnd)

    def _rounded(self, q: IrValue, drop: IrValue, e: IrValue, sign: IrValue, rnd: str) -> IrValue:
        """Round a number of 24 + `drop` bits to f32; the last bit is sticky, `e` is the exponent.

        One exponent below the normal range one bit more is dropped, so that rounding can reach the smallest normal f32.
        """
        op = self.b.op
        drop = op(ADD, drop, self._bit(op(CMP(cond="e", ty="s32"), e, Const(0))))
        m = op(SHR, q, drop)
        low = op(SUB, q, op(SHL, m, drop))
        up: IrValue = Const(0)
        if rnd == "rn":
            half = op(SHL, Const(1), op(SUB, drop, Const(1)))
            up = self._bit(op(CMP(cond="g", ty="u32"), op(ADD, low, op(AND, m, Const(1))), half))
        elif rnd in ("rm", "rp"):
            positive = op(NOT, op(SAR, sign, Const(31))) if rnd == "rp" else op(SAR, sign, Const(31))
            up = op(AND, self._bit(op(CMP(cond="lg", ty="u32"), low, Const(0))), positive)
        m = op(ADD, m, up)
        field = op(MAXS, op(MINS, e, Const(256)), Const(1))
        v = op(ADD, op(SHL, op(SUB, field, Const(1)), Const(23)), m)
        most: IrValue = Const(0x7F80_0000)
        if rnd == "rz":
            most = Const(0x7F7F_FFFF)
        elif rnd in ("rm", "rp"):  # away from the side it rounds to, the largest number is as far as it goes
            s = op(SHR, sign, Const(31))
            most = op(SUB, most, s if rnd == "rp" else op(XOR, s, Const(1)))
        v = op(MINU, v, most)
        gone = op(POR, op(CMP(cond="l", ty="s32"), e, Const(0)), op(CMP(cond="l", ty="u32"), v, Const(0x80_0000)))
        return op(OR, op(SEL, gone, Const(0), v), op(AND, sign, Const(SIGN)))

    def exact_root(self, x: IrValue, rnd: str) -> IrValue:
        """Compute a correctly rounded square root of f32."""
        op = self.b.op
        x = self.flushed(x)
        exact = self._root_by_double(x, rnd) if self.chip.fp64 else self._root_in_integers(x, rnd)
        return op(SEL, self._normal(x), exact, op(RCP, op(RSQRT, x)))

    def _root_by_double(self, x: IrValue, rnd: str) -> IrValue:
        op = self.b.op
        d, half = self.widened(x), self._one(0x3FE0_0000)
        r = self._refined_root(d, self.widened(op(RSQRT, x)), 2)
        s = op(DMUL(rnd="rn"), d, r)
        s = op(DFMA(rnd="rn"), op(DFMA(rnd="rn", negp=True), s, s, d), op(DMUL(rnd="rn"), r, half), s)
        return op(CVT(to="f32", source="f64", rnd=rnd), s, kinds="r")

    def _refined_root(self, d: IrValue, r: IrValue, times: int) -> IrValue:
        """Refine an approximation of 1/sqrt(d)."""
        op, one_half = self.b.op, self._one(0x3FF8_0000)
        h = op(DMUL(rnd="rn"), d, self._one(0x3FE0_0000))
        for _ in range(times):
            r = op(DMUL(rnd="rn"), r, op(DFMA(rnd="rn", negp=True), op(DMUL(rnd="rn"), h, r), r, one_half))
        return r

    def _root_in_integers(self, x: IrValue, rnd: str) -> IrValue:
        """Compute 26 bits of the root: an estimate, corrected by the remainder divided by twice the root."""
        op = self.b.op
        e = op(SHR, x, Const(23))
        odd = op(AND, e, Const(1))
        m = op(SHL, op(OR, op(AND, x, Const(0x7F_FFFF)), Const(0x80_0000)), op(SUB, Const(2), odd))
        f = op(CVT(to="f32", source="u32", rnd="rn"), m, kinds="r")
        r = op(RSQRT, f)
        scaled = op(ADD, op(FMUL(rz=False, sat=False), f, r), Const(13 << 23))
        s = op(CVT(to="u32", source="f32", rnd="rni"), scaled, kinds="r")
        square = op(MUL, s, s), op(MULHU, s, s)
        lack = self.b.sub64((op(SHL, m, Const(26)), op(SHR, m, Const(6))), square)
        part = op(OR, op(SHR, lack[0], Const(6)), op(SHL, lack[1], Const(26)))
        error = op(CVT(to="f32", source="s32", rnd="rn"), part, kinds="r")
        error = op(FMUL(rz=False, sat=False), op(FMUL(rz=False, sat=False), error, r), Const(0x3B80_0000))
        s = op(ADD, s, op(CVT(to="s32", source="f32", rnd="rni"), error, kinds="r"))
        rest = op(SUB, op(SHL, m, Const(26)), op(MUL, s, s))
        less = op(SAR, rest, Const(31))  # one too large
        s = op(ADD, s, less)
        rest = op(ADD, rest, op(AND, op(ADD, op(SHL, s, Const(1)), Const(1)), less))
        q = op(OR, op(SHL, s, Const(1)), self._bit(op(CMP(cond="lg", ty="u32"), rest, Const(0))))
        e = op(SHR, op(ADD, op(ADD, e, odd), Const(126)), Const(1))
        return self._rounded(q, Const(3), e, Const(0), rnd)

    def round_once(self, p: IrValue, z: IrValue, rnd: str) -> IrValue:
        """Return p + z, for an exact product p, rounded to f32 once.

        A directed rounding may be applied twice; rounding to nearest first rounds the f64 sum to odd, which keeps
        enough bits.
        """
        op = self.b.op
        if rnd != "rn":
            return self.narrowed(op(DADD(rnd=rnd), p, z), rnd)
        s = op(DADD(rnd="rz"), p, z)
        # what truncation lost: whether the sum rounded up differs from the one rounded down
        up, down = op(DADD(rnd="rp"), p, z), op(DADD(rnd="rm"), p, z)
        inexact = op(CMPD(cond="lg"), up, down)
        low = op(OR, op(WORD(i=0), s), self._bit(inexact))
        return self.narrowed(op(PACK, low, op(WORD(i=1), s)), rnd)

    # --- f64 --------------------------------------------------------------------------------------------------------
    def _parts(self, v: IrValue) -> tuple[IrValue, IrValue]:
        """Return the mantissa of an f64 from 1 to 2 without sign, and its exponent, also of denormals."""
        op = self.b.op
        tiny = op(CMP(cond="e", ty="u32"), op(AND, op(WORD(i=1), v), Const(0x7FF0_0000)), Const(0))
        scaled = op(DMUL(rnd="rn"), v, self._one(0x3FF0_0000 + (SCALE64 << 20)))
        low, high = (op(SEL, tiny, op(WORD(i=k), scaled), op(WORD(i=k), v)) for k in (0, 1))
        e = op(AND, op(SHR, high, Const(20)), Const(0x7FF))
        e = op(SUB, e, op(SEL, tiny, Const(SCALE64), Const(0)))
        return op(PACK, low, op(OR, op(AND, high, Const(0xF_FFFF)), Const(0x3FF0_0000))), e

    def _magnitude(self, v: IrValue) -> tuple[IrValue, IrValue]:
        """Return (whether an f64 is 0, whether it is infinite or a NaN)."""
        op = self.b.op
        low, high = op(WORD(i=0), v), op(AND, op(WORD(i=1), v), Const(0x7FFF_FFFF))
        zero = op(CMP(cond="e", ty="u32"), op(OR, low, high), Const(0))
        return zero, op(CMP(cond="ge", ty="u32"), high, Const(0x7FF0_0000))

    def _directed(self, q: Pair, rest: IrValue, sign: IrValue, rnd: str) -> tuple[Pair, Pair, IrValue]:
        """Return a correctly rounded magnitude as (rounded in mode `rnd`, rounded down, 1 if inexact).

        `rest` is the exact remainder: negative where `q` is too large.
        """
        op = self.b.op
        below = op(SAR, op(WORD(i=1), rest), Const(31))
        lacks = op(CMP(cond="lg", ty="u32"), op(OR, op(WORD(i=0), rest), op(WORD(i=1), rest)), Const(0))
        inexact = self._bit(lacks)
        floor = self.b.add64(q, (below, below))
        if rnd == "rn":
            return q, floor, inexact
        if rnd == "rz":
            return floor, floor, inexact
        ceiling = self.b.add64(floor, (inexact, Const(0)))
        p = op(CMP(cond="ge" if rnd == "rp" else "l", ty="s32"), sign, Const(0))
        return (op(SEL, p, ceiling[0], floor[0]), op(SEL, p, ceiling[1], floor[1])), floor, inexact

    def divide_double(self, x: IrValue, y: IrValue, rnd: str) -> IrValue:
        """Compute a correctly rounded quotient of f64, denormals included."""
        op = self.b.op
        one = self._one()
        sign = op(XOR, op(WORD(i=1), x), op(WORD(i=1), y))
        (mx, ex), (my, ey) = self._parts(x), self._parts(y)
        r = self.widened(op(RCP, op(CVT(to="f32", source="f64", rnd="rn"), my, kinds="r")))
        for _ in range(3):
            r = op(DFMA(rnd="rn"), r, op(DFMA(rnd="rn", negp=True), my, r, one), r)
        q = op(DMUL(rnd="rn"), mx, r)
        q = op(DFMA(rnd="rn"), op(DFMA(rnd="rn", negp=True), my, q, mx), r, q)
        # one divisor, all ones, leaves a quotient that may lack more than half a unit
        rest = op(DFMA(rnd="rn", negp=True), my, q, mx)
        scale = op(SHL, op(SUB, op(SHR, op(WORD(i=1), q), Const(20)), Const(1023 + 53)), Const(20))
        half = op(PACK, op(WORD(i=0), my), op(ADD, op(WORD(i=1), my), scale))
        more = self._bit(op(CMPD(cond="g"), rest, half))
        q = op(PACK, *self.b.add64((op(WORD(i=0), q), op(WORD(i=1), q)), (more, Const(0))))
        rest = op(DFMA(rnd="rn", negp=True), my, q, mx)
        asked, floor, inexact = self._directed((op(WORD(i=0), q), op(WORD(i=1), q)), rest, sign, rnd)
        shift = op(SUB, ex, ey)
        e = op(ADD, op(SHR, asked[1], Const(20)), shift)
        low, high = asked[0], op(ADD, asked[1], op(SHL, shift, Const(20)))
        over = op(CMP(cond="g", ty="s32"), e, Const(2046))
        most = self._largest(sign, rnd)
        low, high = op(SEL, over, most[0], low), op(SEL, over, most[1], high)
        high = op(OR, high, op(AND, sign, Const(SIGN)))
        # 0, infinite, NaN: the product with a reciprocal that is one of these, or 1
        (zx, bx), (zy, by) = self._magnitude(x), self._magnitude(y)
        hy = op(WORD(i=1), y)
        infinite = op(CMP(cond="e", ty="u32"), op(OR, op(WORD(i=0), y), op(AND, hy, Const(0xF_FFFF))), Const(0))
        inverse = op(SEL, zy, Const(0x7FF0_0000), op(SEL, op(PAND, by, infinite), Const(0), Const(0x3FF0_0000)))
        inverse = op(OR, inverse, op(AND, hy, Const(SIGN)))
        nan = op(PAND, by, op(PNOT, infinite))
        factor = op(PACK, op(SEL, nan, op(WORD(i=0), y), Const(0)), op(SEL, nan, hy, inverse))
        special = op(DMUL(rnd="rn"), x, factor)
        regular = op(PNOT, op(POR, op(POR, zx, bx), op(POR, zy, by)))
        low = op(SEL, regular, low, op(WORD(i=0), special))
        high = op(SEL, regular, high, op(WORD(i=1), special))
        small = op(PAND, regular, op(CMP(cond="l", ty="s32"), op(ADD, op(SHR, floor[1], Const(20)), shift), Const(1)))
        return self._denormal((low, high), small, floor, inexact, shift, sign, rnd)

    def _largest(self, sign: IrValue, rnd: str) -> Pair:
        """Return the value that a magnitude above the range is rounded to."""
        op = self.b.op
        infinite: Pair = Const(0), Const(0x7FF0_0000)
        finite: Pair = Const(0xFFFF_FFFF), Const(0x7FEF_FFFF)
        if rnd in ("rn", "rz"):
            return infinite if rnd == "rn" else finite
        p = op(CMP(cond="ge" if rnd == "rp" else "l", ty="s32"), sign, Const(0))
        return op(SEL, p, infinite[0], finite[0]), op(SEL, p, infinite[1], finite[1])

    def _denormal(
        self, result: Pair, small: IrValue, floor: Pair, inexact: IrValue, shift: IrValue, sign: IrValue, rnd: str
    ) -> IrValue:
        """Return the result; if `small`, its mantissa is shifted down and rounded in a block of its own."""
        b, op = self.b, self.b.op
        slots = [self.fresh() for _ in range(7)]
        for slot, v in zip(slots, (*result, *floor, inexact, shift, sign), strict=True):
            self.put(slot, v)
        inner, after = self.new_block(), self.new_block()
        self.branch(small, inner, after, inner)
        q: Pair = self.get(slots[2]), self.get(slots[3])
        sign = self.get(slots[6])
        e = op(ADD, op(SHR, q[1], Const(20)), self.get(slots[5]))
        n = op(MINS, op(SUB, Const(1), e), Const(SCALE64))
        digits = self.shift_left((q[0], op(OR, op(AND, q[1], Const(0xF_FFFF)), Const(0x10_0000))), Const(1))
        digits = op(OR, digits[0], self.get(slots[4])), digits[1]
        dropped = op(ADD, n, Const(1))
        kept = self.shift_right(digits, dropped, False)
        low = b.sub64(digits, self.shift_left(kept, dropped))
        up: IrValue = Const(0)
        if rnd == "rn":
            half = self.shift_left((Const(1), Const(0)), n)
            tie = b.add64(low, (op(AND, kept[0], Const(1)), Const(0)))
            up = self._bit(b.less64(half, tie, False, False))
        elif rnd in ("rm", "rp"):
            toward = op(SAR, sign, Const(31))
            lost = op(CMP(cond="lg", ty="u32"), op(OR, low[0], low[1]), Const(0))
            up = op(AND, self._bit(lost), toward if rnd == "rm" else op(NOT, toward))
        total = b.add64(kept, (up, Const(0)))
        self.put(slots[0], total[0])
        self.put(slots[1], op(OR, total[1], op(AND, sign, Const(SIGN))))
        self.jump(after)
        return op(PACK, self.get(slots[0]), self.get(slots[1]))

    def root_double(self, x: IrValue, rnd: str) -> IrValue:
        """Compute a correctly rounded square root of f64."""
        op = self.b.op
        m, half = self._even(x)
        r = self._refined_root(m, self._approximate_root(m), 3)
        s = op(DMUL(rnd="rn"), m, r)
        rest = op(DFMA(rnd="rn", negp=True), s, s, m)
        s = op(DFMA(rnd="rn"), rest, op(DMUL(rnd="rn"), r, self._one(0x3FE0_0000)), s)
        rest = op(DFMA(rnd="rn", negp=True), s, s, m)
        (low, high), _, _ = self._directed((op(WORD(i=0), s), op(WORD(i=1), s)), rest, Const(0), rnd)
        return self._root_result(x, low, op(ADD, high, op(SHL, half, Const(20))), lambda hx: op(
            SEL, op(CMP(cond="e", ty="u32"), op(AND, hx, Const(0x7FFF_FFFF)), Const(0)), hx,
            Const(0x7FF0_0000)))  # fmt: skip

    def inverse_root_double(self, x: IrValue) -> IrValue:
        """Compute 1/sqrt(x) of f64, to about one unit in the last place."""
        op = self.b.op
        m, half = self._even(x)
        r = self._refined_root(m, self._approximate_root(m), 3)
        high = op(SUB, op(WORD(i=1), r), op(SHL, half, Const(20)))
        zero = Const(0x7FF0_0000)
        return self._root_result(x, op(WORD(i=0), r), high, lambda hx: op(
            SEL, op(CMP(cond="e", ty="u32"), op(AND, hx, Const(0x7FFF_FFFF)), Const(0)),
            op(OR, op(AND, hx, Const(SIGN)), zero), Const(0)))  # fmt: skip

    def _even(self, x: IrValue) -> Pair:
        """Return (the mantissa, doubled if the exponent is odd; half of the remaining exponent)."""
        op = self.b.op
        m, e = self._parts(x)
        e = op(SUB, e, Const(1023))
        odd = op(AND, e, Const(1))
        m = op(PACK, op(WORD(i=0), m), op(ADD, op(WORD(i=1), m), op(SHL, odd, Const(20))))
        return m, op(SAR, e, Const(1))

    def _approximate_root(self, m: IrValue) -> IrValue:
        return self.widened(self.b.op(RSQRT, self.b.op(CVT(to="f32", source="f64", rnd="rn"), m, kinds="r")))

    def _root_result(self, x: IrValue, low: IrValue, high: IrValue, limit: Callable[[IrValue], IrValue]) -> IrValue:
        """Return the root where x is positive and finite; `limit` gives the upper word for zeros and infinity."""
        op = self.b.op
        hx = op(WORD(i=1), x)
        zero, big = self._magnitude(x)
        fraction = op(OR, op(WORD(i=0), x), op(AND, hx, Const(0xF_FFFF)))
        is_nan = op(PAND, big, op(CMP(cond="lg", ty="u32"), fraction, Const(0)))
        negative = op(PAND, op(CMP(cond="l", ty="s32"), hx, Const(0)), op(PNOT, zero))
        edge = op(POR, zero, big)
        low, high = op(SEL, edge, Const(0), low), op(SEL, edge, limit(hx), high)
        low, high = op(SEL, negative, Const(0), low), op(SEL, negative, Const(0xFFF8_0000), high)
        low = op(SEL, is_nan, op(WORD(i=0), x), low)
        return op(PACK, low, op(SEL, is_nan, op(OR, hx, Const(0x8_0000)), high))
