"""Rasterization: from triangles, lines and points in the window to quads of pixels.

Positions are snapped to 1/256 pixel; coverage is decided by exact integer edge functions. Source: [graphics] 3.5, 3.6.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from isakit.engine.protocol import Array

SUBPIXEL = 256
_BITS = 8
_HALF = SUBPIXEL // 2
_LIMIT = 1 << 24
_NEAR = 1 << 29
"""Snapped coordinates below this give edge functions that fit into 64 bits."""
_AT_ONCE = 1 << 20
"""Pixels that are processed at once."""
_BOX_PIXELS = 8
"""Number of pixels of boxes that need as much memory as a pixel of a line."""
Bounds = tuple[int, int, int, int]
Numbers = Any
"""An array, or lanes of compiled code traced from the functions that take them."""
Point = tuple[Numbers, Numbers]
"""x and y."""


@dataclass(frozen=True)
class Quads:
    """Aligned 2x2 pixels, in drawing order.

    Attributes: `x`, `y` [n]: the pixel with the lowest coordinates; `covered` bool [n, 4]: lanes (x, y), (x+1, y), (x,
    y+1), (x+1, y+1); `primitive` [n]; with multisampling `samples` bool [n, 4, samples]; of smooth primitives `shares`
    f32 [n, 4], the part of each pixel that is covered.
    """

    x: Array
    y: Array
    covered: Array
    primitive: Array
    samples: Array | None = None
    shares: Array | None = None

    def __len__(self) -> int:
        return len(self.x)

    def lanes(self) -> tuple[Array, Array, Array]:
        """Return x, y and primitive of each lane's pixel, one lane after another."""
        x, y = pixels(self)
        return x.ravel(), y.ravel(), np.repeat(self.primitive, 4)

    def part(self, start: int, stop: int) -> Quads:
        """Return the quads from `start` to `stop`."""
        here = slice(start, stop)
        samples = None if self.samples is None else self.samples[here]
        shares = None if self.shares is None else self.shares[here]
        return Quads(self.x[here], self.y[here], self.covered[here], self.primitive[here], samples, shares)


@dataclass(frozen=True)
class Setup:
    """Triangles ready to be rasterized: `window` f64 [n, 3, 2], `snapped` int64 [n, 3, 2], `front` bool [n]."""

    window: Array
    snapped: Array
    front: Array


def snapped(window: Array) -> Array:
    """Return window positions in sub-pixel units."""
    bound = float(_LIMIT)
    return np.floor(np.clip(window, -bound, bound) * SUBPIXEL + 0.5).astype(np.int64)


def corners_of(p: Array) -> list[Point]:
    """Return the corners of primitives [n, corners, 2]."""
    return [(p[:, k, 0], p[:, k, 1]) for k in range(p.shape[1])]


def doubled_area(a: Point, b: Point, c: Point) -> Numbers:
    """Return twice the signed area of triangles; positive for counter-clockwise, y up."""
    return (b[0] - a[0]) * (c[1] - a[1]) - (c[0] - a[0]) * (b[1] - a[1])


@dataclass(frozen=True)
class Edges:
    """Edge functions of triangles, in their order, and the boxes of pixels around them.

    A pixel is covered where `along_x` * column + `along_y` * row + `value` is not negative at all three edges (int64
    [n, 3]). Attributes: `numbers` of the triangles; `kept`: those that have an area; `far`: those with corners so far
    away that this exceeds 64 bits; `corners` in sub-pixel units and `inclusive` edges, for them; `low`, `high` [n, 2]:
    pixels from and below.
    """

    numbers: Array
    kept: Array
    far: Array
    corners: Array
    inclusive: Array
    along_x: Array
    along_y: Array
    value: Array
    low: Array
    high: Array


class EdgeFunctions(NamedTuple):
    """Edge functions of triangles as columns: `Edges` with one entry for each corner or axis."""

    corners: Sequence[Point]
    inclusive: Sequence[Numbers]
    along_x: Sequence[Numbers]
    along_y: Sequence[Numbers]
    value: Sequence[Numbers]
    low: Point
    high: Point


