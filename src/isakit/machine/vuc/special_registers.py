"""Special registers: what reading and writing each of them does.

Source: [vuc] 9, 10, 11.
"""

from __future__ import annotations

from isakit.arch.vuc.registers import SR, special_names
from isakit.errors import IsakitError, LaunchError, MachineFault
from isakit.machine.vuc.core_state import CoreState
from isakit.machine.vuc.macroblock import NEXT_FIELD, NEXT_SKIP, WRITABLE_FLAGS

STACK_SIZE = 8
H2V_BIT, MB_BIT, WATCHDOG_BIT, MVS_DONE, MVS_FULL, MVS_GATHER, PULSE, LEVEL = 11, 10, 12, 5, 6, 7, 14, 15
_READ_ONLY = {
    "h2v",
    "pc",
    "parm",
    "cspos",
    "mbxy",
    "mbaddr",
    "submbtype",
    "lhi",
    "llo",
    "icnt",
    "mbpart",
    "mbtype",
    "rpil0",
    "rpil1",
}
_NEIGHBOURS = (*range(32, 43), *range(48, 59))


class UnknownRegisterError(IsakitError, KeyError):
    """A special or host register that does not exist; the message lists or describes the valid ones."""

    __str__ = IsakitError.__str__


class SpecialRegisters:
    """The 64 special registers of a core. `peek` and `poke` have no side effects and ignore access rights."""

    def __init__(self, core: CoreState) -> None:
        self.core = core
        names = special_names(core.features)
        self.names = {name[1:]: i for i, name in enumerate(names) if not name.startswith("$sr")}
        self.named = frozenset(self.names.values())
        self.plain = [0] * 64
        self.stack: list[int] = []
        writable = set(core.options.writable)
        if unknown := sorted(writable - _READ_ONLY):
            raise LaunchError(f"writable is of {', '.join(sorted(_READ_ONLY))}, not {unknown[0]!r}")
        if not core.vp2:
            writable |= {"lhi", "llo"}
        self.read_only = {SR[n] for n in _READ_ONLY - writable} | set(_NEIGHBOURS)

    def number(self, key: int | str) -> int:
        """The number of a register given by number or by name, with or without `$`."""
        if isinstance(key, int):
            if not 0 <= key < 64:
                raise UnknownRegisterError(f"special registers have the numbers 0 to 63, not {key}")
            return key
        name = key.removeprefix("$")
        if name in self.names:
            return self.names[name]
        if name.startswith("sr") and name[2:].isdigit() and int(name[2:]) < 64:
            return int(name[2:])
        raise UnknownRegisterError(f"{key!r} is no special register of {self.core.variant}")

    def __getitem__(self, key: int | str) -> int:
        return self.peek(self.number(key))

    def __setitem__(self, key: int | str, value: int) -> None:
        self.poke(self.number(key), value & 0xFFFF)

    def __len__(self) -> int:
        return 64

    # --- values -----------------------------------------------------------------------------------------------------
    def peek(self, n: int) -> int:
        """The value an instruction would read now, without side effects."""
        core = self.core
        mb = core.mb
        if 16 <= n <= 19:
            return mb.vectors[n - 16][self.plain[2] & 15]
        if n in (20, 21):
            return mb.refs[n - 20][self.plain[2] >> 2 & 3]
        if n in (22, 23):
            return mb.rpis[n - 22][self.plain[2] >> 2 & 3]
        match n:
            case 6:
                return self.stat()
            case 7:
                return core.parm & 0xFFFF
            case 8:
                return core.pc
            case 9:
                return len(self.stack)
            case 10:
                return self.stack[-1] if self.stack else 0
            case 12:
                return core.long_view >> 16
            case 13:
                return core.long_view & 0xFFFF
            case 14:
                return core.predicates_seen()
            case 15:
                return core.icnt
            case 24:
                return self._mbflags()
            case 25:
                return mb.qpy
            case 26:
                return mb.qpc
            case 27:
                return mb.part
            case 28:
                return mb.xy
            case 29:
                return mb.addr
            case 30:
                return mb.type
            case 31:
                return mb.sub_types if core.vp2 else 0
            case _:
                return self.plain[n]

    def _mbflags(self) -> int:
        core = self.core
        out = core.mb.dynamic_flags(self.plain[2])
        if core.ring.ready:
            head = core.ring.ready[0]
            out |= head.field_flag << NEXT_FIELD | head.skip_flag << NEXT_SKIP
        return out

    def stat(self) -> int:
        """$stat as it is now."""
        core = self.core
        out = core.stat_bits | core.vpring.busy
        out |= core.mvs_in.done << MVS_DONE | core.mvs_out.full << MVS_FULL | core.mvs_out.gathering << MVS_GATHER
        return out | (1 << MB_BIT if core.mb_available else 0)

    def read(self, n: int) -> int:
        """Read by an instruction."""
        value = self.peek(n)
        if n == 4:
            self.core.stat_bits &= ~(1 << H2V_BIT)
        elif n == 10:
            value = self.pop()
        elif n not in self.named:
            self.core.note("UNNAMED_REGISTER", f"$sr{n} read as 0")
        return value

    # --- writes -----------------------------------------------------------------------------------------------------
    def write(self, n: int, value: int) -> None:
        """A write by an instruction takes effect."""
        if n in self.read_only or n not in self.named:
            self.core.note("READ_ONLY_REGISTER", f"write of {value:#x} to $sr{n} ignored")
            return
        if n == 5:
            self.plain[5] = value
            self.core.host.raise_interrupt("V2H")
        elif n == 6:
            self._trigger(value)
        elif n == 15:
            self.core.set_icnt(value)
        else:
            self.poke(n, value)

    def poke(self, n: int, value: int) -> None:
        """Set the value; for registers that are computed, what they are computed from."""
        core = self.core
        mb = core.mb
        block = self.plain[2] & 15
        if 16 <= n <= 19:
            mb.vectors[n - 16][block] = value
        elif n in (20, 21):
            mb.refs[n - 20][block >> 2] = value
        elif n in (22, 23):
            mb.rpis[n - 22][block >> 2] = value
        elif n == 2:
            self.plain[2] = value & 15
        elif n == 7:
            core.parm = value
        elif n in (12, 13):
            shift = 16 if n == 12 else 0
            core.long_view = core.long_view & ~(0xFFFF << shift) | value << shift
            core.acc[0] = core.acc[0] & ~(0xFFFF << shift) | value << shift
        elif n == 14:
            core.set_predicates(value, 0xFFFF)
        elif n == 15:
            core.set_icnt(value)
        elif n == 24:
            mb.flags = mb.flags & ~WRITABLE_FLAGS | value & WRITABLE_FLAGS
        elif 25 <= n <= 31:
            setattr(mb, ("qpy", "qpc", "part", "xy", "addr", "type", "sub_types")[n - 25], value)
        elif n not in (6, 8, 9, 10):
            self.plain[n] = value

    def _trigger(self, value: int) -> None:
        core = self.core
        if core.vp2:
            core.vpring.trigger(value & 15)
        elif value & 15:
            core.note("STAT_TRIGGER", f"bits {value & 15:#x} of $stat have no known trigger here")
        if value >> PULSE & 1:
            core.pulses += 1
        if value >> LEVEL & 1:
            core.stat_bits ^= 1 << LEVEL

    # --- call stack ---------------------------------------------------------------------------------------------------
    def push(self, value: int) -> None:
        """Put a value on the call stack."""
        if len(self.stack) >= STACK_SIZE:
            if self.core.options.full_stack == "fault":
                raise MachineFault("CALL_STACK_OVERFLOW", self.core.pc, detail="the call stack holds eight entries")
            del self.stack[0]
        self.stack.append(value & 0xFFFF)

    def pop(self) -> int:
        """Take the top of the call stack."""
        if not self.stack:
            if self.core.options.empty_stack == "fault":
                raise MachineFault("CALL_STACK_UNDERFLOW", self.core.pc, detail="the call stack is empty")
            return 0
        return self.stack.pop()
