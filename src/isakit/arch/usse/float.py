"""Floating point instructions with one operation: multiply-add, the two-source family, dot products, scalar functions.

Source: [usse] 2.6.1 to 2.6.5; groups 00 to 18 and 30 of [004].
"""

from __future__ import annotations

from typing import Any

from isakit.arch.usse import arithmetic as fp
from isakit.arch.usse.forms import floats, forms, mnemonics
from isakit.arch.usse.requests import QUAD
from isakit.arch.usse.usse import usse
from isakit.sem import Value
from isakit.spec import Encoding, Enum, Form, Part, Ref, bits, choice, when, words


@usse.insn(
    forms(
        """
        mad2  vmad2.<ty> {dst=floats:<ty>,m,<ty>} {src0=f0:<ty>,mad2_0,x,-,a} {src1=f1:<ty>,mad2_1,y,o,b}
              {src2=f2:<ty>,mad2_2,z,p,c}
              00000 F .. . . x . . a . . zzz y . mmmm b o c p . .. .. .. ...... yy xx ...... ...... ......
              | fields m=mask x=s0swz a=s0abs y=s1swz o=s1neg b=s1abs z=s2swz p=s2neg c=s2abs
        """,
        "F  ty\n0  f32\n1  f16",
        early="mad.<ty>",
        described="F",
    ),
    ref=Ref("usse", "2.6.1 VMAD2"),
    status="known",
    see=[Ref("004", "0x00000000 - 0x08000000")],
    notes=[
        "predicate 2 is !p0 as [004] says; another decoder reads p1",
        "whether the hardware rounds the product is not known: it is not rounded here",
    ],
)
def vmad2(name, dst, src0, src1, src2):
    """Multiply and add: DST = SRC0 * SRC1 + SRC2 in each channel of the mask.

    An f16 destination outside the internal registers has two mask bits only, for x and y and for z and w; an f32
    destination there has x and y.
    """
    dst.write({k: fp.mad(src0.channel(k), src1.channel(k), src2.channel(k)) for k in dst.written})


# --- two sources -----------------------------------------------------------------------------------------------------
def _nmad(operations: str) -> list[Form]:
    """Return the forms of some operations: the bits of each, its name, and its name on the early page."""
    return forms(
        """
        two  v<does>.<ty> {dst=floats:<ty>,m} {src1=f1:<ty>,codes4,y,o,b} {src2=f2:<ty>,v4,z,-,c}
             000 TT ... . yy . . y . . zzzz . mmmm b o c yy .. .. .. ...... yyyyyyy OOO ...... ......
             | does=<does> | fields m=mask y=s1swz o=s1neg b=s1abs z=s2swz c=s2abs
        """,
        "T   ty\n01  f32\n10  f16",
        operations,
        early="<early>",
    )


@usse.insn(
    _nmad(
        """
        O    does  early
        000  mul   mul.<ty>
        001  add   -
        010  frc   -
        101  min   -
        110  max   -
        111  dp    -
        """
    ),
    ref=Ref("usse", "2.6.2 V32NMAD, V16NMAD"),
    status="known",
    see=[Ref("004", "0x08000000 - 0x18000000")],
    notes=["[004] only saw the multiplication, which is operation 0"],
)
def vector(name, does, dst, src1, src2):
    """Two-source arithmetic in each channel of the mask: mul, add, min, max, frc, dp.

    frc is SRC1 - floor(SRC2); dp is the dot product of all four channels, written to every channel of the mask.
    """
    if does == "dp":
        total = fp.dot([src1.channel(k) for k in range(4)], [src2.channel(k) for k in range(4)])
        dst.write(dict.fromkeys(dst.written, total))
        return
    function = {"mul": fp.mul, "add": fp.add, "frc": fp.subtract_floor, "min": fp.minimum, "max": fp.maximum}[does]
    dst.write({k: function(src1.channel(k), src2.channel(k)) for k in dst.written})


