"""A Tesla machine that checks every access of its lanes in advance, and continues where the real one faults."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from isakit.debug.breakpoints import memory_operands
from isakit.debug.observed import ObservedMachine, numbers_of
from isakit.debug.sanitize.findings import SanitizerReport
from isakit.debug.sanitize.shadow import Accesses, Collision, Shadow
from isakit.engine import Lanes
from isakit.engine.protocol import Array, Selection
from isakit.errors import MachineFault
from isakit.machine.tesla.address_spaces import LinearWindow, ResolvedAccess
from isakit.machine.tesla.device_memory import DeviceMemory
from isakit.machine.tesla.gang import Gang
from isakit.machine.tesla.kernel_code import Op
from isakit.machine.tesla.launch import HEADER_BYTES, Launch
from isakit.machine.tesla.machine import has_effect
from isakit.spec.operands import Condition

Range = tuple[int, int]
ZERO_SOURCES = frozenset((63, *range(124, 128)))
"""Registers that compilers read as 0: an unallocated register reads 0. Source: [tesla] 2.1."""
_WORDS = {"read": "reads", "write": "writes", "atomic": "changes"}


class SanitizedMachine(ObservedMachine):
    """Runs a launch and fills `report`. `unwritten`: ranges of device memory (address, size) that are uninitialised."""

    keeps_order = False
    """Warps are interleaved, so that a missing barrier is one finding and not also reads before any write."""

    def __init__(
        self, launch: Launch, device: DeviceMemory, report: SanitizerReport, unwritten: Sequence[Range] = ()
    ) -> None:
        self.report = report
        lenient = replace(launch.choices, out_of_range="ignore", misaligned="truncate")
        self._grain = _grain(launch)
        n = launch.warps
        self._warps_of = np.arange(32 * n * launch.blocks, dtype=np.int32) >> 5  # threads are counted by warps here
        self._blocks_of = np.arange(n * launch.blocks, dtype=np.int32) // np.int32(n)
        self._epochs = np.zeros(n * launch.blocks, np.int32)
        allocated = device.ranges  # a card's memory is addresses of 4 GiB, of which a program uses a few
        span = range(int(allocated[0, 0]), int(allocated[-1].sum(dtype=np.int64))) if len(allocated) else range(0)
        self._global = Shadow(span, self._grain["g"], self._warps_of, self._blocks_of, written=True, own=False)
        for address, size in unwritten:
            self._global.forget(address, size)
        self._kept: Any = None
        self._told: set[tuple[str, int]] = set()
        self._barriers = 0
        self._shared_ranges = _overlapping(launch)
        super().__init__(replace(launch, choices=lenient), device)

    # --- setting up ---------------------------------------------------------------------------------------------------
    def _start_wave(self) -> None:
        super()._start_wave()
        state = self.state
        first = self.blocks[0].number * self.launch.warps
        self._first_warp = first
        self._kept = None
        self._written = {name: np.zeros(rows.shape, bool) for name, rows in state.files.items()}
        self._written["r"][0] = True
        self._written["a"][0] = True
        self._everywhere: dict[str, Array] = {n: np.asarray(r.all(axis=1)) for n, r in self._written.items()}
        """Registers that all lanes have written."""
        self._local: dict[str, Shadow] = {}
        for name, space in list(state.spaces.items()):
            if name in ("s", "l"):
                own: Any = space
                shadow = Shadow(range(own.memory.size), self._grain[name], self._warps_of, self._blocks_of,
                                written=False, own=True)  # fmt: skip
                if name == "s":
                    for k in range(len(self.blocks)):
                        shadow.mark(k * own.limit, HEADER_BYTES + len(self.launch.params))
                self._local[name] = shadow

    def refused(self, space: str, address: Array, lanes: Lanes) -> bool:
        self._find("constant-write", lanes, address, space)
        return True

    def _find(self, kind: str, lanes: Lanes, address: Array, space: str) -> None:
        chosen = np.flatnonzero(lanes.mask)
        if len(chosen):
            where = np.broadcast_to(np.asarray(address), (lanes.count,))
            k = int(chosen[0])
            self._add(kind, len(chosen), lambda: f"{self._who(lanes.numbers[k])} at {space}[{int(where[k]):#x}]")

    # --- instructions -------------------------------------------------------------------------------------------------
    def before(self, gang: Gang, op: Op, lanes: Lanes, executing: Lanes) -> None:
        """Check the registers read, and barriers."""
        i = op.instruction
        if i is not None and op.dropped:
            self._dropped(op, lanes)
        if i is not None and (op.guard is not None or has_effect(op, executing)):
            self._registers_read(op, lanes, executing)
            if i.mnemonic == "bar":
                self._barrier(gang, op)

    def behind(self, gang: Gang, op: Op, executing: Lanes) -> None:
        """Record the registers written."""
        if op.instruction is not None:
            where, every = _place_of(executing), self.state.lane_count
            for file, n in op.instruction.defs:
                rows = self._written.get(file)
                if rows is not None and n < len(rows) and not self._everywhere[file][n]:
                    rows[n, where] = True
                    self._everywhere[file][n] = executing.active is None and executing.count == every

    def _registers_read(self, op: Op, lanes: Lanes, executing: Lanes) -> None:
        i = op.instruction
        assert i is not None
        asked = {(o.register.file, o.register.index) for o in i.operands
                 if isinstance(o, Condition) and o.register is not None}  # fmt: skip
        for file, n in i.uses:
            rows = self._written.get(file)
            if rows is None:
                continue
            meant = lanes if (file, n) in asked else executing
            if n >= len(rows):
                self._unallocated(file, n, meant)
                continue
            if self._everywhere[file][n]:
                continue
            known = rows[n, _place_of(meant)]
            if not known.all():
                bad = numbers_of(meant)[~known]
                self._add(
                    "uninitialised-register", len(bad), lambda f=file, n=n, b=bad: f"${f}{n} of {self._who(b[0])}"
                )
                rows[n, bad] = True  # once is enough

    def _unallocated(self, file: str, n: int, lanes: Lanes) -> None:
        """Report a read of an unallocated register; nothing ever writes it, so once is enough."""
        numbers = numbers_of(lanes)
        if n not in ZERO_SOURCES and len(numbers) and (file, n) not in self._told:
            self._told.add((file, n))
            count = len(self._written[file])
            self._add("uninitialised-register", len(numbers), lambda: (
                f"${file}{n} of {self._who(numbers[0])}, which has {count} registers; it reads 0"))  # fmt: skip

    def _dropped(self, op: Op, lanes: Lanes) -> None:
        """Report an instruction without effect because its destination is not allocated."""
        assert op.instruction is not None
        count = len(self._written["r"])
        named = [n for file, n in op.instruction.defs if file == "r" and n >= count and n not in ZERO_SOURCES]
        numbers = numbers_of(lanes)
        if named and len(numbers):
            self._add("unallocated-register", len(numbers), lambda: (
                f"$r{named[0]} of {self._who(numbers[0])}, which has {count} registers; nothing is written")
            )  # fmt: skip

    def _barrier(self, gang: Gang, op: Op) -> None:
        for w, mask in zip(self.members(gang), gang.masks.tolist(), strict=True):
            there = ~w.control.exited & 0xFFFF_FFFF
            if mask != there:
                missing = there & ~mask
                self._add("divergent-barrier", 1, lambda w=w, m=missing: (
                    f"block {w.block.index} warp {w.index}: lanes {m:08x} are elsewhere"))  # fmt: skip
        requests = op.instruction.text if op.instruction is not None else ""
        if "wait" in requests:
            self._epochs[self._first_warp + gang.numbers] += 1
            self._barriers += 1
            oldest = int(self._epochs[self._first_warp : self._first_warp + len(self.warps)].min())
            for shadow in self._local.values():
                shadow.passed(oldest)

    # --- accesses -----------------------------------------------------------------------------------------------------
    def accessed(
        self, name: str, address: Array, size: int, lanes: Lanes, chosen: Array | None, placed: ResolvedAccess
    ) -> None:
        """Check an access of lanes to a space; `placed`: its addresses."""
        numbers = lanes.numbers if chosen is None else lanes.numbers[chosen]
        _, at, good = placed
        if size > 1 and int(np.bitwise_or.reduce(address)) & (size - 1):
            bad = np.flatnonzero(address & (size - 1))
            self._add("misaligned", len(bad), self._at(name, address, numbers, bad, size))
        if good is not None:
            bad = np.flatnonzero(~good)
            self._add("out-of-bounds", len(bad), self._at(name, address, numbers, bad, size))
            at, numbers, address = at[good], numbers[good], address[good]
        for low, high, other in self._shared_ranges.get(name, ()) if self.kind != "read" else ():
            bad = np.flatnonzero((at + size > low) & (at < high))
            if len(bad):
                where = self._at(name, address, numbers, bad, size)
                self._add("overlapping-buffers", len(bad), lambda w=where, o=other: f"{w()}, which {o}[] shows, too")
        shadow = self._global if name[0] == "g" else self._local.get(name)
        if shadow is None or not len(at):
            return
        place, n = shadow.places(at, size)
        k = numbers if n == 1 else np.repeat(numbers, n)
        if self.kind != "write":
            bad = shadow.unwritten(place)
            if len(bad):
                self._add("uninitialised-memory", len(bad), self._at(name, address, numbers, bad // n, size))
                shadow.mark_places(place[bad])
        if name == "l":
            if self.kind != "read":
                shadow.mark_places(place)
            return
        a = Accesses(place, *self._threads(lanes, k, whole=chosen is None and good is None, n=n))
        pc = self.op.pc if self.op is not None else 0
        if self.kind == "read":
            found = shadow.read(a, pc)
        else:
            value = self._values(lanes, chosen, good, n) if self.kind == "write" else None
            same: Array | None = None
            if value is not None and size <= 4:
                old = placed[0].load(at, size)
                same = (old if n == 1 else np.repeat(old, n)) == (value & ((1 << 8 * size) - 1))
            found = shadow.write(a, pc, value, same, self.kind == "atomic")
        for c in found:
            self._race(name, c, address, numbers, n, a)

    def _threads(self, lanes: Lanes, k: Array, whole: bool, n: int) -> tuple[Array, Array, Array, Array]:
        """Return threads, their warps and blocks, and epochs, of the lanes `k`; cached for lanes that stay together."""
        kept = self._kept
        if whole and kept is not None and kept[0] is lanes and kept[1] == n and kept[2] == self._barriers:
            return kept[3]
        threads = (k + 32 * self._first_warp).astype(np.int32)
        warp = threads >> 5
        out = threads, warp, self._blocks_of[warp], self._epochs[warp]
        if whole:
            self._kept = lanes, n, self._barriers, out
        return out

    def _values(self, lanes: Lanes, chosen: Array | None, good: Array | None, n: int) -> Array | None:
        """Return the value a store writes to each cell; None for values of several words."""
        if isinstance(self.value, tuple):
            return None
        value = np.broadcast_to(np.asarray(self.value), (lanes.count,))
        value = value if chosen is None else value[chosen]
        value = value if good is None else value[good]
        return value if n == 1 else np.repeat(value, n)

    def _race(self, name: str, c: Collision, address: Array, numbers: Array, n: int, a: Accesses) -> None:
        for pc in np.unique(c.pc).tolist():
            mine = np.flatnonzero(c.pc == pc)
            k = int(mine[0])
            lane = int(c.where[k]) // n

            def example(k: int = k, lane: int = lane, pc: int = pc) -> str:
                earlier = "written" if c.earlier_wrote else "read"
                return (
                    f"{self._who(numbers[lane])} {_WORDS[self.kind]} {name}[{int(address[lane]):#x}], "
                    f"{earlier} by {self._thread(int(c.thread[k]))} at {pc:#06x} with no barrier between"
                )

            self._add("race", len(mine), example, other=pc)

    # --- words --------------------------------------------------------------------------------------------------------
    def _at(self, name: str, address: Array, numbers: Array, bad: Array, size: int) -> Callable[[], str]:
        k = int(bad[0])
        return lambda: f"{self._who(numbers[k])} {_WORDS[self.kind]} {size} bytes at {name}[{int(address[k]):#x}]"

    def _who(self, number: int) -> str:
        return self._thread(32 * self._first_warp + int(number))

    def _thread(self, thread: int) -> str:
        warp, lane = divmod(thread, 32)
        block, index = divmod(warp, self.launch.warps)
        y, x = divmod(block, self.launch.grid[0])
        return f"block ({x}, {y}) thread {32 * index + lane}"

    def _add(self, kind: str, count: int, example: Callable[[], str], other: int | None = None) -> None:
        op = self.op
        text = op.instruction.text if op is not None and op.instruction is not None else ""
        self.report.add(kind, op.pc if op is not None else 0, text, count, example, other)


def _place_of(lanes: Lanes) -> Selection:
    """Return the index of executing lanes on the machine's lane axis: a slice if they are contiguous."""
    return lanes.sel if lanes.active is None else lanes.numbers[lanes.active]


