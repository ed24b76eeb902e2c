"""The costs of a kernel, instruction by instruction: executions, lanes, divergence, transactions, conflicts.

Counts are those of the whole launch, not of one multiprocessor as on the chip. There is no model of time: the sources
have none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from isakit.analysis.control_flow import control_flow
from isakit.asm import Program
from isakit.debug.execution import program_of
from isakit.debug.observed import ObservedMachine
from isakit.debug.profile_page import table
from isakit.debug.profile_records import BlockCounts, Line, LineRecord, ProfileRecord
from isakit.debug.transactions import (
    HALF,
    IDLE,
    Transactions,
    constant_reads,
    global_10,
    global_12,
    shared_steps,
)
from isakit.engine import Lanes
from isakit.engine.protocol import Array
from isakit.errors import LaunchError
from isakit.line_table import LineTable
from isakit.machine.tesla.address_spaces import ResolvedAccess
from isakit.machine.tesla.chips import CHIPS
from isakit.machine.tesla.gang import Gang
from isakit.machine.tesla.kernel_code import Op
from isakit.machine.tesla.machine import Machine
from isakit.machine.tesla.occupancy import Occupancy, occupancy
from isakit.programs.kernel_names import source_name
from isakit.spec import InstructionKind

KEPT = 1 << 16
"""Patterns of half-warps whose costs are cached."""


@dataclass
class Profile:
    """A profile: `lines` by address, and `counters` under the names of NVIDIA's profiler for these chips."""

    kernel: str
    chip: str
    capability: str
    lines: dict[int, Line]
    counters: dict[str, int]
    occupancies: list[Occupancy]
    source: LineTable | None = None
    """The source lines of the instructions."""
    blocks: list[BlockCounts] = field(default_factory=list[BlockCounts])
    """The counts by basic block."""

    def __iter__(self) -> Iterator[Line]:
        return iter(self.lines[a] for a in sorted(self.lines))

    def record(self) -> ProfileRecord:
        """Return the profile as a record."""
        occupancies = [o.record() for o in self.occupancies]
        return ProfileRecord(
            self.kernel,
            self.chip,
            self.capability,
            self.counters,
            occupancies,
            [self._line(x) for x in self],
            self.blocks,
        )

    def _line(self, x: Line) -> LineRecord:
        where = self.source.at(x.address) if self.source is not None else None
        if where is None:
            return LineRecord(**vars(x))
        return LineRecord(**vars(x), path=where.path, line=where.line, ptx_line=where.ptx)

    def by_source(self) -> list[str]:
        """Show executions and lanes of every source line; nothing if there is no line table."""
        if self.source is None:
            return []
        sums: dict[str, list[int]] = {}
        for x in self:
            counts = sums.setdefault(self.source.shown(x.address) or "(no line)", [0, 0, 0])
            for k, n in enumerate((x.executions, x.lanes, x.possible)):
                counts[k] += n
        rows = sorted(sums.items(), key=lambda item: -item[1][0])
        out = [f"{'executed':>9} {'lanes':>6}  line"]
        for line, (n, lanes, most) in rows:
            out.append(f"{n:>9} {100 * lanes / most if most else 0:>5.0f}%  {line}")
        return out

    def listing(self) -> list[str]:
        """Show the code with the counts of each instruction, and its source lines."""
        out = [f"{'executed':>9} {'lanes':>6} {'moved':>9} {'serial':>6}  code"]
        last = ""
        for x in self:
            said = self.source.shown(x.address) if self.source is not None else ""
            if said and said != last:
                out.append(f"{'':>34}{said}")
            last = said
            lanes = f"{100 * x.efficiency:.0f}%" if x.possible else ""
            moved = str(x.moved) if x.requests and x.moved else ""
            notes = [f"{x.divergent} divergent"] if x.divergent else []
            if x.requests > x.coalesced and "g" in {s[0] for s in x.spaces}:
                notes.append(f"{x.requests - x.coalesced} of {x.requests} half-warps not coalesced")
            tail = f"  ; {', '.join(notes)}" if notes else ""
            out.append(
                f"{x.executions:>9} {lanes:>6} {moved:>9} {x.serialized or '':>6}  {x.address:04x} {x.text}{tail}"
            )
        return out

    def block_table(self) -> list[str]:
        """Show the counts of the blocks."""
        out = [f"{'entered':>9} {'executed':>9} {'lanes':>6} {'divergent':>9} {'moved':>9} {'serial':>6}  block"]
        for b in self.blocks:
            lanes = f"{100 * b.lanes / b.possible:.0f}%" if b.possible else ""
            out.append(f"{b.entered:>9} {b.instructions:>9} {lanes:>6} {b.divergent or '':>9} {b.moved or '':>9} "
                       f"{b.serialized or '':>6}  {b.address:04x}-{b.end:04x} {b.name}")  # fmt: skip
        return out

    def table(self) -> list[str]:
        """Show the counters and the occupancies."""
        width = max(map(len, self.counters))
        out = [f"{name:<{width}}  {value}" for name, value in self.counters.items()]
        for o in self.occupancies:
            out.append(f"{o.chip:<6} {100 * o.fraction:3.0f}% occupied: {o.blocks} blocks, "
                       f"{o.warps} of {o.most} warps, limited by {o.limit}")  # fmt: skip
        return out

    def _repr_html_(self) -> str:
        return table(self.record())

    def __repr__(self) -> str:
        return f"<profile of {self.kernel}: {self.counters['instructions']} instructions of warps>"


