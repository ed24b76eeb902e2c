"""Names in an assembly text: where each is defined, where it is used, and the section that is its scope."""

from __future__ import annotations

import re
from collections.abc import Iterator

from isakit.asm.source import Source, SourceSpan, Statement
from isakit.lsp.texts import Definition, Names

_NAME = re.compile(r"[A-Za-z_.][\w.$]*", re.ASCII)
"""A name that the assembler takes."""
_WORD = re.compile(r"(?<![\w.$%])" + _NAME.pattern, re.ASCII)
_DEFINING = {".equ": "value", ".param": "parameter", ".kernel": "kernel"}
"""Directives whose first argument is a new name, and the kind of the name."""
_SECTION = (".kernel", ".program")
"""Directives that begin a section with names of its own."""


class NameTable(Names):
    """The names of a text, which need not assemble.

    Attributes:
        source: the text as it was read; `earlier` is that of the text before a change.
        definitions: in the order of the text.
        statements: the statements of each line, counted from 1.
    """

    def __init__(self, text: str, earlier: Source | None = None) -> None:
        super().__init__()
        self.source = source = Source(text, earlier=earlier)
        self.statements: dict[int, list[Statement]] = {}
        self._lines = source.lines
        self._sections: list[int] = []
        self._by_name: dict[str, list[Definition]] = {}
        for s in source.statements():
            self.statements.setdefault(s.line, []).append(s)
            if s.text.startswith(_SECTION):
                self._sections.append(s.line)
            for name, place, kind in _defined(s, self._lines[s.line - 1]):
                d = Definition(name, place, kind, 0 if kind == "kernel" else len(self._sections))
                self.definitions.append(d)
                self._by_name.setdefault(name, []).append(d)

    def at(self, line: int, column: int) -> tuple[Definition, SourceSpan] | None:
        """Return the definition and the span of the name at a column, from 0; None if there is no name."""
        for place, name in self._words(line):
            if place.column <= column <= place.column + place.width:
                d = self.definition(name, line)
                return None if d is None else (d, place)
        return None

    def definition(self, name: str, line: int) -> Definition | None:
        """Explain a name in a line."""
        found = self._by_name.get(name, ())
        section = sum(first <= line for first in self._sections)
        for wanted in (section, 0):
            for d in found:
                if d.section == wanted:
                    return d
        return None

    def visible(self, line: int) -> list[Definition]:
        """Return the names that can be used in a line."""
        section = sum(first <= line for first in self._sections)
        return [d for d in self.definitions if d.section in (0, section)]

    def references(self, definition: Definition) -> list[SourceSpan]:
        """Return all places of a name, its definition included, in the order of the text."""
        return [
            place
            for line in self.statements
            if definition.name in self._lines[line - 1]
            for place, name in self._words(line)
            if name == definition.name and self.definition(name, line) == definition
        ]

    def refusal(self, name: str, definition: Definition) -> str:
        """Return the reason why a new name is refused: invalid in the assembler, or already in use."""
        if not _NAME.fullmatch(name) or name == ".":
            return f"{name!r} is not a name: letters, digits, `_`, `.` and `$`, no digit first"
        known = name in self._by_name and any(self.definition(name, p.line) for p in self.references(definition))
        return f"`{name}` is already defined" if known else ""

    def _words(self, line: int) -> Iterator[tuple[SourceSpan, str]]:
        for s in self.statements.get(line, ()):
            for name, place, kind in _defined(s, self._lines[line - 1]):
                if kind in ("label", "value") and place.column < s.column:
                    yield place, name
            for m in _WORD.finditer(s.text):
                yield SourceSpan(line, s.column + m.start(), len(m[0])), m[0]


def _defined(s: Statement, line: str) -> Iterator[tuple[str, SourceSpan, str]]:
    """Yield the names that a statement defines: name, place, kind."""
    for name, place in s.labels:
        yield name, place, "label"
    if s.assigned:
        yield s.assigned, SourceSpan(s.line, max(0, line.rfind(s.assigned, 0, s.column)), len(s.assigned)), "value"
        return
    directive = s.text.split(None, 1)[0] if s.text else ""
    argument = _WORD.search(s.text, len(directive)) if directive in _DEFINING else None
    if argument is not None:
        yield argument[0], SourceSpan(s.line, s.column + argument.start(), len(argument[0])), _DEFINING[directive]


__all__ = ["NameTable"]
