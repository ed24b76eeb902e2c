"""Set-up of triangles as machine code, traced from the rules of `primitives`, `clip`, `raster` and `planes`.

A group is 16 triangles, in the order of their primitives. Those that are not drawn have an empty box. If a triangle
must be cut, or is so far away that its edge functions need more than 64 bits, the array code sets up the whole draw.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import DTypeLike

from isakit.engine.llvm import host
from isakit.engine.llvm.array_tracer import LANES, TracedArray
from isakit.engine.llvm.builder import F64, I16, I32, I64, IrType
from isakit.engine.protocol import Array
from isakit.graphics.clip import plane_distances
from isakit.graphics.compiled_planes import PLANES, CompiledPlanes
from isakit.graphics.compiled_quads import COUNT, GROUP, CompiledFunction, JobSlots, Name, QuadFunction, function_of
from isakit.graphics.compiled_raster import COLUMNS, looped, rasterize
from isakit.graphics.draw_state import DrawState, GraphicsChoices, Viewport
from isakit.graphics.planes import Corners, Planes, plane_steps
from isakit.graphics.primitives import Drawn, Rasterizer, window_of
from isakit.graphics.raster import (
    SUBPIXEL,
    Bounds,
    Numbers,
    Quads,
    Setup,
    doubled_area,
    edge_functions,
    in_order,
    is_far,
    snapped,
)
from isakit.graphics.vertices import Vertices

_BOUNDS = ("low_x", "low_y", "high_x", "high_y")
ROWS = (*COLUMNS, "quads")
"""Rows of a table of i64: the input of the loop over pixels, and the number of quads in the box around a triangle."""


@dataclass(frozen=True)
class SetupKey:
    """Properties that are built into a function; see `DrawState` and `GraphicsChoices`.

    `cut`: the triangles were cut, and their positions are f64.
    """

    half_z: bool
    depth_clamp: bool
    window_positions: bool
    front: str
    cull: str | None
    planes: str
    fill: Literal["lower", "upper"]
    cut: bool = False


def written(q: SetupKey) -> QuadFunction:
    """Emit the function: it returns (triangles drawn) * 2**32 + (triangles it cannot set up)."""
    f = QuadFunction()
    code = f.code
    number: Numbers = code.scalar(code.body.mul(GROUP, LANES), np.int64) + np.arange(LANES)
    there = number < f.number("count")
    positions = _positions(f, np.minimum(number, f.number("count") - 1), np.float64 if q.cut else np.float32)
    outside, odd = _clipped(q, positions)
    view: list[list[Numbers]] = [[f.float(f"{what}{axis}") for axis in "xyz"] for what in ("scale", "translate")]
    placed = [(x, y, z, 1.0 / w) if q.window_positions else window_of(x, y, z, w, *view) for x, y, z, w in positions]
    finite = _all(np.isfinite(v) for corner in placed for v in corner[:2])
    a, b, c = ((snapped(np.where(finite, x, 0.0)), snapped(np.where(finite, y, 0.0))) for x, y, _, _ in placed)
    area = doubled_area(a, b, c)
    front = (area > 0) == (q.front == "ccw")
    drawn = there & ~outside & finite & (area != 0)
    if q.cull is not None:
        drawn = drawn & (front if q.cull == "back" else ~front)
    far = is_far(a, b, c)
    edges = edge_functions(a, b, c, area < 0, q.fill)
    bound: dict[str, Numbers] = {name: f.number(name) for name in _BOUNDS}
    x0, y0 = np.maximum(edges.low[0], bound["low_x"]), np.maximum(edges.low[1], bound["low_y"])
    x1, y1 = np.minimum(edges.high[0], bound["high_x"]), np.minimum(edges.high[1], bound["high_y"])
    boxed: Numbers = drawn & (x0 < x1) & (y0 < y1)
    x0, y0, x1, y1 = (np.where(boxed, v, 0) for v in (x0, y0, x1, y1))
    quads = ((x1 + 1 >> 1) - (x0 >> 1)) * ((y1 + 1 >> 1) - (y0 >> 1))
    _store(f, "table", I64, [number, x0, y0, x1, y1, *edges.along_x, *edges.along_y, *edges.value, quads])
    corners = [(v[0], v[1]) for v in placed]
    if q.planes == "snapped":
        corners = [(v[0] / SUBPIXEL, v[1] / SUBPIXEL) for v in (a, b, c)]
    to_x, to_y = plane_steps(*corners)
    depth = [v[2] + 0.0 for v in placed]
    _store(f, "planes", F64, [*(v[3] for v in placed), *depth, *corners[0], *to_x, *to_y])
    code.store(np.where(front, np.uint32(0xFFFF_FFFF), np.uint32(0)), f.row("front", I32, 0))  # type: ignore[arg-type]
    _count(code.of(drawn), 32, f)
    _count(code.of(there & (odd | (far & drawn))), 0, f)
    return f


def _positions(f: QuadFunction, number: TracedArray, dtype: DTypeLike) -> list[list[Numbers]]:
    """Load the clip positions of the corners of primitives."""
    out: list[list[Numbers]] = []
    for k in range(3):
        vertex = f.code.gathered(f.slot("corners"), number * 3 + k, np.int64)
        out.append([f.code.gathered(f.slot(axis), vertex, dtype).astype(np.float64) for axis in "xyzw"])
    return out


def _clipped(q: SetupKey, positions: list[list[Numbers]]) -> tuple[Numbers, Numbers]:
    """Return which triangles are behind a plane, and which are cut by one; see `clip.clipped`."""
    if q.window_positions or q.cut:
        nothing = np.zeros(LANES, bool)
        return nothing, nothing
    behind = [[~(d >= 0) for d in plane_distances(z, w, q.half_z, q.depth_clamp)] for _, _, z, w in positions]
    outside = ~_all(np.isfinite(v) for p in positions for v in p)
    crossing: Numbers = np.zeros(LANES, bool)
    for plane in zip(*behind, strict=True):
        outside = outside | (plane[0] & plane[1] & plane[2])
        crossing = crossing | plane[0] | plane[1] | plane[2]
    return outside, crossing & ~outside


def _all(conditions: Iterable[Numbers]) -> Numbers:
    out: Numbers = None
    for here in conditions:
        out = here if out is None else out & here
    return out


def _store(f: QuadFunction, name: str, element: IrType, rows: list[Numbers]) -> None:
    for k, value in enumerate(rows):
        f.code.store(f.code.of(value), f.row(name, element, k))


def _count(lanes: TracedArray, shift: int, f: QuadFunction) -> None:
    """Add the number of lanes, times a power of two, to the function's result."""
    b = f.code.body
    bits = b.zext(b.intrinsic("ctpop", b.bitcast(lanes.ref, I16)), I64)
    b.store(b.add(b.load(I64, COUNT), b.shl(bits, shift)), COUNT)


