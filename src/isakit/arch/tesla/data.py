"""Data movement: registers, condition codes, address registers, special registers.

Source: [000] 1 and 2, [003]; corrections in [tesla] 5.1.
"""

from __future__ import annotations

from typing import Any

from isakit.arch.tesla.fields import w1
from isakit.arch.tesla.forms import Imm, Long, Short, imm, long, short
from isakit.arch.tesla.operands import (
    COND,
    FCDST,
    LANES,
    LDST,
    LHDST,
    NOT_INCREMENTABLE,
    AddressRegister,
    areg,
    by_width,
    gpr,
    immediate,
    in_lanes,
    lsrc1,
    ssrc1,
    word,
)
from isakit.arch.tesla.requests import SPECIAL_REGISTER
from isakit.arch.tesla.tesla import tesla
from isakit.spec import Enum, Field, Flag, Ref, Refusal, Reg, Status, bits, choice, when, where
from isakit.spec import Imm as Number

WIDTHS = {0: "b16", 1: "b32"}
RDST = word(Long.dst)


@tesla.insn(
    [
        short(
            "mov {sfu} {ty} {dst} {src1}",
            {Short.op: 1},
            name="mov",
            sfu=Flag(bits(17), "sfu"),
            ty=Enum(Short.mod2, WIDTHS),
            dst=by_width(Short.mod2, lambda w: gpr(Short.dst, w)),
            src1=by_width(Short.mod2, ssrc1),
        ),
        imm(
            "mov {ty} {dst} {src1}",
            {Imm.op: 1},
            name="mov",
            ty=Enum(Imm.mod2, WIDTHS),
            dst=by_width(Imm.mod2, lambda w: gpr(Imm.dst7, w)),
            src1=by_width(Imm.mod2, immediate),
        ),
        long(
            "{lanes} mov {sfu} {ty} {dst} {src1}",
            {Long.op: 1, Long.sub: 0},
            name="mov",
            lanes=LANES,
            sfu=Flag(w1(25), "sfu"),
            ty=Enum(Long.m1, WIDTHS),
            dst=choice(when({Long.m1: 0}, LHDST), when({Long.m1: 1}, LDST)),
            src1=by_width(Long.m1, lsrc1),
        ),
    ],
    ref=Ref("000", "1. Normal MOV"),
    see=[Ref("003", "(h)mov"), Ref("tesla", "5.1")],
    notes=["`sfu` chooses the unit that does the move; it has no effect on the value (inferred)"],
    group="move",
)
def mov(name, ty, dst, src1, sfu=False, lanes=15):
    """Copy a half or full register, an s[] operand or an immediate.

    The long form can select lanes by their number modulo 4.
    """
    dst.write(src1.read(), in_lanes(lanes))


@tesla.insn(
    [long("mov {dst} {src}", {Long.op: 0, Long.sub: 1}, name="mov", dst=RDST, src=COND)],
    ref=Ref("000", "2.1. MOV from $c"),
    see=[Ref("tesla", "5.1")],
    group="move",
)
def mov_from_c(name, dst, src):
    """Read a condition code: the four flags in bits 3:0, zero above."""
    dst.write(src.read().zext(32))


@tesla.insn(
    [
        long(
            "mov {cdst} {src1}",
            {Long.op: 0, Long.sub: 5},
            name="mov",
            cdst=FCDST,
            src1=word(Long.src1),
            ignored=Long.cdst_en.mask,
        )
    ],
    ref=Ref("000", "2.2. MOV to $c"),
    see=[Ref("tesla", "5.1")],
    notes=["the $c write enable bit w1.6 is ignored"],
    group="move",
)
def mov_to_c(name, cdst, src1):
    """Write a condition code from the low four bits of a register."""
    cdst.write(src1.read().trunc(4))


def _crash(register: Field, increment: Field) -> list[Refusal]:
    """The post-increment flag does nothing here, but faults with the $a registers that cannot be incremented."""
    return [Refusal(where({register: n, increment: 1}), "ILLEGAL_POSTINCR") for n in NOT_INCREMENTABLE]


ASRC = areg(Long.areg)


@tesla.insn(
    [
        long(
            "mov {dst} {src}",
            {Long.op: 0, Long.sub: 2},
            name="mov",
            dst=RDST,
            src=ASRC,
            refusals=_crash(Long.areg, Long.postinc),
        )
    ],
    ref=Ref("000", "2.3. MOV from $a"),
    see=[Ref("tesla", "5.1")],
    group="move",
)
def mov_from_a(name, dst, src):
    """Read an address register: 16 bits, zero-extended."""
    dst.write(src.read().zext(32))


_ADST = bits(2, 4)
ADST = Reg(
    _ADST,
    ("0x0", "$a1", "$a2", "$a3", "$a4", "$a5", "$a6", "$a7"),
    AddressRegister,
    "an address register",
    aliases={"$a0": 0},
    file="a",
    width=16,
)


@tesla.insn(
    [
        long(
            "shl {adst} {src1} {count}",
            {Long.op: 0, Long.sub: 6},
            name="shl",
            adst=ADST,
            src1=lsrc1(32),
            count=Number(bits(16, 19), 32, label="a shift count"),
        )
    ],
    ref=Ref("000", "2.4. SHL to $a"),
    see=[Ref("tesla", "5.1")],
)
def shl_to_a(name, adst, src1, count):
    """Set an address register to the low 16 bits of a source shifted left.

    A write to $a0 has no effect; writing $a5 or $a6 is unknown and faults unless the machine is told to ignore it.
    """
    adst.write((src1.read() << count).trunc(16))


@tesla.insn(
    [
        long(
            "add {adst} {src} {offset}",
            {Long.op: 0xD, Long.sub: 1},
            name="add",
            adst=ADST,
            src=ASRC,
            offset=Number(Long.offset16, 16, wrap=True, label="an offset"),
            refusals=_crash(Long.areg, Long.postinc),
        )
    ],
    ref=Ref("000", "2.5. ADD from $a to $a"),
    see=[Ref("tesla", "5.1")],
)
def add_a(name, adst, src, offset):
    """Set an address register to another one plus a 16-bit constant, modulo 2**16.

    With $a0 as the source it loads the constant.
    """
    adst.write(src.read() + offset)


_SPECIAL = w1(14, 17)
_NAMES = {
    0: "$physid",
    1: "$clock",
    2: "$sr2",
    3: "$vstride",
    **{4 + i: f"$pm{i}" for i in range(4)},
    **{i: f"$sr{i}" for i in range(8, 16)},
}
_VALUES = {i: i for i in range(16)}
_ALIASES = {**{f"$sr{i}": i for i in range(16)}}


def _special_registers() -> Any:
    return choice(
        when({}, Enum(_SPECIAL, _NAMES | {8: "$sampleid"}, _VALUES, _ALIASES), needs="d3d10_1"),
        when({}, Enum(_SPECIAL, _NAMES, _VALUES, _ALIASES)),
    )


@tesla.insn(
    [long("mov {dst} {special}", {Long.op: 0, Long.sub: 3}, name="mov", dst=RDST, special=_special_registers())],
    ref=Ref("000", "2.6. MOV from sreg"),
    see=[Ref("tesla", "5.1")],
    status=Status.KNOWN,
    notes=["the number has 4 bits; [000] shows 3. [tesla] 13 no. 7"],
    group="move",
)
def mov_from_sr(name, dst, special):
    """Read a special register: $physid, $clock, performance counters, the sample number."""
    dst.write(SPECIAL_REGISTER(n=special))
