"""An instruction with an operand kind of its own, for vµc and the USSE: twenty lines say all there is to say of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import isakit
from isakit import usse, vuc
from isakit.arch.usse.fields import layout
from isakit.arch.usse.forms import destination, form, word_source
from isakit.arch.vuc.forms import forms
from isakit.arch.vuc.operands import general
from isakit.docsgen import instruction_page
from isakit.spec import Encoding, Imm, Part, Ref, template
from isakit.spec.operands import Memory, Register

REF, HEAP = Ref("test", "made up"), {"space": "heap"}


# --- the newcomer's lines ---------------------------------------------------------------------------------------------
def define_vuc() -> None:
    def heap(e: Encoding, base: str, offset: str) -> Part:
        holes: dict[str, Any] = {"base": general(e.field(base)), "offset": Imm(e.field(offset), 16)}
        return template("heap[{base}+{offset}]", Memory, lambda base, offset: base.read() + offset, facts=HEAP, **holes)

    @isakit.isa("vuc").records.insn(
        forms("base  frobsum {dst} {src=heap:a,o}  .... .. .... .... oooo aaaa ... 11111", heap=heap), ref=REF
    )
    def frobsum(name, dst, src):
        """Adds up: DST = register + number."""
        dst.write(src)


def define_usse() -> None:
    bits = layout("dext@51 s1ext@49 dbank@33:32 s1bank@31:30 dn@27:21 s1n@13:7 off@6:0")
    holes: dict[str, Any] = {"base": word_source(bits, 1), "offset": Imm(bits.off, 32)}
    src = template("heap[{base}+{offset}]", Memory, lambda base, offset: base.word() + offset, facts=HEAP, **holes)

    @isakit.isa("usse").records.insn(
        [form(bits, 0x1B, "{name} {dst} {src}", name="frobsum", dst=destination(bits, double=False), src=src)], ref=REF
    )
    def frobsum(name, dst, src):
        """Adds up: DST = register + number."""
        dst.write_word(src)


TEXTS = {"vuc": "frobsum $r1 heap[$r2+0x7]", "usse": "frobsum r1 heap[r2+0x7]"}
PLACES = {"vuc": Register("r", 1, 16), "usse": Register("r", 1, 32)}


@pytest.fixture(params=[define_vuc, define_usse], ids=["vuc", "usse"])
def isa(request: pytest.FixtureRequest) -> Iterator[isakit.Isa]:
    found = isakit.isa("vuc" if request.param is define_vuc else "usse")
    request.param()
    record = found.records.records[-1]
    yield found
    found.records.remove(record)


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
def test_execution_on_vuc(engine: Any) -> None:
    records = isakit.isa("vuc").records
    define_vuc()
    try:
        core = vuc.Core("vp3", engine=engine)
        core.load(f"mov $r2 0x30\n{TEXTS['vuc']}\nend: bra end\nnop")
        core.run(stop_spinning=True)
        assert core.r[1] == 0x37
    finally:
        records.remove(records.records[-1])


def test_execution_on_the_usse() -> None:
    isa = isakit.isa("usse")
    define_usse()
    try:
        core = usse.Core(4)
        core.r[2] = 0x30
        core.run(isa.assemble(TEXTS["usse"]))
        assert list(core.r[1]) == [0x37] * 4
    finally:
        isa.records.remove(isa.records.records[-1])


@pytest.mark.parametrize(
    ("text", "target"),
    [("br there\nnop\nthere: nop", 16), ("there: nop\nbr there", 0), ("!p0 bra there\nthere: nop", 8)],
)
def test_labels_are_targets_of_branches_on_the_usse(text: str, target: int) -> None:
    program = isakit.isa("usse").assemble(text)
    assert [i.target for i in program if i.target is not None] == [target]
    assert isakit.isa("usse").assemble(str(program)).words == program.words
