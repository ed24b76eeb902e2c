"""GXP files: compiled shader programs for the PowerVR USSE, versions 1.4 and 1.5.

`parse_gxp` reads every field and keeps the order of the parts and unexplained bytes, so that `write_gxp` (in
`gxp_write`) writes the file back byte for byte, or with other programs and tables in it. Offsets in the file count from
their own place. Source: [usse] 3; the sizes of header and varyings per version are measured on real files.
"""

from __future__ import annotations

import struct
import warnings
from dataclasses import dataclass, field

from isakit.description import Kernel, bytes_of, words_of
from isakit.errors import FormatError, FormatWarning
from isakit.formats.gxp_outputs import output_words, stored_output_words
from isakit.formats.shader import Shader

MAGIC = b"GXP\0"
FRAGMENT, DISCARD, DEPTH_REPLACE, NATIVE_COLOR = 1 << 0, 1 << 3, 1 << 4, 1 << 6
READS_COLOR = 1 << 7
HAS_INDEX, HAS_INSTANCE = 1 << 17, 1 << 18
"""Bits of `GxpFile.flags`."""

DEFAULT_BUFFER, TEXTURE_BUFFER, LITERAL_BUFFER, THREAD_BUFFER, DATA = 14, 15, 16, 18, 19
"""Containers with a meaning of their own; 0 to 13 are user buffers."""

ATTRIBUTE, UNIFORM, SAMPLER, AUXILIARY_SURFACE, UNIFORM_BUFFER = range(5)
"""Numbers of the categories of parameters."""

CATEGORIES = ("attribute", "uniform", "sampler", "auxiliary surface", "uniform buffer")
TYPES = ("f32", "f16", "c10", "u32", "s32", "u16", "s16", "u8", "s8", "aggregate")
SEMANTICS = (
    "none", "ATTR", "BCOL", "BINORMAL", "BLENDINDICES", "BLENDWEIGHT", "COLOR", "DIFFUSE", "FOGCOORD", "NORMAL",
    "POINTSIZE", "POSITION", "SPECULAR", "TANGENT", "TEXCOORD", "INDEX", "INSTANCE",
)  # fmt: skip

TYPE_BYTES = (4, 2, 2, 4, 4, 2, 2, 1, 1, 4)
"""Bytes of a component by type number; those of an aggregate are registers."""

_MAX_NAME = 4096
# Two u32 and, from 1.5 on, the pointer to the sampler query table close the header.
HEADER_SIZES = {(1, 4): 0x98, (1, 5): 0x9C}
_MIN_HEADER = 0x98


