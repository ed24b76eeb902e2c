"""Integer multiplication and multiplication with addition. Source: [000] 3.2 to 3.4; corrections in [tesla] 5.2."""

from __future__ import annotations

from typing import Any

from isakit.arch.tesla.fields import w1
from isakit.arch.tesla.forms import Imm, Long, Short, imm, long, short
from isakit.arch.tesla.integer import (
    ADD_NAMES,
    C0,
    add_up,
    carry,
    saturate,
)
from isakit.arch.tesla.operands import (
    COND,
    LDST,
    MCDST,
    SDST,
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
from isakit.sem import Value
from isakit.spec import Enum, Ref, choice, when


def _product(kind: str, high: bool, a: Value, b: Value, signed1: bool, signed2: bool) -> Value:
    """16x16 or 24x24 bit product, 32 bits of it; `high` takes bits 47:16 of a 48-bit product."""
    if kind == "16":
        x = a.sext(32) if signed1 else a.zext(32)
        y = b.sext(32) if signed2 else b.zext(32)
        return x * y
    x, y = a.trunc(24), b.trunc(24)
    product = (x.sext(48) if signed1 else x.zext(48)) * (y.sext(48) if signed1 else y.zext(48))
    return product.bits(16, 32) if high else product.trunc(32)


_SIGN = {0: "u16", 1: "s16"}


def _mul_forms() -> list[Any]:
    out: list[Any] = []
    wide = {0: "u24", 1: "high u24", 2: "s24", 3: "high s24"}
    wide_values = {0: (False, False), 1: (False, True), 2: (True, False), 3: (True, True)}
    for layout, build, s1, s2 in ((Short, short, ssrc1, ssrc2), (Imm, imm, isrc1, immediate)):
        out.append(
            build(
                "mul {dst} {sign1} {src1} {sign2} {src2}",
                {layout.op: 4, layout.mod3: 0},
                name="mul",
                kind="16",
                dst=SDST,
                sign1=Enum(layout.mod2, _SIGN),
                src1=choice(when({layout.mod2: 0}, s1(16, "u")), when({layout.mod2: 1}, s1(16, "s"))),
                sign2=Enum(layout.mod1, _SIGN),
                src2=s2(16),
            )
        )
        out.append(
            build(
                "mul {dst} {wide} {src1} {src2}",
                {layout.op: 4, layout.mod3: 1},
                name="mul",
                kind="24",
                dst=SDST,
                wide=Enum(layout.mod1 + layout.mod2, wide, wide_values),
                src1=s1(32),
                src2=s2(32),
            )
        )
    m = w1(14), w1(15), w1(16)
    out.append(
        long(
            "mul {cdst} {dst} {sign1} {src1} {sign2} {src2}",
            {Long.op: 4, Long.sub: 0, m[2]: 0},
            name="mul",
            kind="16",
            cdst=MCDST,
            dst=LDST,
            sign1=Enum(m[1], _SIGN),
            src1=choice(when({m[1]: 0}, lsrc1(16, "u")), when({m[1]: 1}, lsrc1(16, "s"))),
            sign2=Enum(m[0], _SIGN),
            src2=lsrc2(16),
        )
    )
    out.append(
        long(
            "mul {cdst} {dst} {wide} {src1} {src2}",
            {Long.op: 4, Long.sub: 0, m[2]: 1},
            name="mul",
            kind="24",
            cdst=MCDST,
            dst=LDST,
            wide=Enum(m[0] + m[1], wide, wide_values),
            src1=lsrc1(32),
            src2=lsrc2(32),
        )
    )
    return out


@tesla.insn(
    _mul_forms(),
    ref=Ref("000", "3.2 Integer short MUL, 3.3 Integer 24-bit MUL"),
    see=[Ref("tesla", "5.2")],
    notes=["the 16/24 bit selector (w0.22, long w1.16) is missing in [000]; [tesla] 13 no. 4"],
)
def mul(name, kind, src1, src2, dst, sign1=None, sign2=None, wide=None, cdst=None):
    """Multiply 16-bit or 24-bit integers: DST = SRC1 * SRC2, 32 bits.

    16-bit sources are signed or unsigned one by one; 24-bit sources are the low 24 bits of full registers. `high` takes
    bits 47:16 of the 48-bit product. Only Z and S are set.
    """
    s1, high = wide if wide else (sign1 == "s16", False)
    result = _product(kind, high, src1.read(), src2.read(), s1, sign2 == "s16")
    dst.write(result)
    if cdst:
        cdst.write(result_flags(result))


MAD_KINDS = {0: "u16", 1: "s16", 2: "s16", 3: "u24", 4: "s24", 5: "s24", 6: "high u24", 7: "high s24"}
MAD_SATURATES = {2, 5}
OPS = {0: "add", 1: "sub", 2: "subr", 3: "addc"}


def _mad_forms() -> list[Any]:
    out: list[Any] = []
    for addc in (False, True):
        suffix = " {carry}" if addc else ""
        for code, kind in ((0, "u16"), (1, "s16"), (2, "s16"), (3, "u24")):
            w = 16 if "16" in kind else 32
            for layout, build, s1, s2 in ((Short, short, ssrc1, ssrc2), (Imm, imm, isrc1, immediate)):
                signs = {"u16": "u", "s16": "s"}.get(kind, "us")
                fixed = {layout.prim: 3, layout.mod1 + layout.mod2: code}
                op = layout.mod3 + layout.o2
                if addc:
                    fixed |= {op: 3}
                out.append(
                    build(
                        "{name} {sat} {dst} (mul {kind} {src1} {src2}) {src3}" + suffix,
                        fixed,
                        unless=[] if addc else [{op: 3}],
                        name="addc" if addc else Enum(op, ADD_NAMES),
                        sat="sat" if code == 2 else "",
                        kind=kind,
                        dst=SDST,
                        src1=s1(w, signs),
                        src2=s2(w),
                        src3=gpr(layout.dst, 32),
                        **carry(C0, addc),
                    )
                )
        for o1 in (0, 1):
            for sub in range(8):
                kind = MAD_KINDS[sub] if not o1 else "high s24" if sub == 0 else f"u24.{sub}"
                saturates = sub in MAD_SATURATES if not o1 else sub == 0
                w = 16 if "16" in kind else 32
                signs = {"u16": "u", "s16": "s"}.get(kind, "us")
                op = Long.m1 + Long.m2
                out.append(
                    long(
                        "{name} {sat} {cdst} {dst} (mul {kind} {src1} {src2}) {src3}" + suffix,
                        {Long.prim: 3, Long.o2: o1, Long.sub: sub} | ({op: 3} if addc else {}),
                        unless=[] if addc else [{op: 3}],
                        name="addc" if addc else Enum(op, ADD_NAMES),
                        sat="sat" if saturates else "",
                        kind=kind,
                        cdst=MCDST,
                        dst=LDST,
                        src1=lsrc1(w, signs),
                        src2=lsrc2(w),
                        src3=lsrc3(32),
                        **carry(COND, addc),
                    )
                )
    return out


@tesla.insn(
    _mad_forms(),
    ref=Ref("000", "3.4 Integer MUL-ADD"),
    see=[Ref("tesla", "5.2")],
    notes=[
        "7/1 to 7/7 behave as 6/3 (u24): [tesla] 13 no. 6; [000] guessed copies of 6/6. They are written u24.1 to "
        "u24.7 so that the words survive"
    ],
)
def mad(name, sat, kind, src1, src2, src3, dst, cdst=None, carry=None):
    """Multiply and add: DST = product + SRC3, product - SRC3 (sub), SRC3 - product (subr), with carry (addc).

    The product is formed as by `mul`; saturation and the flags belong to the 32-bit addition. Short and immediate forms
    add to their destination register.
    """
    signed = "s" in kind
    product = _product("16" if "16" in kind else "24", "high" in kind, src1.read(), src2.read(), signed, signed)
    result, carry_out, overflow = add_up(name, product, src3.read(), carry)
    if sat:
        result = saturate(result, overflow)
    dst.write(result)
    if cdst:
        cdst.write(result_flags(result, carry_out, overflow))
