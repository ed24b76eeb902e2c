"""Words whose meaning is known from compilers and hardware, and how they read; texts that do not assemble."""

from __future__ import annotations

import pytest

import isakit

WORDS = {
    0x40800D7EA0198002: "vpck.f16.f32 pa0.xyzw pa0.xyzw pa2 skipinv",
    0x40800D7EA0024083: "vpck.f16.f32 pa0.xyzw pa0.wzyx pa2 skipinv",
    0x40850A3DA01D8000: "vpck.u8.f16 o0.xyzw pa0.xyzw scale skipinv end",
    0x48880185B007C006: "vtst.sub.u32 eq p1.x pa0 sa6 skipinv",
    0x48A8068130078000: "vtst.sub.s32 lt p0.x r0 sa0 once skipinv",
    0x488B0281600C2801: "vtst.and.u32 ne p0.x g16 #0x1 skipinv",
    0x5081000AE0000000: "or.u32 pa0 sa0 #0x0 skipinv",
    0x58810002A0090034: "xor.u32 pa0 pa0 #0x1234 skipinv",
    0x50810002A000407F: "and.u32 pa0 pa0 #0xff skipinv",
    0x60810002A0000003: "shl.u32 pa0 pa0 #0x3 skipinv",
    0x6881000AA0000003: "asr.u32 pa0 pa0 #0x3 skipinv",
    0x308008008F800001: "vrcp.f32 i0.x pa0.x skipinv nosched",
    0xF90000400000000C: "p0 br +12",
    0xFD00004000000006: "!p0 br +6",
    0xF8000040000FFFFA: "br -6",
    0xFA44070000000000: "phas wait7 temps 0x0 addr 0x0",
    0xFA44010000000000: "phas wait1 temps 0x0 addr 0x0",
    0xF9300406F0000000: "kill !p1",
    0xF920000100000000: "wdf drc1",
    0xFB275000A0200000: "emit end",
    0xD08180042020C001: "i32mad2.u32 r1 sa3 r0 #0x1 skipinv",
    0xD09080040000C001: "i32mad2.u32 r0 sa3 r0 r1 step1 skipinv",
    0xF800094000000000: "nop nosched",
    0xF804014000000000: "nop end",
    0xFA10000201010E01: "smlsi limits 0x0 0x0 0x0 d 1 s0 1 s1 o2300 s2 1",
}


@pytest.mark.parametrize(("word", "text"), WORDS.items())
def test_words_from_compilers(word, text):
    isa = isakit.isa("usse")
    assert isa.disassemble([word])[0].text == text
    assert isa.assemble(text).words == [word]


def test_secondary_programs_name_one_bank():
    isa = isakit.isa("usse")
    word = 0x088041A2A2C014D2
    assert isa.disassemble([word], program_type="secondary")[0].text == "vadd.f32 sa22.xy -sa38.xxxx sa36.xyzw skipinv"
    assert "pa22" in isa.disassemble([word])[0].text
    # The same registers through another bank are told apart.
    other = isa.assemble("vadd.f32 sa22@r.xy sa38@sa.xxxx sa36.xyzw", "secondary")[0]
    assert other.text == "vadd.f32 sa22@r.xy sa38@sa.xxxx sa36.xyzw"


@pytest.mark.parametrize("text", [
    "vmul.f32 pa0.x pa1.xyzw pa2.xyzw",  # odd register of a pair
    "vmul.f32 pa0.x pa0.xyzw pa2.wwyx",  # not in the swizzle table
    "vmad2.f32 sa0.x pa0.xxxx pa0.xxxx pa0.xxxx",  # no ext bit: sa cannot be written
    "vpck.c10.u8 r0.x pa0.xyzw",  # no such pair
    "or.u32 r0 r1 #0x10000",  # more than 16 bits
    "p2 vmad2.f32 pa0.x pa0.xxxx pa0.xxxx pa0.xxxx",  # two predicate bits
    "dual3.f32 vmad r0.x pa0.xyz i1.xyz i2.xyz + fmad i0.x i0.xxx i1.xxx i2.xyzw",  # two operations of three sources
    "br +524288",
])  # fmt: skip
def test_what_does_not_assemble(text):
    with pytest.raises(isakit.AsmError):
        isakit.isa("usse").assemble(text)


def test_records_say_how_certain_they_are():
    records = {r.name: r for r in isakit.isa("usse").instructions}
    assert records["vmad2"].status == "known"
    assert records["dual"].status == "inferred"
    assert records["rlp"].status == "unknown"
    for r in records.values():
        assert r.doc
        assert r.ref.place
