"""Python source from a graph: one `FunctionWriter` collects the statements of one generated function.

Nodes used once become part of the expression that uses them, others get a variable. Uniform nodes are computed with
plain ints in both styles; a lane operation that needs one gets it as a zero-dimensional array.
"""

from __future__ import annotations

import linecache
import re
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any, Literal

from isakit.engine import numpy_helpers, numpy_operations
from isakit.engine.graph import Plan
from isakit.engine.lower_numpy import NumpyLowering, dtype_of, kind_of
from isakit.engine.lower_scalar import USED_TWICE, number, scalar_expression
from isakit.errors import IsakitError
from isakit.sem.operation import Operation, StaticKey, expansion
from isakit.sem.value import Value, postorder

Style = Literal["numpy", "scalar"]
_ATOM = re.compile(r"\w+$")
_LONGEST = 72
"""Characters of an expression that may still become part of another one."""


class EngineError(IsakitError):
    """A graph an engine cannot run, with the reason."""


class FunctionWriter:
    """Statements, names and constants of one generated function.

    `sizes` are the least numbers of registers in each file. `body` holds the statements so far; `fields`, `parameters`
    and `widths` the fields needed, the variables that hold them and their bits; `files` the variable of each register
    file; `space` the globals.
    """

    def __init__(self, plan: Plan, style: Style, sizes: Mapping[str, int] | None = None) -> None:
        self.plan, self.style, self.sizes = plan, style, sizes or {}
        self.body: list[str] = []
        self.fields: list[object] = []
        self.parameters: list[str] = []
        self.widths: list[int] = []
        self.files: dict[str, str] = {}
        self.space: dict[str, Any] = {} if style == "scalar" else numpy_helpers.namespace()
        self.indent = 1
        self.needs_errstate = False
        self._text: dict[int, str] = {}
        self._lane_text: dict[int, str] = {}
        self._fresh: dict[str, int] = {}
        self._named: dict[int, tuple[str, Any]] = {}
        self._lowering = NumpyLowering(
            plan.bound, self.constant, self.named, lambda n: self.int_of(n) if self.plan.uniform(n) else None
        )

    # --- names ------------------------------------------------------------------------------------------------------
    def line(self, text: str) -> None:
        """Add a statement at the current indentation."""
        self.body.append("    " * self.indent + text)

    def name(self, hint: str) -> str:
        """Return an unused variable name."""
        hint = re.sub(r"\W+", "_", hint).strip("_") or "v"
        number = self._fresh.get(hint, -1) + 1
        self._fresh[hint] = number
        text = f"{hint}{number}" if number or len(hint) == 1 or hint in self.space else hint
        return text if text not in self.space else self.name(hint)

    def reserve(self, names: list[str]) -> None:
        """Reserve the names that the function's signature uses."""
        self.space.update(dict.fromkeys(names))

    def named(self, thing: object, hint: str) -> str:
        """Return the global name of an object (a table, a dict of facts, a function)."""
        if id(thing) not in self._named:
            name = self.name(hint)
            self._named[id(thing)] = name, thing
            self.space[name] = thing
        return self._named[id(thing)][0]

    def constant(self, value: int, width: int) -> str:
        """Return the global name of a zero-dimensional array holding a constant."""
        kind = kind_of(width)
        name = f"k{number(value)}" + {"u32": "", "u64": "_64", "bool_": "_1", "obj": "_obj"}[kind]
        self.space[name] = numpy_helpers.constant(value, dtype_of(width))
        return name

    def assign(self, text: str, hint: str = "v") -> str:
        """Give an expression a variable, unless it is one."""
        if _ATOM.match(text):
            return text
        name = self.name(hint)
        self.line(f"{name} = {bare(text)}")
        return name

    def file(self, name: str) -> str:
        """Return the variable that holds a register file."""
        if name not in self.files:
            self.files[name] = self.name(f"file_{name}")
        return self.files[name]

    @contextmanager
    def branch(self, condition: str) -> Generator[None]:
        """Check the statements under an `if`; variables they introduce are unknown afterwards."""
        self.line(f"if {bare(condition)}:")
        before = self._text.copy(), self._lane_text.copy()
        self.indent += 1
        yield
        self.indent -= 1
        self._text, self._lane_text = before

    # --- values -----------------------------------------------------------------------------------------------------
    def preset(self, n: Value, text: str) -> None:
        """Set the text of a canonical node: a formal argument, a loaded value."""
        self._text[id(n)] = text

    def text(self, n: Value) -> str:
        """Return the expression of a canonical node: of an int if it is uniform or the style scalar, else an array."""
        for m in postorder(n, self._text):
            text = self._node(m)
            if (self.plan.uses.get(id(m), 1) > 1 or len(text) > _LONGEST) and m.op not in {"const", "param"}:
                text = self.assign(text, _HINTS.get(m.op, "v"))
            self._text[id(m)] = text
        return self._text[id(n)]

    def known(self, n: Value) -> str | None:
        """Return the spelling of a canonical node that has one already."""
        return self._text.get(id(n))

    def atom(self, n: Value, hint: str = "v") -> str:
        """Return `text` as a variable or a number."""
        text = self._text[id(n)] = self.assign(self.text(n), hint)
        return text

    def int_of(self, n: Value) -> str:
        """Return the int expression of a uniform node."""
        return self.atom(n, "u")

    def array(self, n: Value) -> str:
        """Return a node as an operand of a lane operation: zero-dimensional if it is uniform."""
        if not self.plan.uniform(n):
            return self.text(n)
        if n.op == "const":
            return self.constant(n.attr, n.width)
        if id(n) not in self._lane_text:
            self._lane_text[id(n)] = self.assign(f"array({bare(self.text(n))}, {kind_of(n.width)})", "x")
        return self._lane_text[id(n)]

    def lanes(self, n: Value) -> str:
        """Return a node as an array with one element per lane."""
        if not self.plan.uniform(n):
            return self.text(n)
        return f"full({bare(self.text(n))}, {kind_of(n.width)}, count)"

    def _node(self, n: Value) -> str:
        if n.op == "param":
            return self._param(n)
        if n.op in {"load", "atomic"}:
            raise EngineError(f"the result of a {n.op} is used before the {n.op} happens")
        if n.op in {"read", "machine", "half"}:
            return getattr(self, f"_{n.op}")(n)
        if n.op == "call":
            return self._call(n)
        if self.style == "scalar" or self.plan.uniform(n):
            for position in USED_TWICE.get(n.op, ()):
                self.atom(n.args[position])
            args = [self._text[id(a)] for a in n.args]
            return scalar_expression(n, args, self.plan.bound, self.named)
        if n.op == "select" and self.plan.uniform(n.args[0]):
            condition, a, b = n.args
            return f"({self.lanes(a)} if {self.text(condition)} else {self.lanes(b)})"
        return self._lowering.expression(n, [self.array(a) for a in n.args])

    def _param(self, n: Value) -> str:
        for field, name in zip(self.fields, self.parameters, strict=True):
            if field is n.attr or field == n.attr:
                return name
        self.fields.append(n.attr)
        self.widths.append(n.width)
        self.parameters.append(self.name("p_" + str(getattr(n.attr, "name", n.attr))))
        return self.parameters[-1]

    def _read(self, n: Value) -> str:
        file, index = self.file(n.attr), n.args[0]
        if self.style == "scalar":
            if self.inside(n.attr, index):
                return f"{file}[{self.text(index)}]"
            i = self.atom(index)
            return f"({file}[{i}] if {i} < len({file}) else 0)"
        if self.plan.uniform(index):
            return f"read({file}, {self.text(index)}, sel, count, {n.width}, {kind_of(n.width)})"
        return f"read_lanes({file}, {self.text(index)}, lanes, {n.width}, {kind_of(n.width)})"

    def inside(self, file: str, index: Value) -> bool:
        """Return whether it is known that a register exists."""
        return index.op == "const" and index.attr < self.sizes.get(file, 0)

    def _machine(self, n: Value) -> str:
        name, attrs = n.attr
        args = ", ".join(bare(self.text(a)) for a in n.args)
        call = f"state.machine({name!r}, [{args}], {self.named(dict(attrs), 'facts')}, lanes)"
        return call if self.style == "scalar" else f"as_width({call}, {n.width}, {kind_of(n.width)}, count)"

    def _half(self, n: Value) -> str:
        return f"joined({self._text[id(n.args[0])]}, {n.attr})"

    def _call(self, n: Value) -> str:
        op, statics = n.attr
        widths = tuple(a.width for a in n.args)
        hint = "_".join([op.name, *(str(v) for _, v in statics if isinstance(v, str))])
        if self.style == "scalar" or self.plan.uniform(n):
            function = self.named(compiled_operation(op, statics, widths, "scalar"), hint)
            return f"{function}({', '.join(bare(self.text(a)) for a in n.args)})"
        function = numpy_operations.lowering(op, statics, widths)
        if function is None:
            function = compiled_operation(op, statics, widths, "numpy")
        self.needs_errstate = self.needs_errstate or getattr(function, "needs_errstate", False)
        # One-element arrays, not zero-dimensional ones: arithmetic between two of the latter gives NumPy scalars, which
        # warn when they wrap.
        args = [
            f"array([{bare(self.text(a))}], {kind_of(a.width)})" if self.plan.uniform(a) else bare(self.text(a))
            for a in n.args
        ]
        return f"{self.named(function, hint)}({', '.join(args)})"

    def may_alias(self, n: Value) -> bool:
        """Return true if the array of a lane value may be a view of a register."""
        if self.style == "scalar" or self.plan.uniform(n):
            return False
        if n.op == "read":
            return True
        if n.op in {"zext", "extract"}:
            return kind_of(n.width) == kind_of(n.args[0].width) and self.may_alias(n.args[0])
        if n.op in {"select", "call"}:
            return any(self.may_alias(a) for a in n.args)
        return False

    # --- the function -----------------------------------------------------------------------------------------------
    def build(
        self, title: str, signature: str, prologue: list[str], guarded: bool = True
    ) -> tuple[str, Callable[..., Any]]:
        """Return the written source and the function compiled from it.

        `guarded`: floating-point warnings are off inside.
        """
        body = self.body or ["    pass"]
        if self.needs_errstate and guarded:
            body = ["    with errstate(all='ignore'):", *("    " + line for line in body)]
        source = "\n".join([f"def {title}({signature}):", *("    " + p for p in prologue), *body]) + "\n"
        filename = f"<isakit {title} {id(self):#x}>"
        if title != "evaluate":  # kept for tracebacks and debuggers
            linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
        exec(compile(source, filename, "exec"), self.space)
        return source, self.space[title]


