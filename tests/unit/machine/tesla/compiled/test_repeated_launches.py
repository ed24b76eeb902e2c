"""Small launches that are repeated run in the calling thread with what the first one has prepared."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import isakit
from isakit.errors import BudgetExceeded, LaunchError, MachineFault
from isakit.machine.tesla.compiled.launch import block_runner, repeated_launch, resident_blocks
from support.clients.interrupts import interrupted
from support.runners.compiled import WAYS, compiled_device

# out[block * threads + thread] = turns + c0[0] + thread, after as many turns of a loop
KERNEL = """
.kernel k
.shared 0x80
.param out ptr
.param turns u32
    mov b16 $r2l u16 s[0xc]
    mov b16 $r2h u16 s[0x2]
    mul $r2 u16 $r2l u16 $r2h
    cvt u32 $r1 u16 $r0l
    add b32 $r2 $r2 $r1
    shl b32 $r2 $r2 0x2
    add b32 $r2 b32 s[out] $r2
    ld $r5 b32 c0[0x0]
    add b32 $r5 $r5 $r1
    mov b32 $r4 b32 s[turns]
again:
    add b32 $r4 $r4 0xffffffff
    add b32 $r5 $r5 0x1
    set $c0 # g u32 $r4 $r9
    (lg $c0) bra #again
    exit st b32 g14[$r2] $r5
"""


@pytest.fixture
def used(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many launches were prepared ones."""
    seen: list[int] = []
    again = repeated_launch.RepeatedLaunch.again

    def counted(self: Any, launch: Any) -> Any:
        seen.append(1)
        return again(self, launch)

    monkeypatch.setattr(repeated_launch.RepeatedLaunch, "again", counted)
    return seen


def load(way: str, **options: Any) -> tuple[isakit.Device, Any]:
    device = compiled_device({**WAYS[way], "threads": 2}, "gt200", **options)
    kernel = device.load(isakit.isa("tesla", "gt200").assemble(KERNEL), registers=10)["k"]
    kernel.constants[0] = (100).to_bytes(4, "little")
    return device, kernel


def expected(blocks: int, threads: int, turns: int, constant: int = 100) -> list[int]:
    return [constant + turns + t for _ in range(blocks) for t in range(threads)]


@pytest.mark.parametrize("way", WAYS)
def test_other_parameters_shapes_and_allocations(way: str, used: list[int]) -> None:
    device, kernel = load(way)
    counts: dict[Any, Any] = {}
    for k in range(24):
        blocks, threads, turns = (1, 3)[k % 2], (32, 70)[k % 3 == 0], 1 + k % 5
        if k % 2:
            device.alloc(1000 * k)
        out = np.zeros(blocks * threads, np.uint32)
        stats = kernel[blocks, threads](out, np.uint32(turns))
        assert out.tolist() == expected(blocks, threads, turns)
        known = counts.setdefault((blocks, threads, turns), (stats.instructions, stats.warp_instructions))
        assert known == (stats.instructions, stats.warp_instructions)
    assert len(used) == 20


@pytest.mark.parametrize("way", WAYS)
def test_constants_and_choices_that_have_changed(way: str, used: list[int]) -> None:
    _, kernel = load(way)
    for constant in (100, 100, 7, 7, 8):
        kernel.constants[0] = constant.to_bytes(4, "little")
        out = np.zeros(32, np.uint32)
        kernel[1, 32](out, np.uint32(2))
        assert out.tolist() == expected(1, 32, 2, constant)
    assert len(used) == 2


@pytest.mark.parametrize("way", WAYS)
def test_a_launch_that_is_not_small_any_more_goes_on(
    way: str, used: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repeated_launch, "BOUND", 3000)
    _, kernel = load(way)
    out = np.zeros(40 * 64, np.uint32)
    for turns in (2, 2, 5000, 2, 60):
        out[:] = 0
        stats = kernel[40, 64](out, np.uint32(turns))
        assert out.tolist() == expected(40, 64, turns)
        assert stats.warp_instructions == 80 * (11 + 4 * turns)
    assert len(used) >= 3


