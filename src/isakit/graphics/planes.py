"""Interpolation: inputs of fragments as planes over the window. Source: [graphics] 3.7.

Planes are evaluated at pixel centres in f64 and rounded once to f32. Perspective inputs hold the attribute divided by
w, as the programs expect. `Interpolation` has the rule; `compiled_inputs` compiles it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from isakit.engine import Lanes
from isakit.engine.protocol import Array
from isakit.graphics.raster import Numbers, Point, corners_of
from isakit.graphics.stage import FACE_WORD
from isakit.lean import cached_property

Mode = Literal["perspective", "linear", "flat", "constant"]
"""`constant`: as perspective, with the provoking vertex's value at all corners: the result of a flat shade model."""


@dataclass(frozen=True)
class PositionInput:
    """A word of v[]: window x or y, depth z, or w = 1 / clip w."""

    component: Literal["x", "y", "z", "w"]


@dataclass(frozen=True)
class VaryingInput:
    """A word of v[]: output word `o_word` of the previous stage, or `back` on back faces.

    Words from 0x40 on are the constants 0.0 (even) and 1.0 (odd).
    """

    o_word: int
    mode: Mode = "perspective"
    back: int | None = None


@dataclass(frozen=True)
class PointInput:
    """A word of v[]: the place inside a point, 0 to 1 from its left and lower (or upper) edge.

    `zero` and `one` are those numbers everywhere. On primitives other than points it is `otherwise`.
    """

    component: Literal["s", "t", "zero", "one"]
    otherwise: VaryingInput | None = None


@dataclass(frozen=True)
class PrimitiveInput:
    """A word of v[]: the number of the primitive."""


FragmentInput = PositionInput | VaryingInput | PointInput | PrimitiveInput


def words_of(inputs: Sequence[FragmentInput]) -> int:
    """Return an exclusive upper bound of the output words that inputs of fragments use."""
    found = [-1]
    for i in inputs:
        what = i.otherwise if isinstance(i, PointInput) else i
        if isinstance(what, VaryingInput):
            found += [w for w in (what.o_word, what.back) if w is not None and w < 0x40]
    return max(found) + 1


def plane_steps(a: Point, b: Point, c: Point) -> tuple[Point, Point]:
    """Return the factors from differences between corners to changes per x, and per y.

    Compiled code is traced from it.
    """
    ax, ay, bx, by = b[0] - a[0], b[1] - a[1], c[0] - a[0], c[1] - a[1]
    area = ax * by - bx * ay
    area = np.where(area == 0, np.inf, area)
    return (by / area, -ay / area), (-bx / area, ax / area)


def plane_of(corners: Sequence[Numbers], steps: tuple[Point, Point]) -> tuple[Numbers, Numbers, Numbers]:
    """Return (value at the first corner, change per x, change per y). Compiled code is traced from it."""
    a, b = corners[1] - corners[0], corners[2] - corners[0]
    to_x, to_y = steps
    return corners[0], a * to_x[0] + b * to_x[1], a * to_y[0] + b * to_y[1]


class Planes:
    """base + dx * X + dy * Y for values at the corners of triangles.

    `origin`: their first corners, f64 [n, 2]; `steps`: see `plane_steps`.
    """

    def __init__(self, origin: Array, steps: tuple[Point, Point]) -> None:
        self.origin, self._steps = origin, steps

    @classmethod
    def at(cls, window: Array) -> Planes:
        """Return the planes of triangles f64 [n, 3, 2]."""
        a, b, c = corners_of(window)
        return cls(window[:, 0], plane_steps(a, b, c))

    def of(self, corners: Array) -> tuple[Array, Array, Array]:
        """Return (value at the first corner, change per x, change per y) of values [..., n, 3]."""
        return plane_of((corners[..., 0], corners[..., 1], corners[..., 2]), self._steps)


