"""An instruction with an operand kind of its own, for vµc and the USSE: one file of twenty lines says all of it."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import isakit
from isakit import usse, vuc
from isakit.docsgen import instruction_page
from isakit.engine.llvm import host
from isakit.spec.operands import Memory, Register
from support.runners.usse_engines import compare

SUPPORT = Path(__file__).parents[2] / "support/generators"
TEXTS = {"vuc": "frobsum $r1 heap[$r2:0x7]", "usse": "frobsum r1 heap[r2+0x7]"}
PLACES = {"vuc": Register("r", 1, 16), "usse": Register("r", 1, 32)}


def defined(name: str) -> Iterator[isakit.Isa]:
    """The instruction set with the newcomer's instruction, for a while."""
    found = isakit.isa(name)
    known = list(found.records.records)
    module = f"support.generators.newcomers_{name}"
    sys.modules.pop(module, None)
    importlib.import_module(module)
    (record,) = (r for r in found.records.records if r not in known)
    yield found
    found.records.remove(record)
    sys.modules.pop(module)


@pytest.fixture(params=["vuc", "usse"])
def isa(request: pytest.FixtureRequest) -> Iterator[isakit.Isa]:
    yield from defined(request.param)


@pytest.fixture
def with_vuc() -> Iterator[isakit.Isa]:
    yield from defined("vuc")


@pytest.fixture
def with_usse() -> Iterator[isakit.Isa]:
    yield from defined("usse")


@pytest.mark.parametrize("name", ["vuc", "usse"])
def test_the_file_has_at_most_twenty_lines_of_code(name: str) -> None:
    text = (SUPPORT / f"newcomers_{name}.py").read_text()
    assert len([line for line in text.splitlines() if line.strip()]) <= 20


def test_text_and_words(isa: isakit.Isa) -> None:
    program = isa.assemble(TEXTS[isa.name])
    assert [i.text for i in program] == [TEXTS[isa.name]]
    assert isa.disassemble(program.to_bytes())[0].text == TEXTS[isa.name]


def test_typed_operands(isa: isakit.Isa) -> None:
    place = isa.assemble(TEXTS[isa.name])[0].operands[1]
    assert isinstance(place, Memory)
    assert (place.space, place.base.index, place.offset) == ("heap", 2, 7)


def test_building(isa: isakit.Isa) -> None:
    i = isa.assemble(TEXTS[isa.name])[0]
    place = Memory("heap", Register("r", 2, PLACES[isa.name].width), 7)
    assert isa.build("frobsum", dst=PLACES[isa.name], src=place).word == i.word


def test_what_is_wrong_is_said(isa: isakit.Isa) -> None:
    with pytest.raises(isakit.AsmError, match="`]`"):
        isa.assemble(TEXTS[isa.name][:-1])


def test_explanation(isa: isakit.Isa) -> None:
    assert "0x7" in {row.meaning for row in isa.explain(TEXTS[isa.name])}


def test_manual_page(isa: isakit.Isa) -> None:
    assert "Adds up: DST = register + number." in instruction_page(isa.records, isa.records.records[-1])


@pytest.mark.parametrize("engine", ["reference", "llvm"])
def test_execution_on_vuc(with_vuc: isakit.Isa, engine: Any) -> None:
    core = vuc.Core("vp3", engine=engine)
    core.load(f"mov $r2 0x30\n{TEXTS['vuc']}\nend: bra end\nnop")
    core.run(stop_spinning=True)
    assert core.r[1] == 0x37


def test_execution_on_the_usse(with_usse: isakit.Isa) -> None:
    core = usse.Core(4)
    core.r[2] = 0x30
    core.run(with_usse.assemble(TEXTS["usse"]))
    assert list(core.r[1]) == [0x37] * 4


def test_compiled_execution_on_the_usse(with_usse: isakit.Isa) -> None:
    words = list(with_usse.assemble(f"{TEXTS['usse']}\n{TEXTS['usse']}").words)
    left = compare(words, host())
    assert not left["error"]
    assert list(left["r"][1]) == list(left["r"][2] + np.uint32(7))


@pytest.mark.parametrize(
    ("text", "target"),
    [("br there\nnop\nthere: nop", 16), ("there: nop\nbr there", 0), ("!p0 bra there\nthere: nop", 8)],
)
def test_labels_are_targets_of_branches_on_the_usse(text: str, target: int) -> None:
    program = isakit.isa("usse").assemble(text)
    assert [i.target for i in program if i.target is not None] == [target]
    assert isakit.isa("usse").assemble(str(program)).words == program.words
