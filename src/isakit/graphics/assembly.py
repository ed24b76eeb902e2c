"""Vertex fetch and primitive assembly. Source: [graphics] 3.1, 3.2."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal, get_args

import numpy as np

from isakit.engine.protocol import Array
from isakit.errors import LaunchError
from isakit.runtime.vertex_streams import fractions

Mode = Literal[
    "points", "lines", "line_loop", "line_strip", "triangles", "triangle_strip", "triangle_fan", "quads", "quad_strip",
    "polygon", "lines_adjacency", "line_strip_adjacency", "triangles_adjacency", "triangle_strip_adjacency",
]  # fmt: skip
ONE = 0x3F80_0000
"""The bits of 1.0."""
_F32 = np.dtype(np.float32)
MODES: tuple[Mode, ...] = get_args(Mode)
"""Modes, in the order of the hardware's numbers."""


@dataclass(frozen=True)
class Attribute:
    """A vertex attribute: an array with one row per vertex, or per `divisor` instances (0 to 2**63 - 1).

    Floating point arrays are passed as f32. Integer arrays: `normalized` ones become 0 to 1 or -1 to 1, `scaled` ones
    are converted, others are passed as they are. Raises LaunchError for another divisor.
    """

    data: Array
    normalized: bool = False
    scaled: bool = False
    divisor: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.divisor < 1 << 63:
            raise LaunchError(f"an attribute goes on after {self.divisor} instances")

    def words(self) -> tuple[Array, int]:
        """Return u32 [rows, components], and the default of a missing fourth component; other missing ones read 0.

        Raises LaunchError for another shape.
        """
        a = np.asarray(self.data)
        if a.ndim != 2:
            a = a.reshape(len(a), -1)
        if a.shape[1] > 4 or a.dtype.kind not in "fiu":
            raise LaunchError(f"an attribute has one to four numbers per vertex, not {a.shape[1]} of {a.dtype}")
        if a.dtype == _F32:
            return np.ascontiguousarray(a).view(np.uint32), ONE
        if a.dtype.kind != "f" and self.normalized:
            return fractions(a).view(np.uint32), ONE
        if a.dtype.kind == "f" or self.scaled:
            return a.astype(np.float32).view(np.uint32), ONE
        return (a.astype(np.int64) & 0xFFFF_FFFF).astype(np.uint32), 1


Input = tuple[int, int] | Literal["vertex_id", "instance_id"] | tuple[Literal["vertex_id"], int]
"""Content of a word of a[]: (attribute, component), or an id with an addend."""


def fetch(
    attributes: Sequence[Attribute], inputs: Sequence[Input], vertex: Array, instance: Array, out: Array | None = None
) -> Array:
    """Return a[] of vertices, u32 [words, vertices], in `out`. Rows past the end of an array read its last one."""
    if out is None:
        out = np.zeros((len(inputs), len(vertex)), np.uint32)
    places: dict[tuple[int, int], Array] = {}
    for k, number, component, count in _runs(tuple(inputs)):
        if number == "vertex_id":
            out[k] = vertex + component & 0xFFFF_FFFF
            continue
        if number == "instance_id":
            out[k] = instance
            continue
        if not 0 <= number < len(attributes):
            raise LaunchError(f"the program wants attribute {number}; there are {len(attributes)}")
        a = attributes[number]
        rows, last = a.words()
        there = max(0, min(count, rows.shape[1] - component))
        for missing in range(there, count):
            out[k + missing] = last if component + missing == 3 else 0
        if not there:
            continue
        if len(rows) == 1:
            out[k : k + there] = rows[0, component : component + there, None]
            continue
        key = a.divisor, len(rows)
        if key not in places:
            row = vertex if a.divisor == 0 else instance // a.divisor
            places[key] = np.minimum(row, len(rows) - 1).astype(np.intp, copy=False)
        whole = rows if there == rows.shape[1] else rows[:, component : component + there]
        out[k : k + there] = whole.take(places[key], axis=0, mode="wrap").T  # as quick as for indices in range
    return out


