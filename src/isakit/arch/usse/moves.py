"""Moves, conditional moves, pack and unpack, immediates.

Source: [usse] 2.6.7, 2.6.8, 2.7 (LIMM); groups 38 and 40 of [004].
"""

from __future__ import annotations

from functools import partial

from isakit.arch.usse import arithmetic as fp
from isakit.arch.usse.fields import layout
from isakit.arch.usse.forms import NO_SOURCE2, UNDESCRIBED, destination, form, seed_view, source
from isakit.arch.usse.swizzles import SELECT4, V4STD, swizzle
from isakit.arch.usse.usse import usse
from isakit.sem import Value, const, select
from isakit.sem.fp.ieee import float_to_int, float_to_ratio, int_to_float, ratio_to_float
from isakit.spec import Enum, Flag, Form, Imm, Nothing, Part, Ref, Status

MOVE_TYPES = {0: "i8", 1: "i16", 2: "i32", 3: "c10", 4: "f16", 5: "f32"}
FLOATS = {"c10", "f16", "f32"}
CONDITIONS = {0: "eq", 1: "ne", 2: "lt", 3: "le"}
SEED_MOVES = {0: "mov", 1: "cmov", 2: "cmov8"}


def _seed_type(ty: str) -> str:
    return "fx10" if ty == "c10" else ty


VMOV = layout(
    "00111@63:59 pred3@58:56 skipinv@55 cond@39 cond@54 s0usesswz@53 sync@52 dext@51 end@50 s0ext@50 s1ext@49 "
    "s2ext@48 type@47:46 rpt@45:44 nosched@43 dt@42:40 swz@38:35 s0bank@34 dbank@33:32 s1bank@31:30 s2bank@29:28 "
    "mask@27:24 dn@23:18 s0n@17:12 s1n@11:6 s2n@5:0 condhigh@54"
)


def _move_forms(kind: int) -> list[Form]:
    out: list[Form] = []
    for code, ty in MOVE_TYPES.items():
        is_float = ty in FLOATS
        alias, kind_of_float = 7 if is_float else 6, ty if is_float else "f32"

        operand = partial(source, VMOV, double=is_float, alias=alias, ty=kind_of_float)
        letters = swizzle(VMOV.swz, V4STD) if is_float else None
        rule = "raw" if ty == "c10" else ty
        dst = destination(VMOV, double=is_float, alias=alias, mask=rule if is_float else None, ty=kind_of_float)
        # Compilers write channel x and xyzw where neither matters.
        default = 0 if is_float else VMOV.mask.put(15) | VMOV.swz.put(4)
        flags = ("skipinv", "nosched", "sync", "end") if kind == 0 else ("skipinv", "nosched", "sync")
        fixed = {VMOV.type: kind, VMOV.dt: code}
        if kind == 0:
            f = form(
                VMOV,
                "{name} {dst} {src1}",
                fixed,
                flags=flags,
                name=f"vmov.{ty}",
                ty=ty,
                dst=dst,
                src1=operand(1, letters=letters),
                default=default,
            )
            out += [f, seed_view(f, f"mov.{_seed_type(ty)}", [VMOV.type, VMOV.dt])]
            continue
        stem = "vmovc" if kind == 1 else "vmovcu8"
        for swizzled in (0, 1) if is_float else (0,):
            span = (lambda _: 2) if kind == 2 else None  # bytes of it, whatever the swizzle
            names = {v: f"{stem}.{n}.{ty}" for v, n in CONDITIONS.items()}
            f = form(
                VMOV,
                "{name} {dst} {src0} {src1} {src2}",
                fixed | ({VMOV.s0usesswz: swizzled} if is_float else {}),
                flags=flags,
                name=Enum(VMOV.cond, names, CONDITIONS),
                ty=ty,
                dst=dst,
                src0=operand(0, letters=letters if swizzled else None, span=span),
                src1=operand(1, letters=letters),
                src2=operand(2, letters=letters),
                default=default,
            )
            out.append(f)
            # The page has two conditions; the bit that tells eq from ne is outside of what it describes.
            seeds = {0: f"{SEED_MOVES[kind]}.eqzero.{_seed_type(ty)}", 2: f"{SEED_MOVES[kind]}.ltzero.{_seed_type(ty)}"}
            out.append(seed_view(f, Enum(VMOV.cond, seeds, CONDITIONS, illegal=UNDESCRIBED), [VMOV.type, VMOV.dt]))
    return out


