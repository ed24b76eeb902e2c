"""Expansions of intrinsics that put numbers of few bits into words, and take them out."""

from __future__ import annotations

from isakit.compile.ir import Const, IrValue
from isakit.compile.ops import ADD, AND, OR, SAR, SHL, SHR, SUB
from isakit.compile.shading.emitter import Emitter, Values, float_const
from isakit.compile.shading.expansions import EXPANSIONS, Call, Expansion, defines
from isakit.compile.vector_ops import (
    BITS,
    F2I,
    I2F,
    VCVT,
    VMAX,
    VMIN,
    VROUND8,
    VSAT,
)


def half_bits(e: Emitter, v: IrValue) -> IrValue:
    """Return the 16 bits of an f32 converted to f16: exact, also for NaNs and infinities.

    Denormal halves are whole multiples of 2^-24. Exponents move by 112, and values beyond them are infinite.
    """
    wide = e.op(BITS("r"), e.op(VCVT("f32"), v))
    sign = e.op(AND, e.op(SHR, wide, Const(16)), Const(0x8000))
    size = e.op(AND, wide, Const(0x7FFF_FFFF))
    normal = e.op(SHR, e.op(SUB, size, Const(112 << 23)), Const(13))
    small = e.op(F2I(True), e.mul(e.op(BITS("f32"), size), float_const(2.0**24, "f32")))
    tiny = e.compare("<", size, Const(113 << 23))
    endless = e.compare(">=", size, Const(255 << 23))
    rest = e.op(AND, e.op(SHR, size, Const(13)), Const(0x3FF))
    got = e.choose(tiny, small, e.choose(endless, e.op(OR, Const(0x7C00), rest), normal))
    return e.op(OR, sign, got)


def half_of_bits(e: Emitter, bits: IrValue) -> IrValue:
    """Return the f32 value of the lower 16 bits of an integer, taken as an f16."""
    sign = e.op(SHL, e.op(AND, bits, Const(0x8000)), Const(16))
    size = e.op(AND, bits, Const(0x7FFF))
    normal = e.op(ADD, e.op(SHL, size, Const(13)), Const(112 << 23))
    small = e.op(BITS("r"), e.mul(e.op(I2F(True), size), float_const(2.0**-24, "f32")))
    endless = e.op(OR, e.op(SHL, size, Const(13)), Const(255 << 23))
    tiny = e.compare("<", size, Const(0x400))
    got = e.choose(tiny, small, e.choose(e.compare(">=", size, Const(0x7C00)), endless, normal))
    return e.op(BITS("f32"), e.op(OR, sign, got))


def _pack_two(e: Emitter, low: IrValue, high: IrValue) -> IrValue:
    return e.op(OR, low, e.op(SHL, high, Const(16)))


@defines("packhalf")
def _packhalf(e: Emitter, a: list[Values], call: Call) -> Values:
    """Pack two halves into an integer. The parts are remembered, so that unpacking them is only rounding."""
    halves = e.op(VCVT("f16"), a[0][0])
    low, high = (half_bits(e, v) for v in e.parts(halves))
    packed = _pack_two(e, low, high)
    e.packed[packed] = halves
    return [packed]


@defines("unpackhalf")
def _unpackhalf(e: Emitter, a: list[Values], call: Call) -> Values:
    known = e.packed.get(a[0][0])
    if known is not None:
        return [e.op(VCVT("f32"), known)]
    bits = a[0][0]
    return [e.join([half_of_bits(e, bits), half_of_bits(e, e.op(SHR, bits, Const(16)))])]


def _packs_parts(bits: int, signed: bool) -> Expansion:
    """Return an expansion that packs fractions into an integer, the first into its lowest bits.

    Four that are packed into bytes are remembered, so that unpacking them is only rounding.
    """
    largest, mask = (1 << bits - signed) - 1, (1 << bits) - 1

    def expand(e: Emitter, a: list[Values], call: Call) -> Values:
        x = a[0][0]
        rounded = e.as_f32(x) if (bits, signed) == (8, False) else None
        within = e.op(VMIN, e.op(VMAX, x, e.constant(-1, x.kind)), e.constant(1, x.kind)) if signed else e.op(VSAT, x)
        v = EXPANSIONS["round"](e, [[e.mul(within, e.constant(largest, x.kind))]], call)[0]
        out: IrValue = Const(0)
        for k, part in enumerate(e.parts(v)):
            number = e.op(F2I(signed), part)
            out = e.op(OR, out, e.op(SHL, e.op(AND, number, Const(mask)) if signed else number, Const(bits * k)))
        if rounded is not None:
            e.packed_bytes[out] = rounded
        return [out]

    return expand


def _unpacks_parts(bits: int, signed: bool) -> Expansion:
    """Return an expansion that unpacks an integer into fractions."""
    largest, mask = (1 << bits - signed) - 1, (1 << bits) - 1

    def expand(e: Emitter, a: list[Values], call: Call) -> Values:
        def number(at: int) -> IrValue:
            if signed:
                return e.op(SAR, e.op(SHL, a[0][0], Const(32 - bits - at)), Const(32 - bits))
            return e.op(AND, e.op(SHR, a[0][0], Const(at)), Const(mask))

        if a[0][0] in e.packed_bytes:
            return [e.op(VROUND8, e.packed_bytes[a[0][0]])]
        v = e.join([e.op(I2F(signed), number(at)) for at in range(0, 32, bits)])
        v = e.mul(v, e.constant(1 / largest, v.kind))
        return [e.op(VMAX, v, e.constant(-1, v.kind)) if signed else v]

    return expand


for _bits in (8, 16):
    for _signed, _kind in ((False, "unorm"), (True, "snorm")):
        EXPANSIONS[f"pack{_kind}{_bits}"] = _packs_parts(_bits, _signed)
        EXPANSIONS[f"unpack{_kind}{_bits}"] = _unpacks_parts(_bits, _signed)
