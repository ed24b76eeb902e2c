"""Parts that bits before them decide, and what those made of parts share."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from isakit.lean import dataclass
from isakit.spec.operands import Operand
from isakit.spec.parts.base import (
    ILLEGAL,
    Binder,
    Context,
    Part,
    Row,
)
from isakit.spec.parts.words import Illegal


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

    def text(self, word: int, address: int = 0) -> str:
        return self.given(word).text(word, address)

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

    def operand(self, word: int, address: int = 0) -> Operand | None:
        return self.given(word).operand(word, address)
