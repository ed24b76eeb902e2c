"""The H.264 rules the example programs are checked with, written from the standard.

Macroblock positions are (x, y) in macroblocks; a neighbour that is not available is missing from the dict.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Block:
    """What motion vector prediction needs of a macroblock: reference index (-1: intra) and vector."""

    ref: int
    mv: tuple[int, int]


def median(a: int, b: int, c: int) -> int:
    return sorted((a, b, c))[1]


def predict(done: dict[tuple[int, int], Block], x: int, y: int, ref: int) -> tuple[int, int]:
    """8.4.1.3 for a 16x16 partition in list 0."""
    a, b, c = done.get((x - 1, y)), done.get((x, y - 1)), done.get((x + 1, y - 1))
    if c is None:
        c = done.get((x - 1, y - 1))
    if b is None and c is None and a is not None:
        return a.mv  # B and C become A: the median of three equal vectors, or the only match, is A's
    three = [n if n is not None else Block(-1, (0, 0)) for n in (a, b, c)]
    matching = [n for n in three if n.ref == ref]
    if len(matching) == 1:
        return matching[0].mv
    return tuple(median(*(n.mv[k] for n in three)) for k in (0, 1))  # type: ignore[return-value]


def p_skip(done: dict[tuple[int, int], Block], x: int, y: int) -> tuple[int, int]:
    """8.4.1.1."""
    for n in (done.get((x - 1, y)), done.get((x, y - 1))):
        if n is None or (n.ref == 0 and n.mv == (0, 0)):
            return 0, 0
    return predict(done, x, y, 0)


def truncated(a: int, b: int) -> int:
    """Integer division with truncation towards zero, as the standard's `/`."""
    q = abs(a) // abs(b)
    return q if (a < 0) == (b < 0) else -q


def temporal(tb: int, td: int, col: tuple[int, int]) -> tuple[int, int, tuple[int, int], tuple[int, int]]:
    """8.4.1.2.3: (tx, DistScaleFactor, mvL0, mvL1)."""
    tx = truncated(16384 + abs(truncated(td, 2)), td)
    scale = min(max((tb * tx + 32) >> 6, -1024), 1023)
    l0 = tuple((scale * v + 128) >> 8 for v in col)
    l1 = tuple(p - v for p, v in zip(l0, col, strict=True))
    return tx, scale, l0, l1  # type: ignore[return-value]


QPC = [*range(30), 29, 30, 31, 32, 32, 33, 34, 34, 35, 35, 36, 36, 37, 37, 37, 38, 38, 38, 39, 39, 39, 39]
"""Table 8-15: QPc of qPI."""


def quantisers(previous: int, delta: int, offsets: tuple[int, int]) -> tuple[int, int, int]:
    """(QPY, QPc of Cb, QPc of Cr)."""
    qp = (previous + delta + 52) % 52
    cb, cr = (QPC[min(max(qp + o, 0), 51)] for o in offsets)
    return qp, cb, cr


# --- partitions -------------------------------------------------------------------------------------------------------

Rect = tuple[int, int, int, int]
"""x, y, width, height in 4x4 blocks."""
SUB_P = {0: (2, 2), 1: (2, 1), 2: (1, 2), 3: (1, 1)}
SUB_B = {0: (1, 1), 1: (2, 2), 2: (2, 2), 3: (2, 2), 4: (2, 1), 5: (1, 2), 6: (2, 1), 7: (1, 2), 8: (2, 1), 9: (1, 2),
         10: (1, 1), 11: (1, 1), 12: (1, 1)}  # fmt: skip
"""Sub-macroblock type -> width and height of its sub-partitions; direct blocks count as 4x4."""


def tiles(x: int, y: int, width: int, height: int, w: int, h: int) -> list[Rect]:
    """A rectangle cut into w x h pieces, in raster order."""
    return [(x + i, y + j, w, h) for j in range(0, height, h) for i in range(0, width, w)]


def block_number(rect: Rect) -> int:
    """Number of the 4x4 block at the upper left corner: quarter, then block in the quarter."""
    x, y = rect[0], rect[1]
    return ((y >> 1) * 2 + (x >> 1)) * 4 + (y & 1) * 2 + (x & 1)


def walk(partition: tuple[int, int], sub_sizes: list[tuple[int, int]] | None) -> list[int]:
    """Blocks where the (sub-)partitions of a macroblock begin; `partition` is the partitions' size in blocks."""
    out: list[int] = []
    for k, (x, y, w, h) in enumerate(tiles(0, 0, 4, 4, *partition)):
        size = sub_sizes[k] if sub_sizes else (w, h)
        out += [block_number(r) for r in tiles(x, y, w, h, *size)]
    return out
