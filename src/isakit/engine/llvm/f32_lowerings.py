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

NAN = 0x7FFFFFFF
ABS = 0x7FFFFFFF
LARGEST = 0x7F7FFFFF
EMBEDDED_ROUNDING = {"rn": 8, "rz": 11}


def _half(low: ValueLowering, v: str, k: int) -> str:
    n = low.module.lanes
    index = "<16 x i32> <" + ", ".join(f"i32 {k + j}" for j in range(16)) + ">"
    return low.body(f"shufflevector <{n} x float> {v}, <{n} x float> poison, {index}")


def _floats(low: ValueLowering, r: Ref) -> str:
    return low.bitcast(low.splat(r), f"<{low.module.lanes} x float>")


def _bits(low: ValueLowering, v: str) -> Ref:
    n = low.module.lanes
    return Ref(low.body(f"bitcast <{n} x float> {v} to <{n} x i32>"), 32)


def _avx512(low: ValueLowering, name: str, a: Ref, b: Ref, rounding: str) -> Ref:
    """One packed instruction per 16 lanes."""
    n = low.module.lanes
    fa, fb = _floats(low, a), _floats(low, b)
    f = low.module.declare(f"llvm.x86.avx512.{name}.ps.512", "<16 x float> @(<16 x float>, <16 x float>, i32)")
    pieces: list[str] = []
    for k in range(0, n, 16):
        x, y = _half(low, fa, k), _half(low, fb, k)
        pieces.append(
            low.body(f"call <16 x float> {f}(<16 x float> {x}, <16 x float> {y}, i32 {EMBEDDED_ROUNDING[rounding]})")
        )
    if len(pieces) == 1:
        return _bits(low, pieces[0])
    index = f"<{n} x i32> <" + ", ".join(f"i32 {j}" for j in range(n)) + ">"
    return _bits(low, low.body(f"shufflevector <16 x float> {pieces[0]}, <16 x float> {pieces[1]}, {index}"))


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


def _embedded_add(low: ValueLowering, args: Sequence[Ref], statics: dict[str, Any]) -> Ref | None:
    total = _raw_add(low, args, statics)
    return None if total is None else canonical_nan(low, total)


def _embedded_mul(low: ValueLowering, args: Sequence[Ref], statics: dict[str, Any]) -> Ref | None:
    product = _raw_mul(low, args, statics)
    return None if product is None else canonical_nan(low, product)


_ODD_ADDENDS = 0x01 | 0x02 | 0x04 | 0x20 | 0x80
"""Classes of `vfpclassps`: NaN, zero, denormal."""


def _embedded_mad(low: ValueLowering, args: Sequence[Ref], statics: dict[str, Any]) -> Ref | None:
    """The product is cut to 24 bits, except where the addend is zero: there it is rounded.

    Two instructions and a test in the common case. Where some lane has a zero or NaN as addend, or a product that is
    0, infinite, NaN or the largest number (it may have left the range of f32), a function does all lanes with care.
    """
    if statics.get("zero_wins") or all(a.uniform for a in args):
        return None
    a, b, c = (low.splat(x) for x in args)
    cut = _avx512(low, "mul", a, b, "rz")
    total = _avx512(low, "add", cut, c, "rn")
    size = low.op("sub", low.op("and", cut, low.constant(ABS, 32)), low.constant(1, 32))
    odd = low.op("icmp uge", size, low.constant(LARGEST - 1, 32), 1)
    odd = low.op("or", odd, _classified(low, c, _ODD_ADDENDS))
    body, n = low.body, low.module.lanes
    any_odd = body(f"icmp ne i{n} {body(f'bitcast <{n} x i1> {odd.text} to i{n}')}, 0")
    here, slow, done = body.fresh("fast"), body.fresh("slow"), body.fresh("joined")
    body.do(f"br label %{here}")
    body.label(here)
    body.do(f"br i1 {any_odd}, label %{slow}, label %{done}, !prof !0")
    body.label(slow)
    ty = low.module.vector(32)
    careful = body(f"call {ty} {careful_mad(low)}({ty} {a.text}, {ty} {b.text}, {ty} {c.text})")
    body.do(f"br label %{done}")
    body.label(done)
    return Ref(body(f"phi {ty} [ {total.text}, %{here} ], [ {careful}, %{slow} ]"), 32)


