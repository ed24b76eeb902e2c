"""The newcomer's test: one file of twenty lines is a whole instruction with an operand kind of its own."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import isakit
from isakit.docsgen import instruction_page

FILE = Path(__file__).parent.parent / "support" / "generators" / "newcomers_tesla.py"
TEXT = "frobnicate $r1 [$r2+0x8] $r3"


@pytest.fixture
def isa() -> Iterator[isakit.Isa]:
    found = isakit.isa("tesla", "gt200")
    known = list(found.records.records)
    sys.modules.pop("support.generators.newcomers_tesla", None)
    importlib.import_module("support.generators.newcomers_tesla")
    (record,) = (r for r in found.records.records if r not in known)
    yield found
    found.records.remove(record)
    sys.modules.pop("support.generators.newcomers_tesla")


def test_the_file_has_at_most_twenty_lines_of_code() -> None:
    assert len([line for line in FILE.read_text().splitlines() if line.strip()]) <= 20


def test_text_becomes_words_and_text_again(isa: isakit.Isa) -> None:
    program = isa.assemble(f"{TEXT}\nexit frobnicate $r1 [$r2+0x1f] c1[0x10]")
    assert [i.text for i in program] == [TEXT, "exit frobnicate $r1 [$r2+0x1f] c1[0x10]"]
    assert isa.disassemble(program.to_bytes())[0].text == TEXT
    with pytest.raises(isakit.AsmError, match="does not fit here"):
        isa.assemble("frobnicate $r1 [$r2+0x20] $r3")


def test_it_is_built_from_its_own_operands(isa: isakit.Isa) -> None:
    i = isa.assemble(TEXT)[0]
    assert isa.build("frobnicate", **{o.name: o for o in i.operands}).word == i.word
    assert (i.defs, i.uses) == ((("r", 1),), (("r", 2), ("r", 3)))


def test_every_bit_is_explained(isa: isakit.Isa) -> None:
    meanings = {(r.field, r.bits): r.meaning for r in isa.explain(TEXT)}
    assert meanings["src1", "w0[15:9]"] == "$r2"
    assert meanings["src1", "w1[18:14]"] == "0x8"
    assert not any(r.field == "unknown" for r in isa.explain(TEXT))


def test_it_has_a_page_of_the_manual(isa: isakit.Isa) -> None:
    page = instruction_page(isa.records, isa.records.records[-1])
    assert "DST = SRC1 rotated left + SRC2" in page
    assert "frobnicate dst src1 src2" in page


@pytest.mark.parametrize("options", [{"engine": "reference"}, {"tier": "interp"}, {"tier": "jit"}], ids=str)
def test_every_engine_executes_it(isa: isakit.Isa, options: dict[str, str]) -> None:
    source = """
        .kernel k
        .param out ptr
            and b32 $r2 $r0 0xff
            xor b32 $r2 $r2 0x80012300
            mov b32 $r3 0x11
            frobnicate $r1 [$r2+0x8] $r3
            and b32 $r0 $r0 0xff
            shl b32 $r0 $r0 0x2
            add b32 $r0 b32 s[out] $r0
            exit st b32 g14[$r0] $r1
    """
    out = np.zeros(32, np.uint32)
    isakit.Device("gt200", **options).load(isa.assemble(source))["k"][1, 32](out)
    x = np.arange(32, dtype=np.uint32) ^ np.uint32(0x80012300)
    assert (out == (x << np.uint32(8) | x >> np.uint32(24)) + np.uint32(0x11)).all()
