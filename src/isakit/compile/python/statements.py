"""Statements of Python kernels. Variables get the type of the first value they hold."""

from __future__ import annotations

import ast
import math

from isakit.compile.python.hints import instead
from isakit.compile.python.output import Output
from isakit.compile.python.types import LOCAL, SHARED, Pointer, Scalar, boolean, i32, scalar_named, wider_of
from isakit.compile.python.writer import TypedValue, VariableWidened, ir_name, name_of

UNROLLED = 16
"""Loops known to have at most this many iterations are unrolled."""


def wider(kind: Scalar, v: TypedValue) -> Scalar | None:
    """Return the type that holds a variable's old values and a new one; None if that is its present type."""
    if (
        isinstance(v.type, Pointer)
        or v.type is boolean
        or (v.number is not None and (kind.is_float or isinstance(v.number, int)))
    ):
        return None
    both = wider_of(kind, v.type)
    return both if both != kind else None


class Statements(Output):
    """Translates statements."""

    # --- statements -------------------------------------------------------------------------------------------------
    def block(self, body: list[ast.stmt]) -> None:
        for s in body:
            if self.done:
                return
            self.at = s
            method = getattr(self, "do_" + type(s).__name__, None)
            if method is None:
                self.fail(f"`{type(s).__name__.lower()}` cannot stand in a kernel", None, *instead(s))
            method(s)

    def do_Pass(self, s: ast.Pass) -> None:
        """Do nothing."""

    def do_Expr(self, s: ast.Expr) -> None:
        if isinstance(s.value, ast.Constant) and isinstance(s.value.value, str):
            return
        if not isinstance(s.value, ast.Call):
            name = self.shown(s.value)
            self.fail(
                "this has no effect", None, *([f"call it: `{name}()`"] if isinstance(s.value, ast.Attribute) else [])
            )
        if isinstance(s.value.func, ast.Name) and s.value.func.id == "print":
            self.print_call(s.value)
            return
        self.call(s.value, statement=True)

    def do_Return(self, s: ast.Return) -> None:
        nothing = s.value is None or (isinstance(s.value, ast.Constant) and s.value.value is None)
        if self.returning is None:
            if not nothing:
                self.fail("a kernel returns nothing; write results to an array")
            self.line("ret void")
            self.done = True
            return
        values = [] if s.value is None or nothing else self.several(s.value) or [self.value(s.value)]
        if self.returning.slots is None:
            self.returning.slots = []
            for v in values:
                if isinstance(v.type, Pointer):
                    self.fail("a function returns numbers, not arrays")
                kind = i32 if v.type is boolean else v.type
                self.returning.slots.append((self.slot(self.new("result."), kind), kind))
        if len(values) != len(self.returning.slots):
            self.fail("every `return` of a function gives as many values")
        for (where, kind), v in zip(self.returning.slots, values, strict=True):
            self.line(f"store {kind.llvm} {self.convert(v, kind).text}, ptr {where}")
        self.jump(self.returning.end)

    def do_Assign(self, s: ast.Assign) -> None:
        if len(s.targets) != 1:
            self.fail("one target at a time")
        target = s.targets[0]
        if isinstance(target, ast.Tuple):
            values = self.several(s.value)
            if values is None or len(values) != len(target.elts):
                self.fail("as many values as targets were expected")
            for t, v in zip(target.elts, values, strict=True):
                self.store(t, v)
            return
        if isinstance(target, ast.Name) and isinstance(s.value, ast.Call):
            space = self.space_of(s.value)
            if space:
                self.array(target.id, s.value, space)
                return
            if self.called(s.value) == "array_like" and len(s.value.args) == 1:
                self.arrays[target.id] = self.value(s.value.args[0])
                return
        self.store(target, self.value(s.value))

    def do_AnnAssign(self, s: ast.AnnAssign) -> None:
        if not isinstance(s.target, ast.Name) or s.value is None:
            self.fail("a variable and its value were expected")
        kind = scalar_named(self.type_name(s.annotation))
        if kind is None:
            self.fail(f"`{self.shown(s.annotation)}` is not a type of a variable", s.annotation)
        self.store(s.target, self.convert(self.value(s.value), kind))

    def do_AugAssign(self, s: ast.AugAssign) -> None:
        load: ast.expr = ast.copy_location(
            ast.Name(s.target.id, ast.Load()) if isinstance(s.target, ast.Name) else s.target, s.target
        )
        if isinstance(s.target, ast.Subscript):
            place, kind, space = self.place_to_write(s.target)
            old = self.make(f"load {kind.llvm}, ptr addrspace({space}) {place}", kind)
            new = self.arithmetic(s.op, old, self.value(s.value), s)
            self.line(f"store {kind.llvm} {self.convert(new, kind).text}, ptr addrspace({space}) {place}")
            return
        self.store(s.target, self.arithmetic(s.op, self.value(load), self.value(s.value), s))

    def store(self, target: ast.expr, v: TypedValue) -> None:
        if isinstance(target, ast.Name):
            if target.id in self.params or target.id in self.arrays:
                self.fail(f"`{target.id}` is an array; assign to its elements", target)
            if isinstance(v.type, Pointer):
                self.view(target, v, v.type)
                return
            if target.id in self.views:
                self.fail(f"`{target.id}` is an array; assign to its elements", target)
            if target.id not in self.slots:
                self.slot(target.id, self.width(target.id, v))
            where, kind = self.slots[target.id]
            if self.widths is not None and wider(kind, v):
                self.widths[self.calling, target.id] = wider(kind, v) or kind
                raise VariableWidened
            self.line(f"store {kind.llvm} {self.convert(v, kind).text}, ptr {where}")
        elif isinstance(target, ast.Subscript):
            place, kind, space = self.place_to_write(target)
            self.line(f"store {kind.llvm} {self.convert(v, kind).text}, ptr addrspace({space}) {place}")
        else:
            self.fail("this cannot be assigned to", target)

    def space_of(self, call: ast.Call) -> str:
        """Return the space of the array that a call makes, as `shared(f32, 64)` or `cuda.shared.array(64, float32)`.

        It is `shared` or `local`, "" for other calls.
        """
        name = self.called(call)
        if name == "array" and isinstance(call.func, ast.Attribute):
            name = name_of(call.func.value)
        return name if name in ("shared", "local") else ""

    def view(self, target: ast.Name, v: TypedValue, kind: Pointer) -> None:
        """Bind a variable to an array; it may later be bound to another one of the same type."""
        name = target.id
        if name in self.slots:
            self.fail(f"`{name}` is a number; an array needs a name of its own", target)
        if name not in self.views:
            where = f"%w.{self.scope}{ir_name(name)}"
            places = [f"{where}.{k}" for k in range(len(v.shape))]
            for place in places:
                self.entry.insert(0, f"  {place} = alloca i32")
            self.entry.insert(0, f"  {where} = alloca ptr addrspace({kind.space})")
            self.views[name] = where, kind, places
        where, known, places = self.views[name]
        if known != kind or len(places) != len(v.shape):
            self.fail(f"`{name}` means an array of another type already", target)
        self.line(f"store ptr addrspace({kind.space}) {v.text}, ptr {where}")
        for place, n in zip(places, v.shape, strict=True):
            self.line(f"store i32 {n.text}, ptr {place}")

    def array(self, name: str, call: ast.Call, what: str) -> None:
        """`name = shared(type, count)`, `name = cuda.shared.array(shape, type)`; a shape is a number or several."""
        given = dict(
            zip(("type", "shape") if self.called(call) == what else ("shape", "type"), call.args, strict=False)
        )
        given |= {{"dtype": "type"}.get(k.arg or "", k.arg or ""): k.value for k in call.keywords}
        if set(given) != {"type", "shape"} or len(call.args) + len(call.keywords) != 2:
            self.fail(f"`{what}` takes a type and a number of elements", call)
        kind = scalar_named(self.type_name(given["type"]))
        sizes = [
            self.known(n) for n in (given["shape"].elts if isinstance(given["shape"], ast.Tuple) else [given["shape"]])
        ]
        shape = [n for n in sizes if isinstance(n, int) and n > 0]
        count = math.prod(shape)
        if kind is None or len(shape) != len(sizes) or not 0 < count <= 1 << 20:
            self.fail(f"`{what}` takes a type and a constant number of elements", call,
                      "the number is written out or stands outside of the kernel: `N = 64`")  # fmt: skip
        if name in self.slots or name in self.arrays or name in self.params:
            self.fail(f"`{name}` exists already", call)
        if what == "shared":
            symbol = f"@{self.kernel_name}.{self.scope}{ir_name(name)}"
            self.top.append(
                f"{symbol} = internal addrspace(3) global [{count} x {kind.llvm}] undef, align {max(4, kind.size)}"
            )
            where, space = symbol, SHARED
            self.lines += self.record("value", f"ptr addrspace({SHARED}) {symbol}", name, Pointer(kind, SHARED), count)
        else:
            where, space = f"%a.{self.scope}{ir_name(name)}", LOCAL
            self.entry.insert(0, f"  {where} = addrspacecast ptr {where}.0 to ptr addrspace({LOCAL})")
            self.entry.insert(0, f"  {where}.0 = alloca [{count} x {kind.llvm}], align {max(4, kind.size)}")
        numbers = tuple(TypedValue(str(n), i32, n) for n in shape)
        self.arrays[name] = TypedValue(where, Pointer(kind, space, len(shape)), shape=numbers)

    # --- control ----------------------------------------------------------------------------------------------------
    def do_If(self, s: ast.If) -> None:
        yes, no, end = self.new("then"), self.new("else"), self.new("end")
        self.condition(s.test, yes, no if s.orelse else end)
        self.label(yes)
        self.block(s.body)
        ended = self.done
        self.jump(end)
        if s.orelse:
            self.label(no)
            self.block(s.orelse)
            if self.done and ended:
                return
        self.label(end)

    def do_While(self, s: ast.While) -> None:
        if s.orelse:
            self.fail("`else` of a loop cannot stand in a kernel", None, "write what it does behind the loop")
        head, body, end = self.new("while"), self.new("do"), self.new("end")
        self.label(head)
        if isinstance(s.test, ast.Constant) and s.test.value:
            self.jump(body)
        else:
            self.condition(s.test, body, end)
        self.label(body)
        self._loop(s.body, head, end)
        self.repeat(head, False)
        self.label(end)

    def _loop(self, statements: list[ast.stmt], again: str, end: str) -> None:
        self.exits.append((again, end))
        self.block(statements)
        self.exits.pop()

    def do_For(self, s: ast.For) -> None:
        if (
            s.orelse
            or not isinstance(s.target, ast.Name)
            or not isinstance(s.iter, ast.Call)
            or self.called(s.iter) != "range"
        ):
            self.fail(
                "loops are `for NAME in range(...)`",
                s.iter,
                "an array `a` has its elements `a[i]` for i in `range(len(a))`",
            )
        if not 1 <= len(s.iter.args) <= 3 or s.iter.keywords:
            self.fail("`range` takes one to three numbers", s.iter)
        values = [self.convert(self.value(a), i32) for a in s.iter.args]
        start = values[0] if len(values) > 1 else TypedValue("0", i32)
        stop = values[1] if len(values) > 1 else values[0]
        step = self.known(s.iter.args[2]) if len(values) > 2 else 1
        if step is not None and (not isinstance(step, int) or step == 0 or not -(1 << 31) <= step < 1 << 31):
            self.fail("the step of `range` must be an i32 that is not 0", s.iter)
        by = str(step) if step is not None else values[2].text
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
        p = self.make(f"icmp {'slt' if step is None or step > 0 else 'sgt'} i32 {now.text}, {stop.text}", boolean)
        if step is None:  # its sign says which way the loop goes
            down = self.make(f"icmp sgt i32 {now.text}, {stop.text}", boolean)
            up = self.make(f"icmp sgt i32 {by}, 0", boolean)
            p = self.make(f"select i1 {up.text}, i1 {p.text}, i1 {down.text}", boolean)
        self.branch(p, body, end)
        self.label(body)
        self.line(f"store i32 {now.text}, ptr {where}")
        self._loop(s.body, tail, end)
        self.label(tail)
        old = self.make(f"load i32, ptr {counter}", i32)
        new = self.make(f"add nsw i32 {old.text}, {by}", i32)
        self.line(f"store i32 {new.text}, ptr {counter}")
        ends = [v.number for v in (start, stop)] if len(values) > 1 else [0, stop.number]
        known = [n for n in ends if isinstance(n, int)]
        self.repeat(head, step is not None and len(known) == 2 and -((known[0] - known[1]) // step) <= UNROLLED)
        self.label(end)

    def do_Break(self, s: ast.Break) -> None:
        self.jump(self._exit(s)[1])

    def do_Continue(self, s: ast.Continue) -> None:
        self.jump(self._exit(s)[0])

    def _exit(self, s: ast.Break | ast.Continue) -> tuple[str, str]:
        """Return the labels that `continue` and `break` jump to in the innermost loop."""
        if not self.exits:
            self.fail(f"`{type(s).__name__.lower()}` stands outside of a loop")
        return self.exits[-1]
