"""A product of matrices with tiles in shared memory: python examples/python/matmul.py."""

import numpy as np

import isakit


@isakit.kernel
def matmul(a: "f32p", b: "f32p", c: "f32p", n: "i32"):
    tile_a = shared(f32, 256)
    tile_b = shared(f32, 256)
    x = thread.x
    y = thread.y
    row = block.y * 16 + y
    column = block.x * 16 + x
    total = 0.0
    for tile in range(0, n, 16):
        tile_a[y * 16 + x] = a[row * n + tile + x]
        tile_b[y * 16 + x] = b[(tile + y) * n + column]
        sync()
        for k in range(16):
            total = mad(tile_a[y * 16 + k], tile_b[k * 16 + x], total)
        sync()
    c[row * n + column] = total


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    a, b = rng.random((64, 64), np.float32), rng.random((64, 64), np.float32)
    c = np.zeros_like(a)
    print(matmul[(4, 4), (16, 16)](a, b, c, 64))
    assert np.allclose(c, a @ b, rtol=1e-4)
