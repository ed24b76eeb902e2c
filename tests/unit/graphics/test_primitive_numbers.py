"""PrimitiveID counts what an application draws, not the triangles that it is cut into."""

from __future__ import annotations

import numpy as np
import pytest

from isakit.graphics.vertices import arranged

RESTART = 99


@pytest.mark.parametrize(
    ("mode", "order", "numbers"),
    [
        ("quads", [*range(8)], [0, 0, 1, 1]),
        ("quad_strip", [*range(8)], [0, 0, 1, 1, 2, 2]),
        ("polygon", [*range(5)], [0, 0, 0]),
        ("polygon", [0, 1, 2, 3, RESTART, 4, 5, 6], [0, 0, 1]),
        ("quads", [0, 1, 2, 3, RESTART, 4, 5, 6, 7], [0, 0, 1, 1]),
        ("triangle_fan", [*range(5)], [0, 1, 2]),
        ("triangle_strip", [0, 1, 2, 3, RESTART, 4, 5, 6], [0, 1, 2]),
    ],
)
@pytest.mark.parametrize("instances", [1, 2])
def test_quads_and_polygons_have_one_number(mode: str, order: list[int], numbers: list[int], instances: int) -> None:
    _, made = arranged(mode, np.array(order), RESTART, instances, True, "second")
    assert made.numbers.tolist() == numbers * instances
