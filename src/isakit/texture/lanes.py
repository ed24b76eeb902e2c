"""Operations of the texture unit on more than one lane.

The unit's text computes with arrays of lanes; `engine.llvm.array_tracer` calls it with arrays that write down what is
done to one lane, to make code. A test of whole arrays, which only saves work, goes through these functions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeGuard, cast

import numpy as np

from isakit.engine.protocol import Array

NEAR = 2.0**30
"""The limit of `except_far` in code that is made."""


def known(lanes: object) -> TypeGuard[Array]:
    """Return whether lanes are numbers, of which a part can be worked on by itself."""
    return isinstance(lanes, np.ndarray)


def everywhere(lanes: object) -> bool:
    """Return whether something is known to hold in all lanes."""
    return known(lanes) and bool(lanes.all())


def except_far(lanes: Any, limit: float, rare: Callable[[], Any]) -> Any:
    """Return lanes of f32 numbers; those from a limit on are what `rare` gives.

    Code that is made leaves these to the arrays, and more of them: the others are integers of 32 bits.
    """
    far = np.abs(lanes) >= (limit if known(lanes) else NEAR)
    out = except_for(far, lanes, rare)
    if not known(out):
        out.small = True
    return out


def except_for(lanes: Any, usual: Any, rare: Callable[[], Any]) -> Any:
    """Return `usual`, but what `rare` gives in some lanes; code that is made leaves those to the arrays."""
    if known(lanes):
        if not lanes.any():
            return usual
        return cast(Any, np.where(lanes, rare(), usual))
    lanes.code.mark(lanes)
    return np.where(lanes, 0, usual)


def doubtful(lanes: Callable[[], Any], value: Any) -> None:
    """Leave lanes whose outcome hangs on the rounding errors of a value to the arrays, in code that is made."""
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
    """Return whether all sizes are; a mask is much faster than a remainder."""
    traced: bool | None = getattr(n, "powers_of_two", None)
    return not np.any(n & (n - 1)) if traced is None else traced
