"""What the registers of a shader hold before it runs, as named symbols, and which registers its results are in.

Source: [usse] 3.1 to 3.3, through `runtime.usse_layout`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from isakit.errors import NotModelled
from isakit.formats import Shader
from isakit.formats.gxp import (
    ATTRIBUTE,
    DATA,
    HAS_INDEX,
    LITERAL_BUFFER,
    NATIVE_COLOR,
    SAMPLER,
    TEXTURE_BUFFER,
    TYPES,
    UNIFORM,
    GxpFile,
    GxpParameter,
)
from isakit.formats.gxp_outputs import vertex_outputs
from isakit.runtime import usse_layout as layout
from isakit.sem.value import Value, concat, const

WIDTHS = {"f32": 32, "u32": 32, "s32": 32, "f16": 16, "u16": 16, "s16": 16, "u8": 8, "s8": 8}
"""Bits of a component."""


@dataclass(frozen=True)
class Symbol:
    """One component of something the program is given.

    `name` and `element` (None where it is no array) tell the vector it belongs to, `size` that vector's components,
    `component` which one it is, `ty` its type in the register.
    """

    name: str
    element: int | None
    size: int
    component: int
    ty: str

    @property
    def vector(self) -> tuple[str, int | None]:
        """What it is a component of."""
        return self.name, self.element


@dataclass(frozen=True)
class TextureStateWord:
    """The first state word of a texture: stands for the sampler."""

    unit: int


@dataclass(frozen=True)
class BufferAddress:
    """The biased address of a uniform buffer in memory."""

    number: int
    bias: int


@dataclass(frozen=True)
class Given:
    """A declared input: `kind` is attribute, varying or uniform; `array` the number of elements, 0 for no array."""

    kind: str
    name: str
    ty: str
    size: int
    array: int = 0


@dataclass(frozen=True)
class Output:
    """A declared result: `file` and `register` tell where its first component lies."""

    name: str
    file: str
    register: int
    size: int
    ty: str


Registers = dict[tuple[str, int], Value]


class Interface:
    """Inputs, uniforms, samplers and outputs of a shader file.

    Raises FormatError and NotModelled as `isakit.run` does for files whose tables say something impossible.
    """

    def __init__(self, shader: Shader) -> None:
        self.shader, self.gxp = shader, shader.file
        layout.check(self.gxp, shader.path)
        self.given: list[Given] = []
        self.samplers = {p.resource_index: (p.name, bool(p.semantic_index & 16)) for p in self._parameters(SAMPLER)}

    def _parameters(self, category: int) -> list[GxpParameter]:
        return [p for p in self.gxp.parameters if p.category == category]

    def registers(self) -> Registers:
        """The symbols in the registers before the secondary program, and before the primary one."""
        out: Registers = {}
        for register, words in self._shared():
            out["sa", register] = words
        for register, word in self._attributes() if self.shader.stage == "vertex" else self._varyings():
            out["pa", register] = word
        return out

    # --- uniforms ----------------------------------------------------------------------------------------------------
    def _shared(self) -> Iterator[tuple[int, Value]]:
        gxp: GxpFile = self.gxp
        bases = {c.index: (c.base_sa_offset, c.size_in_words) for c in gxp.containers}
        for p in self._parameters(UNIFORM):
            ty = TYPES[p.type]
            self.given.append(Given("uniform", p.name, ty, max(1, p.component_count), _elements(p)))
            base, size = bases.get(p.container_index, (0, 0))
            for k in range(max(1, p.array_size)):
                start = p.resource_index + k * p.element_words
                for n, word in enumerate(_words(p.name, _element(p, k), max(1, p.component_count), ty)):
                    if start + n < size:
                        yield base + start + n, word
        data = layout.container_base(gxp, DATA) or 0
        literals = layout.container_base(gxp, LITERAL_BUFFER)
        for literal in gxp.literals:
            yield (data if literals is None else literals) + literal.sa_offset, const(literal.value, 32)
        in_memory = False
        for info in gxp.uniform_buffers:
            in_memory |= info.reside_buffer == TEXTURE_BUFFER
            symbol = BufferAddress(info.reside_buffer, info.ldst_base_value)
            yield data + info.ldst_base_offset, Value("symbol", 32, (), symbol)
        for d in (*gxp.dependent_samplers, *(() if in_memory else gxp.texture_buffer_samplers)):
            if d.resource % 4 == 0:
                yield data + d.sa_offset, Value("symbol", 32, (), TextureStateWord(d.resource // 4))

    def buffer_word(self, address: BufferAddress, offset: int) -> Value:
        """The word of a uniform buffer in memory, `offset` bytes after its biased address."""
        at = (offset + address.bias) & 0xFFFFFFFF
        for p in self._parameters(UNIFORM):
            if p.container_index != address.number or at % 4:
                continue
            k, n = divmod(at // 4 - p.resource_index, p.element_words)
            if 0 <= k < max(1, p.array_size):
                words = list(_words(p.name, _element(p, k), max(1, p.component_count), TYPES[p.type]))
                if n < len(words):
                    return words[n]
        raise NotModelled(f"an expression for byte {at:#x} of buffer {address.number}", "no uniform lies there")

    # --- inputs of an invocation -------------------------------------------------------------------------------------
    def _attributes(self) -> Iterator[tuple[int, Value]]:
        gxp: Any = self.gxp
        v = gxp.varyings
        for p in self._parameters(ATTRIBUTE):
            raw = v is not None and v.untyped_registers >> p.resource_index & 1
            ty = "u32" if raw else TYPES[p.type]
            size = p.component_count
            self.given.append(Given("attribute", p.name, ty, size, _elements(p)))
            for k in range(max(1, p.array_size)):
                words = list(_words(p.name, _element(p, k), size, ty))
                for n, word in enumerate(words):
                    yield p.resource_index + k * len(words) + n, word
        if v is not None and gxp.flags & HAS_INDEX:
            self.given.append(Given("attribute", "gl_VertexID", "u32", 1))
            yield v.index_pa, _symbol(Symbol("gl_VertexID", None, 1, 0, "u32"))

    def _varyings(self) -> Iterator[tuple[int, Value]]:
        v: Any = self.gxp.varyings
        for i in layout.fragment_inputs(v.inputs) if v is not None else []:
            coordinate = Given("varying", i.name, "f32" if i.texture is not None else i.ty, i.components)
            if all(g.name != i.name or g.size < i.components for g in self.given):
                self.given = [g for g in self.given if g.name != i.name]
                self.given.append(coordinate)
            if i.texture is None:
                words: Iterator[Value] = _words(i.name, None, i.components, i.ty)
            else:
                symbols = [_symbol(Symbol(i.name, None, i.components, k, "f32")) for k in range(i.components)]
                words = fetched_words(i.texture, symbols, i.projective, "u8" if i.ty == "native" else i.ty)
            for n, word in enumerate(words):
                if n < i.words:
                    yield i.register + n, word

    # --- results -----------------------------------------------------------------------------------------------------
    def outputs(self) -> list[Output]:
        """Where the results lie when the program has ended."""
        gxp: Any = self.gxp
        v = gxp.varyings
        if self.shader.stage == "vertex":
            found = vertex_outputs(v.outputs1, v.outputs2)
            return [Output(o.name, "o", o.register, o.components, "f32") for o in found]
        native = bool(gxp.flags & NATIVE_COLOR)
        ty, size = TYPES[int(v.output_type)], max(1, v.output_components)
        return [Output("color", "o" if native else "pa", 0 if native else v.output_start, size, ty)]


@dataclass(frozen=True, eq=False)
class Fetch:
    """A texture sample: unit, coordinate and further arguments (graphs of f32 values), and how it is asked for.

    `mode` is sample, gather4 and so on; `lod` is none, bias, replace or gradient; `projective` divides by the last
    coordinate.
    """

    unit: int
    coordinate: tuple[Value, ...]
    extra: tuple[Value, ...] = ()
    lod: str = "none"
    mode: str = "sample"
    projective: bool = False


@dataclass(frozen=True)
class Texel:
    """One component of a sample, as `ty` in a register."""

    fetch: Fetch
    component: int
    ty: str


def fetched_words(unit: int, coordinate: list[Value], projective: bool, ty: str) -> Iterator[Value]:
    """The registers of a texel that is fetched before the program starts."""
    fetch = Fetch(unit, tuple(coordinate), projective=projective)
    yield from texel_words(fetch, ty)


def texel_words(fetch: Fetch, ty: str) -> Iterator[Value]:
    """The registers of a sample's four components in a type."""
    components = [Value("symbol", WIDTHS[ty], (), Texel(fetch, k, ty)) for k in range(4)]
    return packed(components)


def packed(components: list[Value]) -> Iterator[Value]:
    """Components as 32-bit registers, the first one in the low bits; missing ones are 0."""
    width = components[0].width
    per_word = 32 // width
    for start in range(0, len(components), per_word):
        part = components[start : start + per_word]
        part += [const(0, width)] * (per_word - len(part))
        yield concat(*reversed(part))


def _symbol(s: Symbol) -> Value:
    return Value("symbol", WIDTHS[s.ty], (), s)


def _words(name: str, element: int | None, size: int, ty: str) -> Iterator[Value]:
    if ty not in WIDTHS:
        raise NotModelled(f"expressions with `{name}` of type {ty}")
    return packed([_symbol(Symbol(name, element, size, k, ty)) for k in range(size)])


def _elements(p: GxpParameter) -> int:
    return p.array_size if p.array_size > 1 else 0


def _element(p: GxpParameter, k: int) -> int | None:
    return k if _elements(p) else None
