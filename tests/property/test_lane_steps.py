"""What is said about steps between lanes holds for the registers that the reference machine has there."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

import isakit
from isakit.machine.tesla.analysis.control_flow import Flow
from isakit.machine.tesla.analysis.lane_steps import Affine, KnownSteps, LaneSteps, has_thread_numbers_in_rows

REGISTERS = 10
ISA = isakit.isa("tesla", "gt200")
BLOCKS = [(64, 1, 1), (40, 1, 1), (32, 3, 1), (64, 2, 1), (512, 1, 1)]


def immediate(r: Random) -> int:
    return r.choice([0, 1, 3, 4, 0x7F, 0x7FE1, 0xFFE1, 0xFFFF, 0x10000, 0x7FFFFFFF, 0xFFFFFFFC, r.getrandbits(32)])


def line(r: Random) -> str:
    """An instruction whose result may have a step."""
    d, a, b = (r.randrange(REGISTERS) for _ in range(3))
    half = r.choice("lh")
    return r.choice([
        f"mov b32 $r{d} $r{a}",
        f"mov b32 $r{d} {immediate(r):#x}",
        f"mov b16 $r{d}{half} u16 s[{r.choice(['0x2', '0xc', '0x10', '0x12'])}]",
        f"mov b16 $r{d}{half} $r{a}{r.choice('lh')}",
        f"mov b32 $r{d} b32 s[{r.choice(['0x10', '0x14'])}]",
        f"cvt u32 $r{d} u16 $r{a}l",
        f"cvt u32 $r{d} u16 $r{a}{half}",
        f"cvt u32 $r{d} u32 $r{a}",
        f"cvt s32 $r{d} s16 $r{a}{half}",
        f"cvt u32 $r{d} u8 $r{a}",
        f"add b32 $r{d} $r{a} $r{b}",
        f"add b32 $r{d} $r{a} {immediate(r):#x}",
        f"add b32 $r{d} b32 s[0x10] $r{a}",
        f"add b16 $r{d}{half} $r{a}{r.choice('lh')} $r{b}{r.choice('lh')}",
        f"sub b32 $r{d} $r{a} $r{b}",
        f"subr b32 $r{d} $r{a} $r{b}",
        f"shl b32 $r{d} $r{a} {r.randrange(6):#x}",
        f"shl b32 $r{d} $r{a} $r{b}",
        f"shr u32 $r{d} $r{a} {r.choice([0, 2, 16]):#x}",
        f"and b32 $r{d} $r{a} {r.choice([0xFF, 0x1FF, 0xFFFF, 0xFFFFFF, immediate(r)]):#x}",
        f"or b32 $r{d} $r{a} $r{b}",
        f"xor b32 $r{d} $r{a} $r{b}",
        f"mul $r{d} u16 $r{a}{half} u16 $r{b}{r.choice('lh')}",
        f"mul $r{d} {r.choice('us')}16 $r{a}l {r.choice('us')}16 {r.choice([3, 0x100, 0x7fff, 0xffff]):#x}",
        f"mul $r{d} u24 $r{a} {r.choice([1, 5, 0x4000, 0x7fffff]):#x}",
        f"mul $r{d} {r.choice('us')}24 $r{a} $r{b}",
        f"add $r{d} (mul u16 u16 s[0xc] $r{a}l) $r{b}",
        f"add $r{d} (mul u24 $r{a} $r{b}) $r{d}",
        f"subr b32 $r{d} $r{a} {immediate(r):#x}",
        f"min u32 $r{d} $r{a} $r{b}",
        f"set $c0 $r{d} le u32 $r{a} $r{b}",
        f"(lg $c0) mov b32 $r{d} $r{a}",
        f"(eq $c0) shl b32 $r{d} $r{a} {r.randrange(6):#x}",
    ])  # fmt: skip


def assembled(lines: list[str]) -> tuple[str, Any]:
    """A kernel without the lines that have no form; forms differ in the operands they take."""
    while True:
        text = ".kernel k\n.param x u32\n.param y u32\n" + "".join(f"    {x}\n" for x in lines)
        try:
            return text, ISA.assemble(text)
        except isakit.errors.AsmError as e:
            refused = {d.line - 4 for d in e.diagnostics}
            lines = [x for k, x in enumerate(lines) if k not in refused]


def program(r: Random) -> tuple[str, Any]:
    """Registers that begin as numbers of threads or alike; then anything, some of it in a loop."""
    begin = [r.choice([f"mov b32 $r{n} $r0", f"cvt u32 $r{n} u16 $r0l", f"shl b32 $r{n} $r0 {r.randrange(4):#x}"])
             for n in range(1, REGISTERS // 2)]  # fmt: skip
    head, body, tail = ([line(r) for _ in range(r.randrange(10))] for _ in range(3))
    turn = ["mov b32 $r11 0xffffffff", "mov b32 $r12 0x3", "again:", *body, "add b32 $c1 $r12 $r12 $r11",
            "(lg $c1) bra #again"]  # fmt: skip
    middle = turn if r.random() < 0.5 else body
    return assembled([*begin, *head, *middle, *tail, "exit nop"])


def known_everywhere(steps: LaneSteps) -> dict[int, KnownSteps]:
    """What is said before each instruction."""
    out: dict[int, KnownSteps] = {}
    known: KnownSteps = {}
    for pc in steps.flow.order:
        known = steps.at.get(pc, {}) if pc in steps.flow.leaders else known
        out[pc] = known
        known = steps.after(steps.flow.steps[pc], known)
    return out


def holds(said: Affine | None, lanes: Any, bits: int) -> bool:
    if said is None:
        return True
    values = lanes.astype(np.uint64) & np.uint64((1 << bits) - 1)
    expected = values[0] + np.arange(32, dtype=np.uint64) * np.uint64(said.step) & np.uint64((1 << bits) - 1)
    return int(values.max()) <= said.most and np.array_equal(values, expected)


def wrong_claims(made: Any, block: tuple[int, int, int], parameters: tuple[int, int]) -> tuple[list[str], int]:
    """Claims that do not hold, and the number of claims of a step that is not 0."""
    machine = isakit.Device("gt200", engine="reference").load(made)["k"].machine((2, 1), block, parameters)
    code = machine.launch.code
    said = known_everywhere(LaneSteps(Flow(code, machine.launch.entry), code.registers))
    wrong, count = [], 0
    moved = machine.warps
    while moved:
        for w in moved:
            if w.active != 0xFFFFFFFF:
                continue
            for n, register in said[w.pc].items():
                now = machine.state.files["r"][n][w.lanes]
                count += sum(part is not None and part.step != 0 for part in register)
                if not holds(register.whole, now, 32) or not holds(register.half, now, 16):
                    wrong.append(f"{w.pc:#x} $r{n} {register} {now}")
        stepped = machine.step()
        moved = [] if stepped is None else [stepped]
    return wrong, count


@pytest.mark.parametrize("seed", range(40))
def test_claims_hold(seed: int) -> None:
    r = Random(seed)
    found = 0
    for _ in range(3):
        (text, made), block = program(r), r.choice(BLOCKS)
        assert has_thread_numbers_in_rows(block)
        wrong, count = wrong_claims(made, block, (r.getrandbits(32), immediate(r)))
        assert not wrong, f"{text}\n{block}\n{wrong[:3]}"
        found += count
    assert found


HEAD = """.kernel k
.param x u32
.param y u32
    mov b32 $r1 $r0
