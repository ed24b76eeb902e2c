"""Cheaper equivalents of an operation on vectors: identities that hold bit by bit for every argument."""

from __future__ import annotations

from collections.abc import Sequence

from isakit.compile.ir import AnyOp, Const, IrValue, NoAttributes
from isakit.compile.ops import PNOT
from isakit.compile.simplify import Args, Better, Values, simplifies, simplify
from isakit.compile.vector_ops import (
    BITS,
    CHANNELS,
    CONSTANTS,
    DIGITS,
    JOIN,
    ONE,
    SIGN,
    SWIZZLE,
    VABS,
    VADD,
    VCVT,
    VMAX,
    VMIN,
    VMUL,
    VNEG,
    VSAT,
    VSEL,
    Element,
    Kind,
    Pattern,
    channels_of,
    count,
    element,
)
from isakit.float_bits import bits_of_float, float_of_bits


def constants(v: IrValue) -> list[int] | None:
    """Return the bits of all elements of a constant, None for other values."""
    if isinstance(v, Const):
        return [v.value]
    if v.ins is None or v.ins.op is not JOIN:
        return None
    bits = [a.value for a in v.ins.args if isinstance(a, Const)]
    return bits if len(bits) == len(v.ins.args) else None


def vector_of(bits: Sequence[int], of: str) -> Better:
    """Return a constant vector with elements of these bits."""
    if len(bits) == 1:
        return Const(bits[0], of)
    return JOIN, [Const(b, of) for b in bits]


@simplifies(SWIZZLE)
def _swizzle(op: AnyOp, args: Args, values: Values, attrs: Pattern) -> Better | None:
    v, pattern = args[0], attrs.pattern
    if pattern == CHANNELS[: count(v.kind)]:
        return v
    of = element(v.kind)
    bits = constants(v)
    if bits is not None or all(c in CONSTANTS for c in pattern):
        letters = DIGITS[of]
        return vector_of([letters[c] if c in letters else (bits or [])[CHANNELS.index(c)] for c in pattern], of)
    i = v.ins
    if i is None:
        return None
    if i.op is SWIZZLE:
        inner = SWIZZLE.of(i).pattern
        return SWIZZLE("".join(c if c in CONSTANTS else inner[CHANNELS.index(c)] for c in pattern)), [i.args[0]]
    if i.op is JOIN:
        return _of_parts(i.args, pattern)
    return None


def _of_parts(parts: Args, pattern: str) -> Better | None:
    """Simplify a swizzle of joined parts: to a swizzle of one part, or to a join of whole parts."""
    where = [(p, k) for p in parts for k in range(count(p.kind))]
    chosen = [None if c in CONSTANTS else where[CHANNELS.index(c)] for c in pattern]
    sources = {id(c[0]): c[0] for c in chosen if c is not None and not isinstance(c[0], Const)}
    if len(sources) == 1 and not any(c is not None and isinstance(c[0], Const) for c in chosen):
        (source,) = sources.values()
        letters = "".join(p if c is None else CHANNELS[c[1]] for c, p in zip(chosen, pattern, strict=True))
        return SWIZZLE(letters), [source]
    if all(c is not None and count(c[0].kind) == 1 for c in chosen):
        scalars = [c[0] for c in chosen if c is not None]
        return scalars[0] if len(scalars) == 1 else (JOIN, scalars)
    return None


@simplifies(JOIN)
def _join(op: AnyOp, args: Args, values: Values, attrs: NoAttributes) -> Better | None:
    """Turn a join of parts of one value and of swizzle constants into a swizzle, and nested joins into one."""
    if len(args) == 1:
        return args[0]
    if any(a.ins is not None and a.ins.op is JOIN for a in args):
        return JOIN, [b for a in args for b in (a.ins.args if a.ins is not None and a.ins.op is JOIN else [a])]
    of = element(args[0].kind)
    names = {b: c for c, b in DIGITS[of].items()}
    base: IrValue | None = None
    pattern = ""
    for a in args:
        if isinstance(a, Const):
            letter = names.get(a.value)
            if letter is None:
                return _with_less_parts(args)
            pattern += letter
            continue
        source, letters = channels_of(a)
        if base is not None and source is not base:
            return _with_less_parts(args)
        base = source
        pattern += letters
    return None if base is None else (SWIZZLE(pattern), [base])


