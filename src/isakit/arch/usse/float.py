"""Floating point instructions with one operation: multiply-add, the two-source family, dot products, scalar functions.

Source: [usse] 2.6.1 to 2.6.5; groups 00 to 18 and 30 of [004].
"""

from __future__ import annotations

from typing import Any

from isakit.arch.usse import arithmetic as fp
from isakit.arch.usse.fields import layout
from isakit.arch.usse.forms import PerRow, destination, forms, source
from isakit.arch.usse.operands import internal_source
from isakit.arch.usse.requests import QUAD
from isakit.arch.usse.swizzles import (
    CHANNEL,
    CODES3,
    CODES4,
    MAD2_SRC0,
    MAD2_SRC1,
    MAD2_SRC2,
    V3EXT,
    V3STD,
    V4EXT,
    V4STD,
    swizzle,
)
from isakit.arch.usse.usse import usse
from isakit.sem import Value
from isakit.spec import Enum, Field, Form, Ref, choice, when

VMAD2 = layout(
    "00000@63:59 fmt@58 pred2@57:56 skipinv@55 sync@52 s0abs@50 s1ext@49 s2ext@48 s2swz@47:45 nosched@43 mask@42:39 "
    "s1neg@37 s1abs@38 s2neg@35 s2abs@36 s0bank@34 dbank@33:32 s1bank@31:30 s2bank@29:28 dn@27:22 s1swz@21:20 "
    "s1swz@44 s0swz@19:18 s0swz@53 s0n@17:12 s1n@11:6 s2n@5:0"
)


