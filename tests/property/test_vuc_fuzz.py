"""Random words as programs: whatever happens, it is an error of the library's own kind, and the state stays sound."""

from __future__ import annotations

import random

import pytest

from isakit.arch.vuc import vuc
from isakit.codec import decoder
from isakit.errors import MachineFault, NotModelled
from isakit.vuc import Core, Options, header_packet, lint


def valid_words(variant: str, rnd: random.Random, count: int) -> list[int]:
    d = decoder(vuc, variant)
    bits = d.view.variant.unit_bits
    out: list[int] = []
    while len(out) < count:
        word = rnd.getrandbits(bits)
        if rnd.random() < 0.4:
            word |= 0x14000000
        if d.one(word, 1).valid:
            out.append(word)
    return out


@pytest.mark.parametrize("variant", ["vp2", "vp3", "vp4"])
@pytest.mark.parametrize("seed", range(12))
def test_random_programs_end_in_known_ways(variant: str, seed: int) -> None:
    rnd = random.Random(f"{variant} {seed}")
    words = valid_words(variant, rnd, 0x800)
    core = Core(
        variant, Options(unknown_ops="ignore", full_stack="drop_oldest", empty_stack="zero") if seed % 2 else None
    )
    core.load(words)
    core.feed(header_packet(address=0, x=0, y=0, skip=True))
    core.host["WDCNT"] = 50
    core.host["MVSURF_OUT_PARM"], core.host["MVSURF_OUT_LEFT"] = 4, 0x404
    core.host["MVSURF_IN_PARM"], core.host["MVSURF_IN_LEFT"] = 4, 0x404
    for _ in range(20):
        try:
            core.run(40)
        except (MachineFault, NotModelled):
            break
        core.host["H2V"] = rnd.getrandbits(16)
    assert core.r[0] == 0
    assert core.p[1] == 1 - core.p[0]
    assert core.p[15] == 1
    assert all(0 <= v < 0x10000 for v in core.r)
    assert all(0 <= v < 0x10000 for v in core.data)
    assert all(0 <= core.sr[n] < 0x10000 for n in range(64))
    assert 0 <= core.acc[0] < 1 << 32
    core.state()


@pytest.mark.parametrize("variant", ["vp2", "vp3", "vp4"])
def test_linting_random_words_ends(variant: str) -> None:
    rnd = random.Random(variant)
    for f in lint(valid_words(variant, rnd, 60), variant):
        assert str(f)


def test_words_that_are_no_instructions() -> None:
    rnd, kinds = random.Random(7), set[str]()
    for variant, bits in (("vp2", 40), ("vp3", 30)):
        core = Core(variant)
        for _ in range(2000):
            core.set_code(0, rnd.getrandbits(bits))
            try:
                core.op(0)
            except MachineFault as e:
                kinds.add(e.kind)
    assert kinds == {"ILLEGAL_OPCODE"}
