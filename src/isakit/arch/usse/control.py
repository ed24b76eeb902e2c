"""Control: branches, phases, repeat increments, kill, depth, emit and the rest of the special group.

Source: [usse] 2.7.
"""

from __future__ import annotations

from typing import Any

from isakit.arch.usse.forms import forms, registers
from isakit.arch.usse.operands import predicate_operand, source
from isakit.arch.usse.requests import (
    BASES,
    BRANCH,
    DEPTH,
    EMIT_RESULTS,
    INCREMENTS,
    JUMP,
    KILL_LANES,
    RETURN,
    STATE_AT_END,
)
from isakit.arch.usse.usse import usse
from isakit.errors import NotModelled
from isakit.spec import (
    Choice,
    Encoding,
    Enum,
    Form,
    Imm,
    Nothing,
    Part,
    Ref,
    Relative,
    choice,
    number,
    when,
    words,
)

_REF = Ref("usse", "2.7 Special group")


def _movement(e: Encoding, increment: str, mode: str) -> Choice:
    """Return the movement of an operand: `1`, `-2` a step per repetition, `o2010` the offsets of four repetitions.

    Bound to the step or to the four offsets.
    """
    by = e.field(increment)
    offsets = {v: tuple(v >> 2 * k & 3 for k in range(4)) for v in range(1 << by.width)}
    names = {v: f"o{''.join(map(str, o))}" for v, o in offsets.items()}
    step = Imm(by, signed=True, fixed=True, form="d", label="a step", meaning="moves by {} in each repetition")
    each = Enum(by, names, offsets, meanings={v: f"offsets {o}" for v, o in offsets.items()}, hint="oNNNN")
    return choice(when({e.field(mode): 0}, step), when({e.field(mode): 1}, each))


def _distance(e: Encoding, letter: str) -> Part:
    return Relative(
        e.field(letter),
        32,
        signed=True,
        code_address=True,
        as_distance=True,
        hint="a distance in instructions, or a label",
        meaning="{:+d} instructions from here",
    )


def _branch(line: str, kind: str, target: str = 20 * "t", **operands: Any) -> list[Form]:
    """Return the form of a branch: its name and target, its opcode bits, its target bits."""
    return forms(
        f"""
        branch  {line} {{syncend=flag:s,syncend}} {{exception=flag:x,exception}} {{pwait=flag:p,pwait}}
                {{syncext=flag:e,syncext}} {{nosched=flag:n,nosched}} {{monitor=flag:m,monitor}}
                {{savelink=flag:l,savelink}} {{anyinst=flag:a,anyinst}} {{allinst=flag:i,allinst}}
                11111 ... s 000 x ..... p e n m l {kind} ................ a i {target}
                | control syncend exception pwait syncext nosched monitor {"| fields t=off" if "t" in target else ""}
        """,
        **operands,
    )


def _check_instances(anyinst: bool, allinst: bool) -> None:
    if anyinst or allinst:
        raise NotModelled("a branch with anyinst or allinst", "their meaning is not known")


@usse.insn(
    _branch("br {target=distance:t}", "001", distance=_distance),
    ref=Ref("usse", "2.7 BR"),
    status="known",
    notes=["anyinst and allinst are not modelled; the other flags have no effect here"],
    group="branch",
    ends=True,
    links="savelink",
)
def br(name, target, savelink, anyinst, allinst):
    """Branch by a number of instructions, counted from the branch itself; with `savelink` it is a call."""
    _check_instances(anyinst, allinst)
    BRANCH(target, link=savelink)


@usse.insn(
    _branch("bra {target=absolute:t}", "000", absolute=number("an instruction number", code_address=True)),
    ref=Ref("usse", "2.7 BR"),
    status="inferred",
    name="bra",
    group="branch",
    ends=True,
    links="savelink",
)
def bra(name, target, savelink, anyinst, allinst):
    """Branch to an instruction by its number in the program; with `savelink` it is a call."""
    _check_instances(anyinst, allinst)
    JUMP(target, link=savelink)


