"""An edited listing goes back into its file, and nothing but the edit changes."""

from __future__ import annotations

import io
from copy import deepcopy
from typing import Any

import pytest
from elftools.elf.elffile import ELFFile

import isakit
from isakit import formats
from isakit.asm.printer import module_text
from isakit.asm.program import Program
from isakit.description import InfoRecord, Module
from isakit.instruction_sets import isa_of_text
from isakit.programs import put_back, split_text, write
from support.generators.odd_elf import LAYOUTS, Elf, differing

SOURCE = """
.isa tesla gt200
.header elfclass=0x40
.sampler tex size 0x20 0x10 0x1
.info 4 0x1f 0x01 0x02
.variable table 0x8 .nv.global.init 0x0
    .word 0x11, 0x22
.variable scratch 0x40 .nv.global 0x0
.reloc c14 0x0 table
.reloc c14 0x4 scratch
.const 0
    .word 0x3f800000
limits:
    .word 0x5, 0x6
.size limits 0x4
.const 14
    .word 0x0, 0x0
.kernel first
.regs 5
.shared 0x30
.bars 1
.param out ptr
.param count u32
.max_threads 64 2 1
.sampler tex 3
.info 4 0x0d 0x10 0x00 0x05 0x00
.info 4 0x1c 0x28 0x00 0x00 0x00
.const 1
    .word 0x7, 0x8
.code
    mov b32 $r0 b32 s[out]
loop:
    mov b32 $r1 b32 s[count]
    add b32 $r1 $r1 c1[0x4]
    set $c0 # e s32 $r1 $r124
    (l $c0) bra loop
    st b32 g14[$r0] $r1
    exit nop
.kernel second
.regs 2
.local 0x10
.reloc code 0x8 table 0x4 2
    mov b32 $r0 0x1
    long mov b32 $r1 $r0
    exit nop
.kernel helper
.function
.binding weak
    ret
"""


def assembled(text: str) -> Program:
    chosen = isa_of_text(text)
    assert chosen is not None
    return chosen.assemble(text)


def text_of(data: bytes) -> str:
    return "\n".join(module_text(formats.load_image(data)))


def facts(module: Module) -> dict[str, Any]:
    """Everything a cubin says, apart from names that files do not keep."""
    out: dict[str, Any] = {
        "globals": module.globals, "relocations": module.relocations, "samplers": module.samplers, "info": module.info,
        "extra": module.extra, "symbols": module.constant_symbols(),
        "constants": {bank: module.constant_bytes(bank) for bank in module.constants},
    }  # fmt: skip
    for k in module.kernels.values():
        same = {n: v for n, v in vars(k).items() if n not in ("module", "program", "params", "constants")}
        params = [(p.offset, p.size) for p in k.params]
        constants = {bank: k.constant_bytes(bank) for bank in k.constants}
        out[k.name] = {**same, "params": params, "constants": constants}
    return deepcopy(out)


@pytest.fixture(scope="module")
def elf() -> bytes:
    return write(assembled(SOURCE), "elf")


@pytest.fixture(scope="module")
def text_cubin() -> bytes:
    return (
        b"architecture {sm_13}\nabiversion {1}\nmodname {cubin}\n"
        b"sampler  {\n\tname = tex\n\ttexunit = 2\n}\n"
        b"consts  {\n\t\tname = limit\n\t\tsegname = const\n\t\tsegnum = 0\n\t\toffset = 4\n\t\tbytes = 6\n"
        b"\t\tmem {\n\t\t\t0x00000005 0x0000aa06 \n\t\t}\n}\n"
        b"reloc  {\n\tname = table\n\tsegname = reloc\n\tsegnum = 14\n\toffset = 0\n\tbytes = 4\n"
        b"\tmem {\n\t\t0x00000011 \n\t}\n}\n"
        b"code  {\n\tname = first\n\tlmem = 0\n\tsmem = 24\n\treg = 3\n\tbar = 0\n\tnew_key = 7\n"
        b"\tbincode  {\n\t\t0x10000801 0x4403c780 0x10000a05 0x4403c780 \n\t\t0xf0000001 0xe0000781 \n\t}\n}\n"
    )


