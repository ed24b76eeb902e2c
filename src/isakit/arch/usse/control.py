"""Control: branches, phases, repeat increments, kill, depth, emit and the rest of the special group.

Source: [usse] 2.7.
"""

from __future__ import annotations

from typing import Any

from isakit.arch.usse.fields import layout
from isakit.arch.usse.forms import UNEXPLORED, form, predicate_operand, source, word_source
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
from isakit.spec import Choice, Enum, Field, Flag, Form, Imm, Nothing, Ref, Relative, choice, when

_REF = Ref("usse", "2.7 Special group")


def _movement(increment: Field, mode: Field) -> Choice:
    """How an operand moves: `1`, `-2` a step per repetition, `o2010` the offsets of four repetitions.

    Bound to the step or to the four offsets.
    """
    offsets = {v: tuple(v >> 2 * k & 3 for k in range(4)) for v in range(1 << increment.width)}
    names = {v: f"o{''.join(map(str, o))}" for v, o in offsets.items()}
    step = Imm(increment, signed=True, fixed=True, form="d", label="a step", meaning="moves by {} in each repetition")
    each = Enum(increment, names, offsets, meanings={v: f"offsets {o}" for v, o in offsets.items()}, hint="oNNNN")
    return choice(when({mode: 0}, step), when({mode: 1}, each))


BR = layout(
    "11111@63:59 zero@54:52 sub@40:38 pred3@58:56 syncend@55 exception@51 pwait@45 syncext@44 nosched@43 monitor@42 "
    "savelink@41 relative@38 anyinst@21 allinst@20 off@19:0"
)


_BR_FLAGS = {
    "syncend": BR.syncend,
    "exception": BR.exception,
    "pwait": BR.pwait,
    "syncext": BR.syncext,
    "nosched": BR.nosched,
    "monitor": BR.monitor,
    "savelink": BR.savelink,
    "anyinst": BR.anyinst,
    "allinst": BR.allinst,
}


def _branch(name: str, sub: int, target: bool) -> Form:
    distance = Relative(
        BR.off,
        32,
        signed=True,
        code_address=True,
        as_distance=True,
        hint="a distance in instructions, or a label",
        meaning="{:+d} instructions from here",
    )
    where = {0: Imm(BR.off, 32, label="an instruction number", code_address=True), 1: distance}
    flags: dict[str, Any] = {n: Flag(f, n) for n, f in _BR_FLAGS.items()}
    operands: dict[str, Any] = {"target": where[sub]} if target else {}
    return form(
        BR,
        "{name} {target} " + " ".join(f"{{{n}}}" for n in flags),
        {BR.zero: 0, BR.sub: sub},
        name=name,
        flags=(),
        control=[n for n in flags if n not in ("savelink", "anyinst", "allinst")],
        **operands,
        **flags,
    )


def _check_instances(anyinst: bool, allinst: bool) -> None:
    if anyinst or allinst:
        raise NotModelled("a branch with anyinst or allinst", "their meaning is not known")