def _classified(low: ValueLowering, a: Ref, classes: int) -> Ref:
    """Lanes whose number is of one of the classes of `vfpclassps`."""
    n = low.module.lanes
    f = low.module.declare("llvm.x86.avx512.fpclass.ps.512", "<16 x i1> @(<16 x float>, i32)")
    whole = _floats(low, a)
    parts = [
        low.body(f"call <16 x i1> {f}(<16 x float> {_half(low, whole, k)}, i32 {classes})") for k in range(0, n, 16)
    ]
    index = f"<{n} x i32> <" + ", ".join(f"i32 {j}" for j in range(n)) + ">"
    return Ref(low.body(f"shufflevector <16 x i1> {parts[0]}, <16 x i1> {parts[-1]}, {index}"), 1)


CAREFUL_MAD = "careful f32_mad"
"""Key of the function, for `Module.elsewhere`."""


def careful_mad(low: ValueLowering) -> str:
    """The function for lanes of every kind.

    The instruction's product is wrong where it leaves the range of f32 (the definition has no such limits): below,
    where it is 0 though no factor is, and above, where it is the largest number. Those lanes take the definition.
    """

    def make(name: str) -> str:
        inner = low.elsewhere()
        a, b, c = (Ref(f"%a{k}", 32) for k in range(3))
        cut, rounded = _avx512(inner, "mul", a, b, "rz"), _avx512(inner, "mul", a, b, "rn")
        product = inner.select(_is_zero(inner, c), rounded, cut)
        result = canonical_nan(inner, _avx512(inner, "add", product, c, "rn"))
        size = inner.op("and", cut, inner.constant(ABS, 32))
        vanished = inner.op("icmp eq", size, inner.constant(0, 32), 1)
        for factor in (a, b):
            vanished = inner.op("and", vanished, inner.op("xor", _is_zero(inner, factor), inner.constant(1, 1)))
        outside = inner.op("or", vanished, inner.op("icmp eq", size, inner.constant(LARGEST, 32), 1))
        got = _with_exceptions(inner, "f32_mad", (a, b, c), outside, result)
        ty = low.module.vector(32)
        listed = ", ".join(f"{ty} %a{k}" for k in range(3))
        return (
            f"define internal {ty} {name}({listed}) {low.module.attributes} {PURE} noinline cold alignstack(64) {{\n"
            f"{inner.body.text()}\n  ret {ty} {got.text}\n}}"
        )

    return low.module.function(CAREFUL_MAD, make)


def _with_exceptions(low: ValueLowering, name: str, args: Sequence[Ref], outside: Ref, fast: Ref) -> Ref:
    """`fast`, but the integer definition in the lanes `outside`, computed only when there are any."""
    from isakit.sem.fp import f32

    body, n = low.body, low.module.lanes
    flat = body(f"bitcast <{n} x i1> {outside.text} to i{n}")
    any_outside = body(f"icmp ne i{n} {flat}, 0")
    here, slow, done = body.fresh("fast"), body.fresh("slow"), body.fresh("joined")
    body.do(f"br label %{here}")
    body.label(here)
    body.do(f"br i1 {any_outside}, label %{slow}, label %{done}, !prof !0")
    body.label(slow)
    f = low.definition(getattr(f32, name), (), tuple(a.width for a in args))
    listed = ", ".join(f"{low.type(a)} {a.text}" for a in args)
    exact = Ref(body(f"call {low.type(fast)} {f}({listed})"), fast.width)
    mixed = low.select(outside, exact, fast)
    body.do(f"br label %{done}")
    body.label(done)
    return Ref(body(f"phi {low.type(fast)} [ {fast.text}, %{here} ], [ {mixed.text}, %{slow} ]"), fast.width)


