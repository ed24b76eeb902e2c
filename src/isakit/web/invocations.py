"""The invocations of a shader as a picture: its results, a register, or where each of them stands."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from isakit.engine.protocol import Array
from isakit.errors import IsakitError, LaunchError
from isakit.json_text import JsonObject

if TYPE_CHECKING:
    from isakit.cli.launches import Prepared
    from isakit.debug import Session

PLACE = "place"
"""The request for the instructions that invocations stand at."""
_ROW = 64
"""Invocations in a row where the inputs are not an image."""


def invocations(session: Session, prepared: Prepared | None, what: str = "") -> JsonObject:
    """Return values of all invocations, and how they lie in the picture.

    Args:
        session: where the launch stands.
        prepared: the launch, None where the session is not of one.
        what: a result of the shader by name, a register, or `PLACE`; "" is the first result.

    `data`: f32 [height, width, components], `order`: the number of the invocation of every pixel (-1: none), both as
    little-endian bytes in base64; `bits`: whether the values are bits of a register. Raises IsakitError.
    """
    if prepared is None or prepared.results is None or prepared.grid is None:
        raise IsakitError("only the invocations of a shader make a picture")
    machine = cast("Any", session.target).machine
    results = prepared.results()
    what = what or next(iter(results), PLACE)
    bits = False
    if what == PLACE:
        at = [machine.at(n) for n in range(machine.lanes)]
        values = np.array([-1 if a is None else a * 8 for a in at], np.float32)
    elif what in results:
        values = np.asarray(results[what], np.float32)
    else:
        values, bits = _register(session, what).view(np.float32), True
    values = values.reshape(len(values), -1)
    numbers = np.arange(len(values), dtype=np.int32)
    if prepared.grid.image is not None:
        values, order = prepared.grid.restored(values), prepared.grid.restored(numbers)
    else:
        width = min(_ROW, len(values))
        height = -(-len(values) // width)
        full = np.zeros((height * width, values.shape[1]), np.float32)
        full[: len(values)] = values
        order = np.full(height * width, -1, np.int32)
        order[: len(numbers)] = numbers
        values, order = full.reshape(height, width, -1), order.reshape(height, width)
    height, width, components = values.shape
    return {
        "what": what, "results": list(results), "bits": bits, "width": width, "height": height,
        "components": components, "data": _packed(values, "<f4"), "order": _packed(order, "<i4"),
    }  # fmt: skip


def _register(session: Session, name: str) -> Array:
    """Return the words of a register, one per invocation. Raises IsakitError if there is none of that name."""
    try:
        file, number = session.target.register(name)
        return np.ascontiguousarray(session.target.read_file(file)[number], np.uint32)
    except (LaunchError, LookupError):
        raise IsakitError(f"there is no result and no register {name[:40]!r}") from None


def _packed(a: Array, dtype: str) -> str:
    return base64.b64encode(np.ascontiguousarray(a, dtype).tobytes()).decode()
