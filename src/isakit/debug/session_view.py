"""The part of a session used by its views and stops: the program, the position, registers, breakpoints."""

from __future__ import annotations

from collections.abc import Mapping

from isakit.codec import Instruction
from isakit.debug.execution import Execution, Frame
from isakit.debug.stops import Breakpoint, Stop
from isakit.debug.timeline import Timeline
from isakit.machine.target import Target


class SessionView:
    """A program and its position, which it does not move; `Session`, which does, documents the attributes."""

    stop: Stop

    def __init__(self, execution: Execution, labels: Mapping[str, int], memory: int) -> None:
        self.execution, self.program = execution, execution.program
        start = execution.address or self.program.address
        kernel = self.program.kernel
        named = {kernel.name: start} if kernel is not None and self.program.lines is not None else {}
        self.labels = {**named, "entry": start, **labels}
        self.timeline = Timeline(execution, memory)
        self.breakpoints: dict[int, Breakpoint] = {}
        self.focus = execution.following or 0

    @property
    def target(self) -> Target:
        """The machine."""
        return self.execution.target

    @property
    def position(self) -> int:
        """Instructions of groups, or cycles, executed so far."""
        return self.execution.position

    @property
    def finished(self) -> bool:
        """True if nothing will execute again."""
        return self.execution.following is None

    @property
    def address(self) -> int | None:
        """Byte address of the focused thread's next instruction."""
        if self.focus >= self.target.thread_count:
            return None
        return self.target.thread(self.focus).address

    @property
    def instruction(self) -> Instruction | None:
        """The focused thread's next instruction."""
        return None if self.address is None else self.program.at(self.address)

    def focus_on(self, **where: object) -> None:
        """Focus another thread: `thread=`, or on Tesla `block=`, `warp=`, `lane=`. Raises LaunchError."""
        self.focus = self.execution.find(**where)

    def frames(self) -> list[Frame]:
        """Return the focused thread's stack, innermost entry first."""
        return self.execution.frames(self.focus)

    def registers(self, thread: int | None = None) -> dict[str, int]:
        """Return all registers of a thread by name."""
        t = self.focus if thread is None else thread
        out: dict[str, int] = {}
        for file in self.target.register_files.values():
            for n in range(file.count):
                out[(file.text or f"{file.name}{{n}}").format(n=n)] = self.target.read_register((file.name, n), t)
        return out

    def label_at(self, address: int) -> str:
        """Return the label at or before an address, with the distance; empty if there is none."""
        found = [(a, name) for name, a in self.labels.items() if a <= address]
        if not found:
            return ""
        start, name = max(found, key=lambda x: x[0])
        return name if start == address else f"{name}+{address - start:#x}"