@lru_cache(maxsize=256)
def _runs(inputs: tuple[Input, ...]) -> tuple[tuple[int, int | Literal["vertex_id", "instance_id"], int, int], ...]:
    """Return the words of a[] in runs of one attribute: (first word, attribute, first component, words).

    `vertex_id` and `instance_id` take the place of an attribute, and are one word each.
    """
    out: list[tuple[int, int | Literal["vertex_id", "instance_id"], int, int]] = []
    for k, what in enumerate(inputs):
        number, component = (what, 0) if isinstance(what, str) else what
        if out and isinstance(number, int):
            first, before, start, count = out[-1]
            if before == number and start + count == component:
                out[-1] = first, before, start, count + 1
                continue
        out.append((k, number, component, 1))
    return tuple(out)


def packed_inputs(attributes: Sequence[Attribute], vertex_id: bool, instance_id: bool) -> list[Input]:
    """Return a[] words as the hardware packs them: all components of all attributes, then the ids."""
    out: list[Input] = []
    for k, a in enumerate(attributes):
        width = int(np.asarray(a.data).reshape(len(a.data), -1).shape[1])
        out += [(k, c) for c in range(width)]
    return [*out, *(["vertex_id"] if vertex_id else []), *(["instance_id"] if instance_id else [])]


@dataclass(frozen=True)
class Primitives:
    """Primitives as positions in the list of vertices.

    Attributes: `corners` [n, 1, 2, 3, 4 or 6]: in drawing order, with adjacency if the mode has it; `provoking` [n];
    `edges` bool [n, 3]: which edges of a triangle (from corner k to the next) belong to the polygon it was cut from;
    `restarts` bool [n]: the stipple pattern restarts; `numbers` [n]: PrimitiveID, the same for all triangles of a quad
    or a polygon.
    """

    corners: Array
    provoking: Array
    edges: Array
    restarts: Array
    numbers: Array

    def plain(self) -> Primitives:
        """Return the primitives without the adjacent vertices."""
        width = self.corners.shape[1]
        chosen = {4: [1, 2], 6: [0, 2, 4]}.get(width)
        return self if chosen is None else replace(self, corners=self.corners[:, chosen])


def assemble(
    mode: str, order: Array, restart: int | None, last: bool = True, quads: Literal["second", "first"] = "second"
) -> Primitives:
    """Return primitives of a list of vertices.

    Odd triangles of a strip have their first two vertices swapped, which keeps the winding; quads and polygons become
    triangles, quads by the diagonal that `quads` names (see GraphicsChoices). `restart` ends a strip, fan or list when
    it occurs in `order`; `last` says which vertex provokes. Source: [gl] "Primitive Types" and the table of provoking
    vertices.
    """
    if mode not in MODES:
        raise LaunchError(f"no primitive {mode!r}; there are: {', '.join(MODES)}")
    place = np.arange(len(order))
    ends = np.flatnonzero(order == restart) if restart is not None else np.zeros(0, np.int64)
    out: list[tuple[Array, Array, Array]] = []
    start = 0
    for end in [*ends.tolist(), len(order)]:
        made = _run(mode, place[start:end], last, quads == "first")
        start = end + 1
        if made is not None and len(made[0]):
            out.append(made)
    width = {"points": 1, "lines": 2, "line_loop": 2, "line_strip": 2}.get(mode)
    width = width or (4 if mode.startswith("line") else 6 if mode.endswith("adjacency") else 3)
    if not out:
        none = np.zeros(0, np.int64)
        return Primitives(np.zeros((0, width), np.int64), none, np.zeros((0, 3), bool), np.zeros(0, bool), none)
    restarts = [
        np.arange(len(c)) == 0 if mode in ("line_loop", "line_strip") else np.ones(len(c), bool) for c, _, _ in out
    ]
    corners, provoking, edges = (np.concatenate([o[k] for o in out]) for k in range(3))
    numbers = np.arange(len(corners))
    if mode in ("quads", "quad_strip"):
        numbers //= 2
    elif mode == "polygon":
        numbers = np.repeat(np.arange(len(out)), [len(c) for c, _, _ in out])
    return Primitives(corners, provoking, edges, np.concatenate(restarts), numbers)


