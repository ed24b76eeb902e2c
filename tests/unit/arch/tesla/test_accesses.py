"""Which registers an instruction reads and writes, as the decoded instruction tells it."""

from __future__ import annotations

import pytest

import isakit


@pytest.mark.parametrize(
    ("text", "reads", "writes"),
    [
        ("red add u32 g14[$r4] $r5", {"$r4", "$r5"}, set()),
        ("st b32 s[$a1+0x4] $r1", {"$a1", "$r1"}, set()),
        ("st b32 s[$a1++0x4] $r1", {"$a1", "$r1"}, {"$a1"}),
        ("mov b32 $r1 b32 s[$a1++0x4]", {"$a1"}, {"$a1", "$r1"}),
        ("ld b64 $r2d g14[$r5]", {"$r5"}, {"$r2d"}),
        ("st b64 g14[$r5] $r2d", {"$r5", "$r2d"}, set()),
        ("(e $c1) add rn f32 $c0 $r1 $r2 c1[$a2+0x4]", {"$c1", "$r2", "$a2"}, {"$c0", "$r1"}),
        ("slct b32 # $r1 $r2 f32 $r3", {"$r1", "$r2", "$r3"}, set()),
        ("add f32 $r6 (mul $r1 $r2) $r6", {"$r1", "$r2", "$r6"}, {"$r6"}),
        ("texsize all $r0:#:$r1:# $t3 $s2 $r0", {"$t3", "$s2", "$r0"}, {"$r0", "$r1"}),
        ("vote any $c1", set(), {"$c1"}),
        ("mov $r0 0x0", {"$a0"}, {"$r0"}),  # which always reads 0, and is written so
    ],
)
def test_reads_and_writes(text, reads, writes) -> None:
    i = next(iter(isakit.isa("tesla", "gt200").assemble(text)))
    assert (set(i.reads), set(i.writes)) == (reads, writes)


def test_a_branch_through_constants_counts_words() -> None:
    """Errata 25: jump tables lie without gaps only so; the word is that of a compiler's program."""
    isa = isakit.isa("tesla", "gt200")
    i = isa.disassemble([0xC8006003, 0x00400000])[0]
    assert i.text == "bra c1[$a2+0xc0]"
    assert isa.assemble(i.text).words == [0xC8006003, 0x00400000]
