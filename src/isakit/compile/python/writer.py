"""The common part of translating a Python kernel: emitting LLVM IR, and errors at a line."""

from __future__ import annotations

import ast
import inspect
import math
import textwrap
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import NoReturn
from urllib.parse import quote

from isakit.compile.python.constants import ConstantFolding, NotFoldable, variables
from isakit.compile.python.types import Pointer, Scalar, boolean, f64, i32
from isakit.errors import CompileError, Diagnostic
from isakit.float_bits import bits_of_float, float_of_bits

Type = Scalar | Pointer
SHOWN = 60
"""Characters of an expression that are shown in an error."""


@dataclass
class FunctionSource:
    """The text of a function: `first` is the line of its file it begins at."""

    text: str
    path: str
    first: int
    names: dict[str, object]


def function_source(function: Callable[..., object]) -> FunctionSource:
    """Return the source of a function and the constants it can see. Raises CompileError where there is none."""
    try:
        lines, first = inspect.getsourcelines(function)
    except (OSError, TypeError) as e:
        raise CompileError([Diagnostic(1, 1, f"the source of `{function.__name__}` cannot be read: {e}")]) from e
    names = dict(getattr(function, "__globals__", {}))
    closure = inspect.getclosurevars(function)
    names |= closure.nonlocals
    path = inspect.getsourcefile(function) or "<text>"
    return FunctionSource(textwrap.dedent("".join(lines)), path, first, names)


def parsed_function(source: FunctionSource) -> ast.FunctionDef:
    """Return the syntax tree of a function whose text Python has parsed before; a lambda becomes a function.

    Raises CompileError where the text has neither.
    """
    with suppress(SyntaxError):  # the line of a lambda may be a part of a statement
        tree = ast.parse(source.text)
        defined = next((n for n in tree.body if isinstance(n, ast.FunctionDef)), None)
        if defined is not None:
            return defined
        lambdas = [n for n in ast.walk(tree) if isinstance(n, ast.Lambda)]
        if len(lambdas) == 1:
            (found,) = lambdas
            value = ast.copy_location(ast.Return(found.body), found.body)
            return ast.copy_location(ast.FunctionDef("lambda", found.args, [value], []), found)
    raise CompileError(
        [Diagnostic(source.first, 1, "no function is found here: write it with `def`", path=source.path)]
    )


def text_functions(text: str, path: str, names: dict[str, object]) -> dict[str, FunctionSource]:
    """Return the functions of a text by name. `path`: its name in messages; `names`: the globals they can see."""
    lines = text.split("\n")
    return {
        n.name: FunctionSource("\n".join(lines[n.lineno - 1 : n.end_lineno]), path, n.lineno, names)
        for n in ast.parse(text).body
        if isinstance(n, ast.FunctionDef)
    }


@dataclass
class TypedValue:
    """A value: its LLVM name or constant, and its type.

    `number` is what a literal was written as, `shape` the numbers of elements of an array, as far as they are known.
    """

    text: str
    type: Type
    number: int | float | None = None
    shape: tuple[TypedValue, ...] = ()


@dataclass
class Returning:
    """The exit of an inlined function: the label after it, and the slots of its results."""

    end: str
    slots: list[tuple[str, Scalar]] | None = None


class VariableWidened(Exception):
    """A variable must hold more than its first value's type: translation starts over."""


