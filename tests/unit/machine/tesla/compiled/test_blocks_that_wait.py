"""Blocks that wait for each other in global memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import isakit
from isakit.errors import BudgetExceeded, MachineFault
from isakit.machine.tesla.analysis.spin_loops import spin_loops
from isakit.machine.tesla.choices import DEFAULT
from isakit.machine.tesla.compiled.launch import compiled_kernels as context
from isakit.machine.tesla.compiled.launch import repeated_launch
from isakit.machine.tesla.compiled.launch.compiled_kernels import flow_of
from support.clients.interrupts import interrupted
from support.runners.compiled import WAYS, compiled_device
from support.runners.tesla_kernels import blocks_wait

BARRIER = blocks_wait("    bar inc wait 0x0 all\n")
# Block b waits until block b + 1 has written its flag; the last one begins.
CHAIN = """
.kernel k
.param flags ptr
.param blocks u32
    mov b16 $r2l u16 s[0xc]
    cvt u32 $r2 u16 $r2l
    mov b32 $r4 0x1
    add b32 $r5 $r2 $r4
    mov b32 $r6 b32 s[blocks]
    shl b32 $r8 $r2 0x2
    add b32 $r8 b32 s[flags] $r8        // own flag
    mov b32 $r9 0x4
    add b32 $r9 $r8 $r9                 // that of the next block
    set $c0 # ge u32 $r5 $r6
    (lg $c0) bra #write
wait:
    ld b32 $r7 g14[$r9]
    set $c0 # e u32 $r7 $r10
    (lg $c0) bra #wait
    add b32 $r4 $r4 $r7
write:
    exit st b32 g14[$r8] $r4
"""


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes a second otherwise: the time after which a block is taken to wait, and the turns after that."""
    monkeypatch.setattr(context, "PATIENCE", 1 << 14)
    monkeypatch.setattr(context, "TURN", 1 << 9)


def load(way: dict[str, Any], text: str, **options: Any) -> tuple[isakit.Device, Any]:
    device = compiled_device(way, "gt200", **options)
    return device, device.load(isakit.isa("tesla", "gt200").assemble(text), registers=12)["k"]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("blocks", "threads"), [(2, 32), (30, 64), (61, 512)])
def test_a_barrier_of_all_blocks(way: str, blocks: int, threads: int) -> None:
    if blocks == 61:
        blocks = 60  # two of these fit a multiprocessor
    device, kernel = load(WAYS[way], BARRIER)
    counter, out = device.alloc(4), np.zeros(blocks, np.uint32)
    for k in (1, 2):  # the second launch knows that the blocks wait
        stats = kernel[blocks, threads](counter, out, np.uint32(k * blocks))
        assert out.tolist() == [k * blocks + b for b in range(blocks)]
        assert stats.warp_instructions > 12 * blocks * threads // 32


@pytest.mark.parametrize("threads", [1, 2, 4])
@pytest.mark.parametrize("tier", ["interp", "jit", "auto"])
def test_a_chain_of_blocks_that_wait_for_the_next(tier: str, threads: int) -> None:
    _, kernel = load({"tier": tier, "threads": threads}, CHAIN)
    flags = np.zeros(41, np.uint32)
    kernel[40, 32](flags, np.uint32(40))
    assert flags.tolist() == [*range(40, 0, -1), 0]


