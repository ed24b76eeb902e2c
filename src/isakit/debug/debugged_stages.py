"""A stage engine whose runs are the launches of a program that debuggers attach to."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from isakit.debug.attach import AttachServer
from isakit.debug.execution import program_of
from isakit.debug.watched_stages import WrappedStages
from isakit.graphics.draw_state import GraphicsChoices
from isakit.graphics.stage import Stage, StageMachine, StageRun
from isakit.graphics.stage_engine import StageEngine
from isakit.machine.tesla import Machine
from isakit.machine.tesla.device_memory import ALIGNMENT, DeviceMemory
from isakit.machine.tesla.launch import Launch, Stats

if TYPE_CHECKING:
    from isakit.machine.tesla.compiled.launch.compiled_kernels import CompiledKernel


class DebuggedStages(WrappedStages):
    """Runs programs like the wrapped engine or, while a debugger is attached, on the reference machine in its session.

    A run is a launch of the kernel `vertex`, `geometry` or `fragment`: up to 16,384 vertices, primitives or fragments
    of a draw, the lanes of its warps. Those of compute shaders, which no stage engine runs, come through `grid`.
    """

    def __init__(self, inner: StageEngine, server: AttachServer) -> None:
        super().__init__(inner)
        self._server = server

    def prepared(
        self, launch: Launch, lanes: int, results: Iterable[int], choices: GraphicsChoices, eager: bool | None = None
    ) -> tuple[Launch, CompiledKernel] | None:
        """Return None while a debugger is attached, so that draws go batch by batch through `run`."""
        return None if self._server.wanted else super().prepared(launch, lanes, results, choices, eager)

    def run(
        self, launch: Launch, stage: Stage, results: Iterable[int] | None = None, *, borrow: bool = False
    ) -> StageRun:
        """See `StageEngine`."""
        if not self._server.wanted:
            return super().run(launch, stage, results, borrow=borrow)
        done = self._server.launch(StageMachine(launch, stage), program_of(launch.code), _kernel(stage), self._there)
        assert isinstance(done, StageMachine)
        return StageRun(done.state, done.stats)

    def grid(self, launch: Launch, device: DeviceMemory) -> Stats | None:
        """Run the grid of a compute shader as a launch of the kernel `compute`; None while no debugger is attached."""
        if not self._server.wanted:
            return None
        machine = Machine(launch, _within_windows(launch, device))
        return self._server.launch(machine, program_of(launch.code), "compute", self._there).stats

    def _there(self) -> None:
        """Raise KeyboardInterrupt if the program has gone."""
        if self._inner.cancelled:
            raise KeyboardInterrupt


def _within_windows(launch: Launch, device: DeviceMemory) -> DeviceMemory:
    """Return the device's memory restricted to the windows of a launch, since a debugger copies all of it."""
    out = DeviceMemory(device.memory.bytes)
    parts: list[list[int]] = []
    for w in sorted(launch.windows.values(), key=lambda w: w.base):
        first, end = w.base // ALIGNMENT * ALIGNMENT, -(-w.end // ALIGNMENT) * ALIGNMENT
        if parts and first <= parts[-1][1]:
            parts[-1][1] = max(end, parts[-1][1])
        else:
            parts.append([first, end])
    for first, end in parts:
        out.alloc(min(end, out.limit) - first, first, zeroed=False)
    return out


def _kernel(stage: Stage) -> str:
    if stage.varyings is not None:
        return "fragment"
    return "vertex" if stage.primitive is None else "geometry"


__all__ = ["DebuggedStages"]
