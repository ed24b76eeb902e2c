"""Rasterization of triangles as machine code: a loop over the boxes around them, with the rule of `raster.covers`.

Triangles are processed in order, the quads of each by rows, as in `raster.quads_of`. The loop stops before a triangle
whose quads might not fit into the rest of the output.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Literal

import numpy as np

from isakit.engine.llvm import Builder, Host, Ref, host
from isakit.engine.llvm.array_tracer import LANES, TracedArray
from isakit.engine.llvm.builder import I8, I16, I32, I64, pointer, vector
from isakit.engine.protocol import Array
from isakit.graphics.compiled_quads import FIRST, GROUP_QUADS, LAST, CompiledFunction, QuadFunction, function_of
from isakit.graphics.raster import SUBPIXEL, Bounds, Quads, Setup, covers, edges_of, in_order, quads_of

_EDGES = tuple(f"{what}{k}" for what in ("along_x", "along_y", "value") for k in range(3))
COLUMNS = ("number", "x0", "y0", "x1", "y1", *_EDGES)
"""The properties of a triangle that the loop reads: rows of a table of i64, triangles side by side."""
_SEEN = pointer("%seen_v")
"""Pixels of the quads' rows that were covered so far, i16."""
AT_ONCE = 1 << 16
"""Smallest number of quads of an output."""


