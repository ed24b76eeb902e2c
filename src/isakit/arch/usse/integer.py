"""Integer multiply-add on bytes, halves and words.

Source: [usse] 2.6.12.
"""

from __future__ import annotations

from isakit.arch.usse.fields import layout
from isakit.arch.usse.forms import destination, form, word_source
from isakit.arch.usse.usse import usse
from isakit.errors import NotModelled
from isakit.sem import Value, concat, const, select
from isakit.spec import Enum, Flag, Ref


def _byte(v: Value, k: int, width: int = 32) -> Value:
    return v.bits(8 * k, 8).zext(width)


I8MAD = layout(
    "10011@63:59 short@58:57 cmod1@56 skipinv@55 nosched@54 csel0@53:52 dext@51 end@50 s1ext@49 s2ext@48 cmod2@47 "
    "rpt@46:44 sat@43 cmod0@42 asel0@41 amod2@40 amod1@39 amod0@38 csel1@37 csel2@36 s0neg@35 s0bank@34 dbank@33:32 "
    "s1bank@31:30 s2bank@29:28 dn@27:21 s0n@20:14 s1n@13:7 s2n@6:0"
)


@usse.insn(
    [
        form(
            I8MAD,
            "{name} {dst} {src0} {src1} {src2} {addend} {alpha} {rgb1} {rgb2} {neg} {sat} {mods}",
            name="i8mad",
            dst=destination(I8MAD, double=False),
            src0=word_source(I8MAD, 0),
            src1=word_source(I8MAD, 1),
            src2=word_source(I8MAD, 2),
            addend=Enum(I8MAD.csel0, {0: "", 1: "add_s1", 2: "add_s0a", 3: "add_s1a"}, label="adds source 0"),
            alpha=Enum(I8MAD.asel0, {0: "", 1: "alpha_s1"}, {0: False, 1: True}),
            rgb1=Flag(I8MAD.csel1, "rgb1_a"),
            rgb2=Flag(I8MAD.csel2, "rgb2_a"),
            neg=Flag(I8MAD.s0neg, "sub"),
            sat=Flag(I8MAD.sat, "sat"),
            mods=Enum(
                I8MAD.amod0 + I8MAD.amod1 + I8MAD.amod2 + I8MAD.cmod0 + I8MAD.cmod2 + I8MAD.cmod1,
                {v: f"mods{v}" if v else "" for v in range(64)},
                {v: v for v in range(64)},
            ),
        )
    ],
    ref=Ref("usse", "2.6.12 I8MAD"),
    status="inferred",
    notes=["the modifiers (modsN) and saturation are not modelled", "results wrap in each byte"],
)
def i8mad(name, dst, src0, src1, src2, addend, alpha, rgb1, rgb2, neg, sat, mods):
    """Multiply and add byte by byte: DST = SRC1 * SRC2 + the addend (`sub`: minus), each byte on its own."""
    if sat or mods:
        raise NotModelled("`i8mad` with modifiers or saturation", "their meaning is not known")
    s0, s1, s2 = src0.word(), src1.word(), src2.word()
    out: list[Value] = []
    for k in range(4):
        a, b = _byte(s1, 3 if rgb1 else k), _byte(s2, 3 if rgb2 else k)
        if k == 3:
            c = _byte(s1 if alpha else s0, 3)
        else:
            c = _byte(s1 if "s1" in addend else s0, 3 if addend.endswith("a") else k)
        out.append((a * b - c if neg else a * b + c).trunc(8))
    dst.write_word(concat(*reversed(out)))


_FORMATS = {0: "", 1: "u8", 2: "s8", 3: "f3"}

I16MAD = layout(
    "10100@63:59 short@58:57 abs@56 skipinv@55 nosched@54 s2neg@53 sel1h@52 dext@51 end@50 s1ext@49 s2ext@48 "
    "rpt@46:44 mode@43:42 s2fmt@41:40 s1fmt@39:38 sel2h@37 orshift@36:35 s0bank@34 dbank@33:32 s1bank@31:30 "
    "s2bank@29:28 dn@27:21 s0n@20:14 s1n@13:7 s2n@6:0"
)


@usse.insn(
    [
        form(
            I16MAD,
            "{name} {dst} {src0} {src1} {fmt1} {high1} {src2} {fmt2} {high2} {neg} {abs} {shift}",
            name=Enum(
                I16MAD.mode,
                {0: "i16mad.u16", 1: "i16mad.sat.u16", 2: "i16mad.s16", 3: "i16mad.sat.s16"},
                {0: "u16", 1: "usat", 2: "s16", 3: "ssat"},
            ),
            dst=destination(I16MAD, double=False),
            src0=word_source(I16MAD, 0),
            src1=word_source(I16MAD, 1),
            src2=word_source(I16MAD, 2),
            fmt1=Enum(I16MAD.s1fmt, {v: f"s1.{n}" if n else "" for v, n in _FORMATS.items()}),
            fmt2=Enum(I16MAD.s2fmt, {v: f"s2.{n}" if n else "" for v, n in _FORMATS.items()}),
            high1=Flag(I16MAD.sel1h, "s1.high"),
            high2=Flag(I16MAD.sel2h, "s2.high"),
            neg=Flag(I16MAD.s2neg, "sub"),
            abs=Flag(I16MAD.abs, "abs"),
            shift=Enum(I16MAD.orshift, {v: f"orshift{v}" if v else "" for v in range(4)}),
        )
    ],
    ref=Ref("usse", "2.6.12 I16MAD"),
    status="inferred",
    notes=[
        "compilers use it to form index registers: idx1 = register * k + base",
        "abs, orshift and source format 3 are not modelled",
    ],
)
def i16mad(name, dst, src0, src1, src2, fmt1, fmt2, high1, high2, neg, abs, shift):
    """Multiply and add 16-bit integers: DST = SRC0 * SRC1 + SRC2 (`sub`: minus), the low half of the register.

    Sources 1 and 2 may be bytes (`s1.u8`, `s1.s8`; `high` takes the upper byte). The sat forms clamp to the type.
    """
    if abs or shift or "f3" in (fmt1[3:], fmt2[3:]):
        raise NotModelled("`i16mad` with abs, orshift or format 3", "their meaning is not known")
    signed = name in ("s16", "ssat")

    def operand(v: Value, fmt: str, high: bool) -> Value:
        if fmt:
            byte = v.bits(8 if high else 0, 8)
            return byte.sext(40) if fmt.endswith("s8") else byte.zext(40)
        half = v.trunc(16)
        return half.sext(40) if signed else half.zext(40)

    a, b = operand(src0.word(), "", False), operand(src1.word(), fmt1, high1)
    c = operand(src2.word(), fmt2, high2)
    total = a * b - c if neg else a * b + c
    if name.endswith("sat"):
        low, high = (-32768, 32767) if signed else (0, 65535)
        total = select(total.slt(low), const(low, 40), select(total.sgt(high), const(high, 40), total))
    dst.write_word(total.trunc(16).zext(32))


