"""Text to words: tries the forms of a mnemonic, shortest first, and explains the nearest miss."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from isakit.codec.tokens import Stream, Token
from isakit.spec.fields import Bits
from isakit.spec.isa import View
from isakit.spec.parts import needed_words
from isakit.spec.record import Form


@dataclass(frozen=True)
class Encoded:
    """One way to encode a statement."""

    form: Form
    word: int
    symbols: frozenset[str]

    @property
    def units(self) -> int:
        """Size in units."""
        return self.form.units


@dataclass(frozen=True)
class Miss:
    """Why a statement does not encode: the token index where the nearest form stopped and what it wanted."""

    token: int
    message: str
    notes: tuple[str, ...] = ()


Symbol = Callable[[str], int | None]


class Encoder:
    """Encodes statements of one instruction set in one variant and program type."""

    def __init__(self, view: View) -> None:
        self.view = view
        self._by_name: dict[str, list[Form]] = {}
        for f in view.forms:
            if view.available(f):
                for m in dict.fromkeys(f.mnemonics):
                    self._by_name.setdefault(m, []).append(f)
        for forms in self._by_name.values():
            forms.sort(key=lambda f: f.units)
        self._wanted = {f: wanted(f) for forms in self._by_name.values() for f in forms}
        self._lacking = {m for f in view.forms if not view.available(f) for m in f.mnemonics} - set(self._by_name)

    @property
    def mnemonics(self) -> list[str]:
        """All operation names."""
        return sorted(self._by_name)

    def named(self, mnemonic: str) -> list[Form]:
        """The forms with a mnemonic, shortest first."""
        return self._by_name.get(mnemonic, [])

    def forms(self, tokens: list[Token]) -> list[Form]:
        """The forms whose mnemonic stands among the tokens (outside parentheses), shortest first."""
        depth = 0
        out: list[Form] = []
        for t in tokens:
            if t.text == "(":
                depth += 1
            elif t.text == ")":
                depth -= 1
            elif depth == 0 and t.text in self._by_name:
                out += [f for f in self._by_name[t.text] if f not in out]
        return out

    def plausible(self, forms: list[Form], tokens: list[Token]) -> list[Form]:
        """Those of the forms whose indispensable words stand among the tokens; the others cannot match."""
        words = {t.text for t in tokens}
        return [f for f in forms if not any(words.isdisjoint(w) for w in self._wanted[f])]

    def encodings(
        self,
        tokens: list[Token],
        symbol: Symbol | None = None,
        *,
        flip: int = 0,
        forms: list[Form] | None = None,
        address: int = 0,
    ) -> Iterator[Encoded]:
        """Every legal encoding, in order of preference; `flip` bits are inverted in the result.

        `address` is where the instruction will stand, in units of code.
        """
        for form in self.plausible(self.forms(tokens) if forms is None else forms, tokens):
            stream = Stream(tokens, symbol, address)
            for bits in match(form, stream):
                word = (bits.value | form.base & ~bits.mask) ^ flip
                if form.matches(word) and form.error(word) is None:
                    yield Encoded(form, word, frozenset(stream.symbols_used))

    def diagnose(self, tokens: list[Token], symbol: Symbol | None = None, address: int = 0) -> Miss:
        """Explain why nothing encodes."""
        forms = self.forms(tokens)
        if not forms:
            return self._unknown_name(tokens)
        best: tuple[int, list[str], Form] | None = None
        conflicts: list[tuple[int, str]] = []
        illegal: list[str] = []
        for form in forms:
            stream = Stream(tokens, symbol, address)
            for bits in match(form, stream, conflicts):
                word = bits.value | form.base & ~bits.mask
                error = form.error(word)
                if error:
                    illegal.append(error)
            if best is None or stream.furthest > best[0]:
                best = stream.furthest, list(stream.expected), form
            elif stream.furthest == best[0]:
                best[1].extend(e for e in stream.expected if e not in best[1])
        if illegal:
            return Miss(0, f"these operands are the decode error {illegal[0]}")
        if conflicts:
            # The reading that got furthest is the one that was meant.
            reasons = list(dict.fromkeys(text for _, text in sorted(conflicts, key=lambda c: -c[0])))
            return Miss(0, reasons[0], tuple(reasons[1:4]))
        assert best is not None
        at, expected, form = best
        if at >= len(tokens):
            message = "the statement ends too early"
        elif at < 0:
            at, message = 0, "cannot be encoded"
        else:
            message = f"`{tokens[at].text}` does not fit here"
        notes = [f"accepted here: {e}" for e in dict.fromkeys(expected) if e][:6]
        syntax = form.record.syntax if form.record else []
        return Miss(at, message, (*notes, *[f"syntax: {s}" for s in syntax[:4]]))

    def _unknown_name(self, tokens: list[Token]) -> Miss:
        prefixes = self.view.isa.prefixes
        depth = 0
        for k, t in enumerate(tokens):
            depth += (t.text == "(") - (t.text == ")")
            if t.kind == "word" and depth == 0 and t.text not in prefixes and t.text[0] not in "$#":
                if t.text in self._lacking:
                    where = self.view.variant.name + (f" {self.view.program}" if self.view.program else "")
                    return Miss(k, f"{where} does not have `{t.text}`")
                close = difflib.get_close_matches(t.text, self._by_name, 3)
                notes = (f"did you mean {' or '.join(f'`{c}`' for c in close)}?",) if close else ()
                return Miss(k, f"unknown instruction `{t.text}`", notes)
        return Miss(0, "no instruction name")


def wanted(form: Form) -> list[frozenset[str]]:
    """Sets of words one of which must stand in a statement of this form, smallest sets first."""
    sets = [needed_words(form.parts[i[1:-1]]) if i[0] == "{" else frozenset({i}) for i in form.syntax]
    return sorted({s for s in sets if s is not None}, key=len)


def match(form: Form, stream: Stream, conflicts: list[tuple[int, str]] | None = None) -> Iterator[Bits]:
    """All readings of the stream as `form`, as the bits they determine together with the fixed ones."""
    yield from _match(form, stream, 0, 0, form.fixed, conflicts)


def _match(
    form: Form, s: Stream, item: int, k: int, so_far: Bits, conflicts: list[tuple[int, str]] | None
) -> Iterator[Bits]:
    if item == len(form.syntax):
        if k == len(s):
            yield so_far
        else:
            s.fail(k, "the end of the statement")
        return
    name = form.syntax[item]
    if name[0] != "{":
        if s.text(k) == name:
            yield from _match(form, s, item + 1, k + 1, so_far, conflicts)
        else:
            s.fail(k, f"`{name}`")
        return
    for n, b in form.parts[name[1:-1]].parse(s, k):
        both = so_far.join(b)
        if both is not None:
            yield from _match(form, s, item + 1, n, both, conflicts)
        elif conflicts is not None:
            shared = (so_far.value ^ b.value) & so_far.mask & b.mask
            conflicts.append((item, _conflict(form, name[1:-1], shared)))


def _conflict(form: Form, name: str, shared: int) -> str:
    if name in form.sharing:
        return form.sharing[name]
    others = [n for n, p in form.parts.items() if n != name and p.possible() & shared]
    what = f"`{'`, `'.join(others)}`" if others else "the opcode"
    return (
        f"operand `{name}` shares bits {shared:#x} with {what} in the {form.layout.name} form; "
        "they want different values"
    )
