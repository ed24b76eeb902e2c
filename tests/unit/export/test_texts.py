"""Exported trees of text say what the library says."""

from __future__ import annotations

import random

import pytest

import isakit
from isakit.codec import Decoder
from isakit.export.text_nodes import evaluate, runs
from isakit.export.texts import FormModel, Model
from isakit.spec.fields import Field, subsets

VIEWS = [("vuc", "vp2", None), ("vuc", "vp4", None), ("tesla", "g80", "fragment")]
SLOW = [
    ("usse", "sgx543", "primary"),
    ("usse", "sgx543", "secondary"),
    *(("tesla", v, p) for v in ("g80", "gt200", "gt215") for p in ("compute", "vertex", "geometry")),
]


def words_of(decoder: Decoder, seed: int, each: int) -> list[tuple[int, int]]:
    """(word, units) of every form: half of them with arbitrary bits, half with those the assembler writes."""
    rng = random.Random(seed)
    out: list[tuple[int, int]] = []
    for f in decoder.view.forms:
        every = (1 << decoder.view.variant.unit_bits * f.units) - 1
        for k in range(each):
            word = rng.getrandbits(128) & every & ~f.fixed.mask | f.fixed.value
            out.append((word if k % 2 else word & f.possible | f.base & ~f.possible | f.fixed.value, f.units))
    return out


def said(form: FormModel | None, word: int, address: int, every: int) -> str:
    """The text that the trees of a form give."""
    if form is None or evaluate(form.error, word):
        return ".word"
    text = ""
    for item in form.items:
        piece = item if isinstance(item, str) else str(evaluate(item, word, address))
        text += piece if piece in ("", ")") else " " + piece
    text = ("long " if evaluate(form.forced, word) else "") + text.replace("( ", "(")[1:]
    odd = (word ^ form.base) & ~int(evaluate(form.claimed, word)) & every
    return f"{text} {{{odd:#x}}}" if odd else text


def check(name: str, variant: str, program: str | None, each: int) -> None:
    decoder = isakit.isa(name, variant).decoder(program)
    model = Model(decoder)
    for word, units in words_of(decoder, 1, each):
        every = (1 << decoder.view.variant.unit_bits * units) - 1
        address = word % 256 * 2
        i = decoder.one(word, units, address * decoder.view.variant.unit_bytes)
        found = (f for f in model.forms if f.units == units and f.fixed.holds(word))
        form = next((f for f in found if not any(u.holds(word) for u in f.unless)), None)
        assert said(form, word, address, every) == (".word" if i.error is not None else i.text), hex(word)


@pytest.mark.parametrize(("name", "variant", "program"), VIEWS)
def test_trees_say_what_the_listing_says(name: str, variant: str, program: str | None) -> None:
    check(name, variant, program, 6)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "variant", "program"), SLOW)
def test_trees_say_what_the_listing_says_everywhere(name: str, variant: str, program: str) -> None:
    check(name, variant, program, 40)


def test_subsets_come_in_the_order_of_the_value_of_their_bits() -> None:
    mask = 0b1011_0001
    field = Field(tuple(runs(mask)))
    assert [field.get(w) for w in subsets(mask)] == list(range(16))
    assert runs(mask) == [(0, 1), (4, 2), (7, 1)]


def test_a_long_form_is_forced_only_where_the_short_one_has_both_operands_in_one_register() -> None:
    decoder = isakit.isa("tesla", "gt200").decoder()
    model = Model(decoder)
    for text, forced in (("long add $r1 (mul u16 $r1l $r2l) $r1", True), ("add $r1 (mul u16 $r1l $r2l) $r3", False)):
        i = isakit.isa("tesla", "gt200").assemble(text)[0]
        form = next(f for f in model.forms if f.form is i.form)
        assert bool(evaluate(form.forced, i.word)) is forced
        assert i.text == text


def test_a_long_form_is_not_forced_where_the_short_one_has_its_words_in_another_order() -> None:
    decoder = isakit.isa("tesla", "gt215").decoder()
    model = Model(decoder)
    word = 0x0801_0784_3001_1E05
    i = decoder.one(word, 2)
    assert i.text == "subr b16 sat $r0h $r7h $r2l {0x400010000}"
    form = next(f for f in model.forms if f.form is i.form)
    assert not evaluate(form.forced, word)
    short = isakit.isa("tesla", "gt215").assemble("subr sat b16 $r0h $r7h $r2l")
    assert len(short.words) == 1  # that text would be shorter


@pytest.mark.parametrize(
    ("words", "text"),
    [((0xE08D0A01, 0x00200780), "add f32 $r0 (mul a[0x14] c0[0x34]) $r0"),
     ((0x21000211, 0x0422C780), "add b32 $r4 a[0x4] c0[0x2c]")],
)  # fmt: skip
def test_a_long_form_is_not_forced_where_the_short_one_has_one_operand_or_the_other_in_memory(
    words: tuple[int, int], text: str
) -> None:
    decoder = isakit.isa("tesla", "gt200").decoder("vertex")
    word = words[0] | words[1] << 32
    i = decoder.one(word, 2)
    assert i.text == text
    form = next(f for f in Model(decoder).forms if f.form is i.form)
    assert not evaluate(form.forced, word)
