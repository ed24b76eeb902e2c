"""The registers of a GXP file's attributes, uniforms, varyings and outputs.

Source: [usse] 3.1 to 3.3.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from isakit.engine.protocol import Array
from isakit.errors import FormatError, LaunchError, NotModelled
from isakit.formats.gxp import (
    ATTRIBUTE,
    DATA,
    LITERAL_BUFFER,
    NO_SOURCE,
    SEMANTICS,
    TEXCOORD_CODES,
    TEXTURE_BUFFER,
    TYPES,
    UNIFORM,
    AttributeDescriptor,
    GxpFile,
    GxpParameter,
    InputBits,
    VertexVaryings,
    texcoord_code,
)

SCALES = {"u8": 255, "s8": 127, "u16": 65535, "s16": 32767}
"""The integer that represents 1.0 in formats of results."""

SHARED_REGISTERS = 256
"""Registers sa0 and following."""
BACK_FACING = 16
"""The global register whose bit 0 tells the facing."""
MAX_WORDS = 1 << 22
"""More than any uniform buffer holds, so that a wrong size does not allocate memory."""

_PER_WORD = {"f32": 1, "u32": 1, "s32": 1, "f16": 2, "u16": 2, "s16": 2, "u8": 4, "s8": 4}
_STORE = {"f32": np.float32, "f16": np.float16, "u32": np.uint32, "s32": np.int32, "u16": np.uint16, "s16": np.int16,
          "u8": np.uint8, "s8": np.int8}  # fmt: skip


def to_words(values: Array, ty: str) -> Array:
    """Return components of shape [..., components] as 32-bit registers of shape [..., words] in a parameter type."""
    if ty == "c10":
        if values.shape[-1] > 4:
            raise NotModelled(f"{values.shape[-1]} components of type c10 in one parameter")
        scaled = np.clip(np.rint(values.astype(np.float64) * 255), -510, 510).astype(np.int64) & 0x3FF
        tens = np.zeros((*values.shape[:-1], 4), np.int64)
        tens[..., : values.shape[-1]] = scaled
        low = tens[..., 0] | tens[..., 1] << 10 | tens[..., 2] << 20 | (tens[..., 3] & 3) << 30
        return np.stack([low, tens[..., 3] >> 2], -1).astype(np.uint32)
    if ty not in _STORE:
        raise NotModelled(f"parameters of type {ty}")
    n = _PER_WORD[ty]
    stored = _stored(values, ty)
    if values.shape[-1] % n:
        pad = [(0, 0)] * (values.ndim - 1) + [(0, n - values.shape[-1] % n)]
        stored = np.pad(stored, pad)
    return np.ascontiguousarray(stored).view(np.uint32)


def _stored(values: Array, ty: str) -> Array:
    if values.dtype == np.uint32 and ty in ("f32", "s32"):
        return values.view(_STORE[ty])  # raw bits
    if ty in ("f32", "f16"):
        return values.astype(_STORE[ty])
    return values.astype(np.int64).astype(_STORE[ty])


def from_words(words: Array, ty: str, count: int) -> Array:
    """Return the first `count` components of registers of shape [lanes, words], as f32 (bytes as fractions of 255)."""
    if ty == "c10":
        low, high = words[:, 0].astype(np.int64), words[:, 1].astype(np.int64)
        tens = np.stack([low, low >> 10, low >> 20, low >> 30 | high << 2], 1)[:, :count] & 0x3FF
        return ((tens ^ 512) - 512).astype(np.float32) / np.float32(255)
    values = np.ascontiguousarray(words).view(_STORE[ty])[:, :count]
    scale = SCALES.get(ty)
    return values.astype(np.float32) / np.float32(scale) if scale else values.astype(np.float32)


# --- varyings ------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class ShaderInput:
    """An interpolated input of a fragment program: `words` registers from `register` on get `name` as `ty`.

    `texture`: the registers get a texel of that unit instead, sampled at the first `components` of the coordinate
    `name`; x and y are divided by component `divisor` first, unless it is None or the texture is a cube map or a
    volume.
    """

    name: str
    register: int
    words: int
    components: int
    ty: str
    texture: int | None = None
    divisor: int | None = None


_COORDINATES: dict[int, tuple[int, int | None]] = {1: (2, None), 2: (4, 3), 3: (3, 2)}
"""Coordinates of texels, by code (xy, xyw, xyz): the components that are needed, and the divisor."""
_TEXELS = {0: "native", 2: "f16", 3: "f32"}
_INPUT_TYPES = {0: "f32", 1: "c10", 2: "f16"}


def fragment_inputs(inputs: tuple[AttributeDescriptor, ...]) -> list[ShaderInput]:
    """Return inputs in register order: for each descriptor the iterated value, then the texel fetched before.

    Raises NotModelled for codes of unknown meaning.
    """
    out: list[ShaderInput] = []
    register = 0
    for number, d in enumerate(inputs):
        bits = d.bits
        if bits.source != NO_SOURCE:
            words = bits.last_word + 1
            name, ty = _input_name(bits, number), _input_type(bits, number)
            out.append(ShaderInput(name, register, words, bits.last_component + 1, ty))
            register += words
        if bits.coordinate != NO_SOURCE:
            words = bits.last_texel_word + 1
            coordinate, kind, texel = bits.coordinate, bits.projection, bits.texel
            if kind not in _COORDINATES or texel not in _TEXELS or coordinate > 9:
                raise NotModelled(f"the texel of input {number}", f"coordinate {coordinate}, kind {kind}, type {texel}")
            components, divisor = _COORDINATES[kind]
            name = f"texcoord{coordinate}"
            out.append(ShaderInput(name, register, words, components, _TEXELS[texel], d.resource_index, divisor))
            register += words
    return out


def _input_name(bits: InputBits, number: int) -> str:
    source = bits.source
    if bits.sprite:  # whatever number stands beside it
        return "spritecoord"
    if source > 13:
        raise NotModelled(f"input {number}", f"the source {source} is not known")
    return {10: "color0", 11: "color1", 12: "fog", 13: "position"}.get(source, f"texcoord{source}")


def _input_type(bits: InputBits, number: int) -> str:
    if bits.type not in _INPUT_TYPES:
        raise NotModelled(f"input {number}", f"the type {bits.type} is not known")
    stored_as_bytes = not bits.type and bits.source in (10, 11) and not bits.f32_color
    return "u8" if stored_as_bytes else _INPUT_TYPES[bits.type]


def check(gxp: GxpFile, path: str | None) -> None:
    """Raise FormatError for tables that exceed the registers, NotModelled for types without a known layout.

    Reading a file checks that its parts are inside of it, not the meaning of the numbers in them.
    """
    data = container_base(gxp, DATA) or 0
    base = container_base(gxp, LITERAL_BUFFER)
    in_registers = (
        () if any(b.reside_buffer == TEXTURE_BUFFER for b in gxp.uniform_buffers) else gxp.texture_buffer_samplers
    )
    ends = {
        "a container": [c.base_sa_offset + c.size_in_words for c in gxp.containers],
        "a literal": [(data if base is None else base) + literal.sa_offset + 1 for literal in gxp.literals],
        "a texture state": [data + d.sa_offset + 1 for d in (*gxp.dependent_samplers, *in_registers)],
        "a buffer address": [data + b.ldst_base_offset + 1 for b in gxp.uniform_buffers],
    }
    for what, found in ends.items():
        if max(found, default=0) > SHARED_REGISTERS:
            raise FormatError(path, 0, f"{what} ends at sa{max(found)}; there are {SHARED_REGISTERS} such registers")
    for p in gxp.parameters:
        if p.category not in (ATTRIBUTE, UNIFORM):
            continue
        _check_type(p.type, f"the parameter {p.name!r}")
        if not 0 <= p.resource_index < MAX_WORDS or p.words > MAX_WORDS:
            raise FormatError(path, 0, f"parameter {p.name!r}: word {p.resource_index} and {p.array_size} elements")
    if max(gxp.buffer_sizes) > MAX_WORDS:
        raise FormatError(path, 0, f"a uniform buffer of {max(gxp.buffer_sizes)} words")
    if gxp.varyings is None:
        raise FormatError(path, 0, "the file does not say what the program's inputs and results are")
    if isinstance(gxp.varyings, VertexVaryings):
        _check_coordinates(gxp.varyings.outputs2)
    else:
        _check_type(gxp.varyings.output_type, "a result")


def _check_coordinates(outputs2: int) -> None:
    for k in range(10):
        code = texcoord_code(outputs2, k)
        if code and code not in TEXCOORD_CODES.values():
            raise NotModelled(f"the result texcoord{k} with the components of code {code}", "no known file has it")


def _check_type(number: int, what: str) -> None:
    name = TYPES[number] if number < len(TYPES) else str(number)
    if name not in _PER_WORD and name != "c10":
        raise NotModelled(f"{what} of type {name}")


def container_base(gxp: GxpFile, index: int) -> int | None:
    """Return first sa register of a container."""
    return next((c.base_sa_offset for c in gxp.containers if c.index == index), None)


def find(parameters: list[GxpParameter], name: str, what: str) -> GxpParameter:
    """Return a parameter by its name, or by its semantic (`POSITION`, `TEXCOORD0`)."""
    for p in parameters:
        if p.name == name:
            return p
    for p in parameters:
        if 0 < p.semantic < len(SEMANTICS):
            semantic = SEMANTICS[p.semantic]
            if name.upper() in (semantic, f"{semantic}{p.semantic_index & 15}"):
                return p
    names = ", ".join(p.name for p in parameters) or "none"
    raise LaunchError(f"the shader has no {what} {name!r}; it has {names}")