def test_a_listing_that_was_not_edited_gives_the_same_bytes(elf: bytes, text_cubin: bytes) -> None:
    for data in (elf, text_cubin):
        assert put_back(assembled(text_of(data)), data).data == data


def test_a_listing_alone_carries_everything_an_elf_cubin_says(elf: bytes) -> None:
    again = write(assembled(text_of(elf)), "elf")
    assert facts(formats.load_image(again)) == facts(formats.load_image(elf))


EDITS: dict[str, tuple[str, str, str, str, Any]] = {
    "registers": (".regs 5", ".regs 9", "first", "registers", 9),
    "barriers": (".bars 1", ".bars 4", "first", "barriers", 4),
    "shared memory": (".shared 0x30", ".shared 0x800", "first", "shared_bytes", 0x800),
    "local memory": (".local 0x10", ".local 0x20", "second", "local_bytes", 0x20),
    "threads per block": (".max_threads 64 2 1", ".max_threads 32 1 1", "first", "max_threads", (32, 1, 1)),
    "a constant": ("0x00000008", "0x00000009", "first", "constants", {1: bytes.fromhex("0700000009000000")}),
    "a parameter": (".param p1 b32\n", ".param p1 b64 0x8\n", "first", "params", [(0, 4), (8, 8)]),
    "a note": (
        ".info 4 0x0d 0x10", ".info 4 0x0d 0x18", "first", "info",
        [InfoRecord(4, 0x0D, b"\x18\0\5\0"), InfoRecord(4, 0x1C, b"\x28\0\0\0")],
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", EDITS)
def test_an_edit_of_a_kernel_changes_nothing_else(elf: bytes, kind: str) -> None:
    old, new, kernel, key, value = EDITS[kind]
    text = text_of(elf)
    assert old in text
    data = put_back(assembled(text.replace(old, new, 1)), elf).data
    wanted = facts(formats.load_image(elf))
    wanted[kernel][key] = value
    if kind == "a parameter":
        wanted[kernel]["param_bytes"] = 16
    if kind == "shared memory" or key != "params":
        assert len(data) == len(elf)
        assert sum(a != b for a, b in zip(data, elf, strict=True)) <= 12
    assert facts(formats.load_image(data)) == wanted


def test_the_module_s_data_can_change(elf: bytes) -> None:
    text = text_of(elf).replace("0x00000022", "0x00000033")
    text = text.replace(".word 0x3f800000", ".word 0x40000000")
    wanted = facts(formats.load_image(elf))
    got = facts(formats.load_image(put_back(assembled(text), elf).data))
    assert got["globals"][0].data == bytes.fromhex("1100000033000000")
    assert got["constants"][0][:4] == bytes.fromhex("00000040")
    for f in (wanted, got):
        f["globals"] = f["constants"] = None
    assert got == wanted


def test_the_unit_of_a_texture_can_change(elf: bytes) -> None:
    data = put_back(assembled(text_of(elf).replace(".sampler tex 3", ".sampler tex 5")), elf).data
    assert formats.load_image(data)["first"].samplers[0].unit == 5
    assert sum(a != b for a, b in zip(data, elf, strict=True)) == 1


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    long add b32 $r1 $r1 c1[0x4]", "    long add b32 $r1 $r1 c1[0x0]"),
        ("    long add b32 $r1 $r1 c1[0x4]", ""),
        ("    long add b32 $r1 $r1 c1[0x4]", "    long add b32 $r1 $r1 c1[0x4]\n    add b32 $r1 $r1 c1[0x4]\n    nop"),
    ],
    ids=["same size", "shorter", "longer"],
)
def test_code_can_change_its_size(elf: bytes, old: str, new: str) -> None:
    lines = [line.split("//")[0].rstrip() for line in text_of(elf).split("\n")]
    changed = assembled("\n".join(new if line == old else line for line in lines))
    data = put_back(changed, elf).data
    wanted = facts(formats.load_image(elf))
    got = facts(formats.load_image(data))
    assert got["first"].pop("code") == changed.kernels["first"].to_bytes() != wanted["first"].pop("code")
    grown = len(changed.kernels["first"].to_bytes()) - len(formats.load_image(elf)["first"].code)
    # The list of the places of `exit` follows the code.
    assert got["first"]["info"][1].data == (0x28 + grown).to_bytes(4, "little")
    got["first"]["info"].pop()
    wanted["first"]["info"].pop()
    assert got == wanted
    assert len(data) - len(elf) == grown
    symbols: Any = ELFFile(io.BytesIO(data)).get_section_by_name(".symtab")
    assert symbols.get_symbol_by_name("first")[0]["st_size"] == len(changed.kernels["first"].to_bytes())


