"""f32 instructions: the documented rules case by case, and numpy as an independent model where it applies."""

from __future__ import annotations

import numpy as np
import pytest

import isakit
from support.runners.tesla_run import LANES, f32, run

NAN, INF, ONE, MAX = 0x7FFFFFFF, 0x7F800000, 0x3F800000, 0x7F7FFFFF
MINUS, TINY, SMALLEST = 0x80000000, 0x00000001, 0x00800000


def normal_numbers(seed: int, low: int = 100, high: int = 150) -> np.ndarray:
    """Numbers whose sums and products stay far from both ends of the exponent range."""
    rng = np.random.default_rng(seed)
    words = rng.integers(0, 1 << 32, LANES, dtype=np.uint64).astype(np.uint32)
    return (words & np.uint32(0x807FFFFF)) | rng.integers(low, high, LANES).astype(np.uint32) << np.uint32(23)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    ("text", "model"),
    [
        ("add rn f32 $r7 $r4 $r5", lambda a, b: a + b),
        ("add rn f32 $r7 $r4 neg $r5", lambda a, b: a - b),
        ("mul rn f32 $r7 neg $r4 $r5", lambda a, b: -a * b),
        ("max f32 $r7 $r4 $r5", np.maximum),
        ("min f32 $r7 abs $r4 $r5", lambda a, b: np.minimum(abs(a), b)),
        ("add f32 $r7 $r4 $r5\nmov b16 $r0l $r0l", lambda a, b: a + b),
    ],
)
def test_ieee_where_nothing_is_special(text, model, seed) -> None:
    a, b = normal_numbers(seed), normal_numbers(seed + 100)
    wanted = model(a.view(np.float32), b.view(np.float32)).view(np.uint32)
    assert run(text, {4: a.tolist(), 5: b.tolist()}).r(7) == wanted.tolist()


@pytest.mark.parametrize(
    ("a", "b", "rn", "rz"),
    [
        (TINY, 0, 0, 0),  # denormals are flushed on the way in, the sum of zeros is +0
        (MINUS | TINY, MINUS, MINUS, MINUS),
        (SMALLEST + 1, MINUS | SMALLEST, 0, 0),  # and on the way out
        (MINUS | SMALLEST + 1, SMALLEST, MINUS, MINUS),
        (MAX, MAX, INF, MAX),
        (INF, MINUS | INF, NAN, NAN),
        (0xFFC00001, ONE, NAN, NAN),
        (ONE, 0xBF800000, 0, 0),
        (ONE, 0x33800001, 0x3F800001, ONE),
    ],
)
def test_special_sums(a, b, rn, rz) -> None:
    after = run("add rn f32 $c1 $r7 $r4 $r5\nadd rz f32 $r6 $r4 $r5", {4: a, 5: b})
    assert (after.r(7)[0], after.r(6)[0]) == (rn, rz)
    value = np.uint32(rn).view(np.float32)
    flags = 3 if np.isnan(value) else 1 if value == 0 else 2 if value < 0 else 0
    assert after.c(1)[0] == flags


def test_mad_truncates_the_product() -> None:
    a = 0x3F800001  # (1 + 2**-23)**2 = 1 + 2**-22 + 2**-46: cut to 1 + 2**-22
    product = "add f32 $r7 (mul $r4 $r5) $r6"
    assert run(product, {4: a, 5: a, 6: 0xBF800002}).r(7)[0] == 0
    assert run(product, {4: 0x3FFFFFFF, 5: 0x3FFFFFFF, 6: 0}).r(7)[0] == 0x407FFFFE, "addend zero: rounded to nearest"
    cut = run(product, {4: 0x3F800003, 5: 0x3F800003, 6: ONE}).r(7)[0]
    exact = (1 + 3 * 2.0**-23) ** 2  # 1 + 6 ulp + 9/2**23 ulp: the cut product is 1 + 6 ulp
    assert cut == f32(1 + (exact - exact % 2.0**-23))


def test_immediate_and_short_mad_add_to_their_destination() -> None:
    assert run("add f32 $r6 (mul $r4 0x40000000) $r6", {4: f32(3.0), 6: ONE}).r(6)[0] == f32(7.0)
    assert run("add f32 $r6 neg (mul $r4 $r5) $r6", {4: f32(3.0), 5: f32(2.0), 6: ONE}).r(6)[0] == f32(-5.0)


@pytest.mark.parametrize(
    ("value", "wanted"), [(MINUS, 0), (f32(-3.0), 0), (f32(0.25), f32(0.25)), (f32(7.0), ONE), (NAN, NAN)]
)
def test_saturation(value, wanted) -> None:
    assert run("add sat rn f32 $r7 $r4 $r5", {4: value, 5: MINUS}).r(7)[0] == wanted


def test_old_chips_ignore_saturation_of_products() -> None:
    words = isakit.isa("tesla", "gt200").assemble("mul sat rn f32 $r7 $r4 $r5").words
    old = next(iter(isakit.isa("tesla", "g84").disassemble(words)))
    assert old.unknown_bits == 1 << 52
    assert "sat" not in old.text.split("{")[0]
    for chip, wanted in (("g80", f32(6.0)), ("g84", f32(6.0)), ("mcp77", ONE), ("gt215", ONE)):
        text = "mul sat rn f32 $r7 $r4 $r5" if wanted == ONE else old.text
        assert run(text, {4: f32(2.0), 5: f32(3.0)}, chip=chip).r(7)[0] == wanted


