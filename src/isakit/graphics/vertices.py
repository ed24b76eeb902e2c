"""Output of the vertex stages for the rasterizer. Source: [graphics] 3.2, 3.3."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

import numpy as np

from isakit.engine.protocol import Array
from isakit.graphics.assembly import Primitives, assemble
from isakit.graphics.stage import OUTPUT_WORDS, Emitted
from isakit.lean import cached_property

LONGEST_KEPT = 1 << 11
"""Vertices of a draw up to which its primitives are cached."""
KEPT = 64
"""Orders of vertices whose primitives are cached."""


class Vertices:
    """Outputs of the last vertex stage, one column per vertex.

    Attributes: `words` u32 [OUTPUT_WORDS, vertices]; `primitives` [n, corners] columns, provoking vertex in
    `provoking` [n]; `edges` bool [n, 3] and `restarts` bool [n] as `Primitives` has them; `numbers` [n]: PrimitiveID;
    `ids`, `instances` [vertices]: number and instance of each (None after a geometry program).
    """

    def __init__(
        self,
        words: Array,
        primitives: Array,
        provoking: Array,
        ids: Array | None = None,
        instances: Array | None = None,
        edges: Array | None = None,
        restarts: Array | None = None,
        numbers: Array | None = None,
    ) -> None:
        self.words, self.primitives, self.provoking = words, primitives, provoking
        self.ids, self.instances = ids, instances
        n = len(primitives)
        self.edges: Array = np.ones((n, 3), bool) if edges is None else edges
        self.restarts: Array = np.ones(n, bool) if restarts is None else restarts
        self.numbers: Array = np.arange(n) if numbers is None else numbers

    def with_words(self, words: Array, fetched: Fetched) -> Vertices:
        """Return the primitives with the stage's results for the fetched vertices."""
        places = self.primitives, self.provoking, fetched.ids, fetched.instance
        return Vertices(words, *places, self.edges, self.restarts, self.numbers)

    def plain(self) -> Vertices:
        """Return the vertices without adjacent ones."""
        chosen = {4: [1, 2], 6: [0, 2, 4]}.get(self.primitives.shape[1])
        return self if chosen is None else self.part(slice(None), chosen)

    def part(self, some: Array | slice, corners: list[int] | None = None) -> Vertices:
        """Select some of the primitives."""
        chosen = self.primitives[some]
        return Vertices(
            self.words,
            chosen if corners is None else chosen[:, corners],
            self.provoking[some],
            self.ids,
            self.instances,
            self.edges[some],
            self.restarts[some],
            self.numbers[some],
        )


@dataclass(frozen=True, eq=False)
class Fetched:
    """The vertices that the first stage runs for: each once per instance, however often a draw names it.

    Attributes: `numbers` of the vertices of an instance; `columns`: for every position in the drawing order the column
    of its vertex in the first instance; `instances`: their number.
    """

    numbers: Array
    columns: Array
    instances: int

    @staticmethod
    def of(order: Array, restart: int | None, instances: int) -> Fetched:
        """Fetch the vertices of a draw in the order of its indices; `restart` is not one."""
        named = np.ones(len(order), bool) if restart is None else order != restart
        columns = np.zeros(len(order), np.int64)
        numbers, columns[named] = np.unique(order[named], return_inverse=True)
        return Fetched(numbers, columns, instances)

    @property
    def count(self) -> int:
        """Number of vertices of all instances."""
        return len(self.numbers) * self.instances

    @cached_property
    def ids(self) -> Array:
        """The number of each vertex, instance after instance."""
        return self.numbers if self.instances == 1 else np.tile(self.numbers, self.instances)

    @cached_property
    def instance(self) -> Array:
        """The instance of each vertex."""
        return np.repeat(np.arange(self.instances), len(self.numbers))

    def shaded(self, words: Array, one: Primitives) -> Vertices:
        """Return the stage's results, with the primitives of all instances; `one`: those of an instance."""
        shift = (np.arange(self.instances) * len(self.numbers))[:, None]
        return Vertices(
            words,
            (self.columns[one.corners][None] + shift[:, :, None]).reshape(-1, one.corners.shape[1]),
            (self.columns[one.provoking][None] + shift).ravel(),
            self.ids,
            self.instance,
            np.tile(one.edges, (self.instances, 1)),
            np.tile(one.restarts, self.instances),
            np.tile(one.numbers, self.instances),
        )


def arranged(
    mode: str, order: Array, restart: int | None, instances: int, last: bool, quads: Literal["second", "first"]
) -> tuple[Fetched, Vertices]:
    """Return the vertices of a draw and its primitives, see `assemble`; the vertices have no words yet.

    Short draws in an order seen before are not assembled again, whatever their first vertex.
    """
    if instances != 1 or not 0 < len(order) <= LONGEST_KEPT:
        return _arranged(mode, order, restart, instances, last, quads)
    first = int(order[0]) if restart is None else 0
    # As it is kept, whatever NumPy's usual integer is: it has 32 bits in a browser.
    fetched, made = _kept(mode, (order - first).astype(np.int64).tobytes(), restart, last, quads)
    return (fetched if not first else replace(fetched, numbers=fetched.numbers + first)), made


def _arranged(
    mode: str, order: Array, restart: int | None, instances: int, last: bool, quads: Literal["second", "first"]
) -> tuple[Fetched, Vertices]:
    fetched = Fetched.of(order, restart, instances)
    none = np.zeros((OUTPUT_WORDS, 0), np.uint32)
    return fetched, fetched.shaded(none, assemble(mode, order, restart, last, quads))


@lru_cache(maxsize=KEPT)
def _kept(
    mode: str, order: bytes, restart: int | None, last: bool, quads: Literal["second", "first"]
) -> tuple[Fetched, Vertices]:
    fetched, made = _arranged(mode, np.frombuffer(order, np.int64), restart, 1, last, quads)
    for a in (
        fetched.numbers,
        fetched.columns,
        made.primitives,
        made.provoking,
        made.edges,
        made.restarts,
        made.numbers,
    ):
        a.setflags(write=False)
    return fetched, made


def emitted_vertices(found: Sequence[Emitted], output: str, last: bool = True) -> Vertices:
    """Return vertices in the order of input primitives; strips as lines or triangles."""
    limit = found[0].limit if found else 0
    count = np.concatenate([e.count for e in found]) if found else np.zeros(0, np.int64)
    words = np.concatenate([e.words for e in found], axis=2) if found else np.zeros((0, OUTPUT_WORDS, 0), np.uint32)
    starts = np.concatenate([e.starts for e in found], axis=1) if found else np.zeros((0, 0), bool)
    table = words.transpose(1, 2, 0).reshape(OUTPUT_WORDS, -1)  # vertex k of lane n is column n * limit + k
    corners = {"points": 1, "line_strip": 2}.get(output, 3)
    k = np.arange(limit)
    position = k - np.maximum.accumulate(np.where(starts[:limit].T, k, 0), axis=1)  # in its strip
    lane, last_corner = np.nonzero((k < count[:, None]) & (position >= corners - 1))
    position = position[lane, last_corner]
    made = (lane * limit + last_corner)[:, None] + np.arange(1 - corners, 1)
    provoking = made[:, -1 if last else 0].copy()
    if corners == 3:
        odd = position % 2 == 1
        made[odd] = made[odd][:, [1, 0, 2]]
    return Vertices(table, made, provoking, restarts=position == corners - 1, numbers=lane)
