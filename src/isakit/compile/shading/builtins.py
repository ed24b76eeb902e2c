"""The variables that GLSL has without a declaration."""

from __future__ import annotations

from typing import NamedTuple

from isakit.compile.shading.types import FLOAT, T_BOOL, T_FLOAT, T_INT, ArrayType, Numeric, Type

_V2, _V3, _V4 = Numeric(FLOAT, 2), Numeric(FLOAT, 3), Numeric(FLOAT, 4)
_M3, _M4 = Numeric(FLOAT, 3, 3), Numeric(FLOAT, 4, 4)


class BuiltIn(NamedTuple):
    """A variable of the language: its type, role and semantic. Arrays number their semantics from the first one on."""

    type: Type
    role: str
    semantic: str = ""


VERTEX = {
    "gl_Position": BuiltIn(_V4, "output", "POSITION"),
    "gl_PointSize": BuiltIn(T_FLOAT, "output", "PSIZE"),
    "gl_ClipDistance": BuiltIn(ArrayType(T_FLOAT, 8), "output", "CLP0"),
    "gl_FrontColor": BuiltIn(_V4, "output", "COLOR0"),
    "gl_FrontSecondaryColor": BuiltIn(_V4, "output", "COLOR1"),
    "gl_TexCoord": BuiltIn(ArrayType(_V4, 8), "output", "TEXCOORD0"),
    "gl_FogFragCoord": BuiltIn(T_FLOAT, "output", "FOG"),
    "gl_VertexID": BuiltIn(T_INT, "input", "INDEX"),
    "gl_InstanceID": BuiltIn(T_INT, "input", "INSTANCE"),
    "gl_Vertex": BuiltIn(_V4, "input", "POSITION"),
    "gl_Normal": BuiltIn(_V3, "input", "NORMAL"),
    "gl_Color": BuiltIn(_V4, "input", "COLOR0"),
    "gl_SecondaryColor": BuiltIn(_V4, "input", "COLOR1"),
    **{f"gl_MultiTexCoord{k}": BuiltIn(_V4, "input", f"TEXCOORD{k}") for k in range(8)},
}
FRAGMENT = {
    "gl_FragColor": BuiltIn(_V4, "output", "COLOR0"),
    "gl_FragData": BuiltIn(ArrayType(_V4, 1), "output", "COLOR0"),
    "gl_FragDepth": BuiltIn(T_FLOAT, "output", "DEPTH"),
    "gl_FragDepthEXT": BuiltIn(T_FLOAT, "output", "DEPTH"),
    "gl_FragCoord": BuiltIn(_V4, "input", "WPOS"),
    "gl_FrontFacing": BuiltIn(T_BOOL, "input", "FACE"),
    "gl_PointCoord": BuiltIn(_V2, "input", "SPRITECOORD"),
    "gl_LastFragData": BuiltIn(ArrayType(_V4, 1), "input", "FRAGCOLOR"),
    "gl_LastFragColorARM": BuiltIn(_V4, "input", "FRAGCOLOR"),
    "gl_Color": BuiltIn(_V4, "input", "COLOR0"),
    "gl_SecondaryColor": BuiltIn(_V4, "input", "COLOR1"),
    "gl_TexCoord": BuiltIn(ArrayType(_V4, 8), "input", "TEXCOORD0"),
    "gl_FogFragCoord": BuiltIn(T_FLOAT, "input", "FOG"),
}
UNIFORMS = {
    "gl_ModelViewProjectionMatrix": BuiltIn(_M4, "uniform"),
    "gl_ModelViewMatrix": BuiltIn(_M4, "uniform"),
    "gl_ProjectionMatrix": BuiltIn(_M4, "uniform"),
    "gl_NormalMatrix": BuiltIn(_M3, "uniform"),
    "gl_TextureMatrix": BuiltIn(ArrayType(_M4, 8), "uniform"),
}
"""Uniforms that OpenGL's fixed pipeline sets; ports set them by name, as vitaGL does."""
CONSTANTS = {"gl_MaxDrawBuffers": 1, "gl_MaxVertexAttribs": 16, "gl_MaxTextureImageUnits": 16,
             "gl_MaxVaryingVectors": 10, "gl_MaxVertexUniformVectors": 256, "gl_MaxFragmentUniformVectors": 256,
             "gl_MaxTextureUnits": 8, "gl_MaxTextureCoords": 8, "gl_MaxLights": 8, "gl_MaxClipPlanes": 8,
             "gl_MaxCombinedTextureImageUnits": 16, "gl_MaxVertexTextureImageUnits": 0, "gl_MaxClipDistances": 8,
             "gl_MaxVaryingFloats": 40}  # fmt: skip


def built_ins(stage: str) -> dict[str, BuiltIn]:
    """Return the variables of a stage by name."""
    return (VERTEX if stage == "vertex" else FRAGMENT) | UNIFORMS