@usse.insn(
    _nmad(
        """
        O    does  early
        011  dsx   -
        100  dsy   -
        """
    ),
    ref=Ref("usse", "2.6.2 V32NMAD, V16NMAD"),
    status="inferred",
    notes=[
        "the sign and the pairing of the pixels are inferred: right minus left, lower minus upper, the same "
        "in both pixels of a pair"
    ],
)
def derivative(name, does, dst, src1, src2):
    """Compute the derivative of SRC1 across the quad of pixels, in x (dsx) or y (dsy); SRC2 is not used."""
    dst.write({k: quad_derivative(src1.channel(k), does) for k in dst.written})


def quad_derivative(value: Value, op: str) -> Value:
    """Difference to the neighbour in a quad (lanes 4n to 4n+3: upper left, upper right, lower left, lower right)."""
    step = 1 if op == "dsx" else 2
    here = QUAD(value, without=step)
    there = QUAD(value, with_=step)
    return fp.sub(there, here)


# --- multiply-add and dot product with internal registers ------------------------------------------------------------
MODES = ("", "rpt_internal", "rpt_both", "rpt_slmsi")
MODE_VALUES = ("external", "internal", "both", "slmsi")


_MODE = words(*MODES, values=MODE_VALUES, label="repeats move the other registers")


@usse.insn(
    forms(
        """
        internal  <name> {dst=floats:f32,m} {src0=internal0:g,<letters>,x,n,a} {src1=f1:f32,<letters>,y,o,b}
                  {src2=internal2:h,<letters>,z,p,c} {rptmode:r}
                  00011 ... . z 1 V . . . rr a .. . mmmm o b p c x .. .. gg ...... xxxx zzzz hh n y yyyy ......
                  | fields m=mask g=g0n x=g0swz n=g0neg a=g0abs y=s1swz o=s1neg b=s1abs h=g1n z=g1swz p=g1neg c=g1abs
                  | control rptmode
        """,
        "V  name       letters\n1  vmad4.f32  v4ext\n0  vmad3.f32  v3ext",
        early="mad.f32",
        base=0,
        rptmode=_MODE,
    ),
    ref=Ref("usse", "2.6.3 VMAD3/4"),
    status="known",
    see=[Ref("004", "0x18000000 - 0x20000000")],
)
def vmad(name, dst, src0, src1, src2):
    """Multiply and add with internal registers: DST = SRC0 * SRC1 + SRC2 in each channel of the mask.

    The 3-channel form has swizzles of three channels; channel w reads x.
    """
    dst.write({k: fp.mad(src0.channel(k), src1.channel(k), src2.channel(k)) for k in dst.written})


def _three_letters(e: Encoding) -> Part:
    """Return source 1 of the 3-channel form: three letters, four where the channel it does not have is not w."""

    def letters(names: str, *fields: str) -> Part:
        return floats(1)(e, "f32", names, *fields, "o", "b")

    return choice(when({e.field("u"): 3}, letters("codes3", "y")), when({}, letters("codes4", "uy")))


def _vdp(channels: int, clip: int, planes: str) -> list[Form]:
    """Return the form of so many channels, without or with a clip plane; `planes` names it."""
    three = channels == 3
    own: dict[str, Any] = {"letters": _three_letters} if three else {}
    dotted = "letters" if three else "f1:f32,codes4,uy,o,b"
    names = [planes.format(v) for v in range(8)]
    return forms(
        f"""
        internal  vdp{channels}.f32 {{dst=floats:f32,m}} {{src1={dotted}}}
                  {{src2=internal2:g,v{channels},x,-,a}} {{plane:p}} {{rptmode:r}}
                  00011 ... . C O V . . . rr a .. . mmmm o b ppp .. .. gg ...... xxxx uuu yyyyyyyyy ......
                  | fields m=mask y=s1swz o=s1neg b=s1abs g=g0n x=g0swz a=g0abs p=clipplane | control rptmode plane
                  | default {"u=011" if three else "0x0"}
        """,
        f"C  O  V\n{clip}  0  {4 - channels ^ 1}",
        early="dot.f32",
        described="O",
        **own,
        plane=words("" if planes == PLANE else names[0], *names[1:], label="no clip plane"),
        rptmode=_MODE,
        count=channels,
    )


