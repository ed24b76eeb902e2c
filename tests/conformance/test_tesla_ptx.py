"""Compiled kernels of early CUDA against an interpreter of the PTX they were compiled from."""

from __future__ import annotations

import struct
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import isakit
from conftest import shared_dir
from isakit.runtime import Device
from support.oracles.ptx import Kernel, Thread, Unsupported, parse, size_of

SPACE = 0x1000
POINTERS = 0x200  # a pointer parameter every so many bytes; they leave room on both sides
SEEDS = 3

NOT_COMPARED = {
    "readshared": "reads the launch header through a negative index",
    "readshared2": "reads the launch header through a negative index",
    "test21const": "uses an address in global memory as one in constant memory",
    "test27": "stores 16 bytes at an address that is no multiple of 16, and reads the clock",
    "test27a": "stores 16 bytes at an address that is no multiple of 16",
    "test27b": "stores 16 bytes at an address that is no multiple of 16",
}


@cache
def folder() -> Path | None:
    shared = shared_dir()
    return shared / "corpus/tesla/textcubins" if shared else None


def names() -> list[str]:
    where = folder()
    return sorted(p.stem for p in where.glob("*.ptx")) if where else []


def is_float(kernel: Kernel) -> bool:
    return any(i.mods and i.mods[-1] == "f32" for i in kernel.body) or "f32" in {t for t, _ in kernel.params.values()}


def arguments(kernel: Kernel, rng: np.random.Generator) -> bytes:
    """Parameter bytes: pointers spread over the space, small numbers for everything else."""
    data = bytearray(kernel.param_bytes)
    at = POINTERS
    for kind, offset in kernel.params.values():
        if kind.endswith("64"):
            value, at = at.to_bytes(8, "little"), at + POINTERS
        elif kind == "f32":
            value = struct.pack("<f", rng.uniform(0.5, 4))
        else:
            value = int(rng.integers(1, 100)).to_bytes(size_of(kind), "little")
        data[offset : offset + len(value)] = value
    return bytes(data)


def expected(kernel: Kernel, params: bytes, memory: bytes) -> np.ndarray:
    spaces = {"global": bytearray(memory), "shared": bytearray(0x1000), "local": bytearray(0x1000)}
    special = {"tid.x": 0, "tid.y": 0, "tid.z": 0, "ntid.x": 1, "ntid.y": 1, "ntid.z": 1, "ctaid.x": 0, "ctaid.y": 0,
               "nctaid.x": 1, "nctaid.y": 1, "nctaid.z": 1}  # fmt: skip
    Thread(kernel, params, spaces, special).run()
    return np.frombuffer(bytes(spaces["global"]), np.uint32)


def simulated(name: str, kernel: Kernel, params: bytes, memory: bytes) -> np.ndarray:
    where = folder()
    assert where is not None
    device = Device("g80", engine="reference")
    loaded = device.load(isakit.load(where / f"{name}.cubin"), local=0x1000)[kernel.name]
    buffer = device.alloc(SPACE)
    device.write(buffer, memory)
    device.bind(14, buffer)
    loaded.launch(1, 1, param_bytes=params, max_instructions=100_000, dynamic_shared=0x200)
    return device.read(buffer, np.uint32, SPACE // 4)


def agree(got: np.ndarray, want: np.ndarray, floats: bool) -> np.ndarray:
    """Equal words; results of floating point may differ by the approximations of the machine code."""
    if not floats:
        return got == want
    a, b = got.view(np.float32).astype(np.float64), want.view(np.float32).astype(np.float64)
    with np.errstate(invalid="ignore"):
        return (got == want) | np.isclose(a, b, rtol=1e-5, atol=1e-6) | (np.isnan(a) & np.isnan(b))


@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize("name", names() or [pytest.param("", marks=pytest.mark.skip("no conformance data"))])
def test_machine_code_does_what_its_ptx_says(name: str, seed: int) -> None:
    where = folder()
    assert where is not None
    if name in NOT_COMPARED:
        pytest.skip(NOT_COMPARED[name])
    try:
        kernel = parse((where / f"{name}.ptx").read_text())
        rng = np.random.default_rng(seed)
        floats = is_float(kernel)
        words: Any = (
            rng.uniform(0.25, 8, SPACE // 4).astype(np.float32) if floats else rng.integers(0, 60, SPACE // 4, np.int32)
        )
        memory, params = words.tobytes(), arguments(kernel, rng)
        want = expected(kernel, params, memory)
    except Unsupported as e:
        pytest.skip(f"not interpreted: {e}")
    same = agree(simulated(name, kernel, params, memory), want, floats)
    assert same.all(), f"words {np.flatnonzero(~same)[:6]}"
