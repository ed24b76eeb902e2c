"""The coefficient ROMs come out of their recipe, and the unit is about as accurate as its ROMs allow."""

from __future__ import annotations

import math
import struct
from pathlib import Path

import pytest

from isakit.sem.fp import _rom_data, roms, sfu
from isakit.sem.value import Value, const


@pytest.mark.parametrize("name", sorted(roms.ROMS))
def test_derivation_gives_the_checked_in_rows(name: str) -> None:
    rows = roms.derive(name)
    assert roms.packed(rows) == getattr(_rom_data, name.upper())
    assert all(abs(a) < 1 << 26 and abs(b) < 1 << 16 and abs(c) < 1 << 11 for a, b, c in rows)


def test_derivation_does_not_hang_on_the_grid() -> None:
    assert all(roms.derive(name, points=4097) == roms.derive(name) for name in roms.ROMS)


def test_generated_file_is_current() -> None:
    assert Path(_rom_data.__file__).read_text(encoding="utf-8") == roms.generated()


def f32(x: float) -> Value:
    return const(struct.unpack("<I", struct.pack("<f", x))[0], 32)


def number(v: Value) -> float:
    return struct.unpack("<f", struct.pack("<I", v.number))[0]


@pytest.mark.parametrize("x", [0.001, 0.3, 0.75, 1.0, 1.5, 2.718281828, 10.0, 100.25])
def test_functions_are_close(x: float) -> None:
    near = {"rel": 3e-7, "abs": 1e-6}
    x = number(f32(x))
    assert math.isclose(number(sfu.rcp(f32(x))), 1 / x, rel_tol=2e-7)
    assert math.isclose(number(sfu.rsqrt(f32(x))), x**-0.5, rel_tol=2e-7)
    assert number(sfu.lg2(f32(x))) == pytest.approx(math.log2(x), **near)
    assert number(sfu.ex2(sfu.preex2(f32(x)))) == pytest.approx(2.0**x, rel=1e-5)
    assert number(sfu.sin(sfu.presin(f32(x)))) == pytest.approx(math.sin(x), abs=2e-6 * max(1, x))
    assert number(sfu.cos(sfu.presin(f32(-x)))) == pytest.approx(math.cos(x), abs=2e-6 * max(1, x))


def test_truncated_square() -> None:
    for v in (0, 1, 0x1FFFF, 0x10000, 0x15555, 0x0F0F0):
        wanted = sum(v >> (18 - i) for i in range(17) if v >> i & 1) >> 1
        assert sfu.truncated_square(const(v, 32)).number == wanted
