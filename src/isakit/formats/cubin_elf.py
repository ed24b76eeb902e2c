"""ELF cubins (CUDA 3 and later) for sm_10 to sm_13: ELF sections to a `Module`.

Source: [tesla] 12; section roles checked on real files of all four architectures. The writer is in `cubin_elf_write`.
"""

from __future__ import annotations

import re

from isakit import line_table
from isakit.description import (
    MAX_SPACE,
    PARAM_BASE,
    ConstantSegment,
    ExtraSection,
    GlobalVariable,
    InfoRecord,
    Kernel,
    Module,
    Relocation,
    TextureSlot,
)
from isakit.errors import FormatError
from isakit.formats import nvinfo
from isakit.formats.elf import (
    EM_CUDA,
    SHT_NOBITS,
    SHT_REL,
    SHT_RELA,
    SHT_STRTAB,
    SHT_SYMTAB,
    ElfImage,
    ElfSection,
    ElfSymbol,
    read_elf,
)
from isakit.registry import ARCH_TO_VARIANT

STT_OBJECT, STT_FUNC, STT_SECTION, STT_TEXTURE = 1, 2, 3, 10
STO_ENTRY = 0x10
"""Bit of st_other that marks a function the host may launch."""
R_32 = 1

_BINDINGS = {0: "local", 1: "global", 2: "weak"}
_CONSTANT = re.compile(r"\.nv\.constant(\d{1,2})(?:\.(.+))?")


def read_elf_cubin(data: bytes, path: str | None = None, offset: int = 0) -> Module:
    """Read an ELF cubin that starts `data`. `offset` is its place in the host file, for messages.

    Raises FormatError for damaged files and for architectures other than sm_10 to sm_13.
    """
    return _Reader(read_elf(data, path, offset), path, offset).module()


