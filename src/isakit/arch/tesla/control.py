"""Control flow, barriers, votes and the instructions that do nothing.

Source: [001] "Long control instructions", [000] "Control instructions"; corrections in [tesla] 8 and 9.
"""

from __future__ import annotations

from functools import partial

from isakit.arch.tesla import requests as request
from isakit.arch.tesla.fields import ControlWord
from isakit.arch.tesla.forms import forms
from isakit.arch.tesla.operands import memory
from isakit.arch.tesla.tesla import tesla
from isakit.sem import const, select, u1
from isakit.spec import Literal, Ref, cases, flag, number, words

_CF = Ref("000", "Control instructions")
_SEE = [Ref("tesla", "9")]
_known = partial(tesla.insn, ref=_CF, status="known", see=_SEE)


@_known(forms("guarded  discard  0000 ................ .......... ..  | needs fragment"), group="control")
def discard():
    """Discard the fragment: its results are not written; the lane goes on only as a helper of its quad."""
    request.DISCARD()


@_known(
    forms("guarded  bra {target}  0001 ................ .......... .."),
    notes=["the target's bits are w0[26:11] and w1[19:14]; [001] says 9-24. [tesla] 13 no. 2"],
    group="branch",
    ends=True,
)
def bra(target):
    """Branch. Where lanes disagree, one side is taken and the other waits on the control flow stack."""
    request.BRA(target)


@_known(forms("control  call {lim} {target}  0010 ................ .......... .."), group="call")
def call(lim, target):
    """Call a function: push the return address and branch. `lim` calls are skipped while the call limit is reached."""
    request.CALL(target, lim=lim)


@_known(forms("guarded  ret  0011 ................ .......... .."), group="return", ends=True)
def ret():
    """Return from a function. Without a call on the stack it ends the lane."""
    request.RET()


@_known(
    forms(
        "control  {name} {target}  0100 ................ .......... ..", name=Literal("breakaddr", aliases=("prebrk",))
    ),
    group="control",
    break_target=True,
)
def prebrk(name, target):
    """Push the address where lanes continue that execute `break`, and the lanes active now."""
    request.PREBRK(target)


@_known(
    forms("guarded  {name}  0101 ................ .......... ..", name=Literal("break", aliases=("brk",))),
    group="branch",
    ends=True,
    breaks=True,
)
def brk(name):
    """Leave to the nearest address given by `breakaddr`."""
    request.BRK()


@_known(forms("control  quadon  0110 ................ .......... .."), group="control")
def quadon():
    """Switch on all lanes of every quad that has an active one, until quadpop."""
    request.QUADON()


@_known(forms("control  quadpop  0111 ................ .......... .."), group="control")
def quadpop():
    """Undo quadon."""
    request.QUADPOP()


@tesla.insn(
    forms(
        """
        control  bar {inc:i} {wait:w} {barrier:b} {count}
                 1000 .wib bbbn nnnnnnnnnnn ....... ..  ............ .....a ....... . ......
        """,
        inc=flag("inc"),
        wait=flag("wait"),
        barrier=number("a barrier"),
        count=cases({"a=1": Literal("all", -1), "a=0": number("a count", on="n")}),
    ),
    ref=_CF,
    status="known",
    see=[Ref("tesla", "9.3")],
    group="barrier",
)
def bar(inc, wait, barrier, count):
    """Barrier: `inc` counts the warp, `wait` holds it until the counter is 0.

    The counter restarts when it reaches the count; 0xfff and `all` mean all warps of the block.
    """
    everyone = isinstance(count, int)
    request.BAR(barrier, const(0xFFF, 32) if everyone else count, inc=inc, wait=wait, all=everyone)


@_known(forms("control,short-control  trap  1001 ................ .......... .."), group="exit", ends=True)
def trap():
    """Stop the program with an error."""
    request.TRAP()


@_known(forms("control  joinat {target}  1010 ................ .......... .."), group="control", join_target=True)
def joinat(target):
    """Push the address of a later `join` and the lanes active now, which will meet there."""
    request.JOINAT(target)


@_known(forms("guarded,short-control  brkpt  1011 ................ .......... ..  | needs sm11"), group="control")
def brkpt():
    """Breakpoint: does nothing unless a debugger watches."""
    request.BRKPT()


@tesla.insn(
    forms(
        "control  bra {lim} {source}  1100 ................ .......... ..  | needs gt200+",
        source=memory("c", ControlWord.offset16, 4, 4, 32, bank=ControlWord.cspace, address=ControlWord.areg),
    ),
    ref=Ref("001", "Opcode map: bra c[]"),
    see=_SEE,
    status="inferred",
    notes=[
        "which chips have it is disputed; accepted from GT200 on. [tesla] 13 no. 24",
        "`lim` has no known effect on a branch",
    ],
    group="branch",
    ends=True,
)
def bra_c(lim, source):
    """Branch to the code address loaded from a constant space."""
    request.BRA_INDIRECT(source.read())


@tesla.insn(
    forms("control  preret {lim} {target}  1101 ................ .......... ..  | needs gt200+"),
    ref=Ref("001", "Opcode map: preret"),
    see=_SEE,
    status="inferred",
    notes=["which chips have it is disputed; accepted from GT200 on. [tesla] 13 no. 24"],
    group="control",
)
def preret(lim, target):
    """Push a return address for a later `ret` without branching."""
    request.PRERET(target, lim=lim)


# --- vote, nop, pmevent -----------------------------------------------------------------------------------------------


@tesla.insn(
    forms(
        """
        unguarded  {pred=guard} vote {kind:k} {cdst=fcdst}
                   0001 .... . ....... .....kk ....... ..  011 ... .... . ....... .. ..... -......
                   | needs sm12
        """,
        kind=words(None, "any", "all"),
    ),
    ref=Ref("000", "5: vote"),
    status="known",
    see=[Ref("tesla", "8")],
    notes=["the value written for true is 2, for false 1: a decision, [tesla] 14"],
)
def vote(pred, kind, cdst):
    """Combine the predicate over the active lanes of the warp; it is data here, not a condition of execution."""
    holds = pred.holds() if pred is not None else u1(1)
    cdst.write(select(request.VOTE(holds, kind=kind), const(2, 4), const(1, 4)))


@tesla.insn(
    forms("long  nop  1111 .... . ....... ....... ....... ..  111 ... .... . ....... .. ..... ....0.."),
    ref=Ref("000", "Long instructions f/e"),
    status="known",
    see=[Ref("tesla", "8")],
    group="control",
)
def nop():
    """Do nothing; carries `exit` and `join`."""


@tesla.insn(
    forms(
        "long  pmevent {event:n}  1111 .... . ....... ..nnnn. ....... ..  111 ... .... . ....... .. ..... ....1..",
        event=number("an event number"),
    ),
    ref=Ref("000", "Long instructions f/e"),
    status="known",
    see=[Ref("tesla", "8")],
    group="control",
)
def pmevent(event):
    """Raise a performance counter event."""
    request.PMEVENT(event)
