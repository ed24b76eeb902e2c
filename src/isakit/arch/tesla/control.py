"""Control flow, barriers, votes and the instructions that do nothing.

Source: [001] "Long control instructions", [000] "Control instructions"; corrections in [tesla] 8 and 9.
"""

from __future__ import annotations

from isakit.arch.tesla.fields import w1
from isakit.arch.tesla.forms import Control, Long, control, long, short_control
from isakit.arch.tesla.operands import FCDST, GUARD, TARGET, memory
from isakit.arch.tesla.requests import (
    BAR,
    BRA,
    BRA_INDIRECT,
    BRK,
    BRKPT,
    CALL,
    DISCARD,
    JOINAT,
    PMEVENT,
    PREBRK,
    PRERET,
    QUADON,
    QUADPOP,
    RET,
    TRAP,
    VOTE,
)
from isakit.arch.tesla.tesla import tesla
from isakit.sem import const, select, u1
from isakit.spec import Enum, Flag, Literal, Ref, Status, bits, choice, when
from isakit.spec import Imm as Number

_CF = Ref("000", "Control instructions")
_SEE = [Ref("tesla", "9")]
LIM = Flag(Control.lim, "lim")


@tesla.insn(
    [control("discard", 0, predicated=True, name="discard", needs="fragment")],
    ref=_CF,
    see=_SEE,
    group="control",
)
def discard(name):
    """Discard the fragment: its results are not written; the lane goes on only as a helper of its quad."""
    DISCARD()


@tesla.insn(
    [control("bra {target}", 1, predicated=True, name="bra", target=TARGET)],
    ref=_CF,
    see=_SEE,
    notes=["the target's bits are w0[26:11] and w1[19:14]; [001] says 9-24. [tesla] 13 no. 2"],
    group="branch",
    ends=True,
)
def bra(name, target):
    """Branch. Where lanes disagree, one side is taken and the other waits on the control flow stack."""
    BRA(target)


@tesla.insn(
    [control("call {lim} {target}", 2, name="call", lim=LIM, target=TARGET)],
    ref=_CF,
    see=_SEE,
    group="call",
)
def call(name, lim, target):
    """Call a function: push the return address and branch. `lim` calls are skipped while the call limit is reached."""
    CALL(target, lim=lim)


@tesla.insn(
    [control("ret", 3, predicated=True, name="ret")],
    ref=_CF,
    see=_SEE,
    group="return",
    ends=True,
)
def ret(name):
    """Return from a function. Without a call on the stack it ends the lane."""
    RET()


@tesla.insn(
    [control("{name} {target}", 4, name=Literal("breakaddr", aliases=("prebrk",)), target=TARGET)],
    ref=_CF,
    see=_SEE,
    group="control",
    break_target=True,
)
def prebrk(name, target):
    """Push the address where lanes continue that execute `break`, and the lanes active now."""
    PREBRK(target)


@tesla.insn(
    [control("{name}", 5, predicated=True, name=Literal("break", aliases=("brk",)))],
    ref=_CF,
    see=_SEE,
    group="branch",
    ends=True,
    breaks=True,
)
def brk(name):
    """Leave to the nearest address given by `breakaddr`."""
    BRK()


@tesla.insn(
    [control("quadon", 6, name="quadon")],
    ref=_CF,
    see=_SEE,
    group="control",
)
def quadon(name):
    """Switch on all lanes of every quad that has an active one, until quadpop."""
    QUADON()


@tesla.insn(
    [control("quadpop", 7, name="quadpop")],
    ref=_CF,
    see=_SEE,
    group="control",
)
def quadpop(name):
    """Undo quadon."""
    QUADPOP()


_ALL = w1(14)


@tesla.insn(
    [
        control(
            "bar {inc} {wait} {barrier} {count}",
            8,
            name="bar",
            inc=Flag(bits(25), "inc"),
            wait=Flag(bits(26), "wait"),
            barrier=Number(bits(21, 24), 32, label="a barrier"),
            count=choice(
                when({_ALL: 1}, Literal("all", -1)), when({_ALL: 0}, Number(bits(9, 20), 32, label="a count"))
            ),
        )
    ],
    ref=_CF,
    see=[Ref("tesla", "9.3")],
    group="barrier",
)
def bar(name, inc, wait, barrier, count):
    """Barrier: `inc` counts the warp, `wait` holds it until the counter is 0.

    The counter restarts when it reaches the count; 0xfff and `all` mean all warps of the block.
    """
    everyone = isinstance(count, int)
    BAR(barrier, const(0xFFF, 32) if everyone else count, inc=inc, wait=wait, all=everyone)