@dataclass(frozen=True)
class GxpParameter:
    """One parameter record; the numbers of `category`, `type` and `semantic` index the tables of this module.

    `resource_index` counts 32-bit words for attributes and uniforms, texture units for samplers.
    """

    name: str
    category: int
    type: int
    component_count: int
    container_index: int
    semantic: int
    semantic_index: int
    array_size: int
    resource_index: int

    @property
    def element_words(self) -> int:
        """Registers from one element to the next; vectors in arrays start at multiples of 8 bytes."""
        size = TYPE_BYTES[self.type] if self.type < len(TYPE_BYTES) else 4
        length = max(1, self.component_count) * size
        if self.array_size > 1 and self.component_count > 1:
            return -(-length // 8) * 2
        return -(-length // 4)

    @property
    def words(self) -> int:
        """Registers of all elements."""
        return self.element_words * max(1, self.array_size)


@dataclass(frozen=True)
class GxpLiteral:
    """A constant the loader puts into sa[`sa_offset`]; `value` is its 32 bits."""

    sa_offset: int
    value: int


@dataclass(frozen=True)
class GxpUniformBuffer:
    """Where the address of a buffer goes: sa register offset and value (bytes) to add."""

    reside_buffer: int
    ldst_base_offset: int
    ldst_base_value: int


@dataclass(frozen=True)
class GxpDependentSampler:
    """sa[`sa_offset`] of the data container receives texture state word `resource` % 4 of unit `resource` // 4."""

    resource: int
    sa_offset: int


@dataclass(frozen=True)
class GxpContainer:
    """A range of sa registers; `index` is 0-13 user buffer, 14 default, 15 texture, 16 literal, 18 thread, 19 data."""

    index: int
    unknown: int
    base_sa_offset: int
    size_in_words: int


@dataclass(frozen=True)
class VertexVaryings:
    """Inputs and outputs of a vertex program. Version 1.4 has no `semantic_pa` fields (they are 0 then)."""

    attribute_registers: int = 0
    untyped_registers: int = 0
    outputs1: int = 0
    outputs2: int = 0
    texcoord_pack: int = 0
    index_pa: int = 0
    instance_pa: int = 0


@dataclass(frozen=True)
class AttributeDescriptor:
    """One interpolated input of a fragment program, as stored; the bits are listed in [usse] 3.2."""

    info: int
    resource_index: int
    size: int
    component_info: int


@dataclass(frozen=True)
class FragmentVaryings:
    """Inputs and result of a fragment program; `unknown*` are bytes without a known meaning."""

    unknown0: int = 0
    output_start: int = 0
    unknown9: int = 0
    output_type: int = 0
    output_components: int = 0
    unknown_e: int = 0
    inputs: tuple[AttributeDescriptor, ...] = ()


@dataclass(frozen=True)
class GxpPiece:
    """One part of the file in file order: what it is, the unexplained bytes before it, whether it was aligned."""

    kind: str
    index: int = 0
    gap: bytes = b""
    aligned: bool = True


@dataclass
class GxpFile:
    """The whole content of a GXP file. Programs are lists of 64-bit instruction words; sizes are 32-bit words.

    `phases` are the numbers of the instructions that phases begin with: the table before the primary program. In
    all known files they are the places of its `phas` instructions. `layout`, `tail` and `padding` only serve to write
    the same bytes again: leave `layout` empty for a new file.
    """

    version: tuple[int, int] = (1, 5)
    sdk_version: int = 0x350
    binary_guid: int = 0
    source_guid: int = 0
    flags: int = 0
    buffer_flags: int = 0
    texunit_flags: int = 0
    primary_registers: int = 0
    secondary_registers: int = 0
    temp_registers: int = 0
    temp_registers_selective: int = 0
    phase_count: int = 1
    phases: tuple[int, ...] = (0,)
    buffer_sizes: tuple[int, int, int, int, int, int] = (0, 0, 0, 0, 0, 0)
    compiler_version: int = 0
    primary: list[int] = field(default_factory=list[int])
    secondary: list[int] = field(default_factory=list[int])
    parameters: list[GxpParameter] = field(default_factory=list[GxpParameter])
    varyings: VertexVaryings | FragmentVaryings | None = None
    literal_buffer: bytes = b""
    literals: list[GxpLiteral] = field(default_factory=list[GxpLiteral])
    uniform_buffers: list[GxpUniformBuffer] = field(default_factory=list[GxpUniformBuffer])
    dependent_samplers: list[GxpDependentSampler] = field(default_factory=list[GxpDependentSampler])
    texture_buffer_samplers: list[GxpDependentSampler] = field(default_factory=list[GxpDependentSampler])
    containers: list[GxpContainer] = field(default_factory=list[GxpContainer])
    sampler_query: tuple[int, ...] = ()
    layout: list[GxpPiece] = field(default_factory=list[GxpPiece])
    tail: bytes = b""
    padding: bytes = b""
    stored_size: int = 0

    @property
    def stage(self) -> str:
        """`vertex` or `fragment`."""
        return "fragment" if self.flags & FRAGMENT else "vertex"

    @property
    def default_uniform_words(self) -> int:
        """Size of the default uniform buffer in 32-bit words."""
        return self.buffer_sizes[5]


# The parts a header field points at: kind, place of the pointer, place of the count (0: no count), record layout.
TABLES: tuple[tuple[str, int, int, str], ...] = (
    ("parameters", 0x28, 0x24, "<iHBBIi"),
    ("primary", 0x40, 0x3C, "<Q"),
    ("secondary", 0x48, 0x44, "<Q"),
    ("literals", 0x74, 0x70, "<II"),
    ("uniform_buffers", 0x7C, 0x78, "<HHi"),
    ("dependent_samplers", 0x84, 0x80, "<HH"),
    ("texture_buffer_samplers", 0x8C, 0x88, "<HH"),
    ("containers", 0x94, 0x90, "<HHHH"),
)
POINTERS = {kind: at for kind, at, _, _ in TABLES} | {"varyings": 0x2C, "literal_buffer": 0x68, "sampler_query": 0x98}
HEADER_LAYOUT = "<4sBBHIIIII"
VERTEX_LAYOUT = "<QQIIIHH"
VERTEX_LAYOUT_14 = "<QQIII"
FRAGMENT_LAYOUT = "<QBBBBHHI"
_QUERY_BYTES = 32


def gxp_extent(data: bytes, start: int = 0) -> int | None:
    """Length of the GXP file that starts there, with its padding; None when there is none."""
    if data[start : start + 4] != MAGIC or len(data) - start < _MIN_HEADER:
        return None
    if (data[start + 4], data[start + 5]) not in HEADER_SIZES:
        return None
    size = int.from_bytes(data[start + 8 : start + 12], "little")
    if not _MIN_HEADER <= size <= len(data) - start:
        return None
    end = start + size
    while (end - start) % 4 and end < len(data) and data[end] == 0:
        end += 1
    return end - start


def read_gxp(data: bytes, path: str | None = None, offset: int = 0) -> Shader:
    """A GXP file as a module with the programs `primary` and `secondary`; `payload` is the `GxpFile`."""
    gxp = parse_gxp(data, path, offset)
    _compare_output_words(gxp, path)
    module = Shader("gxp", "usse", "sgx543", path=path, offset=offset, size=len(data), payload=gxp)
    for name, words in (("primary", gxp.primary), ("secondary", gxp.secondary)):
        module.add(Kernel(name, bytes_of(words, 8), 0, gxp.temp_registers, shared_bytes=0, local_bytes=0, barriers=0))
    module.extra["stage"] = gxp.stage
    return module


def _compare_output_words(gxp: GxpFile, path: str | None) -> None:
    """Warn where the file counts other output registers than its results take."""
    v = gxp.varyings
    if not isinstance(v, VertexVaryings):
        return
    stored, words = stored_output_words(v.outputs1), output_words(v.outputs1, v.outputs2)
    if stored != words:
        warnings.warn(
            f"{path or '<data>'}: the header counts {stored} output registers, the results it names take {words}",
            FormatWarning,
            stacklevel=3,
        )


def parse_gxp(data: bytes, path: str | None = None, offset: int = 0) -> GxpFile:
    """Read a GXP file. Raises FormatError when a part lies outside the file or overlaps another one."""
    return _Parser(data, path, offset).parse()


class _Parser:
    def __init__(self, data: bytes, path: str | None, offset: int) -> None:
        self.data, self.path, self.offset = data, path, offset
        self.spans: list[tuple[int, int, str, int]] = []  # start, end, kind, index
        self.size = 0

    def error(self, at: int, reason: str) -> FormatError:
        return FormatError(self.path, self.offset + at, reason)

    def u32(self, at: int) -> int:
        return int.from_bytes(self.data[at : at + 4], "little")

    def u16(self, at: int) -> int:
        return int.from_bytes(self.data[at : at + 2], "little")

    def pointer(self, at: int) -> int | None:
        return at + self.u32(at) if self.u32(at) else None

    def span(self, start: int, length: int, kind: str, index: int = 0) -> None:
        if not 0 <= start <= start + length <= self.size:
            raise self.error(min(max(start, 0), len(self.data)), f"{kind} ({length:#x} bytes) lies outside the file")
        self.spans.append((start, start + length, kind, index))

    def table(self, kind: str, at: int, count_at: int, layout: str) -> list[tuple[int, ...]]:
        start, count = self.pointer(at), self.u32(count_at)
        if start is None:
            if count:
                raise self.error(at, f"{count} entries of {kind}, but no place for them")
            return []
        self.span(start, count * struct.calcsize(layout), kind)
        return list(struct.iter_unpack(layout, self.data[start : start + count * struct.calcsize(layout)]))

    def parse(self) -> GxpFile:
        data = self.data
        if data[:4] != MAGIC or len(data) < _MIN_HEADER:
            raise self.error(0, "not a GXP file (magic bytes missing or header cut off)")
        version = (data[4], data[5])
        if version not in HEADER_SIZES:
            raise self.error(4, f"version {data[4]}.{data[5]} is not known")
        self.size = self.u32(8)
        if not HEADER_SIZES[version] <= self.size <= len(data):
            raise self.error(8, f"the header says {self.size:#x} bytes, the file has {len(data):#x}")
        gxp = GxpFile(version, self.u16(6))
        (gxp.binary_guid, gxp.source_guid, gxp.flags, gxp.buffer_flags, gxp.texunit_flags) = struct.unpack_from(
            "<IIIIQ", data, 0x0C
        )
        (gxp.primary_registers, gxp.secondary_registers, gxp.temp_registers, gxp.temp_registers_selective,
         gxp.phase_count) = struct.unpack_from("<HHIHH", data, 0x30)  # fmt: skip
        gxp.buffer_sizes = struct.unpack_from("<6I", data, 0x50)
        gxp.compiler_version = self.u32(0x6C)
        self.spans.append((0, HEADER_SIZES[version], "header", 0))

        rows = {kind: self.table(kind, at, count_at, layout) for kind, at, count_at, layout in TABLES}
        gxp.primary = [w for (w,) in rows["primary"]]
        gxp.secondary = [w for (w,) in rows["secondary"]]
        if (self.pointer(0x4C) or 0) != (self.pointer(0x48) or 0) + 8 * len(gxp.secondary):
            raise self.error(0x4C, "the end of the secondary program does not match its instruction count")
        gxp.literals = [GxpLiteral(*r) for r in rows["literals"]]
        gxp.uniform_buffers = [GxpUniformBuffer(*r) for r in rows["uniform_buffers"]]
        gxp.dependent_samplers = [GxpDependentSampler(*r) for r in rows["dependent_samplers"]]
        gxp.texture_buffer_samplers = [GxpDependentSampler(*r) for r in rows["texture_buffer_samplers"]]
        gxp.containers = [GxpContainer(*r) for r in rows["containers"]]
        self.parameters(gxp, rows["parameters"])
        self.varyings(gxp)
        literal_buffer = self.pointer(0x68)
        if literal_buffer is not None:
            self.span(literal_buffer, 4 * gxp.buffer_sizes[2], "literal_buffer")
            gxp.literal_buffer = data[literal_buffer : literal_buffer + 4 * gxp.buffer_sizes[2]]
        elif gxp.buffer_sizes[2]:
            raise self.error(0x68, "a literal buffer without a place")
        query = self.pointer(0x98) if version >= (1, 5) else None
        if query is not None:
            # The table has no length: one u16 per texture unit, or less where another part begins before that.
            later = (s for s, *_ in self.spans if s > query)
            length = min(_QUERY_BYTES, min(later, default=self.size) - query, self.size - query)
            self.span(query, length - length % 2, "sampler_query")
            gxp.sampler_query = tuple(words_of(data[query : query + length], 2))
        self.arrange(gxp)
        return gxp

    def parameters(self, gxp: GxpFile, rows: list[tuple[int, ...]]) -> None:
        start = self.pointer(0x28) or 0
        names: dict[int, str] = {}
        for index, (name_offset, packed, semantic, semantic_index, array_size, resource) in enumerate(rows):
            at = start + 16 * index + name_offset
            if not name_offset:  # a uniform buffer may have no name
                names[at] = ""
            elif at not in names:
                end = self.data.find(b"\0", at, min(at + _MAX_NAME, self.size)) if at >= 0 else -1
                if end < 0:
                    raise self.error(start + 16 * index, f"the name of parameter {index} lies outside the file")
                self.span(at, end + 1 - at, "name", index)
                names[at] = self.data[at:end].decode("latin-1")
            category, kind, components, container = (packed >> shift & 15 for shift in (0, 4, 8, 12))
            gxp.parameters.append(
                GxpParameter(
                    names[at], category, kind, components, container, semantic, semantic_index, array_size, resource
                )
            )

    def varyings(self, gxp: GxpFile) -> None:
        start = self.pointer(0x2C)
        if start is None:
            return
        if gxp.stage == "vertex":
            layout = VERTEX_LAYOUT if gxp.version >= (1, 5) else VERTEX_LAYOUT_14
            self.span(start, struct.calcsize(layout), "varyings")
            gxp.varyings = VertexVaryings(*struct.unpack_from(layout, self.data, start))
            return
        self.span(start, struct.calcsize(FRAGMENT_LAYOUT), "varyings")
        head, first, byte9, kind, width, count, unknown, place = struct.unpack_from(FRAGMENT_LAYOUT, self.data, start)
        inputs: list[AttributeDescriptor] = []
        if place:
            at = start + 0x10 + place
            self.span(at, 16 * count, "inputs")
            inputs = [AttributeDescriptor(*r) for r in struct.iter_unpack("<4I", self.data[at : at + 16 * count])]
        elif count:
            raise self.error(start + 12, f"{count} varyings, but no place for them")
        gxp.varyings = FragmentVaryings(head, first, byte9, kind, width, unknown, tuple(inputs))

    def arrange(self, gxp: GxpFile) -> None:
        """Turn the places of the parts into the order in which to write them, with the bytes between them."""
        end, last = 0, "file"
        gxp.phases = ()
        # Of empty parts in the same place the program is the first: the table of phases stands before it.
        for start, stop, kind, index in sorted(self.spans, key=lambda s: (s[0], s[1], s[2] != "primary", *s[2:])):
            if start < end:
                raise self.error(start, f"{kind} overlaps {last}")
            if kind == "primary" and start > end and end % 4 == start % 4 == 0:
                gxp.phases = tuple(words_of(self.data[end:start]))
                gxp.layout.append(GxpPiece("phases"))
                end = start
            gxp.layout.append(GxpPiece(kind, index, self.data[end:start], start % alignment(kind) == 0))
            end, last = stop, kind
        gxp.tail, gxp.padding = self.data[end : self.size], self.data[self.size :]
        gxp.stored_size = self.size


def alignment(kind: str) -> int:
    """Alignment of a part in bytes; 64-bit instructions are aligned to 4 only."""
    return {"name": 1, "sampler_query": 2}.get(kind, 4)
