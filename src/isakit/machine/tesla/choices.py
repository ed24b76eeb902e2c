"""Choices where the documents leave behaviour open, as switches with documented defaults.

Every field names a question that the sources leave open ([tesla] 14); the default is the reference's decision.
"""

from __future__ import annotations

from typing import Annotated, Literal

from isakit.lean import dataclass
from isakit.settings import Settings

PerformanceCounter = Literal["none", "instructions", "branches", "divergent_branches", "pm_events"]


@dataclass(frozen=True)
class Choices(Settings):
    """Choices on open questions. Source: [tesla] 9.2, 9.3, 14; all are inferred unless a field says otherwise.

    Attributes:
        first: which side of a divergent branch runs first. Patent claims describe a token that holds the not-taken
            lanes, so the taken side goes first.
        join: whether an instruction with the `join` tail takes its token off the stack before it executes or after.
        early_join: what a `join` does before the address its `joinat` named, when no path is left to run. `wait`
            goes to that address, whose own `join` takes the token off: a compiler emits two joins in a row for one
            token, which only this reading runs right whether warps diverge or not. `complete` takes the token off.
        stack_entries: entries a warp's divergence stack can hold, at most what the largest STACK_SIZE_LOG stands for.
        stack_overflow: `fault` raises STACK_OVERFLOW, `ignore` loses the entry.
        wrong_entry: behaviour of `ret` when the nearest entry that is not a branch is a break entry (and `brk` with a
            call entry): `continue` unwinds through it, `fault` raises STACK_MISMATCH.
        brk_without_entry: the fault of `brk` with no break entry on the stack.
        call_limit_log: the CALL_LIMIT_LOG register: 0 allows no limited call, 1-8 allow 2**(n-1), 15 any number.
            A limited call beyond the limit falls through.
        barrier_all: the meaning of `all` and of a count of 0xfff: `unfinished` leaves out warps that have ended,
            `block` is every warp of the block. Four public programs end the idle warps of a last block before a
            barrier that the others reach; on chips they ran.
        warp_order: in which order the warps of a block run. With `turns` a turn ends at every barrier and before
            accesses by which a program can observe it (`rules.turns`): programs that ran on chips rely on warps that
            advance side by side ([tesla] 9.2, "Order of the warps of a block"). With `until_waiting` a turn ends
            where a warp waits or has finished.
        out_of_range: an access outside its space: `fault`, or `ignore` (loads give 0, stores do nothing).
        misaligned: an address that is not a multiple of the access size: `fault`, or `truncate` (low bits dropped).
        drop_unallocated: an instruction whose destination register is not allocated does nothing at all (g[] loads and
            atomics still access memory). Off: only the register write is lost.
        nonzero_a56: writing $a5 or $a6: `fault` or `ignore`.
        brkpt: `fault` raises BREAKPOINT, `ignore` continues.
        pm_counters: what $pm0-$pm3 count, per warp.
        clock_step: what $clock advances per instruction of the warp (four cycles feed 32 lanes through 8 cores).
    """

    first: Literal["taken", "fallthrough"] = "taken"
    join: Literal["before", "after"] = "before"
    early_join: Literal["wait", "complete"] = "wait"
    stack_entries: Annotated[int, range(4097)] = 4096
    stack_overflow: Literal["fault", "ignore"] = "fault"
    wrong_entry: Literal["continue", "fault"] = "continue"
    brk_without_entry: Literal["STACK_UNDERFLOW", "STACK_MISMATCH"] = "STACK_UNDERFLOW"
    call_limit_log: Annotated[int, range(16)] = 15
    barrier_all: Literal["unfinished", "block"] = "unfinished"
    warp_order: Literal["turns", "until_waiting"] = "turns"
    out_of_range: Literal["fault", "ignore"] = "fault"
    misaligned: Literal["fault", "truncate"] = "fault"
    drop_unallocated: bool = True
    nonzero_a56: Literal["fault", "ignore"] = "fault"
    brkpt: Literal["fault", "ignore"] = "fault"
    pm_counters: tuple[PerformanceCounter, ...] = ("none",) * 4
    clock_step: Annotated[int, range(1 << 16)] = 4

    discarded = "run"
    vstride = 0x20
    sample = 0
    """Default of a choice that graphics stages may change: see `StageChoices`."""

    @property
    def call_limit(self) -> int:
        """Limited calls that may be active at once; if unlimited, a number that no stack reaches."""
        log = self.call_limit_log
        return 0 if log == 0 else 1 << 30 if log == 15 else 1 << (log - 1)


@dataclass(frozen=True)
class StageChoices(Choices):
    """The choices for a graphics stage, with those of `graphics.GraphicsChoices` that its program can see.

    Attributes:
        discarded: whether discarded lanes keep `run`ning, or `end`.
        vstride: what $vstride reads.
        sample: what $sampleid reads; not an open question, but compiled into the code like the choices.
    """

    discarded: Literal["run", "end"] = "run"
    vstride: Annotated[int, range(1 << 32)] = 0x20
    sample: Annotated[int, range(16)] = 0


DEFAULT = Choices()
