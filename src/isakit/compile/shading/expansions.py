"""Built-in functions of both languages: one small expansion for each, in operations of the IR.

An expansion takes the emitter, the arguments (lists of values, see `emitter`) and the type of the result.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce
from typing import NamedTuple

from isakit.compile.ir import Const, IrValue, Operation, PlainOp
from isakit.compile.ops import ABS, MAXS, MAXU, MINS, MINU
from isakit.compile.shading.emitter import Emitter, Values, float_const, same_number
from isakit.compile.shading.types import Numeric
from isakit.compile.vector_ops import (
    BITS,
    SAMPLE,
    VABS,
    VCOS,
    VCSEL,
    VDOT,
    VDSX,
    VDSY,
    VEXP2,
    VFLOOR,
    VFRC,
    VLOG2,
    VMAD,
    VMAX,
    VMIN,
    VNEG,
    VRSQ,
    VSAT,
    VSIN,
    count,
    element,
    vector,
)


class Call(NamedTuple):
    """A call of an intrinsic: types of the arguments, type of the result, and the sampler's name if it has one."""

    kinds: Sequence[Numeric]
    result: Numeric
    sampler: str = ""
    texture: str = "2d"


Expansion = Callable[[Emitter, list[Values], Call], Values]
EXPANSIONS: dict[str, Expansion] = {}


def defines(*names: str) -> Callable[[Expansion], Expansion]:
    """Return the decorator that makes a function the expansion of some intrinsics."""

    def keep(f: Expansion) -> Expansion:
        for name in names:
            EXPANSIONS[name] = f
        return f

    return keep


def _one(f: Callable[[Emitter, IrValue], IrValue]) -> Expansion:
    """Return an expansion of a function of one float value."""
    return lambda e, a, call: [f(e, a[0][0])]


def _two(f: Callable[[Emitter, IrValue, IrValue], IrValue]) -> Expansion:
    """Return an expansion of a function of two float values."""
    return lambda e, a, call: [f(e, a[0][0], a[1][0])]


def _three(f: Callable[[Emitter, IrValue, IrValue, IrValue], IrValue]) -> Expansion:
    """Return an expansion of a function of three float values."""
    return lambda e, a, call: [f(e, a[0][0], a[1][0], a[2][0])]


def _op(what: PlainOp | Operation) -> Expansion:
    return lambda e, a, call: [e.op(what, *(v[0] for v in a))]


def _number(e: Emitter, value: float, like: IrValue) -> IrValue:
    return e.constant(value, like.kind)


# --- component by component ------------------------------------------------------------------------------------------
for _name, _row in {"floor": VFLOOR, "frac": VFRC, "rsqrt": VRSQ, "exp2": VEXP2, "log2": VLOG2, "sin": VSIN,
                    "cos": VCOS, "saturate": VSAT, "ddx": VDSX, "ddy": VDSY}.items():  # fmt: skip
    EXPANSIONS[_name] = _op(_row)


def _by_kind(floats: PlainOp, signed: PlainOp, unsigned: PlainOp) -> Expansion:
    def expand(e: Emitter, a: list[Values], call: Call) -> Values:
        if call.result.is_float:
            return [e.op(floats, *(_as_long(e, v[0], call.result.size) for v in a))]
        op = signed if call.result.base.kind == "int" else unsigned
        return [e.op(op, x, y) for x, y in zip(a[0], _ints(a[1], len(a[0])), strict=True)]

    return expand


def _as_long(e: Emitter, v: IrValue, n: int) -> IrValue:
    return e.spread(v, n) if count(v.kind) == 1 else v


def _ints(v: Values, n: int) -> Values:
    return v * n if len(v) == 1 else v


EXPANSIONS["min"] = _by_kind(VMIN, MINS, MINU)
EXPANSIONS["max"] = _by_kind(VMAX, MAXS, MAXU)


@defines("clamp")
def _clamp(e: Emitter, a: list[Values], call: Call) -> Values:
    if call.result.is_float and same_number(a[1][0]) == 0.0 and same_number(a[2][0]) == 1.0:
        return [e.op(VSAT, a[0][0])]
    larger = EXPANSIONS["max"](e, [a[0], a[1]], call)
    return EXPANSIONS["min"](e, [larger, a[2]], call)


