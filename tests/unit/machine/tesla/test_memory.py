"""The device's memory: allocation, checks of accesses, atomics."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

import isakit
from isakit.errors import LaunchError, MachineFault
from isakit.machine.tesla import Choices, DeviceMemory, LinearWindow, PitchWindow
from isakit.machine.tesla.device_memory import ALIGNMENT, FlatMemory
from support.runners.tesla_kernels import kernel


class Allocations(RuleBasedStateMachine):
    """Any sequence of allocations: they never overlap, and an access is valid exactly inside one of them."""

    def __init__(self) -> None:
        super().__init__()
        self.memory = DeviceMemory()
        self.live: dict[int, int] = {}

    @rule(nbytes=st.integers(0, 3000))
    def alloc(self, nbytes: int) -> None:
        address = self.memory.alloc(nbytes)
        assert address % ALIGNMENT == 0
        assert not self.memory.memory.bytes[address : address + nbytes].any()
        self.memory.memory.bytes[address : address + nbytes] = 0xAA
        self.live[address] = nbytes

    @rule(page=st.integers(0x100, 0x140), nbytes=st.integers(1, 3000))
    def alloc_at(self, page: int, nbytes: int) -> None:
        address = page * ALIGNMENT
        free = all(address >= a + max(n, 1) or address + nbytes <= a for a, n in self.live.items())
        try:
            assert self.memory.alloc(nbytes, address) == address
        except LaunchError:
            # Buffers own whole pages, so bytes that look free may belong to a neighbour's last page.
            room = lambda a, n: range(a // ALIGNMENT, (a + max(n, 1) - 1) // ALIGNMENT + 1)  # noqa: E731
            assert any(set(room(address, nbytes)) & set(room(a, n)) for a, n in self.live.items())
        else:
            assert free
            self.live[address] = nbytes

    @rule(data=st.data())
    def free(self, data: st.DataObject) -> None:
        if self.live:
            address = data.draw(st.sampled_from(sorted(self.live)))
            self.memory.free(address)
            del self.live[address]
        else:
            with pytest.raises(LaunchError):
                self.memory.free(0x10000)

    @rule(data=st.data(), size=st.sampled_from([1, 2, 4, 8, 16]))
    def access(self, data: st.DataObject, size: int) -> None:
        near = [a + d for a, n in self.live.items() for d in (-16, 0, n - 16, n, n + 16)] or [0, 0x10000]
        base = data.draw(st.lists(st.sampled_from(near), min_size=1, max_size=6))
        address = np.array([max(0, b) // size * size for b in base], np.uint32)
        good = self.memory.valid(address, size)
        expected = [any(a <= x and x + size <= a + n for a, n in self.live.items()) for x in address.tolist()]
        assert ([True] * len(base) if good is None else good.tolist()) == expected

    @invariant()
    def listed(self) -> None:
        assert self.memory.allocations == dict(sorted(self.live.items()))


TestAllocations = Allocations.TestCase
TestAllocations.settings = settings(max_examples=30, stateful_step_count=20, deadline=None)


def test_the_address_space_is_full_at_4_gigabytes() -> None:
    memory = DeviceMemory()
    with pytest.raises(LaunchError, match="32-bit"):
        memory.alloc(1 << 32)
    with pytest.raises(LaunchError, match="multiple"):
        memory.alloc(16, 0x10001)


@pytest.mark.parametrize("size", [1, 2, 4, 8])
@given(offsets=st.lists(st.integers(0, 7), min_size=1, max_size=8), seed=st.integers(0, 99))
def test_memory_is_little_endian_and_the_last_store_wins(size: int, offsets: list[int], seed: int) -> None:
    memory = FlatMemory(64)
    at = np.array(offsets) * size
    values = np.random.default_rng(seed).integers(0, 1 << 63, len(at), dtype=np.uint64)
    memory.store(at, values, size)
    expected = bytearray(64)
    for a, v in zip(at.tolist(), values.tolist(), strict=True):
        expected[a : a + size] = (v & ((1 << 8 * size) - 1)).to_bytes(size, "little")
    assert memory.bytes[:64].tobytes() == bytes(expected)
    assert not memory.bytes[64:].any()
    assert memory.load(at, size).tolist() == [int.from_bytes(expected[a : a + size], "little") for a in at.tolist()]


def test_16_byte_accesses_are_pairs() -> None:
    memory = FlatMemory(64)
    memory.store(np.array([16, 48]), (np.array([1, 2], np.uint64), np.array([3, 4], np.uint64)), 16)
    low, high = memory.load(np.array([48, 16, 0]), 16)
    assert (low.tolist(), high.tolist()) == ([2, 1, 0], [4, 3, 0])


# --- windows of g[] ---
READ = "shl b32 $r1 $r0 0x2\nld b32 $r2 g3[$r1]\nexit nop"


def test_linear_window() -> None:
    k = kernel(READ)
    buffer = k.device.alloc(512)
    k.device.write(buffer, np.arange(128, dtype=np.uint32))
    k.device.bind(3, LinearWindow(buffer.address + 256, 128))
    m = k.machine(1, 32)
    m.run()
    assert m.warps[0].registers[2].tolist() == list(range(64, 96))
    k.device.bind(3, LinearWindow(buffer.address + 256, 64))
    with pytest.raises(MachineFault) as e:
        k.launch(1, 32)
    assert (e.value.lane, e.value.address, e.value.space) == (16, 64, "g3")


def test_two_dimensional_window() -> None:
    text = """
        and b32 $r1 $r0 0x3
        shl b32 $r1 $r1 0x2
        shr u32 $r2 $r0 0x2
        shl b32 $r2 $r2 0x10
        or b32 $r1 $r1 $r2              // x: 4 words, y: 8 rows
        ld b32 $r2 g3[$r1]
        exit nop
    """
    k = kernel(text)
    buffer = k.device.alloc(8 * 64)
    k.device.write(buffer, np.arange(128, dtype=np.uint32))
    k.device.bind(3, PitchWindow(buffer.address, 64, 16, 8))
    m = k.machine(1, 32)
    m.run()
    assert m.warps[0].registers[2].tolist() == [16 * (n // 4) + n % 4 for n in range(32)]
    k.device.bind(3, PitchWindow(buffer.address, 64, 16, 7))
    with pytest.raises(MachineFault) as e:
        k.launch(1, 32)
    assert (e.value.lane, e.value.address) == (28, 7 << 16)


ROWS = """
    and b32 $r1 $r0 0x7
    shl b32 $r1 $r1 0x2
    shr u32 $r2 $r0 0x3
    shl b32 $r2 $r2 0x10
    or b32 $r1 $r1 $r2
    ld b32 $r2 g3[$r1]
    add b32 $r2 $r2 $r0
    st b32 g3[$r1] $r2
    shl b32 $r0 $r0 0x2
    ld b32 $r3 g3[$r0]
    add b32 $r2 $r2 $r3
    st b32 g3[$r1] $r2
    exit nop
