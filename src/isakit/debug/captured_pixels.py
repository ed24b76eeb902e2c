"""The history of a pixel of a captured OpenGL program: as `pixels`, for a draw of a capture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from isakit.debug.pixels import Pixel, WatchedPipeline
from isakit.errors import LaunchError
from isakit.graphics.draw_state import DrawStats
from isakit.graphics.shader import FragmentShader, VertexShader
from isakit.hosts.drm.card import Channel
from isakit.hosts.drm.card_settings import CardSettings
from isakit.hosts.drm.chips import chip_named
from isakit.hosts.drm.engines.draw3d import Drawing
from isakit.hosts.drm.replay import Replay


class _CapturedPipeline(WatchedPipeline):
    """Looks at the draws that were asked for; of frames, at the last one so far."""

    def look_at(self, drawing: Drawing, frame: int | None, draw: int | None) -> None:
        """Say which draws; without a number at all of them."""
        self._drawing, self._frame, self._draw = drawing, frame, draw
        self._seen: int | None = None
        self.cleared: tuple[float, ...] = ()
        self.final: tuple[float, ...] = ()
        self.looked = False

    def draw(self, mode: str, vertex: VertexShader, fragment: FragmentShader, attributes: Any = (),
             **options: Any) -> DrawStats:  # fmt: skip
        """See `Pipeline`."""
        d = self._drawing
        self.watching = self._frame in (None, d.frame) and self._draw in (None, d.draws) and self.inside
        if not self.watching:
            return super().draw(mode, vertex, fragment, attributes, **options)
        if self._seen != d.frame:
            self.found.clear()
            self.cleared, self._seen = self.now(), d.frame
        self.number, self.looked = d.draws, True
        done = super().draw(mode, vertex, fragment, attributes, **options)
        self.final = self.now()
        return done


def captured_pixel(
    path: Path, x: int, y: int, frame: int | None = None, draw: int | None = None, chip: str | None = None,
    settings: CardSettings | None = None,
) -> Pixel:  # fmt: skip
    """Replay a capture and look at one pixel of render target 0: column x, row y of its memory.

    Row 0 is the lowest of a framebuffer object. Args:
        frame: the frame, from 0; the last one without.
        draw: the draw of it, from 1; all of its draws without.
        chip: another chip than the one it was captured on.

    Raises FormatError for a broken capture, LaunchError where no such draw has such a pixel.
    """
    replay = Replay(path, settings, None if chip is None else chip_named(chip))
    watched: list[_CapturedPipeline] = []

    def prepare(channel: Channel) -> None:
        drawing = channel.engine3d.drawing
        made = drawing.use(_CapturedPipeline)
        made.watch(x, y)
        made.look_at(drawing, frame, draw)
        watched.append(made)

    replay.on_channel = prepare
    try:
        replay.run(frame, draw)
    finally:
        replay.close()
    found = next((p for p in reversed(watched) if p.looked), None)
    if found is None:
        which = f"draw {draw}" if draw is not None else "draw"
        where = f" of frame {frame}" if frame is not None else ""
        raise LaunchError(f"there is no {which}{where} whose target has a pixel ({x}, {y})")
    found.settle()
    return Pixel(x, y, found.cleared, found.final, found.found)


__all__ = ["captured_pixel"]
