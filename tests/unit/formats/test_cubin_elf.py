from __future__ import annotations

import io
import struct

import pytest
from elftools.elf.elffile import ELFFile
from hypothesis import given
from hypothesis import strategies as st

from isakit import formats as f
from isakit.errors import FormatError
from isakit.formats import nvinfo
from isakit.formats.elf import ElfImage, read_elf
from unit.formats.strategies import damage, elf_modules, survives

HEADER_FACTS = ("elfclass", "e_flags", "e_type", "e_version", "osabi", "abiversion")


@given(elf_modules(), st.sampled_from([32, 64]))
def test_write_then_read(module: f.Module, elfclass: int) -> None:
    data = f.write_elf_cubin(module, elfclass)
    read = f.read_elf_cubin(data)
    assert read.extra.pop("elfclass") == elfclass
    assert tuple(read.extra) == HEADER_FACTS[1:]
    read.extra = {}
    assert read == module
    # An independent reader agrees on what is there.
    elf = ELFFile(io.BytesIO(data))
    assert elf.header["e_machine"] == "EM_CUDA"
    for kernel in module.kernels.values():
        assert elf.get_section_by_name(f".text.{kernel.name}").data() == kernel.code
    symbols = {s.name for s in elf.get_section_by_name(".symtab").iter_symbols()}
    assert symbols >= {*module.kernels, *(v.name for v in module.globals), *(s.name for s in module.samplers)}


@given(elf_modules(), st.integers(0), st.sampled_from([32, 64]))
def test_damage(module: f.Module, seed: int, elfclass: int) -> None:
    data = damage(f.write_elf_cubin(module, elfclass), seed)
    survives(f.read_elf_cubin, data)
    survives(f.load_images, data)


def test_written_twice_is_the_same_file() -> None:
    kernel = f.Kernel("k", bytes(8), registers=4, shared_bytes=32, param_bytes=8, params=[f.Param("", 0, 8)])
    data = f.write_elf_cubin(f.Module("elf-cubin", variant="gt200", kernels={"k": kernel}))
    assert f.write_elf_cubin(f.read_elf_cubin(data)) == data


def test_variables_get_places_and_initial_values() -> None:
    module = f.Module("text-cubin", variant="g80")
    module.globals = [f.GlobalVariable("a", 5, b"hello"), f.GlobalVariable("b", 4, b"\1\2"), f.GlobalVariable("c", 9)]
    module.relocations = [f.Relocation("c14", 4 * i, n) for i, n in enumerate("abc")]
    read = f.read_elf_cubin(f.write_elf_cubin(module))
    places = {v.name: (v.section, v.offset, v.data) for v in read.globals}
    assert places == {
        "a": (".nv.global.init", 0, b"hello"),
        "b": (".nv.global.init", 16, b"\1\2\0\0"),
        "c": (".nv.global", 0, None),
    }
    assert read.relocations == module.relocations
    assert read.address_table({"a": 0x100, "b": 0x110, "c": 0x200}) == struct.pack("<3I", 0x100, 0x110, 0x200)


def test_relocations_in_code_keep_symbol_addend_and_kind() -> None:
    module = f.Module("elf-cubin", variant="g80")
    module.kernels["k"] = f.Kernel("k", bytes(16), relocations=[f.Relocation("code", 8, "k", 12, 7)])
    for elfclass in (32, 64):
        read = f.read_elf_cubin(f.write_elf_cubin(module, elfclass))
        assert read.kernels["k"].relocations == module.kernels["k"].relocations


def test_sections_nobody_interprets_are_kept() -> None:
    extra = f.ExtraSection(".debug_line", 1, 0, 1, 0, 5, b"12345")
    module = f.Module("elf-cubin", variant="g80", extra={"sections": [extra]})
    assert f.read_elf_cubin(f.write_elf_cubin(module)).extra["sections"] == [extra]


def test_parameters_from_their_offsets_alone() -> None:
    records = [
        f.InfoRecord(4, nvinfo.SMEM_PARAM_OFFSETS, struct.pack("<3I", 0, 8, 12)),
        f.InfoRecord(3, nvinfo.SMEM_PARAM_SIZE, b"\x10\0"),
        f.InfoRecord(1, 0x1E, b"\0\0"),
    ]
    params, area = nvinfo.take_params(records)
    assert [(p.offset, p.size) for p in params] == [(0, 8), (8, 4), (12, 4)]
    assert area == 16
    assert [r.attribute for r in records] == [0x1E]


@given(st.binary(max_size=64))
def test_info_records(data: bytes) -> None:
    survives(lambda d: nvinfo.pack_records(nvinfo.parse_records(d)), data)
    try:
        records = nvinfo.parse_records(data)
    except FormatError:
        return
    assert nvinfo.pack_records(records) == data


def patched(data: bytes, section: str, at32: int, value: int) -> bytes:
    """The 64-bit file with one 8-byte field of a section header changed."""
    elf: ElfImage = read_elf(data)
    index = next(s.index for s in elf.sections if s.name == section)
    (shoff,) = struct.unpack_from("<Q", data, 40)
    out = bytearray(data)
    struct.pack_into("<Q", out, shoff + 64 * index + at32, value)
    return bytes(out)


def test_sizes_are_checked_before_they_are_believed() -> None:
    module = f.Module("elf-cubin", variant="g80", globals=[f.GlobalVariable("v", 4, None, ".nv.global")])
    module.kernels["k"] = f.Kernel("k", bytes(8), local_bytes=4)
    data = f.write_elf_cubin(module)
    size, offset = 32, 24
    for damaged, reason in (
        (patched(data, ".text.k", size, 1 << 40), "needs"),
        (patched(data, ".text.k", offset, 1 << 40), "needs"),
        (patched(data, ".nv.local.k", size, 1 << 40), "32-bit addresses"),
        (patched(data, ".nv.global", size, 3), "beyond the section"),
        (data[:100], "do not fit"),
        (data[:30], "ends inside the ELF header"),
        (data[:4] + b"\2\2" + data[6:], "little-endian"),
        (data[:18] + b"\x3e\0" + data[20:], "not a CUDA binary"),
        (data[:48] + b"\x14" + data[49:], "sm_20"),
    ):
        with pytest.raises(FormatError, match=reason):
            f.read_elf_cubin(damaged, "x")


def test_what_elf_cannot_say() -> None:
    for module, elfclass in (
        (f.Module("raw", variant=""), 64),
        (f.Module("raw", variant="g80"), 16),
        (f.Module("raw", variant="g80", kernels={"k": f.Kernel("k", registers=256)}), 64),
        (f.Module("raw", variant="g80", kernels={"k": f.Kernel("k", samplers=[f.TextureSlot("t", 0)])}), 64),
        (f.Module("raw", variant="g80", relocations=[f.Relocation(".nowhere", 0, "k")]), 64),
        (
            f.Module("raw", variant="g80", kernels={"k": f.Kernel("k", params=[f.Param("", 0, 1 << 20)])}),
            64,
        ),
    ):
        with pytest.raises(FormatError):
            f.write_elf_cubin(module, elfclass)
