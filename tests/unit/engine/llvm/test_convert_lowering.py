"""The hardware lowerings of conversions and of the comparison of doubles against the integer definitions."""

from __future__ import annotations

import itertools
import random
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from isakit.engine.codegen import compiled_operation
from isakit.engine.llvm import float_lowerings, host
from isakit.sem.fp import convert, convert64
from isakit.sem.fp.f64 import f64_compare
from support.runners.lowered import function

MODES = ("rn", "rz", "rm", "rp")
INTEGERS = ("u8", "s8", "u16", "s16", "u32", "s32")
MODIFIERS = ({}, {"negate": True}, {"absolute": True}, {"absolute": True, "negate": True})


def cases() -> list[tuple[Any, int, dict[str, Any]]]:
    """(operation, bits of the operand, static arguments) of every kind of conversion."""
    out: list[tuple[Any, int, dict[str, Any]]] = []
    for rounding in MODES:
        out += [(convert.i2f, 32, {"source": s, "to": "f32", "rounding": rounding}) for s in INTEGERS]
        out += [
            (convert64.i2f64, 32 if s[1:] == "32" else 64, {"source": s, "to": to, "rounding": rounding})
            for s, to in itertools.product(("u32", "s32", "u64", "s64"), ("f32", "f64"))
        ]
        for modifiers in MODIFIERS:
            out += [
                (convert.f2i, 32, {"source": s, "to": to, "rounding": rounding, **modifiers})
                for s, to in itertools.product(("f16", "f32"), ("u16", "s16", "u32", "s32"))
            ]
            out += [
                (convert64.f2i64, int(s[1:]), {"source": s, "to": to, "rounding": rounding, **modifiers})
                for s, to in itertools.product(("f32", "f64"), ("u32", "s32", "u64", "s64"))
            ]
            out.append((convert.f2f, 32, {"source": "f32", "to": "f16", "rounding": rounding, **modifiers}))
            out.append((convert.f2f, 32, {"source": "f16", "to": "f32", "rounding": rounding, **modifiers}))
        out += [
            (convert.f2f, 32, {"source": s, "to": "f32", "rounding": rounding, "integral": True})
            for s in ("f16", "f32")
        ]
        out += [
            (convert64.f2f64, int(s[1:]), {"source": s, "to": to, "rounding": rounding})
            for s, to in (("f32", "f64"), ("f64", "f32"))
        ]
        out.append((convert64.f2f64, 64, {"source": "f64", "to": "f64", "rounding": rounding, "integral": True}))
    return out


def numbers(bits: int, seed: int) -> Any:
    """Numbers of all kinds: near powers of two, near limits of integers, special floats, anything."""
    rng = random.Random(seed)
    fraction, bias, exponents = (23, 127, 255) if bits == 32 else (52, 1023, 2047)
    out = [0, 1, (1 << bits) - 1, 1 << (bits - 1), (1 << (bits - 1)) - 1]
    for power in (-1080, -150, -149, -127, -126, -125, -34, -33, -25, -24, -15, -14, -2, -1, 0, 7, 8, 15, 16, 31, 32,
                  63, 64, 127, 128):  # fmt: skip
        for delta in (-2, -1, 0, 1, 2):
            for sign in (0, 1):
                pattern = max(0, min(exponents, bias + power)) << fraction
                out.append((pattern + delta) % (1 << bits) | sign << (bits - 1))
    for half in (0.5, 1.5, 2.5, 65519.0, 65520.0, 65504.0, 2147483647.0, 4294967295.0, 3e-8, 6e-8):
        value = np.float32(half).view(np.uint32) if bits == 32 else np.float64(half).view(np.uint64)
        out += [int(value), int(value) ^ 1 << (bits - 1)]
    for _ in range(200):
        scale = rng.choice((rng.randrange(exponents + 1), bias + rng.randrange(-40, 70)))
        out.append(rng.getrandbits(1) << (bits - 1) | min(scale, exponents) << fraction | rng.getrandbits(fraction))
        out.append(rng.getrandbits(bits))
        out.append(rng.getrandbits(rng.randrange(1, bits + 1)))
    out += [0] * (-len(out) % 32)
    return np.array(out, np.uint64)


PARTS = 60
SHUFFLED = random.Random(3).sample(list(enumerate(cases())), len(cases()))


@pytest.mark.parametrize(
    "part", [part if part < 8 else pytest.param(part, marks=pytest.mark.slow) for part in range(PARTS)]
)
def test_conversions_equal_their_definition(part: int) -> None:
    for k, (op, bits, statics) in SHUFFLED[part::PARTS]:
        given = numbers(bits, k)
        definition = compiled_operation(op, tuple(statics.items()), (bits,), "scalar")
        wanted = np.array([definition(int(v)) for v in given], np.uint64)
        got = function(op, statics, 1, False, 64, bits)(given)
        wrong = np.flatnonzero(got != wanted)
        assert not len(wrong), [f"{op.name} {statics} {given[k]:x}: {got[k]:x} not {wanted[k]:x}" for k in wrong[:5]]


def test_all_halves_become_their_singles() -> None:
    given = np.arange(1 << 16, dtype=np.uint64)
    statics = {"source": "f16", "to": "f32"}
    got = function(convert.f2f, statics, 1, False, 64, 32)(given)
    exact = given.astype(np.uint16).view(np.float16).astype(np.float32)
    wanted = np.where(np.isnan(exact), np.uint32(0x7FFFFFFF), exact.view(np.uint32))
    assert np.array_equal(got, wanted.astype(np.uint64))


@pytest.mark.parametrize("bits", [0, 1, 6, 7, 9, 10, 13, 14])
def test_a_comparison_of_doubles_equals_its_definition(bits: int) -> None:
    a = numbers(64, 1)
    b = np.roll(a, bits + 1)
    b[::7] = a[::7]
    definition = compiled_operation(f64_compare, (), (64, 64), "scalar")
    wanted = np.array([int(definition(int(x), int(y)) & bits != 0) for x, y in zip(a, b, strict=True)], np.uint64)
    got = function(lambda x, y: ((f64_compare(x, y) & bits) != 0).zext(64), {}, 2, False, 64)(a, b)
    assert np.array_equal(got, wanted)


def test_every_conversion_is_done_by_the_processor() -> None:
    target = host()
    if not target.embedded:
        pytest.skip("needs AVX-512")
    assert {op.name for op, _, _ in cases()} <= set(float_lowerings.float_lowerings(target))