@usse.insn(
    _branch("ret", "010", 20 * "."),
    ref=Ref("usse", "2.7 BR"),
    status="inferred",
    name="ret",
    group="return",
    ends=True,
)
def ret(name, savelink, anyinst, allinst):
    """Return to the instruction after the last call (through the link register)."""
    _check_instances(anyinst, allinst)
    RETURN()


@usse.insn(
    forms("nop  nop  11111 .... 000 . . ...... . .. 101 " + 38 * "."),
    ref=Ref("usse", "2.7 NOP"),
    status="known",
    group="control",
)
def nop(name):
    """Do nothing."""


@usse.insn(
    forms(
        """
        phase  phas {wait:w} {rate=flag:r,rate} {ratehi=flag:h,ratehi} {mode=flag:m,mode}
               {sprvv=flag:s,sprvv} {imm:i} temps {tempcount:t} addr {addr:a} {bank1:bd} {bank2:ce}
               11111 010 s 100 . i b c .. m h r www tttttttt dd ee ........ aaaaaa aaaaaaa aaaaaaa
               | default i=1 | control wait rate ratehi mode sprvv imm tempcount addr bank1 bank2
        """,
        wait=words(*(f"wait{v}" for v in range(8))),
        imm=words("noimm", ""),
        tempcount=number("a number of temporaries", 0),
        addr=number("an address", 0),
        bank1=words("", *(f"b1.{v}" for v in range(1, 8))),
        bank2=words("", *(f"b2.{v}" for v in range(1, 8))),
    ),
    ref=Ref("usse", "2.7 PHAS"),
    status="known",
    notes=["addresses are 0 in files; a program with two phases is two blocks one after the other"],
    group="control",
    begins_phase=True,
)
def phas(name):
    """Begin a phase: its wait condition (wait7: the last phase), where the next one starts, its number of temporaries.

    Phases run one after the other here.
    """


@usse.insn(
    forms(
        """
        state  smlsi limits {temp=limit:t} {pa=limit:p} {sa=limit:s} d {d=movement:e,d} s0 {s0=movement:f,a} s1
               {s1=movement:g,b} s2 {s2=movement:h,c}
               11111 010 . 0 01 . . .. tttt pppp ssss d a b c eeeeeeee ffffffff gggggggg hhhhhhhh
               | fields t=templim p=palim s=salim e=dinc f=s0inc g=s1inc h=s2inc
        """,
        limit=number("a limit", 0, fixed=True),
        movement=_movement,
    ),
    ref=Ref("usse", "2.7 SMLSI"),
    status="known",
    see=[Ref("usse", "2.5 Repeat model")],
    notes=["the limits have no effect here"],
    group="control",
)
def smlsi(name, temp, pa, sa, d, s0, s1, s2):
    """Set how operands of repeated instructions move: by a signed step per repetition, or to one of four offsets."""
    moves = {"dst": d, "src0": s0, "src1": s1, "src2": s2}
    INCREMENTS(**{role: ("offsets", m) if isinstance(m, tuple) else ("step", (m,)) for role, m in moves.items()})


@usse.insn(
    forms(
        """
        state  smbo {d=fixed:d} {s0=fixed:a} {s1=fixed:b} {s2=fixed:c}
               11111 011 . 0 01 . . .. dddddddddddd aaaaaaaaaaaa bbbbbbbbbbbb cccccccccccc
               | fields d=doff a=s0off b=s1off c=s2off
        """
    ),
    ref=Ref("usse", "2.7 SMBO"),
    status="inferred",
    group="control",
)
def smbo(name, d, s0, s1, s2):
    """Set the base offsets that are added to the registers of repeated instructions."""
    BASES(dst=d, src0=s0, src1=s1, src2=s2)


