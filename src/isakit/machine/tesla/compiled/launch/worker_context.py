"""Context of a worker, from which compiled code loads slots, and the memory of a launch behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isakit.engine.protocol import Array
from isakit.machine.tesla.address_spaces import LinearWindow
from isakit.machine.tesla.compiled import state_layout
from isakit.machine.tesla.compiled.state_layout import SLOT
from isakit.machine.tesla.device_memory import DeviceMemory
from isakit.machine.tesla.launch import MP_FLAGS, Launch
from isakit.machine.tesla.rules.blocks import WrittenSpaces

if TYPE_CHECKING:
    from isakit.machine.tesla.compiled.launch.compiled_kernels import CompiledKernel, Executable
    from isakit.machine.tesla.compiled.launch.texture_table import TextureTable

UNLIMITED = 1 << 62
SHORT = 1 << 12
"""Instructions of a warp so short that the next one may run before a bound is checked."""


def aligned(nbytes: int) -> Array:
    """Return zeroed bytes at an address that is a multiple of 64."""
    raw = np.zeros(nbytes + 64, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + nbytes]


def address_of(a: Array) -> int:
    """Return the address of an array."""
    return int(a.__array_interface__["data"][0])  # quicker than `a.ctypes.data`


class Bound:
    """Common state of all workers of a launch: buffers, constants, and the flag that stops them (`stop`)."""

    def __init__(self, launch: Launch, device: DeviceMemory) -> None:
        self.launch = launch
        self.stop = np.zeros(1, np.int32)
        self.nothing = aligned(64)
        self.memory = device.memory.bytes
        self.ranges = device.ranges
        self.constants: dict[int, tuple[Array, int]] = {}
        for k, data in launch.constants.items():
            room = aligned(max(64, -(-len(data) // 64) * 64 + 64))
            room[: len(data)] = np.frombuffer(data, np.uint8)
            self.constants[k] = room, len(data)
        self._textures: TextureTable | None = None

    def textures(self, kernel: CompiledKernel) -> TextureTable:
        """Return the table for the texture instructions of the launch."""
        if self._textures is None:
            from isakit.machine.tesla.compiled.launch.texture_table import TextureTable

            self._textures = TextureTable(self.launch, kernel.known.samples, kernel.target)
        return self._textures


_INDEX = {name: offset // 8 for name, offset in SLOT.items()}
"""Indices of the slots among the numbers."""


class Slots:
    """The slots of `layout`: `numbers` (int64) at `address`. Arrays stored in them live as long as they do."""

    def __init__(self) -> None:
        self.numbers = np.zeros(len(SLOT), np.int64)
        self.address = address_of(self.numbers)
        self._kept: dict[str, Array] = {}

    def set_slot(self, name: str, value: int | Array) -> None:
        """Set a slot to a number or to the address of an array."""
        if isinstance(value, np.ndarray):
            self._kept[name] = value
            value = address_of(value)
        self.numbers[_INDEX[name]] = value

    def set_budget(self, instructions: int) -> None:
        """Limit the instructions that may still be executed; more than the slot holds means no limit."""
        self.set_slot("remaining", min(instructions, UNLIMITED))

    def set_executable(self, how: Executable, turn: int) -> None:
        """Set the executable for warps, and the length of their turns in instructions."""
        self.set_slot("run_warp", how.run_warp)
        self.set_slot("turn_length", turn)
        self.set_slot("paused", state_layout.READY if how.resumes else state_layout.INTERRUPTED)

    def places(self, *names: str) -> list[int]:
        """Return the indices of slots among the numbers."""
        return [_INDEX[name] for name in names]

    def get_slot(self, name: str) -> int:
        """Return the number in a slot."""
        return int(self.numbers[_INDEX[name]])


class WorkerContext(Slots):
    """The context slots that all workers of a launch share."""

    def __init__(self, bound: Bound, kernel: CompiledKernel) -> None:
        super().__init__()
        launch, stored = bound.launch, kernel.known.stored
        self._bound = bound
        slots = {
            "memory": address_of(bound.memory),
            "ranges": address_of(bound.ranges),
            "range_count": len(bound.ranges),
            "shared_limit": launch.shared_limit,
            "local_limit": launch.local_limit,
            "stop": address_of(bound.stop),
            "block_warps": launch.warps,
            "state_bytes": kernel.state_bytes,
            "uops": 0 if kernel.program is None else address_of(kernel.program.records),
            "code_address": launch.code.address,
            "code_bytes": 4 * len(launch.code.units),
            "barrier_mask": (1 << launch.chip.barrier_bits) - 1,
            "has_barriers": kernel.known.has_barriers,
            "ordered": kernel.facts.order.ordered,
            "entry": launch.entry,
            "remaining": UNLIMITED,
            "allowed_barriers": launch.barriers,
            "written": WrittenSpaces.SHARED * ("s" in stored) | WrittenSpaces.LOCAL * ("l" in stored),
            "flags": sum(1 << k for k, name in enumerate(MP_FLAGS) if name in launch.flags),
        }
        if kernel.known.samples:
            slots["textures"] = address_of(bound.textures(kernel).addresses)
        for k, window in launch.windows.items():
            slots[f"g{k}_base"] = window.base
            if isinstance(window, LinearWindow):
                slots[f"g{k}_size"] = window.size
            else:
                names = ("rows", "pitch", "width", "height")
                slots |= zip((f"g{k}_{n}" for n in names), (1, window.pitch, window.width, window.height), strict=True)
        # A load no lane executes may still touch the first word of a space.
        nothing = address_of(bound.nothing)
        slots |= dict.fromkeys(("a", "p", "o", *(f"c{k}" for k in range(16))), nothing)
        for k, (data, size) in bound.constants.items():
            slots[f"c{k}"], slots[f"c{k}_size"] = address_of(data), size
        self.numbers[[_INDEX[name] for name in slots]] = list(slots.values())
