"""Replays a capture, without its program and without Mesa."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from isakit.engine.protocol import Array
from isakit.errors import FormatError, HostError
from isakit.graphics.draw_state import DrawStats
from isakit.graphics.framebuffer import shown
from isakit.hosts.drm import capture
from isakit.hosts.drm.card import Channel, StopReplay
from isakit.hosts.drm.card_settings import CardSettings
from isakit.hosts.drm.chips import CHIPS, CardChip
from isakit.hosts.drm.engines.draw3d import Drawing
from isakit.hosts.drm.engines.framebuffer import OpenColor, color_image
from isakit.hosts.drm.memory import BASE, FILE_BYTES, VideoMemory
from isakit.hosts.drm.report import Report
from isakit.hosts.mappings import SPARSE
from isakit.results import record


@dataclass(frozen=True)
class ReplayedDraw:
    """A draw of a capture: its position, statistics and cost.

    Attributes: `seconds` of this replay; `changed`: the methods of the 3D engine whose words differ from those of the
    draw before, by name.
    """

    frame: int
    draw: int
    mode: str
    fragments: int
    vertices: int = 0
    triangles: int = 0
    instructions: int = 0
    seconds: float = 0.0
    changed: tuple[str, ...] = ()


@record
class ReplayedFrames:
    """The chip, draws and counts of a replay, for JSON."""

    chip: str
    draws: list[ReplayedDraw]
    counts: dict[str, int]
    seconds: dict[str, float]
    unsupported: dict[str, int]
    faults: dict[str, int]


def _memory(path: Path) -> VideoMemory:
    """Return memory for a capture: a whole card's if memory is allocated lazily, else as much as the capture uses."""
    size = FILE_BYTES if SPARSE else capture.extent(path)
    try:
        return VideoMemory(size, mappings_known=True)
    except OSError as e:
        raise HostError(f"no {size >> 20} MiB of addresses for the card's memory: {e.strerror}") from None


class Replay:
    """A capture being replayed.

    Args:
        path: the file.
        settings: how programs run.
        chip: replaces the chip of the capture.
        report: collects the statistics.

    Attributes: the executed `draws`; `on_channel`: called with every channel before anything is executed in it;
    `on_draw`: called after every draw; `lists_changes`: draws list the state that has changed. Raises FormatError.
    """

    def __init__(
        self, path: Path, settings: CardSettings | None = None, chip: CardChip | None = None,
        report: Report | None = None,
    ) -> None:  # fmt: skip
        self.path, self.settings, self.report = path, settings or CardSettings(), report or Report()
        number, self._records = capture.read(path)
        if chip is None:
            if number not in CHIPS:
                raise FormatError(str(path), 0, f"a capture of chip {number:#x}")
            chip = CHIPS[number]
        self.chip = chip
        self.draws: list[ReplayedDraw] = []
        self.memory = _memory(path)
        self._channels: dict[int, Channel] = {}
        self._classes: dict[int, int] = {}
        self._handles: dict[int, int] = {}
        self._freed: list[int] = []
        self.on_channel: Callable[[Channel], None] | None = None
        self.on_draw: Callable[[], None] | None = None
        self._last: Channel | None = None
        self._stop: tuple[int | None, int | None] = None, None
        self._state: dict[int, Array] = {}
        self.lists_changes = False

    def close(self) -> None:
        """Free the memory, and the channels, whose images are views of it."""
        self._channels.clear()
        self._last = None
        self.memory.close()

    def run(self, frame: int | None = None, draw: int | None = None) -> None:
        """Replay everything, or up to the end of a frame (from 0), or up to a draw of it (from 1)."""
        self._stop = frame, draw
        try:
            for record in self._records:
                self._do(record)
        except StopReplay:
            pass

    def _do(self, r: capture.CapturedEvent) -> None:
        if r.kind == "allocate":
            self._free()
            handle, offset, size = r.numbers
            try:
                made = self.memory.allocate(size, 1, offset=offset)
            except OSError as e:
                raise FormatError(str(self.path), 0, f"a memory object that does not fit: {e.strerror}") from e
            self._handles[handle] = made.handle
        elif r.kind == "free":
            found = self._handles.pop(r.numbers[0], None)
            if found is not None:
                self._freed.append(found)
        elif r.kind == "write":
            self.memory.write_file(r.numbers[0], r.data)
        elif r.kind == "object":
            self._classes[r.numbers[0]] = r.numbers[1]
        elif r.kind == "channel":
            self._channel(r.numbers[0])
        else:
            channel = self._last = self._channel(r.numbers[0])
            flat = r.numbers[1:]
            channel.push(list(zip(flat[::2], flat[1::2], strict=True)))

    def _free(self) -> None:
        """Free released objects, only when room is needed: the final targets of a program can then still be read."""
        for handle in self._freed:
            self.memory.free(handle)
        self._freed.clear()

    def _channel(self, number: int) -> Channel:
        found = self._channels.get(number)
        if found is None:
            found = Channel(self.memory, self.chip, self.report, self.settings, self._classes)
            found.engine3d.drawing.on_draw = partial(self._drawn, number)
            if self.on_channel is not None:
                self.on_channel(found)
            self._channels[number] = found
        return found

    def _drawn(self, number: int, frame: int, draw: int, mode: str, stats: DrawStats) -> None:
        wanted, last = self._stop
        if wanted is not None and frame > wanted:
            raise StopReplay
        changed = self._changes(number) if self.lists_changes else ()
        counts = stats.fragments, stats.vertices, stats.triangles, stats.instructions
        self.draws.append(ReplayedDraw(frame, draw, mode, *counts, stats.seconds, changed))
        if self.on_draw is not None:
            self.on_draw()
        if last is not None and draw >= last and (wanted is None or frame == wanted):
            self._last = next(c for c in self._channels.values() if c.engine3d.drawing.frame == frame)
            raise StopReplay

    def _changes(self, number: int) -> tuple[str, ...]:
        """Return the names of a channel's state that has changed since the previous draw."""
        engine = self._channels[number].engine3d
        before = self._state.get(number)
        self._state[number] = now = np.array(engine.state, np.int64)
        if before is None:
            return ()
        found = (engine.table.by_word[w] for w in np.flatnonzero(before != now).tolist())
        return tuple(dict.fromkeys(m[0].name for m in found if m is not None and m[0].read))

    @property
    def drawing(self) -> Drawing:
        """The drawing of the channel that drew last. Raises HostError if nothing was drawn."""
        if self._last is None:
            raise HostError("nothing was drawn")
        return self._last.engine3d.drawing

    def picture(self, target: int = 0) -> NDArray[np.uint8]:
        """Return a render target of the channel that drew last: uint8 [height, width, 4], row 0 of memory first.

        Raises HostError if nothing is bound.
        """
        engine = None if self._last is None else self._last.engine3d
        image = None if engine is None else color_image(engine, target)
        if image is None:
            raise HostError(f"no image is bound as render target {target}")
        opened = OpenColor(image, 0)
        opened.begin()
        opened.load()
        return shown(opened.target).copy()


__all__ = ["BASE", "Replay", "ReplayedDraw"]
