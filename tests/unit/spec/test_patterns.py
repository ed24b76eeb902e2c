"""Patterns may match too much, but never miss a text that can be read."""

from __future__ import annotations

import random
import re

import pytest

import isakit
from isakit.codec import tokenize
from isakit.codec.encoder import match, wanted
from isakit.spec.patterns import joined, one_of, up_to
from isakit.spec.tokens import Stream


@pytest.mark.parametrize("n", [0, 1, 5, 9, 10, 11, 19, 20, 63, 99, 100, 101, 127, 255, 999, 1000, 1234])
def test_numbers_up_to(n: int) -> None:
    pattern = re.compile(up_to(n))
    for k in range(2 * n + 20):
        assert bool(pattern.fullmatch(str(k))) == (k <= n)
    assert not pattern.fullmatch("00")
    assert not pattern.fullmatch("")


def test_words_and_families() -> None:
    words = ["$r0", "$r1", "$r2", "$r0l", "$r1l", "a.b", "", "$c1", "$c3", "x01"]
    pattern = re.compile(one_of(words))
    for w in words:
        assert pattern.fullmatch(w)
    for w in ("$r3", "$r2l", "aXb", "$c0", "$c2", "$r01", "x1"):
        assert not pattern.fullmatch(w)


def test_joined_parts_may_be_absent() -> None:
    pattern = re.compile(joined(["add", one_of(["", "sat"]), "\\("]))
    assert pattern.fullmatch("add (")
    assert pattern.fullmatch("add sat (")
    assert not pattern.fullmatch("sat (")


@pytest.mark.parametrize("name", ["tesla", "vuc", "usse"])
def test_no_readable_text_is_missed(name: str) -> None:
    """Texts of instructions with random operands, read by every form of their operation."""
    rng = random.Random(5)
    decoder = isakit.isa(name).decoder()
    bits = decoder.view.variant.unit_bits
    for form in decoder.view.forms:
        noise = rng.getrandbits(bits * form.units) & rng.getrandbits(bits * form.units)
        i = decoder.one(form.base ^ noise & ~form.fixed.mask, form.units)
        if not i.valid:
            continue
        text = i.plain_text
        tokens = tokenize(text)
        words = {t.text for t in tokens}
        for reader in decoder.encoder.forms(tokens):
            if any(True for _ in match(reader, Stream(tokens))):
                assert reader.pattern.fullmatch(text), (text, reader.pattern.pattern)
                assert not any(words.isdisjoint(w) for w in wanted(reader)), text
