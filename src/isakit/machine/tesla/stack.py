"""The divergence stack of a warp in the reference machine; its rules are in `rules.stack`.

Masks are ints with bit n for lane n. A lane is live unless it broke out of a loop, returned or exited.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, NamedTuple

from isakit.engine.routine_functions import MadeFunction, python_function
from isakit.machine.tesla.choices import DEFAULT, Choices
from isakit.machine.tesla.rules import barriers, blocks, locks, stack, turns
from isakit.machine.tesla.rules.stack import StackFault
from isakit.machine.tesla.rules.state import Kind, StackEntry, WarpState
from isakit.sem.records import Elements
from isakit.sem.routine import AnyRoutine, on_change


class Entry(NamedTuple):
    """One entry of the divergence stack: its kind, its return address, and the mask of its lanes."""

    kind: Kind
    pc: int
    mask: int


class StackRules:
    """The routines of control as functions, for some choices: `rules.push(stack, kind, pc, mask)`."""

    def __init__(self, choices: Choices) -> None:
        self.choices = choices

    def __getattr__(self, name: str) -> MadeFunction:
        limited = name == "call_limited"
        wanted = "call" if limited else name
        routine: AnyRoutine = next(
            getattr(m, wanted) for m in (stack, barriers, locks, turns, blocks) if hasattr(m, wanted)
        )
        known = {"choices": self.choices, "limited": limited, "in_turns": True}
        made = python_function(routine, **{n: known[n] for n in routine.statics})
        setattr(self, name, made)
        return made


@lru_cache(maxsize=256)
def rules_of(choices: Choices) -> StackRules:
    """Return the routines for these choices, compiled when they are used."""
    return StackRules(choices)


on_change(rules_of.cache_clear)


class Stack(WarpState):
    """Active lanes, pc and divergence stack of one warp.

    `active` is 0 only when the warp has finished. Operations that transfer control set `pc`; `size_at(pc)` returns the
    size in bytes of the instruction at an address and is needed only if `Choices.join` is `after`.
    """

    __slots__ = (
        "active", "barrier", "broke", "choices", "depth", "exited", "lock", "pc", "pending", "returned", "rules",
        "size_at", "stack", "status",
    )  # fmt: skip

    def __init__(  # the other fields of the record are arrays of the machine
        self, active: int, pc: int = 0, choices: Choices = DEFAULT, size_at: Callable[[int], int] = lambda pc: 8
    ) -> None:
        self.choices, self.size_at = choices, size_at
        self.stack: Any = Elements(StackEntry)
        self.rules = rules_of(choices)
        self.rules.begin_warp(self, active, pc)

    @property
    def finished(self) -> bool:
        """True if no lane will execute again."""
        return self.active == 0

    @property
    def entries(self) -> list[Entry]:
        """The entries, bottom first."""
        entries = (self.stack[k] for k in range(self.depth))
        return [Entry(Kind(e.kind), e.pc, e.mask) for e in entries]

    @entries.setter
    def entries(self, entries: Iterable[tuple[int, int, int]]) -> None:
        self.depth = 0
        for kind, pc, mask in entries:
            self.add_entry(kind, pc, mask)

    def add_entry(self, kind: int, pc: int, mask: int) -> None:
        """Push an entry without applying the rules."""
        e = self.stack[self.depth]
        e.kind, e.pc, e.mask = int(kind), pc, mask
        self.depth += 1

    def live(self, mask: int) -> int:
        """Return the lanes of `mask` that neither broke, returned nor exited."""
        return self.rules.live(self, mask)

    # --- what instructions do; see `rules.stack` ---------------------------------------------------------------------
    def branch(self, taken: int, target: int, following: int) -> None:
        """Execute a `bra` taken by the lanes `taken` of the active ones."""
        self.rules.branch(self, taken, target, following)

    def branch_indirect(self, targets: object) -> None:
        """Execute a `bra` to addresses loaded from memory, one per lane."""
        self.rules.branch_indirect(self, targets)

    def joinat(self, target: int) -> None:
        """Push the join of the active lanes, which reconverge at the join instruction at `target`."""
        self.rules.joinat(self, target)

    def prebrk(self, target: int) -> None:
        """Push the target of breaks: active lanes that break continue at `target`."""
        self.rules.prebrk(self, target)

    def preret(self, target: int) -> None:
        """Push the target of returns: active lanes that return continue at `target`, as if called just before it."""
        self.rules.preret(self, target)

    def call(self, target: int, following: int, limited: bool) -> None:
        """Call `target`; a limited call beyond the limit falls through."""
        (self.rules.call_limited if limited else self.rules.call)(self, target, following)

    def ret(self, lanes: int, following: int) -> None:
        """Return from `lanes` of the active ones; without a call entry on the stack they end."""
        self.rules.ret(self, lanes, following)

    def brk(self, lanes: int, following: int) -> None:
        """Break with `lanes` of the active ones out of the innermost `prebrk` region."""
        self.rules.brk(self, lanes, following)

    def exit(self) -> None:
        """End all active lanes."""
        self.rules.exit_warp(self)

    def kill(self, lanes: int, following: int) -> None:
        """End `lanes` of the active ones (discard); the others continue."""
        self.rules.discard(self, lanes, following)

    def join(self) -> bool:
        """Execute the `join` tail.

        True: the join is complete and `active` are all its lanes; False: another path runs now.

        `pc` is the address of the instruction.
        """
        return bool(self.rules.join(self, self.pc))

    def quadon(self) -> None:
        """Activate all lanes of every quad that has an active one."""
        self.rules.quadon(self, self.pc)

    def quadpop(self) -> None:
        """End of `quadon`: back to the lanes active before."""
        self.rules.quadpop(self)


__all__ = ["Entry", "Kind", "Stack", "StackFault", "StackRules", "rules_of"]
