"""Motion vector surfaces: MVSI[] filled by mvsread, MVSO[] written out by mvswrite.

A macroblock takes 16 little-endian words. Source: [vuc] 14 "MVSURF".
"""

from __future__ import annotations

from isakit.machine.vuc.core_memory import MVSI_CELLS, MVSO_CELLS, HostMemory
from isakit.sem.value import signed

RECORD = 0x40
X_BITS, Y_BITS, RPI_BITS, ZERO_BITS = 14, 12, 5, 4


def in_16_bits(value: int, width: int) -> int:
    """Extend a two's complement number of `width` bits to 16."""
    return signed(value, width) & 0xFFFF


def unpack_macroblock(words: list[int]) -> list[int]:
    """Return the 0x80 cells of one macroblock in MVSI[] from its 16 words: 8 cells per subpartition."""
    cells = [0] * (MVSI_CELLS // 2)
    flags = words[15] >> 26 & 3
    for i in range(16):
        zero = words[(i & ~3) + 1] >> 26 >> (i & 3) & 1
        at = 8 * i
        cells[at] = in_16_bits(words[i] & 0x3FFF, X_BITS)
        cells[at + 1] = in_16_bits(words[i] >> 14 & 0xFFF, Y_BITS)
        cells[at + 2] = words[i & ~3] >> 26 & 0x1F
        cells[at + 3] = zero
        cells[at + 4 : at + 8] = [flags] * 4
    return cells


_DIVISION_MASK = {0: 0, 1: 2, 2: 1, 3: 3}
"""Partitioning code (0 whole, 1 16x8, 2 8x16, 3 8x8) -> mask of the bits of a block number that form its partition
number."""


class SurfaceOutput:
    """MVSO[] and the write unit. `parts` collects the values of single stores to the flag and partitioning cells."""

    def __init__(self, memory: HostMemory) -> None:
        self.memory = memory
        self.cells = [0] * MVSO_CELLS
        self.flags = self.part = 0
        self.offset = self.width = self.mbaff = self.field = 0
        self.left_x = self.left_y = self.address = self.pass_odd = 0
        self.full = False
        self.gathering = False

    def store(self, address: int, value: int) -> None:
        """Store to MVSO[].

        The cells +2 (RPI) exist once per partition, +4 (flags) and +5 (partitioning) once; the other address bits are
        ignored.
        """
        self.cells[address & ~0x18 if address & 7 == 2 else address] = value  # one RPI per partition
        if address & 7 == 4:
            self.flags = value & 3
        elif address & 7 == 5:
            self.part = value & 0x3FF

    @property
    def accepts(self) -> bool:
        """True if a write is not ignored now."""
        return bool(self.left_x and self.left_y and not self.full)

    def record(self) -> list[int]:
        """Return the 16 words of the macroblock in MVSO[], gathered by its partitioning."""
        division = _DIVISION_MASK[self.part & 3]
        words = [0] * 16
        for i in range(16):
            p = i >> 2
            sub = division << 2 | _DIVISION_MASK[self.part >> (2 * p + 2) & 3]
            source = 8 * (i & sub)
            words[i] = self.cells[source] & 0x3FFF | (self.cells[source + 1] & 0xFFF) << 14
            words[(i & ~3) + 1] |= (self.cells[source + 3] & 1) << 26 + (i & 3)
            if i % 4 == 0:
                words[i] |= (self.cells[8 * 4 * (p & division) + 2] & 0x1F) << 26
        words[15] |= self.flags << 26
        return words

    def write(self) -> int:
        """Write the record at the current position and advance; returns the address."""
        at = self.offset + RECORD * self.address
        self.memory.write_words(at, self.record())
        self.left_x -= 1
        self.address += 1 if self.mbaff else 2
        if self.left_x == 0:
            self.left_x = self.width
            self.left_y -= 1
            self.pass_odd ^= 1
            if not self.mbaff and not self.field:
                if self.pass_odd:
                    self.address = (self.address - 2 * self.width) | 1
                else:
                    self.address &= ~1
        self.address &= 0x1FFF
        return at


class SurfaceSource:
    """MVSI[] and the read unit, one macroblock pair per read."""

    def __init__(self, memory: HostMemory) -> None:
        self.memory = memory
        self.cells = [0] * MVSI_CELLS
        self.offset = self.width = self.progressive = 0
        self.left_x = self.left_y = self.pair = self.second_pass = 0
        self.done = False

    @property
    def has_next(self) -> bool:
        """True if there is a pair to read."""
        return bool(self.left_x and self.left_y)

    def next_pair(self) -> list[int]:
        """Return the cells of the next pair; advances the position."""
        at = self.offset + 2 * RECORD * self.pair
        words = [self.memory.word(at + 4 * i) for i in range(32)]
        self.left_x -= 1
        self.pair = self.pair + 1 & 0xFFF
        if self.left_x == 0:
            self.left_x = self.width
            if self.progressive and not self.second_pass:
                self.second_pass = 1
                self.pair = self.pair - self.width & 0xFFF
            else:
                self.second_pass = 0
                self.left_y -= 1
        return unpack_macroblock(words[:16]) + unpack_macroblock(words[16:])
