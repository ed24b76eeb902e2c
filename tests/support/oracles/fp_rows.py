"""Rows of the Tesla float, conversion and special-function vectors, compared class by class.

The instruction words are decoded here by hand, with the word itself as an operand of the graph: a whole class is then a
few graphs, one for each set of static modifiers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from isakit.sem.fp.core import absolute
from isakit.sem.value import Value, param, select
from support.oracles.vector_eval import run

Array = np.ndarray[Any, Any]
MODES = ("rn", "rm", "rp", "rz")
SAMPLE = Path(__file__).parents[2] / "vectors" / "tesla" / "float.tsv"
QUIET = np.uint32(0xFF)  # cc_out where $c is not written
Columns = dict[str, Array]
Built = tuple[Value, Value | None]
Source = Callable[[str], Columns]


def leaf(name: str, width: int) -> Value:
    v = param(name, width)
    v.uniform = False
    return v


@dataclass
class Row:
    """The columns of a class as leaves of the graph."""

    width: int

    def __post_init__(self) -> None:
        self.s1, self.s2, self.s3 = (leaf(n, self.width) for n in ("s1", "s2", "s3"))
        self.w0, self.w1 = leaf("w0", 32), leaf("w1", 32)


def negate_if(v: Value, bit: Value) -> Value:
    return v ^ (bit.zext(v.width) << (v.width - 1))


def absolute_if(v: Value, bit: Value) -> Value:
    return select(bit, absolute(v), v)


def field(words: Array, low: int, width: int = 1) -> Array:
    return words >> np.uint32(low) & np.uint32((1 << width) - 1)


def corpus_class(folder: Path, name: str) -> Columns:
    with np.load(folder / "vectors" / "tesla" / f"{name}.npz") as archive:
        return {k: archive[k] for k in archive.files}


def sample_class(name: str) -> Columns:
    lines = [line.split("\t") for line in SAMPLE.read_text().splitlines()]
    rows = [line[1:] for line in lines if line[0] == name]
    return {k: np.array([int(r[i], 16) for r in rows], dtype=np.uint64) for i, k in enumerate(lines[0][1:])}


def load(source: Source, name: str) -> Columns:
    narrow = ("chip", "word0", "word1", "xtra", "cc_out")
    return {k: v.astype(np.uint32) if k in narrow else v for k, v in source(name).items()}


def check(
    source: Source, name: str, statics: Callable[[Columns], list[Array]], build: Callable[..., Built], width: int = 32
) -> None:
    """Compare a class: `statics` gives the columns that choose a graph, `build(row, *static)` makes it."""
    col = load(source, name)
    rows = len(col["result"])
    keys = np.array([np.broadcast_to(np.asarray(c, dtype=np.int64), (rows,)) for c in [*statics(col), 0]]).T
    distinct, group = np.unique(keys, axis=0, return_inverse=True)
    for g, key in enumerate(distinct):
        pick = np.nonzero(group.reshape(-1) == g)[0]
        row = Row(width)
        result, cc = build(row, *(int(k) for k in key[:-1]))
        inputs = {
            row.s1: col["s1"][pick], row.s2: col["s2"][pick], row.s3: col["s3"][pick],
            row.w0: col["word0"][pick], row.w1: col["word1"][pick],
        }  # fmt: skip
        compare(name, col, pick, "result", run(result, inputs))
        written = col["cc_out"][pick] != QUIET
        if cc is not None and written.any():
            compare(name, col, pick[written], "cc_out", run(cc, inputs)[written])
        else:
            assert not written.any(), name


def compare(name: str, col: Columns, pick: Array, what: str, got: Array) -> None:
    wanted = col[what][pick].astype(np.uint64)
    wrong = np.nonzero(got.astype(np.uint64) != wanted)[0]
    if len(wrong) == 0:
        return
    lines = [f"{name}: {len(wrong)} of {len(pick)} rows differ in {what}"]
    for i in wrong[:6]:
        at = pick[i]
        shown = " ".join(f"{k}={int(col[k][at]):x}" for k in ("chip", "word0", "word1", "xtra", "s1", "s2", "s3"))
        lines.append(f"{shown} wanted={int(wanted[i]):x} got={int(got[i]):x}")
    pytest.fail("\n".join(lines))


def sat_nan(col: Columns) -> Array:
    """0 flag clear or chip without it, 1 obeyed, 2 the G200 fault."""
    on = field(col["xtra"], 19)
    return np.where(col["chip"] == 0xA3, on, np.where(col["chip"] == 0xA0, on * 2, 0))


def cvt_bits(c: Columns) -> list[Array]:
    w1 = c["word1"]
    return [
        field(w1, 14, 3),
        field(w1, 20),
        field(w1, 29),
        field(w1, 26),
        field(w1, 27),
        field(w1, 17, 2),
        field(w1, 19),
    ]
