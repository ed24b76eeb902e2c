"""How fast the engines run Tesla kernels, beside C compiled for the host, in one run.

Four kernels (examples/tesla): saxpy, mandelbrot, a tiled matrix product, a hash with a tree reduction. All ways take
turns; the table has medians and quartiles, of processor time where one thread works, so that other work on the machine
disturbs little, else of time on the wall. Rates are thread instructions per second; for a peer the kernel's
instructions divided by its time. Results are compared with the reference engine at a small size first.

Peers: gcc -O3, vectors in C, PoCL (through pyopencl) and, at a tiny size, numba's CUDA simulator, where each is
installed.

Usage: bench/engines.py [--repeat N] [--small] [--scaling FILE.svg] [--threads N]
"""

from __future__ import annotations

import argparse
import ctypes
import math
import os
import platform
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import peers_numba
import peers_opencl

import isakit

HERE = Path(__file__).resolve().parent
EXAMPLES = HERE.parent / "examples" / "tesla"
u32, f32 = np.uint32, np.float32


@dataclass
class Case:
    """One kernel at one size: its launch, and how C computes the same."""

    name: str
    grid: tuple[int, int]
    block: tuple[int, int]
    args: list[Any]
    in_c: dict[str, Callable[[], object]]


def compiled_peers() -> Any:
    """The C functions, or None without a compiler."""
    gcc = shutil.which("gcc")
    if gcc is None:
        return None
    out = Path(tempfile.mkdtemp()) / "peers.so"
    flags = ["-O3", "-march=native", "-mprefer-vector-width=512", "-ffp-contract=off", "-shared", "-fPIC"]
    subprocess.run([gcc, *flags, str(HERE / "engines_peers.c"), "-o", str(out)], check=True)
    return ctypes.CDLL(str(out))


SIZES = {"full": (1 << 20, 512, 256, 256, 256, 128), "small": (1 << 14, 64, 256, 64, 8, 128)}
SIZES["tiny"] = 1 << 10, 16, 32, 16, 1, 16
"""Elements of saxpy, side and limit of mandelbrot, side of matmul, blocks and rounds of hash_reduce."""


