"""Text to words: tries the forms of a mnemonic, shortest first, and explains the nearest miss."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from isakit.codec.syntax import syntax_line
from isakit.errors import did_you_mean
from isakit.lean import dataclass
from isakit.spec.fields import Bits
from isakit.spec.isa import View
from isakit.spec.parts import NUMBER_START, Choice, Illegal, Part, accepted_text, needed_words, readings
from isakit.spec.record import Form
from isakit.spec.tokens import Stream, Token

MOST = 8
"""Accepted alternatives that are listed in a diagnostic."""


@dataclass(frozen=True)
class Encoded:
    """One way to encode a statement."""

    form: Form
    word: int
    symbols: frozenset[str]

    @property
    def units(self) -> int:
        """Size of the encoding, in units of code."""
        return self.form.units


@dataclass(frozen=True)
class Miss:
    """Reason why a statement does not encode: the token at which the nearest form stopped, and the texts it accepts."""

    token: int
    message: str
    notes: tuple[str, ...] = ()


Symbol = Callable[[str], int | None]


class Encoder:
    """Encodes statements of one instruction set in one variant and program type."""

    def __init__(self, view: View) -> None:
        self.view = view
        self._declared: dict[str, list[Form]] = {}
        self._lacking: dict[str, list[Form]] = {}
        for f in view.declared:
            by_name = self._declared if view.available(f) else self._lacking
            for m in dict.fromkeys(f.mnemonics):
                by_name.setdefault(m, []).append(f)
        self._by_name: dict[str, list[Form]] = {}
        self._wanted: dict[Form, list[frozenset[str]]] = {}
        self._one_size: dict[Form, bool] = {}

    @property
    def mnemonics(self) -> list[str]:
        """All operation names."""
        return sorted(self._declared)

    def named(self, mnemonic: str) -> list[Form]:
        """Return the forms with a mnemonic, shortest first."""
        forms = self._by_name.get(mnemonic)
        if forms is None:
            forms = [self.view.resolved(f) for f in self._declared.get(mnemonic, ())]
            forms.sort(key=lambda f: f.units)
            if forms:
                self._by_name[mnemonic] = forms
        return forms

    def one_size(self, form: Form) -> bool:
        """Return true if all forms with this one's mnemonic have its size."""
        known = self._one_size.get(form)
        if known is None:
            known = self._one_size[form] = all(f.units == form.units for m in form.mnemonics for f in self.named(m))
        return known

    def forms(self, tokens: list[Token]) -> list[Form]:
        """Return the forms whose mnemonic is among the tokens (outside parentheses), shortest first."""
        out: list[Form] = []
        for name in self._names(tokens):
            out += [f for f in self.named(name) if f not in out]
        return out

    def _names(self, tokens: list[Token]) -> list[str]:
        """Return the mnemonics among the tokens, outside parentheses and after any prefixes."""
        depth, out = 0, list[str]()
        for t in tokens:
            if t.text == "(":
                depth += 1
            elif t.text == ")":
                depth -= 1
            elif depth == 0 and t.text in self._declared:
                out.append(t.text)
            elif t.text in self.view.isa.in_front:
                out.clear()
        return out

    def plausible(self, forms: list[Form], tokens: list[Token]) -> list[Form]:
        """Return the forms whose mandatory words are among the tokens; the others cannot match."""
        words = {t.text for t in tokens}
        out: list[Form] = []
        for f in forms:
            for w in self.wanted(f):
                if words.isdisjoint(w):
                    break
            else:
                out.append(f)
        return out

    def wanted(self, form: Form) -> list[frozenset[str]]:
        """Return sets of words one of which must occur in a statement of this form, smallest sets first."""
        sets = self._wanted.get(form)
        if sets is None:
            sets = self._wanted[form] = wanted(form)
        return sets

    def encodings(
        self,
        tokens: list[Token],
        symbol: Symbol | None = None,
        *,
        flip: int = 0,
        forms: list[Form] | None = None,
        address: int = 0,
    ) -> Iterator[Encoded]:
        """Yield every legal encoding, in order of preference; `flip` bits are inverted in the result.

        `address` is where the instruction will stand, in units of code.
        """
        for form in self.plausible(self.forms(tokens) if forms is None else forms, tokens):
            yield from self.readings(form, tokens, symbol, flip=flip, address=address)

    def readings(
        self, form: Form, tokens: list[Token], symbol: Symbol | None = None, *, flip: int = 0, address: int = 0
    ) -> Iterator[Encoded]:
        """Yield every legal encoding in a form."""
        stream = Stream(tokens, symbol, address, quick=True)
        for bits in match(form, stream):
            word = (bits.value | form.base & ~bits.mask) ^ flip
            if form.matches(word) and form.error(word) is None:
                yield Encoded(form, word, frozenset(stream.symbols_used))

    def diagnose(self, tokens: list[Token], symbol: Symbol | None = None, address: int = 0) -> Miss:
        """Explain why nothing encodes."""
        forms = self.forms(tokens)
        if not forms:
            return self._without_name(tokens)
        types = {t.text for t in tokens if t.text[0].isalpha()}
        likeness = {f: sum(not types.isdisjoint(w) for w in wanted(f)) for f in forms}
        forms = [f for f in forms if likeness[f] == max(likeness.values())]
        nearest: list[tuple[int, list[str], Form]] = []
        conflicts: list[Conflict] = []
        illegal: list[str] = []
        for form in forms:
            stream = Stream(tokens, symbol, address)
            for bits in match(form, stream, conflicts):
                word = bits.value | form.base & ~bits.mask
                error = form.error(word)
                if error:
                    illegal.append(error)
            nearest.append((stream.furthest, stream.expected, form))
        if illegal:
            return Miss(0, f"these operands are the decode error {illegal[0]}")
        name = self._names(tokens)[0]
        for form in map(self.view.resolved, self._lacking.get(name, ())):
            if any(True for _ in match(form, Stream(tokens, symbol, address))):
                return Miss(0, f"{self._where()} does not have this form of `{name}`", (f"it needs {_needs(form)}",))
        at = max(n[0] for n in nearest)
        # The reading that got furthest is the one that was meant.
        best = max(conflicts, key=lambda c: c.item, default=None)
        if best is not None and (best.end > at or at >= len(tokens)):
            alike = [c for c in conflicts if c.message == best.message]
            return Miss(best.token, best.message, tuple(dict.fromkeys(n for c in alike for n in c.notes))[:4])
        nearest = [n for n in nearest if n[0] == at]
        expected = list(dict.fromkeys(e for n in nearest for text in n[1] for e in text.split(" | ") if e))
        notes: list[str] = []
        if at >= len(tokens):
            message = "the statement ends too early"
        elif at < 0:
            at, message = 0, "this cannot be encoded"
        else:
            message = f"`{tokens[at].text}` does not fit here"
            words = [e[1:-1] for e in expected if e[0] == e[-1] == "`"]
            notes += did_you_mean(tokens[at].text, words)
        if expected:
            notes.append(f"accepted here: {' | '.join(expected[:MOST])}" + (" | ..." if len(expected) > MOST else ""))
        lines = list(dict.fromkeys(syntax_line(n[2], name) for n in nearest))
        notes += [f"syntax: {line}" for line in lines[:3]]
        return Miss(at, message, tuple(notes))

    def unknown_name(self, name: str, token: int = 0) -> Miss:
        """Return the reason why there is no instruction of this name."""
        if name in self._lacking:
            return Miss(
                token, f"{self._where()} does not have `{name}`", (f"it needs {_needs(self._lacking[name][0])}",)
            )
        return Miss(token, f"unknown instruction `{name}`", did_you_mean(name, self._declared))

    def _without_name(self, tokens: list[Token]) -> Miss:
        prefixes = self.view.isa.prefixes
        depth = 0
        # What stands before an instruction ends in an operand.
        start = max((k + 2 for k, t in enumerate(tokens) if t.text in self.view.isa.in_front), default=0)
        for k, t in enumerate(tokens[start:], start):
            depth += (t.text == "(") - (t.text == ")")
            if t.kind == "word" and depth == 0 and t.text not in prefixes and t.text[0] not in "$#":
                return self.unknown_name(t.text, k)
        return Miss(0, "no instruction name")

    def _where(self) -> str:
        return self.view.variant.name + (f" {self.view.program}" if self.view.program else "")


