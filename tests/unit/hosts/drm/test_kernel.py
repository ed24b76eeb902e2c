"""The kernel's part: answers to ioctls, as the kernel gives them."""

from __future__ import annotations

import errno
import struct
from collections.abc import Iterator

import numpy as np
import pytest

from isakit.hosts.drm import protocol
from isakit.hosts.drm.card_settings import CardSettings
from isakit.hosts.drm.chips import CHIPS, chip_named
from isakit.hosts.drm.kernel import BUFFER, INFO, PUSH, PUSHBUF, Client
from isakit.hosts.drm.report import Report
from isakit.hosts.drm.surface import Surface

GEM_NEW, GEM_CLOSE, GETPARAM, CHANNEL_ALLOC, NVIF, GEM_INFO = 0x80, 0x09, 0x40, 0x42, 0x47, 0x84


@pytest.fixture
def client() -> Iterator[Client]:
    c = Client(chip_named("a0"), Report(), CardSettings(engine="reference"))
    yield c
    c.close()


def new_object(c: Client, size: int = 0x10000) -> int:
    status, back = c.ioctl(GEM_NEW, INFO.pack(0, 2, size, 0, 0, 0, 0) + struct.pack("<II", 0, 0))
    assert status == 0
    return INFO.unpack_from(back)[0]


def new_channel(c: Client) -> int:
    status, back = c.ioctl(CHANNEL_ALLOC, bytes(88))
    assert status == 0
    return struct.unpack_from("<IIi", back)[2]


def push(
    c: Client, channel: int, handles: list[int], segments: list[tuple[int, int, int]], relocations: int = 0
) -> int:
    head = PUSHBUF.pack(channel, len(handles), 0, relocations, len(segments), 0, 0, 0, 0, 0, 0)
    buffers = b"".join(BUFFER.pack(0, h, 0, 0, 0, 0, 0, 0) for h in handles)
    pushes = b"".join(PUSH.pack(i, 0, o, n) for i, o, n in segments)
    return c.pushbuf(head + buffers + pushes)[0]


@pytest.mark.parametrize("number", CHIPS)
def test_the_card_says_which_chip_it_is(number: int) -> None:
    c = Client(CHIPS[number], Report(), CardSettings())
    status, back = c.ioctl(GETPARAM, struct.pack("<QQ", 11, 0))
    c.close()
    assert (status, struct.unpack("<QQ", back)[1]) == (0, number)


def test_an_unknown_parameter_is_invalid(client: Client) -> None:
    assert client.ioctl(GETPARAM, struct.pack("<QQ", 99, 0))[0] == -errno.EINVAL


def test_an_unknown_ioctl_is_invalid_and_counted(client: Client) -> None:
    assert client.ioctl(0x77, bytes(8))[0] == -errno.EINVAL
    assert client.report.unsupported["ioctl 0x77"] == 1


@pytest.mark.parametrize("request_number", [GEM_NEW, GEM_CLOSE, GETPARAM, CHANNEL_ALLOC, NVIF, GEM_INFO, 0x44, 0x45])
def test_a_structure_that_is_cut_off_is_invalid(client: Client, request_number: int) -> None:
    assert client.ioctl(request_number, b"\x01")[0] == -errno.EINVAL


def test_an_object_is_gone_after_it_is_closed(client: Client) -> None:
    handle = new_object(client)
    assert client.ioctl(GEM_CLOSE, struct.pack("<II", handle, 0))[0] == 0
    assert client.ioctl(GEM_INFO, INFO.pack(handle, 0, 0, 0, 0, 0, 0))[0] == -errno.ENOENT
    assert client.ioctl(GEM_CLOSE, struct.pack("<II", handle, 0))[0] == -errno.ENOENT


def test_an_empty_push_is_fine(client: Client) -> None:
    assert push(client, new_channel(client), [], []) == 0


def test_a_push_to_no_channel_is_not_found(client: Client) -> None:
    assert push(client, 5, [new_object(client)], [(0, 0, 4)]) == -errno.ENOENT


@pytest.mark.parametrize("segment", [(0, 0x10000, 4), (0, 0xFFFC, 8), (1, 0, 4), (0, 1 << 60, 4), (0, 2, 4)])
def test_a_segment_outside_of_its_object_is_invalid(client: Client, segment: tuple[int, int, int]) -> None:
    assert push(client, new_channel(client), [new_object(client)], [segment]) == -errno.EINVAL


def test_a_push_from_no_object_is_not_found(client: Client) -> None:
    assert push(client, new_channel(client), [99], [(0, 0, 4)]) == -errno.ENOENT


def test_a_push_with_counts_that_lie_is_invalid(client: Client) -> None:
    head = PUSHBUF.pack(new_channel(client), 1 << 31, 0, 0, 1 << 31, 0, 0, 0, 0, 0, 0)
    assert client.pushbuf(head)[0] == -errno.EINVAL


def test_words_that_are_no_packets_are_an_input_output_error(client: Client) -> None:
    handle, channel = new_object(client), new_channel(client)
    o = client.memory.objects[handle]
    client.memory.view(o.address, 4)[:] = 0xFF
    assert push(client, channel, [handle], [(0, 0, 4)]) == -errno.EIO


def shown(client: Client, handle: int, row: int, rows: int, stride: int) -> tuple[int, bytes]:
    return client.picture(protocol.PICTURE.pack(handle, row, rows, stride))


def test_a_picture_of_a_window_is_rows_whatever_its_layout(client: Client) -> None:
    rows = np.arange(8 * 256, dtype=np.uint32).astype(np.uint8).reshape(8, 256)
    plain = client.memory.allocate(1 << 16, 1)
    client.memory.view(plain.address, 2048)[:] = rows.reshape(-1)
    assert shown(client, plain.handle, 40, 8, 256) == (0, rows[:, :40].tobytes())
    tiled = client.memory.allocate(1 << 16, 1, tile_mode=1, tile_flags=0x7000)
    Surface(client.memory, tiled.address, 256, 8, block_y=1).write(rows)
    assert shown(client, tiled.handle, 40, 8, 256) == (0, rows[:, :40].tobytes())


def test_hostile_pictures_are_errors(client: Client) -> None:
    o = client.memory.allocate(1 << 16, 1)
    assert shown(client, o.handle + 1, 4, 1, 4) == (-errno.ENOENT, b"")
    for row, rows, stride in ((0, 1, 4), (8, 1, 4), (4, 0, 4), (4, 1 << 31, 4), (4, 4, 1 << 31)):
        assert shown(client, o.handle, row, rows, stride) == (-errno.EINVAL, b"")
    assert shown(client, o.handle, 4, 8192, 1 << 17) == (-errno.EFAULT, b"")
    assert client.picture(b"") == (-errno.EINVAL, b"")
