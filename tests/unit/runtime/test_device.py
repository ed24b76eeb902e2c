"""Devices: buffers, arguments, modules."""

from __future__ import annotations

import numpy as np
import pytest

import isakit
from isakit.description import ConstantSegment, GlobalVariable, Relocation, bytes_of
from isakit.errors import LaunchError
from isakit.formats import Kernel, Module
from isakit.runtime import Device, Param, Texture
from isakit.runtime.arguments import pass_arguments

ISA = isakit.isa("tesla", "gt200")
COPY = """
.kernel copy
.param out ptr
.param value u32
    cvt u32 $r1 u16 $r0l
    shl b32 $r1 $r1 0x2
    add b32 $r1 b32 s[out] $r1
    mov b32 $r2 b32 s[value]
    exit st b32 g14[$r1] $r2
"""


@pytest.fixture
def device() -> Device:
    return isakit.Device("gt200", engine="reference")


# --- buffers ---
def test_buffers_hold_what_was_written(device: Device) -> None:
    data = np.arange(12, dtype=np.float64).reshape(3, 4)
    buffer = device.alloc(data.nbytes)
    assert buffer.address % 256 == 0
    device.write(buffer, data.T)
    assert np.array_equal(device.read(buffer, np.float64, (4, 3)), data.T)
    device.write(buffer, b"\xff\xff", offset=8)
    assert device.read(buffer, np.uint16, 1, offset=8)[0] == 0xFFFF


def test_accesses_outside_of_a_buffer(device: Device) -> None:
    buffer = device.alloc(16)
    for access in (
        lambda: device.write(buffer, np.zeros(17, np.uint8)),
        lambda: device.write(buffer, b"12", offset=15),
        lambda: device.read(buffer, np.uint32, 5),
        lambda: device.read(buffer, np.uint32, 1, offset=-4),
        lambda: device.write(buffer, np.array([object()])),
    ):
        with pytest.raises(LaunchError):
            access()


@pytest.mark.parametrize("data", [[1, 2], 5, "12", None, range(3), {}])
def test_what_has_no_bytes_is_not_written(device: Device, data: object) -> None:
    with pytest.raises(LaunchError, match="pass an array or bytes"):
        device.write(device.alloc(16), data)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kind", "shape"), [(object, 1), ("nonsense", 1), ("u4", 1.5), ("u4", (1, -1)), ("u4", (-1, -4)), ("u4", "a")]
)
def test_what_no_bytes_can_be_is_not_read(device: Device, kind: object, shape: object) -> None:
    with pytest.raises(LaunchError):
        device.read(device.alloc(16), kind, shape)  # type: ignore[arg-type]


def test_numbers_are_little_endian_on_the_device_whatever_they_are_here(device: Device) -> None:
    buffer = device.alloc(8)
    device.write(buffer, np.array([1, 2], ">u4"))
    assert device.read(buffer, np.uint8, 8).tolist() == [1, 0, 0, 0, 2, 0, 0, 0]
    found = device.read(buffer, ">u4", 2)
    assert found.tolist() == [1, 2]
    assert found.dtype == np.dtype(">u4")


def test_freed_buffers_are_gone(device: Device) -> None:
    with device.alloc(16) as buffer:
        address = buffer.address
    assert device.alloc(16).address == address
    with pytest.raises(LaunchError, match="not a live buffer"):
        device.read(buffer, np.uint8, 1)
    buffer.free()


def test_unknown_chips_and_engines() -> None:
    with pytest.raises(isakit.UnknownIsaError, match="gt200"):
        isakit.Device("g70")
    with pytest.raises(isakit.IsakitError):
        isakit.Device("gt200", engine="gpu")
    assert isakit.Device("g92", engine="reference").chip == "g84"


# --- arguments ---
def test_natural_alignment_where_nothing_is_declared(device: Device) -> None:
    buffer = device.alloc(4)
    args = (np.uint8(1), np.int16(-2), 3, 1.5, np.float64(2.5), buffer, b"abc", np.uint8(9))
    data = pass_arguments(device.memory, "k", args, None, 4).data
    expected = bytearray(35)
    for at, piece in (
        (0, b"\1"),
        (2, b"\xfe\xff"),
        (4, b"\3\0\0\0"),
        (8, np.float32(1.5).tobytes()),
        (16, np.float64(2.5).tobytes()),
        (24, buffer.address.to_bytes(4, "little")),
        (28, b"abc"),
        (31, b"\x09"),
    ):
        expected[at : at + len(piece)] = piece
    assert data == bytes(expected[:32])


def test_pointers_of_64_bit_hosts(device: Device) -> None:
    buffer = device.alloc(4)
    data = pass_arguments(device.memory, "k", (1, buffer), None, 8).data
    assert data == b"\1\0\0\0\0\0\0\0" + buffer.address.to_bytes(8, "little")


