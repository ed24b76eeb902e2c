"""Atomic operations of a whole warp at once leave what lanes leave that act one after the other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import isakit
from support.runners.tesla_kernels import SENT

KERNEL = f"""
.kernel update
{SENT}    add b32 $r1 b32 s[out] $r1
    ld b32 $r3 g14[$r1]
    mov b32 $r5 0x1
    and b32 $c0 $r6 $r3 $r5
    mov b32 $r4 0x0
    {{guard}}{{instruction}}
    exit st b32 g14[$r1] $r4
"""
LANES = np.arange(32)
PLACES = {
    "one word": np.full(32, 3),
    "a row": LANES + 2,
    "in reverse": 40 - LANES,
    "two words": 5 + (LANES & 1),
    "one lane elsewhere": np.where(LANES == 9, 20, 3),
}
NAMES = ("add u32", "exch b32", "inc u32", "dec u32", "max u32", "max s32", "min u32", "min s32", "and b32", "or b32",
         "xor b32")  # fmt: skip


def updated(instruction: str, guard: str, places: Any, seed: int, engine: str, tier: str) -> tuple[Any, Any]:
    """What lanes have afterwards, and memory."""
    device = isakit.Device("gt200", engine=engine, tier=tier)
    rng = np.random.default_rng(seed)
    data = device.alloc(4 * 64)
    device.write(data, rng.integers(0, 1 << 32, 64, dtype=np.uint32))
    text = KERNEL.format(instruction=instruction, guard=guard)
    kernel = device.load(isakit.isa("tesla", "gt200").assemble(text))["update"]
    out = rng.integers(0, 1 << 32, 32, dtype=np.uint32) >> rng.choice([0, 28])
    kernel[1, 32](out, (4 * places).astype(np.uint32), data)
    return out, device.read(data, np.uint32, 64)


@pytest.mark.parametrize("used", [False, True], ids=["red", "ld"])
@pytest.mark.parametrize(
    "name", [n if n in ("add u32", "exch b32", "max s32") else pytest.param(n, marks=pytest.mark.slow) for n in NAMES]
)
def test_memory_and_old_values_are_those_of_the_reference_machine(name: str, used: bool) -> None:
    loaded = "exch b32" if name == "exch b32" else f"ld {name}"
    instruction = f"{loaded} $r4 g14[$r2] $r3" if used else f"red {name} g14[$r2] $r3"
    for seed, places in enumerate(PLACES.values()):
        for guard in ("", "(lg $c0) "):
            expected = updated(instruction, guard, places, seed, "reference", "auto")
            for tier in ("jit", "interp"):
                got = updated(instruction, guard, places, seed, "llvm", tier)
                assert np.array_equal(got[0], expected[0])
                assert np.array_equal(got[1], expected[1])


@pytest.mark.parametrize("tier", ["jit", "interp"])
def test_a_comparison_and_swap_of_a_row_is_that_of_each_lane(tier: str) -> None:
    for places in PLACES.values():
        expected = updated("cas b32 $r4 g14[$r2] $r4 $r3", "", places, 1, "reference", "auto")
        got = updated("cas b32 $r4 g14[$r2] $r4 $r3", "", places, 1, "llvm", tier)
        assert np.array_equal(got[0], expected[0])
        assert np.array_equal(got[1], expected[1])
