"""Data operands of vµc: general and special registers, immediates.

Operands share fields, so what a text stands for (`tells`) is not always what selects its spelling: bits that the
assembler would write otherwise are left to the marker for unexplained bits. Source: [vuc] 2 "Operand encodings", 17.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from isakit.arch.vuc.access import GeneralRegister, SpecialRegisterAccess
from isakit.arch.vuc.fields import DST, IMM6, IMM12, IMM14, IMMF, OT0, OT1, SR_DST, SR_SRC1, SRC1, SRC2
from isakit.arch.vuc.registers import OLD_SPECIAL_NAMES, R_NAMES, special_names
from isakit.spec import Alternative, Choice, Field, Imm, Nothing, Part, Reg, Spellings, choice, spellings, when
from isakit.spec.parts import Binder

MARK = "#"
"""May stand in front of labels."""
_GENERAL = "$r0 .. $r15"


@cache
def general(f: Field, hint: str = _GENERAL) -> Reg:
    """$rN; $r0 is written as the number it reads."""
    return Reg(f, R_NAMES, GeneralRegister, numbers={0: 0}, width=16, hint=hint)


def _special(f: Field, variant: str) -> Reg:
    """Return a special register by the names of a variant, by number, or by an older name."""
    aliases = {f"$sr{n}": n for n in range(64)} | OLD_SPECIAL_NAMES
    names = special_names(frozenset({variant}))
    return Reg(f, names, SpecialRegisterAccess, aliases=aliases, file="sr", special=True, hint="")


@cache
def _general_or_special(f: Field, special: Field, selector: Field, other: Field, *, settled: bool = False) -> Choice:
    """$rN, or a special register (the same field and EXT) where of OT1 and OT0 only `selector` is 1.

    `settled`: no other operand fixes `other`, so a plain register does.
    """
    chosen = {selector: 1, other: 0}
    return choice(
        *[when(chosen, _special(special, variant), needs=variant) for variant in ("vp2", "vp3+")],
        when({}, general(f, f"{_GENERAL} | a special register"), tells={selector: 0} | ({other: 0} if settled else {})),
    )


DESTINATION = _general_or_special(DST, SR_DST, OT1, OT0)
SOURCE1 = _general_or_special(SRC1, SR_SRC1, OT0, OT1)
ONLY_SOURCE1 = _general_or_special(SRC1, SR_SRC1, OT0, OT1, settled=True)
"""Source 1 of an instruction that has no destination."""

_ZERO = {IMMF: 0, SRC2: 0}
"""The bits of the text `0x0`, which is $r0."""


def _register_or(*immediates: tuple[dict[Field, int], Imm], read: tuple[Alternative, ...] = ()) -> Spellings:
    """$rN, or one of some immediates, which the bits beside them select.

    An immediate 0 prints as the number that $r0 is written as.
    """
    alternatives = [when({IMMF: 0}, general(SRC2), says={IMMF: "a register"})]
    for selected, number in immediates:
        chosen = {IMMF: 1, **selected}
        for more, tells in (({number.field: 0}, _ZERO), ({}, {IMMF: 1})):
            alternatives.append(when(chosen | more, number, tells=tells, says={IMMF: "an immediate"}))

    def meaning(word: int, b: Binder) -> Any:
        if not IMMF.get(word):
            return GeneralRegister(b.param(SRC2))
        field = next(n.field for selected, n in immediates if all(f.get(word) == v for f, v in selected.items()))
        return b.param(field).zext(16)

    looked_at = [f for selected, _ in immediates for f in selected]
    return spellings(*alternatives, *read, meaning=meaning, static=[IMMF, *looked_at])


def _number(f: Field, accepted: str, advice: str = "") -> Imm:
    return Imm(f, mark=MARK, hint=f"an immediate {accepted}", advice=advice)


_SHORT = "0x0 .. 0x3f (0x0 .. 0xf beside a special register)", "; load others with mov"
_WIDE, _NARROW = _number(IMM6, *_SHORT), _number(SRC2, *_SHORT)
_BESIDE = ({OT0: 0, OT1: 0}, _WIDE), ({OT0: 0, OT1: 1}, _NARROW), ({OT0: 1, OT1: 0}, _NARROW)

SOURCE2: Part = _register_or(*_BESIDE)
"""$rN or an immediate: 6 bits, or 4 where EXT belongs to a special register."""
OPTIONAL_SOURCE2: Part = _register_or(*_BESIDE, read=(when(_ZERO, Nothing()),))
"""The same; left out, it means $r0."""
SPECIAL_SOURCE2: Part = _register_or(({}, _WIDE))
"""The same in special instructions, which have no special registers."""
_LONG = "0x0 .. 0x3fff (0x0 .. 0xfff into a special register)"
LONG_SOURCE: Part = _register_or(({OT1: 0}, _number(IMM14, _LONG)), ({OT1: 1}, _number(IMM12, _LONG)))
"""The source of mov: $rN, or an immediate of 14 bits (12 where EXT belongs to a special register)."""

BIT_NUMBER = Imm(SRC2, label="a bit number", meaning="bit {}")
"""The bit of $stat to wait for."""

__all__ = [
    "BIT_NUMBER",
    "DESTINATION",
    "LONG_SOURCE",
    "MARK",
    "ONLY_SOURCE1",
    "OPTIONAL_SOURCE2",
    "SOURCE1",
    "SOURCE2",
    "SPECIAL_SOURCE2",
    "general",
]
