"""Source text to statements: comments, statement separators and labels; columns stay those of the source.

`//` starts a comment, so does `#` as the first character of a line; `/* */` may span lines. A statement ends with the
line or with `;`.
"""

from __future__ import annotations

import re

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

    def place(self, token: Token | None = None) -> SourceSpan:
        """Return the place of a token in the source; without one, that of the whole statement."""
        if token is None:
            return SourceSpan(self.line, self.column, max(1, len(self.text)))
        return SourceSpan(self.line, self.column + token.column, len(token.text))


class Source:
    """A source text, cut into statements; makes the diagnostics about its places."""

    def __init__(self, text: str, path: str = "<text>") -> None:
        self.path = path
        self.lines = text.split("\n")
        self.diagnostics: list[Diagnostic] = []

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
        out: list[Statement] = []
        comment: SourceSpan | None = None
        for number, line in enumerate(self.lines, 1):
            if comment is None and line.lstrip()[:1] == "#":
                continue
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
            for column, piece in pieces:
                statement = self._statement(number, column, piece)
                if statement is not None:
                    out.append(statement)
        if comment is not None:
            self.error(comment, "the comment that starts here does not end")
        return out

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
