"""The public interface around files: load, what modules and kernels say, programs as files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import isakit
from isakit import formats
from isakit.description import GlobalVariable, Relocation
from isakit.programs import completed, module_of, write, write_like

TESLA = isakit.isa("tesla", "gt200")
SOURCE = """
.const 0
    .word 1, 2
.kernel k
.local 8
.param p ptr
.param x f32
.const 1
table:
    .word 3
    .code
    bar inc wait 2 all
    mov b32 $r5 b32 s[x]
    exit nop
"""


@pytest.mark.parametrize("kind", ["cubin", "elf"])
def test_what_a_text_says_is_what_its_file_says(tmp_path: Path, kind: str) -> None:
    program = TESLA.assemble(SOURCE)
    path = tmp_path / "k.cubin"
    path.write_bytes(write(program, kind))
    module = isakit.load(path)
    assert (module.isa, module.variant, list(module)) == ("tesla", "gt200", ["k"])
    k = module["k"]
    assert (k.registers, k.shared_bytes, k.local_bytes, k.barriers) == (6, 0x18, 8, 3)
    assert k.program.to_bytes() == program.to_bytes()
    assert k.constant_bytes(1) == b"\x03\0\0\0"
    assert module.constant_bytes(0) == b"\x01\0\0\0\x02\0\0\0"
    if kind == "elf":
        assert [(p.offset, p.size) for p in k.params] == [(0, 4), (4, 4)]


def test_registers_and_barriers_are_counted_where_the_text_does_not_say() -> None:
    image = completed(module_of(TESLA.assemble("mov b32 $r7 0x1\nexit nop")))
    assert image.kernels["main"].registers == 8
    assert completed(module_of(TESLA.assemble(".kernel k\n.regs 20\nexit nop"))).kernels["k"].registers == 20
    pairs = completed(module_of(TESLA.assemble("ld b64 $r6d g14[$r0]\nexit nop")))
    assert pairs.kernels["main"].registers == 8


def test_a_cubin_holds_tesla_code_only() -> None:
    with pytest.raises(isakit.FormatError, match="vuc"):
        write(isakit.isa("vuc").assemble("nop"), "elf")


def test_hex_cannot_hold_half_words() -> None:
    with pytest.raises(isakit.FormatError, match="fill no word"):
        write(TESLA.disassemble(b"\1\2\3"), "hex")


def test_words_without_a_name_need_one(tmp_path: Path) -> None:
    path = tmp_path / "words.txt"
    path.write_text("20008204 20008204")
    module = isakit.load(path)
    with pytest.raises(isakit.IsakitError, match="tesla, vuc, usse"):
        _ = module.kernels["main"].program
    named = isakit.load(path, isa="tesla", variant="g80")
    assert [i.text for i in named.kernels["main"].program] == ["add b32 $r1 $r1 $r0"] * 2


def test_a_file_that_cannot_be_read_says_where(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"\0\1\2")
    with pytest.raises(isakit.FormatError) as caught:
        isakit.load(path)
    assert caught.value.path == str(path)
    with pytest.raises(isakit.FormatError):
        isakit.load(tmp_path / "missing")


def test_shaders_have_their_programs_and_parameters() -> None:
    usse = isakit.isa("usse")
    file = formats.GxpFile(
        flags=1, primary=usse.assemble("nop\nnop").words, secondary=[],
        parameters=[formats.GxpParameter("colour", 1, 0, 4, 0, 0, 0, 1, 0)],
    )  # fmt: skip
    shader = isakit.load(formats.write_gxp(file))
    assert isinstance(shader, isakit.Module)
    assert (shader.stage, [p.name for p in shader.parameters]) == ("fragment", ["colour"])  # type: ignore[attr-defined]
    assert len(shader.primary) == 2  # type: ignore[attr-defined]
    assert len(shader.secondary) == 0  # type: ignore[attr-defined]
    assert shader.kernels["secondary"].program.program_type == "secondary"


def shader_file() -> formats.GxpFile:
    usse = isakit.isa("usse")
    return formats.GxpFile(
        flags=1, primary=usse.assemble("phas wait7 temps 0 addr 0\nvmul.f32 pa0.xy r4.xyzw r4.xyzw").words,
        secondary=usse.assemble("or.u32 sa4 sa0 #0x1", "secondary").words, temp_registers=6,
    )  # fmt: skip


def test_programs_can_be_put_into_a_file() -> None:
    usse = isakit.isa("usse")
    data = formats.write_gxp(shader_file())
    shader = isakit.load(data)
    whole = f"{shader['primary'].program}\n{shader['secondary'].program}"
    program = usse.assemble(whole)
    assert list(program.by_type) == ["primary", "secondary"]
    assert write_like(program, shader) == data
    assert write_like(usse.assemble(str(program)), shader) == data

    phases = whole.replace("phas wait7", "phas wait0 temps 0 addr 0\nphas wait7")
    changed = usse.assemble(phases.replace("r4", "r8").replace("#0x1", "#0x2"))
    out = isakit.load(write_like(changed, shader)).file  # type: ignore[attr-defined]
    assert (out.primary, out.secondary) == tuple(p.words for p in changed.by_type.values())
    assert (out.phase_count, out.temp_registers) == (2, 9)
    assert shader.file.primary == shader_file().primary  # type: ignore[attr-defined]

    only = isakit.load(write_like(usse.assemble("nop", "secondary"), shader)).file  # type: ignore[attr-defined]
    assert (only.primary, len(only.secondary)) == (shader_file().primary, 1)


def test_what_cannot_be_put_into_a_file() -> None:
    usse = isakit.isa("usse")
    shader = isakit.load(formats.write_gxp(shader_file()))
    for program, original, why in (
        (usse.assemble("nop"), isakit.load(write(TESLA.assemble(SOURCE), "elf")), "GXP"),
        (TESLA.assemble("nop"), shader, "not tesla code"),
        (usse.assemble(".kernel k\nnop"), shader, "no kernels"),
        (usse.assemble("nop\n.byte 1"), shader, "fill no word"),
    ):
        with pytest.raises(isakit.FormatError, match=why):
            write_like(program, original)


def test_programs_of_files_run_like_their_kernels() -> None:
    program = TESLA.assemble(
        ".kernel k\n.param out ptr\nmov b32 $r0 b32 s[out]\nmov b32 $r1 0x2a\nexit st b32 g14[$r0] $r1"
    )
    module = isakit.load(write(program, "elf"))
    for source in (program, module, module["k"].program):
        out = np.zeros(1, np.uint32)
        isakit.Device("gt200", engine="reference").load(source)["k"][1, 1](out)
        assert out[0] == 0x2A


def test_every_public_name_can_be_had() -> None:
    for name in isakit.__all__:
        assert getattr(isakit, name) is not None
    assert set(isakit.__all__) <= set(dir(isakit))
    with pytest.raises(AttributeError, match="no attribute"):
        _ = isakit.nothing


def test_explain_takes_words_bytes_and_text() -> None:
    texts = {
        str(TESLA.explain(x)) for x in (0x20008204, [0x20008204], b"\x04\x82\0\x20", "20008204", "add b32 $r1 $r1 $r0")
    }
    assert len(texts) == 1
    with pytest.raises(isakit.IsakitError, match="one instruction"):
        TESLA.explain("nop; nop")
    with pytest.raises(isakit.IsakitError, match="one instruction"):
        TESLA.explain([])


def test_programs_are_sequences() -> None:
    program = TESLA.assemble("nop\nadd b32 $r1 $r1 $r0\nadd b32 $r1 $r1 $r0")
    assert len(program) == 3
    assert [i.address for i in program] == [0, 8, 12]
    assert program[1:] == [program[1], program[2]]
    assert program[-1].text == "add b32 $r1 $r1 $r0"
    assert program.at(9) is program[1]
    assert program.at(16) is None
    assert "<table>" in program._repr_html_()


def test_every_file_of_the_corpus_keeps_its_bytes(shared: Path) -> None:
    files = sorted((shared / "corpus" / "tesla" / "cubins").glob("*.cubin"))[::4]
    files += sorted((shared / "corpus" / "usse" / "gxp").glob("*.gxp"))[::40]
    assert files
    for path in files:
        module = isakit.load(path)
        for k in module.kernels.values():
            again = module.instruction_set.assemble(str(k.program))
            assert again.to_bytes() == k.code, f"{path.name}: {k.name}"
            if module.isa == "tesla":
                image = completed(module_of(again)).kernels[k.name]
                assert image.registers == k.registers
                assert [(p.offset, p.size) for p in image.params] == [(p.offset, p.size) for p in k.params]


def several_programs() -> bytes:
    """A host file with two programs and something else around them."""
    texts = ((".kernel first\nexit nop", "g80"), (".kernel second\nmov b32 $r0 0x1\nexit nop", "gt200"))
    files = [write(isakit.isa("tesla", chip).assemble(text), "elf") for text, chip in texts]
    return b"MZ" + bytes(62) + files[0] + b"in between" + bytes(6) + files[1]


def test_all_programs_of_a_host_file_can_be_had(tmp_path: Path) -> None:
    path = tmp_path / "host"
    path.write_bytes(several_programs())
    modules = isakit.load_all(path)
    assert [(m.variant, list(m)) for m in modules] == [("g80", ["first"]), ("gt200", ["second"])]
    assert isakit.load(path) == modules[0]


def test_a_program_of_a_file_written_again_keeps_what_its_module_has() -> None:
    module = isakit.Module(
        "elf-cubin", "tesla", "gt200", kernels={"k": isakit.Kernel("k", TESLA.assemble("exit nop").to_bytes())}
    )
    module.globals.append(GlobalVariable("v", 4, b"\1\2\3\4"))
    module.relocations.append(Relocation("c14", 0, "v"))
    again = isakit.load(write(module["k"].program, "elf"))
    assert [(g.name, g.data) for g in again.globals] == [("v", b"\1\2\3\4")]
    assert again.relocations == module.relocations


def test_an_assembled_kernel_and_its_description_belong_together() -> None:
    program = TESLA.assemble(".kernel k\n.param x f32\nexit nop")
    assert program.kernel is not None
    assert program.kernel.program is program
    assert program.kernel.code == program.to_bytes()
    assert module_of(program)["k"] is program.kernel
