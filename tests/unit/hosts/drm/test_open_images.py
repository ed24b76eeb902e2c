"""Targets that are drawn to: of an image in the card's memory only what is drawn to is read and written."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from isakit.graphics.color_formats import NAMED
from isakit.graphics.raster import Bounds
from isakit.hosts.drm.capture import Recorder, read
from isakit.hosts.drm.engines import framebuffer, images
from isakit.hosts.drm.engines.framebuffer import ColorImage, DepthImage, OpenColor, OpenImages, unpacked
from isakit.hosts.drm.engines.images import Images
from isakit.hosts.drm.memory import BASE, MOST_DEFERRED, GpuFault, VideoMemory
from isakit.hosts.drm.surface import Surface
from isakit.texture.headers import pack, unpack
from isakit.texture.texture import Texture

WIDTH, HEIGHT = 53, 37


def surface(nbytes: int, pitch: int, block_y: int, mappings_known: bool = False) -> Surface:
    memory = VideoMemory(1 << 20, mappings_known)
    made = memory.allocate(1 << 18, 1)
    memory.view(made.address, made.size)[:] = np.random.default_rng(nbytes).integers(0, 256, made.size, np.uint8)
    return Surface(memory, made.address, WIDTH * nbytes, HEIGHT, pitch=pitch, block_y=block_y)


@pytest.mark.parametrize(("pitch", "block_y"), [(1024, 0), (0, 0), (0, 2)])
@pytest.mark.parametrize("name", ["rgba8", "r8", "rgba16f", "rgba32f"])
def test_pixels_of_rectangles_reach_memory_and_nothing_else_does(name: str, pitch: int, block_y: int) -> None:
    form = NAMED[name]
    s = surface(form.nbytes, pitch, block_y)
    expected = s.read()
    pixels = expected[:HEIGHT, : WIDTH * form.nbytes].copy().view(form.dtype).reshape(HEIGHT, WIDTH, form.stored)
    images, image = OpenImages(), ColorImage(s, form, WIDTH, HEIGHT, 0, False)
    rng = np.random.default_rng(7)
    behind = s.memory.bytes[s.slice_bytes if not pitch else pitch * HEIGHT :].copy()
    for _ in range(8):
        opened = images.open_color(image, 0)
        for _ in range(rng.integers(1, 4)):
            x0, y0 = int(rng.integers(0, WIDTH)), int(rng.integers(0, HEIGHT))
            x1, y1 = x0 + int(rng.integers(1, 20)), y0 + int(rng.integers(1, 20))  # some of it may be outside
            opened.target.load((x0, y0, x1, y1))
            here = slice(y0, y1), slice(x0, x1)
            assert opened.target.pixels[here].tobytes() == pixels[here].tobytes()
            opened.target.pixels[here] = pixels[here] = rng.integers(0, 100)
        opened.store()
        images.keep(image, 0, opened)
        expected[:HEIGHT, : WIDTH * form.nbytes] = pixels.view(np.uint8).reshape(HEIGHT, -1)
        assert (s.read() == expected).all()
    assert (s.memory.bytes[len(s.memory.bytes) - len(behind) :] == behind).all()


def test_an_image_is_read_again_after_the_program_has_changed_it() -> None:
    form = NAMED["rgba8"]
    s = surface(4, 0, 1)
    images, image = OpenImages(), ColorImage(s, form, WIDTH, HEIGHT, 0, False)
    box = 0, 0, WIDTH, HEIGHT
    for value in (3, 200):
        s.write(np.full(s.shape, value, np.uint8))
        opened = images.open_color(image, 0)
        opened.target.load(box)
        assert (opened.target.pixels == value).all()
        opened.target.pixels[0, 0] = 9  # a draw that fails: nothing of it is stored
        images.keep(image, 0, opened)
    assert (s.read() == 200).all()


@pytest.mark.parametrize("code", [0x0A, 0x13, 0x14, 0x15, 0x19])
def test_depth_and_stencil_are_those_of_the_pixels(code: int) -> None:
    n = {0x13: 2, 0x19: 8}.get(code, 4)
    s = surface(n, 0, 1)
    raw = s.read()[:HEIGHT, : WIDTH * n].reshape(HEIGHT, WIDTH, n)
    depth, stencil = unpacked(code, raw)
    images, image = OpenImages(), DepthImage(s, code, WIDTH, HEIGHT, 0)
    opened = images.open_depth(image, 0)
    opened.buffer.load((5, 6, 21, 30))
    here = slice(6, 30), slice(5, 21)
    assert np.array_equal(opened.buffer.depth[here], depth[here], equal_nan=True)
    assert (opened.buffer.stencil[here] == stencil[here]).all()
    opened.buffer.depth[7, 8] = 0
    opened.store()
    now, _ = unpacked(code, s.read()[:HEIGHT, : WIDTH * n].reshape(HEIGHT, WIDTH, n))
    depth[7, 8] = 0
    assert np.array_equal(now, depth, equal_nan=True)


def test_what_is_loaded_is_kept_until_something_else_writes_the_image(monkeypatch: pytest.MonkeyPatch) -> None:
    s = surface(4, 0, 1)
    form, box = NAMED["rgba8"], (0, 0, WIDTH, HEIGHT)
    images, image = OpenImages(), ColorImage(s, form, WIDTH, HEIGHT, 0, False)
    reads = 0
    decode = OpenColor._decode  # pyright: ignore[reportPrivateUsage]

    def counted(self: OpenColor, of: Bounds) -> None:
        nonlocal reads
        reads += 1
        decode(self, of)

    monkeypatch.setattr(OpenColor, "_decode", counted)

    def draw(value: int) -> None:
        opened = images.open_color(image, 0)
        opened.target.load(box)
        assert (opened.target.pixels[:, :2] == s.read()[:HEIGHT, : WIDTH * 4].reshape(HEIGHT, WIDTH, 4)[:, :2]).all()
        opened.target.pixels[:, 0] = value
        opened.store()
        images.keep(image, 0, opened)

    draw(1)
    draw(2)
    assert reads == 1
    s.memory.touch()  # a push: the program may have written it
    draw(3)
    assert reads == 2
    s.memory.write_words(s.address, [0x01020304])
    draw(4)
    assert reads == 3
    s.memory.write_words(s.address + s.span, [5])  # beside it
    draw(5)
    assert reads == 3


def test_two_targets_in_the_same_memory_do_not_keep_what_the_other_has_written() -> None:
    s = surface(4, 0, 1)
    color, depth = ColorImage(s, NAMED["rgba8"], WIDTH, HEIGHT, 0, False), DepthImage(s, 0x0A, WIDTH, HEIGHT, 0)
    images, box = OpenImages(), (0, 0, WIDTH, HEIGHT)
    for value in (1.0, 2.0, 3.0):
        c, d = images.open_color(color, 0), images.open_depth(depth, 0)
        c.target.load(box)
        d.buffer.load(box)
        assert c.target.pixels[:, :2].tobytes() == d.buffer.depth[:, :2].astype(np.float32).tobytes()
        c.target.pixels[:] = 9
        d.buffer.depth[:] = value
        c.store()
        images.keep(color, 0, c)
        d.store()
        images.keep(depth, 0, d)


def drawn(s: Surface, images: OpenImages, value: int, box: Bounds = (0, 0, WIDTH, HEIGHT)) -> None:
    """Fill a rectangle of a colour target on a surface."""
    image = ColorImage(s, NAMED["rgba8"], WIDTH, HEIGHT, 0, False)
    opened = images.open_color(image, 0)
    opened.target.load(box)
    opened.target.pixels[box[1] : box[3], box[0] : box[2]] = value
    opened.store()
    images.keep(image, 0, opened)


def first_byte(s: Surface) -> int:
    """What is in the card's memory, whoever waits to write there."""
    return int(s.memory._bytes[s.address - BASE])  # pyright: ignore[reportPrivateUsage]


