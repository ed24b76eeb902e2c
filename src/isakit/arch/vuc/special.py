"""Special instructions: flow, waiting, I/O commands, predicate logic, loads and stores, long arithmetic.

What the surroundings do (waiting, macroblock and motion-vector units) is requested from the machine.
Source: [vuc] 4, 5, 7, 8, 14.
"""

from __future__ import annotations

from typing import Any

from isakit.arch.vuc.fields import DST, OC, OP, SRC1, SRC2
from isakit.arch.vuc.forms import ONLY_VP4, SHARED_LOAD, VP3_UP, simple, special
from isakit.arch.vuc.memory_operands import TARGET, load_address, store_address
from isakit.arch.vuc.operands import BIT_NUMBER, SPECIAL_SOURCE2, general
from isakit.arch.vuc.predicates import PREDICATE_DST, negatable
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
from isakit.spec import Ref, Status, bits, where

SPECIAL_REF, FLOW, LONG, MEMORY = Ref("vuc", "4"), Ref("vuc", "7"), Ref("vuc", "5"), Ref("vuc", "13")
FLOW_CLASS, IO_CLASS, PREDICATE_CLASS, MEMORY_CLASS, LONG_CLASS = 0, 1, 2, 4, 5


# --- flow -------------------------------------------------------------------------------------------------------------


@vuc.insn(
    [special("bra", {OC: FLOW_CLASS, OP: 0}, "{target}", target=TARGET)],
    ref=FLOW,
    latency=2,
    notes=["the instruction behind is executed in any case (one delay slot)"],
    group="branch",
    ends=True,
)
def bra(target):
    """Branch to an absolute address; the next instruction is still executed."""
    BRANCH(target)


@vuc.insn(
    [special("call", {OC: FLOW_CLASS, OP: 2}, "{target}", target=TARGET)],
    ref=FLOW,
    latency=2,
    notes=["the return address, call + 2, follows from the delay slot [inferred]", "the stack holds 8 entries"],
    group="call",
)
def call(target):
    """Push the address behind the delay slot on the call stack and branch; the next instruction is still executed."""
    CALL(target)


@vuc.insn(
    [simple("ret", FLOW_CLASS, 3)],
    ref=FLOW,
    latency=2,
    notes=["one delay slot"],
    group="return",
    ends=True,
)
def ret():
    """Branch to the address popped from the call stack; the next instruction is still executed."""
    RETURN()


@vuc.insn(
    [simple("sleep", FLOW_CLASS, 4)],
    ref=FLOW,
    group="control",
)
def sleep():
    """Idle until a macroblock is available ($stat bit 10) or the host has written H2V (bit 11); at least one cycle."""
    SLEEP()


@vuc.insn(
    [special("wstc", {OC: FLOW_CLASS, OP: 5}, "{bit}", bit=BIT_NUMBER)],
    ref=FLOW,
    group="control",
)
def wstc(bit):
    """Wait until a bit of $stat is 0; at least one cycle. The unit counts as busy meanwhile."""
    WAIT(bit, level=0)


@vuc.insn(
    [special("wsts", {OC: FLOW_CLASS, OP: 6}, "{bit}", bit=BIT_NUMBER)],
    ref=FLOW,
    see=[Ref("vuc", "15 item 16")],
    group="control",
)
def wsts(bit):
    """Wait until a bit of $stat is 1; at least one cycle. The unit counts as busy meanwhile."""
    WAIT(bit, level=1)


# --- I/O commands -----------------------------------------------------------------------------------------------------


@vuc.insn(
    [simple("clicnt", IO_CLASS, 0x00)],
    ref=Ref("vuc", "11"),
    group="control",
)
def clicnt():
    """Set the instruction counter $icnt to 0 and so feed the watchdog."""
    CLICNT()


@vuc.insn(
    [simple("mbiread", IO_CLASS, 0x04)],
    ref=Ref("vuc", "14 MBRING"),
    see=[Ref("vuc", "8")],
    status=Status.INFERRED,
    notes=["firmware leaves five instructions before it uses the registers"],
    group="memory",
)
def mbiread():
    """Load the current macroblock's data from the MBRING into the macroblock registers and the prediction tables."""
    MBIREAD()


