"""Hardware lowerings of conversions, equal to `isakit.sem.fp.convert` and `convert64`. They need AVX-512.

The instructions encode their own rounding mode. Embedded code runs with denormals flushed, as `convert` specifies for
f32; `convert64` keeps denormals, so if an operand or a result is one, the definition computes all lanes. Results of the
processor for NaNs and for numbers out of range are corrected where they differ.
"""

from __future__ import annotations

from collections.abc import Sequence

from isakit.engine.llvm.builder import Ref
from isakit.engine.llvm.f32_lowerings import canonical_nan
from isakit.engine.llvm.f64_lowerings import EMBEDDED_ROUNDING, carefully, denormal
from isakit.engine.llvm.values import Native, ValueLowering
from isakit.engine.llvm.vector_pieces import compared, joined, numbers_of, pieces
from isakit.sem.fp.convert64 import f2f64, f2i64
from isakit.sem.operation import Statics

PRECISION_MASKED = 8
"""In the immediate of a rounding to an integral value: no exception for an inexact result."""
HALF_TINY = 0x5E << 23
"""Bits of 2**-33: smaller numbers give an f16 zero in every mode."""
_MODES = {mode: number & 3 for mode, number in EMBEDDED_ROUNDING.items()}
_BITS = {"half": 16, "float": 32, "double": 64, "i32": 32, "i64": 64, "i16": 16}


def _length(*elements: str) -> int:
    """Return lanes that fit in one register with the widest of these."""
    return 512 // max(_BITS[e] for e in elements)


def _converted(low: ValueLowering, x: Ref, source: str, to: str, name: str, extra: str) -> Ref:
    """Call an intrinsic on each piece; `extra`: its arguments after the first one, `V` in it a vector of results."""
    n, length = low.module.lanes, _length(source, to)
    given, result = f"<{length} x {source}>", f"<{length} x {to}>"
    bits = low.splat(x)
    vector = bits.text if source[0] == "i" else low.bitcast(bits, f"<{n} x {source}>")
    others = extra.replace("V", result).split("; ")
    types = ", ".join([given, *(part.rsplit(" ", 1)[0] for part in others)])
    f = low.module.declare(name, f"{result} @({types})")
    arguments = ", ".join(others)
    got = [low.body(f"call {result} {f}({given} {p}, {arguments})") for p in pieces(low, vector, source, length)]
    whole = joined(low, got, to, length)
    width = _BITS[to]
    return low.per_lane(whole if to[0] == "i" else low.body(f"bitcast <{n} x {to}> {whole} to <{n} x i{width}>"), width)


def _masked(to: str, source: str, rounding: int) -> str:
    """Return arguments of an intrinsic with a mask: results of masked lanes, the mask, the rounding."""
    return f"V zeroinitializer; i{_length(source, to)} -1; i32 {rounding}"


def _modified(low: ValueLowering, x: Ref, statics: Statics) -> Ref:
    """Apply the modifiers of a float, also to a NaN."""
    sign = 1 << (x.width - 1)
    if statics.get("absolute"):
        x = low.op("and", x, low.constant(sign - 1, x.width))
    return low.op("xor", x, low.constant(sign, x.width)) if statics.get("negate") else x


def _compared(low: ValueLowering, test: str, x: Ref, y: Ref) -> Ref:
    """Compare floats."""
    element = "float" if x.width == 32 else "double"
    return compared(low, test, element, *(numbers_of(low, v, element) for v in (x, y)))


def _at_least(low: ValueLowering, x: Ref, power: int) -> Ref:
    """Return whether a float is not below a power of two."""
    bias, fraction = (127, 23) if x.width == 32 else (1023, 52)
    return _compared(low, "oge", x, low.constant((bias + power) << fraction, x.width))


def _integer(low: ValueLowering, x: Ref, kind: str) -> tuple[Ref, str] | None:
    """Return an integer as 32 or 64 bits, and whether these are signed."""
    width = int(kind[1:])
    if width > 32 and x.width < 64:
        return None
    narrow = low.resize(low.splat(x), width)
    signed = kind[0] == "s" or width < 32
    return low.resize(narrow, max(width, 32), signed=kind[0] == "s"), "s" if signed else "u"


