"""The FIFO: from the words of a push to writes of methods. It is independent of engines.

A packet is a header and its data, which may continue in the next segment of the push. Source: [nv50] "FIFO".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from isakit.engine.protocol import Array
from isakit.errors import IsakitError

_FORM = 0xE003_0003
_INCREMENTING, _REPEATED, _LONG = 0, 0x4000_0000, 0x0003_0000
MOST_LONG = (1 << 24) - 1


class FifoError(IsakitError):
    """A word that is not a header of a packet."""


Write = Callable[[int, int, Array, bool], None]
"""(subchannel, method, words, increment): writes words to a method, or to it and those that follow it."""


@dataclass
class _Open:
    """A packet whose data is incomplete."""

    subchannel: int
    method: int
    left: int
    increment: bool


class Fifo:
    """Decodes one channel's pushes.

    Attributes: `packets`, `words`: how many have been decoded.
    """

    def __init__(self, write: Write) -> None:
        self.write = write
        self.packets = self.words = 0
        self._open: _Open | None = None
        self._counting: tuple[int, int] | None = None

    def reset(self) -> None:
        """Forget an unfinished packet."""
        self._open = self._counting = None

    def segment(self, words: Array) -> None:
        """Decode a segment (u32). Raises FifoError for a word that begins no packet; the rest is skipped."""
        at, end = 0, len(words)
        self.words += end
        while at < end:
            packet = self._open
            if packet is not None:
                take = min(packet.left, end - at)
                data = words[at : at + take]
                at += take
                first = packet.method
                packet.left -= take
                if packet.increment:
                    packet.method += 4 * take
                if not packet.left:
                    self._open = None
                self.write(packet.subchannel, first, data, packet.increment)
                continue
            header = int(words[at])
            at += 1
            if self._counting is not None:  # this word is the count of a long packet
                subchannel, method = self._counting
                self._counting = None
                self._begin(subchannel, method, header & MOST_LONG, False)
                continue
            if not header:
                continue
            form = header & _FORM
            subchannel, method = header >> 13 & 7, header & 0x1FFC
            if form in (_INCREMENTING, _REPEATED):
                count = header >> 18 & 0x7FF
                if 0 < count <= end - at:  # as nearly all packets
                    self.packets += 1
                    at += count
                    self.write(subchannel, method, words[at - count : at], form == _INCREMENTING)
                else:
                    self._begin(subchannel, method, count, form == _INCREMENTING)
            elif form == _LONG:
                self._counting = subchannel, method
            else:
                raise FifoError(f"{header:#010x} is not a header of a packet")

    def _begin(self, subchannel: int, method: int, count: int, increment: bool) -> None:
        self.packets += 1
        if count:
            self._open = _Open(subchannel, method, count, increment)
