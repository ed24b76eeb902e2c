"""NumPy versions of the float operations that USSE programs use and the engine has no faster version of.

Each is equal to its integer definition for every input; the tests compare them exhaustively or on random bits.
Importing the module registers them.
"""

from __future__ import annotations

import numpy as np

from isakit.engine.numpy_operations import Lowered, native
from isakit.engine.protocol import Array
from isakit.sem.operation import Statics

f16, f32, f64, u16, u32, u64 = (
    np.dtype(t) for t in (np.float16, np.float32, np.float64, np.uint16, np.uint32, np.uint64)
)
_NAN = np.array(0x7FC00000, u32)
_NAN16 = np.array(0x7E00, u16)


def _canonical(result: Array) -> Array:
    """Return the bits of an f32 array, with one kind of NaN."""
    bits = result.view(u32)
    nan = result != result
    if np.count_nonzero(nan):
        bits = np.where(nan, _NAN, bits)
    return bits


def _quiet(function: Lowered) -> Lowered:
    function.__dict__["needs_errstate"] = True
    return function


def _widening_table() -> Array:
    values = np.arange(1 << 16, dtype=u16).view(f16)
    with np.errstate(all="ignore"):
        return np.ascontiguousarray(_canonical(values.astype(f32)))


_WIDE = _widening_table()


@native("ieee_convert")
def _convert(statics: Statics, widths: tuple[int, ...]) -> Lowered | None:
    if statics.get("rounding", "rn") != "rn":
        return None
    pair = statics["source"], statics["to"]
    if pair == ("f16", "f32"):

        def widen(a: Array) -> Array:
            return _WIDE.take(a)

        return widen
    if pair == ("f32", "f16"):

        def narrow(a: Array) -> Array:
            value = a.view(f32)
            half = value.astype(f16).view(u16)
            nan = value != value
            if np.count_nonzero(nan):
                half = np.where(nan, _NAN16, half)
            return half.astype(u32)

        return _quiet(narrow)
    return None


def _plain_f32(statics: Statics) -> bool:
    return statics.get("format", "f32") == "f32" and statics.get("rounding", "rn") == "rn"


@native("ieee_div")
def _div(statics: Statics, widths: tuple[int, ...]) -> Lowered | None:
    if not _plain_f32(statics):
        return None

    def div(a: Array, b: Array) -> Array:
        return _canonical(a.view(f32) / b.view(f32))

    return _quiet(div)


def _extreme(wins: np.ufunc, zero_rule: np.ufunc) -> Lowered:
    def extreme(a: Array, b: Array) -> Array:
        x, y = a.view(f32), b.view(f32)
        # Not fmin or fmax: what they do with a signalling NaN depends on its place in the array.
        result: Array = np.where(wins(x, y) | (y != y), a, b)
        # Zeros of both signs compare equal: the bits decide.
        ties = (x == y) & (a != b)
        if np.count_nonzero(ties):
            result = np.where(ties, zero_rule(a, b), result)
        nan = result.view(f32) != result.view(f32)
        return np.where(nan, _NAN, result) if np.count_nonzero(nan) else result

    return _quiet(extreme)


@native("ieee_min")
def _min(statics: Statics, widths: tuple[int, ...]) -> Lowered | None:
    return _extreme(np.less, np.bitwise_or) if statics.get("format", "f32") == "f32" else None


@native("ieee_max")
def _max(statics: Statics, widths: tuple[int, ...]) -> Lowered | None:
    return _extreme(np.greater, np.bitwise_and) if statics.get("format", "f32") == "f32" else None


@native("ieee_round")
def _round(statics: Statics, widths: tuple[int, ...]) -> Lowered | None:
    function: np.ufunc = {"rn": np.rint, "rm": np.floor, "rp": np.ceil, "rz": np.trunc}[statics.get("rounding", "rn")]
    if statics.get("format", "f32") != "f32":
        return None

    def integral(a: Array) -> Array:
        return _canonical(function(a.view(f32)))

    return _quiet(integral)


@native("ieee_compare")
def _compare(statics: Statics, widths: tuple[int, ...]) -> Lowered | None:
    if statics.get("format", "f32") != "f32":
        return None

    def relation(a: Array, b: Array) -> Array:
        x, y = a.view(f32), b.view(f32)
        out: Array = np.where(x < y, np.array(1, u32), np.array(8, u32))
        out = np.where(x == y, np.array(2, u32), out)
        return np.where(x > y, np.array(4, u32), out)

    return _quiet(relation)


@native("ratio_to_float")
def _ratio(statics: Statics, widths: tuple[int, ...]) -> Lowered | None:
    if statics.get("to", "f32") != "f32" or widths[0] > 16:
        return None
    bits, signed = int(statics["source"][1:]), statics["source"][0] == "s"
    if bits != widths[0]:
        return None
    maximum, low = np.array(statics["maximum"], f32), np.array(statics["low"], np.int32)
    top = np.array(1 << (bits - 1), u32)

    def ratio(a: Array) -> Array:
        if signed:
            v = np.maximum(((a ^ top) - top).view(np.int32), low).astype(f32)
        else:
            v = a.astype(f32)
        return (v / maximum).view(u32)

    return ratio


@native("float_to_ratio")
def _to_ratio(statics: Statics, widths: tuple[int, ...]) -> Lowered | None:
    if statics["source"] != "f32" or statics.get("rounding", "rn") != "rn" or statics.get("width", 32) != 32:
        return None
    maximum, low, high = (np.array(float(statics[k])) for k in ("maximum", "low", "high"))

    def to_ratio(a: Array) -> Array:
        # 24 by 16 bits: the product is exact in f64
        v = np.rint(a.view(f32).astype(f64) * maximum)
        v = np.fmin(np.fmax(v, low), high)
        nan = a.view(f32) != a.view(f32)
        if np.count_nonzero(nan):
            v = np.where(nan, 0.0, v)
        return v.astype(np.int32).view(u32)

    return _quiet(to_ratio)


@native("rsqrt_f32")
def _rsqrt(statics: Statics, widths: tuple[int, ...]) -> Lowered | None:
    def rsqrt(a: Array) -> Array:
        # No f32 has a reciprocal root so close to the middle of two f32 that rounding twice goes wrong (tested).
        return _canonical((1.0 / np.sqrt(a.view(f32).astype(f64))).astype(f32))

    return _quiet(rsqrt)
