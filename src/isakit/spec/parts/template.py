"""Operands described by how they are written: one line from which text, reading, bits and the typed operand follow.

`template("g{space}[{base}]", Memory, space=bank, base=word(address))` is all there is to say of a g[] operand. The
language is small: characters that stand for themselves, and holes. A hole that is a token of its own is a part; one
inside a token (`g{space}`, `$t{}`) is a field whose number completes the word; one after a dot
(`{register}.{swizzle}`) is letters of the same word. What a hole is may be decided by the bits before it
(`Dependent`). Several spellings of one meaning are a `Written`: alternatives as in a `Choice`, but the meaning looks at
none of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field as member
from dataclasses import replace
from typing import Any

from isakit.lean import cached_property, dataclass
from isakit.spec.fields import Bits, Field
from isakit.spec.operands import CodeAddress, Compound, Flag, Immediate, Operand, Register
from isakit.spec.parts.base import (
    NUMBER_START,
    Binder,
    Context,
    Keep,
    Match,
    OfField,
    Part,
    Row,
    TokenStream,
    pattern,
    starts,
)
from isakit.spec.parts.choices import Alternative, Choice
from isakit.spec.parts.compose import Dependent, or_sources, same
from isakit.spec.parts.numbers import Reg
from isakit.spec.parts.words import Literal
from isakit.spec.patterns import ANYTHING, one_of

_TOKEN = re.compile(r"(\s*)(\+\+|[\[\]():+|*]|\{\w*\}|[^\s\[\]():+|*{}]+)")
_HOLE = re.compile(r"\{(\w*)\}")


@dataclass(frozen=True)
class Numbered(OfField):
    """A word with a number in it (`g14`, `$t3`); `names[value]` is the word, None where the value is illegal."""

    field: Field
    names: tuple[str | None, ...]
    static = True

    def text(self, word: int, address: int = 0) -> str:
        return self.names[self.field.get(word)] or "???"

    def static_mask(self) -> int:
        return self.field.mask

    def parse(self, s: TokenStream, k: int) -> Iterator[Match]:
        for b in self.put(s.text(k)):
            yield k + 1, b

    def bind(self, word: int, b: Binder) -> Any:
        return self.text(word)

    def rows(self, word: int) -> list[Row]:
        return [Row(self.field, self.field.get(word), self.text(word))]

    def claimed_source(self, keep: Keep) -> str:
        return str(self.field.mask)

    def starts(self) -> frozenset[str]:
        return frozenset(n for n in self.names if n)

    def accepts(self) -> str:
        legal = [n for n in self.names if n]
        return f"{legal[0]} .. {legal[-1]}"

    def pattern(self) -> str:
        return one_of(n for n in self.names if n)


@dataclass(frozen=True)
class CellPart(Reg):
    """A register that is written as a place of a memory, `o[0x8]`; made by `cell`."""

    def parse(self, s: TokenStream, k: int) -> Iterator[Match]:
        got = s.number(k + 2) if s.text(k + 1) == "[" else None
        b = self._values.get(f"{s.text(k)}[{got[1]:#x}]") if got and s.text(got[0]) == "]" else None
        if got is None or b is None:
            s.fail(k, self.accepts())
        else:
            yield got[0] + 1, b


def cell(f: Field, name: str, step: int, access: Callable[[Any], Any], *, file: str, half: bool = False) -> CellPart:
    """A register of `file` written `name[number * step]`."""
    names = tuple(f"{name}[{v * step:#x}]" for v in range(1 << f.width))
    return CellPart(f, names, access, file=file, width=8 * step, half=half)


@dataclass(frozen=True)
class Template(Part):
    """An operand by its spelling, see `template`."""

    spelling: str
    kind: type[Operand]
    holes: Mapping[str, Part]
    facts: Mapping[str, Any] = member(default_factory=dict[str, Any])
    hints: Mapping[str, Any] | Callable[[int], Mapping[str, Any]] = member(default_factory=dict[str, Any])
    make: Callable[..., Any] | None = None
    hint: str = ""
    meanings: Mapping[str, str] = member(default_factory=dict[str, str])
    fits: Callable[[Any], bool] | None = None

    @cached_property
    def items(self) -> list[tuple[str, str, Part | None]]:
        """(blank in front, token or hole's name, the hole's part) in the order of the text."""
        out: list[tuple[str, str, Part | None]] = []
        for blank, token in _TOKEN.findall(self.spelling):
            hole = _HOLE.fullmatch(token)
            out.append((blank, hole[1], self.holes[hole[1]]) if hole else (blank, token, None))
        return out

    @cached_property
    def parts(self) -> list[Part]:
        """The parts of the holes."""
        return list(self.holes.values())

    @cached_property
    def addressed(self) -> bool:  # type: ignore[override]
        return any(p.addressed for p in self.parts)

    def resolve(self, ctx: Context) -> Part:
        parts = [p.resolve(ctx) for p in self.holes.values()]
        return self if same(parts, self.parts) else replace(self, holes=dict(zip(self.holes, parts, strict=True)))

    def text(self, word: int, address: int = 0) -> str:
        out = last = ""
        for blank, token, part in self.items:
            text = token if part is None else part.text(word, address)
            if text == "." and last[:1] == "#":
                blank = " "  # the dot would be one of the number
            if text:
                out += blank + text if out else text
                last = text
        return out

    def error(self, word: int) -> str | None:
        return next((e for p in self.parts if (e := p.error(word)) is not None), None)

    def claimed(self, word: int) -> int:
        return _union(p.claimed(word) for p in self.parts)

    @cached_property
    def _possible(self) -> int:
        return _union(p.possible() for p in self.parts)

    def describing(self) -> int:
        if callable(self.hints):
            return -1
        return super().describing() | _union(p.describing() for p in self.parts)

    def possible(self) -> int:
        return self._possible

    def static_mask(self) -> int:
        return _union(p.static_mask() for p in self.parts)

    def static_word(self, word: int) -> int:
        return _union(p.static_word(word) for p in self.parts)

    def parse(self, s: TokenStream, k: int) -> Iterator[Match]:
        _, token, part = self.items[0]
        if part is None and s.text(k) != token:  # most operands that are tried begin with another word
            s.fail(k, self.accepts())
            return iter(())
        if s.quick and not self._begins(s, k):
            return iter(())
        return self._parse(s, k, 0, Bits())

    @cached_property
    def _first(self) -> list[tuple[frozenset[str], bool]]:
        """For the first tokens what they may be, and whether that is all of their item."""
        out: list[tuple[frozenset[str], bool]] = []
        for _, token, part in self.items:
            words = frozenset({token}) if part is None else starts(part)
            if words is None or "" in words:
                break
            single = part is None or type(part) is Reg
            out.append((words, single or (type(part) is Literal and part.single)))
        return out

    def _begins(self, s: TokenStream, k: int) -> bool:
        """Whether the tokens may be this spelling, as far as one can tell without reading numbers."""
        for words, single in self._first:
            text = s.text(k)
            if text not in words:
                computed = text[:1] == "#" or s.text(k + 1) == "["  # an index in an expression: `r[n]`, `#name`
                return computed or (NUMBER_START in words and text[:1] != "$")
            if not single:
                return True
            k += 1
        return True

    def _parse(self, s: TokenStream, k: int, i: int, so_far: Bits) -> Iterator[Match]:
        items = self.items
        while i < len(items):
            _, token, part = items[i]
            i += 1
            if part is not None:
                break
            if s.text(k) != token:
                s.fail(k, f"`{token}`" if i > 1 else self.accepts())
                return
            k += 1
        else:
            yield k, so_far
            return
        if isinstance(part, Dependent):
            part = part.given(so_far.value)
        read, found = False, part.parse(s, k)
        if i + 1 < len(items) and items[i][1] == ".":
            found = _dotted(part, items[i + 1][2], s, k, so_far)
            i += 2
        for n, b in found:
            read = True
            both = so_far.join(b)
            if both is not None:
                if i == len(items):
                    yield n, both
                else:
                    yield from self._parse(s, n, i, both)
        if not read:
            s.fail(k, part.accepts() if part is not self.items[0][2] else self.accepts())

    def starts(self) -> frozenset[str] | None:
        out = frozenset({""})
        for _, token, part in self.items:
            words = frozenset({token}) if part is None else starts(part)
            if words is None:
                return None
            out = out - {""} | words
            if "" not in words:
                break
        return out

    def bind(self, word: int, b: Binder) -> Any:
        bound = {n: p.bind(word, b) for n, p in self.holes.items()}
        return self.make(**bound) if self.make else bound

    def guards(self, word: int) -> bool:
        return any(p.guards(word) for p in self.parts)

    def operand(self, word: int, address: int = 0) -> Operand:
        text = self.text(word, address)
        if self.kind is Compound:
            return Compound(tuple(self._operands(word)), text=text)
        hints = self.hints(word) if callable(self.hints) else self.hints
        if self.register is not None:
            modifiers = {n: p.operand(word) for n, p in self.holes.items() if p is not self.register}
            told = {n: o.value if o.value is True else str(o) for n, o in modifiers.items() if isinstance(o, Flag)}
            return self.register.described(word, text, **self.facts, **hints, **told)
        told = {n: _plain(p.operand(word, address)) for n, p in self.holes.items()}
        return self.kind(**{**self.kind.absent, **self.facts, **hints, **told}, text=text)

    def _operands(self, word: int) -> Iterator[Operand]:
        """The operands of a group; those in a group of it that has operands of its own are named."""
        for _, token, part in self.items:
            inner = part.given(word) if isinstance(part, Dependent) else part
            if isinstance(inner, Template) and inner.kind is Compound:
                for (name, _), o in zip(inner.holes.items(), inner._operands(word), strict=True):
                    o.name = name
                    yield o
            elif part is not None and (found := part.operand(word)) is not None:
                yield found
            elif part is None and token not in ":+":
                yield Flag(token)

    @cached_property
    def register(self) -> Reg | None:
        """The register that the other holes modify, in the spelling of one with modifiers."""
        found = self.holes.get("register") if self.kind is Register else None
        return found if isinstance(found, Reg) else None

    def put(self, value: Any, address: int = 0) -> Sequence[Bits]:
        if self.register is not None and isinstance(value, (Register, Immediate)):
            return self._put_modified(self.register, value)
        if isinstance(value, Compound) and self.kind is Compound and not self.few:
            return [b for left, b in self._put_group(value.operands, Bits()) if not left]
        if not isinstance(value, self.kind) or self.kind is Compound:
            return super().put(value) if self.few and (type(value) is str or isinstance(value, self.kind)) else ()
        given = {n: getattr(value, n) for n in self.holes}
        fixed = {**self.kind.absent, **self.facts}
        if any(getattr(value, n) != v for n, v in fixed.items() if n not in given):
            return ()
        if self.fits is not None and not self.fits(value):
            return ()
        return product(self.holes[n].put(v, address) for n, v in given.items())

    def _put_modified(self, register: Reg, value: Register | Immediate) -> Sequence[Bits]:
        """The bits of a register (or a number in its place) with modifiers."""
        given = {n: v for n, v in value.modifiers if n not in register.own}
        if any(given.pop(n, None) != v for n, v in self.facts.items()) or not given.keys() <= self.holes.keys():
            return ()
        alone = value.alone if isinstance(value, Register) else value
        out = list(register.put(alone))
        for n, p in self.holes.items():
            if p is not register:
                ways = [(b, p.given(b.value) if isinstance(p, Dependent) else p) for b in out]
                out = [both for b, q in ways for f in q.put(given.get(n)) if (both := b.join(f)) is not None]
        return out

    def _put_group(self, values: Sequence[Operand], so_far: Bits) -> Iterator[tuple[Sequence[Operand], Bits]]:
        """(operands that are left, bits) of all ways to take operands for the holes, in the order of the text."""
        states: list[tuple[Sequence[Operand], Bits]] = [(values, so_far)]
        for _, _, part in self.items:
            if part is None:
                continue
            after: list[tuple[Sequence[Operand], Bits]] = []
            for left, b in states:
                p = part.given(b.value) if isinstance(part, Dependent) else part
                if isinstance(p, Template) and p.kind is Compound:
                    after += p._put_group(left, b)
                    continue
                ways = [(left[1:], f) for f in p.put(left[0])] if left else []
                ways += [(left, f) for f in p.put(None)]
                after += [(rest, both) for rest, f in ways if (both := b.join(f)) is not None]
            states = after
        yield from states

    def error_source(self, keep: Keep) -> str:
        sources = [s for s in (p.error_source(keep) for p in self.parts) if s != "None"]
        return "(" + " or ".join(sources) + ")" if sources else "None"

    def claimed_source(self, keep: Keep) -> str:
        return or_sources([p.claimed_source(keep) for p in self.parts])

    @cached_property
    def few(self) -> bool:
        """Whether all values of the operand fit in a table."""
        return self.possible().bit_count() <= _FEW

    def rows(self, word: int) -> list[Row]:
        out: list[Row] = []
        for name, p in self.holes.items():
            for r in p.rows(word):
                meaning = self.meanings.get(name)
                out.append(replace(r, meaning=meaning.format(r.meaning)) if meaning else r)
        return out

    def accepts(self) -> str:
        return self.hint or self._accepts

    @cached_property
    def _accepts(self) -> str:
        return "".join(b + (t if p is None else p.accepts()) for b, t, p in self.items)

    def pattern(self) -> str:
        if any(t == "." for _, t, _ in self.items):
            return ANYTHING
        return "".join(("" if not b else " ?") + (re.escape(t) if p is None else pattern(p)) for b, t, p in self.items)


_FEW = 12


def product(ways: Iterable[Sequence[Bits]]) -> list[Bits]:
    """All combinations of bits without contradiction."""
    out = [Bits()]
    for found in ways:
        out = [both for b in out for f in found if (both := b.join(f)) is not None]
    return out


def _union(masks: Iterable[int]) -> int:
    out = 0
    for m in masks:
        out |= m
    return out


def _plain(value: Operand | None) -> Any:
    """A hole's value as an attribute of the operand: words as text, numbers as int."""
    if isinstance(value, CodeAddress):
        return value.address
    return value.value if isinstance(value, Immediate) else str(value) if type(value) is Flag else value


