"""Small kernels written in the tests, on the reference engine."""

from __future__ import annotations

from typing import Any

import isakit
from isakit.machine.tesla import Choices, Machine
from isakit.runtime import Kernel


def kernel(text: str, *, chip: str = "gt200", choices: dict[str, Any] | None = None, **load: Any) -> Kernel:
    """A kernel from its instructions."""
    device = isakit.Device(chip, engine="reference", choices=Choices(**(choices or {})))
    module = device.load(isakit.isa("tesla", chip).assemble(text), **load)
    return next(iter(module.values()))


def machine(
    text: str,
    grid: Any = 1,
    block: Any = 32,
    *args: Any,
    chip: str = "gt200",
    choices: dict[str, Any] | None = None,
    **load: Any,
) -> Machine:
    """A machine at the first instruction."""
    return kernel(text, chip=chip, choices=choices, **load).machine(grid, block, args)
