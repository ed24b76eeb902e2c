"""Which pixels of a line are drawn: those whose diamond it leaves."""

from __future__ import annotations

import numpy as np
import pytest

from isakit.graphics.assembly import assemble
from isakit.graphics.draw_state import DrawState, Multisampling
from isakit.graphics.raster import SUBPIXEL, rasterize_lines
from isakit.tesla import FragmentShader, Pipeline, VertexShader

BOUNDS = (0, 0, 16, 16)


def pixels(*ends: tuple[float, float, float, float]) -> list[tuple[int, int]]:
    """The pixels of lines x0, y0, x1, y1."""
    q = rasterize_lines(np.array(ends, float).reshape(-1, 2, 2), 1.0, np.ones(len(ends), bool), BOUNDS)
    lane = np.nonzero(q.covered)
    return sorted(zip((q.x[lane[0]] + (lane[1] & 1)).tolist(), (q.y[lane[0]] + (lane[1] >> 1)).tolist(), strict=True))


def leaves(line: tuple[float, float, float, float], x: int, y: int) -> bool:
    """Whether a line is somewhere in the diamond of a pixel and ends outside of it, by walking along it."""
    t = np.linspace(0, 1, 4001)
    away = np.abs(line[0] + (line[2] - line[0]) * t - x - 0.5) + np.abs(line[1] + (line[3] - line[1]) * t - y - 0.5)
    return bool((away < 0.5).any() and away[-1] >= 0.5)


def near_a_corner(line: tuple[float, float, float, float]) -> bool:
    """Whether a line ends or passes between two diamonds so closely that rounding to the sub-pixel grid decides."""
    if any(abs(x % 1 - 0.5) + abs(y % 1 - 0.5) == 0.5 for x, y in (line[:2], line[2:])):
        return True
    (x0, y0), (x1, y1) = sorted((line[:2], line[2:]), key=lambda p: p[abs(line[3] - line[1]) > abs(line[2] - line[0])])
    if abs(y1 - y0) > abs(x1 - x0):
        x0, y0, x1, y1 = y0, x0, y1, x1
    at = y0 + (np.arange(16) + 0.5 - x0) * (y1 - y0) / (x1 - x0)
    return bool((np.abs(at - np.rint(at)) < 1 / SUBPIXEL).any())


@pytest.mark.parametrize("seed", range(8))
def test_a_line_has_the_pixels_whose_diamond_it_leaves(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(20):
        line = tuple((rng.integers(2 * SUBPIXEL, 14 * SUBPIXEL, 4) / SUBPIXEL).tolist())
        if near_a_corner(line):
            continue
        expected = [(x, y) for x in range(16) for y in range(16) if leaves(line, x, y)]
        assert pixels(line) == sorted(expected)


def test_a_point_that_two_lines_share_is_drawn_once() -> None:
    there, back = (3.25, 3.5, 8.625, 5.625), (8.625, 5.625, 4.5, 9.25)
    once = pixels(there) + pixels(back)
    assert len(once) == len(set(once))
    assert (8, 5) in once


def test_centres_alone_decide_where_that_is_chosen() -> None:
    line = np.array([[[3.625, 3.5], [8.625, 3.5]]])
    q = rasterize_lines(line, 1.0, np.ones(1, bool), BOUNDS, None, False)
    columns = sorted(
        x + (k & 1) for x, c in zip(q.x.tolist(), q.covered, strict=True) for k in np.flatnonzero(c).tolist()
    )
    assert columns == [4, 5, 6, 7, 8]
    assert pixels((3.625, 3.5, 8.625, 3.5)) == [(x, 3) for x in (3, 4, 5, 6, 7)]


def test_quads_are_cut_along_the_diagonal_that_is_chosen() -> None:
    corners = {how: assemble("quads", np.arange(4), None, quads=how) for how in ("second", "first")}  # type: ignore[arg-type]
    assert corners["second"].corners.tolist() == [[0, 1, 3], [1, 2, 3]]
    assert corners["first"].corners.tolist() == [[0, 1, 2], [0, 2, 3]]
    for made in corners.values():
        outer = {(a, b) for c, e in zip(made.corners.tolist(), made.edges.tolist(), strict=True)
                 for a, b, edge in zip(c, [*c[1:], c[0]], e, strict=True) if edge}  # fmt: skip
        assert outer == {(0, 1), (1, 2), (2, 3), (3, 0)}


PLACED = "\n".join(f"mov b32 o[{4 * k:#x}] a[{4 * k:#x}]" for k in range(4)) + "\nexit nop"
WHITE = "\n".join(f"mov b32 $r{k} 0x3f800000" for k in range(4)) + "\nexit nop"


@pytest.mark.parametrize("width", [1.0, 2.5])
def test_samples_of_a_line_are_those_of_a_rectangle_along_it(width: float) -> None:
    """Where coverage is tested at the samples."""
    positions, places = ((6, 2), (14, 6), (2, 10), (10, 14)), ((0, 0), (1, 0), (0, 1), (1, 1))
    ends = np.array([[2.0, 3.25], [13.5, 9.0], [11.25, 2.5], [4.0, 13.75]])
    corners = np.concatenate([ends / 16 - 1, np.tile([0.0, 1.0], (4, 1))], axis=1).astype(np.float32)
    p = Pipeline(32, 32, targets=("r32f",), depth=None)
    state = DrawState(multisampling=Multisampling(positions, places, 2, 2), line_width=width)
    p.draw("lines", VertexShader(PLACED), FragmentShader(WHITE), [corners], state=state)
    found = p.targets[0].pixels[..., 0] > 0
    checked = 0
    for y, x in np.ndindex(found.shape):
        dx, dy = positions[places.index((x & 1, y & 1))]
        at = np.array([x // 2 + dx / 16, y // 2 + dy / 16])
        margins: list[float] = []
        for a, b in ends.reshape(2, 2, 2):
            along = (b - a) / np.hypot(*(b - a))
            t, away = (at - a) @ along, abs((at - a) @ [-along[1], along[0]])
            margins.append(min(t, np.hypot(*(b - a)) - t, width / 2 - away))
        if min(map(abs, margins)) > 2 / SUBPIXEL:
            assert found[y, x] == (max(margins) > 0), (x, y)
            checked += 1
    assert checked > 900
    assert 60 * width < found.sum() < 120 * width
