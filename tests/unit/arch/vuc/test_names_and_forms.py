"""Older names, messages about shared fields, explanations, and what exists on which variant."""

from __future__ import annotations

import random

import pytest

import isakit
from isakit.arch.vuc import vuc
from isakit.codec import decoder

VARIANTS = ("vp2", "vp3", "vp4")


def one(text: str, variant: str = "vp3") -> isakit.Instruction:
    return isakit.isa("vuc", variant).assemble(text)[0]


# older spelling -> canonical text
OLD_NAMES = {
    "setsg $p2 $r1 $r2": "setgt $p2 $r1 $r2",
    "setsl $p2 $r1 $r2": "setlt $p2 $r1 $r2",
    "setse $p2 $r1 $r2": "seteq $p2 $r1 $r2",
    "setsle $p2 $r1 $r2": "setlep $p2 $r1 $r2",
    "minsz $r1 $r2 $r3": "clamplep $r1 $r2 $r3",
    "clampsex $r1 $r2 0x5": "clamps $r1 $r2 0x5",
    "sex $r1 $r2 0x7": "sext $r1 $r2 0x7",
    "rot8 $r1 $r2": "hswap $r1 $r2",
    "setand $p2 $p3 $p4": "and $p2 $p3 $p4",
    "setor $p2 $p3 $p4": "or $p2 $p3 $p4",
    "setne $p2 $p3 $p4": "xor $p2 $p3 $p4",
    "setl $p2 $p3 $p4": "and $p2 $p3 not $p4",
    "setge $p2 $p3 $p4": "or $p2 $p3 not $p4",
    "sete $p2 $p3 $p4": "xor $p2 $p3 not $p4",
    "setg $p2 $p3 $p4": "and $p2 not $p3 $p4",
    "setle $p2 $p3 $p4": "or $p2 not $p3 $p4",
    "setnor $p2 $p3 $p4": "and $p2 not $p3 not $p4",
    "setnand $p2 $p3 $p4": "or $p2 not $p3 not $p4",
    "mul $r1 $r2": "lmulu $r1 $r2",
    "absmul $r1 $r2": "lmulu $r1 $r2",
    "umul $r1 $r2": "lmulu $r1 $r2",
    "muls $r1 $r2": "lmuls $r1 $r2",
    "smul $r1 $r2": "lmuls $r1 $r2",
    "shift 0x5": "lsrr 0x5",
    "srnd 0x5": "lsrr 0x5",
    "lsrnd 0x5": "lsrr 0x5",
    "iord $r1 E[0x2]": "ld7 $r1 B7[0x2]",
    "iord $r1 IO[0x2]": "ld7 $r1 B7[0x2]",
    "iowr E[0x2] $r1": "st7 B7[0x2] $r1",
    "ld $r1 B7[0x2]": "ld7 $r1 B7[0x2]",
    "st B7[0x2] $r1": "st7 B7[0x2] $r1",
    "ld $r1 B6[0x0]": "ld6 $r1 B6[0x0]",
    "ld $r1 F[$r2]": "ld $r1 PWT[$r2]",
    "ld $r1 G[$r2]": "ld $r1 MVSI[$r2]",
    "ld $r1 I4[$r2]": "ld $r1 MVSI[$r2]",
    "st O5[$r2] $r1": "st MVSO[$r2] $r1",
    "st5 O5[$r2] $r1": "st MVSO[$r2] $r1",
    "or $r1 $arthi 0x0": "or $r1 $lhi 0x0",
    "mov $artlo $r1": "mov $llo $r1",
    "or $r1 $s22 0x0": "or $r1 $rpil0 0x0",
    "or $r1 $sr23 0x0": "or $r1 $rpil1 0x0",
    "or $r1 $sr9 0x0": "or $r1 $cspos 0x0",
    "not $r1 $r2": "not $r1 $r2 0x0",
    "add $r0 $r1 $r0": "add 0x0 $r1 0x0",
    "add not $p3 $r1 $r2 $r3": "add pnot $p3 $r1 $r2 $r3",
    "setgt $p15 $r1 $r2": "setgt 0x1 $r1 $r2",
    "$p1 nop": "$np0 nop",
    "ld $r1 D[$r0+0x5]": "ld $r1 D[0x5]",
}


@pytest.mark.parametrize(("old", "new"), OLD_NAMES.items())
def test_older_names(old: str, new: str) -> None:
    i = one(old)
    assert i.text == new
    assert one(i.text).words == i.words


def test_old_negating_names_take_plain_predicates_only() -> None:
    with pytest.raises(isakit.AsmError):
        one("setl $p2 $p3 not $p4")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("$p3 add $p4 $r5 $r1 $r2", "predicate output is held in the DST field"),
        ("$p3 mov $r1 0x200", "bits 11:8 of its constant in the PRED field"),
        ("mov $p3 $r1 0x200", "bits 11:8 of its constant in the PRED field"),
        ("slct $p4 $r1 $p3 $r3 $r4", "keeps its selector in the PRED field"),
        ("add $mvxl0 $r2 0x20", "only 4 bits"),
        ("add $r1 $mvxl0 0x20", "only 4 bits"),
        ("add $mvxl0 $mvyl0 0x2", "one special register only"),
        ("$p2 ld $r1 D[$r2+0x80]", "only 6 bits"),
        ("$p2 st D[$r2+0x80] $r1", "only 6 bits"),
        ("add $r1 $r2 0x40", "load others with mov"),
        ("mov $r1 0x4000", "0x3fff"),
        ("bra 0x800", "0x7ff"),
        ("st D[$r1+$r2] $r3", "scaled by two"),
        ("ld $r1 D[$r2+$r3*0x2]", "only stores scale"),
        ("st PWT[0x0] $r1", "accepted here"),
        ("ld $r1 VP[0x0]", "accepted here"),
        ("addd $r1 $r2 $r3", "did you mean"),
        ("wstc 0x10", "0xf"),
    ],
)
def test_messages_say_why(text: str, message: str) -> None:
    with pytest.raises(isakit.AsmError) as caught:
        one(text)
    assert message in str(caught.value)


