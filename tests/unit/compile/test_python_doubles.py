"""The mathematical functions of doubles in Python kernels, against extended precision and the bounds of C."""

from __future__ import annotations

import math

import numpy as np
import pytest

from isakit import cuda
from isakit.compile import compile_ptx
from isakit.compile.c import compile_c
from isakit.compile.python import compile_text
from isakit.compile.python.double_library import FUNCTIONS as DOUBLES
from isakit.runtime import Device
from support.math_accuracy import FUNCTIONS, PAIRS, arguments, errors, source
from support.needs import needs_clang

CHECKED = [f for f in (*FUNCTIONS, *PAIRS) if f.name in DOUBLES]
COMPARED = ("sin", "expm1", "pow", "fmod", "atan2")
"""Functions whose bits are compared with those of CUDA C, which has its own test of errors."""
ARITY = {f.name: 2 if f in PAIRS else 1 for f in CHECKED}


def _python(names: list[str]) -> str:
    out = ""
    for name in names:
        given = [f"x{k}" for k in range(ARITY[name])]
        values = ", ".join(f"{x}[i]" for x in given)
        typed = ", ".join(f"{x}: f64p" for x in given)
        out += f"@kernel\ndef {name}_{len(given)}({typed}, y: f64p, n: i32):\n"
        out += f"    i = grid(1)\n    if i < n:\n        y[i] = {name}({values})\n"
    return out


def test_every_function_of_doubles_is_measured() -> None:
    public = {name for name in DOUBLES if name[0] != "_"}
    assert public - {f.name for f in CHECKED} == {"rcp"}


def test_errors_are_within_the_bounds_of_the_headers() -> None:
    rng = np.random.default_rng(35)
    measured = [f for f in CHECKED if f.name not in COMPARED]
    ptx, _ = compile_text(_python([f.name for f in measured]), "k.py")
    loaded = Device("gt200", tier="interp").load(compile_ptx(ptx, "gt200").module)
    wrong: dict[str, tuple[float, float]] = {}
    for f in measured:
        ranges = [(r,) for r in f.ranges] if ARITY[f.name] == 2 else [f.ranges]
        xs = [arguments(r, 30, np.float64, rng) for r in ranges]
        y = np.zeros_like(xs[0])
        loaded[f"{f.name}_{ARITY[f.name]}"][-(-len(y) // 128), 128](*xs, y, len(y))
        with np.errstate(all="ignore"):
            off = errors(y, f.right(*(x.astype(np.longdouble) for x in xs)))
        if not off.max() <= f.double + 0.001:
            wrong[f.name] = float(off.max()), float(xs[0][int(off.argmax())])
    assert not wrong


SPECIAL = (0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 5e-324, -2.5, 0.5, 3.0, 1e6 + 1, 1e22, 1e300, -1e-310)


@needs_clang
def test_bits_are_those_of_the_same_function_in_cuda_c() -> None:
    some = [f for f in CHECKED if f.name in COMPARED]
    ptx, _ = compile_text(_python([f.name for f in some]), "k.py")
    device = Device("gt200", tier="interp")
    python = device.load(compile_ptx(ptx, "gt200").module)
    kernels = "".join(source([f for f in some if ARITY[f.name] == n], "double", n) for n in (1, 2))
    c = device.load(compile_ptx(compile_c("math.cu", kernels), "gt200").module)
    x, z = (v.ravel() for v in np.meshgrid(SPECIAL, SPECIAL))
    for f in some:
        name = f"{f.name}_{ARITY[f.name]}"
        given = (x, z)[: ARITY[f.name]]
        results = []
        for kernel in (python[name], c[name]):
            y = np.zeros_like(x)
            kernel[-(-len(y) // 128), 128](*given, y, len(y))
            results.append(y)
        assert np.array_equal(*(np.where(np.isnan(y), 7e77, y).view(np.uint64) for y in results)), f.name


@cuda.jit
def edges(x, out):
    i = cuda.grid(1)
    v = x[i]
    out[0, i] = math.isinf(v)
    out[1, i] = math.isfinite(v)
    out[2, i] = math.copysign(3.0, v)
    out[3, i] = math.atan2(v, 1.0)
    out[4, i] = v**0.5
    out[5, i] = math.erf(v)
    out[6, i] = math.degrees(v)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_edges_of_both_types(kind: type) -> None:
    x = np.array([0.0, -0.0, 1.25, -math.inf, math.inf, 3.0e38 if kind is np.float32 else 1e308], kind)
    out = np.zeros((7, len(x)), kind)
    edges[1, len(x)](x, out)
    with np.errstate(invalid="ignore", over="ignore"):
        expected = [np.isinf(x), np.isfinite(x), np.copysign(3, x), np.arctan2(x, 1), np.sqrt(x),
                    [math.erf(v) for v in x], np.degrees(x)]  # fmt: skip
    for got, right in zip(out, np.array(expected).astype(kind), strict=True):
        assert np.allclose(got, right, rtol=1e-6 if kind is np.float32 else 1e-15, atol=0, equal_nan=True)
        assert (np.signbit(got) == np.signbit(right))[~np.isnan(right)].all()
