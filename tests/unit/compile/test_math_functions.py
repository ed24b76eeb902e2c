"""The mathematical functions of our CUDA headers, against extended precision and the bounds they are to keep."""

from __future__ import annotations

import numpy as np
import pytest

from isakit.compile import compile_ptx
from isakit.compile.c import compile_c
from isakit.runtime import Device
from support.math_accuracy import FUNCTIONS, PAIRS, measure
from support.needs import CLANG

pytestmark = CLANG


@pytest.mark.parametrize("scalar", ["float", "double"])
def test_errors_are_within_their_bounds(scalar: str) -> None:
    got = measure(scalar, 300)
    bounds = {f.name: f.single if scalar == "float" else f.double for f in (*FUNCTIONS, *PAIRS)}
    wrong = {name: (*got[name], bound) for name, bound in bounds.items() if got[name][0] > bound + 0.001}
    assert not wrong


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