def _with_less_parts(parts: Args) -> Better | None:
    """Replace first parts that are the leading channels of a value by that value, if it has no other channels."""
    base, letters = channels_of(parts[0])
    n = 1
    while n < len(parts) and channels_of(parts[n])[0] is base:
        letters += channels_of(parts[n])[1]
        n += 1
    if n == 1 or letters != CHANNELS[: count(base.kind)]:
        return None
    return JOIN, [base, *parts[n:]]


@simplifies(VNEG, VABS)
def _sign(op: AnyOp, args: Args, values: Values, attrs: NoAttributes) -> Better | None:
    bits = constants(args[0])
    if bits is not None:
        of = element(args[0].kind)
        return vector_of([b ^ SIGN[of] if op is VNEG else b & ~SIGN[of] for b in bits], of)
    i = args[0].ins
    if i is None or i.op not in (VNEG, VABS):
        return None
    if op is VNEG:
        return i.args[0] if i.op is VNEG else None
    return VABS, [i.args[0]]


@simplifies(VMUL)
def _mul(op: AnyOp, args: Args, values: Values, attrs: NoAttributes) -> Better | None:
    both = [constants(a) for a in args]
    of = element(args[0].kind)
    for x, bits in zip(args, both[::-1], strict=True):
        if bits is not None and all(b == ONE[of] for b in bits):
            return x
        if bits is not None and all(b == ONE[of] ^ SIGN[of] for b in bits):
            return VNEG, [x]
    return _folded(op, of, both)


def _folded(op: AnyOp, of: str, both: list[list[int] | None]) -> Better | None:
    """Return the result for constant arguments of f32; None for others, and where it is too large for an f32."""
    if of != "f32" or None in both:
        return None
    out: list[int] = []
    for x, y in zip(*(map(float_of_bits, b) for b in both if b is not None), strict=True):
        exact = x + y if op is VADD else x * y
        try:
            out.append(bits_of_float(exact))
        except OverflowError:
            return None
    return vector_of(out, of)


@simplifies(VADD)
def _add(op: AnyOp, args: Args, values: Values, attrs: NoAttributes) -> Better | None:
    both = [constants(a) for a in args]
    of = element(args[0].kind)
    for x, bits in zip(args, both[::-1], strict=True):
        if bits is not None and all(b == SIGN[of] for b in bits):  # -0 changes nothing
            return x
    return _folded(op, of, both)


@simplifies(VMIN, VMAX)
def _extreme(op: AnyOp, args: Args, values: Values, attrs: NoAttributes) -> Better | None:
    """Turn min(1, max(0, x)) into a saturation."""
    of = element(args[0].kind)
    for x, y in (args, args[::-1]):
        bits = constants(y)
        i = x.ins
        if op is VMIN and i is not None and i.op is VMAX and bits == [ONE[of]] * count(x.kind):
            for a, b in (i.args, i.args[::-1]):
                if constants(b) == [0] * count(x.kind):
                    return VSAT, [a]
    return None


@simplifies(VSAT)
def _saturate(op: AnyOp, args: Args, values: Values, attrs: NoAttributes) -> Better | None:
    i = args[0].ins
    return args[0] if i is not None and i.op is VSAT else None


@simplifies(VCVT)
def _convert(op: AnyOp, args: Args, values: Values, attrs: Element) -> Better | None:
    v = args[0]
    if element(v.kind) == attrs.to:
        return v
    bits = constants(v)
    if bits is not None:
        try:
            numbers = (float_of_bits(b, element(v.kind)) for b in bits)
            return vector_of([bits_of_float(x, attrs.to) for x in numbers], attrs.to)
        except OverflowError:
            return None
    i = v.ins
    if i is not None and i.op is VCVT and attrs.to == "f16":  # an f16 value that was f32 for a while
        return i.args[0]
    if i is not None and i.op in (SWIZZLE, VNEG, VABS) and i.args[0].ins is not None and i.args[0].ins.op is VCVT:
        return None
    return None


@simplifies(BITS)
def _bits(op: AnyOp, args: Args, values: Values, attrs: Kind) -> Better | None:
    i = args[0].ins
    if values[0] is not None:
        return Const(values[0], attrs.kind)
    return i.args[0] if i is not None and i.op is BITS else None


@simplifies(VSEL)
def _choose(op: AnyOp, args: Args, values: Values, attrs: NoAttributes) -> Better | None:
    p, a, b = args
    if isinstance(p, Const):
        return a if p.value & 1 else b
    if p.ins is not None and p.ins.op is PNOT:
        return VSEL, [p.ins.args[0], b, a]
    return a if a is b else None


__all__ = ["simplify"]
