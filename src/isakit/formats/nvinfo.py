"""The records of `.nv.info` sections: what the compiler tells the driver about a kernel.

Only the attributes a loader needs are taken apart; every other record is kept as it is.
Source: [tesla] 12; names and layouts are inferred for sm_1x and agree with every record of real sm_10 to sm_13 files.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable

from isakit.description import InfoRecord, Param
from isakit.errors import FormatError

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

# KPARAM_INFO packs size << 18 over: space is shared memory (bit 17), bank 31 = none (bits 16:12), pointee data.
_SMEM_PARAM = 0x3F000


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
    """Inverse of `parse_records`."""
    parts: list[bytes] = []
    for r in records:
        size = len(r.data).to_bytes(2, "little") if r.form == FORM_SIZED else b""
        parts.append(bytes([r.form, r.attribute]) + size + r.data)
    return b"".join(parts)


def take(records: list[InfoRecord], attribute: int, size: int) -> list[bytes]:
    """Remove the records of one attribute from the list and return their data, if all have that size.

    Records of another size stay in the list: their layout is not known.
    """
    found = [r for r in records if r.attribute == attribute]
    if any(len(r.data) != size for r in found):
        return []
    records[:] = [r for r in records if r.attribute != attribute]
    return [r.data for r in found]


def take_params(records: list[InfoRecord]) -> tuple[list[Param], int | None]:
    """Remove the parameter records; return the parameters in order and the size of the area in bytes."""
    sizes = take(records, SMEM_PARAM_SIZE, 2)
    area = int.from_bytes(sizes[-1], "little") if sizes else None
    kept = list(records)
    found = sorted(struct.unpack("<IHHI", data)[1:] for data in take(records, KPARAM_INFO, 12))
    if [index for index, _, _ in found] != list(range(len(found))):
        records[:] = kept  # not one parameter per index: stays as the file has it
        found = []
    params = [Param("", offset, packed >> 18) for _, offset, packed in found]
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
    """Records for the parameters. Raises FormatError when a number does not fit its field."""
    out: list[InfoRecord] = []
    for index, p in reversed(list(enumerate(params))):
        if not (index < 1 << 16 and 0 <= p.offset < 1 << 16 and 0 <= p.size < 1 << 14):
            raise FormatError(path, 0, f"parameter {index}: offset {p.offset}, size {p.size} do not fit the record")
        data = struct.pack("<IHHI", 0xFFFFFFFF, index, p.offset, p.size << 18 | _SMEM_PARAM)
        out.append(InfoRecord(FORM_SIZED, KPARAM_INFO, data))
    if area is not None:
        if not 0 <= area < 1 << 16:
            raise FormatError(path, 0, f"{area} bytes of parameters do not fit the record")
        out.append(InfoRecord(FORM_HALF, SMEM_PARAM_SIZE, area.to_bytes(2, "little")))
    return out
