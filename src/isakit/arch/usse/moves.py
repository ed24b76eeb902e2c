"""Moves, conditional moves, pack and unpack, immediates.

Source: [usse] 2.6.7, 2.6.8, 2.7 (LIMM); groups 38 and 40 of [004].
"""

from __future__ import annotations

from typing import Any

from isakit.arch.usse import arithmetic as fp
from isakit.arch.usse.fields import layout
from isakit.arch.usse.forms import NO_SOURCE2, UNDESCRIBED, PerRow, destination, form, forms, source
from isakit.arch.usse.swizzles import SELECT4, V4STD, swizzle
from isakit.arch.usse.usse import usse
from isakit.sem import Value, const, select
from isakit.sem.fp.ieee import float_to_int, float_to_ratio, int_to_float, ratio_to_float
from isakit.spec import Enum, Flag, Form, Imm, Nothing, Ref

FLOATS = {"c10", "f16", "f32"}
CONDITIONS = {0: "eq", 1: "ne", 2: "lt", 3: "le"}
VMOV = layout(
    "00111@63:59 pred3@58:56 skipinv@55 cond@39 cond@54 s0usesswz@53 sync@52 dext@51 end@50 s0ext@50 s1ext@49 "
    "s2ext@48 type@47:46 rpt@45:44 nosched@43 dt@42:40 swz@38:35 s0bank@34 dbank@33:32 s1bank@31:30 s2bank@29:28 "
    "mask@27:24 dn@23:18 s0n@17:12 s1n@11:6 s2n@5:0 condhigh@54"
)


_INTEGER_TYPES = """
    dt  ty   early_ty
    0   i8   i8
    1   i16  i16
    2   i32  i32
"""
_FLOAT_TYPES = """
    dt  ty   early_ty  written
    3   c10  fx10      raw
    4   f16  f16       f16
    5   f32  f32       f32
"""
_DST: dict[str, Any] = {
    _INTEGER_TYPES: destination(VMOV, double=False, alias=6),
    _FLOAT_TYPES: PerRow(destination, VMOV, double=True, alias=7, mask="<written>", ty="<ty>"),
}
_DEFAULT = {_INTEGER_TYPES: VMOV.mask.put(15) | VMOV.swz.put(4), _FLOAT_TYPES: 0}
"""Compilers write channel x and xyzw where neither matters."""


def _operand(types: str, n: int, **options: Any) -> PerRow:
    """A source: floats are swizzled registers, 64 bits each."""
    if types == _INTEGER_TYPES:
        return PerRow(source, VMOV, n, alias=6, **options)
    return PerRow(source, VMOV, n, double=True, alias=7, ty="<ty>", **{"letters": swizzle(VMOV.swz, V4STD)} | options)


def _moves(types: str) -> list[Form]:
    return forms(
        VMOV,
        "{name} {dst} {src1}",
        types,
        fixed={VMOV.type: 0},
        flags=("skipinv", "nosched", "sync", "end"),
        name="vmov.<ty>",
        ty="<ty>",
        early="mov.<early_ty>",
        described=[VMOV.type, VMOV.dt],
        dst=_DST[types],
        src1=_operand(types, 1),
        default=_DEFAULT[types],
    )


def _conditional(stem: str, ty: str) -> Enum:
    return Enum(VMOV.cond, {v: f"{stem}.{n}.{ty}" for v, n in CONDITIONS.items()}, CONDITIONS)


def _early_conditional(stem: str, ty: str) -> Enum:
    """The page has two conditions; the bit that tells eq from ne is outside of what it describes."""
    return Enum(VMOV.cond, {0: f"{stem}.eqzero.{ty}", 2: f"{stem}.ltzero.{ty}"}, CONDITIONS, illegal=UNDESCRIBED)


def _conditional_moves(kind: str, types: str, *more: str, **first: Any) -> list[Form]:
    """The forms of a kind, a table of one row; `first` are options of source 0."""
    return forms(
        VMOV,
        "{name} {dst} {src0} {src1} {src2}",
        kind,
        types,
        *more,
        flags=("skipinv", "nosched", "sync"),
        name=PerRow(_conditional, "<stem>", "<ty>"),
        ty="<ty>",
        early=PerRow(_early_conditional, "<early_stem>", "<early_ty>"),
        described=[VMOV.type, VMOV.dt],
        dst=_DST[types],
        src0=_operand(types, 0, **first),
        src1=_operand(types, 1),
        src2=_operand(types, 2),
        default=_DEFAULT[types],
    )


