"""Kernels in Python: a sum of scaled vectors, and a reduction in shared memory.

python examples/python/saxpy.py
isakit cc examples/python/saxpy.py            (shows the machine code, with the Python lines it comes from)
"""

import numpy as np

import isakit


@isakit.kernel
def saxpy(n: "i32", a: "f32", x: "f32p", y: "f32p"):
    i = block.x * block_dim.x + thread.x
    if i < n:
        y[i] = a * x[i] + y[i]


@isakit.kernel
def reduce(x: "f32p", out: "f32p"):
    s = shared(f32, 256)
    t = thread.x
    s[t] = x[block.x * block_dim.x + t]
    sync()
    k = 128
    while k > 0:
        if t < k:
            s[t] += s[t + k]
        sync()
        k = k >> 1
    if t == 0:
        out[block.x] = s[0]


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    x, y = rng.random(1024, np.float32), rng.random(1024, np.float32)
    want = np.float32(2) * x + y
    saxpy[8, 128](1024, 2.0, x, y)
    assert (y == want).all()
    out = np.zeros(4, np.float32)
    reduce[4, 256](x, out)
    assert np.allclose(out, x.reshape(4, 256).sum(1))
    print("saxpy: equal to NumPy; sums:", *out)
