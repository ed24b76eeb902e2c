"""Integer addition, absolute difference, comparison, minimum and maximum.

Source: [000] 3.1, 3.5 to 3.7; corrections in [tesla] 5.2.
"""

from __future__ import annotations

from typing import Any

from isakit.arch.tesla.forms import forms
from isakit.arch.tesla.operands import CARRY, fixed_condition, result_flags
from isakit.arch.tesla.tesla import tesla
from isakit.sem import Value, add_with_carry, const, select, u1
from isakit.spec import Ref, words

C0 = fixed_condition(0)


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
    forms(
        """
        short,imm  {name:o} {sat:s} {ty=width:w} {dst:w} {src1:w} {src2:w}
                   001o .... . o...... w...... s...... ..                                           | unless o=11
        long       {name:o} {ty=width:w} {sat:s} {cdst} {dst:w} {src1:w} {src2=src3:w}
                   001o .... . o...... ....... ....... ..  000 .sw .... . ....... .. ..... .......  | unless o=11
        short,imm  {name} {sat:s} {ty=width:w} {dst:w} {src1:w} {src2:w} {carry=c0}
                   0011 .... . 1...... w...... s...... ..                                           | name=addc
        long       {name} {ty=width:w} {sat:s} {cdst} {dst:w} {src1:w} {src2=src3:w} {carry=csrc}
                   0011 .... . 1...... ....... ....... ..  000 .sw .... . ....... .. ..... .......  | name=addc
        """,
        name=words("add", "sub", "subr"),
        c0=C0,
    ),
    ref=Ref("000", "3.1 Integer ADD family"),
    status="known",
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


@tesla.insn(
    forms(
        """
        short  sad {dst} {ty=type:sw} {src1:w,s} {src2:w} {src3}
               0101 .... . ....... w...... s...... ..
        long   sad {cdst} {dst} {ty=type:sw} {src1:w,s} {src2:w} {src3}
               0101 .... . ....... ....... ....... ..  000 .sw .... . ....... .. ..... .......
        """
    ),
    ref=Ref("000", "3.5 Integer SAD"),
    status="known",
    see=[Ref("tesla", "5.2")],
    notes=["16-bit sources add to a 32-bit value; [000] says 16-bit. [tesla] 13 no. 5"],
)
def sad(ty, src1, src2, src3, dst, cdst=None):
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


@tesla.insn(
    forms(
        """
        long  set {cdst} {dst:w} {cond:c} {ty=type:sw} {src1:w,s} {src2:w}
              0011 .... . ....... ....... ....... ..  011 .sw .... . ....ccc .. ..... .......
        """,
        cond=words("never", "l", "e", "le", "g", "lg", "ge", "always"),
    ),
    ref=Ref("000", "3.7 Integer SET"),
    status="known",
    see=[Ref("tesla", "5.2")],
)
def set_int(cond, ty, src1, src2, dst, cdst=None):
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
    forms(
        """
        long  {name} {ty=type:sw} {cdst} {dst:w} {src1:w,s} {src2:w}
              0011 .... . ....... ....... ....... ..  100 .sw .... . ....... .. ..... .......  | name=max
        long  {name} {ty=type:sw} {cdst} {dst:w} {src1:w,s} {src2:w}
              0011 .... . ....... ....... ....... ..  101 .sw .... . ....... .. ..... .......  | name=min
        """
    ),
    ref=Ref("000", "3.6 Integer MIN/MAX"),
    status="known",
    see=[Ref("tesla", "5.2")],
)
def min_max_int(name, ty, src1, src2, dst, cdst=None):
    """Take the smaller (min) or larger (max) of two integers."""
    a, b = src1.read(), src2.read()
    less = a.slt(b) if ty[0] == "s" else a.ult(b)
    result = select(less, a, b) if name == "min" else select(less, b, a)
    dst.write(result)
    if cdst:
        cdst.write(result_flags(result))
