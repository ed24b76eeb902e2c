"""Random vµc programs, and cores to run them on."""

from __future__ import annotations

import random
from typing import Any

from isakit.errors import MachineFault, NotModelled
from isakit.vuc import Core, Options, header_packet

VARIANTS = ("vp2", "vp3", "vp4")
NO_BRANCH, NOP, LENGTH = 0xFFC0000000, 0x14000043, 96
LONG_OPS = {"vp2": (0, 1, 2), "vp3": (0, 1, 2, 4, 8), "vp4": (0, 1, 2, 4, 8, 12, 12)}
COMMON_SPECIALS = (2, 3, 9, 10, 11, 12, 13, 14, 14, 15, 16, 17, 20, 22, 26, 27)
FAST_SPECIALS = (2, 12, 13, 14, 15, 16, 20, 22, 26)


def random_word(rnd: random.Random, variant: str, at: int, tame: bool) -> int:
    """An instruction on few registers, so that instructions meet; `tame` ones are mostly for compiled code."""
    few = (0, 1, 2, 3, 4)
    pred, guard = rnd.choice((0, 1, 2, 3, 5, 15)), (rnd.random() < 0.25) << 29
    word = rnd.choice(few) << 8 | rnd.choice(few) << 12 | rnd.choice(few) << 16 | pred << 20 | guard
    if rnd.random() < 0.1:
        word ^= rnd.getrandbits(4) << 12 | rnd.getrandbits(2) << 24
    immediate = (rnd.random() < 0.4) << 27
    kind = rnd.random()
    if kind < 0.5:
        word |= rnd.randrange(32) | rnd.choice((0, 1, 2, 3, 3, 4, 5, 6)) << 5 | immediate
        special = rnd.choice(FAST_SPECIALS if tame else COMMON_SPECIALS)
        if not tame and rnd.random() < 0.2:
            special = rnd.randrange(64)
        where = rnd.random()
        if where < 0.15:
            word = word & ~(15 << 8 | 3 << 24) | (special & 15) << 8 | (special >> 4) << 24 | 1 << 26
        elif where < 0.3:
            word = word & ~(15 << 16 | 3 << 24) | (special & 15) << 16 | (special >> 4) << 24 | 1 << 28
    elif kind < 0.62:
        space = 0 if tame or rnd.random() < 0.8 else rnd.randrange(8)
        word |= 0x14000000 | immediate | 0x80 | space << 1 | (rnd.random() < 0.6)
    elif kind < 0.75:
        word |= 0x14000000 | immediate | 0xA0 | rnd.choice(LONG_OPS[variant])
    elif kind < 0.85:
        word |= 0x14000000 | 0x40 | rnd.randrange(32)
    elif kind < 0.93:
        target = rnd.randrange(LENGTH) if rnd.random() < 0.5 else min(at + rnd.randint(1, 5), LENGTH - 1)
        flow = rnd.choice((0, 0, 0, 2, 3))
        word = 0x14000000 | pred << 20 | (rnd.random() < 0.7) << 29 | target << 8 | flow
    elif kind < 0.95 and not tame:
        word |= 0x14000000 | rnd.choice((0x20, 0x24, 0x28, 0x29, 0x2A, 4, 5, 6))
    else:
        word = NOP
    if variant != "vp2":
        return word
    if rnd.random() < 0.85:
        return word | NO_BRANCH
    return word | rnd.getrandbits(4) << 30 | rnd.choice((1, 2, 3, 60)) << 34


def program(rnd: random.Random, variant: str, tame: bool) -> list[int]:
    """Instructions that decode, and a tail of nops."""
    decodes = Core(variant)
    out: list[int] = []
    while len(out) < LENGTH:
        word = random_word(rnd, variant, len(out), tame)
        decodes.set_code(0, word)
        try:
            decodes.op(0)
        except (MachineFault, NotModelled):
            continue
        out.append(word)
    return [*out, *([NOP | NO_BRANCH * (variant == "vp2")] * 64)]


def everything(core: Core) -> dict[str, Any]:
    """All state, including what is under way."""
    inside = {
        "npc": core.npc,
        "wait": core.wait,
        "icnt": core.icnt,
        "long": core.long_view,
        "seen": core.predicates_seen(),
        "watch": (core.wdcnt, core.watch_at),
        "stat": (core.stat_bits, core.sr.stat()),
        "plain": list(core.sr.plain),
        "mb": core.mb,
        "serial": core.serial,
        "pending": [e.fields for e in core.pending],
    }
    return core.state() | inside


def pair(
    variant: str, words: list[int], rnd: random.Random, options: Options, second: str = "reference"
) -> tuple[Core, Core]:
    """Two cores with the same program and state, the first one on the reference engine."""
    cores = Core(variant, options, engine="reference"), Core(variant, options, engine=second)  # type: ignore[arg-type]
    values = [0] + [rnd.choice((rnd.getrandbits(16), rnd.randrange(0x7F0))) for _ in range(15)]
    cells = [rnd.getrandbits(16) for _ in range(0x800)]
    vectors = [rnd.getrandbits(16) for _ in range(64)]
    watchdog = rnd.choice((0xFFFF, 0xFFFF, rnd.randrange(200)))
    for core in cores:
        core.load(words)
        core.r[:], core.data[:] = values, cells
        for k in range(64):
            core.mb.vectors[k] = vectors[k]
        core.feed(header_packet(address=0, x=0, y=0))
        core.host["WDCNT"] = watchdog
        core.host["MVSURF_OUT_PARM"], core.host["MVSURF_OUT_LEFT"] = 4, 0x404
        core.host["MVSURF_IN_PARM"], core.host["MVSURF_IN_LEFT"] = 4, 0x404
    return cores
