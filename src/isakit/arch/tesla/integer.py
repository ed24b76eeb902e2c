"""Integer addition, absolute difference, comparison, minimum and maximum.

Source: [000] 3.1, 3.5 to 3.7; corrections in [tesla] 5.2.
"""

from __future__ import annotations

from typing import Any

from isakit.arch.tesla.fields import w1
from isakit.arch.tesla.forms import Imm, Long, Short, imm, long, short
from isakit.arch.tesla.operands import (
    CARRY,
    COND,
    LDST,
    LHDST,
    MCDST,
    SDST,
    by_width,
    fixed_condition,
    gpr,
    immediate,
    isrc1,
    lsrc1,
    lsrc2,
    lsrc3,
    result_flags,
    ssrc1,
    ssrc2,
)
from isakit.arch.tesla.tesla import tesla
from isakit.sem import Value, add_with_carry, const, select, u1
from isakit.spec import Choice, Enum, Flag, Ref, choice, when

C0 = fixed_condition(0)
WIDTHS = {0: "b16", 1: "b32"}


def destination(selector: Any) -> Choice:
    """The long destination of the width a bit selects."""
    return choice(when({selector: 0}, LHDST), when({selector: 1}, LDST))


def short_destination(selector: Any) -> Choice:
    """The short destination of the width a bit selects."""
    return by_width(selector, lambda w: gpr(Short.dst, w))


def carry(condition: Any, wanted: bool) -> dict[str, Any]:
    """The condition operand, which only `addc` has."""
    return {"carry": condition} if wanted else {}


ADD_NAMES = {0: "add", 1: "sub", 2: "subr"}


def _add_forms() -> list[Any]:
    out: list[Any] = []
    for addc in (False, True):
        tail = " {carry}" if addc else ""

        def names(o1: Any, o2: Any) -> Enum:
            return Enum(o1 + o2, ADD_NAMES)

        for layout, build, src1, src2 in (
            (Short, short, lambda w: ssrc1(w), lambda w: ssrc2(w)),
            (Imm, imm, lambda w: isrc1(w), lambda w: immediate(w)),
        ):
            fixed = {layout.prim: 1} | ({layout.mod3: 1, layout.o2: 1} if addc else {})
            extra = carry(C0, addc)
            out.append(
                build(
                    "{name} {sat} {ty} {dst} {src1} {src2}" + tail,
                    fixed,
                    unless=[] if addc else [{layout.mod3: 1, layout.o2: 1}],
                    name="addc" if addc else names(layout.mod3, layout.o2),
                    sat=Flag(layout.mod1, "sat"),
                    ty=Enum(layout.mod2, WIDTHS),
                    dst=short_destination(layout.mod2),
                    src1=by_width(layout.mod2, src1),
                    src2=by_width(layout.mod2, src2),
                    **extra,
                )
            )
        out.append(
            long(
                "{name} {ty} {sat} {cdst} {dst} {src1} {src2}" + tail,
                {Long.prim: 1, Long.sub: 0} | ({Long.o1: 1, Long.o2: 1} if addc else {}),
                unless=[] if addc else [{Long.o1: 1, Long.o2: 1}],
                name="addc" if addc else names(Long.o1, Long.o2),
                sat=Flag(Long.m2, "sat"),
                ty=Enum(Long.m1, WIDTHS),
                cdst=MCDST,
                dst=destination(Long.m1),
                src1=by_width(Long.m1, lsrc1),
                src2=by_width(Long.m1, lsrc3),
                **carry(COND, addc),
            )
        )
    return out


def add_up(name: str, a: Value, b: Value, carry: Any) -> tuple[Value, Value, Value]:
    """(sum, carry out, signed overflow) of the four add operations."""
    cin = u1(0)
    if name == "sub":
        b, cin = ~b, u1(1)
    if name == "subr":
        a, cin = ~a, u1(1)
    if name == "addc":
        cin = carry.read().bit(CARRY)
    result, carry_out = add_with_carry(a, b, cin)
    return result, carry_out, (a.sign == b.sign) & (a.sign != result.sign)


def saturate(result: Value, overflow: Value) -> Value:
    """Clamp an overflowed sum: the wrapped sign is the wrong one."""
    return select(overflow, select(result.sign, result.smax, result.smin), result)


@tesla.insn(
    _add_forms(),
    ref=Ref("000", "3.1 Integer ADD family"),
    see=[Ref("tesla", "5.2")],
    notes=["the carry of sub and subr means: no borrow"],
)
def add(name, sat, ty, src1, src2, dst, cdst=None, carry=None):
    """Add or subtract integers: DST = SRC1 + SRC2, SRC1 - SRC2 (sub), SRC2 - SRC1 (subr) or SRC1 + SRC2 + carry (addc).

    With `sat` an overflowing result is clamped to the largest or smallest signed number. Z and S of the condition code
    describe the written result, C and O the plain sum. Short and immediate forms never write a condition code.
    """
    result, carry_out, overflow = add_up(name, src1.read(), src2.read(), carry)
    if sat:
        result = saturate(result, overflow)
    dst.write(result)
    if cdst:
        cdst.write(result_flags(result, carry_out, overflow))


