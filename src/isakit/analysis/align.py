"""Aligning two sequences of instructions: the cheapest way to turn one into the other.

Costs of a pair: 0 if the words are equal, 1 if only registers or addresses differ, 2 if numbers differ, 3 for the same
operation with other operands; 2 for an instruction without a partner. They obey the triangle inequality, so a nearer
program never scores worse than a farther one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from isakit.analysis.shapes import InstructionShape
from isakit.codec import Instruction

_GAP = 2
_LARGEST = 1 << 24
"""Pairs that are compared at once, one byte each."""
_PAIR, _LEFT, _RIGHT = 0, 1, 2

Row = tuple[int | None, int | None]
"""Indices of two instructions that are paired; None for the side that has no partner."""


class _Side:
    """A sequence as one number per instruction and level, equal for instructions that are equal at that level."""

    def __init__(
        self, code: Sequence[Instruction], shapes: Sequence[InstructionShape], known: list[dict[Hashable, int]]
    ) -> None:
        keys = [
            ((s.frame, i.words if s.address is None else (s.registers, s.numbers)), (s.frame, s.numbers), s.frame,
             i.mnemonic if i.error is None else i.words)
            for i, s in zip(code, shapes, strict=True)
        ]  # fmt: skip
        self.levels = [
            np.fromiter((ids.setdefault(k[n], len(ids)) for k in keys), np.int64, len(keys))
            for n, ids in enumerate(known)
        ]


def align(
    a: Sequence[Instruction],
    a_shapes: Sequence[InstructionShape],
    b: Sequence[Instruction],
    b_shapes: Sequence[InstructionShape],
) -> list[Row]:
    """Pair the instructions of two programs in order; return the rows of the alignment.

    The result is the cheapest one for up to 16 million pairs; longer programs are cut first where an instruction and
    the one after it occur once in each.
    """
    known: list[dict[Hashable, int]] = [{}, {}, {}, {}]
    left, right = _Side(a, a_shapes, known), _Side(b, b_shapes, known)
    out: list[Row] = []
    _stretch(left, right, 0, len(a), 0, len(b), out)
    return out


def _stretch(a: _Side, b: _Side, a0: int, a1: int, b0: int, b1: int, out: list[Row]) -> None:
    exact, other = a.levels[0], b.levels[0]
    n = min(a1 - a0, b1 - b0)
    head = _first_difference(exact[a0 : a0 + n], other[b0 : b0 + n])
    tail = _first_difference(exact[a0 + head : a1][::-1][: n - head], other[b0 + head : b1][::-1][: n - head])
    out.extend((a0 + k, b0 + k) for k in range(head))
    i0, i1, j0, j1 = a0 + head, a1 - tail, b0 + head, b1 - tail
    if i0 == i1 or j0 == j1:
        out.extend((k, None) for k in range(i0, i1))
        out.extend((None, k) for k in range(j0, j1))
    elif (i1 - i0) * (j1 - j0) <= _LARGEST:
        out.extend(_cheapest(a, b, i0, i1, j0, j1))
    else:
        at, bt = i0, j0
        for x, y in [*_anchors(a, b, i0, i1, j0, j1), (i1, j1)]:
            _stretch(a, b, at, x, bt, y, out)
            at, bt = x, y
    out.extend((a1 - tail + k, b1 - tail + k) for k in range(tail))


def _first_difference(a: NDArray[np.int64], b: NDArray[np.int64]) -> int:
    n = min(len(a), len(b))
    different = np.flatnonzero(a[:n] != b[:n])
    return int(different[0]) if len(different) else n


def _anchors(a: _Side, b: _Side, i0: int, i1: int, j0: int, j1: int) -> list[tuple[int, int]]:
    """Return places that surely belong together, ascending on both sides; at least one, by proportion if need be."""
    for level in (0, 2):
        for length in (2, 5, 12):
            one, two = (_unique(s.levels[level], x, y, length) for s, x, y in ((a, i0, i1), (b, j0, j1)))
            pairs = sorted((at, two[key]) for key, at in one.items() if key in two)
            found = [p for p in _rising(pairs) if p != (i0, j0)]
            if found:
                return found
    return [((i0 + i1) // 2, (j0 + j1) // 2)]


def _unique(ids: NDArray[np.int64], start: int, end: int, length: int) -> dict[tuple[int, ...], int]:
    listed: list[int] = ids[start:end].tolist()
    keys = [tuple(listed[k : k + length]) for k in range(len(listed) - length + 1)]
    count = Counter(keys)
    return {key: start + k for k, key in enumerate(keys) if count[key] == 1}


def _rising(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the longest part of pairs, sorted by the first, in which the second rises, too."""
    from bisect import bisect_left

    ends: list[int] = []
    last: list[int] = []
    before: list[int] = []
    for k, (_, y) in enumerate(pairs):
        at = bisect_left(ends, y)
        before.append(last[at - 1] if at else -1)
        if at == len(ends):
            ends.append(y)
            last.append(k)
        else:
            ends[at], last[at] = y, k
    out: list[tuple[int, int]] = []
    k = last[-1] if last else -1
    while k >= 0:
        out.append(pairs[k])
        k = before[k]
    return out[::-1]


def _cheapest(a: _Side, b: _Side, i0: int, i1: int, j0: int, j1: int) -> list[Row]:
    """Return the cheapest alignment of two runs of code, row by row; a row is computed at once."""
    n, m = i1 - i0, j1 - j0
    right = [level[j0:j1] for level in b.levels]
    steps = np.arange(m + 1, dtype=np.int32) * _GAP
    row = steps.copy()
    ways = np.empty((n, m + 1), np.uint8)
    for k in range(n):
        pair = np.full(m, 2 * _GAP + 1, np.int32)
        for cost in (3, 2, 1, 0):
            level = (0, 1, 2, 3)[cost]
            pair[right[level] == a.levels[level][i0 + k]] = cost
        down = row + _GAP
        best = down.copy()
        across = row[:-1] + pair
        np.minimum(best[1:], across, out=best[1:])
        new = np.minimum.accumulate(best - steps) + steps  # an instruction of b alone may stand anywhere before
        way = np.full(m + 1, _RIGHT, np.uint8)
        way[new == down] = _LEFT
        way[1:][new[1:] == across] = _PAIR
        ways[k], row = way, new.astype(np.int32)
    out: list[Row] = []
    i, j = n, m
    while i or j:
        way = int(ways[i - 1, j]) if i else _RIGHT
        if i and not j:
            way = _LEFT
        if way == _PAIR:
            i, j = i - 1, j - 1
            out.append((i0 + i, j0 + j))
        elif way == _LEFT:
            i -= 1
            out.append((i0 + i, None))
        else:
            j -= 1
            out.append((None, j0 + j))
    return out[::-1]
