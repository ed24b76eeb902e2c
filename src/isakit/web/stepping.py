"""A launch that is stepped: what a page asks of a session, and what it shows of it."""

from __future__ import annotations

import base64
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

from isakit.errors import IsakitError
from isakit.json_text import JsonObject
from isakit.web.folder import checked_spec
from isakit.web.limits import BUFFERS, BYTES, ELEMENTS, STEPS, THREADS

if TYPE_CHECKING:
    from isakit.asm import Program
    from isakit.cli.launches import Prepared
    from isakit.debug import Session
    from isakit.debug.stops import Stop

VUC_CYCLES = 1_000_000
"""Cycles that microcode runs on, because it does not end by itself."""
_OPTIONS: JsonObject = {
    "chip": "gt200", "engine": "auto", "tier": "auto", "threads": 1, "grid": (1,), "block": (1,), "kernel": None,
    "registers": None, "shared": 0, "local": None, "textures": (), "specs": (), "macros": (), "folders": (),
}  # fmt: skip


def launched(file: str, asked: JsonObject) -> Prepared:
    """Prepare a machine at its first instruction, for a file of the folder. Arguments are as of `isakit run --arg`.

    Raises IsakitError for what cannot be launched.
    """
    import click

    from isakit.cli.launches import prepare

    options = _OPTIONS | {k: asked[k] for k in ("chip", "kernel") if asked.get(k)}
    for name, most in (("grid", 2), ("block", 3)):
        options[name] = _dims(asked.get(name, [1]), name, most)
    options["specs"] = tuple(checked_spec(s) for s in _texts(asked.get("args", []), "args"))
    options["textures"] = tuple(checked_spec(s) for s in _texts(asked.get("textures", []), "textures"))
    isa, variant = asked.get("isa") or None, asked.get("variant") or None
    try:
        with click.Context(click.Command("launch")):
            return prepare(file, isa, variant, options)
    except click.ClickException as e:
        raise IsakitError(e.format_message()) from None


def _texts(value: object, name: str) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(x, str) for x in cast("list[object]", value)):
        raise IsakitError(f"{name} is a list of texts")
    return cast("list[str]", value)


def _dims(value: object, name: str, most: int) -> tuple[int, ...]:
    numbers = cast("list[Any]", value) if isinstance(value, list) else []
    if not 1 <= len(numbers) <= most or not all(type(n) is int and 0 < n < 1 << 16 for n in numbers):
        raise IsakitError(f"{name}: give 1 to {most} positive numbers")
    return tuple(numbers)


def begun(prepared: Prepared, program: Program, seconds: float) -> Stepping:
    """Begin to step a launch at its first instruction; `program`: the code as the page lists it."""
    from isakit.debug import Session

    named = {} if program.annotations is None else program.annotations.symbols
    return Stepping(Session(prepared.machine, program, labels=program.labels | named), seconds, prepared)


