"""How far the mathematical functions of our CUDA headers are from the truth, in units in the last place.

Kernels compute them on a simulated chip; NumPy's extended precision, or Python's, says what is right.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from statistics import NormalDist
from typing import Any

import numpy as np

from isakit.compile import compile_ptx
from isakit.compile.c import compile_c
from isakit.description import Module
from isakit.runtime import Device

Wide = Any
"""An array of `numpy.longdouble`."""


@dataclass(frozen=True)
class MathFunction:
    """One function: its name without `f`, the largest error it may have (floats, doubles), what is right, and where
    arguments are taken from.

    The bounds are those of the CUDA C Programming Guide 5.0, appendix C; of rhypot, those of later ones.
    """

    name: str
    single: float
    double: float
    right: Callable[..., Wide]
    ranges: tuple[tuple[float, float], ...]
    wider: tuple[tuple[float, float], ...] = ()

    @property
    def ranges_of_doubles(self) -> tuple[tuple[float, float], ...]:
        """Return where arguments of doubles are taken from."""
        return self.wider or self.ranges


def _from_math(function: Callable[[float], float]) -> Callable[[Wide], Wide]:
    """A function of Python's that NumPy has not; right to the last place of a double only."""
    return lambda x: np.array([function(float(v)) for v in x], np.longdouble)


_PI = np.longdouble("3.14159265358979323846264338327950288")
_EVERYWHERE = (-120.0, 120.0)
_ANGLES = (-100000.0, 100000.0)


def _sine_of_turns(x: Wide, quadrants: int) -> Wide:
    """sin(pi (x + quadrants / 2)), exact where it is 0, 1 or -1."""
    halves = np.rint(2 * x)
    r, turned = _PI * (x - halves / 2), (np.fmod(halves, 4) + quadrants) % 4
    return np.where(turned % 2 == 0, np.sin(r), np.cos(r)) * np.where(turned >= 2, -1, 1)


FUNCTIONS: tuple[MathFunction, ...] = (
    MathFunction("sqrt", 0.5, 0.5, np.sqrt, ((0, 1e30),)),
    MathFunction("rsqrt", 2, 1, lambda x: 1 / np.sqrt(x), ((1e-30, 1e30),)),
    MathFunction("cbrt", 1, 1, np.cbrt, ((-1e30, 1e30), (-9, 9))),
    MathFunction("exp", 2, 1, np.exp, ((-87, 88), (-1, 1)), ((-745, 709), (-1, 1))),
    MathFunction("exp2", 2, 1, np.exp2, ((-126, 127), (-1, 1)), ((-1074, 1023), (-1, 1))),
    MathFunction("exp10", 2, 1, lambda x: np.power(np.longdouble(10), x), ((-37, 38),), ((-323, 308), (-1, 1))),
    MathFunction("expm1", 1, 1, np.expm1, ((-20, 88), (-1, 1), (-1e-3, 1e-3)), ((-40, 709), (-1, 1), (-1e-3, 1e-3))),
    MathFunction("log", 1, 1, np.log, ((1e-37, 1e38), (0.4, 2.5)), ((0, 1e308), (0.4, 2.5))),
    MathFunction("log2", 3, 1, np.log2, ((1e-37, 1e38), (0.4, 2.5)), ((0, 1e308), (0.4, 2.5))),
    MathFunction("log10", 3, 1, np.log10, ((1e-37, 1e38), (0.4, 2.5))),
    MathFunction("log1p", 2, 1, np.log1p, ((-0.999, 10), (-1e-3, 1e-3), (1, 1e30))),
    MathFunction("sin", 2, 2, np.sin, ((-10, 10), _ANGLES)),
    MathFunction("cos", 2, 2, np.cos, ((-10, 10), _ANGLES)),
    MathFunction("tan", 4, 2, np.tan, ((-10, 10), _ANGLES)),
    MathFunction("sinpi", 2, 2, lambda x: _sine_of_turns(x, 0), ((-2, 2),)),
    MathFunction("cospi", 2, 2, lambda x: _sine_of_turns(x, 1), ((-2, 2),)),
    MathFunction("asin", 4, 2, np.arcsin, ((-1, 1),)),
    MathFunction("acos", 3, 2, np.arccos, ((-1, 1),)),
    MathFunction("atan", 2, 2, np.arctan, ((-10, 10), (-1e10, 1e10))),
    MathFunction("sinh", 3, 1, np.sinh, ((-88, 88), (-2, 2)), ((-710, 710), (-2, 2))),
    MathFunction("cosh", 2, 1, np.cosh, ((-88, 88), (-2, 2)), ((-710, 710), (-2, 2))),
    MathFunction("tanh", 2, 1, np.tanh, ((-10, 10), (-1, 1))),
    MathFunction("asinh", 3, 2, np.arcsinh, ((-1e6, 1e6), (-2, 2)), ((-1e18, 1e18), (-2, 2))),
    MathFunction("acosh", 4, 2, np.arccosh, ((1, 1e6), (1, 2)), ((1, 1e18), (1, 2))),
    MathFunction("atanh", 3, 2, np.arctanh, ((-1, 1), (-0.1, 0.1))),
    MathFunction("erf", 3, 2, _from_math(math.erf), ((-5, 5), (-1, 1))),
    MathFunction("erfc", 6, 5, _from_math(math.erfc), ((-5, 9), (-1, 1)), ((-5, 27), (-1, 1))),
)


