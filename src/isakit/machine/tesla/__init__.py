"""Architectural state and control of the Tesla ISA: warps, divergence stack, blocks, memory spaces."""

from __future__ import annotations

from isakit.lazy import lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from isakit.machine.tesla.address_spaces import LinearWindow, PitchWindow, Window
    from isakit.machine.tesla.block import ThreadBlock, Warp
    from isakit.machine.tesla.chips import CHIPS, Chip
    from isakit.machine.tesla.choices import Choices
    from isakit.machine.tesla.device_memory import DeviceMemory
    from isakit.machine.tesla.kernel_code import Code, reads_space
    from isakit.machine.tesla.launch import HEADER_BYTES, Launch, Stats, pack_block
    from isakit.machine.tesla.machine import Machine

__all__ = [
    "CHIPS",
    "HEADER_BYTES",
    "Chip",
    "Choices",
    "Code",
    "DeviceMemory",
    "Launch",
    "LinearWindow",
    "Machine",
    "PitchWindow",
    "Stats",
    "ThreadBlock",
    "Warp",
    "Window",
    "pack_block",
    "reads_space",
]

__getattr__, __dir__ = lazy(
    __name__,
    {
        "isakit.machine.tesla.address_spaces": "LinearWindow PitchWindow Window",
        "isakit.machine.tesla.block": "ThreadBlock Warp",
        "isakit.machine.tesla.chips": "CHIPS Chip",
        "isakit.machine.tesla.choices": "Choices",
        "isakit.machine.tesla.device_memory": "DeviceMemory",
        "isakit.machine.tesla.kernel_code": "Code reads_space",
        "isakit.machine.tesla.launch": "HEADER_BYTES Launch Stats pack_block",
        "isakit.machine.tesla.machine": "Machine",
    },
)
