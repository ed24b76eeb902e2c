"""The USSE machine as a target: threads are invocations, groups are invocations at the same instruction."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np

from isakit.arch.usse import usse
from isakit.engine.protocol import Array
from isakit.errors import BudgetExceeded, LaunchError
from isakit.machine.snapshot import Snapshot
from isakit.machine.target import MachineStop, MemorySpace, RegisterRef, Target, Thread
from isakit.machine.usse.shader_machine import MAX_INSTRUCTIONS, Machine
from isakit.spec import RegisterFile

CODE, MEMORY = "code", "memory"
_WORD = 8


class UsseTarget(Target):
    """A USSE machine whose program has been started. Memories: `memory`, which contains the buffers, and `code`."""

    isa = "usse"

    def __init__(self, machine: Machine) -> None:
        if machine.code is None:
            raise LaunchError("no program has been started")
        self.machine, self.code = machine, machine.code
        self.variant = machine.code.program.variant

    # --- threads ----------------------------------------------------------------------------------------------------
    @property
    def thread_count(self) -> int:
        """See `Target`."""
        return self.machine.lanes

    def thread(self, number: int) -> Thread:
        """See `Target`. Groups are numbered by their instruction."""
        self._check_thread(number)
        at = self.machine.at(number)
        name = f"invocation {number}"
        if at is None:
            return Thread(number, name, None, "finished", False, len(self.code))
        return Thread(number, name, _WORD * at, "ready", True, at)

    @property
    def position(self) -> int | None:
        """See `Target`."""
        waiting = self.machine.waiting
        if not waiting:
            return None
        mask = waiting[min(waiting)]
        return 0 if mask is None else int(mask.argmax())

    # --- registers --------------------------------------------------------------------------------------------------
    @property
    def register_files(self) -> Mapping[str, RegisterFile]:
        """See `Target`."""
        files = self.machine.files
        return {n: replace(f, count=len(files[n])) for n, f in usse.registers.items() if len(files.get(n, ()))}

    def _read(self, register: RegisterRef, thread: int) -> int:
        return int(self.machine.files[register.file][register.number, thread])

    def read_file(self, file: str) -> Array:
        """See `Target`."""
        self._checked((file, 0), 0)
        rows = self.machine.files[file]
        return np.array(np.broadcast_to(rows, (len(rows), self.machine.lanes)))

    def _write(self, register: RegisterRef, value: int, thread: int) -> None:
        if register.file == "sa":
            self.machine.own_shared()
        self.machine.files[register.file][register.number, thread] = value

    # --- memories ---------------------------------------------------------------------------------------------------
    @property
    def memories(self) -> Mapping[str, MemorySpace]:
        """See `Target`."""
        return {
            MEMORY: MemorySpace(MEMORY, 1 << 32),
            CODE: MemorySpace(CODE, _WORD * len(self.code), writable=False),
        }

    def read_memory(self, space: str, address: int, size: int, thread: int = 0) -> bytes:
        """See `Target`."""
        self._check_thread(thread)
        self._space(space, address, size)
        if space == CODE:
            words = b"".join(i.bytes for i in self.code.program)
            return words[address : address + size]
        return self.machine.memory.bytes_at(address, size).tobytes()

    def write_memory(self, space: str, address: int, data: bytes, thread: int = 0) -> None:
        """See `Target`."""
        self._check_thread(thread)
        self._space(space, address, len(data), writing=True)
        self.machine.memory.bytes_at(address, len(data))[:] = bytearray(data)

    # --- execution --------------------------------------------------------------------------------------------------
    def step(self, thread: int | None = None) -> int | None:
        """See `Target`."""
        if thread is not None:
            self._check_thread(thread)
        first = self.position if thread is None else thread
        return None if self.machine.step(thread) is None else first

    def run(self, until: Collection[int] = (), max_instructions: int | None = None) -> MachineStop:
        """See `Target`."""
        stops = frozenset(a // _WORD for a in until if a % _WORD == 0)
        try:
            limit = MAX_INSTRUCTIONS if max_instructions is None else max_instructions
            done = self.machine.resume(limit, until=stops)
        except BudgetExceeded:
            return MachineStop("budget", self.position)
        return MachineStop("finished") if done else MachineStop("until", self.position)

    def snapshot(self) -> Snapshot:
        """See `Target`."""
        return self.machine.snapshot()

    def restore(self, snapshot: Snapshot) -> None:
        """See `Target`."""
        self.machine.restore(snapshot)
