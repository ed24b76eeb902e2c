"""Real files: NVIDIA's text and ELF cubins and Sony's GXP files, read, compared with their index, written back."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from isakit import formats as f

Row = dict[str, str]


def index(folder: Path) -> list[Row]:
    if not (folder / "index.tsv").is_file():
        pytest.skip(f"no {folder.name} in the conformance data")
    with (folder / "index.tsv").open(newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def test_text_cubins(shared: Path) -> None:
    folder = shared / "corpus/tesla/textcubins"
    rows = index(folder)
    for row in rows:
        text = (folder / row["file"]).read_text()
        tree = f.parse_tree(text)
        assert f.parse_tree(f.write_tree(tree)) == tree
        module = f.load_image(folder / row["file"])
        assert (module.kind, module.variant) == ("text-cubin", "g80")
        assert f.read_text_cubin(f.write_text_cubin(module)) == module
        kernels = list(module.kernels.values())
        # The index leaves out words that are zero: the files print them without 0x.
        assert sum(w != 0 for k in kernels for w in k.words) == int(row["instr_words"])
        # The index lists every `name =` of the file.
        named = {*module.kernels, *module.constant_symbols(), *(s.name for s in module.samplers)}
        assert named == set(row["kernels"].split(","))
        assert [str(k.registers) for k in kernels] == row["registers"].split(",")
        assert [str(k.shared_bytes) for k in kernels] == row["smem_bytes"].split(",")
    assert len(rows) == 65


def test_barriers_of_text_cubins(shared: Path) -> None:
    folder = shared / "corpus/tesla/textcubins"
    index(folder)
    assert f.load_image(folder / "test20.cubin").kernels["my_kernel"].barriers == 16


def test_elf_cubins(shared: Path) -> None:
    folder = shared / "corpus/tesla/cubins"
    rows = index(folder)
    records: set[int] = set()
    for row in rows:
        data = (folder / row["file"]).read_bytes()
        module = f.load_image(folder / row["file"])
        assert f.VARIANT_TO_ARCH[module.variant] == row["arch"]
        assert set(module.kernels) == set(row["kernels"].split(","))
        assert sum(len(k.words) for k in module.kernels.values()) == int(row["instr_words"])
        assert module.size == len(data) == int(row["bytes"])
        assert "sections" not in module.extra
        for kernel in module.kernels.values():
            end = 0
            for p in kernel.params:
                assert p.offset >= end
                end = p.offset + p.size
            assert end <= (kernel.param_bytes or 0) <= kernel.shared_bytes - f.PARAM_BASE
            # One kernel of the corpus is nothing but nop and exit and uses no register.
            assert (kernel.registers > 0) == (len(kernel.code) > 8)
            assert kernel.registers <= 128
            assert kernel.barriers <= 16
            records |= {r.attribute for r in kernel.info}
        slots = [r.offset for r in module.relocations]
        assert len(slots) == len(module.globals)
        assert {r.symbol for r in module.relocations} == {v.name for v in module.globals}
        for elfclass in (32, 64):
            written = f.write_elf_cubin(module, elfclass)
            again = f.read_elf_cubin(written)
            again.extra["elfclass"] = 64
            assert again == module
            elf = ELFFile(io.BytesIO(written))
            assert {s.name for s in elf.iter_sections()} >= {f".text.{k}" for k in module.kernels}
    assert len(rows) == 59
    # SYNC_STACK, MAXREG_COUNT and CRS_STACK_SIZE are kept as they are; everything else has been understood.
    assert records == {0x0D, 0x1B, 0x1E}


def test_elf_cubins_as_text(shared: Path) -> None:
    folder = shared / "corpus/tesla/cubins"
    for row in index(folder):
        module = f.load_image(folder / row["file"])
        again = f.read_text_cubin(f.write_text_cubin(module))
        assert again.constant_bytes(0) == module.constant_bytes(0)
        for name, kernel in module.kernels.items():
            assert again.kernels[name].code == kernel.code
            assert again.kernels[name].constant_bytes(1) == kernel.constant_bytes(1)


def test_gxp_files(shared: Path) -> None:
    folder = shared / "corpus/usse/gxp"
    rows = index(folder)
    for row in rows:
        data = (folder / row["file"]).read_bytes()
        gxp = f.parse_gxp(data, row["file"])
        assert f.write_gxp(gxp) == data
        assert gxp.stage == row["stage"]
        assert (len(gxp.primary), len(gxp.secondary)) == (int(row["primary_instr"]), int(row["secondary_instr"]))
        assert len(data) == int(row["bytes"])
        assert gxp.tail == b""
        assert {p.kind for p in gxp.layout if p.gap} <= {"primary"}
        gxp.primary.append(0)
        changed = f.parse_gxp(f.write_gxp(gxp))
        assert changed.primary == gxp.primary
        assert (changed.parameters, changed.literals, changed.varyings) == (gxp.parameters, gxp.literals, gxp.varyings)
    assert len(rows) == 55


def test_everything_in_one_heap(shared: Path) -> None:
    """Programs one after the other, with bytes between them, are all found where they are."""
    heap, expected = b"", []
    for folder in ("tesla/cubins", "tesla/textcubins", "usse/gxp"):
        for row in index(shared / "corpus" / folder):
            data = (shared / "corpus" / folder / row["file"]).read_bytes()
            heap += b"\x90\x01\x00\x02" * 3
            expected.append((len(heap), f.load_image(data)))
            heap += data + bytes(4)
    found = f.find_embedded(heap)
    assert [x.offset for x in found] == [offset for offset, _ in expected]
    for x, (_, module) in zip(found, expected, strict=True):
        assert x.error is None
        assert x.module
        assert x.module.kernels == module.kernels


def test_gxp_in_c_sources(shared: Path) -> None:
    folder = shared / "corpus/usse/gxp"
    for row in index(folder):
        data = (folder / row["file"]).read_bytes()
        source = "static const unsigned char shader[] = {\n  " + ",".join(f"0x{b:02x}" for b in data) + "\n};\n"
        (module,) = f.load_images(source.encode())
        assert isinstance(module.payload, f.GxpFile)
        assert f.write_gxp(module.payload) == data