@usse.insn(
    [_branch("br", 1, target=True)],
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
    [_branch("bra", 0, target=True)],
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
    [_branch("ret", 2, target=False)],
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


NOP = layout("11111@63:59 000@54:52 101@40:38 end@50 nosched@43")


@usse.insn(
    [form(NOP, "{name}", name="nop")],
    ref=Ref("usse", "2.7 NOP"),
    status="known",
    group="control",
)
def nop(name):
    """Do nothing."""


PHAS = layout(
    "11111@63:59 op2@58:56 cat@54:52 sprvv@55 end@51 imm@50 s1ext@49 s2ext@48 mode@45 ratehi@44 rate@43 wait@42:40 "
    "tempcount@39:32 s1bank@31:30 s2bank@29:28 addr@6:0 addr@13:7 addr@19:14"
)


@usse.insn(
    [
        form(
            PHAS,
            "{name} {wait} {rate} {ratehi} {mode} {sprvv} {imm} temps {tempcount} addr {addr} {bank1} {bank2}",
            {PHAS.op2: 2, PHAS.cat: 4},
            name="phas",
            flags=("end",),
            wait=Enum(PHAS.wait, {v: f"wait{v}" for v in range(8)}),
            rate=Flag(PHAS.rate, "rate"),
            ratehi=Flag(PHAS.ratehi, "ratehi"),
            mode=Flag(PHAS.mode, "mode"),
            sprvv=Flag(PHAS.sprvv, "sprvv"),
            imm=Enum(PHAS.imm, {1: "", 0: "noimm"}),
            tempcount=Imm(PHAS.tempcount, label="a number of temporaries"),
            addr=Imm(PHAS.addr, label="an address"),
            bank1=Enum(PHAS.s1bank + PHAS.s1ext, {v: f"b1.{v}" if v else "" for v in range(8)}),
            bank2=Enum(PHAS.s2bank + PHAS.s2ext, {v: f"b2.{v}" if v else "" for v in range(8)}),
            default=PHAS.imm.mask,
            control=("wait", "rate", "ratehi", "mode", "sprvv", "imm", "tempcount", "addr", "bank1", "bank2"),
        )
    ],
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


SMLSI = layout(
    "11111@63:59 nosched@50 templim@47:44 palim@43:40 salim@39:36 dmode@35 s0mode@34 s1mode@33 s2mode@32 dinc@31:24 "
    "s0inc@23:16 s1inc@15:8 s2inc@7:0 0@54 01@53:52 010@58:56"
)


@usse.insn(
    [
        form(
            SMLSI,
            "{name} limits {temp} {pa} {sa} d {d} s0 {s0} s1 {s1} s2 {s2}",
            name="smlsi",
            flags=("nosched",),
            temp=Imm(SMLSI.templim, fixed=True, label="a limit"),
            pa=Imm(SMLSI.palim, fixed=True, label="a limit"),
            sa=Imm(SMLSI.salim, fixed=True, label="a limit"),
            d=_movement(SMLSI.dinc, SMLSI.dmode),
            s0=_movement(SMLSI.s0inc, SMLSI.s0mode),
            s1=_movement(SMLSI.s1inc, SMLSI.s1mode),
            s2=_movement(SMLSI.s2inc, SMLSI.s2mode),
        )
    ],
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


SMBO = layout("11111@63:59 nosched@50 doff@47:36 s0off@35:24 s1off@23:12 s2off@11:0 0@54 01@53:52 011@58:56")


@usse.insn(
    [
        form(
            SMBO,
            "{name} {d} {s0} {s1} {s2}",
            name="smbo",
            flags=("nosched",),
            d=Imm(SMBO.doff, fixed=True),
            s0=Imm(SMBO.s0off, fixed=True),
            s1=Imm(SMBO.s1off, fixed=True),
            s2=Imm(SMBO.s2off, fixed=True),
        )
    ],
    ref=Ref("usse", "2.7 SMBO"),
    status="inferred",
    group="control",
)
def smbo(name, d, s0, s1, s2):
    """Set the base offsets that are added to the registers of repeated instructions."""
    BASES(dst=d, src0=s0, src1=s1, src2=s2)


KILL = layout("11111@63:59 pred@42:41 special@54 cat@53:52 op2@58:56 s1bank@31:30 s2bank@29:28 s1n@13:7 s2n@6:0")


_KILL_SA0 = {KILL.s1bank: 3, KILL.s2bank: 3, KILL.s1n: 0, KILL.s2n: 0}


def _kill_source(n: int) -> Choice:
    """An operand that is left out where both are sa0."""
    return choice(when(_KILL_SA0, Nothing()), when({}, word_source(KILL, n, ext=False)))


@usse.insn(
    [
        form(
            KILL,
            "{name} {condition} {src1} {src2}",
            {KILL.op2: 1, KILL.cat: 3, KILL.special: 0},
            name="kill",
            default=0x6F0000000,
            condition=Enum(
                KILL.pred,
                {0: "", 1: "!p0", 2: "!p1", 3: "p0"},
                {0: None, 1: (0, True), 2: (1, True), 3: (0, False)},
                label="always",
                typed=predicate_operand,
            ),
            src1=_kill_source(1),
            src2=_kill_source(2),
        )
    ],
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


DEPTHF = layout(
    "11111@63:59 011@58:56 11@53:52 sync@55 s0ext@51 end@50 s1ext@49 s2ext@48 nosched@43 short@42:41 twosided@37 "
    "feedback@36:35 s0bank@34 s1bank@31:30 s2bank@29:28 dn@27:21 s0n@20:14 s1n@13:7 s2n@6:0 0@54"
)


_DEPTH_PARTS: dict[str, Any] = {
    "src0": source(DEPTHF, 0, double=True, alias=8),
    "src1": word_source(DEPTHF, 1),
    "src2": word_source(DEPTHF, 2),
    "twosided": Flag(DEPTHF.twosided, "twosided"),
    "feedback": Enum(DEPTHF.feedback, {v: f"feedback{v}" if v else "" for v in range(4)}),
}


@usse.insn(
    [
        form(
            DEPTHF,
            "{name} {src0} {src1} {src2} {twosided} {feedback}",
            name="depthf",
            control=("twosided", "feedback"),
            **_DEPTH_PARTS,
        )
    ],
    ref=Ref("usse", "2.7 DEPTHF"),
    status="known",
    notes=["sources 1 and 2 hold state of the depth unit that is not modelled"],
    group="control",
)
def depthf(name, src0, src1, src2):
    """Replace the depth of the pixel by SRC0.x."""
    DEPTH(src0.channel(0))


EMIT = layout("11111@63:59 011@58:56 10@53:52 special@54 end@50")


@usse.insn(
    [form(EMIT, "{name}", name="emit", default=0xFB275000A0200000 & ~(31 << 59))],
    ref=Ref("usse", "2.7 EMIT"),
    status="known",
    notes=["its fields are not known; compilers always write the same word"],
    group="control",
)
def emit(name):
    """Emit the vertex whose outputs stand in o0 and after; with `end` the program is over."""
    EMIT_RESULTS()


SPECIAL = layout("11111@63:59 cat@53:52 op2@58:56 special@54 upper@55 rest@51:0")
_SPECIAL_1_5 = {SPECIAL.cat: 1, SPECIAL.op2: 5, SPECIAL.special: 0, SPECIAL.upper: 0, SPECIAL.rest: 0}


@usse.insn(
    [form(SPECIAL, "{name} 0x1 0x5", _SPECIAL_1_5, name="spec")],
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


_KNOWN_SPECIALS = [
    _SPECIAL_1_5,
    {SPECIAL.cat: 2, SPECIAL.op2: 1},
    {SPECIAL.cat: 2, SPECIAL.op2: 3},
    {SPECIAL.cat: 2, SPECIAL.op2: 4},
    {SPECIAL.cat: 1, SPECIAL.op2: 2, SPECIAL.special: 0},
    {SPECIAL.cat: 1, SPECIAL.op2: 3, SPECIAL.special: 0},
    {SPECIAL.cat: 3, SPECIAL.op2: 1, SPECIAL.special: 0},
    {SPECIAL.cat: 3, SPECIAL.op2: 3, SPECIAL.special: 0},
    {BR.zero: 0, BR.sub: 0},
    {BR.zero: 0, BR.sub: 1},
    {BR.zero: 0, BR.sub: 2},
    {BR.zero: 0, BR.sub: 5},
    {PHAS.op2: 2, PHAS.cat: 4},
]


@usse.insn(
    [
        form(
            SPECIAL,
            "{name} {cat} {op2}",
            name="spec",
            cat=Imm(SPECIAL.cat, fixed=True),
            op2=Imm(SPECIAL.op2, fixed=True),
            unless=_KNOWN_SPECIALS,
            lacking=UNEXPLORED,
        )
    ],
    ref=_REF,
    status="unknown",
    notes=["more instructions are known by name than by encoding"],
    group="control",
)
def spec(name, cat, op2):
    """An instruction of the special group, by category and number, whose meaning is not known."""
    raise NotModelled(f"`spec {cat} {op2}`", "its meaning is not known")