def _run(mode: str, run: Array, last: bool, from_first: bool) -> tuple[Array, Array, Array] | None:
    """Return (corners, provoking, edges) of the vertices between two restarts."""
    n = len(run)

    def made(corners: Array, provoking: Array, edges: Array | bool = True) -> tuple[Array, Array, Array]:
        return corners, provoking, np.broadcast_to(np.asarray(edges, bool), (len(corners), 3)).copy()

    if mode == "points":
        return made(run[:, None], run)
    if mode == "lines":
        c = run[: n // 2 * 2].reshape(-1, 2)
        return made(c, c[:, 1 if last else 0])
    if mode in ("line_strip", "line_loop"):
        if n < 2:
            return None
        c = np.stack((run[:-1], run[1:]), axis=1)
        if mode == "line_loop":
            c = np.concatenate((c, [[run[-1], run[0]]]))
        return made(c, c[:, 1 if last else 0])
    if mode == "lines_adjacency":
        c = run[: n // 4 * 4].reshape(-1, 4)
        return made(c, c[:, 2 if last else 1])
    if mode == "line_strip_adjacency":
        if n < 4:
            return None
        c = np.stack([run[k : n - 3 + k] for k in range(4)], axis=1)
        return made(c, c[:, 2 if last else 1])
    if mode == "triangles":
        c = run[: n // 3 * 3].reshape(-1, 3)
        return made(c, c[:, 2 if last else 0])
    if mode == "triangles_adjacency":
        c = run[: n // 6 * 6].reshape(-1, 6)
        return made(c, c[:, 4 if last else 0])
    if mode == "triangle_strip_adjacency":
        return _strip_with_adjacency(run, last)
    if mode == "quads":
        q = run[: n // 4 * 4].reshape(-1, 4)
        return _halves(q, q[:, 3 if last else 0], from_first)
    if n < 3:
        return None
    k = np.arange(n - 2)
    if mode == "triangle_fan":
        c = np.stack((np.full(len(k), run[0]), run[k + 1], run[k + 2]), axis=1)
        return made(c, c[:, 2 if last else 1])
    if mode == "polygon":
        c = np.stack((run[k + 1], run[k + 2], np.full(len(k), run[0])), axis=1)
        edges = np.stack((np.ones(len(k), bool), k == len(k) - 1, k == 0), axis=1)
        return made(c, np.full(len(k), run[0]), edges)
    if mode == "quad_strip":
        m = n // 2 - 1
        q = np.stack([run[2 * np.arange(m) + j] for j in (0, 1, 3, 2)], axis=1)
        return _halves(q, q[:, 2 if last else 0], from_first)
    odd = k & 1
    c = np.stack((run[k + odd], run[k + 1 - odd], run[k + 2]), axis=1)
    return made(c, run[k + 2] if last else run[k])


def _halves(q: Array, provoking: Array, from_first: bool) -> tuple[Array, Array, Array]:
    """Split quads [n, 4] into two triangles each, cut between their second and fourth vertex, or first and third."""
    c = q[:, [0, 1, 2, 0, 2, 3] if from_first else [0, 1, 3, 1, 2, 3]].reshape(-1, 3)
    inner = [[True, True, False], [False, True, True]] if from_first else [[True, False, True], [True, True, False]]
    edges = np.tile(np.array(inner), (len(q), 1))
    return c, np.repeat(provoking, 2), edges


def _strip_with_adjacency(run: Array, last: bool) -> tuple[Array, Array, Array] | None:
    """Assemble triangle strips whose odd vertices are adjacent to the triangles."""
    count = (len(run) - 4) // 2
    if count < 1:
        return None
    rows: list[list[int]] = []
    provoking: list[int] = []
    for i in range(count):
        v = [2 * i, 2 * i + 2, 2 * i + 4]
        before = 1 if i == 0 else 2 * i - 2
        after = 2 * i + 5 if i == count - 1 else 2 * i + 6
        beside = 2 * i + 3
        if i % 2 == 0:
            rows.append([v[0], before, v[1], after, v[2], beside])
        else:
            rows.append([v[1], before, v[0], beside, v[2], after])
        provoking.append(v[2] if last else v[0])
    corners = run[np.array(rows)]
    return corners, run[np.array(provoking)], np.ones((count, 3), bool)
