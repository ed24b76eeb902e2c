"""Annotations: what a reader has found out about a file and written down, and the project file that keeps it.

Listings, expressions, GLSL, the assembler and the debugger read them. A project file is JSON; it belongs to one file of
programs, which it names by its content.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import field
from pathlib import Path
from typing import cast

from isakit.errors import FormatError, NoSuchFile
from isakit.json_text import parse_json
from isakit.results import plain, read, record

VERSION = 1
LARGEST = 16 << 20
"""Bytes of the largest project file that is read."""
_LONGEST = 4000
"""Characters of the longest text."""
_MOST_BREAKPOINTS = 256
"""Breakpoints of a program: each is a request to the debugger when a launch begins."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,199}")
_TYPE = re.compile(r"(?:[usf](?:8|16|32|64)|b(?:8|16|32|64)|ptr)(?:\[\d{1,6}\])?\*?|")
_SCALAR = re.compile(r"[usfb](\d+)(?:\[(\d+)\])?")
_ADDRESSES = 1 << 32
_PLACED = ("labels", "comments", "bookmarks")
"""Fields whose keys are addresses."""


@record
class ParamAnnotation:
    """A parameter of a kernel: its name, and its type such as `u32`, `f32*`; "" where it is not known."""

    name: str = ""
    type: str = ""

    @property
    def is_pointer(self) -> bool:
        """True if the type is an address."""
        return self.type == "ptr" or self.type.endswith("*")

    @property
    def size(self) -> int:
        """Bytes of the type, 0 where it is not known; an address has 4."""
        m = _SCALAR.fullmatch(self.type)
        return 4 if self.is_pointer else 0 if m is None else int(m[1]) // 8 * int(m[2] or 1)


@record
class BreakpointAnnotation:
    """A breakpoint: a place as `break` of the debugger takes it, and a condition, "" for none."""

    where: str
    condition: str = ""


@record
class Annotations:
    """The annotations of one program.

    Attributes:
        labels: names of code, by byte address.
        comments: texts in front of instructions, by byte address; they may have several lines.
        bookmarks: titles of places, by byte address.
        params: parameters by their number.
        breakpoints: for the debugger.
    """

    labels: dict[int, str] = field(default_factory=dict[int, str])
    comments: dict[int, str] = field(default_factory=dict[int, str])
    bookmarks: dict[int, str] = field(default_factory=dict[int, str])
    params: dict[int, ParamAnnotation] = field(default_factory=dict[int, ParamAnnotation])
    breakpoints: list[BreakpointAnnotation] = field(default_factory=list[BreakpointAnnotation])

    @property
    def symbols(self) -> dict[str, int]:
        """Byte addresses of code by name."""
        return {name: a for a, name in self.labels.items()}

    def places(self) -> set[int]:
        """Return the addresses of which something is said."""
        return {*self.labels, *self.comments, *self.bookmarks}

    def lines(self, address: int) -> list[str]:
        """Return the notes in front of the instruction at an address, as lines of comment without their `//`."""
        title, text = self.bookmarks.get(address), self.comments.get(address)
        return ([] if title is None else [f"* {title}".rstrip()]) + ([] if text is None else text.split("\n"))


@record
class Project:
    """The annotations of one file.

    Attributes:
        isakit_project: version of the format.
        file: name of the file, without a folder.
        sha256: of its content, "" where the project belongs to no certain content.
        isa, variant: of its code, "" where the file says it.
        notes: a text about the whole.
        names: of inputs, uniforms and samplers of shaders, by the names that the file has for them.
        programs: by the name of the kernel, or the program of a shader.
    """

    isakit_project: int = VERSION
    file: str = ""
    sha256: str = ""
    isa: str = ""
    variant: str = ""
    notes: str = ""
    names: dict[str, str] = field(default_factory=dict[str, str])
    programs: dict[str, Annotations] = field(default_factory=dict[str, Annotations])

    def fits(self, data: bytes) -> bool:
        """Return whether the project belongs to a file of this content."""
        return self.sha256 in ("", hashlib.sha256(data).hexdigest())

    def names_of_code(self) -> dict[str, dict[str, int]]:
        """Return the byte address of each name, by program."""
        return {key: p.symbols for key, p in self.programs.items()}

    def to_json(self) -> str:
        """Return the text of the project file."""
        whole = plain(self)
        for program in whole["programs"].values():
            for kind in _PLACED:
                program[kind] = {f"{int(a):#x}": text for a, text in program[kind].items()}
        return json.dumps(_filled(whole), indent=1, ensure_ascii=False) + "\n"


