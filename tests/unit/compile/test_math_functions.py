"""The mathematical functions of our CUDA headers, against extended precision and the bounds they are to keep."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from isakit.compile import compile_ptx
from isakit.compile.c import compile_c
from isakit.runtime import Device
from support.math_accuracy import FUNCTIONS, PAIRS, SINGLES, MathFunction, arguments, errors, kernels, measure
from support.math_on_host import PATTERNS, Programs, build
from support.needs import CLANG, no_host_math

pytestmark = CLANG


@pytest.mark.parametrize("scalar", ["float", "double"])
def test_errors_are_within_their_bounds(scalar: str) -> None:
    got = measure(scalar, 300)
    bounds = {f.name: f.single if scalar == "float" else f.double for f in (*FUNCTIONS, *PAIRS)}
    bounds |= {f.name: f.single for f in SINGLES} if scalar == "float" else {}
    wrong = {name: (*got[name], bound) for name, bound in bounds.items() if got[name][0] > bound + 0.001}
    assert not wrong


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Programs:
    if no_host_math():
        pytest.skip(no_host_math())
    return build(tmp_path_factory.mktemp("math"))


def _on_chip(functions: tuple[MathFunction, ...], scalar: str, *xs: Any) -> dict[str, Any]:
    loaded = Device("gt200", tier="interp").load(kernels(functions, scalar, len(xs)))
    out: dict[str, Any] = {}
    for f in functions:
        out[f.name] = np.zeros_like(xs[0])
        loaded[f"{f.name}_{len(xs)}"][-(-len(xs[0]) // 64), 64](*xs, out[f.name], len(xs[0]))
    return out


def _bits(values: Any) -> Any:
    return np.where(np.isnan(values), values.dtype.type(7), values).view(f"u{values.itemsize}")


def test_functions_of_floats_are_on_the_host_what_they_are_on_a_chip(programs: Programs) -> None:
    step = PATTERNS >> 11
    x = np.arange(0x57B, PATTERNS, step, np.uint64).astype(np.uint32).view(np.float32)
    for name, y in _on_chip((*FUNCTIONS, *SINGLES), "float", x).items():
        assert np.array_equal(_bits(y), _bits(programs.float_values(name, 0x57B, step))), name


@pytest.mark.parametrize("name", ["sin", "tan", "expm1", "rcbrt", "erfcx", "tgamma", "lgamma", "j0", "j1", "y0", "y1"])
def test_functions_of_doubles_are_on_the_host_what_they_are_on_a_chip(programs: Programs, name: str) -> None:
    f = next(f for f in (*FUNCTIONS, *SINGLES) if f.name == name)
    x = arguments(f.ranges_of_doubles, 60, np.float64, np.random.default_rng(35))
    x = np.concatenate([x, [0.0, -0.0, math.inf, -math.inf, math.nan, 1e-310, -3.0, 171.5, -170.5, 1e300]])
    assert np.array_equal(_bits(_on_chip((f,), "double", x)[name]), _bits(programs.values(name, x)))


@pytest.mark.parametrize("scalar", ["float", "double"])
def test_functions_of_two_are_on_the_host_what_they_are_on_a_chip(programs: Programs, scalar: str) -> None:
    some = np.array([0.0, -0.0, 1.0, -1.0, math.inf, math.nan, 3.0, -2.5, 1e-30, 1e30, 7.5])
    some = some.astype(np.float32 if scalar == "float" else np.float64)
    x, y = (v.ravel() for v in np.meshgrid(some, some))
    for name, z in _on_chip(PAIRS, scalar, x, y).items():
        assert np.array_equal(_bits(z), _bits(programs.values(name, np.stack([x, y], 1)))), name


def test_every_function_is_within_its_bound_on_the_host(programs: Programs) -> None:
    wrong: dict[str, tuple[float, tuple[float, ...]]] = {}
    for f in (*FUNCTIONS, *SINGLES):
        single = programs.largest_of_floats(f.name, first=11, step=65537)
        double = programs.largest_of_random("double", f.name, f.ranges_of_doubles, 20_000, 35)
        for got, name, bound in ((single, f"{f.name}f", f.single), (double, f.name, f.double)):
            if got.error > bound or got.absolute > (2.2e-6 if got is single else 5e-12):
                wrong[name] = got.error, got.at
    for f in PAIRS:
        for kind, bound in (("float", f.single), ("double", f.double)):
            got = programs.largest_of_random(kind, f.name, f.ranges_of_doubles, 20_000, 35)
            if got.error > bound:
                wrong[f"{f.name} of {kind}s"] = got.error, got.at
    assert not wrong


@pytest.mark.parametrize(
    ("name", "at"), [("cos", 39086.125), ("sin", -26847.9883), ("expm1", 0.349275768), ("erfinv", 0.516131222)]
)
def test_floats_that_were_beyond_their_bounds(programs: Programs, name: str, at: float) -> None:
    word = int(np.float32(at).view(np.uint32))
    bound = next(f.single for f in (*FUNCTIONS, *SINGLES) if f.name == name)
    assert programs.largest_of_floats(name, word, word + 1).error <= bound


def test_a_power_of_floats_that_was_beyond_its_bound(programs: Programs) -> None:
    given = np.array([[1.39685833, -211.565948]], np.float32)
    x, y = map(float, given[0])
    assert errors(programs.values("pow", given), np.array([math.pow(x, y)], np.longdouble)) <= 8


SPECIAL = """
extern "C" __global__ void k(const float *x, float *y, double *z)
{
    int i = threadIdx.x;
    z[4 * i] = exp((double)x[i]), z[4 * i + 1] = pow((double)x[i], 9.0), z[4 * i + 2] = sin((double)x[i]);
    z[4 * i + 3] = expm1((double)x[i]);
    float a = x[i], whole;
    int e;
    y[8 * i] = expf(a), y[8 * i + 1] = logf(a), y[8 * i + 2] = powf(a, 2.0f), y[8 * i + 3] = atan2f(a, -1.0f);
    y[8 * i + 4] = roundf(a), y[8 * i + 5] = modff(a, &whole), y[8 * i + 6] = frexpf(a, &e), y[8 * i + 7] = tanhf(a);
}
"""


def test_special_arguments_have_the_results_that_c_gives_them() -> None:
    x = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 2.5, -2.5, 0.5, 3e38, -3e38, 1e-37], np.float32)
    y, z = np.zeros((len(x), 8), np.float32), np.zeros((len(x), 4))
    Device("gt200").load(compile_ptx(compile_c("k.cu", SPECIAL)).module)["k"][1, len(x)](x, y, z)
    with np.errstate(all="ignore"):
        want = np.stack([np.exp(x), np.log(x), np.power(x, np.float32(2)), np.arctan2(x, np.float32(-1)),
                         np.copysign(np.trunc(np.abs(x) + np.float32(0.5)), x), np.modf(x)[0], np.frexp(x)[0],
                         np.tanh(x)], 1)  # fmt: skip
        want = np.where(np.abs(want) < np.finfo(np.float32).tiny, np.copysign(0, want), want)
        wide = x.astype(np.float64)
        doubles = np.stack([np.exp(wide), np.power(wide, 9), np.sin(wide), np.expm1(wide)], 1)
    for got, right, error in ((y, want, 1e-6), (z, doubles, 1e-14)):
        assert (np.isnan(got) == np.isnan(right)).all()
        assert (np.isinf(got) == np.isinf(right)).all()
        finite = np.isfinite(right)
        assert np.allclose(got[finite], right[finite], rtol=error, atol=0)
        assert (np.signbit(got) == np.signbit(right))[~np.isnan(right)].all()


FUSED = """
extern "C" __global__ void k(const float *x, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float a = x[3 * i], b = x[3 * i + 1], c = x[3 * i + 2];
    y[4 * i] = fmaf(a, b, c), y[4 * i + 1] = __fmaf_rz(a, b, c), y[4 * i + 2] = __fmaf_ru(a, b, c);
    y[4 * i + 3] = __fmaf_rd(a, b, c);
}
"""


def _fused(a: float, b: float, c: float) -> list[float]:
    """a b + c rounded to the nearest float, towards zero, up and down; from the exact sum."""
    if not all(map(math.isfinite, (a, b, c))):
        with np.errstate(invalid="ignore"):
            return [float(np.float64(a) * np.float64(b) + np.float64(c))] * 4
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if not exact:
        zero = a * b + c if a == 0.0 or b == 0.0 else 0.0
        signs = math.copysign(1, a) * math.copysign(1, b), math.copysign(1, c)
        down = -0.0 if min(signs) < 0 else 0.0
        return [zero, zero, zero, down]
    size = abs(exact)
    first = size.numerator.bit_length() - size.denominator.bit_length()  # of the first bit, or one more
    unit = Fraction(2) ** max(-149, first - 23 - (size < Fraction(2) ** first))
    low = exact / unit // 1
    most = Fraction(2) ** 128

    def value(n: Fraction, towards: int) -> float:
        size = abs(n * unit)
        if size >= most:  # towards: 0 to infinity of either sign, else the largest number where it leads back
            back = towards == 2 or (towards > 0) != (n > 0)
            size = most - Fraction(2) ** 104 if towards and back else most
        out = math.inf if size >= most else float(size)
        return math.copysign(out, exact)

    floor, ceiling = Fraction(low), Fraction(low if low * unit == exact else low + 1)
    return [value(Fraction(round(exact / unit)), 0), value(floor if exact > 0 else ceiling, 2), value(ceiling, 1),
            value(floor, -1)]  # fmt: skip


def test_fused_products_of_a_chip_without_doubles_are_exact() -> None:
    rng = np.random.default_rng(35)
    some = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-45, -3e-42, 1.1754944e-38, 3.4028235e38, 1.5],
                    np.float32)  # fmt: skip
    special = np.array(np.meshgrid(some, some, some)).reshape(3, -1).T
    anything = rng.integers(0, 1 << 32, (600, 3), np.uint64).astype(np.uint32).view(np.float32)
    near = rng.normal(size=(800, 3)).astype(np.float32)
    near[:400, 2] = -(near[:400, 0] * near[:400, 1])  # what is left is what the product has lost
    near[400:] *= np.float32(2) ** rng.integers(-70, -60, (400, 3)).astype(np.float32)
    near[400:, 2] *= np.float32(2) ** -72
    x = np.concatenate([special, anything, near])
    x = np.concatenate([x, x[: -len(x) % 64]])
    y = np.zeros((len(x), 4), np.float32)
    Device("g80").load(compile_ptx(compile_c("k.cu", FUSED, arch=10), "g80").module)["k"][len(x) // 64, 64](x, y)
    want = np.array([_fused(*map(float, v)) for v in x], np.float32)
    assert np.array_equal(*(np.where(np.isnan(v), np.float32(7), v).view(np.uint32) for v in (y, want)))
