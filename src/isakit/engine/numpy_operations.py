"""Faster NumPy implementations of named operations, each proven equal to the integer definition by tests.

`@native("name")` registers a factory `(statics, widths) -> function of arrays, or None if it has nothing faster`. The
functions take and return arrays in the representation of `engine.protocol`, results are fresh, and the caller has
switched NumPy's floating-point warnings off (`needs_errstate`).

All of them require the host's default rounding mode with denormals, in which Python processes run. Exactness comes from
float64: the product of two f32 numbers is exact there, and the error of an inexact sum can be computed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from isakit.engine.protocol import Array, DType
from isakit.sem.operation import Operation, StaticKey, Statics

Lowered = Callable[..., Array]
Factory = Callable[[Statics, tuple[int, ...]], Lowered | None]
_FACTORIES: dict[str, Factory] = {}

Type = DType
f32: Type = np.dtype(np.float32)
f64: Type = np.dtype(np.float64)
u32: Type = np.dtype(np.uint32)
u64: Type = np.dtype(np.uint64)
i64: Type = np.dtype(np.int64)


def native(*names: str) -> Callable[[Factory], Factory]:
    """Register a factory for operations of these names."""

    def register(factory: Factory) -> Factory:
        _FACTORIES.update(dict.fromkeys(names, factory))
        return factory

    return register


@cache
def lowering(op: Operation, statics: StaticKey, widths: tuple[int, ...]) -> Lowered | None:
    """Return the native function of an operation for these statics and argument widths, or None."""
    factory = _FACTORIES.get(op.name)
    function = factory(dict(statics), widths) if factory else None
    if function is not None:
        function.__dict__["needs_errstate"] = True
    return function


# --- pieces -----------------------------------------------------------------------------------------------------------
_SMALLEST = np.array(2.0**-126, f32)
_SMALLEST64 = np.array(2.0**-126, f64)
_LARGEST = np.array(0x7F7FFFFF, u32).view(f32)
_INF = np.array(np.inf, f64)
_ZERO = np.array(0, f32)
_ZERO64 = np.array(0, f64)
_ONE_U64 = np.array(1, u64)
_TESLA_NAN = np.array(0x7FFFFFFF, u32)
_KEEP_24 = np.array(0xFFFF_FFFF_E000_0000, u64)
_ALL = np.array(0xFFFF_FFFF_FFFF_FFFF, u64)
# Rounded to 24 bits of any exponent, a product reaches 2**-126 from here on (the tie rounds to even, upwards).
_PRODUCT_LIMIT = np.array(2.0**-126 - 2.0**-151, f64)
# On the grid of denormals, a sum reaches 2**-126 from here on.
_SUM_LIMIT = np.array(2.0**-126 - 2.0**-150, f64)


def _with_nan(r: Array, nan: Array) -> Array:
    """Return the bits of `r` with one NaN for all NaNs; changes `r`."""
    out = r.view(nan.dtype)
    np.copyto(out, nan, where=r != r)
    return out


def _flushed(x: Array) -> Array:
    # Infinity times False is kept out by the comparison, NaN times False is NaN, and zeros keep their sign.
    return x * (np.abs(x) >= _SMALLEST)


def _two_sum(x: Array, y: Array) -> tuple[Array, Array]:
    """Return the rounded sum and its exact error; the error is NaN if the sum is infinite or NaN."""
    s = x + y
    v = s - x
    return s, (x - (s - v)) + (y - v)


def _truncated_to_f32(p: Array) -> Array:
    """Convert f64 to f32 towards zero; too large becomes the largest, infinity stays, below 2**-126 is not flushed."""
    r = (p.view(u64) & _KEEP_24).view(f64).astype(f32)
    huge = (np.abs(p) > _LARGEST) & (np.abs(p) != _INF)
    if np.count_nonzero(huge):
        np.copyto(r, np.copysign(_LARGEST, r), where=huge)
    return r


# --- Tesla f32 --------------------------------------------------------------------------------------------------------
def _f32_add_rn(a: Array, b: Array) -> Array:
    return _with_nan(_flushed(_flushed(a.view(f32)) + _flushed(b.view(f32))), _TESLA_NAN)


def _f32_add_rz(a: Array, b: Array) -> Array:
    s, error = _two_sum(_flushed(a.view(f32)).astype(f64), _flushed(b.view(f32)).astype(f64))
    # Where rounding went away from zero, one step back; then cutting bits off truncates the exact sum.
    s = (s.view(u64) - (error * s < _ZERO64)).view(f64)
    return _with_nan(_flushed(_truncated_to_f32(s)), _TESLA_NAN)


@native("f32_add")
def _f32_add(statics: Statics, widths: tuple[int, ...]) -> Lowered | None:
    return {"rn": _f32_add_rn, "rz": _f32_add_rz}.get(statics.get("rounding", "rn"))


@native("f32_mul")
def _f32_mul(statics: Statics, widths: tuple[int, ...]) -> Lowered | None:
    rounding, zero_wins = statics.get("rounding", "rn"), statics.get("zero_wins", False)
    if rounding not in {"rn", "rz"}:
        return None

    def mul(a: Array, b: Array) -> Array:
        x, y = a.view(f32), b.view(f32)
        smaller = np.minimum(np.abs(x), np.abs(y))
        p = x.astype(f64) * y.astype(f64)
        limit = _PRODUCT_LIMIT if rounding == "rn" else _SMALLEST64
        r = p.astype(f32) if rounding == "rn" else _truncated_to_f32(p)
        # A product with a flushed operand: 0, or NaN for infinity times False.
        out = _with_nan(r * ((smaller >= _SMALLEST) & (np.abs(p) >= limit)), _TESLA_NAN)
        if zero_wins:
            np.copyto(out, 0, where=(np.abs(x) < _SMALLEST) | (np.abs(y) < _SMALLEST), casting="unsafe")
        return out

    return mul


@native("f32_mad")
def _f32_mad(statics: Statics, widths: tuple[int, ...]) -> Lowered | None:
    zero_wins = statics.get("zero_wins", False)

    def mad(a: Array, b: Array, c: Array) -> Array:
        x, y, z = _flushed(a.view(f32)), _flushed(b.view(f32)), _flushed(c.view(f32)).astype(f64)
        p = x.astype(f64) * y.astype(f64)
        q = (p.view(u64) & _KEEP_24).view(f64)
        alone = z == _ZERO64
        if np.count_nonzero(alone):
            # With c = 0 the product is rounded to nearest and flushed before the sum, which then only settles signs.
            q = np.where(alone, p * (np.abs(p) >= _PRODUCT_LIMIT), q)
        if zero_wins:
            np.copyto(q, _ZERO64, where=(x == _ZERO) | (y == _ZERO))
        # Both addends have 24 bits: rounding their sum to 53 and then to 24 bits is the same as rounding once.
        s = q + z
        return _with_nan(s.astype(f32) * (np.abs(s) >= _SUM_LIMIT), _TESLA_NAN)

    return mad


# --- conversions ------------------------------------------------------------------------------------------------------
@native("i2f")
def _i2f(statics: Statics, widths: tuple[int, ...]) -> Lowered | None:
    rounding, source = statics.get("rounding", "rn"), statics["source"]
    bits = int(source[1:])
    if statics.get("to", "f32") != "f32" or statics.get("saturate") or rounding not in {"rn", "rz"} or bits > 32:
        return None
    dtype, whole = np.dtype(f"{'i' if source[0] == 's' else 'u'}{bits // 8}"), widths[0] == bits == 32
    absolute, negate = statics.get("absolute", False), statics.get("negate", False)

    def convert(x: Array) -> Array:
        v = (x.view(dtype) if whole else x.astype(dtype)).astype(f64)
        if absolute:
            v = np.abs(v)
        if negate:
            v = -v
        return (v.astype(f32) if rounding == "rn" else _truncated_to_f32(v)).view(u32)

    return convert


@native("f2i")
def _f2i(statics: Statics, widths: tuple[int, ...]) -> Lowered | None:
    to, rounding = statics["to"], statics.get("rounding", "rn")
    bits = int(to[1:])
    if statics["source"] != "f32" or widths[0] != 32 or bits > 32:
        return None
    round_to = {"rn": np.rint, "rz": np.trunc, "rm": np.floor, "rp": np.ceil}[rounding]
    low, high = (-(2.0 ** (bits - 1)), 2.0 ** (bits - 1) - 1) if to[0] == "s" else (0.0, 2.0**bits - 1)
    least, most, ones = np.array(low, f64), np.array(high, f64), np.array((1 << bits) - 1, u32)
    absolute, negate = statics.get("absolute", False), statics.get("negate", False)

    def convert(a: Array) -> Array:
        x = a.view(f32)
        if rounding in {"rm", "rp"}:  # in the others a denormal is 0 anyway
            x = _flushed(x)
        if absolute:
            x = np.abs(x)
        if negate:
            x = -x
        v = round_to(x.astype(f64))
        np.copyto(v, _ZERO64, where=v != v)
        out = np.minimum(np.maximum(v, least), most).astype(i64).astype(u32)
        return out & ones if bits < 32 else out

    return convert


# --- IEEE -------------------------------------------------------------------------------------------------------------
_QUIET = np.array(0x0008_0000_0000_0000, u64)
_F64_NAN = np.array(0xFFF8_0000_0000_0000, u64)


def _with_payload(r: Array, a: Array, b: Array) -> Array:
    """Choose the NaN of Tesla's f64: the quieted b, else the quieted a, else the generated one."""
    out, nan = r.view(u64), r != r
    if np.count_nonzero(nan):
        x, y = a.view(f64), b.view(f64)
        chosen = np.where(y != y, b | _QUIET, np.where(x != x, a | _QUIET, _F64_NAN))
        np.copyto(out, chosen, where=nan)
    return out


