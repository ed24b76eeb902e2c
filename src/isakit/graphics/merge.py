"""Output merge: depth, stencil, blending and the render targets. Source: [graphics] 3.8.

Fragments reach a pixel in drawing order; fragments of different pixels go together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from isakit.engine.protocol import Array
from isakit.errors import LaunchError
from isakit.graphics.draw_state import Blend, DrawState, GraphicsChoices, Stencil

TargetFormat = Literal["rgba8", "rgba32f", "rgba32ui", "rgba32i", "r32f", "r32ui"]
_DTYPES: dict[str, Any] = {
    "rgba8": np.uint8,
    "rgba32f": np.float32,
    "rgba32ui": np.uint32,
    "rgba32i": np.int32,
    "r32f": np.float32,
    "r32ui": np.uint32,
}
_DEPTH_MAX = (1 << 24) - 1


class Target:
    """A render target: `pixels` [height, width, components], row 0 is window y 0."""

    def __init__(self, form: str, width: int, height: int) -> None:
        if form not in _DTYPES:
            raise LaunchError(f"no target format {form!r}; there are: {', '.join(_DTYPES)}")
        self.format = form
        self.pixels: Array = np.zeros((height, width, 4 if form.startswith("rgba") else 1), _DTYPES[form])

    @property
    def floating(self) -> bool:
        """Whether colours are numbers that can be blended."""
        return self.format in ("rgba8", "rgba32f", "r32f")

    def encoded(self, color: Array, choices: GraphicsChoices) -> Array:
        """Colours f32 [n, 4] as they are stored."""
        n = self.pixels.shape[2]
        if self.format != "rgba8":
            return color[:, :n]
        clamped = np.clip(np.where(np.isnan(color), np.float32(0), color), np.float32(0), np.float32(1))
        scaled = clamped * np.float32(255)
        whole = np.rint(scaled) if choices.store == "even" else np.floor(scaled + np.float32(0.5))
        return whole.astype(np.uint8)

    def decoded(self, stored: Array) -> Array:
        """Stored pixels [..., components] as f32 [..., 4]."""
        out = np.zeros((*stored.shape[:-1], 4), np.float32)
        out[..., 3] = 1
        out[..., : stored.shape[-1]] = stored / np.float32(255) if self.format == "rgba8" else stored
        return out


class DepthBuffer:
    """24-bit or floating depth and 8-bit stencil; `depth` holds integers for 24 bits, else f32."""

    def __init__(self, form: Literal["d24", "d32f"], width: int, height: int) -> None:
        if form not in ("d24", "d32f"):
            raise LaunchError(f"no depth format {form!r}; there are: d24, d32f")
        self.format = form
        self.depth: Array = np.zeros((height, width), np.int64 if form == "d24" else np.float32)
        self.stencil: Array = np.zeros((height, width), np.uint8)

    def encoded(self, z: Array) -> Array:
        """Depth 0 to 1 (f32) as it is stored and compared."""
        z = np.clip(np.where(np.isnan(z), np.float32(0), z), np.float32(0), np.float32(1))
        if self.format == "d32f":
            return z
        return np.floor(z.astype(np.float64) * _DEPTH_MAX + 0.5).astype(np.int64)

    def values(self) -> Array:
        """Depth as f32 [height, width]."""
        if self.format == "d32f":
            return self.depth.copy()
        return (self.depth / _DEPTH_MAX).astype(np.float32)


def _holds(func: str, a: Array, b: Array) -> Array:
    if func == "never":
        return np.zeros(len(a), bool)
    if func == "always":
        return np.ones(len(a), bool)
    ufunc: Any = {
        "less": np.less,
        "equal": np.equal,
        "lequal": np.less_equal,
        "greater": np.greater,
        "notequal": np.not_equal,
        "gequal": np.greater_equal,
    }[func]
    return ufunc(a, b)


def _stencil_op(op: str, old: Array, ref: int) -> Array:
    wide = old.astype(np.int64)
    return {
        "keep": wide,
        "zero": np.zeros_like(wide),
        "replace": np.full_like(wide, ref),
        "incr": np.minimum(wide + 1, 255),
        "decr": np.maximum(wide - 1, 0),
        "invert": ~wide & 255,
        "incr_wrap": wide + 1 & 255,
        "decr_wrap": wide - 1 & 255,
    }[op].astype(np.uint8)


def rounds(pixel: Array) -> list[Array]:
    """Positions of fragments, split so that every pixel occurs at most once and the order at a pixel is kept."""
    if not len(pixel):
        return []
    order = np.argsort(pixel, kind="stable")
    ordered = pixel[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    counts = np.diff(np.r_[starts, len(pixel)])
    if counts.max() == 1:
        return [order]
    return [order[starts[counts > k] + k] for k in range(int(counts.max()))]


class Merger:
    """Writes the fragments of a draw into the targets."""

    def __init__(
        self, targets: Sequence[Target], depth: DepthBuffer | None, state: DrawState, choices: GraphicsChoices
    ) -> None:
        self.targets, self.depth, self.state, self.choices = targets, depth, state, choices

    def write(self, x: Array, y: Array, z: Array, front: Array, colors: Sequence[Array]) -> None:
        """Fragments in drawing order.

        Args:
            x: column of each fragment.
            y: row of each fragment.
            z: depth, f32.
            front: whether its triangle faces the viewer.
            colors: one array [n, 4] of u32 register bits per target; fewer than targets leave the rest alone.
        """
        width = self.targets[0].pixels.shape[1] if self.targets else int(x.max(initial=0)) + 1
        stored = None if self.depth is None else self.depth.encoded(z)
        for some in rounds(y.astype(np.int64) * width + x):
            rows, columns = y[some], x[some]
            passed = self._tests(rows, columns, None if stored is None else stored[some], front[some])
            if passed is not None:
                some, rows, columns = some[passed], rows[passed], columns[passed]
            for target, color in zip(self.targets, colors, strict=False):
                self._color(target, rows, columns, color[some])

    def _tests(self, rows: Array, columns: Array, z: Array | None, front: Array) -> Array | None:
        """Which fragments pass the stencil and depth tests; updates both buffers."""
        state, buffer = self.state, self.depth
        if buffer is None or z is None or (state.depth is None and state.stencil is None):
            return None
        stencil_passed = np.ones(len(rows), bool)
        sides: list[tuple[Array, Stencil]] = []
        if state.stencil is not None:
            sides = [(front, state.stencil[0]), (~front, state.stencil[1])]
            for side, s in sides:
                old = buffer.stencil[rows, columns]
                ok = _holds(s.func, np.full(len(old), s.ref & s.read_mask), old & s.read_mask)
                stencil_passed = np.where(side, ok, stencil_passed)
        depth_passed = np.ones(len(rows), bool)
        if state.depth is not None:
            depth_passed = _holds(state.depth, z, buffer.depth[rows, columns])
        passed = stencil_passed & depth_passed
        for side, s in sides:
            for here, op in (
                (side & ~stencil_passed, s.fail),
                (side & stencil_passed & ~depth_passed, s.depth_fail),
                (side & passed, s.passed),
            ):
                r, c = rows[here], columns[here]
                old = buffer.stencil[r, c]
                new = _stencil_op(op, old, s.ref)
                buffer.stencil[r, c] = (old & (~s.write_mask & 0xFF)) | (new & s.write_mask)
        if state.depth is not None and state.depth_write:
            buffer.depth[rows[passed], columns[passed]] = z[passed]
        return passed

    def _color(self, target: Target, rows: Array, columns: Array, bits: Array) -> None:
        n = target.pixels.shape[2]
        if not target.floating:
            new = np.ascontiguousarray(bits[:, :n]).view(target.pixels.dtype)
        else:
            color = np.ascontiguousarray(bits).view(np.float32)
            if self.state.blend is not None:
                old = target.decoded(target.pixels[rows, columns])
                if target.format == "rgba8":
                    color = np.clip(np.where(np.isnan(color), np.float32(0), color), np.float32(0), np.float32(1))
                kind: Any = np.float32 if self.choices.blend == "f32" else np.float64
                constant = np.array(self.state.blend_constant, kind)
                color = blended(self.state.blend, color.astype(kind), old.astype(kind), constant).astype(np.float32)
            new = target.encoded(color, self.choices)
        mask = self.state.color_mask[:n]
        if all(mask):
            target.pixels[rows, columns] = new
        else:
            for c in np.flatnonzero(mask):
                target.pixels[rows, columns, c] = new[:, c]


def blended(blend: Blend, src: Array, dst: Array, constant: Array) -> Array:
    """Blending of colours [n, 4] in their own precision."""
    one = src.dtype.type(1)
    alpha, dst_alpha = src[:, 3:], dst[:, 3:]

    def factor(name: str) -> Array:
        if name.startswith("one_minus_"):
            return one - factor(name.removeprefix("one_minus_"))
        saturate = np.minimum(alpha, one - dst_alpha)
        return {
            "zero": np.zeros_like(src),
            "one": np.ones_like(src),
            "src_color": src,
            "src_alpha": np.broadcast_to(alpha, src.shape),
            "dst_color": dst,
            "dst_alpha": np.broadcast_to(dst_alpha, src.shape),
            "constant_color": np.broadcast_to(constant, src.shape),
            "constant_alpha": np.full_like(src, constant[3]),
            "src_alpha_saturate": np.concatenate([saturate] * 3 + [np.ones_like(alpha)], axis=1),
        }[name]

    def joined(equation: str, fs: str, fd: str) -> Array:
        if equation == "min":
            return np.minimum(src, dst)
        if equation == "max":
            return np.maximum(src, dst)
        with np.errstate(invalid="ignore", over="ignore"):
            a, b = src * factor(fs), dst * factor(fd)
            return a + b if equation == "add" else a - b if equation == "subtract" else b - a

    out = joined(blend.equation, blend.src, blend.dst)
    if blend.src_alpha is not None or blend.dst_alpha is not None or blend.equation_alpha is not None:
        out[:, 3] = joined(
            blend.equation_alpha or blend.equation, blend.src_alpha or blend.src, blend.dst_alpha or blend.dst
        )[:, 3]
    return out
