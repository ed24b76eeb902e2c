"""Every row of the Tesla f32 and special-function vectors."""

from __future__ import annotations

import numpy as np
import pytest

from isakit.sem.fp import f32, sfu
from isakit.sem.value import Value, concat, select
from support.oracles.fp_rows import (
    MODES,
    Array,
    Built,
    Columns,
    Row,
    Source,
    absolute_if,
    check,
    compare,
    field,
    leaf,
    load,
    negate_if,
    sat_nan,
)
from support.oracles.vector_eval import run


def clamp(value: Value, sat: int, nan_rule: int, *inputs: Value) -> Value:
    if not sat:
        return value
    return f32.f32_saturated(value, *inputs, nan_to_zero=nan_rule > 0, from_inputs=nan_rule == 2)


def immediate(row: Row) -> Value:
    return concat(row.w1.bits(2, 26), row.w0.bits(16, 6))


def second(row: Row, form: str) -> Value:
    return immediate(row) if form == "imm" else row.s2


FORMS = ["long", "short", "imm"]


@pytest.mark.parametrize("form", FORMS)
def test_f32_add(source: Source, form: str) -> None:
    def statics(c: Columns) -> list[Array]:
        if form == "long":
            return [field(c["word0"], 16, 2), field(c["word1"], 29), sat_nan(c)]
        return [np.zeros_like(c["word0"]), field(c["word0"], 8), sat_nan(c)]

    def build(r: Row, mode: int, sat: int, nan_rule: int) -> Built:
        n1, n2 = (r.w1.bit(26), r.w1.bit(27)) if form == "long" else (r.w0.bit(15), r.w0.bit(22))
        a, b = negate_if(r.s1, n1), negate_if(r.s3 if form == "long" else second(r, form), n2)
        out = clamp(f32.f32_add(a, b, rounding=MODES[mode]), sat, nan_rule, a, b)
        return out, f32.f32_flags(out)

    check(source, f"f32_add_{form}", statics, build)


@pytest.mark.parametrize("form", FORMS)
def test_f32_mul(source: Source, form: str) -> None:
    def statics(c: Columns) -> list[Array]:
        new = c["chip"] >= 0xA0
        zero = field(c["xtra"], 1)
        if form == "long":
            return [field(c["word1"], 14, 2), field(c["word1"], 20) * new, sat_nan(c), zero]
        return [np.zeros_like(c["word0"]), field(c["word0"], 8) * new, sat_nan(c), zero]

    def build(r: Row, mode: int, sat: int, nan_rule: int, zero: int) -> Built:
        n1, n2 = (r.w1.bit(26), r.w1.bit(27)) if form == "long" else (r.w0.bit(15), r.w0.bit(22))
        a, b = negate_if(r.s1, n1), negate_if(second(r, form), n2)
        out = clamp(f32.f32_mul(a, b, rounding=MODES[mode], zero_wins=bool(zero)), sat, nan_rule, a, b)
        return out, f32.f32_flags(out)

    check(source, f"f32_mul_{form}", statics, build)


@pytest.mark.parametrize("form", FORMS)
def test_f32_mad(source: Source, form: str) -> None:
    def statics(c: Columns) -> list[Array]:
        sat = field(c["word1"], 29) if form == "long" else field(c["word0"], 8)
        return [sat, sat_nan(c), field(c["xtra"], 1)]

    def build(r: Row, sat: int, nan_rule: int, zero: int) -> Built:
        n1, n3 = (r.w1.bit(26), r.w1.bit(27)) if form == "long" else (r.w0.bit(15), r.w0.bit(22))
        a, b, c = negate_if(r.s1, n1), second(r, form), negate_if(r.s3, n3)
        out = clamp(f32.f32_mad(a, b, c, zero_wins=bool(zero)), sat, nan_rule, a, b, c)
        return out, f32.f32_flags(out)

    check(source, f"f32_mad_{form}", statics, build)


def modified(r: Row) -> tuple[Value, Value]:
    """Both operands of set, min, max: absolute value first, then negation."""
    a, b = absolute_if(r.s1, r.w1.bit(20)), absolute_if(r.s2, r.w1.bit(19))
    return negate_if(a, r.w1.bit(26)), negate_if(b, r.w1.bit(27))


