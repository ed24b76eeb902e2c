"""Fat binaries: containers in which a host program carries device code for several architectures.

Two generations are read. New (CUDA 4 on): a header with magic 0xba55ed50 and entries one after the other. Old (CUDA 1
to 3): a C structure with magic 0x1ee55a01 whose pointers lead to strings of the host program.
Source: inferred from public headers of simulators and wrappers; checked on generated data only, because the corpus
has the device code without its containers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from isakit.errors import FormatError
from isakit.formats.layout import Layout

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
class FatHeader:
    """Header of a container: bytes of this header, and of all entries."""

    magic: int
    version: int
    header_size: int
    size: int


@dataclass(frozen=True)
class FatEntryHeader:
    """Header of an entry: bytes of this header and of what follows it, of which a packed one uses `packed_size`.

    `name` counts from the header on. What older toolkits leave out is 0.
    """

    kind: int
    version: int
    header_size: int
    size: int
    packed_size: int = 0
    arch: int = 0
    name: int = 0
    name_size: int = 0
    flags: int = 0
    unpacked_size: int = 0
    options: int = 0
    minor: int = 0
    major: int = 0


HEADER = Layout("u32 magic;  u16 version, header_size;  u64 size;", FatHeader)
ENTRY = Layout(
    """
    u16 kind, version;  u32 header_size;  u64 size;  u32 packed_size, options;  u16 minor, major;
    u32 arch, name, name_size;  u64 flags;
    u64 :64, unpacked_size;
    """,
    FatEntryHeader,
)
_SMALLEST_ENTRY = ENTRY.fields["packed_size"].at


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
        """Return whether the payload is packed."""
        return bool(self.packing)


def parse_fatbin(data: bytes, start: int = 0, path: str | None = None) -> tuple[list[FatEntry], int]:
    """Return entries of the container at `start`, and its length in bytes.

    Raises FormatError when it does not fit the data.
    """
    if len(data) - start < HEADER.size:
        raise FormatError(path, start, "the file ends inside a fat binary header")
    head = HEADER.read(data, start)
    if head.magic != MAGIC or head.header_size < HEADER.size or head.header_size + head.size > len(data) - start:
        raise FormatError(path, start, "not a fat binary, or cut off")
    entries: list[FatEntry] = []
    pos, end = start + head.header_size, start + head.header_size + head.size
    while pos + _SMALLEST_ENTRY <= end:
        e = ENTRY.read(data, pos, _SMALLEST_ENTRY)
        if not _SMALLEST_ENTRY <= e.header_size <= end - pos - e.size or len(entries) >= _MAX_ENTRIES:
            raise FormatError(path, pos, "a fat binary entry does not fit its container")
        e = ENTRY.read(data, pos, e.header_size)
        packing = next((how for bit, how in PACKINGS.items() if e.flags & bit), "")
        payload = e.packed_size if packing and 0 < e.packed_size <= e.size else e.size
        name = data[pos + e.name : pos + e.name + e.name_size] if e.name + e.name_size <= e.header_size else b""
        entries.append(
            FatEntry(
                KINDS.get(e.kind, f"kind {e.kind}"), f"sm_{e.arch}", pos + e.header_size, payload, packing,
                name.decode("latin-1") if e.name else "", e.unpacked_size if packing else 0,
            )
        )  # fmt: skip
        pos += e.header_size + e.size
    return entries, head.header_size + head.size


def parse_old_fatbin(
    data: bytes, start: int, resolve: Callable[[int], int | None], path: str | None = None, *, wide: bool = True
) -> tuple[str, list[FatEntry]]:
    """Return the identification (usually the source file name) and entries of an old fat binary structure.

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


# --- writing --------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class FatImage:
    """A program for a container: ELF machine code or PTX text, for an architecture 10 to 13, from a named source."""

    kind: str
    arch: int
    data: bytes
    name: str = ""


_KIND_NUMBERS = {name: number for number, name in KINDS.items()}
_VERSIONS = {"elf": (1, 4), "ptx": (4, 1)}
"""Minor and major version of a kind: of the ELF cubins of CUDA 4 and 5, and of PTX 1.4."""
_WIDE_ON_LINUX = 0x11
"""Flags: 64-bit addresses, for hosts with Linux."""


def write_fatbin(images: Sequence[FatImage]) -> bytes:
    """Make the container of these programs, as toolkits since CUDA 5 write it."""
    body = b""
    for image in images:
        name = image.name.encode("utf-8") + b"\0" if image.name else b""
        size = ENTRY.size + len(name) + -len(name) % 8
        payload = image.data + (b"\0" if image.kind == "ptx" else b"")
        payload += bytes(-len(payload) % 8)
        minor, major = _VERSIONS[image.kind]
        header = FatEntryHeader(
            _KIND_NUMBERS[image.kind], 0x101, size, len(payload), minor=minor, major=major, arch=image.arch,
            name=ENTRY.size if name else 0, name_size=max(0, len(name) - 1), flags=_WIDE_ON_LINUX,
        )  # fmt: skip
        body += ENTRY.pack(vars(header)) + name.ljust(size - ENTRY.size, b"\0") + payload
    return HEADER.pack(vars(FatHeader(MAGIC, 1, HEADER.size, len(body)))) + body
