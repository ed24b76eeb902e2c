"""One statement to its encodings, one per size; results that depend on no name are remembered."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from isakit.codec import Decoder, Encoded, Miss, Token, tokenize
from isakit.lean import dataclass
from isakit.spec import Form

_FLIP = re.compile(r"\{\s*(0[xX][0-9a-fA-F]+)\s*\}$")
_MEMO_LIMIT = 1 << 17
_NAMED_LIMIT = 64
_IMPLIED_REACH = 4
"""Words after the operation among which an implied word may stand."""

Symbol = Callable[[str], int | None]


@dataclass(frozen=True, slots=True)
class Parsed:
    """A statement that was taken apart: tokens without markers, the bits to flip, whether `long` was written.

    `forms` can match its operation; `addressed` ones depend on where the instruction stands. `words` are all its words
    and `choices` its encodings when none of them is a name. `named` are those with names that were found so far, by
    place and values.
    """

    tokens: list[Token]
    flip: int
    long: bool
    forms: list[Form]
    addressed: bool
    words: frozenset[str]
    choices: tuple[Encoded, ...] | None
    named: dict[tuple[object, ...], tuple[Encoded, ...]]


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
        addressed = any(f.addressed for f in forms)
        words = frozenset(t.text for t in tokens if t.kind == "word")
        parsed = Parsed(tokens, flip, long, forms, addressed, words, None, {})
        if not addressed and "." not in words:
            parsed = Parsed(tokens, flip, long, forms, addressed, words, self.encode(parsed), {})
        self._memo[text] = parsed
        return parsed

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
        """Return what `encode` does, remembered: a text is assembled again and again while it is written."""
        values = tuple((w, v) for w in p.words if (v := symbol(w)) is not None)
        key = (address if p.addressed else None, values)
        found = p.named.get(key)
        if found is None:
            if len(p.named) >= _NAMED_LIMIT:
                p.named.clear()
            found = p.named[key] = self.encode(p, symbol, address)
        return found

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
        """Yield other spellings of the statement, with or without a word that goes without saying, and their forms.

        `encodes` says that the statement encodes as it stands: then a word that was written asks for the form that has
        it.
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

    def explain_miss(self, p: Parsed, symbol: Symbol | None, address: int) -> Miss:
        """Return the reason why a statement does not encode."""
        encoder = self.decoder.encoder
        if p.long and not p.forms and encoder.forms(p.tokens):
            return Miss(0, "there is no long form of this instruction")
        if p.flip and any(True for _ in encoder.encodings(p.tokens, symbol, forms=p.forms, address=address)):
            return Miss(len(p.tokens), f"flipping the bits {p.flip:#x} makes this another instruction")
        return encoder.diagnose(p.tokens, symbol, address)
