"""Operands are held against themselves: what one prints must be what it reads, or no listing could be assembled."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from isakit.errors import AsmError, DefinitionError
from isakit.spec.parts import error_of, possible_bits, readings, spelled_bits, static_bits, text_of
from isakit.spec.parts.base import Part
from isakit.spec.record import Form
from isakit.spec.tokens import Stream, tokenize


def check_reading(name: str, part: Part, form: Form, where: str) -> None:
    """Raise DefinitionError for an operand that prints a text it does not read as the same."""
    for bits in _samples(possible_bits(part) | static_bits(part)):
        word = bits & ~form.fixed.mask | form.fixed.value
        text = text_of(part, word) if error_of(part, word) is None else ""
        if text and not _reads(part, word, text):
            raise DefinitionError(f"{where}: part {name!r} prints {text!r}, which it does not read{_ADVICE}")


_ADVICE = (
    " as the same; between numbers stands `:` or a blank, because `+`, `-`, `*` and `|` go on with the first; "
    "between words a bracket, too"
)


def _samples(mask: int) -> Iterator[int]:
    """Yield words that differ in the bits of a mask: none of them, all, each alone, all but one, and some of them."""
    ones = [1 << k for k in range(mask.bit_length()) if mask >> k & 1]
    yield from (0, mask, *ones, *(mask & ~one for one in ones))
    r = Random(mask)
    yield from (r.getrandbits(mask.bit_length()) & mask for _ in range(16 if len(ones) > 2 else 0))


def _reads(part: Part, word: int, text: str) -> bool:
    try:
        stream = Stream(tokenize(text))
    except AsmError:
        return False
    found = (b for k, b in readings(part, stream, 0) if k == len(stream))
    told = spelled_bits(part, word)
    return any(not told.mask & ~b.mask and not (b.value ^ told.value) & told.mask for b in found)
