"""Bit positions of what operands share in the Tesla instruction layouts; the rest is in the tables of the forms.

Word 0 occupies bits 0-31 of an instruction word, word 1 (long instructions) bits 32-63.
Source: [001] "Instruction format", "Other fields"; corrected by [tesla] 0 and 2.
"""

from __future__ import annotations

from isakit.spec import Field, Layout, bits, where


def w1(low: int, high: int | None = None) -> Field:
    """Bits of word 1."""
    return bits(low + 32, None if high is None else high + 32)


class _ShortWord:
    """Word 0 as short normal and long immediate instructions have it."""

    kind = bits(0, 1)
    dst = bits(2, 7)
    mod1 = bits(8)
    src1 = bits(9, 14)
    soff = bits(9, 12)
    smode = bits(13, 14)
    mod2 = bits(15)
    mod3 = bits(22)
    src1_s = bits(24)
    postinc = bits(25)
    areg = bits(26, 27)
    op = bits(28, 31)
    o2 = bits(28)
    prim = bits(29, 31)


class Short(_ShortWord):
    """Short normal instruction: one word."""

    src2 = bits(16, 21)
    coff = bits(16, 20)
    cspace = bits(21)
    src2_c = bits(23)


class ImmWord(_ShortWord):
    """Long immediate instruction: word 0 as a short one, 32 immediate bits over both words."""

    dst7 = bits(2, 8)
    imm = bits(16, 21) + w1(2, 27)
    kind1 = w1(0, 1)
    sub = w1(29, 31)


class Long:
    """Long normal instruction."""

    kind = bits(0, 1)
    dst = bits(2, 8)
    src1 = bits(9, 15)
    soff = bits(9, 13)
    smode = bits(14, 15)
    offset16 = bits(9, 24)
    src2 = bits(16, 22)
    o1 = bits(22)
    src2_c = bits(23)
    src3_c = bits(24)
    postinc = bits(25)
    areg = bits(26, 27) + w1(2)
    op = bits(28, 31)
    o2 = bits(28)
    prim = bits(29, 31)
    tail = w1(0, 1)
    dst_o = w1(3)
    cdst = w1(4, 5)
    cdst_en = w1(6)
    pred = w1(7, 11)
    csrc = w1(12, 13)
    src3 = w1(14, 20)
    src1_s = w1(21)
    cspace = w1(22, 25)
    m1 = w1(26)
    m2 = w1(27)
    sub = w1(29, 31)
    lanes = w1(14, 17)


class ControlWord:
    """Long control instruction."""

    kind = bits(0, 1)
    target = bits(11, 26) + w1(14, 19)
    op = bits(28, 31)
    lim = w1(6)
    pred = w1(7, 11)
    csrc = w1(12, 13)
    offset16 = bits(9, 24)
    areg = bits(26, 27) + w1(2)
    cspace = w1(22, 25)


PREDICATE_ALWAYS = Long.pred.put(15)
SHORT = Layout("short", 1, where({Short.kind: 0}), 0, "4 bytes")
IMMEDIATE = Layout(
    "immediate", 2, where({ImmWord.kind: 1, ImmWord.kind1: 3, ImmWord.sub: 0}), 0, "8 bytes, 32-bit immediate"
)
LONG = Layout("long", 2, where({Long.kind: 1}), PREDICATE_ALWAYS, "8 bytes")
CONTROL = Layout("control", 2, where({ControlWord.kind: 3}), PREDICATE_ALWAYS, "8 bytes")
SHORT_CONTROL = Layout("short control", 1, where({Short.kind: 2}), 0, "4 bytes")
