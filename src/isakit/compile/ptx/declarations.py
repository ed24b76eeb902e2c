"""Declarations of variables and registers, with their initial values."""

from __future__ import annotations

from isakit.compile.ptx.lexer import PtxToken
from isakit.compile.ptx.numbers import float_bits, integer
from isakit.compile.ptx.operands import MAX_DEPTH, OperandReader
from isakit.compile.ptx.syntax import (
    SIZES,
    Initial,
    Number,
    PtxRegister,
    PtxVariable,
)

MAX_BYTES = 1 << 28
"""A variable larger than this is refused: no chip has more memory, and the text of a hostile file is short."""
MAX_REGISTERS = 1 << 20

SPACES = ("reg", "sreg", "const", "global", "shared", "local", "tex", "param")
LINKAGE = ("extern", "visible", "weak", "common")
_VECTORS = {"v2": 2, "v4": 4, "v8": 8}


class DeclarationReader(OperandReader):
    """Variables."""

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

    _head: tuple[int, str, int, str | None] | None = None

    def _type(self) -> tuple[int, str, int, str | None]:
        """Return (alignment, type, elements of a vector, space of a pointer: "" generic, None for no pointer)."""
        align, vector, kind, pointer = 0, 1, "", None
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
                pointer = self.directive("global", "shared", "const", "local", "param")
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
            self.declare(t, PtxRegister(t.text, kind, self._next()))
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
        v = PtxVariable(
            space, t.text, kind, count, max(align, min(SIZES[kind] * vector, 16), 1), initial, opened, t.pos
        )
        v.pointer, v.pointee = pointer is not None, pointer or ""
        if v.size > MAX_BYTES or len(initial) > max(count, 1):
            raise self.fail(f"`{t.text}` is too large" if v.size > MAX_BYTES else "more values than elements", t)
        self._place(t, v, external)

    def _place(self, t: PtxToken, v: PtxVariable, external: bool) -> None:
        old = self.scopes[-1].names.get(t.text)
        if isinstance(old, PtxVariable) and len(self.scopes) == 1:
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

    def _register(self, t: PtxToken, kind: str, vector: int) -> None:
        if self.has("<"):
            n = self.take("number", "a number of registers")
            count = integer(n.text)
            if count > MAX_REGISTERS:
                raise self.fail("too many registers", n)
            self.take(">")
            self.scopes[-1].ranges[t.text] = count, kind
            return
        if vector > 1:
            for c in ("x", "y", "z", "w")[:vector]:
                self.scopes[-1].names[f"{t.text}.{c}"] = PtxRegister(f"{t.text}.{c}", kind, self._next())
            self.declare(t, PtxRegister(t.text, f"v{vector}", self._next()))
            return
        self.declare(t, PtxRegister(t.text, kind, self._next()))

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
