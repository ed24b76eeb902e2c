"""The sanitizer finds planted bugs, one per kernel, where they are, and nothing in programs that have none."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import isakit
from conftest import ROOT
from isakit.debug.sanitize import SanitizerReport, sanitize
from isakit.errors import LaunchError

HEAD = """
    and b32 $r1 $r0 0xffff
    shl b32 $r2 $r1 0x2
    shl $a1 $r1 0x2
    add b32 $r3 b32 s[0x10] $r2
    mov b32 $r7 0x1f
    and b32 $c1 $r7 $r1 $r7
    mov b32 $r7 0x20
    and b32 $c2 $r7 $r1 $r7
"""
"""$r1 thread, $r2 and $a1 four times that, $r3 its word of the output; $c1 e: lane 0, $c2 e: the first warp."""

BUGS: dict[str, tuple[str, str, str]] = {
    "a register is read that was never written": ("uninitialised-register", "mov b32 $r5 $r6", "$r6"),
    "a register beyond those the kernel has is read": ("uninitialised-register", "add b32 $r5 $r1 $r30", "$r30"),
    "a register beyond those the kernel has guards nothing": ("uninitialised-register", "mov b32 $r5 $r62", "reads 0"),
    "a register is written in one branch only": (
        "uninitialised-register", "(lg $c1) mov b32 $r6 $r1\n mov b32 $r5 $r6", "thread 0"),
    "an address register is read that was never written": ("uninitialised-register", "ld $r5 b32 s[$a2+0x10]", "$a2"),
    "a condition is read that was never written": ("uninitialised-register", "(e $c3) mov b32 $r5 $r1", "$c3"),
    "shared memory is read that was never written": ("uninitialised-memory", "ld $r5 b32 s[$a1+0x40]", "s[0x40]"),
    "a neighbour's word is read that only half of the threads wrote": (
        "uninitialised-memory", "(e $c2) st b32 s[$a1+0x40] $r1\n bar inc wait 0x0 0xfff\n ld $r5 b32 s[$a1+0x80]",
        "s[0xc0]"),
    "local memory is read that was never written": ("uninitialised-memory", "ld b32 $r5 l[0x4]", "l[0x4]"),
    "a buffer is read that nobody wrote": ("uninitialised-memory", "ld b32 $r5 g14[$r3]", "g14["),
    "a barrier is missing between a store and a neighbour's load": (
        "race", "st b32 s[$a1+0x40] $r1\n mov b32 $r6 0x80\n xor b32 $r6 $r2 $r6\n shl $a2 $r6 0x0\n"
        "ld $r5 b32 s[$a2+0x40]", "s["),
    "all warps store different values to one word": ("race", "st b32 s[0x40] $r1", "s[0x40]"),
    "a store follows a neighbour's load without a barrier": (
        "race", "st b32 s[$a1+0x40] $r1\n bar inc wait 0x0 0xfff\n ld $r5 b32 s[0x40]\n "
        "st b32 s[$a1+0x40] $r2", "read by"),
    "all blocks store their number to one word of a buffer": (
        "race", "mov b32 $r4 b32 s[0x10]\n mov b32 $r5 b32 s[0xc]\n st b32 g14[$r4] $r5", "g14["),
    "a barrier stands in a branch": ("divergent-barrier", "joinat #m\n (e $c1) bra #m\n "
        "bar inc wait 0x0 0xfff\n m: join nop",
                                     "lanes"),
    "a warp never comes to a barrier": ("missing-warp", "(e $c2) bra #away\n bar inc wait 0x0 0x3\n "
        "away: nop", "waits"),
    "shared memory is stored past its end": ("out-of-bounds", "st b32 s[$a1+0x200] $r1", "s["),
    "a buffer is stored past its end": ("out-of-bounds", "add b32 $r4 $r3 $r2\n st b32 g14[$r4] $r1", "g14["),
    "a null pointer is loaded": ("out-of-bounds", "ld b32 $r5 g14[$r2]", "g14[0x0]"),
    "local memory is stored past its end": ("out-of-bounds", "st b32 l[0x40] $r1", "l[0x40]"),
    "a word of a buffer is stored at an odd address": (
        "misaligned", "mov b32 $r4 0x2\n add b32 $r4 $r3 $r4\n (e $c2) st b32 g14[$r4] $r1", "4 bytes"),
    "a half word of shared memory is loaded at an odd address": (
        "misaligned", "mov b32 $r4 0x41\n shl $a2 $r4 0x0\n mov b32 $r5 0x0\n st b32 s[0x40] $r5\n "
        "bar inc wait 0x0 0xfff\n ld $r5 u16 s[$a2+0x0]", "2 bytes"),
    "a space without memory is loaded": ("unbound-space", "ld b32 $r5 g3[$r3]", "g3"),
    "the program runs into a word that is no instruction": ("fault", "bra 0x7000", "CODE_OUT_OF_RANGE"),
}  # fmt: skip


def report(body: str, threads: int = 64, blocks: int = 2, written: bool = True) -> SanitizerReport:
    text = f".isa tesla gt200\n.kernel k\n.shared 0x200\n.local 0x10\n.param out ptr\n{HEAD}{body}\n exit nop\n"
    program = isakit.isa("tesla", "gt200").assemble(text)
    device = isakit.Device("gt200", engine="reference")
    out = device.alloc(4 * threads)
    machine = device.load(program, registers=8)["k"].machine(blocks, threads, (out,))
    return sanitize(machine, unwritten=() if written else ((out.address, 4 * threads),))


@pytest.mark.parametrize("bug", BUGS)
def test_a_planted_bug_is_found(bug: str) -> None:
    kind, body, says = BUGS[bug]
    found = report(body, written="nobody" not in bug)
    assert kind in {f.kind for f in found}, str(found)
    assert {f.kind for f in found} <= {kind, "fault"} or kind == "missing-warp", str(found)
    assert any(says in f.example for f in found if f.kind == kind), str(found)


def test_there_are_enough_bugs() -> None:
    assert len(BUGS) >= 20


CLEAN = {
    "neighbours exchange through shared memory with barriers": (
        "st b32 s[$a1+0x40] $r1\n bar inc wait 0x0 0xfff\n mov b32 $r6 0x80\n xor b32 $r6 $r2 $r6\n shl $a2 $r6 0x0\n"
        "ld $r5 b32 s[$a2+0x40]\n bar inc wait 0x0 0xfff\n st b32 s[$a1+0x40] $r5"),
    "all warps store the same value": "mov b32 $r4 0x1\n st b32 s[0x40] $r4",
    "a branch that meets again": "joinat #m\n (e $c1) bra #m\n mov b32 $r5 $r1\n m: join nop\n bar inc wait 0x0 0xfff",
    "registers that compilers take for 0 are read": "add b32 $r5 $r1 $r124\n add b32 $r5 $r5 $r63\n mov b32 $r5 $r127",
    "lanes of one warp exchange without a barrier": (
        "(e $c2) st b32 s[$a1+0x40] $r1\n mov b32 $r6 0x4\n xor b32 $r6 $r2 $r6\n shl $a2 $r6 0x0\n "
        "(e $c2) ld $r5 b32 s[$a2+0x40]"),
}  # fmt: skip


@pytest.mark.parametrize("what", CLEAN)
def test_what_is_right_is_not_reported(what: str) -> None:
    found = report(CLEAN[what])
    assert found.clean, str(found)


def test_every_access_out_of_bounds_is_counted() -> None:
    (found,) = report("st b32 s[$a1+0x1c0] $r1")
    assert found.count == 2 * (64 - 16)


def test_a_race_names_both_instructions_and_threads() -> None:
    (found,) = report("st b32 s[$a1+0x40] $r1\n (lg $c2) st b32 s[0x40] $r1")
    assert found.other is not None
    assert found.other < found.address
    assert "thread 32" in found.example
    assert "thread 0" in found.example


def test_a_launch_that_has_begun_is_refused() -> None:
    device = isakit.Device("gt200", engine="reference")
    program = isakit.isa("tesla", "gt200").assemble(".kernel k\nmov b32 $r1 $r0\nexit nop")
    machine = device.load(program)["k"].machine(1, 32)
    machine.step()
    with pytest.raises(LaunchError):
        sanitize(machine)


def test_an_instruction_whose_destination_the_kernel_does_not_have_is_reported() -> None:
    text = ".isa tesla gt200\n.kernel k\n.regs 4\nmov b32 $r5 $r0\nmov b32 $r2 $r5\nmov b32 $r127 $r0\nexit nop\n"
    device = isakit.Device("gt200", engine="reference")
    found = sanitize(device.load(isakit.isa("tesla", "gt200").assemble(text))["k"].machine(1, 64))
    assert [(f.kind, f.address, f.count) for f in found] == [
        ("unallocated-register", 0, 64), ("uninitialised-register", 4, 64)
    ]  # fmt: skip
    assert [f.example for f in found] == [
        "$r5 of block (0, 0) thread 0, which has 4 registers; nothing is written",
        "$r5 of block (0, 0) thread 0, which has 4 registers; it reads 0",
    ]


# --- programs that are known to be clean ------------------------------------------------------------------------------
def matmul(device: Any) -> Any:
    program = isakit.isa("tesla", "gt200").assemble((ROOT / "examples/tesla/matmul.s").read_text())
    a = np.ones((32, 32), np.float32)
    return device.load(program)["matmul"].machine((2, 2), (16, 16), (a, a.copy(), np.zeros_like(a), 32))


def saxpy(device: Any) -> Any:
    program = isakit.isa("tesla", "gt200").assemble((ROOT / "examples/tesla/saxpy.s").read_text())
    x = np.ones(200, np.float32)
    return device.load(program)["saxpy"].machine(2, 128, (200, np.float32(2), x, x.copy()))


@pytest.mark.parametrize("make", [matmul, saxpy])
def test_the_examples_are_clean(make: Any) -> None:
    found = sanitize(make(isakit.Device("gt200", engine="reference")))
    assert found.clean, str(found)


# --- the other machines -----------------------------------------------------------------------------------------------
def test_microcode_that_reads_too_early() -> None:
    core = isakit.vuc.Core("vp3")
    core.load("ld $r1 D[0x0]\nadd $r2 $r1 $r1\nend:\nbra #end\nnop\n")
    assert {f.kind for f in sanitize(core, max_instructions=60)} == {"hazard"}


def test_microcode_that_waits_is_clean() -> None:
    core = isakit.vuc.Core("vp3")
    core.load("ld $r1 D[0x0]\n" + "nop\n" * 6 + "add $r2 $r1 $r1\nend:\nbra #end\nnop\n")
    assert sanitize(core, max_instructions=60).clean


def test_a_shader_that_reads_what_nobody_wrote() -> None:
    core = isakit.usse.Core(4)
    program = isakit.isa("usse").assemble("vmul.f32 o0.xy r8.yyyy pa0.xyzw skipinv\n")
    (found, *_) = sanitize(core.machine(program))
    assert found.kind == "uninitialised-register"


def test_a_shader_that_reads_its_inputs_is_clean() -> None:
    core = isakit.usse.Core(4)
    program = isakit.isa("usse").assemble(
        "vmul.f32 r8.xy pa2.yyyy pa0.xyzw skipinv\nvmul.f32 o0.xy r8.yyyy pa0.xyzw skipinv\n"
    )
    assert sanitize(core.machine(program)).clean


def overlapping(kind: str, distance: int) -> SanitizerReport:
    """A kernel that accesses g3[] at 0, where g3[] and g4[] show 64 bytes each, some bytes apart."""
    access = "st b32 g3[$r2] $r2" if kind == "write" else "ld b32 $r3 g3[$r2]"
    text = f".isa tesla gt200\n.kernel k\nmov b32 $r2 0x3c\n{access}\nexit nop\n"
    device = isakit.Device("gt200", engine="reference")
    memory = device.alloc(128)
    device.bind(3, device.buffer(memory.address, 64))
    device.bind(4, device.buffer(memory.address + distance, 64))
    kernel = device.load(isakit.isa("tesla", "gt200").assemble(text), registers=8)["k"]
    return sanitize(kernel.machine(1, 1))


@pytest.mark.parametrize(("kind", "distance", "found"), [("write", 32, True), ("read", 32, False),
                                                          ("write", 64, False), ("write", 0, False)])  # fmt: skip
def test_writes_to_buffers_that_overlap_are_found(kind: str, distance: int, found: bool) -> None:
    assert ("overlapping-buffers" in {f.kind for f in overlapping(kind, distance)}) == found


def test_places_are_words_although_the_header_is_read_by_halves() -> None:
    """Two warps that write the halves of a word race only where the program accesses halves."""
    halves = "shl $a2 $r1 0x1\n st b16 s[$a2+0x40] $r1l"
    assert report(halves, threads=64, blocks=1).clean


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Linux says how much memory was in use")
def test_a_card_that_is_all_addresses_costs_what_the_program_uses() -> None:
    device = isakit.Device("gt200", memory=np.zeros((1 << 32) - 64, np.uint8))
    x = device.alloc(256)
    text = ".isa tesla gt200\n.kernel k\nmov b32 $r3 0x3f\nand b32 $r1 $r0 $r3\nshl b32 $r1 $r1 0x2\n"
    text += "add b32 $r1 b32 s[0x10] $r1\nst b32 g14[$r1] $r1\nexit nop\n"
    kernel = device.load(isakit.isa("tesla", "gt200").assemble(text))["k"]
    Path("/proc/self/clear_refs").write_text("5")  # forgets the highest use so far
    before = _highest_memory()
    assert sanitize(kernel.machine(1, 64, [x])).clean
    assert _highest_memory() - before < 100 << 20


def _highest_memory() -> int:
    """The most bytes of memory that the process had in use at a time."""
    return 1024 * int(re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())[1])
