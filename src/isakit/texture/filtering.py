"""Filtering: weighted sums of texels with one rounding to f32 at the end.

Weights are integers (8 fraction bits an axis), products and sums are exact: where f64 could round differently the sum
is made again with rational numbers. Source: [graphics] 2.3.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np

from isakit.engine.protocol import Array
from isakit.texture.lanes import known

CANONICAL_NAN = 0x7FFF_FFFF
_SLACK = 2.0**-49
"""Bound of the relative error of the f64 sums, relative to the sum of the magnitudes."""


def weighted(values: list[Any], weights: list[Any], bits: int) -> Any:
    """Add f32 `values` (f64 arrays) times integer `weights` (f64 arrays) over 2**bits, rounded once: u32 bits.

    Taps of weight 0 do not count, so that an infinity next to the sample does not spoil it. The sum is -0 only where
    all that counts is -0.
    """
    if not known(values[0]):
        return values[0].code.weighted(values, weights, bits)
    terms = [np.where(w == 0, -0.0, v * w) for v, w in zip(values, weights, strict=True)]
    total = reduce(np.add, terms)
    scale = 0.5**bits
    result = (total * scale).astype(np.float32)
    if _exact(values, terms):
        return result.view(np.uint32)
    slack = reduce(np.add, [np.abs(t) for t in terms]) * _SLACK
    with np.errstate(invalid="ignore"):
        doubtful = ((total - slack) * scale).astype(np.float32) != ((total + slack) * scale).astype(np.float32)
    for k in np.flatnonzero(doubtful & np.isfinite(total)):
        pairs = [(v[k], w[k]) for v, w in zip(values, weights, strict=True) if w[k]]
        exact = sum((Fraction(float(v)) * int(w) for v, w in pairs), Fraction(0))
        result[k] = rounded(exact / (1 << bits))
    out = result.view(np.uint32)
    if not _tame(total):
        out[np.isnan(result)] = CANONICAL_NAN
    return out


def _exact(values: list[Array], terms: list[Array]) -> bool:
    """Return whether all f64 sums of the terms are exact: all are multiples of one step, and none needs 53 bits.

    f32 values are multiples of the last place of the smallest one; integer weights do not change that.
    """
    largest = max(float(np.abs(t).max(initial=0.0)) for t in terms) * len(terms)
    if not np.isfinite(largest):
        return False
    smallest = min(float(np.abs(v).min(where=v != 0, initial=np.inf)) for v in values)
    if smallest == np.inf:
        return True
    step = 2.0 ** (max(math.frexp(smallest)[1], -125) - 24)
    return largest < step * 2.0**53


def _tame(v: Array) -> bool:
    """Return whether all values are finite."""
    return bool(np.isfinite(v).all())


def rounded(x: Fraction) -> np.float32:
    """Return the f32 nearest to a rational number, ties to even."""
    if not x:
        return np.float32(0)
    n, d = abs(x.numerator), x.denominator
    e = max(n.bit_length() - d.bit_length() - 24, -149)
    while True:
        scaled = x.__abs__() / Fraction(2) ** e
        if scaled < 1 << 24 or e >= 104:
            break
        e += 1
    q, rest = divmod(scaled.numerator, scaled.denominator)
    twice = 2 * rest
    q += twice > scaled.denominator or (twice == scaled.denominator and q & 1)
    value = np.float32(np.ldexp(float(q), e))
    return -value if x < 0 else value
