"""The records of `.nv.info` sections: what the compiler tells the driver about a kernel.

Only the attributes a loader needs are taken apart; every other record is kept as it is.
Source: [tesla] 12; names and layouts are inferred for sm_1x and agree with every record of real sm_10 to sm_13 files.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable

from isakit.description import InfoRecord, Param
from isakit.errors import FormatError
from isakit.formats.layout import Layout, Values

FORM_NONE, FORM_BYTE, FORM_HALF, FORM_SIZED = 1, 2, 3, 4

IMAGE_SLOT = 0x02
MAX_THREADS = 0x05
IMAGE_SIZE = 0x07
SMEM_PARAM_OFFSETS = 0x0B
KPARAM_INFO = 0x17
SMEM_PARAM_SIZE = 0x18
EXIT_OFFSETS = 0x1C

ATTRIBUTES: dict[int, str] = {
    0x00: "ERROR", 0x01: "PAD", 0x02: "IMAGE_SLOT", 0x03: "JUMPTABLE_RELOCS", 0x04: "CTAIDZ_USED", 0x05: "MAX_THREADS",
    0x06: "IMAGE_OFFSET", 0x07: "IMAGE_SIZE", 0x08: "TEXTURE_NORMALIZED", 0x09: "SAMPLER_INIT", 0x0A: "PARAM_CBANK",
    0x0B: "SMEM_PARAM_OFFSETS", 0x0C: "CBANK_PARAM_OFFSETS", 0x0D: "SYNC_STACK", 0x0E: "TEXID_SAMPID_MAP",
    0x0F: "EXTERNS", 0x10: "REQNTID", 0x11: "FRAME_SIZE", 0x12: "MIN_STACK_SIZE", 0x17: "KPARAM_INFO",
    0x18: "SMEM_PARAM_SIZE", 0x19: "CBANK_PARAM_SIZE", 0x1B: "MAXREG_COUNT", 0x1C: "EXIT_INSTR_OFFSETS",
    0x1E: "CRS_STACK_SIZE",
}  # fmt: skip
"""Names of attributes, for listings."""

NOTES = {
    IMAGE_SLOT: Layout("u32 symbol, unit;"),
    MAX_THREADS: Layout("u32 size[3];"),
    SMEM_PARAM_SIZE: Layout("u16 size;"),
    IMAGE_SIZE: Layout("u32 symbol, size[3];"),
    KPARAM_INFO: Layout("u32 unknown;  u16 index, offset;  u32 pointee:12, bank:5, shared:1, size:14;"),
}
"""Layouts of the records, by attribute. A parameter lies in shared memory, bank 31 is none."""


def parse_records(data: bytes, path: str | None = None, offset: int = 0) -> list[InfoRecord]:
    """Split a section into records. Raises FormatError with the offset of the record that does not fit."""
    out: list[InfoRecord] = []
    pos = 0
    while pos < len(data):
        head = data[pos : pos + 4]
        if len(head) < 4:
            raise FormatError(path, offset + pos, "the section ends inside an info record")
        form, attribute = head[0], head[1]
        if form == FORM_SIZED:
            size = int.from_bytes(head[2:], "little")
            if pos + 4 + size > len(data):
                raise FormatError(path, offset + pos, f"info record {attribute:#x} needs {size} bytes")
            out.append(InfoRecord(form, attribute, data[pos + 4 : pos + 4 + size]))
            pos += 4 + size
        elif form in (FORM_NONE, FORM_BYTE, FORM_HALF):
            out.append(InfoRecord(form, attribute, head[2:]))
            pos += 4
        else:
            raise FormatError(path, offset + pos, f"info record of unknown form {form}")
    return out


def pack_records(records: Iterable[InfoRecord]) -> bytes:
    """Return the bytes of records: the inverse of `parse_records`."""
    parts: list[bytes] = []
    for r in records:
        size = len(r.data).to_bytes(2, "little") if r.form == FORM_SIZED else b""
        parts.append(bytes([r.form, r.attribute]) + size + r.data)
    return b"".join(parts)


def note(attribute: int, values: Values) -> InfoRecord:
    """Return the record that says these fields of `NOTES`. Raises FormatError for what does not fit."""
    return InfoRecord(FORM_SIZED, attribute, NOTES[attribute].pack(values))


def says(record: InfoRecord, attribute: int) -> bool:
    """Return whether a record is one of that attribute and has the size of its layout."""
    return record.attribute == attribute and len(record.data) == NOTES[attribute].size


def said(record: InfoRecord) -> Values:
    """Return the fields of a record by the names in `NOTES`."""
    return NOTES[record.attribute].read(record.data)


def take(records: list[InfoRecord], attribute: int) -> list[Values]:
    """Remove the records of one attribute from the list and return what they say, if all have the size of its layout.

    Records of another size stay in the list: their layout is not known.
    """
    found = [r for r in records if r.attribute == attribute]
    if not all(says(r, attribute) for r in found):
        return []
    records[:] = [r for r in records if r.attribute != attribute]
    return [said(r) for r in found]


def take_params(records: list[InfoRecord]) -> tuple[list[Param], int | None]:
    """Remove the parameter records; return the parameters in order and the size of the area in bytes."""
    sizes = take(records, SMEM_PARAM_SIZE)
    area = sizes[-1]["size"] if sizes else None
    kept = list(records)
    found = sorted(take(records, KPARAM_INFO), key=lambda p: p["index"])
    if [p["index"] for p in found] != list(range(len(found))):
        records[:] = kept  # not one parameter per index: stays as the file has it
        found = []
    params = [Param("", p["offset"], p["size"]) for p in found]
    lists = [r.data for r in records if r.attribute == SMEM_PARAM_OFFSETS]
    if len(lists) == 1 and len(lists[0]) % 4 == 0:
        # Says less than KPARAM_INFO; files of older compilers may have nothing else.
        offsets = [o for (o,) in struct.iter_unpack("<I", lists[0])]
        if not params and area is not None:
            ends = [*offsets[1:], area]
            params = [Param("", o, max(e - o, 0)) for o, e in zip(offsets, ends, strict=True)]
        if [p.offset for p in params] == offsets:
            records[:] = [r for r in records if r.attribute != SMEM_PARAM_OFFSETS]
    return params, area


def param_offsets(records: Iterable[InfoRecord]) -> list[int]:
    """Return where parameters begin, of a file that says no more about them: the size of the last one is not known."""
    lists = [r.data for r in records if r.attribute == SMEM_PARAM_OFFSETS and len(r.data) % 4 == 0]
    return [offset for (offset,) in struct.iter_unpack("<I", lists[0])] if len(lists) == 1 else []


def param_records(params: Iterable[Param], area: int | None, path: str | None = None) -> list[InfoRecord]:
    """Make records for the parameters. Raises FormatError when a number does not fit its field."""
    out: list[InfoRecord] = []
    for index, p in reversed(list(enumerate(params))):
        if not (index < 1 << 16 and 0 <= p.offset < 1 << 16 and 0 <= p.size < 1 << 14):
            raise FormatError(path, 0, f"parameter {index}: offset {p.offset}, size {p.size} do not fit the record")
        place = {"index": index, "offset": p.offset, "size": p.size, "shared": 1, "bank": 31, "pointee": 0}
        out.append(note(KPARAM_INFO, {"unknown": 0xFFFFFFFF, **place}))
    if area is not None:
        if not 0 <= area < 1 << 16:
            raise FormatError(path, 0, f"{area} bytes of parameters do not fit the record")
        out.append(InfoRecord(FORM_HALF, SMEM_PARAM_SIZE, area.to_bytes(2, "little")))
    return out