class LinePlanes:
    """Attribute planes of lines: values vary along the line and are constant across it."""

    def __init__(self, window: Array) -> None:
        """Take the ends `window`, f64 [n, 2, 2]."""
        self.origin = window[:, 0]
        delta = window[:, 1] - window[:, 0]
        squared = (delta * delta).sum(axis=1)
        self._step = delta / np.where(squared == 0, np.inf, squared)[:, None]

    def of(self, corners: Array) -> tuple[Array, Array, Array]:
        """Return (value at the first corner, change per x, change per y) of values [..., n, 2]."""
        a = corners[..., 1] - corners[..., 0]
        return corners[..., 0], a * self._step[:, 0], a * self._step[:, 1]


Column = tuple[Numbers, ...]
"""Name of a number that each primitive has; see `Corners.column`."""
WordsAtCorners = Callable[[int], Array]


@dataclass
class Corners:
    """Corners that the planes of a draw are made from.

    Attributes: `planes` (None for points, whose values are constant), `over_w` f64 [n, 3]: 1 / w; `depth` f64 [n, 3]:
    window z; `values`: output words at the corners, f64 [n, 3], and `flat`: those of the provoking vertices, u32 [n],
    both by their numbers; `front` bool [n]; `points`: (lower left corner [n, 2], sizes [n]) or None; `whole`: (planes,
    values, number of each triangle in them) of the triangles before they were clipped, for values interpolated without
    perspective; `upper`: coordinates inside points begin at the upper edge; `numbers` [n]: PrimitiveID; `compiled`:
    computes three columns for each value, or None if array code must. Lines have two corners instead of three.
    """

    planes: Planes | LinePlanes | None
    over_w: Array
    depth: Array
    values: WordsAtCorners
    flat: WordsAtCorners
    front: Array
    points: tuple[Array, Array] | None = None
    upper: bool = False
    numbers: Array | None = None
    whole: tuple[Planes, WordsAtCorners, Array] | None = None
    compiled: Callable[[list[Column]], list[Array] | None] | None = None
    _columns: dict[Column, Array] = field(default_factory=dict[Column, Array], init=False, repr=False)

    def column(self, name: Column) -> Array:
        """Return a number of every primitive.

        `front` (u32, all ones or 0), `number`, `flat` with a word; `origin` with an axis, and `plane` with an
        interpolated value and 0, 1 or 2: the value at the origin, and its change per x and per y; `whole origin` and
        `whole`, the same of whole triangles; `constant` with a value that is constant in a point; `corner` with an
        axis, and `size`, of points. An interpolated value is `depth`, `over_w`, or a mode and a word. All f64 but
        `front`, `number` and `flat`, which are u32.
        """
        found = self._columns.get(name)
        if found is None:
            with np.errstate(over="ignore", invalid="ignore"):
                self._make(name)
            found = self._columns[name]
        return found

    def make_planes(self, names: Iterable[Column]) -> None:
        """Compute the plane equations of all given columns that are planes, in one go."""
        missing = list(dict.fromkeys(n[1] for n in names if n[0] == "plane" and n not in self._columns))
        if missing and self.planes is not None:
            rows = None if self.compiled is None else self.compiled(missing)
            if rows is not None:
                self._columns.update(zip((("plane", w, k) for w in missing for k in range(3)), rows, strict=True))
                return
            with np.errstate(over="ignore", invalid="ignore"):
                made = self.planes.of(np.stack([self._at_corners(what) for what in missing]))
            parts = [np.ascontiguousarray(part) for part in made]
            for j, what in enumerate(missing):
                for k, part in enumerate(parts):
                    self._columns["plane", what, k] = part[j]

    def _make(self, name: Column) -> None:
        kind, *which = name
        keep = self._columns
        if kind == "front":
            keep[name] = np.where(self.front, np.uint32(0xFFFF_FFFF), np.uint32(0))
        elif kind == "number":
            numbers = np.arange(len(self.front)) if self.numbers is None else self.numbers
            keep[name] = numbers.astype(np.uint32)
        elif kind == "flat":
            keep[name] = np.ascontiguousarray(self.flat(which[0]))
        elif kind == "constant":
            keep[name] = np.ascontiguousarray(self._at_corners(which[0])[:, 0])
        elif kind in ("corner", "size"):
            assert self.points is not None
            low, size = self.points
            keep[name] = size if kind == "size" else np.ascontiguousarray(low[:, which[0]])
        elif kind in ("plane", "origin"):
            assert self.planes is not None
            if kind == "origin":
                keep[name] = np.ascontiguousarray(self.planes.origin[:, which[0]])
                return
            for k, part in enumerate(self.planes.of(self._at_corners(which[0]))):
                keep["plane", which[0], k] = np.ascontiguousarray(part)
        else:
            assert self.whole is not None
            planes, values, number = self.whole
            if kind == "whole origin":
                keep[name] = planes.origin[number, which[0]]
                return
            for k, part in enumerate(planes.of(values(which[0]))):
                keep["whole", which[0], k] = part[number]

    def _at_corners(self, what: Column) -> Array:
        """Return interpolated values at the corners, f64 [n, corners]."""
        kind, *word = what
        if kind == "depth":
            return self.depth
        if kind == "over_w":
            return self.over_w
        corners = self.values(word[0])
        if kind == "constant":
            flat = np.ascontiguousarray(self.flat(word[0])).view(np.float32)
            corners = np.repeat(flat[:, None], corners.shape[1], axis=1)
        return corners * self.over_w if kind in ("perspective", "constant") else corners

    @cached_property
    def shape(self) -> PrimitiveFacts:
        """The properties that the code of interpolation depends on."""
        return PrimitiveFacts(self.planes is None, self.points is not None, self.upper, self.whole is not None,
                     bool(self.front.all()))  # fmt: skip


