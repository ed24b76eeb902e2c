"""Syntax of a PTX text as plain data; positions are offsets, for which `PtxSource` finds line and column."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from isakit.compile.placed_error import PlacedError
from isakit.errors import Diagnostic

SIZES = {"pred": 0, "b8": 1, "u8": 1, "s8": 1, "b16": 2, "u16": 2, "s16": 2, "f16": 2, "b32": 4, "u32": 4, "s32": 4,
         "f32": 4, "b64": 8, "u64": 8, "s64": 8, "f64": 8, "texref": 4, "samplerref": 4, "surfref": 4,
         "f16x2": 4, "b128": 16}  # fmt: skip
"""Fundamental types: bytes."""


_LOC = re.compile(r"^[ \t]*\.loc[ \t]+(\d+)[ \t]+(\d+)[ \t]+(\d+)", re.M)
_DECLARED = re.compile(r"[ \t]*(?:\.\w+ )*\.(?:const|shared|global) [^;={]*?([A-Za-z_$][\w$]*)(?:\[\d*\])?(?: *=.*)?;")
_INLINED = re.compile(r"@\[ ([^\n:\[]+):(\d+):(\d+)")
_FILE = re.compile(r'^[ \t]*\.file[ \t]+(\d+)[ \t]+"([^"\n]*)"', re.M)


def source_name(symbol: str) -> str:
    """Return the name that a symbol has in C++ source, without types; the symbol itself if it cannot be demangled."""
    if symbol.startswith("_ZZ"):  # within a function, whose symbol goes first; a number may follow
        m = re.search(r"E(?:NKUlv)?(\d+)([A-Za-z_]\w*?)(?:_\d+_?)?$", symbol)
        return m[2][: int(m[1][:4])] if m is not None else symbol
    m = re.match(r"_Z(?:N[KV]*)?L?(?=\d)", symbol)
    at, parts = m.end() if m is not None else 0, list[str]()
    while at and (m := re.compile(r"L?(\d{1,4})").match(symbol, at)) is not None:
        at = m.end() + int(m[1])
        parts.append(symbol[m.end() : at])
        if not symbol.startswith("_ZN"):
            break
    return "::".join(parts) or symbol


def kernels_called(name: str, kernels: Sequence[str]) -> list[str]:
    """Return the kernels that a name means: the symbol itself, else all with this name in the source."""
    return [name] if name in kernels else [k for k in kernels if source_name(k) == name]


def _base(path: str) -> str:
    return path.replace("\\", "/").rpartition("/")[2]


class PtxSource:
    """A text and positions in it.

    `origin` is the text in the file `path` that a compiler made the PTX from: messages then refer to its lines, as far
    as `.loc` gives them.
    """

    def __init__(self, text: str, path: str, origin: str | None = None) -> None:
        self.text, self.path, self.origin = text, path, origin
        self._starts = [0]
        at = text.find("\n")
        while at >= 0:
            self._starts.append(at + 1)
            at = text.find("\n", at + 1)

    def line(self, pos: int) -> int:
        """Return the line of an offset, counted from 1."""
        return bisect_right(self._starts, pos)

    def start(self, line: int) -> int:
        """Return the offset of the first non-blank character of a line."""
        at = self._starts[max(0, min(line, len(self._starts)) - 1)]
        while at < len(self.text) and self.text[at] in " \t":
            at += 1
        return at

    def diagnostic(self, pos: int, message: str, width: int = 1, notes: tuple[str, ...] = ()) -> Diagnostic:
        """Return a diagnostic at an offset."""
        found = self._in_origin(pos)
        if found is not None:
            line, column, source = found
            width = 1
        else:
            line = self.line(pos)
            start = self._starts[line - 1]
            end = self.text.find("\n", start)
            source = self.text[start : end if end >= 0 else len(self.text)].rstrip("\r")
            column = pos - start
        if len(source) > 160:  # a line of a hostile file may be the whole file
            cut = max(0, column - 60)
            source, column = source[cut : cut + 160], column - cut
        printable = "".join(c if c.isprintable() or c == "\t" else "?" for c in source)
        return Diagnostic(line, column + 1, message, printable, max(1, min(width, 40)), notes, self.path)

    def _in_origin(self, pos: int) -> tuple[int, int, str] | None:
        """Return (line, column from 0, text of the line) in `origin` of the source of an offset, None if unknown."""
        if self.origin is None:
            return None
        if (declared := self._declared_in_origin(pos)) is not None:
            return declared
        name = _base(self.path)
        files = {m[1] for m in _FILE.finditer(self.text) if _base(m[2]) == name}
        lines = self.origin.splitlines()
        best: tuple[int, int, str] | None = None
        for m in _LOC.finditer(self.text):
            if best is not None and m.start() > pos:
                break
            place = (m[2], m[3])
            if m[1] not in files:  # of a header: clang's remark says which line of which file it stands for
                rest = self.text[m.end() : self.text.find("\n", m.end())]
                place = next((n.groups()[1:] for n in _INLINED.finditer(rest) if _base(n[1]) == name), ("", ""))
            if 0 < len(place[0]) < 8 and 0 < (line := int(place[0])) <= len(lines):
                text = lines[line - 1]
                best = line, min(max(0, int(place[1][:8]) - 1), len(text)), text
        return best

    def _declared_in_origin(self, pos: int) -> tuple[int, int, str] | None:
        """Return the place in `origin` of the variable whose line of PTX an offset is in: variables have no `.loc`."""
        assert self.origin is not None
        end = self.text.find("\n", pos)
        names = _DECLARED.match(self.text[self._starts[self.line(pos) - 1] : end if end >= 0 else len(self.text)])
        if names is None:
            return None
        found = re.search(rf"\b{source_name(names[1]).rpartition('::')[2]}\b(?=\s*[\[;={{])", self.origin)
        if found is None:
            return None
        line = self.origin.count("\n", 0, found.start())
        start = self.origin.rfind("\n", 0, found.start()) + 1
        return line + 1, found.start() - start, self.origin.splitlines()[line]


class PtxSyntaxError(PlacedError):
    """A mistake at which reading stops; caught by the parser and the compiler, which report it."""


@dataclass(frozen=True, slots=True)
class PtxRegister:
    """A declared register. `index` distinguishes registers of the same name in different scopes."""

    name: str
    type: str
    index: int


@dataclass(slots=True)
class Initial:
    """One element of an initialiser: a number, or the address of a variable plus an offset."""

    value: int = 0
    symbol: str = ""
    real: bool = False


@dataclass(slots=True)
class PtxVariable:
    """A variable of a state space, a kernel parameter, or a texture reference.

    `count` elements of `type`; `open`: an array whose size the launch decides (`.extern .shared x[]`); `pointer`: a
    parameter declared as an address; `pointee`: its space, if declared.
    """

    space: str
    name: str
    type: str
    count: int = 1
    align: int = 1
    initial: list[Initial] = field(default_factory=list[Initial])
    open: bool = False
    pos: int = 0
    pointer: bool = False
    pointee: str = ""
    unique: str = ""
    register: PtxRegister | None = None

    @property
    def size(self) -> int:
        """Size of the type in bytes."""
        return SIZES[self.type] * self.count


@dataclass(frozen=True, slots=True)
class Name:
    """A name in an operand: `what` is its declaration; labels, functions and %tid.x have only their text."""

    text: str
    pos: int
    what: PtxRegister | PtxVariable | None = None


@dataclass(frozen=True, slots=True)
class Number:
    """A literal. `real`: 32 or 64 for the bits of a float written exactly, 0 for an integer, -1 for a decimal float."""

    value: int | float
    pos: int
    real: int = 0


@dataclass(frozen=True, slots=True)
class Vector:
    """`{a, b, ...}`."""

    items: tuple[Operand, ...]
    pos: int


@dataclass(frozen=True, slots=True)
class Address:
    """`[base + offset]`, or `[texture, coordinates]`."""

    base: Name | Number
    offset: int
    pos: int
    coordinates: Operand | None = None


@dataclass(frozen=True, slots=True)
class Inverted:
    """`!p`."""

    name: Name
    pos: int


@dataclass(frozen=True, slots=True)
class Both:
    """`p|q`: two destinations."""

    first: Name
    second: Name
    pos: int


@dataclass(frozen=True, slots=True)
class Group:
    """`(a, b)` in a call."""

    items: tuple[Operand, ...]
    pos: int


Operand = Name | Number | Vector | Address | Inverted | Both | Group


def names_in(operand: Operand) -> Iterator[Name]:
    """Yield the names in an operand; of an address its base alone."""
    match operand:
        case Name():
            yield operand
        case Address(base=Name() as name) | Inverted(name=name):
            yield name
        case Both(first=first, second=second):
            yield first
            yield second
        case Vector(items=items) | Group(items=items):
            for item in items:
                yield from names_in(item)
        case _:
            pass


@dataclass(slots=True)
class PtxStatement:
    """An instruction. `loc` is the operand of the last `.loc`: (file number, line)."""

    opcode: str
    operands: tuple[Operand, ...]
    pos: int
    guard: Name | None = None
    inverted: bool = False
    loc: tuple[int, int] | None = None


@dataclass(slots=True)
class Label:
    """A label. `name` is unique in its function."""

    name: str
    pos: int


@dataclass(slots=True)
class PtxMark:
    """A pragma of ours: a variable of the source has the value of an operand from here on, an unknown one without.

    Of an array, and of a variable of a type `shared:TYPE`, the operand is its address in shared memory.
    """

    name: str
    type: str
    operand: Operand | None
    pos: int


@dataclass(slots=True)
class PtxFunction:
    """A kernel or a device function."""

    name: str
    pos: int
    kernel: bool = True
    params: list[PtxVariable] = field(default_factory=list[PtxVariable])
    results: list[PtxVariable] = field(default_factory=list[PtxVariable])
    body: list[PtxStatement | Label | PtxMark] = field(default_factory=list[PtxStatement | Label | PtxMark])
    variables: list[PtxVariable] = field(default_factory=list[PtxVariable])
    limits: dict[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])
    defined: bool = True
    branch_targets: dict[str, list[str]] = field(default_factory=dict[str, list[str]])


@dataclass(slots=True)
class PtxModule:
    """A PTX text: `errors` holds the errors outside of functions, `failures` those inside of each."""

    source: PtxSource
    version: tuple[int, int] = (1, 0)
    target: str = ""
    options: tuple[str, ...] = ()
    variables: dict[str, PtxVariable] = field(default_factory=dict[str, PtxVariable])
    entries: dict[str, PtxFunction] = field(default_factory=dict[str, PtxFunction])
    functions: dict[str, PtxFunction] = field(default_factory=dict[str, PtxFunction])
    files: dict[int, str] = field(default_factory=dict[int, str])
    errors: list[Diagnostic] = field(default_factory=list[Diagnostic])
    failures: dict[str, list[Diagnostic]] = field(default_factory=dict[str, list[Diagnostic]])
    numbers: dict[str, int] = field(default_factory=dict[str, int])

    def number_of(self, function: str) -> int:
        """Return the number, from 1 on, that is the address of a function in all kernels of the text."""
        if not self.numbers:
            self.numbers.update((name, k) for k, name in enumerate(self.functions, 1))
        return self.numbers[function]
