"""Accesses whose addresses are known to lie apart by so many bytes when code is made, because they come from $r0."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import isakit
from isakit import MachineFault
from isakit.machine.tesla import Choices
from isakit.machine.tesla.address_spaces import LinearWindow, PitchWindow
from isakit.machine.tesla.analysis.control_flow import Flow
from isakit.machine.tesla.analysis.lane_steps import LaneSteps
from support.runners.compiled import WAYS, device_on

KERNEL = """
.kernel touched
.param out ptr
.param base u32
    cvt u32 $r1 u16 $r0l
    mov b32 $r2 $r1
    {index}
    add b32 $r2 b32 s[base] $r2
    shl b32 $r1 $r1 0x2
    add b32 $r1 b32 s[out] $r1
    mov b32 $r10 0x2
    mov b32 $r11 0xffffffff
    mov b32 $r12 $r1
    mov b32 $r13 $r2
    mov b32 $r14 $r0
    mov b32 $r15 $r11
again:
    ld {kind} $r4{many} {space}[$r2]
    add b32 $r12 $r12 $r4
    st {stored} {space}[$r2] $r12{many}
    ld {kind} $r4{many} {space}[$r2]
    xor b32 $r13 $r12 $r4
    {atomic}
    {again}
    ld {kind} $r4{many} {space}[$r2]
    xor b32 $r13 $r13 $r4
    exit st b32 g14[$r1] $r13
"""
MOVED = 16
"""Bytes from where lanes access in one turn of the loop to where they do in the next one."""
AGAIN = f"add b32 $r2 $r2 {MOVED:#x}\n    add b32 $c1 $r10 $r10 $r11\n    (lg $c1) bra #again"
INDICES = {
    **{f"step {step}": f"mul $r2 u24 $r2 {step:#x}" for step in (1, 2, 4, 6, 8, 12, 16, 20)},
    "step 0": "mov b32 $r2 0x0",
    "step -4": "shl b32 $r2 $r2 0x2\n    subr b32 $r2 $r2 0x7c",
    "step -8": "shl b32 $r2 $r2 0x3\n    subr b32 $r2 $r2 0xf8",
}
SIZES = {"u8": 1, "s16": 2, "b32": 4, "b64": 8, "b128": 16}
SIZE = 1024
"""Bytes of the buffer."""


def touched(way: str, index: str, kind: str, at: int, *, loop: bool = False, atomic: str = "",
            window: Callable[[int], Any] | None = None, **choices: Any) -> tuple[Any, Any, str]:  # fmt: skip
    """What lanes have, what the buffer holds, and what was said, if the first lane begins `at` bytes into the buffer.

    `window`: what g3 is, from the address of the buffer; otherwise lanes use g14, which is all memory.
    """
    device = device_on(way, "gt200", choices=Choices(**choices))
    out, data, rng = device.alloc(128), device.alloc(SIZE), np.random.default_rng(6)
    device.write(data, rng.integers(0, 1 << 32, SIZE // 4, dtype=np.uint32))
    if window is not None:
        device.bind(3, window(data.address))
    source = KERNEL.format(
        index=INDICES[index],
        kind=kind,
        stored=kind if kind[0] == "b" else f"u{8 * SIZES[kind]}",
        many={"b64": "d", "b128": "q"}.get(kind, ""),
        space="g14" if window is None else "g3",
        again=AGAIN if loop else "",
        atomic=atomic,
    )
    said = ""
    try:
        base = at if window is not None else data.address + at
        device.load(isakit.isa("tesla", "gt200").assemble(source))["touched"][1, 32](out, np.uint32(base & 0xFFFFFFFF))
    except MachineFault as e:
        said = str(e)
    return device.read(out, np.uint32, 32), device.read(data, np.uint32, SIZE // 4), said


def assert_alike(*given: Any, **options: Any) -> str:
    """Every way of the compiled engine leaves what the reference machine leaves; returns what both say."""
    expected = touched("reference", *given, **options)
    for way in WAYS:
        got = touched(way, *given, **options)
        assert got[2] == expected[2]
        assert np.array_equal(got[0], expected[0])
        assert np.array_equal(got[1], expected[1])
    return expected[2]


@pytest.mark.parametrize("kind", SIZES)
@pytest.mark.parametrize("index", INDICES)
def test_every_lane_has_its_own_element(index: str, kind: str) -> None:
    said = assert_alike(index, kind, 0, loop=True)
    assert ("MISALIGNED" in said) == (int(index.split()[1]) % SIZES[kind] != 0)


@pytest.mark.parametrize("index", ["step 0", "step 4", "step 8", "step 12", "step -4", "step -8"])
def test_the_buffer_ends_where_a_lane_is(index: str) -> None:
    """In the first turn, in the second one, where the buffer is the one that was hit last, and after the loop."""
    end = SIZE - 31 * abs(int(index.split()[1])) - 4
    last = end - 2 * MOVED
    for at in (0, -4, 2, last, last + 4, last + MOVED + 4, end + 4):
        assert (assert_alike(index, "b32", at, loop=True) == "") == (at in (0, last))
        assert_alike(index, "b32", at, loop=True, out_of_range="ignore")
        assert_alike(index, "b32", at, loop=True, misaligned="truncate")


@pytest.mark.parametrize("index", ["step 0", "step 4", "step 8", "step -4"])
def test_in_a_window_of_memory(index: str) -> None:
    for at in (0, 4, 256, -4):
        for choice in ("fault", "ignore"):
            for window in (lambda a: LinearWindow(a + 64, 264), lambda a: PitchWindow(a, 64, 64, 2)):
                assert_alike(index, "b32", at, window=window, loop=True, out_of_range=choice)


@pytest.mark.parametrize("index", ["step 0", "step 4", "step 8", "step -4"])
@pytest.mark.parametrize("atomic", ["red add u32 g14[$r2] $r12", "ld add u32 $r4 g14[$r2] $r12"])
def test_atomics(index: str, atomic: str) -> None:
    assert assert_alike(index, "b32", 0, atomic=atomic, loop=True) == ""


@pytest.mark.parametrize("index", INDICES)
def test_the_step_is_known(index: str) -> None:
    """In a loop as well, but not after a branch that lanes may take in turns. Else tests see the general ways only."""
    device = isakit.Device("gt200", engine="reference")
    source = KERNEL.format(index=INDICES[index], kind="b32", stored="b32", many="", space="g14", again=AGAIN, atomic="")
    launch = device.load(isakit.isa("tesla", "gt200").assemble(source))["touched"].machine(1, 32, (0, 0)).launch
    steps = LaneSteps(Flow(launch.code, launch.entry), launch.code.registers)
    found, known = [], steps.at[launch.entry]
    for pc in steps.flow.order:
        step = steps.flow.steps[pc]
        known = steps.at[pc] if pc in steps.flow.leaders else known
        assert step.trace is not None
        found += [steps.step_of(step, e.args[0], known) for e in step.trace.of_kind("load") if e.name == "g14"]
        known = steps.after(step, known)
    assert found == [int(index.split()[1])] * 2 + [None]
