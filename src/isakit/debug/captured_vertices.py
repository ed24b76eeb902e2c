"""A vertex of a captured OpenGL program: the inputs and outputs of its program, which can be run in a session."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from isakit.debug.captured_draws import replay_with
from isakit.debug.session import Session
from isakit.debug.watched_stages import WatchedStages
from isakit.errors import LaunchError
from isakit.graphics.draw_state import DrawStats
from isakit.graphics.pipeline import Pipeline
from isakit.graphics.shader import FragmentShader, VertexShader
from isakit.graphics.stage import LANES, Stage, StageMachine, StageRun
from isakit.graphics.vertices import Fetched
from isakit.hosts.drm.engines.draw3d import Drawing
from isakit.machine.tesla.launch import Launch

_WARP = 32


@dataclass(frozen=True)
class DrawnVertex:
    """A vertex of a draw.

    Attributes:
        draw: number of the draw in its frame.
        number: its position in the drawing order.
        index: its number in the vertex arrays.
        launch, warp, lane: the program's run for the 32 vertices of a warp, and its lane among them.
        position: the four words of o[] that clipping takes, as numbers.
    """

    draw: int
    number: int
    index: int
    launch: Launch
    warp: Stage
    lane: int
    position: tuple[float, ...]

    def session(self) -> Session:
        """Start a session in the program, with the vertex in focus."""
        session = Session(StageMachine(self.launch, self.warp))
        session.focus_on(lane=self.lane)
        session.about = [
            f"draw {self.draw} vertex {self.number}: index {self.index}",
            f"its program returned the position ({', '.join(f'{p:.6g}' for p in self.position)})",
            f"this is lane {self.lane} of the {self.warp.lanes} vertices of its warp",
        ]
        return session


class _VertexPipeline(Pipeline):
    """Keeps the run of the vertex program that one vertex was part of."""

    found: DrawnVertex | None = None
    vertices_of: int | None = None
    """The number of vertices of the draw, in drawing order."""

    def look_at(self, drawing: Drawing, frame: int | None, draw: int, number: int) -> None:
        """Select the vertex to observe; without a frame, that of the last one."""
        self._drawing, self._wanted, self._number = drawing, (frame, draw), number
        self._column: int | None = None  # of the vertex, in the runs that are still to come
        self.engine = WatchedStages(self.engine, self._run_done)

    def draw(self, mode: str, vertex: VertexShader, fragment: FragmentShader, attributes: Any = (),
             **options: Any) -> DrawStats:  # fmt: skip
        """See `Pipeline`."""
        if self._drawing.is_at(*self._wanted):
            order = np.asarray(options["indices"]).astype(np.int64)
            self.found, self.vertices_of = None, len(order)
            if self._number < len(order) and order[self._number] != options["restart"]:
                self._index, self._words = int(order[self._number]), list(vertex.position)
                self._column = int(Fetched.of(order, options["restart"], 1).columns[self._number])
        done = super().draw(mode, vertex, fragment, attributes, **options)
        self._column = None
        return done

    def _run_done(self, launch: Launch, stage: Stage, done: StageRun) -> None:
        if self._column is None or stage.attributes is None or stage.primitive is not None:
            return
        if self._column >= LANES:  # the vertices of a draw run so many at a time
            self._column -= LANES
            return
        first = self._column // _WARP * _WARP
        rows = stage.attributes[:, first : first + _WARP].copy()
        words = done.state.files["o"][self._words, self._column].astype(np.uint32).view(np.float32)
        self.found = DrawnVertex(
            self._drawing.draws, self._number, self._index, launch,
            Stage(rows.shape[1], attributes=rows, choices=stage.choices), self._column - first,
            tuple(float(w) for w in words),
        )  # fmt: skip
        self._column = None


def captured_vertex(
    path: Path, number: int, draw: int, frame: int | None = None, chip: str | None = None
) -> DrawnVertex:
    """Replay a capture and return a vertex of a draw (from 1) of a frame (from 0; default: the last one).

    `number` is its position in the drawing order, from 0; `chip` replaces the chip of the capture. Raises FormatError
    for a broken capture, LaunchError where there is no such draw or vertex.
    """
    pipelines = replay_with(
        path, _VertexPipeline, lambda made, drawing: made.look_at(drawing, frame, draw, number), frame, draw, chip
    )
    looked = next((p for p in reversed(pipelines) if p.vertices_of is not None), None)
    where = "" if frame is None else f" of frame {frame}"
    if looked is None:
        raise LaunchError(f"there is no draw {draw}{where}")
    if looked.found is None:
        raise LaunchError(f"draw {draw}{where} has no vertex {number}; its order has {looked.vertices_of} places")
    return looked.found


__all__ = ["DrawnVertex", "captured_vertex"]
