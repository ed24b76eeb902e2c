"""Every row of the Tesla f64 vectors."""

from __future__ import annotations

from isakit.sem.fp import f32, f64
from isakit.sem.value import Value
from support.oracles.fp_rows import MODES, Built, Row, Source, check, field


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
