"""The views of a session: listing, lanes, registers, memory and stack, as lines of text and as HTML.

Lines are at most `WIDTH` wide and complete without colour: `>` marks the next instruction, `*` changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape

from isakit.debug.session_view import SessionView
from isakit.json_text import JsonObject
from isakit.machine.pictures import ROW, SHOWN, rows
from isakit.programs.kernel_names import source_name

WIDTH = 80


def cut(text: str, width: int = WIDTH) -> str:
    """Cut a text to a width."""
    return text if len(text) <= width else text[: width - 1] + "…"


def listing(session: SessionView, around: int | None = None, before: int = 4, after: int = 8) -> list[str]:
    """Return instructions around an address (the focused thread's next one), with labels and breakpoints (`B`)."""
    here = session.address
    middle = around if around is not None else here if here is not None else session.labels["entry"]
    code = list(session.program)
    at = next((k for k, i in enumerate(code) if i.address >= middle), len(code) - 1)
    stops = {a for b in session.breakpoints.values() if b.enabled for a in b.point.addresses if b.kind != "watchpoint"}
    names = {a: name for name, a in session.labels.items() if name != "entry"}
    out: list[str] = []
    last = ""
    for i in code[max(0, at - before) : at + after]:
        if i.address in names:
            out.append(f"{names[i.address]}:")
        if (said := source_line(session, i.address)) and said != last:
            out.append(cut(f"   {said}"))
        last = said
        mark = ">" if i.address == here else " "
        stop = "B" if i.address in stops else " "
        out.append(cut(f"{mark}{stop} {i.address:04x}  {i.text}"))
    return out


def source_line(session: SessionView, address: int) -> str:
    """Return `file:line  text` of the source of an instruction; "" if it is not known."""
    table = session.program.lines
    return table.shown(address) if table is not None else ""


def lanes(session: SessionView) -> list[str]:
    """Show the lanes, a row per group: `#` active, `.` waiting, `-` ended."""
    target = session.target
    count = target.thread_count
    if count == 1:
        t = target.thread(0)
        return [f"{t.name}: {t.state}" + (f" at {t.address:#x}" if t.address is not None else "")]
    out = [
        cut(f"{'>' if r.first <= session.focus < r.first + ROW else ' '} {r.name:<24} {r.picture} {r.where}")
        for r in rows(target)
    ]
    if count > SHOWN * ROW:
        out.append(f"  ... {count - SHOWN * ROW} more threads")
    return out


def registers(session: SessionView, before: Mapping[str, int] | None = None) -> list[str]:
    """Show the focused thread's registers that are not 0 or have changed since `before`, four to a line."""
    if session.focus >= session.target.thread_count:
        return []
    now = session.registers()
    old = before or {}
    shown = [
        f"{'*' if old.get(name, value) != value else ' '}{name}={value:#x}"
        for name, value in now.items()
        if value or old.get(name, 0) != value
    ]
    if not shown:
        return ["all registers are 0"]
    width = max(19, max(map(len, shown)) + 1)
    per_line = max(1, WIDTH // width)
    return ["".join(f"{x:<{width}}" for x in shown[k : k + per_line]).rstrip() for k in range(0, len(shown), per_line)]


def source_label(session: SessionView, address: int) -> str:
    """Return the label at or before an address and the distance, by its name in C++ source: `saxpy+0x18`."""
    symbol, plus, distance = session.label_at(address).partition("+")
    return f"{source_name(symbol)}{plus}{distance}"


def stack(session: SessionView) -> list[str]:
    """Show the focused thread's stack, innermost entry first, with the meaning of entries."""
    frames = session.frames()
    if not frames:
        return ["the stack is empty"]
    return [
        cut(f"{f.kind:<12} {f.address:04x}  " + ("" if f.lanes is None else f"lanes {f.lanes:08x}  ") + f.meaning)
        for f in frames
    ]


def memory(space: str, address: int, data: bytes, old: bytes | None = None) -> list[str]:
    """Return sixteen bytes a line as little-endian words, with their characters; `*` marks lines that changed."""
    out: list[str] = []
    for k in range(0, len(data), 16):
        row = data[k : k + 16]
        words = " ".join(row[j : j + 4][::-1].hex() for j in range(0, len(row), 4))
        text = "".join(chr(b) if 32 <= b < 127 else "." for b in row)
        mark = "*" if old is not None and old[k : k + 16] != row else " "
        out.append(f"{mark}{space}[{address + k:#06x}]  {words:<36} {text}")
    return out


def state(session: SessionView) -> JsonObject:
    """Return the state of a session as plain data."""
    i = session.instruction
    thread = session.target.thread(session.focus) if session.focus < session.target.thread_count else None
    return {
        **session.stop.as_json(),
        "instruction": None if i is None else i.text,
        "focus": None if thread is None else thread.name,
        "finished": session.finished,
    }


def html(session: SessionView) -> str:
    """Show listing, lanes, registers and stack as one HTML table."""
    rows = "".join(
        f"<tr><th>{name}</th><td><pre>{escape(chr(10).join(lines))}</pre></td></tr>"
        for name, lines in everything(session)
    )
    return f"<table>{rows}</table>"


def everything(session: SessionView, before: Mapping[str, int] | None = None) -> Iterable[tuple[str, list[str]]]:
    """Yield all panes by name; registers that have changed since `before` are marked."""
    yield "code", listing(session)
    yield "lanes", lanes(session)
    yield "registers", registers(session, before)
    yield "stack", stack(session)
