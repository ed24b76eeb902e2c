"""Component-wise operations in the intermediate form, with constant folding.

A value of a scalar or vector type is a list: one value for floats of any size, one for each component of integers and
bools, which the form has as scalars only.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from functools import lru_cache

from isakit.compile.builder import IrBuilder
from isakit.compile.ir import AnyOp, Const, Function, IrValue, Operation, PlainOp, operation
from isakit.compile.ops import ADD, AND, CMP, MUL, PAND, PNOT, POR, PXOR, SAR, SHL, SHR, SUB, signed
from isakit.compile.shading.conversion import rounded
from isakit.compile.shading.types import FLOAT, HALF, ArrayType, Base, Numeric, SamplerType, StructType, Type
from isakit.compile.simplify_vectors import constants
from isakit.compile.vector_ops import (
    BITS,
    CHANNELS,
    CONSTANTS,
    F2I,
    I2F,
    JOIN,
    SWIZZLE,
    VABS,
    VADD,
    VCMP,
    VCSEL,
    VCVT,
    VFLOOR,
    VMAX,
    VMIN,
    VMUL,
    VNEG,
    VRCP,
    VSEL,
    channels_of,
    count,
    element,
    vector,
)
from isakit.float_bits import bits_of_float, float_of_bits

Values = list[IrValue]
TRUE = Const(1, "p")
_CONDITIONS = {"==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}
_INTEGER_CONDITIONS = {"==": "e", "!=": "lg", "<": "l", "<=": "le", ">": "g", ">=": "ge"}


def ir_base(base: Base) -> str:
    """Return the kind of values of a base in the intermediate form: f32, f16, r, p."""
    if base.kind == "float":
        return "f16" if base.bits == 16 else "f32"
    return "p" if base.kind == "bool" else "r"


@lru_cache(4096)
def kinds(type: Type) -> tuple[str, ...]:
    """Return the kinds of the values that represent a value of a type."""
    if isinstance(type, Numeric):
        of = ir_base(type.base)
        row = (of,) * type.size if of in "rp" else (vector(of, type.size),)
        return row * max(1, type.vectors)
    if isinstance(type, ArrayType):
        return kinds(type.of) * type.count
    if isinstance(type, StructType):
        return tuple(k for f in type.fields for k in kinds(f.type))
    return ("r",) if isinstance(type, SamplerType) else ()


def float_const(value: float, of: str) -> Const:
    """Return a constant of kind f32 or f16."""
    return Const(bits_of_float(rounded(value, HALF if of == "f16" else FLOAT), of), of)


def const_value(c: Const) -> float:
    """Return the number of a constant of any kind; integers count as signed."""
    if c.kind in ("f32", "f16"):
        return float_of_bits(c.value, c.kind)
    return c.value if c.kind == "p" else signed(c.value)


class Emitter:
    """Emits at the end of a block."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.b = IrBuilder(function.block())
        self.packed: dict[IrValue, IrValue] = {}
        """Integers that two halves were packed into, and these."""
        self.packed_bytes: dict[IrValue, IrValue] = {}
        """Integers that four fractions were packed into as bytes, and these."""

    def op(self, what: PlainOp | Operation, *given: IrValue) -> IrValue:
        """Return the result of an operation, as a constant if its arguments are."""
        if all(isinstance(v, Const) for v in given):
            made = _folded(what, [v for v in given if isinstance(v, Const)])
            if made is not None:
                return made
        return self.b.op(what, *given)

    # --- parts of vectors --------------------------------------------------------------------------------------------
    def swizzle(self, v: IrValue, pattern: str) -> IrValue:
        """Return a value with its channels reordered; a join is taken apart where that yields one of its parts."""
        if pattern == CHANNELS[: count(v.kind)]:
            return v
        ins = v.ins
        if ins is not None and ins.op is JOIN and len(pattern) == 1 and pattern not in CONSTANTS:
            at = CHANNELS.index(pattern)
            for a in ins.args:
                n = count(a.kind)
                if at < n:
                    return self.swizzle(a, CHANNELS[at])
                at -= n
        if ins is not None and ins.op is SWIZZLE:
            inner = SWIZZLE.of(ins).pattern
            return self.swizzle(
                ins.args[0], "".join(c if c in CONSTANTS else inner[CHANNELS.index(c)] for c in pattern)
            )
        return self.b.op(SWIZZLE(pattern), v)

    def part(self, v: IrValue, k: int) -> IrValue:
        """Return one channel."""
        return self.swizzle(v, CHANNELS[k])

    def parts(self, v: IrValue) -> Values:
        """Return all channels."""
        return [self.part(v, k) for k in range(count(v.kind))]

    def spread(self, v: IrValue, n: int) -> IrValue:
        """Repeat a scalar in `n` channels."""
        return v if n == 1 else self.join([v] * n) if isinstance(v, Const) else self.swizzle(v, "x" * n)

    def join(self, parts: Sequence[IrValue]) -> IrValue:
        """Join the channels of all parts, one after the other."""
        if len(parts) == 1:
            return parts[0]
        first = parts[0]
        if all(p is first for p in parts) and count(first.kind) == 1 and not isinstance(first, Const):
            return self.swizzle(first, "x" * len(parts))
        source = _one_source(parts)
        if source is not None:
            return self.swizzle(*source)
        return self.b.op(JOIN, *parts)

    def constant(self, value: float, kind: str) -> IrValue:
        """Return a constant with `value` in every channel."""
        return self.spread(float_const(value, element(kind)), count(kind))

    # --- arithmetic --------------------------------------------------------------------------------------------------
    def add(self, a: IrValue, b: IrValue) -> IrValue:
        return self.op(VADD, a, b)

    def sub(self, a: IrValue, b: IrValue) -> IrValue:
        return self.op(VADD, a, self.op(VNEG, b))

    def mul(self, a: IrValue, b: IrValue) -> IrValue:
        """Return a product; multiplication by 1 is dropped."""
        if same_number(a) == 1:
            return b
        return a if same_number(b) == 1 else self.op(VMUL, a, b)

    def rcp(self, v: IrValue) -> IrValue:
        """Return the reciprocal; if all channels are equal it is computed once."""
        n = count(v.kind)
        if n > 1 and _repeats(v):
            return self.spread(self.rcp(self.swizzle(v, "x")), n)
        if isinstance(v, Const) and const_value(v):
            return float_const(1 / const_value(v), v.kind)
        if n > 1 and (bits := constants(v)) is not None:
            return self.join([self.rcp(Const(b, element(v.kind))) for b in bits])
        return self.b.op(VRCP, v)

    def div(self, a: IrValue, b: IrValue) -> IrValue:
        return self.mul(a, self.rcp(b))

    def trunc(self, v: IrValue) -> IrValue:
        """Round towards zero: the floor of the magnitude, with the sign of the value."""
        whole = self.op(VFLOOR, self.op(VABS, v))
        return self.op(VCSEL("lt"), v, self.op(VNEG, whole), whole)

    def compare(self, op: str, a: IrValue, b: IrValue, signed: bool = True) -> IrValue:
        """Compare two scalars."""
        if a.kind == "p":
            different = self.op(PXOR, a, b)
            return different if op == "!=" else self.op(PNOT, different)
        if a.kind == "r":
            return self.op(CMP(cond=_INTEGER_CONDITIONS[op], ty="s32" if signed else "u32"), a, b)
        return self.op(VCMP(_CONDITIONS[op]), a, b)

    def both(self, a: IrValue, b: IrValue) -> IrValue:
        return self.op(PAND, a, b)

    def either(self, a: IrValue, b: IrValue) -> IrValue:
        return self.op(POR, a, b)

    def opposite(self, a: IrValue) -> IrValue:
        return self.op(PNOT, a)

    def choose(self, p: IrValue, a: IrValue, b: IrValue) -> IrValue:
        """Return `a` where `p` is true, else `b`."""
        if isinstance(p, Const):
            return a if p.value & 1 else b
        if a is b:
            return a
        if a.kind == "p":
            return self.either(self.both(p, a), self.both(self.opposite(p), b))
        return self.b.op(VSEL, p, a, b)

    def every(self, found: Values) -> IrValue:
        """Return whether all components are true."""
        out: IrValue = TRUE
        for p in found:
            out = self.both(out, p) if out is not TRUE else p
        return out

    # --- integers ----------------------------------------------------------------------------------------------------
    def divided(self, a: IrValue, b: IrValue, signed: bool) -> tuple[IrValue, IrValue]:
        """Return quotient and remainder. Division by 0 is undefined.

        The chip has no integer division: the quotient of floats is corrected until the remainder is small enough.
        """
        if isinstance(b, Const) and b.value and not b.value & (b.value - 1) and not b.value >> 31:
            shift = b.value.bit_length() - 1
            if not signed:
                return self.op(SHR, a, Const(shift)), self.op(AND, a, Const(b.value - 1))
            sign = self.op(SAR, a, Const(31))
            quotient = self.op(SAR, self.op(ADD, a, self.op(AND, sign, Const(b.value - 1))), Const(shift))
            return quotient, self.op(SUB, a, self.op(MUL, quotient, b))
        zero = Const(0)
        x, y = a, b
        if signed:
            x, y = self._magnitude(a), self._magnitude(b)
        inverse = self.rcp(self.op(I2F(False), y))
        quotient = zero
        rest = x
        for _ in range(2):
            step = self.op(F2I(True), self.mul(self.op(I2F(True), rest), inverse))
            if quotient is zero and not signed:  # the first quotient may need all 32 bits
                step = self.op(F2I(False), self.mul(self.op(I2F(False), rest), inverse))
            quotient = self.op(ADD, quotient, step)
            rest = self.op(SUB, x, self.op(MUL, quotient, y))
        under = self.compare("<", rest, zero)
        quotient = self.choose(under, self.op(SUB, quotient, Const(1)), quotient)
        rest = self.choose(under, self.op(ADD, rest, y), rest)
        over = self.compare(">=", rest, y, signed=False)
        quotient = self.choose(over, self.op(ADD, quotient, Const(1)), quotient)
        rest = self.choose(over, self.op(SUB, rest, y), rest)
        if signed:
            negative = self.op(PXOR, self.compare("<", a, zero), self.compare("<", b, zero))
            quotient = self.choose(negative, self.op(SUB, zero, quotient), quotient)
            rest = self.choose(self.compare("<", a, zero), self.op(SUB, zero, rest), rest)
        return quotient, rest

    def _magnitude(self, v: IrValue) -> IrValue:
        return self.choose(self.compare("<", v, Const(0)), self.op(SUB, Const(0), v), v)

    # --- conversions -------------------------------------------------------------------------------------------------
    def convert(self, values: Values, have: Base, want: Base) -> Values:
        """Convert the components of a scalar or vector to another base."""
        if have.kind == want.kind == "float":
            return [self.op(VCVT(ir_base(want)), v) if ir_base(have) != ir_base(want) else v for v in values]
        if have.kind == "float":
            scalars = self.parts(values[0])
            if want.kind == "bool":
                return [self.compare("!=", v, float_const(0, v.kind)) for v in scalars]
            return [self.narrow(self.op(F2I(want.kind == "int"), self.as_f32(v)), want) for v in scalars]
        if want.kind == "float":
            of = ir_base(want)
            if have.kind == "bool":
                scalars = [self.choose(v, float_const(1, of), float_const(0, of)) for v in values]
            else:
                scalars = [self.op(I2F(have.kind == "int"), v) for v in values]
                scalars = [self.op(VCVT(of), v) if of != "f32" else v for v in scalars]
            return [self.join(scalars)]
        if want.kind == "bool":
            return [self.compare("!=", v, Const(0)) if have.kind != "bool" else v for v in values]
        if have.kind == "bool":
            return [self.choose(v, Const(1), Const(0)) for v in values]
        return [self.narrow(v, want) for v in values]

    def narrow(self, v: IrValue, want: Base) -> IrValue:
        """Wrap an integer to what a base holds."""
        if want.bits != 16:
            return v
        if want.kind == "int":
            return self.op(SAR, self.op(SHL, v, Const(16)), Const(16))
        return self.op(AND, v, Const(0xFFFF))

    def as_f32(self, v: IrValue) -> IrValue:
        """Widen a float value to single precision."""
        return v if element(v.kind) == "f32" else self.op(VCVT("f32"), v)


