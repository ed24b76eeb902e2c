"""Statements of Python kernels. Variables get the type of the first value they hold."""

from __future__ import annotations

import ast

from isakit.compile.python.calls import Calls
from isakit.compile.python.types import LOCAL, SCALARS, SHARED, Pointer, boolean, i32
from isakit.compile.python.writer import TypedValue, ir_name, name_of

UNROLLED = 16
"""Loops that are known to run so often at most are taken apart."""


class Statements(Calls):
    """Statements."""

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
        kind = SCALARS.get(name_of(s.annotation))
        if kind is None:
            self.fail(f"`{self.shown(s.annotation)}` is not a type of a variable", s.annotation)
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

    def store(self, target: ast.expr, v: TypedValue) -> None:
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
        kind = SCALARS.get(name_of(call.args[0]))
        count = self.known(call.args[1])
        if kind is None or not isinstance(count, int) or not 0 < count <= 1 << 20:
            self.fail(f"`{what}` takes a type and a constant number of elements", call)
        if name in self.slots or name in self.arrays or name in self.params:
            self.fail(f"`{name}` exists already", call)
        if what == "shared":
            symbol = f"@{self.function.name}.{ir_name(name)}"
            self.top.append(
                f"{symbol} = internal addrspace(3) global [{count} x {kind.llvm}] undef, align {max(4, kind.size)}"
            )
            self.arrays[name] = symbol, Pointer(kind, SHARED), count
            self.lines += self.record("value", f"ptr addrspace({SHARED}) {symbol}", name, Pointer(kind, SHARED), count)
        else:
            where = f"%a.{ir_name(name)}"
            self.entry.insert(0, f"  {where} = addrspacecast ptr {where}.0 to ptr addrspace({LOCAL})")
            self.entry.insert(0, f"  {where}.0 = alloca [{count} x {kind.llvm}], align {max(4, kind.size)}")
            self.arrays[name] = where, Pointer(kind, LOCAL), count

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
        self.repeat(head, False)
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
        start = values[0] if len(values) > 1 else TypedValue("0", i32)
        stop = values[1] if len(values) > 1 else values[0]
        step = self.known(s.iter.args[2]) if len(values) > 2 else 1
        if not isinstance(step, int) or step == 0 or not -(1 << 31) <= step < 1 << 31:
            self.fail("the step of `range` must be a constant i32 that is not 0", s.iter)
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
        ends = [v.number for v in (start, stop)] if len(values) > 1 else [0, stop.number]
        known = [n for n in ends if isinstance(n, int)]
        self.repeat(head, len(known) == 2 and -((known[0] - known[1]) // step) <= UNROLLED)
        self.lines.append(f"{end}:")
        self.done = False

    def do_Break(self, s: ast.Break) -> None:
        self.jump(self._exit(s)[1])

    def do_Continue(self, s: ast.Continue) -> None:
        self.jump(self._exit(s)[0])

    def _exit(self, s: ast.Break | ast.Continue) -> tuple[str, str]:
        """Return the labels where the next round of the innermost loop begins, and of what follows the loop."""
        if not self.exits:
            self.fail(f"`{type(s).__name__.lower()}` stands outside of a loop")
        return self.exits[-1]

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