def test_what_the_program_does_not_see_is_stored_when_somebody_looks() -> None:
    s, images = surface(4, 0, 1, mappings_known=True), OpenImages()
    before = first_byte(s)
    for value in (before ^ 1, before ^ 2):
        drawn(s, images, value)
        s.memory.touch_mapped()  # a push
        assert first_byte(s) == before
    mark = s.memory.now
    assert int(s.memory.view(s.address, 1)[0]) == before ^ 2
    assert not s.memory.unchanged(mark, s.address, 1)
    drawn(s, images, 7)
    assert not s.memory.unchanged(s.memory.now, s.address + s.span - 64, 64)
    assert first_byte(s) == 7
    drawn(s, images, 8)
    assert s.memory.bytes[s.address - BASE] == 8
    drawn(s, images, 9)
    s.memory.write_file(s.address - BASE, b"\5")  # of the program: after what was drawn
    assert s.read()[0, :2].tolist() == [5, 9]
    drawn(s, images, 10, (1, 0, 2, 1))
    assert s.read()[0, :8].tolist() == [5, 9, 9, 9, 10, 10, 10, 10]


def test_what_the_program_has_mapped_is_stored_at_once() -> None:
    s, images = surface(4, 0, 1, mappings_known=True), OpenImages()
    drawn(s, images, 3)
    s.memory.add_mapping(0x7000_0000, s.address - BASE, 4096)
    assert first_byte(s) == 3
    drawn(s, images, 4)
    assert first_byte(s) == 4
    s.memory.bytes[s.address - BASE] = 90  # between two pushes
    s.memory.touch_mapped()
    drawn(s, images, 6, (5, 5, 9, 9))
    assert first_byte(s) == 90


