"""Render targets in the card's memory as the pipeline's targets. Source: [nv50] "Memory"; rnndb g80_defs formats."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from isakit.engine.protocol import Array
from isakit.errors import NotModelled
from isakit.graphics.color_formats import ColorFormat, by_code
from isakit.graphics.merge import DepthBuffer, DepthFormat, RenderTarget
from isakit.hosts.drm.engine import Engine
from isakit.hosts.drm.surface import Surface

LARGEST = 8192


@dataclass(frozen=True)
class ColorImage:
    """A colour target: where layer 0 is and how further layers are reached."""

    surface: Surface
    form: ColorFormat
    width: int
    height: int
    layer_stride: int
    volume: bool

    def layer(self, n: int) -> Surface:
        """Return the image of a layer."""
        s = self.surface
        if self.volume:
            return Surface(s.memory, s.address, s.row_bytes, s.rows, s.pitch, s.block_y, s.block_z, s.depth, n)
        return Surface(s.memory, s.address + n * self.layer_stride, s.row_bytes, s.rows, s.pitch, s.block_y, s.block_z)


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
        s = self.surface
        return Surface(s.memory, s.address + n * self.layer_stride, s.row_bytes, s.rows, 0, s.block_y, s.block_z)


DEPTH_FORMATS: dict[int, tuple[DepthFormat, int]] = {
    0x0A: ("d32f", 4), 0x13: ("d16", 2), 0x14: ("d24", 4), 0x15: ("d24", 4), 0x16: ("d24", 4), 0x18: ("d24", 4),
    0x19: ("d32f", 8),
}  # fmt: skip
"""ZETA_FORMAT -> (format of the pipeline, bytes of a pixel)."""


def color_image(engine: Engine, i: int) -> ColorImage | None:
    """Render target `i`, or None where nothing is bound. Raises NotModelled for its format, or if it is empty."""
    address = engine.address("RT_ADDRESS", i)
    code = engine.get("RT_FORMAT", i)
    if not address or not code:
        return None
    form = by_code(code)
    if form is None:
        raise NotModelled(f"render target format {code:#x}")
    across, height = engine.get("RT_HORIZ", i), min(engine.get("RT_VERT", i) & 0xFFFF, LARGEST)
    if across.LINEAR:
        pitch = across.WIDTH
        width = min(pitch // form.nbytes, LARGEST)
        _not_empty(width, height)
        surface = Surface(engine.memory, address, width * form.nbytes, height, pitch=pitch)
        return ColorImage(surface, form, width, height, 0, False)
    width = min(across.WIDTH, LARGEST)
    _not_empty(width, height)
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
    width, height = (min(engine.get(n) & 0xFFFF_FFF, LARGEST) for n in ("ZETA_HORIZ", "ZETA_VERT"))
    _not_empty(width, height)
    size = engine.get("ZETA_BLOCK_DIMENSIONS")
    surface = Surface(engine.memory, address, width * DEPTH_FORMATS[code][1], height, block_y=size.Y, block_z=size.Z)
    return DepthImage(surface, code, width, height, engine.get("ZETA_LAYER_STRIDE") << 2)


def _not_empty(width: int, height: int) -> None:
    if not (width and height):
        raise NotModelled(f"a target of {width} x {height} pixels")


class OpenColor:
    """A layer of a colour target that is being drawn to: linear pixels, written back by `close`."""

    def __init__(self, image: ColorImage, layer: int) -> None:
        self.surface = image.layer(layer)
        self.raw = self.surface.read()
        n = image.form.nbytes
        rows = self.raw[: image.height, : image.width * n]
        if self.raw.shape[1] % n == 0:
            pixels = self.raw.view(image.form.dtype).reshape(len(self.raw), -1, image.form.stored)
            pixels = pixels[: image.height, : image.width]
        else:
            pixels = np.ascontiguousarray(rows).view(image.form.dtype).reshape(len(rows), -1, image.form.stored)
        self._apart = not np.shares_memory(pixels, self.raw)
        self.target = RenderTarget(image.form, image.width, image.height, pixels)

    def close(self) -> None:
        """Write the pixels back to the card's memory."""
        pixels = self.target.pixels
        if self._apart:
            n = pixels.shape[1] * self.target.color_format.nbytes
            self.raw[: len(pixels), :n] = np.ascontiguousarray(pixels).view(np.uint8).reshape(len(pixels), -1)
        self.surface.write(self.raw)


class OpenDepth:
    """A layer of the depth target that is being drawn to."""

    def __init__(self, image: DepthImage, layer: int) -> None:
        self.image, self.surface = image, image.layer(layer)
        self.raw = self.surface.read()
        form, n = DEPTH_FORMATS[image.code]
        self.buffer = DepthBuffer(form, 1, 1)
        self._pixels: Array = self.raw[:, : self.raw.shape[1] // n * n].reshape(len(self.raw), -1, n)
        z, s = unpacked(image.code, self._pixels[: image.height, : image.width])
        self.buffer.depth, self.buffer.stencil = z, s

    def close(self) -> None:
        """Write depth and stencil back."""
        h, w = self.image.height, self.image.width
        packed(self.image.code, self.buffer.depth, self.buffer.stencil, self._pixels[:h, :w])
        self.surface.write(self.raw)


def unpacked(code: int, pixels: Array) -> tuple[Array, Array]:
    """Return (depth, stencil) of stored pixels u8 [h, w, bytes]; depth as the pipeline keeps it."""
    data = np.ascontiguousarray(pixels)
    none = np.zeros(pixels.shape[:2], np.uint8)
    if code == 0x13:
        return data.view(np.uint16)[..., 0].astype(np.int64), none
    if code == 0x0A:
        return data.view(np.float32)[..., 0].copy(), none
    if code == 0x19:
        return data.view(np.float32)[..., 0].copy(), np.ascontiguousarray(data[..., 4])
    word = data.view(np.uint32)[..., 0]
    if code == 0x14:  # the low byte comes first in the name
        return (word >> 8).astype(np.int64), (word & 0xFF).astype(np.uint8)
    return (word & 0xFF_FFFF).astype(np.int64), (word >> 24).astype(np.uint8)


def packed(code: int, depth: Array, stencil: Array, out: Array) -> None:
    """Store depth and stencil into pixels u8 [h, w, bytes]."""
    if code == 0x13:
        out[...] = depth.astype(np.uint16)[..., None].view(np.uint8)
    elif code == 0x0A:
        out[...] = np.ascontiguousarray(depth, np.float32)[..., None].view(np.uint8)
    elif code == 0x19:
        out[..., :4] = np.ascontiguousarray(depth, np.float32)[..., None].view(np.uint8)
        out[..., 4] = stencil
    elif code == 0x14:
        out[...] = (depth.astype(np.uint32) << 8 | stencil)[..., None].view(np.uint8)
    else:
        out[...] = (depth.astype(np.uint32) | stencil.astype(np.uint32) << 24)[..., None].view(np.uint8)
