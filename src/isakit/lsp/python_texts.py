"""A Python text that is being written: a change makes only the kernels compiled again that it can matter to.

What is wrong with a kernel follows from its own text and from the constants and functions that it names, and what those
name.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from isakit.errors import CompileError, Diagnostic, IsakitError
from isakit.lean import cached_property
from isakit.lsp.texts import Completion, Hover, Text

if TYPE_CHECKING:
    from isakit.compile.python.texts import TopStatement
    from isakit.compile.python.writer import FunctionSource
    from isakit.lsp.python_names import PythonNames

_WORD = re.compile(r"\w+")


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


class _Memory:
    """Findings about a document, whose texts they outlive.

    Attributes:
        blocks: statements by their texts.
        kernels: mistakes of kernels by what these can see.
    """

    def __init__(self) -> None:
        self.blocks: dict[str, list[ast.stmt]] = {}
        self.kernels: dict[tuple[object, ...], _Told] = {}


class PythonText(Text):
    """Python kernels, each compiled by itself.

    `earlier` is the text before a change: what is known of its kernels is kept.
    """

    def __init__(self, text: str, path: str, earlier: PythonText | None = None) -> None:
        self._text, self._path = text, path
        self._memory = _Memory() if earlier is None else earlier._memory
        self._latest: PythonNames | None = earlier._latest if earlier is not None else None
        """The names of this text, or of one before it."""

    @cached_property
    def names(self) -> PythonNames:
        """The names in the text."""
        from isakit.lsp.python_names import PythonNames

        self._latest = PythonNames(self._text, self._latest)
        return self._latest

    def prepare(self) -> None:
        """Collect what kernels know without a definition, and compile a small one."""
        from isakit.lsp.python_names import used

        used("math.sin")

    def hover(self, line: int, column: int) -> Hover | None:
        """Return the line that defines a name; of one that kernels know, how it is used and what it becomes."""
        from isakit.lsp.python_names import used

        names = self.names
        if (found := names.at(line, column)) is not None and not (
            names.known_at(line, column) and found[0].kind == "value"
        ):
            d, place = found
            shown = self._text.split("\n")[d.place.line - 1].strip()
            return Hover(f"```python\n{shown}\n```\n{d.kind}, line {d.place.line}", place.column, place.width)
        if (known := names.known_at(line, column)) is None:
            return None
        start, name = known
        use = used(name)
        if use is None:
            return None
        text = f"```python\n{use.spellings[0]}\n```" + (f"\n\n```\n{use.becomes}\n```" if use.becomes else "")
        return Hover(text, start, len(name))

    def completions(self, line: int, column: int) -> list[Completion]:
        """Return what may follow a point, else the names that can be used and those that kernels know."""
        from isakit.lsp.python_names import python_names

        names = self.names
        offset = names.column(line, column)
        if names.is_inside_comment(offset):
            return []
        module, point, _ = names.dotted(offset).rpartition(".")
        known = python_names()
        if point:
            head = module + "."
            after = dict.fromkeys(n[len(head) :].split(".")[0] for n in known if n.startswith(head))
            return [Completion(w, known[head + w].kind if head + w in known else "word") for w in after]
        own = {d.name: Completion(d.name, d.kind, f"{d.kind} in line {d.place.line}") for d in names.visible(line)}
        words = dict.fromkeys(n.split(".")[0] for n in known)
        return [*own.values(), *(Completion(w, known[w].kind if w in known else "word") for w in words if w not in own)]

    def check(self) -> Iterator[list[Diagnostic]]:
        """Compile the kernels of which nothing is known, one in each step."""
        from isakit.compile.python.texts import kernel_sources  # which takes a while the first time

        memory = self._memory
        known, kept = memory.kernels, dict[tuple[object, ...], _Told]()
        try:
            sources = kernel_sources(self._text, self._path, self._statements())
            kernels = [(seen.key, seen) for seen in map(_seen, sources)]
        except CompileError as e:  # while a line is being written, it is often not Python's: what is known stays
            yield self._in_order(list(e.diagnostics))
            return
        found: list[Diagnostic] = []
        new: list[tuple[tuple[object, ...], _Seen]] = []
        for key, seen in kernels:
            if (told := known.get(key)) is None:
                new.append((key, seen))
            else:
                kept[key] = told
                found += [d.moved(seen.functions[k].first - 1) for k, d in told]
        for key, seen in new:
            mistakes = self._compiled(seen)
            found += mistakes
            told = [(_place(d, seen.functions), d) for d in mistakes]
            if all(k is not None for k, _ in told):
                kept[key] = [(k, d.moved(1 - seen.functions[k].first)) for k, d in told if k is not None]
            memory.kernels = {**known, **kept}
            yield self._in_order(found)
        memory.kernels = kept
        yield self._in_order(found)

    def _in_order(self, found: list[Diagnostic]) -> list[Diagnostic]:
        """Return the mistakes in this text, each once."""
        once = dict.fromkeys(d for d in found if d.path == self._path)
        return sorted(once, key=lambda d: (d.line, d.column))

    def _statements(self) -> list[TopStatement] | None:
        """Return the statements of the text, or None if it is not Python's.

        Where a block is Python's by itself, no bracket and no string is open behind it.
        """
        from isakit.compile.python.texts import TopStatement
        from isakit.compile.python.translate import NO_FILE
        from isakit.compile.python.writer import source_lines
        from isakit.lsp.python_names import STATEMENT

        text = "\n".join(source_lines(self._text))
        known, blocks = self._memory.blocks, dict[str, list[ast.stmt]]()
        found: list[TopStatement] = []
        starts = [0, *(m.start() for m in STATEMENT.finditer(text) if m.start()), len(text)]
        above = 0
        for start, end in pairwise(starts):
            block = text[start:end]
            if (body := known.get(block)) is None:
                try:
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        body = ast.parse(block, NO_FILE).body
                except (SyntaxError, ValueError, RecursionError, MemoryError):
                    self._memory.blocks = {**known, **blocks}
                    return None
            blocks[block] = body
            found += (TopStatement(node, above) for node in body)
            above += block.count("\n")
        self._memory.blocks = blocks
        return found

    def _compiled(self, seen: _Seen) -> list[Diagnostic]:
        """Compile a kernel."""
        from isakit.compile.driver import CompileOptions, compile_kernels
        from isakit.compile.python.llvm import ptx_of
        from isakit.compile.python.translate import translate
        from isakit.compile.python.writer import source_lines

        own = source_lines(self._text)
        lines = [""] * len(own)
        for f in seen.functions:
            here = slice(f.first - 1, f.first + f.text.count("\n"))
            lines[here] = own[here]
        try:
            _, ir, _ = translate(seen.functions[0])
            return compile_kernels(ptx_of(ir), CompileOptions(path=self._path, origin="\n".join(lines))).diagnostics
        except CompileError as e:
            return list(e.diagnostics)
        except IsakitError as e:
            return [Diagnostic(seen.functions[0].first, 1, str(e), path=self._path)]


def _seen(kernel: FunctionSource) -> _Seen:
    """Return what a kernel can see: whatever it does not name makes no difference."""
    from isakit.compile.python.writer import FunctionSource

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