def profile(
    machine: object,
    name: str = "",
    *,
    capability: str | None = None,
    max_instructions: int | None = None,
    source: LineTable | None = None,
    labels: Mapping[str, int] | None = None,
) -> Profile:
    """Run a launch and count.

    Args:
        machine: a Tesla `Machine` that has not begun; another one runs the launch on the same device memory.
        name: of the kernel, as its file has it; the profile has that of its source.
        capability: the rules to apply, "1.0" or "1.3" (default: those of the launch's chip).
        max_instructions: limit of the run, in instructions of warps.
        source: source lines of instructions, to be shown beside them.
        labels: byte addresses by name, for the names of blocks.

    Raises LaunchError for another machine, MachineFault, NotModelled.
    """
    if not isinstance(machine, Machine):
        raise LaunchError("only launches on Tesla can be profiled")
    if machine.stats.warp_instructions:
        raise LaunchError("the launch has begun; the profiler takes one that has not")
    chip = machine.launch.chip
    old = capability in ("1.0", "1.1") if capability is not None else chip.strict_coalescing
    if capability not in (None, "1.0", "1.1", "1.2", "1.3"):
        raise LaunchError(f"no compute capability {capability!r} among 1.0, 1.1, 1.2 and 1.3")
    running = _ProfiledMachine(machine, global_10 if old else global_12)
    running.run(max_instructions=max_instructions)
    if machine.after is not None:
        machine.after()
    launch = machine.launch
    said = capability or ("1.0/1.1" if old else "1.2/1.3")
    places = [occupancy(c, launch.threads, launch.code.registers, launch.shared_limit) for c in CHIPS]
    blocks = _block_counts(program_of(launch.code), running.lines, labels or {})
    counters = _counters(running, old)
    return Profile(source_name(name), chip.variant, said, running.lines, counters, places, source, blocks)


def _block_counts(program: Program, lines: Mapping[int, Line], labels: Mapping[str, int]) -> list[BlockCounts]:
    """Return the basic blocks that were executed, by address. `labels`: addresses by name."""
    names = {address: source_name(name) for name, address in labels.items()}
    out: list[BlockCounts] = []
    for block in control_flow(program, sorted(names)).blocks:
        mine = [lines[i.address] for i in block.instructions if i.address in lines]
        if not mine:
            continue
        first = lines.get(block.address)
        sums = {n: sum(getattr(x, n) for x in mine) for n in
                ("lanes", "possible", "divergent", "moved", "used", "serialized")}  # fmt: skip
        name = names.get(block.address, f"{block.address:04x}")
        entered = 0 if first is None else first.executions
        out.append(BlockCounts(name, block.address, block.end, entered, sum(x.executions for x in mine), **sums))
    return out


def _counters(machine: _ProfiledMachine, old: bool) -> dict[str, int]:
    """Return the totals, under the names of NVIDIA's profiler where it has them."""
    lines = machine.lines.values()

    def total(what: Callable[[Line], int], *, space: str, kind: str = "") -> int:
        return sum(what(x) for x in lines if any(s[0] == space for s in x.spaces) and (not kind or x.kind == kind))

    out = {
        "instructions": sum(x.executions for x in lines),
        "thread_instructions": sum(x.lanes for x in lines),
        "branch": sum(x.executions for x in lines if x.kind == "branch"),
        "divergent_branch": sum(x.divergent for x in lines),
        "warp_serialize": machine.serialized_warps,
        "cta_launched": machine.launch.blocks,
        "gld_request": machine.requests["gld"],
        "gst_request": machine.requests["gst"],
        "local_load": machine.requests["lld"],
        "local_store": machine.requests["lst"],
        "tex_fetches": sum(x.lanes for x in lines if x.kind == "texture"),
        "barriers": sum(x.executions for x in lines if x.kind == "barrier"),
    }
    for short in ("gld", "gst"):
        sizes = machine.sizes[short]
        if old:
            out[f"{short}_coherent"], out[f"{short}_incoherent"] = machine.coherent[short]
        else:
            out |= {f"{short}_{n}b": sizes.get(n, 0) for n in (32, 64, 128)}
        out[f"{short}_bytes_moved"] = machine.moved[short]
        out[f"{short}_bytes_used"] = machine.used[short]
    out["local_bytes"] = total(lambda x: x.used, space="l")
    out["shared_conflict_steps"] = total(lambda x: x.serialized, space="s")
    return out


