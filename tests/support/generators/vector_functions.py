"""Random functions on vectors, for the compiler's targets that have them."""

from __future__ import annotations

import random

import numpy as np

from isakit.compile import ops
from isakit.compile import vector_ops as v
from isakit.compile.builder import IrBuilder
from isakit.compile.ir import Const, Function, IrValue

INPUTS = {"a": "f32x4", "b": "f32x3", "c": "f32x2", "d": "f32"}
UNIFORMS = {"u": ("f32x4", 4), "w": ("f32x2", 1), "s": ("f32", 1)}


class RandomFunction:
    """A function in one block that reads inputs and uniforms, and writes outputs of the kinds in `outputs`.

    The numbers in it are small, so that most results are numbers, too.
    """

    def __init__(self, seed: int, size: int = 12, half: bool = True) -> None:
        self.random = random.Random(seed)
        self.half = half
        self.f = Function("main")
        self.b = IrBuilder(self.f.block())
        self.pool: list[IrValue] = [self.b.op(v.INPUT(n, k)) for n, k in INPUTS.items()]
        self.pool += [self.b.op(v.UNIFORM(n, k, kind)) for n, (kind, many) in UNIFORMS.items() for k in range(many)]
        for _ in range(size):
            self.pool.append(self.operation())
        self.outputs: dict[str, str] = {}
        for k, n in enumerate(self.random.choices((4, 4, 3, 2, 1), k=2)):
            value = self.sized(self.of("f32"), n)
            self.b.emit(v.OUTPUT(f"o{k}"), [value], ())
            self.outputs[f"o{k}"] = value.kind

    def constant(self, of: str) -> Const:
        """Return a constant: often one the hardware knows."""
        x = self.random.choice((0.0, 1.0, 0.5, 2.0, -1.0, 0.25, -0.5, 3.0, 0.1, 255.0, 1.5))
        if of == "f16":
            return Const(int(np.array([x], np.float16).view(np.uint16)[0]), "f16")
        return Const(int(np.array([x], np.float32).view(np.uint32)[0]), "f32")

    def of(self, ty: str, n: int = 0) -> IrValue:
        """Return some value of a type, of `n` elements if that is not 0."""
        found = [x for x in self.pool[-8:] + self.random.sample(self.pool, min(4, len(self.pool)))
                 if v.element(x.kind) == ty]  # fmt: skip
        x = self.random.choice(found) if found else self.b.op(v.VCVT(ty), self.of("f32" if ty == "f16" else "f16"))
        if self.random.random() < 0.12:
            x = self.constant(ty)
        x = self.sized(x, n) if n else x
        roll = self.random.random()
        return self.b.op(v.VNEG, x) if roll < 0.15 else self.b.op(v.VABS, x) if roll < 0.22 else x

    def sized(self, x: IrValue, n: int) -> IrValue:
        """Return channels of a value, `n` of them."""
        have = v.count(x.kind)
        if have == n and self.random.random() < 0.6:
            return x
        letters = "xyzw"[:have] + ("01" if self.random.random() < 0.2 else "")
        return self.b.op(v.SWIZZLE("".join(self.random.choice(letters) for _ in range(n))), x)

    def condition(self, depth: int = 0) -> IrValue:
        """Return a condition."""
        roll = self.random.random()
        if depth < 2 and roll < 0.3:
            op = self.random.choice((ops.PAND, ops.POR, ops.PXOR))
            return self.b.op(op, self.condition(depth + 1), self.condition(depth + 1))
        if depth < 2 and roll < 0.4:
            return self.b.op(ops.PNOT, self.condition(depth + 1))
        ty = self.type()
        return self.b.op(v.VCMP(self.random.choice(v.CONDITIONS)), self.of(ty, 1), self.of(ty, 1))

    def type(self) -> str:
        """Return a type of elements."""
        return self.random.choice(("f32", "f32", "f16")) if self.half else "f32"

    def operation(self) -> IrValue:
        """Return the result of an operation."""
        ty, n, b = self.type(), self.random.randint(1, 4), self.b
        roll = self.random.randrange(20)
        if roll < 9:
            op = self.random.choice((v.VADD, v.VMUL, v.VMIN, v.VMAX, v.VMUL))
            return b.op(op, self.of(ty, n), self.of(ty, n))
        if roll < 12:
            return b.op(v.VMAD, self.of(ty, n), self.of(ty, n), self.of(ty, n))
        if roll < 14:
            n = self.random.randint(3 if ty == "f16" else 2, 4)
            return b.op(v.VDOT, self.of(ty, n), self.of(ty, n))
        if roll < 15:
            parts = [self.of(ty, 1), self.of(ty, self.random.randint(1, 2))]
            return b.op(v.JOIN, *parts, *([self.of(ty, 1)] if self.random.random() < 0.5 else []))
        if roll < 16:
            return b.op(self.random.choice((v.VRCP, v.VRSQ, v.VEXP2, v.VLOG2)), self.of(ty, self.random.randint(1, 2)))
        if roll < 17:
            return b.op(self.random.choice((v.VSAT, v.VFRC, v.VFLOOR)), self.of(ty, n))
        if roll < 18:
            return b.op(v.VCSEL(self.random.choice(v.CONDITIONS)), self.of(ty, n), self.of(ty, n), self.of(ty, n))
        if roll < 19:
            return b.op(v.VSEL, self.condition(), self.of(ty, n), self.of(ty, n))
        return b.op(v.VCVT("f16" if ty == "f32" else "f32"), self.of(ty, n))