@pytest.mark.parametrize("tier", ["interp", "jit"])
def test_many_barriers_beyond_the_bound_are_no_waiting_for_other_blocks(
    tier: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every barrier ends a turn of all warps; were that taken for waiting, all launches to come would be slow."""
    monkeypatch.setattr(repeated_launch, "BOUND", 3000)
    device = compiled_device({"tier": tier, "threads": 1}, "gt200")
    text = KERNEL.replace("add b32 $r5 $r5 0x1", "add b32 $r5 $r5 0x1\n    bar inc wait 0x0 0xfff")
    kernel = device.load(isakit.isa("tesla", "gt200").assemble(text), registers=10)["k"]
    kernel.constants[0] = (100).to_bytes(4, "little")
    residents: list[Any] = []
    monkeypatch.setattr(resident_blocks.ResidentBlocks, "_widen", lambda self: residents.append(self))
    out = np.zeros(40 * 64, np.uint32)
    for turns in (2, 2, 200, 200, 2):
        out[:] = 0
        kernel[40, 64](out, np.uint32(turns))
        assert out.tolist() == expected(40, 64, turns)
    assert not residents


@pytest.mark.parametrize("way", WAYS)
def test_faults_are_those_of_a_first_launch(way: str, used: list[int]) -> None:
    device, kernel = load(way)
    out = device.alloc(128)
    kernel.launch(2, 16, out, np.uint32(2))
    with pytest.raises(MachineFault, match="UNMAPPED_ADDRESS") as e:
        kernel.launch(2, 16, np.uint32(64), np.uint32(2))
    assert (e.value.block, e.value.lane, e.value.address) == ((0, 0), 0, 64)
    kernel.launch(2, 16, out, np.uint32(2))
    assert device.read(out, np.uint32, 32).tolist() == expected(2, 16, 2)
    out.free()
    with pytest.raises(MachineFault, match="UNMAPPED_ADDRESS"):
        kernel.launch(2, 16, np.uint32(out.address), np.uint32(2))
    assert used


def test_checks_and_bounds_stay(used: list[int]) -> None:
    device, kernel = load("interp")
    out = device.alloc(4096)
    for _ in range(3):
        kernel.launch(1, 32, out, np.uint32(2))
    with pytest.raises(BudgetExceeded):
        kernel.launch(1, 32, out, np.uint32(2), max_instructions=5)
    with pytest.raises(LaunchError):
        kernel.launch(1, 513, out, np.uint32(2))
    assert len(used) == 2


def test_an_interrupt_of_one_that_has_become_endless(used: list[int]) -> None:
    device, kernel = load("jit")
    out = np.zeros(32, np.uint32)
    kernel[1, 32](out, np.uint32(2))
    with interrupted(0.3):
        while True:
            kernel[1, 32](out, np.uint32(0xFFFFFFFF))
    assert used
    assert device.memory.allocations == {}


def test_large_launches_are_not_prepared(used: list[int]) -> None:
    _, kernel = load("jit")
    for _ in range(3):
        kernel[200, 256](np.zeros(200 * 256, np.uint32), np.uint32(30))
    assert used == []
    assert block_runner.SMALL < 200 * 8 * 131


def test_devices_and_programs_end_when_nothing_uses_them() -> None:
    """What is kept for repeated launches held both for ever."""
    device = isakit.Device("gt200", engine="llvm", threads=1)
    kernel = device.load(isakit.isa("tesla", "gt200").assemble(KERNEL), registers=10)["k"]
    kernel.constants[0] = bytearray(4)
    out = device.alloc(4 * 64)
    for _ in range(3):
        kernel.launch(1, 32, out, np.uint32(2))
    memory = weakref.ref(device.memory)
    del device, kernel, out
    gc.collect()
    assert memory() is None


def test_a_device_keeps_few_programs() -> None:
    device = isakit.Device("gt200", engine="llvm", threads=1, tier="interp")
    program = isakit.isa("tesla", "gt200").assemble(".kernel k\nexit nop")
    for _ in range(repeated_launch.KEPT + 20):
        device.load(program, registers=1)["k"].launch(1, 32)
    assert len(device.memory.prepared) == repeated_launch.KEPT
