"""Write a `GxpFile`: the parts in their stored order, sizes and offsets computed anew. Source: [usse] 3."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import astuple
from typing import TYPE_CHECKING

from isakit.description import bytes_of
from isakit.errors import FormatError
from isakit.formats.gxp import (
    FRAGMENT_LAYOUT,
    HEADER_LAYOUT,
    HEADER_SIZES,
    MAGIC,
    POINTERS,
    TABLES,
    VERTEX_LAYOUT,
    VERTEX_LAYOUT_14,
    FragmentVaryings,
    GxpFile,
    GxpParameter,
    GxpPiece,
    VertexVaryings,
    alignment,
)

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


def write_gxp(gxp: GxpFile) -> bytes:
    """Bytes of a GXP file; an unchanged file comes out as it was read.

    Raises FormatError for values that do not fit their fields.
    """
    try:
        return _Writer(gxp).bytes()
    except struct.error as e:
        raise FormatError(None, 0, f"a value does not fit its field: {e}") from None


ORDER = (
    "header", "varyings", "inputs", "secondary", "phases", "primary", "literals", "literal_buffer",
    "dependent_samplers", "texture_buffer_samplers", "containers", "uniform_buffers", "parameters", "sampler_query",
)  # fmt: skip
"""Order of the parts in a new file, the names of parameters after them; compilers used several orders."""


class _Writer:
    def __init__(self, gxp: GxpFile) -> None:
        self.gxp = gxp
        if gxp.version not in HEADER_SIZES:
            raise FormatError(None, 4, f"version {gxp.version} is not known")
        if isinstance(gxp.varyings, VertexVaryings if gxp.stage == "fragment" else FragmentVaryings):
            raise FormatError(None, 0, f"the varyings are not those of a {gxp.stage} program")
        self.out = bytearray()
        self.places: dict[tuple[str, int], int] = {}

    def bytes(self) -> bytes:
        gxp, out = self.gxp, self.out
        content = self.content()
        for piece in self.pieces(content):
            out += piece.gap
            if piece.aligned:
                out += bytes(-len(out) % alignment(piece.kind))
            self.places[piece.kind, piece.index] = len(out)
            out += self.name(piece.index) if piece.kind == "name" else content[piece.kind]
        out += gxp.tail
        self.point(content)
        size = len(out)
        struct.pack_into("<I", out, 8, size)
        return bytes(out) + (gxp.padding if size == gxp.stored_size else bytes(-size % 4))

    def content(self) -> dict[str, bytes]:
        """The bytes of every part this file has, with zero where an offset belongs."""
        gxp = self.gxp
        content = {
            "header": bytes(HEADER_SIZES[gxp.version]),
            "parameters": b"".join(map(_parameter, gxp.parameters)),
            "primary": b"".join(struct.pack("<Q", w) for w in gxp.primary),
            "secondary": b"".join(struct.pack("<Q", w) for w in gxp.secondary),
            "literals": _records("<II", gxp.literals),
            "uniform_buffers": _records("<HHi", gxp.uniform_buffers),
            "dependent_samplers": _records("<HH", gxp.dependent_samplers),
            "texture_buffer_samplers": _records("<HH", gxp.texture_buffer_samplers),
            "containers": _records("<HHHH", gxp.containers),
            "literal_buffer": gxp.literal_buffer,
        }
        if gxp.phases:
            content["phases"] = bytes_of(gxp.phases)
        queried = gxp.sampler_query or any(p.kind == "sampler_query" for p in gxp.layout)
        if queried and gxp.version >= (1, 5):
            content["sampler_query"] = bytes_of(gxp.sampler_query, 2)
        v = gxp.varyings
        if isinstance(v, VertexVaryings):
            fields = astuple(v)
            content["varyings"] = struct.pack(VERTEX_LAYOUT, *fields)
            if gxp.version < (1, 5):
                content["varyings"] = struct.pack(VERTEX_LAYOUT_14, *fields[:5])
        elif isinstance(v, FragmentVaryings):
            content["varyings"] = struct.pack(
                FRAGMENT_LAYOUT, v.unknown0, v.output_start, v.unknown9, v.output_type, v.output_components,
                len(v.inputs), v.unknown_e, 0,
            )  # fmt: skip
            content["inputs"] = _records("<4I", v.inputs)
        return content

    def pieces(self, content: dict[str, bytes]) -> list[GxpPiece]:
        """The stored order without the parts that are gone, then the parts that are new."""
        gxp = self.gxp
        pieces = [p for p in gxp.layout if (p.index < len(gxp.parameters) if p.kind == "name" else p.kind in content)]
        have = {p.kind for p in pieces}
        if pieces and "phases" not in have and "phases" in content:
            first = next((k for k, p in enumerate(pieces) if p.kind == "primary"), len(pieces))
            pieces.insert(first, GxpPiece("phases"))
            have.add("phases")
        for kind in ORDER:
            if kind not in have and kind in content and (content[kind] or not gxp.layout):
                pieces.append(GxpPiece(kind))
        stored = {"", *(gxp.parameters[p.index].name for p in pieces if p.kind == "name")}
        for index, parameter in enumerate(gxp.parameters):
            if parameter.name not in stored:
                stored.add(parameter.name)
                pieces.append(GxpPiece("name", index))
        return pieces

    def name(self, index: int) -> bytes:
        name = self.gxp.parameters[index].name
        try:
            return name.encode("latin-1") + b"\0"
        except UnicodeEncodeError:
            raise FormatError(None, 0, f"parameter name {name!r} does not fit 8-bit characters") from None

    def point(self, content: dict[str, bytes]) -> None:
        """Fill in the header and every offset, now that all places are known."""
        gxp, out, places = self.gxp, self.out, self.places
        guids = gxp.binary_guid, gxp.source_guid
        head = MAGIC, *gxp.version, gxp.sdk_version, 0, *guids, gxp.flags, gxp.buffer_flags
        struct.pack_into(HEADER_LAYOUT, out, 0, *head)
        struct.pack_into("<Q", out, 0x1C, gxp.texunit_flags)
        struct.pack_into("<HHIHH", out, 0x30, gxp.primary_registers, gxp.secondary_registers, gxp.temp_registers,
                         gxp.temp_registers_selective, gxp.phase_count)  # fmt: skip
        struct.pack_into("<6I", out, 0x50, *gxp.buffer_sizes)
        struct.pack_into("<I", out, 0x6C, gxp.compiler_version)
        if 4 * gxp.buffer_sizes[2] != len(gxp.literal_buffer):
            raise FormatError(None, 0x58, "the literal buffer does not have the size the header states")
        for kind, _, count_at, layout in TABLES:
            struct.pack_into("<I", out, count_at, len(content[kind]) // struct.calcsize(layout))
        for kind, at in POINTERS.items():
            if (kind, 0) in places:
                struct.pack_into("<I", out, at, places[kind, 0] - at)
        if ("secondary", 0) in places:
            struct.pack_into("<I", out, 0x4C, places["secondary", 0] + len(content["secondary"]) - 0x4C)
        if ("inputs", 0) in places:
            at = places["varyings", 0] + 0x10
            struct.pack_into("<I", out, at, places["inputs", 0] - at)
        named: dict[str, int] = {}
        for (kind, index), place in places.items():
            if kind == "name":
                named.setdefault(gxp.parameters[index].name, place)
        for index, parameter in enumerate(gxp.parameters):
            at = places["parameters", 0] + 16 * index
            place = places.get(("name", index)) or (named[parameter.name] if parameter.name else at)
            struct.pack_into("<i", out, at, place - at)


def _records(layout: str, records: Sequence[DataclassInstance]) -> bytes:
    return b"".join(struct.pack(layout, *astuple(r)) for r in records)


def _parameter(p: GxpParameter) -> bytes:
    nibbles = (p.category, p.type, p.component_count, p.container_index)
    if not all(0 <= n < 16 for n in nibbles):
        raise FormatError(None, 0, f"parameter {p.name!r}: {nibbles} do not fit four bits each")
    packed = sum(n << 4 * i for i, n in enumerate(nibbles))
    return struct.pack("<iHBBIi", 0, packed, p.semantic, p.semantic_index, p.array_size, p.resource_index)