def _from_integer(low: ValueLowering, args: Sequence[Ref], statics: Statics, to: str) -> Ref | None:
    if args[0].uniform or statics.get("absolute") or statics.get("negate") or statics.get("saturate"):
        return None
    given = _integer(low, args[0], statics["source"])
    if given is None:
        return None
    x, sign = given
    n = low.module.lanes
    if x.width == 32 and to == "double":
        exact = low.body(f"{sign}itofp <{n} x i32> {x.text} to <{n} x double>")
        return low.per_lane(low.body(f"bitcast <{n} x double> {exact} to <{n} x i64>"), 64)
    length = _length(to, f"i{x.width}")
    types = f"v{length}f{_BITS[to]}.v{length}i{x.width}"
    mode = f"i32 {EMBEDDED_ROUNDING[statics.get('rounding', 'rn')]}"
    return _converted(low, x, f"i{x.width}", to, f"llvm.x86.avx512.{sign}itofp.round.{types}", mode)


def _i2f(low: ValueLowering, args: Sequence[Ref], statics: Statics) -> Ref | None:
    return None if statics.get("to", "f32") != "f32" else _from_integer(low, args, statics, "float")


def _i2f64(low: ValueLowering, args: Sequence[Ref], statics: Statics) -> Ref | None:
    return _from_integer(low, args, statics, "double" if statics["to"] == "f64" else "float")


_TO_INTEGER = {
    ("float", "s32"): "cvtps2dq", ("float", "u32"): "cvtps2udq", ("double", "s32"): "cvtpd2dq",
    ("double", "u32"): "cvtpd2udq", ("float", "s64"): "cvtps2qq", ("float", "u64"): "cvtps2uqq",
    ("double", "s64"): "cvtpd2qq", ("double", "u64"): "cvtpd2uqq",
}  # fmt: skip


def _to_integer(low: ValueLowering, x: Ref, to: str, rounding: str) -> Ref:
    """Convert a float to the nearest integer of a type; the result for a NaN is not defined."""
    source, width = ("float" if x.width == 32 else "double"), int(to[1:])
    target = f"i{width}"
    if to[0] == "u":  # below zero is zero: as floats, because the instruction takes it for too large
        zero = low.splat(low.constant(0, x.width))
        x = low.select(_compared(low, "ogt", x, zero), x, zero)
    extra = _masked(target, source, EMBEDDED_ROUNDING[rounding])
    got = _converted(low, x, source, target, f"llvm.x86.avx512.mask.{_TO_INTEGER[source, to]}.512", extra)
    if to[0] == "s":  # what is out of range is the least number; it may be because it was rounded
        large = _at_least(low, x, 0 if width < x.width else width - 1)
        if width < x.width:
            large = low.op("and", large, low.compare("eq", got, low.constant(1 << (width - 1), width)))
        got = low.select(large, low.constant((1 << (width - 1)) - 1, width), got)
    return got


def _halves(low: ValueLowering, x: Ref) -> Ref:
    """Convert f16 to f32, exactly; NaN is any NaN."""
    n = low.module.lanes
    bits = low.resize(low.splat(x), 16)
    wide = low.body(f"fpext <{n} x half> {low.bitcast(bits, f'<{n} x half>')} to <{n} x float>")
    return low.per_lane(low.body(f"bitcast <{n} x float> {wide} to <{n} x i32>"), 32)


def _single(low: ValueLowering, x: Ref, statics: Statics) -> Ref:
    """Return the f32 of an f16 or f32 source, with modifiers."""
    x = low.splat(x)
    return _modified(low, _halves(low, x) if statics["source"] == "f16" else low.resize(x, 32), statics)


def _f2i(low: ValueLowering, args: Sequence[Ref], statics: Statics) -> Ref | None:
    to = statics["to"]
    width = int(to[1:])
    if args[0].uniform or width > 32:
        return None
    x = _single(low, args[0], statics)
    got = _to_integer(low, x, "s32" if width < 32 else to, statics.get("rounding", "rn"))
    if width < 32:
        least, most = (-(1 << (width - 1)), (1 << (width - 1)) - 1) if to[0] == "s" else (0, (1 << width) - 1)
        for test, bound in (("slt", least), ("sgt", most)):
            limit = low.constant(bound, 32)
            got = low.select(low.compare(test, got, limit), limit, got)
    if to != "u32":  # there a NaN was not above zero
        got = low.select(_compared(low, "uno", x, x), low.constant(0, 32), got)
    return low.resize(got, width)


