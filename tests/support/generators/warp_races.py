"""Kernels that can tell in which order the warps of a block run, and what a launch of one leaves on an engine."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

import isakit
from isakit.errors import BudgetExceeded, MachineFault
from isakit.machine.tesla import Choices
from isakit.machine.tesla.compiled.launch.compiled_kernels import kernel_of
from isakit.machine.tesla.compiled.launch.host_assist import go_on
from isakit.machine.tesla.compiled.launch.worker_context import Bound
from isakit.machine.tesla.machine import Machine
from support.runners.compiled import device_on

ENGINES = ("reference", "interp", "jit")

HEAD = """\
.kernel k
.param out ptr
.param counter ptr
.param n u32
.shared 0x400
    cvt u32 $r1 u16 $r0l
    mov b32 $r2 0x0
    mov b32 $r3 0x1
"""
"""$r1: the thread's number, $r2: 0, $r3: 1. Words of s[] from 0x40 on are free."""

STORE = """
    shl b32 $r8 $r1 0x2
    add b32 $r8 b32 s[out] $r8
    exit st b32 g14[$r8] $r4
"""
"""Every thread stores $r4."""

ODD = "    and b32 $c0 # $r1 $r3\n"
"""Lanes with odd numbers: `(lg $c0)`."""
LOW = "    mov b32 $r5 0x28\n    set $c0 # l u32 $r1 $r5\n"
"""The first 40 threads: `(lg $c0)`. Most warps have none of them."""

FOUND_ADDED = (
    HEAD
    + """\
    st b32 s[0x40] $r2
    joinat #met
    mov b32 $r5 0x0
    shl $a1 $r5 0x0
again:
    ld lock $c1 $r6 b32 s[$a1+0x40]
    (l $c1) add b32 $r6 $r6 $r3
    (l $c1) st unlock b32 s[$a1+0x40] $r6
    (geu $c1) bra #again
met:
    join nop
    bar inc wait 0x0 0xfff
    ld $r4 b32 s[$a1+0x40]
"""
    + STORE
)
"""`found = 0; atomicAdd(&found, 1); __syncthreads();`, the atomic operation by a lock."""

FOUND_ADDED_GLOBAL = (
    HEAD
    + """\
    mov b32 $r5 b32 s[counter]
    st b32 g14[$r5] $r2
    ld add u32 $r6 g14[$r5] $r3
    bar inc wait 0x0 0xfff
    ld b32 $r4 g14[$r5]
"""
    + STORE
)
"""The same with the word in g[]."""

FOUND_SET = (
    HEAD
    + LOW
    + """\
    st b32 s[0x40] $r2
    (lg $c0) st b32 s[0x40] $r3
    bar inc wait 0x0 0xfff
    ld $r4 b32 s[0x40]
"""
    + STORE
)
"""`found = 0; if (c) found = 1; __syncthreads();`"""

FOUND_SET_DIVERGED = (
    HEAD
    + LOW
    + """\
    st b32 s[0x40] $r2
    joinat #met
    (e $c0) bra #met
    st b32 s[0x40] $r3
met:
    join nop
    bar inc wait 0x0 0xfff
    ld $r4 b32 s[0x40]
"""
    + STORE
)
"""The same with a branch that lanes of a warp take in different ways."""

FOUND_BEFORE_FAULT = (
    HEAD
    + LOW
    + """\
    st b32 s[0x40] $r2
    (lg $c0) st b32 s[0x40] $r3
    mov b32 $r7 0x40
    set $c1 # e u32 $r1 $r7
    mov b32 $r8 0xfffffff0
    (lg $c1) st b32 g14[$r8] $r3
    bar inc wait 0x0 0xfff
    ld $r4 b32 s[0x40]
"""
    + STORE
)
"""The third warp stores where no memory is, between two accesses that race."""

FOUND_BY_TEXTURE = (
    HEAD
    + """\
    st b32 s[0x40] $r2
    mov b32 $r8 0x3f
    and b32 $r8 $r1 $r8
    texfetch live $r8:#:#:# $t0 $s0 $r8 0x0 0x0 0x0
    mov b32 $r5 0x3f7
    set $c0 # l u32 $r8 $r5
    (lg $c0) st b32 s[0x40] $r8
    bar inc wait 0x0 0xfff
    ld $r4 b32 s[0x40]
"""
    + STORE
)
"""The same as `FOUND_SET`, but that what some threads store comes from a texture."""


