"""A draw of a capture once more, with other words in registers, in textures or in samplers."""

from __future__ import annotations

import copy
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from isakit.engine.protocol import Array
from isakit.hosts.drm.card import Channel, StopReplay
from isakit.hosts.drm.card_settings import CardSettings
from isakit.hosts.drm.engines.eng3d import Engine3D
from isakit.hosts.drm.memory import BASE
from isakit.hosts.drm.replay import Replay

HEADER_WORDS = 8
Packet = tuple[int, Array, bool]


class Redraw:
    """The n-th draw of a capture (from 1), and what can be seen of it.

    It is drawn as often as asked for, from the same memory and registers. What is seen: the card's memory after it,
    after a query of the samples and after a clear, and what was reported.
    """

    def __init__(self, path: Path, number: int = 1) -> None:
        self.replay = Replay(path, CardSettings())
        self.number, self.packets = number, list[Packet]()
        self.replay.on_channel = self._watch
        self.replay.run()
        self.replay._free()  # pyright: ignore[reportPrivateUsage] - what comes after the draw is not done
        if not self.packets:
            raise ValueError(f"{path.stem} has no draw {number}")

    def _watch(self, channel: Channel) -> None:
        self.engine = engine = channel.engine3d
        begin, end = engine.table.word("VERTEX_BEGIN_GL"), engine.table.word("VERTEX_END_GL")
        write, seen = engine.write, 0

        def watched(method: int, data: Array, increment: bool) -> None:
            nonlocal seen
            first = method >> 2
            touched = range(first, first + len(data) if increment else first + 1)
            if begin in touched:
                seen += 1
                if seen == self.number:
                    self._keep(channel)
            if seen == self.number:
                self.packets.append((method, data.copy(), increment))
            write(method, data, increment)
            if end in touched and seen == self.number:
                raise StopReplay

        engine.write = watched  # type: ignore[method-assign]
        self._write = write

    def _keep(self, channel: Channel) -> None:
        e, memory = self.engine, channel.memory
        used = max(o.offset + o.size for o in memory.objects.values())
        self.before = memory.bytes[:used].copy()
        self.used = used
        self.state = list(e.state)
        self.kept = {name: copy.deepcopy(getattr(e, name)) for name in self._changing}
        c = e.constants
        self.constants = dict(c.defined), dict(c.bound)

    _changing = ("textures", "samplers", "counters", "samples", "stream_offsets", "stream_full", "stream_written",
                 "point_size_word", "current", "_instance", "_edge")  # fmt: skip

    def headers(self, kind: str) -> list[int]:
        """Where in memory the texture (`tic`) or sampler (`tsc`) headers are that the draw has bound."""
        e = self.engine
        table = e.address(f"{kind.upper()}_ADDRESS") - BASE
        return [table + 4 * HEADER_WORDS * n for n in set((e.textures if kind == "tic" else e.samplers).values())]

    def seen(
        self, methods: Mapping[tuple[str, int], int] | None = None,
        headers: Sequence[tuple[str, Callable[[tuple[int, ...]], Sequence[int]]]] = (), actions: bool = False,
    ) -> tuple[Any, ...]:  # fmt: skip
        """What is seen of the draw.

        Args:
            methods: words for methods and their indices, written before it, and instead of what it writes there itself.
            headers: for `tic` or `tsc` what makes other words of all that are bound.
            actions: whether a query and a clear follow.
        """
        e, memory, report = self.engine, self.replay.memory, self.replay.report
        memory.bytes[: self.used] = self.before
        memory.touch()
        e.state[:] = self.state
        e.stale = -1
        for name, value in self.kept.items():
            setattr(e, name, copy.deepcopy(value))
        e.constants.defined, e.constants.bound = map(dict, self.constants)
        report.unsupported.clear()
        report.faults.clear()
        patched: list[tuple[Array, Array]] = []
        for kind, change in headers:
            for at in self.headers(kind):
                words = memory.words[at >> 2 : (at >> 2) + HEADER_WORDS]
                patched.append((words, words.copy()))
                words[:] = np.array(change(tuple(words.tolist())), np.uint32)
        out: list[Any] = []
        for (name, k), word in (methods or {}).items():
            self._do([(e.table.word(name, k) << 2, np.array([word], np.uint32), False)])
        self._do([_replaced(p, {e.table.word(name, k): word for (name, k), word in (methods or {}).items()})
                  for p in self.packets])  # fmt: skip
        for words, before in patched:
            words[:] = before
        out.append(zlib.crc32(memory.bytes[: self.used]))
        out += [tuple(e.counters.values()), e.samples, tuple(e.stream_offsets)]
        if actions:
            for name, word in ACTIONS:
                self._do([(e.table.word(name) << 2, np.array([word], np.uint32), False)])
            out.append(zlib.crc32(memory.bytes[: self.used]))
        return *out, tuple(report.unsupported), tuple(report.faults)

    def _do(self, packets: Sequence[Packet]) -> None:
        from isakit.errors import IsakitError, NotModelled

        for method, data, increment in packets:
            try:
                self._write(method, data, increment)
            except NotModelled as e:
                self.replay.report.missing(str(e))
            except IsakitError as e:
                self.replay.report.fault(str(e))

    def close(self) -> None:
        """Give the memory back."""
        self.replay.close()


def _replaced(packet: Packet, words: Mapping[int, int]) -> Packet:
    """A packet with other words for some methods."""
    method, data, increment = packet
    changed = data.copy()
    for k in range(len(data)):
        changed[k] = words.get((method >> 2) + (k if increment else 0), data[k])
    return method, changed, increment


ACTIONS = (
    ("QUERY_GET", 1 << 28), ("CLEAR_BUFFERS", 0x3F), ("CB_DEF_SET", 0x7B << 16 | 0x100), ("CB_ADDR", 0x7B),
    ("CB_DATA", 0x12345678), ("SEMAPHORE_TRIGGER", 2),
)  # fmt: skip
"""What reads registers beside draws: a query, a clear, constants, a semaphore."""
__all__ = ["Engine3D", "Redraw"]
