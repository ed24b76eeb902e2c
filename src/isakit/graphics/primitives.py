"""From the vertices of primitives to quads of pixels: clipping, division, viewport, culling, rasterization.

Source: [graphics] 3.4 to 3.6.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal, Protocol

import numpy as np

from isakit.engine.protocol import Array
from isakit.errors import LaunchError
from isakit.graphics.clip import Triangles, clipped, clipped_lines, distances
from isakit.graphics.draw_state import DrawState, GraphicsChoices, Multisampling, Viewport
from isakit.graphics.planes import Corners, LinePlanes, Planes, WordsAtCorners
from isakit.graphics.raster import (
    SUBPIXEL,
    Bounds,
    Numbers,
    Quads,
    Setup,
    box_pixels,
    corners_of,
    doubled_area,
    kept_pixels,
    pixels,
    pixels_in_quads,
    rasterize,
    rasterize_lines,
    rasterize_points,
    rectangle_triangles,
    snapped,
    with_samples,
)
from isakit.graphics.smooth import smooth_lines, smooth_points, smooth_triangles
from isakit.graphics.stage import OUTPUT_WORDS
from isakit.graphics.vertices import Vertices

LARGEST = 8192.0
"""Pixels of the largest point and the widest line: those of the largest target."""
_CENTRE = SUBPIXEL // 2, SUBPIXEL // 2
"""The centre of a pixel, in sub-pixel units."""
MOST_PIXELS, MOST_UNPARTED = 1 << 22, 1 << 27
"""Limits of the pixels tested together: for primitives that can be split, and for others."""
TURN = 1 << 16
"""Pixels that are tested in the time that a few separately drawn triangles take."""


class _TooLarge(Exception):
    """Primitives have more than MOST_PIXELS pixels in the boxes around them; split into `portions` they do not."""

    def __init__(self, pixels: int) -> None:
        super().__init__(pixels)
        self.portions = 2 * -(-pixels // MOST_PIXELS)


@dataclass(frozen=True)
class Drawn:
    """Quads of primitives of one sort, and the corners for their inputs.

    `triangles`: number drawn; `rows`: for each of `corners` its row of `Vertices.primitives`, None if they are not
    triangles.
    """

    corners: Corners
    quads: Quads
    triangles: int = 0
    rows: Array | None = None


class Compiled(Protocol):
    """Compiled counterparts of the array code here."""

    def set_up(self, v: Vertices, rasterizer: Rasterizer) -> Drawn | None:
        """Return the triangles to draw; None if the array code must find them."""
        ...

    def rasterize(
        self, setup: Setup, chosen: Array, bounds: Bounds, fill: Literal["lower", "upper"], sample: tuple[int, int]
    ) -> Quads:
        """See `raster.rasterize`."""
        ...


def window_of(
    x: Numbers, y: Numbers, z: Numbers, w: Numbers, scale: Sequence[Numbers], translate: Sequence[Numbers]
) -> tuple[Numbers, ...]:
    """Return (window x, y, depth, 1 / w) of clip positions. Compiled code is traced from it."""
    over_w = 1.0 / w
    x, y = x * over_w * scale[0] + translate[0], y * over_w * scale[1] + translate[1]
    return x, y, z * over_w * scale[2] + translate[2], over_w


class Rasterizer:
    """Rasterizes the primitives of a draw for one viewport.

    Args:
        state: of the draw.
        view: the viewport.
        bounds: pixels that may be drawn.
        choices: choices on open questions.
        unit: smallest step of the depth format, for polygon offset.
        position: output words of the clip-space position.
        point_size: output word of the point size, or None.
        compiled: compiled set-up and rasterization of triangles, in place of the array code.
        used: output words below this may be inputs of the fragments.
        spend: called with the number of pixels about to be tested.
    """

    def __init__(
        self,
        state: DrawState,
        view: Viewport,
        bounds: Bounds,
        choices: GraphicsChoices,
        unit: float,
        position: Sequence[int],
        point_size: int | None,
        compiled: Compiled | None = None,
        used: int = OUTPUT_WORDS,
        spend: Callable[[int], None] | None = None,
    ) -> None:
        self._spend, self._divisible = spend, False
        self._read: Array | None = None
        self._compiled = compiled
        self._rasterize = rasterize if compiled is None else compiled.rasterize
        self.state, self.view, self.bounds, self.choices, self.unit = state, view, bounds, choices, unit
        m = state.multisampling
        self._tested = m if m is not None and m.enabled else None  # samples that are covered one by one
        self.position_words, self.point_size = list(position), point_size
        self.clip_words = [d.o_word for d in state.clip_distances if d.mode == "clip"]
        own = (*position, *(d.o_word for d in state.clip_distances), -1 if point_size is None else point_size)
        self._words = min(OUTPUT_WORDS, max(used, max(own) + 1))

    def __call__(self, v: Vertices) -> Iterator[Drawn]:
        """Yield the primitives to draw, in order, in portions if their boxes have many pixels.

        Raises LaunchError for lines that cannot be split.
        """
        v = v.plain()
        stippled = v.primitives.shape[1] == 2 and self.state.line_stipple is not None  # a pattern runs through them
        waiting = [(0, len(v.primitives))]
        while waiting:
            start, stop = waiting.pop()
            self._divisible = stop - start > 1 and not stippled
            try:
                drawn = self._drawn(v if stop - start == len(v.primitives) else v.part(slice(start, stop)))
            except _TooLarge as e:
                step = max(1, (stop - start) // e.portions)
                waiting += [(n, min(n + step, stop)) for n in range(start, stop, step)][::-1]
                continue
            for d in drawn:
                yield replace(d, rows=d.rows + start) if start and d.rows is not None else d

    def look_at(self, pixels: int) -> None:
        """Count pixels that will be tested.

        Raises _TooLarge if primitives have to be split, or LaunchError if they cannot be.
        """
        if pixels > MOST_PIXELS and self._divisible:
            raise _TooLarge(pixels)
        if pixels > MOST_UNPARTED:
            raise LaunchError(f"lines cover {pixels} pixels, and cannot be drawn in parts; at most {MOST_UNPARTED} can")
        if self._spend is not None:
            self._spend(pixels)

    def _drawn(self, v: Vertices) -> list[Drawn]:
        if self._compiled is not None and v.primitives.shape[1] == 3:
            drawn = self._compiled.set_up(v, self)
            if drawn is not None:
                return [drawn]
        if self._read is not v.words:
            self._read = v.words
            self._read_words(v.words[: self._words])
        for d in self.state.clip_distances:
            if d.mode == "cull":
                v = v.part(~(self._floats[d.o_word][v.primitives] < 0).all(axis=1))
        corners = v.primitives.shape[1]
        if not len(v.primitives):
            return []
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            if corners == 1:
                return [self._points(v.primitives[:, 0], v.provoking, v.numbers, None)]
            if corners == 2:
                return [self._lines(v.primitives, v.provoking, v.numbers, v.restarts, None)]
            return self._triangles(v)

    def _read_words(self, raw: Array) -> None:
        """Convert the words of vertices to the numbers that the rules here take."""
        with np.errstate(invalid="ignore"):
            floats = raw.view(np.float32).astype(np.float64)
        if self.state.clamp_vertex:
            some = [word for word in self.state.clamp_vertex if word < self._words]
            floats[some] = np.clip(np.nan_to_num(floats[some]), 0, 1)
            raw = raw.copy()
            raw[some] = floats[some].astype(np.float32).view(np.uint32)
        self._position = floats[self.position_words].T
        self._floats = floats
        self._flat = np.ascontiguousarray(raw.T)

    def _window(self, position: Array) -> tuple[Array, Array, Array]:
        """Return (window x and y, depth, 1 / w) of clip positions [..., 4]."""
        if self.state.window_positions:
            return position[..., :2], position[..., 2], 1.0 / position[..., 3]
        x, y, z, w = np.moveaxis(position, -1, 0)
        x, y, z, over_w = window_of(x, y, z, w, self.view.scale, self.view.translate)
        return np.stack((x, y), axis=-1), z, over_w

    # --- triangles ----------------------------------------------------------------------------------------------------
    def _triangles(self, v: Vertices) -> list[Drawn]:
        state = self.state
        values = np.ascontiguousarray(self._floats.T)[v.primitives]
        t = Triangles(self._position[v.primitives], values, self._flat[v.provoking], np.arange(len(v.primitives)))
        before = t
        if not state.window_positions:
            t = clipped(t, state.half_z, state.depth_clamp, self.clip_words)
        window, depth, over_w = self._window(t.position)
        whole = None
        if len(t) and t is not before and bool((before.position[:, :, 3] > 0).all()):
            # Screen-space planes of cut triangles are those of the whole ones. Source: [gl] "Polygon Clipping".
            whole = Planes.at(self._window(before.position)[0]), words_at(before.values), t.number
        finite: Array = np.logical_and.reduce(np.isfinite(window), axis=(1, 2))
        grid = snapped(np.where(finite[:, None, None], window, 0.0))
        area = doubled_area(*corners_of(grid))
        front = (area > 0) == (state.front == "ccw")
        chosen = (area != 0) & finite
        if state.cull == "both":
            chosen[:] = False
        elif state.cull is not None:
            chosen &= front if state.cull == "back" else ~front
        modes = state.polygon_mode
        if modes[0] != modes[1]:
            turns = _turns(t.number[chosen], front[chosen])
            if len(turns):
                return self._in_turns(v, turns)
        depth = depth + self._offset(window, depth)[:, None]
        filled = chosen & np.where(front, modes[0] == "fill", modes[1] == "fill")
        self.look_at(box_pixels(grid.min(axis=1), grid.max(axis=1), filled, self.bounds))
        planes = Planes.at(grid / SUBPIXEL if self.choices.planes == "snapped" else window)
        words = words_at(t.values), words_at(t.flat)
        corners = Corners(planes, over_w, depth, *words, front, numbers=v.numbers[t.number], whole=whole)
        setup = Setup(window, grid, front)
        if self._tested is not None:
            quads = with_samples(self._at_samples(setup, filled, self._tested))
        elif state.smooth_polygons:
            quads = self._at_all_samples(smooth_triangles(window, filled, self.bounds, self.look_at))
        else:
            quads = self._at_all_samples(self._rasterize(setup, filled, self.bounds, self.choices.fill, _CENTRE))
        if state.polygon_stipple is not None and len(quads):
            rows = np.array(state.polygon_stipple, np.uint32)
            x, y = pixels(quads)
            quads = kept_pixels(quads, (rows[y & 31] >> (31 - (x & 31)).astype(np.uint32) & 1).astype(bool))
        out = [Drawn(corners, quads, int(chosen.sum()), t.number)]
        if modes != ("fill", "fill"):
            # The outline is drawn from the whole polygon: its first piece says which way it faces.
            pieces = np.flatnonzero(chosen & ~filled)
            which, first = np.unique(t.number[pieces], return_index=True)
            if len(which):
                pieces = pieces[first]
                mode = modes[0] if front[pieces[0]] else modes[1]
                out.append(self._outline(v.part(which), mode, front[pieces], self._offset(window, depth, mode)[pieces]))
        return out

    def _in_turns(self, v: Vertices, turns: Array) -> list[Drawn]:
        """Return triangles whose sides have different modes: up to each of `turns` they face the same way."""
        if self._spend is not None:
            self._spend(TURN * len(turns))
        out: list[Drawn] = []
        for start, stop in pairwise((0, *turns.tolist(), len(v.primitives))):
            drawn = self._triangles(v.part(slice(start, stop)))
            out += [d if d.rows is None else replace(d, rows=d.rows + start) for d in drawn]
        return out

    def _outline(self, v: Vertices, mode: str, front: Array, shift: Array) -> Drawn:
        """Return the boundary edges of triangles as lines, or their corners as points."""
        which, corner = np.nonzero(v.edges)
        begin, end = v.primitives[which, corner], v.primitives[which, (corner + 1) % 3]
        facing = front[which]
        if mode == "point":
            return self._points(begin, v.provoking[which], v.numbers[which], facing, shift[which])
        ends = np.stack((begin, end), axis=1)
        restarts = corner == 0
        restarts[:1] = True
        return self._lines(ends, v.provoking[which], v.numbers[which], restarts, facing, shift[which])

    def _offset(self, window: Array, depth: Array, mode: str = "fill") -> Array:
        """Return polygon offset of triangles, [n]."""
        o = self.state.offset
        if o is None or not getattr(o, mode):
            return np.zeros(len(window))
        _, dx, dy = Planes.at(window).of(depth)
        slope = np.maximum(np.abs(dx), np.abs(dy))
        unit = self.unit
        if unit == 2.0**-23:  # floating point depth: a step at the largest depth of the triangle
            largest = np.maximum(np.abs(depth).max(axis=1), 2.0**-126)
            step = np.exp2(np.floor(np.log2(largest)) - 23)
        else:
            step = np.full(len(window), unit)
        total = slope * o.factor + step * o.units
        if o.clamp > 0:
            total = np.minimum(total, o.clamp)
        elif o.clamp < 0:
            total = np.maximum(total, o.clamp)
        return np.nan_to_num(total)

    def _at_samples(self, setup: Setup, chosen: Array, m: Multisampling) -> list[Quads]:
        """Return the pixels whose samples triangles cover, sample by sample; all pixels are found at once."""
        n = len(chosen)
        moves = _CENTRE - 16 * np.array(m.positions)
        moved = replace(setup, snapped=(setup.snapped + moves[:, None, None]).reshape(-1, 3, 2))
        q = self._rasterize(moved, np.tile(chosen, len(moves)), self.bounds, self.choices.fill, _CENTRE)
        parts = pairwise(np.searchsorted(q.primitive, n * np.arange(len(moves) + 1)).tolist())
        return [Quads(q.x[a:b], q.y[a:b], q.covered[a:b], q.primitive[a:b] - k * n) for k, (a, b) in enumerate(parts)]

    def _sampled(self, rasterized: Callable[[tuple[int, int]], Quads]) -> Quads:
        """Return coverage at pixel centres, or at samples."""
        if self._tested is None:
            return self._at_all_samples(rasterized(_CENTRE))
        return with_samples([rasterized((16 * x, 16 * y)) for x, y in self._tested.positions])

    def _at_all_samples(self, quads: Quads) -> Quads:
        """Return quads in which all samples of covered pixels are covered; with one sample, the quads themselves."""
        m = self.state.multisampling
        if m is None:
            return quads
        return replace(quads, samples=np.repeat(quads.covered[:, :, None], len(m.positions), axis=2))

    # --- lines --------------------------------------------------------------------------------------------------------
    def _lines(
        self, ends: Array, provoking: Array, numbers: Array, restarts: Array, facing: Array | None,
        shift: Array | None = None,
    ) -> Drawn:  # fmt: skip
        state = self.state
        values = np.ascontiguousarray(self._floats.T)[ends]
        t = Triangles(self._position[ends], values, self._flat[provoking], np.arange(len(ends)))
        if not state.window_positions:
            t = clipped_lines(t, state.half_z, state.depth_clamp, self.clip_words)
        window, depth, over_w = self._window(t.position)
        if shift is not None:
            depth = depth + shift[t.number][:, None]
        chosen: Array = np.logical_and.reduce(np.isfinite(window), axis=(1, 2))
        window = np.where(chosen[:, None, None], window, 0.0)
        stipple = None if state.line_stipple is None else (*state.line_stipple, _first_of(restarts, t.number))
        diamonds = self.choices.lines == "diamond"
        width = min(state.line_width, LARGEST)
        if self._tested is not None and stipple is None:
            quads = self._rectangles(window, width, chosen, self._tested)
        elif state.smooth_lines and self._tested is None:
            quads = self._at_all_samples(smooth_lines(window, width, chosen, self.bounds, stipple, self.look_at))
        else:
            quads = self._sampled(
                lambda _: rasterize_lines(window, width, chosen, self.bounds, stipple, diamonds, self.look_at)
            )
        front = np.ones(len(t), bool) if facing is None else facing[t.number]
        words = words_at(t.values), words_at(t.flat)
        corners = Corners(LinePlanes(window), over_w, depth, *words, front, numbers=numbers[t.number])
        return Drawn(corners, quads)

    def _rectangles(self, ends: Array, width: float, chosen: Array, m: Multisampling) -> Quads:
        """Return the samples that rectangles along lines cover."""
        halves = rectangle_triangles(ends, width)
        setups = [Setup(half, snapped(half), chosen) for half in halves]
        every = np.concatenate([s.snapped for s in setups], axis=1)
        self.look_at(2 * box_pixels(every.min(axis=1), every.max(axis=1), chosen, self.bounds))
        halves_at = [self._at_samples(s, chosen, m) for s in setups]
        return with_samples([_joined(of_sample) for of_sample in zip(*halves_at, strict=True)])

    # --- points -------------------------------------------------------------------------------------------------------
    def _points(
        self, columns: Array, provoking: Array, numbers: Array, facing: Array | None, shift: Array | None = None
    ) -> Drawn:
        state = self.state
        p = self._position[columns]
        inside: Array = np.logical_and.reduce(np.isfinite(p), axis=1)
        if not state.window_positions:
            values = self._floats.T[columns]
            inside &= (distances(p, values, state.half_z, state.depth_clamp, self.clip_words) >= 0).all(axis=1)
        window, depth, over_w = self._window(np.where(inside[:, None], p, 1.0))
        if shift is not None:
            depth = depth + shift
        sizes = np.full(len(p), min(float(state.point_size), LARGEST))
        if self.point_size is not None:
            sizes = np.clip(np.nan_to_num(self._floats[self.point_size, columns], nan=1.0), 1.0, LARGEST)
        reach = sizes[:, None] / 2
        if state.smooth_points and self._tested is None:
            quads = self._at_all_samples(smooth_points(window, sizes, inside, self.bounds, self.look_at))
        else:
            self.look_at(box_pixels(snapped(window - reach), snapped(window + reach), inside, self.bounds))
            quads = self._sampled(lambda sample: rasterize_points(window, sizes, inside, self.bounds, sample))
        values = np.repeat(self._floats.T[columns][:, None], 3, axis=1)
        corners = Corners(
            None,
            np.repeat(over_w[:, None], 3, axis=1),
            np.repeat(depth[:, None], 3, axis=1),
            words_at(values),
            words_at(self._flat[provoking]),
            np.ones(len(p), bool) if facing is None else facing,
            (window - sizes[:, None] / 2, sizes),
            upper=state.point_origin == "upper",
            numbers=numbers,
        )
        return Drawn(corners, quads)


def _joined(parts: Sequence[Quads]) -> Quads:
    """Join the quads of parts of the same primitives."""
    x, y, primitive, inside = (
        np.concatenate(v) for v in zip(*((*pixels(q), q.primitive, q.covered) for q in parts), strict=True)
    )
    return pixels_in_quads(x[inside], y[inside], np.repeat(primitive[:, None], 4, axis=1)[inside])


def _turns(number: Array, front: Array) -> Array:
    """Return the numbers of triangles that face another way than the previous ones."""
    first = np.unique(number, return_index=True)[1]
    number, front = number[first], front[first]
    return number[1:][front[1:] != front[:-1]]


def words_at(values: Array) -> WordsAtCorners:
    """Return the function from a word to that word of [..., words]."""
    return lambda word: values[..., word]


def _first_of(restarts: Array, number: Array) -> Array:
    """Return where stipple patterns restart, after some of the lines have been clipped away."""
    strip = np.cumsum(restarts)[number]
    out = np.ones(len(number), bool)
    out[1:] = strip[1:] != strip[:-1]
    return out
