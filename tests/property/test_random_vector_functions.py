"""Random functions on vectors: what the USSE's code computes is what the operations mean, bit by bit."""

from __future__ import annotations

import numpy as np
import pytest

from isakit.compile import vector_ops as v
from isakit.compile.usse.driver import optimized
from support.generators.vector_functions import INPUTS, UNIFORMS, RandomFunction
from support.oracles.vector_values import Evaluation
from support.runners.vector_code import run_function

LANES = 8
NUMBERS = np.array([0, 1, -1, 0.5, 2, -2.5, 3.25, 100, 0.125, 7, -0.75], np.float32)


def check(seed: int, size: int, half: bool) -> None:
    """Compile a random function and compare its outputs with their meaning."""
    made = RandomFunction(seed, size, half)
    rng = np.random.default_rng(seed)

    def numbers(*shape: int) -> np.ndarray:
        return np.where(rng.random(shape) < 0.5, rng.choice(NUMBERS, shape), rng.normal(0, 3, shape)).astype(np.float32)

    inputs = {n: numbers(v.count(k), LANES) for n, k in INPUTS.items()}
    uniforms = {n: numbers(many, v.count(k)) for n, (k, many) in UNIFORMS.items()}
    f = optimized(made.f)
    meant = Evaluation(f, inputs, uniforms, LANES)
    got, lines = run_function(f, INPUTS, inputs, uniforms, made.outputs, LANES)
    for name in made.outputs:
        want = meant.outputs[name].astype(np.float32)
        same = (got[name].view(np.uint32) == want.view(np.uint32)) | (np.isnan(got[name]) & np.isnan(want))
        assert (same | meant.undefined).all(), (seed, name, got[name], want, lines)


@pytest.mark.parametrize("seed", range(40))
def test_short_functions(seed: int) -> None:
    check(seed, 6, half=True)


@pytest.mark.parametrize("seed", range(20))
def test_long_functions_of_both_types(seed: int) -> None:
    check(1000 + seed, 24, half=True)


@pytest.mark.parametrize("seed", range(10))
def test_functions_that_need_more_wide_registers_than_there_are(seed: int) -> None:
    check(2000 + seed, 60, half=False)
