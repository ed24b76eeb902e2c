"""Cube maps: from a direction to a face and coordinates on it. Source: [graphics] 2.4."""

from __future__ import annotations

import numpy as np

from isakit.machine.tesla.memory import Array


def face_of(x: Array, y: Array, z: Array) -> tuple[Array, Array, Array]:
    """(face, s, t) of directions (f64): faces in the order +X -X +Y -Y +Z -Z, s and t 0 to 1.

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
