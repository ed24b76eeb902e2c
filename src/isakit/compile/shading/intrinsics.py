"""The functions of both languages: one table, from their names to operations and the types they take.

A signature is `result:parameters`, written with a letter for each:

    F  a float scalar or vector, all alike       f  a float
    N  a number or vector of any kind, all alike n  a number
    I  an integer or vector, all alike           B  a bool or vector of bools, as long as the others
    2 3 4  a float vector of so many components  U  an integer (u: one that counts from 0)
    S  a sampler2D       C  a samplerCUBE        M  a square matrix, all alike
    1  a sampler1D       D  a sampler3D
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Intrinsic(NamedTuple):
    """A function of a language: the operation that `expansions` defines, and its signatures."""

    op: str
    signatures: tuple[str, ...]


_BOTH = """
abs N:N | sign N:N | floor F:F | ceil F:F | trunc F:F | round F:F | sin F:F | cos F:F | tan F:F | asin F:F | acos F:F
sinh F:F | cosh F:F | tanh F:F | radians F:F | degrees F:F | exp F:F | log F:F | exp2 F:F | log2 F:F | sqrt F:F
pow F:FF | min N:NN N:Nn | max N:NN N:Nn | clamp N:NNN N:Nnn | step F:FF F:fF | smoothstep F:FFF F:ffF
length f:F | distance f:FF | dot f:FF | cross 3:33 | normalize F:F | reflect F:FF | refract F:FFf | faceforward F:FFF
transpose = | determinant f:M | any b:B | all b:B | isnan B:F | isinf B:F | fwidth F:F
"""
_CG = """
frac F:F | rsqrt F:F | rcp F:F | atan F:F | atan2 F:FF | fmod F:FF | lerp F:FFF F:FFf | saturate F:F | mad F:FFF
log10 F:F | ddx F:F | ddy F:F | mul = | lit 4:fff | clip v:F | asint:floatbits I:F | asuint:floatubits U:F
asfloat:bitsfloat F:I | floatToIntBits:floatbits I:F | floatToRawIntBits:floatbits I:F
intBitsToFloat:bitsfloat F:I | isfinite B:F | ldexp F:FF | inverse M:M
tex2D:sample 4:S2 4:S222 | tex2Dproj:project3 4:S3 | tex2Dproj:project 4:S4 | tex2Dbias:bias4 4:S4 | tex2Dlod:lod4 4:S4
tex2Dgrad:sample 4:S222 | texCUBE:sample 4:C3 4:C333 | texCUBEbias:bias4 4:C4 | texCUBElod:lod4 4:C4
tex1D:sample 4:1f 4:12 4:1ff 4:1fff 4:1ffff | tex1Dlod:lod4 4:14 4:14f | tex1Dbias:bias4 4:14 4:14f
tex1Dproj:sample 4:12 4:14 4:12f 4:14f | tex3D:sample 4:D3 4:D3f 4:D333 4:D333f | tex3Dlod:lod4 4:D4 4:D4f
tex3Dbias:bias4 4:D4 4:D4f | tex3Dproj:sample 4:D4 4:D4f | tex2D:texeloffset 4:S2f 4:S222f
tex2Dlod:texeloffset 4:S4f | tex2Dbias:texeloffset 4:S4f | tex2Dproj:texeloffset 4:S3f 4:S4f
tex1Dfetch:texelfetch 4:1I 4:1II | tex2Dfetch:texelfetch 4:SI 4:SII | tex3Dfetch:texelfetch 4:DI 4:DII
texRECT:sample 4:S2
"""
_GLSL = """
fract:frac F:F | inversesqrt:rsqrt F:F | roundEven:round F:F | mod:modulo F:FF F:Ff | mix:lerp F:FFF F:FFf
mix:choose N:NNB | fma:fma F:FFF | dFdx:ddx F:F | dFdy:ddy F:F | dFdxFine:ddx F:F | dFdyFine:ddy F:F
dFdxCoarse:ddx F:F | dFdyCoarse:ddy F:F | atan:atan F:F | atan:atan2 F:FF | inverse M:M | matrixCompMult:product M:MM
outerProduct = | asinh F:F | acosh F:F | atanh F:F | not:not B:B
lessThan:less B:NN | lessThanEqual:lessequal B:NN | greaterThan:greater B:NN | greaterThanEqual:greaterequal B:NN
equal:equal B:NN | equal:equal B:BB | notEqual:notequal B:NN | notEqual:notequal B:BB
floatBitsToInt:floatbits I:F | floatBitsToUint:floatubits U:F | intBitsToFloat:bitsfloat F:I
uintBitsToFloat:bitsfloat F:I | packHalf2x16:packhalf u:2 | unpackHalf2x16:unpackhalf 2:u
packUnorm4x8:packunorm8 u:4 | unpackUnorm4x8:unpackunorm8 4:u | packSnorm4x8:packsnorm8 u:4
unpackSnorm4x8:unpacksnorm8 4:u | packUnorm2x16:packunorm16 u:2 | unpackUnorm2x16:unpackunorm16 2:u
packSnorm2x16:packsnorm16 u:2 | unpackSnorm2x16:unpacksnorm16 2:u
texture1D:sample 4:1f 4:1ff | texture1DLod:sample 4:1ff | texture1DProj:sample 4:12 4:12f 4:14 4:14f
texture3D:sample 4:D3 4:D3f | texture3DLod:sample 4:D3f | texture3DProj:sample 4:D4 4:D4f
texture2D:sample 4:S2 | texture2D:bias 4:S2f | texture2DBias:bias 4:S2f | texture2DProj:project3 4:S3
texture2DProj:project 4:S4 | texture2DProj:project3bias 4:S3f | texture2DProj:projectbias 4:S4f
texture2DLod:lod 4:S2f | texture2DLodEXT:lod 4:S2f | texture2DGradEXT:sample 4:S222 | texture2DGrad:sample 4:S222
texture2DProjLod:project3lod 4:S3f | texture2DProjLod:projectlod 4:S4f
textureCube:sample 4:C3 | textureCube:bias 4:C3f | textureCubeLod:lod 4:C3f | textureCubeLodEXT:lod 4:C3f
textureCubeGradEXT:sample 4:C333
texture:sample 4:S2 4:C3 | texture:bias 4:S2f 4:C3f | textureLod:lod 4:S2f 4:C3f | textureGrad:sample 4:S222 4:C333
textureProj:project3 4:S3 | textureProj:project 4:S4 | textureProj:project3bias 4:S3f | textureProj:projectbias 4:S4f
texelFetch:texelfetch 4:SIn | textureOffset:texeloffset 4:S2I 4:S2If | textureLodOffset:texeloffset 4:S2fI
textureProjLod:project3lod 4:S3f | textureProjLod:projectlod 4:S4f | texture2DRect:sample 4:S2
"""


def _table(*texts: str) -> dict[str, list[Intrinsic]]:
    out: dict[str, list[Intrinsic]] = {}
    for text in texts:
        for row in text.replace("\n", "|").split("|"):
            if row.strip():
                names, *signatures = row.split()
                name, _, op = names.partition(":")
                out.setdefault(name, []).append(Intrinsic(op or name, tuple(signatures)))
    return out


TEXTURE_FUNCTION = re.compile(r"([fhx][1-4])?(tex(?:1D|2D|3D|CUBE|RECT)\w*)")
"""Names of Cg's functions that read textures: `h4tex2D` gives a half4, as `tex2D<half4>` does."""
BORROWED = ("fract", "mix", "mod", "inversesqrt", "dFdx", "dFdy")
"""Functions of GLSL that Cg sources call by these names, as some other compilers let them."""
INTRINSICS = {"cg": _table(_BOTH, _CG), "glsl": _table(_BOTH, _GLSL)}
"""Language and name to the functions of that name."""
