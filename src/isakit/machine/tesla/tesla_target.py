"""The Tesla machine as a target: threads are lanes, groups are warps."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np

from isakit.arch.tesla import tesla
from isakit.engine.protocol import Array, Lanes
from isakit.errors import BudgetExceeded, LaunchError, MachineFault
from isakit.machine.snapshot import Snapshot
from isakit.machine.target import MachineStop, MemorySpace, RegisterRef, Target, Thread
from isakit.machine.tesla.address_spaces import AccessFault, GlobalSpace, OwnSpace
from isakit.machine.tesla.block import FINISHED, Warp
from isakit.machine.tesla.machine import Machine
from isakit.spec import RegisterFile

CODE = "code"


class TeslaTarget(Target):
    """A Tesla machine. Memories: those of the launch, named as in programs (`s`, `l`, `c0`, `g14`), and `code`."""

    isa = "tesla"

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.variant = machine.launch.chip.variant

    # --- threads ----------------------------------------------------------------------------------------------------
    @property
    def thread_count(self) -> int:
        """Number of lanes of all resident warps, including lanes without a thread."""
        return 32 * len(self.machine.warps)

    def thread(self, number: int) -> Thread:
        """See `Target`."""
        self._check_thread(number)
        w = self._warp(number)
        state = w.status
        if w.control.exited >> (number & 31) & 1:
            state = FINISHED
        name = f"block {w.block.index} warp {w.index} lane {number & 31}"
        active = bool(w.active >> (number & 31) & 1) and w.status != FINISHED
        address = None if state == FINISHED else w.pc
        return Thread(number, name, address, state, active, w.number)  # type: ignore[arg-type]

    def _warp(self, thread: int) -> Warp:
        return self.machine.warps[thread >> 5]

    @property
    def position(self) -> int | None:
        """See `Target`.

        A lane of the warp that `step` executes; a deadlock or a new wave of blocks appears on that step.
        """
        machine = self.machine
        if machine.finished:
            return None
        if not machine.ready:
            return 0
        return self._first_lane(machine.warps[machine.ready.warp_after(machine.schedule()[3])])

    @staticmethod
    def _first_lane(w: Warp) -> int:
        return 32 * w.number + max(0, (w.active & -w.active).bit_length() - 1)

    # --- registers --------------------------------------------------------------------------------------------------
    @property
    def register_files(self) -> Mapping[str, RegisterFile]:
        """See `Target`."""
        files = self.machine.state.files
        return {n: replace(f, count=len(files[n])) for n, f in tesla.registers.items() if len(files.get(n, ()))}

    def _read(self, register: RegisterRef, thread: int) -> int:
        return int(self.machine.state.files[register.file][register.number, thread])

    def read_file(self, file: str) -> Array:
        """See `Target`."""
        self._checked((file, 0), 0)
        return np.array(self.machine.state.files[file])

    def _write(self, register: RegisterRef, value: int, thread: int) -> None:
        self.machine.state.files[register.file][register.number, thread] = value

    # --- memories ---------------------------------------------------------------------------------------------------
    @property
    def memories(self) -> Mapping[str, MemorySpace]:
        """See `Target`."""
        code = self.machine.launch.code
        out = {CODE: MemorySpace(CODE, code.end, writable=False)}
        for name, space in self.machine.state.spaces.items():
            if isinstance(space, OwnSpace):
                out[name] = MemorySpace(name, space.limit, space.writable, shared=space.bases is None)
            elif isinstance(space, GlobalSpace):
                out[name] = MemorySpace(name, 1 << 32)
        return out

    def read_memory(self, space: str, address: int, size: int, thread: int = 0) -> bytes:
        """See `Target`."""
        self._check_thread(thread)
        self._space(space, address, size)
        if space == CODE:
            return self._code(address, size)
        got = self._access(space, address, size, thread)
        return np.asarray(got, np.uint8).tobytes()

    def write_memory(self, space: str, address: int, data: bytes, thread: int = 0) -> None:
        """See `Target`."""
        self._check_thread(thread)
        self._space(space, address, len(data), writing=True)
        self._access(space, address, len(data), thread, data)

    def _code(self, address: int, size: int) -> bytes:
        code = self.machine.launch.code
        if address < code.address:
            raise LaunchError(f"code begins at {code.address:#x}")
        start = address - code.address
        return np.array(code.units, "<u4").tobytes()[start : start + size]

    def _access(self, space: str, address: int, size: int, thread: int, data: bytes | None = None) -> object:
        """Access memory by `size` accesses of one byte each, as the thread's lane would."""
        state = self.machine.state
        addresses = np.arange(address, address + size, dtype=np.uint32)
        lanes = Lanes(np.full(size, thread), size)
        try:
            if data is None:
                return state.load(space, addresses, 1, {}, lanes)
            state.store(space, addresses, np.frombuffer(data, np.uint8).astype(np.uint32), 1, {}, lanes)
        except AccessFault as e:
            w = self._warp(thread)
            raise MachineFault(
                e.kind, w.pc, w.block.index, w.index, thread & 31, e.space, e.address, e.detail
            ) from None
        return None

    # --- execution --------------------------------------------------------------------------------------------------
    def step(self, thread: int | None = None) -> int | None:
        """See `Target`."""
        if thread is not None:
            self._check_thread(thread)
        stepped = self.machine.step(None if thread is None else self._warp(thread))
        return None if stepped is None else 32 * stepped.number

    def run(self, until: Collection[int] = (), max_instructions: int | None = None) -> MachineStop:
        """See `Target`."""
        try:
            done = self.machine.run(frozenset(until) if until else None, max_instructions)
        except BudgetExceeded:
            return MachineStop("budget", self.position)
        if done:
            return MachineStop("finished")
        here = min(g.pc for g in self.machine.ready.gangs if g.pc in until)
        gang = next(g for g in self.machine.ready.gangs if g.pc == here)
        return MachineStop("until", self._first_lane(self.machine.warps[int(gang.numbers[0])]))

    def snapshot(self) -> Snapshot:
        """See `Target`."""
        return self.machine.snapshot()

    def restore(self, snapshot: Snapshot) -> None:
        """See `Target`."""
        self.machine.restore(snapshot)
