"""Source text to statements: comments, statement separators and labels; columns stay those of the source.

`//` starts a comment, so does `#` as the first character of a line; `/* */` may span lines. A statement ends with the
line or with `;`.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from isakit.codec import Token, tokenize
from isakit.errors import AsmError, Diagnostic
from isakit.lean import dataclass

_COMMENT = re.compile(r"//|/\*|;")
_LABEL = re.compile(r"\s*([A-Za-z_.][\w.$]*)\s*:(?!:)", re.ASCII)
_ASSIGNMENT = re.compile(r"\s*([A-Za-z_.][\w.$]*)\s*=(?!=)\s*", re.ASCII)
_SHOWN = 160


@dataclass(frozen=True, slots=True)
class SourceSpan:
    """A stretch of the source; line counts from 1, column from 0."""

    line: int
    column: int
    width: int = 1

    def moved(self, lines: int) -> SourceSpan:
        """Return the stretch some lines further down."""
        return SourceSpan(self.line + lines, self.column, self.width)


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement without labels: its text and where it starts."""

    line: int
    column: int
    text: str
    labels: tuple[tuple[str, SourceSpan], ...] = ()
    assigned: str = ""

    def tokens(self) -> list[Token]:
        """Return the tokens; their columns count from the start of `text`. Raises AsmError for a stray character."""
        return tokenize(self.text)

    def moved(self, lines: int) -> Statement:
        """Return the statement some lines further down."""
        labels = tuple((name, place.moved(lines)) for name, place in self.labels)
        return Statement(self.line + lines, self.column, self.text, labels, self.assigned)

    def place(self, token: Token | None = None) -> SourceSpan:
        """Return the place of a token in the source; without one, that of the whole statement."""
        if token is None:
            return SourceSpan(self.line, self.column, max(1, len(self.text)))
        return SourceSpan(self.line, self.column + token.column, len(token.text))


class _Line(NamedTuple):
    """The statements of a line, and the comment that goes on in the next."""

    statements: tuple[Statement, ...]
    open: SourceSpan | None

    def moved(self, lines: int) -> _Line:
        """Return the line some lines further down."""
        return _Line(tuple(s.moved(lines) for s in self.statements), self.open and self.open.moved(lines))


class Source:
    """A source text, cut into statements; makes the diagnostics about its places.

    `earlier` is the same text before a change: its statements are kept where lines have not changed.
    """

    def __init__(self, text: str, path: str = "<text>", earlier: Source | None = None) -> None:
        self.path = path
        self.lines = text.split("\n")
        self.diagnostics: list[Diagnostic] = []
        self._earlier = earlier
        self._read: list[_Line] | None = None

    def error(self, place: SourceSpan, message: str, *notes: str) -> None:
        """Add a diagnostic."""
        self.diagnostics.append(self.diagnostic(place, message, *notes))

    def diagnostic(self, place: SourceSpan, message: str, *notes: str) -> Diagnostic:
        """Make a diagnostic about a place; of a very long line only the surroundings are shown."""
        line = self.lines[place.line - 1].rstrip("\r") if place.line <= len(self.lines) else ""
        column, width = place.column, place.width
        if len(line) > _SHOWN:
            start = max(0, column - _SHOWN // 2)
            shown = line[start : start + _SHOWN]
            if start:
                return Diagnostic(
                    place.line, column + 1, message, "", 1,
                    (f"the line goes `{shown[max(0, column - start - 40):][:100]}`", *notes), self.path,
                )  # fmt: skip
            line = shown
        width = max(1, min(width, len(line) - column)) if line else 1
        return Diagnostic(place.line, column + 1, message, line, width, tuple(notes), self.path)

    def statements(self) -> list[Statement]:
        """Return all statements in order; empty ones are left out."""
        if self._read is None:
            self._read = self._read_lines()
            self._earlier = None
        if (comment := self._read[-1].open) is not None:
            self.error(comment, "the comment that starts here does not end")
        return [s for line in self._read for s in line.statements]

    def _read_lines(self) -> list[_Line]:
        """Return what stands in each line; what `earlier` knows of unchanged lines is kept."""
        known = self._earlier._read if self._earlier is not None else None
        if self._earlier is None or known is None:
            return self._read_on([], 0, len(self.lines))
        old, new = self._earlier.lines, self.lines
        if old == new:
            return known
        most = min(len(old), len(new)) - 1
        first = next((k for k in range(most) if old[k] != new[k]), most)
        most -= first
        same = next((k for k in range(most) if old[-1 - k] != new[-1 - k]), most)
        found = self._read_on(known[:first], first, len(new) - same)
        if found[-1].open is not None or known[len(old) - same - 1].open is not None:
            same = 0  # a comment reaches into the end, or did so before
        shift = len(new) - len(old)
        found += [line.moved(shift) for line in known[len(old) - same :]] if shift else known[len(old) - same :]
        return self._read_on(found, len(found), len(new))

    def _read_on(self, found: list[_Line], first: int, last: int) -> list[_Line]:
        """Append lines from `first` up to `last`, exclusive, to those before them."""
        for k in range(first, last):
            found.append(self._line(k + 1, self.lines[k], found[-1].open if found else None))
        return found

    def _line(self, number: int, line: str, comment: SourceSpan | None) -> _Line:
        """Return what stands in a line that begins in a comment, or does not."""
        if comment is None and line.lstrip()[:1] == "#":
            return _Line((), None)
        pos = begin = 0
        pieces: list[tuple[int, str]] = []
        text = ""
        if comment is None and "/" not in line and ";" not in line:
            pieces.append((0, line))
            pos = len(line)
        while pos < len(line):
            if comment is not None:
                end = line.find("*/", pos)
                if end < 0:
                    text += " " * (len(line) - pos)
                    break
                text += " " * (end + 2 - pos)
                pos, comment = end + 2, None
                continue
            m = _COMMENT.search(line, pos)
            if m is None:
                text += line[pos:]
                break
            text += line[pos : m.start()]
            pos = m.end()
            if m[0] == "//":
                break
            if m[0] == ";":
                pieces.append((begin, text))
                begin, text = pos, ""
            else:
                comment = SourceSpan(number, m.start(), 2)
                text += "  "
        if text:
            pieces.append((begin, text))
        found = (self._statement(number, column, piece) for column, piece in pieces)
        return _Line(tuple(s for s in found if s is not None), comment)

    def _statement(self, number: int, column: int, text: str) -> Statement | None:
        if ":" not in text and "=" not in text:  # most lines: an instruction
            body = text.strip()
            return Statement(number, column + len(text) - len(text.lstrip()), body) if body else None
        labels: list[tuple[str, SourceSpan]] = []
        pos = 0
        while m := _LABEL.match(text, pos):
            labels.append((m[1], SourceSpan(number, column + m.start(1), len(m[1]))))
            pos = m.end()
        assigned = ""
        if m := _ASSIGNMENT.match(text, pos):
            assigned, pos = m[1], m.end()
        rest = text[pos:]
        body = rest.strip()
        if not body and not labels and not assigned:
            return None
        column += pos + len(rest) - len(rest.lstrip()) if body else pos
        return Statement(number, column, body, tuple(labels), assigned)


def stray(source: Source, statement: Statement, error: AsmError) -> None:
    """Report a character that starts no token."""
    d = error.diagnostics[0]
    source.error(SourceSpan(statement.line, statement.column + d.column - 1), d.message)
