"""Locks of shared words in compiled code, as compilers use them for atomic operations on s[]."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import isakit
from isakit.errors import MachineFault
from isakit.machine.tesla.compiled.launch.host_assist import finish
from support.runners.compiled import WAYS, compiled_device, without_help

HISTOGRAM = """
.kernel histogram                           // 256 threads: how often each byte occurs in 256 words
.shared 0x440
.param data ptr
.param out ptr
    cvt u32 $r1 u16 $r0l
    shl $a1 $r1 0x2
    mov b32 $r2 0x0
    st b32 s[$a1+0x40] $r2
    bar inc wait 0x0 all
    cvt u32 $r3 u16 u16 s[0xc]
    shl b32 $r3 $r3 0xa
    shl b32 $r4 $r1 0x2
    add b32 $r3 $r3 $r4
    add b32 $r4 b32 s[data] $r3
    ld b32 $r5 g14[$r4]
    shl $a2 $r5 0x2
    mov b32 $r7 0x1
    joinat #counted
again:
    ld lock $c0 $r6 b32 s[$a2+0x40]
    (l $c0) add b32 $r6 $r6 $r7
    (l $c0) st unlock b32 s[$a2+0x40] $r6
    (geu $c0) bra #again
counted:
    join nop
    bar inc wait 0x0 all
    ld $r6 b32 s[$a1+0x40]
    add b32 $r4 b32 s[out] $r3
    exit st b32 g14[$r4] $r6
"""


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("way", list(WAYS))
def test_a_histogram(way: str, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every lane counts once, and the reference machine is not asked for help."""
    without_help(monkeypatch)
    blocks = 20
    data = np.random.default_rng(1).integers(0, 256, (blocks, 256), dtype=np.uint32)
    data[3] = 7  # all threads want the same word
    out = np.zeros((blocks, 256), np.uint32)
    device = compiled_device({**WAYS[way], "threads": threads}, "gt200")
    device.load(isakit.isa("tesla", "gt200").assemble(HISTOGRAM))["histogram"][blocks, 256](data, out)
    assert np.array_equal(out, [np.bincount(row, minlength=256) for row in data])


ONE_WARP = {
    "the lowest lane gets it": "and b32 $r2 $r1 0x0\nshl $a1 $r2 0x2\nld lock $c0 $r3 b32 s[$a1+0x40]",
    "one lock per warp": "shl $a1 $r1 0x2\nld lock $c0 $r3 b32 s[$a1+0x40]\nld lock $c1 $r4 b32 s[0x50]",
    "another lane may unlock": """
        shl $a1 $r1 0x2
        ld lock $c0 $r3 b32 s[$a1+0x40]
        st unlock b32 s[0x40] $r1
        ld lock $c1 $r4 b32 s[0x40]""",
    "only the word that is locked": """
        shl $a1 $r1 0x2
        ld lock $c0 $r3 b32 s[0x44]
        st unlock b32 s[0x48] $r1
        ld lock $c1 $r4 b32 s[0x44]""",
    "only lanes that execute": """
        mov b32 $r2 0x5
        set $c2 # e u32 $r1 $r2
        (e $c2) ld lock $c0 $r3 b32 s[0x44]
        (e $c2) ld lock $c1 $r4 b32 s[0x44]""",
    "then a fault": "ld lock $c0 $r3 b32 s[0x44]\nmov b32 $r2 0x1\nld b32 $r2 g14[$r2]",
    "an address outside": "shl $a1 $r1 0x5\nld lock $c0 $r3 b32 s[$a1+0x40]\nmov b32 $r2 0x1",
    "a misaligned address": "shl $a1 $r1 0x1\nld lock $c0 $r3 b32 s[$a1+0x40]\nmov b32 $r2 0x1",
    "a fault after": """
        shl $a1 $r1 0x2
        ld lock $c0 $r3 b32 s[$a1+0x40]
        st unlock b32 s[$a1+0x80] $r3
        mov b32 $r5 0x9""",
}
BEGIN = "cvt u32 $r1 u16 $r0l\nmov b32 $r5 b32 s[0x10]\nmov b32 $r3 0x0\nmov b32 $r4 0x0\n"
END = """
    mov $r6 $c0
    mov $r7 $c1
    shl b32 $r2 $r1 0x4
    add b32 $r5 $r5 $r2
    add b32 $r3 $r3 $r4
    st b32 g14[$r5] $r6
    add b32 $r5 $r5 0x4
    st b32 g14[$r5] $r7
    add b32 $r5 $r5 0x4
    exit st b32 g14[$r5] $r3
"""


def left(device: isakit.Device, text: str) -> tuple[Any, ...]:
    """Memory, counts and fault."""
    kernel = device.load(isakit.isa("tesla", "gt200").assemble(text), registers=8, shared=0x100, barriers=1)["main"]
    out = np.zeros((32, 4), np.uint32)
    try:
        stats = kernel[1, 32](out)
    except MachineFault as e:
        return out.tobytes(), e.kind, e.pc, e.lane, e.address
    return out.tobytes(), stats.instructions, stats.warp_instructions


@pytest.mark.parametrize("name", ONE_WARP)
def test_one_warp(name: str) -> None:
    """With one warp everything is determined."""
    text = BEGIN + ONE_WARP[name] + END
    wanted = left(isakit.Device("gt200", engine="reference"), text)
    for way in WAYS.values():
        assert left(compiled_device(way, "gt200"), text) == wanted, way


def test_a_lock_is_held_at_a_barrier() -> None:
    """What another warp holds is left to the reference machine, so that nobody waits for ever."""
    text = """
        cvt u32 $r1 u16 $r0l
        shl b32 $r2 $r1 0x2
        add b32 $r2 b32 s[0x10] $r2
        ld lock $c0 $r3 b32 s[0x44]
        bar inc wait 0x0 all
        mov $r4 $c0
        st b32 g14[$r2] $r4
        exit st unlock b32 s[0x44] $r1
    """
    seen: list[Any] = []
    for device in (isakit.Device("gt200", engine="reference"), *(compiled_device(w, "gt200") for w in WAYS.values())):
        kernel = device.load(isakit.isa("tesla", "gt200").assemble(text), registers=8, shared=0x80, barriers=1)["main"]
        out = np.zeros(96, np.uint32)
        stats = kernel[1, 96](out)
        seen.append((out.tolist(), stats.instructions))
    assert seen[0][0] == [2] + [0] * 95
    assert all(s == seen[0] for s in seen)


def test_a_lock_changes_hands() -> None:
    """A machine that holds locks goes on in compiled code after any number of steps."""
    device = isakit.Device("gt200", engine="reference")
    kernel = device.load(isakit.isa("tesla", "gt200").assemble(HISTOGRAM))["histogram"]
    data = np.random.default_rng(2).integers(0, 4, 256, dtype=np.uint32)
    wanted = np.bincount(data, minlength=256)
    held = 0
    for steps in range(90, 500, 37):
        out = np.zeros(256, np.uint32)
        machine = kernel.machine(1, 256, [data, out])
        for _ in range(steps):
            machine.step()
        held += any(w.control.lock for w in machine.warps)
        finish(machine)
        machine.after()
        assert not any(w.control.lock for w in machine.warps)
        assert np.array_equal(out, wanted), steps
    assert held > 2
