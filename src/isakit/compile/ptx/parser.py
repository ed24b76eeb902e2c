"""From PTX text to declarations and statements, with every name resolved to what it was declared as.

An error inside a function makes that function fail and no other; reading goes on behind its closing brace.
Source: the PTX ISA manual, chapters 4 to 7 and 11.
"""

from __future__ import annotations

import re
import struct
from typing import Any

from isakit.compile.ptx.lexer import Token, tokens
from isakit.compile.ptx.syntax import (
    SIZES,
    Address,
    Both,
    Entry,
    Group,
    Initial,
    Inverted,
    Label,
    Name,
    Number,
    Operand,
    PtxModule,
    PtxSyntaxError,
    Register,
    Source,
    Statement,
    Variable,
    Vector,
)

MAX_BYTES = 1 << 28
"""A variable larger than this is refused: no chip has more memory, and the text of a hostile file is short."""
MAX_REGISTERS = 1 << 20
MAX_DEPTH = 64

SPACES = ("reg", "sreg", "const", "global", "shared", "local", "tex", "param")
_LINKAGE = ("extern", "visible", "weak", "common")
_NUMBERED = re.compile(r"(.*?)(\d+)$", re.S)
_VECTORS = {"v2": 2, "v4": 4, "v8": 8}


class _Scope:
    def __init__(self) -> None:
        self.names: dict[str, Register | Variable] = {}
        self.ranges: dict[str, tuple[int, str]] = {}
        self.labels: dict[str, str] = {}