"""
"""Threads in rows of eight, and in one long row."""


@pytest.mark.parametrize("tier", ["interp", "jit"])
@pytest.mark.parametrize("out_of_range", ["fault", "ignore"])
@pytest.mark.parametrize("window", [(0x80, 0x80, 4), (0x80, 0x20, 4), (0x40, 0x80, 3), (0, 0x80, 9), (0x20, 0x1C, 4)])
def test_two_dimensional_windows_are_compiled(
    window: tuple[int, int, int], out_of_range: str, tier: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pitch, width and height; some lanes are outside of some of them."""
    support = pytest.importorskip("support.runners.compiled")
    choices = Choices(out_of_range=out_of_range)  # type: ignore[arg-type]
    found: list[object] = []
    for way in ("reference", tier):
        if way == "reference":
            device = isakit.Device("gt200", engine="reference", choices=choices)
        else:
            device = support.compiled_device({"tier": tier, "threads": 1}, "gt200", choices=choices)
        buffer = device.alloc(0x400)
        device.write(buffer, np.arange(0x100, dtype=np.uint32))
        device.bind(3, PitchWindow(buffer.address, *window))
        words = isakit.isa("tesla", "gt200").assemble(ROWS).words
        loaded = device.load(list(words), registers=4)["main"]
        try:
            fault: object = loaded.launch(1, 32).instructions
        except MachineFault as e:
            fault = e.kind, e.pc, e.lane, e.address
        found.append((fault, device.read(buffer, np.uint32, 0x100).tolist()))
        if not isinstance(fault, tuple):
            support.without_help(monkeypatch)
    assert found[0] == found[1]


# --- atomics ---
ATOMIC = """
.kernel count
.param out ptr
.param mask u32
    cvt u32 $r1 u16 $r0l
    mov b32 $r4 b32 s[mask]
    and b32 $r2 $r1 $r4
    shl b32 $r2 $r2 0x2
    add b32 $r2 b32 s[out] $r2
    mov b32 $r3 0x3
    ld add u32 $r4 g14[$r2] $r3
    exit nop
"""


@pytest.mark.parametrize("mask", [0, 1, 7, 31, 0xFFFF])
def test_lanes_that_hit_one_word_take_turns(mask: int) -> None:
    out = np.zeros(256, np.uint32)
    m = kernel(ATOMIC).machine(1, 256, (out, mask))
    m.run()
    threads = np.arange(256)
    counts = np.bincount(threads & mask, minlength=256)
    assert np.array_equal(out, 3 * counts)
    seen = np.concatenate([w.registers[4] for w in m.warps])
    for word in set((threads & mask).tolist()):
        assert sorted(seen[threads & mask == word]) == [3 * n for n in range(counts[word])]
    assert (np.diff(seen[threads & mask == 0].astype(np.int64)) > 0).all()  # ascending lane order
