"""The source at a stop as lines of text: variables, calls, source and code around it."""

from __future__ import annotations

import os
import re
import struct
from typing import NamedTuple

from isakit.debug.expressions import TYPES, Number
from isakit.debug.panes import cut, source_label
from isakit.debug.session_view import SessionView
from isakit.debug.source_variables import ELEMENTS, OPTIMISED_OUT, SHARED, SourceVariable
from isakit.debug.sources import SourcePlace, Sources
from isakit.debug.views import parsed, value
from isakit.errors import IsakitError, LaunchError

SHOWN = 8
"""Elements of an array shown in one line."""
LINES = 10
"""Lines of a source that `list` shows."""


class ShownVariable(NamedTuple):
    """A variable at a stop: name, type, and its value as text; `variable` has its location.

    A vector, a matrix, an array or a structure of a shader has `parts`.
    """

    name: str
    type: str
    text: str
    variable: SourceVariable
    parts: tuple[ShownVariable, ...] = ()


def number_text(number: Number) -> str:
    """Return a number as it is shown for variables."""
    return f"{number:.9g}" if isinstance(number, float) else str(number)


def type_text(v: SourceVariable) -> str:
    """Return the type of a variable in C's notation."""
    element = v.element or "void"
    axes = "".join(f"[{n}]" for n in v.axes)
    return f"{element}{axes}" if v.count else f"{element} *" if v.type == "ptr" else v.type


def variables(session: SessionView, own: bool = True) -> list[ShownVariable]:
    """Return the variables of the kernel as the focused thread has them; with `own` false, those of inlined functions.

    The value of a variable without a location, or of an inactive thread, is a text that says so.
    """
    known = session.execution.variables
    here = session.address if _active(session) else None
    wholes: dict[str, list[ShownVariable]] = {}
    for name in known:
        v = known.at(name, here)
        if v.own is own and not name.startswith("__"):
            wholes.setdefault(v.whole, []).append(ShownVariable(name, type_text(v), variable_text(session, v), v))
    return [_joined(name, parts) for name, parts in wholes.items()]


def variable(session: SessionView, name: str) -> ShownVariable | None:
    """Return the variable or part of a variable with a name, as the focused thread has it; None if there is none."""
    found = variables(session, own="::" not in name)
    return next((v for whole in found for v in (whole, *whole.parts) if v.name == name), None)


def _joined(name: str, parts: list[ShownVariable]) -> ShownVariable:
    """Return the parts of one variable as that variable."""
    if len(parts) == 1 and parts[0].name == name:
        return parts[0]
    types = {p.type for p in parts}
    vector = all(p.name.partition(".")[2] in ("x", "y", "z", "w") and "[" not in p.name for p in parts)
    type = f"{parts[0].type}x{len(parts)}" if vector and len(types) == 1 else f"{len(parts)} numbers"
    shown = parts if vector else parts[:SHOWN]
    text = ", ".join(p.text if vector else f"{p.name[len(name) :].removeprefix('.')} = {p.text}" for p in shown)
    text = f"{{{text}{', ...' if len(shown) < len(parts) else ''}}}"
    if all(p.text == OPTIMISED_OUT for p in parts):
        text = OPTIMISED_OUT
    return ShownVariable(name, type, text, SourceVariable(name, type, ""), tuple(parts))


def _active(session: SessionView) -> bool:
    return session.focus < session.target.thread_count and session.target.thread(session.focus).active


def variable_text(session: SessionView, v: SourceVariable) -> str:
    """Return a variable's value as text."""
    if not v.place:
        return OPTIMISED_OUT
    try:
        number = evaluated(session, v.name)
        if v.type == "ptr":
            return hex(int(number))
        if v.count:
            return array_text(v, elements(session, v, SHOWN))
        return number_text(number)
    except IsakitError as e:
        return f"<{e}>"


def array_text(v: SourceVariable, shown: list[str]) -> str:
    """Return the first elements of an array in C's notation, with `...` if there are more."""
    rows = [*shown, "..."] if v.count > len(shown) else shown
    for length in reversed(v.inner):
        rows = [f"{{{', '.join(rows[k : k + length])}}}" for k in range(0, len(rows), length)]
    return f"{{{', '.join(rows)}}}"


def element_names(v: SourceVariable, count: int) -> list[str]:
    """Return the indices of the first elements of an array, as in `[1][3]`."""
    out: list[str] = []
    for k in range(count):
        name = ""
        for length in reversed(v.inner):
            k, at = divmod(k, length)
            name = f"[{at}]{name}"
        out.append(f"[{k}]{name}")
    return out


def elements(session: SessionView, v: SourceVariable, most: int = ELEMENTS) -> list[str]:
    """Return the first elements of an array as strings. Raises IsakitError."""
    first = int(evaluated(session, v.name))
    count = min(v.count, most)
    size, letter = TYPES[v.element]
    data = session.target.read_memory(SHARED, first, size * count, session.focus)
    return [number_text(n) for n in struct.unpack(f"<{count}{letter}", data)]


