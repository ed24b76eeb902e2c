"""Operands of the USSE while registers are virtual, and the swizzle that reads them where an instruction allows it."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import NamedTuple

from isakit.arch.usse.constants import BANK0, BANK1
from isakit.compile.lower.form import VReg
from isakit.compile.usse.instructions import ANY, Reach, Table
from isakit.compile.vector_ops import CHANNELS, DIGITS, SIGN

Channel = int | str
"""An element, or the letter of a constant."""


class Fixed(NamedTuple):
    """An operand that is not a virtual register: bank `sa`, `c` (constants), `literal` (a word of the pool), `#`."""

    bank: str
    number: int


class View(NamedTuple):
    """View of a register as an operand: for every lane an element from the register's first on, and modifiers.

    `ty` is the type of the elements. The view of a result has consecutive elements.
    """

    channels: tuple[Channel, ...]
    ty: str = "f32"
    neg: bool = False
    abs: bool = False


class FixedView(NamedTuple):
    """A view of a fixed operand."""

    base: Fixed
    view: View


class Source(NamedTuple):
    """A value that an instruction may read: elements of a register, or constants (`base` None) by their bits.

    `extent` is (first, number) of the elements of the whole value; `reads` operations read it.
    """

    base: VReg | Fixed | None
    channels: tuple[Channel, ...]
    ty: str
    neg: bool = False
    abs: bool = False
    extent: tuple[int, int] = (0, 0)
    reads: int = 1

    @property
    def plain(self) -> bool:
        """True if there are no modifiers and no constants among the channels."""
        return not (self.neg or self.abs) and all(isinstance(c, int) for c in self.channels)

    def slice(self, start: int, stop: int) -> Source:
        """Return the lanes from `start` to `stop`."""
        return self.swizzled(self.channels[start:stop])

    def swizzled(self, channels: tuple[Channel, ...]) -> Source:
        """Return the source with other channels in its lanes."""
        if channels == self.channels:
            return self
        return self._modified(channels, self.neg, self.abs)

    def plain_source(self) -> Source:
        """Return the same elements without modifiers."""
        return self._modified(self.channels, False, False)

    def negated(self) -> Source:
        """Return the negative."""
        if self.base is None:
            return self._modified(tuple(int(c) ^ SIGN[self.ty] for c in self.channels), self.neg, self.abs)
        return self._modified(self.channels, not self.neg, self.abs)

    def absolute(self) -> Source:
        """Return the absolute value."""
        if self.base is None:
            return self._modified(tuple(int(c) & ~SIGN[self.ty] for c in self.channels), self.neg, self.abs)
        return self._modified(self.channels, False, True)

    def _modified(self, channels: tuple[Channel, ...], neg: bool, abs: bool) -> Source:
        return Source(self.base, channels, self.ty, neg, abs, self.extent, self.reads)


# --- swizzles --------------------------------------------------------------------------------------------------------
@cache
def written(reach_table: Table, letters: int, wanted: tuple[tuple[int, str], ...]) -> str | None:
    """Return the swizzle of a table with the given letters in its lanes, None if there is none.

    Lanes that do not matter read the same as the others, where there is a choice.
    """
    lanes = dict(wanted)
    if any(lane >= letters for lane in lanes):
        return None
    if reach_table == ANY:
        first = wanted[0][1]
        return "".join(lanes.get(k, first) for k in range(letters))
    fitting = [t for t in reach_table if t is not None and all(t[k] == c for k, c in lanes.items())]
    return min(fitting, key=lambda t: (len(set(t) - set(lanes.values())), reach_table.index(t)), default=None)


@cache
def swizzle(reach: Reach, channels: tuple[Channel, ...], lanes: tuple[int, ...]) -> str | None:
    """Return the text of a swizzle for channels (0 to 3, or constants) in the given lanes; None if there is none."""
    if any(isinstance(c, str) for c in channels) and not reach.constants:
        return None
    letters = [CHANNELS[c] if isinstance(c, int) else c for c in channels]
    if reach.letters == 1:
        return letters[0] if len(set(letters)) == 1 else None
    if reach.letters == 0:
        return ""
    wanted: dict[int, str] = {}
    for lane, letter in zip(lanes, letters, strict=True):
        if wanted.setdefault(lane, letter) != letter:
            return None
    return written(reach.table, reach.letters, tuple(sorted(wanted.items())))


def placed(bank: str, at: int, view: View, reach: Reach) -> list[tuple[int, tuple[Channel, ...]]]:
    """Return the ways to name elements of a register, as (number, channels).

    `at` is the register of element 0, or for internal registers its channel. Registers are named in pairs; the pair may
    be that of the first element.
    """
    elements = [c for c in view.channels if isinstance(c, int)]
    if bank == "i":
        return [(at // 4, tuple(at % 4 + c if isinstance(c, int) else c for c in view.channels))]
    if bank == "c":
        return [(at, view.channels)]
    per = 4 if view.ty == "f16" else 2
    offset = at * (per // 2)
    low = min(elements, default=0) + offset
    out: list[tuple[int, tuple[Channel, ...]]] = []
    for first in dict.fromkeys((low // per * per, offset // per * per)):
        found = tuple(c + offset - first if isinstance(c, int) else c for c in view.channels)
        limit = 2 if reach.pair and view.ty == "f32" else 4
        if all(isinstance(c, str) or 0 <= c < limit for c in found):
            out.append((2 * first // per, found))
    return out


def near(bank: str, at: int) -> int:
    """Return the position of element 0 that `readable` needs: modulo 4 in internal registers, modulo 2 in others."""
    return at % 4 if bank == "i" else at % 2


@cache
def readable(reach: Reach, bank: str, at: int, channels: tuple[Channel, ...], ty: str, lanes: tuple[int, ...]) -> bool:
    """Return whether an instruction can read elements of a register; `at` is its position as `near` returns it."""
    ways = placed(bank, at, View(channels, ty), reach)
    return any(swizzle(reach, named, lanes) is not None for _, named in ways)


class Reading(NamedTuple):
    """The registers of a value that an instruction reads, `registers` of them from `unit` on, and its view of them."""

    unit: int
    registers: int
    view: View


@lru_cache(1 << 16)
def reading(
    reach: Reach, bank: str, at: int, either: bool, channels: tuple[Channel, ...], ty: str, neg: bool, abs: bool,
    lanes: tuple[int, ...],
) -> Reading | None:  # fmt: skip
    """Return the way in which an instruction can read elements of a register, None if it cannot.

    `either`: the register may be assigned to either half of a pair.
    """
    if (neg and not reach.neg) or (abs and not reach.abs) or (reach.internal and bank != "i"):
        return None
    if not all(
        readable(reach, bank, near(bank, half), channels, ty, lanes) for half in ((at, at + 1) if either else (at,))
    ):
        return None
    used = [c for c in channels if isinstance(c, int)]
    per = 2 if ty == "f16" and bank != "i" else 1
    low, high = min(used, default=0) // per, max(used, default=0) // per
    return Reading(low, high - low + 1, View(channels, ty, neg, abs))


@lru_cache(1 << 16)
def named(reach: Reach, bank: str, at: int, view: View, lanes: tuple[int, ...]) -> tuple[int, str]:
    """Return the register and the swizzle by which an instruction reads a view; the register is -1 if none does."""
    ways = ((number, swizzle(reach, channels, lanes)) for number, channels in placed(bank, at, view, reach))
    return next(((n, t) for n, t in ways if t is not None), (-1, ""))


# --- constants -------------------------------------------------------------------------------------------------------
def digits(values: tuple[Channel, ...], ty: str) -> tuple[str, ...] | None:
    """Return the letters of constants that swizzles can select, None if there is none for one of the values."""
    names = {v: k for k, v in DIGITS[ty].items()}
    found = tuple(names.get(int(v), "") for v in values)
    return found if all(found) else None


@cache
def constant_channels(number: int, ty: str) -> tuple[int, ...]:
    """Return the numbers in the channels of a hardware constant."""
    a, b = BANK0.entries[number], BANK1.entries[number]
    if ty == "f32":
        return a, b, a, a
    return a & 0xFFFF, a >> 16, b & 0xFFFF, b >> 16


@cache
def hardware_constant(values: tuple[int, ...], ty: str) -> tuple[int, tuple[int, ...]] | None:
    """Return (number, channels) of a hardware constant that contains the given values."""
    for number in range(len(BANK0.entries)):
        have = constant_channels(number, ty)
        if all(v in have for v in values):
            return number, tuple(have.index(v) for v in values)
    return None


@lru_cache(1 << 14)
def hardware_view(reach: Reach, channels: tuple[Channel, ...], ty: str, lanes: tuple[int, ...]) -> FixedView | None:
    """Return constants as an operand of hardware constants or swizzle letters, None if that is not possible."""
    modifiers = () if reach.own else (False, True) if reach.neg else (False,)
    for neg in modifiers:
        values = tuple(int(c) ^ SIGN[ty] if neg else int(c) for c in channels)
        letters = digits(values, ty)
        if letters is not None and reach.constants and swizzle(reach, letters, lanes) is not None:
            return FixedView(Fixed("c", 0), View(letters, ty, neg))
        got = hardware_constant(values, ty)
        if got is not None and swizzle(reach, got[1], lanes) is not None and not (reach.pair and max(got[1]) > 1):
            return FixedView(Fixed("c", got[0]), View(got[1], ty, neg))
    return None
