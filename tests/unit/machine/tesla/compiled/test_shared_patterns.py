"""Words of s[] through address registers whose lanes are in any order, inside of loops and outside of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import isakit
from isakit import MachineFault

KERNEL = """
.kernel shuffled
.param out ptr
.param where ptr
.shared 0x400
    cvt u32 $r1 u16 $r0l
    shl b32 $r1 $r1 0x2
    shl $a1 $r1 0x0
    add b32 $r2 b32 s[where] $r1
    ld b32 $r2 g14[$r2]
    shl $a2 $r2 0x0
    mov b32 $r3 0x9e3779b1
    mul $r4 u16 $r1l u16 $r3l
    st b32 s[$a1+0x40] $r4
    st b32 s[$a1+0xc0] $r3
    mov b32 $r5 0x3
    mov b32 $r6 0xffffffff
    mov b32 $r7 0x0
again:
    add b32 $r7 b32 s[$a2+0x40] $r7
    st b32 s[$a2+0x80] $r7
    add b32 $r7 b32 s[$a2+0x7c] $r7
    add b32 $c1 $r5 $r5 $r6
    (lg $c1) bra #again
    st b32 s[$a2+0x44] $r7
    add b32 $r7 b32 s[$a1+0x44] $r7
    xor b32 $r7 $r7 $r4
    add b32 $r1 b32 s[out] $r1
    exit st b32 g14[$r1] $r7
"""
LANES = np.arange(32)
PATTERNS = {
    "a row": LANES,
    "one word": np.full(32, 9),
    "reversed": 31 - LANES,
    "stride 2": 2 * LANES,
    "stride 3": 3 * LANES,
    "stride 7": 7 * LANES,
    "half warps": np.r_[LANES[:16], LANES[:16] + 40],
    "half warps, one word each": np.repeat([3, 50], 16),
    "permuted": LANES ^ 11,
    "scattered": (LANES * 13 + 5) % 200,
    "up to the end": 223 - LANES,
}


def shuffled(index: Any, engine: str, tier: str) -> Any:
    """What each thread makes of the words it is sent to."""
    device = isakit.Device("gt200", engine=engine, tier=tier)
    kernel = device.load(isakit.isa("tesla", "gt200").assemble(KERNEL))["shuffled"]
    out = np.zeros(32, np.uint32)
    kernel[1, 32](out, (4 * np.asarray(index)).astype(np.uint32))
    return out


@pytest.mark.parametrize("tier", ["jit", "interp"])
@pytest.mark.parametrize("pattern", PATTERNS)
def test_lanes_find_and_leave_the_words_they_are_sent_to(pattern: str, tier: str) -> None:
    expected = shuffled(PATTERNS[pattern], "reference", "auto")
    assert np.array_equal(shuffled(PATTERNS[pattern], "llvm", tier), expected)


@pytest.mark.parametrize("tier", ["jit", "interp"])
@pytest.mark.parametrize("bad", [0.5, 240, 16000])
def test_one_lane_that_is_sent_nowhere_is_the_fault_of_that_lane(bad: float, tier: str) -> None:
    index = (31 - LANES).astype(float)
    index[7] = bad
    said = []
    for engine, how in (("reference", "auto"), ("llvm", tier)):
        with pytest.raises(MachineFault) as e:
            shuffled(index, engine, how)
        said.append((e.value.lane, str(e.value)))
    assert said[0] == said[1]
    assert said[0][0] == 7
