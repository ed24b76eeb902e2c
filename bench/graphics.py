"""A 512 x 512 picture with a textured fragment program of 40 instructions.

Run it: `python bench/graphics.py [repetitions]`. Prints the time of `Pipeline.draw`, everything included, as a Markdown
table: the first call (which prepares the programs) and the median and quartiles of later ones, for each engine with one
thread and two. The engines draw in turns. Times are of the processor, all threads together, and, in the last columns,
of the clock. The pictures of all engines are compared on a small size first, with one that was drawn warp by warp.
"""

from __future__ import annotations

import statistics
import sys
import time

import numpy as np

from isakit.graphics import pipeline as module
from isakit.object_cache import cache_folder
from isakit.tesla import FragmentShader, Pipeline, Sampler, Texture, VertexShader

VERTEX = "\n".join(f"mov b32 o[{4 * k:#x}] a[{4 * k:#x}]" for k in range(6)) + "\nexit (never) nop"
HEAD = """
    interp $r0 v[0x0]
    rcp f32 $r0 $r0
    interp $r4 v[0x4] $r0
    interp $r5 v[0x8] $r0
    mov b32 $r0 $r4
    mov b32 $r1 $r5
    texauto live $r0:$r1:$r2:$r3 $t0 $s0 $r0:$r1 0x0 0x0 0x0
"""
BODY = """
    add f32 $r6 (mul $r4 $r5) $r6
    mul rn f32 $r7 $r6 $r4
    add rn f32 $r6 $r7 $r5
    mul rn f32 $r0 $r0 $r6
"""
FRAGMENT = HEAD + 8 * BODY + "    exit add rn f32 $r0 $r0 $r6\n"
WAYS = (("reference", "auto"), ("llvm", "interp"), ("llvm", "jit"), ("auto", "auto"))


def draw(size: int, threads: int, engine: str, tier: str = "auto") -> tuple[Pipeline, float, float]:
    """The picture, and the seconds of processor and clock it took."""
    levels = [np.random.default_rng(n).integers(0, 256, (256 >> n, 256 >> n, 4)).astype(np.uint8) for n in range(9)]
    bound = {0: (Texture(levels), Sampler(wrap="repeat", mag="linear", min="linear", mip="linear"))}
    position = np.array([[-1, -1, 0, 1], [1.5, -1, 0, 1.5], [-1, 1, 0, 1], [2, 2, 0, 2]], np.float32)
    coordinate = np.array([[0, 0], [4, 0], [0, 4], [4, 4]], np.float32)
    vertex = VertexShader(VERTEX)
    fragment = FragmentShader(FRAGMENT, inputs=["w", (4, "perspective"), (5, "perspective")])
    pipeline = Pipeline(size, size, threads=threads, engine=engine, tier=tier)
    started = time.process_time(), time.perf_counter()
    pipeline.draw("triangle_strip", vertex, fragment, [position, coordinate], textures=bound)
    return pipeline, time.process_time() - started[0], time.perf_counter() - started[1]


def check() -> None:
    """The same pixels, whatever runs together, on every engine."""
    lanes, module.LANES = module.LANES, 32
    alone = draw(32, 1, "reference")[0].image()
    module.LANES = lanes
    for engine, tier in WAYS:
        assert (alone == draw(32, 1, engine, tier)[0].image()).all(), (engine, tier)


def main() -> None:
    """Print the table."""
    numbers = [int(a) for a in sys.argv[1:] if a.isdigit()]
    repetitions = numbers[0] if numbers else 7
    print(f"cache: {cache_folder()}\n")
    rows: dict[tuple[str, str, int], list[tuple[float, float]]] = {}
    for way in WAYS:  # what is made for one engine does not help the others
        for threads in (1, 2):
            rows[*way, threads] = [draw(512, threads, *way)[1:]]
    check()
    for _ in range(repetitions):
        for key, times in rows.items():
            engine, tier, threads = key
            times.append(draw(512, threads, engine, tier)[1:])
    print("| engine | tier | threads | first | median | quartiles | clock: first | median |")
    print("|---|---|---|---|---|---|---|---|")
    for (engine, tier, threads), times in rows.items():
        low, median, high = statistics.quantiles([t[0] for t in times[1:]], n=4)
        clock = statistics.median(t[1] for t in times[1:])
        print(
            f"| {engine} | {tier} | {threads} | {times[0][0]:.3f} s | {median:.3f} s | {low:.3f} - {high:.3f} s | "
            f"{times[0][1]:.3f} s | {clock:.3f} s |"
        )


if __name__ == "__main__":
    main()
