"""Small kernels written in the tests, on the reference engine."""

from __future__ import annotations

from typing import Any

import isakit
from isakit.machine.tesla import Choices, Machine
from isakit.runtime import LoadedKernel

SAXPY = """\
// y[i] = a * x[i] + y[i]
.kernel saxpy
.param y ptr
.param x ptr
.param a f32
    cvt u32 $r0 u16 $r0l
    mov b32 $r1 b32 s[x]
    shl b32 $r0 $r0 0x2
    add b32 $r1 $r1 $r0
    ld b32 $r1 g14[$r1]
    mov b32 $r2 b32 s[y]
    add b32 $r0 $r2 $r0
    ld b32 $r2 g14[$r0]
    mov b32 $r3 b32 s[a]
    add f32 $r2 (mul $r1 $r3) $r2
    exit st b32 g14[$r0] $r2
"""
"""y += a * x, one element per thread: launch as many threads as there are elements."""

SENT = """\
.param out ptr
.param where ptr
.param data ptr
    cvt u32 $r1 u16 $r0l
    shl b32 $r1 $r1 0x2
    add b32 $r2 b32 s[where] $r1
    ld b32 $r2 g14[$r2]
    add b32 $r2 b32 s[data] $r2
"""
"""How a kernel begins whose threads are sent to places: $r1 is 4 times the thread's number, $r2 `data + where[n]`."""


def kernel(text: str, *, chip: str = "gt200", choices: dict[str, Any] | None = None, **load: Any) -> LoadedKernel:
    """A kernel from its instructions."""
    device = isakit.Device(chip, engine="reference", choices=Choices(**(choices or {})))
    module = device.load(isakit.isa("tesla", chip).assemble(text), **load)
    return next(iter(module.values()))


def machine(
    text: str,
    grid: Any = 1,
    block: Any = 32,
    *args: Any,
    chip: str = "gt200",
    choices: dict[str, Any] | None = None,
    **load: Any,
) -> Machine:
    """A machine at the first instruction."""
    return kernel(text, chip=chip, choices=choices, **load).machine(grid, block, args)


def blocks_wait(behind: str = "") -> str:
    """A kernel whose blocks wait for each other; `behind` are instructions behind the loop that waits.

    Every block adds 1 to a counter, waits until all have, and adds its number to the counter for its result.
    """
    return f"""
.kernel k
.param counter ptr
.param out ptr
.param blocks u32
    cvt u32 $r1 u16 $r0l
    mov b16 $r2l u16 s[0xc]             // block
    cvt u32 $r2 u16 $r2l
    mov b32 $r3 b32 s[counter]
    mov b32 $r4 0x1
    set $c0 # lg u32 $r1 $r9
    (e $c0) ld add u32 $r5 g14[$r3] $r4
    mov b32 $r6 b32 s[blocks]
wait:
    ld b32 $r7 g14[$r3]
    set $c0 # l u32 $r7 $r6
    (lg $c0) bra #wait
{behind}    shl b32 $r8 $r2 0x2
    add b32 $r8 b32 s[out] $r8
    add b32 $r7 $r7 $r2
    exit st b32 g14[$r8] $r7
"""
