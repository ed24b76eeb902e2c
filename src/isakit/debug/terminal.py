"""The commands of the terminal debugger, in gdb's words: a line of text in, lines of text or plain data out.

Knows no terminal: `isakit debug` reads lines from one, from a script, or from a test.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol, cast

from isakit.debug import cuda_words, panes, source_views
from isakit.debug.breakpoints import addresses
from isakit.debug.expression_values import evaluate
from isakit.debug.expressions import Load, Number
from isakit.debug.session import Session
from isakit.debug.sources import SourcePlace, Sources
from isakit.debug.stops import Stop, Watched
from isakit.debug.views import ThreadView, parsed, place
from isakit.errors import HostError, IsakitError, LaunchError, did_you_mean
from isakit.float_bits import float_of_bits
from isakit.json_text import JsonObject


@dataclass
class Reply:
    """The answer to a command: lines for people, plain data for programs; `quit` ends the debugger."""

    lines: list[str]
    data: object = None
    quit: bool = False


@dataclass(frozen=True)
class Command:
    """A command: its names, the arguments it takes, and one line of help."""

    names: tuple[str, ...]
    takes: str
    help: str
    run: Callable[[Commands, str], Reply]


class ProgramGoneError(HostError):
    """A program in another process has ended, or does not listen."""


class Terminal(Protocol):
    """The commands of a session as a terminal uses them: in this process, or in another one."""

    @property
    def live(self) -> bool:
        """True if all panes are shown at every stop."""
        ...

    def run(self, line: str) -> Reply:
        """Execute a command line."""
        ...

    def completions(self, text: str) -> list[str]:
        """Return the completions of a line's last word."""
        ...


