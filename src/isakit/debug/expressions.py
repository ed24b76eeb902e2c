"""The expressions of conditions, displays and tracepoints: parsed here, never by Python.

 $r5 == 0x10 && lane < 8 s[$r2 + 4]:f32 > 1.5 block.x == 3 && s32($r7) < 0

Integers are 64 bits wide and wrap; a register or a memory cell is unsigned. `s32($r1)` and similar casts reinterpret
the low bits of a number as another type, which may be `f32`; an operation with a floating-point operand is one of
doubles. A division by zero gives 0, a shift by 64 or more loses every bit. `&&` and `||` evaluate their right side only
if it matters. Python's `and`, `or` and `not` have their precedence there: `not` binds more loosely than a comparison,
`!` more tightly.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass
from typing import Literal, Protocol

from isakit.errors import IsakitError

Number = int | float
LONGEST, DEEPEST = 2000, 64
"""Largest length of an expression in characters, and deepest nesting of parentheses."""

TYPES: dict[str, tuple[int, str]] = {
    "u8": (1, "B"), "s8": (1, "b"), "u16": (2, "H"), "s16": (2, "h"), "u32": (4, "I"), "s32": (4, "i"),
    "u64": (8, "Q"), "s64": (8, "q"), "f32": (4, "f"), "f64": (8, "d"), "f16": (2, "e"),
}  # fmt: skip
"""Types: size in bytes, and format character of `struct`."""


class ExpressionError(IsakitError):
    """An expression that cannot be parsed or names something unknown; the message gives the position."""


@dataclass(frozen=True)
class NumberTerm:
    """A number."""

    value: Number


@dataclass(frozen=True)
class NamedRegister:
    """The content of a register, by its name in listings."""

    name: str


@dataclass(frozen=True)
class Variable:
    """A property of a thread's position, such as `lane`, or a variable of the source."""

    name: str


@dataclass(frozen=True)
class Load:
    """Content of memory at a byte address."""

    space: str
    address: Node
    type: str = "u32"


@dataclass(frozen=True)
class Cast:
    """The low bits of a number as another type."""

    type: str
    operand: Node


@dataclass(frozen=True)
class Unary:
    """`-`, `~` or `!`."""

    operator: str
    operand: Node


@dataclass(frozen=True)
class Binary:
    """A binary operator with its two operands."""

    operator: str
    left: Node
    right: Node


Node = NumberTerm | NamedRegister | Variable | Load | Cast | Unary | Binary


class ThreadFacts(Protocol):
    """Values of a thread that expressions can read. Raises LaunchError or MachineFault for values that do not exist."""

    def register(self, name: str) -> int:
        """Return a register's content."""
        ...

    def variable(self, name: str) -> int:
        """Return a variable of the thread. Raises KeyError for an unknown name."""
        ...

    def memory(self, space: str, address: int, size: int) -> bytes:
        """Return bytes of a memory space."""
        ...


# --- from text --------------------------------------------------------------------------------------------------------
_TOKEN = re.compile(
    r"""\s*(?:(?P<number>0[xX][0-9a-fA-F]+|0[bB][01]+|\d+\.\d*(?:[eE][-+]?\d+)?|\d+(?:[eE][-+]?\d+)?)
    |(?P<name>\$?[A-Za-z_][A-Za-z_0-9]*(?:\.[A-Za-z_]+|(?:::[A-Za-z_][A-Za-z_0-9]*)+)?)
    |(?P<sign>&&|\|\||<<|>>|[<>=!]=|[-+*/%&|^~!<>()\[\]:]))""",
    re.VERBOSE,
)
_LEVELS = (("||",), ("&&",), ("|",), ("^",), ("&",), ("==", "!="), ("<", "<=", ">", ">="), ("<<", ">>"), ("+", "-"),
           ("*", "/", "%"))  # fmt: skip
"""Binary operators, loosest binding first, as in C."""
_NOT = 2
"""The level of the operand of Python's `not`: everything but `and` and `or`."""
_WORDS = {"and": "&&", "or": "||"}


_PATH = re.compile(r"\s*([A-Za-z_]\w*(?:::[A-Za-z_]\w*)*(?:\.[A-Za-z_]\w*|\[\d+\])+)")
"""Parts of variables: `color.x`, `m[1].x`, `light.at.z`."""


def parse(
    text: str,
    spaces: Callable[[str], bool] | None = None,
    parts: Container[str] = (),
    inner: Callable[[str], tuple[int, ...]] = lambda name: (),
) -> Node:
    """Parse an expression. `spaces` tells whether a name is that of a memory, `parts` has the names of variables.

    `inner` returns the lengths of an array's axes except the first.

    Raises ExpressionError.
    """
    if len(text) > LONGEST:
        raise ExpressionError(f"an expression of {len(text)} characters; at most {LONGEST}")
    parser = _Parser(text, spaces, parts, inner)
    node = parser.level(0)
    parser.done()
    return node


