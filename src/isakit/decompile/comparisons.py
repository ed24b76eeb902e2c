"""Comparisons that were made of several tests: of the bits of a float ([usse] 2.6.9), of a difference of integers."""

from __future__ import annotations

from isakit.sem.value import Value

SIGN, MAGNITUDE, INFINITY = 0x80000000, 0x7FFFFFFF, 0x7F800000


def equals(v: Value, n: int) -> bool:
    """Return true if a value is this number."""
    return v.op == "const" and v.attr == n


def zero_test(v: Value) -> Value | None:
    """Return x of `(x & 0x7fffffff) == 0`."""
    if v.op == "eq" and equals(v.args[1], 0) and v.args[0].op == "and" and equals(v.args[0].args[1], MAGNITUDE):
        return v.args[0].args[0]
    return None


def negative_test(v: Value) -> Value | None:
    """Return x of `sign(x) & ~zero(x) & ~nan(x)`."""
    if v.op != "and" or v.args[0].op != "and" or v.args[1].op != "not" or v.args[0].args[1].op != "not":
        return None
    sign, zero, nan = v.args[0].args[0], v.args[0].args[1].args[0], v.args[1].args[0]
    x = zero_test(zero)
    if x is None or sign.op != "extract" or sign.attr != 31 or sign.args[0] is not x:
        return None
    if nan.op != "ult" or not equals(nan.args[0], INFINITY) or nan.args[1] is not zero.args[0]:
        return None
    return x


_IDIOMS = {
    ("and", True, False): ("<", True),
    ("and", False, False): ("<=", False),
    ("or", True, True): ("<=", True),
    ("or", False, True): ("<", False),
}
"""Operation, whether the first is to be smaller, whether both are to be equal -> comparison, whether it must hold."""


def zero_comparison(v: Value) -> tuple[Value, str, bool] | None:
    """Return (x, comparison, whether it must hold) of a condition that compares x with zero in any of its forms."""
    x = zero_test(v)
    if x is not None:
        return x, "==", True
    x = negative_test(v)
    if x is not None:
        return x, "<", True
    if v.op not in ("and", "or"):
        return None
    (first, negative), (second, zero) = map(_literal, v.args)
    x = negative_test(first)
    found = _IDIOMS.get((v.op, negative, zero))
    return (x, *found) if found is not None and x is not None and x is zero_test(second) else None


def _literal(v: Value) -> tuple[Value, bool]:
    return (v.args[0], False) if v.op == "not" else (v, True)


def integer_comparison(v: Value) -> tuple[Value, str, bool] | None:
    """Return (`a < b`, comparison, whether it must hold) of a condition that compares a with b in two tests."""
    if v.op not in ("and", "or"):
        return None
    (less, smaller), (same, equal) = map(_literal, v.args)
    if less.op not in ("ult", "slt") or same.op != "eq" or set(map(id, less.args)) != set(map(id, same.args)):
        return None
    found = _IDIOMS.get((v.op, smaller, equal))
    return (less, *found) if found is not None else None


def is_comparison(v: Value) -> bool:
    """Return true if a condition is one comparison, though made of several tests."""
    return zero_comparison(v) is not None or integer_comparison(v) is not None
