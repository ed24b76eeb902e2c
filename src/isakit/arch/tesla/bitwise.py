"""Logic operations and shifts. Source: [000] 4; corrections in [tesla] 5.2."""

from __future__ import annotations

from isakit.arch.tesla.forms import forms
from isakit.arch.tesla.operands import result_flags
from isakit.arch.tesla.tesla import tesla
from isakit.sem import Value, const
from isakit.spec import Ref, cases, number, words


@tesla.insn(
    forms(
        """
        imm   {name:o} b32 {dst} {not1=not:n} {src1} {src2}
              1101 .... . n...... o...... o...... ..
        long  {name:o} {ty=width:w} {cdst} {dst:w} {not1=not:n} {src1:w} {not2=not:m} {src2:w}
              1101 .... . ....... ....... ....... ..  000 ..w .... . ...mnoo .. ..... .......
        """,
        name=words("and", "or", "xor", "mov2"),
    ),
    ref=Ref("000", "4.1 Bit operations"),
    status="known",
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


@tesla.insn(
    forms(
        """
        long  {name} {ty=width:w} {cdst} {dst:w} {src1:w} {count}
              0011 .... . nnnnnnn ....... ....... ..  110 ..w .... . i...... .. ..... .......  | name=shl
        long  {name} {ty=type:sw} {cdst} {dst:w} {src1:w,s} {count}
              0011 .... . nnnnnnn ....... ....... ..  111 .sw .... . i...... .. ..... .......  | name=shr
        """,
        count=cases({"i=1": number("a shift count", on="n"), "i=0": "src2:w"}),
    ),
    ref=Ref("000", "4.2 Bit shifts"),
    status="known",
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
