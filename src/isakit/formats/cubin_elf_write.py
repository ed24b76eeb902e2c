"""Write a `Module` as an ELF cubin.

The layout follows what NVIDIA's compilers of the time wrote (section names, links and symbol order), without program
headers. Source: [tesla] 12.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass

from isakit import line_table
from isakit.description import (
    ExtraSection,
    GlobalVariable,
    Kernel,
    Module,
    Relocation,
)
from isakit.errors import FormatError
from isakit.formats import nvinfo
from isakit.formats.cubin_elf import R_32, STO_ENTRY, STT_FUNC, STT_OBJECT, STT_SECTION, STT_TEXTURE
from isakit.formats.elf import (
    ELF_MAGIC,
    EM_CUDA,
    HEADERS,
    IDENT_BYTES,
    RELOCATIONS,
    SECTIONS,
    SHT_NOBITS,
    SHT_PROGBITS,
    SHT_REL,
    SHT_RELA,
    SHT_STRTAB,
    SHT_SYMTAB,
    SYMBOLS,
)
from isakit.registry import VARIANT_TO_ARCH

_BINDINGS = {"local": 0, "global": 1, "weak": 2}
_WRITE, _ALLOC, _EXEC = 1, 2, 4
_MAX_GLOBAL_INIT = 1 << 30


@dataclass
class _Section:
    name: str
    type: int
    data: bytes = b""
    size: int = 0
    flags: int = 0
    link: int = 0
    info: int = 0
    align: int = 1
    entsize: int = 0
    address: int = 0


@dataclass
class _Symbol:
    name: str
    type: int
    bind: int
    section: int
    value: int = 0
    size: int = 0
    other: int = 0


def write_elf_cubin(module: Module, elfclass: int | None = None) -> bytes:
    """Write an ELF cubin, 64-bit unless the module came from a 32-bit file or `elfclass` is 32.

    Variables without a section get a place in `.nv.global` or `.nv.global.init`. Reading the result gives a module
    with the same kernels, constants, variables, relocations and textures.
    Raises FormatError for what the format cannot hold.
    """
    return _Writer(module, elfclass or _extra(module, "elfclass", 64)).bytes()


def _extra(module: Module, key: str, default: int) -> int:
    value = module.extra.get(key, default)
    return value if isinstance(value, int) else default


class _Writer:
    def __init__(self, module: Module, elfclass: int) -> None:
        self.module, self.elfclass, self.wide = module, elfclass, elfclass == 64
        if elfclass not in (32, 64):
            raise self.error(f"there is no ELF class {elfclass}")
        self.sections = [_Section("", 0), _Section(".shstrtab", SHT_STRTAB), _Section(".strtab", SHT_STRTAB),
                         _Section(".symtab", SHT_SYMTAB)]  # fmt: skip
        self.symbols: list[_Symbol] = []  # the named ones; the table begins with the null and the section symbols

    def error(self, reason: str) -> FormatError:
        return FormatError(self.module.path, 0, reason)

    def add(self, section: _Section) -> int:
        self.sections.append(section)
        return len(self.sections) - 1

    def bytes(self) -> bytes:
        module = self.module
        text = {name: self.text(kernel) for name, kernel in module.kernels.items()}
        for bank in sorted(set(module.constants) | self.relocated_banks()):
            self.constant_bank(bank)
        self.variables()
        for sampler in module.samplers:
            self.symbols.append(_Symbol(sampler.name, STT_TEXTURE, 1, 0))
        extra = module.extra.get("sections")
        for e in extra if isinstance(extra, list) else []:  # pyright: ignore[reportUnknownVariableType]
            if isinstance(e, ExtraSection):
                self.add(_Section(e.name, e.type, e.data, e.size, e.flags, 0, 0, e.align, e.entsize))
        lines = {k.name: k.lines for k in module.kernels.values() if k.lines is not None}
        if lines:
            packed = line_table.pack(lines)
            self.add(_Section(line_table.SECTION, SHT_PROGBITS, packed, len(packed), 0, 0, 0, 1, 0))
        # From here on symbol numbers are needed, so every section that gets a symbol has to exist.
        described = len(self.sections)
        self.symbols.sort(key=lambda s: s.bind != 0)  # the format wants local symbols first
        self.numbers = {s.name: described + i for i, s in enumerate(self.symbols)}
        for name, kernel in module.kernels.items():
            self.describe(kernel, text[name])
            self.relocations(kernel.relocations, text[name], f".text.{name}")
        for target in dict.fromkeys(r.target for r in module.relocations):
            section = f".nv.constant{target[1:]}" if target[:1] == "c" and target[1:].isdigit() else target
            index = next((i for i, s in enumerate(self.sections) if s.name == section), 0)
            if not index:
                raise self.error(f"relocations for {target!r}, which the module does not have")
            self.relocations([r for r in module.relocations if r.target == target], index, section)
        self.image_sizes()
        self.symbol_table(described)
        return self.assemble()

    # --- sections with symbols -------------------------------------------------------------------------------------

    def text(self, kernel: Kernel) -> int:
        registers, barriers = kernel.registers or 0, kernel.barriers or 0
        if not (0 <= registers < 256 and 0 <= barriers < 128):
            raise self.error(f"{kernel.name}: {registers} registers, {barriers} barriers")
        flags = _ALLOC | _EXEC | barriers << 20
        index = self.add(_Section(f".text.{kernel.name}", SHT_PROGBITS, kernel.code, len(kernel.code), flags, 3,
                                  registers << 24 | len(self.sections), 4, 0, kernel.address))  # fmt: skip
        other = STO_ENTRY if kernel.entry else 0
        bind = _BINDINGS.get(kernel.binding, 1)
        self.symbols.append(_Symbol(kernel.name, STT_FUNC, bind, index, 0, len(kernel.code), other))
        return index

    def relocated_banks(self) -> set[int]:
        targets = {r.target for r in self.module.relocations}
        return {int(t[1:]) for t in targets if t[:1] == "c" and t[1:].isdigit()}

    def constant_bank(self, bank: int) -> None:
        module = self.module
        data = bytearray(module.constant_bytes(bank))
        for r in module.relocations:
            if r.target == f"c{bank}" and r.kind == R_32:
                data.extend(bytes(max(r.offset + 4 - len(data), 0)))
                data[r.offset : r.offset + 4] = (r.addend & 0xFFFFFFFF).to_bytes(4, "little")
        index = self.add(_Section(f".nv.constant{bank}", SHT_PROGBITS, bytes(data), len(data), _ALLOC, align=4))
        for segment in module.constants.get(bank, ()):
            if segment.name:
                self.symbols.append(_Symbol(segment.name, STT_OBJECT, 1, index, segment.offset, segment.size))

    def variables(self) -> None:
        groups: dict[str, list[GlobalVariable]] = {}
        for v in self.module.globals:
            groups.setdefault(v.section or (".nv.global" if v.data is None else ".nv.global.init"), []).append(v)
        for name, variables in groups.items():
            end = max((v.offset + v.size for v in variables if v.section), default=0)
            places: list[tuple[GlobalVariable, int]] = []
            for v in variables:
                if v.section:
                    places.append((v, v.offset))
                else:
                    end = (end + 15) // 16 * 16
                    places.append((v, end))
                    end += v.size
            initialised = any(v.data is not None for v in variables)
            if initialised and end > _MAX_GLOBAL_INIT:
                raise self.error(f"{name}: {end:#x} bytes of initialised variables")
            data = bytearray(end if initialised else 0)
            for v, at in places:
                data[at : at + len(v.data or b"")] = v.data or b""
            kind = SHT_PROGBITS if initialised else SHT_NOBITS
            index = self.add(_Section(name, kind, bytes(data), end, _WRITE | _ALLOC, align=4))
            self.symbols += [_Symbol(v.name, STT_OBJECT, 1, index, at, v.size) for v, at in places]

    # --- sections without symbols of their own ---------------------------------------------------------------------

    def describe(self, kernel: Kernel, text: int) -> None:
        for bank in sorted(kernel.constants):
            data = kernel.constant_bytes(bank)
            name = f".nv.constant{bank}.{kernel.name}"
            self.add(_Section(name, SHT_PROGBITS, data, len(data), _ALLOC, 0, text, 4))
        records = nvinfo.param_records(kernel.params, kernel.param_bytes, self.module.path)
        for s in kernel.samplers:
            records.append(nvinfo.note(nvinfo.IMAGE_SLOT, {"symbol": self.number(s.name), "unit": s.unit or 0}))
        if kernel.max_threads:
            records.append(nvinfo.note(nvinfo.MAX_THREADS, {"size": (*kernel.max_threads, 1, 1)[:3]}))
        data = nvinfo.pack_records([*records, *kernel.info])
        if data:
            self.add(_Section(f".nv.info.{kernel.name}", SHT_PROGBITS, data, len(data), 0, 0, text))
        shared = max(kernel.shared_bytes or 0, kernel.param_base + (kernel.param_bytes or 0))
        for space, size in (("shared", shared), ("local", kernel.local_bytes or 0)):
            if size:
                name = f".nv.{space}.{kernel.name}"
                self.add(_Section(name, SHT_NOBITS, b"", size, _WRITE | _ALLOC, 0, text, 4))

    def number(self, symbol: str) -> int:
        if symbol in self.numbers:
            return self.numbers[symbol]
        for index, section in enumerate(self.sections):
            if section.name == symbol:
                return index
        raise self.error(f"there is no symbol {symbol!r}")

    def relocations(self, entries: list[Relocation], target: int, name: str) -> None:
        if not entries:
            return
        # Code and unknown kinds have no place for an addend, so those need the long form of entry.
        with_addend = any(r.addend and (r.target == "code" or r.kind != R_32) for r in entries)
        kind, prefix = (SHT_RELA, ".rela") if with_addend else (SHT_REL, ".rel")
        layout = RELOCATIONS[self.elfclass, kind]
        data = b""
        for r in entries:
            symbol = self.number(r.symbol)
            info = symbol << 32 | r.kind if self.wide else symbol << 8 | r.kind
            data += layout.pack(r.offset, info, r.addend) if with_addend else layout.pack(r.offset, info)
        self.add(_Section(prefix + name, kind, data, len(data), 0, 3, target, 4, layout.size))

    def image_sizes(self) -> None:
        records = [
            nvinfo.note(nvinfo.IMAGE_SIZE, {"symbol": self.number(s.name), "size": s.sizes})
            for s in self.module.samplers
            if len(s.sizes) == 3
        ]
        data = nvinfo.pack_records([*records, *self.module.info])
        if data:
            self.add(_Section(".nv.info", SHT_PROGBITS, data, len(data)))

    # --- tables and headers ----------------------------------------------------------------------------------------

    def symbol_table(self, described: int) -> None:
        table = [_Symbol("", STT_SECTION if i else 0, 0, i) for i in range(described)] + self.symbols
        strings, offsets = _string_table(s.name for s in table)
        out = bytearray()
        for s in table:
            info = s.bind << 4 | s.type
            entry = (
                (info, s.other, s.section, s.value, s.size)
                if self.wide
                else (s.value, s.size, info, s.other, s.section)
            )
            out += SYMBOLS[self.elfclass].pack(offsets[s.name], *entry)
        local = described + sum(s.bind == 0 for s in self.symbols)
        self.sections[2] = _Section(".strtab", SHT_STRTAB, strings, len(strings))
        self.sections[3] = _Section(
            ".symtab", SHT_SYMTAB, bytes(out), len(out), 0, 2, local, 8, SYMBOLS[self.elfclass].size
        )

    def assemble(self) -> bytes:
        strings, offsets = _string_table(s.name for s in self.sections)
        self.sections[1] = _Section(".shstrtab", SHT_STRTAB, strings, len(strings))
        layout = SECTIONS[self.elfclass]
        body, table = bytearray(), bytearray()
        start = IDENT_BYTES + HEADERS[self.elfclass].size + layout.size * len(self.sections)
        for s in self.sections:
            if s.type not in (0, SHT_NOBITS) and 1 < s.align <= 4096:
                body += bytes(-(start + len(body)) % s.align)
            # The first entry of the table is all zero.
            place, align = (start + len(body), s.align) if s.type else (0, 0)
            try:
                table += layout.pack(offsets[s.name], s.type, s.flags, s.address, place, s.size, s.link, s.info, align,
                                     s.entsize)  # fmt: skip
            except struct.error as e:
                raise self.error(f"section {s.name}: {e}") from None
            body += s.data
        return self.header() + bytes(table) + bytes(body)

    def header(self) -> bytes:
        module = self.module
        arch = VARIANT_TO_ARCH.get(module.variant)
        if arch is None:
            raise self.error(f"an ELF cubin cannot be for variant {module.variant!r}")
        sm = int(arch.removeprefix("sm_"))
        ident = ELF_MAGIC + bytes([2 if self.wide else 1, 1, 1])
        ident += bytes([_extra(module, "osabi", 0x33), _extra(module, "abiversion", 2)]) + bytes(7)
        flags = _extra(module, "e_flags", sm << 16 | 0x100) & ~0xFF | sm
        layout = HEADERS[self.elfclass]
        head = IDENT_BYTES + layout.size
        return ident + layout.pack(
            _extra(module, "e_type", 2), EM_CUDA, _extra(module, "e_version", 1), 0, 0, head, flags, head, 0, 0,
            SECTIONS[self.elfclass].size, len(self.sections), 1,
        )  # fmt: skip


def _string_table(names: Iterable[str]) -> tuple[bytes, dict[str, int]]:
    offsets: dict[str, int] = {"": 0}
    out = bytearray(b"\0")
    for name in names:
        if name not in offsets:
            offsets[name] = len(out)
            out += name.encode() + b"\0"
    return bytes(out), offsets