I32MAD = layout(
    "10101@63:59 short@58:57 s0high@56 skipinv@55 nosched@54 s1high@53 s2high@52 dext@51 end@50 s1ext@49 s2ext@48 "
    "rpt@46:44 signed@43 sat@42 s2type@39:38 s0bank@34 dbank@33:32 s1bank@31:30 s2bank@29:28 dn@27:21 s0n@20:14 "
    "s1n@13:7 s2n@6:0"
)


@usse.insn(
    [
        form(
            I32MAD,
            "{name} {dst} {src0} {high0} {src1} {high1} {src2} {type2} {high2} {sat}",
            name=Enum(I32MAD.signed, {0: "i32mad.u16", 1: "i32mad.s16"}, {0: False, 1: True}),
            dst=destination(I32MAD, double=False),
            src0=word_source(I32MAD, 0),
            src1=word_source(I32MAD, 1),
            src2=word_source(I32MAD, 2),
            high0=Flag(I32MAD.s0high, "s0.high"),
            high1=Flag(I32MAD.s1high, "s1.high"),
            high2=Flag(I32MAD.s2high, "s2.high"),
            sat=Flag(I32MAD.sat, "sat"),
            type2=Enum(I32MAD.s2type, {0: "", 1: "s2.type1", 2: "s2.32", 3: "s2.type3"}),
        )
    ],
    ref=Ref("usse", "2.6.12 I32MAD"),
    status="inferred",
    notes=["source 2 types 1 and 3 are taken to be 16 bits wide, as other decoders do", "saturation is not modelled"],
)
def i32mad(name, dst, src0, src1, src2, high0, high1, high2, sat, type2):
    """Multiply halves and add a word or a half: DST = SRC0.16 * SRC1.16 + SRC2."""
    if sat:
        raise NotModelled("`i32mad` with saturation", "its limits are not known")

    def half(v: Value, high: bool) -> Value:
        part = v.bits(16 if high else 0, 16)
        return part.sext(32) if name else part.zext(32)

    addend = src2.word() if type2 == "s2.32" else half(src2.word(), high2)
    dst.write_word(half(src0.word(), high0) * half(src1.word(), high1) + addend)


I32MAD2 = layout(
    "11010@63:59 pred3@58:56 skipinv@55 nosched@54 step@53:52 dext@51 end@50 s1ext@49 s2ext@48 s0ext@47 rpt@46:44 "
    "signed@41 s1neg@40 s2neg@39 s0bank@34 dbank@33:32 s1bank@31:30 s2bank@29:28 dn@27:21 s0n@20:14 s1n@13:7 s2n@6:0"
)


@usse.insn(
    [
        form(
            I32MAD2,
            "{name} {dst} {src0} {src1} {neg1} {src2} {neg2} {step}",
            name=Enum(I32MAD2.signed, {0: "i32mad2.u32", 1: "i32mad2.s32"}, {0: False, 1: True}),
            dst=destination(I32MAD2, double=False),
            src0=word_source(I32MAD2, 0),
            src1=word_source(I32MAD2, 1),
            src2=word_source(I32MAD2, 2),
            neg1=Flag(I32MAD2.s1neg, "neg1"),
            neg2=Flag(I32MAD2.s2neg, "neg2"),
            step=Enum(I32MAD2.step, {v: f"step{v}" if v else "" for v in range(4)}, {v: v for v in range(4)}),
        )
    ],
    ref=Ref("usse", "2.6.12 I32MAD2"),
    status="known",
    notes=[
        "the instruction is issued as a pair; step 0 already writes the whole result to a scratch register, the other "
        "steps deliver it"
    ],
)
def i32mad2(name, dst, src0, src1, src2, neg1, neg2, step):
    """Multiply and add 32-bit integers: DST = SRC0 * SRC1 + SRC2; with `stepN` DST = SRC2."""
    addend = -src2.word() if neg2 and not step else src2.word()
    if step:
        dst.write_word(addend)
        return
    factor = -src1.word() if neg1 else src1.word()
    dst.write_word(src0.word() * factor + addend)


@usse.insn(
    [form(layout("11001@63:59"), "{name}", name="i8mad2")],
    ref=Ref("usse", "2.6.12 I8MAD2"),
    status="unknown",
    notes=["none of its fields is known: all bits are kept as they are"],
)
def i8mad2(name):
    """A second byte multiply-add whose fields are not known."""
    raise NotModelled("`i8mad2`", "its fields are not known")
