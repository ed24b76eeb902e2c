"""Kernels written in Python: results of NumPy, errors at the Python line."""

from __future__ import annotations

import numpy as np
import pytest

import isakit
from isakit.errors import CompileError


@isakit.kernel
def saxpy(n: i32, a: f32, x: f32p, y: f32p):
    i = block.x * block_dim.x + thread.x
    if i < n:
        y[i] = a * x[i] + y[i]


@isakit.kernel
def reduce(x: f32p, out: f32p):
    s = shared(f32, 64)
    t = thread.x
    s[t] = x[block.x * block_dim.x + t]
    sync()
    k = 32
    while k > 0:
        if t < k:
            s[t] += s[t + k]
        sync()
        k = k >> 1
    if t == 0:
        out[block.x] = s[0]


@isakit.kernel
def arithmetic(x: i32p, out: i32p, n: i32):
    for i in range(thread.x, n, 32):
        v = x[i]
        w = v // 7 if v > 0 else v % 7
        if w == 3 or not v:
            continue
        out[i] = min(w, 100) + max(v, -5) ** 2
        atomic_add(out, n, 1)


@isakit.kernel
def wrong(x: f32p):
    y = x[thread.x]
    y.append(3)


def test_saxpy_is_what_numpy_computes() -> None:
    rng = np.random.default_rng(1)
    x, y = rng.random(100, np.float32), rng.random(100, np.float32)
    want = np.float32(2.5) * x + y
    saxpy[2, 64](100, 2.5, x, y)
    assert (y == want).all()


def test_a_reduction_adds_in_the_order_it_says() -> None:
    x = np.random.default_rng(2).random(128, np.float32)
    out = np.zeros(2, np.float32)
    reduce[2, 64](x, out)
    want = x.reshape(2, 64).copy()
    k = 32
    while k:
        want[:, :k] += want[:, k : 2 * k]
        k >>= 1
    assert (out == want[:, 0]).all()


def test_division_rounds_down_as_python_does() -> None:
    x = np.arange(-40, 60, dtype=np.int32)
    out = np.zeros(101, np.int32)
    arithmetic[1, 32](x, out, 100)
    want = np.zeros(101, np.int32)
    for i, v in enumerate(int(v) for v in x):
        w = v // 7 if v > 0 else v % 7
        if w == 3 or not v:
            continue
        want[i] = min(w, 100) + max(v, -5) ** 2
        want[100] += 1
    assert (out == want).all()


def test_an_error_points_at_the_python_line() -> None:
    with pytest.raises(CompileError) as e:
        wrong.module()
    (d,) = e.value.diagnostics
    assert d.source.strip() == "y.append(3)"
    assert d.path.endswith("test_python_kernels.py")
    assert "cannot be called in a kernel" in d.message
