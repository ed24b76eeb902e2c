"""A typed, bounded view of an ELF file.

Counts, sizes and string lengths are checked before anything acts on them. Tests compare what is read with what
pyelftools reads; loading that takes longer than all the files of a launch, and it trusts its input.
Source: System V ABI, chapters 4 and 5.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from isakit.errors import FormatError

ELF_MAGIC = b"\x7fELF"
EM_CUDA = 190
SHT_PROGBITS, SHT_SYMTAB, SHT_STRTAB, SHT_RELA, SHT_NOBITS, SHT_REL = 1, 2, 3, 4, 8, 9

IDENT_BYTES = 16
"""Length of e_ident, with which the header begins."""
HEADERS = {32: struct.Struct("<HHIIIIIHHHHHH"), 64: struct.Struct("<HHIQQQIHHHHHH")}
"""The header after e_ident by class, from e_type to e_shstrndx."""
SECTIONS = {32: struct.Struct("<10I"), 64: struct.Struct("<IIQQQQIIQQ")}
"""A section header by class, from sh_name to sh_entsize."""
SYMBOLS = {32: struct.Struct("<IIIBBH"), 64: struct.Struct("<IBBHQQ")}
"""A symbol by class: name, value, size, info, other, section; with 64 bits value and size come last."""
RELOCATIONS = {
    (32, SHT_REL): struct.Struct("<II"), (32, SHT_RELA): struct.Struct("<IIi"),
    (64, SHT_REL): struct.Struct("<QQ"), (64, SHT_RELA): struct.Struct("<QQq"),
}  # fmt: skip
"""A relocation by class and type of section: offset, info, addend."""
_RESERVED_INDEX = 0xFF00
"""From here on section indices of symbols mean something else than a section."""

_MAX_SECTIONS = 1 << 14
_MAX_TABLE = 1 << 20
_MAX_NAME = 1 << 14


@dataclass(frozen=True)
class ElfSection:
    """One section header and its bytes (empty for NOBITS)."""

    index: int
    name: str
    type: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    align: int
    entsize: int
    data: bytes


@dataclass(frozen=True)
class ElfSymbol:
    """One symbol; `section` is its section index, `other` the raw st_other byte."""

    name: str
    value: int
    size: int
    type: int
    bind: int
    other: int
    section: int


@dataclass(frozen=True)
class ElfRelocation:
    """One entry of a REL or RELA section; `addend` is None for REL (it lies in the relocated place)."""

    offset: int
    symbol: int
    type: int
    addend: int | None


@dataclass(frozen=True)
class ElfImage:
    """A parsed ELF file. `size` is the number of bytes from its header to the end of its last part."""

    elfclass: int
    type: int
    machine: int
    version: int
    osabi: int
    abiversion: int
    flags: int
    size: int
    sections: tuple[ElfSection, ...]
    symbols: tuple[ElfSymbol, ...]
    relocations: dict[int, tuple[ElfRelocation, ...]]

    def section(self, name: str) -> ElfSection | None:
        """Return the first section of that name."""
        return next((s for s in self.sections if s.name == name), None)

    def file_offset(self, address: int) -> int | None:
        """Return the offset in the file of the byte at an address; None when no section has content there."""
        for s in self.sections:
            if s.address and s.type not in (0, SHT_NOBITS) and s.address <= address < s.address + s.size:
                return s.offset + address - s.address
        return None


class _Header:
    """The two tables of an ELF header, read directly: these are the numbers everything else depends on."""

    def __init__(self, data: bytes, start: int, path: str | None) -> None:
        if data[start : start + 4] != ELF_MAGIC:
            raise FormatError(path, start, "not an ELF file (magic bytes missing)")
        ident = data[start + 4 : start + 9]
        if len(ident) < 5 or ident[0] not in (1, 2) or ident[1] != 1:
            raise FormatError(path, start + 4, "only little-endian ELF32 and ELF64 files can be read")
        self.elfclass = 64 if ident[0] == 2 else 32
        layout = HEADERS[self.elfclass]
        if len(data) < start + IDENT_BYTES + layout.size:
            raise FormatError(path, len(data), "the file ends inside the ELF header")
        (
            self.type, self.machine, self.version, _, self.phoff, self.shoff, self.flags, self.ehsize, self.phentsize,
            self.phnum, self.shentsize, self.shnum, self.shstrndx,
        ) = layout.unpack_from(data, start + IDENT_BYTES)  # fmt: skip
        self.osabi, self.abiversion = data[start + 7], data[start + 8]


def elf_machine(data: bytes, start: int = 0) -> int | None:
    """Return the e_machine of an ELF header at that place; None when there is no such header."""
    try:
        return _Header(data, start, None).machine
    except FormatError:
        return None


def elf_extent(data: bytes, start: int = 0, path: str | None = None) -> int:
    """Return the length in bytes of the ELF file that starts at `start` inside a larger one. Raises FormatError."""
    h = _Header(data, start, path)
    room = len(data) - start
    end = h.ehsize
    if h.shnum:
        want = SECTIONS[h.elfclass].size
        if h.shnum > _MAX_SECTIONS or h.shentsize != want or h.shoff + h.shnum * want > room:
            raise FormatError(path, start, "the section headers do not fit the file")
        content = [at + size for kind, at, size in _raw_sections(data, h, start) if kind not in (0, SHT_NOBITS)]
        end = max(end, h.shoff + h.shnum * want, *content)
    if h.phnum:
        end = max(end, h.phoff + h.phnum * h.phentsize)
    if end > room:
        raise FormatError(path, start, f"the ELF file needs {end:#x} bytes, {room:#x} are there")
    return end


def read_elf(data: bytes, path: str | None = None, offset: int = 0) -> ElfImage:
    """Read the ELF file that starts `data`; `offset` (of it in its host) only shifts error messages.

    Raises FormatError for everything that is wrong with it.
    """
    try:
        extent = elf_extent(data)
        header = _Header(data, 0, None)
        _check_tables(data, header)
        return _read(data, header, extent)
    except FormatError as e:
        raise FormatError(path, offset + e.offset, e.reason) from None


def _raw_sections(data: bytes, header: _Header, start: int = 0) -> list[tuple[int, int, int]]:
    """Return (type, offset, size) of every section by its header; `elf_extent` checks that they lie inside the file."""
    layout = SECTIONS[header.elfclass]
    rows = (layout.unpack_from(data, start + header.shoff + i * layout.size) for i in range(header.shnum))
    return [(kind, at, size) for _, kind, _, _, at, size, *_ in rows]


def _check_tables(data: bytes, header: _Header) -> None:
    """Refuse what would take long: endless names, very many entries, sections on top of each other."""
    if not header.shnum:
        return
    if header.shstrndx >= header.shnum:
        raise FormatError(None, 0, f"{header.shnum} sections with the names in section {header.shstrndx}")
    total = 0
    for index, (kind, at, size) in enumerate(_raw_sections(data, header)):
        if kind in (0, SHT_NOBITS):
            continue
        total += size
        if total > 4 * len(data):
            raise FormatError(None, at, "sections overlap")
        if kind == SHT_STRTAB or index == header.shstrndx:
            content = data[at : at + size]
            if not content.endswith(b"\0") or max(map(len, content.split(b"\0"))) > _MAX_NAME:
                raise FormatError(None, at, "a string table is not terminated or has endless names")
        elif kind in (SHT_SYMTAB, SHT_REL, SHT_RELA) and size > _MAX_TABLE:
            raise FormatError(None, at, f"a table of {size} bytes of symbols or relocations")


def _read(data: bytes, header: _Header, extent: int) -> ElfImage:
    layout = SECTIONS[header.elfclass]
    rows: list[tuple[int, ...]] = [
        layout.unpack_from(data, header.shoff + i * layout.size) for i in range(header.shnum)
    ]
    contents: list[bytes] = [b"" if row[1] in (0, SHT_NOBITS) else data[row[4] : row[4] + row[5]] for row in rows]
    sections: list[ElfSection] = []
    symbols: list[ElfSymbol] = []
    relocations: dict[int, tuple[ElfRelocation, ...]] = {}
    for index, (row, content) in enumerate(zip(rows, contents, strict=True)):
        name, kind, flags, address, at, size, link, info, align, entsize = row
        sections.append(ElfSection(
            index, _string(contents[int(header.shstrndx)], name), kind, flags, address, at, size, link, info, align,
            entsize, content,
        ))  # fmt: skip
        if kind == SHT_SYMTAB:
            if not 0 < link < len(contents) or rows[link][1] not in (SHT_STRTAB, 0, SHT_NOBITS):
                raise FormatError(None, at, f"symbols have their names in section {link}, which holds no strings")
            entries = _entries(SYMBOLS[header.elfclass], content, entsize, at)
            symbols += [_symbol(entry, header.elfclass, contents[link]) for entry in entries]
        elif kind in (SHT_REL, SHT_RELA):
            entries = _entries(RELOCATIONS[header.elfclass, kind], content, entsize, at)
            relocations[index] = tuple(_relocation(entry, header.elfclass) for entry in entries)
    return ElfImage(
        header.elfclass, header.type, header.machine, header.version, header.osabi, header.abiversion, header.flags,
        extent, tuple(sections), tuple(symbols), relocations,
    )  # fmt: skip


def _entries(layout: struct.Struct, content: bytes, entsize: int, at: int) -> Iterator[tuple[int, ...]]:
    """Yield the rows of a table of symbols or relocations."""
    if entsize != layout.size or len(content) % entsize:
        raise FormatError(None, at, f"a table of {len(content)} bytes with entries of {entsize}, not {layout.size}")
    return layout.iter_unpack(content)


def _string(names: bytes, at: int) -> str:
    """Return the string at an offset of a string table, which ends with a zero (see `_check_tables`)."""
    if at >= len(names):
        if at == 0:
            return ""
        raise FormatError(None, 0, f"a name at {at:#x} of a string table of {len(names):#x} bytes")
    return names[at : names.index(0, at)].decode("utf-8", "replace")


def _symbol(entry: tuple[int, ...], elfclass: int, names: bytes) -> ElfSymbol:
    if elfclass == 64:
        name, info, other, section, value, size = entry
    else:
        name, value, size, info, other, section = entry
    place = section if section < _RESERVED_INDEX else 0
    return ElfSymbol(_string(names, name), value, size, info & 0xF, info >> 4, other, place)


def _relocation(entry: tuple[int, ...], elfclass: int) -> ElfRelocation:
    offset, info, *addend = entry
    shift = 32 if elfclass == 64 else 8
    return ElfRelocation(offset, info >> shift, info & (1 << shift) - 1, addend[0] if addend else None)
