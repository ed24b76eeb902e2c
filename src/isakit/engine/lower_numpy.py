"""Expressions on NumPy arrays, one element per lane, in the representation of `engine.protocol`.

Every operand is an array of its width's dtype: [lanes] for lane values, zero-dimensional for uniform ones (as cheap as
an array, while a Python or NumPy scalar costs twice the call). What the code relies on, and the tests check: NumPy
shifts by the dtype's bits or more give 0 (sign fill for signed types); arithmetic on unsigned arrays wraps silently.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from isakit.engine import numpy_helpers
from isakit.engine.lower_scalar import signed_of
from isakit.sem.value import Value, mask

U32, U64, BOOL, OBJECT = "u32", "u64", "bool_", "obj"
SIGNED = {U32: "i32", U64: "i64"}
BITS = {U32: 32, U64: 64}


def kind_of(width: int) -> str:
    """Return the representation of a value of `width` bits, by the name its dtype has in generated code."""
    return BOOL if width == 1 else U32 if width <= 32 else U64 if width <= 64 else OBJECT


def converted(a: str, source: str, target: str) -> str:
    """Convert `a` to another representation; the number must fit, except that u64 -> u32 drops the upper half."""
    if source == target:
        return a
    if source == BOOL and target == OBJECT:  # bool objects would break ~ and printing
        return f"{a}.astype(u32).astype(obj)"
    return f"{a}.astype({target})"


class NumpyLowering:
    """Expressions for the nodes of one plan.

    `bound(node)` is an upper bound of a node; `constant(number, width)` names a zero-dimensional array; `named(object,
    hint)` names any other object; `uniform(node)` is the int expression of a uniform node and None for a lane value.
    """

    def __init__(
        self,
        bound: Callable[[Value], int],
        constant: Callable[[int, int], str],
        named: Callable[[object, str], str],
        uniform: Callable[[Value], str | None],
    ) -> None:
        self._bound, self._constant, self._named, self._uniform = bound, constant, named, uniform

    def expression(self, n: Value, args: list[str]) -> str:
        """Return the expression of node `n`, at least one of whose operands is a lane value."""
        if n.width == 1:
            text = self._one_bit(n, args)
            if text:
                return text
        return getattr(self, f"_{n.op}")(n, *args)

    def _one_bit(self, n: Value, args: list[str]) -> str:
        if n.op in {"add", "sub", "xor"}:
            return f"({args[0]} ^ {args[1]})"
        if n.op in {"mul", "and"}:
            return f"({args[0]} & {args[1]})"
        if n.op in {"shl", "lshr"}:
            return f"({args[0]} & ({args[1]} == {self._zero(n.args[1])}))"
        if n.op == "udiv":
            return f"({args[0]} | ~{args[1]})"
        if n.op == "clz":
            return f"(~{args[0]})"
        return ""

    def _zero(self, like: Value) -> str:
        return self._constant(0, like.width)

    def _masked(self, text: str, n: Value, largest: int | None = None) -> str:
        """Return `text` reduced to the width of `n`, unless the dtype wraps there or the number cannot be larger."""
        if n.width in {32, 64} or (largest is not None and largest <= mask(n.width)):
            return f"({text})"
        return f"(({text}) & {self._constant(mask(n.width), n.width)})"

    # --- arithmetic -------------------------------------------------------------------------------------------------
    def _add(self, n: Value, a: str, b: str) -> str:
        return self._masked(f"{a} + {b}", n, self._bound(n.args[0]) + self._bound(n.args[1]))

    def _sub(self, n: Value, a: str, b: str) -> str:
        return self._masked(f"{a} - {b}", n)

    def _mul(self, n: Value, a: str, b: str) -> str:
        return self._masked(f"{a} * {b}", n, self._bound(n.args[0]) * self._bound(n.args[1]))

    def _and(self, n: Value, a: str, b: str) -> str:
        return f"({a} & {b})"

    def _or(self, n: Value, a: str, b: str) -> str:
        return f"({a} | {b})"

    def _xor(self, n: Value, a: str, b: str) -> str:
        return f"({a} ^ {b})"

    def _not(self, n: Value, a: str) -> str:
        return f"(~{a})" if n.width in {1, 32, 64} else f"({a} ^ {self._constant(mask(n.width), n.width)})"

    def _udiv(self, n: Value, a: str, b: str) -> str:
        return f"divided({a}, {b}, {self._constant(mask(n.width), n.width)})"

    # --- shifts -----------------------------------------------------------------------------------------------------
    def _count(self, n: Value, count: str, signed_left: bool) -> str:
        """Return the shift count in the representation of the shifted value, limited to what fits."""
        kind, source = kind_of(n.width), kind_of(n.args[1].width)
        limit = n.width - 1 if signed_left else n.width
        if n.args[1].op == "const":
            return self._constant(min(n.args[1].attr, limit), n.width)
        uniform = self._uniform(n.args[1])
        if uniform is not None:
            return f"array(min({uniform}, {limit}), {kind})"
        largest = self._bound(n.args[1])
        if (kind == OBJECT and largest > limit) or (source in {U64, OBJECT} and largest > 0xFFFF_FFFF):
            # A shift of a Python int by 4e9 would build the number; a u64 count would lose its upper half.
            count = f"minimum({count}, {self._constant(min(limit, mask(n.args[1].width)), n.args[1].width)})"
        return converted(count, source, kind)

    def _shl(self, n: Value, a: str, count: str) -> str:
        steps = n.args[1].attr if n.args[1].op == "const" else None
        largest = None if steps is None else self._bound(n.args[0]) << min(steps, n.width)
        return self._masked(f"{a} << {self._count(n, count, False)}", n, largest)

    def _lshr(self, n: Value, a: str, count: str) -> str:
        return f"({a} >> {self._count(n, count, False)})"

    def _ashr(self, n: Value, a: str, count: str) -> str:
        count = self._count(n, count, True)
        kind = kind_of(n.width)
        uniform = self._uniform(n.args[0])
        if uniform is not None and kind != OBJECT:
            a = f"array({signed_of(uniform, n.width)}, {SIGNED[kind]})"
            return self._masked(f"({a} >> {count}.view({SIGNED[kind]})).view({kind})", n)
        if kind == OBJECT:
            top = self._constant(1 << (n.width - 1), n.width)
            return f"((({a} ^ {top}) - {top} >> {count}) & {self._constant(mask(n.width), n.width)})"
        if n.width != BITS[kind]:
            top = self._constant(1 << (n.width - 1), n.width)
            a = f"(({a} ^ {top}) - {top})"
        signed = SIGNED[kind]
        return self._masked(f"({a}.view({signed}) >> {count}.view({signed})).view({kind})", n)

    # --- comparisons and choice -------------------------------------------------------------------------------------
    def _eq(self, n: Value, a: str, b: str) -> str:
        return f"({a} == {b})"

    def _ult(self, n: Value, a: str, b: str) -> str:
        return f"({a} < {b})"

    def _slt(self, n: Value, a: str, b: str) -> str:
        width = n.args[0].width
        kind = kind_of(width)
        if width == 1:
            return f"({a} > {b})"
        if n.args[1].op == "const" and n.args[1].attr == 0:
            return f"({a} >= {self._constant(1 << (width - 1), width)})"
        if kind != OBJECT and width == BITS[kind]:
            return f"({a}.view({SIGNED[kind]}) < {b}.view({SIGNED[kind]}))"
        top = self._constant(1 << (width - 1), width)
        return f"(({a} ^ {top}) < ({b} ^ {top}))"

    def _select(self, n: Value, c: str, a: str, b: str) -> str:
        """Return a choice lane by lane; a uniform condition is handled elsewhere."""
        return f"where({c}, {a}, {b})"

    # --- widths -----------------------------------------------------------------------------------------------------
    def _zext(self, n: Value, a: str) -> str:
        return converted(a, kind_of(n.args[0].width), kind_of(n.width))

    def _sext(self, n: Value, a: str) -> str:
        source, kind, width = kind_of(n.args[0].width), kind_of(n.width), n.args[0].width
        if width == 1:
            return f"where({a}, {self._constant(mask(n.width), n.width)}, {self._constant(0, n.width)})"
        if source == U32 and width == 32 and kind == U64:
            return self._masked(f"{a}.view(i32).astype(u64)", n)
        top = self._constant(1 << (width - 1), n.width)
        return self._masked(f"({converted(a, source, kind)} ^ {top}) - {top}", n)

    def _extract(self, n: Value, a: str) -> str:
        low, source, kind = n.attr, kind_of(n.args[0].width), kind_of(n.width)
        largest, width = self._bound(n.args[0]), n.args[0].width
        if n.width == 1:
            if source == BOOL:
                return a
            bit = self._constant(1 << low, width)
            if largest < 2 << low:
                return f"({a} >= {bit})"
            return f"(({a} & {bit}) != {self._constant(0, width)})"
        text = f"({a} >> {self._constant(low, width)})" if low else a
        needs_mask = largest >> low > mask(n.width)
        if source == OBJECT and needs_mask:
            text = f"({text} & {self._constant(mask(n.width), width)})"
        text = converted(text, source, kind)
        if needs_mask and source != OBJECT and n.width not in {32, 64}:
            text = f"({text} & {self._constant(mask(n.width), n.width)})"
        return text

    def _concat(self, n: Value, hi: str, lo: str) -> str:
        kind = kind_of(n.width)
        hi = converted(hi, kind_of(n.args[0].width), kind)
        lo = converted(lo, kind_of(n.args[1].width), kind)
        return f"({hi} << {self._constant(n.args[1].width, n.width)} | {lo})"

    def _clz(self, n: Value, a: str) -> str:
        return f"clz_{kind_of(n.width)}({a}, {self._constant(n.width, n.width)})"

    def _table(self, n: Value, index: str) -> str:
        entries = n.attr.entries
        table = self._named(numpy_helpers.table_array(entries, dtype_of(n.width)), n.attr.name)
        width = n.args[0].width
        if self._bound(n.args[0]) >= len(entries) and len(entries) <= mask(width):
            index = f"minimum({index}, {self._constant(len(entries), width)})"
        return f"{table}.take({index}.astype(intp))"


def dtype_of(width: int) -> np.dtype[np.generic]:
    """Return the dtype of a value of `width` bits."""
    return {BOOL: np.dtype(bool), U32: np.dtype(np.uint32), U64: np.dtype(np.uint64), OBJECT: np.dtype(object)}[
        kind_of(width)
    ]
