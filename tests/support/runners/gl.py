"""What the tests of the simulated card share: captures, and a card without a program."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from isakit.hosts.drm.card import Channel
from isakit.hosts.drm.card_settings import CardSettings
from isakit.hosts.drm.chips import CardChip, chip_named
from isakit.hosts.drm.engine import Engine
from isakit.hosts.drm.memory import VideoMemory
from isakit.hosts.drm.replay import Replay
from isakit.hosts.drm.report import Report

CAPTURES = Path(__file__).parents[2] / "vectors" / "gl"
SIZE = 64
"""Pixels of the captured pictures, across and down."""


def picture(path: Path, **settings: object) -> np.ndarray:
    """What a capture draws, upper row first; nothing may be missing."""
    replay = Replay(path, CardSettings(**settings))  # type: ignore[arg-type]
    replay.run()
    image = replay.picture()
    reported = dict(replay.report.faults), dict(replay.report.unsupported)
    replay.close()
    assert reported == ({}, {})
    return image[:SIZE, :SIZE, :3][::-1]


class Card:
    """A channel with memory and all objects bound: 3D on subchannel 3, 2D on 4, copies on 5, compute on 6."""

    def __init__(self, chip: str = "a0", memory_bytes: int = 1 << 24) -> None:
        self.chip: CardChip = chip_named(chip)
        self.memory = VideoMemory(memory_bytes)
        self.report = Report()
        settings = CardSettings(engine="reference")
        self.channel = Channel(self.memory, self.chip, self.report, settings, {})
        self.pushes = self.memory.allocate(1 << 16, 1)
        for subchannel, number in ((3, self.chip.class_3d), (4, 0x502D), (5, 0x5039), (6, 0x50C0)):
            self.push([header(subchannel, 0, 1), number])

    def push(self, words: Any) -> bool:
        """Execute words; returns whether all went well."""
        data = np.asarray(words, np.uint32)
        self.memory.view(self.pushes.address, 4 * len(data))[:] = data.view(np.uint8)
        return self.channel.push([(self.pushes.address, 4 * len(data))])


def write_word(engine: Engine, word: int, value: int) -> None:
    """Write one word of an engine's registers, as a packet does."""
    engine.write(4 * word, np.array([value], np.uint32), increment=True)


def header(subchannel: int, method: int, count: int, form: int = 0) -> int:
    """The header of a packet; `form` 0x40000000 writes one method again and again."""
    return form | count << 18 | subchannel << 13 | method