def test_f32_set(source: Source) -> None:
    def build(r: Row) -> Built:
        true = f32.holds(f32.f32_compare(*modified(r)), r.w1.bits(14, 4))
        return true.sext(32), f32.set_flags(true)

    check(source, "f32_set_long", lambda c: [], build)


def test_f32_minmax(source: Source) -> None:
    def build(r: Row, minimum: int) -> Built:
        out = (f32.f32_min if minimum else f32.f32_max)(*modified(r))
        return out, f32.f32_flags(out)

    check(source, "f32_minmax_long", lambda c: [field(c["word1"], 29)], build)


def test_f32_slct(source: Source) -> None:
    def build(r: Row) -> Built:
        out = select(f32.f32_slct_test(negate_if(r.s3, r.w1.bit(29))), r.s1, r.s2)
        return out, f32.f32_slct_flags(out)

    check(source, "f32_slct_long", lambda c: [], build)


def test_f32_quadop(source: Source) -> None:
    col = load(source, "f32_quadop_long")
    lanes = np.arange(len(col["s1"]))
    selector = field(col["word0"], 16, 3).astype(np.int64)
    lane = lanes & 3
    source = np.where(selector < 4, selector, lane ^ np.where(selector & 1, 2, 1))
    x = col["s1"][(lanes & ~3) + source]
    ops = concat_ops(col, lane)
    v, s, op = leaf("x", 32), leaf("s3", 32), leaf("op", 2)
    total = f32.f32_add(negate_if(v, op == 1), negate_if(s, op == 2))
    out = select(op == 3, f32.f32_mov2(s), total)
    outside = np.where(field(col["xtra"], 0) == 1, np.uint32(0x7F800000), np.uint32(0))
    inputs = {v: x, s: col["s3"], op: ops}
    got = np.where(selector >= 4, outside, run(out, inputs))
    every = np.arange(len(lanes))
    compare("f32_quadop_long", col, every, "result", got)
    value = leaf("value", 32)
    compare("f32_quadop_long", col, every, "cc_out", run(f32.f32_flags(value), {value: got}))


def concat_ops(col: Columns, lane: Array) -> Array:
    w0, w1 = col["word0"], col["word1"]
    pieces = [field(w1, 26, 2), field(w1, 24, 2), field(w1, 22, 2), field(w0, 20, 2)]
    return np.choose(lane, pieces)


# --- special functions ----------------------------------------------------------------------------------------------


def sfu_statics(c: Columns) -> list[Array]:
    return [field(c["word1"], 29, 3), field(c["word1"], 27), sat_nan(c)]


@pytest.mark.parametrize("name", ["rcp_long", "rsqrt", "lg2", "sincos", "ex2"])
def test_sfu(source: Source, name: str) -> None:
    functions = [sfu.rcp, None, sfu.rsqrt, sfu.lg2, sfu.sin, sfu.cos, sfu.ex2, None]

    def build(r: Row, which: int, sat: int, nan_rule: int) -> Built:
        function = functions[which]
        assert function is not None
        v = negate_if(absolute_if(r.s1, r.w1.bit(20)), r.w1.bit(26)) if which < 4 else r.s1
        out = function(v)
        return f32.f32_saturate(out, nan_to_zero=nan_rule > 0) if sat and which == 6 else out, None

    check(source, f"sfu_{name}", sfu_statics, build)


def test_sfu_rcp_short(source: Source) -> None:
    def build(r: Row) -> Built:
        return sfu.rcp(negate_if(absolute_if(r.s1, r.w0.bit(15)), r.w0.bit(22))), None

    check(source, "sfu_rcp_short", lambda c: [], build)


def test_sfu_pre(source: Source) -> None:
    def build(r: Row, exponential: int) -> Built:
        v = negate_if(absolute_if(r.s1, r.w1.bit(20)), r.w1.bit(26))
        return (sfu.preex2 if exponential else sfu.presin)(v), None

    check(source, "sfu_pre", lambda c: [field(c["word1"], 14)], build)
