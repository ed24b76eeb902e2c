"""Output merge: alpha test, depth, stencil, blending and the render targets. Source: [graphics] 3.8.

Fragments reach a pixel in drawing order; fragments of different pixels go together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from isakit.engine.protocol import Array
from isakit.errors import LaunchError
from isakit.graphics.color_formats import NAMED, ColorFormat
from isakit.graphics.draw_state import Blend, DrawState, GraphicsChoices, Stencil

DepthFormat = Literal["d16", "d24", "d32f"]
_DEPTH_MAX = {"d16": (1 << 16) - 1, "d24": (1 << 24) - 1}


class RenderTarget:
    """A render target: `pixels` [height, width, stored numbers], row 0 is window y 0; one without pixels is none."""

    def __init__(self, form: str | ColorFormat, width: int, height: int, pixels: Array | None = None) -> None:
        if isinstance(form, str):
            if form not in NAMED:
                raise LaunchError(f"no target format {form!r}; there are: {', '.join(NAMED)}")
            form = NAMED[form]
        self.color_format = form
        self.pixels: Array = np.zeros((height, width, form.stored), form.dtype) if pixels is None else pixels

    @property
    def format(self) -> str:
        """Name of the format."""
        return self.color_format.name

    @property
    def floating(self) -> bool:
        """Whether colours are numbers that can be blended."""
        return not self.color_format.integer

    def encoded(self, color: Array, choices: GraphicsChoices) -> Array:
        """Colours f32 [n, 4] as they are stored."""
        return self.color_format.encoded(np.ascontiguousarray(color, np.float32).view(np.uint32), choices.store)

    def decoded(self, stored: Array) -> Array:
        """Stored pixels [..., components] as f32 [..., 4]."""
        return self.color_format.decoded(stored).view(np.float32)


class DepthBuffer:
    """Depth and 8-bit stencil; `depth` holds integers for 16 and 24 bits, else f32."""

    def __init__(self, form: DepthFormat, width: int, height: int) -> None:
        if form not in ("d16", "d24", "d32f"):
            raise LaunchError(f"no depth format {form!r}; there are: d16, d24, d32f")
        self.format = form
        self.depth: Array = np.zeros((height, width), np.float32 if form == "d32f" else np.int64)
        self.stencil: Array = np.zeros((height, width), np.uint8)

    def encoded(self, z: Array) -> Array:
        """Depth 0 to 1 (f32) as it is stored and compared."""
        if self.format == "d32f":
            return np.where(np.isnan(z), np.float32(0), z)
        z = np.clip(np.where(np.isnan(z), np.float32(0), z), np.float32(0), np.float32(1))
        return np.floor(z.astype(np.float64) * _DEPTH_MAX[self.format] + 0.5).astype(np.int64)

    @property
    def unit(self) -> float:
        """The smallest step of depth near 1."""
        return 1 / _DEPTH_MAX[self.format] if self.format != "d32f" else 2.0**-23

    def values(self) -> Array:
        """Depth as f32 [height, width]."""
        if self.format == "d32f":
            return self.depth.copy()
        return (self.depth / _DEPTH_MAX[self.format]).astype(np.float32)


_COMPARE: dict[str, Any] = {
    "less": np.less,
    "equal": np.equal,
    "lequal": np.less_equal,
    "greater": np.greater,
    "notequal": np.not_equal,
    "gequal": np.greater_equal,
}


def holds(func: str, a: Array, b: Any) -> Array:
    """A comparison by name, as bool [n]."""
    if func in ("never", "always"):
        return np.full(len(a), func == "always")
    return _COMPARE[func](a, b)


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
        """Fragments in drawing order.

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
                ok = holds(s.func, np.full(len(old), s.ref & s.read_mask), old & s.read_mask)
                stencil_passed = np.where(side, ok, stencil_passed)
        depth_passed = np.ones(len(rows), bool)
        if state.depth is not None:
            depth_passed = holds(state.depth, z, buffer.depth[rows, columns])
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

    def _color(
        self, k: int, target: RenderTarget, rows: Array, columns: Array, bits: Array, second: Array | None
    ) -> None:
        state, form = self.state, target.color_format
        masks = state.color_masks
        mask = state.color_mask if masks is None else masks[k] if k < len(masks) else (True,) * 4
        if not any(mask) or not len(rows) or not target.pixels.size:
            return
        blend = state.blend if state.blends is None else state.blends[k] if k < len(state.blends) else None
        clamp = k < len(state.clamp_fragment) and state.clamp_fragment[k]
        if not form.integer and clamp and not form.normalized:
            bits = _clamped(np.ascontiguousarray(bits).view(np.float32), 0.0).view(np.uint32)
        if blend is not None and state.logic_op is None and not form.integer:
            color = np.ascontiguousarray(bits).view(np.float32)
            old = target.decoded(target.pixels[rows, columns])
            other = None if second is None else np.ascontiguousarray(second).view(np.float32)
            low = -1.0 if form.kind == "snorm" else 0.0
            if form.normalized:
                color = _clamped(color, low)
                other = None if other is None else _clamped(other, low)
            kind: Any = np.float32 if self.choices.blend == "f32" else np.float64
            constant = np.array(state.blend_constant, kind)
            if form.normalized:
                constant = np.clip(constant, kind(low), kind(1))
            mixed = blended(
                blend, color.astype(kind), old.astype(kind), constant, None if other is None else other.astype(kind)
            )
            bits = mixed.astype(np.float32).view(np.uint32)
        new = form.encoded(bits, self.choices.store)
        if state.logic_op is not None and form.kind != "float":
            new = logic(state.logic_op, new, target.pixels[rows, columns])
        if all(mask):
            target.pixels[rows, columns] = new
            return
        chosen = form.mask((bool(mask[0]), bool(mask[1]), bool(mask[2]), bool(mask[3])))
        if form.bits:
            old = target.pixels[rows, columns]
            target.pixels[rows, columns] = (old & ~chosen) | (new & chosen)
        else:
            for c in np.flatnonzero(chosen):
                target.pixels[rows, columns, c] = new[:, c]


