"""Registers that have the same value in every lane, where all lanes are active.

Loop counters, parameters and values computed from them: such a register is a scalar in compiled code instead of a
vector. Where lanes can come from other paths (after a divergent branch, a barrier, a call) nothing is known.
"""

from __future__ import annotations

from collections.abc import Set
from functools import cache, lru_cache

from isakit.flow.bits import BitNumbers
from isakit.flow.dataflow import solve
from isakit.machine.tesla.analysis.control_flow import Flow
from isakit.machine.tesla.analysis.kernel_steps import RegisterKey, Step
from isakit.sem.trace import Trace


class UniformRegisters:
    """The uniform registers of a kernel: `at[pc]` before the instruction at pc, where all lanes are active."""

    def __init__(self, flow: Flow) -> None:
        blocks, unknown = flow.blocks, flow.resumable | {flow.entry}
        places = BitNumbers(p for s in flow.steps.values() for p in s.writes if p[0] in "rc")
        known = places.all  # registers that may be uniform; the others differ everywhere
        masks = {pc: (places.mask(s.reads - {("a", 0)}), places.mask(s.writes)) for pc, s in flow.steps.items()}
        may = {pc for pc, s in flow.steps.items() if may_make_uniform(s)}

        def after(pc: int, differing: int) -> int:
            reads, writes = masks[pc]
            return differing & ~writes if pc in may and not reads & differing else differing | writes

        def transfer(n: int, differing: int) -> int:
            for s in blocks.steps[n]:
                differing = after(s.pc, differing)
            return differing

        start = [places.all if pc in unknown else places.all & ~known for pc in blocks.graph.nodes]

        @cache
        def uniform(bits: int) -> frozenset[RegisterKey]:
            return frozenset(places.of(bits))

        self.at: dict[int, frozenset[RegisterKey]] = {}
        for differing, body in zip(solve(blocks.graph, transfer, start), blocks.steps, strict=True):
            for s in body:
                self.at[s.pc] = uniform(known & ~differing)
                differing = after(s.pc, differing)


def makes_uniform(s: Step, before: Set[RegisterKey]) -> bool:
    """Return true if all results of an instruction are uniform, given the registers that are uniform before it."""
    return may_make_uniform(s) and s.reads - {("a", 0)} <= before


def may_make_uniform(s: Step) -> bool:
    """Return whether all results of an instruction are uniform if its operands are."""
    if s.trace is None or s.conditional or not s.writes or any(p[0] == "a" for p in s.writes):
        return False
    return _plain(s.trace)


def has_calls(trace: Trace) -> bool:
    """Return true if an instruction uses named operations, which are fast for vectors only."""
    return "call" in _kinds(trace)


@lru_cache(maxsize=4096)
def _plain(trace: Trace) -> bool:
    """Return whether a trace only has integer operations on registers, parameters and words of s[], c[] and g[]."""
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
