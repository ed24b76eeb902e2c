"""Control flow that compilers seldom emit: indirect branches, quads, preret, faults of pushes."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from isakit.errors import MachineFault
from support.runners.tesla_kernels import kernel, machine


def registers(m: object, number: int) -> np.ndarray:
    return np.concatenate([w.registers[number] for b in m.blocks for w in b.warps])


TABLE = """
    and b32 $r1 $r0 0x{mask:x}
    shl $a1 $r1 0x2
    bra c0[$a1+0x10]
first:
    mov b32 $r2 0x64
    bra #end
second:
    mov b32 $r2 0x65
    bra #end
third:
    mov b32 $r2 0x66
end:
    add b32 $r3 $r2 $r0
    exit nop
"""


@pytest.mark.parametrize("mask", [0, 1, 3])
@pytest.mark.parametrize("block", [32, 80])
def test_indirect_branches_go_where_each_lane_says(mask: int, block: int) -> None:
    k = kernel(TABLE.format(mask=mask))
    addresses = {i.text.split()[-1]: i.address for i in k.code.decoder.decode(k.code.units) if "mov b32 $r2" in i.text}
    first, second, third = (addresses[n] for n in ("0x64", "0x65", "0x66"))
    k.constants = {0: bytes(16) + struct.pack("<4I", third, first, second, first)}
    m = k.machine(1, block)
    m.run(max_instructions=1000)
    expected = np.array([102, 100, 101, 100])[np.arange(block) & mask]
    assert np.array_equal(registers(m, 2)[:block], expected)
    assert np.array_equal(registers(m, 3)[:block], expected + np.arange(block))


def test_an_indirect_branch_outside_of_the_code() -> None:
    k = kernel("bra c0[0x0]")
    k.constants = {0: struct.pack("<I", 0x100)}
    with pytest.raises(MachineFault, match="CODE_OUT_OF_RANGE") as e:
        k.launch(1, 32)
    assert e.value.pc == 0x100


def test_quads_wake_up_for_a_while() -> None:
    m = machine("""
        mov b32 $r2 0x9
        set $c0 # l u32 $r0 $r2             // lanes 0 to 8
        joinat #met
        (e $c0) bra #met
        quadon
        add b32 $r1 $r1 0x1                 // lanes 0 to 11
        quadpop
        add b32 $r1 $r1 0x10
    met:
        join nop
        add b32 $r1 $r1 0x100
        exit nop
    """)
    m.run()
    lanes = np.arange(32)
    assert np.array_equal(registers(m, 1), (lanes < 12) * 0x1 + (lanes < 9) * 0x10 + 0x100)


def test_a_branch_between_quadon_and_quadpop_faults() -> None:
    m = machine("quadon\nmov b32 $r2 0x9\nset $c0 # l u32 $r0 $r2\n(e $c0) bra #L\nL: quadpop\nexit nop")
    with pytest.raises(MachineFault, match="QUADON_ACTIVE") as e:
        m.run()
    assert e.value.pc == 24


def test_preret_names_the_place_to_return_to() -> None:
    m = machine("""
        preret #back
        bra #function
    back:
        add b32 $r1 $r1 0x1
        exit nop
    function:
        add b32 $r1 $r1 0x10
        ret
    """)
    m.run(max_instructions=100)
    assert registers(m, 1).tolist() == [0x11] * 32


@pytest.mark.parametrize(("log", "expected"), [(1, 1), (2, 2), (3, 3), (15, 3)])
def test_limited_calls_nest_as_deep_as_allowed(log: int, expected: int) -> None:
    text = """
        call lim #one
        exit nop
    one:
        add b32 $r1 $r1 0x1
        call lim #two
        ret
    two:
        add b32 $r1 $r1 0x1
        call lim #three
        ret
    three:
        add b32 $r1 $r1 0x1
        ret
    """
    m = machine(text, choices={"call_limit_log": log})
    m.run(max_instructions=100)
    assert registers(m, 1).tolist() == [expected] * 32


def test_pushes_without_end_overflow_the_stack() -> None:
    m = machine("again: joinat #again\nbra #again", 1, 64, choices={"stack_entries": 16})
    with pytest.raises(MachineFault, match="STACK_OVERFLOW") as e:
        m.run()
    assert (e.value.pc, e.value.warp) == (0, 0)
    assert len(m.warps[0].stack) == 16


@pytest.mark.parametrize("brkpt", ["fault", "ignore"])
def test_breakpoints(brkpt: str) -> None:
    text = "mov b32 $r2 0x9\nset $c0 # l u32 $r0 $r2\n(e $c0) brkpt\nmov b32 $r1 0x1\nexit nop"
    m = machine(text, choices={"brkpt": brkpt})
    if brkpt == "ignore":
        m.run()
        assert m.finished
    else:
        with pytest.raises(MachineFault, match="BREAKPOINT") as e:
            m.run()
        assert e.value.lane == 9
    machine("mov b32 $r2 0x40\nset $c0 # l u32 $r0 $r2\n(e $c0) brkpt\nexit nop").run()  # nobody meets it


def test_exit_is_not_subject_to_the_predicate() -> None:
    m = machine("exit (never) mov b32 $r1 $r0\nmov b32 $r2 $r0\nexit nop")
    m.run()
    assert not registers(m, 1).any()
    assert not registers(m, 2).any()


def test_memory_of_threads_is_their_own() -> None:
    m = machine(
        """
        mov b32 $r4 $r0
        mov b32 $r5 0x1
        mov b32 $r6 0x2
        mov b32 $r7 0x3
        st b128 l[0x10] $r4q
        st b64 l[0x8] $r6d
        ld b128 $r8q l[0x10]
        ld b64 $r12d l[0x8]
        ld u8 $r14 l[0x10]
        ld b32 $r15 l[0x4]
        exit nop
        """,
        2,
        40,
        local=32,
    )
    m.run()
    threads = np.tile(np.r_[np.arange(40), np.zeros(24, int)], 2)
    assert np.array_equal(registers(m, 8), threads)
    live = np.tile(np.arange(64) < 40, 2)
    for number, value in ((9, 1), (10, 2), (11, 3), (12, 2), (13, 3), (15, 0)):
        assert np.array_equal(registers(m, number), np.where(live, value, 0)), number
    assert np.array_equal(registers(m, 14), threads & 0xFF)


def test_stores_to_one_place_leave_the_highest_lane() -> None:
    m = machine(".kernel k\n.shared 0x80\ncvt u32 $r1 u16 $r0l\nst b32 s[0x40] $r1\nexit nop", 1, 32)
    m.run()
    assert m.blocks[0].shared[0x40] == 31


ATOMS = """
.kernel atoms
.param out ptr
    mov b32 $r2 b32 s[out]
    mov b32 $r4 0x5
    mov b32 $r5 0x7
    {line}
    exit nop
