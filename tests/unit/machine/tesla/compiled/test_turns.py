"""Warps that turn in a loop until another warp of their block has written something."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import isakit
from isakit.errors import BudgetExceeded
from isakit.machine.tesla import Choices
from isakit.machine.tesla.compiled.launch import compiled_kernels as context
from support.clients.interrupts import interrupted
from support.runners.compiled import WAYS, compiled_device

ONE_BY_ONE = """
.kernel ordered                             // warps add to a sum one after the other, the last one first
.shared 0x80
.param out ptr
.param warps u32
    cvt u32 $r1 u16 $r0l
    shr u32 $r2 $r1 0x5                     // warp
    mov b32 $r3 b32 s[warps]
    sub b32 $r3 $r3 $r2                     // its place in the order, from 1
    mov b32 $r4 0x0
    mov b32 $r7 0x20
    set $c1 # l u32 $r1 $r7
    (lg $c1) st b32 s[0x40] $r4             // the first warp clears the words
    (lg $c1) st b32 s[0x44] $r4
    bar inc wait 0x0 all
    sub b32 $r5 $r3 $r3
    add b32 $r5 $r3 0xffffffff
wait:
    ld $r6 b32 {flag}
    set $c0 # lg u32 $r6 $r5
    (lg $c0) bra #wait
    ld $r6 b32 s[0x44]
    shl b32 $r6 $r6 0x1
    add b32 $r6 $r6 $r2
    st b32 s[0x44] $r6
    st b32 s[0x40] $r3
    bar inc wait 0x0 all
    ld $r6 b32 s[0x44]
    mov b32 $r4 b32 s[out]
    shl b32 $r1 $r1 0x2
    add b32 $r4 $r4 $r1
    exit st b32 g14[$r4] $r6
"""
UNTIL = Choices(warp_order="until_waiting")
"""With turns a loop like this is no reason to lose patience."""
FLAG = ONE_BY_ONE.format(flag="s[0x40]")


def expected(warps: int) -> int:
    total = 0
    for w in reversed(range(warps)):
        total = 2 * total + w
    return total


def launched(device: isakit.Device, warps: int, blocks: int = 3, **options: Any) -> None:
    kernel = device.load(isakit.isa("tesla", "gt200").assemble(FLAG))["ordered"]
    out = np.zeros(32 * warps, np.uint32)
    kernel[blocks, 32 * warps](out, np.uint32(warps), **options)
    assert set(out.tolist()) == {expected(warps)}


@pytest.mark.parametrize("warps", [1, 2, 8])
@pytest.mark.parametrize("way", list(WAYS))
def test_warps_wait_for_each_other(way: str, warps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(context, "PATIENCE", 5_000)
    monkeypatch.setattr(context, "TURN", 100)
    launched(compiled_device(WAYS[way], "gt200", choices=UNTIL), warps)


@pytest.mark.parametrize("way", ["interp", "jit"])
def test_waiting_within_a_budget(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A budget that is large enough changes nothing; one that is not ends the run, wherever it is used up."""
    monkeypatch.setattr(context, "PATIENCE", 2_000)
    monkeypatch.setattr(context, "TURN", 50)
    device = compiled_device(WAYS[way], "gt200", choices=UNTIL)
    launched(device, 4, max_instructions=1_000_000)
    for budget in (1_000, 2_100, 2_500, 3_000):
        with pytest.raises(BudgetExceeded):
            launched(device, 4, max_instructions=budget)


def test_it_does_not_take_long() -> None:
    """The usual patience is short enough for a test."""
    launched(compiled_device(WAYS["jit"], "gt200"), 2, 1)


def test_the_reference_engine_agrees() -> None:
    launched(isakit.Device("gt200", engine="reference"), 8)


@pytest.mark.parametrize("way", ["interp", "jit"])
def test_waiting_for_ever(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A budget and an interrupt end it, before and after patience has."""
    text = "top:\nld $r1 b32 s[0x40]\nbra #top\n"
    for patience in (1_000, 1 << 40):
        monkeypatch.setattr(context, "PATIENCE", patience)
        device = compiled_device(WAYS[way], "gt200")
        kernel = device.load(isakit.isa("tesla", "gt200").assemble(text), registers=4, shared=0x80)["main"]
        with pytest.raises(BudgetExceeded):
            kernel.launch(1, 64, max_instructions=20_000)
        with interrupted(0.3):
            kernel.launch(1, 64)