def edge_functions(a: Point, b: Point, c: Point, turned: Numbers, fill: Literal["lower", "upper"]) -> EdgeFunctions:
    """Return the edges of triangles with corners in sub-pixel units, and the pixels around them.

    `turned`: those whose corners go clockwise. Compiled code is traced from it.
    """
    p: list[Point] = [
        a,
        (np.where(turned, c[0], b[0]), np.where(turned, c[1], b[1])),
        (np.where(turned, b[0], c[0]), np.where(turned, b[1], c[1])),
    ]
    low, high, inclusive = list[Numbers](), list[Numbers](), list[Numbers]()
    along_x, along_y, value = list[Numbers](), list[Numbers](), list[Numbers]()
    for axis in (0, 1):
        low.append(np.minimum(np.minimum(a[axis], b[axis]), c[axis]) - _HALF >> _BITS)
        high.append((np.maximum(np.maximum(a[axis], b[axis]), c[axis]) - _HALF >> _BITS) + 2)
    for k in range(3):  # edge k goes from corner k to the next one: positive on its left
        (x, y), (next_x, next_y) = p[k], p[(k + 1) % 3]
        dx, dy = next_x - x, next_y - y
        inclusive.append((dy < 0) | ((dy == 0) & (dx > 0 if fill == "lower" else dx < 0)))
        along_x.append(-dy * SUBPIXEL)
        along_y.append(dx * SUBPIXEL)
        value.append(dx * (_HALF - y) - dy * (_HALF - x) - ~inclusive[k])
    return EdgeFunctions(p, inclusive, along_x, along_y, value, (low[0], low[1]), (high[0], high[1]))


def is_far(*corners: Point) -> Numbers:
    """Return whether corners, in sub-pixel units, are so far away that edge functions exceed 64 bits."""
    out: Numbers = None
    for p in corners:
        here = (np.abs(p[0]) >= _NEAR) | (np.abs(p[1]) >= _NEAR)
        out = here if out is None else out | here
    return out


def edges_of(setup: Setup, chosen: Array, fill: Literal["lower", "upper"], sample: tuple[int, int]) -> Edges:
    """Return the edges of the triangles marked in `chosen`; see `rasterize`."""
    numbers = np.flatnonzero(chosen)
    p = setup.snapped[numbers] + (_HALF - np.array(sample))
    a, b, c = corners_of(p)
    far, area = is_far(a, b, c), doubled_area(a, b, c)
    if far.any():
        area[far] = [_exact_area(q) for q in p[far]]
    e = edge_functions(a, b, c, area < 0, fill)
    corners = np.moveaxis(np.array(e.corners), 2, 0)
    value = np.stack(e.value, axis=1)
    value[far] = 0
    return Edges(
        numbers, area != 0, far, corners, np.stack(e.inclusive, axis=1), np.stack(e.along_x, axis=1),
        np.stack(e.along_y, axis=1), value, np.stack(e.low, axis=1), np.stack(e.high, axis=1),
    )  # fmt: skip


def covers(edges: Iterable[tuple[Numbers, Numbers, Numbers]], x: Numbers, y: Numbers) -> Numbers:
    """Return whether pixels are inside of edges, (along x, along y, value) each. Compiled code is traced from it."""
    out: Numbers = None
    for along_x, along_y, value in edges:
        here = along_y * y + value + along_x * x >= 0
        out = here if out is None else out & here
    return out


def rasterize(
    setup: Setup,
    chosen: Array,
    bounds: Bounds,
    fill: Literal["lower", "upper"] = "lower",
    sample: tuple[int, int] = (_HALF, _HALF),
) -> Quads:
    """Return quads of the triangles marked in `chosen`, inside `bounds` = (x0, y0, x1, y1), the last exclusive.

    `sample`: the tested position inside a pixel, in sub-pixel units.
    """
    return quads_of(edges_of(setup, chosen, fill, sample), bounds)


def quads_of(e: Edges, bounds: Bounds) -> Quads:
    """Return the quads of triangles inside `bounds`."""
    found = [
        _far_triangle(e.corners[k], e.numbers[k], e.inclusive[k], bounds, e.low[k], e.high[k])
        for k in np.flatnonzero(e.far & e.kept).tolist()
    ]

    def inside(some: Array, xs: Array, ys: Array) -> Array:
        along_x, along_y, value = e.along_x[some].T, e.along_y[some].T, e.value[some].T
        edges = zip(along_x[..., None, None], along_y[..., None, None], value[..., None, None], strict=True)
        return covers(edges, xs[:, None, :], ys[:, :, None])

    found += _boxes(e.numbers, e.kept & ~e.far, e.low, e.high, bounds, inside)
    return in_order(found)


def _exact_area(q: Array) -> int:
    (ax, ay), (bx, by), (cx, cy) = q.tolist()
    area = (bx - ax) * (cy - ay) - (cx - ax) * (by - ay)
    return (area > 0) - (area < 0)


