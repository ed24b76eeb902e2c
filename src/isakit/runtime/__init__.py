"""What a user calls to run things: devices, kernels, buffers."""

from __future__ import annotations

from isakit.description import Param
from isakit.machine.tesla import Choices, LinearWindow, PitchWindow
from isakit.runtime.buffer import Buffer
from isakit.runtime.device import Device
from isakit.runtime.kernel import LoadedKernel
from isakit.runtime.module import ConstantSymbol, LoadedModule
from isakit.texture.sampler_state import Sampler
from isakit.texture.texture import Texture

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