def _of_two_doubles(apply: Callable[[Array, Array], Array]) -> Factory:
    """Return the lowering of a sum or product of Tesla's f64."""

    def factory(statics: Statics, widths: tuple[int, ...]) -> Lowered | None:
        if statics.get("rounding", "rn") != "rn":
            return None

        def both(a: Array, b: Array) -> Array:
            return _with_payload(apply(a.view(f64), b.view(f64)), a, b)

        return both

    return factory


native("f64_add")(_of_two_doubles(np.add))
native("f64_mul")(_of_two_doubles(np.multiply))


_IEEE = {"f32": (f32, np.array(0x7FC0_0000, u32)), "f64": (f64, np.array(0x7FF8_0000_0000_0000, u64))}


def _ieee_type(statics: Statics) -> tuple[Type, Array] | None:
    return _IEEE.get(statics.get("format", "f32")) if statics.get("rounding", "rn") == "rn" else None


def _of_two_ieee(apply: Callable[[Array, Array], Array]) -> Factory:
    """Return the lowering of a sum or product of IEEE 754."""

    def factory(statics: Statics, widths: tuple[int, ...]) -> Lowered | None:
        found = _ieee_type(statics)
        if found is None:
            return None
        dtype, nan = found

        def both(a: Array, b: Array) -> Array:
            return _with_nan(apply(a.view(dtype), b.view(dtype)), nan)

        return both

    return factory


native("ieee_add")(_of_two_ieee(np.add))
native("ieee_mul")(_of_two_ieee(np.multiply))


@native("ieee_fma")
def _ieee_fma(statics: Statics, widths: tuple[int, ...]) -> Lowered | None:
    found = _ieee_type(statics)
    if found is None or found[0] is not f32:
        return None
    nan = found[1]

    def fma(a: Array, b: Array, c: Array) -> Array:
        p = a.view(f32).astype(f64) * b.view(f32).astype(f64)
        s, error = _two_sum(p, c.view(f32).astype(f64))
        # The exact sum rounded to odd in f64 rounds to f32 like the exact sum itself: an inexact even s moves by one
        # step towards the exact value.
        inexact = (error != _ZERO64) & (error == error)
        bits = s.view(u64)
        step = inexact & ((bits & _ONE_U64) == 0)
        if np.count_nonzero(step):
            away = (error > _ZERO64) == (s > _ZERO64)
            bits = np.where(step, np.where(away, bits + _ONE_U64, bits - _ONE_U64), bits)
        return _with_nan(bits.view(f64).astype(f32), nan)

    return fma
