"""The 3D engine: actions of its methods. State is in `draw_state3d`, the stages of a draw in `draw3d`.

Source: rnndb nv50_3d; [nv50] "Methods", "Synchronisation".
"""

from __future__ import annotations

import time

import numpy as np

from isakit.engine.protocol import Array
from isakit.errors import NotModelled
from isakit.hosts.drm.card_settings import CardSettings
from isakit.hosts.drm.chips import CardChip
from isakit.hosts.drm.engine import action, number, signed
from isakit.hosts.drm.engines import conditions
from isakit.hosts.drm.engines.draw3d import Batch, Drawing
from isakit.hosts.drm.engines.draw_state3d import COUNTERS, DrawState3D
from isakit.hosts.drm.engines.framebuffer import color_image, depth_image
from isakit.hosts.drm.engines.shared import bind, halves
from isakit.hosts.drm.memory import VideoMemory
from isakit.hosts.drm.report import Report
from isakit.hosts.drm.tables.method import Word

PRIMITIVES = (
    "points", "lines", "line_loop", "line_strip", "triangles", "triangle_strip", "triangle_fan", "quads", "quad_strip",
    "polygon", "lines_adjacency", "line_strip_adjacency", "triangles_adjacency", "triangle_strip_adjacency",
)  # fmt: skip
SYNC = 1
"""The mode of QUERY_GET that waits."""
MOST_VERTICES = 1 << 24
"""Largest number of vertices of a draw; more are refused."""


