"""Runs histogram.cu on a simulated GT200. Needs a clang: python examples/cuda-c/histogram.py."""

from pathlib import Path

import numpy as np

from isakit import Device
from isakit.compile import compile_ptx
from isakit.compile.c import compile_c

if __name__ == "__main__":
    kernels = compile_ptx(compile_c(str(Path(__file__).with_name("histogram.cu")))).module
    data = np.random.default_rng(0).integers(0, 256, 4096).astype(np.uint8)
    counts = np.zeros(256, np.uint32)
    Device("gt200").load(kernels)["histogram"][4, 64](data, len(data), counts)
    assert (counts == np.bincount(data, minlength=256)).all()
    print("counts are those of NumPy")
