"""Vertex attributes from the card's memory, or from the command stream. Source: [graphics] 3.1; [nv50] "Methods"."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from isakit.engine.protocol import Array
from isakit.errors import NotModelled
from isakit.graphics.assembly import Attribute
from isakit.graphics.color_formats import NAMED
from isakit.hosts.drm.engine import Engine
from isakit.hosts.drm.memory import VideoMemory
from isakit.hosts.drm.tables.method import Word

FORMATS = {
    0x01: (32, 4), 0x02: (32, 3), 0x04: (32, 2), 0x12: (32, 1), 0x03: (16, 4), 0x05: (16, 3), 0x0F: (16, 2),
    0x1B: (16, 1), 0x0A: (8, 4), 0x13: (8, 3), 0x18: (8, 2), 0x1D: (8, 1), 0x30: (0, 4), 0x31: (0, 3),
}  # fmt: skip
"""Bits of a component and number of components; 0 bits: packed in 32."""
KINDS = {0x3F: "f", 0x12: "u", 0x09: "i", 0x2D: "u", 0x36: "i", 0x24: "u", 0x1B: "i"}
NORMALIZED, SCALED = (0x12, 0x09), (0x2D, 0x36)
ATTRIBUTES = 16
ONE = 0x3F80_0000


class AttributeFormat:
    """The storage format of an attribute, from its VERTEX_ARRAY_ATTRIB word."""

    def __init__(self, word: Word) -> None:
        self.code, self.type = word.FORMAT, word.TYPE
        self.buffer, self.constant, self.offset = word.BUFFER, bool(word.CONST), word.OFFSET
        self.reversed = bool(word.BGRA)
        if self.code not in FORMATS or self.type not in KINDS:
            raise NotModelled(f"vertex format {self.code:#x} of type {self.type:#x}")
        bits, self.count = FORMATS[self.code]
        if self.reversed and bits and self.count != 4:
            raise NotModelled(f"vertex format {self.code:#x} of {self.count} components with blue first")
        self.packed = not bits
        self.dtype = np.dtype(f"<{KINDS[self.type]}{bits // 8}") if bits else np.dtype("<u4")
        self.nbytes = 4 if self.packed else self.count * self.dtype.itemsize

    def attribute(self, raw: Array, divisor: int) -> Attribute:
        """Make an attribute from rows of bytes [n, nbytes]."""
        if self.packed:
            return self._packed(raw, divisor)
        a = np.ascontiguousarray(raw).view(self.dtype).reshape(len(raw), self.count)
        if self.reversed:
            a = a[:, [2, 1, 0, 3]]
        return Attribute(a, self.type in NORMALIZED, self.type in SCALED, divisor)

    def _packed(self, raw: Array, divisor: int) -> Attribute:
        word = np.ascontiguousarray(raw).view(np.uint32)
        if self.code == 0x31:
            return Attribute(NAMED["r11g11b10f"].decoded(word).view(np.float32)[:, :3], divisor=divisor)
        wide = word[:, 0].astype(np.int64)
        parts = [wide & 0x3FF, wide >> 10 & 0x3FF, wide >> 20 & 0x3FF, wide >> 30]
        if KINDS[self.type] == "i":
            parts = [p - (p >> n - 1 << n) for p, n in zip(parts, (10, 10, 10, 2), strict=True)]
        if self.reversed:
            parts = [parts[2], parts[1], parts[0], parts[3]]
        a: Array = np.stack(parts, axis=1)
        if self.type in NORMALIZED:
            top = np.array([1023, 1023, 1023, 3] if self.type == 0x12 else [511, 511, 511, 1])
            a = np.maximum(a / top, -1.0).astype(np.float32)
        elif self.type in SCALED:
            a = a.astype(np.float32)
        else:
            a = a.astype(np.int32)
        return Attribute(a, divisor=divisor)


@lru_cache(maxsize=256)
def attribute_format(word: Word) -> AttributeFormat:
    """Return the format that a VERTEX_ARRAY_ATTRIB word describes. Raises NotModelled for an unknown one."""
    return AttributeFormat(word)


@lru_cache(maxsize=256)
def constant(words: tuple[int, int, int, int]) -> Attribute:
    """Return an attribute with the same four words for every vertex."""
    return Attribute(np.array([words], np.uint32).view(np.float32), divisor=1 << 40)


def from_memory(engine: Engine, memory: VideoMemory, form: AttributeFormat, count: int, instance: int) -> Attribute:
    """Read an attribute from its vertex array, for the vertices before number `count`.

    Rows past the end of the array read 0.
    """
    b = form.buffer
    stride = engine.get("VERTEX_ARRAY_FETCH", b).STRIDE
    start = engine.address("VERTEX_ARRAY_START", b) + form.offset
    limit = engine.address("VERTEX_ARRAY_LIMIT", b) + 1
    room = min(memory.room(start), limit - start)
    per_instance = engine.on("VERTEX_ARRAY_PER_INSTANCE", b)
    if per_instance:
        divisor = engine.get("VERTEX_ARRAY_DIVISOR", b)
        first, rows = (instance // divisor if divisor else 0), 1
    else:
        first, rows = 0, count
    if not stride:
        rows = 1
    fits = (room - form.nbytes) // stride + 1 - first if stride else int(room >= form.nbytes)
    there = max(0, min(rows, fits))
    end = stride * (first + rows)
    if there == rows and stride >= form.nbytes and end <= memory.room(start):  # whole rows can be looked at in place
        data = memory.view(start + first * stride, stride * rows, "vertex array")
        return form.attribute(data.reshape(rows, stride)[:, : form.nbytes], 1 << 40 if per_instance else 0)
    raw = np.zeros((there + (there < rows), form.nbytes), np.uint8)
    if there:
        span = stride * (there - 1) + form.nbytes
        data = memory.view(start + first * stride, span, "vertex array")
        raw[:there] = np.lib.stride_tricks.as_strided(data, (there, form.nbytes), (stride, 1))
    return form.attribute(raw, 1 << 40 if per_instance or not stride else 0)


class Inline:
    """Vertices in the command stream: words of all non-constant attributes, one vertex after another."""

    def __init__(self, engine: Engine) -> None:
        self.places: dict[int, int] = {}
        self.formats: dict[int, AttributeFormat] = {}
        self.words = 0
        for i in range(ATTRIBUTES):
            word = engine.get("VERTEX_ARRAY_ATTRIB", i)
            if not word or word.CONST:
                continue
            form = self.formats[i] = AttributeFormat(word)
            self.places[i] = self.words
            self.words += -(-form.nbytes // 4)

    def attribute(self, i: int, data: Array) -> Attribute | None:
        """Return attribute `i` of vertices u32 [n, words]; None for one that is not in the stream."""
        if i not in self.places:
            return None
        form = self.formats[i]
        at = self.places[i]
        part = np.ascontiguousarray(data[:, at : at + -(-form.nbytes // 4)])
        return form.attribute(part.view(np.uint8)[:, : form.nbytes], 0)


class Current:
    """The current attributes, set by VTX_ATTR methods: four words each."""

    def __init__(self) -> None:
        self.values: list[tuple[int, int, int, int]] = [(0, 0, 0, ONE)] * ATTRIBUTES

    def set(self, i: int, component: int, words: tuple[int, ...]) -> None:
        """Set components from `component` on; writing the first one resets those after it."""
        old = list(self.values[i]) if component else [0, 0, 0, ONE]
        old[component : component + len(words)] = words
        self.values[i] = (old[0], old[1], old[2], old[3])
