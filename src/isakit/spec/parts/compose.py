"""Parts made of parts: sequences, and parts that bits before them decide."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, cast

from isakit.lean import dataclass
from isakit.spec.fields import Bits
from isakit.spec.operands import Compound, Operand
from isakit.spec.parts.base import (
    ILLEGAL,
    Binder,
    Context,
    Keep,
    Match,
    Part,
    Row,
    TokenStream,
    fit_tokens,
    needed_words,
    pattern,
)
from isakit.spec.parts.words import Illegal
from isakit.spec.patterns import ANYTHING, joined


def or_sources(sources: Sequence[str]) -> str:
    """OR of integer expressions, constants folded."""
    number = 0
    rest: list[str] = []
    for source in sources:
        if source.isdigit():
            number |= int(source)
        else:
            rest.append(source)
    return (
        "|".join([str(number), *dict.fromkeys(rest)])
        if not rest
        else "(" + "|".join(([str(number)] if number else []) + list(dict.fromkeys(rest))) + ")"
    )


def same(a: Sequence[object], b: Sequence[object]) -> bool:
    """Whether two sequences hold the very same objects."""
    return len(a) == len(b) and all(map(operator.is_, a, b))


@dataclass(frozen=True)
class Dependent(Part):
    """A part that other bits decide, which stand in front of it in a template: `choose(word)`, None where illegal.

    `bits` are all that it looks at or may claim. `same`: contexts make no difference to the parts.
    """

    choose: Callable[[int], Part | None]
    bits: int
    same: bool = False
    illegal: str = ILLEGAL

    def given(self, word: int) -> Part:
        """The part that the bits decide."""
        return self.choose(word) or Illegal(self.illegal)

    def resolve(self, ctx: Context) -> Part:
        known: dict[int, tuple[Part, Part]] = {}

        def chosen(word: int) -> Part | None:
            part = self.choose(word)
            if part is None:
                return None
            if id(part) not in known:
                known[id(part)] = part, part.resolve(ctx)
            return known[id(part)][1]

        return self if self.same else replace(self, choose=chosen)

    def text(self, word: int) -> str:
        return self.given(word).text(word)

    def error(self, word: int) -> str | None:
        return self.given(word).error(word)

    def claimed(self, word: int) -> int:
        return self.given(word).claimed(word)

    def possible(self) -> int:
        return self.bits

    def describing(self) -> int:
        return -1  # what it is given may look anywhere

    def static_mask(self) -> int:
        return self.bits

    def static_word(self, word: int) -> int:
        return self.given(word).static_word(word)

    def bind(self, word: int, b: Binder) -> Any:
        return self.given(word).bind(word, b)

    def rows(self, word: int) -> list[Row]:
        return self.given(word).rows(word)

    def operand(self, word: int) -> Operand | None:
        return self.given(word).operand(word)


@dataclass(frozen=True)
class Seq(Part):
    """Parts one after the other; `glue` joins their texts; bound to `make(*bound parts)` (default: a tuple)."""

    parts: tuple[Part, ...]
    make: Callable[..., Any] | None = None
    glue: str = " "

    def resolve(self, ctx: Context) -> Part:
        parts = [p.resolve(ctx) for p in self.parts]
        return self if same(parts, self.parts) else replace(self, parts=tuple(parts))

    def text(self, word: int) -> str:
        return self.glue.join(t for t in (p.text(word) for p in self.parts) if t)

    def error(self, word: int) -> str | None:
        for p in self.parts:
            e = p.error(word)
            if e is not None:
                return e
        return None

    def claimed(self, word: int) -> int:
        out = 0
        for p in self.parts:
            out |= p.claimed(word)
        return out

    def describing(self) -> int:
        out = super().describing()
        for p in self.parts:
            out |= p.describing()
        return out

    def possible(self) -> int:
        out = 0
        for p in self.parts:
            out |= p.possible()
        return out

    def static_mask(self) -> int:
        out = 0
        for p in self.parts:
            out |= p.static_mask()
        return out

    def static_word(self, word: int) -> int:
        out = 0
        for p in self.parts:
            out |= p.static_word(word)
        return out

    def parse(self, s: TokenStream, k: int) -> Iterator[Match]:
        yield from self._parse(s, k, 0, Bits())

    def _parse(self, s: TokenStream, k: int, i: int, so_far: Bits) -> Iterator[Match]:
        if i == len(self.parts):
            yield k, so_far
            return
        if self.glue.strip() and i > 0:
            n = fit_tokens(s, k, [self.glue.strip()])
            if n is None:
                s.fail(k, f"`{self.glue.strip()}`")
                return
            k = n
        for n, b in self.parts[i].parse(s, k):
            both = so_far.join(b)
            if both is not None:
                yield from self._parse(s, n, i + 1, both)

    def bind(self, word: int, b: Binder) -> Any:
        bound = [p.bind(word, b) for p in self.parts]
        return self.make(*bound) if self.make else tuple(bound)

    def rows(self, word: int) -> list[Row]:
        return [r for p in self.parts for r in p.rows(word)]

    def text_source(self, keep: Keep) -> str:
        if self.glue != " ":
            return super().text_source(keep)
        return "(" + "+".join(p.text_source(keep) for p in self.parts) + ")"

    def error_source(self, keep: Keep) -> str:
        sources = [s for s in (p.error_source(keep) for p in self.parts) if s != "None"]
        return "(" + " or ".join(sources) + ")" if sources else "None"

    def claimed_source(self, keep: Keep) -> str:
        return or_sources([p.claimed_source(keep) for p in self.parts])

    def needed_words(self) -> frozenset[str] | None:
        sets = [s for s in (needed_words(p) for p in self.parts) if s is not None]
        return min(sets, key=len) if sets else None

    def pattern(self) -> str:
        return joined(pattern(p) for p in self.parts) if self.glue == " " else ANYTHING

    def accepts(self) -> str:
        return self.glue.join(p.accepts() for p in self.parts)

    def operand(self, word: int) -> Operand | None:
        found = [o for o in (p.operand(word) for p in self.parts) if o is not None]
        return Compound(tuple(found), text=self.text(word)) if found else None

    def put(self, value: Any, address: int = 0) -> Sequence[Bits]:
        given: tuple[Any, ...] = (value,)
        if isinstance(value, Compound):
            given = value.operands
        elif isinstance(value, tuple):
            given = cast("tuple[Any, ...]", value)
        if len(given) != len(self.parts):
            return ()
        out = [Bits()]
        for p, v in zip(self.parts, given, strict=True):
            found = p.put(v, address)
            out = [both for b in out for f in found if (both := b.join(f)) is not None]
        return out
