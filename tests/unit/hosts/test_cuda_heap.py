"""The device memory of a CUDA program grows in steps; nothing that is put into it may notice."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import isakit
from isakit.description import GlobalVariable, Module, Relocation
from isakit.hosts.cuda.codes import CudaError
from isakit.hosts.cuda.device_facts import card
from isakit.hosts.cuda.heap import SLACK, Heap
from isakit.hosts.cuda.process_device import DeviceOptions
from isakit.hosts.cuda.session import Session
from isakit.programs.needs import module_of

STEP = 1 << 22
"""Bytes of the heap's first step, from its first address on."""
ACROSS = (0x100, 0x8000, 0xFF00)
"""How far before the end of the step an allocation begins."""

# out[i] = table[i] + fence, where table is a variable of the module and `fence` a word of g15[]
KERNEL = """
.kernel k
.param out ptr64
    shl b32 $r4 $r0 0x2
    ld $r1 b32 c14[0x0]
    add b32 $r1 $r1 $r4
    ld b32 $r1 g14[$r1]
    shl b32 $r2 $r0 0xa
    ld b32 $r2 g15[$r2]
    add b32 $r1 $r1 $r2
    add b32 $r4 b32 s[out] $r4
    exit st b32 g14[$r4] $r1
"""
TABLE = np.arange(64, dtype=np.uint32) * 3


@pytest.fixture(params=["flat", "strict", "filled"])
def session(request: pytest.FixtureRequest) -> Iterator[Session]:
    kind = request.param
    made = Session(
        DeviceOptions(card("sm_13"), engine="reference", strict=kind == "strict", fill=0xA5 if kind == "filled" else 0)
    )
    yield made
    made.close()


def module() -> Module:
    made = module_of(isakit.isa("tesla", "gt200").assemble(KERNEL))
    made.globals = [GlobalVariable("table", 1 << 18, TABLE.tobytes())]
    made.relocations = [Relocation("c14", 0, "table")]
    return made


def fill_up_to(heap: Heap, before_end: int) -> int:
    """Allocate so that the next allocation begins so many bytes before the end of the first step."""
    first = heap.alloc(256)
    rest = heap.first + STEP - before_end - first - 256
    return heap.alloc(rest - (512 if heap.strict else 0))


@pytest.mark.parametrize("before", ACROSS)
def test_a_module_variable_lies_across_a_step(session: Session, before: int) -> None:
    fill_up_to(session.heap, before)
    loaded = session.place(module())
    out = session.heap.alloc(256)
    loaded["k"].launch(1, 64, param_bytes=out.to_bytes(8, "little"))
    assert session.device.read(out, np.uint32, 64).tolist() == TABLE.tolist()


@pytest.mark.parametrize("before", ACROSS)
def test_the_window_of_fences_lies_across_a_step(session: Session, before: int) -> None:
    loaded = session.place(module())
    out = session.heap.alloc(256)
    at = out + (512 if session.options.strict else 256)
    session.heap.alloc(session.heap.first + STEP - before - at - (256 if session.options.strict else 0))
    loaded["k"].launch(1, 64, param_bytes=out.to_bytes(8, "little"))
    assert session.device.windows[15].base >= session.heap.first + STEP - before  # type: ignore[union-attr]
    assert session.device.read(out, np.uint32, 64).tolist() == TABLE.tolist()


@pytest.mark.parametrize("before", ACROSS)
def test_a_bank_of_constants_lies_across_a_step(session: Session, before: int) -> None:
    loaded = session.place(module())
    loaded.constants[3] = bytearray(range(256)) * 256
    fill_up_to(session.heap, before)
    address = session.bank_address(loaded, 3)
    assert session.device.read(address, np.uint8, 1 << 16).tobytes() == bytes(range(256)) * 256


def test_what_the_host_copies_lies_across_many_steps(session: Session) -> None:
    rng = np.random.default_rng(1)
    kept: dict[int, np.ndarray] = {}
    for size in (STEP - SLACK - 1, 3 * STEP + 5, 100, STEP, 5 * STEP + 1, 1):
        content = rng.integers(0, 256, size, np.uint8)
        kept[session.heap.alloc(size)] = content
        session.device.write(list(kept)[-1], content)
    for address, content in kept.items():
        assert (session.device.read(address, np.uint8, len(content)) == content).all()
    first, *_, last = kept
    if not session.options.strict:  # one range, as on a chip
        assert session.device.memory.range_of(first) == session.device.memory.range_of(last)


def test_memory_given_back_is_used_again_and_grows_again(session: Session) -> None:
    heap = session.heap
    sizes = (STEP // 2, STEP, 5 * STEP)
    first = [heap.alloc(n) for n in sizes]
    for address in first:
        session.device.write(address, np.full(64, 7, np.uint8))
        heap.free(address)
    again = [heap.alloc(n) for n in sizes]
    assert again == first
    assert heap.used >= sum(sizes)
    for address in again:  # fresh memory looks as if it had never been written
        assert (session.device.read(address, np.uint8, 64) == session.options.fill).all()
    beyond = heap.alloc(9 * STEP)
    session.device.write(beyond, np.ones(9 * STEP, np.uint8))
    heap.clear()
    assert (heap.used, heap.allocations()) == (0, [])


def test_many_modules_fill_step_after_step(session: Session) -> None:
    out = session.heap.alloc(256)
    placed = [session.place(module()) for _ in range(40)]  # 10 MiB of variables
    assert len({m.globals["table"].address for m in placed}) == 40
    for loaded in (placed[0], placed[15], placed[39]):
        session.device.write(out, np.zeros(64, np.uint32))
        loaded["k"].launch(1, 64, param_bytes=out.to_bytes(8, "little"))
        assert session.device.read(out, np.uint32, 64).tolist() == TABLE.tolist()


def test_a_program_of_64_bits_pins_a_gigabyte_beside_what_the_card_has(session: Session) -> None:
    """Half a gigabyte was all there was, less a few pages: a database that pins 64 times 8 MiB could not begin."""
    if session.options.fill:
        pytest.skip("would write all of the memory")
    pinned = [session.pinned.alloc(8 << 20, 4096) for _ in range(128)]
    own = session.heap.alloc(1000 << 20)
    assert own + (1000 << 20) <= pinned[0]
    assert len(set(pinned)) == 128


@pytest.mark.parametrize("pointer", [8, 4])
def test_both_heaps_end_where_their_range_ends(session: Session, pointer: int) -> None:
    if session.options.fill:
        pytest.skip("would write all of the memory")
    session.set_pointer(pointer)
    for heap in (session.heap, session.pinned):
        most = heap.limit - heap.first - 2 * SLACK - (256 if heap.strict else 0)
        half = most // 2 // 256 * 256 - 256
        a, b = heap.alloc(half), heap.alloc(half)
        assert heap.limit - SLACK - 0x1000 < b + half <= heap.limit - SLACK
        session.device.write(b + half - 4, np.array([77], np.uint32))
        assert session.device.read(b + half - 4, np.uint32, 1)[0] == 77
        with pytest.raises(CudaError, match="do not fit"):
            heap.alloc(STEP)
        heap.free(a)
        assert heap.alloc(half) == a
        heap.clear()
        with pytest.raises(CudaError):
            heap.alloc(heap.limit - heap.first)


def test_the_range_of_an_address_ends_before_its_end(session: Session) -> None:
    heap = session.heap
    first = heap.alloc(100)
    assert [heap.range_of(first + n) for n in (-1, 0, 99, 100)] == [None, *[(first, first + 100)] * 2, None]
