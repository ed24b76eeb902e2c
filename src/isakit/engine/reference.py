"""The reference engine: a trace becomes a readable Python function, in NumPy for many lanes or in ints for one.

Order of one instruction: values, memory accesses and traps in program order; then register writes; control requests are
returned, with operands as they were before the writes. In scalar style comparisons may travel as Python bools, but a
machine receives ints only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from isakit.engine.codegen import EngineError, FunctionWriter, Style, bare
from isakit.engine.graph import Plan
from isakit.engine.lower_numpy import dtype_of, kind_of
from isakit.engine.numpy_helpers import as_width
from isakit.engine.protocol import Array, Control, LaneState
from isakit.lean import dataclass
from isakit.sem.trace import Effect, Trace
from isakit.sem.value import Value


@dataclass(frozen=True, eq=False)
class CompiledTrace:
    """A trace ready to run.

    `fields`: the instruction fields whose values `run` wants, in this order; `source`: the generated Python.
    """

    fields: tuple[Any, ...]
    source: str
    function: Callable[..., list[Control]]

    def run(self, state: LaneState, lanes: object, params: Sequence[int] = ()) -> list[Control]:
        """Apply the effects to `state` in the selected lanes; return the control requests in order.

        `lanes` is a `Lanes` in NumPy style; scalar style passes it to `state` unchanged.
        """
        return self.function(state, lanes, params)


def compile_trace(trace: Trace, style: Style = "numpy", sizes: Mapping[str, int] | None = None) -> CompiledTrace:
    """Generate the function of a trace; raise `EngineError` for effects that the style does not support.

    `sizes`: the least number of registers of each file; registers beyond read as 0 and writes to them are lost.
    """
    return _TraceWriter(trace, style, sizes or {}).compiled()


class _TraceWriter:
    """Turns the effects of one trace into statements of a `FunctionWriter`."""

    def __init__(self, trace: Trace, style: Style, sizes: Mapping[str, int]) -> None:
        self.scalar = style == "scalar"
        self.effects = [self._split_wide(e) for e in trace.effects] if not self.scalar else list(trace.effects)
        roots = [v for e in self.effects for v in (*e.args, e.when, e.result) if v is not None]
        self.plan = Plan(roots, wide=self.scalar)
        self.w = FunctionWriter(self.plan, style, sizes)
        self.w.reserve(["state", "lanes", "params", "sel", "active", "count", "out", "Control"])
        self.w.space["Control"] = Control
        self.writes = [e for e in self.effects if e.kind == "write"]

    @staticmethod
    def _split_wide(e: Effect) -> Effect:
        """Split 16-byte stores into halves, so that no value of more than 64 bits need exist."""
        if e.kind == "store" and e.args[1].width == 128:
            value = e.args[1]
            return Effect(e.kind, e.name, (e.args[0], value.bits(0, 64), value.bits(64, 64)), e.when, e.attr)
        return e

    def compiled(self) -> CompiledTrace:
        """Write everything and build the function."""
        w = self.w
        for e in self.effects:
            if e.kind in {"load", "store", "atomic", "trap"}:
                self._conditional(e, self._memory)
            elif e.kind == "control":
                self._control(e)
            elif e.kind != "write":
                raise EngineError(f"unknown effect {e.kind}")
        for i, e in enumerate(self.writes):
            if len(self.writes) > 1:
                self._settle(e, first=i == 0)
        for e in self.writes:
            self._conditional(e, self._write)
        has_controls = any(e.kind == "control" for e in self.effects)
        w.line("return out" if has_controls else "return []")
        prologue = ["sel, active, count = lanes.sel, lanes.active, lanes.count"] if not self.scalar else []
        if w.parameters:
            prologue.append(f"{', '.join(w.parameters)}, = params")
        prologue += [f"{name} = state.files[{file!r}]" for file, name in w.files.items()]
        if has_controls:
            prologue.append("out = []")
        source, function = w.build("instruction", "state, lanes, params", prologue)
        return CompiledTrace(tuple(w.fields), source, function)

    def _canonical(self, v: Value) -> Value:
        return self.plan.canonical(v)

    def _operand(self, v: Value) -> str:
        """Write an operand of a memory access or a write: an int, or an array with one element per lane."""
        n = self._canonical(v)
        if not self.scalar:
            return bare(self.w.lanes(n))
        return _as_int(self.w.text(n), n)

    def _free_operand(self, v: Value) -> str:
        """Write an operand of the machine's own functions: an int if uniform too, never a view of a register."""
        n = self._canonical(v)
        text = self.w.text(n)
        if self.scalar or self.plan.uniform(n):
            return _as_int(text, n)
        return f"{text}.copy()" if self.writes and self.w.may_alias(n) else text

    def _conditional(self, e: Effect, write: Callable[[Effect, str | None], None]) -> None:
        """Write an effect, inside an `if` if its condition is the same for all lanes.

        `write` gets the expression of a lane condition, or None.
        """
        when = None if e.when is None else self._canonical(e.when)
        if when is None or (when.op == "const" and when.attr):
            write(e, None)
        elif self.scalar or self.plan.uniform(when):
            self._branch(e, when, write)
        else:
            write(e, self.w.atom(when, "when"))

    def _branch(self, e: Effect, when: Value, write: Callable[[Effect, str | None], None]) -> None:
        w, condition = self.w, self.w.text(when)
        result = None if e.result is None else self.plan.effects[id(e.result)]
        if result is not None:
            name = w.name("m")
            w.preset(result, name)
            zero = "0" if self.scalar else f"full(0, {kind_of(result.width)}, count)"
            w.line(f"{name} = {zero}")
        with w.branch(condition):
            write(e, None)

    # --- effects ----------------------------------------------------------------------------------------------------
    def _memory(self, e: Effect, when: str | None) -> None:
        w = self.w
        attrs = w.named(dict(e.attr), "facts")
        lanes = "lanes" if when is None else f"lanes.where({when})"
        if e.kind == "trap":
            self._trap(e, when)
            return
        size = e.get("size")
        operands = [self._operand(v) for v in e.args]
        if e.kind == "store":
            value = operands[1] if len(operands) == 2 else f"({operands[1]}, {operands[2]})"
            w.line(f"state.store({e.name!r}, {operands[0]}, {value}, {size}, {attrs}, {lanes})")
            return
        if e.kind == "load":
            call = f"state.load({e.name!r}, {operands[0]}, {size}, {attrs}, {lanes})"
        else:
            rest = ", ".join(operands[1:])
            call = f"state.atomic({e.name!r}, {e.get('op')!r}, {operands[0]}, [{rest}], {size}, {attrs}, {lanes})"
        assert e.result is not None
        self._result(self.plan.effects[id(e.result)], call)

    def _result(self, n: Value, call: str) -> None:
        w = self.w
        if not self.scalar and n.width != 128:
            call = f"as_width({call}, {n.width}, {kind_of(n.width)}, count)"
        name = w.known(n)
        if name is None:
            name = w.name("m")
            w.preset(n, name)
        w.line(f"{name} = {call}")

    def _trap(self, e: Effect, when: str | None) -> None:
        w = self.w
        if self.scalar:
            w.line(f"state.trap({e.name!r}, True)")
            return
        mask = w.assign("lanes.mask" if when is None else f"both(active, {when})", "mask")
        w.line(f"if some({mask}):")
        w.line(f"    state.trap({e.name!r}, {mask})")

    def _control(self, e: Effect) -> None:
        args = ", ".join(bare(self._free_operand(v)) for v in e.args)
        self.w.line(
            f"out.append(Control({e.name!r}, ({args}{',' if e.args else ''}), {self.w.named(dict(e.attr), 'facts')}))"
        )

    def _settle(self, e: Effect, first: bool) -> None:
        """Compute the operands of a write before any write happens; later writes need their own copy of a register."""
        for v in e.inputs:
            n = self._canonical(v)
            if not first and self.w.may_alias(n):
                self.w.preset(n, self.w.assign(f"{self.w.text(n)}.copy()", "old"))
            else:
                self.w.atom(n)

    def _write(self, e: Effect, when: str | None) -> None:
        w = self.w
        index, value = (self._canonical(v) for v in e.args)
        if e.lands_later:
            if not self.scalar:
                raise EngineError(f"a delayed write of {e.name!r}: only the scalar style has them")
            facts = w.named(dict(e.attr), "facts")
            w.line(
                f"state.delayed_write({e.name!r}, {_as_int(w.text(index), index)}, "
                f"{_as_int(w.text(value), value)}, {facts})"
            )
            return
        file = w.file(e.name)
        if self.scalar:
            i, stored = w.atom(index), _as_int(w.text(value), value)
            if w.inside(e.name, index):
                w.line(f"{file}[{i}] = {stored}")
                return
            w.line(f"if {i} < len({file}):")
            w.line(f"    {file}[{i}] = {stored}")
            return
        mask = "active" if when is None else f"both(active, {when})"
        if self.plan.uniform(index):
            stored = bare(w.array(value))
            w.line(f"put({file}, {bare(w.text(index))}, sel, {mask}, {stored})")
        else:
            w.line(f"put_lanes({file}, {bare(w.text(index))}, lanes, {mask}, {bare(w.lanes(value))})")


