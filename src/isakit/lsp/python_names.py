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
from itertools import accumulate, pairwise
from typing import NamedTuple

from isakit.compile.python.calls import FUNCTIONS_OF_THREADS
from isakit.compile.python.double_library import FUNCTIONS as DOUBLE_FUNCTIONS
from isakit.compile.python.expressions import SPECIAL
from isakit.compile.python.hints import KNOWN
from isakit.compile.python.library import FUNCTIONS
from isakit.errors import CompileError, IsakitError
from isakit.lsp.blocks import BlockNames
from isakit.lsp.texts import Definition, KnownName

STATEMENT = re.compile(
    r"(?m)^(?:(?:@[^\n]*\n(?:[ \t)\]}#\n][^\n]*\n|\n)*)+)?(?!(?:else|elif|except|finally)\b)[^\s#)\]}@]"
)
"""Possible beginnings of statements at the top of a text, with their decorators."""
_LEFT_OUT = 8
"""Most lines that are left out because they are not Python."""
_COMMENT = re.compile(
    r"(?P<open>[A-Za-z]{0,2}(?:\"\"\"(?:[^\\]|\\.)*?(?:\"\"\"|\Z)|'''(?:[^\\]|\\.)*?(?:'''|\Z)"
    r"|\"(?:[^\"\\\n]|\\.)*\"?|'(?:[^'\\\n]|\\.)*'?))|#[^\n]*",
    re.S,
)
_TRIED = ("{} (a)", "{} (a, b)", "{} (a, b, c)", "{}", "{} ()", "{} (1)", "{} (i)", "{} (i, j)", "{} (array, i, a)")
"""Ways of using a name, tried in order until one compiles."""
_KERNEL = """\
@isakit.kernel
def k(out: "f32p", array: "i32p", a: "f32", b: "f32", c: "f32", i: "i32", j: "i32"):
    {}
"""


class _Part(NamedTuple):
    """A statement at the top of a text, or a few: all places are counted from its beginning.

    Attributes:
        defined: names, with their places, kinds and blocks; block 0 is the top of the text.
        changes: places where another block begins, and that block.
        parents: blocks around blocks.
    """

    defined: list[tuple[str, int, str, int]]
    changes: list[tuple[int, int]]
    parents: list[int]


class PythonNames(BlockNames):
    """The names of a text. A function is a block; one of its names is its own if it is given a value there.

    `earlier` are those of the text before a change: statements of the same text are not read again.
    """

    WORD = re.compile(r"(?<![\w.])[^\W\d]\w*")

    def __init__(self, text: str, earlier: PythonNames | None = None) -> None:
        self._by_name: dict[str, dict[int, Definition]] = {}
        super().__init__(text)
        self._comments = [m.span() for m in _COMMENT.finditer(text)]
        self._lines = text.split("\n")
        known = earlier._parts if earlier is not None else dict[str, _Part]()
        self._parts: dict[str, _Part] = {}
        places = [0, *(m.start() for m in STATEMENT.finditer(text) if m.start()), len(text)]
        for start, end in pairwise(places):
            own = text[start:end]
            part = self._parts[own] = known.get(own) or _Reader(own).part
            blocks = [0, *(len(self._parents) + k for k in range(len(part.parents) - 1))]
            self._parents += (blocks[p] for p in part.parents[1:])
            self._changes += ((start + at, blocks[k]) for at, k in part.changes)
            for name, at, kind, k in part.defined:
                self._define(name, start + at, kind, blocks[k])

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
        """Return the column and the name, with its module, of a name that kernels know; None where none is."""
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

    def _define(self, name: str, offset: int, kind: str, scope: int) -> None:
        known = self._by_name.setdefault(name, {})
        if scope not in known:
            known[scope] = d = Definition(name, self._span(offset, len(name)), kind, scope)
            self.definitions.append(d)


class _Reader:
    """Reads a statement and the statements nested in it."""

    def __init__(self, text: str) -> None:
        self._text, self._lines = text, text.split("\n")
        self._starts = list(accumulate((len(line) + 1 for line in self._lines), initial=0))
        self.part = _Part([], [], [0])
        self._known: set[tuple[str, int]] = set()
        if (tree := _tree(text)) is not None:
            self._body(tree.body, 0)
        self.part.changes.sort(key=lambda c: c[0])

    def _body(self, body: list[ast.stmt], scope: int) -> None:
        for node in body:
            for n in _own_nodes(node):
                self._node(n, scope)

    def _node(self, node: ast.AST, scope: int) -> None:
        match node:
            case ast.FunctionDef():
                is_kernel = any("kernel" in (d := ast.unparse(x)) or "jit" in d for x in node.decorator_list)
                at = self._place(node.lineno, node.col_offset)
                self._named(node.name, at, "kernel" if is_kernel else "function", scope)
                inner = len(self.part.parents)
                self.part.parents.append(scope)
                end = self._place(node.end_lineno or node.lineno, node.end_col_offset or 0)
                self.part.changes.extend([(at + 4, inner), (end, scope)])
                for a in ast.walk(node.args):
                    if isinstance(a, ast.arg):
                        self._named(a.arg, self._place(a.lineno, a.col_offset), "parameter", inner)
                self._body(node.body, inner)
            case ast.ClassDef():
                self._named(node.name, self._place(node.lineno, node.col_offset), "type", scope)
            case ast.Name(ctx=ast.Store()):
                self._named(node.id, self._place(node.lineno, node.col_offset), "variable", scope)
            case ast.alias():
                at = self._place(node.lineno, node.col_offset)
                behind = at + len(node.name) if node.asname else at
                self._named(node.asname or node.name.split(".")[0], behind, "value", scope)
            case _:
                pass

    def _named(self, name: str, at: int, kind: str, scope: int) -> None:
        """Define a name at its first occurrence from offset `at` on, unless its block has it."""
        if (name, scope) in self._known:
            return
        self._known.add((name, scope))
        found = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)").search(self._text, at)
        self.part.defined.append((name, found.start() if found else at, kind, scope))

    def _place(self, line: int, column: int) -> int:
        """Return the offset of a place of the syntax tree, which counts columns in bytes, in characters."""
        text = self._lines[line - 1]
        characters = column if text.isascii() else len(text.encode()[:column].decode("utf-8", "ignore"))
        return self._starts[line - 1] + characters


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
    """Return the names that kernels know without a definition, by name with its module."""
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