_AS_IT_IS, _SWIZZLED = "s0usesswz\n0", "s0usesswz\n1"
"""Whether source 0 has the swizzle of the others, or none."""
_COMPARED = """
    type  stem   early_stem
    1     vmovc  cmov
"""
_COMPARED_BYTES = """
    type  stem     early_stem
    2     vmovcu8  cmov8
"""


def _compared_registers(_: int) -> int:
    """How many registers have the bytes that are compared, whatever the swizzle."""
    return 2


@usse.insn(
    _moves(_INTEGER_TYPES) + _moves(_FLOAT_TYPES),
    ref=Ref("usse", "2.6.7 VMOV"),
    status="known",
    see=[Ref("004", "0x38000000 - 0x40000000")],
    group="move",
)
def vmov(name, ty, dst, src1):
    """Copy: floating point types the channels of the mask through the swizzle, integer types one 32-bit register."""
    if ty not in FLOATS:
        dst.write_word(src1.word())
        return
    dst.write({k: src1.channel(k) for k in dst.written})


def _compare_zero(v: Value, condition: str, ty: str) -> Value:
    if ty in FLOATS:
        return fp.compare(v, const(0, 32), condition)
    low = {"i8": v.trunc(8), "i16": v.trunc(16), "i32": v}[ty]
    return {"eq": low.is_zero, "ne": ~low.is_zero, "lt": low.sign, "le": low.sign | low.is_zero}[condition]


@usse.insn(
    _conditional_moves(_COMPARED, _INTEGER_TYPES)
    + _conditional_moves(_COMPARED, _FLOAT_TYPES, _AS_IT_IS, letters=None)
    + _conditional_moves(_COMPARED, _FLOAT_TYPES, _SWIZZLED),
    ref=Ref("usse", "2.6.7 VMOV"),
    status="known",
    see=[Ref("004", "0x38000000 - 0x40000000")],
    notes=["a source 0 in sa read 0 on hardware: not modelled, avoid it"],
    group="move",
)
def vmovc(name, ty, dst, src0, src1, src2):
    """Conditional move: each channel of DST gets SRC1 where SRC0 compares with zero as the name says, else SRC2."""
    if ty not in FLOATS:
        dst.write_word(select(_compare_zero(src0.word(), name, ty), src1.word(), src2.word()))
        return
    dst.write(
        {k: select(_compare_zero(src0.channel(k), name, ty), src1.channel(k), src2.channel(k)) for k in dst.written}
    )


@usse.insn(
    _conditional_moves(_COMPARED_BYTES, _INTEGER_TYPES, span=_compared_registers)
    + _conditional_moves(_COMPARED_BYTES, _FLOAT_TYPES, _AS_IT_IS, letters=None, span=_compared_registers)
    + _conditional_moves(_COMPARED_BYTES, _FLOAT_TYPES, _SWIZZLED, span=_compared_registers),
    ref=Ref("usse", "2.6.7 VMOV"),
    see=[Ref("004", "0x38000000 - 0x40000000")],
    status="inferred",
    notes=["the comparison of bytes is taken from one simulator"],
    group="move",
)
def vmovcu8(name, ty, dst, src0, src1, src2):
    """Conditional move that compares unsigned bytes of SRC0 with zero.

    Byte k decides about channel k, byte 0 about an integer register.
    """

    def holds(k: int) -> Value:
        byte = src0.at.byte(k)
        zero = byte.is_zero
        return {"eq": zero, "ne": ~zero, "lt": const(0, 1), "le": zero}[name]

    if ty not in FLOATS:
        dst.write_word(select(holds(0), src1.word(), src2.word()))
        return
    dst.write({k: select(holds(k), src1.channel(k), src2.channel(k)) for k in dst.written})


# --- pack and unpack -------------------------------------------------------------------------------------------------
PACK_FLOATS = {"f16", "f32", "c10"}

VPCK = layout(
    "01000@63:59 pred3@58:56 skipinv@55 nosched@54 sync@52 dext@51 end@50 s1ext@49 s2ext@48 rpt@47:44 sfmt@43:41 "
    "dfmt@40:38 mask@37:34 dbank@33:32 s1bank@31:30 s2bank@29:28 dn@27:21 sel3@20:19 scale@18 sel1@17:16 sel2@15:14 "
    "s1n@13:8 a@7 s2n@6:1 sel0low@0 sel0bit1@1 unknown53@53"
)


