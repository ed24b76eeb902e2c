"""A Python text that is being written: a change makes only the kernels compiled again that it can matter to.

What is wrong with a kernel follows from its own text and from the constants and functions that it names, and what those
name.
"""

from __future__ import annotations

import ast
import re
import warnings
from itertools import pairwise
from typing import NamedTuple

from isakit.compile.garbage import no_collections
from isakit.compile.python.llvm import ptx_of
from isakit.compile.python.texts import TopStatement, kernel_sources
from isakit.compile.python.translate import NO_FILE, translate
from isakit.compile.python.writer import FunctionSource, source_lines
from isakit.errors import CompileError, Diagnostic, IsakitError

_WORD = re.compile(r"\w+")
_BLOCK = re.compile(
    r"(?m)^(?:(?:@[^\n]*\n(?:[ \t)\]}#\n][^\n]*\n|\n)*)+)?(?!(?:else|elif|except|finally)\b)[^\s#)\]}@]"
)
"""Possible beginnings of statements at the top of a text, with their decorators."""


class _Seen(NamedTuple):
    """Everything that a kernel can see.

    Attributes:
        functions: itself, and then the functions that it calls, by their texts.
        constants: their names and values.
    """

    functions: list[FunctionSource]
    constants: list[tuple[str, str]]

    @property
    def key(self) -> tuple[object, ...]:
        """Texts, names and values that decide what is said of the kernel."""
        return (*(f.text for f in self.functions), *self.constants)


_Told = list[tuple[int, Diagnostic]]
"""Mistakes, each with the index of the function it is in, at lines counted from the first one of that."""


class PythonText:
    """Python kernels, each compiled by itself.

    `earlier` is the text before a change: what is known of its kernels is kept.

    Attributes:
        diagnostics: its mistakes, in the order of its lines.
    """

    @no_collections()
    def __init__(self, text: str, path: str, earlier: PythonText | None = None) -> None:
        self._lines, self._path = source_lines(text), path
        self._blocks: dict[str, list[ast.stmt]] = {}
        self._known: dict[tuple[object, ...], _Told] = {}
        statements = self._statements(earlier._blocks if earlier is not None else {})
        known = earlier._known if earlier is not None else {}
        found: list[Diagnostic] = []
        try:
            for source in kernel_sources(text, path, statements):
                found += self._of_kernel(_seen(source), known)
        except CompileError as e:
            found = list(e.diagnostics)
            self._known = known  # while a line is being written, it is often not Python's
        once = dict.fromkeys(d for d in found if d.path == path)
        self.diagnostics = sorted(once, key=lambda d: (d.line, d.column))

    def _statements(self, known: dict[str, list[ast.stmt]]) -> list[TopStatement] | None:
        """Return the statements of the text, or None if it is not Python's. `known` are those of blocks read before.

        Where a block is Python's by itself, no bracket and no string is open behind it.
        """
        text = "\n".join(self._lines)
        found: list[TopStatement] = []
        starts = [0, *(m.start() for m in _BLOCK.finditer(text) if m.start()), len(text)]
        above = 0
        for start, end in pairwise(starts):
            block = text[start:end]
            if (body := known.get(block)) is None:
                try:
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        body = ast.parse(block, NO_FILE).body
                except (SyntaxError, ValueError, RecursionError, MemoryError):
                    self._blocks = {**known, **self._blocks}
                    return None
            self._blocks[block] = body
            found += (TopStatement(node, above) for node in body)
            above += block.count("\n")
        return found

    def _of_kernel(self, seen: _Seen, known: dict[tuple[object, ...], _Told]) -> list[Diagnostic]:
        """Return what is wrong with a kernel."""
        key = seen.key
        if (told := known.get(key)) is not None:
            self._known[key] = told
            return [d.moved(seen.functions[k].first - 1) for k, d in told]
        found = self._compiled(seen)
        told = [(_place(d, seen.functions), d) for d in found]
        if all(k is not None for k, _ in told):
            self._known[key] = [(k, d.moved(1 - seen.functions[k].first)) for k, d in told if k is not None]
        return found

    def _compiled(self, seen: _Seen) -> list[Diagnostic]:
        """Compile a kernel."""
        from isakit.compile.driver import compile_kernels

        lines = [""] * len(self._lines)
        for f in seen.functions:
            here = slice(f.first - 1, f.first + f.text.count("\n"))
            lines[here] = self._lines[here]
        try:
            _, ir, _ = translate(seen.functions[0])
            return compile_kernels(ptx_of(ir), path=self._path, origin="\n".join(lines)).diagnostics
        except CompileError as e:
            return list(e.diagnostics)
        except IsakitError as e:
            return [Diagnostic(seen.functions[0].first, 1, str(e), path=self._path)]


def _seen(kernel: FunctionSource) -> _Seen:
    """Return what a kernel can see: whatever it does not name makes no difference."""
    functions, constants = [kernel], dict[str, str]()
    names = dict[str, None]()
    for f in functions:  # which grow
        words = _WORD.findall(f.text) if f.text.isascii() else f.names  # a name may be written in several ways
        for word in dict.fromkeys(words):
            value = f.names.get(word)
            if value is None or word in names:
                continue
            names[word] = None
            if isinstance(value, FunctionSource):
                functions.append(value)
            else:
                constants[word] = repr(value)
    return _Seen(functions, list(constants.items()))


def _place(d: Diagnostic, functions: list[FunctionSource]) -> int | None:
    """Return which function a mistake is in; None for a place elsewhere."""
    return next((k for k, f in enumerate(functions) if f.first <= d.line <= f.first + f.text.count("\n")), None)


__all__ = ["PythonText"]