@pytest.mark.parametrize(
    ("chip", "nan_in", "made"),
    [("g84", NAN, NAN), ("gt200", 0, NAN), ("gt215", 0, 0), ("mcp77", NAN, NAN)],
)
def test_sat_nan_depends_on_the_chip(chip, nan_in, made) -> None:
    add = "add sat rn f32 $r7 $r4 $r5"
    assert run(add, {4: NAN, 5: ONE}, chip=chip, sat_nan=True).r(7)[0] == nan_in
    assert run(add, {4: INF, 5: MINUS | INF}, chip=chip, sat_nan=True).r(7)[0] == made
    assert run(add, {4: NAN, 5: ONE}, chip=chip).r(7)[0] == NAN


def test_zero_can_win() -> None:
    for text, wanted in (("mul rn f32 $r7 $r4 $r5", 0), ("add f32 $r7 (mul $r4 $r5) $r6", f32(2.0))):
        registers = {4: MINUS | TINY, 5: NAN, 6: f32(2.0)}
        assert run(text, registers, mul_zero_wins=True).r(7)[0] == wanted
        assert run(text, registers).r(7)[0] == NAN


LESS, EQUAL, GREATER, UNORDERED = (0, ONE), (ONE, ONE), (ONE, 0), (NAN, ONE)


@pytest.mark.parametrize("code", range(16))
def test_every_condition(code) -> None:
    names = "never l e le g lg ge lge u lu eu leu gu lgu geu always".split()  # noqa: SIM905
    cases = (LESS, EQUAL, GREATER, UNORDERED)
    after = run(f"set $c1 $r7 {names[code]} f32 $r4 $r5", {4: [a for a, _ in cases], 5: [b for _, b in cases]})
    wanted = [code >> k & 1 for k in range(4)]
    assert after.r(7)[:4] == [0xFFFFFFFF * w for w in wanted]
    assert after.c(1)[:4] == [2 if w else 1 for w in wanted]


def test_minimum_and_maximum_of_special_operands() -> None:
    a, b = [NAN, ONE, NAN, MINUS, 0, TINY], [ONE, NAN, 0xFFFFFFFF, 0, MINUS, MINUS | TINY]
    low, high = run("min f32 $r7 $r4 $r5", {4: a, 5: b}), run("max f32 $r7 $r4 $r5", {4: a, 5: b})
    assert low.r(7)[:6] == [ONE, ONE, NAN, MINUS, MINUS, MINUS]
    assert high.r(7)[:6] == [ONE, ONE, NAN, 0, 0, 0]


def test_slct_copies_bits() -> None:
    third = [ONE, 0, MINUS, MINUS | TINY, f32(-1.0), NAN, INF]
    first, second = [0x11, 0, MINUS, 0x80000001, 5, 6, 7], [0x22] * 7
    after = run("slct b32 $c1 $r7 $r4 $r5 f32 $r6", {4: first, 5: second, 6: third})
    assert after.r(7)[:7] == [0x11, 0, MINUS, 0x80000001, 0x22, 0x22, 7]
    assert after.c(1)[:7] == [0, 1, 1, 2, 0, 0, 0]
    assert run("slct b32 $r7 $r4 $r5 f32 neg $r6", {4: 1, 5: 2, 6: ONE}).r(7)[0] == 2


def test_quadop_uses_the_operation_of_each_lane() -> None:
    x, s = [f32(v) for v in (1.0, 2.0, 4.0, 8.0)] * 8, [f32(16.0)] * LANES
    after = run("quadop f32 add subr sub mov2 $r7 l2 $r4 $r5", {4: x, 5: s})
    assert after.r(7)[4:8] == [f32(v) for v in (20.0, 12.0, -12.0, 16.0)]
    for flag, wanted in ((False, 0), (True, INF)):
        after = run("quadop f32 add add add add $r7 dx $r4 $r5", {4: x, 5: s}, nonfp_deriv_inf=flag)
        assert after.r(7) == [wanted] * LANES


def test_operands_from_memory() -> None:
    constants = {1: np.float32(5.0).tobytes() * 8}
    assert run("add rn f32 $r7 $r4 c1[0x8]", {4: ONE}, constants=constants).r(7)[0] == f32(6.0)
    params = np.float32(3.0).tobytes() + b"\x00\x80"
    assert run("mul rn f32 $r7 b32 s[0x10] $r4", {4: f32(2.0)}, params=params).r(7)[0] == f32(6.0)
    # A 16-bit access delivers 32 bits that are then read as a float: 0x8000 is a denormal.
    assert run("add rn f32 $r7 u16 s[0x14] $r4", {4: ONE}, params=params).r(7)[0] == ONE


def test_predicated_lanes_only() -> None:
    operands = {4: [f32(v) for v in range(LANES)], 5: f32(15.5), 7: 99}
    for condition, skipped in (("lg", range(16)), ("e", range(16, 32)), ("never", range(32))):
        predicate = f"({condition} $c0)" if condition != "never" else "(never)"
        after = run(f"set $c0 # g f32 $r4 $r5\n{predicate} add rn f32 $r7 $r4 $r5", operands)
        assert [k for k, v in enumerate(after.r(7)) if v == 99] == list(skipped)


def test_rounding_codes_nobody_tried_are_illegal() -> None:
    i = next(iter(isakit.isa("tesla", "gt200").disassemble([0xB001081D, 0x000187D0])))
    assert i.error == "ILLEGAL_OPCODE"
