"""Reading operands: tokens, constant expressions, names in their scopes."""

from __future__ import annotations

import re
from collections.abc import Callable

from isakit.compile.ptx.lexer import PtxToken
from isakit.compile.ptx.numbers import integer, wrapped
from isakit.compile.ptx.syntax import (
    Address,
    Both,
    Group,
    Inverted,
    Name,
    Number,
    Operand,
    PtxFunction,
    PtxModule,
    PtxRegister,
    PtxSource,
    PtxSyntaxError,
    PtxVariable,
    Vector,
)

MAX_DEPTH = 64
_NUMBERED = re.compile(r"(.*?)(\d+)$", re.S)


class PtxScope:
    """Names declared between two braces; `ranges` are registers declared by number."""

    def __init__(self) -> None:
        self.names: dict[str, PtxRegister | PtxVariable] = {}
        self.ranges: dict[str, tuple[int, str]] = {}
        self.labels: dict[str, str] = {}


class OperandReader:
    """One text being read: `k` is the next token."""

    def __init__(self, source: PtxSource) -> None:
        self.module = PtxModule(source)
        self.source = source
        self.toks: list[PtxToken] = []
        self.k: int = 0
        self.scopes: list[PtxScope] = [PtxScope()]
        self.count = 0
        self.loc: tuple[int, int] | None = None
        self.entry: PtxFunction | None = None
        self.depth = 0
        self.calls = False

    # --- tokens -----------------------------------------------------------------------------------------------------
    def fail(self, message: str, token: PtxToken | None = None, notes: tuple[str, ...] = ()) -> PtxSyntaxError:
        """Return the error for a token, by default the next one, for the caller to raise."""
        t = token or self.toks[self.k]
        return PtxSyntaxError(t.pos, message, len(t.text) or 1, notes)

    def take(self, kind: str, what: str = "") -> PtxToken:
        """Take the next token and return it. Raises PtxSyntaxError if it is of another kind."""
        t = self.toks[self.k]
        if t.kind != kind:
            found = f"`{t.text}`" if t.text else "the end of the text"
            raise self.fail(f"{what or f'`{kind}`'} was expected, not {found}")
        self.k += 1
        return t

    def has(self, kind: str) -> bool:
        """Take the next token if it is of a kind; return whether it is."""
        if self.toks[self.k].kind == kind:
            self.k += 1
            return True
        return False

    def directive(self, *names: str) -> str:
        """Take the next token if it is one of these directives, and return its name without the dot, else "".

        Without names, any directive will do.
        """
        t = self.toks[self.k]
        if t.kind == "directive" and (not names or t.text[1:] in names):
            self.k += 1
            return t.text[1:]
        return ""

    def peek(self) -> str:
        """Return the name of the directive that comes next, "" if none does."""
        t = self.toks[self.k]
        return t.text[1:] if t.kind == "directive" else ""

    # --- constant expressions ---------------------------------------------------------------------------------------
    _LEVELS = (("||",), ("&&",), ("|",), ("^",), ("&",), ("==", "!="), ("<", "<=", ">", ">="), ("<<", ">>"), ("+", "-"),
               ("*", "/", "%"))  # fmt: skip

    def constant(self) -> int:
        """Read an integer constant expression and return its value."""
        value = self._binary(0)
        if self.has("?"):
            yes = self.constant()
            self.take(":")
            no = self.constant()
            return yes if value else no
        return value

    def _binary(self, level: int) -> int:
        if level == len(self._LEVELS):
            return self._unary()
        left = self._binary(level + 1)
        while self.toks[self.k].kind in self._LEVELS[level]:
            op = self.toks[self.k]
            self.k += 1
            left = self._apply(op, left, self._binary(level + 1))
        return left

    def _apply(self, token: PtxToken, a: int, b: int) -> int:
        op = token.kind
        if op in ("/", "%"):
            if b == 0:
                raise self.fail("division by zero in a constant expression", token)
            q = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
            return q if op == "/" else a - q * b
        if op in ("<<", ">>") and not 0 <= b < 64:
            raise self.fail("a shift by more than 63 in a constant expression", token)
        value: dict[str, Callable[[], int]] = {
            "||": lambda: bool(a or b), "&&": lambda: bool(a and b), "|": lambda: a | b, "^": lambda: a ^ b,
            "&": lambda: a & b, "==": lambda: a == b, "!=": lambda: a != b, "<": lambda: a < b, "<=": lambda: a <= b,
            ">": lambda: a > b, ">=": lambda: a >= b, "<<": lambda: a << b, ">>": lambda: a >> b, "+": lambda: a + b,
            "-": lambda: a - b, "*": lambda: a * b,
        }  # fmt: skip
        return wrapped(int(value[op]()))

    def _unary(self) -> int:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.fail("a constant expression nested too deeply")
        try:
            t = self.toks[self.k]
            if t.kind in ("-", "~", "!", "+"):
                self.k += 1
                v = self._unary()
                return {"-": -v, "~": ~v, "!": int(not v), "+": v}[t.kind]
            if t.kind == "(":
                self.k += 1
                if self.peek() in ("s64", "u64"):
                    kind = self.directive()
                    self.take(")")
                    v = self._unary()
                    return v & (1 << 64) - 1 if kind == "u64" else wrapped(v)
                v = self.constant()
                self.take(")")
                return v
            t = self.take("number", "a number")
            return integer(t.text)
        finally:
            self.depth -= 1

    # --- names ------------------------------------------------------------------------------------------------------
    def declare(self, token: PtxToken, what: PtxRegister | PtxVariable) -> None:
        """Bind a name in the innermost scope."""
        scope = self.scopes[-1]
        old = scope.names.get(token.text)
        if old is not None and not (
            isinstance(old, PtxVariable) and isinstance(what, PtxVariable) and len(self.scopes) == 1
        ):
            raise self.fail(f"`{token.text}` is declared twice", token)
        scope.names[token.text] = what

    def lookup(self, text: str) -> PtxRegister | PtxVariable | None:
        """Return the declaration of a name, if there is one."""
        m = None
        for scope in reversed(self.scopes):
            got = scope.names.get(text)
            if got is not None:
                return got
            if scope.ranges:
                m = m or _NUMBERED.match(text)
                # `%r1<5>` declares %r10 to %r14: every way to part the name counts.
                if m:
                    stem, digits = m.groups()
                    for cut in range(len(digits)):
                        got_range = scope.ranges.get(stem + digits[:cut])
                        number = digits[cut:]
                        if got_range and (number == "0" or number[0] != "0") and int(number) < got_range[0]:
                            register = PtxRegister(text, got_range[1], self._next())
                            scope.names[text] = register
                            return register
        return None

    def _next(self) -> int:
        self.count += 1
        return self.count

    def name(self) -> Name:
        """Read a name in an operand."""
        t = self.take("word", "a name")
        return Name(t.text, t.pos, self.lookup(t.text))

    # --- operands ---------------------------------------------------------------------------------------------------
    def operand(self) -> Operand:
        """Return an operand of an instruction."""
        t = self.toks[self.k]
        if t.kind == "word":
            name = self.name()
            if self.has("|"):
                return Both(name, self.name(), t.pos)
            if self.toks[self.k].kind in ("+", "-") and isinstance(name.what, PtxVariable):
                return Address(name, self.constant(), t.pos)
            return name
        if t.kind == "[":
            return self._address()
        if t.kind == "{":
            return Vector(self._list("}"), t.pos)
        if t.kind == "(":
            after = self.toks[self.k + 1].kind
            if after in ("word", ")", "real") or self.calls:
                return Group(self._list(")"), t.pos)
        if t.kind == "!" and self.toks[self.k + 1].kind == "word":
            self.k += 1
            return Inverted(self.name(), t.pos)
        if t.kind == "real" or (t.kind == "-" and self.toks[self.k + 1].kind == "real"):
            return self._real()
        return Number(self.constant(), t.pos)

    def _real(self) -> Number:
        negative = self.has("-")
        t = self.take("real")
        if t.text[1:2] in "fFdD" and t.text[1:2]:
            bits = int(t.text[2:], 16)
            width = 32 if t.text[1] in "fF" else 64
            return Number(bits ^ (1 << width - 1) if negative else bits, t.pos, width)
        value = float(t.text)
        return Number(-value if negative else value, t.pos, -1)

    def _list(self, close: str) -> tuple[Operand, ...]:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.fail("operands nested too deeply")
        self.k += 1
        items: list[Operand] = []
        if not self.has(close):
            items.append(self.operand())
            while self.has(","):
                items.append(self.operand())
            self.take(close)
        self.depth -= 1
        return tuple(items)

    def _address(self) -> Address:
        start = self.take("[")
        t = self.toks[self.k]
        base: Name | Number = self.name() if t.kind == "word" else Number(self.constant(), t.pos)
        offset = self.constant() if self.toks[self.k].kind in ("+", "-") else 0
        coordinates = None
        if self.has(","):
            coordinates = self.operand()
            while self.has(","):  # a sampler before the coordinates: independent texture mode
                raise self.fail("separate sampler operands (`.target texmode_independent`) are not supported")
        self.take("]")
        return Address(base, offset, start.pos, coordinates)
