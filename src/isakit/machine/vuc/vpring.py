"""VP[] and the rings of VP2.

No public source describes the layout of VP[] or of the records. The convention here: four buffers of 0x100 bytes
(DEBLOCK 0 and 1, CTRL 0 and 1); a trigger appends the bytes that were stored in the buffer since its last flush, from
its start to the last one, to the ring. Source: [vuc] 10, 14 "VPRING".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from isakit.machine.vuc.core_memory import VP_BYTES, HostMemory

RESIDUAL, CTRL, DEBLOCK = 0, 1, 2
RING_NAMES = ("RESIDUAL", "CTRL", "DEBLOCK")
BUFFER = 0x100
# $stat bit -> (ring, start of the buffer in VP[])
BUFFERS = {0: (DEBLOCK, 0x000), 1: (DEBLOCK, 0x100), 2: (CTRL, 0x200), 3: (CTRL, 0x300)}


@dataclass
class OutputRing:
    """One ring in memory; positions and sizes are bytes."""

    offset: int = 0
    halt: int = 0
    position: int = 0
    size: int = 0


class VpRing:
    """VP[] with its rings. `busy` are the $stat bits of running flushes."""

    def __init__(
        self,
        memory: HostMemory,
        later: Callable[[int, Callable[[], None], str], object],
        halted: Callable[[str], None],
        cycles: int,
    ) -> None:
        self.memory, self._later, self._halted, self._cycles = memory, later, halted, cycles
        self.data = bytearray(VP_BYTES)
        self._extent = dict.fromkeys(BUFFERS, 0)
        self.rings = [OutputRing() for _ in RING_NAMES]
        self.busy = 0
        self.enable = 0

    def store(self, address: int, value: int, count: int) -> None:
        """Store `count` little-endian bytes at `address`."""
        for k in range(count):
            at = (address + k) % VP_BYTES
            self.data[at] = value >> 8 * k & 0xFF
            bit = at // BUFFER
            self._extent[bit] = max(self._extent[bit], at % BUFFER + 1)

    def trigger(self, bits: int) -> None:
        """Start flushing the buffers of $stat bits 0 to 3."""
        for bit in BUFFERS:
            if bits >> bit & 1 and not self.busy >> bit & 1:
                self.busy |= 1 << bit
                self._later(self._cycles, partial(self._flush, bit), "vpring flush")

    def _flush(self, bit: int) -> None:
        ring_number, start = BUFFERS[bit]
        ring = self.rings[ring_number]
        count = self._extent[bit]
        room = self._room(ring)
        if count > room:
            # Not enough room: the flush stays busy until the host moves HALT_POS.
            self._halted(RING_NAMES[ring_number])
            self._later(self._cycles, partial(self._flush, bit), "vpring flush")
            return
        data = self.data[start : start + count]
        for k, byte in enumerate(data):
            at = ring.position + k
            self.memory.write(ring.offset + (at % ring.size if ring.size else at), bytes([byte]))
        ring.position = (ring.position + count) % ring.size if ring.size else ring.position + count
        self._extent[bit] = 0
        self.busy &= ~(1 << bit)

    @staticmethod
    def _room(ring: OutputRing) -> int:
        """Return how many bytes may be written before the halt position; without a size the ring is unlimited."""
        if not ring.size:
            return 1 << 32
        return (ring.halt - ring.position - 1) % ring.size + 1 if ring.halt != ring.position else ring.size

    def reset_ring(self, ring: int) -> None:
        """Set the write position back."""
        self.rings[ring].position = 0
