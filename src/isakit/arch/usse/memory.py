"""Texture sampling, memory loads and stores.

Source: [usse] 2.6.13, 2.6.14.
"""

from __future__ import annotations

from typing import Any

from isakit.arch.usse.fields import layout
from isakit.arch.usse.forms import NO_SOURCE2, PerRow, form, forms, source, word_source
from isakit.arch.usse.operands import Span, dest_part
from isakit.arch.usse.places import place
from isakit.arch.usse.registers import Location
from isakit.arch.usse.requests import SAMPLE, SAMPLE_HAS
from isakit.arch.usse.usse import usse
from isakit.errors import NotModelled
from isakit.sem import Value, load, store
from isakit.spec import Choice, Enum, Flag, Form, Nothing, Part, Ref, choice, when

DIMENSIONS = {0: "1d", 1: "2d", 2: "3d"}
CONVERSIONS = {0: "", 1: "native", 2: "f16", 3: "f32"}
LODS = {0: "", 1: "bias", 2: "replace", 3: "gradient"}
MODES = {0: "", 1: "gather4", 2: "info", 3: "gather4_uv"}


def _dest(layout: Any, span: Span) -> Part:
    return dest_part(place(layout.dn, layout.destpa, ("r", "pa"), alias=7), span=span)


LDST = layout(
    "group@63:59 pred3@58:56 skipinv@55 nosched@54 moe@53 sync@52 cacheext@51 s0ext@50 s1ext@49 s2ext@48 count@47:44 "
    "addrmode@43:42 mode@41:40 destpa@39 range@38 dtype@37:36 incdec@35 s0bank@34 cachebyp@33 drc@32 s1bank@31:30 "
    "s2bank@29:28 dn@27:21 s0n@20:14 s1n@13:7 s2n@6:0"
)


def _elements(word: int) -> int:
    """How many registers a load or store moves."""
    return LDST.count.get(word) + 1


SMP = layout(
    "11100@63:59 pred3@58:56 skipinv@55 nosched@54 sync@52 minpack@51 s0ext@50 s1ext@49 s2ext@48 conv@47:46 "
    "maskcount@45:44 dim@43:42 lod@41:40 destpa@39 sb@38:37 ctype@36:35 s0bank@34 drc@33:32 s1bank@31:30 s2bank@29:28 "
    "dn@27:21 s0n@20:14 s1n@13:7 s2n@6:0"
)


def _texel_registers(word: int) -> int:
    """How many registers a sample fills at most."""
    return _result_words(CONVERSIONS[SMP.conv.get(word)], MODES[SMP.sb.get(word)])


def _state_registers(_: int) -> int:
    """How many registers the state of a texture takes."""
    return 4


def _detail_registers(word: int) -> int:
    """How many registers hold the level of detail, or the gradients of the coordinate."""
    return 2 * (SMP.dim.get(word) + 1) if LODS[SMP.lod.get(word)] == "gradient" else 2


def _detail(ty: str) -> Choice:
    """The level of detail, what is added to it, or gradients: where there are any."""
    given = source(SMP, 2, double=True, alias=8, ty=ty, span=_detail_registers)
    return choice(when({SMP.lod: 0}, Nothing()), when({}, given))


def _sample_names(ty: str) -> Enum:
    return Enum(SMP.dim, {d: f"smp{n}.{ty}" for d, n in DIMENSIONS.items()}, DIMENSIONS)


@usse.insn(
    forms(
        SMP,
        "{name} {conv} {dst} {src0} {src1} {lodmode} {src2} {mode} {drc} {maskcount} {minpack}",
        """
        ctype  ty
        0      f32
        1      f16
        2      c10
        """,
        name=PerRow(_sample_names, "<ty>"),
        conv=Enum(SMP.conv, CONVERSIONS, label="raw"),
        ty="<ty>",
        dst=_dest(SMP, _texel_registers),
        src0=PerRow(source, SMP, 0, double=True, alias=8, ty="<ty>"),
        src1=source(SMP, 1, double=True, alias=8, span=_state_registers),
        lodmode=Enum(SMP.lod, LODS),
        src2=PerRow(_detail, "<ty>"),
        mode=Enum(SMP.sb, MODES),
        drc=Enum(SMP.drc, {v: f"drc{v}" for v in range(4)}),
        maskcount=Enum(SMP.maskcount, {v: f"mask{v}" if v else "" for v in range(4)}),
        minpack=Flag(SMP.minpack, "minpack"),
        control=("drc", "maskcount", "minpack"),
        default=NO_SOURCE2,
    ),
    ref=Ref("usse", "2.6.13 SMP"),
    status="inferred",
    notes=[
        "the result is there after wdf on the same channel; here at once",
        "the order of gathered texels and of their weights, and the bytes of sample information are inferred",
        "the level of a cube map is that of the direction's gradients on the face it meets; whether samples mix across "
        "the edges of faces is not known, here they do not unless asked to",
        "without a conversion the result has the texture's own format, in one register per 8-bit texel",
    ],
    group="texture",
)
def smp(name, conv, ty, dst, src0, src1, lodmode, src2, mode):
    """Sample a texture: DST and the registers after it get the four components of the texel at coordinate SRC0.

    SRC1 names the register with the first of the four texture state words. SRC2 is the level of detail (replace), what
    is added to it (bias), or the gradients of the coordinate. Components arrive as f16, f32 or in the texture's format.

    gather4 gives the four texels that a bilinear sample mixes, one after the other: lower left, lower right, upper
    right, upper left; gather4_uv appends their weights, four f16, in the opposite order. info gives one register of
    bytes: the fractions of u, of v and between the levels, and the level.
    """
    count = {"1d": 1, "2d": 2, "3d": 3}[name]
    coordinates = [src0.channel(k) for k in range(count)]
    extra: list[Value] = []
    if lodmode in ("bias", "replace"):
        extra = [src2.channel(0)]
    elif lodmode == "gradient":
        # A second register pair (f32) holds the second gradient.
        at = [src2.at.component(k, ty) for k in range(2 * count)] if ty == "f32" or count < 3 else None
        if at is None:
            raise NotModelled("`smp3d` with f16 gradients", "their layout is not known")
        extra = at
    # One sample per invocation; the machine computes it once for the components of an instruction.
    facts = {"count": count, "lod": lodmode or "none", "conv": conv or "raw", "mode": mode or "sample"}
    # The register says which texture was bound to it, the word which one was moved there.
    state, first = src1.at.index, src1.at.word(0)
    for k in range(_result_words(conv, mode)):
        there = None
        if conv not in ("f16", "f32") and mode != "info":
            # In the texture's own format only the machine knows how many registers there are.
            there = SAMPLE_HAS(state, first, *coordinates, *extra, word=k, **facts)
        dst.at.put(k, SAMPLE(state, first, *coordinates, *extra, word=k, **facts), there)


