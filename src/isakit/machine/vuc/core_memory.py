"""Memories of the core, and the host memory for its rings and surfaces.

Source: [vuc] 13.
"""

from __future__ import annotations

from collections.abc import Iterable

D_CELLS, PWT_BYTES, VP_BYTES, MVSI_CELLS, MVSO_CELLS = 0x800, 0x200, 0x400, 0x100, 0x80


class HostMemory:
    """Byte-addressed memory outside of the core, made of pages allocated on the first write.

    Unwritten bytes read as 0.
    """

    PAGE = 0x1000

    def __init__(self) -> None:
        self._pages: dict[int, bytearray] = {}

    def read(self, address: int, count: int) -> bytes:
        """Return `count` bytes from `address`."""
        out = bytearray()
        while count:
            page, at = divmod(address, self.PAGE)
            n = min(count, self.PAGE - at)
            data = self._pages.get(page)
            out += bytes(n) if data is None else data[at : at + n]
            address, count = address + n, count - n
        return bytes(out)

    def write(self, address: int, data: bytes) -> None:
        """Write bytes at `address`."""
        done = 0
        while done < len(data):
            page, at = divmod(address + done, self.PAGE)
            n = min(len(data) - done, self.PAGE - at)
            self._pages.setdefault(page, bytearray(self.PAGE))[at : at + n] = data[done : done + n]
            done += n

    def word(self, address: int) -> int:
        """Return a little-endian 32-bit word."""
        return int.from_bytes(self.read(address, 4), "little")

    def write_words(self, address: int, words: Iterable[int]) -> None:
        """Write little-endian 32-bit words from `address` on."""
        self.write(address, b"".join(w.to_bytes(4, "little") for w in words))
