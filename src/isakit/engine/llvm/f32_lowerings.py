"""Native lowerings of the hot f32 operations, proven equal to their integer definitions by the tests.

Two families. `embedded` uses AVX-512 instructions with embedded rounding (round to nearest or to zero, exceptions
suppressed); it needs flush-to-zero and denormals-are-zero switched on around the call, which the driver function does.
x86 decides underflow after rounding with unbounded exponent, which is the rule of `f32_add` and `f32_mul`. `portable`
computes in double precision with the default environment and rounds by integer arithmetic.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from isakit.engine.llvm.ir_text import Ref
from isakit.engine.llvm.values import PURE, Native, ValueLowering
from isakit.engine.llvm.vector_pieces import joined, pieces

NAN = 0x7FFFFFFF
ABS = 0x7FFFFFFF
LARGEST = 0x7F7FFFFF
EMBEDDED_ROUNDING = {"rn": 8, "rz": 11}


PIECE = 16
"""Floats of a 512-bit register."""


def _floats(low: ValueLowering, r: Ref) -> str:
    return low.bitcast(low.splat(r), f"<{low.module.lanes} x float>")


def _bits(low: ValueLowering, v: str) -> Ref:
    n = low.module.lanes
    return Ref(low.body(f"bitcast <{n} x float> {v} to <{n} x i32>"), 32)


def _avx512(low: ValueLowering, name: str, a: Ref, b: Ref, rounding: str) -> Ref:
    """One packed instruction per 16 lanes."""
    f = low.module.declare(f"llvm.x86.avx512.{name}.ps.512", "<16 x float> @(<16 x float>, <16 x float>, i32)")
    mode = EMBEDDED_ROUNDING[rounding]
    both = zip(*(pieces(low, _floats(low, r), "float", PIECE) for r in (a, b)), strict=True)
    results = [low.body(f"call <16 x float> {f}(<16 x float> {x}, <16 x float> {y}, i32 {mode})") for x, y in both]
    return _bits(low, joined(low, results, "float", PIECE))


def canonical_nan(low: ValueLowering, r: Ref) -> Ref:
    """Every NaN becomes 0x7fffffff."""
    n = low.module.lanes
    f = _floats(low, r)
    unordered = Ref(low.body(f"fcmp uno <{n} x float> {f}, {f}"), 1)
    return low.select(unordered, low.constant(NAN, 32), r)


def _is_zero(low: ValueLowering, a: Ref) -> Ref:
    """Zero or denormal."""
    exponent = low.op("and", a, low.constant(0x7F800000, 32))
    return low.op("icmp eq", exponent, low.constant(0, 32), 1)


def _classified(low: ValueLowering, a: Ref, classes: int) -> Ref:
    """Lanes whose number is of one of the classes of `vfpclassps`."""
    f = low.module.declare("llvm.x86.avx512.fpclass.ps.512", "<16 x i1> @(<16 x float>, i32)")
    cut = pieces(low, _floats(low, a), "float", PIECE)
    flags = [low.body(f"call <16 x i1> {f}(<16 x float> {x}, i32 {classes})") for x in cut]
    return Ref(joined(low, flags, "i1", PIECE), 1)


def _sum_and_product(raw: bool) -> tuple[Native, Native]:
    def add(low: ValueLowering, args: Sequence[Ref], statics: dict[str, Any]) -> Ref | None:
        rounding = statics.get("rounding", "rn")
        if rounding not in EMBEDDED_ROUNDING or all(a.uniform for a in args):
            return None
        total = _avx512(low, "add", args[0], args[1], rounding)
        return total if raw else canonical_nan(low, total)

    def mul(low: ValueLowering, args: Sequence[Ref], statics: dict[str, Any]) -> Ref | None:
        rounding = statics.get("rounding", "rn")
        if rounding not in EMBEDDED_ROUNDING or statics.get("zero_wins") or all(a.uniform for a in args):
            return None
        product = _avx512(low, "mul", args[0], args[1], rounding)
        return product if raw else canonical_nan(low, product)

    return add, mul


ZERO_OR_DENORMAL = 0x02 | 0x04 | 0x20
"""Classes of `vfpclassps`."""
ODD_ADDENDS = 0x01 | 0x80 | ZERO_OR_DENORMAL
"""The same, and NaN."""
NO_LOSS = 0x0D800000
"""2**-100: a product below 2**-126 does not change the sum with a number that is not smaller."""


def _mad(low: ValueLowering, args: Sequence[Ref], statics: dict[str, Any]) -> Ref | None:
    """The product is cut to 24 bits, except where the addend is zero: there it is rounded.

    Three ways, each one for what the one before it does not cover. Two instructions and a test where no addend is a
    zero or NaN and no product is 0, infinite, NaN or the largest number. One more multiplication takes in all of
    these. The last two can mean a product that left the range of f32, which the definition does not limit: above,
    where it is cut to the largest number, and below, where it vanishes beside an addend it could have changed. Then a
    function does all lanes in double precision.
    """
    if statics.get("zero_wins") or all(a.uniform for a in args):
        return None
    a, b, c = (low.splat(x) for x in args)
    cut = _avx512(low, "mul", a, b, "rz")
    magnitude, one = low.constant(ABS, 32), low.constant(1, 32)
    size = low.op("and", cut, magnitude)
    odd = low.op("icmp uge", low.op("sub", size, one), low.constant(LARGEST - 1, 32), 1)
    odd = low.op("or", odd, _classified(low, c, ODD_ADDENDS))

    def any_operands() -> Ref:
        rounded = _avx512(low, "mul", a, b, "rn")
        product = low.select(_classified(low, c, ZERO_OR_DENORMAL), rounded, cut)
        total = canonical_nan(low, _avx512(low, "add", product, c, "rn"))
        # Beside a vanished product the sum is the addend.
        small = low.op("sub", low.op("and", total, magnitude), one)
        left = low.op("icmp ult", small, low.constant(NO_LOSS - 1, 32), 1)
        left = low.op("or", left, low.op("icmp eq", size, low.constant(LARGEST, 32), 1))
        return low.unlikely(low.any(left), total, lambda: low.call(careful_mad(low), (a, b, c), 32))

    return low.unlikely(low.any(odd), _avx512(low, "add", cut, c, "rn"), any_operands)


CAREFUL_MAD = "careful f32_mad"
"""Key of the function, for `Module.elsewhere`."""


def careful_mad(low: ValueLowering) -> str:
    """The function for lanes of every kind: in double precision, where no product leaves the range."""

    def make(name: str) -> str:
        inner = low.elsewhere()
        a, b, c = (Ref(f"%a{k}", 32) for k in range(3))
        result = _mad_in_doubles(inner, a, b, c)
        ty = low.module.vector(32)
        listed = ", ".join(f"{ty} %a{k}" for k in range(3))
        return (
            f"define internal {ty} {name}({listed}) {low.module.attributes} {PURE} noinline cold alignstack(64) {{\n"
            f"{inner.body.text()}\n  ret {ty} {result.text}\n}}"
        )

    return low.module.function(CAREFUL_MAD, make)


_PREDICATES = (
    0x0B, 0x11, 0x00, 0x12, 0x1E, 0x0C, 0x1D, 0x07, 0x03, 0x19, 0x08, 0x1A, 0x16, 0x04, 0x15, 0x0F,
)  # fmt: skip
"""Predicate of `vcmpps` and `vcmppd` by relations: 1 less, 2 equal, 4 greater, 8 unordered."""


def packed_comparison(low: ValueLowering, args: Sequence[Ref]) -> Ref | None:
    """Whether the relation of two floats is among the bits of a constant: one packed comparison per register.

    Denormals count as zeros. None where the bits are no constant, or both numbers are those of all lanes.
    """
    a, b, bits = args
    if not bits.uniform or not bits.text.lstrip("-").isdigit() or (a.uniform and b.uniform):
        return None
    element, kind, length = ("float", "ps", PIECE) if a.width == 32 else ("double", "pd", PIECE // 2)
    vector, flags = f"<{length} x {element}>", f"<{length} x i1>"
    f = low.module.declare(f"llvm.x86.avx512.mask.cmp.{kind}.512", f"{flags} @({vector}, {vector}, i32, {flags}, i32)")
    test = f"i32 {_PREDICATES[int(bits.text) & 15]}, {flags} splat (i1 true), i32 4"
    whole = (low.bitcast(low.splat(r), f"<{low.module.lanes} x {element}>") for r in (a, b))
    cut = [pieces(low, w, element, length) for w in whole]
    got = [low.body(f"call {flags} {f}({vector} {x}, {vector} {y}, {test})") for x, y in zip(*cut, strict=True)]
    return Ref(joined(low, got, "i1", length), 1)


def _comparison(low: ValueLowering, args: Sequence[Ref], statics: dict[str, Any]) -> Ref | None:
    """See `packed_comparison`."""
    return packed_comparison(low, args) if statics.get("flushing", True) else None


def _embedded(raw: bool) -> dict[str, Native]:
    add, mul = _sum_and_product(raw)
    return {"f32_add": add, "f32_mul": mul, "f32_mad": _mad, "holds f32_compare": _comparison}


EMBEDDED_F32 = _embedded(raw=False)
RAW_F32 = _embedded(raw=True)
"""Results may be any NaN of the host: for results that only operations read to which all NaNs are equal."""


# --- portable -------------------------------------------------------------------------------------


def _doubles(low: ValueLowering, a: Ref) -> str:
    """The numbers as doubles, denormals as signed zeros."""
    n = low.module.lanes
    sign = low.op("and", a, low.constant(0x80000000, 32))
    flushed = low.splat(low.select(_is_zero(low, a), sign, a))
    return low.body(f"fpext <{n} x float> {_floats(low, flushed)} to <{n} x double>")


def _double_bits(low: ValueLowering, d: str) -> Ref:
    n = low.module.lanes
    return Ref(low.body(f"bitcast <{n} x double> {d} to <{n} x i64>"), 64)


def _as_double(low: ValueLowering, r: Ref) -> str:
    n = low.module.lanes
    return low.bitcast(r, f"<{n} x double>")


_TAIL = (1 << 29) - 1


def _to_24_bits(low: ValueLowering, d: Ref, rounding: str) -> Ref:
    """Double bits rounded to 24 significant bits, any exponent."""
    if rounding == "rn":
        odd = low.op("and", low.op("lshr", d, low.constant(29, 64)), low.constant(1, 64))
        d = low.op("add", low.op("add", d, low.constant((1 << 28) - 1, 64)), odd)
    return low.op("and", d, low.constant(~_TAIL, 64))


def _to_single(low: ValueLowering, d: Ref, rounding: str) -> Ref:
    """f32 bits of a number of 24 significant bits: overflow by rounding mode, underflow to signed zero, one NaN."""
    n = low.module.lanes
    f = low.body(f"fptrunc <{n} x double> {_as_double(low, d)} to <{n} x float>")
    r = _bits(low, f)
    sign = low.op("and", r, low.constant(0x80000000, 32))
    size = low.op("and", d, low.constant((1 << 63) - 1, 64))
    tiny = low.op("icmp ult", size, low.constant((1023 - 126) << 52, 64), 1)
    r = low.select(tiny, sign, r)
    if rounding == "rz":
        finite = low.op("icmp ult", size, low.constant(0x7FF << 52, 64), 1)
        huge = low.op("icmp uge", size, low.constant((1023 + 128) << 52, 64), 1)
        r = low.select(low.op("and", finite, huge), low.op("or", sign, low.constant(LARGEST, 32)), r)
    return canonical_nan(low, r)


def _arithmetic(low: ValueLowering, name: str, a: str, b: str) -> str:
    return low.body(f"{name} <{low.module.lanes} x double> {a}, {b}")


def _special(low: ValueLowering, d: Ref) -> Ref:
    """Infinity or NaN, which rounding by integer addition must not touch."""
    exponent = low.op("and", d, low.constant(0x7FF << 52, 64))
    return low.op("icmp eq", exponent, low.constant(0x7FF << 52, 64), 1)


def _rounded(low: ValueLowering, d: Ref, rounding: str) -> Ref:
    return low.select(_special(low, d), d, _to_24_bits(low, d, rounding))


def _portable_add(low: ValueLowering, args: Sequence[Ref], statics: dict[str, Any]) -> Ref | None:
    if statics.get("rounding", "rn") != "rn" or all(a.uniform for a in args):
        return None  # rounding to zero needs the error of the sum: the definition is as good
    total = _double_bits(low, _arithmetic(low, "fadd", *(_doubles(low, a) for a in args)))
    return _to_single(low, _rounded(low, total, "rn"), "rn")


def _portable_mul(low: ValueLowering, args: Sequence[Ref], statics: dict[str, Any]) -> Ref | None:
    rounding = statics.get("rounding", "rn")
    if rounding not in EMBEDDED_ROUNDING or statics.get("zero_wins") or all(a.uniform for a in args):
        return None
    product = _double_bits(low, _arithmetic(low, "fmul", *(_doubles(low, a) for a in args)))
    return _to_single(low, _rounded(low, product, rounding), rounding)


def _portable_mad(low: ValueLowering, args: Sequence[Ref], statics: dict[str, Any]) -> Ref | None:
    if statics.get("zero_wins") or all(a.uniform for a in args):
        return None
    return _mad_in_doubles(low, *(low.splat(x) for x in args))


def _mad_in_doubles(low: ValueLowering, a: Ref, b: Ref, c: Ref) -> Ref:
    """a * b + c where no product leaves the range, whether the environment flushes denormals or not."""
    exact = _double_bits(low, _arithmetic(low, "fmul", _doubles(low, a), _doubles(low, b)))
    cut = _rounded(low, exact, "rz")
    with_cut = _double_bits(low, _arithmetic(low, "fadd", _as_double(low, cut), _doubles(low, c)))
    single = _to_single(low, _rounded(low, exact, "rn"), "rn")
    with_rounded = _double_bits(low, _arithmetic(low, "fadd", _doubles(low, single), _doubles(low, c)))
    total = low.select(_is_zero(low, c), with_rounded, with_cut)
    # The sum is rounded on the grid of denormals and flushed afterwards: numbers that reach 2**-126 there are kept.
    size = low.op("and", total, low.constant((1 << 63) - 1, 64))
    tiny = low.op("icmp ult", size, low.constant((1023 - 126) << 52, 64), 1)
    reaches = low.op("icmp uge", size, low.constant(_SUM_REACHES_NORMAL, 64), 1)
    sign = low.op("and", total, low.constant(1 << 63, 64))
    smallest = low.select(reaches, low.constant((1023 - 126) << 52, 64), low.constant(0, 64))
    total = low.select(tiny, low.op("or", sign, smallest), total)
    n = low.module.lanes
    single = _bits(low, low.body(f"fptrunc <{n} x double> {_as_double(low, total)} to <{n} x float>"))
    return canonical_nan(low, single)


_SUM_REACHES_NORMAL = ((1023 - 126) << 52) - (1 << 29)
"""Bits of 2**-126 - 2**-150, from where on a sum rounds to 2**-126 on the grid of denormals."""

PORTABLE_F32: dict[str, Native] = {"f32_add": _portable_add, "f32_mul": _portable_mul, "f32_mad": _portable_mad}
