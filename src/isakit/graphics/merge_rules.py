"""Rules of the output merger: tests, blending, logic operations. Source: [graphics] 3.8.

All functions work on columns: one array for each number, one entry for each fragment. `merge` calls them with arrays,
`compiled_merge` traces them to machine code; so nothing here branches on values of fragments.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from isakit.engine.protocol import Array
from isakit.graphics.color_formats import ColorFormat
from isakit.graphics.draw_state import Blend, DrawState, GraphicsChoices, Stencil

DepthFormat = Literal["d16", "d24", "d32f"]
DEPTH_MAX = {"d16": (1 << 16) - 1, "d24": (1 << 24) - 1}
NAN = 0x7FFF_FFFF
"""The bits that blending stores for any NaN; which NaN the hardware makes is not known."""


# --- tests ------------------------------------------------------------------------------------------------------------
def stored_depth(form: DepthFormat, z: Array) -> Array:
    """Convert depth 0 to 1 (f32) to the stored and compared number."""
    clean = np.where(np.isnan(z), np.float32(0), z)
    if form == "d32f":
        return clean
    return np.floor(np.clip(clean, np.float32(0), np.float32(1)).astype(np.float64) * DEPTH_MAX[form] + 0.5).astype(
        np.int64
    )


_COMPARE: dict[str, np.ufunc] = {
    "less": np.less,
    "equal": np.equal,
    "lequal": np.less_equal,
    "greater": np.greater,
    "notequal": np.not_equal,
    "gequal": np.greater_equal,
}


def holds(func: str, a: Array, b: object) -> Array:
    """Compare by the name of a relation; returns bool [n]."""
    if func in ("never", "always"):
        return np.full(len(a), func == "always")
    return _COMPARE[func](a, b)


_STENCIL: dict[str, Callable[[Array, Array | int], Array]] = {
    "keep": lambda old, ref: old,
    "zero": lambda old, ref: old & 0,
    "replace": lambda old, ref: (old & 0) | ref,
    "incr": lambda old, ref: np.minimum(old + 1, 255),
    "decr": lambda old, ref: np.maximum(old - 1, 0),
    "invert": lambda old, ref: ~old & 255,
    "incr_wrap": lambda old, ref: old + 1 & 255,
    "decr_wrap": lambda old, ref: old - 1 & 255,
}


def tests(
    depth: str | None,
    stencil: Sequence[Stencil] | None,
    z: Array,
    front: Array | None,
    old_depth: Array | None,
    old_stencil: Array | None,
) -> tuple[Array, Array | None]:
    """Return (fragments that pass the stencil and depth tests, their new stencil numbers u8).

    Args:
        depth: comparison of `z` with `old_depth`, None for no test.
        stencil: operations for front and back faces, None for no test.
        z: depth as it is stored.
        front: which faces are front faces, where there is a stencil test.
        old_depth: of the pixels.
        old_stencil: of the pixels, u8.
    """
    passed = np.full(len(z), True)
    if depth is not None:
        assert old_depth is not None
        passed = holds(depth, z, old_depth)
    if stencil is None:
        return passed, None
    assert front is not None
    assert old_stencil is not None
    old = old_stencil.astype(np.int32)
    before = [holds(s.func, (old & 0) | (s.ref & s.read_mask), old & s.read_mask) for s in stencil]
    allowed = np.where(front, before[0], before[1])
    new: Array = old
    for side, s in ((front, stencil[0]), (~front, stencil[1])):
        for here, op in (
            (side & ~allowed, s.fail),
            (side & allowed & ~passed, s.depth_fail),
            (side & allowed & passed, s.passed),
        ):
            new = np.where(here, (old & (~s.write_mask & 0xFF)) | (_STENCIL[op](old, s.ref) & s.write_mask), new)
    return passed & allowed, new.astype(np.uint8)


# --- colours ----------------------------------------------------------------------------------------------------------
def _clamped(color: Array, low: float) -> Array:
    return np.clip(np.where(np.isnan(color), np.float32(0), color), np.float32(low), np.float32(1))


_LOGIC: dict[str, Callable[[Array, Array], Array]] = {
    "clear": lambda s, d: s ^ s,
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
    "set": lambda s, d: ~(s ^ s),
}


@dataclass(frozen=True)
class ColorMerge:
    """Merging of colours into one target; hashable, without the numbers that change from draw to draw.

    Attributes: `form` of the target, `mask` of its components, `blend` and `logic` operation or None, `clamp`: colours
    are clamped to 0 to 1 before, `wide`: blending is done in f64, `store`: rounding of ties.
    """

    form: ColorFormat
    mask: tuple[bool, bool, bool, bool]
    blend: Blend | None
    logic: str | None
    clamp: bool
    wide: bool
    store: str

    @classmethod
    def of(cls, state: DrawState, k: int, form: ColorFormat, choices: GraphicsChoices) -> ColorMerge | None:
        """Return the merging of a draw into target `k`; None if it writes nothing."""
        masks = state.color_masks
        mask = state.color_mask if masks is None else masks[k] if k < len(masks) else (True,) * 4
        if not any(mask):
            return None
        blend = state.blend if state.blends is None else state.blends[k] if k < len(state.blends) else None
        clamp = k < len(state.clamp_fragment) and state.clamp_fragment[k]
        return cls(
            form,
            (bool(mask[0]), bool(mask[1]), bool(mask[2]), bool(mask[3])),
            None if state.logic_op is not None or form.integer else blend,
            None if form.kind == "float" else state.logic_op,
            clamp and form.kind in ("snorm", "float"),  # storing clamps others anyway
            choices.blend != "f32",
            choices.store,
        )

    @property
    def reads(self) -> bool:
        """True if the content of the target is read."""
        return self.blend is not None or self.logic is not None or not all(self.mask)

    def merged(
        self,
        bits: Sequence[Array],
        second: Sequence[Array] | None,
        old: Sequence[Array] | None,
        constant: Sequence[Array | float],
    ) -> list[Array]:
        """Merge fragments with pixels and return the stored numbers.

        Args:
            bits: R, G, B and A as u32 register bits.
            second: the second colour, the same way.
            old: stored numbers of the pixels, where `reads`.
            constant: the blend constant.
        """
        form = self.form
        if self.clamp:
            bits = [_clamped(b.view(np.float32), 0.0).view(np.uint32) for b in bits]
        if self.blend is not None:
            assert old is not None
            bits = self._blended(self.blend, bits, second, form.bits_of(old), constant)
        new = form.stored_of(bits, self.store)
        if self.logic is not None:
            assert old is not None
            new = [_LOGIC[self.logic](n, o) for n, o in zip(new, old, strict=True)]
        if all(self.mask):
            return new
        assert old is not None
        chosen = form.mask(self.mask)
        if form.bits:
            return [(old[0] & ~chosen) | (new[0] & chosen)]
        return [n if c else o for n, o, c in zip(new, old, chosen.tolist(), strict=True)]

    def _blended(
        self,
        blend: Blend,
        bits: Sequence[Array],
        second: Sequence[Array] | None,
        old: Sequence[Array],
        constant: Sequence[Array | float],
    ) -> list[Array]:
        """Return register bits of the blended colours."""
        kind: Any = np.float64 if self.wide else np.float32
        low = -1.0 if self.form.kind == "snorm" else 0.0
        color = [b.view(np.float32) for b in bits]
        other = color if second is None else [b.view(np.float32) for b in second]
        factors = [kind(c) if isinstance(c, float | int) else c.astype(kind) for c in constant]
        if self.form.normalized:
            color, other = [_clamped(c, low) for c in color], [_clamped(c, low) for c in other]
            factors = [np.minimum(np.maximum(c, kind(low)), kind(1)) for c in factors]
        with np.errstate(over="ignore", invalid="ignore"):
            target = [o.view(np.float32) for o in old]
            src, dst, src1 = ([c.astype(kind) for c in some] for some in (color, target, other))
            mixed = [c.astype(np.float32) for c in blended(blend, src, dst, factors, src1)]
        return [np.where(np.isnan(c), np.uint32(NAN), c.view(np.uint32)) for c in mixed]


def blended(
    blend: Blend, src: Sequence[Array], dst: Sequence[Array], constant: Sequence[Array | float], second: Sequence[Array]
) -> list[Array]:
    """Blend R, G, B and A in their own precision. `second`: the colour of the src1 factors."""
    one = src[0].dtype.type(1)

    def factor(name: str, c: int) -> Array | float | np.generic:
        if name.startswith("one_minus_"):
            return one - factor(name.removeprefix("one_minus_"), c)
        if name == "src_alpha_saturate":
            return one if c == 3 else np.minimum(src[3], one - dst[3])
        if name in ("zero", "one"):
            return one if name == "one" else src[0].dtype.type(0)
        place, _, part = name.partition("_")
        color: Sequence[Array | float] = {"src": src, "dst": dst, "constant": constant, "src1": second}[place]
        return color[3 if part == "alpha" else c]

    def joined(equation: str, fs: str, fd: str, c: int) -> Array:
        if equation in ("min", "max"):
            return (np.minimum if equation == "min" else np.maximum)(src[c], dst[c])
        with np.errstate(invalid="ignore", over="ignore"):
            a, b = src[c] * factor(fs, c), dst[c] * factor(fd, c)
            return a + b if equation == "add" else a - b if equation == "subtract" else b - a

    out = [joined(blend.equation, blend.src, blend.dst, c) for c in range(3)]
    alpha = blend.equation_alpha or blend.equation, blend.src_alpha or blend.src, blend.dst_alpha or blend.dst
    return [*out, joined(*alpha, 3)]
