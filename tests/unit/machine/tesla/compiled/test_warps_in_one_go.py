"""Warps and blocks of a kernel without barriers run one after the other inside of compiled code: nobody can tell."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import isakit
from isakit import BudgetExceeded, MachineFault

KERNEL = """
.kernel row
.param out ptr
.param limit u32
    mov b16 $r1l u16 s[0x2]
    cvt u32 $r2 u16 $r0l
    add $r2 (mul u16 u16 s[0xc] $r1l) $r2
    shl b32 $r3 $r2 0x2
    add b32 $r3 b32 s[out] $r3
    mov b32 $r5 0x5
    mov b32 $r6 0xffffffff
    ld b32 $r4 g14[$r3]
again:
    add b32 $r4 $r4 $r2
    add b32 $c1 $r5 $r5 $r6
    (lg $c1) bra #again
    st b32 g14[$r3] $r4
    set $c0 # l u32 b32 s[limit] $r2
    (e $c0) ret
    mov b32 $r7 0x4
    exit st b32 g14[$r7] $r4
"""
THREADS, BLOCKS = 150, 3


def left(engine: str, tier: str, limit: int, **options: Any) -> tuple[Any, str]:
    """Memory after a launch, and what was said; threads above the limit store where nothing is."""
    device = isakit.Device("gt200", engine=engine, tier=tier, threads=1)
    kernel = device.load(isakit.isa("tesla", "gt200").assemble(KERNEL))["row"]
    out = device.alloc(4 * THREADS * BLOCKS)
    device.write(out, np.arange(THREADS * BLOCKS, dtype=np.uint32) * 7)
    said = ""
    try:
        stats = kernel.launch(BLOCKS, THREADS, out, np.uint32(limit), **options)
        said = f"{stats.instructions} {stats.warp_instructions}"
    except (MachineFault, BudgetExceeded) as e:
        said = f"{type(e).__name__} {e}"
    return device.read(out, np.uint32, THREADS * BLOCKS), said


@pytest.mark.parametrize("tier", ["jit", "interp"])
def test_memory_and_counts_are_those_of_the_reference_machine(tier: str) -> None:
    expected, got = left("reference", "auto", 1000), left("llvm", tier, 1000)
    assert np.array_equal(got[0], expected[0])
    assert got[1] == expected[1]


@pytest.mark.parametrize("limit", [5, 40, 64, 148, 200, 449])
def test_the_fault_of_a_warp_names_its_place_and_warps_behind_it_have_not_run(limit: int) -> None:
    compiled, interpreted = left("llvm", "jit", limit), left("llvm", "interp", limit)
    assert ("UNMAPPED" in compiled[1]) == (limit + 1 < THREADS * BLOCKS)
    assert compiled[1] == interpreted[1]
    assert np.array_equal(compiled[0], interpreted[0])


@pytest.mark.parametrize("limit", [5, 40, 200])
def test_the_fault_is_that_of_the_reference_machine(limit: int) -> None:
    assert left("llvm", "jit", limit)[1] == left("reference", "auto", limit)[1]


@pytest.mark.parametrize("budget", [1, 17, 60, 200])
def test_a_budget_ends_where_the_interpreter_ends(budget: int) -> None:
    compiled, interpreted = (left("llvm", tier, 1000, max_instructions=budget) for tier in ("jit", "interp"))
    assert compiled[1] == interpreted[1]
    assert np.array_equal(compiled[0], interpreted[0])


OWN_MEMORY = """
.kernel own
.param out ptr
.shared 0x80
.local 0x10
    mov b16 $r1l u16 s[0xe]
    mov b16 $r1h u16 s[0x8]
    mul $r2 u16 $r1l u16 $r1h
    cvt u32 $r7 u16 u16 s[0xc]
    add b32 $r2 $r2 $r7
    shl b32 $r2 $r2 0x7
    cvt u32 $r3 u16 $r0l
    shl b32 $r3 $r3 0x2
    add b32 $r2 $r2 $r3
    add b32 $r2 b32 s[out] $r2
    ld b32 $r4 l[0x4]
    add b32 $r4 b32 s[0x40] $r4
    mov $r5 $physid
    shl b32 $r5 $r5 0x8
    add b32 $r4 $r4 $r5
    mov b32 $r6 0x3
    st b32 s[0x40] $r6
    st b32 l[0x4] $r6
    exit st b32 g14[$r2] $r4
"""


@pytest.mark.parametrize("repeated", [1, 3])
def test_memory_of_every_block_is_new(repeated: int) -> None:
    found: list[Any] = []
    for engine, tier in (("reference", "auto"), ("llvm", "jit")):
        device = isakit.Device("gt200", engine=engine, tier=tier, threads=1)
        kernel = device.load(isakit.isa("tesla", "gt200").assemble(OWN_MEMORY))["own"]
        out = device.alloc(4 * 32 * 12)
        stats = [kernel[(4, 3), 32](out) for _ in range(repeated)]
        found.append((device.read(out, np.uint32, 32 * 12), [(s.instructions, s.warp_instructions) for s in stats]))
    assert np.array_equal(found[0][0], found[1][0])
    assert found[0][1] == found[1][1]
    assert len(set(found[0][0][::32] >> 16)) > 1, "blocks have places of their own on the chip"