class Parser:
    """One text being read."""

    def __init__(self, source: Source) -> None:
        self.module = PtxModule(source)
        self.source = source
        self.toks: list[Token] = []
        self.k = 0
        self.scopes: list[_Scope] = [_Scope()]
        self.count = 0
        self.loc: tuple[int, int] | None = None
        self.entry: Entry | None = None
        self.depth = 0
        self.calls = False

    # --- tokens -----------------------------------------------------------------------------------------------------
    def fail(self, message: str, token: Token | None = None, notes: tuple[str, ...] = ()) -> PtxSyntaxError:
        """The error for a token, the next one by default; to be raised."""
        t = token or self.toks[self.k]
        return PtxSyntaxError(t.pos, message, len(t.text) or 1, notes)

    def take(self, kind: str, what: str = "") -> Token:
        """The next token, which has to be of a kind."""
        t = self.toks[self.k]
        if t.kind != kind:
            found = f"`{t.text}`" if t.text else "the end of the text"
            raise self.fail(f"{what or f'`{kind}`'} was expected, not {found}")
        self.k += 1
        return t

    def has(self, kind: str) -> bool:
        """Take the next token if it is of a kind."""
        if self.toks[self.k].kind == kind:
            self.k += 1
            return True
        return False

    def directive(self, *names: str) -> str:
        """Take the next token if it is one of these directives; its name without the dot, else nothing."""
        t = self.toks[self.k]
        if t.kind == "directive" and (not names or t.text[1:] in names):
            self.k += 1
            return t.text[1:]
        return ""

    def peek(self) -> str:
        """The name of the directive that comes next, or nothing."""
        t = self.toks[self.k]
        return t.text[1:] if t.kind == "directive" else ""

    # --- constant expressions ---------------------------------------------------------------------------------------
    _LEVELS = (("||",), ("&&",), ("|",), ("^",), ("&",), ("==", "!="), ("<", "<=", ">", ">="), ("<<", ">>"), ("+", "-"),
               ("*", "/", "%"))  # fmt: skip

    def constant(self) -> int:
        """An integer constant expression."""
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

    def _apply(self, token: Token, a: int, b: int) -> int:
        op = token.kind
        if op in ("/", "%"):
            if b == 0:
                raise self.fail("division by zero in a constant expression", token)
            q = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
            return q if op == "/" else a - q * b
        if op in ("<<", ">>") and not 0 <= b < 64:
            raise self.fail("a shift by more than 63 in a constant expression", token)
        value: dict[str, Any] = {
            "||": lambda: bool(a or b), "&&": lambda: bool(a and b), "|": lambda: a | b, "^": lambda: a ^ b,
            "&": lambda: a & b, "==": lambda: a == b, "!=": lambda: a != b, "<": lambda: a < b, "<=": lambda: a <= b,
            ">": lambda: a > b, ">=": lambda: a >= b, "<<": lambda: a << b, ">>": lambda: a >> b, "+": lambda: a + b,
            "-": lambda: a - b, "*": lambda: a * b,
        }  # fmt: skip
        return _wrap(int(value[op]()))

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
                    return v & (1 << 64) - 1 if kind == "u64" else _wrap(v)
                v = self.constant()
                self.take(")")
                return v
            t = self.take("number", "a number")
            return _integer(t.text)
        finally:
            self.depth -= 1

    # --- names ------------------------------------------------------------------------------------------------------
    def declare(self, token: Token, what: Register | Variable) -> None:
        """Give a name a meaning in the innermost scope."""
        scope = self.scopes[-1]
        old = scope.names.get(token.text)
        if old is not None and not (isinstance(old, Variable) and isinstance(what, Variable) and len(self.scopes) == 1):
            raise self.fail(f"`{token.text}` is declared twice", token)
        scope.names[token.text] = what

    def lookup(self, text: str) -> Register | Variable | None:
        """What a name was declared as."""
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
                            register = Register(text, got_range[1], self._next())
                            scope.names[text] = register
                            return register
        return None

    def _next(self) -> int:
        self.count += 1
        return self.count

    def name(self) -> Name:
        """A name in an operand."""
        t = self.take("word", "a name")
        return Name(t.text, t.pos, self.lookup(t.text))

    # --- operands ---------------------------------------------------------------------------------------------------
    def operand(self) -> Operand:
        """One operand of an instruction."""
        t = self.toks[self.k]
        if t.kind == "word":
            name = self.name()
            if self.has("|"):
                return Both(name, self.name(), t.pos)
            if self.toks[self.k].kind in ("+", "-") and isinstance(name.what, Variable):
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

    # --- module -----------------------------------------------------------------------------------------------------
    def parse(self) -> PtxModule:
        """Read everything."""
        try:
            self.toks = tokens(self.source.text)
        except PtxSyntaxError as e:
            self.module.errors.append(self.source.diagnostic(e.pos, e.message, e.width))
            return self.module
        while self.toks[self.k].kind != "end":
            start = self.k
            try:
                self._top()
            except (PtxSyntaxError, RecursionError) as e:
                error = e if isinstance(e, PtxSyntaxError) else self.fail("nested too deeply")
                message = self.source.diagnostic(error.pos, error.message, error.width, error.notes)
                entry, self.entry = self.entry, None
                del self.scopes[1:]
                self.depth = 0
                if entry is None:
                    self.module.errors.append(message)
                    self._skip_statement(start)
                else:
                    self.module.entries.pop(entry.name, None)
                    self.module.functions.pop(entry.name, None)
                    self.module.failures.setdefault(entry.name, []).append(message)
                    self._skip_function(start)
        return self.module

    def _skip_statement(self, start: int) -> None:
        self.k = max(self.k, start + 1)
        while self.toks[self.k].kind not in (";", "end", "}") and self.peek() not in ("entry", "func", "visible"):
            self.k += 1
        if self.toks[self.k].kind in (";", "}"):
            self.k += 1

    def _skip_function(self, start: int) -> None:
        """Go behind the body of the function that began at a token."""
        k = start
        while self.toks[k].kind not in ("{", "end"):
            k += 1
        depth = 0
        while self.toks[k].kind != "end":
            kind = self.toks[k].kind
            depth += (kind == "{") - (kind == "}")
            k += 1
            if depth == 0:
                break
        self.k = max(k, start + 1)

    def _top(self) -> None:
        m = self.module
        word = self.peek()
        if word == "version":
            self.k += 1
            t = self.toks[self.k]
            self.k += 1
            got = re.fullmatch(r"(\d{1,3})\.(\d{1,3})", t.text)
            if not got:
                raise self.fail("a version like 1.4 was expected", t)
            m.version = int(got[1]), int(got[2])
        elif word == "target":
            self.k += 1
            names = [self.take("word", "a target").text]
            while self.has(","):
                names.append(self.take("word", "a target").text)
            m.target, m.options = names[0], tuple(names[1:])
        elif word == "address_size":
            self.k += 1
            m.address_size = _integer(self.take("number", "32 or 64").text)
        elif word == "file":
            self._file()
        elif word == "section":
            while not self.has("}"):
                if self.toks[self.k].kind == "end":
                    raise self.fail("a section that does not end")
                self.k += 1
        elif word in ("loc", "pragma"):
            self._loc() if word == "loc" else self._pragma()
        elif word.startswith("metadata"):
            raise self.fail(f"`.{word}` is not supported")
        elif word == "alias":
            raise self.fail("`.alias` is not supported")
        elif word in SPACES or word in _LINKAGE or word in ("entry", "func", "attribute"):
            self._declaration()
        elif self.has(";"):
            pass
        else:
            raise self.fail(f"`{self.toks[self.k].text}` begins nothing a module can hold")

    def _file(self) -> None:
        self.k += 1
        number = _integer(self.take("number", "a file number").text)
        name = self.take("string", "a file name in quotes").text[1:-1]
        if self.toks[self.k].kind == "string":  # directory and name
            name = f"{name}/{self.take('string').text[1:-1]}"
        self.module.files[number] = name
        while self.has(","):
            self.take("number")

    def _pragma(self) -> None:
        self.k += 1
        self.take("string", "a text in quotes")
        while self.has(","):
            self.take("string")
        self.take(";")

    def _loc(self) -> None:
        self.k += 1
        file = _integer(self.take("number", "a file number").text)
        line = _integer(self.take("number", "a line").text)
        if self.toks[self.k].kind == "number":
            self.k += 1
        while self.has(","):  # function_name LABEL, inlined_at FILE LINE COLUMN
            while self.toks[self.k].kind in ("word", "number", "+"):
                self.k += 1
                if self.toks[self.k - 1].kind == "number" and self.toks[self.k].kind == "word":
                    break
        self.loc = file, line

    def _declaration(self) -> None:
        external = False
        while True:
            link = self.directive(*_LINKAGE)
            if not link:
                break
            external |= link == "extern"
        word = self.peek()
        if word in ("entry", "func"):
            self._function(word == "entry", external)
        else:
            self._variables(external)

    # --- variables --------------------------------------------------------------------------------------------------
    def _variables(self, external: bool = False) -> None:
        space = self.directive(*SPACES)
        if not space:
            raise self.fail(f"a state space was expected, not `{self.toks[self.k].text}`")
        if self.has("["):  # .const[2]
            if self.constant() and space == "const":
                raise self.fail("constant banks other than 0 cannot be named on this target")
            self.take("]")
        while True:
            self._variable(space, external)
            if not self.has(","):
                break
        self.take(";")

    _head: tuple[int, str, int, bool] | None = None

    def _type(self) -> tuple[int, str, int, bool]:
        """(alignment, type, elements of a vector, pointer)."""
        align, vector, kind, pointer = 0, 1, "", False
        while True:
            word = self.peek()
            if word == "align":
                self.k += 1
                t = self.toks[self.k]
                align = self.constant()
                if not 0 < align <= 1 << 16 or align & align - 1:
                    raise self.fail("an alignment is a power of two", t)
            elif word in _VECTORS:
                self.k += 1
                vector = _VECTORS[word]
            elif word == "ptr":
                self.k += 1
                pointer = True
                self.directive("global", "shared", "const", "local", "param")
            elif word in SIZES and not kind:
                self.k += 1
                kind = word
            elif word == "attribute":
                raise self.fail("`.attribute` is not supported")
            else:
                break
        if not kind:
            raise self.fail("a type was expected")
        return align, kind, vector, pointer

    def _variable(self, space: str, external: bool) -> None:
        if self.toks[self.k].kind == "directive":
            self._head = self._type()
        if self._head is None:
            raise self.fail("a type was expected")
        align, kind, vector, pointer = self._head
        t = self.take("word", "a name")
        if space == "reg":
            self._register(t, kind, vector)
            return
        if space == "sreg":
            self.declare(t, Register(t.text, kind, self._next()))
            return
        if kind == "pred":
            raise self.fail("predicates live in registers", t)
        count, opened = vector, False
        while self.has("["):
            if self.has("]"):
                opened = True
                continue
            count *= self.constant()
            self.take("]")
            if not 0 <= count <= MAX_BYTES:
                raise self.fail(f"`{t.text}` is too large", t)
        initial: list[Initial] = []
        if self.has("="):
            self._initial(initial, kind)
        if opened:
            if initial:
                count, opened = len(initial), False
            else:
                count = 0
        v = Variable(space, t.text, kind, count, max(align, min(SIZES[kind] * vector, 16), 1), initial, opened, t.pos)
        v.pointer = pointer
        if v.size > MAX_BYTES or len(initial) > max(count, 1):
            raise self.fail(f"`{t.text}` is too large" if v.size > MAX_BYTES else "more values than elements", t)
        self._place(t, v, external)

    def _place(self, t: Token, v: Variable, external: bool) -> None:
        old = self.scopes[-1].names.get(t.text)
        if isinstance(old, Variable) and len(self.scopes) == 1:
            if old.space != v.space:
                raise self.fail(f"`{t.text}` is declared twice", t)
            if external:  # a declaration after the definition says nothing new
                return
        if self.entry is None:
            v.unique = v.name
            self.module.variables[v.name] = v
        else:
            v.unique = f"{self.entry.name}::{v.name}" if v.name not in self.module.variables else f"{v.name}@{v.pos}"
            self.entry.variables.append(v)
            if v.space in ("const", "global", "tex"):
                self.module.variables[v.unique] = v
        self.scopes[-1].names[t.text] = v

    def _register(self, t: Token, kind: str, vector: int) -> None:
        if self.has("<"):
            n = self.take("number", "a number of registers")
            count = _integer(n.text)
            if count > MAX_REGISTERS:
                raise self.fail("too many registers", n)
            self.take(">")
            self.scopes[-1].ranges[t.text] = count, kind
            return
        if vector > 1:
            for c in ("x", "y", "z", "w")[:vector]:
                self.scopes[-1].names[f"{t.text}.{c}"] = Register(f"{t.text}.{c}", kind, self._next())
            self.declare(t, Register(t.text, f"v{vector}", self._next()))
            return
        self.declare(t, Register(t.text, kind, self._next()))

    def _initial(self, out: list[Initial], kind: str) -> None:
        if self.has("{"):
            self.depth += 1
            if self.depth > MAX_DEPTH:
                raise self.fail("braces nested too deeply")
            while not self.has("}"):
                self._initial(out, kind)
                if not self.has(","):
                    self.take("}")
                    break
            self.depth -= 1
            return
        t = self.toks[self.k]
        if t.kind == "word":
            self.k += 1
            if t.text == "generic" and self.has("("):
                t = self.take("word", "a name")
                self.take(")")
            offset = self.constant() if self.toks[self.k].kind in ("+", "-") else 0
            out.append(Initial(offset, t.text))
        elif t.kind == "real" or (t.kind == "-" and self.toks[self.k + 1].kind == "real"):
            out.append(Initial(float_bits(self._real(), SIZES[kind])))
        else:
            value = self.constant()
            out.append(Initial(float_bits(Number(float(value), t.pos, -1), SIZES[kind]) if kind[0] == "f" else value))

    # --- functions --------------------------------------------------------------------------------------------------
    def _function(self, kernel: bool, external: bool) -> None:
        start = self.toks[self.k]
        self.k += 1
        self.scopes.append(_Scope())
        entry = Entry("?", start.pos, kernel)
        if not kernel and self.toks[self.k].kind == "(":
            entry.results = self._parameters("ret")
        t = self.take("word", "the name of a function")
        entry.name, entry.pos = t.text, t.pos
        self.entry = entry
        if self.toks[self.k].kind == "(":
            entry.params = self._parameters("param")
        while self.toks[self.k].kind == "directive":
            word = self.directive()
            if word in ("noreturn",):
                continue
            values = [self.constant()] if self.toks[self.k].kind != ";" else []
            while self.has(","):
                values.append(self.constant())
            entry.limits[word] = tuple(values)
        known = self.module.entries if kernel else self.module.functions
        if self.has(";"):
            entry.defined = False
            known.setdefault(entry.name, entry)
        else:
            old = known.get(entry.name)
            if (old is not None and old.defined) or entry.name in self.module.failures:
                raise self.fail(f"`{entry.name}` is defined twice", t)
            self.loc = None
            self._body(entry)
            known[entry.name] = entry
        self.scopes.pop()
        self.entry = None

    def _parameters(self, what: str) -> list[Variable]:
        out: list[Variable] = []
        self.take("(")
        if self.has(")"):
            return out
        while True:
            space = self.directive("param", "reg")
            if not space:
                raise self.fail("`.param` was expected")
            align, kind, vector, pointer = self._type()
            t = self.take("word", "the name of a parameter")
            count = vector
            while self.has("["):
                if not self.has("]"):
                    count *= self.constant()
                    self.take("]")
                if not 0 <= count <= MAX_BYTES:
                    raise self.fail(f"`{t.text}` is too large", t)
            v = Variable(
                "param", t.text, kind, count, align if align and not pointer else max(SIZES[kind], 1), pos=t.pos
            )
            v.unique, v.pointer = t.text, pointer
            if space == "reg":
                register = Register(t.text, kind, self._next())
                self.declare(t, register)
                v.space, v.register = "reg", register
            else:
                self.declare(t, v)
            out.append(v)
            if not self.has(","):
                break
        self.take(")")
        return out

    def _body(self, entry: Entry) -> None:
        """Everything between the braces; labels are resolved at the end of the scope they stand in."""
        self.take("{")
        level = 1
        while level:
            t = self.toks[self.k]
            if t.kind == "{":
                self.k += 1
                level += 1
                if level > MAX_DEPTH:
                    raise self.fail("scopes nested too deeply", t)
                self.scopes.append(_Scope())
            elif t.kind == "}":
                self.k += 1
                level -= 1
                if level:
                    self.scopes.pop()
            elif t.kind == "end":
                raise self.fail(f"`{entry.name}` does not end")
            else:
                self._item(entry, t)

    def _item(self, entry: Entry, t: Token) -> None:
        if t.kind == "directive":
            word = t.text[1:]
            if word == "loc":
                self._loc()
            elif word == "pragma":
                self._pragma()
            elif word == "param" and entry.kernel and not self._in_call_scope():
                self._old_parameters(entry)
            elif word in ("branchtargets", "calltargets", "callprototype"):
                raise self.fail(f"`.{word}` is not supported")
            elif word in SPACES or word in _LINKAGE:
                external = bool(self.directive("extern"))
                while self.directive(*_LINKAGE):
                    pass
                self._variables(external)
            else:
                raise self.fail(f"`{t.text}` begins no statement")
        elif t.kind == "word" and self.toks[self.k + 1].kind == ":":
            self.k += 2
            if self.peek() == "branchtargets":
                self._branch_targets(entry, t)
                return
            entry.body.append(Label(t.text, t.pos))
        elif t.kind == ";":
            self.k += 1
        else:
            entry.body.append(self._statement())

    def _branch_targets(self, entry: Entry, t: Token) -> None:
        self.k += 1
        names = [self.take("word", "a label").text]
        while self.has(","):
            names.append(self.take("word", "a label").text)
        self.take(";")
        entry.branch_targets[t.text] = names

    def _in_call_scope(self) -> bool:
        return len(self.scopes) > 2

    def _old_parameters(self, entry: Entry) -> None:
        """PTX 1.0 declares the parameters of a kernel in its body."""
        before = len(entry.variables)
        self._variables()
        entry.params += entry.variables[before:]
        del entry.variables[before:]

    def _statement(self) -> Statement:
        guard, inverted = None, False
        if self.has("@"):
            inverted = self.has("!")
            guard = self.name()
        t = self.take("word", "an instruction")
        operands: list[Operand] = []
        self.calls = t.text.startswith("call")
        if self.toks[self.k].kind != ";":
            operands.append(self.operand())
            while self.has(","):
                operands.append(self.operand())
        self.take(";", "`,` or `;`")
        return Statement(t.text, tuple(operands), t.pos, guard, inverted, self.loc)


