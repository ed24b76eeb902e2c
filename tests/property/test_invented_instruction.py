"""One definition is enough: an instruction that was never built gets everything from its record alone."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import isakit
from isakit.cli.app import app
from isakit.docsgen import instruction_page
from isakit.engine.reference import compile_trace
from isakit.errors import DefinitionError
from isakit.sem import Value, read, write
from isakit.sem.semantics import fields_of, trace_of
from isakit.spec import Field, Imm, InstructionSet, Layout, Record, Ref, Reg, bits, make_form, template, where
from isakit.spec.operands import Memory
from isakit.spec.operands import Register as Place

REF = Ref("test", "made up")


class Register:
    """A register of file r, 16 bits on all three machines."""

    def __init__(self, index: Value) -> None:
        self.index = index

    def read(self) -> Value:
        return read("r", self.index, 16)

    def write(self, value: Value) -> None:
        write("r", self.index, value)


def meaning(dst: Register, src: Register, amount: Value) -> None:
    """Frobnicate: DST = 3 * SRC + AMOUNT. Written for a test."""
    dst.write(src.read() * 3 + amount)


def define(isa: InstructionSet) -> Record:
    """Give the instruction the first free place that a search in fixed order finds."""
    rng = random.Random(1)
    bits_of_unit = min(v.unit_bits for v in isa.variants.values())
    for _ in range(5000):
        word = rng.getrandbits(bits_of_unit)
        units = isa.length(word)
        word |= rng.getrandbits(bits_of_unit * (units - 1)) << bits_of_unit
        last = bits_of_unit * units
        # Three operands where they leave the low bits of the first unit alone, which may decide the length.
        at = rng.sample(range(4, last - 8, 8), 3)
        dst, src, amount = (
            bits(at[0], at[0] + 3, "dst"),
            bits(at[1], at[1] + 3, "src"),
            bits(at[2], at[2] + 7, "amount"),
        )
        free = dst.mask | src.mask | amount.mask
        fixed = Field(tuple((k, 1) for k in range(last) if not free >> k & 1))
        names = tuple(f"$x{k}" for k in range(16))
        layout = Layout("invented", units, where({fixed: fixed.get(word)}))
        parts = {"dst": Reg(dst, names, Register), "src": Reg(src, names, Register), "amount": Imm(amount, 16)}
        try:
            isa.insn(
                [make_form(layout, "frobnicate {dst} {src} {amount}", parts, {})],
                ref=REF,
                status="known",
                name="frobnicate",
            )(meaning)
        except DefinitionError:
            continue
        return isa.records[-1]
    raise AssertionError("no free encoding")


@pytest.fixture(params=["tesla", "vuc", "usse"])
def isa(request: pytest.FixtureRequest) -> Iterator[isakit.Isa]:
    found = isakit.isa(request.param)
    record = define(found.records)
    yield found
    found.records.remove(record)
    with pytest.raises(isakit.AsmError):
        found.assemble("frobnicate $x1 $x2 0x30")


TEXT = "frobnicate $x1 $x2 0x30"


def test_codec_and_text(isa: isakit.Isa) -> None:
    program = isa.assemble(f"{TEXT}\nfrobnicate $x15 $x0 0xff")
    assert [i.text for i in program] == [TEXT, "frobnicate $x15 $x0 0xff"]
    assert isa.assemble(str(program)).words == program.words
    assert isa.disassemble(program.to_bytes())[0].text == TEXT
    first = program[0]
    assert (first.mnemonic, first.operands) == ("frobnicate", ("$x1", "$x2", "0x30"))
    assert (first.writes, first.reads) == (("$x1",), ("$x2",))
    assert first.valid


def test_errors(isa: isakit.Isa) -> None:
    with pytest.raises(isakit.AsmError) as caught:
        isa.assemble("frobnicate $x1 $x16 0x30\nfrobnicat $x1 $x2 0x30\nfrobnicate $x1 $x2 0x100")
    one, two, three = caught.value.diagnostics
    assert (one.column, one.message) == (16, "`$x16` does not fit here")
    assert "`frobnicate`" in two.notes[0]
    assert "0x0 .. 0xff" in three.notes[0]


def test_explanation(isa: isakit.Isa) -> None:
    rows = {r.field: r for r in isa.explain(TEXT)}
    assert (rows["dst"].value, rows["src"].value, rows["amount"].value) == (1, 2, 0x30)
    assert rows["amount"].reference == "[test] made up"


def test_manual_page(isa: isakit.Isa) -> None:
    page = instruction_page(isa.records, isa.records.records[-1])
    assert "Frobnicate: DST = 3 * SRC + AMOUNT." in page
    assert re.search(r"r\d+ = ", page)  # what the traced graph computes
    assert " * 3" in page
    assert "frobnicate dst src amount" in page
    result = CliRunner().invoke(app, ["doc", "-m", isa.name, "frobnicate"])
    assert "Frobnicate: DST" in result.output


@pytest.mark.parametrize(("x", "amount"), [(5, 0x30), (0x8001, 0xFF), (0, 0)])
def test_execution(isa: isakit.Isa, x: int, amount: int) -> None:
    i = isa.assemble(f"frobnicate $x1 $x2 {amount:#x}")[0]
    assert i.form is not None
    trace = trace_of(i.form, i.word)
    compiled = compile_trace(trace, "scalar")
    state: Any = SimpleNamespace(files={"r": [0, 0, x, *[0] * 13]})
    compiled.run(state, None, fields_of(i.form, i.word, compiled.fields))
    assert state.files["r"][1] == (3 * x + amount) % 0x10000


def test_execution_on_a_device(isa: isakit.Isa) -> None:
    if isa.name != "tesla":
        pytest.skip("devices run Tesla code")
    source = """
        .kernel k
        .param out ptr
            mov b32 $r2 0x1234
            frobnicate $x1 $x2 0x30
            mov b32 $r0 b32 s[out]
            exit st b32 g14[$r0] $r1
    """
    out = np.zeros(1, np.uint32)
    isakit.Device("gt200", engine="reference").load(isa.assemble(source))["k"][1, 1](out)
    assert out[0] == 3 * 0x1234 + 0x30


class Sum:
    """What a semantics function gets for an invented operand: a register and a number."""

    def __init__(self, base: Register, offset: Value) -> None:
        self.base, self.offset = base, offset

    def read(self) -> Value:
        return self.base.read() + self.offset


def add_up(dst: Register, src: Sum) -> None:
    """Heap: DST = register + number. Written for a test."""
    dst.write(src.read())


@pytest.mark.parametrize("name", ["tesla", "vuc", "usse"])
def test_an_invented_operand_is_one_line(name: str) -> None:
    """Text, reading, bits, typed operand, building and explanation follow from the spelling."""
    records = isakit.isa(name).records
    frobnicate = define(records)
    try:
        form = frobnicate.forms[0]
        dst, base, offset = form.parts["dst"], form.parts["src"], form.parts["amount"]
        src = template("heap[{base}+{offset}]", Memory, Sum, facts={"space": "heap"}, base=base, offset=offset)
        free = make_form(form.layout, "frobsum {dst} {src}", {"dst": dst, "src": src}, {})
        records.remove(frobnicate)
        frobnicate = records.add(replace(frobnicate, name="frobsum", forms=(free,), semantics=add_up, doc="Adds up."))
        isa = isakit.isa(name)
        i = isa.assemble("frobsum $x1 heap[$x2+0x30]")[0]
        assert i.text == "frobsum $x1 heap[$x2+0x30]"
        assert (i.operands[1].space, i.operands[1].base.index, i.operands[1].offset) == ("heap", 2, 0x30)
        assert (i.reads, i.writes) == (("$x2",), ("$x1",))
        built = isa.build("frobsum", dst=Place("x", 1), src=Memory("heap", Place("x", 2), 0x30))
        assert built.word == i.word
        assert {r.meaning for r in i.explain()} >= {"$x2", "0x30"}
        compiled = compile_trace(trace_of(i.form, i.word), "scalar")
        state: Any = SimpleNamespace(files={"r": [0, 0, 5, *[0] * 13]})
        compiled.run(state, None, fields_of(i.form, i.word, compiled.fields))
        assert state.files["r"][1] == 0x35
        with pytest.raises(isakit.AsmError, match="`]`"):
            isa.assemble("frobsum $x1 heap[$x2+0x30")
    finally:
        records.remove(frobnicate)
