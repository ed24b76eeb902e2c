"""Run a kernel, look at its picture, and at every bit of one of its instructions: `python examples/quickstart.py`.

The picture is also written to `mandelbrot.png` where that is asked for: `python examples/quickstart.py mandelbrot.png`.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import isakit
from isakit.tesla import png

HERE = Path(__file__).resolve().parent
WIDTH, LIMIT = 64, 64
LEFT, TOP, SIZE = -2.2, -1.5, 3.0
SHADES = " .,:;=+*oxOX%#@"


def main() -> None:
    isa = isakit.isa("tesla", "gt200")
    program = isa.assemble((HERE / "tesla" / "mandelbrot.s").read_text())
    print(f"mandelbrot.s assembles to {len(program)} instructions, {len(program.to_bytes())} bytes.\n")

    device = isakit.Device("gt200")
    turns = np.zeros((WIDTH, WIDTH), np.uint32)
    kernel = device.load(program)["mandelbrot"]
    numbers = np.float32(LEFT), np.float32(TOP), np.float32(SIZE / WIDTH)
    stats = kernel[(WIDTH // 16, WIDTH // 16), (16, 16)](turns, WIDTH, LIMIT, *numbers)
    for row in turns[::2]:
        print("".join(SHADES[min(int(n), LIMIT) * (len(SHADES) - 1) // LIMIT] for n in row))
    print(
        f"\n{turns.size} threads on a simulated {device.chip}: {stats.warp_instructions} warp instructions "
        f"in {stats.seconds * 1000:.1f} ms"
    )

    chosen = next(i for i in program if i.text.startswith("set $c0"))
    print(f"\nEvery bit of `{chosen.text}`, which ends the loop:\n")
    print(isa.explain(chosen.text))

    different = int((turns != reference()).sum())
    print(f"\n{different} pixels differ from NumPy")
    if len(sys.argv) > 1:
        grey = (255 * turns // LIMIT).astype(np.uint8)
        picture = np.dstack([grey, grey // 2, 255 - grey, np.full_like(grey, 255)]).repeat(8, 0).repeat(8, 1)
        Path(sys.argv[1]).write_bytes(png(picture))
        print(f"the picture is in {sys.argv[1]}")
    if different:
        raise SystemExit("the result is wrong")
    print("\nNext: `. .venv/bin/activate`, then `isakit web --open`; or README.md for other ways to begin.")


def reference() -> np.ndarray:
    """The same in NumPy."""
    step = np.float32(SIZE / WIDTH)
    re = (np.float32(LEFT) + np.arange(WIDTH, dtype=np.float32) * step)[None, :]
    im = (np.float32(TOP) + np.arange(WIDTH, dtype=np.float32) * step)[:, None]
    x, y = np.zeros((2, WIDTH, WIDTH), np.float32)
    turns, inside = np.zeros((WIDTH, WIDTH), np.uint32), np.ones((WIDTH, WIDTH), bool)
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in range(LIMIT):
            a, b = x * x, y * y
            inside &= ~(a + b > 4)
            turns += inside
            x, y = (a - b) + re, (x + x) * y + im
    return turns


if __name__ == "__main__":
    main()