class _ProfiledMachine(ObservedMachine):
    """A machine that counts executed instructions and memory transactions."""

    def __init__(self, given: Machine, rule: Callable[..., Transactions]) -> None:
        self.rule = rule
        self.lines: dict[int, Line] = {}
        self.serialized_warps = 0
        self.requests = dict.fromkeys(("gld", "gst", "lld", "lst"), 0)
        self.coherent = {"gld": [0, 0], "gst": [0, 0]}
        self.sizes: dict[str, dict[int, int]] = {"gld": {}, "gst": {}}
        self.moved = {"gld": 0, "gst": 0}
        self.used = {"gld": 0, "gst": 0}
        self._costs: dict[tuple[str, int, bytes], Any] = {}
        super().__init__(given.launch, given.device)

    def _line(self, op: Op) -> Line:
        line = self.lines.get(op.pc)
        if line is None:
            i = op.instruction
            kind = str(i.group) if i is not None and i.group is not None else ""
            line = self.lines[op.pc] = Line(op.pc, i.text if i is not None else "", kind)
        return line

    def before(self, gang: Gang, op: Op, lanes: Lanes, executing: Lanes) -> None:
        """Count the execution."""
        line = self._line(op)
        line.executions += len(gang)
        line.lanes += executing.count if executing.active is None else int(np.count_nonzero(executing.active))
        line.possible += 32 * len(gang)
        if op.instruction is not None and op.instruction.group is InstructionKind.BRANCH:
            taken = executing.mask.reshape(-1, 32).any(axis=1)
            stay = (lanes.mask & ~executing.mask).reshape(-1, 32).any(axis=1)
            line.divergent += int(np.count_nonzero(taken & stay))

    def accessed(self, name: str, address: Array, size: int, lanes: Lanes, chosen: Array | None,
                 placed: ResolvedAccess) -> None:  # fmt: skip
        """Count the cost of an access, half-warp by half-warp."""
        assert self.op is not None
        line = self._line(self.op)
        line.spaces.add(name)
        where = np.full(lanes.count, IDLE, np.int64)
        if chosen is None:
            where[:] = address
        else:
            where[chosen] = address
        if chosen is None and lanes.active is not None:
            where[~lanes.active] = IDLE
        rows = where.reshape(-1, HALF)
        rows = rows[(rows != IDLE).any(axis=1)]
        if not len(rows):
            return
        line.requests += len(rows)
        used = size * int(np.count_nonzero(rows != IDLE))
        line.used += used
        if name[0] == "g":
            self._global(line, rows, size, used)
        elif name[0] == "l":
            self.requests["lld" if self.kind == "read" else "lst"] += -(-lanes.count // 32)
            line.moved += used
        else:
            self._served(line, name, rows)
            serialized = self._steps(name, where.reshape(-1, 32))
            self.serialized_warps += serialized

    def _global(self, line: Line, rows: Array, size: int, used: int) -> None:
        short = "gld" if self.kind == "read" else "gst"
        self.requests[short] += len(rows)
        self.used[short] += used
        for row, count in _patterns(rows, 16 * size if size > 8 else 256):
            cost: Transactions = self._cost("g", size, row, lambda r, n: self.rule(r, n))
            line.coalesced += count * cost.coalesced
            line.transactions += count * len(cost.sizes)
            line.moved += count * cost.moved
            self.moved[short] += count * cost.moved
            self.coherent[short][not cost.coalesced] += count * len(cost.sizes)
            for n in cost.sizes:
                line.sizes[n] = line.sizes.get(n, 0) + count
                self.sizes[short][n] = self.sizes[short].get(n, 0) + count

    def _served(self, line: Line, name: str, rows: Array) -> None:
        for row, count in _patterns(rows, 4 * HALF if name == "s" else 1 << 32):
            steps = self._steps_of(name, row)
            line.serialized += count * (steps - 1)
            line.coalesced += count * (steps == 1)

    def _steps_of(self, name: str, row: Array) -> int:
        if name != "s":
            return self._cost("c", 0, row, lambda r, _: constant_reads(r))
        writes = self.kind != "read"
        return self._cost(f"s{writes}", 0, row, lambda r, _: shared_steps(r, writes))

    def _steps(self, name: str, warps: Array) -> int:
        """Return how many warps need more than one step for an access in one of their halves."""
        total = 0
        for row, count in _patterns(warps, 4 * HALF if name == "s" else 1 << 32):
            halves = [h for h in (row[:HALF], row[HALF:]) if (h != IDLE).any()]
            total += count * any(self._steps_of(name, h) > 1 for h in halves)
        return total

    def _cost(self, what: str, size: int, row: Array, rule: Callable[[list[int], int], Any]) -> Any:
        key = what, size, row.tobytes()
        found = self._costs.get(key)
        if found is None:
            if len(self._costs) >= KEPT:
                self._costs.clear()
            found = self._costs[key] = rule(row.tolist(), size)
        return found


def _patterns(rows: Array, period: int) -> Iterator[tuple[Array, int]]:
    """Yield rows of equal cost once, with their number: shifts by a multiple of `period` cost the same."""
    low = np.where(rows == IDLE, np.iinfo(np.int64).max, rows).min(axis=1) // period * period
    moved = np.where(rows == IDLE, IDLE, rows - low[:, None])
    different, counts = np.unique(moved, axis=0, return_counts=True)
    yield from zip(different, counts.tolist(), strict=True)


__all__ = ["Line", "Profile", "profile"]
