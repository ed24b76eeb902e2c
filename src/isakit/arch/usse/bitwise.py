"""Bitwise operations and shifts on 32-bit registers or their low halves.

Source: [usse] 2.6.10; groups 50 to 70 of [004].
"""

from __future__ import annotations

from isakit.arch.usse.forms import forms
from isakit.arch.usse.usse import usse
from isakit.errors import NotModelled
from isakit.sem import Value, const
from isakit.spec import Choice, Encoding, Form, Imm, Ref, choice, when, words


def _source2(e: Encoding) -> Choice:
    """Return a register, or the 16-bit immediate spread over three fields."""
    fields = e.shape.fields
    number = Imm(e.field("vu"), 32, label="a 16-bit number", prefix="#")
    return choice(when({fields["s2bank"] + fields["s2ext"]: 6}, number), when({}, e.operand("src2")))


_ROTATIONS = words("", *(f"rol{v}" for v in range(1, 32)), values=range(32), label="source 2 is not rotated")


def _forms(rows: str) -> list[Form]:
    """Return the forms of operations: the bits that select them (O is the end of the opcode), their names."""
    return forms(
        """
        bits  <op>.<ty> {dst} {src1} {src2=second} {rotate:r} {invert=flag:i,inv}
              01 OOO ... . . . . . . . . .... i rrrrr vv P H .. .. .. ....... vvvvvvv ....... uuuuuuu
              | op=<op> | ty=<ty> | fields r=s2rot i=s2inv
        """,
        rows,
        early="<early>",
        second=_source2,
        rotate=_ROTATIONS,
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
        O    P  H  op   ty   early
        010  0  0  and  u32  and.u32
        010  0  1  and  u16  -
        010  1  0  or   u32  -
        010  1  1  or   u16  -
        011  0  0  xor  u32  xor.u32
        011  0  1  xor  u16  -
        100  0  0  shl  u32  shl.u32
        100  0  1  shl  u16  -
        101  0  0  shr  u32  shr.u32
        101  0  1  shr  u16  -
        101  1  0  asr  u32  -
        101  1  1  asr  u16  -
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
        O    P  H  op    ty   early
        011  1  0  xor2  u32  -
        011  1  1  xor2  u16  -
        100  1  0  rol   u32  -
        100  1  1  rol   u16  -
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
        O    P  H  op    ty   early
        110  0  0  rlp   u32  rlp.u32
        110  0  1  rlp   u16  -
        110  1  0  rlp2  u32  -
        110  1  1  rlp2  u16  -
        """
    ),
    ref=Ref("usse", "2.6.10 VBW"),
    see=[Ref("004", "0x70000000 - 0x78000000")],
    status="unknown",
    notes=["[004] has the name and nothing more; other decoders refuse it"],
)
def rlp(name, op, ty, dst, src1, src2, rotate, invert):
    """Do what is not known. The operation shares the layout of the bitwise operations."""
    raise NotModelled(f"`{op}.{ty}`", "its meaning is not known")
