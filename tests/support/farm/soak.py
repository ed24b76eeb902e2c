"""Many thousand runs of one kind in one process: memory, descriptors and threads stay what they are."""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Callable
from functools import cache
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import isakit
from support.farm.campaign import Campaign, Wrong
from support.farm.launches import LANES, SUM
from support.generators import hostile_shaders
from support.patience import until
from support.runners.compiled import device_on

WARM_UP, ROUNDS, STRETCHES = 4, 8, 4
"""Times a case does its work before it looks, times in a stretch that is looked at, and how many stretches may grow."""
GROWTH = 1 << 20
"""Bytes a process may grow by in the last stretch, as the allocator of the system moves things."""

_BUSY = """
.kernel busy
mov b32 $r1 0x7fffffff
again:
add b32 $r1 $r1 0xffffffff
set $c0 # g u32 $r1 $r9
(lg $c0) bra #again
exit nop
"""
_LOOP = "again:\n bra #again\n nop\n nop\n nop\n"


def _launches(way: str, kind: str) -> Callable[[], None]:
    """Launches of one kernel: of a buffer, of arrays, with a new kernel object, with a fault, with a budget."""
    device = device_on(way, "gt200")
    isa = isakit.isa("tesla", "gt200")
    program, busy = isa.assemble(SUM), isa.assemble(_BUSY)
    kernel, loop = device.load(program)["sum"], device.load(busy, registers=10)["busy"]
    buffer, data, rounds = device.alloc(4 * LANES), np.zeros(LANES, np.uint32), np.uint32(3)
    numbers = count()

    def run() -> None:
        n = next(numbers)
        if kind == "buffer":
            kernel.launch(1, LANES, buffer, rounds)
        elif kind == "array":
            data[:] = n
            kernel.launch(1, LANES, data, rounds)
            if data[-1] != n + 6:
                raise Wrong(f"launch {n} leaves {data[-1]}")
        elif kind == "load":
            device.load(program)["sum"].launch(1, LANES, buffer, rounds)
        elif kind == "alloc":
            with device.alloc(256 + n % 4096) as other:
                kernel.launch(1, LANES, other, rounds)
        elif kind == "fault":
            try:
                kernel.launch(1, LANES, np.uint32(0x40), rounds)
            except isakit.MachineFault:
                return
            raise Wrong("no fault")
        else:
            try:
                loop.launch(1, 32, max_instructions=200)
            except isakit.BudgetExceeded:
                return
            raise Wrong("no end of the budget")

    return run


def _devices(way: str, _: str) -> Callable[[], None]:
    """A device, a kernel and a launch each."""
    program = isakit.isa("tesla", "gt200").assemble(SUM)

    def run() -> None:
        device = device_on(way, "gt200")
        device.load(program)["sum"].launch(1, LANES, device.alloc(4 * LANES), np.uint32(2))

    return run


def _cores(way: str, _: str) -> Callable[[], None]:
    """A vµc core that runs for some cycles."""
    program = isakit.isa("vuc", "vp2").assemble(_LOOP)

    def run() -> None:
        core = isakit.vuc.Core("vp2", engine=way)
        core.load(program)
        core.run(max_cycles=100)

    return run


def _shaders(_: str, stage: str) -> Callable[[], None]:
    """A shader over five vertices or pixels."""
    data = hostile_shaders.shader(stage)

    def run() -> None:
        hostile_shaders.run(data)

    return run


_OFTEN = {"buffer": 2000, "array": 2000, "load": 150, "alloc": 1000, "fault": 40, "budget": 200}
WORK: dict[str, tuple[Callable[[str, str], Callable[[], None]], str, str, int]] = {
    **{f"{way} {kind}": (_launches, way, kind, n) for way in ("jit", "interp") for kind, n in _OFTEN.items()},
    **{f"reference {kind}": (_launches, "reference", kind, 20) for kind in ("array", "load", "fault", "budget")},
    "jit devices": (_devices, "jit", "", 100),
    "vuc reference": (_cores, "reference", "", 100),
    "vuc llvm": (_cores, "llvm", "", 20),
    "usse vertex": (_shaders, "", "vertex", 10),
    "usse fragment": (_shaders, "", "fragment", 10),
}
"""Kinds of work: what makes the function, for what, and how often a round calls it."""


def held() -> tuple[int, int, int]:
    """Bytes of private memory, descriptors and threads of this process."""
    gc.collect()
    status = Path("/proc/self/status").read_text()
    anonymous = next(line for line in status.splitlines() if line.startswith("RssAnon"))
    return 1024 * int(anonymous.split()[1]), len(os.listdir("/proc/self/fd")), threading.active_count()


def check_soak(case: dict[str, Any]) -> set[str]:
    """After a warm-up, rounds of the same work leave the process as it was."""
    make, way, kind, often = WORK[case["work"]]
    run = _made(make, way, kind)
    _rounds(run, often * WARM_UP)
    before, grown, runs = held(), list[int](), often * ROUNDS
    for _ in range(STRETCHES):  # what is filled once grows in the first ones, what leaks in all of them
        start = held()[0]
        _rounds(run, runs)
        after = held()
        grown.append(after[0] - start)
        if grown[-1] <= GROWTH:
            break
    else:
        raise Wrong(f"{case['work']}: {', '.join(f'{n:,}' for n in grown)} bytes more after {runs:,} runs each")
    # What compiles in the background may come and go.
    if not until(lambda: all(now <= then for now, then in zip(held()[1:], before[1:], strict=True))):
        raise Wrong(f"{case['work']}: (descriptors, threads) were {before[1:]} and are {held()[1:]}")
    return {f"{case['work']}: {runs:,} a stretch"}


def _rounds(run: Callable[[], None], times: int) -> None:
    for _ in range(times):
        run()


@cache
def _made(make: Callable[[str, str], Callable[[], None]], way: str, kind: str) -> Callable[[], None]:
    return make(way, kind)


def _make(seed: int) -> dict[str, Any]:
    names = list(WORK)
    return {"work": names[seed % len(names)], "seed": Random(seed).random()}


def _needs() -> str:
    return "" if Path("/proc/self/status").exists() else "it reads /proc of Linux"


HERE = (Campaign("soak", "thousands of runs in one process: memory, descriptors, threads", _make, check_soak,
                 seconds=600.0, needs=_needs, fixed=3),)  # fmt: skip
