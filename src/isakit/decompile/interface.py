"""The interface of a shader: registers before it runs, as named symbols, and the registers of its results.

Source: [usse] 3.1 to 3.3, through `runtime.usse_layout`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import cast

from isakit.decompile.names import Identifiers
from isakit.errors import NotModelled
from isakit.formats import Shader
from isakit.formats.gxp import (
    ATTRIBUTE,
    DATA,
    HAS_INDEX,
    HAS_INSTANCE,
    LITERAL_BUFFER,
    NATIVE_COLOR,
    READS_COLOR,
    SAMPLER,
    TEXTURE_BUFFER,
    TYPES,
    UNIFORM,
    FragmentVaryings,
    GxpFile,
    GxpParameter,
    VertexVaryings,
    vertex_outputs,
)
from isakit.runtime import usse_layout as layout
from isakit.sem.value import Value, concat, const

WIDTHS = {"f32": 32, "u32": 32, "s32": 32, "f16": 16, "u16": 16, "s16": 16, "u8": 8, "s8": 8}
"""Bits of a component."""


@dataclass(frozen=True)
class Symbol:
    """One component of an input or uniform.

    `name` and `element` (None if it is not an array) are the vector it belongs to, `size` that vector's number of
    components, `component` its index, `ty` its type in the register.
    """

    name: str
    element: int | None
    size: int
    component: int
    ty: str

    @property
    def vector(self) -> tuple[str, int | None]:
        """The vector it is a component of: its name, and the element of an array."""
        return self.name, self.element


@dataclass(frozen=True)
class TextureStateWord:
    """The first state word of a texture, which represents the sampler."""

    unit: int


@dataclass(frozen=True)
class BufferAddress:
    """The biased address of a uniform buffer in memory."""

    number: int
    bias: int


@dataclass(frozen=True)
class TargetColor:
    """A component of the previous colour of the target, as a byte; a `word` of it in another format."""

    component: int | None = None
    word: int = 0


@dataclass(frozen=True)
class DeclaredInput:
    """A declared input: `kind` is attribute, varying or uniform; `array` the number of elements, 0 for no array.

    `name` is its identifier, `source` its name in the file.
    """

    kind: str
    name: str
    ty: str
    size: int
    array: int = 0
    source: str = ""


@dataclass(frozen=True)
class Sampler:
    """A texture unit: its identifier, its name in the file (None: none), and 2D, 3D or Cube.

    The `kind` is empty if the unit is not sampled.
    """

    name: str
    source: str | None
    kind: str = ""


@dataclass(frozen=True)
class Output:
    """A declared result: `file` and `register` hold its first component."""

    name: str
    file: str
    register: int
    size: int
    ty: str


Registers = dict[tuple[str, int], Value]


class Interface:
    """Inputs, uniforms, samplers and outputs of a shader file.

    `given` has the declared inputs and uniforms, `samplers` the texture units by number. Raises FormatError and
    NotModelled as `isakit.run` does for files with impossible tables, and NotModelled for parameters without a type.
    """

    def __init__(self, shader: Shader) -> None:
        self.shader, self.gxp = shader, shader.file
        layout.check(self.gxp, shader.path)
        self.given: list[DeclaredInput] = []
        self._identifiers = Identifiers(shader.names)
        self._declared = self._declared_varyings()
        self._uniforms: list[tuple[str, GxpParameter]] = []
        self.samplers: dict[int, Sampler] = {}
        for p in self._parameters(SAMPLER):
            kind = "Cube" if p.semantic_index & 16 else ""
            self.samplers[p.resource_index] = Sampler(self._identifiers.of(p.name), p.name, kind)

    def _parameters(self, category: int) -> list[GxpParameter]:
        return [p for p in self.gxp.parameters if p.category == category]

    def sampled(self, unit: int, coordinates: int) -> bool:
        """Record that a texture unit is sampled; return whether it is a cube map.

        Raises NotModelled if one sampler cannot be sampled in all the recorded ways.
        """
        known = self.samplers.get(unit) or Sampler(self._identifiers.of(f"unit{unit}"), None)
        kind = "Cube" if known.kind == "Cube" else "3D" if coordinates == 3 else "2D"
        if known.kind not in ("", kind) or (kind == "Cube" and coordinates != 3):
            raise NotModelled(f"a sample of unit {unit} with {coordinates} coordinates", f"its sampler is {known.kind}")
        self.samplers[unit] = replace(known, kind=kind)
        return kind == "Cube"

    def registers(self) -> Registers:
        """Return the symbols in the registers before the secondary program, and before the primary one."""
        out: Registers = {}
        for register, words in self._shared():
            out["sa", register] = words
        for register, word in self._attributes() if self.shader.stage == "vertex" else self._varyings():
            out["pa", register] = word
        if self.shader.stage == "fragment":
            out["g", layout.BACK_FACING] = _symbol(Symbol("gl_FrontFacing", None, 1, 0, "u32"))
            if self.gxp.flags & READS_COLOR:
                out |= {("o", k): Value("symbol", 32, (), TargetColor(word=k)) for k in range(4)}
                if TYPES[int(self.gxp.varyings.output_type)] == "u8":  # type: ignore[union-attr]
                    bytes_ = [Value("symbol", 8, (), TargetColor(k)) for k in range(4)]
                    out["o", 0] = next(packed(bytes_))
        return out

    def _declare(self, kind: str, p: GxpParameter, ty: str, size: int) -> str:
        """Declare a parameter; returns its identifier."""
        if size > 4:
            raise NotModelled(f"expressions with {p.name!r}, a vector of {size} components")
        name = self._identifiers.of(p.name)
        self.given.append(DeclaredInput(kind, name, ty, size, _elements(p), p.name))
        return name

    # --- uniforms ----------------------------------------------------------------------------------------------------
    def _shared(self) -> Iterator[tuple[int, Value]]:
        gxp: GxpFile = self.gxp
        bases = {c.index: (c.base_sa_offset, c.size_in_words) for c in gxp.containers}
        for p in self._parameters(UNIFORM):
            ty = TYPES[p.type]
            name = self._declare("uniform", p, ty, max(1, p.component_count))
            self._uniforms.append((name, p))
            base, size = bases.get(p.container_index, (0, 0))
            for k in range(max(1, p.array_size)):
                start = p.resource_index + k * p.element_words
                if start >= size:
                    break
                for n, word in enumerate(_words(name, _element(p, k), max(1, p.component_count), ty)):
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
        """Return the word of a uniform buffer in memory, `offset` bytes after its biased address."""
        at = (offset + address.bias) & 0xFFFFFFFF
        for name, p in self._uniforms:
            if p.container_index != address.number or at % 4:
                continue
            k, n = divmod(at // 4 - p.resource_index, p.element_words)
            if 0 <= k < max(1, p.array_size):
                words = list(_words(name, _element(p, k), max(1, p.component_count), TYPES[p.type]))
                if n < len(words):
                    return words[n]
        raise NotModelled(f"an expression for byte {at:#x} of buffer {address.number}", "no uniform lies there")

    # --- inputs of an invocation -------------------------------------------------------------------------------------
    def _attributes(self) -> Iterator[tuple[int, Value]]:
        v = cast("VertexVaryings", self.gxp.varyings)
        for p in self._parameters(ATTRIBUTE):
            size = p.component_count
            if not size:
                continue
            ty = "u32" if v.untyped_registers >> p.resource_index & 1 else TYPES[p.type]
            name = self._declare("attribute", p, ty, size)
            elements = range(min(max(1, p.array_size), layout.SHARED_REGISTERS))
            symbols = [Symbol(name, _element(p, k), size, n, ty) for k in elements for n in range(size)]
            for n, word in enumerate(_packed_symbols(symbols, p.name)):
                yield p.resource_index + n, word
        for flag, name, register in (
            (HAS_INDEX, "gl_VertexID", v.index_pa),
            (HAS_INSTANCE, "gl_InstanceID", v.instance_pa),
        ):
            if self.gxp.flags & flag:
                yield register, _symbol(Symbol(name, None, 1, 0, "u32"))

    def _declared_varyings(self) -> dict[str, DeclaredInput]:
        """Declare the inputs of a fragment program; returns them by their names in the file."""
        v = self.gxp.varyings
        sizes: dict[str, int] = {}
        types: dict[str, str] = {}
        for i in layout.fragment_inputs(v.inputs) if isinstance(v, FragmentVaryings) else ():
            ty = "f32" if i.texture is not None else i.ty
            sizes[i.name] = max(sizes.get(i.name, 0), i.components)
            if _letter(types.setdefault(i.name, ty)) != _letter(ty):
                raise NotModelled(f"expressions with {i.name} as {types[i.name]} and as {ty}")
        declared = {n: DeclaredInput("varying", self._identifiers.of(n), types[n], s, 0, n) for n, s in sizes.items()}
        self.given += declared.values()
        return declared

    def _varyings(self) -> Iterator[tuple[int, Value]]:
        v = cast("FragmentVaryings", self.gxp.varyings)
        for i in layout.fragment_inputs(v.inputs):
            ty = "f32" if i.texture is not None else i.ty
            declared = self._declared[i.name]
            symbols = [Symbol(declared.name, None, declared.size, k, ty) for k in range(i.components)]
            if i.texture is None:
                words = _packed_symbols(symbols, i.name)
            else:
                words = self._fetched(i, [_symbol(s) for s in symbols])
            for n, word in enumerate(words):
                if n < i.words:
                    yield i.register + n, word

    def _fetched(self, i: layout.ShaderInput, at: list[Value]) -> Iterator[Value]:
        """Yield the registers of a texel fetched before the program starts."""
        unit = i.texture or 0
        known = self.samplers.get(unit)
        direction = known is not None and known.kind == "Cube" and i.divisor == 2
        cube = self.sampled(unit, 3 if direction else 2)
        coordinate = at if cube or i.divisor is None else [*at[:2], at[i.divisor]]
        fetch = Fetch(unit, tuple(coordinate), projective=not cube and i.divisor is not None)
        return texel_words(fetch, "u8" if i.ty == "native" else i.ty)

    # --- results -----------------------------------------------------------------------------------------------------
    def outputs(self) -> list[Output]:
        """Return the locations of the results after the program."""
        v = cast("VertexVaryings | FragmentVaryings", self.gxp.varyings)
        if isinstance(v, VertexVaryings):
            found = vertex_outputs(v.outputs1, v.outputs2)
            return [Output(o.name, "o", o.register, o.components, "f32") for o in found]
        native = bool(self.gxp.flags & NATIVE_COLOR)
        ty, size = TYPES[int(v.output_type)], max(1, v.output_components)
        if size > 4:
            raise NotModelled(f"an expression for a colour of {size} components")
        return [Output("color", "o" if native else "pa", 0 if native else v.output_start, size, ty)]


@dataclass(frozen=True, eq=False)
class Fetch:
    """A texture sample: unit, coordinate and further arguments (graphs of f32 values), and the options of the request.

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


