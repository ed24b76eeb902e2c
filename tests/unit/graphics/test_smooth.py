"""Smooth lines, points and triangles: alpha is scaled by the share of a pixel that they cover."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from isakit.graphics import smooth
from isakit.graphics.draw_state import DrawState, Multisampling
from isakit.graphics.raster import Quads, pixels
from isakit.graphics.smooth import smooth_lines, smooth_points, smooth_triangles
from isakit.tesla import FragmentShader, Pipeline, VertexShader

SIZE = 24
BOUNDS = (0, 0, SIZE, SIZE)
FINE = (np.arange(40 * SIZE) + 0.5) / 40
"""Forty by forty places in every pixel."""
PLACED = "\n".join(f"mov b32 o[{4 * k:#x}] a[{4 * k:#x}]" for k in range(4)) + "\nexit nop"
WHITE = "\n".join(f"mov b32 $r{k} 0x3f800000" for k in range(4)) + "\nexit nop"


def counted(inside: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> np.ndarray:
    """The share of each pixel that is inside, by its places."""
    found = inside(FINE[None, :], FINE[:, None])
    return found.reshape(SIZE, 40, SIZE, 40).mean(axis=(1, 3))


def shares(q: Quads) -> np.ndarray:
    """The shares of pixels, [rows, columns]."""
    out = np.zeros((SIZE, SIZE))
    x, y = pixels(q)
    assert q.shares is not None
    assert (q.covered == (q.shares > 0)).all()
    out[y[q.covered], x[q.covered]] = q.shares[q.covered]
    return out


def rectangle(a: np.ndarray, b: np.ndarray, width: float) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """Whether places are in the rectangle along a line."""
    length = np.hypot(*(b - a))
    u = (b - a) / length

    def inside(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        along, off = (x - a[0]) * u[0] + (y - a[1]) * u[1], (y - a[1]) * u[0] - (x - a[0]) * u[1]
        return (along >= 0) & (along <= length) & (np.abs(off) <= width / 2)

    return inside


@pytest.mark.parametrize("width", [0.5, 1.0, 1.5, 4.0])
def test_shares_of_a_line_are_areas_of_its_rectangle(width: float) -> None:
    rng = np.random.default_rng(int(10 * width))
    lines = [*rng.uniform(3, 21, (6, 2, 2)), np.array([[3.3, 5.5], [17.6, 5.5]]), np.array([[9.25, 20.0], [9.25, 4.0]])]
    for line in lines:
        found = shares(smooth_lines(line[None], width, np.ones(1, bool), BOUNDS, None, lambda _: None))
        expected = counted(rectangle(*line, width))
        assert np.abs(found - expected).max() < 0.07  # of the places of a pixel
        assert found.sum() == pytest.approx(width * np.hypot(*(line[1] - line[0])), rel=0.03)


@pytest.mark.parametrize("size", [1.0, 2.5, 7.0])
def test_shares_of_a_point_are_areas_of_its_disc(size: float) -> None:
    for centre in np.random.default_rng(3).uniform(5, 19, (6, 2)):
        found = shares(smooth_points(centre[None], np.array([size]), np.ones(1, bool), BOUNDS, lambda _: None))
        expected = counted(lambda x, y, c=centre: np.hypot(x - c[0], y - c[1]) <= size / 2)
        assert np.abs(found - expected).max() < 0.04
        assert found.sum() == pytest.approx(np.pi * size**2 / 4, rel=0.02)


def half_planes(corners: np.ndarray) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """Whether places are in a triangle."""

    def inside(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        sides = [
            (b[0] - a[0]) * (y - a[1]) - (b[1] - a[1]) * (x - a[0])
            for a, b in zip(corners, np.roll(corners, -1, 0), strict=True)
        ]
        return np.all([s >= 0 for s in sides], axis=0) | np.all([s <= 0 for s in sides], axis=0)

    return inside


TRIANGLES = [
    *np.random.default_rng(8).uniform(-6, 30, (24, 3, 2)),
    np.array([[2.0, 3.0], [20.0, 3.0], [2.0, 17.0]]), np.array([[5.25, 21.0], [5.25, 2.5], [6.0, 2.5]]),
    np.array([[7.1, 7.2], [7.8, 7.3], [7.4, 7.9]]), np.array([[-90.0, -80.0], [200.0, -70.0], [10.0, 300.0]]),
]  # fmt: skip


@pytest.mark.parametrize("corners", TRIANGLES)
def test_shares_of_a_triangle_are_its_areas(corners: np.ndarray) -> None:
    one = np.ones(1, bool)
    expected = counted(half_planes(corners))
    for turned in (corners, corners[::-1]):
        found = shares(smooth_triangles(turned[None], one, BOUNDS, lambda _: None))
        assert np.abs(found - expected).max() < 0.05  # of the places of a pixel
        assert np.abs(found - expected).mean() < 0.002


def test_triangles_with_a_common_side_share_its_pixels() -> None:
    fan = np.array([[[1.3, 2.2], [21.7, 4.1], [17.2, 20.9]], [[1.3, 2.2], [17.2, 20.9], [3.1, 18.4]]])
    total = sum(shares(smooth_triangles(t[None], np.ones(1, bool), BOUNDS, lambda _: None)) for t in fan)
    assert isinstance(total, np.ndarray)
    assert total.max() < 1.001
    assert (np.abs(total[6:14, 6:14] - 1) < 0.001).all()


def test_triangles_are_looked_at_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    several = np.array(TRIANGLES[:4])
    looked: list[int] = []
    whole = smooth_triangles(several, np.array([True, False, True, True]), BOUNDS, looked.append)
    monkeypatch.setattr("isakit.graphics.smooth._TOGETHER", 50)
    parts = smooth_triangles(several, np.array([True, False, True, True]), BOUNDS, looked.append)
    assert looked[0] == looked[1] > 200
    assert whole.shares is not None
    assert np.array_equal(whole.shares, parts.shares)
    assert set(whole.primitive.tolist()) == {0, 2, 3}
    none = smooth_triangles(several, np.zeros(4, bool), BOUNDS, looked.append)
    assert len(none) == looked[2] == 0


def test_only_pixels_inside_the_bounds_have_shares() -> None:
    line = np.array([[[-4.0, -9.0], [70.0, 31.0]]])
    inner = (3, 2, 20, 17)
    one = np.ones(1, bool)
    whole, part = (shares(smooth_lines(line, 3.0, one, bounds, None, lambda _: None)) for bounds in (BOUNDS, inner))
    kept = np.zeros_like(whole)
    kept[2:17, 3:20] = whole[2:17, 3:20]
    assert np.array_equal(part, kept)
    assert part.any()


def drawn(
    state: DrawState, mode: str, corners: np.ndarray, target: str = "rgba32f", across: int = 1, engine: str = "auto"
) -> np.ndarray:
    """The first target after white primitives whose corners are in pixels."""
    p = Pipeline(SIZE * across, SIZE * across, targets=(target,), depth=None, engine=engine)
    at = np.concatenate([corners * 2 / (SIZE * across) - 1, np.tile([0.0, 1.0], (len(corners), 1))], axis=1).astype(
        np.float32
    )
    p.draw(mode, VertexShader(PLACED), FragmentShader(WHITE), [at], state=state)
    return p.targets[0].pixels


ENDS = np.array([[4.0, 5.5], [20.0, 5.5]])


def test_alpha_alone_is_scaled() -> None:
    found = drawn(DrawState(smooth_lines=True, line_width=1.5), "lines", ENDS)
    assert found[3:8, 9, 3] == pytest.approx([0, 0.25, 1, 0.25, 0], abs=1e-6)
    assert set(found[..., :3].ravel().tolist()) == {0, 1}
    plain = drawn(DrawState(line_width=1.5), "lines", ENDS)
    assert set(plain[..., 3].ravel().tolist()) == {0, 1}


def test_the_alpha_test_sees_what_was_scaled() -> None:
    state = DrawState(smooth_lines=True, line_width=1.5, alpha_test=("gequal", 0.5))
    assert np.flatnonzero(drawn(state, "lines", ENDS)[:, 9, 3]).tolist() == [5]


def test_integers_stay() -> None:
    found = drawn(DrawState(smooth_lines=True, line_width=1.5), "lines", ENDS, "rgba32ui")
    assert set(found.ravel().tolist()) == {0, 0x3F80_0000}


def test_points_are_discs() -> None:
    found = drawn(DrawState(smooth_points=True, point_size=5.0), "points", np.array([[12.0, 12.0]]))
    assert found[..., 3].sum() == pytest.approx(np.pi * 6.25, rel=0.01)
    assert drawn(DrawState(point_size=5.0), "points", np.array([[12.0, 12.0]]))[..., 3].sum() == 25


@pytest.mark.parametrize("engine", ["reference", "llvm"])
def test_triangles_are_smooth(engine: str) -> None:
    if engine == "llvm":
        pytest.importorskip("llvmlite")
    corners = np.array([[2.5, 2.0], [20.5, 2.0], [2.5, 20.0]])
    found = drawn(DrawState(smooth_polygons=True), "triangles", corners, engine=engine)[..., 3]
    assert found.sum() == pytest.approx(18 * 18 / 2, rel=1e-4)
    assert found[10, 2] == pytest.approx(0.5, abs=1e-6)
    assert found[10, 5] == 1
    plain = drawn(DrawState(), "triangles", corners, engine=engine)[..., 3]
    assert set(plain.ravel().tolist()) == {0, 1}


def test_a_triangle_without_an_area_is_not_drawn_where_snapped_corners_have_one() -> None:
    corners = np.array([[0.0, 0.0], [5.1, 10.2], [10.2, 20.4]])
    assert not drawn(DrawState(smooth_polygons=True), "triangles", corners)[..., 3].any()


def test_large_smooth_triangles_are_looked_at_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    corners = np.random.default_rng(2).uniform(-5, 45, (9, 3, 2))
    chosen, bounds = np.arange(9) != 4, (3, 2, 37, 38)
    whole = smooth_triangles(corners, chosen, bounds, lambda pixels: None)
    monkeypatch.setattr(smooth, "_TOGETHER", 7)
    parts = smooth_triangles(corners, chosen, bounds, lambda pixels: None)
    assert whole.shares is not None
    assert parts.shares is not None
    assert len(whole)
    assert np.array_equal(whole.shares, parts.shares)
    assert all((getattr(whole, n) == getattr(parts, n)).all() for n in ("x", "y", "covered", "primitive"))


def test_a_stipple_runs_along_a_smooth_line() -> None:
    state = DrawState(smooth_lines=True, line_stipple=(2, 0b0110))
    row = drawn(state, "lines", ENDS)[5, :, 3]
    assert np.flatnonzero(row).tolist() == [6, 7, 8, 9]


def test_several_samples_are_smooth_where_they_are_not_tested() -> None:
    positions, places = ((6, 2), (14, 6), (2, 10), (10, 14)), ((0, 0), (1, 0), (0, 1), (1, 1))
    state = DrawState(
        smooth_lines=True, line_width=1.5, multisampling=Multisampling(positions, places, 2, 2, enabled=False)
    )
    found = drawn(state, "lines", ENDS, across=2)[..., 3]
    assert found[8:14, 18] == pytest.approx([0.25, 0.25, 1, 1, 0.25, 0.25], abs=1e-6)
