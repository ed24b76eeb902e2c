"""The interfaces that programs call, read from `api/*.txt`: one line per function.

A line is `KIND SINCE name(parameters) = more -- note | marks`; `[Section]` lines group them. Both ends of the
connection and the reference page follow from it.

| kind | implementation | |---|---| | `call` | a handler of the server; the C function is generated | | `copy` | the C
library, after the server has returned the addresses; `= to, from, width, height, depth, kind` | | `local` | a C
function written by hand; the line holds its C prototype | | `hint` | no code: a setting without a counterpart on these
chips; it succeeds | | `refuse` | no code: returns the error code after `=` and reports the reason once | | `later` |
the same for functions of later chips: only names, one after the other; they return NOT_SUPPORTED | | `wire` | a message
of the library itself; results after `->` | | `blas` | a routine of cuBLAS, for both its interfaces: `NAME` and, with a
handle, `NAME_v2`; all share a message | | `blas1`, `blas2` | for the first interface alone, for the one with handles
alone, under this exact name |

| mark | meaning | |---|---| | `after fault` | works after a fault, when only ending and starting again still work | |
`without device` | needs no context, and creates none for the calling thread | | `not traced` | irrelevant to a user, or
traced by the handler itself | | `of the driver` | a message whose errors are always those of the driver interface |

A parameter is `[in|out|opt] TYPE name`. `out` is a pointer the function writes to; `opt` one that may be null. One
parameter of a message may be of variable length: `string`, `bytes` (its length is the last parameter), or `block
name[N]` (at most N bytes).

`<S,D>` in a name stands for several lines. In a routine of cuBLAS it is the type of the elements (`s`, `d`, `c`, `z` or
two letters with the type that is meant); `scalar` is a number of that type, `real` one of its real type; `op`, `fill`,
`side` and `diag` are letters in the first interface and numbers in the other; `out` is the result of the routine.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from isakit.errors import DefinitionError
from isakit.lean import cached_property

API = Path(__file__).parent / "api"
"""The folder of the tables."""
KINDS = ("call", "copy", "local", "hint", "refuse", "later", "wire", "blas", "blas1", "blas2")
_NOT_SUPPORTED = "801"
MARKS = ("after fault", "without device", "not traced", "of the driver")
LIBRARIES = ("cublas", "cufft", "curand")
"""The libraries whose functions are executed on the host."""
INTERFACES = ("internal", "runtime", "driver", *LIBRARIES)

SCALARS = {
    "int": "int",
    "uint": "unsigned",
    "size": "size_t",
    "u64": "unsigned long long",
    "float": "float",
    "double": "double",
    "ptr": "void *",
    "host": "const void *",
    "handle": "void *",
    "array": "void *",
    "stream": "void *",
    "event": "void *",
    "symbol": "const void *",
    "mapped": "void *",
}
"""Types that are sent as one 64-bit number, and their C types.

