"""Drawing with shaders of GXP files: the common assembly, rasterization and merging, with the USSE machine.

Row 0 of the targets is the upper row, as on the Vita, so that the second pixel row of a quad lies below the first one.
Vertex results reach fragment programs by name: `texcoord0`, `color0`, `fog` ...
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from isakit.engine.protocol import Array
from isakit.errors import LaunchError
from isakit.formats.gxp import HAS_INDEX, HAS_INSTANCE, NATIVE_COLOR, READS_COLOR, SAMPLER, UNIFORM, FragmentVaryings
from isakit.formats.shader import Shader
from isakit.graphics.assembly import Attribute, assemble
from isakit.graphics.draw_state import ClipDistance, DrawState, DrawStats, GraphicsChoices, Viewport
from isakit.graphics.framebuffer import Framebuffer
from isakit.graphics.gxm_targets import output_register, target_format
from isakit.graphics.merge import DepthFormat, Merger, ranged, rounds
from isakit.graphics.planes import Fragments, PointInput, PositionInput
from isakit.graphics.primitives import Drawn, Rasterizer
from isakit.graphics.raster import pixels
from isakit.graphics.vertices import Fetched, Vertices
from isakit.graphics.watchdog import Budget
from isakit.machine.usse import DEFAULT, Rules, Texture
from isakit.runtime.usse import BoundShader
from isakit.runtime.usse_engine import Engine, check_engine, stretches_for
from isakit.runtime.usse_layout import ShaderInput, fragment_inputs
from isakit.runtime.usse_output import OutputRegister
from isakit.runtime.vertex_streams import fractions

MAX_VERTICES = 1 << 22
"""Largest number of vertices of a draw, all instances together."""
LIMIT = 1_000_000
"""Largest number of instructions of a program."""


@dataclass(frozen=True)
class _Outputs:
    """The results of a vertex program as rows of words: name -> (first row, components)."""

    words: Array
    places: Mapping[str, tuple[int, int]]


class ShaderPipeline(Framebuffer):
    """Targets that vertex and fragment shaders of GXP files draw into.

    Args:
        width: pixels of a row.
        height: rows; row 0 is the upper one.
        targets: formats, one or more: colour surfaces of GXM (`U8U8U8U8_ABGR`, `F16F16F16F16_ABGR`, `U5U6U5_RGB` ...),
            or names as in `color_formats`. A fragment shader writes the first one.
        depth: d16, d24, d32f, or None for no depth buffer.
        choices: choices on open questions about the fixed functions.
        rules: choices on arithmetic where the hardware's behaviour is not known.
        engine: what executes programs: auto, reference or llvm.
        max_instructions: limit on the instructions of all draws together, counted once per group of invocations.

    Attributes: `targets`, `depth_buffer`; `vertices`: of the last draw the results of the vertex shader by name;
    `notes`: instructions of inferred meaning that were executed.
    """

    upper_first: ClassVar[bool] = True

    def __init__(
        self,
        width: int,
        height: int,
        *,
        targets: Sequence[str] = ("U8U8U8U8_ABGR",),
        depth: DepthFormat | None = "d24",
        choices: GraphicsChoices | None = None,
        rules: Rules = DEFAULT,
        engine: Engine = "auto",
        max_instructions: int | None = None,
    ) -> None:
        super().__init__(width, height, [target_format(name) for name in targets], depth, choices)
        check_engine(engine)
        self.rules = rules
        self.engine: Engine = engine
        self._budget = None if max_instructions is None else Budget(max_instructions)
        self.vertices: dict[str, Array] = {}
        self.notes: dict[str, str] = {}

    def draw(
        self,
        mode: str,
        vertex: Shader,
        fragment: Shader,
        attributes: Mapping[str, ArrayLike | Attribute],
        *,
        uniforms: Mapping[str, ArrayLike] | None = None,
        textures: Mapping[str, Texture | ArrayLike] | None = None,
        count: int | None = None,
        first: int = 0,
        indices: Array | None = None,
        restart: int | None = None,
        instances: int = 1,
        state: DrawState | None = None,
    ) -> DrawStats:
        """Draw primitives.

        Args:
            mode: points, lines, line_strip, line_loop, triangles, triangle_strip, triangle_fan ...
            vertex: a shader of a GXP file.
            fragment: likewise.
            attributes: vertex arrays by name or semantic: arrays [vertices, components], `VertexStream`, or `Attribute`
                of either for integers that become fractions and for attributes of instances (`divisor`).
            uniforms: by name, for both shaders.
            textures: by the sampler's name, as for `isakit.usse.run`.
            count: vertices to draw, if there are no indices (default: all).
            first: the first vertex, if there are no indices.
            indices: vertex numbers to draw in this order.
            restart: an index that ends a strip.
            instances: number of instances.
            state: fixed-function state; multisampling, layers and several viewports are not supported.

        A fragment shader that reads the previous colours (native colour) gets them in drawing order. Raises LaunchError
        for inconsistent arguments, NotModelled and MachineFault for errors of a program, BudgetExceeded if the draws of
        the pipeline take more than `max_instructions`: fragments merged before stay.
        """
        started = time.perf_counter()
        state = state or DrawState()
        if vertex.stage != "vertex" or fragment.stage != "fragment":
            raise LaunchError(f"a draw takes a vertex and a fragment shader, not {vertex.stage} and {fragment.stage}")
        for what in ("multisampling", "layer_word", "viewport_word", "clip_rectangles"):
            if getattr(state, what) is not None:
                raise LaunchError(f"the state {what!r} is not drawn with shaders of GXP files")
        both = self._bound(vertex, fragment, uniforms or {}, textures or {})
        stats = DrawStats()
        outputs, v = self._vertices(both[0], mode, attributes, (first, count, indices, restart, instances), state)
        stats.vertices, stats.primitives = outputs.words.shape[1], len(v.primitives)
        stats.stages["vertices"] = time.perf_counter() - started
        if len(v.primitives) and state.rasterize:
            self._fragments(both[1], outputs, v, state, stats)
        stats.instructions = sum(b.instructions for b in both)
        for b in both:
            self.notes |= b.notes
        stats.seconds = time.perf_counter() - started
        return stats

    def _bound(
        self,
        vertex: Shader,
        fragment: Shader,
        uniforms: Mapping[str, ArrayLike],
        textures: Mapping[str, Texture | ArrayLike],
    ) -> tuple[BoundShader, BoundShader]:
        """Return both shaders with their uniforms and textures bound."""
        shaders = vertex, fragment
        names = {c: [{p.name for p in s.parameters if p.category == c} for s in shaders] for c in (UNIFORM, SAMPLER)}
        for given, category, what in ((uniforms, UNIFORM, "uniform"), (textures, SAMPLER, "sampler")):
            there = names[category][0] | names[category][1]
            for name in given:
                if name not in there:
                    listed = ", ".join(sorted(there)) or "none"
                    raise LaunchError(f"neither shader has a {what} {name!r}; there are: {listed}")

        def bound(k: int) -> BoundShader:
            numbers = {n: x for n, x in uniforms.items() if n in names[UNIFORM][k]}
            images = {n: x for n, x in textures.items() if n in names[SAMPLER][k]}
            limit = LIMIT if self._budget is None else min(LIMIT, self._budget.left)
            made = BoundShader(shaders[k], numbers, images, {}, self.rules, limit)
            made.engine, made.counted = self.engine, self._count
            self._count(made.instructions)
            return made

        return bound(0), bound(1)

    def _count(self, instructions: int) -> None:
        """Count instructions that shaders have executed.

        Raises BudgetExceeded if they exceed the rest of the budget.
        """
        if self._budget is not None:
            self._budget.charge(instructions, 0)

    # --- vertices -----------------------------------------------------------------------------------------------------
    def _vertices(
        self,
        shader: BoundShader,
        mode: str,
        attributes: Mapping[str, ArrayLike | Attribute],
        what: tuple[int, int | None, Array | None, int | None, int],
        state: DrawState,
    ) -> tuple[_Outputs, Vertices]:
        first, count, indices, restart, instances = what
        arrays = {name: _attribute(name, a) for name, a in attributes.items()}
        rows = [len(values) for values, divisor in arrays.values() if not divisor and len(values) > 1]
        n = count if count is not None else max(min(rows, default=min(len(arrays), 1)) - first, 0)
        if min(n, first, instances) < 0 or (indices is None and n > MAX_VERTICES):
            raise LaunchError(f"a draw of {n} vertices from {first} on, {instances} times")
        order = np.arange(first, first + n) if indices is None else np.asarray(indices).astype(np.int64).ravel()
        fetched = Fetched.of(order, restart, instances)
        numbers = fetched.numbers
        if fetched.count > MAX_VERTICES:
            raise LaunchError(f"a draw of {fetched.count} vertices; {MAX_VERTICES} are allowed")
        if rows and len(numbers) and not 0 <= numbers[0] <= numbers[-1] < min(rows):
            raise LaunchError(f"the draw reads vertex {numbers[-1]}; its attributes have {min(rows)} rows")
        ids, instance = fetched.ids, fetched.instance
        given = {name: _rows(values, divisor, ids, instance) for name, (values, divisor) in arrays.items()}
        gxp = shader.gxp
        if gxp.flags & HAS_INDEX:
            given.setdefault("index", ids[:, None])
        if gxp.flags & HAS_INSTANCE:
            given.setdefault("instance", instance[:, None])
        outputs = self._run_vertices(shader, given, len(ids))
        one = assemble(mode, order, restart, state.provoking == "last", self.choices.quads)
        return outputs, fetched.shaded(outputs.words, one)

    def _run_vertices(self, shader: BoundShader, given: Mapping[str, ArrayLike], lanes: int) -> _Outputs:
        if not lanes:
            return _Outputs(np.zeros((4, 0), np.uint32), {"position": (0, 4)})
        results = self._run(shader, given, {}, lanes, None)
        self.vertices = dict(results)
        places: dict[str, tuple[int, int]] = {}
        rows: list[Array] = []
        for name, values in results.items():
            places[name] = sum(map(len, rows)), values.shape[1]
            rows.append(np.ascontiguousarray(values.T, np.float32).view(np.uint32))
        return _Outputs(np.concatenate(rows), places)

    def _run(
        self,
        shader: BoundShader,
        attributes: Mapping[str, ArrayLike],
        varyings: Mapping[str, ArrayLike],
        lanes: int,
        before: Array | None,
    ) -> Mapping[str, Array]:
        grid, inputs = shader.grid(attributes, varyings, lanes, before)
        return shader.over(grid, inputs, before, stretches_for(self.engine, shader.code, grid.lanes))

    # --- fragments ----------------------------------------------------------------------------------------------------
    def _fragments(
        self, shader: BoundShader, outputs: _Outputs, v: Vertices, state: DrawState, stats: DrawStats
    ) -> None:
        places = outputs.places
        _check_varyings(shader, places)
        view = self.viewport(state)
        unit = 0.0 if self.depth_buffer is None else self.depth_buffer.unit
        clips = tuple(ClipDistance(row) for name, (row, _) in places.items() if name.startswith("clip"))
        # Windings are told with y up; here rows go down.
        turned = replace(state, front="cw" if state.front == "ccw" else "ccw", clip_distances=clips)
        point_size = places["pointsize"][0] if "pointsize" in places else None
        position = list(range(places["position"][0], places["position"][0] + 4))
        draw = Rasterizer(turned, view, self.bounds(state.scissor), self.choices, unit, position, point_size)
        for drawn in draw(v):
            stats.triangles += drawn.triangles
            stats.quads += len(drawn.quads)
            if len(drawn.quads):
                self._shade(shader, places, drawn, turned, view, stats)

    def _shade(
        self,
        shader: BoundShader,
        places: Mapping[str, tuple[int, int]],
        drawn: Drawn,
        state: DrawState,
        view: Viewport,
        stats: DrawStats,
    ) -> None:
        quads, corners = drawn.quads, drawn.corners
        x, y = (p.ravel() for p in pixels(quads))
        covered, primitive = quads.covered.ravel(), np.repeat(quads.primitive, 4)
        at = Fragments((), corners, x, y, primitive)
        given = _varyings(shader, places, at)
        given["back_facing"] = ~corners.front[primitive]
        depth = at.depth()
        merger = Merger(self.targets[:1], self.depth_buffer, state, self.choices)
        started = time.perf_counter()
        reads = _reads_target(shader)
        across = self.width // 2 + 1
        turns = rounds((quads.y // 2).astype(np.int64) * across + quads.x // 2) if reads else [slice(None)]
        for turn in turns:
            lanes = (4 * np.arange(len(quads))[turn, None] + np.arange(4)).ravel()
            some = {n: a if np.ndim(a) == 0 else a[lanes] for n, a in given.items()}
            before = self._there(x[lanes], y[lanes]) if reads else None
            results = self._run(shader, {}, some, len(lanes), before)
            alive = covered[lanes] & ~results["discard"] if "discard" in results else covered[lanes]
            here = lanes[alive]
            z = results["depth"][alive] if "depth" in results else depth[here]
            colors = self._colors(shader, results["color"][alive])
            merger.write(x[here], y[here], ranged(z, view), corners.front[primitive[here]], [colors.view(np.uint32)])
            stats.fragments += len(here)
        stats.samples += merger.passed
        stats.stages["fragments"] = stats.stages.get("fragments", 0.0) + time.perf_counter() - started

    def _there(self, x: Array, y: Array) -> Array:
        """Return the colours of the first target at pixels, f32 [n, 4]; beyond the edges, those at the edge."""
        target = self.targets[0]
        return target.decoded(target.pixels[np.clip(y, 0, self.height - 1), np.clip(x, 0, self.width - 1)])

    def _colors(self, shader: BoundShader, colors: Array) -> Array:
        """Return colours in the precision of the output register, f32 [n, 4]."""
        out = np.zeros((len(colors), 4), np.float32)
        out[:, 3] = 1
        name = None if shader.gxp.flags & NATIVE_COLOR else output_register(self.targets[0].color_format)
        if name is not None:
            register = OutputRegister.asked(name, shader.gxp)
            colors = register.unpacked(register.packed(colors))
        out[:, : min(4, colors.shape[1])] = colors[:, :4]
        return out


def _attribute(name: str, given: ArrayLike | Attribute) -> tuple[Array, int]:
    """Return values [vertices, components] and divisor of an attribute."""
    data, divisor = (given.data, given.divisor) if isinstance(given, Attribute) else (given, 0)
    a: Array = np.asarray(data)
    if a.dtype == np.float64:
        a = a.astype(np.float32)
    if isinstance(given, Attribute) and given.normalized and a.dtype.kind in "iu":
        a = fractions(a)
    a = a[None] if a.ndim == 1 else a.reshape(len(a), -1) if a.ndim else a
    if a.ndim != 2 or not len(a) or a.dtype.kind not in "fiu":
        raise LaunchError(f"the attribute {name!r} is {a.dtype} of shape {a.shape}")
    return a, divisor


def _rows(values: Array, divisor: int, ids: Array, instance: Array) -> Array:
    """Return the rows of vertices; a single row is for all, and rows of instances past the end are the last one."""
    row = ids if divisor == 0 else instance // divisor
    return values[np.minimum(row, len(values) - 1)]


def _reads_target(shader: BoundShader) -> bool:
    """Return whether a fragment program reads the previous colours, by its flags or its code."""
    flags = shader.gxp.flags
    return bool(flags & READS_COLOR) or (
        bool(flags & NATIVE_COLOR) and any(n[0] == "o" for i in shader.shader.primary for n in i.reads)
    )


def _wanted(shader: BoundShader) -> list[ShaderInput]:
    """Return the inputs of the fragment shader that are interpolated."""
    v = shader.gxp.varyings
    return fragment_inputs(v.inputs) if isinstance(v, FragmentVaryings) else []


def _check_varyings(shader: BoundShader, places: Mapping[str, tuple[int, int]]) -> None:
    """Raise LaunchError for an input that is never written."""
    for i in _wanted(shader):
        if i.name not in places and i.name not in ("position", "spritecoord"):
            listed = ", ".join(places)
            raise LaunchError(f"the fragment shader reads {i.name!r}; the vertex shader writes {listed}")


def _varyings(shader: BoundShader, places: Mapping[str, tuple[int, int]], at: Fragments) -> dict[str, Array]:
    """Interpolate the inputs of the fragment shader with perspective."""
    found: dict[str, Array] = {}
    for i in _wanted(shader):
        if i.name == "position":
            found[i.name] = np.stack([at.value(PositionInput(c)) for c in ("x", "y", "z", "w")], 1)
        elif i.name == "spritecoord":
            found[i.name] = np.stack([at.value(PointInput(c)) for c in ("s", "t", "zero", "one")], 1)
        elif i.name not in found:
            first, count = places[i.name]
            values = np.stack([at.perspective(first + k) for k in range(count)], 1)
            # Colours that reach the program as bytes are passed as bytes.
            found[i.name] = np.rint(np.clip(values, 0, 1) * 255) if i.ty == "u8" else values
    return found