_HINTS = {"read": "r", "load": "m", "call": "f", "eq": "c", "ult": "c", "slt": "c", "not": "n"}


def bare(text: str) -> str:
    """Return `text` without parentheses that enclose all of it."""
    if text.startswith("(") and text.endswith(")"):
        depth = 0
        for i, c in enumerate(text):
            depth += (c == "(") - (c == ")")
            if not depth:
                return text[1:-1] if i == len(text) - 1 else text
    return text


@cache
def compiled_operation(op: Operation, statics: StaticKey, widths: tuple[int, ...], style: Style) -> Callable[..., Any]:
    """Make a function of the integer definition of an operation, of ints (scalar) or of arrays (NumPy)."""
    formals, body = expansion(op, statics, widths)
    return function_of(formals, body, style, op.name)


def function_of(formals: Sequence[Value], body: Value, style: Style, title: str) -> Callable[..., Any]:
    """Compile a value to a function of its formal arguments: ints (scalar) or arrays (NumPy)."""
    plan = Plan([body], wide=style == "scalar")
    writer = FunctionWriter(plan, style)
    names = [f"a{i}" for i in range(len(formals))]
    writer.reserve(names)
    for formal, name in zip(formals, names, strict=True):
        writer.preset(plan.canonical(formal), name)
    root = plan.canonical(body)
    if style == "scalar":
        writer.line(f"return {bare(writer.text(root))}")
    elif plan.uniform(root):
        writer.line(f"return full({writer.text(root)}, {kind_of(root.width)}, a0.shape)")
    else:
        writer.line(f"return {bare(writer.text(root))}")
    _, function = writer.build(title, ", ".join(names), [], guarded=False)
    function.__dict__["needs_errstate"] = writer.needs_errstate
    return function
