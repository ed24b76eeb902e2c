"""The interface of every machine for outside observers: debuggers, servers, pages.

A target is a machine with a program in it. Its threads are the smallest units that have registers of their own: lanes
of warps (Tesla), the core (vµc), invocations (USSE). Threads that execute together form a group: a warp, the core, the
invocations that are at the same instruction. Code addresses are byte addresses, as in `Instruction.address`; memory
addresses are bytes, too, and cells of more bytes are little-endian.

`isakit.machine.targets.target_of` makes one of a machine of any of the three instruction sets.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from isakit.engine.protocol import Array
from isakit.errors import LaunchError
from isakit.machine.snapshot import Snapshot
from isakit.spec import RegisterFile

ThreadState = Literal["ready", "waiting", "finished"]
Reason = Literal["finished", "until", "budget", "asleep"]


class RegisterRef(NamedTuple):
    """A reference to a register: its file and its number in that file."""

    file: str
    number: int


@dataclass(frozen=True)
class Thread:
    """The position of a thread.

    Attributes: `number` (counts from 0); `name`; `address` of the instruction its group executes next, None where it
    has ended; `state` (`waiting`: at a barrier, or for an event); `active`: whether it takes part in that instruction,
    regardless of the instruction's condition; `group`: number of its group, until the next step.
    """

    number: int
    name: str
    address: int | None
    state: ThreadState
    active: bool
    group: int


@dataclass(frozen=True)
class MemorySpace:
    """A memory: addresses 0 to `size` - 1. `shared`: all threads share it, else each has its own."""

    name: str
    size: int
    writable: bool = True
    shared: bool = True


@dataclass(frozen=True)
class MachineStop:
    """The reason why a run ended, and a thread of the group it stopped at.

    `reason`: `finished`, `until` (reached an address to stop at), `budget` (instructions used up), or `asleep` (only
    the host could wake the machine).
    """

    reason: Reason
    thread: int | None = None


class Target(ABC):
    """A machine with a program, between two instructions.

    Attributes: `isa`, `variant`: names of the instruction set and the variant. Every method that executes raises
    MachineFault and NotModelled, and then leaves the state as it was before the instruction. Everything else raises
    LaunchError for a thread, register or memory the target does not have.
    """

    isa: str
    variant: str

    # --- threads ----------------------------------------------------------------------------------------------------
    @property
    @abstractmethod
    def thread_count(self) -> int:
        """Number of threads; those of blocks that are not resident yet do not count."""

    @abstractmethod
    def thread(self, number: int) -> Thread:
        """Return the position of a thread."""

    @property
    def threads(self) -> Sequence[Thread]:
        """All threads. If there are many, get single ones with `thread`."""
        return [self.thread(n) for n in range(self.thread_count)]

    @property
    @abstractmethod
    def position(self) -> int | None:
        """A thread of the group that `step` executes next; None when all threads have ended."""

    @property
    def finished(self) -> bool:
        """True if nothing will execute any more."""
        return self.position is None

    # --- registers --------------------------------------------------------------------------------------------------
    @property
    @abstractmethod
    def register_files(self) -> Mapping[str, RegisterFile]:
        """The register files a thread sees, with as many registers as there are."""

    @abstractmethod
    def _read(self, register: RegisterRef, thread: int) -> int: ...

    @abstractmethod
    def _write(self, register: RegisterRef, value: int, thread: int) -> None: ...

    def read_register(self, register: tuple[str, int], thread: int = 0) -> int:
        """Return the value of a register, without side effects."""
        return self._read(self._checked(register, thread), thread)

    def read_file(self, file: str) -> Array:
        """Return the registers of a file in all threads, as an array [registers, threads] of its own.

        Raises LaunchError.
        """
        count = self.register_files[self._checked((file, 0), 0).file].count
        every = range(self.thread_count)
        return np.array([[self._read(RegisterRef(file, n), t) for t in every] for n in range(count)], np.uint64)

    def write_register(self, register: tuple[str, int], value: int, thread: int = 0) -> None:
        """Set a register to the low bits of `value`."""
        checked = self._checked(register, thread)
        self._write(checked, value & (1 << self.register_files[checked.file].width) - 1, thread)

    def register(self, name: str) -> RegisterRef:
        """Return the register with this name, spelled as in listings."""
        for file in self.register_files.values():
            match = re.fullmatch(re.escape(file.text or f"{file.name}{{n}}").replace(r"\{n\}", r"(\d+)"), name)
            if match:
                return self._checked((file.name, int(match[1]) if match.groups() else 0), 0)
        raise LaunchError(f"{self.isa} has no register {name!r}")

    def _checked(self, register: tuple[str, int], thread: int) -> RegisterRef:
        file, index = register
        files = self.register_files
        if file not in files:
            raise LaunchError(f"{self.isa} has no register file {file!r}; there are {', '.join(files)}")
        if not 0 <= index < files[file].count:
            raise LaunchError(f"{file}{index}: the file has {files[file].count} registers")
        self._check_thread(thread)
        return RegisterRef(file, index)

    def _check_thread(self, number: int) -> None:
        if not 0 <= number < self.thread_count:
            raise LaunchError(f"no thread {number}; there are {self.thread_count}")

    # --- memories ---------------------------------------------------------------------------------------------------
    @property
    @abstractmethod
    def memories(self) -> Mapping[str, MemorySpace]:
        """The memories a thread sees."""

    @abstractmethod
    def read_memory(self, space: str, address: int, size: int, thread: int = 0) -> bytes:
        """Read `size` bytes.

        Raises MachineFault where a program could not read them, LaunchError outside of a memory that has an end.
        """

    @abstractmethod
    def write_memory(self, space: str, address: int, data: bytes, thread: int = 0) -> None:
        """Write bytes. Raises like `read_memory`; then nothing has been written."""

    def _space(self, name: str, address: int, size: int, *, writing: bool = False) -> MemorySpace:
        space = self.memories.get(name)
        if space is None:
            raise LaunchError(f"no memory {name!r}; there are {', '.join(self.memories)}")
        if address < 0 or size < 0 or address + size > space.size:
            raise LaunchError(f"{name}: {size} bytes at {address:#x} are outside of its {space.size:#x} bytes")
        if writing and not space.writable:
            raise LaunchError(f"{name} cannot be written")
        return space

    # --- execution --------------------------------------------------------------------------------------------------
    @abstractmethod
    def step(self, thread: int | None = None) -> int | None:
        """Execute one instruction of one group; returns one of the group's threads, or None after the end.

        The group is that of `thread`, or the one of `position`.
        """

    @abstractmethod
    def run(self, until: Collection[int] = (), max_instructions: int | None = None) -> MachineStop:
        """Run until everything has ended, or a group is about to execute an instruction at an address of `until`.

        A group that is at such an address already executes that instruction first. `max_instructions` counts
        instructions of groups.
        """

    @abstractmethod
    def snapshot(self) -> Snapshot:
        """Return the whole state, to `restore` it later."""

    @abstractmethod
    def restore(self, snapshot: Snapshot) -> None:
        """Restore a snapshot of this machine, or of another one with the same settings."""