@dataclass(frozen=True)
class CompiledTriangles:
    """See `primitives.Compiled`; `whole`: compile code however few triangles there are."""

    whole: bool

    def rasterize(
        self, setup: Setup, chosen: Array, bounds: Bounds, fill: Literal["lower", "upper"], sample: tuple[int, int]
    ) -> Quads:
        """See `raster.rasterize`."""
        return rasterize(setup, chosen, bounds, fill, sample, whole=self.whole)

    def set_up(self, v: Vertices, rasterizer: Rasterizer) -> Drawn | None:
        """Return the triangles to draw; None if the array code must find them."""
        state, choices, count = rasterizer.state, rasterizer.choices, len(v.primitives)
        if not count or not is_plain(state):
            return None
        made = setup_function(state, choices, None if self.whole else LANES * count)
        loop = looped(None if self.whole else LANES * count)
        if made is None or loop is None:
            return None
        room = -(-count // LANES) * LANES
        table, planes = np.empty((len(ROWS), room), np.int64), np.empty((len(PLANES), room))
        front = np.empty(room, np.uint32)
        job = made.job()
        primitives = np.ascontiguousarray(v.primitives, np.int64)
        arrays: dict[Name, Array] = {"corners": primitives, "table": table, "planes": planes, "front": front}
        arrays |= {axis: v.words[word] for axis, word in zip("xyzw", rasterizer.position_words, strict=True)}
        job.set_arrays(arrays)
        job.set_slot("count", count)
        job.set_slot("room", room)
        put_view(job, rasterizer.view, rasterizer.bounds)
        done = made.run(job.address, 0, room // LANES, 0)
        if done & 0xFFFF_FFFF:
            return None
        sizes = table[-1]
        total = int(sizes.sum())
        rasterizer.look_at(4 * total)
        quads = loop(table[:-1], int(sizes.max()), total) if total else in_order([])
        corners = triangle_corners(v, planes, front, state, self.whole)
        return Drawn(corners, quads, done >> 32, np.arange(count))


def is_plain(state: DrawState) -> bool:
    """Return whether compiled code can set up the triangles of a state."""
    special = (state.multisampling, state.offset, state.polygon_stipple, state.clip_distances or None)
    return all(s is None for s in special) and state.polygon_mode == ("fill", "fill") and not state.smooth_polygons


def setup_function(
    state: DrawState, choices: GraphicsChoices, pixels: int | None, cut: bool = False
) -> CompiledFunction | None:
    """Return the function for a state; see `SetupKey` and `function_of`. None also if everything is culled."""
    if state.cull == "both":
        return None
    ways = state.half_z, state.depth_clamp, state.window_positions, state.front, state.cull
    q = SetupKey(*ways, choices.planes, choices.fill, cut)
    return function_of(q, partial(written, q), host(), pixels)


def put_view(job: JobSlots, view: Viewport, bounds: Bounds) -> None:
    """Fill the slots of a job for the viewport and bounds of a draw."""
    for axis, scale, translate in zip("xyz", view.scale, view.translate, strict=True):
        job.set_slot(f"scale{axis}", float(scale))
        job.set_slot(f"translate{axis}", float(translate))
    for name, bound in zip(_BOUNDS, bounds, strict=True):
        job.set_slot(name, int(bound))


def triangle_corners(v: Vertices, planes: Array, front: Array, state: DrawState, whole: bool) -> Corners:
    """Return the corners of triangles that were set up; `planes` has whole groups, `whole` as `CompiledTriangles`."""
    count = len(v.primitives)
    p, clamped = planes[:, :count], state.clamp_vertex
    return Corners(
        Planes(p[6:8].T, ((p[8], p[9]), (p[10], p[11]))), p[:3].T, p[3:6].T,
        lambda word: values_of(v.words, [word], v.primitives, clamped)[0],
        lambda word: flat_values(v.words[word], v.provoking, word in clamped),
        front[:count] != 0, numbers=v.numbers, compiled=CompiledPlanes(v, planes, clamped, whole),
    )  # fmt: skip


def values_of(words: Array, chosen: Sequence[int], places: Array, clamped: tuple[int, ...]) -> Array:
    """Return output words of the vertices [places], f64 [chosen, *places]."""
    with np.errstate(invalid="ignore"):
        found = words[list(chosen)][:, places].view(np.float32).astype(np.float64)
    for k, word in enumerate(chosen):
        if word in clamped:
            found[k] = np.clip(np.nan_to_num(found[k]), 0, 1)
    return found


def flat_values(word: Array, provoking: Array, clamped: bool) -> Array:
    """Return an output word of the provoking vertices, u32."""
    found = word[provoking]
    if clamped:
        with np.errstate(invalid="ignore"):
            number = found.view(np.float32).astype(np.float64)
        found = np.clip(np.nan_to_num(number), 0, 1).astype(np.float32).view(np.uint32)
    return found


__all__ = [
    "ROWS", "CompiledTriangles", "SetupKey", "flat_values", "is_plain", "put_view", "setup_function",
    "triangle_corners", "values_of", "written",
]  # fmt: skip