class _Stem:
    """A token stream where one word ends at its dot."""

    quick = False

    def __init__(self, s: TokenStream, k: int) -> None:
        self.s, self.k = s, k
        self.number, self.float_number, self.fail, self.address = s.number, s.float_number, s.fail, s.address

    def text(self, k: int) -> str:
        """Token `k`, what stands before the dot."""
        t = self.s.text(k)
        return t.partition(".")[0] if k == self.k else t


def _dotted(stem: Part, letters: Part | None, s: TokenStream, k: int, so_far: Bits) -> Iterator[Match]:
    """The readings of a part with letters after a dot, `pa4.xyzw`: they may be one word or two."""
    for n, b in stem.parse(_Stem(s, k), k):
        _, dot, text = s.text(k).partition(".") if n == k + 1 else ("", "", "")
        if not dot and s.text(n)[:1] == ".":
            text, n = s.text(n)[1:], n + 1
        both = so_far.join(b)
        if text and both is not None and letters is not None:
            part = letters.given(both.value) if isinstance(letters, Dependent) else letters
            for more in part.put(text):
                whole = both.join(more)
                if whole is not None:
                    yield n, whole


def template(
    spelling: str,
    kind: type[Operand] = Flag,
    make: Callable[..., Any] | None = None,
    *,
    hint: str = "",
    facts: Mapping[str, Any] | None = None,
    hints: Mapping[str, Any] | Callable[[int], Mapping[str, Any]] | None = None,
    meanings: Mapping[str, str] | None = None,
    fits: Callable[[Any], bool] | None = None,
    **holes: Part | Field,
) -> Template:
    """An operand by its spelling.

    Args:
        spelling: the text, with holes: `g{space}[{base}]`.
        kind: the class of operand; holes have the names of its attributes. Where it is `Register` and a hole is named
            `register`, the other holes are that register's modifiers.
        make: what the semantics gets, from the bound holes (default: a dict of them).
        hint: what can be written here, for diagnostics (default: the spelling with what the holes accept).
        facts: attributes of the operand that the spelling says without a hole.
        hints: attributes that it has besides, but that do not decide whether an operand made by hand can be written so;
            may be a function of the word.
        meanings: explanations of the holes, with `{}` for what the hole itself says.
        fits: a further condition for operands made by hand.
        holes: the parts of the holes; a field where the hole is part of a word with a number.
    """
    for word in spelling.replace("[", " ").replace("]", " ").split():
        for name in _HOLE.findall(word):
            f = holes[name]
            if isinstance(f, Field):
                names = tuple(word.replace(f"{{{name}}}", str(v)) for v in range(1 << f.width))
                holes[name] = Numbered(f, names)
                spelling = spelling.replace(word, f"{{{name}}}")
    parts = {n: p for n, p in holes.items() if isinstance(p, Part)}
    return Template(spelling, kind, parts, facts or {}, hints or {}, make, hint, meanings or {}, fits)