class Commands:
    """The commands over one session.

    `displays` are the expressions shown at every stop; `live`: all panes are shown at every stop, with the memory that
    `x` showed last.
    """

    def __init__(self, session: Session) -> None:
        self.session, self._sources = session, Sources(session)
        self.live = False
        self._examined: tuple[str, int, int] | None = None
        self.displays: list[str] = []
        self._last = ""
        there = session.focus < session.target.thread_count
        self._registers: dict[str, int] = session.registers() if there else {}
        self._memory: dict[tuple[str, int, int], bytes] = {}

    @property
    def sources(self) -> Sources:
        """The source of the program."""
        self._sources = self._sources.current()
        return self._sources

    def run(self, line: str) -> Reply:
        """Execute a command line; an empty one repeats the last. Raises IsakitError for commands that fail."""
        line = line.partition("#")[0].strip() if line.lstrip().startswith("#") else line.strip()
        line = line or self._last
        if not line:
            return Reply([])
        name, _, rest = line.partition(" ")
        slash = ""
        if "/" in name:
            name, _, slash = name.partition("/")
            slash = "/" + slash + " "
        command = _BY_NAME.get(name)
        if command is None:
            near = [n for n in _BY_NAME if n.startswith(name)]
            if len({id(_BY_NAME[n]) for n in near}) != 1:
                (hint,) = did_you_mean(name, _BY_NAME) or ("`help` lists the commands",)
                raise LaunchError(f"no command {name!r}; {hint}")
            command = _BY_NAME[near[0]]
        self._last = line if command.names[0] in _REPEATED else ""
        return command.run(self, (slash + rest).strip())

    def completions(self, text: str) -> list[str]:
        """Return the completions of a line's last word."""
        head, _, last = text.rpartition(" ")
        words = list(_BY_NAME) if not head else [*self.session.labels, *self.session.registers(), *_INFO]
        return sorted({w for w in words if w.startswith(last)})

    # --- stops ---
    def stopped(self, stop: Stop) -> Reply:
        """Describe a stop."""
        session = self.session
        old = self._registers
        now = session.registers() if session.focus < session.target.thread_count else {}
        changed = {n: v for n, v in now.items() if self._registers.get(n, v) != v}
        self._registers = now
        lines = [stop.text]
        i = session.instruction
        if i is not None:
            thread = session.target.thread(session.focus)
            where = panes.source_label(session, i.address)
            lines.append(panes.cut(f"{thread.name}  {i.address:04x} {f'<{where}> ' if where else ''}{i.text}"))
            if said := panes.source_line(session, i.address):
                lines.append(panes.cut(f"  {said}"))
        if changed and len(changed) <= 8 and not self.live:
            lines.append(panes.cut("  " + "  ".join(f"{n}={v:#x}" for n, v in changed.items())))
        shown = {text: self._shown(text) for text in self.displays}
        lines += [f"  {text} = {value}" for text, value in shown.items()]
        if self.live:
            lines += self._panes(old)
        data = {**panes.state(session), "changed": changed, "displays": shown}
        return Reply(lines, data)

    def _shown(self, text: str) -> str:
        try:
            return number(self.session.evaluate(text))
        except IsakitError as e:
            return f"<{e}>"

    def _count(self, text: str) -> int:
        if not text:
            return 1
        try:
            n = int(text, 0)
        except ValueError:
            raise LaunchError(f"{text!r} is not a number") from None
        if n < 1:
            raise LaunchError("give a number of at least 1")
        return n

    # --- the commands ---
    def _step(self, rest: str) -> Reply:
        return self._by_lines(self._count(rest), lambda: self.sources.step(into=True), self.session.step)

    def _step_instruction(self, rest: str) -> Reply:
        return self.stopped(self.session.step(self._count(rest)))

    def _next(self, rest: str) -> Reply:
        return self._by_lines(self._count(rest), lambda: self.sources.step(into=False), self.session.next)

    def _next_instruction(self, rest: str) -> Reply:
        return self.stopped(self.session.next(self._count(rest)))

    def _by_lines(self, count: int, line: Callable[[], Stop], instructions: Callable[[int], Stop]) -> Reply:
        """Step by source lines if the focused thread is at one, else by instructions."""
        if self.sources.at(self.session.address) is None:
            return self.stopped(instructions(count))
        stop = line()
        for _ in range(count - 1):
            if stop.reason != "step" or self.session.finished:
                break
            stop = line()
        return self.stopped(stop)

    def _cont(self, rest: str) -> Reply:
        return self.stopped(self.session.cont(self._count(rest) if rest else None))

    def _until(self, rest: str) -> Reply:
        return self.stopped(self.session.until(self._line(_required(rest, "where to"))))

    def _back(self, rest: str) -> Reply:
        return self._by_lines(self._count(rest), lambda: self.sources.reverse_step(), self.session.reverse_step)

    def _back_instruction(self, rest: str) -> Reply:
        return self.stopped(self.session.reverse_step(self._count(rest)))

    def _goto(self, rest: str) -> Reply:
        try:
            position = int(_required(rest, "a position"), 0)
        except ValueError:
            raise LaunchError(f"{rest!r} is not a position") from None
        return self.stopped(self.session.goto(position))

    def _wrote(self, rest: str) -> Reply:
        return self.stopped(self.session.last_write(_required(rest, "a register or a cell of memory")))

    def _break(self, rest: str) -> Reply:
        where, condition, ignore = _placed(_required(rest, "a place"))
        b = self.session.break_at(self._line(where), condition, ignore=ignore)
        found = ", ".join(f"{a:#x}" for a in sorted(b.point.addresses)[:6])
        said = f"at {found}" if found else f"waits for a kernel that has {b.where}"
        return Reply([f"breakpoint {b.number} {said}"], b.as_json())

    def _temporary(self, rest: str) -> Reply:
        where, condition, ignore = _placed(_required(rest, "a place"))
        b = self.session.break_at(self._line(where), condition, ignore=ignore, once=True)
        return Reply([f"temporary breakpoint {b.number}"], b.as_json())

    def _watch(self, rest: str, access: str = "change") -> Reply:
        what, condition, ignore = _placed(_required(rest, "a register or a cell of memory"))
        b = self.session.watch(what, cast(Watched, access), condition, ignore=ignore)
        return Reply([f"watchpoint {b.number}: {b.where}"], b.as_json())

    def _trace(self, rest: str) -> Reply:
        where, condition, _ = _placed(_required(rest, "a place, then what to collect"))
        where, _, collect = where.partition(" ")
        b = self.session.trace(where, *[c.strip() for c in collect.split(",") if c.strip()], condition=condition)
        return Reply([f"tracepoint {b.number} collects {collect or 'nothing'}"], b.as_json())

    def _delete(self, rest: str) -> Reply:
        numbers = [self._count(n) for n in rest.split()] or list(self.session.breakpoints)
        for n in numbers:
            self.session.delete(n)
        return Reply([f"deleted {', '.join(map(str, numbers)) or 'nothing'}"])

    def _enable(self, rest: str, on: bool = True) -> Reply:
        for n in [self._count(n) for n in rest.split()] or list(self.session.breakpoints):
            self.session.breakpoint(n).enabled = on
        return Reply([])

    def _ignore(self, rest: str) -> Reply:
        n, _, count = rest.partition(" ")
        b = self.session.breakpoint(self._count(n))
        b.point.skip = b.point.hits + self._count(count)
        return Reply([str(b)])

    def _type(self, rest: str) -> Reply:
        v = source_views.variable(self.session, _required(rest, "a variable"))
        if v is None:
            raise LaunchError(f"no variable {rest!r} is here; `info locals` lists them")
        return Reply([f"type = {v.type}"], v.type)

    def _print(self, rest: str) -> Reply:
        rest = re.sub(r"^((?:/[xduf] ?)?)\*\s*(\w+)$", r"\1\2[0]", rest)  # as C says what an address leads to
        m = re.match(r"/([xduf]) ?", rest)
        whole = None if m else source_views.variable(self.session, rest)
        if whole is not None and whole.parts:
            return Reply([whole.text], {p.name: p.text for p in whole.parts})
        if whole is not None and whole.variable.count:
            values = source_views.elements(self.session, whole.variable)
            return Reply([source_views.array_text(whole.variable, values)], values)
        value = self.session.evaluate(_required(rest[m.end() :] if m else rest, "an expression"))
        return Reply([number(value, m[1] if m else "")], value)

    def _display(self, rest: str) -> Reply:
        if rest:
            self.session.evaluate(rest)
            self.displays.append(rest)
        shown = {text: self._shown(text) for text in self.displays}
        return Reply([f"{text} = {value}" for text, value in shown.items()], shown)

    def _undisplay(self, rest: str) -> Reply:
        self.displays = [d for d in self.displays if rest and d != rest]
        return Reply([])

    def _set(self, rest: str) -> Reply:
        what, equals, value = rest.partition("=")
        if not equals:
            raise LaunchError("give REGISTER = EXPRESSION, or CELL = EXPRESSION")
        self.session.set(what.strip(), value.strip())
        return Reply([f"{what.strip()} = {number(self.session.evaluate(what.strip()))}"])

    def _examine(self, rest: str) -> Reply:
        m = re.match(r"/(\w+) ?", rest)
        form = source_views.examination(m[1].removesuffix("b") if m[1][:-1].isdigit() else m[1]) if m else None
        if m is not None and form is not None and form.how == "i":
            return self._instructions(rest[m.end() :], form.number)
        count = 64 if m is None else min(int(m[1].rstrip("b")), 1 << 16) if form is None else form.number * form.size
        cell = _required(rest[m.end() :] if m else rest, "a cell of memory")
        pointer = source_views.variable(self.session, cell.strip())
        if pointer is not None and (pointer.variable.count or pointer.variable.type.startswith("ptr")):
            cell = f"{pointer.variable.space}[{cell}]"
        to = place(self.session.execution, cell, self.session.focus)
        if not isinstance(to, Load):
            raise LaunchError("`x` shows memory; `p` and `info registers` show registers")
        session = self.session
        address = int(evaluate(to.address, ThreadView(session.execution, session.focus)))
        if form is not None:
            data = session.target.read_memory(to.space, address, count, session.focus)
            said = {"space": to.space, "address": address, "bytes": data.hex()}
            return Reply(source_views.examined(to.space, address, data, form), said)
        lines = self._memory_lines(to.space, address, count)
        self._examined = to.space, address, count
        data = self._memory[self._examined]
        return Reply(lines, {"space": to.space, "address": address, "bytes": data.hex()})

    def _instructions(self, place: str, count: int) -> Reply:
        """Show `x/4i PLACE`: instructions from there on (default: from the next one)."""
        place = place.strip()
        here = place in ("", "$pc", "pc")
        first = self.session.address if here else addresses(self.session, self._line(place))[0]
        return Reply(source_views.disassembly(self.session, first or 0, count))

    def _list(self, rest: str) -> Reply:
        """Show the source if it is known and can be read, else instructions."""
        session = self.session
        if session.program.lines is None:
            return Reply(panes.listing(session, addresses(session, rest)[0] if rest else None))
        path, _, number = rest.rpartition(":")
        here = self.sources.at(session.address)
        if rest and number.isdecimal():
            known = [f for f in self.sources.files if not path or f == path or f.endswith(f"/{path}")]
            name = here.path if here is not None and not path else next(iter(known), "")
            return Reply(source_views.source_listing(session, self.sources, SourcePlace(name, int(number))))
        around = self.sources.at(addresses(session, rest)[0]) if rest else here
        if around is None or not self.sources.text(around.path):
            return Reply(panes.listing(session, addresses(session, rest)[0] if rest else None))
        return Reply(source_views.source_listing(session, self.sources, around))

    def _backtrace(self, rest: str) -> Reply:
        lines = source_views.backtrace(self.session, self.sources)
        return Reply(lines, [f._asdict() for f in self.session.frames()])

    def _cuda(self, rest: str) -> Reply:
        session = self.session
        words = tuple(w for w in cuda_words.WORDS if any(x and w.startswith(x) for x in rest.split()))
        if not cuda_words.move(session, rest):
            return Reply([cuda_words.focus_text(session, words or cuda_words.WORDS)])
        where = cuda_words.focus_text(session)
        stop = self.stopped(session._stay("moved", f"[switching focus to {where}]"))
        return stop

    def _run(self, rest: str) -> Reply:
        """Run from the start, as gdb's `run` does."""
        if self.session.position:
            self.session.goto(0)
        return self.stopped(self.session.cont())

    def _line(self, place: str) -> str:
        """Return a place with the file name added to a plain line number, if the source is known."""
        if not place.isdecimal() or self.session.program.lines is None:
            return place
        here = self.sources.at(self.session.address)
        path = here.path if here is not None else next(iter(self.sources.files), "")
        found = self.sources.place(path, int(place))
        if found is None:
            raise LaunchError(f"no code comes from line {place} or those below it")
        return found

    def _focus(self, rest: str) -> Reply:
        where: JsonObject = {}
        words = rest.replace("=", " ").split()
        if len(words) == 1:
            words = ["thread", *words]
        for name, value in zip(words[::2], words[1::2], strict=False):
            try:
                parts = [int(v, 0) for v in value.strip("()").split(",")]
            except ValueError:
                raise LaunchError(f"{name} {value!r} is not a number") from None
            if len(parts) > 1 and name != "block":
                raise LaunchError(f"{name} {value!r}: only a block is named by several numbers")
            where[name] = parts[0] if len(parts) == 1 else tuple(parts)
        if not where:
            raise LaunchError("give what to look at: `focus warp 2 lane 5`, `focus block 3,1`, `focus thread 40`")
        self.session.focus_on(**where)
        return self.stopped(self.session._stay("moved", "the focus moved"))  # pyright: ignore[reportPrivateUsage]

    def _info(self, rest: str) -> Reply:
        if rest.partition(" ")[0] == "cuda":
            name = panes.source_label(self.session, self.session.labels["entry"])
            return Reply(cuda_words.table(self.session, rest.partition(" ")[2].strip(), name))
        name = next((n for n in _INFO if rest and n.startswith(rest)), None)
        if name is None:
            raise LaunchError(f"`info` knows {', '.join(_INFO)}")
        session = self.session
        match name:
            case "breakpoints" | "watchpoints":
                found = list(session.breakpoints.values())
                return Reply([str(b) for b in found] or ["no breakpoints"], [b.as_json() for b in found])
            case "registers":
                return Reply(panes.registers(session, self._registers), session.registers())
            case "warps" | "threads" | "lanes":
                return Reply(panes.lanes(session))
            case "locals" | "args" | "variables":
                return self._variables(inlined=name == "variables")
            case "frame":
                return Reply(source_views.backtrace(session, self.sources)[:1])
            case "line" | "source":
                place = self.sources.at(session.address)
                return Reply(["no source is known here" if place is None else f"{place.path or 'ptx'}:{place.line}"])
            case "stack":
                return Reply(panes.stack(session), [f._asdict() for f in session.frames()])
            case "trace":
                rows = [r.as_json() for r in session.records]
                return Reply([f"{r.position}: {r.values}" for r in session.records] or ["nothing was noted"], rows)
            case "about":
                return Reply(session.about or ["nothing is known about where the program comes from"], session.about)
            case "memories":
                spaces = session.target.memories.values()
                return Reply([f"{m.name:<8} {m.size:#x} bytes{'' if m.writable else ', read only'}" for m in spaces])
            case _:
                t = session.timeline
                facts = {
                    "position": session.position, "unit": session.execution.unit, "checkpoints": len(t.checkpoints),
                    "checkpoint_bytes": t.used, "limit_bytes": t.memory, "instructions": session.execution.instructions,
                }  # fmt: skip
                return Reply([f"{k}: {v}" for k, v in facts.items()], facts)

    def _variables(self, inlined: bool) -> Reply:
        session = self.session
        if not session.execution.variables:
            raise LaunchError(
                "no variables are known here: debug a source (.py, .cu, .cl, .ptx, .cg, .frag), or code that was "
                "compiled with them, as by `isakit nvcc -G`; its -g is about the host's code"
            )
        shown = source_views.variables(session)
        shown += source_views.variables(session, own=False) if inlined else []
        rows = [panes.cut(f"{v.name} = {v.text}") for v in shown]
        told = [p for v in shown for p in v.parts or (v,)]
        return Reply(
            rows or ["no locals"], {v.name: {"type": v.type, "value": v.text, "place": v.variable.place} for v in told}
        )

    def _layout(self, rest: str) -> Reply:
        if rest in ("on", "off"):
            self.live = rest == "on"
        elif rest:
            raise LaunchError("`layout` shows all panes, `layout on` does at every stop, `layout off` no longer")
        lines = [] if rest == "off" else self._panes(self._registers)
        return Reply(lines, panes.state(self.session))

    def _panes(self, registers: Mapping[str, int]) -> list[str]:
        """Return all panes.

        Registers that differ from the given ones are marked, and memory that changed since it was shown.
        """
        lines: list[str] = []
        for name, rows in panes.everything(self.session, registers):
            lines += [f"--- {name} {'-' * (panes.WIDTH - len(name) - 5)}", *rows]
        if self._examined is not None:
            space, address, count = self._examined
            try:
                rows = self._memory_lines(space, address, count)
            except IsakitError as e:
                rows = [panes.cut(str(e))]
            lines += [f"--- memory {'-' * (panes.WIDTH - 11)}", *rows]
        return lines

    def _memory_lines(self, space: str, address: int, count: int) -> list[str]:
        data = self.session.target.read_memory(space, address, count, self.session.focus)
        old = self._memory.get((space, address, count))
        self._memory[space, address, count] = data
        return panes.memory(space, address, data, old)

    def _help(self, rest: str) -> Reply:
        if rest:
            command = _BY_NAME.get(rest)
            if command is None:
                raise LaunchError(f"no command {rest!r}")
            return Reply([f"{', '.join(command.names)} {command.takes}".rstrip(), f"  {command.help}"])
        return Reply([panes.cut(f"{', '.join(c.names):<22} {c.takes:<18} {c.help}") for c in COMMANDS])


