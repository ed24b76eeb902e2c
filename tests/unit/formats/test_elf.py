"""ELF files as pyelftools reads them, and damaged ones."""

from __future__ import annotations

import io
import shutil
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from elftools.elf.elffile import ELFFile
from elftools.elf.enums import ENUM_ST_INFO_BIND, ENUM_ST_INFO_TYPE
from elftools.elf.relocation import RelocationSection

from conftest import shared_file
from isakit import formats as f
from isakit.errors import FormatError
from isakit.formats.elf import ElfImage, read_elf

C = "static int hidden; extern int other; int shown(int n) { hidden += other; return hidden + n; } int common;"


def facts(read: ElfImage) -> dict[str, Any]:
    """What is compared of a file."""
    return {
        "sections": [
            (s.name, s.type, s.flags, s.address, s.offset, s.size, s.link, s.info, s.align, s.entsize)
            for s in read.sections
        ],
        "symbols": [(s.name, s.value, s.size, s.type, s.bind, s.section) for s in read.symbols],
        "relocations": {n: [(r.offset, r.symbol, r.type, r.addend) for r in rs] for n, rs in read.relocations.items()},
    }


def facts_of_pyelftools(data: bytes) -> dict[str, Any]:
    elf: Any = ELFFile(io.BytesIO(data))
    sections = list(elf.iter_sections())
    fields = ("sh_flags", "sh_addr", "sh_offset", "sh_size", "sh_link", "sh_info", "sh_addralign", "sh_entsize")
    headers = [struct.unpack_from("<II", data, elf["e_shoff"] + k * elf["e_shentsize"]) for k in range(len(sections))]
    return {
        "sections": [
            (s.name, kind, *(s[n] for n in fields)) for s, (_, kind) in zip(sections, headers, strict=True)
        ],
        "symbols": [_symbol(s) for t in sections if t["sh_type"] == "SHT_SYMTAB" for s in cast(Any, t).iter_symbols()],
        "relocations": {
            n: [
                (r["r_offset"], r["r_info_sym"], r["r_info_type"], r["r_addend"] if r.is_RELA() else None)
                for r in cast(Any, s).iter_relocations()
            ]
            for n, s in enumerate(sections)
            if isinstance(s, RelocationSection) and s["sh_type"] in ("SHT_REL", "SHT_RELA")
        },
    }  # fmt: skip


def _symbol(s: Any) -> tuple[str, int, int, int, int, int]:
    info, place = s["st_info"], s["st_shndx"]
    kind, bind = _number(ENUM_ST_INFO_TYPE, info["type"]), _number(ENUM_ST_INFO_BIND, info["bind"])
    return s.name, s["st_value"], s["st_size"], kind, bind, place if isinstance(place, int) else 0


def _number(table: Any, value: str | int) -> int:
    return value if isinstance(value, int) else int(table[value])


def compiled(folder: Path) -> Iterator[bytes]:
    """Object files of the system's compiler."""
    (folder / "a.c").write_text(C)
    for flags in (["-c"], ["-c", "-g"], ["-shared", "-fPIC", "-g"]):
        out = folder / "a.out"
        subprocess.run(["cc", *flags, "-w", "-o", str(out), str(folder / "a.c")], check=True)
        yield out.read_bytes()


@pytest.mark.parametrize("elfclass", [32, 64])
def test_cubins_are_read_as_pyelftools_reads_them(elfclass: int) -> None:
    kernel = f.Kernel("k", bytes(16), relocations=[f.Relocation("code", 8, "k", 12, 7)])
    module = f.Module("elf-cubin", variant="g80", kernels={"k": kernel})
    module.globals = [f.GlobalVariable("a", 5, b"hello"), f.GlobalVariable("b", 4)]
    module.relocations = [f.Relocation("c14", 0, "a"), f.Relocation("c14", 4, "b")]
    data = f.write_elf_cubin(module, elfclass)
    assert facts(read_elf(data)) == facts_of_pyelftools(data)


@pytest.mark.skipif(shutil.which("cc") is None or sys.platform != "linux", reason="needs `cc` on Linux")
def test_files_of_a_compiler_are_read_as_pyelftools_reads_them(tmp_path: Path) -> None:
    for data in compiled(tmp_path):
        assert facts(read_elf(data)) == facts_of_pyelftools(data)


def test_files_of_the_corpus_are_read_as_pyelftools_reads_them(shared: Path) -> None:
    for path in sorted((shared / "corpus/tesla/cubins").glob("*.cubin"))[::8]:
        data = path.read_bytes()
        assert facts(read_elf(data)) == facts_of_pyelftools(data), path.name


@pytest.mark.parametrize("name", ["rodinia/lud_cuda", "sdk42/bin/linux/release/histogram"])
def test_programs_of_others_are_read_as_pyelftools_reads_them(name: str) -> None:
    data = shared_file(f"corpus/cuda/{name}").read_bytes()
    assert facts(read_elf(data)) == facts_of_pyelftools(data)


@pytest.mark.parametrize(
    ("field", "value", "says"),
    [("entsize", 23, "entries of 23"), ("link", 99, "names in section 99"), ("size", 25, "a table of 25 bytes")],
)
def test_a_table_of_symbols_that_contradicts_itself(field: str, value: int, says: str) -> None:
    data = bytearray(f.write_elf_cubin(f.Module("elf-cubin", variant="g80", kernels={"k": f.Kernel("k", bytes(8))})))
    section = next(s for s in read_elf(bytes(data)).sections if s.name == ".symtab")
    at = int.from_bytes(data[0x28:0x30], "little") + 64 * section.index
    where = {"size": 0x20, "link": 0x28, "entsize": 0x38}[field]
    data[at + where : at + where + 4] = value.to_bytes(4, "little")
    with pytest.raises(FormatError, match=says):
        read_elf(bytes(data))


def test_a_name_beyond_the_strings() -> None:
    data = bytearray(f.write_elf_cubin(f.Module("elf-cubin", variant="g80", kernels={"k": f.Kernel("k", bytes(8))})))
    at = int.from_bytes(data[0x28:0x30], "little") + 64
    data[at : at + 4] = (1 << 20).to_bytes(4, "little")
    with pytest.raises(FormatError, match="a name at 0x100000"):
        read_elf(bytes(data))


def test_symbols_whose_names_are_in_no_string_table_are_refused() -> None:
    """Their names need not end anywhere."""
    from support.farm import samples

    data = bytearray(next(i for i in samples.images() if i[:5] == b"\x7fELF\x01"))
    head = struct.unpack_from("<HHIIIIIHHHHHH", data, 16)
    rows = [head[5] + 40 * k for k in range(head[11])]
    kinds = {at: struct.unpack_from("<I", data, at + 4)[0] for at in rows}
    table = next(at for at in rows if kinds[at] == 2)
    code = next(k for k, at in enumerate(rows) if kinds[at] == 1)
    struct.pack_into("<I", data, table + 24, code)
    with pytest.raises(FormatError, match=f"names in section {code}"):
        read_elf(bytes(data))
