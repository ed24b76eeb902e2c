"""Runs a function of the compiler's form, one invocation, as its rows say: what a front end made, without a back end.

Floats are NumPy scalars of the kind's precision; every operation is rounded to it. Integers are Python's, of 32 bits.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from isakit.compile import ops
from isakit.compile import vector_ops as v
from isakit.compile.ir import Const, Function, Ins, IrValue
from isakit.compile.passes.ssa import construct_ssa

LETTERS = {"x": 0, "y": 1, "z": 2, "w": 3}
Sampler = Callable[[str, str, str, list[np.ndarray]], Sequence[float]]
_FLOATS = {
    v.VADD: lambda a, b: a + b, v.VMUL: lambda a, b: a * b, v.VMIN: np.fmin, v.VMAX: np.fmax, v.VNEG: lambda a: -a,
    v.VABS: np.abs, v.VFLOOR: np.floor,
    v.VROUND8: lambda a: (np.rint(np.float64(np.fmin(np.fmax(a, 0), 1)) * 255) / 255).astype(np.float32),
    v.VFRC: lambda a: a - np.floor(a), v.VRCP: lambda a: 1 / a,
    v.VRSQ: lambda a: 1 / np.sqrt(a), v.VLOG2: np.log2, v.VEXP2: np.exp2, v.VSIN: np.sin, v.VCOS: np.cos,
    v.VSAT: lambda a: np.fmin(np.fmax(a, 0), 1), v.VMAD: lambda a, b, c: a * b + c,
    v.VDSX: lambda a: a * 0, v.VDSY: lambda a: a * 0,
}  # fmt: skip
_COMPARE = {"eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "lt": lambda a, b: a < b, "le": lambda a, b: a <= b,
            "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b}  # fmt: skip


def _dtype(kind: str) -> Any:
    return np.float16 if kind.startswith("f16") else np.float32


class Evaluation:
    """One run. `outputs` by name, `discarded`; `inputs` and `uniforms` are by name, uniforms as lists of elements."""

    def __init__(
        self, f: Function, inputs: Mapping[str, Any], uniforms: Mapping[str, Any], sampler: Sampler | None
    ) -> None:
        self.inputs, self.uniforms, self.sampler = inputs, uniforms, sampler
        self.values: dict[IrValue, Any] = {}
        self.outputs: dict[str, np.ndarray] = {}
        self.discarded = False
        with np.errstate(all="ignore"):
            self._run(f)

    def _run(self, f: Function) -> None:
        block, before = f.blocks[0], None
        for _ in range(100_000):
            if before is not None:
                k = block.preds.index(before)
                for phi, got in [(phi, self.value(phi.args[k])) for phi in block.phis]:
                    self.values[phi.out] = got
            for i in block.ins:
                self.step(i)
            before = block
            if block.term[0] == "exit":
                return
            if block.term[0] == "jump":
                block = block.term[1]
            else:
                _, p, inverted, yes, no = block.term
                block = yes if bool(self.value(p)) != inverted else no
        raise AssertionError("the program does not end")

    def value(self, a: IrValue) -> Any:
        if not isinstance(a, Const):
            return self.values[a]
        if a.kind == "f32":
            return np.frombuffer(a.value.to_bytes(4, "little"), np.float32)
        if a.kind == "f16":
            return np.frombuffer(a.value.to_bytes(2, "little"), np.float16)
        return a.value

    def step(self, i: Ins) -> None:
        args = [self.value(a) for a in i.args]
        if i.op is v.OUTPUT:
            self.outputs[v.OUTPUT.of(i).name] = args[0]
        elif i.op is v.DISCARD:
            self.discarded = self.discarded or bool(args[0])
        else:
            got = self.compute(i, args)
            self.values[i.out] = got

    def read(self, got: Any, kind: str) -> Any:
        if kind == "r":
            return int(got) & 0xFFFF_FFFF
        return np.atleast_1d(np.asarray(got)).astype(_dtype(kind))[: v.count(kind)]

    def compute(self, i: Ins, args: list[Any]) -> Any:
        op, kind = i.op, i.out.kind
        if op in _FLOATS:
            wide = [a.astype(np.float64) if op is v.VMAD else a.astype(np.float32) for a in args]
            return np.asarray(_FLOATS[op](*wide)).astype(_dtype(kind))
        if op is v.VDOT:
            total = np.float32(0)
            for x, y in zip(*(a.astype(np.float32) for a in args), strict=True):
                total = np.float32(total + np.float32(x * y))
            return np.array([total]).astype(_dtype(kind))
        if op is v.SWIZZLE:
            constants = {"0": 0, "1": 1, "2": 2, "h": 0.5}
            return np.array([constants[c] if c in constants else args[0][LETTERS[c]] for c in i.attrs[0]], _dtype(kind))
        if op is v.JOIN:
            return np.concatenate(args)
        if op is v.VCMP:
            return int(_COMPARE[i.attrs[0]](args[0][0], args[1][0]))
        if op is v.VCSEL:
            return np.where(_COMPARE[i.attrs[0]](args[0], 0), args[1], args[2]).astype(_dtype(kind))
        if op is v.VSEL:
            return args[1] if args[0] & 1 else args[2]
        if op is v.VCVT:
            return args[0].astype(_dtype(kind))
        if op is v.I2F:
            return np.array([ops.signed(args[0]) if i.attrs[0] else args[0]], np.float32)
        if op is v.F2I:
            return int(args[0][0]) & 0xFFFF_FFFF if np.isfinite(args[0][0]) else 0
        if op is v.BITS:
            if kind == "r":
                return int.from_bytes(args[0].tobytes(), "little")
            return np.array(struct.unpack("<f", struct.pack("<I", args[0])), np.float32)
        if op is v.INPUT:
            return self.read(self.inputs[i.attrs.name], kind)
        if op in (v.UNIFORM, v.UNIFORM_AT):
            at = i.attrs.element + (ops.signed(args[0]) if args else 0)
            return self.read(self.uniforms[i.attrs.name][at], kind)
        if op is v.SAMPLE:
            assert self.sampler is not None
            return np.asarray(self.sampler(*i.attrs[:3], args), np.float32).astype(_dtype(kind))
        folded = ops.fold(op, args, i.attrs)
        assert folded is not None, f"{op} cannot be evaluated"
        return folded


def evaluate(
    f: Function, inputs: Mapping[str, Any], uniforms: Mapping[str, Sequence[Any]], sampler: Sampler | None = None
) -> Evaluation:
    """Run a function that a front end made; it is brought into SSA form once."""
    if any(b.live_in or b.env for b in f.blocks):
        construct_ssa(f)
    return Evaluation(f, inputs, uniforms, sampler)
