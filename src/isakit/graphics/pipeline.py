"""The pipeline: from vertex arrays to pixels, running programs in between. Source: [graphics] 3."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from isakit.engine.protocol import Array
from isakit.errors import LaunchError
from isakit.graphics.array_fragments import ArrayFragments, fragments_of
from isakit.graphics.assembly import Attribute, assemble, fetch, packed_inputs
from isakit.graphics.draw_state import DrawState, DrawStats, GraphicsChoices, Rectangle, Viewport
from isakit.graphics.framebuffer import Framebuffer
from isakit.graphics.merge import DepthFormat, Merger
from isakit.graphics.planes import Corners, Fragments, words_of
from isakit.graphics.primitives import Compiled, Rasterizer
from isakit.graphics.quad_buffers import WARP_QUADS, QuadBuffers
from isakit.graphics.raster import Quads, kept_pixels, pixels
from isakit.graphics.shader import FragmentShader, GeometryShader, PipelineShader, VertexShader
from isakit.graphics.stage import LANES, OUTPUT_WORDS, Emitted, Stage, StageState
from isakit.graphics.stage_engine import StageEngine
from isakit.graphics.texture_bindings import Bound, by_stage
from isakit.graphics.vertices import Vertices, arranged, emitted_vertices
from isakit.graphics.watchdog import Budget, Watchdog
from isakit.lean import cached_property
from isakit.machine.tesla.launch import Launch
from isakit.texture.sampler_state import Sampler
from isakit.texture.texture import Texture
from isakit.texture.texture_choices import DEFAULT_TEXTURING, TextureChoices

PLAINEST = Sampler()
PIXELS = 8
"""Pixels that are tested in the time of an instruction of a warp, approximately, on the reference machine."""
ARRAY_WORK, COMPILED_WORK = 1024, 256
"""Time to interpolate and merge the fragments of a warp, in instructions, approximately: of the reference machine by
array code, of compiled code by compiled code."""
PORTION = 1 << 16
"""Quads whose fragments are in memory at once in array code."""
CONSTANTS = 0x40
"""Result map entries from here on are constants, not output words."""
FEW_LANES = 1 << 11
"""Lanes of a run whose memory is kept for the next one: in longer runs, allocating memory takes no noticeable time."""
MAX_VERTICES = 1 << 24
"""Largest number of vertices of a draw, all instances together: their outputs are kept until it is done."""


@dataclass
class LastDraw:
    """The record of a draw for inspection, see `Pipeline`; inputs are computed on demand.

    Attributes: `attributes`: a[] of the vertex program, u32 [words, vertices]; `shaded`: its results.
    """

    attributes: Array | None = None
    shaded: Vertices | None = None
    vertices: Vertices | None = None
    coverage: Quads | None = None
    rows: Array | None = None
    inputs: Callable[[], Fragments] | None = None

    @cached_property
    def fragments(self) -> Fragments | None:
        """Inputs of the fragments."""
        return None if self.inputs is None else self.inputs()


class Pipeline(Framebuffer):
    """Render targets and the stages that draw into them.

    Args:
        width: pixels of a row.
        height: rows; row 0 is window y 0.
        targets: formats of the render targets, names as in `color_formats`: rgba8, rgba32f, r32ui...
        depth: d16, d24, d32f, or None for no depth buffer.
        choices: behaviour of the fixed functions where the hardware's is not known.
        texturing: the same for textures.
        threads: fragments run in this many threads.
        engine: what executes programs: auto, reference or llvm.
        tier: of the llvm engine: auto, interp or jit.
        watchdog: ends programs that run forever; None lets them run.
        max_instructions: bound on the instructions of all draws together, counted once per warp.

    Attributes: `targets`, `depth_buffer`, `engine` (a `StageEngine`), `make_all` (compile inputs and merger for small
    draws too, not only where it pays); of the last draw: `vertices` (outputs of the last vertex stage), `coverage` (its
    quads), `fragments` (their inputs), `rows` (for each rasterized triangle its row in `vertices.primitives`).
    """

    def __init__(
        self,
        width: int,
        height: int,
        *,
        targets: Sequence[str] = ("rgba8",),
        depth: DepthFormat | None = "d24",
        choices: GraphicsChoices | None = None,
        texturing: TextureChoices = DEFAULT_TEXTURING,
        threads: int = 1,
        engine: str = "auto",
        tier: str = "auto",
        watchdog: Watchdog | None = None,
        max_instructions: int | None = None,
    ) -> None:
        super().__init__(width, height, targets, depth, choices)
        self.texturing, self.threads = texturing, threads
        bound = watchdog if max_instructions is None else Budget(max_instructions, watchdog)
        self.engine = StageEngine(engine, tier, bound)
        self.make_all = False
        self.quads: QuadBuffers | None = None
        self._last: LastDraw | Callable[[], LastDraw] = LastDraw()

    @property
    def last(self) -> LastDraw:
        """The last draw."""
        if not isinstance(self._last, LastDraw):
            self._last = self._last()
        return self._last

    @property
    def vertices(self) -> Vertices | None:
        """Outputs of the last draw's last vertex stage."""
        return self.last.vertices

    @property
    def coverage(self) -> Quads | None:
        """Quads of the last draw."""
        return self.last.coverage

    @property
    def rows(self) -> Array | None:
        """For each rasterized triangle of the last draw its row in `vertices.primitives`."""
        return self.last.rows

    @property
    def fragments(self) -> Fragments | None:
        """Inputs of the last draw's fragments."""
        return self.last.fragments

    def drawn(self, last: Callable[[], LastDraw]) -> None:
        """Set the record of the last draw, which something else has executed."""
        self._last = last

    # --- drawing ----------------------------------------------------------------------------------------------------
    def draw(
        self,
        mode: str,
        vertex: VertexShader,
        fragment: FragmentShader,
        attributes: Sequence[Attribute | Array] = (),
        *,
        geometry: GeometryShader | None = None,
        count: int | None = None,
        first: int = 0,
        indices: Array | None = None,
        restart: int | None = None,
        instances: int = 1,
        state: DrawState | None = None,
        textures: Mapping[int, Bound] | Mapping[str, Mapping[int, Bound]] | None = None,
        layers: Callable[[int], None] | None = None,
        edges: Array | None = None,
    ) -> DrawStats:
        """Draw primitives.

        Args:
            mode: points, lines, line_strip, line_loop, triangles, triangle_strip, triangle_fan, quads, quad_strip,
                polygon, or the lines and triangles with adjacency.
            vertex: the vertex program.
            fragment: the fragment program.
            attributes: vertex arrays, in the order of their numbers.
            geometry: the geometry program, if there is one.
            count: vertices to draw, if there are no indices (default: all).
            first: the first vertex, if there are no indices.
            indices: vertex numbers to draw in this order.
            restart: an index that ends a strip.
            instances: number of instances.
            state: fixed-function state.
            textures: number -> texture, or (texture, sampler); or such mappings for vertex, geometry and fragment.
            edges: for each vertex in drawing order whether the edge that begins there is a boundary, bool.
            layers: called with the number of a layer before it is drawn; makes its images the targets.

        Raises LaunchError for inconsistent arguments, MachineFault for faults of a program, BudgetExceeded if the draws
        of the pipeline take more than `max_instructions`: fragments merged before stay.
        """
        started = time.perf_counter()
        state = state or DrawState()
        stats = DrawStats()
        arrays = [a if isinstance(a, Attribute) else Attribute(a) for a in attributes]
        bound = by_stage(textures)
        for what, number in (("vertices", count or 0), ("instances", instances), ("first vertex", first)):
            if number < 0:
                raise LaunchError(f"a draw of {what} {number}")
        if indices is not None:
            indices = np.asarray(indices).astype(np.int64).ravel()
            count = len(indices)
        elif count is None:
            count = max((len(a.data) for a in arrays if not a.divisor), default=0)
        if count * instances > MAX_VERTICES:
            raise LaunchError(
                f"a draw of {count} vertices and {instances} instances; {MAX_VERTICES} vertices are allowed"
            )
        order = np.arange(first, first + count) if indices is None else indices
        self._last = last_draw = LastDraw()
        self.engine.begin_draw()
        provokes_last = state.provoking == "last"
        fetched, made = arranged(mode, order, restart, instances, provokes_last, self.choices.quads)
        inputs = vertex.inputs
        if inputs is None:
            inputs = packed_inputs(arrays, vertex.vertex_id, vertex.instance_id)
        last_draw.attributes = fetch(arrays, inputs, fetched.ids, fetched.instance)
        words = self._run(vertex, last_draw.attributes, bound["vertex"], stats)
        stats.vertices = fetched.count
        if edges is None or made.primitives.shape[1] != 3:
            v = made.with_words(words, fetched)
        else:
            one = assemble(mode, order, restart, provokes_last, self.choices.quads)
            v = fetched.shaded(words, replace(one, edges=one.edges & edges[one.corners]))
        last_draw.shaded = v
        last: VertexShader | GeometryShader = vertex
        if geometry is not None:
            v = self._geometry(geometry, v, bound["geometry"], stats, provokes_last)
            last = geometry
        stats.stages["vertices"] = time.perf_counter() - started
        last_draw.vertices = v
        self._fragments(v, last, fragment, state, bound["fragment"], stats, layers)
        stats.seconds = time.perf_counter() - started
        return stats

    def _run(self, shader: VertexShader, attributes: Array, bound: Mapping[int, Bound], stats: DrawStats) -> Array:
        """Run a vertex program over all vertices; return o[]."""
        parts: list[Array] = []
        launch = self.launch(shader, bound)
        lanes = attributes.shape[1]
        for start in range(0, lanes, LANES):
            count = min(LANES, lanes - start)
            part = Stage(count, attributes=attributes[:, start : start + count], choices=self.choices)
            few = count <= FEW_LANES
            done = self.engine.run(launch, part, (), borrow=few)
            stats.instructions += done.stats.instructions
            words = done.state.files["o"][:, :count]
            if few:  # the memory is that of the next run, too; only the first words may not be zero
                mine = np.zeros(words.shape, np.uint32)
                mine[: done.outputs] = words[: done.outputs]
                words = mine
            parts.append(words)
        if len(parts) == 1:
            return parts[0]
        return np.concatenate([np.zeros((OUTPUT_WORDS, 0), np.uint32), *parts], axis=1)

    def launch(self, shader: PipelineShader, bound: Mapping[int, Bound]) -> Launch:
        """Return the part of a program's runs that does not depend on their inputs."""
        textures, samplers = dict[int, Texture](), dict[int, Sampler]()
        for n, b in bound.items():
            textures[n], samplers[n] = (b, PLAINEST) if isinstance(b, Texture) else b
        return shader.program.launch(textures, samplers, self.texturing)

    def _geometry(
        self, shader: GeometryShader, v: Vertices, bound: Mapping[int, Bound], stats: DrawStats, last: bool
    ) -> Vertices:
        """Run a geometry program over the primitives; return the emitted vertices."""
        words = np.array(shader.inputs, np.int64)
        corners = v.primitives.shape[1]
        n = len(v.primitives)
        stride = len(words)
        rows = v.words[np.where(words < CONSTANTS, words, 0)]
        rows[words >= CONSTANTS] = np.where(words[words >= CONSTANTS] & 1, np.uint32(0x3F80_0000), np.uint32(0))[
            :, None
        ]
        p = np.concatenate([rows[:, v.primitives[:, k]] for k in range(corners)])
        a = np.zeros((max(7, corners), n), np.uint32)
        for k in range(corners):
            a[k] = 4 * stride * k
        a[6] = v.numbers
        found: list[Emitted] = []
        launch = self.launch(shader, bound)
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
        return emitted_vertices(found, shader.output, last)

    # --- fragments ----------------------------------------------------------------------------------------------------
    def _fragments(
        self,
        v: Vertices,
        last: VertexShader | GeometryShader,
        fragment: FragmentShader,
        state: DrawState,
        bound: Mapping[int, Bound],
        stats: DrawStats,
        layers: Callable[[int], None] | None,
    ) -> None:
        stats.primitives = len(v.primitives)
        if not len(v.primitives) or not state.rasterize:
            return
        compiled: Compiled | None = None
        if self.engine.name == "llvm":
            from isakit.graphics.compiled_setup import CompiledTriangles

            compiled = CompiledTriangles(self.make_all)
        for layer, number, part in _parted(v, state):
            if layers is not None:
                layers(layer)
            view = state.viewports[min(number, len(state.viewports) - 1)] if state.viewports else self.viewport(state)
            scissor = state.scissors[min(number, len(state.scissors) - 1)] if state.scissors else state.scissor
            unit = 0.0 if self.depth_buffer is None else self.depth_buffer.unit
            m = state.multisampling
            bounds = self.bounds(scissor) if m is None else self.bounds(scissor, m.across, m.down)
            draw = Rasterizer(
                state,
                view,
                bounds,
                self.choices,
                unit,
                last.position,
                last.point_size,
                compiled,
                words_of(fragment.inputs),
                lambda pixels: self.engine.spend_on_arrays(pixels // PIXELS),
            )
            for drawn in draw(part):
                quads = drawn.quads
                if state.clip_rectangles is not None:
                    quads = _inside(quads, *state.clip_rectangles)
                self.last.coverage, self.last.rows = quads, drawn.rows
                stats.triangles += drawn.triangles
                stats.quads += len(quads)
                if len(quads):
                    self.load(quads, state)
                    launch = self.launch(fragment, bound)
                    self.shade(fragment, drawn.corners, quads, state, view, launch, stats)

    def load(self, quads: Quads, state: DrawState) -> None:
        """Prepare the targets for drawing to the pixels of quads."""
        m = state.multisampling
        across, down = (1, 1) if m is None else (m.across, m.down)
        low, high = (int(quads.x.min()), int(quads.y.min())), (int(quads.x.max()) + 2, int(quads.y.max()) + 2)
        box = low[0] * across, low[1] * down, high[0] * across, high[1] * down
        for target in self.targets:
            target.load(box)
        if self.depth_buffer is not None and (state.depth is not None or state.stencil is not None):
            self.depth_buffer.load(box)

    def shade(
        self,
        fragment: FragmentShader,
        corners: Corners,
        quads: Quads,
        state: DrawState,
        view: Viewport,
        launch: Launch,
        stats: DrawStats,
    ) -> None:
        """Shade the fragments of quads and merge them."""
        self._last = replace(self.last, inputs=partial(fragments_of, fragment, corners, quads, state))
        merger = Merger(self.targets, self.depth_buffer, state, self.choices)
        arrays = ArrayFragments(
            self.engine, self.threads, fragment, launch, fragment.results(len(self.targets)), corners, quads, state,
            view, merger, self.choices,
        )  # fmt: skip
        if self._compiled(arrays, stats):
            return
        started = time.perf_counter()
        for start in range(0, len(quads), PORTION):
            part = replace(arrays, quads=quads.part(start, start + PORTION))
            self.engine.spend_on_arrays(ARRAY_WORK * len(part.quads) // WARP_QUADS)
            part.shade(stats)
        stats.samples += merger.passed
        stats.stages["fragments"] = stats.stages.get("fragments", 0.0) + time.perf_counter() - started

    def _compiled(self, arrays: ArrayFragments, stats: DrawStats) -> bool:
        """Shade and merge on compiled code; return False if array code must do it."""
        quads, state = arrays.quads, arrays.state
        ready = self.engine.prepared(arrays.launch, 4 * len(quads), arrays.results, self.choices)
        if ready is None:
            return False
        self.engine.spend(COMPILED_WORK * len(quads) // WARP_QUADS)
        from isakit.graphics.compiled_draw import DrawArguments, draw

        def fragments() -> Fragments:
            made = self.fragments
            assert made is not None
            return made

        def merged(s: StageState, start: int, stop: int) -> int:
            """Merge a batch with the array code; return the samples that passed."""
            merger = Merger(self.targets, self.depth_buffer, state, self.choices)
            batch = replace(arrays, quads=quads.part(start // 4, -(-stop // 4)), merger=merger)
            batch.merge(batch.left_by(s), fragments().part(start, stop))
            return merger.passed

        drawing = DrawArguments(
            arrays.shader, *ready, arrays.corners, quads, fragments, state, arrays.view.depth_range, self.choices,
            self.targets, self.depth_buffer, (self.width, self.height), merged, self.threads, self.make_all,
        )  # fmt: skip
        return draw(drawing, self.engine, stats)


def _parted(v: Vertices, state: DrawState) -> Iterator[tuple[int, int, Vertices]]:
    """Yield (layer, viewport number, primitives): layers are separate targets; the order is kept in each."""
    layer = np.zeros(len(v.primitives), np.int64)
    number = layer
    if state.layer_word is not None:
        layer = v.words[state.layer_word][v.provoking].astype(np.int64)
    if state.viewport_word is not None:
        number = v.words[state.viewport_word][v.provoking].astype(np.int64)
    if not layer.any() and not number.any():
        yield 0, 0, v
        return
    for n in np.unique(layer).tolist():
        here = np.flatnonzero(layer == n)
        changes = np.flatnonzero(np.diff(number[here])) + 1
        for some in np.split(here, changes):
            yield n, int(number[some[0]]), v.part(some)


def _inside(quads: Quads, inside: bool, rectangles: Sequence[Rectangle]) -> Quads:
    """Return the pixels inside of clip rectangles, or those outside."""
    x, y = pixels(quads)
    found = np.zeros(x.shape, bool)
    for left, low, width, height in rectangles:
        found |= (x >= left) & (x < left + width) & (y >= low) & (y < low + height)
    return kept_pixels(quads, found if inside else ~found)


__all__ = ["LastDraw", "Pipeline"]
