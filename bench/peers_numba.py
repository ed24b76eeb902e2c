"""The four example kernels for numba's CUDA simulator, for bench/engines.py.

The simulator runs a Python thread per CUDA thread: sizes must be tiny. It is switched on by NUMBA_ENABLE_CUDASIM before
numba is imported, so `measured` starts a process of its own, which reads the launches from stdin and answers on stdout.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

Launch = tuple[str, tuple[int, int], tuple[int, int], list[Any]]
"""Name, grid, block, arguments: those of the Tesla kernel, in the same order."""


def measured(launches: Sequence[Launch], repeat: int) -> dict[str, tuple[list[float], list[Any]]]:
    """Seconds of each repetition and the arrays after the first, by kernel. Raises LookupError without numba."""
    done = subprocess.run(
        [sys.executable, __file__],
        input=pickle.dumps((list(launches), repeat)),
        capture_output=True,
        env={**os.environ, "NUMBA_ENABLE_CUDASIM": "1"},
        check=False,
    )
    if done.returncode:
        raise LookupError(done.stderr.decode().strip().splitlines()[-1])
    return pickle.loads(done.stdout)


def kernels() -> dict[str, Any]:
    """The kernels. Raises ImportError without numba."""
    global cuda  # the simulator looks for it among the globals of a kernel
    from numba import cuda

    u32 = np.uint32

    @cuda.jit
    def saxpy(n, a, x, y):
        i = cuda.grid(1)
        if i < n:
            y[i] = a * x[i] + y[i]

    @cuda.jit
    def mandelbrot(out, width, limit, left, top, step):
        column, row = cuda.grid(2)
        cx, cy = left + np.float32(column) * step, top + np.float32(row) * step
        x = y = np.float32(0)
        n = 0
        while n < limit:
            xx, yy = x * x, y * y
            if xx + yy > 4:
                break
            y = (x + x) * y + cy
            x = xx - yy + cx
            n += 1
        out[row * int(width) + column] = n

    @cuda.jit
    def matmul(a, b, c, n):
        left = cuda.shared.array((16, 16), np.float32)
        right = cuda.shared.array((16, 16), np.float32)
        x, y = cuda.threadIdx.x, cuda.threadIdx.y
        column, row = cuda.grid(2)
        total, n = np.float32(0), int(n)
        for tile in range(0, n, 16):
            left[y, x] = a[row * n + tile + x]
            right[y, x] = b[(tile + y) * n + column]
            cuda.syncthreads()
            for k in range(16):
                total += left[y, k] * right[k, x]
            cuda.syncthreads()
        c[row * n + column] = total

    @cuda.jit
    def hash_reduce(out, seed, rounds):
        sums = cuda.shared.array(256, u32)
        t = cuda.threadIdx.x
        h = u32(cuda.grid(1) + int(seed)) | u32(1)
        for _ in range(int(rounds)):
            h ^= h << u32(13)
            h ^= h >> u32(17)
            h ^= h << u32(5)
        sums[t] = h
        cuda.syncthreads()
        half = 128
        while half:
            if t < half:
                sums[t] += sums[t + half]
            cuda.syncthreads()
            half >>= 1
        if t == 0:
            out[cuda.blockIdx.x] = sums[0]

    return {"saxpy": saxpy, "mandelbrot": mandelbrot, "matmul": matmul, "hash_reduce": hash_reduce}


def main() -> None:
    """Run the launches that stdin describes."""
    launches, repeat = pickle.load(sys.stdin.buffer)
    out: dict[str, tuple[list[float], list[Any]]] = {}
    written = kernels()
    np.seterr(over="ignore")
    for name, grid, block, args in launches:
        times: list[float] = []
        first: list[Any] = []
        for _ in range(repeat):
            own = [v.copy() if isinstance(v, np.ndarray) else v for v in args]
            started = time.perf_counter()
            written[name][grid, block](*own)
            times.append(time.perf_counter() - started)
            first = first or [v for v in own if isinstance(v, np.ndarray)]
        out[name] = times, first
    sys.stdout.buffer.write(pickle.dumps(out))


if __name__ == "__main__":
    main()
