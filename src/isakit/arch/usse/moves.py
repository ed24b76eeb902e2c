"""Moves, conditional moves, pack and unpack, immediates.

Source: [usse] 2.6.7, 2.6.8, 2.7 (LIMM); groups 38 and 40 of [004].
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from isakit.arch.usse import arithmetic as fp
from isakit.arch.usse.forms import floats, forms, mnemonics, registers
from isakit.arch.usse.operands import NO_SOURCE2, destination, source, written_mask
from isakit.arch.usse.seed import UNDESCRIBED
from isakit.arch.usse.swizzles import SELECT4, swizzle
from isakit.arch.usse.usse import usse
from isakit.sem import Value, const, select
from isakit.sem.fp.ieee import float_to_int, float_to_ratio, int_to_float, ratio_to_float
from isakit.spec import Encoding, Enum, Form, Part, Ref, number

FLOATS = {"c10", "f16", "f32"}
CONDITIONS = {0: "eq", 1: "ne", 2: "lt", 3: "le"}

_INTEGERS = """
    T    ty   early_ty
    000  i8   i8
    001  i16  i16
    010  i32  i32
"""
_FLOATS = """
    T    ty   early_ty  mask
    011  c10  fx10      raw
    100  f16  f16       f16
    101  f32  f32       f32
"""
_DST = {_INTEGERS: "{dst}", _FLOATS: "{dst=floats:<ty>,m,<mask>}"}
_DEFAULT = {_INTEGERS: "| default m=1111 y=0100", _FLOATS: "| fields m=mask y=swz"}
"""Compilers write channel x and xyzw where neither matters."""


def _sources(types: str, *numbers: int) -> str:
    """Return sources: floats are swizzled registers, 64 bits each."""
    return " ".join(f"{{src{n}}}" if types == _INTEGERS else f"{{src{n}=f{n}:<ty>,v4,y}}" for n in numbers)


def _moves(types: str) -> list[Form]:
    return forms(
        f"""
        move  vmov.<ty> {_DST[types]} {_sources(types, 1)}
              00111 ... . . . . . . . . KK .. . TTT . yyyy . .. .. .. mmmm ...... ...... ...... ......
              | ty=<ty> {_DEFAULT[types]}
        """,
        "K\n00",
        types,
        early="mov.<early_ty>",
        described="KT",
    )


def _conditional(e: Encoding, letter: str, stem: str, ty: str) -> Enum:
    return mnemonics(e.field(letter), {v: f"{stem}.{n}.{ty}" for v, n in CONDITIONS.items()}, CONDITIONS)


def _early_conditional(e: Encoding, row: Mapping[str, str]) -> Enum:
    """Return the two conditions of the early page; the bit that tells eq from ne is outside of what it describes."""
    stem, ty = row["early_stem"], row["early_ty"]
    names = {0: f"{stem}.eqzero.{ty}", 2: f"{stem}.ltzero.{ty}"}
    return Enum(e.field("c"), names, CONDITIONS, illegal=UNDESCRIBED)


def _conditional_moves(kind: str, types: str, swizzled: str = ".", source0: str = "", **operands: Any) -> list[Form]:
    """Return the forms of a kind, a table of one row; `source0` where it is not like the other sources."""
    return forms(
        f"""
        choose  {{name=conditional:c,<stem>,<ty>}} {_DST[types]} {source0 or _sources(types, 0)} {_sources(types, 1, 2)}
                00111 ... . c {swizzled} . . . . . KK .. . TTT c yyyy . .. .. .. mmmm ...... ...... ...... ......
                | ty=<ty> | fields c=cond {_DEFAULT[types]}
        """,
        kind,
        types,
        conditional=_conditional,
        early=_early_conditional,
        described="KT",
        **operands,
    )


_AS_IT_IS = "{src0=f0:<ty>}"
_COMPARED = "K   stem   early_stem\n01  vmovc  cmov"
_COMPARED_BYTES = "K   stem     early_stem\n10  vmovcu8  cmov8"


def _of_bytes(types: str, source0: str = "", swizzled: str = ".") -> list[Form]:
    """Return conditional moves that compare the bytes of two registers, whatever the swizzle."""

    def span(word: int) -> int:
        return 2

    def integer(e: Encoding) -> Part:
        return source(registers(e), 0, span=span)

    own: dict[str, Any] = {"bytes0": integer if types == _INTEGERS else floats(0, span=span)}
    return _conditional_moves(_COMPARED_BYTES, types, swizzled, source0, **own)


@usse.insn(
    _moves(_INTEGERS) + _moves(_FLOATS),
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
    _conditional_moves(_COMPARED, _INTEGERS)
    + _conditional_moves(_COMPARED, _FLOATS, "0", _AS_IT_IS)
    + _conditional_moves(_COMPARED, _FLOATS, "1"),
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
    _of_bytes(_INTEGERS, "{src0=bytes0}")
    + _of_bytes(_FLOATS, "{src0=bytes0:<ty>}", "0")
    + _of_bytes(_FLOATS, "{src0=bytes0:<ty>,v4,y}", "1"),
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

_FROM_INTEGERS = """
    S    sty
    000  u8
    001  s8
    011  u16
    100  s16
