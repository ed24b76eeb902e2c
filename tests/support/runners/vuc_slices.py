"""A vµc program on compiled code and on the reference core, in slices of random lengths."""

from __future__ import annotations

import random

from isakit.errors import MachineFault, NotModelled
from isakit.vuc import Core, Options
from support.generators.vuc_programs import LENGTH, everything, pair, program

WHOLE = 8
"""After so many slices everything is compared, which takes longer than they do; after the others what changes most."""


def _often(core: Core) -> object:
    return core.cycle, core.pc, core.npc, core.icnt, core.wait, list(core.r), list(core.p), core.acc, list(core.data)


def outcome(core: Core, cycles: int, until: int | None) -> object:
    try:
        return core.run(cycles, until=until)
    except (MachineFault, NotModelled) as e:
        return type(e), str(e)


def compare(variant: str, seed: int, cycles: int = 600) -> int:
    """Run one program on both; the number of cycles compiled code did."""
    rnd = random.Random(f"{variant} {seed}")
    odd = rnd.random() < 0.7
    options = Options(
        unknown_ops="ignore",
        full_stack="drop_oldest" if odd else "fault",
        empty_stack="zero" if odd else "fault",
        signed_relative=rnd.random() < 0.5,
        count_waits=rnd.random() < 0.3,
        return_offset=rnd.choice((2, 2, 1)),
        out_of_range=rnd.choice(("wrap", "wrap", "fault")),
    )
    a, b = pair(variant, program(rnd, variant, tame=seed % 2 == 0), rnd, options, "llvm")
    longest, slices = rnd.choice((1, 3, 20, 400)), 0
    while a.cycle < cycles:
        n, until = rnd.randint(1, longest), rnd.choice((None, None, None, rnd.randrange(LENGTH)))
        place = f"{variant} seed {seed} from cycle {a.cycle}"
        one, two = outcome(a, n, until), outcome(b, n, until)
        assert one == two, place
        ended = isinstance(one, tuple)
        slices += 1
        if ended or slices % WHOLE == 0 or a.cycle >= cycles:
            first, second = everything(a), everything(b)
            assert first == second, f"{place}: {[k for k in first if first[k] != second[k]]}"
        else:
            assert _often(a) == _often(b), place
        if ended:
            break
        if one.cycles == 0 or rnd.random() < 0.1:
            value = rnd.getrandbits(16)
            for core in (a, b):
                core.host["H2V"] = value
                if core.halted or until is not None:
                    core.start()
        if rnd.random() < 0.05:
            at, cell = rnd.randrange(0x800), rnd.getrandbits(16)
            a.data[at] = b.data[at] = cell
    return b.accelerator.__self__.native_cycles
