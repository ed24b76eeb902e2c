"""Devices, kernels and buffers: the interface for running programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isakit.lazy import lazy

if TYPE_CHECKING:
    from isakit.description import Param
    from isakit.machine.tesla import Choices, LinearWindow, PitchWindow
    from isakit.runtime.buffer import Buffer
    from isakit.runtime.device import Device
    from isakit.runtime.kernel import LoadedKernel
    from isakit.runtime.module import ConstantSymbol, LoadedModule
    from isakit.texture import Sampler, Texture

__all__ = [
    "Buffer",
    "Choices",
    "ConstantSymbol",
    "Device",
    "LinearWindow",
    "LoadedKernel",
    "LoadedModule",
    "Param",
    "PitchWindow",
    "Sampler",
    "Texture",
]

__getattr__, __dir__ = lazy(
    __name__,
    {
        "isakit.description": "Param",
        "isakit.machine.tesla": "Choices LinearWindow PitchWindow",
        "isakit.runtime.buffer": "Buffer",
        "isakit.runtime.device": "Device",
        "isakit.runtime.kernel": "LoadedKernel",
        "isakit.runtime.module": "ConstantSymbol LoadedModule",
        "isakit.texture": "Sampler Texture",
    },
)
