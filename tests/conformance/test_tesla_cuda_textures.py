"""CUDA kernels that read textures, compiled by NVIDIA's compiler, against the algorithm in NumPy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import isakit
from conftest import shared_file
from isakit.tesla import Texture

BOX, KMEANS = "334be76b4abc.sm_10.cubin", "d6a3532a139e.sm_10.cubin"
ENGINES = ("reference", "llvm")
pytestmark = pytest.mark.corpus


def load(name: str, engine: str, tier: str = "auto") -> Any:
    path = shared_file(f"corpus/tesla/cubins/{name}")
    return isakit.Device("g80", engine=engine, tier=tier).load(isakit.load(path))


def box(image: np.ndarray, radius: int, axis: int) -> np.ndarray:
    """Mean of 2 * radius + 1 pixels along an axis, the border repeated."""
    pad = [(radius, radius) if k == axis else (0, 0) for k in range(image.ndim)]
    wide = np.pad(image, pad, mode="edge")
    n = image.shape[axis]
    return sum(np.take(wide, range(k, k + n), axis) for k in range(2 * radius + 1)) / (2 * radius + 1)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("axis", [0, 1])
def test_box_filter(engine: str, axis: int) -> None:
    """Columns and rows of a float image, point sampled with clamping; integers keep the running sum exact."""
    height, width, radius = 32, 64, 5
    image = np.random.default_rng(7).integers(0, 256, (height, width)).astype(np.float32)
    kernel = load(BOX, engine)[f"_Z17d_boxfilter_{'yx'[axis]}_texPfiii"]
    assert kernel.samplers == {"tex": 0}
    kernel.bind("tex", Texture(image, normalized=False))
    out = np.zeros((height, width), np.float32)
    lines = width if axis == 0 else height
    kernel[lines // 16, 16](out, np.int32(width), np.int32(height), np.int32(radius))
    expected = box(image.astype(float), radius, axis)
    assert np.allclose(out, expected, rtol=2e-7)


@pytest.mark.parametrize("engine", ENGINES)
def test_box_filter_of_colours(engine: str) -> None:
    """8-bit colours read as numbers from 0 to 1."""
    height, width, radius = 16, 48, 3
    image = np.random.default_rng(8).integers(0, 256, (height, width, 4)).astype(np.uint8)
    kernel = load(BOX, engine)["_Z18d_boxfilter_rgba_xPjiii"]
    kernel.bind("rgbaTex", Texture(image, normalized=False))
    out = np.zeros((height, width), np.uint32)
    kernel[1, height](out, np.int32(width), np.int32(height), np.int32(radius))
    got = out.view(np.uint8).reshape(height, width, 4).astype(int)
    assert np.abs(got - np.floor(box(image.astype(float), radius, 1))).max() <= 1


@pytest.mark.parametrize("engine", ENGINES)
def test_k_means(engine: str) -> None:
    """Every point goes to the nearest centre; points come from a linear texture, centres from constants."""
    features, points, clusters = 5, 512, 4
    rng = np.random.default_rng(9)
    data = rng.random((features, points)).astype(np.float32)
    centres = rng.random((clusters, features)).astype(np.float32)
    kernel = load(KMEANS, engine)["_Z11kmeansPointPfiiiPiS_S_S0_"]
    assert kernel.samplers == {"t_features": 0}
    kernel.bind("t_features", Texture(data.ravel(), target="buffer"))
    table = bytearray(max(len(kernel.constants.get(0, b"")), centres.nbytes))
    table[: centres.nbytes] = centres.tobytes()
    kernel.constants[0] = bytes(table)
    membership = np.full(points, -1, np.int32)
    sums, deltas = np.zeros(1 << 16, np.float32), np.zeros(1 << 12, np.int32)
    arguments = np.int32(features), np.int32(points), np.int32(clusters)
    kernel[points // 256, 256](data, *arguments, membership, centres, sums, deltas)
    distance = ((data.T[:, None, :] - centres[None]) ** 2).sum(axis=2)
    assert (membership == distance.argmin(axis=1)).all()


def left(engine: str, tier: str) -> list[bytes]:
    """What three kernels leave in memory, and how much they executed."""
    rng = np.random.default_rng(10)
    image = rng.random((64, 64)).astype(np.float32)
    colours = rng.integers(0, 256, (64, 64, 4)).astype(np.uint8)
    out: list[bytes] = []
    for name, texture, data in (
        ("_Z17d_boxfilter_x_texPfiii", "tex", image),
        ("_Z17d_boxfilter_y_texPfiii", "tex", image),
        ("_Z18d_boxfilter_rgba_xPjiii", "rgbaTex", colours),
    ):
        kernel = load(BOX, engine, tier)[name]
        kernel.bind(texture, Texture(data, normalized=False))
        result = np.zeros((64, 64), np.uint32)
        stats = kernel[4, 16](result, np.int32(64), np.int32(64), np.int32(4))
        out += [result.tobytes(), f"{stats.instructions} {stats.warp_instructions}".encode()]
    return out


@pytest.mark.parametrize("tier", ["interp", "jit"])
def test_compiled_code_leaves_the_same_bits(tier: str) -> None:
    pytest.importorskip("llvmlite")
    assert left("llvm", tier) == left("reference", "auto")


@pytest.mark.parametrize("engine", ENGINES)
def test_an_unbound_texture_is_a_fault(engine: str) -> None:
    kernel = load(BOX, engine)["_Z17d_boxfilter_x_texPfiii"]
    with pytest.raises(isakit.MachineFault) as caught:
        kernel[1, 16](np.zeros((16, 16), np.float32), np.int32(16), np.int32(16), np.int32(1))
    assert caught.value.kind == "UNBOUND_TEXTURE"
    with pytest.raises(isakit.LaunchError, match="there are: tex"):
        kernel.bind("nothing", np.zeros((2, 2), np.float32))


def test_every_module_with_textures_lists_them(shared: Path) -> None:
    found = {}
    for path in sorted((shared / "corpus/tesla/cubins").glob("*.cubin")):
        module = isakit.load(str(path))
        for kernel in isakit.Device("gt200", engine="reference").load(module).values():
            found.update({(path.name, name): unit for name, unit in kernel.samplers.items()})
    assert len(found) == 18
    assert found[BOX, "rgbaTex"] == 0
