"""The interface of a session for its views and its stops."""

from __future__ import annotations

from typing import Protocol

from isakit.asm import Program
from isakit.codec import Instruction
from isakit.debug.execution import Execution, Frame
from isakit.debug.stops import Breakpoint, Stop
from isakit.debug.timeline import Timeline
from isakit.machine.target import Target


class Standing(Protocol):
    """A session, to those it uses: see `Session` for what the attributes are."""

    execution: Execution
    timeline: Timeline
    program: Program
    labels: dict[str, int]
    breakpoints: dict[int, Breakpoint]
    focus: int
    stop: Stop

    @property
    def target(self) -> Target:
        """The machine."""
        ...

    @property
    def address(self) -> int | None:
        """Byte address of the focused thread's next instruction."""
        ...

    @property
    def instruction(self) -> Instruction | None:
        """The focused thread's next instruction."""
        ...

    @property
    def finished(self) -> bool:
        """Nothing will execute again."""
        ...

    def registers(self, thread: int | None = None) -> dict[str, int]:
        """All registers of a thread by name."""
        ...

    def frames(self) -> list[Frame]:
        """Return the focused thread's stack, innermost entry first."""
        ...