@dataclass(frozen=True)
class Written(Choice):
    """Several spellings of one meaning, the canonical one first where several read a text.

    `describe(word)` explains the bits, where the spellings do not do that well.

    `meaning(word, binder)` is what the semantics gets; only the bits `fixed` may influence its Python control flow.
    """

    meaning: Callable[[int, Binder], Any] = lambda word, b: None
    fixed: int = 0
    hint: str = ""
    describe: Callable[[int], list[Row]] | None = None

    def rows(self, word: int) -> list[Row]:
        return self.describe(word) if self.describe else super().rows(word)

    def static_mask(self) -> int:
        return self.fixed

    def static_word(self, word: int) -> int:
        return word & self.fixed

    def _leads_to(self, i: int, b: Bits) -> bool:
        return True  # another spelling of what an earlier alternative says is welcome

    def bind(self, word: int, b: Binder) -> Any:
        return self.meaning(word, b)

    def accepts(self) -> str:
        return self.hint or super().accepts()


def written(
    *alternatives: Alternative,
    meaning: Callable[[int, Binder], Any],
    static: Sequence[Field] = (),
    hint: str = "",
    describe: Callable[[int], list[Row]] | None = None,
) -> Written:
    """Several spellings of one meaning, made with `when`; `static` are the fields that the meaning may look at."""
    fixed = _union(f.mask for f in static)
    return Written(alternatives, meaning=meaning, fixed=fixed, hint=hint, describe=describe)
