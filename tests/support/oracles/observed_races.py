"""Races between the warps of a block as a run shows them, held against what the analysis says of the program."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np

import isakit
from isakit.debug.observed import ObservedMachine
from isakit.engine import Lanes
from isakit.engine.protocol import Array
from isakit.errors import MachineFault
from isakit.machine.tesla.address_spaces import ResolvedAccess
from isakit.machine.tesla.analysis.control_flow import Flow
from isakit.machine.tesla.analysis.racing_accesses import RacingAccesses, literals_of
from isakit.machine.tesla.gang import Gang
from isakit.machine.tesla.kernel_code import Op
from isakit.machine.tesla.launch import Launch
from support.generators.warp_races import Launched


@dataclass(frozen=True)
class Seen:
    """An access of a warp: where, of which kind, in which interval between barriers, byte -> what it stores there."""

    pc: int
    kind: str
    space: str
    interval: int
    bytes: dict[int, int]


class _Recording(ObservedMachine):
    """Remembers the accesses of each warp, in the order in which it makes them, but for those of the launch header."""

    def __init__(self, launch: Any, device: Any) -> None:
        self.seen: dict[int, list[Seen]] = defaultdict(list)
        self.diverged = False
        self._intervals: dict[int, int] = defaultdict(int)
        super().__init__(launch, device)

    def before(self, gang: Gang, op: Op, lanes: Lanes, executing: Lanes) -> None:
        if op.instruction is not None and op.instruction.mnemonic == "bar":
            for w in self.members(gang):
                self.diverged |= bool(w.stack)
                self._intervals[w.number] += 1

    def accessed(
        self, name: str, address: Array, size: int, lanes: Lanes, chosen: Array | None, placed: ResolvedAccess
    ) -> None:
        if name not in ("s", "g14") or self.op is None:
            return
        numbers = lanes.numbers if chosen is None else lanes.numbers[chosen]
        value = np.broadcast_to(np.asarray(0 if self.value is None else self.value), (lanes.count,))
        value = value if chosen is None else value[chosen]
        where = np.broadcast_to(address, numbers.shape)
        for warp in np.unique(numbers >> 5).tolist():
            mine = numbers >> 5 == warp
            found = {
                int(at) + k: int(v) >> 8 * k & 0xFF
                for at, v in zip(where[mine], value[mine], strict=True)
                for k in range(size)
            }
            self.seen[warp].append(Seen(self.op.pc, self.kind, name[0], self._intervals[warp], found))


@dataclass(frozen=True)
class Run:
    """A launch of a kernel and the accesses of its warps, in order (None: lanes had diverged at a barrier)."""

    launch: Launch
    seen: dict[int, list[Seen]] | None


def recorded(text: str, threads: int, budget: int) -> Run:
    """Run a kernel of `warp_races` in one block, at most so many instructions."""
    k = Launched(isakit.Device("gt200", engine="reference"), text)
    launch = k.kernel.prepare(1, threads, k.out, k.counter, 5)
    machine = _Recording(launch, k.device.memory)
    try:
        machine.run(max_instructions=budget)
    except MachineFault as e:
        if e.kind not in ("TIMEOUT", "BARRIER_DEADLOCK"):
            raise
    return Run(launch, None if machine.diverged else dict(machine.seen))


def overlooked(run: Run) -> list[str]:
    """What a run shows and the analysis does not say: pairs that race, and orders in which a warp makes racing ones."""
    launch, seen = run.launch, run.seen
    if seen is None:
        return []
    flow = Flow(launch.code, launch.entry, choices=launch.choices)
    analysis = RacingAccesses(flow, launch.block, literals_of(launch))
    found = analysis.accesses
    races = {(found[k].pc, found[n].pc) for k, others in enumerate(analysis.conflicts) for n in others}
    out = {f"{a:#x} and {b:#x} race" for a, b in _raced(seen) - races}
    meetings = analysis.meetings()
    for accesses in seen.values() if "bar" in flow.controls else ():
        made: dict[int, str] = {}
        interval = 0
        for s in accesses:
            if s.interval != interval:
                made, interval = {}, s.interval
            out |= {
                f"a turn does not end before {s.pc:#x}, behind {pc:#x}"
                for pc in made
                if (pc, s.pc) in races and (pc != s.pc or s.kind != "write") and pc not in meetings.get(s.pc, ())
            }
            made[s.pc] = s.kind
    return sorted(out)


def _raced(seen: dict[int, list[Seen]]) -> set[tuple[int, int]]:
    """Pairs of addresses of accesses that different warps made to one place in one interval, one of them a write.

    Not those of one store whose numbers were the same.
    """
    by: dict[tuple[str, int, int], dict[tuple[int, str], dict[int, set[int]]]] = defaultdict(dict)
    for warp, accesses in seen.items():
        for s in accesses:
            for at, value in s.bytes.items():
                who = by[s.space, at, s.interval].setdefault((s.pc, s.kind), {})
                who.setdefault(warp, set()).add(value)
    out: set[tuple[int, int]] = set()
    for who in by.values():
        if all(kind == "read" for _, kind in who):
            continue
        for (a, first), x in who.items():
            for (b, second), y in who.items():
                if first == second == "read" or len(x.keys() | y.keys()) < 2:
                    continue
                if a == b and first == "write" and len(set[int]().union(*x.values())) == 1:
                    continue
                out.add((a, b))
    return out
