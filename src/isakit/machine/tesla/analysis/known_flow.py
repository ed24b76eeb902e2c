"""Properties of a kernel, cached on disk: computing them takes as long as a launch, for large kernels a second."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

from isakit.engine.llvm.fingerprint import fingerprint
from isakit.json_text import JsonObject
from isakit.machine.tesla.analysis.control_flow import Flow
from isakit.machine.tesla.analysis.kernel_steps import RegisterKey, Sample
from isakit.machine.tesla.analysis.racing_accesses import NOT_SEEN, WarpOrder, literals_of, warp_order
from isakit.machine.tesla.analysis.spin_loops import spin_loops
from isakit.machine.tesla.choices import Choices
from isakit.machine.tesla.kernel_code import Code
from isakit.machine.tesla.launch import Launch
from isakit.object_cache import read_object, write_object
from isakit.sem.routine import on_change

_KIND = "flows"


@dataclass(frozen=True)
class KnownFlow:
    """The properties of a `Flow`, under the same names; `count`: its instructions, `spins`: its `spin_loops`."""

    count: int
    accesses: int
    stored: tuple[str, ...]
    spins: tuple[tuple[int, int], ...]
    has_barriers: bool
    has_indirect: bool
    has_served: bool
    needs_host: bool
    samples: tuple[Sample, ...]
    has_atomics: bool
    has_loops: bool
    reads_clock: bool
    leaves: bool

    @classmethod
    def of(cls, flow: Flow) -> KnownFlow:
        """Return the properties of a flow."""
        controls = flow.controls
        return cls(
            len(flow.steps), flow.accesses, tuple(sorted(flow.stored)), tuple(spin_loops(flow)), "bar" in controls,
            "bra_indirect" in controls, flow.has_served, flow.needs_host, flow.samples, flow.has_atomics,
            flow.has_loops, flow.reads_clock, flow.leaves,
        )  # fmt: skip


@lru_cache(maxsize=256)
def flow_of(code: Code, entry: int, results: frozenset[RegisterKey], choices: Choices) -> Flow:
    """Return the control flow of a kernel. Raises NotCompiled."""
    return Flow(code, entry, results, choices)


class KernelFacts:
    """Facts established about a kernel, by name: one JSON object of the cache."""

    def __init__(self, key: str) -> None:
        self._key = key
        self._found: JsonObject = json.loads(read_object(_KIND, key) or b"{}")

    def get(self, name: str) -> Any:
        """Return a property, None if it is not known."""
        return self._found.get(name)

    def set(self, name: str, value: object) -> None:
        """Store a property; if two processes do so at once, one of the two may be lost."""
        self._found[name] = value
        write_object(_KIND, self._key, json.dumps(self._found).encode(), lasting=False)


@lru_cache(maxsize=256)
def facts_of(code: Code, entry: int, results: frozenset[RegisterKey], choices: Choices) -> KernelFacts:
    """Return the cached properties of a kernel."""
    view = code.decoder.view
    parts = (
        fingerprint("tesla"), view.variant.name, view.program, code.address, code.registers, code.drop_unallocated,
        entry, sorted(results), choices, code.units,
    )  # fmt: skip
    return KernelFacts(hashlib.sha256(repr(parts).encode()).hexdigest())


on_change(facts_of.cache_clear)


@lru_cache(maxsize=256)
def known_flow(code: Code, entry: int, results: frozenset[RegisterKey], choices: Choices) -> KnownFlow:
    """Return the properties of a kernel's flow. Raises NotCompiled."""
    facts = facts_of(code, entry, results, choices)
    found: JsonObject | None = facts.get("flow")
    if found is None:
        known = KnownFlow.of(flow_of(code, entry, results, choices))
        facts.set("flow", asdict(known))
        return known
    kept = dict(found)
    kept["stored"] = tuple(kept["stored"])
    kept["spins"] = tuple((first, last) for first, last in kept["spins"])
    kept["samples"] = tuple(Sample(pc, t, s, (x, y, z), *rest) for pc, t, s, (x, y, z), *rest in kept["samples"])
    return KnownFlow(**kept)


def known_order(launch: Launch) -> WarpOrder:
    """Return `warp_order`, without analysing a kernel again."""
    if launch.warps == 1:
        return NOT_SEEN
    facts = facts_of(launch.code, launch.entry, frozenset[RegisterKey](), launch.choices)
    name = f"order {launch.block} {hashlib.sha256(literals_of(launch)).hexdigest()}"
    kept = facts.get(name)
    if kept is None:
        found = warp_order(launch)
        facts.set(name, asdict(found))
        return found
    return WarpOrder(kept["ordered"], tuple((pc, bits) for pc, bits in kept["races"]))


def has_loops(launch: Launch) -> bool:
    """Return true if the kernel has a backward jump. Raises NotCompiled."""
    return known_flow(launch.code, launch.entry, frozenset[RegisterKey](), launch.choices).has_loops


def may_wait_for_blocks(launch: Launch) -> bool:
    """Return true if a block may spin until another one has written memory. Raises NotCompiled."""
    return launch.blocks > 1 and bool(
        known_flow(launch.code, launch.entry, frozenset[RegisterKey](), launch.choices).spins
    )
