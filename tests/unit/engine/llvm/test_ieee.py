"""Compiled IEEE arithmetic is equal to the integer definitions, with and without special instructions."""

from __future__ import annotations

import ctypes
import platform
from functools import partial

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from isakit.arch.usse.arithmetic import f32_flushed
from isakit.arch.usse.transcendental import exp2_f32, log2_f32
from isakit.engine.codegen import compiled_operation
from isakit.engine.llvm import (
    Host,
    StraightLineCode,
    StraightLineInstruction,
    VectorBank,
    Write,
    build,
    host,
    ieee_natives,
    rsqrt_f32,
)
from isakit.sem import const
from isakit.sem.fp.ieee import (
    float_to_int,
    ieee_add,
    ieee_convert,
    ieee_fma,
    ieee_mul,
    int_to_float,
    ratio_to_float,
)
from isakit.sem.trace import read
from support.oracles.ieee_cases import CASES, FRACTIONS, operands

TARGETS = ["embedded", "portable"] + (["old"] if platform.machine().lower() in ("x86_64", "amd64") else [])
"""`old` has no fused multiply-add, no conversions of f16, and does not round to whole numbers."""


def target_of(name: str) -> Host:
    if name == "old":
        return Host("x86-64", "", False, 128)
    return host(portable=name == "portable")


def run(result, columns: list[np.ndarray], name: str, natives: bool = True) -> np.ndarray:
    """`result` (a function of register values) of every row of the columns, by compiled code."""
    target = target_of(name)
    value = result(*[read("x", k, 32) for k in range(len(columns))])
    table = ieee_natives(target) | {"rsqrt_f32": rsqrt_f32}

    def nothing(low, v):
        raise AssertionError(v)

    pieces = [StraightLineInstruction(((Write("x", len(columns), value),),))]
    code = StraightLineCode(
        pieces, {"x": VectorBank(len(columns) + 1)}, False, table if natives else {}, nothing, nothing
    ).text()
    count = -(-len(columns[0]) // 16) * 16
    file = np.zeros((len(columns) + 1, count), np.uint32)
    for row, column in zip(file, columns, strict=False):
        row[: len(column)] = column
    context = np.array([count, 0, 0, file.ctypes.data, file.strides[0]], np.int64)
    loaded = build(code, target)
    loaded.function("run", None, ctypes.c_void_p)(context.ctypes.data)
    return file[-1, : len(columns[0])]


def expected(operation, statics, widths, columns: list[np.ndarray]) -> np.ndarray:
    definition = compiled_operation(operation, tuple(sorted(statics.items())), widths, "numpy")
    with np.errstate(all="ignore"):
        return definition(*columns)


MORE = [
    (ieee_add, {}, 2), (ieee_mul, {}, 2), (float_to_int, {"source": "f32", "to": "s32", "rounding": "rz"}, 1),
    (float_to_int, {"source": "f32", "to": "u32", "rounding": "rz"}, 1), (int_to_float, {"source": "s32"}, 1),
    (int_to_float, {"source": "u32"}, 1), (exp2_f32, {}, 1), (log2_f32, {}, 1), (f32_flushed, {}, 1),
]  # fmt: skip


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("operation", "statics", "count"), [*CASES, *MORE], ids=str)
def test_equal_to_the_definition(operation, statics, count, target):
    columns = operands(count)
    got = run(lambda *a: operation(*a, **statics).resize(32), columns, target)
    np.testing.assert_array_equal(got, expected(operation, statics, (32,) * count, columns))


@pytest.mark.parametrize("target", TARGETS)
def test_multiply_add(target):
    columns = operands(3)
    r = np.random.default_rng(8)
    x, y = (r.uniform(1, 2, 20000).astype(np.float32) for _ in range(2))
    close = [x.view(np.uint32), y.view(np.uint32), (-(x * y)).view(np.uint32)]  # what is left is the rounding error
    columns = [np.concatenate([a, b]) for a, b in zip(columns, close, strict=True)]
    got = run(ieee_fma, columns, target)
    sample = slice(None, None, 7)  # the definition works with numbers of any size here: slow
    short = [c[sample] for c in columns]
    np.testing.assert_array_equal(got[sample], expected(ieee_fma, {}, (32, 32, 32), short))


@pytest.mark.parametrize("target", TARGETS)
def test_every_half(target):
    every = np.arange(1 << 16, dtype=np.uint32)
    wide = run(lambda a: ieee_convert(a.trunc(16), source="f16", to="f32"), [every], target)
    np.testing.assert_array_equal(wide, expected(ieee_convert, {"source": "f16", "to": "f32"}, (16,), [every]))
    # The neighbours of every half, and of the middle between it and the next, in both directions.
    middle = wide + np.uint32(1 << 12)
    near = np.concatenate([base + np.uint32(d & 0xFFFFFFFF) for base in (wide, middle) for d in (-1, 0, 1)])
    back = run(lambda a: ieee_convert(a, source="f32", to="f16").resize(32), [near], target)
    np.testing.assert_array_equal(back, expected(ieee_convert, {"source": "f32", "to": "f16"}, (32,), [near]))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("source", "width", "maximum", "low"), FRACTIONS)
def test_fractions_of_integers(source, width, maximum, low, target):
    statics = {"source": source, "maximum": maximum, "low": low, "to": "f32"}
    every = np.arange(1 << width, dtype=np.uint32)
    got = run(lambda a: ratio_to_float(a.trunc(width), **statics), [every], target)
    np.testing.assert_array_equal(got, expected(ratio_to_float, statics, (width,), [every]))


def test_constants_fold_to_the_same():
    """LLVM computes with constants itself, also with NaNs and denormals."""
    columns = operands(1)
    for number in (0x3F800000, 0, 0x80000000, 0x7F800001, 1, 0x7F800000, 0xBF800000):
        same = [np.full_like(columns[0], number), *columns]
        for operation in (ieee_mul, ieee_add):
            got = run(partial(operation, const(number, 32)), columns, "embedded")
            np.testing.assert_array_equal(got, expected(operation, {}, (32, 32), same))


def test_definitions_do_without_native_versions():
    columns = operands(2)
    got = run(ieee_add, columns, "portable", natives=False)
    np.testing.assert_array_equal(got, expected(ieee_add, {}, (32, 32), columns))
