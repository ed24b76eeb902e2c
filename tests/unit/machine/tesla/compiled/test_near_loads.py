"""Words that the lanes of a warp load and store in a few neighbouring lines, in any order, also inside of loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import isakit
from isakit import MachineFault
from support.runners.tesla_kernels import SENT

SHIFTED = f"""
.kernel gathered
{SENT}    mov b32 $r4 0x2
    mov b32 $r5 0xffffffff
again:
    ld b32 $r3 g14[$r2]
    add b32 $c1 $r4 $r4 $r5
    (lg $c1) bra #again
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


TOUCHED = f"""
.kernel touched
{SENT}    add b32 $r6 b32 s[out] $r1
    ld b32 $r7 g14[$r6]
    mov b32 $r4 0x2
    mov b32 $r5 0xffffffff
again:
    ld {{type}} $r3 g14[$r2]
    st {{stored}} g14[$r2] $r7
    add b32 $r7 $r7 $r3
    add b32 $c1 $r4 $r4 $r5
    (lg $c1) bra #again
    exit st b32 g14[$r6] $r7
"""
SIZES = {"u8": 1, "s8": 1, "u16": 2, "s16": 2, "b32": 4}


def touched(kind: str, index: Any, engine: str, tier: str, start: int) -> tuple[Any, Any]:
    """What lanes have and what memory holds after two loads and stores each at their own element of a buffer."""
    device = isakit.Device("gt200", engine=engine, tier=tier)
    data = device.alloc(4 * WORDS)
    rng = np.random.default_rng(6)
    device.write(data, rng.integers(0, 1 << 32, WORDS, dtype=np.uint32))
    stored = "b32" if kind == "b32" else f"u{8 * SIZES[kind]}"
    source = TOUCHED.format(type=kind, stored=stored)
    kernel = device.load(isakit.isa("tesla", "gt200").assemble(source))["touched"]
    out = rng.integers(0, 1 << 32, 32, dtype=np.uint32)
    kernel[1, 32](out, (SIZES[kind] * (np.asarray(index) + start)).astype(np.uint32), data)
    return out, device.read(data, np.uint32, WORDS)


@pytest.mark.parametrize("kind", SIZES)
@pytest.mark.parametrize("pattern", [*PATTERNS, "row", "reversed up to the end"])
def test_loads_and_stores_of_all_sizes_leave_what_the_reference_machine_leaves(pattern: str, kind: str) -> None:
    index = {"row": LANES, "reversed up to the end": 4 * WORDS // SIZES[kind] - 1 - LANES, **PATTERNS}[pattern]
    expected = touched(kind, index, "reference", "auto", 0)
    for tier in ("jit", "interp"):
        got = touched(kind, index, "llvm", tier, 0)
        assert np.array_equal(got[0], expected[0])
        assert np.array_equal(got[1], expected[1])


UNIFORM = """
.kernel alike
.param out ptr
.param data ptr
.param at u32
    cvt u32 $r1 u16 $r0l
    shl b32 $r1 $r1 0x2
    add b32 $r1 b32 s[out] $r1
    mov b32 $r2 b32 s[data]
    add b32 $r2 b32 s[at] $r2
    mov b32 $r4 0x4
    mov b32 $r5 0xffffffff
    mov b32 $r3 0x0
again:
    ld {kind} $r6 g14[$r2]
    add b32 $r3 $r3 $r6
    add b32 $r2 $r2 {size:#x}
    add b32 $c1 $r4 $r4 $r5
    (lg $c1) bra #again
    exit st b32 g14[$r1] $r3
"""


def alike(kind: str, at: int, engine: str, tier: str) -> Any:
    """The sum of four elements that all lanes load from the same addresses."""
    device = isakit.Device("gt200", engine=engine, tier=tier)
    data = device.alloc(4 * WORDS)
    device.write(data, np.random.default_rng(2).integers(0, 1 << 32, WORDS, dtype=np.uint32))
    source = UNIFORM.format(kind=kind, size=SIZES[kind])
    kernel = device.load(isakit.isa("tesla", "gt200").assemble(source))["alike"]
    out = np.zeros(32, np.uint32)
    kernel[1, 32](out, data, np.uint32(at))
    return out


@pytest.mark.parametrize("kind", SIZES)
def test_an_address_that_all_lanes_have_is_loaded_for_all(kind: str) -> None:
    expected = alike(kind, 8, "reference", "auto")
    assert expected[0] != 0
    for tier in ("jit", "interp"):
        assert np.array_equal(alike(kind, 8, "llvm", tier), expected)


@pytest.mark.parametrize("at", [4 * WORDS - 4, -8, 2])
def test_an_address_of_all_lanes_that_is_not_good_is_a_fault_of_the_first_lane(at: int) -> None:
    said = []
    for engine in ("reference", "llvm"):
        with pytest.raises(MachineFault) as e:
            alike("b32", at & 0xFFFFFFFF, engine, "jit" if engine == "llvm" else "auto")
        said.append(str(e.value))
    assert said[0] == said[1]