"""


@pytest.mark.parametrize(
    ("line", "before", "after"),
    [
        ("exch b32 $r8 g14[$r2] $r4", 3, 5),
        ("cas b32 $r8 g14[$r2] $r4 $r5", 5, 7),
        ("cas b32 $r8 g14[$r2] $r4 $r5", 6, 6),
        ("ld max u32 $r8 g14[$r2] $r4", 3, 5),
        ("ld min u32 $r8 g14[$r2] $r4", 3, 3),
        ("ld inc u32 $r8 g14[$r2] $r4", 5, 0),
        ("ld dec u32 $r8 g14[$r2] $r4", 0, 5),
        ("and b32 $r8 g14[$r2] $r4", 6, 4),
        ("red xor b32 g14[$r2] $r4", 6, 3),
        ("ld add u64 $r8d g14[$r2] $r4d", 0xFFFFFFFF, 0x8_0000_0004),
    ],
)
def test_atomics(line: str, before: int, after: int) -> None:
    word = np.array([before], np.uint64)
    k = kernel(ATOMS.format(line=line if "and b32" not in line else "ld " + line))
    m = k.machine(1, 1, (word,))
    m.run()
    assert word[0] == after
    if "red" not in line:
        assert registers(m, 8)[0] == before & 0xFFFFFFFF
