"""Render targets with a depth buffer, common to all pipelines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from isakit.engine.protocol import Array
from isakit.errors import LaunchError
from isakit.graphics.color_formats import ColorFormat
from isakit.graphics.draw_state import DrawState, GraphicsChoices, Rectangle, Viewport
from isakit.graphics.merge import DepthBuffer, DepthFormat, RenderTarget
from isakit.graphics.raster import Bounds


class Framebuffer:
    """Targets of one size. Attributes: `targets`, `depth_buffer`, `choices`.

    `upper_first`: whether row 0 is the upper row of the picture.
    """

    upper_first: ClassVar[bool] = False

    def __init__(
        self,
        width: int,
        height: int,
        targets: Sequence[str | ColorFormat],
        depth: DepthFormat | None,
        choices: GraphicsChoices | None = None,
    ) -> None:
        if width < 1 or height < 1 or max(width, height) > 8192:
            raise LaunchError(f"a target is 1 to 8192 pixels wide and high, not {width} x {height}")
        self.width, self.height = width, height
        self.targets = [RenderTarget(f, width, height) for f in targets]
        self.depth_buffer = None if depth is None else DepthBuffer(depth, width, height)
        self.choices = choices or GraphicsChoices()
        self.clear()

    def bounds(self, scissor: Rectangle | None, across: int = 1, down: int = 1) -> Bounds:
        """Return the pixels that may be drawn.

        With several samples a pixel, `across` and `down` of them are stored pixels.
        """
        width, height = self.width // across, self.height // down
        if scissor is None:
            return 0, 0, width, height
        x, y, w, h = scissor
        return max(0, x), max(0, y), min(width, x + w), min(height, y + h)

    def viewport(self, state: DrawState) -> Viewport:
        """Return the viewport of a draw; by default the whole target, where y points up in the picture."""
        if state.viewport is not None:
            return state.viewport
        w, h = self.width / 2, self.height / 2
        z = (1.0, 0.0) if state.half_z else (0.5, 0.5)
        return Viewport((w, -h if self.upper_first else h, z[0]), (w, h, z[1]))

    def clear(
        self,
        color: Sequence[float] = (0.0, 0.0, 0.0, 0.0),
        depth: float = 1.0,
        stencil: int = 0,
        target: int | None = None,
    ) -> None:
        """Clear one render target, or all of them together with depth and stencil."""
        for k, t in enumerate(self.targets):
            if target in (None, k):
                if t.floating:
                    with np.errstate(over="ignore"):  # large numbers are infinite
                        bits: Array = np.array([color], np.float32).view(np.uint32)
                else:
                    bits = np.array([[int(c) & 0xFFFF_FFFF for c in color]], np.uint32)
                t.pixels[:] = t.color_format.encoded(bits, self.choices.store)[0]
        if target is None and self.depth_buffer is not None:
            self.depth_buffer.depth[:] = self.depth_buffer.encoded(np.array([depth], np.float32))[0]
            self.depth_buffer.stencil[:] = stencil

    def image(self, target: int = 0) -> Array:
        """Copy a render target: [height, width, components], row 0 at window y 0."""
        return self.targets[target].pixels.copy()

    def picture(self, target: int = 0) -> NDArray[np.uint8]:
        """Return a render target for display: uint8 [height, width, 4], the upper row first.

        Floating point targets are clamped to 0 to 1; of integer targets the low eight bits are shown.
        """
        out = shown(self.targets[target])
        return np.ascontiguousarray(out if self.upper_first else out[::-1])

    @property
    def depth(self) -> NDArray[np.float32]:
        """Depth as f32 [height, width]. Raises LaunchError if there is no depth buffer."""
        if self.depth_buffer is None:
            raise LaunchError("this pipeline has no depth buffer")
        return self.depth_buffer.values()


def shown(t: RenderTarget) -> NDArray[np.uint8]:
    """Return a target as uint8 [height, width, 4], row 0 first."""
    if t.format == "rgba8":
        return t.pixels
    if t.floating:
        return np.rint(np.clip(np.nan_to_num(t.decoded(t.pixels)), 0, 1) * 255).astype(np.uint8)
    out = (t.color_format.decoded(t.pixels) & 0xFF).astype(np.uint8)
    if "a" not in t.color_format.order:
        out[..., 3] = 255
    return out
