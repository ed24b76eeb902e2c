"""The state that the control rules work on: of a warp, and of its block.

Source: [tesla] 9.1, 9.3, 10. Compiled code has these records in memory, at the offsets that follow from the
declarations; the reference machine has them as Python objects (`machine.tesla.stack`, `machine.tesla.block`).
"""

from __future__ import annotations

from enum import IntEnum
from typing import Annotated

from isakit.sem.records import ArrayField, StateRecord, u16, u32, u64

STACK_ENTRIES = 4096
"""Largest number of entries of a divergence stack: that of the largest STACK_SIZE_LOG."""
BARRIERS = 16


class Kind(IntEnum):
    """Types of stack entries, with the hardware's numbers."""

    BRANCH = 1
    CALL = 2
    LIMITED_CALL = 3
    BREAK = 4
    QUADON = 5
    JOINAT = 6


class WarpStatus(IntEnum):
    """The state of a warp.

    STOPPED: the instruction at its pc needs the reference machine (a fault, an unknown target). SERVED: the host must
    execute the instruction at its pc, whose `join` tail has been performed. JOINED: as STOPPED, after the `join` tail.
    """

    READY = 0
    WAITING = 1
    FINISHED = 2
    STOPPED = 3
    INTERRUPTED = 4
    SERVED = 5
    JOINED = 6


class StackEntry(StateRecord):
    """One entry of a divergence stack: return address, lane mask, and kind (`Kind`)."""

    pc: u32
    mask: u32
    kind: u32


class WarpState(StateRecord):
    """One warp. Masks have bit n for lane n.

    Attributes: `pc`; `active` lanes; lanes that `broke`, `returned`, `exited`; `depth` (entries on the `stack`);
    `status`; `barrier` (the one it waits at); `threads`, `issued` (instructions executed, per lane and per warp);
    `number` (in its block); `visible` (lanes of a fragment program that are not helpers and were not discarded); `lock`
    (the word of s[] it holds the lock of, counted from 1; 0 for none); `pending` (the racing accesses it has made in
    its turn, see `rules.turns`); `branches`, `divergent_branches`, `pm_events` (the events that $pm0 to $pm3 may
    count); `conditions` (a lane mask for each flag of $c0 to $c3); `addresses` (32 numbers for each of $a0 to $a7);
    `zero` (read in place of registers that do not exist); `sink` (written in place of them). The registers follow.

    The fields before the conditions fill one cache line of the host: every warp of every block begins with it cleared.
    """

    pc: u32
    active: u32
    broke: u32
    returned: u32
    exited: u32
    depth: u32
    status: u32
    barrier: u32
    threads: u64
    issued: u64
    number: u32
    visible: u32
    lock: u32
    pending: u32
    conditions: Annotated[list[u32], ArrayField(16, align=64)]
    branches: u32
    divergent_branches: u32
    pm_events: u32
    addresses: Annotated[list[u32], ArrayField(8 * 32, align=64)]
    zero: Annotated[list[u32], ArrayField(32, align=64)]
    stack: Annotated[list[StackEntry], ArrayField(STACK_ENTRIES, align=64)]
    sink: Annotated[list[u32], ArrayField(32, align=64)]
    registers: Annotated[list[u32], ArrayField(0, align=64)]


class Barrier(StateRecord):
    """One barrier of a block: warps that have arrived, and the number at which it opens (0: all)."""

    count: u32
    target: u32


class BufferBytes(StateRecord):
    """A buffer of device memory: a contiguous range of bytes."""

    start: u32
    length: u32


class StepOutcome(IntEnum):
    """The outcome of an instruction for the interpreter: how the warp continues.

    NEXT: with the instruction after it. JUMP: at the pc. UNWIND: no lane is active. From STOP on, the instruction is
    not counted, except for WAIT, at a barrier. STOP: the reference machine must execute the instruction; SERVE: the
    host must. COMPLETE: the `join` tail is done, the instruction itself is next. RESUMED: another path continues,
    nothing was executed.
    """

    NEXT = 0
    JUMP = 1
    UNWIND = 2
    STOP = 3
    WAIT = 4
    COMPLETE = 5
    RESUMED = 6
    SERVE = 7


