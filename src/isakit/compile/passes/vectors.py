"""Passes on vectors: operations the target lacks are expanded, products fused into sums, unused channels dropped."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from isakit.compile.builder import IrBuilder
from isakit.compile.ir import Block, Const, Function, Ins, IrOp, IrValue, NoAttributes, Operation
from isakit.compile.ops import PAND, PHI, PNOT, POR, PXOR
from isakit.compile.passes.ssa import replace
from isakit.compile.passes.values import count_uses
from isakit.compile.vector_ops import (
    CHANNELS,
    CONSTANTS,
    DISCARD,
    ELEMENTS,
    INPUT,
    JOIN,
    SAMPLE,
    SWIZZLE,
    UNIFORM,
    UNIFORM_AT,
    VABS,
    VADD,
    VCOS,
    VCSEL,
    VCVT,
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
    VMUL,
    VNEG,
    VRCP,
    VROUND8,
    VRSQ,
    VSAT,
    VSEL,
    VSIN,
    VSUBFLOOR,
    channels_of,
    count,
    element,
    of_kind,
    vector,
)
from isakit.float_bits import bits_of_float

ELEMENTWISE: tuple[IrOp[..., NoAttributes], ...] = (
    VADD, VMUL, VMAD, VMIN, VMAX, VNEG, VABS, VSAT, VFRC, VFLOOR, VSUBFLOOR, VRCP, VRSQ, VLOG2, VEXP2, VSIN, VCOS,
    VDSX, VDSY, VROUND8,
)  # fmt: skip


# --- operations that targets have not --------------------------------------------------------------------------------
def lower_vectors(f: Function) -> None:
    """Expand vector operations that the target has no instruction for."""
    replaced: dict[IrValue, IrValue] = {}
    for b in f.blocks:
        old, b.ins = b.ins, []
        build = IrBuilder(b)
        for i in old:
            lower = _LOWER.get(i.op)
            if lower is None or (i.op is VSEL and i.out.kind != "p"):
                b.ins.append(i)
                continue
            build.loc = i.loc
            build.shared = {}
            replaced[i.out] = lower(build, [replaced.get(a, a) for a in i.args])
    replace(f, replaced)


def _splat(bits: int, kind: str) -> tuple[IrOp[[], NoAttributes], list[IrValue]]:
    return JOIN, [Const(bits, element(kind))] * count(kind)


def constant(b: IrBuilder, x: float, kind: str) -> IrValue:
    """Return a number in all elements of a value of a kind."""
    of = element(kind)
    bits = bits_of_float(x, of)
    return Const(bits, of) if count(kind) == 1 else b.op(*_arguments(_splat(bits, kind)))


def _arguments(
    what: tuple[IrOp[[], NoAttributes], list[IrValue]],
) -> tuple[IrOp[[], NoAttributes], *tuple[IrValue, ...]]:
    return what[0], *what[1]


def _fraction(b: IrBuilder, a: list[IrValue]) -> IrValue:
    return b.op(VSUBFLOOR, a[0], a[0])


def _floor(b: IrBuilder, a: list[IrValue]) -> IrValue:
    """Return -(-0 - floor(a)), which has the sign of floor(a) for zeros, too."""
    return b.op(VNEG, b.op(VSUBFLOOR, constant(b, -0.0, a[0].kind), a[0]))


def _exclusive(b: IrBuilder, a: list[IrValue]) -> IrValue:
    return b.op(PAND, b.op(POR, a[0], a[1]), b.op(PNOT, b.op(PAND, a[0], a[1])))


def _choice(b: IrBuilder, a: list[IrValue]) -> IrValue:
    return b.op(POR, b.op(PAND, a[0], a[1]), b.op(PAND, b.op(PNOT, a[0]), a[2]))


SINE = (-0.16666667, 0.0083333310, -0.00019840874, 2.7525562e-6, -2.3889859e-8)
"""Coefficients of sin(x) / x - 1 in powers of x squared, for |x| up to pi/2: the largest error is below 1e-8."""


def _sine(b: IrBuilder, x: IrValue) -> IrValue:
    """Return the sine, computed from the distance to the nearest multiple of pi and the sign given by that multiple."""
    # n = floor(x / pi + 1/2); r = x - n pi; sin x = (-1)^n sin r
    n = _floor(b, [b.op(VMAD, x, constant(b, 0.31830987, x.kind), constant(b, 0.5, x.kind))])
    return _half_wave(b, x, n, n)


def _half_wave(b: IrBuilder, x: IrValue, n: IrValue, shifted: IrValue) -> IrValue:
    """Return (-1)^n sin(x - shifted * pi)."""
    k = x.kind
    r = b.op(VMAD, shifted, constant(b, -3.140625, k), x)
    r = b.op(VMAD, shifted, constant(b, -0.0009676536, k), r)
    odd = b.op(VSUBFLOOR, *([b.op(VMUL, n, constant(b, 0.5, k))] * 2))  # 0 or 1/2
    sign = b.op(VMAD, odd, constant(b, -4.0, k), constant(b, 1.0, k))
    square = b.op(VMUL, r, r)
    p = constant(b, SINE[-1], k)
    for c in SINE[-2::-1]:
        p = b.op(VMAD, p, square, constant(b, c, k))
    p = b.op(VMUL, p, square)
    return b.op(VMUL, b.op(VMAD, p, r, r), sign)


def _cosine(b: IrBuilder, x: IrValue) -> IrValue:
    """Return the cosine: sin(x + pi/2), whose multiple of pi is the nearest one and a half."""
    # n = floor(x / pi) + 1; r = x - (n - 1/2) pi; cos x = (-1)^n sin r
    whole = _floor(b, [b.op(VMUL, x, constant(b, 0.31830987, x.kind))])
    n = b.op(VADD, whole, constant(b, 1.0, x.kind))
    return _half_wave(b, x, n, b.op(VADD, whole, constant(b, 0.5, x.kind)))


def _in_f32(wave: Callable[[IrBuilder, IrValue], IrValue]) -> Callable[[IrBuilder, list[IrValue]], IrValue]:
    """Return a function that computes in f32 and rounds its result to the type of its argument."""
    return lambda b, a: b.op(VCVT(element(a[0].kind)), wave(b, b.op(VCVT("f32"), a[0])))


_LOWER: dict[object, Callable[[IrBuilder, list[IrValue]], IrValue]] = {
    VFRC: _fraction, VFLOOR: _floor, PXOR: _exclusive, VSEL: _choice, VSIN: _in_f32(_sine), VCOS: _in_f32(_cosine),
}  # fmt: skip


# --- products and sums -----------------------------------------------------------------------------------------------
def fuse_products(f: Function) -> None:
    """Fuse a product into the only sum that reads it, which saves one rounding."""
    uses = count_uses(f)
    for b in f.blocks:
        for i in b.ins:
            if i.op is not VADD:
                continue
            for k in (0, 1):
                product, neg = _product(i.args[k], uses, b)
                if product is not None:
                    x, y = product.args
                    if neg:
                        opposite = Ins(VNEG, [x], (x.kind,), i.loc)
                        b.insert(b.ins.index(i), opposite)
                        x = opposite.out
                    i.become(VMAD, [x, y, i.args[1 - k]])
                    break


def _product(v: IrValue, uses: dict[IrValue, int], b: Block) -> tuple[Ins | None, bool]:
    """Return (the product that a value is or negates, whether it is negated); (None, False) if it is neither."""
    neg = False
    i = v.ins
    while i is not None and i.op is VNEG and uses[v] == 1:
        neg, v = not neg, i.args[0]
        i = v.ins
    if i is not None and i.op is VMUL and uses[v] == 1:
        return i, neg
    return None, False


def extend_dot_products(f: Function) -> None:
    """Make a number that is added to a dot product one of its products, with 1, where that needs no new vector.

    The number has to be a channel of a vector whose others are factors. The sign of a sum that is 0 may differ.
    """
    uses = count_uses(f)
    for b in f.blocks:
        for i in list(b.ins):
            if i.op is not VADD or i.out.kind != "f32":
                continue
            for total, x in (i.args, i.args[::-1]):
                dot = total.ins
                if dot is None or dot.op is not VDOT or uses[total] != 1 or count(dot.args[0].kind) > 3:
                    continue
                found = _with_one_more(b, i, dot, x)
                if found is not None:
                    i.become(VDOT, found)
                    break


def _with_one_more(b: Block, i: Ins, dot: Ins, x: IrValue) -> list[IrValue] | None:
    for v, other in (dot.args, dot.args[::-1]):
        (base, letters), (same, letter) = channels_of(v), channels_of(x)
        if base is same and base.kind != "f32":
            build = IrBuilder(Block(0), i.loc)
            longer = build.op(SWIZZLE(letters + letter), base)
            ones = build.op(SWIZZLE("xyz"[: count(other.kind)] + "1"), other)
            b.insert(b.ins.index(i), *build.block.ins)
            return [longer, ones]
    return None


def _joined(b: Block, i: Ins, parts: list[IrValue]) -> Ins:
    """Insert a join of values before an operation."""
    join = Ins(JOIN, list(parts), (vector(element(parts[0].kind), sum(count(v.kind) for v in parts)),), i.loc)
    b.insert(b.ins.index(i), join)
    return join


def sink_joins(f: Function) -> None:
    """Replace operations on the elements of a join by one on whole vectors."""
    uses = count_uses(f)
    for b in f.blocks:
        for i in reversed(list(b.ins)):
            if i.op is JOIN and not _vectorized(b, i, uses):
                _vectorize_runs(b, i, uses)


def _vectorize_runs(b: Block, i: Ins, uses: dict[IrValue, int]) -> None:
    """Compute consecutive elements of a join together if they are results of the same kind of operation."""
    at = 0
    while at < len(i.args):
        for end in range(len(i.args), at + 1, -1):
            run = i.args[at:end]
            if len(run) < len(i.args) and not isinstance(run[0], Const):
                new = _joined(b, i, run)
                if _vectorized(b, new, uses):
                    uses[new.out] = 1
                    i.args[at:end] = [new.out]
                    break
                b.ins.remove(new)
        at += 1


def _vectorized(b: Block, i: Ins, uses: dict[IrValue, int]) -> bool:
    """Turn a join of results of one operation into that operation on joins, which may be such joins themselves.

    Returns whether it did.
    """
    first = i.args[0].ins
    if first is None or first.op not in (*ELEMENTWISE, VCVT) or first.op in (VNEG, VABS):
        return False
    for a in i.args:
        o = a.ins
        alike = o is not None and (o.op, o.attrs, o.block) == (first.op, first.attrs, b) and uses[a] == 1
        if not alike or o is None or o.args[0].kind.partition("x")[0] != first.args[0].kind.partition("x")[0]:
            return False
    parts = [a.ins for a in i.args if a.ins is not None]
    columns = [[o.args[k] for o in parts] for k in range(len(first.args))]
    made = [_joined(b, i, column).out for column in columns]
    for v in (*made, *(v for column in columns for v in column)):
        uses[v] = uses.get(v, 1)
    i.become(Operation(first.op, first.attrs), made)
    for v in made:
        if v.ins is not None and not _vectorized(b, v.ins, uses):
            _vectorize_runs(b, v.ins, uses)
    return True


# --- channels --------------------------------------------------------------------------------------------------------
_BY_CHANNEL = frozenset((*ELEMENTWISE, VCVT, VCSEL))
"""Operations that are computed channel by channel."""
_ALL = (0, 1, 3, 7, 15)
"""Masks of the first `n` channels."""


def narrow_vectors(f: Function) -> None:
    """Narrow operations of which some channels are never read; the others move together.

    In a debug build, channels that a variable holds count as read.
    """
    shown: dict[IrValue, int] = {}
    for mark in (mark for b in f.blocks for mark in b.marks) if f.debugged else ():
        for v, channel in (_origin(v, mark.channel) for v in mark.values):
            shown[v] = shown.get(v, 0) | 1 << channel
    needed = _channels_needed([i for b in f.blocks for i in (*b.phis, *b.ins)], shown)
    replaced: dict[IrValue, IrValue] = {}
    for b in f.blocks:
        for mark in b.marks:
            for v in mark.values:
                v, mark.channel = _origin(v, mark.channel)
                whole = isinstance(v, Const) or element(v.kind) not in ELEMENTS or (_is_uniform(v) and v not in needed)
                mark.values = [v] if whole or needed.get(v, 0) >> mark.channel & 1 else []
        old, b.ins = b.ins, []
        for i in old:
            mask = needed.get(i.outs[0], 0) if i.outs else 0
            if not mask or mask == _ALL[count(i.outs[0].kind)]:
                b.ins.append(i)
                continue
            mine = [k for k in range(4) if mask >> k & 1]
            narrower = len(mine) < count(i.out.kind) and i.op is not PHI
            if narrower and (i.op in _BY_CHANNEL or i.op is VSEL):
                _narrowed(b, i, mine, replaced)
            elif narrower and i.op in (INPUT, UNIFORM, UNIFORM_AT, SAMPLE) and mine[-1] + 1 < count(i.out.kind):
                _shortened(b, i, mine[-1] + 1, replaced)
            else:
                b.ins.append(i)
    replace(f, replaced)


def _channels_needed(order: Sequence[Ins], shown: Mapping[IrValue, int]) -> dict[IrValue, int]:
    """Return the channels of each value that are read, as masks, for operations in the order of the code.

    `shown`: the channels that are needed for themselves, likewise.
    """
    needed = dict(shown)
    changed = True
    while changed:
        changed = False
        passed: set[Ins | None] = set()
        for i in reversed(order):
            passed.add(i)
            op, mine = i.op, needed.get(i.outs[0], 0) if i.outs else 0
            asked: list[int] = []
            if op is JOIN:
                below = mine
                for a in i.args:
                    asked.append(below & _ALL[count(a.kind)])
                    below >>= count(a.kind)
            elif op is SWIZZLE:
                letters = SWIZZLE.of(i).pattern
                read = {c for k, c in enumerate(letters) if mine >> k & 1 and c not in CONSTANTS}
                asked = [sum(1 << CHANNELS.index(c) for c in read)]
            elif op in _BY_CHANNEL:
                asked = [mine] * len(i.args)
            elif op is VSEL or op is PHI:
                kind = i.out.kind
                asked = [mine if a.kind == kind and count(kind) > 1 else 1 for a in i.args]
            else:
                asked = [_ALL[count(a.kind)] for a in i.args]
            for a, channels in zip(i.args, asked, strict=True):
                have = needed.get(a, 0)
                if channels & ~have:
                    needed[a] = have | channels
                    changed = changed or a.ins in passed
    return needed


def _origin(v: IrValue, channel: int) -> tuple[IrValue, int]:
    """Return the value a channel was taken from, and its channel number there."""
    while v.ins is not None and v.ins.op in (SWIZZLE, JOIN):
        if v.ins.op is SWIZZLE:
            letter = SWIZZLE.of(v.ins).pattern[channel]
            if letter in CONSTANTS:
                break
            v, channel = v.ins.args[0], CHANNELS.index(letter)
            continue
        for a in v.ins.args:
            if channel < count(a.kind):
                v = a
                break
            channel -= count(a.kind)
    return v, channel


def _is_uniform(v: IrValue) -> bool:
    """Return whether a value is a uniform, which lies in memory or registers sa with all its channels."""
    return v.ins is not None and v.ins.op is UNIFORM


def _narrowed(b: Block, i: Ins, mine: list[int], replaced: dict[IrValue, IrValue]) -> None:
    build = IrBuilder(b, i.loc)
    letters = "".join(CHANNELS[k] for k in mine)
    args = [a if a.kind == "p" else build.op(SWIZZLE(letters), a) for a in i.args]
    new = build.op(Operation(i.op, i.attrs), *args)
    replaced[i.out] = _widened(build, new, mine, i.out.kind)


def _shortened(b: Block, i: Ins, n: int, replaced: dict[IrValue, IrValue]) -> None:
    build = IrBuilder(b, i.loc)
    kind = vector(element(i.out.kind), n)
    new = build.emit(of_kind(i, kind), list(i.args), (kind,)).out
    replaced[i.out] = _widened(build, new, list(range(n)), i.out.kind)


def _widened(build: IrBuilder, v: IrValue, mine: list[int], kind: str) -> IrValue:
    """Return a value with its channels at their old positions; the other channels are undefined."""
    places = {c: CHANNELS[k] for k, c in enumerate(mine)}
    return build.op(SWIZZLE("".join(places.get(c, CHANNELS[0]) for c in range(count(kind)))), v)


def predicate_discards(f: Function) -> None:
    """Replace a branch around a block that only discards by a predicated discard.

    If the other path is one block, a discarded pixel executes it, too: its results are invisible.
    """
    for b in f.blocks:
        if b.term[0] != "branch":
            continue
        _, p, inverted, yes, no = b.term
        for side, other, opposite in ((yes, no, inverted), (no, yes, not inverted)):
            alone = side.preds == [b] and not side.phis and side.term[0] == "jump" and len(side.ins) == 1
            if not alone or side.ins[0].op is not DISCARD or not isinstance(side.ins[0].args[0], Const):
                continue
            join = side.term[1]
            if not other.phis if join is other else other.preds == [b] and other.term == ("jump", join):
                build = IrBuilder(b, side.ins[0].loc)
                build.emit(DISCARD, [build.op(PNOT, p) if opposite else p], ())
                b.term = ("jump", other)
                break