def cases(size: str, lib: Any) -> list[Case]:
    """The four kernels."""
    rng = np.random.default_rng(1)
    n, w, limit, m, blocks, rounds = SIZES[size]
    x, y = rng.standard_normal(n).astype(f32), rng.standard_normal(n).astype(f32)
    a, b = (rng.standard_normal(m * m).astype(f32) for _ in range(2))
    out, square, sums = np.zeros(w * w, u32), np.zeros(m * m, f32), np.zeros(blocks, u32)
    view = (f32(-2), f32(-1.5), f32(3 / w))
    floats = [ctypes.c_float(v) for v in view]

    def p(array: np.ndarray) -> ctypes.c_void_p:
        return ctypes.c_void_p(array.ctypes.data)

    def peers(**calls: Callable[[], object]) -> dict[str, Callable[[], object]]:
        return {} if lib is None else dict(calls)

    return [
        Case(
            "saxpy", (n // 256, 1), (256, 1), [u32(n), f32(2), x, y],
            peers(gcc=lambda: lib.saxpy(n, ctypes.c_float(2), p(x), p(y))),
        ),
        Case(
            "mandelbrot", (w // 16, w // 16), (16, 16), [out, u32(w), u32(limit), *view],
            peers(
                gcc=lambda: lib.mandelbrot(p(out), w, limit, *floats),
                vector=lambda: lib.mandelbrot_vector(p(out), w, limit, *floats),
            ),
        ),
        Case(
            "matmul", (m // 16, m // 16), (16, 16), [a, b, square, u32(m)],
            peers(gcc=lambda: lib.matmul(p(a), p(b), p(square), m)),
        ),
        Case(
            "hash_reduce", (blocks, 1), (256, 1), [sums, u32(5), u32(rounds)],
            peers(gcc=lambda: lib.hash_reduce(p(sums), blocks, 5, rounds)),
        ),
    ]  # fmt: skip


class Prepared:
    """A kernel with its arguments already on a device: a launch copies nothing."""

    def __init__(self, case: Case, engine: str, **how: Any) -> None:
        self.case = case
        self.device = isakit.Device("gt200", engine=engine, **how)  # type: ignore[arg-type]
        source = (EXAMPLES / f"{case.name}.s").read_text()
        self.kernel = self.device.load(isakit.isa("tesla", "gt200").assemble(source))[case.name]
        self.args: list[Any] = []
        for v in case.args:
            if isinstance(v, np.ndarray):
                buffer = self.device.alloc(v.nbytes)
                self.device.write(buffer, v)
                v = buffer
            self.args.append(v)

    def __call__(self) -> Any:
        return self.kernel[self.case.grid, self.case.block](*self.args)

    def results(self) -> list[bytes]:
        """What is in the buffers."""
        return [self.device.read(b, u32, b.nbytes // 4).tobytes() for b in self.args if hasattr(b, "address")]


def quartiles(values: list[float]) -> tuple[float, float, float]:
    """First quartile, median, third."""
    low, mid, high = statistics.quantiles(values, n=4)
    return low, mid, high


def check() -> None:
    """Every tier computes what the reference engine does."""
    for case in cases("small", None):
        wanted: list[bytes] | None = None
        for engine, how in (("reference", {}), ("llvm", {"tier": "interp"}), ("llvm", {"tier": "jit"})):
            run = Prepared(case, engine, **how)
            run()
            wanted = wanted or run.results()
            assert run.results() == wanted, f"{case.name} on {engine} {how}"


def pocl(threads: set[int]) -> dict[str, peers_opencl.PoCL]:
    """PoCL on so many cores, by the name of the way; checked, and empty where it is not installed."""
    try:
        found = {f"PoCL, {counted(t)}": peers_opencl.PoCL(t) for t in sorted(threads)}
    except LookupError as e:
        print(f"PoCL: left out ({e})\n")
        return {}
    for name, peer in found.items():
        for case in cases("small", None):
            launch, results = peer.prepared(case.name, case.grid, case.block, case.args)
            launch()
            check_peer(name, case, results())
        print(f"{name}: {peer.version}\n")
    return found


def check_peer(name: str, case: Case, arrays: list[np.ndarray[Any, Any]]) -> None:
    """A peer rounds ordinarily: floats must be close, and few pixels may take another number of turns."""
    run = Prepared(case, "reference")
    run()
    for got, raw in zip(arrays, run.results(), strict=True):
        wanted = np.frombuffer(raw, got.dtype)
        if case.name == "mandelbrot":
            assert (got != wanted).mean() < 0.01, f"{case.name} by {name}"
        elif got.dtype == f32:
            np.testing.assert_allclose(got, wanted, rtol=1e-3, atol=1e-4, err_msg=f"{case.name} by {name}")
        else:
            assert np.array_equal(got, wanted), f"{case.name} by {name}"


def counted(threads: int) -> str:
    """`1 thread`, `2 threads`."""
    return f"{threads} thread{'s' * (threads > 1)}"


def table(repeat: int, size: str, threads: int) -> dict[str, dict[str, float]]:
    """The comparison; returns thread instructions per second of every kernel and way."""
    rates: dict[str, dict[str, float]] = {}
    peers = pocl({1, threads})
    print("| kernel | way | ms (quartiles) | G thread-instr/s | x gcc | x vector C | x PoCL |")
    print("|---|---|---|---|---|---|---|")
    for case in cases(size, compiled_peers()):
        ways: dict[str, Callable[[], object]] = dict(case.in_c)
        for name, peer in peers.items():
            ways[name] = peer.prepared(case.name, case.grid, case.block, case.args)[0]
        for tier in ("interp", "jit"):
            for t in sorted({1, threads}):
                ways[f"{tier}, {counted(t)}"] = Prepared(case, "llvm", tier=tier, threads=t)
        count = 0
        for call in ways.values():
            stats = call()  # compiles
            count = max(count, getattr(stats, "instructions", 0))
        times: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(repeat):
            for name, call in ways.items():
                clock = time.perf_counter if name.endswith("threads") else time.process_time
                started = clock()
                own = call()
                times[name].append(own if isinstance(own, float) else clock() - started)
        medians = {name: quartiles(t)[1] for name, t in times.items()}
        for name in ways:
            low, mid, high = quartiles(times[name])
            same = f"PoCL, {counted(threads if name.endswith('threads') else 1)}"
            ratios = [f"{medians[c] / mid:.2f}" if c in medians else "-" for c in ("gcc", "vector", same)]
            rate = f"{count / mid / 1e9:.2f}"
            rates.setdefault(case.name, {})[name] = count / mid
            print(
                f"| {case.name} | {name} | {1e3 * mid:.2f} ({1e3 * low:.2f}-{1e3 * high:.2f}) | {rate} | "
                f"{' | '.join(ratios)} |"
            )
    return rates


def simulator(repeat: int, rates: dict[str, dict[str, float]]) -> None:
    """numba's CUDA simulator, whose time is proportional to its work: its rate at a tiny size beside `rates`."""
    chosen = cases("tiny", None)
    try:
        found = peers_numba.measured([(c.name, c.grid, c.block, c.args) for c in chosen], repeat)
    except LookupError as e:
        print(f"\nnumba's CUDA simulator: left out ({e})")
        return
    print("\n| kernel, tiny | instructions | numba's simulator ms | instr/s | interp x numba | JIT x numba |")
    print("|---|---|---|---|---|---|")
    for case in chosen:
        times, arrays = found[case.name]
        check_peer("numba", case, arrays)
        count, time_taken = Prepared(case, "reference")().instructions, statistics.median(times)
        rate = count / time_taken
        ratios = [f"{rates[case.name][f'{tier}, 1 thread'] / rate:,.0f}" for tier in ("interp", "jit")]
        print(f"| {case.name} | {count} | {1e3 * time_taken:.0f} | {rate:,.0f} | {' | '.join(ratios)} |")


def compile_times() -> None:
    """Compilation per instruction, and the time until a kernel found in the cache can run."""
    from isakit.machine.tesla.compiled.launch import compiled_kernels as kernels

    print("\n| kernel | instructions | cold JIT ms | per instruction | cached JIT ms | cached interpreter ms |")
    print("|---|---|---|---|---|---|")
    for case in cases("small", None):
        with tempfile.TemporaryDirectory() as folder:
            os.environ["ISAKIT_CACHE"] = folder
            row: list[float] = []
            for how in ({"tier": "jit"}, {"tier": "jit"}, {"tier": "interp"}, {"tier": "interp"}):
                run = Prepared(case, "llvm", **how)
                launch = run.kernel._launch(case.grid, case.block, b"\0" * 64, None, None, 0)
                started = time.perf_counter()
                kernel = kernels.kernel_of(launch, how["tier"])
                row.append(1e3 * (time.perf_counter() - started))
            n = len(kernel.flow.steps)
            print(f"| {case.name} | {n} | {row[0]:.0f} | {row[0] / n:.1f} | {row[1]:.1f} | {row[3]:.1f} |")
    os.environ.pop("ISAKIT_CACHE", None)


def scaling(path: Path) -> None:
    """Processor time of one thread against the number of threads of the grid, 10^3 to 10^7, as a picture."""
    series: dict[str, list[tuple[float, float]]] = {}
    for tier in ("interp", "jit"):
        for e in range(10, 25, 2):
            n = 1 << e
            arrays = [np.ones(n, f32), np.ones(n, f32)]
            case = Case("saxpy", (min(n // 256, 1 << 15), max(1, n >> 23)), (256, 1), [u32(n), f32(2), *arrays], {})
            run = Prepared(case, "llvm", tier=tier, threads=1)
            run()
            times: list[float] = []
            for _ in range(51 if n < 1 << 18 else 7):
                started = time.process_time()
                run()
                times.append(time.process_time() - started)
            series.setdefault(tier, []).append((n, statistics.median(times)))
            print(f"{tier} {n} threads: {1e3 * statistics.median(times):.3f} ms")
        (n0, t0), *_, (n1, t1) = series[tier]
        slope = (t1 - t0) / (n1 - n0)
        fixed = t0 - slope * n0
        off = max(abs(t / (fixed + slope * n) - 1) for n, t in series[tier])
        print(
            f"{tier}: {1e3 * fixed:.2f} ms and {1e9 * slope:.2f} ns per thread; no point is further off than {off:.0%}"
        )
    path.write_text(picture(series))


def picture(series: dict[str, list[tuple[float, float]]]) -> str:
    """A log-log plot."""
    everything = [p for points in series.values() for p in points]
    x0, x1 = (f(math.log10(x) for x, _ in everything) for f in (min, max))
    y0, y1 = (f(math.log10(y) for _, y in everything) for f in (min, max))

    def at(x: float, y: float) -> tuple[float, float]:
        return 70 + 540 * (math.log10(x) - x0) / (x1 - x0), 330 - 290 * (math.log10(y) - y0) / (y1 - y0)

    lines = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 380" font-family="sans-serif" font-size="12">']
    lines.append('<rect width="640" height="380" fill="white"/>')
    for e in range(math.ceil(x0), math.floor(x1) + 1):
        x, _ = at(10**e, 10**y0)
        lines.append(f'<path d="M{x:.0f} 30V335" stroke="#ddd"/><text x="{x:.0f}" y="352">10^{e}</text>')
    for e in range(math.ceil(y0), math.floor(y1) + 1):
        _, y = at(10**x0, 10**e)
        lines.append(f'<path d="M65 {y:.0f}H615" stroke="#ddd"/><text x="12" y="{y:.0f}">{10**e * 1e3:g} ms</text>')
    for (name, points), colour in zip(series.items(), ("#1f77b4", "#d62728"), strict=False):
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in (at(*p) for p in points))
        x, y = at(*points[-1])
        lines.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        lines.append(f'<text x="{x - 40:.0f}" y="{y - 8:.0f}" fill="{colour}">{name}</text>')
    lines.append('<text x="280" y="372">threads of the grid</text></svg>')
    return "\n".join(lines) + "\n"


def main() -> None:
    """Print everything."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=11)
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--threads", type=int, default=min(2, os.cpu_count() or 1))
    parser.add_argument("--scaling", type=Path)
    options = parser.parse_args()
    check()
    load = os.getloadavg()[0]
    print(f"{platform.machine()}, {os.cpu_count()} cores, load {load:.1f}, Python {platform.python_version()}\n")
    rates = table(options.repeat, "small" if options.small else "full", options.threads)
    simulator(min(3, options.repeat), rates)
    compile_times()
    if options.scaling is not None:
        scaling(options.scaling)


if __name__ == "__main__":
    main()
