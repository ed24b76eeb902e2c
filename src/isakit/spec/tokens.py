"""Tokens of instruction text, and the stream that parts parse themselves from."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from isakit.errors import AsmError, Diagnostic
from isakit.lean import dataclass

_TOKEN = re.compile(
    r"\s*(?:"
    r"(?P<float>\d+\.\d*(?:[eE][+-]?\d+)?f?|\d+[eE][+-]?\d+f?)(?![\w.])"
    r"|(?P<number>0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO][0-7]+|\d+)(?![\w.])"
    r"|(?P<word>[$%@.]?[A-Za-z_?$.@!][\w.?$@]*|\.\d[\w.?$@]*|\?\?\?|\#\w*)"
    r"|(?P<op>\+\+|--|<<|>>|[-+*/%&|^~!()\[\]{}:=,<>])"
    r"|(?P<bad>\S))",
    re.ASCII,
)


@dataclass(frozen=True, slots=True)
class Token:
    """A token: its text, kind (word, number, float, op), column (from 0) and whether a blank stands before it."""

    text: str
    kind: str
    column: int
    spaced: bool


def tokenize(line: str, line_number: int = 1, path: str = "<text>", start: int = 0) -> list[Token]:
    """Return the tokens of one statement; commas count as blanks.

    Raises AsmError for a character no token starts with.
    """
    out: list[Token] = []
    pos = start
    spaced = True
    while True:
        m = _TOKEN.match(line, pos)
        if m is None:
            return out
        kind = m.lastgroup or "bad"
        text = m.group(kind)
        column = m.start(kind)
        spaced = spaced or column > pos
        if kind == "bad":
            raise AsmError([Diagnostic(line_number, column + 1, f"unexpected character {text!r}", line, path=path)])
        if text == ",":
            spaced = True
        else:
            out.append(Token(text, kind, column, spaced))
            spaced = False
        pos = m.end()


_PRECEDENCE = {"|": 1, "^": 2, "&": 3, "<<": 4, ">>": 4, "+": 5, "-": 5, "*": 6, "/": 6, "%": 6}
_APPLY: Mapping[str, Callable[[int, int], int]] = {
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
    "&": lambda a, b: a & b,
    "<<": lambda a, b: a << min(b, 256),
    ">>": lambda a, b: a >> b,
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a // b,
    "%": lambda a, b: a % b,
}
_MAX_DEPTH = 64
_MAX_BITS = 1 << 12
"""Wider than any field; keeps names that square each other from filling the memory."""


class Stream:
    """Tokens with symbols; remembers the furthest place where something else was expected.

    `address` is where the instruction will stand, in units of code. A `quick` stream does not say what was expected.
    """

    def __init__(
        self,
        tokens: list[Token],
        symbol: Callable[[str], int | None] | None = None,
        address: int = 0,
        *,
        quick: bool = False,
    ) -> None:
        self.quick = quick
        self.tokens = tokens
        self.address = address
        self._symbol = symbol
        self.furthest = -1
        self.expected: list[str] = []
        self.symbols_used: set[str] = set()

    def __len__(self) -> int:
        return len(self.tokens)

    def text(self, k: int) -> str:
        """Return token `k`, or the empty string past the end."""
        return self.tokens[k].text if k < len(self.tokens) else ""

    def fail(self, k: int, expected: str) -> None:
        """Remember that `expected` would have been accepted at token `k`."""
        if k > self.furthest:
            self.furthest, self.expected = k, []
        if k == self.furthest and expected and expected not in self.expected:
            self.expected.append(expected)

    def float_number(self, k: int) -> tuple[int, float] | None:
        """Parse a floating point literal, with sign."""
        sign = 1.0
        if self.text(k) == "-":
            sign, k = -1.0, k + 1
        if k < len(self.tokens) and self.tokens[k].kind == "float":
            return k + 1, sign * float(self.tokens[k].text.rstrip("f"))
        return None

    def number(self, k: int) -> tuple[int, int] | None:
        """Parse a constant expression: numbers, symbols, parentheses, unary - ~ and the C operators.

        An operator with a blank before but none after starts a new operand (`5 -3` is two numbers, `5 - 3` is one).
        """
        try:
            return self._expression(k, 0, 0)
        except (ZeroDivisionError, ValueError):
            return None

    def _expression(self, k: int, minimum: int, depth: int) -> tuple[int, int] | None:
        left = self._primary(k, depth)
        if left is None:
            return None
        k, value = left
        while k < len(self.tokens):
            t = self.tokens[k]
            level = _PRECEDENCE.get(t.text)
            if level is None or level <= minimum or k + 1 >= len(self.tokens):
                break
            if t.spaced and not self.tokens[k + 1].spaced:
                break
            right = self._expression(k + 1, level, depth + 1)
            if right is None:
                break
            k, value = right[0], _APPLY[t.text](value, right[1])
            if value.bit_length() > _MAX_BITS:
                raise ValueError(f"a value of more than {_MAX_BITS} bits")
        return k, value

    def _primary(self, k: int, depth: int) -> tuple[int, int] | None:
        if k >= len(self.tokens) or depth > _MAX_DEPTH:
            return None
        t = self.tokens[k]
        if t.kind == "number":
            return k + 1, int(t.text, 0) if not t.text.isdigit() else int(t.text)
        if t.text in ("-", "~", "+"):
            inner = self._primary(k + 1, depth + 1)
            if inner is None:
                return None
            return inner[0], {"-": -inner[1], "~": ~inner[1], "+": inner[1]}[t.text]
        if t.text == "(":
            inner = self._expression(k + 1, 0, depth + 1)
            if inner is None or self.text(inner[0]) != ")":
                return None
            return inner[0] + 1, inner[1]
        if t.kind == "word" and t.text[0] not in "$#?" and self._symbol is not None:
            value = self._symbol(t.text)
            if value is not None:
                self.symbols_used.add(t.text)
                return k + 1, value
        return None
