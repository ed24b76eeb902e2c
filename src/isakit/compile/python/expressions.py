"""Expressions of Python kernels.

Values have the types of C: `int` literals are i32, `float` literals f32. `//` and `%` round down as in Python.
"""

from __future__ import annotations

import ast
import math
from typing import Any

from isakit.compile.python.types import SCALARS, Pointer, Scalar, boolean, f32, f64, i32, i64, u32
from isakit.compile.python.writer import TypedValue, Writer, float_text

SPECIAL = {"thread": "tid", "block": "ctaid", "block_dim": "ntid", "grid_dim": "nctaid"}


class Expressions(Writer):
    """Expressions."""

    def call(self, node: ast.Call, statement: bool) -> TypedValue | None:
        raise NotImplementedError

    def condition(self, node: ast.expr, yes: str, no: str) -> None:
        raise NotImplementedError

    # --- expressions ------------------------------------------------------------------------------------------------
    def value(self, node: ast.expr) -> TypedValue:
        method = getattr(self, "of_" + type(node).__name__, None)
        if method is None:
            self.fail(f"`{self.shown(node)}` cannot stand in a kernel", node)
        return method(node)

    def of_Constant(self, node: ast.Constant) -> TypedValue:
        return self.literal(node.value, node)

    def literal(self, v: Any, node: ast.AST) -> TypedValue:
        if isinstance(v, bool):
            return TypedValue(str(v).lower(), boolean)
        if isinstance(v, int):
            if not -(1 << 63) <= v < 1 << 64:
                self.fail("this number has more than 64 bits", node)
            return TypedValue(str(v), i32 if -(1 << 31) <= v < 1 << 31 else u32 if 0 <= v < 1 << 32 else i64, v)
        if isinstance(v, float):
            return TypedValue(float_text(v), f32, v)
        self.fail(f"`{self.shown(node)}` is not a number", node)

    def of_Name(self, node: ast.Name) -> TypedValue:
        if node.id in self.slots:
            where, kind = self.slots[node.id]
            return self.make(f"load {kind.llvm}, ptr {where}", kind)
        if node.id in self.params:
            return self.params[node.id]
        if node.id in self.arrays:
            name, kind, _ = self.arrays[node.id]
            return TypedValue(name, kind)
        v = self.source.names.get(node.id)
        if isinstance(v, int | float):
            return self.literal(v, node)
        self.fail(f"`{node.id}` is not known here", node)

    def of_Attribute(self, node: ast.Attribute) -> TypedValue:
        base = node.value
        if isinstance(base, ast.Attribute):
            name = base.attr
        elif isinstance(base, ast.Name):
            name = base.id
        else:
            name = ""
        if name in SPECIAL and node.attr in ("x", "y", "z"):
            f = f"@llvm.nvvm.read.ptx.sreg.{SPECIAL[name]}.{node.attr}"
            self.declare(f"declare i32 {f}()")
            return self.make(f"call i32 {f}()", i32)
        if isinstance(base, ast.Name) and base.id == "math" and isinstance(getattr(math, node.attr, None), float):
            return self.literal(getattr(math, node.attr), node)
        self.fail(f"`{self.shown(node)}` is not known here", node)

    def of_Subscript(self, node: ast.Subscript) -> TypedValue:
        place, kind, space = self.element(node)
        return self.make(f"load {kind.llvm}, ptr addrspace({space}) {place}", kind)

    def element(self, node: ast.Subscript) -> tuple[str, Scalar, int]:
        """The place of an element: (pointer, type, address space)."""
        array = self.value(node.value)
        if not isinstance(array.type, Pointer):
            self.fail(f"`{self.shown(node.value)}` is not an array", node.value)
        if isinstance(node.slice, ast.Slice | ast.Tuple):
            self.fail("arrays are indexed by one number", node.slice)
        index = self.value(node.slice)
        if isinstance(index.type, Pointer) or index.type.is_float:
            self.fail("an index is an integer", node.slice)
        index = self.convert(index, i64)
        kind, space = array.type.of, array.type.space
        p = self.make(
            f"getelementptr inbounds {kind.llvm}, ptr addrspace({space}) {array.text}, i64 {index.text}", array.type
        )
        return p.text, kind, space

    def of_UnaryOp(self, node: ast.UnaryOp) -> TypedValue:
        if isinstance(node.op, ast.Not):
            p = self.truth(self.value(node.operand))
            return self.make(f"xor i1 {p.text}, true", boolean)
        v = self.value(node.operand)
        if isinstance(v.type, Pointer):
            self.fail("arrays have no sign", node)
        if isinstance(node.op, ast.USub):
            if v.number is not None:
                return self.literal(-v.number, node)
            if v.type.is_float:
                return self.make(f"fneg {v.type.llvm} {v.text}", v.type)
            if v.type is boolean:  # a number as in Python, with more than the one bit of a condition
                return self.make(f"sub i32 0, {self.convert(v, i32).text}", i32)
            return self.make(f"sub {v.type.llvm} 0, {v.text}", v.type)
        if isinstance(node.op, ast.Invert):
            if v.type.is_float:
                self.fail("this operation is for integers", node)
            if v.type is boolean:
                self.fail("`~` is for integers", node, "the opposite of a condition is `not`")
            return self.make(f"xor {v.type.llvm} {v.text}, -1", v.type)
        return v

    def of_BinOp(self, node: ast.BinOp) -> TypedValue:
        v = self.known(node)
        if isinstance(v, int | float) and not isinstance(v, bool):
            return self.literal(v, node)
        return self.arithmetic(node.op, self.value(node.left), self.value(node.right), node)

    def together(self, a: TypedValue, b: TypedValue, node: ast.AST) -> tuple[TypedValue, TypedValue, Scalar]:
        """Two values in their common type; literals take the type of the other side."""
        ta, tb = a.type, b.type
        if isinstance(ta, Pointer) or isinstance(tb, Pointer):
            self.fail("arrays cannot be calculated with", node)
        if _takes_type_of(a, b, tb):
            kind = tb
        elif _takes_type_of(b, a, ta):
            kind = ta
        elif ta.is_float or tb.is_float:
            kind = f64 if f64 in (ta, tb) else f32
        else:
            size = max(ta.size, tb.size, 4)
            unsigned = any(t.size == size and t.name[0] == "u" for t in (ta, tb))
            kind = SCALARS[("u" if unsigned else "i") + str(8 * size)]
        if kind.size < 4 and not kind.is_float:
            kind = i32
        return self.convert(a, kind), self.convert(b, kind), kind

    def arithmetic(self, op: ast.operator, a: TypedValue, b: TypedValue, node: ast.AST) -> TypedValue:
        if isinstance(op, ast.Pow):
            return self.power(a, b, node)
        if isinstance(op, ast.Div) and not any(isinstance(v.type, Scalar) and v.type.is_float for v in (a, b)):
            a, b = self.convert(a, f32), self.convert(b, f32)
        x, y, kind = self.together(a, b, node)
        if kind.is_float:
            names: dict[type, str] = {ast.Add: "fadd", ast.Sub: "fsub", ast.Mult: "fmul", ast.Div: "fdiv"}
            name = names.get(type(op))
            if name is None:
                self.fail("this operation is for integers", node)
            return self.make(f"{name} {kind.llvm} {x.text}, {y.text}", kind)
        if isinstance(op, ast.FloorDiv | ast.Mod):
            return self.floored(isinstance(op, ast.Mod), x, y, kind)
        right = "ashr" if kind.signed else "lshr"
        names = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.BitAnd: "and", ast.BitOr: "or", ast.BitXor: "xor",
                 ast.LShift: "shl", ast.RShift: right}  # fmt: skip
        name = names.get(type(op))
        if name is None:
            self.fail("this operation cannot stand in a kernel", node)
        return self.make(f"{name} {kind.llvm} {x.text}, {y.text}", kind)

    def floored(self, modulo: bool, x: TypedValue, y: TypedValue, kind: Scalar) -> TypedValue:
        """Division that rounds down, and the remainder that goes with it."""
        if not kind.signed:
            return self.make(f"{'urem' if modulo else 'udiv'} {kind.llvm} {x.text}, {y.text}", kind)
        r = self.make(f"srem {kind.llvm} {x.text}, {y.text}", kind)
        signs = self.make(f"xor {kind.llvm} {r.text}, {y.text}", kind)
        differ = self.make(f"icmp slt {kind.llvm} {signs.text}, 0", boolean)
        some = self.make(f"icmp ne {kind.llvm} {r.text}, 0", boolean)
        p = self.make(f"and i1 {differ.text}, {some.text}", boolean)
        if modulo:
            other = self.make(f"add {kind.llvm} {r.text}, {y.text}", kind)
            return self.make(f"select i1 {p.text}, {kind.llvm} {other.text}, {kind.llvm} {r.text}", kind)
        q = self.make(f"sdiv {kind.llvm} {x.text}, {y.text}", kind)
        less = self.make(f"sub {kind.llvm} {q.text}, 1", kind)
        return self.make(f"select i1 {p.text}, {kind.llvm} {less.text}, {kind.llvm} {q.text}", kind)

    def power(self, a: TypedValue, b: TypedValue, node: ast.AST) -> TypedValue:
        if not isinstance(b.number, int) or not 0 <= b.number <= 64 or isinstance(a.type, Pointer):
            self.fail("powers have a small constant exponent", node)
        kind = a.type
        result = self.convert(TypedValue("1", i32, 1), kind)
        for k in range(b.number):
            if k == 0:
                result = a
            else:
                result = self.make(f"{'fmul' if kind.is_float else 'mul'} {kind.llvm} {result.text}, {a.text}", kind)
        return result

    def of_Compare(self, node: ast.Compare) -> TypedValue:
        left = self.value(node.left)
        out: TypedValue | None = None
        for op, right_node in zip(node.ops, node.comparators, strict=True):
            right = self.value(right_node)
            p = self.compare(op, left, right, node)
            out = p if out is None else self.make(f"and i1 {out.text}, {p.text}", boolean)
            left = right
        assert out is not None
        return out

    def compare(self, op: ast.cmpop, a: TypedValue, b: TypedValue, node: ast.AST) -> TypedValue:
        names: dict[type, str] = {
            ast.Eq: "eq",
            ast.NotEq: "ne",
            ast.Lt: "lt",
            ast.LtE: "le",
            ast.Gt: "gt",
            ast.GtE: "ge",
        }
        name = names.get(type(op))
        if name is None:
            self.fail("this comparison cannot stand in a kernel", node)
        x, y, kind = self.together(a, b, node)
        if kind.is_float:
            return self.make(f"fcmp {'une' if name == 'ne' else 'o' + name} {kind.llvm} {x.text}, {y.text}", boolean)
        if name not in ("eq", "ne"):
            name = ("s" if kind.signed else "u") + name
        return self.make(f"icmp {name} {kind.llvm} {x.text}, {y.text}", boolean)

    def of_BoolOp(self, node: ast.BoolOp) -> TypedValue:
        return self.chosen(node, TypedValue("1", i32), TypedValue("0", i32), as_truth=True)

    def of_IfExp(self, node: ast.IfExp) -> TypedValue:
        yes, no, end = self.new("then"), self.new("else"), self.new("end")
        self.condition(node.test, yes, no)
        self.lines.append(f"{yes}:")
        self.done = False
        a = self.value(node.body)
        mark = len(self.lines)
        self.lines.append("")
        self.lines.append(f"{no}:")
        b = self.value(node.orelse)
        kind = self._common(a, b, node)
        slot = self.slot(self.new("if."), kind)
        self.line(f"store {kind.llvm} {self.convert(b, kind).text}, ptr {slot}")
        self.jump(end)
        rest = self.lines[mark + 1 :]
        del self.lines[mark:]
        self.done = False
        self.line(f"store {kind.llvm} {self.convert(a, kind).text}, ptr {slot}")
        self.jump(end)
        self.lines += rest
        self.lines.append(f"{end}:")
        self.done = False
        return self.make(f"load {kind.llvm}, ptr {slot}", kind)

    def _common(self, a: TypedValue, b: TypedValue, node: ast.AST) -> Scalar:
        keep, self.lines = self.lines, []
        _, _, kind = self.together(a, b, node)
        self.lines = keep
        return kind

    def chosen(self, node: ast.expr, a: TypedValue, b: TypedValue, as_truth: bool) -> TypedValue:
        yes, no, end = self.new("then"), self.new("else"), self.new("end")
        slot = self.slot(self.new("if."), i32)
        self.condition(node, yes, no)
        for name, v in ((yes, a), (no, b)):
            self.lines.append(f"{name}:")
            self.done = False
            self.line(f"store i32 {v.text}, ptr {slot}")
            self.jump(end)
        self.lines.append(f"{end}:")
        self.done = False
        v = self.make(f"load i32, ptr {slot}", i32)
        return self.make(f"icmp ne i32 {v.text}, 0", boolean) if as_truth else v

    def truth(self, v: TypedValue) -> TypedValue:
        """A value as a condition."""
        if isinstance(v.type, Pointer):
            self.fail("an array is not a condition")
        if v.type is boolean:
            return v
        if v.type.is_float:
            return self.make(f"fcmp une {v.type.llvm} {v.text}, 0.0", boolean)
        return self.make(f"icmp ne {v.type.llvm} {v.text}, 0", boolean)

    def convert(self, v: TypedValue, to: Scalar) -> TypedValue:
        """A value in another type."""
        if isinstance(v.type, Pointer):
            self.fail("a number was expected, not an array")
        if v.number is not None:
            if to.is_float:
                return TypedValue(float_text(float(v.number), to is f64), to, v.number)
            if isinstance(v.number, int):
                bits = 8 * to.size
                return TypedValue(str(v.number & (1 << bits) - 1), to, v.number)
        a = v.type
        if a.llvm == to.llvm:
            return TypedValue(v.text, to, None)
        if a is boolean:
            if to.is_float:
                return self.make(f"uitofp i1 {v.text} to {to.llvm}", to)
            return self.make(f"zext i1 {v.text} to {to.llvm}", to)
        if a.is_float and to.is_float:
            return self.make(f"{'fpext' if to is f64 else 'fptrunc'} {a.llvm} {v.text} to {to.llvm}", to)
        if a.is_float:
            return self.make(f"{'fptosi' if to.signed else 'fptoui'} {a.llvm} {v.text} to {to.llvm}", to)
        if to.is_float:
            return self.make(f"{'sitofp' if a.signed else 'uitofp'} {a.llvm} {v.text} to {to.llvm}", to)
        if a.size > to.size:
            return self.make(f"trunc {a.llvm} {v.text} to {to.llvm}", to)
        return self.make(f"{'sext' if a.signed else 'zext'} {a.llvm} {v.text} to {to.llvm}", to)


def _takes_type_of(literal: TypedValue, other: TypedValue, kind: Scalar) -> bool:
    """Return whether a literal takes the type of the value beside it."""
    if literal.number is None or other.number is not None or kind is boolean:
        return False
    return kind.is_float or isinstance(literal.number, int)
