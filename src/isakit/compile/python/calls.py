"""Calls in Python kernels: conversions, minima and maxima, functions of the chip, atomics, library functions."""

from __future__ import annotations

import ast
import math
from types import FunctionType, ModuleType
from typing import ClassVar

from isakit.compile.python import double_library
from isakit.compile.python.constants import ConstantFolding, variables
from isakit.compile.python.expressions import Expressions
from isakit.compile.python.hints import for_call
from isakit.compile.python.library import FUNCTIONS, library
from isakit.compile.python.types import Pointer, Scalar, boolean, f32, f64, i32, i64, scalar_named, u64
from isakit.compile.python.writer import (
    FunctionSource,
    Returning,
    TypedValue,
    float_text,
    function_source,
    name_of,
    parsed_function,
)

_DEEPEST, _MOST_CALLS = 16, 2000
"""The deepest nesting of calls, and the most calls in a kernel."""
_OF_A_FUNCTION = ("source", "constants", "slots", "arrays", "views", "params", "exits", "calling", "scope", "returning",
                  "at", "line_of_call")  # fmt: skip
"""Attributes of the function being translated, exchanged at a call."""
_OWN = {"sync", "syncthreads", "grid", "gridsize"}
_OF_DOUBLES = {"_horner", "_bits", "_high", "_join", "_upper", "_zeros"}
_VOTES: dict[str, tuple[str, Scalar]] = {
    "any_sync": ("vote.any.pred p, p; selp.s32 $0, 1, 0, p;", boolean),
    "all_sync": ("vote.all.pred p, p; selp.s32 $0, 1, 0, p;", boolean),
    "vote_any": ("vote.any.pred p, p; selp.s32 $0, 1, 0, p;", boolean),
    "vote_all": ("vote.all.pred p, p; selp.s32 $0, 1, 0, p;", boolean),
    "syncthreads_count": ("bar.red.popc.u32 $0, 0, p;", i32),
    "syncthreads_and": ("bar.red.and.pred p, 0, p; selp.s32 $0, 1, 0, p;", boolean),
    "syncthreads_or": ("bar.red.or.pred p, 0, p; selp.s32 $0, 1, 0, p;", boolean),
}
FUNCTIONS_OF_THREADS = frozenset({*_OWN, *_VOTES, "threadfence", "threadfence_block"})
"""Functions that communicate with other threads, or wait for them."""