def _f2i64(low: ValueLowering, args: Sequence[Ref], statics: Statics) -> Ref | None:
    width, rounding = int(statics["to"][1:]), statics.get("rounding", "rn")
    if args[0].uniform or args[0].width != (64 if statics["source"] == "f64" else 32) or width < 32:
        return None
    x = _modified(low, args[0], statics)
    got = _to_integer(low, x, statics["to"], rounding)
    got = low.select(_compared(low, "uno", x, x), low.constant(1 << (width - 1), width), got)
    if rounding in ("rn", "rz"):
        return got  # 0 for a denormal as well
    return carefully(low, f2i64, args, statics, denormal(low, x), got)


def _f2f(low: ValueLowering, args: Sequence[Ref], statics: Statics) -> Ref | None:
    if args[0].uniform or statics.get("saturate") or statics.get("nan_to_zero"):
        return None
    integral, rounding = statics.get("integral"), statics.get("rounding", "rn")
    if statics["to"] == "f16":
        return None if integral else _to_half(low, _single(low, args[0], statics), rounding)
    if integral:
        return canonical_nan(low, _integral(low, _single(low, args[0], statics), rounding))
    return canonical_nan(low, _single(low, args[0], statics)) if statics["source"] == "f16" else None


def _integral(low: ValueLowering, x: Ref, rounding: str) -> Ref:
    """Round to an integral value."""
    element, name = ("float", "ps") if x.width == 32 else ("double", "pd")
    extra = f"i32 {PRECISION_MASKED | _MODES[rounding]}; V zeroinitializer; i{_length(element)} -1; i32 8"
    return _converted(low, x, element, element, f"llvm.x86.avx512.mask.rndscale.{name}.512", extra)


def _to_half(low: ValueLowering, x: Ref, rounding: str) -> Ref:
    extra = f"i32 {_MODES[rounding]}; V zeroinitializer; i16 -1"
    got = _converted(low, x, "float", "i16", "llvm.x86.avx512.mask.vcvtps2ph.512", extra)
    sign = low.op("and", low.resize(low.op("lshr", x, low.constant(16, 32)), 16), low.constant(0x8000, 16))
    size = low.op("and", x, low.constant(0x7FFFFFFF, 32))
    got = low.select(low.compare("ult", size, low.constant(HALF_TINY, 32)), sign, got)
    return low.select(_compared(low, "uno", x, x), low.constant(0x7FFF, 16), got)


def _f2f64(low: ValueLowering, args: Sequence[Ref], statics: Statics) -> Ref | None:
    if args[0].uniform or statics.get("absolute") or statics.get("negate"):
        return None
    source, to, rounding = statics["source"], statics["to"], statics.get("rounding", "rn")
    x, n = args[0], low.module.lanes
    if x.width != (64 if source == "f64" else 32):
        return None
    if source == "f32":
        wide = low.body(f"fpext <{n} x float> {low.bitcast(x, f'<{n} x float>')} to <{n} x double>")
        usual = low.per_lane(low.body(f"bitcast <{n} x double> {wide} to <{n} x i64>"), 64)
        return carefully(low, f2f64, args, statics, denormal(low, x), usual)
    if to == "f32":
        extra = _masked("float", "double", EMBEDDED_ROUNDING[rounding])
        usual = _converted(low, x, "double", "float", "llvm.x86.avx512.mask.cvtpd2ps.512", extra)
        size = low.op("and", x, low.constant((1 << 63) - 1, 64))
        less = low.op("sub", size, low.constant(1, 64))
        small = low.compare("ult", less, low.constant(((1023 - 126) << 52) - 1, 64))
        return carefully(low, f2f64, args, statics, small, usual)
    if not statics.get("integral"):
        return None
    return carefully(low, f2f64, args, statics, denormal(low, x), _integral(low, x, rounding))


EMBEDDED_CONVERSIONS: dict[str, Native] = {
    "i2f": _i2f, "i2f64": _i2f64, "f2i": _f2i, "f2i64": _f2i64, "f2f": _f2f, "f2f64": _f2f64,
}  # fmt: skip
