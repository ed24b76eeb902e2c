"""Output merge: alpha test, depth, stencil, blending and the render targets. Source: [graphics] 3.8.

Fragments reach a pixel in drawing order; fragments of different pixels are processed together. The operations on a
fragment are in `merge_rules`; `compiled_merge` compiles the same code.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from isakit.engine.protocol import Array
from isakit.errors import LaunchError
from isakit.graphics.color_formats import NAMED, ColorFormat
from isakit.graphics.draw_state import DrawState, GraphicsChoices, Viewport
from isakit.graphics.merge_rules import DEPTH_MAX, ColorMerge, DepthFormat, holds, stored_depth, tests
from isakit.graphics.raster import Bounds


def already_loaded(box: Bounds) -> None:
    """Do nothing: the pixels are always present."""


class RenderTarget:
    """A render target: `pixels` [height, width, stored numbers], row 0 is window y 0; one without pixels is unbound.

    `load` prepares a rectangle of pixels (half-open) for drawing.
    """

    def __init__(
        self, form: str | ColorFormat, width: int, height: int, pixels: Array | None = None,
        load: Callable[[Bounds], None] = already_loaded,
    ) -> None:  # fmt: skip
        if isinstance(form, str):
            if form not in NAMED:
                raise LaunchError(f"no target format {form!r}; there are: {', '.join(NAMED)}")
            form = NAMED[form]
        self.color_format, self.load = form, load
        self.pixels: Array = np.zeros((height, width, form.stored), form.dtype) if pixels is None else pixels

    @property
    def format(self) -> str:
        """Name of the target's format."""
        return self.color_format.name

    @property
    def floating(self) -> bool:
        """Return whether colours are numbers that can be blended."""
        return not self.color_format.integer

    def encoded(self, color: Array, choices: GraphicsChoices) -> Array:
        """Convert colours f32 [n, 4] to stored numbers."""
        return self.color_format.encoded(np.ascontiguousarray(color, np.float32).view(np.uint32), choices.store)

    def decoded(self, stored: Array) -> Array:
        """Decode stored pixels [..., components] to f32 [..., 4]."""
        return self.color_format.decoded(stored).view(np.float32)


class DepthBuffer:
    """Depth and 8-bit stencil; `depth` holds integers for 16 and 24 bits, else f32. `load`: as of `RenderTarget`."""

    def __init__(
        self, form: DepthFormat, width: int, height: int, load: Callable[[Bounds], None] = already_loaded
    ) -> None:
        if form not in ("d16", "d24", "d32f"):
            raise LaunchError(f"no depth format {form!r}; there are: d16, d24, d32f")
        self.format: DepthFormat = form
        self.load = load
        self.depth: Array = np.zeros((height, width), np.float32 if form == "d32f" else np.int64)
        self.stencil: Array = np.zeros((height, width), np.uint8)

    def encoded(self, z: Array) -> Array:
        """Convert depth 0 to 1 (f32) to the stored and compared number."""
        return stored_depth(self.format, z)

    @property
    def unit(self) -> float:
        """The smallest step of depth near 1."""
        return 1 / DEPTH_MAX[self.format] if self.format != "d32f" else 2.0**-23

    def values(self) -> Array:
        """Convert depth to f32 [height, width]."""
        if self.format == "d32f":
            return self.depth.copy()
        return (self.depth / DEPTH_MAX[self.format]).astype(np.float32)


def ranged(z: Array, view: Viewport) -> Array:
    """Clip depth to the range of the viewport, f32."""
    low, high = sorted(view.depth_range)
    return np.clip(z, np.float32(low), np.float32(high))


def rounds(pixel: Array) -> list[Array]:
    """Split fragments so that every pixel occurs at most once and the order at each pixel is kept; return positions."""
    if not len(pixel):
        return []
    place = np.arange(len(pixel))
    first = np.zeros(int(pixel.max()) + 1, np.int64)
    left, out = place, list[Array]()
    while len(left):
        here = pixel[left]
        first[here[::-1]] = left[::-1]  # the last assignment wins: the fragment that comes first
        chosen = first[here] == left
        if chosen.all():
            out.append(left)
            break
        out.append(left[chosen])
        left = left[~chosen]
    return out


class Merger:
    """Writes the fragments of a draw into the targets. Attribute `passed`: samples that passed all tests."""

    def __init__(
        self, targets: Sequence[RenderTarget], depth: DepthBuffer | None, state: DrawState, choices: GraphicsChoices
    ) -> None:
        self.targets, self.depth, self.state, self.choices = targets, depth, state, choices
        self.passed = 0

    def write(
        self, x: Array, y: Array, z: Array, front: Array, colors: Sequence[Array], second: Array | None = None
    ) -> None:
        """Write fragments in drawing order.

        Args:
            x: column of each fragment.
            y: row of each fragment.
            z: depth, f32.
            front: whether its triangle faces the viewer.
            colors: one array [n, 4] of u32 register bits per target; fewer than targets leave the rest alone.
            second: the second colour for blending with src1 factors.
        """
        state = self.state
        if state.alpha_test is not None and colors:
            func, reference = state.alpha_test
            alpha = np.ascontiguousarray(colors[0]).view(np.float32)[:, 3]
            keep = np.flatnonzero(holds(func, alpha, np.float32(reference)))
            x, y, z, front = x[keep], y[keep], z[keep], front[keep]
            colors = [c[keep] for c in colors]
            second = None if second is None else second[keep]
        width = int(x.max(initial=0)) + 1
        stored = None if self.depth is None else self.depth.encoded(z)
        for some in rounds(y.astype(np.int64) * width + x):
            rows, columns = y[some], x[some]
            passed = self._tests(rows, columns, None if stored is None else stored[some], front[some])
            if passed is not None:
                some, rows, columns = some[passed], rows[passed], columns[passed]
            self.passed += len(some)
            for k, (target, color) in enumerate(zip(self.targets, colors, strict=False)):
                self._color(k, target, rows, columns, color[some], None if second is None else second[some])

    def _tests(self, rows: Array, columns: Array, z: Array | None, front: Array) -> Array | None:
        """Run the stencil and depth tests, update both buffers, and return the fragments that pass."""
        state, buffer = self.state, self.depth
        if buffer is None or z is None or (state.depth is None and state.stencil is None):
            return None
        old_depth = None if state.depth is None else buffer.depth[rows, columns]
        old_stencil = None if state.stencil is None else buffer.stencil[rows, columns]
        passed, stencil = tests(state.depth, state.stencil, z, front, old_depth, old_stencil)
        if stencil is not None:
            buffer.stencil[rows, columns] = stencil
        if state.depth is not None and state.depth_write:
            buffer.depth[rows[passed], columns[passed]] = z[passed]
        return passed

    def _color(
        self, k: int, target: RenderTarget, rows: Array, columns: Array, bits: Array, second: Array | None
    ) -> None:
        how = ColorMerge.of(self.state, k, target.color_format, self.choices)
        if how is None or not len(rows) or not target.pixels.size:
            return
        old = target.pixels[rows, columns] if how.reads else None
        second_columns, old_columns = None if second is None else list(second.T), None if old is None else list(old.T)
        new = how.merged(list(bits.T), second_columns, old_columns, self.state.blend_constant)
        target.pixels[rows, columns] = np.stack(new, axis=1)
