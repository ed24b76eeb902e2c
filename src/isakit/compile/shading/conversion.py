"""Conversions between types, the type of an operation, and the arithmetic of constants."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from isakit.compile.shading.language import Language
from isakit.compile.shading.source import ShadingError
from isakit.compile.shading.typed import (
    Typed,
    TypedComponents,
    TypedConstant,
    TypedConvert,
    TypedResize,
    TypedSpread,
)
from isakit.compile.shading.types import FLOAT, INT, Base, Numeric, Type
from isakit.float_bits import bits_of_float, float_of_bits
from isakit.sem.value import signed

IMPOSSIBLE = 1000
"""The cost of a conversion that does not exist."""
SPREAD, CUT = 10, 20


def rounded(value: float, base: Base) -> float:
    """Return a number rounded to a floating-point type."""
    type = "f16" if base.bits == 16 else "f32"
    try:
        return float_of_bits(bits_of_float(value, type), type)
    except OverflowError:
        return math.copysign(math.inf, value)


def as_base(value: float, base: Base) -> int | float:
    """Return a component of a constant in another base: floats are truncated to integers, integers wrap."""
    if base.kind == "bool":
        return int(value != 0)
    if base.kind == "float":
        return rounded(value, base)
    whole = int(value) if math.isfinite(value) else 0
    whole &= (1 << base.bits) - 1
    return signed(whole, base.bits) if base.kind == "int" else whole


def _between(a: Base, b: Base) -> int:
    """Return the cost of converting one base to the other."""
    if a == b:
        return 0
    if a.kind == b.kind:
        return 1
    if b.kind == "float" and a.kind != "bool":
        return 3
    return 2 if b.kind != "float" and a.kind != "float" and "bool" not in (a.kind, b.kind) else 6


def cost(value: Typed, to: Type, language: Language) -> int:
    """Return the cost of a conversion: 0 if the value has the type, IMPOSSIBLE if there is no conversion."""
    have = value.type
    if have == to:
        return 0
    if not isinstance(have, Numeric) or not isinstance(to, Numeric):
        return IMPOSSIBLE
    free = isinstance(value, TypedConstant) and value.free
    if language.converts:
        price = _between(have.base, to.base) if not free or have.base.kind != to.base.kind else 1
    elif have.base == to.base:
        price = 0
    elif have.base.kind in ("int", "uint") and to.base.kind in ("float", "uint"):
        price = 3 if to.base.kind == "float" else 2
    else:
        return IMPOSSIBLE
    if have.shape == to.shape:
        return price
    if not language.converts:
        return IMPOSSIBLE
    if have.is_scalar:
        return price + SPREAD
    if have.vectors == 1 and not to.is_matrix and to.size == have.size:  # a row is a vector
        return price + 1
    if have.is_matrix:
        return price + CUT if to.vectors and to.vectors <= have.vectors and to.size <= have.size else IMPOSSIBLE
    return price + CUT if not to.is_matrix and to.size < have.size else IMPOSSIBLE


def convert(value: Typed, to: Type, language: Language, what: str = "this", width: int = 1) -> Typed:
    """Convert a value to a type. Raises ShadingError where the language does not."""
    if value.type == to:
        return value
    if cost(value, to, language) >= IMPOSSIBLE:
        raise ShadingError(
            value.pos, f"{what} is {_article(language.say(value.type))}, not {_article(language.say(to))}", width
        )
    assert isinstance(to, Numeric)
    return resized(rebased(value, to.base), to)


def _article(type: str) -> str:
    if type == "void":
        return "no value"
    return f"{'an' if type[0] in 'aio' else 'a'} {type}"


def rebased(value: Typed, base: Base) -> Typed:
    """Convert the components to a base and keep the shape."""
    have = value.numeric
    if have.base == base:
        if isinstance(value, TypedConstant) and value.free:
            return TypedConstant(value.pos, have, value.values)
        return value
    if isinstance(value, TypedConstant):
        return TypedConstant(value.pos, have.of(base), tuple(as_base(v, base) for v in value.values))
    if isinstance(value, TypedSpread) and not value.diagonal:
        return TypedSpread(value.pos, have.of(base), rebased(value.value, base))
    return TypedConvert(value.pos, have.of(base), value)


def rebased_literal(value: Typed, base: Base) -> Typed:
    """Convert the components to a base; a literal that is free and of that base stays free."""
    free = isinstance(value, TypedConstant) and value.free and value.numeric.base == base
    return value if free else rebased(value, base)


def resized(value: Typed, to: Numeric) -> Typed:
    """Give components another shape: repeat a scalar, keep the first ones of a longer vector, or resize a matrix."""
    have = value.numeric
    if have.shape == to.shape:
        return value
    kind = Numeric(have.base, to.size, to.vectors)
    if have.is_scalar:
        if isinstance(value, TypedConstant):
            return TypedConstant(value.pos, kind, value.values * kind.components)
        return TypedSpread(value.pos, kind, value)
    if have.is_matrix and to.is_matrix:
        return TypedResize(value.pos, kind, value)
    places = tuple(range(to.size))
    if isinstance(value, TypedConstant):
        return TypedConstant(value.pos, kind, value.values[: to.size])
    return TypedComponents(value.pos, kind, value, places)


def common_base(values: Sequence[Typed]) -> Base:
    """Return the base in which several numbers are computed: literals without a suffix take that of the others."""
    bound = [v.numeric.base for v in values if not (isinstance(v, TypedConstant) and v.free)]
    free = [v.numeric.base for v in values if isinstance(v, TypedConstant) and v.free]
    best = max(bound or free, key=lambda b: b.rank)
    if bound and best.kind != "float" and any(b.kind == "float" for b in free):
        return FLOAT
    return best


def computed(base: Base) -> Base:
    """Return the base in which arithmetic happens: short integers and bools become int."""
    return INT if base.bits < 32 and base.kind != "float" else base


# --- constants -------------------------------------------------------------------------------------------------------
def _divided(a: float, b: float) -> float:
    if isinstance(a, int) and isinstance(b, int):
        if not b:
            raise ZeroDivisionError
        return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    if not b:
        return math.nan if not a or a != a else math.copysign(math.inf, a) * math.copysign(1, b)
    return a / b


def _remainder(a: float, b: float) -> float:
    if isinstance(a, int) and isinstance(b, int):
        return a - int(_divided(a, b)) * b
    return math.fmod(a, b) if b and math.isfinite(a) else math.nan


_FOLDS: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "/": _divided, "%": _remainder,
    "&": lambda a, b: a & b, "|": lambda a, b: a | b, "^": lambda a, b: a ^ b,
    "<<": lambda a, b: a << (b & 31), ">>": lambda a, b: a >> (b & 31),
    "==": lambda a, b: a == b, "!=": lambda a, b: a != b, "<": lambda a, b: a < b, ">": lambda a, b: a > b,
    "<=": lambda a, b: a <= b, ">=": lambda a, b: a >= b, "^^": lambda a, b: bool(a) != bool(b),
    "&&": lambda a, b: bool(a) and bool(b), "||": lambda a, b: bool(a) or bool(b),
}  # fmt: skip


def folded(op: str, a: Typed, b: Typed, to: Numeric, pos: int) -> TypedConstant | None:
    """Fold an operator on two constants of one shape; None if they are not, or have no value. Raises ShadingError."""
    if not isinstance(a, TypedConstant) or not isinstance(b, TypedConstant) or a.numeric.is_matrix:
        return None
    try:
        got = tuple(as_base(float(v) if to.is_float else v, to.base)
                    for v in (_FOLDS[op](x, y) for x, y in zip(a.values, b.values, strict=True)))  # fmt: skip
    except ZeroDivisionError:
        raise ShadingError(pos, "this divides by 0") from None
    except OverflowError:
        return None
    return TypedConstant(pos, to, got, a.free and b.free)


def folded_unary(op: str, a: Typed, pos: int) -> TypedConstant | None:
    """Fold an operator on a constant; None if it is not one."""
    if not isinstance(a, TypedConstant):
        return None
    base = a.numeric.base
    got = (-v if op == "-" else int(not v) if op == "!" else ~int(v) for v in a.values)
    return TypedConstant(pos, a.type, tuple(as_base(v, base) for v in got), a.free)
