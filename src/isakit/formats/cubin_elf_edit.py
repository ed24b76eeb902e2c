"""Edits of an ELF cubin: only what an edit asks for changes, byte for byte. Source: [tesla] 12."""

from __future__ import annotations

import struct

from isakit.description import InfoRecord, Kernel, Module, Param
from isakit.errors import FormatError
from isakit.formats import nvinfo
from isakit.formats.cubin_elf import read_elf_cubin
from isakit.formats.edits import Edits, KernelEdit
from isakit.formats.elf import SHT_NOBITS, SHT_PROGBITS, SHT_REL, SHT_RELA, SHT_SYMTAB, read_elf
from isakit.formats.elf_patch import ElfPatch

_TYPE, _FLAGS, _INFO = 1, 2, 7
_WRITE, _ALLOC = 1, 2
_PROGRAM_OF_KERNEL, _READ_WRITE = 0x60000000, 6
"""Type and flags of the program headers that NVIDIA's compilers wrote for the memories of kernels."""
_BARRIER_SHIFT, _REGISTER_SHIFT = 20, 24


def edit_elf_cubin(data: bytes, edits: Edits, path: str | None = None) -> bytes:
    """Apply the edits to a file and return it.

    Raises FormatError for a kernel, bank or variable the file does not have, and for what has no place in it.
    """
    editor = _Editor(data, path)
    for name, edit in edits.kernels.items():
        editor.kernel(name, edit)
    for bank, content in edits.constants.items():
        editor.replace(f".nv.constant{bank}", content)
    for name, content in edits.variables.items():
        editor.variable(name, content)
    return editor.patch.bytes()


