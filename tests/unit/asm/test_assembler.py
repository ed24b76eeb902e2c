"""Programs that were assembled by hand: words of the documents' own examples, sizes, labels, directives."""

from __future__ import annotations

import struct

import pytest

import isakit
from isakit.asm import Program

TESLA = isakit.isa("tesla", "gt200")
VUC = isakit.isa("vuc", "vp3")
USSE = isakit.isa("usse")


def words(text: str) -> list[int]:
    return TESLA.assemble(text).words


def message(text: str, isa: isakit.Isa = TESLA) -> list[str]:
    with pytest.raises(isakit.AsmError) as caught:
        isa.assemble(text)
    return [d.message for d in caught.value.diagnostics]


# --- sizes -----------------------------------------------------------------------------------------------------------

SHORT, LONG = [0x20008204], [0x20000205, 0x04000780]
ADD = "add b32 $r1 $r1 $r0"


def test_short_instructions_are_paired_and_the_rest_is_long() -> None:
    assert words(f"{ADD}\n{ADD}") == SHORT + SHORT
    assert words(f"{ADD}\nexit nop") == [*LONG, 0xF0000001, 0xE0000781]
    assert words(f"{ADD};{ADD};{ADD};exit nop") == [*SHORT, *SHORT, *LONG, 0xF0000001, 0xE0000781]


def test_long_forces_the_long_form() -> None:
    assert words(f"long {ADD}") == LONG


def test_exit_and_join_are_prefixes() -> None:
    assert words("exit nop") == [0xF0000001, 0xE0000781]
    assert words("join nop") == [0xF0000001, 0xE0000782]


def test_bits_without_a_field_are_flipped() -> None:
    assert words(f"long {ADD} {{0x1000000000000000}}") == [LONG[0], LONG[1] ^ 0x10000000]


def test_undecodable_units_stay_where_they_are() -> None:
    program = TESLA.disassemble([0x20008204, 0x20000205, 0x20008204])
    assert [i.error for i in program] == [None, "UNALIGNED_LONG_INSTRUCTION", None]
    assert TESLA.assemble(str(program)).words == program.words


# --- labels and expressions ------------------------------------------------------------------------------------------


def test_labels_count_bytes_or_words_as_the_branches_do() -> None:
    program = TESLA.assemble("bra end\nnop\nend: exit nop")
    assert program[0].text == "bra 0x10"
    assert VUC.assemble("bra #end\nnop\nend: nop").words == VUC.assemble("bra 0x2\nnop\nnop").words


def test_forward_and_backward_references_may_be_computed() -> None:
    same = words("bra 0x18\nnop\nnop\nnop")
    assert words("start: bra start+0x18\nnop\nnop\nnop") == same
    assert words("bra last\nnop\nnop\nlast: nop") == same
    assert words("D = (6 - 3) * 8\nbra D\nnop\nnop\nnop") == same
    assert words(".equ D E << 3\nE = 3\nbra D\nnop\nnop\nnop") == same
    assert words("bra . + 0x18\nnop\nnop\nnop") == same


def test_a_long_chain_of_names_needs_no_recursion() -> None:
    chain = "\n".join(f"n{k} = n{k + 1} + 1" for k in range(5000))
    assert words(f"{chain}\nn5000 = 0\nmov b32 $r0 n0") == words("mov b32 $r0 5000")


def test_names_that_depend_on_themselves_are_errors() -> None:
    assert any("depends on itself" in m for m in message("a = b\nb = a\nmov b32 $r0 a"))


def test_words_of_instructions_can_be_labels() -> None:
    program = TESLA.assemble("add: add b32 $r1 $r1 $r0\nadd b32 $r1 $r1 $r0\nbra add")
    assert program[-1].text == "bra 0x0"


def test_immediates_take_negative_and_real_numbers() -> None:
    assert words("add b32 $r0 $r0 -1") == words("add b32 $r0 $r0 0xffffffff")
    one = struct.unpack("<I", struct.pack("<f", 1.0))[0]
    assert words("mov b32 $r0 1.0") == words(f"mov b32 $r0 {one:#x}")


# --- directives ------------------------------------------------------------------------------------------------------

KERNEL = """
.kernel first
.regs 5
.shared 0x40
.local 8
.bars 2
.param p ptr
.param h u16
.param x f32
.param block u8[6]
.param wide f64
.const 1
    .word 1, -1
table:
    .half 0x1234; .byte 1, 2
    .float 1.5
    .align 16
    .word end
    .code
    mov b32 $r0 b32 s[x]
    ld $r1 b32 c1[table]
end:
    exit nop
.kernel second
    exit nop
"""


