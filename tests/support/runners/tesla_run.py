"""Run one Tesla instruction, or a few, on registers given as numbers."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import isakit

LANES = 32


class After:
    """The registers of the warp after the instructions: `after.r(7)`, `after.c(1)`, one number per lane."""

    def __init__(self, warp: Any) -> None:
        self.registers, self.conditions = warp.registers.copy(), warp.conditions.copy()

    def r(self, n: int) -> list[int]:
        return [int(v) for v in self.registers[n]]

    def c(self, n: int) -> list[int]:
        return [int(v) for v in self.conditions[n]]


def run(
    text: str,
    registers: Mapping[int, int | Sequence[int]],
    *,
    chip: str = "gt200",
    constants: Mapping[int, bytes] | None = None,
    params: bytes = b"",
    **flags: bool,
) -> After:
    """Execute the statements with the given registers (a number for all lanes, or one per lane)."""
    program = isakit.isa("tesla", chip).assemble(text + "\nexit (never) nop\n")
    device = isakit.Device(chip, engine="reference", **flags)
    kernel = device.load(program, registers=16, barriers=1)["main"]
    kernel.constants.update(constants or {})
    machine = device.machine(kernel, 1, LANES, param_bytes=params)
    warp = machine.blocks[0].warps[0]
    for n, value in registers.items():
        values = [value] * LANES if isinstance(value, int) else [*value, *([0] * (LANES - len(value)))]
        warp.registers[n][:] = np.array(values, np.uint32)
    for _ in range(text.strip().count("\n") + 1):
        machine.step()
    return After(warp)


def f32(x: float) -> int:
    """The bits of a number in single precision."""
    return int(struct.unpack("<I", struct.pack("<f", x))[0])


def f64(x: float) -> int:
    """The bits of a number in double precision."""
    return int(struct.unpack("<Q", struct.pack("<d", x))[0])


def pairs(values: Sequence[int]) -> tuple[list[int], list[int]]:
    """Low and high words."""
    return [v & 0xFFFFFFFF for v in values], [v >> 32 for v in values]
