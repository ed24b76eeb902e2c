"""Memory objects of the card, and images in blocks."""

from __future__ import annotations

import errno
from itertools import pairwise

import numpy as np
import pytest

from isakit.hosts.drm.memory import BASE, PAGE, GpuFault, VideoMemory
from isakit.hosts.drm.surface import Surface


@pytest.fixture
def memory() -> VideoMemory:
    return VideoMemory(1 << 24)


def test_objects_do_not_overlap(memory: VideoMemory) -> None:
    made = [memory.allocate(n, 1) for n in (1, PAGE, PAGE + 1, 3)]
    ends = [(o.address, o.address + o.size) for o in made]
    assert all(a[1] <= b[0] for a, b in pairwise(ends))


def test_objects_are_aligned_as_asked(memory: VideoMemory) -> None:
    memory.allocate(1, 1)
    assert memory.allocate(1, 1 << 20).address % (1 << 20) == 0


def test_freed_room_is_used_again_and_is_zero(memory: VideoMemory) -> None:
    o = memory.allocate(PAGE, 1)
    memory.view(o.address, 4)[:] = 7
    memory.free(o.handle)
    again = memory.allocate(PAGE, 1)
    assert again.address == o.address
    assert not memory.view(again.address, PAGE).any()


def test_all_room_comes_back(memory: VideoMemory) -> None:
    made = [memory.allocate(PAGE, 1) for _ in range(20)]
    for o in made[::2] + made[1::2]:
        memory.free(o.handle)
    assert memory.allocate(memory.size, 1).size == memory.size


@pytest.mark.parametrize(
    ("size", "align", "error"),
    [(0, 1, errno.EINVAL), (-1, 1, errno.EINVAL), (1, 3, errno.EINVAL), (1 << 40, 1, errno.ENOMEM),
     (1, 1 << 40, errno.EINVAL)],
)  # fmt: skip
def test_sizes_that_do_not_fit_are_errors_of_the_kernel(memory: VideoMemory, size: int, align: int, error: int) -> None:
    with pytest.raises(OSError) as e:
        memory.allocate(size, align)
    assert e.value.errno == error


def test_a_handle_that_is_none_is_not_found(memory: VideoMemory) -> None:
    with pytest.raises(OSError) as e:
        memory.free(77)
    assert e.value.errno == errno.ENOENT


@pytest.mark.parametrize("address", [0, BASE - 1, BASE + PAGE - 3, BASE + (1 << 24), 1 << 40])
def test_accesses_outside_of_objects_are_faults(memory: VideoMemory, address: int) -> None:
    memory.allocate(PAGE, 1)
    with pytest.raises(GpuFault):
        memory.view(address, 4)


def test_the_file_cannot_be_made_smaller_by_the_other_side(memory: VideoMemory) -> None:
    import os

    with pytest.raises(PermissionError):
        os.ftruncate(memory.descriptor, 0)


def block_offset(x: int, y: int, z: int, width: int, rows: int, block_y: int, block_z: int) -> int:
    """The place of a byte by the definition: 64 bytes x (4 << y) rows x (1 << z) slices, blocks row by row."""
    high, deep = 4 << block_y, 1 << block_z
    across, down = -(-width // 64), -(-rows // high)
    block = ((z // deep) * down + y // high) * across + x // 64
    return ((block * deep + z % deep) * high + y % high) * 64 + x % 64


@pytest.mark.parametrize(("block_y", "block_z"), [(0, 0), (1, 0), (3, 0), (0, 2), (2, 1)])
def test_blocks_lie_as_defined(memory: VideoMemory, block_y: int, block_z: int) -> None:
    width, rows, depth = 150, 21, 5
    o = memory.allocate(1 << 20, 1)
    data = np.random.default_rng(block_y * 8 + block_z).integers(0, 256, (depth, rows, width), np.uint8)
    for z in range(depth):
        s = Surface(memory, o.address, width, rows, block_y=block_y, block_z=block_z, depth=depth, z=z)
        s.write_rectangle(0, 0, data[z])
    raw = memory.view(o.address, 1 << 20)
    for z, y, x in [(0, 0, 0), (4, 20, 149), (1, 7, 64), (2, 13, 63), (3, 20, 128), (4, 4, 100)]:
        assert raw[block_offset(x, y, z, width, rows, block_y, block_z)] == data[z, y, x]


def test_an_image_may_begin_at_a_slice_of_a_block_where_its_memory_ends_with_the_block(memory: VideoMemory) -> None:
    width, rows, slices = 256, 32, 8  # drivers bind a slice of a volume as a target by the address of the slice
    o = memory.allocate(width * rows * slices, 1)
    assert o.size == width * rows * slices
    data = np.random.default_rng(3).integers(0, 256, (slices, rows, width), np.uint8)
    for z in range(slices):
        Surface(memory, o.address + z * 16 * 64, width, rows, block_y=2, block_z=3).write(data[z])
    for z in range(slices):
        s = Surface(memory, o.address, width, rows, block_y=2, block_z=3, depth=slices, z=z)
        assert np.array_equal(s.read(), data[z])
    with pytest.raises(GpuFault):
        Surface(memory, o.address + slices * 16 * 64, width, rows, block_y=2, block_z=3).view()


@pytest.mark.parametrize("pitch", [0, 200])
def test_a_rectangle_comes_back_and_nothing_else_changes(memory: VideoMemory, pitch: int) -> None:
    o = memory.allocate(1 << 16, 1)
    s = Surface(memory, o.address, 160, 40, pitch=pitch, block_y=1)
    before = np.arange(40 * 160, dtype=np.uint32).astype(np.uint8).reshape(40, 160)
    s.write_rectangle(0, 0, before)
    patch = np.full((9, 33), 255, np.uint8)
    s.write_rectangle(70, 11, patch)
    expected = before.copy()
    expected[11:20, 70:103] = patch
    assert np.array_equal(s.read_rectangle(0, 0, 160, 40), expected)


@pytest.mark.parametrize("place", [(-1, 0, 4, 4), (0, -1, 4, 4), (190, 0, 10, 1), (0, 47, 1, 9), (1 << 40, 0, 1, 1)])
def test_a_rectangle_outside_is_a_fault(memory: VideoMemory, place: tuple[int, int, int, int]) -> None:
    o = memory.allocate(1 << 16, 1)
    x, y, count, rows = place
    with pytest.raises(GpuFault):
        Surface(memory, o.address, 160, 40, block_y=1).read_rectangle(x, y, count, rows)
