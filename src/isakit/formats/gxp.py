"""GXP files: compiled shader programs for the PowerVR USSE, versions 1.4 and 1.5.

`parse_gxp` reads every field and keeps the order of the parts and unexplained bytes, so that `write_gxp` writes the
file back byte for byte, or with other programs and tables in it. Both follow the layouts declared here. Source: [usse]
3; the sizes of header and varyings per version are measured on real files.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeVar

from isakit.description import bytes_of, words_of
from isakit.errors import FormatError
from isakit.formats.layout import Layout, Values

T = TypeVar("T")

MAGIC = b"GXP\0"
FRAGMENT, DISCARD, DEPTH_REPLACE, NATIVE_COLOR = 1 << 0, 1 << 3, 1 << 4, 1 << 6
READS_COLOR = 1 << 7
HAS_INDEX, HAS_INSTANCE = 1 << 17, 1 << 18
"""Bits of `GxpFile.flags`."""

DEFAULT_BUFFER, TEXTURE_BUFFER, LITERAL_BUFFER, THREAD_BUFFER, DATA = 14, 15, 16, 18, 19
"""Containers with a meaning of their own; 0 to 13 are user buffers."""

ATTRIBUTE, UNIFORM, SAMPLER, AUXILIARY_SURFACE, UNIFORM_BUFFER = range(5)
"""Numbers of the categories of parameters."""

TYPES = ("f32", "f16", "c10", "u32", "s32", "u16", "s16", "u8", "s8", "aggregate")
SEMANTICS = (
    "none", "ATTR", "BCOL", "BINORMAL", "BLENDINDICES", "BLENDWEIGHT", "COLOR", "DIFFUSE", "FOGCOORD", "NORMAL",
    "POINTSIZE", "POSITION", "SPECULAR", "TANGENT", "TEXCOORD", "INDEX", "INSTANCE",
)  # fmt: skip

TYPE_BYTES = (4, 2, 2, 4, 4, 2, 2, 1, 1, 4)
"""Bytes of a component by type number; those of an aggregate are registers."""

CONTAINER_NAMES = {14: "default", 15: "texture", 16: "literal", 17: "scratch", 18: "thread", 19: "data"}
"""Containers by number; user buffers have their number as name."""
SIZE_NAMES = ("scratch", "thread", "literal", "data", "texture", "default")
"""The buffers whose sizes are `GxpFile.buffer_sizes`."""

NO_SOURCE = 15
"""The source or texture coordinate of an input that has none."""
_MAX_NAME = 4096


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
    """Address of a buffer: the sa register offset that holds it, and a value (bytes) to add."""

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

    @property
    def bits(self) -> InputBits:
        """The named bits."""
        return INPUT_BITS.read(INPUT.pack(vars(self)))


@dataclass(frozen=True)
class InputBits:
    """The bits of an `AttributeDescriptor` by name, 0 for what is not said; `last_*` count from 0."""

    coordinate: int = NO_SOURCE
    centroid: int = 0
    projection: int = 0
    fetched: int = 0
    source: int = NO_SOURCE
    f32_color: int = 0
    last_component: int = 0
    last: int = 0
    iterated: int = 0
    type: int = 0
    sprite: int = 0
    unit: int = 0
    last_word: int = 0
    last_texel_word: int = 0
    texel: int = 0


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
    """One part of the file, in file order: its kind, the unexplained bytes before it, whether it was aligned."""

    kind: str
    index: int = 0
    gap: bytes = b""
    aligned: bool = True

    @property
    def key(self) -> str:
        """Name of the part in a text: its kind, `nameK` for the name of parameter K."""
        return f"name{self.index}" if self.kind == "name" else self.kind


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
    buffer_sizes: tuple[int, ...] = (0, 0, 0, 0, 0, 0)
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


# --- what lies where -------------------------------------------------------------------------------------------------
HEADER = Layout("""
    char magic[4];  u8 version[2];  u16 sdk_version;  u32 stored_size, binary_guid, source_guid, flags, buffer_flags;
    u64 texunit_flags;
    u32 parameters_count, *parameters, *varyings;
    u16 primary_registers, secondary_registers;  u32 temp_registers;  u16 temp_registers_selective, phase_count;
    u32 primary_count, *primary, secondary_count, *secondary, *secondary_end;
    u32 buffer_sizes[6], *literal_buffer, compiler_version;
    u32 literals_count, *literals, uniform_buffers_count, *uniform_buffers;
    u32 dependent_samplers_count, *dependent_samplers, texture_buffer_samplers_count, *texture_buffer_samplers;
    u32 containers_count, *containers, *sampler_query;
