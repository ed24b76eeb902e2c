"""Cost of a step on the reference machine, by the number of resident warps.

A step executes one instruction of one warp, so its cost must not grow with the warps that stand beside it. Prints the
median time of a step for each launch as a multiple of that with one warp.
"""

from __future__ import annotations

import statistics
import time

import numpy as np

import isakit

LAUNCHES = (("1 warp", 1, 32), ("24 warps", 1, 768), ("100 blocks of 24 warps", 100, 768))
STEPS = 3000
KERNEL = """
mov b32 $r1 $r0
again:
add b32 $r1 $r1 $r0
add b32 $r2 $r1 $r0
bra again
"""


def main() -> None:
    program = isakit.isa("tesla", "gt200").assemble(KERNEL)
    base = 0.0
    for name, blocks, threads in LAUNCHES:
        device = isakit.Device("gt200", engine="reference")
        machine = device.machine(device.load(program)["main"], blocks, threads, [], limits=False)
        times: list[float] = []
        for _ in range(STEPS):
            started = time.perf_counter()
            assert machine.step() is not None
            times.append(time.perf_counter() - started)
        median = statistics.median(times)
        base = base or median
        print(f"{name:24} {1e6 * median:7.1f} µs a step, {median / base:5.2f} times that of one warp; "
              f"the first {1e6 * times[0]:.0f} µs, mean {1e6 * float(np.mean(times)):.1f} µs")  # fmt: skip


if __name__ == "__main__":
    main()
