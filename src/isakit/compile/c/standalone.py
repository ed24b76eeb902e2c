"""C sources from strangers: anything that could name a file of this machine is refused before a compiler sees it.

The text goes through the first three phases of translation as the C standard describes them, and the compiler gets the
result: continued lines are joined, comments are blank. So compiler and check cannot disagree about where a line begins
or a comment ends. Where compilers differ (raw strings, trigraphs, digit separators of C++) the text is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import accumulate

from isakit.errors import CompileError, Diagnostic

_SPACE = r"[ \t\f\v]*"
_SPLICE = re.compile(rf"\\{_SPACE}\n")
_CONTROL = re.compile(r"[\0-\x08\x0e-\x1f\x7f]|[\ud800-\udfff]|\?\?[=/]")
"""Characters that no source has, and the trigraphs that make a directive or join lines."""
_SEPARATED = r"[0-9][0-9A-Fa-fxX]*(?:'[0-9A-Fa-f]+)+[uUlL]*(?![\w'.\\]|[^\0-\x7f]) | "
"""A number with digit separators, which C++ has and C has not."""
_TOKENS = {
    language: re.compile(
        rf"""(?P<comment>/\*.*?(?:\*/|\Z)|//[^\n]*)
          | (?P<string>"(?:[^"\\\n]|\\[^\n])*"?)
          | (?P<character>'(?:[^'\\\n]|\\[^\n])*'?)
          | (?P<number>{separated} \.?[0-9](?:[eEpP][+-]|[\w.])*)
          | (?P<name>[^\W\d][\w$]*)
          | (?P<hash>\#|%:)""",
        re.VERBOSE | re.DOTALL,
    )
    for language, separated in (("cuda", _SEPARATED), ("opencl", ""))
}
_DIRECTIVE = re.compile(rf"{_SPACE}(?:\#|%:){_SPACE}([a-z]+)?(?![\w$]|[^\0-\x7f])")
_DIRECTIVES = {"define", "undef", "if", "ifdef", "ifndef", "elif", "else", "endif", "pragma"}
_PRAGMA = re.compile(
    rf"{_SPACE}(?:\#|%:){_SPACE}pragma{_SPACE}(?:(?:no)?unroll[ \t\d()]*"
    r"|(?:STDC[ \t]+FP_CONTRACT[ \t]+(?:ON|OFF|DEFAULT)"
    r"|OPENCL[ \t]+(?:FP_CONTRACT[ \t]+(?:ON|OFF|DEFAULT)|EXTENSION[ \t]+\w+[ \t]*:[ \t]*(?:en|dis)able))[ \t]*)"
)
MACROS = ("__has_include", "__has_include_next", "__has_embed", "__FILE__", "__BASE_FILE__", "__FILE_NAME__",
          "__TIMESTAMP__", "_Pragma")  # fmt: skip
"""Macros of compilers that look at files, or make a directive of a text: the names are refused here, and undefined for
the compiler, since macros can paste them together."""
_ALONE = "is not taken here: the text stands alone, without other files"
_NAMES = {*MACROS, "__pragma", "asm", "_asm", "__asm", "__asm__", "__builtin_FILE", "__builtin_FILE_NAME"}


def standalone(text: str, language: str, path: str) -> str:
    """Return the text to compile: every line keeps its number, none is continued, and there are no comments.

    Raises CompileError at anything that could name a file, or that compilers read in different ways.
    """
    lines = _LogicalLines(text.replace("\r\n", "\n").replace("\r", "\n"))
    tokens = _TOKENS[language]
    for at, what, message in _refused(lines.text, tokens):
        row, column = lines.place(at)
        raise CompileError([Diagnostic(row, column, f"`{what.strip()[:20]}` {message}", lines.shown(row), path=path)])
    return lines.padded(_blank(lines.text, tokens))


class _LogicalLines:
    """A text whose lines are joined where they end with a backslash."""

    def __init__(self, text: str) -> None:
        self._rows = text.split("\n")
        self._cuts: list[tuple[int, int]] = []  # where in `text` a row of the original begins, and its number from 0
        pieces = _SPLICE.split(text)
        begins = accumulate((len(p) for p in pieces), initial=0)
        row = 0
        for piece, begin in zip(pieces, begins, strict=False):
            self._cuts.append((begin, row))
            row += piece.count("\n") + 1
        self.text = "".join(pieces)

    def place(self, at: int) -> tuple[int, int]:
        """Return the line and column of the original, from 1, of a place in `text`."""
        begin, row = max(cut for cut in self._cuts if cut[0] <= at)
        before = self.text[begin:at]
        return row + before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1

    def shown(self, row: int) -> str:
        """Return a line of the original."""
        return self._rows[row - 1]

    def padded(self, text: str) -> str:
        """Return a text with the lines of `text`, each at the line of the original it begins at."""
        out: list[str] = []
        owed, cuts, at = 0, iter([*self._cuts[1:], (len(self.text) + 1, 0)]), 0
        cut = next(cuts)[0]
        for line in text.split("\n"):
            at += len(line) + 1
            while cut < at:
                owed, cut = owed + 1, next(cuts)[0]
            out += [line, *[""] * owed]
            owed = 0
        return "\n".join(out)


def _blank(text: str, tokens: re.Pattern[str]) -> str:
    """Return a text with its comments replaced by spaces."""
    return tokens.sub(lambda m: re.sub(r"[^\n]", " ", m[0]) if m["comment"] is not None else m[0], text)


def _refused(text: str, tokens: re.Pattern[str]) -> Iterator[tuple[int, str, str]]:
    """Yield the mistakes: offset, text, and reason."""
    for m in _CONTROL.finditer(text):
        yield m.start(), ascii(m[0]), "is not taken here"
    for m in _SPLICE.finditer(text):  # made by joining lines; the compiler would join once more
        yield m.start(), "\\", "ends a line and the line it goes on in, too"
    for m in tokens.finditer(text):
        end = text[m.end() : m.end() + 1]
        if m["comment"] is not None and m[0].startswith("/*") and (len(m[0]) < 4 or not m[0].endswith("*/")):
            yield m.start(), "/*", "begins a comment that does not end"
        elif m["string"] is not None and text[m.start() - 1 : m.start()] == "R":
            yield m.start() - 1, 'R"', "is not taken here: write the text as an ordinary one"
        elif m["number"] is not None and (end == "'" or not (m[0] + end).isascii()):
            yield m.start(), m[0] + end, "is not a number"
        elif m["name"] in _NAMES:
            yield m.start(), m[0], _ALONE
    yield from _refused_lines(_blank(text, tokens), tokens)


def _refused_lines(text: str, tokens: re.Pattern[str]) -> Iterator[tuple[int, str, str]]:
    """Yield lines that are, or look like, directives other than those that cannot leave the text."""
    begin = 0
    for line in text.split("\n"):
        directive = _DIRECTIVE.match(line)
        name = directive[1] if directive is not None else None
        first = directive.end() if directive is not None and name in _DIRECTIVES else 0
        if name == "pragma" and not _PRAGMA.fullmatch(line):
            first = 0
        if name != "define" or not first:
            for m in tokens.finditer(line, first):
                if m["hash"] is not None:
                    yield begin + m.start(), line[m.start() :], _ALONE
        begin += len(line) + 1


__all__ = ["MACROS", "standalone"]
