"""Rasterization of triangles as machine code: a loop over the boxes around them, with the rule of `raster.covers`.

Triangles go in order, the quads of each by rows, as `raster.quads_of` has them. The loop stops before a triangle whose
quads might not fit into what is left of the output.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from isakit.engine.llvm import Host, host
from isakit.engine.llvm.array_tracer import LANES, TracedArray
from isakit.engine.protocol import Array
from isakit.graphics.compiled_quads import GROUP_QUADS, METADATA, CompiledFunction, QuadFunction, function_of
from isakit.graphics.raster import SUBPIXEL, Bounds, Quads, Setup, covers, edges_of, in_order, quads_of

_EDGES = tuple(f"{what}{k}" for what in ("along_x", "along_y", "value") for k in range(3))
_COLUMNS = ("number", "x0", "y0", "x1", "y1", *_EDGES)
"""What the loop knows of a triangle: rows of a table of i64, triangles side by side."""
_AT_ONCE = 1 << 16
"""Quads of an output, at least."""


class _Loop(QuadFunction):
    """The text of the function: `first` and `last` are triangles, it returns the one before which it stopped."""

    def text(self, name: str) -> str:
        """See `QuadFunction`; the text of a group is one of a row of quads."""
        code, b = self.code, self.code.body
        table, count, outs = self.slot("table"), self.slot("triangles", "i64"), [self.slot(n) for n in "xyp"]
        covered, room, used = self.slot("covered"), self.slot("room", "i64"), self.slot("used")
        lines = ["entry:", "  %t_v = alloca i64", "  %n_v = alloca i64", "  %qx_v = alloca i64", "  %qy_v = alloca i64",
                 "  %seen_v = alloca i16", "  store i64 %first, ptr %t_v", "  store i64 0, ptr %n_v", *self._head,
                 "  br label %triangle"]  # fmt: skip
        b.label("triangle")
        t, n = b("load i64, ptr %t_v"), b("load i64, ptr %n_v")
        b.do(f"br i1 {b(f'icmp slt i64 {t}, %last')}, label %look, label %done")
        b.label("look")
        of: dict[str, str] = {}
        for k, column in enumerate(_COLUMNS):
            place = b(f"add i64 {b(f'mul i64 {count}, {k}')}, {t}")
            of[column] = b(f"load i64, ptr {b(f'getelementptr i64, ptr {table}, i64 {place}')}")
        qx, qy = (b(f"and i64 {of[c]}, -2") for c in ("x0", "y0"))
        across, down = (
            b(f"ashr i64 {b(f'add i64 {width}, 1')}, 1")
            for width in (b(f"sub i64 {of['x1']}, {qx}"), b(f"sub i64 {of['y1']}, {qy}"))
        )
        most = b(f"add i64 {b(f'mul i64 {across}, {down}')}, {n}")
        b.do(f"store i64 {qy}, ptr %qy_v")
        b.do(f"br i1 {b(f'icmp sgt i64 {most}, {room}')}, label %done, label %row")
        b.label("row")
        y = b("load i64, ptr %qy_v")
        b.do(f"store i64 {b(f'add i64 {y}, 2')}, ptr %qy_v")
        b.do(f"store i64 {qx}, ptr %qx_v")
        b.do("store i16 0, ptr %seen_v")
        below = b(f"icmp slt i64 {y}, {of['y1']}")
        b.do(f"br i1 {below}, label %group, label %following")
        b.label("following")
        b.do(f"store i64 {b(f'add i64 {t}, 1')}, ptr %t_v")
        b.do("br label %triangle")
        b.label("group")
        x = b("load i64, ptr %qx_v")
        b.do(f"store i64 {b(f'add i64 {x}, {2 * GROUP_QUADS}')}, ptr %qx_v")
        before = b(f"icmp slt i64 {x}, {of['x1']}")
        b.do(f"br i1 {before}, label %inside, label %row")
        b.label("inside")
        code.forget()
        xs = code.scalar(x, np.int64) + np.array([2 * (k // 4) + k % 2 for k in range(LANES)], np.int64)
        ys = code.scalar(y, np.int64) + np.array([k // 2 % 2 for k in range(LANES)], np.int64)
        at = {c: code.scalar(v, np.int64) for c, v in of.items()}
        got = covers([(at[f"along_x{k}"], at[f"along_y{k}"], at[f"value{k}"]) for k in range(3)], xs, ys)
        got = got & (xs >= at["x0"]) & (xs < at["x1"]) & (ys >= at["y0"]) & (ys < at["y1"])
        self._append(got, x, y, of["number"], outs, covered)
        b.label("done")
        b.do(f"store i64 {b('load i64, ptr %n_v')}, ptr {used}")
        b.do(f"ret i64 {b('load i64, ptr %t_v')}")
        head = f"define i64 @{name}(ptr noalias %job, i64 %first, i64 %last, i64 %unused) nounwind alignstack(64) {{"
        self.module.add("\n".join([head, *lines, *b.lines, "}"]))
        return f"{self.module}\n{METADATA}"

    def _append(self, got: TracedArray, x: str, y: str, number: str, outs: list[str], covered: str) -> None:
        """Put the quads of a group that have covered pixels after the others."""
        code, b = self.code, self.code.body
        bits = b(f"bitcast {code.type(bool)} {got.text} to i16")
        four = b(f"bitcast <{LANES} x i8> {b(f'zext {code.type(bool)} {got.text} to <{LANES} x i8>')} to <4 x i32>")
        b.do(f"br i1 {b(f'icmp eq i16 {bits}, 0')}, label %empty, label %some")
        # Triangles are convex: where both rows of pixels have had covered ones, none come after a group without.
        b.label("empty")
        seen = b("load i16, ptr %seen_v")
        rows = [b(f"icmp ne i16 {b(f'and i16 {seen}, {row}')}, 0") for row in (0x3333, -0x3334)]
        b.do(f"br i1 {b(f'and i1 {rows[0]}, {rows[1]}')}, label %row, label %group")
        b.label("some")
        before = b("load i16, ptr %seen_v")
        b.do(f"store i16 {b(f'or i16 {before}, {bits}')}, ptr %seen_v")
        n = b("load i64, ptr %n_v")
        for k in range(GROUP_QUADS):
            for out, value in zip(outs, (b(f"add i64 {x}, {2 * k}"), y, number), strict=True):
                b.do(f"store i64 {value}, ptr {b(f'getelementptr i64, ptr {out}, i64 {n}')}")
            pixels = b(f"extractelement <4 x i32> {four}, i64 {k}")
            b.do(f"store i32 {pixels}, ptr {b(f'getelementptr i32, ptr {covered}, i64 {n}')}")
            one = b(f"zext i1 {b(f'icmp ne i32 {pixels}, 0')} to i64")
            n = b(f"add i64 {n}, {one}")
        b.do(f"store i64 {n}, ptr %n_v")
        b.do("br label %group")


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
    """See `raster.rasterize`. `target`: what the code is for; `whole`: it is made however few pixels there are."""
    e = edges_of(setup, chosen, fill, sample)
    x0, y0 = np.maximum(e.low[:, 0], bounds[0]), np.maximum(e.low[:, 1], bounds[1])
    x1, y1 = np.minimum(e.high[:, 0], bounds[2]), np.minimum(e.high[:, 1], bounds[3])
    some = np.flatnonzero(e.kept & (x0 < x1) & (y0 < y1))
    if not len(some):
        return in_order([])
    sizes = ((x1 + 1 >> 1) - (x0 >> 1)) * ((y1 + 1 >> 1) - (y0 >> 1))
    pixels = None if whole else 4 * int(sizes[some].sum())
    made = None if (e.far & e.kept).any() else function_of("quads of triangles", _Loop, target or host(), pixels)
    if made is None:
        return quads_of(e, bounds)
    edges = (v[some, k] for v in (e.along_x, e.along_y, e.value) for k in range(3))
    table = np.stack([e.numbers[some], x0[some], y0[some], x1[some], y1[some], *edges])
    return _looped(made, table, int(sizes[some].max()), int(sizes[some].sum()))


def _looped(made: CompiledFunction, table: Array, largest: int, total: int) -> Quads:
    """The quads of all triangles of a table; `largest` and `total` number of them that there may be."""
    count = table.shape[1]
    room = min(total, max(largest, _AT_ONCE))
    job = made.job()
    job.put("table", table)
    job.put("triangles", count)
    job.put("room", room)
    used = np.zeros(1, np.int64)
    job.put("used", used)
    parts: list[Quads] = []
    begin = 0
    while begin < count:
        x, y, p = (np.empty(room + GROUP_QUADS, np.int64) for _ in range(3))
        covered = np.empty((room + GROUP_QUADS, 4), np.uint8)
        for name, value in zip(("x", "y", "p", "covered"), (x, y, p, covered), strict=True):
            job.put(name, value)
        begin = made.run(job.address, begin, count, 0)
        n = int(used[0])
        parts.append(Quads(x[:n], y[:n], covered[:n].view(bool), p[:n]))
    if len(parts) == 1:
        return parts[0]
    x, y, covered, p = (np.concatenate([getattr(q, a) for q in parts]) for a in ("x", "y", "covered", "primitive"))
    return Quads(x, y, covered, p)


__all__ = ["rasterize"]
