"""PowerVR USSE: run shaders of GXP files over arrays, draw with them, or run single programs on a core.

What every instruction set has here: `VARIANTS`, `isa`, `Machine`, `target` (see the reference). Beside them `run` and
`Core` run programs, `ShaderPipeline` draws with them, and `Rules` settles what is not documented.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from isakit.instruction_sets import Isa
from isakit.instruction_sets import isa as _isa
from isakit.lazy import lazy
from isakit.machine.targets import target_of as target
from isakit.machine.usse import Cube, Machine, Memory, Rules, Texture, Volume
from isakit.registry import VARIANTS as _VARIANTS
from isakit.runtime.usse import Result, run
from isakit.runtime.usse_core import Core
from isakit.runtime.vertex_streams import VertexStream

if TYPE_CHECKING:
    from isakit.graphics.assembly import Attribute
    from isakit.graphics.draw_state import Blend, DrawState, DrawStats, Stencil, Viewport
    from isakit.graphics.gxm_pipeline import ShaderPipeline
    from isakit.graphics.gxm_scene import ShaderScene
    from isakit.graphics.png import png

VARIANTS = _VARIANTS["usse"]


def isa(variant: str | None = None) -> Isa:
    """Return the instruction set in a variant. Raises UnknownIsaError."""
    return _isa("usse", variant)


__all__ = [
    "VARIANTS",
    "Attribute",
    "Blend",
    "Core",
    "Cube",
    "DrawState",
    "DrawStats",
    "Machine",
    "Memory",
    "Result",
    "Rules",
    "ShaderPipeline",
    "ShaderScene",
    "Stencil",
    "Texture",
    "VertexStream",
    "Viewport",
    "Volume",
    "isa",
    "png",
    "run",
    "target",
]

__getattr__, __dir__ = lazy(
    __name__,
    {
        "isakit.graphics.assembly": "Attribute",
        "isakit.graphics.draw_state": "Blend DrawState DrawStats Stencil Viewport",
        "isakit.graphics.gxm_pipeline": "ShaderPipeline",
        "isakit.graphics.gxm_scene": "ShaderScene",
        "isakit.graphics.png": "png",
    },
)
