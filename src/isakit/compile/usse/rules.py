"""The rules of selection for the USSE.

Among the instructions for an operation, the one whose operands need the fewest copies is selected: multiply-add has one
form that reads pairs of any register, and forms that read and write four channels of internal registers.
"""

from __future__ import annotations

from collections.abc import Callable

from isakit.compile.ir import Const, Ins, IrValue, NoAttributes
from isakit.compile.lower.form import OperandReg, VReg
from isakit.compile.ops import (
    CMP,
    PAND,
    PNOT,
    POR,
    Compare,
)
from isakit.compile.usse import instructions as hw
from isakit.compile.usse.operands import Fixed, FixedView, Source, View
from isakit.compile.usse.program import STRETCH
from isakit.compile.usse.registers import words
from isakit.compile.usse.selection import Dest, UsseSelection, immediate, rule
from isakit.compile.vector_ops import (
    DISCARD,
    FACING,
    JOIN,
    ONE,
    OUTPUT,
    SAMPLE,
    TARGET_COLOR,
    UNIFORM_AT,
    UNIFORM_LOAD,
    VADD,
    VCMP,
    VCSEL,
    VCVT,
    VDOT,
    VDSX,
    VDSY,
    VEXP2,
    VLOG2,
    VMAD,
    VMAX,
    VMIN,
    VMUL,
    VRCP,
    VROUND8,
    VRSQ,
    VSAT,
    VSEL,
    VSUBFLOOR,
    Condition,
    Element,
    OutputName,
    Sampling,
    UniformName,
    count,
    element,
)

Candidates = list[tuple[hw.UsseOp, tuple[int, ...]]]
INVERTED = {"eq": "ne", "ne": "eq", "lt": "ge", "ge": "lt", "le": "gt", "gt": "le"}
INTEGER = {"e": "eq", "lg": "ne", "l": "lt", "le": "le", "g": "gt", "ge": "ge"}


# --- elements --------------------------------------------------------------------------------------------------------
def two(table: dict[str, hw.UsseOp], commutes: bool = True) -> Callable[[Dest], Candidates]:
    """Return the candidates for an operation with two sources, in either order if it commutes."""
    return lambda d: [(table[d.ty], (0, 1)), *([(table[d.ty], (1, 0))] if commutes else [])]


_PAIRS = {VADD: hw.ADD, VMUL: hw.MUL, VMIN: hw.MIN, VMAX: hw.MAX}


@rule(VADD, VMUL, VMIN, VMAX)
def _pair(s: UsseSelection, i: Ins, a: NoAttributes) -> None:
    x, y = s.source(i.args[0]), s.source(i.args[1])
    if i.op is VMUL and x.neg and y.neg:
        x, y = x.negated(), y.negated()
    s.vector(s.result(i), two(_PAIRS[i.op]), x, y)


@rule(VSUBFLOOR)
def _subtract_floor(s: UsseSelection, i: Ins, a: NoAttributes) -> None:
    s.vector(s.result(i), two(hw.FRC, commutes=False), s.source(i.args[0]), s.source(i.args[1]))


@rule(VSAT)
def _saturate(s: UsseSelection, i: Ins, a: NoAttributes) -> None:
    d = s.result(i)
    t = d if d.v.cls.file != "o" else s.temporary_like(d)
    s.vector(t, two(hw.MAX), s.source(i.args[0]), Source(None, (0,) * d.count, d.ty))
    s.vector(d, two(hw.MIN), s.read(t), Source(None, (ONE[d.ty],) * d.count, d.ty))


@rule(VMAD)
def _multiply_add(s: UsseSelection, i: Ins, a: NoAttributes) -> None:
    """Emit a multiply-add; the sign of the product may be moved to either factor."""
    x, y, z = (s.source(v) for v in i.args)
    if x.neg and y.neg:
        x, y = x.negated(), y.negated()
    sources, orders = (x, y, z), ((0, 1, 2), (1, 0, 2))
    if x.neg != y.neg and x.base is not None and y.base is not None:
        x, y = x._replace(neg=False), y._replace(neg=False)
        sources, orders = (x, y, z, x.negated(), y.negated()), ((0, 4, 2), (1, 3, 2))

    def candidates(d: Dest) -> Candidates:
        ops = [hw.MAD2[d.ty]]
        if d.ty == "f32":
            ops += [hw.MAD4, hw.MAD3] if d.count < 4 else [hw.MAD4]
        return [(op, order) for op in ops for order in orders]

    s.vector(s.result(i), candidates, *sources)


