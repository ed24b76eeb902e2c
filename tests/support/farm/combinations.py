"""Words made of some values of every operand with every other: many more a second than the assembler can read.

What an operand prints depends on few bits of the word, and what the assembler makes of it on that text. So every value
of an operand is printed and read once, and for a word it is enough to look up whether its operands, each read back,
are this word again. What that does not tell is whether the assembler takes another form: it reads one text in `WHOLE`.
"""

from __future__ import annotations

from functools import cache
from random import Random
from typing import Any

import isakit
from isakit.asm.assembler import assembler
from isakit.codec import Decoder, Instruction, tokenize
from isakit.codec.build import joined
from isakit.spec.fields import Bits
from isakit.spec.parts import Nothing, Part, possible_bits, readings, text_of
from isakit.spec.record import Form
from isakit.spec.tokens import Stream
from support.farm.campaign import Campaign, Wrong
from support.farm.codec import VARIANTS, check_assembled, check_facts, fewer_words

WORDS = 32768
"""Words of a case, all of one form."""
VALUES = 12
"""Values of each operand in a case."""
WHOLE, EXPLAINED = 256, 1024
"""One text in so many is read by the assembler, and one in so many explained and built from its operands."""
SLOWER = 8
"""A case has only one word in so many where the text depends on the place: nothing can be looked up there."""
_TRIES, _ODD = 40, 8
_KEPT = 1 << 11
"""Values of an operand that are remembered."""
Piece = tuple[str, int, int, tuple[Bits, ...]]
"""Text with a blank in front, mask and value of the bits it stands for, or all ways to read it where it has several."""


