"""Every row of the Tesla float, conversion and special-function vectors, and the one-input digests.

The instruction words are decoded here by hand, with the word itself as an operand of the graph: a whole class is then a
few graphs, one for each set of static modifiers.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from isakit.sem.fp import convert, convert64, f32, f64, sfu
from isakit.sem.fp.core import absolute
from isakit.sem.value import Value, concat, const, param, select
from support.vector_eval import run

Array = np.ndarray[Any, Any]
MODES = ("rn", "rm", "rp", "rz")
SAMPLE = Path(__file__).parent.parent / "vectors" / "tesla" / "float.tsv"
QUIET = np.uint32(0xFF)  # cc_out where $c is not written


def leaf(name: str, width: int) -> Value:
    v = param(name, width)
    v.uniform = False
    return v


@dataclass
class Row:
    """The columns of a class as leaves of the graph."""

    width: int

    def __post_init__(self) -> None:
        self.s1, self.s2, self.s3 = (leaf(n, self.width) for n in ("s1", "s2", "s3"))
        self.w0, self.w1 = leaf("w0", 32), leaf("w1", 32)


def negate_if(v: Value, bit: Value) -> Value:
    return v ^ (bit.zext(v.width) << (v.width - 1))


def absolute_if(v: Value, bit: Value) -> Value:
    return select(bit, absolute(v), v)


def field(words: Array, low: int, width: int = 1) -> Array:
    return words >> np.uint32(low) & np.uint32((1 << width) - 1)


Columns = dict[str, Array]
Built = tuple[Value, Value | None]


Source = Callable[[str], Columns]


def corpus_class(folder: Path, name: str) -> Columns:
    with np.load(folder / "vectors" / "tesla" / f"{name}.npz") as archive:
        return {k: archive[k] for k in archive.files}


def sample_class(name: str) -> Columns:
    lines = [line.split("\t") for line in SAMPLE.read_text().splitlines()]
    rows = [line[1:] for line in lines if line[0] == name]
    return {k: np.array([int(r[i], 16) for r in rows], dtype=np.uint64) for i, k in enumerate(lines[0][1:])}


@pytest.fixture(params=["sample", "all"])
def source(request: pytest.FixtureRequest) -> Source:
    """Where the rows of a class come from: the sample in the repository, or all of them."""
    if request.param == "sample":
        return sample_class
    folder = request.getfixturevalue("shared")
    return lambda name: corpus_class(folder, name)


def load(source: Source, name: str) -> Columns:
    narrow = ("chip", "word0", "word1", "xtra", "cc_out")
    return {k: v.astype(np.uint32) if k in narrow else v for k, v in source(name).items()}


def check(
    source: Source, name: str, statics: Callable[[Columns], list[Array]], build: Callable[..., Built], width: int = 32
) -> None:
    """Compare a class: `statics` gives the columns that choose a graph, `build(row, *static)` makes it."""
    col = load(source, name)
    rows = len(col["result"])
    keys = np.array([np.broadcast_to(np.asarray(c, dtype=np.int64), (rows,)) for c in [*statics(col), 0]]).T
    distinct, group = np.unique(keys, axis=0, return_inverse=True)
    for g, key in enumerate(distinct):
        pick = np.nonzero(group.reshape(-1) == g)[0]
        row = Row(width)
        result, cc = build(row, *(int(k) for k in key[:-1]))
        inputs = {
            row.s1: col["s1"][pick], row.s2: col["s2"][pick], row.s3: col["s3"][pick],
            row.w0: col["word0"][pick], row.w1: col["word1"][pick],
        }  # fmt: skip
        compare(name, col, pick, "result", run(result, inputs))
        written = col["cc_out"][pick] != QUIET
        if cc is not None and written.any():
            compare(name, col, pick[written], "cc_out", run(cc, inputs)[written])
        else:
            assert not written.any(), name


def compare(name: str, col: Columns, pick: Array, what: str, got: Array) -> None:
    wanted = col[what][pick].astype(np.uint64)
    wrong = np.nonzero(got.astype(np.uint64) != wanted)[0]
    if len(wrong) == 0:
        return
    lines = [f"{name}: {len(wrong)} of {len(pick)} rows differ in {what}"]
    for i in wrong[:6]:
        at = pick[i]
        shown = " ".join(f"{k}={int(col[k][at]):x}" for k in ("chip", "word0", "word1", "xtra", "s1", "s2", "s3"))
        lines.append(f"{shown} wanted={int(wanted[i]):x} got={int(got[i]):x}")
    pytest.fail("\n".join(lines))


# --- f32 arithmetic --------------------------------------------------------------------------------------------------


def sat_nan(col: Columns) -> Array:
    """0 flag clear or chip without it, 1 obeyed, 2 the G200 fault."""
    on = field(col["xtra"], 19)
    return np.where(col["chip"] == 0xA3, on, np.where(col["chip"] == 0xA0, on * 2, 0))


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


# --- conversions -----------------------------------------------------------------------------------------------------

INTEGER_SOURCES = ("u16", "u32", "u8", "u8", "s16", "s32", "s8", "s8")


def source_half(r: Row) -> Value:
    """The half register named by bit 9 of the first word ($r4l or $r4h), for 16-bit sources."""
    return select(r.w0.bit(9), r.s1.bits(16, 16), r.s1.trunc(16))


def raw_source(r: Row, full: int) -> Value:
    return r.s1 if full else source_half(r)


def int_flags(v: Value) -> Value:
    return concat(const(0, 2), v.sign, v.is_zero)


def float_flags(v: Value) -> Value:
    return f32.f32_flags(v) if v.width == 32 else convert.f16_flags(v)


def cvt_bits(c: Columns) -> list[Array]:
    w1 = c["word1"]
    return [
        field(w1, 14, 3),
        field(w1, 20),
        field(w1, 29),
        field(w1, 26),
        field(w1, 27),
        field(w1, 17, 2),
        field(w1, 19),
    ]


def test_cvt_i2i(source: Source) -> None:
    def build(r: Row, src: int, ab: int, neg: int, wide: int, sign: int, mode: int, byte: int) -> Built:
        register = 32 if wide else 16
        to = f"{'s' if sign else 'u'}{8 if byte else register}"
        out = convert.i2i(
            raw_source(r, src & 1), source=INTEGER_SOURCES[src], to=to, register=register,
            absolute=bool(ab), negate=bool(neg),
        )  # fmt: skip
        return out, int_flags(out)

    check(source, "cvt_i2i", cvt_bits, build)


@pytest.mark.parametrize("kind", ["f32", "f16"])
def test_cvt_i2f(source: Source, kind: str) -> None:
    def build(r: Row, src: int, ab: int, neg: int, wide: int, sign: int, mode: int, sat: int) -> Built:
        out = convert.i2f(
            raw_source(r, src & 1), source=INTEGER_SOURCES[src], to="f32" if wide else "f16", rounding=MODES[mode],
            absolute=bool(ab), negate=bool(neg), saturate=bool(sat),
        )  # fmt: skip
        return out, float_flags(out)

    check(source, f"cvt_i2f_{kind}", cvt_bits, build)


def test_cvt_f2i(source: Source) -> None:
    def build(r: Row, src: int, ab: int, neg: int, wide: int, sign: int, mode: int, sat: int) -> Built:
        out = convert.f2i(
            raw_source(r, src & 1), source="f32" if src & 1 else "f16",
            to=f"{'s' if sign else 'u'}{32 if wide else 16}", rounding=MODES[mode], absolute=bool(ab), negate=bool(neg),
        )  # fmt: skip
        return out, int_flags(out)

    check(source, "cvt_f2i", cvt_bits, build)


def test_cvt_f2f(source: Source) -> None:
    def statics(c: Columns) -> list[Array]:
        return [*cvt_bits(c), sat_nan(c)]

    def build(r: Row, src: int, ab: int, neg: int, wide: int, whole: int, mode: int, sat: int, nan_rule: int) -> Built:
        out = convert.f2f(
            raw_source(r, src & 1), source="f32" if src & 1 else "f16", to="f32" if wide else "f16",
            rounding=MODES[mode], integral=bool(whole), saturate=bool(sat), nan_to_zero=nan_rule > 0,
            absolute=bool(ab), negate=bool(neg),
        )  # fmt: skip
        return out, float_flags(out)

    check(source, "cvt_f2f", statics, build)


def test_cvt_g200_mixed(source: Source) -> None:
    """The 16-bit result path on a full register: 64-bit class bit without a 64-bit operand."""

    def statics(c: Columns) -> list[Array]:
        return [field(c["word1"], 30, 2), *cvt_bits(c), sat_nan(c)]

    def build(
        r: Row, kind: int, src: int, ab: int, neg: int, wide: int, other: int, mode: int, sat: int, nan_rule: int
    ) -> Built:
        common: dict[str, Any] = {"rounding": MODES[mode], "absolute": bool(ab), "negate": bool(neg)}
        if kind == 1:
            kind_of_int: Any = {0: "u32", 2: "u8", 4: "s32", 6: "s8"}[src]
            out = convert.i2f(r.s1, source=kind_of_int, to="f16", saturate=bool(sat), **common)
        elif kind == 2:
            out = convert.f2i(r.s1, source="f32", to="s16" if other else "u16", **common)
            return out.zext(32), int_flags(out)
        else:
            common |= {"saturate": bool(sat), "integral": bool(other), "nan_to_zero": nan_rule > 0}
            out = convert.f2f(r.s1, source="f32", to="f16", **common)
        return out.zext(32), float_flags(out)

    check(source, "cvt_g200_mixed", statics, build)


# --- special functions -----------------------------------------------------------------------------------------------


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


# --- f64 --------------------------------------------------------------------------------------------------------------


def f64_with(v: Value, r: Row, negate_bit: int, absolute_bit: int | None = None) -> Value:
    ab = False if absolute_bit is None else r.w1.bit(absolute_bit)
    return f64.f64_modified(v, absolute_if=ab, negate_if=r.w1.bit(negate_bit))


def test_f64_add(source: Source) -> None:
    def build(r: Row, mode: int) -> Built:
        out = f64.f64_add(f64_with(r.s1, r, 26), f64_with(r.s3, r, 27), rounding=MODES[mode])
        return out, f64.f64_flags(out)

    check(source, "f64_add", lambda c: [field(c["word0"], 16, 2)], build, 64)


def test_f64_mul(source: Source) -> None:
    def build(r: Row, mode: int) -> Built:
        out = f64.f64_mul(f64_with(r.s1, r, 26), r.s2, rounding=MODES[mode])
        return out, f64.f64_flags(out)

    check(source, "f64_mul", lambda c: [field(c["word1"], 17, 2)], build, 64)


def test_f64_fma(source: Source) -> None:
    def build(r: Row, mode: int) -> Built:
        out = f64.f64_fma(f64_with(r.s1, r, 26), r.s2, f64_with(r.s3, r, 27), rounding=MODES[mode])
        return out, f64.f64_flags(out)

    check(source, "f64_fma", lambda c: [field(c["word1"], 22, 2)], build, 64)


def test_f64_minmax(source: Source) -> None:
    def build(r: Row, kind: int) -> Built:
        function = f64.f64_min if kind == 5 else f64.f64_max
        out = function(f64_with(r.s1, r, 26, 20), f64_with(r.s2, r, 27, 19))
        return out, f64.f64_flags(out)

    check(source, "f64_minmax", lambda c: [field(c["word1"], 29, 3)], build, 64)


def test_f64_set(source: Source) -> None:
    def build(r: Row) -> Built:
        relation = f64.f64_compare(f64_with(r.s1, r, 26, 20), f64_with(r.s2, r, 27, 19))
        true = f32.holds(relation, r.w1.bits(14, 4))
        return true.sext(32), f32.set_flags(true)

    check(source, "f64_set", lambda c: [], build, 64)


def low_if_short(r: Row, full: int) -> Value:
    return r.s1 if full else r.s1.trunc(32)


def large(v: Value) -> tuple[Value, Value]:
    return v, f64.f64_flags(v) if v.width == 64 else float32_flags_unflushed(v)


def float32_flags_unflushed(v: Value) -> Value:
    return f64.f64_flags(convert64.f2f64(v, source="f32", to="f64"))


def test_cvt64_i2f(source: Source) -> None:
    def build(r: Row, src: int, ab: int, neg: int, wide: int, other: int, mode: int, sat: int) -> Built:
        kind: Any = f"{'s' if src & 4 else 'u'}{64 if src & 1 else 32}"
        return large(
            convert64.i2f64(
                low_if_short(r, src & 1), source=kind, to="f64" if wide else "f32", rounding=MODES[mode],
                absolute=bool(ab), negate=bool(neg),
            )
        )  # fmt: skip

    check(source, "cvt64_i2f", cvt_bits, build, 64)


def test_cvt64_f2i(source: Source) -> None:
    def build(r: Row, src: int, ab: int, neg: int, wide: int, sign: int, mode: int, sat: int) -> Built:
        statics: dict[str, Any] = {
            "source": "f64" if src & 1 else "f32", "to": f"{'s' if sign else 'u'}{64 if wide else 32}",
            "rounding": MODES[mode], "absolute": bool(ab), "negate": bool(neg),
        }  # fmt: skip
        out = convert64.f2i64(low_if_short(r, src & 1), **statics)
        overflow = convert64.f2i64_overflow(low_if_short(r, src & 1), **statics)
        return out, concat(overflow, const(0, 1), out.sign, out.is_zero)

    check(source, "cvt64_f2i", cvt_bits, build, 64)


def test_cvt64_f2f(source: Source) -> None:
    def build(r: Row, src: int, ab: int, neg: int, wide: int, whole: int, mode: int, sat: int) -> Built:
        return large(
            convert64.f2f64(
                low_if_short(r, src & 1), source="f64" if src & 1 else "f32", to="f64" if wide else "f32",
                rounding=MODES[mode], integral=bool(whole), absolute=bool(ab), negate=bool(neg),
            )
        )  # fmt: skip

    check(source, "cvt64_f2f", cvt_bits, build, 64)


# --- digests ----------------------------------------------------------------------------------------------------------


def one_input(name: str) -> Callable[[Value], Value]:
    """The function of a digest: `f32_to_s32_rz`, `rint_rn`, `f16_to_f32` or one of the special-function unit."""
    if "_" not in name:
        return getattr(sfu, name)
    source, to, mode = "f32", "f32", name[-2:]
    if not name.startswith("rint"):
        source, _, to = name.removesuffix(f"_{mode}").split("_")
    statics: dict[str, Any] = {"source": source, "to": to, "rounding": mode if mode in MODES else "rn"}
    if source[0] == to[0] == "f":
        return lambda v: convert.f2f(v, integral=name.startswith("rint"), **statics)
    return lambda v: (convert.f2i if source[0] == "f" else convert.i2f)(v, **statics)


# Blocks that hold the interesting inputs: small numbers, numbers around 1, a whole period of the periodic functions.
DIGESTS = {
    "rcp": 0x40, "rsqrt": 0x3E, "lg2": 0x40, "sin": 0x00, "cos": 0x80, "ex2": 0x02, "presin": 0x42, "preex2": 0xC0,
    "f32_to_f16_rn": 0x38, "f32_to_f16_rz": 0x46, "f32_to_s32_rn": 0x4A, "f32_to_s32_rz": 0xCE, "f32_to_u32_rn": 0x4E,
    "f32_to_u32_rz": 0x4A, "s32_to_f32_rn": 0x80, "u32_to_f32_rn": 0x02, "rint_rn": 0x4A, "rint_rm": 0xC0,
    "rint_rp": 0x3E, "rint_rz": 0x46, "f16_to_f32": 0,
}  # fmt: skip


def digest(name: str, block: int, size: int) -> str:
    v = leaf("v", 16 if name == "f16_to_f32" else 32)
    out = one_input(name)(v)
    inputs = np.arange(block * size, (block + 1) * size, dtype=np.uint64).astype(np.uint32)
    return hashlib.sha256(run(out, {v: inputs}).astype("<u4").tobytes()).hexdigest()


@pytest.mark.slow
@pytest.mark.parametrize("name", [n for n in DIGESTS if n != "f16_to_f32"])
def test_digest(shared: Path, name: str) -> None:
    """All inputs of one block of 2**24 (or of the block in the environment variable ISAKIT_BLOCK)."""
    wanted = json.loads((shared / "vectors" / "tesla" / "digests.json").read_text())
    block = int(os.environ.get("ISAKIT_BLOCK", DIGESTS[name]))
    assert digest(name, block, 1 << 24) == wanted[name][str(block)]


def test_digest_f16(shared: Path) -> None:
    """Every second block of 256 numbers is recorded; all of them are checked."""
    wanted = json.loads((shared / "vectors" / "tesla" / "digests.json").read_text())["f16_to_f32"]
    for block, value in wanted.items():
        assert digest("f16_to_f32", int(block), 256) == value, block