@vuc.insn(
    [simple("mbinext", IO_CLASS, 0x08)],
    ref=Ref("vuc", "14 MBRING"),
    status=Status.INFERRED,
    group="memory",
)
def mbinext():
    """Drop the current macroblock and go on to the next one; clears $stat bit 10 behind the last one available."""
    MBINEXT()


@vuc.insn(
    [simple("mvsread", IO_CLASS, 0x09)],
    ref=Ref("vuc", "14 MVSURF"),
    notes=["starting it again while it runs aborts the older one", "idiom: mvsread; nop; wsts 5"],
    group="memory",
)
def mvsread():
    """Read a macroblock pair from the input motion vector surface into MVSI[]; $stat bit 5 tells when it is there."""
    MVSREAD()


@vuc.insn(
    [simple("mvswrite", IO_CLASS, 0x0A)],
    ref=Ref("vuc", "14 MVSURF"),
    notes=["ignored while $stat bit 6 is 1", "idiom: mvswrite; nop; wstc 7 before MVSO[] is written again"],
    group="memory",
)
def mvswrite():
    """Write the macroblock in MVSO[] to the output motion vector surface; $stat bit 7 is 1 while it gathers."""
    MVSWRITE()


def _unknown(op: int, doc: str, needs: tuple[str, ...] = ()) -> None:
    def semantics():
        UNKNOWN(op=op)

    semantics.__doc__ = doc
    vuc.insn(
        [simple(f"unko2{op:x}", IO_CLASS, op, dont_care=False, needs=needs)],
        ref=SPECIAL_REF,
        status=Status.UNKNOWN,
        name=f"unko2{op:x}",
        group="control",
    )(semantics)


_unknown(0x01, "Unknown; refreshes the A-neighbour registers $sr32 to $sr42 in some way.")
_unknown(0x02, "Unknown; refreshes the B-neighbour registers $sr48 to $sr58 in some way.")
for _op in (0x03, 0x05, 0x06, 0x0B, 0x0C):
    _unknown(_op, "Unknown I/O command.")


# --- predicates -------------------------------------------------------------------------------------------------------

LOGIC = bits(0, 1, "OP[1:0]")
NOT2, NOT1, LOOSE = bits(2, name="OP[2]"), bits(3, name="OP[3]"), bits(4, name="OP[4]")
_SEED_NAMES = {
    "and": (("setand", 0, 0), ("setl", 0, 1), ("setg", 1, 0), ("setnor", 1, 1)),
    "or": (("setor", 0, 0), ("setge", 0, 1), ("setle", 1, 0), ("setnand", 1, 1)),
    "xor": (("setne", 0, 0), ("sete", 0, 1)),
}

OLD_NAMES = frozenset(name for group in _SEED_NAMES.values() for name, _, _ in group)


def _predicate_form(name: str, code: int):
    fixing = [(alias, where({NOT1: n1, NOT2: n2})) for alias, n1, n2 in _SEED_NAMES[name]]
    return special(
        name,
        {OC: PREDICATE_CLASS, LOGIC: code},
        "{pdst} {src1} {src2}",
        fixing=fixing,
        named=True,
        pdst=PREDICATE_DST,
        src1=negatable(SRC1, NOT1, OLD_NAMES),
        src2=negatable(SRC2, NOT2, OLD_NAMES),
    )


@vuc.insn(
    [_predicate_form("and", 0), _predicate_form("or", 1), _predicate_form("xor", 2)],
    ref=SPECIAL_REF,
    see=[Ref("vuc", "15 item 12")],
    name="predicate_logic",
    notes=["xor with one source negated is the same for either source", "OP bit 4 is unexplained"],
)
def predicate_logic(name, pdst, src1, src2):
    """AND, OR or exclusive OR of two predicates, each possibly negated, into a predicate."""
    a, b = src1.read(), src2.read()
    pdst.write({"and": a & b, "or": a | b, "xor": a ^ b}[name])


@vuc.insn(
    [special("nop", {OC: PREDICATE_CLASS, LOGIC: 3})],
    ref=SPECIAL_REF,
    notes=["only the low two OP bits are looked at; the others are kept as raw bits"],
    group="control",
)
def nop():
    """Do nothing for one cycle."""


# --- memory -----------------------------------------------------------------------------------------------------------

