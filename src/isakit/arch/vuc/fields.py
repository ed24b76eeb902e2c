"""The bits of a vµc instruction word.

A word is one unit: 30 bits on VP3 and VP4, 40 on VP2, whose high ten bits are a relative-branch slot of their own.
Source: [vuc] 2, [002] 1.
"""

from __future__ import annotations

from isakit.spec import Bits, Field, bits
from isakit.spec.record import Layout

OP = bits(0, 4, "OP")
POM = bits(5, 6, "POM")
PON = bits(7, name="PON")
OC = bits(5, 7, "OC")
SRC1 = bits(8, 11, "SRC1")
SRC2 = bits(12, 15, "SRC2")
DST = bits(16, 19, "DST")
BTARG = bits(8, 18, "BTARG")
PRED = bits(20, 23, "PRED")
EXT = bits(24, 25, "EXT")
OT0 = bits(26, name="OT0")
IMMF = bits(27, name="IMMF")
OT1 = bits(28, name="OT1")
PE = bits(29, name="PE")
RBP = bits(30, 32, "RBP")
RBN = bits(33, name="RBN")
RBT = bits(34, 39, "RBT")

DISCARD = 3
"""POM value: the predicate output is not written."""

OPERAND_BITS = sum(f.mask for f in (SRC1, SRC2, DST, PRED, EXT, IMMF))
"""Bits an instruction without a certain operand does not look at; the assembler leaves them 0."""

RELATIVE_SLOT = RBP + RBN + RBT
NO_BRANCH = RELATIVE_SLOT.mask


def named(name: str, *low_to_high: Field) -> Field:
    """Several fields as one, the first in the low bits."""
    return Field(tuple(s for f in low_to_high for s in f.slices), name)


IMM6 = named("EXT:SRC2", SRC2, EXT)
IMM14 = named("EXT:PRED:SRC2:SRC1", SRC1, SRC2, PRED, EXT)
IMM12 = named("PRED:SRC2:SRC1", SRC1, SRC2, PRED)
LOAD10 = named("EXT:PRED:SRC2", SRC2, PRED, EXT)
LOAD6 = named("EXT:SRC2", SRC2, EXT)
STORE10 = named("EXT:PRED:DST", DST, PRED, EXT)
STORE6 = named("EXT:DST", DST, EXT)
SR_SRC1 = named("EXT:SRC1", SRC1, EXT)
SR_DST = named("EXT:DST", DST, EXT)

BASE = Layout("base", 1, Bits(), doc="16-bit data operations; OT1 and OT0 choose which operand is a special register")
SPECIAL = Layout("special", 1, Bits(), doc="flow, I/O, predicates, memory, long arithmetic; OT1 = OT0 = 1")
