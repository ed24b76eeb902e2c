"""Texture sampling by instructions: level of detail, the sample itself, registers.

Source: [usse] 2.6.13.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from isakit.engine.protocol import Array
from isakit.errors import NotModelled
from isakit.machine.usse.sampler import Cube, Texture, Volume, level_of_detail, packed
from isakit.sem.trace import Attributes

WordsOf = Callable[["Texture", Sequence[Array], "Array | float", str], list[Array]]
_HANDLE = 0x7EC50000
"""Upper bits of the words that represent texture state: the machine finds the texture by the word, wherever it was
copied."""
_UNITS = 1 << 14


def state_word(unit: int, word: int) -> int:
    """Return the register content that represents a texture's state word."""
    return _HANDLE | (unit % _UNITS) << 2 | word & 3


def unit_of(word: int) -> int | None:
    """Return the unit whose first state word this is, None for other words."""
    return None if word & 0xFFFF0003 != _HANDLE else word >> 2 & _UNITS - 1


def sampled(
    texture: Texture, coordinates: Sequence[Array], extra: Sequence[Array], attrs: Attributes,
    words_of: WordsOf,
) -> list[Array]:  # fmt: skip
    """Return the registers that a sample fills: arrays of words [lanes]. `words_of` computes those of a sample.

    `coordinates` and `extra` (level, bias or gradients) are f32 arrays, `attrs` has mode, lod and conversion.
    """
    format = texture.format if attrs["conv"] in ("raw", "native") else attrs["conv"]
    mode: str = attrs["mode"]
    if isinstance(texture, Cube):
        if len(coordinates) != 3 or mode != "sample":
            raise NotModelled(f"{mode} of a cube map with {len(coordinates)} coordinates")
        return words_of(texture, coordinates, _cube_lod(texture, attrs["lod"], extra, coordinates), format)
    u = coordinates[0]
    v = coordinates[1] if len(coordinates) > 1 else np.zeros_like(u)
    if len(coordinates) == 3:
        if not isinstance(texture, Volume) or mode != "sample":
            why = "the texture bound there is neither a volume nor a cube map, or its texels are gathered"
            raise NotModelled("a three-dimensional sample", why)
        return words_of(texture, coordinates, 0.0, format)
    lod = _lod(texture, attrs["lod"], extra, u, v, len(coordinates))
    if mode == "sample":
        return words_of(texture, (u, v), lod, format)
    if mode == "info":
        return [texture.info(u, v, lod)]
    texels, weights = texture.gather(u, v)
    words = [w for t in texels for w in texture.pack(t, format)]
    return words if mode == "gather4" else words + texture.pack(weights[:, ::-1], "f16")


def words_of(texture: Texture, coordinates: Sequence[Array], lod: Array | float, format: str) -> list[Array]:
    """Return the registers of a sample."""
    with np.errstate(over="ignore", invalid="ignore"):
        return packed(texture.components(coordinates, lod), format)


def _across(x: Array, step: int) -> Array:
    """Return the difference between the pixels of a quad, to the right (1) or down (2)."""
    number = np.arange(len(x))
    return x[np.minimum(number | step, len(x) - 1)] - x[number & ~step]


def _lod(texture: Texture, mode: str, extra: Sequence[Array], u: Array, v: Array, count: int) -> Array | float:
    if len(texture.levels) == 1:
        return 0.0
    if mode == "replace":
        return extra[0]
    if mode == "gradient":
        zero = np.zeros_like(u)
        du = np.stack([extra[0], extra[count]])
        dv = np.stack([extra[1], extra[count + 1]]) if count == 2 else np.stack([zero, zero])
        return level_of_detail(texture, du, dv)
    lod = level_of_detail(texture, np.stack([_across(u, 1), _across(u, 2)]), np.stack([_across(v, 1), _across(v, 2)]))
    return lod + extra[0] if mode == "bias" else lod


def _cube_lod(texture: Cube, mode: str, extra: Sequence[Array], direction: Sequence[Array]) -> Array | float:
    """Return the level of a cube map: the gradients of the direction, projected onto the face that is sampled."""
    if len(texture.levels) == 1:
        return 0.0
    if mode == "replace":
        return extra[0]
    if mode == "gradient":
        steps = [extra[0:3], extra[3:6]]
    else:
        steps = [[_across(a, k) for a in direction] for k in (1, 2)]
    moves = [texture.on_face(direction, step) for step in steps]
    lod = level_of_detail(texture, np.stack([m[0] for m in moves]), np.stack([m[1] for m in moves]))
    return lod + extra[0] if mode == "bias" else lod
