"""Tesla f64 arithmetic ([tesla] 5.7): full IEEE with denormals; NaNs are quieted and keep their payload.

Negation and absolute value are done by the caller with `f64_modified`, because they leave a NaN alone.
"""

from __future__ import annotations

from isakit.sem.fp import arith
from isakit.sem.fp.core import F64, Rounding, absolute, is_nan, negated, quieted, unpack
from isakit.sem.fp.f32 import compare_magnitudes, order_key
from isakit.sem.operation import operation
from isakit.sem.value import Value, concat, const, select

NAN = 0xFFF8000000000000


def f64_modified(v: Value, *, absolute_if: Value | bool = False, negate_if: Value | bool = False) -> Value:
    """Operand modifiers, absolute value first; a NaN stays unchanged."""
    result = select(absolute_if, absolute(v), v)
    result = select(negate_if, negated(result), result)
    return v if result is v else select(is_nan(v, F64), v, result)


def _choose(result: Value, invalid: Value, *nans: tuple[Value, Value]) -> Value:
    """The first NaN operand, quieted; else the generated NaN if the operation is invalid; else the result."""
    result = select(invalid, NAN, result)
    for v, nan in reversed(nans):
        result = select(nan, quieted(v, F64), result)
    return result


@operation
def f64_add(a: Value, b: Value, *, rounding: Rounding = "rn") -> Value:
    """a + b, correctly rounded, denormals kept ([tesla] 5.7).

    NaN: the quieted b, else the quieted a, else 0xfff8000000000000 for infinity minus infinity. A sum of exactly zero
    is -0 in rm unless both addends are +0, else +0 unless both are -0.
    """
    x, y = unpack(a, F64), unpack(b, F64)
    return _choose(*arith.add(x, y, F64, rounding), (b, y.nan), (a, x.nan))


@operation
def f64_mul(a: Value, b: Value, *, rounding: Rounding = "rn") -> Value:
    """a * b, correctly rounded, denormals kept ([tesla] 5.7).

    NaN: the quieted b, else the quieted a, else 0xfff8000000000000 for zero times infinity.
    """
    x, y = unpack(a, F64), unpack(b, F64)
    return _choose(*arith.mul(x, y, F64, rounding), (b, y.nan), (a, x.nan))


@operation
def f64_fma(a: Value, b: Value, c: Value, *, rounding: Rounding = "rn") -> Value:
    """a * b + c rounded once, denormals kept ([tesla] 5.7).

    NaN: the quieted b, else the quieted c, else the quieted a, else 0xfff8000000000000 for an invalid operation.
    Exactly zero sums as in `f64_add`.
    """
    x, y, z = unpack(a, F64), unpack(b, F64), unpack(c, F64)
    return _choose(*arith.fma(x, y, z, F64, rounding), (b, y.nan), (c, z.nan), (a, x.nan))


def _extreme(a: Value, b: Value, larger: bool) -> Value:
    below = order_key(a).slt(order_key(b))
    result = select(below, b, a) if larger else select(below, a, b)
    return select(is_nan(b, F64), select(is_nan(a, F64), quieted(b, F64), a), select(is_nan(a, F64), b, result))


@operation
def f64_max(a: Value, b: Value) -> Value:
    """The larger operand, -0 below +0; a NaN loses, two NaNs give the quieted b ([tesla] 5.7)."""
    return _extreme(a, b, larger=True)


@operation
def f64_min(a: Value, b: Value) -> Value:
    """The smaller operand, -0 below +0; a NaN loses, two NaNs give the quieted b ([tesla] 5.7)."""
    return _extreme(a, b, larger=False)


@operation
def f64_compare(a: Value, b: Value) -> Value:
    """The relation of a to b as one of four bits: 1 less, 2 equal, 4 greater, 8 unordered ([tesla] 5.7)."""
    return compare_magnitudes(absolute(a), absolute(b), a.sign, b.sign, F64.infinity)


@operation
def f64_flags(a: Value) -> Value:
    """$c of an f64 result: 0 positive, 1 zero, 2 negative, 3 NaN; denormals count ([tesla] 3)."""
    size = absolute(a)
    zero, nan = size.is_zero, size.ugt(F64.infinity)
    return concat(const(0, 2), nan | (a.sign & ~zero), nan | zero)
