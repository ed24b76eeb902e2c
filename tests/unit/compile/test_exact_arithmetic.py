"""Quotients and roots that PTX wants rounded correctly, against NumPy and exact fractions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from isakit.compile import compile_ptx
from isakit.runtime import Device

N = 512
KERNEL = """.version 3.2
.target {target}
.entry k (.param .u64 x, .param .u64 y, .param .u64 out)
{{
  .reg .u64 %a, %b, %c, %d; .reg .u32 %t, %n, %i; .reg .{ty} %x, %y, %z;
  ld.param.u64 %a, [x]; ld.param.u64 %b, [y]; ld.param.u64 %c, [out];
  mov.u32 %t, %ntid.x; mov.u32 %i, %ctaid.x; mov.u32 %n, %tid.x; mad.lo.u32 %i, %t, %i, %n;
  mul.wide.u32 %d, %i, {size};
  add.u64 %a, %a, %d; add.u64 %b, %b, %d; add.u64 %c, %c, %d;
  ld.global.{ty} %x, [%a]; ld.global.{ty} %y, [%b];
  {instruction};
  st.global.{ty} [%c], %z;
  exit;
}}
"""
EDGES32 = [0x0, 0x80000000, 0x3F800000, 0xBF800000, 0x7F800000, 0xFF800000, 0x7FC00000, 0x1, 0x7FFFFF, 0x800000,
           0x80800000, 0x7F7FFFFF, 0x7E800001, 0x7E800000, 0x3F7FFFFF, 0x3FFFFFFF, 0x40000000, 0x34000000]  # fmt: skip
EDGES64 = [0x0, 1 << 63, 0x3FF0 << 48, 0xBFF0 << 48, 0x7FF0 << 48, 0xFFF0 << 48, 0x7FF8 << 48, 1, 3,
           (1 << 52) - 1, 1 << 52, (1 << 52) + 1, 0x7FEFFFFFFFFFFFFF, 0x3FEFFFFFFFFFFFFF, 0x3FFFFFFFFFFFFFFF,
           0x4000 << 48, 0x0010 << 47, 0x7FE0 << 48]  # fmt: skip


def numbers(ty: str, seed: int, count: int = N) -> np.ndarray:
    """Edge cases, any bits, and numbers of the same magnitude."""
    rng = np.random.default_rng(seed)
    if ty == "f32":
        words = rng.integers(0, 1 << 32, count, dtype=np.uint32)
        near = rng.uniform(0.5, 4, count).astype(np.float32).view(np.uint32)
        edges = np.array(EDGES32, np.uint32)
    else:
        words = rng.integers(0, 1 << 64, count, dtype=np.uint64)
        near = rng.uniform(0.5, 4, count).view(np.uint64)
        edges = np.array(EDGES64, np.uint64)
        small = rng.integers(0, 1 << 62, count, dtype=np.uint64) >> np.uint64(8)  # many denormal results
        words = np.where(rng.random(count) < 0.5, words, small)
    pick = rng.random(count)
    bits = np.where(pick < 0.4, words, np.where(pick < 0.75, near, rng.choice(edges, count)))
    return bits.astype(edges.dtype).view(np.float32 if ty == "f32" else np.float64)


def run(instruction: str, ty: str, x: np.ndarray, y: np.ndarray, chip: str) -> np.ndarray:
    text = KERNEL.format(target="sm_20", ty=ty, size=x.itemsize, instruction=instruction)
    out = np.zeros(len(x), x.dtype)
    Device(chip).load(compile_ptx(text, chip).module)["k"][len(x) // 32, 32](x, y, out)
    return out


def flushed(v: np.ndarray) -> np.ndarray:
    """Denormals as the chip's f32 instructions see and leave them."""
    return np.where(np.abs(v) < np.float32(2.0**-126), np.copysign(np.float32(0), v), v) if v.dtype == np.float32 else v


