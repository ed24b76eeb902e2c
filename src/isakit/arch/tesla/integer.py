"""Integer instructions: add family, multiply, multiply-add, absolute difference, comparison, logic, shifts.

Source: [000] 3 and 4; corrections in [tesla] 5.2.
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
    FixedCondition,
    by_width,
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
from isakit.spec import Imm as Number

C0 = FixedCondition(0)
WIDTHS = {0: "b16", 1: "b32"}


def _destination(selector: Any) -> Choice:
    return choice(when({selector: 0}, LHDST), when({selector: 1}, LDST))


def _short_dst(selector: Any) -> Choice:
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
                    dst=_short_dst(layout.mod2),
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
                dst=_destination(Long.m1),
                src1=by_width(Long.m1, lsrc1),
                src2=by_width(Long.m1, lsrc3),
                **carry(COND, addc),
            )
        )
    return out


def _sum(name: str, a: Value, b: Value, carry: Any) -> tuple[Value, Value, Value]:
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


def _saturate(result: Value, overflow: Value) -> Value:
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
    result, carry_out, overflow = _sum(name, src1.read(), src2.read(), carry)
    if sat:
        result = _saturate(result, overflow)
    dst.write(result)
    if cdst:
        cdst.write(result_flags(result, carry_out, overflow))


# --- multiplication --------------------------------------------------------------------------------------------------


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
    result, carry_out, overflow = _sum(name, product, src3.read(), carry)
    if sat:
        result = _saturate(result, overflow)
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
    result, carry_out, overflow = _sum("add", difference, src3.read(), None)
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
            dst=_destination(Long.m1),
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
            dst=_destination(Long.m1),
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


# --- logic and shifts -------------------------------------------------------------------------------------------------

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
            dst=_destination(Long.m1),
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
                dst=_destination(Long.m1),
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
