"""The stages of a draw: programs, attributes, textures and targets from memory, through the pipeline, and back.

Source: [graphics] 3; [nv50] "Methods".
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from isakit.engine.protocol import Array
from isakit.errors import NotModelled
from isakit.graphics.assembly import Attribute, Input
from isakit.graphics.draw_state import DrawState, DrawStats
from isakit.graphics.kept_launches import return_freed_memory
from isakit.graphics.merge import RenderTarget
from isakit.graphics.pipeline import Pipeline
from isakit.graphics.shader import FragmentShader, GeometryShader, VertexShader
from isakit.graphics.texture_bindings import Bound
from isakit.hosts.drm.engine import signed
from isakit.hosts.drm.engines import images
from isakit.hosts.drm.engines.draw_state3d import DrawState3D, ResultMap
from isakit.hosts.drm.engines.framebuffer import (
    ColorImage,
    DepthImage,
    OpenColor,
    OpenDepth,
    OpenImages,
)
from isakit.hosts.drm.engines.programs import CachedProgram, Programs
from isakit.hosts.drm.engines.stream_output import StreamOutput
from isakit.hosts.drm.engines.vertex_input import attribute_format, constant, from_memory

if TYPE_CHECKING:
    from isakit.graphics.draw_plan import DrawPlan

P = TypeVar("P", bound=Pipeline)
OnDraw = Callable[[int, int, str, DrawStats], None]
"""Called after a draw with its frame and number, its primitives, and its statistics."""
STAGES = ("vertex", "geometry", "fragment")
"""Kinds of programs, in the order of the methods that bind textures and samplers."""
CONSTANTS_OF = {"vertex": 0, "geometry": 2, "fragment": 3}
OUTPUTS = {1: "points", 2: "line_strip", 3: "triangle_strip"}
MOST_SETTINGS = 64
"""Draw settings that are cached."""
NOTHING = RenderTarget("r8", 0, 0)
"""The target where none is bound: nothing is written to it."""
STRIP_END = -1
"""Marks the end of a strip among vertices of the command stream; negative, since any u32 may be an index."""
G80 = 0x5097
"""The class of the first chip's 3D engine."""