def same(got: np.ndarray, want: np.ndarray) -> np.ndarray:
    kind = np.uint32 if got.dtype == np.float32 else np.uint64
    return (got.view(kind) == want.view(kind)) | (np.isnan(got) & np.isnan(want))


def rounded(v: Fraction, rnd: str, digits: int, least: int) -> Fraction:
    """A positive or negative number with so many digits; the last one of a denormal is 2^least."""
    a = abs(v)
    e = a.numerator.bit_length() - a.denominator.bit_length() - digits
    while a >= Fraction(2) ** (e + digits):
        e += 1
    while a < Fraction(2) ** (e + digits - 1):
        e -= 1
    unit = Fraction(2) ** max(e, least)
    down = v // unit
    if rnd == "rz" and v < 0 and down * unit != v:
        down += 1
    if rnd == "rp" and down * unit != v:
        down += 1
    return down * unit


def directed(op: str, x: np.ndarray, y: np.ndarray, rnd: str) -> np.ndarray:
    """The results of finite operands under a rounding towards one side; NaN where there is nothing to compare."""
    out = np.full(len(x), np.nan, x.dtype)
    single = x.dtype == np.float32
    digits, least, largest = (24, -149, 2.0**128) if single else (53, -1074, math.inf)
    for k, (a, b) in enumerate(zip(x.tolist(), y.tolist(), strict=True)):
        if not (math.isfinite(a) and math.isfinite(b)) or a == 0 or b == 0 or (op == "sqrt" and a < 0):
            continue
        if op == "sqrt":  # a root between two neighbours is found by squaring them
            near = Fraction(math.sqrt(a)) if not single else Fraction(float(np.float32(math.sqrt(a))))
            r = rounded(near, "rz", digits, least)
            unit = rounded(near, "rz", digits, least) * Fraction(2) ** -60
            exact = near if near * near == Fraction(a) else near + (unit if near * near < Fraction(a) else -unit)
            r = rounded(exact, rnd, digits, least)
        else:
            r = rounded(Fraction(a) / Fraction(b), rnd, digits, least)
        if abs(r) >= largest or abs(r) >= Fraction(2) ** 1024:
            continue
        out[k] = math.copysign(float(abs(r)), a if op == "sqrt" else math.copysign(1, a) * math.copysign(1, b))
    return out


@pytest.mark.parametrize("chip", ["gt200", "g84"])
@pytest.mark.parametrize("seed", [1, 2])
def test_quotients_of_f32_are_rounded_to_nearest(chip: str, seed: int) -> None:
    x, y = numbers("f32", seed), numbers("f32", seed + 100)
    with np.errstate(all="ignore"):
        want = flushed(flushed(x) / flushed(y))
    assert same(run("div.rn.f32 %z, %x, %y", "f32", x, y, chip), want).all()


@pytest.mark.parametrize("chip", ["gt200", "g84"])
def test_roots_of_f32_are_rounded_to_nearest(chip: str) -> None:
    x = numbers("f32", 3)
    with np.errstate(all="ignore"):
        want = np.sqrt(flushed(x))
    assert same(run("sqrt.rn.f32 %z, %x", "f32", x, x, chip), want).all()


@pytest.mark.parametrize("rnd", ["rz", "rm", "rp"])
@pytest.mark.parametrize("chip", ["gt200", "g84"])
@pytest.mark.parametrize("op", ["div", "sqrt"])
def test_quotients_and_roots_of_f32_are_rounded_to_the_side_asked_for(op: str, chip: str, rnd: str) -> None:
    x, y = flushed(numbers("f32", 4)), flushed(numbers("f32", 5))
    instruction = f"div.{rnd}.f32 %z, %x, %y" if op == "div" else f"sqrt.{rnd}.f32 %z, %x"
    want = directed(op, x, y, rnd)
    known = ~np.isnan(want)
    got = run(instruction, "f32", x, y, chip)
    assert known.sum() > N // 4
    assert same(got, flushed(want))[known].all()