@pytest.mark.parametrize(
    ("params", "args", "message"),
    [
        (["f32"], (), r"takes 1 argument \(#0: f32\), got 0"),
        ([("a", "f32"), ("b", "u32")], (1.0,), r"takes 2 arguments \(a: f32, b: u32\), got 1"),
        ([("a", "f32")], (np.float64(1),), r"argument 0 \(a\) of main has 4 bytes, got float64 with 8"),
        ([("a", "f32")], (np.int32(1),), "is f32, got int32"),
        (["u32"], (1.5,), "floating point number 1.5"),
        (["u32"], (1 << 32,), "does not fit 32 bits"),
        (["u32"], ("x",), "cannot pass a str"),
        (["f32"], (np.zeros(4),), "is a f32, got an array"),
        ([2], (np.zeros(4),), "has 2 bytes and cannot hold an address"),
        (["ptr"], (b"123",), "has 4 bytes, got 3"),
        (["ptr"], (np.array([None]),), "array of Python objects"),
        (["ptr64"], (np.float64(1),), "is ptr64, got float64"),
    ],
)
def test_arguments_that_do_not_fit(device: Device, params: list, args: tuple, message: str) -> None:
    kernel = device.load(ISA.assemble("exit nop"), params=params)["main"]
    with pytest.raises(LaunchError, match=message):
        kernel[1, 1](*args)
    assert not device.memory.allocations


def test_unknown_parameter_types(device: Device) -> None:
    with pytest.raises(LaunchError, match="no parameter type 'float'"):
        device.load(ISA.assemble("exit nop"), params=["float"])


def test_arrays_are_updated_in_place(device: Device) -> None:
    kernel = device.load(ISA.assemble(COPY))["copy"]
    whole = np.zeros((64, 2), np.uint32)
    kernel[1, 32](whole[::2, 1], 7)  # a strided view
    assert whole.sum() == 7 * 32
    assert (whole[::2, 1] == 7).all()
    assert not device.memory.allocations


SQUARES = """
.kernel squares
.param out ptr
    and b32 $r0 $r0 0xffff
    mul $r1 u16 $r0l u16 $r0l
    shl b32 $r0 $r0 0x2
    add b32 $r0 b32 s[out] $r0
    exit st b32 g14[$r0] $r1
"""


def test_read_only_arrays_stay_as_they_are_and_the_launch_says_so(device: Device) -> None:
    kernel = device.load(ISA.assemble(COPY))["copy"]
    out = np.zeros(32, np.uint32)
    out.flags.writeable = False
    with pytest.raises(isakit.LaunchError, match="read-only"):
        kernel[1, 32](out, 7)
    assert not out.any()


def test_elements_that_share_memory_are_not_written_differently_without_a_word(device: Device) -> None:
    kernel = device.load(ISA.assemble(SQUARES))["squares"]
    same = np.lib.stride_tricks.as_strided(np.zeros(1, np.uint32), (32,), (0,))
    with pytest.raises(isakit.LaunchError, match="share their memory"):
        kernel[1, 32](same)
    apart = np.zeros(64, np.uint32)[::2]
    kernel[1, 32](apart)
    assert (apart == np.arange(32) ** 2).all()


def test_arrays_hold_what_was_written_before_a_fault(device: Device) -> None:
    kernel = device.load(ISA.assemble(COPY.replace("exit st b32", "st b32") + "    trap\n"))["copy"]
    out = np.zeros(32, np.uint32)
    with pytest.raises(isakit.MachineFault, match="TRAP"):
        kernel[1, 32](out, 7)
    assert (out == 7).all()
    assert not device.memory.allocations


def test_the_same_array_twice_is_one_buffer(device: Device) -> None:
    kernel = device.load(ISA.assemble("exit nop"), params=["ptr", "ptr"])["main"]
    x = np.zeros(4, np.uint32)
    m = kernel.machine(1, 1, (x, x))
    a, b = m.blocks[0].shared[16:24].view(np.uint32)
    assert a == b


def test_overlapping_arrays_are_refused(device: Device) -> None:
    kernel = device.load(ISA.assemble("exit nop"), params=["ptr", "ptr"])["main"]
    x = np.zeros(8, np.uint32)
    with pytest.raises(LaunchError, match="same memory"):
        kernel[1, 1](x[:5], x[4:])
    kernel[1, 1](x[:4], x[4:])
    kernel[1, 1](x[::2], x[1::2])


def test_raw_parameter_bytes(device: Device) -> None:
    kernel = device.load(ISA.assemble(COPY))["copy"]
    buffer = device.alloc(128)
    kernel.launch(1, 32, param_bytes=buffer.address.to_bytes(4, "little") + b"\5\0\0\0")
    assert (device.read(buffer, np.uint32, 32) == 5).all()
    with pytest.raises(LaunchError, match="either"):
        kernel.launch(1, 32, buffer, param_bytes=b"")
    with pytest.raises(LaunchError, match="at most 256"):
        kernel.launch(1, 32, param_bytes=bytes(260))


def test_machines_keep_arrays_up_to_date(device: Device) -> None:
    kernel = device.load(ISA.assemble(COPY))["copy"]
    out = np.zeros(64, np.uint32)
    m = device.machine(kernel, 1, 64, (out, 7))
    while out.sum() == 0:
        m.step()
    assert out.sum() == 7 * 32
    assert device.memory.allocations
    del m
    assert not device.memory.allocations


