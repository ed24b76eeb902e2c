"""The registers and D[] of a core as its user writes them: every write leaves a valid state.

The rules work on plain lists, which do not enforce invariants: $p1 is the opposite of $p0, $r0 is 0, and a register
holds 16 bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, MutableSequence
from typing import overload

from isakit.errors import LaunchError


class RegisterView(MutableSequence[int]):
    """A fixed-length array of numbers of a fixed width.

    Negative numbers become the two's complement. Raises LaunchError for a number that does not fit, and for slices that
    would change the length.

    Args:
        name: its name in errors.
        stored: the numbers, as the rules see them.
        width: bits of each.
        settle: called after a write, to restore invariants.
    """

    __slots__ = ("_name", "_settle", "_stored", "_width")

    def __init__(
        self, name: str, stored: list[int], width: int, settle: Callable[[list[int]], None] | None = None
    ) -> None:
        self._name, self._stored, self._width, self._settle = name, stored, width, settle

    @overload
    def __getitem__(self, index: int) -> int: ...
    @overload
    def __getitem__(self, index: slice) -> list[int]: ...
    def __getitem__(self, index: int | slice) -> int | list[int]:
        return self._stored[index]

    @overload
    def __setitem__(self, index: int, value: int) -> None: ...
    @overload
    def __setitem__(self, index: slice, value: Iterable[int]) -> None: ...
    def __setitem__(self, index: int | slice, value: int | Iterable[int]) -> None:
        if isinstance(index, slice):
            if not isinstance(value, Iterable):
                raise LaunchError(f"{self._name}[a:b] takes a row of numbers, got {value!r}")
            numbers = [self._fitting(v) for v in value]
            places = range(len(self._stored))[index]
            if len(numbers) != len(places):
                raise LaunchError(f"{len(places)} elements of {self._name} cannot hold {len(numbers)} numbers")
            self._stored[index] = numbers
        else:
            self._stored[index] = self._fitting(value)
        if self._settle is not None:
            self._settle(self._stored)

    def _fitting(self, value: object) -> int:
        bits = self._width
        lowest = -(1 << bits - 1) if bits > 1 else 0
        try:
            number = int(value)  # type: ignore[call-overload]
        except (TypeError, ValueError, OverflowError):
            raise LaunchError(f"{self._name} takes numbers, got {value!r}") from None
        if number != value or not lowest <= number < 1 << bits:
            raise LaunchError(f"{self._name}: {value} does not fit {bits} bit{'s' * (bits > 1)}")
        return number & (1 << bits) - 1

    def __len__(self) -> int:
        return len(self._stored)

    def __iter__(self) -> Iterator[int]:
        return iter(self._stored)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, RegisterView):
            return self._stored == other._stored
        return self._stored == other if isinstance(other, list) else NotImplemented

    __hash__ = None  # pyright: ignore[reportAssignmentType] - as of lists: the content changes

    def __delitem__(self, index: int | slice) -> None:
        raise LaunchError(f"{self._name} always has {len(self)} elements")

    def insert(self, index: int, value: int) -> None:
        """Raise LaunchError: the number of registers is fixed."""
        raise LaunchError(f"{self._name} always has {len(self)} elements")

    def copy(self) -> list[int]:
        """Return the numbers as a new list."""
        return self._stored[:]

    def __repr__(self) -> str:
        return repr(self._stored)
