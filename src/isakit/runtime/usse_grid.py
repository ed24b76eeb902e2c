"""The invocations of a shader over arrays or images, in an order in which quads of neighbours run together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from isakit.engine.protocol import Array
from isakit.errors import LaunchError


def numbers(value: ArrayLike, what: str) -> Array:
    """Return an input as an array of numbers, f64 as f32. Raises LaunchError for anything else."""
    try:
        a = np.asarray(value)
    except ValueError:
        raise LaunchError(f"{what}: its rows are of different lengths") from None
    if a.dtype.kind not in "fiub":
        raise LaunchError(f"{what}: numbers are wanted, got an array of {a.dtype}")
    return a.astype(np.float32) if a.dtype.kind == "f" and a.dtype.itemsize > 4 else a


class Grid:
    """The invocations: how many, and in which order the pixels of an image run (quads of neighbours together)."""

    def __init__(self, given: Mapping[str, ArrayLike], count: int | None) -> None:
        arrays = [numbers(v, name) for name, v in given.items()]
        images: set[tuple[int, int]] = {(a.shape[0], a.shape[1]) for a in arrays if a.ndim == 3}
        lists: set[int] = {len(a) for a in arrays if a.ndim == 2 and len(a) > 1}
        if len(images) > 1 or (images and lists) or len(lists) > 1:
            raise LaunchError(f"inputs of different sizes: {_listed([*images, *lists])}")
        self.image = next(iter(images), None)
        self._order: Array | None = None
        if self.image:
            height, width = self.image
            rows = np.minimum(np.arange(height + height % 2), height - 1)
            columns = np.minimum(np.arange(width + width % 2), width - 1)
            index = rows[:, None] * width + columns[None, :]
            quads = index.reshape(len(rows) // 2, 2, len(columns) // 2, 2).swapaxes(1, 2)
            self._order = np.ascontiguousarray(quads).reshape(-1)
            self.lanes = len(self._order)
        else:
            single = [len(a) for a in arrays if a.ndim == 1]
            self.lanes = next(iter(lists), count or (max(single) if single and not count and _columns(arrays) else 1))
            if count and lists and count not in lists:
                raise LaunchError(f"count is {count}, the inputs have {_listed(lists)} rows")

    def rows(self, value: ArrayLike, components: int) -> Array:
        """Return an input as [lanes, components]; missing components are 0, the fourth 1."""
        a = numbers(value, "an input")
        if a.ndim == 0:
            a = a[None, None]
        elif a.ndim == 1:
            a = a[:, None] if components == 1 or (len(a) == self.lanes and len(a) > 4) else a[None, :]
        elif a.ndim == 3 and self._order is not None:
            a = a.reshape(-1, a.shape[2])[self._order]
        if a.ndim != 2 or len(a) not in (1, self.lanes) or a.shape[1] > max(4, components):
            raise LaunchError(
                f"an input of shape {np.shape(value)} for {self.lanes} invocations and {components} components"
            )
        if a.shape[1] < components:
            full = np.zeros((len(a), components), a.dtype)
            full[:, : a.shape[1]] = a
            if components >= 4 > a.shape[1]:
                full[:, 3] = 1
            a = full
        return np.broadcast_to(a[:, :components], (self.lanes, components))

    def restored(self, values: Array) -> Array:
        """Return results in the order and shape of the inputs."""
        if self._order is None or self.image is None:
            return values
        height, width = self.image
        out = np.empty((height * width, *values.shape[1:]), values.dtype)
        out[self._order] = values
        return out.reshape(height, width, *values.shape[1:])


def _columns(arrays: Sequence[Array]) -> bool:
    return all(a.ndim <= 1 for a in arrays)


def _listed(items: Iterable[object]) -> str:
    return ", ".join(sorted(map(str, items)))