@pytest.mark.parametrize("count", [4096, 8192])
def test_an_object_where_a_mapping_still_is_counts_as_mapped(count: int) -> None:
    memory = VideoMemory(1 << 20, mappings_known=True)
    first = memory.allocate(1 << 16, 1)
    memory.add_mapping(0x7000_0000, first.offset, 4096)
    memory.free(first.handle)
    memory.remove_mapping(0x7000_0000, count)  # all of it, or something else
    again = memory.allocate(1 << 16, 1)
    assert again.address == first.address
    assert again.mapped == (count != 4096)
    assert not memory.allocate(1 << 16, 1).mapped


def test_more_mappings_than_are_told_apart_may_see_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("isakit.hosts.drm.memory.MOST_MAPPINGS", 4)
    memory = VideoMemory(1 << 20, mappings_known=True)
    there = memory.allocate(1 << 16, 1)
    for k in range(4):
        memory.add_mapping(k << 20, 1 << 19, 4096)
    assert not there.mapped
    memory.add_mapping(1 << 30, 1 << 19, 4096)
    assert there.mapped
    assert memory.allocate(1 << 16, 1).mapped


def test_two_targets_in_the_same_memory_are_stored_one_after_the_other() -> None:
    s = surface(4, 0, 1, mappings_known=True)
    two = OpenImages(), OpenImages()
    for value in range(1, 7):
        drawn(s, two[value & 1], value, (value, 0, value + 1, 1))
    assert s.read()[0, 4:28:4].tolist() == [1, 2, 3, 4, 5, 6]


def test_what_waits_for_an_object_that_is_freed_does_not_reach_the_next_one() -> None:
    s, images = surface(4, 0, 1, mappings_known=True), OpenImages()
    mark = s.memory.now
    drawn(s, images, 3)
    (gone,) = s.memory.objects.values()
    s.memory.free(gone.handle)
    with pytest.raises(GpuFault):
        drawn(s, images, 4)
    again = s.memory.allocate(1 << 18, 1)
    assert again.address == s.address
    assert not s.memory.unchanged(mark, s.address, 4)
    drawn(s, images, 5, (0, 0, 1, 1))
    assert s.read()[0, :8].tolist() == [5, 5, 5, 5, 0, 0, 0, 0]


def test_no_more_stores_wait_than_are_bounded() -> None:
    memory = VideoMemory(1 << 24, mappings_known=True)
    images, surfaces = OpenImages(), []
    for k in range(3 * MOST_DEFERRED):
        made = memory.allocate(1 << 16, 1)
        surfaces.append(Surface(memory, made.address, WIDTH * 4, HEIGHT, block_y=1))
        drawn(surfaces[-1], images, k)
    assert [first_byte(s) for s in surfaces[: 2 * MOST_DEFERRED]] == list(range(2 * MOST_DEFERRED))
    assert [int(s.read()[0, 0]) for s in surfaces] == list(range(3 * MOST_DEFERRED))


