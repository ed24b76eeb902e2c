"""Preparing a graph for code generation: sharing, cheap rewrites, use counts, upper bounds.

A `Plan` maps every value to one canonical node, so that equal sub-expressions are one object. With `wide=False` (NumPy
style) values of more than 64 bits are split where possible, because they would need slow object arrays, and sums that
only exist to give a carry are replaced by comparisons.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import cache

from isakit.sem.operation import Operation, StaticKey, expansion
from isakit.sem.value import INTEGER_MEANING, Value, binary, compare, concat, const, mask, node, on, postorder, select

IMPURE = {"load", "atomic"}
"""Nodes that are effects: each one stays itself and is never merged with an equal one."""


class Plan:
    """Canonical nodes of some root values.

    `effects` maps the id of a load or atomic node to the node that stands for it; `uses` counts how often a canonical
    node is an argument or a root. `uniform(node)` tells whether a canonical node depends on parameters only;
    `lane_params` names parameters that are lane values nevertheless (bound to arrays); `given` maps nodes whose values
    come from outside to whether they are lane values. `numbers` says which parameters, reads and machine nodes are
    known numbers.
    """

    def __init__(
        self,
        roots: Iterable[Value],
        wide: bool,
        lane_params: Callable[[Hashable], bool] = lambda _: False,
        given: Mapping[Value, bool] | None = None,
        numbers: Callable[[Value], int | None] = lambda _: None,
    ) -> None:
        self._wide, self._lane_params, self._numbers = wide, lane_params, numbers
        self._canonical: dict[int, Value] = {}
        self._shared: dict[Hashable, Value] = {}
        self._uniform: dict[int, bool] = {}
        self._bounds: dict[int, int] = {}
        self._keep: list[Value] = []
        self.effects: dict[int, Value] = {}
        for n, is_lane in (given or {}).items():
            self._keep.append(n)
            self._canonical[id(n)] = n
            self._uniform[id(n)] = not is_lane
        self.uses: dict[int, int] = {}
        seen: set[int] = set()
        for root in roots:
            new = self.canonical(root)
            self.uses[id(new)] = self.uses.get(id(new), 0) + 1
            for n in postorder(new, seen):
                for a in n.args:
                    self.uses[id(a)] = self.uses.get(id(a), 0) + 1

    def canonical(self, value: Value) -> Value:
        """Return the canonical node of a value."""
        done, became = self._canonical, dict[int, Value]()
        stack = [value]  # no recursion: a rewrite can run along a chain of any length
        while stack:
            n = stack[-1]
            if id(n) in done:
                stack.pop()
            elif id(n) in became:
                other = became[id(n)]
                if id(other) in done:
                    done[id(n)] = done[id(other)]
                else:
                    stack.append(other)
            elif missing := [a for a in n.args if id(a) not in done]:
                stack.extend(reversed(missing))
            else:
                became[id(n)] = new = self._rebuild(n, tuple(done[id(a)] for a in n.args))
                self._keep += (n, new)
        return done[id(value)]

    def _rebuild(self, n: Value, args: tuple[Value, ...]) -> Value:
        """Return the canonical node for `n` with canonical arguments, or a simpler node that is not canonical yet."""
        done = self._canonical
        if n.op in IMPURE:
            self.effects[id(n)] = new = Value(n.op, n.width, args, n.attr)
            done[id(new)] = new
            if n.width != 128 or self._wide:
                return new
            return self._share(concat(*(self._share(Value("half", 64, (new,), i)) for i in (1, 0))))
        if n.op == "call":
            # An argument the definition ignores must not make the result a lane value.
            used = used_arguments(*n.attr, tuple(a.width for a in args))
            args = tuple(a if u else self._share(const(0, a.width)) for a, u in zip(args, used, strict=True))
        if n.op in ("param", "machine", "read"):
            number = self._numbers(n)
            if number is not None:
                return self._share(const(number, n.width))
        if n.op not in INTEGER_MEANING:
            return self._share(n if n.op == "param" else Value(n.op, n.width, args, n.attr))
        new = on(n, args)
        if id(new) in done:
            return done[id(new)]
        if new.op not in INTEGER_MEANING:
            return self._share(new)
        for rule in _RULES if self._wide else (*_RULES, *_NARROW_RULES):
            other = rule(new)
            if other is not new:
                return other
        return self._share(new) if all(id(a) in done for a in new.args) else new

    def _share(self, n: Value) -> Value:
        key = (n.op, n.width, tuple(id(a) for a in n.args), _attr_key(n))
        found = self._shared.setdefault(key, n)
        self._keep.append(found)
        self._canonical[id(found)] = found
        return found

    def uniform(self, n: Value) -> bool:
        """Return true if a canonical node is the same in every lane."""
        known = self._uniform
        for m in postorder(n, known):
            if m.op == "const":
                known[id(m)] = True
            elif m.op == "param":
                known[id(m)] = m.uniform and not self._lane_params(m.attr)
            else:
                known[id(m)] = m.op not in _LANE_OPS and all(known[id(a)] for a in m.args)
        return known[id(n)]

    def bound(self, n: Value) -> int:
        """Return a bound for the numbers a node can be, as far as is easily seen."""
        known = self._bounds
        for m in postorder(n, known):
            known[id(m)] = min(mask(m.width), _bound(m, [known[id(a)] for a in m.args]))
        return known[id(n)]


_LANE_OPS = {"read", "load", "atomic", "machine", "half"}


@cache
def used_arguments(op: Operation, statics: StaticKey, widths: tuple[int, ...]) -> tuple[bool, ...]:
    """Return for each argument whether the definition of a named operation uses it."""
    formals, body = expansion(op, statics, widths)
    below = {id(n) for n in postorder(body, set())}
    return tuple(id(f) in below for f in formals)


def _attr_key(n: Value) -> Hashable:
    try:
        hash(n.attr)
    except TypeError:
        return id(n.attr)
    return n.attr


def _bound(n: Value, args: Sequence[int]) -> int:
    match n.op, args:
        case "const", _:
            return n.attr
        case "and", [a, b]:
            return min(a, b)
        case (("or" | "xor"), [a, b]):
            return mask(max(a.bit_length(), b.bit_length(), 1))
        case "add", [a, b]:
            return a + b
        case "mul", [a, b]:
            return a * b
        case "zext", [a]:
            return a
        case "select", [_, a, b]:
            return max(a, b)
        case "extract", [a]:
            return a >> n.attr
        case "concat", [a, b]:
            return (a << n.args[1].width) + b
        case "lshr", [a, _]:
            return a >> n.args[1].attr if n.args[1].op == "const" else a
        case "shl", [a, _]:
            return a << min(n.args[1].attr, n.width) if n.args[1].op == "const" else mask(n.width)
        case "clz", _:
            return n.args[0].width
        case "table", _:
            return max(n.attr.entries, default=0)
        case _:
            # add and mul may wrap: the caller's min() with the width's mask is right for them too
            return mask(n.width)


# --- rewrites: each returns its argument when it does not apply -------------------------------------------------------
def _fold_shift(n: Value) -> Value:
    """Turn shifts by a constant into selections of bits, or nothing at all."""
    if n.op == "ashr" and n.width == 1:
        return n.args[0]
    if n.op in {"shl", "lshr", "ashr"} and n.args[1].op == "const":
        a, count = n.args[0], n.args[1].attr
        if count == 0:
            return a
        if count >= n.width:
            return a.sign.sext(n.width) if n.op == "ashr" else const(0, n.width)
        if n.op == "lshr" and count < n.width - 1:
            return a.bits(count, n.width - count).zext(n.width)
    return n


def _fold_select(n: Value) -> Value:
    """Simplify a 1-bit choice with a constant side to an `and` or an `or`."""
    if n.op == "select" and n.width == 1:
        c, a, b = n.args
        if a.op == "const":
            return c | b if a.attr else ~c & b
        if b.op == "const":
            return ~c | a if b.attr else c & a
    return n


def _fold_chains(n: Value) -> Value:
    """Simplify extensions of extensions, comparisons of complements, a + ~b + 1, x & x."""
    args = n.args
    if n.op == "zext" and args[0].op == "zext":
        return args[0].args[0].zext(n.width)
    if n.op in {"ult", "slt"} and args[0].op == "not" and args[1].op == "not":
        return compare(n.op, args[1].args[0], args[0].args[0])
    if n.op in {"and", "or"} and args[0] is args[1]:
        return args[0]
    if n.op in {"xor", "sub"} and args[0] is args[1]:
        return const(0, n.width)
    if n.op == "select" and args[0].op == "not":
        return select(args[0].args[0], args[2], args[1])
    if n.op == "add" and args[1].op == "const" and args[1].attr == 1 and args[0].op == "add":
        a, b = args[0].args
        if b.op == "not":
            return a - b.args[0]
        if a.op == "not":
            return b - a.args[0]
    return n


_LOW_BITS_ONLY = {"add", "sub", "mul", "and", "or", "xor", "not"}


def _narrow(n: Value) -> Value:
    """Narrow an operation whose low bits alone are wanted to the low bits of its operands."""
    if n.op == "extract" and n.args[0].op in _LOW_BITS_ONLY:
        inner, top = n.args[0], n.attr + n.width
        width = 32 if top <= 32 else 64
        if top <= width < inner.width:
            low = [a.bits(0, width) for a in inner.args]
            return (~low[0] if inner.op == "not" else binary(inner.op, low[0], low[1])).bits(n.attr, n.width)
    return n


def _bits_of_pieces(n: Value) -> Value:
    """Return bits across the seam of a concat, or of an extension, from the pieces that hold them."""
    if n.op != "extract":
        return n
    inner, low, high = n.args[0], n.attr, n.attr + n.width
    if inner.op == "concat":
        hi, lo = inner.args
        if high <= lo.width or low >= lo.width:
            return inner.bits(low, n.width)
        if inner.width > 64:
            return concat(hi.bits(0, high - lo.width), lo.bits(low, lo.width - low))
    if inner.op == "zext":
        a = inner.args[0]
        if low >= a.width:
            return const(0, n.width)
        return a.bits(low, min(high, a.width) - low).zext(n.width)
    if inner.op == "extract":
        return inner.args[0].bits(low + inner.attr, n.width)
    if inner.width > 64 and inner.op in {"and", "or", "xor", "not", "select"}:
        parts = [a.bits(low, n.width) for a in inner.args[-2:]]
        keep = inner.args[:1] if inner.op == "select" else ()
        return node(inner.op, n.width, (*keep, *(parts if inner.op != "not" else parts[:1])))
    return n


def _carry(n: Value) -> Value:
    """Simplify the carry out of a sum of extended values: compare the wrapped sum with an operand."""
    if n.op != "extract" or n.width != 1 or n.args[0].op != "add" or n.attr not in {32, 64}:
        return n
    w = n.attr
    total, extra = n.args[0], None
    if total.width != w + 1:
        return n
    if total.args[0].op == "add":
        total, extra = total.args
    a, b = (_unextended(x, w) for x in total.args) if total.op == "add" else (None, None)
    if a is None or b is None:
        return n
    if extra is None:
        return compare("ult", a + b, a)
    if extra.op == "const" and extra.attr == 1:
        return ~compare("ult", a, ~b)
    if extra.op == "zext" and extra.args[0].width == 1:
        once = a + b
        return compare("ult", once, a) | compare("ult", once + extra.args[0].zext(w), once)
    return n


def _unextended(x: Value, w: int) -> Value | None:
    if x.op == "zext" and x.args[0].width <= w:
        return x.args[0].zext(w)
    if x.op == "const" and x.attr <= mask(w):
        return const(x.attr, w)
    return None


_RULES = (_fold_shift, _fold_select, _fold_chains)
_NARROW_RULES = (_bits_of_pieces, _narrow, _carry)