@tesla.insn(
    [control("trap", 9, name="trap"), short_control("trap", 9, name="trap")],
    ref=_CF,
    see=_SEE,
    group="exit",
    ends=True,
)
def trap(name):
    """Stop the program with an error."""
    TRAP()


@tesla.insn(
    [control("joinat {target}", 0xA, name="joinat", target=TARGET)],
    ref=_CF,
    see=_SEE,
    group="control",
    join_target=True,
)
def joinat(name, target):
    """Push the address of a later `join` and the lanes active now, which will meet there."""
    JOINAT(target)


@tesla.insn(
    [
        control("brkpt", 0xB, predicated=True, name="brkpt", needs="sm11"),
        short_control("brkpt", 0xB, name="brkpt", needs="sm11"),
    ],
    ref=_CF,
    see=_SEE,
    group="control",
)
def brkpt(name):
    """Breakpoint: does nothing unless a debugger watches."""
    BRKPT()


@tesla.insn(
    [
        control(
            "bra {lim} {source}",
            0xC,
            name="bra",
            lim=LIM,
            needs="gt200+",
            source=memory("c", Control.offset16, 4, 4, 32, bank=Control.cspace, address=Control.areg),
        )
    ],
    ref=Ref("001", "Opcode map: bra c[]"),
    see=_SEE,
    status=Status.INFERRED,
    notes=[
        "which chips have it is disputed; accepted from GT200 on. [tesla] 13 no. 24",
        "`lim` has no known effect on a branch",
    ],
    group="branch",
    ends=True,
)
def bra_c(name, lim, source):
    """Branch to the code address loaded from a constant space."""
    BRA_INDIRECT(source.read())


@tesla.insn(
    [control("preret {lim} {target}", 0xD, name="preret", lim=LIM, target=TARGET, needs="gt200+")],
    ref=Ref("001", "Opcode map: preret"),
    see=_SEE,
    status=Status.INFERRED,
    notes=["which chips have it is disputed; accepted from GT200 on. [tesla] 13 no. 24"],
    group="control",
)
def preret(name, lim, target):
    """Push a return address for a later `ret` without branching."""
    PRERET(target, lim=lim)


# --- vote, nop, pmevent -----------------------------------------------------------------------------------------------


@tesla.insn(
    [
        long(
            "{pred} vote {kind} {cdst}",
            {Long.op: 1, Long.sub: 3},
            predicated=False,
            name="vote",
            pred=GUARD,
            kind=Enum(bits(9, 10), {1: "any", 2: "all"}),
            cdst=FCDST,
            needs="sm12",
            ignored=Long.cdst_en.mask,
        )
    ],
    ref=Ref("000", "5: vote"),
    see=[Ref("tesla", "8")],
    notes=["the value written for true is 2, for false 1: a decision, [tesla] 14"],
)
def vote(name, pred, kind, cdst):
    """Combine the predicate over the active lanes of the warp; it is data here, not a condition of execution."""
    holds = pred.holds() if pred is not None else u1(1)
    cdst.write(select(VOTE(holds, kind=kind), const(2, 4), const(1, 4)))


_EVENT = w1(2)


@tesla.insn(
    [long("nop", {Long.op: 0xF, Long.sub: 7, _EVENT: 0}, name="nop")],
    ref=Ref("000", "Long instructions f/e"),
    see=[Ref("tesla", "8")],
    group="control",
)
def nop(name):
    """Do nothing; carries `exit` and `join`."""


@tesla.insn(
    [
        long(
            "pmevent {event}",
            {Long.op: 0xF, Long.sub: 7, _EVENT: 1},
            name="pmevent",
            event=Number(bits(10, 13), 32, label="an event number"),
        )
    ],
    ref=Ref("000", "Long instructions f/e"),
    see=[Ref("tesla", "8")],
    group="control",
)
def pmevent(name, event):
    """Raise a performance counter event."""
    PMEVENT(event)