class Calls(Expressions):
    """Translates calls."""

    # --- calls ------------------------------------------------------------------------------------------------------
    def of_Call(self, node: ast.Call) -> TypedValue:
        v = self.call(node, statement=False)
        if v is None:
            self.fail(f"`{self.shown(node.func)}` gives no value", node)
        return v

    # --- functions of Python ------------------------------------------------------------------------------------------
    def python_function(self, node: ast.expr) -> FunctionSource | None:
        """Return the Python function that a name means, None for something else."""
        v: object = None
        if isinstance(node, ast.Name):
            v = self.source.names.get(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            module = self.source.names.get(node.value.id)
            v = vars(module).get(node.attr) if isinstance(module, ModuleType) else None
        v = getattr(v, "function", v)  # of one that is decorated
        if isinstance(v, FunctionSource):
            return v
        return function_source(v) if isinstance(v, FunctionType) else None

    def of_library(self, name: str, arguments: list[TypedValue], node: ast.AST) -> TypedValue:
        """Call a function composed of others: that of doubles if an argument is one or there is no other."""
        double = any(v.type is f64 for v in arguments)
        if name in FUNCTIONS and not (double and name in double_library.FUNCTIONS):
            return self.inlined(library(name), arguments, node)[0]
        values = [self.convert(v, f64) for v in arguments]
        out = self.inlined(double_library.library(name), values, node)[0]
        return out if double else self.convert(out, f32)

    def hidden(self, name: str) -> FunctionSource | None:
        """Return a function that only the library of doubles knows, None outside of it."""
        within = self.source.path == double_library.PATH and name[:1] == "_"
        return double_library.library(name) if within and name in double_library.FUNCTIONS else None

    def inlined(self, source: FunctionSource, arguments: list[TypedValue], node: ast.AST) -> list[TypedValue]:
        """Inline a function with values for its parameters; return its results."""
        tree = parsed_function(source)
        a = tree.args
        if a.vararg or a.kwarg or a.kwonlyargs or a.posonlyargs:
            self.fail(f"`{tree.name}` has other than plain parameters", node)
        missing = len(a.args) - len(arguments)
        if missing < 0 or missing > len(a.defaults):
            self.fail(f"`{tree.name}` takes {len(a.args)} arguments, got {len(arguments)}", node)
        if tree.name in self.calling or tree.name == self.kernel_name:
            self.fail(f"`{tree.name}` calls itself; these chips have no stack for that", node)
        if len(self.calling) >= _DEEPEST:
            self.fail("functions call each other too deeply", node)
        if self.scopes >= _MOST_CALLS:
            self.fail("too many calls", node)
        kept = {name: getattr(self, name) for name in _OF_A_FUNCTION}
        if source.path != self.source.path and self.line_of_call is None:
            self.line_of_call = self.source.first + getattr(self.at, "lineno", 1) - 1
        self.scopes += 1
        self.source = source
        self.constants = ConstantFolding(source.names, variables(tree))
        self.slots, self.arrays, self.views, self.params, self.exits = {}, {}, {}, {}, []
        self.calling, self.scope = (*self.calling, tree.name), f"{self.scopes}."
        self.returning = Returning(self.new("returned"))
        values = [*arguments, *(self.value(d) for d in a.defaults[len(a.defaults) - missing :] if missing)]
        for p, v in zip(a.args, values, strict=True):
            if isinstance(v.type, Pointer):
                self.params[p.arg] = v
                continue
            kind = scalar_named(self.type_name(p.annotation)) if p.annotation is not None else v.type
            kind = kind or v.type
            if self.widths is not None and p.annotation is None:
                kind = self.width(p.arg, v)
            where = self.slot(p.arg, i32 if kind is boolean else kind)
            self.line(f"store {self.slots[p.arg][1].llvm} {self.convert(v, self.slots[p.arg][1]).text}, ptr {where}")
        self.block(tree.body)
        self.label(self.returning.end)
        slots = self.returning.slots or []
        for name, value in kept.items():
            setattr(self, name, value)
        return [self.make(f"load {kind.llvm}, ptr {where}", kind) for where, kind in slots]

    def block(self, body: list[ast.stmt]) -> None:
        raise NotImplementedError

    def several(self, node: ast.expr) -> list[TypedValue] | None:
        """Return the values of an expression with several: a tuple, a shape, `grid(2)`; None for another expression."""
        if isinstance(node, ast.Tuple):
            return [self.value(v) for v in node.elts]
        if isinstance(node, ast.Attribute) and node.attr == "shape":
            return list(self.shape(node))
        return self.several_of_call(node) if isinstance(node, ast.Call) else None

    def several_of_call(self, node: ast.Call) -> list[TypedValue] | None:
        name = self.called(node)
        if name in ("grid", "gridsize"):
            return self.grid(name, node)
        source = self.python_function(node.func) or self.hidden(name)
        if source is None or name in _OWN:
            return None
        return self.inlined(source, [self.value(v) for v in node.args], node)

    def grid(self, name: str, node: ast.Call) -> list[TypedValue]:
        """Translate `grid(n)`, the thread's position in the grid, and `gridsize(n)`, its threads, in n dimensions."""
        self.count_of(node, 1)
        n = self.known(node.args[0])
        if n not in (1, 2, 3):
            self.fail(f"`{name}` takes 1, 2 or 3", node)
        out: list[TypedValue] = []
        for axis in "xyz"[: int(n)]:
            size = self.special(f"ntid.{axis}")
            if name == "gridsize":
                count = self.special(f"nctaid.{axis}")
                out.append(self.make(f"mul i32 {count.text}, {size.text}", i32))
                continue
            first = self.make(f"mul i32 {self.special(f'ctaid.{axis}').text}, {size.text}", i32)
            out.append(self.make(f"add i32 {first.text}, {self.special(f'tid.{axis}').text}", i32))
        return out

    def voted(self, name: str, node: ast.Call) -> TypedValue:
        """Translate votes of a warp, and barriers that count or combine a condition over the block."""
        p = self.convert(self.truth(self.value(node.args[-1])), i32)
        how, result = _VOTES[name]
        text = f"{{ .reg .pred p; setp.ne.s32 p, $1, 0; {how} }}"
        v = self.make(f'call i32 asm sideeffect "{text}", "=r,r"(i32 {p.text}) convergent', i32)
        return self.make(f"icmp ne i32 {v.text}, 0", boolean) if result is boolean else v

    _MATH: ClassVar[dict[str, str]] = {
             "sin": "sin.approx.f", "cos": "cos.approx.f", "exp2": "ex2.approx.f", "log2": "lg2.approx.f",
             "rsqrt": "rsqrt.approx.f", "rcp": "rcp.approx.ftz.f"}  # fmt: skip

    def call(self, node: ast.Call, statement: bool) -> TypedValue | None:
        name = self.called(node)
        if node.keywords:
            self.fail("calls in kernels take plain arguments", node)
        if isinstance(node.func, ast.Attribute) and name_of(node.func.value) == "atomic":
            name = {"compare_and_swap": "atomic_cas", "and_": "atomic_and", "or_": "atomic_or"}.get(
                name, f"atomic_{name}"
            )
        source = None if name in _OWN else self.python_function(node.func) or self.hidden(name)
        if source is not None:
            results = self.inlined(source, [self.value(v) for v in node.args], node)
            if len(results) > 1 and not statement:
                self.fail(f"`{self.shown(node.func)}` gives {len(results)} values", node)
            return results[0] if results else None
        if name in ("sync", "syncthreads"):
            self.declare("declare void @llvm.nvvm.barrier0()")
            self.line("call void @llvm.nvvm.barrier0()")
            return None
        if name in ("grid", "gridsize"):
            values = self.grid(name, node)
            if len(values) > 1:
                note = f"`{', '.join('xyz'[: len(values)])} = {self.shown(node)}`"
                self.fail(f"`{name}` gives {len(values)} values", node, note)
            return values[0]
        if name in ("threadfence", "threadfence_block"):
            self.line(f'call void asm sideeffect "membar.{"gl" if name == "threadfence" else "cta"};", "~{{memory}}"()')
            return None
        if name in _VOTES:
            self.count_of(node, 2 if name.endswith("_sync") else 1)
            return self.voted(name, node)
        kind = scalar_named(self.type_name(node.func))
        if kind is not None or name == "bool":
            self.count_of(node, 1)
            v = self.value(node.args[0])
            return self.truth(v) if kind is None else self.convert(v, kind)
        if name == "len":
            self.count_of(node, 1)
            return self.shape(ast.Attribute(node.args[0], "shape", ast.Load()))[0]
        if name == "array_like":
            self.count_of(node, 1)
            return self.value(node.args[0])
        if name == "round":
            name = "rint"
        if name in ("pow",) and len(node.args) == 2:
            return self.power(self.value(node.args[0]), self.value(node.args[1]), node)
        if name in ("min", "max"):
            return self.extreme(name, [self.value(a) for a in node.args], node)
        if name in ("abs", "fabs", "sqrt", "floor", "ceil", "trunc", "rint"):
            return self.unary(name, node)
        if name in _OF_DOUBLES and self.source.path == double_library.PATH:
            return self.of_doubles(name, [self.value(v) for v in node.args])
        if name == "copysign":
            self.count_of(node, 2)
            return self.intrinsic(name, [self.value(v) for v in node.args], node)
        if name == "fma":
            self.count_of(node, 3)
            return self.fused([self.value(v) for v in node.args], node)
        if name in self._MATH or name in ("exp", "log"):
            self.count_of(node, 1)
            v = self.value(node.args[0])
            return self.of_library(name, [v], node) if v.type is f64 else self.of_chip(name, self.convert(v, f32))
        if name == "mad":
            return self.mad(node)
        if name.startswith("atomic_"):
            return self.atomic(name[7:], node)
        if name in FUNCTIONS or (name in double_library.FUNCTIONS and name[0] != "_"):
            return self.of_library(name, [self.value(v) for v in node.args], node)
        if name == "local" or name == "shared":
            self.fail(f"`{name}` makes an array: give it a name of its own, `x = {name}(f32, 64)`", node)
        self.fail(f"`{self.shown(node.func)}` cannot be called in a kernel", node, *for_call(self.shown(node.func)))

    def of_chip(self, name: str, x: TypedValue) -> TypedValue:
        """Call the chip's own function of a float; `exp` and `log` use those of base 2 and a factor."""
        base = {"exp": "exp2", "log": "log2"}.get(name, name)
        factor = float_text(math.log2(math.e) if name == "exp" else math.log(2))
        if name == "exp":
            x = self.make(f"fmul float {x.text}, {factor}", f32)
        y = self.external(f"@llvm.nvvm.{self._MATH[base]}", [x], f32)
        return self.make(f"fmul float {y.text}, {factor}", f32) if name == "log" else y

    def fused(self, values: list[TypedValue], node: ast.AST) -> TypedValue:
        """Translate `fma(a, b, c)`: rounded once for doubles; these chips round floats twice."""
        if any(v.type is f64 for v in values):
            return self.intrinsic("fma", values, node)
        a, b, c = values
        return self.arithmetic(ast.Add(), self.arithmetic(ast.Mult(), a, b, node), c, node)

    def of_doubles(self, name: str, values: list[TypedValue]) -> TypedValue:
        """Translate what only the library of doubles calls: polynomials in falling powers, and the bits of numbers."""
        if name == "_horner":
            z, out, *rest = (self.convert(v, f64) for v in values)
            for c in rest:
                out = self.intrinsic("fma", [out, z, c], self.at)
            return out
        if name == "_join":
            high, low = (self.convert(v, i32) for v in values)
            wide = self.make(f"zext i32 {low.text} to i64", i64)
            upper = self.make(f"shl i64 {self.make(f'zext i32 {high.text} to i64', i64).text}, 32", i64)
            both = self.make(f"or i64 {upper.text}, {wide.text}", i64)
            return self.make(f"bitcast i64 {both.text} to double", f64)
        if name == "_upper":
            a, b = (self.make(f"zext i64 {v.text} to i128", u64) for v in values)
            product = self.make(f"lshr i128 {self.make(f'mul i128 {a.text}, {b.text}', u64).text}, 64", u64)
            return self.make(f"trunc i128 {product.text} to i64", u64)
        if name == "_zeros":
            self.declare("declare i64 @llvm.ctlz.i64(i64, i1)")
            count = self.make(f"call i64 @llvm.ctlz.i64(i64 {values[0].text}, i1 false)", i64)
            return self.make(f"trunc i64 {count.text} to i32", i32)
        bits = self.make(f"bitcast double {self.convert(values[0], f64).text} to i64", u64)
        if name == "_bits":
            return bits
        return self.make(f"trunc i64 {self.make(f'lshr i64 {bits.text}, 32', u64).text} to i32", i32)

    def count_of(self, node: ast.Call, n: int) -> None:
        if len(node.args) != n:
            self.fail(f"`{self.called(node)}` takes {n} argument{'s' * (n != 1)}", node)

    def mad(self, node: ast.Call) -> TypedValue:
        """Translate `mad(a, b, c)`, the chips' own a * b + c of f32, which truncates the product."""
        self.count_of(node, 3)
        a, b, c = (self.convert(self.value(v), f32).text for v in node.args)
        return self.make(f'call float asm "mad.f32 $0, $1, $2, $3;", "=f,f,f,f"(float {a}, float {b}, float {c})', f32)

    def extreme(self, name: str, values: list[TypedValue], node: ast.AST) -> TypedValue:
        if len(values) < 2:
            self.fail(f"`{name}` takes at least two numbers", node)
        out = values[0]
        for v in values[1:]:
            x, y, kind = self.together(out, v, node)
            whole = f"{'s' if kind.signed else 'u'}{name}.i{8 * kind.size}"
            out = self.external(f"@llvm.{f'{name}num.{kind.name}' if kind.is_float else whole}", [x, y], kind)
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
        return self.external(f"@llvm.{'fabs' if name == 'abs' else name}.{kind.name}", [self.convert(v, kind)], kind)

    def atomic(self, op: str, node: ast.Call) -> TypedValue:
        """Translate `atomic_add(array, index, value)` and similar functions, which return the old value."""
        cas = op == "cas"
        if cas and len(node.args) == 3:  # numba's, of the first element
            first = ast.copy_location(ast.Constant(0), node)
            node = ast.copy_location(ast.Call(node.func, [node.args[0], first, *node.args[1:]], []), node)
        self.count_of(node, 4 if cas else 3)
        place, kind, space = self.place_to_write(
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
                 "min": "fmin" if kind.is_float else "min" if kind.signed else "umin",
                 "max": "fmax" if kind.is_float else "max" if kind.signed else "umax", "and": "and",
                 "or": "or", "xor": "xor", "exch": "xchg"}  # fmt: skip
        if op not in names or (kind.is_float and op in ("and", "or", "xor")):
            self.fail(f"there is no `atomic_{op}` of {kind}", node)
        return self.make(f"atomicrmw {names[op]} {pointer}, {kind.llvm} {values[0].text} monotonic", kind)
