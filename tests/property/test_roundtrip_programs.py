"""Programs to listings and back: byte for byte, whatever the words are."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

import isakit
from isakit.spec import Form

VIEWS = [
    (name, variant, program)
    for name in ("tesla", "vuc", "usse")
    for variant in isakit.isa(name).records.variants
    for program in isakit.isa(name).records.programs
]


def units_of(form: Form, operands: int, bits: int) -> list[int]:
    """The units of a form with arbitrary operand bits."""
    word = form.base ^ operands & ~form.fixed.mask & (1 << bits * form.units) - 1
    return [word >> bits * k & (1 << bits) - 1 for k in range(form.units)]


@cache
def programs(name: str, variant: str, program: str) -> st.SearchStrategy[list[int]]:
    """Units of code: instructions with arbitrary operands, some of them broken, and arbitrary words.

    Made once: hypothesis takes longer to look through a new strategy than to draw from it.
    """
    decoder = isakit.isa(name, variant).decoder(program)
    bits = decoder.view.variant.unit_bits
    forms = st.sampled_from(decoder.view.forms)
    operands = st.integers(0, (1 << 2 * bits) - 1)
    instruction = st.builds(lambda f, x: units_of(f, x, bits), forms, operands)
    few_bits = st.builds(
        lambda f, ks: units_of(f, sum(1 << k for k in ks), bits),
        forms,
        st.sets(st.integers(0, 2 * bits - 1), max_size=4),
    )
    anything = st.integers(0, (1 << bits) - 1).map(lambda w: [w])
    pieces = st.lists(st.one_of(instruction, few_bits, anything), max_size=12)
    return pieces.map(lambda found: [u for piece in found for u in piece])


@pytest.mark.parametrize(("name", "variant", "program"), VIEWS)
@given(data=st.data())
def test_listings_assemble_back(name: str, variant: str, program: str, data: st.DataObject) -> None:
    isa = isakit.isa(name, variant)
    units = data.draw(programs(name, variant, program))
    unit = isa.decoder(program).view.variant.unit_bytes
    first = isa.disassemble(units, address=2 * unit * data.draw(st.integers(0, 3)), program_type=program)
    text = str(first)
    again = isa.assemble(text)
    assert again.words == units
    assert (again.address, again.program_type) == (first.address, first.program_type)
    assert str(again) == text
    plain = "\n".join(i.text for i in first)
    if first.address == 0:
        assert isa.assemble(plain, program).words == units


@given(st.binary(max_size=40))
def test_any_bytes_survive(data: bytes) -> None:
    for name in ("tesla", "usse"):
        isa = isakit.isa(name)
        program = isa.disassemble(data)
        assert program.to_bytes() == data
        assert isa.assemble(str(program)).to_bytes() == data
        assert sum(i.size for i in program) + len(program.tail) == len(data)


@pytest.mark.parametrize(("name", "variant", "program"), VIEWS)
@given(data=st.data())
def test_every_instruction_can_be_looked_at(name: str, variant: str, program: str, data: st.DataObject) -> None:
    isa = isakit.isa(name, variant)
    for i in isa.disassemble(data.draw(programs(name, variant, program)), program_type=program):
        assert i.mnemonic
        assert all(i.operands)
        assert isinstance(i.reads + i.writes, tuple)
        explanation = i.explain()
        if i.form is not None:
            covered = 0
            for row in explanation:
                covered |= row.mask
            bits = isa.decoder(program).view.variant.unit_bits
            assert covered == (1 << bits * i.units) - 1, "every bit is told about"
        assert i.unknown_bits & ~i.word == 0
