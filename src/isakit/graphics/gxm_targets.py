"""Colour surfaces of GXM as formats of render targets, and the output registers they require."""

from __future__ import annotations

import numpy as np

from isakit.errors import LaunchError
from isakit.graphics.color_formats import NAMED, ColorFormat, Kind
from isakit.texture.gxm_formats import stored_components

_BASES = (
    "U8U8U8U8", "S8S8S8S8", "U8U8U8", "U5U6U5", "U1U5U5U5", "U4U4U4U4", "U8U3U3U2", "U2U10U10U10", "U8U8", "S8S8", "U8",
    "S8", "U16", "S16", "U16U16", "S16S16", "F16", "F16F16", "F16F16F16F16", "F32", "F32F32", "F10F11F11",
)  # fmt: skip
_ORDERS = {4: ("ABGR", "ARGB", "RGBA", "BGRA"), 3: ("BGR", "RGB"), 2: ("GR", "RG"), 1: ("R", "A")}
_KINDS: dict[str, Kind] = {"U": "unorm", "S": "snorm", "F": "float"}
_DTYPES: dict[tuple[str, int], type[np.generic]] = {
    ("U", 8): np.uint8, ("S", 8): np.int8, ("U", 16): np.uint16, ("S", 16): np.int16, ("F", 16): np.float16,
    ("F", 32): np.float32,
}  # fmt: skip


def target_format(name: str) -> ColorFormat:
    """Return a format by its name as a render target (`rgba8`) or as a GXM surface (`U5U6U5_RGB`, `F16F16_GR`).

    The default is the first order. Raises LaunchError for other names.
    """
    if name in NAMED:
        return NAMED[name]
    base, _, order = name.upper().partition("_")
    if base not in _BASES:
        raise LaunchError(f"no target format {name!r}; there are: {', '.join((*NAMED, *_BASES))}")
    orders = ("BGR",) if base == "F10F11F11" else _ORDERS[sum(c in "USF" for c in base)]
    if order and order not in orders:
        raise LaunchError(f"{base} has no component order {order!r} as a target; there are {', '.join(orders)}")
    order = order or orders[0]
    parts = stored_components(base, order)
    kind = parts[0][0]
    widths = tuple(width for _, width in parts)
    letters = order[::-1].lower()
    full = f"{base}_{order}"
    if len(set(widths)) == 1 and (kind, widths[0]) in _DTYPES:
        return ColorFormat(full, 0, _KINDS[kind], _DTYPES[kind, widths[0]], letters)
    return ColorFormat(full, 0, _KINDS[kind], {16: np.uint16, 32: np.uint32}[sum(widths)], letters, widths)


def output_register(format: ColorFormat) -> str | None:
    """Return the output register that a driver chooses for a target, as `usse_output` names them, or None.

    Formats of at most eight bits a component pass through bytes, 10-bit ones and small floats through f16.
    """
    if format.integer:
        return None
    count = len(format.order)
    if format.bits:
        return "uchar4" if max(format.bits) <= 8 else "half4"
    size = np.dtype(format.dtype).itemsize
    if format.kind == "float":
        return {(2, True): "half2", (2, False): "half4", (4, True): "float2" if count == 2 else "float"}.get(
            (size, count <= 2)
        )
    if size == 1:
        return "uchar4" if format.kind == "unorm" else "char4"
    return ("ushort2" if format.kind == "unorm" else "short2") if count <= 2 else None
