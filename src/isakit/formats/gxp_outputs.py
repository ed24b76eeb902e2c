"""Results of a vertex program in a GXP file, and the output registers that hold them.

Source: [usse] 3.2; the three bits of a texture coordinate are those of the driver's vertex export: u and v, s, t.
"""

from __future__ import annotations

from dataclasses import dataclass

HAS_POSITION = 1 << 12
OUTPUT_BITS = {"color0": 11, "color1": 10, "fog": 9, "pointsize": 8, **{f"clip{k}": k for k in range(8)}}
"""Bits of `outputs1`."""
TEXCOORD_CODES = {2: 1, 3: 3, 4: 7}
"""Components of a texture coordinate to the code of `outputs2`; other codes leave out a component between others."""
_BEFORE_TEXCOORDS = {"color0": 4, "color1": 4, "fog": 2}
_AFTER_TEXCOORDS = {"pointsize": 1, **{f"clip{k}": 1 for k in range(8)}}


@dataclass(frozen=True)
class VertexOutput:
    """A result of a vertex program: `components` values, each f32 in a register of its own, from o[`register`] on."""

    name: str
    register: int
    components: int


def texcoord_code(outputs2: int, k: int) -> int:
    """The code of texture coordinate `k`; 0: there is none."""
    return outputs2 >> 3 * k & 7


def vertex_outputs(outputs1: int, outputs2: int) -> list[VertexOutput]:
    """Results in register order: position, colours, fog, texture coordinates, point size, clip distances.

    The bits of `texcoord_pack` have no part in this: a coordinate declared half takes a register per component, too.
    """
    sizes = {"position": 4}
    sizes |= {name: n for name, n in _BEFORE_TEXCOORDS.items() if outputs1 >> OUTPUT_BITS[name] & 1}
    for k in range(10):
        code = texcoord_code(outputs2, k)
        if code:
            sizes[f"texcoord{k}"] = 2 * (code & 1) + (code >> 1 & 1) + (code >> 2)
    sizes |= {name: n for name, n in _AFTER_TEXCOORDS.items() if outputs1 >> OUTPUT_BITS[name] & 1}
    out: list[VertexOutput] = []
    register = 0
    for name, components in sizes.items():
        out.append(VertexOutput(name, register, components))
        register += components
    return out


def output_words(outputs1: int, outputs2: int) -> int:
    """Registers that the results of a vertex program take."""
    return sum(o.components for o in vertex_outputs(outputs1, outputs2))


def stored_output_words(outputs1: int) -> int:
    """The same number as the file itself has it."""
    return outputs1 >> 24 & 0xFF