def test_kernels_have_what_their_directives_say() -> None:
    program = TESLA.assemble(KERNEL)
    first = program.kernels["first"]
    k = first.kernel
    assert k is not None
    assert (k.registers, k.shared_bytes, k.local_bytes, k.barriers) == (5, 0x40, 8, 2)
    assert [(p.name, p.kind, p.offset, p.size) for p in k.params] == [
        ("p", "ptr", 0, 4), ("h", "u16", 4, 2), ("x", "f32", 8, 4), ("block", "u8[6]", 12, 6), ("wide", "f64", 24, 8),
    ]  # fmt: skip
    data = struct.pack("<IiHBBf", 1, -1, 0x1234, 1, 2, 1.5)
    assert k.constant_bytes(1) == data + struct.pack("<I", 16)
    assert {s.name: s.offset for s in k.constants[1] if s.name} == {"table": 8}
    assert [i.text for i in first] == ["long mov b32 $r0 b32 s[0x18]", "ld $r1 b32 c1[0x8]", "exit nop"]
    second = program.kernels["second"]
    assert (second.address, second.words) == (0, [0xF0000001, 0xE0000781])
    assert program.to_bytes() == first.to_bytes() + second.to_bytes()


def test_a_listing_of_kernels_assembles_back_with_everything() -> None:
    program = TESLA.assemble(KERNEL)
    again = TESLA.assemble(str(program))
    assert again.to_bytes() == program.to_bytes()
    assert [p.kernel for p in again.parts] == [p.kernel for p in program.parts]
    assert str(again) == str(program)


def test_parameters_may_have_offsets_of_their_own() -> None:
    program = TESLA.assemble(".kernel k\n.param a b32 0x10\n.param b b32\nexit nop")
    assert program.kernel is not None
    assert [p.offset for p in program.kernel.params] == [0x10, 0x14]
    assert TESLA.assemble(str(program)).kernel == program.kernel


def test_program_types_decide_what_instructions_there_are() -> None:
    assert TESLA.assemble(".program fragment\ndiscard").program_type == "fragment"
    assert message("discard")
    assert TESLA.assemble("discard", "fragment").words == TESLA.assemble(".program fragment\ndiscard").words


def test_several_programs_in_one_text() -> None:
    text = """
        two = 2
        l: mov b32 $r1 two
        bra l
        .program vertex
        .org 0x80
        nop
        l: mov b32 $r2 two
        bra l
        .byte 1, 2
        .program fragment
    """
    program = TESLA.assemble(text)
    assert list(program.by_type) == ["compute", "vertex", "fragment"]
    first, second, third = program.parts
    assert first[0].text == "mov b32 $r1 0x2"
    assert (first[1].text, second[2].text) == ("bra 0x0", f"bra {second[1].address:#x}")
    assert second.address == 0x80
    assert second.tail == b"\1\2"
    assert len(third) == 0
    assert program.words == first.words + second.words
    assert not program.kernels
    again = TESLA.assemble(str(program))
    assert {k: (p.to_bytes(), p.address) for k, p in again.by_type.items()} == {
        k: (p.to_bytes(), p.address) for k, p in program.by_type.items()
    }


def test_labels_of_another_program_are_not_known() -> None:
    assert message("l: nop\n.program vertex\nbra l") == ["`l` is not defined"]


def test_addresses_start_where_org_says() -> None:
    program = TESLA.assemble(".org 0x100\nl: bra l")
    assert program.address == 0x100
    assert program[0].text == "bra 0x100"
    assert TESLA.assemble(str(program)).address == 0x100


def test_data_in_code() -> None:
    assert words(".word 1, 2\n.align 16\n.word end\nend:") == [1, 2, 0, 0, 0x14]
    assert words(".byte 1,2,3,4,5,6,7,8") == [0x04030201, 0x08070605]
    assert words("nop\n.space 8") == [*words("nop"), 0, 0]


# --- bytes that fill no unit -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("isa", [TESLA, VUC, USSE, isakit.isa("vuc", "vp2")])
@pytest.mark.parametrize("length", range(1, 18))
def test_no_byte_is_lost(isa: isakit.Isa, length: int) -> None:
    data = bytes(length)
    program = isa.disassemble(data)
    assert program.to_bytes() == data
    again = isa.assemble(str(program))
    assert again.to_bytes() == data
    assert isinstance(again, Program)


def test_words_that_are_too_wide_are_refused() -> None:
    with pytest.raises(isakit.FormatError, match="30 bits"):
        VUC.disassemble([1 << 30])
    with pytest.raises(isakit.FormatError):
        TESLA.disassemble([-1])


def test_unknown_names_list_the_valid_ones() -> None:
    with pytest.raises(isakit.UnknownIsaError, match="tesla, vuc, usse"):
        isakit.isa("teslo")
    with pytest.raises(isakit.UnknownIsaError, match="gt200"):
        isakit.isa("tesla", "gt300")
    with pytest.raises(isakit.UnknownIsaError, match="fragment"):
        TESLA.disassemble([0], program_type="pixel")