def _grain(launch: Launch) -> dict[str, int]:
    """Return the size of a cell in bytes per kind of space: a word, or less if the program accesses less.

    Halves of the words that the launch writes before the parameters do not count: no program writes these.
    """
    out = {"s": 4, "l": 4, "g": 4}
    code, pc = launch.code, launch.code.address
    while pc < code.end:
        op = code.at(pc)
        if op.meaning is not None:
            for e in op.meaning.of_kind("load", "store", "atomic"):
                if e.name[0] in out and not (e.name == "s" and e.kind == "load" and _of_header(op)):
                    out[e.name[0]] = min(out[e.name[0]], int(e.get("size", 1)))
        pc = op.following
    return out


def _overlapping(launch: Launch) -> dict[str, list[tuple[int, int, str]]]:
    """Return per g[] space the ranges of device memory that it shares with others: (begin, end, the other space).

    Spaces on the same buffer, or on all memory, share it intentionally.
    """
    out: dict[str, list[tuple[int, int, str]]] = {}
    some = {n: w for n, w in launch.windows.items() if isinstance(w, LinearWindow) and w != LinearWindow()}
    for n, w in some.items():
        for m, other in some.items():
            low, high = max(w.base, other.base), min(w.end, other.end)
            if other != w and low < high:
                out.setdefault(f"g{n}", []).append((low, high, f"g{m}"))
    return out


def _of_header(op: Op) -> bool:
    """Return true if an instruction only accesses fixed addresses of s[] before the parameters."""
    found = [] if op.instruction is None else [m for m in memory_operands(op.instruction) if m.space == "s"]
    return bool(found) and all(
        m.base is None and m.index is None and m.offset + (m.size or 16) <= HEADER_BYTES for m in found
    )


def run(launch: Launch, device: DeviceMemory, report: SanitizerReport, unwritten: Sequence[Range] = (),
        max_instructions: int | None = None) -> SanitizedMachine:  # fmt: skip
    """Run a launch and report; faults are findings. Raises NotModelled."""
    machine = SanitizedMachine(launch, device, report, unwritten)
    try:
        machine.run(max_instructions=max_instructions)
    except MachineFault as e:
        report.finished = False
        kind = {"BARRIER_DEADLOCK": "missing-warp", "UNBOUND_SPACE": "unbound-space"}.get(e.kind, "fault")
        op = launch.code.at(e.pc)
        text = op.instruction.text if op.instruction is not None else ""
        report.add(kind, e.pc, text, 1, lambda text=str(e): text)
    return machine
