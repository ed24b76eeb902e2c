"""Hash thread numbers and add up the results of each block: python examples/python/hash_reduce.py."""

import numpy as np

import isakit


@isakit.kernel
def hash_reduce(out: "u32p", seed: "u32", rounds: "i32"):
    sums = shared(u32, 256)
    t = thread.x
    h = (u32(block.x * 256 + t) + seed) | 1
    for _ in range(rounds):
        h ^= h << 13
        h ^= h >> 17
        h ^= h << 5
    sums[t] = h
    sync()
    half = 128
    while half > 0:
        if t < half:
            h += sums[t + half]
            sums[t] = h
        sync()
        half >>= 1
    if t == 0:
        out[block.x] = h


if __name__ == "__main__":
    out = np.zeros(4, np.uint32)
    hash_reduce[4, 256](out, 5, 128)
    x = (np.arange(1024, dtype=np.uint32) + np.uint32(5)) | 1
    for _ in range(128):
        x ^= x << 13
        x ^= x >> 17
        x ^= x << 5
    assert (out == x.reshape(4, 256).sum(1, dtype=np.uint32)).all()
    print("equal to NumPy:", out)