class _Parser:
    def __init__(
        self,
        text: str,
        spaces: Callable[[str], bool] | None,
        parts: Container[str],
        inner: Callable[[str], tuple[int, ...]],
    ) -> None:
        self.text, self.spaces, self.inner = text, spaces, inner
        self.tokens: list[tuple[str, str, int]] = []
        self.k = self.depth = 0
        at = 0
        end = len(text.rstrip())
        while at < end:
            m = _PATH.match(text, at)
            if m is not None and m[1] in parts:
                self.tokens.append(("part", m[1], m.start(1)))
                at = m.end()
                continue
            m = _TOKEN.match(text, at)
            if m is None:
                raise self._error(f"`{text[at:].strip()[:1]}` was not expected here", at)
            kind = m.lastgroup or ""
            word = _WORDS.get(m[kind])
            self.tokens.append((kind, m[kind], m.start(kind)) if word is None else ("sign", word, m.start(kind)))
            at = m.end()

    def _error(self, what: str, at: int | None = None) -> ExpressionError:
        if at is None:
            at = self.tokens[self.k][2] if self.k < len(self.tokens) else len(self.text)
        return ExpressionError(f"{what}, at character {at + 1} of `{self.text.strip()}`")

    def _next(self) -> str:
        return self.tokens[self.k][1] if self.k < len(self.tokens) else ""

    def _take(self, wanted: str) -> None:
        if self._next() != wanted:
            raise self._error(f"`{wanted}` is missing")
        self.k += 1

    def done(self) -> None:
        if self.k < len(self.tokens):
            raise self._error(f"`{self._next()}` is left over")

    def level(self, n: int) -> Node:
        if n == len(_LEVELS):
            return self._unary()
        if n == _NOT and self._next() == "not":
            self.k += 1
            with _nesting_limit(self):
                return Unary("!", self.level(_NOT))
        left = self.level(n + 1)
        while self._next() in _LEVELS[n] and self.tokens[self.k][0] == "sign":
            operator = self._next()
            self.k += 1
            left = Binary(operator, left, self.level(n + 1))
        return left

    def _unary(self) -> Node:
        if self._next() in ("-", "~", "!", "+"):
            operator = self._next()
            self.k += 1
            with _nesting_limit(self):
                operand = self._unary()
            if operator == "-" and isinstance(operand, NumberTerm):
                return NumberTerm(-operand.value)
            return operand if operator == "+" else Unary(operator, operand)
        return self._primary()

    def _primary(self) -> Node:
        if self.k >= len(self.tokens):
            raise self._error("the expression ends too early")
        kind, text, at = self.tokens[self.k]
        self.k += 1
        with _nesting_limit(self):
            if kind == "part":
                return Variable(text)
            if kind == "number":
                return NumberTerm(self._number(text, at))
            if text == "(":
                node = self.level(0)
                self._take(")")
                return node
            if text == "%" and self.k < len(self.tokens) and self.tokens[self.k][0] == "name":  # a register of PTX
                self.k += 1
                return Variable(f"%{self.tokens[self.k - 1][1]}")
            if kind != "name":
                raise self._error(f"`{text}` stands where a value should", at)
            if self._next() == "[":
                return self._load(text, at)
            if self._next() == "(":
                return self._cast(text, at)
        return NamedRegister(text) if text.startswith("$") else Variable(text)

    def _number(self, text: str, at: int) -> int | float:
        try:
            return float(text) if re.search(r"[.eE]", text) and text[:2].lower() != "0x" else int(text, 0)
        except ValueError:
            raise self._error(f"`{text}` is not a number: write it without zeros before it", at) from None

    def _load(self, space: str, at: int) -> Node:
        if self.spaces is not None and not self.spaces(space):
            raise self._error(f"no memory {space!r}", at)
        self._take("[")
        address = self.level(0)
        self._take("]")
        for length in self.inner(space):
            if self._next() != "[":
                raise self._error(f"`{space}` has {len(self.inner(space)) + 1} axes, each with an index of its own")
            self.k += 1
            address = Binary("+", Binary("*", address, NumberTerm(length)), self.level(0))
            self._take("]")
        if self._next() != ":":
            return Load(space, address)
        self.k += 1
        return Load(space, address, self._type())

    def _cast(self, name: str, at: int) -> Node:
        if name not in TYPES:
            raise self._error(f"no type {name!r}; there are {', '.join(TYPES)}", at)
        self._take("(")
        operand = self.level(0)
        self._take(")")
        return Cast(name, operand)

    def _type(self) -> str:
        name = self._next()
        if name not in TYPES:
            raise self._error(f"no type {name!r}; there are {', '.join(TYPES)}")
        self.k += 1
        return name


class _nesting_limit:  # noqa: N801 - used like a function
    def __init__(self, parser: _Parser) -> None:
        self.parser = parser

    def __enter__(self) -> None:
        self.parser.depth += 1
        if self.parser.depth > DEEPEST:
            raise ExpressionError(f"more than {DEEPEST} parentheses and signs inside of each other")

    def __exit__(self, *_: object) -> Literal[False]:
        self.parser.depth -= 1
        return False


def walk(node: Node) -> Iterator[Node]:
    """Yield a node and all its descendants."""
    yield node
    match node:
        case Load(address=inner) | Cast(operand=inner) | Unary(operand=inner):
            yield from walk(inner)
        case Binary(left=left, right=right):
            yield from walk(left)
            yield from walk(right)
        case _:
            pass
