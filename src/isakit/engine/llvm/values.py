"""Value graphs to LLVM IR: one instruction sequence per node, on vectors of lanes or, for uniform nodes, on scalars.

Widths are exact (`<32 x i33>`): LLVM's legaliser chooses registers. Operations of `sem.operation` become a call of a
function expanded from their integer definition, unless a native lowering that was proven equal is registered.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

from isakit.engine.llvm.builder import I32, RARELY, Builder, IrFunction, Ref, integer, pointer
from isakit.engine.llvm.ir_text import signed_text
from isakit.sem.operation import Operation, StaticKey, Statics, expansion
from isakit.sem.value import Value, mask, postorder

WIDEST_VECTOR = 64
"""Definitions with wider values run lane by lane: LLVM would unroll every wide operation 32 times."""

INLINED_LINES = 40
"""Longer definitions stay functions: compiled once, however many instructions of a kernel use them."""

PURE = "willreturn memory(none)"
"""Attributes of operation functions, so that LLVM can drop unused calls."""

Leaf = Callable[[Value], Ref]
Native = Callable[["ValueLowering", Sequence[Ref], Statics], "Ref | None"]
_WHEN_USED = {"read", "call"}
"""Nodes that a lowering of what uses them may make superfluous."""
BitLeaf = Callable[[Value, int], "Ref | None"]


def _no_bit(node: Value, bit: int) -> Ref | None:
    return None


_BINARY = {"add": "add", "sub": "sub", "mul": "mul", "and": "and", "or": "or", "xor": "xor"}
_COMPARE = {"eq": "eq", "ult": "ult", "slt": "slt"}
_SHIFT = {"shl": "shl", "lshr": "lshr", "ashr": "ashr"}


@lru_cache(maxsize=4096)
def _constant(number: int, width: int) -> Ref:
    return Ref(signed_text(number & mask(width), width), integer(width))


class ValueLowering:
    """Lowers values into one function body.

    `leaf(node)` lowers reads, loads, params and nodes of the machine; `bit_leaf(node, bit)` may give one bit of such a
    node without the rest. `habit` is an i1 variable in memory, false where a run of instructions begins: whether one of
    them had operands that need the longer of two paths (see `f32_lowerings`).
    """

    habit: Ref | None = None

    def __init__(self, body: Builder, leaf: Leaf, natives: dict[str, Native], bit_leaf: BitLeaf = _no_bit) -> None:
        self.body, self.module, self._leaf, self.natives = body, body.module, leaf, natives
        self._bit_leaf = bit_leaf
        self._done: dict[int, Ref] = {}
        self._keep: list[Value] = []

    # --- types and constants --------------------------------------------------------------------------
    def per_lane(self, text: str, width: int) -> Ref:
        """Return a number of each lane by its name."""
        return Ref(text, self.module.vector(width))

    @staticmethod
    def constant(number: int, width: int) -> Ref:
        """Return a uniform constant."""
        return _constant(number, width)

    def splat(self, r: Ref) -> Ref:
        """Return the same number in every lane."""
        if r.type.lanes:
            return r
        vector = self.module.vector(r.type.width)
        if not r.text.startswith("%"):
            return Ref(f"splat ({r.type.text} {r.text})", vector)
        return self.body.splat(r, vector)

    def same_kind(self, *refs: Ref) -> tuple[Ref, ...]:
        """Widen all to vectors, unless all are uniform."""
        for r in refs:
            if r.type.lanes:
                return tuple([self.splat(r) for r in refs])
        return refs

    # --- operations on references ---------------------------------------------------------------------
    def op(self, name: str, a: Ref, b: Ref) -> Ref:
        """Write an instruction on two numbers, by its name; a vector and a number for all lanes give a vector."""
        if a.type is not b.type:
            a, b = self.same_kind(a, b)
        type = a.type
        return Ref(self.body(f"{name} {type.text} {a.text}, {b.text}"), type)

    def compare(self, relation: str, a: Ref, b: Ref) -> Ref:
        """Compare, by LLVM's name of the relation."""
        a, b = self.same_kind(a, b)
        return self.body.compare(relation, a, b)

    def select(self, c: Ref, a: Ref, b: Ref) -> Ref:
        """Return a where c holds, else b."""
        a, b = (self.splat(a), self.splat(b)) if c.type.lanes else self.same_kind(a, b)
        return self.body.select(c, a, b)

    def resize(self, r: Ref, width: int, *, signed: bool = False) -> Ref:
        """Return a value truncated to `width` bits, or extended with zeros or (`signed`) its sign."""
        type = r.type
        if width == type.width:
            return r
        name = "trunc" if width < type.width else "sext" if signed else "zext"
        to = self.module.vector(width) if type.lanes else integer(width)
        return Ref(self.body(f"{name} {type.text} {r.text} to {to.text}"), to)

    def bitcast(self, r: Ref, to: str) -> str:
        """Return the same bits as another type."""
        return self.body(f"bitcast {r.type} {r.text} to {to}")

    def any(self, flags: Ref) -> Ref:
        """Return whether a flag is set in some lane, as an `i1`."""
        b = self.body
        return b.ne(b.bitcast(self.splat(flags), integer(self.module.lanes)), 0)

    def unlikely(self, condition: Ref, usual: Ref, make: Callable[[], Ref]) -> Ref:
        """Return the result of `usual`, or of the code that `make` emits if the `i1` is true, which is rare."""
        body = self.body
        here, rare, done = body.fresh("usual"), body.fresh("rare"), body.fresh("either")
        body.label(here)
        body.branch(condition, rare, done, RARELY)
        body.label(rare)
        other = make()
        last = body.current
        body.label(done)
        return body.phi([(usual, here), (other, last)])

    # --- graphs ---------------------------------------------------------------------------------------
    def value(self, root: Value) -> Ref:
        """Lower a value and everything it needs that is not lowered yet."""
        for n in postorder(root, self._done):
            if id(n) not in self._done and n.op not in _WHEN_USED:
                self._keep.append(n)
                self._done[id(n)] = self._bit(n) or self._node(n, [self._argument(a) for a in n.args])
        return self._argument(root)

    def _argument(self, n: Value) -> Ref:
        if id(n) not in self._done:
            self._keep.append(n)
            self._done[id(n)] = self._node(n, [self._argument(a) for a in n.args])
        return self._done[id(n)]

    def _bit(self, n: Value) -> Ref | None:
        """Return a single bit that `bit_leaf` has by itself, None if it has not."""
        return self._bit_leaf(n.args[0], n.attr) if n.op == "extract" and n.width == 1 else None

    def fork(self) -> ValueLowering:
        """Return a lowering for one branch: it inherits the values lowered so far; its own results stay local to it."""
        other = ValueLowering(self.body, self._leaf, self.natives, self._bit_leaf)
        other._done = dict(self._done)
        other.habit = self.habit
        other._keep = self._keep
        return other

    def elsewhere(self) -> ValueLowering:
        """Return a lowering into a new function body."""
        return ValueLowering(Builder(self.module), self._leaf, self.natives)

    def define(self, node: Value, ref: Ref) -> None:
        """Set the value of a node: of loads, which are done in program order."""
        self._keep.append(node)
        self._done[id(node)] = ref

    def _node(self, n: Value, args: list[Ref]) -> Ref:
        if n.op == "const":
            return self.constant(n.attr, n.width)
        if n.op == "call":
            return self._call(n, args)
        method = getattr(self, f"_{n.op}", None)
        if n.op in _BINARY:
            return self.op(_BINARY[n.op], args[0], args[1])
        if n.op in _COMPARE:
            tested = self._relation(n) if n.op == "ult" else None
            if tested is not None:
                return tested
            return self.compare(_COMPARE[n.op], args[0], args[1])
        if n.op in _SHIFT:
            return self._shift(n, args[0], args[1])
        return method(n, *args) if method is not None else self._leaf(n)

    def _not(self, n: Value, a: Ref) -> Ref:
        return self.op("xor", a, self.constant(mask(n.width), n.width))

    def _udiv(self, n: Value, a: Ref, b: Ref) -> Ref:
        zero = self.compare("eq", b, self.constant(0, n.width))
        safe = self.select(zero, self.constant(1, n.width), b)
        return self.select(zero, self.constant(mask(n.width), n.width), self.op("udiv", a, safe))

    def _shift(self, n: Value, a: Ref, count: Ref) -> Ref:
        name, w = _SHIFT[n.op], n.width
        fixed = n.args[1]
        if fixed.op == "const":
            if fixed.attr >= w and name != "ashr":
                return self.constant(0, w)
            return self.op(name, a, self.constant(min(fixed.attr, w - 1), w))
        reach = mask(count.width)
        wide = self.resize(count, w)
        if reach < w:
            return self.op(name, a, wide)
        limit = self.constant(w, count.width)
        inside = self.compare("ult", count, limit)
        if name == "ashr":
            return self.op(name, a, self.select(inside, wide, self.constant(w - 1, w)))
        shifted = self.op(name, a, self.select(inside, wide, self.constant(0, w)))
        return self.select(inside, shifted, self.constant(0, w))

    def _select(self, n: Value, c: Ref, a: Ref, b: Ref) -> Ref:
        return self.select(c, a, b)

    def _zext(self, n: Value, a: Ref) -> Ref:
        inner = n.args[0]
        if inner.op == "extract" and n.width == inner.args[0].width == inner.attr + inner.width:
            return self.op("lshr", self._argument(inner.args[0]), self.constant(inner.attr, n.width))
        return self.resize(a, n.width)

    def _sext(self, n: Value, a: Ref) -> Ref:
        return self.resize(a, n.width, signed=True)

    def _extract(self, n: Value, a: Ref) -> Ref:
        if n.attr:
            a = self.op("lshr", a, self.constant(n.attr, a.width))
        return self.resize(a, n.width)

    def _concat(self, n: Value, hi: Ref, lo: Ref) -> Ref:
        high = self.op("shl", self.resize(hi, n.width), self.constant(lo.width, n.width))
        return self.op("or", high, self.resize(lo, n.width))

    def _clz(self, n: Value, a: Ref) -> Ref:
        return self.body.leading_zeros(a)

    def _table(self, n: Value, index: Ref) -> Ref:
        table, entries = pointer(self.module.table(n.attr)), len(n.attr.entries)
        bits = 32 if n.width <= 32 else 64
        index = self.resize(index, 64)
        inside: Ref | None = None
        if mask(n.args[0].width) >= entries:
            inside = self.compare("ult", index, self.constant(entries, 64))
            index = self.select(inside, index, self.constant(0, 64))
        b, vector = self.body, self.module.vector(bits)
        p = b.element(integer(bits), table, index)
        if index.uniform:
            got = b.load(integer(bits), p)
        else:
            got = b.gather(vector, p, self.module.vector(1)(1), vector.poison, bits // 8)
        got = self.resize(got, n.width)
        return got if inside is None else self.select(inside, got, self.constant(0, n.width))

    # --- named operations -----------------------------------------------------------------------------
    def _call(self, n: Value, args: list[Ref]) -> Ref:
        op, statics = n.attr
        native = self.natives.get(op.name)
        if native is not None:
            got = native(self, args, dict(statics))
            if got is not None:
                return got
        widths = tuple(a.width for a in args)
        wide = any(v.width > WIDEST_VECTOR for v in postorder(expansion(op, statics, widths)[1], set()))
        if all(a.uniform for a in args) or wide:
            return self._lane_by_lane(op, statics, widths, args, n.width)
        return self.body.call(self.definition(op, statics, widths), *[self.splat(a) for a in args])

    def _relation(self, n: Value) -> Ref | None:
        """Return the test `0 < (comparison & bits)` if a native lowering (`holds NAME`) exists for all of it."""
        zero, both = n.args
        if zero.op != "const" or zero.attr or both.op != "and" or both.args[0].op != "call":
            return None
        op, statics = both.args[0].attr
        native = self.natives.get(f"holds {op.name}")
        if native is None:
            return None
        return native(self, [self._argument(a) for a in (*both.args[0].args, both.args[1])], dict(statics))

    def definition(
        self, op: Operation, statics: StaticKey, widths: tuple[int, ...], *, scalar: bool = False
    ) -> IrFunction:
        """Return the function that computes an operation by its integer definition, on lane vectors or on one lane."""
        formals, result = expansion(op, statics, widths)
        type_of = integer if scalar else self.module.vector

        def make(name: str) -> str:
            body = Builder(self.module)
            given = {f.attr: Ref(f"%a{i}", type_of(f.width)) for i, f in enumerate(formals)}
            inner = ValueLowering(body, lambda v: given[v.attr], {} if scalar else self.natives)
            got = inner.value(result)
            got = got if scalar else inner.splat(got)
            listed = ", ".join(f"{r!r}" for r in given.values())
            once = " noinline alignstack(64)" if len(body.lines) > INLINED_LINES else " alwaysinline"
            return (
                f"define internal {got.type} {name}({listed}) {self.module.attributes} {PURE}{once} {{\n{body.text()}\n"
                f"  ret {got!r}\n}}"
            )

        name = self.module.function((op.name, statics, widths, scalar), make)
        return IrFunction(name, type_of(result.width), tuple(type_of(w) for w in widths))

    def _lane_by_lane(
        self, op: Operation, statics: StaticKey, widths: tuple[int, ...], args: list[Ref], width: int
    ) -> Ref:
        """Call the one-lane function: once if everything is uniform, else in a loop over the lanes."""
        b, f = self.body, self.definition(op, statics, widths, scalar=True)
        if all(a.uniform for a in args):
            return b.call(f, *args)
        vector, lanes = self.module.vector(width), self.module.lanes
        before, loop, after = b.fresh("lanes"), b.fresh("lane"), b.fresh("done")
        vectors = [self.splat(a) for a in args]
        b.label(before)
        b.label(loop)
        i, acc, nxt, out = (b.fresh(x) for x in ("%i", "%acc", "%nxt", "%out"))
        lane = b.phi([(I32(0), before), (Ref(nxt, I32), loop)], i)
        found = b.phi([(vector.poison, before), (Ref(out, vector), loop)], acc)
        got = b.call(f, *[b.extract(a, lane) for a in vectors])
        b.named(out, b.insert(found, got, lane))
        following = b.named(nxt, b.add(lane, 1))
        b.branch(b.ult(following, lanes), loop, after)
        b.label(after)
        return Ref(out, vector)