def _make(seed: int) -> dict[str, Any]:
    """Words of a form: every combination of some values of its operands has the same chance."""
    r = Random(seed)
    isa, variant = VARIANTS[seed % len(VARIANTS)]
    made = isakit.isa(isa, variant)
    types = made.program_types
    program = r.choice(sorted(types)) if types else ""
    decoder = made.decoder(program) if program else made.decoder()
    form = r.choice(_forms(decoder))
    bits = decoder.view.variant.unit_bits
    pools = [_values(r, decoder, form, mask) for mask in _groups(form, bits * form.units)]
    words = list[int]()
    unit = (1 << bits) - 1
    for _ in range(WORDS // form.units // (SLOWER if form.addressed else 1)):
        word = form.fixed.value
        for pool in pools:
            word |= pool[int(r.random() * len(pool))]
        words += [word >> bits * k & unit for k in range(form.units)]
    return {"isa": isa, "variant": variant, "type": program, "words": words}


@cache
def _forms(decoder: Decoder) -> list[Form]:
    view = decoder.view
    return [view.resolved(f) for f in view.declared if view.available(f)]


@cache
def _groups(form: Form, bits: int) -> list[int]:
    """Masks without common bits: of operands, those that share bits together, and of all that no operand explains."""
    out: list[int] = []
    for mask in (possible_bits(p) & ~form.fixed.mask for p in form.parts.values()):
        for other in [g for g in out if g & mask]:
            out.remove(other)
            mask |= other
        if mask:
            out.append(mask)
    rest = (1 << bits) - 1 & ~form.fixed.mask & ~sum(out)
    return [*out, rest] if rest else out


def _values(r: Random, decoder: Decoder, form: Form, mask: int) -> list[int]:
    """Some values of the bits of a mask; most of them are legal, if any are."""
    out = list[int]()
    for tried in range(_TRIES):
        value = r.choice((0, mask, form.base & mask)) if tried < 3 else r.getrandbits(mask.bit_length()) & mask
        word = form.base & ~mask | value | form.fixed.value
        found = decoder.find(word, form.units)
        legal = not isinstance(found, str) and found.form is form and form.error(word) is None
        if legal or tried % _ODD == 3:
            out.append(value)
        if len(out) == VALUES:
            break
    return out or [form.base & mask]


class Reader:
    """Operands of a form, printed and read one by one."""

    def __init__(self, form: Form) -> None:
        self.form = form
        self.start = form.fixed.mask, form.fixed.value
        self.base = form.base
        self.memos: list[tuple[str, int, dict[int, Piece], Part]] = []
        """Words in front of an operand, its bits, what is known of its values, itself."""
        words = ""
        for item in form.syntax:
            part = form.parts[item[1:-1]] if item[0] == "{" else None
            if part is None:
                words += " " + item
            elif possible_bits(part) or not isinstance(part, Nothing):
                self.memos.append((words, possible_bits(part), {}, part))
                words = ""
        self.end = words

    def back(self, word: int, address: int) -> tuple[str, int | None]:
        """The text of a word, without marks, and the word that this text stands for in the form."""
        mask, value = self.start
        text = ""
        several: list[tuple[Bits, ...]] | None = None
        for front, bits, memo, part in self.memos:
            piece = memo.get(word & bits)
            if piece is None:
                piece = _piece(part, word, address)
                if not part.addressed:
                    if len(memo) >= _KEPT:
                        memo.clear()
                    memo[word & bits] = piece
            words, m, v, ways = piece
            text += front + words
            if ways:
                several = [*(several or ()), ways]
            elif (value ^ v) & mask & m:
                return text, None
            else:
                mask |= m
                value |= v
        text += self.end
        return text, self._first(mask, value, several) if several else value | self.base & ~mask

    def _first(self, mask: int, value: int, several: list[tuple[Bits, ...]]) -> int | None:
        """The first legal word of certain bits and operands that can be read in several ways."""
        ways = [[b for b in way if not (b.value ^ value) & mask & b.mask] for way in several]
        for b in joined([(Bits(mask, value),), *ways]):
            again = b.value | self.base & ~b.mask
            if self.form.matches(again) and self.form.error(again) is None:
                return again
        return None


def _piece(part: Part, word: int, address: int) -> Piece:
    """What an operand prints of a word, and what the assembler makes of it."""
    text = text_of(part, word, address)
    tokens = tokenize(text)
    ways = [b for n, b in readings(part, Stream(tokens, None, address, quick=True), 0) if n == len(tokens)]
    if not ways:
        raise Wrong(f"{text!r}, an operand of {word:#x}, cannot be read")
    padded = " " + text if text else ""
    return (padded, ways[0].mask, ways[0].value, ()) if len(ways) == 1 else (padded, 0, 0, tuple(ways))


_readers: dict[Form, Reader] = {}
_READERS = 512


def check_combinations(case: dict[str, Any]) -> set[str]:
    """Every word is printed as its operands are, and these stand for it; the assembler reads some of the texts."""
    isa = isakit.isa(case["isa"], case["variant"])
    decoder = isa.decoder(case["type"]) if case["type"] else isa.decoder()
    statements = assembler(decoder).statements
    covered = set[str]()
    for k, i in enumerate(decoder.decode(case["words"])):
        if i.error is not None:
            if i.valid or not i.text.startswith(".word "):
                raise Wrong(f"{i.text!r}: valid is {i.valid}, the error {i.error!r}")
            continue
        _check_operands(i)
        if k % WHOLE == 0:
            check_assembled(i, statements)
        if k % EXPLAINED == 0:
            check_facts(i, decoder)
            covered.add(f"{case['isa']} {i.mnemonic}")
    return covered


def _check_operands(i: Instruction) -> None:
    c, word = i.compiled, i.word
    assert c is not None
    reader = _readers.get(c.form)
    if reader is None:
        if len(_readers) >= _READERS:
            _readers.clear()
        reader = _readers[c.form] = Reader(c.form)
    text, again = reader.back(word, i.unit_address)
    odd = c.unexplained(word)
    if again is None or again ^ odd != word:
        what = "nothing" if again is None else f"{again ^ odd:#x}"
        raise Wrong(f"{word:#x} comes back from the operands of its text {i.text!r} as {what}")
    if "(" in text:
        text = text.replace("( ", "(").replace(" )", ")")
    if odd:
        text = f"{text} {{{odd:#x}}}"
    if i.text != text[1:] and i.text != f"long{text}":
        raise Wrong(f"{word:#x} is printed as {i.text!r}, its operands as {text!r}")


HERE = (
    Campaign(
        "combinations",
        f"{WORDS:,} words of one form, of some values of each operand: text and back by operands",
        _make,
        check_combinations,
        fewer_words,
        fixed=len(VARIANTS),
    ),
)