@defines("abs")
def _abs(e: Emitter, a: list[Values], call: Call) -> Values:
    if call.result.is_float:
        return [e.op(VABS, a[0][0])]
    return a[0] if call.result.base.kind == "uint" else [e.op(ABS, v) for v in a[0]]


@defines("sign")
def _sign(e: Emitter, a: list[Values], call: Call) -> Values:
    if call.result.is_float:
        v = a[0][0]
        one, zero = _number(e, 1, v), _number(e, 0, v)
        return [e.op(VCSEL("gt"), v, one, e.op(VCSEL("lt"), v, e.op(VNEG, one), zero))]
    return [e.op(MAXS, e.op(MINS, v, Const(1)), Const(-1)) for v in a[0]]


@defines("ceil")
@_one
def _ceil(e: Emitter, v: IrValue) -> IrValue:
    return e.op(VNEG, e.op(VFLOOR, e.op(VNEG, v)))


EXPANSIONS["trunc"] = _one(lambda e, v: e.trunc(v))


@defines("round")
@_one
def _round(e: Emitter, v: IrValue) -> IrValue:
    """Round to the nearest whole number, halfway to the even one."""
    low = e.op(VFLOOR, v)
    part = e.sub(v, low)
    half = e.mul(low, _number(e, 0.5, v))
    odd = e.mul(e.op(VFRC, half), _number(e, 2, v))  # 1 where the lower number is odd
    beyond = e.sub(part, _number(e, 0.5, v))
    one, zero = _number(e, 1, v), _number(e, 0, v)
    return e.add(low, e.op(VCSEL("gt"), beyond, one, e.op(VCSEL("eq"), beyond, odd, zero)))


def _square_root(e: Emitter, v: IrValue) -> IrValue:
    """Compute the square root as the reciprocal of the reciprocal root, so that it is 0 for 0."""
    return e.rcp(e.op(VRSQ, v))


def _scaled(op: PlainOp, before: float | None = None, after: float | None = None) -> Expansion:
    def expand(e: Emitter, v: IrValue) -> IrValue:
        v = v if before is None else e.mul(v, _number(e, before, v))
        v = e.op(op, v)
        return v if after is None else e.mul(v, _number(e, after, v))

    return _one(expand)


EXPANSIONS["rcp"] = _one(lambda e, v: e.rcp(v))
EXPANSIONS["sqrt"] = _one(_square_root)
EXPANSIONS["exp"] = _scaled(VEXP2, before=math.log2(math.e))
EXPANSIONS["log"] = _scaled(VLOG2, after=math.log(2))
EXPANSIONS["log10"] = _scaled(VLOG2, after=math.log10(2))
EXPANSIONS["radians"] = _one(lambda e, v: e.mul(v, _number(e, math.pi / 180, v)))
EXPANSIONS["degrees"] = _one(lambda e, v: e.mul(v, _number(e, 180 / math.pi, v)))
EXPANSIONS["mad"] = _three(lambda e, a, b, c: e.add(e.mul(a, b), c))
EXPANSIONS["fma"] = _op(VMAD)
EXPANSIONS["product"] = lambda e, a, call: [e.mul(x, y) for x, y in zip(a[0], a[1], strict=True)]


@defines("pow")
@_two
def _pow(e: Emitter, a: IrValue, b: IrValue) -> IrValue:
    """Raise to a power: by multiplications, which allow negative bases, where the exponent is a small integer."""
    n = same_number(b)
    if n in (1.0, 2.0, 3.0, 4.0):
        square = e.mul(a, a) if n != 1.0 else a
        return {1.0: a, 2.0: square, 3.0: e.mul(square, a), 4.0: e.mul(square, square)}[n]
    return e.op(VEXP2, e.mul(e.op(VLOG2, a), b))


EXPANSIONS["ldexp"] = _two(lambda e, a, b: e.mul(a, e.op(VEXP2, b)))


@defines("modulo")
def _modulo(e: Emitter, a: list[Values], call: Call) -> Values:
    """Compute GLSL's remainder: it has the sign of the divisor."""
    x, y = a[0][0], _as_long(e, a[1][0], call.result.size)
    return [e.sub(x, e.mul(y, e.op(VFLOOR, e.div(x, y))))]


@defines("fmod")
@_two
def _fmod(e: Emitter, x: IrValue, y: IrValue) -> IrValue:
    """Compute Cg's remainder: it has the sign of the dividend."""
    part = e.op(VFRC, e.op(VABS, e.div(x, y)))
    rest = e.mul(part, e.op(VABS, y))
    return e.op(VCSEL("lt"), x, e.op(VNEG, rest), rest)


