"""New GXP files from names: attributes, uniforms, samplers, varyings, literals, and two programs.

`GxpBuilder` is what the directives of a source text call, too, so the text and the interface can say the same things.
Registers are given as the code names them (sa, pa), not as the file's tables count them.
"""

from __future__ import annotations

import re
import struct
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from isakit.errors import FormatError
from isakit.formats import gxp_rules as rules
from isakit.formats.gxp import (
    ATTRIBUTE,
    AUXILIARY_SURFACE,
    DEFAULT_BUFFER,
    FRAGMENT,
    HAS_POSITION,
    HEADER_SIZES,
    OUTPUT_BITS,
    SAMPLER,
    SEMANTICS,
    SIZE_NAMES,
    TEXCOORD_CODES,
    TYPES,
    UNIFORM,
    UNIFORM_BUFFER,
    AttributeDescriptor,
    FragmentVaryings,
    GxpContainer,
    GxpDependentSampler,
    GxpFile,
    GxpLiteral,
    GxpParameter,
    GxpPiece,
    GxpUniformBuffer,
    VertexVaryings,
    packed_parameter,
    standard_layout,
    write_gxp,
)

if TYPE_CHECKING:
    from isakit.asm import Program


class GxpBuilder:
    """A shader file under construction.

    What is not said is derived when the file is made: containers, register counts, phases, flags, query information.
    The default uniforms start at sa0; literals, textures' states and buffer addresses follow them, so that uniforms
    must be added first where these get their registers here. Methods raise FormatError for what a file cannot hold.

        b = GxpBuilder("fragment")
        b.uniform("tint", "f32", 4)
        image = b.sampler("image", unit=0, state=True)
        b.varying("texcoord0", 2)
        b.result("f16", 4)
        data = b.to_bytes(usse.assemble(f"... smp2d.f32 f32 r0 pa0 sa{image} drc0 ..."))
    """

    def __init__(
        self,
        stage: str,
        *,
        version: tuple[int, int] = (1, 5),
        sdk_version: int = 0x350,
        compiler_version: int = 0,
        binary_guid: int = 0,
        source_guid: int = 0,
    ) -> None:
        if stage not in ("vertex", "fragment"):
            raise FormatError(None, 0, f"there is no stage {stage!r}; there are vertex and fragment")
        if version not in HEADER_SIZES:
            raise FormatError(None, 4, f"version {version[0]}.{version[1]} is not known")
        self.stage = stage
        self._file = GxpFile(
            version, sdk_version, binary_guid, source_guid, FRAGMENT if stage == "fragment" else 0,
            compiler_version=compiler_version,
        )  # fmt: skip
        self._inputs: list[tuple[rules.InputFacts, AttributeDescriptor]] = []
        self._fragment = FragmentVaryings(output_type=1, output_components=4)
        self._fetches: int | None = None
        self._vertex = VertexVaryings(outputs1=HAS_POSITION)
        self._vertex_change = VertexVaryings()
        self._containers: list[GxpContainer] | None = None
        self._data_end = 0
        self._queries: dict[int, int] = {}
        self._given: dict[str, Any] = {}
        self._flags = 0, 0  # those to set, those to clear
        self._sizes: dict[int, int] = {}
        self._layout: list[str] | None = None
        self._gaps: dict[str, bytes] = {}
        self._unaligned: set[str] = set()

    # --- parameters --------------------------------------------------------------------------------------------------
    def parameter(self, p: GxpParameter, *, used: int | None = None, raw: bool = False) -> None:
        """Add a parameter record as it is; of an attribute, `used` and `raw` are those of `attribute`."""
        packed_parameter(p)  # refuses what does not fit
        self._file.parameters.append(p)
        if p.category == ATTRIBUTE and not p.container_index:
            mask, v = rules.attribute_mask(p, used), self._vertex
            self._vertex = replace(
                v,
                attribute_registers=v.attribute_registers | mask,
                untyped_registers=v.untyped_registers | mask * raw,
            )

    def attribute(
        self,
        name: str,
        type: str = "f32",
        components: int = 4,
        *,
        array: int = 1,
        register: int | None = None,
        semantic: str | tuple[int, int] = "",
        used: int | None = None,
        raw: bool = False,
    ) -> int:
        """Add a vertex input; returns its first pa register, the next free even one unless given.

        `used`: mask of the registers the program reads, all of them unless given; `raw`: the stored bytes come
        unconverted.
        """
        others = [q for q in self._file.parameters if q.category == ATTRIBUTE]
        if register is None:
            register = max((q.resource_index + q.words for q in others), default=0)
            register += register % 2
        number, index = semantic_numbers(semantic)
        p = GxpParameter(name, ATTRIBUTE, type_number(type), components, 0, number, index, array, register)
        self.parameter(p, used=used, raw=raw)
        return register

    def uniform(
        self,
        name: str,
        type: str = "f32",
        components: int = 4,
        *,
        array: int = 1,
        at: int | None = None,
        container: int = DEFAULT_BUFFER,
        semantic: str | tuple[int, int] = "",
    ) -> int:
        """Add a uniform; returns its place in the uniform buffer (words), for the default buffer its sa register.

        Vectors and arrays get an even place unless one is given.
        """
        number, index = semantic_numbers(semantic)
        p = GxpParameter(name, UNIFORM, type_number(type), components, container, number, index, array, at or 0)
        if at is None:
            at = rules.uniform_end(self._file.parameters, container)
            at += at % 2 if p.words > 1 else 0
            p = replace(p, resource_index=at)
        if (
            container == DEFAULT_BUFFER
            and self._data_end > 0
            and self._containers is None
            and at + p.words > self._base
        ):
            raise FormatError(None, 0, f"uniform {name!r} comes after literals and textures, which follow the uniforms")
        self.parameter(p)
        return at

    def sampler(
        self,
        name: str,
        type: str = "f32",
        components: int = 4,
        *,
        unit: int = 0,
        array: int = 1,
        cube: bool = False,
        state: bool = False,
        sampled_as: int | None = None,
        container: int = 0,
        semantic_index: int = 0,
    ) -> int:
        """Add a sampler. With `state` the program samples it: returns the sa register of its four state words."""
        k = len(self._file.parameters)
        index = semantic_index | (16 if cube else 0)
        if sampled_as is not None:
            self._queries[k] = sampled_as
        self.parameter(GxpParameter(name, SAMPLER, type_number(type), components, container, 0, index, array, unit))
        return self.texture(unit) if state else -1

    def record(self, name: str, type: str = "f32", components: int = 4, *, category: int, array: int = 1, at: int = 0,
               container: int = 0, semantic: str | tuple[int, int] = "") -> None:  # fmt: skip
        """Add a parameter of any category, with `at` as its `resource_index`."""
        number, index = semantic_numbers(semantic)
        kind = type_number(type)
        self.parameter(GxpParameter(name, category, kind, components, container, number, index, array, at))

    def surface(self, name: str, type: str = "f32", components: int = 4, *, array: int = 1, at: int = 0,
                container: int = 0, semantic: str | tuple[int, int] = "") -> None:  # fmt: skip
        """Add an auxiliary surface."""
        self.record(name, type, components, category=AUXILIARY_SURFACE, array=array, at=at, container=container,
                    semantic=semantic)  # fmt: skip

    def buffer(self, name: str, type: str = "aggregate", components: int = 0, *, array: int = 1, at: int = 0,
               container: int = 0, semantic: str | tuple[int, int] = "") -> None:  # fmt: skip
        """Add a uniform buffer number `at` with `array` bytes; it may have no name."""
        self.record(name, type, components, category=UNIFORM_BUFFER, array=array, at=at, container=container,
                    semantic=semantic)  # fmt: skip

    # --- shared registers --------------------------------------------------------------------------------------------
    @property
    def _base(self) -> int:
        """First sa register after the default uniforms."""
        return rules.uniform_end(self._file.parameters)

    def _place(self, register: int | None, count: int = 1, align: int = 1) -> int:
        """Keep `count` registers from `register` on, from the next free one unless it is given; return the first."""
        if register is None:
            register = max(self._data_end, self._base)
            register += -register % align
        if not 0 <= register <= 1 << 33:
            raise FormatError(None, 0, f"there is no register sa{register}")
        self._data_end = max(self._data_end, register + count)
        return register

    def literal(self, value: float | int, register: int | None = None) -> int:
        """Add a constant: a float as f32, an int as its bits; returns its sa register."""
        try:
            bits = struct.unpack("<I", struct.pack("<f", value))[0] if isinstance(value, float) else value
        except OverflowError:
            raise FormatError(None, 0, f"{value} is too large for 32 bits") from None
        if not -(1 << 31) <= bits < 1 << 32:
            raise FormatError(None, 0, f"the literal {value:#x} does not fit 32 bits")
        at = self._place(register)
        self._file.literals.append(GxpLiteral(at, bits & 0xFFFFFFFF))
        return at

    def texture(
        self, unit: int, register: int | None = None, *, word: int | None = None, in_memory: bool = False
    ) -> int:
        """Put the state words of a texture unit (or one word) into sa registers; returns the first one.

        `in_memory`: the words come from the texture buffer.
        """
        words = range(4) if word is None else (word,)
        at = self._place(register, len(words), 2)
        for k, n in enumerate(words):
            if not 0 <= 4 * unit + n < 1 << 16:
                raise FormatError(None, 0, f"there is no texture unit {unit}")
            table = self._file.texture_buffer_samplers if in_memory else self._file.dependent_samplers
            table.append(GxpDependentSampler(4 * unit + n, at + k))
        return at

    def address(self, buffer: int, register: int | None = None, bias: int = 0) -> int:
        """Put the address of a buffer plus `bias` bytes into an sa register; returns it."""
        at = self._place(register)
        self._file.uniform_buffers.append(GxpUniformBuffer(buffer, at, bias))
        return at

    def container(self, index: int, register: int, words: int, unknown: int = 0) -> None:
        """Say where a container lies in sa; once said for one, nothing is derived about containers."""
        self._containers = [*(self._containers or []), GxpContainer(index, unknown, register, words)]

    def no_containers(self) -> None:
        """State that the file has no containers."""
        self._containers = self._containers or []

    def literal_buffer(self, data: bytes) -> None:
        """Append to the literals that lie in memory (whole words)."""
        if len(data) % 4:
            raise FormatError(None, 0, "the literal buffer has whole 32-bit words")
        self._file.literal_buffer += data

    # --- inputs and results ------------------------------------------------------------------------------------------
    def varying(
        self,
        source: str | None = None,
        components: int = 4,
        type: str = "f32",
        *,
        centroid: bool = False,
        fetch: int | None = None,
        coordinate: int = 0,
        projection: str = "xy",
        texel: str = "f16",
        change: tuple[int, int, int, int] = (0, 0, 0, 0),
    ) -> int:
        """Add an input of a fragment program; returns its first pa register.

        `source` is texcoord0 to texcoord9, color0, color1, fog, position or spritecoord (inside a point); None for
        nothing but a texel. `fetch`: the unit of a texel fetched at texture coordinate `coordinate` before the
        program starts, as `texel` (native, f16, f32); it lies after the interpolated value. `change` flips bits of the
        stored words.
        """
        self._need("fragment", "varyings")
        if source is not None and source not in rules.SOURCES:
            raise FormatError(None, 0, f"there is no varying {source!r}; there are {', '.join(rules.SOURCES)}")
        if not 1 <= components <= 4 or type not in ("f32", "f16", "c10", "u8"):
            raise FormatError(None, 0, f"a varying cannot have {components} components of type {type}")
        if type == "u8" and source not in ("color0", "color1"):
            raise FormatError(None, 0, "only colours are interpolated as u8")
        if projection not in rules.COORDINATES or texel not in ("native", "f16", "f32"):
            raise FormatError(None, 0, f"a texel cannot be fetched by {projection} as {texel}")
        if fetch is not None and not 0 <= coordinate <= 14:
            raise FormatError(None, 0, f"there is no texture coordinate {coordinate}")
        register = sum(f.iterated_words + f.texel_words for f, _ in self._inputs)
        facts = rules.InputFacts(
            None if source is None else rules.SOURCES.index(source), components, type, centroid, fetch or 0,
            None if fetch is None else coordinate, rules.COORDINATES.index(projection), texel,
        )  # fmt: skip
        self._inputs.append((facts, AttributeDescriptor(*change)))
        return register

    def result(self, type: str = "f16", components: int = 4, *, register: int = 0, head: int = 0, byte9: int = 0,
               fetches: int | None = None) -> None:  # fmt: skip
        """Set the colour of a fragment program: type and first pa register (o0 where the colour is native)."""
        self._need("fragment", "a result")
        if register > 255 or components > 255:
            raise FormatError(None, 0, "register and components of a result are bytes")
        self._fragment = FragmentVaryings(head, register, byte9, type_number(type), components)
        self._fetches = fetches

    def output(self, name: str, components: int = 4, *, half: bool = False, code: int | None = None) -> None:
        """Add an output of a vertex program to its position: color0, color1, fog, texcoord0 ..., pointsize, clip0 ...

        Registers from o4 on in the order of that list, each with one f32. `half`: the texture coordinate is declared
        half, which says nothing about its registers.
        """
        self._need("vertex", "outputs")
        v = self._vertex
        if m := re.fullmatch(r"texcoord(\d)", name):
            k = int(m[1])
            code = TEXCOORD_CODES.get(components) if code is None else code
            if code is None or not 0 <= code <= 7:
                raise FormatError(None, 0, f"a texture coordinate has 2 to 4 components, not {components}")
            v = replace(v, outputs2=v.outputs2 | code << 3 * k, texcoord_pack=v.texcoord_pack | int(half) << k)
        elif name in OUTPUT_BITS:
            v = replace(v, outputs1=v.outputs1 | 1 << OUTPUT_BITS[name])
        elif name != "position":
            raise FormatError(None, 0, f"there is no output {name!r}")
        self._vertex = v

    def number(self, name: str, register: int) -> None:
        """Put the number of the vertex (`index`) or of the instance into a register pa, as an integer."""
        self._need("vertex", "numbers of vertices")
        if name not in ("index", "instance") or not 0 <= register < 1 << 16:
            raise FormatError(None, 0, f"the number of {name!r} in pa{register}")
        self._vertex = replace(self._vertex, **{f"{name}_pa": register})
        self.flag(name)

    def change_vertex(self, change: VertexVaryings) -> None:
        """Flip bits of the stored inputs and outputs of a vertex program."""
        self._need("vertex", "vertex inputs")
        self._vertex_change = change

    def _need(self, stage: str, what: str) -> None:
        if self.stage != stage:
            raise FormatError(None, 0, f"a {self.stage} program has no {what}" if what[:2] != "a " else
                              f"a {self.stage} program has not {what}")  # fmt: skip

    # --- what is otherwise derived -----------------------------------------------------------------------------------
    def flag(self, name: str, there: bool = True) -> None:
        """Set a flag of the header, or clear one that would be derived."""
        m = re.fullmatch(r"bit(\d{1,9})", name)
        bit = int(m[1]) if m else rules.FLAG_BITS.get(name, 0)
        if not 0 < bit < 32:
            known = ", ".join([*rules.FLAG_BITS][1:])
            raise FormatError(None, 0, f"there is no flag {name!r}; there are {known}, bit1 ...")
        set_, clear = self._flags
        self._flags = (set_ | 1 << bit, clear) if there else (set_, clear | 1 << bit)

    def size(self, name: str, words: int) -> None:
        """Set the size of a buffer in the header: scratch, thread, literal, data, texture or default."""
        if name not in SIZE_NAMES:
            raise FormatError(None, 0, f"there is no buffer {name!r}; there are {', '.join(SIZE_NAMES)}")
        self._sizes[SIZE_NAMES.index(name)] = words

    def field(self, name: str, value: object) -> None:
        """Set a field of `GxpFile` that would be derived."""
        if name not in {f.name for f in fields(GxpFile)}:
            raise FormatError(None, 0, f"there is no field {name!r}")
        self._given[name] = value

    def append(self, name: str, data: bytes) -> None:
        """Append to `tail` or `padding`, the bytes at the end of the file."""
        self._given[name] = self._given.get(name, b"") + data

    def layout(self, pieces: list[str]) -> None:
        """Set the order of the parts: their kinds, and `nameK` for the name of parameter K."""
        self._layout = pieces

    def gap(self, piece: str, data: bytes) -> None:
        """Put bytes before a part that nothing explains."""
        self._gaps[piece] = self._gaps.get(piece, b"") + data

    def unaligned(self, piece: str) -> None:
        """Let a part begin where it would not: at no multiple of its alignment."""
        self._unaligned.add(piece)

    # --- making the file ---------------------------------------------------------------------------------------------
    def file(self, primary: Program | None = None, secondary: Program | None = None) -> GxpFile:
        """Return the file with two programs in it."""
        gxp = replace(self._file, parameters=list(self._file.parameters), layout=[])
        for what, program in (("primary", primary), ("secondary", secondary)):
            if program is not None and program.tail:
                raise FormatError(None, len(program.units), f"{len(program.tail)} bytes at the end fill no word")
            setattr(gxp, what, program.words if program is not None else [])
        code = rules.code_facts(primary, secondary)
        gxp.containers = (
            rules.derived_containers(gxp, self._data_end) if self._containers is None else list(self._containers)
        )
        for t in rules.PLACED:
            setattr(gxp, t.name, t.counted(gxp))
        gxp.varyings = self._given.get("varyings", self._varyings())
        for k, p in enumerate(gxp.parameters):
            if p.category == SAMPLER:
                found = self._queries.get(k)
                found = rules.sampled_as(gxp, code, p.resource_index) if found is None else found
                gxp.parameters[k] = replace(p, semantic=found & 255)
        for name, value in {**rules.derived(gxp, code), **self._given}.items():
            setattr(gxp, name, value)
        set_, clear = self._flags
        gxp.flags = (gxp.flags | set_) & ~clear
        gxp.buffer_sizes = tuple(self._sizes.get(k, words) for k, words in enumerate(gxp.buffer_sizes))
        gxp.layout = self._pieces(gxp)
        if "padding" in self._given:
            gxp.stored_size = int.from_bytes(write_gxp(gxp)[8:12], "little")
        return gxp

    def to_bytes(self, primary: Program | None = None, secondary: Program | None = None) -> bytes:
        """Return the content of the file."""
        return write_gxp(self.file(primary, secondary))

    def _varyings(self) -> VertexVaryings | FragmentVaryings:
        if self.stage == "vertex":
            return rules.flipped(rules.with_words(self._vertex), self._vertex_change)
        last = max((k for k, (f, _) in enumerate(self._inputs) if f.source is not None), default=-1)
        inputs = tuple(rules.flipped(f.descriptor(k == last), change) for k, (f, change) in enumerate(self._inputs))
        count = len(rules.fetches(inputs)) if self._fetches is None else self._fetches
        return replace(self._fragment, inputs=inputs, unknown_e=count)

    def _pieces(self, gxp: GxpFile) -> list[GxpPiece]:
        standard = standard_layout(gxp)
        pieces = standard if self._layout is None else []
        for kind in self._layout or ():
            if kind == "names":
                pieces += [p for p in standard if p.kind == "name"]
            elif m := re.fullmatch(r"name(\d+)", kind):
                if int(m[1]) >= len(gxp.parameters):
                    raise FormatError(None, 0, f"the layout has the name of parameter {m[1]}, which is not there")
                pieces.append(GxpPiece("name", int(m[1])))
            else:
                pieces.append(GxpPiece(kind))
        return [replace(p, gap=self._gaps.get(p.key, b""), aligned=p.key not in self._unaligned) for p in pieces]


def type_number(name: str) -> int:
    """Return the number of a parameter type: one of TYPES, or `typeN`. Raises FormatError."""
    if name in TYPES:
        return TYPES.index(name)
    if m := re.fullmatch(r"type(\d{1,9})", name):
        return int(m[1])
    raise FormatError(None, 0, f"there is no type `{name}`; types are {' '.join(TYPES)}")


def semantic_numbers(semantic: str | tuple[int, int]) -> tuple[int, int]:
    """Return (number, index) of a semantic such as TEXCOORD1; (0, 0) of nothing. Raises FormatError."""
    if not semantic or isinstance(semantic, tuple):
        return semantic or (0, 0)
    m = re.fullmatch(r"([A-Za-z]+)(\d{0,9})", semantic)
    if m is None or m[1].upper() not in SEMANTICS[1:]:
        raise FormatError(None, 0, f"there is no semantic {semantic!r}; there are {', '.join(SEMANTICS[1:])}")
    return SEMANTICS.index(m[1].upper()), int(m[2] or 0)
