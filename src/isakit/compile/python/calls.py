"""Calls in Python kernels: conversions, minima and maxima, functions of the chip, atomics."""

from __future__ import annotations

import ast
import math
from typing import ClassVar

from isakit.compile.python.expressions import Expressions
from isakit.compile.python.types import SCALARS, Pointer, boolean, f32
from isakit.compile.python.writer import TypedValue, float_text


class Calls(Expressions):
    """Calls."""

    # --- calls ------------------------------------------------------------------------------------------------------
    def of_Call(self, node: ast.Call) -> TypedValue:
        v = self.call(node, statement=False)
        if v is None:
            self.fail(f"`{self.shown(node.func)}` gives no value", node)
        return v

    _MATH: ClassVar[dict[str, str]] = {
             "sin": "sin.approx.f", "cos": "cos.approx.f", "exp2": "ex2.approx.f", "log2": "lg2.approx.f",
             "rsqrt": "rsqrt.approx.f", "rcp": "rcp.approx.ftz.f"}  # fmt: skip

    def call(self, node: ast.Call, statement: bool) -> TypedValue | None:
        name = self.called(node)
        if node.keywords:
            self.fail("calls in kernels take plain arguments", node)
        if name == "sync":
            self.declare("declare void @llvm.nvvm.barrier0()")
            self.line("call void @llvm.nvvm.barrier0()")
            return None
        if name in SCALARS or name == "bool":
            self.count_of(node, 1)
            v = self.value(node.args[0])
            return self.truth(v) if name == "bool" else self.convert(v, SCALARS[name])
        if name in ("min", "max"):
            return self.extreme(name, [self.value(a) for a in node.args], node)
        if name in ("abs", "fabs", "sqrt", "floor", "ceil"):
            return self.unary(name, node)
        if name in self._MATH:
            self.count_of(node, 1)
            x = self.convert(self.value(node.args[0]), f32)
            f = f"@llvm.nvvm.{self._MATH[name]}"
            self.declare(f"declare float {f}(float)")
            return self.make(f"call float {f}(float {x.text})", f32)
        if name in ("exp", "log"):
            self.count_of(node, 1)
            x = self.convert(self.value(node.args[0]), f32)
            factor = float_text(math.log2(math.e) if name == "exp" else math.log(2))
            f = "@llvm.nvvm.ex2.approx.f" if name == "exp" else "@llvm.nvvm.lg2.approx.f"
            self.declare(f"declare float {f}(float)")
            if name == "exp":
                x = self.make(f"fmul float {x.text}, {factor}", f32)
                return self.make(f"call float {f}(float {x.text})", f32)
            y = self.make(f"call float {f}(float {x.text})", f32)
            return self.make(f"fmul float {y.text}, {factor}", f32)
        if name == "mad":
            return self.mad(node)
        if name.startswith("atomic_"):
            return self.atomic(name[7:], node)
        if name == "local" or name == "shared":
            self.fail(f"`{name}` makes an array: give it a name of its own, `x = {name}(f32, 64)`", node)
        self.fail(f"`{self.shown(node.func)}` cannot be called in a kernel", node)

    def count_of(self, node: ast.Call, n: int) -> None:
        if len(node.args) != n:
            self.fail(f"`{self.called(node)}` takes {n} argument{'s' * (n != 1)}", node)

    def mad(self, node: ast.Call) -> TypedValue:
        """`mad(a, b, c)`: the chips' own a * b + c of f32, which truncates the product."""
        self.count_of(node, 3)
        a, b, c = (self.convert(self.value(v), f32).text for v in node.args)
        return self.make(f'call float asm "mad.f32 $0, $1, $2, $3;", "=f,f,f,f"(float {a}, float {b}, float {c})', f32)

    def extreme(self, name: str, values: list[TypedValue], node: ast.AST) -> TypedValue:
        if len(values) < 2:
            self.fail(f"`{name}` takes at least two numbers", node)
        out = values[0]
        for v in values[1:]:
            x, y, kind = self.together(out, v, node)
            if kind.is_float:
                f = f"@llvm.{name}num.{kind.name}"
                self.declare(f"declare {kind.llvm} {f}({kind.llvm}, {kind.llvm})")
            else:
                f = f"@llvm.{'s' if kind.signed else 'u'}{name}.i{8 * kind.size}"
                self.declare(f"declare {kind.llvm} {f}({kind.llvm}, {kind.llvm})")
            out = self.make(f"call {kind.llvm} {f}({kind.llvm} {x.text}, {kind.llvm} {y.text})", kind)
        return out

    def unary(self, name: str, node: ast.Call) -> TypedValue:
        self.count_of(node, 1)
        v = self.value(node.args[0])
        if isinstance(v.type, Pointer):
            self.fail("a number was expected", node)
        if name == "abs" and not v.type.is_float:
            kind = v.type
            negative = self.make(f"icmp slt {kind.llvm} {v.text}, 0", boolean)
            opposite = self.make(f"sub {kind.llvm} 0, {v.text}", kind)
            return self.make(f"select i1 {negative.text}, {kind.llvm} {opposite.text}, {kind.llvm} {v.text}", kind)
        kind = v.type if v.type.is_float else f32
        v = self.convert(v, kind)
        f = f"@llvm.{'fabs' if name == 'abs' else name}.{kind.name}"
        self.declare(f"declare {kind.llvm} {f}({kind.llvm})")
        return self.make(f"call {kind.llvm} {f}({kind.llvm} {v.text})", kind)

    def atomic(self, op: str, node: ast.Call) -> TypedValue:
        """`atomic_add(array, index, value)`, which gives the old value."""
        cas = op == "cas"
        self.count_of(node, 4 if cas else 3)
        place, kind, space = self.element(
            ast.copy_location(ast.Subscript(node.args[0], node.args[1], ast.Load()), node)
        )
        values = [self.convert(self.value(a), kind) for a in node.args[2:]]
        pointer = f"ptr addrspace({space}) {place}"
        if cas and kind.is_float:
            self.fail(f"there is no `atomic_cas` of {kind}", node)
        if cas:
            both = self.make(
                f"cmpxchg {pointer}, {kind.llvm} {values[0].text}, {kind.llvm} {values[1].text} monotonic monotonic",
                kind,
            )
            return self.make(f"extractvalue {{ {kind.llvm}, i1 }} {both.text}, 0", kind)
        names = {"add": "fadd" if kind.is_float else "add", "sub": "fsub" if kind.is_float else "sub",
                 "min": "min" if kind.signed else "umin", "max": "max" if kind.signed else "umax", "and": "and",
                 "or": "or", "xor": "xor", "exch": "xchg"}  # fmt: skip
        if op not in names or (kind.is_float and op not in ("add", "sub", "exch")):
            self.fail(f"there is no `atomic_{op}` of {kind}", node)
        return self.make(f"atomicrmw {names[op]} {pointer}, {kind.llvm} {values[0].text} monotonic", kind)
