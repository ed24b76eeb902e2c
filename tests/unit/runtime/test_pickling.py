"""Programs, descriptions, devices and launches go to other processes and work there."""

from __future__ import annotations

import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest

import isakit
from isakit.runtime import LinearWindow
from support.clients.elsewhere import executed_elsewhere
from support.patience import PATIENCE

TEXT = """
.kernel double
.param out ptr
.const 1
table: .word 2, 3
.code
    cvt u32 $r1 u16 $r0l
    shl b32 $r1 $r1 0x2
    add b32 $r1 b32 s[out] $r1
    ld b32 $r2 g14[$r1]
    add b32 $r2 $r2 $r2
    exit st b32 g14[$r1] $r2
"""


def again(thing):
    return pickle.loads(pickle.dumps(thing))


def program(name: str = "tesla") -> isakit.Program:
    texts = {"tesla": TEXT, "vuc": "mov $r1 0x7\nadd $r1 $r1 $r1", "usse": "vmul.f32 r0.xy pa0.xyzw pa0.yyyy"}
    return isakit.isa(name).assemble(texts[name])


@pytest.mark.parametrize("name", ["tesla", "vuc", "usse"])
def test_programs_are_the_same_after_pickling(name: str) -> None:
    first = program(name)
    first_text = str(first)
    second = again(first)
    assert str(second) == first_text
    assert second.to_bytes() == first.to_bytes()
    assert second.decoder is first.decoder


def test_instructions_and_instruction_sets_can_be_pickled() -> None:
    first = program()[2]
    second = again(first)
    assert (second.text, second.address, second.form) == (first.text, first.address, first.form)
    isa = again(isakit.isa("tesla", "g80"))
    assert isa.assemble("nop").variant == "g80"
    assert isa.records is isakit.isa("tesla").records


def test_modules_and_kernels_keep_what_belongs_together() -> None:
    module = isakit.load(isakit.programs.write(program(), "elf"))
    second = again(module)
    assert second == module
    assert second["double"].module is second
    assert second["double"].program.to_bytes() == module["double"].code
    kernel = again(program().kernel)
    assert str(kernel.program) == str(program())


@pytest.mark.parametrize("engine", ["reference", "llvm"])
def test_a_device_goes_on_with_its_memory_and_kernels(engine: str) -> None:
    device = isakit.Device("g84", engine=engine, mul_zero_wins=True)
    kernel = device.load(program())["double"]
    buffer = device.alloc(32 * 4)
    device.write(buffer, np.arange(32, dtype=np.uint32))
    kernel[1, 32](buffer)
    other, other_kernel, other_buffer = again((device, kernel, buffer))
    assert other_kernel.device is other
    assert (other.chip, other.engine, other.flags) == (device.chip, device.engine, device.flags)
    other_kernel[1, 32](other_buffer)
    assert other.read(other_buffer, np.uint32, 32).tolist() == [4 * n for n in range(32)]
    assert device.read(buffer, np.uint32, 32).tolist() == [2 * n for n in range(32)]
    assert other.alloc(16).address != other_buffer.address


def test_a_pickled_device_takes_no_more_room_than_what_is_allocated() -> None:
    device = isakit.Device("gt200", engine="reference")
    device.alloc(256, address=1 << 24)
    assert len(pickle.dumps(device)) < 20_000


def test_a_device_over_given_memory_becomes_one_with_its_own() -> None:
    device = isakit.Device("gt200", engine="reference", memory=bytearray(0x20000 + 64))
    buffer = device.alloc(16)
    device.write(buffer, b"x" * 16)
    other, copied = again((device, buffer))
    device.write(buffer, b"y" * 16)
    assert other.read(copied, np.uint8, 16).tobytes() == b"x" * 16
    assert other.memory.limit == device.memory.limit


def test_launches_can_be_pickled() -> None:
    device = isakit.Device("gt200", engine="reference")
    device.bind(3, LinearWindow(0, 1 << 20))
    kernel = device.load(program())["double"]
    kernel.bind(0, np.arange(8, dtype=np.float32))
    buffer = device.alloc(128)
    device.write(buffer, np.arange(32, dtype=np.uint32))
    launch = kernel.prepare(1, 32, buffer)
    other, second = again((device, launch))
    assert other.execute(second).instructions == device.execute(launch).instructions
    assert other.read(buffer.address, np.uint32, 32).tolist() == device.read(buffer, np.uint32, 32).tolist()


def test_work_goes_to_a_fresh_process() -> None:
    device = isakit.Device("gt200", engine="reference")
    kernel = device.load(program())["double"]
    buffer = device.alloc(128)
    device.write(buffer, np.arange(32, dtype=np.uint32))
    launch = kernel.prepare(1, 32, buffer)
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        got = pool.submit(executed_elsewhere, device, launch, buffer.address).result(timeout=PATIENCE)
    assert got == [2 * n for n in range(32)]
    assert device.read(buffer, np.uint32, 32).tolist() == list(range(32))


def test_a_machine_can_be_pickled_in_the_middle() -> None:
    device = isakit.Device("gt200", engine="reference")
    buffer = device.alloc(128)
    device.write(buffer, np.arange(32, dtype=np.uint32))
    machine = device.load(program())["double"].machine(1, 32, (buffer,))
    machine.step()
    machine.step()
    other = again(machine)
    assert other.warps[0].pc == machine.warps[0].pc
    other.run()
    machine.run()
    assert (other.warps[0].registers == machine.warps[0].registers).all()