def number(value: Number, how: str = "") -> str:
    """Format a number as `p` shows it: with its hexadecimal digits, or in the format `x`, `d`, `u` or `f`."""
    if isinstance(value, float):
        return repr(value)
    if how == "f":
        return repr(float_of_bits(value & 0xFFFF_FFFF))
    if how == "x":
        return hex(value & (1 << 64) - 1)
    if how == "u":
        return str(value & (1 << 64) - 1)
    return str(value) if how == "d" or -10 < value < 10 else f"{value} ({hex(value & (1 << 64) - 1)})"


def _required(text: str, what: str) -> str:
    if not text:
        raise LaunchError(f"give {what}")
    return text


def _placed(text: str) -> tuple[str, str, int]:
    """Split a line into a place, the condition after `if`, and the hits to ignore after `ignore`."""
    ignore = 0
    m = re.search(r"\s+ignore\s+(\d+)\s*$", text)
    if m:
        ignore, text = int(m[1]), text[: m.start()]
    where, found, condition = re.sub(r"\s+if\s+", "\0", text, count=1).partition("\0")
    return where.strip(), condition.strip() if found else "", ignore


# pyright: reportPrivateUsage=false
COMMANDS = (
    Command(("step", "s"), "[N]", "execute the focused thread's line of source", Commands._step),
    Command(("stepi", "si"), "[N]", "execute instructions of the focused group", Commands._step_instruction),
    Command(("next", "n"), "[N]", "execute a line, over calls", Commands._next),
    Command(("nexti", "ni"), "[N]", "execute instructions, over calls", Commands._next_instruction),
    Command(("finish", "fin"), "", "run until the function returns", lambda c, r: c.stopped(c.session.finish())),
    Command(("join", "j"), "", "run to the group's next join or barrier", lambda c, r: c.stopped(c.session.to_join())),
    Command(("continue", "c"), "[N]", "run to a breakpoint, N instructions at most", Commands._cont),
    Command(("until", "u"), "PLACE", "run until the group comes to a place", Commands._until),
    Command(("rs", "reverse-step"), "[N]", "take back lines of source", Commands._back),
    Command(("rsi", "reverse-stepi"), "[N]", "take back instructions", Commands._back_instruction),
    Command(("rc", "reverse-continue"), "", "go back to a breakpoint",
            lambda c, r: c.stopped(c.session.reverse_cont())),
    Command(("goto",), "POSITION", "be at a position of the past or future", Commands._goto),
    Command(("wrote",), "PLACE", "go to the last write of a register or byte", Commands._wrote),
    Command(("break", "b"), "PLACE [if EXPR]", "stop there; ignore N lets hits pass", Commands._break),
    Command(("tbreak", "tb"), "PLACE [if EXPR]", "stop there once", Commands._temporary),
    Command(("watch", "w"), "PLACE [if EXPR]", "stop when it changes", Commands._watch),
    Command(("rwatch", "rw"), "PLACE", "stop when it is read", lambda c, r: c._watch(r, "read")),
    Command(("awatch", "aw"), "PLACE", "stop when it is read or written", lambda c, r: c._watch(r, "access")),
    Command(("trace", "tp"), "PLACE [EXPR,...]", "note values and go on", Commands._trace),
    Command(("delete", "d"), "[N...]", "remove breakpoints", Commands._delete),
    Command(("enable",), "[N...]", "let breakpoints stop", Commands._enable),
    Command(("disable",), "[N...]", "let breakpoints pass", lambda c, r: c._enable(r, on=False)),
    Command(("ignore",), "N COUNT", "let the next hits pass", Commands._ignore),
    Command(("ptype", "whatis"), "VARIABLE", "the type of a variable", Commands._type),
    Command(("print", "p"), "[/xduf] EXPR", "the value of an expression", Commands._print),
    Command(("display", "disp"), "[EXPR]", "show a value at every stop", Commands._display),
    Command(("undisplay",), "[EXPR]", "do not", Commands._undisplay),
    Command(("set",), "PLACE = EXPR", "change a register or memory", Commands._set),
    Command(("x",), "[/N[x][w]] CELL", "N bytes, or numbers, of memory; x/4i", Commands._examine),
    Command(("list", "l"), "[PLACE]", "source around here, or instructions", Commands._list),
    Command(("disassemble", "disas"), "", "all instructions", lambda c, r: Reply(source_views.disassembly(c.session))),
    Command(("backtrace", "bt", "where"), "", "the calls that led here", Commands._backtrace),
    Command(("cuda",), "[WHAT [N]]", "the kernel, block, thread, warp, lane", Commands._cuda),
    Command(("run", "r"), "", "run from the start", Commands._run),
    Command(("focus", "f", "thread"), "WHAT N ...", "look at a block, warp, lane or thread", Commands._focus),
    Command(("info", "i"), "WHAT", "locals, breakpoints, registers, warps, ...", Commands._info),
    Command(("layout", "la"), "[on|off]", "all panes, now or at every stop", Commands._layout),
    Command(("help", "h"), "[COMMAND]", "this list", Commands._help),
    Command(("quit", "q"), "", "leave", lambda c, r: Reply([], quit=True)),
)  # fmt: skip
_BY_NAME = {name: c for c in COMMANDS for name in c.names}
_REPEATED = ("step", "stepi", "next", "nexti", "continue", "rs", "rsi", "rc", "join")
_INFO = ("about", "args", "frame", "line", "locals", "source", "variables", "breakpoints", "registers", "warps",
         "threads", "lanes", "stack", "trace", "memories", "timeline", "watchpoints")  # fmt: skip

__all__ = ["COMMANDS", "Command", "Commands", "ProgramGoneError", "Reply", "Terminal", "parsed"]
