"""Every form and every field of the USSE: any word comes back from its text, and every bit shows in it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isakit.arch.usse import usse
from isakit.codec.decoder import decoder
from isakit.spec import Form, bits
from isakit.spec.tokens import tokenize

BITS = st.integers(0, (1 << 64) - 1)
PER_EXAMPLE = 25
"""Words of one example: hypothesis takes longer to think of an example than a word takes to be checked."""


def many(of: st.SearchStrategy[Any]) -> Callable[[Callable[[Any], None]], Callable[[], None]]:
    """Like `given`, with as many values of `of`, in fewer examples.

    Some of them come twice: a quarter more than the profile asks for are as many different ones.
    """
    examples = -(-5 * settings().max_examples // (4 * PER_EXAMPLE))

    def decorate(check: Callable[[Any], None]) -> Callable[[], None]:
        @settings(max_examples=examples)
        @given(st.lists(of, min_size=PER_EXAMPLE, max_size=PER_EXAMPLE))
        def all_of(values: list[Any]) -> None:
            for value in values:
                check(value)

        return all_of

    return decorate


def forms(variant: str) -> list[Form]:
    view = usse.view(variant, "primary")
    return [f for f in view.forms if view.available(f)]


def label(form: Form) -> str:
    return f"{form.record.name}-{'-'.join(form.mnemonics[:1])}-{form.fixed.value:x}"


def assembled(text: str, variant: str, program: str) -> int | None:
    m = re.search(r" \{(0x[0-9a-f]+)\}$", text)
    encoder = decoder(usse, variant, program).encoder
    found = encoder.encodings(tokenize(text[: m.start()] if m else text), flip=int(m[1], 16) if m else 0)
    e = next(found, None)
    return None if e is None else e.word


@pytest.mark.parametrize("program", ["primary", "secondary"])
@pytest.mark.parametrize("form", forms("sgx543"), ids=label)
def test_words_of_every_form_come_back(form, program):
    @many(BITS)
    def check(raw: int) -> None:
        word = raw & ~form.fixed.mask | form.fixed.value
        i = decoder(usse, "sgx543", program).one(word, 1)
        if i.valid:
            assert assembled(i.text, "sgx543", program) == word, i.text

    check()


@pytest.mark.parametrize("form", forms("sgx543"), ids=label)
def test_every_field_shows_in_the_text_and_in_the_explanation(form):
    """A field may hold any value; two values that both decode never print the same, and every bit is explained."""
    decode = decoder(usse, "sgx543").one

    @many(st.tuples(BITS, st.integers(0, 63)))
    def check(case: tuple[int, int]) -> None:
        raw, position = case
        word = raw & ~form.fixed.mask | form.fixed.value
        one, other = decode(word, 1), decode(word ^ bits(position).mask, 1)
        if one.valid and other.valid:
            assert one.text != other.text, (one.text, position)
        if one.valid:
            covered = 0
            for row in one.explain():
                covered |= row.mask
            assert covered == (1 << 64) - 1

    check()


@given(BITS)
def test_any_word_of_the_seed_comes_back(word):
    i = decoder(usse, "seed").one(word, 1)
    if i.valid:
        assert assembled(i.text, "seed", "primary") == word, i.text
        # What the page calls by a name is no other instruction of the whole set.
        whole = decoder(usse, "sgx543").one(word, 1)
        assert whole.record is i.record or not whole.valid


@given(BITS)
def test_nothing_is_an_instruction_without_a_record(word):
    i = decoder(usse, "sgx543").one(word, 1)
    assert i.valid == (i.error is None)
    if i.form is not None and i.valid:
        assert i.form.text(word) == i.plain_text
        assert i.form.static_word(word) & ~i.form.static_mask == 0