def texel_words(fetch: Fetch, ty: str) -> Iterator[Value]:
    """Yield the registers of a sample's four components in a type."""
    components = [Value("symbol", WIDTHS[ty], (), Texel(fetch, k, ty)) for k in range(4)]
    return packed(components)


def packed(components: list[Value]) -> Iterator[Value]:
    """Yield components as 32-bit registers, the first one in the low bits; missing ones are 0."""
    width = components[0].width
    per_word = 32 // width
    for start in range(0, len(components), per_word):
        part = components[start : start + per_word]
        part += [const(0, width)] * (per_word - len(part))
        yield concat(*reversed(part))


def _symbol(s: Symbol) -> Value:
    return Value("symbol", WIDTHS[s.ty], (), s)


def _words(name: str, element: int | None, size: int, ty: str) -> Iterator[Value]:
    return _packed_symbols([Symbol(name, element, size, k, ty) for k in range(size)], name)


def _packed_symbols(symbols: list[Symbol], name: str) -> Iterator[Value]:
    ty = symbols[0].ty
    if ty not in WIDTHS:
        raise NotModelled(f"expressions with `{name}` of type {ty}")
    return packed([_symbol(s) for s in symbols])


def _letter(ty: str) -> str:
    """Return `f` for floats, `u` for integers."""
    return "f" if ty[0] == "f" else "u"


def _elements(p: GxpParameter) -> int:
    return p.array_size if p.array_size > 1 else 0


def _element(p: GxpParameter, k: int) -> int | None:
    return k if _elements(p) else None
