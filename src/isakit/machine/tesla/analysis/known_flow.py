"""Facts about the control flow of a kernel, kept on disk: analysing a big kernel takes a second."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from functools import lru_cache

from isakit.engine.llvm.fingerprint import fingerprint
from isakit.json_text import JsonObject
from isakit.machine.tesla.analysis.control_flow import Flow
from isakit.machine.tesla.analysis.kernel_steps import RegisterKey, Sample
from isakit.machine.tesla.analysis.racing_accesses import WarpOrder, literals_of, warp_order
from isakit.machine.tesla.analysis.spin_loops import spin_loops
from isakit.machine.tesla.choices import Choices
from isakit.machine.tesla.kernel_code import Code
from isakit.machine.tesla.launch import Launch
from isakit.object_cache import read_object, write_object

KEPT_FROM = 200
"""Instructions of the smallest kernel of which something is kept: to write it takes tens of milliseconds on disks."""
_KIND, _ORDERS = "flows", "orders"


@dataclass(frozen=True)
class KnownFlow:
    """Answers of a `Flow`, under the same names; `count`: its instructions, `spins`: its `spin_loops`."""

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
        """Return the facts of a flow."""
        return cls(
            len(flow.steps), flow.accesses, tuple(sorted(flow.stored)), tuple(spin_loops(flow)), flow.has_barriers,
            flow.has_indirect, flow.has_served, flow.needs_host, flow.samples, flow.has_atomics, flow.has_loops,
            flow.reads_clock, flow.leaves,
        )  # fmt: skip


@lru_cache(maxsize=256)
def flow_of(code: Code, entry: int, results: frozenset[RegisterKey], choices: Choices) -> Flow:
    """Return the control flow of a kernel. Raises NotCompiled."""
    return Flow(code, entry, results, choices)


@lru_cache(maxsize=256)
def flow_key(code: Code, entry: int, results: frozenset[RegisterKey], choices: Choices) -> str:
    """Return stands for everything a flow depends on."""
    view = code.decoder.view
    parts = (
        fingerprint("tesla"), view.variant.name, view.program, code.address, code.registers, code.drop_unallocated,
        entry, sorted(results), choices, code.units,
    )  # fmt: skip
    return hashlib.sha256(repr(parts).encode()).hexdigest()


@lru_cache(maxsize=256)
def known_flow(code: Code, entry: int, results: frozenset[RegisterKey], choices: Choices) -> KnownFlow:
    """Return the facts of a kernel's flow, from disk if they are known. Raises NotCompiled."""
    key = flow_key(code, entry, results, choices) if len(code.units) >= KEPT_FROM else ""
    data = read_object(_KIND, key) if key else None
    if data is not None:
        kept: JsonObject = json.loads(data)
        kept["stored"] = tuple(kept["stored"])
        kept["spins"] = tuple((first, last) for first, last in kept["spins"])
        kept["samples"] = tuple(Sample(pc, t, s, (x, y, z), *rest) for pc, t, s, (x, y, z), *rest in kept["samples"])
        return KnownFlow(**kept)
    known = KnownFlow.of(flow_of(code, entry, results, choices))
    if key:
        write_object(_KIND, key, json.dumps(asdict(known)).encode())
    return known


def known_order(launch: Launch) -> WarpOrder:
    """Return `warp_order`, without looking through a big kernel if that was done before."""
    code, choices = launch.code, launch.choices
    if launch.warps == 1 or len(code.units) < KEPT_FROM:
        return warp_order(launch)
    parts = flow_key(code, launch.entry, frozenset[RegisterKey](), choices), launch.block, literals_of(launch)
    key = hashlib.sha256(repr(parts).encode()).hexdigest()
    data = read_object(_ORDERS, key)
    if data is not None:
        kept = json.loads(data)
        return WarpOrder(kept["ordered"], tuple((pc, bits) for pc, bits in kept["races"]))
    found = warp_order(launch)
    write_object(_ORDERS, key, json.dumps(asdict(found)).encode())
    return found


def has_loops(launch: Launch) -> bool:
    """Return true if the kernel jumps back somewhere. Raises NotCompiled."""
    return known_flow(launch.code, launch.entry, frozenset[RegisterKey](), launch.choices).has_loops


def may_wait_for_blocks(launch: Launch) -> bool:
    """Return true if a block may spin until another one has written memory. Raises NotCompiled."""
    return launch.blocks > 1 and bool(
        known_flow(launch.code, launch.entry, frozenset[RegisterKey](), launch.choices).spins
    )