@rule(VDOT)
def _dot(s: UsseSelection, i: Ins, a: NoAttributes) -> None:
    d = s.result(i)
    x, y = s.source(i.args[0]), s.source(i.args[1])
    n = count(i.args[0].kind)
    if d.ty == "f16":
        rest = 4 - n
        x, y = (s.digits(x), s.digits(y)) if rest else (x, y)
        x = x.swizzled((*x.channels, *("0" * rest)))
        y = y.swizzled((*y.channels, *(("1",) if rest == 1 else y.channels[:rest])))
        op = hw.DP["f16"]
    else:
        op = hw.DP4 if n == 4 else hw.DP3
        if n == 2:
            x, y = s.digits(x), s.digits(y)
            x, y = x.swizzled((*x.channels, "0")), y.swizzled((*y.channels, "1"))
    lanes = op.lanes(())
    _, _, first, second = min((s.fits(op, pair, lanes), k, *pair) for k, pair in enumerate(((x, y), (y, x))))
    s.emit(op, dst=s.destination(d), src1=s.legal(op.reach("src1"), first, lanes),
           src2=s.legal(op.reach("src2"), second, lanes))  # fmt: skip


_FUNCTIONS = {VRCP: "rcp", VRSQ: "rsq", VLOG2: "log", VEXP2: "exp"}


@rule(VRCP, VRSQ, VLOG2, VEXP2)
def _function(s: UsseSelection, i: Ins, a: NoAttributes) -> None:
    d, x = s.result(i), s.source(i.args[0])
    for k in range(d.count):
        s.emit_to(hw.FUNCTION[_FUNCTIONS[i.op], d.ty, d.ty], d.slice(k, k + 1), x.slice(k, k + 1))


@rule(VDSX, VDSY)
def _derivative(s: UsseSelection, i: Ins, a: NoAttributes) -> None:
    x = s.source(i.args[0])
    s.vector(s.result(i), two(hw.DSX if i.op is VDSX else hw.DSY, commutes=False), x, x.plain_source())


@rule(JOIN)
def _join(s: UsseSelection, i: Ins, a: NoAttributes) -> None:
    """Copy the parts that were not computed in place."""
    d, at = s.result(i), 0
    for v in i.args:
        n = count(v.kind)
        if v not in s.parts:
            s.assign(d.slice(at, at + n), s.source(v))
        at += n


@rule(VCVT)
def _convert(s: UsseSelection, i: Ins, a: Element) -> None:
    d, x = s.result(i), s.source(i.args[0])
    if d.ty == x.ty:
        s.assign(d, x)
        return
    s.converted(d, x)


@rule(VCSEL)
def _choose_by_zero(s: UsseSelection, i: Ins, a: Condition) -> None:
    """Emit a select per channel: all sources share one swizzle, so each must be laid out like the result."""
    c, x, y = (s.source(v) for v in i.args)
    cond = a.cond
    if cond in ("ge", "gt"):
        cond, x, y = INVERTED[cond], y, x
    d = s.result(i)
    t = d if s.is_aligned(d) else s.aligned_temporary(d.count, d.ty)
    sources = [s.aligned(v, own=v is c) for v in (c, x, y)]
    s.emit_to(hw.SELECT[cond, d.ty], t, *sources)
    if t is not d:
        s.assign(d, s.read(t))


