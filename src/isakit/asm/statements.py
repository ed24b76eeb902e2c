"""One statement to its encodings, one per size; results that depend on no name are remembered."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, TypeVar

from isakit.codec import Decoder, Encoded, Miss, Token, tokenize
from isakit.lean import dataclass
from isakit.spec import Form

T = TypeVar("T")

_FLIP = re.compile(r"\{\s*(0[xX][0-9a-fA-F]+)\s*\}$")
_NAME = re.compile(r"[A-Za-z_.][\w.$]*")
_DECIMAL = re.compile(r"[1-9]\d*")
_MOST_WORDS = 32
"""More different words than any instruction has."""
_MEMO_LIMIT = 1 << 17
_NAMED_LIMIT = 64
_IMPLIED_REACH = 4
"""Words after the operation among which an implied word may occur."""

Symbol = Callable[[str], int | None]


@dataclass(frozen=True, slots=True)
class Parsed:
    """A parsed statement: tokens without markers, the bits to flip, whether `long` was written.

    `forms` can match its operation; `addressed` ones depend on the instruction's address. `words` are all its words and
    `choices` its encodings when none of them is a name; `bits`: the decimal integer in it that is taken for those of an
    f32 number, None where there is none. `found` is what was found out so far where some words are names, by the
    question, the place and their values.
    """

    tokens: list[Token]
    flip: int
    long: bool
    forms: list[Form]
    addressed: bool
    words: frozenset[str]
    choices: tuple[Encoded, ...] | None
    bits: Token | None
    found: dict[tuple[object, ...], Any]


class StatementEncoder:
    """Encodes statements for one decoder's view."""

    def __init__(self, decoder: Decoder) -> None:
        self.decoder = decoder
        self._memo: dict[str, Parsed] = {}

    def parse(self, text: str) -> Parsed:
        """Parse a statement, and encode it as far as no name is involved. Raises AsmError for a stray character."""
        known = self._memo.get(text)
        if known is not None:
            return known
        if len(self._memo) >= _MEMO_LIMIT:
            self._memo.clear()
        body, flip = text, 0
        if text.endswith("}") and (m := _FLIP.search(text)):
            body, flip = text[: m.start()], int(m[1], 16)
        tokens = tokenize(body)
        forms = self.decoder.encoder.forms(tokens)
        long = False
        if tokens and tokens[0].text == "long":
            long, tokens = True, tokens[1:]
            forms = [f for f in forms if f.units > 1]
        addressed = any(f.addressed for f in forms)
        words = frozenset(t.text for t in tokens if t.kind == "word")
        parsed = Parsed(tokens, flip, long, forms, addressed, words, None, None, {})
        choices = self.encode(parsed) if not addressed and "." not in words else None
        bits = self._number_as_bits(parsed) if "f32" in words else None
        if choices is not None or bits is not None:
            parsed = replace(parsed, choices=choices, bits=bits)
        self._memo[text] = parsed
        return parsed

    def _number_as_bits(self, p: Parsed) -> Token | None:
        """Return the first decimal integer that could be replaced by a number with a decimal point."""
        for k, t in enumerate(p.tokens):
            if _DECIMAL.fullmatch(t.text):
                tokens = [*p.tokens[:k], replace(t, text=f"{t.text}.0", kind="float"), *p.tokens[k + 1 :]]
                if self.encode(replace(p, tokens=tokens)):
                    return t
        return None

    def encode(self, p: Parsed, symbol: Symbol | None = None, address: int = 0) -> tuple[Encoded, ...]:
        """Return the preferred encoding of every size, smallest size first; empty when there is none.

        `address` is where the instruction will stand, in units.
        """
        found = self._encode(p, p.tokens, symbol, address)
        missing = [f for f in p.forms if f.units not in found]
        if missing and self.decoder.isa.implied:
            for forms, tokens in self._implied(missing, p.tokens, bool(found)):
                found = self._encode(p, tokens, symbol, address, forms) | found
        return tuple(found[n] for n in sorted(found))

    def encode_named(self, p: Parsed, symbol: Symbol, address: int) -> tuple[Encoded, ...]:
        """Return the same as `encode`, cached."""
        return self.remembered("encode", p, symbol, address, lambda: self.encode(p, symbol, address))

    def remembered(self, question: str, p: Parsed, symbol: Symbol, address: int, find: Callable[[], T]) -> T:
        """Return the result of `find` for a statement in a place, cached; names have the values of `symbol`.

        It is found out once: a text is assembled again and again while it is written.
        """
        values = tuple((w, v) for w in p.words if (v := symbol(w)) is not None)
        depends_on_place = p.addressed or p.long or not p.forms  # of the last two other forms are looked at, too
        key = (question, address if depends_on_place else None, values)
        if key not in p.found:
            if len(p.found) >= _NAMED_LIMIT:
                p.found.clear()
            p.found[key] = find()
        return p.found[key]

    def _encode(
        self, p: Parsed, tokens: list[Token], symbol: Symbol | None, address: int, forms: list[Form] | None = None
    ) -> dict[int, Encoded]:
        """Return the preferred encoding of each size, by the size."""
        encoder = self.decoder.encoder
        found: dict[int, Encoded] = {}
        for form in encoder.plausible(p.forms if forms is None else forms, tokens):
            if form.units not in found:
                for e in encoder.readings(form, tokens, symbol, flip=p.flip, address=address):
                    found[form.units] = e
                    break
        return found

    def _implied(
        self, forms: list[Form], tokens: list[Token], encodes: bool
    ) -> Iterator[tuple[list[Form], list[Token]]]:
        """Yield other spellings of the statement, with or without an implied word, and their forms.

        `encodes`: the statement encodes as written, so that a written word selects the form that has it.
        """
        words = [t.text for t in tokens]
        k = next((k for k, word in enumerate(words) if word in self.decoder.isa.implied), None)
        if k is None:
            return
        implied = self.decoder.isa.implied[words[k]]
        if implied in words:
            if not encodes:
                yield forms, [t for t in tokens if t.text != implied]
            return
        encoder = self.decoder.encoder
        wanting = [f for f in forms if any(implied in w for w in encoder.wanted(f))]
        if not encoder.plausible(wanting, [*tokens, Token(implied, "word", 0, True)]):
            return
        for at in range(k + 1, min(k + _IMPLIED_REACH, len(tokens))):
            yield wanting, [*tokens[:at], Token(implied, "word", tokens[at].column, True), *tokens[at:]]

    def undefined(self, p: Parsed, symbol: Symbol, address: int) -> str:
        """Return the word that, if it were the name of a number, would make the statement right; else an empty text."""

        def find() -> str:
            for name in itertools.islice(dict.fromkeys(t.text for t in p.tokens), _MOST_WORDS):
                if _NAME.fullmatch(name) and symbol(name) is None and name in p.words:

                    def guess(word: str, name: str = name) -> int | None:
                        return 0 if word == name else symbol(word)

                    if self.encode(p, guess, address):
                        return name
            return ""

        return self.remembered("undefined", p, symbol, address, find)

    def explain_miss(self, p: Parsed, symbol: Symbol, address: int) -> Miss:
        """Return the reason why a statement does not encode."""
        return self.remembered("miss", p, symbol, address, lambda: self._miss(p, symbol, address))

    def _miss(self, p: Parsed, symbol: Symbol, address: int) -> Miss:
        encoder = self.decoder.encoder
        if p.long and not p.forms and encoder.forms(p.tokens):
            return Miss(0, "there is no long form of this instruction")
        if p.flip and any(True for _ in encoder.encodings(p.tokens, symbol, forms=p.forms, address=address)):
            return Miss(len(p.tokens), f"flipping the bits {p.flip:#x} makes this another instruction")
        return encoder.diagnose(p.tokens, symbol, address)
