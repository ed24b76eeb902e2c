"""The vµc core as a target: one thread."""

from __future__ import annotations

from collections.abc import Collection, Mapping, MutableSequence

from isakit.arch.vuc import vuc
from isakit.machine.snapshot import Snapshot
from isakit.machine.target import MachineStop, MemorySpace, RegisterRef, Target, Thread
from isakit.machine.vuc.core import CoreMachine
from isakit.spec import RegisterFile

_BYTES = {"D": 2, "MVSI": 2, "MVSO": 2, "PWT": 1, "VP": 1}
"""Bytes of the cells of the core's memories."""
CODE, HOST = "code", "host"


class VucTarget(Target):
    """A vµc core. A step is a cycle, whether an instruction issues in it or the core waits.

    Memories: `D`, `PWT`, `VP`, `MVSI`, `MVSO`, `code`, and `host`, where the core's rings and surfaces lie.
    """

    isa = "vuc"

    def __init__(self, core: CoreMachine) -> None:
        self.core, self.variant = core, core.variant
        self._unit = vuc.variant(core.variant).unit_bytes

    # --- threads ----------------------------------------------------------------------------------------------------
    @property
    def thread_count(self) -> int:
        """See `Target`."""
        return 1

    def thread(self, number: int) -> Thread:
        """See `Target`."""
        self._check_thread(number)
        core = self.core
        state = "finished" if core.halted else "waiting" if not core.would_wake() else "ready"
        address = None if core.halted else core.pc * self._unit
        return Thread(0, "core", address, state, not core.halted, 0)

    @property
    def position(self) -> int | None:
        """See `Target`."""
        return None if self.core.halted else 0

    # --- registers --------------------------------------------------------------------------------------------------
    @property
    def register_files(self) -> Mapping[str, RegisterFile]:
        """See `Target`."""
        return vuc.registers

    def register(self, name: str) -> RegisterRef:
        """Return a register by name; special registers have their own names."""
        special = self.core.sr.names.get(name.removeprefix("$"))
        return RegisterRef("sr", special) if special is not None else super().register(name)

    def _read(self, register: RegisterRef, thread: int) -> int:
        file, n = register
        core = self.core
        return core.sr.peek(n) if file == "sr" else {"r": core.gpr, "p": core.pred, "acc": core.accumulator}[file][n]

    def _write(self, register: RegisterRef, value: int, thread: int) -> None:
        file, n = register
        if file == "sr":
            self.core.sr.poke(n, value)
        else:
            {"r": self.core.r, "p": self.core.p, "acc": self.core.acc}[file][n] = value

    # --- memories ---------------------------------------------------------------------------------------------------
    @property
    def memories(self) -> Mapping[str, MemorySpace]:
        """See `Target`."""
        own = {n: MemorySpace(n, width * len(self._cells(n))) for n, width in _BYTES.items()}
        code = MemorySpace(CODE, self._unit * len(self.core.code), writable=False)
        return {**own, CODE: code, HOST: MemorySpace(HOST, 1 << 40)}

    def _cells(self, name: str) -> MutableSequence[int]:
        core = self.core
        cells: Mapping[str, MutableSequence[int]] = {
            "D": core.dmem,
            "PWT": core.pwt,
            "VP": core.vpring.data,
            "MVSI": core.mvs_in.cells,
            "MVSO": core.mvs_out.cells,
        }
        return cells[name]

    def read_memory(self, space: str, address: int, size: int, thread: int = 0) -> bytes:
        """See `Target`."""
        self._check_thread(thread)
        self._space(space, address, size)
        if space == HOST:
            return self.core.memory.read(address, size)
        width = self._unit if space == CODE else _BYTES[space]
        cells = [w or 0 for w in self.core.code] if space == CODE else self._cells(space)
        first, last = address // width, -(-(address + size) // width)
        data = b"".join(v.to_bytes(width, "little") for v in cells[first:last])
        return data[address - first * width :][:size]

    def write_memory(self, space: str, address: int, data: bytes, thread: int = 0) -> None:
        """See `Target`."""
        self._check_thread(thread)
        self._space(space, address, len(data), writing=True)
        if space == HOST:
            self.core.memory.write(address, data)
            return
        cells, width = self._cells(space), _BYTES[space]
        for k, byte in enumerate(data):
            cell, shift = (address + k) // width, 8 * ((address + k) % width)
            cells[cell] = cells[cell] & ~(0xFF << shift) | byte << shift

    # --- execution --------------------------------------------------------------------------------------------------
    def step(self, thread: int | None = None) -> int | None:
        """See `Target`."""
        self._check_thread(thread or 0)
        if self.core.halted:
            return None
        self.core.pass_cycles(1)
        return 0

    def run(self, until: Collection[int] = (), max_instructions: int | None = None) -> MachineStop:
        """See `Target`; `max_instructions` counts cycles."""
        core = self.core
        stops = frozenset(address // self._unit for address in until if address % self._unit == 0)
        end = None if max_instructions is None else core.cycle + max_instructions
        if core.pc in stops and not core.halted and end != core.cycle:
            core.pass_cycles(1)
        while True:
            reason = core.advance(core.cycle + _SLICE if end is None else end, stops)
            if reason == "limit" and end is None:
                continue
            match reason:
                case "limit":
                    return MachineStop("budget", self.position)
                case "stop":
                    return MachineStop("until", 0)
                case "asleep":
                    return MachineStop("asleep", 0)
                case _:
                    return MachineStop("finished")

    def snapshot(self) -> Snapshot:
        """See `Target`."""
        return self.core.snapshot()

    def restore(self, snapshot: Snapshot) -> None:
        """See `Target`."""
        self.core.restore(snapshot)


_SLICE = 1 << 20
"""Cycles between two checks for a keyboard interrupt in a run without a limit."""