def _far_triangle(p: Array, number: int, inclusive: Array, bounds: Bounds, low: Array, high: Array) -> Quads:
    """Rasterize a triangle with corners so far away that its edge functions need Python's integers."""

    def inside(some: Array, xs: Array, ys: Array) -> Array:
        out = np.ones((len(xs), ys.shape[1], xs.shape[1]), bool)
        for k in range(3):
            (ax, ay), (bx, by) = p[k].tolist(), p[(k + 1) % 3].tolist()
            dx, dy = bx - ax, by - ay
            value = dx * (_HALF - ay) - dy * (_HALF - ax) - (not inclusive[k])
            rows = dx * SUBPIXEL * ys.astype(object) + value
            out &= (rows[:, :, None] - dy * SUBPIXEL * xs.astype(object)[:, None, :] >= 0).astype(bool)
        return out

    return in_order(list(_boxes(np.array([number]), np.array([True]), low[None], high[None], bounds, inside)))


def box_pixels(low: Array, high: Array, chosen: Array, bounds: Bounds) -> int:
    """Return an upper bound of the number of pixels in boxes from `low` to `high` [n, 2], in sub-pixel units."""
    first = np.maximum(low[chosen] >> _BITS, bounds[:2])
    last = np.minimum((high[chosen] >> _BITS) + 1, bounds[2:])
    return int(np.maximum(last - first, 0).prod(axis=1).sum())


def in_order(found: list[Quads]) -> Quads:
    """Join quads of several groups, in the order of their primitives."""
    if len(found) == 1:
        return found[0]
    if not found:
        none = np.zeros(0, np.int64)
        return Quads(none, none, np.zeros((0, 4), bool), none)
    primitive = np.concatenate([f.primitive for f in found])
    order = np.argsort(primitive, kind="stable")
    shares = [f.shares for f in found if f.shares is not None]
    return Quads(
        np.concatenate([f.x for f in found])[order],
        np.concatenate([f.y for f in found])[order],
        np.concatenate([f.covered for f in found])[order],
        primitive[order],
        shares=np.concatenate(shares)[order] if shares else None,
    )


