"""The Mandelbrot set, one pixel per thread: `python examples/tesla/mandelbrot.py [width] [file.pgm]`."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import isakit

SOURCE = Path(__file__).with_suffix(".s")
SHADES = " .:-=+*#%@"


def mandelbrot(
    device: isakit.Device, width: int, limit: int = 256, left: float = -2.0, top: float = -1.25, size: float = 2.5
) -> tuple[np.ndarray, object]:
    """Turns before every pixel of a `width` x `width` picture leaves the circle, and the statistics of the launch."""
    if width % 16:
        raise ValueError("the width must be a multiple of 16")
    program = isakit.isa("tesla", device.chip).assemble(SOURCE.read_text())
    kernel = device.load(program)["mandelbrot"]
    out = np.zeros((width, width), np.uint32)
    grid = width // 16, width // 16
    stats = kernel[grid, (16, 16)](out, width, limit, np.float32(left), np.float32(top), np.float32(size / width))
    return out, stats


def main() -> None:
    width = int(sys.argv[1]) if len(sys.argv) > 1 else 256
    out, stats = mandelbrot(isakit.Device("gt200"), width)
    step = max(1, width // 64)
    for row in out[:: 2 * step, ::step]:
        print("".join(SHADES[min(len(SHADES) - 1, int(n).bit_length())] for n in row))
    print(stats)
    if len(sys.argv) > 2:
        grey = np.minimum(out, 255).astype(np.uint8)
        Path(sys.argv[2]).write_bytes(b"P5 %d %d 255\n" % (width, width) + grey.tobytes())


if __name__ == "__main__":
    main()
