"""Bitwise operations and shifts on 32-bit registers or their low halves.

Source: [usse] 2.6.10; groups 50 to 70 of [004].
"""

from __future__ import annotations

from isakit.arch.usse.fields import layout
from isakit.arch.usse.forms import destination, forms, word_source
from isakit.arch.usse.usse import usse
from isakit.errors import NotModelled
from isakit.sem import Value, const
from isakit.spec import Choice, Enum, Flag, Form, Imm, Ref, choice, when

VBW = layout(
    "01@63:62 op1@61:59 pred3@58:56 skipinv@55 nosched@54 rptsel@53 sync@52 dext@51 end@50 s1ext@49 s2ext@48 "
    "rpt@47:44 s2inv@43 s2rot@42:38 immhi@37:36 op2@35 partial@34 dbank@33:32 s1bank@31:30 s2bank@29:28 dn@27:21 "
    "immmid@20:14 s1n@13:7 s2n@6:0 imm16@6:0 imm16@20:14 imm16@37:36"
)


def _source2() -> Choice:
    """A register, or the 16-bit immediate spread over three fields."""
    selector = VBW.s2bank + VBW.s2ext
    number = Imm(VBW.imm16, 32, label="a 16-bit number", prefix="#")
    return choice(when({selector: 6}, number), when({}, word_source(VBW, 2)))


ROTATIONS = {v: f"rol{v}" if v else "" for v in range(32)}


def _forms(rows: str) -> list[Form]:
    """The forms of operations: the fields that select them (op1 is the end of the opcode), their names."""
    return forms(
        VBW,
        "{name} {dst} {src1} {src2} {rotate} {invert}",
        rows,
        name="<op>.<ty>",
        op="<op>",
        ty="<ty>",
        early="<early>",
        dst=destination(VBW, double=False),
        src1=word_source(VBW, 1),
        src2=_source2(),
        rotate=Enum(VBW.s2rot, ROTATIONS, {v: v for v in ROTATIONS}, label="source 2 is not rotated"),
        invert=Flag(VBW.s2inv, "inv"),
    )


def _second(src2, rotate: int, invert: bool, width: int) -> Value:
    v = (src2 if isinstance(src2, Value) else src2.word()).trunc(width)
    n = rotate % width
    if n:
        v = (v << n) | (v >> (width - n))
    return ~v if invert else v


def _bitwise(op: str, a: Value, b: Value) -> Value:
    width = a.width
    n = (b & (width - 1)).resize(32)
    if op == "rol":
        return (a << n) | (a >> (const(width, 32) - n))
    return {
        "and": lambda: a & b,
        "or": lambda: a | b,
        "xor": lambda: a ^ b,
        "xor2": lambda: a ^ b,
        "shl": lambda: a << n,
        "shr": lambda: a >> n,
        "asr": lambda: a.sar(n),
    }[op]()


def _run(op: str, ty: str, dst, src1, src2, rotate: int, invert: bool) -> None:
    width = int(ty[1:])
    result = _bitwise(op, src1.word().trunc(width), _second(src2, rotate, invert, width))
    dst.write_word(result.zext(32))


@usse.insn(
    _forms(
        """
        op1  op2  partial  op   ty   early
        2    0    0        and  u32  and.u32
        2    0    1        and  u16  -
        2    1    0        or   u32  -
        2    1    1        or   u16  -
        3    0    0        xor  u32  xor.u32
        3    0    1        xor  u16  -
        4    0    0        shl  u32  shl.u32
        4    0    1        shl  u16  -
        5    0    0        shr  u32  shr.u32
        5    0    1        shr  u16  -
        5    1    0        asr  u32  -
        5    1    1        asr  u16  -
        """
    ),
    ref=Ref("usse", "2.6.10 VBW"),
    status="known",
    see=[Ref("004", "0x50000000 - 0x78000000")],
    notes=["[004] saw and, xor, shl and shr only: bit 35 is 0 in its words", "shift counts are taken modulo the width"],
)
def bitwise(name, op, ty, dst, src1, src2, rotate, invert):
    """Bitwise operation or shift: DST = SRC1 op SRC2. Source 2 is first rotated left (`rolN`), then inverted (`inv`).

    The u16 forms work on the low halves; the upper half of DST becomes 0. `or DST SRC #0x0` is the usual 32-bit move.
    """
    _run(op, ty, dst, src1, src2, rotate, invert)


@usse.insn(
    _forms(
        """
        op1  op2  partial  op    ty   early
        3    1    0        xor2  u32  -
        3    1    1        xor2  u16  -
        4    1    0        rol   u32  -
        4    1    1        rol   u16  -
        """
    ),
    ref=Ref("usse", "2.6.10 VBW"),
    status="inferred",
    notes=["xor2 is a second encoding of xor; rol is defined by its name only"],
)
def bitwise_inferred(name, op, ty, dst, src1, src2, rotate, invert):
    """Rotate left, and the second encoding of exclusive or."""
    _run(op, ty, dst, src1, src2, rotate, invert)


@usse.insn(
    _forms(
        """
        op1  op2  partial  op    ty   early
        6    0    0        rlp   u32  rlp.u32
        6    0    1        rlp   u16  -
        6    1    0        rlp2  u32  -
        6    1    1        rlp2  u16  -
        """
    ),
    ref=Ref("usse", "2.6.10 VBW"),
    see=[Ref("004", "0x70000000 - 0x78000000")],
    status="unknown",
    notes=["[004] has the name and nothing more; other decoders refuse it"],
)
def rlp(name, op, ty, dst, src1, src2, rotate, invert):
    """An operation whose meaning is not known. It shares the layout of the bitwise operations."""
    raise NotModelled(f"`{op}.{ty}`", "its meaning is not known")
