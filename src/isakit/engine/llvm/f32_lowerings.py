"""Native lowerings of the hot f32 operations, proven equal to their integer definitions by the tests.

Two families. `embedded` uses AVX-512 instructions with embedded rounding (round to nearest or to zero, exceptions
suppressed); it needs flush-to-zero and denormals-are-zero switched on around the call, which the driver function does.
x86 decides underflow after rounding with unbounded exponent, which is the rule of `f32_add` and `f32_mul`. `portable`
computes in double precision with the default environment and rounds by integer arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from isakit.engine.llvm.builder import I1, I16, IrFunction, Ref, vector
from isakit.engine.llvm.target import KEEPS_HALF
from isakit.engine.llvm.values import PURE, Native, ValueLowering
from isakit.engine.llvm.vector_pieces import bits_of, compared, joined, numbers_of, pieces
from isakit.sem.fp.core import F32
from isakit.sem.operation import Statics

NAN = 0x7FFFFFFF
ABS = 0x7FFFFFFF
LARGEST = 0x7F7FFFFF
EMBEDDED_ROUNDING = {"rn": 8, "rz": 11}


PIECE = 16
"""Floats of a 512-bit register."""


def _packed(low: ValueLowering, name: str, a: Ref, b: Ref, *given: tuple[str, object]) -> Ref:
    """Return the result of one packed instruction per 16 lanes; `given` are its further operands, as (type, value)."""
    types = ", ".join(["<16 x float>"] * 2 + [ty for ty, _ in given])
    f = low.module.declare(f"llvm.x86.avx512.{name}.ps.512", f"<16 x float> @({types})")
    others = ", ".join(f"{ty} {value}" for ty, value in given)
    both = zip(*(pieces(low, numbers_of(low, r, "float"), "float", PIECE) for r in (a, b)), strict=True)
    results = [low.body(f"call <16 x float> {f}(<16 x float> {x}, <16 x float> {y}, {others})") for x, y in both]
    return bits_of(low, joined(low, results, "float", PIECE), "float")


def _avx512(low: ValueLowering, name: str, a: Ref, b: Ref, rounding: str) -> Ref:
    """Return the arithmetic with embedded rounding."""
    return _packed(low, name, a, b, ("i32", EMBEDDED_ROUNDING[rounding]))


def canonical_nan(low: ValueLowering, r: Ref) -> Ref:
    """Replace every NaN by 0x7fffffff."""
    f = numbers_of(low, r, "float")
    return low.select(compared(low, "uno", "float", f, f), low.constant(NAN, 32), r)


FIX_NANS = 0x11111100
"""For `vfixupimmps`, one digit per kind of number: 0 (the destination operand) for NaNs, 1 (the source) for others."""


def one_nan(low: ValueLowering, r: Ref) -> Ref:
    """Emit `canonical_nan` by one instruction a register, for results of AVX-512 (denormals become zeros)."""
    f = low.module.declare(
        "llvm.x86.avx512.mask.fixupimm.ps.512",
        "<16 x float> @(<16 x float>, <16 x float>, <16 x i32>, i32, i16, i32)",
    )
    nan = "bitcast (<16 x i32> splat (i32 2147483647) to <16 x float>)"
    given = f"<16 x i32> splat (i32 {FIX_NANS}), i32 0, i16 -1, i32 4"
    fixed = [
        low.body(f"call <16 x float> {f}(<16 x float> {nan}, <16 x float> {x}, {given})")
        for x in pieces(low, numbers_of(low, r, "float"), "float", PIECE)
    ]
    return bits_of(low, joined(low, fixed, "float", PIECE), "float")


def _is_zero(low: ValueLowering, a: Ref) -> Ref:
    """Return whether floats are zeros or denormals, i1."""
    exponent = low.op("and", a, low.constant(0x7F800000, 32))
    return low.compare("eq", exponent, low.constant(0, 32))


def _sum_and_product(raw: bool) -> tuple[Native, Native]:
    def add(low: ValueLowering, args: Sequence[Ref], statics: Statics) -> Ref | None:
        rounding = statics.get("rounding", "rn")
        if rounding not in EMBEDDED_ROUNDING or all(a.uniform for a in args):
            return None
        total = _avx512(low, "add", args[0], args[1], rounding)
        return total if raw else one_nan(low, total)

    def mul(low: ValueLowering, args: Sequence[Ref], statics: Statics) -> Ref | None:
        rounding = statics.get("rounding", "rn")
        if rounding not in EMBEDDED_ROUNDING or statics.get("zero_wins") or all(a.uniform for a in args):
            return None
        product = _avx512(low, "mul", args[0], args[1], rounding)
        return product if raw else one_nan(low, product)

    return add, mul


SMALLER, LARGER = 4, 5
"""Modes of `vrangeps`: the smaller or larger number, with the sign it has."""


def _extreme(which: int, raw: bool) -> Native:
    def extreme(low: ValueLowering, args: Sequence[Ref], statics: Statics) -> Ref | None:
        """Use `vrangeps`, which knows that -0 is below +0 and that a number wins over a quiet NaN, as is defined.

        Multiplying by one makes zeros of denormals, and quiet NaNs of signalling ones.
        """
        if all(a.uniform for a in args):
            return None
        a, b = (_avx512(low, "mul", x, low.constant(F32.one, 32), "rn") for x in args)
        every = ("<16 x float>", "zeroinitializer"), ("i16", -1), ("i32", 4)
        result = _packed(low, "mask.range", a, b, ("i32", which), *every)
        return result if raw else one_nan(low, result)

    return extreme


EXPONENT = 0x7F800000
TWO_BINADES = 0x01000000
EDGES = 0x7E000000
"""With `TWO_BINADES` added, a number has none of these bits if it is below 2**-125 or at least 2**127."""
SMALLEST = 0x00800000
SMALL = 0x70000000
"""With `SMALLEST` subtracted, a number that is not zero has none of these bits if it is below 2**-94.