class _Loop(QuadFunction):
    """The code of the function: `first` and `last` are triangles; it returns the triangle before which it stopped."""

    def text(self, name: str) -> str:
        """Write the code for one group, which is a row of quads; see `QuadFunction`."""
        code, b = self.code, self.code.body
        table, count, outs = self.slot("table"), self.slot("triangles", I64), [self.slot(n) for n in "xyp"]
        covered, room, used = self.slot("covered"), self.slot("room", I64), self.slot("used")
        begin = Builder(self.module, first=2_000_000)
        begin.label("entry")
        at_t, at_n, at_x, at_y = (begin.alloca(I64, f"%{name}_v") for name in ("t", "n", "qx", "qy"))
        begin.alloca(I16, _SEEN.text)
        begin.store(FIRST, at_t)
        begin.store(I64(0), at_n)
        begin.lines += self.head.lines
        begin.jump("triangle")
        b.label("triangle")
        t, n = b.load(I64, at_t), b.load(I64, at_n)
        b.branch(b.slt(t, LAST), "look", "done")
        b.label("look")
        of: dict[str, Ref] = {}
        for k, column in enumerate(COLUMNS):
            place = b.add(b.mul(count, k), t)
            of[column] = b.load(I64, b.element(I64, table, place))
        qx, qy = (b.and_(of[c], -2) for c in ("x0", "y0"))
        across, down = (b.ashr(b.add(width, 1), 1) for width in (b.sub(of["x1"], qx), b.sub(of["y1"], qy)))
        most = b.add(b.mul(across, down), n)
        b.store(qy, at_y)
        b.branch(b.sgt(most, room), "done", "row")
        b.label("row")
        y = b.load(I64, at_y)
        b.store(b.add(y, 2), at_y)
        b.store(qx, at_x)
        b.store(I16(0), _SEEN)
        b.branch(b.slt(y, of["y1"]), "group", "following")
        b.label("following")
        b.store(b.add(t, 1), at_t)
        b.jump("triangle")
        b.label("group")
        x = b.load(I64, at_x)
        b.store(b.add(x, 2 * GROUP_QUADS), at_x)
        b.branch(b.slt(x, of["x1"]), "inside", "row")
        b.label("inside")
        code.forget()
        xs = code.scalar(x, np.int64) + np.array([2 * (k // 4) + k % 2 for k in range(LANES)], np.int64)
        ys = code.scalar(y, np.int64) + np.array([k // 2 % 2 for k in range(LANES)], np.int64)
        at = {c: code.scalar(v, np.int64) for c, v in of.items()}
        got = covers([(at[f"along_x{k}"], at[f"along_y{k}"], at[f"value{k}"]) for k in range(3)], xs, ys)
        got = got & (xs >= at["x0"]) & (xs < at["x1"]) & (ys >= at["y0"]) & (ys < at["y1"])
        self._append(got, x, y, of["number"], outs, covered, at_n)
        b.label("done")
        b.store(b.load(I64, at_n), used)
        b.ret(b.load(I64, at_t))
        return self.whole(name, begin.lines, b.lines)

    def _append(self, got: TracedArray, x: Ref, y: Ref, number: Ref, outs: list[Ref], covered: Ref, at_n: Ref) -> None:
        """Append the quads of a group that have covered pixels."""
        b = self.code.body
        bits = b.bitcast(got.ref, I16)
        four = b.bitcast(b.zext(got.ref, vector(LANES, I8)), vector(GROUP_QUADS, I32))
        b.branch(b.eq(bits, 0), "empty", "some")
        # Triangles are convex: where both rows of pixels have had covered ones, none come after a group without.
        b.label("empty")
        seen = b.load(I16, _SEEN)
        rows = [b.ne(b.and_(seen, row), 0) for row in (0x3333, -0x3334)]
        b.branch(b.and_(rows[0], rows[1]), "row", "group")
        b.label("some")
        b.store(b.or_(b.load(I16, _SEEN), bits), _SEEN)
        n = b.load(I64, at_n)
        for k in range(GROUP_QUADS):
            for out, value in zip(outs, (b.add(x, 2 * k), y, number), strict=True):
                b.store(value, b.element(I64, out, n))
            pixels = b.extract(four, k)
            b.store(pixels, b.element(I32, covered, n))
            n = b.add(n, b.zext(b.ne(pixels, 0), I64))
        b.store(n, at_n)
        b.jump("group")


def rasterize(
    setup: Setup,
    chosen: Array,
    bounds: Bounds,
    fill: Literal["lower", "upper"] = "lower",
    sample: tuple[int, int] = (SUBPIXEL // 2, SUBPIXEL // 2),
    *,
    target: Host | None = None,
    whole: bool = False,
) -> Quads:
    """See `raster.rasterize`. `target`: the host to compile for; `whole`: compile it however few pixels there are."""
    e = edges_of(setup, chosen, fill, sample)
    x0, y0 = np.maximum(e.low[:, 0], bounds[0]), np.maximum(e.low[:, 1], bounds[1])
    x1, y1 = np.minimum(e.high[:, 0], bounds[2]), np.minimum(e.high[:, 1], bounds[3])
    some = np.flatnonzero(e.kept & (x0 < x1) & (y0 < y1))
    if not len(some):
        return in_order([])
    sizes = ((x1 + 1 >> 1) - (x0 >> 1)) * ((y1 + 1 >> 1) - (y0 >> 1))
    pixels = None if whole else 4 * int(sizes[some].sum())
    loop = None if (e.far & e.kept).any() else looped(pixels, target)
    if loop is None:
        return quads_of(e, bounds)
    edges = (v[some, k] for v in (e.along_x, e.along_y, e.value) for k in range(3))
    table = np.stack([e.numbers[some], x0[some], y0[some], x1[some], y1[some], *edges])
    return loop(table, int(sizes[some].max()), int(sizes[some].sum()))


def looped(pixels: int | None, target: Host | None = None) -> Callable[[Array, int, int], Quads] | None:
    """Return the loop over the triangles of a table, see `_looped`, None while it is not compiled.

    `pixels`: see `function_of`; `target`: the host to compile for.
    """
    made = quads_function(pixels, target)
    return None if made is None else partial(_looped, made)


def quads_function(pixels: int | None, target: Host | None = None) -> CompiledFunction | None:
    """Return the function over triangles, see `_Loop`; `pixels`: see `function_of`."""
    return function_of("quads of triangles", _Loop, target or host(), pixels)


def _looped(made: CompiledFunction, table: Array, largest: int, total: int) -> Quads:
    """Return the quads of all triangles of a table; `largest` and `total` bound their numbers."""
    count = table.shape[1]
    room = min(total, max(largest, AT_ONCE))
    job = made.job()
    job.set_slot("table", table)
    job.set_slot("triangles", count)
    job.set_slot("room", room)
    used = np.zeros(1, np.int64)
    job.set_slot("used", used)
    parts: list[Quads] = []
    begin = 0
    while begin < count:
        x, y, p = (np.empty(room + GROUP_QUADS, np.int64) for _ in range(3))
        covered = np.empty((room + GROUP_QUADS, 4), np.uint8)
        for name, value in zip(("x", "y", "p", "covered"), (x, y, p, covered), strict=True):
            job.set_slot(name, value)
        begin = made.run(job.address, begin, count, 0)
        n = int(used[0])
        parts.append(Quads(x[:n], y[:n], covered[:n].view(bool), p[:n]))
    if len(parts) == 1:
        return parts[0]
    x, y, covered, p = (np.concatenate([getattr(q, a) for q in parts]) for a in ("x", "y", "covered", "primitive"))
    return Quads(x, y, covered, p)


__all__ = ["AT_ONCE", "COLUMNS", "looped", "quads_function", "rasterize"]
