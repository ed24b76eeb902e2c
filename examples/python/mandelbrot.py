"""Iterations until z = z*z + c leaves the circle of radius 2: python examples/python/mandelbrot.py."""

import numpy as np

import isakit


@isakit.kernel
def mandelbrot(out: "u32p", width: "i32", limit: "i32", left: "f32", top: "f32", step: "f32"):
    x = block.x * 16 + thread.x
    y = block.y * 16 + thread.y
    cr = left + f32(x) * step
    ci = top + f32(y) * step
    re = 0.0
    im = 0.0
    n = 0
    while n < limit:
        r2 = re * re
        i2 = im * im
        if r2 + i2 > 4.0:
            break
        im = (re + re) * im + ci
        re = r2 - i2 + cr
        n += 1
    out[y * width + x] = n


if __name__ == "__main__":
    width = 64
    out = np.zeros((width, width), np.uint32)
    mandelbrot[(4, 4), (16, 16)](out, width, 100, -2.0, -1.25, 2.5 / width)
    for row in out[::4, ::2]:
        print("".join(" .:-=+*#%@"[min(9, int(v).bit_length())] for v in row))
