"""Random programs on the core and on a second, slow pipeline: the same state after every cycle."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isakit.vuc import Core
from support.oracles.vuc_model import SHAPES, shape
from support.oracles.vuc_pipeline import Pipeline

SPECIALS = (12, 13, 14, 16, 17, 26)
NOP, LENGTH = 0x14000043, 40
NO_BRANCH = 0xFFC0000000


def word_of(rnd: random.Random, variant: str, at: int) -> int:
    """A random instruction; few registers, so that instructions meet."""
    few = (1, 2, 3)
    src1, src2, dst = (rnd.choice(few) for _ in range(3))
    pred = rnd.choice((0, 1, 2, 3, 15))
    guard = (rnd.random() < 0.2) << 29
    word = src1 << 8 | src2 << 12 | dst << 16 | pred << 20 | guard
    kind = rnd.random()
    if kind < 0.5:
        op = rnd.choice([o for o in SHAPES if shape(o, variant) is not None])
        mode = rnd.choice((0, 1, 2, 3, 3, 3, 4, 5, 6))
        word |= op | mode << 5
        special = rnd.choice(SPECIALS)
        where = rnd.random()
        if where < 0.2:
            word = word & ~(15 << 8) | (special & 15) << 8 | (special >> 4) << 24 | 1 << 26
        elif where < 0.4 and not (variant == "vp2" and special in (12, 13)):
            word = word & ~(15 << 16) | (special & 15) << 16 | (special >> 4) << 24 | 1 << 28
        if rnd.random() < 0.3:
            word |= 1 << 27
        return word
    word |= 0x14000000
    if kind < 0.65:
        return word | (rnd.random() < 0.7) << 27 | 0x81
    if kind < 0.72:
        return word | (rnd.random() < 0.7) << 27 | 0x80
    if kind < 0.85:
        ops = {"vp2": (0, 1, 2), "vp3": (0, 1, 2, 4, 8), "vp4": (0, 1, 2, 4, 8, 12)}[variant]
        return word | (rnd.random() < 0.3) << 27 | 0xA0 | rnd.choice(ops)
    if kind < 0.93:
        return word | 0x40 | rnd.choice((0, 1, 2, 4, 5, 6, 8, 13))
    if kind < 0.96 and at + 6 < LENGTH:
        return 0x14000000 | pred << 20 | guard | (at + rnd.randint(2, 5)) << 8
    return NOP


def compare(variant: str, seed: int) -> None:
    rnd = random.Random(seed)
    words = [word_of(rnd, variant, at) for at in range(LENGTH)] + [NOP] * 50
    core = Core(variant)
    core.load([w | NO_BRANCH for w in words] if variant == "vp2" else words)
    slow = Pipeline(variant, words)
    for n in range(1, 16):
        slow.state.r[n] = core.r[n] = rnd.getrandbits(16)
    slow.state.sr = {n: 0 for n in SPECIALS}
    cells = [rnd.getrandbits(16) for _ in range(0x800)]
    slow.data, core.data[:] = cells[:], cells
    chunk = rnd.choice((1, 1, 3, 7))
    for cycle in range(0, LENGTH + 36, chunk):
        core.step(chunk)
        for _ in range(chunk):
            slow.step()
        # both show what an instruction of the next cycle would see
        for w in sorted((w for w in slow.queue if w.visible <= slow.cycle), key=lambda w: (w.due, w.issue)):
            slow._apply(w)
        slow.queue = [w for w in slow.queue if w.visible > slow.cycle]
        place = f"{variant} seed {seed} cycle {cycle + chunk}"
        assert core.pc == slow.pc, place
        assert core.r == slow.state.r, place
        assert core.p == slow.state.p, place
        assert core.acc[0] == slow.state.acc, place
        assert core.long_view == slow.view, place
        assert [core.sr[n] for n in (16, 17, 26)] == [slow.state.sr[n] for n in (16, 17, 26)], place
        assert core.data == slow.data, place


@pytest.mark.parametrize("variant", ["vp2", "vp3", "vp4"])
@pytest.mark.parametrize("seed", [*range(40), 54, 5050])
def test_same_as_the_slow_pipeline(variant: str, seed: int) -> None:
    compare(variant, seed)


@settings(max_examples=20)
@given(st.sampled_from(["vp2", "vp3", "vp4"]), st.integers(1000, 1 << 30))
def test_same_as_the_slow_pipeline_somewhere_else(variant: str, seed: int) -> None:
    compare(variant, seed)