def _needs(form: Form) -> str:
    """Return the features a form needs, in words."""
    texts = [" or ".join(n.split("|")) for n in sorted(form.needs)]
    return ", ".join(t if t[0] != "!" else f"the absence of {t[1:]}" for t in texts)


def wanted(form: Form) -> list[frozenset[str]]:
    """Return sets of words one of which must occur in a statement of this form, smallest sets first."""
    sets = [needed_words(form.parts[i[1:-1]]) if i[0] == "{" else frozenset({i}) for i in form.syntax]
    return sorted({s for s in sets if s is not None}, key=len)


@dataclass(frozen=True)
class Conflict:
    """An operand, tokens `token` to `end`, that can be read by itself, but needs bits that something else has set."""

    item: int
    token: int
    end: int
    message: str
    notes: tuple[str, ...]


Trail = tuple[tuple[str, int, int, Bits], ...]
"""The operands read so far: part, first token, token after, bits."""


def match(form: Form, stream: Stream, conflicts: list[Conflict] | None = None) -> Iterator[Bits]:
    """Return all readings of the stream as `form`, as the bits they determine together with the fixed ones."""
    if stream.quick and conflicts is None:
        return _quick_match(form, stream, 0, 0, form.fixed)
    return _match(form, stream, 0, 0, form.fixed, conflicts, ())


