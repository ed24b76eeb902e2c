"""Every opcode with every predicate mode and every kind of operand, run on the core, against plain integers."""

from __future__ import annotations

import itertools
import random

import pytest

from isakit.machine.vuc import CoreMachine
from support.oracles.vuc_model import SELECT, State, run_base, run_long, run_predicate, shape

VARIANTS = ("vp2", "vp3", "vp4")
SPECIALS = (16, 17, 18, 26)  # mvxl0 mvyl0 mvxl1 qpc: plain storage on every variant
NO_BRANCH = 0xFFC0000000
NOP = 0x14000043
VALUES = (0, 1, 2, 3, 5, 15, 16, 31, 0x55AA, 0x7FFE, 0x7FFF, 0x8000, 0x8001, 0xAA55, 0xFFF0, 0xFFFE, 0xFFFF)


def random_state(rnd: random.Random) -> State:
    s = State()
    s.r = [0] + [rnd.choice(VALUES) if rnd.random() < 0.6 else rnd.getrandbits(16) for _ in range(15)]
    for n in (0, *range(2, 15)):
        s.p[n] = rnd.getrandbits(1)
    s.p[1] = 1 - s.p[0]
    s.sr = {n: rnd.choice(VALUES) if rnd.random() < 0.5 else rnd.getrandbits(16) for n in SPECIALS}
    s.acc = rnd.choice((0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, rnd.getrandbits(32), rnd.getrandbits(32)))
    return s


class Bench:
    """One core that runs single words from given states."""

    def __init__(self, variant: str) -> None:
        self.variant = variant
        self.core = CoreMachine(variant)
        self.lead = NO_BRANCH if variant == "vp2" else 0
        self.core.load_words([self.lead | NOP] * 64)

    def run(self, word: int, before: State, cycles: int = 4) -> State:
        core = self.core
        core.set_code(0, self.lead | word)
        core.start()
        core.r[:], core.p[:] = before.r, before.p
        core.acc[0] = core.long_view = before.acc
        for n, v in before.sr.items():
            core.sr[n] = v
        core.advance(core.cycle + cycles)
        assert not core.pending
        assert core.long_view == core.acc[0]
        return State(core.r[:], core.p[:], {n: core.sr[n] for n in before.sr}, core.acc[0])


@pytest.fixture(scope="module", params=VARIANTS)
def bench(request: pytest.FixtureRequest) -> Bench:
    return Bench(request.param)


def specials_in(rnd: random.Random, word: int, ot: tuple[int, int]) -> int:
    """Make the special register a word names one of SPECIALS."""
    number = rnd.choice(SPECIALS)
    at = {(1, 0): 8, (0, 1): 16}.get(ot)  # (OT0, OT1): SRC1 or DST holds the low bits
    if at is None:
        return word
    return word & ~(3 << 24) & ~(15 << at) | (number >> 4) << 24 | (number & 15) << at


def test_every_base_opcode_mode_and_operand_kind(bench: Bench) -> None:
    rnd = random.Random(f"base {bench.variant}")
    seen: set[tuple[int, ...]] = set()
    for op, mode, ot, immf, pe in itertools.product(
        range(32), range(8), ((0, 0), (1, 0), (0, 1)), (0, 1), (0, 1)
    ):  # fmt: skip
        if op == 0x1C or shape(op, bench.variant) is None:
            continue
        for _ in range(1):
            word = op | mode << 5 | rnd.getrandbits(18) << 8 | ot[0] << 26 | immf << 27 | ot[1] << 28 | pe << 29
            word = specials_in(rnd, word, ot)
            before = random_state(rnd)
            assert bench.run(word, before) == run_base(word, bench.variant, before), hex(word)
            seen.add((op, mode, *ot, immf, pe))
    assert len(seen) == (24 if bench.variant == "vp2" else 27) * 8 * 3 * 2 * 2


def test_base_opcodes_on_edge_values(bench: Bench) -> None:
    """All pairs of interesting sources, results and predicate outputs of every operation with two sources."""
    for op in range(32):
        if op in (0x00, 0x01, 0x1C) or shape(op, bench.variant) is None:
            continue
        for a, b in itertools.product(VALUES, VALUES):
            word = op | 2 << 5 | 1 << 8 | 2 << 12 | 3 << 16 | 4 << 20
            before = State()
            before.r[1], before.r[2] = a, b
            assert bench.run(word, before, 1) == run_base(word, bench.variant, before), (hex(op), a, b)


def test_selectors(bench: Bench) -> None:
    rnd = random.Random("slct")
    assert shape(0, bench.variant) == SELECT
    for selector in range(16):
        word = 0x60 | 1 << 8 | 2 << 12 | 3 << 16 | selector << 20
        for _ in range(4):
            before = random_state(rnd)
            assert bench.run(word, before) == run_base(word, bench.variant, before)


def test_every_predicate_operation(bench: Bench) -> None:
    rnd = random.Random(f"predicates {bench.variant}")
    for op, pe, _ in itertools.product(range(32), (0, 1), range(8)):
        word = 0x14000040 | op | rnd.getrandbits(18) << 8 & 0x00FFFF00 | pe << 29
        before = random_state(rnd)
        assert bench.run(word, before) == run_predicate(word, before), hex(word)


@pytest.mark.parametrize("op", [0x00, 0x01, 0x02, 0x04, 0x08, 0x0C])
def test_every_long_operation(bench: Bench, op: int) -> None:
    if (op in (0x04, 0x08) and bench.variant == "vp2") or (op == 0x0C and bench.variant != "vp4"):
        pytest.skip("not on this variant")
    rnd = random.Random(f"long {op}")
    for immf, pe, _ in itertools.product((0, 1), (0, 1), range(25)):
        word = 0x140000A0 | op | rnd.getrandbits(18) << 8 | immf << 27 | pe << 29
        before = random_state(rnd)
        assert bench.run(word, before, 40) == run_long(word, before), hex(word)


def test_random_base_words(bench: Bench) -> None:
    rnd = random.Random(f"random {bench.variant}")
    done = 0
    while done < 1000:
        word = rnd.getrandbits(30)
        ot = (word >> 26 & 1, word >> 28 & 1)
        if ot == (1, 1) or word & 31 == 0x1C or shape(word & 31, bench.variant) is None:
            continue
        word = specials_in(rnd, word, ot)
        before = random_state(rnd)
        assert bench.run(word, before) == run_base(word, bench.variant, before), hex(word)
        done += 1
