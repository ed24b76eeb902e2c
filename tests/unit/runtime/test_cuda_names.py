"""`isakit.cuda`: kernels as users of numba write them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from isakit import cuda
from isakit.cuda import float32
from isakit.errors import CompileError, LaunchError

TILE = 8
TABLE = np.arange(6, dtype=np.float32).reshape(2, 3)
FACTOR = np.float32(0.5)


@cuda.jit
def add(a, b, c):
    i = cuda.grid(1)
    if i < len(c):
        c[i] = a[i] + b[i]


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32, np.int64, np.uint8, np.int16])
def test_a_kernel_is_compiled_for_the_types_of_its_arguments(dtype: type) -> None:
    a = cuda.to_device(np.arange(100).astype(dtype))
    out = cuda.device_array_like(a)
    add.forall(100)(a, a, out)
    assert (out.copy_to_host() == (2 * np.arange(100)).astype(dtype)).all()


@cuda.jit
def tiled(a, b, c):
    s = cuda.shared.array(shape=(TILE, TILE), dtype=float32)
    t = cuda.shared.array((TILE, TILE), float32)
    x, y = cuda.grid(2)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    total = 0.0
    for k in range(cuda.gridDim.x):
        s[ty, tx] = a[y, tx + k * TILE] if y < a.shape[0] and tx + k * TILE < a.shape[1] else 0.0
        t[ty, tx] = b[ty + k * TILE, x] if x < b.shape[1] and ty + k * TILE < b.shape[0] else 0.0
        cuda.syncthreads()
        for j in range(TILE):
            total += s[ty, j] * t[j, tx]
        cuda.syncthreads()
    if y < c.shape[0] and x < c.shape[1]:
        c[y, x] = total


def test_matrices_in_tiles() -> None:
    a, b, c = np.arange(65).reshape(5, 13).astype("f"), np.ones((13, 7), "f"), np.zeros((5, 7), "f")
    tiled[(2, 2), (TILE, TILE)](a, b, c)
    assert (c == a @ b).all()


@cuda.jit(device=True)
def smaller(a, b):
    if a < b:
        return a
    return b


@cuda.jit("void(float32[:], int32[::1])")
def several(out, histogram):
    count = 0
    for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        out[i] = smaller(i, 3) + TABLE[1, i % 3] * FACTOR + TABLE[-1, -1]
        cuda.atomic.add(histogram, i % 4, 1)
        count += 0.5
    if cuda.grid(1) == 0:
        out[0] = count


def test_functions_captured_arrays_and_variables_that_grow() -> None:
    out, histogram = np.zeros(100, np.float32), np.zeros(4, np.int32)
    several[2, 16](out, histogram)
    i = np.arange(100)
    expected = np.minimum(i, 3) + TABLE[1, i % 3] / 2 + 5
    expected[0] = 2.0
    assert (out == expected.astype("f")).all()
    assert histogram.tolist() == [25] * 4


@cuda.jit
def heat(first, second, steps, k):
    i = cuda.grid(1)
    for step in range(steps):
        if step % 2 == 0:
            now, then = first, second
        else:
            now, then = second, first
        left = now[i - 1] if i > 0 else 0.0
        right = now[i + 1] if i < len(now) - 1 else 0.0
        then[i] = now[i] + k * (left - 2 * now[i] + right)
        cuda.syncthreads()


def test_variables_mean_arrays() -> None:
    a, b = np.zeros(32), np.zeros(32)
    a[10] = 1.0
    reference = a.copy()
    heat[1, 32](a, b, 4, 0.25)
    for _ in range(4):
        padded = np.pad(reference, 1)
        reference = reference + 0.25 * (padded[:-2] - 2 * reference + padded[2:])
    assert np.allclose(a, reference, rtol=1e-15)


@cuda.jit
def functions(x, out):
    i = cuda.grid(1)
    v = x[i]
    out[0, i] = math.tan(v)
    out[1, i] = math.atan(v)
    out[2, i] = math.atan2(v, 0.7)
    out[3, i] = math.pow(abs(v), 1.5) + 2.0**v
    out[4, i] = math.tanh(v) + math.sinh(v) + math.cosh(v)
    out[5, i] = math.asin(v / 4) + math.acos(v / 4)
    out[6, i] = math.log10(abs(v) + 1) + math.log1p(abs(v)) + math.expm1(v)
    out[7, i] = math.fmod(v, 0.3) + math.hypot(v, 2.0) + math.copysign(3.0, v) + math.degrees(v) / 100


def test_functions_of_math() -> None:
    x = np.linspace(-3.5, 3.5, 64).astype("f")
    out = np.zeros((8, 64), "f")
    functions[1, 64](x, out)
    d = x.astype(float)
    a = abs(d)
    expected = [
        np.tan(d), np.arctan(d), np.arctan2(d, 0.7), a**1.5 + 2.0**d, np.tanh(d) + np.sinh(d) + np.cosh(d),
        np.full(64, np.pi / 2), np.log10(a + 1) + np.log1p(a) + np.expm1(d),
        np.fmod(d, 0.3) + np.hypot(d, 2) + np.copysign(3, d) + np.degrees(d) / 100,
    ]  # fmt: skip
    assert np.allclose(out, np.array(expected), rtol=1e-4, atol=1e-5)


@cuda.jit
def votes(out):
    t = cuda.threadIdx.x
    out[t] = cuda.syncthreads_count(t % 3 == 0) + 100 * cuda.any_sync(-1, t == 5) + 1000 * cuda.all_sync(-1, t >= 32)


def test_votes() -> None:
    out = np.zeros(64, np.int32)
    votes[1, 64](out)
    assert (out == [122] * 32 + [1022] * 32).all()


def test_mistakes_are_named() -> None:
    @cuda.jit
    def around(n, out):
        out[0] = once(n)

    @cuda.jit(device=True)
    def once(n):
        return twice(n)

    @cuda.jit(device=True)
    def twice(n):
        return once(n)

    with pytest.raises(CompileError, match="`once` calls itself"):
        around[1, 1](1, np.zeros(1))
    with pytest.raises(LaunchError, match="takes 3 arguments, got 2"):
        add[1, 1](np.zeros(1), np.zeros(1))
    with pytest.raises(LaunchError, match="str"):
        add[1, 1]("a", "b", "c")
    with pytest.raises(TypeError, match="how many threads"):
        add(1, 2, 3)

    @cuda.jit
    def flat(a):
        a[0] = 1

    with pytest.raises(CompileError, match="an array of 2 dimensions is indexed by as many numbers"):
        flat[1, 1](np.zeros((2, 2)))


def test_loops_are_left_whole_without_a_word(capfd: pytest.CaptureFixture[str]) -> None:
    @cuda.jit
    def leaves(x, out):
        for i in range(12):
            if x[i] > 3:
                break
            for j in range(16):
                out[i] += x[j] * x[i]

    out = np.zeros(16)
    leaves[1, 1](np.arange(16.0), out)
    assert out[1] == np.arange(16.0).sum()
    assert capfd.readouterr().err == ""


@cuda.jit
def in_step(x, y):
    s = cuda.shared.array(32, float32)
    i = cuda.threadIdx.x
    s[i] = x[i]
    s[i] += s[i ^ 16]
    s[i] += s[i ^ 8]
    s[i] += s[i ^ 4]
    s[i] += s[i ^ 2]
    s[i] += s[i ^ 1]
    y[i] = s[i]


def test_threads_of_a_warp_see_each_others_stores_where_they_are_written() -> None:
    x, y = np.arange(32, dtype=np.float32), np.zeros(32, np.float32)
    in_step[1, 32](x, y)
    assert (y == x.sum()).all()


def test_streams_and_events_stand_where_numba_has_them() -> None:
    @cuda.jit
    def twice(x: Any) -> None:
        x[cuda.grid(1)] *= 2

    stream, first, last = cuda.stream(), cuda.event(), cuda.event()
    first.record(stream)
    with stream.auto_synchronize():
        x = cuda.to_device(np.arange(8), stream=stream)
        twice[1, 8, stream](x)
    last.record(stream)
    last.wait(stream)
    assert last.query()
    assert x.copy_to_host(stream=stream).tolist() == list(range(0, 16, 2))
    assert first.elapsed_time(last) > 0
    with pytest.raises(ValueError, match="both events need a time"):
        first.elapsed_time(cuda.event())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_atomic_functions_find_the_least_and_the_largest_float(dtype: Any) -> None:
    @cuda.jit
    def ends(low: Any, high: Any, v: Any, lock: Any) -> None:
        i = cuda.grid(1)
        cuda.atomic.min(low, 0, v[i])
        cuda.atomic.max(high, 0, v[i])
        cuda.atomic.compare_and_swap(lock, -1, 5)

    v = np.random.default_rng(3).normal(size=96).astype(dtype)
    v[7] = np.nan
    low, high, lock = np.ones(1, dtype) * 9, np.ones(1, dtype) * -9, np.array([-1, -1])
    ends[3, 32](low, high, v, lock)
    assert (low[0], high[0]) == (np.nanmin(v), np.nanmax(v))
    assert lock.tolist() == [5, -1]


def test_reductions_take_any_function_of_two_elements() -> None:
    total = cuda.reduce(lambda a, b: a + b)
    assert total(np.arange(1001, dtype=np.float64)) == 500500
    assert total(np.arange(7, dtype=np.int32), init=100) == 121
    assert total(np.array([], np.float32), init=3) == 3

    @cuda.reduce
    def most(a: Any, b: Any) -> Any:
        return a if a > b else b

    x = np.random.default_rng(0).normal(size=300).astype(np.float32)
    on_device, out = cuda.to_device(x), cuda.to_device(np.ones(2, np.float32))
    assert most(on_device, size=5, init=-9) == x[:5].max()
    assert most(on_device, res=out) is None
    assert out.copy_to_host().tolist() == [x.max(), 1]
    assert (on_device.copy_to_host() == x).all()


def test_a_lambda_is_a_function_for_kernels() -> None:
    scaled = lambda v: v * 3 + 1  # noqa: E731

    @cuda.jit
    def k(x: Any) -> None:
        x[cuda.grid(1)] = scaled(x[cuda.grid(1)])

    x = np.arange(8)
    k[1, 8](x)
    assert x.tolist() == [3 * i + 1 for i in range(8)]

    pair = lambda v: v, lambda v: -v
    second = pair[1]

    @cuda.jit
    def which(x: Any) -> None:
        x[0] = second(x[0])

    with pytest.raises(CompileError, match="write it with `def`"):
        which[1, 1](x)


def test_complex_numbers_are_refused_with_what_to_write() -> None:
    with pytest.raises(LaunchError, match=r"complex64: pass its parts, `x.real` and `x.imag`"):
        add[1, 4](*(np.ones(4, np.complex64),) * 3)