@rule(VSEL)
def _choose(s: UsseSelection, i: Ins, a: NoAttributes) -> None:
    p, yes, no = i.args
    condition = s.predicate(p)
    if i.out.kind == "r":
        dst = OperandReg(s.vreg(i.out))
        s.word_into(dst, no)
        with s.under((condition, "")):
            s.word_into(dst, yes)
        return
    d = s.result(i)
    t = d if d.v.cls.file != "o" and d.covers else s.temporary_like(d)
    source = s.source(yes)
    if any(s.fits(hw.MOV[d.ty], [source.slice(b, e)], s.lanes(t.slice(b, e))) for b, e in s.chunks(t)):
        source = s.copied(source, t.internal)
    s.assign(t, s.source(no))
    with s.under((condition, "")):
        s.assign(t, source)
    if t is not d:
        s.assign(d, s.read(t))


# --- conditions ------------------------------------------------------------------------------------------------------
@rule(VCMP, CMP, PAND, POR, PNOT)
def _condition(s: UsseSelection, i: Ins, a: NoAttributes | Condition | Compare) -> None:
    condition_into(s, OperandReg(s.vreg(i.out)), i, False)


def condition_into(s: UsseSelection, p: OperandReg, i: Ins, inverted: bool) -> None:
    """Compute a condition, or its negation, into a predicate.

    There is no logic on predicates: the second of two tests is executed where the first did not decide.
    """
    if i.op is PNOT:
        _operand_into(s, p, i.args[0], not inverted)
    elif i.op in (PAND, POR):
        both = (i.op is PAND) != inverted
        first, second = i.args
        if _test(s, first) and not _test(s, second):
            first, second = second, first
        if second in s.fused and not _test(s, second) and second.ins is not None:
            with s.under(None):
                condition_into(s, OperandReg(s.vreg(second)), second.ins, False)
        if _test(s, second) and second.ins is not None and first not in s.fused and not isinstance(first, Const):
            s.set_predicate(p, not both)
            with s.under((s.predicate(first), "" if both != inverted else "!")):
                condition_into(s, p, second.ins, inverted)
            return
        _operand_into(s, p, first, inverted)
        if _test(s, second) and second.ins is not None:
            with s.under((p.v, "" if both else "!")):
                condition_into(s, p, second.ins, inverted)
            return
        with s.under((s.predicate(second), "!" if both != inverted else "")):
            s.set_predicate(p, not both)
    elif i.op is VCMP:
        test_into(s, p, i, inverted)
    else:
        c = CMP.of(i)
        cond = INVERTED[INTEGER[c.cond]] if inverted else INTEGER[c.cond]
        s.emit(hw.TEST_INTEGER[c.ty], cond=cond, dst=p, src1=s.word(i.args[0]), src2=s.word(i.args[1]))


def _test(s: UsseSelection, v: IrValue) -> bool:
    return v in s.fused and v.ins is not None and v.ins.op in (VCMP, CMP)


def _operand_into(s: UsseSelection, p: OperandReg, v: IrValue, inverted: bool) -> None:
    if v in s.fused and v.ins is not None:
        condition_into(s, p, v.ins, inverted)
        return
    if isinstance(v, Const):
        s.set_predicate(p, bool(v.value & 1) != inverted)
        return
    s.set_predicate(p, inverted)
    with s.under((s.vreg(v), "")):
        s.set_predicate(p, not inverted)


def test_into(s: UsseSelection, p: OperandReg, i: Ins, inverted: bool) -> None:
    """Compare two scalars."""
    cond = VCMP.of(i).cond
    sources: list[OperandReg | FixedView] = []
    ty = element(i.args[0].kind)
    for v in s.compared(i):
        x = s.source(v)
        channel = x.channels[0]
        if x.base is not None and (not x.plain or not isinstance(channel, int) or s.beyond_test(x, channel)):
            x = s.copied(x._replace(extent=(0, 0)), False)
        operand = s.legal(hw.TEST[ty].reach("src1"), x, (0,))
        if ty == "f16" and operand.view.channels[0] % 2:
            operand = s.legal(hw.TEST[ty].reach("src1"), s.copied(x, False), (0,))
        sources.append(operand)
    s.emit(hw.TEST[ty], cond=INVERTED[cond] if inverted else cond, dst=p, src1=sources[0], src2=sources[1])


