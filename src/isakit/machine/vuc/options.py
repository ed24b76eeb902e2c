"""Undocumented behaviour, as named settings with a default.

Every setting is one open question of [vuc] 19 or an [unknown] or [inferred] tag of its other sections.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal

from isakit.settings import Settings

Cycles = Annotated[int, range(1 << 16)]


@dataclass(frozen=True)
class Options(Settings):
    """Settings of a core; the defaults are the decisions of [vuc].

    Flow: `return_offset`: distance from a call to the return address, in instructions. `full_stack`: a push on eight
    entries faults, or drops the oldest entry. `empty_stack`: a pop of nothing faults, or gives 0. `signed_relative`:
    the VP2 relative target is read as -32..31 instead of 0..63.

    Units: `mbiread_latency` cycles after which the macroblock registers change, `mbinext_latency` until $stat and
    $mbflags follow, `mvsread_cycles` until MVSI[] is filled, `mvswrite_gather` and `mvswrite_cycles` of a write,
    `vpring_cycles` of a VP[] flush.

    Counter: `count_waits` makes stalled cycles of wstc and wsts count in $icnt. `watchdog_halts` stops the core when
    the watchdog fires.

    Memory: `out_of_range` addresses wrap to the size of their space, or fault. `signed_weights` sign-extends PWT[].
    `vp_words`: the VP[] addresses that take 16 bits. `rpi_list_stride` cells lie between the RPI tables of the lists.
    `first_read_looks_up`: the first mbiread after a reset sets $rpil0 and $rpil1 too (an early note says it does not).
    `b6` has the values of loads from B6[]; other addresses and all of B7[] read 0.

    Registers: `writable` are special registers whose R/W column is in doubt and that take writes. `intra_ref` is the
    reference index of intra macroblocks. `unknown_ops`: unko21 and the like raise NotModelled, or do nothing.

    Host: `interrupt_acknowledge`: how INTR bits are cleared.
    """

    return_offset: Annotated[int, range(1 << 16)] = 2
    full_stack: Literal["fault", "drop_oldest"] = "fault"
    empty_stack: Literal["fault", "zero"] = "fault"
    signed_relative: bool = False
    mbiread_latency: Cycles = 5
    mbinext_latency: Cycles = 1
    mvsread_cycles: Cycles = 37
    mvswrite_gather: Cycles = 17
    mvswrite_cycles: Cycles = 18
    vpring_cycles: Cycles = 8
    count_waits: bool = False
    watchdog_halts: bool = False
    out_of_range: Literal["wrap", "fault"] = "wrap"
    signed_weights: bool = False
    vp_words: Literal["even", "all", "none"] = "even"
    rpi_list_stride: Annotated[int, range(1 << 16)] = 32
    first_read_looks_up: bool = True
    b6: dict[int, int] = field(default_factory=lambda: {0: 2})
    writable: frozenset[str] = frozenset({"mbpart", "mbtype", "rpil0", "rpil1", "icnt"})
    intra_ref: int = 0
    unknown_ops: Literal["raise", "ignore"] = "raise"
    interrupt_acknowledge: Literal["write_ones", "write_value", "read"] = "write_ones"
