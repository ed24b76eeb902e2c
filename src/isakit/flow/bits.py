"""Sets as bits of ints."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

N = TypeVar("N")


def bits(numbers: Iterable[int]) -> int:
    """Return the int with these bits set, in time proportional to the largest number."""
    some = list(numbers)
    if not some:
        return 0
    data = bytearray((max(some) >> 3) + 1)
    for n in some:
        data[n >> 3] |= 1 << (n & 7)
    return int.from_bytes(data, "little")


def indices(bits: int) -> list[int]:
    """Return the numbers of the bits that are set, highest first, in time proportional to the largest one."""
    text = bin(bits)
    last = len(text) - 1
    out: list[int] = []
    at = text.find("1")
    while at >= 0:
        out.append(last - at)
        at = text.find("1", at + 1)
    return out


class BitNumbers(Generic[N]):
    """Numbers of nodes or variables, from 0 in the order in which they are first requested."""

    def __init__(self, items: Iterable[N] = ()) -> None:
        self.items: list[N] = []
        self._bit: dict[N, int] = {}
        self.mask(items)

    def mask(self, items: Iterable[N]) -> int:
        """Return a set as bits."""
        out = 0
        for p in items:
            bit = self._bit.get(p)
            if bit is None:
                bit = self._bit[p] = 1 << len(self.items)
                self.items.append(p)
            out |= bit
        return out

    def of(self, mask: int) -> Iterator[N]:
        """Yield the members of a set, lowest number first."""
        while mask:
            low = mask & -mask
            yield self.items[low.bit_length() - 1]
            mask ^= low

    @property
    def all(self) -> int:
        """The set of everything that has a number."""
        return (1 << len(self.items)) - 1
