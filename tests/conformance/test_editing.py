"""Real files come back byte for byte from their listings, and keep everything an edit does not touch."""

from __future__ import annotations

from pathlib import Path

import pytest

from conftest import shared_file
from isakit import formats
from isakit.asm.printer import module_text
from isakit.asm.program import Program
from isakit.description import Module
from isakit.instruction_sets import isa_of_text
from isakit.programs import put_back, split_text, write
from support.clients.command_line import run

PARTS = 12


def assembled(text: str) -> Program:
    chosen = isa_of_text(text)
    assert chosen is not None
    return chosen.assemble(text)


def cubins(shared: Path) -> list[Path]:
    folder = shared / "corpus/tesla"
    return sorted([*folder.glob("cubins/*.cubin"), *folder.glob("textcubins/*.cubin")], key=lambda p: p.name)


def says(module: Module) -> dict[str, object]:
    """What a cubin says, apart from names of parameters and how its banks are cut into segments."""
    return {
        "module": (module.kind, module.variant, module.globals, module.relocations, module.samplers, module.info),
        "extra": module.extra,
        "constants": ({b: module.constant_bytes(b) for b in module.constants}, module.constant_symbols()),
        "kernels": [
            (k.name, k.code, k.registers, k.shared_bytes, k.local_bytes, k.barriers, k.param_bytes, k.relocations,
             k.samplers, k.max_threads, k.entry, k.binding, k.info, k.extra, [(p.offset, p.size) for p in k.params],
             {b: k.constant_bytes(b) for b in k.constants})
            for k in module.kernels.values()
        ],
    }  # fmt: skip


def check(path: Path) -> None:
    data = path.read_bytes()
    module = formats.load_image(data)
    program = assembled("\n".join(module_text(module)))
    assert put_back(program, data).data == data, path.name
    made = formats.load_image(write(program, "elf" if module.kind == "elf-cubin" else "cubin"))
    assert says(made) == says(module), path.name


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.slow
def test_every_cubin_comes_back_byte_for_byte(shared: Path, part: int) -> None:
    for path in cubins(shared)[part::PARTS]:
        check(path)


# Variables and relocations; ten textures; named constants; initialised variables and constants; text cubins.
@pytest.mark.parametrize(
    "name", ["8b45390bd10e", "dd159af3ec7a", "75a55d7786ed", "bbbc7527a8c3", "test28", "sev1const"]
)
def test_cubins_of_all_kinds_come_back_byte_for_byte(shared: Path, name: str) -> None:
    (path,) = [p for p in cubins(shared) if p.name.split(".")[0] == name]
    check(path)


def test_an_edited_file_keeps_its_global_variable_and_runs(shared: Path, tmp_path: Path) -> None:
    path = shared / "corpus/tesla/cubins/8b45390bd10e.sm_10.cubin"
    text, out = tmp_path / "k.s", tmp_path / "out.cubin"
    listing = run("dis", str(path)).stdout
    text.write_text(listing.replace("    exit", "    nop\n    exit"))
    assert run("asm", str(text), "--like", str(path), "-o", str(out)).stderr == ""
    old, new = formats.load_image(path), formats.load_image(out)
    assert (new.globals, new.relocations) == (old.globals, old.relocations)
    assert len(new["_Z6kernelv"].code) > len(old["_Z6kernelv"].code)
    run("run", str(out))


def test_the_listing_of_a_real_host_file_puts_its_programs_back(tmp_path: Path) -> None:
    path = shared_file("corpus/cuda/sdk42/bin/linux/release/histogram")
    listing = run("dis", str(path)).stdout
    data = path.read_bytes()
    parts = split_text(listing)
    assert len(parts) == 2
    assert put_back({n: assembled(t) for n, t in parts.items()}, data).data == data
    changed = parts[1].replace(".regs 6", ".regs 7", 1)
    out = put_back({1: assembled(changed)}, data).data
    assert sum(a != b for a, b in zip(out, data, strict=True)) == 1
    text = tmp_path / "h.s"
    text.write_text(listing)
    message = run("asm", str(text), "--format", "elf", code=1).stderr
    assert message == "error: the text has the programs of 2 files; put them back with --like FILE\n"
