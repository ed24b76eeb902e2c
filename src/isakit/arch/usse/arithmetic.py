"""Floating point of the USSE: which rules the operations follow.

Rounding and denormal behaviour of the hardware are not known. The default is IEEE: nearest even, denormals kept, and
multiply-add rounded once. `Rules` holds the alternatives; a machine that wants others traces its programs under
`using(rules)`.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from isakit.arch.usse.transcendental import exp2_f32, log2_f32, rsqrt_f32
from isakit.sem import Value, const, operation, select
from isakit.sem.fp.core import F32, flush
from isakit.sem.fp.ieee import ieee_add, ieee_compare, ieee_div, ieee_fma, ieee_max, ieee_min, ieee_mul, ieee_round

ONE = 0x3F800000


@dataclass(frozen=True)
class Rules:
    """Choices where the arithmetic of the hardware is not known.

    `fused`: multiply-add rounds once; else the product is rounded first. `flush`: denormal f32 operands and results
    are zeros.
    """

    fused: bool = True
    flush: bool = False


DEFAULT = Rules()
_rules: ContextVar[Rules] = ContextVar("isakit_usse_rules", default=DEFAULT)


@contextmanager
def using(rules: Rules) -> Generator[None]:
    """Trace under other rules."""
    token = _rules.set(rules)
    try:
        yield
    finally:
        _rules.reset(token)


@operation
def f32_flushed(a: Value) -> Value:
    """Replace a denormal f32 by a zero of its sign."""
    return flush(a, F32)


def _in(v: Value) -> Value:
    return f32_flushed(v) if _rules.get().flush else v


def add(a: Value, b: Value) -> Value:
    """Return a + b."""
    return _in(ieee_add(_in(a), _in(b)))


def sub(a: Value, b: Value) -> Value:
    """Return a - b."""
    return add(a, negate(b))


def mul(a: Value, b: Value) -> Value:
    """Return a * b."""
    return _in(ieee_mul(_in(a), _in(b)))


def mad(a: Value, b: Value, c: Value) -> Value:
    """Return a * b + c, rounded once or twice by the rules."""
    if _rules.get().fused:
        return _in(ieee_fma(_in(a), _in(b), _in(c)))
    return add(mul(a, b), c)


def negate(a: Value) -> Value:
    """Return -a."""
    return a ^ 0x80000000


def minimum(a: Value, b: Value) -> Value:
    """Return the smaller number."""
    return ieee_min(_in(a), _in(b))


def maximum(a: Value, b: Value) -> Value:
    """Return the larger number."""
    return ieee_max(_in(a), _in(b))


def subtract_floor(a: Value, b: Value) -> Value:
    """Return a - floor(b)."""
    return sub(a, ieee_round(_in(b), rounding="rm"))


def dot(a: list[Value], b: list[Value]) -> Value:
    """Sum of products from the first channel on, each product and sum rounded."""
    total = mul(a[0], b[0])
    for x, y in zip(a[1:], b[1:], strict=True):
        total = add(total, mul(x, y))
    return total


def reciprocal(a: Value) -> Value:
    """1 / a."""
    return _in(ieee_div(const(ONE, 32), _in(a)))


def reciprocal_root(a: Value) -> Value:
    """1 / sqrt(a)."""
    return _in(rsqrt_f32(_in(a)))


def log2(a: Value) -> Value:
    """Logarithm to base 2."""
    return log2_f32(_in(a))


def exp2(a: Value) -> Value:
    """2 to the power of a."""
    return _in(exp2_f32(_in(a)))


def compare(a: Value, b: Value, condition: str) -> Value:
    """1 where the condition (eq ne lt le) holds; a NaN only fulfils ne."""
    relation = ieee_compare(_in(a), _in(b))
    wanted = {"eq": 2, "ne": 13, "lt": 1, "le": 3}[condition]
    return (relation & wanted) != 0


def choose(condition: Value, a: Value, b: Value) -> Value:
    """Lane-wise choice."""
    return select(condition, a, b)
