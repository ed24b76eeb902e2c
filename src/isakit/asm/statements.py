"""One statement to its encodings, one per size; results that depend on no name are remembered."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from isakit.codec import Decoder, Encoded, Miss, Token, tokenize
from isakit.spec import Form

_FLIP = re.compile(r"\{\s*(0[xX][0-9a-fA-F]+)\s*\}$")
_MEMO_LIMIT = 1 << 17

Symbol = Callable[[str], int | None]


@dataclass(frozen=True, slots=True)
class Parsed:
    """A statement that was taken apart: tokens without markers, the bits to flip, whether `long` was written.

    `forms` can match its operation; `addressed` ones depend on where the instruction stands. `words` are all its words
    and `choices` its encodings when none of them is a name.
    """

    tokens: list[Token]
    flip: int
    long: bool
    forms: list[Form]
    addressed: bool
    words: frozenset[str]
    choices: tuple[Encoded, ...] | None


class StatementEncoder:
    """Encodes statements for one decoder's view."""

    def __init__(self, decoder: Decoder) -> None:
        self.decoder = decoder
        self._memo: dict[str, Parsed] = {}

    def parse(self, text: str) -> Parsed:
        """Take a statement apart and encode it as far as no name is involved. Raises AsmError for a stray character."""
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
        addressed = any(p.addressed for f in forms for p in f.parts.values())
        words = frozenset(t.text for t in tokens if t.kind == "word")
        parsed = Parsed(tokens, flip, long, forms, addressed, words, None)
        if not addressed and "." not in words:
            parsed = Parsed(tokens, flip, long, forms, addressed, words, self.encode(parsed))
        self._memo[text] = parsed
        return parsed

    def encode(self, p: Parsed, symbol: Symbol | None = None, address: int = 0) -> tuple[Encoded, ...]:
        """The preferred encoding of every size, smallest size first; empty when there is none.

        `address` is where the instruction will stand, in units.
        """
        encoder = self.decoder.encoder
        found: dict[int, Encoded] = {}
        for form in p.forms:
            if form.units not in found:
                for e in encoder.encodings(p.tokens, symbol, flip=p.flip, forms=[form], address=address):
                    found[form.units] = e
                    break
        return tuple(found[n] for n in sorted(found))

    def explain_miss(self, p: Parsed, symbol: Symbol | None, address: int) -> Miss:
        """Why a statement does not encode."""
        encoder = self.decoder.encoder
        if p.long and not p.forms and encoder.forms(p.tokens):
            return Miss(0, "there is no long form of this instruction")
        if p.flip and any(True for _ in encoder.encodings(p.tokens, symbol, forms=p.forms, address=address)):
            return Miss(len(p.tokens), f"flipping the bits {p.flip:#x} makes this another instruction")
        return encoder.diagnose(p.tokens, symbol, address)
