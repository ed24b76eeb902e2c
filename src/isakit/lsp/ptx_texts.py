"""A PTX text that is being written: a change makes only the kernels compiled again that it can matter to.

What is wrong with a kernel follows from its own text and from the text outside of kernels, functions included. Where
more could matter, as for calls through pointers, the text is compiled as a whole.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from isakit.errors import CompileError, Diagnostic, IsakitError

_GAP = r"(?:\s|//[^\n]*|/\*.*?\*/)"
_NAME = r"[%$_A-Za-z][\w$]*(?:(?:\.|::)[\w$]+)*"
_PLACES = re.compile(
    rf"//[^\n]*|/\*.*?\*/|\"[^\"\n]*\"|(?P<mark>[{{}};])"
    rf"|(?<![\w$.:])(?:\.(?:visible|weak|extern|common){_GAP}+)*\.(?P<kind>entry|func)(?![\w$])"
    rf"(?:{_GAP}*(?:\([^()]*\){_GAP}*)?(?P<name>{_NAME}))?",
    re.S,
)
_CALL = re.compile(rf"(?<![\w$.:%])call(?:\.\w+)*\s+(?:\([^()]*\)\s*,\s*)?({_NAME})")
_ANY_CALL = re.compile(r"(?<![\w$.:%])call(?![\w$:])")
_OWN_MEMORY = re.compile(r"(?<![\w$:])\.(?:const|global|tex|section)(?![\w$])")
"""Directives that make something within a kernel matter outside."""


class _Kernel(NamedTuple):
    """A kernel with lines of its own: `start` and `end` are offsets of the first line and behind the last character."""

    name: str
    start: int
    end: int


class _Parts(NamedTuple):
    """Parts of a text: kernels that nothing else in it has to do with, and the names of functions without a body."""

    kernels: list[_Kernel]
    declared: set[str]


class PtxText:
    """PTX. `earlier` is the text before a change: what is known of its kernels is kept.

    Attributes:
        diagnostics: its mistakes, in the order of its lines.
    """

    def __init__(self, text: str, path: str, earlier: PtxText | None = None) -> None:
        self._text, self._path = text, path
        self._outside = "" if earlier is None else earlier._outside
        self._known: dict[str, list[Diagnostic]] = {} if earlier is None else earlier._known
        parts = _parts(text)
        found = self._whole() if parts is None else self._by_kernel(*parts)
        self.diagnostics = sorted((d for d in found if d.path == path), key=lambda d: (d.line, d.column))

    def _whole(self) -> list[Diagnostic]:
        """Compile everything."""
        from isakit.compile.driver import compile_kernels

        try:
            return compile_kernels(self._text, path=self._path).diagnostics
        except CompileError as e:
            return list(e.diagnostics)
        except IsakitError as e:
            return [Diagnostic(1, 1, str(e), path=self._path)]

    def _by_kernel(self, kernels: list[_Kernel], declared: set[str]) -> list[Diagnostic]:
        """Compile the kernels of which nothing is known, in a text without the others.

        What is known is forgotten only for a text in which the kernels can be compiled: a line that is being written
        outside of them is soon gone.
        """
        from isakit.compile.driver import compile_kernels

        text = self._text
        ends = [0, *(k.end for k in kernels)]
        starts = [*(k.start for k in kernels), len(text)]
        outside = "\n\0\n".join(text[a:b] for a, b in zip(ends, starts, strict=True))
        outside = "\n".join(line for line in outside.split("\n") if line.strip())
        known = self._known if self._outside == outside else {}
        kept: dict[str, list[Diagnostic]] = {}
        shortened, found, new = [text[: starts[0]]], list[Diagnostic](), dict[str, tuple[int, _Kernel]]()
        line, last = 1, 0
        for k, following in zip(kernels, starts[1:], strict=True):
            line += text.count("\n", last, k.start)
            last = k.start
            own = text[k.start : k.end]
            if (told := known.get(own)) is None:
                new[k.name] = line, k
                shortened.append(own)
            else:
                kept[own] = told
                found += [d.moved(line - 1) for d in told]
                shortened.append("\n" * own.count("\n"))
            shortened.append(text[k.end : following])
        try:
            compiled = compile_kernels("".join(shortened), path=self._path)
        except IsakitError:  # it is wrong outside of kernels, which is all that is said then
            return self._whole()
        if declared & compiled.failures.keys():  # reading goes on behind the next body, whosever that is
            return self._whole()
        found += compiled.diagnostics
        for name, (line, k) in new.items():
            own, told = text[k.start : k.end], compiled.failures.get(name, [])
            if all(line <= d.line <= line + own.count("\n") for d in told):
                kept[own] = [d.moved(1 - line) for d in told]
        self._outside, self._known = outside, kept
        return found


def _parts(text: str) -> _Parts | None:
    """Return the parts of a text; None where they cannot be told apart."""
    kernels: list[_Kernel] = []
    kinds: dict[str, str] = {}
    declared = {"?"}  # which is what the compiler calls one whose name it has not come to
    depth, begun = 0, None
    for m in _PLACES.finditer(text):
        if m["mark"] == "{":
            depth += 1
        elif m["mark"] == "}":
            if not depth and begun is not None:
                return None
            depth = max(0, depth - 1)
            if not depth and begun is not None:
                kernels += _with_own_lines(text, begun["name"], begun.start(), m.end())
                begun = None
        elif m["mark"] and not depth and begun is not None:
            declared.add(begun["name"])
            begun = None
        elif m["kind"] and not depth:
            if begun is not None or m["name"] is None or m["name"] in kinds:
                return None
            kinds[m["name"]] = m["kind"]
            begun = m
    if begun is not None:
        if not depth:
            return None
        kernels += _with_own_lines(text, begun["name"], begun.start(), len(text))
    kernels = [k for k in kernels if kinds[k.name] == "entry"]
    if _OWN_MEMORY.search("\n".join(_body(text, k) for k in kernels)):
        return None
    called = _CALL.findall(text)
    if len(called) != len(_ANY_CALL.findall(text)):
        return None
    functions = {n for n, kind in kinds.items() if kind == "func"}
    unknown = set(called) - functions
    return None if unknown and (functions or unknown & kinds.keys()) else _Parts(kernels, declared)


def _with_own_lines(text: str, name: str, start: int, end: int) -> list[_Kernel]:
    """Return a kernel with all of its first line, unless something else stands in its first line or its last."""
    first, last = text.rfind("\n", 0, start) + 1, text.find("\n", end)
    if text[first:start].strip() or text[end : len(text) if last < 0 else last].strip():
        return []
    return [_Kernel(name, first, end)]


def _body(text: str, k: _Kernel) -> str:
    return text[text.find("{", k.start, k.end) : k.end]


__all__ = ["PtxText"]
