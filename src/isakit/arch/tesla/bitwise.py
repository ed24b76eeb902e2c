"""Logic operations and shifts. Source: [000] 4; corrections in [tesla] 5.2."""

from __future__ import annotations

from typing import Any

from isakit.arch.tesla.fields import w1
from isakit.arch.tesla.forms import Imm, Long, imm, long
from isakit.arch.tesla.integer import (
    TYPES,
    WIDTHS,
    destination,
    typed_src1,
)
from isakit.arch.tesla.operands import (
    MCDST,
    SDST,
    by_width,
    immediate,
    isrc1,
    lsrc1,
    lsrc2,
    result_flags,
)
from isakit.arch.tesla.tesla import tesla
from isakit.sem import Value, const
from isakit.spec import Enum, Flag, Ref, choice, when
from isakit.spec import Imm as Number

LOGIC = {0: "and", 1: "or", 2: "xor", 3: "mov2"}


@tesla.insn(
    [
        imm(
            "{name} b32 {dst} {not1} {src1} {src2}",
            {Imm.op: 0xD},
            name=Enum(Imm.mod1 + Imm.mod2, LOGIC),
            dst=SDST,
            not1=Flag(Imm.mod3, "not"),
            src1=isrc1(32),
            src2=immediate(32),
        ),
        long(
            "{name} {ty} {cdst} {dst} {not1} {src1} {not2} {src2}",
            {Long.op: 0xD, Long.sub: 0},
            name=Enum(w1(14, 15), LOGIC),
            ty=Enum(Long.m1, WIDTHS),
            cdst=MCDST,
            dst=destination(Long.m1),
            not1=Flag(w1(16), "not"),
            src1=by_width(Long.m1, lsrc1),
            not2=Flag(w1(17), "not"),
            src2=by_width(Long.m1, lsrc2),
        ),
    ],
    ref=Ref("000", "4.1 Bit operations"),
    see=[Ref("tesla", "5.2")],
)
def logic(name, src1, src2, dst, not1, not2=False, ty="b32", cdst=None):
    """Bitwise and, or, xor, or the second source alone (mov2); either source may be complemented first."""
    a, b = src1.read(), src2.read()
    a = ~a if not1 else a
    b = ~b if not2 else b
    result = {"and": a & b, "or": a | b, "xor": a ^ b, "mov2": b}[name]
    dst.write(result)
    if cdst:
        cdst.write(result_flags(result))


def _shift_forms() -> list[Any]:
    by_count = w1(20)
    out: list[Any] = []
    for sub, name, types in ((6, "shl", {0: "b16", 1: "b32", 2: "b16", 3: "b32"}), (7, "shr", TYPES)):
        ty = Enum(Long.m1 + Long.m2, types) if name == "shr" else Enum(Long.m1, WIDTHS)
        count = choice(
            when({by_count: 1}, Number(Long.src2, 32, label="a shift count")),
            when({by_count: 0}, by_width(Long.m1, lsrc2)),
        )
        source = typed_src1(Long.m1, Long.m2, lsrc1) if name == "shr" else by_width(Long.m1, lsrc1)
        out.append(
            long(
                "{name} {ty} {cdst} {dst} {src1} {count}",
                {Long.op: 3, Long.sub: sub},
                name=name,
                ty=ty,
                cdst=MCDST,
                dst=destination(Long.m1),
                src1=source,
                count=count,
            )
        )
    return out


@tesla.insn(
    _shift_forms(),
    ref=Ref("000", "4.2 Bit shifts"),
    see=[Ref("tesla", "5.2")],
    notes=["the immediate count flag is w1.20; [000] prints 0x00010000. [tesla] 13 no. 3"],
)
def shift(name, ty, src1, count, dst, cdst=None):
    """Shift left (shl) or right (shr: u types fill with 0, s types with the sign).

    The count is unsigned and not reduced.
    C is the last bit shifted out for counts of at least 1 and less than the width, else 0. O is set when the count is 1
    and the sign changed.
    """
    a = src1.read()
    w = a.width
    n = count if isinstance(count, Value) else count.read()
    in_range = n.uge(1) & n.ult(w)
    if name == "shl":
        result = a << n
        out = (a >> (const(w, n.width) - n)).bit(0)
    else:
        result = a.sar(n) if ty[0] == "s" else a >> n
        out = (a >> (n - 1)).bit(0)
    dst.write(result)
    if cdst:
        one = n == 1
        cdst.write(result_flags(result, in_range & out, one & (a.sign != result.sign)))