A product below 2**-126 can change the sum with it.
"""


@dataclass(frozen=True)
class _Mad:
    """Parts of a * b + c.

    `cut`: the product cut to 24 bits. `shifted`: it with two binades more, whose exponent tells both edges of the range
    from all between.
    """

    a: Ref
    b: Ref
    c: Ref
    cut: Ref
    shifted: Ref


def _begun(low: ValueLowering, a: Ref, b: Ref, c: Ref) -> _Mad:
    cut = _avx512(low, "mul", a, b, "rz")
    return _Mad(a, b, c, cut, low.op("add", cut, low.constant(TWO_BINADES, 32)))


def _bits_of(low: ValueLowering, a: Ref, bits: int) -> Ref:
    return low.op("and", a, low.constant(bits, 32))


def _is_none(low: ValueLowering, a: Ref) -> Ref:
    return low.compare("eq", a, low.constant(0, 32))


@dataclass(frozen=True)
class _Test:
    """A test of words: whether all their bits in a mask are 0."""

    words: Ref
    bits: int

    def holds(self, low: ValueLowering) -> Ref:
        """Return the lanes in which it is true."""
        return _is_none(low, _bits_of(low, self.words, self.bits))


_AnyHolds = Callable[[ValueLowering, Sequence[_Test]], Ref]
"""Combines tests: true if one of them is true in one of the lanes, as i1."""


def _one_by_one(low: ValueLowering, tests: Sequence[_Test]) -> Ref:
    """Return an instruction that gives flags for each register."""
    every = ""
    for t in tests:
        for p in pieces(low, _bits_of(low, t.words, t.bits).text, "i32", PIECE):
            some = low.body(f"icmp ne <16 x i32> {p}, zeroinitializer")
            every = low.body(f"and <16 x i1> {some}, {every}") if every else some
    return low.body.ne(low.body.bitcast(Ref(every, vector(PIECE, I1)), I16), -1)


def _by_minimum(low: ValueLowering, tests: Sequence[_Test]) -> Ref:
    """Return one instruction for all flags: on Zen 5 it takes three times as long as an unsigned minimum."""
    f = low.module.declare("llvm.umin.v16i32", "<16 x i32> @(<16 x i32>, <16 x i32>)")
    looked_at = (_bits_of(low, t.words, t.bits).text for t in tests)
    least, *parts = (p for words in looked_at for p in pieces(low, words, "i32", PIECE))
    for p in parts:
        least = low.body(f"call <16 x i32> {f}(<16 x i32> {least}, <16 x i32> {p})")
    flags = low.body(f"icmp eq <16 x i32> {least}, zeroinitializer")
    return low.body.ne(low.body.bitcast(Ref(flags, vector(PIECE, I1)), I16), 0)


def _ordinary(low: ValueLowering, m: _Mad) -> tuple[_Test, _Test]:
    """Return two tests: false where the product is in range, and where the addend is not zero, infinite or NaN."""
    addend = low.op("add", m.c, low.constant(SMALLEST, 32))
    return _Test(m.shifted, EDGES), _Test(addend, EXPONENT & ~SMALLEST)


def _of_any_operands(low: ValueLowering, m: _Mad) -> Ref:
    """Return the sum with the product in the range of f32, rounded where the addend is zero. NaNs are any."""
    zero = _is_zero(low, m.c)
    product = low.select(zero, _avx512(low, "mul", m.a, m.b, "rn"), m.cut)
    return _avx512(low, "add", product, m.c, "rn")


def _small(low: ValueLowering, c: Ref) -> _Test:
    """Return a test: false where the addend is zero, or so large that a product below the range does not matter."""
    return _Test(low.op("sub", c, low.constant(SMALLEST, 32)), SMALL)


def _sum_of_product(raw: bool, any_holds: _AnyHolds) -> Native:
    def mad(low: ValueLowering, args: Sequence[Ref], statics: Statics) -> Ref | None:
        """Multiply and add: the product is cut to 24 bits, or rounded where the addend is zero.

        Three ways, each one for what the one before it does not cover. Two instructions and a test where no addend is a
        zero or NaN and no product at an edge of the range, infinite or NaN. A second multiplication, in lanes whose
        addend is zero, and one NaN for all take in whatever numbers there are, but for products that left the range
        of f32, which the definition does not limit: above, where they are cut to the largest number, and below, where
        they vanish beside an addend they could have changed. For products of the last binade, and for addends so
        small, there is a function that looks more closely. What needed the second way is likely to need it again: the
        instructions that follow go there without the test.
        """
        if statics.get("zero_wins") or all(a.uniform for a in args):
            return None
        body = low.body
        m = _begun(low, *(low.splat(x) for x in args))
        odd, test, usual, done = (body.fresh(x) for x in ("odd", "test", "usual", "summed"))
        if low.habit:
            body.branch(body.load(I1, low.habit), odd, test)
        body.label(test)
        body.branch(any_holds(low, _ordinary(low, m)), odd, usual)
        body.label(usual)
        first = _avx512(low, "add", m.cut, m.c, "rn")
        body.jump(done)
        body.label(odd)
        if low.habit:
            body.store(I1(1), low.habit)
        total = _of_any_operands(low, m)
        total = total if raw else one_nan(low, total)
        left = any_holds(low, (_Test(m.shifted, EXPONENT), _small(low, m.c)))
        total = low.unlikely(left, total, lambda: body.call(careful_mad(low), m.a, m.b, m.c))
        last = body.current
        body.label(done)
        return body.phi([(first, usual), (total, last)])

    return mad


CAREFUL_MAD = "careful f32_mad"
"""Key of the function, for `Module.elsewhere`."""


def careful_mad(low: ValueLowering, public: str = "") -> IrFunction:
    """Return the function for lanes of every kind, whatever their product; `public`: its name for other modules."""
    ty = low.module.vector(32)

    def make(name: str) -> str:
        inner = low.elsewhere()
        result = one_nan(
            inner, _of_any_product(inner, _begun(inner, *(inner.per_lane(f"%a{k}", 32) for k in range(3))))
        )
        listed = ", ".join(f"{ty} %a{k}" for k in range(3))
        return (
            f"define {'' if public else 'internal '}{KEEPS_HALF} {ty} {'@' + public if public else name}({listed}) "
            f"{low.module.attributes} {PURE} noinline cold alignstack(64) {{\n"
            f"{inner.body.text()}\n  ret {ty} {result.text}\n}}"
        )

    return IrFunction(low.module.function(CAREFUL_MAD, make), ty, (ty,) * 3, f"{KEEPS_HALF} ")


def _power(exponent: int) -> int:
    """Return 2**exponent as bits of a float."""
    return exponent + 127 << 23


DOWN, UP = 2, 48
"""Binades by which lanes are moved whose product is above or below the range.