_FROM_INTEGERS = """
    sfmt  sty
    0     u8
    1     s8
    3     u16
    4     s16
"""
_FROM_F16, _FROM_F32, _FROM_C10, _FROM_O8 = (
    "sfmt  sty\n5  f16",
    "sfmt  sty\n6  f32",
    "sfmt  sty\n7  c10",
    "sfmt  sty\n2  o8",
)
_TO_NUMBERS = """
    dfmt  dty  early
    0     u8   pack.u8.<sty>
    1     s8   -
    3     u16  -
    4     s16  pack.s16.<sty>
    5     f16  -
    6     f32  -
"""
_TO_FLOATS = """
    dfmt  dty  early
    5     f16  -
    6     f32  -
    7     c10  -
"""
_TO_C10, _TO_O8 = "dfmt  dty  early\n7  c10  -", "dfmt  dty  early\n2  o8  -"
_EARLY_COPIES = {"pack.u8.u8": "mov.u8", "pack.s16.s16": "mov.s16"}
_SELECTORS = VPCK.sel1 + VPCK.sel2 + VPCK.sel3


def _early_pack(name: str) -> str:
    """What the early page calls a conversion: one to the same type is a move."""
    return _EARLY_COPIES.get(name, name)


def _packs(sources: str, *destinations: str) -> list[Form]:
    """The conversions from some types, which have the same sources, to others."""
    letters = swizzle(VPCK.sel0low + VPCK.sel0bit1 + _SELECTORS, SELECT4)
    operands: dict[str, Any] = {"src1": PerRow(source, VPCK, 1, letters=letters, ty="<sty>", number=VPCK.a + VPCK.s1n)}
    if sources in (_FROM_F16, _FROM_C10):
        operands = {"src1": PerRow(source, VPCK, 1, double=True, letters=letters, ty="<sty>", number=VPCK.s1n)}
    operands |= {"src2": Nothing(), "default": NO_SOURCE2}
    if sources == _FROM_F32:
        letters = swizzle(VPCK.sel0low + VPCK.a + _SELECTORS, SELECT4)
        operands = {"src1": source(VPCK, 1, double=True, letters=letters), "src2": source(VPCK, 2, double=True)}
    return [
        f
        for table in destinations
        for f in forms(
            VPCK,
            "{name} {dst} {src1} {src2} {scale}",
            sources,
            table,
            name="vpck.<dty>.<sty>",
            early=PerRow(_early_pack, "<early>"),
            described=[VPCK.sfmt, VPCK.dfmt],
            sty="<sty>",
            dty="<dty>",
            dst=PerRow(destination, VPCK, double=False, mask="raw", ty="<dty>"),
            scale=Flag(VPCK.scale, "scale"),
            **operands,
        )
    ]


LIMITS = {"u8": (0, 255), "s8": (-127, 127), "u16": (0, 65535), "s16": (-32767, 32767), "c10": (-510, 510)}
RANGES = {"u8": (0, 255), "s8": (-128, 127), "u16": (0, 65535), "s16": (-32768, 32767)}


def _element(src, ty: str, k: int) -> Value:
    """Integer element `k` of a source."""
    return src.at.byte(k) if ty in ("u8", "s8", "o8") else src.at.half(k)


def _selected(dst, src1, scale: bool, sty: str, dty: str) -> dict[int, int]:
    """Which selector feeds which written channel."""
    channels = dst.channels
    direct = (sty in PACK_FLOATS and dty in PACK_FLOATS) or (scale and "u8" in (sty, dty))
    if direct:
        return {c: c for c in channels}
    if "u8" in (sty, dty) and not scale and len(channels) == 4:
        return {c: c % 2 for c in channels}
    return {c: k for k, c in enumerate(channels)}


def _pack(name, sty, dty, dst, src1, scale, src2):
    letters = src1.swizzle
    values: dict[int, Value] = {}
    for channel, selector in _selected(dst, src1, scale, sty, dty).items():
        if channel not in (dst.written if dty == "f32" else dst.channels):
            continue
        k = "xyzw".index(letters[selector])
        if sty in PACK_FLOATS:
            if sty != "f32":
                v = src1.at.component(k, sty)
            elif src1.at.kind == "internal":
                v = src1.at.component(k, sty) if k < 2 or src2.at.kind != "internal" else src2.at.component(k, sty)
            else:
                v = src1.at.component(k, sty) if k < 2 else src2.at.component(k - 2, sty)
        else:
            v = _element(src1, sty, k)
        values[channel] = _converted(v, sty, dty, scale)
    if dty in PACK_FLOATS:
        dst.at.write_components(values, dty)
    elif dty in ("u8", "s8", "o8"):
        dst.at.write_bytes({k: v.trunc(8) for k, v in values.items()})
    else:
        dst.at.write_halves({k: v.trunc(16) for k, v in values.items()})


