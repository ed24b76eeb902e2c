"""Memory spaces as lanes see them: from addresses to offsets in a memory, or a fault."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from isakit.engine import Lanes
from isakit.engine.protocol import Array
from isakit.engine.routine_functions import MadeFunction, numpy_function
from isakit.errors import IsakitError, LaunchError
from isakit.lean import cached_property, dataclass
from isakit.machine.tesla.choices import Choices
from isakit.machine.tesla.device_memory import DeviceMemory, FlatMemory
from isakit.machine.tesla.rules import accesses
from isakit.sem.routine import on_change

OUT_OF_RANGE = "UNMAPPED_ADDRESS"
MISALIGNED = "MISALIGNED_ADDRESS"
READ_ONLY = "READ_ONLY_SPACE"
NO_SPACE = "UNBOUND_SPACE"


ResolvedAccess = tuple[FlatMemory, Array, Array | None]


class AccessFault(IsakitError):
    """An access that a space refuses; the machine adds pc, block and warp.

    Attributes: `kind`, `space`, `lane` (position on the lane axis), `address` (as the program gave it), `detail`.
    """

    def __init__(self, kind: str, space: str, lane: int, address: int, detail: str) -> None:
        self.kind, self.space, self.lane, self.address, self.detail = kind, space, lane, address, detail
        super().__init__(f"{kind}: {detail}")


class AddressSpace(Protocol):
    """One memory space."""

    writable: bool

    def place(self, address: Array, size: int, lanes: Lanes, chosen: Array | None) -> ResolvedAccess:
        """Return (memory, byte offsets, good) for the address of each accessing lane.

        The accessing lanes are all selected lanes, or those at the positions `chosen` of the selection. `good` is None,
        or marks the lanes whose access counts (the others are out of range and ignored by choice). Raises AccessFault.
        """
        ...


class SpaceAccesses:
    """Helper methods that all spaces share."""

    def __init__(self, name: str, choices: Choices) -> None:
        self.name, self.choices = name, choices

    # The rules, where something is accessed: many spaces are made for each draw, and few of them are read by NumPy.
    @cached_property
    def _misaligned(self) -> MadeFunction:
        return numpy_function(accesses.misaligned)

    @cached_property
    def _outside(self) -> MadeFunction:
        return numpy_function(accesses.outside)

    @cached_property
    def _aligned(self) -> MadeFunction:
        return numpy_function(accesses.aligned, choices=self.choices)

    def first_bad(
        self, kind: str, bad: Array, address: Array, where: tuple[Lanes, Array | None], detail: str
    ) -> AccessFault:
        """Return the fault of the lowest lane marked in `bad`."""
        k = int(np.flatnonzero(bad)[0])
        lanes, chosen = where
        number = lanes.numbers[k if chosen is None else chosen[k]]
        return AccessFault(kind, self.name, int(number), int(address[k]), detail)

    def aligned(self, address: Array, size: int, where: tuple[Lanes, Array | None]) -> Array:
        """Return the addresses if all are multiples of the access size. Raises AccessFault."""
        if size > 1:
            if self.choices.misaligned == "fault":
                odd = self._misaligned(address, np.uint32(size))
                if odd.any():
                    raise self.first_bad(MISALIGNED, odd, address, where, f"not a multiple of {size}")
            return self._aligned(address, np.uint32(size))
        return address


class OwnSpace(SpaceAccesses):
    """c[], s[] or l[]: `limit` bytes from the lane's own base (`bases`, one element per lane; None: 0 for all)."""

    def __init__(
        self, name: str, memory: FlatMemory, limit: int, bases: Array | None, choices: Choices, writable: bool = True
    ) -> None:
        super().__init__(name, choices)
        self.memory, self.limit, self.bases, self.writable = memory, limit, bases, writable

    def place(self, address: Array, size: int, lanes: Lanes, chosen: Array | None) -> ResolvedAccess:
        """See `AddressSpace`."""
        where = lanes, chosen
        address = self.aligned(address, size, where)
        good = None
        # Arrays, as NumPy warns of numbers that wrap around.
        bad = self._outside(address, np.array([size], np.uint32), np.array([self.limit], np.uint32))
        if bad.any():
            if self.choices.out_of_range == "fault":
                raise self.first_bad(OUT_OF_RANGE, bad, address, where, f"the space has {self.limit:#x} bytes")
            good, address = ~bad, np.where(bad, 0, address)
            if self.limit < size:
                address = np.zeros_like(address)
        if self.bases is not None:
            bases = self.bases[lanes.sel]
            address = (bases if chosen is None else bases[chosen]) + address
        return self.memory, address, good


