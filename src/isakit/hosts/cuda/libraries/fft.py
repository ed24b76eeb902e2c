"""Fourier transforms as cuFFT defines them: unscaled, of one to three dimensions, in batches."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import DTypeLike

from isakit.engine.protocol import Array
from isakit.hosts.cuda.libraries import DeviceArrays

R2C, C2R, C2C, D2Z, Z2D, Z2Z = 0x2A, 0x2C, 0x29, 0x6A, 0x6C, 0x69
KINDS = {C2C: "C2C", R2C: "R2C", C2R: "C2R", Z2Z: "Z2Z", D2Z: "D2Z", Z2D: "Z2D"}
LONGEST = 1 << 27
"""Largest number of elements of a transform."""
NATIVE = 0
"""The compatibility mode in which rows of an in-place transform are not padded."""


@dataclass(frozen=True)
class Layout:
    """Positions of elements: the sizes they are embedded in, and strides between elements and between transforms."""

    embed: tuple[int, ...]
    stride: int
    distance: int


@dataclass
class Plan:
    """A plan. `sizes` is empty until it is made; layouts are None if the elements are contiguous."""

    sizes: tuple[int, ...] = ()
    kind: int = C2C
    batch: int = 1
    input: Layout | None = None
    output: Layout | None = None
    stream: int = 0
    mode: int = 1

    @property
    def work_bytes(self) -> int:
        """Size of the original's work area in bytes: that of one batch of complex elements."""
        return self.batch * prod(self.sizes) * (16 if self.kind in (Z2Z, D2Z, Z2D) else 8)


def execute(plan: Plan, arrays: DeviceArrays, source: int, target: int, inverse: bool) -> None:
    """Transform from one address to another, which may be the same."""
    double = plan.kind in (Z2Z, D2Z, Z2D)
    real, complex_ = (np.float64, np.complex128) if double else (np.float32, np.complex64)
    halved = (*plan.sizes[:-1], plan.sizes[-1] // 2 + 1)
    in_place = source == target
    axes = tuple(range(1, len(plan.sizes) + 1))
    if plan.kind in (C2C, Z2Z):
        data = _elements(plan, arrays, source, complex_, plan.sizes, plan.input, False)
        transform = np.fft.ifftn if inverse else np.fft.fftn
        made = transform(data, axes=axes, norm="forward" if inverse else "backward")
        to = _elements(plan, arrays, target, complex_, plan.sizes, plan.output, False)
    elif plan.kind in (R2C, D2Z):
        data = _elements(plan, arrays, source, real, plan.sizes, plan.input, in_place)
        made = np.fft.rfftn(data, axes=axes)
        to = _elements(plan, arrays, target, complex_, halved, plan.output, False)
    else:
        data = _elements(plan, arrays, source, complex_, halved, plan.input, False)
        made = np.fft.irfftn(data, s=plan.sizes, axes=axes, norm="forward")
        to = _elements(plan, arrays, target, real, plan.sizes, plan.output, in_place)
    to[...] = made


def _elements(
    plan: Plan,
    arrays: DeviceArrays,
    address: int,
    dtype: DTypeLike,
    sizes: tuple[int, ...],
    layout: Layout | None,
    padded: bool,
) -> Array:
    """Return the elements of all transforms of a batch; `padded` rows have room for their complex result."""
    if layout is None:
        row = sizes[-1]
        if padded and not (plan.mode == NATIVE and len(sizes) == 1):
            row = 2 * (row // 2 + 1)
        embed = (*sizes[:-1], row)
        layout = Layout(embed, 1, prod(embed))
    width = np.dtype(dtype).itemsize
    steps = [layout.stride]
    for size in reversed(layout.embed[1:]):
        steps.insert(0, steps[0] * size)
    strides = (layout.distance * width, *(step * width for step in steps))
    return arrays(address, dtype, (plan.batch, *sizes), strides)
