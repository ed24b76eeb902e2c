"""Functions of floats, composed of the chip's own and written as Python kernels are.

They are as exact as the chip's `sin`, `log2` and `exp2`, on which they rest; `atan` and what follows from it have 6 ulp
or so by their polynomials.
"""

from __future__ import annotations

import math
from functools import cache

from isakit.compile.python.writer import FunctionSource, text_functions

_TEXT = """
def tan(x):
    return sin(x) / cos(x)

def sinh(x):
    if abs(x) < 0.25:
        s = x * x
        return x + x * s * (0.16666667 + s * (0.008333334 + s * 0.00019841270))
    return 0.5 * (exp(x) - exp(-x))

def cosh(x):
    return 0.5 * (exp(x) + exp(-x))

def tanh(x):
    a = abs(x)
    if a < 0.25:
        s = x * x
        return x + x * s * (-0.33333333 + s * (0.13333333 + s * (-0.05396825 + s * 0.02186949)))
    t = 1.0 - 2.0 / (exp(2.0 * min(a, 15.0)) + 1.0)
    return t if x > 0.0 else -t

def asinh(x):
    a = abs(x)
    y = log1p(a + a * a / (1.0 + sqrt(a * a + 1.0)))
    return y if x >= 0.0 else -y

def acosh(x):
    return log(x + sqrt((x - 1.0) * (x + 1.0)))

def atanh(x):
    return 0.5 * log1p(2.0 * x / (1.0 - x))

def atan(x):
    a = abs(x)
    r = 1.0 / a if a > 1.0 else a
    s = r * r
    p = 0.0028662257 * s - 0.0161657367
    p = p * s + 0.0429096138
    p = p * s - 0.0752896400
    p = p * s + 0.1065626393
    p = p * s - 0.1420889944
    p = p * s + 0.1999355085
    p = p * s - 0.3333314528
    y = p * s * r + r
    y = 1.5707963 - y if a > 1.0 else y
    return copysign(y, x)

def atan2(y, x):
    a = abs(y)
    b = abs(x)
    high = max(a, b)
    r = 0.0 * a if high == 0.0 else min(a, b) / high
    t = atan(r)
    t = 1.5707963 - t if a > b else t
    t = 3.1415927 - t if x < 0.0 else t
    return copysign(t, y)

def asin(x):
    a = abs(x)
    if a < 0.5625:
        return atan2(x, sqrt((1.0 - x) * (1.0 + x)))
    t = 1.5707963 - 2.0 * atan2(sqrt(0.5 * (1.0 - a)), sqrt(0.5 * (1.0 + a)))
    return t if x > 0.0 else -t

def acos(x):
    return 2.0 * atan2(sqrt(0.5 * (1.0 - x)), sqrt(0.5 * (1.0 + x)))

def log10(x):
    return 0.30103 * log2(x)

def log1p(x):
    u = 1.0 + x
    return x if u == 1.0 else log(u) * (x / (u - 1.0))

def exp10(x):
    return exp2(3.3219281 * x)

def expm1(x):
    if abs(x) < 0.25:
        return x + x * x * (0.5 + x * (0.16666667 + x * (0.041666668 + x * (0.008333334 + x * 0.0013888889))))
    return exp(x) - 1.0

def pow(x, y):
    p = exp2(y * log2(abs(x)))
    if y == 0.0:
        p = 1.0
    if x < 0.0 and floor(0.5 * y) * 2.0 != y:
        p = -p if floor(y) == y else 0.0 * p / 0.0
    return p

def hypot(x, y):
    a = max(abs(x), abs(y))
    b = min(abs(x), abs(y))
    r = 0.0 * a if a == 0.0 else b / a
    return a * sqrt(1.0 + r * r)

def degrees(x):
    return 57.29577951308232 * x

def radians(x):
    return 0.017453292519943295 * x

def isnan(x):
    return x != x

def isinf(x):
    return abs(x) == _INF

def isfinite(x):
    return abs(x) < _INF
"""


@cache
def _sources() -> dict[str, FunctionSource]:
    return text_functions(_TEXT, "<library>", {"_INF": math.inf})


FUNCTIONS = frozenset(_sources())


def library(name: str) -> FunctionSource:
    """Return the source of one of `FUNCTIONS`."""
    return _sources()[name]
