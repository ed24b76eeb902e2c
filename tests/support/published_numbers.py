"""Numbers that NVIDIA has published, for generators of the library and in kernels."""

from __future__ import annotations

from isakit.hosts.cuda.libraries.random_numbers import Mrg32k3a, Xorwow

# Printed by NVIDIA's samples of cuRAND, seed 1234; normal numbers have the mean 1 and the deviation 2.
UNIFORM = {
    Xorwow: "0.145468 0.820181 0.550399 0.294830 0.914733 0.868979 0.321921 0.782857 0.011302 0.285450",
    Mrg32k3a: "0.786752 0.152112 0.934182 0.986567 0.988028 0.304493 0.926525 0.432048 0.346986 0.840585",
}
NORMAL = {
    Xorwow: "2.561947 -2.603156 0.438303 2.127093 -1.022666 1.828079 3.916651 -0.124273 0.702847 0.209629",
    Mrg32k3a: "0.278692 -0.182563 -2.437073 -0.803224 1.687799 1.267587 1.275932 1.179040 0.875920 1.284532",
}