"""
_FROM_F16, _FROM_F32 = "S    sty\n101  f16", "S    sty\n110  f32"
_FROM_C10, _FROM_O8 = "S    sty\n111  c10", "S    sty\n010  o8"
_TO_NUMBERS = """
    D    dty  early
    000  u8   pack.u8.<sty>
    001  s8   -
    011  u16  -
    100  s16  pack.s16.<sty>
    101  f16  -
    110  f32  -
"""
_TO_FLOATS = """
    D    dty  early
    101  f16  -
    110  f32  -
    111  c10  -
"""
_TO_C10, _TO_O8 = "D    dty  early\n111  c10  -", "D    dty  early\n010  o8  -"
_EARLY_COPIES = {"pack.u8.u8": "mov.u8", "pack.s16.s16": "mov.s16"}


def _early_pack(e: Encoding, row: Mapping[str, str]) -> str:
    """Return the name of a conversion on the early page: one to the same type is a move."""
    return _EARLY_COPIES.get(row["early"], row["early"])


def _packed(e: Encoding, ty: str) -> Part:
    """Return a source of elements of at most 32 bits."""
    return source(registers(e), 1, letters=swizzle(e.field("wzybx"), SELECT4), ty=ty, number=e.field("s"))


def _packs(sources: str, *destinations: str) -> list[Form]:
    """Return the conversions from some types, which have the same sources, to others."""
    operands, low = "{src1=packed:<sty>}", "sssssss ..... b x"
    if sources in (_FROM_F16, _FROM_C10):
        operands, low = "{src1=f1:<sty>,select4,wzybx}", "...... . ..... b x"
    elif sources == _FROM_F32:
        operands, low = "{src1=f1:f32,select4,wzyax} {src2=f2:f32}", "...... a ..... . x"
    default = "" if sources == _FROM_F32 else f"| default {NO_SOURCE2:#x}"
    own: dict[str, Any] = {"packed": _packed} if "packed" in operands else {}
    return [
        f
        for table in destinations
        for f in forms(
            f"""
            pack  vpck.<dty>.<sty> {{dst=elements:<dty>,m}} {operands} {{scale=flag:k,scale}}
                  01000 ... . . . . . . . . .... SSS DDD mmmm .. .. .. ....... ww k yy zz {low}
                  | sty=<sty> | dty=<dty> | fields m=mask {default}
            """,
            sources,
            table,
            elements=_elements,
            **own,
            early=_early_pack,
            described="SD",
        )
    ]


def _elements(e: Encoding, ty: str, letter: str) -> Part:
    return destination(registers(e), ty=ty, masks=written_mask(e.field(letter), "raw"))


LIMITS = {"u8": (0, 255), "s8": (-127, 127), "u16": (0, 65535), "s16": (-32767, 32767), "c10": (-510, 510)}
RANGES = {"u8": (0, 255), "s8": (-128, 127), "u16": (0, 65535), "s16": (-32768, 32767)}


def _element(src, ty: str, k: int) -> Value:
    """Integer element `k` of a source."""
    return src.at.byte(k) if ty in ("u8", "s8", "o8") else src.at.half(k)


def _selected(dst, scale: bool, sty: str, dty: str) -> dict[int, int]:
    """Return the selector of each channel that is written."""
    channels = dst.channels
    direct = (sty in PACK_FLOATS and dty in PACK_FLOATS) or (scale and "u8" in (sty, dty))
    if direct:
        return {c: c for c in channels}
    if "u8" in (sty, dty) and not scale and len(channels) == 4:
        return {c: c % 2 for c in channels}
    return {c: k for k, c in enumerate(channels)}


def _pack(name, sty, dty, dst, src1, scale, src2: Any = None):
    letters = src1.swizzle
    values: dict[int, Value] = {}
    for channel, selector in _selected(dst, scale, sty, dty).items():
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
def vpck(name, sty, dty, dst, src1, scale, src2: object = None):
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
def vpck_o8(name, sty, dty, dst, src1, scale, src2: object = None):
    """Convert from or to o8, an unsigned byte with a scale that is not known."""
    from isakit.errors import NotModelled

    raise NotModelled(f"`{name}`", "the scale of o8 is not known")


# --- immediates ------------------------------------------------------------------------------------------------------


@usse.insn(
    forms(
        """
        load  limm.u32 {dst} {imm:i}
              11111 100 . . 10 . . iiiiii ... iiiii .. .. .... ....... iiiiiiiiiiiiiiiiiiiii | fields i=imm
        """,
        imm=number("a 32-bit number", 0, wrap=True, single=True),
    ),
    ref=Ref("usse", "2.7 LIMM"),
    status="known",
    group="move",
)
def limm(name, dst, imm):
    """Load a 32-bit immediate into a register. A floating point number stands for its f32 bits."""
    dst.write_word(imm)