@defines("lerp")
def _lerp(e: Emitter, a: list[Values], call: Call) -> Values:
    x, y, t = a[0][0], a[1][0], _as_long(e, a[2][0], call.result.size)
    return [e.add(x, e.mul(t, e.sub(y, x)))]


@defines("step")
def _step(e: Emitter, a: list[Values], call: Call) -> Values:
    edge, x = _as_long(e, a[0][0], call.result.size), a[1][0]
    return [e.op(VCSEL("ge"), e.sub(x, edge), _number(e, 1, x), _number(e, 0, x))]


@defines("smoothstep")
def _smoothstep(e: Emitter, a: list[Values], call: Call) -> Values:
    low, high = (_as_long(e, v[0], call.result.size) for v in a[:2])
    x = a[2][0]
    t = e.op(VSAT, e.div(e.sub(x, low), e.sub(high, low)))
    return [e.mul(e.mul(t, t), e.sub(_number(e, 3, t), e.add(t, t)))]


@defines("choose")
def _choose(e: Emitter, a: list[Values], call: Call) -> Values:
    """Compute GLSL's `mix` with bools: the second value where they are true."""
    if call.result.is_float:
        x, y = (e.parts(v[0]) for v in a[:2])
        return [e.join([e.choose(p, q, r) for p, q, r in zip(a[2], y, x, strict=True)])]
    return [e.choose(p, y, x) for x, y, p in zip(*a, strict=True)]


# --- angles ----------------------------------------------------------------------------------------------------------
EXPANSIONS["tan"] = _one(lambda e, v: e.div(e.op(VSIN, v), e.op(VCOS, v)))


def _polynomial(e: Emitter, x: IrValue, terms: Sequence[float]) -> IrValue:
    """Compute a polynomial from its coefficients, the highest term first."""
    out = _number(e, terms[0], x)
    for t in terms[1:]:
        out = e.add(e.mul(out, x), _number(e, t, x))
    return out


def _acos_of_magnitude(e: Emitter, x: IrValue) -> IrValue:
    """Compute the arc cosine between 0 and 1, to 7e-5: Abramowitz and Stegun 4.4.45."""
    root = _square_root(e, e.sub(_number(e, 1, x), x))
    return e.mul(root, _polynomial(e, x, (-0.0187293, 0.0742610, -0.2121144, 1.5707288)))


@defines("acos")
@_one
def _acos(e: Emitter, v: IrValue) -> IrValue:
    got = _acos_of_magnitude(e, e.op(VABS, v))
    return e.op(VCSEL("lt"), v, e.sub(_number(e, math.pi, v), got), got)


@defines("asin")
@_one
def _asin(e: Emitter, v: IrValue) -> IrValue:
    got = e.sub(_number(e, math.pi / 2, v), _acos_of_magnitude(e, e.op(VABS, v)))
    return e.op(VCSEL("lt"), v, e.op(VNEG, got), got)


def _atan_of_part(e: Emitter, x: IrValue) -> IrValue:
    """Compute the arc tangent between 0 and 1, to 1e-5: Abramowitz and Stegun 4.4.49."""
    square = e.mul(x, x)
    return e.mul(x, _polynomial(e, square, (0.0208351, -0.0851330, 0.1801410, -0.3302995, 0.9998660)))


@defines("atan")
@_one
def _atan(e: Emitter, v: IrValue) -> IrValue:
    size = e.op(VABS, v)
    large = e.sub(size, _number(e, 1, v))
    part = e.op(VCSEL("gt"), large, e.rcp(size), size)
    got = _atan_of_part(e, part)
    got = e.op(VCSEL("gt"), large, e.sub(_number(e, math.pi / 2, v), got), got)
    return e.op(VCSEL("lt"), v, e.op(VNEG, got), got)


@defines("atan2")
@_two
def _atan2(e: Emitter, y: IrValue, x: IrValue) -> IrValue:
    a, b = e.op(VABS, x), e.op(VABS, y)
    high = e.op(VMAX, e.op(VMAX, a, b), _number(e, 2.0**-126 if element(x.kind) == "f32" else 2.0**-14, x))
    got = _atan_of_part(e, e.div(e.op(VMIN, a, b), high))
    got = e.op(VCSEL("gt"), e.sub(b, a), e.sub(_number(e, math.pi / 2, x), got), got)
    got = e.op(VCSEL("lt"), x, e.sub(_number(e, math.pi, x), got), got)
    return e.op(VCSEL("lt"), y, e.op(VNEG, got), got)