@rule(FACING)
def _facing(s: UsseSelection, i: Ins, a: NoAttributes) -> None:
    """Emit a test of bit 0 of g16."""
    g16 = FixedView(Fixed("g", 16), View((0,)))
    s.emit(hw.TEST_BITS, cond="ne", dst=OperandReg(s.vreg(i.out)), src1=g16, src2=immediate(1))


@rule(TARGET_COLOR)
def _target_color(s: UsseSelection, i: Ins, a: NoAttributes) -> None:
    d = s.result(i)
    for start, stop in s.chunks(d):
        source = FixedView(Fixed("o", 0), View(tuple(range(start, stop)), "f16"))
        s.emit(hw.UNPACK_BYTES, dst=s.destination(d.slice(start, stop)), src1=source)


@rule(VROUND8)
def _round_to_bytes(s: UsseSelection, i: Ins, a: NoAttributes) -> None:
    """Pack to bytes and unpack again: the bytes of one register are numbered like the halves of two."""
    d, x = s.result(i), s.source(i.args[0])
    op, t = hw.BYTES["f32"], s.m.vreg(s.registers.pair)
    four = x.swizzled((*x.channels, *x.channels[-1:] * (4 - d.count)))
    s.emit(op, dst=OperandReg(t, view=View((0,))), src1=s.legal(op.reach("src1"), four, op.lanes(())))
    for start, stop in s.chunks(d):
        source = OperandReg(t, view=View(tuple(range(start, stop)), "f16"))
        s.emit(hw.UNPACK_BYTES, dst=s.destination(d.slice(start, stop)), src1=source)


@rule(DISCARD)
def _discard(s: UsseSelection, i: Ins, a: NoAttributes) -> None:
    """Emit a discard where a predicate is false: the other polarity has no encoding."""
    p = OperandReg(s.m.vreg(s.registers.predicate))
    _operand_into(s, p, i.args[0], True)
    s.emit(hw.KILL, cond=p)