`ptr` is a device pointer, `host` memory of the program (never sent), `mapped` host memory that is device memory too
(sent as its device address), `stream` and `event` handles that were ints before CUDA 3.0."""
VARIABLE = ("string", "bytes", "block")
OF_BLAS = ("scalar", "real", "op", "fill", "side", "diag")
"""Types of parameters that only routines of cuBLAS have."""
_ELEMENTS = {"s": "S", "d": "D", "c": "C", "z": "Z", "Sc": "C", "Dz": "Z", "Cs": "C", "Zd": "Z"}
"""The element type for the letters of a name, where it is not the letter itself."""

_LINE = re.compile(
    r"(?P<kind>[a-z]+\d?)\s+(?:(?P<since>\d+\.\d+)\s+)?(?P<before>[^(]*?)(?P<name>\w+)\((?P<parameters>.*?)\)"
    r"(?:\s*->\s*(?P<results>[^=]*?))?(?:\s*=\s*(?P<more>.*?))?(?:\s+--\s+(?P<note>.*))?"
)
_LOCAL = re.compile(r"(?P<prototype>.*?\b(?P<name>\w+)\(.*\))(?:\s+--\s+(?P<note>.*))?")
_LETTERS = re.compile(r"<([A-Za-z,]+)>")
_NAMES_IN_C = frozenset(("in", "out", "back", "request", "status", "told", "default", "register", "auto"))
"""Names of variables of the functions that are generated, and words of C that parameters could be called."""
_PARAMETER = re.compile(r"(?:(in|out|opt)\s+)?(\w+)\s+(\w+)(?:\[(\d+)\])?")


@dataclass(frozen=True)
class ApiParameter:
    """One parameter: `way` is in, out or opt (an out that may be null); `room` the bytes of a block."""

    way: str
    type: str
    name: str
    room: int = 0

    @cached_property
    def variable(self) -> bool:
        """True if it has variable length."""
        return self.type in VARIABLE

    @cached_property
    def result(self) -> bool:
        """True if the function writes it."""
        return self.way != "in"


@dataclass(frozen=True)
class ApiFunction:
    """One line of the table. `number` is the code of its message, if it has one; `marks` are from `MARKS`.

    A routine of cuBLAS has its name without types as `routine`, the type of its `element` (S, D, C or Z), and is
    `legacy` in the interface without handles.
    """

    interface: str
    section: str
    kind: str
    name: str
    since: str = ""
    parameters: tuple[ApiParameter, ...] = ()
    more: str = ""
    note: str = ""
    prototype: str = ""
    marks: frozenset[str] = field(default=frozenset(), repr=False)
    number: int = field(default=0, compare=False)
    routine: str = ""
    element: str = ""
    legacy: bool = False

    @cached_property
    def sent(self) -> list[ApiParameter]:
        """Numbers of the request, in order."""
        return [p for p in self.parameters if not p.result and not p.variable]

    @cached_property
    def returned(self) -> list[ApiParameter]:
        """Numbers of the answer, in order."""
        return [p for p in self.parameters if p.result and not p.variable]

    @cached_property
    def tail(self) -> ApiParameter | None:
        """The part of variable length of the request."""
        return next((p for p in self.parameters if p.variable and not p.result), None)


def _parameters(text: str, where: str, way: str = "in") -> tuple[ApiParameter, ...]:
    out: list[ApiParameter] = []
    for piece in filter(None, (p.strip() for p in text.split(","))):
        m = _PARAMETER.fullmatch(piece)
        if m is None or m[2] not in (*SCALARS, *VARIABLE, *OF_BLAS) or (m[2] == "block") != bool(m[4]):
            raise DefinitionError(
                f"{where}: {piece!r} is not `[in|out|opt] TYPE name`, where TYPE is one of "
                f"{', '.join((*SCALARS, *VARIABLE, *OF_BLAS))}"
            )
        if m[3] in _NAMES_IN_C or any(m[3] == p.name for p in out):
            raise DefinitionError(f"{where}: the C function has {m[3]!r} already; give the parameter another name")
        out.append(ApiParameter(m[1] or way, m[2], m[3], int(m[4] or 0)))
    return tuple(out)


def _line(line: str, interface: str, section: str, where: str) -> ApiFunction:
    kind, _, rest = line.partition(" ")
    if kind == "local":
        since, _, rest = rest.partition(" ")
        m = _LOCAL.fullmatch(rest)
        if m is None:
            raise DefinitionError(f"{where}: no prototype")
        return ApiFunction(interface, section, kind, m["name"], since, note=m["note"] or "", prototype=m["prototype"])
    m = _LINE.fullmatch(line)
    if m is None or kind not in KINDS or kind == "later" or (kind == "wire") == bool(m["since"]):
        raise DefinitionError(
            f"{where}: not `KIND SINCE name(parameters)`; kinds are {', '.join(KINDS)}, wire has no SINCE"
        )
    parameters = _parameters(m["parameters"], where) + _parameters(m["results"] or "", where, "out")
    if (kind in ("copy", "refuse")) != bool(m["more"]) or (kind in ("hint", "refuse") and not m["note"]):
        raise DefinitionError(f"{where}: only copy and refuse have `= ...`; hint and refuse need a note, `-- ...`")
    if sum(p.variable and not p.result for p in parameters) > 1 and kind == "call":
        raise DefinitionError(f"{where}: more than one parameter of variable length")
    return ApiFunction(
        interface, section, kind, m["name"], m["since"] or "", parameters, m["more"] or "", m["note"] or ""
    )


def _lines() -> Iterator[ApiFunction]:
    for interface in INTERFACES:
        section = ""
        for number, row in enumerate((API / f"{interface}.txt").read_text("utf-8").splitlines(), 1):
            line, where = row.strip(), f"{interface}.txt, line {number}"
            if line.startswith("["):
                section = line.strip("[]")
            elif line.startswith("later "):
                yield from _later(line, interface, section, where)
            elif line and not line.startswith("#"):
                text, _, marks = line.partition(" | ")
                marked = _marks(marks, where)
                for letters, one in _spread(text):
                    made = _line(one, interface, section, where)
                    for f in _routines(made, letters) if made.kind.startswith("blas") else [made]:
                        yield replace(f, marks=marked)


def _later(line: str, interface: str, section: str, where: str) -> Iterator[ApiFunction]:
    """Yield the functions of a line that lists functions of later chips."""
    text, _, note = line.partition(" -- ")
    _, since, *names = text.split()
    if not names or not note:
        raise DefinitionError(f"{where}: something is missing")
    for name in names:
        yield ApiFunction(interface, section, "later", name, since, more=_NOT_SUPPORTED, note=note)


def _spread(text: str) -> Iterator[tuple[str, str]]:
    """Yield the lines that a line with type letters in its name expands to, with the letters of each."""
    m = _LETTERS.search(text)
    for letters in m[1].split(",") if m else [""]:
        yield letters, text[: m.start()] + letters + text[m.end() :] if m else text


def _routines(f: ApiFunction, letters: str) -> Iterator[ApiFunction]:
    """Yield the functions of a routine of cuBLAS."""
    root = f.name.removeprefix("cublas").removeprefix("I" if letters.islower() else "").removeprefix(letters)
    made = replace(f, kind="blas", routine=root.removesuffix("_v2"), element=_ELEMENTS.get(letters, letters))
    if f.kind != "blas2":
        yield replace(made, legacy=True)
    if f.kind == "blas":
        yield replace(made, name=f.name + "_v2", since="4.0")
    if f.kind == "blas2":
        yield made


def _marks(text: str, where: str) -> frozenset[str]:
    marks = frozenset(filter(None, text.split(", ")))
    if not marks <= set(MARKS):
        raise DefinitionError(f"{where}: marks are {', '.join(MARKS)}")
    return marks


@cache
def functions() -> dict[str, ApiFunction]:
    """Return all functions and messages by name. Raises DefinitionError for an inconsistent table."""
    out: dict[str, ApiFunction] = {}
    for number, f in enumerate(_lines(), 1):
        if f.name in out:
            raise DefinitionError(f"{f.name} is there twice")
        out[f.name] = replace(f, number=number)
    return out


@cache
def by_number() -> dict[int, ApiFunction]:
    """Return all functions and messages by message number."""
    return {f.number: f for f in functions().values()}


@cache
def fingerprint() -> int:
    """Return a checksum of the table, by which library and server check that they were generated from the same one."""
    text = "\n".join(repr(f) for f in functions().values())
    return zlib.crc32(text.encode())
