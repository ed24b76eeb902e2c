"""A channel of the card: a FIFO and the engines behind its subchannels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from isakit.engine.protocol import Array
from isakit.errors import BudgetExceeded, IsakitError, NotModelled, described_bug
from isakit.hosts.drm.card_settings import CardSettings
from isakit.hosts.drm.chips import CardChip
from isakit.hosts.drm.engine import Engine
from isakit.hosts.drm.engines.compute import ComputeEngine
from isakit.hosts.drm.engines.copy import CopyEngine
from isakit.hosts.drm.engines.eng2d import Engine2D
from isakit.hosts.drm.engines.eng3d import Engine3D
from isakit.hosts.drm.fifo import Fifo, FifoError
from isakit.hosts.drm.memory import GpuFault, VideoMemory
from isakit.hosts.drm.report import Report
from isakit.hosts.drm.tables import TABLES

SUBCHANNELS = 8
FIFO_METHODS = 0x100
"""Methods below this are the FIFO's own."""


class StopReplay(Exception):
    """Raised by a caller's `on_draw` to end a push early."""


class Channel:
    """A channel.

    Attributes: `classes`: object handle -> class; `engine3d` and the others.
    """

    def __init__(
        self, memory: VideoMemory, chip: CardChip, report: Report, settings: CardSettings, classes: dict[int, int]
    ) -> None:
        self.memory, self.report, self.classes = memory, report, classes
        self.engine3d = Engine3D(memory, report, chip, settings)
        self.compute = ComputeEngine(memory, report, chip, settings, self.engine3d)
        engines: Sequence[Engine] = (
            self.engine3d,
            Engine2D(memory, report),
            CopyEngine(memory, report),
            self.compute,
        )
        self._engines = engines
        self._by_class = {c: e for e in engines for c in e.table.classes}
        # The driver's compute set-up may never arrive: the engine is there from the beginning.
        # Source: [nv50] "Drivers' own quirks".
        self._subchannels: list[Engine | None] = [None] * SUBCHANNELS
        self._subchannels[6] = engines[3]
        self._fifo = Fifo(self.write)
        self.failed = False

    def write(self, subchannel: int, method: int, data: Array, increment: bool) -> None:
        """Write words to a method; an error is reported and the rest of the packet is dropped."""
        if method == 0 and increment:
            self._bind(subchannel, int(data[0]))
            data, method = data[1:], 4
            if not len(data):
                return
        engine = self._subchannels[subchannel]
        if engine is None:
            if method >= FIFO_METHODS:
                self.report.fault(f"fifo: nothing is bound to subchannel {subchannel}")
                return
            engine = self.engine3d
        try:
            engine.write(method, data, increment)
        except NotModelled as e:
            self.report.missing(f"{engine.table.name}: {e}")
        except GpuFault as e:
            self.report.fault(f"{engine.table.name}: {e}")
            self.failed = True
        except IsakitError as e:
            if isinstance(e, BudgetExceeded):
                for some in self._engines:
                    some.stopped = True
            self.report.fault(f"{engine.table.name}: {type(e).__name__}: {e}")
            self.failed = True
        except StopReplay:
            raise
        except Exception as e:  # a mistake of ours costs the program one packet, not its card
            self.report.fault(f"internal: {described_bug(e)}")
            self.failed = True

    def _bind(self, subchannel: int, handle: int) -> None:
        number = self.classes.get(handle, handle & 0xFFFF)
        engine = self._by_class.get(number)
        if engine is None:
            self.report.fault(f"fifo: object {handle:#x} has class {number:#x}, which no engine speaks")
        else:
            self._subchannels[subchannel] = engine
        self.report.line(f"fifo    subchannel {subchannel}: {engine.table.name if engine else 'nothing'}")

    def push(self, segments: Sequence[tuple[int, int]]) -> bool:
        """Execute segments (address, bytes) of a push; return whether all went well.

        Raises GpuFault for a segment outside of memory.
        """
        self.failed = False
        self.memory.touch_mapped()
        for address, count in segments:
            words = self.memory.view(address, count & ~3, "push").view(np.uint32).copy()
            try:
                self._fifo.segment(words)
            except FifoError as e:
                self.report.fault(f"fifo: {e}")
                self._fifo.reset()
                self.failed = True
        return not self.failed

    def cancel(self) -> None:
        """Stop work in progress for a process that has exited."""
        self.engine3d.drawing.pipeline.engine.cancel()

    @property
    def packets(self) -> int:
        """Packets that went through the FIFO."""
        return self._fifo.packets


__all__ = ["TABLES", "Channel"]