class _Reader:
    def __init__(self, elf: ElfImage, path: str | None, offset: int) -> None:
        self.elf, self.path, self.offset = elf, path, offset
        self.sections = {s.name: s for s in elf.sections}
        self.by_section: dict[int, list[ElfSymbol]] = {}
        for symbol in elf.symbols:
            self.by_section.setdefault(symbol.section, []).append(symbol)
        self.used: set[int] = {s.index for s in elf.sections if s.type in (0, SHT_STRTAB, SHT_SYMTAB)}

    def error(self, section: ElfSection | None, reason: str) -> FormatError:
        where = self.offset + (section.offset if section else 0)
        return FormatError(self.path, where, f"{section.name}: {reason}" if section else reason)

    def module(self) -> Module:
        elf = self.elf
        if elf.machine != EM_CUDA:
            raise self.error(None, f"e_machine is {elf.machine}, not a CUDA binary ({EM_CUDA})")
        arch = f"sm_{elf.flags & 0xFF}"
        if arch not in ARCH_TO_VARIANT:
            raise self.error(None, f"architecture {arch} is not one of {', '.join(ARCH_TO_VARIANT)}")
        module = Module("elf-cubin", variant=ARCH_TO_VARIANT[arch], path=self.path, offset=self.offset, size=elf.size)
        module.extra = {
            "elfclass": elf.elfclass, "e_flags": elf.flags, "e_type": elf.type, "e_version": elf.version,
            "osabi": elf.osabi, "abiversion": elf.abiversion,
        }  # fmt: skip
        for section in elf.sections:
            if section.name.startswith(".text.") and section.type != SHT_NOBITS:
                kernel = self.kernel(section)
                if kernel.name in module.kernels:
                    raise self.error(section, "second section of this name")
                module.add(kernel)
        self.constants(module)
        self.variables(module)
        self.textures(module)
        self.relocations(module)
        lines = self.sections.get(line_table.SECTION)
        if lines is not None:
            self.used.add(lines.index)
            for name, table in line_table.unpack(lines.data).items():
                if name in module.kernels:
                    module.kernels[name].lines = table
        rest = [
            ExtraSection(s.name, s.type, s.flags, s.align, s.entsize, s.size, s.data)
            for s in elf.sections
            if s.index not in self.used
        ]
        if rest:
            module.extra["sections"] = rest
        return module

    def nobits(self, name: str) -> int:
        section = self.sections.get(name)
        if section is None:
            return 0
        self.used.add(section.index)
        if section.size >= MAX_SPACE:
            raise self.error(section, f"{section.size:#x} bytes do not fit 32-bit addresses")
        return section.size

    def records(self, name: str) -> list[InfoRecord]:
        section = self.sections.get(name)
        if section is None:
            return []
        self.used.add(section.index)
        return nvinfo.parse_records(section.data, self.path, self.offset + section.offset)

    def kernel(self, section: ElfSection) -> Kernel:
        self.used.add(section.index)
        name = section.name.removeprefix(".text.")
        records = self.records(f".nv.info.{name}")
        params, param_bytes = nvinfo.take_params(records)
        symbol = next((s for s in self.by_section.get(section.index, ()) if s.type == STT_FUNC), None)
        kernel = Kernel(
            name,
            section.data,
            address=section.address,
            registers=section.info >> 24,
            shared_bytes=max(self.nobits(f".nv.shared.{name}"), PARAM_BASE + (param_bytes or 0)),
            local_bytes=self.nobits(f".nv.local.{name}"),
            barriers=section.flags >> 20 & 0x7F,
            params=params,
            param_bytes=param_bytes,
            entry=symbol is None or bool(symbol.other & STO_ENTRY),
            binding=_BINDINGS.get(symbol.bind, "global") if symbol else "global",
        )
        for record in records:
            texture = self.texture(record, nvinfo.IMAGE_SLOT)
            if texture is None:
                kernel.info.append(record)
            else:
                kernel.samplers.append(TextureSlot(texture.name, nvinfo.said(record)["unit"]))
        for limit in nvinfo.take(kernel.info, nvinfo.MAX_THREADS):
            kernel.max_threads = limit["size"]
        return kernel

    def texture(self, record: InfoRecord, attribute: int) -> ElfSymbol | None:
        """Return the texture that a record of that attribute describes; None for another record or a damaged one."""
        if not nvinfo.says(record, attribute):
            return None
        index: int = nvinfo.said(record)["symbol"]
        symbols = self.elf.symbols
        return symbols[index] if index < len(symbols) and symbols[index].type == STT_TEXTURE else None

    def constants(self, module: Module) -> None:
        for section in self.elf.sections:
            match = _CONSTANT.fullmatch(section.name)
            if match is None:
                continue
            owner = module.kernels.get(match[2]) if match[2] else module
            if owner is None:
                continue
            self.used.add(section.index)
            bank = owner.constants.setdefault(int(match[1]), [])
            if bank:
                raise self.error(section, "second section of this name")
            size = len(section.data) or self.nobits(section.name)
            if size > 1 << 20:
                raise self.error(section, f"a constant bank of {size:#x} bytes")
            bank.append(ConstantSegment(0, size, section.data))
            bank += [ConstantSegment(s.value, s.size, b"", s.name) for s in self.objects(section)]

    def objects(self, section: ElfSection) -> list[ElfSymbol]:
        found = [s for s in self.by_section.get(section.index, ()) if s.type == STT_OBJECT]
        for s in found:
            if s.value + s.size > section.size:
                raise self.error(section, f"variable {s.name!r} reaches beyond the section")
        return found

    def variables(self, module: Module) -> None:
        seen: set[str] = set()
        for section in self.elf.sections:
            if section.name not in (".nv.global", ".nv.global.init"):
                continue
            self.nobits(section.name)
            for s in self.objects(section):
                if s.name in seen:
                    raise self.error(section, f"second variable {s.name!r}")
                seen.add(s.name)
                data = None if section.type == SHT_NOBITS else section.data[s.value : s.value + s.size]
                module.globals.append(GlobalVariable(s.name, s.size, data, section.name, s.value))

    def textures(self, module: Module) -> None:
        sizes: dict[str, tuple[int, ...]] = {}
        for record in self.records(".nv.info"):
            texture = self.texture(record, nvinfo.IMAGE_SIZE)
            if texture is None or texture.name in sizes:
                module.info.append(record)
            else:
                sizes[texture.name] = nvinfo.said(record)["size"]
        for s in self.elf.symbols:
            if s.type == STT_TEXTURE:
                module.samplers.append(TextureSlot(s.name, None, sizes.get(s.name, ())))

    def relocations(self, module: Module) -> None:
        for section in self.elf.sections:
            if section.type not in (SHT_REL, SHT_RELA):
                continue
            self.used.add(section.index)
            if section.info >= len(self.elf.sections):
                raise self.error(section, f"applies to section {section.info}, which does not exist")
            target = self.elf.sections[section.info]
            match = _CONSTANT.fullmatch(target.name)
            kernel = module.kernels.get(target.name.removeprefix(".text."))
            name = f"c{match[1]}" if match and not match[2] else "code" if kernel else target.name
            out = kernel.relocations if kernel else module.relocations
            for entry in self.elf.relocations.get(section.index, ()):
                if entry.symbol >= len(self.elf.symbols) or entry.offset + 4 > target.size:
                    raise self.error(section, f"entry at {entry.offset:#x} has no symbol or lies outside its section")
                symbol = self.elf.symbols[entry.symbol]
                addend = entry.addend
                if addend is None and entry.type == R_32 and not kernel:
                    # REL keeps the addend in the place that is to be relocated.
                    addend = int.from_bytes(target.data[entry.offset : entry.offset + 4], "little")
                label = self.elf.sections[symbol.section].name if symbol.type == STT_SECTION else symbol.name
                out.append(Relocation(name, entry.offset, label, addend or 0, entry.type))