def _converted(v: Value, sty: str, dty: str, scale: bool) -> Value:
    """One element: float results as f32, integers in at least their own width."""
    sty, dty = ("u8" if t == "o8" else t for t in (sty, dty))
    if sty in PACK_FLOATS and dty in PACK_FLOATS:
        return v
    if sty in PACK_FLOATS:
        if scale:
            low, high = LIMITS[dty]
            return float_to_ratio(v, source="f32", maximum=high, low=low, high=high, width=32)
        whole = float_to_int(v, source="f32", to="s32", rounding="rz")
        low, high = RANGES[dty]
        return select(whole.slt(low), const(low, 32), select(whole.sgt(high), const(high, 32), whole))
    if dty in PACK_FLOATS:
        if not scale:
            return int_to_float(v.sext(32) if sty[0] == "s" else v.zext(32), source="s32", to="f32")
        low, high = LIMITS[sty]
        return ratio_to_float(v, source=sty, maximum=high, low=low, to="f32")
    return v.sext(32) if sty[0] == "s" else v.zext(32)


@usse.insn(
    _packs(_FROM_INTEGERS, _TO_NUMBERS)
    + _packs(_FROM_F16, _TO_NUMBERS, _TO_C10)
    + _packs(_FROM_F32, _TO_NUMBERS, _TO_C10)
    + _packs(_FROM_C10, _TO_FLOATS),
    ref=Ref("usse", "2.6.8 VPCK"),
    status="known",
    see=[Ref("004", "0x40000000 - 0x48000000")],
    notes=[
        "[004] sees one bit of the destination format: u8 and s16",
        "channels 0 and 1 of an f32 source come from SRC1, channels 2 and 3 from SRC2",
        "an unscaled float to integer conversion is cut off and clamped to the range of the type; whether the "
        "hardware clamps is not known",
        "the layout of C10 in registers is inferred: 10 bits a channel, x lowest",
    ],
    group="move",
)
def vpck(name, sty, dty, dst, src1, scale, src2):
    """Convert between formats, channel by channel: DST.c gets the selected element of the source.

    With `scale` integers stand for fractions: the largest one is 1.0. Between floating point formats, and between
    scaled bytes and floats, channel c takes selector c; otherwise the k-th channel that is written takes selector k.
    """
    _pack(name, sty, dty, dst, src1, scale, src2)


@usse.insn(
    _packs(_FROM_INTEGERS, _TO_O8)
    + _packs(_FROM_F16, _TO_O8)
    + _packs(_FROM_F32, _TO_O8)
    + _packs(_FROM_O8, _TO_NUMBERS, _TO_O8),
    ref=Ref("usse", "2.6.8 VPCK"),
    see=[Ref("004", "0x40000000 - 0x48000000")],
    status="unknown",
    name="vpck_o8",
    notes=["the scale of o8 is not known"],
    group="move",
)
def vpck_o8(name, sty, dty, dst, src1, scale, src2):
    """Convert from or to o8, an unsigned byte with a scale that is not known."""
    from isakit.errors import NotModelled

    raise NotModelled(f"`{name}`", "the scale of o8 is not known")


# --- immediates ------------------------------------------------------------------------------------------------------


LIMM = layout(
    "11111@63:59 100@58:56 10@53:52 skipinv@55 nosched@54 dext@51 end@50 imm@20:0 imm@40:36 imm@49:44 pred3@43:41 "
    "dbank@33:32 dn@27:21"
)


@usse.insn(
    [
        form(
            LIMM,
            "limm.u32 {dst} {imm}",
            dst=destination(LIMM, double=False),
            imm=Imm(LIMM.imm, wrap=True, single=True, label="a 32-bit number"),
        )
    ],
    ref=Ref("usse", "2.7 LIMM"),
    status="known",
    group="move",
)
def limm(dst, imm):
    """Load a 32-bit immediate into a register. A floating point number stands for its f32 bits."""
    dst.write_word(imm)
