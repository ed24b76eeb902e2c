"""What a user calls to run things: devices, kernels, buffers."""

from __future__ import annotations

from isakit.machine.tesla import Choices, LinearWindow, PitchWindow
from isakit.runtime.buffer import Buffer
from isakit.runtime.device import Device
from isakit.runtime.kernel import Kernel
from isakit.runtime.module import Module, Param
from isakit.texture.sampler_state import Sampler
from isakit.texture.texture import Texture

__all__ = [
    "Buffer",
    "Choices",
    "Device",
    "Kernel",
    "LinearWindow",
    "Module",
    "Param",
    "PitchWindow",
    "Sampler",
    "Texture",
]
