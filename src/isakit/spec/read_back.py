"""Operands are held against themselves: what one prints must be what it reads, or no listing could be assembled."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from isakit.errors import AsmError, DefinitionError
from isakit.spec.parts.base import Part
from isakit.spec.record import Form
from isakit.spec.tokens import Stream, tokenize


def check_reading(name: str, part: Part, form: Form, where: str) -> None:
    """Raise DefinitionError for an operand that prints a text it does not read as the same."""
    for bits in _samples(part.possible() | part.static_mask()):
        word = bits & ~form.fixed.mask | form.fixed.value
        text = part.text(word) if part.error(word) is None else ""
        if text and not _reads(part, word, text):
            raise DefinitionError(f"{where}: part {name!r} prints {text!r}, which it does not read")


def _samples(mask: int) -> Iterator[int]:
    """Words that differ in the bits of a mask: none of them, all, each alone, all but one, and some of them."""
    ones = [1 << k for k in range(mask.bit_length()) if mask >> k & 1]
    yield from (0, mask, *ones, *(mask & ~one for one in ones))
    r = Random(mask)
    yield from (r.getrandbits(mask.bit_length()) & mask for _ in range(16 if len(ones) > 2 else 0))


def _reads(part: Part, word: int, text: str) -> bool:
    try:
        stream = Stream(tokenize(text))
    except AsmError:
        return False
    found = (b for k, b in part.parse(stream, 0) if k == len(stream))
    return any(part.text(word & ~b.mask | b.value) == text for b in found)
