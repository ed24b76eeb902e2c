"""Sampling against formulas in exact rational numbers, written from the rules and not from the code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import product
from typing import Any, Literal

import numpy as np
import pytest

from isakit.tesla import Sampler, Texture
from isakit.texture.texture_choices import TextureChoices
from isakit.texture.texture_unit import TextureUnit

SIZES = (1, 2, 3, 5, 8)
LARGE = (1e6, -1e6, 12345.671875, -98765.4375, 2.0**40, -(2.0**40), 3.0e38, -3.0e38)
COORDINATES = [np.float32(k / 64) for k in range(-3 * 64, 3 * 64 + 1)] + [np.float32(x) for x in LARGE]
BORDER = Fraction(-3)

Place = int | None


def floor(x: Fraction) -> int:
    return x.numerator // x.denominator


def repeat(i: int, n: int) -> Place:
    return i % n


def mirror(i: int, n: int) -> Place:
    m = i % (2 * n)
    return min(m, 2 * n - 1 - m)


def edge(i: int, n: int) -> Place:
    return max(0, min(i, n - 1))


def border(i: int, n: int) -> Place:
    return i if 0 <= i < n else None


def mirrored(i: int) -> int:
    return i if i >= 0 else -1 - i


WRAPS: dict[str, Callable[[int, int], Place]] = {
    "repeat": repeat,
    "mirror": mirror,
    "edge": edge,
    "border": border,
    "mirror_edge": lambda i, n: edge(mirrored(i), n),
    "mirror_border": lambda i, n: border(mirrored(i), n),
}


def scaled(x: np.float32, n: int) -> Fraction:
    """The product of a coordinate with a size, rounded to single precision as the unit does."""
    with np.errstate(over="ignore"):
        u = np.float32(x * np.float32(n))
    return Fraction(float(np.clip(u, -3.4028235e38, 3.4028235e38)))


def texel(row: Sequence[Fraction], place: Place) -> Fraction:
    return BORDER if place is None else row[place]


def point(row: Sequence[Fraction], u: Fraction, wrap: str) -> Fraction:
    n = len(row)
    if wrap in ("clamp", "mirror_clamp"):
        u = min(max(abs(u) if wrap == "mirror_clamp" else u, Fraction(0)), Fraction(n))
        return row[min(floor(u), n - 1)]
    return texel(row, WRAPS[wrap](floor(u), n))


def smooth(row: Sequence[Fraction], u: Fraction, wrap: str) -> Fraction:
    """Two texels with a weight of eight fraction bits, rounded to nearest."""
    n = len(row)
    place: Callable[[int, int], Place]
    if wrap in ("clamp", "mirror_clamp"):
        u = min(max(abs(u) if wrap == "mirror_clamp" else u, Fraction(0)), Fraction(n))
        place = border if wrap == "clamp" else WRAPS["mirror_border"]
    else:
        place = WRAPS[wrap]
    x = u - Fraction(1, 2)
    i = floor(x)
    a = Fraction(floor((x - i) * 256 + Fraction(1, 2)), 256)  # 0 to 256 of 256
    return (1 - a) * texel(row, place(i, n)) + a * texel(row, place(i + 1, n))


def single(x: Fraction) -> int:
    """Bits of the nearest single precision number, ties to even, found by trying its neighbours."""
    guess = np.float32(float(x))
    near = [np.nextafter(guess, np.float32(d), dtype=np.float32) for d in (-np.inf, np.inf)] + [guess]
    best = min(near, key=lambda f: (abs(Fraction(float(f)) - x), int(f.view(np.uint32)) & 1))
    return int(best.view(np.uint32)) if x else 0


def unit(texture: Texture, **sampler: object) -> TextureUnit:
    return TextureUnit({0: texture}, {0: Sampler(**sampler)})  # type: ignore[arg-type]


def ask(unit: TextureUnit, *coordinates: np.ndarray, op: str = "texauto", **options: object) -> np.ndarray:
    words = [np.ascontiguousarray(c).view(np.uint32) for c in coordinates]
    return np.array(unit.ask(op, 0, 0, words, **options))  # type: ignore[arg-type]


ALL_WRAPS = (*WRAPS, "clamp", "mirror_clamp")


@pytest.mark.parametrize("filters", ["nearest", "linear"])
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("wrap", ALL_WRAPS)
def test_one_dimension(wrap: str, n: int, filters: str) -> None:
    values = np.random.default_rng(n).integers(-1000, 1000, n).astype(np.float32) / np.float32(7)
    row = [Fraction(float(v)) for v in values]
    u = unit(Texture(values, target="1d"), wrap=wrap, mag=filters, min=filters, border=(float(BORDER),) * 4)
    x = np.array(COORDINATES, np.float32)
    got = ask(u, x)[0]
    how = point if filters == "nearest" else smooth
    expected = [single(how(row, scaled(c, n), wrap)) for c in x]
    wrong = [(float(c), hex(g), hex(e)) for c, g, e in zip(x, got.tolist(), expected, strict=True) if g != e]
    assert not wrong


@pytest.mark.parametrize(("w", "h"), [(1, 5), (2, 3), (3, 8), (5, 2), (8, 1)])
@pytest.mark.parametrize("wraps", [("repeat", "mirror"), ("edge", "border"), ("mirror_edge", "clamp")])
def test_two_dimensions(w: int, h: int, wraps: tuple[str, str]) -> None:
    image = np.random.default_rng(w * h).standard_normal((h, w)).astype(np.float32)
    u = unit(Texture(image), wrap=(*wraps, "edge"), mag="linear", min="linear", border=(float(BORDER),) * 4)
    places = [np.float32(k / 64) for k in range(-80, 81, 7)]
    xs, ys = (np.array(v, np.float32) for v in zip(*product(places, places), strict=True))
    got = ask(u, xs, ys)[0]
    for x, y, g in zip(xs, ys, got.tolist(), strict=True):
        # a weighted sum of weighted sums, in exact numbers: the order does not matter
        columns = [smooth([Fraction(float(v)) for v in line], scaled(x, w), wraps[0]) for line in image]
        outside = BORDER
        assert g == single(smooth(columns, scaled(y, h), wraps[1]) if outside is not None else outside)


def test_three_dimensions() -> None:
    d, h, w = 3, 2, 5
    image = np.random.default_rng(3).standard_normal((d, h, w)).astype(np.float32)
    u = unit(Texture(image, target="3d"), wrap=("repeat", "edge", "mirror"), mag="linear", min="linear")
    rng = np.random.default_rng(4)
    x, y, z = (rng.integers(-100, 100, 60).astype(np.float32) / np.float32(64) for _ in range(3))
    got = ask(u, x, y, z)[0]
    for k, g in enumerate(got.tolist()):
        slices = []
        for plane in image:
            lines = [smooth([Fraction(float(v)) for v in line], scaled(x[k], w), "repeat") for line in plane]
            slices.append(smooth(lines, scaled(y[k], h), "edge"))
        assert g == single(smooth(slices, scaled(z[k], d), "mirror"))


def test_cancellation_is_rounded_once() -> None:
    """Huge texels of opposite sign beside a small one: f64 arithmetic alone would lose the small one."""
    values = np.array([2.0**60, -(2.0**60) + 2.0**37, 1.0, 2.0**-40], np.float32)
    row = [Fraction(float(v)) for v in values]
    u = unit(Texture(values, target="1d"), wrap="repeat", mag="linear", min="linear")
    x = np.arange(0, 256, dtype=np.float32) / np.float32(256)
    assert ask(u, x)[0].tolist() == [single(smooth(row, scaled(c, 4), "repeat")) for c in x]


def test_special_coordinates() -> None:
    values = np.arange(5, dtype=np.float32)
    x = np.array([np.nan, np.inf, -np.inf], np.float32)
    for wrap, expected in {"edge": [0, 4, 0], "repeat": [0, 0, 0], "mirror": [0, 0, 0]}.items():
        got = ask(unit(Texture(values, target="1d"), wrap=wrap), x)[0].view(np.float32)
        assert got.tolist() == expected


def test_offsets_move_the_texel_before_wrapping() -> None:
    values = np.arange(8, dtype=np.float32)
    x = np.array([0.0625 + k / 8 for k in range(8)], np.float32)
    for offset in (-8, -1, 3, 7):
        got = ask(unit(Texture(values, target="1d"), wrap="repeat"), x, offsets=(offset, 0, 0))[0].view(np.float32)
        assert got.tolist() == [(k + offset) % 8 for k in range(8)]
        clamped = ask(unit(Texture(values, target="1d")), x, offsets=(offset, 0, 0))[0].view(np.float32)
        assert clamped.tolist() == [min(max(k + offset, 0), 7) for k in range(8)]


@pytest.mark.parametrize("compare", ["never", "less", "equal", "lequal", "greater", "notequal", "gequal", "always"])
def test_comparison_then_filter(compare: str) -> None:
    import operator

    holds = {
        "never": lambda a, b: False, "less": operator.lt, "equal": operator.eq, "lequal": operator.le,
        "greater": operator.gt, "notequal": operator.ne, "gequal": operator.ge, "always": lambda a, b: True,
    }[compare]  # fmt: skip
    depth = np.array([0.25, 0.5, 0.75, 0.5], np.float32)
    u = unit(Texture(depth, "d32f", "1d"), wrap="repeat", mag="linear", min="linear", compare=compare)
    x = np.array([k / 64 for k in range(64)], np.float32)
    got = ask(u, x, np.full(64, 0.5, np.float32))
    row = [Fraction(int(holds(0.5, float(d)))) for d in depth]
    expected = [single(smooth(row, scaled(c, 4), "repeat")) for c in x]
    for component in range(3):
        assert got[component].tolist() == expected
    assert (got[3].view(np.float32) == 1).all()


def test_levels_by_derivatives() -> None:
    """A quad that steps s texels across sees log2(s): nearest and linear between levels, bias, explicit level."""
    levels = [np.full((16 >> k, 16 >> k), k, np.float32) for k in range(5)]
    x = np.array([0, 1, 0, 1], np.float32)
    y = np.array([0, 0, 1, 1], np.float32)
    near = unit(Texture(levels), min="nearest", mip="nearest")
    mixed = unit(Texture(levels), min="linear", mip="linear", lod_bias=0.5)
    for step, level in ((1, 0), (2, 1), (3, 2), (4, 2), (8, 3), (16, 4), (64, 4)):
        s = np.float32(step / 16)
        assert ask(near, x * s, y * s, quads=True)[0].view(np.float32).tolist() == [level] * 4
    for step, level in ((1, 0.5), (2, 1.5), (4, 2.5), (16, 4)):
        s = np.float32(step / 16)
        assert ask(mixed, x * s, y * s, quads=True)[0].view(np.float32).tolist() == [level] * 4
    lod = np.array([-3, 0.5, 1.25, 9], np.float32)
    assert ask(unit(Texture(levels), min="linear", mip="linear"), x, y, lod, op="texlod")[0].view(np.float32).tolist() \
        == [0, 0.5, 1.25, 4]  # fmt: skip
    bias = np.array([1, 1, 1, 1], np.float32)
    assert ask(near, x / 8, y / 8, bias, op="texbias", quads=True)[0].view(np.float32).tolist() == [2] * 4


@pytest.mark.parametrize(("origin", "first"), [("view", 0), ("texture", 1)])
def test_levels_of_detail_count_from_the_view(origin: Literal["view", "texture"], first: int) -> None:
    """A view of levels 1 to 3: by the rules of OpenGL its first one is level 0 for programs and samplers."""
    levels = [np.full((16 >> k, 16 >> k), k, np.float32) for k in range(5)]
    choices = TextureChoices(level_origin=origin)

    def of(**sampler: Any) -> TextureUnit:
        texture = Texture(levels, view=(1, 3))
        return TextureUnit({0: texture}, {0: Sampler(mag="nearest", min="linear", mip="nearest", **sampler)}, choices)

    x = y = np.full(4, 0.5, np.float32)
    lod = np.array([0, 1, 2, 3], np.float32)
    expected = np.clip(lod + 1 - first, 1, 3)
    assert ask(of(), x, y, lod, op="texlod")[0].view(np.float32).tolist() == expected.tolist()
    clamped = of(min_lod=1, max_lod=1)
    assert ask(clamped, x, y, lod, op="texlod")[0].view(np.float32).tolist() == [2 - first] * 4
    assert ask(of(), np.array([0, 1], np.uint32), op="texsize")[0].tolist() == [8 << first, 4 << first]
    # A step of one texel of level 2 is a level of detail of 1 in the view, of 2 in the texture; both read level 2.
    x, y = (np.array([0.25, 0.5, 0.25, 0.5], np.float32), np.array([0.25, 0.25, 0.5, 0.5], np.float32))
    assert ask(of(), x, y, quads=True)[0].view(np.float32).tolist() == [2] * 4
    queried = ask(of(), x, y, op="texquerylod", quads=True)[:2, 0]
    assert queried.tolist() == [(1 + first) * 256, (1 + first) * 256]


def test_fetch_size_and_gather() -> None:
    image = np.arange(12, dtype=np.float32).reshape(3, 4)
    u = unit(Texture([image, image[:1, :2]]), wrap="repeat", mag="linear")
    x, y = np.array([0, 3, 4, -1, 1], np.int32), np.array([2, 1, 0, 0, 0], np.int32)
    level = np.array([0, 0, 0, 0, 1], np.int32)
    got = ask(u, x, y, level, op="texfetch")
    assert got[0].view(np.float32).tolist() == [8, 7, 0, 0, 1]
    assert got[3].view(np.float32).tolist() == [1, 1, 1, 1, 1]
    assert ask(u, np.array([0, 1], np.uint32), op="texsize")[:, 0].tolist() == [4, 3, 1, 2]
    assert ask(u, np.array([0, 1], np.uint32), op="texsize")[:, 1].tolist() == [2, 1, 1, 2]
    square = unit(Texture(image), wrap="repeat", mag="linear", min="linear")
    centre = np.array([0.5], np.float32)
    got = ask(square, centre, np.array([1 / 3], np.float32), op="texgather").view(np.float32).ravel()
    assert got.tolist() == [image[1, 1], image[1, 2], image[0, 2], image[0, 1]]


def test_cube_faces() -> None:
    faces = np.arange(6, dtype=np.float32)[:, None, None] * np.ones((1, 4, 4), np.float32)
    u = unit(Texture(faces, target="cube"))
    axes = np.array([[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1], [1, 1, 1], [0, 1, -1]])
    x, y, z = axes.T.astype(np.float32)
    assert ask(u, x, y, z)[0].view(np.float32).tolist() == [0, 1, 2, 3, 4, 5, 0, 2]
    prepared = ask(u, x, y, z, op="texprep")
    assert prepared[2].tolist() == [0, 1, 2, 3, 4, 5, 0, 2]


DIRECTIONS = np.array([[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]], np.float32)


def numbered_cubes(cubes: int) -> Texture:
    """An array of cube maps: every face holds its number, counted over all cubes."""
    faces = np.arange(6 * cubes, dtype=np.float32)[:, None, None] * np.ones((1, 4, 4), np.float32)
    return Texture(faces, target="cube_array")


@pytest.mark.parametrize("op", ["texauto", "texgather", "texlod"])
def test_a_direction_and_a_number_find_a_face_of_an_array_of_cube_maps(op: str) -> None:
    u = unit(numbered_cubes(3))
    for cube, expected in ((0, 0), (2, 12), (7, 12), (-1, 0)):
        number = np.full(6, cube, np.int32)
        rest = [np.zeros(6, np.float32)] if op == "texlod" else []
        got = ask(u, *DIRECTIONS.T, number, *rest, op=op, cube=True)[0].view(np.float32)
        assert got.tolist() == [expected + face for face in range(6)]


def test_what_texprep_makes_finds_the_same_texel_of_an_array_of_cube_maps() -> None:
    """Programs do so where direction, number, reference and level are more than four sources."""
    rng = np.random.default_rng(8)
    image = rng.random((18, 8, 8), np.float32)
    u = unit(Texture(image, target="cube_array"), mag="linear", min="linear")
    x, y, z = rng.standard_normal((3, 64)).astype(np.float32)
    number = rng.integers(0, 3, 64).astype(np.int32)
    s, t, face, _ = ask(u, x, y, z, number, op="texprep")
    assert np.array_equal(ask(u, s, t, face), ask(u, x, y, z, number, cube=True))


def test_seamless_filtering_stays_inside_of_its_cube() -> None:
    """Over the edges of a cube that is one number everywhere nothing of its neighbours is read."""
    faces = np.repeat(np.arange(3, dtype=np.float32), 6)[:, None, None] * np.ones((1, 2, 2), np.float32)
    choices = TextureChoices(seamless=True)
    u = TextureUnit({0: Texture(faces, target="cube_array")}, {0: Sampler(mag="linear", min="linear")}, choices)
    rng = np.random.default_rng(4)
    x, y, z = rng.standard_normal((3, 256)).astype(np.float32)
    number = rng.integers(0, 3, 256).astype(np.int32)
    assert np.array_equal(ask(u, x, y, z, number, cube=True)[0].view(np.float32), number.astype(np.float32))


def test_seamless_filtering_of_a_cube_in_an_array_is_that_of_the_cube_alone() -> None:
    rng = np.random.default_rng(5)
    image = rng.random((18, 4, 4), np.float32)
    smooth, choices = {0: Sampler(mag="linear", min="linear")}, TextureChoices(seamless=True)
    alone = TextureUnit({0: Texture(image[6:12], target="cube")}, smooth, choices)
    array = TextureUnit({0: Texture(image, target="cube_array")}, smooth, choices)
    x, y, z = rng.standard_normal((3, 256)).astype(np.float32)
    one = np.ones(256, np.int32)
    assert np.array_equal(ask(array, x, y, z, one, cube=True), ask(alone, x, y, z, cube=True))


@pytest.mark.parametrize(
    ("target", "shape", "expected"),
    [
        ("1d", (9,), [9, 1, 1]), ("1d_array", (5, 9), [9, 5, 1]), ("2d_array", (5, 7, 9), [9, 7, 5]),
        ("3d", (5, 7, 9), [9, 7, 5]), ("cube", (6, 4, 4), [4, 4, 1]), ("cube_array", (12, 4, 4), [4, 4, 2]),
    ],
)  # fmt: skip
def test_the_layers_of_a_size_stand_behind_the_axes(target: str, shape: tuple[int, ...], expected: list[int]) -> None:
    u = unit(Texture(np.zeros(shape, np.float32), target=target))  # type: ignore[arg-type]
    assert ask(u, np.zeros(1, np.uint32), op="texsize")[:3, 0].tolist() == expected


def test_layers_do_not_shrink_with_the_level() -> None:
    u = unit(Texture([np.zeros((5, 8 >> k), np.float32) for k in range(4)], target="1d_array"))
    assert ask(u, np.array([2], np.uint32), op="texsize")[:, 0].tolist() == [2, 5, 1, 4]


def test_layers_clamp() -> None:
    layers = np.arange(3, dtype=np.float32)[:, None, None] * np.ones((1, 2, 2), np.float32)
    u = unit(Texture(layers, target="2d_array"))
    half = np.full(4, 0.5, np.float32)
    got = ask(u, half, half, np.array([0, 2, 3, 511], np.uint32))
    assert got[0].view(np.float32).tolist() == [0, 2, 2, 2]


@pytest.mark.parametrize("pitch", [None, 64])
def test_a_texture_over_memory_shows_what_the_memory_holds_now(pitch: int | None) -> None:
    memory = np.arange(256, dtype=np.uint8)
    texture = Texture.from_memory(lambda: memory, "r8ui", 16, 4, target="rect", pitch=pitch)
    assert texture.planes(False)[0].reshape(4, 16)[1, 0] == (pitch or 16)
    memory[:] = 7
    texture.refresh()
    assert (texture.planes(False)[0] == 7).all()
