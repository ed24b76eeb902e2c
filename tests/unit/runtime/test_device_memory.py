"""Device memory by address, memory that lives in a buffer of the caller, and constant banks after loading."""

from __future__ import annotations

import mmap

import numpy as np
import pytest

import isakit
from isakit.description import ConstantSegment, GlobalVariable, Kernel, Module, Relocation
from isakit.errors import LaunchError
from isakit.runtime import Device

ISA = isakit.isa("tesla", "gt200")
FILL = """
.kernel fill
.param out ptr
    cvt u32 $r1 u16 $r0l
    shl b32 $r1 $r1 0x2
    add b32 $r1 b32 s[out] $r1
    mov b32 $r2 0x2a
    exit st b32 g14[$r1] $r2
"""
READ_C0 = """
    mov b32 $r0 b32 s[0x10]
    ld $r1 b32 c0[0x4]
    exit st b32 g14[$r0] $r1
"""


@pytest.fixture
def device() -> Device:
    return isakit.Device("gt200", engine="reference")


# --- memory of the caller ---
@pytest.mark.parametrize("engine", ["reference", "llvm"])
def test_a_kernel_writes_into_the_memory_map_it_was_given(engine: str) -> None:
    with_device = mmap.mmap(-1, 1 << 20)
    device = isakit.Device("gt200", engine=engine, memory=with_device)
    buffer = device.alloc(128)
    device.load(ISA.assemble(FILL))["fill"][1, 32](buffer)
    seen = np.frombuffer(with_device, np.uint32, 32, buffer.address)
    assert (seen == 42).all()


def test_what_the_host_writes_into_the_map_is_what_the_device_reads() -> None:
    host = mmap.mmap(-1, 1 << 20)
    device = isakit.Device("gt200", engine="reference", memory=host)
    buffer = device.alloc(8)
    host[buffer.address : buffer.address + 8] = b"isakit!!"
    assert device.read(buffer, np.uint8, 8).tobytes() == b"isakit!!"


def test_given_memory_ends_where_it_ends() -> None:
    device = isakit.Device("gt200", engine="reference", memory=mmap.mmap(-1, 0x20000))
    device.alloc(0x8000)
    with pytest.raises(LaunchError, match="device's memory of 0x1ffc0 bytes"):
        device.alloc(0x8000)
    assert device.alloc(0x7F00).address == 0x18000


@pytest.mark.parametrize(
    ("memory", "why"),
    [(b"x" * 4096, "writable"), (bytearray(16), "too few"), (np.zeros((2, 4096))[:, ::2], "buffer"),
     (np.zeros(4096, np.uint8)[1:], "multiple of 16")],
)  # fmt: skip
def test_memory_that_cannot_be_used_is_refused(memory: object, why: str) -> None:
    with pytest.raises(LaunchError, match=why):
        isakit.Device("gt200", engine="reference", memory=memory)  # type: ignore[arg-type]


def test_memory_keeps_room_behind_what_is_allocated(device: Device) -> None:
    for n in range(1, 600):
        device.alloc(256)
        assert len(device.memory.memory.bytes) >= 0x10000 + 256 * n + 64


# --- by address ---
def test_reading_and_writing_by_address(device: Device) -> None:
    buffer = device.alloc(64)
    device.write(buffer.address + 8, np.arange(4, dtype=np.uint32))
    assert device.read(buffer, np.uint32, 4, offset=8).tolist() == [0, 1, 2, 3]
    assert device.read(buffer.address, np.uint32, 2, offset=12).tolist() == [1, 2]


def test_copies_within_the_device(device: Device) -> None:
    a, b = device.alloc(16), device.alloc(16)
    device.write(a, bytes(range(16)))
    device.copy(b, a)
    device.copy(b.address + 4, a.address, 2)
    assert device.read(b, np.uint8, 8).tolist() == [0, 1, 2, 3, 0, 1, 6, 7]


def test_overlapping_copies_move_the_bytes_as_they_were(device: Device) -> None:
    a = device.alloc(16)
    device.write(a, bytes(range(16)))
    device.copy(a.address + 1, a.address, 15)
    assert device.read(a, np.uint8, 16).tolist() == [0, *range(15)]


def test_addresses_outside_of_allocations_are_refused(device: Device) -> None:
    buffer = device.alloc(16)
    for access, why in (
        (lambda: device.read(buffer.address + 16, np.uint8, 1), "nothing is allocated at 0x10010"),
        (lambda: device.write(buffer.address + 8, bytes(9)), "9 bytes at offset 0 do not fit"),
        (lambda: device.copy(buffer.address, 0, 4), "nothing is allocated at 0x0"),
        (lambda: device.buffer(buffer.address, 17), "reach beyond their allocation"),
    ):
        with pytest.raises(LaunchError, match=why):
            access()


def test_a_buffer_of_a_range_owns_nothing(device: Device) -> None:
    whole = device.alloc(64)
    part = device.buffer(whole.address + 16)
    assert part.nbytes == 48
    with pytest.raises(LaunchError, match="range of another"):
        part.free()
    device.free(whole.address)
    assert whole.freed
    assert part.freed
    with pytest.raises(LaunchError, match="not a live buffer"):
        device.read(part, np.uint8, 1)


