"""Texture sampling, memory loads and stores.

Source: [usse] 2.6.13, 2.6.14.
"""

from __future__ import annotations

from typing import Any

from isakit.arch.usse.forms import forms, registers
from isakit.arch.usse.operands import NO_SOURCE2, Span, dest_part, source
from isakit.arch.usse.places import place
from isakit.arch.usse.registers import Location
from isakit.arch.usse.requests import SAMPLE, SAMPLE_HAS
from isakit.arch.usse.usse import usse
from isakit.errors import NotModelled
from isakit.sem import Value, load, store
from isakit.spec import Choice, Encoding, Enum, Form, Nothing, Part, Ref, choice, when, words

CONVERSIONS = ("", "native", "f16", "f32")
LODS = ("", "bias", "replace", "gradient")
MODES = ("", "gather4", "info", "gather4_uv")


def _dest(e: Encoding, span: Span) -> Part:
    r = registers(e)
    return dest_part(place(r.dn, r.destpa, ("r", "pa"), alias=7), span=span)


def _texel(e: Encoding) -> Part:
    """Return a destination of as many registers as a sample fills at most."""
    conversion, mode = e.field("c"), e.field("m")
    return _dest(e, lambda word: _result_words(CONVERSIONS[conversion.get(word)], MODES[mode.get(word)]))


def _coordinate(e: Encoding, ty: str) -> Part:
    return source(registers(e), 0, double=True, ty=ty)


def _texture_state(e: Encoding) -> Part:
    return source(registers(e), 1, double=True, span=lambda word: 4)


def _detail(e: Encoding, ty: str) -> Choice:
    """Return the level of detail, what is added to it, or gradients: where there are any."""
    lod, dimension = e.field("l"), e.field("n")

    def span(word: int) -> int:
        return 2 * (dimension.get(word) + 1) if LODS[lod.get(word)] == "gradient" else 2

    given = source(registers(e), 2, double=True, ty=ty, span=span)
    return choice(when({lod: 0}, Nothing()), when({}, given))


def _sample_name(e: Encoding, letter: str, ty: str) -> Enum:
    dimensions = ("1d", "2d", "3d")
    return Enum(e.field(letter), {n: f"smp{d}.{ty}" for n, d in enumerate(dimensions)}, dict(enumerate(dimensions)))


@usse.insn(
    forms(
        """
        memory  {name=sample:n,<ty>} {conv:c} {dst=texel} {src0=coordinate:<ty>} {src1=state} {lodmode:l}
                {src2=detail:<ty>} {mode:m} {drc:d} {maskcount:k} {minpack=flag:p,minpack}
                11100 ... . . . . p . . . cc kk nn ll . mm TT . dd .. .. ....... ....... ....... .......
                | fields n=dim l=lod m=sb | control drc maskcount minpack
        """
        f"| ty=<ty> | default {NO_SOURCE2:#x}",
        "T   ty\n00  f32\n01  f16\n10  c10",
        sample=_sample_name,
        conv=words(*CONVERSIONS, label="raw"),
        texel=_texel,
        coordinate=_coordinate,
        state=_texture_state,
        lodmode=words(*LODS),
        detail=_detail,
        mode=words(*MODES),
        drc=words("drc0", "drc1", "drc2", "drc3"),
        maskcount=words("", "mask1", "mask2", "mask3"),
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
    """Return the number of registers a sample fills at most; in the texture's own format the machine knows how many."""
    if mode == "info":
        return 1
    texel = 2 if conv == "f16" else 4
    return {"gather4": 4 * texel, "gather4_uv": 4 * texel + 2}.get(mode, texel)


def _address(src0: Location, src1: Any, size: int, moe: bool) -> Value:
    """Byte address: base, plus an index, plus 4 unless bit 53 is set."""
    base = src0.word()
    if src1.at.kind == "immediate":
        base = base + src1.at.index * size
    else:
        base = base + (src1.word() - 0x10000)
    return base if moe else base + 4


def _moved(e: Encoding) -> Part:
    """Return a destination of as many registers as there are elements."""
    return _dest(e, _elements(e))


def _stored(e: Encoding) -> Part:
    return source(registers(e), 2, span=_elements(e))


def _elements(e: Encoding) -> Span:
    count = e.field("c")
    return lambda word: count.get(word) + 1


def _ldst_forms(stem: str, opcode: str, operands: str, **moved: Any) -> list[Form]:
    return forms(
        f"""
        memory  {{name:t}} {operands} {{count:c}} {{addrmode:a}} {{mode:o}} {{range=flag:r,range}} {{incdec=flag:i,dec}}
                {{cachebyp=flag:b,bypass}} {{drc:d}} {{moe=flag:m,moe}} {{cacheext=flag:x,cacheext}}
                {opcode} ... . . m . x . . . cccc aa oo . r tt i . b d .. .. ....... ....... ....... .......
                | fields t=dtype | control drc cachebyp cacheext range addrmode mode incdec
        """,
        name=words(f"{stem}.32", f"{stem}.16", f"{stem}.8", values=(4, 2, 1)),
        count=words(*(f"x{n}" for n in range(1, 17)), values=range(1, 17)),
        addrmode=words("", "addr1", "addr2", "addr3"),
        mode=words("", "mode1", "mode2", "mode3"),
        drc=words("drc0", "drc1"),
        **moved,
    )


@usse.insn(
    _ldst_forms("ldr", "11101", "{dst=moved} {src0} {src1} {src2}", moved=_moved),
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
    _ldst_forms("str", "11110", "{src2=stored} {src0} {src1}", stored=_stored),
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


@usse.insn(
    forms(
        "wait  wdf {drc:d}  11111 001 .. 10 ........ . .......... d " + 32 * "." + " | control drc",
        drc=words("drc0", "drc1"),
    ),
    ref=Ref("usse", "2.7 WDF"),
    status="known",
    group="control",
)
def wdf(name):
    """Wait for the data of a channel (drc0 or drc1). Data is always there here, so it does nothing."""
