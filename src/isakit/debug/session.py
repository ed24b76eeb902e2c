"""A debugging session: one program on one machine, moved forwards and backwards, inspected and changed.

Everything else here is an interface to a session: the terminal, gdb's protocol, the Debug Adapter Protocol, replays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from html import escape
from typing import cast

from isakit.asm import Program
from isakit.debug import breakpoints
from isakit.debug.execution import Execution, Hit, Point, UsseExecution, VucExecution, program_of
from isakit.debug.expression_values import evaluate
from isakit.debug.expressions import Binary, Load, Node, Number, NumberTerm, Variable
from isakit.debug.panes import html
from isakit.debug.session_view import SessionView
from isakit.debug.stops import Breakpoint, Cell, Range, Reason, Stop, TracepointHit, Watched
from isakit.debug.timeline import MEMORY
from isakit.debug.views import ThreadView, half_place, packed, parsed, place, value
from isakit.errors import LaunchError, MachineFault, NotModelled
from isakit.machine.target import Target
from isakit.machine.targets import target_of
from isakit.machine.usse.usse_target import UsseTarget
from isakit.machine.vuc.vuc_target import VucTarget
from isakit.spec import InstructionKind

RECORDS = 100_000
"""Largest number of tracepoint records that are kept."""
POLLED = 64
"""Single steps between two checks whether to continue."""
ASLEEP = "the core waits for the host"


def execution_of(machine: object, program: Program | None = None, *, compiled: bool = True) -> Execution:
    """Return the execution for a machine's program; see `Session`. Raises LaunchError for anything else."""
    target = target_of(machine)
    if target.isa == "tesla":
        from isakit.debug.tesla_execution import TeslaExecution
        from isakit.machine.tesla.tesla_target import TeslaTarget

        m = cast(TeslaTarget, target).machine
        code = program_of(m.launch.code) if program is None else program
        return TeslaExecution(m, code, compiled=compiled)
    if target.isa == "vuc":
        return VucExecution(target, program or _code(target))
    return UsseExecution(target, program or cast(UsseTarget, target).code.program)


def _code(target: Target) -> Program:
    """Return the program in code memory, up to the last word written."""
    from isakit.instruction_sets import isa

    core = cast(VucTarget, target).core
    words = [w or 0 for w in core.code]
    used = max((k + 1 for k, w in enumerate(core.code) if w is not None), default=1)
    return isa("vuc", target.variant).disassemble(words[:used])