@dataclass(frozen=True)
class PrimitiveFacts:
    """Properties common to all primitives of a draw.

    Attributes: whether values are `constant`, they are `points` whose coordinates begin at the `upper` edge, triangles
    were cut from `whole` ones, and all are `front` faces.
    """

    constant: bool
    points: bool
    upper: bool
    whole: bool
    front: bool


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
        self.shown = shown
        self.samples: Fragments | None = None

    def with_samples(self, samples: Fragments) -> Fragments:
        """Read centroid inputs from `samples`: the same lanes at the samples they run for. Return the object itself."""
        self.samples = samples
        return self

    def part(self, start: int, stop: int) -> Fragments:
        """Select the lanes from `start` to `stop`."""
        out, here = Fragments.__new__(Fragments), slice(start, stop)
        out.inputs, out.corners, out.shown = self.inputs, self.corners, self.shown
        out.x, out.y, out.primitive = self.x[here], self.y[here], self.primitive[here]
        out.samples = None if self.samples is None else self.samples.part(start, stop)
        return out

    def _at(self, here: slice | Array) -> Interpolation:
        x, y, primitive = self.x[here], self.y[here], self.primitive[here]
        return Interpolation(self.corners.shape, x, y, lambda name: self.corners.column(name)[primitive], self.shown)

    def depth(self) -> Array:
        """Return window z of all lanes, f32."""
        return self._at(slice(None)).depth()

    def over_w(self) -> Array:
        """Return 1 / clip w of all lanes, f64."""
        return self._at(slice(None)).over(("over_w",))

    def perspective(self, o_word: int) -> Array:
        """Interpolate an output word of the previous stage in perspective at all lanes: f32, rounded once."""
        at = self._at(slice(None))
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            return (at.over(("perspective", o_word)) / at.over(("over_w",))).astype(np.float32)

    def value(self, what: PositionInput | PointInput) -> Array:
        """Return a position or a point coordinate at all lanes, f32."""
        return self._at(slice(None)).word([what], 0, False).view(np.float32)

    def read(self, word: int, flat: bool, centroid: bool, lanes: Lanes) -> Array:
        """See `Varyings`. The centroid is the centre, unless programs run for every sample."""
        if centroid and self.samples is not None:
            return self.samples.read(word, flat, False, lanes)
        total = len(self.x)
        sel = lanes.sel
        if isinstance(sel, slice):
            here: slice | Array = slice(sel.start, min(sel.stop, total))
            count = max(0, here.stop - here.start)
        else:
            here = sel[sel < total]  # padding lanes of the last warp stand at the end
            count = len(here)
        got = self._at(here).word(self.inputs, word, flat)
        if count == lanes.count:
            return got
        out = np.zeros(lanes.count, np.uint32)
        out[np.flatnonzero(lanes.numbers < total)] = got
        return out


