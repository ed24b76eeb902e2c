"""Double precision: the host's own arithmetic and exact fractions as models, NaN rules case by case."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import isakit
from support.runners.tesla_run import LANES, f64, pairs, run

SIGN, QUIET, INF, MADE = 1 << 63, 1 << 51, 0x7FF << 52, 0xFFF8000000000000
NAN_A, NAN_B, NAN_C = INF | 0xA, INF | SIGN | 0xB, INF | 0xC


def operands(**values: list[int]) -> dict[int, list[int]]:
    """Register contents: a in $r4d, b in $r6d, c in $r8d."""
    out: dict[int, list[int]] = {}
    for name, register in (("a", 4), ("b", 6), ("c", 8)):
        out[register], out[register + 1] = pairs(values.get(name, []))
    return out


def results(text: str, count: int, **values: list[int]) -> list[int]:
    after = run(text, operands(**values))
    return [low | high << 32 for low, high in zip(after.r(10)[:count], after.r(11)[:count], strict=True)]


def random_doubles(seed: int, low: int = 1, high: int = 2046) -> list[int]:
    rng = np.random.default_rng(seed)
    fraction = rng.integers(0, 1 << 52, LANES, dtype=np.uint64)
    exponent = rng.integers(low, high, LANES, dtype=np.uint64)
    sign = rng.integers(0, 2, LANES, dtype=np.uint64)
    return [int(v) for v in fraction | exponent << np.uint64(52) | sign << np.uint64(63)]


@pytest.mark.parametrize(("text", "model"), [
    ("add rn f64 $r10d $r4d $r6d", lambda a, b: a + b),
    ("add rn f64 $r10d neg $r4d $r6d", lambda a, b: b - a),
    ("mul rn f64 $r10d $r4d $r6d", lambda a, b: a * b),
    ("min f64 $r10d $r4d $r6d", np.minimum),
    ("max f64 $r10d abs $r4d $r6d", lambda a, b: np.maximum(abs(a), b)),
])  # fmt: skip
@pytest.mark.parametrize("span", [(1, 2046), (1000, 1010), (0, 60)])
def test_nearest_is_what_the_host_computes(text, model, span) -> None:
    a, b = random_doubles(1, *span), random_doubles(2, *span)
    with np.errstate(over="ignore", under="ignore"):
        wanted = model(np.array(a, np.uint64).view(np.float64), np.array(b, np.uint64).view(np.float64))
    assert results(text, LANES, a=a, b=b) == wanted.view(np.uint64).tolist()


@pytest.mark.parametrize("mode", ["rm", "rp", "rz"])
def test_directed_rounding_brackets_the_exact_value(mode) -> None:
    a, b, c = (random_doubles(k, 1000, 1040) for k in (3, 4, 5))
    text = f"fma {mode} f64 $r10d neg $r4d $r6d $r8d"
    for k, word in enumerate(results(text, LANES, a=a, b=b, c=c)):
        x, y, z = (Fraction(float(np.uint64(v[k]).view(np.float64))) for v in (a, b, c))
        exact, got = -x * y + z, float(np.uint64(word).view(np.float64))
        assert got == float(exact) or abs(Fraction(got) - exact) < Fraction(math.ulp(got))
        if mode == "rz":
            assert abs(Fraction(got)) <= abs(exact)
        else:
            assert Fraction(got) <= exact if mode == "rm" else Fraction(got) >= exact


def test_nan_selection() -> None:
    one = f64(1.0)
    assert results("add rn f64 $r10d $r4d neg $r6d", 3, a=[NAN_A, one, NAN_A], b=[one, NAN_B, NAN_B]) == [
        NAN_A | QUIET, NAN_B | QUIET, NAN_B | QUIET]  # fmt: skip
    got = results("fma rn f64 $r10d neg $r4d $r6d $r8d", 3, a=[NAN_A] * 3, b=[NAN_B, one, one], c=[NAN_C, NAN_C, one])
    assert got == [NAN_B | QUIET, NAN_C | QUIET, NAN_A | QUIET]
    assert results("mul rn f64 $r10d $r4d $r6d", 1, a=[0], b=[INF]) == [MADE]
    assert results("max f64 $r10d neg $r4d abs $r6d", 2, a=[NAN_A, one], b=[NAN_B, NAN_B]) == [
        NAN_B | QUIET,
        one | SIGN,
    ]


def test_comparison_writes_a_word() -> None:
    one, two = f64(1.0), f64(2.0)
    after = run("set $c1 $r10 lu f64 $r4d $r6d", operands(a=[one, two, NAN_A, 1], b=[two, one, one, 2]) | {11: 77})
    assert after.r(10)[:4] == [0xFFFFFFFF, 0, 0xFFFFFFFF, 0xFFFFFFFF]
    assert after.c(1)[:4] == [2, 1, 2, 2]
    assert after.r(11)[0] == 77


def test_flags_of_denormals() -> None:
    after = run("add rn f64 $c1 $r10d $r4d $r6d", operands(a=[1, SIGN | 1, 0, NAN_A], b=[0, 0, SIGN, 0]))
    assert after.c(1)[:4] == [0, 2, 1, 3]


@pytest.mark.parametrize(("value", "signed", "unsigned"), [
    (2.5, 2, 2), (-2.5, -2, 0), (1e300, (1 << 63) - 1, (1 << 64) - 1), (float("nan"), -(1 << 63), 1 << 63),
])  # fmt: skip
def test_to_integers(value, signed, unsigned) -> None:
    a = [f64(value)]
    assert results("cvt rni s64 $r10d f64 $r4d", 1, a=a) == [signed & (1 << 64) - 1]
    assert results("cvt rni u64 $r10d f64 $r4d", 1, a=a) == [unsigned]
    overflow = run("cvt rni s64 $c1 $r10d f64 $r4d", operands(a=a)).c(1)[0] >> 3
    assert overflow == (value != value or value > 1e200)


def test_between_single_and_double() -> None:
    singles = [0x00000001, 0x807FFFFF, 0x3F800001, 0x7F800000, 0x7F800001]
    after = run("cvt f64 $r10d f32 $r4", {4: singles})
    got = [low | high << 32 for low, high in zip(after.r(10)[:4], after.r(11)[:4], strict=True)]
    assert got == np.array(singles[:4], np.uint32).view(np.float32).astype(np.float64).view(np.uint64).tolist()
    low, high = pairs([f64(v) for v in (1e-40, 1.0 + 2**-24, 1e300, -3.7)])
    assert run("cvt rn f32 $r10 f64 $r4d", {4: low, 5: high}).r(10)[:3] == [71362, 0x3F800000, 0x7F800000]
    whole = run("cvt rzi f64 $r10d f64 $r4d", {4: low, 5: high})
    assert (whole.r(10)[3], whole.r(11)[3]) == (0, 0xC0080000)


@pytest.mark.parametrize("text", [
    "add rn f64 $r10d $r4d $r6d", "fma rz f64 $r10d $r4d $r6d $r8d", "cvt f64 $r10d f32 $r4",
    "set $r10 e f64 $r4d $r6d", "cvt rn f16 b32 $r10 u32 $r4",
])  # fmt: skip
def test_only_gt200_has_it(text) -> None:
    words = isakit.isa("tesla", "gt200").assemble(text).words
    for chip in ("g80", "g84", "gt215", "mcp77"):
        with pytest.raises(isakit.AsmError):
            isakit.isa("tesla", chip).assemble(text)
        i = next(iter(isakit.isa("tesla", chip).disassemble(words)))
        assert i.error == "ILLEGAL_OPCODE" or i.mnemonic == "cvt"
    i = next(iter(isakit.isa("tesla", "gt200").disassemble([words[0] | 4, words[1]])))
    assert i.error == ("ILLEGAL_OPCODE" if "$r10d" in text else None), "a pair starts at an even register"
