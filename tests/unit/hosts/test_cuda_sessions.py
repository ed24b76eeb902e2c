"""Small CUDA programs that need no C compiler: they send what the C library would send, so they run everywhere."""

from __future__ import annotations

import struct
from collections.abc import Iterator

import numpy as np
import pytest

from isakit.hosts.cuda.handlers.texture_references import ARRAY, BUFFER, UNBOUND
from isakit.hosts.cuda.modules import FAT_CONTAINER, OLD_LIST, WHOLE_FILE
from support.clients import cuda_build
from support.clients.cuda_build import Entry
from support.clients.cuda_client import FLOAT, CudaProgram

X = np.arange(64, dtype="<f4")
CONTAINER, OLD = "a container", "a list of texts"


def image(kind: str) -> tuple[int, bytes]:
    """A fat binary with code for sm_10 and sm_13 as compilers from CUDA 4.0 on write it, or those before."""
    if kind == CONTAINER:
        entries = [Entry(1, 10, b".version 1.4\n\0"), Entry(2, 10, cuda_build.elf_cubin())]
        return FAT_CONTAINER, cuda_build.container([*entries, Entry(2, 13, cuda_build.later_cubin())])
    texts = ((10, cuda_build.text_cubin()), (13, cuda_build.later_text_cubin()))
    return OLD_LIST, b"".join(struct.pack("<4I", 3, chip, len(t), 0) + t.encode() for chip, t in texts)


def started(kind: str, chip: str) -> CudaProgram:
    return CudaProgram(chip, *image(kind))


@pytest.fixture(params=[CONTAINER, OLD])
def first(request: pytest.FixtureRequest) -> Iterator[CudaProgram]:
    """A program on a chip that runs the code for sm_10 of its fat binary."""
    with started(request.param, "sm_12") as program:
        yield program


@pytest.fixture(params=[CONTAINER, OLD])
def later(request: pytest.FixtureRequest) -> Iterator[CudaProgram]:
    """A program on a chip that runs the code for sm_13."""
    with started(request.param, "sm_13") as program:
        yield program


