"""Vertex fetch and primitive assembly. Source: [graphics] 3.1, 3.2."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from isakit.engine.protocol import Array
from isakit.errors import LaunchError

Mode = Literal["points", "triangles", "triangle_strip", "triangle_fan"]
MODES: tuple[Mode, ...] = ("points", "triangles", "triangle_strip", "triangle_fan")


@dataclass(frozen=True)
class Attribute:
    """A vertex attribute: an array with one row per vertex, or per `divisor` instances.

    Floating point arrays are passed as f32. Integer arrays: `normalized` ones become 0 to 1 or -1 to 1, `scaled` ones
    are converted, others are passed as they are.
    """

    data: NDArray[Any]
    normalized: bool = False
    scaled: bool = False
    divisor: int = 0

    def words(self) -> Array:
        """u32 [rows, 4]; missing components are 0, 0, 0, 1."""
        a = np.asarray(self.data)
        a = a.reshape(len(a), -1)
        if a.shape[1] > 4 or a.dtype.kind not in "fiu":
            raise LaunchError(f"an attribute has one to four numbers per vertex, not {a.shape[1]} of {a.dtype}")
        one = np.float32(1).view(np.uint32)
        if a.dtype.kind == "f":
            got = a.astype(np.float32).view(np.uint32)
        elif self.normalized:
            top = np.iinfo(a.dtype).max
            got = np.maximum(a.astype(np.float64) / top, -1.0).astype(np.float32).view(np.uint32)
        elif self.scaled:
            got = a.astype(np.float32).view(np.uint32)
        else:
            got, one = (a.astype(np.int64) & 0xFFFF_FFFF).astype(np.uint32), np.uint32(1)
        out = np.zeros((len(a), 4), np.uint32)
        out[:, 3] = one
        out[:, : a.shape[1]] = got
        return out


Input = tuple[int, int] | Literal["vertex_id", "instance_id"]
"""What a word of a[] holds: (attribute, component), or a number of the machine."""


def fetch(attributes: Sequence[Attribute], inputs: Sequence[Input], vertex: Array, instance: Array) -> Array:
    """a[] of vertices, u32 [words, vertices]. Rows past the end of an array read its last one."""
    tables = [(a.words(), a.divisor) for a in attributes]
    out = np.zeros((len(inputs), len(vertex)), np.uint32)
    for k, what in enumerate(inputs):
        if what == "vertex_id":
            out[k] = vertex
        elif what == "instance_id":
            out[k] = instance
        else:
            number, component = what
            if not 0 <= number < len(tables):
                raise LaunchError(f"the program wants attribute {number}; there are {len(tables)}")
            rows, divisor = tables[number]
            row = vertex if divisor == 0 else instance // divisor
            out[k] = rows[np.minimum(row, len(rows) - 1), component]
    return out


def packed_inputs(attributes: Sequence[Attribute], vertex_id: bool, instance_id: bool) -> list[Input]:
    """a[] words as the hardware packs them: all components of all attributes, then the ids."""
    out: list[Input] = []
    for k, a in enumerate(attributes):
        width = int(np.asarray(a.data).reshape(len(a.data), -1).shape[1])
        out += [(k, c) for c in range(width)]
    return [*out, *(["vertex_id"] if vertex_id else []), *(["instance_id"] if instance_id else [])]


def assemble(mode: str, order: Array, restart: int | None) -> Array:
    """Primitives as vertex positions in `order`: [primitives, 1 or 3], in drawing order, provoking vertex last.

    Odd triangles of a strip have their first two vertices swapped, which keeps the winding. `restart` ends a strip, fan
    or list when it occurs in `order`.
    """
    if mode not in MODES:
        raise LaunchError(f"no primitive {mode!r}; there are: {', '.join(MODES)}")
    place = np.arange(len(order))
    ends = np.flatnonzero(order == restart) if restart is not None else np.zeros(0, np.int64)
    out: list[Array] = []
    start = 0
    for end in [*ends.tolist(), len(order)]:
        run = place[start:end]
        start = end + 1
        if mode == "points":
            out.append(run[:, None])
        elif mode == "triangles":
            out.append(run[: len(run) // 3 * 3].reshape(-1, 3))
        elif len(run) >= 3:
            k = np.arange(len(run) - 2)
            if mode == "triangle_fan":
                out.append(np.stack((np.full(len(k), run[0]), run[k + 1], run[k + 2]), axis=1))
            else:
                odd = k & 1
                out.append(np.stack((run[k + odd], run[k + 1 - odd], run[k + 2]), axis=1))
    width = 1 if mode == "points" else 3
    return np.concatenate(out) if out else np.zeros((0, width), np.int64)
