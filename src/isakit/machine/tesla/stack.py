"""The divergence stack of a warp: which lanes execute, where, and who waits for whom.

Masks are ints with bit n for lane n. A lane is live unless it broke out of a loop, returned or exited; `live(mask)`
are the lanes of a mask that are. Source: [tesla] 9.1, 9.2 (inferred from the seeds, the hardware's register database,
patent claims and compiler output); what is open is a field of `Choices`.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import NamedTuple

from isakit.errors import IsakitError
from isakit.machine.tesla.choices import DEFAULT, Choices


class Kind(IntEnum):
    """Types of stack entries, with the hardware's numbers."""

    BRANCH = 1
    CALL = 2
    LIMITED_CALL = 3
    BREAK = 4
    QUADON = 5
    JOINAT = 6


class Entry(NamedTuple):
    """One stack entry: what pushed it, where its lanes continue, which lanes they are."""

    kind: Kind
    pc: int
    mask: int


class StackFault(IsakitError):
    """A control instruction the stack refuses; the machine adds where it happened. `kind` is the hardware's name."""

    def __init__(self, kind: str, detail: str) -> None:
        self.kind, self.detail = kind, detail
        super().__init__(f"{kind}: {detail}")


class Stack:
    """Active lanes, pc and divergence stack of one warp.

    `active` is 0 only when the warp has finished. Operations that transfer control set `pc`; `size_at(pc)` gives the
    size of the instruction at an address and is needed for the `after` reading of joins only.
    """

    __slots__ = ("active", "broke", "choices", "entries", "exited", "pc", "returned", "size_at")

    def __init__(
        self, active: int, pc: int = 0, choices: Choices = DEFAULT, size_at: Callable[[int], int] = lambda pc: 8
    ) -> None:
        self.active, self.pc, self.choices, self.size_at = active, pc, choices, size_at
        self.entries: list[Entry] = []
        self.broke = self.returned = 0
        self.exited = ~active & 0xFFFF_FFFF

    @property
    def finished(self) -> bool:
        """No lane will execute again."""
        return self.active == 0

    def live(self, mask: int) -> int:
        """The lanes of `mask` that neither broke, returned nor exited."""
        return mask & ~(self.broke | self.returned | self.exited)

    # --- pushes -----------------------------------------------------------------------------------------------------
    def _push(self, kind: Kind, pc: int, mask: int) -> None:
        self._no_quadon()
        if len(self.entries) >= self.choices.stack_entries:
            if self.choices.stack_overflow == "fault":
                raise StackFault("STACK_OVERFLOW", f"{len(self.entries)} entries")
            return
        self.entries.append(Entry(kind, pc, mask))

    def _no_quadon(self) -> None:
        if self.entries and self.entries[-1].kind is Kind.QUADON:
            raise StackFault("QUADON_ACTIVE", "control flow between quadon and quadpop")

    def branch(self, taken: int, target: int, following: int) -> None:
        """`bra` taken by the lanes `taken` of the active ones."""
        rest = self.active & ~taken
        if not taken:
            self.pc = following
        elif not rest:
            self.pc = target
        elif self.choices.first == "taken":
            self._push(Kind.BRANCH, following, rest)
            self.active, self.pc = taken, target
        else:
            self._push(Kind.BRANCH, target, taken)
            self.active, self.pc = rest, following

    def defer(self, lanes: int, pc: int) -> None:
        """`lanes` of the active ones wait on the stack to continue at `pc` (one more way of an indirect branch)."""
        self._push(Kind.BRANCH, pc, lanes)
        self.active &= ~lanes

    def joinat(self, target: int) -> None:
        """Active lanes will meet again at the join instruction at `target`."""
        self._push(Kind.JOINAT, target, self.active)

    def prebrk(self, target: int) -> None:
        """Active lanes that break continue at `target`."""
        self._push(Kind.BREAK, target, self.active)

    def preret(self, target: int) -> None:
        """Active lanes that return continue at `target`, as if they had been called from just before it."""
        self._push(Kind.CALL, target, self.active)

    def call(self, target: int, following: int, limited: bool) -> None:
        """Call `target`; a limited call beyond the limit falls through."""
        kind = Kind.LIMITED_CALL if limited else Kind.CALL
        if limited and sum(e.kind is Kind.LIMITED_CALL for e in self.entries) >= self.choices.call_limit:
            self.pc = following
            return
        self._push(kind, following, self.active)
        self.pc = target

    # --- ends -------------------------------------------------------------------------------------------------------
    def ret(self, lanes: int, following: int) -> None:
        """`lanes` of the active ones return; without a call entry on the stack they end."""
        self._leave(lanes, following, Kind.BREAK)
        self.returned |= lanes
        self._remove(lanes, following)

    def brk(self, lanes: int, following: int) -> None:
        """`lanes` of the active ones break out of the innermost `prebrk` region."""
        if lanes and not any(e.kind is Kind.BREAK for e in self.entries):
            raise StackFault(self.choices.brk_without_entry, "brk without prebrk")
        self._leave(lanes, following, Kind.CALL, Kind.LIMITED_CALL)
        self.broke |= lanes
        self._remove(lanes, following)

    def exit(self) -> None:
        """All active lanes end."""
        self._no_quadon()
        self.exited |= self.active
        self._remove(self.active, self.pc)

    def kill(self, lanes: int, following: int) -> None:
        """`lanes` of the active ones end (discard), the others continue."""
        self.exited |= lanes
        self._remove(lanes, following)

    def _leave(self, lanes: int, following: int, *wrong: Kind) -> None:
        if not lanes:
            return
        self._no_quadon()
        if self.choices.wrong_entry == "fault":
            nearest = next((e.kind for e in reversed(self.entries) if e.kind is not Kind.BRANCH), None)
            if nearest is not None and nearest in wrong:
                raise StackFault("STACK_MISMATCH", f"the nearest entry is a {nearest.name.lower()} entry")

    def _remove(self, lanes: int, following: int) -> None:
        self.active &= ~lanes
        if self.active:
            self.pc = following
        else:
            self._unwind()

    def _unwind(self) -> None:
        """Nobody is active: pop until someone is, or the stack is empty and the warp has finished."""
        while self.entries and not self.active:
            entry = self.entries[-1]
            if entry.kind is Kind.QUADON:
                raise StackFault("QUADON_ACTIVE", "all lanes ended between quadon and quadpop")
            if entry.kind is Kind.JOINAT:
                self.active = self.live(entry.mask)
                self.pc = entry.pc
                if self.active and self.choices.join == "before":
                    return  # the join instruction itself takes the entry off
                if self.active:
                    self.pc += self.size_at(entry.pc)  # whoever waits here has executed it already
                self.entries.pop()
                continue
            self.entries.pop()
            if entry.kind in (Kind.CALL, Kind.LIMITED_CALL):
                self.returned &= ~entry.mask
            elif entry.kind is Kind.BREAK:
                self.broke &= ~entry.mask
            self.active, self.pc = self.live(entry.mask), entry.pc

    # --- joins and quads ----------------------------------------------------------------------------------------------
    def join(self) -> bool:
        """The `join` tail. True: the join is complete and `active` are all its lanes; False: another path runs now.

        `pc` is the address of the instruction.
        """
        while True:
            if not self.entries:
                raise StackFault("STACK_UNDERFLOW", "join with an empty stack")
            entry = self.entries.pop()
            live = self.live(entry.mask)
            if entry.kind is Kind.JOINAT:
                self.active = live
                if live and entry.pc > self.pc and self.choices.early_join == "wait":
                    self.entries.append(entry)
                    self.pc = entry.pc
                    return False
                return True
            if entry.kind is not Kind.BRANCH:
                self.entries.append(entry)
                kind = "QUADON_ACTIVE" if entry.kind is Kind.QUADON else "STACK_MISMATCH"
                raise StackFault(kind, f"join meets a {entry.kind.name.lower()} entry")
            if live:
                self.active, self.pc = live, entry.pc
                return False

    def quadon(self) -> None:
        """Activate all lanes of every quad that has an active one."""
        self._push(Kind.QUADON, self.pc, self.active)
        m = self.active
        m |= m >> 1
        m |= m >> 2
        m &= 0x1111_1111
        self.active = m * 15

    def quadpop(self) -> None:
        """End of `quadon`: back to the lanes active before."""
        if not self.entries:
            raise StackFault("STACK_UNDERFLOW", "quadpop without quadon")
        if self.entries[-1].kind is not Kind.QUADON:
            raise StackFault("STACK_MISMATCH", f"quadpop meets a {self.entries[-1].kind.name.lower()} entry")
        self.active = self.entries.pop().mask