def _as_int(text: str, n: Value) -> str:
    """Wrap a 1-bit value, which may be a bool in generated code, as the int that machines see."""
    return f"int({bare(text)})" if n.width == 1 and n.op != "const" else bare(text)


def evaluate(values: Sequence[Value], bindings: Mapping[Any, Any] | None = None, style: Style = "numpy") -> list[Any]:
    """Evaluate pure graphs; return the values of the roots.

    `bindings` gives ints or arrays for parameters (by the field or name of the param) and, by the node itself, for any
    other node (a read, a load). NumPy style: arrays of one shape [lanes] make lane values; a result that depends on
    ints only is an int. Scalar style: ints in, ints out.
    """
    bound = dict(bindings or {})
    nodes = {k: v for k, v in bound.items() if isinstance(k, Value)}
    lanes = {k for k, v in bound.items() if isinstance(v, np.ndarray)}
    plan = Plan(values, style == "scalar", lambda attr: attr in lanes, {n: n in lanes for n in nodes})
    w = FunctionWriter(plan, style)
    w.reserve(["params", "given", "count"])
    for i, n in enumerate(nodes):
        w.preset(n, f"given[{i}]")
    texts: list[str] = []
    for v in values:
        n = plan.canonical(v)
        uniform = style == "scalar" or plan.uniform(n)
        texts.append(f"int({w.text(n)})" if uniform else bare(w.text(n)))
    w.line(f"return [{', '.join(texts)}]")
    prologue = [f"{', '.join(w.parameters)}, = params"] if w.parameters else []
    _, function = w.build("evaluate", "params, given, count", prologue)
    missing = [f for f in w.fields if f not in bound]
    if missing:
        raise EngineError(f"no value for {', '.join(map(str, missing))}")
    arrays: list[Array] = [v for v in bound.values() if isinstance(v, np.ndarray)]
    count = len(arrays[0]) if arrays else 0

    def prepared(v: Any, width: int) -> Any:
        return int(v) if isinstance(v, int) else as_width(v, width, dtype_of(width), count)

    widths = w.widths
    return function(
        [prepared(bound[f], widths[i]) for i, f in enumerate(w.fields)],
        [prepared(v, n.width) for n, v in nodes.items()],
        count,
    )
