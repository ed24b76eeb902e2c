"""Special registers are registers for those who ask an instruction, and questions of their own for the machine."""

from __future__ import annotations

import numpy as np
import pytest

import isakit
from isakit import SpecialRegister


@pytest.mark.parametrize(
    ("variant", "name", "number"), [("g80", "sr8", 8), ("gt215", "sampleid", 8), ("g80", "pm2", 6)]
)
def test_the_operand_says_which_register_it_is(variant: str, name: str, number: int) -> None:
    isa = isakit.isa("tesla", variant)
    i = isa.assemble(f"mov $r3 ${name}")[0]
    operand = i.operands[1]
    assert isinstance(operand, SpecialRegister)
    assert (operand.label, operand.index, operand.file, str(operand)) == (name, number, "sr", f"${name}")
    assert (i.reads, i.uses, i.defs) == ((f"${name}",), (), (("r", 3),))
    assert isa.build("mov", dst=i.operands[0], special=operand).word == i.word
    assert isa.assemble(f"mov $r3 $sr{number}")[0].word == i.word


@pytest.mark.parametrize("engine", ["reference", "llvm"])
def test_every_register_reads_what_is_its_own(engine: str) -> None:
    text = """
        .kernel k
        .param out ptr
        and b32 $r1 $r0 0xffff
        shl b32 $r1 $r1 0x3
        mov b32 $r3 b32 s[out]
        add b32 $r1 $r1 $r3
        mov $r2 $physid
        st b32 g14[$r1] $r2
        add b32 $r1 $r1 0x4
        mov $r2 $sr3
        exit st b32 g14[$r1] $r2
    """
    out = np.zeros((32, 2), np.uint32)
    isakit.Device("gt200", engine=engine).load(isakit.isa("tesla", "gt200").assemble(text))["k"][1, 32](out)
    assert (out[:, 0] & 0xFF).tolist() == list(range(32))
    assert (out[:, 1] == 0x20).all()
