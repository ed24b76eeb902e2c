"""What compiled code looks up while it runs: the context of a worker, and the memory of a launch behind it."""

from __future__ import annotations

from typing import Any

import numpy as np

from isakit.machine.tesla.launch import MP_FLAGS, Launch
from isakit.machine.tesla.memory import Array, DeviceMemory
from isakit.machine.tesla.native.kernels import Kernel
from isakit.machine.tesla.native.layout import CONTEXT_BYTES, SLOT
from isakit.machine.tesla.spaces import LinearWindow

UNLIMITED = 1 << 62


def aligned(nbytes: int) -> Array:
    """Zeroed bytes at an address that is a multiple of 64."""
    raw = np.zeros(nbytes + 64, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + nbytes]


class Bound:
    """What all workers of a launch share: buffers, constants, and the flag that stops them (`stop`)."""

    def __init__(self, launch: Launch, device: DeviceMemory) -> None:
        self.launch = launch
        self.stop = np.zeros(1, np.int32)
        self.nothing = aligned(64)
        self.memory = device.memory.bytes
        pairs = [(a, n) for a, n in device.allocations.items() if n]
        self.ranges = np.array(pairs, np.uint32).reshape(-1, 2)
        self.constants: dict[int, tuple[Array, int]] = {}
        for k, data in launch.constants.items():
            room = aligned(max(64, -(-len(data) // 64) * 64 + 64))
            room[: len(data)] = np.frombuffer(data, np.uint8)
            self.constants[k] = room, len(data)


class Context:
    """The slots of one worker. Arrays that were put into it live as long as it does."""

    def __init__(self, bound: Bound, kernel: Kernel) -> None:
        launch, self._bound = bound.launch, bound
        self._slots = np.zeros(CONTEXT_BYTES // 8, np.int64)
        self._kept: dict[str, Array] = {}
        self.address = self._slots.ctypes.data
        put = self.put
        put("memory", bound.memory)
        put("ranges", bound.ranges)
        put("range_count", len(bound.ranges))
        put("shared_limit", launch.shared_limit)
        put("local_limit", launch.local_limit)
        put("stop", bound.stop)
        put("clock_step", launch.choices.clock_step)
        put("sites", np.zeros(max(1, kernel.sites), np.uint64))
        put("warps", launch.warps)
        put("state_bytes", kernel.state_bytes)
        if kernel.program is not None:
            put("uops", kernel.program.records)
        put("code_address", launch.code.address)
        put("code_bytes", 4 * len(launch.code.units))
        put("barrier_mask", (1 << launch.chip.barrier_bits) - 1)
        put("entry", launch.entry)
        put("remaining", UNLIMITED)
        put("allowed_barriers", launch.barriers)
        put("flags", sum(1 << k for k, name in enumerate(MP_FLAGS) if name in launch.flags))
        for k, window in launch.windows.items():
            if isinstance(window, LinearWindow):
                put(f"g{k}_base", window.base)
                put(f"g{k}_size", window.size)
        for k in range(16):  # a load no lane executes may still touch the first word of a bank
            put(f"c{k}", bound.nothing)
        for k, (data, size) in bound.constants.items():
            put(f"c{k}", data)
            put(f"c{k}_size", size)
        for name in ("a", "p", "o"):
            put(name, bound.nothing)

    def put(self, name: str, value: Any) -> None:
        """Set a slot to a number or to the address of an array."""
        if isinstance(value, np.ndarray):
            self._kept[name] = value
            value = value.ctypes.data
        self._slots[SLOT[name] // 8] = int(value)

    def get(self, name: str) -> int:
        """The number in a slot."""
        return int(self._slots[SLOT[name] // 8])
