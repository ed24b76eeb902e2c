"""Operations of the texture unit on more than one lane.

The unit's code computes with arrays of lanes; `engine.llvm.array_tracer` calls it with arrays that record the
operations on one lane, to generate code. A test of whole arrays, which only saves work, goes through these functions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeGuard, cast

import numpy as np

from isakit.engine.protocol import Array

NEAR = 2.0**30
"""The limit of `except_far` in generated code."""


def known(lanes: object) -> TypeGuard[Array]:
    """Return whether lanes are numbers, so that a part of them can be processed separately."""
    return isinstance(lanes, np.ndarray)


def everywhere(lanes: object) -> bool:
    """Return whether something is known to hold in all lanes."""
    return known(lanes) and bool(lanes.all())


def except_far(lanes: Any, limit: float, rare: Callable[[], Any]) -> Any:
    """Return lanes of f32 numbers, but what `rare` returns for those from a limit on.

    Generated code leaves these and more to the array code: the others are integers of 32 bits.
    """
    far = np.abs(lanes) >= (limit if known(lanes) else NEAR)
    out = except_for(far, lanes, rare)
    if not known(out):
        out.small = True
    return out


def except_for(lanes: Any, usual: Any, rare: Callable[[], Any]) -> Any:
    """Return `usual`, but what `rare` returns in some lanes, which generated code leaves to the array code."""
    if known(lanes):
        if not lanes.any():
            return usual
        return cast(Any, np.where(lanes, rare(), usual))
    lanes.code.mark(lanes)
    return np.where(lanes, 0, usual)


def doubtful(lanes: Callable[[], Any], value: Any) -> None:
    """Leave lanes whose outcome depends on the rounding errors of a value to the array code, in generated code."""
    if not known(value):
        value.code.mark(lanes())


def filled(count: int, number: Any) -> Any:
    """Repeat a number in `count` lanes."""
    return np.full(count, number) if isinstance(number, int | float | np.generic) else number


def as_type(number: Any, dtype: Any) -> Any:
    """Convert a number or lanes to another type."""
    return number.astype(dtype) if hasattr(number, "astype") else np.asarray(number, dtype)


def of_quads(lanes: Any, k: int) -> Any:
    """Return the values of lane `k` of each quad: one number per quad; `to_lanes` gives it to all four."""
    if known(lanes):
        return lanes.reshape(-1, 4)[:, k]
    return lanes.code.of_quad(lanes, k)


def to_lanes(quads: Any) -> Any:
    """Repeat a number of each quad in its lanes."""
    return np.repeat(quads, 4) if known(quads) else quads


def powers_of_two(n: Any) -> bool:
    """Return whether all sizes are powers of two; a mask is much faster than a remainder."""
    traced: bool | None = getattr(n, "powers_of_two", None)
    return not np.any(n & (n - 1)) if traced is None else traced
