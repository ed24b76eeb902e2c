"""Two Tesla kernels with the same arguments: whether their arrays agree afterwards, and where values first differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import deepcopy

import numpy as np

from isakit.asm import Program
from isakit.debug.compare import Comparison, FirstDifference, differences, side_by_side
from isakit.engine.protocol import Array
from isakit.errors import LaunchError
from isakit.machine.tesla.block import Warp
from isakit.runtime.kernel import LoadedKernel

Dims = int | Sequence[int]


def compare_kernels(
    a: LoadedKernel, b: LoadedKernel, grid: Dims, block: Dims, args: Sequence[object], *, ulps: int = 0,
    max_instructions: int | None = None,
) -> Comparison:  # fmt: skip
    """Launch two kernels with copies of the same arguments and compare their arrays afterwards.

    Args:
        a: a loaded kernel.
        b: another one, on the same device or on one of its own.
        grid: as for a launch.
        block: as for a launch.
        args: as for a launch; arrays are copied for each kernel and stay as they are.
        ulps: tolerance between two f32 values, in units in the last place.
        max_instructions: limit of each launch, in instructions of warps.

    If arrays differ, both kernels are stepped, one warp at a time, to the first instruction that produces different
    values. Raises LaunchError if there is no array to compare, and everything launches raise.
    """
    results: list[dict[str, Array]] = []
    for kernel in (a, b):
        mine = deepcopy(list(args))
        kernel.launch(grid, block, *mine, max_instructions=max_instructions)
        results.append({f"argument {k}": x for k, x in enumerate(mine) if isinstance(x, np.ndarray)})
    if not results[0]:
        raise LaunchError("the kernels have no arrays to compare")
    found, largest = differences(results[0], results[1], ulps)
    out = Comparison(tuple(results[0]), found, None, largest)
    if found:
        out.parting = _parting((a, b), grid, block, args, max_instructions)
    return out


def _parting(
    kernels: tuple[LoadedKernel, LoadedKernel], grid: Dims, block: Dims, args: Sequence[object], limit: int | None
) -> FirstDifference | None:
    runs = [_Stepped(k, grid, block, deepcopy(list(args)), limit) for k in kernels]
    programs = runs[0].program, runs[1].program
    return side_by_side(kernels[0].name, programs, (runs[0].steps(), runs[1].steps()), [r.state for r in runs])


class _Stepped:
    """A launch executed one instruction of one warp at a time; the ready warps take turns."""

    def __init__(self, kernel: LoadedKernel, grid: Dims, block: Dims, args: list[object], limit: int | None) -> None:
        self.machine, self.limit = kernel.machine(grid, block, args), limit
        self.arrays: list[Array] = [a for a in args if isinstance(a, np.ndarray)]
        self.program: Program = kernel.info.program
        self._numbers = {i.address: k for k, i in enumerate(self.program)}
        self._warp: Warp | None = None

    def steps(self) -> Iterator[tuple[int, Array]]:
        """Yield (number of the next instruction, the warp and its active lanes) before each step."""
        turn, done = -1, 0
        while not self.machine.idle() and (self.limit is None or done < self.limit):
            ready = self.machine.ready_warps
            self._warp = next((w for w in ready if w.number > turn), ready[0])
            turn = self._warp.number
            yield self._numbers.get(self._warp.pc, len(self.program) - 1), np.array([turn, self._warp.active])
            self.machine.step(self._warp)
            done += 1

    def state(self) -> dict[str, Array]:
        """Return a copy of the registers of the last stepped warp, of its block's shared memory and of the arrays."""
        out: dict[str, Array] = {}
        if self._warp is not None:
            w = self._warp
            out = {"$r": w.registers.copy(), "$c": w.conditions.copy(), "$a": w.addresses.copy()}
            out["shared byte "] = w.block.shared[:, None].copy()
        for k, a in enumerate(self.arrays):
            out[f"byte of array {k}, "] = np.ascontiguousarray(a).reshape(-1).view(np.uint8)[:, None].copy()
        return out
