"""Interpolation: inputs of fragments as planes over the window. Source: [graphics] 3.7.

Planes are evaluated at pixel centres in f64 and rounded once to f32. Perspective inputs hold the attribute divided by
w, as the programs expect.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from isakit.engine import Lanes
from isakit.engine.protocol import Array
from isakit.graphics.stage import FACE_WORD

Interpolation = Literal["perspective", "linear", "flat", "constant"]
"""`constant`: as perspective, with the provoking vertex's value at all corners: what a flat shade model makes of it."""


@dataclass(frozen=True)
class PositionInput:
    """A word of v[]: window x or y, depth z, or w = 1 / clip w."""

    component: Literal["x", "y", "z", "w"]


@dataclass(frozen=True)
class VaryingInput:
    """A word of v[]: output word `o_word` of the stage before, or `back` on faces that look away.

    Words from 0x40 on are the constants 0.0 (even) and 1.0 (odd).
    """

    o_word: int
    mode: Interpolation = "perspective"
    back: int | None = None


@dataclass(frozen=True)
class PointInput:
    """A word of v[]: the place inside a point, 0 to 1 from its left and lower (or upper) edge.

    `zero` and `one` are those numbers everywhere. Where primitives are no points, what `otherwise` says.
    """

    component: Literal["s", "t", "zero", "one"]
    otherwise: VaryingInput | None = None


@dataclass(frozen=True)
class PrimitiveInput:
    """A word of v[]: the number of the primitive."""


FragmentInput = PositionInput | VaryingInput | PointInput | PrimitiveInput


class Planes:
    """base + dx * X + dy * Y for values at the corners of triangles."""

    def __init__(self, window: Array) -> None:
        """`window`: f64 [n, 3, 2]."""
        self.origin = window[:, 0]
        ax, ay = window[:, 1, 0] - window[:, 0, 0], window[:, 1, 1] - window[:, 0, 1]
        bx, by = window[:, 2, 0] - window[:, 0, 0], window[:, 2, 1] - window[:, 0, 1]
        area = ax * by - bx * ay
        area = np.where(area == 0, np.inf, area)
        self._to_x = by / area, -ay / area
        self._to_y = -bx / area, ax / area

    def of(self, corners: Array) -> tuple[Array, Array, Array]:
        """(value at the first corner, change per x, change per y) of values [n, 3]."""
        a, b = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
        return corners[:, 0], a * self._to_x[0] + b * self._to_x[1], a * self._to_y[0] + b * self._to_y[1]


class LinePlanes:
    """The same for lines: values change along the line and are constant across it."""

    def __init__(self, window: Array) -> None:
        """`window`: f64 [n, 2, 2]."""
        self.origin = window[:, 0]
        delta = window[:, 1] - window[:, 0]
        squared = (delta * delta).sum(axis=1)
        self._step = delta / np.where(squared == 0, np.inf, squared)[:, None]

    def of(self, corners: Array) -> tuple[Array, Array, Array]:
        """(value at the first corner, change per x, change per y) of values [n, 2]."""
        a = corners[:, 1] - corners[:, 0]
        return corners[:, 0], a * self._step[:, 0], a * self._step[:, 1]


@dataclass
class Corners:
    """What the planes of a draw are made from.

    Attributes: `planes` (None for points, whose values are constant), `over_w` f64 [n, 3]: 1 / w; `depth` f64 [n, 3]:
    window z; `values` f64 [n, 3, words]; `flat` u32 [n, words]; `front` bool [n]; `points`: (lower left corner [n, 2],
    sizes [n]) or None; `whole`: (planes, values, number of each triangle in them) of the triangles before they were
    clipped, for what is interpolated without perspective; `upper`: places inside points begin at the upper edge;
    `numbers` [n]: PrimitiveID. Lines have two corners instead of three.
    """

    planes: Planes | LinePlanes | None
    over_w: Array
    depth: Array
    values: Array
    flat: Array
    front: Array
    points: tuple[Array, Array] | None = None
    upper: bool = False
    numbers: Array | None = None
    whole: tuple[Planes, Array, Array] | None = None