def test_memory_says_what_is_unchanged() -> None:
    memory = VideoMemory(1 << 20)
    at = memory.allocate(1 << 18, 1).address
    mark = memory.now
    assert memory.unchanged(mark, at, 64)
    memory.write_words(at + 64, [1])
    assert memory.unchanged(mark, at, 64)
    assert not memory.unchanged(mark, at, 65)
    assert not memory.unchanged(mark, at + 67, 1)
    assert memory.unchanged(memory.now, at, 1 << 18)
    for k in range(100):  # more places than are remembered
        memory.write_words(at + 0x1000 + 8 * k, [k])
    assert not memory.unchanged(mark, at, 64)
    mark = memory.now
    memory.touch()
    assert not memory.unchanged(mark, at, 64)


@pytest.mark.parametrize(("most", "count"), [(1 << 20, 120), (5 * 512, 5), (100, 1)])
def test_textures_are_kept_up_to_so_many_bytes(most: int, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(images, "KEPT_BYTES", most)
    memory = VideoMemory(1 << 20)
    at = memory.allocate(1 << 16, 1).address
    tic = unpack("tic", Texture(np.zeros((8, 8, 4), np.uint8), "rgba8").words) | {"gobs_y": 0, "gobs_z": 0}
    kept = Images(memory)
    made: list[Texture] = []
    for k in range(120):
        address = at + 512 * k
        words = pack("tic", tic | {"address_low": address & 0xFFFF_FFFF, "address_high": address >> 32})
        made.append(kept.texture(words))
        memory.touch()
        assert kept.texture(words) is made[-1]
    assert kept.decoded() == made[-count:]


def test_a_texture_is_read_again_only_after_something_has_written_it() -> None:
    memory = VideoMemory(1 << 20)
    at = memory.allocate(1 << 16, 1).address
    tic = unpack("tic", Texture(np.zeros((8, 8, 4), np.uint8), "rgba8").words)
    words = pack("tic", tic | {"address_low": at & 0xFFFF_FFFF, "address_high": at >> 32, "gobs_y": 0, "gobs_z": 0})
    images = Images(memory)

    def red() -> int:
        return int(images.texture(words).planes(False)[0].view(np.float32)[0] * 255)

    assert red() == 0
    memory.bytes[at - BASE] = 7  # nobody has said that it was written
    assert red() == 0
    memory.touch()
    assert red() == 7
    memory.write_words(at, [9])
    assert red() == 9
    same = images.texture(words)
    memory.touch()
    assert images.texture(words) is same  # the bytes are as they were


@pytest.mark.parametrize("largest", [1 << 24, WIDTH * HEIGHT * 4])
def test_of_targets_of_one_draw_in_the_same_memory_the_last_one_is_seen(
    largest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(framebuffer, "LARGEST_KEPT", largest)
    s, targets = surface(4, 0, 1, mappings_known=True), OpenImages()
    images = [ColorImage(replace(s, rows=h), NAMED["rgba8"], WIDTH, h, 0, False) for h in (HEIGHT // 2, HEIGHT)]
    opened = [targets.open_color(image, 0) for image in images]
    for value, image, o in zip((7, 9), images, opened, strict=True):
        o.target.load((0, 0, WIDTH, 8))
        o.target.pixels[:8] = value
        o.store()
        targets.keep(image, 0, o)
    assert (s.read()[:8, : 4 * WIDTH] == 9).all()


def test_a_capture_does_not_take_a_store_that_waited_for_the_programs(tmp_path: Path) -> None:
    memory = VideoMemory(1 << 20, mappings_known=True)
    target, other = memory.allocate(1 << 16, 1), memory.allocate(1 << 16, 1)
    memory.view(other.address, 4)[:] = 1  # the pages of the target are holes
    recorder = Recorder(tmp_path / "a.glc", 0xA0)
    recorder.push(1, [], memory)

    def store() -> None:
        memory.view(target.address, 4)[:] = 5

    assert memory.defer(target.address, 4, store)
    recorder.settled(memory)
    recorder.push(1, [], memory)
    recorder.close()
    assert [r.numbers[0] for r in read(tmp_path / "a.glc")[1] if r.kind == "write"] == [other.offset]