def _clamped(color: Array, low: float) -> Array:
    return np.clip(np.where(np.isnan(color), np.float32(0), color), np.float32(low), np.float32(1))


_LOGIC: dict[str, Callable[[Array, Array], Array]] = {
    "clear": lambda s, d: np.zeros_like(s),
    "and": lambda s, d: s & d,
    "and_reverse": lambda s, d: s & ~d,
    "copy": lambda s, d: s,
    "and_inverted": lambda s, d: ~s & d,
    "noop": lambda s, d: d,
    "xor": lambda s, d: s ^ d,
    "or": lambda s, d: s | d,
    "nor": lambda s, d: ~(s | d),
    "equiv": lambda s, d: ~(s ^ d),
    "invert": lambda s, d: ~d,
    "or_reverse": lambda s, d: s | ~d,
    "copy_inverted": lambda s, d: ~s,
    "or_inverted": lambda s, d: ~s | d,
    "nand": lambda s, d: ~(s & d),
    "set": lambda s, d: ~np.zeros_like(s),
}


def logic(op: str, source: Array, destination: Array) -> Array:
    """Bits of stored pixels joined by a logic operation."""
    return _LOGIC[op](source, destination)


def blended(blend: Blend, src: Array, dst: Array, constant: Array, second: Array | None = None) -> Array:
    """Blending of colours [n, 4] in their own precision. `second`: the colour of the src1 factors."""
    one = src.dtype.type(1)
    alpha, dst_alpha = src[:, 3:], dst[:, 3:]

    def factor(name: str) -> Array:
        if name.startswith("one_minus_"):
            return one - factor(name.removeprefix("one_minus_"))
        if name == "zero":
            return np.zeros_like(src)
        if name == "one":
            return np.ones_like(src)
        if name == "src_color":
            return src
        if name == "src_alpha":
            return np.broadcast_to(alpha, src.shape)
        if name == "dst_color":
            return dst
        if name == "dst_alpha":
            return np.broadcast_to(dst_alpha, src.shape)
        if name == "constant_color":
            return np.broadcast_to(constant, src.shape)
        if name == "constant_alpha":
            return np.full_like(src, constant[3])
        if name == "src_alpha_saturate":
            saturate = np.minimum(alpha, one - dst_alpha)
            return np.concatenate([saturate] * 3 + [np.ones_like(alpha)], axis=1)
        other = src if second is None else second
        return other if name == "src1_color" else np.broadcast_to(other[:, 3:], src.shape)

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
