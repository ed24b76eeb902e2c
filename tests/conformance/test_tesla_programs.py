"""Whole compiled kernels with the memory they leave behind, bit for bit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from isakit.errors import LaunchError
from isakit.runtime import Device

PROGRAMS = ("vecadd_int", "vecadd_float", "matmul_tiled", "nn_distance", "exp2", "log2")
MEMORY_WORDS = 0x8000


def words(texts: list[str]) -> np.ndarray:
    return np.array([int(t, 16) for t in texts], np.uint32)


def image(pieces: list[dict[str, Any]]) -> np.ndarray:
    out = np.zeros(MEMORY_WORDS, np.uint32)
    for p in pieces:
        out[p["address"] // 4 :][: len(p["words"])] = words(p["words"])
    return out


def loaded(device: Device, record: dict[str, Any]) -> Any:
    code = [int(w, 16) for w in record["words"]]
    kernel = device.load(code, registers=record["registers"], shared=record["shared_bytes"])["main"]
    kernel.constants = {1: bytes.fromhex(record["c1"])}
    return kernel


def run(shared: Path, name: str, **options: Any) -> tuple[np.ndarray, np.ndarray]:
    """(memory after the run, memory as it should be)."""
    record = json.loads((shared / "corpus/tesla/programs" / f"{name}.json").read_text())
    device = Device("g80", engine="reference", **options)
    kernel = loaded(device, record)
    memory = device.alloc(4 * MEMORY_WORDS)
    before = image(record["global_in"])
    device.write(memory, before)
    device.bind(14, memory)
    kernel.launch(record["grid"], record["block"], param_bytes=words(record["params"]).tobytes(), limits=False)
    expected = before.copy()
    for p in record["global_expected"]:
        expected[p["address"] // 4 :][: len(p["words"])] = words(p["words"])
    return device.read(memory, np.uint32, MEMORY_WORDS), expected


@pytest.mark.parametrize("name", PROGRAMS)
def test_memory_after_the_run(shared: Path, name: str) -> None:
    got, expected = run(shared, name)
    assert np.array_equal(got, expected)


def test_block_size_limit_of_the_chip(shared: Path) -> None:
    record = json.loads((shared / "corpus/tesla/programs/matmul_tiled.json").read_text())
    device = Device("g80", engine="reference")
    with pytest.raises(LaunchError, match="1024 threads per block"):
        loaded(device, record).launch(record["grid"], record["block"])
