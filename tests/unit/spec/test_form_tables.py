"""Tables of forms: what their letters, clauses and rows become, and what is refused."""

from __future__ import annotations

import pytest

from isakit.arch.tesla.forms import forms
from isakit.errors import DefinitionError
from isakit.spec import Bits, Encoding, Flag, FormTable, Layout, Part, Shape, cases, flag, number, template, words
from isakit.spec.operands import Compound
from isakit.spec.parts import possible_bits

TINY = FormTable({"word": Shape(Layout("tiny", 1, Bits(0x80, 0x80)), {}, {})}, {"on": flag("on")}, unit_bits=8)


def made(table: FormTable, text: str, **parts: object) -> None:
    """Make the operands of a table's forms, as the check of a record does."""
    for form in table(text, **parts):
        assert form.parts is not None
        assert form.declaration is not None
        form.declaration.check()


def test_bits_are_written_from_the_highest_down() -> None:
    (form,) = TINY("word go {on:s} {n:n}\n     .01s nnn-", n=number("a number", 8))
    assert form.fixed == Bits(0b1110_0000, 0b1010_0000)
    assert form.ignored == 1
    assert possible_bits(form.parts["n"]) == 0b1110
    assert form.text(0b1011_0110) == "go on 0x3"


def test_letters_apart_are_one_field_the_first_being_the_highest() -> None:
    (form,) = TINY("word go {n:n}\n     .n.. ...n", n=number("a number", 8))
    assert [form.text(w) for w in (0x80, 0x81, 0xC0, 0xC1)] == ["go 0x0", "go 0x1", "go 0x2", "go 0x3"]


def test_several_letters_are_read_in_the_order_of_the_syntax_line() -> None:
    (form,) = TINY("word go {n:ba}\n     .... a..b", n=number("a number", 8))
    assert (form.text(0x81), form.text(0x88)) == ("go 0x2", "go 0x1")


ROWS = """
    K   op
    00  add
    10  sub
"""


def test_rows_fix_bits_and_are_constants() -> None:
    add, sub = TINY("word go {op} {on:s}\n     .KK. ...s | kind=<op>", ROWS)
    assert (add.fixed, sub.fixed) == (Bits(0xE0, 0x80), Bits(0xE0, 0xC0))
    assert (add.text(0x80), sub.text(0xC1)) == ("go add", "go sub on")
    assert sub.constants["kind"] == "sub"


def test_the_last_table_of_rows_varies_fastest() -> None:
    made = TINY("word go {op} {to} {on:s}\n     .KKL .s..", ROWS, "L  to\n0  a\n1  b")
    assert [f.text(f.base) for f in made] == ["go add a", "go add b", "go sub a", "go sub b"]


def test_clauses() -> None:
    (form,) = TINY(
        """
        word go {n:n} {on:s}
             ..ss .nnn
             | unless n=000,111 | refuse n=001 s=11 TOO_MUCH | lacking NOT_HERE
        """,
        n=number("a number", 8),
        on=words("a", None, "b", "c"),
    )
    assert form.unless == (Bits(0b0111, 0), Bits(0b0111, 0b0111))
    assert [(r.when, r.error) for r in form.refusals] == [(Bits(0b11_0111, 0b11_0001), "TOO_MUCH")]
    assert form.lacking == "NOT_HERE"
    assert form.error(0b1001_0010) == "ILLEGAL_OPCODE"


def test_cases_choose_by_letters() -> None:
    (form,) = TINY("word go {n}\n     .c.s .nnn", n=cases({"c=0": number("a number", 8, on="n"), "c=1 s=1": "on:n"}))
    assert form.text(0x85) == "go 0x5"
    assert form.error(0xC0) == "ILLEGAL_OPCODE"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("word go\n     .... ...", "7 bits in a pattern of 8"),
        ("word go\n     .... ...a", "the pattern has letters without a meaning: a"),
        ("word go {on:b}\n     .... ...a", "the pattern has no letter 'b'"),
        ("word go {onn:a}\n     .... ...a", "no operand 'onn'; did you mean"),
        ("work go\n     .... ....", "no shape 'work'"),
        ("word go\n     .... .... | wants x", "no clause 'wants x'|no clause 'wants'"),
        ("word go\n     0... ....", "contradict"),
        ("word go\n     .+.. ....", "a pattern cannot have"),
        ("word go {on:a} {on:a,a}\n     .... ...a", "argument"),
        ("word go {on:a}  a... ....", "a form without bits"),
        ("word go\n     .... ....\nword stop", "a form without bits"),
    ],
)
def test_mistakes_are_named_with_the_line(text: str, message: str) -> None:
    with pytest.raises(DefinitionError, match=message) as caught:
        made(TINY, text)
    assert text.splitlines()[0].strip() in str(caught.value)


def test_a_hole_that_the_class_of_operand_has_not_is_a_mistake() -> None:
    def bits(e: Encoding, letters: str) -> Part:
        return template("bits[{low}]", low=number("a bit", 8)(e, letters))

    with pytest.raises(DefinitionError, match="Flag has no low; it has value") as caught:
        made(TINY, "word go {range=bits:n}\n     .... .nnn", bits=bits)
    assert "word go {range=bits:n}" in str(caught.value)


@pytest.mark.parametrize("spelling", ["[{low}]", "[{low}:{low}]", "[{low}:{high}:{size}]"])
def test_holes_and_parts_that_do_not_match_are_a_mistake(spelling: str) -> None:
    def bits(e: Encoding, letters: str) -> Part:
        holes = {name: number("a bit", 8)(e, letter) for name, letter in zip(("low", "high"), letters, strict=True)}
        return template(spelling, Compound, **holes)

    with pytest.raises(DefinitionError, match="other holes than the parts it is given: low, high") as caught:
        made(TINY, "word go {range=bits:nm}\n     .... mmnn", bits=bits)
    assert "word go {range=bits:nm}" in str(caught.value)


@pytest.mark.parametrize(
    "on",
    [
        words("1", "3", "5", "7", "9"),  # 9 would be written as 1
        words("1", "3", "3", "7"),  # one of two would be lost
        words("1", "3", "5", "7", values=(1, 3, 5)),
    ],
)
def test_words_that_are_not_one_for_each_value_are_a_mistake(on: Part) -> None:
    with pytest.raises(DefinitionError, match=r"for 2 bits.*a word of its own or None"):
        made(TINY, "word go {on:n}\n     .... ..nn", on=on)


def test_an_operand_that_no_form_has_is_a_mistake() -> None:
    with pytest.raises(DefinitionError, match="no form of the table has extra"):
        made(TINY, "word go\n     .... ....", extra=flag("more"))


def test_operands_are_made_when_they_are_asked_for() -> None:
    asked: list[str] = []

    def counted(e: Encoding, letters: str) -> Part:
        asked.append(letters)
        return Flag(e.field(letters), "on")

    (form,) = TINY("word go {n:s}\n     .... ...s", n=counted)
    assert form.mnemonics == ["go"]
    assert form.matches(0x81)
    assert not asked
    assert (form.text(0x81), form.text(0x80)) == ("go on", "go")
    assert asked == ["s"]


def test_one_line_may_be_forms_of_several_shapes() -> None:
    made = forms("short,imm  add {dst} {src1} {src2}\n           0010 .... . ....... ....... ....... ..")
    assert [f.layout.name for f in made] == ["short", "immediate"]
