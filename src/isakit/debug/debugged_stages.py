"""A stage engine whose runs are the launches of a program that debuggers attach to."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from isakit.asm import Program
from isakit.debug.attach import AttachServer
from isakit.debug.watched_stages import WrappedStages
from isakit.graphics.draw_state import GraphicsChoices
from isakit.graphics.stage import Stage, StageMachine, StageRun
from isakit.graphics.stage_engine import StageEngine
from isakit.machine.tesla.launch import Launch

if TYPE_CHECKING:
    from isakit.machine.tesla.compiled.launch.compiled_kernels import CompiledKernel


class DebuggedStages(WrappedStages):
    """Runs programs as another engine does; while a debugger is attached, on the reference machine before its eyes.

    A run is a launch of the kernel `vertex`, `geometry` or `fragment`: up to 16,384 vertices, primitives or fragments
    of a draw, the lanes of its warps.
    """

    def __init__(self, inner: StageEngine, server: AttachServer) -> None:
        super().__init__(inner)
        self._server = server

    def prepared(
        self, launch: Launch, lanes: int, results: Iterable[int], choices: GraphicsChoices, eager: bool | None = None
    ) -> tuple[Launch, CompiledKernel] | None:
        """Return nothing while a debugger looks: draws go batch by batch through `run` then."""
        return None if self._server.wanted else super().prepared(launch, lanes, results, choices, eager)

    def run(
        self, launch: Launch, stage: Stage, results: Iterable[int] | None = None, *, borrow: bool = False
    ) -> StageRun:
        """See `StageEngine`."""
        if not self._server.wanted:
            return super().run(launch, stage, results, borrow=borrow)
        code = launch.code
        program = Program(code.decoder, code.units, code.address)
        done = self._server.launch(StageMachine(launch, stage), program, _kernel(stage), self._there)
        assert isinstance(done, StageMachine)
        return StageRun(done.state, done.stats)

    def _there(self) -> None:
        """Raise KeyboardInterrupt if the program has gone."""
        if self._inner.cancelled:
            raise KeyboardInterrupt


def _kernel(stage: Stage) -> str:
    if stage.varyings is not None:
        return "fragment"
    return "vertex" if stage.primitive is None else "geometry"


__all__ = ["DebuggedStages"]
