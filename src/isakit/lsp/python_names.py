"""Names in a Python text: those of its functions and of its top, and what kernels know besides.

A text is Python's syntax tree; lines that are no Python, as the one that is being written, are left out of it.
"""

from __future__ import annotations

import ast
import keyword
import re
import warnings
from collections.abc import Iterator
from functools import cache

from isakit.asm.source import SourceSpan
from isakit.compile.python.calls import FUNCTIONS_OF_THREADS
from isakit.compile.python.double_library import FUNCTIONS as DOUBLE_FUNCTIONS
from isakit.compile.python.expressions import SPECIAL
from isakit.compile.python.hints import KNOWN
from isakit.compile.python.library import FUNCTIONS
from isakit.errors import CompileError, IsakitError
from isakit.lsp.blocks import BlockNames
from isakit.lsp.texts import Definition, KnownName

_LEFT_OUT = 8
"""Lines that may be no Python."""
_COMMENT = re.compile(
    r"(?P<open>[A-Za-z]{0,2}(?:\"\"\"(?:[^\\]|\\.)*?(?:\"\"\"|\Z)|'''(?:[^\\]|\\.)*?(?:'''|\Z)"
    r"|\"(?:[^\"\\\n]|\\.)*\"?|'(?:[^'\\\n]|\\.)*'?))|#[^\n]*",
    re.S,
)
_TRIED = ("{} (a)", "{} (a, b)", "{} (a, b, c)", "{}", "{} ()", "{} (1)", "{} (i)", "{} (i, j)", "{} (array, i, a)")
"""Ways of using a name, of which one at least compiles."""
_KERNEL = """\
@isakit.kernel
def k(out: "f32p", array: "i32p", a: "f32", b: "f32", c: "f32", i: "i32", j: "i32"):
    {}
"""


class PythonNames(BlockNames):
    """The names of a text. A function is a block; one of its names is its own if it is given a value there."""

    WORD = re.compile(r"(?<![\w.])[^\W\d]\w*")

    def __init__(self, text: str) -> None:
        self._by_name: dict[str, dict[int, Definition]] = {}
        super().__init__(text)
        self._comments = [m.span() for m in _COMMENT.finditer(text)]
        self._lines = text.split("\n")
        tree = _tree(text)
        if tree is not None:
            self._body(tree.body, 0)
        self._changes.sort(key=lambda c: c[0])

    def references(self, definition: Definition) -> list[SourceSpan]:
        """Return all places of a name, its definition included, in the order of the text."""
        use = re.compile(rf"(?<![\w.]){re.escape(definition.name)}(?!\w)")
        return [
            self._span(m.start(), len(definition.name))
            for m in use.finditer(self._text)
            if not self._is_comment(m.start()) and self._meaning(m[0], m.start()) == definition
        ]

    def refusal(self, name: str, definition: Definition) -> str:
        """Return why a name cannot be given: Python does not take it, or it means something already."""
        if not name.isidentifier() or keyword.iskeyword(name):
            return f"{name!r} is not a name of Python's"
        taken = any(self._meaning(name, self._offset(p)) for p in self.references(definition))
        return f"`{name}` is already defined" if taken else ""

    def dotted(self, offset: int) -> str:
        """Return the names with points that end at a place: `cuda.threadIdx.x`."""
        m = re.search(r"[^\W\d][\w.]*\Z", self._text[max(0, offset - 80) : offset])
        return m[0] if m is not None else ""

    def known_at(self, line: int, column: int) -> tuple[int, str] | None:
        """Return the column and the name with its module of what kernels know at a place."""
        if not 0 < line <= len(self._lines):
            return None
        for m in re.finditer(r"[^\W\d][\w.]*", self._lines[line - 1]):
            if m.start() <= column <= m.end() and not self._is_comment(self._starts[line - 1] + m.start()):
                name = m[0].removeprefix("isakit.")
                return (m.end() - len(name), name) if name in python_names() else None
        return None

    def _meaning(self, name: str, offset: int) -> Definition | None:
        known = self._by_name.get(name, {})
        return next((known[s] for s in self._outwards(self._scope(offset)) if s in known), None)

    def _body(self, body: list[ast.stmt], scope: int) -> None:
        for node in body:
            for n in _own_nodes(node):
                self._node(n, scope)

    def _node(self, node: ast.AST, scope: int) -> None:
        match node:
            case ast.FunctionDef():
                is_kernel = any("kernel" in (d := ast.unparse(x)) or "jit" in d for x in node.decorator_list)
                at = self._place(node.lineno, node.col_offset)
                name = re.compile(r"def\s+").match(self._text, at)
                self._define(node.name, name.end() if name else at, "kernel" if is_kernel else "function", scope)
                inner = self._block(scope)
                end = self._place(node.end_lineno or node.lineno, node.end_col_offset or 0)
                self._changes += [(at + 4, inner), (end, scope)]
                for a in ast.walk(node.args):
                    if isinstance(a, ast.arg):
                        self._define(a.arg, self._place(a.lineno, a.col_offset), "parameter", inner)
                self._body(node.body, inner)
            case ast.ClassDef():
                at = self._place(node.lineno, node.col_offset)
                name = re.compile(r"class\s+").match(self._text, at)
                self._define(node.name, name.end() if name else at, "type", scope)
            case ast.Name(ctx=ast.Store()):
                self._define(node.id, self._place(node.lineno, node.col_offset), "variable", scope)
            case ast.alias():
                at = self._place(node.lineno, node.col_offset)
                shown = node.asname or node.name.split(".")[0]
                behind = at + len(node.name) if node.asname else at
                found = re.compile(rf"\b{re.escape(shown)}\b").search(self._text, behind)
                self._define(shown, found.start() if found else at, "value", scope)
            case _:
                pass

    def _place(self, line: int, column: int) -> int:
        """Return a place of the syntax tree, which counts bytes."""
        text = self._lines[line - 1]
        characters = column if text.isascii() else len(text.encode()[:column].decode("utf-8", "ignore"))
        return self._starts[line - 1] + characters

    def _define(self, name: str, offset: int, kind: str, scope: int) -> None:
        known = self._by_name.setdefault(name, {})
        if scope not in known:
            known[scope] = d = Definition(name, self._span(offset, len(name)), kind, scope)
            self.definitions.append(d)


