"""A Python function as LLVM IR.

Values have the types of C: `int` literals are i32, `float` literals f32. `//` and `%` round down as in Python.
Variables get the type of the first value they hold. What a kernel cannot say is an error at its line.
"""

from __future__ import annotations

import ast
import inspect
import math
import struct
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn

from isakit.compile.python.types import (
    GLOBAL,
    LOCAL,
    POINTERS,
    SCALARS,
    SHARED,
    Pointer,
    Scalar,
    boolean,
    f32,
    f64,
    i32,
    i64,
    u32,
)
from isakit.errors import CompileError, Diagnostic

SPECIAL = {"thread": "tid", "block": "ctaid", "block_dim": "ntid", "grid_dim": "nctaid"}
HEADER = """target triple = "nvptx64-nvidia-cuda"
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
"""
Type = Scalar | Pointer


@dataclass
class Source:
    """The text of a function: `first` is the line of its file it begins at."""

    text: str
    path: str
    first: int
    names: dict[str, Any]


def function_source(function: Callable[..., Any]) -> Source:
    """The source of a function and the constants it can see. Raises CompileError where there is none."""
    try:
        lines, first = inspect.getsourcelines(function)
    except (OSError, TypeError) as e:
        raise CompileError([Diagnostic(1, 1, f"the source of `{function.__name__}` cannot be read: {e}")]) from e
    names = dict(getattr(function, "__globals__", {}))
    closure = inspect.getclosurevars(function)
    names |= closure.nonlocals
    path = inspect.getsourcefile(function) or "<text>"
    return Source(textwrap.dedent("".join(lines)), path, first, names)


@dataclass
class Value:
    """A value: its LLVM name or constant, and its type. `number` is what a literal was written as."""

    text: str
    type: Type
    number: int | float | None = None


class _Stop(Exception):
    def __init__(self, diagnostic: Diagnostic) -> None:
        self.diagnostic = diagnostic


def translate(source: Source) -> tuple[str, str, list[tuple[str, Type]]]:
    """(name, LLVM IR, parameters) of a kernel. Raises CompileError that points at the Python line."""
    tree = ast.parse(source.text)
    function = next((n for n in tree.body if isinstance(n, ast.FunctionDef)), None)
    if function is None:
        raise CompileError([Diagnostic(source.first, 1, "a kernel is a function made by `def`", path=source.path)])
    t = _Translator(source, function)
    try:
        return t.run()
    except _Stop as e:
        raise CompileError([e.diagnostic]) from None


