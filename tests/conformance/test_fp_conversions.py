"""Every row of the Tesla conversion vectors."""

from __future__ import annotations

from typing import Any

import pytest

from isakit.sem.fp import convert, convert64, f32, f64
from isakit.sem.value import Value, concat, const, select
from support.oracles.fp_rows import MODES, Array, Built, Columns, Row, Source, check, cvt_bits, field, sat_nan

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


# --- 64 bits ----------------------------------------------------------------------------------------------------------


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