def tiles(fetch: str, look: str) -> str:
    """A loop in which thread 0 fetches the number of a tile and all fill it, with one barrier."""
    return f"""{HEAD}\
    set $c0 # lg u32 $r1 $r2
    mov b32 $r5 b32 s[counter]
    cvt u32 $r9 u16 u16 s[0xc]
    shl b32 $r9 $r9 0x2
    add b32 $r9 $r9 0x4
    add b32 $r9 $r5 $r9
    mov b32 $r7 b32 s[n]
next:
    joinat #met
    (lg $c0) bra #met
    ld add u32 $r6 g14[$r5] $r3
    {fetch}
met:
    join nop
    bar inc wait 0x0 0xfff
    {look}
    set $c1 # ge u32 $r4 $r7
    (lg $c1) ret
    cvt u32 $r8 u16 u16 s[0x2]
    mul $r8 u16 $r4l u16 $r8l
    add b32 $r8 $r8 $r1
    shl b32 $r8 $r8 0x2
    add b32 $r8 b32 s[out] $r8
    add b32 $r10 $r4 $r3
    st b32 g14[$r8] $r10
    bra #next
"""


TILES = tiles("st b32 s[0x40] $r6", "ld $r4 b32 s[0x40]")
"""`while (1) { if (tid == 0) tile = atomicAdd(..); __syncthreads(); if (tile >= n) break; fill(tile); }`"""
TILES_GLOBAL = tiles("st b32 g14[$r9] $r6", "ld b32 $r4 g14[$r9]")
"""The same with the tile in g[]."""


FOUND: dict[str, tuple[str, Callable[[int], int]]] = {
    "added": (FOUND_ADDED, lambda threads: threads),
    "added in g[]": (FOUND_ADDED_GLOBAL, lambda threads: threads),
    "set": (FOUND_SET, lambda threads: 1),
    "set where lanes diverge": (FOUND_SET_DIVERGED, lambda threads: 1),
}
"""Kernels whose threads all find one number, and which."""
FILLED = {"s[]": TILES, "g[]": TILES_GLOBAL}
"""Kernels that fill tiles, by where the number of the tile is."""

RACES = {
    "neighbours": (HEAD + """\
    shl b32 $r5 $r1 0x2
    shl $a1 $r5 0x0
    st b32 s[$a1+0x40] $r1
    add b32 $r6 $r5 0x80
    and b32 $r6 $r6 0x1ff
    shl $a2 $r6 0x0
    ld $r4 b32 s[$a2+0x40]
    st b32 s[$a1+0x40] $r3
    ld $r6 b32 s[$a2+0x40]
    shl b32 $r6 $r6 0x10
    add b32 $r4 $r4 $r6
    bar inc wait 0x0 0xfff
""" + STORE, 128),
    "early ends": (HEAD + """\
    mov b32 $r5 0x40
    set $c0 # ge u32 $r1 $r5
    st b32 s[0x40] $r1
    (lg $c0) ret
    ld $r4 b32 s[0x40]
    st b32 s[0x44] $r4
    bar inc wait 0x0 0xfff
    ld $r6 b32 s[0x44]
    add b32 $r4 $r4 $r6
""" + STORE, 224),
    "counted barrier": (HEAD + """\
    mov b32 $r5 0x40
    set $c0 # ge u32 $r1 $r5
    joinat #met
    (lg $c0) bra #others
    st b32 s[0x40] $r1
    bar inc wait 0x1 0x2
    ld $r4 b32 s[0x40]
    bra #met
others:
    ld $r4 b32 s[0x40]
    add b32 $r4 $r4 0x64
met:
    join nop
    bar inc wait 0x0 0xfff
""" + STORE, 160),
    "barrier in diverged code": (HEAD + ODD + """\
    st b32 s[0x40] $r2
    joinat #met
    (lg $c0) bra #odd
    st b32 s[0x40] $r1
    bar inc wait 0x0 0xfff
    bra #met
odd:
    ld $r4 b32 s[0x40]
    st b32 s[0x40] $r3
    bar inc wait 0x0 0xfff
met:
    join nop
    ld $r6 b32 s[0x40]
    add b32 $r4 $r4 $r6
""" + STORE, 128),
    "access where lanes diverge": (HEAD + ODD + """\
    joinat #met
    (lg $c0) bra #odd
    st b32 s[0x40] $r1
    ld $r4 b32 s[0x44]
    bra #met
odd:
    st b32 s[0x44] $r1
    ld $r4 b32 s[0x40]
met:
    join nop
    bar inc wait 0x0 0xfff
""" + STORE, 192),
    "two kinds of barrier": (HEAD + """\
    st b32 s[0x40] $r1
    bar inc 0x2 0x4
    ld $r4 b32 s[0x40]
    st b32 s[0x40] $r3
    bar inc wait 0x0 0xfff
    ld $r6 b32 s[0x40]
    add b32 $r4 $r4 $r6
""" + STORE, 128),
    "a warp waits for a word": (HEAD + """\
    mov b32 $r5 0x20
    set $c0 # ge u32 $r1 $r5
    (lg $c0) bra #others
wait:
    ld $r6 b32 s[0x40]
    set $c1 # e u32 $r6 $r2
    (lg $c1) bra #wait
    mov b32 $r4 $r6
    bra #met
others:
    st b32 s[0x40] $r1
    mov b32 $r4 $r3
met:
    bar inc wait 0x0 0xfff
""" + STORE, 96),
}  # fmt: skip
"""Other kernels with races, and how many threads their blocks have."""