"""
GROWING = (
    HEAD
    + """
    mov b32 $r11 0xffffffff
    mov b32 $r12 0x6
again:
    add b32 $r1 $r1 0x3ffc
    cvt u32 $r2 u16 $r1l
    add b32 $c1 $r12 $r12 $r11
    (lg $c1) bra #again
    exit nop
"""
)


@pytest.mark.parametrize(
    ("first", "widened"),
    [
        (0xFFE1, "cvt u32 $r2 u16 $r1l"),
        (0xFFE1, "and b32 $r2 $r1 0xffff"),
        (0xFFE1, "mul $r2 u16 $r1l u16 0x3"),
        (0x7FE1, "mul $r2 s16 $r1l s16 0x3"),
        (0x7FE1, "cvt s32 $r2 s16 $r1l"),
        (0xE1, "and b32 $r2 $r1 0xff"),
        (0xFFFFE1, "mul $r2 u24 $r1 0x5"),
    ],
)
def test_a_number_that_wraps_around_within_a_warp_has_no_step_when_it_is_widened(first: int, widened: str) -> None:
    for begin in (first, first - 1, first - 33, 5):
        text = f"{HEAD}    add b32 $r1 $r1 {begin:#x}\n    {widened}\n    exit nop\n"
        assert wrong_claims(ISA.assemble(text), (64, 1, 1), (0, 0))[0] == []


def test_a_bound_that_grows_in_a_loop_is_given_up() -> None:
    """The lower half wraps around in the middle of a warp, but not in the first turns."""
    wrong, count = wrong_claims(ISA.assemble(GROWING), (64, 1, 1), (0, 0))
    assert not wrong
    assert count


def test_blocks_whose_rows_are_narrower_than_a_warp_have_no_steps() -> None:
    assert [has_thread_numbers_in_rows(b) for b in ((16, 2, 1), (48, 2, 1), (31, 1, 2), (1024, 1, 1))] == [False] * 4
