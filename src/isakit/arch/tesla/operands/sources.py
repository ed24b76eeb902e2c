"""Sources of short, immediate and long instructions, and code addresses. Source: [tesla] 2.3, 2.4."""

from __future__ import annotations

from functools import cache
from typing import Any

from isakit.arch.tesla.fields import ControlWord, ImmWord, Long, Short
from isakit.arch.tesla.operands.memory import ATTRIBUTE_PROGRAMS, COMPUTE_ONLY, MODES, memory
from isakit.arch.tesla.operands.registers import gpr
from isakit.spec import (
    Choice,
    Field,
    Illegal,
    Part,
    Spellings,
    choice,
    when,
)
from isakit.spec import Imm as Number


@cache
def _shared(layout: Any, width: int, signs: str, areg_field: Field) -> list[Any]:
    """Return the s[] alternatives of source 1. `signs`: the 16-bit modes of a half operand ("us", "u", "s", or "8")."""
    out: list[Any] = []
    on = {layout.src1_s: 1}
    for mode, (name, (size, sext)) in enumerate(MODES.items()):
        part: Part = memory("s", layout.soff, size, size, width, name, sext, None, areg_field, layout.postinc)
        if width == 16 and name == "b32":
            part = Illegal("ILLEGAL_MEMORY_SIZE")
        elif signs == "8" and name != "u8":
            part = Illegal("ILLEGAL_MEMORY_BYTE")
        elif width == 16 and ((name == "s16" and "s" not in signs) or (name == "u16" and "u" not in signs)):
            part = Illegal("ILLEGAL_MEMORY_SIGN")
        out.append(when(on | {layout.smode: mode}, part, needs=COMPUTE_ONLY))
    return out


@cache
def lsrc1(width: int = 32, signs: str = "us", strict: bool = True) -> Choice:
    """Long source 1: register, s[] (compute), a[] (vertex, geometry) or p[] (geometry). Source: [tesla] 2.4.

    Both c[] selectors set mean p[]; outside geometry programs that is taken as illegal, except (not `strict`) for
    instructions without c[] operands, which were seen to ignore the selectors.
    """
    both = {Long.src2_c: 1, Long.src3_c: 1}
    primitive = memory("p", Long.src1, 4, 4, width, address=Long.areg)
    return choice(
        when(both, primitive, needs="geometry"),
        *([when(both, Illegal())] if strict else []),
        *[a for a in _shared(Long, width, signs, Long.areg)],
        when({Long.src1_s: 1}, memory("a", Long.src1, 4, 4, width), needs=ATTRIBUTE_PROGRAMS),
        when({Long.src1_s: 1}, Illegal()),
        when({Long.src1_s: 0}, gpr(Long.src1, width)),
    )


@cache
def lonly1(width: int = 32, signs: str = "us") -> Choice:
    """Source 1 of instructions that never have c[] operands."""
    return lsrc1(width, signs, strict=False)


def _lconst(f: Field, width: int, indirect: bool) -> Spellings:
    size = width // 8
    return memory(
        "c",
        f,
        size,
        size,
        width,
        bank=Long.cspace,
        address=Long.areg if indirect else None,
        increment=Long.postinc if indirect else None,
    )


@cache
def lsrc2(width: int = 32) -> Choice:
    """Long source 2: register or c[]. Source: [tesla] 2.4."""
    return _lsrc23(Long.src2, Long.src2_c, Long.src3_c, width)


@cache
def lsrc3(width: int = 32) -> Choice:
    """Long source 3: register or c[]."""
    return _lsrc23(Long.src3, Long.src3_c, Long.src2_c, width)


@cache
def _lsrc23(f: Field, mine: Field, other: Field, width: int) -> Choice:
    register = gpr(f, width)
    return choice(
        when({mine: 0}, register),
        when({mine: 1, other: 0, Long.src1_s: 0}, _lconst(f, width, True)),
        when({mine: 1, other: 0, Long.src1_s: 1}, _lconst(f, width, False), needs=COMPUTE_ONLY),
        when({mine: 1, other: 0, Long.src1_s: 1}, _lconst(f, width, True)),
        when({mine: 1, other: 1, Long.src1_s: 0}, _lconst(f, width, False), needs="geometry"),
        when({mine: 1, other: 1, Long.src1_s: 1}, register, needs="geometry"),
        when({mine: 1, other: 1}, Illegal()),
    )


@cache
def ssrc1(width: int = 32, signs: str = "us", layout: Any = Short) -> Choice:
    """Short or immediate source 1. Source: [tesla] 2.3."""
    register = gpr(layout.src1, width)
    primitive = []
    if layout is Short:
        primitive = [
            when(
                {Short.src1_s: 1, Short.src2_c: 1},
                memory("p", Short.src1, 4, 4, width, address=Short.areg),
                needs="geometry",
            ),
            when({Short.src1_s: 1, Short.src2_c: 1}, Illegal()),
        ]
        attribute = when({Short.src1_s: 1}, memory("a", Short.src1, 4, 4, width), needs=ATTRIBUTE_PROGRAMS)
    else:
        attribute = when(
            {layout.src1_s: 1}, memory("p", layout.src1, 4, 4, width, address=layout.areg), needs="geometry"
        )
    return choice(
        *primitive,
        *_shared(layout, width, signs, layout.areg),
        attribute,
        when({layout.src1_s: 1}, Illegal()),
        when({layout.src1_s: 0}, register),
    )


@cache
def isrc1(width: int = 32, signs: str = "us") -> Choice:
    """Source 1 of the immediate form."""
    return ssrc1(width, signs, ImmWord)


@cache
def ssrc2(width: int = 32) -> Choice:
    """Short source 2: register, or c0[] / c1[]."""
    size = width // 8
    const_part = memory(
        "c", Short.coff, size, size, width, bank=Short.cspace, address=Short.areg, increment=Short.postinc
    )
    return choice(
        when({Short.src2_c: 0}, gpr(Short.src2, width)),
        when({Short.src2_c: 1, Short.src1_s: 0}, const_part),
        when({Short.src2_c: 1, Short.src1_s: 1}, gpr(Short.src2, width)),
    )


@cache
def immediate(width: int = 32) -> Number:
    """Return the 32-bit immediate; 16-bit operations use its low half. Accepts negative numbers and f32 literals."""
    return Number(ImmWord.imm, width, wrap=True, single=width == 32, label="an immediate")


TARGET = Number(ControlWord.target, 24, scale=4, label="a code address", code_address=True)