def _each(function: Callable[[float], float]) -> Callable[[Wide], Wide]:
    """A function of Python's that raises where it is infinite or is not defined."""

    def value(v: float) -> float:
        try:
            return function(v)
        except OverflowError:
            return math.inf
        except ValueError:
            return math.nan

    return _from_math(value)


def _gamma(x: float) -> float:
    return math.copysign(math.inf, x) if x == 0 else math.gamma(x)


def _log_gamma(x: float) -> float:
    return math.inf if math.isinf(x) or (x <= 0 and x == math.floor(x)) else math.lgamma(x)


def _scaled_erfc(x: float) -> float:
    if x < 26:
        return math.exp(x * x) * math.erfc(x)
    w = 1 / (2 * x * x)
    return (1 - w * (1 - 3 * w * (1 - 5 * w * (1 - 7 * w)))) / (x * math.sqrt(math.pi))


def _normal_inverse(p: float) -> float:
    return math.copysign(math.inf, p - 0.5) if p in (0, 1) else NormalDist().inv_cdf(p)


def _erfc_inverse(q: float) -> float:
    return -_normal_inverse(q / 2) / math.sqrt(2)


def _erf_inverse(x: float) -> float:
    if abs(x) < 1e-4:
        return x * math.sqrt(math.pi) / 2 * (1 + math.pi / 12 * x * x)
    y = _normal_inverse((1 + x) / 2) / math.sqrt(2)
    return y if math.isinf(y) else y - (math.erf(y) - x) * math.sqrt(math.pi) / 2 * math.exp(y * y)