class _Translator:
    def __init__(self, source: Source, function: ast.FunctionDef) -> None:
        self.source, self.function = source, function
        self.lines: list[str] = []
        self.entry: list[str] = []
        self.top: list[str] = []
        self.count = 0
        self.slots: dict[str, tuple[str, Scalar]] = {}
        self.arrays: dict[str, tuple[str, Pointer, int]] = {}
        self.params: dict[str, Value] = {}
        self.declared: set[str] = set()
        self.exits: list[tuple[str, str]] = []
        self.done = False
        self.at: ast.AST = function
        self.debug: dict[int, int] = {}

    # --- errors and text --------------------------------------------------------------------------------------------
    def fail(self, message: str, node: ast.AST | None = None, *notes: str) -> NoReturn:
        """Stop with an error at a node."""
        n: Any = node or self.at
        line = getattr(n, "lineno", 1)
        column = getattr(n, "col_offset", 0)
        text = self.source.text.splitlines()[line - 1]
        end = getattr(n, "end_col_offset", column + 1) if getattr(n, "end_lineno", line) == line else len(text)
        raise _Stop(Diagnostic(self.source.first + line - 1, column + 1, message, text, max(1, end - column), notes,
                               self.source.path))  # fmt: skip

    def new(self, stem: str = "t") -> str:
        self.count += 1
        return f"{stem}{self.count}"

    def line(self, text: str) -> None:
        """An instruction, with the Python line it comes from."""
        if self.done:
            return
        number = self.source.first + getattr(self.at, "lineno", 1) - 1
        self.debug.setdefault(number, 100 + len(self.debug))
        self.lines.append(f"  {text}, !dbg !{self.debug[number]}")

    def make(self, text: str, kind: Type) -> Value:
        """An instruction with a result."""
        name = "%" + self.new()
        self.line(f"{name} = {text}")
        return Value(name, kind)

    def label(self, name: str) -> None:
        """Begin a block."""
        if not self.done:
            self.line(f"br label %{name}")
        self.lines.append(f"{name}:")
        self.done = False

    def jump(self, name: str) -> None:
        """Go to a block; what follows is not reached."""
        self.line(f"br label %{name}")
        self.done = True

    def branch(self, p: Value, yes: str, no: str) -> None:
        """Go to one of two blocks."""
        self.line(f"br i1 {p.text}, label %{yes}, label %{no}")
        self.done = True

    def declare(self, text: str) -> None:
        """An external function."""
        self.declared.add(text)

    # --- whole kernels ----------------------------------------------------------------------------------------------
    def run(self) -> tuple[str, str, list[tuple[str, Type]]]:
        f = self.function
        a = f.args
        if a.vararg or a.kwarg or a.kwonlyargs or a.defaults or a.posonlyargs:
            self.fail("a kernel takes plain parameters only")
        params: list[tuple[str, Type]] = []
        for p in a.args:
            kind = self.annotation(p.annotation, p)
            params.append((p.arg, kind))
            if isinstance(kind, Pointer):
                self.params[p.arg] = Value(f"%p.{p.arg}", kind)
            else:
                slot = self.slot(p.arg, kind)
                self.entry.append(f"  store {kind.llvm} %p.{p.arg}, ptr {slot}")
        self.lines.append("body:")
        self.block(f.body)
        if not self.done:
            self.line("ret void")
        text = ", ".join(
            f"ptr addrspace(1) %p.{n}" if isinstance(k, Pointer) else f"{k.llvm} %p.{n}" for n, k in params
        )
        name = f.name
        dbg = self.debug_info(name)
        ir = [HEADER, *self.top, *sorted(self.declared),
              f"define ptx_kernel void @{name}({text}) !dbg !3 {{", "entry:", *self.entry, "  br label %body",
              *self.lines, "}", *dbg]  # fmt: skip
        return name, "\n".join(ir) + "\n", params

    def debug_info(self, name: str) -> list[str]:
        path = self.source.path.replace("\\", "/").replace('"', "")
        folder, _, file = path.rpartition("/")
        out = ["!llvm.dbg.cu = !{!0}", "!llvm.module.flags = !{!4}",
               '!0 = distinct !DICompileUnit(language: DW_LANG_C99, file: !1, producer: "isakit", isOptimized: true, '
               "runtimeVersion: 0, emissionKind: DebugDirectivesOnly)",
               f'!1 = !DIFile(filename: "{file}", directory: "{folder}")', "!2 = !DISubroutineType(types: !{})",
               f'!3 = distinct !DISubprogram(name: "{name}", file: !1, line: {self.source.first}, type: !2, unit: !0, '
               "spFlags: DISPFlagDefinition)",
               '!4 = !{i32 2, !"Debug Info Version", i32 3}']  # fmt: skip
        return [*out, *(f"!{k} = !DILocation(line: {n}, column: 1, scope: !3)" for n, k in self.debug.items())]

    def annotation(self, node: ast.expr | None, p: ast.arg) -> Type:
        if node is None:
            self.fail(f"`{p.arg}` needs a type", p, f"types: {' '.join((*SCALARS, *POINTERS))}")
        value: Any = None
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            value = node.value
        elif isinstance(node, ast.Name):
            value = self.source.names.get(node.id, node.id)
        elif isinstance(node, ast.Attribute):
            value = node.attr
        if isinstance(value, Scalar | Pointer):
            return value
        name = value if isinstance(value, str) else getattr(value, "__name__", "")
        kind = SCALARS.get(name) or POINTERS.get(name)
        if kind is None:
            self.fail(f"`{ast.unparse(node)}` is no type of a kernel's parameter", node,
                      f"types: {' '.join((*SCALARS, *POINTERS))}")  # fmt: skip
        return kind

    def slot(self, name: str, kind: Scalar) -> str:
        """The place of a variable."""
        where = f"%v.{name}"
        self.slots[name] = where, kind
        self.entry.insert(0, f"  {where} = alloca {kind.llvm}")
        return where

    # --- statements -------------------------------------------------------------------------------------------------
    def block(self, body: list[ast.stmt]) -> None:
        for s in body:
            if self.done:
                return
            self.at = s
            method = getattr(self, "do_" + type(s).__name__, None)
            if method is None:
                self.fail(f"`{type(s).__name__.lower()}` cannot stand in a kernel")
            method(s)

    def do_Pass(self, s: ast.Pass) -> None:
        """Nothing to do."""

    def do_Expr(self, s: ast.Expr) -> None:
        if isinstance(s.value, ast.Constant) and isinstance(s.value.value, str):
            return
        if not isinstance(s.value, ast.Call):
            self.fail("this has no effect")
        self.call(s.value, statement=True)

    def do_Return(self, s: ast.Return) -> None:
        if s.value is not None and not (isinstance(s.value, ast.Constant) and s.value.value is None):
            self.fail("a kernel returns nothing; write results to an array")
        self.line("ret void")
        self.done = True

    def do_Assign(self, s: ast.Assign) -> None:
        if len(s.targets) != 1:
            self.fail("one target at a time")
        target = s.targets[0]
        if isinstance(target, ast.Tuple):
            if not isinstance(s.value, ast.Tuple) or len(s.value.elts) != len(target.elts):
                self.fail("as many values as targets were expected")
            values = [self.value(v) for v in s.value.elts]
            for t, v in zip(target.elts, values, strict=True):
                self.store(t, v)
            return
        if (
            isinstance(target, ast.Name)
            and isinstance(s.value, ast.Call)
            and self.called(s.value) in ("shared", "local")
        ):
            self.array(target.id, s.value)
            return
        self.store(target, self.value(s.value))

    def do_AnnAssign(self, s: ast.AnnAssign) -> None:
        if not isinstance(s.target, ast.Name) or s.value is None:
            self.fail("a variable and its value were expected")
        kind = SCALARS.get(ast.unparse(s.annotation).split(".")[-1])
        if kind is None:
            self.fail(f"`{ast.unparse(s.annotation)}` is no type of a variable", s.annotation)
        self.store(s.target, self.convert(self.value(s.value), kind))

    def do_AugAssign(self, s: ast.AugAssign) -> None:
        load: ast.expr = ast.copy_location(
            ast.Name(s.target.id, ast.Load()) if isinstance(s.target, ast.Name) else s.target, s.target
        )
        if isinstance(s.target, ast.Subscript):
            place, kind, space = self.element(s.target)
            old = self.make(f"load {kind.llvm}, ptr addrspace({space}) {place}", kind)
            new = self.arithmetic(s.op, old, self.value(s.value), s)
            self.line(f"store {kind.llvm} {self.convert(new, kind).text}, ptr addrspace({space}) {place}")
            return
        self.store(s.target, self.arithmetic(s.op, self.value(load), self.value(s.value), s))

    def store(self, target: ast.expr, v: Value) -> None:
        if isinstance(target, ast.Name):
            if target.id in self.params or target.id in self.arrays:
                self.fail(f"`{target.id}` is an array; assign to its elements", target)
            if isinstance(v.type, Pointer):
                self.fail("arrays cannot be assigned", target)
            if target.id not in self.slots:
                self.slot(target.id, i32 if v.type is boolean else v.type)
            where, kind = self.slots[target.id]
            self.line(f"store {kind.llvm} {self.convert(v, kind).text}, ptr {where}")
        elif isinstance(target, ast.Subscript):
            place, kind, space = self.element(target)
            self.line(f"store {kind.llvm} {self.convert(v, kind).text}, ptr addrspace({space}) {place}")
        else:
            self.fail("this cannot be assigned to", target)

    def array(self, name: str, call: ast.Call) -> None:
        """`name = shared(type, count)`."""
        what = self.called(call)
        if len(call.args) != 2 or call.keywords:
            self.fail(f"`{what}` takes a type and a number of elements", call)
        kind = SCALARS.get(ast.unparse(call.args[0]).split(".")[-1])
        count = self.known(call.args[1])
        if kind is None or not isinstance(count, int) or not 0 < count <= 1 << 20:
            self.fail(f"`{what}` takes a type and a constant number of elements", call)
        if name in self.slots or name in self.arrays or name in self.params:
            self.fail(f"`{name}` exists already", call)
        if what == "shared":
            symbol = f"@{self.function.name}.{name}"
            self.top.append(
                f"{symbol} = internal addrspace(3) global [{count} x {kind.llvm}] undef, align {max(4, kind.size)}"
            )
            self.arrays[name] = symbol, Pointer(kind, SHARED), count
        else:
            where = f"%a.{name}"
            self.entry.insert(0, f"  {where} = addrspacecast ptr {where}.0 to ptr addrspace({LOCAL})")
            self.entry.insert(0, f"  {where}.0 = alloca [{count} x {kind.llvm}], align {max(4, kind.size)}")
            self.arrays[name] = where, Pointer(kind, LOCAL), count

    def known(self, node: ast.expr) -> Any:
        """A constant expression of numbers, None if it is none."""
        try:
            names = {k: v for k, v in self.source.names.items() if isinstance(v, int | float)}
            return eval(compile(ast.Expression(node), "<constant>", "eval"), {"__builtins__": {}}, names)
        except Exception:  # any way an expression can fail to be constant
            return None

    # --- control ----------------------------------------------------------------------------------------------------
    def do_If(self, s: ast.If) -> None:
        yes, no, end = self.new("then"), self.new("else"), self.new("end")
        self.condition(s.test, yes, no if s.orelse else end)
        self.lines.append(f"{yes}:")
        self.done = False
        self.block(s.body)
        first = self.done
        if not self.done:
            self.jump(end)
        if s.orelse:
            self.lines.append(f"{no}:")
            self.done = False
            self.block(s.orelse)
            if self.done and first:
                return
            if not self.done:
                self.jump(end)
        self.lines.append(f"{end}:")
        self.done = False

    def do_While(self, s: ast.While) -> None:
        if s.orelse:
            self.fail("`else` of a loop cannot stand in a kernel")
        head, body, end = self.new("while"), self.new("do"), self.new("end")
        self.label(head)
        if isinstance(s.test, ast.Constant) and s.test.value:
            self.jump(body)
        else:
            self.condition(s.test, body, end)
        self._loop(s.body, body, head, end)
        if not self.done:
            self.jump(head)
        self.lines.append(f"{end}:")
        self.done = False

    def _loop(self, statements: list[ast.stmt], body: str, again: str, end: str) -> None:
        self.exits.append((again, end))
        self.lines.append(f"{body}:")
        self.done = False
        self.block(statements)
        self.exits.pop()

    def do_For(self, s: ast.For) -> None:
        if (
            s.orelse
            or not isinstance(s.target, ast.Name)
            or not isinstance(s.iter, ast.Call)
            or self.called(s.iter) != "range"
        ):
            self.fail("loops are `for NAME in range(...)`", s.iter)
        if not 1 <= len(s.iter.args) <= 3 or s.iter.keywords:
            self.fail("`range` takes one to three numbers", s.iter)
        values = [self.convert(self.value(a), i32) for a in s.iter.args]
        start = values[0] if len(values) > 1 else Value("0", i32)
        stop = values[1] if len(values) > 1 else values[0]
        step = self.known(s.iter.args[2]) if len(values) > 2 else 1
        if not isinstance(step, int) or step == 0:
            self.fail("the step of `range` must be a constant that is not 0", s.iter)
        if s.target.id not in self.slots:
            self.slot(s.target.id, i32)
        where, kind = self.slots[s.target.id]
        if kind is not i32:
            self.fail(f"`{s.target.id}` is {kind}, the numbers of a range are i32", s.target)
        counter = self.slot(self.new("range."), i32)
        self.line(f"store i32 {start.text}, ptr {counter}")
        head, body, tail, end = self.new("for"), self.new("do"), self.new("next"), self.new("end")
        self.label(head)
        now = self.make(f"load i32, ptr {counter}", i32)
        p = self.make(f"icmp {'slt' if step > 0 else 'sgt'} i32 {now.text}, {stop.text}", boolean)
        self.branch(p, body, end)
        self.lines.append(f"{body}:")
        self.done = False
        self.line(f"store i32 {now.text}, ptr {where}")
        self.exits.append((tail, end))
        self.block(s.body)
        self.exits.pop()
        self.label(tail)
        old = self.make(f"load i32, ptr {counter}", i32)
        new = self.make(f"add nsw i32 {old.text}, {step}", i32)
        self.line(f"store i32 {new.text}, ptr {counter}")
        self.jump(head)
        self.lines.append(f"{end}:")
        self.done = False

    def do_Break(self, s: ast.Break) -> None:
        self.jump(self.exits[-1][1])

    def do_Continue(self, s: ast.Continue) -> None:
        self.jump(self.exits[-1][0])

    def condition(self, node: ast.expr, yes: str, no: str) -> None:
        """Branch on an expression; `and`, `or` and `not` become branches."""
        if isinstance(node, ast.BoolOp):
            for v in node.values[:-1]:
                more = self.new("cond")
                if isinstance(node.op, ast.And):
                    self.condition(v, more, no)
                else:
                    self.condition(v, yes, more)
                self.lines.append(f"{more}:")
                self.done = False
            self.condition(node.values[-1], yes, no)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            self.condition(node.operand, no, yes)
        else:
            self.branch(self.truth(self.value(node)), yes, no)

    # --- expressions ------------------------------------------------------------------------------------------------
    def value(self, node: ast.expr) -> Value:
        method = getattr(self, "of_" + type(node).__name__, None)
        if method is None:
            self.fail(f"`{ast.unparse(node)}` cannot stand in a kernel", node)
        return method(node)

    def of_Constant(self, node: ast.Constant) -> Value:
        return self.literal(node.value, node)

    def literal(self, v: Any, node: ast.AST) -> Value:
        if isinstance(v, bool):
            return Value(str(v).lower(), boolean)
        if isinstance(v, int):
            if not -(1 << 63) <= v < 1 << 64:
                self.fail(f"{v} has more than 64 bits", node)
            return Value(str(v), i32 if -(1 << 31) <= v < 1 << 31 else u32 if 0 <= v < 1 << 32 else i64, v)
        if isinstance(v, float):
            return Value(_float(v), f32, v)
        self.fail(f"{v!r} is no number", node)

    def of_Name(self, node: ast.Name) -> Value:
        if node.id in self.slots:
            where, kind = self.slots[node.id]
            return self.make(f"load {kind.llvm}, ptr {where}", kind)
        if node.id in self.params:
            return self.params[node.id]
        if node.id in self.arrays:
            name, kind, _ = self.arrays[node.id]
            return Value(name, kind)
        v = self.source.names.get(node.id)
        if isinstance(v, int | float):
            return self.literal(v, node)
        self.fail(f"`{node.id}` is not known here", node)

    def of_Attribute(self, node: ast.Attribute) -> Value:
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
        self.fail(f"`{ast.unparse(node)}` is not known here", node)

    def of_Subscript(self, node: ast.Subscript) -> Value:
        place, kind, space = self.element(node)
        return self.make(f"load {kind.llvm}, ptr addrspace({space}) {place}", kind)

    def element(self, node: ast.Subscript) -> tuple[str, Scalar, int]:
        """The place of an element: (pointer, type, address space)."""
        array = self.value(node.value)
        if not isinstance(array.type, Pointer):
            self.fail(f"`{ast.unparse(node.value)}` is no array", node.value)
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

    def of_UnaryOp(self, node: ast.UnaryOp) -> Value:
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
            return self.make(f"sub {v.type.llvm} 0, {v.text}", v.type)
        if isinstance(node.op, ast.Invert):
            return self.make(f"xor {v.type.llvm} {v.text}, -1", v.type)
        return v

    def of_BinOp(self, node: ast.BinOp) -> Value:
        v = self.known(node)
        if isinstance(v, int | float) and not isinstance(v, bool):
            return self.literal(v, node)
        return self.arithmetic(node.op, self.value(node.left), self.value(node.right), node)

    def together(self, a: Value, b: Value, node: ast.AST) -> tuple[Value, Value, Scalar]:
        """Two values in their common type; literals take the type of the other side."""
        ta, tb = a.type, b.type
        if isinstance(ta, Pointer) or isinstance(tb, Pointer):
            self.fail("arrays cannot be calculated with", node)
        if (
            a.number is not None
            and b.number is None
            and (tb.is_float or isinstance(a.number, int))
            and tb is not boolean
        ):
            kind = tb
        elif (
            b.number is not None
            and a.number is None
            and (ta.is_float or isinstance(b.number, int))
            and ta is not boolean
        ):
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

    def arithmetic(self, op: ast.operator, a: Value, b: Value, node: ast.AST) -> Value:
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

    def floored(self, modulo: bool, x: Value, y: Value, kind: Scalar) -> Value:
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

    def power(self, a: Value, b: Value, node: ast.AST) -> Value:
        if not isinstance(b.number, int) or not 0 <= b.number <= 64 or isinstance(a.type, Pointer):
            self.fail("powers have a small constant exponent", node)
        kind = a.type
        result = self.convert(Value("1", i32, 1), kind)
        for k in range(b.number):
            if k == 0:
                result = a
            else:
                result = self.make(f"{'fmul' if kind.is_float else 'mul'} {kind.llvm} {result.text}, {a.text}", kind)
        return result

    def of_Compare(self, node: ast.Compare) -> Value:
        left = self.value(node.left)
        out: Value | None = None
        for op, right_node in zip(node.ops, node.comparators, strict=True):
            right = self.value(right_node)
            p = self.compare(op, left, right, node)
            out = p if out is None else self.make(f"and i1 {out.text}, {p.text}", boolean)
            left = right
        assert out is not None
        return out

    def compare(self, op: ast.cmpop, a: Value, b: Value, node: ast.AST) -> Value:
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

    def of_BoolOp(self, node: ast.BoolOp) -> Value:
        return self.chosen(node, Value("1", i32), Value("0", i32), as_truth=True)

    def of_IfExp(self, node: ast.IfExp) -> Value:
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

    def _common(self, a: Value, b: Value, node: ast.AST) -> Scalar:
        keep, self.lines = self.lines, []
        _, _, kind = self.together(a, b, node)
        self.lines = keep
        return kind

    def chosen(self, node: ast.expr, a: Value, b: Value, as_truth: bool) -> Value:
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

    def truth(self, v: Value) -> Value:
        """A value as a condition."""
        if isinstance(v.type, Pointer):
            self.fail("an array is no condition")
        if v.type is boolean:
            return v
        if v.type.is_float:
            return self.make(f"fcmp une {v.type.llvm} {v.text}, 0.0", boolean)
        return self.make(f"icmp ne {v.type.llvm} {v.text}, 0", boolean)

    def convert(self, v: Value, to: Scalar) -> Value:
        """A value in another type."""
        if isinstance(v.type, Pointer):
            self.fail("a number was expected, not an array")
        if v.number is not None:
            if to.is_float:
                return Value(_float(float(v.number), to is f64), to, v.number)
            if isinstance(v.number, int):
                bits = 8 * to.size
                return Value(str(v.number & (1 << bits) - 1), to, v.number)
        a = v.type
        if a.llvm == to.llvm:
            return Value(v.text, to, None)
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

    # --- calls ------------------------------------------------------------------------------------------------------
    def called(self, call: ast.Call) -> str:
        """The name of what is called, without the module in front of it."""
        f = call.func
        return f.attr if isinstance(f, ast.Attribute) else f.id if isinstance(f, ast.Name) else ""

    def of_Call(self, node: ast.Call) -> Value:
        v = self.call(node, statement=False)
        if v is None:
            self.fail(f"`{ast.unparse(node.func)}` gives no value", node)
        return v

    _MATH: ClassVar[dict[str, str]] = {
             "sin": "sin.approx.f", "cos": "cos.approx.f", "exp2": "ex2.approx.f", "log2": "lg2.approx.f",
             "rsqrt": "rsqrt.approx.f", "rcp": "rcp.approx.ftz.f"}  # fmt: skip

    def call(self, node: ast.Call, statement: bool) -> Value | None:
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
            factor = _float(math.log2(math.e) if name == "exp" else math.log(2))
            f = "@llvm.nvvm.ex2.approx.f" if name == "exp" else "@llvm.nvvm.lg2.approx.f"
            self.declare(f"declare float {f}(float)")
            if name == "exp":
                x = self.make(f"fmul float {x.text}, {factor}", f32)
                return self.make(f"call float {f}(float {x.text})", f32)
            y = self.make(f"call float {f}(float {x.text})", f32)
            return self.make(f"fmul float {y.text}, {factor}", f32)
        if name.startswith("atomic_"):
            return self.atomic(name[7:], node)
        if name == "local" or name == "shared":
            self.fail(f"`{name}` makes an array: give it a name of its own, `x = {name}(f32, 64)`", node)
        self.fail(f"`{ast.unparse(node.func)}` cannot be called in a kernel", node)

    def count_of(self, node: ast.Call, n: int) -> None:
        if len(node.args) != n:
            self.fail(f"`{self.called(node)}` takes {n} argument{'s' * (n != 1)}", node)

    def extreme(self, name: str, values: list[Value], node: ast.AST) -> Value:
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

    def unary(self, name: str, node: ast.Call) -> Value:
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

    def atomic(self, op: str, node: ast.Call) -> Value:
        """`atomic_add(array, index, value)`, which gives the old value."""
        cas = op == "cas"
        self.count_of(node, 4 if cas else 3)
        place, kind, space = self.element(
            ast.copy_location(ast.Subscript(node.args[0], node.args[1], ast.Load()), node)
        )
        values = [self.convert(self.value(a), kind) for a in node.args[2:]]
        pointer = f"ptr addrspace({space}) {place}"
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


def _float(value: float, double: bool = False) -> str:
    """A constant as LLVM writes it: 64 bits, rounded to f32 first where it is one."""
    if not double:
        try:
            value = struct.unpack("<f", struct.pack("<f", value))[0]
        except OverflowError:
            value = math.copysign(math.inf, value)
    return f"0x{int.from_bytes(struct.pack('<d', value), 'little'):016X}"


__all__ = ["GLOBAL", "Source", "function_source", "translate"]
