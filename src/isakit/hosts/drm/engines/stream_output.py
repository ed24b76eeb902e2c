"""Stream output: results of the last vertex stage written to memory.

Source: rnndb STRMOUT; and the driver's use of it.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from isakit.engine.protocol import Array
from isakit.graphics.vertices import Vertices
from isakit.hosts.drm.engines.draw_state3d import ResultMap, State3D

BUFFERS = 4


class StreamOutput:
    """Writes primitives to the stream output buffers of a 3D engine.

    STRMOUT_MAP has a byte for each slot of the result map: bit 7 is set if the slot is written, the other bits are its
    word in the vertex. Interleaved, all words go to buffer 0; else the buffers take STRMOUT_NUM_ATTRIBS words each, one
    buffer after another, and those of each buffer begin at a multiple of four.
    """

    def __init__(self, engine: State3D) -> None:
        self.engine = engine

    def _words(self, result: ResultMap) -> list[int]:
        """Return the output word of each word of a vertex."""
        found: dict[int, int] = {}
        for slot in range(len(result.slots)):
            place = self.engine.packed("STRMOUT_MAP", slot, 8)
            if place & 0x80:
                found[place & 0x7F] = result.word(slot)
        return [found.get(k, 0x40) for k in range(max(found, default=-1) + 1)]

    def write(self, v: Vertices, result: ResultMap) -> None:
        """Append the primitives, as many as fit whole. Raises GpuFault."""
        e = self.engine
        v = v.plain()
        words = self._words(result)
        if not words or not len(v.primitives):
            return
        table = np.zeros((len(words), v.words.shape[1]), np.uint32)
        for k, w in enumerate(words):
            table[k] = v.words[w] if w < 0x40 else (0x3F80_0000 if w & 1 else 0)
        control = e.get("STRMOUT_BUFFERS_CTRL")
        parts: list[tuple[int, int, int, int]] = []
        if control.INTERLEAVED:
            parts = [(0, 0, len(words), control.STRIDE or 4 * len(words))]
        else:
            at = 0
            for b in range(min(BUFFERS, control.SEPARATE)):
                n = e.get("STRMOUT_NUM_ATTRIBS", b)
                if n and at < len(words):
                    parts.append((b, at, min(n, len(words) - at), 4 * n))
                at += n + -n % 4  # the driver puts them there; that the chip expects it is inferred
        corners = v.primitives.shape[1]
        count = len(v.primitives)
        by_offset = e.chip.at_least_gt200 and bool(control.LIMIT_MODE)
        for b, _, _, stride in parts:
            if by_offset:
                room = e.get("STRMOUT_OFFSET_LIMIT", b) - e.stream_offsets[b]
                count = min(count, max(0, room // (stride * corners)))
        if not by_offset:
            count = min(count, max(0, e.get("STRMOUT_PRIMITIVE_LIMIT") - e.stream_written))
        e.stream_full = count < len(v.primitives)
        e.stream_written += count
        e.add_to_counters(TRANSFORM_FEEDBACK=count)
        columns = _provoking_outermost(v, e.draw_state.provoking)[:count].ravel()
        for b, first, n, stride in parts:
            rows = table[first : first + n][:, columns].T
            start = e.address("STRMOUT_ADDRESS", b) + e.stream_offsets[b]
            need = stride * (len(rows) - 1) + 4 * n if len(rows) else 0
            data = e.memory.view(start, need, "stream output")
            if len(rows):
                out = np.lib.stride_tricks.as_strided(data, (len(rows), 4 * n), (stride, 1))
                out[...] = np.ascontiguousarray(rows).view(np.uint8).reshape(len(rows), -1)
                e.memory.wrote(start, need)
            e.stream_offsets[b] += stride * len(rows)


def _provoking_outermost(v: Vertices, which: Literal["first", "last"]) -> Array:
    """Return the primitives with the provoking vertex `first` or `last`, so that reading them back draws the same.

    Triangles are rotated, which keeps their winding: odd triangles of a strip whose first vertex provokes become 1, 3,
    2 as in Direct3D 10.
    """
    corners = v.primitives
    if corners.shape[1] != 3:
        return corners
    provoking = corners == v.provoking[:, None]  # in none of the corners of one half of some quads
    provoking[:, 0 if which == "first" else 2] |= ~provoking.any(axis=1)
    turned = np.argmax(provoking, axis=1)[:, None] + (np.arange(3) if which == "first" else np.arange(1, 4))
    return np.take_along_axis(corners, turned % 3, axis=1)
