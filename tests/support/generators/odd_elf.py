"""ELF files put together anew in ways no compiler does it, and a view of their sections for comparing two files."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Iterable, Iterator

_NULL, _PROGBITS, _NOBITS, _REL = 0, 1, 8, 9


class Elf:
    """The parts of a file: header, program headers, and per section its header, content and name."""

    def __init__(self, data: bytes) -> None:
        wide = data[4] == 2
        self.form, self.entry = ("<16sHHIQQQIHHHHHH", "<IIQQQQIIQQ") if wide else ("<16sHHIIIIIHHHHHH", "<10I")
        self.head = list(struct.unpack_from(self.form, data))
        programs, sections = self.head[5:7]
        self.programs = data[programs : programs + self.head[9] * self.head[10]] if programs else b""
        size = struct.calcsize(self.entry)
        self.rows = [list(struct.unpack_from(self.entry, data, sections + k * size)) for k in range(self.head[12])]
        self.contents = [b"" if r[1] in (_NULL, _NOBITS) else data[r[4] : r[4] + r[5]] for r in self.rows]
        names = self.contents[self.head[13]]
        self.names = [names[r[0] : names.index(0, r[0])].decode() for r in self.rows]

    def add(self, name: str, content: bytes, kind: int = _PROGBITS, info: int = 0) -> int:
        """A section more; its number."""
        strings = self.head[13]
        entry = (8 if self.entry == "<10I" else 16) if kind == _REL else 0
        link = self.names.index(".symtab") if kind == _REL else 0
        self.rows.append([len(self.contents[strings]), kind, 0, 0, 0, len(content), link, info, 1, entry])
        self.contents[strings] += name.encode() + b"\0"
        self.contents.append(content)
        self.names.append(name)
        return len(self.rows) - 1

    def drop(self, start: str) -> None:
        """Empty the sections whose names begin so; numbers of the others stay."""
        for k, name in enumerate(self.names):
            if name.startswith(start):
                self.rows[k], self.contents[k], self.names[k] = [0] * 10, b"", ""

    def write(
        self, order: Iterable[int] | None = None, gap: int = 0, align: int = 1, table_first: bool = True
    ) -> bytes:
        """The file, with its sections in this order and this many odd bytes between them."""
        size = struct.calcsize(self.entry)
        out = bytearray(struct.calcsize(self.form))
        head, rows = list(self.head), [list(r) for r in self.rows]
        if table_first:
            head[6] = len(out)
            out += bytes(size * len(rows))
        head[5], head[10] = (len(out), head[10]) if self.programs else (0, 0)
        out += self.programs
        for k in order or range(1, len(rows)):
            out += b"\xee" * gap
            out += bytes(-len(out) % max(align, min(rows[k][8], 16), 1))
            rows[k][4] = len(out)
            if rows[k][1] not in (_NULL, _NOBITS):
                rows[k][5] = len(self.contents[k])
                out += self.contents[k]
        if not table_first:
            out += bytes(-len(out) % 8)
            head[6] = len(out)
            out += bytes(size * len(rows))
        head[12] = len(rows)
        struct.pack_into(self.form, out, 0, *head)
        for k, row in enumerate(rows):
            struct.pack_into(self.entry, out, head[6] + k * size, *row)
        return bytes(out)

    def sections(self) -> dict[str, list[tuple[list[int], bytes]]]:
        """By name: what the header says besides name and place, and the content."""
        out: dict[str, list[tuple[list[int], bytes]]] = {}
        for name, row, content in zip(self.names, self.rows, self.contents, strict=True):
            out.setdefault(name, []).append((row[1:3] + row[5:], content))
        return out


def shuffled(elf: Elf) -> bytes:
    order = list(range(1, len(elf.rows)))
    random.Random(2).shuffle(order)
    return elf.write(order, gap=3, table_first=False)


def with_debug_sections(elf: Elf) -> bytes:
    lines = elf.add(".debug_line", b"line" * 100)
    elf.add(".rel.debug_line", bytes(16), _REL, lines)
    elf.add(".debug_info", b"info" * 50)
    elf.add(".nv_debug_ptx_txt", b".version 1.4\0.target sm_10\0")
    elf.add(".comment", b"made by hand\0")
    return elf.write()


def without(*starts: str) -> Callable[[Elf], bytes]:
    def made(elf: Elf) -> bytes:
        for start in starts:
            elf.drop(start)
        return elf.write()

    return made


def without_program_headers(elf: Elf) -> bytes:
    elf.programs = b""
    return elf.write()


LAYOUTS: dict[str, Callable[[Elf], bytes]] = {
    "bytes after it": lambda elf: elf.write() + bytes(70_000) + b"more",
    "gaps": lambda elf: elf.write(gap=10_000),
    "page alignment": lambda elf: elf.write(align=4096, table_first=False),
    "shuffled": shuffled,
    "no program headers": without_program_headers,
    "debug sections": with_debug_sections,
    "stripped": without(".symtab", ".strtab", ".rel"),
    "no notes": without(".nv.info"),
}


def differing(one: bytes, two: bytes) -> Iterator[str]:
    """Names of the sections that two files have otherwise."""
    a, b = Elf(one).sections(), Elf(two).sections()
    yield from (name for name in sorted({*a, *b}) if a.get(name) != b.get(name))
