"""The view of a machine for gdb: its registers, and the addresses of its memories.

A stock gdb knows x86 only and accepts a register description only as one of x86. So the description is that of an
x86-64 (little-endian, 64-bit addresses) whose own registers read 0, followed by ours. Two kinds are shared: `rip` is
the group's next instruction and, because x86-64 has registers of the same name, `r8` to `r15` hold ours if they exist.

Memories are mapped into the 64-bit space: memory `k` begins at `k << SHIFT`, code at 0. `rsp` points into a memory that
only gdb sees, with the return addresses of the calls as on an x86 stack: so gdb can show them, finish a function and
step over a call.

Source: "Debugging with GDB", appendices "Target Descriptions" and "Memory Map Format"; the names and sizes that gdb
requires of an x86-64 are those of its section "i386 Features".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape, quoteattr

from isakit.errors import LaunchError
from isakit.machine.target import MemorySpace, RegisterRef, Target

SHIFT = 44
_FIRST = {"code": 0, "s": 1, "l": 2, "c": 0x10, "g": 0x20, "memory": 1, "D": 1, "MVSI": 2, "MVSO": 3, "PWT": 4,
          "VP": 5, "host": 6}  # fmt: skip
"""The index of a memory; those with a number in their name (`c4`, `g14`) are numbered from it."""
STACK, STACK_SIZE = 0x3F << SHIFT, 1 << 16
"""The address at which gdb finds return addresses, and the size of that memory in bytes."""
REGISTERS, STRIDE = 0x3E << SHIFT, 16
"""The address at which gdb finds registers as memory, for variables, and the distance between registers in bytes."""
_GENERAL = ("rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", "rsp", *(f"r{n}" for n in range(8, 16)), "rip")
_SHORT = ("eflags", "cs", "ss", "ds", "es", "fs", "gs")
_STACK = tuple(f"st{n}" for n in range(8))
_CONTROL = ("fctrl", "fstat", "ftag", "fiseg", "fioff", "foseg", "fooff", "fop")
_KINDS = {**dict.fromkeys(_GENERAL, ("int64", 8)), **dict.fromkeys(_SHORT, ("int32", 4)),
          **dict.fromkeys(_STACK, ("i387_ext", 10)), **dict.fromkeys(_CONTROL, ("int32", 4)),
          "rip": ("code_ptr", 8), "rsp": ("data_ptr", 8), "rbp": ("data_ptr", 8)}  # fmt: skip

_MOST = {"r": 128}
"""Registers that a thread of a kernel may have."""


@dataclass(frozen=True)
class GdbRegister:
    """A register as gdb sees it: its name, its size in bytes, and our registers in it; `rip` is the code address."""

    name: str
    size: int
    type: str
    register: RegisterRef | None = None


class GdbRegisterMap:
    """The registers and memories of a target in gdb's terms. `slots` are in the order of gdb's numbers.

    `whole`: include all registers that any kernel can have, because gdb asks only once and kernels change.
    """

    def __init__(self, target: Target, *, whole: bool = False) -> None:
        self.target = target
        ours: dict[str, GdbRegister] = {}
        for file in target.register_files.values():
            size = next(s for s in (1, 2, 4, 8) if 8 * s >= file.width)
            for n in range(_MOST.get(file.name, file.count) if whole else file.count):
                name = file.name if file.count == 1 else f"{file.name}{n}"
                ours[name] = GdbRegister(name, size, f"uint{8 * size}", RegisterRef(file.name, n))
        core = [GdbRegister(n, size, kind, s.register if (s := ours.pop(n, None)) else None) for n, (kind, size) in
                _KINDS.items()]  # fmt: skip
        self.slots = [*core, *ours.values()]
        self._core = len(core)
        self.spaces: dict[str, MemorySpace] = dict(target.memories)
        self.numbers = {name: _number(name) for name in self.spaces}
        self._names = {k: name for name, k in self.numbers.items()}

    # --- registers ---
    def description(self) -> str:
        """Return `target.xml`."""
        rows = [f'<reg name="{s.name}" bitsize="{8 * s.size}" type="{s.type}"/>' for s in self.slots]
        core, own = "".join(rows[: self._core]), "".join(rows[self._core :])
        return (
            '<?xml version="1.0"?><!DOCTYPE target SYSTEM "gdb-target.dtd"><target version="1.0">'
            "<architecture>i386:x86-64</architecture><osabi>none</osabi>"
            f'<feature name="org.gnu.gdb.i386.core">{core}</feature>'
            f'<feature name="org.isakit.{self.target.isa}">{own}</feature></target>'
        )

    def value(self, number: int, thread: int, calls: Sequence[int] = ()) -> bytes:
        """Return a register's bytes for a thread, which has called functions from the addresses `calls`.

        Raises LaunchError.
        """
        slot = self.slot(number)
        if slot.name == "rsp":
            return _stack_pointer(calls).to_bytes(8, "little")
        if slot.name == "rip":
            return (self.target.thread(thread).address or 0).to_bytes(8, "little")
        there = (
            slot.register is not None and slot.register.number < self.target.register_files[slot.register.file].count
        )
        value = self.target.read_register(slot.register, thread) if there and slot.register is not None else 0
        return value.to_bytes(slot.size, "little")

    def slot(self, number: int) -> GdbRegister:
        """Return a register by gdb's number. Raises LaunchError."""
        if not 0 <= number < len(self.slots):
            raise LaunchError(f"no register {number}; there are {len(self.slots)}")
        return self.slots[number]

    # --- memories ---
    def memory_map(self) -> str:
        """Return the memory map as XML."""
        every = [(self.numbers[m.name] << SHIFT, m.size) for m in self.spaces.values() if m.size]
        every += [(REGISTERS, len(self.slots) * STRIDE), (STACK, STACK_SIZE)]
        rows = "".join(f'<memory type="ram" start="{start:#x}" length="{size:#x}"/>' for start, size in every)
        return f'<?xml version="1.0"?><!DOCTYPE memory-map SYSTEM "gdb-memory-map.dtd"><memory-map>{rows}</memory-map>'

    def threads(self, rows: list[tuple[int, str, str]]) -> str:
        """Return the list of threads as XML: numbers, names, and a description of each."""
        inner = "".join(f'<thread id="{n:x}" name={quoteattr(x)}>{escape(text)}</thread>' for n, x, text in rows)
        return f'<?xml version="1.0"?><threads>{inner}</threads>'

    def place(self, address: int, size: int) -> tuple[str, int, int]:
        """Return (memory, address in it, number of the bytes inside of it) for a gdb address. Raises LaunchError."""
        name = self._names.get(address >> SHIFT)
        inside = address & (1 << SHIFT) - 1
        if name is None or inside >= self.spaces[name].size:
            raise LaunchError(f"no memory lies at {address:#x}")
        return name, inside, min(size, self.spaces[name].size - inside)

    @staticmethod
    def register_address(number: int) -> int:
        """Return the address of a register's lowest byte, by gdb's number."""
        return REGISTERS + number * STRIDE

    def register_at(self, address: int, size: int) -> tuple[int, int] | None:
        """Return (number of the register, first byte in it) at an address; None elsewhere."""
        number, first = divmod(address - REGISTERS, STRIDE)
        if 0 <= number < len(self.slots) and first + size <= self.slots[number].size:
            return number, first
        return None

    def stack(self, address: int, size: int, calls: Sequence[int]) -> bytes | None:
        """Return bytes of the return addresses, innermost first; None for an address elsewhere."""
        if not STACK <= address < STACK + STACK_SIZE:
            return None
        data = b"".join(a.to_bytes(8, "little") for a in calls)
        data = bytes(_stack_pointer(calls) - STACK) + data
        return data.ljust(STACK_SIZE, b"\0")[address - STACK :][:size]

    def lines(self) -> list[str]:
        """Return the memories with their addresses, as lines of text."""
        return [f"{m.name:<8} {self.numbers[m.name] << SHIFT:#018x}  {m.size:#x} bytes"
                f"{'' if m.writable else ', read only'}" for m in self.spaces.values()]  # fmt: skip


def _stack_pointer(calls: Sequence[int]) -> int:
    return STACK + STACK_SIZE // 2 - 8 * len(calls)


def _number(name: str) -> int:
    if name in _FIRST:
        return _FIRST[name]
    letters = name.rstrip("0123456789")
    return _FIRST[letters] + int(name[len(letters) :])
