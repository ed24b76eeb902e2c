"""Level of detail: from the derivatives inside quads to the levels that are sampled. Source: [graphics] 2.5."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import NamedTuple

import numpy as np

from isakit.engine.protocol import Array
from isakit.texture.lanes import doubtful, filled, of_quads, to_lanes
from isakit.texture.texture_choices import TextureChoices

FRACTION = 256
"""Levels of detail have eight fraction bits."""
NEAR = 2.0**-36
"""Distance from a threshold within which compiled code does not decide about a logarithm."""


class Levels(NamedTuple):
    """`magnified` per lane; `first` level and, when two are mixed, `second` with `weight` (of 256)."""

    magnified: Array
    first: Array
    second: Array | None
    weight: Array | None


def derivative_lod(texels: Sequence[Array], vectors: int, choices: TextureChoices) -> Array:
    """Return log2 of the longest derivative of the coordinates in texels, the same for the four lanes of a quad.

    `texels` holds one f64 array per axis, quads of lanes next to each other. Without any change it is -inf.
    """
    pairs = [(0, 1), (0, 2), *(((2, 3), (1, 3)) if vectors == 4 else ())]
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        steps = [[of_quads(t, b) - of_quads(t, a) for t in texels] for a, b in pairs]
        if choices.lod_norm == "max":
            rho = reduce(np.maximum, [np.abs(d) for step in steps for d in step])
        else:
            rho = np.sqrt(reduce(np.maximum, [reduce(np.add, [d * d for d in step]) for step in steps]))
        lod = np.log2(np.where(np.isnan(rho), 0.0, rho))
    return to_lanes(lod)


def chosen_levels(lod: Array, mip: str, first: int, last: int, origin: int, measured: bool = False) -> Levels:
    """Return the levels of a clamped level of detail, which counts from level `origin`.

    `first` and `last` are the texture's levels. `measured`: the level of detail is a logarithm, which compiled code
    computes with another rounding error.
    """
    magnified = lod <= 0
    n = len(lod)
    if measured:
        doubtful(lambda: (np.abs(lod) < NEAR) & (lod != 0), lod)
    if mip == "none":
        return Levels(magnified, filled(n, first), None, None)
    inside = np.clip(np.where(np.isnan(lod), 0.0, lod) + origin, first, last)
    steps = inside * (FRACTION if mip == "linear" else 1) + 0.5
    if measured:
        doubtful(lambda: np.abs(steps - np.rint(steps)) < FRACTION * NEAR, lod)
    if mip == "nearest":
        return Levels(magnified, np.clip(np.floor(steps).astype(np.int64), first, last), None, None)
    q = np.floor(steps).astype(np.int64)
    level = q >> 8
    return Levels(magnified, level, np.minimum(level + 1, last), q & 255)
