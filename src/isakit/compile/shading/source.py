"""Source files of shaders and positions in them: one number per position, across all files."""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

from isakit.compile.placed_error import PlacedError
from isakit.errors import CompileError, Diagnostic

SHOWN = 160
"""Characters of a line that a message shows: the only line of a hostile file may be the whole file."""
_BEFORE = 60


class ShadingError(PlacedError):
    """A mistake in a shader, with its position; the owner of the sources reports it as a diagnostic."""


class SourceFile(NamedTuple):
    """A file of a shader: its text begins at position `first`; `starts` are the offsets of its lines."""

    path: str
    text: str
    first: int
    starts: list[int]


class Renumbering(NamedTuple):
    """The effect of `#line`: from position `pos` on, `difference` is added to lines, and the file is `path`."""

    pos: int
    difference: int
    path: str


class ShaderSources:
    """The files of a shader, with the line and file of every position as its author sees them."""

    def __init__(self) -> None:
        self.files: list[SourceFile] = []
        self.renumberings: list[Renumbering] = []
        self.warnings: list[Diagnostic] = []

    def add(self, path: str, text: str) -> SourceFile:
        """Add a file; its positions follow those of the files before."""
        starts = [0]
        at = text.find("\n")
        while at >= 0:
            starts.append(at + 1)
            at = text.find("\n", at + 1)
        last = self.files[-1] if self.files else None
        file = SourceFile(path, text, last.first + len(last.text) + 1 if last else 0, starts)
        self.files.append(file)
        return file

    def _file(self, pos: int) -> SourceFile:
        return self.files[bisect_right(self.files, pos, key=lambda f: f.first) - 1]

    def line(self, pos: int) -> int:
        """Return the line number of a position, as `#line` counts."""
        file = self._file(pos)
        row = bisect_right(file.starts, pos - file.first)
        said = self._said(file, pos)
        return row if said is None else row + said.difference

    def _said(self, file: SourceFile, pos: int) -> Renumbering | None:
        k = bisect_right(self.renumberings, pos, key=lambda r: r.pos) - 1
        return self.renumberings[k] if k >= 0 and self.renumberings[k].pos >= file.first else None

    def place(self, pos: int) -> tuple[int, int]:
        """Return (line, number of the file) of a position, as `#line` counts."""
        return self.line(pos), self.files.index(self._file(pos))

    def path(self, number: int) -> str:
        """Return the name of a file by its number."""
        return self.files[number].path

    def at_line(self, line: int, message: str, notes: tuple[str, ...], path: str) -> Diagnostic:
        """Return a diagnostic about a whole line of the file at `path`, or of the last file if there is none."""
        file = next((f for f in self.files if f.path == path), self.files[-1])
        start = file.starts[max(0, min(line, len(file.starts)) - 1)]
        end = file.text.find("\n", start)
        row = file.text[start : end if end >= 0 else len(file.text)]
        blanks = len(row) - len(row.lstrip())
        return self.diagnostic(file.first + start + blanks, message, len(row.strip()), notes)

    def renumber(self, pos: int, number: int, path: str | None) -> None:
        """Count the line after that of a place as `number`."""
        file = self._file(pos)
        row = bisect_right(file.starts, pos - file.first)
        after = file.starts[row] + file.first if row < len(file.starts) else file.first + len(file.text)
        self.renumberings.append(Renumbering(after, number - row - 1, file.path if path is None else path))
        self.renumberings.sort()

    def diagnostic(self, pos: int, message: str, width: int = 1, notes: tuple[str, ...] = ()) -> Diagnostic:
        """Return a diagnostic at a position."""
        file = self._file(pos)
        start = file.starts[bisect_right(file.starts, pos - file.first) - 1]
        end = file.text.find("\n", start)
        shown = file.text[start : end if end >= 0 else len(file.text)].rstrip("\r").removeprefix("\ufeff")
        column = max(0, pos - file.first - start - (start == 0 and file.text.startswith("\ufeff")))
        said = self._said(file, pos)
        path = file.path if said is None else said.path
        number, real = self.line(pos), column
        if len(shown) > SHOWN:
            cut = max(0, column - _BEFORE)
            shown, real = shown[cut : cut + SHOWN], column - cut
        printable = "".join(c if c.isprintable() or c == "\t" else "?" for c in shown)
        width = max(1, min(width, len(printable) - real, 40))
        return Diagnostic(number, real + 1, message, printable, width, notes, path)

    def warn(self, pos: int, message: str, width: int = 1) -> None:
        """Record a warning at a position."""
        self.warnings.append(self.diagnostic(pos, message, width))

    def failure(self, errors: list[ShadingError]) -> CompileError:
        """Return the exception that reports all errors, in the order of the text."""
        found = sorted(errors, key=lambda e: e.pos)
        return CompileError([self.diagnostic(e.pos, e.message, e.width, e.notes) for e in found])
