"""The special-function unit: rcp, rsqrt, lg2, sin, cos, ex2, and the pre-operations of the last three.

Source: [000] "5. TBD"; encodings in [tesla] 5.4, the bit-exact functions in [tesla] 6.
"""

from __future__ import annotations

from isakit.arch.tesla.float32 import SAT_NAN_RULE, modified, saturated
from isakit.arch.tesla.forms import forms
from isakit.arch.tesla.tesla import tesla
from isakit.sem.fp import sfu
from isakit.spec import Ref, words

_REF = Ref("000", "5. TBD: rcp, rsqrt, lg2, sin, cos, ex2")
_SEE = [Ref("tesla", "5.4"), Ref("tesla", "6")]


@tesla.insn(
    forms(
        """
        short  {name} f32 {dst} {neg:n} {abs:a} {src=r1}
               1001 .... . n...... a...... ....... ..                                           | name=rcp
        long   {name} f32 {dst} {neg:n} {abs:a} {src=r1}
               1001 .... . ....... ....... ....... ..  000 ..n .... . a...... .. ..... .......  | name=rcp
        long   {name} f32 {dst} {neg:n} {abs:a} {src=r1}
               1001 .... . ....... ....... ....... ..  010 ..n .... . a...... .. ..... .......  | name=rsqrt
        long   {name} f32 {dst} {neg:n} {abs:a} {src=r1}
               1001 .... . ....... ....... ....... ..  011 ..n .... . a...... .. ..... .......  | name=lg2
        """
    ),
    ref=_REF,
    status="known",
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
    forms(
        """
        long  {name} f32 {dst} {src=r1}
              1001 .... . ....... ....... ....... ..  100 ... .... . ....... .. ..... .......  | name=sin
        long  {name} f32 {dst} {src=r1}
              1001 .... . ....... ....... ....... ..  101 ... .... . ....... .. ..... .......  | name=cos
        """
    ),
    ref=_REF,
    status="known",
    see=_SEE,
)
def sin_cos(name, dst, src):
    """Sine or cosine of an angle that `presin` has prepared; infinity and NaN give NaN."""
    dst.write(sfu.sin(src.read()) if name == "sin" else sfu.cos(src.read()))


@tesla.insn(
    forms(
        """
        long  ex2 f32 {sat:s} {dst} {src=r1} {rule}
              1001 .... . ....... ....... ....... ..  110 .s. .... . ....... .. ..... .......
        """,
        rule=SAT_NAN_RULE,
    ),
    ref=_REF,
    status="known",
    see=_SEE,
)
def ex2(sat, dst, src, rule):
    """2 to the power of an exponent that `preex2` has prepared; `sat` clamps the result to 0 .. 1."""
    argument = src.read()
    result = sfu.ex2(argument)
    # The argument is fixed point, so the NaN the flag looks for is the one the unit makes.
    dst.write(saturated(result, rule, result) if sat else result)


@tesla.insn(
    forms(
        """
        long  {name:o} f32 {dst} {neg:n} {abs:a} {src=only1}
              1011 .... . ....... ....... ....... ..  110 ..n .... . a.....o .. ..... .......
        """,
        name=words("presin", "preex2"),
    ),
    ref=Ref("000", "5. TBD: presin, preex2"),
    status="known",
    see=_SEE,
)
def pre(name, dst, neg, abs, src):
    """Prepare an f32 for `sin` and `cos` (presin: multiplied by 2/pi, 2.23 fixed point) or for `ex2` (preex2: 7.23).

    The sign stays in bit 31; bit 30 marks infinity and NaN.
    """
    function = sfu.presin if name == "presin" else sfu.preex2
    dst.write(function(modified(src, neg, abs)))
