"""PowerVR USSE: run shaders of GXP files over arrays, or single programs on a core whose registers one can see.

What every instruction set has here: `VARIANTS`, `isa`, `Machine`, `target` (see the reference). Beside them `run` and
`Core` run programs, and `Rules` settles what is not documented.
"""

from __future__ import annotations

from isakit.instruction_sets import Isa
from isakit.instruction_sets import isa as _isa
from isakit.machine.targets import target_of as target
from isakit.machine.usse import Cube, Machine, Memory, Rules, Texture, Volume
from isakit.registry import VARIANTS as _VARIANTS
from isakit.runtime.usse import Result, run
from isakit.runtime.usse_core import Core

VARIANTS = _VARIANTS["usse"]


def isa(variant: str | None = None) -> Isa:
    """The instruction set in a variant. Raises UnknownIsaError."""
    return _isa("usse", variant)


__all__ = [
    "VARIANTS",
    "Core",
    "Cube",
    "Machine",
    "Memory",
    "Result",
    "Rules",
    "Texture",
    "Volume",
    "isa",
    "run",
    "target",
]