class InstructionEntry(StateRecord):
    """The interpreter's entry for each 32-bit unit of a kernel's code.

    Attributes: functions that execute the instruction that begins there, for `all` lanes and for `some` (with its
    `join` tail at `first`; the `body` without); `pc`; the address `following` it; its `target`; how many `units` it
    has; its first cell among those that cache buffers (`site`); its role in the `races` of its program (the bits it
    sets in `WarpState.pending`; 16 bits higher, those that end a turn before it); and the `values` its functions look
    up.
    """

    first_all: u64
    first_some: u64
    body_all: u64
    body_some: u64
    pc: u32
    following: u32
    target: u32
    units: u32
    site: u32
    races: u32
    values: Annotated[list[u64], ArrayField(25, align=8)]


class StopFlag(StateRecord):
    """A flag set from outside: every worker stops at the next opportunity."""

    asked: u32


Entries = Annotated[list[StackEntry], ArrayField()]
Warps = Annotated[list[WarpState], ArrayField(behind=True, stride="state_bytes")]
Barriers = Annotated[list[Barrier], ArrayField(behind=True)]
Buffers = Annotated[list[BufferBytes], ArrayField(behind=True)]
Instructions = Annotated[list[InstructionEntry], ArrayField(behind=True)]
Stops = Annotated[list[StopFlag], ArrayField(behind=True)]
Halves = Annotated[list[u16], ArrayField(behind=True)]
Words = Annotated[list[u32], ArrayField(behind=True)]


class BlockState(StateRecord):
    """A block, shared by its warps; in compiled code, the beginning of a worker's context.

    Attributes: `barriers`; `state` (its warps, `state_bytes` apart); `block_warps` (how many there are); `ended` (how
    many have finished); `barrier_mask` (the bits of a barrier's counter); `ranges` (the `range_count` buffers of the
    device); `has_barriers` (whether the kernel uses any), `allowed_barriers` (how many it has).

    For `rules.turns`: `turn` (the warp that has it, or from which the search for the next one starts), `spun`
    (instructions that warps have executed since one of them came to a barrier or to a limit), `ordered` (not 0: the
    order of the warps is observable), `limits` (turns that ended at `turn_length` since the host last checked),
    `remaining` (instructions that warps may still execute; while a warp runs, the count at which it ends), `reserve`,
    `turn_length`, `patience` (the count at which a turn ends), `paused` (the status of a warp whose turn is over),
    `one_round`, `run_warp` (a function), `halted_warp` (the one that stopped), `stop`, `thread_count` and `warp_count`
    (instructions executed, per lane and per warp).

    For `rules.blocks`: `shared` (s[], `shared_limit` bytes) and its `header` (the launch header and the parameters,
    `header_bytes`); `local` (l[], `local_limit` bytes a thread); `grid_x` (blocks in x); `masks` (lanes that have
    threads, per warp); `first_registers` ($r0, 32 numbers per warp); `entry` (where the program begins); `physid` (the
    values of $physid in the block, one per thread), `physid_all` (in all of `physid_period` blocks); `register_bytes`
    (of a warp, if the program relies on registers being 0; else 0); `written` (`blocks.WrittenSpaces`); `number` (of
    the block), `last` (the first block that is not run), `runs_on` (not 0: code of a warp may go on with the next block
    by itself, and with the next warp in spite of a bound if it has executed fewer instructions).

    For `rules.interpreter`: the `uops` of the kernel, whose `code_bytes` bytes begin at `code_address`.
    """

    barriers: Barriers
    state: Warps
    state_bytes: u64
    block_warps: u64
    ended: u64
    barrier_mask: u64
    ranges: Buffers
    range_count: u64
    has_barriers: u64
    allowed_barriers: u64
    turn: u64
    spun: u64
    ordered: u64
    limits: u64
    remaining: u64
    reserve: u64
    turn_length: u64
    patience: u64
    paused: u64
    one_round: u64
    run_warp: u64
    halted_warp: u64
    stop: Stops
    thread_count: u64
    warp_count: u64
    shared: Halves
    shared_limit: u64
    header: Halves
    header_bytes: u64
    local: Words
    local_limit: u64
    grid_x: u64
    masks: Words
    first_registers: Words
    entry: u64
    physid: Words
    physid_all: Words
    physid_period: u64
    register_bytes: u64
    written: u64
    number: u64
    last: u64
    runs_on: u64
    uops: Instructions
    code_address: u64
    code_bytes: u64