VDP_MASK = bits(39, 42)
PLANE, CLIP = "plane{}", "clip{}"
"""The text of the clip plane, which has a meaning only where the clip bit is set."""


@usse.insn(
    _vdp(4, 0, PLANE) + _vdp(3, 0, PLANE),
    ref=Ref("usse", "2.6.4 VDP3/4"),
    status="known",
    see=[Ref("004", "0x18000000 - 0x20000000")],
    notes=[
        "a repetition moves the mask one channel on instead of the destination, so that o0.z is the register "
        "o2: [usse] 2.5"
    ],
)
def vdp(name, dst, src1, src2, count):
    """Dot product of SRC1 and an internal register over three or four channels, written to the channels of the mask."""
    total = fp.dot([src1.channel(k) for k in range(count)], [src2.channel(k) for k in range(count)])
    # The only f32 operation that reaches z and w of a unified register: its mask rotates under repetition.
    dst.write(dict.fromkeys(dst.channels, total))


@usse.insn(
    _vdp(4, 1, CLIP) + _vdp(3, 1, CLIP),
    ref=Ref("usse", "2.6.4 VDP3/4"),
    status="inferred",
    name="vdp_clip",
    notes=[
        "DST gets the dot product, which is read as the distance to the clip plane; only its sign matters to the "
        "hardware, and what else the unit keeps is not known"
    ],
)
def vdp_clip(name, dst, src1, src2, count):
    """Dot product that is the distance to a clip plane: `clipN` says to which. DST is written as by vdp."""
    total = fp.dot([src1.channel(k) for k in range(count)], [src2.channel(k) for k in range(count)])
    dst.write(dict.fromkeys(dst.channels, total))


# --- scalar functions ------------------------------------------------------------------------------------------------
FUNCTIONS = {0: "rcp", 1: "rsq", 2: "log", 3: "exp"}


def _function(e: Encoding, letter: str, types: str, stem: str = "") -> Enum:
    """Return the names of the functions for some types."""
    return mnemonics(e.field(letter), {v: f"{stem}{n}.{types}" for v, n in FUNCTIONS.items()}, FUNCTIONS)


@usse.insn(
    forms(
        """
        scalar  {name=function:o,<types>,v} {dst=floats:<to>,m} {src1=f1:<from>,channel,y,n,b}
                00110 ... . DD . . . . . .... . oo SS b n yy . .. .. .. ....... ....... ....... ... mmmm
                | fields o=op m=mask y=s1chan n=s1neg b=s1abs
        """,
        """
        S   D   from  to   types    early
        00  00  f32   f32  f32      f32
        00  01  f32   f16  f16.f32  f16.f32
        00  10  f32   c10  c10.f32  fx10.f32
        01  00  f16   f32  f32.f16  -
        01  01  f16   f16  f16      -
        01  10  f16   c10  c10.f16  -
        10  00  c10   f32  f32.c10  f32.fx10
        10  01  c10   f16  f16.c10  f16.fx10
        10  10  c10   c10  c10      fx10
        """,
        function=_function,
        early=lambda e, row: _function(e, "o", row["early"]) if row["early"] else "",
        described="DS",
    ),
    ref=Ref("usse", "2.6.5 VCOMP"),
    status="known",
    see=[Ref("004", "0x30000000 - 0x38000000")],
    notes=[
        "log and exp have base 2: measured and seen in compiled code; another simulator uses base e",
        "the accuracy of the hardware is not known",
    ],
)
def vcomp(name, dst, src1):
    """Scalar function of one channel, written to every channel of the mask.

    rcp is the reciprocal, rsq the reciprocal square root, log the logarithm to base 2, exp the power of 2. Source and
    destination have formats of their own.
    """
    functions: dict[str, Any] = {"rcp": fp.reciprocal, "rsq": fp.reciprocal_root, "log": fp.log2, "exp": fp.exp2}
    result = functions[name](src1.channel(0))
    dst.write(dict.fromkeys(dst.written, result))
