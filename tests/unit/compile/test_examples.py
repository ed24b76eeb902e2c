"""The examples of the compiler's front ends compute what they say, and cost about what assembly by hand costs."""

from __future__ import annotations

import numpy as np
import pytest

import isakit
from conftest import ROOT
from support.clients.examples import example
from support.needs import needs_clang

MORE = 1.15
"""Instructions a kernel in Python may execute for each one of the assembly written by hand."""


@pytest.fixture
def device() -> isakit.Device:
    return isakit.Device("gt200", engine="reference")


def in_python(device: isakit.Device, name: str):
    kernel = getattr(example(f"python/{name}"), name)
    return device.load(kernel.module())[name]


def test_saxpy_is_that_of_numpy_and_costs_what_assembly_costs(device: isakit.Device) -> None:
    rng = np.random.default_rng(1)
    x, y = rng.random(300, np.float32), rng.random(300, np.float32)
    want, z = np.float32(1.5) * x + y, y.copy()
    ours = in_python(device, "saxpy")[(-(-300 // 256)), 256](300, 1.5, x, y)
    assert np.array_equal(y, want)
    program = isakit.isa("tesla", "gt200").assemble((ROOT / "examples/tesla/saxpy.s").read_text())
    theirs = device.load(program)["saxpy"][(-(-300 // 256)), 256](300, np.float32(1.5), x, z)
    assert ours.warp_instructions <= MORE * theirs.warp_instructions


def test_matmul_is_that_of_numpy_and_costs_what_assembly_costs(device: isakit.Device) -> None:
    rng = np.random.default_rng(2)
    a, b = rng.random((32, 32), np.float32), rng.random((32, 32), np.float32)
    want, theirs = example("tesla/matmul").matmul(device, a, b)
    c = np.zeros_like(a)
    ours = in_python(device, "matmul")[(2, 2), (16, 16)](a, b, c, 32)
    assert np.array_equal(c, want)
    assert np.allclose(c, a @ b, rtol=1e-4)
    assert ours.warp_instructions <= MORE * theirs.warp_instructions


def test_mandelbrot_is_that_of_assembly_and_costs_what_it_costs(device: isakit.Device) -> None:
    want, theirs = example("tesla/mandelbrot").mandelbrot(device, 48, 40)
    out = np.zeros((48, 48), np.uint32)
    ours = in_python(device, "mandelbrot")[(3, 3), (16, 16)](out, 48, 40, -2.0, -1.25, 2.5 / 48)
    assert np.array_equal(out, want)
    assert ours.warp_instructions <= MORE * theirs.warp_instructions


def test_hash_reduce_is_that_of_numpy_and_costs_what_assembly_costs(device: isakit.Device) -> None:
    want, theirs = example("tesla/hash_reduce").hash_reduce(device, 2, 5, 16)
    out = np.zeros(2, np.uint32)
    ours = in_python(device, "hash_reduce")[2, 256](out, 5, 16)
    assert np.array_equal(out, want)
    assert np.array_equal(out, example("tesla/hash_reduce").reference(2, 5, 16))
    assert ours.warp_instructions <= MORE * theirs.warp_instructions


def test_sums_of_a_block_are_those_of_numpy(device: isakit.Device) -> None:
    x, out = np.random.default_rng(3).random(512, np.float32), np.zeros(2, np.float32)
    kernel = device.load(example("python/saxpy").reduce.module())["reduce"]
    kernel[2, 256](x, out)
    assert np.allclose(out, x.reshape(2, 256).sum(1), rtol=1e-5)


@needs_clang
def test_the_histogram_in_cuda_c_counts_like_numpy(device: isakit.Device) -> None:
    from isakit.compile import compile_ptx
    from isakit.compile.c import compile_c

    text = compile_c(str(ROOT / "examples/cuda-c/histogram.cu"))
    data = np.random.default_rng(0).integers(0, 256, 1024).astype(np.uint8)
    counts = np.zeros(256, np.uint32)
    device.load(compile_ptx(text).module)["histogram"][2, 64](data, len(data), counts)
    assert np.array_equal(counts, np.bincount(data, minlength=256))
