"""Triangles are cut at the planes into fans of what is left."""

from __future__ import annotations

from typing import Any

import numpy as np

from isakit.graphics.clip import Triangles, clipped


def _triangles(corners: list[list[list[float]]]) -> Triangles:
    position = np.array(corners, np.float64)
    n = len(position)
    return Triangles(position, position[:, :, :1] * 10, np.arange(n, dtype=np.uint32)[:, None], np.arange(n))


def test_pieces_stand_where_their_triangle_stood() -> None:
    inside: Any = [[0, 0, 0, 1], [1, 0, 0, 1], [0, 1, 0, 1]]
    one_behind: Any = [[0, 0, -3, 1], [1, 0, 1, 1], [0, 1, 1, 1]]
    two_behind: Any = [[0, 0, -3, 1], [4, 0, -3, 1], [0, 4, 1, 1]]
    all_behind: Any = [[0, 0, -3, 1], [1, 0, -2, 1], [0, 1, -2, 1]]
    t = clipped(_triangles([one_behind, inside, all_behind, two_behind]), half_z=False, depth_clamp=False)
    assert t.number.tolist() == [0, 0, 1, 3]
    assert t.flat[:, 0].tolist() == [0, 0, 1, 3]
    half = [0.5, 0, -1, 1], [1, 0, 1, 1], [0, 1, 1, 1], [0, 0.5, -1, 1]
    assert t.position.tolist() == [
        [half[0], half[1], half[2]], [half[0], half[2], half[3]], inside, [[2, 2, -1, 1], [0, 4, 1, 1], [0, 2, -1, 1]],
    ]  # fmt: skip
    assert (t.values == t.position[:, :, :1] * 10).all()


def test_a_triangle_across_both_planes_leaves_a_polygon_of_five_corners() -> None:
    across: Any = [[0, 0, -3, 1], [8, 0, 0, 1], [0, 8, 3, 1]]
    t = clipped(_triangles([across]), half_z=False, depth_clamp=False)
    assert len(t) == 3
    assert (t.position[:, 0] == t.position[0, 0]).all()
    assert np.abs(t.position[:, :, 2]).max() == 1
    assert len(clipped(_triangles([across]), half_z=False, depth_clamp=True)) == 1
