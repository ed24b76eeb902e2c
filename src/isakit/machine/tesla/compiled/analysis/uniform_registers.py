"""Registers that have the same value in every lane, where all lanes are active.

Loop counters, parameters and what is computed from them: such a register is one number in compiled code instead of a
vector. Where lanes can come from other paths (after a divergent branch, a barrier, a call) nothing is known.
"""

from __future__ import annotations

from functools import lru_cache

from isakit.machine.tesla.compiled.analysis.control_flow import Flow, Place, Step
from isakit.sem.trace import Trace


class UniformRegisters:
    """What is known of one kernel: `at[pc]` are the uniform places before the instruction at pc, all lanes active."""

    def __init__(self, flow: Flow) -> None:
        unknown = flow.resumable | {flow.entry}
        every = {p for s in flow.steps.values() for p in s.writes if p[0] in "rc"}
        self.at: dict[int, set[Place]] = {pc: set() if pc in unknown else set(every) for pc in flow.order}
        todo = list(reversed(flow.order))
        while todo:
            s = flow.steps[todo.pop()]
            out = self.after(s, self.at[s.pc])
            for n in s.successors:
                if n in self.at and not self.at[n] <= out:
                    self.at[n] &= out
                    todo.append(n)

    @staticmethod
    def after(s: Step, before: set[Place]) -> set[Place]:
        """Uniform places after an instruction."""
        return before | s.writes if makes_uniform(s, before) else before - s.writes


def makes_uniform(s: Step, before: set[Place]) -> bool:
    """Whether everything an instruction writes is uniform, given what is uniform before it."""
    if s.trace is None or s.conditional or not s.writes or any(p[0] == "a" for p in s.writes):
        return False
    return s.reads - {("a", 0)} <= before and _plain(s.trace)


def has_calls(trace: Trace) -> bool:
    """Whether an instruction uses named operations, which are fast for vectors only."""
    return "call" in _kinds(trace)


@lru_cache(maxsize=4096)
def _plain(trace: Trace) -> bool:
    """Integer operations on registers, parameters and words of s[], c[] and g[]."""
    if any(e.when is not None or e.kind not in ("write", "load") for e in trace.effects):
        return False
    if any(e.name == "o" for e in trace.of_kind("write")):
        return False  # outputs of a stage are memory
    if any(e.kind == "load" and (e.name[0] not in "scg" or e.get("size") > 4) for e in trace.effects):
        return False
    return not _kinds(trace) & {"call", "machine", "atomic"}


@lru_cache(maxsize=4096)
def _kinds(trace: Trace) -> frozenset[str]:
    return frozenset(v.op for v in trace.values())