# --- uniforms, textures, results -------------------------------------------------------------------------------------
@rule(UNIFORM_AT)
def _uniform_at(s: UsseSelection, i: Ins, a: UniformName) -> None:
    d = s.result(i)
    base, stride = s.plan.uniforms[a.name]
    base += a.element * stride
    pairs = stride % 2 == 0
    step, first = (stride // 2, base // 2) if pairs else (stride, base)
    via = s.m.vreg(s.registers.index)
    s.emit(hw.INDEX, dst=OperandReg(via), src0=s.own_word(i.args[0]), src1=immediate(step), src2=immediate(first))
    per = 4 if d.ty == "f16" else 2
    for start, stop in ((k, min(k + per, d.count)) for k in range(0, d.count, per)):
        part = d.slice(start, stop)
        view = View(tuple(range(stop - start)), d.ty)
        if not pairs:  # a word cannot go to the upper channels of an internal register, nor to half a register
            whole = (
                not part.first and part.ty == "f32" if part.internal else part.covers and part.first % (per // 2) == 0
            )
            t = part if whole else s.temporary(part.count, part.ty)
            s.emit(hw.BITWISE["or"], dst=s.destination(t), src1=FixedView(Fixed("sa1", 0), view),
                   src2=immediate(0), via=OperandReg(via))  # fmt: skip
            if not whole:
                s.assign(part, s.read(t))
            continue
        for b, e in s.chunks(part):
            one = part.slice(b, e)
            ones = s.legal(hw.MUL[d.ty].reach("src2"), Source(None, (ONE[d.ty],) * (e - b), d.ty), s.lanes(one))
            base = Fixed("sa2", start if per == 2 else 0)
            source = FixedView(base, View(tuple(range(b, e)), d.ty))
            s.emit(hw.MUL[d.ty], dst=s.destination(one), src1=source, src2=ones, via=OperandReg(via))


@rule(UNIFORM_LOAD)
def _uniform_load(s: UsseSelection, i: Ins, a: UniformName) -> None:
    """Load a uniform from memory and wait for it; an index becomes an offset in bytes."""
    first, stride = s.plan.memory[a.name]
    first += a.element * stride
    address = FixedView(Fixed("sa", s.plan.addresses[first // STRETCH]), View((0,)))
    offset: OperandReg | FixedView = immediate(0)
    if i.args:
        offset = s.temporary_word()
        s.multiply(offset, s.register_word(i.args[0]), s.word(Const(4 * stride)))
    n, size = count(a.kind), words(a.kind)
    loaded = Dest(s.m.vreg(s.registers.scalar if size == 1 else s.registers.pair, size), 0, n, element(a.kind))
    s.emit(hw.LOAD, dst=OperandReg(loaded.v, 0, size, view=View((0,))), src0=address,
           src1=immediate(first % STRETCH), src2=offset, count=f"x{size}")  # fmt: skip
    s.emit(hw.WAIT)
    s.deliver(i, loaded)


@rule(SAMPLE)
def _sample(s: UsseSelection, i: Ins, a: Sampling) -> None:
    """Emit a texture sample and wait for it."""
    x = s.source(i.args[0])
    n = {"2d": 2, "cube": 3, "proj": 3}[a.kind]
    if a.kind == "proj":
        last = len(x.channels) - 1
        t, at = s.temporary(1, x.ty), s.temporary(2, x.ty)
        s.emit_to(hw.FUNCTION["rcp", x.ty, x.ty], t, x.slice(last, last + 1))
        factor = s.read(t)
        s.vector(at, two(hw.MUL), x.slice(0, 2), factor.swizzled(factor.channels * 2))
        x, n = s.read(at), 2
    coordinate = s.in_registers(x.slice(0, n), n)
    size = 4 if element(a.to) == "f32" else 2
    texel = Dest(s.m.vreg(s.registers.pair, size), 0, 4, element(a.to))
    more: dict[str, object] = {}
    if a.lod in ("bias", "lod"):
        level = s.in_registers(s.source(i.args[1]), 1)
        more = {"lodmode": "bias" if a.lod == "bias" else "replace", "src2": level}
    elif a.lod == "grad":
        both = s.temporary(4)
        s.assign(both.slice(0, 2), s.source(i.args[1]).slice(0, 2))
        s.assign(both.slice(2, 4), s.source(i.args[2]).slice(0, 2))
        more = {"lodmode": "gradient", "src2": OperandReg(both.v, 0, 4, view=View((0, 1, 2, 3)))}
    state = FixedView(Fixed("sa", s.plan.textures[a.sampler]), View((0,)))
    name = f"smp{2 if n == 2 else 3}d.{x.ty}"
    s.emit(hw.SAMPLE, name=name, conv=element(a.to), dst=OperandReg(texel.v, 0, size, view=View((0,))), src0=coordinate,
           src1=state, **more)  # fmt: skip
    s.emit(hw.WAIT)
    s.deliver(i, texel)


@rule(OUTPUT)
def _output(s: UsseSelection, i: Ins, a: OutputName) -> None:
    """Copy an output that was not computed in place."""
    v = i.args[0]
    if v in s.outputs:
        return
    if a.name == s.plan.depth:
        x = s.in_registers(s.source(v), 1)
        s.emit(hw.DEPTH, src0=x)
        return
    if a.name == s.plan.native:
        op = hw.BYTES[element(v.kind)]
        source = s.legal(op.reach("src1"), s.source(v), op.lanes(()))
        s.emit(op, dst=OperandReg(s.fixed_register("output", a.name), view=View((0,))), src1=source)
        return
    reg = s.fixed_register("output", a.name)
    d = Dest(reg, 0, count(v.kind), element(v.kind))
    source = s.source(v)
    if len(s.chunks(d)) > 1 and _lies_otherwise(source, reg):  # none may be written before all of them are read
        source = s.copied(source._replace(extent=(0, 0)), internal=True)
    s.assign(d, source)


def _lies_otherwise(source: Source, reg: VReg) -> bool:
    """Return whether the elements of an input are laid out differently from their destination."""
    base = source.base
    if not isinstance(base, VReg) or not base.fixed or base.cls.file != reg.cls.file:
        return False
    moved = (base.color or 0) - (reg.color or 0)
    return not source.plain or source.channels != tuple(k - moved for k in range(len(source.channels)))
