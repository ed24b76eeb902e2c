"""Shader files that use what a file can say, and how a damaged one is run."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

import isakit
from isakit import IsakitError, usse
from isakit.errors import FormatError
from isakit.formats import Shader, write_gxp
from isakit.formats.gxp import (
    ATTRIBUTE,
    SAMPLER,
    UNIFORM,
    UNIFORM_BUFFER,
    AttributeDescriptor,
    FragmentVaryings,
    GxpContainer,
    GxpDependentSampler,
    GxpFile,
    GxpLiteral,
    GxpParameter,
    GxpUniformBuffer,
    VertexVaryings,
)

LANES = 5
F32, F16, AGGREGATE = 0, 1, 9

VERTEX = """\
vmov.f32 o0.xy pa0.xyzw
vmad2.f32 o2.xy pa0.xyzw sa0.xyzw pa0.xyzw
vpck.f32.f16 o4.xyzw pa2.xyzw
ldr.32 i0 sa20 #0x1 #0x0 x2 drc0
wdf drc0
br +2
nop
or.u32 o8 i0 #0x0
"""
FRAGMENT = """\
smp2d.f32 f32 pa4 pa0 sa16 drc0
wdf drc0
vtst.sub.f32 ge p1.x pa0 c12.xxxx
vmul.f32 pa0.xy pa4.xyzw sa0.xyzw
kill !p1
nop end
"""
SHARED: dict[str, Any] = {
    "containers": [GxpContainer(14, 0, 0, 12), GxpContainer(19, 0, 16, 8)],
    "buffer_sizes": (0, 0, 0, 0, 0, 12),
    "literals": [GxpLiteral(5, 0x3F800000)],
    "uniform_buffers": [GxpUniformBuffer(0, 4, -4)],
}
COMMON = [
    GxpParameter("tint", UNIFORM, F32, 3, 14, 0, 0, 2, 0),
    GxpParameter("half", UNIFORM, F16, 4, 14, 0, 0, 1, 8),
    GxpParameter("data", UNIFORM_BUFFER, AGGREGATE, 0, 0, 0, 0, 4, 0),
]
UNIFORMS = {"tint": np.ones((2, 3)), "half": np.ones(4)}
BUFFERS = {"data": np.arange(4, dtype=np.float32)}


def clear(error: IsakitError) -> None:
    assert str(error).strip()


def words(text: str, program: str = "primary") -> list[int]:
    return isakit.isa("usse").assemble(text, program).words


@cache
def shader(stage: str) -> bytes:
    """A shader that uses what a file can say: parameters, containers, literals, buffers, textures, two programs."""
    if stage == "vertex":
        attributes = [
            GxpParameter("p", ATTRIBUTE, F32, 2, 0, 11, 0, 1, 0),
            GxpParameter("h", ATTRIBUTE, F16, 4, 0, 0, 0, 1, 2),
        ]
        return write_gxp(GxpFile(
            primary=words(VERTEX), secondary=words("or.u32 sa8 sa0 #0x1", "secondary"),
            parameters=[*COMMON, *attributes], varyings=VertexVaryings(0, 0, 12 << 24 | 1 << 11, 0b001), **SHARED,
        ))  # fmt: skip
    inputs = (
        AttributeDescriptor(0x00C00000 | 0xF, 0, 3 << 4, 0),  # texcoord0, four registers
        AttributeDescriptor(0xF000 | 0x100 | 1, 0, 3 << 6, 3 << 4),  # a texel fetched at texcoord1
    )
    return write_gxp(GxpFile(
        flags=1, primary=words(FRAGMENT), secondary=words("or.u32 sa8 sa0 #0x1", "secondary"),
        parameters=[*COMMON, GxpParameter("t", SAMPLER, F32, 4, 0, 0, 0, 1, 0)],
        dependent_samplers=[GxpDependentSampler(k, k) for k in range(4)],
        varyings=FragmentVaryings(output_type=F32, output_components=4, inputs=inputs), **SHARED,
    ))  # fmt: skip


def run(data: bytes) -> usse.Result:
    """A file run with as many of the inputs as it still has a name for."""
    sh = isakit.load(data)
    if not isinstance(sh, Shader):
        raise FormatError("data", 0, "no shader")
    names = {p.name for p in sh.parameters}
    given: dict[str, Any] = {
        "uniforms": {k: v for k, v in UNIFORMS.items() if k in names},
        "buffers": {k: v for k, v in BUFFERS.items() if k in names},
    }
    rows = np.linspace(-1, 2, 4 * LANES, dtype=np.float32).reshape(LANES, 4)
    if sh.stage == "vertex":
        given["attributes"] = {k: rows[:, :n] for k, n in (("p", 2), ("h", 4)) if k in names}
        given["count"] = None if given["attributes"] else LANES
    else:
        given["varyings"] = {f"texcoord{k}": rows for k in range(10)}
        given["textures"] = {"t": np.ones((2, 2, 4), np.float32)} if "t" in names else {}
    return usse.run(sh, max_instructions=200, **given)