@usse.insn(
    forms(
        VMAD2,
        "{name} {dst} {src0} {src1} {src2}",
        """
        fmt  ty
        0    f32
        1    f16
        """,
        name="vmad2.<ty>",
        early="mad.<ty>",
        described=[VMAD2.fmt],
        dst=PerRow(destination, VMAD2, double=True, mask="<ty>", ty="<ty>", ext=False),
        src0=PerRow(source, VMAD2, 0, double=True, letters=swizzle(VMAD2.s0swz, MAD2_SRC0), ty="<ty>", ext=False),
        src1=PerRow(source, VMAD2, 1, double=True, letters=swizzle(VMAD2.s1swz, MAD2_SRC1), ty="<ty>"),
        src2=PerRow(source, VMAD2, 2, double=True, letters=swizzle(VMAD2.s2swz, MAD2_SRC2), ty="<ty>"),
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
NMAD = layout(
    "000@63:61 type@60:59 pred3v@58:56 skipinv@55 sync@52 dext@51 s1ext@49 s2ext@48 s2swz@47:44 nosched@43 mask@42:39 "
    "s1neg@37 s1abs@38 s2abs@36 dbank@33:32 s1bank@31:30 s2bank@29:28 dn@27:22 s1swz@21:15 s1swz@35:34 s1swz@50 "
    "s1swz@54:53 op@14:12 s1n@11:6 s2n@5:0"
)


_NMAD_TYPES = """
    type  ty
    1     f32
    2     f16
"""


def _nmad(operations: str) -> list[Form]:
    """The forms of some operations, a table of the field `op`, its name, and what the early page calls it."""
    return forms(
        NMAD,
        "{name} {dst} {src1} {src2}",
        _NMAD_TYPES,
        operations,
        name="v<does>.<ty>",
        does="<does>",
        early="<early>",
        dst=PerRow(destination, NMAD, double=True, mask="raw", ty="<ty>"),
        src1=PerRow(source, NMAD, 1, double=True, letters=swizzle(NMAD.s1swz, CODES4), ty="<ty>"),
        src2=PerRow(source, NMAD, 2, double=True, letters=swizzle(NMAD.s2swz, V4STD), ty="<ty>"),
    )


@usse.insn(
    _nmad(
        """
        op  does  early
        0   mul   mul.<ty>
        1   add   -
        2   frc   -
        5   min   -
        6   max   -
        7   dp    -
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
        op  does  early
        3   dsx   -
        4   dsy   -
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
    """Derivative of SRC1 across the quad of pixels, in x (dsx) or y (dsy); SRC2 is not used."""
    dst.write({k: quad_derivative(src1.channel(k), does) for k in dst.written})


def quad_derivative(value: Value, op: str) -> Value:
    """Difference to the neighbour in a quad (lanes 4n to 4n+3: upper left, upper right, lower left, lower right)."""
    step = 1 if op == "dsx" else 2
    here = QUAD(value, without=step)
    there = QUAD(value, with_=step)
    return fp.sub(there, here)


# --- multiply-add and dot product with internal registers ------------------------------------------------------------
MODES = {0: "", 1: "rpt_internal", 2: "rpt_both", 3: "rpt_slmsi"}
MODE_VALUES = {0: "external", 1: "internal", 2: "both", 3: "slmsi"}


def _mode(field: Field) -> Enum:
    return Enum(field, MODES, MODE_VALUES, label="repeats move the other registers")


VMAD = layout(
    "00011@63:59 pred3v@58:56 skipinv@55 opcode2@53 vec4@52 dext@51 end@50 s1ext@49 rptmode@48:47 g0abs@46 rpt@45:44 "
    "nosched@43 mask@42:39 s1neg@38 s1abs@37 g1neg@36 g1abs@35 dbank@33:32 s1bank@31:30 s2bank@29:28 g0n@29:28 "
    "dn@27:22 g0swz@21:18 g0swz@34 g1swz@17:14 g1swz@54 g1n@13:12 g0neg@11 s1swz@9:6 s1swz@10 s1n@5:0"
)


def _vmad(row: str, swizzles: tuple[str | None, ...]) -> list[Form]:
    """The form whose sources have these swizzles; its row: the fields that select it, its name."""
    return forms(
        VMAD,
        "{name} {dst} {src0} {src1} {src2} {rptmode}",
        f"opcode2  vec4  name\n{row}",
        name="<name>",
        early="mad.f32",
        base=0,
        control=("rptmode",),
        dst=destination(VMAD, double=True, mask="raw"),
        src0=internal_source(VMAD.g0n, swizzle(VMAD.g0swz, swizzles), VMAD.g0neg, VMAD.g0abs, "src0"),
        src1=source(VMAD, 1, double=True, letters=swizzle(VMAD.s1swz, swizzles)),
        src2=internal_source(VMAD.g1n, swizzle(VMAD.g1swz, swizzles), VMAD.g1neg, VMAD.g1abs, "src2"),
        rptmode=_mode(VMAD.rptmode),
    )


@usse.insn(
    [*_vmad("1  1  vmad4.f32", V4STD + V4EXT), *_vmad("1  0  vmad3.f32", V3STD + V3EXT)],
    ref=Ref("usse", "2.6.3 VMAD3/4"),
    status="known",
    see=[Ref("004", "0x18000000 - 0x20000000")],
)
def vmad(name, dst, src0, src1, src2):
    """Multiply and add with internal registers: DST = SRC0 * SRC1 + SRC2 in each channel of the mask.

    The 3-channel form has swizzles of three channels; channel w reads x.
    """
    dst.write({k: fp.mad(src0.channel(k), src1.channel(k), src2.channel(k)) for k in dst.written})


UNUSED_CHANNEL = 3 << 15
"""Compilers fill the channel that the 3-channel form does not have with w."""

VDP = layout(
    "00011@63:59 pred3v@58:56 skipinv@55 clip@36:34 clip@54 opcode2@53 vec4@52 dext@51 end@50 s1ext@49 rptmode@48:47 "
    "g0abs@46 rpt@45:44 nosched@43 mask@42:39 s1neg@38 s1abs@37 dbank@33:32 s1bank@31:30 s2bank@29:28 g0n@29:28 "
    "dn@27:22 g0swz@21:18 s1swz@17:6 s1n@5:0 clip_en@54"
)


def _three_letters() -> Any:
    """Source 1 of the 3-channel form: three letters, four where the channel it does not have is not w."""
    four = source(VDP, 1, double=True, letters=swizzle(VDP.s1swz, CODES4))
    unused, used = Field(((15, 3),), "s1w"), Field(((6, 9),), "s1swz")
    three = source(VDP, 1, double=True, letters=swizzle(used, CODES3))
    return choice(when({unused: UNUSED_CHANNEL >> 15}, three), when({}, four))


PLANE, CLIP = "plane{}", "clip{}"
"""How the clip plane is written, which has a meaning only where the clip bit is set."""


def _vdp(row: str, channels: int, planes: str) -> list[Form]:
    """The form of so many channels; its row: the fields that select it, its name. `planes` names the clip plane."""
    names = {v: planes.format(v) for v in range(8)}
    if planes == PLANE:
        names[0] = ""
    four = source(VDP, 1, double=True, letters=swizzle(VDP.s1swz, CODES4))
    return forms(
        VDP,
        "{name} {dst} {src1} {src2} {plane} {rptmode}",
        f"opcode2  clip_en  vec4  name\n{row}",
        name="<name>",
        early="dot.f32",
        described=[VDP.opcode2],
        control=("rptmode", "plane"),
        dst=destination(VDP, double=True, mask="raw"),
        src1=four if channels == 4 else _three_letters(),
        src2=internal_source(VDP.g0n, swizzle(VDP.g0swz, V4STD if channels == 4 else V3STD), None, VDP.g0abs, "src2"),
        plane=Enum(Field(((34, 3),), "clipplane"), names, label="no clip plane"),
        rptmode=_mode(VDP.rptmode),
        count=channels,
        default=0 if channels == 4 else UNUSED_CHANNEL,
    )


@usse.insn(
    [*_vdp("0  0  1  vdp4.f32", 4, PLANE), *_vdp("0  0  0  vdp3.f32", 3, PLANE)],
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
    [*_vdp("0  1  1  vdp4.f32", 4, CLIP), *_vdp("0  1  0  vdp3.f32", 3, CLIP)],
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

VCOMP = layout(
    "00110@63:59 pred3@58:56 skipinv@55 dtype@54:53 sync@52 dext@51 end@50 s1ext@49 rpt@47:44 nosched@43 op@42:41 "
    "stype@40:39 s1neg@37 s1abs@38 s1chan@36:35 dbank@33:32 s1bank@31:30 s2bank@29:28 dn@27:21 s1n@13:7 mask@3:0"
)


def _functions(stem: str, types: str) -> Enum | None:
    """The names of the functions, None where there are no types."""
    return Enum(VCOMP.op, {v: f"{stem}{n}.{types}" for v, n in FUNCTIONS.items()}, FUNCTIONS) if types else None


@usse.insn(
    forms(
        VCOMP,
        "{name} {dst} {src1}",
        """
        stype  dtype  from  to   types    early
        0      0      f32   f32  f32      f32
        0      1      f32   f16  f16.f32  f16.f32
        0      2      f32   c10  c10.f32  fx10.f32
        1      0      f16   f32  f32.f16  -
        1      1      f16   f16  f16      -
        1      2      f16   c10  c10.f16  -
        2      0      c10   f32  f32.c10  f32.fx10
        2      1      c10   f16  f16.c10  f16.fx10
        2      2      c10   c10  c10      fx10
        """,
        name=PerRow(_functions, "v", "<types>"),
        early=PerRow(_functions, "", "<early>"),
        described=[VCOMP.dtype, VCOMP.stype],
        dst=PerRow(destination, VCOMP, double=True, alias=8, mask="raw", ty="<to>"),
        src1=PerRow(source, VCOMP, 1, double=True, alias=8, letters=swizzle(VCOMP.s1chan, CHANNEL), ty="<from>"),
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