def _exponentials(e: Emitter, v: IrValue) -> tuple[IrValue, IrValue]:
    up = e.op(VEXP2, e.mul(v, _number(e, math.log2(math.e), v)))
    return up, e.rcp(up)


def _sinh(e: Emitter, v: IrValue) -> IrValue:
    up, down = _exponentials(e, v)
    return e.mul(e.sub(up, down), _number(e, 0.5, v))


def _cosh(e: Emitter, v: IrValue) -> IrValue:
    up, down = _exponentials(e, v)
    return e.mul(e.add(up, down), _number(e, 0.5, v))


def _tanh(e: Emitter, v: IrValue) -> IrValue:
    """Return tanh, computed from the magnitude so that the exponential cannot overflow."""
    size = e.op(VABS, v)
    down = e.op(VEXP2, e.mul(size, _number(e, -2 * math.log2(math.e), v)))
    got = e.div(e.sub(_number(e, 1, v), down), e.add(_number(e, 1, v), down))
    return e.op(VCSEL("lt"), v, e.op(VNEG, got), got)


def _log_of(e: Emitter, v: IrValue) -> IrValue:
    return e.mul(e.op(VLOG2, v), _number(e, math.log(2), v))


def _asinh(e: Emitter, v: IrValue) -> IrValue:
    size = e.op(VABS, v)
    got = _log_of(e, e.add(size, _square_root(e, e.add(e.mul(size, size), _number(e, 1, v)))))
    return e.op(VCSEL("lt"), v, e.op(VNEG, got), got)


def _acosh(e: Emitter, v: IrValue) -> IrValue:
    return _log_of(e, e.add(v, _square_root(e, e.sub(e.mul(v, v), _number(e, 1, v)))))


def _atanh(e: Emitter, v: IrValue) -> IrValue:
    one = _number(e, 1, v)
    return e.mul(_log_of(e, e.div(e.add(one, v), e.sub(one, v))), _number(e, 0.5, v))


EXPANSIONS.update({"sinh": _one(_sinh), "cosh": _one(_cosh), "tanh": _one(_tanh), "asinh": _one(_asinh),
               "acosh": _one(_acosh), "atanh": _one(_atanh)})  # fmt: skip


# --- vectors ---------------------------------------------------------------------------------------------------------
def _dot(e: Emitter, a: IrValue, b: IrValue) -> IrValue:
    return e.mul(a, b) if count(a.kind) == 1 else e.op(VDOT, a, b)


EXPANSIONS["dot"] = _two(_dot)


def _length(e: Emitter, v: IrValue) -> IrValue:
    return e.op(VABS, v) if count(v.kind) == 1 else _square_root(e, _dot(e, v, v))


EXPANSIONS["length"] = _one(_length)
EXPANSIONS["distance"] = _two(lambda e, a, b: _length(e, e.sub(a, b)))


@defines("normalize")
@_one
def _normalize(e: Emitter, v: IrValue) -> IrValue:
    return e.mul(v, e.spread(e.op(VRSQ, _dot(e, v, v)), count(v.kind)))


@defines("cross")
@_two
def _cross(e: Emitter, a: IrValue, b: IrValue) -> IrValue:
    left = e.mul(e.swizzle(a, "yzx"), e.swizzle(b, "zxy"))
    return e.sub(left, e.mul(e.swizzle(a, "zxy"), e.swizzle(b, "yzx")))


@defines("reflect")
@_two
def _reflect(e: Emitter, i: IrValue, n: IrValue) -> IrValue:
    twice = e.mul(_dot(e, n, i), float_const(2, element(i.kind)))
    return e.sub(i, e.mul(e.spread(twice, count(i.kind)), n))


@defines("refract")
@_three
def _refract(e: Emitter, i: IrValue, n: IrValue, eta: IrValue) -> IrValue:
    size, one = count(i.kind), float_const(1, element(i.kind))
    d = _dot(e, n, i)
    k = e.sub(one, e.mul(e.mul(eta, eta), e.sub(one, e.mul(d, d))))
    root = _square_root(e, e.op(VMAX, k, float_const(0, element(i.kind))))
    along = e.add(e.mul(eta, d), root)
    got = e.sub(e.mul(e.spread(eta, size), i), e.mul(e.spread(along, size), n))
    return e.op(VCSEL("lt"), e.spread(k, size), e.constant(0, i.kind), got)


