"""Data movement: registers, condition codes, address registers, special registers.

Source: [000] 1 and 2, [003]; corrections in [tesla] 5.1.
"""

from __future__ import annotations

from isakit.arch.tesla.forms import forms
from isakit.arch.tesla.operands import in_lanes, special_register
from isakit.arch.tesla.tesla import tesla
from isakit.spec import Ref, cases, flag, number


@tesla.insn(
    forms(
        """
        short  mov {sfu:f} {ty=width:w} {dst:w} {src1:w}
               0001 .... . .....f. w...... ....... ..
        imm    mov {ty=width:w} {dst=dst7:w} {src1=imm:w}
               0001 .... . ....... w...... ....... ..
        long   {lanes} mov {sfu:f} {ty=width:w} {dst:w} {src1:w}
               0001 .... . ....... ....... ....... ..  000 ..w f... . ....... .. ..... .......
        """,
        sfu=flag("sfu"),
    ),
    ref=Ref("000", "1. Normal MOV"),
    status="known",
    see=[Ref("003", "(h)mov"), Ref("tesla", "5.1")],
    notes=["`sfu` chooses the unit that does the move; it has no effect on the value (inferred)"],
    group="move",
)
def mov(ty, dst, src1, sfu=False, lanes=15):
    """Copy a half or full register, an s[] operand or an immediate.

    The long form can select lanes by their number modulo 4.
    """
    dst.write(src1.read(), in_lanes(lanes))


@tesla.insn(
    forms(
        """
        long  mov {dst=rd} {src=csrc}
              0000 .... . ....... ....... ....... ..  001 ... .... . ....... .. ..... .......
        """
    ),
    ref=Ref("000", "2.1. MOV from $c"),
    status="known",
    see=[Ref("tesla", "5.1")],
    group="move",
)
def mov_from_c(dst, src):
    """Read a condition code: the four flags in bits 3:0, zero above."""
    dst.write(src.read().zext(32))


@tesla.insn(
    forms(
        """
        long  mov {cdst=fcdst} {src1=r1}
              0000 .... . ....... ....... ....... ..  101 ... .... . ....... .. ..... -......
        """
    ),
    ref=Ref("000", "2.2. MOV to $c"),
    status="known",
    see=[Ref("tesla", "5.1")],
    notes=["the $c write enable bit w1.6 is ignored"],
    group="move",
)
def mov_to_c(cdst, src1):
    """Write a condition code from the low four bits of a register."""
    cdst.write(src1.read().trunc(4))


# The post-increment flag i does nothing in these, but faults with the $a registers that cannot be incremented.
@tesla.insn(
    forms(
        """
        long  mov {dst=rd} {src=areg:a}
              0000 aai. . ....... ....... ....... ..  010 ... .... . ....... .. ..... ....a..
              | refuse a=000,101,110 i=1 ILLEGAL_POSTINCR
        """
    ),
    ref=Ref("000", "2.3. MOV from $a"),
    status="known",
    see=[Ref("tesla", "5.1")],
    group="move",
)
def mov_from_a(dst, src):
    """Read an address register: 16 bits, zero-extended."""
    dst.write(src.read().zext(32))


@tesla.insn(
    forms(
        """
        long  shl {adst=areg:d} {src1} {count:n}
              0000 .... . ...nnnn ....... ....ddd ..  110 ... .... . ....... .. ..... .......
        """,
        count=number("a shift count"),
    ),
    ref=Ref("000", "2.4. SHL to $a"),
    status="known",
    see=[Ref("tesla", "5.1")],
)
def shl_to_a(adst, src1, count):
    """Set an address register to the low 16 bits of a source shifted left.

    A write to $a0 has no effect; writing $a5 or $a6 is unknown and faults unless the machine is told to ignore it.
    """
    adst.write((src1.read() << count).trunc(16))


@tesla.insn(
    forms(
        """
        long  add {adst=areg:d} {src=areg:a} {offset:n}
              1101 aain n nnnnnnn nnnnnnn ....ddd ..  001 ... .... . ....... .. ..... ....a..
              | refuse a=000,101,110 i=1 ILLEGAL_POSTINCR
        """,
        offset=number("an offset", 16, wrap=True),
    ),
    ref=Ref("000", "2.5. ADD from $a to $a"),
    status="known",
    see=[Ref("tesla", "5.1")],
)
def add_a(adst, src, offset):
    """Set an address register to another one plus a 16-bit constant, modulo 2**16.

    With $a0 as the source it loads the constant.
    """
    adst.write(src.read() + offset)


_FIRST = ("$physid", "$clock", "$sr2", "$vstride", *(f"$pm{n}" for n in range(4)))
_OTHERS = tuple(f"$sr{n}" for n in range(8, 16))


@tesla.insn(
    forms(
        """
        long  mov {dst=rd} {special}
              0000 .... . ....... ....... ....... ..  011 ... .... . ...nnnn .. ..... .......
        """,
        special=cases(
            {
                "| needs d3d10_1": lambda e: special_register(e.field("n"), (*_FIRST, "$sampleid", *_OTHERS[1:])),
                "": lambda e: special_register(e.field("n"), (*_FIRST, *_OTHERS)),
            }
        ),
    ),
    ref=Ref("000", "2.6. MOV from sreg"),
    see=[Ref("tesla", "5.1")],
    status="known",
    notes=["the number has 4 bits; [000] shows 3. [tesla] 13 no. 7"],
    group="move",
)
def mov_from_sr(dst, special):
    """Read a special register: $physid, $clock, performance counters, the sample number."""
    dst.write(special.read())
