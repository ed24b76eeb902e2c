"""Level of detail: from the derivatives inside quads to the levels that are sampled. Source: [graphics] 2.5."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from isakit.engine.protocol import Array
from isakit.texture.texture_choices import TextureChoices

FRACTION = 256
"""Levels of detail have eight fraction bits."""


class Levels(NamedTuple):
    """`magnified` per lane; `first` level and, when two are mixed, `second` with `weight` (of 256)."""

    magnified: Array
    first: Array
    second: Array | None
    weight: Array | None


def derivative_lod(texels: Sequence[Array], vectors: int, choices: TextureChoices) -> Array:
    """log2 of the longest derivative of the coordinates in texels, the same for the four lanes of a quad.

    `texels` holds one f64 array per axis, quads of lanes next to each other. Without any change it is -inf.
    """
    quads = np.stack([t.reshape(-1, 4) for t in texels])
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        steps = [quads[:, :, 1] - quads[:, :, 0], quads[:, :, 2] - quads[:, :, 0]]
        if vectors == 4:
            steps += [quads[:, :, 3] - quads[:, :, 2], quads[:, :, 3] - quads[:, :, 1]]
        if choices.lod_norm == "max":
            rho = np.max([np.abs(s).max(axis=0) for s in steps], axis=0)
        else:
            rho = np.sqrt(np.max([(s * s).sum(axis=0) for s in steps], axis=0))
        lod = np.log2(np.where(np.isnan(rho), 0.0, rho))
    return np.repeat(lod, 4)


def chosen_levels(lod: Array, mip: str, first: int, last: int) -> Levels:
    """The levels of a clamped level of detail; `first` and `last` are what the texture offers."""
    magnified = lod <= 0
    n = len(lod)
    if mip == "none":
        return Levels(magnified, np.full(n, first), None, None)
    inside = np.clip(np.where(np.isnan(lod), 0.0, lod), first, last)
    if mip == "nearest":
        return Levels(magnified, np.floor(inside + 0.5).astype(np.int64).clip(first, last), None, None)
    q = np.floor(inside * FRACTION + 0.5).astype(np.int64)
    level = q >> 8
    return Levels(magnified, level, np.minimum(level + 1, last), q & 255)
