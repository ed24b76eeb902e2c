"""A typed, bounded view of an ELF file, over pyelftools.

pyelftools trusts its input: counts, sizes and string lengths are checked here before it may act on them, and section
data is cut out of the file without it (it would inflate compressed sections).
"""

from __future__ import annotations

import io
import struct
from dataclasses import dataclass
from typing import Any, cast

from isakit.errors import FormatError

ELF_MAGIC = b"\x7fELF"
EM_CUDA = 190
SHT_PROGBITS, SHT_SYMTAB, SHT_STRTAB, SHT_RELA, SHT_NOBITS, SHT_REL = 1, 2, 3, 4, 8, 9

IDENT_BYTES = 16
"""Length of e_ident, with which the header begins."""
HEADERS = {32: struct.Struct("<HHIIIIIHHHHHH"), 64: struct.Struct("<HHIQQQIHHHHHH")}
"""The header behind e_ident by class, from e_type to e_shstrndx."""
SECTIONS = {32: struct.Struct("<10I"), 64: struct.Struct("<IIQQQQIIQQ")}
"""A section header by class, from sh_name to sh_entsize."""

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
        """First section of that name."""
        return next((s for s in self.sections if s.name == name), None)

    def file_offset(self, address: int) -> int | None:
        """Where in the file the byte of that address lies; None when no section has content there."""
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
    """The e_machine of an ELF header at that place; None when there is no such header."""
    try:
        return _Header(data, start, None).machine
    except FormatError:
        return None


def elf_extent(data: bytes, start: int = 0, path: str | None = None) -> int:
    """Length in bytes of the ELF file that starts at `start` inside a larger one. Raises FormatError."""
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
    except Exception as e:  # pyelftools lets errors of many types through
        raise FormatError(path, offset, f"the ELF file cannot be read: {type(e).__name__}: {e}") from e


def _raw_sections(data: bytes, header: _Header, start: int = 0) -> list[tuple[int, int, int]]:
    """(type, offset, size) of every section by its header; `elf_extent` checks that they lie inside the file."""
    layout = SECTIONS[header.elfclass]
    rows = (layout.unpack_from(data, start + header.shoff + i * layout.size) for i in range(header.shnum))
    return [(kind, at, size) for _, kind, _, _, at, size, *_ in rows]


def _check_tables(data: bytes, header: _Header) -> None:
    """Refuse what would make pyelftools slow: endless names, very many entries, sections on top of each other."""
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
    from elftools.elf.elffile import ELFFile  # here: loading it takes 60 ms that other formats need not pay
    from elftools.elf.enums import ENUM_ST_INFO_BIND, ENUM_ST_INFO_TYPE
    from elftools.elf.relocation import RelocationSection
    from elftools.elf.sections import SymbolTableSection

    elf: Any = ELFFile(io.BytesIO(data))
    sections: list[ElfSection] = []
    symbols: list[ElfSymbol] = []
    relocations: dict[int, tuple[ElfRelocation, ...]] = {}
    for index, (kind, at, size) in enumerate(_raw_sections(data, header)):
        section: Any = elf.get_section(index)
        raw: Any = section.header
        # Not section.data(): it inflates compressed sections, whatever their size.
        content = b"" if kind in (0, SHT_NOBITS) else data[at : at + size]
        sections.append(ElfSection(
            index, section.name, kind, raw["sh_flags"], raw["sh_addr"], at, size, raw["sh_link"], raw["sh_info"],
            raw["sh_addralign"], raw["sh_entsize"], content,
        ))  # fmt: skip
        if isinstance(section, SymbolTableSection) and kind == SHT_SYMTAB:
            # pyelftools drops the bits of st_other in which CUDA marks entry points.
            others = content[5 if header.elfclass == 64 else 13 :: int(raw["sh_entsize"])]
            for other, sym in zip(others, cast("Any", section).iter_symbols(), strict=True):
                info, shndx = sym["st_info"], sym["st_shndx"]
                symbols.append(ElfSymbol(
                    sym.name, sym["st_value"], sym["st_size"], _code(ENUM_ST_INFO_TYPE, info["type"]),
                    _code(ENUM_ST_INFO_BIND, info["bind"]), other, shndx if isinstance(shndx, int) else 0,
                ))  # fmt: skip
        elif isinstance(section, RelocationSection):
            entries: Any = cast("Any", section).iter_relocations()
            relocations[index] = tuple(
                ElfRelocation(
                    r["r_offset"], r["r_info_sym"], r["r_info_type"], r["r_addend"] if kind == SHT_RELA else None
                )
                for r in entries
            )
    return ElfImage(
        header.elfclass, header.type, header.machine, header.version, header.osabi, header.abiversion, header.flags,
        extent, tuple(sections), tuple(symbols), relocations,
    )  # fmt: skip


def _code(table: Any, value: str | int) -> int:
    return value if isinstance(value, int) else int(table[value])
