"""The interface of a shader: everything between its code and its surroundings.

The code refers to inputs, uniforms, samplers and outputs by `name`; everything else about them is recorded here.
"""

from __future__ import annotations

from dataclasses import dataclass, field

USER_BUFFERS = 14
"""Buffers of uniforms besides the default one."""


@dataclass(frozen=True)
class ShaderInput:
    """An attribute of a vertex program, or an interpolated value of a fragment program.

    Attributes:
        name: the name of the parameter (vertex) and in the code.
        semantic: upper-case with its number, as `TEXCOORD0`, `COLOR0`, `POSITION`; empty: none. Fragment programs have
            TEXCOORD0 to 9, COLOR0, COLOR1, FOG, and WPOS (position of the pixel: x, y, z, 1/w), FACE (f32: 1 at the
            front, -1 at the back), SPRITECOORD.
        components: as declared, whether the code reads them or not.
        type: `f32` or `f16`; of a `raw` attribute and of numbers of vertices also `s32` or `u32`.
        array: number of elements.
        centroid: interpolated at the centre of the covered samples.
        raw: an attribute that is read unconverted from the vertex's data.
    """

    name: str
    semantic: str
    components: int
    type: str = "f32"
    array: int = 1
    centroid: bool = False
    raw: bool = False


@dataclass(frozen=True)
class ShaderUniform:
    """A uniform; a matrix is an array of its stored rows.

    Attributes:
        type: `f32`, `f16` or `s32`.
        array: number of elements, rows of all matrices together.
        semantic: as of an input.
        buffer: number of the buffer that holds it, None for the default buffer.
    """

    name: str
    components: int
    type: str = "f32"
    array: int = 1
    semantic: str = ""
    buffer: int | None = None


@dataclass(frozen=True)
class ShaderSampler:
    """A sampler. `kind` is `2d` or `cube`; `unit` None: the next free one."""

    name: str
    kind: str = "2d"
    unit: int | None = None
    array: int = 1


def sampler_place(name: str) -> tuple[str, int]:
    """Return the (sampler, element) that a name in the code means: `tex[2]` is ("tex", 2)."""
    stem, _, index = name.removesuffix("]").rpartition("[")
    return (stem, int(index)) if name.endswith("]") else (name, 0)


@dataclass(frozen=True)
class ShaderOutput:
    """An output.

    Attributes:
        semantic: vertex programs have POSITION, COLOR0, COLOR1, FOG, TEXCOORD0 to 9, PSIZE, CLP0 to 7; fragment
            programs COLOR0 and DEPTH.
        components: as declared.
        type: `f32` or `f16`.
    """

    name: str
    semantic: str
    components: int
    type: str = "f32"


@dataclass
class ShaderInterface:
    """Inputs and outputs of a shader.

    Attributes:
        stage: `vertex` or `fragment`.
        target: the format of the colour that a fragment program outputs: `f16x4`, `f32x4` and such, or `u8x4` for the
            colour of the tile itself (o0).
        kept: names of parameters that stay in the file though the code does not use them.
        file_names: names of parameters in the file by name in the text, where they differ.
    """

    stage: str
    inputs: list[ShaderInput] = field(default_factory=list[ShaderInput])
    uniforms: list[ShaderUniform] = field(default_factory=list[ShaderUniform])
    samplers: list[ShaderSampler] = field(default_factory=list[ShaderSampler])
    outputs: list[ShaderOutput] = field(default_factory=list[ShaderOutput])
    target: str = "f16x4"
    kept: set[str] = field(default_factory=set[str])
    file_names: dict[str, str] = field(default_factory=dict[str, str])

    def named(self, name: str) -> str:
        """Return the name of a parameter in the file."""
        return self.file_names.get(name, name)

    @property
    def native(self) -> bool:
        """True if the program writes the colour of the tile itself, as bytes."""
        return self.target == "u8x4"
