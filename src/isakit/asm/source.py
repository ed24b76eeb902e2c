"""Source text to statements: comments, statement separators and labels; columns stay those of the source.

`//` starts a comment, so does `#` as the first character of a line; `/* */` may span lines. A statement ends with the
line or with `;`.
"""

from __future__ import annotations

import re
from bisect import bisect_right

from isakit.codec import Token, tokenize
from isakit.errors import AsmError, Diagnostic
from isakit.lean import dataclass

_COMMENT = re.compile(r"//|/\*|;")
_LABEL = re.compile(r"\s*([A-Za-z_.][\w.$]*)\s*:(?!:)", re.ASCII)
_ASSIGNMENT = re.compile(r"\s*([A-Za-z_.][\w.$]*)\s*=(?!=)\s*", re.ASCII)
_SHOWN = 160
_LONG_WORD = re.compile(r"[^\s`]{72,}")


def _shortened(text: str) -> str:
    """Cut very long words, which are names of the source, out of a message."""
    return _LONG_WORD.sub(lambda m: f"{m[0][:60]}...", text)


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
    """One statement without labels: its text and its start."""

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


class Source:
    """A source text, split into statements; makes diagnostics at its positions.

    `earlier` is the same text before a change: its statements are reused for unchanged lines. `_open` has the comment
    that continues after a line, by the line's number.
    """

    def __init__(self, text: str, path: str = "<text>", earlier: Source | None = None) -> None:
        self.path = path
        self.lines = text.split("\n")
        self.diagnostics: list[Diagnostic] = []
        self.warnings: list[Diagnostic] = []
        self._earlier = earlier
        self._statements: list[Statement] | None = None
        self._open: dict[int, SourceSpan] = {}

    def error(self, place: SourceSpan, message: str, *notes: str) -> None:
        """Add a diagnostic."""
        self.diagnostics.append(self.diagnostic(place, message, *notes))

    def diagnostic(self, place: SourceSpan, message: str, *notes: str) -> Diagnostic:
        """Make a diagnostic about a place; of a very long line only the surroundings are shown."""
        line = self.lines[place.line - 1].rstrip("\r") if place.line <= len(self.lines) else ""
        column, width = place.column, place.width
        message, notes = _shortened(message), tuple(map(_shortened, notes))
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
        if self._statements is None:
            self._statements = self._changed() if self._earlier is not None else self._read([], 0, len(self.lines))
            self._earlier = None
        if (comment := self._open.get(len(self.lines))) is not None:
            self.error(comment, "the comment that starts here does not end")
        return self._statements

    def _changed(self) -> list[Statement]:
        """Return the statements; those that `earlier` knows of unchanged lines are kept."""
        earlier, new = self._earlier, self.lines
        if earlier is None or earlier._statements is None:
            return self._read([], 0, len(new))
        old, known = earlier.lines, earlier._statements
        if old == new:
            self._open = earlier._open
            return known
        most = min(len(old), len(new)) - 1
        first = next((k for k in range(most) if old[k] != new[k]), most)
        most -= first
        same = next((k for k in range(most) if old[-1 - k] != new[-1 - k]), most)
        begin, end, shift = len(new) - same, len(old) - same, len(new) - len(old)
        self._open = {line: comment for line, comment in earlier._open.items() if line <= first}
        found = self._read(known[: bisect_right(known, first, key=_line)], first, begin)
        if begin in self._open or end in earlier._open:  # a comment reaches into the rest, or did so before
            return self._read(found, begin, len(new))
        rest = known[bisect_right(known, end, key=_line) :]
        self._open |= {line + shift: comment.moved(shift) for line, comment in earlier._open.items() if line > end}
        return found + ([s.moved(shift) for s in rest] if shift else rest)

    def _read(self, found: list[Statement], first: int, last: int) -> list[Statement]:
        """Return the statements of the lines after line `first` up to line `last`, appended to those before them."""
        comment = self._open.get(first)
        for number in range(first + 1, last + 1):
            line = self.lines[number - 1]
            if comment is None and "/" not in line and ";" not in line:  # most lines
                if line.lstrip()[:1] != "#" and (s := self._statement(number, 0, line)) is not None:
                    found.append(s)
                continue
            pieces, comment = _pieces(number, line, comment)
            found += [s for column, piece in pieces if (s := self._statement(number, column, piece)) is not None]
            if comment is not None:
                self._open[number] = comment
        return found

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


def _line(statement: Statement) -> int:
    return statement.line


def _pieces(number: int, line: str, comment: SourceSpan | None) -> tuple[list[tuple[int, str]], SourceSpan | None]:
    """Return the columns and texts of a line's statements, and the comment that goes on behind it.

    `comment` is the one that the line begins in.
    """
    if comment is None and line.lstrip()[:1] == "#":
        return [], None
    pos = begin = 0
    pieces: list[tuple[int, str]] = []
    text = ""
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
    return [*pieces, (begin, text)], comment


def stray(source: Source, statement: Statement, error: AsmError) -> None:
    """Report a character that starts no token."""
    d = error.diagnostics[0]
    source.error(SourceSpan(statement.line, statement.column + d.column - 1), d.message)
