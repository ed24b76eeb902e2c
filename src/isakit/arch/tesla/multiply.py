"""Integer multiplication and multiplication with addition. Source: [000] 3.2 to 3.4; corrections in [tesla] 5.2."""

from __future__ import annotations

from itertools import product

from isakit.arch.tesla.forms import forms
from isakit.arch.tesla.integer import C0, add_up, saturate
from isakit.arch.tesla.operands import result_flags
from isakit.arch.tesla.tesla import tesla
from isakit.sem import Value
from isakit.spec import Ref, words


def _product(kind: str, high: bool, a: Value, b: Value, signed1: bool, signed2: bool) -> Value:
    """16x16 or 24x24 bit product, 32 bits of it; `high` takes bits 47:16 of a 48-bit product."""
    if kind == "16":
        x = a.sext(32) if signed1 else a.zext(32)
        y = b.sext(32) if signed2 else b.zext(32)
        return x * y
    x, y = a.trunc(24), b.trunc(24)
    product = (x.sext(48) if signed1 else x.zext(48)) * (y.sext(48) if signed1 else y.zext(48))
    return product.bits(16, 32) if high else product.trunc(32)


@tesla.insn(
    forms(
        """
        short  mul {dst} {sign1=sign:s} {src1:b16,s} {sign2=sign:t} {src2:b16}
               0100 .... . 0...... s...... t...... ..                                           | kind=16
        short  mul {dst} {wide:wh} {src1} {src2}
               0100 .... . 1...... w...... h...... ..                                           | kind=24
        imm    mul {dst} {sign1=sign:s} {src1:b16,s} {sign2=sign:t} {src2:b16}
               0100 .... . 0...... s...... t...... ..                                           | kind=16
        imm    mul {dst} {wide:wh} {src1} {src2}
               0100 .... . 1...... w...... h...... ..                                           | kind=24
        long   mul {cdst} {dst} {sign1=sign:s} {src1:b16,s} {sign2=sign:t} {src2:b16}
               0100 .... . ....... ....... ....... ..  000 ... .... . ....0st .. ..... .......  | kind=16
        long   mul {cdst} {dst} {wide:wh} {src1} {src2}
               0100 .... . ....... ....... ....... ..  000 ... .... . ....1wh .. ..... .......  | kind=24
        """,
        sign=words("u16", "s16"),
        wide=words("u24", "high u24", "s24", "high s24", values=list(product((False, True), repeat=2))),
    ),
    ref=Ref("000", "3.2 Integer short MUL, 3.3 Integer 24-bit MUL"),
    status="known",
    see=[Ref("tesla", "5.2")],
    notes=["the 16/24 bit selector (w0.22, long w1.16) is missing in [000]; [tesla] 13 no. 4"],
)
def mul(kind, src1, src2, dst, sign1=None, sign2=None, wide=None, cdst=None):
    """Multiply 16-bit or 24-bit integers: DST = SRC1 * SRC2, 32 bits.

    16-bit sources are signed or unsigned one by one; 24-bit sources are the low 24 bits of full registers. `high` takes
    bits 47:16 of the 48-bit product. Only Z and S are set.
    """
    s1, high = wide if wide else (sign1 == "s16", False)
    result = _product(kind, high, src1.read(), src2.read(), s1, sign2 == "s16")
    dst.write(result)
    if cdst:
        cdst.write(result_flags(result))


_SUMS = words("add", "sub", "subr")
_SHORT_KINDS = """
    K   sat  kind  type
    00  -    u16   u16
    01  -    s16   s16
    10  sat  s16   s16
    11  -    u24   b32
"""
_LONG_KINDS = """
    O  K    sat  kind      type
    0  000  -    u16       u16
    0  001  -    s16       s16
    0  010  sat  s16       s16
    0  011  -    u24       b32
    0  100  -    s24       b32
    0  101  sat  s24       b32
    0  110  -    high u24  b32
    0  111  -    high s24  b32
    1  000  sat  high s24  b32
    1  001  -    u24.1     b32
    1  010  -    u24.2     b32
    1  011  -    u24.3     b32
    1  100  -    u24.4     b32
    1  101  -    u24.5     b32
    1  110  -    u24.6     b32
    1  111  -    u24.7     b32
"""


@tesla.insn(
    [
        *forms(
            """
            short,imm  {name:o} {sat} {dst} (mul {kind} {src1:<type>} {src2:<type>}) {src3}
                       011o .... . o...... K...... K...... ..                                           | unless o=11
            """,
            _SHORT_KINDS,
            name=_SUMS,
        ),
        *forms(
            """
            long       {name:o} {sat} {cdst} {dst} (mul {kind} {src1:<type>} {src2:<type>}) {src3}
                       011O .... . ....... ....... ....... ..  KKK .oo .... . ....... .. ..... .......  | unless o=11
            """,
            _LONG_KINDS,
            name=_SUMS,
        ),
        *forms(
            """
            short,imm  {name} {sat} {dst} (mul {kind} {src1:<type>} {src2:<type>}) {src3} {carry=c0}
                       0111 .... . 1...... K...... K...... ..                                           | name=addc
            """,
            _SHORT_KINDS,
            c0=C0,
        ),
        *forms(
            """
            long       {name} {sat} {cdst} {dst} (mul {kind} {src1:<type>} {src2:<type>}) {src3} {carry=csrc}
                       011O .... . ....... ....... ....... ..  KKK .11 .... . ....... .. ..... .......  | name=addc
            """,
            _LONG_KINDS,
        ),
    ],
    ref=Ref("000", "3.4 Integer MUL-ADD"),
    status="known",
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
