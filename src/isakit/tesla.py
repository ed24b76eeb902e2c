"""Tesla: devices that run kernels, and a pipeline that draws with vertex, geometry and fragment programs.

What every instruction set has here: `VARIANTS`, `isa`, `Machine`, `target` (see the reference). Beside them `Device`
and `Pipeline` run programs, and `Choices`, `TextureChoices` and `GraphicsChoices` settle what is not documented.
"""

from __future__ import annotations

from isakit.graphics.assembly import Attribute
from isakit.graphics.draw_state import Blend, DrawState, DrawStats, GraphicsChoices, Stencil, Viewport
from isakit.graphics.pipeline import Pipeline
from isakit.graphics.png import png
from isakit.graphics.scene import Scene
from isakit.graphics.shader import FragmentShader, GeometryShader, VertexShader
from isakit.instruction_sets import Isa
from isakit.instruction_sets import isa as _isa
from isakit.machine.targets import target_of as target
from isakit.machine.tesla import Choices, LinearWindow, Machine, PitchWindow, Stats
from isakit.registry import VARIANTS as _VARIANTS
from isakit.runtime import Buffer, Device, LoadedKernel, LoadedModule
from isakit.texture.explain_header import explain_header
from isakit.texture.sampler_state import Sampler
from isakit.texture.texture import Texture
from isakit.texture.texture_choices import TextureChoices

VARIANTS = _VARIANTS["tesla"]


def isa(variant: str | None = None) -> Isa:
    """Return the instruction set in a variant. Raises UnknownIsaError."""
    return _isa("tesla", variant)


__all__ = [
    "VARIANTS",
    "Attribute",
    "Blend",
    "Buffer",
    "Choices",
    "Device",
    "DrawState",
    "DrawStats",
    "FragmentShader",
    "GeometryShader",
    "GraphicsChoices",
    "LinearWindow",
    "LoadedKernel",
    "LoadedModule",
    "Machine",
    "Pipeline",
    "PitchWindow",
    "Sampler",
    "Scene",
    "Stats",
    "Stencil",
    "Texture",
    "TextureChoices",
    "VertexShader",
    "Viewport",
    "explain_header",
    "isa",
    "png",
    "target",
]
