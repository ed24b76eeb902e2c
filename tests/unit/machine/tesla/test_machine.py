"""Launch state, barriers, faults, stepping."""

from __future__ import annotations

import numpy as np
import pytest

import isakit
from isakit.errors import BudgetExceeded, LaunchError, MachineFault, NotModelled
from isakit.machine.tesla.gang_state import State
from support.runners.tesla_kernels import kernel, machine


def registers(m: object, number: int) -> np.ndarray:
    return np.concatenate([w.registers[number] for b in m.blocks for w in b.warps])


# --- what threads find ---
def test_thread_numbers() -> None:
    m = machine("exit nop", 1, (3, 5, 7))
    n = np.arange(105)
    assert np.array_equal(registers(m, 0)[:105], n % 3 | n // 3 % 5 << 16 | n // 15 << 26)
    assert [w.active for w in m.blocks[0].warps] == [0xFFFF_FFFF] * 3 + [(1 << 9) - 1]


def test_launch_header() -> None:
    m = machine("exit nop", (3, 2), (4, 5, 6), np.uint32(0xDEADBEEF))
    for k, b in enumerate(m.blocks):
        assert b.shared[:16].view(np.uint16).tolist() == [0, 4, 5, 6, 3, 2, k % 3, k // 3]
        assert b.shared[16:20].view(np.uint32)[0] == 0xDEADBEEF
        assert b.index == (k % 3, k // 3)


def test_registers_beyond_the_allocated_ones() -> None:
    text = "mov b32 $r3 0x5\nmov b32 $r9 0x6\nadd b32 $r2 $r9 $r3\nexit nop"
    m = machine(text, registers=4)
    m.run()
    assert registers(m, 2).tolist() == [5] * 32
    assert len(m.blocks[0].warps[0].registers) == 4


def test_an_instruction_without_destination_register_does_nothing_at_all() -> None:
    text = "mov b32 $r1 0x80000000\nsub b32 $c1 $r9 $r1 $r1\nmov $r2 $c1\nexit nop"
    m = machine(text, registers=4)
    m.run()
    assert registers(m, 2).tolist() == [0] * 32
    m = machine(text, registers=4, choices={"drop_unallocated": False})
    m.run()
    assert registers(m, 2).tolist() == [0b0101] * 32  # Z and C: no borrow


def test_a0_stays_zero() -> None:
    m = machine(
        "mov b32 $r1 0x40\nshl $a1 $r1 0x1\nadd 0x0 $a1 0x4\nadd $a2 0x0 0x7\nmov $r2 $a1\nmov $r3 $a2\nexit nop"
    )
    m.run()
    assert (registers(m, 2)[0], registers(m, 3)[0]) == (0x80, 7)


def test_a5_cannot_be_written() -> None:
    with pytest.raises(MachineFault, match="ILLEGAL_ADDRESS_REGISTER"):
        machine("add $a5 0x0 0x7\nexit nop").run()
    machine("add $a5 0x0 0x7\nexit nop", choices={"nonzero_a56": "ignore"}).run()


def test_physical_ids() -> None:
    m = machine("mov $r1 $physid\nexit nop", 4, 64)
    m.run()
    ids = registers(m, 1)
    assert np.array_equal(ids & 0xFF, np.arange(256) % 32)
    assert np.array_equal(ids >> 8 & 0xFF, np.arange(256) // 32 % 2)
    assert len(set((ids >> 16).tolist())) == 4


def test_the_clock_advances_with_the_warp_not_with_its_company() -> None:
    text = "mov $r1 $clock\nmov b32 $r2 $r3\nmov $r4 $clock\nexit nop"
    m = machine(text, 2, 64)
    m.run()
    alone = machine(text, 1, 32)
    while alone.step() is not None:
        pass
    assert set((registers(m, 4) - registers(m, 1)).tolist()) == {8}
    assert registers(alone, 4)[0] == registers(m, 4)[0]


def test_pm_counters_count_what_they_are_told() -> None:
    text = "bra #L\nL:\npmevent 0x3\nmov $r1 $pm0\nmov $r2 $pm1\nmov $r3 $pm2\nexit nop"
    m = machine(text, choices={"pm_counters": ("branches", "pm_events", "instructions", "none")})
    m.run()
    assert [registers(m, n)[0] for n in (1, 2, 3)] == [1, 1, 4]


def test_vote_looks_at_active_lanes_only() -> None:
    text = """
        mov b32 $r1 0x4
        and b32 $c0 # $r0 $r1           // lanes with bit 2
        joinat #met
        (e $c0) bra #met                // the others wait
        (lg $c0) vote all $c1
        mov $r2 $c1
    met:
        join (lg $c0) vote all $c2
        mov $r3 $c2
        (lg $c0) vote any $c2
        mov $r4 $c2
        exit nop
    """
    m = machine(text)
    m.run()
    on = np.arange(32) & 4 != 0
    assert np.array_equal(registers(m, 2), np.where(on, 2, 0))
    assert registers(m, 3).tolist() == [1] * 32
    assert registers(m, 4).tolist() == [2] * 32


# --- barriers ---
EXCHANGE = """
    .shared 0x440
    cvt u32 $r1 u16 $r0l
    shl $a1 $r1 0x2
    st b32 s[$a1+0x40] $r1
    {bar}
    mov b32 $r2 0xff
    xor b32 $r2 $r1 $r2
    shl $a2 $r2 0x2
    ld $r3 b32 s[$a2+0x40]
    exit nop
"""


@pytest.mark.parametrize("bar", ["bar inc wait 0x0 0xfff", "bar inc wait 0x3 all", "bar inc wait 0x0 0x8"])
@pytest.mark.parametrize("stepwise", [False, True])
def test_a_barrier_holds_all_warps(bar: str, stepwise: bool) -> None:
    m = machine(".kernel k" + EXCHANGE.format(bar=bar), 2, 256)
    if stepwise:
        while m.step() is not None:
            pass
    m.run()
    assert np.array_equal(registers(m, 3), np.tile(255 - np.arange(256), 2))


def test_without_the_barrier_the_last_warps_come_too_late() -> None:
    m = machine(".kernel k" + EXCHANGE.format(bar="nop"), 1, 256)
    while (w := m.step(m.blocks[0].warps[0]) if m.blocks[0].warps[0].status == "ready" else None) is not None:
        assert w.index == 0
    assert not np.array_equal(m.blocks[0].warps[0].registers[3], 255 - np.arange(32))


ENDED = """
    cvt u32 $r1 u16 $r0l
    mov b32 $r2 0x20
    set $c0 # l u32 $r1 $r2
    (lg $c0) ret                // the first warp ends
    bar inc wait 0x1 all
    exit nop
"""


def test_a_barrier_does_not_wait_for_a_finished_warp() -> None:
    m = machine(ENDED, 1, 96)
    assert m.run()
    assert [w.status for w in m.blocks[0].warps] == ["finished"] * 3


def test_a_barrier_that_counts_finished_warps() -> None:
    m = machine(ENDED, 1, 96, choices={"barrier_all": "block"})
    with pytest.raises(MachineFault, match="BARRIER_DEADLOCK") as e:
        m.run()
    assert e.value.block == (0, 0)
    assert [w.status for w in m.blocks[0].warps] == ["finished", "waiting", "waiting"]
    assert m.blocks[0].warps[1].barrier == 1


def test_a_barrier_that_was_not_allocated() -> None:
    with pytest.raises(MachineFault, match="BARRIER_OUT_OF_RANGE"):
        machine("bar inc wait 0x2 all\nexit nop", barriers=2).run()


# --- shared memory locks ---
def test_a_locked_counter_counts_every_lane() -> None:
    text = """
    .kernel count
    .shared 0x80
        mov b32 $r5 0x1
    again:
        joinat #got
        ld lock $c0 $r1 b32 s[0x40]
        (e $c0) bra #got
        (geu $c0) bra #got
        add b32 $r1 $r1 0x1
        st unlock b32 s[0x40] $r1
        mov b32 $r5 0x0
    got:
        join nop
        and b32 $c1 # $r5 $r5
        (lg $c1) bra #again
        exit nop
    """
    m = machine(text, 1, 128)
    m.run(max_instructions=200_000)
    assert m.blocks[0].shared[0x40:0x44].view(np.uint32)[0] == 128
    assert not any(w.control.lock for w in m.warps)


# --- faults ---
def fault(text: str, grid: object = 1, block: object = 32, *args: object, **options: object) -> MachineFault:
    m = machine(text, grid, block, *args, **options)
    with pytest.raises(MachineFault) as e:
        m.run(max_instructions=10_000)
    return e.value


def test_a_fault_knows_its_place() -> None:
    text = """
        cvt u32 $r1 u16 $r0l
        cvt u32 $r2 u16 u16 s[0xc]
        mov b32 $r3 0x28
        set $c0 # e u32 $r1 $r3
        mov b32 $r4 0x1
        set $c1 # e u32 $r2 $r4
        (lg $c1) bra #second
        exit nop
    second:
        (lg $c0) st b32 g14[$r1] $r1
        exit nop
    """
    e = fault(text, 3, 64)
    assert (e.kind, e.block, e.warp, e.lane, e.space, e.address) == ("UNMAPPED_ADDRESS", (1, 0), 1, 8, "g14", 40)
    assert e.pc == 0x40


@pytest.mark.parametrize(
    ("text", "kind", "address"),
    [
        ("mov b32 $r1 0x3e\nshl $a1 $r1 0x0\nld $r2 b32 s[$a1+0x0]", "MISALIGNED_ADDRESS", 0x3E),
        ("mov b32 $r1 0x40\nshl $a1 $r1 0x0\nld $r2 b32 s[$a1+0x0]", "UNMAPPED_ADDRESS", 0x40),
        ("mov b32 $r1 0x4\nshl $a1 $r1 0x0\nld b32 $r2 l[$a1+0x10]", "UNMAPPED_ADDRESS", 0x14),
        ("ld $r2 b32 c0[0x4]", "UNMAPPED_ADDRESS", 4),
        ("ld $r2 b32 c5[0x4]", "UNBOUND_SPACE", 4),
        ("mov b32 $r1 0x8\nld b32 $r2 g3[$r1]", "UNBOUND_SPACE", 8),
    ],
)
def test_accesses_outside(text: str, kind: str, address: int) -> None:
    k = kernel(text + "\nexit nop", local=16, shared=0x40)
    k.constants = {0: bytes(4)}
    with pytest.raises(MachineFault) as e:
        k.launch(1, 32)
    assert (e.value.kind, e.value.address, e.value.lane) == (kind, address, 0)


def test_ignored_accesses() -> None:
    text = "mov b32 $r1 0x40\nshl $a1 $r1 0x0\nmov b32 $r2 0x7\nst b32 s[$a1+0x0] $r2\nld $r2 b32 s[$a1+0x0]\nexit nop"
    m = machine(text, shared=0x40, choices={"out_of_range": "ignore"})
    m.run()
    assert registers(m, 2).tolist() == [0] * 32
    text = "mov b32 $r1 0x13\nshl $a1 $r1 0x0\nmov b32 $r2 0x7\nst b32 s[$a1+0x0] $r2\nexit nop"
    m = machine(text, shared=0x40, choices={"misaligned": "truncate"})
    m.run()
    assert m.blocks[0].shared[0x10] == 7


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ([0xF0000001, 0xE0000001 | 3], "ILLEGAL_OPCODE"),
        ([0x00000002, 0x10000001], "ILLEGAL_OPCODE"),
        ([0x10000004, 0x10000001, 0x10000000], "UNALIGNED_LONG_INSTRUCTION"),
        ([0x90000003, 0], "TRAP_INSTRUCTION"),
        ([0xB0000003, 0x780], "BREAKPOINT"),
        ([0x50000003, 0x780], "STACK_UNDERFLOW"),
        ([0x10000004], "CODE_OUT_OF_RANGE"),
    ],
)
def test_faults_of_instructions(words: list[int], kind: str) -> None:
    device = isakit.Device("gt200", engine="reference")
    with pytest.raises(MachineFault) as e:
        device.load(words)["main"].launch(1, 32)
    assert e.value.kind == kind


def test_state_after_a_fault() -> None:
    m = machine("mov b32 $r1 0x7\nmov b32 $r2 0x1\nld b32 $r1 g14[$r2]\nexit nop", 1, 64)
    with pytest.raises(MachineFault):
        m.run()
    w = m.blocks[0].warps[1]
    assert (w.pc, w.active, w.issued, registers(m, 1)[40]) == (16, 0xFFFF_FFFF, 2, 7)
    assert not m.finished


def test_warps_before_the_faulting_one_have_executed() -> None:
    text = """
        cvt u32 $r1 u16 $r0l
        mov b32 $r2 0x40
        set $c0 # ge u32 $r1 $r2
        (lg $c0) break              // only warps 2 and 3 break, and have no place to go
        exit nop
    """
    m = machine(text, 1, 128)
    with pytest.raises(MachineFault, match="STACK_UNDERFLOW") as e:
        m.run()
    assert (e.value.warp, e.value.pc) == (2, 24)
    assert [w.pc for w in m.warps] == [32, 32, 24, 24]
    assert [w.issued for w in m.warps] == [4, 4, 3, 3]


def test_unmodelled_instructions_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    left = {name: handler for name, handler in State.values.items() if name != "vote"}
    monkeypatch.setattr(State, "values", left)
    m = machine("mov b32 $r1 0x1\nvote any $c1\nexit nop")
    with pytest.raises(NotModelled, match="vote any") as e:
        m.run()
    assert "vote" in e.value.why
    assert m.warps[0].pc == 8


def test_a_texture_that_was_not_bound() -> None:
    device = isakit.Device("gt200", engine="reference")
    with pytest.raises(MachineFault, match="UNBOUND_TEXTURE"):
        device.load([0xF4000005, 0x00000784])["main"].launch(1, 1)


# --- bounds and stepping ---
FOREVER = "again: bra #again"


def test_a_bounded_run_stops() -> None:
    m = machine(FOREVER, 1, 96)
    with pytest.raises(BudgetExceeded) as e:
        m.run(max_instructions=1000)
    assert e.value.kind == "TIMEOUT"
    assert m.stats.warp_instructions == 1000
    assert sum(w.issued for w in m.blocks[0].warps) == m.stats.warp_instructions


def test_an_interrupt_leaves_a_state() -> None:
    m = machine("again: add b32 $r1 $r1 0x1\nbra #again", 1, 64)
    count = 0

    def until(_: object) -> bool:
        nonlocal count
        count += 1
        if count == 100:
            raise KeyboardInterrupt
        return False

    with pytest.raises(KeyboardInterrupt):
        m.run(until=until)
    assert {w.pc for w in m.warps} <= {0, 8}
    m.run(until=lambda x: x.warps[0].registers[1][0] == 60)
    assert m.warps[0].registers[1][0] == 60


def test_steps_are_instructions_of_one_warp() -> None:
    m = machine("mov b32 $r1 0x5\nadd b32 $r1 $r1 0x1\nexit nop", 1, 64)
    stepped = [m.step() for _ in range(3)]
    assert [w.index for w in stepped] == [0, 1, 0]
    assert [w.pc for w in m.warps] == [16, 8]
    assert m.warps[0].registers[1].tolist() == [6] * 32
    assert m.warps[1].registers[1].tolist() == [5] * 32
    assert m.stats.warp_instructions == 3


def test_running_to_an_address() -> None:
    m = machine("mov b32 $r1 0x5\nagain: add b32 $r1 $r1 0x1\nbra #again", 2, 64)
    for turn in range(3):
        assert not m.run(until=8)
        assert {w.pc for w in m.warps} == {8}
        assert registers(m, 1).tolist() == [5 + turn] * 128


def test_a_spinning_warp_lets_others_run() -> None:
    text = """
    .kernel wait
    .shared 0x80
        cvt u32 $r1 u16 $r0l
        mov b32 $r2 0x20
        set $c0 # l u32 $r1 $r2
        (e $c0) bra #second
    spin:                                   // the first warp waits for a word the second one writes
        ld $r3 b32 s[0x40]
        and b32 $c1 # $r3 $r3
        (e $c1) bra #spin
        exit nop
    second:
        st b32 s[0x40] $r1
        exit nop
    """
    m = machine(text, 1, 64)
    m.run(max_instructions=100_000)
    assert m.finished


def test_more_blocks_than_fit_at_once() -> None:
    k = kernel("""
    .kernel number
    .param out ptr
        mov b16 $r1l u16 s[0x2]
        cvt u32 $r2 u16 $r0l
        add $r2 (mul u16 u16 s[0xc] $r1l) $r2
        shl b32 $r3 $r2 0x2
        add b32 $r3 b32 s[out] $r3
        exit st b32 g14[$r3] $r2
    """)
    out = np.zeros(1000 * 96, np.uint32)
    stats = k[1000, 96](out)
    assert np.array_equal(out, np.arange(1000 * 96))
    assert stats.warp_instructions == 1000 * 3 * 6
    assert stats.instructions == 1000 * 96 * 6


@pytest.mark.parametrize(
    ("grid", "block", "message"),
    [
        (1, 513, "513 threads"),
        (1, (1, 1, 65), "block"),
        (0, 1, "at least 1"),
        (70000, 1, "16-bit"),
        ((1, 1, 1), 1, "takes 1 to 2"),
        (1, "x", "whole numbers"),
        (1, 2.5, "whole numbers"),
    ],
)
def test_launch_limits(grid: object, block: object, message: str) -> None:
    with pytest.raises(LaunchError, match=message):
        kernel("exit nop").launch(grid, block)


def test_register_file_limit() -> None:
    with pytest.raises(LaunchError, match="registers"):
        kernel("exit nop", registers=64).launch(1, 512)
    kernel("exit nop", registers=64).launch(1, 512, limits=False)
