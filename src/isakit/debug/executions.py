"""Executions of the machines of all instruction sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np

from isakit.asm import Program
from isakit.debug.execution import (
    Ended,
    Execution,
    Frame,
    Hit,
    Point,
    SavedState,
    SteppedExecution,
)
from isakit.errors import LaunchError
from isakit.machine.target import Target
from isakit.machine.targets import target_of
from isakit.machine.usse.shader_machine import Machine
from isakit.machine.usse.usse_target import UsseTarget
from isakit.machine.vuc import CoreMachine
from isakit.machine.vuc.vuc_target import VucTarget


def execution_of(machine: object, program: Program | None = None, *, compiled: bool = True) -> Execution:
    """Return the execution for a machine's program; see `Session`. Raises LaunchError for anything else."""
    target = target_of(machine)
    if target.isa == "tesla":
        from isakit.debug.tesla_execution import TeslaExecution
        from isakit.machine.tesla.tesla_target import TeslaTarget

        m = cast(TeslaTarget, target).machine
        code = m.launch.code
        if program is None:
            program = Program(code.decoder, code.units, code.address)
        return TeslaExecution(m, program, compiled=compiled)
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


class VucExecution(SteppedExecution):
    """A vµc core; positions are cycles."""

    unit = "cycle"
    tells_touches = False

    @property
    def _core(self) -> CoreMachine:
        return cast(VucTarget, self.target).core

    @property
    def position(self) -> int:
        return self._core.cycle

    def step(self) -> int | None:
        return self.target.step()

    def frames(self, thread: int) -> list[Frame]:
        unit = self.program.decoder.view.variant.unit_bytes
        return [Frame("call", unit * a, None, "where the call returns to") for a in reversed(self._core.sr.stack)]

    def facts(self, thread: int) -> Mapping[str, int]:
        core = self._core
        return {"thread": 0, "cycle": core.cycle, "pc": core.pc * self.program.decoder.view.variant.unit_bytes}

    @property
    def instructions(self) -> int:
        return self._core.issued

    def load(self, saved: SavedState, position: int) -> None:
        self.target.restore(saved[0])

    def run(self, until: int, points: Sequence[Point], record: bool = False) -> Hit | Ended:
        if any(p.every for p in points):
            return super().run(until, points, record)
        stops = frozenset(a for p in points for a in p.addresses)
        while self.position < until:
            if self.following is None:
                return "finished"
            # A cycle in which the core waits is before no instruction.
            if not self._core.waiting and self.address in stops:
                met = self.met(points, 0, record)
                if met and not record:
                    return Hit(met)
                self.target.step()
                continue
            stop = self.target.run(stops, until - self.position) if not self._core.waiting or not stops else None
            if stop is None:
                self.target.step()
            elif stop.reason == "asleep":
                return "asleep"
        return "until"


class UsseExecution(SteppedExecution):
    """A USSE program; positions count instructions of groups of invocations."""

    @property
    def _machine(self) -> Machine:
        return cast(UsseTarget, self.target).machine

    @property
    def accessed(self) -> Machine:
        return self._machine

    def lanes(self, thread: int) -> list[int]:
        at = self._machine.at(thread)
        if at is None:
            return [thread]
        mask = self._machine.waiting[at]
        every = range(self._machine.lanes) if mask is None else np.flatnonzero(mask).tolist()
        return sorted(every, key=lambda t: t != thread)

    def facts(self, thread: int) -> Mapping[str, int]:
        return {"thread": thread, "invocation": thread, "pc": 8 * (self._machine.at(thread) or 0)}

    def find(self, **where: object) -> int:
        """Return the thread that `thread` or `invocation` names."""
        if "invocation" in where:
            where = {"thread": where["invocation"], **{k: v for k, v in where.items() if k != "invocation"}}
        return super().find(**where)


__all__ = ["LaunchError", "execution_of"]
