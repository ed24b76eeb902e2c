"""`li`, an instruction of the assembler only."""

from __future__ import annotations

import pytest

import isakit
from isakit import vuc
from isakit.errors import AsmError


@pytest.mark.parametrize("variant", ["vp2", "vp3", "vp4"])
def test_any_16_bit_number_is_loaded(variant: str) -> None:
    isa = isakit.isa("vuc", variant)
    numbers = sorted({*range(-8, 8), *range(0, 0x10000, 0x3FD), 0x3FFF, 0x4000, 0x7FFF, 0x8000, 0xBFFF, 0xC000, 0xFFFF,
                      -0x8000})  # fmt: skip
    for start in range(0, len(numbers), 8):
        some = numbers[start : start + 8]
        text = "\n".join([*(f"li $r{k + 1} {n}" for k, n in enumerate(some)), "sleep", "nop", "nop"])
        program = isa.assemble(text)
        assert len(program) <= 2 * len(some) + 3
        core = vuc.Core(variant)
        core.load(program)
        core.run(max_cycles=40)
        assert [core.r[k + 1] for k in range(len(some))] == [n & 0xFFFF for n in some]


def test_the_number_may_have_a_name_that_is_known() -> None:
    isa = isakit.isa("vuc", "vp3")
    assert isa.assemble("size = 0x4001\nli $r2 size").words == isa.assemble("li $r2 0x4001").words


@pytest.mark.parametrize(
    ("text", "message"),
    [("li $r1 0x10000", "is -0x8000 to 0xffff"), ("li $r1", "a register and a number"),
     ("li $r1 later\nlater = 3", "known here"), ("li $sr1 0x4001", "one special register only")],
)  # fmt: skip
def test_mistakes(text: str, message: str) -> None:
    with pytest.raises(AsmError, match=message):
        isakit.isa("vuc", "vp3").assemble(text)
