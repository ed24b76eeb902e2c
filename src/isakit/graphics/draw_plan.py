"""Repeated draws: programs, state and kinds of targets are those of an earlier one, and all of it is compiled.

Their common part is prepared once: the functions of all stages, their records, and memory for the data between stages.
A draw of triangles then calls one function after the other: vertex program, set-up, planes, quads, and for each batch
of fragments inputs, program and output merger. If set-up finds triangles that have to be cut, array code cuts them, and
functions for positions in f64 set all of them up. A draw that the plan cannot execute is left to the pipeline, before
anything has been drawn.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from isakit.engine.llvm.array_tracer import LANES as GROUP
from isakit.engine.protocol import Array
from isakit.graphics.array_fragments import fragments_of
from isakit.graphics.assembly import Attribute, fetch
from isakit.graphics.clip import Triangles, clipped
from isakit.graphics.compiled_draw import fragment_rows, merge_question
from isakit.graphics.compiled_inputs import InputsKey, inputs_function
from isakit.graphics.compiled_merge import merge_function, put_depth_range, put_state
from isakit.graphics.compiled_planes import PLANES, planes_function
from isakit.graphics.compiled_quads import CompiledFunction, Name
from isakit.graphics.compiled_raster import quads_function
from isakit.graphics.compiled_setup import (
    ROWS,
    flat_values,
    is_plain,
    put_view,
    setup_function,
    triangle_corners,
    values_of,
)
from isakit.graphics.compiled_stage import RepeatedStage
from isakit.graphics.draw_state import DrawState, DrawStats
from isakit.graphics.pipeline import LastDraw, Pipeline
from isakit.graphics.planes import Column, Corners, Fragments, PrimitiveFacts, words_of
from isakit.graphics.primitives import Rasterizer
from isakit.graphics.quad_buffers import QuadBuffers
from isakit.graphics.shader import FragmentShader, VertexShader
from isakit.graphics.stage import LANES, ConstantVaryings, Stage, answered
from isakit.graphics.vertices import Fetched, Vertices, arranged
from isakit.machine.tesla.compiled.emit.machine_values import VARYING_WORDS
from isakit.machine.tesla.compiled.launch.host_assist import interruptible
from isakit.machine.tesla.launch import Launch

if TYPE_CHECKING:
    from isakit.graphics.texture_bindings import Bound
    from isakit.machine.tesla.compiled.launch.compiled_kernels import CompiledKernel

MOST_TRIANGLES = 1 << 14
MOST_QUADS = 1 << 18
MOST_INSTRUCTIONS = 1 << 12
"""Limits above which a plan's small saving is not worth it: triangles of a draw, quads in the boxes around them, and
instructions of a program."""
SHARED_LANES = 4 * LANES
"""Smallest number of fragment lanes that are distributed over threads, if there are several."""
Banks = Mapping[int, Array]
"""c[] bank number -> view of its bytes, whose content may change from draw to draw."""


@dataclass(frozen=True)
class _Common:
    """Programs and state common to all draws of a plan."""

    vertex: VertexShader
    fragment: FragmentShader
    state: DrawState


class DrawPlan:
    """The common part of draws with a vertex program, a fragment program and a state.

    Its owner ensures that pipeline, programs with their inputs and results, state, and sizes and formats of the targets
    are the same in all of its draws. Vertices, constants, textures and targets may differ.
    """

    def __init__(self, vertex: VertexShader, fragment: FragmentShader, state: DrawState) -> None:
        self._common = _Common(vertex, fragment, state)
        self._asked, self._next = 0, 1
        self._prepared: _Prepared | None = None

    def draw(
        self,
        p: Pipeline,
        mode: str,
        order: Array,
        restart: int | None,
        arrays: Sequence[Attribute],
        textures: Mapping[str, Mapping[int, Bound]],
        constants: Mapping[str, Banks],
    ) -> DrawStats | None:
        """Draw like `Pipeline.draw`, which must do it if this returns None. Raises BudgetExceeded."""
        prepared = self._prepared
        if prepared is None:
            self._asked += 1
            if self._asked < self._next:
                return None
            # Code is compiled while draws go on without a plan; asking for it costs a tenth of such a draw.
            self._next = self._asked + max(1, self._asked // 4)
            prepared = self._prepared = _prepared(self._common, p, textures)
            if prepared is None:
                return None
        return prepared.draw(p, mode, order, restart, arrays, textures, constants)


def plan_of(p: Pipeline, vertex: VertexShader, fragment: FragmentShader, state: DrawState) -> DrawPlan | None:
    """Return a plan for draws of a pipeline with this common part; None if there is nothing to prepare."""
    special = (state.clip_rectangles, state.layer_word, state.viewport_word)
    plain = state.rasterize and is_plain(state) and all(s is None for s in special)
    return DrawPlan(vertex, fragment, state) if p.engine.direct and plain else None


class _SetUp:
    """The functions for triangles and the planes over them, with their jobs; `values`: the interpolated ones."""

    def __init__(self, setup: CompiledFunction, planes: CompiledFunction | None, values: tuple[Column, ...]) -> None:
        self._setup, self._planes = setup, planes
        self.words = sorted({word[0] for _, *word in values if word})
        self.job = setup.job()
        self._jobs = [self.job, *(() if planes is None else (planes.job(),))]

    def put(self, numbers: Mapping[Name, int | Array]) -> None:
        """Set the slots of the jobs that have them."""
        for job in self._jobs:
            for name, value in numbers.items():
                job.set_slot(name, value)

    def put_vertices(self, positions: Sequence[Array], words: Sequence[Array]) -> None:
        """Set the vertices: clip positions x, y, z and w, and `words`."""
        self.put(dict(zip("xyzw", positions, strict=True)))
        self.put({("word", n): row for n, row in zip(self.words, words, strict=True)})

    def set_up(self, corners: Array) -> int:
        """Set up triangles with corners [n, 3] by vertex number; return the function's count."""
        self.put({"corners": corners, "count": len(corners)})
        return self._setup.run(self.job.address, 0, -(-len(corners) // GROUP), 0)

    def make_planes(self, provoking: Array) -> None:
        """Make the planes over the triangles that were set up, with the numbers of their provoking vertices."""
        if self._planes is not None:
            self._jobs[1].set_slot("provoking", provoking)
            self._planes.run(self._jobs[1].address, 0, -(-len(provoking) // GROUP), 0)


def _set_up(state: DrawState, p: Pipeline, values: tuple[Column, ...], cut: bool) -> _SetUp | None:
    """Return functions that set up triangles, or `cut` ones; None while they are not compiled."""
    made = None if p.make_all else 0
    setup = setup_function(state, p.choices, made, cut)
    planes = planes_function(values, () if cut else state.clamp_vertex, made, cut) if values else None
    return None if setup is None or (values and planes is None) else _SetUp(setup, planes, values)


@dataclass(frozen=True)
class _Functions:
    """The functions between the programs, and the `values` that have planes."""

    whole: _SetUp
    quads: CompiledFunction
    values: tuple[Column, ...]
    inputs: CompiledFunction
    merger: CompiledFunction


def _prepared(common: _Common, p: Pipeline, textures: Mapping[str, Mapping[int, Bound]]) -> _Prepared | None:
    """Return the prepared part of a plan; None if something cannot be compiled, or is not compiled yet."""
    vertex, fragment, state = common.vertex, common.fragment, common.state
    if fragment.sample_mask is not None or vertex.inputs is None or not p.targets:
        return None
    launches = [p.launch(s, textures[s.kind]) for s in (vertex, fragment)]
    ready = [p.engine.prepared(launches[0], 0, (), p.choices)]
    ready.append(p.engine.prepared(launches[1], 0, fragment.results(len(p.targets)), p.choices))
    found = [r for r in ready if r is not None and _repeats(*r)]
    if len(found) < 2:
        return None
    kernel, made = found[1][1], None if p.make_all else 0
    words = tuple(sorted({(w, flat) for w, flat, _ in kernel.flow.varyings if w < VARYING_WORDS}))
    question = merge_question(fragment, kernel.facts.registers, state, p.targets, p.depth_buffer, p.choices)
    if any(len(c) != 4 for c in question.colors) or (question.second is not None and len(question.second) != 4):
        return None
    shape = PrimitiveFacts(False, False, False, False, not fragment.two_sided)
    asked = InputsKey(tuple(fragment.inputs), words, question.reads_depth, shape, float(state.pixel_center))
    quads = quads_function(made)
    inputs, merger = inputs_function(asked, kernel.target, made), merge_function(question, kernel.target, made)
    if quads is None or inputs is None or merger is None:
        return None
    names = dict.fromkeys(n for n in (*inputs.slots, *merger.slots) if isinstance(n, tuple))
    values = tuple(dict.fromkeys(n[1] for n in names if n[0] == "plane"))
    whole = _set_up(state, p, values, cut=False)
    if whole is None:
        return None
    return _Prepared(common, p, found[0], found[1], _Functions(whole, quads, values, inputs, merger), asked)


def _repeats(launch: Launch, kernel: CompiledKernel) -> bool:
    """Return whether a program can run as `RepeatedStage`."""
    known = kernel.known
    special = known.needs_host or known.has_loops or known.has_barriers or known.has_indirect or launch.local_limit
    return not special and known.count <= MOST_INSTRUCTIONS


class _Units:
    """A program's stage, its textures, and whether compiled code can sample all of them."""

    def __init__(self, stage: RepeatedStage, shader: VertexShader | FragmentShader) -> None:
        self.stage, self._shader = stage, shader
        self.bound: Mapping[int, Bound] = {}
        self._key: object = None
        self._answers = False

    def bind(self, p: Pipeline, bound: Mapping[int, Bound]) -> bool:
        """Bind textures to the program; return whether compiled code can sample all of them."""
        key = [(n, *map(id, b)) if isinstance(b, tuple) else (n, id(b)) for n, b in bound.items()]
        if key != self._key or self.stage.textures_change:
            launch = answered(p.launch(self._shader, bound), p.choices)
            self._answers, self._key, self.bound = self.stage.use(launch), key, bound
        return self._answers


class _Prepared:
    """The functions of a plan, and the memory between them."""

    def __init__(
        self, common: _Common, p: Pipeline, vertex: tuple[Launch, CompiledKernel],
        fragment: tuple[Launch, CompiledKernel], f: _Functions, asked: InputsKey,
    ) -> None:  # fmt: skip
        state = common.state
        # No reference to the plan, which has this: a plan that is dropped gives its memory back at once.
        self._common, self._f = common, f
        self._stop: Array = np.zeros(1, np.int32)
        rows, table = fragment_rows(asked.words, asked.depth, LANES)
        like = Stage(0, varyings=ConstantVaryings(np.zeros((0, 0), np.uint32)), choices=p.choices)
        self._fragment = _Units(RepeatedStage(*fragment, like, LANES // 32, table), common.fragment)
        self._fragment.stage.stopped_by(self._stop)
        self._quads, self._inputs, self._merger = (x.job() for x in (f.quads, f.inputs, f.merger))
        self._fragment.stage.surround(f.inputs, self._inputs, f.merger, self._merger)
        self._view = state.viewports[0] if state.viewports else p.viewport(state)
        self._bounds = p.bounds(state.scissors[0] if state.scissors else state.scissor)
        self._cut: _SetUp | None = None
        self._rows: Array | None = None
        put_view(f.whole.job, self._view, self._bounds)
        for k in range(len(rows) - 1):
            self._inputs.set_slot(f"row{k}", rows[k])
        if asked.depth:
            self._merger.set_slot("z", rows[len(asked.words)])
        self._merger.set_slot("state_bytes", fragment[1].state_bytes)
        put_depth_range(self._merger, self._view.depth_range)
        self._flat = sorted({n[1] for n in (*f.inputs.slots, *f.merger.slots) if n[0] == "flat"})
        self._images: list[Array] = []
        self._vertex_of = vertex
        self._made_quads = p.quads = p.quads or QuadBuffers(MOST_QUADS)
        self._take_quads(self._made_quads)
        self._make_vertex_room(p, 64)
        self._make_room(64)

    # --- memory -------------------------------------------------------------------------------------------------------
    def _make_vertex_room(self, p: Pipeline, warps: int) -> None:
        """Allocate room for the vertices of `warps` warps."""
        shader = self._common.vertex
        like = Stage(0, attributes=np.zeros((len(shader.inputs or ()), 0), np.uint32), choices=p.choices)
        self._vertex_room = 32 * warps
        self._vertex = _Units(RepeatedStage(*self._vertex_of, like, warps), shader)
        self._vertex.stage.stopped_by(self._stop)
        self._words = self._vertex.stage.outputs
        whole = self._f.whole
        whole.put_vertices([self._words[n] for n in shader.position], [self._words[n] for n in whole.words])

    def _make_room(self, room: int) -> None:
        """Allocate room for `room` triangles, in whole groups."""
        self._room = room
        self._table: Array = np.empty((len(ROWS), room), np.int64)
        self._plane_rows: Array = np.empty((len(PLANES), room))
        self._front: Array = np.empty(room, np.uint32)
        self._numbers: Array = np.empty(room, np.uint32)
        self._flat_rows: Array = np.empty((len(self._flat), room), np.uint32)
        out: Array = np.empty((3 * len(self._f.values), room))
        columns: dict[Name, Array] = {
            "table": self._table, "planes": self._plane_rows, "out": out,
            ("front",): self._front, "front": self._front, ("number",): self._numbers,
            ("origin", 0): self._plane_rows[PLANES.index("origin_x")],
            ("origin", 1): self._plane_rows[PLANES.index("origin_y")],
        }  # fmt: skip
        columns |= {("plane", what, k): out[3 * j + k] for j, what in enumerate(self._f.values) for k in range(3)}
        columns |= {("flat", word): row for word, row in zip(self._flat, self._flat_rows, strict=True)}
        self._columns: dict[Name, int | Array] = {"room": room, **columns}
        self._f.whole.put(self._columns)
        for job in (self._inputs, self._merger):
            for name, value in self._columns.items():
                job.set_slot(name, value)
        self._quads.set_slot("table", self._table)
        self._quads.set_slot("triangles", room)

    def _take_quads(self, b: QuadBuffers) -> None:
        """Set the buffers that quads are written to."""
        for name, array in (("x", b.x), ("y", b.y), ("p", b.primitive), ("covered", b.covered), ("used", b.used)):
            self._quads.set_slot(name, array)
        self._quads.set_slot("room", MOST_QUADS)
        for job in (self._inputs, self._merger):
            for name, array in (("x", b.x), ("y", b.y), ("primitive", b.primitive)):
                job.set_slot(name, array)

    # --- the draw -----------------------------------------------------------------------------------------------------
    def draw(
        self, p: Pipeline, mode: str, order: Array, restart: int | None, arrays: Sequence[Attribute],
        textures: Mapping[str, Mapping[int, Bound]], constants: Mapping[str, Banks],
    ) -> DrawStats | None:  # fmt: skip
        """See `DrawPlan`."""
        started = time.perf_counter()
        p.drawn(LastDraw)
        fetched, made = arranged(mode, order, restart, 1, self._common.state.provoking == "last", p.choices.quads)
        count, vertices = made.primitives.shape[0], fetched.count
        if made.primitives.shape[1] != 3 or not 0 < count <= MOST_TRIANGLES or vertices > LANES:
            return None
        if vertices > self._vertex_room:
            self._make_vertex_room(p, 1 << (-(-vertices // 32) - 1).bit_length())
        if count > self._room:
            self._make_room(1 << (count - 1).bit_length())
        vertex, fragment = self._vertex, self._fragment
        if not (vertex.bind(p, textures["vertex"]) and fragment.bind(p, textures["fragment"])):
            return None
        vertex.stage.read_constants(constants["vertex"])
        fragment.stage.read_constants(constants["fragment"])
        inputs = self._common.vertex.inputs
        assert inputs is not None
        assert vertex.stage.attributes is not None
        fetch(arrays, inputs, fetched.ids, fetched.instance, vertex.stage.attributes[:, :vertices])
        stats = DrawStats(vertices=vertices, primitives=count)
        self._stop[0] = 0
        with p.engine.running(self._stop):
            done = interruptible(
                partial(self._run, p, made, vertices, constants["fragment"], stats), self._stop, brief=True
            )
        if self._stop[0]:
            raise KeyboardInterrupt
        if not done:
            return None
        p.drawn(partial(self._show, p, made, fetched, self._rows))
        stats.seconds = time.perf_counter() - started
        return stats

    def _run(self, p: Pipeline, made: Vertices, vertices: int, banks: Banks, stats: DrawStats) -> bool:
        """Run all stages; return whether that was possible, up to the fragments. Raises BudgetExceeded."""
        f, stage, jobs = self._f, self._vertex.stage, self._f.whole
        if stage.run_lanes(vertices) < vertices:
            return False
        drawn, provoking, self._rows = made, made.provoking, None
        done = jobs.set_up(made.primitives)
        if done & 0xFFFF_FFFF:
            cut = self._cut_triangles(p, made)
            if cut is None:
                return False
            jobs, corners, provoking, self._rows = cut
            drawn, done = made.part(self._rows), jobs.set_up(corners)
        count = len(drawn.primitives)
        groups = -(-count // GROUP)
        if done & 0xFFFF_FFFF or self._table[-1, : groups * GROUP].sum() > MOST_QUADS:
            return False
        jobs.make_planes(provoking)
        self._numbers[:count] = drawn.numbers
        for word, row in zip(self._flat, self._flat_rows, strict=True):
            row[:count] = flat_values(self._words[word], drawn.provoking, word in self._common.state.clamp_vertex)
        f.quads.run(self._quads.address, 0, groups * GROUP, 0)
        n = self._made_quads.end()
        threads, issued, _, _ = stage.job.counts()
        p.engine.count(stage.launch, issued)
        stats.instructions += threads
        stats.triangles, stats.quads = done >> 32, n
        if n:
            self._shade(p, made, n, banks, stats)
        return True

    def _cut_triangles(self, p: Pipeline, made: Vertices) -> tuple[_SetUp, Array, Array, Array] | None:
        """Cut the triangles of a draw at the planes.

        Return the set-up of the pieces, their corners and provoking vertices by number, and the triangle of each; None
        if the pipeline must do it.
        """
        f, state = self._f, self._common.state
        if state.window_positions or any(v[0] == "linear" for v in f.values):
            return None
        jobs = self._cut
        if jobs is None:
            jobs = self._cut = _set_up(state, p, f.values, cut=True)
            if jobs is None:
                return None
            put_view(jobs.job, self._view, self._bounds)
        words, n = [*self._common.vertex.position, *jobs.words], len(made.primitives)
        found = np.moveaxis(values_of(self._words, words, made.primitives, state.clamp_vertex), 0, -1)
        position, values = found[..., :4], found[..., 4:]
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            flat = np.zeros((n, 0), np.uint32)
            t = clipped(Triangles(position, values, flat, np.arange(n)), state.half_z, state.depth_clamp)
        n = len(t)
        if n > MOST_TRIANGLES:
            return None
        if n > self._room:
            self._make_room(1 << (n - 1).bit_length())
        provoking = values_of(self._words, jobs.words, made.provoking[t.number], state.clamp_vertex)
        rows = np.concatenate([t.values.reshape(3 * n, len(jobs.words)).T, provoking], axis=1)
        jobs.put(self._columns)
        positions = t.position.reshape(-1, 4).T
        jobs.put_vertices(*(list(np.ascontiguousarray(table)) for table in (positions, rows)))
        return jobs, np.arange(3 * n).reshape(n, 3), np.arange(3 * n, 4 * n), t.number

    def _shade(self, p: Pipeline, made: Vertices, n: int, banks: Banks, stats: DrawStats) -> None:
        """Run and merge the fragments of the quads; `banks`: the constants of their program."""
        p.load(self._made_quads.part(0), self._common.state)
        if p.threads > 1 and 4 * n >= SHARED_LANES:
            self._shade_rest(p, made, 0, banks, stats)
            return
        self._put_targets(p)
        stage, lanes = self._fragment.stage, 4 * n
        finished = stage.run_lanes(lanes, self._made_quads.covered)
        threads, issued, merged, _ = stage.job.counts()
        p.engine.count(stage.launch, issued)
        stats.instructions += threads
        stats.fragments += merged >> 32
        stats.samples += merged & 0xFFFF_FFFF
        if finished < lanes and not self._stop[0]:
            self._shade_rest(p, made, finished // 4, banks, stats)

    def _shade_rest(self, p: Pipeline, made: Vertices, first: int, banks: Banks, stats: DrawStats) -> None:
        """Run and merge the fragments of the quads from number `first` on like the pipeline does without a plan."""
        shader, quads = self._common.fragment, self._made_quads.part(first)
        shader.constants.update({k: content.tobytes() for k, content in banks.items()})
        launch = p.launch(shader, self._fragment.bound)
        p.shade(shader, self._corners(p, made, self._rows), quads, self._common.state, self._view, launch, stats)

    def _put_targets(self, p: Pipeline) -> None:
        """Set the targets and records in the output merger's job."""
        images = [t.pixels for t in p.targets]
        if p.depth_buffer is not None:
            images += [p.depth_buffer.depth, p.depth_buffer.stencil]
        if len(images) != len(self._images) or any(a is not b for a, b in zip(images, self._images, strict=True)):
            self._images = images
            put_state(self._merger, self._common.state, p.targets, p.depth_buffer)
        self._merger.set_slot("states", self._fragment.stage.records())

    # --- what it leaves -----------------------------------------------------------------------------------------------
    def _corners(self, p: Pipeline, made: Vertices, rows: Array | None) -> Corners:
        """Return the corners that the planes of the draw are made from.

        `rows`: the triangle that each piece was cut from, None if none was cut.
        """
        v = Vertices(self._words, made.primitives, made.provoking, numbers=made.numbers)
        if rows is not None:  # as the pipeline has them
            vertex, used = self._common.vertex, words_of(self._common.fragment.inputs)
            places = vertex.position, vertex.point_size, None, used
            return next(Rasterizer(self._common.state, self._view, self._bounds, p.choices, 0.0, *places)(v)).corners
        planes = np.ascontiguousarray(self._plane_rows[:, : -(-len(made.primitives) // GROUP) * GROUP])
        return triangle_corners(v, planes, self._front, self._common.state, p.make_all)

    def _show(self, p: Pipeline, made: Vertices, fetched: Fetched, rows: Array | None) -> LastDraw:
        """Return the record of the pipeline's last draw."""
        words = self._words[:, : fetched.count].copy()
        quads, common = self._made_quads.part(0), self._common

        def inputs() -> Fragments:
            return fragments_of(common.fragment, self._corners(p, made, rows), quads, common.state)

        places = np.arange(len(made.primitives)) if rows is None else rows
        attributes, v = self._vertex.stage.attributes, made.with_words(words, fetched)
        assert attributes is not None
        return LastDraw(attributes[:, : fetched.count].copy(), v, v, quads, places, inputs)


__all__ = ["DrawPlan", "plan_of"]
