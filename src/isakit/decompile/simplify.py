"""Simplifications of values during symbolic execution: selects, tests, bits of registers."""

from __future__ import annotations

from isakit.sem.value import Value, binary, const, mask, node, select


def chosen(condition: Value, a: Value, b: Value) -> Value:
    """Return `condition ? a : b`, as logic where the values are conditions themselves."""
    if a.width == 1:
        for value, part, flip in ((a, b, False), (b, a, True)):
            c = ~condition if flip else condition
            if value.op == "const":
                return c | part if value.attr else ~c & part
    return select(condition, a, b)


def equal(a: Value, b: Value) -> Value:
    """Return a == b; if a choice of numbers is compared with a number, the condition of the choice."""
    if b.op == "const" and b.attr == 0 and a.op == "sub":
        return equal(*a.args)
    if a.op == "select" and b.op == "const" and "const" in (a.args[1].op, a.args[2].op):
        return chosen(a.args[0], equal(a.args[1], b), equal(a.args[2], b))
    narrow = _narrowed(a, b)
    return equal(*narrow[1]) if narrow is not None else node("eq", 1, (a, b))


def _narrowed(a: Value, b: Value) -> tuple[str, tuple[Value, Value]] | None:
    """Return the extension of two values (or constants), and the values before it, None if they differ."""
    for how in ("zext", "sext"):
        inner = next((v.args[0].width for v in (a, b) if v.op == how), None)
        if inner is None:
            continue
        found = [_before(v, how, inner) for v in (a, b)]
        if found[0] is not None and found[1] is not None:
            return how, (found[0], found[1])
    return None


def _before(v: Value, how: str, width: int) -> Value | None:
    """Return the value of `width` bits whose extension `v` is; None if `v` is not an extension of one."""
    if v.op == how and v.args[0].width == width:
        return v.args[0]
    if v.op == "const":
        narrow = const(v.attr & mask(width), width)
        wide = narrow.zext(v.width) if how == "zext" else narrow.sext(v.width)
        return narrow if wide.attr == v.attr else None
    return None


def _sign_of_difference(v: Value) -> Value | None:
    """Return the sign of a difference of extended values, whether the first is smaller; None for others."""
    narrow = _narrowed(*v.args)
    if narrow is None:
        return None
    how, operands = narrow
    return node("ult" if how == "zext" else "slt", 1, operands)


DEEPEST = 8
"""Depth that `bits` looks through: with two operands each, shared values would be visited again and again."""


def bits(v: Value, low: int, width: int, depth: int = 0) -> Value:
    """Return `width` bits of a value from bit `low` on, looking through concatenations, extensions and selects."""
    if low == 0 and width == v.width:
        return v
    if depth > DEEPEST:
        return v.bits(low, width)
    if v.op == "concat":
        hi, lo = v.args
        if low < lo.width < low + width:
            upper = bits(hi, 0, low + width - lo.width, depth + 1)
            return node("concat", width, (upper, bits(lo, low, lo.width - low, depth + 1)))
        return bits(lo, low, width, depth + 1) if low < lo.width else bits(hi, low - lo.width, width, depth + 1)
    if v.op == "zext":
        inner = v.args[0]
        if low >= inner.width:
            return const(0, width)
        return bits(inner, low, width, depth + 1) if low + width <= inner.width else v.bits(low, width)
    if v.op == "select":
        return chosen(v.args[0], bits(v.args[1], low, width, depth + 1), bits(v.args[2], low, width, depth + 1))
    if v.op == "extract":
        return bits(v.args[0], low + v.attr, width, depth + 1)
    if v.op == "sext":
        inner = v.args[0]
        if low + width <= inner.width:
            return bits(inner, low, width, depth + 1)
        if width == 1:
            return bits(inner, inner.width - 1, 1, depth + 1)
    if v.op == "sub" and (low, width) == (v.width - 1, 1) and (smaller := _sign_of_difference(v)) is not None:
        return smaller
    if v.op in ("and", "or", "xor") or (v.op in ("add", "sub", "mul") and low == 0):
        return binary(v.op, *(bits(a, low, width, depth + 1) for a in v.args))
    if v.op == "not":
        return ~bits(v.args[0], low, width, depth + 1)
    if v.op in ("shl", "lshr") and v.args[1].op == "const":
        start = low - v.args[1].attr if v.op == "shl" else low + v.args[1].attr
        if start >= v.width or start + width <= 0:
            return const(0, width)
        if start >= 0 and start + width <= v.width:
            return bits(v.args[0], start, width, depth + 1)
    return v.bits(low, width)
