"""The layout of instructions: sizes such that every instruction of n units starts at a multiple of n units.

The first size of an instruction that lets everything after it find a place is taken, so code is as short as the
alignment allows.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import lcm

from isakit.lean import dataclass


@dataclass(frozen=True, slots=True)
class Slot:
    """Something to place: the sizes it may have, in units, in order of preference.

    `aligned`: must start at a multiple of its size. `align`: instead of having a size, fills up to a multiple of it.
    """

    sizes: tuple[int, ...]
    aligned: bool = True
    align: int = 0


@dataclass(frozen=True)
class UnitLayout:
    """Positions and sizes in units; `misfits` are the indices of slots that no choice could align."""

    positions: list[int]
    sizes: list[int]
    end: int
    misfits: list[int]


def place(slots: Sequence[Slot], start: int = 0) -> UnitLayout:
    """Place all slots one after the other from the unit address `start`. Takes time linear in their number."""
    modulus = 1
    for sizes in {s.sizes for s in slots if s.aligned and not s.align}:
        modulus = lcm(modulus, *sizes)
    possible = _possible(slots, modulus)
    positions: list[int] = []
    chosen: list[int] = []
    misfits: list[int] = []
    at = start
    last = len(slots) - 1
    for k, slot in enumerate(slots):
        positions.append(at)
        if slot.align:
            size = -at % slot.align
        elif len(slot.sizes) == 1:
            size = slot.sizes[0]
            if slot.aligned and at % size:
                misfits.append(k)
        else:
            fitting = [s for s in slot.sizes if not slot.aligned or at % s == 0]
            good = [s for s in fitting if possible[k + 1] >> (at + s) % modulus & 1]
            if not good and k < last:  # everything after is lost anyway; at least the next one shall fit
                good = [s for s in fitting if _fits(slots[k + 1], at + s)]
            size = (good or fitting or slot.sizes)[0]
            if not fitting:
                misfits.append(k)
        chosen.append(size)
        at += size
    return UnitLayout(positions, chosen, at, misfits)


def _fits(slot: Slot, at: int) -> bool:
    return bool(slot.align) or not slot.aligned or any(at % s == 0 for s in slot.sizes)


def _possible(slots: Sequence[Slot], modulus: int) -> list[int]:
    """Return for every slot (and the end) the bits of positions modulo `modulus` from which the rest can be placed."""
    everywhere = (1 << modulus) - 1
    masks = [everywhere] * (len(slots) + 1)
    known: dict[tuple[Slot, int], int] = {}
    behind = everywhere
    for k in range(len(slots) - 1, -1, -1):
        key = slots[k], behind
        mask = known.get(key)
        if mask is None:
            mask = known[key] = _before(slots[k], behind, modulus)
        masks[k] = behind = mask
    return masks


def _before(slot: Slot, behind: int, modulus: int) -> int:
    mask = 0
    for r in range(modulus):
        if slot.align:
            # The position is only known modulo `modulus`, which is enough when one divides the other.
            ends = [(r + -r % slot.align) % modulus] if modulus % slot.align == 0 else [0]
        else:
            ends = [(r + s) % modulus for s in slot.sizes if not slot.aligned or r % s == 0]
        if any(behind >> e & 1 for e in ends):
            mask |= 1 << r
    return mask
