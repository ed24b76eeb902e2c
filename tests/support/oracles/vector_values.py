"""What functions on vectors mean, evaluated operation by operation over lanes with NumPy: the oracle for their code.

A value of n elements is an array [n, lanes] of float32, of f16 values rounded to them; integers are int64, conditions
bool. Functions have one block, or branches without loops whose lanes all go one way.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

import isakit
from isakit import usse
from isakit.compile import ops
from isakit.compile import vector_ops as v
from isakit.compile.ir import Const, Function, Ins, IrValue

Array = NDArray[Any]
F32 = np.float32


def rounded(x: Array, kind: str) -> Array:
    """Return results of f32 operations in the format of a kind."""
    with np.errstate(all="ignore"):
        return x.astype(np.float16).astype(F32) if v.element(kind) == "f16" else x.astype(F32)


def fused(a: Array, b: Array, c: Array) -> Array:
    """Return a * b + c rounded to f32 once, but for one case in some 2**40."""
    wide = np.longdouble
    assert np.finfo(wide).nmant >= 63
    with np.errstate(all="ignore"):
        exact = a.astype(wide) * b.astype(wide) + c.astype(wide)
        return exact.astype(F32)


def function(name: str, x: Array) -> Array:
    """Return what the reference engine has for a scalar function."""
    flat = np.ascontiguousarray(x).reshape(-1)
    core = usse.Core(len(flat))
    core.pa[0] = flat.view(np.uint32)
    core.run(isakit.isa("usse").assemble(f"v{name}.f32 r0.x pa0.x"))
    return core.r[0].view(F32).copy().reshape(x.shape)


def extreme(a: Array, b: Array, larger: bool) -> Array:
    """Return the smaller or larger numbers: -0 is below +0, a NaN loses."""
    less = (a < b) | ((a == b) & np.signbit(a) & ~np.signbit(b))
    first = ~less if larger else less
    first = np.where(a == b, (np.signbit(a) != larger) | (np.signbit(a) == np.signbit(b)), first)
    return np.where(np.isnan(a), b, np.where(np.isnan(b), a, np.where(first, a, b))).astype(F32)


def compare(x: Array, cond: str) -> Array:
    """Return how numbers compare with 0."""
    return {"eq": x == 0, "ne": x != 0, "lt": x < 0, "le": x <= 0, "gt": x > 0, "ge": x >= 0}[cond]


def constant(value: Const, lanes: int) -> Array:
    """Return a constant in all lanes."""
    if value.kind == "p":
        return np.full((1, lanes), bool(value.value))
    if value.kind == "r":
        return np.full((1, lanes), value.value, np.int64)
    bits: Array = np.array([value.value], np.uint16 if value.kind == "f16" else np.uint32)
    number = bits.view(np.float16 if value.kind == "f16" else F32).astype(F32)
    return np.repeat(number[:, None], lanes, axis=1)


class Evaluation:
    """The values of a function for some inputs and uniforms (name to array [components, lanes] and [elements, n]).

    `undefined` are the lanes in which a NaN was compared: what comes of that is the target's.
    """

    def __init__(self, f: Function, inputs: Mapping[str, Array], uniforms: Mapping[str, Array], lanes: int) -> None:
        self.inputs, self.uniforms, self.lanes = inputs, uniforms, lanes
        self.values: dict[IrValue, Array] = {}
        self.outputs: dict[str, Array] = {}
        self.killed = np.zeros(lanes, bool)
        self.undefined = np.zeros(lanes, bool)
        b, before = f.blocks[0], f.blocks[0]
        for _ in range(1000):
            got = [(i.out, self.get(i.args[b.preds.index(before)])) for i in b.phis]
            self.values |= dict(got)
            for i in b.ins:
                self.step(i)
            before = b
            if b.term[0] == "exit":
                return
            if b.term[0] == "jump":
                b = b.term[1]
                continue
            taken = self.get(b.term[1])[0] != b.term[2]
            assert taken.all() or not taken.any()
            b = b.term[3] if taken[0] else b.term[4]
        raise AssertionError("the function does not end")

    def get(self, value: IrValue) -> Array:
        """Return a value."""
        return constant(value, self.lanes) if isinstance(value, Const) else self.values[value]

    def step(self, i: Ins) -> None:
        """Evaluate an operation."""
        with np.errstate(all="ignore"):
            got = self.result(i, [self.get(a) for a in i.args])
        if i.outs:
            self.values[i.out] = got

    def result(self, i: Ins, a: list[Array]) -> Any:
        """Return the result of an operation."""
        kind = i.out.kind if i.outs else ""
        op, attrs = i.op, i.attrs
        if op.fold is not None and op.outs == ("r",):
            folded = [[op.fold(*(int(x[0, k]) for x in a), *attrs) & 0xFFFF_FFFF for k in range(self.lanes)]]
            return np.array(folded, np.int64)
        if op is ops.CMP:
            return np.array([[bool(op.fold(*(int(x[0, k]) for x in a), *attrs)) for k in range(self.lanes)]])
        simple = {
            v.VADD: lambda: rounded(a[0] + a[1], kind),
            v.VMUL: lambda: rounded(a[0] * a[1], kind),
            v.VMAD: lambda: rounded(fused(*a), kind),
            v.VMIN: lambda: extreme(a[0], a[1], False),
            v.VMAX: lambda: extreme(a[0], a[1], True),
            v.VNEG: lambda: -a[0],
            v.VABS: lambda: np.abs(a[0]),
            v.VSAT: lambda: extreme(extreme(a[0], np.zeros_like(a[0]), True), np.ones_like(a[0]), False),
            v.VFRC: lambda: rounded(a[0] - np.floor(a[0]), kind),
            v.VSUBFLOOR: lambda: rounded(a[0] - np.floor(a[1]), kind),
            v.VFLOOR: lambda: np.floor(a[0]),
            v.VRCP: lambda: rounded(F32(1) / a[0], kind),
            v.VRSQ: lambda: rounded(function("rsq", a[0]), kind),
            v.VLOG2: lambda: rounded(function("log", a[0]), kind),
            v.VEXP2: lambda: rounded(function("exp", a[0]), kind),
            v.JOIN: lambda: np.concatenate(a),
            v.VSEL: lambda: np.where(a[0], a[1], a[2]),
            v.VCVT: lambda: rounded(a[0], kind),
            v.BITS: lambda: self.bits(a[0], kind),
            ops.PAND: lambda: a[0] & a[1],
            ops.POR: lambda: a[0] | a[1],
            ops.PXOR: lambda: a[0] ^ a[1],
            ops.PNOT: lambda: ~a[0],
        }
        if op in simple:
            return simple[op]()
        if op is v.VDOT:
            return rounded(self.dot(a[0], a[1], i.args[0].kind), kind)
        if op is v.SWIZZLE:
            n = a[0].shape[1]
            one = {c: np.full(n, x, F32) for c, x in v.CONSTANTS.items()}
            return np.stack([one[c] if c in one else a[0]["xyzw".index(c)] for c in attrs.pattern])
        if op is v.VCMP:
            difference = rounded(a[0] - a[1], "f32")
            self.undefined |= np.isnan(difference).any(axis=0)
            return compare(difference, attrs.cond)
        if op is v.VCSEL:
            self.undefined |= np.isnan(a[0]).any(axis=0)
            return np.where(compare(a[0], attrs.cond), a[1], a[2])
        if op is v.I2F:
            words = a[0].astype(np.uint32)
            return (words.view(np.int32) if attrs.signed else words).astype(F32)
        if op is v.F2I:
            return a[0].astype(np.float64).astype(np.int64) & 0xFFFF_FFFF
        if op is v.INPUT:
            return self.inputs[attrs.name][: v.count(kind)].astype(F32)
        if op in (v.UNIFORM, v.UNIFORM_AT):
            rows = np.full(self.lanes, attrs.element) + (a[0][0] if a else 0)
            return self.uniforms[attrs.name][rows][:, : v.count(kind)].T.astype(F32)
        if op is v.OUTPUT:
            self.outputs[attrs.name] = a[0]
            return None
        if op is v.DISCARD:
            self.killed |= a[0][0]
            return None
        raise NotImplementedError(op)

    def dot(self, a: Array, b: Array, kind: str) -> Array:
        """Return a dot product in the order of the channels."""
        products = a * b
        total = products[:1]
        for k in range(1, len(a)):
            total = (total + products[k : k + 1]).astype(F32)
        filled = len(a) < (4 if v.element(kind) == "f16" else 3)
        return total + F32(0) if filled else total

    def bits(self, x: Array, kind: str) -> Array:
        """Return the bits of a number, or the number that bits are."""
        if kind == "r":
            return np.ascontiguousarray(x).view(np.uint32).astype(np.int64)
        return x.astype(np.uint32).view(F32)