@dataclass
class Batch:
    """The vertices between begin and end.

    Attributes: `first_id`: the id of the first one in the command stream; `order`: vertices by index, part by part,
    with their `places` among the `words` of vertices in the command stream.
    """

    mode: str
    instance: int
    first_id: int = 0
    order: list[Array] = field(default_factory=list[Array])
    places: list[int] = field(default_factory=list[int])
    words: list[Array] = field(default_factory=list[Array])
    vertices: list[tuple[tuple[int, int, int, int], ...]] = field(
        default_factory=list[tuple[tuple[int, int, int, int], ...]]
    )
    edges: list[tuple[int, bool]] = field(default_factory=list[tuple[int, bool]])
    ids: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    indexed: bool = False
    count: int = 0

    def add_vertex(self, attributes: list[tuple[int, int, int, int]]) -> None:
        """Add a vertex from the values of all attributes."""
        self.vertices.append(tuple(attributes))
        self.count += 1

    @property
    def word_count(self) -> int:
        """The number of words of vertices in the command stream so far."""
        return sum(map(len, self.words))

    def mark_edge(self, flag: bool) -> None:
        """Set the edge flag of the vertices that follow."""
        self.edges.append((self.word_count, flag))

    def mark_id(self, base: int) -> None:
        """Set the id of the next vertex; later ones count up from it."""
        self.ids.append((self.word_count, base))

    def vertex_ids(self, words: int) -> Array:
        """Return the ids of the vertices of `words` words in the command stream, u32."""
        out = self.first_id + np.arange(self.word_count // max(1, words))
        for at, number in self.ids:
            first = at // max(1, words)
            out[first:] = np.arange(number, number + len(out) - first)
        return (out & 0xFFFF_FFFF).astype(np.uint32)

    def edge_flags(self, words: int) -> Array | None:
        """Return a flag for each vertex of `words` words in the command stream; None if all edges are boundaries."""
        if all(flag for _, flag in self.edges):
            return None
        count = self.word_count // max(1, words)
        out = np.ones(count, bool)
        for at, flag in self.edges:
            out[at // max(1, words) :] = flag
        return out

    def add_range(self, first: int, count: int) -> None:
        """Add vertices one after another."""
        self._add_numbers(np.arange(first, first + count, dtype=np.int64))

    def add_indices(self, numbers: Array) -> None:
        """Add vertices by number."""
        self.indexed = True
        self._add_numbers(numbers)

    def _add_numbers(self, numbers: Array) -> None:
        self.order.append(numbers)
        self.places.append(self.word_count)
        self.count += len(numbers)

    def stream_order(self, words: int, restart: int | None) -> Array:
        """Return the vertices of `words` words in the command stream in drawing order, STRIP_END where a strip ends.

        A strip ends at an index among their words. Raises NotModelled for an index other than `restart`.
        """
        every = np.arange(self.word_count // max(1, words))
        if not self.order:
            return every
        if any((numbers != restart).any() for numbers in self.order):
            raise NotModelled("indices among vertices in the command stream")
        ends = [at // max(1, words) for at, part in zip(self.places, self.order, strict=True) for _ in part]
        return np.insert(every, ends, STRIP_END)

    def add_words(self, words: Array) -> None:
        """Add vertices as words."""
        self.words.append(words.copy())
        self.count += len(words)


@dataclass(eq=False)
class DrawSetting:
    """The common properties of draws whose registers are equal, except for the locations of vertices.

    Attributes: its `programs`; `vertex`, `geometry`, `fragment` with their inputs and results; `attributes` that are
    fetched; `ids`: the position of the vertex id among the inputs, and whether it includes the first vertex, or None;
    the targets `colors` and `depth`, and the `size` that all of them have; `seamless` cube maps; `plan`, and the c[]
    banks that were `bound` when it was made.
    """

    programs: list[CachedProgram]
    vertex: VertexShader
    geometry: GeometryShader | None
    fragment: FragmentShader
    state: DrawState
    attributes: tuple[int, ...]
    ids: tuple[int, bool] | None
    colors: tuple[ColorImage | None, ...]
    depth: DepthImage | None
    size: tuple[int, int]
    seamless: bool
    plan: DrawPlan | None = None
    bound: list[set[int]] = field(default_factory=list[set[int]])


class Drawing:
    """Executes draws for one 3D engine. `frame` and `draws` count what has been drawn."""

    def __init__(self, engine: DrawState3D) -> None:
        self.engine = engine
        self.programs = Programs(engine.memory, engine.chip)
        self.images = images.Images(engine.memory, engine.chip.class_3d == G80)
        self.opened = OpenImages()
        self._settings: OrderedDict[tuple[int, ...], DrawSetting] = OrderedDict()
        self._setting: DrawSetting
        self._words: tuple[int, ...] = ()
        self._dropped = 0
        self.pipeline: Pipeline = self.switch_pipeline(Pipeline)
        self.stream = StreamOutput(engine)
        self.frame = self.draws = 0
        self.on_draw: OnDraw | None = None

    def switch_pipeline(self, kind: type[P]) -> P:
        """Use a pipeline of class `kind` from now on, and return it."""
        s = self.engine.settings
        made = kind(
            1, 1, targets=(), depth=None, choices=s.choices, texturing=s.texturing, threads=s.threads,
            engine=s.engine, tier=s.tier, watchdog=s.watchdog,
        )  # fmt: skip
        self.pipeline = made
        self._settings.clear()  # plans are for one pipeline
        self._words = ()
        return made

    def is_at(self, frame: int | None, draw: int | None) -> bool:
        """Return whether the current draw is this draw of this frame; None matches any."""
        return frame in (None, self.frame) and draw in (None, self.draws)

    def before_clear(self) -> None:
        """Begin a new frame if anything was drawn since the last clear."""
        if self.draws:
            self.frame += 1
            self.draws = 0

    # --- programs -----------------------------------------------------------------------------------------------------
    def _program(self, kind: str, cls: Any, used: list[CachedProgram], **options: Any) -> Any:
        """Return a new shader object with the program of a kind."""
        e = self.engine
        p = e.program_places[kind]
        found = self.programs.find(kind, p.segment, p.start, (p.registers, p.flags, p.local))
        if found.made is None:
            found.made = cls(
                found.units, e.chip.name, registers=p.registers, local_bytes=p.local if found.uses_local else 0,
                flags=p.flags, address=p.start, **options,
            )  # fmt: skip
        used.append(found)
        return copy(found.made)

    def setting(self) -> DrawSetting:
        """Return the common properties of the present draw. Raises GpuFault, MachineFault, NotModelled."""
        words = self.engine.draw_words
        if words is self._words and self._is_current(self._setting):
            return self._setting
        found = self._settings.pop(words, None)
        if found is None or not self._is_current(found):
            found = self._new_setting()
        self._settings[words] = self._setting = found
        self._words = words
        if len(self._settings) > MOST_SETTINGS:
            self._settings.popitem(last=False)
            self._dropped += 1
            if self._dropped % MOST_SETTINGS == 0:
                return_freed_memory()
        return found

    def _is_current(self, s: DrawSetting) -> bool:
        """Return whether the programs of a setting are unchanged in memory. Raises GpuFault."""
        return all(self.programs.unchanged(p) for p in s.programs)

    def _new_setting(self) -> DrawSetting:
        e = self.engine
        programs: list[CachedProgram] = []
        state = e.draw_state
        vertex: VertexShader = self._program("vertex", VertexShader, programs)
        self._place_results(vertex, e.vertex_map)
        used, inputs = e.vertex_inputs
        builtin = e.get("VP_GP_BUILTIN_ATTR_EN")
        instance: list[Input] = [(len(used), 0)] if builtin.INSTANCE_ID else []  # it follows the attributes
        every: list[Input] = [*inputs, *instance]
        vertex.inputs = every
        geometry = self._geometry(programs) if e.on("GP_ENABLE") else None
        colors, depth = e.color_images, e.depth_target
        fragment = self._fragment(len(colors), programs)
        if None in colors and state.color_masks is not None:
            bound = [c is not None for c in colors] + [True] * (len(state.color_masks) - len(colors))
            masks = tuple(m if b else (False,) * 4 for m, b in zip(state.color_masks, bound, strict=True))
            state = replace(state, color_masks=masks)  # what goes to a target that is not there is dropped
        ids = (len(inputs), bool(builtin.VERTEX_ID_DRAW_ARRAYS_ADD_START)) if builtin.VERTEX_ID else None
        _, right, _, upper = e.screen_scissor
        images = [i for i in (*colors, depth) if i is not None]
        size = min([i.width for i in images], default=right), min([i.height for i in images], default=upper)
        seamless = e.chip.at_least_gt200 and bool(e.get("TEX_MISC").SEAMLESS_CUBE_MAP)
        return DrawSetting(programs, vertex, geometry, fragment, state, used, ids, colors, depth, size, seamless)

    def vertex_id_base(self) -> int:
        """Return VERTEX_ID_BASE; the first chip has none."""
        e = self.engine
        return 0 if e.chip.class_3d == G80 else signed(e.get("VERTEX_ID_BASE"))

    def _first_vertex_id(self, batch: Batch, adds_start: bool) -> int:
        """Return the offset from the index of a vertex to its id.

        VERTEX_ID_BASE counts from the number without what VB_ELEMENT_BASE or VERTEX_BUFFER_FIRST add; on the first
        chip, which has no such base, the number itself is taken (inferred).
        """
        e = self.engine
        if e.chip.class_3d == G80:
            return 0
        if batch.words:
            return signed(e.get("VERTEX_ID_BASE"))
        if batch.indexed:
            return signed(e.get("VERTEX_ID_BASE")) - e.vertex_base()
        first = 0 if adds_start or not batch.order else int(batch.order[0][0])
        return signed(e.get("VERTEX_ID_BASE")) - first

    def _with_ids(
        self, shader: VertexShader, attributes: Sequence[int], place: int, adds_start: bool, batch: Batch
    ) -> VertexShader:
        """Return the vertex program with the vertex ids of a draw as an additional input at `place`."""
        inputs: list[Input] = [*(shader.inputs or ())]
        shader = copy(shader)
        if batch.ids and batch.words:  # ids change within the draw: they are an attribute, behind the instance
            inputs.insert(place, (len(attributes) + 1, 0))
        else:
            inputs.insert(place, ("vertex_id", self._first_vertex_id(batch, adds_start)))
        shader.inputs = inputs
        return shader

    def _place_results(self, shader: VertexShader | GeometryShader, result: ResultMap) -> None:
        x, y, z, w = map(result.word, range(4))
        shader.position = x, y, z, w
        shader.point_size = self.engine.point_size_word

    def _geometry(self, used: list[CachedProgram]) -> GeometryShader:
        e = self.engine
        output = OUTPUTS.get(e.get("GP_OUTPUT_PRIMITIVE_TYPE"))
        if output is None:
            raise NotModelled(f"geometry programs that emit primitive {e.get('GP_OUTPUT_PRIMITIVE_TYPE')}")
        shader: GeometryShader = self._program("geometry", GeometryShader, used, inputs=(0,), max_vertices=1)
        shader.inputs = list(e.vertex_map.slots)
        shader.output, shader.max_vertices = output, min(1024, max(1, e.get("GP_VERTEX_OUTPUT_COUNT")))
        self._place_results(shader, e.geometry_map)
        return shader

    def _fragment(self, targets: int, used: list[CachedProgram]) -> FragmentShader:
        e = self.engine
        shader: FragmentShader = self._program("fragment", FragmentShader, used)
        shader.inputs = e.fragment_inputs
        results = e.fragment_results
        shader.colors = list(results.colors[:targets])
        shader.second, shader.depth, shader.sample_mask = results.second, results.depth, results.sample_mask
        return shader

    def _plan(self, s: DrawSetting) -> tuple[DrawPlan, dict[str, dict[int, Array]]] | None:
        """Return the plan of a setting, and the constants of its programs; None if there is no plan for such draws."""
        e = self.engine
        if s.geometry is not None or s.ids is not None or e.on("STRMOUT_ENABLE"):
            return None
        if self.pipeline.engine.name != "llvm":
            return None
        from isakit.graphics.draw_plan import plan_of

        banks = {kind: e.constants.views(CONSTANTS_OF[kind]) for kind in ("vertex", "fragment")}
        found = {kind: some for kind, some in banks.items() if some is not None}
        if len(found) < len(banks):
            return None
        bound = [found[kind].keys() for kind in found]
        if s.plan is None or s.bound != bound:
            self._bind_constants(s)
            s.plan = plan_of(self.pipeline, s.vertex, s.fragment, s.state)
            s.bound = [set(b) for b in bound]
        return None if s.plan is None else (s.plan, found)

    def _bind_constants(self, s: DrawSetting) -> None:
        for shader in (s.vertex, s.geometry, s.fragment):
            if shader is not None:
                shader.constants.clear()
                shader.constants.update(self.engine.constants.banks(CONSTANTS_OF[shader.kind]))

    # --- attributes ---------------------------------------------------------------------------------------------------
    def _attributes(self, batch: Batch, used: Sequence[int], numbers: Array) -> list[Attribute]:
        e = self.engine
        inline = e.inline if batch.words else None
        data = None
        if inline is not None:
            if not inline.words:
                raise NotModelled("vertices in the command stream without a format")
            words = np.concatenate(batch.words)
            data = words[: len(words) // inline.words * inline.words].reshape(-1, inline.words)
        out: list[Attribute] = []
        immediate = np.array(batch.vertices, np.uint32) if batch.vertices else None
        count = int(numbers.max()) + 1
        for i in used:
            found = None
            if immediate is not None:
                found = Attribute(np.ascontiguousarray(immediate[:, i]).view(np.float32))
            elif inline is not None and data is not None:
                found = inline.attribute(i, data)
            else:
                word = e.get("VERTEX_ARRAY_ATTRIB", i)
                if word and not word.CONST and e.get("VERTEX_ARRAY_FETCH", word.BUFFER).ENABLE:
                    instance = batch.instance + e.get("VB_INSTANCE_BASE")
                    found = from_memory(e, e.memory, attribute_format(word), count, instance)
            out.append(found if found is not None else constant(e.current.values[i]))
        out.append(constant((batch.instance, 0, 0, 0)))
        if inline is not None and batch.ids:
            out.append(Attribute(batch.vertex_ids(inline.words)[:, None]))
        return out

    # --- textures -----------------------------------------------------------------------------------------------------
    def bound_textures(self) -> dict[str, dict[int, Bound]]:
        """Return the textures bound for the programs of a draw, by kind and number. Raises GpuFault, NotModelled."""
        e = self.engine
        out: dict[str, dict[int, Bound]] = {name: {} for name in STAGES}
        table, limit = e.address("TIC_ADDRESS"), e.get("TIC_LIMIT")
        samplers, last = e.address("TSC_ADDRESS"), e.get("TSC_LIMIT")
        linked, geometry = e.on("LINKED_TSC"), e.on("GP_ENABLE")
        for (stage, slot), tic in list(e.textures.items()):
            name = STAGES[stage]
            if name == "geometry" and not geometry:
                continue
            tsc = tic if linked else e.samplers.get((stage, slot), 0)
            words = images.entry(e.memory, table, tic, limit, "TIC")
            out[name][slot] = self.images.bound(words, images.entry(e.memory, samplers, tsc, last, "TSC"), e.report)
        return out

    # --- the draw -----------------------------------------------------------------------------------------------------
    def draw(self, batch: Batch) -> None:
        """Draw the vertices of a batch. Raises NotModelled, GpuFault, MachineFault, LaunchError."""
        e = self.engine
        e.check_runs()
        self.draws += 1
        s = self.setting()
        restart = None
        if e.on("PRIM_RESTART_ENABLE") and (batch.indexed or e.on("PRIM_RESTART_WITH_DRAW_ARRAYS")):
            restart = e.get("PRIM_RESTART_INDEX")
        edges: Array | None = None
        if batch.words:
            inline = e.inline
            order, restart = batch.stream_order(inline.words, restart), STRIP_END
            edges = batch.edge_flags(inline.words)
            if edges is not None:
                edges = edges[order]  # whatever stands at the end of a strip, no edge begins there
        elif batch.vertices:
            if batch.order:
                raise NotModelled("indices among vertices of VTX_ATTR")
            restart = None
            order = np.arange(len(batch.vertices))
        elif not batch.order:
            return
        else:
            order = np.concatenate(batch.order)
            if batch.indexed:
                base = e.vertex_base()
                if base:
                    order = np.where(order == restart, order, order + base & 0xFFFF_FFFF)
        numbers = order[order != restart] if restart is not None else order
        if not len(numbers):
            return
        arrays = self._attributes(batch, s.attributes, numbers)
        textures = self.bound_textures()
        p = self.pipeline
        p.width, p.height = s.size
        if p.texturing.seamless != s.seamless:
            p.texturing = replace(p.texturing, seamless=s.seamless)
        opened = _Layers(p, self.opened, s.colors, s.depth)
        base = 0 if s.state.layer_word is not None else e.get("LAYER").IDX
        try:
            opened.select(base)
            stats, planned = None, self._plan(s)
            if planned is not None:
                plan, constants = planned
                stats = plan.draw(p, batch.mode, order, restart, arrays, textures, constants)
            if stats is None:
                self._bind_constants(s)
                vertex = s.vertex if s.ids is None else self._with_ids(s.vertex, s.attributes, *s.ids, batch)
                stats = p.draw(
                    batch.mode, vertex, s.fragment, arrays, geometry=s.geometry, indices=order,
                    restart=restart, state=s.state, textures=textures,
                    layers=lambda layer: opened.select(base + layer), edges=edges,
                )  # fmt: skip
        finally:
            opened.close()  # with what a draw has drawn before it failed
        self._count(batch, stats, s.geometry is not None)
        if self.on_draw is not None:
            self.on_draw(self.frame, self.draws, batch.mode, stats)

    def _count(self, batch: Batch, stats: DrawStats, geometry: bool) -> None:
        e = self.engine
        if e.on("SAMPLECNT_ENABLE"):
            e.samples += stats.samples
        primitives = stats.primitives
        e.add_to_counters(
            VFETCH_VERTICES=batch.count,
            VFETCH_PRIMITIVES=primitives,
            VP_LAUNCHES=stats.vertices,
            GENERATED_PRIMITIVES=primitives,
            RAST_PRIMITIVES_PRECLIP=primitives,
            RAST_PRIMITIVES_POSTCLIP=stats.triangles,
            FP_PIXELS=stats.fragments,
            GP_LAUNCHES=primitives if geometry else 0,
            GP_PRIMITIVES_OUT=primitives if geometry else 0,
        )
        if e.on("STRMOUT_ENABLE") and self.pipeline.vertices is not None:
            self.stream.write(self.pipeline.vertices, e.last_map)
        r = e.report
        r.count("vertices", stats.vertices)
        r.count("triangles", stats.triangles)
        r.count("fragments", stats.fragments)
        r.count("instructions", stats.instructions)
        r.line(f"draw {self.frame}.{self.draws}: {batch.mode}, {batch.count} vertices, {stats.fragments} fragments")


class _Layers:
    """The layers of a draw's targets: opened when they are drawn to, written back at the end."""

    def __init__(
        self, pipeline: Pipeline, opened: OpenImages, colors: Sequence[ColorImage | None], depth: DepthImage | None
    ) -> None:
        self.pipeline, self.opened, self.colors, self.depth = pipeline, opened, colors, depth
        self._open: dict[int, tuple[list[OpenColor | None], OpenDepth | None]] = {}

    def select(self, layer: int) -> None:
        """Make a layer the pipeline's targets."""
        found = self._open.get(layer)
        if found is None:
            colors = [None if c is None else self.opened.open_color(c, layer) for c in self.colors]
            depth = self.opened.open_depth(self.depth, layer) if self.depth is not None else None
            found = self._open[layer] = colors, depth
        self.pipeline.targets = [NOTHING if c is None else c.target for c in found[0]]
        self.pipeline.depth_buffer = None if found[1] is None else found[1].buffer

    def close(self) -> None:
        """Write back what has been drawn."""
        for layer, (colors, depth) in self._open.items():
            for image, c in zip(self.colors, colors, strict=True):
                if c is not None and image is not None:
                    c.store()
                    self.opened.keep(image, layer, c)
            if depth is not None and self.depth is not None:
                depth.store()
                self.opened.keep(self.depth, layer, depth)