def _check_window(**numbers: int) -> None:
    """Raise LaunchError for a window that is not in the 40-bit addresses of the device."""
    for name, n in numbers.items():
        if not 0 <= n <= 1 << 40:
            raise LaunchError(f"a window of device memory with {name} {n}: from 0 to {1 << 40:#x}")


def _one(number: int) -> Array:
    """Return a number as an array of one element, for all lanes."""
    return np.array([number], np.uint64)


def _window_rules() -> None:
    """Create the functions of the rules of windows."""
    global _BEYOND, _BEYOND_ROWS, _IN_ROWS
    _BEYOND, _BEYOND_ROWS = numpy_function(accesses.beyond), numpy_function(accesses.beyond_rows)
    _IN_ROWS = numpy_function(accesses.in_rows)


_window_rules()
on_change(_window_rules)


@dataclass(frozen=True)
class LinearWindow:
    """`size` bytes of device memory from `base` on."""

    base: int = 0
    size: int = 1 << 32

    def __post_init__(self) -> None:
        _check_window(base=self.base, size=self.size)

    @property
    def end(self) -> int:
        """The device address past its last byte."""
        return self.base + self.size

    def device_address(self, address: Array) -> tuple[Array, Array | None]:
        """Return (device addresses, lanes inside the window or None for all)."""
        if self.base == 0 and self.size == 1 << 32:
            return address, None
        outside = _BEYOND(address, _one(self.size))
        return address.astype(np.int64) + self.base, ~outside if outside.any() else None


@dataclass(frozen=True)
class PitchWindow:
    """2D addressing: x in the low 16 bits (bytes), y in the high 16; rows are `pitch` bytes apart."""

    base: int
    pitch: int
    width: int
    height: int

    def __post_init__(self) -> None:
        _check_window(base=self.base, pitch=self.pitch, width=self.width, height=self.height)

    @property
    def end(self) -> int:
        """The device address past its last byte."""
        return self.base + self.pitch * max(min(self.height, 1 << 16) - 1, 0) + min(self.width, 1 << 16)

    def device_address(self, address: Array) -> tuple[Array, Array | None]:
        """Return (device addresses, lanes inside the window or None for all)."""
        outside = _BEYOND_ROWS(address, _one(self.width), _one(self.height))
        at = _IN_ROWS(address, _one(self.pitch)).astype(np.int64)
        return at + self.base, ~outside if outside.any() else None


Window = LinearWindow | PitchWindow


class GlobalSpace(SpaceAccesses):
    """g[]: a window of the device memory."""

    writable = True

    def __init__(self, name: str, device: DeviceMemory, window: Window, choices: Choices) -> None:
        super().__init__(name, choices)
        self.device, self.window = device, window

    def place(self, address: Array, size: int, lanes: Lanes, chosen: Array | None) -> ResolvedAccess:
        """See `AddressSpace`."""
        where = lanes, chosen
        address = self.aligned(address, size, where)
        if not len(address):
            return self.device.memory, address, None
        at, inside = self.window.device_address(address)
        if inside is None:
            good = self.device.valid(at, size)
        else:
            good = inside.copy()
            if inside.any():
                mapped = self.device.valid(at[inside], size)
                if mapped is not None:
                    good[inside] = mapped
        if good is not None:
            if self.choices.out_of_range == "fault":
                raise self.first_bad(OUT_OF_RANGE, ~good, address, where, f"no buffer holds these {size} bytes")
            at = np.where(good, at, 0)
        return self.device.memory, at, good