class Fragments:
    """v[] of the fragments of a draw; implements `Varyings`.

    `x`, `y`: pixel of every lane; `primitive`: its primitive.
    """

    def __init__(
        self,
        inputs: Sequence[FragmentInput],
        corners: Corners,
        x: Array,
        y: Array,
        primitive: Array,
        *,
        shift: tuple[float, float] = (0.5, 0.5),
        shown: float = 0.5,
    ) -> None:
        """`shift`: the place inside a pixel where inputs are evaluated; `shown`: what its position reads beside it."""
        self.inputs, self.corners = inputs, corners
        self.x, self.y, self.primitive = x + shift[0], y + shift[1], primitive
        self.shown = shown - 0.5
        self._planes: dict[int, tuple[Array, Array, Array]] = {}
        if corners.planes is not None:
            self._from_x = self.x - corners.planes.origin[primitive, 0]
            self._from_y = self.y - corners.planes.origin[primitive, 1]

    def part(self, start: int, stop: int) -> Fragments:
        """The lanes from `start` to `stop`."""
        out = Fragments.__new__(Fragments)
        out.inputs, out.corners, out._planes, out.shown = self.inputs, self.corners, self._planes, self.shown
        for name in ("x", "y", "primitive", "_from_x", "_from_y"):
            if hasattr(self, name):
                setattr(out, name, getattr(self, name)[start:stop])
        return out

    def evaluated(self, key: int, corners: Array, lanes: slice | Array) -> Array:
        """Values at the corners [n, 3] interpolated at the lanes' pixels, f64. `key` names them in a cache."""
        prim = self.primitive[lanes]
        if self.corners.planes is None:
            return corners[prim, 0]
        plane = self._planes.get(key)
        if plane is None:
            plane = self._planes[key] = self.corners.planes.of(corners)
        base, dx, dy = plane
        return base[prim] + dx[prim] * self._from_x[lanes] + dy[prim] * self._from_y[lanes]

    def depth(self) -> Array:
        """Window z of all lanes, f32."""
        return self.evaluated(-2, self.corners.depth, slice(None)).astype(np.float32)

    def perspective(self, o_word: int) -> Array:
        """An output word of the stage before at all lanes, f32: interpolated with perspective and rounded once."""
        c, every = self.corners, slice(None)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            over_w = self.evaluated(-1, c.over_w, every)
            return (self.evaluated(o_word, c.values[:, :, o_word] * c.over_w, every) / over_w).astype(np.float32)

    def value(self, what: PositionInput | PointInput) -> Array:
        """A place at all lanes, f32."""
        if isinstance(what, PositionInput):
            return self._position(what.component, slice(None)).astype(np.float32)
        return self._point(what, slice(None), self.primitive).astype(np.float32)

    def _point(self, what: PointInput, here: slice | Array, prim: Array) -> Array:
        """The place inside a point, f64; 0 outside of points."""
        c = self.corners
        if c.points is None:
            return np.zeros(len(prim))
        if what.component in ("zero", "one"):
            return np.full(len(prim), float(what.component == "one"))
        axis = 0 if what.component == "s" else 1
        at = ((self.x, self.y)[axis][here] - c.points[0][prim, axis]) / c.points[1][prim]
        return 1 - at if axis and c.upper else at

    def read(self, word: int, flat: bool, centroid: bool, lanes: Lanes) -> Array:
        """See `Varyings`. Without multisampling the centroid is the centre."""
        total = len(self.x)
        sel = lanes.sel
        if isinstance(sel, slice):
            here: slice | Array = slice(sel.start, min(sel.stop, total))
            count = max(0, here.stop - here.start)
        else:
            here = sel[sel < total]  # padding lanes of the last warp stand at the end
            count = len(here)
        got = self._word(word, flat, here)
        if count == lanes.count:
            return got
        out = np.zeros(lanes.count, np.uint32)
        out[np.flatnonzero(lanes.numbers < total)] = got
        return out

    def _word(self, word: int, flat: bool, here: slice | Array) -> Array:
        c = self.corners
        prim = self.primitive[here]
        if word == FACE_WORD:
            return np.where(c.front[prim], np.uint32(0xFFFF_FFFF), np.uint32(0))
        if word >= len(self.inputs):
            return np.zeros(len(prim), np.uint32)
        what = self.inputs[word]
        if isinstance(what, PositionInput):
            return _bits(self._position(what.component, here))
        if isinstance(what, PrimitiveInput):
            return prim.astype(np.uint32) if c.numbers is None else c.numbers[prim].astype(np.uint32)
        if isinstance(what, PointInput):
            if c.points is not None or what.otherwise is None:
                return _bits(self._point(what, here, prim))
            what = what.otherwise
        if what.back is None or c.front.all():
            return self._varying(word, what.o_word, what.mode, flat, here, prim)
        front = self._varying(word, what.o_word, what.mode, flat, here, prim)
        back = self._varying(-10 - word, what.back, what.mode, flat, here, prim)
        return np.where(c.front[prim], front, back)

    def _varying(self, key: int, o_word: int, mode: str, flat: bool, here: slice | Array, prim: Array) -> Array:
        c = self.corners
        if o_word >= 0x40:
            return np.full(len(prim), 0x3F80_0000 if o_word & 1 else 0, np.uint32)
        if flat or mode == "flat":
            return c.flat[prim, o_word]
        if mode == "linear" and c.whole is not None:
            planes, values, numbers = c.whole
            base, dx, dy = planes.of(values[:, :, o_word])
            n = numbers[prim]
            x, y = self.x[here] - planes.origin[n, 0], self.y[here] - planes.origin[n, 1]
            return _bits(base[n] + dx[n] * x + dy[n] * y)
        corners = c.values[:, :, o_word]
        if mode == "constant":
            corners = np.repeat(
                np.ascontiguousarray(c.flat[:, o_word]).view(np.float32)[:, None], corners.shape[1], axis=1
            )
        if mode in ("perspective", "constant"):
            corners = corners * c.over_w
        return _bits(self.evaluated(key, corners, here))

    def _position(self, component: str, here: slice | Array) -> Array:
        if component == "x":
            return self.x[here] + self.shown
        if component == "y":
            return self.y[here] + self.shown
        if component == "z":
            return self.evaluated(-2, self.corners.depth, here)
        return self.evaluated(-1, self.corners.over_w, here)


def _bits(values: Array) -> Array:
    with np.errstate(over="ignore"):
        return values.astype(np.float32).view(np.uint32)
