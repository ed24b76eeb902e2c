"""l[] in compiled code, where the words of a warp's lanes are neighbours: threads see nothing of that."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import isakit
from isakit import MachineFault
from isakit.machine.tesla.compiled.launch.host_assist import finish

KERNEL = """
.kernel own
.param out ptr
.param at u32
.local 0x40
    cvt u32 $r1 u16 $r0l
    mul $r2 u16 $r1l u16 $r1l
    add b32 $r3 $r2 0x1234567
    mov b32 $r4 $r1
    mov b32 $r5 $r2
    mov b32 $r6 $r3
    mov b32 $r7 $r1
    st b128 l[0x10] $r4q
    st b64 l[0x20] $r2d
    st u8 l[0x21] $r1
    st u16 l[0x26] $r1
    and b32 $r8 $r1 0x3
    shl $a1 $r8 0x2
    st b32 l[$a1+0x30] $r3
    mov b32 $r9 0x1
    and b32 $c0 $r9 $r1 $r9
    (lg $c0) st b32 l[0x14] $r8
    (lg $c0) st u8 l[0x18] $r8
    mov b32 $r20 b32 s[at]
    add b32 $r20 $r20 0x0
    shl $a2 $r20 0x0
    ld b128 $r8q l[0x10]
    ld b64 $r12d l[0x20]
    ld u16 $r14 l[0x22]
    ld s8 $r15 l[0x30]
    ld b32 $r16 l[$a2+0x0]
    add b32 $r17 $r8 $r9
    xor b32 $r17 $r17 $r10
    add b32 $r17 $r17 $r11
    xor b32 $r17 $r17 $r12
    add b32 $r17 $r17 $r13
    xor b32 $r17 $r17 $r14
    add b32 $r17 $r17 $r15
    xor b32 $r17 $r17 $r16
    shl b32 $r1 $r1 0x2
    add b32 $r1 b32 s[out] $r1
    exit st b32 g14[$r1] $r17
"""


def made(engine: str, tier: str, at: int = 0x30, threads: int = 80) -> Any:
    """What threads make of words, halves and bytes of l[], those of some lanes and of an address register included."""
    device = isakit.Device("gt200", engine=engine, tier=tier)
    kernel = device.load(isakit.isa("tesla", "gt200").assemble(KERNEL))["own"]
    out = np.zeros(threads, np.uint32)
    kernel[1, threads](out, np.uint32(at))
    return out


@pytest.mark.parametrize("tier", ["jit", "interp"])
def test_accesses_of_all_sizes_give_what_the_reference_machine_gives(tier: str) -> None:
    expected = made("reference", "auto")
    assert len(np.unique(expected)) > 40
    assert np.array_equal(made("llvm", tier), expected)


@pytest.mark.parametrize("tier", ["jit", "interp"])
def test_an_access_behind_the_end_is_the_fault_of_the_reference_machine(tier: str) -> None:
    said = []
    for engine, how in (("reference", "auto"), ("llvm", tier)):
        with pytest.raises(MachineFault) as e:
            made(engine, how, at=0x40)
        said.append(str(e.value))
    assert said[0] == said[1]


@pytest.mark.parametrize("steps", [9, 16, 22, 30])
def test_a_machine_that_is_taken_over_finds_its_words_and_leaves_them_as_it_sees_them(steps: int) -> None:
    left = []
    for go_on in (lambda machine: machine.run(), finish):
        device = isakit.Device("gt200")
        kernel = device.load(isakit.isa("tesla", "gt200").assemble(KERNEL))["own"]
        out = device.alloc(4 * 80)
        machine = device.machine(kernel, 1, 80, (out, np.uint32(0x30)))
        for _ in range(3 * steps):
            machine.step()
        go_on(machine)
        space = machine.state.spaces["l"]
        left.append((bytes(space.memory.bytes[: space.memory.size]), device.read(out, np.uint32, 80).tolist()))
    assert left[0] == left[1]
    words = np.frombuffer(left[0][0], np.uint32).reshape(96, 16)
    assert words[5, 4] == 5  # of thread 5: the first word of its four