def _integer(text: str) -> int:
    text = text.rstrip("U")
    if text[:2] in ("0x", "0X"):
        return int(text, 16) & (1 << 64) - 1
    if text[:2] in ("0b", "0B"):
        return int(text, 2) & (1 << 64) - 1
    if len(text) > 1 and text[0] == "0" and text.isdigit() and all(c < "8" for c in text):
        return int(text, 8) & (1 << 64) - 1
    return int(text[:30]) & (1 << 64) - 1


def _wrap(value: int) -> int:
    """Into 64 bits; what does not fit the signed ones stays unsigned."""
    if -(1 << 63) <= value < 1 << 64:
        return value
    return value & (1 << 64) - 1


def float_bits(number: Number, size: int) -> int:
    """The bits of a literal as a float of `size` bytes."""
    if number.real == 8 * size:
        return int(number.value)
    if number.real in (32, 64):
        value = struct.unpack(
            "<f" if number.real == 32 else "<d", int(number.value).to_bytes(number.real // 8, "little")
        )[0]
    else:
        value = float(number.value)
    if size == 8:
        return int.from_bytes(struct.pack("<d", value), "little")
    try:
        return int.from_bytes(struct.pack("<f" if size == 4 else "<e", value), "little")
    except OverflowError:
        infinity = 0x7F80_0000 if size == 4 else 0x7C00
        return infinity | (value < 0) << 8 * size - 1


def parse(text: str, path: str = "<text>") -> PtxModule:
    """Read a PTX text. Never raises for its content: errors are in the module that comes back."""
    return Parser(Source(text, path)).parse()
