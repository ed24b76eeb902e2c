"""Smooth lines, points and triangles: their coverage of each pixel, which scales the alpha of its fragment.

The hardware's computation is not known; here coverage is the area, as the specification requires. Source: [gl] "Line
Antialiasing", "Point Antialiasing", "Polygon Antialiasing"; [unknowns].
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from isakit.engine.protocol import Array
from isakit.graphics.raster import Bounds, Quads, Stipple, in_order, kept_pixels, members, pixels_in_quads

LEAST = 1 / 512
"""Pixels with a smaller coverage, which 8 bits cannot represent, have no fragment."""
_COLUMNS = 16
"""Number of columns of a pixel: its coverage by a disc or a triangle is the mean of the heights in them."""
_TOGETHER = 1 << 16
"""Number of pixels whose coverage by triangles is computed at once."""


def smooth_lines(
    ends: Array, width: float, chosen: Array, bounds: Bounds, stipple: Stipple | None, look_at: Callable[[int], None]
) -> Quads:
    """Return rectangles along lines between window positions [n, 2, 2] that are `width` wide, with shares.

    `look_at` is called with the number of tested pixels. The coverage of a pixel is the part between the long sides
    times the part between the ends: the area, except for pixels with a corner. In a stippled line, the bit at the
    position of the pixel's centre along the line applies.
    """
    a, delta = ends[:, 0], ends[:, 1] - ends[:, 0]
    length = np.hypot(delta[:, 0], delta[:, 1])
    chosen = chosen & (length > 0)
    along = delta / np.where(length > 0, length, 1)[:, None]
    steep: Array = np.abs(along[:, 1]) > np.abs(along[:, 0])
    axis = steep.astype(np.int64)
    n = np.arange(len(ends))
    # Rows or columns of pixels across the line: those that the rectangle's box reaches, of each what is near the line.
    reach = width / 2 * np.abs(along)[:, ::-1]
    low = np.floor(ends.min(axis=1) - reach)
    high = np.ceil(ends.max(axis=1) + reach)
    low, high = (np.clip(v, bounds[:2], bounds[2:]).astype(np.int64) for v in (low, high))
    major = n, axis
    minor = n, 1 - axis
    slope = along[minor] / np.where(along[major] == 0, 1, along[major])
    half = width / 2 * np.hypot(1, slope) + (1 + np.abs(slope)) / 2
    steps = np.where(chosen, np.maximum(high[major] - low[major], 0), 0)
    height = np.minimum(np.ceil(2 * half).astype(np.int64) + 1, np.maximum(high[minor] - low[minor], 0))
    look_at(int((steps * height).sum()))
    number, step = members(steps)
    here = low[number, axis[number]] + step
    middle = a[number, 1 - axis[number]] + (here + 0.5 - a[number, axis[number]]) * slope[number]
    first = np.maximum(np.floor(middle - half[number]).astype(np.int64), low[number, 1 - axis[number]])
    group, offset = members(height[number])
    number, here, there = number[group], here[group], first[group] + offset
    inside = there < high[number, 1 - axis[number]]
    number, here, there = number[inside], here[inside], there[inside]
    pixel = np.stack((here, there), axis=1)
    pixel[steep[number]] = pixel[steep[number], ::-1]
    x, y = pixel.T
    from_a = pixel + 0.5 - a[number]
    direction = along[number]
    on, off = (from_a * direction).sum(axis=1), from_a[:, 1] * direction[:, 0] - from_a[:, 0] * direction[:, 1]
    shares = _band(off, width / 2, direction) * _band(on - length[number] / 2, length[number] / 2, direction)
    if stipple is not None:
        factor, pattern, restarts = stipple
        before = np.cumsum(length) - length
        before -= before[np.flatnonzero(restarts)][np.cumsum(restarts) - 1]
        place = before[number] + np.clip(on, 0, length[number] * (1 - 2**-24))
        shares = shares * (pattern >> (place.astype(np.int64) // max(1, factor) & 15) & 1)
    return _with_shares(x, y, number, shares)


def smooth_points(centres: Array, sizes: Array, chosen: Array, bounds: Bounds, look_at: Callable[[int], None]) -> Quads:
    """Return discs around window positions [n, 2], `sizes` [n] across, with shares.

    `look_at` is called with the number of tested pixels.
    """
    reach = sizes[:, None] / 2
    low = np.clip(np.floor(centres - reach), bounds[:2], bounds[2:]).astype(np.int64)
    high = np.clip(np.ceil(centres + reach), bounds[:2], bounds[2:]).astype(np.int64)
    across, down = (np.where(chosen, high[:, k] - low[:, k], 0) for k in (0, 1))
    look_at(_COLUMNS * int((across * down).sum()))
    number, place = members(across * down)
    x, y = low[number, 0] + place % across[number], low[number, 1] + place // across[number]
    column = x[:, None] + (np.arange(_COLUMNS) + 0.5) / _COLUMNS - centres[number, 0, None]
    half = np.sqrt(np.maximum((sizes[number] / 2)[:, None] ** 2 - column**2, 0))
    bottom = (y - centres[number, 1])[:, None]
    heights = np.minimum(half, bottom + 1) - np.maximum(-half, bottom)
    return _with_shares(x, y, number, np.maximum(heights, 0).mean(axis=1))


def smooth_triangles(corners: Array, chosen: Array, bounds: Bounds, look_at: Callable[[int], None]) -> Quads:
    """Return the chosen triangles between window positions [n, 3, 2], of either winding, with shares.

    `look_at` is called with the number of tested pixels.
    """
    low = np.clip(np.floor(corners.min(axis=1)), bounds[:2], bounds[2:]).astype(np.int64)
    high = np.clip(np.ceil(corners.max(axis=1)), bounds[:2], bounds[2:]).astype(np.int64)
    side = np.roll(corners, -1, axis=1) - corners
    turn = np.sign(side[:, 0, 0] * side[:, 1, 1] - side[:, 0, 1] * side[:, 1, 0])[:, None]
    chosen = chosen & (turn[:, 0] != 0)  # what has an area where its corners are snapped may have none
    look_at(int(np.where(chosen, (high - low).prod(axis=1), 0).sum()))
    edges = _Edges(corners[..., 0], corners[..., 1], -turn * side[..., 1], turn * side[..., 0])
    first = low >> 1  # in quads, which are looked at some at a time: triangles may be as large as targets
    across, down = ((high + 1 >> 1) - first).T
    counts = np.where(chosen, across * down, 0)
    ends = np.cumsum(counts)
    total = int(counts.sum())
    parts: list[Quads] = []
    for start in range(0, total, _TOGETHER):
        index = np.arange(start, min(start + _TOGETHER, total))
        number = np.searchsorted(ends, index, side="right")
        place = index - (ends - counts)[number]
        x, y = 2 * (first[number, 0] + place % across[number]), 2 * (first[number, 1] + place // across[number])
        pixel_x, pixel_y = x[:, None] + (0, 1, 0, 1), y[:, None] + (0, 0, 1, 1)
        shares = edges.shares(pixel_x.ravel(), pixel_y.ravel(), np.repeat(number, 4)).reshape(-1, 4)
        within = (pixel_x >= bounds[0]) & (pixel_y >= bounds[1]) & (pixel_x < bounds[2]) & (pixel_y < bounds[3])
        covered = within & (shares >= LEAST)
        shares = np.where(covered, np.minimum(shares, 1), 0).astype(np.float32)
        parts.append(kept_pixels(Quads(x, y, covered, number, shares=shares), covered))
    return in_order(parts)


class _Edges:
    """Edges of triangles, [n, 3] each: a point on them, and the change of the distance from them along x and along y.

    Distances are those from the edge times its length, positive inside.
    """

    def __init__(self, x: Array, y: Array, dx: Array, dy: Array) -> None:
        self.x, self.y, self.dx, self.dy = x, y, dx, dy

    def shares(self, x: Array, y: Array, number: Array) -> Array:
        """Return the coverage of each pixel by the triangle of its `number`, 0 to 1."""
        px, py, dx, dy = self.x[number], self.y[number], self.dx[number], self.dy[number]
        middle = dx * (x[:, None] + 0.5 - px) + dy * (y[:, None] + 0.5 - py)
        reach = (np.abs(dx) + np.abs(dy)) / 2
        shares: Array = np.logical_and.reduce(middle >= reach, axis=1).astype(np.float64)
        cut = np.flatnonzero((shares == 0) & np.logical_and.reduce(middle > -reach, axis=1))
        columns = x[cut, None, None] + (np.arange(_COLUMNS) + 0.5) / _COLUMNS  # [pixel, 1, column]
        dx, dy = dx[cut, :, None], dy[cut, :, None]
        along = dx * (columns - px[cut, :, None])
        with np.errstate(divide="ignore", invalid="ignore"):
            bound = py[cut, :, None] - along / dy
        outside = (dy == 0) & (along < 0)
        lower = np.where(outside, np.inf, np.where(dy > 0, bound, -np.inf)).max(axis=1)
        upper = np.where(dy < 0, bound, np.inf).min(axis=1)
        heights = np.minimum(upper, y[cut, None] + 1) - np.maximum(lower, y[cut, None])
        shares[cut] = np.maximum(heights, 0).mean(axis=1)
        return shares


def _band(distance: Array, half: Array | float, direction: Array) -> Array:
    """Return the coverage of pixels by the band within `half` of a line, given the signed distance of their centres.

    The line goes along unit vectors [n, 2], or across them, which makes no difference for pixels.
    """
    return _half_plane(half - distance, direction) - _half_plane(-half - distance, direction)


def _half_plane(distance: Array, direction: Array) -> Array:
    """Return the exact coverage of pixels by half-planes, given the signed distance of their centres from the edge."""
    small, large = np.sort(np.abs(direction), axis=1).T
    d = np.minimum(np.abs(distance), (large + small) / 2)
    corner = np.maximum(d - (large - small) / 2, 0) ** 2 / np.maximum(2 * small * large, 1e-300)
    return 0.5 + np.copysign(d / large - corner, distance)


def _with_shares(x: Array, y: Array, primitive: Array, shares: Array) -> Quads:
    """Return pixels in quads, without those of negligible coverage."""
    kept = shares >= LEAST
    return pixels_in_quads(x[kept], y[kept], primitive[kept], np.minimum(shares[kept], 1).astype(np.float32))


__all__ = ["smooth_lines", "smooth_points", "smooth_triangles"]