def project_of(data: bytes, name: str = "") -> Project:
    """Return an empty project for a file with this content."""
    return Project(file=name, sha256=hashlib.sha256(data).hexdigest())


def read_project(source: str | Path | bytes, path: str = "<data>") -> Project:
    """Read a project file, by its path or its content. Raises FormatError, which names the place in the file."""
    if not isinstance(source, bytes):
        path = str(source)
        try:
            with open(source, "rb") as f:
                source = f.read(LARGEST + 1)
        except FileNotFoundError:
            raise NoSuchFile(path) from None
        except OSError as e:
            raise FormatError(path, 0, f"cannot be read: {e.strerror}") from None
    try:
        if len(source) > LARGEST:
            raise ValueError(f"a project file has at most {LARGEST >> 20} MB")
        project = read(Project, parse_json(source))
        _check(project)
    except ValueError as e:
        raise FormatError(path, 0, f"not a project file: {e}") from None
    return project


def _check(project: Project) -> None:
    """Raise ValueError for data that a project cannot hold."""
    if project.isakit_project != VERSION:
        raise ValueError(f"isakit_project: version {project.isakit_project}; this isakit reads {VERSION}")
    _texts("notes", [project.notes], LARGEST)
    _names("names", project.names)
    for name, program in project.programs.items():
        at = f"programs.{name}"
        for kind in _PLACED:
            placed: dict[int, str] = getattr(program, kind)
            if not all(0 <= a < _ADDRESSES for a in placed):
                raise ValueError(f"{at}.{kind}: an address has 32 bits")
        _texts(f"{at}.comments", program.comments.values())
        _texts(f"{at}.bookmarks", program.bookmarks.values())
        params = {f"params.{k}": p.name for k, p in program.params.items() if p.name}
        _names(at, {f"labels.{a:#x}": name for a, name in program.labels.items()} | params)
        for k, p in program.params.items():
            if not _TYPE.fullmatch(p.type):
                raise ValueError(f"{at}.params.{k}.type: {p.type!r} is neither a type such as u32 nor f32*")
        if len(program.breakpoints) > _MOST_BREAKPOINTS:
            raise ValueError(f"{at}.breakpoints: a program has at most {_MOST_BREAKPOINTS}")
        for n, b in enumerate(program.breakpoints):
            _texts(f"{at}.breakpoints[{n}]", [b.where, b.condition])


def _names(at: str, names: Mapping[str, str]) -> None:
    seen: dict[str, str] = {}
    for shown, name in names.items():
        if not _NAME.fullmatch(name):
            raise ValueError(f"{at}.{shown}: {name!r} is not a name: letters, digits and _, a digit not first")
        if name in seen:
            raise ValueError(f"{at}.{shown}: {name!r} is the name of {seen[name]} already")
        seen[name] = shown


def _texts(at: str, texts: Iterable[str], longest: int = _LONGEST) -> None:
    for text in texts:
        if len(text) > longest:
            raise ValueError(f"{at}: a text has at most {longest} characters")
        if not all(c.isprintable() or c == "\n" for c in text):
            raise ValueError(f"{at}: a text has no control characters")


def _filled(value: object) -> object:
    """Return plain data without empty parts."""
    if isinstance(value, dict):
        items = ((k, _filled(v)) for k, v in cast("dict[str, object]", value).items())
        return {k: v for k, v in items if v not in ("", {}, [])}
    return [_filled(v) for v in cast("list[object]", value)] if isinstance(value, list) else value


__all__ = [
    "Annotations",
    "BreakpointAnnotation",
    "ParamAnnotation",
    "Project",
    "project_of",
    "read_project",
]