def test_allowed_sharing() -> None:
    assert one("$p3 add $p5 $r5 $r1 $r2").valid
    assert one("$p3 mov $r1 0x300").valid
    assert one("$p3 setgt $p4 $r1 $r2").valid
    assert one("slct $p3 $r1 $p3 $r3 $r4").valid


@pytest.mark.parametrize(
    ("text", "variants"),
    [
        ("subr $r1 $r2 $r3", "vp2"),
        ("setzero $p2 $r1 $r2", "vp2"),
        ("avgs $r1 $r2 $r3", "vp3 vp4"),
        ("avgu $r1 $r2 $r3", "vp3 vp4"),
        ("div2s $r1 $r2", "vp3 vp4"),
        ("min $r1 $r2 $r3", "vp3 vp4"),
        ("max $r1 $r2 $r3", "vp3 vp4"),
        ("ladd $r1", "vp3 vp4"),
        ("lsar $r1", "vp3 vp4"),
        ("ldivu $r1", "vp4"),
        ("mov $rpitab $r1", "vp2"),
        ("mov $asel $r1", "vp2"),
        ("mov $absel $r1", "vp3 vp4"),
        ("or $r1 $submbtype 0x0", "vp2"),
        ("$p8 rbra 0x2 nop", "vp2"),
        ("mbiread", "vp2 vp3 vp4"),
    ],
)
def test_availability(text: str, variants: str) -> None:
    for v in VARIANTS:
        if v in variants:
            assert one(text, v).text == text
        else:
            with pytest.raises(isakit.AsmError):
                one(text, v)


PLACES = "accepted here: $p8 .. $p15: a relative branch tests no other predicate\n"


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("not $p3 rbra 0x5 nop", "1:5", PLACES),
        ("$p3 rbra 0x5 add $r1 $r2 $r3", "1:1", PLACES),
        ("$p9 rbra 0x5 frob $r1", "1:14", "unknown instruction `frob`"),
        ("$p9 rbra there ad $r1 $r2 $r3", "1:16", "did you mean `and` or `add`?"),
        ("ld $r1 D[$r2+$p3]", "1:14", "accepted here: $r0 .. $r15 | an offset 0x0 .. 0x3ff"),
        ("ld $r1 D[$r2-1]", "1:13", "accepted here: `]` | `+`\n"),
        ("ld $r1 D[$r2+$r3*2]", "1:18", "only stores scale a register"),
        ("st D[$r1+$r2] $r3", "1:13", "a second register of a store address scaled by two"),
    ],
)
def test_mistakes_in_front_and_inside_brackets(text: str, place: str, message: str) -> None:
    with pytest.raises(isakit.AsmError) as caught:
        one(text, "vp2")
    said = str(caught.value)
    assert said.startswith(f"<text>:{place}: ")
    assert message in said


def test_firmware_words() -> None:
    """The only real words in public: the start of user firmware, VC-1 images, sleep, a load."""
    d = decoder(vuc, "vp3")
    for word, text in (
        (0x20F00064, "$p15 add 0x0 0x0 0x0"),
        (0x20F10064, "$p15 add $r1 0x0 0x0"),
        (0x34000043, "$p0 nop"),
        (0x34F00004, "$p15 sleep"),
        (0x1C05008D, "ld6 $r5 B6[0x0]"),
    ):
        i = d.one(word, 1)
        assert i.text == text
        assert i.unknown_bits == 0


@pytest.mark.parametrize("variant", VARIANTS)
def test_explanations_account_for_every_bit(variant: str) -> None:
    d = decoder(vuc, variant)
    bits = d.view.variant.unit_bits
    rnd = random.Random(variant)
    seen = 0
    while seen < 400:
        i = d.one(rnd.getrandbits(bits), 1)
        if not i.valid:
            continue
        seen += 1
        covered = 0
        for row in i.explain():
            covered |= row.mask
        assert covered == (1 << bits) - 1, i.text


def test_registers_read_and_written() -> None:
    i = one("$p3 add por $p5 $r5 $mvxl0 $r2")
    assert set(i.reads) == {"$p3", "$mvxl0", "$r2"}
    assert set(i.writes) == {"$p5", "$r5"}
    assert set(one("or $p9 not $p3 not 0x1").reads) == {"$p3", "$p15"}  # which is always 1, and is written so
    assert set(one("0x1 rbra 0x3e $p9 nop", "vp2").reads) == {"$p15", "$p9"}
    assert set(one("st D[$r1+$r2*0x2] $r3").reads) == {"$r1", "$r2", "$r3"}
    assert one("ld $r1 D[$r2]").writes == ("$r1",)


def test_every_record_is_documented() -> None:
    for record in vuc.records:
        assert len(record.doc) > 15, record.name
        assert record.ref.document in vuc.documents
        for form in record.forms:
            assert form.mnemonics
