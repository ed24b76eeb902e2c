"""The costs of an access of half a warp: memory transactions, bank conflicts, constant reads, by documented rules.

Source: CUDA C Programming Guide, the appendix on compute capabilities (1.0/1.1 and 1.2/1.3), global and shared memory;
status: known. That an uncoalesced access of 1.0 and 1.1 takes a transaction for each thread that takes part (the guide
says 16 for a half-warp) is inferred.

An access is 16 byte addresses, `IDLE` where a thread does not take part.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

HALF = 16
IDLE = -1
BANKS = 16
SMALLEST = 32
"""Bytes of the smallest transaction."""


class Transactions(NamedTuple):
    """The transactions of an access: whether it is coalesced, and the bytes of each."""

    coalesced: bool
    sizes: tuple[int, ...]

    @property
    def moved(self) -> int:
        """The bytes moved over the memory bus."""
        return sum(self.sizes)


def global_10(addresses: Sequence[int], size: int) -> Transactions:
    """Compute capability 1.0 and 1.1: thread k must access word k of an aligned segment, words of 4, 8 or 16 bytes."""
    taking = [(k, a) for k, a in enumerate(addresses) if a != IDLE]
    if not taking:
        return Transactions(True, ())
    k, first = taking[0]
    base = first - k * size
    whole = size in (4, 8, 16) and base % (HALF * size) == 0 and all(a == base + j * size for j, a in taking)
    if whole:
        return Transactions(True, {4: (64,), 8: (128,), 16: (128, 128)}[size])
    return Transactions(False, (SMALLEST,) * len(taking))


def global_12(addresses: Sequence[int], size: int) -> Transactions:
    """Compute capability 1.2 and 1.3: one transaction for each segment touched, reduced to the half that is used."""
    left = [a for a in addresses if a != IDLE]
    segment = {1: 32, 2: 64}.get(size, 128)
    out: list[int] = []
    while left:
        low = left[0] // segment * segment
        inside = [a for a in left if low <= a < low + segment]
        left = [a for a in left if not low <= a < low + segment]
        width = segment
        while width > SMALLEST:
            half = width // 2
            if all(a + size <= low + half for a in inside):
                width = half
            elif all(a >= low + half for a in inside):
                low, width = low + half, half
            else:
                break
        out.append(width)
    return Transactions(len(out) <= 1, tuple(out))


def shared_steps(addresses: Sequence[int], writes: bool = False) -> int:
    """Return the number of steps of a shared access: 1 without conflicts.

    Reads of one word by several threads can be broadcast.

    In each step one word is broadcast to all that read from it, and every other bank serves one address.
    """
    left = [a for a in addresses if a != IDLE]
    steps = 0
    while left:
        steps += 1
        word = left[0] // 4
        served: dict[int, int] = {word % BANKS: left[0]}
        rest: list[int] = []
        for a in left:
            if not writes and a // 4 == word:
                continue
            if served.setdefault(a // 4 % BANKS, a) != a:
                rest.append(a)
        left = rest
    return steps


def constant_reads(addresses: Sequence[int]) -> int:
    """Return the number of reads of the constant cache: one for each distinct address."""
    return len(Counter(a for a in addresses if a != IDLE))