class Engine3D(DrawState3D):
    """The 3D engine of a channel."""

    def __init__(self, memory: VideoMemory, report: Report, chip: CardChip, settings: CardSettings) -> None:
        super().__init__(memory, report, chip, settings)
        self.drawing = Drawing(self)
        self._batch: Batch | None = None
        self._instance = 0
        self._narrow: tuple[int, int, int] | None = None
        self._edge = True

    # --- constants ----------------------------------------------------------------------------------------------------
    @action("CB_DEF_SET")
    def define_constants(self, word: Word, index: int) -> None:
        """Define a constant buffer: address and size."""
        self.constants.define(word.BUFFER, self.address("CB_DEF_ADDRESS"), word.SIZE)

    @action("SET_PROGRAM_CB")
    def bind_constants(self, word: Word, index: int) -> None:
        """Bind a constant buffer as a c[] bank of a kind of program, or unbind it."""
        bind(self.constants.bound, (word.PROGRAM, word.INDEX), word.BUFFER if word.VALID else None)

    @action("CB_ADDR")
    def place_constants(self, word: Word, index: int) -> None:
        """Set the position for CB_DATA."""
        self.constants.place = word.BUFFER, word.ID * 4

    @action("CB_DATA", bulk=True)
    def write_constants(self, words: Array) -> None:
        """Write words of a constant buffer."""
        self.constants.write(words)

    # --- textures -----------------------------------------------------------------------------------------------------
    @action("BIND_TIC")
    def bind_texture(self, word: Word, stage: int) -> None:
        """Bind a TIC entry to a texture number of a stage."""
        bind(self.textures, (stage, word.TEXTURE), word.TIC if word.VALID else None)

    @action("BIND_TSC")
    def bind_sampler(self, word: Word, stage: int) -> None:
        """Bind a TSC entry to a sampler number of a stage."""
        bind(self.samplers, (stage, word.SAMPLER), word.TSC if word.VALID else None)

    @action("BIND_TIC2")
    def bind_more_textures(self, word: Word, stage: int) -> None:
        """Bind TIC entries to textures 128 and 129."""
        bind(self.textures, (stage, 128 + word.TEXTURE), word.TIC if word.VALID else None)

    @action("BIND_TSC2")
    def bind_more_samplers(self, word: Word, stage: int) -> None:
        """Bind TSC entries to samplers 16 and 17."""
        bind(self.samplers, (stage, 16 + word.SAMPLER), word.TSC if word.VALID else None)

    # --- attributes that are the same for all vertices --------------------------------------------------------------
    def _attribute(self, i: int, component: int, words: tuple[int, ...], last: bool) -> None:
        """Set components of an attribute; inside of a draw, attribute 0 completes a vertex."""
        self.current.set(i, component, words)
        if last and i == 0 and self._batch is not None and self._room(1):
            self._batch.add_vertex(self.current.values)

    @action("VTX_ATTR_1F")
    def attribute_1(self, word: int, i: int) -> None:
        """Set x of an attribute with one component."""
        self._attribute(i, 0, (word,), True)

    @action("VTX_ATTR_2F_X", "VTX_ATTR_3F_X", "VTX_ATTR_4F_X")
    def attribute_x(self, word: int, i: int) -> None:
        """Set x; the other components are reset."""
        self._attribute(i, 0, (word,), False)

    @action("VTX_ATTR_2F_Y")
    def attribute_last_y(self, word: int, i: int) -> None:
        """Set y of an attribute with two components."""
        self._attribute(i, 1, (word,), True)

    @action("VTX_ATTR_3F_Y", "VTX_ATTR_4F_Y")
    def attribute_y(self, word: int, i: int) -> None:
        """Set y."""
        self._attribute(i, 1, (word,), False)

    @action("VTX_ATTR_3F_Z")
    def attribute_last_z(self, word: int, i: int) -> None:
        """Set z of an attribute with three components."""
        self._attribute(i, 2, (word,), True)

    @action("VTX_ATTR_4F_Z")
    def attribute_z(self, word: int, i: int) -> None:
        """Set z."""
        self._attribute(i, 2, (word,), False)

    @action("VTX_ATTR_4F_W")
    def attribute_w(self, word: int, i: int) -> None:
        """Set w."""
        self._attribute(i, 3, (word,), True)

    @action("EDGEFLAG")
    def edge_flag(self, word: Word, index: int) -> None:
        """Set whether the edges that begin at the following vertices are boundaries."""
        self._edge = bool(word)
        if self._batch is not None:
            self._batch.mark_edge(self._edge)

    @action("VERTEX_ID_BASE")
    def vertex_id_base(self, word: Word, index: int) -> None:
        """Set the id of the next vertex in the command stream."""
        if self._batch is not None:
            self._batch.mark_id(signed(word))

    # --- semaphores, queries, counters -------------------------------------------------------------------------------
    @action("COUNTER_RESET")
    def reset_counter(self, word: Word, index: int) -> None:
        """Reset a counter to 0."""
        if word == 1:
            self.samples = 0
        else:
            name = self.table.by_name["COUNTER_RESET"].values.get(word, "")
            if name in self.counters:
                self.counters[name] = 0

    @action("QUERY_GET")
    def query(self, word: Word, index: int) -> None:
        """Write a sequence number, alone or with a result and the time."""
        if word.MODE == SYNC:
            return  # waits for a value: nothing is left to wait for
        address, sequence = self.address("QUERY_ADDRESS"), self.get("QUERY_SEQUENCE")
        if word.SHORT:
            self.memory.write_words(address, [sequence], "query")
            return
        now = halves(time.monotonic_ns())
        select = word.SELECT
        if word.COUNTER:
            value = self.counters[COUNTERS[select]] if select < len(COUNTERS) else 0
            self.memory.write_words(address, [*halves(value), *now], "query")
            return
        value = 0
        if select == 1:
            value = self.samples
        elif select == 2:
            value = int(not self.stream_full)
        elif select == 13:
            value = self.stream_offsets[word.INDEX & 3]
        elif select:
            self.report.missing(f"query {select}")
        self.memory.write_words(address, [sequence, halves(value)[0], *now], "query")

    @action("STRMOUT_OFFSET")
    def place_stream(self, word: int, i: int) -> None:
        """Set the position in a stream output buffer."""
        self.stream_offsets[i & 3] = word

    @action("STRMOUT_ADDRESS_LOW")
    def begin_stream(self, word: int, i: int) -> None:
        """Begin a stream output buffer."""
        self.stream_offsets[i & 3] = 0
        self.stream_written = 0

    # --- clearing -----------------------------------------------------------------------------------------------------
    def _clear_rectangle(self, width: int, height: int) -> tuple[int, int, int, int]:
        m = self.multisampling
        across, down = (m.across, m.down) if m is not None else (1, 1)
        if self.get("CLEAR_FLAGS").CLEAR_RECT:
            x0, x1, y0, y1 = self.screen_scissor
            h, v = self.get("VIEWPORT_HORIZ"), self.get("VIEWPORT_VERT")
            x0, x1, y0, y1 = max(x0, h.X), min(x1, h.X + h.W), max(y0, v.Y), min(y1, v.Y + v.H)
        else:
            x0, x1, y0, y1 = self.scissor(0)
        return x0 * across, min(width, x1 * across), y0 * down, min(height, y1 * down)

    @action("CLEAR_BUFFERS")
    def clear(self, word: Word, index: int) -> None:
        """Clear a layer of a target, of depth, of stencil."""
        if not conditions.holds(self):
            return
        i, layer = word.RT, word.LAYER
        components = (bool(word.R), bool(word.G), bool(word.B), bool(word.A))
        self.report.count("clears")
        self.drawing.before_clear()
        image = color_image(self, i) if any(components) and i < 8 else None
        if image is not None:
            opened = self.drawing.opened.open_color(image, layer)
            x0, x1, y0, y1 = self._clear_rectangle(image.width, image.height)
            bits = np.array([self.words("CLEAR_COLOR", 4)], np.uint32)
            value = image.form.encoded(bits)[0]
            mask = image.form.mask(components)
            begin = opened.overwrite if mask.all() and not image.form.bits else opened.load
            begin((x0, y0, x1, y1))
            part = opened.target.pixels[y0:y1, x0:x1]
            if image.form.bits:
                part[...] = (part & ~mask) | (value & mask)
            else:
                part[..., mask] = value[mask]
            opened.store()
            self.drawing.opened.keep(image, layer, opened)
        depth = depth_image(self) if word.Z or word.S else None
        if depth is not None:
            z = self.drawing.opened.open_depth(depth, layer)
            keep = 0xFF ^ self.get("STENCIL_FRONT_MASK") if self.get("CLEAR_FLAGS").STENCIL_MASK else 0
            x0, x1, y0, y1 = self._clear_rectangle(depth.width, depth.height)
            begin = z.overwrite if word.Z and word.S and not keep and not z.padded else z.load
            begin((x0, y0, x1, y1))
            if word.Z:
                value = np.array([self.number("CLEAR_DEPTH")], np.float32)
                z.buffer.depth[y0:y1, x0:x1] = z.buffer.encoded(value)[0]
            if word.S:
                part = z.buffer.stencil[y0:y1, x0:x1]
                part[...] = (part & keep) | (self.get("CLEAR_STENCIL") & ~keep)
            z.store()
            self.drawing.opened.keep(depth, layer, z)

    # --- drawing ------------------------------------------------------------------------------------------------------
    @action("VERTEX_BEGIN_GL")
    def begin(self, word: Word, index: int) -> None:
        """Begin a draw, whose vertices follow."""
        self._narrow = None
        kind = word.PRIMITIVE
        self._instance = self._instance + 1 if word.INSTANCE_NEXT else self._instance if word.INSTANCE_CONT else 0
        if kind >= len(PRIMITIVES):
            self.report.fault(f"3d: no primitive {kind}")
            self._batch = None
            return
        self._batch = Batch(PRIMITIVES[kind], self._instance, first_id=self.drawing.vertex_id_base())
        self._batch.mark_edge(self._edge)

    @action("VERTEX_BUFFER_COUNT")
    def vertices(self, count: int, index: int) -> None:
        """Add consecutive vertices from VERTEX_BUFFER_FIRST on."""
        if self._batch is None or not self._room(count):
            return
        first = self.get("VERTEX_BUFFER_FIRST")
        self._batch.add_range(first, count)

    def _room(self, count: int) -> bool:
        assert self._batch is not None
        if self._batch.count + count > MOST_VERTICES:
            self.report.fault(f"3d: a draw of more than {MOST_VERTICES} vertices")
            self._batch = None
            return False
        return True

    def _indices(self, numbers: Array) -> None:
        if self._batch is not None and self._room(len(numbers)):
            self._batch.add_indices(numbers)

    @action("VB_ELEMENT_U32", bulk=True)
    def indices_32(self, words: Array) -> None:
        """Add 32-bit indices."""
        self._indices(words.astype(np.int64))

    def _narrow_setup(self, word: Word) -> None:
        self._narrow = (word.OFFSET, word.COUNT, 0) if word else None

    def _narrow_indices(self, numbers: Array) -> None:
        """Add indices that are packed in words; a set-up method selects those that count."""
        if self._narrow is None:
            self._indices(numbers)
            return
        skip, count, seen = self._narrow
        self._narrow = skip, count, seen + len(numbers)
        first, last = max(skip - seen, 0), min(skip + count - seen, len(numbers))
        if first < last:
            self._indices(numbers[first:last])

    @action("VB_ELEMENT_U16_SETUP")
    def setup_16(self, word: Word, index: int) -> None:
        """Select which of the following 16-bit indices count."""
        self._narrow_setup(word)

    @action("VB_ELEMENT_U16", bulk=True)
    def indices_16(self, words: Array) -> None:
        """Add two indices from each word."""
        self._narrow_indices(np.ascontiguousarray(words).view(np.uint16).astype(np.int64))

    @action("VB_ELEMENT_U8_SETUP")
    def setup_8(self, word: Word, index: int) -> None:
        """Select which of the following 8-bit indices count."""
        self._narrow_setup(word)

    @action("VB_ELEMENT_U8", bulk=True)
    def indices_8(self, words: Array) -> None:
        """Add four indices from each word."""
        self._narrow_indices(np.ascontiguousarray(words).view(np.uint8).astype(np.int64))

    @action("VERTEX_DATA", bulk=True)
    def inline_vertices(self, words: Array) -> None:
        """Add words of vertices."""
        if self._batch is not None and self._room(len(words)):
            self._batch.add_words(words)

    @action("DRAW_TFB_BYTES")
    def vertices_of_stream(self, count: int, index: int) -> None:
        """Add as many vertices as stream output has written."""
        stride = self.get("DRAW_TFB_STRIDE")
        vertices = max(0, count - self.get("DRAW_TFB_BASE")) // stride if stride else 0
        if self._batch is not None and vertices and self._room(vertices):
            self._batch.add_range(0, vertices)

    @action("VERTEX_END_GL")
    def end(self, word: Word, index: int) -> None:
        """Draw."""
        batch, self._batch = self._batch, None
        if batch is None or not batch.count or not conditions.holds(self):
            return
        self.report.count("draws")
        started = time.perf_counter()
        try:
            self.drawing.draw(batch)
        except NotModelled as e:
            self.report.missing(str(e))
        finally:
            self.report.add_seconds("drawing", time.perf_counter() - started)

    @action("VERTEX_BEGIN_D3D", "VERTEX_END_D3D", "CLIPID_FILL", "VTX_ATTR_DEFINE")
    def not_there(self, word: Word, index: int) -> None:
        """Count methods that are known but not modelled."""
        self.report.missing("drawing by the D3D methods, clip identifiers or attributes of other types")


__all__ = ["Engine3D", "number"]
