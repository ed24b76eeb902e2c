"""The macroblock ring: packets in memory to macroblocks.

A packet is a header word (type in bits 31:24, count in bits 23:0) and a payload. VP2 counts vectors in type 1 and
coefficients in type 2; VP3 and VP4 always count words. Source: [vuc] 14 "MBRING".
"""

from __future__ import annotations

from collections import deque

from isakit.errors import MachineFault
from isakit.machine.vuc.core_memory import HostMemory
from isakit.machine.vuc.macroblock import Input

HEADER, VECTORS, RESIDUAL = 0, 1, 2
VP2_CODED, VP2_WEIGHTS = 3, 4
SAMPLES, CODED, WEIGHTS, END = 3, 4, 5, 6


class Ring:
    """Position in the ring and the macroblocks parsed so far. All positions and sizes are bytes."""

    def __init__(self, memory: HostMemory, vp2: bool) -> None:
        self.memory, self.vp2 = memory, vp2
        self.offset = self.size = self.position = self.available = 0
        self.ready: deque[Input] = deque()
        self.ended = False
        self._pending = Input()
        self._started = False

    def reset(self) -> None:
        """Discard everything that was parsed."""
        self.ready.clear()
        self._pending, self._started, self.ended = Input(), False, False

    def _word(self, ahead: int) -> int:
        at = self.position + 4 * ahead
        return self.memory.word(self.offset + (at % self.size if self.size else at))

    def parse(self, mpeg: bool, limit: int = 4) -> None:
        """Parse complete packets until `limit` macroblocks are ready or the bytes run out."""
        while len(self.ready) < limit and self.available >= 4:
            head = self._word(0)
            kind, count = head >> 24, head & 0xFFFFFF
            words = self._payload_words(kind, count)
            if self.available < 4 * (1 + words):
                break
            payload = tuple(self._word(1 + i) for i in range(words))
            if self._started and self._starts_another(kind):
                self._complete()
                continue  # look at the same packet again, now with room
            used = 4 * (1 + words)
            self.position = (self.position + used) % self.size if self.size else self.position + used
            self.available -= used
            self._accept(kind, count, payload, mpeg)

    def _payload_words(self, kind: int, count: int) -> int:
        if not self.vp2:
            return count
        if kind == VECTORS:
            return count + 1  # the count is that of the vectors; the second header word comes on top
        if kind == RESIDUAL:
            return (count + 1) // 2
        if kind == VP2_WEIGHTS:
            return 2 * count
        return count

    def _starts_another(self, kind: int) -> bool:
        return kind in (HEADER, VECTORS, VP2_WEIGHTS if self.vp2 else WEIGHTS) or (not self.vp2 and kind == END)

    def _accept(self, kind: int, count: int, payload: tuple[int, ...], mpeg: bool) -> None:
        mb = self._pending
        coded, weights = (VP2_CODED, VP2_WEIGHTS) if self.vp2 else (CODED, WEIGHTS)
        if kind == VECTORS:
            mb.vectors = payload
        elif kind == HEADER:
            mb.header = payload
            self._started = True
            if self._is_done_after_header(mb, mpeg):
                self._complete()
        elif kind == coded:
            mb.coded = payload
            if self._started:
                self._complete()
        elif kind == weights:
            mb.weights.extend(zip(payload[::2], payload[1::2], strict=False))
        elif kind == RESIDUAL or (kind == SAMPLES and not self.vp2):
            mb.residual.append((kind, payload))
        elif kind == END and not self.vp2:
            self.ended = True
        else:
            raise MachineFault("MBRING_PACKET", 0, detail=f"packet type {kind}, count {count:#x}")

    @staticmethod
    def _is_done_after_header(mb: Input, mpeg: bool) -> bool:
        if mpeg:
            if mb.header and mb.header[0] >> 16 & 1:
                return True  # an error header
            flags = mb.header[2] if len(mb.header) > 2 else 0
            return not flags >> 6 & 1 and not flags >> 7 & 1
        return bool(mb.skip_flag)

    def _complete(self) -> None:
        self.ready.append(self._pending)
        self._pending, self._started = Input(), False
