"""Words that the lanes of a warp load from a few neighbouring lines, in any order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import isakit
from isakit import MachineFault

SHIFTED = """
.kernel gathered
.param out ptr
.param where ptr
.param data ptr
    cvt u32 $r1 u16 $r0l
    shl b32 $r1 $r1 0x2
    add b32 $r2 b32 s[where] $r1
    ld b32 $r2 g14[$r2]
    add b32 $r2 b32 s[data] $r2
    ld b32 $r3 g14[$r2]
    ld b32 $r3 g14[$r2]
    add b32 $r1 b32 s[out] $r1
    exit st b32 g14[$r1] $r3
"""
WORDS = 100
"""Of the buffer: its end lies inside of a window."""
LANES = np.arange(32)
PATTERNS = {
    "reversed": 31 - LANES,
    "one word": np.full(32, 5),
    "pairs": LANES // 2,
    "stride 2": 2 * LANES,
    "stride 2, odd": 2 * LANES + 1,
    "stride 3": 3 * LANES,
    "across a line": LANES[::-1] + 20,
    "before the first lane": np.r_[60, LANES[1:]],
    "the last words": WORDS - 1 - LANES,
    "permuted": LANES ^ 11,
}


def gathered(index: Any, engine: str, tier: str) -> Any:
    """The words that the lanes load, twice in a row: the second time the buffer is the one that was hit last."""
    device = isakit.Device("gt200", engine=engine, tier=tier)
    data = device.alloc(4 * WORDS)
    device.write(data, np.arange(WORDS, dtype=np.uint32) * 0x01010101)
    kernel = device.load(isakit.isa("tesla", "gt200").assemble(SHIFTED))["gathered"]
    out = np.zeros(32, np.uint32)
    kernel[1, 32](out, (4 * np.asarray(index)).astype(np.int64).astype(np.uint32), data)
    return out


@pytest.mark.parametrize("tier", ["jit", "interp"])
@pytest.mark.parametrize("pattern", PATTERNS)
def test_every_lane_gets_its_word(pattern: str, tier: str) -> None:
    index = PATTERNS[pattern]
    assert np.array_equal(gathered(index, "llvm", tier), index.astype(np.uint32) * 0x01010101)


@pytest.mark.parametrize("tier", ["jit", "interp"])
def test_random_patterns_near_each_other_give_their_words(tier: str) -> None:
    rng = np.random.default_rng(4)
    for _ in range(20):
        index = rng.integers(0, WORDS, 32) if rng.random() < 0.3 else rng.integers(0, 36) + rng.integers(0, 64, 32)
        assert np.array_equal(gathered(index, "llvm", tier), index.astype(np.uint32) * 0x01010101)


@pytest.mark.parametrize("bad", [WORDS, WORDS + 20, -3])
def test_a_word_behind_the_buffer_is_a_fault_of_its_lane_in_any_pattern(bad: int) -> None:
    index = LANES[::-1] + (WORDS - 40 if bad > 0 else 0)
    index[7] = bad
    said = []
    for engine in ("reference", "llvm"):
        with pytest.raises(MachineFault) as e:
            gathered(index, engine, "jit" if engine == "llvm" else "auto")
        said.append((e.value.kind, e.value.lane, str(e.value)))
    assert said[0] == said[1]
    assert said[0][1] == 7


def test_a_misaligned_word_is_a_fault_of_its_lane() -> None:
    index = LANES[::-1].astype(float)
    index[9] += 0.5
    said = []
    for engine in ("reference", "llvm"):
        with pytest.raises(MachineFault) as e:
            gathered(index, engine, "jit" if engine == "llvm" else "auto")
        said.append(str(e.value))
    assert said[0] == said[1]
