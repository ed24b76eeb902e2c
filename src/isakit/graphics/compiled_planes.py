"""Planes over triangles as machine code, traced from the rules of `planes`. A group is 16 triangles."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from isakit.engine.llvm import host
from isakit.engine.llvm.array_tracer import LANES
from isakit.engine.llvm.builder import F64
from isakit.engine.protocol import Array
from isakit.graphics.compiled_quads import GROUP, CompiledFunction, QuadFunction, function_of
from isakit.graphics.planes import Column, plane_of
from isakit.graphics.raster import Numbers
from isakit.graphics.vertices import Vertices

PLANES = ("over_w0", "over_w1", "over_w2", "depth0", "depth1", "depth2",
          "origin_x", "origin_y", "to_x0", "to_x1", "to_y0", "to_y1")  # fmt: skip
"""Rows of a table of f64, triangles side by side: the numbers that planes are made from."""


@dataclass(frozen=True)
class PlanesKey:
    """Properties that are built into a function: what has planes, and which output words are clamped to 0 to 1.

    `cut`: the triangles were cut, and what their corners have is f64.
    """

    values: tuple[Column, ...]
    clamped: tuple[int, ...]
    cut: bool = False


def written(q: PlanesKey) -> QuadFunction:
    """Write the code of the function, which fills three rows for each value."""
    f = QuadFunction()
    code, dtype = f.code, np.float64 if q.cut else np.float32
    number: Numbers = code.scalar(code.body.mul(GROUP, LANES), np.int64) + np.arange(LANES)
    place = np.minimum(number, f.number("count") - 1)
    vertices = [code.gathered(f.slot("corners"), place * 3 + k, np.int64) for k in range(3)]

    def row(name: str) -> Numbers:
        return code.load(np.float64, f.row("planes", F64, PLANES.index(name)))

    def word(n: int) -> list[Numbers]:
        found: list[Numbers] = [code.gathered(f.slot(("word", n)), v, dtype).astype(np.float64) for v in vertices]
        return [np.clip(np.nan_to_num(v), 0, 1) if n in q.clamped else v for v in found]

    def flat(n: int) -> list[Numbers]:
        vertex = code.gathered(f.slot("provoking"), place, np.int64)
        found: Numbers = code.gathered(f.slot(("word", n)), vertex, dtype).astype(np.float64)
        return 3 * [np.clip(np.nan_to_num(found), 0, 1) if n in q.clamped else found]

    over_w, depth = ([row(f"{what}{k}") for k in range(3)] for what in ("over_w", "depth"))
    steps = (row("to_x0"), row("to_x1")), (row("to_y0"), row("to_y1"))
    for j, (kind, *which) in enumerate(q.values):
        corners = {"over_w": over_w, "depth": depth}.get(kind) or (flat if kind == "constant" else word)(which[0])
        if kind in ("perspective", "constant"):
            corners = [v * w for v, w in zip(corners, over_w, strict=True)]
        for k, value in enumerate(plane_of(corners, steps)):
            code.store(code.of(value), f.row("out", F64, 3 * j + k))
    return f


@dataclass(frozen=True, eq=False)
class CompiledPlanes:
    """The planes of triangles: see `Corners.compiled`.

    Attributes: `vertices`; `planes`, a table of `PLANES`, in whole groups; output words that are `clamped`; `whole`:
    code is compiled however few triangles there are.
    """

    vertices: Vertices
    planes: Array
    clamped: tuple[int, ...]
    whole: bool

    def __call__(self, values: list[Column]) -> list[Array] | None:
        """Return three rows for each value, see `Planes.of`; None if array code must compute them."""
        v, room = self.vertices, self.planes.shape[1]
        made = planes_function(tuple(values), self.clamped, None if self.whole else LANES * len(v.primitives))
        if made is None:
            return None
        out, job = np.empty((3 * len(values), room)), made.job()
        arrays = {("word", which[0]): v.words[which[0]] for _, *which in values if which}
        given = {"corners": np.ascontiguousarray(v.primitives, np.int64), "planes": self.planes, "out": out,
                 "provoking": np.ascontiguousarray(v.provoking, np.int64)}  # fmt: skip
        job.set_arrays({name: a for name, a in (arrays | given).items() if name in made.slots})
        job.set_slot("count", len(v.primitives))
        job.set_slot("room", room)
        made.run(job.address, 0, room // LANES, 0)
        return list(out[:, : len(v.primitives)])


def planes_function(
    values: tuple[Column, ...], clamped: tuple[int, ...], pixels: int | None, cut: bool = False
) -> CompiledFunction | None:
    """Return the function for interpolated values, with the output words that are clamped.

    See `PlanesKey` and `function_of`.
    """
    words = {which[0] for _, *which in values if which}
    q = PlanesKey(values, tuple(sorted(words.intersection(clamped))), cut)
    return function_of(q, partial(written, q), host(), pixels)


__all__ = ["PLANES", "CompiledPlanes", "planes_function"]
