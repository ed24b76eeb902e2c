"""Special instructions: flow, waiting, I/O commands, predicate logic, loads and stores, long arithmetic.

What the surroundings do (waiting, macroblock and motion-vector units) is requested from the machine.
Source: [vuc] 4, 5, 7, 8, 14.
"""

from __future__ import annotations

from isakit.arch.vuc.forms import forms
from isakit.arch.vuc.predicates import negatable
from isakit.arch.vuc.requests import (
    BRANCH,
    CALL,
    CLICNT,
    MBINEXT,
    MBIREAD,
    MVSREAD,
    MVSWRITE,
    RETURN,
    SLEEP,
    UNKNOWN,
    WAIT,
)
from isakit.arch.vuc.vuc import vuc
from isakit.sem import const, load, read, store, write
from isakit.spec import Encoding, Literal, Part, Ref

SPECIAL_REF, FLOW, LONG, MEMORY = Ref("vuc", "4"), Ref("vuc", "7"), Ref("vuc", "5"), Ref("vuc", "13")


# --- flow -------------------------------------------------------------------------------------------------------------


@vuc.insn(
    forms("special  bra {target}  .1.1 .. .... .... .... .... 000 00000"),
    ref=FLOW,
    status="known",
    latency=2,
    notes=["the instruction after is executed in any case (one delay slot)"],
    group="branch",
    ends=True,
)
def bra(target):
    """Branch to an absolute address; the next instruction is still executed."""
    BRANCH(target)


@vuc.insn(
    forms("special  call {target}  .1.1 .. .... .... .... .... 000 00010"),
    ref=FLOW,
    status="known",
    latency=2,
    notes=["the return address, call + 2, follows from the delay slot [inferred]", "the stack holds 8 entries"],
    group="call",
)
def call(target):
    """Push the address past the delay slot on the call stack and branch; the next instruction is still executed."""
    CALL(target)


@vuc.insn(
    forms("special  ret  .1.1 .. .... .... .... .... 000 00011"),
    ref=FLOW,
    status="known",
    latency=2,
    notes=["one delay slot"],
    group="return",
    ends=True,
)
def ret():
    """Branch to the address popped from the call stack; the next instruction is still executed."""
    RETURN()


@vuc.insn(
    forms("special  sleep  .1.1 .. .... .... .... .... 000 00100"),
    ref=FLOW,
    status="known",
    group="control",
)
def sleep():
    """Idle until a macroblock is available ($stat bit 10) or the host has written H2V (bit 11); at least one cycle."""
    SLEEP()


@vuc.insn(
    forms("special  wstc {bit}  .1.1 .. .... .... .... .... 000 00101"),
    ref=FLOW,
    status="known",
    group="control",
)
def wstc(bit):
    """Wait until a bit of $stat is 0; at least one cycle. The unit counts as busy meanwhile."""
    WAIT(bit, level=0)


@vuc.insn(
    forms("special  wsts {bit}  .1.1 .. .... .... .... .... 000 00110"),
    ref=FLOW,
    status="known",
    see=[Ref("vuc", "15 item 16")],
    group="control",
)
def wsts(bit):
    """Wait until a bit of $stat is 1; at least one cycle. The unit counts as busy meanwhile."""
    WAIT(bit, level=1)


# --- I/O commands -----------------------------------------------------------------------------------------------------


@vuc.insn(
    forms("special  clicnt  .1.1 .. .... .... .... .... 001 00000"),
    ref=Ref("vuc", "11"),
    status="known",
    group="control",
)
def clicnt():
    """Set the instruction counter $icnt to 0 and so feed the watchdog."""
    CLICNT()


@vuc.insn(
    forms("special  mbiread  .1.1 .. .... .... .... .... 001 00100"),
    ref=Ref("vuc", "14 MBRING"),
    see=[Ref("vuc", "8")],
    status="inferred",
    notes=["firmware leaves five instructions before it uses the registers"],
    group="memory",
)
def mbiread():
    """Load the current macroblock's data from the MBRING into the macroblock registers and the prediction tables."""
    MBIREAD()


@vuc.insn(
    forms("special  mbinext  .1.1 .. .... .... .... .... 001 01000"),
    ref=Ref("vuc", "14 MBRING"),
    status="inferred",
    group="memory",
)
def mbinext():
    """Drop the current macroblock and go on to the next one; clears $stat bit 10 after the last one available."""
    MBINEXT()


