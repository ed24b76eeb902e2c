"""Names in a text of nested blocks: where each is declared, where it is used, and the block that is its scope.

A text is read without its grammar, so that an unfinished one has names, too. Subclasses find the declarations.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import ClassVar

from isakit.asm.source import SourceSpan
from isakit.lsp.texts import Definition, Names


class BlockNames(Names):
    """The names of a text, which need not compile.

    Attributes:
        definitions: in the order of the text.
    """

    WORD: ClassVar[re.Pattern[str]]
    """A name where it is used."""
    BEFORE: ClassVar[str] = r"\w$"
    AFTER: ClassVar[str] = r"\w$"
    """The characters that make another name of one, in front of it and behind it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = text
        self._starts = [0]
        at = text.find("\n")
        while at >= 0:
            self._starts.append(at + 1)
            at = text.find("\n", at + 1)
        self._parents = [0]
        self._changes: list[tuple[int, int]] = [(0, 0)]
        self._comments: list[tuple[int, int]] = []

    def at(self, line: int, column: int) -> tuple[Definition, SourceSpan] | None:
        """Return the definition and the span of the name at a column, from 0; None if there is no name."""
        found = self.word_at(line, column)
        d = None if found is None else self._meaning(found.group(), found.start())
        return None if found is None or d is None else (d, self._span(found.start(), len(found.group())))

    def word_at(self, line: int, column: int) -> re.Match[str] | None:
        """Return the word at a column, from 0; None if there is none, or in a comment."""
        if not 0 < line <= len(self._starts):
            return None
        start = self._starts[line - 1]
        end = self._starts[line] if line < len(self._starts) else len(self._text)
        for m in self.WORD.finditer(self._text, start, end):
            if m.start() <= start + column <= m.end() and not self._is_comment(m.start()):
                return m
        return None

    def visible(self, line: int) -> list[Definition]:
        """Return the names that can be used in a line, those of the innermost block first."""
        at = self._starts[line - 1] if 0 < line <= len(self._starts) else len(self._text)
        scopes = list(self._outwards(self._scope(at)))
        return sorted((d for d in self.definitions if d.section in scopes), key=lambda d: scopes.index(d.section))

    def is_comment(self, line: int, column: int) -> bool:
        """Return whether a place is in a comment or a text between quotes."""
        return self._is_comment(self._starts[line - 1] + column)

    def column(self, line: int, column: int) -> int:
        """Return the offset of a place (line from 1, column from 0) in characters of the text."""
        return self._starts[line - 1] + column if 0 < line <= len(self._starts) else len(self._text)

    def is_inside_comment(self, offset: int) -> bool:
        """Return whether characters typed at an offset continue a comment or a text between quotes."""
        return self._is_comment(max(0, offset - 1))

    def word_start(self, offset: int) -> int:
        """Return the offset of the start of the word that ends at an offset; the offset itself if none does."""
        while offset > 0 and (self._text[offset - 1].isalnum() or self._text[offset - 1] == "_"):
            offset -= 1
        return offset

    def references(self, definition: Definition) -> list[SourceSpan]:
        """Return all places of a name, its definition included, in the order of the text."""
        use = re.compile(rf"(?<![{self.BEFORE}]){re.escape(definition.name)}(?![{self.AFTER}])")
        return [
            self._span(m.start(), len(definition.name))
            for m in use.finditer(self._text)
            if not self._is_comment(m.start()) and self._meaning(m[0], m.start()) == definition
        ]

    def _meaning(self, name: str, offset: int) -> Definition | None:
        """Return the definition that a name at an offset means, None if there is none."""
        raise NotImplementedError

    def _outwards(self, scope: int) -> Iterator[int]:
        """Yield a block and those around it, the innermost first."""
        while scope:
            yield scope
            scope = self._parents[scope]
        yield 0

    def _scope(self, offset: int) -> int:
        """Return the block that a place is in."""
        return self._changes[bisect_right(self._changes, (offset, len(self._parents))) - 1][1]

    def _is_comment(self, offset: int) -> bool:
        k = bisect_right(self._comments, (offset, len(self._text)))
        return k > 0 and offset < self._comments[k - 1][1]

    def _offset(self, place: SourceSpan) -> int:
        return self._starts[place.line - 1] + place.column

    def _span(self, offset: int, width: int) -> SourceSpan:
        line = bisect_right(self._starts, offset)
        return SourceSpan(line, offset - self._starts[line - 1], width)

    def _block(self, parent: int) -> int:
        self._parents.append(parent)
        return len(self._parents) - 1


__all__ = ["BlockNames"]
