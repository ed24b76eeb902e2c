"""Instructions of the graphics program types: interpolation (fragment), emit and restart (geometry); and group f/5.

Source: [000] "5. TBD"; encodings in [tesla] 5.8 and 8.
"""

from __future__ import annotations

from isakit.arch.tesla.forms import forms
from isakit.arch.tesla.requests import EMIT, INTERP, RESTART
from isakit.arch.tesla.tesla import tesla
from isakit.sem.fp import f32
from isakit.sem.fp.core import negated
from isakit.spec import Literal, Nothing, Ref, cases, flag


@tesla.insn(
    forms(
        """
        short  interp {dst} {mode} {src=memory:v,n} {neg} {factor}
               1000 ..mc n nnnnnnn ....... f...... ..
               | needs fragment | lacking INTERP_NON_FP
        long   interp {dst=rd} {mode} {src=memory:v,n} {neg=negated} {factor}
               1000 .... n nnnnnnn ....... ....... ..  000 ..g .... . ..fmc.. .. ..... .......
               | needs fragment | lacking INTERP_NON_FP
        """,
        mode=cases({"f=0": flag("cent", on="c"), "f=1 c=0 m=0": Literal("flat")}),
        neg=Nothing(False),
        negated=cases({"m=1": flag("neg", on="g"), "m=0": Nothing(False)}),
        factor=cases({"m=1": "r1", "m=0": Nothing()}),
    ),
    ref=Ref("000", "5. TBD: interp"),
    status="known",
    see=[Ref("tesla", "5.8")],
    notes=["how the planes are evaluated is not known to the last bit; the machine decides"],
    group="memory",
)
def interp(dst, mode, src, neg, factor):
    """Interpolated input of a fragment: DST = v[] at the fragment, optionally times a register.

    `cent` evaluates at the centroid of the covered samples, `flat` takes the provoking vertex's value. The factor,
    usually w, makes the value perspective correct: v[] holds attributes divided by w.
    """
    value = INTERP(src.address, flat=mode == "flat", centroid=mode is True)
    if factor is not None:
        w = factor.read()
        value = f32.f32_mul(value, negated(w) if neg else w)
    dst.write(value)


@tesla.insn(
    forms(
        """
        long  emit
              1111 .... . ....... .....01 ....... ..  110 ... .... . ....... .. ..... .......
              | needs geometry | lacking EMIT_NON_GP
        """
    ),
    ref=Ref("000", "5. TBD: emit"),
    status="known",
    see=[Ref("tesla", "8")],
    group="control",
)
def emit():
    """Emit the contents of o[] as the next vertex of the output primitive, and clear o[]."""
    EMIT()


@tesla.insn(
    forms(
        """
        long  restart
              1111 .... . ....... .....10 ....... ..  110 ... .... . ....... .. ..... .......
              | needs geometry | lacking EMIT_NON_GP
        """
    ),
    ref=Ref("000", "5. TBD: restart"),
    status="known",
    see=[Ref("tesla", "8")],
    group="control",
)
def restart():
    """Finish the output primitive and start a new one."""
    RESTART()


@tesla.insn(
    forms("long  nop5  1111 .... . ....... ....... ....... ..  101 ... .... . ....... .. ..... ......."),
    ref=Ref("000", "Long instructions f/a"),
    status="unknown",
    notes=["runs without an error and without a visible effect; the name is ours"],
    group="control",
)
def nop5():
    """Do nothing that has been observed."""
