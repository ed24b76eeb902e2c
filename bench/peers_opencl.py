"""The four example kernels in OpenCL C, run by PoCL on the same processor, for bench/engines.py.

Needs pyopencl and PoCL (`pip install "pyopencl[pocl]"`, or a system's packages). Arguments are those of the Tesla
kernels, in the same order; so are grid and block. It runs in a process of its own: PoCL brings an LLVM, which does not
get along with llvmlite's.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

SOURCE = """
kernel void saxpy(uint n, float a, global const float *x, global float *y)
{
    uint i = get_global_id(0);
    if (i < n)
        y[i] = a * x[i] + y[i];
}

kernel void mandelbrot(global uint *out, uint width, uint limit, float left, float top, float step)
{
    uint column = get_global_id(0), row = get_global_id(1);
    float cx = left + column * step, cy = top + row * step, x = 0, y = 0;
    uint n = 0;
    do {
        float xx = x * x, yy = y * y;
        if (xx + yy > 4.0f)
            break;
        y = (x + x) * y + cy;
        x = xx - yy + cx;
        n++;
    } while (n < limit);
    out[row * width + column] = n;
}

kernel void matmul(global const float *a, global const float *b, global float *c, uint n)
{
    local float left[16][16], right[16][16];
    uint x = get_local_id(0), y = get_local_id(1), column = get_global_id(0), row = get_global_id(1);
    float sum = 0;
    for (uint tile = 0; tile < n; tile += 16) {
        left[y][x] = a[row * n + tile + x];
        right[y][x] = b[(tile + y) * n + column];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint k = 0; k < 16; k++)
            sum += left[y][k] * right[k][x];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    c[row * n + column] = sum;
}

kernel void hash_reduce(global uint *out, uint seed, uint rounds)
{
    local uint sums[256];
    uint t = get_local_id(0), h = (get_global_id(0) + seed) | 1;
    for (uint r = 0; r < rounds; r++) {
        h ^= h << 13;
        h ^= h >> 17;
        h ^= h << 5;
    }
    sums[t] = h;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint part = 128; part; part >>= 1) {
        if (t < part)
            sums[t] += sums[t + part];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (t == 0)
        out[get_group_id(0)] = sums[0];
}
"""


class PoCL:
    """The kernels on so many cores of the processor. Raises LookupError where PoCL is missing."""

    def __init__(self, threads: int) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, far = context.Pipe()
        context.Process(target=_serve, args=(far, threads), daemon=True).start()
        far.close()
        found, what = self._receive()
        if not found:
            raise LookupError(what)
        self.version = what

    def _receive(self) -> Any:
        try:
            return self.pipe.recv()
        except EOFError:
            raise LookupError("the process with PoCL died") from None

    def prepared(
        self, name: str, grid: Sequence[int], block: Sequence[int], args: Sequence[Any]
    ) -> tuple[Callable[[], float], Callable[[], list[np.ndarray[Any, Any]]]]:
        """A launch whose arguments are in place, which returns its seconds; and what is in the arrays afterwards."""
        self.pipe.send(("prepare", (name, grid, block, args)))
        number = self._receive()

        def ask(what: str) -> Any:
            self.pipe.send((what, number))
            return self._receive()

        return lambda: ask("launch"), lambda: ask("results")


def _serve(pipe: Connection, threads: int) -> None:
    """Answer a PoCL of another process until it goes away."""
    try:
        here = _Kernels(threads)
    except (ImportError, LookupError) as e:
        pipe.send((False, str(e)))
        return
    pipe.send((True, here.version))
    launches: list[_Prepared] = []
    while True:
        try:
            what, arguments = pipe.recv()
        except EOFError:
            return
        if what == "prepare":
            launches.append(_Prepared(here, *arguments))
            pipe.send(len(launches) - 1)
        else:
            pipe.send(getattr(launches[arguments], what)())


class _Kernels:
    """The compiled source on some cores."""

    def __init__(self, threads: int) -> None:
        import pyopencl as cl

        self.cl = cl
        try:
            platforms = cl.get_platforms()
        except cl.LogicError as e:
            raise LookupError(f"no OpenCL platform: {e}") from e
        devices = [d for p in platforms if "Portable" in p.name for d in p.get_devices(cl.device_type.CPU)]
        if not devices:
            raise LookupError("pyopencl finds no PoCL")
        self.version = devices[0].platform.version
        self.clock = time.process_time if threads == 1 else time.perf_counter
        device = devices[0]
        if threads < device.max_compute_units:
            (device,) = device.create_sub_devices([cl.device_partition_property.BY_COUNTS, threads, 0])[:1]
        self.context = cl.Context([device])
        self.queue = cl.CommandQueue(self.context)
        self.program = cl.Program(self.context, SOURCE).build()


class _Prepared:
    """A launch with its buffers."""

    def __init__(
        self, kernels: _Kernels, name: str, grid: Sequence[int], block: Sequence[int], args: Sequence[Any]
    ) -> None:
        cl, flags = kernels.cl, kernels.cl.mem_flags
        self.cl, self.queue, self.clock = cl, kernels.queue, kernels.clock
        self.arrays = [v for v in args if isinstance(v, np.ndarray)]
        self.buffers = [
            cl.Buffer(kernels.context, flags.READ_WRITE | flags.COPY_HOST_PTR, hostbuf=v) for v in self.arrays
        ]
        places = iter(self.buffers)
        self.kernel = cl.Kernel(kernels.program, name)
        self.kernel.set_args(*(next(places) if isinstance(v, np.ndarray) else v for v in args))
        dims = 2 if block[1] > 1 else 1
        self.block = tuple(block)[:dims]
        self.size = tuple(g * b for g, b in zip(grid, block, strict=True))[:dims]

    def launch(self) -> float:
        """Run it; returns seconds: of the processor with one thread, else on the wall."""
        started = self.clock()
        self.cl.enqueue_nd_range_kernel(self.queue, self.kernel, self.size, self.block)
        self.queue.finish()
        return self.clock() - started

    def results(self) -> list[np.ndarray[Any, Any]]:
        """The arrays among the arguments, as they are now."""
        out = [np.empty_like(v) for v in self.arrays]
        for v, b in zip(out, self.buffers, strict=True):
            self.cl.enqueue_copy(self.queue, v, b)
        return out
