"""Terms of `isakit.decompile` computed with NumPy: what expressions say, without the simulator's operations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from isakit.decompile.glsl import Decompiled, LoopTerms
from isakit.decompile.terms import Term, every

Array = np.ndarray[Any, Any]
LETTERS = "xyzw"


def _fma(a: Array, b: Array, c: Array) -> Array:
    return (a.astype(np.longdouble) * b + c).astype(np.float32)


def _unorm(bits: int) -> Any:
    top = np.float64((1 << bits) - 1)
    return lambda x: (np.rint(np.clip(np.nan_to_num(x.astype(np.float64)), 0, 1) * top) / top).astype(np.float32)


def _shift(function: Any) -> Any:
    return lambda a, b: function(a, b.astype(a.dtype))


FUNCTIONS: dict[str, Any] = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "&": np.bitwise_and, "|": np.bitwise_or, "^": np.bitwise_xor,
    "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal, "==": np.equal, "!=": np.not_equal,
    "&&": np.logical_and, "||": np.logical_or, "!": np.logical_not, "-x": np.negative, "~": np.invert, "abs": np.abs,
    "min": np.fmin, "max": np.fmax, "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "roundEven": np.rint,
    "fma": _fma, "inversesqrt": lambda x: (1 / np.sqrt(x.astype(np.float64))).astype(np.float32),
    "log2": np.log2, "exp2": np.exp2, "f16": lambda x: x.astype(np.float16).astype(np.float32),
    "packHalf": lambda x: x.astype(np.float16).view(np.uint16).astype(np.uint32),
    "unpackHalf": lambda x: x.astype(np.uint16).view(np.float16).astype(np.float32),
    "floatBitsToUint": lambda x: np.ascontiguousarray(x).view(np.uint32),
    "uintBitsToFloat": lambda x: np.ascontiguousarray(x).view(np.float32),
    "float": lambda x: x.astype(np.float32), "int": lambda x: x.astype(np.int64).astype(np.int32),
    "uint": lambda x: x.astype(np.int64).astype(np.uint32), "clamp": np.clip,
    "<<": _shift(np.left_shift), ">>": _shift(np.right_shift), "unorm8": _unorm(8), "unorm16": _unorm(16),
    "?:": lambda c, a, b: np.where(c, a, b),
}  # fmt: skip
_DTYPES = {"float": np.float32, "uint": np.uint32, "int": np.int32, "bool": np.bool_}


def evaluate(d: Decompiled, given: Mapping[str, Any], textures: Mapping[str, Any], count: int) -> dict[str, Array]:
    """The results by name, [count, components], and `discard`. `given`: [count or elements, components] by name."""
    given = {g.name: given[g.source] for g in d.interface.given}
    given |= {"gl_VertexID": np.arange(count)[:, None], "gl_InstanceID": [[0]], "gl_FrontFacing": [[0]]}
    uniforms = {g.name for g in d.interface.given if g.kind == "uniform"}

    def computed(terms: list[Term], known: Mapping[str, Any]) -> list[Array]:
        values: dict[int, Array] = {}
        with np.errstate(all="ignore"):
            for t in every(terms):
                values[id(t)] = _value(t, [values[id(a)] for a in t.args], known, uniforms, textures, d, count)
        return [np.broadcast_to(values[id(t)], (count, t.size)) for t in terms]

    def run(loop: LoopTerms, known: dict[str, Any], active: Array) -> None:
        entered, *before = computed(loop.outside, known)
        active = active & entered
        known |= {v.name: value for v, value in zip(loop.variables, before, strict=True)}
        while active.any():
            inside = known | {v.inside: known[v.name] for v in loop.variables}
            for x in loop.inner:
                run(x, inside, active)
            *after, again = computed([*(v.after for v in loop.variables), loop.again], inside)
            for v, value in zip(loop.variables, after, strict=True):
                known[v.name] = np.where(active, value, known[v.name])
            active = active & again

    for loop in d.loops:
        run(loop, given, np.ones((count, 1), bool))
    *results, discard = computed([*(r.term for r in d.results), d.discard], given)
    return {r.output.name: value for r, value in zip(d.results, results, strict=True)} | {"discard": discard}


def _value(t: Term, args: list[Array], given: Any, uniforms: set[str], textures: Any, d: Decompiled,
           count: int) -> Array:  # fmt: skip
    if t.op == "number":
        return np.full((1, 1), t.attr, _DTYPES[t.type])
    if t.op == "symbol":
        (name, element), size = t.attr
        rows = np.asarray(given[name])
        if name in uniforms:
            rows = rows.reshape(-1, size)[[element or 0]]
        elif element is not None:
            rows = rows.reshape(len(rows), -1, size)[:, element]
        return rows[:, :size].astype(_DTYPES[t.type])
    if t.op == "swizzle":
        return args[0][:, [LETTERS.index(c) for c in t.attr]]
    if t.op == "splat":
        return np.repeat(args[0], t.size, 1)
    if t.op == "vector":
        rows = max(map(len, args))
        return np.concatenate([np.broadcast_to(a, (rows, a.shape[1])) for a in args], 1)
    if t.op == "dot":
        products = np.broadcast_arrays(*args)
        total = products[0][:, :1] * products[1][:, :1]
        for k in range(1, products[0].shape[1]):
            total = total + products[0][:, k : k + 1] * products[1][:, k : k + 1]
        return total
    if t.op == "texel":
        return _sample(t, args, textures, d, count)
    if t.op == "/":
        return args[0] // args[1] if t.type == "uint" else args[0] / args[1]
    with np.errstate(all="ignore"):
        return FUNCTIONS[t.op](*args)


def _sample(t: Term, args: list[Array], textures: Any, d: Decompiled, count: int) -> Array:
    fetch = t.attr
    sampler = d.interface.samplers[fetch.unit]
    at = np.ascontiguousarray(np.broadcast_to(args[0], (count, args[0].shape[1])), np.float32)
    assert fetch.lod == "none"
    assert sampler.kind == "2D"
    if fetch.projective:
        at = at[:, :2] / at[:, 2:3]
    return textures[sampler.source].sample(at[:, 0], at[:, 1])