class Interpolation:
    """The rule for inputs of lanes. Works on arrays, and compiled code is traced from it.

    `x`, `y`: f64, where the inputs are evaluated; `of(column)`: a number of each lane's primitive (`Corners.column`).
    """

    def __init__(self, shape: PrimitiveFacts, x: Array, y: Array, of: Callable[[Column], Array], shown: float) -> None:
        self.shape, self.x, self.y, self.of, self.shown = shape, x, y, of, shown - 0.5

    def over(self, what: Column) -> Array:
        """Interpolate a value, f64."""
        if self.shape.constant:
            return self.of(("constant", what))
        x, y = self.x - self.of(("origin", 0)), self.y - self.of(("origin", 1))
        base, dx, dy = self.of(("plane", what, 0)), self.of(("plane", what, 1)), self.of(("plane", what, 2))
        return base + dx * x + dy * y

    def depth(self) -> Array:
        """Return window z, f32."""
        return self.over(("depth",)).astype(np.float32)

    def word(self, inputs: Sequence[FragmentInput], word: int, flat: bool) -> Array:
        """Return a word of v[], u32."""
        if word == FACE_WORD:
            return self.of(("front",))
        if word >= len(inputs):
            return self._everywhere(0)
        what = inputs[word]
        if isinstance(what, PositionInput):
            if what.component in ("x", "y"):
                return _bits((self.x if what.component == "x" else self.y) + self.shown)
            return _bits(self.over(("depth",) if what.component == "z" else ("over_w",)))
        if isinstance(what, PrimitiveInput):
            return self.of(("number",))
        if isinstance(what, PointInput):
            if self.shape.points and what.component in ("zero", "one"):
                return self._everywhere(0x3F80_0000 if what.component == "one" else 0)
            if self.shape.points:
                axis = 0 if what.component == "s" else 1
                at = ((self.x, self.y)[axis] - self.of(("corner", axis))) / self.of(("size",))
                return _bits(1 - at if axis and self.shape.upper else at)
            if what.otherwise is None:
                return self._everywhere(0)
            what = what.otherwise
        front = self._varying(what.o_word, what.mode, flat)
        if what.back is None or self.shape.front:
            return front
        return np.where(self.of(("front",)) != 0, front, self._varying(what.back, what.mode, flat))

    def _varying(self, o_word: int, mode: str, flat: bool) -> Array:
        if o_word >= 0x40:
            return self._everywhere(0x3F80_0000 if o_word & 1 else 0)
        if flat or mode == "flat":
            return self.of(("flat", o_word))
        if mode == "linear" and self.shape.whole:
            x, y = self.x - self.of(("whole origin", 0)), self.y - self.of(("whole origin", 1))
            base, dx, dy = (self.of(("whole", o_word, k)) for k in range(3))
            return _bits(base + dx * x + dy * y)
        return _bits(self.over((mode, o_word)))

    def _everywhere(self, bits: int) -> Array:
        return np.full(len(self.x), bits, np.uint32)


def _bits(values: Array) -> Array:
    with np.errstate(over="ignore", invalid="ignore"):
        return values.astype(np.float32).view(np.uint32)
