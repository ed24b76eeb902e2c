"""Conditions of `#if`: integers, their operators, and names, which are 0 where no macro defines them."""

from __future__ import annotations

from collections.abc import Callable

from isakit.compile.shading.lexer import Token, number
from isakit.compile.shading.source import ShadingError

DEEPEST = 64
_BITS = 64
_LEVELS: dict[str, int] = {
    "||": 1, "&&": 2, "|": 3, "^": 4, "&": 5, "==": 6, "!=": 6, "<": 7, ">": 7, "<=": 7, ">=": 7,
    "<<": 8, ">>": 8, "+": 9, "-": 9, "*": 10, "/": 10, "%": 10,
}  # fmt: skip
_OPERATORS: dict[str, Callable[[int, int], int]] = {
    "|": lambda a, b: a | b, "^": lambda a, b: a ^ b, "&": lambda a, b: a & b,
    "==": lambda a, b: a == b, "!=": lambda a, b: a != b, "<": lambda a, b: a < b, ">": lambda a, b: a > b,
    "<=": lambda a, b: a <= b, ">=": lambda a, b: a >= b, "<<": lambda a, b: a << (b & 63),
    ">>": lambda a, b: a >> (b & 63), "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b,
}  # fmt: skip


def _wrapped(value: int) -> int:
    value &= (1 << _BITS) - 1
    return value - (1 << _BITS) if value >> _BITS - 1 else value


class Condition:
    """Evaluates a condition from its tokens, after macro expansion."""

    def __init__(self, tokens: list[Token], place: Token) -> None:
        self.tokens, self.place, self.at, self.depth = tokens, place, 0, 0

    def value(self) -> int:
        """Evaluate all the tokens as a condition. Raises ShadingError for any other text."""
        if not self.tokens:
            raise ShadingError(self.place.pos, "this needs a condition", len(self.place.text))
        got = self._binary(1, True)
        if self.at < len(self.tokens):
            t = self.tokens[self.at]
            raise ShadingError(t.pos, f"`{t.text[:40]}` was not expected in a condition", len(t.text))
        return got

    def _next(self) -> Token:
        if self.at >= len(self.tokens):
            last = self.tokens[-1]
            raise ShadingError(last.pos, "the condition ends here, and something is missing", len(last.text))
        self.at += 1
        return self.tokens[self.at - 1]

    def _binary(self, level: int, live: bool) -> int:
        """Evaluate operators of at least a precedence level; where not `live`, operands are only parsed."""
        a = self._unary(live)
        while self.at < len(self.tokens):
            op = self.tokens[self.at]
            found = _LEVELS.get(op.kind, 0)
            if found < level:
                break
            self.at += 1
            needed = live and not (op.kind == "||" and a) and not (op.kind == "&&" and not a)
            b = self._binary(found + 1, needed)
            if op.kind == "||":
                a = int(bool(a) or bool(b))
            elif op.kind == "&&":
                a = int(bool(a) and bool(b))
            elif op.kind in "/%":
                if not b and needed:
                    raise ShadingError(op.pos, "this divides by 0")
                quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1) if b else 0
                a = _wrapped(quotient if op.kind == "/" else a - quotient * b)
            else:
                a = _wrapped(int(_OPERATORS[op.kind](a, b)))
        return a

    def _unary(self, live: bool) -> int:
        t = self._next()
        self.depth += 1
        if self.depth > DEEPEST:
            raise ShadingError(t.pos, "this condition is nested too deeply", len(t.text))
        try:
            if t.kind == "number":
                value = number(t).value
                if isinstance(value, float):
                    raise ShadingError(t.pos, "conditions are made of whole numbers", len(t.text))
                return value
            if t.kind == "word":
                return int(t.text == "true")
            if t.kind == "(":
                value = self._binary(1, live)
                close = self._next()
                if close.kind != ")":
                    raise ShadingError(close.pos, "a `)` is missing before this", len(close.text))
                return value
            if t.kind in ("-", "+", "!", "~"):
                value = self._unary(live)
                return _wrapped({"-": -value, "+": value, "!": int(not value), "~": ~value}[t.kind])
        finally:
            self.depth -= 1
        raise ShadingError(t.pos, f"`{t.text[:40]}` was not expected in a condition", len(t.text))
