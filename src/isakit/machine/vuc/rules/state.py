"""The state that the rules of the vµc core work on.

Source: [vuc] 2, 7, 8, 9. Compiled code has these records in memory, at the offsets that follow from the declarations;
the reference core is an object with the same fields.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Annotated

from isakit.arch.vuc.memory_operands import CODE_SIZE
from isakit.sem.records import ArrayField, StateRecord, u8, u16, u32, u64

ADDRESS_MASK = CODE_SIZE - 1
STACK_SIZE = 8
CAPACITY = 64
"""Number of entries of the queue that compiled code has room for."""
NEVER = (1 << 63) - 1


class QueueKind(IntEnum):
    """The kind of an entry of the queue, by its effect when it lands.

    A write of a $r register, a special register, or the accumulator (as long instructions see it, and as $lhi and $llo
    show it), an action of a unit, or nothing: the write was cancelled.
    """

    REGISTER = 0
    SPECIAL = 1
    ACCUMULATOR = 2
    LONG_VIEW = 3
    EVENT = 4
    DEAD = 5


class QueueEntry(StateRecord):
    """A write that lands later, or an event of a unit.

    Attributes: the cycle from which it is `visible`, the cycle in which it `lands`, its `serial` number, its effect
    (`QueueKind`), the `index` of the register and the `value` (of an event: its name and a function), and the address
    of the instruction that is its `origin`.
    """

    visible: u64
    lands: u64
    serial: u64
    kind: u32
    index: u32
    value: u32
    origin: u32

    __slots__ = ("index", "kind", "lands", "origin", "serial", "value", "visible")

    def __init__(self, visible: int, lands: int, serial: int, kind: int, index: int, value: int, origin: int) -> None:
        self.visible, self.lands, self.serial, self.kind = visible, lands, serial, kind
        self.index, self.value, self.origin = index, value, origin

    @property
    def fields(self) -> tuple[int | None, ...]:
        """The fields, for comparisons; events without their function."""
        value = None if self.kind == QueueKind.EVENT else self.value
        return self.visible, self.lands, self.serial, int(self.kind), self.index, value, self.origin


class MacroblockState(StateRecord):
    """The macroblock registers that are plain storage.

    `vectors`: x of list 0, y of list 0, x and y of list 1, 16 blocks each, in $spidx order; `refs` and `rpis`: list 0
    and list 1, 4 partitions each.
    """

    vectors: Annotated[list[u16], ArrayField(64)]
    refs: Annotated[list[u16], ArrayField(8)]
    rpis: Annotated[list[u16], ArrayField(8)]
    flags: u16
    qpy: u16
    qpc: u16
    part: u16
    xy: u16
    addr: u16
    type: u16
    sub_types: u16


class CoreRecord(StateRecord):
    """A core. Predicates are 0 or 1.

    Attributes: `gpr` ($r), `pred` ($p), `accumulator`, `long_view` (the accumulator as $lhi and $llo show it); the
    clock `cycle`; `stalled` (cycles in which no instruction issued), `watch_at` (issued instructions at which the
    watchdog barks); `pc` (the instruction that issues), `npc` (the one after it), `target` (the one after that);
    `lagging` (the cycle in which $pred still shows the predicates `before`); `due` (when the next entry of the `queue`
    becomes visible), `count` (its entries, the next one last), `serial` (of the last entry); `long_lands`,
    `long_serial` (the last long operation, its first entry); `depth` (of the stack of `calls`); `icnt_base`
    (instructions at which $icnt was 0); `plain` (special registers that are storage), `parm`, `stat` ($stat, for
    compiled code); `mb`.
    """

    gpr: Annotated[list[u16], ArrayField(16)]
    pred: Annotated[list[u8], ArrayField(16)]
    accumulator: Annotated[list[u32], ArrayField(1)]
    long_view: u32
    cycle: u64
    stalled: u64
    watch_at: u64
    pc: u64
    npc: u64
    target: u64
    parm: u32
    lagging: u64
    before: Annotated[list[u8], ArrayField(16)]
    due: u64
    serial: u64
    long_lands: u64
    long_serial: u64
    icnt_base: u64
    count: u32
    depth: u32
    stat: u32
    calls: Annotated[list[u16], ArrayField(STACK_SIZE)]
    plain: Annotated[list[u16], ArrayField(64)]
    mb: MacroblockState
    queue: Annotated[list[QueueEntry], ArrayField(CAPACITY, align=64)]
