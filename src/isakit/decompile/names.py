"""Identifiers of GLSL for the names of a file, which may be keywords, duplicates, or empty."""

from __future__ import annotations

import re
from collections.abc import Mapping

_KEYWORDS = """
    active asm atomic_uint attribute bool break buffer case cast centroid class coherent common const continue default
    defined demote discard do double else enum extern external false filter fixed flat float for fvec2 fvec3 fvec4 goto
    half highp hvec2 hvec3 hvec4 if in inline inout input int interface invariant isampler1D isampler1DArray isampler2D
    isampler2DArray isampler2DMS isampler2DMSArray isampler2DRect isampler3D isamplerBuffer isamplerCube
    isamplerCubeArray layout long lowp main mediump namespace noinline noperspective out output partition patch
    precise precision public readonly resource restrict return sample sampler sampler1D sampler1DArray
    sampler1DArrayShadow sampler1DShadow sampler2D sampler2DArray sampler2DArrayShadow sampler2DMS sampler2DMSArray
    sampler2DRect sampler2DRectShadow sampler2DShadow sampler3D sampler3DRect samplerBuffer samplerCube
    samplerCubeArray samplerCubeArrayShadow samplerCubeShadow samplerExternalOES samplerShadow shared short sizeof
    smooth static struct subpassInput subpassInputMS subroutine superp switch template texture1D texture2D texture3D
    textureCube this true typedef uint uniform union unsigned usampler1D usampler1DArray usampler2D usampler2DArray
    usampler2DMS usampler2DMSArray usampler2DRect usampler3D usamplerBuffer usamplerCube usamplerCubeArray using
    varying void volatile while writeonly
"""
_FUNCTIONS = """
    abs ceil clamp dFdx dFdy dot exp2 f16 floatBitsToUint floor fma inversesqrt log2 max min packHalf packHalf2x16
    packUnorm2x16 packUnorm4x8 roundEven texture textureGrad textureLod textureProj textureProjGrad textureProjLod
    trunc uintBitsToFloat unorm16 unorm8 unpackHalf unpackHalf2x16 unpackUnorm2x16 unpackUnorm4x8
"""
"""Functions called by printed expressions: a variable with such a name would hide one."""
_RESERVED = {*_KEYWORDS.split(), *_FUNCTIONS.split(), "color_out"}
_SHAPES = re.compile(
    r"gl_\w*|GL_\w*|[biud]?vec[2-4]|d?mat[2-4](x[2-4])?|[iu]?image\w+"  # words of the language
    r"|t\d+|(loop|was)\d+_\w*"  # intermediate values and variables of loops
    r"|v_(position|color\d|fog|texcoord\d|pointsize|clip\d)"  # results
)
LONGEST = 200
"""Longest identifier in characters: compilers have limits."""


def identifier(name: str) -> str:
    """Return the identifier that a name of a file gets if no other name has taken it."""
    name = re.sub(r"_+", "_", re.sub(r"\W", "_", name, flags=re.ASCII))[:LONGEST]
    if not name or name[0].isdigit() or name in _RESERVED or _SHAPES.fullmatch(name):
        name = f"u{name}" if name.startswith("_") else f"u_{name}"
    return name


class Identifiers:
    """Assigns each name of a shader a unique identifier; `chosen`: names to use in the place of others."""

    def __init__(self, chosen: Mapping[str, str] | None = None) -> None:
        self._chosen = chosen or {}
        self._taken: set[str] = set()

    def of(self, name: str) -> str:
        """Return an identifier for a name, a new one each time."""
        stem = found = identifier(self._chosen.get(name, name))
        number = 1
        while found in self._taken:
            number += 1
            found = f"{stem.rstrip('_')}_{number}"
        self._taken.add(found)
        return found