def _own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and those in it, but none that are in a function or class of their own."""
    yield node
    if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
        for child in ast.iter_child_nodes(node):
            yield from _own_nodes(child)


def _tree(text: str) -> ast.Module | None:
    """Return the syntax tree of a text without the lines that are no Python; None where there are too many."""
    lines = text.split("\n")
    for _ in range(_LEFT_OUT):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return ast.parse("\n".join(lines))
        except SyntaxError as e:
            k = min(len(lines), max(1, e.lineno or 1)) - 1
            while k and not lines[k].strip():
                k -= 1
            indent = len(lines[k]) - len(lines[k].lstrip())
            if lines[k].strip() == "pass":
                return None
            lines[k] = lines[k][:indent] + "pass"
        except (ValueError, RecursionError, MemoryError):
            return None
    return None


@cache
def python_names() -> dict[str, KnownName]:
    """Return what kernels know, by name with its module."""
    functions = {*FUNCTIONS_OF_THREADS, *KNOWN, *(f"math.{f}" for f in FUNCTIONS | DOUBLE_FUNCTIONS if f[0] != "_")}
    functions |= {f"{name}.{axis}" for name in SPECIAL for axis in "xyz"} | {"min", "max", "abs", "range", "len"}
    types = ("i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f32", "f64")
    return {name: KnownName("function" if name.rpartition(".")[2] not in "xyz" else "variable", (name,))
            for name in sorted(functions)} | {t: KnownName("type", (t,)) for t in types}  # fmt: skip


@cache
def used(name: str) -> KnownName | None:
    """Return how a name that kernels know is used, and the PTX that it becomes; None for another one."""
    from isakit.compile.python import compile_text

    known = python_names().get(name)
    if known is None or known.kind == "type":
        return known
    is_statement = name.endswith(("sync", "syncthreads", "threadfence", "threadfence_block"))
    first = (
        "{} ()"
        if is_statement
        else "{} (array, i, a)"
        if "atomic" in name
        else "{}"
        if known.kind == "variable"
        else "{} (a)"
    )
    for way in (first, *_TRIED):
        use = way.format(name).replace(" (", "(")
        for statement in (f"out[0] = {use}", use):
            text = _KERNEL.format(statement)
            try:
                ptx = compile_text(text, "<kernel>")[0]
            except (CompileError, IsakitError):
                continue
            return KnownName(known.kind, (use,), _instructions(ptx))
    return known


def _instructions(ptx: str) -> str:
    """Return the instructions of a kernel that are neither for its parameters nor for its result."""
    body = ptx[ptx.find("\n{") : ptx.find("\n}")]
    lines = [" ".join(line.split()) for line in body.split("\n")]
    dropped = ("{", ".", "//", "ld.param", "st.global", "cvta", "ret", "$")
    return "\n".join(line for line in lines if line and not line.startswith(dropped))


__all__ = ["PythonNames", "python_names", "used"]