_SPACES: dict[str, tuple[int, tuple[str, ...]]] = {
    "D": (0, ("D",)),
    "PWT": (1, ("PWT", "F")),
    "VP": (2, ("VP",)),
    "MVSI": (4, ("MVSI", "I4", "G")),
    "MVSO": (5, ("MVSO", "O5")),
    "B6": (6, ("B6",)),
    "B7": (7, ("B7", "E", "IO")),
}
_LOADS = {
    "D": ("ld", ()),
    "PWT": ("ld", ("ld1",)),
    "MVSI": ("ld", ("ld4",)),
    "B6": ("ld6", ("ld", "iord")),
    "B7": ("ld7", ("ld", "iord")),
}
_STORES = {
    "D": ("st", ()),
    "VP": ("st", ("st2",)),
    "MVSO": ("st", ("st5",)),
    "B6": ("st6", ("st", "iowr")),
    "B7": ("st7", ("st", "iowr")),
}


def _load_form(space: str):
    name, aliases = _LOADS[space]
    number, names = _SPACES[space]
    return special(
        name,
        {OC: MEMORY_CLASS, OP: number << 1 | 1},
        "{dst} {address}",
        aliases=aliases,
        space=space,
        dst=general(DST),
        address=load_address(*names),
        sharing={"address": SHARED_LOAD},
    )


def _store_form(space: str):
    name, aliases = _STORES[space]
    number, names = _SPACES[space]
    return special(
        name,
        {OC: MEMORY_CLASS, OP: number << 1},
        "{address} {src}",
        aliases=aliases,
        space=space,
        address=store_address(*names),
        src=general(SRC2),
        sharing={"address": SHARED_LOAD},
    )


@vuc.insn(
    [_load_form(s) for s in _LOADS],
    ref=MEMORY,
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
    [_store_form(s) for s in _STORES],
    ref=MEMORY,
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


def _long_form(name: str, op: int, aliases: tuple[str, ...], *, first: bool = False, needs: tuple[str, ...] = ()):
    operands = "{src1} {src2}" if first else "{src2}"
    sources: dict[str, Any] = {"src1": general(SRC1)} if first else {}
    return special(
        name,
        {OC: LONG_CLASS, OP: op},
        operands,
        aliases=aliases,
        needs=needs,
        named=True,
        **sources,
        src2=SPECIAL_SOURCE2,
    )


@vuc.insn(
    [
        _long_form("lmulu", 0, ("umul", "mul", "absmul"), first=True),
        _long_form("lmuls", 1, ("smul", "muls"), first=True),
    ],
    ref=LONG,
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
    [_long_form("lsrr", 2, ("srnd", "shift", "lsrnd"))],
    ref=LONG,
    see=[Ref("vuc", "15 item 14")],
    latency=1,
    unit="long",
)
def lsrr(name, src2):
    """Shift $lhi:$llo right with rounding: (v + 2^n) >> (n + 1), n = the low 5 bits of SRC2; ties round up."""
    v, n = read("acc", const(0, 1), 32).sext(34), src2.read() & 31
    _accumulate((v + (const(1, 34) << n)).sar(n).sar(1).trunc(32))


@vuc.insn([_long_form("ladd", 4, (), needs=VP3_UP)], ref=LONG, latency=1, unit="long")
def ladd(name, src2):
    """Add a signed 16-bit number to $lhi:$llo. VP3 and VP4."""
    _accumulate(read("acc", const(0, 1), 32) + src2.read().sext(32))


@vuc.insn([_long_form("lsar", 8, (), needs=VP3_UP)], ref=LONG, latency=1, unit="long")
def lsar(name, src2):
    """Shift $lhi:$llo right arithmetically by the low 5 bits of SRC2. VP3 and VP4."""
    _accumulate(read("acc", const(0, 1), 32).sar(src2.read() & 31))


@vuc.insn(
    [_long_form("ldivu", 0xC, (), needs=ONLY_VP4)],
    ref=LONG,
    latency=DIVIDE_LATENCY,
    unit="long",
    notes=["33 instructions before another long instruction, 34 before $llo is read"],
)
def ldivu(name, src2):
    """Divide $lhi:$llo, unsigned, by SRC2; a divisor of 0 gives 0xffffffff. VP4 only."""
    _accumulate(read("acc", const(0, 1), 32).udiv(src2.read().zext(32)), DIVIDE_LATENCY)