def same_number(v: IrValue) -> float | None:
    """Return the number in all channels of a constant; None if it is no constant or has different numbers."""
    bits = constants(v) or []
    return const_value(Const(bits[0], element(v.kind))) if len(set(bits)) == 1 else None


def _repeats(v: IrValue) -> bool:
    """Return whether a value repeats one channel in all its channels."""
    if v.ins is None or v.ins.op is not SWIZZLE:
        return False
    pattern = SWIZZLE.of(v.ins).pattern
    return pattern == pattern[0] * len(pattern) and pattern[0] not in CONSTANTS


def _one_source(parts: Sequence[IrValue]) -> tuple[IrValue, str] | None:
    """Return the value that all parts are channels of, and these channels; None if there are several."""
    source = channels_of(parts[0])[0]
    if any(isinstance(p, Const) or channels_of(p)[0] is not source for p in parts):
        return None
    letters = "".join(channels_of(p)[1] for p in parts)
    return (source, letters) if len(letters) <= len(CHANNELS) else None


_FOLDS: dict[AnyOp, Callable[..., float]] = {
    VADD: operator.add, VMUL: operator.mul, VNEG: float.__neg__, VABS: float.__abs__, VFLOOR: math.floor, VMIN: min,
    VMAX: max,
}  # fmt: skip
_TESTS: dict[str, Callable[[float, float], bool]] = {
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge,
}  # fmt: skip


def _folded(what: PlainOp | Operation, given: list[Const]) -> Const | None:
    """Fold an operation on constants; None if the chip has to compute it."""
    op, attrs = operation(what)
    numbers = [const_value(c) for c in given]
    if any(isinstance(n, float) and not math.isfinite(n) for n in numbers) or not given:
        return None
    if op in _FOLDS:
        return float_const(_FOLDS[op](*numbers), given[0].kind)
    if op is VCMP:
        return Const(int(_TESTS[attrs[0]](*numbers)), "p")
    if op is VCVT:
        return float_const(numbers[0], attrs[0])
    if op is I2F:
        return float_const(numbers[0] if attrs[0] else given[0].value, "f32")
    if op is F2I and abs(numbers[0]) < 1 << 31:
        return Const(int(numbers[0]))
    if op is BITS:
        return Const(given[0].value, attrs[0])
    return None