def evaluated(session: SessionView, text: str) -> Number:
    """Return the value of an expression for the focused thread. Raises IsakitError."""
    return value(session.execution, parsed(session.execution, text), session.focus)


# --- the way to here --------------------------------------------------------------------------------------------------
def code_path(session: SessionView) -> list[int]:
    """Return the address of the focused thread's next instruction, and those that its calls return to."""
    here = session.address
    return [] if here is None else [here, *(f.address for f in session.execution.calls(session.focus))]


def backtrace(session: SessionView, sources: Sources) -> list[str]:
    """Return the calls that the focused thread is in, innermost first, as gdb does."""
    return [
        cut(f"#{k:<2} {a:#06x} in {source_label(session, a) or '??'}{_at(sources.at(a))}")
        for k, a in enumerate(code_path(session))
    ] or ["the thread has ended"]


def _at(place: SourcePlace | None) -> str:
    return "" if place is None else f" at {os.path.basename(place.path) or 'ptx'}:{place.line}"


# --- texts ------------------------------------------------------------------------------------------------------------
def source_listing(session: SessionView, sources: Sources, around: SourcePlace) -> list[str]:
    """Return lines of a source around one: `>` marks that of the focused thread, `B` those with a breakpoint.

    Raises LaunchError if the text is not available.
    """
    text = sources.text(around.path)
    if not text:
        raise LaunchError(f"the source {around.path!r} cannot be read")
    here = sources.at(session.address)
    stops = {
        sources.at(a)
        for b in session.breakpoints.values()
        if b.enabled and b.kind != "watchpoint"
        for a in b.point.addresses
    }
    first = max(1, around.line - LINES // 2)
    out: list[str] = []
    for n, line in enumerate(text[first - 1 : first - 1 + LINES], first):
        place = SourcePlace(around.path, n)
        out.append(cut(f"{'>' if place == here else ' '}{'B' if place in stops else ' '} {n:4}  {line.rstrip()}"))
    return out


def disassembly(session: SessionView, first: int | None = None, count: int | None = None) -> list[str]:
    """Return instructions as gdb's `disassemble` does: all of the program, or `count` from an address on."""
    code = [i for i in session.program if first is None or i.address >= first]
    here = session.address
    names = {a: n for n, a in session.labels.items()}
    out: list[str] = []
    for i in code[:count]:
        where = f"<{names[i.address]}>" if i.address in names else ""
        out.append(cut(f"{'=>' if i.address == here else '  '} {i.address:#06x} {where:<10} {i.text}"))
    return out


# --- memory as numbers ------------------------------------------------------------------------------------------------
_FORMAT = re.compile(r"(\d*)([xduftic]?)([bhwg]?)([xduftic]?)")
_SIZES = {"b": 1, "h": 2, "w": 4, "g": 8}


class Examination(NamedTuple):
    """A format of `x`: count, display format (x, d, u, f, i), and size of each in bytes."""

    number: int
    how: str
    size: int


def examination(text: str) -> Examination | None:
    """Parse the letters of `x/4xw`; None for a plain number of bytes. Raises LaunchError."""
    m = _FORMAT.fullmatch(text)
    if m is None or (m[2] and m[4]):
        raise LaunchError(f"`x/{text}`: give a number, then x, d, u, f or i, and b, h, w or g for the size")
    how, size = m[2] or m[4], m[3]
    if not how and not size:
        return None
    if how in ("t", "c"):
        raise LaunchError(f"`x/{text}`: the formats are x, d, u, f and i")
    return Examination(min(int(m[1] or 1), 1 << 14), how or "x", _SIZES[size or "w"])


def examined(space: str, address: int, data: bytes, form: Examination) -> list[str]:
    """Return bytes of a memory as numbers, four in a line."""
    letter = {1: "b", 2: "h", 4: "i", 8: "q"}[form.size]
    if form.how == "f":
        if form.size == 1:
            raise LaunchError("a float has 2, 4 or 8 bytes")
        letter = {2: "e", 4: "f", 8: "d"}[form.size]
    elif form.how != "d":
        letter = letter.upper()
    numbers = struct.unpack(f"<{len(data) // form.size}{letter}", data)
    digits = 2 * form.size
    texts = [f"{n:#0{digits + 2}x}" if form.how == "x" else number_text(n) for n in numbers]
    per_line = 4 if form.size > 2 else 8
    return [
        f"{space}[{address + k * form.size:#x}]:  " + "  ".join(texts[k : k + per_line])
        for k in range(0, len(texts), per_line)
    ]


__all__ = [
    "Examination",
    "ShownVariable",
    "backtrace",
    "disassembly",
    "elements",
    "evaluated",
    "examination",
    "examined",
    "source_listing",
    "type_text",
    "variable_text",
    "variables",
]