def _comparison(low: ValueLowering, args: Sequence[Ref], statics: dict[str, Any]) -> Ref | None:
    """Whether the relation of two numbers is among the bits of a constant: one packed comparison per 16 lanes."""
    a, b, bits = args
    if not bits.uniform or not bits.text.lstrip("-").isdigit() or (a.uniform and b.uniform):
        return None
    if not statics.get("flushing", True):
        return None  # the instruction takes denormals for zeros here
    n = low.module.lanes
    fa, fb = _floats(low, a), _floats(low, b)
    f = low.module.declare(
        "llvm.x86.avx512.mask.cmp.ps.512", "<16 x i1> @(<16 x float>, <16 x float>, i32, <16 x i1>, i32)"
    )
    test = f"i32 {_PREDICATES[int(bits.text) & 15]}, <16 x i1> splat (i1 true), i32 4"
    parts = [
        low.body(f"call <16 x i1> {f}(<16 x float> {_half(low, fa, k)}, <16 x float> {_half(low, fb, k)}, {test})")
        for k in range(0, n, 16)
    ]
    index = f"<{n} x i32> <" + ", ".join(f"i32 {j}" for j in range(n)) + ">"
    return Ref(low.body(f"shufflevector <16 x i1> {parts[0]}, <16 x i1> {parts[-1]}, {index}"), 1)


_PREDICATES = (
    0x0B, 0x11, 0x00, 0x12, 0x1E, 0x0C, 0x1D, 0x07, 0x03, 0x19, 0x08, 0x1A, 0x16, 0x04, 0x15, 0x0F,
)  # fmt: skip
"""Predicate of `vcmpps` by relations: 1 less, 2 equal, 4 greater, 8 unordered."""


def _raw_add(low: ValueLowering, args: Sequence[Ref], statics: dict[str, Any]) -> Ref | None:
    rounding = statics.get("rounding", "rn")
    if rounding not in EMBEDDED_ROUNDING or all(a.uniform for a in args):
        return None
    return _avx512(low, "add", args[0], args[1], rounding)


def _raw_mul(low: ValueLowering, args: Sequence[Ref], statics: dict[str, Any]) -> Ref | None:
    rounding = statics.get("rounding", "rn")
    if rounding not in EMBEDDED_ROUNDING or statics.get("zero_wins") or all(a.uniform for a in args):
        return None
    return _avx512(low, "mul", args[0], args[1], rounding)


EMBEDDED: dict[str, Native] = {
    "f32_add": _embedded_add,
    "f32_mul": _embedded_mul,
    "f32_mad": _embedded_mad,
    "holds f32_compare": _comparison,
}
RAW: dict[str, Native] = {**EMBEDDED, "f32_add": _raw_add, "f32_mul": _raw_mul}
"""Sums and products may be any NaN of the host: for results that only operations read to which all NaNs are equal."""


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
    a, b, c = (low.splat(x) for x in args)
    exact = _double_bits(low, _arithmetic(low, "fmul", _doubles(low, a), _doubles(low, b)))
    cut = _rounded(low, exact, "rz")
    with_cut = _double_bits(low, _arithmetic(low, "fadd", _as_double(low, cut), _doubles(low, c)))
    single = _to_single(low, _rounded(low, exact, "rn"), "rn")
    with_rounded = _double_bits(low, _arithmetic(low, "fadd", _doubles(low, single), _doubles(low, c)))
    total = low.select(_is_zero(low, c), with_rounded, with_cut)
    # The sum is rounded with gradual underflow, as the conversion does, and flushed afterwards.
    single = _bits(
        low, low.body(f"fptrunc <{low.module.lanes} x double> {_as_double(low, total)} to <{low.module.lanes} x float>")
    )
    sign = low.op("and", single, low.constant(0x80000000, 32))
    return canonical_nan(low, low.select(_is_zero(low, single), sign, single))


PORTABLE: dict[str, Native] = {"f32_add": _portable_add, "f32_mul": _portable_mul, "f32_mad": _portable_mad}