@pytest.mark.parametrize("bound", [1 << 9, 1 << 20])
@pytest.mark.parametrize("tier", ["interp", "jit"])
def test_blocks_that_did_not_wait_in_launches_before(tier: str, bound: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first ones are small, and those like them run in the calling thread, up to a bound."""
    monkeypatch.setattr(repeated_launch, "BOUND", bound)
    device, kernel = load({"tier": tier, "threads": 1}, CHAIN)
    flags = device.alloc(4 * 40)
    for blocks, expected in ((1, [1] * 40), (1, [1] * 40), (40, list(range(40, 0, -1))), (1, [1] * 40)):
        device.write(flags, np.zeros(40, np.uint32))
        kernel[40, 1](flags, np.uint32(blocks))
        assert device.read(flags, np.uint32, 40).tolist() == expected


@pytest.mark.parametrize("way", ["interp", "jit"])
def test_more_blocks_than_the_chip_holds(way: str) -> None:
    """The chip hangs; here a message says why."""
    device, kernel = load(WAYS[way], BARRIER)
    counter, out = device.alloc(4), np.zeros(80, np.uint32)
    with pytest.raises(MachineFault, match="BLOCKS_WAIT") as e:
        kernel[80, 512](counter, out, np.uint32(80))
    text = str(e.value)
    assert "the 60 resident blocks repeat themselves" in text
    assert "20 blocks are not resident, the chip holds 60" in text
    assert f"g14[{counter.address:#x}] = 0x3c" in text


def test_a_block_that_waits_for_nobody() -> None:
    device, kernel = load(WAYS["interp"], BARRIER)
    counter, out = device.alloc(4), np.zeros(8, np.uint32)
    with pytest.raises(MachineFault, match=r"the 8 resident blocks repeat themselves: block \(0, 0\) warp 0 reads g14"):
        kernel[8, 32](counter, out, np.uint32(9))
    assert device.read(counter, np.uint32, 1)[0] == 8
    device.write(counter, np.zeros(1, np.uint32))
    kernel[8, 32](counter, out, np.uint32(8))
    assert out.tolist() == [8 + b for b in range(8)]


def test_long_loops_that_wait_for_nobody_stay_fast_and_right() -> None:
    text = """
.kernel k
.param out ptr
    mov b16 $r2l u16 s[0xc]
    cvt u32 $r2 u16 $r2l
    shl b32 $r8 $r2 0x2
    add b32 $r8 b32 s[out] $r8
    mov b32 $r3 0x9000
loop:
    ld b32 $r7 g14[$r8]
    add b32 $r7 $r7 $r2
    st b32 g14[$r8] $r7
    add b32 $r3 $r3 0xffffffff
    set $c0 # g u32 $r3 $r9
    (lg $c0) bra #loop
    exit nop
"""
    for threads in (1, 2):
        _, kernel = load({"tier": "auto", "threads": threads}, text)
        out = np.zeros(20, np.uint32)
        kernel[20, 32](out)
        assert out.tolist() == [0x9000 * b for b in range(20)]


def test_an_interrupt_while_blocks_wait() -> None:
    text = BARRIER.replace(
        "ld b32 $r7 g14[$r3]", "add b32 $r10 $r10 $r4\n    ld b32 $r7 g14[$r3]"
    )  # no round is like another
    device, kernel = load(WAYS["interp"], text)
    counter, out = device.alloc(4), np.zeros(8, np.uint32)
    with interrupted(0.5):
        kernel[8, 32](counter, out, np.uint32(9))
    assert len(device.memory.allocations) == 1


@pytest.mark.parametrize("way", ["interp", "jit"])
def test_a_budget_counts_while_blocks_wait(way: str) -> None:
    device, kernel = load(WAYS[way], BARRIER)
    counter, out = device.alloc(4), np.zeros(8, np.uint32)
    assert kernel.launch(8, 32, counter, out, np.uint32(8), max_instructions=1 << 20).warp_instructions < 1 << 20
    assert out.tolist() == [8 + b for b in range(8)]
    device.write(counter, np.zeros(1, np.uint32))
    text = BARRIER.replace(
        "ld b32 $r7 g14[$r3]", "add b32 $r10 $r10 $r4\n    ld b32 $r7 g14[$r3]"
    )  # no round is like another
    kernel = device.load(isakit.isa("tesla", "gt200").assemble(text), registers=12)["k"]
    with pytest.raises(BudgetExceeded):
        kernel.launch(8, 32, counter, out, np.uint32(9), max_instructions=300_000)
    assert device.read(counter, np.uint32, 1)[0] == 8


def test_loops_with_the_clock_are_watched_once_it_has_gone_round() -> None:
    text = BARRIER.replace("ld b32 $r7 g14[$r3]", "mov $r10 $clock\n    ld b32 $r7 g14[$r3]")
    device, kernel = load(WAYS["interp"], text)
    counter, out = device.alloc(4), np.zeros(8, np.uint32)
    with pytest.raises(MachineFault, match="the 8 resident blocks repeat themselves"):
        kernel[8, 32](counter, out, np.uint32(9))


def test_a_loop_that_ends_by_the_clock_is_none_that_waits() -> None:
    """The clock it began with is not written in the loop: what counts is that the clock has not gone round."""
    text = BARRIER.replace("wait:", "    mov $r11 $clock\nwait:\n    mov $r10 $clock\n    sub b32 $r10 $r10 $r11")
    leave = (
        "    mov b32 $r8 0x40000000\n    set $c0 # g u32 $r10 $r8\n    (lg $c0) bra #over\n    set $c0 # l u32 $r7 $r6"
    )
    text = text.replace("    set $c0 # l u32 $r7 $r6", leave).replace("    bar inc", "over:\n    bar inc")
    device, kernel = load(WAYS["interp"], text)
    counter, out = device.alloc(4), np.zeros(8, np.uint32)
    kernel[8, 32](counter, out, np.uint32(9))
    assert out.tolist() == [8 + b for b in range(8)]


@pytest.mark.parametrize("way", ["interp", "jit"])
def test_blocks_wait_in_kernels_with_textures(way: str) -> None:
    fetch = "    mov b32 $r8 0x0\n    texfetch live $r8:#:#:# $t0 $s0 $r8 0x0 0x0 0x0\n"
    text = BARRIER.replace("    shl b32 $r8 $r2 0x2", fetch + "    add b32 $r7 $r7 $r8\n    shl b32 $r8 $r2 0x2")
    device, kernel = load(WAYS[way], text)
    kernel.bind(0, np.array([100], np.uint32))
    counter, out = device.alloc(4), np.zeros(20, np.uint32)
    kernel[20, 32](counter, out, np.uint32(20))
    assert out.tolist() == [120 + b for b in range(20)]
    with pytest.raises(MachineFault, match="repeat themselves"):
        kernel[20, 32](counter, out, np.uint32(99))


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (("", ""), 1),
        (("ld b32 $r7 g14[$r3]", "ld b32 $r7 g14[$r3]\n    add b32 $r9 $r9 $r4"), 0),  # counts its rounds
        (("ld b32 $r7 g14[$r3]", "ld b32 $r7 g14[$r3]\n    st b32 g14[$r6] $r7"), 0),  # writes
        (("ld b32 $r7 g14[$r3]", "mov b32 $r7 $r4"), 0),  # reads nothing
    ],
)
def test_loops_that_only_wait_are_known(change: tuple[str, str], found: int) -> None:
    code = load(WAYS["interp"], BARRIER.replace(*change))[1].code
    assert len(spin_loops(flow_of(code, code.address, frozenset(), DEFAULT))) == found


def test_kernels_that_wait_execute_little_in_vain() -> None:
    """With the patience of long loops a block would spin for hundreds of millions of instructions first."""
    device, kernel = load(WAYS["jit"], BARRIER)
    counter, out = device.alloc(4), np.zeros(30, np.uint32)
    stats = kernel[30, 64](counter, out, np.uint32(30))
    assert stats.warp_instructions < 30 * 2 * (1 << 14)
