"""Tokens of the shading languages, which share them."""

from __future__ import annotations

import re
from typing import NamedTuple

from isakit.compile.shading.source import ShadingError, SourceFile

LONGEST_TEXT = 1 << 20
"""Characters of a shader, included files and all."""


class Token(NamedTuple):
    """`kind`: word, number, string, the mark itself, or end. `first`: nothing stands before it in its line."""

    kind: str
    text: str
    pos: int
    first: bool = False
    hidden: frozenset[str] = frozenset()
    """Macros that have made this token and do not replace it again."""


_TOKEN = re.compile(
    r"(?P<space>[ \t\r\f\v]+|\\\r?\n)"
    r"|(?P<line>\n)"
    r"|(?P<word>[A-Za-z_]\w*)"
    r"|(?P<number>\.?[0-9](?:[eE][-+]|[\w.])*)"
    r'|(?P<string>"[^"\n]*")'
    r"|(?P<mark><<=|>>=|##|\+\+|--|<<|>>|&&|\|\||\^\^|[<>=!+\-*/%&|^]=|[-+*/%&|^~!?:;,.(){}\[\]<>=#])",
    re.ASCII,
)


def tokens(file: SourceFile) -> list[Token]:
    """Return all tokens of a text, with one of kind `end` after them.

    A character that begins no token is one of kind `wrong`: it may be in text that is skipped. Raises ShadingError for
    a comment that does not end, and for a text that is too long.
    """
    text, first = file.text, file.first
    if len(text) > LONGEST_TEXT:
        raise ShadingError(first, f"the text has more than {LONGEST_TEXT} characters")
    out: list[Token] = []
    add, match = out.append, _TOKEN.match
    at, end = int(text.startswith("\ufeff")), len(text)
    begins = True
    while at < end:
        if text.startswith("//", at):
            at = _line_end(text, at)
            continue
        if text.startswith("/*", at):
            close = text.find("*/", at + 2)
            if close < 0:
                raise ShadingError(first + at, "this comment does not end", 2)
            begins = begins or "\n" in text[at:close]
            at = close + 2
            continue
        m = match(text, at)
        if m is None:
            add(Token("wrong", text[at], first + at, begins))
            at, begins = at + 1, False
            continue
        kind, word = m.lastgroup, m.group()
        if kind == "line":
            begins = True
        elif kind != "space":
            add(Token(word if kind == "mark" else kind or "", word, first + at, begins))
            begins = False
        at = m.end()
    add(Token("end", "", first + end, True))
    return out


def _line_end(text: str, at: int) -> int:
    """Return the end of a comment that begins with two strokes; a backslash at the end of a line continues it."""
    while True:
        at = text.find("\n", at)
        if at < 0:
            return len(text)
        if not text[:at].endswith(("\\", "\\\r")) if at < 3 else text[at - 1] != "\\" and text[at - 2 : at] != "\\\r":
            return at
        at += 1


class LiteralNumber(NamedTuple):
    """A number as it is written: its value and the type given by its suffix (empty if there is none)."""

    value: int | float
    suffix: str


_REAL = re.compile(r"((?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?)(lf|LF|[fFhHxX])?", re.ASCII)
_INTEGER = re.compile(r"(0[xX][0-9a-fA-F]+|[0-9]+)([uU]?)", re.ASCII)


def number(token: Token) -> LiteralNumber:
    """Parse a number. Raises ShadingError for any other text, and for one that is too large."""
    text = token.text
    m = _INTEGER.fullmatch(text)
    if m:
        digits = m[1]
        octal = len(digits) > 1 and digits[0] == "0" and digits[1] not in "xX"
        try:
            value = int(digits[:64], 16 if digits[1:2] in ("x", "X") else 8 if octal else 10)
        except ValueError:
            raise ShadingError(token.pos, f"`{text[:40]}` begins with 0, so its digits are 0 to 7", len(text)) from None
        if value >> 32 or len(digits) > 64:
            raise ShadingError(token.pos, "this number has more than 32 bits", len(text))
        return LiteralNumber(value, m[2].lower())
    m = _REAL.fullmatch(text)
    if m is None or ("." not in m[1] and "e" not in m[1].lower() and not m[2]):
        raise ShadingError(token.pos, f"`{text[:40]}` is not a number", len(text))
    return LiteralNumber(float(m[1]), (m[2] or "").lower().removeprefix("l"))
