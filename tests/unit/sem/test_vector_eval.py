"""The vectorised evaluator used by tests reads every node like constant folding does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from isakit.sem.fp import arith, convert, convert64, f32, f64, sfu
from isakit.sem.fp.core import F16, F32, F64
from isakit.sem.operation import Operation
from isakit.sem.value import INTEGER_MEANING, Table, Value, const, mask, node, param
from support.oracles.vector_eval import count_nodes, run

WIDTHS = (1, 7, 32, 33, 64, 65, 128)
UNARY, BINARY = ("not", "clz"), ("add", "sub", "mul", "and", "or", "xor", "udiv", "shl", "lshr", "ashr")


def leaf(name: str, width: int) -> Value:
    v = param(name, width)
    v.uniform = False
    return v


def samples(width: int, seed: int) -> list[int]:
    rng = np.random.default_rng(seed)
    wide = [int.from_bytes(rng.bytes(17), "little") & mask(width) for _ in range(12)]
    return [0, 1 & mask(width), mask(width), 1 << (width - 1), *wide]


def array(values: list[int], width: int) -> np.ndarray[Any, Any]:
    return np.array(values, dtype=object if width > 64 else np.uint64)


def agree(root: Value, leaves: list[Value], columns: list[list[int]]) -> None:
    got = run(root, {v: array(c, v.width) for v, c in zip(leaves, columns, strict=True)})
    for i, row in enumerate(zip(*columns, strict=True)):
        wanted = INTEGER_MEANING[root.op](root.width, [v.width for v in leaves], root.attr, row)
        assert int(got[i]) == wanted, (root, row)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("op", [*UNARY, *BINARY, "eq", "ult", "slt"])
def test_operations(op: str, width: int) -> None:
    a, b = leaf("a", width), leaf("b", width)
    x, y = samples(width, 1), samples(width, 2)
    if op in UNARY:
        agree(node(op, width, (a,)), [a], [x])
        return
    if op in ("shl", "lshr", "ashr"):
        y = [n % (2 * width + 1) & mask(width) for n in y]
    agree(node(op, 1 if op in ("eq", "ult", "slt") else width, (a, b)), [a, b], [x, y])


@pytest.mark.parametrize("low", WIDTHS)
@pytest.mark.parametrize("high", WIDTHS)
def test_width_changes(low: int, high: int) -> None:
    a, b = leaf("a", low), leaf("b", high)
    x, y = samples(low, 3), samples(high, 4)
    agree(node("concat", low + high, (a, b)), [a, b], [x, y])
    if low <= high:
        agree(node("zext", high, (a,)), [a], [x])
        agree(node("sext", high, (a,)), [a], [x])
        agree(node("extract", low, (b,), high - low), [b], [y])


def test_tables_and_select() -> None:
    table = Table("t", tuple(range(100, 110)), 40)
    i, c = leaf("i", 8), leaf("c", 1)
    agree(node("table", 40, (i,), table), [i], [[0, 3, 9, 10, 255]])
    agree(node("select", 8, (c, i, i + 1)), [c, i, i + 1], [[0, 1, 1], [3, 4, 5], [4, 5, 6]])


@pytest.mark.parametrize("operation", [f64.f64_fma, f32.f32_mad])
def test_expanded_operation_equals_its_fold(operation: Operation) -> None:
    width = 64 if operation is f64.f64_fma else 32
    leaves = [leaf(n, width) for n in "abc"]
    columns = [samples(width, seed) for seed in (5, 6, 7)]
    got = run(operation(*leaves), {v: array(c, width) for v, c in zip(leaves, columns, strict=True)})
    for i, row in enumerate(zip(*columns, strict=True)):
        assert int(got[i]) == operation(*[const(v, width) for v in row]).number


@pytest.mark.parametrize(
    ("operation", "widths", "statics", "limit"),
    [
        (f32.f32_add, (32, 32), {}, 95),
        (f32.f32_mul, (32, 32), {}, 75),
        (f32.f32_mad, (32, 32, 32), {}, 155),
        (f32.f32_compare, (32, 32), {}, 40),
        (convert.i2f, (32,), {"source": "s32"}, 50),
        (convert.f2i, (32,), {"source": "f32", "to": "s32"}, 70),
        (convert64.f2i64, (64,), {"source": "f64", "to": "s64"}, 70),
        (f64.f64_fma, (64, 64, 64), {}, 190),
        (sfu.rcp, (32,), {}, 105),
    ],
)
def test_definitions_stay_small(
    operation: Operation, widths: tuple[int, ...], statics: dict[str, Any], limit: int
) -> None:
    """Engines compile these definitions for vectors of lanes: a jump in size is a mistake."""
    assert count_nodes(operation(*[leaf(f"a{i}", w) for i, w in enumerate(widths)], **statics)) <= limit


def test_exact_products_have_room() -> None:
    assert [arith.wide(f) for f in (F16, F32, F64)] == [32, 64, 128]