@usse.insn(
    _move_forms(0),
    ref=Ref("usse", "2.6.7 VMOV"),
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
    _move_forms(1),
    ref=Ref("usse", "2.6.7 VMOV"),
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
    _move_forms(2),
    ref=Ref("usse", "2.6.7 VMOV"),
    see=[Ref("004", "0x38000000 - 0x40000000")],
    status=Status.INFERRED,
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
PACK_TYPES = {0: "u8", 1: "s8", 2: "o8", 3: "u16", 4: "s16", 5: "f16", 6: "f32", 7: "c10"}
PACK_FLOATS = {"f16", "f32", "c10"}
SEED_PACKS = {0: "u8", 4: "s16"}


def _legal(sty: str, dty: str) -> bool:
    return "c10" not in (sty, dty) or (sty in PACK_FLOATS and dty in PACK_FLOATS)


VPCK = layout(
    "01000@63:59 pred3@58:56 skipinv@55 nosched@54 sync@52 dext@51 end@50 s1ext@49 s2ext@48 rpt@47:44 sfmt@43:41 "
    "dfmt@40:38 mask@37:34 dbank@33:32 s1bank@31:30 s2bank@29:28 dn@27:21 sel3@20:19 scale@18 sel1@17:16 sel2@15:14 "
    "s1n@13:8 a@7 s2n@6:1 sel0low@0 sel0bit1@1 unknown53@53"
)


def _pack_forms(odd: bool) -> list[Form]:
    out: list[Form] = []
    for s, sty in PACK_TYPES.items():
        for d, dty in PACK_TYPES.items():
            if not _legal(sty, dty) or ("o8" in (sty, dty)) != odd:
                continue
            rest = VPCK.sel1 + VPCK.sel2 + VPCK.sel3
            if sty == "f32":
                selectors = VPCK.sel0low + VPCK.a + rest
                src1 = source(VPCK, 1, double=True, letters=swizzle(selectors, SELECT4), ty=sty)
                src2: Part = source(VPCK, 2, double=True, ty=sty)
            else:
                selectors = VPCK.sel0low + VPCK.sel0bit1 + rest
                double = sty in PACK_FLOATS
                number = VPCK.s1n if double else VPCK.a + VPCK.s1n
                src1 = source(VPCK, 1, double=double, letters=swizzle(selectors, SELECT4), ty=sty, number=number)
                src2 = Nothing()
            f = form(
                VPCK,
                "{name} {dst} {src1} {src2} {scale}",
                {VPCK.sfmt: s, VPCK.dfmt: d},
                name=f"vpck.{dty}.{sty}",
                sty=sty,
                dty=dty,
                dst=destination(VPCK, double=False, mask="raw", ty=dty),
                src1=src1,
                src2=src2,
                scale=Flag(VPCK.scale, "scale"),
                default=0 if sty == "f32" else NO_SOURCE2,
            )
            out.append(f)
            if d in SEED_PACKS and s != 7:
                out.append(seed_view(f, f"mov.{dty}" if s == d else f"pack.{dty}.{sty}", [VPCK.sfmt, VPCK.dfmt]))
    return out


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
    _pack_forms(odd=False),
    ref=Ref("usse", "2.6.8 VPCK"),
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
    _pack_forms(odd=True),
    ref=Ref("usse", "2.6.8 VPCK"),
    see=[Ref("004", "0x40000000 - 0x48000000")],
    status=Status.UNKNOWN,
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
    group="move",
)
def limm(dst, imm):
    """Load a 32-bit immediate into a register. A floating point number stands for its f32 bits."""
    dst.write_word(imm)