def _result_words(conv: str, mode: str) -> int:
    """Registers a sample fills at most; in the texture's own format the machine knows how many."""
    if mode == "info":
        return 1
    texel = 2 if conv == "f16" else 4
    return {"gather4": 4 * texel, "gather4_uv": 4 * texel + 2}.get(mode, texel)


SIZES = {0: (4, "32"), 1: (2, "16"), 2: (1, "8")}


def _address(src0: Location, src1: Any, size: int, moe: bool) -> Value:
    """Byte address: base, plus an index, plus 4 unless bit 53 is set."""
    base = src0.word()
    if src1.at.kind == "immediate":
        base = base + src1.at.index * size
    else:
        base = base + (src1.word() - 0x10000)
    return base if moe else base + 4


def _ldst_forms(opcode: int, stem: str) -> list[Form]:
    names = {v: f"{stem}.{n}" for v, (_, n) in SIZES.items()}
    is_load = stem == "ldr"
    operands = "{dst} {src0} {src1} {src2}" if is_load else "{src2} {src0} {src1}"
    more: dict[str, Any] = {"dst": _dest(LDST, _elements)} if is_load else {}
    return [
        form(
            LDST,
            "{name} " + operands + " {count} {addrmode} {mode} {range} {incdec} {cachebyp} {drc} {moe} {cacheext}",
            {LDST.group: opcode},
            name=Enum(LDST.dtype, names, {v: s for v, (s, _) in SIZES.items()}),
            src0=word_source(LDST, 0),
            src1=word_source(LDST, 1),
            src2=word_source(LDST, 2, span=None if is_load else _elements),
            count=Enum(LDST.count, {v: f"x{v + 1}" for v in range(16)}, {v: v + 1 for v in range(16)}),
            addrmode=Enum(LDST.addrmode, {v: f"addr{v}" if v else "" for v in range(4)}),
            mode=Enum(LDST.mode, {v: f"mode{v}" if v else "" for v in range(4)}),
            range=Flag(LDST.range, "range"),
            incdec=Flag(LDST.incdec, "dec"),
            cachebyp=Flag(LDST.cachebyp, "bypass"),
            drc=Enum(LDST.drc, {0: "drc0", 1: "drc1"}),
            moe=Flag(LDST.moe, "moe"),
            cacheext=Flag(LDST.cacheext, "cacheext"),
            control=("drc", "cachebyp", "cacheext", "range", "addrmode", "mode", "incdec"),
            **more,
        )
    ]


@usse.insn(
    _ldst_forms(0x1D, "ldr"),
    ref=Ref("usse", "2.6.14 LDR, STR"),
    status="inferred",
    notes=[
        "the address arithmetic was found by trial: compilers store a bias with every buffer address",
        "the address and cache modes have no effect here",
    ],
    group="memory",
)
def ldr(name, dst, src0, src1, src2, count, moe):
    """Load `xN` elements from memory to consecutive registers.

    The address is SRC0 + offset + SRC2, plus 4 unless `moe`. An immediate SRC1 counts elements, a register counts
    bytes from 0x10000.
    """
    address = _address(src0.at, src1, name, moe)
    address = address + (src2.at.index if src2.at.kind == "immediate" else src2.word())
    for k in range(count):
        v = load("memory", address + k * name, name)
        dst.at.put(k, v.zext(32))


@usse.insn(
    _ldst_forms(0x1E, "str"),
    ref=Ref("usse", "2.6.14 LDR, STR"),
    status="inferred",
    notes=["the address arithmetic was found by trial: compilers store a bias with every buffer address"],
    group="memory",
)
def str_(name, src0, src1, src2, count, moe):
    """Store `xN` elements of consecutive registers from SRC2 on to memory at SRC0 + offset, plus 4 unless `moe`."""
    address = _address(src0.at, src1, name, moe)
    for k in range(count):
        v = src2.at.word(k) if src2.at.kind != "immediate" else src2.at.index
        store("memory", address + k * name, v.trunc(8 * name))


WDF = layout("11111@63:59 001@58:56 10@53:52 drc@32 nosched@43 special@54")


@usse.insn(
    [
        form(
            WDF,
            "{name} {drc}",
            name="wdf",
            drc=Enum(WDF.drc, {0: "drc0", 1: "drc1"}),
            control=("drc",),
        )
    ],
    ref=Ref("usse", "2.7 WDF"),
    status="known",
    group="control",
)
def wdf(name):
    """Wait for the data of a channel (drc0 or drc1). Data is always there here, so it does nothing."""
