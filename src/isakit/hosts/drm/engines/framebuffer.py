"""Render targets in the card's memory as the pipeline's targets. Source: [nv50] "Memory"; rnndb g80_defs formats."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, replace

import numpy as np

from isakit.engine.protocol import Array
from isakit.errors import NotModelled
from isakit.graphics.color_formats import ColorFormat, by_code
from isakit.graphics.merge import DepthBuffer, DepthFormat, RenderTarget
from isakit.graphics.raster import Bounds
from isakit.hosts.drm.engine import Engine
from isakit.hosts.drm.surface import BLOCK_BYTES, BLOCK_ROWS, Surface

LARGEST = 8192
KEPT = 16
LARGEST_KEPT = 1 << 24
"""Number of targets whose memory is kept between draws, and size of the largest one in bytes."""
FEW_PIXELS = 1 << 19
"""Pixels up to which a target is loaded whole once draws are in more than one place."""


@dataclass(frozen=True)
class ColorImage:
    """A colour target: the address of layer 0 and the distance of further layers."""

    surface: Surface
    form: ColorFormat
    width: int
    height: int
    layer_stride: int
    volume: bool

    def layer(self, n: int) -> Surface:
        """Return the image of a layer."""
        if self.volume:
            return replace(self.surface, z=n)
        return replace(self.surface, address=self.surface.address + n * self.layer_stride)


@dataclass(frozen=True)
class DepthImage:
    """The depth and stencil target."""

    surface: Surface
    code: int
    width: int
    height: int
    layer_stride: int

    def layer(self, n: int) -> Surface:
        """Return the image of a layer."""
        return replace(self.surface, address=self.surface.address + n * self.layer_stride)


DEPTH_FORMATS: dict[int, tuple[DepthFormat, int]] = {
    0x0A: ("d32f", 4), 0x13: ("d16", 2), 0x14: ("d24", 4), 0x15: ("d24", 4), 0x16: ("d24", 4), 0x18: ("d24", 4),
    0x19: ("d32f", 8),
}  # fmt: skip
"""ZETA_FORMAT -> (format of the pipeline, bytes of a pixel)."""


def color_image(engine: Engine, i: int) -> ColorImage | None:
    """Return render target `i`, None if none is bound. Raises NotModelled for its format, or if it is empty."""
    address = engine.address("RT_ADDRESS", i)
    code = engine.get("RT_FORMAT", i)
    if not address or not code:
        return None
    form = by_code(code)
    if form is None:
        raise NotModelled(f"render target format {code:#x}")
    across = engine.get("RT_HORIZ", i)
    width = min(across.WIDTH // form.nbytes if across.LINEAR else across.WIDTH, LARGEST)
    height = min(engine.get("RT_VERT", i), LARGEST)
    _not_empty(width, height)
    if across.LINEAR:
        surface = Surface(engine.memory, address, width * form.nbytes, height, pitch=across.WIDTH)
        return ColorImage(surface, form, width, height, 0, False)
    size = engine.get("RT_BLOCK_DIMENSIONS", i)
    mode = engine.get("RT_ARRAY_MODE")
    volume = bool(mode.MODE)
    surface = Surface(
        engine.memory, address, width * form.nbytes, height, block_y=size.Y, block_z=size.Z,
        depth=max(1, mode.LAYERS) if volume else 1,
    )  # fmt: skip
    return ColorImage(surface, form, width, height, engine.get("RT_LAYER_STRIDE", i) << 2, volume)


def depth_image(engine: Engine) -> DepthImage | None:
    """Return the depth target, None if there is none. Raises NotModelled for its format, or if it is empty."""
    address = engine.address("ZETA_ADDRESS")
    if not engine.on("ZETA_ENABLE") or not address:
        return None
    code = engine.get("ZETA_FORMAT")
    if code not in DEPTH_FORMATS:
        raise NotModelled(f"depth format {code:#x}")
    width, height = (min(engine.get(n), LARGEST) for n in ("ZETA_HORIZ", "ZETA_VERT"))
    _not_empty(width, height)
    size = engine.get("ZETA_BLOCK_DIMENSIONS")
    surface = Surface(engine.memory, address, width * DEPTH_FORMATS[code][1], height, block_y=size.Y, block_z=size.Z)
    return DepthImage(surface, code, width, height, engine.get("ZETA_LAYER_STRIDE") << 2)


def _not_empty(width: int, height: int) -> None:
    if not (width and height):
        raise NotModelled(f"a target of {width} x {height} pixels")


class OpenImage:
    """A layer of a target that is being drawn to: `raw` has its rows, of which `load` fetches those to draw to.

    Rectangles are (x0, y0, x1, y1) in pixels of `nbytes` bytes, the last ones exclusive.
    """

    def __init__(self, surface: Surface, width: int, height: int, nbytes: int) -> None:
        self.surface, self.width, self.height, self.nbytes = surface, width, height, nbytes
        self.raw: Array = np.zeros(surface.shape, np.uint8)
        self._loaded: Bounds | None = None
        self._drawn: Bounds | None = None
        self._deferred = False
        self._mark = surface.memory.now
        self._view = self.raw

    def begin(self) -> None:
        """Begin a draw: loaded parts stay valid if the card's memory still has the same content. Raises GpuFault."""
        if self._deferred:
            return  # nobody has looked at the card's memory since the draw before
        self._view, self._drawn = self.surface.view(), None
        if self._loaded is not None and self._changed():
            self._loaded = None
        self._mark = self.surface.memory.now

    def end(self) -> None:
        """End a draw. Parts that were not stored count as not loaded."""
        if self._drawn is not None and not self._deferred:
            self._loaded = None

    def _changed(self) -> bool:
        """Return whether anything else has written the image since its state in the card's memory was last known."""
        s = self.surface
        return not s.memory.unchanged(self._mark, s.address, s.span)

    def load(self, box: Bounds | None = None) -> None:
        """Load a rectangle, or everything, from the card's memory, unless it is loaded already.

        `store` will write it back.
        """
        x0, y0, x1, y1 = box or (0, 0, self.width, self.height)
        box = max(0, x0), max(0, y0), min(self.width, x1), min(self.height, y1)
        if box[0] >= box[2] or box[1] >= box[3]:
            return
        old = self._loaded
        if old is None or _around(old, box) != old:
            if old is not None:
                self._write_now()
                # Draws go on elsewhere: everything is loaded once, where that is little.
                few = self.width * self.height <= FEW_PIXELS
                old = (0, 0, self.width, self.height) if few else _around(old, box)
            self._loaded = old = old or box
            mine, theirs = self._parts(old)
            mine[...] = theirs
            self._decode(old)
        self._drawn = box if self._drawn is None else _around(self._drawn, box)

    def overwrite(self, box: Bounds) -> None:
        """Prepare to write every bit of a rectangle: `load` it unless it fills the image and its blocks."""
        whole = box == (0, 0, self.width, self.height)
        if whole and self.raw.shape == (self.height, self.width * self.nbytes):  # blocks have no other bytes
            self._loaded = self._drawn = box
        else:
            self.load(box)

    def store(self) -> None:
        """Write back to the card's memory: a large image at once, others when their bytes are read."""
        s = self.surface
        if self.raw.nbytes > LARGEST_KEPT:
            self._write_now()
        elif self._drawn is not None and not self._deferred:
            self._deferred = True
            self._deferred = s.memory.defer(s.address, s.span, self._write_back)

    def _write_now(self) -> None:
        """Write back at once, after other targets of this draw in the same memory."""
        self.surface.memory.settle(self.surface.address, self.surface.span)
        self._write_back()

    def _write_back(self) -> None:
        """Write the rectangle that has been drawn to back to the card's memory."""
        self._deferred = False
        if self._drawn is not None:
            self._encode(self._drawn)
            mine, theirs = self._parts(self._drawn)
            theirs[...] = mine
            self._drawn = None
            if self._changed():  # another target of this draw lies in the same memory
                self._loaded = None
            self.surface.memory.wrote(self.surface.address, self.surface.span)
            self._mark = self.surface.memory.now

    def _parts(self, box: Bounds) -> tuple[Array, Array]:
        """Return the bytes of a rectangle, here and in the card's memory, extended to whole blocks if there are any."""
        s, (x0, y0, x1, y1) = self.surface, box
        first, last = x0 * self.nbytes, x1 * self.nbytes
        if s.pitch:
            return self.raw[y0:y1, first:last], self._view[y0:y1, first:last]
        high = BLOCK_ROWS << s.block_y
        down, across = slice(y0 // high, -(-y1 // high)), slice(first // BLOCK_BYTES, -(-last // BLOCK_BYTES))
        mine = self.raw.reshape(len(self.raw) // high, high, -1, BLOCK_BYTES)
        return mine[down, :, across], self._view[down, :, across]

    def _decode(self, box: Bounds) -> None:
        """Decode the bytes of a rectangle into the pixels that are drawn to."""

    def _encode(self, box: Bounds) -> None:
        """Encode the drawn pixels of a rectangle into bytes."""


def _around(a: Bounds, b: Bounds) -> Bounds:
    return min(a[0], b[0]), min(a[1], b[1]), max(a[2], b[2]), max(a[3], b[3])


class OpenColor(OpenImage):
    """A layer of a colour target; `target` is the render target."""

    def __init__(self, image: ColorImage, layer: int) -> None:
        form, surface = image.form, image.layer(layer)
        super().__init__(surface, image.width, image.height, form.nbytes)
        width = self.raw.shape[1] // form.nbytes * form.nbytes
        self._apart = width != self.raw.shape[1]
        # Pixels that do not fill the rows are put together in memory of their own.
        rows = np.zeros((len(self.raw), width), np.uint8) if self._apart else self.raw
        pixels = rows.view(form.dtype).reshape(len(rows), -1, form.stored)
        self._rows = rows
        here = pixels[: image.height, : image.width]
        self.target = RenderTarget(form, image.width, image.height, here, self.load)

    def _decode(self, box: Bounds) -> None:
        if self._apart:
            self._rows[box[1] : box[3]] = self.raw[box[1] : box[3], : self._rows.shape[1]]

    def _encode(self, box: Bounds) -> None:
        if self._apart:
            self.raw[box[1] : box[3], : self._rows.shape[1]] = self._rows[box[1] : box[3]]


class OpenDepth(OpenImage):
    """A layer of the depth target; `buffer` is the depth buffer.

    `padded`: pixels have bytes of neither depth nor stencil.
    """

    def __init__(self, image: DepthImage, layer: int) -> None:
        form, n = DEPTH_FORMATS[image.code]
        super().__init__(image.layer(layer), image.width, image.height, n)
        self.code, self.padded = image.code, image.code == 0x19
        self.buffer = DepthBuffer(form, image.width, image.height, self.load)
        self._pixels: Array = self.raw[:, : self.raw.shape[1] // n * n].reshape(len(self.raw), -1, n)

    def _decode(self, box: Bounds) -> None:
        here = slice(box[1], box[3]), slice(box[0], box[2])
        self.buffer.depth[here], self.buffer.stencil[here] = unpacked(self.code, self._pixels[here])

    def _encode(self, box: Bounds) -> None:
        here = slice(box[1], box[3]), slice(box[0], box[2])
        packed(self.code, self.buffer.depth[here], self.buffer.stencil[here], self._pixels[here])


class OpenImages:
    """Targets that are drawn to repeatedly: their memory here is kept, together with its state in the card's memory."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[ColorImage | DepthImage, int], OpenImage] = OrderedDict()

    def open_color(self, image: ColorImage, layer: int) -> OpenColor:
        """Return a layer of a colour target for a draw. Raises GpuFault."""
        found = self._kept.pop((image, layer), None)
        opened = found if isinstance(found, OpenColor) else OpenColor(image, layer)
        opened.begin()
        return opened

    def open_depth(self, image: DepthImage, layer: int) -> OpenDepth:
        """Return a layer of the depth target for a draw. Raises GpuFault."""
        found = self._kept.pop((image, layer), None)
        opened = found if isinstance(found, OpenDepth) else OpenDepth(image, layer)
        opened.begin()
        return opened

    def keep(self, image: ColorImage | DepthImage, layer: int, opened: OpenImage) -> None:
        """Keep the memory of a target for the next draw, and its content as long as the card has the same."""
        opened.end()
        if opened.raw.nbytes <= LARGEST_KEPT:
            self._kept[image, layer] = opened
            if len(self._kept) > KEPT:
                self._kept.popitem(last=False)


def unpacked(code: int, pixels: Array) -> tuple[Array, Array]:
    """Return (depth, stencil) of stored pixels u8 [h, w, bytes]; depth as the pipeline keeps it."""
    none = np.zeros(pixels.shape[:2], np.uint8)
    if code == 0x13:
        return pixels.view(np.uint16)[..., 0].astype(np.int64), none
    if code == 0x0A:
        return pixels.view(np.float32)[..., 0].copy(), none
    if code == 0x19:
        return pixels.view(np.float32)[..., 0].copy(), pixels[..., 4].copy()
    word = pixels.view(np.uint32)[..., 0]
    if code == 0x14:  # the low byte comes first in the name
        return (word >> 8).astype(np.int64), word.astype(np.uint8)
    return (word & 0xFF_FFFF).astype(np.int64), (word >> 24).astype(np.uint8)


def packed(code: int, depth: Array, stencil: Array, out: Array) -> None:
    """Store depth and stencil into pixels u8 [h, w, bytes]."""
    if code == 0x13:
        out.view(np.uint16)[..., 0] = depth
    elif code in (0x0A, 0x19):
        out.view(np.float32)[..., 0] = depth
        if code == 0x19:
            out[..., 4] = stencil
    elif code == 0x14:
        out.view(np.uint32)[..., 0] = depth.astype(np.uint32) << 8 | stencil
    else:
        out.view(np.uint32)[..., 0] = depth.astype(np.uint32) | stencil.astype(np.uint32) << 24