@vuc.insn(
    forms("special  mvsread  .1.1 .. .... .... .... .... 001 01001"),
    ref=Ref("vuc", "14 MVSURF"),
    status="known",
    notes=["starting it again while it runs aborts the older one", "idiom: mvsread; nop; wsts 5"],
    group="memory",
)
def mvsread():
    """Read a macroblock pair from the input motion vector surface into MVSI[]; $stat bit 5 tells when it is there."""
    MVSREAD()


@vuc.insn(
    forms("special  mvswrite  .1.1 .. .... .... .... .... 001 01010"),
    ref=Ref("vuc", "14 MVSURF"),
    status="known",
    notes=["ignored while $stat bit 6 is 1", "idiom: mvswrite; nop; wstc 7 before MVSO[] is written again"],
    group="memory",
)
def mvswrite():
    """Write the macroblock in MVSO[] to the output motion vector surface; $stat bit 7 is 1 while it gathers."""
    MVSWRITE()


def _unknown(op: int, doc: str) -> None:
    def semantics():
        UNKNOWN(op=op)

    semantics.__doc__ = doc
    vuc.insn(
        forms(f"unknown  unko2{op:x}  .1.1 .. .... .... .... .... 001 {op:05b}"),
        ref=SPECIAL_REF,
        status="unknown",
        name=f"unko2{op:x}",
        group="control",
    )(semantics)


_unknown(0x01, "Unknown; refreshes the A-neighbour registers $sr32 to $sr42 in some way.")
_unknown(0x02, "Unknown; refreshes the B-neighbour registers $sr48 to $sr58 in some way.")
for _op in (0x03, 0x05, 0x06, 0x0B, 0x0C):
    _unknown(_op, "Unknown I/O command.")


# --- predicates -------------------------------------------------------------------------------------------------------

_OLD_NAMES = {
    "and": {"setand": "00", "setl": "01", "setg": "10", "setnor": "11"},
    "or": {"setor": "00", "setge": "01", "setle": "10", "setnand": "11"},
    "xor": {"setne": "00", "sete": "01"},
}
"""Names that also say which source is negated: the first, the second."""


def _logical(e: Encoding, name: str, negations: str) -> Part:
    return Literal(name, setting={old: e.where(f"{negations}={n}")[0] for old, n in _OLD_NAMES[name].items()})


def _negatable(e: Encoding, register: str, negation: str) -> Part:
    return negatable(
        e.field(register), e.field(negation), frozenset(old for names in _OLD_NAMES.values() for old in names)
    )


@vuc.insn(
    forms(
        """
        named  {name=logical:<name>,xy} {pdst} {src1=negatable:a,x} {src2=negatable:b,y}
               .1.1 .. .... .... bbbb aaaa 010 .xyOO
        """,
        """
        O   name
        00  and
        01  or
        10  xor
        """,
        logical=_logical,
        negatable=_negatable,
    ),
    ref=SPECIAL_REF,
    status="known",
    see=[Ref("vuc", "15 item 12")],
    name="predicate_logic",
    notes=["xor with one source negated is the same for either source", "OP bit 4 is unexplained"],
)
def predicate_logic(name, pdst, src1, src2):
    """AND, OR or exclusive OR of two predicates, each possibly negated, into a predicate."""
    a, b = src1.read(), src2.read()
    pdst.write({"and": a & b, "or": a | b, "xor": a ^ b}[name])


@vuc.insn(
    forms("special  nop  .1.1 .. .... .... .... .... 010 ...11"),
    ref=SPECIAL_REF,
    status="known",
    notes=["only the low two OP bits are looked at; the others are kept as raw bits"],
    group="control",
)
def nop():
    """Do nothing for one cycle."""


# --- memory -----------------------------------------------------------------------------------------------------------

# Spaces, and the mnemonics of their loads and stores, with the names that public tables use.


@vuc.insn(
    forms(
        """
        special  <names> {dst=r:d} {address=load:<spaces>}
                 .1.1 .. .... dddd .... .... 100 0SSS1  | space=<space>
        """,
        """
        S    space  names        spaces
        000  D      ld           D
        001  PWT    ld,ld1       PWT,F
        100  MVSI   ld,ld4       MVSI,I4,G
        110  B6     ld6,ld,iord  B6
        111  B7     ld7,ld,iord  B7,E,IO
        """,
    ),
    ref=MEMORY,
    status="known",
    see=[Ref("vuc", "8")],
    name="ld",
    latency=3,
    notes=[
        "memory is read at issue, the register is written three cycles later: two instructions in between",
        "two registers are added as they are; an offset has 10 bits, 6 under a guard",
        "PWT[] gives bytes, zero-extended [inferred]",
    ],
    group="memory",
)
def ld(space, dst, address):
    """Load a cell: DST = SPACE[address]. ld6 and ld7 are the loads of B6[] and B7[]."""
    dst.write(load(space, address, 1 if space == "PWT" else 2).resize(16), latency=3)


