"""Files of exercises that are made: programs that two share, the words of a lost kernel, a cubin, a wrong scene."""

from __future__ import annotations

import json
import re

from isakit.asm import Program
from isakit.instruction_sets import isa
from isakit.json_text import JsonObject
from isakit.programs import write

_LOST = """
.isa tesla gt200
.kernel lost
.param in ptr
.param out ptr
    and b32 $r0 $r0 0xffff
    shl b32 $r0 $r0 0x2
    add b32 $r1 b32 s[in] $r0
    ld b32 $r2 g14[$r1]
    shr u32 $r3 $r2 0xd
    xor b32 $r2 $r2 $r3
    add b32 $r2 $r2 0x9e3779b9
    shl b32 $r3 $r2 0x7
    xor b32 $r2 $r2 $r3
    add b32 $r1 b32 s[out] $r0
    exit st b32 g14[$r1] $r2
"""
_LIMIT = """
.isa tesla gt200
.kernel limit
.param data ptr
    and b32 $r0 $r0 0xffff
    shl b32 $r0 $r0 0x2
    add b32 $r1 b32 s[data] $r0
    ld b32 $r2 g14[$r1]
    mov b32 $r3 0x64
    min u32 $r2 $r2 $r3
    exit st b32 g14[$r1] $r2
"""
_VERTEX = """// Hand position and colour on: o[0x0] to o[0xc] is the position, o[0x10] to o[0x18] the colour.
.program vertex
    mov b32 o[0x0] a[0x0]
    mov b32 o[0x4] a[0x4]
    mov b32 o[0x8] a[0x8]
    mov b32 o[0xc] a[0xc]
    mov b32 o[0x10] a[0x10]
    mov b32 o[0x14] a[0x14]
    exit mov b32 o[0x18] a[0x18]
"""
_FRAGMENT = """// The colour of the vertices. v[0x0] is 1/w; the colour comes divided by w and is multiplied by w again.
.program fragment
    interp $r4 v[0x0]
    rcp f32 $r4 $r4
    interp $r0 v[0x4] $r4
    interp $r1 v[0x8] $r4
    interp $r2 v[0xc] $r4
    mov b32 $r3 1.0
    exit (never) nop
"""


def lost() -> Program:
    """Return the kernel that has to be read."""
    return isa("tesla", "gt200").assemble(_LOST)


def limit() -> Program:
    """Return the kernel that has to be patched."""
    return isa("tesla", "gt200").assemble(_LIMIT)


def house(*, depth: str, cull: str) -> JsonObject:
    """Return the scene with a house: sky, wall, roof, in this order."""
    code = {"any": {"VERT": {"asm": "vertex.s"},
                    "FRAG": {"asm": "fragment.s",
                             "inputs": ["w", [4, "perspective"], [5, "perspective"], [6, "perspective"]]}}}  # fmt: skip

    def quad(left: float, bottom: float, right: float, top: float, z: float) -> list[list[float]]:
        a, b, c, d = ([left, bottom, z, 1.0], [right, bottom, z, 1.0], [right, top, z, 1.0], [left, top, z, 1.0])
        return [a, b, c, a, c, d]

    def draw(corners: list[list[float]], colour: list[float]) -> JsonObject:
        return {"mode": "triangles", "count": len(corners), "state": {"depth": depth, "cull": cull},
                "attribs": [{"data": corners}, {"data": [colour] * len(corners)}], "code": code}  # fmt: skip

    roof = [[-0.8, 0.1, -0.2, 1.0], [0.8, 0.1, -0.2, 1.0], [0.0, 0.8, -0.2, 1.0]]
    return {
        "format": "isakit-gfx-scene 1", "name": "house", "width": 64, "height": 64, "clear": [0.0, 0.0, 0.0, 1.0],
        "draws": [
            draw(quad(-1.0, -1.0, 1.0, 1.0, 0.8), [0.35, 0.6, 0.95]),
            draw(quad(-0.6, -0.8, 0.6, 0.1, -0.1), [0.8, 0.2, 0.15]),
            draw(roof, [0.95, 0.85, 0.2]),
        ],
    }  # fmt: skip


def colour_programs() -> dict[str, bytes]:
    """Return programs that draw the colours of the vertices, by their file names."""
    return {"vertex.s": _VERTEX.encode(), "fragment.s": _FRAGMENT.encode()}


def made(name: str) -> dict[str, bytes]:
    """Return those files of an exercise that are made."""
    if name == "lost":
        return {"lost.hex": " ".join(f"{w:#010x}" for w in lost().words).encode() + b"\n"}
    if name == "patch":
        return {"limit.cubin": write(limit(), "elf")}
    if name == "pixel":
        return colour_programs()
    if name == "driver":
        whole = json.dumps(wrong_house(), indent=1)
        rows = re.sub(r"\[[^][{}]*\]", lambda m: f"[{' '.join(m[0][1:-1].split())}]", whole)  # a vertex is a line
        return {"scene.json": rows.encode(), **colour_programs()}
    return {}


def wrong_house() -> JsonObject:
    """Return the house as a driver with a mistake has it: the wall is hidden, the roof turned away."""
    scene = house(depth="less", cull="back")
    scene["draws"][1]["state"]["depth"] = "greater"
    scene["draws"][2]["state"]["cull"] = "front"
    return scene
