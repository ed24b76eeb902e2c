"""Checked expressions as operations of the IR."""

from __future__ import annotations

from isakit.compile.ir import Const, IrValue
from isakit.compile.ops import ADD, AND, MUL, NOT, OR, SAR, SHL, SHR, SUB, XOR
from isakit.compile.shading.emitter import Values, float_const, ir_base, kinds
from isakit.compile.shading.expansions import (
    EXPANSIONS,
    Call,
    combined,
    dotted,
    transposed,
)
from isakit.compile.shading.packing import half_bits, half_of_bits
from isakit.compile.shading.source import ShadingError
from isakit.compile.shading.typed import (
    ShaderVariable,
    Typed,
    TypedAssign,
    TypedBinary,
    TypedCall,
    TypedChoice,
    TypedComponents,
    TypedConstant,
    TypedConstruct,
    TypedConvert,
    TypedElement,
    TypedField,
    TypedIntrinsic,
    TypedName,
    TypedResize,
    TypedSame,
    TypedSequence,
    TypedShortcut,
    TypedSpread,
    TypedStatement,
    TypedStep,
    TypedUnary,
    children,
)
from isakit.compile.shading.types import (
    FLOAT,
    USHORT,
    ArrayType,
    Numeric,
    SamplerType,
    StructType,
    Type,
    elements_of,
    innermost,
)
from isakit.compile.shading.variables import SAMPLER, Variables
from isakit.compile.vector_ops import BITS, CHANNELS, UNIFORM_AT, VNEG, count
from isakit.sem.value import signed

_INTEGER_OPS = {"+": ADD, "-": SUB, "*": MUL, "&": AND, "|": OR, "^": XOR, "<<": SHL}
_COMPARISONS = frozenset(("==", "!=", "<", "<=", ">", ">="))

MOST_INDEXED = 256
"""Elements of a local array up to which a dynamic index is allowed: the chip cannot index registers, so all are
compared."""


class Lowered(Typed):
    """An expression that has been computed already: an index that is used twice but must be evaluated once."""

    def __init__(self, pos: int, type: Type, values: Values) -> None:
        super().__init__(pos, type)
        self.values = values