class _Editor:
    def __init__(self, data: bytes, path: str | None) -> None:
        self.path = path
        self.module: Module = read_elf_cubin(data, path)
        self.symbols = [s.name for s in read_elf(data, path).symbols]
        self.patch = ElfPatch(data, path)

    def error(self, reason: str) -> FormatError:
        return FormatError(self.path, 0, reason)

    def find(self, name: str) -> int | None:
        return next((k for k in range(len(self.patch.sections)) if self.patch.name(k) == name), None)

    def replace(self, name: str, content: bytes) -> None:
        index = self.find(name)
        if index is None or self.patch.sections[index][_TYPE] == SHT_NOBITS:
            raise self.error(f"the file has no section {name} with content that could be replaced")
        self.patch.replace(index, content)

    def kernel(self, name: str, edit: KernelEdit) -> None:
        kernel = self.module.kernels[name]
        text = self.find(f".text.{name}")
        if text is None:
            raise self.error(f"the file has no kernel {name!r}")
        header = self.patch.sections[text]
        if edit.code is not None:
            self.code(kernel, text, edit)
        if edit.registers is not None:
            if not 0 <= edit.registers < 256:
                raise self.error(f"{name}: {edit.registers} registers")
            header[_INFO] = edit.registers << _REGISTER_SHIFT | header[_INFO] & (1 << _REGISTER_SHIFT) - 1
        if edit.barriers is not None:
            mask = 0x7F << _BARRIER_SHIFT
            header[_FLAGS] = header[_FLAGS] & ~mask | edit.barriers << _BARRIER_SHIFT
        for space, size in (("shared", edit.shared_bytes), ("local", edit.local_bytes)):
            if size is not None:
                self.size(f".nv.{space}.{name}", size, text)
        for bank, content in edit.constants.items():
            section = f".nv.constant{bank}.{name}"
            if self.find(section) is None:
                self.patch.add(section, SHT_PROGBITS, _ALLOC, text, 4, content, len(content))
            else:
                self.replace(section, content)
        if edit.params or edit.units or edit.info or edit.max_threads is not None:
            self.notes(kernel, text, edit)

    def code(self, kernel: Kernel, text: int, edit: KernelEdit) -> None:
        code = edit.code or b""
        if len(code) != len(kernel.code):
            table = next((k for k, s in enumerate(self.patch.sections) if s[_TYPE] == SHT_SYMTAB), None)
            self.patch.replace(text, code)
            if table is not None:
                self.patch.resize_symbols(table, text, len(kernel.code), len(code))
        else:
            self.patch.replace(text, code)
        self.relocations(kernel, text, edit)
        self.exits(kernel, edit)

    def relocations(self, kernel: Kernel, text: int, edit: KernelEdit) -> None:
        """Move the relocations of code with their instructions."""
        form = "<Q" if self.patch.wide else "<I"
        for index, section in enumerate(self.patch.sections):
            if section[_TYPE] not in (SHT_REL, SHT_RELA) or section[_INFO] != text:
                continue
            content = bytearray(self.patch.content(index))
            step = (8 if self.patch.wide else 4) * (3 if section[_TYPE] == SHT_RELA else 2)
            for at in range(0, len(content) - step + 1, step):
                (old,) = struct.unpack_from(form, content, at)
                new = edit.moved(old)
                if new is None:
                    raise self.error(
                        f"{kernel.name}: the instruction at {old:#x} holds an address that the loader fills in; "
                        "it cannot be taken out or changed"
                    )  # fmt: skip
                struct.pack_into(form, content, at, new)
            self.patch.replace(index, bytes(content))

    def exits(self, kernel: Kernel, edit: KernelEdit) -> None:
        """Update the list of `exit` instructions to their new addresses; removed ones are left out."""
        index = self.find(f".nv.info.{kernel.name}")
        if index is None:
            return
        records = nvinfo.parse_records(self.patch.content(index), self.path)
        for k, r in enumerate(records):
            if r.attribute == nvinfo.EXIT_OFFSETS and len(r.data) % 4 == 0:
                places = [edit.moved(at) for (at,) in struct.iter_unpack("<I", r.data)]
                data = b"".join(at.to_bytes(4, "little") for at in places if at is not None)
                records[k] = InfoRecord(r.form, r.attribute, data)
        self.patch.replace(index, nvinfo.pack_records(records))

    def size(self, section: str, size: int, text: int) -> None:
        index = self.find(section)
        if index is None:
            index = self.patch.add(section, SHT_NOBITS, _WRITE | _ALLOC, text, 4, b"", size)
            self.patch.add_program(index, _PROGRAM_OF_KERNEL, _READ_WRITE)
        self.patch.resize_empty(index, size)

    def notes(self, kernel: Kernel, text: int, edit: KernelEdit) -> None:
        """Change the records of the kernel's `.nv.info`, which keep their order."""
        section = f".nv.info.{kernel.name}"
        index = self.find(section)
        content = b"" if index is None else self.patch.content(index)
        records = nvinfo.parse_records(content, self.path)
        if edit.params:
            records = self.params(kernel, records, *edit.params)
        for name, unit in edit.units.items():
            numbers = [k for k, s in enumerate(self.symbols) if s == name]
            for k, r in enumerate(records):
                if nvinfo.says(r, nvinfo.IMAGE_SLOT) and nvinfo.said(r)["symbol"] in numbers:
                    records[k] = nvinfo.note(r.attribute, {**nvinfo.said(r), "unit": unit})
        others = [k for k, r in enumerate(records) if r in kernel.info]
        for number, record in edit.info.items():
            records[others[number]] = record
        if edit.max_threads is not None:
            wanted = nvinfo.note(nvinfo.MAX_THREADS, {"size": (*edit.max_threads, 1, 1)[:3]})
            if not any(r.attribute == nvinfo.MAX_THREADS for r in records):
                records.append(wanted)
            records = [wanted if r.attribute == nvinfo.MAX_THREADS else r for r in records]
        content = nvinfo.pack_records(records)
        if index is None:
            self.patch.add(section, SHT_PROGBITS, 0, text, 1, content, len(content))
        else:
            self.patch.replace(index, content)

    def params(self, kernel: Kernel, records: list[InfoRecord], params: list[Param], area: int) -> list[InfoRecord]:
        """Return the records with other parameters; those that stay keep their bytes."""
        wanted = nvinfo.param_records(params, area, self.path)
        by_index = {nvinfo.said(r)["index"]: r for r in wanted if r.attribute == nvinfo.KPARAM_INFO}
        old = list(zip(kernel.params, range(len(kernel.params)), strict=True))
        same = {i for p, i in old if i < len(params) and (params[i].offset, params[i].size) == (p.offset, p.size)}
        out: list[InfoRecord] = []
        for r in records:
            if nvinfo.says(r, nvinfo.KPARAM_INFO):
                index = nvinfo.said(r)["index"]
                new = by_index.pop(index, None)
                if new is not None:
                    out.append(r if index in same else _like(r, new))
            elif r.attribute == nvinfo.SMEM_PARAM_SIZE:
                out.append(InfoRecord(r.form, r.attribute, area.to_bytes(2, "little")))
            elif r.attribute == nvinfo.SMEM_PARAM_OFFSETS:
                out.append(InfoRecord(r.form, r.attribute, b"".join(p.offset.to_bytes(4, "little") for p in params)))
            else:
                out.append(r)
        # The records of new parameters stand before those of the others, as the last parameter comes first.
        at = next((k for k, r in enumerate(out) if r.attribute == nvinfo.KPARAM_INFO), 0)
        out[at:at] = [by_index[index] for index in sorted(by_index, reverse=True)]
        if not any(r.attribute == nvinfo.SMEM_PARAM_SIZE for r in out):
            out.append(wanted[-1])
        return out

    def variable(self, name: str, content: bytes) -> None:
        v = next((g for g in self.module.globals if g.name == name), None)
        index = self.find(v.section) if v is not None else None
        if v is None or index is None or v.data is None or len(content) != v.size:
            raise self.error(f"the file has no content of {name!r} that could be replaced")
        section = bytearray(self.patch.content(index))
        section[v.offset : v.offset + v.size] = content
        self.patch.replace(index, bytes(section))


def _like(old: InfoRecord, new: InfoRecord) -> InfoRecord:
    """Return a record with the new offset and size of a parameter, and the other bits of the old record."""
    place = nvinfo.said(new)
    return nvinfo.note(old.attribute, {**nvinfo.said(old), "offset": place["offset"], "size": place["size"]})