@defines("faceforward")
@_three
def _faceforward(e: Emitter, n: IrValue, i: IrValue, reference: IrValue) -> IrValue:
    return e.op(VCSEL("lt"), e.spread(_dot(e, reference, i), count(n.kind)), n, e.op(VNEG, n))


@defines("lit")
def _lit(e: Emitter, a: list[Values], call: Call) -> Values:
    """Compute Cg's lighting coefficients: 1, the diffuse part, the specular part, 1."""
    (d,), (h,), (m,) = a
    zero, one = float_const(0, d.kind), float_const(1, d.kind)
    both = e.op(VMIN, d, h)
    power = e.op(VEXP2, e.mul(e.op(VLOG2, h), m))
    return [e.join([one, e.op(VMAX, d, zero), e.op(VCSEL("lt"), both, zero, power), one])]


@defines("fwidth")
@_one
def _fwidth(e: Emitter, v: IrValue) -> IrValue:
    return e.add(e.op(VABS, e.op(VDSX, v)), e.op(VABS, e.op(VDSY, v)))


# --- matrices: values are vectors, as the language indexes them -------------------------------------------------------
def transposed(e: Emitter, rows: Values) -> Values:
    """Return the vectors of the transposed matrix."""
    return [e.join([e.part(r, k) for r in rows]) for k in range(count(rows[0].kind))]


EXPANSIONS["transpose"] = lambda e, a, call: transposed(e, a[0])


def combined(e: Emitter, v: IrValue, rows: Values) -> IrValue:
    """Compute the sum of vectors, each multiplied by a channel of `v`.

    Vectors multiplied by 1 come first, as in Sony's compiler: each of the others is then one operation.
    """
    factors = [(e.spread(e.part(v, k), count(row.kind)), row) for k, row in enumerate(rows)]
    factors.sort(key=lambda f: same_number(f[0]) != 1)
    return reduce(lambda out, term: e.add(term, out), (e.mul(factor, row) for factor, row in factors))


def dotted(e: Emitter, rows: Values, v: IrValue) -> IrValue:
    """Compute the dot products of vectors with `v`."""
    return e.join([_dot(e, r, v) for r in rows])


@defines("mul")
def _mul(e: Emitter, a: list[Values], call: Call) -> Values:
    """Compute the product of linear algebra; matrices are rows."""
    m, n = call.kinds
    if m.is_matrix and n.is_matrix:
        return [combined(e, row, a[1]) for row in a[0]]
    return [dotted(e, a[0], a[1][0])] if m.is_matrix else [combined(e, a[0][0], a[1])]


@defines("outerProduct")
def _outer(e: Emitter, a: list[Values], call: Call) -> Values:
    column, row = a[0][0], a[1][0]
    return [e.mul(column, e.spread(x, count(column.kind))) for x in e.parts(row)]


Grid = list[Values]


def _minor(grid: Grid, row: int, column: int) -> Grid:
    return [[v for c, v in enumerate(r) if c != column] for k, r in enumerate(grid) if k != row]


def _determinant(e: Emitter, grid: Grid) -> IrValue:
    if len(grid) == 1:
        return grid[0][0]
    if len(grid) == 2:
        return e.sub(e.mul(grid[0][0], grid[1][1]), e.mul(grid[0][1], grid[1][0]))
    out: IrValue | None = None
    for k, v in enumerate(grid[0]):
        term = e.mul(v, _determinant(e, _minor(grid, 0, k)))
        out = term if out is None else e.sub(out, term) if k & 1 else e.add(out, term)
    assert out is not None
    return out


@defines("determinant")
def _determinant_of(e: Emitter, a: list[Values], call: Call) -> Values:
    return [_determinant(e, [e.parts(r) for r in a[0]])]


@defines("inverse")
def _inverse(e: Emitter, a: list[Values], call: Call) -> Values:
    """Compute the inverse as the adjugate over the determinant."""
    grid = [e.parts(r) for r in a[0]]
    n = len(grid)
    factors = [[_determinant(e, _minor(grid, r, c)) for c in range(n)] for r in range(n)]
    signed = [[e.op(VNEG, v) if r + c & 1 else v for c, v in enumerate(row)] for r, row in enumerate(factors)]
    inverse = e.rcp(reduce(e.add, (e.mul(v, f) for v, f in zip(grid[0], signed[0], strict=True))))
    return [e.join([e.mul(signed[c][r], inverse) for c in range(n)]) for r in range(n)]


