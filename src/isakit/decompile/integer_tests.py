"""Tests of a difference of integers, which look at its sign and whether it is zero, recognised in graphs."""

from __future__ import annotations

from isakit.decompile.float_tests import zero_comparison
from isakit.sem.value import Value

_IDIOMS = {
    ("or", True, True): ("<=", True),
    ("and", False, False): ("<=", False),
    ("or", False, True): ("<", False),
    ("and", True, False): ("<", True),
}
"""Operation, whether the first is to be smaller, whether both are to be equal -> comparison, whether it must hold."""


def integer_comparison(v: Value) -> tuple[Value, str, bool] | None:
    """Return (`a < b`, comparison, whether it must hold) of a condition that compares a with b in two tests."""
    if v.op not in ("and", "or"):
        return None
    (less, smaller), (same, equal) = ((a.args[0], False) if a.op == "not" else (a, True) for a in v.args)
    if less.op not in ("ult", "slt") or same.op != "eq" or set(map(id, less.args)) != set(map(id, same.args)):
        return None
    found = _IDIOMS.get((v.op, smaller, equal))
    return (less, *found) if found is not None else None


def is_comparison(v: Value) -> bool:
    """Return true if a condition is one comparison, though made of several tests."""
    return zero_comparison(v) is not None or integer_comparison(v) is not None
