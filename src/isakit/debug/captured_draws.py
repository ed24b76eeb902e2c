"""Captured OpenGL programs, replayed with a pipeline that observes its draws."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from isakit.graphics.pipeline import Pipeline
from isakit.hosts.drm.card import Channel
from isakit.hosts.drm.card_settings import CardSettings
from isakit.hosts.drm.chips import chip_named
from isakit.hosts.drm.engines.draw3d import Drawing
from isakit.hosts.drm.replay import Replay

P = TypeVar("P", bound=Pipeline)


def replay_with(
    path: Path, kind: type[P], prepare: Callable[[P, Drawing], None], frame: int | None, draw: int | None,
    chip: str | None = None, settings: CardSettings | None = None,
) -> list[P]:  # fmt: skip
    """Replay a capture up to a frame (from 0) and a draw of it (from 1); returns the pipelines of its channels.

    Without a frame, everything is drawn, and pipelines have seen the last frame last.

    The pipelines are of class `kind`; `prepare` is called with each of them and its `Drawing` before anything is drawn.
    `chip` replaces the chip of the capture. Raises FormatError for a broken capture.
    """
    replay = Replay(path, settings, None if chip is None else chip_named(chip))
    made: list[P] = []

    def begin(channel: Channel) -> None:
        drawing = channel.engine3d.drawing
        made.append(drawing.switch_pipeline(kind))
        prepare(made[-1], drawing)

    replay.on_channel = begin
    try:
        replay.run(frame, draw if frame is not None else None)
    finally:
        replay.close()
    return made


__all__ = ["replay_with"]