def test_relocations_in_code_follow_their_instruction(elf: bytes) -> None:
    text = text_of(elf)
    at = text.index(".kernel second")
    longer = text[:at] + text[at:].replace("    mov b32 $r0 0x1 ", "    nop\n    mov b32 $r0 0x1 ", 1)
    moved = formats.load_image(put_back(assembled(longer), elf).data)["second"].relocations
    assert [(r.offset, r.symbol, r.addend) for r in moved] == [(0x10, "table", 4)]
    gone = "\n".join(
        line for line in text.split("\n") if "long mov b32 $r1 $r0" not in line and "$r1 $r0  " not in line
    )
    with pytest.raises(isakit.FormatError, match="holds an address"):
        put_back(assembled(gone), elf)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_files_of_any_layout_keep_what_an_edit_does_not_touch(elf: bytes, layout: str) -> None:
    data = LAYOUTS[layout](Elf(elf))
    text = text_of(data)
    assert put_back(assembled(text), data).data == data
    at = text.index(".kernel second")
    registers = text[:at] + text[at:].replace(".regs 2", ".regs 3", 1)
    longer = text[:at] + text[at:].replace("    mov b32 $r0 0x1 ", "    nop\n    mov b32 $r0 0x1 ", 1)
    assert list(differing(data, put_back(assembled(registers), data).data)) == [".text.second"]
    changed = set(differing(data, put_back(assembled(longer), data).data))
    assert {".text.second"} <= changed <= {".text.second", ".rela.text.second", ".symtab"}
    if layout == "bytes after it":
        assert put_back(assembled(longer), data).data.endswith(data[len(Elf(elf).write()) :])


def test_memory_that_a_kernel_did_not_have_gets_a_section(elf: bytes) -> None:
    text = text_of(elf).replace(".kernel first\n.regs 5\n.shared 0x30\n.local 0x0", ".kernel first\n.local 0x40", 1)
    data = put_back(assembled(text), elf).data
    wanted = facts(formats.load_image(elf))
    wanted["first"]["local_bytes"] = 0x40
    assert facts(formats.load_image(data)) == wanted
    section: Any = ELFFile(io.BytesIO(data)).get_section_by_name(".nv.local.first")
    assert (section["sh_type"], section["sh_size"]) == ("SHT_NOBITS", 0x40)


def test_what_a_text_leaves_out_stays(elf: bytes) -> None:
    text = ".isa tesla gt200\n.kernel second\nmov b32 $r0 0x2\nlong mov b32 $r1 $r0\nexit nop\n"
    data = put_back(assembled(text), elf).data
    wanted, got = facts(formats.load_image(elf)), facts(formats.load_image(data))
    assert got["second"].pop("code") != wanted["second"].pop("code")
    assert got == wanted


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        (".kernel second", ".kernel third", "no kernel 'third'"),
        (".variable table 0x8", ".variable table 0xc", "variable 'table'"),
        (".reloc c14 0x0 table", ".reloc c14 0x0 scratch", "relocation"),
        (".isa tesla gt200", ".isa tesla g80", "for gt200, the text for g80"),
        (".sampler tex 3", ".sampler other 3", "uses no texture"),
        ("e_type=0x2", "e_type=0x1", "header value e_type"),
        (".info 4 0x0d", ".info 4 0x0e", "other .info notes"),
    ],
)
def test_what_has_no_place_in_the_file_is_refused(elf: bytes, old: str, new: str, why: str) -> None:
    text = text_of(elf)
    assert old in text
    with pytest.raises(isakit.FormatError, match=why):
        put_back(assembled(text.replace(old, new, 1)), elf)