""")
HEADER_SIZES = {(1, 4): HEADER.fields["sampler_query"].at, (1, 5): HEADER.size}
"""Bytes of the header by version."""
_MIN_HEADER = min(HEADER_SIZES.values())

PARAMETER = Layout("""
    s32 *name;  u16 category:4, type:4, component_count:4, container_index:4;  u8 semantic, semantic_index;
    u32 array_size;  s32 resource_index;
""")
VERTEX = Layout(
    "u64 attribute_registers, untyped_registers;  u32 outputs1, outputs2, texcoord_pack;  u16 index_pa, instance_pa;",
    VertexVaryings,
)
FRAGMENT_HEAD = Layout("""
    u64 unknown0;  u8 output_start, unknown9, output_type, output_components;  u16 inputs_count, unknown_e;
    u32 *inputs;
""")
INPUT = Layout("u32 info, resource_index, size, component_info;", AttributeDescriptor)
INPUT_BITS = Layout(
    """
    u32 coordinate:4, centroid:1, :3, projection:2, :1, fetched:1, source:4, :4, f32_color:1, :1, last_component:2, :1,
        last:1, iterated:2, type:2, sprite:1, :1;
    u32 unit;  u32 :4, last_word:2, last_texel_word:2, :24;  u32 :4, texel:2, :26;
    """,
    InputBits,
)
WORD = Layout("u64 word;")
TABLES: dict[str, Layout[Any]] = {
    "parameters": PARAMETER,
    "primary": WORD,
    "secondary": WORD,
    "literals": Layout("u32 sa_offset, value;", GxpLiteral),
    "uniform_buffers": Layout("u16 reside_buffer, ldst_base_offset;  s32 ldst_base_value;", GxpUniformBuffer),
    "dependent_samplers": Layout("u16 resource, sa_offset;", GxpDependentSampler),
    "texture_buffer_samplers": Layout("u16 resource, sa_offset;", GxpDependentSampler),
    "containers": Layout("u16 index, unknown, base_sa_offset, size_in_words;", GxpContainer),
}
"""The records of every table that the header counts and points at."""
_POINTED = [name for name, f in HEADER.fields.items() if f.is_pointer]
_SCALARS = [name for name in HEADER.fields if name not in {"magic", *_POINTED, *(f"{kind}_count" for kind in TABLES)}]
_QUERY_BYTES = 32

ORDER = (
    "header", "varyings", "inputs", "secondary", "phases", "primary", "literals", "literal_buffer",
    "dependent_samplers", "texture_buffer_samplers", "containers", "uniform_buffers", "parameters", "sampler_query",
)  # fmt: skip
"""Order of the parts in a new file, the names of parameters after them; compilers used several orders."""


def alignment(kind: str) -> int:
    """Return the alignment of a part in bytes; 64-bit instructions are aligned to 4 only."""
    return {"name": 1, "sampler_query": 2}.get(kind, 4)


def vertex_bytes(version: tuple[int, int]) -> int:
    """Return the size of the varyings of a vertex program: 1.4 has no registers for the numbers of vertex, instance."""
    return VERTEX.size if version >= (1, 5) else VERTEX.fields["index_pa"].at


def gxp_extent(data: bytes, start: int = 0) -> int | None:
    """Return the length of the GXP file at `start`, padding included; None if there is none."""
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

    def span(self, start: int, length: int, kind: str, index: int = 0) -> None:
        if not 0 <= start <= start + length <= self.size:
            raise self.error(min(max(start, 0), len(self.data)), f"{kind} ({length:#x} bytes) lies outside the file")
        self.spans.append((start, start + length, kind, index))

    def table(self, kind: str, record: Values, records: Layout[T], pointer_at: int) -> list[T]:
        """Read the records that a record counts and points at; the pointer itself lies at `pointer_at`."""
        start, count = record[kind], record[f"{kind}_count"]
        if start is None:
            if count:
                raise self.error(pointer_at, f"{count} entries of {kind}, but their offset is 0")
            return []
        self.span(start, count * records.size, kind)
        return records.array(self.data, start, count)

    def parse(self) -> GxpFile:
        data = self.data
        if data[:4] != MAGIC or len(data) < _MIN_HEADER:
            raise self.error(0, "not a GXP file (magic bytes missing or header cut off)")
        version = (data[4], data[5])
        if version not in HEADER_SIZES:
            raise self.error(4, f"version {data[4]}.{data[5]} is not known")
        self.size = int.from_bytes(data[8:12], "little")
        if not HEADER_SIZES[version] <= self.size <= len(data):
            raise self.error(8, f"the header says {self.size:#x} bytes, the file has {len(data):#x}")
        head = HEADER.read(data, 0, HEADER_SIZES[version])
        gxp = GxpFile(**{name: head[name] for name in _SCALARS})
        self.spans.append((0, HEADER_SIZES[version], "header", 0))
        rows = {kind: self.table(kind, head, records, HEADER.fields[kind].at) for kind, records in TABLES.items()}
        for kind, found in rows.items():
            setattr(gxp, kind, [r["word"] for r in found] if TABLES[kind] is WORD else found)
        if (head["secondary_end"] or 0) != (head["secondary"] or 0) + WORD.size * len(gxp.secondary):
            raise self.error(0x4C, "the end of the secondary program does not match its instruction count")
        gxp.parameters = self.parameters(rows["parameters"], head["parameters"])
        gxp.varyings = self.varyings(gxp, head["varyings"])
        self.rest(gxp, head)
        self.arrange(gxp)
        return gxp

    def parameters(self, rows: list[Values], start: int) -> list[GxpParameter]:
        names: dict[int, str] = {}
        out: list[GxpParameter] = []
        for index, row in enumerate(rows):
            own = start + PARAMETER.size * index
            place = row["name"]
            if place is None:  # a uniform buffer may have no name
                place, names[own] = own, ""
            elif place not in names:
                end = self.data.find(b"\0", place, min(place + _MAX_NAME, self.size)) if place >= 0 else -1
                if end < 0:
                    raise self.error(own, f"the name of parameter {index} lies outside the file")
                self.span(place, end + 1 - place, "name", index)
                names[place] = self.data[place:end].decode("latin-1")
            row["name"] = names[place]
            out.append(GxpParameter(**row))
        return out

    def varyings(self, gxp: GxpFile, start: int | None) -> VertexVaryings | FragmentVaryings | None:
        if start is None:
            return None
        length = vertex_bytes(gxp.version) if gxp.stage == "vertex" else FRAGMENT_HEAD.size
        self.span(start, length, "varyings")
        if gxp.stage == "vertex":
            return VERTEX.read(self.data, start, length)
        head = FRAGMENT_HEAD.read(self.data, start)
        inputs = self.table("inputs", head, INPUT, start + FRAGMENT_HEAD.fields["inputs"].at)
        del head["inputs_count"]
        head["inputs"] = tuple(inputs)
        return FragmentVaryings(**head)

    def rest(self, gxp: GxpFile, head: Values) -> None:
        """Read the parts that are not tables of records: literals in memory and the query table."""
        start, length = head["literal_buffer"], 4 * gxp.buffer_sizes[2]
        if start is not None:
            self.span(start, length, "literal_buffer")
            gxp.literal_buffer = self.data[start : start + length]
        elif length:
            raise self.error(HEADER.fields["literal_buffer"].at, "a literal buffer without a place")
        query = head["sampler_query"]
        if query is not None:
            # The table has no length: one u16 per texture unit, or less where another part begins before that.
            later = (s for s, *_ in self.spans if s > query)
            length = min(_QUERY_BYTES, min(later, default=self.size) - query, self.size - query)
            self.span(query, length - length % 2, "sampler_query")
            gxp.sampler_query = tuple(words_of(self.data[query : query + length], 2))

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


# --- writing ---------------------------------------------------------------------------------------------------------
def write_gxp(gxp: GxpFile) -> bytes:
    """Return the bytes of a GXP file, sizes and offsets computed anew; an unchanged file comes out as it was read.

    Raises FormatError for values that do not fit their fields.
    """
    return _Writer(gxp).bytes()


def standard_layout(gxp: GxpFile) -> list[GxpPiece]:
    """Return the parts of a new file in their order."""
    missing = {"inputs"} if not isinstance(gxp.varyings, FragmentVaryings) else set[str]()
    missing |= {kind for kind in ("varyings", "phases") if not getattr(gxp, kind)}
    if not gxp.sampler_query or gxp.version < (1, 5):
        missing.add("sampler_query")
    names: dict[str, int] = {}
    for index, p in enumerate(gxp.parameters):
        names.setdefault(p.name, index)
    names.pop("", None)
    return [GxpPiece(k) for k in ORDER if k not in missing] + [GxpPiece("name", index) for index in names.values()]


class _Writer:
    def __init__(self, gxp: GxpFile) -> None:
        self.gxp, self.size = gxp, 0
        if gxp.version not in HEADER_SIZES:
            raise FormatError(None, 4, f"version {gxp.version} is not known")
        if isinstance(gxp.varyings, VertexVaryings if gxp.stage == "fragment" else FragmentVaryings):
            raise FormatError(None, 0, f"the varyings are not those of a {gxp.stage} program")
        if 4 * gxp.buffer_sizes[2] != len(gxp.literal_buffer):
            raise FormatError(None, 0x58, "the literal buffer does not have the size the header states")
        self.places: dict[str, int] = {}
        self.names: dict[str, int] = {}  # offset of the first copy of each name

    def bytes(self) -> bytes:
        gxp, out = self.gxp, bytearray()
        content = self.content()
        for piece in self.pieces(content):
            out += piece.gap
            if piece.aligned:
                out += bytes(-len(out) % alignment(piece.kind))
            self.places[piece.key] = len(out)
            if piece.kind == "name":
                self.names.setdefault(gxp.parameters[piece.index].name, len(out))
            out += content[piece.key]
        if self.places["header"]:
            raise FormatError(None, 0, "the header is not the first part of the file")
        out += gxp.tail
        self.size = len(out)
        for key, data in self.content().items():  # now that all places are known
            if key in self.places:
                out[self.places[key] : self.places[key] + len(data)] = data
        return bytes(out) + (gxp.padding if self.size == gxp.stored_size else bytes(-self.size % 4))

    def content(self) -> dict[str, bytes]:
        """Return the bytes of every part this file has, without the offsets to parts that have no place yet."""
        gxp, place = self.gxp, self.places.get
        content = {"header": self.header(), "literal_buffer": gxp.literal_buffer}
        for kind, records in TABLES.items():
            rows: list[Any] = getattr(gxp, kind)
            if kind == "parameters":
                content[kind] = b"".join(self.parameter(k, p) for k, p in enumerate(rows))
            else:
                values: list[Values] = [{"word": r} if records is WORD else vars(r) for r in rows]
                content[kind] = b"".join(map(records.pack, values))
        content |= {f"name{k}": _stored_name(p.name) for k, p in enumerate(gxp.parameters)}
        if gxp.phases:
            content["phases"] = bytes_of(gxp.phases)
        queried = gxp.sampler_query or any(p.kind == "sampler_query" for p in gxp.layout)
        if queried and gxp.version >= (1, 5):
            content["sampler_query"] = bytes_of(gxp.sampler_query, 2)
        v = gxp.varyings
        if isinstance(v, VertexVaryings):
            content["varyings"] = VERTEX.pack(vars(v), size=vertex_bytes(gxp.version))
        elif isinstance(v, FragmentVaryings):
            head = {**vars(v), "inputs_count": len(v.inputs), "inputs": place("inputs")}
            content["varyings"] = FRAGMENT_HEAD.pack(head, place("varyings", 0))
            content["inputs"] = b"".join(INPUT.pack(vars(d)) for d in v.inputs)
        return content

    def header(self) -> bytes:
        gxp = self.gxp
        head: Values = {name: getattr(gxp, name) for name in _SCALARS}
        head |= {"magic": MAGIC, "stored_size": self.size}
        head |= {f"{kind}_count": len(getattr(gxp, kind)) for kind in TABLES}
        head |= {name: self.places.get(name) for name in _POINTED}
        if "secondary" in self.places:
            head["secondary_end"] = self.places["secondary"] + WORD.size * len(gxp.secondary)
        return HEADER.pack(head, 0, HEADER_SIZES[gxp.version])

    def parameter(self, index: int, p: GxpParameter) -> bytes:
        at = self.places.get("parameters", 0) + PARAMETER.size * index
        place = self.places.get(f"name{index}") or (self.names.get(p.name) if p.name else None)
        return packed_parameter(p, at, place)

    def pieces(self, content: dict[str, bytes]) -> list[GxpPiece]:
        """Return the stored order without the parts that are gone, then the parts that are new."""
        gxp, standard = self.gxp, standard_layout(self.gxp)
        if not gxp.layout:
            return standard
        pieces = [p for p in gxp.layout if p.key in content]
        have = {p.kind for p in pieces}
        if "phases" not in have and "phases" in content:
            first = next((k for k, p in enumerate(pieces) if p.kind == "primary"), len(pieces))
            pieces.insert(first, GxpPiece("phases"))
            have.add("phases")
        pieces += [p for p in standard if p.kind not in have | {"name"} and content[p.kind]]
        stored = {gxp.parameters[p.index].name for p in pieces if p.kind == "name"}
        return pieces + [p for p in standard if p.kind == "name" and gxp.parameters[p.index].name not in stored]


def packed_parameter(p: GxpParameter, at: int = 0, name: int | None = None) -> bytes:
    """Return a parameter record that stands at `at`, its name at `name`. Raises FormatError for what does not fit."""
    try:
        return PARAMETER.pack({**vars(p), "name": name}, at)
    except FormatError as e:
        raise FormatError(None, e.offset, f"parameter {p.name!r}: {e.reason}") from None


def _stored_name(name: str) -> bytes:
    try:
        return name.encode("latin-1") + b"\0"
    except UnicodeEncodeError:
        raise FormatError(None, 0, f"parameter name {name!r} does not fit 8-bit characters") from None


# --- results of vertex programs ---------------------------------------------------------------------------------------
HAS_POSITION = 1 << 12
OUTPUT_BITS = {"color0": 11, "color1": 10, "fog": 9, "pointsize": 8, **{f"clip{k}": k for k in range(8)}}
"""Bits of `outputs1`."""
TEXCOORD_CODES = {2: 1, 3: 3, 4: 7}
"""Components of a texture coordinate to the code of `outputs2`; other codes leave out a component between others."""
_BEFORE_TEXCOORDS = {"color0": 4, "color1": 4, "fog": 2}
_AFTER_TEXCOORDS = {"pointsize": 1, **{f"clip{k}": 1 for k in range(8)}}


@dataclass(frozen=True)
class VertexOutput:
    """A result of a vertex program: `components` values, each f32 in a register of its own, from o[`register`] on."""

    name: str
    register: int
    components: int


def texcoord_code(outputs2: int, k: int) -> int:
    """Return the code of texture coordinate `k`; 0: there is none."""
    return outputs2 >> 3 * k & 7


def vertex_outputs(outputs1: int, outputs2: int) -> list[VertexOutput]:
    """Return results in register order: position, colours, fog, texture coordinates, point size, clip distances.

    The bits of `texcoord_pack` have no part in this: a coordinate declared half takes a register per component, too.
    """
    sizes = {"position": 4}
    sizes |= {name: n for name, n in _BEFORE_TEXCOORDS.items() if outputs1 >> OUTPUT_BITS[name] & 1}
    for k in range(10):
        code = texcoord_code(outputs2, k)
        if code:
            sizes[f"texcoord{k}"] = 2 * (code & 1) + (code >> 1 & 1) + (code >> 2)
    sizes |= {name: n for name, n in _AFTER_TEXCOORDS.items() if outputs1 >> OUTPUT_BITS[name] & 1}
    out: list[VertexOutput] = []
    register = 0
    for name, components in sizes.items():
        out.append(VertexOutput(name, register, components))
        register += components
    return out


def output_words(outputs1: int, outputs2: int) -> int:
    """Return the number of registers that the results of a vertex program take."""
    return sum(o.components for o in vertex_outputs(outputs1, outputs2))


def stored_output_words(outputs1: int) -> int:
    """Return the same number as the file itself has it."""
    return outputs1 >> 24 & 0xFF