# --- bools and bits --------------------------------------------------------------------------------------------------
_ORDERS = {"less": "<", "lessequal": "<=", "greater": ">", "greaterequal": ">=", "equal": "==", "notequal": "!="}


def _order(op: str) -> Expansion:
    def expand(e: Emitter, a: list[Values], call: Call) -> Values:
        floats = call.kinds[0].is_float
        x, y = (e.parts(v[0]) if floats else v for v in a)
        signed = call.kinds[0].base.kind == "int"
        return [e.compare(op, p, q, signed) for p, q in zip(x, y, strict=True)]

    return expand


EXPANSIONS.update({name: _order(op) for name, op in _ORDERS.items()})
EXPANSIONS["not"] = lambda e, a, call: [e.opposite(v) for v in a[0]]
EXPANSIONS["all"] = lambda e, a, call: [e.every(a[0])]


EXPANSIONS["any"] = lambda e, a, call: [reduce(e.either, a[0])]


def _per_part(f: Callable[[Emitter, IrValue], IrValue]) -> Expansion:
    """Return an expansion with a scalar result for each component."""
    return lambda e, a, call: [f(e, v) for v in e.parts(a[0][0])]


def _against_infinity(op: str) -> Expansion:
    return _per_part(lambda e, v: e.compare(op, e.op(VABS, v), float_const(math.inf, v.kind)))


EXPANSIONS["isnan"] = _per_part(lambda e, v: e.compare("!=", v, v))
EXPANSIONS["isinf"] = _against_infinity("==")
EXPANSIONS["isfinite"] = _against_infinity("<")
EXPANSIONS["floatbits"] = EXPANSIONS["floatubits"] = _per_part(lambda e, v: e.op(BITS("r"), e.as_f32(v)))


@defines("bitsfloat")
def _bitsfloat(e: Emitter, a: list[Values], call: Call) -> Values:
    return [e.join([e.op(BITS("f32"), v) for v in a[0]])]


# --- textures --------------------------------------------------------------------------------------------------------
def _sample(e: Emitter, call: Call, kind: str, lod: str, *given: IrValue) -> Values:
    to = vector("f16" if call.result.base.bits == 16 else "f32", 4)
    return [e.b.op(SAMPLE(call.sampler, kind, lod, to), *(e.as_f32(v) for v in given))]


@defines("sample")
def _plain_sample(e: Emitter, a: list[Values], call: Call) -> Values:
    given = [v[0] for v in a]
    return _sample(e, call, call.texture, "grad" if len(given) == 3 else "", *given)


def _with_level(lod: str) -> Expansion:
    return lambda e, a, call: _sample(e, call, call.texture, lod, a[0][0], a[1][0])


def _with_level_in_w(lod: str) -> Expansion:
    """Return an expansion that takes the level of detail from the fourth component of the coordinate."""

    def expand(e: Emitter, a: list[Values], call: Call) -> Values:
        place = e.swizzle(a[0][0], "xyz" if call.texture == "cube" else "xy")
        return _sample(e, call, call.texture, lod, place, e.part(a[0][0], 3))

    return expand


def _projected(divisor: str, lod: str = "") -> Expansion:
    def expand(e: Emitter, a: list[Values], call: Call) -> Values:
        place = e.swizzle(a[0][0], f"xy{divisor}")
        if not lod:
            return _sample(e, call, "proj", "", place)
        flat = e.div(e.swizzle(place, "xy"), e.swizzle(place, "zz"))
        return _sample(e, call, "2d", lod, flat, a[1][0])

    return expand


EXPANSIONS.update({
    "bias": _with_level("bias"), "lod": _with_level("lod"),
    "bias4": _with_level_in_w("bias"), "lod4": _with_level_in_w("lod"),
    "project": _projected("w"), "project3": _projected("z"),
    "projectbias": _projected("w", "bias"), "project3bias": _projected("z", "bias"),
    "projectlod": _projected("w", "lod"), "project3lod": _projected("z", "lod"),
})  # fmt: skip


__all__ = ["EXPANSIONS", "Call", "combined", "dotted", "transposed"]