TYPES = {0: "u16", 1: "u32", 2: "s16", 3: "s32"}


def typed_src1(width_bit: Any, sign_bit: Any, make: Any) -> Choice:
    """Source 1 whose half register forms accept only s[] modes of the right sign."""
    return choice(
        when({width_bit: 1}, make(32)),
        when({width_bit: 0, sign_bit: 0}, make(16, "u")),
        when({width_bit: 0, sign_bit: 1}, make(16, "s")),
    )


@tesla.insn(
    [
        short(
            "sad {dst} {ty} {src1} {src2} {src3}",
            {Short.op: 5},
            name="sad",
            dst=SDST,
            ty=Enum(Short.mod2 + Short.mod1, TYPES),
            src1=typed_src1(Short.mod2, Short.mod1, ssrc1),
            src2=by_width(Short.mod2, ssrc2),
            src3=gpr(Short.dst, 32),
        ),
        long(
            "sad {cdst} {dst} {ty} {src1} {src2} {src3}",
            {Long.op: 5, Long.sub: 0},
            name="sad",
            cdst=MCDST,
            dst=LDST,
            ty=Enum(Long.m1 + Long.m2, TYPES),
            src1=typed_src1(Long.m1, Long.m2, lsrc1),
            src2=by_width(Long.m1, lsrc2),
            src3=lsrc3(32),
        ),
    ],
    ref=Ref("000", "3.5 Integer SAD"),
    see=[Ref("tesla", "5.2")],
    notes=["16-bit sources add to a 32-bit value; [000] says 16-bit. [tesla] 13 no. 5"],
)
def sad(name, ty, src1, src2, src3, dst, cdst=None):
    """Sum of absolute difference: DST = |SRC1 - SRC2| + SRC3. Sources are 16 or 32 bits wide, the sum has 32 bits.

    The flags are those of the 32-bit addition.
    """
    a, b = src1.read(), src2.read()
    less = a.slt(b) if ty[0] == "s" else a.ult(b)
    difference = select(less, b - a, a - b).zext(32)
    result, carry_out, overflow = add_up("add", difference, src3.read(), None)
    dst.write(result)
    if cdst:
        cdst.write(result_flags(result, carry_out, overflow))


def _lge(width: int) -> dict[int, str]:
    names = ["never", "l", "e", "le", "g", "lg", "ge", "always"]
    return dict(enumerate(names[:width]))


@tesla.insn(
    [
        long(
            "set {cdst} {dst} {cond} {ty} {src1} {src2}",
            {Long.op: 3, Long.sub: 3},
            name="set",
            cdst=MCDST,
            dst=destination(Long.m1),
            cond=Enum(w1(14, 16), _lge(8)),
            ty=Enum(Long.m1 + Long.m2, TYPES),
            src1=typed_src1(Long.m1, Long.m2, lsrc1),
            src2=by_width(Long.m1, lsrc2),
        )
    ],
    ref=Ref("000", "3.7 Integer SET"),
    see=[Ref("tesla", "5.2")],
)
def set_int(name, cond, ty, src1, src2, dst, cdst=None):
    """Compare integers: DST = all ones where the condition (any of less, equal, greater) holds, else 0."""
    a, b = src1.read(), src2.read()
    less = a.slt(b) if ty[0] == "s" else a.ult(b)
    equal = a == b
    true = {
        "never": u1(0),
        "l": less,
        "e": equal,
        "le": less | equal,
        "g": ~(less | equal),
        "lg": ~equal,
        "ge": ~less,
        "always": u1(1),
    }[cond]
    result = select(true, const(-1, a.width), const(0, a.width))
    dst.write(result)
    if cdst:
        cdst.write(result_flags(result))


@tesla.insn(
    [
        long(
            "{name} {ty} {cdst} {dst} {src1} {src2}",
            {Long.op: 3, Long.sub: sub},
            name=name,
            cdst=MCDST,
            dst=destination(Long.m1),
            ty=Enum(Long.m1 + Long.m2, TYPES),
            src1=typed_src1(Long.m1, Long.m2, lsrc1),
            src2=by_width(Long.m1, lsrc2),
        )
        for sub, name in ((4, "max"), (5, "min"))
    ],
    ref=Ref("000", "3.6 Integer MIN/MAX"),
    see=[Ref("tesla", "5.2")],
)
def min_max_int(name, ty, src1, src2, dst, cdst=None):
    """The smaller (min) or larger (max) of two integers."""
    a, b = src1.read(), src2.read()
    less = a.slt(b) if ty[0] == "s" else a.ult(b)
    result = select(less, a, b) if name == "min" else select(less, b, a)
    dst.write(result)
    if cdst:
        cdst.write(result_flags(result))
