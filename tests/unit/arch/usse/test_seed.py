"""The variant `seed`: mnemonics, predicates, invalid encodings and example lists of the early page, word by word."""

from __future__ import annotations

from itertools import product

import pytest

import isakit

TYPES = ["i8", "i16", "i32", "fx10", "f16", "f32"]
P2 = ["", "p0", "!p0", "Pn"]
P3V = ["", "p0", "p1", "p2", "!p0", "!p1", "!p2", "Pn"]
P3 = ["", "p0", "p1", "p2", "p3", "!p0", "!p1", "Pn"]

EXAMPLES = {
    0x00: ["mad.f32", "mad.f16"],
    0x08: ["mul.f32"],
    0x10: ["mul.f16"],
    0x18: ["dot.f32", "mad.f32"],
    0x20: [f"{op}.{t}" for op, t in product(("dot", "mov", "rsq", "rcp", "exp", "log"), ("f32", "f16"))],
    0x28: [f"{op}.{t}" for op, t in product(("dot", "mov", "rsq", "rcp"), ("f32", "f16"))],
    0x30: [
        f"{op}.{t}"
        for op, t in product(
            ("rcp", "rsq", "log", "exp"), ("f32", "f32.fx10", "f16.f32", "f16.fx10", "fx10.f32", "fx10")
        )
    ],
    0x38: [f"mov.{t}" for t in TYPES]
    + [f"{op}.{c}.{t}" for op, c, t in product(("cmov", "cmov8"), ("eqzero", "ltzero"), TYPES)],
    0x40: [
        "mov.u8",
        "pack.s16.u8",
        "pack.u8.s8",
        "pack.s16.s8",
        "pack.u8.o8",
        "pack.s16.o8",
        "pack.u8.u16",
        "pack.s16.u16",
        "pack.u8.s16",
        "mov.s16",
        "pack.u8.f16",
        "pack.s16.f16",
        "pack.u8.f32",
        "pack.s16.f32",
    ],
    0x48: [],
    0x50: ["and.u32"],
    0x58: ["xor.u32"],
    0x60: ["shl.u32"],
    0x68: ["shr.u32"],
    0x70: ["rlp.u32"],
    0x78: [],
}
"""By the first byte of the group."""


@pytest.fixture(scope="module")
def seed():
    return isakit.isa("usse", "seed")


def described(base: int):
    """The words of a group in which everything the page varies is varied, with the low half and the last byte 0.

    Bits 1 of byte 2 up to byte 3, and the visible bit of each format field.
    """
    for high in range(1 << 16):
        word1 = base << 24 | high << 8
        yield word1 << 32


@pytest.mark.parametrize("base", EXAMPLES)
def test_the_example_list_of_every_group(seed, base):
    found = set()
    step = [1 << b for b in range(40, 59)]
    fields = {
        0x00: [58],
        0x08: [],
        0x10: [],
        0x18: [53],
        0x20: [54, 53, 46, 45, 44, 43],
        0x28: [53, 46, 45, 44, 43],
        0x30: [54, 53, 42, 41, 40],
        0x38: [54, 47, 46, 42, 41, 40],
        0x40: [43, 42, 41, 40],
    }.get(base, [])
    assert set(1 << f for f in fields) <= set(step)
    for values in product((0, 1), repeat=len(fields)):
        word = base << 56 | sum(v << f for v, f in zip(values, fields, strict=True))
        i = seed.disassemble([word])[0]
        if i.valid:
            assert i.plain_text == i.mnemonic
            found.add(i.plain_text)
    assert found == set(EXAMPLES[base])


@pytest.mark.parametrize(
    ("base", "table", "shift"),
    [
        (0x00, P2, 56),
        (0x28, P2, 56),
        (0x08, P3V, 56),
        (0x10, P3V, 56),
        (0x18, P3V, 56),
        *[(b, P3, 56) for b in (0x30, 0x38, 0x40, 0x50, 0x58, 0x60, 0x68, 0x70)],
    ],
)
def test_predicates(seed, base, table, shift):
    for value, name in enumerate(table):
        word = base << 56 | value << shift | (0x680000000000 if base == 0x28 else 0)
        i = seed.disassemble([word])[0]
        assert i.plain_text == f"{name} {i.mnemonic}".strip()


@pytest.mark.parametrize(
    "word1",
    [
        0x20002000,
        0x20000800,
        0x20001800,
        0x20003800,
        0x20004800,
        0x20400800,
        0x20402800,
        0x20406800,
        0x28002000,
        0x28000800,
        0x30600000,
        0x3800C000,
        0x38000600,
        0x38000700,
        0x40000E00,
        0x48000000,
        0x4FFFFF00,
        0x78000000,
        0x7FFFFF00,
    ],
)
def test_invalid_encodings(seed, word1):
    i = seed.disassemble([word1 << 32])[0]
    assert not i.valid
    assert i.error == "ILLEGAL_OPCODE"


def test_what_the_page_does_not_say(seed):
    for word, error in (
        (0x8 << 56 | 1 << 12, "UNDESCRIBED"),  # another operation of the group
        (0x30 << 56 | 1 << 39, "UNDESCRIBED"),
        (0x40 << 56 | 1 << 38, "UNDESCRIBED"),
        (0x50 << 56 | 1 << 35, "UNDESCRIBED"),
        (0xF8 << 56, "UNEXPLORED"),
        (0xE0 << 56, "UNEXPLORED"),
    ):
        assert seed.disassemble([word])[0].error == error


def test_the_rest_of_the_word_is_kept(seed):
    words = [0x00800082F103CFBE, 0x38800D201FF80F40 & ~(1 << 39), 0x18B18F80AF11005C]
    program = seed.disassemble(words)
    assert [i.mnemonic for i in program] == ["mad.f32", "mov.f32", "mad.f32"]
    assert seed.assemble(str(program)).words == words


def test_records_are_shared(seed):
    """Both views come from the same records, and the seed's words run like the real ones."""
    whole = isakit.isa("usse")
    word = 0x08A40186A0040081
    assert seed.disassemble([word])[0].record is whole.disassemble([word])[0].record


def test_early_spellings_assemble():
    isa = isakit.isa("usse")
    for early, name in (
        ("mad.f32 r0.x pa0.xxxx r2.xxxx r4.xxxx", "vmad2.f32"),
        ("mul.f16 r0.xyzw pa0.xyzw pa2.xyzw", "vmul.f16"),
        ("dot.f32 r0.x pa0.xyzw i0.xyzw", "vdp4.f32"),
        ("rsq.f32.fx10 r0.x pa0.x", "vrsq.f32.c10"),
        ("mov.i32 r0 pa0", "vmov.i32"),
        ("cmov.ltzero.f32 r0.x pa0 r2.xxxx r4.xxxx", "vmovc.lt.f32"),
        ("pack.u8.f16 r0.x pa0.xyzw scale", "vpck.u8.f16"),
    ):
        i = isa.assemble(early)[0]
        assert i.mnemonic == name
        assert isa.assemble(i.text).words == [i.word]
