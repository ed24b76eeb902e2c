"""Evaluate a graph of `Value`s on NumPy arrays: one array element per lane, arrays of Python ints beyond 64 bits.

Small and plain on purpose: a second, independent reading of the node table for tests that need millions of operands.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from isakit.sem.operation import expansion
from isakit.sem.value import Value, mask

Array = np.ndarray[Any, Any]


def container(width: int) -> Any:
    if width > 64:
        return object
    return np.uint64 if width > 32 else np.uint32


def cast(a: Array, width: int) -> Array:
    kind = container(width)
    if a.dtype == kind:
        return a
    if kind is object:
        return np.array([int(v) for v in a.tolist()], dtype=object) if a.ndim else a.astype(object)
    if a.dtype == object:
        return np.array([int(v) & mask(64) for v in a.tolist()], dtype=np.uint64).astype(kind)
    return a.astype(kind)


def number(value: int, width: int) -> Any:
    return np.full(1, value, dtype=container(width))


def cut(a: Array, width: int) -> Array:
    bits = {np.dtype(np.uint32): 32, np.dtype(np.uint64): 64}.get(a.dtype, 0)
    return a if bits == width else a & a.dtype.type(mask(width)) if bits else a & mask(width)


def to_signed(a: Array, width: int) -> Array:
    if width > 64:
        half = 1 << (width - 1)
        return (a ^ half) - half
    bits = 64 if a.dtype == np.uint64 else 32
    kind = np.int64 if bits == 64 else np.int32
    up = a.dtype.type(bits - width)
    return (a << up).view(kind) >> kind(bits - width)


def shift(op: str, a: Array, n: Array, width: int) -> Array:
    if width > 64:
        counts = np.minimum(cast(n, 64), np.uint64(width)).astype(object)
        if op == "ashr":
            return to_signed(a, width) >> counts & mask(width)
        return cut(a << counts, width) if op == "shl" else a >> counts
    kind = a.dtype.type
    n64 = cast(n, 64)
    inside = n64 < width
    if op == "ashr":
        s = to_signed(a, width)
        return cut((s >> np.minimum(n64, np.uint64(width - 1)).astype(s.dtype)).view(a.dtype), width)
    count = np.where(inside, n64, np.uint64(0)).astype(kind)
    out = cut(a << count, width) if op == "shl" else a >> count
    return np.where(inside, out, kind(0))


def leading_zeros(a: Array, width: int) -> Array:
    if width > 64:
        return np.array([width - int(v).bit_length() for v in a.tolist()], dtype=object)
    # The 16-bit pieces are exact in a float64, whose exponent is the position of the leading one.
    wide = a.astype(np.uint64)
    length = np.zeros(a.shape, dtype=np.int64)
    for piece in range(0, 64, 32):
        part = (wide >> np.uint64(piece)) & np.uint64(0xFFFFFFFF)
        length = np.where(part != 0, np.frexp(part.astype(np.float64))[1] + piece, length)
    return (width - length).astype(a.dtype)


def compute(v: Value, args: list[Array]) -> Array:
    w = v.width
    a = args[0]
    b = args[1] if len(args) > 1 else a
    wa = v.args[0].width
    match v.op:
        case "add":
            return cut(a + b, w)
        case "sub":
            return cut(a - b, w)
        case "mul":
            return cut(a * b, w)
        case "and":
            return a & b
        case "or":
            return a | b
        case "xor":
            return a ^ b
        case "not":
            return a ^ mask(w) if w > 64 else a ^ a.dtype.type(mask(w))
        case "udiv":
            if w > 64:
                return np.array([x // y if y else mask(w) for x, y in np.broadcast(a, b)], dtype=object)
            zero = b == 0
            return np.where(zero, a.dtype.type(mask(w)), a // np.where(zero, a.dtype.type(1), b))
        case "shl" | "lshr" | "ashr":
            return shift(v.op, a, b, w)
        case "eq":
            return (a == b).astype(np.uint32)
        case "ult":
            return (a < b).astype(np.uint32)
        case "slt":
            return (to_signed(a, wa) < to_signed(b, wa)).astype(np.uint32)
        case "select":
            return np.where(a.astype(bool), b, args[2])
        case "zext":
            return cast(a, w)
        case "sext":
            if w > 64:
                return cut(to_signed(cast(a, 64), wa).astype(object) if wa <= 64 else to_signed(a, wa), w)
            return cut(cast(a, w) if wa == w else to_signed(cast(a, w), wa).view(container(w)), w)
        case "extract":
            if wa > 64:
                return cast((a >> v.attr) & mask(w), w)
            return cast(cut(a >> a.dtype.type(v.attr), w), w)
        case "concat":
            wb = v.args[1].width
            hi, lo = cast(a, w), cast(b, w)
            return (hi << wb) | lo if w > 64 else (hi << hi.dtype.type(wb)) | lo
        case "clz":
            return leading_zeros(a, w)
        case "table":
            entries = np.array([*v.attr.entries, 0], dtype=container(w))
            return entries[np.minimum(cast(a, 64), np.uint64(len(v.attr.entries))).astype(np.int64)]
        case _:
            raise NotImplementedError(v.op)


def evaluate(root: Value, env: dict[int, Array]) -> Array:
    """Compute `root`; `env` maps id(leaf) to its array and grows by every node computed."""
    stack = [root]
    while stack:
        v = stack[-1]
        if id(v) in env:
            stack.pop()
            continue
        if v.op == "const":
            env[id(v)] = number(v.attr, v.width)
            continue
        waiting = [x for x in v.args if id(x) not in env]
        if waiting:
            stack += waiting
            continue
        args = [env[id(x)] for x in v.args]
        if v.op == "call":
            operation, statics = v.attr
            formals, body = expansion(operation, statics, tuple(x.width for x in v.args))
            env[id(v)] = evaluate(body, {id(f): x for f, x in zip(formals, args, strict=True)})
        else:
            env[id(v)] = compute(v, args)
        stack.pop()
    return env[id(root)]


def run(root: Value, inputs: dict[Value, Array], chunk: int = 1 << 15) -> Array:
    """Evaluate `root` on arrays for its leaves, piece by piece so that the pieces stay in the cache."""
    length = max(len(a) for a in inputs.values())
    pieces: list[Array] = []
    with np.errstate(over="ignore"):
        for start in range(0, length, chunk):
            env = {id(v): cast(a[start : start + chunk], v.width) for v, a in inputs.items()}
            out = evaluate(root, env)
            pieces.append(np.broadcast_to(out, (min(chunk, length - start),)))
    return np.concatenate(pieces)


def count_nodes(root: Value) -> int:
    """Distinct nodes of a graph without constants, called definitions expanded."""
    seen: set[int] = set()
    todo = [root]
    total = 0
    while todo:
        v = todo.pop()
        if id(v) in seen:
            continue
        seen.add(id(v))
        total += v.op not in ("const", "param")
        todo += v.args
        if v.op == "call":
            operation, statics = v.attr
            todo.append(expansion(operation, statics, tuple(x.width for x in v.args))[1])
    return total