def _bessel(order: int, second: bool = False) -> Callable[[Wide], Wide]:
    """Bessel's functions of order 0 and 1 up to 100, from the coefficients of Fourier's series of e^(i x sin t)."""

    def first(x: Any) -> Any:
        turn = np.exp(1j * x[:, None] * np.sin(2 * np.pi * np.arange(512) / 512))
        return np.fft.fft(turn, axis=1).real / 512

    def right(wide: Wide) -> Wide:
        x = wide.astype(np.float64)
        out = np.concatenate([part(p) for p in np.array_split(x, len(x) // 512 + 1)])
        return out.astype(np.longdouble)

    def part(x: Any) -> Any:
        j = first(np.clip(np.nan_to_num(x), -100, 100))
        half = x / 2
        series = 1 - half**2 / (order + 1) * (1 - half**2 / (2 * order + 4) * (1 - half**2 / (3 * order + 9)))
        own = np.where(np.abs(x) < 0.01, half**order * series, j[:, order])
        if not second:
            return own
        log = np.log(half) + np.euler_gamma
        k = np.arange(1, 120)
        signs = (-1.0) ** k
        if order == 0:
            return (2 * log * own - 4 * (j[:, 2 * k] * signs / k).sum(1)) / np.pi
        rest = 2 * (j[:, 2 * k + 1] * signs * (2 * k + 1) / (k * (k + 1))).sum(1)
        return np.where(x == 0, -np.inf, (2 * (log - 1) * own - j[:, 0] / half - rest) / np.pi)

    return right


SINGLES: tuple[MathFunction, ...] = (
    MathFunction("rcbrt", 2, 1, lambda x: 1 / np.cbrt(x), ((-1e30, 1e30), (-9, 9))),
    MathFunction("erfinv", 3, 5, _each(_erf_inverse), ((-1, 1),)),
    MathFunction("erfcinv", 7, 6, _each(_erfc_inverse), ((0, 2), (1e-30, 1e-3))),
    MathFunction("erfcx", 6, 3, _each(_scaled_erfc), ((-9, 50),), ((-26, 60), (-1, 1))),
    MathFunction("normcdf", 6, 5, _each(lambda x: math.erfc(-x / math.sqrt(2)) / 2), ((-12, 6),), ((-38, 8),)),
    MathFunction("normcdfinv", 5, 7, _each(_normal_inverse), ((0, 1), (1e-30, 1e-3))),
    MathFunction("tgamma", 11, 8, _each(_gamma), ((-34, 35), (-2, 2)), ((-180, 171), (-20, 20), (-2, 2))),
    MathFunction(
        "lgamma",
        6,
        4,
        _each(_log_gamma),
        ((-2.264, 1e30), (0, 4), (-1000, -10.001)),
        ((-2.26, 1e300), (0, 16), (-1000, -11.001)),
    ),
    MathFunction("j0", 9, 7, _bessel(0), ((-8, 8), (-1e-3, 1e-3)), ((-8, 8), (-1e4, 1e4))),
    MathFunction("j1", 9, 7, _bessel(1), ((-8, 8), (-1e-3, 1e-3)), ((-8, 8), (-1e4, 1e4))),
    MathFunction("y0", 9, 7, _bessel(0, True), ((0, 8),), ((0, 8), (0, 1e4))),
    MathFunction("y1", 9, 7, _bessel(1, True), ((0, 8),), ((0, 8), (0, 1e4))),
)
"""Functions of which the truth is known to the last place of a double at best: `measure` has them of floats only."""
PAIRS: tuple[MathFunction, ...] = (
    MathFunction("pow", 8, 2, np.power, ((0.0, 4.0), (-20, 20)), ((0.0, 4.0), (-700, 700))),
    MathFunction("atan2", 3, 2, np.arctan2, ((-9, 9), (-9, 9))),
    MathFunction("hypot", 3, 2, np.hypot, ((-9, 9), (-9, 9))),
    MathFunction("rhypot", 2, 1, lambda x, y: 1 / np.hypot(x, y), ((-9, 9), (-9, 9))),
    MathFunction("fmod", 0, 0, np.fmod, ((-1e6, 1e6), (-9, 9))),
    MathFunction("remainder", 0, 0, np.vectorize(math.remainder, [np.longdouble]), ((-1e6, 1e6), (-9, 9))),
    MathFunction("fdim", 0.5, 0.5, lambda x, y: np.maximum(x - y, 0), ((-9, 9), (-9, 9))),
)


def source(functions: Sequence[MathFunction], scalar: str, arity: int) -> str:
    """CUDA C with a kernel for each function: `sin_1(x0, y, n)`, `pow_2(x0, x1, y, n)`."""
    suffix = "f" if scalar == "float" else ""
    arguments = ", ".join(f"const {scalar} *x{k}" for k in range(arity))
    values = ", ".join(f"x{k}[i]" for k in range(arity))
    head = f"{arguments}, {scalar} *y, int n) {{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n)"
    return "".join(f'extern "C" __global__ void {f.name}_{arity}({head} y[i] = {f.name}{suffix}({values}); }}\n'
                   for f in functions)  # fmt: skip


@cache
def kernels(functions: tuple[MathFunction, ...], scalar: str, arity: int, chip: str = "gt200") -> Module:
    """The kernels of `source`, compiled once in a process."""
    return compile_ptx(compile_c("math.cu", source(functions, scalar, arity)), chip).module


def arguments(ranges: Sequence[tuple[float, float]], count: int, kind: Any, rng: np.random.Generator) -> Any:
    """Arguments from each of some ranges: half of them evenly, half with evenly distributed exponents."""
    out: list[Any] = []
    for low, high in ranges:
        even = rng.uniform(low, high, count // 2)
        most = max(abs(low), abs(high))
        small = max(1e-36, min(1e-6, low if low > 0 else 1e-6))
        by_size = np.exp(rng.uniform(math.log(small), math.log(most), count - count // 2))
        signs = rng.choice([-1.0, 1.0] if low < 0 else [1.0], len(by_size))
        out.append(np.clip(np.concatenate([even, signs * by_size]), low, high))
    return np.concatenate(out).astype(kind)


def errors(got: Any, want: Wide) -> Any:
    """How far each result is from the truth, in units in its last place; infinite where one of them is not finite."""
    rounded = want.astype(got.dtype)
    smallest = np.finfo(got.dtype).tiny
    unit = np.spacing(np.maximum(np.abs(rounded), smallest)).astype(np.longdouble)
    with np.errstate(invalid="ignore"):
        out = np.abs(got.astype(np.longdouble) - want) / unit
    same = (got == rounded) | (np.isnan(got) & np.isnan(rounded))
    tiny = (np.abs(want) < smallest) & (np.abs(got) <= smallest)  # the chips have no denormal floats
    return np.where(same & ~np.isfinite(out), 0, np.where(tiny, 0, np.where(np.isnan(out), np.inf, out)))


def measure(scalar: str, count: int, seed: int = 0, chip: str = "gt200") -> dict[str, tuple[float, float]]:
    """The largest error of each function on `count` arguments from each of its ranges, and the argument it is at."""
    kind = np.float32 if scalar == "float" else np.float64
    rng = np.random.default_rng(seed)
    out: dict[str, tuple[float, float]] = {}
    ones = (*FUNCTIONS, *SINGLES) if scalar == "float" else FUNCTIONS
    for functions, arity in ((ones, 1), (PAIRS, 2)):
        loaded = Device(chip).load(kernels(functions, scalar, arity, chip))
        for f in functions:
            ranges = [f.ranges] if arity == 1 else [(r,) for r in f.ranges]
            xs = [arguments(r, count, kind, rng) for r in ranges]
            y = np.zeros_like(xs[0])
            loaded[f"{f.name}_{arity}"][-(-len(y) // 128), 128](*xs, y, len(y))
            with np.errstate(all="ignore"):
                off = errors(y, f.right(*(x.astype(np.longdouble) for x in xs)))
            worst = int(np.argmax(off))
            out[f.name] = float(off[worst]), float(xs[0][worst])
    return out
