"""Fat binaries: containers in which a host program carries device code for several architectures.

Two generations are read. New (CUDA 4 on): a header with magic 0xba55ed50 and entries one after the other. Old (CUDA 1
to 3): a C structure with magic 0x1ee55a01 whose pointers lead to strings of the host program.
Source: inferred from public headers of simulators and wrappers; checked on generated data only, because the corpus
has the device code without its containers.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass

from isakit.errors import FormatError

MAGIC = 0xBA55ED50
OLD_MAGIC = 0x1EE55A01

KINDS = {1: "ptx", 2: "elf", 4: "text-cubin", 8: "ir"}
PACKINGS = {0x2000: "lz4", 0x1000: "CUDA 4's own packing", 0x8000: "zstd"}
"""Flag bits of an entry that say how it is packed. LZ4 is unpacked; the first one is not documented, and no toolkit
that packs with zstd knows these chips. Source: [cuda-runtime] fat binaries."""
LARGEST_UNPACKED = 1 << 26
"""Bytes that come out of all packed entries of a file at most."""

_MAX_ENTRIES = 1 << 16


@dataclass(frozen=True)
class FatEntry:
    """One program in a container.

    `kind` is ptx, elf, text-cubin or ir; `arch` an sm number or a profile name like sm_10; `offset` and `size` locate
    the payload in the data that was searched. `packing` is one of `PACKINGS`, or empty; `unpacked` the bytes that come
    out of it, 0 where the entry does not say.
    """

    kind: str
    arch: str
    offset: int
    size: int
    packing: str = ""
    name: str = ""
    unpacked: int = 0

    @property
    def compressed(self) -> bool:
        """Whether the payload is packed."""
        return bool(self.packing)


def parse_fatbin(data: bytes, start: int = 0, path: str | None = None) -> tuple[list[FatEntry], int]:
    """Entries of the container at `start`, and its length in bytes.

    Raises FormatError when it does not fit the data.
    """
    if len(data) - start < 16:
        raise FormatError(path, start, "the file ends inside a fat binary header")
    magic, _, header, length = struct.unpack_from("<IHHQ", data, start)
    if magic != MAGIC or header < 16 or header + length > len(data) - start:
        raise FormatError(path, start, "not a fat binary, or cut off")
    entries: list[FatEntry] = []
    pos, end = start + header, start + header + length
    while pos + 16 <= end:
        kind, _, entry_header, size = struct.unpack_from("<HHIQ", data, pos)
        if entry_header < 16 or entry_header + size > end - pos or len(entries) >= _MAX_ENTRIES:
            raise FormatError(path, pos, "a fat binary entry does not fit its container")
        arch = _number(data, pos, entry_header, 0x1C, 4)
        flags = _number(data, pos, entry_header, 0x28, 8)
        packed_size = _number(data, pos, entry_header, 0x10, 4)
        packing = next((how for bit, how in PACKINGS.items() if flags & bit), "")
        unpacked = _number(data, pos, entry_header, 0x38, 8) if packing else 0
        name = _name(data, pos, entry_header)
        payload = packed_size if packing and 0 < packed_size <= size else size
        label = KINDS.get(kind, f"kind {kind}")
        entries.append(FatEntry(label, f"sm_{arch}", pos + entry_header, payload, packing, name, unpacked))
        pos += entry_header + size
    return entries, header + length


def _number(data: bytes, start: int, header: int, at: int, size: int) -> int:
    return int.from_bytes(data[start + at : start + at + size], "little") if at + size <= header else 0


def _name(data: bytes, start: int, header: int) -> str:
    at, length = _number(data, start, header, 0x20, 4), _number(data, start, header, 0x24, 4)
    return data[start + at : start + at + length].decode("latin-1") if at and at + length <= header else ""


def parse_old_fatbin(
    data: bytes, start: int, resolve: Callable[[int], int | None], path: str | None = None, *, wide: bool = True
) -> tuple[str, list[FatEntry]]:
    """Identification (usually the source file name) and entries of an old fat binary structure.

    `resolve` turns an address of the host program into an offset in `data`; `wide` is for hosts with 64-bit pointers
    and longs. Raises FormatError when a pointer leads nowhere.
    """
    size = 8 if wide else 4

    def pointer(at: int) -> int:
        if at + size > len(data):
            raise FormatError(path, at, "the file ends inside a fat binary structure")
        return int.from_bytes(data[at : at + size], "little")

    def target(at: int) -> int:
        address = pointer(at)
        place = resolve(address) if address else 0
        if place is None or not 0 <= place < len(data):
            raise FormatError(path, at, f"pointer {address:#x} leads outside the file")
        return place

    total = 0

    def text(at: int) -> tuple[int, bytes]:
        nonlocal total
        place = target(at)
        end = data.find(b"\0", place)
        content = data[place : end if end >= 0 else len(data)] if place else b""
        total += len(content)
        if total > len(data):  # real strings do not overlap; damaged ones could take quadratic time
            raise FormatError(path, at, "the strings of a fat binary overlap")
        return place, content

    # magic, version and gpuInfoVersion are longs; key, ident, usageMode, ptx, cubin are pointers.
    _, ident = text(start + 4 * size)
    entries: list[FatEntry] = []
    for field, kind in ((6, "ptx"), (7, "text-cubin")):
        table = target(start + field * size)
        while table and len(entries) < _MAX_ENTRIES and pointer(table) and pointer(table + size):
            place, content = text(table + size)
            entries.append(FatEntry(kind, text(table)[1].decode("latin-1"), place, len(content)))
            table += 2 * size
    return ident.decode("latin-1"), entries