class Stepping:
    """A session, and the state that the page has already been sent.

    `prepared`: the launch, None where the session is not of one; `seconds`: after which a move is interrupted.
    """

    def __init__(self, session: Session, seconds: float, prepared: Prepared | None = None) -> None:
        self.session, self.prepared = session, prepared
        self.seconds = seconds
        self._deadline = 0.0
        self._seen: tuple[int, dict[str, int]] = (self.session.focus, {})
        self.session.asked = lambda: time.monotonic() > self._deadline

    def move(self, how: str, count: int = 1, where: str = "") -> JsonObject:
        """Move as `MOVES` says, and return the state. Raises IsakitError where that is not possible."""
        s = self.session
        self._deadline = time.monotonic() + self.seconds
        self._remember()
        if not 1 <= count <= STEPS:
            raise IsakitError(f"1 to {STEPS} steps at a time")
        if how not in MOVES:
            raise IsakitError(f"no move {how!r}; there are {', '.join(MOVES)}")
        MOVES[how](s, count, where)
        state = self.state()
        if state["reason"] == "interrupt" and time.monotonic() > self._deadline:
            place = f"{state['unit']} {state['position']}"
            state["text"] = f"interrupted after {self.seconds:g} s, at {place}; Run goes on from here"
        return state

    def _remember(self) -> None:
        s = self.session
        if s.focus < s.target.thread_count:
            self._seen = s.focus, s.registers()

    def focus(self, thread: int) -> JsonObject:
        """Look at another thread."""
        self.session.focus_on(thread=thread)
        self._remember()
        return self.state()

    def state(self) -> JsonObject:
        """Return everything the page shows but memory."""
        from isakit.debug.panes import source_label
        from isakit.debug.source_views import variables
        from isakit.machine.pictures import ROW, rows

        s = self.session
        i = s.instruction
        there = s.focus < s.target.thread_count
        registers = s.registers() if there else {}
        thread, before = self._seen
        changed = [n for n, v in registers.items() if thread == s.focus and before.get(n, v) != v]
        files = s.target.register_files
        return {
            **s.stop.as_json(), "finished": s.finished, "focus": s.focus,
            "focus_name": s.target.thread(s.focus).name if there else "", "instruction": None if i is None else i.text,
            "place": "" if s.address is None else source_label(s, s.address), "address": s.address,
            "unit": s.execution.unit, "compiled": getattr(s.execution, "compiled", False),
            "rows": [r._asdict() for r in rows(s.target, most=THREADS // ROW)],
            "registers": {n: f"{v:#x}" for n, v in registers.items()}, "changed": changed,
            "variables": [[v.name, v.type, v.text] for v in variables(s)] if there else [],
            "widths": {f.text or f.name: f.width for f in files.values()},
            "frames": [{"kind": f.kind, "address": f.address, "meaning": f.meaning,
                        "lanes": None if f.lanes is None else f"{f.lanes:08x}"} for f in (s.frames() if there else [])],
            "breakpoints": [b.as_json() for b in s.breakpoints.values()],
            "memories": [{"name": m.name, "size": m.size, "shared": m.shared} for m in s.target.memories.values()],
            "buffers": self._buffers(),
            "facts": {k: int(v) for k, v in s.execution.facts(s.focus).items()} if there else {},
        }  # fmt: skip

    def _buffers(self) -> list[dict[str, int]]:
        """Return the buffers of a kernel's device: byte addresses and sizes."""
        kernel = None if self.prepared is None else self.prepared.kernel
        if kernel is None:
            return []
        found = sorted(kernel.device.memory.allocations.items())
        return [{"address": a, "size": n} for a, n in found[:BUFFERS]]

    def grid(self) -> JsonObject:
        """Return the registers of the threads of the focused group, without those that are 0 in all of them.

        Raises IsakitError where there is no thread.
        """
        from isakit.machine.pictures import ROW, rows

        s = self.session
        found = rows(s.target, s.focus // ROW * ROW, ROW)
        if not found:
            raise IsakitError(f"there is no thread {s.focus}")
        row = found[0]
        of_each = [s.registers(row.first + k) for k in range(len(row.picture))]
        used = [name for name in of_each[0] if any(r[name] for r in of_each)]
        registers = {name: [f"{r[name]:#x}" for r in of_each] for name in used}
        return {"name": row.name, "first": row.first, "threads": len(of_each), "registers": registers}

    def breakpoint(self, where: str, condition: str = "", kind: str = "break", access: str = "change") -> None:
        """Set a breakpoint or a watchpoint."""
        if kind == "watch":
            if access not in ("read", "write", "access", "change"):
                raise IsakitError(f"no access {access!r}")
            self.session.watch(where, access, condition)
        else:
            self.session.break_at(_place(where), condition)

    def memory(self, space: str, address: int, size: int) -> JsonObject:
        """Return bytes as the focused thread sees them, those that exist."""
        s = self.session
        if not 0 <= size <= BYTES:
            raise IsakitError(f"0 to {BYTES} bytes at a time")
        memory = s.target.memories.get(space)
        if memory is None:
            raise IsakitError(f"no memory {space!r}; there are {', '.join(s.target.memories)}")
        size = max(0, min(size, memory.size - address))
        data = s.target.read_memory(space, address, size, min(s.focus, max(0, s.target.thread_count - 1)))
        return {"space": space, "address": address, "data": data.hex()}

    def access(self) -> JsonObject:
        """Return the memory that the next instruction touches: addresses of lanes by half-warp, and their cost.

        The instruction is executed and taken back. Raises IsakitError if there is none, or it cannot be told.
        """
        from isakit.debug.transactions import HALF, IDLE, constant_reads, global_10, global_12, shared_steps
        from isakit.machine.tesla.chips import CHIPS

        s = self.session
        if s.finished or s.target.isa != "tesla":
            raise IsakitError("only the next instruction of a Tesla launch can be looked at")
        here, focus = s.timeline.moment, s.focus
        try:
            touches = s.execution.touched(s.timeline.step)
        finally:
            s.timeline.seek(here)
            s.focus = focus
        modern = not CHIPS[s.target.variant].strict_coalescing
        halves: dict[tuple[str, str, int, int], list[int]] = {}
        for t in touches:
            at = halves.setdefault((t.access, t.space, t.size, t.thread // HALF), [IDLE] * HALF)
            at[t.thread % HALF] = t.address
        out: list[JsonObject] = []
        for (access, space, size, half), at in sorted(halves.items()):
            row: JsonObject = {
                "access": access,
                "space": space,
                "size": size,
                "first": half * HALF,
                "addresses": at,
            }
            if space.startswith("g"):
                cost = (global_12 if modern else global_10)(at, size)
                row |= {"coalesced": cost.coalesced, "transactions": list(cost.sizes)}
            elif space == "s":
                row["steps"] = shared_steps(at, access == "write")
            elif space.startswith("c"):
                row["steps"] = constant_reads(at)
            out.append(row)
        return {"accesses": out, "capability": "1.2 and 1.3" if modern else "1.0 and 1.1"}

    def arrays(self) -> list[JsonObject]:
        """Return the content of the kernel's arrays as raw little-endian bytes; those of other machines have none."""
        if self.prepared is None or self.prepared.kernel is None:
            return []
        self.session.publish()
        out: list[JsonObject] = []
        for n, a in enumerate(self.prepared.arguments):
            if hasattr(a.value, "dtype") and getattr(a.value, "ndim", 0):
                if a.value.size > ELEMENTS:
                    raise IsakitError(f"argument {n} has {a.value.size} elements; {ELEMENTS} can be shown")
                out.append({"index": n, "spec": a.spec, "dtype": str(a.value.dtype), "shape": list(a.value.shape),
                            "data": base64.b64encode(a.value.tobytes()).decode()})  # fmt: skip
        return out


MOVES: Mapping[str, Callable[[Session, int, str], Stop]] = {
    "step": lambda s, count, where: s.step(count),
    "next": lambda s, count, where: s.next(count),
    "finish": lambda s, count, where: s.finish(),
    "join": lambda s, count, where: s.to_join(),
    "until": lambda s, count, where: s.until(_place(where)),
    "cont": lambda s, count, where: s.cont(VUC_CYCLES if s.target.isa == "vuc" else None),
    "back": lambda s, count, where: s.reverse_step(count),
    "reverse": lambda s, count, where: s.reverse_cont(),
    "goto": lambda s, count, where: s.goto(_number(where)),
    "restart": lambda s, count, where: s.goto(0),
    "last_write": lambda s, count, where: s.last_write(where),
}
"""Moves of a session by their names."""


def _place(where: str) -> str | int:
    return int(where, 16) if where.startswith("0x") else where


def _number(text: str) -> int:
    try:
        return int(text, 0)
    except ValueError:
        raise IsakitError(f"{text!r} is not a number") from None