def _boxes(
    numbers: Array, kept: Array, low: Array, high: Array, bounds: Bounds, inside: Callable[[Array, Array, Array], Array]
) -> Iterator[Quads]:
    """Yield quads of the primitives `kept`, with pixels from `low` to below `high` [n, 2].

    `inside(some, xs, ys)` returns which of the pixels [n, columns], [n, rows] of some primitives are covered. Boxes of
    similar size are processed together.
    """
    x0, y0 = np.maximum(low[:, 0], bounds[0]), np.maximum(low[:, 1], bounds[1])
    x1, y1 = np.minimum(high[:, 0], bounds[2]), np.minimum(high[:, 1], bounds[3])
    qx, qy = x0 >> 1, y0 >> 1
    across, down = (x1 + 1 >> 1) - qx, (y1 + 1 >> 1) - qy
    some = np.flatnonzero(kept & (x0 < x1) & (y0 < y1))
    if not len(some):
        return
    width = np.exp2(np.ceil(np.log2(across[some]))).astype(np.int64)
    height = np.exp2(np.ceil(np.log2(down[some]))).astype(np.int64)
    key = width << 32 | height
    for size in np.unique(key).tolist():
        w, h = int(size) >> 32, int(size) & 0xFFFF_FFFF
        alike = some[key == size]
        if len(alike) == 1:  # no need to look at more than the box
            w, h = int(across[alike[0]]), int(down[alike[0]])
        portion = max(1, _AT_ONCE // (4 * w * h))
        for start in range(0, len(alike), portion):
            part = alike[start : start + portion]
            xs = 2 * qx[part, None] + np.arange(2 * w)
            ys = 2 * qy[part, None] + np.arange(2 * h)
            got = inside(part, xs, ys)
            got &= ((xs >= x0[part, None]) & (xs < x1[part, None]))[:, None, :]
            got &= ((ys >= y0[part, None]) & (ys < y1[part, None]))[:, :, None]
            four = got.reshape(len(part), h, 2, w, 2).transpose(0, 1, 3, 2, 4).reshape(len(part), h, w, 4)
            at = np.flatnonzero(four.any(axis=3))
            if len(at):
                n, rest = np.divmod(at, h * w)
                row, column = np.divmod(rest, w)
                which = part[n]
                yield Quads(2 * (qx[which] + column), 2 * (qy[which] + row), four.reshape(-1, 4)[at], numbers[which])


def rasterize_points(
    centres: Array, sizes: Array, chosen: Array, bounds: Bounds, sample: tuple[int, int] = (_HALF, _HALF)
) -> Quads:
    """Return squares around window positions [n, 2]; left and lower edges belong to them."""
    reach = sizes[:, None] / 2
    shift = np.array(sample)
    low = -(-(snapped(centres - reach) - shift) // SUBPIXEL)
    high = -(-(snapped(centres + reach) - shift) // SUBPIXEL)

    def inside(some: Array, xs: Array, ys: Array) -> Array:
        return np.ones((len(some), ys.shape[1], xs.shape[1]), bool)

    return in_order(list(_boxes(np.arange(len(centres)), chosen, low, high, bounds, inside)))


Stipple = tuple[int, int, Array]
"""Factor, 16-bit pattern, and for each line whether the pattern restarts."""


def rasterize_lines(
    ends: Array,
    width: float,
    chosen: Array,
    bounds: Bounds,
    stipple: Stipple | None = None,
    diamonds: bool = True,
    look_at: Callable[[int], None] | None = None,
) -> Quads:
    """Return lines between window positions [n, 2, 2], `width` pixels wide.

    `look_at` is called with the number of pixels whose boxes need as much memory as the lines, before it is allocated.

    A line has the pixels whose diamond it leaves: one for each column (or row, where it is steep) whose centre it
    passes, and that of its first point when this lies in the diamond behind the centre; that of its last point belongs
    to the next line if the point lies in the diamond. Without `diamonds`, the centres alone decide. Wide lines grow in
    the other direction. Source: [gl] "Basic Line Segment Rasterization".
    """
    a, b = ends[:, 0], ends[:, 1]
    delta = b - a
    steep = np.abs(delta[:, 1]) > np.abs(delta[:, 0])
    axis = steep.astype(np.int64)
    n = np.arange(len(ends))
    begin, end = (snapped(p[n, axis]) for p in (a, b))
    # Columns whose centre is reached: from the first end on, up to but without the second.
    forward = end >= begin
    low = np.where(forward, -(-(begin - _HALF) // SUBPIXEL), (end - _HALF) // SUBPIXEL + 1)
    high = np.where(forward, -(-(end - _HALF) // SUBPIXEL), (begin - _HALF) // SUBPIXEL + 1)
    entered, left = (_in_diamond(p, axis, forward) * diamonds for p in (a, b))
    low, high = low - np.where(forward, entered, -1 * left), high + np.where(forward, -1 * left, entered)
    first = np.maximum(low, np.where(steep, bounds[1], bounds[0]))
    last = np.minimum(high, np.where(steep, bounds[3], bounds[2]))
    counts = np.where(chosen, np.maximum(last - first, 0), 0).astype(np.intp, copy=False)
    wide = max(1, round(width))
    if look_at is not None:
        look_at(_BOX_PIXELS * int(counts.sum()) * min(wide, max(bounds[2] - bounds[0], bounds[3] - bounds[1])))
    number, offset = members(counts)
    major = np.where(forward[number], first[number] + offset, last[number] - 1 - offset)
    if stipple is not None:
        factor, pattern, restarts = stipple
        steps = np.where(chosen, np.maximum(high - low, 0), 0)
        before = np.cumsum(steps) - steps
        group = np.cumsum(restarts) - 1
        before = before - before[np.flatnonzero(restarts)][group] if len(group) and restarts[0] else before
        along = np.where(forward[number], major - low[number], high[number] - 1 - major) + before[number]
        drawn = (pattern >> (along // max(1, factor) & 15) & 1).astype(bool)
        number, major = number[drawn], major[drawn]
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = np.where(delta[n, axis] == 0, 0.0, delta[n, 1 - axis] / delta[n, axis])
    at = a[number, 1 - axis[number]] + (major + 0.5 - a[number, axis[number]]) * slope[number]
    is_steep = steep[number]
    minor = snapped(at - (wide - 1) / 2) // SUBPIXEL
    begin = np.maximum(minor, np.where(is_steep, bounds[0], bounds[1]))
    across = np.maximum(np.minimum(minor + wide, np.where(is_steep, bounds[2], bounds[3])) - begin, 0)
    major, number, begin, is_steep, ends_at = (
        np.repeat(v, across) for v in (major, number, begin, is_steep, np.cumsum(across) - across)
    )
    minor = begin + np.arange(len(begin)) - ends_at
    x, y = np.where(is_steep, minor, major), np.where(is_steep, major, minor)
    ok = (x >= bounds[0]) & (x < bounds[2]) & (y >= bounds[1]) & (y < bounds[3])
    return pixels_in_quads(x[ok], y[ok], number[ok])


def members(counts: Array) -> tuple[Array, Array]:
    """Return for each member of groups of `counts` members (number of its group, its index in the group)."""
    group = np.repeat(np.arange(len(counts)), counts)
    return group, np.arange(len(group)) - np.repeat(np.cumsum(counts) - counts, counts)


def rectangle_triangles(ends: Array, width: float) -> list[Array]:
    """Return the two triangles, f64 [n, 3, 2] each, of rectangles along lines that are `width` wide.

    Source: [gl] "Line Multisample Rasterization".
    """
    a, b = ends[:, 0], ends[:, 1]
    delta = b - a
    length = np.hypot(delta[:, 0], delta[:, 1])
    side = np.stack((-delta[:, 1], delta[:, 0]), axis=1) * (width / 2 / np.where(length == 0, np.inf, length))[:, None]
    corners = a - side, b - side, b + side, a + side
    return [np.stack([corners[k] for k in some], axis=1) for some in ((0, 1, 2), (0, 2, 3))]


def _in_diamond(point: Array, axis: Array, forward: Array) -> Array:
    """Return 1 for points [n, 2] in the diamond of a pixel, behind its centre along their line, else 0."""
    n = np.arange(len(point))
    along, across = (snapped(point[n, k]) % SUBPIXEL - _HALF for k in (axis, 1 - axis))
    behind = np.where(forward, along > 0, along < 0)
    return (behind & (np.abs(along) + np.abs(across) < _HALF)).astype(np.int64)


def pixels_in_quads(x: Array, y: Array, primitive: Array, shares: Array | None = None) -> Quads:
    """Return single pixels of primitives, collected in quads; pixels of a primitive in one quad are in one."""
    if not len(x):
        return in_order([])
    quads, where = _distinct(primitive, x, y)
    place = where, (x & 1) + 2 * (y & 1)
    covered = np.zeros((len(quads), 4), bool)
    covered[place] = True
    of_quads = None
    if shares is not None:
        of_quads = np.zeros((len(quads), 4), np.float32)
        of_quads[place] = shares
    return replace(quads, covered=covered, shares=of_quads)


def _distinct(primitive: Array, x: Array, y: Array) -> tuple[Quads, Array]:
    """Return the quads of pixels of primitives, each once and none covered, and for each pixel the number of its quad.

    The time is proportional to the number of pixels if they come in a few ascending runs, as rasterized ones do.
    """
    key = primitive << 32 | (y >> 1) << 16 | x >> 1
    order = np.argsort(key, kind="stable")
    ascending = key[order]
    first = np.ones(len(key), bool)
    first[1:] = ascending[1:] != ascending[:-1]
    where = np.empty(len(key), np.intp)
    where[order] = np.cumsum(first) - 1
    key = ascending[first]
    low = 0xFFFF
    return Quads(2 * (key & low), 2 * (key >> 16 & low), np.zeros((len(key), 4), bool), key >> 32), where


def kept_pixels(q: Quads, kept: Numbers) -> Quads:
    """Return quads with fewer covered pixels: `kept` bool [n, 4]. Quads without any are left out."""
    covered = q.covered & kept
    some: Array = covered.any(axis=1)
    samples = None if q.samples is None else (q.samples & kept[:, :, None])[some]
    shares = None if q.shares is None else q.shares[some]
    return Quads(q.x[some], q.y[some], covered[some], q.primitive[some], samples, shares)


def with_samples(parts: list[Quads]) -> Quads:
    """Return coverage at each sample, joined: a pixel is covered where one of its samples is."""
    quads, where = _distinct(*(np.concatenate(v) for v in zip(*((q.primitive, q.x, q.y) for q in parts), strict=True)))
    samples = np.zeros((len(quads), 4, len(parts)), bool)
    at = 0
    for k, q in enumerate(parts):
        samples[where[at : at + len(q)], :, k] = q.covered
        at += len(q)
    return replace(quads, covered=np.asarray(samples.any(axis=2)), samples=samples)


def pixels(q: Quads) -> tuple[Array, Array]:
    """Return x and y of all four pixels of quads, [n, 4]."""
    return q.x[:, None] + np.array([0, 1, 0, 1]), q.y[:, None] + np.array([0, 0, 1, 1])
