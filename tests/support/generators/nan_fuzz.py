"""Random Tesla kernels full of NaNs: where may a compiled kernel keep NaNs of the host, and where would it show?

Sums, products and comparisons of registers that hold NaNs of many payloads and both signs, between instructions that
look at bits (moves, integer operations, minimum, conversions, stores), in loops, branches, after barriers, under
predicates, and with faults that hand a warp to the reference machine.
"""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np

from support.generators import fuzz
from support.generators.fuzz_instructions import DATA
from support.generators.fuzz_kernels import Generator

BLIND = 0.85
"""How many of the instructions treat all NaNs alike."""

RELATIONS = ("l", "g", "e", "lg", "le", "ge", "u", "lu", "leu")


def instruction(r: Random) -> str:
    """One instruction, with a guard now and then."""

    def reg() -> str:
        return f"$r{r.randrange(DATA)}"

    def operand() -> str:
        return r.choice(["", "", "neg ", "abs "]) + reg()

    d, sign = reg(), r.choice(["", "neg "])
    if r.random() < BLIND:
        line = r.choice(
            [
                f"add rn f32 {d} {operand()} {operand()}",
                f"add rz f32 {d} {operand()} {operand()}",
                f"add f32 {d} {sign}{reg()} {reg()}",
                f"mul rn f32 {d} {operand()} {operand()}",
                f"mul rz f32 {d} {sign}{reg()} {reg()}",
                f"add f32 {d} (mul {sign}{reg()} {reg()}) {reg()}",
                f"set $c{r.randrange(2)} # {r.choice(RELATIONS)} f32 {reg()} {reg()}",
                f"set $c1 {d} {r.choice(RELATIONS)} f32 {operand()} {operand()}",
            ]
        )
    else:
        line = r.choice(
            [
                f"mov b32 {d} {reg()}",
                f"xor b32 {d} {reg()} {reg()}",
                f"add b32 {d} {reg()} {reg()}",
                f"and b32 {d} {reg()} 0x7fffffff",
                f"min f32 {d} {operand()} {operand()}",
                f"max f32 {d} {operand()} {operand()}",
                f"cvt rn f32 {d} f32 {sign}{reg()}",
                f"cvt rni s32 {d} f32 {reg()}",
                f"add sat f32 {d} {reg()} {reg()}",
                f"mov b32 {d} 0x{r.choice(fuzz.SPECIAL):x}",
                f"mov b16 {d}l {reg()}h",
                f"st b32 g14[$r15] {reg()}",
                f"ld b32 {d} g14[$r15]",
            ]
        )
    return r.choice(["(lg $c0) ", "(l $c1) "]) + line if r.random() < 0.12 else line


class NanGenerator(Generator):
    """Writes one kernel."""

    def program(self) -> str:
        r = self.random
        self.grid, self.block, self.flags = 1, r.choice([32, 32, 64, 40]), {}
        self.budget = r.randrange(20, 200) if self.block == 32 and r.random() < 0.15 else None
        self.start()
        self.body(r.randrange(8, 20), 2)
        if r.random() < 0.15:
            self.add("mov b32 $r13 0x4", "ld b32 $r1 g14[$r13]")  # faults, or does so in some lanes
        if r.random() < 0.1:
            self.add("trap")
        self.finish()
        return self.complete()

    def body(self, n: int, depth: int) -> None:
        """Some statements."""
        r = self.random
        for _ in range(n):
            roll = r.random()
            if depth and roll < 0.10:
                other, end = self.label(), self.label()
                self.add(f"joinat #{end}", "set $c2 # l f32 $r1 $r2", f"(lg $c2) bra #{other}")
                self.body(r.randrange(1, 5), depth - 1)
                self.add(f"bra #{end}")
                self.place(other)
                self.body(r.randrange(0, 4), depth - 1)
                self.place(end)
                self.add("join nop")
            elif depth and roll < 0.2:
                top, counter = self.label(), f"$r{8 + depth}"
                self.add(f"mov b32 {counter} {r.randrange(2, 5):#x}")
                self.place(top)
                self.body(r.randrange(1, 7), depth - 1)
                self.add(f"add b32 {counter} {counter} 0xffffffff", f"and b32 $c3 # {counter} {counter}")
                self.add(f"(lg $c3) bra #{top}")
            elif depth == 2 and roll < 0.24:
                self.add("bar inc wait 0x0 0xfff")
            else:
                self.one(instruction(r))

    def one(self, line: str) -> None:
        """An instruction, if the chip has it."""
        found = self.instructions.assembled(line)
        if found is not None:
            self.add(line)
            if found.size == 4 and self.instructions.assembled("long " + line) is None:
                self.add("mov b16 $r0l $r0l")  # 8-byte instructions start at multiples of 8


def kernel(seed: int) -> fuzz.Fuzzed:
    """The kernel of a seed; its inputs are NaNs by half."""
    g = NanGenerator(seed)
    k = fuzz.prepared(seed, g.chip, g.text, g.grid, g.block, g.flags, g.budget)
    rng = np.random.default_rng(seed)
    nans = rng.integers(1, 1 << 23, k.inputs.shape, dtype=np.uint32) | np.uint32(0x7F800000)
    nans |= rng.integers(0, 2, k.inputs.shape, dtype=np.uint32) << np.uint32(31)
    odd = rng.random(k.inputs.shape) < 0.5
    k.inputs[odd] = nans[odd]
    return k


def compare(seed: int, ways: list[tuple[str, dict[str, Any]]]) -> list[str]:
    """Run the kernel of a seed on the reference engine and in other ways; returns what differs."""
    k = kernel(seed)
    wanted = fuzz.run(k, "reference")
    found: list[str] = []
    for engine, how in ways:
        difference = wanted.difference(fuzz.run(k, engine, **how))
        if difference:
            found.append(f"NaNs {seed} ({k.chip}), {engine} {how}: {difference}")
    return found
