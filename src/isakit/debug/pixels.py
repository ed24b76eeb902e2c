"""The history of a pixel of a scene: the fragments that covered it, in order, each of which can be run in a session."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from isakit.debug.session import Session
from isakit.debug.watched_stages import WatchedStages
from isakit.engine.protocol import Array
from isakit.errors import LaunchError
from isakit.graphics.assembly import Attribute
from isakit.graphics.draw_state import DrawStats
from isakit.graphics.pipeline import Pipeline
from isakit.graphics.planes import Fragments
from isakit.graphics.scene import Scene
from isakit.graphics.shader import FragmentShader, VertexShader
from isakit.graphics.stage import Stage, StageMachine, StageRun
from isakit.machine.tesla.launch import Launch

_QUAD = 4


@dataclass
class PixelFragment:
    """One fragment of a pixel.

    Attributes:
        draw: number of the draw in the scene.
        primitive: number of the primitive in the draw.
        launch, quad, lane: the program's run for the quad of pixels, and the pixel's lane in it.
        color: the program's output for the first target, None if it discarded the fragment.
        before, after: the pixel of the first target around the pass that wrote the fragment. Fragments of one pass,
            which share both, come one right after the other.
    """

    draw: int
    primitive: int
    launch: Launch
    quad: Stage
    lane: int
    color: tuple[float, ...] | None
    before: tuple[float, ...]
    after: tuple[float, ...] = ()

    def machine(self) -> StageMachine:
        """Return the quad's program at its first instruction."""
        return StageMachine(self.launch, self.quad)

    @property
    def meaning(self) -> str:
        """The fate of the fragment, in words."""
        if self.color is None:
            return "its program discarded it"
        if self.before == self.after:
            return f"returned {_shown(self.color)} and left the pixel as it was (a test, a mask, or the same colour)"
        return f"returned {_shown(self.color)}; the pixel became {_shown(self.after)}"

    def __str__(self) -> str:
        return f"draw {self.draw} primitive {self.primitive}: {self.meaning}"


@dataclass
class Pixel:
    """A pixel, counted from the left and from the lowest row, and its fragments in drawing order.

    Attributes: `elsewhere`: if nothing covers it, a description of other draws.
    """

    x: int
    y: int
    cleared: tuple[float, ...]
    final: tuple[float, ...]
    fragments: list[PixelFragment]
    elsewhere: str = ""

    @property
    def last(self) -> int:
        """The number of the last fragment that changed the pixel, or of the very last one if none did.

        Raises LaunchError.
        """
        if not self.fragments:
            raise LaunchError(f"no primitive covers the pixel ({self.x}, {self.y}){self.elsewhere}")
        changed = [n for n, f in enumerate(self.fragments) if f.color is not None and f.before != f.after]
        return changed[-1] if changed else len(self.fragments) - 1

    def session(self, number: int | None = None) -> Session:
        """Start a session in the program of a fragment (the one of `last`), with the pixel in focus.

        Raises LaunchError.
        """
        number = self.last if number is None else number
        if not 0 <= number < len(self.fragments):
            raise LaunchError(f"no fragment {number} at ({self.x}, {self.y}); there are {len(self.fragments)}")
        chosen = self.fragments[number]
        session = Session(chosen.machine())
        session.focus_on(lane=chosen.lane)
        session.about = [*self.lines(), f"this is fragment {number}, lane {chosen.lane} of its quad"]
        return session

    def lines(self) -> list[str]:
        """Explain the pixel's colour in words."""
        out = [f"pixel ({self.x}, {self.y}) was cleared to {_shown(self.cleared)} and is {_shown(self.final)}"]
        return out + [f"fragment {n}: {f}" for n, f in enumerate(self.fragments)]


def pixel(scene: Scene, x: int, y: int, chip: str | None = None) -> Pixel:
    """Draw a scene and return the history of one pixel: column x, row y from below.

    Raises LaunchError for a pixel outside.
    """
    if not (0 <= x < scene.width and 0 <= y < scene.height):
        raise LaunchError(f"the picture has {scene.width} x {scene.height} pixels; ({x}, {y}) is none of them")
    pipeline: WatchedPipeline = scene.pipeline(kind=WatchedPipeline)
    pipeline.watch(x, y)
    cleared = pipeline.now()
    for n in range(len(scene.draws)):
        pipeline.number = n
        scene.draw(pipeline, n, chip or scene.default_chip)
    pipeline.settle()
    return Pixel(x, y, cleared, pipeline.now(), pipeline.found)


def _shown(color: Iterable[float]) -> str:
    return f"({', '.join(f'{c:.4g}' for c in color)})"


class WatchedPipeline(Pipeline):
    """A pipeline that keeps the fragments of one pixel."""

    def watch(self, x: int, y: int) -> None:
        """Watch pixel (x, y) of the draws that follow."""
        self._place = x, y
        self.number = 0
        self.watching = True
        self.found: list[PixelFragment] = []
        self._colors: tuple[int, ...] = ()
        self.engine = WatchedStages(self.engine, self.shaded)

    def draw(self, mode: str, vertex: VertexShader, fragment: FragmentShader,
             attributes: Sequence[Attribute | Array] = (),
             **options: Any) -> DrawStats:  # fmt: skip
        """See `Pipeline`."""
        self._colors = fragment.colors[0] if fragment.colors else ()
        done = super().draw(mode, vertex, fragment, attributes, **options)
        self.settle()
        return done

    def now(self) -> tuple[float, ...]:
        """Return the pixel of the first target."""
        if not self.inside:
            return ()
        t = self.targets[0]
        x, y = self._place
        t.load((x, y, x + 1, y + 1))
        form = t.color_format
        bits = form.decoded(t.pixels[y, x].reshape(1, -1))[0, sorted("rgba".index(c) for c in form.order if c != "x")]
        return tuple(float(v) for v in (bits if form.integer else bits.view(np.float32)))

    @property
    def inside(self) -> bool:
        """True if the pixel lies in the first target."""
        x, y = self._place
        return bool(self.targets) and y < self.targets[0].pixels.shape[0] and x < self.targets[0].pixels.shape[1]

    def settle(self) -> None:
        """Record the colour after the pass of the last fragments found, which has ended."""
        for f in self.found:
            f.after = f.after or self.now()

    def shaded(self, launch: Launch, stage: Stage, done: StageRun) -> None:
        """Look for the pixel in a run of fragments."""
        varyings = stage.varyings
        if not self.watching or not isinstance(varyings, Fragments):
            return
        x, y = self._place
        visible = np.ones(stage.lanes, bool) if stage.visible is None else stage.visible
        here = (np.floor(varyings.x) == x) & (np.floor(varyings.y) == y) & visible
        for lane in np.flatnonzero(here).tolist():
            first = lane // _QUAD * _QUAD
            part = slice(first, first + _QUAD)
            quad = Stage(_QUAD, varyings=varyings.part(first, first + _QUAD), visible=visible[part].copy(),
                         choices=stage.choices)  # fmt: skip
            color = None
            if done.state.visible[lane]:
                bits = done.state.files["r"][list(self._colors), lane]
                color = tuple(float(v) for v in bits.astype(np.uint32).view(np.float32))
            primitive = int(varyings.primitive[lane])
            self.found.append(PixelFragment(self.number, primitive, launch, quad, lane - first, color, self.now()))


__all__ = ["Pixel", "PixelFragment", "WatchedPipeline", "pixel"]