Two are enough above: the sum of a product of 2**130 and any addend is infinite. Below, a product that is still below
after 48 is less than a quarter of the last place of every addend, so it does not matter.
"""


def _of_any_product(low: ValueLowering, m: _Mad) -> Ref:
    """Return the sum where products leave the range of f32: such lanes are added some binades away and moved back.

    Moving is exact, except that rounding to zero keeps a factor that another one of zero makes a zero from becoming
    infinite. A sum below the smallest number must be rounded on the grid of denormals, half of whose step is the last
    place it has here: it is cut instead, and counts as the smallest number from one place below it on.
    """

    def constants(above: int, below: int, otherwise: int) -> Ref:
        near = low.select(is_below, low.constant(below, 32), low.constant(otherwise, 32))
        return low.select(is_above, low.constant(above, 32), near)

    exponent = _bits_of(low, m.cut, EXPONENT)
    is_above = low.compare("eq", exponent, low.constant(LARGEST & EXPONENT, 32))
    is_below = low.op("and", _is_none(low, exponent), _small(low, m.c).holds(low))
    there = constants(_power(-DOWN), _power(UP), _power(0))
    moved = _begun(low, _avx512(low, "mul", m.a, there, "rz"), m.b, _avx512(low, "mul", m.c, there, "rn"))
    zero = _is_zero(low, m.c)
    product = low.select(zero, _avx512(low, "mul", moved.a, m.b, "rn"), moved.cut)
    total = _avx512(low, "add", product, moved.c, "rn")
    size = low.op("and", total, low.constant(ABS, 32))
    small = low.op("and", is_below, low.compare("ult", size, low.constant(_power(UP - 126), 32)))
    on_grid = low.op("add", _avx512(low, "add", product, moved.c, "rz"), low.constant(1, 32))
    back = constants(_power(DOWN), _power(-UP), _power(0))
    return _avx512(low, "mul", low.select(small, on_grid, total), back, "rn")


_PREDICATES = (
    0x0B, 0x11, 0x00, 0x12, 0x1E, 0x0C, 0x1D, 0x07, 0x03, 0x19, 0x08, 0x1A, 0x16, 0x04, 0x15, 0x0F,
)  # fmt: skip
"""Predicate of `vcmpps` and `vcmppd` by relations: 1 less, 2 equal, 4 greater, 8 unordered."""


def packed_comparison(low: ValueLowering, args: Sequence[Ref]) -> Ref | None:
    """Test the relation of two floats for the bits of a constant: one packed comparison per register.

    Denormals count as zeros. None where the bits are not a constant, or both numbers are those of all lanes.
    """
    a, b, bits = args
    if not bits.uniform or not bits.text.lstrip("-").isdigit() or (a.uniform and b.uniform):
        return None
    element, kind, length = ("float", "ps", PIECE) if a.width == 32 else ("double", "pd", PIECE // 2)
    vector, flags = f"<{length} x {element}>", f"<{length} x i1>"
    f = low.module.declare(f"llvm.x86.avx512.mask.cmp.{kind}.512", f"{flags} @({vector}, {vector}, i32, {flags}, i32)")
    test = f"i32 {_PREDICATES[int(bits.text) & 15]}, {flags} splat (i1 true), i32 4"
    whole = (low.bitcast(low.splat(r), f"<{low.module.lanes} x {element}>") for r in (a, b))
    cut = [pieces(low, w, element, length) for w in whole]
    got = [low.body(f"call {flags} {f}({vector} {x}, {vector} {y}, {test})") for x, y in zip(*cut, strict=True)]
    return low.per_lane(joined(low, got, "i1", length), 1)


def _comparison(low: ValueLowering, args: Sequence[Ref], statics: Statics) -> Ref | None:
    """See `packed_comparison`."""
    return packed_comparison(low, args) if statics.get("flushing", True) else None


def embedded_f32(cpu: str, raw: bool) -> dict[str, Native]:
    """Return the lowerings for a processor; `raw`: results may be any NaN, for readers to which all are equal."""
    add, mul = _sum_and_product(raw)
    mad = _sum_of_product(raw, _by_minimum if cpu.startswith("znver") else _one_by_one)
    return {
        "f32_add": add,
        "f32_mul": mul,
        "f32_mad": mad,
        "f32_max": _extreme(LARGER, raw),
        "f32_min": _extreme(SMALLER, raw),
        "holds f32_compare": _comparison,
    }


# --- portable -------------------------------------------------------------------------------------


def _doubles(low: ValueLowering, a: Ref) -> str:
    """Return the numbers as doubles, denormals as signed zeros."""
    n = low.module.lanes
    sign = low.op("and", a, low.constant(0x80000000, 32))
    flushed = low.splat(low.select(_is_zero(low, a), sign, a))
    return low.body(f"fpext <{n} x float> {numbers_of(low, flushed, 'float')} to <{n} x double>")


_TAIL = (1 << 29) - 1


def _to_24_bits(low: ValueLowering, d: Ref, rounding: str) -> Ref:
    """Round double bits to 24 significant bits, any exponent."""
    if rounding == "rn":
        odd = low.op("and", low.op("lshr", d, low.constant(29, 64)), low.constant(1, 64))
        d = low.op("add", low.op("add", d, low.constant((1 << 28) - 1, 64)), odd)
    return low.op("and", d, low.constant(~_TAIL, 64))


def _truncated(low: ValueLowering, d: Ref) -> Ref:
    """Return double bits as f32 bits, rounded by the environment."""
    n = low.module.lanes
    single = low.body(f"fptrunc <{n} x double> {numbers_of(low, d, 'double')} to <{n} x float>")
    return bits_of(low, single, "float")


def _to_single(low: ValueLowering, d: Ref, rounding: str) -> Ref:
    """Return a number of 24 significant bits in f32: overflow by rounding mode, underflow to signed zero, one NaN."""
    r = _truncated(low, d)
    sign = low.op("and", r, low.constant(0x80000000, 32))
    size = low.op("and", d, low.constant((1 << 63) - 1, 64))
    tiny = low.compare("ult", size, low.constant((1023 - 126) << 52, 64))
    r = low.select(tiny, sign, r)
    if rounding == "rz":
        finite = low.compare("ult", size, low.constant(0x7FF << 52, 64))
        huge = low.compare("uge", size, low.constant((1023 + 128) << 52, 64))
        r = low.select(low.op("and", finite, huge), low.op("or", sign, low.constant(LARGEST, 32)), r)
    return canonical_nan(low, r)


def _arithmetic(low: ValueLowering, name: str, a: str, b: str) -> str:
    return low.body(f"{name} <{low.module.lanes} x double> {a}, {b}")


def _special(low: ValueLowering, d: Ref) -> Ref:
    """Return infinity or NaN, which rounding by integer addition must not touch."""
    exponent = low.op("and", d, low.constant(0x7FF << 52, 64))
    return low.compare("eq", exponent, low.constant(0x7FF << 52, 64))


def _rounded(low: ValueLowering, d: Ref, rounding: str) -> Ref:
    return low.select(_special(low, d), d, _to_24_bits(low, d, rounding))


def _portable_add(low: ValueLowering, args: Sequence[Ref], statics: Statics) -> Ref | None:
    if statics.get("rounding", "rn") != "rn" or all(a.uniform for a in args):
        return None  # rounding to zero needs the error of the sum: the definition is as good
    total = bits_of(low, _arithmetic(low, "fadd", *(_doubles(low, a) for a in args)), "double")
    return _to_single(low, _rounded(low, total, "rn"), "rn")


def _portable_mul(low: ValueLowering, args: Sequence[Ref], statics: Statics) -> Ref | None:
    rounding = statics.get("rounding", "rn")
    if rounding not in EMBEDDED_ROUNDING or statics.get("zero_wins") or all(a.uniform for a in args):
        return None
    product = bits_of(low, _arithmetic(low, "fmul", *(_doubles(low, a) for a in args)), "double")
    return _to_single(low, _rounded(low, product, rounding), rounding)


def _portable_mad(low: ValueLowering, args: Sequence[Ref], statics: Statics) -> Ref | None:
    if statics.get("zero_wins") or all(a.uniform for a in args):
        return None
    return _mad_in_doubles(low, *(low.splat(x) for x in args))


def _mad_in_doubles(low: ValueLowering, a: Ref, b: Ref, c: Ref) -> Ref:
    """Compute a * b + c where no product leaves the range, whether the environment flushes denormals or not."""
    exact = bits_of(low, _arithmetic(low, "fmul", _doubles(low, a), _doubles(low, b)), "double")
    cut = _rounded(low, exact, "rz")
    with_cut = bits_of(low, _arithmetic(low, "fadd", numbers_of(low, cut, "double"), _doubles(low, c)), "double")
    single = _to_single(low, _rounded(low, exact, "rn"), "rn")
    with_rounded = bits_of(low, _arithmetic(low, "fadd", _doubles(low, single), _doubles(low, c)), "double")
    total = low.select(_is_zero(low, c), with_rounded, with_cut)
    # The sum is rounded on the grid of denormals and flushed afterwards: numbers that reach 2**-126 there are kept.
    size = low.op("and", total, low.constant((1 << 63) - 1, 64))
    tiny = low.compare("ult", size, low.constant((1023 - 126) << 52, 64))
    reaches = low.compare("uge", size, low.constant(_SUM_REACHES_NORMAL, 64))
    sign = low.op("and", total, low.constant(1 << 63, 64))
    smallest = low.select(reaches, low.constant((1023 - 126) << 52, 64), low.constant(0, 64))
    total = low.select(tiny, low.op("or", sign, smallest), total)
    return canonical_nan(low, _truncated(low, total))


_SUM_REACHES_NORMAL = ((1023 - 126) << 52) - (1 << 29)
"""Bits of 2**-126 - 2**-150, from where on a sum rounds to 2**-126 on the grid of denormals."""

PORTABLE_F32: dict[str, Native] = {"f32_add": _portable_add, "f32_mul": _portable_mul, "f32_mad": _portable_mad}
