"""Operands described by how they are written: one line from which text, reading, bits and the typed operand follow.

`template("g{space}[{base}]", Memory, space=bank, base=word(address))` is all there is to say of a g[] operand. The
language is small: characters that stand for themselves, and holes. A hole that is a token of its own is a part; one
inside a token (`g{space}`, `$t{}`) is a field whose number completes the word. Several spellings of one meaning are a
`Written`: alternatives as in a `Choice`, but the meaning looks at none of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field as member
from dataclasses import replace
from functools import cached_property
from typing import Any

from isakit.lean import dataclass
from isakit.spec.fields import Bits, Field
from isakit.spec.operands import CodeAddress, Compound, Flag, Immediate, Operand, Register
from isakit.spec.parts.base import Binder, Context, Keep, Match, Part, Row, TokenStream, pattern, starts
from isakit.spec.parts.compose import Alternative, Choice, or_sources, same
from isakit.spec.parts.numbers import Reg
from isakit.spec.patterns import one_of

_TOKEN = re.compile(r"(\s*)(\+\+|[\[\]():+|*]|\{\w*\}|[^\s\[\]():+|*{}]+)")
_HOLE = re.compile(r"\{(\w*)\}")


@dataclass(frozen=True)
class Numbered(Part):
    """A word with a number in it (`g14`, `$t3`); `names[value]` is the word, None where the value is illegal."""

    field: Field
    names: tuple[str | None, ...]
    static = True

    def text(self, word: int) -> str:
        return self.names[self.field.get(word)] or "???"

    def claimed(self, word: int) -> int:
        return self.field.mask

    def possible(self) -> int:
        return self.field.mask

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
class Cell(Reg):
    """A register that is written as a place of a memory, `o[0x8]`; made by `cell`."""

    def parse(self, s: TokenStream, k: int) -> Iterator[Match]:
        got = s.number(k + 2) if s.text(k + 1) == "[" else None
        b = self._values.get(f"{s.text(k)}[{got[1]:#x}]") if got and s.text(got[0]) == "]" else None
        if got is None or b is None:
            s.fail(k, self.accepts())
        else:
            yield got[0] + 1, b


def cell(f: Field, name: str, step: int, access: Callable[[Any], Any], *, file: str, half: bool = False) -> Cell:
    """A register of `file` written `name[number * step]`."""
    names = tuple(f"{name}[{v * step:#x}]" for v in range(1 << f.width))
    return Cell(f, names, access, file=file, width=8 * step, half=half)


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

    @property
    def addressed(self) -> bool:  # type: ignore[override]
        return any(p.addressed for p in self.parts)

    def resolve(self, ctx: Context) -> Part:
        parts = [p.resolve(ctx) for p in self.holes.values()]
        return self if same(parts, self.parts) else replace(self, holes=dict(zip(self.holes, parts, strict=True)))

    def text(self, word: int) -> str:
        return self.text_at(word, 0)

    def text_at(self, word: int, address: int) -> str:
        out = ""
        for blank, token, part in self.items:
            text = token if part is None else part.text_at(word, address)
            if text:
                out += blank + text if out else text
        return out

    def error(self, word: int) -> str | None:
        return next((e for p in self.parts if (e := p.error(word)) is not None), None)

    def claimed(self, word: int) -> int:
        return _union(p.claimed(word) for p in self.parts)

    @cached_property
    def _possible(self) -> int:
        return _union(p.possible() for p in self.parts)

    def possible(self) -> int:
        return self._possible

    def static_mask(self) -> int:
        return _union(p.static_mask() for p in self.parts)

    def static_word(self, word: int) -> int:
        return _union(p.static_word(word) for p in self.parts)

    def starts(self) -> frozenset[str] | None:
        _, token, part = self.items[0]
        return frozenset({token}) if part is None else starts(part)

    def parse(self, s: TokenStream, k: int) -> Iterator[Match]:
        return self._parse(s, k, 0, Bits())

    def _parse(self, s: TokenStream, k: int, i: int, so_far: Bits) -> Iterator[Match]:
        if i == len(self.items):
            yield k, so_far
            return
        _, token, part = self.items[i]
        if part is None:
            if s.text(k) == token:
                yield from self._parse(s, k + 1, i + 1, so_far)
            else:
                s.fail(k, f"`{token}`" if i else self.accepts())
            return
        read = False
        for n, b in part.parse(s, k):
            read = True
            both = so_far.join(b)
            if both is not None:
                yield from self._parse(s, n, i + 1, both)
        if not read:
            s.fail(k, part.accepts() if i else self.accepts())

    def bind(self, word: int, b: Binder) -> Any:
        bound = {n: p.bind(word, b) for n, p in self.holes.items()}
        return self.make(**bound) if self.make else bound

    def guards(self, word: int) -> bool:
        return any(p.guards(word) for p in self.parts)

    def operand(self, word: int) -> Operand:
        return self.operand_at(word, 0)

    def operand_at(self, word: int, address: int) -> Operand:
        text = self.text_at(word, address)
        if self.kind is Compound:
            parts = (Flag(t) if p is None else p.operand(word) for _, t, p in self.items if t != ":")
            return Compound(tuple(o for o in parts if o is not None), text=text)
        hints = self.hints(word) if callable(self.hints) else self.hints
        if self.register is not None:
            modifiers = {n: p.operand(word) for n, p in self.holes.items() if p is not self.register}
            told = {n: o.value for n, o in modifiers.items() if isinstance(o, Flag)}
            return self.register.described(word, text, **self.facts, **hints, **told)
        told = {n: _plain(p.operand_at(word, address)) for n, p in self.holes.items()}
        return self.kind(**{**self.kind.absent, **self.facts, **hints, **told}, text=text)

    @cached_property
    def register(self) -> Reg | None:
        """The register that the other holes modify, in the spelling of one with modifiers."""
        found = self.holes.get("register") if self.kind is Register else None
        return found if isinstance(found, Reg) else None

    def put(self, value: Any, address: int = 0) -> Sequence[Bits]:
        if self.register is not None and isinstance(value, (Register, Immediate)):
            return self._put_modified(self.register, value)
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
        return product(p.put(alone if p is register else given.get(n)) for n, p in self.holes.items())

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
        if self.hint:
            return self.hint
        return "".join(b + (t if p is None else p.accepts()) for b, t, p in self.items)

    def pattern(self) -> str:
        return "".join(("" if not b else " ") + (re.escape(t) if p is None else pattern(p)) for b, t, p in self.items)


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
