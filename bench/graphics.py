"""A 512 x 512 picture with a textured fragment program of 40 instructions.

Run it: `python bench/graphics.py [repetitions]`. Prints the time of `Pipeline.draw`, everything included, as a Markdown
table: the first call (which prepares the programs) and the median and quartiles of later ones, for one thread and two.
The picture is compared with one drawn warp by warp on a small size first.
"""

from __future__ import annotations

import statistics
import sys
import time

import numpy as np

from isakit.machine.tesla.graphics import pipeline as module
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


def draw(size: int, threads: int) -> tuple[Pipeline, float]:
    """The picture and the seconds it took."""
    levels = [np.random.default_rng(n).integers(0, 256, (256 >> n, 256 >> n, 4)).astype(np.uint8) for n in range(9)]
    bound = {0: (Texture(levels), Sampler(wrap="repeat", mag="linear", min="linear", mip="linear"))}
    position = np.array([[-1, -1, 0, 1], [1.5, -1, 0, 1.5], [-1, 1, 0, 1], [2, 2, 0, 2]], np.float32)
    coordinate = np.array([[0, 0], [4, 0], [0, 4], [4, 4]], np.float32)
    vertex = VertexShader(VERTEX)
    fragment = FragmentShader(FRAGMENT, inputs=["w", (4, "perspective"), (5, "perspective")])
    pipeline = Pipeline(size, size, threads=threads)
    started = time.perf_counter()
    pipeline.draw("triangle_strip", vertex, fragment, [position, coordinate], textures=bound)
    return pipeline, time.perf_counter() - started


def check() -> None:
    """The same pixels, whatever runs together."""
    lanes, module.LANES = module.LANES, 32
    alone = draw(32, 1)[0].image()
    module.LANES = lanes
    assert (alone == draw(32, 1)[0].image()).all()


def main() -> None:
    """Print the table."""
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    check()
    print("| threads | first | median | quartiles | Mpixel/s |")
    print("|---|---|---|---|---|")
    for threads in (1, 2):
        first = draw(512, threads)[1]
        times = sorted(draw(512, threads)[1] for _ in range(repetitions))
        low, median, high = statistics.quantiles(times, n=4)
        speed = 512 * 512 / median / 1e6
        print(f"| {threads} | {first:.3f} s | {median:.3f} s | {low:.3f} - {high:.3f} s | {speed:.2f} |")


if __name__ == "__main__":
    main()