def test_a_range_is_an_argument_like_any_buffer(device: Device) -> None:
    whole = device.alloc(256)
    device.load(ISA.assemble(FILL))["fill"][1, 4](device.buffer(whole.address + 128, 16))
    assert device.read(whole, np.uint32, 64).tolist() == [0] * 32 + [42] * 4 + [0] * 28


def test_views_are_the_memory_itself(device: Device) -> None:
    buffer = device.alloc(16)
    device.view(buffer.address + 4, 2)[:] = 7
    assert device.read(buffer, np.uint8, 8).tolist() == [0, 0, 0, 0, 7, 7, 0, 0]


# --- modules ---
def constant_module() -> Module:
    return Module(
        "elf-cubin",
        kernels={name: Kernel(name, ISA.assemble(READ_C0).to_bytes(), registers=2) for name in ("a", "b")},
        constants={0: [ConstantSegment(0, 8, bytes(8)), ConstantSegment(4, 4, b"", "scale")]},
        globals=[GlobalVariable("v", 8, b"\x01\0\0\0")],
        relocations=[Relocation("c14", 0, "v")],
    )


def test_the_loaded_kernel_has_the_description_of_the_file(device: Device) -> None:
    module = constant_module()
    loaded = device.load(module)
    assert loaded.info is module
    assert loaded["a"].info is module["a"]


def test_what_load_overrules_is_in_the_loaded_kernel_only(device: Device) -> None:
    module = constant_module()
    loaded = device.load(module, shared=0x80, params=["ptr"])["a"]
    assert (loaded.shared_bytes, loaded.params) == (0x80, [isakit.Param("", 0, 4, "ptr")])
    assert (module["a"].shared_bytes, module["a"].params) == (None, [])


def test_constants_can_be_changed_by_name_for_all_kernels(device: Device) -> None:
    loaded = device.load(constant_module())
    assert loaded.symbols["scale"] == (0, 4, 4)
    loaded.write_constant("scale", np.uint32(7))
    got = []
    for name in ("a", "b"):
        out = np.zeros(1, np.uint32)
        loaded[name][1, 1](out)
        got.append(int(out[0]))
    assert got == [7, 7]
    assert loaded.read_constant("scale") == b"\x07\0\0\0"
    assert loaded.read_constant(0, 4, offset=2) == b"\0\0\x07\0"


def test_constants_that_are_not_there_are_refused(device: Device) -> None:
    loaded = device.load(constant_module())
    for call, why in (
        (lambda: loaded.write_constant("scales", b"1"), "there are: scale"),
        (lambda: loaded.write_constant("scale", bytes(5)), "do not fit into the 4 bytes of constant scale"),
        (lambda: loaded.read_constant(3), "no c3"),
        (lambda: loaded.read_constant(0, 4, offset=5), "8 bytes of c0"),
    ):
        with pytest.raises(LaunchError, match=why):
            call()


def test_variables_have_addresses_and_their_table_is_filled_in(device: Device) -> None:
    loaded = device.load(constant_module())
    address = loaded.globals["v"].address
    assert device.read(address, np.uint32, 2).tolist() == [1, 0]
    assert loaded.read_constant(14) == address.to_bytes(4, "little")


# --- allocations that grow ---
@pytest.mark.parametrize("engine", ["reference", "llvm"])
def test_an_allocation_that_reaches_on_is_one_for_host_and_kernels(engine: str) -> None:
    device = isakit.Device("gt200", engine=engine)
    fill = device.load(ISA.assemble(FILL))["fill"]
    start = device.memory.alloc(0x140, 0x20000)
    device.write(start, np.arange(0x50, dtype=np.uint32))
    with pytest.raises(isakit.MachineFault, match="UNMAPPED_ADDRESS"):
        fill[1, 32](device.buffer(start + 0x100))
    device.memory.extend(start, 0x1000)
    version = device.memory.version
    assert device.memory.allocations == {start: 0x1000}
    assert device.read(start, np.uint32, 0x40).tolist() == list(range(0x40))
    across = device.buffer(start + 0x100)
    fill[1, 64](across)
    assert (device.read(across, np.uint32, 64) == 42).all()
    device.memory.extend(start, 0x1000)
    assert device.memory.version > version
    with pytest.raises(isakit.MachineFault, match="UNMAPPED_ADDRESS"):
        fill[1, 64](device.buffer(start + 0xF80))


def test_an_allocation_reaches_no_further_than_there_is_room(device: Device) -> None:
    start, other = device.memory.alloc(0x100, 0x20000), device.memory.alloc(0x100, 0x30000)
    device.memory.extend(start, 0x10000)
    for address, nbytes, message in (
        (start, 0x10001, "overlap another buffer"),
        (start, 0xFFFF, "cannot become 65535"),
        (start + 0x100, 0x200, "no buffer starts"),
        (other, (1 << 32) - 0x30000 + 1, "cannot become"),
    ):
        with pytest.raises(LaunchError, match=message):
            device.memory.extend(address, nbytes)
    assert device.memory.allocations == {start: 0x10000, other: 0x100}
