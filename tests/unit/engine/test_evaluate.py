"""Every style computes what the integer meaning says."""

from __future__ import annotations

import random
import warnings

import numpy as np
import pytest

from isakit.engine import evaluate
from isakit.sem.value import Value, const, mask, param
from unit.engine.random_graphs import WIDTHS, GraphMaker, awkward, interpret, leaves

LANES = 24


def dtype(width: int) -> type:
    return bool if width == 1 else np.uint32 if width <= 32 else np.uint64 if width <= 64 else object


def check(values: list[Value], lane: list[Value], uniform: list[Value], rng: random.Random) -> None:
    columns = {v.attr: [awkward(rng, v.width) for _ in range(LANES)] for v in lane}
    fixed = {v.attr: awkward(rng, v.width) for v in uniform}
    arrays = {v.attr: np.array(columns[v.attr], dtype(v.width)) for v in lane}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        out = evaluate(values, {**arrays, **fixed}, "numpy")
    wanted = []
    for i in range(LANES):
        bindings = {**fixed, **{k: v[i] for k, v in columns.items()}}
        memo: dict[int, int] = {}
        wanted.append([interpret(v, bindings, memo) for v in values])
        if i < 4:
            assert evaluate(values, bindings, "scalar") == wanted[-1]
    for j, v in enumerate(values):
        column = [row[j] for row in wanted]
        if isinstance(out[j], int):
            assert [out[j]] * LANES == column, v
        else:
            assert out[j].shape == (LANES,), v
            assert out[j].dtype == dtype(v.width), v
            assert [int(x) for x in out[j]] == column, v


@pytest.mark.parametrize("seed", range(60))
def test_random_graphs(seed: int) -> None:
    rng = random.Random(seed)
    widths = rng.choice([WIDTHS, (1, 8, 16, 32), (1, 32, 33, 64), (1, 16, 32, 64, 65, 128), (1, 2, 5, 31)])
    lane, uniform = leaves(rng, widths)
    maker = GraphMaker(rng, [*lane, *uniform], widths)
    check([maker.grow() for _ in range(60)], lane, uniform, rng)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("mix", ["lane lane", "lane uniform", "uniform lane", "lane const", "const lane"])
def test_each_operation(width: int, mix: str) -> None:
    rng = random.Random(width)
    lane = [param("x", width), param("y", width), param("c", 1), param("n", 32)]
    uniform = [param("u", width), param("uc", 1)]
    sides = {"lane": iter(lane), "uniform": iter(uniform), "const": iter([const(mask(width) // 3, width)])}
    a, b = (next(sides[s]) for s in mix.split())
    ops = ("add", "sub", "mul", "and", "or", "xor", "udiv", "shl", "lshr", "ashr")
    values = [Value(op, width, (a, b)) for op in ops]
    values += [Value(op, 1, (a, b)) for op in ("eq", "ult", "slt")]
    values += [Value("select", width, (c, a, b)) for c in (lane[2], uniform[1])]
    values += [Value(op, width, (a, lane[3])) for op in ("shl", "lshr", "ashr")]
    values += [Value("ashr", width, (lane[0], const(k, 32))) for k in (0, 1, width - 1, width, 200, mask(32))]
    values += [Value("slt", 1, (a, const(0, width))), a.clz, ~a]
    check(values, lane, uniform, rng)


def test_carries() -> None:
    rng = random.Random(5)
    for w in (8, 16, 31, 32, 63, 64):
        a, b, c = param("a", w), param("b", w), param("c", 1)
        values = []
        for y in (b, ~b, const(7, w)):
            for carry in (None, c, const(1, 1)):
                total = a.zext(w + 1) + y.zext(w + 1)
                if carry is not None:
                    total = total + carry.zext(w + 1)
                values += [total.trunc(w), total.bit(w), total, total.bit(w - 1), total.trunc(min(w, 8))]
        check(values, [a, b, c], [], rng)


def test_long_chains() -> None:
    a, b = param("a", 32), param("b", 64)
    total = a.zext(64)
    for i in range(3000):
        total = (total + b) ^ (i * 77)
    wanted = 5
    for i in range(3000):
        wanted = (wanted + 9 & mask(64)) ^ i * 77
    values = [total.trunc(32), total.bits(7, 9), total]
    expected = [wanted & mask(32), wanted >> 7 & mask(9), wanted]
    assert evaluate(values, {"a": 5, "b": 9}, "scalar") == expected
    got = evaluate(values, {"a": np.array([5], np.uint32), "b": np.array([9], np.uint64)})
    assert [int(g[0]) for g in got] == expected


def test_nodes_may_be_bound() -> None:
    from isakit.sem import trace

    r = trace.read("r", 3, 32)
    array = np.arange(5, dtype=np.uint32)
    assert evaluate([r + 1], {r: array})[0].tolist() == [1, 2, 3, 4, 5]
    assert evaluate([r + 1], {r: mask(32)}) == [0]
    assert evaluate([r + 1], {r: mask(32)}, "scalar") == [0]