@pytest.mark.parametrize(
    ("old", "new", "before", "after"),
    [
        (".regs 3", ".regs 12", b"reg = 3", b"reg = 12"),
        (".shared 0x18", ".shared 0x30", b"smem = 24", b"smem = 48"),
        (".local 0x0", ".local 0x8", b"lmem = 0", b"lmem = 8"),
        (".bars 1", ".bars 3", b"bar = 0", b"bar = 2"),
        (".sampler tex 2", ".sampler tex 4", b"texunit = 2", b"texunit = 4"),
        ("0x06, 0xaa", "0x07, 0xaa", b"0x0000aa06", b"0x0000aa07"),
        ("0x00000011", "0x00000012", b"0x00000011", b"0x00000012"),
        ("ld $r1 b32 s[0x14]", "ld $r2 b32 s[0x14]", b"0x10000a05", b"0x10000a09"),
        ("    exit nop", "    nop\n    exit nop", b"0xe0000781", b"0xe0000780 0xf0000001 0xe0000781"),
        (".kernel first", ".kernel first\n.const 1\n.word 0x5\n.code", b"\tbincode", (
            b"\tconst {\n\t\tsegname = const\n\t\tsegnum = 1\n\t\toffset = 0\n\t\tbytes = 4\n\t\tmem {\n"
            b"\t\t\t0x00000005\n\t\t}\n\t}\n\tbincode")),
    ],
)  # fmt: skip
def test_an_edit_of_a_text_cubin_changes_these_characters(
    text_cubin: bytes, old: str, new: str, before: bytes, after: bytes
) -> None:
    text = text_of(text_cubin)
    assert old in text
    data = put_back(assembled(text.replace(old, new, 1)), text_cubin).data
    assert data == text_cubin.replace(before, after, 1) != text_cubin


def test_a_text_says_what_it_does_not_carry(text_cubin: bytes) -> None:
    with pytest.raises(isakit.FormatError, match=r"keys of the kernel that are not understood.*--like"):
        write(assembled(text_of(text_cubin)), "cubin")
    debug = formats.load_image(write(assembled(".isa tesla g80\n.kernel k\nexit nop"), "elf"))
    debug.extra["sections"] = [formats.ExtraSection(".debug_line", 1, 0, 1, 0, 3, b"abc")]
    data = formats.write_elf_cubin(debug)
    with pytest.raises(isakit.FormatError, match=r"section \.debug_line \(3 bytes\)"):
        write(assembled(text_of(data)), "elf")
    longer = text_of(data).replace("    exit nop", "    nop\n    exit nop")
    written = put_back(assembled(longer), data)
    assert b"abc" in written.data
    assert written.notes == [".debug_line describe the code as it was before"]


def host(programs: list[bytes]) -> bytes:
    return b"MZ" + bytes(62) + b"".join(p + bytes(24) for p in programs) + b"the end"


def test_programs_of_a_host_file_are_replaced_where_they_are(elf: bytes, text_cubin: bytes) -> None:
    data = host([elf, text_cubin])
    parts = [text_of(elf), text_of(text_cubin)]
    text = f".file 0 elf\n{parts[0]}\n.file 1 text\n{parts[1].replace('.regs 3', '.regs 4')}"
    programs = {n: assembled(t) for n, t in split_text(text).items()}
    out = put_back(programs, data).data
    assert out == data.replace(b"reg = 3", b"reg = 4")
    longer = assembled(parts[1].replace("    exit nop", "    nop\n    exit nop"))
    with pytest.raises(isakit.FormatError, match="22 too many"):
        put_back({1: longer}, data)
    shorter = assembled(parts[1].replace("    ld $r1 b32 s[0x14]", "//"))
    out = put_back({1: shorter}, data).data
    assert len(out) == len(data)
    assert [m.kind for m in formats.load_images(out)] == ["elf-cubin", "text-cubin"]
    assert out[: data.index(b"architecture")] == data[: data.index(b"architecture")]
    with pytest.raises(isakit.FormatError, match="2 programs"):
        put_back(assembled(parts[0]), data)
    with pytest.raises(isakit.FormatError, match="there is no file 7"):
        put_back({7: longer}, data)


def test_lines_of_messages_are_those_of_the_whole_text() -> None:
    parts = split_text(".file 0 x\n.isa tesla g80\nnop\n.file 1 y\n.isa tesla g80\nfrob\n")
    with pytest.raises(isakit.AsmError) as e:
        assembled(parts[1])
    assert e.value.diagnostics[0].line == 6
