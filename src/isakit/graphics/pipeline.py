"""The pipeline: from vertex arrays to pixels, running programs in between. Source: [graphics] 3."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from isakit.engine.protocol import Array
from isakit.errors import LaunchError
from isakit.graphics.assembly import Attribute, assemble, fetch, packed_inputs
from isakit.graphics.clip import Triangles, clipped
from isakit.graphics.draw_state import DrawState, DrawStats, GraphicsChoices, Viewport
from isakit.graphics.merge import DepthBuffer, Merger, Target
from isakit.graphics.planes import Corners, Fragments, Planes
from isakit.graphics.raster import (
    Quads,
    Setup,
    doubled_area,
    rasterize,
    rasterize_points,
    snapped,
)
from isakit.graphics.shader import FragmentShader, GeometryShader, VertexShader
from isakit.graphics.stage import OUTPUT_WORDS, Emitted, Stage
from isakit.graphics.stage_engine import StageEngine
from isakit.graphics.texture_bindings import Bound, by_stage
from isakit.graphics.vertices import Vertices, emitted_vertices
from isakit.texture.sampler_state import Sampler
from isakit.texture.texture import Texture
from isakit.texture.texture_choices import DEFAULT_TEXTURING, TextureChoices

LANES = 1 << 15
"""Lanes that run side by side; small enough for the registers to stay in the cache."""
_Shaded = tuple[Array, list[Array], Array | None, int]
"""Positions of the fragments that are left, their colours and depth, instructions."""


class Pipeline:
    """Render targets and what draws into them.

    Args:
        width: pixels of a row.
        height: rows; row 0 is window y 0.
        targets: formats of the render targets: rgba8, rgba32f, rgba32ui, rgba32i, r32f, r32ui.
        depth: d24, d32f, or None for no depth buffer.
        choices: answers to open questions about the fixed functions.
        texturing: the same about textures.
        threads: fragments run in this many threads.
        engine: what executes programs: auto, reference or llvm.
        tier: of the llvm engine: auto, interp or jit.

    Attributes: `targets`, `depth_buffer`, `engine` (a `StageEngine`); of the last draw: `vertices` (outputs of the last
    vertex stage), `coverage` (its quads), `fragments` (their inputs), `numbers` (primitive of each rasterized triangle
    or point).
    """

    def __init__(
        self,
        width: int,
        height: int,
        *,
        targets: Sequence[str] = ("rgba8",),
        depth: Literal["d24", "d32f"] | None = "d24",
        choices: GraphicsChoices | None = None,
        texturing: TextureChoices = DEFAULT_TEXTURING,
        threads: int = 1,
        engine: str = "auto",
        tier: str = "auto",
    ) -> None:
        if width < 1 or height < 1 or max(width, height) > 8192:
            raise LaunchError(f"a target is 1 to 8192 pixels wide and high, not {width} x {height}")
        self.width, self.height = width, height
        self.targets = [Target(f, width, height) for f in targets]
        self.depth_buffer = None if depth is None else DepthBuffer(depth, width, height)
        self.choices, self.texturing, self.threads = choices or GraphicsChoices(), texturing, threads
        self.engine = StageEngine(engine, tier)
        self.vertices: Vertices | None = None
        self.coverage: Quads | None = None
        self.fragments: Fragments | None = None
        self.numbers: Array = np.zeros(0, np.int64)
        self.clear()

    # --- targets ----------------------------------------------------------------------------------------------------
    def clear(
        self,
        color: Sequence[float] = (0.0, 0.0, 0.0, 0.0),
        depth: float = 1.0,
        stencil: int = 0,
        target: int | None = None,
    ) -> None:
        """Fill one render target, or all of them together with depth and stencil."""
        for k, t in enumerate(self.targets):
            if target in (None, k):
                value = np.array([color], np.float32 if t.floating else t.pixels.dtype)
                t.pixels[:] = t.encoded(value, self.choices)[0] if t.floating else value[0, : t.pixels.shape[2]]
        if target is None and self.depth_buffer is not None:
            self.depth_buffer.depth[:] = self.depth_buffer.encoded(np.array([depth], np.float32))[0]
            self.depth_buffer.stencil[:] = stencil

    def image(self, target: int = 0) -> NDArray[Any]:
        """A copy of a render target, [height, width, components], row 0 at window y 0."""
        return self.targets[target].pixels.copy()

    def picture(self, target: int = 0) -> NDArray[np.uint8]:
        """A render target as it is looked at: uint8 [height, width, 4], the upper row first.

        Floating point targets are clamped to 0 to 1; of integer targets the low eight bits are shown.
        """
        t = self.targets[target]
        if t.format == "rgba8":
            out = t.pixels
        elif t.floating:
            out = np.rint(np.clip(np.nan_to_num(t.decoded(t.pixels)), 0, 1) * 255).astype(np.uint8)
        else:
            out = np.full((self.height, self.width, 4), 255, np.uint8)
            out[:, :, : t.pixels.shape[2]] = t.pixels & 0xFF
        return np.ascontiguousarray(out[::-1])

    @property
    def depth(self) -> NDArray[np.float32]:
        """Depth as f32 [height, width]."""
        if self.depth_buffer is None:
            raise LaunchError("this pipeline has no depth buffer")
        return self.depth_buffer.values()

    # --- drawing ----------------------------------------------------------------------------------------------------
    def draw(
        self,
        mode: str,
        vertex: VertexShader,
        fragment: FragmentShader,
        attributes: Sequence[Attribute | NDArray[Any]] = (),
        *,
        geometry: GeometryShader | None = None,
        count: int | None = None,
        first: int = 0,
        indices: NDArray[Any] | None = None,
        restart: int | None = None,
        instances: int = 1,
        state: DrawState | None = None,
        textures: Mapping[int, Bound] | Mapping[str, Mapping[int, Bound]] | None = None,
    ) -> DrawStats:
        """Draw primitives.

        Args:
            mode: points, triangles, triangle_strip, triangle_fan.
            vertex: the vertex program.
            fragment: the fragment program.
            attributes: vertex arrays, in the order of their numbers.
            geometry: the geometry program, if there is one.
            count: vertices to draw, where there are no indices; by default all.
            first: the first vertex, where there are no indices.
            indices: vertex numbers to draw in this order.
            restart: an index that ends a strip.
            instances: how often everything is drawn.
            state: fixed-function state.
            textures: number -> texture, or (texture, sampler); or such mappings for vertex, geometry and fragment.

        Raises LaunchError for what does not fit together, MachineFault for what a program does wrong.
        """
        started = time.perf_counter()
        state = state or DrawState()
        stats = DrawStats()
        arrays = [a if isinstance(a, Attribute) else Attribute(a) for a in attributes]
        bound = by_stage(textures)
        if indices is None:
            n = count if count is not None else max((len(a.data) for a in arrays if not a.divisor), default=0)
            order = np.arange(first, first + n)
        else:
            order = np.asarray(indices).astype(np.int64).ravel()
        self.vertices = self._vertices(mode, vertex, arrays, order, restart, instances, state, bound["vertex"], stats)
        last: VertexShader | GeometryShader = vertex
        if geometry is not None:
            self.vertices = self._geometry(geometry, self.vertices, bound["geometry"], stats)
            last = geometry
        stats.stages["vertices"] = time.perf_counter() - started
        self._fragments(self.vertices, last, fragment, state, bound["fragment"], stats)
        stats.seconds = time.perf_counter() - started
        return stats

    def _vertices(
        self,
        mode: str,
        vertex: VertexShader,
        arrays: Sequence[Attribute],
        order: Array,
        restart: int | None,
        instances: int,
        state: DrawState,
        bound: Mapping[int, Bound],
        stats: DrawStats,
    ) -> Vertices:
        numbers, column = np.unique(order[order != restart] if restart is not None else order, return_inverse=True)
        n = len(numbers)
        where = np.zeros(len(order), np.int64)
        where[order != restart if restart is not None else slice(None)] = column
        inputs = vertex.inputs
        if inputs is None:
            inputs = packed_inputs(arrays, vertex.vertex_id, vertex.instance_id)
        ids, instance = np.tile(numbers, instances), np.repeat(np.arange(instances), n)
        rows = fetch(arrays, inputs, ids, instance)
        words = self._run(vertex, rows.shape[1], bound, stats, attributes=rows)
        stats.vertices = n * instances
        one = assemble(mode, order, restart)
        if state.provoking == "last" or one.shape[1] == 1:
            provoking = one[:, -1]
        else:
            provoking = one[:, 1] if mode == "triangle_fan" else one.min(axis=1)
        shift = (np.arange(instances) * n)[:, None]
        primitives = (where[one][None] + shift[:, :, None]).reshape(-1, one.shape[1])
        return Vertices(words, primitives, (where[provoking][None] + shift).ravel(), ids, instance)

    def _run(
        self,
        shader: VertexShader | GeometryShader,
        lanes: int,
        bound: Mapping[int, Bound],
        stats: DrawStats,
        **inputs: Any,
    ) -> Array:
        """Run a vertex program over all vertices; returns o[]."""
        out = np.zeros((OUTPUT_WORDS, lanes), np.uint32)
        launch = shader.program.launch(*self._units(bound))
        for start in range(0, lanes, LANES):
            stop = min(lanes, start + LANES)
            part = {k: v[:, start:stop] for k, v in inputs.items()}
            done = self.engine.run(launch, Stage(stop - start, choices=self.choices, **part), ())
            stats.instructions += done.stats.instructions
            out[:, start:stop] = done.state.files["o"][:, : stop - start]
        return out

    def _units(self, bound: Mapping[int, Bound]) -> tuple[dict[int, Texture], dict[int, Sampler], TextureChoices]:
        textures = {n: b if isinstance(b, Texture) else b[0] for n, b in bound.items()}
        samplers = {n: Sampler() if isinstance(b, Texture) else b[1] for n, b in bound.items()}
        return textures, samplers, self.texturing

    def _geometry(self, shader: GeometryShader, v: Vertices, bound: Mapping[int, Bound], stats: DrawStats) -> Vertices:
        """Run a geometry program over the primitives; what it emits becomes the vertices."""
        words = np.array(shader.inputs, np.int64)
        corners = v.primitives.shape[1]
        n = len(v.primitives)
        stride = len(words)
        p = np.concatenate([v.words[words][:, v.primitives[:, k]] for k in range(corners)])
        a = np.zeros((max(7, corners), n), np.uint32)
        for k in range(corners):
            a[k] = 4 * stride * k
        a[6] = np.arange(n)
        found: list[Emitted] = []
        launch = shader.program.launch(*self._units(bound))
        for start in range(0, n, LANES):
            stop = min(n, start + LANES)
            stage = Stage(
                stop - start,
                attributes=a[:, start:stop],
                primitive=p[:, start:stop],
                max_vertices=shader.max_vertices,
                choices=self.choices,
            )
            done = self.engine.run(launch, stage, ())
            stats.instructions += done.stats.instructions
            found.append(done.state.emitted)
        return emitted_vertices(found, shader.output)

    # --- fragments ----------------------------------------------------------------------------------------------------
    def _viewport(self, state: DrawState) -> Viewport:
        if state.viewport is not None:
            return state.viewport
        w, h = self.width / 2, self.height / 2
        return Viewport((w, h, 1.0 if state.half_z else 0.5), (w, h, 0.0 if state.half_z else 0.5))

    def _bounds(self, state: DrawState) -> tuple[int, int, int, int]:
        if state.scissor is None:
            return 0, 0, self.width, self.height
        x, y, w, h = state.scissor
        return max(0, x), max(0, y), min(self.width, x + w), min(self.height, y + h)

    def _window(self, position: Array, state: DrawState) -> tuple[Array, Array, Array]:
        """(window x and y, depth, 1 / w) of clip positions [..., 4]."""
        view = self._viewport(state)
        over_w = 1.0 / position[..., 3]
        ndc = position[..., :3] * over_w[..., None]
        window = ndc * np.array(view.scale) + np.array(view.translate)
        low, high = sorted(view.depth_range)
        return window[..., :2], np.clip(window[..., 2], low, high), over_w

    def _fragments(
        self,
        v: Vertices,
        last: VertexShader | GeometryShader,
        fragment: FragmentShader,
        state: DrawState,
        bound: Mapping[int, Bound],
        stats: DrawStats,
    ) -> None:
        stats.primitives = len(v.primitives)
        if not len(v.primitives):
            return
        floats = v.words.view(np.float32).astype(np.float64)
        position = floats[list(last.position)].T
        flat = v.words[:, v.provoking].T
        if v.primitives.shape[1] == 1:
            corners, quads = self._points(position, floats, flat, v, last, state)
        else:
            corners, quads = self._triangles(position, floats, flat, v, state, stats)
        self.coverage = quads
        stats.quads = len(quads)
        if len(quads):
            self._shade(fragment, corners, quads, state, bound, stats)

    def _triangles(
        self, position: Array, floats: Array, flat: Array, v: Vertices, state: DrawState, stats: DrawStats
    ) -> tuple[Corners, Quads]:
        values = np.ascontiguousarray(floats.T)[v.primitives]
        t = Triangles(position[v.primitives], values, flat, np.arange(len(v.primitives)))
        with np.errstate(invalid="ignore", over="ignore"):
            t = clipped(t, state.half_z, state.depth_clamp)
            window, depth, over_w = self._window(t.position, state)
        grid = snapped(window)
        area = doubled_area(grid)
        front = (area > 0) == (state.front == "ccw")
        chosen = area != 0
        if state.cull is not None:
            chosen &= front if state.cull == "back" else ~front
        stats.triangles = int(chosen.sum())
        setup = Setup(window, grid, front)
        quads = rasterize(setup, chosen, self._bounds(state), self.choices.fill)
        planes = Planes(grid / 256 if self.choices.planes == "snapped" else window)
        self.numbers = t.number
        return Corners(planes, over_w, depth, t.values, t.flat, front), quads

    def _points(
        self,
        position: Array,
        floats: Array,
        flat: Array,
        v: Vertices,
        last: VertexShader | GeometryShader,
        state: DrawState,
    ) -> tuple[Corners, Quads]:
        columns = v.primitives[:, 0]
        p = position[columns]
        z, w = p[:, 2], p[:, 3]
        inside = (w > 0) & np.isfinite(p).all(axis=1)
        if not state.depth_clamp:
            inside &= (z <= w) & (z >= (0 if state.half_z else -w))
        window, depth, over_w = self._window(np.where(inside[:, None], p, 1.0), state)
        sizes = np.full(len(p), float(state.point_size))
        if last.point_size is not None:
            sizes = np.clip(floats[last.point_size, columns], 1.0, 8192.0)
        quads = rasterize_points(window, sizes, inside, self._bounds(state))
        self.numbers = np.arange(len(p))
        values = np.repeat(floats.T[columns][:, None], 3, axis=1)
        ones = np.repeat(over_w[:, None], 3, axis=1)
        deep = np.repeat(depth[:, None], 3, axis=1)
        lower = window - sizes[:, None] / 2
        return Corners(None, ones, deep, values, flat, np.ones(len(p), bool), (lower, sizes)), quads

    def _shade(
        self,
        fragment: FragmentShader,
        corners: Corners,
        quads: Quads,
        state: DrawState,
        bound: Mapping[int, Bound],
        stats: DrawStats,
    ) -> None:
        step = np.array([0, 1, 0, 1]), np.array([0, 0, 1, 1])
        x = (quads.x[:, None] + step[0]).ravel()
        y = (quads.y[:, None] + step[1]).ravel()
        covered = quads.covered.ravel()
        varyings = self.fragments = Fragments(fragment.inputs, corners, x, y, np.repeat(quads.primitive, 4))
        merger = Merger(self.targets, self.depth_buffer, state, self.choices)
        launch = fragment.program.launch(*self._units(bound))
        results = {n for c in fragment.colors[: len(self.targets)] for n in c}
        results |= set() if fragment.depth is None else {fragment.depth}
        started = time.perf_counter()

        def shaded(start: int) -> _Shaded:
            stop = min(len(x), start + LANES)
            part = Stage(
                stop - start,
                varyings=varyings.part(start, stop),
                visible=covered[start:stop],
                choices=self.choices,
            )
            done = self.engine.run(launch, part, results)
            s = done.state
            alive = np.flatnonzero(s.visible)
            colors = [_registers(s.files["r"], c, alive) for c in fragment.colors[: len(self.targets)]]
            depth = None if fragment.depth is None else s.files["r"][fragment.depth, alive].view(np.float32)
            return alive + start, colors, depth, done.stats.instructions

        parts = self._mapped(shaded, range(0, len(x), LANES))
        alive = np.concatenate([p[0] for p in parts])
        colors = [np.concatenate([p[1][k] for p in parts]) for k in range(len(parts[0][1]))]
        if fragment.depth is not None:
            z = np.concatenate([p[2] for p in parts if p[2] is not None])
        else:
            z = varyings.depth()[alive]
        stats.instructions += sum(p[3] for p in parts)
        stats.fragments = len(alive)
        stats.stages["fragments"] = time.perf_counter() - started
        low, high = sorted(self._viewport(state).depth_range)
        z = np.clip(z, np.float32(low), np.float32(high))
        merger.write(x[alive], y[alive], z, corners.front[varyings.primitive[alive]], colors)

    def _mapped(self, function: Callable[[int], _Shaded], items: range) -> list[_Shaded]:
        """Results in order. The first item goes alone: it prepares the program's code for the others."""
        first = [function(n) for n in items[:1]]
        if self.threads < 2 or len(items) < 2:
            return first + [function(n) for n in items[1:]]
        with ThreadPoolExecutor(self.threads) as pool:
            try:
                return first + list(pool.map(function, items[1:]))
            except BaseException:
                self.engine.interrupt()
                raise


def _registers(file: Array, numbers: Sequence[int], lanes: Array) -> Array:
    """Registers of lanes as u32 [lanes, len(numbers)]; registers that are not allocated read 0."""
    out = np.zeros((len(lanes), 4), np.uint32)
    for k, n in enumerate(numbers):
        if n < len(file):
            out[:, k] = file[n, lanes]
    return out


__all__ = ["Pipeline"]