def affine(program: CudaProgram, y: int, x: int, n: int = 64, stream: int = 0) -> int:
    return program.launch("affine", (n + 63) // 64, 64, struct.pack("<QQI", y, x, n), stream=stream)


def test_constants_of_a_module_are_what_the_program_has_copied_to_them(first: CudaProgram) -> None:
    y, x = first.alloc(bytes(256)), first.alloc(X.tobytes())
    assert affine(first, y, x) == 0
    np.testing.assert_array_equal(first.read(y, "64f"), X * 2 + np.tile([1.5, 2.5, 3.5, 4.5], 16))
    table, scale = first.symbol("table", 16, True), first.symbol("scale", 4, True)
    assert first.call("where", table)[1] == 16
    assert first.write_symbol(table, 8, struct.pack("<f", 50)) == 0
    assert first.write_symbol(scale, 0, struct.pack("<f", 3)) == 0
    assert affine(first, y, x) == 0
    np.testing.assert_array_equal(first.read(y, "64f"), X * 3 + np.tile([1.5, 2.5, 50, 4.5], 16))
    assert first.write_symbol(table, 8, bytes(12)) == 11  # beyond its end
    assert first.write_symbol(first.symbol("nothing", 4, True), 0, bytes(4)) == 13


def test_a_variable_of_a_module_keeps_what_a_kernel_has_written() -> None:
    with CudaProgram("sm_10", WHOLE_FILE, cuda_build.elf_cubin()) as program:
        for _ in range(3):
            assert program.launch("count", 1, 1, struct.pack("<I", 5)) == 0
        address, size = program.call("where", program.symbol("counter", 4, False))
        assert (size, program.read(address, "I")) == (4, (40 + 3 * 5,))


def test_textures_are_bound_by_the_name_of_their_symbol(first: CudaProgram) -> None:
    y, texels = first.alloc(bytes(4096)), first.alloc(X.tobytes())
    line, plane = first.texture("line", 1), first.texture("plane", 2)
    points = struct.pack("<10i", 0, 0, 1, 1, 1, *FLOAT)  # not normalised, nearest, clamped
    assert first.call("bind", line, BUFFER, texels, 256, 0, 0, tail=points) == (0,)
    assert first.launch("fetch", 1, 64, struct.pack("<Q", y)) == 0
    np.testing.assert_array_equal(first.read(y, "64f"), X)
    assert first.call("bind", line, BUFFER, texels + 16, 128, 0, 0, tail=points) == (16,)
    first.call("bind", line, UNBOUND, 0, 0, 0, 0, tail=points)
    assert first.launch("fetch", 1, 64, struct.pack("<Q", y)) == 0
    assert first.read(y, "64f") == (0.0,) * 64
    (array,) = first.call("cudaMallocArray", 8, 8, 0, tail=struct.pack("<5i", *FLOAT))
    held = first.session.handles.get(array, object)
    for row in range(8):
        at = held.address + row * held.pitch
        first.session.pages[at : at + 32] = X[8 * row : 8 * row + 8].tobytes()
    between = struct.pack("<10i", 0, 1, 1, 1, 1, *FLOAT)  # linear
    first.call("bind", plane, ARRAY, array, 0, 0, 0, tail=between)
    where = first.alloc(struct.pack("<6f", 2.5, 3.5, 3.0, 3.5, 2.5, 4.0))
    assert first.launch("sample", 1, 3, struct.pack("<QQ", y, where)) == 0
    assert first.read(y, "12f")[::4] == (26.0, 26.5, 30.0)


def test_work_of_streams_is_done_when_an_event_after_it_is(first: CudaProgram) -> None:
    y, x = first.alloc(bytes(256)), first.alloc(X.tobytes())
    streams = [first.call("cudaStreamCreate")[0] for _ in range(2)]
    begun, done = (first.call("cudaEventCreate")[0] for _ in range(2))
    first.call("cudaEventRecord", begun, streams[0])
    assert affine(first, y, x, stream=streams[0]) == 0
    first.call("cudaEventRecord", done, streams[0])
    first.call("cudaStreamWaitEvent", streams[1], done, 0)
    assert affine(first, y, y, stream=streams[1]) == 0
    first.call("cudaEventSynchronize", done)
    shift = np.tile([1.5, 2.5, 3.5, 4.5], 16)
    np.testing.assert_array_equal(first.read(y, "64f"), (X * 2 + shift) * 2 + shift)
    assert first.code("cudaEventElapsedTime", begun, done) == 0
    first.call("cudaStreamDestroy", streams[0])
    assert affine(first, y, x, stream=streams[0]) == 33
    assert first.code("cudaEventRecord", done, streams[0]) == 33


def test_a_kernel_writes_mapped_memory_where_the_host_sees_it(first: CudaProgram) -> None:
    (address,) = first.call("cudaHostAlloc", 4096, 2)
    assert first.call("cudaHostGetDevicePointer", address, 0) == (address,)
    first.session.pages[address : address + 256] = X.tobytes()
    assert affine(first, address, address) == 0
    np.testing.assert_array_equal(first.read(address, "64f"), X * 2 + np.tile([1.5, 2.5, 3.5, 4.5], 16))
    first.call("cudaFreeHost", address)
    assert first.code("cudaHostGetDevicePointer", address, 0) == 11


def test_votes_are_taken_in_each_warp(later: CudaProgram) -> None:
    x = np.zeros(96, "<u4")
    x[40], x[64:] = 7, 1
    out, given = later.alloc(bytes(384)), later.alloc(x.tobytes())
    assert later.launch("votes", 1, 96, struct.pack("<QQ", out, given)) == 0
    assert later.read(out, "96I") == (0,) * 32 + (1,) * 32 + (3,) * 32


def test_a_block_sees_what_the_one_before_has_written_ahead_of_its_fence(later: CudaProgram) -> None:
    data, turn = later.alloc(struct.pack("<I", 100) + bytes(160)), later.alloc(bytes(4))
    assert later.launch("chain", 40, 1, struct.pack("<QQ", data, turn)) == 0
    assert later.read(data, "41I") == tuple(range(100, 141))


@pytest.mark.parametrize("kind", [CONTAINER, OLD])
@pytest.mark.parametrize(("chip", "found", "missing"), [("sm_12", "count", "votes"), ("sm_13", "votes", "count")])
def test_code_for_the_newest_chip_is_chosen_of_either_kind_of_fat_binary(
    kind: str, chip: str, found: str, missing: str
) -> None:
    with started(kind, chip) as program:
        memory = program.alloc(bytes(64))
        assert program.launch(found, 1, 1, struct.pack("<QQ", memory, memory)) == 0
        assert program.launch(missing, 1, 1, bytes(16)) == 8
