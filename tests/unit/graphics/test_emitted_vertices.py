"""Strips of a geometry program become points, lines and triangles, primitive after primitive."""

from __future__ import annotations

import numpy as np
import pytest

from isakit.graphics.stage import Emitted
from isakit.graphics.vertices import emitted_vertices

CORNERS = {"points": 1, "line_strip": 2, "triangle_strip": 3}


def strips(e: Emitted, lane: int) -> list[list[int]]:
    """The numbers of the vertices of each strip of a lane."""
    found: list[list[int]] = [[]]
    for k in range(int(e.count[lane])):
        if e.starts[k, lane]:
            found.append([])
        found[-1].append(k)
    return found


def primitives(strip: list[int], corners: int) -> list[list[int]]:
    """OpenGL 3.2, 2.6.1: every second triangle of a strip has its first two vertices swapped."""
    made = [strip[k : k + corners] for k in range(len(strip) - corners + 1)]
    return [[p[1], p[0], p[2]] if corners == 3 and n % 2 else p for n, p in enumerate(made)]


@pytest.mark.parametrize("last", [True, False])
@pytest.mark.parametrize("output", CORNERS)
def test_strips(output: str, last: bool) -> None:
    corners, r = CORNERS[output], np.random.default_rng(5)
    for limit in range(8):
        waves = [Emitted(limit, lanes) for lanes in (1, 6)]
        for e in waves:
            e.words[:] = r.integers(0, 1 << 32, e.words.shape)
            e.starts[1:] = r.random((limit, e.lanes)) < 0.3
            e.count[:] = r.integers(0, limit + 1, e.lanes)
        got = emitted_vertices(waves, output, last)
        expected, lanes, begin, first_lane = [], [], [], 0
        for e in waves:
            for lane in range(e.lanes):
                for strip in strips(e, lane):
                    whole = primitives(strip, corners)
                    expected += [[e.words[k, :, lane].tolist() for k in p] for p in whole]
                    lanes += [first_lane + lane] * len(whole)
                    begin += [n == 0 for n in range(len(whole))]
            first_lane += e.lanes
        assert got.words[:, got.primitives].transpose(1, 2, 0).tolist() == expected
        assert got.numbers.tolist() == lanes
        assert got.restarts.tolist() == begin
        assert got.provoking.tolist() == [max(p) if last else min(p) for p in got.primitives.tolist()]


def test_nothing_emitted() -> None:
    assert emitted_vertices([], "triangle_strip").primitives.shape == (0, 3)
