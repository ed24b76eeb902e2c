"""Expressions of Python kernels.

Values have the types of C: `int` literals are i32, `float` literals f32. `//` and `%` round down as in Python.
"""

from __future__ import annotations

import ast
import math
from typing import Any

from isakit.compile.python.hints import for_name, instead
from isakit.compile.python.types import (
    CONSTANT,
    GLOBAL,
    SCALARS,
    Pointer,
    Scalar,
    boolean,
    f32,
    f64,
    i32,
    i64,
    scalar_named,
    type_named,
    u32,
)
from isakit.compile.python.writer import TypedValue, Writer, float_text, name_of

SPECIAL = {
    "thread": "tid", "block": "ctaid", "block_dim": "ntid", "grid_dim": "nctaid",
    "threadIdx": "tid", "blockIdx": "ctaid", "blockDim": "ntid", "gridDim": "nctaid",
}  # fmt: skip


_CONSTANTS = 32768
"""Largest size in bytes of captured arrays in constant memory; the rest goes to global memory."""


class Expressions(Writer):
    """Translates expressions."""

    def call(self, node: ast.Call, statement: bool) -> TypedValue | None:
        raise NotImplementedError

    def of_library(self, name: str, arguments: list[TypedValue], node: ast.AST) -> TypedValue:
        raise NotImplementedError

    # --- expressions ------------------------------------------------------------------------------------------------
    def value(self, node: ast.expr) -> TypedValue:
        method = getattr(self, "of_" + type(node).__name__, None)
        if method is None:
            self.fail(f"`{self.shown(node)}` cannot stand in a kernel", node, *instead(node))
        return method(node)

    def of_Constant(self, node: ast.Constant) -> TypedValue:
        return self.literal(node.value, node)

    def literal(self, v: object, node: ast.AST) -> TypedValue:
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
        if node.id in self.views:
            where, view, places = self.views[node.id]
            pointer = self.make(f"load ptr addrspace({view.space}), ptr {where}", view)
            return TypedValue(pointer.text, view, shape=tuple(self.make(f"load i32, ptr {n}", i32) for n in places))
        if node.id in self.params:
            return self.params[node.id]
        if node.id in self.arrays:
            return self.arrays[node.id]
        v = self.source.names.get(node.id)
        if isinstance(v, int | float):
            return self.literal(v, node)
        if v is not None:
            captured = self.captured(v)
            if captured is not None:
                return captured
        own = (*self.slots, *self.views, *self.params, *self.arrays, *self.source.names)
        self.fail(f"`{node.id}` is not known here", node, *for_name(node.id, own))

    def captured(self, v: Any) -> TypedValue | None:
        """Return the current value of a number or NumPy array outside of the kernel; None for anything else."""
        dtype = getattr(v, "dtype", None)
        kind = scalar_named(getattr(dtype, "name", ""))
        if kind is None:
            return None
        if not getattr(v, "shape", None):
            return self.convert(self.literal(v.item(), self.at), kind)
        key = id(v)
        if key not in self.outside:
            if v.size == 0 or v.nbytes > 1 << 24:
                self.fail(f"an array of {v.nbytes} bytes cannot be part of a kernel: pass it as an argument")
            self.outside_bytes += v.nbytes
            space = CONSTANT if self.outside_bytes <= _CONSTANTS else GLOBAL
            name = f"@{self.kernel_name}.outside{len(self.outside)}"
            texts = (float_text(float(x), kind is f64) if kind.is_float else str(int(x)) for x in v.ravel().tolist())
            content = ", ".join(f"{kind.llvm} {t}" for t in texts)
            what = f"[{v.size} x {kind.llvm}] [{content}], align {max(4, kind.size)}"
            self.top.append(f"{name} = internal addrspace({space}) constant {what}")
            shape = tuple(TypedValue(str(n), i32, n) for n in v.shape)
            self.outside[key] = v, TypedValue(name, Pointer(kind, space, len(shape), constant=True), shape=shape)
        return self.outside[key][1]

    def shape(self, node: ast.Attribute) -> tuple[TypedValue, ...]:
        """Return the shape of an array. Raises TranslationStop where it is not known."""
        array = self.value(node.value)
        if not array.shape:
            self.fail(f"the shape of `{self.shown(node.value)}` is not known", node,
                      "arrays with a shape have types as `f32[:]` and `f32[:, :]`")  # fmt: skip
        return array.shape

    def elements(self, node: ast.Attribute) -> TypedValue:
        """Return how many elements an array has."""
        out, *rest = self.shape(node)
        for n in rest:
            out = self.arithmetic(ast.Mult(), out, n, node)
        return out

    def type_name(self, node: ast.expr) -> str:
        """Return the name of a type: `f32`, `np.float32`, `"f32"`, or what a name outside of the kernel stands for."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return node.value
        if isinstance(node, ast.Name):
            known = self.source.names.get(node.id)
            name = known if isinstance(known, str) else getattr(known, "name", None) or getattr(known, "__name__", "")
            return name if isinstance(name, str) and type_named(name) is not None else node.id
        return name_of(node)

    def of_Attribute(self, node: ast.Attribute) -> TypedValue:
        base = node.value
        if node.attr == "size":
            return self.elements(node)
        if node.attr == "ndim":
            return self.literal(len(self.shape(node)), node)
        if node.attr in ("laneid", "warpsize"):
            return self.special("laneid") if node.attr == "laneid" else self.literal(32, node)
        name = name_of(base)
        if name in SPECIAL and node.attr in ("x", "y", "z"):
            return self.special(f"{SPECIAL[name]}.{node.attr}")
        if isinstance(base, ast.Name) and base.id == "math" and isinstance(getattr(math, node.attr, None), float):
            return self.literal(getattr(math, node.attr), node)
        self.fail(f"`{self.shown(node)}` is not known here", node, *for_name(self.shown(node), ()))

    def special(self, register: str) -> TypedValue:
        """Read a special register of PTX, as `tid.x`."""
        return self.external(f"@llvm.nvvm.read.ptx.sreg.{register}", [], i32)

    def of_Subscript(self, node: ast.Subscript) -> TypedValue:
        if isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
            shape, k = self.shape(node.value), self.known(node.slice)
            if not isinstance(k, int) or not -len(shape) <= k < len(shape):
                self.fail(f"the array has {len(shape)} dimensions; they are numbered by constants", node.slice)
            return shape[k]
        place, kind, space = self.element(node)
        return self.make(f"load {kind.llvm}, ptr addrspace({space}) {place}", kind)

    def element(self, node: ast.Subscript) -> tuple[str, Scalar, int]:
        """Return the place of an element: (pointer, type, address space)."""
        array = self.value(node.value)
        if not isinstance(array.type, Pointer):
            self.fail(f"`{self.shown(node.value)}` is not an array", node.value)
        index = self.convert(self.index(array, node.slice), i64)
        kind, space = array.type.of, array.type.space
        p = self.make(
            f"getelementptr inbounds {kind.llvm}, ptr addrspace({space}) {array.text}, i64 {index.text}", array.type
        )
        return p.text, kind, space

    def place_to_write(self, node: ast.Subscript) -> tuple[str, Scalar, int]:
        """Return the place of an element that is assigned to."""
        array = self.value(node.value).type
        if isinstance(array, Pointer) and array.constant:
            self.fail(f"`{self.shown(node.value)}` is an array outside of the kernel, where it is constant", node,
                      "pass it as an argument")  # fmt: skip
        return self.element(node)

    def index(self, array: TypedValue, node: ast.expr) -> TypedValue:
        """Return the number of an element; rows lie one after the other. A constant below 0 counts from the end."""
        parts = node.elts if isinstance(node, ast.Tuple) else [node]
        if any(isinstance(p, ast.Slice) for p in parts) or (len(parts) > 1 and not array.shape):
            self.fail("arrays are indexed by one number", node, "take one element after the other in a loop")
        values = [self.value(p) for p in parts]
        if array.shape and len(values) != len(array.shape):
            self.fail(f"an array of {len(array.shape)} dimensions is indexed by as many numbers", node)
        out: TypedValue | None = None
        for k, v in enumerate(values):
            if isinstance(v.type, Pointer) or v.type.is_float:
                self.fail("an index is an integer", node, "`//` divides integers; `int(x)` cuts a float off")
            if array.shape and isinstance(v.number, int) and v.number < 0:
                v = self.arithmetic(ast.Add(), array.shape[k], v, node)
            if out is not None:
                out = self.arithmetic(ast.Mult(), out, array.shape[k], node)
            out = v if out is None else self.arithmetic(ast.Add(), out, v, node)
        assert out is not None
        return out

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
        """Convert two values to their common type; literals take the type of the other side."""
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
        """Divide and round down; return the remainder with `modulo`, else the quotient."""
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
        if isinstance(a.type, Pointer) or isinstance(b.type, Pointer):
            self.fail("arrays cannot be calculated with", node)
        if not isinstance(b.number, int) or not 0 <= b.number <= 64:
            if b.number == 0.5:
                return self.intrinsic("sqrt", [a], node)
            if not (a.type.is_float or b.type.is_float):
                self.fail("powers of integers have a small constant exponent", node)
            return self.of_library("pow", [a, b], node)
        kind = a.type
        result = a if b.number else self.convert(TypedValue("1", i32, 1), kind)
        for _ in range(b.number - 1):
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
        self.label(yes)
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
        self.label(end)
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
            self.label(name)
            self.line(f"store i32 {v.text}, ptr {slot}")
            self.jump(end)
        self.label(end)
        v = self.make(f"load i32, ptr {slot}", i32)
        return self.make(f"icmp ne i32 {v.text}, 0", boolean) if as_truth else v

    def truth(self, v: TypedValue) -> TypedValue:
        """Convert a value to a condition."""
        if isinstance(v.type, Pointer):
            self.fail("an array is not a condition")
        if v.type is boolean:
            return v
        if v.type.is_float:
            return self.make(f"fcmp une {v.type.llvm} {v.text}, 0.0", boolean)
        return self.make(f"icmp ne {v.type.llvm} {v.text}, 0", boolean)

    def convert(self, v: TypedValue, to: Scalar) -> TypedValue:
        """Convert a value to another type."""
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

    def intrinsic(self, name: str, values: list[TypedValue], node: ast.AST) -> TypedValue:
        """Call LLVM's intrinsic on numbers of one type: f64 if one of them is a double, else f32."""
        if any(isinstance(v.type, Pointer) for v in values):
            self.fail("a number was expected", node)
        kind = f64 if any(v.type is f64 for v in values) else f32
        return self.external(f"@llvm.{name}.{kind.name}", [self.convert(v, kind) for v in values], kind)

    def condition(self, node: ast.expr, yes: str, no: str) -> None:
        """Branch on an expression; `and`, `or` and `not` become branches."""
        if isinstance(node, ast.BoolOp):
            for v in node.values[:-1]:
                more = self.new("cond")
                if isinstance(node.op, ast.And):
                    self.condition(v, more, no)
                else:
                    self.condition(v, yes, more)
                self.label(more)
            self.condition(node.values[-1], yes, no)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            self.condition(node.operand, no, yes)
        else:
            self.branch(self.truth(self.value(node)), yes, no)


def _takes_type_of(literal: TypedValue, other: TypedValue, kind: Scalar) -> bool:
    """Return whether a literal takes the type of the other operand."""
    if literal.number is None or other.number is not None or kind is boolean:
        return False
    return kind.is_float or isinstance(literal.number, int)