def _quick_match(form: Form, s: Stream, item: int, k: int, so_far: Bits) -> Iterator[Bits]:
    """Match the rest of a form without collecting reasons of failure; most parts have one reading or none."""
    items = form.readers
    while item < len(items):
        read, words = items[item]
        item += 1
        if words is not None:
            first = s.text(k)
            if first in words:
                if read is None:
                    k += 1
                    continue
            elif read is None or first[:1] == "$" or NUMBER_START not in words:
                return
        assert read is not None
        found = list(read(s, k))
        if len(found) != 1:
            for n, b in found:
                both = so_far.join(b)
                if both is not None:
                    yield from _quick_match(form, s, item, n, both)
            return
        k, b = found[0]
        both = so_far.join(b)
        if both is None:
            return
        so_far = both
    if k == len(s):
        yield so_far


def _match(
    form: Form, s: Stream, item: int, k: int, so_far: Bits, conflicts: list[Conflict] | None, trail: Trail
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
            yield from _match(form, s, item + 1, k + 1, so_far, conflicts, trail)
        else:
            s.fail(k, f"`{name}`")
        return
    for n, b in readings(form.parts[name[1:-1]], s, k):
        both = so_far.join(b)
        if both is not None:
            more = trail if conflicts is None else (*trail, (name[1:-1], k, n, b))
            yield from _match(form, s, item + 1, n, both, conflicts, more)
        elif conflicts is not None and n > k:
            conflicts.append(_conflict(form, s, (item, k, n), so_far, b, trail))


def _conflict(form: Form, s: Stream, where: tuple[int, int, int], so_far: Bits, b: Bits, trail: Trail) -> Conflict:
    item, k, n = where
    name = form.syntax[item][1:-1]
    shared = (so_far.value ^ b.value) & so_far.mask & b.mask
    text = _words(s, k, n)
    note = f"both are in the bits {shared:#x} of the {form.layout.name} form"
    if name in form.sharing:
        return Conflict(item, k, n, form.sharing[name], ())
    accepted = still_possible(form.parts[name], so_far)
    notes = (f"accepted here: {accepted}", note) if accepted else (note,)
    for _, k2, n2, other in trail:
        if n2 > k2 and other.mask & shared:
            return Conflict(item, k, n, f"`{text}` does not go with `{_words(s, k2, n2)}`", notes)
    return Conflict(item, k, n, f"`{text}` cannot stand in this form of the instruction", notes)


def _words(s: Stream, k: int, n: int) -> str:
    return " ".join(s.text(j) for j in range(k, n)).replace(" [ ", "[").replace(" ]", "]")


def still_possible(part: Part, so_far: Bits) -> str:
    """Return the texts a part accepts once some bits are decided."""
    if not isinstance(part, Choice) or any(a.quiet for a in part.alternatives):
        return ""  # what may be left out is not asked for
    texts = [
        still_possible(a.part, so_far) or accepted_text(a.part)
        for a in part.alternatives
        if so_far.join(a.when) is not None and not isinstance(a.part, Illegal)
    ]
    return " | ".join(dict.fromkeys(t for t in texts if t and t != "nothing"))
