"""Instructions of the graphics program types: interpolation (fragment), emit and restart (geometry); and group f/5.

Source: [000] "5. TBD"; encodings in [tesla] 5.8 and 8.
"""

from __future__ import annotations

from typing import Any

from isakit.arch.tesla.fields import w1
from isakit.arch.tesla.forms import Long, Short, long, short
from isakit.arch.tesla.operands import SDST, gpr, memory
from isakit.arch.tesla.requests import EMIT, INTERP, RESTART
from isakit.arch.tesla.tesla import tesla
from isakit.sem.fp import f32
from isakit.sem.fp.core import negated
from isakit.spec import Field, Flag, Literal, Nothing, Ref, Status, bits, choice, when

NON_FRAGMENT = "INTERP_NON_FP"
NON_GEOMETRY = "EMIT_NON_GP"
_ADDRESS = bits(16, 23)


def _interp(layout: Any, build: Any, opcode: dict[Any, int], flat: Field, centroid: Field, multiply: Field,
            dst: Any, neg: Any) -> Any:  # fmt: skip
    """A form of interp: `flat` excludes the other two, which then are no legal encoding."""
    mode = choice(when({flat: 0}, Flag(centroid, "cent")), when({flat: 1, centroid: 0, multiply: 0}, Literal("flat")))
    factor = choice(when({multiply: 1}, gpr(layout.src1, 32)), when({multiply: 0}, Nothing()))
    return build(
        "interp {dst} {mode} {src} {neg} {factor}",
        opcode,
        needs="fragment",
        lacking=NON_FRAGMENT,
        dst=dst,
        mode=mode,
        src=memory("v", _ADDRESS, 4, 4, 32, address=layout.areg),
        neg=neg,
        factor=factor,
    )


_MULTIPLY = w1(17)


@tesla.insn(
    [
        _interp(Short, short, {Short.op: 8}, Short.mod1, Short.src1_s, Short.postinc, SDST, Nothing(False)),
        _interp(
            Long,
            long,
            {Long.op: 8, Long.sub: 0},
            w1(18),
            w1(16),
            _MULTIPLY,
            gpr(Long.dst, 32),
            choice(when({_MULTIPLY: 1}, Flag(Long.m1, "neg")), when({_MULTIPLY: 0}, Nothing(False))),
        ),
    ],
    ref=Ref("000", "5. TBD: interp"),
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


def _geometry(name: str, code: int) -> Any:
    return long(name, {Long.op: 0xF, Long.sub: 6, bits(9, 10): code}, needs="geometry", lacking=NON_GEOMETRY)


@tesla.insn(
    [_geometry("emit", 1)],
    ref=Ref("000", "5. TBD: emit"),
    see=[Ref("tesla", "8")],
    group="control",
)
def emit():
    """Emit the contents of o[] as the next vertex of the output primitive, and clear o[]."""
    EMIT()


@tesla.insn(
    [_geometry("restart", 2)],
    ref=Ref("000", "5. TBD: restart"),
    see=[Ref("tesla", "8")],
    group="control",
)
def restart():
    """Finish the output primitive and start a new one."""
    RESTART()


@tesla.insn(
    [long("nop5", {Long.op: 0xF, Long.sub: 5})],
    ref=Ref("000", "Long instructions f/a"),
    status=Status.UNKNOWN,
    notes=["runs without an error and without a visible effect; the name is ours"],
    group="control",
)
def nop5():
    """Do nothing that anybody has noticed."""
