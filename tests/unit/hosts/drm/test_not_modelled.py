"""What is not modelled is counted: registers, their fields, and those of texture and sampler headers."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from isakit.hosts.drm.engine import Engine
from isakit.hosts.drm.pages import ENGINES
from isakit.hosts.drm.tables import BitRange, Method
from isakit.tesla import Sampler, Texture
from isakit.texture.headers import HEADERS, HeaderField, not_modelled, pack, unpack
from support.runners.gl import CAPTURES, Card, write_word
from support.runners.gl_redraw import Redraw


def written(engine: Engine, word: int, value: int) -> list[str]:
    """What is counted when a value is written."""
    engine.report.unsupported.clear()
    write_word(engine, word, value)
    return list(engine.report.unsupported)


def other_values(low: int, high: int, neutral: int) -> Iterator[int]:
    """Values of a field that ask for something: all of a narrow one, and of a wide one each bit alone."""
    width = high - low + 1
    values = range(1 << width) if width <= 4 else (neutral ^ 1 << k for k in range(width))
    return (v << low for v in values if v != neutral)


def rows() -> list[tuple[Method, BitRange | None, type[Engine]]]:
    """Methods, and fields of modelled methods, that are not modelled."""
    out: list[tuple[Method, BitRange | None, type[Engine]]] = []
    for engine in ENGINES:
        for m in engine.table.methods:
            fields = [f for f in m.fields if f.neutral is not None]
            out += [(m, f, engine) for f in fields]
            if not fields and engine.effect(m.name).startswith("none yet"):
                out.append((m, None, engine))
    return out


@pytest.fixture(scope="module")
def engines() -> dict[str, Engine]:
    card = Card("a3", 1 << 20)
    return {e.table.name: e for e in card.channel._engines}  # pyright: ignore[reportPrivateUsage]


@pytest.mark.parametrize("kind", ENGINES, ids=[e.table.name for e in ENGINES])
def test_a_word_that_is_not_modelled_is_counted_unless_it_is_neutral(
    kind: type[Engine], engines: dict[str, Engine]
) -> None:
    engine = engines[kind.table.name]
    wrong: list[str] = []
    for m, f, _ in (r for r in rows() if r[2] is kind):
        word, neutral = m.offset >> 2, m.neutral if f is None else (f.neutral or 0) << f.low
        low, high = (0, 31) if f is None else (f.low, f.high)
        name = m.name if f is None else f"{m.name} field {f.name}"
        if any(name in t for t in written(engine, word, neutral)):
            wrong.append(f"{name} counts its neutral value")
        for value in other_values(low, high, neutral >> low):
            if not any(t.endswith(name) for t in written(engine, word, value)):
                wrong.append(f"{name} does not count {value:#x}")
    assert wrong == []


def test_there_is_something_that_is_not_modelled() -> None:
    names = {m.name for m, _, _ in rows()}
    assert {"WINDOW_OFFSET_X", "VERTEX_ARRAY_FETCH_ALT", "SCREEN_Y_CONTROL"} & names
    assert len(names) > 100


@pytest.mark.parametrize("engine", ENGINES, ids=[e.table.name for e in ENGINES])
def test_every_method_acts_is_read_is_ignored_for_a_reason_or_is_counted(engine: type[Engine]) -> None:
    for m in engine.table.methods:
        acts = engine.effect(m.name).startswith("acts")
        assert not m.ignored or len(m.ignored) > 10, m.name
        assert not any(f.ignored for f in m.fields) or m.ignored, m.name
        assert not (m.without_effect and (acts or m.read)), m.name


# --- what is read -----------------------------------------------------------------------------------------------------
def names_in(source: str) -> list[str]:
    """Patterns of the method names that functions of a source file name, without those of decorators."""
    out: list[str] = []
    tree = ast.parse(source)
    marks = {
        id(n) for f in ast.walk(tree) if isinstance(f, ast.FunctionDef) for d in f.decorator_list for n in ast.walk(d)
    }
    inner = {id(v) for n in ast.walk(tree) if isinstance(n, ast.JoinedStr) for v in n.values}
    for n in ast.walk(tree):
        if id(n) in marks:
            continue
        if isinstance(n, ast.Constant) and isinstance(n.value, str) and id(n) not in inner:
            out.append(re.escape(n.value))
        elif isinstance(n, ast.JoinedStr):
            parts = [v.value if isinstance(v, ast.Constant) else None for v in n.values]
            if any(p and re.search(r"[A-Z]{2}", p) for p in parts):
                out.append("".join("[A-Z0-9]*_?[A-Z0-9]*" if p is None else re.escape(p) for p in parts))
    return [p for p in out if re.fullmatch(r"[][A-Z0-9_*?\\-]+", p)]


def named_where_something_reads() -> re.Pattern[str]:
    """The names of methods that functions of the engines name."""
    folder = Path(inspect.getfile(Engine)).parent
    found = [p for f in (folder / "engines").glob("*.py") for p in names_in(f.read_text())]
    found += [r"SEMAPHORE_ADDRESS", r"SEMAPHORE_SEQUENCE"]  # all engines have these
    return re.compile("|".join(f"(?:{p})(?:_HIGH|_LOW)?" for p in found))


def test_every_method_that_is_said_to_be_read_is_named_where_something_reads() -> None:
    """Patterns over families of names once hid those that nothing read."""
    known = named_where_something_reads()
    read = [(e.table.name, m.name) for e in ENGINES for m in e.table.methods if m.read]
    assert [n for n in read if not known.fullmatch(n[1])] == []


def test_what_nothing_reads_would_be_found() -> None:
    known = named_where_something_reads()
    unread = ("WINDOW_OFFSET_X", "SCREEN_Y_CONTROL", "VERTEX_BASE_HIGH", "VERTEX_ARRAY_FETCH_ALT", "D3D_CULL_MODE")
    assert [n for n in unread if known.fullmatch(n)] == []


# --- texture and sampler headers --------------------------------------------------------------------------------------
HEADER_FIELDS = [(kind, h) for kind, fields in HEADERS.items() for h in fields if not h.ignored]
BORDER = {"wrap_u": 3, "wrap_v": 3}
LEVEL_0, LAST_LEVEL = {"max_lod": 0}, {"lod_bias": 0xFFF}
AS_3D = {"type": 2, "depth": 2}
CONTEXTS: tuple[tuple[str, dict[str, int], dict[str, int]], ...] = (
    ("wrap_modes", {}, {}),
    ("trilinear", {}, {}),
    ("trilinear", {}, LEVEL_0),
    ("trilinear", {}, {"lod_bias": 128}),
    ("trilinear", {"use_header_opt": 1}, {}),
    ("trilinear", {"lod_bias": 1024}, {}),
    ("wrap_modes", {"srgb": 1}, BORDER),
    ("trilinear", AS_3D, LEVEL_0),
    ("trilinear", {"depth": 2}, {}),
    ("trilinear", {"type": 2}, {}),
    ("../textured", {}, {}),
    ("../textured", {}, LEVEL_0),
    ("trilinear", {"type": 7, "pitch_layout": 1, "pitch": 256}, LEVEL_0),
    ("trilinear", {"view_min_level": 3, "view_max_level": 3}, {}),
    ("trilinear", {"map_mip_level": 15}, LAST_LEVEL),
    ("trilinear", {"view_max_level": 15}, LAST_LEVEL),
    ("wrap_modes", {}, {**BORDER, "border_r": 0x3F000000, "border_g": 0x3E800000}),
)
"""A captured scene, and other fields of its textures and samplers: one of them shows what a field does."""
FEW = {
    **{f"type_{c}": (1, 2, 3, 5, 6, 7) for c in "rgba"},  # integers of a byte are all small numbers to a float target
    "gobs_y": (0, 4), "depth": (1, 2), "map_mip_level": (0, 1, 3, 6), "view_min_level": (0, 1, 3),
    "view_max_level": (0, 1, 3, 5), **{f"srgb_border_{c}": (0, 85, 255) for c in "rgb"},
}  # fmt: skip
"""Values that the scenes tell apart, of fields for which others act the same: there are no more levels or layers."""
ELSEWHERE = {
    "compare": "test_texture_sampling.test_comparison_then_filter",
    "compare_func": "test_texture_sampling.test_comparison_then_filter",
    "min": "test_texture_sampling.test_levels_by_derivatives",
    "wrap_p": "test_texture_sampling.test_three_dimensions",
    "lod_iso_quality": "test_graphics_options.test_texture_options",
}
"""Fields that none of the scenes shows, with their tests: no program compares, or is minified in perspective."""


def with_fields(kind: str, values: dict[str, int]) -> tuple[str, Callable[[tuple[int, ...]], tuple[int, ...]]]:
    """What changes a header to other values of some fields."""
    return kind, lambda words: pack(kind, unpack(kind, words) | values)


def values_of(h: HeaderField) -> list[int]:
    """Values of a field: all of a narrow one, some of a wide one that are far apart."""
    if h.name in FEW:
        return list(FEW[h.name])
    if h.field.width <= 4:
        return list(range(1 << h.field.width))
    if h.field.width == 32:
        return [0, 0x3E00_0000, 0x3F80_0000]
    top = (1 << h.field.width) - 1
    return [0, 1, top // 3, top]


@pytest.fixture(scope="module")
def scenes() -> Iterator[dict[str, Redraw]]:
    out = {name: Redraw(CAPTURES / "features" / f"{name}-a0.glc") for name in {c[0] for c in CONTEXTS}}
    yield out
    for r in out.values():
        r.close()


def alike(scenes: dict[str, Redraw], kind: str, h: HeaderField, values: list[int]) -> set[tuple[int, int]]:
    """Neighbours in a list of values of a field that no scene tells apart."""
    left = set(pairwise(values))
    for scene, tic, tsc in CONTEXTS:
        seen = {}
        for value in {v for pair in left for v in pair}:
            fields = {"tic": tic, "tsc": tsc}
            fields[kind] = fields[kind] | {h.name: value}
            seen[value] = scenes[scene].seen(headers=[with_fields(k, f) for k, f in fields.items()])
        left = {(a, b) for a, b in left if seen[a] == seen[b]}
        if not left:
            break
    return left


SHOWN = [(kind, h) for kind, h in HEADER_FIELDS if h.name not in ELSEWHERE]


@pytest.mark.parametrize(("kind", "h"), SHOWN, ids=[f"{k}-{h.name}" for k, h in SHOWN])
def test_a_header_field_shows_in_a_picture_or_is_counted(scenes: dict[str, Redraw], kind: str, h: HeaderField) -> None:
    values = values_of(h)
    assert alike(scenes, kind, h, [values[0], values[-1]]) == set()


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "h"), SHOWN, ids=[f"{k}-{h.name}" for k, h in SHOWN])
def test_every_value_of_a_header_field_shows_in_a_picture_or_is_counted(
    scenes: dict[str, Redraw], kind: str, h: HeaderField
) -> None:
    assert alike(scenes, kind, h, values_of(h)) == set()


def test_no_field_that_is_shown_elsewhere_is_counted() -> None:
    assert {h.name for _, h in HEADER_FIELDS} >= ELSEWHERE.keys()
    assert all(h.neutral is None for _, h in HEADER_FIELDS if h.name in ELSEWHERE)


def test_fields_that_are_ignored_have_a_reason() -> None:
    for fields in HEADERS.values():
        assert all(len(h.ignored) > 10 for h in fields if h.ignored)
        assert not any(h.ignored and h.neutral is not None for h in fields)
        assert sum(bool(h.ignored) for h in fields) < len(fields) // 2


def test_anisotropic_filtering_is_counted_by_the_header_that_decides() -> None:
    tic, tsc = Texture(np.zeros((4, 4), np.uint8)).words, Sampler().words
    assert not_modelled(tic, tsc) == ()
    eight = with_fields("tsc", {"max_aniso": 4})[1](tsc)
    own = with_fields("tic", {"max_aniso": 2, "use_header_opt": 1})[1](tic)
    assert not_modelled(tic, eight) == ("sampler: max_aniso 8",)
    assert not_modelled(own, eight) == ("texture header: max_aniso 4",)


@pytest.mark.parametrize("kind", ENGINES, ids=[e.table.name for e in ENGINES])
def test_bits_that_are_in_no_field_are_counted(kind: type[Engine], engines: dict[str, Engine]) -> None:
    """As the two highest bits of a sampler's number were, which rnndb does not have: another sampler was bound."""
    engine = engines[kind.table.name]
    for m in kind.table.methods:
        if not m.fields or m.ignored or not m.read:  # those that act do so
            continue
        word = kind.table.word(m.name)
        before = engine.state[word]
        known = sum(f.mask for f in m.fields)
        for bit in (1 << k for k in range(32)):
            write_word(engine, word, before)
            found = f"{kind.table.name} method {m.name}: bits of no field" in written(engine, word, before ^ bit)
            assert found == (not known & bit), (m.name, bit)
        write_word(engine, word, before)