class ExpressionLowering(Variables):
    """Lowers expressions. `value` returns the list of values that represents an expression."""

    def call_function(self, t: TypedCall) -> Values:
        """Lower a call of a function of the text."""
        raise NotImplementedError

    def value(self, t: Typed) -> Values:
        """Emit an expression and return its values."""
        made: Values = getattr(self, f"of_{type(t).__name__}")(t)
        return made

    def one(self, t: Typed) -> IrValue:
        """Emit an expression that is a scalar or a vector of floats, and return its one value."""
        return self.value(t)[0]

    # --- leaves ------------------------------------------------------------------------------------------------------
    def of_Lowered(self, t: Lowered) -> Values:
        return t.values

    def of_TypedConstant(self, t: TypedConstant) -> Values:
        kind = t.numeric
        of = ir_base(kind.base)
        if of in ("r", "p"):
            return [Const(int(v), of) for v in t.values]
        return [
            self.join([float_const(v, of) for v in t.values[k : k + kind.size]])
            for k in range(0, len(t.values), kind.size)
        ]

    def of_TypedName(self, t: TypedName) -> Values:
        uniform = self.uniforms.get(t.variable)
        if uniform is not None:
            values: Values = [self.uniform(s) for s in uniform]
            return self._as_declared(t.variable, values)
        return [self.get(n) for n in self.slots(t.variable)]

    def _as_declared(self, v: ShaderVariable, values: Values) -> Values:
        """Return uniforms as the source declares them: column-major matrices transposed, bools compared with 0."""
        of = innermost(v.type)
        if isinstance(of, Numeric) and of.is_matrix and v.columns:
            n = of.size
            return [x for k in range(0, len(values), n) for x in transposed(self, values[k : k + n])]
        return self.from_outside(v.type, values)

    def from_outside(self, kind: Type, values: Values) -> Values:
        """Return values in their internal kinds, from those of inputs and uniforms, where bools are integers."""
        return [
            self.compare("!=", v, Const(0)) if k == "p" and v.kind == "r" else v
            for k, v in zip(kinds(kind), values, strict=True)
        ]

    # --- parts -------------------------------------------------------------------------------------------------------
    def _path(self, t: Typed) -> tuple[ShaderVariable, int] | None:
        """Return the variable an expression is part of and the number of its first value; None for a computed index."""
        at = 0
        while not isinstance(t, TypedName):
            if isinstance(t, TypedField):
                at += _field_start(t)
            elif isinstance(t, TypedElement) and _counts_values(t.base.type):
                index = self._constant_index(t)
                if index is None:
                    return None
                at += index * len(kinds(t.type))
            else:
                return None
            t = t.base
        return t.variable, at

    def _constant_index(self, t: TypedElement) -> int | None:
        index = self.one(t.index)
        if not isinstance(index, Const):
            return None
        if index.value >= (count := _count(t.base.type)):
            raise ShadingError(t.index.pos, f"there is no element {signed(index.value, 32)}: there are {count}")
        return index.value

    def _stored(self, t: Typed) -> Values | None:
        """Return a part of a variable at a constant index, None if its index is not constant."""
        path = self._path(t)
        if path is None:
            return None
        v, at = path
        n = len(kinds(t.type))
        uniform = self.uniforms.get(v)
        if uniform is None:
            return [self.get(k) for k in self.slots(v)[at : at + n]]
        if v.columns and _is_matrix(v.type):
            return None
        return self.from_outside(t.type, [self.uniform(s) for s in uniform[at : at + n]])

    def of_TypedField(self, t: TypedField) -> Values:
        stored = self._stored(t)
        if stored is not None:
            return stored
        at = _field_start(t)
        return self.value(t.base)[at : at + len(kinds(t.type))]

    def of_TypedElement(self, t: TypedElement) -> Values:
        stored = self._stored(t)
        if stored is not None:
            return stored
        index = self.one(t.index)
        far = self._indexed_uniform(t, index)
        if far is not None:
            return far
        base = self.value(t.base)
        parts = self._elements(t.base.type, base)
        if isinstance(index, Const):
            return parts[min(index.value, len(parts) - 1)]
        self._bounded(t, len(parts))
        out = parts[-1]
        for k in range(len(parts) - 2, -1, -1):
            here = self.compare("==", index, Const(k))
            out = [self.choose(here, a, b) for a, b in zip(parts[k], out, strict=True)]
        return out

    def _bounded(self, t: TypedElement, elements: int) -> None:
        """Refuse a dynamic index into too many values, each of which would be compared with it. Raises ShadingError."""
        if elements > MOST_INDEXED:
            raise ShadingError(
                t.index.pos, f"a computed index reaches over {elements} elements; {MOST_INDEXED} at most"
            )

    def _elements(self, kind: Type, values: Values) -> list[Values]:
        """Return the values of each element of an array, vector of a matrix, or component of a vector."""
        if isinstance(kind, Numeric) and not kind.is_matrix:
            return [[v] for v in (self.parts(values[0]) if kind.is_float else values)]
        n = len(values) // max(1, _count(kind))
        return [values[k : k + n] for k in range(0, len(values), n)]

    def _indexed_uniform(self, t: TypedElement, index: IrValue) -> Values | None:
        """Load an element of an array of uniforms by a computed index."""
        path = self._path(t.base)
        if path is None or isinstance(index, Const):
            return None
        v, at = path
        uniform = self.uniforms.get(v)
        n = len(kinds(t.type))
        if uniform is None or not n or (v.columns and _is_matrix(v.type)):
            return None
        found = uniform[at : at + n * _count(t.base.type)]
        if len({(s.name, s.kind) for s in found}) != 1 or found[0].kind == SAMPLER:
            return None
        at_word = index if n == 1 else self.op(MUL, index, Const(n))
        values: Values = [self.b.op(UNIFORM_AT(s.name, s.element, s.kind), at_word) for s in found[:n]]
        return self.from_outside(t.type, values)

    def of_TypedComponents(self, t: TypedComponents) -> Values:
        kind = t.base.numeric
        values = self.value(t.base)
        if not kind.is_float:
            return [values[p] for p in t.places]
        if kind.is_matrix:
            return [self.join([self.part(values[p // kind.size], p % kind.size) for p in t.places])]
        return [self.swizzle(values[0], "".join(CHANNELS[p] for p in t.places))]

    # --- making ------------------------------------------------------------------------------------------------------
    def of_TypedConstruct(self, t: TypedConstruct) -> Values:
        values = [self.value(p) for p in t.parts]
        if not isinstance(t.type, Numeric):
            return [v for part in values for v in part]
        if not t.type.is_float:
            return [v for part in values for v in part][: t.type.components]
        if not t.type.is_matrix:
            parts = [v for part in values for v in part]
            return [self.swizzle_to(self._joined(parts, t.type.size), t.type.size)]
        if all(v.kind == kinds(t.type)[0] for part in values for v in part):
            return [v for part in values for v in part]
        scalars = [s for part in values for v in part for s in self.parts(v)]
        n = t.type.size
        return [self.join(scalars[k : k + n]) for k in range(0, t.type.components, n)]

    def _joined(self, parts: Values, size: int) -> IrValue:
        """Return the concatenation of parts; channels beyond `size` of the last one are dropped."""
        total = 0
        out: Values = []
        for p in parts:
            n = min(count(p.kind), size - total)
            if n <= 0:
                break
            out.append(p if n == count(p.kind) else self.swizzle(p, CHANNELS[:n]))
            total += n
        return self.join(out)

    def swizzle_to(self, v: IrValue, n: int) -> IrValue:
        """Return the first `n` channels."""
        return v if count(v.kind) == n else self.swizzle(v, CHANNELS[:n])

    def of_TypedSpread(self, t: TypedSpread) -> Values:
        kind = t.numeric
        v = self.one(t.value)
        if not kind.is_float:
            return [v] * kind.components
        if not t.diagonal:
            return [self.spread(v, kind.size)] * max(1, kind.vectors)
        zero = float_const(0, ir_base(kind.base))
        return [self.join([v if c == k else zero for c in range(kind.size)]) for k in range(kind.vectors)]

    def of_TypedResize(self, t: TypedResize) -> Values:
        kind, have = t.numeric, t.value.numeric
        values = self.value(t.value)
        of = ir_base(kind.base)
        out: Values = []
        for k in range(kind.vectors):
            given = self.parts(values[k])[: kind.size] if k < have.vectors else []
            missing = [float_const(float(c == k), of) for c in range(len(given), kind.size)]
            out.append(self.join([*given, *missing]))
        return out

    def of_TypedConvert(self, t: TypedConvert) -> Values:
        have, want = t.value.numeric, t.numeric
        values = self.value(t.value)
        if t.bits:
            return self._bits(values, have, want)
        if have.is_matrix:
            return [x for v in values for x in self.convert([v], have.base, want.base)]
        return self.convert(values, have.base, want.base)

    def _bits(self, values: Values, have: Numeric, want: Numeric) -> Values:
        """Reinterpret the bits of components as those of another base."""
        scalars = self.parts(values[0]) if have.is_float else values
        if have.is_float:
            scalars = [self.op(BITS("r"), v) if have.base.bits == 32 else half_bits(self, v) for v in scalars]
        if have.base.bits < want.base.bits:
            low = [self.narrow(v, USHORT) for v in scalars]
            scalars = [self.op(OR, low[k], self.op(SHL, low[k + 1], Const(16))) for k in range(0, len(low), 2)]
        elif have.base.bits > want.base.bits:
            scalars = [v for s in scalars for v in (s, self.op(SHR, s, Const(16)))]
        if want.base.bits == 16 and not want.is_float:
            scalars = [self.narrow(v, want.base) for v in scalars]
        if not want.is_float:
            return scalars
        if want.base.bits == 32:
            return [self.join([self.op(BITS("f32"), v) for v in scalars])]
        return self.convert([self.join([half_of_bits(self, v) for v in scalars])], FLOAT, want.base)

    # --- operators ---------------------------------------------------------------------------------------------------
    def of_TypedUnary(self, t: TypedUnary) -> Values:
        values = self.value(t.value)
        if t.op == "!":
            return [self.opposite(v) for v in values]
        if t.numeric.is_float:
            return [self.op(VNEG, v) for v in values]
        return [self.op(NOT, v) if t.op == "~" else self.op(SUB, Const(0), v) for v in values]

    def of_TypedBinary(self, t: TypedBinary) -> Values:
        a, b = self.value(t.a), self.value(t.b)
        return self.operated(t.op, a, b, t.a.numeric)

    def operated(self, op: str, a: Values, b: Values, kind: Numeric) -> Values:
        """Emit an operator on two values of a type."""
        if op in _COMPARISONS:
            if kind.is_float:
                a, b = self.parts(a[0]), self.parts(b[0])
            return [self.compare(op, x, y, kind.base.kind == "int") for x, y in zip(a, b, strict=True)]
        if kind.is_float:
            if op == "%":
                call = Call((kind, kind), kind)
                return [EXPANSIONS["fmod"](self, [[x], [y]], call)[0] for x, y in zip(a, b, strict=True)]
            do = {"+": self.add, "-": self.sub, "*": self.mul, "/": self.div}[op]
            return [do(x, y) for x, y in zip(a, b, strict=True)]
        signed = kind.base.kind == "int"
        if op in ("/", "%"):
            return [self.divided(x, y, signed)[op == "%"] for x, y in zip(a, b, strict=True)]
        if op == ">>":
            return [self.op(SAR if signed else SHR, x, y) for x, y in zip(a, b, strict=True)]
        return [self.op(_INTEGER_OPS[op], x, y) for x, y in zip(a, b, strict=True)]

    def of_TypedSame(self, t: TypedSame) -> Values:
        a, b = self.value(t.a), self.value(t.b)
        found: Values = []
        for x, y in zip(a, b, strict=True):
            pairs = zip(self.parts(x), self.parts(y), strict=True) if x.kind not in ("r", "p") else [(x, y)]
            found += [self.compare("==", p, q) for p, q in pairs]
        same = self.every(found)
        return [self.opposite(same) if t.negated else same]

    def of_TypedShortcut(self, t: TypedShortcut) -> Values:
        a = self.value(t.a)
        deciding = int(t.op == "||")
        if len(a) == 1 and isinstance(a[0], Const):
            return a if a[0].value == deciding else self.value(t.b)
        if len(a) > 1 or not has_effects(t.b):  # of vectors both are computed
            b = self.value(t.b)
            do = self.either if deciding else self.both
            return [do(x, y) for x, y in zip(a, b, strict=True)]
        (slot,) = self.variable_slots(t.type)
        self.put(slot, a[0])
        then, after = self.meeting(), self.meeting()
        self.fork(a[0], *((after, then) if deciding else (then, after)))
        self.enter(then)
        self.put(slot, self.one(t.b))
        self.enter(after)
        return [self.get(slot)]

    def of_TypedChoice(self, t: TypedChoice) -> Values:
        conditions = self.value(t.condition)
        if len(conditions) > 1:
            return self._chosen_parts(conditions, t)
        p = conditions[0]
        if isinstance(p, Const):
            return self.value(t.a if p.value else t.b)
        if not has_effects(t.a) and not has_effects(t.b):
            return [self.choose(p, x, y) for x, y in zip(self.value(t.a), self.value(t.b), strict=True)]
        slots = self.variable_slots(t.type)
        yes, no, after = self.meeting(), self.meeting(), self.meeting()
        self.fork(p, yes, no)
        for way, value in ((yes, t.a), (no, t.b)):
            self.enter(way)
            self.put_all(slots, self.value(value))
            self.go(after)
        self.enter(after)
        return [self.get(n) for n in slots]

    def _chosen_parts(self, conditions: Values, t: TypedChoice) -> Values:
        a, b = self.value(t.a), self.value(t.b)
        if t.numeric.is_float:
            a, b = self.parts(a[0]), self.parts(b[0])
        got = [self.choose(p, x, y) for p, x, y in zip(conditions, a, b, strict=True)]
        return [self.join(got)] if t.numeric.is_float else got

    def of_TypedSequence(self, t: TypedSequence) -> Values:
        self.value(t.first)
        return self.value(t.second)

    # --- functions ---------------------------------------------------------------------------------------------------
    def of_TypedIntrinsic(self, t: TypedIntrinsic) -> Values:
        arguments = t.arguments
        sampler, texture = "", "2d"
        if arguments and isinstance(arguments[0].type, SamplerType):
            texture = arguments[0].type.kind
            if texture not in ("2d", "cube"):
                raise ShadingError(t.pos, f"{texture.upper()} textures are not supported", len(t.name))
            if t.name in ("texeloffset", "texelfetch"):
                near = t.name == "texeloffset"
                what = "offsets in texels" if near else "texels by their numbers"
                instead = "uv + vec2(offset) / size" if near else "(vec2(place) + 0.5) / size"
                notes = (f"a program does not know a texture's size: give it as a uniform, and read at {instead}",)
                raise ShadingError(t.pos, f"{what} are not supported", len(t.name), notes)
            sampler = self.sampler(arguments[0])
            arguments = arguments[1:]
        if t.name == "mul":
            turned = self._turned(t)
            if turned is not None:
                return turned
        if t.name == "clip":
            return self.clip(arguments[0])
        values = [self.value(a) for a in arguments]
        shapes = [a.type for a in arguments if isinstance(a.type, Numeric)]
        result = t.type if isinstance(t.type, Numeric) else shapes[0]
        return EXPANSIONS[t.name](self, values, Call(shapes, result, sampler, texture))

    def clip(self, t: Typed) -> Values:
        """Emit a discard if any component is negative."""
        raise NotImplementedError

    def sampler(self, t: Typed) -> str:
        """Return the name of a sampler in the interface."""
        which = self.one(t)
        name = self.sampler_names[which.value] if isinstance(which, Const) else ""
        if not name:
            raise ShadingError(t.pos, "which sampler this is must be known when the program is compiled")
        return name

    def _turned(self, t: TypedIntrinsic) -> Values | None:
        """Multiply by a matrix stored by columns: a sum of scaled columns instead of dot products."""
        a, b = t.arguments
        if a.numeric.is_matrix and not b.numeric.is_matrix:
            columns = self._columns(a)
            return None if columns is None else [combined(self, self.one(b), columns)]
        if b.numeric.is_matrix and not a.numeric.is_matrix:
            columns = self._columns(b)
            return None if columns is None else [dotted(self, columns, self.one(a))]
        return None

    def _columns(self, t: Typed) -> Values | None:
        """Return the vectors of the transposed matrix, None if they are not available."""
        if isinstance(t, TypedIntrinsic) and t.name == "transpose":
            return self.value(t.arguments[0])
        path = self._path(t)
        if path is None or not path[0].columns:
            return None
        v, at = path
        uniform = self.uniforms.get(v)
        if uniform is None:
            return None
        kind = t.numeric
        start = at // kind.vectors * kind.size
        return [self.uniform(s) for s in uniform[start : start + kind.size]]

    def of_TypedCall(self, t: TypedCall) -> Values:
        return self.call_function(t)

    # --- assignments -------------------------------------------------------------------------------------------------
    def of_TypedAssign(self, t: TypedAssign) -> Values:
        target = self.frozen(t.target) if t.op else t.target
        if not t.op:
            value = self.value(t.value)
            target = self.frozen(t.target)
        else:
            value = self.operated(t.op, self.value(target), self.value(t.value), t.value.numeric)
        self.store(target, value)
        return value

    def of_TypedStep(self, t: TypedStep) -> Values:
        target = self.frozen(t.target)
        kind = t.numeric
        old = self.value(target)
        if kind.is_float:
            one = [self.constant(1, v.kind) for v in old]
            new = [self.add(v, o) if t.op == "+" else self.sub(v, o) for v, o in zip(old, one, strict=True)]
        else:
            new = [self.narrow(self.op(ADD if t.op == "+" else SUB, v, Const(1)), kind.base) for v in old]
        self.store(target, new)
        return old if t.old else new

    def frozen(self, t: Typed) -> Typed:
        """Return a target whose indices have been computed."""
        if isinstance(t, TypedName):
            return t
        if isinstance(t, TypedElement):
            index = Lowered(t.index.pos, t.index.type, self.value(t.index))
            return TypedElement(t.pos, t.type, self.frozen(t.base), index)
        if isinstance(t, TypedField):
            return TypedField(t.pos, t.type, self.frozen(t.base), t.index)
        assert isinstance(t, TypedComponents)
        return TypedComponents(t.pos, t.type, self.frozen(t.base), t.places)

    def store(self, target: Typed, new: Values) -> None:
        """Store values to a target with computed indices."""
        path = self._path(target)
        if path is not None:
            v, at = path
            self.put_all(self.slots(v)[at : at + len(new)], new)
            return
        assert isinstance(target, TypedElement | TypedField | TypedComponents)
        old = self.value(target.base)
        if isinstance(target, TypedComponents):
            changed = self._with_components(old, target.base.numeric, target.places, new)
        elif isinstance(target, TypedField):
            at = _field_start(target)
            changed = [*old[:at], *new, *old[at + len(new) :]]
        else:
            changed = self._with_element(old, target, new)
        self.store(target.base, changed)

    def _with_components(self, old: Values, kind: Numeric, places: tuple[int, ...], new: Values) -> Values:
        """Return values of a scalar, vector or matrix with the given components replaced."""
        if not kind.is_float:
            changed = list(old)
            for p, v in zip(places, new, strict=True):
                changed[p] = v
            return changed
        parts = dict(zip(places, self.parts(new[0]), strict=True))
        out: Values = []
        for k, v in enumerate(old):
            mine = [p for p in places if p // kind.size == k]
            if not mine:
                out.append(v)
            elif len(mine) == kind.size and mine == sorted(mine) and len(places) == kind.size:
                out.append(new[0])
            else:
                out.append(self.join([parts.get(k * kind.size + c, self.part(v, c)) for c in range(kind.size)]))
        return out

    def _with_element(self, old: Values, target: TypedElement, new: Values) -> Values:
        kind = target.base.type
        index = self.one(target.index)
        parts = self._elements(kind, old)
        if not isinstance(index, Const):
            self._bounded(target, len(parts))
        out: list[Values] = []
        for k, part in enumerate(parts):
            if isinstance(index, Const):
                out.append(new if index.value == k else part)
            else:
                here = self.compare("==", index, Const(k))
                out.append([self.choose(here, a, b) for a, b in zip(new, part, strict=True)])
        flat = [v for part in out for v in part]
        if isinstance(kind, Numeric) and not kind.is_matrix and kind.is_float:
            return [self.join(flat)]
        return flat


def has_effects(t: Typed | TypedStatement) -> bool:
    """Return whether evaluating an expression has side effects, or may take long."""
    if isinstance(t, TypedAssign | TypedStep | TypedCall | TypedSequence):
        return True
    return (isinstance(t, TypedIntrinsic) and t.name == "clip") or any(map(has_effects, children(t)))


def _field_start(t: TypedField) -> int:
    kind = t.base.type
    assert isinstance(kind, StructType)
    return sum(len(kinds(f.type)) for f in kind.fields[: t.index])


def _counts_values(kind: Type) -> bool:
    """Return whether elements of a type are represented by separate values."""
    return isinstance(kind, ArrayType) or (isinstance(kind, Numeric) and (kind.is_matrix or not kind.is_float))


def _count(kind: Type) -> int:
    elements = elements_of(kind)
    return elements[0] if elements is not None else 1


def _is_matrix(kind: Type) -> bool:
    of = innermost(kind)
    return isinstance(of, Numeric) and of.is_matrix


__all__ = ["ExpressionLowering", "Lowered", "has_effects"]
