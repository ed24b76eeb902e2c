"""A PTX text that is being written: a change makes only the kernels compiled again that it can matter to.

What is wrong with a kernel follows from its own text and from the text outside of kernels, functions included. Where
more could matter, as for calls through pointers, the text is compiled as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Set
from typing import NamedTuple

from isakit.compile.ptx.grammar import REFUSED, rows
from isakit.errors import CompileError, Diagnostic, IsakitError
from isakit.lean import cached_property
from isakit.lsp.ptx_names import PtxNames
from isakit.lsp.texts import LARGEST, Completion, Hover, Text

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

SPECIAL = (
    *(f"%{name}.{axis}" for name in ("tid", "ntid", "ctaid", "nctaid") for axis in "xyz"),
    *("%laneid", "%warpid", "%smid", "%clock", "%gridid", "WARP_SZ"),
    *(f"%lanemask_{which}" for which in ("eq", "lt", "le", "gt", "ge")),
)
"""Special registers that the compiler knows."""
_DIRECTIVES = (
    *(".reg", ".param", ".shared", ".global", ".const", ".local", ".entry", ".func", ".visible", ".version"),
    *(".target", ".address_size", ".align", ".loc", ".file", ".pragma", ".maxntid", ".callprototype"),
)
_OPCODE = re.compile(r"(?<![\w$.%])[a-z]\w*(?:\.[\w:]+)*")
_SEPARATOR = re.compile(r"[;{}]|:(?!:)")
_GUARD = re.compile(r"@!?\s*[%\w$]+\s+")
_FIRST = re.compile(r"[.\w:]+")


class _Kernel(NamedTuple):
    """A kernel with lines of its own: `start` and `end` are its offsets in the text."""

    name: str
    start: int
    end: int


class _Parts(NamedTuple):
    """Parts of a text: kernels that nothing else in it has to do with, and the names of functions without a body."""

    kernels: list[_Kernel]
    declared: set[str]


class _Memory:
    """Findings about the kernels of a document, whose texts they outlive: mistakes by the texts of kernels.

    Attributes:
        outside: the text outside of kernels that the mistakes hold for.
        kernels: mistakes of kernels, at lines counted from the first one of that.
    """

    def __init__(self) -> None:
        self.outside = ""
        self.kernels: dict[str, list[Diagnostic]] = {}


class PtxText(Text):
    """PTX. `earlier` is the text before a change: results for its unchanged kernels are reused."""

    def __init__(self, text: str, path: str, earlier: PtxText | None = None) -> None:
        self._text, self._path = text[:LARGEST], path
        self._memory = _Memory() if earlier is None else earlier._memory
        self._lines = self._text.split("\n")

    @cached_property
    def names(self) -> PtxNames:
        """The names in the text."""
        return PtxNames(self._text)

    def prepare(self) -> None:
        """Read the grammar."""
        rows()

    def hover(self, line: int, column: int) -> Hover | None:
        """Return the spellings of an instruction, or the line in which a name is declared."""
        if (found := self.names.at(line, column)) is not None:
            d, place = found
            declared = self._lines[d.place.line - 1].strip()
            return Hover(f"```\n{declared}\n```\n{d.kind}, line {d.place.line}", place.column, place.width)
        for m in _OPCODE.finditer(self._lines[line - 1] if 0 < line <= len(self._lines) else ""):
            if m.start() <= column <= m.end() and (shown := _instruction(m[0])):
                return None if self.names.is_comment(line, m.start()) else Hover(shown, m.start(), len(m[0]))
        return None

    def completions(self, line: int, column: int) -> list[Completion]:
        """Return the words that may begin a statement, the rest of an opcode, or names."""
        before = self._lines[line - 1][:column] if 0 < line <= len(self._lines) else ""
        statement = _GUARD.sub("", _SEPARATOR.split(before)[-1].lstrip())
        if not statement or _FIRST.fullmatch(statement):
            opcode, point, _ = statement.rpartition(".")
            if point and opcode:
                known = rows().get(opcode.split(".")[0], ())
                words = dict.fromkeys(w for row in known for _, some, _ in row.slots for w in sorted(some))
                return [Completion(w, "word") for w in words if w not in opcode.split(".")]
            opcodes = [Completion(base, "instruction", found[0].text) for base, found in rows().items()]
            return opcodes + [Completion(d, "directive") for d in _DIRECTIVES]
        found: list[Completion] = []
        for d in self.names.visible(line):
            count = self.names.count(d)
            detail = f"{d.kind} in line {d.place.line}" if count is None else f"{d.name}0 .. {d.name}{count - 1}"
            found.append(Completion(d.name, d.kind, detail))
        return found + [Completion(r, "register") for r in SPECIAL]

    def check(self) -> Iterator[list[Diagnostic]]:
        """Compile the kernels not compiled yet, one in each step of the iterator, and yield their diagnostics."""
        if len(self._text) == LARGEST:
            return
        parts = _parts(self._text)
        for found in self._whole() if parts is None else self._by_kernel(*parts):
            yield sorted((d for d in found if d.path == self._path), key=lambda d: (d.line, d.column))

    def _whole(self) -> Iterator[list[Diagnostic]]:
        """Compile everything in one step."""
        from isakit.compile.driver import CompileOptions, compile_kernels

        try:
            yield compile_kernels(self._text, CompileOptions(path=self._path)).diagnostics
        except CompileError as e:
            yield list(e.diagnostics)
        except IsakitError as e:
            yield [Diagnostic(1, 1, str(e), path=self._path)]

    def _by_kernel(self, kernels: list[_Kernel], declared: set[str]) -> Iterator[list[Diagnostic]]:
        """Compile the kernels of which nothing is known, in a text without the others.

        What is known is forgotten only for a text in which the kernels can be compiled: a line that is being written
        outside of them is soon gone.
        """
        from isakit.compile.driver import CompileOptions, compile_in_steps

        text, memory = self._text, self._memory
        between = _between(text, kernels)
        outside = "\n".join(line for line in "\n\0\n".join(between).split("\n") if line.strip())
        known = memory.kernels if memory.outside == outside else {}
        found, new = list[Diagnostic](), list[tuple[int, int]]()
        line, last = 1, 0
        for n, k in enumerate(kernels):
            line += text.count("\n", last, k.start)
            last = k.start
            if (told := known.get(text[k.start : k.end])) is None:
                new.append((n, line))
            else:
                found += [d.moved(line - 1) for d in told]
        own = [text[k.start : k.end] for k in kernels]
        blank = ["\n" * k.count("\n") for k in own]
        kept = {k: told for k in own if (told := known.get(k)) is not None}
        shown = blank.copy()
        for n, _ in new:
            shown[n] = own[n]
        shortened = "".join(x for pair in zip(between, [*shown, ""], strict=True) for x in pair)
        lines = {kernels[n].name: (n, line) for n, line in new}
        try:
            for compiled in compile_in_steps(shortened, CompileOptions(path=self._path)):
                if declared & compiled.failures.keys():  # reading goes on behind the next body, whosever that is
                    yield from self._whole()
                    return
                for name in [name for name in lines if name in compiled.failures or name in compiled.module.kernels]:
                    n, line = lines.pop(name)
                    told = compiled.failures.get(name, [])
                    if all(line <= d.line <= line + blank[n].count("\n") for d in told):
                        kept[own[n]] = [d.moved(1 - line) for d in told]
                memory.outside, memory.kernels = outside, {**known, **kept}
                yield found + compiled.diagnostics
        except IsakitError:  # it is wrong outside of kernels, which is all that is said then
            yield from self._whole()
            return
        memory.outside, memory.kernels = outside, kept


class Apart(NamedTuple):
    """A PTX text as kernels by name, each with lines of its own, and the texts between them."""

    kernels: dict[str, str]
    between: list[str]

    @property
    def outside(self) -> str:
        """Return the text outside of kernels."""
        return "\n".join(self.between)

    def without(self, names: Set[str]) -> str:
        """Return the text with blank lines in place of some kernels."""
        shown = ["\n" * text.count("\n") if name in names else text for name, text in self.kernels.items()]
        return "".join(x for pair in zip(self.between, [*shown, ""], strict=True) for x in pair)


def kernels_apart(text: str) -> Apart | None:
    """Split a text at its kernels, to which nothing else in it may refer; None if that is not possible."""
    parts = _parts(text)
    if parts is None:
        return None
    return Apart({k.name: text[k.start : k.end] for k in parts.kernels}, _between(text, parts.kernels))


def _between(text: str, kernels: list[_Kernel]) -> list[str]:
    ends = [0, *(k.end for k in kernels)]
    starts = [*(k.start for k in kernels), len(text)]
    return [text[a:b] for a, b in zip(ends, starts, strict=True)]


def _instruction(opcode: str) -> str:
    """Return the spelling of an instruction, or the reason why there is none; empty for other names."""
    base = opcode.split(".")[0]
    if base in REFUSED:
        return f"`{base}` is not supported: {REFUSED[base]}"
    lines, shown = list[str](), dict[str, frozenset[str]]()
    for row in rows().get(base, ()):
        new = {name: some for name, some in row.words.items() if shown.get(name) != some}
        lines += [row.text, *(f"    .{name}: {' '.join(f'.{w}' for w in sorted(some))}" for name, some in new.items())]
        shown |= new
    return "\n".join(["```", *lines, "```"]) if lines else ""


def _parts(text: str) -> _Parts | None:
    """Return the parts of a text; None if they cannot be separated."""
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