def test_launch_shapes(device: Device) -> None:
    kernel = device.load(ISA.assemble("exit nop"))["main"]
    for shape in ((1, 1), ((2,), (3,)), ((1, 2), (3, 4, 5)), (np.int64(2), [3, 4])):
        assert kernel[shape]().warp_instructions >= 1
    with pytest.raises(LaunchError):
        kernel[1]
    with pytest.raises(LaunchError):
        kernel[1, 2, 3]


# --- modules ---
def test_sizes_of_raw_words(device: Device) -> None:
    program = ISA.assemble("mov b32 $r5 $r77\nexit nop")
    kernel = device.load(program.words)["main"]
    assert kernel.registers == 6  # what it writes; everything else reads 0
    assert device.load(program.to_bytes())["main"].code.units == program.words
    with pytest.raises(LaunchError, match="129 registers"):
        device.load(program, registers=129)
    with pytest.raises(LaunchError, match="cannot load a dict"):
        device.load({})
    with pytest.raises(KeyError, match="main"):
        device.load(program)["other"]


def test_code_of_another_instruction_set(device: Device) -> None:
    with pytest.raises(LaunchError, match="vuc"):
        device.load(Module("vuc", isa="vuc"))


def test_constants_and_variables_of_a_module(device: Device) -> None:
    """c0 of the module, c1 of the kernel, c14 with the address of a variable that has a first value."""
    text = """
        ld $r1 b32 c0[0x4]
        ld $r2 b32 c1[0x0]
        ld $r3 b32 c14[0x8]
        ld b32 $r4 g14[$r3]
        add b32 $r5 $r4 $r1
        st b32 g14[$r3] $r5
        exit nop
    """
    code = bytes_of(ISA.assemble(text).words)
    image = Module(
        "elf-cubin",
        kernels={"k": Kernel("k", code, registers=6, shared_bytes=0x20, params=[Param("", 0, 4)],
                                  constants={1: [ConstantSegment(0, 4, b"\x22\0\0\0")]})},
        constants={0: [ConstantSegment(0, 8, bytes(4) + b"\x11\0\0\0")]},
        globals=[GlobalVariable("v", 4, b"\x33\0\0\0")],
        relocations=[Relocation("c14", 8, "v")],
    )  # fmt: skip
    module = device.load(image)
    kernel = module["k"]
    assert kernel.params == [Param("", 0, 4)]
    m = kernel.machine(1, 1, (5,))
    m.run()
    assert m.warps[0].registers[1:6, 0].tolist() == [0x11, 0x22, module.globals["v"].address, 0x33, 0x44]
    assert device.read(module.globals["v"], np.uint32, 1)[0] == 0x44


def test_multiprocessor_flags_change_arithmetic() -> None:
    text = "mov b32 $r1 0x7f800000\nmov b32 $r2 0x0\nmul rn f32 $r3 $r1 $r2\nexit nop"
    results = []
    for flag in (False, True):
        device = isakit.Device("gt200", engine="reference", mul_zero_wins=flag)
        m = device.load(ISA.assemble(text))["main"].machine(1, 1)
        m.run()
        results.append(int(m.warps[0].registers[3, 0]))
    assert results == [0x7FFFFFFF, 0]


def test_pointer_size_follows_from_the_declared_shared_memory(device: Device) -> None:
    x = np.zeros(4, np.uint32)
    for shared, expected in ((0x10 + 20, 8), (0x10 + 12, 4), (0x10 + 100, 4), (0, 4)):
        kernel = device.load(ISA.assemble("exit nop"), shared=shared)["main"]
        m = kernel.machine(1, 1, (x, x.copy(), 5))
        address = m.blocks[0].shared[0x10:].view(np.uint32)
        assert address[2 * expected // 4] == 5


def test_dynamic_shared_memory(device: Device) -> None:
    text = "add $a1 0x0 0x140\nst b32 s[$a1] $r0\nexit nop"
    kernel = device.load(ISA.assemble(text), shared=0x100)["main"]
    with pytest.raises(isakit.MachineFault, match="UNMAPPED"):
        kernel.launch(1, 1)
    kernel.launch(1, 1, dynamic_shared=0x44)


def test_textures_reach_the_kernel() -> None:
    """The picture's texel at (thread, 1), read with coordinates in texels."""
    text = """
        cvt rn f32 $r4 u32 $r0
        mov b32 $r5 0.5
        add rn f32 $r4 $r4 $r5
        mov b32 $r5 1.5
        texauto live $r4:$r5:$r6:$r7 $t3 $s3 $r4:$r5 0x0 0x0 0x0
        exit nop
    """
    picture = np.arange(32 * 2 * 4, dtype=np.float32).reshape(2, 32, 4)
    for engine in ("reference", "auto"):
        device = isakit.Device("gt200", engine=engine)
        device.bind_texture(3, Texture(picture, target="rect"))
        kernel = device.load(ISA.assemble(text))["main"]
        kernel.launch(1, 32)
        m = kernel.machine(1, 32)
        m.run()
        assert np.array_equal(m.warps[0].registers[4:8].view(np.float32).T, picture[1])
