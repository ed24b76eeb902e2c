"""The special-function unit: rcp, rsqrt, lg2, sin, cos, ex2, and the pre-operations of the last three.

Source: [000] "5. TBD"; encodings in [tesla] 5.4, the bit-exact functions in [tesla] 6.
"""

from __future__ import annotations

from typing import Any

from isakit.arch.tesla.fields import w1
from isakit.arch.tesla.float32 import ABS1, NEG1, SAT_NAN_RULE, modified, saturated
from isakit.arch.tesla.forms import Long, Short, long, short
from isakit.arch.tesla.operands import LDST, SDST, gpr, lsrc1
from isakit.arch.tesla.tesla import tesla
from isakit.sem.fp import sfu
from isakit.spec import Enum, Flag, Ref

_REF = Ref("000", "5. TBD: rcp, rsqrt, lg2, sin, cos, ex2")
_SEE = [Ref("tesla", "5.4"), Ref("tesla", "6")]
_SOURCE = gpr(Long.src1, 32)


@tesla.insn(
    [
        short(
            "rcp f32 {dst} {neg} {abs} {src}",
            {Short.op: 9},
            name="rcp",
            dst=SDST,
            neg=Flag(Short.mod3, "neg"),
            abs=Flag(Short.mod2, "abs"),
            src=gpr(Short.src1, 32),
        ),
        *[
            long(
                f"{name} f32 {{dst}} {{neg}} {{abs}} {{src}}",
                {Long.op: 9, Long.sub: sub},
                name=name,
                dst=LDST,
                neg=NEG1,
                abs=ABS1,
                src=_SOURCE,
            )
            for sub, name in ((0, "rcp"), (2, "rsqrt"), (3, "lg2"))
        ],
    ],
    ref=_REF,
    see=_SEE,
    notes=[
        "the modifiers of the short rcp were never compared with a chip; the encoding is that of the public "
        "disassembler. [tesla] 5.4"
    ],
)
def reciprocal_logarithm(name, dst, neg, abs, src):
    """Approximate 1/SRC (rcp), 1/sqrt(SRC) (rsqrt) or the base-2 logarithm (lg2) of an f32, by table and parabola.

    Denormals count as zero. A negative number has no square root and no logarithm: the result is NaN.
    """
    function = {"rcp": sfu.rcp, "rsqrt": sfu.rsqrt, "lg2": sfu.lg2}[name]
    dst.write(function(modified(src, neg, abs)))


@tesla.insn(
    [
        long(f"{name} f32 {{dst}} {{src}}", {Long.op: 9, Long.sub: sub}, sine=name == "sin", dst=LDST, src=_SOURCE)
        for sub, name in ((4, "sin"), (5, "cos"))
    ],
    ref=_REF,
    see=_SEE,
)
def sin_cos(sine, dst, src):
    """Sine or cosine of an angle that `presin` has prepared; infinity and NaN give NaN."""
    dst.write(sfu.sin(src.read()) if sine else sfu.cos(src.read()))


@tesla.insn(
    [
        long(
            "ex2 f32 {sat} {dst} {src} {rule}",
            {Long.op: 9, Long.sub: 6},
            sat=Flag(Long.m2, "sat"),
            dst=LDST,
            src=_SOURCE,
            rule=SAT_NAN_RULE,
        )
    ],
    ref=_REF,
    see=_SEE,
)
def ex2(sat, dst, src, rule):
    """2 to the power of an exponent that `preex2` has prepared; `sat` clamps the result to 0 .. 1."""
    argument: Any = src.read()
    result = sfu.ex2(argument)
    # The argument is fixed point, so the NaN the flag looks for is the one the unit makes.
    dst.write(saturated(result, rule, result) if sat else result)


@tesla.insn(
    [
        long(
            "{name} f32 {dst} {neg} {abs} {src}",
            {Long.op: 0xB, Long.sub: 6},
            name=Enum(w1(14), {0: "presin", 1: "preex2"}),
            dst=LDST,
            neg=NEG1,
            abs=ABS1,
            src=lsrc1(32, strict=False),
        )
    ],
    ref=Ref("000", "5. TBD: presin, preex2"),
    see=_SEE,
)
def pre(name, dst, neg, abs, src):
    """Prepare an f32 for `sin` and `cos` (presin: multiplied by 2/pi, 2.23 fixed point) or for `ex2` (preex2: 7.23).

    The sign stays in bit 31; bit 30 marks infinity and NaN.
    """
    function = sfu.presin if name == "presin" else sfu.preex2
    dst.write(function(modified(src, neg, abs)))
