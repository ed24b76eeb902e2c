"""Changing an ELF file in place: every byte that no change asks for stays, and what lies past a change moves along.

Only the tables that hold places (section headers, program headers, the symbol table) follow a change of size.
"""

from __future__ import annotations

import math
import struct

from isakit.errors import FormatError
from isakit.formats.elf import ELF_MAGIC, HEADERS, IDENT_BYTES, SECTIONS, SHT_NOBITS, SYMBOLS

_PROGRAMS = {32: struct.Struct("<8I"), 64: struct.Struct("<IIQQQQQQ")}
"""A program header by class. ELF64 has the flags second, ELF32 last but one."""
_NAME, _TYPE, _FLAGS, _ADDRESS, _OFFSET, _SIZE, _LINK, _INFO, _ALIGN, _ENTSIZE = range(10)
_MAX_ALIGN = 4096
_PT_PHDR = 6


class ElfPatch:
    """An ELF file that is being changed; `data` is its content so far, `sections` its section headers as lists."""

    def __init__(self, data: bytes, path: str | None = None) -> None:
        self.data, self.path = bytearray(data), path
        self.wide = data[4] == 2
        self.elfclass = 64 if self.wide else 32
        head = list(HEADERS[self.elfclass].unpack_from(data, IDENT_BYTES))
        if data[:4] != ELF_MAGIC or head[10] != SECTIONS[self.elfclass].size:
            raise FormatError(path, 0, "not an ELF file that can be changed")
        self.head = head
        layout = SECTIONS[self.elfclass]
        self.sections = [list(layout.unpack_from(data, head[5] + k * layout.size)) for k in range(head[11])]
        self.programs = [
            list(_PROGRAMS[self.elfclass].unpack_from(data, head[4] + k * head[8])) for k in range(head[9])
        ]

    # Fields of a program header that depend on the class.
    @property
    def _place(self) -> tuple[int, int, int]:
        return (2, 5, 6) if self.wide else (1, 4, 5)

    def bytes(self) -> bytes:
        """Return the file with its tables."""
        HEADERS[self.elfclass].pack_into(self.data, IDENT_BYTES, *self.head)
        layout = SECTIONS[self.elfclass]
        for k, section in enumerate(self.sections):
            try:
                layout.pack_into(self.data, self.head[5] + k * layout.size, *section)
            except struct.error as e:
                raise FormatError(self.path, 0, f"section {k}: {e}") from None
        for k, program in enumerate(self.programs):
            _PROGRAMS[self.elfclass].pack_into(self.data, self.head[4] + k * self.head[8], *program)
        return bytes(self.data)

    def content(self, index: int) -> bytes:
        """Return the bytes of a section."""
        s = self.sections[index]
        return b"" if s[_TYPE] == SHT_NOBITS else bytes(self.data[s[_OFFSET] : s[_OFFSET] + s[_SIZE]])

    def replace(self, index: int, content: bytes) -> None:
        """Give a section other content. Raises FormatError where it shares its bytes with another section."""
        s = self.sections[index]
        at, old = s[_OFFSET], s[_SIZE]
        if len(content) == old:
            self.data[at : at + old] = content
            return
        end = at + old
        for k, other in enumerate(self.sections):
            held = k != index and other[_TYPE] not in (0, SHT_NOBITS) and other[_SIZE]
            if held and other[_OFFSET] < end and at < other[_OFFSET] + other[_SIZE]:
                raise FormatError(self.path, at, f"sections {index} and {k} share bytes, so neither can grow")
        shift = len(content) - old
        step = self._step(end)
        padded = -(-shift // step) * step
        self._splice(at, end, content + bytes(padded - shift), index)
        s[_SIZE] = len(content)

    def add(self, name: str, kind: int, flags: int, info: int, align: int, content: bytes, size: int) -> int:
        """Add a section after the others, its content at the end of the file; returns its number."""
        strings = self.head[12]
        start = len(self.content(strings))
        self.replace(strings, self.content(strings) + name.encode() + b"\0")
        layout = SECTIONS[self.elfclass]
        behind = self.head[5] + len(self.sections) * layout.size
        self._splice(behind, behind, bytes(layout.size))
        at = len(self.data)
        self.data += content
        self.sections.append([start, kind, flags, 0, at, size, 0, info, align, 0])
        self.head[11] += 1
        return len(self.sections) - 1

    def add_program(self, section: int, kind: int, flags: int) -> None:
        """Add a program header for a section without content, in files that have program headers."""
        if not self.programs:
            return
        layout = _PROGRAMS[self.elfclass]
        table, behind = self.head[4], self.head[4] + len(self.programs) * self.head[8]
        self._splice(behind, behind, bytes(layout.size))
        offset, filesz, memsz = self._place
        for p in self.programs:
            if p[0] == _PT_PHDR and p[offset] == table:
                p[filesz] += layout.size
                p[memsz] += layout.size
        s = self.sections[section]
        place, size, align = s[_OFFSET], s[_SIZE], s[_ALIGN]
        self.programs.append(
            [kind, flags, place, 0, 0, 0, size, align] if self.wide else [kind, place, 0, 0, 0, size, flags, align]
        )
        self.head[9] += 1

    def resize_empty(self, index: int, size: int) -> None:
        """Give a section without content, and the program header that is for it alone, another size."""
        s = self.sections[index]
        offset, filesz, memsz = self._place
        for p in self.programs:
            if p[offset] == s[_OFFSET] and not p[filesz] and p[memsz] == s[_SIZE]:
                p[memsz] = size
                break
        s[_SIZE] = size

    def name(self, index: int) -> str:
        """Return the name of a section."""
        strings = self.content(self.head[12])
        start = self.sections[index][_NAME]
        return strings[start : strings.find(b"\0", start)].decode("latin-1")

    def resize_symbols(self, table: int, section: int, old: int, new: int) -> None:
        """Give symbols that cover a whole section of `old` bytes its new size."""
        layout = SYMBOLS[self.elfclass]
        s = self.sections[table]
        for at in range(s[_OFFSET], s[_OFFSET] + s[_SIZE] - layout.size + 1, layout.size):
            fields = list(layout.unpack_from(self.data, at))
            place, size = (3, 5) if self.wide else (5, 2)
            if fields[place] == section and fields[size] == old:
                fields[size] = new
                layout.pack_into(self.data, at, *fields)

    def _step(self, end: int) -> int:
        """Return the bytes by which, or by a multiple, what lies past `end` may be moved: its alignment if kept."""
        step = 1
        for s in self.sections:
            if s[_TYPE] and s[_OFFSET] >= end and 1 < s[_ALIGN] <= _MAX_ALIGN and s[_OFFSET] % s[_ALIGN] == 0:
                step = math.lcm(step, s[_ALIGN])
        aligned = all(
            s[_OFFSET] % s[_ALIGN] == 0
            for s in self.sections
            if s[_TYPE] and s[_OFFSET] >= end and 1 < s[_ALIGN] <= _MAX_ALIGN
        )
        return step if aligned else 1

    def _splice(self, at: int, end: int, content: bytes, grown: int | None = None) -> None:
        """Put bytes in place of those from `at` to `end`, and move every place after."""
        shift = len(content) - (end - at)
        self.data[at:end] = content
        for k, s in enumerate(self.sections):
            if s[_TYPE] and k != grown and s[_OFFSET] >= end:
                s[_OFFSET] += shift
        offset, filesz, memsz = self._place
        for p in self.programs:
            if p[offset] >= end and not (p[offset] == at and p[filesz]):
                p[offset] += shift
            elif p[offset] <= at and end <= p[offset] + p[filesz] and grown is not None:
                p[filesz] += shift
                p[memsz] += shift
        for k in (4, 5):  # e_phoff, e_shoff
            if self.head[k] >= end and self.head[k]:
                self.head[k] += shift
