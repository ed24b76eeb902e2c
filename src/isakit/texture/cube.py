"""Cube maps: from a direction to a face and coordinates on it. Source: [graphics] 2.4."""

from __future__ import annotations

import numpy as np

from isakit.engine.protocol import Array
from isakit.texture.lanes import of_quads, to_lanes

FACES = 6


def face_of(x: Array, y: Array, z: Array) -> tuple[Array, Array, Array]:
    """Return (face, s, t) of directions (f64): faces in the order +X -X +Y -Y +Z -Z, s and t 0 to 1.

    The largest magnitude decides, x before y before z where they are equal.
    """
    ax, ay, az = np.abs(x), np.abs(y), np.abs(z)
    along_x = (ax >= ay) & (ax >= az)
    along_y = ~along_x & (ay >= az)
    major = np.where(along_x, x, np.where(along_y, y, z))
    negative = major < 0
    sc = np.where(along_x, np.where(negative, z, -z), np.where(along_y, x, np.where(negative, -x, x)))
    tc = np.where(along_y, np.where(negative, -z, z), -y)
    face = np.where(along_x, 0, np.where(along_y, 2, 4)) + negative
    length = np.abs(major)
    length = np.where(length == 0, 1.0, length)
    return face, (sc / length + 1) / 2, (tc / length + 1) / 2


def on_one_face(face: Array, x: Array, y: Array, z: Array) -> list[Array]:
    """Return directions that end on the plane of the face that the first lane of their quad is on.

    Those on that face are unchanged, and so are those that point away from it.
    """
    first = to_lanes(of_quads(face, 0))
    axis = first >> 1
    major = np.where(axis == 0, x, np.where(axis == 1, y, z))
    length = np.where((first & 1) == 1, -major, major)
    moved = (face != first) & (length > 0)
    length = np.where(moved, length, 1.0)
    return [np.where(moved, c / length, c) for c in (x, y, z)]


def across_edges(face: Array, i: Array, j: Array, n: Array | int) -> tuple[Array, Array, Array]:
    """Return (face, column, row) of texels at most one column or row outside a face of n x n texels.

    The centre of such a texel, continued in the plane of its face, lies in the direction of one of the next face. At a
    corner, where three texels meet, the one is taken that the direction finds.
    """
    sc, tc = (2 * i + 1) / n - 1, (2 * j + 1) / n - 1
    one = np.ones_like(sc)
    x = np.choose(face, [one, -one, sc, sc, sc, -sc])
    y = np.choose(face, [-tc, -tc, one, -one, -tc, -tc])
    z = np.choose(face, [-sc, sc, tc, -tc, one, -one])
    other, s, t = face_of(x, y, z)
    inside = (i >= 0) & (i < n) & (j >= 0) & (j < n)
    column, row = (np.clip(np.floor(v * n).astype(np.int64), 0, n - 1) for v in (s, t))
    found: list[Array] = [np.where(inside, a, b) for a, b in ((face, other), (i, column), (j, row))]
    return found[0], found[1], found[2]