@vuc.insn(
    forms(
        """
        special  <names> {address=store:<spaces>} {src=r:s}
                 .1.1 .. .... .... ssss .... 100 0SSS0  | space=<space>
        """,
        """
        S    space  names        spaces
        000  D      st           D
        010  VP     st,st2       VP
        101  MVSO   st,st5       MVSO,O5
        110  B6     st6,st,iowr  B6
        111  B7     st7,st,iowr  B7,E,IO
        """,
    ),
    ref=MEMORY,
    status="known",
    name="st",
    see=[Ref("vuc", "15 item 18")],
    notes=[
        "with two registers the second one is doubled, in every space",
        "VP[] takes bytes or words depending on the address; which, is an option of the core",
    ],
    group="memory",
)
def st(space, address, src):
    """Store a register: SPACE[address] = SRC. st6 and st7 are the stores of B6[] and B7[]."""
    store(space, address, src.read())


# --- long arithmetic --------------------------------------------------------------------------------------------------

MULTIPLY_LATENCY, DIVIDE_LATENCY = 3, 34


def _accumulate(value, latency: int = 1) -> None:
    write("acc", 0, value, delayed=True, latency=latency)


@vuc.insn(
    forms(
        """
        named  lmulu,umul,mul,absmul {src1=r:a} {src2}  .1.1 .. .... .... .... aaaa 101 00000
        named  lmuls,smul,muls {src1=r:a} {src2}        .1.1 .. .... .... .... aaaa 101 00001
        """
    ),
    ref=LONG,
    status="known",
    see=[Ref("vuc", "15 item 13")],
    name="lmul",
    latency=MULTIPLY_LATENCY,
    unit="long",
    notes=[
        "two instructions before another long instruction, three before $lhi or $llo is read",
        "a long instruction started earlier aborts the multiplication",
    ],
)
def lmul(name, src1, src2):
    """Multiply 16 by 11 bits into $lhi:$llo: SRC1 times the low 11 bits of SRC2, both unsigned (lmulu) or signed."""
    a, b = src1.read(), src2.read().trunc(11)
    _accumulate(a.sext(32) * b.sext(32) if name == "lmuls" else a.zext(32) * b.zext(32), MULTIPLY_LATENCY)


@vuc.insn(
    forms("named  lsrr,srnd,shift,lsrnd {src2}  .1.1 .. .... .... .... .... 101 00010"),
    ref=LONG,
    status="known",
    see=[Ref("vuc", "15 item 14")],
    latency=1,
    unit="long",
)
def lsrr(name, src2):
    """Shift $lhi:$llo right with rounding: (v + 2^n) >> (n + 1), n = the low 5 bits of SRC2; ties round up."""
    v, n = read("acc", const(0, 1), 32).sext(34), src2.read() & 31
    _accumulate((v + (const(1, 34) << n)).sar(n).sar(1).trunc(32))


@vuc.insn(
    forms("named  ladd {src2}  .1.1 .. .... .... .... .... 101 00100  | needs vp3+"),
    ref=LONG,
    status="known",
    latency=1,
    unit="long",
)
def ladd(name, src2):
    """Add a signed 16-bit number to $lhi:$llo. VP3 and VP4."""
    _accumulate(read("acc", const(0, 1), 32) + src2.read().sext(32))


@vuc.insn(
    forms("named  lsar {src2}  .1.1 .. .... .... .... .... 101 01000  | needs vp3+"),
    ref=LONG,
    status="known",
    latency=1,
    unit="long",
)
def lsar(name, src2):
    """Shift $lhi:$llo right arithmetically by the low 5 bits of SRC2. VP3 and VP4."""
    _accumulate(read("acc", const(0, 1), 32).sar(src2.read() & 31))


@vuc.insn(
    forms("named  ldivu {src2}  .1.1 .. .... .... .... .... 101 01100  | needs vp4"),
    ref=LONG,
    status="known",
    latency=DIVIDE_LATENCY,
    unit="long",
    notes=["33 instructions before another long instruction, 34 before $llo is read"],
)
def ldivu(name, src2):
    """Divide $lhi:$llo, unsigned, by SRC2; a divisor of 0 gives 0xffffffff. VP4 only."""
    _accumulate(read("acc", const(0, 1), 32).udiv(src2.read().zext(32)), DIVIDE_LATENCY)
