"""Branches to addresses from memory, which only the interpreter follows, whatever tier is asked for."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import isakit
from isakit.errors import MachineFault
from support.runners.compiled import WAYS, compiled_device, without_help

TABLE = """
    cvt u32 $r1 u16 $r0l
    mov b32 $r4 b32 s[0x10]
    shl b32 $r3 $r1 0x2
    add b32 $r4 $r4 $r3
    and b32 $r5 $r1 {mask:#x}
    shl $a1 $r5 0x2
    mov b32 $r2 0x0
    {before}
    bra c1[$a1]
    mov b32 $r2 0x63
first:
    add b32 $r2 $r2 0x1
second:
    add b32 $r2 $r2 0x10
third:
    add b32 $r2 $r2 0x100
    {after}
    exit st b32 g14[$r4] $r2
"""
WAYS_TO_GO = ["add b32 $r2 $r2 0x1", "add b32 $r2 $r2 0x10", "add b32 $r2 $r2 0x100"]


def left(device: isakit.Device, targets: list[int | str], mask: int, block: int, before: str = "") -> tuple[Any, ...]:
    """What the threads left, counts or fault. Targets that are texts are addresses of that instruction."""
    after = "join nop" if "joinat" in before else "nop"
    text = TABLE.format(mask=mask, before=before.replace("joinat", "joinat #met"), after=f"met: {after}")
    program = isakit.isa("tesla", "gt200").assemble(text)
    where = {i.text: i.address for i in program}
    kernel = device.load(program, registers=8, shared=0x20, barriers=1)["main"]
    kernel.constants[1] = struct.pack("<8I", *(where[t] if isinstance(t, str) else t for t in targets))
    out = np.zeros(block * 3, np.uint32)
    try:
        stats = kernel[3, block](out)
    except MachineFault as e:
        return e.kind, e.pc, e.warp, e.lane
    return out.tolist(), stats.instructions, stats.warp_instructions


def everywhere(targets: list[int | str], mask: int, block: int, before: str = "") -> tuple[Any, ...]:
    wanted = left(isakit.Device("gt200", engine="reference"), targets, mask, block, before)
    for way in WAYS.values():
        assert left(compiled_device(way, "gt200"), targets, mask, block, before) == wanted, way
    return wanted


@pytest.mark.parametrize("mask", [0, 1, 3, 7])
@pytest.mark.parametrize("block", [32, 80])
@pytest.mark.parametrize("before", ["", "joinat"])
def test_tables(mask: int, block: int, before: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lanes go where their word says, without help of the reference machine, and meet again."""
    without_help(monkeypatch)
    order = [WAYS_TO_GO[k] for k in (2, 0, 1, 0, 2, 2, 1, 1)]
    got = everywhere(list(order), mask, block, before)
    sums = {WAYS_TO_GO[0]: 0x111, WAYS_TO_GO[1]: 0x110, WAYS_TO_GO[2]: 0x100}
    assert got[0][:block] == [sums[order[t & mask]] for t in range(block)]


@pytest.mark.parametrize(
    ("targets", "before", "kind"),
    [
        ([WAYS_TO_GO[0], 0x4000], "", "CODE_OUT_OF_RANGE"),
        ([0x4000, WAYS_TO_GO[0]], "", "CODE_OUT_OF_RANGE"),
        ([0xFF000000, 0xFF000000], "", "CODE_OUT_OF_RANGE"),
        ([WAYS_TO_GO[0], 0xFF000000], "", "CODE_OUT_OF_RANGE"),
        ([WAYS_TO_GO[0], 2], "", "CODE_OUT_OF_RANGE"),
        ([WAYS_TO_GO[0], WAYS_TO_GO[1]], "quadon", "QUADON_ACTIVE"),
        ([WAYS_TO_GO[0], WAYS_TO_GO[0]], "quadon", "QUADON_ACTIVE"),
    ],
)
def test_faults(targets: list[int | str], before: str, kind: str) -> None:
    """The reference machine raises them, with the lane it says."""
    assert everywhere([*targets, *[0] * 6], 1, 32, before)[0] == kind


def test_a_full_stack() -> None:
    """One more way needs one more entry."""
    before = """
        mov b32 $r6 {}
    again:
        breakaddr #again
        add b32 $r6 $r6 0xffffffff
        and b32 $c0 # $r6 $r6
        (lg $c0) bra #again
    """
    targets: list[int | str] = [WAYS_TO_GO[0], WAYS_TO_GO[1], *[0] * 6]
    for entries in (4000, 4095, 4096):
        got = everywhere(targets, 1, 32, before.format(hex(entries)))
        assert (got[0] == "STACK_OVERFLOW") == (entries == 4096)