class TranslationStop(Exception):
    """Translation stops at an error."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        self.diagnostic = diagnostic


class Writer:
    """The text of one kernel as it grows.

    Attributes:
        lines: of the body.
        entry: the first block.
        top: lines before the function.
        slots: variables.
        arrays, views, params: by name; `views` are variables that mean an array.
        variables: their debug records, if `named`.
        done: the block has its terminator.
        at: the statement being translated.
        widths: types of variables that hold more than their first value, None where the first value's type does.
        returning: the exit of the inlined function, inside of one.
        calling: the names of the functions being called.
        scope: the prefix that distinguishes the variables of an inlined function.
        line_of_call: the line of the kernel, where the function stands in another file.
    """

    def __init__(self, source: FunctionSource, function: ast.FunctionDef, named: bool = False) -> None:
        self.source, self.function, self.named = source, function, named
        self.variables: list[str] = []
        self.constants = ConstantFolding(source.names, variables(function))
        self.lines: list[str] = []
        self.entry: list[str] = []
        self.top: list[str] = []
        self.count = 0
        self.slots: dict[str, tuple[str, Scalar]] = {}
        self.arrays: dict[str, TypedValue] = {}
        self.views: dict[str, tuple[str, Pointer, list[str]]] = {}
        self.outside: dict[int, tuple[object, TypedValue]] = {}
        self.outside_bytes = 0
        self.widths: dict[tuple[tuple[str, ...], str], Scalar] | None = None
        self.kernel_name, self.scopes = function.name, 0
        self.returning: Returning | None = None
        self.calling: tuple[str, ...] = ()
        self.scope = ""
        self.line_of_call: int | None = None
        self.params: dict[str, TypedValue] = {}
        self.declared: set[str] = set()
        self.exits: list[tuple[str, str]] = []
        self.done = False
        self.at: ast.AST = function
        self.debug: dict[int, int] = {}
        self.loops: list[str] = []

    # --- errors and text --------------------------------------------------------------------------------------------
    def fail(self, message: str, node: ast.AST | None = None, *notes: str) -> NoReturn:
        """Stop with an error at a node."""
        n: object = node or self.at
        line = getattr(n, "lineno", 1)
        column = getattr(n, "col_offset", 0)
        text = source_lines(self.source.text)[line - 1]
        end = getattr(n, "end_col_offset", column + 1) if getattr(n, "end_lineno", line) == line else len(text)
        row, width = self.source.first + line - 1, max(1, end - column)
        raise TranslationStop(Diagnostic(row, column + 1, message, text, width, notes, self.source.path))

    def new(self, stem: str = "t") -> str:
        self.count += 1
        return f"{stem}{self.count}"

    def line(self, text: str) -> None:
        """Write an instruction, with the Python line it comes from."""
        if self.done:
            return
        number = self.line_of_call or self.source.first + getattr(self.at, "lineno", 1) - 1
        self.debug.setdefault(number, 100 + len(self.debug))
        self.lines.append(f"  {text}, !dbg !{self.debug[number]}")

    def make(self, text: str, kind: Type) -> TypedValue:
        """Write an instruction and return its result."""
        name = "%" + self.new()
        self.line(f"{name} = {text}")
        return TypedValue(name, kind)

    def label(self, name: str) -> None:
        """Begin a block."""
        if not self.done:
            self.line(f"br label %{name}")
        self.lines.append(f"{name}:")
        self.done = False

    def jump(self, name: str) -> None:
        """Go to a block; what follows is not reached."""
        self.line(f"br label %{name}")
        self.done = True

    def repeat(self, name: str, unroll: bool) -> None:
        """Jump back to the head of a loop; unless `unroll`, LLVM is told not to unroll it."""
        if self.done:
            return
        self.jump(name)
        if not unroll:
            k = 1_000_000 + len(self.loops)
            self.loops.append(f'!{k} = distinct !{{!{k}, !{{!"llvm.loop.unroll.disable"}}}}')
            self.lines[-1] += f", !llvm.loop !{k}"

    def branch(self, p: TypedValue, yes: str, no: str) -> None:
        """Branch to `yes` where `p` is true, else to `no`."""
        self.line(f"br i1 {p.text}, label %{yes}, label %{no}")
        self.done = True

    def declare(self, text: str) -> None:
        """Declare an external function."""
        self.declared.add(text)

    def external(self, function: str, values: list[TypedValue], kind: Scalar) -> TypedValue:
        """Call an external function of numbers, and declare it."""
        types = [v.type.llvm for v in values if isinstance(v.type, Scalar)]
        self.declare(f"declare {kind.llvm} {function}({', '.join(types)})")
        given = ", ".join(f"{t} {v.text}" for t, v in zip(types, values, strict=True))
        return self.make(f"call {kind.llvm} {function}({given})", kind)

    def width(self, name: str, v: TypedValue) -> Scalar:
        """Return the type of a variable that gets its first value."""
        assert isinstance(v.type, Scalar)
        first = i32 if v.type is boolean else v.type
        if self.widths is None:
            return first
        return self.widths.get((self.calling, name), f64 if isinstance(v.number, float) else first)

    def slot(self, name: str, kind: Scalar) -> str:
        """Allocate a stack slot for a variable in the entry block, and return its address."""
        where = f"%v.{self.scope}{ir_name(name)}"
        self.slots[name] = where, kind
        self.entry[:0] = [f"  {where} = alloca {kind.llvm}", *self.record("declare", f"ptr {where}", name, kind)]
        return where

    def record(self, what: str, value: str, name: str, kind: Type, count: int = 0) -> list[str]:
        """Return the debug record of a variable's location, as lines; none for one that the translation added."""
        if not self.named or self.scope or not name.isidentifier():
            return []
        scalar = kind.of if isinstance(kind, Pointer) else kind
        type = scalar.name.replace("i", "s")
        size = 8 * scalar.size  # that of its slot, of which a record may speak in parts
        if isinstance(kind, Pointer):
            size = 64
            type = f"array:{type}:{count}" if count else f"ptr:{type}"
        k = 2_000_000 + 2 * len(self.variables)
        self.variables += [
            f'!{k} = !DIBasicType(name: "isakit:{type}", size: {size}, encoding: DW_ATE_unsigned)',
            f'!{k + 1} = !DILocalVariable(name: "{quote(name)}", scope: !3, file: !1, type: !{k})',
        ]
        self.debug.setdefault(self.source.first, 100 + len(self.debug))
        return [f"    #dbg_{what}({value}, !{k + 1}, !DIExpression(), !{self.debug[self.source.first]})"]

    def known(self, node: ast.expr) -> int | float | None:
        """Return the value of a constant expression of numbers, None if it is not one."""
        try:
            return self.constants.fold(node)
        except NotFoldable as e:
            self.fail(str(e), e.node)

    def called(self, call: ast.Call) -> str:
        """Return the name of what is called, without the module before it."""
        return name_of(call.func)

    def shown(self, node: ast.AST) -> str:
        """Return the source of an expression, cut off if it is long."""
        text = (ast.get_source_segment(self.source.text, node) or "").split("\n")[0]
        return text if len(text) <= SHOWN else text[:SHOWN] + "..."


def name_of(node: ast.expr) -> str:
    """Return a name without the module before it, "" for another expression."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def ir_name(name: str) -> str:
    """Return a Python name in a form valid in LLVM IR: letters outside of ASCII by their code point."""
    return "".join(c if c.isascii() else f"${ord(c):x}$" for c in name)


def source_lines(text: str) -> list[str]:
    """Split a text into lines as Python's parser does: no other characters end one."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def float_text(value: float, double: bool = False) -> str:
    """Return a constant as LLVM writes it, in 64 bits; with `double` false, rounded to f32 first."""
    if not double:
        try:
            value = float_of_bits(bits_of_float(value))
        except OverflowError:
            value = math.copysign(math.inf, value)
    return f"0x{bits_of_float(value, 'f64'):016X}"
