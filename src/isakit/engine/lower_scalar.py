"""Expressions on plain Python ints: the code of uniform nodes in every style, and of all nodes in scalar style.

An operand is a Python expression that can be used anywhere (a name, a number or something in parentheses). Comparisons
give Python bools, which are ints: values that leave generated code are converted to int.
"""

from __future__ import annotations

from collections.abc import Callable

from isakit.sem.value import Value, mask

USED_TWICE = {"udiv": (1,), "shl": (1,), "ashr": (), "table": (0,)}
"""Operand positions an expression mentions more than once: they need a name."""


def number(value: int) -> str:
    """Return a literal, in hexadecimal if that is more readable."""
    return str(value) if value < 256 else hex(value)


def signed_of(a: str, width: int) -> str:
    """Return `a`, an unsigned number of `width` bits, as a signed one."""
    top = number(1 << (width - 1))
    return f"(({a} ^ {top}) - {top})"


def scalar_expression(
    n: Value, args: list[str], bound: Callable[[Value], int], constant: Callable[[object, str], str]
) -> str:
    """Return the expression of node `n`; `constant(object, hint)` gives an object's name in generated code."""
    w = n.width
    ones = number(mask(w))
    widths = [a.width for a in n.args]

    def wrapped(text: str, largest: int) -> str:
        return f"({text})" if largest <= mask(w) else f"(({text}) & {ones})"

    match n.op, args:
        case "const", _:
            return number(n.attr)
        case "add", [a, b]:
            return wrapped(f"{a} + {b}", bound(n.args[0]) + bound(n.args[1]))
        case "sub", [a, b]:
            return f"(({a} - {b}) & {ones})"
        case "mul", [a, b]:
            return wrapped(f"{a} * {b}", bound(n.args[0]) * bound(n.args[1]))
        case (("and" | "or" | "xor"), [a, b]):
            return f"({a} {dict(zip(('and', 'or', 'xor'), '&|^', strict=True))[n.op]} {b})"
        case "not", [a]:
            return f"({a} ^ {ones})"
        case "udiv", [a, b]:
            return f"({a} // {b} if {b} else {ones})"
        case "shl", [a, count]:
            shifted = f"(({a} << {count}) & {ones})"
            return shifted if n.args[1].op == "const" else f"({shifted} if {count} < {w} else 0)"
        case "lshr", [a, count]:
            return f"({a} >> {count})"
        case "ashr", [a, count]:
            return f"(({signed_of(a, w)} >> {count}) & {ones})"
        case "eq", [a, b]:
            return f"({a} == {b})"
        case "ult", [a, b]:
            return f"({a} < {b})"
        case "slt", [a, b]:
            return f"({signed_of(a, widths[0])} < {signed_of(b, widths[0])})"
        case "select", [c, a, b]:
            return f"({a} if {c} else {b})"
        case "zext", [a]:
            return a
        case "sext", [a]:
            return f"({signed_of(a, widths[0])} & {ones})"
        case "extract", [a]:
            if not n.attr:
                return a if bound(n.args[0]) <= mask(w) else f"({a} & {ones})"
            return wrapped(f"{a} >> {n.attr}", bound(n.args[0]) >> n.attr)
        case "concat", [hi, lo]:
            return f"({hi} << {widths[1]} | {lo})"
        case "clz", [a]:
            return f"({widths[0]} - ({a}).bit_length())"
        case "table", [i]:
            entries = constant(n.attr.entries, n.attr.name)
            inside = bound(n.args[0]) < len(n.attr.entries)
            return f"{entries}[{i}]" if inside else f"({entries}[{i}] if {i} < {len(n.attr.entries)} else 0)"
        case _:
            raise ValueError(f"no integer code for {n.op}")