class Session(SessionView):
    """A program that can be stepped, run, stopped and reversed.

    Args:
        machine: a Tesla `Machine` that has not begun, a vµc `Core`, or a USSE `Machine` whose program was started.
        program: its code, for listings (default: the content of the machine's code memory).
        labels: addresses by name, besides `entry`.
        memory: limit of the checkpoints of the past, in bytes.
        compiled: run on compiled code between stops, where the machine can.

    Attributes:
        focus: the thread that `step` and registers are about.
        breakpoints: by number, watchpoints and tracepoints included.
        records: the records of tracepoints.
        about: lines about the program: for a fragment, why its pixel has its colour.
        stop: the reason of the last stop.
        timeline, execution, target: its parts.

    The methods that move return a `Stop`; a program that faults stops before the instruction. They raise LaunchError
    for impossible moves; KeyboardInterrupt ends a run as a stop with the reason `interrupt`.
    """

    later = False
    """True if more programs follow this one, which may have places that it lacks."""

    def __init__(
        self,
        machine: object,
        program: Program | None = None,
        *,
        labels: Mapping[str, int] | None = None,
        memory: int = MEMORY,
        compiled: bool = True,
    ) -> None:
        super().__init__(execution_of(machine, program, compiled=compiled), labels or {}, memory)
        self.records: list[TracepointHit] = []
        self.about: list[str] = []
        self.asked: Callable[[], bool] | None = None
        self._numbers = 0
        self.stop = self._stopped("start", "the program has not begun")

    # --- values -------------------------------------------------------------------------------------------------------
    def evaluate(self, expression: str, thread: int | None = None) -> Number:
        """Return the value of an expression for a thread (the focused one). Raises ExpressionError, MachineFault."""
        node = parsed(self.execution, expression)
        return value(self.execution, node, self.focus if thread is None else thread)

    # --- moving forwards ----------------------------------------------------------------------------------------------
    def step(self, count: int = 1) -> Stop:
        """Execute instructions of the focused thread's group."""
        for n in range(count):
            self._prefer_focus()
            stop = self._move(self._one, "step", f"after {n + 1} step{'s' * (n > 0)}")
            if stop.reason != "step" or self.finished:
                break
            if n % POLLED == POLLED - 1 and self.asked is not None and self.asked():
                return self._stay("interrupt", "interrupted")
        return self.stop

    def next(self, count: int = 1) -> Stop:
        """Step, but execute a call as a whole."""
        for _ in range(count):
            i = self.instruction
            if i is None or i.group is not InstructionKind.CALL:
                stop = self.step()
            else:
                self._prefer_focus()
                after = i.address + i.size * (1 + self._delay)
                stop = self._until([after], self._no_deeper(), "step", "after the call")
            if stop.reason != "step" or self.finished:
                break
        return self.stop

    def _no_deeper(self) -> Callable[[int], bool]:
        """Return a test whether a thread is in no more calls than the focused thread is now."""
        depth = len(self.execution.calls(self.focus))
        return lambda t: len(self.execution.calls(t)) <= depth

    def finish(self) -> Stop:
        """Run until the function the focused thread is in has returned. Raises LaunchError outside of a call."""
        calls = self.execution.calls(self.focus)
        if not calls:
            raise LaunchError("no call is on the stack")
        return self._until(
            [calls[0].address], lambda t: len(self.execution.calls(t)) < len(calls), "step", "after the call"
        )

    def to_join(self) -> Stop:
        """Run until the focused group is about to execute an instruction at which lanes reconverge, or a barrier."""
        found = [
            i.address for i in self.program if i.valid and (i.group is InstructionKind.BARRIER or breakpoints.joins(i))
        ]
        if not found:
            raise LaunchError("the program has no join and no barrier")
        return self._until(found, None, "step", "at a join or barrier")

    def until(self, where: str | int) -> Stop:
        """Run until the focused group reaches a place: see `break_at`."""
        return self._until(breakpoints.addresses(self, where), None, "until", f"at {where}")

    def cont(self, max_instructions: int | None = None) -> Stop:
        """Run to a breakpoint, or the end; `max_instructions` limits the positions passed."""
        limit = None if max_instructions is None else self.position + max_instructions
        return self._move(lambda: self._forward([], limit), "budget", f"after {max_instructions} {self._units}")

    def arrived(self) -> Stop:
        """Return the stop at which an editor finds the program."""
        return self.stop

    # --- moving in time -----------------------------------------------------------------------------------------------
    def goto(self, position: int) -> Stop:
        """Go to a position of the past or the future, ignoring breakpoints."""

        def move() -> None:
            self.timeline.seek(position, self.asked)
            self._refocus()

        return self._move(move, "moved", f"at position {position}")

    def reverse_step(self, count: int = 1) -> Stop:
        """Undo the last instructions, of any group, and focus on the group that executed the last of them."""
        if not self.position:
            return self._stay("history", "this is where the program began")

        def move() -> None:
            if count > 1:
                self.timeline.seek(max(0, self.position - count + 1), self.asked)
            if self.position:
                self.timeline.back(self.asked)
            self._follow()

        return self._move(move, "step", f"{count} back")

    def reverse_cont(self) -> Stop:
        """Go back to the last place where a breakpoint would have stopped, or to the start.

        A watchpoint stops before the instruction that accessed the watched data.
        """
        return self._move(self._backward, "history", "this is where the program began")

    def last_write(self, what: str) -> Stop:
        """Go back to the instruction that last wrote a register of the focused thread, or a byte: `$r5`, `s[0x40]`."""
        b = breakpoints.watchpoint(self, 0, what, "write")
        here, exactly = self.position, self.timeline.moment

        def move() -> None:
            found = self._last_match([b], here)
            if found is None:
                self.timeline.seek(exactly)
                raise LaunchError(f"nothing has written {what} so far")
            self._back_to(found[0])
            self._to_points(found[0], [b.point])

        return self._move(move, "moved", f"{what} is written here")

    # --- changing -----------------------------------------------------------------------------------------------------
    def set(self, what: str, new: str | Number, thread: int | None = None) -> None:
        """Set a register, a cell of memory (`$r5`, `s[0x40]:f32`) or a variable. Discards the recorded future."""
        t = self.focus if thread is None else thread
        number = self.evaluate(new, t) if isinstance(new, str) else new
        variable = self.execution.variables.at(what, None).type if what in self.execution.variables else ""
        if variable == "f16" and (half := half_place(self.execution, what, t)) is not None:
            register, shift = half
            rest = self.target.read_register(register, t) & ~(0xFFFF << shift)
            self.set_register(register, rest | int.from_bytes(packed("f16", number), "little") << shift, t)
            return
        to = place(self.execution, what, t)
        if isinstance(to, Load):
            address = int(evaluate(to.address, ThreadView(self.execution, t)))
            self.write(to.space, address, packed(to.type, number), t)
            return
        width = self.target.register_files[to.file].width
        kind = "f32" if width == 32 and (isinstance(number, float) or variable == "f32") else "u64"
        self.set_register(to, int.from_bytes(packed(kind, number), "little"), t)

    def set_register(self, register: tuple[str, int], bits: int, thread: int) -> None:
        """Set a register of a thread to the low ones of `bits`. Raises LaunchError for an unknown register."""
        text = f"{register[0]}{register[1]} = {bits:#x}"
        self.timeline.happen(text, lambda: self.target.write_register(register, bits, thread))

    def write(self, space: str, address: int, data: bytes, thread: int | None = None) -> None:
        """Write bytes to a memory. Raises as `Target.write_memory`."""
        t = self.focus if thread is None else thread
        self.timeline.happen(f"{space}[{address:#x}]", lambda: self.target.write_memory(space, address, data, t))

    def publish(self) -> None:
        """Update arrays that were passed to the kernel. Moves do not, because the time depends on the arrays' size."""
        self.execution.publish()

    # --- stops --------------------------------------------------------------------------------------------------------
    def break_at(self, where: str | int, condition: str = "", *, ignore: int = 0, once: bool = False) -> Breakpoint:
        """Set a breakpoint.

        Args:
            where: a byte address (0x...), a label, `kernel` (its first instruction), an instruction's name (`bar`), or
                a group of instructions: arithmetic, move, memory, texture, branch, call, return, exit, barrier,
                control.
            condition: an expression; it must hold for one of the active threads of the group.
            ignore: number of hits to ignore.
            once: remove it after its first stop.

        Raises LaunchError for an unknown place, ExpressionError for a bad condition.
        """
        return self._add(breakpoints.breakpoint_at(self, self._number(), where, condition, ignore=ignore, once=once))

    def watch(self, what: str, access: Watched = "change", condition: str = "", *, size: int | None = None,
              ignore: int = 0) -> Breakpoint:  # fmt: skip
        """Set a watchpoint on a register of the focused thread or on memory (`s[0x40]`, `g14[$r2]`, `s[0x40]:u8`).

        It stops after the instruction. `size`: bytes, for ranges.
        """
        return self._add(breakpoints.watchpoint(self, self._number(), what, access, condition, size, ignore))

    def trace(self, where: str | int, *collect: str, condition: str = "") -> Breakpoint:
        """Set a tracepoint, which records the values of expressions in `records` without stopping."""
        return self._add(breakpoints.tracepoint(self, self._number(), where, collect, condition))

    def delete(self, number: int) -> None:
        """Remove a breakpoint. Raises LaunchError for an unknown number."""
        self.breakpoint(number)
        del self.breakpoints[number]

    def breakpoint(self, number: int) -> Breakpoint:
        """Return a breakpoint by its number. Raises LaunchError."""
        if number not in self.breakpoints:
            raise LaunchError(f"no breakpoint {number}; there are {', '.join(map(str, self.breakpoints)) or 'none'}")
        return self.breakpoints[number]

    def _number(self) -> int:
        self._numbers += 1
        return self._numbers

    def _add(self, b: Breakpoint) -> Breakpoint:
        self.breakpoints[b.number] = b
        return b

    # --- how it moves -------------------------------------------------------------------------------------------------
    @property
    def _units(self) -> str:
        return f"{self.execution.unit}s"

    @property
    def _delay(self) -> int:
        return self.program.decoder.isa.delay_slots

    def _stopped(
        self, reason: Reason, text: str, numbers: tuple[int, ...] = (), fault: Exception | None = None
    ) -> Stop:
        return Stop(reason, self.position, self.focus, self.address, text, numbers, fault)

    def _stay(self, reason: Reason, text: str) -> Stop:
        self.stop = self._stopped(reason, text)
        return self.stop

    def _move(self, move: Callable[[], Stop | None], reason: Reason, text: str) -> Stop:
        """Move, and return a stop: that of `move`, a fault, an interrupt, the end, or one with the given reason."""
        try:
            stop = move()
        except (MachineFault, NotModelled) as e:
            self._refocus()
            stop = self._stopped("fault", str(e), fault=e)
        except KeyboardInterrupt:
            self.timeline.seek(self.timeline.moment)
            self._refocus()
            stop = self._stopped("interrupt", "interrupted")
        if stop is None:
            done = self.finished and reason not in ("moved", "history")
            stop = self._stopped("finished", "the program has ended") if done else self._stopped(reason, text)
        self.stop = stop
        return stop

    def _prefer_focus(self) -> None:
        """Make the focused group execute next."""
        following = self.execution.following
        if following is None:
            raise LaunchError("the program has ended")
        if self.focus >= self.target.thread_count or self.focus not in self.execution.lanes(following):
            thread = self.target.thread(self.focus)
            if thread.state == "finished":
                self.focus = following
            elif not self.execution.same_group(self.focus, following):
                if thread.state != "ready":
                    raise LaunchError(f"{thread.name} waits; `c` runs the others, or focus on one that is ready")
                focus = self.focus
                self.timeline.happen(f"{thread.name} goes first", lambda: self.execution.prefer(focus))

    def _refocus(self, thread: int | None = None) -> None:
        """Focus a thread of the group that executes next, the focused one if it belongs to it."""
        following = self.execution.following if thread is None else thread
        if following is None:
            self.focus = min(self.focus, max(0, self.target.thread_count - 1))
        elif self.focus >= self.target.thread_count or not self.execution.same_group(self.focus, following):
            self.focus = following
        elif not self.target.thread(self.focus).active:
            self.focus = self.execution.lanes(following)[0]

    def _one(self) -> Stop | None:
        """Execute one instruction and check watchpoints; return a stop if one is hit."""
        if self.execution.asleep:
            return self._stopped("asleep", ASLEEP)
        here = self.execution.following
        looked_at = [p for p, b in self._points() if b.kind != "breakpoint"]
        met = self.execution.met(looked_at, here) if looked_at and here is not None else []
        stop = self._through(met)
        if self.focus >= self.target.thread_count or self.target.thread(self.focus).state != "ready":
            self._refocus()
        return stop

    def _points(self) -> list[tuple[Point, Breakpoint]]:
        return [(b.point, b) for b in self.breakpoints.values() if b.enabled]

    def _through(self, met: list[Point]) -> Stop | None:
        """Execute the next instruction, handling the points hit before it; return a stop if one counts."""
        chosen = [b for b in self.breakpoints.values() if b.point in met]
        watched = [b for b in chosen if b.kind == "watchpoint"]
        for b in chosen:
            if b.kind == "tracepoint":
                self._note(b)
        if not watched:
            self.timeline.step()
            return None
        thread = self.execution.following or 0
        address = self.target.thread(thread).address or 0
        doubts = {b: b.doubt(self.execution, b.thread_met(self.execution, self.focus)) for b in watched}
        found = breakpoints.watched_through(self, watched)
        stops = [(b, text) for b, text in found if self._counts(b)]
        if not stops:
            return None
        self._refocus(thread if self.target.thread(thread).state != "finished" else None)
        text = "; ".join(said for b, text in stops for said in (f"watchpoint {b.number}: {text}", doubts[b]) if said)
        where = f"{text}, by {address:#x} {self.text_at(address)}"
        return self._stopped("watchpoint", where, tuple(b.number for b, _ in stops))

    def text_at(self, address: int) -> str:
        """Return the instruction at an address, as text."""
        i = self.program.at(address)
        return i.text if i is not None else "???"

    @staticmethod
    def _counts(b: Breakpoint) -> bool:
        b.point.hits += 1
        return b.point.hits > b.point.skip

    def _note(self, b: Breakpoint) -> None:
        if len(self.records) >= RECORDS:
            return
        thread = b.thread_met(self.execution, self.focus)
        doubt = b.doubt(self.execution, thread)
        values: dict[str, int | float | str] = {b.condition: f"<{doubt}>"} if doubt else {}
        for text, node in b.collect:
            try:
                values[text] = value(self.execution, node, thread)
            except (LaunchError, MachineFault) as e:
                values[text] = f"<{e}>"
        self.records.append(TracepointHit(b.number, self.position, thread, values))

    def _forward(self, extra: list[Point], limit: int | None) -> Stop | None:
        """Run to a stop; return None at the limit or the end. Breakpoints at the current instruction do not count."""
        if self.finished:
            raise LaunchError("the program has ended")
        stop = self._one()
        if stop is not None:
            return stop
        pairs = self._points()
        points = [*extra, *(p for p, _ in pairs)]
        while limit is None or self.position < limit:
            result = self.timeline.run(points, limit, asked=self.asked)
            if not isinstance(result, Hit):
                self._refocus()
                if result == "asleep":
                    return self._stopped("asleep", ASLEEP)
                if result == "until" and (limit is None or self.position < limit):
                    return self._stopped("interrupt", "interrupted")
                return None
            if any(p in extra for p in result.points):
                self._refocus()
                return None
            hit = [b for p, b in pairs if p in result.points and b.kind == "breakpoint"]
            if hit:
                return self._broke(hit)
            stop = self._through(result.points)
            if stop is not None:
                return stop
        self._refocus()
        return None

    def _broke(self, hit: list[Breakpoint]) -> Stop:
        self.focus = hit[0].thread_met(self.execution, self.focus)
        for b in hit:
            if b.once:
                self.breakpoints.pop(b.number, None)
        numbers = tuple(b.number for b in hit)
        text = f"breakpoint {', '.join(map(str, numbers))}: {self.target.thread(self.focus).name} at {self.address:#x}"
        text = "; ".join(filter(None, (text, *(b.doubt(self.execution, self.focus) for b in hit))))
        return self._stopped("breakpoint", text, numbers)

    def _until(self, where: list[int], check: Callable[[int], bool] | None, reason: Reason, text: str) -> Stop:
        """Run until the focused group reaches one of the addresses."""
        self._prefer_focus()
        focus, execution = self.focus, self.execution
        facts = execution.facts(focus)
        node: Node | None = None
        if "warp" in facts:
            same = [Binary("==", Variable(n), NumberTerm(facts[n])) for n in ("block", "warp")]
            node = Binary("&&", *same)

        def met(thread: int) -> bool:
            mine = execution.facts(thread)
            together = (
                all(mine[n] == facts[n] for n in ("block", "warp")) if node else execution.same_group(focus, thread)
            )
            return together and (check is None or check(thread))

        point = Point(dict.fromkeys(where, node), met, sure=check is None)
        return self._move(lambda: self._forward([point], None), reason, text)

    # --- how it goes back ---------------------------------------------------------------------------------------------
    def _back_to(self, position: int) -> None:
        self.timeline.seek(position, self.asked)
        self._follow()

    def _follow(self) -> None:
        """Focus the group that executes next."""
        thread = self.execution.following
        if thread is not None and (
            self.focus >= self.target.thread_count or not self.execution.same_group(self.focus, thread)
        ):
            self.focus = thread

    def _backward(self) -> Stop | None:
        stops = [b for b in self.breakpoints.values() if b.enabled and b.kind != "tracepoint"]
        found = self._last_match(stops, self.position) if stops else None
        if found is None:
            self._back_to(0)
            return None
        position, b, text = found
        self._back_to(position)
        self._to_points(position, [b.point])
        if b.kind == "breakpoint":
            self.focus = b.thread_met(self.execution, self.focus)
            text = f"{self.target.thread(self.focus).name} at {self.address:#x}"
            text = "; ".join(filter(None, (text, b.doubt(self.execution, self.focus))))
        return self._stopped(cast(Reason, b.kind), f"{b.kind} {b.number}: {text}", (b.number,))

    def _last_match(self, stops: list[Breakpoint], before: int) -> tuple[int, Breakpoint, str] | None:
        """Return the last position before `before` at which one of the stops would have stopped."""
        end: int | None = before
        while True:
            end = self.timeline.last([b.point for b in stops], end, self.asked)
            if end is None:
                return None
            self._to_points(end, [b.point for b in stops if b.point.last == end])
            thread = self.execution.following or 0
            here = [b for b in stops if b.point.last == end and b.point.check(thread)]
            for b in here:
                if b.kind == "breakpoint":
                    return end, b, ""
            found = breakpoints.watched_through(self, here) if here else []
            if found:
                return end, found[0][0], found[0][1]

    def _to_points(self, position: int, points: list[Point]) -> None:
        """Go to the moment of a position at which points were hit, possibly after uncounted joins."""
        self.timeline.seek(position)
        addresses = {a for p in points for a in p.addresses}
        while addresses and self.execution.address not in addresses and self.execution.may_not_count:
            self.timeline.step()
            if self.position > position:
                break

    # --- for people ---------------------------------------------------------------------------------------------------
    def __repr__(self) -> str:
        return f"<session on {self.target.isa} {self.target.variant}, position {self.position}: {self.stop.text}>"

    def _repr_html_(self) -> str:
        return f"<p>{escape(self.stop.text)}</p>{html(self)}"


__all__ = ["Cell", "Range", "Session", "execution_of"]
