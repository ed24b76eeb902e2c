"""Texts of any language as the server sees them: what is wrong with one, and what stands at a place.

Nothing here knows the protocol: lines count from 1 and columns from 0, both in characters. Questions are answered from
what is read in moments; only `check` compiles.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from isakit.asm.source import SourceSpan
from isakit.errors import Diagnostic
from isakit.lean import cached_property

LARGEST = 4_000_000
"""Characters of the longest text that is looked at."""


class Completion(NamedTuple):
    """A word that may stand at a place; `kind`: instruction, prefix, directive, register, word, or that of a name."""

    word: str
    kind: str
    detail: str = ""


class Hover(NamedTuple):
    """Markdown about what stands in some columns of a line."""

    text: str
    column: int
    width: int


class Definition(NamedTuple):
    """A name where it is defined. `kind`: label, value, parameter, kernel, function, variable or register.

    `section` is the part of the text in which it holds; 0 is all of it.
    """

    name: str
    place: SourceSpan
    kind: str
    section: int


class KnownName(NamedTuple):
    """A name that a language has without a declaration.

    Attributes:
        kind: as that of a `Definition`, or `type`.
        spellings: how it is declared, or would be.
        becomes: its body or meaning, if that can be told.
    """

    kind: str
    spellings: tuple[str, ...]
    becomes: str = ""


class Names:
    """The names of a text; here of one of which none are known.

    Attributes:
        definitions: in the order of the text.
    """

    def __init__(self) -> None:
        self.definitions: list[Definition] = []

    def at(self, line: int, column: int) -> tuple[Definition, SourceSpan] | None:
        """Return the definition and the place of the name at a column, from 0; None where no name is."""
        return None

    def references(self, definition: Definition) -> list[SourceSpan]:
        """Return all places of a name, its definition included, in the order of the text."""
        return []

    def refusal(self, name: str, definition: Definition) -> str:
        """Return why a name cannot be given to what another stands for; empty where it can."""
        return ""


class Text:
    """A text in a language of which only mistakes are told.

    Attributes:
        pause: seconds without a change after which a check goes on behind its first step.
    """

    pause: float = 0.0

    @cached_property
    def names(self) -> Names:
        """The names in the text."""
        return Names()

    def elsewhere(self, line: int, column: int) -> tuple[str, SourceSpan] | None:
        """Return the file and the place in it where a name is defined; None for one of this text, and for none."""
        return None

    def prepare(self) -> None:
        """Collect what answers need the first time."""

    def check(self) -> Iterator[list[Diagnostic]]:
        """Look for mistakes step by step; yields all that are known after each, and at last all there are.

        A check that is given up between two steps keeps what it has found for the next one.
        """
        yield []

    @property
    def diagnostics(self) -> list[Diagnostic]:
        """Return the mistakes of the text, in the order of its lines."""
        return [[], *self.check()][-1]

    def hover(self, line: int, column: int) -> Hover | None:
        """Return what is known of what stands at a place; None where nothing is."""
        return None

    def completions(self, line: int, column: int) -> list[Completion]:
        """Return the words that may stand at a place."""
        return []


__all__ = ["LARGEST", "Completion", "Definition", "Hover", "Names", "Text"]
