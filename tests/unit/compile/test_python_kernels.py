"""Kernels written in Python: results of NumPy, errors at the Python line."""

from __future__ import annotations

import numpy as np
import pytest

import isakit
from isakit.errors import CompileError, LaunchError


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
def masks(x: f32p, out: i32p):
    out[thread.x] = -(x[thread.x] > 0.5) & ~thread.x


@isakit.kernel
def double(x: f32p, y: f32p):
    y[thread.x] = x[thread.x] * 2.0


@isakit.kernel
def increase(x: i32p, n: u32, b: u8p):
    x[thread.x] += int(n) + b[thread.x]


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


def test_the_negative_of_a_condition_is_a_mask() -> None:
    x, out = np.arange(32, dtype=np.float32) % 2, np.zeros(32, np.int32)
    masks[1, 32](x, out)
    assert (out == [-(v > 0.5) & ~i for i, v in enumerate(x.tolist())]).all()


def test_an_error_points_at_the_python_line() -> None:
    with pytest.raises(CompileError) as e:
        wrong.module()
    (d,) = e.value.diagnostics
    assert d.source.strip() == "y.append(3)"
    assert d.path.endswith("test_python_kernels.py")
    assert "cannot be called in a kernel" in d.message


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (np.arange(1.0, 5.0), r"x is f32\*, got float64: pass x.astype\(np.float32\)"),
        (np.arange(4), r"x is f32\*, got int64: pass x.astype\(np.float32\)"),
        (np.zeros(4, np.int32), r"x is f32\*, got int32"),
        (np.zeros(4, np.float16), r"x is f32\*, got float16"),
        (np.zeros(4, np.bool_), r"x is f32\*, got bool"),
        (np.zeros(4, np.complex64), r"x is f32\*, got complex64: pass x.view\(np.uint8\)"),
        (np.zeros(4, "m8[s]"), r"x is f32\*, got timedelta64\[s\]: pass x.view\(np.uint8\)"),
        (np.zeros(4, [("re", "f4"), ("im", "f4")]), r"x is f32\*, got .*: pass one field of it as np.float32"),
    ],
)
@pytest.mark.parametrize("call", ["call", "launch", "machine"])
def test_an_array_of_other_elements_is_refused_with_what_to_write_instead(
    x: np.ndarray, message: str, call: str
) -> None:
    y, device = np.zeros(4, np.float32), isakit.Device("gt200")
    loaded = device.load(double.module())["double"]
    launch = {
        "call": lambda: double[1, 4](x, y),
        "launch": lambda: loaded.launch(1, 4, x, y),
        "machine": lambda: device.machine(loaded, 1, 4, (x, y)),
    }[call]
    with pytest.raises(LaunchError, match=message):
        launch()
    assert not y.any()
    assert not device.memory.allocations


@pytest.mark.parametrize(
    "x",
    [
        np.arange(1, 5, dtype=">f4"),
        np.arange(1, 5, dtype=np.float32).view(np.uint8),
        np.arange(1, 5, dtype=np.float32).view("V4"),
        np.repeat(np.arange(1, 5, dtype=np.float32), 3)[::3],
        np.broadcast_to(np.arange(1, 5, dtype=np.float32), (2, 4)),
    ],
    ids=["big-endian", "bytes", "void", "strided", "read-only"],
)
def test_elements_of_the_type_are_taken_however_they_are_stored(x: np.ndarray) -> None:
    y = np.zeros((4, 3), ">f4")
    double[1, 4](x, y[:, 1])
    assert (y == np.array([[0, 2 * n, 0] for n in range(1, 5)])).all()


def test_signed_and_unsigned_elements_of_one_size_are_the_same_to_a_kernel() -> None:
    x, b = np.array([-2, -1, 0, 1], np.int32), np.array([-1, 0, 1, 2], np.int8)
    increase[1, 4](x.view(np.uint32), 1, b)
    assert x.tolist() == [254, 0, 2, 4]
    increase[1, 1](np.array(7, np.uint32), 1, np.array([True]))
    with pytest.raises(LaunchError, match=r"x is s32\*, got int64: pass x.astype\(np.int32\)"):
        increase[1, 4](x.astype(np.int64), 1, b)


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        (np.arange(4, dtype=np.uint32), r"argument 1 \(n\) of increase is u32, got an array: only"),
        (np.array(3, np.uint32), r"argument 1 \(n\) of increase is u32, got an array .*pass its number, n\[\(\)\]"),
    ],
)
def test_an_array_is_no_number(argument: object, message: str) -> None:
    """Before, a kernel got the address of the array as its number."""
    with pytest.raises(LaunchError, match=message):
        increase[1, 4](np.zeros(4, np.int32), argument, np.zeros(4, np.uint8))


@pytest.mark.parametrize(
    ("argument", "message"),
    [(10**400, "an integer of 1329 bits does not fit f32"), (1e300, r"1e\+300 does not fit f32"),
     (np.int32(1), "is f32, got int32"), (np.zeros(1, np.float32), "is f32, got an array")],
)  # fmt: skip
def test_a_number_that_a_parameter_cannot_hold_is_refused(argument: object, message: str) -> None:
    y = np.ones(4, np.float32)
    with pytest.raises(LaunchError, match=message):
        saxpy[1, 4](4, argument, y, y)
    saxpy[1, 4](4, float("inf"), y, y)
    assert np.isinf(y).all()
