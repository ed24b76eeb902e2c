"""Vertices of the command stream and of stream output, as drivers and other people's tests count on them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from isakit.engine.protocol import Array
from isakit.errors import NotModelled
from isakit.graphics.assembly import assemble
from isakit.graphics.stage import OUTPUT_WORDS
from isakit.graphics.vertices import Vertices
from isakit.hosts.drm.engines.draw3d import STRIP_END, Batch
from isakit.hosts.drm.engines.stream_output import StreamOutput
from isakit.hosts.drm.tables import COMPUTE, ENG3D

SECOND_BUFFER = 128
"""Where the tests' second buffer of stream output is."""


def test_ids_of_vertices_in_the_stream_begin_anew_where_their_base_is_written() -> None:
    batch = Batch("triangles", 0, first_id=7)
    batch.add_words(np.zeros(6, np.uint32))
    batch.mark_id(2)
    batch.add_words(np.zeros(3, np.uint32))
    batch.mark_id(-1)
    batch.add_words(np.zeros(6, np.uint32))
    assert batch.vertex_ids(3).tolist() == [7, 8, 2, 0xFFFF_FFFF, 0]


def test_a_strip_in_the_stream_ends_where_the_restart_index_stands() -> None:
    """As drivers send strips whose vertices are in the program's own memory; vertex 3 itself is none."""
    batch = Batch("line_strip", 0)
    batch.add_indices(np.array([3]))
    batch.add_words(np.zeros(4, np.uint32))
    batch.add_indices(np.array([3, 3]))
    batch.add_words(np.zeros(6, np.uint32))
    order = batch.stream_order(2, 3)
    assert order.tolist() == [STRIP_END, 0, 1, STRIP_END, STRIP_END, 2, 3, 4]
    ends = assemble("line_strip", order, STRIP_END, True).corners
    assert order[ends].tolist() == [[0, 1], [2, 3], [3, 4]]


@pytest.mark.parametrize("restart", [None, 4])
def test_other_indices_among_vertices_of_the_stream_are_not_dropped(restart: int | None) -> None:
    batch = Batch("line_strip", 0)
    batch.add_words(np.zeros(4, np.uint32))
    batch.add_indices(np.array([3]))
    with pytest.raises(NotModelled, match="indices among vertices"):
        batch.stream_order(2, restart)


@pytest.mark.parametrize(
    ("mode", "which", "expected"),
    [
        ("triangles", "first", [0, 1, 2]),
        ("triangle_strip", "last", [0, 1, 2, 2, 1, 3, 2, 3, 4]),
        ("triangle_strip", "first", [0, 1, 2, 1, 3, 2, 2, 3, 4]),
        ("triangle_fan", "last", [0, 1, 2, 0, 2, 3, 0, 3, 4]),
        ("triangle_fan", "first", [1, 2, 0, 2, 3, 0, 3, 4, 0]),
        ("line_strip", "first", [0, 1, 1, 2, 2, 3, 3, 4]),
    ],
)
def test_stream_output_has_the_vertex_that_provokes_first_or_last(mode: str, which: str, expected: list[int]) -> None:
    """Read back as a list, the triangles have the same flat colours and the same winding."""
    made = assemble(mode, np.arange(5), None, which == "last")
    words = np.zeros((OUTPUT_WORDS, 5), np.uint32)
    words[0] = np.arange(5)
    memory = _streamed(Vertices(words, made.corners, made.provoking), which, {"STRMOUT_MAP": 0x80}, 1)
    assert memory[: len(expected)].tolist() == expected


def test_the_words_of_each_stream_buffer_begin_at_a_multiple_of_four() -> None:
    """Two numbers of a vertex to buffers of their own: the driver calls the second one word 4, not 1."""
    made = assemble("points", np.arange(3), None, True)
    words = np.zeros((OUTPUT_WORDS, 3), np.uint32)
    words[0], words[1] = [1, 2, 3], [7, 8, 9]
    separate = {
        "STRMOUT_MAP": 0x8480,
        "STRMOUT_BUFFERS_CTRL": SimpleNamespace(INTERLEAVED=0, STRIDE=0, SEPARATE=2, LIMIT_MODE=0),
        "STRMOUT_NUM_ATTRIBS": 1,
    }
    memory = _streamed(Vertices(words, made.corners, made.provoking), "last", separate, 2)
    assert memory[:3].tolist() == [1, 2, 3]
    assert memory[SECOND_BUFFER // 4 :][:3].tolist() == [7, 8, 9]


def _streamed(vertices: Vertices, which: str, registers: dict[str, Any], slots: int) -> Array:
    """Return the memory, u32, that stream output has written the first `slots` words of each vertex to."""
    memory = np.zeros(2 * SECOND_BUFFER, np.uint8)
    values: dict[str, Any] = {
        "STRMOUT_BUFFERS_CTRL": SimpleNamespace(INTERLEAVED=1, STRIDE=4, SEPARATE=0, LIMIT_MODE=0),
        "STRMOUT_PRIMITIVE_LIMIT": 100,
        **registers,
    }
    engine: Any = SimpleNamespace(
        get=lambda name, index=0: values[name],
        packed=lambda name, index, bits: values[name] >> bits * index & (1 << bits) - 1,
        chip=SimpleNamespace(at_least_gt200=False),
        draw_state=SimpleNamespace(provoking=which),
        stream_written=0,
        stream_offsets=[0] * 4,
        add_to_counters=lambda **_: None,
        address=lambda name, index: SECOND_BUFFER * index,
        memory=SimpleNamespace(view=lambda at, size, what: memory[at : at + size], wrote=lambda at, size: None),
    )
    result: Any = SimpleNamespace(slots=list(range(slots)), word=lambda slot: slot)
    StreamOutput(engine).write(vertices, result)
    return memory.view(np.uint32)


def test_samplers_have_as_many_numbers_as_drivers_use() -> None:
    """Mesa's driver counts to 2,047: nine bits, as rnndb has them, would bind another one."""
    for table, name in ((ENG3D, "BIND_TSC"), (ENG3D, "BIND_TSC2"), (COMPUTE, "BIND_TSC")):
        field = table.bits(name, "TSC")
        assert field.of(2047 << 12 | 1) == 2047
