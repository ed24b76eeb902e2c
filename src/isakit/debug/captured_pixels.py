"""The history of a pixel of a captured OpenGL program: as `pixels`, for a draw of a capture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from isakit.debug.captured_draws import replay_with
from isakit.debug.pixels import Pixel, WatchedPipeline
from isakit.engine.protocol import Array
from isakit.errors import LaunchError
from isakit.graphics.assembly import Attribute
from isakit.graphics.draw_state import DrawStats
from isakit.graphics.shader import FragmentShader, VertexShader
from isakit.hosts.drm.card_settings import CardSettings
from isakit.hosts.drm.engines.draw3d import Drawing


class _CapturedPipeline(WatchedPipeline):
    """Observes the selected draws; without a frame, those of the last one so far."""

    def look_at(self, drawing: Drawing, frame: int | None, draw: int | None) -> None:
        """Select the draws to observe; without a number, all of them."""
        self._drawing, self._wanted = drawing, (frame, draw)
        self.seen: int | None = None
        self.cleared: tuple[float, ...] = ()
        self.final: tuple[float, ...] = ()
        self.looked = False

    def draw(self, mode: str, vertex: VertexShader, fragment: FragmentShader,
             attributes: Sequence[Attribute | Array] = (),
             **options: object) -> DrawStats:  # fmt: skip
        """See `Pipeline`."""
        d = self._drawing
        self.watching = d.is_at(*self._wanted) and self.inside
        if not self.watching:
            return super().draw(mode, vertex, fragment, attributes, **options)
        if self.seen != d.frame:
            self.found.clear()
            self.cleared, self.seen = self.now(), d.frame
        self.number, self.looked = d.draws, True
        done = super().draw(mode, vertex, fragment, attributes, **options)
        self.final = self.now()
        return done


def captured_pixel(
    path: Path, x: int, y: int, frame: int | None = None, draw: int | None = None, chip: str | None = None,
    settings: CardSettings | None = None, last: int | None = None,
) -> Pixel:  # fmt: skip
    """Replay a capture and return the history of one pixel of render target 0: column x, row y of its memory.

    Row 0 is the lowest of a framebuffer object. Args:
        frame: the frame, from 0 (default: the last one).
        draw: the draw of the frame, from 1 (default: all).
        chip: replaces the chip it was captured on.
        last: the last draw to execute; the draws before it are observed, too.

    Raises FormatError for a broken capture, LaunchError if there is no such draw or pixel.
    """
    found = _looked(path, x, y, frame, draw, chip, settings, last)
    if found is None:
        which = f"draw {draw}" if draw is not None else "draw"
        where = f" of frame {frame}" if frame is not None else ""
        raise LaunchError(f"there is no {which}{where} whose target has a pixel ({x}, {y})")
    found.settle()
    elsewhere = ""
    if draw is not None and not found.found:
        elsewhere = f" in draw {draw}; {_covering(_looked(path, x, y, found.seen, None, chip, settings))}"
    return Pixel(x, y, found.cleared, found.final, found.found, elsewhere)


def _looked(
    path: Path, x: int, y: int, frame: int | None, draw: int | None, chip: str | None, settings: CardSettings | None,
    last: int | None = None,
) -> _CapturedPipeline | None:  # fmt: skip
    """Replay a capture; return the last pipeline that executed a selected draw to a target with the pixel."""

    def prepare(made: _CapturedPipeline, drawing: Drawing) -> None:
        made.watch(x, y)
        made.look_at(drawing, frame, draw)

    pipelines = replay_with(path, _CapturedPipeline, prepare, frame, draw or last, chip, settings)
    return next((p for p in reversed(pipelines) if p.looked), None)


def _covering(frame: _CapturedPipeline | None) -> str:
    """Describe which draws of a frame cover the pixel."""
    draws = sorted({f.draw for f in frame.found}) if frame is not None else []
    if not draws:
        return "no draw of the frame does"
    return f"{', '.join(f'draw {d}' for d in draws)} of the frame {'does' if len(draws) == 1 else 'do'}"


__all__ = ["captured_pixel"]
