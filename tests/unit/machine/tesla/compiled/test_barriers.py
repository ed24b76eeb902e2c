"""Barriers and warps that have finished, on every engine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import isakit
from isakit.errors import MachineFault
from isakit.machine.tesla import Choices
from support.runners.compiled import WAYS, compiled_device, without_help

# Each warp stores its number; `{limit}` and `{late}` say which threads end before the barrier, at once or in a loop.
KERNEL = """
.kernel k
.shared 0x100
.param out ptr
.param first u32
.param last u32
    cvt u32 $r1 u16 $r0l
    shl b32 $r2 $r1 0x2
    add b32 $r3 b32 s[out] $r2
    shr u32 $r4 $r1 0x5                 // warp
    mov b32 $r7 b32 s[first]
    set $c0 # l u32 $r4 $r7
    (lg $c0) ret                        // the first warps end before anyone waits
    mov b32 $r7 b32 s[last]
    set $c0 # l u32 $r4 $r7
    (lg $c0) bra #stay
    mov b32 $r5 0x400                   // the last ones when all others wait
turn:
    add b32 $r5 $r5 0xffffffff
    set $c0 # g u32 $r5 $r6
    (lg $c0) bra #turn
    ret
stay:
    bar inc wait 0x1 all
    mov b32 $r5 0x1
    bar inc wait 0x1 all
    add b32 $r5 $r5 $r4
    bar inc wait 0x0 {count}
    exit st b32 g14[$r3] $r5
"""
ENGINES: dict[str, Any] = {"reference": None, **WAYS}


def device(way: str, **options: Any) -> isakit.Device:
    if ENGINES[way] is None:
        return isakit.Device("gt200", engine="reference", **options)
    return compiled_device(ENGINES[way], "gt200", **options)


def launch(dev: isakit.Device, first: int, last: int, warps: int = 6, blocks: int = 2, count: str = "all") -> Any:
    kernel = dev.load(isakit.isa("tesla", "gt200").assemble(KERNEL.format(count=count)))["k"]
    out = np.zeros(32 * warps, np.uint32)
    kernel[blocks, 32 * warps](out, first, last)
    return out.reshape(warps, 32)[:, 0].tolist()


@pytest.mark.parametrize("way", ENGINES)
@pytest.mark.parametrize(("first", "last"), [(0, 6), (2, 6), (0, 3), (1, 2), (5, 6), (3, 3)])
def test_warps_that_have_finished_leave_a_barrier(way: str, first: int, last: int) -> None:
    assert launch(device(way), first, last) == [w + 1 if first <= w < last else 0 for w in range(6)]


@pytest.mark.parametrize("way", WAYS)
def test_compiled_code_needs_no_help_with_it(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    without_help(monkeypatch)
    assert launch(device(way), 1, 4) == [0, 2, 3, 4, 0, 0]


@pytest.mark.parametrize("way", ENGINES)
@pytest.mark.parametrize(("first", "last"), [(2, 6), (0, 3)])
def test_they_count_where_that_is_chosen(way: str, first: int, last: int) -> None:
    dev = device(way, choices=Choices(barrier_all="block"))
    with pytest.raises(MachineFault, match="BARRIER_DEADLOCK"):
        launch(dev, first, last)
    assert launch(dev, 0, 6) == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("way", ENGINES)
def test_warps_that_are_left_and_wait_for_more_than_there_are(way: str) -> None:
    with pytest.raises(MachineFault, match="BARRIER_DEADLOCK"):
        launch(device(way), 0, 3, count="0x4")
