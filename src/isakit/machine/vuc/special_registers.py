"""Special registers as the host, instructions and users access them; `rules.specials` defines most of their behaviour.

Source: [vuc] 9, 10, 11.
"""

from __future__ import annotations

from isakit.arch.vuc.registers import SR, special_names
from isakit.errors import IsakitError, LaunchError
from isakit.machine.vuc.core_state import CoreState
from isakit.machine.vuc.macroblock import NEXT_FIELD, NEXT_SKIP, WRITABLE_FLAGS, dynamic_flags
from isakit.machine.vuc.rules.specials import CSPOS, CSTOP, H2V, ICNT, MBFLAGS, PARM, PC, PRED, SPIDX, STAT, V2H

H2V_BIT, MB_BIT, MVS_DONE, MVS_FULL, MVS_GATHER, PULSE, LEVEL = 11, 10, 5, 6, 7, 14, 15
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
        writable = set(core.options.writable)
        if unknown := sorted(writable - _READ_ONLY):
            raise LaunchError(f"writable is of {', '.join(sorted(_READ_ONLY))}, not {unknown[0]!r}")
        if not core.vp2:
            writable |= {"lhi", "llo"}
        self.read_only = {SR[n] for n in _READ_ONLY - writable} | set(_NEIGHBOURS)

    @property
    def plain(self) -> list[int]:
        """The values of those that are plain storage, by their numbers."""
        return self.core.plain

    @property
    def stack(self) -> list[int]:
        """A copy of the call stack; the top is the last element."""
        return self.core.calls[: self.core.depth]

    def number(self, key: int | str) -> int:
        """Return the number of a register given by number or by name, with or without `$`."""
        if isinstance(key, int):
            if not 0 <= key < 64:
                raise UnknownRegisterError(f"special registers have the numbers 0 to 63, not {key}")
            return key
        name = key.removeprefix("$")
        if name in self.names:
            return self.names[name]
        if name.startswith("sr") and name[2:].isdigit() and int(name[2:]) < 64:
            return int(name[2:])
        raise UnknownRegisterError(f"{key!r} is not a special register of {self.core.variant}")

    def __getitem__(self, key: int | str) -> int:
        return self.peek(self.number(key))

    def __setitem__(self, key: int | str, value: int) -> None:
        self.poke(self.number(key), value & 0xFFFF)

    def __len__(self) -> int:
        return 64

    # --- values -----------------------------------------------------------------------------------------------------
    def peek(self, n: int) -> int:
        """Return the value an instruction would read now, without side effects."""
        return self.core.rules.special(self.core, n)

    def mbflags(self) -> int:
        """Return $mbflags as it is now."""
        core = self.core
        out = dynamic_flags(core.mb, core.plain[SPIDX])
        if core.ring.ready:
            head = core.ring.ready[0]
            out |= head.field_flag << NEXT_FIELD | head.skip_flag << NEXT_SKIP
        return out

    def stat(self) -> int:
        """Return $stat as it is now."""
        core = self.core
        out = core.stat_bits | core.vpring.busy
        out |= core.mvs_in.done << MVS_DONE | core.mvs_out.full << MVS_FULL | core.mvs_out.gathering << MVS_GATHER
        return out | (1 << MB_BIT if core.mb_available else 0)

    def read(self, n: int) -> int:
        """Return the value that an instruction reads, with its side effects."""
        if n == CSTOP:
            return self.core.rules.pop_call(self.core)
        value = self.peek(n)
        if n == H2V:
            self.core.stat_bits &= ~(1 << H2V_BIT)
        elif n not in self.named:
            self.core.note("UNNAMED_REGISTER", f"$sr{n} read as 0")
        return value

    # --- writes -----------------------------------------------------------------------------------------------------
    def refused(self, n: int, value: int) -> bool:
        """Return true if a register accepts no writes by instructions; record an attempted one."""
        no = n in self.read_only or n not in self.named
        if no:
            self.core.note("READ_ONLY_REGISTER", f"write of {value:#x} to $sr{n} ignored")
        return no

    def write_outside(self, n: int, value: int) -> None:
        """Apply a write by an instruction to a register that is more than storage in the core."""
        if n == V2H:
            self.plain[V2H] = value
            self.core.raise_interrupt("V2H")
        elif n == STAT:
            self._trigger(value)
        else:
            self.poke(n, value)

    def poke(self, n: int, value: int) -> None:
        """Set the value; for a computed register, the state it is computed from."""
        core = self.core
        if n == PARM:
            core.parm = value
        elif n == PRED:
            core.rules.set_predicates(core, value, 0)
        elif n == ICNT:
            core.set_icnt(value)
        elif n == MBFLAGS:
            core.mb.flags = core.mb.flags & ~WRITABLE_FLAGS | value & WRITABLE_FLAGS
        elif n not in (STAT, PC, CSPOS, CSTOP):
            core.rules.set_special(core, n, value)

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
