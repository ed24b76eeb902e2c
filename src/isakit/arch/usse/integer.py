"""Integer multiply-add on bytes, halves and words.

Source: [usse] 2.6.12.
"""

from __future__ import annotations

from isakit.arch.usse.forms import forms
from isakit.arch.usse.usse import usse
from isakit.errors import NotModelled
from isakit.sem import Value, concat, const, select
from isakit.spec import Ref, words


def _byte(v: Value, k: int, width: int = 32) -> Value:
    return v.bits(8 * k, 8).zext(width)


@usse.insn(
    forms(
        """
        int  i8mad {dst} {src0} {src1} {src2} {addend:c} {alpha:a} {rgb1=flag:x,rgb1_a} {rgb2=flag:y,rgb2_a}
             {neg=flag:n,sub} {sat=flag:s,sat} {mods:fedihg}
             10011 .. f . . cc . . . . e ... s d a i h g x y n . .. .. .. ....... ....... ....... .......
             | fields c=csel0 a=asel0 x=csel1 y=csel2 n=s0neg s=sat
        """,
        addend=words("", "add_s1", "add_s0a", "add_s1a", label="adds source 0"),
        alpha=words("", "alpha_s1", values=(False, True)),
        mods=words("", *(f"mods{v}" for v in range(1, 64)), values=range(64)),
    ),
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


@usse.insn(
    forms(
        """
        int  {name:m} {dst} {src0} {src1} {fmt1:f} {high1=flag:h,s1.high} {src2} {fmt2:g} {high2=flag:i,s2.high}
             {neg=flag:n,sub} {abs=flag:a,abs} {shift:s}
             10100 .. a . . n h . . . . . ... mm gg ff i ss . .. .. .. ....... ....... ....... .......
             | fields m=mode f=s1fmt h=sel1h g=s2fmt i=sel2h n=s2neg a=abs s=orshift
        """,
        name=words(
            "i16mad.u16", "i16mad.sat.u16", "i16mad.s16", "i16mad.sat.s16", values=("u16", "usat", "s16", "ssat")
        ),
        fmt1=words("", "s1.u8", "s1.s8", "s1.f3"),
        fmt2=words("", "s2.u8", "s2.s8", "s2.f3"),
        shift=words("", "orshift1", "orshift2", "orshift3"),
    ),
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


@usse.insn(
    forms(
        """
        int  {name:s} {dst} {src0} {high0=flag:f,s0.high} {src1} {high1=flag:g,s1.high} {src2} {type2:t}
             {high2=flag:h,s2.high} {sat=flag:c,sat}
             10101 .. f . . g h . . . . . ... s c .. tt ... . .. .. .. ....... ....... ....... .......
             | fields s=signed f=s0high g=s1high t=s2type h=s2high c=sat
        """,
        name=words("i32mad.u16", "i32mad.s16", values=(False, True)),
        type2=words("", "s2.type1", "s2.32", "s2.type3"),
    ),
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


@usse.insn(
    forms(
        """
        step  {name:s} {dst} {src0} {src1} {neg1=flag:m,neg1} {src2} {neg2=flag:n,neg2} {step:t}
              11010 ... . . tt . . . . . ... .. s m n .... . .. .. .. ....... ....... ....... .......
              | fields s=signed m=s1neg n=s2neg t=step
        """,
        name=words("i32mad2.u32", "i32mad2.s32", values=(False, True)),
        step=words("", "step1", "step2", "step3", values=range(4)),
    ),
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
    forms("bare  i8mad2  11001" + 59 * "."),
    ref=Ref("usse", "2.6.12 I8MAD2"),
    status="unknown",
    notes=["none of its fields is known: all bits are kept as they are"],
)
def i8mad2(name):
    """Multiply and add bytes in a second way, whose fields are not known."""
    raise NotModelled("`i8mad2`", "its fields are not known")