def _kill_source(e: Encoding, source: str) -> Choice:
    """Return an operand that is left out where both are sa0."""
    r = registers(e)
    return choice(when({r.s1bank: 3, r.s2bank: 3, r.s1n: 0, r.s2n: 0}, Nothing()), when({}, e.operand(source)))


_KILL_CONDITION = words(
    "", "!p0", "!p1", "p0", values=(None, (0, True), (1, True), (0, False)), label="always", typed=predicate_operand
)


@usse.insn(
    forms(
        """
        kill  kill {condition:c} {src1=optional:src1} {src2=optional:src2}
              11111 001 . 0 11 ......... cc ......... .. .. .............. ....... .......
              | fields c=pred | default 0x6f0000000
        """,
        condition=_KILL_CONDITION,
        optional=_kill_source,
    ),
    ref=Ref("usse", "2.7 KILL"),
    status="known",
    see=[Ref("usse", "2.4 Predicates by opcode")],
    notes=[
        "other decoders print the predicate the wrong way round: the pixel is discarded where it is false, as compiled "
        "shaders with a known source show",
        "what the sources are for is not known: compilers write the first register of the data container twice",
    ],
    group="control",
)
def kill(name, condition, src1, src2):
    """Discard the pixel where the condition holds: `kill !p1` where p1 is false. The sources have no effect here."""
    KILL_LANES(condition=condition)


def _depth(e: Encoding) -> Part:
    return source(registers(e), 0, double=True)


@usse.insn(
    forms(
        """
        depth  depthf {src0=depth} {src1} {src2} {twosided=flag:t,twosided} {feedback:f}
               11111 011 . 0 11 . . . . .... . .. ... t ff . .. .. .. ....... ....... ....... .......
               | control twosided feedback
        """,
        depth=_depth,
        feedback=words("", "feedback1", "feedback2", "feedback3"),
    ),
    ref=Ref("usse", "2.7 DEPTHF"),
    status="known",
    notes=["sources 1 and 2 hold state of the depth unit that is not modelled"],
    group="control",
)
def depthf(name, src0, src1, src2):
    """Replace the depth of the pixel by SRC0.x."""
    DEPTH(src0.channel(0))


@usse.insn(
    forms("emit  emit  11111 011 . . 10 . . " + 50 * "." + f" | default {0xFB275000A0200000 & ~(31 << 59):#x}"),
    ref=Ref("usse", "2.7 EMIT"),
    status="known",
    notes=["its fields are not known; compilers always write the same word"],
    group="control",
)
def emit(name):
    """Emit the vertex whose outputs stand in o0 and after; with `end` the program is over."""
    EMIT_RESULTS()


@usse.insn(
    forms("bare  spec 0x1 0x5  11111 101 0 0 01 " + 52 * "0"),
    ref=Ref("usse", "2.7 Special group"),
    status="inferred",
    name="spec_1_5",
    notes=[
        "what it sets is not known. Its neighbours smlsi and smbo change how later instructions count registers; in "
        "all known files it is the last instruction, where nothing can depend on it, and only there it is modelled"
    ],
    group="control",
)
def spec_1_5(name):
    """Set something for the instructions after it; programs end with it."""
    STATE_AT_END()


@usse.insn(
    forms(
        """
        bare  spec {cat=fixed:c} {op2=fixed:o}
              11111 ooo u s cc rrrrrrrrrrr bbb rrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrr
              | unless c=10 o=001,011,100 | unless c=01 o=010,011 s=0 | unless c=11 o=001,011 s=0
              | unless s=0 c=00 b=000,001,010,101 | unless s=1 c=00 o=010
        """
        + "| unless c=01 o=101 u=0 s=0 b=000 r="
        + 49 * "0"
    ),
    ref=_REF,
    status="unknown",
    notes=["more instructions are known by name than by encoding"],
    group="control",
)
def spec(name, cat, op2):
    """Do what is not known: an instruction of the special group, by category and number."""
    raise NotModelled(f"`spec {cat} {op2}`", "its meaning is not known")