@pytest.mark.parametrize("seed", [6, 7])
def test_quotients_of_f64_are_rounded_to_nearest(seed: int) -> None:
    x, y = numbers("f64", seed), numbers("f64", seed + 100)
    with np.errstate(all="ignore"):
        want = x / y
    assert same(run("div.rn.f64 %z, %x, %y", "f64", x, y, "gt200"), want).all()


def test_reciprocals_and_roots_of_f64_are_rounded_to_nearest() -> None:
    x = numbers("f64", 8)
    with np.errstate(all="ignore"):
        assert same(run("rcp.rn.f64 %z, %x", "f64", x, x, "gt200"), 1 / x).all()
        assert same(run("sqrt.rn.f64 %z, %x", "f64", x, x, "gt200"), np.sqrt(x)).all()


@pytest.mark.parametrize("rnd", ["rz", "rm", "rp"])
@pytest.mark.parametrize("op", ["div", "sqrt"])
def test_quotients_and_roots_of_f64_are_rounded_to_the_side_asked_for(op: str, rnd: str) -> None:
    x, y = numbers("f64", 9), numbers("f64", 10)
    instruction = f"div.{rnd}.f64 %z, %x, %y" if op == "div" else f"sqrt.{rnd}.f64 %z, %x"
    want = directed(op, x, y, rnd)
    known = ~np.isnan(want)
    assert known.sum() > N // 4
    assert same(run(instruction, "f64", x, y, "gt200"), want)[known].all()


def test_inverse_roots_of_f64_are_within_two_units() -> None:
    x = numbers("f64", 11)
    got = run("rsqrt.approx.f64 %z, %x", "f64", x, x, "gt200")
    with np.errstate(all="ignore"):
        want = 1 / np.sqrt(x)
        close = np.abs(got - want) <= 2 * np.spacing(np.abs(want))
    assert (same(got, want) | close).all()


@pytest.mark.parametrize("chip", ["g80", "gt200"])
@pytest.mark.parametrize("to", ["s64", "u64"])
@pytest.mark.parametrize("rnd", ["rzi", "rni", "rmi", "rpi"])
def test_f32_becomes_the_nearest_wide_integer(rnd: str, to: str, chip: str) -> None:
    """A chip without doubles has no conversion for it; NaN is 2^63 on those that have one."""
    rng = np.random.default_rng(64)
    spread = rng.normal(0, 1, N) * 2.0 ** rng.integers(-3, 70, N)
    x = np.where(rng.random(N) < 0.7, spread.astype(np.float32), numbers("f32", 64))
    x = np.where((np.abs(x) < 2.0**-126), np.float32(0), x)  # denormals are flushed by g80 alone
    halves = np.float32([0.5, 1.5, 2.5, -0.5, -1.5, 2**63, -(2**63), 2**64, 2**31, 2**32])
    x[: len(halves)] = halves
    y = x.astype(np.float64)
    text = KERNEL.format(target="sm_13", ty="f32", size=4, instruction=f"cvt.{rnd}.{to}.f32 %c, %x")
    text = text.replace("add.u64 %c, %c, %d", "mad.wide.u32 %d, %i, 8, %c").replace(
        "st.global.f32 [%c], %z", f"st.global.{to} [%d], %c"
    )
    out = np.zeros(N, np.uint64)
    Device(chip).load(compile_ptx(text, chip).module)["k"][N // 32, 32](x, x, out)
    whole = {"rzi": np.trunc, "rni": np.rint, "rmi": np.floor, "rpi": np.ceil}[rnd](y)
    least, most = (-(2**63), 2**63 - 1) if to == "s64" else (0, 2**64 - 1)
    meant = [2**63 if v != v else most if v > most else least if v < least else int(v) for v in whole.tolist()]
    assert [int(v) for v in out] == [v % 2**64 for v in meant]
