"""Differences between Cg and GLSL, as tables: words, names of types, and a few rules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from isakit.compile.shading.types import (
    BOOL,
    FIXED,
    FLOAT,
    HALF,
    INT,
    SHORT,
    UINT,
    USHORT,
    VOID,
    ArrayType,
    Base,
    Numeric,
    SamplerType,
    Type,
)


class Language(NamedTuple):
    """A shading language.

    Attributes:
        types: name to type.
        qualifiers: words that may stand before a type; `after`: those that may also stand after it.
        refused: words that begin an unsupported construct, and its description.
        product: `*` of matrices and vectors is that of linear algebra.
        converts: numbers convert implicitly to any numeric type, and vectors are truncated to the shorter one.
        infinite: a literal takes the type of the other operand.
        swizzles: the sets of letters that name components.
    """

    name: str
    types: Mapping[str, Type]
    qualifiers: frozenset[str]
    after: frozenset[str]
    refused: Mapping[str, str]
    product: bool
    converts: bool
    infinite: bool
    swizzles: tuple[str, ...]

    def say(self, type: Type) -> str:
        """Return the name of a type in this language."""
        if isinstance(type, ArrayType):
            return f"{self.say(type.of)}[{type.count}]"
        if not self.product or not isinstance(type, Numeric | SamplerType):
            return str(type)
        return next((name for name, known in self.types.items() if known == type), str(type))


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _cg_types() -> dict[str, Type]:
    out: dict[str, Type] = {"void": VOID, "sampler2D": SamplerType("2d"), "samplerCUBE": SamplerType("cube"),
                            "sampler1D": SamplerType("1d"), "sampler3D": SamplerType("3d"),
                            "samplerRECT": SamplerType("2d"), "sampler": SamplerType("2d")}  # fmt: skip
    bases: dict[str, Base] = {
        "float": FLOAT, "half": HALF, "fixed": FIXED, "int": INT, "uint": UINT, "unsigned int": UINT, "short": SHORT,
        "ushort": USHORT, "unsigned short": USHORT, "bool": BOOL, "double": FLOAT, "unsigned": UINT, "long": INT,
        "signed int": INT, "unsigned long": UINT, "min16float": HALF, "min10float": HALF,
    }  # fmt: skip
    for name, base in bases.items():
        out[name] = Numeric(base)
        for n in range(1, 5):
            out[f"{name}{n}"] = Numeric(base, n)
            for rows in range(1, 5):
                out[f"{name}{rows}x{n}"] = Numeric(base, n, rows)
    for prefix, base in (("vec", FLOAT), ("ivec", INT), ("bvec", BOOL)):  # many sources of RetroArch call them so
        out |= {f"{prefix}{n}": Numeric(base, n) for n in range(2, 5)}
    return out


def _glsl_types() -> dict[str, Type]:
    out: dict[str, Type] = {"void": VOID, "sampler2D": SamplerType("2d"), "samplerCube": SamplerType("cube"),
                            "sampler1D": SamplerType("1d"), "sampler3D": SamplerType("3d"),
                            "sampler2DRect": SamplerType("2d"), "samplerExternalOES": SamplerType("2d")}  # fmt: skip
    for name, vectors, base in (("float", "vec", FLOAT), ("int", "ivec", INT), ("uint", "uvec", UINT),
                                ("bool", "bvec", BOOL)):  # fmt: skip
        out[name] = Numeric(base)
        for n in range(2, 5):
            out[f"{vectors}{n}"] = Numeric(base, n)
    for columns in range(2, 5):
        out[f"mat{columns}"] = Numeric(FLOAT, columns, columns)
        for rows in range(2, 5):
            out[f"mat{columns}x{rows}"] = Numeric(FLOAT, rows, columns)
    return out


CG = Language(
    "cg",
    _cg_types(),
    _words(
        "uniform in out inout const static extern inline varying row_major column_major "
        "__nostrip __nativecolor __regformat volatile nointerpolation "
        "centroid precise packed"
    ),
    _words("in out inout uniform const __nostrip"),
    {"texture": "texture objects", "interface": "interfaces", "class": "classes", "goto": "`goto`",
     "asm": "assembly", "template": "templates",
     **dict.fromkeys(("__msaa", "__msaa2x", "__msaa4x"), "samples of the tile one by one")},
    product=False,
    converts=True,
    infinite=True,
    swizzles=("xyzw", "rgba", "stpq"),
)  # fmt: skip

GLSL = Language(
    "glsl",
    _glsl_types(),
    _words(
        "uniform in out inout const attribute varying centroid flat smooth noperspective "
        "invariant precise lowp mediump highp"
    ),
    frozenset(),
    {"buffer": "storage buffers", "shared": "shared memory", "goto": "`goto`",
     "sampler2DArray": "texture arrays", "sampler2DShadow": "depth comparisons",
     "samplerCubeShadow": "depth comparisons", "double": "doubles", "subroutine": "subroutines",
     "isampler2D": "integer textures", "usampler2D": "integer textures", "image2D": "images"},
    product=True,
    converts=False,
    infinite=False,
    swizzles=("xyzw", "rgba", "stpq"),
)  # fmt: skip

HLSL_TYPES = _words("Texture1D Texture2D Texture3D TextureCube Texture2DArray SamplerState SamplerComparisonState "
                    "cbuffer tbuffer Buffer StructuredBuffer ByteAddressBuffer RWTexture2D ConstantBuffer")  # fmt: skip
HLSL_NOTE = "this is HLSL of Direct3D 10 and later: glslang makes SPIR-V of it, which is read (a file .spv)"
LANGUAGES = {"cg": CG, "glsl": GLSL}
