"""A session over the launches of a running program: each launch restarts it, and breakpoints are kept.

The program's thread calls `RunningProgram.launch`; the thread of a debugger moves the session. Only one of them owns it
at a time. While the debugger does, the program waits for its launch to end, however long that takes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from isakit.asm import Program
from isakit.debug import breakpoints
from isakit.debug.execution import Point
from isakit.debug.expressions import ExpressionError
from isakit.debug.session import Session, execution_of
from isakit.debug.session_view import SessionView
from isakit.debug.sources import Sources
from isakit.debug.stops import Breakpoint, Range, Reason, Stop
from isakit.debug.tesla_execution import TeslaExecution
from isakit.errors import IsakitError, LaunchError

if TYPE_CHECKING:
    from isakit.machine.tesla import Machine

_LOOK_SECONDS = 0.1
"""Seconds between two checks whether the other side still exists."""
_NOTHING_RUNS = "no kernel is running; `c` goes on to the next launch that a breakpoint stops"


class ProgramSession(Session):
    """The launches of a running program, one after the other.

    Breakpoints persist from launch to launch: those at an address belong to the kernel that ran when they were set,
    those at names and lines to every kernel that has them, also to kernels that come later. `cont` after a fault passes
    it to the program. Between launches, a session is in a kernel of a single instruction.
    """

    later = True

    def __init__(self, running: RunningProgram, machine: Machine, program: Program) -> None:
        self._running, self._nothing = running, (machine, program)
        self.kernel = ""
        self._homes: dict[int, str] = {}
        """Kernels of the breakpoints at addresses."""
        self._first: dict[int, str] = {}
        """The kernel in which a number was first given as an address: gdb gives it again and again."""
        super().__init__(machine, program, compiled=False)
        self.stop = self._stopped("start", _NOTHING_RUNS)

    @property
    def between(self) -> bool:
        """True if no kernel of the program is running."""
        return not self.kernel

    # --- launches ---
    def begin(self, machine: Machine, program: Program, kernel: str) -> None:
        """Begin a launch: stop at its first instruction."""
        kept, memory = list(self.breakpoints.values()), self.timeline.memory
        self.kernel = kernel
        named = {kernel: program.address} if kernel else {}
        SessionView.__init__(self, execution_of(machine, program, compiled=bool(kernel)), named, memory)
        for b in kept:
            self.breakpoints[b.number] = self._again(b)
        self.stop = self._stopped("start", f"{kernel} begins" if kernel else _NOTHING_RUNS)

    def leave(self) -> None:
        """Leave the launch: the program runs until its next one."""
        self.begin(*self._nothing, "")

    def forget(self) -> None:
        """Remove all breakpoints, and the records of tracepoints."""
        self.breakpoints.clear()
        self.records.clear()
        self._homes.clear()
        self._first.clear()

    def run_alone(self, asked: Callable[[], bool]) -> Stop:
        """Run the launch for the program until it ends, faults, or `asked` returns true."""
        before, self.asked = self.asked, asked
        try:
            self.stop = super()._move(lambda: self._forward([], None), "budget", "")
            return self.stop
        finally:
            self.asked = before

    def _move(self, move: Callable[[], Stop | None], reason: Reason, text: str) -> Stop:
        stop = super()._move(move, reason, text)
        if stop.reason == "finished":
            stop = self._to_next_launch() if reason == "step" else self._through_launches(None)
        self.stop = stop
        return stop

    def _to_next_launch(self) -> Stop:
        """Leave the launch, and stop where the next one begins."""
        self._running.complete(None)
        return self._stopped("step", self.stop.text) if self._running.next(self.asked) else self._none_came()

    def cont(self, max_instructions: int | None = None) -> Stop:
        """See `Session`; a fault is passed to the program."""
        stop = self.stop
        if stop.reason == "fault" and stop.position == self.position and not self.between:
            self.stop = self._through_launches(stop.fault)
            return self.stop
        return super().cont(max_instructions)

    def arrived(self) -> Stop:
        """Go on to the next launch that a breakpoint stops, unless a launch stands: for editors, which do not ask."""
        return self.cont() if self.between else self.stop

    def to_launch(self) -> Stop:
        """Wait for the next launch, unless the session is in one."""
        if self.between:
            self.stop = self._to_next_launch()
        return self.stop

    def _through_launches(self, fault: Exception | None) -> Stop:
        """Leave the launch, and run through others until one stops."""
        stop = self._next_launch(fault)
        while stop.reason == "finished" and not self._running.over:
            stop = self._next_launch(None)
        return stop

    def _next_launch(self, fault: Exception | None) -> Stop:
        """Report the outcome of its launch to the program, and run the next one up to a stop."""
        self._running.complete(fault)
        if not self._running.next(self.asked):
            return self._none_came()
        following = self.execution.following
        points = [(p, b) for p, b in self._points() if b.kind == "breakpoint"]
        met = self.execution.met([p for p, _ in points], following) if points and following is not None else []
        hit = [b for p, b in points if p in met]
        if hit:
            return self._broke(hit)
        return super()._move(lambda: self._forward([], None), "budget", "")

    def _none_came(self) -> Stop:
        if self._running.over:
            return self._stopped("finished", "the program has ended")
        return self._stopped("interrupt", f"interrupted; {_NOTHING_RUNS}")

    # --- stops ---
    def break_at(self, where: str | int, condition: str = "", *, ignore: int = 0, once: bool = False) -> Breakpoint:
        """See `Session`. A name or line that this kernel does not have may be one of a later kernel."""
        number = self._number()
        home = self._home_of(where)
        if home is not None:
            self._homes[number] = home
        made = self._made(number, where, condition, ignore, once)
        return self._add(made)

    def _home_of(self, where: str | int) -> str | None:
        """Return the kernel that a place belongs to; None for a place in all kernels."""
        if not self.kernel:
            return None
        if isinstance(where, int):
            return self._first.setdefault(where, self.kernel)
        try:
            int(where.strip().removeprefix("*"), 0)
        except ValueError:
            return None
        return self.kernel

    def _made(self, number: int, where: str | int, condition: str, ignore: int, once: bool) -> Breakpoint:
        home = self._homes.get(number)
        if home is None or home == self.kernel:
            try:
                return breakpoints.breakpoint_at(self, number, where, condition, ignore=ignore, once=once)
            except LaunchError:
                if home is not None:
                    raise
                place = self._next_line(str(where))
                if place is not None:
                    return breakpoints.breakpoint_at(self, number, place, condition, ignore=ignore, once=once)
        said = hex(where) if isinstance(where, int) else where
        return Breakpoint(number, "breakpoint", said, Point({}, lambda _: False, skip=ignore), condition, once=once)

    def _next_line(self, where: str) -> str | None:
        """Return the next line with code after a line within this kernel."""
        path, _, line = where.rpartition(":")
        path = "" if path == "ptx" else path
        sources = Sources(self)
        lines = sources.lines(path) if line.isdecimal() else ()
        return sources.place(path, int(line)) if lines and lines[0] < int(line) < lines[-1] else None

    def _again(self, b: Breakpoint) -> Breakpoint:
        """Return a breakpoint recreated for another launch."""
        try:
            match b.kind:
                case "breakpoint":
                    try:
                        made = self._made(b.number, b.where, b.condition, b.point.skip, b.once)
                    except ExpressionError as e:
                        # Of another kernel's variables: it stops, and says that it cannot tell.
                        made = self._made(b.number, b.where, "", b.point.skip, b.once)
                        made.condition, made.unknown = b.condition, str(e)
                case "tracepoint":
                    made = breakpoints.tracepoint(self, b.number, b.where, [t for t, _ in b.collect], b.condition)
                case _:
                    if not (isinstance(b.watched, Range) and b.watched.space.startswith("g")):
                        raise LaunchError("the memory and the registers of a launch end with it")
                    what = f"{b.watched.space}[{b.watched.address:#x}]"
                    made = breakpoints.watchpoint(
                        self, b.number, what, b.access, b.condition, b.watched.size, b.point.skip
                    )
                    made.where = b.where
        except IsakitError:
            made = b
            made.point = Point({}, lambda _: False, skip=b.point.skip, hits=b.hits)
            return made
        made.point.hits, made.enabled = b.hits, b.enabled
        return made


class RunningProgram:
    """Hands a session from the program's thread to a debugger's and back.

    Args:
        nothing: a machine and its program, for the session between launches.
        waits: the first launch waits for a debugger.

    Attributes: `session`; `over`: the program has ended; `interrupt`: called to make the debugger give the session
    back; `waiting`: called when a launch waits for a debugger.
    """

    def __init__(self, nothing: tuple[Machine, Program], waits: bool = False) -> None:
        self._turn = threading.Condition()
        self._held = False
        """The debugger has the session."""
        self._attached = False
        self._in_launch = False
        self._outcome: list[Exception | None] = []
        self._waits = waits
        self.over = False
        self.session = ProgramSession(self, *nothing)
        self.interrupt: Callable[[], object] = lambda: None
        self.waiting: Callable[[], object] = lambda: None

    @property
    def wanted(self) -> bool:
        """True while launches are to be run here: a debugger is attached, or waited for."""
        return (self._attached or self._waits) and not self.over

    # --- the program's side ---
    def launch(self, machine: Machine, program: Program, kernel: str, there: Callable[[], object]) -> Machine:
        """Run a new launch under the debugger's control; `there` is called while it lasts.

        Returns the machine that has run it, which is not the given one. An exception of `there` ends the launch. Raises
        MachineFault, NotModelled.
        """
        with self._turn:
            self._until_mine(there)
            self.session.begin(machine, program, kernel)
            self._in_launch, self._outcome = True, []
            if self._waits:
                self.waiting()
        try:
            return self._to_its_end(there)
        finally:
            with self._turn:
                self._in_launch = False
                self.session.leave()
                self._turn.notify_all()

    def _to_its_end(self, there: Callable[[], object]) -> Machine:
        execution = cast(TeslaExecution, self.session.execution)
        while not self._outcome:
            with self._turn:
                while self._waits and not self._attached and not self.over:
                    self._turn.wait(_LOOK_SECONDS)
                    there()
                self._waits = False
                if self._attached:
                    self._held = True
                    self._turn.notify_all()
                    self._until_mine(there)
                    continue
            stop = self.session.run_alone(lambda: self._looked(there))
            if stop.reason in ("finished", "fault"):
                self._outcome.append(stop.fault)
        (fault,) = self._outcome
        if fault is not None:
            raise fault
        return execution.machine

    def _looked(self, there: Callable[[], object]) -> bool:
        there()
        return self._attached

    def _until_mine(self, there: Callable[[], object]) -> None:
        """Wait until the debugger has returned the session; `there` may raise if the program has gone."""
        try:
            while self._held:
                self._turn.wait(_LOOK_SECONDS)
                there()
        except BaseException:
            self.interrupt()
            while self._held:  # its moves end soon, and it finds its client gone
                self._turn.wait(_LOOK_SECONDS)
            raise

    def end(self) -> None:
        """Record that the program has ended, and take the session back."""
        with self._turn:
            self.over = True
            self._turn.notify_all()
            if self._held:
                self.interrupt()
            while self._held:
                self._turn.wait(_LOOK_SECONDS)

    # --- the debugger's side ---
    def attach(self) -> bool:
        """Take the session when the first launch waits in it; return false if the program has ended."""
        with self._turn:
            self._attached = True
            self._turn.notify_all()
            while (self._waits or self._in_launch) and not self._held and not self.over:
                self._turn.wait(_LOOK_SECONDS)
            self._held = not self.over
            return self._held

    def detach(self) -> None:
        """Let the program run on, and remove everything that was set in the session."""
        with self._turn:
            self.session.forget()
            self.session.asked = None
            self._held = self._attached = False
            self._turn.notify_all()

    def complete(self, fault: Exception | None) -> None:
        """Report the outcome of a launch, and give the session back until the next one."""
        with self._turn:
            if self._in_launch:
                self._outcome.append(fault)
            self._held = False
            self._turn.notify_all()

    def next(self, asked: Callable[[], bool] | None) -> bool:
        """Wait for a launch. Returns false if `asked` returns true first, or the program ends."""
        while True:
            with self._turn:
                if not self._held and not self.over:
                    self._turn.wait(_LOOK_SECONDS)
                if self._held or self.over:
                    return self._held
            if asked is not None and asked():
                with self._turn:
                    while self._in_launch and not self._held:  # one has begun: it comes to us at once
                        self._turn.wait(_LOOK_SECONDS)
                    found, self._held = self._held, not self.over
                    return found


__all__ = ["ProgramSession", "RunningProgram"]