@dataclass
class Left:
    """What a launch left: words of memory, instructions of threads and of warps, or the fault."""

    words: list[int]
    counts: tuple[int, int]
    fault: tuple[Any, ...] | None = None


class Launched:
    """A kernel with its buffers on a device."""

    def __init__(self, device: isakit.Device, text: str, size: int = 4096) -> None:
        self.device, self.size = device, size
        self.out, self.counter = device.alloc(4 * size), device.alloc(64)
        device.write(self.out, np.zeros(size, np.uint32))
        device.write(self.counter, np.zeros(16, np.uint32))
        self.kernel = device.load(isakit.isa("tesla", "gt200").assemble(text), registers=16)["k"]
        if "$t0" in text:
            self.kernel.bind(0, np.arange(1000, 1064, dtype=np.uint32))

    def left(self, stats: Any, fault: MachineFault | None = None) -> Left:
        """What is in memory, with what a run said."""
        words = [
            n for b, count in ((self.out, self.size), (self.counter, 16)) for n in self.device.read(b, np.uint32, count)
        ]
        where = None if fault is None else (fault.kind, fault.pc, fault.block, fault.warp, fault.lane)
        counts = (0, 0) if stats is None else (stats.instructions, stats.warp_instructions)
        return Left(list(map(int, words)), counts, where)


def launched(engine: str, text: str, threads: int, grid: int = 1, n: int = 0, size: int = 4096,
             choices: Choices | None = None, **options: Any) -> Left:  # fmt: skip
    """Launch a kernel; `size`: words of its result."""
    k = Launched(device_on(engine, "gt200", choices=choices or Choices()), text, size)
    try:
        return k.left(k.kernel.launch(grid, threads, k.out, k.counter, n, **options))
    except MachineFault as e:
        return k.left(None, e)


def in_turn(text: str, threads: int, *parts: tuple[str, int | None], snapshots: bool = False) -> Left:
    """Run a kernel on one engine after the other: so many instructions each, None: to the end.

    A compiled kernel (`jit`) can only be the first. With `snapshots`, each but the first has a machine of its own, into
    which a snapshot of the one before is restored after that has run on to its end.
    """
    k = Launched(device_on("reference", "gt200"), text)
    machine = None
    try:
        for engine, steps in parts:
            before = machine
            if before is None or snapshots:
                machine = k.kernel.machine(1, threads, [k.out, k.counter, 5])
            assert machine is not None
            if before is not None and snapshots:
                snapshot = before.snapshot()
                with suppress(MachineFault):
                    before.run()
                machine.restore(snapshot)
            with suppress(BudgetExceeded):
                _run(machine, engine, steps)
    except MachineFault as e:
        assert machine is not None
        return k.left(machine.stats, e)
    assert machine is not None
    return k.left(machine.stats)


def _run(machine: Machine, engine: str, steps: int | None) -> None:
    if engine == "reference":
        machine.run(max_instructions=steps)
    else:
        kernel = kernel_of(machine.launch, engine, False)
        go_on(machine, Bound(machine.launch, machine.device), kernel, steps)
