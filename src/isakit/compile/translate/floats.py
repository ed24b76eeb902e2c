"""Floating point and conversions. Source: PTX ISA manual, "Floating Point", "Data Movement"; [tesla] 5, 6.

These chips flush f32 denormals regardless of `.ftz`, and their f32 `mad` truncates the product.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partialmethod

from isakit.compile.builder import words64
from isakit.compile.ir import Const, IrValue, PlainOp
from isakit.compile.ops import (
    AND,
    CMP,
    CMPF,
    COS,
    CVT,
    DADD,
    DFMA,
    DMAX,
    DMIN,
    DMUL,
    EX2,
    FADD,
    FMAD,
    FMAX,
    FMIN,
    FMUL,
    LG2,
    MASK,
    MAXS,
    MINS,
    MINU,
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
    SIN,
    SUB,
    WORD,
    XOR,
)
from isakit.compile.ptx.syntax import SIZES, Operand
from isakit.compile.translate.base import Args, Mods, Pair
from isakit.compile.translate.exact import ROUNDINGS, Exact

QUARTER = 0x3E80_0000
LARGE = 0x7E80_0000
"""`div.full` scales both operands by a quarter where the divisor exceeds 2^126, whose reciprocal is a denormal."""


class Floats(Exact):
    """Floats."""

    leading: Callable[[IrValue], IrValue]

    def single(self, m: Mods) -> bool:
        """Return whether an instruction works on f32 registers."""
        return not self.is_double(m.get("flt", "f32"))

    def _rounding(self, m: Mods, single: bool) -> bool:
        rnd = m.get("rnd", "")
        if single and rnd not in ("", "rn", "rz"):
            raise self.refuse(
                f"{self.chip.variant} cannot round f32 sums and products with .{rnd}",
                notes=("gt200 does it in double precision",),
            )
        return rnd == "rz"

    def _directed_single(self, m: Mods) -> bool:
        """Return whether an f32 sum or product rounds up or down, which only double precision can do."""
        return m.get("rnd", "") in ("rm", "rp") and self.single(m) and self.chip.fp64

    def _wide_operands(self, *operands: Operand) -> list[IrValue]:
        return [self.widened(self.flushed(self.word(o, "f32"))) for o in operands]

    # --- sums and products ------------------------------------------------------------------------------------------
    def _float_sum(self, m: Mods, a: Args, minus: bool) -> None:
        ty = m["flt"]
        if self._directed_single(m):
            x, y = self._wide_operands(a[1], a[2])
            v = self.b.op(DADD(neg2=minus, rnd=m["rnd"]), x, y)
            self._finish(m, a[0], self.narrowed(v, m["rnd"]))
            return
        single = self.single(m)
        rz = self._rounding(m, single)
        if single:
            v = self.b.op(
                FADD(neg2=minus, sat=bool(m["sat"]), rz=rz, loose=not m["rnd"]),
                self.word(a[1], ty),
                self.word(a[2], ty),
            )
            self.write(a[0], v, "f32" if ty == "f32" else "f64")
            return
        v = self.b.op(DADD(neg2=minus, rnd=m["rnd"] or "rn", loose=not m["rnd"]), self.double(a[1]), self.double(a[2]))
        self.write_double(a[0], v)

    do_add_flt = partialmethod(_float_sum, minus=False)
    do_sub_flt = partialmethod(_float_sum, minus=True)

    def do_mul_flt(self, m: Mods, a: Args) -> None:
        ty = m["flt"]
        if self._directed_single(m):
            product = self.b.op(DMUL(rnd="rn"), *self._wide_operands(a[1], a[2]))
            self._finish(m, a[0], self.narrowed(product, m["rnd"]))
            return
        single = self.single(m)
        rz = self._rounding(m, single)
        if not single:
            v = self.b.op(DMUL(rnd=m["rnd"] or "rn", loose=not m["rnd"]), self.double(a[1]), self.double(a[2]))
            self.write_double(a[0], v)
            return
        x, y = self.word(a[1], ty), self.word(a[2], ty)
        if m["sat"] and not self.chip.vote:  # a product saturates from GT200 on; elsewhere a conversion does it
            v = self.b.op(CVT(to="f32", source="f32", sat=True), self.b.op(FMUL(rz=rz), x, y), kinds="r")
        else:
            v = self.b.op(FMUL(rz=rz, sat=bool(m["sat"]), loose=not m["rnd"] and not m["sat"]), x, y)
        self.write(a[0], v, ty)

    def do_mad_flt(self, m: Mods, a: Args) -> None:
        ty = m["flt"]
        if not self.single(m):
            v = self.b.op(DFMA(rnd=m["rnd"] or "rn"), self.double(a[1]), self.double(a[2]), self.double(a[3]))
            self.write_double(a[0], v)
            return
        if m["rnd"] and ty == "f32" and self.module.version >= (2, 0) and not self._old_target():
            self.do_fma(m, a)
            return
        x, y, z = (self.word(o, ty) for o in a[1:4])
        self.write(a[0], self.b.op(FMAD(sat=bool(m["sat"])), x, y, z), ty)

    def _old_target(self) -> bool:
        return self.module.target in ("sm_10", "sm_11", "sm_12", "sm_13", "compute_10", "compute_11", "compute_12",
                                      "compute_13")  # fmt: skip

    def do_fma(self, m: Mods, a: Args) -> None:
        """Compute a fused product of f32 in double precision, rounded to odd on the way, and round once."""
        if m["flt"] == "f64":
            self.do_mad_flt(m, a)
            return
        if not self.chip.fp64:
            raise self.refuse(
                f"`fma.{m['rnd']}.f32` came with sm_20; {self.chip.variant} has neither it nor double precision",
                notes=("compile for gt200, or with contraction off (clang: -ffp-contract=off, NVRTC: -fmad=false)",),
            )
        x, y, z = self._wide_operands(*a[1:4])
        self._finish(m, a[0], self.round_once(self.b.op(DMUL(rnd="rn"), x, y), z, m["rnd"]))

    # --- one operand ------------------------------------------------------------------------------------------------
    def _float_sign(self, m: Mods, a: Args, absolute: bool) -> None:
        if self.single(m):
            v = self.b.op(
                CVT(to="f32", source="f32", abs=absolute, neg=not absolute), self.word(a[1], "f32"), kinds="r"
            )
            self.write(a[0], v, m["flt"])
        else:
            v = self.b.op(CVT(to="f64", source="f64", abs=absolute, neg=not absolute), self.double(a[1]), kinds="d")
            self.write_double(a[0], v)

    do_abs_flt = partialmethod(_float_sign, absolute=True)
    do_neg_flt = partialmethod(_float_sign, absolute=False)

    def _extreme_float(self, single: PlainOp, double: PlainOp, m: Mods, a: Args) -> None:
        if self.single(m):
            self.write(a[0], self.b.op(single, self.word(a[1], "f32"), self.word(a[2], "f32")), m["flt"])
        else:
            self.write_double(a[0], self.b.op(double, self.double(a[1]), self.double(a[2])))

    do_min_flt = partialmethod(_extreme_float, FMIN, DMIN)
    do_max_flt = partialmethod(_extreme_float, FMAX, DMAX)

    def do_copysign(self, m: Mods, a: Args) -> None:
        op = self.b.op
        if m["flt"] == "f32" or self.demoted:
            s = op(AND, self.word(a[1], "f32"), Const(0x8000_0000))
            self.write(a[0], op(OR, op(AND, self.word(a[2], "f32"), Const(0x7FFF_FFFF)), s), m["flt"])
            return
        s = op(AND, op(WORD(i=1), self.double(a[1])), Const(0x8000_0000))
        y = self.double(a[2])
        self.write_double(a[0], op(PACK, op(WORD(i=0), y), op(OR, op(AND, op(WORD(i=1), y), Const(0x7FFF_FFFF)), s)))

    def do_testp(self, m: Mods, a: Args) -> None:
        op = self.b.op
        if m["flt"] == "f64" and not self.demoted:
            d = self.double(a[1])
            low, high = op(WORD(i=0), d), op(AND, op(WORD(i=1), d), Const(0x7FFF_FFFF))
            rest: IrValue = op(CMP(cond="lg", ty="u32"), low, Const(0))
            infinite, smallest = 0x7FF0_0000, 0x0010_0000
        else:
            high = op(AND, self.word(a[1], "f32"), Const(0x7FFF_FFFF))
            rest = Const(0, "p")
            infinite, smallest = 0x7F80_0000, 0x0080_0000

        def cmp(c: str, v: int) -> IrValue:
            return op(CMP(cond=c, ty="u32"), high, Const(v))

        finite = cmp("l", infinite)
        infinity = op(PAND, cmp("e", infinite), op(PNOT, rest))
        number = op(POR, finite, infinity)
        kind = m["class"]
        nonzero = op(POR, cmp("lg", 0), rest)
        values = {"finite": finite, "infinite": infinity, "number": number, "notanumber": op(PNOT, number),
                  "normal": op(PAND, finite, cmp("ge", smallest)),
                  "subnormal": op(PAND, cmp("l", smallest), nonzero)}  # fmt: skip
        self.write_predicate(a[0], values[kind])

    # --- reciprocals, roots, transcendentals ------------------------------------------------------------------------
    def _approximate(self, m: Mods) -> bool:
        """Return whether an approximation is requested; PTX before 1.4 requests one by default."""
        how = m.get("approx", "")
        if how == "approx" or (not how and (self.old or self.demoted)):
            return True
        if how == "full":
            raise self.refuse("`.full` is for `div`")
        return False

    def _how(self, m: Mods) -> str:
        """Return the rounding mode of an exact operation."""
        return m["approx"] if m.get("approx") in ROUNDINGS else "rn"

    def _finish(self, m: Mods, operand: Operand, v: IrValue) -> None:
        if m.get("sat"):
            v = self.b.op(CVT(to="f32", source="f32", sat=True), v, kinds="r")
        self.write(operand, v, m.get("flt", "f32"))

    def do_rcp(self, m: Mods, a: Args) -> None:
        if self.single(m):
            x = self.word(a[1], "f32")
            if self._approximate(m):
                self._finish(m, a[0], self.b.op(RCP, x))
            else:
                self._finish(m, a[0], self.exact_quotient(Const(0x3F80_0000), x, self._how(m)))
            return
        one = self.b.op(PACK, Const(0), Const(0x3FF0_0000))
        self.write_double(a[0], self.divide_double(one, self.double(a[1]), self._how(m)))

    def do_div_flt(self, m: Mods, a: Args) -> None:
        op = self.b.op
        if not self.single(m):
            self.write_double(a[0], self.divide_double(self.double(a[1]), self.double(a[2]), self._how(m)))
            return
        x, y = self.word(a[1], "f32"), self.word(a[2], "f32")
        if m["approx"] == "full":
            big = op(CMPF(cond="g", abs1=True), y, Const(LARGE))
            x = op(SEL, big, op(FMUL(), x, Const(QUARTER)), x)
            y = op(SEL, big, op(FMUL(), y, Const(QUARTER)), y)
        elif not self._approximate(m):
            self._finish(m, a[0], self.exact_quotient(x, y, self._how(m)))
            return
        self._finish(m, a[0], op(FMUL(), x, op(RCP, y)))

    def do_sqrt(self, m: Mods, a: Args) -> None:
        if not self.single(m):
            self.write_double(a[0], self.root_double(self.double(a[1]), self._how(m)))
            return
        x = self.word(a[1], "f32")
        if self._approximate(m):
            self._finish(m, a[0], self.b.op(RCP, self.b.op(RSQRT, x)))
        else:
            self._finish(m, a[0], self.exact_root(x, self._how(m)))

    def do_rsqrt(self, m: Mods, a: Args) -> None:
        if self.single(m):
            self._function(RSQRT, m, a)
        else:
            self.write_double(a[0], self.inverse_root_double(self.double(a[1])))

    def _function(self, op: PlainOp, m: Mods, a: Args) -> None:
        self._finish(m, a[0], self.b.op(op, self.word(a[1], "f32")))

    do_sfu_sin = partialmethod(_function, SIN)
    do_sfu_cos = partialmethod(_function, COS)
    do_sfu_lg2 = partialmethod(_function, LG2)
    do_sfu_ex2 = partialmethod(_function, EX2)

    def do_frc(self, m: Mods, a: Args) -> None:
        """Translate PTX 1.0's x - floor(x)."""
        x = self.word(a[1], "f32")
        floor = self.b.op(CVT(to="f32", source="f32", rnd="rmi"), x, kinds="r")
        self._finish(m, a[0], self.b.op(FADD(neg2=True, sat=False, rz=False), x, floor))

    # --- conversions ------------------------------------------------------------------------------------------------
    def do_cvt(self, m: Mods, a: Args) -> None:
        to, source = m["cvt"], m["from"]
        rnd, sat = m["rni"], bool(m["sat"])
        if self.demoted:
            to, source = (("f32" if t == "f64" else t) for t in (to, source))
            if to == source == "f32" and m["cvt"] != m["from"]:
                rnd = rnd if rnd.endswith("i") else ""
        if to[0] != "f" and source[0] != "f":
            self._integer_to_integer(to, source, sat, a)
        elif "f" not in (to[0], source[0]) or to[0] == source[0]:
            self._float_to_float(to, source, rnd, sat, a, m["cvt"])
        elif to[0] == "f":
            self._integer_to_float(to, source, rnd or "rn", sat, a, m["cvt"])
        else:
            self._float_to_integer(to, source, rnd or "rzi", a)

    def _integer_to_integer(self, to: str, source: str, sat: bool, a: Args) -> None:
        op = self.b.op
        if source in ("u64", "s64"):
            pair = self.pair(a[1])
            if to in ("u64", "s64"):
                self.write_pair(a[0], self._other_sign(pair, to) if sat and to != source else pair)
                return
            if sat:
                self.write(a[0], self._clamp64(pair, to, source[0] == "s"), to, loose=True)
                return
            self.write(a[0], self.extend(pair[0], to) if SIZES[to] == 1 else pair[0], to, loose=True)
            return
        v = self.extend(self.word(a[1], source), source)
        if to in ("u64", "s64"):
            high = op(SAR, v, Const(31)) if source[0] == "s" else Const(0)
            if sat and to[0] == "u" and source[0] == "s":
                v, high = op(MAXS, v, Const(0)), Const(0)
            self.write_pair(a[0], (v, high))
            return
        if sat:
            v = self.clamp(v, to, source[0] == "s")
        if SIZES[to] == 1:
            v = self.extend(v, to)
        self.write(a[0], v, to, loose=True)

    def _other_sign(self, x: Pair, to: str) -> Pair:
        """Clamp a 64-bit integer to the range of the type with the other sign."""
        high = self.b.op(CMP(cond="l", ty="s32"), x[1], Const(0))
        return self.choose64(high, words64(0) if to[0] == "u" else words64((1 << 63) - 1), x)

    def _clamp64(self, x: Pair, to: str, sign: bool) -> IrValue:
        """Clamp a 64-bit integer to a type of up to 32 bits: first to 32 bits, then to the type."""
        op = self.b.op
        if not sign:
            word = op(SEL, op(CMP(cond="lg", ty="u32"), x[1], Const(0)), Const(0xFFFF_FFFF), x[0])
            return self.clamp(word, to, False)
        below = op(CMP(cond="l", ty="s32"), x[1], Const(0))
        if to[0] == "u":
            word = op(SEL, op(CMP(cond="lg", ty="u32"), x[1], Const(0)), Const(0xFFFF_FFFF), x[0])
            return self.clamp(op(SEL, below, Const(0), word), to, False)
        fits = op(CMP(cond="e", ty="u32"), x[1], op(SAR, x[0], Const(31)))
        end = op(SEL, below, Const(0x8000_0000), Const(0x7FFF_FFFF))
        return self.clamp(op(SEL, fits, x[0], end), to, True)

    def clamp(self, v: IrValue, to: str, sign: bool) -> IrValue:
        """Clamp an integer to the range of a type."""
        op, bits = self.b.op, 8 * SIZES[to]
        if to[0] == "u":
            top = (1 << bits) - 1
            if sign:
                v = op(MAXS, v, Const(0))
            return op(MINU, v, Const(top)) if bits < 32 else v
        top = (1 << bits - 1) - 1
        if not sign:
            return op(MINU, v, Const(top))
        return op(MAXS, op(MINS, v, Const(top)), Const(~top)) if bits < 32 else v

    def _float_to_float(self, to: str, source: str, rnd: str, sat: bool, a: Args, written: str) -> None:
        wide = [t == "f64" and self.is_double(t) for t in (to, source)]
        x = self.double(a[1]) if wide[1] else self.word(a[1], source)
        if "f64" in (to, source) and (to, source) not in (("f64", "f32"), ("f32", "f64"), ("f64", "f64")):
            raise self.refuse(f"conversions from .{source} to .{to} are not supported")
        if sat and "f64" in (to, source):
            if to == "f64":
                raise self.refuse("saturating conversions to f64 are not supported")
            v = self.b.op(CVT(to=to, source=source, rnd=rnd), x, kinds="r")
            v = self.b.op(CVT(to="f32", source="f32", sat=True), v, kinds="r")
        else:
            v = self.b.op(CVT(to=to, source=source, rnd=rnd, sat=sat), x, kinds="d" if wide[0] else "r")
        if wide[0]:
            self.write_double(a[0], v)
        else:
            self.write(a[0], v, written if written == "f64" else to, loose=True)

    def _integer_to_float(self, to: str, source: str, rnd: str, sat: bool, a: Args, written: str) -> None:
        op = self.b.op
        double = to == "f64" and self.is_double(to)
        if to == "f16":  # the chip's own loses bits
            raise self.refuse(f"conversions from .{source} to .f16 are not supported")
        if source in ("u64", "s64"):
            if self.chip.fp64:
                v = op(
                    CVT(to=to, source=source, rnd=rnd),
                    op(PACK, *self.pair(a[1])),
                    kinds="d" if double else "r",
                )
            else:
                v = self._wide_to_float(source, rnd, a)
        else:
            x = self.extend(self.word(a[1], source), source)
            v = op(
                CVT(to=to, source=source[0] + "32", rnd=rnd, sat=sat and not double), x, kinds="d" if double else "r"
            )
        if double:
            self.write_double(a[0], v)
        else:
            if sat and source in ("u64", "s64"):
                v = op(CVT(to="f32", source="f32", sat=True), v, kinds="r")
            self.write(a[0], v, written, loose=True)

    def _wide_to_float(self, source: str, rnd: str, a: Args) -> IrValue:
        """Convert a 64-bit integer to f32 without 64-bit conversions: its top 32 bits, the lowest sticky."""
        op = self.b.op
        if rnd not in ("rn", "rz"):
            raise self.refuse(f"conversions of 64-bit integers with .{rnd} need a chip with double precision")
        low, high = self.pair(a[1])
        sign: IrValue = Const(0)
        if source == "s64":
            sign = op(SAR, high, Const(31))
            low, high = self.b.sub64((op(XOR, low, sign), op(XOR, high, sign)), (sign, sign))
        zeros = self.leading(high)
        top = self.shift_left((low, high), zeros)
        lost = op(MASK, op(CMP(cond="lg", ty="u32"), top[0], Const(0)))
        # with 32 bits kept and 24 wanted, a bit that says "something follows" makes the second rounding right
        word = op(OR, top[1], op(AND, lost, Const(1)))
        word = op(SEL, op(CMP(cond="e", ty="u32"), zeros, Const(32)), low, word)
        f = op(CVT(to="f32", source="u32", rnd=rnd), word, kinds="r")
        scale = op(SHL, op(SUB, Const(127 + 32), zeros), Const(23))
        f = op(FMUL(rz=False, sat=False), f, scale)
        return op(OR, f, op(AND, sign, Const(0x8000_0000)))

    def _float_to_integer(self, to: str, source: str, rnd: str, a: Args) -> None:
        op = self.b.op
        double = source == "f64" and self.is_double(source)
        x = self.double(a[1]) if double else self.word(a[1], source)
        if source == "f16":
            x = op(CVT(to="f32", source="f16"), x, kinds="r")
            source = "f32"
        if not rnd.endswith("i"):
            rnd += "i"
        if to in ("u64", "s64"):
            if not self.chip.fp64:
                self.write_pair(a[0], self._float_to_wide(x, to, rnd))
                return
            v = op(CVT(to=to, source=source, rnd=rnd), x, kinds="d")
            self.write_pair(a[0], (op(WORD(i=0), v), op(WORD(i=1), v)))
            return
        v = op(CVT(to=to[0] + "32", source=source, rnd=rnd), x, kinds="r")
        if SIZES[to] < 4:
            v = self.clamp(v, to, to[0] == "s")
        self.write(a[0], v, to, loose=True)

    def _float_to_wide(self, x: IrValue, to: str, rnd: str) -> Pair:
        """Convert f32 to a 64-bit integer without 64-bit conversions, with the same results as those of gt200.

        Values out of range are clamped, NaN is 2^63.
        """
        op = self.b.op
        whole = op(CVT(to="f32", source="f32", rnd=rnd), x, kinds="r")
        exponent = op(AND, op(SHR, whole, Const(23)), Const(0xFF))
        digits = op(OR, op(AND, whole, Const(0x7F_FFFF)), Const(0x80_0000))
        # a whole number has its digits left of the point: those of a small one are shifted out without a loss
        small = op(CMP(cond="l", ty="u32"), exponent, Const(150))
        down = op(SHR, digits, op(SUB, Const(150), exponent))
        low, high = self.shift_left((digits, Const(0)), op(SUB, exponent, Const(150)))
        low, high = op(SEL, small, down, low), op(SEL, small, Const(0), high)
        large = op(CMP(cond="ge", ty="u32"), exponent, Const(127 + (63 if to == "s64" else 64)))
        low = op(SEL, large, Const(0xFFFF_FFFF), low)
        high = op(SEL, large, Const(0x7FFF_FFFF if to == "s64" else 0xFFFF_FFFF), high)
        sign = op(SAR, whole, Const(31))
        if to == "s64":
            lower, higher = self.b.sub64((op(XOR, low, sign), op(XOR, high, sign)), (sign, sign))
            least = op(PAND, large, op(CMP(cond="lg", ty="u32"), sign, Const(0)))
            low, high = op(SEL, least, Const(0), lower), op(SEL, least, Const(0x8000_0000), higher)
        else:
            low, high = op(AND, low, op(NOT, sign)), op(AND, high, op(NOT, sign))
        number = op(CMPF(cond="e"), x, x)
        return op(SEL, number, low, Const(0)), op(SEL, number, high, Const(0x8000_0000))
